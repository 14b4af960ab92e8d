"""SIFT descriptors on a regular grid, all at once, by matrix products.

The descriptor at a point has 4 x 4 cells of width b around it, and in each cell a histogram of 8 directions of the
brightness gradient. With M_o(p) what pixel p gives to direction o (the gradient's length, shared between the two
directions next to its own), t the offset of p in units of b and c_i = -1.5, -0.5, 0.5, 1.5 the cells' centres,

    D[i, j, o] = sum_p k_i(t_y) k_j(t_x) M_o(p)          k_i(t) = max(0, 1 - |t - c_i|) exp(-t² / 8)

which is Lowe's trilinear sharing and Gaussian window. Both are products of a part for rows and one for columns, and
upright descriptors at the grid's points share these parts. So with K_y (4 n_y, h) and K_x (4 n_x, w), whose rows are
the k_i around each grid row and column, all descriptors of an image are D_o = K_y M_o K_xᵀ: sixteen matrix products in
place of a walk through (5 b)² pixels for every descriptor.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import correlate1d, gaussian_filter

__all__ = ["DESCRIPTOR", "CELLS", "dense_sift"]

CELLS, DIRECTIONS = 4, 8
DESCRIPTOR = CELLS * CELLS * DIRECTIONS
BLUR = 1 / 6  # of a cell's width: less blur than Lowe's third, for descriptors on a grid need not be found again
LARGEST = 0.2  # share of the length that one entry may have, so that one strong edge does not rule the rest
FAINT = 0.1  # in grey levels: what is fainter is rounding, and no direction


def dense_sift(grey, cell, step, *, root=True, blur=None) -> np.ndarray:
    """Return the descriptors of an image at the points of a grid.

    Parameters
    ----------
    grey : ndarray of float32, shape (h, w)
        Brightness from 0 to 255.
    cell : float
        Width of a cell in pixels; a descriptor looks at a square of 4 cells a side.
    step : int
        Pixels from one grid point to the next. The grid is centred in the image.
    root : bool, default True
        Take the square roots of the entries, divided by their sum (RootSIFT), in place of dividing by the length.
    blur : float, optional
        Standard deviation in pixels of the blur before gradients are taken; by default a sixth of a cell.

    Returns
    -------
    ndarray of float32, shape (n_points, 128)
        Grid rows from top to bottom; entries by cell row, cell column, direction. Zero where the image is flat.
    """
    height, width = grey.shape
    shares = _direction_shares(gaussian_filter(grey, cell * BLUR if blur is None else blur, mode="nearest", truncate=3))
    rows, columns = _cell_weights(height, cell, step), _cell_weights(width, cell, step)
    across = (shares.reshape(-1, width) @ columns.T).reshape(DIRECTIONS, height, -1)
    both = np.matmul(rows, across)
    both = both.reshape(DIRECTIONS, -1, CELLS, len(columns) // CELLS, CELLS)
    return _normalized(both.transpose(1, 3, 2, 4, 0).reshape(-1, DESCRIPTOR), root)


def _direction_shares(grey):
    """Return what each pixel gives to each direction, (8, h, w)."""
    down, right = (correlate1d(grey, (-1, 0, 1), axis=axis, mode="nearest") for axis in (0, 1))
    length, turn = np.hypot(right, down), np.arctan2(down, right) * (DIRECTIONS / (2 * np.pi))
    turn += DIRECTIONS * (turn < 0)
    shares = np.empty((DIRECTIONS, *grey.shape), np.float32)
    for direction in range(DIRECTIONS):
        away = np.abs(turn - direction)
        shares[direction] = np.maximum(0, 1 - np.minimum(away, DIRECTIONS - away)) * length
    return shares


def _cell_weights(n, cell, step):
    """Return the weights of n pixels in a line in the four cells around each grid point, (4 n_points, n)."""
    n_points = max(1, n // step)
    points = (n - 1 - (n_points - 1) * step) / 2 + step * np.arange(n_points)
    offset = (np.arange(n) - points[:, None, None]) / cell
    centres = np.arange(CELLS)[:, None] - (CELLS - 1) / 2
    weights = np.maximum(0, 1 - abs(offset - centres)) * np.exp(-(offset**2) / 8)
    return weights.reshape(-1, n).astype(np.float32)


def _normalized(descriptors, root):
    """Return descriptors of unit length, none of whose entries rules; with ``root`` the roots of their shares."""
    lengths = np.linalg.norm(descriptors, axis=1, keepdims=True)
    descriptors[lengths[:, 0] < FAINT] = 0
    descriptors /= np.maximum(lengths, FAINT)
    np.minimum(descriptors, LARGEST, out=descriptors)
    sizes = descriptors.sum(axis=1, keepdims=True) if root else np.linalg.norm(descriptors, axis=1, keepdims=True)
    descriptors /= np.where(sizes > 0, sizes, 1)
    return np.sqrt(descriptors, out=descriptors) if root else descriptors
