"""Steps that dictionaries share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, minimize

from selftaught.encoders.dictionary import improve_dictionary, project_on_balls, random_atoms, ridge_codes


def coded_rows(rng, n=40, m=6, d=9):
    A = rng.standard_normal((n, m)) * (rng.random((n, m)) < 0.5)
    return A, rng.standard_normal((n, d)), random_atoms(rng.standard_normal((m, d)), m, rng)


def loss(D, A, X):
    return 0.5 * ((X - A @ D) ** 2).sum()


# Start


def test_atoms_are_different_rows_of_unit_length(rng):
    X = rng.standard_normal((30, 5))
    D = random_atoms(X, 12, rng)
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    matches = np.abs(D @ unit.T - 1) < 1e-12
    assert_array_equal(matches.sum(axis=1), 1)
    assert matches.sum(axis=0).max() == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_zeros_are_passed_over_and_random_directions_fill_up(dtype, rng):
    X = np.vstack([np.zeros((5, 4)), rng.standard_normal((3, 4))]).astype(dtype)
    D = random_atoms(X, 7, rng)
    assert D.shape == (7, 4) and D.dtype == dtype
    assert_allclose(np.linalg.norm(D, axis=1), 1, rtol=1e-6)
    unit = X[5:] / np.linalg.norm(X[5:], axis=1)[:, None]
    assert_allclose((D[:3] @ unit.T).max(axis=1), 1, rtol=1e-6)
    assert len(np.unique(D, axis=0)) == 7


def test_the_generator_alone_decides_the_start(rng):
    X = rng.standard_normal((30, 5))
    first, again, other = (random_atoms(X, 4, np.random.default_rng(s)) for s in (1, 1, 2))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


# Balls, ridge


def test_the_projection_on_balls_is_the_nearest_point(rng):
    D = rng.standard_normal((5, 3)) * [[0.1], [0.5], [1], [2], [5]]
    nearest = project_on_balls(D)
    inside = np.linalg.norm(D, axis=1) <= 1
    assert inside.any() and not inside.all()
    assert_array_equal(nearest[inside], D[inside])
    assert_allclose(nearest[~inside], D[~inside] / np.linalg.norm(D[~inside], axis=1)[:, None])
    assert project_on_balls(D.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("m", [3, 9])
def test_ridge_codes_have_no_gradient(m, rng):
    X, D = rng.standard_normal((8, 5)), rng.standard_normal((m, 5))
    A = ridge_codes(X, D, 0.3)
    assert_allclose((A @ D - X) @ D.T + 0.3 * A, 0, atol=1e-12)


# The dictionary step


def dual(lam, gram, cross, square):
    """The Lagrange dual of |X - A D|^2 over unit balls: its value, gradient and Hessian in lam (m,)."""
    inverse = np.linalg.inv(gram + np.diag(lam))
    D = inverse @ cross
    return square - np.vdot(cross, D) - lam.sum(), (D**2).sum(axis=1) - 1, -2 * (D @ D.T) * inverse


def test_many_sweeps_reach_the_value_that_the_dual_certifies(seed):
    rng = np.random.default_rng(seed)
    A, X, D = coded_rows(rng)
    gram, cross, square = A.T @ A, A.T @ X, (X**2).sum()
    lam = rng.random(6) + 0.5
    _, gradient, hessian = dual(lam, gram, cross, square)
    assert_allclose(gradient, approx_fprime(lam, lambda v: dual(v, gram, cross, square)[0]), rtol=1e-4, atol=1e-4)
    assert_allclose(hessian, approx_fprime(lam, lambda v: dual(v, gram, cross, square)[1]), rtol=1e-3, atol=1e-4)
    best = minimize(
        lambda v: [-part for part in dual(v, gram, cross, square)[:2]],
        lam,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * 6,
        options=dict(ftol=1e-15, gtol=1e-10, maxiter=1000),
    )
    solved = improve_dictionary(D, gram, cross, n_sweeps=500)
    assert -best.fun == pytest.approx(2 * loss(solved, A, X), rel=1e-6)
    assert_allclose(solved, np.linalg.solve(gram + np.diag(best.x), cross), atol=1e-4)
    assert np.linalg.norm(solved, axis=1).max() <= 1 + 1e-9


def test_every_sweep_lowers_the_loss_and_keeps_atoms_in_their_balls(rng):
    A, X, D = coded_rows(rng)
    gram, cross = A.T @ A, A.T @ X
    losses = [loss(D, A, X)]
    for _ in range(10):
        D = improve_dictionary(D, gram, cross, n_sweeps=1)
        losses.append(loss(D, A, X))
        assert np.linalg.norm(D, axis=1).max() <= 1 + 1e-9
    assert (np.diff(losses) <= 1e-12).all() and losses[1] < losses[0]


def test_two_sweeps_are_one_after_the_other_and_the_start_is_untouched(rng):
    A, X, D = coded_rows(rng)
    before = D.copy()
    once = improve_dictionary(D, A.T @ A, A.T @ X, n_sweeps=1)
    assert_array_equal(
        improve_dictionary(D, A.T @ A, A.T @ X, n_sweeps=2), improve_dictionary(once, A.T @ A, A.T @ X, n_sweeps=1)
    )
    assert_array_equal(D, before)


def test_weighted_rows_enter_through_gram_and_cross(rng):
    # a row of weight 3 is three rows
    A, X, D = coded_rows(rng)
    F = rng.integers(1, 4, len(A))
    weighted = improve_dictionary(D, A.T @ (F[:, None] * A), A.T @ (F[:, None] * X))
    A, X = np.repeat(A, F, axis=0), np.repeat(X, F, axis=0)
    assert_allclose(weighted, improve_dictionary(D, A.T @ A, A.T @ X), atol=1e-12)


def test_atoms_that_no_row_uses_stay(rng):
    A, X, D = coded_rows(rng)
    A[:, [1, 4]] = 0
    improved = improve_dictionary(D, A.T @ A, A.T @ X)
    assert_array_equal(improved[[1, 4]], D[[1, 4]])
    assert (improved[[0, 2, 3, 5]] != D[[0, 2, 3, 5]]).all()
