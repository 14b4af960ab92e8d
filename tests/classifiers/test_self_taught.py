"""The transfer curve measured honestly, the guard, and the classifier trained in the end."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from small_problems import FoldingEncoder, fit_on, misled, small_problem

from selftaught import (
    AllSelector,
    NeighborSelector,
    RandomSelector,
    SelfTaughtClassifier,
    SoftmaxClassifier,
    SourcePool,
    TransferRefused,
)
from selftaught.classifiers import self_taught as self_taught_module
from selftaught.labeling import weighted_copies
from selftaught.selectors import SourceSelector


@pytest.fixture(scope="module")
def problem():
    return small_problem()


@pytest.fixture(scope="module")
def harmful():
    """The source holds nothing but rows of the target's classes, to which `misled` gives wrong labels."""
    return small_problem(share_relevant=1.0)


@pytest.fixture(scope="module")
def helpful():
    """Classes that the few labelled rows hardly tell apart, and a source full of them."""
    return small_problem(separation=3.0, n_per_class=3, n_source=150, share_relevant=0.9)


def target_only(problem, **changes):
    """The classifier in the same coordinates, source included, that learns from no source row."""
    return fit_on(SelfTaughtClassifier(AllSelector(), **{"n_select": 0, "random_state": 0, **changes}), problem)


def frame_by_hand(X, X_source):
    """Rows scaled to [0.1, 0.9] over source and target, around their mean, of length one: a function of rows."""
    both = np.concatenate([X_source, X])
    low, high = both.min(axis=0), both.max(axis=0)

    def scaled(rows):
        return 0.1 + 0.8 * (np.clip(rows, low, high) - low) / (high - low)

    def apply(rows):
        around = scaled(rows) - scaled(both).mean(axis=0)
        return around / np.linalg.norm(around, axis=1, keepdims=True)

    return apply


# The guard


def test_a_helpful_source_is_used(helpful):
    clf = fit_on(SelfTaughtClassifier(AllSelector(), n_select=150, random_state=0), helpful)
    assert clf.transfer_.used and clf.transfer_.tested and clf.transfer_.gain > 0
    assert len(clf.selected_) == clf.transfer_.n_select == 150
    with_source, without = (c.score(helpful.X_test, helpful.y_test) for c in (clf, target_only(helpful)))
    assert with_source > without


def test_a_harmful_source_is_refused_and_the_target_alone_decides(harmful):
    clf = fit_on(misled(), harmful)
    verdict = clf.transfer_
    assert (verdict.used, verdict.tested, verdict.n_select) == (False, True, 0)
    assert verdict.gain < 0 and verdict.folds_lost > verdict.folds_won
    assert verdict.reason.startswith("Not used: with 60 source rows")
    assert clf.selected_.shape == (0,) and clf.pseudo_labels_.shape == (0, 3)
    alone = target_only(harmful)
    assert_array_equal(clf.predict_proba(harmful.X_test), alone.predict_proba(harmful.X_test))
    # and that is worth something: without the guard the same source does harm
    used = fit_on(misled(guard="off"), harmful)
    assert used.score(harmful.X_test, harmful.y_test) < clf.score(harmful.X_test, harmful.y_test) - 0.2


def test_guard_raise(harmful):
    message = r"^Not used: with 60 source rows .*Set guard='fallback' to learn from the target only\.$"
    with pytest.raises(TransferRefused, match=message):
        fit_on(misled(guard="raise"), harmful)
    assert issubclass(TransferRefused, RuntimeError)


def test_guard_warn_uses_the_source_against_the_evidence(harmful):
    with pytest.warns(UserWarning, match="^Used against the evidence: with 60 source rows"):
        clf = fit_on(misled(guard="warn"), harmful)
    assert clf.transfer_.used and clf.transfer_.tested and len(clf.selected_) == 60
    assert clf.transfer_.reason.startswith("Used against the evidence:")
    used = fit_on(misled(guard="off"), harmful)
    assert_array_equal(clf.predict_proba(harmful.X_test), used.predict_proba(harmful.X_test))


