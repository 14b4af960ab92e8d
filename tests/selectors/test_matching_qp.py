"""The quadratic program of kernel mean matching: against SciPy, its certificate, its limits, its hard cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, linprog, minimize
from scipy.spatial.distance import cdist

from selftaught.selectors import matching_qp
from selftaught.selectors.kernel_matching import solve_working_set
from selftaught.selectors.matching_qp import (
    Limits,
    certificate,
    multiplier,
    project,
    pull,
    solve_dense,
    sparse_start,
)

CASES = [(1000.0, None), (10.0, None), (1000.0, 0.0), (5.0, 0.05), (1.5, 0.0), (1.0, 0.0)]


def limits_of(n, bound=1000.0, eps=None):
    eps = (np.sqrt(n) - 1) / np.sqrt(n) if eps is None else eps
    return Limits(bound, n * (1 - eps), n * (1 + eps))


def problem(rng, n=80, d=5, n_target=30, scale=1.0):
    """Kernel (n, n) and linear term (n,) of a cloud and a narrower target to its side, by SciPy's distances."""
    X, T = rng.normal(size=(n, d)), 0.7 * rng.normal(size=(n_target, d)) + 0.5
    width = scale * np.median(cdist(X, X)[np.triu_indices(n, 1)])
    K, K_target = (np.exp(-cdist(X, Y, "sqeuclidean") / (2 * width**2)) for Y in (X, T))
    return K, n / n_target * K_target.sum(axis=1)


def value(K, kappa, beta):
    return 0.5 * beta @ K @ beta - kappa @ beta


def slsqp(K, kappa, limits):
    """The slow independent reference."""
    n = len(kappa)
    found = minimize(
        lambda b: (value(K, kappa, b) / n, (K @ b - kappa) / n),
        project(np.ones(n), limits),
        jac=True,
        method="SLSQP",
        bounds=[(0, limits.bound)] * n,
        constraints=LinearConstraint(np.ones(n), limits.low, limits.high),
        options=dict(maxiter=2000, ftol=1e-13),
    )
    return project(found.x, limits)


def solved(K, kappa, limits, tol=1e-12, **options):
    target = tol * len(kappa) ** 2 / 2
    return solve_dense(K, kappa, limits, start=sparse_start(kappa, limits), target=target, **options)


def violation(beta, limits):
    return max(-beta.min(), beta.max() - limits.bound, limits.low - beta.sum(), beta.sum() - limits.high)


# The solution


@pytest.mark.parametrize(("bound", "eps"), CASES)
def test_the_objective_is_that_of_slsqp(rng, bound, eps):
    (K, kappa), limits = problem(rng), limits_of(80, bound, eps)
    found, reference = solved(K, kappa, limits), slsqp(K, kappa, limits)
    ours, theirs = value(K, kappa, found.beta), value(K, kappa, reference)
    assert found.converged
    assert ours <= theirs + 1e-6 * abs(theirs)
    assert ours >= theirs - 1e-6 * abs(theirs)
    assert violation(found.beta, limits) <= 1e-9
    assert found.value(kappa) == pytest.approx(ours, rel=1e-12)
    assert_allclose(found.gradient, K @ found.beta - kappa, atol=1e-9)


@pytest.mark.parametrize("solver", ["osqp", "clarabel"])
def test_the_objective_is_that_of_other_solvers_where_they_are_installed(rng, solver):
    package = pytest.importorskip(solver)
    (K, kappa), limits = problem(rng), limits_of(80, 10.0)
    theirs = value(K, kappa, project(PEERS[solver](package, K, kappa, limits), limits))
    assert value(K, kappa, solved(K, kappa, limits).beta) == pytest.approx(theirs, rel=1e-5)


def run_osqp(osqp, K, kappa, limits):
    from scipy import sparse

    n, solver = len(kappa), osqp.OSQP()
    A = sparse.csc_matrix(np.vstack([np.eye(n), np.ones(n)]))
    lower, upper = np.append(np.zeros(n), limits.low), np.append(np.full(n, limits.bound), limits.high)
    P = sparse.csc_matrix(np.triu(K) / n)
    solver.setup(P, -kappa / n, A, lower, upper, verbose=False, eps_abs=1e-8, eps_rel=1e-8, max_iter=100_000)
    return solver.solve(raise_error=False).x


def run_clarabel(clarabel, K, kappa, limits):
    from scipy import sparse

    n, settings = len(kappa), clarabel.DefaultSettings()
    settings.verbose = False
    A = sparse.csc_matrix(np.vstack([np.eye(n), -np.eye(n), np.ones(n), -np.ones(n)]))
    b = np.concatenate([np.full(n, limits.bound), np.zeros(n), [limits.high, -limits.low]])
    P, cones = sparse.csc_matrix(np.triu(K) / n), [clarabel.NonnegativeConeT(len(b))]
    return np.array(clarabel.DefaultSolver(P, -kappa / n, A, b, cones, settings).solve().x)


