"""The objective of S-Low: its penalty, the tangents that bound it, and constants that follow the units of the data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from selftaught.encoders.dictionary import random_atoms, ridge_codes
from selftaught.encoders.minimax_concave import Weights, concave, measure_weights, objective, rank_tangent, tangent

PARAMETERS = dict(rank_gamma=5.0, error_gamma=5.0, error_weight=5.0, source_sparsity=0.1, source_weight=1.0)


@pytest.fixture
def rows(rng):
    X_source, X_target = rng.standard_normal((30, 6)), rng.standard_normal((12, 6))
    D = random_atoms(X_source, 9, rng)
    return X_source, X_target, D, ridge_codes(X_target, D)


def test_the_penalty_by_its_integral(rng):
    # M is the integral of its slope (1 - s / knee)_+
    knee = 1.7
    for t in (0.0, 0.3, 1.7, 2.5):
        area, _ = quad(lambda s: max(1 - s / knee, 0), 0, t, points=[knee])
        assert concave(np.array([-t]), knee)[0] == pytest.approx(area, abs=1e-9)
    T = rng.standard_normal(50)
    assert_allclose(concave(T, np.inf), np.abs(T))
    assert_allclose(concave(T, 1e12), np.abs(T), rtol=1e-11)


def test_tangents_are_derivatives_of_what_the_penalty_takes_away(rng):
    E, knee, step = rng.standard_normal((4, 5)), 0.8, 1e-6

    def taken(E):
        return (np.abs(E) - concave(E, knee)).sum()

    def taken_from_rank(Z):
        sigma = np.linalg.svd(Z, compute_uv=False)
        return (sigma - concave(sigma, knee)).sum()

    for function, slope in ((taken, tangent(E, knee)), (taken_from_rank, rank_tangent(E, knee))):
        for i, j in np.ndindex(E.shape):
            bump = np.zeros_like(E)
            bump[i, j] = step
            assert slope[i, j] == pytest.approx((function(E + bump) - function(E - bump)) / (2 * step), abs=1e-6)
    assert not tangent(E, np.inf).any() and not rank_tangent(E, np.inf).any()


def test_the_linearised_objective_touches_the_true_one_and_lies_above_it_elsewhere(rng):
    Z, E, knee_rank, knee_error = rng.standard_normal((6, 8)), rng.standard_normal((6, 5)), 2.0, 0.7
    C_Z, C_E = rank_tangent(Z, knee_rank), tangent(E, knee_error)

    def true(Z, E):
        return concave(np.linalg.svd(Z, compute_uv=False), knee_rank).sum() + concave(E, knee_error).sum()

    def linearised(Z, E):
        nuclear = np.linalg.svd(Z, compute_uv=False).sum()
        return nuclear - np.vdot(C_Z, Z) + np.abs(E).sum() - np.vdot(C_E, E)

    constant = true(Z, E) - linearised(Z, E)
    for size in (1e-3, 0.1, 1.0, 10.0):
        for _ in range(50):
            Z_new, E_new = Z + size * rng.standard_normal(Z.shape), E + size * rng.standard_normal(E.shape)
            assert linearised(Z_new, E_new) + constant >= true(Z_new, E_new) - 1e-12


def test_the_objective_by_its_formula(rows, rng):
    X_source, X_target, D, Z_target = rows
    Z_source = rng.standard_normal((30, 9))
    weights = Weights(knee_rank=1.5, knee_error=0.4, error_weight=0.7, sparsity=0.2, source_weight=3.0)

    def M(t, knee):
        return abs(t) - t**2 / (2 * knee) if abs(t) <= knee else knee / 2

    rank = sum(M(s, 1.5) for s in np.linalg.svd(Z_target)[1])
    of_source = sum(M(e, 0.4) for e in (X_source - Z_source @ D).ravel())
    of_target = sum(M(e, 0.4) for e in (X_target - Z_target @ D).ravel())
    by_hand = rank + 0.2 * np.abs(Z_source).sum() + 0.7 * (3 * of_source + of_target)
    assert objective(X_source, X_target, D, Z_source, Z_target, weights) == pytest.approx(by_hand, rel=1e-12)


def test_constants_follow_the_units_of_the_data(rows):
    X_source, X_target, D, Z_target = rows
    one = measure_weights(X_source, X_target, D, Z_target, **PARAMETERS)
    other = measure_weights(1e3 * X_source, 1e3 * X_target, D, 1e3 * Z_target, **PARAMETERS)
    assert_allclose([other.knee_rank, other.knee_error], [1e3 * one.knee_rank, 1e3 * one.knee_error])
    assert_allclose([other.error_weight, other.sparsity], [one.error_weight, one.sparsity])


def test_constants_by_their_formulas(rows):
    X_source, X_target, D, Z_target = rows
    weights = measure_weights(X_source, X_target, D, Z_target, **PARAMETERS)
    # six features: no code of a target row can have more than six directions, whatever the atoms
    assert weights.knee_rank == pytest.approx(5 * np.linalg.svd(Z_target)[1].sum() / 6)
    assert weights.knee_error == pytest.approx(5 * np.abs(X_target - Z_target @ D).mean())
    assert weights.error_weight == pytest.approx(5 / np.linalg.svd(np.sign(X_target) @ D.T)[1][0])
    pulls = [max(abs(np.sign(x) @ atom) for atom in D) for x in X_source]
    assert weights.sparsity == pytest.approx(0.1 * weights.error_weight * np.median(pulls))
    padded = measure_weights(np.vstack([X_source, np.zeros((99, 6))]), X_target, D, Z_target, **PARAMETERS)
    assert padded.sparsity == pytest.approx(weights.sparsity)


def test_where_there_is_nothing_to_measure(rows):
    X_source, X_target, D, Z_target = rows
    exact = measure_weights(X_source, Z_target @ D, D, Z_target, **PARAMETERS)
    assert exact.knee_error == pytest.approx(0.5 * np.abs(Z_target @ D).mean())
    zeros = measure_weights(X_source[:0], 0 * X_target, D, 0 * Z_target, **PARAMETERS)
    assert (zeros.knee_rank, zeros.knee_error, zeros.error_weight, zeros.sparsity) == (np.inf, np.inf, 5, 0)
