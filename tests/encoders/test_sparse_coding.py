"""Sparse codes: the lasso of each row, against slow solvers, and what certifies it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.decomposition import sparse_encode

from selftaught.encoders import sparse_coding as sparse_coding_module
from selftaught.encoders.dictionary import random_atoms
from selftaught.encoders.sparse_coding import sparse_codes


def problem(rng, n=30, m=12, d=8):
    return rng.standard_normal((n, d)), random_atoms(rng.standard_normal((m, d)), m, rng)


def critical(X, D):
    """The least beta at which a row's code is zero, (n,)."""
    return 2 * np.abs(X @ D.T).max(axis=1)


def objective(a, x, D, beta):
    return ((x - a @ D) ** 2).sum() + beta * np.abs(a).sum()


def code_by_slsqp(x, D, beta):
    """One code, from its positive and its negative part."""
    m = len(D)

    def value_and_gradient(parts):
        a = parts[:m] - parts[m:]
        slope = 2 * (a @ D - x) @ D.T
        return ((x - a @ D) ** 2).sum() + beta * parts.sum(), np.concatenate([slope, -slope]) + beta

    options = dict(ftol=1e-16, maxiter=2000)
    found = minimize(
        value_and_gradient, np.zeros(2 * m), jac=True, bounds=[(0, None)] * 2 * m, method="SLSQP", options=options
    )
    return found.x[:m] - found.x[m:]


def relative_gaps(codes, X, D, beta):
    """By the definition: primal minus dual at the residual, shrunk until it is feasible."""
    R = X - codes @ D
    primal = (R**2).sum(axis=1) + beta * np.abs(codes).sum(axis=1)
    theta = 2 * R * np.minimum(1, beta / np.abs(2 * R @ D.T).max(axis=1))[:, None]
    dual = (X * theta).sum(axis=1) - (theta**2).sum(axis=1) / 4
    return (primal - dual) / primal


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
@pytest.mark.parametrize("m", [5, 12])
def test_codes_agree_with_a_general_solver_on_the_split_form(m, share, seed):
    rng = np.random.default_rng(seed)
    X, D = problem(rng, n=6, m=m)
    beta = share * critical(X, D).mean()
    ours = sparse_codes(X, D, beta)
    for x, code, value in zip(X, ours.codes, ours.values, strict=True):
        reference = code_by_slsqp(x, D, beta)
        assert_allclose(code, reference, atol=1e-6)
        assert value == pytest.approx(objective(reference, x, D, beta), rel=1e-9)
        assert value == pytest.approx(objective(code, x, D, beta), rel=1e-11)


@pytest.mark.parametrize("share", [0.9, 0.3, 0.05, 0.002])
@pytest.mark.parametrize(("m", "d"), [(10, 25), (25, 25), (90, 25)])
def test_the_gap_is_what_it_says_and_the_signs_are_optimal(m, d, share, rng):
    X, D = problem(rng, n=100, m=m, d=d)
    beta = share * np.median(critical(X, D))
    ours = sparse_codes(X, D, beta)
    assert_allclose(ours.gaps, relative_gaps(ours.codes, X, D, beta), atol=1e-9, rtol=1e-3)
    assert ours.gaps.max() <= 1e-8
    slope, on = 2 * (ours.codes @ D - X) @ D.T, ours.codes != 0
    assert_allclose(slope[on], -beta * np.sign(ours.codes[on]), rtol=1e-6)
    assert np.abs(slope).max() <= beta * (1 + 1e-6)


@pytest.mark.parametrize("share", [0.3, 0.03])
@pytest.mark.parametrize(("m", "d"), [(20, 30), (90, 30)])
def test_the_objective_is_no_higher_than_that_of_scikit_learn(m, d, share, rng):
    X, D = problem(rng, n=50, m=m, d=d)
    beta = share * np.median(critical(X, D))
    theirs = sparse_encode(X, D, algorithm="lasso_cd", alpha=beta / 2, max_iter=20000)
    ours = sparse_codes(X, D, beta)
    for x, code, value in zip(X, theirs, ours.values, strict=True):
        assert value <= objective(code, x, D, beta) * (1 + 1e-10)
    assert_allclose(ours.codes, theirs, atol=0.02)


def test_at_the_critical_value_the_code_vanishes(rng):
    X, D = problem(rng)
    for i, beta in enumerate(critical(X, D)):
        assert not sparse_codes(X[i : i + 1], D, 1.001 * beta).codes.any()
        assert np.count_nonzero(sparse_codes(X[i : i + 1], D, 0.99 * beta).codes) >= 1


def test_orthonormal_atoms_give_shrunken_coordinates(rng):
    D = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    X = rng.standard_normal((20, 6))
    q = X @ D.T
    assert_allclose(sparse_codes(X, D, 0.8).codes, np.sign(q) * np.maximum(np.abs(q) - 0.4, 0), atol=1e-10)


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_no_bit_depends_on_the_rows_coded_beside_it(share, rng):
    X, D = problem(rng, n=1000, m=40, d=50)  # more than one chunk
    beta, order = share * np.median(critical(X, D)), rng.permutation(1000)
    codes = sparse_codes(X, D, beta).codes
    assert_array_equal(sparse_codes(X[order], D, beta).codes, codes[order])
    for i in (0, 959, 960, 999):
        assert_array_equal(sparse_codes(X[i : i + 1], D, beta).codes[0], codes[i])


