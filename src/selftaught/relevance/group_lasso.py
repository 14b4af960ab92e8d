"""A small group lasso in Gram form, solved by Newton's method on the row norms.

The problem, for G = X X' (k, k) and Q = X Y' (k, T) of the k rows in the working set:

    minimise over B (k, T)      1/2 |Y - B' X|^2 + alpha sum_i |B_i|

Every norm is the least of a family of parabolas, ``|B_i| = min over eta_i > 0 of |B_i|^2 / (2 eta_i) + eta_i / 2``, and
at the minimum ``eta_i = |B_i|``. With eta fixed the best B is a ridge regression in closed form, so one number a row is
left to find, however many tasks there are. With ``s = sqrt(eta)`` and ``N = alpha I + S G S``:

    B = S N^-1 S Q,      residual correlations C = Q - G B,      S C = alpha N^-1 S Q,
    f(eta) = 1/2 |Y|^2 - 1/2 tr(Q' S N^-1 S Q) + alpha/2 sum eta          convex in eta, >= the objective at B.

Stationary means ``|C_i| = alpha`` wherever ``eta_i > 0``. For one row alone ``1/|C_i|`` is a straight line in eta_i, so
Newton's method is applied to ``1/|C_i| = 1/alpha`` (the trick of the secular equation in trust-region methods): it
lands in one step for orthogonal rows and in a handful otherwise, where Newton on f itself crawls out of zero. In
relative steps ``delta_i = d eta_i / eta_i`` the system is

    [(I - alpha N^-1) o (S C C' S)] delta = |s_i C_i|^2 (|C_i| / alpha - 1)          (o: entry by entry)

whose matrix is positive semi-definite, so that one Cholesky factor solves it. Rows driven below zero leave; rows with
``|C_i| > alpha`` outside enter; f must fall at every step, and where Newton's step does not make it fall, the
reweighting step ``eta_i <- |B_i|``, which never raises f, takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

__all__ = ["GroupLassoSolution", "row_norms", "solve_group_lasso"]

MAX_HALVINGS = 12


@dataclass(frozen=True)
class GroupLassoSolution:
    """Rows of B that are not zero: ``rows`` (k,), ``B`` (k, T), ``eta`` (k,); relative gap and Newton steps."""

    rows: np.ndarray
    B: np.ndarray
    eta: np.ndarray
    gap: float
    n_steps: int


@dataclass(frozen=True)
class _State:
    """The ridge solution at one eta: live rows, factor of N, alpha N^-1 S Q, and f up to |Y|^2 / 2."""

    rows: np.ndarray
    eta: np.ndarray
    factor: np.ndarray
    scaled_C: np.ndarray
    value: float


def solve_group_lasso(G, Q, alpha, response_square, *, eta, tol=1e-5, max_steps=100):
    """Solve the group lasso in Gram form to a relative duality gap over its own rows.

    Parameters
    ----------
    G : ndarray, shape (k, k)
        Inner products of the rows.
    Q : ndarray, shape (k, T)
        Inner products of rows and responses.
    alpha : float
        Weight of the row norms.
    response_square : float
        Squared norm of the responses.
    eta : ndarray, shape (k,)
        Start: guesses of the row norms; at least one must be positive.
    tol : float
        Relative duality gap to reach.
    max_steps : int

    Returns
    -------
    GroupLassoSolution
    """
    state = _ridge_state(G, Q, alpha, eta)
    for step in range(max_steps + 1):
        B = state.scaled_C * (np.sqrt(state.eta) / alpha)[:, None]
        C = Q - G[:, state.rows] @ B
        gap = _relative_gap(B, C, Q, state.rows, alpha, response_square)
        if gap <= tol or step == max_steps:
            break
        following = _next_state(G, Q, alpha, state, row_norms(C))
        if following is None:
            break
        state = following
    return GroupLassoSolution(state.rows, B, state.eta, gap, step)


def row_norms(A):
    """Return the Euclidean norm of each row."""
    return np.sqrt(np.einsum("ij,ij->i", A, A))


def _ridge_state(G, Q, alpha, eta):
    """Return the ridge solution for the rows with eta > 0."""
    rows = np.flatnonzero(eta > 0)
    eta = eta[rows]
    s = np.sqrt(eta)
    N = G[np.ix_(rows, rows)]
    N *= s[:, None]
    N *= s
    N[np.diag_indices_from(N)] += alpha
    factor, _ = lapack.dpotrf(N.T, lower=1, overwrite_a=1, clean=0)
    SQ = s[:, None] * Q[rows]
    V, _ = lapack.dpotrs(factor, SQ, lower=1)
    return _State(rows, eta, factor, alpha * V, 0.5 * (alpha * eta.sum() - np.vdot(SQ, V)))


def _relative_gap(B, C, Q, rows, alpha, response_square):
    """Return (primal - dual) / primal; the dual point is the residual, shrunk until every row fits."""
    fit = np.vdot(B, Q[rows])
    residual_response = response_square - fit
    residual_square = residual_response - np.vdot(B, C[rows])
    return relative_gap(residual_square, residual_response, row_norms(C).max(), row_norms(B).sum(), alpha)


def relative_gap(residual_square, residual_response, largest, norms, alpha):
    """Return the duality gap over the primal value, from |R|^2, <R, Y>, max |R x_i|, sum |B_i| and alpha."""
    primal = 0.5 * residual_square + alpha * norms
    shrink = min(1.0, alpha / largest) if largest > 0 else 1.0
    dual = shrink * residual_response - 0.5 * shrink**2 * residual_square
    return max(0.0, float((primal - dual) / primal)) if primal > 0 else 0.0


def _next_state(G, Q, alpha, state, correlation):
    """Return a state with a lower value, or None where none is found at working precision."""
    least_fall = 4 * np.finfo(float).eps * abs(state.value)
    direction = _newton_direction(alpha, state)
    entering = _entering(G, alpha, state, correlation)
    length = 1.0
    for _ in range(MAX_HALVINGS if direction is not None else 0):
        eta = length * entering
        eta[state.rows] = state.eta * np.clip(1 + length * direction, 0, None)
        trial = _ridge_state(G, Q, alpha, eta) if eta.any() else None
        if trial is not None and trial.value < state.value - least_fall:
            return trial
        length /= 2
    eta = np.zeros(len(G))
    eta[state.rows] = np.sqrt(state.eta) * row_norms(state.scaled_C) / alpha
    trial = _ridge_state(G, Q, alpha, eta)
    return trial if trial.value < state.value - least_fall else None


def _newton_direction(alpha, state):
    """Return the relative change of eta that Newton's method on 1/|C_i| = 1/alpha asks for."""
    inverse, _ = lapack.dpotri(state.factor, lower=1)
    inverse = np.tril(inverse)
    H = inverse + np.tril(inverse, -1).T
    H *= -alpha
    H[np.diag_indices_from(H)] += 1
    H *= state.scaled_C @ state.scaled_C.T
    size = row_norms(state.scaled_C)
    right = size**2 * (size / (np.sqrt(state.eta) * alpha) - 1)
    # Repeated rows make H singular; a ridge far below the accuracy asked for picks the even split among them.
    H[np.diag_indices_from(H)] *= 1 + 1e-10
    H[np.diag_indices_from(H)] += np.finfo(float).tiny
    factor, failed = lapack.dpotrf(H.T, lower=1, overwrite_a=1, clean=0)
    return None if failed else lapack.dpotrs(factor, right, lower=1)[0]


def _entering(G, alpha, state, correlation):
    """Return first guesses of eta for rows outside that pull harder than alpha, zero elsewhere."""
    diagonal = np.diag(G)
    eta = np.zeros(len(G))
    outside = np.ones(len(G), dtype=bool)
    outside[state.rows] = False
    enters = np.flatnonzero(outside & (correlation > alpha * (1 + 1e-9)) & (diagonal > 0))
    # Alone, a row would move to (|C_i| - alpha) / G_ii; rows that enter together share the residual.
    eta[enters] = 0.5 * (correlation[enters] - alpha) / diagonal[enters] / max(1.0, np.sqrt(len(enters)))
    return eta
