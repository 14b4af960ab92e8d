"""Displays: the artists carry the numbers they claim to; pixels are nobody's promise."""

import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from small_problems import fit_on, quick, small_problem

from selftaught import GASTLClassifier, RandomSelector, SelfTaughtClassifier, SourcePool
from selftaught.model_selection import TransferCurve, judge_transfer
from selftaught.plotting import (
    ACCENT,
    ObjectiveDisplay,
    RelevanceDisplay,
    SourceImagesDisplay,
    TransferCurveDisplay,
)


@pytest.fixture(scope="module")
def problem():
    return small_problem()


@pytest.fixture(scope="module")
def clf(problem):
    return fit_on(quick(GASTLClassifier), problem)


def curve(*scores):
    """A curve of sizes 0, 10 and 20 with the given rows of fold scores."""
    return TransferCurve(np.array([0, 10, 20]), np.array(scores), 0.25)


HELPS = curve([0.5, 0.7, 0.6], [0.6, 0.9, 0.7], [0.5, 0.8, 0.7])
HURTS = curve([0.7, 0.4, 0.5], [0.8, 0.5, 0.6], [0.9, 0.6, 0.6])


def test_the_transfer_curve_shows_mean_spread_level_and_choice():
    display = TransferCurveDisplay(judge_transfer(HELPS)).plot()
    assert_allclose(display.line_.get_ydata(), 100 * HELPS.scores.mean(axis=0))
    assert_allclose(display.target_only_.get_ydata(), 100 * HELPS.scores[:, 0].mean())
    assert display.target_only_.get_linestyle() == "--"
    corners = display.band_.get_paths()[0].vertices
    spread = 100 * HELPS.scores.std(axis=0)
    assert_allclose(corners[:, 1].max(), (100 * HELPS.mean + spread).max())
    assert_allclose(corners[:, 1].min(), (100 * HELPS.mean - spread).min())
    assert_allclose(display.chosen_.get_xydata(), [[1, 80]])
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["0", "10", "20"]
    assert display.ax_.get_title(loc="left").startswith("10 source rows used\n+26.7 points (")


def test_a_refused_transfer_is_marked_at_zero_rows():
    display = TransferCurveDisplay(judge_transfer(HURTS)).plot()
    assert_allclose(display.chosen_.get_xydata(), [[0, 80]])
    assert display.ax_.get_title(loc="left").startswith("Not used: 20 source rows would not help\n−23.3 points (")


def test_a_transfer_against_the_evidence_says_so():
    problem = small_problem()
    clf = fit_on(quick(GASTLClassifier), problem)
    clf.guard = "off"
    clf.transfer_ = clf._apply_guard(judge_transfer(HURTS))
    title = TransferCurveDisplay.from_estimator(clf).ax_.get_title(loc="left")
    assert title.startswith("20 source rows used against the evidence\n")


def test_the_transfer_curve_comes_from_a_classifier(clf):
    display = TransferCurveDisplay.from_estimator(clf)
    assert display.transfer is clf.transfer_
    assert display.figure_ is display.ax_.figure


def test_without_a_curve_the_error_says_why(problem):
    target_only = SelfTaughtClassifier().fit(problem.X, problem.y)
    with pytest.raises(ValueError, match=r"no source was given.*A curve needs a source"):
        TransferCurveDisplay.from_estimator(target_only)
    with pytest.raises(ValueError, match="RandomSelector has no transfer_"):
        TransferCurveDisplay.from_estimator(fit_on(RandomSelector(random_state=0), problem))


def test_the_objective_is_shown_relative_to_its_start(clf):
    display = ObjectiveDisplay.from_estimator(clf)
    path = np.array(clf.diagnostics_.objective_path)
    assert_allclose(display.line_.get_ydata(), 100 * path / path[0])
    assert_array_equal(display.line_.get_xdata(), np.arange(len(path)))


def test_a_long_path_gets_few_ticks():
    display = ObjectiveDisplay(np.linspace(2, 1, 60)).plot()
    assert len(display.ax_.get_xticks()) <= 8
    assert display.ax_.get_title(loc="left") == "Objective −50.0%"


def test_a_selector_without_an_objective_is_told_so(problem):
    with pytest.raises(ValueError, match="this RandomSelector has no objective"):
        ObjectiveDisplay.from_estimator(fit_on(RandomSelector(random_state=0), problem))


