"""Products of rows and a matrix in which a row's result does not depend on the rows beside it.

A matrix product is a sum for each row, but in which order it is added up depends on the kernel that BLAS picks by the
shape of the whole, and within a shape by the place of the row. So a row coded alone would differ in its last digits
from the same row in a batch, and a training row from its copy in a test set. Here every product has one shape: 96 rows
at a time in float64, the last ones filled up with zeros. 96 is a multiple of the rows that one kernel takes at once
(4 to 48 in OpenBLAS); measured, 16, 32 and 64 are not enough, nor is float32.
"""

from __future__ import annotations

import numpy as np

__all__ = ["row_products"]

TILE_ROWS = 96


def row_products(X, B):
    """Return ``X @ B`` in float64, shape (n, k), each row as if it were alone.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    B : ndarray, shape (d, k)
    """
    n, d = X.shape
    tiles = np.zeros((-(-n // TILE_ROWS), TILE_ROWS, d))
    tiles.reshape(-1, d)[:n] = X
    return (tiles @ B.astype(np.float64, copy=False)).reshape(-1, B.shape[1])[:n]