@pytest.mark.parametrize("other", [0.5, 0.95, 1.05, 3.0])
def test_where_it_starts_does_not_matter(other, rng):
    X, D = problem(rng, n=100, m=60, d=20)
    beta = 0.2 * np.median(critical(X, D))
    cold = sparse_codes(X, D, beta)
    near = sparse_codes(X, D, other * beta).codes
    for start in (near, -near, rng.standard_normal(near.shape)):
        before = start.copy()
        warm = sparse_codes(X, D, beta, start=start)
        assert_allclose(warm.codes, cold.codes, atol=1e-9)
        assert warm.gaps.max() < 1e-10
        assert_array_equal(start, before)


def test_every_round_lowers_the_objective_of_every_row(rng):
    X, D = problem(rng, n=60, m=80, d=20)
    beta = 0.02 * np.median(critical(X, D))
    values = np.array([sparse_codes(X, D, beta, max_rounds=r).values for r in range(25)])
    assert (np.diff(values, axis=0) <= 1e-12 * values[:-1]).all()
    assert_allclose(values[0], (X**2).sum(axis=1))
    assert (values[-1] < 0.9 * values[1]).any()


def test_the_step_stops_where_the_objective_is_least_along_it(rng):
    # against a fine grid on the way to a goal that lies across several zeros
    a, goal, gram, alpha = rng.standard_normal(6), 2 * rng.standard_normal(6), np.eye(6), 0.3
    delta = goal - a
    q = goal + alpha * np.sign(a)  # whose goal in the pattern of a this is
    crossing = a * goal < 0
    assert crossing.any()
    h = delta @ gram @ delta
    found = sparse_coding_module._least_along(a[None], delta[None], crossing[None], np.array([h]), alpha)[0]

    def value(b):
        return 0.5 * b @ gram @ b - q @ b + alpha * np.abs(b).sum()

    grid = min(value(a + t * delta) for t in np.linspace(0, 1.5, 3001))
    assert value(found) <= grid + 1e-9
    assert value(found) < value(a)


# Degenerate dictionaries and rows


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_atoms_that_repeat_share_the_code(share, rng):
    X, D = problem(rng, n=40, m=10, d=15)
    beta = share * np.median(critical(X, D))
    once, twice = sparse_codes(X, D, beta), sparse_codes(X, np.vstack([D, D]), beta)
    assert twice.gaps.max() < 1e-9
    assert_allclose(twice.values, once.values, rtol=1e-9)
    assert_allclose(twice.codes[:, :10] + twice.codes[:, 10:], once.codes, atol=1e-6)
    opposite = sparse_codes(X, np.vstack([D, -D]), beta)
    assert_allclose(opposite.values, once.values, rtol=1e-9)
    assert opposite.gaps.max() < 1e-9


@pytest.mark.parametrize("share", [0.1, 1e-3, 1e-5])
def test_many_more_atoms_than_features_and_hardly_any_penalty(share, rng):
    X, D = problem(rng, n=30, m=200, d=10)
    ours = sparse_codes(X, D, share * np.median(critical(X, D)))
    assert ours.gaps.max() < 1e-6
    assert np.count_nonzero(ours.codes, axis=1).max() <= 10


def test_atoms_and_rows_of_zeros_have_no_code(rng):
    X, D = problem(rng)
    X[3], D[4] = 0, 0
    ours = sparse_codes(X, D, 0.1)
    assert not ours.codes[3].any() and not ours.codes[:, 4].any()
    assert ours.values[3] == ours.gaps[3] == 0
    assert ours.gaps.max() < 1e-10


def test_no_rows_have_no_codes(rng):
    _, D = problem(rng)
    ours = sparse_codes(np.zeros((0, 8)), D, 0.1)
    assert ours.codes.shape == (0, 12) and ours.values.shape == ours.gaps.shape == (0,)


@pytest.mark.parametrize("s", [1e-150, 1e-8, 3.0, 1e8, 1e100])
def test_codes_scale_with_the_rows(s, rng):
    X, D = problem(rng)
    assert_allclose(sparse_codes(s * X, D, s * 0.5).codes, s * sparse_codes(X, D, 0.5).codes, rtol=1e-7, atol=s * 1e-12)


def test_a_search_that_is_cut_short_says_so_by_its_gap(rng):
    X, D = problem(rng, n=20, m=60, d=30)
    beta = 0.02 * np.median(critical(X, D))
    early = sparse_codes(X, D, beta, max_rounds=2)
    assert early.gaps.max() > 1e-6
    assert_allclose(early.gaps, relative_gaps(early.codes, X, D, beta), atol=1e-10)


def test_rows_and_atoms_in_float32_are_coded_in_float64(rng):
    X, D = problem(rng)
    small = sparse_codes(X.astype(np.float32), D.astype(np.float32), 0.5)
    wide = sparse_codes(X.astype(np.float32).astype(float), D.astype(np.float32).astype(float), 0.5)
    assert small.codes.dtype == np.float64
    assert_array_equal(small.codes, wide.codes)
