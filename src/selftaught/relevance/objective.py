"""The whole objective of stage 1, term by term.

1/(2n) |H - X|^2                                             reconstruction
+ mu/(2 n_target) |A'(X_source - c) + c - H_target|^2        mapping
+ lam sum_i w_i |A_i|                                        sparsity
+ gamma Tr(Z' Lap Z)                                         graph
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .autoencoder import decode, encode
from .mapping import map_source

__all__ = ["Objective", "contribution_lengths", "objective"]


@dataclass(frozen=True)
class Objective:
    """The four terms, each with its weight, and their sum."""

    reconstruction: float
    mapping: float
    sparsity: float
    graph: float

    @property
    def total(self):
        """The value that the alternation lowers."""
        return self.reconstruction + self.mapping + self.sparsity + self.graph


def objective(
    X_source, X_target, autoencoder, mapping, laplacian=None, *, lam, gamma, mu=1.0, center=None, row_weights=None
):
    """Evaluate the objective.

    Parameters
    ----------
    X_source : ndarray, shape (n_source, d)
    X_target : ndarray, shape (n_target, d)
    autoencoder : Autoencoder
    mapping : sparse or ndarray, shape (n_source, n_target)
    laplacian : sparse, shape (n, n), optional
        Of the stacked rows, source first; may be left out where ``gamma`` is zero.
    lam, gamma, mu : float
        Weights of sparsity, graph and mapping.
    center : ndarray, shape (d,), optional
        The point in whose coordinates the mapping acts; zero when not given.
    row_weights : ndarray, shape (n_source,), optional
        Weights of the rows' norms; one when not given.

    Returns
    -------
    Objective
    """
    X = np.concatenate([X_source, X_target])
    Z = encode(X, autoencoder)
    H = decode(Z, autoencoder)
    missed = map_source(mapping, X_source, center) - H[len(X_source) :]
    return Objective(
        reconstruction=_square(H - X) / (2 * len(X)),
        mapping=mu * _square(missed) / (2 * len(X_target)),
        sparsity=lam * float(contribution_lengths(mapping, row_weights).sum()),
        graph=gamma * float(np.einsum("ij,ij->", laplacian @ Z, Z, dtype=np.float64)) if gamma else 0.0,
    )


def contribution_lengths(mapping, row_weights=None):
    """Return w_i |A_i|, the length of what each source row contributes, shape (n_source,), float64."""
    mapping = sparse.csr_array(mapping).astype(np.float64)
    lengths = np.sqrt(mapping.multiply(mapping).sum(axis=1)).ravel()
    return lengths if row_weights is None else lengths * row_weights


def _square(values):
    return float(np.einsum("ij,ij->", values, values, dtype=np.float64))
