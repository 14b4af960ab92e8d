"""The objective of S-Low: minimax-concave stand-ins for the rank of the target's codes and the size of the errors.

For ``X = Z D + E``, rows as samples, with ``Z_s`` (n_source, m), ``Z_t`` (n_target, m) and ``D`` (m, d):

    sum_k M(sigma_k(Z_t); knee_rank) + sparsity |Z_s|_1 + error_weight (source_weight M(E_s) + M(E_t))
    M(t; knee) = |t| - t^2 / (2 knee) up to the knee, knee / 2 beyond                (entry by entry, summed)

M starts with the slope of ``|t|`` and flattens, so that large singular values and gross errors are not shrunk. It is
``|t|`` less a smooth convex function. Replacing that function by its tangent at the current point leaves a *convex*
problem whose value touches M there and lies above it elsewhere: to lower one is to lower the other. The tangents are

    rank_tangent(Z) = U diag(min(sigma / knee, 1)) V'           tangent(E) = clip(E / knee, -1, 1)

and an infinite knee is the convex problem itself: nuclear norm and absolute errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Weights", "concave", "measure_weights", "objective", "rank_tangent", "tangent"]


@dataclass(frozen=True)
class Weights:
    """The constants of the objective, in units of the data: see the module."""

    knee_rank: float
    knee_error: float
    error_weight: float
    sparsity: float
    source_weight: float


def concave(T, knee):
    """Return ``M(t; knee)`` of every entry."""
    size = np.minimum(np.abs(T), knee)
    return size if knee == np.inf else size - size**2 / (2 * knee)


def tangent(T, knee):
    """Return the slope of ``|t| - M(t; knee)`` at every entry: between -1 and 1, zero for an infinite knee."""
    return np.clip(T / knee, -1, 1)


def rank_tangent(Z, knee):
    """Return the gradient at Z of ``sum_k sigma_k - M(sigma_k; knee)``: singular values at most one."""
    if knee == np.inf:
        return np.zeros_like(Z)
    U, sigma, Vt = np.linalg.svd(Z, full_matrices=False)
    return (U * np.minimum(sigma / knee, 1)) @ Vt


def objective(X_source, X_target, D, Z_source, Z_target, weights):
    """Return the value of the objective; see the module."""
    rank = concave(np.linalg.svd(Z_target, compute_uv=False), weights.knee_rank).sum()
    sparsity = weights.sparsity * np.abs(Z_source).sum()
    of_source = concave(X_source - Z_source @ D, weights.knee_error).sum()
    of_target = concave(X_target - Z_target @ D, weights.knee_error).sum()
    return float(rank + sparsity + weights.error_weight * (weights.source_weight * of_source + of_target))


def measure_weights(
    X_source, X_target, D, Z_target, *, rank_gamma, error_gamma, error_weight, source_sparsity, source_weight
):
    """Turn scale-free parameters into the constants of the objective, measured at the start.

    The knees are multiples of the mean singular value of the starting codes and of their mean error. At an error weight
    of one, no row of the target needs a code while the problem is convex; at a sparsity of one, half of the source
    rows need none.

    Returns
    -------
    Weights
    """
    rank = min(*X_target.shape, len(D))  # more singular values than that are zero by construction
    mean_sigma = np.linalg.svd(Z_target, compute_uv=False).sum() / rank
    mean_size, mean_error = np.abs(X_target).mean(), np.abs(X_target - Z_target @ D).mean()
    if mean_error <= 1e-12 * mean_size:
        mean_error = 0.1 * mean_size
    weight = error_weight / (np.linalg.norm(np.sign(X_target) @ D.T, 2) or 1.0)
    pulls = np.abs(np.sign(X_source) @ D.T).max(axis=1, initial=0)
    pulls = pulls[pulls > 0]  # rows of zeros ask for nothing, however many
    return Weights(
        # a target of zeros has nothing to measure, and no singular value or error that could reach a knee
        knee_rank=float(rank_gamma * mean_sigma) or np.inf,
        knee_error=float(error_gamma * mean_error) or np.inf,
        error_weight=float(weight),
        sparsity=float(source_sparsity * weight * np.median(pulls)) if len(pulls) else 0.0,
        source_weight=float(source_weight),
    )
