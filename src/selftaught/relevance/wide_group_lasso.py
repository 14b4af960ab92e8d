"""The group lasso of `group_lasso` where rows outnumber features: the same Newton's method, in the features' terms.

With more rows than features the Gram matrix of the rows is singular, and for a small alpha the ridge solutions of
`group_lasso` lose all their digits. For X (k, d) with k > d the same quantities come from a positive definite matrix of
size d, without a difference of large numbers anywhere:

    M = alpha I + X' diag(eta) X,      V = Y M^-1  (T, d),      c_i = V x_i,      B_i = eta_i c_i,
    f(eta) = alpha/2 [ tr(Y M^-1 Y') + sum eta ],               residual = alpha V,      |C_i| = alpha |c_i|

Stationary means |c_i| = 1 wherever eta_i > 0. Newton's method on 1/|c_i| = 1 solves, for the change of eta,

    [(X M^-1 X') o (c c')] d_eta = |c_i|^2 (|c_i| - 1)                               (o: entry by entry)

bounded by d_eta >= -eta. The matrix is taken in float32, which costs a little of the speed at the very end; values,
gradients and the gap are float64. A step must lower f; where none does, ``eta_i <- eta_i |c_i|`` takes over,
the published reweighting, which never raises f.
"""

from __future__ import annotations

import numpy as np

from .group_lasso import LENGTHS, GroupLassoSolution, bounded_step, relative_gap, row_norms

__all__ = ["solve_wide_group_lasso"]

# Reweightings from a start that knows nothing, before Newton's matrix is worth its cost.
N_FIRST = 5
ROUNDING = 64 * np.finfo(float).eps
# Relative ridge of Newton's matrix: above the rounding of float32.
RIDGE = np.float32(1e-5)
# Rows of less than this share of the largest eta, and not asked for, are out.
GONE = 1e-9
PATIENCE = 5


def solve_wide_group_lasso(X, Y, alpha, *, eta, tol=1e-5, max_steps=100):
    """Solve the group lasso to a relative duality gap over its own rows.

    Parameters
    ----------
    X : ndarray, shape (k, d)
        The rows, k > d or thereabouts, float64.
    Y : ndarray, shape (T, d)
        The responses.
    alpha : float
        Weight of the row norms.
    eta : ndarray, shape (k,)
        Start: guesses of the row norms; zeros will do.
    tol : float
        Relative duality gap to reach.
    max_steps : int

    Returns
    -------
    GroupLassoSolution
    """
    response_square = float(np.vdot(Y, Y))
    blank = not eta.any()
    state = _State(X, Y, alpha, np.full(len(X), np.sqrt(response_square) / len(X)) if blank else eta)
    n_first, best_gap, idle = N_FIRST if blank else 1, np.inf, 0
    for step in range(max_steps + 1):
        gap = state.relative_gap(alpha)
        if gap <= tol or step == max_steps or idle == PATIENCE:
            break
        following = state.reweighted(X, Y, alpha) if step < n_first else state.newton(X, Y, alpha)
        fell = following.value < state.value * (1 - ROUNDING)
        idle = 0 if fell or gap < best_gap else idle + 1
        best_gap, state = min(best_gap, gap), following
    rows = np.flatnonzero(state.eta)
    B = state.eta[rows, None] * state.c[rows]
    return GroupLassoSolution(rows, B, state.eta[rows], gap, step, None, state.value - response_square / 2)


class _State:
    """The ridge solution at one eta: M^-1, V, c, |c| and the value f."""

    def __init__(self, X, Y, alpha, eta):
        self.eta = np.where(eta > GONE * eta.max(initial=0), eta, 0.0)
        live = np.flatnonzero(self.eta)
        rows = np.sqrt(self.eta[live])[:, None] * X[live]
        M = rows.T @ rows
        M[np.diag_indices_from(M)] += alpha
        # Not by halves as in `group_lasso`: at the condition numbers of a small alpha that loses every digit.
        self.inverse = np.linalg.inv(M)
        self.V = V = Y @ self.inverse
        self.c = X @ V.T
        self.size = row_norms(self.c)
        self._through = float(np.vdot(V, Y))
        self.value = 0.5 * alpha * (self._through + self.eta.sum())

    def relative_gap(self, alpha):
        """Return (primal - dual) / primal at B = eta c."""
        square = alpha**2 * float(np.vdot(self.V, self.V))
        return relative_gap(square, alpha * self._through, alpha * self.size.max(), self.eta @ self.size, alpha)

    def reweighted(self, X, Y, alpha):
        """Return the state after eta <- |B_i|."""
        return _State(X, Y, alpha, self.eta * self.size)

    def newton(self, X, Y, alpha):
        """Return the state after the first of Newton's steps, shortened in turn, that lowers f, else reweighted."""
        rows = np.flatnonzero((self.eta > 0) | (self.size > 1 + 1e-9))
        unit = np.where(self.eta[rows] > 0, self.eta[rows], 1.0)
        part, pull = X[rows].astype(np.float32), (unit[:, None] * self.c[rows]).astype(np.float32)
        part = part @ np.linalg.cholesky(self.inverse).astype(np.float32)
        H = part @ part.T  # a matrix times its own transpose costs half a product
        H *= pull @ pull.T
        H[np.diag_indices_from(H)] *= 1 + RIDGE
        H[np.diag_indices_from(H)] += np.finfo(np.float32).tiny
        size = self.size[rows]
        lowest = np.where(self.eta[rows] > 0, -1.0, 0.0)
        step = bounded_step(H, (unit * size**2 * (size - 1)).astype(np.float32), lowest.astype(np.float32))
        for length in LENGTHS:
            eta = self.eta.copy()
            eta[rows] = np.maximum(eta[rows] + length * unit * step, 0)
            trial = _State(X, Y, alpha, eta)
            if trial.value < self.value:
                return trial
        return self.reweighted(X, Y, alpha)
