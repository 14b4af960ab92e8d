"""How seconds and memory of stage 1 grow with the source: GASTLSelector with its defaults, float32.

Each size runs in a process of its own on data read from a file, so that the peak of its memory belongs to the fit:
peak resident memory at the end minus that when the data were in place and a small fit had loaded all code. The
neighbour graph compares all pairs of rows, so its seconds stand alone; the slopes are those of log against log by
least squares, and linear growth has slope 1; "large" are those of the sizes from 5000 on. --data is not used: the real
data are too small for these sizes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from common import Log, Table, parser, peak_memory, timed

from selftaught import GASTLSelector, SourcePool
from selftaught.datasets import make_open_set

MEGABYTE = 2**20
N_FEATURES, N_FACTORS, N_CLASSES, N_PER_CLASS = 256, 32, 5, 20


def main():
    made = parser(__doc__)
    made.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 5000, 10000, 20000, 50000])
    made.add_argument("--repeats", type=int, default=1, help="processes for each size; medians count")
    made.add_argument("--measure", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    args = made.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure, args.seed)))
        return
    sizes = [500, 1000, 2000] if args.quick else args.sizes
    log = Log(args)
    print(f"{N_CLASSES * N_PER_CLASS} target rows, {N_FEATURES} features, float32")
    table = Table(
        "n_source", "graph s", "rest s", "mapping s", "training s", "start s", "total s", "peak MB", "rows used"
    )
    rest, peaks = [], []
    for n_source in sizes:
        runs = [run(n_source, args.seed) for _ in range(args.repeats)]
        seconds = {step: float(np.median([r["seconds"].get(step, 0.0) for r in runs])) for step in runs[0]["seconds"]}
        peak = float(np.median([r["peak_bytes"] for r in runs]))
        rest.append(seconds["total"] - seconds["graph"])
        peaks.append(peak)
        steps = [seconds[step] for step in ("mapping", "autoencoder", "start", "total")]
        table.row(n_source, seconds["graph"], rest[-1], *steps, peak / MEGABYTE, runs[0]["n_relevant"])
        log.add(
            dict(n_source=n_source, n_target=N_CLASSES * N_PER_CLASS, d=N_FEATURES, repeats=args.repeats),
            seconds=seconds | {"rest": rest[-1]},
            peak_bytes=peak,
            n_relevant=runs[0]["n_relevant"],
            n_outer=runs[0]["n_outer"],
            data_bytes=n_source * N_FEATURES * 4,
        )
    slopes = dict(slope_rest=slope(sizes, rest), slope_memory=slope(sizes, peaks))
    large = [n for n in sizes if n >= 5000]
    if len(large) > 1:
        slopes |= dict(slope_rest_large=slope(large, rest[-len(large) :]))
        slopes |= dict(slope_memory_large=slope(large, peaks[-len(large) :]))
    print("\n" + ", ".join(f"{what.replace('_', ' ')} {value:.2f}" for what, value in slopes.items()))
    log.add(dict(sizes=sizes), seconds=None, **slopes)


def run(n_source, seed):
    """Draw the data, measure in a new process, return what it reports."""
    shape = dict(n_classes=N_CLASSES, n_features=N_FEATURES, n_factors=N_FACTORS, n_test_per_class=1)
    problem = make_open_set(n_source, N_PER_CLASS, **shape, random_state=seed)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "source.npy"), problem.X_source.astype(np.float32))
        np.save(Path(folder, "target.npy"), problem.X.astype(np.float32))
        command = [sys.executable, __file__, "--measure", folder, "--seed", str(seed)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(folder, seed):
    """Fit once; return seconds by step and the memory that the fit took beyond its data."""
    X_source, X_target = np.load(folder / "source.npy"), np.load(folder / "target.npy")
    with warnings.catch_warnings(action="ignore"):  # nothing is learned from so little
        GASTLSelector(n_hidden=5, random_state=seed).fit(X_target[:20], X_source=SourcePool(X_source[:100]))
    before = peak_memory()
    total, selector = timed(GASTLSelector(random_state=seed).fit, X_target, X_source=SourcePool(X_source))
    found = selector.diagnostics_
    return dict(
        seconds=found.seconds | {"total": total},
        peak_bytes=peak_memory() - before,
        n_relevant=found.n_relevant,
        n_outer=found.n_outer,
    )


def slope(sizes, values):
    """Return the exponent b of values ~ sizes^b."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])


if __name__ == "__main__":
    main()
