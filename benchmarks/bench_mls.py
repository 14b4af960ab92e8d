"""How long MLSSelector takes, against SciPy's cdist and the formula as written, and what memory it takes.

First the direct formula, which holds all pairs, on a source small enough for it: the ratio of seconds and the largest
difference of any quality, for float64 and float32 rows. Then sources up to 100 000 rows with the default reference
sample, each in a process of its own on data read from a file: its peak of resident memory beyond what it held with the
data in place and all code warm. That memory per source row, the slope, is set beside the two arrays of all pairs
that the formula as written would hold. --data is not used: the real data are too small for these sizes. Seconds are
those of the processor; with one thread on a quiet machine they are those of the clock.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import Log, Table, parser, peak_memory
from scipy.spatial.distance import cdist, pdist

from selftaught import MLSSelector, SourcePool

MEGABYTE = 2**20
PERCENTILES = range(5, 100, 5)
N_FEATURES, N_TARGET = 50, 200
REPEATS = 3


def main():
    made = parser(__doc__)
    made.add_argument("--sizes", type=int, nargs="+", default=[12500, 25000, 50000, 100000])
    made.add_argument("--measure", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    args = made.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure)))
        return
    log = Log(args)
    compare([200, 500] if args.quick else [500, 2000, 5000], log, args.seed)
    grow([6000, 12000] if args.quick else args.sizes, log, args.seed)


# --- against the formula as written


def compare(sizes, log, seed):
    """Print seconds of both and the largest difference, for some sizes and both precisions."""
    print(f"{N_TARGET} target rows, {N_FEATURES} features; seconds of scales and qualities")
    table = Table("n_source", "dtype", "direct s", "ours s", "ratio", "difference")
    for n_source in sizes:
        source, target = draw(n_source, seed)
        direct, expected = fastest(direct_quality, source, target)
        for dtype in (np.float64, np.float32):
            pool = SourcePool(source.astype(dtype))
            selector = MLSSelector(scale=False)
            ours, _ = fastest(selector.fit, target.astype(dtype), X_source=pool)
            difference = np.abs(selector.relevance_ - expected).max()
            name = np.dtype(dtype).name
            table.row(n_source, name, direct, ours, direct / ours, f"{difference:.1e}")
            parameters = dict(n_source=n_source, n_target=N_TARGET, d=N_FEATURES, dtype=name)
            log.add(parameters, seconds=dict(direct=direct, ours=ours), ratio=direct / ours, difference=difference)


def direct_quality(source, target):
    """Return Q of every source row, from the distances of all pairs."""
    n = len(source)
    scales = np.percentile(pdist(np.concatenate([source, target])), PERCENTILES)
    to_sources, to_targets = cdist(source, source, "sqeuclidean"), cdist(source, target, "sqeuclidean")
    best = np.zeros(n)
    for s in scales:
        K_S, K_T = np.exp(-to_sources / (2 * s**2)), np.exp(-to_targets / (2 * s**2))
        m_S = (K_S.sum(axis=1) - 1) / (n - 1)  # less the similarity of 1 to itself
        v_S = ((K_S**2).sum(axis=1) - 1) / (n - 1) - m_S**2
        m_T, v_T = K_T.mean(axis=1), K_T.var(axis=1)
        variance = v_S + v_T
        judged = variance > 1e-10
        q = np.exp(-((m_S - m_T) ** 2) / (2 * np.where(judged, variance, 1)))
        best = np.maximum(best, np.where(judged, q, 0))
    return best


# --- growth


def grow(sizes, log, seed):
    """Print seconds and memory for some sizes, and the slope of memory."""
    print("\nfloat64, default reference sample; memory beyond the data")
    table = Table("n_source", "seconds", "ns a pair and scale", "peak MB", "all pairs MB")
    peaks = []
    for n_source in sizes:
        found = run(n_source, seed)
        peaks.append(found["peak_bytes"])
        pairs = n_source * (found["n_reference"] + N_TARGET)
        table.row(
            n_source,
            found["seconds"],
            found["seconds"] / pairs / len(PERCENTILES) * 1e9,
            peaks[-1] / MEGABYTE,
            2 * 8 * n_source * (n_source + N_TARGET) / MEGABYTE,
        )
        parameters = dict(n_source=n_source, n_target=N_TARGET, d=N_FEATURES, n_reference=found["n_reference"])
        log.add(parameters, seconds=found["seconds"], peak_bytes=peaks[-1])
    slope = np.polyfit(sizes, peaks, 1)[0]
    pairs = 8 * (found["n_reference"] + N_TARGET)
    print(f"\nmemory per source row {slope:.0f} bytes; one array of pairs with the reference would be {pairs} a row")
    log.add(dict(sizes=sizes), seconds=None, bytes_per_row=slope)


def run(n_source, seed):
    """Measure in a new process on data from a file, return what it reports."""
    source, target = draw(n_source, seed)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "source.npy"), source)
        np.save(Path(folder, "target.npy"), target)
        command = [sys.executable, __file__, "--measure", folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(folder):
    """Fit once; return seconds and the memory that the fit took beyond its data."""
    source, target = np.load(folder / "source.npy"), np.load(folder / "target.npy")
    MLSSelector().fit(target, X_source=SourcePool(source[:500]))
    before = peak_memory()
    seconds, selector = clocked(MLSSelector(random_state=0).fit, target, X_source=SourcePool(source))
    return dict(seconds=seconds, peak_bytes=peak_memory() - before, n_reference=len(selector.reference_))


def draw(n_source, seed):
    """Return source rows of two kinds, half of them like the target, and the target rows."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(n_source, N_FEATURES))
    source[n_source // 2 :, 0] += 3
    return source, rng.normal(size=(N_TARGET, N_FEATURES))


def clocked(function, *args, **kwargs):
    """Return the processor's seconds of one call and its result: other work on the core does not count."""
    begin = time.process_time()
    result = function(*args, **kwargs)
    return time.process_time() - begin, result


def fastest(function, *args, **kwargs):
    """Return the least seconds of some calls and the last result."""
    runs = [clocked(function, *args, **kwargs) for _ in range(REPEATS)]
    return min(seconds for seconds, _ in runs), runs[-1][1]


if __name__ == "__main__":
    main()