def test_guard_off_with_a_number_does_not_ask(harmful):
    verdict = fit_on(misled(guard="off"), harmful).transfer_
    assert (verdict.used, verdict.tested, verdict.n_select, verdict.curve) == (True, False, 60, None)
    assert verdict.reason == "Used without asking: guard='off'." and np.isnan(verdict.gain)


def test_guard_off_still_chooses_a_size_and_uses_some_source_whatever_the_curve_says(harmful):
    clf = fit_on(misled(guard="off", n_select="auto"), harmful)
    assert clf.transfer_.used and clf.transfer_.gain < 0
    assert len(clf.selected_) == clf.transfer_.best_size == clf.transfer_.n_select > 0


@pytest.mark.parametrize("guard", ["warn", "raise", "fallback"])
def test_a_helpful_source_is_used_whatever_the_guard(helpful, guard):
    clf = fit_on(SelfTaughtClassifier(AllSelector(), n_select=150, guard=guard, random_state=0), helpful)
    assert clf.transfer_.used and len(clf.selected_) == 150


@pytest.mark.parametrize("guard", ["warn", "raise", "fallback", "off"])
@pytest.mark.parametrize("n_rows", [1, 2])
def test_a_class_too_small_for_folds_is_said_to_be_untested(problem, guard, n_rows):
    kept = np.flatnonzero((problem.y > 0) | (np.arange(15) < n_rows))
    clf = SelfTaughtClassifier(RandomSelector(), guard=guard, random_state=0)
    clf.fit(problem.X[kept], problem.y[kept], X_source=problem.X_source)
    assert (clf.transfer_.used, clf.transfer_.tested, clf.transfer_.n_select) == (True, False, 60)
    assert clf.transfer_.reason.startswith("Used untested: the smallest class has too few labelled rows")
    assert np.isnan([clf.transfer_.gain, clf.transfer_.low, clf.transfer_.high]).all()


def test_no_source_is_no_transfer(problem):
    clf = SelfTaughtClassifier(random_state=0).fit(problem.X, problem.y)
    assert clf.transfer_.reason == "Not used: no source was given." and not clf.transfer_.used
    assert clf.selected_.shape == clf.relevance_.shape == clf.ranking_.shape == (0,)
    assert clf.pseudo_labels_.shape == (0, 3)
    by_hand = frame_by_hand(problem.X, problem.X[:0])
    softmax = SoftmaxClassifier().fit(by_hand(problem.X), problem.y)
    assert_allclose(clf.predict_proba(problem.X_test), softmax.predict_proba(by_hand(problem.X_test)), atol=1e-6)


# The curve


def test_the_curve_starts_with_target_only_cross_validation(problem):
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    clf = fit_on(SelfTaughtClassifier(NeighborSelector(), cv=cv, random_state=0), problem)
    curve = clf.transfer_.curve
    assert_array_equal(curve.sizes, [0, 10, 20, 50, np.count_nonzero(clf.relevance_)])
    by_hand = []
    for train, test in cv.split(problem.X, problem.y):
        frame = frame_by_hand(problem.X[train], problem.X_source)
        softmax = SoftmaxClassifier().fit(frame(problem.X[train]), problem.y[train])
        by_hand.append(softmax.score(frame(problem.X[test]), problem.y[test]))
    assert_allclose(curve.scores[:, 0], by_hand)
    assert curve.test_fraction == pytest.approx(5 / 10)


def test_every_point_of_the_curve_is_a_fit_on_that_fold_alone(helpful):
    # the folds share work inside; what they score must be what separate classifiers score
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    curve = fit_on(SelfTaughtClassifier(NeighborSelector(), cv=cv, random_state=0), helpful).transfer_.curve
    for (train, test), scores in zip(cv.split(helpful.X, helpful.y), curve.scores, strict=True):
        for size, score in zip(curve.sizes, scores, strict=True):
            alone = SelfTaughtClassifier(NeighborSelector(), n_select=int(size), guard="off", random_state=0)
            alone.fit(helpful.X[train], helpful.y[train], X_source=SourcePool(helpful.X_source))
            assert alone.score(helpful.X[test], helpful.y[test]) == pytest.approx(score)


