"""L-BFGS for many problems at once: known minima, SciPy's answers, and that company changes nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, rosen, rosen_der

from selftaught._lbfgs import minimise_many


def bowls(rng, F=3, N=12):
    """Convex quadratics, of condition 100, and their minima."""
    roots = rng.normal(size=(F, N, N))
    A = np.einsum("fij,fkj->fik", roots, roots) + np.eye(N)
    b = rng.normal(size=(F, N))

    def ask(points, which):
        pulled = np.einsum("fij,fj->fi", A[which], points)
        return 0.5 * (points * pulled).sum(axis=1) - (b[which] * points).sum(axis=1), pulled - b[which]

    return ask, np.linalg.solve(A, b[:, :, None])[:, :, 0]


def valleys(points, which):
    """Rosenbrock's function of each point."""
    return np.array([rosen(x) for x in points]), np.array([rosen_der(x) for x in points])


def test_quadratics_are_minimised(rng):
    ask, minima = bowls(rng)
    found = minimise_many(ask, np.zeros_like(minima), max_iter=300, history=10, gtol=1e-6)
    assert_allclose(found.points, minima, atol=1e-5)
    assert found.converged.all() and (found.steepness <= 1e-6).all()


def test_a_curved_valley_is_followed_to_scipys_minimum():
    start = np.array([[-1.2, 1.0, 0.8], [0.0, 2.0, -1.0]])
    found = minimise_many(valleys, start, max_iter=500, history=10, gtol=1e-8)
    for x, end in zip(start, found.points, strict=True):
        assert_allclose(end, minimize(rosen, x, jac=rosen_der, method="BFGS").x, atol=1e-4)


def test_a_search_goes_its_own_way_whoever_else_is_searching(rng):
    ask, minima = bowls(rng)
    together = minimise_many(ask, np.zeros_like(minima), max_iter=9, history=4)
    for i in range(len(minima)):
        alone = minimise_many(lambda x, _, i=i: ask(x, np.array([i])), np.zeros((1, 12)), max_iter=9, history=4)
        assert_allclose(together.points[i], alone.points[0], rtol=1e-7, atol=1e-10)


def test_no_step_is_uphill(rng):
    ask, _ = bowls(rng, F=1)
    values = [minimise_many(ask, np.zeros((1, 12)), max_iter=n, history=5).values[0] for n in range(1, 15)]
    assert (np.diff(values) <= 1e-12).all()


def test_the_number_of_steps_and_their_ends(rng):
    ask, minima = bowls(rng)
    short = minimise_many(ask, np.zeros_like(minima), max_iter=3, history=5)
    assert_array_equal(short.n_iter, 3)
    assert not short.converged.any()
    flat = minimise_many(ask, minima, max_iter=50, history=5, gtol=1e-6)
    assert_array_equal(flat.n_iter, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_precision_is_that_of_the_start(rng, dtype):
    ask, minima = bowls(rng)

    def rounded(points, which):
        values, gradients = ask(points.astype(np.float64), which)
        return values, gradients.astype(dtype)

    found = minimise_many(rounded, np.zeros(minima.shape, dtype), max_iter=200, history=10, gtol=1e-3)
    assert found.points.dtype == dtype
    assert_allclose(found.points, minima, atol=1e-2)
