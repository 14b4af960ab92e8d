"""The alternation of RDSTL: it falls, it ends where independent solvers end, and blocks do not show."""

# Options of a solve are passed on as a dict of numbers, whose types pyright mixes up.
# pyright: reportArgumentType=false

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad, minimize

from selftaught.encoders.dictionary import random_atoms
from selftaught.encoders.robust_dictionary import critical_penalties, solve_robust_dictionary


def nothing():
    return ()


def in_blocks(X, n_rows):
    return lambda: ((slice(i, min(i + n_rows, len(X))), X[i : i + n_rows]) for i in range(0, len(X), n_rows))


def smoothed_objective(A, D, X, classes, g1, g2, eps):
    """The formula, with its gradient in A."""

    def norms(V, axis):
        return np.sqrt((V**2).sum(axis=axis, keepdims=True) + eps)

    R = X - A @ D
    value = norms(R, 1).sum() + g1 * norms(A, 0).sum()
    gradient = -(R / norms(R, 1)) @ D.T + g1 * A / norms(A, 0)
    for rows in classes:
        value += g2 * norms(A[rows], 0).sum()
        gradient[rows] += g2 * A[rows] / norms(A[rows], 0)
    return value, gradient


def draw(rng, n_source=40, n_target=15, k=6, m=8, n_classes=3):
    X = rng.normal(size=(n_source + n_target, k)) * np.linspace(2, 0.5, k)
    y = np.arange(n_target) % n_classes
    classes = [np.flatnonzero(y == c) for c in range(n_classes)]
    return X[:n_source], X[n_source:], classes, random_atoms(X, m, rng)


def solve(X_source, X_target, classes, D, block=1000, a1=0.1, a2=0.1, **options):
    """Solve at fractions of the critical penalties."""
    read = in_blocks(X_source, block) if len(X_source) else nothing
    g1, g2 = critical_penalties(read, X_target, classes, D)
    return solve_robust_dictionary(
        read, X_target, classes, D, **dict(dict(g1=a1 * g1, g2=a2 * g2, eps=1e-8), **options)
    )


# The alternation


@pytest.mark.parametrize("shape", [dict(), dict(m=4), dict(m=6), dict(n_source=0), dict(n_target=2, n_classes=1)])
@pytest.mark.parametrize("a1", [0.02, 0.1, 0.5, 1.1])
def test_no_step_raises_the_objective(shape, a1, rng):
    found = solve(*draw(rng, **shape), a1=a1, tol=1e-9, max_iter=60)
    path = np.array(found.objective_path)
    assert len(path) == 1 + 2 * found.n_iter and found.n_iter > 1
    codes, atoms = np.diff(path)[0::2], np.diff(path)[1::2]
    assert codes.max() <= 1e-12 * path[0] and atoms.max() <= 1e-12 * path[0]
    assert codes[0] < 0 and atoms[0] < 0


def test_each_step_equals_the_plain_algorithm(rng):
    """Codes held in full, an inverse for every row, residuals from the formula."""
    X_source, X_target, classes, D = draw(rng)
    n_source, X, eps, g1, g2 = len(X_source), np.vstack([X_source, X_target]), 1e-6, 0.4, 0.3
    found = solve_robust_dictionary(
        in_blocks(X_source, 7), X_target, classes, D, g1=g1, g2=g2, eps=eps, max_iter=5, tol=1e-15
    )
    of_class = [n_source + rows for rows in classes]
    A = X @ D.T @ np.linalg.inv(D @ D.T + 0.1 * np.eye(len(D)))
    path = [smoothed_objective(A, D, X, of_class, g1, g2, eps)[0]]
    for _ in range(5):
        F = 0.5 / np.sqrt(((X - A @ D) ** 2).sum(axis=1) + eps)
        P = np.tile(g1 * 0.5 / np.sqrt((A**2).sum(axis=0) + eps), (len(X), 1))
        for rows in of_class:
            P[rows] += g2 * 0.5 / np.sqrt((A[rows] ** 2).sum(axis=0) + eps)
        A = np.array([f * x @ D.T @ np.linalg.inv(f * D @ D.T + np.diag(p)) for x, f, p in zip(X, F, P, strict=True)])
        path.append(smoothed_objective(A, D, X, of_class, g1, g2, eps)[0])
        F = 0.5 / np.sqrt(((X - A @ D) ** 2).sum(axis=1) + eps)
        S, T, D = (A.T * F) @ A, (A.T * F) @ X, D.copy()
        for _ in range(3):
            for j in range(len(D)):
                D[j] += (T[j] - S[j] @ D) / S[j, j]
                D[j] /= max(1, np.linalg.norm(D[j]))
        path.append(smoothed_objective(A, D, X, of_class, g1, g2, eps)[0])
    assert_allclose(found.objective_path, path, rtol=1e-9)
    assert_allclose(found.D, D, atol=1e-6)
    assert_allclose(found.codes_target, A[n_source:], atol=1e-6)
    assert_allclose(found.column_norms, np.linalg.norm(A, axis=0), rtol=1e-6)


