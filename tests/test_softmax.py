"""The softmax: derivatives, optimality, scikit-learn as the independent reference, and what must not matter."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from selftaught.labeling import weighted_copies
from selftaught.softmax import (
    SoftmaxFit,
    fit_softmax,
    fit_softmax_path,
    softmax_objective_and_gradient,
    softmax_probabilities,
    softmax_scores,
)

# By strong convexity |error| <= |gradient| / l2. Rows are at most 3.5 long here, and rounding may stop a fit at twice
# the gradient asked for: so a solution is within 7e-6 of the exact one, and two are within SAME of each other.
TIGHT: dict[str, Any] = {"l2": 1e-2, "tol": 1e-8}
SAME = 1.4e-5

TALL, WIDE = (60, 7), (20, 45)  # more rows than features, and fewer: there the fit happens in the span of the rows


def make_problem(rng, n, d, n_classes=4, softness=1.0):
    """Rows with a large common mean and a spectrum that falls off, soft labels, weights."""
    X = 0.5 + rng.normal(size=(n, d)) * 0.3 * np.geomspace(1, 0.05, d)
    return X, rng.dirichlet(np.full(n_classes, softness), size=n), rng.uniform(0.1, 1, size=n)


@pytest.fixture(params=[TALL, WIDE], ids=["tall", "wide"])
def problem(request, rng):
    return make_problem(rng, *request.param)


def gradient_at(fit, X, labels, weights, l2, fit_intercept=False):
    """Gradient of the objective at a fit, in the coordinates of X, shape (n_classes, d) or (n_classes, d + 1)."""
    theta, penalty = fit.coef, np.full(X.shape[1], l2)
    if fit_intercept:
        X, theta = np.column_stack([X, np.ones(len(X))]), np.column_stack([theta, fit.intercept])
        penalty = np.append(penalty, 0.0)
    mass = (weights / weights.sum())[:, None] * labels
    return softmax_objective_and_gradient(theta.ravel(), X, mass, penalty)[1].reshape(theta.shape)


def assert_same_fit(found, expected, **tolerances):
    np.testing.assert_allclose(found.coef, expected.coef, **tolerances)
    np.testing.assert_allclose(found.intercept, expected.intercept, **tolerances)


# --- the objective ---------------------------------------------------------------------------------------------------


def test_objective_by_hand():
    X, mass = np.array([[1.0], [-2.0]]), np.array([[0.5, 0.25], [0.0, 0.25]])
    theta = np.array([np.log(2), 0.0])  # probabilities (2/3, 1/3) and (1/5, 4/5)
    objective, gradient = softmax_objective_and_gradient(theta, X, mass, 0.1)
    cross_entropy = 0.5 * np.log(3 / 2) + 0.25 * np.log(3) + 0.25 * np.log(5 / 4)
    assert objective == pytest.approx(cross_entropy + 0.05 * np.log(2) ** 2)
    residual = (0.75 * 2 / 3 - 0.5) * 1 + (0.25 / 5) * -2
    np.testing.assert_allclose(gradient, [residual + 0.1 * np.log(2), -residual])


@pytest.mark.parametrize("l2", [0.0, 0.3, np.array([0.0, 0.1, 2.0, 0.5, 0.0])], ids=["none", "one", "each"])
def test_gradient_agrees_with_finite_differences(rng, l2):
    X, labels, weights = make_problem(rng, 11, 5)
    mass = weights[:, None] * labels / weights.sum()
    for size in (0.0, 1.0, 5.0):
        theta = size * rng.normal(size=20)
        _, gradient = softmax_objective_and_gradient(theta, X, mass, l2)
        numerical = approx_fprime(theta, lambda t: softmax_objective_and_gradient(t, X, mass, l2)[0], 1e-7)
        np.testing.assert_allclose(gradient, numerical, atol=1e-6 * (1 + size))


def test_objective_is_finite_where_probabilities_underflow():
    X, mass = np.array([[1.0]]), np.array([[0.5, 0.5]])
    objective, gradient = softmax_objective_and_gradient(np.array([1e4, -1e4]), X, mass)
    assert objective == 1e4
    np.testing.assert_array_equal(gradient, [0.5, -0.5])


# --- the solution ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("l2", [1e-4, 1e-2])
def test_the_gradient_vanishes_at_the_solution(problem, l2, fit_intercept):
    X, labels, weights = problem
    fit = fit_softmax(X, labels, weights, l2=l2, fit_intercept=fit_intercept, tol=1e-8)
    assert fit.converged
    assert np.linalg.norm(gradient_at(fit, X, labels, weights, l2, fit_intercept)) < 1e-7
    assert fit.objective < np.log(4)  # better than no coefficients at all


def test_without_penalty_a_problem_that_has_a_minimiser_reaches_it(rng):
    X, labels, weights = make_problem(rng, *TALL)
    fit = fit_softmax(X, labels, weights, l2=0, max_iter=2000, tol=1e-7)
    assert fit.converged
    assert np.linalg.norm(gradient_at(fit, X, labels, weights, 0)) < 1e-6


def test_two_rows_by_hand():
    # One feature, labels that agree with the sign of x: by symmetry Theta = (t, -t), with t solving p - 1 + l2 t = 0.
    X, labels, l2 = np.array([[1.0], [-1.0]]), np.eye(2), 0.05
    t = fit_softmax(X, labels, l2=l2, tol=1e-8).coef[0, 0]
    assert 1 / (1 + np.exp(-2 * t)) - 1 + l2 * t == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_hard_labels_give_the_coefficients_of_scikit_learn(problem, rng, fit_intercept):
    X, _, weights = problem
    y, l2 = rng.permutation(np.arange(len(X)) % 4), 1e-3
    reference = LogisticRegression(
        C=1 / (l2 * weights.sum()), fit_intercept=fit_intercept, solver="newton-cg", tol=1e-11, max_iter=1000
    ).fit(X, y, sample_weight=weights)
    fit = fit_softmax(X, np.eye(4)[y], weights, l2=l2, fit_intercept=fit_intercept, tol=1e-8)
    np.testing.assert_allclose(fit.coef, reference.coef_, atol=1e-5)
    if fit_intercept:  # equal up to a constant, which changes no probability
        constant = fit.intercept.mean() - reference.intercept_.mean()
        np.testing.assert_allclose(fit.intercept - constant, reference.intercept_, atol=1e-5)
    np.testing.assert_allclose(softmax_probabilities(X, fit), reference.predict_proba(X), atol=1e-6)


def test_soft_labels_equal_weighted_copies(problem):
    X, labels, weights = problem
    X_copies, y_codes, copy_weights = weighted_copies(X, labels, weights)
    copies = fit_softmax(X_copies, np.eye(4)[y_codes], copy_weights, **TIGHT)
    assert_same_fit(fit_softmax(X, labels, weights, **TIGHT), copies, atol=SAME)


# --- changes of coordinates change nothing ---------------------------------------------------------------------------


def test_columns_that_are_zero_change_nothing_else(rng):
    # The tall problem is solved in all its features, beside enough zeros the same problem is solved in the rows' span.
    X, labels, weights = make_problem(rng, *TALL)
    padded = np.hstack([X, np.zeros((60, 60))])
    narrow, wide = (fit_softmax(rows, labels, weights, **TIGHT) for rows in (X, padded))
    np.testing.assert_allclose(wide.coef[:, :7], narrow.coef, atol=SAME)
    np.testing.assert_allclose(wide.coef[:, 7:], 0, atol=1e-12)


def test_without_penalty_the_span_of_the_rows_gives_the_iterates_of_the_features(rng):
    X, labels, weights = make_problem(rng, *WIDE)
    zero = SoftmaxFit(np.zeros((4, 45)), np.zeros(4), 0, False, 0.0)  # a start, even at zero, turns the span off
    options: dict[str, Any] = {"l2": 0.0, "max_iter": 12, "tol": 0.0}
    in_span, in_features = (fit_softmax(X, labels, weights, start=start, **options) for start in (None, zero))
    assert in_span.n_iter == in_features.n_iter == 12
    assert_same_fit(in_span, in_features, rtol=1e-6, atol=1e-8)


def test_rows_that_repeat_or_vanish_are_harmless(rng):
    X, labels, weights = make_problem(rng, *WIDE)
    X[1], X[2] = X[0], 0.0
    fit = fit_softmax(X, labels, weights, **TIGHT)
    assert fit.converged
    assert np.linalg.norm(gradient_at(fit, X, labels, weights, TIGHT["l2"])) < 1e-7


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_warm_start_leads_to_the_same_solution(problem, rng, fit_intercept):
    X, labels, weights = problem
    options: dict[str, Any] = {"fit_intercept": fit_intercept, **TIGHT}
    cold = fit_softmax(X, labels, weights, **options)
    anywhere = SoftmaxFit(rng.normal(size=cold.coef.shape), rng.normal(size=4), 0, False, 0.0)
    warm = fit_softmax(X, labels, weights, start=anywhere, **options)
    np.testing.assert_allclose(warm.coef, cold.coef, atol=SAME)  # wide: what no row sees is gone too
    np.testing.assert_allclose(softmax_probabilities(X, warm), softmax_probabilities(X, cold), atol=1e-6)


def test_a_warm_start_at_the_solution_is_done_at_once(problem):
    X, labels, weights = problem
    cold = fit_softmax(X, labels, weights, fit_intercept=True)
    warm = fit_softmax(X, labels, weights, fit_intercept=True, start=cold)
    assert warm.n_iter <= 2 < cold.n_iter
    assert warm.objective <= cold.objective


def test_without_penalty_a_start_outside_the_span_stays_outside(rng):
    X, labels, weights = make_problem(rng, *WIDE)
    outside = np.linalg.svd(X)[2][-1]  # no row has a component along it
    start = SoftmaxFit(np.tile(outside, (4, 1)), np.zeros(4), 0, False, 0.0)
    fit = fit_softmax(X, labels, weights, l2=0, start=start, max_iter=5)
    np.testing.assert_allclose(fit.coef @ outside, 1)


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_rows_of_weight_zero_change_not_a_digit(problem, rng, fit_intercept):
    X, labels, weights = problem
    expected = fit_softmax(X, labels, weights, fit_intercept=fit_intercept)
    places = rng.integers(len(X), size=30)
    padded = [np.insert(a, places, junk, axis=0) for a, junk in [(X, 1e6), (labels, 7.0), (weights, 0.0)]]
    found = fit_softmax(*padded, fit_intercept=fit_intercept)
    for field in fields(SoftmaxFit):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(expected, field.name))


@pytest.mark.parametrize("size", [1.0, 1e-12, 1e12])
def test_equal_weights_are_no_weights(problem, size):
    X, labels, _ = problem
    assert_same_fit(fit_softmax(X, labels, np.full(len(X), size)), fit_softmax(X, labels), rtol=1e-7, atol=1e-9)


def test_a_weight_of_two_is_the_row_twice(problem):
    X, labels, _ = problem
    twice = fit_softmax(np.vstack([X, X[:5]]), np.vstack([labels, labels[:5]]), **TIGHT)
    weighted = fit_softmax(X, labels, np.where(np.arange(len(X)) < 5, 2, 1), **TIGHT)
    assert_same_fit(weighted, twice, atol=SAME)


# --- order and names -------------------------------------------------------------------------------------------------


def test_the_order_of_rows_does_not_matter(problem, rng):
    X, labels, weights = problem
    order = rng.permutation(len(X))
    expected = fit_softmax(X, labels, weights, **TIGHT)
    assert_same_fit(fit_softmax(X[order], labels[order], weights[order], **TIGHT), expected, atol=SAME)


def test_renaming_classes_renames_the_coefficients(problem):
    X, labels, weights = problem
    order = [2, 0, 3, 1]
    expected = fit_softmax(X, labels, weights, **TIGHT)
    np.testing.assert_allclose(fit_softmax(X, labels[:, order], weights, **TIGHT).coef, expected.coef[order], atol=SAME)


def test_an_intercept_takes_up_a_shift_of_the_features(problem):
    X, labels, weights = problem
    options: dict[str, Any] = {"fit_intercept": True, **TIGHT}
    fit, shifted = (fit_softmax(rows, labels, weights, **options) for rows in (X, X + 3))
    np.testing.assert_allclose(shifted.coef, fit.coef, atol=SAME)
    np.testing.assert_allclose(softmax_scores(X + 3, shifted), softmax_scores(X, fit), atol=1e-5)


def test_every_option_changes_something(problem):
    X, labels, weights = problem
    plain = fit_softmax(X, labels, weights)
    assert not plain.intercept.any()
    start = SoftmaxFit(np.ones_like(plain.coef), np.ones(4), 0, False, 0.0)
    changed: dict[str, Any] = {
        "l2": 1e-3,
        "fit_intercept": True,
        "max_iter": 3,
        "tol": 1e-3,
        "history": 2,
        "start": start,
    }
    for name, value in changed.items():
        other = fit_softmax(X, labels, weights, **{name: value})
        assert not np.array_equal(other.coef, plain.coef), name


# --- stopping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [TALL, WIDE], ids=["tall", "wide"])
def test_separable_rows_without_penalty_run_to_the_limit_and_stay_finite(rng, shape):
    X = rng.normal(size=shape)
    y = X[:, :4].argmax(axis=1)
    X[np.arange(len(X)), y] += 1  # a margin
    fits = [fit_softmax(X, np.eye(4)[y], l2=0, tol=0, max_iter=m) for m in (5, 20)]
    for fit, max_iter in zip(fits, (5, 20), strict=True):
        assert not fit.converged
        assert fit.n_iter == max_iter
        assert np.isfinite(fit.coef).all() and 0 < fit.objective < np.log(4)
        assert (softmax_probabilities(X, fit).argmax(axis=1) == y).all()
    assert np.linalg.norm(fits[1].coef) > np.linalg.norm(fits[0].coef)


def test_separable_rows_stay_finite_where_the_loss_underflows(rng):
    X = np.repeat(np.eye(4, 6), 5, axis=0) + 0.01 * rng.normal(size=(20, 6))
    fit = fit_softmax(X, np.repeat(np.eye(4), 5, axis=0), l2=0, tol=0, max_iter=400)
    assert not fit.converged
    assert np.isfinite(fit.coef).all() and 0 <= fit.objective < 1e-10


def test_a_fit_that_stops_early_says_so(problem):
    X, labels, weights = problem
    early, whole = (fit_softmax(X, labels, weights, max_iter=max_iter) for max_iter in (2, 400))
    assert (early.converged, early.n_iter) == (False, 2)
    assert whole.converged and whole.n_iter < 400
    assert early.objective > whole.objective


@pytest.mark.parametrize("size", [0.1, 1, 100])
@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-7])
def test_the_tolerance_is_what_it_says(rng, tol, size):
    X, labels, weights = make_problem(rng, *WIDE)
    X *= size
    fit = fit_softmax(X, labels, weights, tol=tol)
    length = np.sqrt(np.average((X**2).sum(axis=1), weights=weights))
    assert fit.converged
    assert np.linalg.norm(gradient_at(fit, X, labels, weights, 1e-4)) <= tol * length * (1 + 1e-6)


def test_labels_that_nothing_can_improve_need_no_iteration():
    X, labels = np.eye(3), np.full((3, 2), 0.5)
    fit = fit_softmax(X, labels)
    assert (fit.converged, fit.n_iter) == (True, 0)
    np.testing.assert_array_equal(fit.coef, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("l2", [1e-90, 1e-12, 1e4])
def test_penalties_of_any_size_leave_the_fit_finite(rng, dtype, l2):
    X, labels, weights = make_problem(rng, *WIDE)
    X[1], labels[1] = X[0], labels[0]  # leaves a direction in which nothing curves but the penalty
    fit = fit_softmax(X.astype(dtype), labels, weights, l2=l2)
    entropy = np.average(-(labels * np.log(labels)).sum(axis=1), weights=weights)
    assert np.isfinite(fit.coef).all()
    # More features than rows: without much of a penalty every label can be met. With a huge one nothing can be learnt.
    assert fit.objective == pytest.approx(np.log(4) if l2 > 1 else entropy, rel=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("l2", [1e-90, 1e-4])
def test_a_feature_that_is_zero_throughout_gets_no_coefficient(rng, dtype, l2):
    X, labels, weights = make_problem(rng, *TALL)
    X[:, 2] = 0
    fit = fit_softmax(X.astype(dtype), labels, weights, l2=l2)
    np.testing.assert_allclose(fit.coef[:, 2], 0, atol=1e-5)
    assert fit.converged and fit.objective < np.log(4)


# --- the path --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("l2", [0.0, 1e-2])
@pytest.mark.parametrize("d", [6, 30, 80], ids=["tall", "wide at first", "wide"])
def test_the_path_is_the_fits_one_by_one(rng, d, l2, fit_intercept):
    X, labels, weights = make_problem(rng, 60, d)
    weights[:15] = 1.0
    weights[[20, 55]] = 0.0
    options: dict[str, Any] = {
        "l2": l2,
        "fit_intercept": fit_intercept,
        "tol": 1e-8,
        "max_iter": 10 if l2 == 0 else 400,
    }
    sizes = [0, 3, 6, 20, 45]
    path = fit_softmax_path(X[:15], labels[:15], X[15:], labels[15:], weights[15:], sizes, **options)
    assert len(path) == len(sizes)
    for p, found in zip(sizes, path, strict=True):
        alone = fit_softmax(X[: 15 + p], labels[: 15 + p], weights[: 15 + p], **options)
        assert found.converged == alone.converged == (l2 > 0)
        assert found.objective == pytest.approx(alone.objective, rel=1e-12)
        np.testing.assert_allclose(found.coef, alone.coef, rtol=0, atol=SAME if l2 else 0)


def test_the_path_may_repeat_sizes_and_leave_the_last_rows_unread(rng):
    X, labels, weights = make_problem(rng, *TALL)
    X[50:] = np.nan
    first, again = fit_softmax_path(X[:20], labels[:20], X[20:], labels[20:], weights[20:], [30, 30], **TIGHT)
    assert first.converged and again.n_iter <= 2
    assert_same_fit(again, first, atol=SAME)


# --- prediction ------------------------------------------------------------------------------------------------------


def test_scores_and_probabilities_by_hand():
    fit = SoftmaxFit(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.0, np.log(3)]), 0, True, 0.0)
    X = np.array([[0.0, 0.0], [2000.0, -2000.0]])
    np.testing.assert_allclose(softmax_scores(X, fit), [[0, np.log(3)], [2000, np.log(3) - 2000]])
    np.testing.assert_allclose(softmax_probabilities(X, fit), [[0.25, 0.75], [1, 0]])


# --- contract --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_float32_stays_float32_and_agrees_with_float64(problem, l2, fit_intercept):
    X, labels, weights = problem
    options: dict[str, Any] = {"l2": l2, "fit_intercept": fit_intercept, "max_iter": 400 if l2 else 8}
    single, double = (fit_softmax(X.astype(dtype), labels, weights, **options) for dtype in (np.float32, np.float64))
    assert single.coef.dtype == single.intercept.dtype == softmax_scores(X.astype(np.float32), single).dtype == "f4"
    assert double.coef.dtype == double.intercept.dtype == "f8"
    assert single.converged == double.converged
    np.testing.assert_allclose(softmax_probabilities(X, single), softmax_probabilities(X, double), atol=2e-3)


def test_the_path_keeps_float32(rng):
    X, labels, weights = make_problem(rng, *TALL)
    X = X.astype(np.float32)
    fits = fit_softmax_path(X[:20], labels[:20], X[20:], labels[20:], weights[20:], [0, 10])
    assert [fit.coef.dtype for fit in fits] == [np.float32] * 2


def test_inputs_are_not_modified(problem):
    before = [a.copy() for a in problem]
    X, labels, weights = problem
    start = fit_softmax(X, labels, weights, fit_intercept=True)
    coef, intercept = start.coef.copy(), start.intercept.copy()
    fit_softmax(X, labels, weights, fit_intercept=True, l2=1e-2, start=start)
    fit_softmax_path(X[:9], labels[:9], X[9:], labels[9:], weights[9:], [0, 5])
    for now, then in zip([*problem, start.coef, start.intercept], [*before, coef, intercept], strict=True):
        np.testing.assert_array_equal(now, then)


def test_fortran_order_and_integers_are_welcome(rng):
    X, labels, weights = rng.integers(5, size=(30, 4)), rng.dirichlet(np.ones(3), size=30), rng.random(30)
    expected = fit_softmax(X.astype(float), labels, weights)
    for rows in (X, np.asfortranarray(X.astype(float)), X.tolist()):
        np.testing.assert_array_equal(fit_softmax(rows, labels, weights).coef, expected.coef)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.ones(3)}, r"labels must be \(n, n_classes\) with n = 3, the rows of X, got shape \(3,\)"),
        ({"labels": np.eye(2)}, r"with n = 3, the rows of X, got shape \(2, 2\)"),
        ({"labels": np.ones((3, 2))}, "labels must be rows of probabilities"),
        ({"labels": np.array([[2.0, -1]] * 3)}, "labels must be rows of probabilities"),
        ({"labels": np.full((3, 2), np.nan)}, "labels must be rows of probabilities"),
        ({"sample_weight": [1, 2]}, r"one weight for each of the 3 rows, got \(2,\)"),
        ({"sample_weight": [1, -1, 1]}, "sample_weight must be finite, never negative, and not zero for all rows"),
        ({"sample_weight": [1, np.inf, 1]}, "sample_weight must be finite"),
        ({"sample_weight": [0, 0, 0]}, "not zero for all rows"),
        ({"l2": -1.0}, r"l2 must be at least 0 and finite, got -1\.0"),
        ({"l2": np.nan}, "l2 must be at least 0 and finite, got nan"),
        ({"max_iter": 0}, "max_iter must be at least 1 and finite, got 0"),
        ({"tol": -1e-3}, r"tol must be at least 0 and finite, got -0\.001"),
        ({"history": 0}, "history must be at least 1 and finite, got 0"),
        (
            {"start": SoftmaxFit(np.zeros((2, 9)), np.zeros(2), 0, False, 0.0)},
            r"start must have coef of shape \(2, 4\), got \(2, 9\).*start=None",
        ),
    ],
)
def test_what_makes_no_sense_is_named(change, message):
    given: dict[str, Any] = {"labels": np.eye(3)[:, :2] + [[0, 0], [0, 0], [1, 0]], **change}
    with pytest.raises(ValueError, match=message):
        fit_softmax(np.arange(12.0).reshape(3, 4), **given)


@pytest.mark.parametrize("sizes", [[], [2, 1], [-1, 0], [0, 4]])
def test_sizes_that_make_no_sense_are_named(sizes):
    X, labels = np.eye(3), np.eye(3)
    with pytest.raises(ValueError, match=r"sizes must ascend from 0 or more to at most 3, the ranked rows, got \["):
        fit_softmax_path(X, labels, X, labels, np.ones(3), sizes)
