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

whose matrix is positive semi-definite. Rows outside with ``|C_i| > alpha`` take part: the straight line of a row begins
at zero, so Newton sizes them among the others from the first step on. Their steps are plain, not relative (s_i = 1):

    with a live row l         (N^-1 S G)_li o (s_l C_l . C_i)
    among themselves          (G - G S N^-1 S G)_ij / alpha o (C_i . C_j)

The step is bounded by ``delta_i >= -1``, where a live row leaves, and by 0 for a row outside; the rows that stay make
up for those that go. Every step must lower f. Where Newton's does not, Levenberg's damping shortens it; where even that
stalls (many rows in few features leave at once, or what a row brings is lost in the rounding of f), sweeps of block
coordinate descent, which never raise f, go on from there.

All of it is NumPy's linear algebra and none SciPy's: the two bring a BLAS each, and where calls alternate, the threads
of the one that waits keep the cores from the other (measured: 20 to 60 times slower with two threads on two cores).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["GroupLassoSolution", "bounded_step", "relative_gap", "row_norms", "solve_group_lasso"]

# Levenberg's damping, tried in turn: where rows outnumber what tells them apart, Newton's system is nearly singular.
DAMPINGS = (0.0, 1e-4, 1e-2, 1.0)
LENGTHS = (1.0, 0.5, 0.25)
# A Newton step that closes less of the gap than this has stalled, and sweeps take over. More and they run where Newton
# would soon have caught up: at 0.1 the whole solve took up to twice as long.
LEAST_SHARE = 1e-5
N_SWEEPS = 3
# Below this size a matrix is inverted whole.
SMALL = 128
# Relative residual of the inverse by halves above which it is taken whole: with a small alpha it is ill-conditioned.
LOST = 1e-6
# Share of the rows in a step that may leave unattended: 0.1 takes 30 % less time than 0 where most rows live.
FEW = 0.1
# Steps that lower neither value nor gap by more than rounding, after which no more is to be had.
PATIENCE = 5
ROUNDING = 64 * np.finfo(float).eps


@dataclass(frozen=True)
class GroupLassoSolution:
    """Rows of B that are not zero: ``rows`` (k,), ``B`` (k, T), ``eta`` (k,); relative gap and Newton steps.

    ``inverse`` (k, k) and ``value`` are what it takes to go on from here; no inverse of a problem with more rows than
    features (`wide_group_lasso`).
    """

    rows: np.ndarray
    B: np.ndarray
    eta: np.ndarray
    gap: float
    n_steps: int
    inverse: np.ndarray | None
    value: float


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


