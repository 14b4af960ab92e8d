"""The quality of a landmark: against a double loop in plain Python, quadrature, and in blocks of every size."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad

from selftaught.selectors import landmarks as landmarks_module
from selftaught.selectors.landmarks import (
    fit_surroundings,
    landmark_quality,
    normalized_overlap,
    overlap_coefficient,
    similarity_moments,
)

PERCENTILES = tuple(range(5, 100, 5))


def distance(x, y):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def moments(similarities):
    mean = math.fsum(similarities) / len(similarities)
    return mean, math.fsum((k - mean) ** 2 for k in similarities) / len(similarities)


def by_hand(sources, targets, percentiles, min_variance=1e-10):
    """q of every source row (columns) at every scale (rows), one pair and one scale at a time."""
    S, T = sources.tolist(), targets.tolist()
    both = S + T
    pairs = [distance(both[i], both[j]) for i in range(len(both)) for j in range(i)]
    table = []
    for s in np.percentile(pairs, percentiles):
        row = []
        for i, x in enumerate(S):
            m_S, v_S = moments([math.exp(-(distance(x, y) ** 2) / (2 * s**2)) for j, y in enumerate(S) if j != i])
            m_T, v_T = moments([math.exp(-(distance(x, y) ** 2) / (2 * s**2)) for y in T])
            row.append(0.0 if v_S + v_T <= min_variance else math.exp(-((m_S - m_T) ** 2) / (2 * (v_S + v_T))))
        table.append(row)
    return np.array(table)


def judge(X, sources, targets, percentiles=PERCENTILES, overlap=normalized_overlap, min_variance=1e-10):
    surroundings = fit_surroundings(sources, targets, percentiles)
    return landmark_quality(X, surroundings, overlap=overlap, min_variance=min_variance)


@pytest.fixture
def rows(rng):
    return rng.normal(size=(30, 4)), rng.normal(size=(12, 4)) + 1


@pytest.mark.parametrize("block_values", [1, 500, 2**18])
def test_it_equals_a_double_loop_whatever_the_blocks(rows, block_values, monkeypatch):
    monkeypatch.setattr(landmarks_module, "BLOCK_VALUES", block_values)
    monkeypatch.setattr(landmarks_module, "LEAST_ROWS", 1)
    expected = by_hand(rows[0], rows[1], PERCENTILES)
    found = judge(rows[0], rows[0], rows[1])
    assert_allclose(found.largest, expected.max(axis=0), atol=1e-10)
    assert_allclose(found.mean, expected.mean(axis=0), atol=1e-10)


@pytest.mark.parametrize("noise", [0.1, 1e-3, 1e-5])
def test_similarities_that_hardly_vary_keep_the_digits_of_their_variance(rng, noise):
    # mean squares less squared means would keep 16 digits less those that the similarities share
    distances = (1 + noise * rng.normal(size=(5, 300))) ** 2
    mean, variance = similarity_moments(distances, np.full(5, 300), np.array([1.0, 0.3]))
    for j, s in enumerate([1.0, 0.3]):
        exact = np.exp(-distances.astype(np.longdouble) / (2 * s**2))
        assert_allclose(mean[j], exact.mean(axis=1).astype(float), rtol=1e-13)
        assert_allclose(variance[j], exact.var(axis=1).astype(float), rtol=1e-10)


def test_what_is_left_out_counts_neither_for_mean_nor_variance(rng):
    for noise in (1.0, 1e-3):  # variance in one pass, and in two
        distances = (3 + noise * rng.normal(size=(4, 50))) ** 2
        kept = distances[:, 1:]
        distances[:, 0] = 0
        left_out = np.arange(4), np.zeros(4, dtype=int)
        found = similarity_moments(distances, np.full(4, 49), np.array([2.0]), left_out)
        similarity = np.exp(-kept / 8)
        assert_allclose(found[0][0], similarity.mean(axis=1), rtol=1e-13)
        assert_allclose(found[1][0], similarity.var(axis=1), rtol=1e-9)


def test_far_rows_are_no_slower_numbers_and_no_warning():
    # exp of -710 is subnormal, and of -1e9 zero; either way there is no similarity and no variance
    with np.errstate(all="raise", under="ignore"):
        mean, variance = similarity_moments(np.array([[1420.0, 1480.0, 2e9]]), np.array([3]), np.array([1.0]))
    assert 0 <= mean[0, 0] < 1e-300 and variance[0, 0] == 0


def test_float32_says_nearly_the_same(rng):
    # means of 60 and more similarities near one half, rounded at 6e-8, under deviations of a few hundredths
    sources, targets = rng.normal(size=(150, 40)), rng.normal(size=(60, 40)) + 0.3
    wide = judge(sources, sources, targets)
    short_sources, short_targets = sources.astype(np.float32), targets.astype(np.float32)
    narrow = judge(short_sources, short_sources, short_targets)
    assert_allclose(narrow.largest, wide.largest, atol=1e-4)
    assert_allclose(narrow.mean, wide.mean, atol=1e-4)


# The overlap of two normals

NORMALS = [(0.3, 0.01, 0.5, 0.02), (0.3, 0.02, 0.3, 0.01), (0.9, 1e-4, 0.1, 0.05), (0.2, 0.03, 0.4, 0.03), (0, 4, 9, 1)]


def shared(overlap, *normals):
    """The overlap of normals given as plain numbers or lists."""
    m_S, v_S, m_T, v_T = (np.asarray(given, dtype=float) for given in normals)
    return overlap(m_S, v_S, m_T, v_T)


def support(m_S, v_S, m_T, v_T):
    reach = 12 * math.sqrt(max(v_S, v_T))
    return dict(a=min(m_S, m_T) - reach, b=max(m_S, m_T) + reach, points=[m_S, m_T], limit=500)


@pytest.mark.parametrize("normals", NORMALS)
def test_the_normalised_overlap_is_the_integrated_product_over_its_value_at_equal_means(normals):
    m_S, v_S, m_T, v_T = normals

    def product(t, m):
        return stats.norm.pdf(t, m_S, math.sqrt(v_S)) * stats.norm.pdf(t, m, math.sqrt(v_T))

    integral = quad(product, args=(m_T,), **support(*normals))[0]
    at_equal_means = quad(product, args=(m_S,), **support(m_S, v_S, m_S, v_T))[0]
    assert_allclose(shared(normalized_overlap, *normals), integral / at_equal_means, atol=1e-8)


@pytest.mark.parametrize("normals", NORMALS)
def test_the_coefficient_is_the_integral_of_the_smaller_density(normals):
    m_S, v_S, m_T, v_T = normals
    grid = support(*normals)

    def smaller(t):
        return min(stats.norm.pdf(t, m_S, math.sqrt(v_S)), stats.norm.pdf(t, m_T, math.sqrt(v_T)))

    found = shared(overlap_coefficient, *normals)
    assert_allclose(found, quad(smaller, epsabs=1e-9, **grid)[0], atol=1e-6)
    assert_allclose(found, shared(overlap_coefficient, m_T, v_T, m_S, v_S), rtol=1e-12)


def test_equal_variances_have_the_short_formula_and_nearly_equal_ones_nearly_its_value():
    for v in (0.03, 0.03 * (1 + 1e-13), 0.03 * (1 + 1e-7)):
        found = shared(overlap_coefficient, 0.2, 0.03, 0.4, v)
        assert_allclose(found, 2 * stats.norm.cdf(-0.2 / (2 * math.sqrt(0.03))), atol=1e-7)


@pytest.mark.parametrize("overlap", [normalized_overlap, overlap_coefficient])
def test_equal_moments_overlap_wholly(overlap):
    v = np.array([1e-9, 0.02, 3.0, 0.02 * (1 + 1e-15)])
    assert_allclose(overlap(np.full(4, 0.4), v, np.full(4, 0.4), v[[0, 1, 2, 1]]), 1, rtol=1e-12)


def test_a_point_shares_no_area_with_a_normal():
    with np.errstate(all="raise", under="ignore"):
        area = shared(overlap_coefficient, [0.4, 0.4, 0.4], [0.0, 1e-300, 0.1], 0.4, [0.1, 0.1, 0.0])
    assert_allclose(area, 0, atol=1e-12)


# Rules for what has no answer


def test_a_sum_of_variances_of_no_more_than_min_variance_is_no_overlap(rows):
    surroundings = fit_surroundings(rows[0], rows[1], (50,))
    open_ = landmark_quality(rows[0], surroundings, overlap=normalized_overlap, min_variance=0.0)
    closed = landmark_quality(rows[0], surroundings, overlap=normalized_overlap, min_variance=2.0)
    assert (open_.largest > 0).all() and not closed.largest.any()


def test_percentiles_at_distance_zero_are_no_scales():
    twins = np.repeat([[0.0, 0.0], [3.0, 4.0]], 10, axis=0)
    # 90 of the 190 pairs are of equal rows, all others 5 apart
    assert_allclose(fit_surroundings(twins[:15], twins[15:], (10, 40, 60, 90)).scales, [5, 5])
    constant = np.ones((5, 2))
    assert_array_equal(judge(constant, constant, constant).largest, np.zeros(5))


def test_a_row_with_no_other_to_compare_with_has_quality_zero(rng):
    sources, targets = rng.normal(size=(1, 3)), rng.normal(size=(6, 3))
    assert_array_equal(judge(sources, sources, targets).largest, [0])
    assert judge(sources + 0.1, sources, targets).largest > 0
