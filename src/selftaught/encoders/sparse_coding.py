"""Sparse codes of many rows in one dictionary: a lasso for each row, solved exactly, many rows at a time.

For rows x of X (n, d) and a dictionary D (m, d) with ``G = D D'`` and ``q = D x``, each row for itself:

    minimise over a (m,)      |x - a D|^2 + beta |a|_1            alpha = beta / 2,   c = q - G a,  its correlations

At the minimum ``c_j = alpha sign(a_j)`` on the support S and ``|c_j| <= alpha`` elsewhere. Given S and the signs, the
code is a linear system of the size of S, ``G_SS a_S = q_S - alpha sign_S``; what has to be found is the pattern of
signs. This is the feature-sign search of Lee et al. (2007), with two changes that make it fit for batches:

- **Several atoms enter at once**, all those whose ``|c_j|`` lies in the upper part of what exceeds alpha, though no
  more in all than min(m, d). The usual one at a time needs as many rounds as there are atoms in the code; this one
  about 3 for 8 atoms and 9 for 70. An atom that would move against the sign it enters with is sent away and the
  system solved again. Not all are: at the optimum of the old pattern the moves delta have ``sum_j delta_j sign(c_j)
  (|c_j| - alpha) = delta' G delta > 0`` over those that enter.
- **One LAPACK call for all rows of one pattern size.** Patterns are filled up to a multiple of 8 by an atom of zeros
  at the end of the dictionary, whose equation reads ``a = 0``.

The step towards the solution of the system ends where the objective, a piecewise parabola, is least along it:

    phi'(t) = (t - 1) h + 2 alpha sum of |delta_j| over the codes that have changed sign before t,   h = delta' G delta

so that each round lowers the objective. Atoms enter only where the last step was a full one, from an optimum of the
pattern: hence no pattern comes twice and the search ends. (Where they may enter earlier, rows with more active atoms
than features go to and fro between two patterns.) A row is done when the last step was a full one and no atom outside
exceeds alpha. Its code is then a function of the pattern alone, not of the way.

Atoms that repeat, or more active ones than features, make G_SS singular: a ridge of 1e-12 splits the code evenly.

The duality gap certifies a row, whatever came before. With ``R = x - a D`` and ``s = min(1, alpha / max_j |c_j|)`` the
point ``2 s R`` is feasible in the dual, and primal minus dual is a sum of terms that are never negative:

    gap = (1 - s)^2 |R|^2 + sum_j (beta |a_j| - 2 s c_j a_j),      relative to |R|^2 + beta |a|_1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..relevance.group_lasso import row_norms
from .row_products import row_products

__all__ = ["SparseCodes", "sparse_codes"]

CHUNK_ROWS = 960  # whole tiles of `row_products`
SYSTEM_VALUES = 2**18  # entries of the systems solved in one call
PAD = 8
MAX_ROUNDS = 1000
RIDGE = 1e-12
# An atom enters where |c_j| exceeds alpha by this share of the largest excess in its row. At 0.1 or 0 rounds are fewer
# but many that enter are sent away again (2 to 5 times slower for dense codes); at 0.5 they are a third more.
ENTRY_SHARE = 0.3
SLACK = 1e-9
ROUNDING = 64 * np.finfo(float).eps


@dataclass(frozen=True)
class SparseCodes:
    """``codes`` (n, m); for each row its objective ``values`` (n,) and relative duality gap ``gaps`` (n,)."""

    codes: np.ndarray
    values: np.ndarray
    gaps: np.ndarray


def sparse_codes(X, D, beta, *, start=None, max_rounds=MAX_ROUNDS):
    """Code rows sparsely in a fixed dictionary, each row for itself.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    D : ndarray, shape (m, d)
    beta : float
        Weight of the sum of absolute codes, above 0.
    start : ndarray, shape (n, m), optional
        Codes to begin from; zeros by default.
    max_rounds : int
        Rounds after which a row is left as it is, with the gap it has.

    Returns
    -------
    SparseCodes
        All in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.encoders.sparse_coding import sparse_codes
    >>> sparse_codes(np.array([[3.0, -0.2]]), np.eye(2), beta=1.0).codes
    array([[2.5, 0. ]])
    """
    n, m = len(X), len(D)
    atoms = np.vstack([D, np.zeros((1, D.shape[1]))]).astype(np.float64, copy=False)
    gram = atoms @ atoms.T
    gram[np.diag_indices_from(gram)] *= 1 + RIDGE
    codes, values, gaps = np.zeros((n, m + 1)), np.empty(n), np.empty(n)
    if start is not None:
        codes[:, :m] = start
    for first in range(0, n, CHUNK_ROWS):
        rows = slice(first, first + CHUNK_ROWS)
        x = X[rows].astype(np.float64, copy=False)
        Q, squares = row_products(x, atoms.T), row_norms(x) ** 2
        values[rows], gaps[rows] = _search(codes[rows], Q, squares, gram, beta / 2, min(D.shape), max_rounds)
    return SparseCodes(codes[:, :m], values, gaps)


def _search(A, Q, squares, gram, alpha, rank, max_rounds):
    """Find the codes of one chunk, in place of the start A (n, m + 1); return values and gaps."""
    values, gaps = np.empty(len(A)), np.empty(len(A))
    settled = np.zeros(len(A), dtype=bool)
    live = np.arange(len(A))
    for n_rounds in range(max_rounds + 1):
        a, q = A[live], Q[live]
        c = q - row_products(a, gram)
        outside = np.where(a != 0, 0, np.abs(c))
        edge = alpha * (1 + SLACK) + ROUNDING * np.abs(q).max(axis=1)
        excess = outside.max(axis=1) - edge
        at_rest = settled[live] | ~a.any(axis=1)
        done = (at_rest & (excess <= 0)) | (n_rounds == max_rounds)
        true_c = c[done] + a[done] * (np.diag(gram) * RIDGE / (1 + RIDGE))
        values[live[done]], gaps[live[done]] = _judge(a[done], q[done], true_c, squares[live[done]], alpha)
        going = ~done
        live = live[going]
        if len(live) == 0:
            break
        a, q, c, outside = a[going], q[going], c[going], outside[going]
        threshold = np.where(at_rest, edge + ENTRY_SHARE * excess, np.inf)[going]
        pattern = (a != 0) | _entering(outside, threshold, rank - np.count_nonzero(a, axis=1))
        A[live], settled[live] = _advance(a, q, c, pattern, gram, alpha)
    return values, gaps


def _entering(outside, threshold, room):
    """Return which atoms enter: those above the threshold, of these the foremost where there is not room for all."""
    enters = outside > threshold[:, None]
    crowded = np.flatnonzero(enters.sum(axis=1) > np.maximum(room, 1))
    if len(crowded):
        ordered = np.sort(outside[crowded], axis=1)
        least = ordered[np.arange(len(crowded)), -np.maximum(room[crowded], 1)]
        enters[crowded] &= outside[crowded] >= least[:, None]
    return enters


def _judge(a, q, c, squares, alpha):
    """Return the objective of each row and its duality gap over it."""
    fit = np.einsum("ij,ij->i", a, c)
    residual = np.maximum(squares - np.einsum("ij,ij->i", a, q) - fit, 0)
    size = 2 * alpha * np.abs(a).sum(axis=1)
    s = np.minimum(1, alpha / np.maximum(np.abs(c).max(axis=1), alpha))
    value = residual + size
    gap = np.maximum((1 - s) ** 2 * residual + size - 2 * s * fit, 0)
    return value, np.divide(gap, value, out=np.zeros_like(gap), where=value > 0)


def _advance(a, q, c, pattern, gram, alpha):
    """Return the codes after one step within each row's pattern, and which of these steps were full ones."""
    counts = pattern.sum(axis=1)
    atoms = np.full((len(a), -(-counts.max() // PAD) * PAD), len(gram) - 1)
    rows, found = np.nonzero(pattern)
    atoms[rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)] = found
    new, full = a.copy(), np.empty(len(a), bool)
    sizes = -(-counts // PAD) * PAD
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        for some in np.array_split(alike, -(-len(alike) * size**2 // SYSTEM_VALUES)):
            S = atoms[some, :size]
            a_S, q_S, c_S = (np.take_along_axis(of[some], S, axis=1) for of in (a, q, c))
            moved, full[some] = _step(S, a_S, q_S, c_S, gram, alpha)
            into = new[some]
            np.put_along_axis(into, S, moved, axis=1)
            new[some] = into
    return new, full


def _step(S, a, q, c, gram, alpha):
    """Return the codes (r, s) of the atoms S after the step of least objective, and whether it was the full one."""
    absent = a == 0
    signs = np.where(absent, np.sign(c), np.sign(a))
    goal = np.zeros_like(a)
    kept, open_rows = S.copy(), np.arange(len(S))
    while len(open_rows):
        goal[open_rows] = _solve_patterns(kept[open_rows], (q - alpha * signs)[open_rows], gram)
        against = absent[open_rows] & (goal[open_rows] * signs[open_rows] < 0)
        open_rows, against = open_rows[against.any(axis=1)], against[against.any(axis=1)]
        kept[open_rows] = np.where(against, len(gram) - 1, kept[open_rows])
    delta = goal - a
    new = goal
    crossing = a * goal < 0
    some = np.flatnonzero(crossing.any(axis=1))
    if len(some):
        curvature = np.einsum("ij,ij->i", delta, np.where(kept < len(gram) - 1, c - alpha * signs, 0))
        new[some] = _least_along(a[some], delta[some], crossing[some], curvature[some], alpha)
    return new, ~crossing.any(axis=1)


def _solve_patterns(S, right, gram):
    """Return the solutions (r, s) of ``G_SS a = right``, zero for the atom of zeros."""
    width, s = len(gram), np.arange(S.shape[1])
    filler = width - 1 == S
    systems = gram.take(S[:, :, None] * width + S[:, None, :])
    systems[:, s, s] += filler
    return np.linalg.solve(systems, np.where(filler, 0, right)[:, :, None])[:, :, 0]


def _least_along(a, delta, crossing, h, alpha):
    """Return ``a + t delta`` at the t of least objective, for rows whose codes cross zero before t = 1.

    Between two crossings phi' is a line with its zero at ``1 - 2 alpha (sum so far) / h``. The least point is the first
    of these that comes before the next crossing, or the crossing before it where phi' jumps over zero.
    """
    times = np.full(a.shape, np.inf)
    times[crossing] = -a[crossing] / delta[crossing]
    order = np.argsort(times, axis=1)
    ordered = np.take_along_axis(times, order, axis=1)
    jumps = np.cumsum(np.take_along_axis(np.abs(delta), order, axis=1), axis=1)
    start, end = np.zeros((len(a), 1)), np.full((len(a), 1), np.inf)
    zeros = 1 - 2 * alpha * np.hstack([start, jumps]) / h[:, None]
    first = np.argmax(zeros <= np.hstack([ordered, end]), axis=1)[:, None]
    before = np.take_along_axis(np.hstack([start, ordered]), first, axis=1)
    t = np.maximum(np.take_along_axis(zeros, first, axis=1), before)
    return np.where(times == t, 0, a + t * delta)
