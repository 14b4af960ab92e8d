"""Kernel mean matching for any number of source rows: a working set, and a certificate over all rows.

The problem is that of `matching_qp`, for a kernel that is never formed as a whole. Solutions are sparse, so what is
needed of K (n, n) is one square block and products of a few columns:

    1. the working set W: the rows with beta > 0, and those that pull hardest away from their bound;
    2. solve for W alone, the others held fixed, from the beta at hand (`solve_dense` on K_WW);
    3. g += K[:, moved] (beta_new - beta)[moved], one scan over all rows in blocks;
    4. stop when the certificate over *all* rows is small enough.

The subproblem in 2 is the same program: fixed rows enter its linear term, ``K_WW beta_W - g_W`` in place of kappa_W,
and take their share of the sum. So nothing breaks where a solution is not sparse (narrow kernels, tight bounds): then W
holds the rows that pull hardest, and the rounds are block coordinate descent.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .matching_qp import Limits, Matching, certificate, pull, solve_dense, sparse_start

__all__ = ["solve_working_set"]

# Rows of a working set: 50 MB of kernel. Fewer make more scans, more make dearer blocks; at 100 000 rows the seconds
# differed by less than a third from 1500 to 3500.
N_ROWS = 2500
LARGEST = 5000
# A subproblem is solved to this share of its own gap: solving it further would polish weights about to change.
INNER_SHARE = 0.1
PATIENCE = 20


def solve_working_set(kernel, kappa, limits, *, target, max_rounds=1000, n_rows=N_ROWS, largest=LARGEST, on_round=None):
    """Solve without forming the kernel matrix, to a certified gap of at most ``target`` in f.

    Parameters
    ----------
    kernel : object
        With ``block(rows)``, the (k, k) kernel of some rows, and ``product(rows, coef)``, shape (n,): the columns of
        these rows, times coefficients.
    kappa : ndarray, shape (n,)
    limits : Limits
    target : float
    max_rounds : int
        Scans over all rows.
    n_rows, largest : int
        Rows in a working set, and where the solution itself has more.
    on_round : callable, optional
        Called with the round's number and f.

    Returns
    -------
    Matching
    """
    beta = sparse_start(kappa, limits)
    g = kernel.product(np.flatnonzero(beta), beta[beta > 0]) - kappa
    best_gap, idle = np.inf, 0
    for n_rounds in range(max_rounds + 1):
        gap = certificate(g, beta, limits)
        if on_round is not None and n_rounds:
            on_round(n_rounds, 0.5 * float(beta @ (g - kappa)))
        if gap <= target or n_rounds == max_rounds or idle == PATIENCE:
            break
        idle = 0 if gap < best_gap else idle + 1
        best_gap = min(best_gap, gap)
        rows = _choose_rows(g, beta, limits, n_rows, largest, n_rounds)
        change = _solve_rows(kernel, rows, beta[rows], g[rows], _left_for(rows, beta, limits), target) - beta[rows]
        moved = np.flatnonzero(change)
        beta[rows] += change
        np.clip(beta, 0, limits.bound, out=beta)
        g += kernel.product(rows[moved], change[moved])
    return Matching(beta, g, gap, n_rounds, gap <= target)


def _choose_rows(g, beta, limits, n_rows, largest, n_rounds):
    """Return the working set: all rows with weight, or in turn as many as fit, and those that pull hardest."""
    wants = pull(g, beta, limits)
    used = np.flatnonzero(beta)
    n_wanted = min(len(beta), largest, max(n_rows, len(used) + n_rows // 5))
    if len(used) > 0.8 * largest:
        # Rows that have settled must be there to make room for those that pull.
        used = np.roll(used, -n_rounds * (largest // 2))[: largest // 2]
    wants[used] = np.inf
    hardest = np.argpartition(-wants, n_wanted - 1)[:n_wanted]
    return np.sort(hardest[wants[hardest] > 0])


def _left_for(rows, beta, limits):
    """Return the limits that remain for some rows when all others keep their weights."""
    taken = beta.sum() - beta[rows].sum()
    return replace(limits, low=max(limits.low - taken, 0.0), high=max(limits.high - taken, 0.0))


def _solve_rows(kernel, rows, beta, g, limits: Limits, target):
    """Return new weights for some rows, all others fixed."""
    K = kernel.block(rows)
    own_gap = certificate(g, beta, limits)
    goal = max(INNER_SHARE * own_gap, 0.5 * min(target, own_gap))
    return solve_dense(K, K @ beta - g, limits, start=beta, target=goal).beta