def solve_group_lasso(G, Q, alpha, response_square, *, eta, last=None, tol=1e-5, max_steps=100):
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
        Start: guesses of the row norms; zeros will do.
    last : GroupLassoSolution, optional
        Start instead where another solve ended, whose live rows are the first of these, in order.
    tol : float
        Relative duality gap to reach.
    max_steps : int

    Returns
    -------
    GroupLassoSolution
    """
    state = _ridge_state(G, Q, alpha, eta) if last is None else _taken_up(last, alpha)
    best_gap, idle = np.inf, 0
    for step in range(max_steps + 1):
        C = state.correlations(G, Q)
        gap = _relative_gap(state.B, C, Q, state.rows, alpha, response_square)
        if gap <= tol or step == max_steps or idle == PATIENCE:
            break
        primal = state.value + response_square / 2
        following = _next_state(G, Q, alpha, state, C, LEAST_SHARE * gap * primal)
        fell = following.value < state.value - ROUNDING * primal
        idle = 0 if fell or gap < best_gap else idle + 1
        best_gap, state = min(best_gap, gap), following
    return GroupLassoSolution(state.rows, state.B, state.eta, gap, step, state.inverse, state.value)


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
    inverse = _positive_inverse(N)
    SQ = s[:, None] * Q[rows]
    V = inverse @ SQ
    if len(N) > SMALL:  # the inverse by halves loses digits: one refinement restores them, unless all are lost
        missed = SQ - N @ V
        if np.vdot(missed, missed) > LOST**2 * np.vdot(SQ, SQ):
            inverse = np.linalg.inv(N)
            V = inverse @ SQ
            missed = SQ - N @ V
        V += inverse @ missed
    value = 0.5 * (alpha * eta.sum() - np.vdot(SQ, V))
    return _State(rows, eta, inverse, alpha * V, s[:, None] * V, value)


def _taken_up(last, alpha):
    """Return the state in which another solve ended; its live rows now come first."""
    scaled_C = alpha * last.B / np.sqrt(last.eta)[:, None]
    return _State(np.arange(len(last.rows)), last.eta, last.inverse, scaled_C, last.B, last.value)


def _positive_inverse(N):
    """Return the inverse of a positive definite matrix, by halves: nearly all of it products, half the work of LU."""
    if len(N) <= SMALL:
        return np.linalg.inv(N)
    half = len(N) // 2
    first, across = slice(0, half), N[:half, half:]
    inverse = np.empty_like(N)
    A_inverse = _positive_inverse(N[first, first])
    W = A_inverse @ across
    inverse[half:, half:] = _positive_inverse(N[half:, half:] - across.T @ W)
    inverse[:half, half:] = -W @ inverse[half:, half:]
    inverse[half:, :half] = inverse[:half, half:].T
    inverse[first, first] = A_inverse - inverse[:half, half:] @ W.T
    return inverse


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


def _next_state(G, Q, alpha, state, C, least_fall):
    """Return the state after a Newton step and, where the value falls by less than asked, after sweeps as well."""
    newton = _newton_state(G, Q, alpha, state, C, row_norms(C))
    if state.value - newton.value > least_fall:
        return newton
    return _swept_state(G, Q, alpha, newton)


def _newton_state(G, Q, alpha, state, C, correlation):
    """Return the state after the first step that lowers f, from Newton's own to damped and shortened ones."""
    entering = _entering_rows(G, alpha, state, correlation)
    H = _curvature(G, alpha, state, C, entering)
    size = np.concatenate([row_norms(state.scaled_C), correlation[entering]])
    level = alpha * np.concatenate([np.sqrt(state.eta), np.ones(len(entering))])
    lowest = np.concatenate([np.full(len(state.rows), -1.0), np.zeros(len(entering))])
    for damping in DAMPINGS:
        slope = _plain_slope(size, level) if damping else _secular_slope(size, level)
        H[np.diag_indices_from(H)] *= 1 + damping
        step = bounded_step(H, slope, lowest)
        for length in LENGTHS:
            eta = np.zeros(len(G))
            eta[state.rows] = state.eta * np.maximum(1 + length * step[: len(state.rows)], 0)
            eta[entering] = length * np.maximum(step[len(state.rows) :], 0)
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


def _entering_rows(G, alpha, state, correlation):
    """Return the rows outside that pull harder than alpha."""
    pulls = (correlation > alpha * (1 + 1e-9)) & (np.diag(G) > 0)
    pulls[state.rows] = False
    return np.flatnonzero(pulls)


def _curvature(G, alpha, state, C, entering):
    """Return the matrix of Newton's system, live rows first, then those that enter."""
    n_live = len(state.rows)
    H = np.empty((n_live + len(entering),) * 2)
    live, outside = slice(0, n_live), slice(n_live, None)
    H[live, live] = -alpha * state.inverse
    H[live, live][np.diag_indices(n_live)] += 1
    if len(entering):
        across = np.sqrt(state.eta)[:, None] * G[np.ix_(state.rows, entering)]
        H[live, outside] = state.inverse @ across
        H[outside, live] = H[live, outside].T
        H[outside, outside] = (G[np.ix_(entering, entering)] - across.T @ H[live, outside]) / alpha
    pulls = np.concatenate([state.scaled_C, C[entering]])
    H *= pulls @ pulls.T
    # Repeated rows make H singular; a ridge far below the accuracy asked for picks the even split among them.
    H[np.diag_indices_from(H)] *= 1 + 1e-10
    H[np.diag_indices_from(H)] += np.finfo(float).tiny
    return H


def _secular_slope(size, level):
    """Return the right-hand side of Newton's method on 1/|C_i| = 1/alpha, from s_i |C_i| and s_i alpha."""
    return size**2 * (size / level - 1)


def _plain_slope(size, level):
    """Return the right-hand side of Newton's method on f itself."""
    return 0.5 * (size**2 - level**2)


def bounded_step(H, slope, lowest):
    """Return the step that minimises 1/2 d'Hd - slope'd with no entry below ``lowest``.

    Entries that would go below are fixed there and the rest is solved anew, so that the rows which stay make up for
    those which leave; not for the last few of them, whom the next step makes up for as well.
    """
    step = lowest.copy()
    free = np.arange(len(H))
    while len(free):
        fixed = lowest.copy()
        fixed[free] = 0.0
        right = slope[free] - H[free] @ fixed
        try:
            step[free] = np.linalg.solve(H[np.ix_(free, free)], right)
        except np.linalg.LinAlgError:
            step[free] = 0.0
            return step
        below = step[free] < lowest[free]
        step[free[below]] = lowest[free[below]]
        if np.count_nonzero(below) <= FEW * len(free):
            return step
        free = free[~below]
    return step