class SpySelector(SourceSelector):
    """Writes down which target rows it was shown, and which rows it encoded."""

    shown, encoded = [], []

    def fit(self, X, y=None, *, X_source=None):
        SpySelector.shown.append(X)
        source, _ = self._read(X, X_source, scale=True)
        return self._keep(np.ones(len(source)))

    def encode(self, X):
        SpySelector.encoded.append(X)
        return super().encode(X)


def test_held_out_rows_shape_nothing_in_their_fold(problem, monkeypatch):
    frames = []

    def spy_frame(scaling, pool, X, *, unit):
        frames.append((X, scaling.low))
        return original(scaling, pool, X, unit=unit)

    original = self_taught_module.fit_frame
    monkeypatch.setattr(self_taught_module, "fit_frame", spy_frame)
    monkeypatch.setattr(SpySelector, "shown", [])
    monkeypatch.setattr(SpySelector, "encoded", [])
    cv = StratifiedKFold(3)
    fit_on(SelfTaughtClassifier(SpySelector(), cv=cv, random_state=0), problem)
    parts = [np.arange(15), *(train for train, _ in cv.split(problem.X, problem.y))]
    assert len(SpySelector.shown) == len(frames) == 4
    for part, shown, (framed, low) in zip(parts, SpySelector.shown, frames, strict=True):
        assert_array_equal(shown, problem.X[part])
        assert_array_equal(framed, problem.X[part])
        assert_array_equal(low, np.concatenate([problem.X[part], problem.X_source]).min(axis=0))
    encoded_targets = [rows for rows in SpySelector.encoded if len(rows) < 60]
    for part, rows in zip(parts, encoded_targets, strict=True):
        assert_array_equal(rows, problem.X[part])


# An encoder in place of a selector


