"""L-BFGS for one problem or for many at once, in the precision of the start.

Many small fits that share their data are quicker side by side: their products with the data become one product. So F
problems of N unknowns are minimised in step, each with a line search, a memory and an end of its own:

    points (F, N)      values (F,)      gradients (F, N)

The direction needs inner products of the remembered steps s, their changes of gradient y and the gradient g only: with
these in a small table (one for each problem, in float64) the two loops run over numbers, and the vectors are read twice
an iteration, once for the table and once to put the direction together.

The ends are those of minFunc, with the same meanings: the largest entry of the gradient, and the change of the value or
of the point. A step is taken where the value falls by Armijo's rule, otherwise it is shortened by interpolation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Minimum", "minimise_many"]

ARMIJO = 1e-4
SHORTEST, LONGEST = 0.1, 0.5  # a refused step is shortened to between these shares of it
MAX_REFUSALS = 25


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the searches ended: ``points`` (F, N), ``values`` (F,), ``steepness`` (F,) largest entries of the
    gradients, ``n_iter`` (F,), ``converged`` (F,) whether an end other than the number of iterations was met.
    """

    points: np.ndarray
    values: np.ndarray
    steepness: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray


def minimise_many(value_and_gradient, start, *, max_iter, history, gtol=0.0, ftol=0.0):
    """Minimise F smooth functions of N unknowns each.

    Parameters
    ----------
    value_and_gradient : callable
        Takes points (A, N) and which problems they belong to (A,) int, ascending; returns values (A,) and gradients
        (A, N). Problems that have ended are not asked for any more.
    start : ndarray, shape (F, N)
        float32 or float64: the precision of points and memory.
    max_iter : int
        Most steps of a problem.
    history : int
        Steps remembered.
    gtol : float, default 0.0
        A search ends where no entry of its gradient is larger.
    ftol : float, default 0.0
        A search ends where value or point change by less in a step. With both at 0 it runs ``max_iter`` steps, or until
        rounding hides all progress.

    Returns
    -------
    Minimum
    """
    F = len(start)
    found = Minimum(start.copy(), np.full(F, np.inf), np.full(F, np.inf), np.zeros(F, int), np.zeros(F, bool))
    search = _Search(value_and_gradient, start, history)
    while len(search.which):
        ended, converged = search.ends(max_iter, gtol, ftol)
        if ended.any():
            out = search.which[ended]
            found.points[out], found.values[out] = search.x[ended], search.f[ended]
            found.steepness[out] = abs(search.g[ended]).max(axis=1)
            found.n_iter[out], found.converged[out] = search.n_iter[ended], converged[ended]
            search.keep(~ended)
        if len(search.which):
            search.advance()
    return found


class _Search:
    """The searches still going on: points x, values f, gradients g, directions, step lengths, memory."""

    def __init__(self, value_and_gradient, start, history):
        F, N = start.shape
        self._ask, self.which, self.x = value_and_gradient, np.arange(F), start.copy()
        self.f, self.g = self._ask(self.x, self.which)
        self.n_iter, self._refusals = np.zeros(F, int), np.zeros(F, int)
        self._fell, self._moved = np.full(F, np.inf), np.full(F, np.inf)
        self._memory = _Memory(F, N, history, start.dtype)
        self._direction, self._slope = -self.g, -_dots(self.g, self.g)
        self._length = np.minimum(1.0, 1 / np.maximum(abs(self.g).sum(axis=1, dtype=np.float64), 1e-300))

    def ends(self, max_iter, gtol, ftol):
        """Return which searches are at an end, and which of these by themselves."""
        done = abs(self.g).max(axis=1) <= gtol
        done |= (self._fell <= ftol) | (self._moved <= ftol) if ftol > 0 else (self._fell < 0)
        done |= self._refusals >= MAX_REFUSALS
        done |= ~(self._slope < 0)
        return done | (self.n_iter >= max_iter), done

    def keep(self, going):
        """Go on with some of the searches."""
        self.which = self.which[going]
        for name in ("x", "f", "g", "n_iter", "_refusals", "_fell", "_moved", "_direction", "_slope", "_length"):
            setattr(self, name, getattr(self, name)[going])
        self._memory.keep(going)

    def advance(self):
        """Try one step in each search; take those that lower the value, shorten the others."""
        step = self._length.astype(self.x.dtype)[:, None] * self._direction
        f, g = self._ask(self.x + step, self.which)
        # Near the end a fall is smaller than the rounding of the values, which must not refuse the step.
        slack = 4 * np.finfo(self.x.dtype).eps * abs(self.f) if self.x.dtype == np.float32 else 0.0
        taken = f <= self.f + ARMIJO * self._length * self._slope + slack
        self._shorten(~taken, f)
        if taken.all():
            self._take(slice(None), step, f, g)
        elif taken.any():
            self._take(np.flatnonzero(taken), step[taken], f[taken], g[taken])

    def _shorten(self, refused, f):
        """Set the length of refused steps to the least of the parabola through what is known, within bounds."""
        self._refusals[refused] += 1
        t, slope = self._length[refused], self._slope[refused]
        with np.errstate(invalid="ignore", over="ignore"):
            best = -slope * t**2 / (2 * (f[refused] - self.f[refused] - slope * t))
        best = np.where(np.isfinite(best), best, 0)
        self._length[refused] = np.clip(best, SHORTEST * t, LONGEST * t)

    def _take(self, rows, step, f, g):
        change = g - self.g[rows]
        self.x[rows] += step
        self._fell[rows], self._moved[rows] = abs(self.f[rows] - f), abs(step).max(axis=1)
        self.f[rows], self.g[rows] = f, g
        self.n_iter[rows] += 1
        self._refusals[rows] = 0
        self._direction[rows] = self._memory.direction(rows, step, change, g)
        self._slope[rows] = _dots(self._direction[rows], g)
        self._length[rows] = 1.0


