"""Kernel mean matching with the whole kernel in memory: a quadratic program solved face by face.

The problem, for K (n, n) positive semi-definite and kappa (n,):

    minimise over beta (n,)    f(beta) = 1/2 beta' K beta - kappa' beta
    subject to                 0 <= beta_i <= bound,    low <= sum_i beta_i <= high

*Certificate.* With the gradient ``g = K beta - kappa``, no admissible s has ``f(s) < f(beta) - g.(beta - s)``. The s
for which this is the least fills rows up to the bound in increasing order of g, as long as g is negative and the sum
allows it. So ``gap = g.(beta - s)`` bounds how far beta is from the best, whatever the solver did.

*Solver.* Few rows are strictly between their bounds. The face is these rows and the ones at a bound that pull away
from it hardest (their part of g beyond the multiplier of the sum); on it the minimum is one linear system,

    [K_FF + damping I] d = -g_F + nu 1,    nu = 0, or what keeps the sum of d inside its limits.

Entries of ``beta + d`` beyond a bound are fixed there and the rest is solved anew, until all fit (`_face_step`).
That is no descent in general, so a step counts only if f falls along it; if it does not, damping makes it shorter and
better conditioned (the proximal point method: damping moves the steps, never the answer). Where no damping helps,
accelerated projected gradient, which needs no luck, takes over for a while. Kernel matrices of wide Gaussians have
condition numbers of 1e10 and more: there gradient steps alone need tens of thousands of rounds, faces some dozens.

All of it is NumPy's linear algebra and none SciPy's, for the reason given in `selftaught.relevance.group_lasso`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Limits", "Matching", "certificate", "multiplier", "project", "pull", "solve_dense", "sparse_start"]

# Tried in turn, in the unit of K's diagonal. The first is rounding's share: rows that repeat make K singular.
DAMPINGS = (1e-10, 1e-6, 1e-4, 1e-2, 1.0)
# Rows at a bound that join a face. More make fewer but dearer rounds; from 100 to 400 all is within a factor of 1.5.
ENTERING = 150
START_ROWS = 100
GRADIENT_STEPS = 100
# Rounds that lower neither f nor the gap, after which no more is to be had.
PATIENCE = 20
ROUNDING = 1e-15


@dataclass(frozen=True)
class Limits:
    """The admissible weights: each in [0, bound], their sum in [low, high]."""

    bound: float
    low: float
    high: float


@dataclass(frozen=True)
class Matching:
    """A solution: ``beta`` (n,), gradient ``g`` = K beta - kappa (n,), certified ``gap`` in f, rounds, converged."""

    beta: np.ndarray
    gradient: np.ndarray
    gap: float
    n_rounds: int
    converged: bool

    def value(self, kappa):
        """Return f at beta."""
        return 0.5 * float(self.beta @ (self.gradient - kappa))


def certificate(g, beta, limits):
    """Return a bound on f(beta) minus the least f, from the gradient g (n,) at beta (n,)."""
    order = np.argsort(g, kind="stable")
    total = np.clip(limits.bound * np.count_nonzero(g < 0), limits.low, limits.high)
    cheapest = np.clip(total - limits.bound * np.arange(len(g)), 0, limits.bound)
    return max(float(g @ beta - g[order] @ cheapest), 0.0)


def multiplier(g, beta, limits):
    """Return the price of the sum: zero while the sum is inside its limits, else the level of g inside the bounds.

    With no row inside, the level is between the row that would rise first and the one that would fall first.
    """
    edge = 1e-10 * max(limits.high, 1.0)
    total = beta.sum()
    inside = _inside(beta, limits)
    if inside.any():
        level = float(g[inside].mean())
    else:
        first = [*np.sort(g[beta < limits.bound])[:1], *np.sort(g[beta > 0])[-1:]]
        level = float(np.mean(first))
    least = -np.inf if total >= limits.high - edge else 0.0
    most = np.inf if total <= limits.low + edge else 0.0
    return min(max(level, least), most)


def pull(g, beta, limits):
    """Return how much each row wants to leave where it is, (n,) >= 0: zero at a solution."""
    beyond = g - multiplier(g, beta, limits)
    up = np.where(beta < limits.bound, -beyond, 0)
    return np.maximum(up, np.where(beta > 0, beyond, 0))


def project(v, limits):
    """Return the admissible point nearest to v (n,): clip(v - shift, 0, bound) with the one shift the sum needs."""
    clipped = np.clip(v, 0, limits.bound)
    total = clipped.sum()
    if limits.low <= total <= limits.high:
        return clipped
    wanted = limits.low if total < limits.low else limits.high
    # The sum falls in straight pieces as the shift grows; bisect to the piece, then go along it.
    corners = np.sort(np.concatenate([v - limits.bound, v]))
    first, last = 0, len(corners) - 1
    while last - first > 1:
        middle = (first + last) // 2
        if np.clip(v - corners[middle], 0, limits.bound).sum() >= wanted:
            first = middle
        else:
            last = middle
    above, below = (np.clip(v - corners[i], 0, limits.bound).sum() for i in (first, last))
    share = (above - wanted) / (above - below) if above > below else 0.0
    return np.clip(v - corners[first] - share * (corners[last] - corners[first]), 0, limits.bound)


def sparse_start(kappa, limits):
    """Return a start: even weights, half the bound at most where that can be, on the rows most like the target."""
    n = len(kappa)
    n_rows = min(n, max(START_ROWS, int(np.ceil(2 * n / limits.bound))))
    beta = np.zeros(n)
    beta[np.argsort(-kappa, kind="stable")[:n_rows]] = min(n / n_rows, limits.bound)
    return project(beta, limits)


def solve_dense(K, kappa, limits, *, start, target, max_rounds=1000, on_round=None):
    """Solve with K (n, n) in memory, to a certified gap of at most ``target`` in f.

    Parameters
    ----------
    K : ndarray, shape (n, n)
        Positive semi-definite, with a diagonal of about one.
    kappa : ndarray, shape (n,)
    limits : Limits
    start : ndarray, shape (n,)
        Admissible.
    target : float
    max_rounds : int
    on_round : callable, optional
        Called with the round's number and f.

    Returns
    -------
    Matching
    """
    beta, damping, idle = start, 0, 0
    least, best_gap = np.inf, np.inf
    for n_rounds in range(max_rounds + 1):
        g = _times(K, beta) - kappa
        gap = certificate(g, beta, limits)
        f = 0.5 * float(beta @ (g - kappa))
        if on_round is not None and n_rounds:
            on_round(n_rounds, f)
        if gap <= target or n_rounds == max_rounds or idle == PATIENCE:
            break
        falls = f < least - ROUNDING * len(kappa) ** 2
        idle = 0 if falls or gap < best_gap else idle + 1
        least, best_gap = min(least, f), min(best_gap, gap)
        # A step that changes nothing that counts will be chosen again, unless more damping makes it another.
        beta, damping = _next(K, kappa, beta, g, limits, damping if falls else damping + 1)
    return Matching(beta, g, gap, n_rounds, gap <= target)


def _next(K, kappa, beta, g, limits, damping):
    """Return weights with a lower f, and the damping from which the next round should start."""
    face = _choose_face(g, beta, limits)
    for level in range(damping, len(DAMPINGS)):
        moved = _face_step(K, g, beta, face, limits, DAMPINGS[level])
        if moved is not None:
            return moved, max(0, level - 1)
    return _gradient_steps(K, kappa, beta, limits), 0


def _choose_face(g, beta, limits):
    """Return the rows inside their bounds, and those at a bound that pull away from it hardest."""
    inside = _inside(beta, limits)
    wants = np.where(inside, 0, pull(g, beta, limits))
    hardest = np.argsort(-wants, kind="stable")[:ENTERING]
    return np.concatenate([np.flatnonzero(inside), hardest[wants[hardest] > 0]])


def _face_step(K, g, beta, face, limits, damping):
    """Return beta moved to the minimum on a face, with entries fixed where they would leave it; None if f rises."""
    A = K[np.ix_(face, face)]
    A[np.diag_indices_from(A)] += damping
    least, most = -beta[face], limits.bound - beta[face]
    room = limits.low - beta.sum(), limits.high - beta.sum()
    step, free = np.zeros(len(face)), np.arange(len(face))
    while len(free):
        wanted = _newton_step(A, -g[face], step, free, room)
        step[free] = np.clip(wanted, least[free], most[free])
        fits = (wanted >= least[free]) & (wanted <= most[free])
        if fits.all():
            return _moved(A, g[face], beta, face, step, limits)
        free = free[fits]
    return None


def _newton_step(A, right, step, free, room):
    """Return the free entries of the step that minimises on the face, the other entries of ``step`` being fixed."""
    fixed = np.ones(len(right), dtype=bool)
    fixed[free] = False
    right = right[free] - A[np.ix_(free, np.flatnonzero(fixed))] @ step[fixed]
    try:
        plain, even = np.linalg.solve(A[np.ix_(free, free)], np.column_stack([right, np.ones(len(free))])).T
    except np.linalg.LinAlgError:
        return np.zeros(len(free))
    total = plain.sum() + step[fixed].sum()
    excess = min(max(total, room[0]), room[1]) - total
    return plain + excess / even.sum() * even if excess else plain


def _moved(A, g, beta, face, step, limits):
    """Return the lowest point on the way to beta + step; None where f does not fall or the sum is not admissible."""
    slope, curvature = g @ step, step @ (A @ step)
    total, edge = beta.sum() + step.sum(), 1e-12 * max(limits.high, 1.0)
    if not (slope < 0 and limits.low - edge <= total <= limits.high + edge):
        return None
    length = min(1.0, -slope / curvature) if curvature > 0 else 1.0
    moved = beta.copy()
    moved[face] = np.clip(beta[face] + length * step, 0, limits.bound)
    return moved


def _gradient_steps(K, kappa, beta, limits):
    """Return beta after some steps of accelerated projected gradient, started anew where momentum points uphill."""
    steepest = np.abs(K).sum(axis=1).max()  # no eigenvalue is larger
    ahead, momentum = beta, 1.0
    for _ in range(GRADIENT_STEPS):
        following = project(ahead - (_times(K, ahead) - kappa) / steepest, limits)
        if momentum > 1 and (ahead - following) @ (following - beta) > 0:
            ahead, momentum = beta, 1.0
            continue
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = following + (momentum - 1) / grown * (following - beta)
        beta, momentum = following, grown
    return beta


def _inside(beta, limits):
    return (beta > 0) & (beta < limits.bound)


def _times(K, beta):
    """Return K beta; where most of beta is zero, from the other rows of K alone."""
    rows = np.flatnonzero(beta)
    return beta[rows] @ K[rows] if 4 * len(rows) < len(beta) else K @ beta