PEERS = {"osqp": run_osqp, "clarabel": run_clarabel}


@pytest.mark.parametrize(("bound", "eps"), CASES)
@pytest.mark.parametrize("scale", [0.1, 0.5, 4.0])
def test_narrow_and_wide_kernels_are_solved_to_the_tolerance(rng, bound, eps, scale):
    # wide: the condition number is beyond 1e10; narrow: nearly every row has a weight
    (K, kappa), limits = problem(rng, n=400, scale=scale), limits_of(400, bound, eps)
    found = solved(K, kappa, limits, tol=1e-9)
    assert found.converged and found.gap <= 1e-9 * 400**2 / 2
    assert violation(found.beta, limits) <= 1e-9


@pytest.mark.parametrize(("bound", "eps"), CASES)
def test_at_the_solution_no_row_pulls(rng, bound, eps):
    # the conditions of optimality, with the multiplier of the sum
    (K, kappa), limits = problem(rng), limits_of(80, bound, eps)
    found = solved(K, kappa, limits)
    assert pull(found.gradient, found.beta, limits).max() < 1e-6 * kappa.max()
    price = multiplier(found.gradient, found.beta, limits)
    # a sum strictly inside its limits has no price
    if limits.low + 1e-6 < found.beta.sum() < limits.high - 1e-6:
        assert price == 0


def test_repeated_rows_and_a_kernel_of_rank_one_are_no_obstacle(rng):
    K, kappa = problem(rng, n=40)
    twice = np.tile(K, (2, 2)), np.tile(kappa, 2) * 2
    limits = limits_of(80)
    found = solved(*twice, limits)
    once = solved(K, 2 * kappa, Limits(2 * limits.bound, limits.low, limits.high))
    assert found.value(twice[1]) == pytest.approx(once.value(2 * kappa), rel=1e-9)
    flat = solved(np.ones((50, 50)), np.full(50, 50.0), limits_of(50))
    assert flat.beta.sum() == pytest.approx(50)


def test_a_linear_term_of_zeros_leaves_the_least_sum():
    # nothing resembles the target: as little weight as allowed, evenly, which is the least of sum beta^2 / 2
    found = solved(np.eye(20), np.zeros(20), Limits(5.0, 4.0, 36.0))
    assert_allclose(found.beta, 0.2, atol=1e-9)


def test_where_faces_fail_gradient_steps_take_over(rng, monkeypatch):
    (K, kappa), limits = problem(rng), limits_of(80, 5.0, 0.05)
    monkeypatch.setattr(matching_qp, "_face_step", lambda *args: None)
    by_gradient = solved(K, kappa, limits, tol=1e-7)
    assert by_gradient.converged
    monkeypatch.undo()
    assert value(K, kappa, by_gradient.beta) == pytest.approx(value(K, kappa, solved(K, kappa, limits).beta), rel=1e-6)


def test_the_objective_falls_from_round_to_round(rng):
    K, kappa = problem(rng, n=400, scale=2.0)
    values = []
    found = solved(K, kappa, limits_of(400), on_round=lambda number, f: values.append((number, f)))
    assert [number for number, _ in values] == [*range(1, found.n_rounds + 1)] and found.n_rounds > 2
    falls = np.diff([f for _, f in values])
    assert (falls <= 1e-12 * 400**2).all()


def test_too_few_rounds_are_reported_and_a_tolerance_of_zero_ends(rng):
    (K, kappa), limits = problem(rng, n=400), limits_of(400)
    short = solved(K, kappa, limits, max_rounds=1)
    assert not short.converged and short.n_rounds == 1 and violation(short.beta, limits) <= 1e-9
    endless = solved(K, kappa, limits, tol=0.0, max_rounds=10_000)
    assert endless.n_rounds < 200
    assert endless.gap <= 1e-12 * 400**2


# The certificate


@pytest.mark.parametrize(("bound", "eps"), CASES)
def test_the_certificate_is_the_best_vertex_and_bounds_what_is_missing(rng, bound, eps):
    (K, kappa), limits = problem(rng), limits_of(80, bound, eps)
    best = value(K, kappa, solved(K, kappa, limits).beta)
    for _ in range(20):
        beta = project(rng.exponential(size=80) * rng.integers(0, 3, size=80), limits)
        g = K @ beta - kappa
        gap = certificate(g, beta, limits)
        sums = np.array([np.ones(80), -np.ones(80)])
        vertex = linprog(g, A_ub=sums, b_ub=[limits.high, -limits.low], bounds=(0, limits.bound))
        assert gap == pytest.approx(g @ beta - vertex.fun, rel=1e-6, abs=1e-6)
        assert gap >= value(K, kappa, beta) - best - 1e-9
        assert gap >= 0