@pytest.fixture(scope="module")
def folded():
    """Opposite rows are of one class, so that only codes which fold them onto each other tell the classes apart."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2

    def rows(y):
        directions = np.array([[1.0, 0.0], [0.0, 1.0]])[y] * rng.choice([-1, 1], size=len(y))[:, None]
        return directions + 0.1 * rng.normal(size=(len(y), 2))

    y_test = np.arange(60) % 2
    return SimpleNamespace(X=rows(y), y=y, X_source=rows(np.arange(200) % 2), X_test=rows(y_test), y_test=y_test)


def test_codes_that_help_are_used_and_no_source_row_is_learned_from(folded):
    clf = fit_on(SelfTaughtClassifier(FoldingEncoder(), random_state=0), folded)
    assert clf.transfer_.used and clf.transfer_.tested and clf.transfer_.n_select == 200
    assert_array_equal(clf.transfer_.curve.sizes, [0, 200])
    assert len(clf.selected_) == 0 and clf.pseudo_labels_.shape == (0, 2)
    assert not hasattr(clf, "relevance_") and not hasattr(clf, "score_source")
    without = SelfTaughtClassifier(FoldingEncoder(), n_select=0).fit(folded.X, folded.y, X_source=folded.X_source)
    assert clf.score(folded.X_test, folded.y_test) > without.score(folded.X_test, folded.y_test) + 0.2


def test_the_classifier_sees_codes_standardised_by_the_target(folded):
    clf = fit_on(SelfTaughtClassifier(FoldingEncoder(), guard="off"), folded)
    codes, new = clf.selector_.transform(folded.X), clf.selector_.transform(folded.X_test)
    standardised = (new - codes.mean(axis=0)) / codes.std(axis=0)
    by_hand = SoftmaxClassifier().fit((codes - codes.mean(axis=0)) / codes.std(axis=0), folded.y)
    assert_allclose(clf.predict_proba(folded.X_test), by_hand.predict_proba(standardised), atol=1e-9)
    assert clf.transfer_.used and not clf.transfer_.tested


class ConstantEncoder(FoldingEncoder):
    """Codes that say nothing."""

    def _encode(self, rows):
        return np.ones_like(rows)


def test_codes_that_hurt_are_refused_and_the_classifier_is_the_target_s_own(problem):
    clf = fit_on(SelfTaughtClassifier(ConstantEncoder(), random_state=0), problem)
    assert not clf.transfer_.used and clf.transfer_.gain < 0
    alone = target_only(problem)
    assert_allclose(clf.predict_proba(problem.X_test), alone.predict_proba(problem.X_test), atol=1e-9)


def test_folds_of_an_encoder_compare_codes_with_rows_as_they_are(folded):
    cv = StratifiedKFold(3)
    clf = fit_on(SelfTaughtClassifier(FoldingEncoder(), cv=cv, random_state=0), folded)
    for scores, (train, test) in zip(clf.transfer_.curve.scores, cv.split(folded.X, folded.y), strict=True):
        for score, options in zip(scores, (dict(n_select=0), dict(guard="off")), strict=True):
            fold = SelfTaughtClassifier(FoldingEncoder(), **options)
            fold.fit(folded.X[train], folded.y[train], X_source=SourcePool(folded.X_source))
            assert score == fold.score(folded.X[test], folded.y[test])


def test_codes_that_no_fold_can_test_are_not_used(folded):
    two = np.array([0, 1, 2, 3])  # two rows of each class
    clf = SelfTaughtClassifier(FoldingEncoder()).fit(folded.X[two], folded.y[two], X_source=folded.X_source)
    assert not clf.transfer_.used and not clf.transfer_.tested and clf.transfer_.n_select == 0
    assert clf.transfer_.reason.startswith("Not used, untested: the smallest class has too few labelled rows")
    alone = SelfTaughtClassifier(FoldingEncoder(), n_select=0)
    alone.fit(folded.X[two], folded.y[two], X_source=folded.X_source)
    assert_allclose(clf.predict_proba(folded.X_test), alone.predict_proba(folded.X_test))


def test_labels_reach_an_encoder_as_codes(problem):
    seen = []

    class Reads(FoldingEncoder):
        def fit(self, X, y=None, *, X_source=None):
            seen.append(y)
            return super().fit(X, y, X_source=X_source)

    names = np.array(["pear", "apple", "fig"])[problem.y]
    SelfTaughtClassifier(Reads(), guard="off").fit(problem.X, names, X_source=problem.X_source)
    assert_array_equal(seen[0], np.unique(names, return_inverse=True)[1])


def test_an_encoder_without_a_source_is_a_target_only_fit(problem):
    clf = SelfTaughtClassifier(FoldingEncoder()).fit(problem.X, problem.y)
    assert not clf.transfer_.used and clf.transfer_.reason == "Not used: no source was given."
    alone = SelfTaughtClassifier().fit(problem.X, problem.y)
    assert_allclose(clf.predict_proba(problem.X_test), alone.predict_proba(problem.X_test))


def test_who_cannot_score_new_source_rows_is_named(folded):
    clf = fit_on(SelfTaughtClassifier(FoldingEncoder(), guard="off"), folded)
    with pytest.raises(AttributeError) as error:
        clf.score_source(folded.X_source)
    assert "FoldingEncoder does not score source rows that it was not fitted on." in str(error.value.__cause__)


def test_a_number_of_folds_and_a_splitter_of_ones_own(problem):
    assert fit_on(SelfTaughtClassifier(AllSelector(), cv=2, random_state=0), problem).transfer_.n_folds == 4
    assert fit_on(SelfTaughtClassifier(AllSelector(), cv=KFold(15), random_state=0), problem).transfer_.n_folds == 15


def test_a_splitter_that_gives_no_usable_fold_leaves_the_verdict_untested(problem):
    # rows are sorted by class: without shuffling, each of three folds lacks a class in training
    clf = fit_on(SelfTaughtClassifier(AllSelector(), cv=KFold(3), random_state=0), problem)
    assert not clf.transfer_.tested and clf.transfer_.used


# How many rows


@pytest.mark.parametrize(
    ("asked", "got"), [(7, 7), (60, 60), (500, 60), (0.5, 30), (1.0, 60), (0.1, 6), (np.int64(7), 7)]
)
def test_n_select_as_a_number_and_as_a_fraction(problem, asked, got):
    clf = fit_on(SelfTaughtClassifier(RandomSelector(), n_select=asked, guard="off", random_state=0), problem)
    assert_array_equal(clf.selected_, clf.ranking_[:got])
    assert clf.pseudo_labels_.shape == (got, 3)


@pytest.mark.filterwarnings("ignore:Learning from the target only")
def test_a_fraction_may_be_of_any_float_type(problem):
    clf = fit_on(SelfTaughtClassifier(RandomSelector(), n_select=np.float32(0.5), guard="off", random_state=0), problem)
    assert len(clf.selected_) == 30


def test_none_asked_for_is_none_used_without_a_warning(problem):
    for none in (0, 0.0):
        clf = target_only(problem, n_select=none)
        assert clf.transfer_.reason == "Not used: no source row is relevant, or n_select is 0."
        assert clf.relevance_.shape == (60,)  # still told, though not used


def test_rows_selected_are_the_first_of_the_ranking(problem):
    clf = fit_on(SelfTaughtClassifier(NeighborSelector(), n_select=9, guard="off"), problem)
    assert_array_equal(clf.selected_, clf.ranking_[:9])


# The classifier in the end


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps what it was trained on."""

    def fit(self, X, y, sample_weight=None):
        self.seen_, self.classes_ = (X, y, sample_weight), np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_soft_labels_become_weighted_copies_for_other_classifiers(problem):
    clf = fit_on(SelfTaughtClassifier(NeighborSelector(), estimator=Recorder(), n_select=9, guard="off"), problem)
    X, y, weight = clf.classifier_.seen_
    frame = frame_by_hand(problem.X, problem.X_source)
    rows = frame(np.concatenate([problem.X, problem.X_source[clf.selected_]]))
    labels = np.concatenate([np.eye(3)[problem.y], clf.pseudo_labels_])
    weights = np.concatenate([np.ones(15), clf.weights_[clf.selected_]])
    for got, expected in zip((X, y, weight), weighted_copies(rows, labels, weights), strict=True):
        assert_allclose(got, expected, atol=1e-12)
    assert weight.sum() == pytest.approx(weights.sum())
    assert len(X) > 15 + 9  # soft labels, so more copies than rows
    assert_array_equal(y[:15], problem.y)