@pytest.mark.parametrize("m", [4, 8])
def test_blocks_do_not_show(m, rng):
    problem = draw(rng, m=m)
    whole, cut = (solve(*problem, block=block) for block in (1000, 3))
    assert_allclose(cut.objective_path, whole.objective_path, rtol=1e-9)
    assert_allclose(cut.D, whole.D, atol=1e-5)


def test_without_classes_source_and_target_rows_are_alike(rng):
    X_source, X_target, _, D = draw(rng)
    given = dict(g1=0.5, g2=0.0, eps=1e-6, max_iter=30)
    apart = solve_robust_dictionary(in_blocks(X_source, 9), X_target, [], D, **given)
    together = solve_robust_dictionary(nothing, np.vstack([X_source, X_target]), [], D, **given)
    assert_allclose(apart.objective_path, together.objective_path, rtol=1e-10)
    assert_allclose(apart.codes_target, together.codes_target[len(X_source) :], atol=1e-6)


def test_classes_matter_and_no_weight_takes_them_out(rng):
    X_source, X_target, classes, D = draw(rng)
    free, absent, held = (solve(X_source, X_target, c, D, a2=a) for c, a in ((classes, 0.0), ([], 0.3), (classes, 0.3)))
    assert free.objective_path == absent.objective_path
    assert np.abs(held.codes_target - free.codes_target).max() > 1e-3


def test_a_class_uses_few_atoms_where_its_penalty_is_strong(rng):
    problem = draw(rng, n_target=30)
    off = []
    for a2 in (0.0, 0.8):
        A = solve(*problem, a1=0.02, a2=a2, tol=1e-8, max_iter=400).codes_target
        sizes = np.array([np.linalg.norm(A[rows], axis=0) for rows in problem[2]])
        off.append((sizes < 0.01 * sizes.max()).mean())
    assert off[1] > off[0] + 0.1


def test_stopping_is_told(rng):
    problem = draw(rng)
    short, long = solve(*problem, max_iter=2, tol=1e-9), solve(*problem, max_iter=500, tol=1e-4)
    assert not short.converged and short.n_iter == 2
    assert long.converged and long.n_iter < 500
    path = np.array(long.objective_path)[1::2]
    assert path[-2] - path[-1] <= 1e-4 * path[-2] and path[-3] - path[-2] > 1e-4 * path[-3]


def test_rounds_are_reported(rng):
    seen = []
    found = solve(*draw(rng), on_round=lambda *told: seen.append(told))
    assert [number for number, _ in seen] == [*range(1, found.n_iter + 1)]
    assert [value for _, value in seen] == [*found.objective_path[1::2]]


# Codes in a given dictionary: a convex problem


def test_the_gradient_of_these_tests_is_right(rng):
    _, X, classes, D = draw(rng)
    args = (D, X, classes, 0.7, 0.4, 1e-3)

    def value(a):
        return smoothed_objective(a.reshape(15, 8), *args)[0]

    def gradient(a):
        return smoothed_objective(a.reshape(15, 8), *args)[1].ravel()

    assert check_grad(value, gradient, rng.normal(size=15 * 8)) < 1e-4