def test_sorted_relevance_falls_from_its_largest(clf):
    display = RelevanceDisplay.from_estimator(clf)
    shown = display.artists_[0].get_ydata()
    assert_allclose(shown[: np.count_nonzero(clf.relevance_)], np.sort(clf.relevance_[clf.relevance_ > 0])[::-1])
    assert display.kinds_ == []


def test_relevance_by_kind_has_a_dot_for_each_relevant_row():
    relevance = np.array([0.0, 3.0, 1.0, 2.0, 0.0, 0.5])
    kind = np.array(["cat", "dog", "dog", "dog", "ant", "cat"])
    display = RelevanceDisplay(relevance, kind, highlight="dog").plot()
    assert display.kinds_ == ["dog", "cat", "ant"]
    dots = [artist.get_offsets() for artist in display.artists_]
    assert_allclose(dots[0][:, 0], [3, 1, 2])
    assert_allclose(dots[1][:, 0], [0.5])
    assert len(dots[2]) == 0
    assert np.all(np.abs(dots[0][:, 1]) < 0.5), "a dot lies on the line of its kind"
    assert_allclose(display.artists_[0].get_facecolor()[0], to_rgba(ACCENT, 0.75))
    assert [text.get_text() for text in display.ax_.texts] == ["3 of 3", "1 of 2", "0 of 1"]
    assert display.ax_.get_title(loc="left") == "4 of 6 rows are relevant"


def test_kinds_must_be_one_for_each_row():
    with pytest.raises(ValueError, match="kind has 2 entries for 3 source rows"):
        RelevanceDisplay([1.0, 2.0, 0.0], ["a", "b"])


@pytest.mark.parametrize("wrap", [np.asarray, SourcePool])
def test_images_are_the_ends_of_the_ranking_and_frames_the_truth(clf, problem, wrap):
    display = SourceImagesDisplay.from_estimator(
        clf, wrap(problem.X_source), feature_shape=(4, 5), is_relevant=problem.source_is_relevant, n=6, n_columns=3
    )
    rows = np.r_[clf.ranking_[:6], clf.ranking_[-6:]]
    assert_allclose([image.get_array() for image in display.images_], problem.X_source[rows].reshape(-1, 4, 5))
    is_green = [frame.get_edgecolor() == to_rgba(ACCENT) for frame in display.frames_]
    assert_array_equal(is_green, problem.source_is_relevant[rows])
    n_right = problem.source_is_relevant[rows[:6]].sum()
    assert display.ax_.texts[0].get_text() == f"most relevant: {n_right} of 6 truly are"


def test_without_the_truth_all_frames_are_alike(clf, problem):
    display = SourceImagesDisplay.from_estimator(clf, problem.X_source, feature_shape=(4, 5), n=1000)
    assert len(display.images_) == len(problem.X_source), "at most every row once"
    assert len({frame.get_edgecolor() for frame in display.frames_}) == 1
    assert display.ax_.texts[0].get_text() == "most relevant"


def test_images_refuse_another_source_and_a_wrong_shape(clf, problem):
    with pytest.raises(ValueError, match="X_source has 10 rows, but the estimator was fitted with 60"):
        SourceImagesDisplay.from_estimator(clf, problem.X_source[:10], feature_shape=(4, 5))
    with pytest.raises(ValueError, match=r"feature_shape \(4, 4\) makes 16 values, but a row has 20"):
        SourceImagesDisplay.from_estimator(clf, problem.X_source, feature_shape=(4, 4))


def draw_each(clf, problem, ax):
    """All four displays of a classifier, drawn into one axes after the other."""
    yield TransferCurveDisplay.from_estimator(clf, ax=ax)
    yield ObjectiveDisplay.from_estimator(clf, ax=ax)
    yield RelevanceDisplay.from_estimator(clf, problem.source_kind, ax=ax)
    yield SourceImagesDisplay.from_estimator(clf, problem.X_source, feature_shape=(4, 5), ax=ax)


def test_displays_draw_into_given_axes(clf, problem):
    ax = Figure().subplots()
    for display in draw_each(clf, problem, ax):
        assert display.ax_ is ax
        assert display.figure_ is ax.figure


def test_displays_ask_for_a_fitted_estimator(problem):
    unfitted = draw_each(GASTLClassifier(), problem, None)
    with pytest.raises(NotFittedError):
        next(unfitted)
    with pytest.raises(NotFittedError):
        SourceImagesDisplay.from_estimator(GASTLClassifier(), problem.X_source, feature_shape=(4, 5))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'selftaught\[plot\]'"):
        ObjectiveDisplay([2.0, 1.0]).plot()
