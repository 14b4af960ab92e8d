"""The square-root lasso: agreement with SLSQP, its critical penalty, its certificate, awkward atoms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from selftaught.encoders.dictionary import random_atoms
from selftaught.encoders.robust_dictionary import solve_robust_dictionary
from selftaught.encoders.square_root_lasso import solve_square_root_lasso, square_root_gaps


def objective(a, x, D, g):
    r, floor = np.linalg.norm(x - a @ D), 0.01 * np.linalg.norm(x)
    return (r if r >= floor else r**2 / (2 * floor) + floor / 2) + g * np.abs(a).sum()


def by_slsqp(x, D, g):
    """The split form a = u - v, u and v at least 0."""
    m, floor = len(D), 0.01 * np.linalg.norm(x)

    def value(uv):
        return objective(uv[:m] - uv[m:], x, D, g) + g * (uv.sum() - np.abs(uv[:m] - uv[m:]).sum())

    def gradient(uv):
        R = x - (uv[:m] - uv[m:]) @ D
        pull = D @ R / max(np.linalg.norm(R), floor)
        return np.concatenate([g - pull, g + pull])

    found = minimize(
        value,
        np.zeros(2 * m),
        jac=gradient,
        method="SLSQP",
        bounds=[(0, None)] * (2 * m),
        options=dict(maxiter=1000, ftol=1e-16),
    )
    return found.x[:m] - found.x[m:]


@pytest.fixture
def problem(rng):
    """More directions than atoms, so that codes are unique; rows near the span of a few atoms and rows anywhere."""
    D = random_atoms(rng.normal(size=(8, 10)), 8, rng)
    near = rng.normal(size=(6, 3)) @ D[:3] + 0.002 * rng.normal(size=(6, 10))
    return np.vstack([near, 5 * rng.normal(size=(6, 10))]), D


@pytest.mark.parametrize("g", [0.5, 0.2, 0.1, 0.05, 0.02, 0.01])
def test_codes_are_those_of_slsqp(g, problem):
    X, D = problem
    found = solve_square_root_lasso(X, D, g)
    reference = np.array([by_slsqp(x / np.linalg.norm(x), D, g) * np.linalg.norm(x) for x in X])
    for x, a, b in zip(X, found.codes, reference, strict=True):
        assert objective(a, x, D, g) <= objective(b, x, D, g) * (1 + 1e-9)
    assert_allclose(found.codes, reference, atol=1e-6 * np.abs(reference).max() * 5)


def test_some_rows_reach_the_smoothed_part_and_some_do_not(problem):
    # so that the test above has seen both
    X, D = problem
    codes = solve_square_root_lasso(X, D, 0.01).codes
    residual = np.linalg.norm(X - codes @ D, axis=1) / np.linalg.norm(X, axis=1)
    assert residual.min() < 0.01 < residual.max()


@pytest.mark.parametrize(("m", "k"), [(8, 10), (40, 10), (12, 12), (1, 5), (5, 1)])
@pytest.mark.parametrize("g", [0.5, 0.1, 0.03, 1e-3])
def test_every_code_carries_its_proof(m, k, g, rng):
    D, X = random_atoms(rng.normal(size=(m, k)), m, rng), rng.normal(size=(25, k))
    found = solve_square_root_lasso(X, D, g)
    assert_array_equal(square_root_gaps(X, D, g, found.codes), found.gaps)
    assert np.abs(found.gaps).max() < 1e-9


AWKWARD = {
    "repeated atoms": lambda D: np.vstack([D, D]),
    "opposite atoms": lambda D: np.vstack([D, -D]),
    "whole numbers": lambda D: np.round(2 * D),
    "signs": lambda D: np.sign(D),
    "atoms of zeros": lambda D: D * (np.arange(len(D)) % 3 > 0)[:, None],
    "all on one line": lambda D: np.outer(np.sign(D[:, 0]), D[0]),
}


@pytest.mark.parametrize("kind", AWKWARD)
def test_ties_and_dependent_atoms_do_not_lose_the_way(kind, rng):
    for k, m in ((3, 10), (8, 8), (12, 6)):
        D = AWKWARD[kind](rng.normal(size=(m, k)))
        D = D / np.maximum(np.linalg.norm(D, axis=1), 1)[:, None]
        # rows in which atoms tie as well, and rows that are atoms
        X = np.vstack([np.round(2 * rng.normal(size=(20, k))), 3 * D, np.ones((1, k))])
        for g in (0.6, 0.2, 0.05, 0.005):
            with np.errstate(all="raise", under="ignore"):
                assert np.abs(solve_square_root_lasso(X, D, g).gaps).max() < 1e-9


def test_the_gap_bounds_what_is_left(problem, rng):
    X, D = problem
    best = solve_square_root_lasso(X, D, 0.1).codes
    for size in (1e-3, 0.1, 10.0):
        worse = best + size * rng.normal(size=best.shape)
        for x, a, b, gap in zip(X, worse, best, square_root_gaps(X, D, 0.1, worse), strict=True):
            assert 0 <= objective(a, x, D, 0.1) - objective(b, x, D, 0.1) <= gap * objective(a, x, D, 0.1)


def test_a_walk_cut_short_says_how_far_it_came(rng):
    D, X = random_atoms(rng.normal(size=(20, 15)), 20, rng), rng.normal(size=(10, 15))
    whole, cut = solve_square_root_lasso(X, D, 0.02), solve_square_root_lasso(X, D, 0.02, max_events=3)
    assert cut.n_events == 3 < whole.n_events and cut.gaps.max() > 1e-3 > whole.gaps.max()


def test_codes_are_zero_from_the_critical_penalty_on_and_not_below(problem):
    X, D = problem
    for x in X:
        critical = np.abs(D @ x).max() / np.linalg.norm(x)
        assert critical <= 1
        assert not solve_square_root_lasso(x[None], D, critical * (1 + 1e-9)).codes.any()
        assert solve_square_root_lasso(x[None], D, 0.999 * critical).codes.any()


@pytest.mark.parametrize("g", [0.3, 0.1])
def test_equal_rows_coded_together_have_the_code_that_each_has_alone(g, rng):
    # 16 copies pay g1 sqrt(16) |a|_1 against 16 residuals
    D = random_atoms(rng.normal(size=(6, 8)), 6, rng)
    x = np.array([1.0, 0.7, -0.4, 0.2, 0, 0]) @ D + 0.1 * rng.normal(size=8)
    alone = solve_square_root_lasso(x[None], D, g).codes[0]
    assert np.linalg.norm(x - alone @ D) > 0.02 * np.linalg.norm(x) and alone.any()
    joint = solve_robust_dictionary(
        lambda: (), np.tile(x, (16, 1)), [], D, g1=4 * g, g2=0.0, eps=1e-13, max_iter=5000, tol=-1.0, n_sweeps=0
    )
    assert_allclose(joint.codes_target, np.tile(alone, (16, 1)), atol=1e-5)


def test_codes_scale_with_the_row(problem):
    X, D = problem
    sizes = np.geomspace(1e-8, 1e8, len(X))
    plain, scaled = (solve_square_root_lasso(Y, D, 0.1).codes for Y in (X, sizes[:, None] * X))
    assert_allclose(scaled / sizes[:, None], plain, rtol=1e-6, atol=1e-8)


def test_each_row_is_coded_for_itself(problem):
    X, D = problem
    together = solve_square_root_lasso(X, D, 0.05).codes
    apart = np.vstack([solve_square_root_lasso(x[None], D, 0.05).codes for x in X])
    assert_array_equal(apart, together)


def test_rows_of_zeros_have_zero_codes(problem):
    X, D = problem
    found = solve_square_root_lasso(np.vstack([np.zeros(10), X[:2], np.zeros(10)]), D, 0.1)
    assert not found.codes[[0, 3]].any() and found.codes[[1, 2]].any()
    assert_array_equal(found.gaps[[0, 3]], 0)
    assert solve_square_root_lasso(X[:0], D, 0.1).codes.shape == (0, 8)