class _Memory:
    """The last steps and changes of gradient of each search, (F, 2h, N): slots of s, then of y, and their products."""

    def __init__(self, F, N, history, dtype):
        self._h, self._room = history, min(history, 4)
        self._vectors = np.zeros((F, 2 * self._room, N), dtype)
        self._products = np.zeros((F, 2 * self._room, 2 * self._room))
        self._count = np.zeros(F, int)

    def keep(self, going):
        self._vectors, self._products = self._vectors[going], self._products[going]
        self._count = self._count[going]

    def direction(self, rows, step, change, g):
        """Remember (step, change), each (A, N), and return the directions for the gradients g."""
        A = len(step)
        if self._count[rows].max() == self._room < self._h:
            self._grow()
        everyone = isinstance(rows, slice)
        curved = _dots(step, change) > 1e-10 * np.sqrt(_dots(step, step) * _dots(change, change))
        R, h = np.arange(len(self._count))[rows], self._room
        into = R[curved]
        slot = self._count[into] % h
        self._vectors[into, slot], self._vectors[into, h + slot] = step[curved], change[curved]
        self._count[into] += 1
        vectors = self._vectors if everyone else self._vectors[rows]
        fresh = np.stack([step, change, g], axis=2)
        products = np.matmul(vectors, fresh).astype(np.float64)  # (A, 2h, 3)
        for column, place in ((0, slot), (1, h + slot)):
            self._products[into, :, place] = products[curved, :, column]
            self._products[into, place, :] = products[curved, :, column]
        weights, on_gradient = self._two_loops(R, products[:, :, 2])
        d = np.matmul(weights.astype(g.dtype)[:, None, :], vectors)[:, 0]
        d -= on_gradient.astype(g.dtype)[:, None] * g
        return d.reshape(A, -1)

    def _grow(self):
        """Make room for twice as many steps; counts have not gone round yet, so that slots keep their places."""
        h, room = self._room, min(2 * self._room, self._h)
        F, _, N = self._vectors.shape
        vectors, products = np.zeros((F, 2 * room, N), self._vectors.dtype), np.zeros((F, 2 * room, 2 * room))
        old = np.r_[0:h, room : room + h]
        vectors[:, old] = self._vectors
        products[np.ix_(np.arange(F), old, old)] = self._products
        self._vectors, self._products, self._room = vectors, products, room

    def _two_loops(self, R, with_gradient):
        """Return the direction as weights of the remembered vectors (A, 2h), and the weight of -g (A,)."""
        h, A = self._room, np.arange(len(R))
        P, count = self._products[R], self._count[R]
        known = np.minimum(count, h)
        weights, on_gradient, alphas = np.zeros((len(R), 2 * h)), np.ones(len(R)), []
        # With v the vector so far, v = on_gradient g + sum weights vectors; first g - ..., at the end negated.
        for back in range(known.max(initial=0)):
            live = back < known
            s = (count - 1 - back) % h
            sy = np.where(live, P[A, s, h + s], 1.0)
            alpha = np.where(live, (with_gradient[A, s] + np.einsum("ij,ij->i", P[A, s], weights)) / sy, 0.0)
            weights[A, h + s] -= alpha
            alphas.append(alpha)
        s = (count - 1) % h
        some = known > 0
        scale = np.where(some, P[A, s, h + s] / np.where(some, P[A, h + s, h + s], 1.0), 1.0)
        weights *= scale[:, None]
        on_gradient *= scale
        for back in range(known.max(initial=0) - 1, -1, -1):
            live = back < known
            s = (count - 1 - back) % h
            sy = np.where(live, P[A, s, h + s], 1.0)
            product = on_gradient * with_gradient[A, h + s] + np.einsum("ij,ij->i", P[A, h + s], weights)
            weights[A, s] += np.where(live, alphas[back] - product / sy, 0.0)
        return -weights, on_gradient


def _dots(a, b):
    """Return the inner product of each row of a with the same row of b, float64."""
    return np.einsum("ij,ij->i", a, b, dtype=np.float64)
