"""The softmax as an estimator; its mathematics is tested with `selftaught.softmax`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from selftaught import SoftmaxClassifier
from selftaught.classifiers.softmax import encode_classes


@pytest.fixture
def rows(rng):
    y = np.repeat(["b", "a", "c"], 12)
    return rng.normal(size=(36, 4)) + 1.5 * np.eye(4)[np.unique(y, return_inverse=True)[1]], y


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_it_is_logistic_regression(rows, rng, fit_intercept):
    # the same objective: l2 stands for C = 1 / (l2 * sum of weights)
    X, y = rows
    weights = rng.uniform(0.1, 2, size=36)
    ours = SoftmaxClassifier(l2=0.05, fit_intercept=fit_intercept, tol=1e-10).fit(X, y, sample_weight=weights)
    theirs = LogisticRegression(C=1 / (0.05 * weights.sum()), fit_intercept=fit_intercept, tol=1e-10, max_iter=1000)
    theirs.fit(X, y, sample_weight=weights)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_no_intercept_means_zeros(rows):
    assert_array_equal(SoftmaxClassifier().fit(*rows).intercept_, np.zeros(3))


def test_decision_probabilities_and_prediction_agree(rows):
    X, y = rows
    fitted = SoftmaxClassifier().fit(X, y)
    scores, p = fitted.decision_function(X), fitted.predict_proba(X)
    assert scores.shape == p.shape == (36, 3)
    assert_allclose(p, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
    assert_array_equal(fitted.predict(X), fitted.classes_[p.argmax(axis=1)])


def test_for_two_classes_the_decision_is_the_lead_of_the_second(rows):
    X, y = rows[0][:24], rows[1][:24]
    fitted = SoftmaxClassifier().fit(X, y)
    lead, p = fitted.decision_function(X), fitted.predict_proba(X)
    assert lead.shape == (24,)
    assert_allclose(lead, np.log(p[:, 1] / p[:, 0]), atol=1e-9)
    assert_array_equal(fitted.predict(X) == "b", lead > 0)


def test_rows_of_weight_zero_are_as_if_they_were_not_there(rows):
    X, y = rows
    weights = np.tile([1.0, 0.0], 18)
    weighted, fewer = SoftmaxClassifier().fit(X, y, sample_weight=weights), SoftmaxClassifier().fit(X[::2], y[::2])
    assert_allclose(weighted.coef_, fewer.coef_, rtol=1e-6)


def test_soft_labels_are_learned_from(rows):
    X, y = rows
    fitted = SoftmaxClassifier()
    fitted.classes_, codes = encode_classes(y)
    fitted.n_features_in_ = 4
    hard, flat = np.eye(3)[codes], np.full((36, 3), 1 / 3)
    assert_allclose(fitted.fit_labels(X, hard, np.ones(36)).coef_, SoftmaxClassifier().fit(X, y).coef_)
    assert_allclose(fitted.fit_labels(X, flat, np.ones(36)).coef_, 0, atol=1e-8)


def test_iterations_are_counted_and_limited(rows):
    assert SoftmaxClassifier(max_iter=2, tol=0).fit(*rows).n_iter_ == 2
    assert SoftmaxClassifier(tol=1e-8).fit(*rows).n_iter_ > SoftmaxClassifier(tol=1e-1).fit(*rows).n_iter_


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(l2=-1), r"l2 must be a number of at least 0, got -1\."),
        (dict(max_iter=0), r"max_iter must be a whole number of at least 1, got 0\."),
        (dict(max_iter=1.5), r"max_iter must be a whole number of at least 1, got 1\.5\."),
        (dict(tol=-1e-3), r"tol must be a number of at least 0, got -0\.001\."),
        (dict(fit_intercept="yes"), r"fit_intercept must be True or False, got 'yes'\."),
    ],
)
def test_wrong_parameters(rows, changes, message):
    with pytest.raises(ValueError, match=message):
        SoftmaxClassifier(**changes).fit(*rows)


@pytest.mark.parametrize("weights", [np.ones(35), np.ones((36, 1)), 1.0])
def test_weights_of_another_shape_are_refused(rows, weights):
    with pytest.raises(ValueError, match="sample_weight must hold one weight for each of the 36 rows"):
        SoftmaxClassifier().fit(*rows, sample_weight=weights)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_that_are_no_weights_are_refused(rows, bad):
    weights = np.ones(36)
    weights[3] = bad
    with pytest.raises(ValueError, match="sample_weight must be finite, never negative"):
        SoftmaxClassifier().fit(*rows, sample_weight=weights)


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_it_needs_a_fit(rows, method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(SoftmaxClassifier(), method)(rows[0])


def test_predict_needs_a_fit(rows):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        SoftmaxClassifier().predict(rows[0])


def test_one_class_is_refused():
    with pytest.raises(ValueError, match=r"y must hold at least two classes, got 1 class: .*a.*\. A classifier needs"):
        encode_classes(np.array(["a", "a"]))


def test_numbers_that_are_no_classes_are_refused():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        encode_classes(np.array([0.5, 1.25, 3.7]))
