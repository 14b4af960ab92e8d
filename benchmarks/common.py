"""What the benchmarks share: arguments, clock, memory, the data, tables on screen and JSON lines on disk."""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import platform
import resource
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

import selftaught
from selftaught.datasets import make_paper_shape
from selftaught.scaling import fit_scaling
from selftaught.source import SourcePool

PACKAGES = ("numpy", "scipy", "scikit-learn", "skglm", "numba", "osqp", "clarabel")
QUICK_SHAPE = dict(n_source=400, n_target=60, n_features=200)


def parser(module_doc):
    """Return a parser with the options that every benchmark has."""
    made = argparse.ArgumentParser(description=module_doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--data", type=Path, metavar="DIR", help="folder with caltech101/; simulated data without it")
    made.add_argument("--out", type=Path, metavar="FILE.jsonl", help="append one JSON line for each measurement")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--quick", action="store_true", help="small sizes, some seconds: does the script run?")
    return made


# --- the data


def paper_split(args):
    """Return source (2400, 1000), target (300, 1000), both float64 in [0.1, 0.9], and the name of the data."""
    if args.data is None:
        problem = make_paper_shape(random_state=args.seed, **(QUICK_SHAPE if args.quick else {}))
        name, X_source, X_target = "simulated", problem.X_source, problem.X
    else:
        name, (X_source, X_target) = "caltech101-sift", caltech_sift(args.data / "caltech101", args.seed)
        if args.quick:
            X_source, X_target = X_source[::6], X_target[::5]
    scaling = fit_scaling(SourcePool(X_source), X_target)
    return scaling.apply(X_source), scaling.apply(X_target), name


def caltech_sift(folder, seed):
    """Return word shares: all rows of 80 classes as the source, 15 rows of each of the 20 others as the target."""
    X, _, X_source, _, _ = caltech_split(folder, seed)
    return X_source, X


def caltech_split(folder, seed, n_target_classes=20, n_labels=15):
    """Return X, y, X_source, X_test, y_test of the paper's shape, as word shares of SIFT bags."""
    with open(folder / "images_30.csv", newline="") as lines:
        listed = list(csv.DictReader(lines))
    rows, classes = np.array([int(line["row"]) for line in listed]), np.array([line["class"] for line in listed])
    counts = np.load(folder / "siftbow1000.npz")["X"][rows].astype(np.float64)
    shares = counts / counts.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    targets = rng.permutation(np.unique(classes))[:n_target_classes]
    shuffled = [rng.permutation(np.flatnonzero(classes == target)) for target in targets]
    train = np.concatenate([of_class[:n_labels] for of_class in shuffled])
    test = np.concatenate([of_class[n_labels:] for of_class in shuffled])
    return shares[train], classes[train], shares[~np.isin(classes, targets)], shares[test], classes[test]


# --- clock and memory


def timed(function, *args, **kwargs):
    """Return the seconds of one call and its result."""
    begin = time.perf_counter()
    result = function(*args, **kwargs)
    return time.perf_counter() - begin, result


def median_timed(repeats, function, *args, **kwargs):
    """Return the median seconds of some calls and the last result."""
    runs = [timed(function, *args, **kwargs) for _ in range(repeats)]
    return float(np.median([seconds for seconds, _ in runs])), runs[-1][1]


def peak_memory():
    """Return the largest resident memory this process has had, in bytes.

    On Linux from its own status: there getrusage of a new process starts at the size of the one that made it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Worker:
    """Calls functions in a process of its own, so that one that takes too long can be stopped."""

    def __init__(self, warm_up=None):
        self._warm_up, self._process = warm_up, None

    def call(self, function, *args, cap):
        """Return function(*args), or None where it was not done after ``cap`` seconds."""
        if self._process is None:
            self._begin()
        self._pipe.send((function, args))
        if self._pipe.poll(cap):
            return self._pipe.recv()
        self.stop()
        return None

    def _begin(self):
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        if self._warm_up is not None:
            self._pipe.send((self._warm_up, ()))
            self._pipe.recv()

    def stop(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(pipe):
    while True:
        function, args = pipe.recv()
        pipe.send(function(*args))


# --- where results go


class Log:
    """Appends measurements to the file of ``--out``, each with all it takes to repeat it."""

    def __init__(self, args):
        self._out, self._args = args.out, args
        self._always = dict(
            benchmark=Path(sys.argv[0]).stem,
            commit=_commit(),
            seed=args.seed,
            quick=args.quick,
            versions=_versions(),
            machine=dict(architecture=platform.machine(), cores=os.cpu_count(), blas_threads=_blas_threads()),
        )

    def add(self, parameters, *, seconds, peak_bytes=None, **metrics):
        """Write one line; ``seconds`` is a number, or a dict of them by what was timed."""
        if self._out is None:
            return
        line = dict(self._always, parameters=parameters, seconds=seconds, peak_bytes=peak_bytes, metrics=metrics)
        self._out.parent.mkdir(parents=True, exist_ok=True)
        with open(self._out, "a") as lines:
            lines.write(json.dumps(line, default=_plain) + "\n")


class Table:
    """Prints rows as they come, each column as wide as its title or ``least`` characters."""

    def __init__(self, *titles, least=9):
        self._widths = [max(least, len(title)) for title in titles]
        self.row(*titles)

    def row(self, *cells):
        """Print one row; numbers with four digits."""
        texts = [cell if isinstance(cell, str) else f"{cell:.4g}" for cell in cells]
        print("  ".join(text.rjust(width) for text, width in zip(texts, self._widths, strict=True)), flush=True)


def _plain(value):
    """Turn numpy's numbers and arrays into Python's, for JSON."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)


def _versions():
    versions = {"python": platform.python_version(), "selftaught": selftaught.__version__}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return versions


def _blas_threads():
    """Return the largest number of threads that a linear algebra library in this process may use."""
    return max((found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"), default=None)


def _commit():
    """Return the commit, with "+" where the library or a benchmark differs from it; None outside a repository."""
    here = Path(__file__).resolve().parents[1]
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True)
        changed = subprocess.run(["git", "status", "--short", "src", "benchmarks"], cwd=here, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip() + ("+" if changed.stdout else "")