def test_the_softmax_and_logistic_regression_agree_on_soft_labels(problem):
    # cross-entropy is linear in the labels: copies teach what soft labels teach
    options = dict(n_select=9, guard="off", random_state=0)
    ours = fit_on(SelfTaughtClassifier(NeighborSelector(), estimator=SoftmaxClassifier(tol=1e-9), **options), problem)
    total = 15 + ours.weights_[ours.selected_].sum()
    theirs = LogisticRegression(C=1 / (1e-2 * total), fit_intercept=False, tol=1e-9, max_iter=1000)
    theirs = fit_on(SelfTaughtClassifier(NeighborSelector(), estimator=theirs, **options), problem)
    assert_allclose(theirs.predict_proba(problem.X_test), ours.predict_proba(problem.X_test), atol=1e-4)


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), RandomForestClassifier(5, random_state=0), SoftmaxClassifier(l2=0.1)], ids=repr
)
def test_classifiers_with_weights_go_through_the_curve_too(problem, estimator):
    y = np.array(["pear", "apple", "fig"])[problem.y]
    clf = SelfTaughtClassifier(NeighborSelector(), estimator=estimator, cv=2, random_state=0)
    clf.fit(problem.X, y, X_source=problem.X_source)
    assert clf.transfer_.tested and clf.transfer_.n_folds == 4
    assert_allclose(clf.predict_proba(problem.X_test).sum(axis=1), 1, rtol=1e-6)
    assert {*clf.predict(problem.X_test)} <= {"apple", "fig", "pear"}
    assert not hasattr(estimator, "classes_")  # the user's own stays unfitted
    truth = np.array(["pear", "apple", "fig"])[problem.y_test]
    assert clf.score(problem.X_test, truth) > np.mean(truth == "pear")


