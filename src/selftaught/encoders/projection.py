"""Principal directions of rows that are read in blocks: the step that all encoders take before they code.

The directions are eigenvectors of the covariance (d, d), or of the inner products (n, n) where there are fewer rows
than features; only one of these is held, and of the rows one block, or no more than the smaller matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from .row_products import row_products

__all__ = ["Projection", "fit_projection"]


@dataclass(frozen=True)
class Projection:
    """``mean`` (d,), orthonormal ``axes`` (k, d), leading first, and each one's share of the variance (k,)."""

    mean: np.ndarray
    axes: np.ndarray
    shares: np.ndarray

    def apply(self, X):
        """Return the coordinates of rows, shape (n, k), in the dtype of X, each row as if it were alone."""
        return row_products(X - self.mean, self.axes.T).astype(X.dtype, copy=False)


def fit_projection(read_blocks, keep):
    """Find the leading principal directions of rows.

    Parameters
    ----------
    read_blocks : callable
        Each call yields all rows anew, as blocks (n_b, d).
    keep : float or int
        The share of the variance to keep, in (0, 1], or the number of directions, at most min(n - 1, d).

    Returns
    -------
    Projection

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.encoders.projection import fit_projection
    >>> rows = np.array([[0.0, 1.0], [2.0, 1.1], [4.0, 1.0]])
    >>> fit_projection(lambda: [rows], 0.9).apply(rows).shape
    (3, 1)
    """
    n, total = 0, np.zeros(1)
    for block in read_blocks():
        n, total = n + len(block), total + block.sum(axis=0, dtype=np.float64)
    mean = total / n
    # Dividing by sums of thousands of ordinary entries leaves rounding of this size in a constant feature.
    rounding = n * len(mean) * (8 * np.finfo(np.float64).eps * np.abs(mean).max()) ** 2
    variances, axes = _leading_axes(read_blocks, mean, n)
    if variances.sum() <= rounding:
        raise ValueError(
            "source and target hold one and the same row throughout, so there is no variance to keep. "
            "Give rows that differ, or pca=None to code the features themselves."
        )
    k = _count(variances, keep, n)
    axes = axes[:k]
    # An axis and its opposite are equally right; one rule for both keeps blocks, order and machine out of the choice.
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return Projection(mean, axes * np.copysign(1, largest), variances[:k] / variances.sum())


def _leading_axes(read_blocks, mean, n):
    """Return all variances, largest first, and their directions (rows)."""
    d = len(mean)
    if n < d:
        rows = np.concatenate([block - mean for block in read_blocks()])
        squares, U = np.linalg.eigh(rows @ rows.T)
        # Leading first, so that what the faint directions lack in accuracy does not touch the others.
        return np.clip(squares[::-1], 0, None), np.linalg.qr(rows.T @ U[:, ::-1])[0].T
    scatter = np.zeros((d, d))
    for block in read_blocks():
        centred = block - mean
        scatter += centred.T @ centred
    squares, V = np.linalg.eigh(scatter)
    return np.clip(squares[::-1], 0, None), V.T[::-1]


def _count(variances, keep, n):
    """Return how many directions to keep."""
    most = min(max(n - 1, 1), int(np.count_nonzero(variances > 1e-12 * variances[0])))
    if isinstance(keep, Integral):
        return min(int(keep), most)
    reached = np.cumsum(variances) / variances.sum() >= keep - 1e-12
    return min(int(np.argmax(reached)) + 1 if reached.any() else most, most)
