"""Codes of single rows against SciPy's linear programs, and rows that are hard for an interior point."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from selftaught.encoders import row_programs
from selftaught.encoders.row_programs import n_flops, solve_rows

SHAPES = [(12, 5), (5, 12), (8, 8), (1, 6), (6, 1)]  # atoms, features


def draw(rng, m, d, n=10):
    D = rng.standard_normal((m, d))
    return rng.standard_normal((n, d)), D / np.linalg.norm(D, axis=1, keepdims=True)


def value(X, D, C, Z, weight, sparsity):
    E = X - Z @ D
    return sparsity * np.abs(Z).sum(axis=1) + weight * (np.abs(E) - C * E).sum(axis=1)


def by_linprog(X, D, C, weight, sparsity):
    """z = u1 - u2, e = u3 - u4, all at least zero."""
    m, d = D.shape
    equations = np.hstack([D.T, -D.T, np.eye(d), -np.eye(d)])
    costs = [np.r_[np.full(2 * m, sparsity), weight * (1 - c), weight * (1 + c)] for c in C]
    return np.array([linprog(cost, A_eq=equations, b_eq=x).fun for cost, x in zip(costs, X, strict=True)])


@pytest.mark.parametrize("hardness", [0.0, 0.5, 5.0])  # of the tangent: none, inside, mostly at its bounds
@pytest.mark.parametrize(("m", "d"), SHAPES)
def test_values_are_those_of_a_linear_program(m, d, hardness, rng):
    X, D = draw(rng, m, d)
    C = np.clip(hardness * rng.standard_normal(X.shape), -1, 1)
    unit = np.abs(X).sum(axis=1, keepdims=True)
    for weight, sparsity in ((1.0, 0.1), (0.2, 0.3), (3.0, 1.0), (1.0, 1e-6)):
        Z, gap = solve_rows(X, D, C, weight=weight, sparsity=sparsity, tol=1e-8, reference=weight * unit)
        assert (gap <= 1e-8 * weight * unit).all()
        found, best = value(X, D, C, Z, weight, sparsity), by_linprog(X, D, C, weight, sparsity)
        assert_allclose(found, best, atol=1e-7 * weight * unit.max())


def test_the_gap_bounds_the_distance_at_every_tolerance(rng):
    X, D = draw(rng, 12, 6)
    C = np.clip(rng.standard_normal(X.shape), -1, 1)
    best = by_linprog(X, D, C, 1.0, 0.2)
    for tol in (0.5, 1e-1, 1e-2, 1e-4):
        Z, gap = solve_rows(X, D, C, weight=1.0, sparsity=0.2, tol=tol)
        found = value(X, D, C, Z, 1.0, 0.2)
        assert (found - best <= gap[:, 0] + 1e-9).all() and (gap[:, 0] <= tol * found).all()


def test_a_code_is_zero_above_its_critical_sparsity_and_not_below(rng):
    X, D = draw(rng, 9, 6)
    critical = np.abs(np.sign(X) @ D.T).max(axis=1)
    for x, largest in zip(X, critical, strict=True):
        above, below = (
            solve_rows(x[None], D, np.zeros((1, 6)), weight=1.0, sparsity=share * largest, tol=1e-9)[0]
            for share in (1.01, 0.99)
        )
        assert np.abs(above).max() < 1e-6 < 1e-4 < np.abs(below).max()


def test_rows_that_are_zero_atoms_or_copies(rng):
    X, D = draw(rng, 9, 6)
    X = np.vstack([X[:3], X[:3], np.zeros((2, 6)), D[:2], 1e-9 * X[:1], 1e9 * X[:1]])
    D = np.vstack([D, D[:3], np.zeros((1, 6))])
    with np.errstate(all="raise", under="ignore"):
        Z, gap = solve_rows(X, D, np.zeros_like(X), weight=1.0, sparsity=0.1, tol=1e-8)
    values = value(X, D, 0, Z, 1.0, 0.1)
    assert (gap[:, 0] <= 1e-8 * values).all() and not Z[6:8].any()
    assert_allclose(values[:3], values[3:6])
    assert_allclose(values[8:10], 0.1, rtol=1e-7)  # one atom, taken once
    assert_allclose(values[-2:] / values[0], [1e-9, 1e9], rtol=1e-6)


def test_blocks_change_nothing(rng, monkeypatch):
    X, D = draw(rng, 9, 6)
    whole, _ = solve_rows(X, D, np.zeros_like(X), weight=1.0, sparsity=0.1, tol=1e-9)
    monkeypatch.setattr(row_programs, "BLOCK_NUMBERS", 3 * D.size)
    assert_allclose(solve_rows(X, D, np.zeros_like(X), weight=1.0, sparsity=0.1, tol=1e-9)[0], whole, atol=1e-12)


def test_an_impossible_tolerance_ends_with_a_good_answer(rng):
    X, D = draw(rng, 20, 10)
    Z, gap = solve_rows(X, D, np.zeros_like(X), weight=1.0, sparsity=0.1, tol=1e-30)
    assert np.isfinite(Z).all() and (gap[:, 0] <= 1e-9 * value(X, D, 0, Z, 1.0, 0.1)).all()


def test_the_cost_grows_with_atoms_and_the_square_of_features():
    assert n_flops(200, 50) < 2 * n_flops(100, 50) and n_flops(100, 100) > 4 * n_flops(100, 50)
