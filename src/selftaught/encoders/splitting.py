"""ADMM for robust factor problems, with a bound that certifies how far from the minimum it stopped.

All inner problems of S-Low are one: rows X (b, p) are explained by unknowns U (b, m) through a known matrix B (m, p),

    minimise over U, E      term(U) + sum weight (|E| - C E)      such that X = U B + E,      |C| <= 1

where the linear part ``- C E`` is the tangent of a concave penalty, and the *term* says what U should be like: sparse
in every row, of low rank as a whole, or with columns in a ball. The dictionary is found like the codes, from the
transposed data. ADMM splits U from its copy under the term, in steps of ``rho`` with multipliers V and Y:

    (Z, ZB)  <-  the point of the graph {(Z, ZB)} nearest to (U - V/rho, X - E + Y/rho)
    U  <-  term.shrink(Z + V/rho, 1/rho)              V += rho (Z - U)
    E  <-  soft(X - ZB + (Y + weight C)/rho, weight/rho)      Y += rho (X - ZB - E)

with Z and ZB over-relaxed by 1.6. ``rho`` is doubled or halved where the two *relative* residuals differ, which keeps
the steps indifferent to the units of X, ever more rarely and not at all in the second half of the steps: where an
answer has come to rest at a corner, one residual is zero and would drive rho on and on. Every problem has a rho of its
own, so that rows which have nothing to do with each other need not wait for each other; rows that are solved are put
aside.

**The certificate.** The dual problem is to maximise ``<Y, X> - term.cost(Y B')`` over ``-weight (1 + C) <= Y <=
weight (1 - C)`` and, where the term asks for it, a bound on ``Y B'``. Y is clipped to its box and shrunk towards zero,
which is always feasible, until it meets the bound; the value of the best U less the best dual value bounds the error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..relevance.group_lasso import row_norms

__all__ = ["LowRank", "Problem", "RowSparsity", "Split", "State", "UnitBalls", "cold_state", "soft", "solve_split"]

RELAXATION = 1.6
EVERY = 10
IMBALANCE = 5.0
RARER = 1.5
TINY = np.finfo(float).tiny


def soft(T, threshold):
    """Return the entries moved towards zero by the threshold, and no farther than zero."""
    return T - np.clip(T, -threshold, threshold)


@dataclass(frozen=True)
class RowSparsity:
    """``sparsity |U|_1``: every row is a problem of its own."""

    sparsity: float
    separable = True

    def shrink(self, S, step):
        """Return the minimiser of ``step term(U) + 1/2 |U - S|^2``."""
        return soft(S, step * self.sparsity)

    def value(self, U):
        """Return the term, (b, 1)."""
        return self.sparsity * np.abs(U).sum(axis=1, keepdims=True)

    def dual(self, G):
        """Return the share of Y that is feasible for ``G = Y B'``, its cost, and by how much all of Y is not."""
        return np.minimum(1, self.sparsity / np.maximum(np.abs(G).max(axis=1, keepdims=True), TINY)), 0.0, np.inf


@dataclass(frozen=True)
class LowRank:
    """``|U|_* - <tangent, U>``, with the nuclear norm and a tangent (b, m) of singular values at most one."""

    tangent: np.ndarray
    separable = False

    def shrink(self, S, step):
        """Return the minimiser of ``step term(U) + 1/2 |U - S|^2``: singular values less the step."""
        return _shrink_singular_values(S + step * self.tangent, np.asarray(step).item())

    def value(self, U):
        """Return the term, (1, 1)."""
        nuclear = np.linalg.svd(U, compute_uv=False).sum()
        return np.full((1, 1), nuclear - np.vdot(self.tangent, U))

    def dual(self, G):
        """Return the share of Y that is feasible for ``G = Y B'``, its cost, and by how much all of Y is not.

        Feasible is ``|tangent + s G|_2 <= 1``. The norm is convex in s, so that the chord from s = 0 to 1 finds an s.
        Where a singular value of the tangent is one, beyond its knee, that s may be zero though Y is right but for
        rounding; the excess at s = 1 then is the certificate.
        """
        at_zero, at_one = (np.linalg.norm(M, 2) for M in (self.tangent, self.tangent + G))
        share = 1.0 if at_one <= 1 else max(1 - at_zero, 0) / (at_one - at_zero)
        return share, 0.0, max(at_one - 1, 0)


