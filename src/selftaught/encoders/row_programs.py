"""Sparse robust codes of single rows, each a small linear program, by an interior point method.

For a row x (d,) and a dictionary D (m, d), with ``e = x - z D`` and a tangent c of entries in [-1, 1]:

    minimise over z      sparsity |z|_1 + weight sum (|e| - c e)
    dual: maximise over y      y x      such that |D y| <= sparsity,  -weight (1 + c) <= y <= weight (1 - c)

Written ``z = u1 - u2, e = u3 - u4`` with u >= 0, and with the slacks s >= 0 of the four families of dual constraints,
the solution has ``u s = 0`` entry by entry. Mehrotra's predictor-corrector drives ``u s`` to zero from a start that is
strictly feasible on both sides. One step solves

    (D' diag(u1/s1 + u2/s2) D + diag(u3/s3 + u4/s4)) dy = ...        (d, d), one system for each row

and ten to fifteen steps reach a relative gap of 1e-6, whatever the row. ADMM's steps are far cheaper, but of linear
programs it leaves a tail of rows that thousands of steps do not settle; see decision 014. The smaller system (m, m)
that there is for m < d loses its digits to cancellation when entries of e vanish, so that it is not used.

Rows are solved side by side in blocks of bounded memory, and those that are done are put aside.
"""

from __future__ import annotations

import numpy as np

__all__ = ["n_flops", "solve_rows"]

MAX_STEPS = 50
BLOCK_NUMBERS = 2**20
TO_THE_WALL = 0.995
TYPICAL_STEPS = 12


def n_flops(m, d):
    """Return about how many operations one row takes, multiplications and additions."""
    return TYPICAL_STEPS * (2 * m * d**2 + 2 * d**3 / 3)


