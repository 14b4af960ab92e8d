"""The coordinates in which the classifier sees rows.

    Frame        scaled features, by default around the mean of source and target and brought to unit length
    CodeFrame    codes of an encoder, standardised by those of the target rows

Both have ``apply(X)``, which takes rows as the user gave them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..encoders import SourceEncoder
from ..scaling import FeatureScaling, IdentityScaling

__all__ = ["CodeFrame", "Frame", "fit_code_frame", "fit_frame"]


@dataclass(frozen=True)
class Frame:
    """Scaled rows, and with ``middle`` (d,) given taken around it and brought to unit length."""

    scaling: FeatureScaling | IdentityScaling
    middle: np.ndarray | None

    def apply(self, X):
        """Return rows in these coordinates, a new array shaped like X."""
        rows = self.scaling.apply(X)
        if self.middle is None:
            return rows
        rows -= self.middle.astype(rows.dtype)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        rows /= np.where(lengths > 0, lengths, 1)[:, None]
        return rows


def fit_frame(scaling, pool, X, *, unit):
    """Return the frame for a target X and a source (a SourcePool or None); ``unit`` centres and normalises rows."""
    if not unit:
        return Frame(scaling, None)
    total = scaling.apply(X).sum(axis=0, dtype=np.float64)
    n = len(X)
    for _, block in () if pool is None else pool.blocks():
        total += scaling.apply(block).sum(axis=0, dtype=np.float64)
        n += len(block)
    return Frame(scaling, total / n)


@dataclass(frozen=True)
class CodeFrame:
    """Codes less ``middle`` (n_components,) over ``spread`` (n_components,)."""

    encoder: SourceEncoder
    middle: np.ndarray
    spread: np.ndarray

    def apply(self, X):
        """Return the standardised codes of rows, shape (n, n_components)."""
        codes = self.encoder.transform(X)
        codes -= self.middle.astype(codes.dtype)
        codes /= self.spread.astype(codes.dtype)
        return codes


def fit_code_frame(encoder, X):
    """Return the frame of a fitted encoder's codes, standardised by the target rows X; constant codes become 0."""
    codes = encoder.transform(X).astype(np.float64)
    middle, spread = codes.mean(axis=0), codes.std(axis=0)
    # What is left of equal codes is rounding, and no reason to blow up the code of a row that differs.
    constant = spread <= 8 * np.finfo(X.dtype).eps * np.abs(codes).max(axis=0)
    return CodeFrame(encoder, middle, np.where(constant, np.inf, spread))
