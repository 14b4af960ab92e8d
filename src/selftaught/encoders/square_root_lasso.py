"""The square-root lasso for many rows at once: codes under a loss that counts a residual by its length.

For each row x by itself, over a dictionary D (m, k),

    min_a  H(|x - a D|) + g |a|_1,        H(r) = r where r >= s0, else r^2 / (2 s0) + s0 / 2,       s0 = 0.01 |x|.

H is the length, made smooth where a residual nears zero. It is a minimum of parabolas over their width, so that

    min over a and s >= s0 of    |x - a D|^2 / (2 s) + s/2 + g |a|_1,

convex in a and s together. At fixed s this is a lasso with penalty g s; at fixed a the best s is max(|x - a D|, s0).
Taking turns converges from above, but slowly. As long as the lasso keeps its active atoms, the squared residual
``T(s^2) = |x - a(s) D|^2`` is a straight line in s^2, so the secant through two turns gives the fixed point ``T(t) = t``
at once; a bracket from the sign of T(t) - t keeps it safe where active atoms change. A handful of turns is enough.

Certificate, row by row: ``u = r / max(|r|, s0)``, shrunk until ``|u . d_j| <= g``, is feasible for the dual, whose value
``u . x - s0 (|u|^2 - 1) / 2`` lies below the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .reweighting import row_squares

__all__ = ["SquareRootLasso", "square_root_gap", "solve_square_root_lasso"]

FLOOR = 0.01


@dataclass(frozen=True)
class SquareRootLasso:
    """``codes`` (n, m), relative duality gap of each row (n,), and turns of lasso and residual."""

    codes: np.ndarray
    gap: np.ndarray
    n_turns: int


def lasso_codes(X, D, alpha, start):
    """Stand-in."""
    from sklearn.linear_model._cd_fast import enet_coordinate_descent_gram

    G, Q = D @ D.T, X @ D.T
    codes = start.copy()
    rng = np.random.RandomState(0)
    for i in range(len(X)):
        codes[i] = enet_coordinate_descent_gram(codes[i], alpha, 0.0, G, Q[i], X[i], 3000, 1e-12, rng, False, False)[0]
    return codes


def solve_square_root_lasso(X, D, g, *, tol=1e-6, max_turns=50):
    """Solve for the codes of rows to a relative duality gap.

    Parameters
    ----------
    X : ndarray, shape (n, k)
    D : ndarray, shape (m, k)
    g : float
        Penalty; the code of x is zero exactly where ``g >= max_j |x . d_j| / |x|``.
    tol : float
        Relative duality gap to reach in each row.
    max_turns : int

    Returns
    -------
    SquareRootLasso
    """
    codes, gap, turn = np.zeros((len(X), len(D)), X.dtype), np.zeros(len(X)), 0
    squares = row_squares(X)
    rows = np.flatnonzero(squares > 0)
    search = _Search.start(squares[rows])
    for turn in range(1, max_turns + 1):
        if len(rows) == 0:
            break
        # At width one the penalty is g for every row.
        width = np.sqrt(search.t)[:, None].astype(X.dtype)
        codes[rows] = width * lasso_codes(X[rows] / width, D, g, codes[rows] / width)
        gap[rows] = square_root_gap(X[rows], D, g, codes[rows])
        search = search.after(row_squares(X[rows] - codes[rows] @ D))
        unfinished = gap[rows] > tol
        rows, search = rows[unfinished], search.of(unfinished)
    return SquareRootLasso(codes, gap, turn)


def square_root_gap(X, D, g, codes):
    """Return the duality gap of each row over its objective, (n,); rows of X are not zero."""
    X, D, codes = (np.asarray(part, np.float64) for part in (X, D, codes))
    R = X - codes @ D
    r, floor = np.sqrt(row_squares(R)), FLOOR * np.sqrt(row_squares(X))
    primal = np.where(r >= floor, r, r**2 / (2 * floor) + floor / 2) + g * np.abs(codes).sum(axis=1)
    U = R / np.maximum(r, floor)[:, None]
    pull = np.abs(U @ D.T).max(axis=1)
    U *= np.minimum(1, g / np.maximum(pull, np.finfo(float).tiny))[:, None]
    dual = np.einsum("ij,ij->i", U, X) - floor * (row_squares(U) - 1) / 2
    return (primal - dual) / primal


@dataclass(frozen=True)
class _Search:
    """The fixed point of T for each row: t and T at this turn and the last, between ``low`` and ``high``."""

    t: np.ndarray
    last_t: np.ndarray
    last_T: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def start(cls, squares):
        """Begin at the residual of the code zero, which is never below the fixed point."""
        unknown = np.full(len(squares), np.nan)
        return cls(squares, unknown, unknown, FLOOR**2 * squares, squares)

    def after(self, T):
        """Return the search after T has been found at t."""
        t = self.t
        low, high = np.where(T > t, t, self.low), np.where(T > t, self.high, t)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (self.last_T - T) / (self.last_t - t)
            guess = t + (T - t) / (1 - slope)
        # T grows with t, so T is on the same side of the fixed point as t, and nearer.
        guess = np.where(np.isfinite(guess) & (slope < 1), guess, T)
        return _Search(np.clip(guess, low, high), t, T, low, high)

    def of(self, rows):
        """Return the search for some of the rows."""
        return _Search(*(part[rows] for part in (self.t, self.last_t, self.last_T, self.low, self.high)))