# The projection


@pytest.mark.parametrize(("bound", "eps"), CASES)
def test_the_projection_is_the_nearest_admissible_point(rng, bound, eps):
    limits = limits_of(12, bound, eps)
    for size in (0.1, 1.0, 30.0):
        v = size * rng.normal(size=12)
        nearest = project(v, limits)
        assert violation(nearest, limits) <= 1e-9
        # no admissible point is nearer: v - nearest makes no acute angle with the way to any of them
        others = rng.exponential(size=(200, 12)) * rng.uniform(0, 3, size=(200, 1))
        others = np.array([project(other, limits) for other in others])
        assert ((others - nearest) @ (v - nearest)).max() <= 1e-8 * size * 12
        assert_allclose(project(nearest, limits), nearest, atol=1e-9)


@pytest.mark.parametrize(("bound", "eps"), CASES)
def test_the_start_is_admissible(rng, bound, eps):
    for n in (1, 2, 30, 500):
        limits = limits_of(n, bound, eps)
        assert violation(sparse_start(rng.uniform(size=n), limits), limits) <= 1e-9


# The working set


class MatrixKernel:
    """A kernel that is a matrix, and counts the columns it is asked for."""

    def __init__(self, K):
        self.K, self.largest = K, 0

    def block(self, rows):
        self.largest = max(self.largest, len(rows))
        return self.K[np.ix_(rows, rows)]

    def product(self, rows, coef):
        return self.K[:, rows] @ coef


@pytest.mark.parametrize(("bound", "eps"), [case for case in CASES if case[0] >= 5])
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_a_small_working_set_reaches_what_all_rows_reach(rng, bound, eps, scale):
    (K, kappa), limits = problem(rng, n=600, scale=scale), limits_of(600, bound, eps)
    target, kernel = 1e-8 * 600**2 / 2, MatrixKernel(K)
    found = solve_working_set(kernel, kappa, limits, target=target, n_rows=100, largest=500)
    assert found.converged and kernel.largest <= 500
    assert violation(found.beta, limits) <= 1e-9
    assert_allclose(found.gradient, K @ found.beta - kappa, atol=1e-9 * 600)
    everything = solved(K, kappa, limits)
    assert value(K, kappa, found.beta) - value(K, kappa, everything.beta) <= target + 1e-9


@pytest.mark.parametrize(("bound", "eps"), [(1000.0, None), (1.5, None), (1.5, 0.0), (1.0, 0.0)])
def test_a_solution_larger_than_the_working_set_is_found_block_by_block(rng, bound, eps):
    # a narrow kernel or a tight bound: nearly every row has a weight
    (K, kappa), limits = problem(rng, n=400, scale=0.3), limits_of(400, bound, eps)
    target, kernel = 1e-6 * 400**2 / 2, MatrixKernel(K)
    found = solve_working_set(kernel, kappa, limits, target=target, n_rows=25, largest=50)
    assert found.converged and kernel.largest <= 50 < np.count_nonzero(found.beta)
    assert violation(found.beta, limits) <= 1e-9


@pytest.mark.parametrize("n", [1001, 2401])
def test_every_row_can_enter(rng, n):
    # the one row that resembles the target comes last, where a split into equal parts would drop it
    K, kappa = np.eye(n), np.zeros(n)
    kappa[-1] = n
    found = solve_working_set(MatrixKernel(K), kappa, limits_of(n, n), target=1e-9, n_rows=50)
    assert found.beta.argmax() == n - 1 and found.beta[-1] > 0.9 * n
    assert len(found.gradient) == len(found.beta) == n
    # and a start that holds it at zero does not hide it from the certificate
    elsewhere = np.where(np.arange(n) < n - 1, n / (n - 1), 0.0)
    assert certificate(K @ elsewhere - kappa, elsewhere, limits_of(n, n)) > 0.1 * n**2


def test_rounds_are_told_and_counted(rng):
    K, kappa = problem(rng, n=600)
    told, goal = [], 1e-8 * 600**2
    found = solve_working_set(
        MatrixKernel(K), kappa, limits_of(600), target=goal, n_rows=60, on_round=lambda *round_: told.append(round_)
    )
    assert [number for number, _ in told] == [*range(1, found.n_rounds + 1)]
    assert (np.diff([f for _, f in told]) <= 1e-9).all()
    short = solve_working_set(MatrixKernel(K), kappa, limits_of(600), target=goal, n_rows=60, max_rounds=1)
    assert not short.converged and short.n_rounds == 1
