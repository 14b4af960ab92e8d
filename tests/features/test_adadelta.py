"""Adadelta against torch's, and rows that are visited seldom against rows whose gradient is zero."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selftaught.features.adadelta import Adadelta


def test_steps_are_those_of_torch(rng):
    torch = pytest.importorskip("torch")
    start = rng.normal(size=(4, 3))
    theirs = torch.tensor(start, requires_grad=True)
    optimizer = torch.optim.Adadelta([theirs], lr=0.7, rho=0.95, eps=1e-6)
    parameter = start.copy()
    ours = Adadelta(parameter, rate=0.7)
    for _ in range(30):
        gradient = rng.normal(size=start.shape)
        theirs.grad = torch.tensor(gradient)
        optimizer.step()
        ours.descend(gradient)
    assert_allclose(parameter, theirs.detach().numpy(), rtol=1e-10)


def test_rows_left_out_are_rows_without_a_gradient(rng):
    start = rng.normal(size=(6, 3))
    all_rows, some_rows = start.copy(), start.copy()
    full, sparse = Adadelta(all_rows), Adadelta(some_rows)
    for _ in range(40):
        rows = np.flatnonzero(rng.random(6) < 0.3)
        gradient = np.zeros((6, 3))
        gradient[rows] = rng.normal(size=(len(rows), 3))
        full.descend(gradient)
        sparse.descend(gradient[rows], rows)
    assert_allclose(some_rows, all_rows, rtol=1e-9)
    assert abs(some_rows - start).max() > 1e-4
