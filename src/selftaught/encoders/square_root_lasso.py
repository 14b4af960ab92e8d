"""The square-root lasso, exactly: codes under a loss that counts a residual by its length.

For each row x (k,) by itself, over a dictionary D (m, k),

    min_a  H(|x - a D|) + g |a|_1,        H(r) = r where r >= s0, else r^2 / (2 s0) + s0 / 2,       s0 = 0.01 |x|.

H is the length, made smooth where a residual nears zero. Its slope in a is that of ``|x - a D|^2 / (2 w)`` with the
width ``w = max(|x - a D|, s0)`` held fixed, so the solution is that of the lasso ``1/2 |x - a D|^2 + alpha |a|_1`` with

    alpha = g max(|x - a D|, s0),

and lies on the path of that lasso. The path begins at a = 0 with alpha = max_j |x . d_j|, and is walked downwards until
alpha is as small as the right-hand side. With active atoms S, their signs s and ``M = (D_S D_S')^-1``, a_S moves along
``M s`` as alpha falls, all correlations along ``-D D_S' M s``, and the residual obeys

    |r|^2 = rho^2 + kappa alpha^2,    kappa = s' M s;     the end:   alpha = max(g rho / sqrt(1 - g^2 kappa), g s0)

in closed form, unless an atom enters (its correlation reaches alpha) or leaves (its code reaches zero) before. M
follows these events at a cost of s^2. That is one walk, of at least as many events as the code has entries and seldom
three times as many: no iteration, no tolerance, and the code of a row does not depend on the rows beside it.

Where several atoms arrive at once the walk could lose its way. A relative increase of the penalties by 1e-9 at most,
different for each atom, keeps arrivals apart; the code itself comes from the unchanged system of the pattern found.
Atoms that depend linearly on the active ones cannot enter: their correlations keep their share of alpha.

Certificate: ``u = r / max(|r|, s0)``, shrunk until ``|u . d_j| <= g``, is feasible for the dual, whose value
``u . x - s0 (|u|^2 - 1) / 2`` lies below the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .reweighting import row_squares

__all__ = ["SquareRootLasso", "solve_square_root_lasso", "square_root_gaps"]

FLOOR = 0.01
APART = 1e-9
DEPENDENT = 1e-10
REFRESH = 32
ROUNDING = np.finfo(float).eps


@dataclass(frozen=True)
class SquareRootLasso:
    """``codes`` (n, m), relative duality gap of each row (n,), and the largest number of events on a path."""

    codes: np.ndarray
    gaps: np.ndarray
    n_events: int


def solve_square_root_lasso(X, D, g, *, max_events=None):
    """Solve for the codes of rows, each for itself.

    Parameters
    ----------
    X : ndarray, shape (n, k)
    D : ndarray, shape (m, k)
    g : float
        Penalty, positive; the code of x is zero exactly where ``g >= max_j |x . d_j| / |x|``.
    max_events : int, optional
        After which a path is left where it is, with the gap that its code has; ten times m by default.

    Returns
    -------
    SquareRootLasso

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.encoders.square_root_lasso import solve_square_root_lasso
    >>> solve_square_root_lasso(np.array([[5.0, 3.0]]), np.eye(2), 0.8).codes
    array([[1., 0.]])
    """
    codes, n_events, path = np.zeros((len(X), len(D))), 0, _Path(D @ D.T, g, max_events or 10 * len(D))
    for x, a in zip(X, codes, strict=True):
        n_events = max(n_events, path.walk(D @ x, x @ x))
        a[path.atoms] = path.code()
    return SquareRootLasso(codes, square_root_gaps(X, D, g, codes), n_events)


def square_root_gaps(X, D, g, codes):
    """Return the duality gap of each row over its objective, (n,); zero for rows and codes of zeros."""
    R = X - codes @ D
    r, floor = np.sqrt(row_squares(R)), FLOOR * np.sqrt(row_squares(X))
    width = np.maximum(np.maximum(r, floor), np.finfo(float).tiny)
    primal = np.where(r >= floor, r, (r**2 / width + floor) / 2) + g * np.abs(codes).sum(axis=1)
    U = R / width[:, None]
    pull = np.abs(U @ D.T).max(axis=1)
    U *= np.minimum(1, g / np.maximum(pull, g))[:, None]
    dual = np.einsum("ij,ij->i", U, X) - floor * (row_squares(U) - 1) / 2
    return np.divide(primal - dual, primal, out=np.zeros_like(primal), where=primal > 0)


class _Path:
    """A walk down the lasso's path for one row after the other; the buffers serve all of them.

    Of the s active atoms the buffers hold in their first places: ``index``, ``signs``, ``codes``, ``rows`` of the Gram
    matrix, and the inverse M. ``c`` (m,) are the correlations, ``alpha`` the penalty, ``residual`` its squared length.
    """

    def __init__(self, gram, g, max_events):
        m = len(gram)
        self.gram, self.g, self.max_events = gram, g, max_events
        self.penalties = 1 + APART * np.arange(m) / m
        self.index, self.signs, self.codes = np.zeros(m, int), np.zeros(m), np.zeros(m)
        self.rows, self.inverse = np.empty((m, m)), np.empty((m, m))

    @property
    def atoms(self):
        """The active atoms, (s,)."""
        return self.index[: self.s]

    def walk(self, q, square):
        """Walk to the end for the row with inner products q (m,) and squared length; return the number of events."""
        self.q, self.square, self.s = q, square, 0
        self.c, self.residual = q.copy(), square
        # Atoms that may enter: not those active, nor those that depend on them.
        self.open = np.diag(self.gram) > 0
        first = int((np.abs(q) / self.penalties * self.open).argmax())
        self.alpha = abs(q[first]) / self.penalties[first]
        if abs(q[first]) <= self.g * np.sqrt(square):
            return 0
        self._enter(first)
        for n_events in range(1, self.max_events + 1):
            if self._next_event():
                break
            if n_events % REFRESH == 0:
                self._refresh()
        return n_events

    def code(self):
        """Return the codes of the active atoms, (s,), from the system of the pattern as it is without `APART`."""
        s, signs = self.s, self.signs[: self.s]
        if s == 0:
            return signs
        free, M_signs = np.linalg.solve(self.rows[:s, self.atoms], np.stack([self.q[self.atoms], signs], axis=1)).T
        return free - self._end(self.square - free @ self.q[self.atoms], signs @ M_signs) * M_signs

    def _end(self, rho2, kappa):
        """Return the penalty at which the walk ends, if nothing comes before."""
        shrink = max(1 - self.g**2 * kappa, ROUNDING)
        return self.g * np.sqrt(max(rho2 / shrink, 0.0, FLOOR**2 * self.square))

    def _next_event(self):
        """Go on until an atom enters or leaves, or to the end; return whether this is the end."""
        s, w = self.s, self.penalties
        pull = self.signs[:s] * w[self.atoms]
        direction = self.inverse[:s, :s] @ pull
        v, kappa = direction @ self.rows[:s], direction @ pull
        rho2 = self.residual - kappa * self.alpha**2
        to_end = self.alpha - self._end(rho2, kappa)
        size, growth = self.signs[:s] * self.codes[:s], self.signs[:s] * direction
        leaving, to_leave = _first(size, -growth)
        edge = w * self.alpha
        above, to_above = _first(edge - self.c, self.open * (w - v))
        below, to_below = _first(edge + self.c, self.open * (w + v))
        step = max(min(to_end, to_leave, to_above, to_below), 0.0)
        self.codes[:s] += step * direction
        self.c -= step * v
        self.alpha -= step
        self.residual = rho2 + kappa * self.alpha**2
        if to_end <= step:
            return True
        if to_leave <= step:
            self._leave(leaving)
        else:
            self._enter(above if to_above <= step else below)
        return False

    def _enter(self, j):
        """Make atom j active, with code zero and the sign of its correlation, unless it depends on those that are."""
        s, M = self.s, self.inverse
        self.open[j] = False
        shares = M[:s, :s] @ self.gram[j, self.atoms]
        own = self.gram[j, j] - shares @ self.gram[j, self.atoms]
        if own <= DEPENDENT * self.gram[j, j]:
            return
        M[:s, :s] += np.outer(shares, shares / own)
        M[s, :s] = M[:s, s] = -shares / own
        M[s, s] = 1 / own
        self.index[s], self.signs[s], self.codes[s], self.rows[s] = j, np.sign(self.c[j]), 0.0, self.gram[j]
        self.s += 1

    def _leave(self, i):
        """Take the atom at place i out; the last one takes its place."""
        M, last = self.inverse[: self.s, : self.s], self.s - 1
        M -= np.outer(M[i], M[i] / M[i, i])
        M[i], M[:, i] = M[last], M[:, last]
        M[i, i] = M[last, last]
        for held in (self.index, self.signs, self.codes, self.rows):
            held[i] = held[last]
        self.s = last
        self.open[:] = np.diag(self.gram) > 0
        self.open[self.atoms] = False

    def _refresh(self):
        """Compute anew what has been updated many times."""
        s = self.s
        self.inverse[:s, :s] = np.linalg.inv(self.rows[:s, self.atoms])
        self.c = self.q - self.codes[:s] @ self.rows[:s]
        self.residual = self.square - self.codes[:s] @ (self.q + self.c)[self.atoms]


def _first(distance, speed):
    """Return which distance is covered first, and when: distances cut at zero, speeds not positive never arrive."""
    times = np.full(len(distance), np.inf)
    np.divide(np.maximum(distance, 0), speed, out=times, where=speed > 0)
    first = int(times.argmin())
    return first, times[first]
