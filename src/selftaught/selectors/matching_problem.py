"""The two sides of kernel mean matching: source rows, and what their kernel mean has to match.

With ``kappa_i = (n_source / n_target) sum_j k(x_i, t_j)`` and f as in `matching_qp`, the squared distance between the
weighted mean of the source and the mean of the target in the kernel's feature space is

    MMD^2(beta) = |1/n_source sum_i beta_i phi(x_i) - 1/n_target sum_j phi(t_j)|^2 = 2 f(beta) / n_source^2 + mean K_tt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .gaussian_kernel import BlockKernel, FourierKernel, ScaledRows, gaussian, kernel_sums, median_distance
from .kernel_matching import solve_working_set
from .matching_qp import Limits, Matching, certificate, project, solve_dense, sparse_start

__all__ = ["MatchingProblem", "build_problem", "choose_bandwidth", "solve_exactly", "solve_with_features"]

# Rows that stand for all where every pair of rows would be too many.
SAMPLE_ROWS = 2000


@dataclass(frozen=True)
class MatchingProblem:
    """Prepared rows of source and target, and what is known of their kernel before any weight.

    ``kappa`` (n,); ``K`` (n, n), or None where it is not kept; ``target_mean`` of K_tt; ``similarity`` of two different
    source rows on average; ``uniform_mmd2`` at equal weights. The last two may come from a sample.
    """

    rows: ScaledRows
    target: np.ndarray
    kappa: np.ndarray
    K: np.ndarray | None
    target_mean: float
    similarity: float
    uniform_mmd2: float

    def mmd2(self, value):
        """Return the squared distance of the means where the objective f has this value."""
        return max(2 * value / len(self.kappa) ** 2 + self.target_mean, 0.0)


def choose_bandwidth(rows: ScaledRows, target, rng):
    """Return the median distance between rows of source and target, on a sample; 1 where all rows are one."""
    n_all = rows.n_rows + len(target)
    chosen = np.arange(n_all) if n_all <= SAMPLE_ROWS else np.sort(rng.choice(n_all, SAMPLE_ROWS, replace=False))
    from_source = chosen[chosen < rows.n_rows]
    sample = np.concatenate([rows.take(from_source), target[chosen[len(from_source) :] - rows.n_rows]])
    return median_distance(sample) or 1.0


def build_problem(rows: ScaledRows, target, rng, *, dense) -> MatchingProblem:
    """Compute all that does not depend on weights, with one scan over the source; ``dense`` keeps its kernel matrix."""
    n = rows.n_rows
    kappa = n / len(target) * kernel_sums(rows, target, np.ones(len(target)))
    parts = np.array_split(target, 1 + len(target) // 256)
    target_mean = sum(float(gaussian(part, target).sum()) for part in parts) / len(target) ** 2
    sample = np.arange(n) if dense or n <= SAMPLE_ROWS else np.sort(rng.choice(n, SAMPLE_ROWS, replace=False))
    X = rows.take(sample)
    K, m = gaussian(X, X), len(sample)
    similarity = float((K.sum() - m) / (m * max(m - 1, 1)))
    # Both terms from the same rows: what a sample misses of the source then cancels between them.
    uniform = 1 / n + (1 - 1 / n) * similarity - 2 * kappa[sample].mean() / n + target_mean
    return MatchingProblem(rows, target, kappa, K if dense else None, target_mean, similarity, max(float(uniform), 0.0))


def solve_exactly(problem: MatchingProblem, limits: Limits, *, target, max_rounds, on_round=None) -> Matching:
    """Solve for the exact kernel, on its matrix if the problem has it, else with a working set."""
    if problem.K is None:
        kernel = BlockKernel(problem.rows)
        return solve_working_set(kernel, problem.kappa, limits, target=target, max_rounds=max_rounds, on_round=on_round)
    # Where even weights are as good as any (the target is the source), they are the answer that says so.
    even = project(np.ones(len(problem.kappa)), limits)
    found = solve_dense(problem.K, problem.kappa, limits, start=even, target=target, max_rounds=0)
    if found.converged:
        return found
    start = sparse_start(problem.kappa, limits)
    return solve_dense(
        problem.K, problem.kappa, limits, start=start, target=target, max_rounds=max_rounds, on_round=on_round
    )


def solve_with_features(
    problem: MatchingProblem, limits: Limits, n_features, rng, *, target, max_rounds, on_round=None
) -> Matching:
    """Solve for random Fourier features in place of the kernel; gradient and gap returned are those of the kernel."""
    n, kernel = problem.rows.n_rows, FourierKernel(problem.rows, n_features, rng)
    kappa = n / len(problem.target) * kernel.sums(problem.target)
    found = solve_working_set(kernel, kappa, limits, target=target, max_rounds=max_rounds, on_round=on_round)
    used = np.flatnonzero(found.beta)
    g = BlockKernel(problem.rows).product(used, found.beta[used]) - problem.kappa
    return replace(found, gradient=g, gap=certificate(g, found.beta, limits))
