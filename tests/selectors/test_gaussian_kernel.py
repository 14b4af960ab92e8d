"""Kernels in blocks: against SciPy's distances, whatever the blocks; the median; random features on average."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist

from selftaught import SourcePool
from selftaught.scaling import IdentityScaling, fit_scaling
from selftaught.selectors import gaussian_kernel
from selftaught.selectors.gaussian_kernel import (
    BlockKernel,
    FourierKernel,
    ScaledRows,
    gaussian,
    kernel_sums,
    median_distance,
)
from selftaught.selectors.matching_problem import build_problem, choose_bandwidth


def rows_of(X, block_rows=None, bandwidth=1.0, center=0.0):
    return ScaledRows(SourcePool(X, block_rows=block_rows), IdentityScaling(), center, bandwidth)


def test_the_kernel_is_that_of_the_formula(rng):
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(7, 4))
    assert_allclose(gaussian(X, Y), np.exp(-0.5 * cdist(X, Y) ** 2), rtol=1e-12)
    assert gaussian(X, X).max() <= 1


@pytest.mark.parametrize("block_rows", [1, 7, 1000])
@pytest.mark.parametrize("piece", [1, 40, 2**18])
def test_sums_do_not_depend_on_blocks(rng, monkeypatch, block_rows, piece):
    monkeypatch.setattr(gaussian_kernel, "PIECE_VALUES", piece)
    X, Y, coef = rng.normal(size=(50, 4)), rng.normal(size=(9, 4)), rng.normal(size=9)
    expected = np.exp(-cdist(X, Y, "sqeuclidean") / (2 * 1.7**2)) @ coef
    rows = rows_of(X, block_rows, bandwidth=1.7)
    assert_allclose(kernel_sums(rows, Y / 1.7, coef), expected, rtol=1e-11)
    assert_allclose(kernel_sums(rows.over(1.0), Y, coef), np.exp(-0.5 * cdist(X, Y) ** 2) @ coef, rtol=1e-11)
    kernel, some = BlockKernel(rows), np.array([3, 4, 40])
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 1.7**2))
    assert_allclose(kernel.block(some), K[np.ix_(some, some)], rtol=1e-12)
    assert_allclose(kernel.product(some, coef[:3]), K[:, some] @ coef[:3], rtol=1e-11)


def test_rows_are_scaled_then_moved_then_divided(rng):
    X = rng.normal(size=(20, 3)).astype(np.float32)
    scaling = fit_scaling(SourcePool(X), X)
    rows = ScaledRows(SourcePool(X, block_rows=6), scaling, np.full(3, 0.5), 2.0)
    expected = (scaling.apply(X).astype(np.float64) - 0.5) / 2
    assert_array_equal(np.concatenate([block for _, block in rows.blocks()]), expected)
    assert_array_equal(rows.take(np.array([7, 2])), expected[[7, 2]])
    assert rows.take(np.array([1])).dtype == np.float64


def test_data_far_from_the_origin_lose_no_digits_around_their_centre(rng):
    X = rng.normal(size=(40, 3))
    far = X + 1e6
    near = kernel_sums(rows_of(X), X[:5], np.ones(5))
    rows = rows_of(far, center=far.mean(axis=0))
    assert_allclose(kernel_sums(rows, rows.take(np.arange(5)), np.ones(5)), near, rtol=1e-8)


def test_the_median_is_that_of_all_pairs_and_never_zero_while_rows_differ(rng):
    X = rng.normal(size=(41, 4))
    assert median_distance(X) == pytest.approx(np.median(pdist(X)), rel=1e-9)
    mostly_one = np.concatenate([np.zeros((30, 2)), [[3.0, 4.0]]])
    assert median_distance(mostly_one) == pytest.approx(5)
    assert median_distance(np.full((5, 2), 0.3)) == 0 == median_distance(np.ones((1, 2)))


def test_the_width_is_the_median_over_source_and_target_and_one_where_all_rows_are_one(rng):
    X, T = rng.normal(size=(50, 4)), rng.normal(size=(12, 4)) + 1
    assert choose_bandwidth(rows_of(X), T, rng) == pytest.approx(np.median(pdist(np.concatenate([X, T]))))
    assert choose_bandwidth(rows_of(np.zeros((5, 2))), np.zeros((3, 2)), rng) == 1


def test_a_sampled_width_is_near_that_of_all_pairs(rng):
    X, T = rng.normal(size=(3000, 4)), rng.normal(size=(200, 4))
    every = np.median(pdist(np.concatenate([X, T])))
    assert choose_bandwidth(rows_of(X), T, np.random.RandomState(0)) == pytest.approx(every, rel=0.02)


def test_random_features_give_the_kernel_on_average(rng):
    X, T = rng.normal(size=(30, 4)), rng.normal(size=(5, 4))
    few, many = (FourierKernel(rows_of(X, 7), n, np.random.RandomState(0)) for n in (100, 40_000))
    every, exact = np.arange(30), gaussian(X, X)
    errors = [np.abs(kernel.block(every) - exact).max() for kernel in (few, many)]
    assert errors[1] < 0.03 < errors[0]
    assert_allclose(few.product(every[:3], np.ones(3)), few.block(every)[:, :3].sum(axis=1), atol=1e-12)
    assert_allclose(many.sums(T), gaussian(X, T).sum(axis=1), atol=0.1)
    assert few.features(X).shape == (30, 100)


# The problem built from them


@pytest.mark.parametrize("dense", [True, False])
def test_mmd_is_the_same_both_ways(rng, dense):
    # the identity MMD^2 = 2 f / n^2 + mean K_tt, against the three means of the definition
    X, T, beta = rng.normal(size=(60, 3)), rng.normal(size=(14, 3)) + 0.5, rng.exponential(size=60)
    problem = build_problem(rows_of(X, 7), T, rng, dense=dense)
    K, K_target, K_both = (np.exp(-0.5 * cdist(A, B) ** 2) for A, B in ((X, X), (T, T), (X, T)))

    def by_definition(beta):
        return beta @ K @ beta / 60**2 - 2 * beta @ K_both.sum(axis=1) / (60 * 14) + K_target.mean()

    f = 0.5 * beta @ K @ beta - problem.kappa @ beta
    assert problem.mmd2(f) == pytest.approx(by_definition(beta), abs=1e-10)
    assert problem.uniform_mmd2 == pytest.approx(by_definition(np.ones(60)), abs=1e-10)
    assert (problem.K is not None) == dense
    assert problem.similarity == pytest.approx(K[~np.eye(60, dtype=bool)].mean())


def test_the_sampled_mmd_of_equal_weights_is_near_the_exact_one(rng):
    X, T = rng.normal(size=(5000, 4)), rng.normal(size=(200, 4)) + 0.5
    exact = build_problem(rows_of(X, bandwidth=2.0), T / 2, rng, dense=True).uniform_mmd2
    sampled = build_problem(rows_of(X, bandwidth=2.0), T / 2, np.random.RandomState(0), dense=False)
    assert sampled.uniform_mmd2 == pytest.approx(exact, rel=0.1)
