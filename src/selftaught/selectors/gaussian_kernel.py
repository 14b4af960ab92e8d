"""The Gaussian kernel on rows that are read in blocks.

    k(x, y) = exp(-|x - y|^2 / (2 bandwidth^2))

Rows come here already shifted near the origin and divided by the bandwidth, which changes no distance ratio and keeps
``|x|^2 + |y|^2 - 2 x.y`` accurate. With a column for each of the two squared norms the whole exponent is one matrix
product,

    [x, -|x|^2 / 2, 1] . [y, 1, -|y|^2 / 2] = -|x - y|^2 / 2,

so that each value costs one multiplication chain, one exp and one addition, in pieces small enough for the cache.
"""

from __future__ import annotations

import numpy as np

__all__ = ["BlockKernel", "FourierKernel", "ScaledRows", "gaussian", "kernel_sums", "median_distance"]

# Values of the kernel that exist at once where it is only summed: 2 MB.
PIECE_VALUES = 2**18
# Rows whose random features are computed at once.
PIECE_ROWS = 1024


class ScaledRows:
    """The rows of a source as kernels want them: scaled, around ``center``, over ``bandwidth``, in float64.

    Nothing is kept: every pass reads the pool again, so the source may be larger than memory.
    """

    def __init__(self, pool, scaling, center, bandwidth=1.0):
        self._pool, self._scaling, self._center, self._bandwidth = pool, scaling, center, bandwidth
        self.n_rows, self.n_columns = pool.n_rows, pool.n_features

    def over(self, bandwidth):
        """Return the same rows over another bandwidth."""
        return ScaledRows(self._pool, self._scaling, self._center, bandwidth)

    def blocks(self):
        """Yield (slice, rows) over the whole source."""
        for rows, block in self._pool.blocks():
            yield rows, self.prepare(self._scaling.apply(block))

    def take(self, rows):
        """Return some rows, shape (len(rows), d)."""
        return self.prepare(self._scaling.apply(self._pool.take(rows)))

    def prepare(self, scaled):
        """Bring rows that are scaled already around the centre and over the bandwidth."""
        prepared = scaled - self._center
        prepared /= self._bandwidth
        return prepared


class BlockKernel:
    """The kernel of a source, computed when asked for; see `solve_working_set` for what is asked."""

    def __init__(self, rows: ScaledRows):
        self._rows = rows

    def block(self, rows):
        """Return the kernel among some rows, (k, k)."""
        X = self._rows.take(rows)
        return gaussian(X, X)

    def product(self, rows, coef):
        """Return the kernel of all rows with some, times coefficients, (n,)."""
        return kernel_sums(self._rows, self._rows.take(rows), coef)


class FourierKernel:
    """The kernel of a source, approximated by random Fourier features (Rahimi and Recht 2007).

    Pairs cos(w.x), sin(w.x) with w standard normal have inner products whose mean is k. The features of all rows are
    kept, 8 n n_features bytes, so that a product costs no exp.
    """

    def __init__(self, rows: ScaledRows, n_features, rng):
        self._frequencies = rng.normal(size=(rows.n_columns, (n_features + 1) // 2))
        self._features = np.empty((rows.n_rows, 2 * self._frequencies.shape[1]))
        for place, block in rows.blocks():
            into = self._features[place]
            for start in range(0, len(block), PIECE_ROWS):
                into[start : start + PIECE_ROWS] = self.features(block[start : start + PIECE_ROWS])

    def features(self, X):
        """Return the features of prepared rows, (n, n_features)."""
        angles = X @ self._frequencies
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(angles.shape[1])

    def block(self, rows):
        """Return the approximate kernel among some rows, (k, k)."""
        some = self._features[rows]
        return some @ some.T

    def product(self, rows, coef):
        """Return the approximate kernel of all rows with some, times coefficients, (n,)."""
        return self._features @ (coef @ self._features[rows])

    def sums(self, X):
        """Return the sums of the approximate kernel of all rows with prepared rows X, (n,)."""
        return self._features @ self.features(X).sum(axis=0)


def gaussian(X, Y):
    """Return the kernel of prepared rows X (n, d) with prepared rows Y (k, d), shape (n, k)."""
    return _exponentials(X, _right_side(Y))


def kernel_sums(rows: ScaledRows, Y, coef):
    """Return sum_j coef_j k(x_i, y_j) for all rows x_i of a source and prepared rows Y (k, d), shape (n,)."""
    right, sums = _right_side(Y), np.empty(rows.n_rows)
    step = max(1, PIECE_VALUES // max(len(Y), 1))
    for place, block in rows.blocks():
        into = sums[place]
        for start in range(0, len(block), step):
            into[start : start + step] = _exponentials(block[start : start + step], right) @ coef
    return sums


def median_distance(X):
    """Return the median distance between rows of X (n, d); where it is zero, the median of those that are not."""
    norms = np.einsum("ij,ij->i", X, X)
    squares = -2 * (X @ X.T)
    squares += norms
    squares += norms[:, None]
    # What cancellation leaves of the distance between equal rows is no distance.
    squares[squares < 1e-14 * norms.max()] = 0
    distances = np.sqrt(squares[~np.eye(len(X), dtype=bool)])  # each twice, which is all the same to the median
    middle = np.median(distances) if len(distances) else 0.0
    return float(middle if middle > 0 or not distances.any() else np.median(distances[distances > 0]))


def _exponentials(X, right):
    """Return exp(-|x - y|^2 / 2) from rows X (n, d) and the right side of the product, (d + 2, k)."""
    left = np.empty((len(X), X.shape[1] + 2))
    left[:, :-2], left[:, -1] = X, 1
    left[:, -2] = -0.5 * np.einsum("ij,ij->i", X, X)
    exponents = left @ right
    np.minimum(exponents, 0, out=exponents)  # rounding must not make a row more like another than like itself
    return np.exp(exponents, out=exponents)


def _right_side(Y):
    right = np.empty((Y.shape[1] + 2, len(Y)))
    right[:-2], right[-2] = Y.T, 1
    right[-1] = -0.5 * np.einsum("ij,ij->i", Y, Y)
    return right