@dataclass(frozen=True)
class UnitBalls:
    """Zero where every column of U has a length of at most ``radius``, infinite elsewhere."""

    radius: float
    separable = False

    def shrink(self, S, step):
        """Return the columns brought into their balls."""
        return S / np.maximum(row_norms(S.T) / self.radius, 1)

    def value(self, U):
        """Return the term of a U inside, (1, 1)."""
        return np.zeros((1, 1))

    def dual(self, G):
        """Return the share of Y that is feasible for ``G = Y B'``, its cost, and by how much all of Y is not."""
        return 1.0, self.radius * row_norms(G.T).sum(), np.inf


def _shrink_singular_values(S, threshold):
    """Return S with all singular values reduced, from the eigenvectors of its smaller Gram matrix.

    Several times faster than a singular value decomposition, and as exact where the threshold is not minute against
    the largest singular value; there the decomposition is taken.
    """
    tall = S.shape[0] >= S.shape[1]
    squares, V = np.linalg.eigh(S.T @ S if tall else S @ S.T)
    sigma = np.sqrt(np.maximum(squares, 0))
    if threshold < 1e-4 * sigma[-1]:
        U, sigma, Vt = np.linalg.svd(S, full_matrices=False)
        return (U * np.maximum(sigma - threshold, 0)) @ Vt
    kept = sigma > threshold
    V, shares = V[:, kept], 1 - threshold / sigma[kept]
    return ((S @ V) * shares) @ V.T if tall else (V * shares) @ (V.T @ S)


@dataclass(frozen=True)
class Problem:
    """X (b, p), B (m, p), the term of U, and the errors' tangent C (b, p) and weight, a number or (1, p)."""

    X: np.ndarray
    B: np.ndarray
    term: RowSparsity | LowRank | UnitBalls
    C: np.ndarray
    weight: float | np.ndarray

    def sum(self, A):
        """Return sums of A for each problem: (b, 1) where rows are separate, else (1, 1)."""
        return A.sum(axis=1 if self.term.separable else None, keepdims=True)

    def value(self, U):
        """Return the objective at U, with E whatever U leaves, for each problem."""
        E = self.X - U @ self.B
        return self.term.value(U) + self.sum(self.weight * (np.abs(E) - self.C * E))

    def bound(self, Y):
        """Return, for each problem, a lower bound, the dual value of all of Y, and how infeasible that is."""
        Y = np.clip(Y, -self.weight * (1 + self.C), self.weight * (1 - self.C))
        share, cost, excess = self.term.dual(Y @ self.B.T)
        inner = self.sum(Y * self.X)
        return share * inner - cost, inner - cost, excess

    def take(self, rows):
        """Return the problems of some rows, which must be separate."""
        return replace(self, X=self.X[rows], C=self.C[rows])


@dataclass(frozen=True)
class State:
    """Where ADMM stands: U (b, m), E (b, p), their multipliers V, Y, and rho for each problem."""

    U: np.ndarray
    E: np.ndarray
    V: np.ndarray
    Y: np.ndarray
    rho: np.ndarray

    def take(self, rows):
        """Return the state of some rows, which must be separate."""
        return State(*(part[rows] for part in self.parts))

    def put(self, rows, state):
        """Overwrite some rows in place."""
        for whole, part in zip(self.parts, state.parts, strict=True):
            whole[rows] = part

    @property
    def parts(self):
        """All arrays, in order."""
        return self.U, self.E, self.V, self.Y, self.rho


@dataclass(frozen=True)
class Split:
    """The best U met, the state to go on from, absolute gaps for each problem (b, 1) or (1, 1), steps taken."""

    U: np.ndarray
    state: State
    gap: np.ndarray
    n_steps: int


def cold_state(problem, U, rho):
    """Return a state at U without multipliers; rho is a number."""
    shape = (len(U), 1) if problem.term.separable else (1, 1)
    E = problem.X - U @ problem.B
    return State(U, E, np.zeros_like(U), np.zeros_like(E), np.full(shape, float(rho)))


