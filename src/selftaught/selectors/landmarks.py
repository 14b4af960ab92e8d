"""How well a row serves as a landmark: does it look alike from the source and from the target?

Row x sees the source rows other than itself and the target rows at Gaussian similarities, for each scale s

    k_s(x, y) = exp(-|x - y|^2 / (2 s^2))

with means m_S, m_T and variances v_S, v_T. Two normals of these moments overlap more or less, by either measure:

    normalised    q = exp(-(m_S - m_T)^2 / (2 (v_S + v_T)))    their integrated product over its value at equal means
    coefficient   q = integral of min(p_S, p_T)

both 1 for equal moments, and 0 by rule where v_S + v_T is no more than ``min_variance``: where all similarities vanish
the formula would call nothing and nothing alike.

**Itself.** One reference row at distance zero of x is left out of the source: x itself where x is one of them, one of
its copies where it has any. The rule asks for no position, so a row is judged alike when it is fitted and when it is
scored later.

**Cost.** Of n rows against n_S + n_T the exponentials of all scales are nearly everything, about 19 for each pair.
They run in blocks that stay in the processor's cache and, for float32 rows, in float32. Variances are mean squares less
squared means, in one pass over the similarities; where that would lose digits, from deviations in a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from .distances import BLOCK_VALUES, pair_percentiles, row_squares, squared_distances

__all__ = [
    "Quality",
    "Surroundings",
    "fit_surroundings",
    "landmark_quality",
    "normalized_overlap",
    "overlap_coefficient",
]

# A distance this short, relative to the rows' lengths, is that of a row to itself.
SAME = 1e-12
# Below this share of the mean square a variance is computed anew from deviations.
LOST = {"float64": 1e-3, "float32": 0.05}
# Beyond this exp(-x) leaves the range of normal numbers, where processors are up to a hundred times slower.
MOST_EXPONENT = {"float64": 700.0, "float32": 87.0}
LEAST_ROWS = 16
NONE = np.arange(0), np.arange(0)
FAR = 1e100  # beyond any overlap, and its square is still a number


@dataclass(frozen=True)
class Surroundings:
    """What rows are judged by: ``sources`` (n_S, d) and ``targets`` (n_T, d), both less ``center`` (d,), ``scales``."""

    sources: np.ndarray
    targets: np.ndarray
    center: np.ndarray
    scales: np.ndarray


@dataclass(frozen=True)
class Quality:
    """The overlap of each row, its largest and its mean over the scales, (n,) each."""

    largest: np.ndarray
    mean: np.ndarray


def fit_surroundings(sources, targets, percentiles):
    """Centre the reference rows and find the scales.

    Parameters
    ----------
    sources, targets : ndarray, shapes (n_S, d) and (n_T, d)
        Reference rows, of one dtype.
    percentiles : array-like, shape (k,)
        Of the distances of all pairs of rows, of both kinds together.

    Returns
    -------
    Surroundings
        Percentiles at which the distance is zero, as many equal rows make it, are no scale and left out.
    """
    both = np.concatenate([sources, targets]).astype(np.float64)
    middle = both.mean(axis=0)
    both -= middle
    scales = pair_percentiles(both, percentiles)
    center = middle.astype(sources.dtype)
    return Surroundings(sources - center, targets - center, center, scales[scales > 0])


def landmark_quality(X, surroundings, *, overlap, min_variance):
    """Judge rows.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        In the dtype of the surroundings.
    surroundings : Surroundings
    overlap : callable
        `normalized_overlap` or `overlap_coefficient`.
    min_variance : float
        Sums of variances up to this give quality zero.

    Returns
    -------
    Quality
        Zero where there is no scale, or no source row left to compare with.
    """
    sources, targets, scales = surroundings.sources, surroundings.targets, surroundings.scales
    found = Quality(np.zeros(len(X)), np.zeros(len(X)))
    step = max(LEAST_ROWS, BLOCK_VALUES // max(len(sources), len(targets)))
    for start in range(0, len(X) if len(scales) else 0, step):
        rows = slice(start, start + step)
        block = X[rows] - surroundings.center
        to_sources = squared_distances(block, sources)
        itself = _find_itself(to_sources, block)
        n_others = np.full(len(block), len(sources))
        n_others[itself[0]] -= 1
        m_S, v_S = similarity_moments(to_sources, np.maximum(n_others, 1), scales, itself)
        m_T, v_T = similarity_moments(squared_distances(block, targets), np.full(len(block), len(targets)), scales)
        judged = (v_S + v_T > min_variance) & (n_others > 0)
        q = np.where(judged, overlap(m_S, np.where(judged, v_S, 1), m_T, np.where(judged, v_T, 1)), 0)
        found.largest[rows], found.mean[rows] = q.max(axis=0), q.mean(axis=0)
    return found


def _find_itself(distances, block):
    """Return the rows at distance zero of a reference row, and the column of one such for each."""
    nearest = distances.argmin(axis=1)
    rows = np.flatnonzero(distances[np.arange(len(block)), nearest] <= SAME**2 * row_squares(block))
    return rows, nearest[rows]


def similarity_moments(distances, counts, scales, left_out=NONE):
    """Return means and variances of Gaussian similarities, (n_scales, b) each, in float64.

    Parameters
    ----------
    distances : ndarray, shape (b, n)
        Squared distances.
    counts : ndarray of int, shape (b,)
        How many of them count.
    scales : ndarray, shape (n_scales,)
    left_out : pair of index arrays
        Rows and columns of those that do not count.
    """
    dtype, farthest = distances.dtype, distances.max()
    with np.errstate(divide="ignore", over="ignore"):
        widths = np.minimum(0.5 / scales**2, np.finfo(dtype).max).astype(dtype)
    means, variances = np.empty((2, len(scales), len(distances)))
    K, ones = np.empty_like(distances), np.ones(distances.shape[1], dtype)
    for mean, variance, width in zip(means, variances, widths, strict=True):
        np.multiply(distances, -width, out=K)
        if width * farthest > MOST_EXPONENT[dtype.name]:
            np.maximum(K, -MOST_EXPONENT[dtype.name], out=K)
        np.exp(K, out=K)
        K[left_out] = 0
        mean[:] = (K @ ones) / counts
        squares = row_squares(K) / counts
        variance[:] = squares - mean**2
        if (variance < LOST[dtype.name] * squares).any():
            K -= mean[:, None].astype(dtype)
            K[left_out] = 0
            variance[:] = row_squares(K) / counts
            variance[variance <= (4 * np.finfo(dtype).eps) ** 2 * squares] = 0  # the rounding of equal similarities
    return means, variances


def normalized_overlap(m_S, v_S, m_T, v_T):
    """Return the overlap integral of two normals over its value at equal means; the variances not both zero."""
    with np.errstate(under="ignore"):
        return np.exp(-((m_S - m_T) ** 2) / (2 * (v_S + v_T)))


def overlap_coefficient(m_S, v_S, m_T, v_T):
    """Return the integral of the smaller of two normal densities; the variances not both zero.

    With z in units of the narrower normal, the wider r times as wide and mu away, the densities cross at the roots of
    (r^2 - 1) z^2 + 2 mu z - mu^2 - 2 r^2 log r = 0, and the narrower is the larger one between. A normal of variance
    zero is a point and shares nothing with one that is not.
    """
    narrow, wide = np.sqrt(np.minimum(v_S, v_T)), np.sqrt(np.maximum(v_S, v_T))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        r = np.minimum(wide / narrow, FAR)
        mu = np.minimum(np.abs(m_S - m_T) / narrow, FAR)
        excess = (r - 1) * (r + 1)
        root = mu + r * np.sqrt(mu**2 + 2 * excess * np.log(r))
        left, right = -root / excess, (mu**2 + 2 * r**2 * np.log(r)) / root
        shared = ndtr(left) + ndtr(-right) + ndtr((right - mu) / r) - ndtr((left - mu) / r)
    shared = np.where((r == 1) & (mu == 0), 1.0, shared)
    return np.clip(np.where(narrow > 0, shared, 0.0), 0, 1)
