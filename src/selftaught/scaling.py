"""Per-feature scaling into [0.1, 0.9], fitted on source and target together.

The autoencoder ends in a sigmoid, which reaches neither 0 nor 1, so the data it reconstructs have to lie inside. With
``low`` and ``high`` the smallest and largest value of a feature, over all rows of source and target,

    scaled = floor + (ceiling - floor) (x - low) / (high - low),    floor = 0.1, ceiling = 0.9,

where x is first clipped to [low, high], so that rows never seen stay inside. A constant feature becomes the midpoint.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from selftaught.source import SourcePool, float_dtype

LARGEST_EXPONENT = 1021  # 2**1021 and 2**-1021 are normal float64 numbers
BLOCK_VALUES = 2**20  # values that are scaled at once: 8 MB in float64


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """Maps each feature from [low, high] to [floor, ceiling]; made by `fit_scaling`.

    Attributes
    ----------
    low, high : ndarray of shape (n_features,)
        Smallest and largest value of each feature, in float64.
    floor, ceiling : float
        Where they go.
    """

    low: np.ndarray
    high: np.ndarray
    floor: float = 0.1
    ceiling: float = 0.9

    def apply(self, X: Any) -> np.ndarray:
        """Scale rows of target or source.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Finite numbers. Values outside [low, high] are clipped.

        Returns
        -------
        ndarray of shape (n, n_features)
            A new array, float32 if X is float32, else float64.
        """
        X = np.asarray(X)
        _check_width(X.shape[1], len(self.low))
        scaled = np.empty(X.shape, float_dtype(X.dtype))
        step = max(1, BLOCK_VALUES // len(self.low))
        for start in range(0, len(X), step):  # in steps: the float64 intermediates of a float32 array stay small
            scaled[start : start + step] = self._scaled(X[start : start + step])
        return scaled

    def apply_to_pool(self, pool: SourcePool, dtype: Any = None) -> np.ndarray:
        """Read a whole source into one scaled array; only one block of unscaled rows exists at a time.

        Parameters
        ----------
        pool : SourcePool
            With n_features columns.
        dtype : dtype, default=None
            float32 or float64. None means the pool's.

        Returns
        -------
        ndarray of shape (pool.n_rows, n_features)
            A new array.
        """
        _check_width(pool.n_features, len(self.low))
        scaled = np.empty((pool.n_rows, pool.n_features), pool.dtype if dtype is None else dtype)
        for rows, block in pool.blocks():
            scaled[rows] = self.apply(block)
        return scaled

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """The formula, in float64: in float32 high - low may overflow, and a shift by a large low loses digits."""
        unit = self._unit()
        low, high = self.low * unit, self.high * unit
        constant = high == low
        factor = (self.ceiling - self.floor) / np.where(constant, 1.0, high - low)
        scaled = np.clip(X, self.low, self.high, dtype=np.float64)
        scaled *= unit
        scaled -= low
        scaled *= factor
        scaled += np.where(constant, (self.floor + self.ceiling) / 2, self.floor)
        return np.clip(scaled, self.floor, self.ceiling, out=scaled)

    def _unit(self) -> np.ndarray:
        """Power of two, shape (n_features,), that brings values near 1, where no range overflows or vanishes.

        Multiplying by it is exact, so ordinary data are not touched by it.
        """
        _, exponent = np.frexp(np.maximum(np.abs(self.low), np.abs(self.high)))
        return np.ldexp(1.0, -np.clip(exponent, -LARGEST_EXPONENT, LARGEST_EXPONENT))


@dataclass(frozen=True)
class IdentityScaling:
    """What ``scale=False`` stands for: the same methods as `FeatureScaling`, no change of values and no clipping."""

    def apply(self, X: Any) -> np.ndarray:
        """Copy X, shape (n, n_features), to a new array: float32 if X is float32, else float64."""
        X = np.asarray(X)
        return np.array(X, float_dtype(X.dtype))

    def apply_to_pool(self, pool: SourcePool, dtype: Any = None) -> np.ndarray:
        """Read a whole source by `SourcePool.to_array`: the result may be a read-only view of the data."""
        return pool.to_array(dtype=dtype)


def fit_scaling(
    source: SourcePool | None, X_target: Any, *, floor: float = 0.1, ceiling: float = 0.9
) -> FeatureScaling:
    """Find the range of every feature over source and target.

    Parameters
    ----------
    source : SourcePool or None
        With n_features columns; read once, in blocks.
    X_target : array-like of shape (n_target, n_features)
        Finite numbers, n_target >= 1.
    floor, ceiling : float, default=0.1, 0.9
        Where the smallest and the largest value of a feature go.

    Returns
    -------
    FeatureScaling

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.scaling import fit_scaling
    >>> from selftaught.source import SourcePool
    >>> source = SourcePool(np.array([[0.0, 7.0], [8.0, 7.0]]))
    >>> scaling = fit_scaling(source, np.array([[4.0, 7.0]]))
    >>> scaling.apply(np.array([[0.0, 7.0], [2.0, 7.0], [80.0, 9.0]]))
    array([[0.1, 0.5],
           [0.3, 0.5],
           [0.9, 0.5]])
    """
    if not floor < ceiling:
        raise ValueError(f"floor must be less than ceiling, got floor={floor} and ceiling={ceiling}. Try 0.1 and 0.9.")
    X_target = np.asarray(X_target)
    low, high = X_target.min(axis=0).astype(np.float64), X_target.max(axis=0).astype(np.float64)
    if source is not None:
        _check_width(source.n_features, len(low))
        for _, block in source.blocks():
            low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
    return FeatureScaling(low, high, floor, ceiling)


def _check_width(n_features: int, expected: int) -> None:
    if n_features != expected:
        raise ValueError(
            f"the data have {n_features} features, but the scaling was made for {expected}. "
            "Give source, target and new rows the same columns."
        )
