"""Runs units that are not done yet, in parallel, and keeps what they give.

Killed at any moment and started again it loses the units in hand and repeats none that was done. A unit that breaks is
recorded with its error, and the rest goes on; ``retry`` takes it up again.
"""

from __future__ import annotations

import os
import time
from importlib import metadata

from joblib import Parallel, delayed

from .._progress import counted
from .protocol import Unit
from .records import Log, pack, read_units
from .splits import TEXTS, load_part
from .units import Place, compute

__all__ = ["run"]

PACKAGES = ("selftaught", "numpy", "scipy", "scikit-learn")
# BLAS reads these when it is loaded: a worker of its own must not start threads that fight for the same cores.
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def run(units, place: Place, out, *, n_jobs=1, retry=False, work=compute):
    """Do what is missing of some units.

    Parameters
    ----------
    units : list of Unit
    place : Place
        Where the data are.
    out : path
        Folder of the records.
    n_jobs : int, default 1
        Units at a time.
    retry : bool, default False
        Take up units again that broke.
    work : callable, optional
        From a unit and a place to records.

    Returns
    -------
    broken : dict of str
        Error of each unit that broke, now or before, by key.
    """
    log = Log(out)
    done = read_units(out)
    missing = [unit for unit in units if unit.key not in done or (retry and "error" in done[unit.key])]
    _prepare_texts(missing, place)
    versions = ", ".join(f"{package} {metadata.version(package)}" for package in PACKAGES)
    tasks = (delayed(_attempt)(work, unit, place) for unit in missing)
    os.environ.update(ONE_THREAD)
    finished = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(tasks)
    for unit, records, seconds, error in counted(finished, len(missing), "units"):
        log.add(unit.key, [record | {"versions": versions} for record in records], seconds=seconds, error=error)
    if missing:
        pack(out)
    ended = read_units(out)
    return {unit.key: ended[unit.key]["error"] for unit in units if "error" in ended.get(unit.key, {})}


def _attempt(work, unit: Unit, place: Place):
    """Return the unit, its records, its seconds, and its error or None."""
    begin = time.perf_counter()
    try:
        records, error = work(unit, place), None
    except Exception as why:  # whatever it is, it must not take the other units down
        records, error = [], f"{type(why).__name__}: {why}"
    return unit, records, time.perf_counter() - begin, error


def _prepare_texts(units, place):
    """Make the features of texts once, before workers ask for them at the same time."""
    for dataset, seed in sorted({(unit.dataset, unit.seed) for unit in units if unit.dataset in TEXTS}):
        load_part(place.data, dataset, 0, seed, None, place.cache, place.text_features)
