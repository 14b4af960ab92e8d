"""The controls inside a classifier: each is the experiment that its name promises, done by hand beside it."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from small_problems import fit_on, quick, small_problem

from selftaught import (
    AllSelector,
    GASTLClassifier,
    GASTLSelector,
    NeighborSelector,
    RandomSelector,
    SelfTaughtClassifier,
    SoftmaxClassifier,
    SourcePool,
)
from selftaught.softmax import fit_softmax, softmax_objective_and_gradient, softmax_scores

L2 = 1e-2


@pytest.fixture(scope="module")
def problem():
    return small_problem()


def classifier(selector, **changes):
    """No guard and no choice of size: the control alone."""
    return SelfTaughtClassifier(selector, **{"guard": "off", "estimator": SoftmaxClassifier(l2=L2), **changes})


@pytest.fixture
def trained_on(monkeypatch):
    """Rows, labels and weights of the last softmax that was trained."""
    seen = {}
    fit_labels = SoftmaxClassifier.fit_labels

    def recording(self, X, labels, sample_weight):
        seen.update(X=X, labels=labels, weights=sample_weight)
        return fit_labels(self, X, labels, sample_weight)

    monkeypatch.setattr(SoftmaxClassifier, "fit_labels", recording)
    return seen


# Target only


@pytest.mark.parametrize("selector", [AllSelector(), RandomSelector(random_state=0), NeighborSelector()])
def test_no_rows_is_target_only_whoever_does_not_select_them(problem, selector):
    # the source would take part in the scaling; in the coordinates that the rows have there is one classifier for all
    options = dict(rows="scaled", scale=False)
    alone = classifier(None, **options).fit(problem.X, problem.y)
    by_hand = fit_softmax(problem.X, np.eye(3)[problem.y], l2=L2)
    with_none = fit_on(classifier(selector, n_select=0, **options), problem)
    assert_array_equal(with_none.predict_proba(problem.X_test), alone.predict_proba(problem.X_test))
    assert_array_equal(alone.predict(problem.X_test), softmax_scores(problem.X_test, by_hand).argmax(axis=1))


# Random rows


def accuracy_by_hand(problem, rows):
    """Nearest class mean labels these source rows; logistic regression learns from both, around the common mean."""
    both = np.concatenate([problem.X_source, problem.X])
    low, high = both.min(axis=0), both.max(axis=0)

    def scaled(X):
        return 0.1 + 0.8 * (np.clip(X, low, high) - low) / (high - low)

    def unit(X):
        around = scaled(X) - scaled(both).mean(axis=0)
        return around / np.linalg.norm(around, axis=1, keepdims=True)

    means = np.stack([scaled(problem.X)[problem.y == c].mean(axis=0) for c in range(3)])
    chosen = problem.X_source[rows]
    labels = ((scaled(chosen)[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    X, y = np.concatenate([unit(problem.X), unit(chosen)]), np.concatenate([problem.y, labels])
    model = LogisticRegression(C=1 / (len(X) * L2), fit_intercept=False, tol=1e-6, max_iter=1000).fit(X, y)
    return model.score(unit(problem.X_test), problem.y_test)


def test_the_mean_gain_of_random_rows_is_that_of_a_direct_simulation():
    problem = small_problem(separation=4.0, n_per_class=2, n_source=200, share_relevant=0.5, n_test_per_class=60)

    def gain(selector):
        clf = fit_on(classifier(selector, labels="hard", n_select=40), problem)
        return clf.score(problem.X_test, problem.y_test) - target_only

    target_only = accuracy_by_hand(problem, [])
    drawn = np.random.default_rng(1)
    ours = [gain(RandomSelector(random_state=seed)) for seed in range(50)]
    simulated = [accuracy_by_hand(problem, drawn.choice(200, 40, replace=False)) - target_only for _ in range(50)]
    tolerance = 3.5 * np.sqrt((np.var(ours) + np.var(simulated)) / 50)
    assert abs(np.mean(ours) - np.mean(simulated)) < tolerance
    # and the comparison could fail: rows that are not drawn at random gain visibly more
    assert gain(NeighborSelector(center=True)) - np.mean(simulated) > 2 * tolerance


def test_a_profile_keeps_the_amount_and_gives_up_the_choice(problem, trained_on):
    chosen = fit_on(classifier(GASTLSelector(n_hidden=6, random_state=0), n_select=1.0), problem)
    weights = trained_on["weights"].copy()
    shuffled = RandomSelector(weight_profile=chosen.weights_, random_state=0)
    by_chance = fit_on(classifier(shuffled, n_select=1.0), problem)
    assert_allclose(trained_on["weights"], weights)
    assert 0 < len(chosen.selected_) == len(by_chance.selected_) < 60
    assert {*chosen.selected_} != {*by_chance.selected_}


# All rows


@pytest.mark.parametrize("n_select", [1, 7, 0.5, "auto", 1000])
def test_all_is_plain_concatenation_however_many_rows_are_asked_for(problem, n_select):
    clf = fit_on(classifier(AllSelector(), n_select=n_select), problem)
    assert_array_equal(clf.selected_, np.arange(60))
    rows = clf.frame_.apply(np.concatenate([problem.X, problem.X_source]))
    labels = np.concatenate([np.eye(3)[problem.y], clf.pseudo_labels_])
    by_hand = fit_softmax(rows, labels, np.ones(75), l2=L2)
    test_rows = clf.frame_.apply(problem.X_test)
    assert_allclose(clf.classifier_.decision_function(test_rows), softmax_scores(test_rows, by_hand), atol=1e-10)


def test_the_curve_of_all_rows_has_two_points(problem):
    for n_select in (5, "auto"):
        clf = fit_on(SelfTaughtClassifier(AllSelector(), n_select=n_select, random_state=0), problem)
        assert_array_equal(clf.transfer_.curve.sizes, [0, 60])


# Labels without information


def test_with_uniform_labels_a_row_adds_its_weight_times_its_distance_from_the_uniform(problem, trained_on, rng):
    clf = fit_on(classifier(NeighborSelector(center=True), n_select=20, labels="uniform"), problem)
    X, labels, weights = (trained_on[name] for name in ("X", "labels", "weights"))
    assert len(X) == 15 + 20 and len(np.unique(clf.weights_[clf.selected_])) == 20
    theta = rng.normal(size=(3, 20))

    def total(n):
        """Sum of weighted losses of the first n rows at theta."""
        mass = weights[:n, None] * labels[:n]
        return softmax_objective_and_gradient(theta.ravel(), X[:n], mass / mass.sum())[0] * mass.sum()

    source = clf.frame_.apply(problem.X_source[clf.selected_])
    entropies = -log_softmax(source @ theta.T, axis=1).mean(axis=1)
    for k in range(20):
        added = clf.weights_[clf.selected_[k]] * entropies[k]
        assert_allclose(total(15 + k + 1) - total(15 + k), added, rtol=1e-8)


def test_uniform_labels_leave_the_selection(problem):
    soft, uniform = (
        fit_on(quick(GASTLClassifier, n_select=10, guard="off", labels=kind), problem) for kind in ("soft", "uniform")
    )
    assert_array_equal(soft.selected_, uniform.selected_)
    assert_array_equal(uniform.pseudo_labels_, 1 / 3)


# Nothing relevant


@pytest.mark.parametrize("n_select", ["auto", 5])
def test_no_relevant_row_is_said_once(problem, n_select):
    nothing = RandomSelector(weight_profile=np.zeros(60), random_state=0)
    with pytest.warns(UserWarning) as said:
        fit_on(SelfTaughtClassifier(nothing, n_select=n_select, random_state=0), problem)
    assert [str(warning.message)[:29] for warning in said] == ["Learning from the target only"]
    fit_on(SelfTaughtClassifier(clone(nothing), n_select=0), problem)  # none asked for: no warning at all


def test_a_profile_survives_cross_validation(problem):
    selector = RandomSelector(weight_profile=np.linspace(1, 0, 60), random_state=0)
    clf = SelfTaughtClassifier(selector, n_select=10, cv=2, random_state=0)
    clf.fit(problem.X, problem.y, X_source=SourcePool(problem.X_source))
    assert_allclose(np.sort(clf.weights_), np.linspace(0, 1, 60))
    assert clf.transfer_.tested