def solve_rows(X, D, C, *, weight, sparsity, tol=1e-6, reference=None):
    """Find sparse codes of rows under absolute errors.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    D : ndarray, shape (m, d)
    C : ndarray, shape (n, d)
        Tangent of the errors, entries in [-1, 1]; zeros for plain absolute errors.
    weight, sparsity : float
        Of an error and of a code's entry, above zero.
    tol : float
        Gap to reach, relative to the reference.
    reference : ndarray, shape (n, 1), optional
        What gaps are measured against; None is the value of each row.

    Returns
    -------
    Z : ndarray, shape (n, m)
    gap : ndarray, shape (n, 1)
        Value less dual value of each row.
    """
    Z, gap = np.zeros((len(X), len(D))), np.zeros((len(X), 1))
    size = max(1, BLOCK_NUMBERS // D.size)
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        measure = None if reference is None else reference[rows]
        Z[rows], gap[rows] = _solve_block(X[rows], D, C[rows], weight, sparsity, tol, measure)
    return Z, gap


def _solve_block(X, D, C, weight, sparsity, tol, reference):
    Z, gap = np.zeros((len(X), len(D))), np.full((len(X), 1), np.inf)
    y, s, u = _start(X, D, C, weight, sparsity)
    live = np.arange(len(X))
    for _ in range(MAX_STEPS):
        z = _codes(u, D)
        value, bound = _value(X, D, C, z, weight, sparsity), _bound(X, D, C, y, weight, sparsity)
        better = (value - bound < gap[live])[:, 0]
        Z[live[better]], gap[live[better]] = z[better], (value - bound)[better]
        measure = value if reference is None else reference[live]
        open_ = (gap[live] > tol * np.maximum(measure, np.finfo(float).tiny))[:, 0]
        live, X, C, y, s, u = live[open_], X[open_], C[open_], y[open_], s[open_], u[open_]
        if not len(live):
            break
        # A row already at the limit of its digits may run off; the best of its codes is kept.
        with np.errstate(all="ignore"):
            y, s, u = _step(X, D, y, s, u)
    return Z, gap


def _value(X, D, C, Z, weight, sparsity):
    E = X - Z @ D
    return (sparsity * np.abs(Z).sum(axis=1) + weight * (np.abs(E) - C * E).sum(axis=1))[:, None]


def _bound(X, D, C, y, weight, sparsity):
    """Return the dual value of y, brought into its box and shrunk until it is feasible."""
    y = np.clip(y, -weight * (1 + C), weight * (1 - C))
    pull = np.abs(y @ D.T).max(axis=1)
    return (np.minimum(1, sparsity / np.maximum(pull, np.finfo(float).tiny)) * (y * X).sum(axis=1))[:, None]


def _codes(u, D):
    m = len(D)
    return u[:, :m] - u[:, m : 2 * m]


def _start(X, D, C, weight, sparsity):
    """Return y, slacks and multipliers strictly inside: no code, all of the row an error."""
    pull = weight * np.abs(C @ D.T).max(axis=1, keepdims=True)
    y = -weight * C * np.minimum(1, 0.5 * sparsity / np.maximum(pull, np.finfo(float).tiny))
    G = y @ D.T
    s = np.hstack([sparsity - G, sparsity + G, weight * (1 - C) - y, weight * (1 + C) + y])
    unit = np.maximum(np.abs(X).mean(axis=1, keepdims=True), np.finfo(float).tiny)
    u = np.hstack([np.repeat(unit, 2 * len(D), axis=1), np.maximum(X, 0) + unit, np.maximum(-X, 0) + unit])
    return y, s, u


def _step(X, D, y, s, u):
    """Return y, s, u after a predictor-corrector step."""
    direction = _newton(X, D, s, u)
    complement = u * s
    _, ds, du = direction(-complement)
    reach = complement.mean(axis=1, keepdims=True)
    left = ((u + _length(u, du) * du) * (s + _length(s, ds) * ds)).mean(axis=1, keepdims=True)
    dy, ds, du = direction((left / reach) ** 3 * reach - complement - du * ds)
    along_dual = _length(s, ds)
    return y + along_dual * dy, s + along_dual * ds, u + _length(u, du) * du


def _newton(X, D, s, u):
    """Return the function that solves for a step in y, s and u, given the change that ``u s`` is to make."""
    m, d = D.shape

    def net(v):
        """``v1 - v2`` through the dictionary, plus ``v3 - v4``: what multipliers v explain of the rows, (b, d)."""
        return (v[:, :m] - v[:, m : 2 * m]) @ D + v[:, 2 * m : 2 * m + d] - v[:, 2 * m + d :]

    W = u / s
    missed = X - net(u)
    M = (D.T * (W[:, :m] + W[:, m : 2 * m])[:, None, :]) @ D
    M[:, np.arange(d), np.arange(d)] += W[:, 2 * m : 2 * m + d] + W[:, 2 * m + d :]
    # Entries span the square of the accuracy reached; equal diagonals keep elimination from losing the small ones.
    scale = 1 / np.sqrt(M[:, np.arange(d), np.arange(d)])
    M *= scale[:, :, None]
    M *= scale[:, None, :]

    def direction(change):
        right = scale * (missed - net(change / s))
        dy = scale * _solve(M, right)
        G = dy @ D.T
        ds = np.hstack([-G, G, -dy, dy])
        return dy, ds, change / s - W * ds

    return direction


def _solve(M, right):
    """Return the solutions of systems (b, d, d) of unit diagonal, (b, d)."""
    try:
        return np.linalg.solve(M, right[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        # One system of the block is singular to the last digit: a degenerate row at its solution.
        ridge = 1e-13 * np.eye(M.shape[1])
        return np.linalg.solve(M + ridge, right[:, :, None])[:, :, 0]


def _length(v, dv):
    """Return how far to go along dv with v staying positive, at most the whole step, (b, 1)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(dv < 0, -v / dv, np.inf).min(axis=1, keepdims=True)
    return np.minimum(1, TO_THE_WALL * room)
