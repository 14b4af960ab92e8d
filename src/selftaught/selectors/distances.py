"""Squared Euclidean distances by one matrix product, and percentiles of all pairwise distances, which are not stored.

**Distances.** ``|x - y|^2 = |x|^2 + |y|^2 - 2 x.y`` costs a matrix product, but loses the digits that the lengths of
the rows share: next to nothing is left of the distance between a row and its near copy. Where the distance is less than
a small share of the lengths it is therefore taken from the differences, and every distance has nearly all its digits.

**Percentiles.** n rows have n (n - 1) / 2 pairs, too many to hold and slow to sort. Numbers are counted in equal cells
between the smallest and the largest; those of the few cells in which a wanted rank lies are kept and sorted. A cell too
full for that (an outlier stretched the range, or many numbers are equal) is counted again in cells of its own. Beyond
four million the numbers are computed anew for each pass, so memory does not grow with them.
"""

from __future__ import annotations

from functools import partial

import numpy as np

__all__ = ["order_statistics", "pair_percentiles", "row_squares", "squared_distances"]

# Below this share of |x|^2 + |y|^2 a squared distance is taken from differences. The product leaves an error of a few
# units of rounding of that sum, so those above keep a relative accuracy of about 1e-12, and 1e-5 in float32.
CLOSE = {"float64": 1e-3, "float32": 2e-2}
BLOCK_VALUES = 2**18
CELLS = 2**16
MOST_KEPT = 2**22


def squared_distances(X, Y):
    """Return the squared distances of the rows of X (b, d) and Y (n, d), shape (b, n), in their dtype.

    Both should be centred somewhere among them: the shorter the rows, the fewer distances are computed twice.
    """
    squares = np.add.outer(row_squares(X), row_squares(Y))
    distances = X @ Y.T
    distances *= -2
    distances += squares
    squares *= CLOSE[distances.dtype.name]
    close = np.flatnonzero(distances < squares)
    for start in range(0, len(close), step := max(1, BLOCK_VALUES // X.shape[1])):
        i, j = np.divmod(close[start : start + step], len(Y))
        distances[i, j] = row_squares(X[i] - Y[j])
    return distances


def row_squares(X):
    """Return the squared length of each row."""
    # One inner product a row: NumPy hands them to BLAS, twice as fast as einsum.
    return np.matmul(X[:, None, :], X[:, :, None]).ravel()


def pair_percentiles(X, percentiles):
    """Return percentiles of the distances of all pairs of rows, as ``numpy.percentile`` would of their list.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
        At least two rows, centred.
    percentiles : array-like, shape (k,)
        From 0 to 100.

    Returns
    -------
    ndarray of float64, shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.selectors.distances import pair_percentiles
    >>> pair_percentiles(np.array([[-1.0], [0.0], [2.0]]), [0, 25, 50, 100])    # of 1, 2 and 3
    array([1. , 1.5, 2. , 3. ])
    """
    last = len(X) * (len(X) - 1) // 2 - 1
    places = np.asarray(percentiles, dtype=np.float64) / 100 * last
    below = np.floor(places).astype(np.int64)
    ranks, position = np.unique(np.stack([below, np.minimum(below + 1, last)]), return_inverse=True)
    held = [*_pair_blocks(X)] if last < MOST_KEPT else None
    values = order_statistics(lambda: _pair_blocks(X) if held is None else held, ranks)
    low, high = np.sqrt(values)[position.reshape(2, -1)]
    return low + (places - below) * (high - low)


def order_statistics(read, ranks, *, cells=CELLS, most_kept=MOST_KEPT):
    """Return the numbers at some ranks of a stream, exactly.

    Parameters
    ----------
    read : callable
        Each call yields the same numbers anew, as arrays of one dimension.
    ranks : ndarray of int, shape (k,)
        Places in ascending order of the numbers, from 0.
    cells, most_kept : int
        How finely to count, and how many numbers to hold at most.

    Returns
    -------
    ndarray of float64, shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.selectors.distances import order_statistics
    >>> order_statistics(lambda: [np.array([5.0, 1.0]), np.array([3.0])], np.array([0, 2]))
    array([1., 5.])
    """
    n, low, high = _extent(read)
    if low == high:
        return np.full(len(ranks), low)
    if n <= cells:
        return np.sort(np.concatenate([*read()]))[ranks]

    def cell_of(values):
        share = values - low
        share /= high - low
        share *= cells
        return np.minimum(share, cells - 1, out=share).astype(np.intp)

    counts = np.zeros(cells, dtype=np.int64)
    for values in read():
        counts += np.bincount(cell_of(values), minlength=cells)
    ends = np.cumsum(counts)
    cell = np.searchsorted(ends, ranks, side="right")
    kept = np.zeros(cells, dtype=bool)
    kept[cell] = True
    kept &= counts <= most_kept // len(ranks)
    numbers = np.sort(np.concatenate([values[kept[cell_of(values)]] for values in read()]))
    n_below_left_out = np.cumsum(np.where(kept, 0, counts))
    result = np.empty(len(ranks))
    easy = kept[cell]
    result[easy] = numbers[ranks[easy] - n_below_left_out[cell[easy]]]
    for crowded in np.unique(cell[~easy]):
        inside = partial(_inside, read, cell_of, crowded)
        here = cell == crowded
        first = ends[crowded] - counts[crowded]
        result[here] = order_statistics(inside, ranks[here] - first, cells=cells, most_kept=most_kept)
    return result


def _extent(read):
    """Return how many numbers there are, the smallest and the largest."""
    n, low, high = 0, np.inf, -np.inf
    for values in read():
        n += len(values)
        low, high = min(low, values.min(initial=np.inf)), max(high, values.max(initial=-np.inf))
    return n, low, high


def _inside(read, cell_of, cell):
    """Yield the numbers of one cell."""
    for values in read():
        yield values[cell_of(values) == cell]


def _pair_blocks(X):
    """Yield the squared distances of all pairs of rows, each pair once."""
    n = len(X)
    step = max(1, BLOCK_VALUES // n)
    for start in range(0, n, step):
        rows, later = X[start : start + step], X[start + step :]
        yield squared_distances(rows, rows)[np.triu_indices(len(rows), 1)]
        yield squared_distances(rows, later).ravel()
