"""Multiscale landmarks as a selector: what it reads and reports, its invariances, and its traps as they are."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalMemberAccess=false

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from small_problems import small_problem

from selftaught import MLSSelector, SourcePool
from selftaught.datasets import make_open_set
from selftaught.metrics import selection_average_precision
from selftaught.selectors import NothingRelevant
from selftaught.selectors import mls as mls_module


@pytest.fixture(scope="module")
def problem():
    return small_problem()


def fit(X_source, X, **options):
    return MLSSelector(**{"scale": False, **options}).fit(X, X_source=SourcePool(X_source))


def normals(rng, n_source=200, n_target=60, d=10, shift=0.0):
    """Source rows around the origin, target rows around a point at a distance of ``shift``."""
    return rng.normal(size=(n_source, d)), rng.normal(size=(n_target, d)) + shift / np.sqrt(d)


# What it reports


def test_relevance_is_the_best_scale_or_the_mean_and_ranking_falls_back_on_the_mean(problem):
    by_max, by_mean = (fit(problem.X_source, problem.X, aggregate=a) for a in ("max", "mean"))
    assert (by_max.relevance_ >= by_mean.relevance_).all()
    single = fit(problem.X_source, problem.X, percentiles=(35,)), fit(problem.X_source, problem.X, percentiles=(80,))
    pair = {a: fit(problem.X_source, problem.X, percentiles=(35, 80), aggregate=a) for a in ("max", "mean")}
    both = np.stack([s.relevance_ for s in single])
    assert_allclose(pair["max"].relevance_, both.max(axis=0), rtol=1e-12)
    assert_allclose(pair["mean"].relevance_, both.mean(axis=0), rtol=1e-12)
    assert_array_equal(by_max.ranking_, np.lexsort((-by_mean.relevance_, -by_max.relevance_)))


def test_scales_are_percentiles_of_source_and_target_together(problem):
    fitted = fit(problem.X_source, problem.X, percentiles=(10, 90))
    assert_allclose(fitted.scales_, np.percentile(pdist(np.concatenate([problem.X_source, problem.X])), (10, 90)))
    assert_array_equal(fitted.reference_, np.arange(60))


def test_the_threshold_takes_the_relevance_of_poor_landmarks_and_leaves_the_rest(problem):
    plain = fit(problem.X_source, problem.X, aggregate="mean")
    middle = float(np.median(plain.relevance_))
    floored = fit(problem.X_source, problem.X, aggregate="mean", threshold=middle)
    assert_array_equal(floored.relevance_, np.where(plain.relevance_ > middle, plain.relevance_, 0))
    assert 0 < np.count_nonzero(floored.relevance_) < 60
    assert_array_equal(floored.score_source(problem.X_source), floored.relevance_)


def test_all_below_the_threshold_is_said(problem):
    with pytest.warns(NothingRelevant, match="MLSSelector finds no source row relevant: all weights are zero"):
        fitted = fit(problem.X_source, problem.X, threshold=1.0)
    assert_array_equal(fitted.weights_, np.zeros(60))


# Scoring


@pytest.mark.parametrize("n_reference", [None, 25])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_row_of_the_fit_scores_its_relevance_duplicates_too(problem, n_reference, dtype):
    X_source = np.concatenate([problem.X_source, problem.X_source[:9], problem.X_source[:2]]).astype(dtype)
    fitted = MLSSelector(n_reference=n_reference, random_state=0).fit(
        problem.X.astype(dtype), X_source=SourcePool(X_source)
    )
    atol = 1e-9 if dtype == "f8" else 1e-4  # sums of another block of rows, in another order
    assert_allclose(fitted.score_source(X_source), fitted.relevance_, atol=1e-9 if dtype == "f8" else 1e-4)
    assert_allclose(fitted.score_source(SourcePool(X_source, block_rows=7)), fitted.relevance_, atol=atol)
    assert_allclose(fitted.relevance_[60:69], fitted.relevance_[:9], atol=atol)


def test_a_row_beside_itself_does_not_see_itself(problem):
    # a row that is not among the reference rows is compared with all of them, its own copy with the others alone
    others, row = problem.X_source[1:], problem.X_source[:1]
    without, beside = (fit(X_source, problem.X, percentiles=(10, 50)) for X_source in (others, problem.X_source))
    beside._surroundings = type(beside._surroundings)(
        **{**vars(beside._surroundings), "scales": without._surroundings.scales}
    )
    assert_allclose(beside.score_source(row), without.score_source(row), rtol=1e-9)


def test_without_a_source_there_is_nothing_to_score(problem):
    fitted = MLSSelector().fit(problem.X)
    assert fitted.relevance_.shape == fitted.scales_.shape == fitted.reference_.shape == (0,)
    with pytest.raises(ValueError, match=r"fitted without a source and cannot score one\. Fit it with X_source= first"):
        fitted.score_source(problem.X_source)


# A sample that stands for the source


def test_of_a_large_source_a_sample_stands_for_all(rng, monkeypatch):
    monkeypatch.setattr(mls_module, "ALL_UP_TO", 100)
    monkeypatch.setattr(mls_module, "SAMPLE", 80)
    X_source, X = normals(rng, 400, shift=2.0)
    sampled, whole = (fit(X_source, X, n_reference=n, aggregate="mean", random_state=0) for n in (None, 400))
    assert len(np.unique(sampled.reference_)) == 80 and len(whole.reference_) == 400
    assert len(fit(X_source[:100], X).reference_) == 100
    # a mean over 80 rows in place of 400, of similarities whose deviation is about their mean
    assert np.abs(sampled.relevance_ - whole.relevance_).mean() < 0.05 < np.ptp(whole.relevance_)


def test_the_source_is_never_held(rng, tmp_path):
    # a source of 48 MB, of which 1000 rows are read at a time
    path = tmp_path / "source.npy"
    np.save(path, rng.normal(size=(60_000, 100)))
    X = rng.normal(size=(20, 100))
    selector = MLSSelector(percentiles=(50,), n_reference=50, random_state=0)
    tracemalloc.start()
    selector.fit(X, X_source=SourcePool(path, block_rows=1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6


# Invariances, each for a reason


def test_permuting_the_source_permutes_the_relevance(problem, rng):
    # a row is compared with the set of all others
    order = rng.permutation(60)
    plain, permuted = fit(problem.X_source, problem.X), fit(problem.X_source[order], problem.X)
    assert_allclose(permuted.relevance_, plain.relevance_[order], rtol=1e-9)


MOVES = {
    "rotated": lambda X: X @ np.linalg.qr(np.vander(np.linspace(-1, 1, X.shape[1])))[0],
    "shifted": lambda X: X + 50,
    "scaled": lambda X: X * 1e-3,
}


@pytest.mark.parametrize("move", MOVES)
def test_distances_over_scales_are_all_that_counts(problem, move):
    plain, moved = (fit(f(problem.X_source), f(problem.X)) for f in (lambda X: X, MOVES[move]))
    assert_allclose(moved.relevance_, plain.relevance_, rtol=1e-8)


def test_a_target_given_twice_says_no_more(problem):
    # moments are those of a distribution; the scales, percentiles of pairs, have to be those of the target given once
    plain = fit(problem.X_source, problem.X)
    twice = fit(problem.X_source, np.concatenate([problem.X, problem.X]))
    given = plain._surroundings
    twice._surroundings = type(given)(**{**vars(twice._surroundings), "scales": given.scales})
    assert_allclose(twice.score_source(problem.X_source), plain.relevance_, rtol=1e-8)


# What is known of the method: properties, good and bad, as they are


@pytest.mark.parametrize("d", [2, 10, 50])
@pytest.mark.parametrize("n", [80, 300])
def test_on_one_distribution_all_rows_are_good_landmarks(rng, n, d):
    # and weights therefore carry little information
    assert fit(*normals(rng, n, n, d)).relevance_.min() > 0.9


@pytest.mark.parametrize("d", [10, 50])
def test_isolated_rows_look_perfect(rng, d):
    # five times the typical norm away: what little is seen of either side is the same little
    X_source, X = normals(rng, d=d, shift=3.0)
    X_source[0] *= 5 * np.sqrt(d) / np.linalg.norm(X_source[0])
    assert fit(X_source, X).relevance_[0] > 0.7  # and so far from anything it should have been none at all


def test_isolated_rows_are_preferred_where_domains_differ():
    places = []
    for seed in range(20):
        X_source, X = normals(np.random.default_rng(seed), d=10, shift=3.0)
        X_source[0] *= 5 * np.sqrt(10) / np.linalg.norm(X_source[0])
        places.append(np.flatnonzero(fit(X_source, X).ranking_ == 0)[0])
    assert np.median(places) < 200 / 4


@pytest.mark.parametrize("d", [2, 10, 50])
def test_a_row_that_sees_nothing_at_all_is_no_landmark(rng, d):
    # a thousand times the radius of the data away all similarities vanish, and the formula alone would say 1
    X_source, X = normals(rng, d=d)
    X_source[0] *= 1000 * np.sqrt(d) / np.linalg.norm(X_source[0])
    fitted = fit(X_source, X)
    assert fitted.relevance_[0] == 0 and fitted.relevance_[1:].min() > 0.5


def test_a_source_that_shares_nothing_with_the_target_can_still_look_good(rng):
    # at the smallest scale hardly anything is seen of either side; the mean over the scales is not so easily fooled
    X_source, X = normals(rng, d=2, shift=20.0)
    by_max, by_mean = (fit(X_source, X, aggregate=a).relevance_.mean() for a in ("max", "mean"))
    assert by_max > 0.7 and by_mean < 0.3
    assert fit(X_source, X, percentiles=(5,)).relevance_.mean() > 0.7


def test_rows_like_the_target_are_landmarks_in_a_plain_pool_and_none_in_a_mixed_one():
    # from such a row one sees much of the target and little of a pool of many classes, so the two look different

    def precision(n_other_classes):
        found = []
        for seed in range(5):
            problem = make_open_set(400, n_other_classes=n_other_classes, n_test_per_class=1, random_state=seed)
            ranking = MLSSelector().fit(problem.X, X_source=problem.X_source).ranking_
            found.append(selection_average_precision(problem.source_is_relevant, ranking))
        return np.mean(found)

    chance = 0.2  # the share of relevant rows
    assert precision(30) < 0.8 * chance and precision(2) > 2 * chance


# Degenerate sources


def test_zeros_duplicates_and_two_equal_target_rows_give_numbers(rng):
    X_source = np.concatenate([np.zeros((3, 4)), rng.normal(size=(10, 4)), np.ones((4, 4))])
    for X in (np.zeros((2, 4)), rng.normal(size=(2, 4)), np.ones((5, 4))):
        relevance = fit(X_source, X, aggregate="mean").relevance_
        assert np.isfinite(relevance).all() and relevance.max() <= 1 and relevance.any()
    # equal target rows are a point, which has no area to share
    with pytest.warns(NothingRelevant):
        assert not fit(X_source, np.ones((5, 4)), quality="overlap").relevance_.any()


@pytest.mark.parametrize("scale", [True, False])
def test_constant_data_have_no_landmarks(scale):
    with pytest.warns(NothingRelevant):
        fitted = MLSSelector(scale=scale).fit(np.ones((4, 3)), X_source=np.ones((6, 3)))
    assert_array_equal(fitted.relevance_, np.zeros(6))
    assert fitted.scales_.shape == (0,)


# Parameters

WRONG = [
    (dict(aggregate="median"), r"aggregate must be 'max' or 'mean', got 'median'\."),
    (dict(quality="area"), r"quality must be 'normalized' or 'overlap', got 'area'\."),
    (dict(threshold=1.5), r"threshold must be a number of at least 0 and at most 1, or None, got 1\.5\."),
    (dict(min_variance=-1), r"min_variance must be a number of at least 0, got -1\."),
    (dict(n_reference=1), r"n_reference must be a whole number of at least 2, or None, got 1\."),
    (dict(scale="no"), r"scale must be True or False, got 'no'\."),
    *(
        (dict(percentiles=wrong), r"percentiles must be one or more numbers from 0 to 100, got .*such as \(5, 50, 95\)")
        for wrong in (50, "50", (), (5, 101), (-1,), (np.nan,), ("5",), None)
    ),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_parameters_out_of_range(wrong, message, problem):
    with pytest.raises(ValueError, match=message):
        MLSSelector(**wrong).fit(problem.X, X_source=problem.X_source)


def test_percentiles_may_be_any_list(problem):
    expected = fit(problem.X_source, problem.X, percentiles=(20, 60)).relevance_
    for percentiles in ([20, 60], np.array([20, 60]), range(20, 61, 40)):
        assert_array_equal(fit(problem.X_source, problem.X, percentiles=percentiles).relevance_, expected)


def test_an_interrupted_fit_is_no_fit(problem, monkeypatch):
    fitted = fit(problem.X_source, problem.X)
    before = fitted.relevance_

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(mls_module, "landmark_quality", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(problem.X + 1, X_source=problem.X_source)
    assert fitted.relevance_ is before
