"""How close rows are to the target rows, in directions around a point.

Rows that the mapping does not use all have relevance zero, and most of a pool has. Closeness puts these in order, and
rows that were not there when the mapping was solved. It is a soft maximum of cosine similarities,

    1/t log mean_j exp(t cos(z_i - c, z_j - c)),      t = 10,

which asks for one near target row and is a little surer of a row that is near to several.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from .group_lasso import row_norms
from .mapping import row_blocks

__all__ = ["closeness", "nearest_target"]

SHARPNESS = 10.0


def closeness(Z, Z_target, center):
    """Return the closeness of each row of Z (n, m) to the rows of Z_target, around ``center`` (m,), shape (n,)."""
    directions = _unit(Z_target - center).T
    close = np.empty(len(Z))
    for rows in row_blocks(Z, max(directions.shape)):
        close[rows] = logsumexp(SHARPNESS * (_unit(Z[rows] - center) @ directions), axis=1)
    return (close - np.log(len(Z_target))) / SHARPNESS


def nearest_target(X, X_target, center):
    """Return for each row of X its largest cosine similarity (n,) to a target row, and which row that is (n,).

    Both are taken around ``center`` (d,). A row at the centre points nowhere: its similarities are zero.
    """
    directions = _unit(X_target - center).T
    similarity, nearest = np.empty(len(X)), np.empty(len(X), dtype=np.intp)
    for rows in row_blocks(X, max(directions.shape)):
        cosines = _unit(X[rows] - center) @ directions
        nearest[rows] = cosines.argmax(axis=1)
        similarity[rows] = cosines.max(axis=1)
    return similarity, nearest


def _unit(X):
    """Scale rows to length one; rows of length zero stay zero."""
    lengths = row_norms(X)
    return X / np.where(lengths > 0, lengths, 1).astype(X.dtype)[:, None]