@pytest.mark.parametrize(("g1", "g2"), [(0.5, 0.0), (0.5, 0.3), (1.5, 0.5)])
def test_reweighting_ends_where_lbfgs_ends(g1, g2, rng):
    _, X, classes, D = draw(rng, n_target=12, m=5)
    eps = 1e-4
    found = solve_robust_dictionary(nothing, X, classes, D, g1=g1, g2=g2, eps=eps, max_iter=4000, tol=-1.0, n_sweeps=0)
    args = (D, X, classes, g1, g2, eps)
    options = dict(maxiter=50000, maxfun=100000, ftol=1e-16, gtol=1e-10, maxcor=50)
    reference = minimize(
        lambda a: [part if np.isscalar(part) else part.ravel() for part in smoothed_objective(a.reshape(12, 5), *args)],
        np.zeros(60),
        jac=True,
        method="L-BFGS-B",
        options=options,
    )
    assert_allclose(found.D, D, rtol=0)
    assert_allclose(found.objective_path[-1], reference.fun, rtol=1e-9)
    assert_allclose(found.codes_target, reference.x.reshape(12, 5), atol=1e-6)
    assert np.abs(smoothed_objective(found.codes_target, *args)[1]).max() < 1e-8


@pytest.mark.parametrize("n_source", [0, 30])
def test_codes_vanish_just_above_the_critical_penalty_and_not_below(n_source, rng):
    X_source, X_target, _, D = draw(rng, n_source=n_source)
    X = np.vstack([X_source, X_target])
    g1_max = np.linalg.norm(X @ D.T / np.linalg.norm(X, axis=1)[:, None], axis=0).max()
    read = in_blocks(X_source, 8) if n_source else nothing
    assert critical_penalties(read, X_target, [], D) == (pytest.approx(g1_max, rel=1e-12), 0.0)
    assert g1_max <= np.sqrt(len(X))
    above, below = (
        solve(X_source, X_target, [], D, a1=a1, n_sweeps=0, max_iter=2000, tol=-1.0).column_norms.max()
        for a1 in (1.02, 0.98)
    )
    assert above < 1e-3 < below / 10


def test_critical_penalty_of_classes_is_the_median_over_them(rng):
    X_source, X_target, classes, D = draw(rng)
    X_target[0] = 0  # a row of zeros pulls nowhere
    U = X_target @ D.T / np.maximum(np.linalg.norm(X_target, axis=1), 1e-300)[:, None]
    by_class = [np.linalg.norm(U[rows], axis=0).max() for rows in classes]
    assert critical_penalties(in_blocks(X_source, 8), X_target, classes, D)[1] == pytest.approx(np.median(by_class))


# Without classes the least of sum_j |A_:j| over unit atoms is the nuclear norm of AD: all is convex in AD


def least_convex_value(X, g1, n_rounds=3000):
    """Minimise sum_i |x_i - y_i| + g1 |Y|_* over Y, smoothed by 1e-10, by reweighting in Y itself."""
    Y = 0.9 * X
    for _ in range(n_rounds):
        F = 0.5 / np.sqrt(((X - Y) ** 2).sum(axis=1) + 1e-10)
        squares, V = np.linalg.eigh(Y.T @ Y)
        W = g1 * 0.5 / np.sqrt(np.maximum(squares, 0) + 1e-10)
        Y = (X @ V * F[:, None] / (F[:, None] + W)) @ V.T
    return np.linalg.norm(X - Y, axis=1).sum() + g1 * np.linalg.svd(Y, compute_uv=False).sum()


@pytest.mark.parametrize("fraction", [0.4, 0.8])
def test_without_classes_it_finds_the_global_minimum(fraction, rng):
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(40, 6))
    X[:3] *= 30
    g1 = fraction * np.linalg.norm(X / np.linalg.norm(X, axis=1)[:, None], 2)
    D = random_atoms(X, 16, rng)
    found = solve_robust_dictionary(nothing, X, [], D, g1=g1, g2=0.0, eps=1e-8, max_iter=1000, tol=-1.0)
    nuclear = np.linalg.svd(found.codes_target @ found.D, compute_uv=False).sum()
    assert_allclose(found.column_norms.sum(), nuclear, rtol=1e-2)
    least = least_convex_value(X, g1)
    assert_allclose(found.objective_path[-1], least, rtol=1e-3)  # both end slowly, each from above
    assert least < 0.95 * found.objective_path[0]


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_scaled_data_have_scaled_codes_and_the_same_atoms(scale, rng):
    X_source, X_target, classes, D = draw(rng)
    plain = solve(X_source, X_target, classes, D)
    scaled = solve(scale * X_source, scale * X_target, classes, D, eps=1e-8 * scale**2)
    assert_allclose(scaled.D, plain.D, atol=1e-7)
    assert_allclose(scaled.codes_target, scale * plain.codes_target, rtol=1e-6, atol=1e-7 * scale)