def test_every_weight_and_label_counts(problem):
    options = dict(n_select=20, guard="off", random_state=0)
    soft, hard, uniform = (
        fit_on(SelfTaughtClassifier(NeighborSelector(), labels=labels, **options), problem)
        for labels in ("soft", "hard", "uniform")
    )
    assert_array_equal(np.unique(hard.pseudo_labels_), [0, 1])
    assert_array_equal(hard.pseudo_labels_.argmax(axis=1), soft.pseudo_labels_.argmax(axis=1))
    assert_allclose(uniform.pseudo_labels_, 1 / 3)
    assert_allclose(soft.pseudo_labels_.sum(axis=1), 1)


def test_pseudo_labels_are_better_than_chance(problem):
    clf = fit_on(SelfTaughtClassifier(NeighborSelector(), n_select=60, guard="off", random_state=0), problem)
    relevant = problem.source_is_relevant[clf.selected_]
    right = clf.pseudo_labels_[relevant].argmax(axis=1) == problem.source_classes[clf.selected_][relevant]
    assert right.mean() > 1 / 3 + 0.2


# Seeds


def test_the_seed_of_the_classifier_reaches_a_selector_without_one(problem):
    options = dict(n_select=3, guard="off")
    one, same, other = (
        fit_on(SelfTaughtClassifier(RandomSelector(), random_state=s, **options), problem).ranking_ for s in (0, 0, 1)
    )
    assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    fixed = (
        fit_on(SelfTaughtClassifier(RandomSelector(random_state=5), random_state=s, **options), problem).ranking_
        for s in (0, 1)
    )
    assert_array_equal(*fixed)  # a seed of its own stays


# Invariances


def test_renaming_the_classes_renames_the_predictions(problem):
    # the softmax and the labels treat all classes alike; the folds are made from the order of first appearance
    names = np.array(["zebra", "ant", "mole"])  # sorted differently from 0, 1, 2
    plain = fit_on(SelfTaughtClassifier(NeighborSelector(), random_state=0), problem)
    renamed = SelfTaughtClassifier(NeighborSelector(), random_state=0)
    renamed.fit(problem.X, names[problem.y], X_source=problem.X_source)
    assert_array_equal(renamed.predict(problem.X_test), names[plain.predict(problem.X_test)])
    columns = np.searchsorted(renamed.classes_, names)
    assert_allclose(
        renamed.predict_proba(problem.X_test)[:, columns], plain.predict_proba(problem.X_test), rtol=1e-4, atol=1e-6
    )
    assert_allclose(renamed.transfer_.curve.scores, plain.transfer_.curve.scores)


@pytest.mark.parametrize("what", ["source", "target", "features"])
def test_orders_that_carry_no_meaning_change_nothing(problem, rng, what):
    # relevance, class means and the loss are all sums over source rows, target rows or features
    source, target, features = np.arange(60), np.arange(15), np.arange(20)
    if what == "source":
        source = rng.permutation(60)
    elif what == "target":
        target = rng.permutation(15)
    else:
        features = rng.permutation(20)
    options = dict(n_select=20, guard="off", random_state=0)
    plain = fit_on(SelfTaughtClassifier(NeighborSelector(), **options), problem)
    other = SelfTaughtClassifier(NeighborSelector(), **options).fit(
        problem.X[target][:, features], problem.y[target], X_source=problem.X_source[source][:, features]
    )
    assert_array_equal(source[other.selected_], plain.selected_)
    assert_allclose(
        other.predict_proba(problem.X_test[:, features]), plain.predict_proba(problem.X_test), rtol=1e-4, atol=1e-6
    )


def test_permuting_the_source_changes_no_verdict(helpful, rng):
    order = rng.permutation(150)
    plain, other = (
        SelfTaughtClassifier(NeighborSelector(), random_state=0).fit(helpful.X, helpful.y, X_source=X_source)
        for X_source in (helpful.X_source, helpful.X_source[order])
    )
    assert_allclose(other.transfer_.curve.scores, plain.transfer_.curve.scores)
    assert other.transfer_.reason == plain.transfer_.reason
    assert_array_equal(order[other.selected_], plain.selected_)