def solve_split(problem, state, *, n_steps=100, tol=1e-6, reference=None):
    """Lower ``term(U) + sum weight (|E| - C E)`` by ADMM until a dual bound certifies it.

    Parameters
    ----------
    problem : Problem
    state : State
        Where to start; the result is never worse than ``state.U``.
    n_steps : int
        At most.
    tol : float
        Gap to reach, relative to the reference.
    reference : float or ndarray, shape (b, 1), optional
        What gaps are measured against; None is the value of each problem.

    Returns
    -------
    Split
    """
    project = _graph_projection(problem.B)
    whole = State(*(part.copy() for part in state.parts))
    value, best = problem.value(state.U), state.U.copy()
    bound, gap = np.full_like(value, -np.inf), np.full_like(value, np.inf)
    live, now, step, due = np.arange(len(value)), state, 0, 0
    rows = slice(None)
    while len(live) and step < n_steps:
        step += 1
        before, now = now, _advance(problem, project, now)
        if step % EVERY and step < n_steps:
            continue
        new_value, (new_bound, relaxed, excess) = problem.value(now.U), problem.bound(now.Y)
        lower = new_value < value[live]
        best[rows] = np.where(lower, now.U, best[rows])
        value[live], bound[live] = np.minimum(value[live], new_value), np.maximum(bound[live], new_bound)
        measure = np.abs(value[live]) if reference is None else np.broadcast_to(reference, gap.shape)[live]
        measure = np.maximum(measure, TINY)
        gap[live] = np.minimum(value[live] - bound[live], np.maximum(np.abs(value[live] - relaxed), excess * measure))
        whole.put(rows, now)
        if due <= step <= n_steps // 2:
            now, due = _balanced(problem, before, now), RARER * step
        open_ = (gap[live] > tol * measure)[:, 0]
        live = live[open_]
        if problem.term.separable and not open_.all():
            rows, problem, now = live, problem.take(open_), now.take(open_)
    return Split(best, whole, gap, step)


def _graph_projection(B):
    """Return the function that finds the Z nearest to H, with ZB nearest to A, in the sum of squares."""
    m, p = B.shape
    if m <= p:
        inverse = np.linalg.inv(B @ B.T + np.eye(m))

        def project(H, A):
            Z = (A @ B.T + H) @ inverse
            return Z, Z @ B

        return project
    inverse = np.linalg.inv(B.T @ B + np.eye(p))
    K = inverse @ B.T

    def project_long(H, A):
        rest = A - H @ B
        return H + rest @ K, A - rest @ inverse

    return project_long


def _advance(problem, project, now):
    """Return the state after one step of ADMM; arrays of its own making are reused, which saves a fifth of the time."""
    rho, weight = now.rho, problem.weight
    v, y = now.V / rho, now.Y / rho
    A = problem.X - now.E
    A += y
    Z, ZB = project(now.U - v, A)
    R = np.subtract(problem.X, ZB, out=ZB)
    for new, old, multiplier in ((Z, now.U, v), (R, now.E, y)):
        new -= old
        new *= RELAXATION
        new += old
        new += multiplier
    U = problem.term.shrink(Z, 1 / rho)
    E = soft(R + weight * problem.C / rho, weight / rho)
    Z -= U
    Z *= rho
    R -= E
    R *= rho
    return State(U, E, Z, R, rho)


def _balanced(problem, before, now):
    """Return the state with rho doubled where the primal residual lags behind, halved where the dual one does."""

    def size(U, E):
        return np.sqrt(problem.sum(U**2) + problem.sum(E**2)) + TINY

    primal = size(now.V - before.V, now.Y - before.Y) / now.rho / size(now.U, problem.X)
    dual = size(now.U - before.U, now.E - before.E) * now.rho / size(now.V, now.Y)
    factor = np.where(primal > IMBALANCE * dual, 2.0, np.where(dual > IMBALANCE * primal, 0.5, 1.0))
    return replace(now, rho=now.rho * factor)
