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

whose matrix is positive semi-definite. The step is bounded by ``delta_i >= -1``,
where a row leaves, and the rows that stay make up for those that go; rows with ``|C_i| > alpha`` outside enter. Every
step must lower f. Where Newton's does not, Levenberg's damping shortens it; where even that stalls (many rows in few
features leave at once, or what a row brings is lost in the rounding of f), sweeps of block coordinate descent, which
never raise f, go on from there.

All of it is NumPy's linear algebra and none SciPy's: the two bring a BLAS each, and where calls alternate, the threads
of the one that waits keep the cores from the other (measured: 20 to 60 times slower with two threads on two cores).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["GroupLassoSolution", "row_norms", "solve_group_lasso"]

# Levenberg's damping, tried in turn: where rows outnumber what tells them apart, Newton's system is nearly singular.
DAMPINGS = (0.0, 1e-4, 1e-2, 1.0)
LENGTHS = (1.0, 0.5, 0.25)
# A Newton step that closes less of the gap than this has stalled, and sweeps take over. More and they run where Newton
# would soon have caught up: at 0.1 the whole solve took up to twice as long.
LEAST_SHARE = 1e-5
N_SWEEPS = 3
# Steps that lower neither value nor gap by more than rounding, after which no more is to be had.
PATIENCE = 5
ROUNDING = 64 * np.finfo(float).eps


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
    """The ridge solution at one eta: live rows, N^-1, S C = alpha N^-1 S Q, B, and f up to |Y|^2 / 2."""

    rows: np.ndarray
    eta: np.ndarray
    inverse: np.ndarray
    scaled_C: np.ndarray
    B: np.ndarray
    value: float

    def correlations(self, G, Q):
        """Return the residual correlations of all rows, live or not, (k, T)."""
        return Q - G[:, self.rows] @ self.B


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
    best_gap, idle = np.inf, 0
    for step in range(max_steps + 1):
        C = state.correlations(G, Q)
        gap = _relative_gap(state.B, C, Q, state.rows, alpha, response_square)
        if gap <= tol or step == max_steps or idle == PATIENCE:
            break
        primal = state.value + response_square / 2
        following = _next_state(G, Q, alpha, state, row_norms(C), LEAST_SHARE * gap * primal)
        fell = following.value < state.value - ROUNDING * primal
        idle = 0 if fell or gap < best_gap else idle + 1
        best_gap, state = min(best_gap, gap), following
    return GroupLassoSolution(state.rows, state.B, state.eta, gap, step)


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
    inverse = np.linalg.inv(N)
    SQ = s[:, None] * Q[rows]
    V = inverse @ SQ
    value = 0.5 * (alpha * eta.sum() - np.vdot(SQ, V))
    return _State(rows, eta, inverse, alpha * V, s[:, None] * V, value)


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
    # The order of max() matters: a gap of NaN must stay NaN and certify nothing.
    return max(float((primal - dual) / primal), 0.0) if primal != 0 else 0.0


def _next_state(G, Q, alpha, state, correlation, least_fall):
    """Return the state after a Newton step and, where the value falls by less than asked, after sweeps as well."""
    newton = _newton_state(G, Q, alpha, state, correlation)
    if state.value - newton.value > least_fall:
        return newton
    return _swept_state(G, Q, alpha, newton)


def _newton_state(G, Q, alpha, state, correlation):
    """Return the state after the first step that lowers f, from Newton's own to damped and shortened ones."""
    entering = _entering(G, alpha, state, correlation)
    H = _curvature(alpha, state)
    for damping in DAMPINGS:
        slope = _plain_slope(alpha, state) if damping else _secular_slope(alpha, state)
        H[np.diag_indices_from(H)] *= 1 + damping
        step = _bounded_step(H, slope)
        for length in LENGTHS:
            eta = length * entering
            eta[state.rows] = state.eta * np.maximum(1 + length * step, 0)
            if eta.any() and (trial := _ridge_state(G, Q, alpha, eta)).value < state.value:
                return trial
    return state


def _swept_state(G, Q, alpha, state):
    """Return the state whose eta are the norms after block coordinate descent, which never raises f."""
    B = np.zeros_like(Q)
    B[state.rows] = state.B
    _sweep(G, Q, alpha, B)
    eta = row_norms(B)
    return _ridge_state(G, Q, alpha, eta) if eta.any() else state


def _sweep(G, Q, alpha, B):
    """Solve for one row after the other, the rest held fixed; B changes in place, rows that rest at zero do not."""
    rests = ~B.any(axis=1) & (row_norms(Q - G @ B) <= alpha)
    for i in np.tile(np.flatnonzero(~rests & (np.diag(G) > 0)), N_SWEEPS):
        alone = Q[i] - G[i] @ B + G[i, i] * B[i]
        size = np.sqrt(alone @ alone)
        B[i] = alone * (max(1 - alpha / size, 0) / G[i, i] if size > 0 else 0)


def _curvature(alpha, state):
    """Return (I - alpha N^-1) o (S C C' S), the matrix of Newton's system in relative steps."""
    H = -alpha * state.inverse
    H[np.diag_indices_from(H)] += 1
    H *= state.scaled_C @ state.scaled_C.T
    # Repeated rows make H singular; a ridge far below the accuracy asked for picks the even split among them.
    H[np.diag_indices_from(H)] *= 1 + 1e-10
    H[np.diag_indices_from(H)] += np.finfo(float).tiny
    return H


def _secular_slope(alpha, state):
    """Return the right-hand side of Newton's method on 1/|C_i| = 1/alpha."""
    size = row_norms(state.scaled_C)
    return size**2 * (size / (np.sqrt(state.eta) * alpha) - 1)


def _plain_slope(alpha, state):
    """Return the right-hand side of Newton's method on f itself."""
    return 0.5 * (row_norms(state.scaled_C) ** 2 - alpha**2 * state.eta)


def _bounded_step(H, slope):
    """Return the relative step that minimises 1/2 d'Hd - slope'd with no entry below -1, where a row is gone.

    Entries that would go below are fixed at -1 and the rest is solved anew, so that the rows which stay make up for
    those which leave.
    """
    step = np.full(len(H), -1.0)
    free = np.arange(len(H))
    while len(free):
        right = slope[free] + H[free].sum(axis=1) - H[np.ix_(free, free)].sum(axis=1)
        try:
            step[free] = np.linalg.solve(H[np.ix_(free, free)], right)
        except np.linalg.LinAlgError:
            step[free] = 0.0
            return step
        leaving = step[free] < -1
        if not leaving.any():
            return step
        step[free[leaving]] = -1.0
        free = free[~leaving]
    return step


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
