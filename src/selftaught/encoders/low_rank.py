"""S-Low's alternation: codes at a fixed dictionary, the dictionary at fixed codes, an objective that never rises.

The objective is that of `minimax_concave`. Every move replaces its concave part by the tangent at the current point and
lowers the convex problem that is left, which lies above the objective and touches it there:

    target codes    |Z_t|_* - <C_Z, Z_t> + error_weight (|E_t| - <C_E, E_t>)                       by ADMM
    source codes    sparsity |z| + source_weight error_weight (|e| - <c_e, e>), row by row          by ADMM, or exactly
    dictionary      the errors' part alone, atoms in unit balls                                     by ADMM

Two facts save work. The target's codes lose nothing by staying in the span of D's columns (projecting them there keeps
``Z_t D`` and raises no singular value), so they are found in ``min(m, d)`` coordinates. And the source's rows are
linear programs that know nothing of each other: each has a step length of its own, and an interior point method takes
over where it costs no more than the steps that ADMM may take.

A move is kept only where the objective itself falls. Multipliers and step lengths pass from one round to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .dictionary import random_atoms, ridge_codes
from .minimax_concave import Weights, concave, measure_weights, objective, rank_tangent, tangent
from .row_programs import n_flops, solve_rows
from .splitting import LowRank, Problem, RowSparsity, State, UnitBalls, cold_state, solve_split

__all__ = ["Budget", "Dictionary", "LowRankSolution", "Point", "SourceCodes", "TargetCodes", "solve_low_rank"]

# Inner problems are solved this much closer than the rounds' own tolerance, so that rounds do not stop for their noise.
INNER_SHARE = 0.1
# Rows that ADMM steps forward together: what it works on then stays near the processor.
BLOCK_ROWS = 256
# How many times the cost of ADMM's budget exact codes may take.
EXACTNESS = 3.0
# Weight of an atom's split against that of the errors; ten times more or less leave half as wide a gap again.
BALL_SHARE = 0.1


@dataclass(frozen=True)
class Point:
    """Dictionary ``D`` (m, d), codes ``Z_source`` (n_source, m) and ``Z_target`` (n_target, m)."""

    D: np.ndarray
    Z_source: np.ndarray
    Z_target: np.ndarray


Move = Callable[[Point, float], tuple[Point, float]]


@dataclass(frozen=True)
class Budget:
    """Steps and relative gap at which an inner problem ends."""

    n_steps: int
    tol: float


@dataclass(frozen=True)
class LowRankSolution:
    """What the alternation found.

    ``point``; the ``weights`` of the objective; ``objective_path``, one value for the start and for each round;
    ``gaps`` of the last round by move ("target codes", "source codes", "dictionary"), relative to the objective;
    ``seconds`` by move.
    """

    point: Point
    weights: Weights
    objective_path: tuple[float, ...]
    gaps: dict[str, float]
    n_outer: int
    converged: bool
    seconds: dict[str, float]


def solve_low_rank(
    X_source,
    X_target,
    *,
    n_components,
    rng,
    rank_gamma=5.0,
    error_gamma=5.0,
    error_weight=5.0,
    source_sparsity=0.1,
    source_weight=1.0,
    max_outer=10,
    max_inner=100,
    tol=1e-4,
    batch_size=None,
    on_round=None,
):
    """Learn a dictionary for source and target under which the target's codes have a low rank.

    Parameters
    ----------
    X_source : ndarray, shape (n_source, d)
        May be empty.
    X_target : ndarray, shape (n_target, d)
    n_components : int
        Atoms, m.
    rng : numpy.random.RandomState or Generator
        Draws the first atoms and the batches.
    batch_size : int, optional
        Source rows that a round codes anew, the codes of the others frozen; None is all of them.
    on_round : callable, optional
        Called with the number of a round and the objective after it.

    The other parameters are those of `SLowEncoder`.

    Returns
    -------
    LowRankSolution
    """
    begun = time.perf_counter()
    D = random_atoms(np.concatenate([X_source, X_target]), n_components, rng)
    point = Point(D, ridge_codes(X_source, D), ridge_codes(X_target, D))
    weights = measure_weights(
        X_source,
        X_target,
        D,
        point.Z_target,
        rank_gamma=rank_gamma,
        error_gamma=error_gamma,
        error_weight=error_weight,
        source_sparsity=source_sparsity,
        source_weight=source_weight,
    )
    budget = Budget(max_inner, INNER_SHARE * tol)
    moves: dict[str, Move] = {"target codes": TargetCodes(X_target, weights, budget)}
    if len(X_source):
        moves["source codes"] = SourceCodes(X_source, weights, budget, batch_size, rng)
    moves["dictionary"] = Dictionary(X_source, X_target, weights, budget)
    path = [objective(X_source, X_target, D, point.Z_source, point.Z_target, weights)]
    gaps, seconds = dict.fromkeys(moves, 0.0), {"start": time.perf_counter() - begun} | dict.fromkeys(moves, 0.0)
    converged = path[0] == 0
    # Where nothing is left to explain, as for rows of zeros, there is nothing to compare gaps with.
    while not converged and path[-1] > 0 and len(path) <= max_outer:
        value = path[-1]
        for name, move in moves.items():
            begun = time.perf_counter()
            candidate, gap = move(point, value)
            gaps[name] = float(gap / value)
            new = objective(X_source, X_target, candidate.D, candidate.Z_source, candidate.Z_target, weights)
            if new < value:
                point, value = candidate, new
            seconds[name] += time.perf_counter() - begun
        # A round that lowers little because its parts were not solved is no sign of an end: multipliers carry on.
        converged = bool(path[-1] - value < tol * path[-1]) and max(gaps.values()) <= tol
        path.append(value)
        if on_round is not None:
            on_round(len(path) - 1, value)
    return LowRankSolution(point, weights, tuple(path), gaps, len(path) - 1, converged, seconds)


class TargetCodes:
    """The move that codes the target rows together, of low rank."""

    def __init__(self, X, weights, budget):
        self._X, self._weights, self.budget = X, weights, budget
        self._rho = weights.error_weight / (np.abs(X).mean() or 1.0)
        self._multipliers = None

    def __call__(self, point, reference):
        """Return a point of no higher value, and the gap left."""
        axes, B = reduced_dictionary(point.D)
        Z = point.Z_target @ axes
        E = self._X - Z @ B
        term = LowRank(rank_tangent(Z, self._weights.knee_rank))
        problem = Problem(self._X, B, term, tangent(E, self._weights.knee_error), self._weights.error_weight)
        state = cold_state(problem, Z, self._rho)
        if self._multipliers is not None:
            V, Y, rho = self._multipliers
            state = replace(state, V=V @ axes, Y=Y, rho=rho)
        found = solve_split(problem, state, n_steps=self.budget.n_steps, tol=self.budget.tol, reference=reference)
        self._multipliers = found.state.V @ axes.T, found.state.Y, found.state.rho
        return replace(point, Z_target=found.U @ axes.T), found.gap.sum()


class SourceCodes:
    """The move that codes source rows, each for itself, sparsely; of many rows, a batch."""

    def __init__(self, X, weights, budget, batch_size=None, rng=None):
        self._X, self._weights, self.budget = X, weights, budget
        self._weight = weights.source_weight * weights.error_weight
        self._rho = self._weight / (np.abs(X).mean() or 1.0)
        self._batches = _batches(len(X), batch_size, rng)
        self._states = None

    def __call__(self, point, reference):
        """Return a point of no higher value, and the gaps of the rows coded, added up."""
        rows = next(self._batches)
        X, Z = self._X[rows], point.Z_source[rows]
        E = X - Z @ point.D
        term = RowSparsity(self._weights.sparsity)
        problem = Problem(X, point.D, term, tangent(E, self._weights.knee_error), self._weight)
        own = term.value(Z) + self._weight * concave(E, self._weights.knee_error).sum(axis=1, keepdims=True)
        # Rows that are hardly worth anything need not be solved as closely as their own value asks.
        solve = self._exactly if self._worth_it(point.D) else self._by_admm
        Z, gap = solve(problem, Z, own + reference / len(self._X), rows)
        codes = point.Z_source.copy()
        codes[rows] = Z
        return replace(point, Z_source=codes), gap.sum()

    def _worth_it(self, D):
        """Whether the exact method costs at most a few times what ADMM may take, which leaves a gap."""
        m, d = D.shape
        return n_flops(m, d) <= EXACTNESS * self.budget.n_steps * 2 * (2 * m * d + min(m, d) ** 2)

    def _exactly(self, problem, Z, references, rows):
        X, D, C, weight, sparsity = problem.X, problem.B, problem.C, problem.weight, problem.term.sparsity
        found, gap = solve_rows(X, D, C, weight=weight, sparsity=sparsity, tol=self.budget.tol, reference=references)
        worse = problem.value(found) > problem.value(Z)
        return np.where(worse, Z, found), gap

    def _by_admm(self, problem, Z, references, rows):
        state = cold_state(problem, Z, self._rho)
        if self._states is None:
            shapes = [(len(self._X), part.shape[1]) for part in state.parts]
            self._states = State(*(np.zeros(shape) for shape in shapes))
            self._states.rho[:] = self._rho
        before = self._states.take(rows)
        state = replace(state, V=before.V, Y=before.Y, rho=before.rho)
        U, gap = np.empty_like(Z), np.empty_like(references)
        for first in range(0, len(Z), BLOCK_ROWS):
            block = slice(first, first + BLOCK_ROWS)
            found = solve_split(
                problem.take(block),
                state.take(block),
                n_steps=self.budget.n_steps,
                tol=self.budget.tol,
                reference=references[block],
            )
            U[block], gap[block] = found.U, found.gap
            self._states.put(rows[block], found.state)
        return U, gap


class Dictionary:
    """The move that betters the atoms for all rows, their codes fixed."""

    def __init__(self, X_source, X_target, weights, budget):
        self._weights, self.budget = weights, budget
        self._X = np.concatenate([X_source, X_target]).T.copy()
        of_source = np.full(len(X_source), weights.source_weight * weights.error_weight)
        self._weight = np.concatenate([of_source, np.full(len(X_target), weights.error_weight)])[None, :]
        self._rho = weights.error_weight / (np.abs(self._X).mean() or 1.0)
        self._multipliers = None

    def __call__(self, point, reference):
        """Return a point of no higher value, and the gap left.

        The problem is that of the codes, seen from the other side: columns of X are explained by the unknown columns
        of D through Z'. Atoms are measured in units in which their split weighs like that of the errors.
        """
        Z = np.concatenate([point.Z_source, point.Z_target])
        unit = np.sqrt(BALL_SHARE * np.vdot(Z, Z) / len(point.D))
        if unit == 0:
            return point, 0.0
        B, U = Z.T / unit, unit * point.D.T
        C = tangent(self._X - U @ B, self._weights.knee_error)
        problem = Problem(self._X, B, UnitBalls(unit), C, self._weight)
        state = cold_state(problem, U, self._rho)
        if self._multipliers is not None:
            V, Y, rho = self._multipliers
            state = replace(state, V=V / unit, Y=Y, rho=rho)
        found = solve_split(problem, state, n_steps=self.budget.n_steps, tol=self.budget.tol, reference=reference)
        self._multipliers = found.state.V * unit, found.state.Y, found.state.rho
        D = np.ascontiguousarray(found.U.T) / unit
        axes, _ = reduced_dictionary(D)
        return replace(point, D=D, Z_target=point.Z_target @ axes @ axes.T), found.gap.sum()


def reduced_dictionary(D):
    """Return orthonormal ``axes`` (m, r) of the span of D's columns, and ``axes' D``, (r, d)."""
    U, sigma, Vt = np.linalg.svd(D, full_matrices=False)
    kept = sigma > 1e-10 * sigma[0]
    return U[:, kept], sigma[kept, None] * Vt[kept]


def _batches(n, batch_size, rng):
    """Yield the rows to code, round after round: all, or batches that go round in a random order."""
    if batch_size is None or batch_size >= n:
        while True:
            yield np.arange(n)
    order, first = rng.permutation(n), 0
    while True:
        yield np.sort(order[np.arange(first, first + batch_size) % n])
        first += batch_size
