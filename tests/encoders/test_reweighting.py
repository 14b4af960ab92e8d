"""The reweighted step: weights by hand, and the closed form for all rows against an inverse for each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selftaught.encoders.reweighting import majorizer, row_solver, row_squares, smooth_norms


def test_one_weight_by_hand():
    # row j's own norm, not that of the last row: (3, 4) has length 5
    A = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]])
    assert_allclose(majorizer(row_squares(A[[0, 2]]), 0.0), [1 / 10, 1 / 2], rtol=1e-15)
    assert_allclose(majorizer(row_squares(A), 1e-4), [0.5 / np.sqrt(25 + 1e-4), 50.0, 0.5 / np.sqrt(1 + 1e-4)])


def test_the_parabola_touches_the_smoothed_norm_and_lies_above_it():
    now, anywhere, eps = 0.3, np.linspace(0, 3, 301), 1e-3
    weight = majorizer(now**2, eps)
    parabola = smooth_norms(now**2, eps) + weight * (anywhere**2 - now**2)
    assert (parabola - smooth_norms(anywhere**2, eps)).min() >= -1e-15
    assert_allclose(parabola[30], smooth_norms(now**2, eps), rtol=1e-15)


@pytest.mark.parametrize(("m", "k"), [(9, 4), (4, 9), (6, 6), (1, 3), (3, 1)])
def test_all_rows_at_once_equal_an_inverse_for_each(m, k, rng):
    X, D = rng.normal(size=(20, k)), rng.normal(size=(m, k))
    F, p = 10 ** rng.uniform(-1, 4, size=20), 10 ** rng.uniform(-1, 4, size=m)
    one_by_one = [f * x @ D.T @ np.linalg.inv(f * D @ D.T + np.diag(p)) for x, f in zip(X, F, strict=True)]
    solver = row_solver(D, p)
    assert solver.w.shape == (min(m, k),)
    assert_allclose(solver.codes(X, F), one_by_one, rtol=1e-10, atol=1e-10)


def test_the_step_minimises_its_parabolas(rng):
    X, D, F, p = rng.normal(size=(1, 5)), rng.normal(size=(7, 5)), np.array([2.0]), rng.uniform(0.1, 1, size=7)
    a = row_solver(D, p).codes(X, F)[0]
    gradient = 2 * F[0] * (a @ D - X[0]) @ D.T + 2 * p * a
    assert_allclose(gradient, 0, atol=1e-12)
