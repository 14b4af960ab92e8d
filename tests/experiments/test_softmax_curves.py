"""The softmax along sizes and kinds of labels: the library's own softmax, one fit at a time, says the same."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selftaught.experiments.softmax_curves import published_coefs, ridge_coefs
from selftaught.softmax import fit_softmax

SIZES = [0, 3, 9]


@pytest.fixture(params=[8, 40], ids=["more rows than features", "fewer"])
def problem(rng, request) -> Any:
    """Labelled rows with one-hot labels, ranked source rows with weights and two kinds of labels."""
    d, n_classes = request.param, 3
    y = np.repeat(np.arange(n_classes), 4)
    centres = rng.normal(size=(n_classes, d))
    target, source = centres[y] + rng.normal(size=(12, d)), rng.normal(size=(9, d))
    soft = rng.dirichlet(np.ones(n_classes), size=9)
    labels = np.stack([soft, np.eye(n_classes)[soft.argmax(axis=1)]])
    return target, np.eye(n_classes)[y], source, rng.uniform(0.2, 1, 9), labels


def alone(problem, kind, size, **options):
    """One fit by `fit_softmax`."""
    target, targets, source, weights, labels = problem
    rows, marks = np.concatenate([target, source[:size]]), np.concatenate([targets, labels[kind, :size]])
    return fit_softmax(rows, marks, np.concatenate([np.ones(len(target)), weights[:size]]), **options)


def test_with_a_penalty_each_fit_is_the_one_minimum(problem):
    target, targets, source, weights, labels = problem
    along = ridge_coefs(target, targets, source, weights, labels, SIZES, l2=1e-2, gtol=1e-9)
    for size, coefs in zip(SIZES, along, strict=True):
        for kind in (0, 1):
            assert_allclose(coefs[kind], alone(problem, kind, size, l2=1e-2, tol=1e-9).coef, atol=5e-4)


def test_without_a_penalty_no_fit_ends_higher_than_four_hundred_iterations_from_zero_by_much(problem):
    target, targets, source, weights, labels = problem

    def loss(coef, kind, size):
        rows, marks = np.concatenate([target, source[:size]]), np.concatenate([targets, labels[kind, :size]])
        scores = rows @ coef.T
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        mass = np.concatenate([np.ones(len(target)), weights[:size]]) / len(rows)
        return -(mass[:, None] * marks * logs).sum()

    along = published_coefs(target, targets, source, weights, labels, SIZES)
    for size, coefs in zip(SIZES, along, strict=True):
        for kind in (0, 1):
            best = loss(alone(problem, kind, size, l2=0.0, tol=0.0).coef, kind, size)
            assert loss(coefs[kind], kind, size) <= best + 2e-3


def test_without_source_rows_labels_do_not_matter(problem):
    target, targets, source, weights, labels = problem
    (coefs,) = ridge_coefs(target, targets, source, weights, labels, [0])
    assert_allclose(coefs[0], coefs[1])
