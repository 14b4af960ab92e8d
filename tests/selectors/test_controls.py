"""The controls do what their names say, and nothing that could pass for a method."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportOptionalMemberAccess=false

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from small_problems import small_problem

from selftaught import AllSelector, NeighborSelector, RandomSelector, SourcePool
from selftaught.metrics import selection_precision


@pytest.fixture
def rows(rng):
    return rng.normal(size=(5, 4)), rng.normal(size=(30, 4))


# RandomSelector


def test_random_order_has_nothing_to_do_with_the_rows(rows):
    X, X_source = rows
    order = RandomSelector(random_state=7).fit(X, X_source=X_source).ranking_
    assert_array_equal(order, RandomSelector(random_state=7).fit(-X, X_source=X_source**3).ranking_)
    assert not np.array_equal(order, RandomSelector(random_state=8).fit(X, X_source=X_source).ranking_)


def test_random_order_favours_no_row(rows):
    X, X_source = rows
    firsts = [RandomSelector(random_state=i).fit(X, X_source=X_source).ranking_[0] for i in range(600)]
    assert stats.chisquare(np.bincount(firsts, minlength=30)).pvalue > 1e-3


def test_random_scores_do_not_depend_on_blocks(rows):
    X, X_source = rows
    selector = RandomSelector(random_state=7).fit(X, X_source=X_source)
    scores = selector.score_source(X_source)
    assert_array_equal(selector.score_source(SourcePool(X_source, block_rows=7)), scores)
    assert len(np.unique(scores)) == len(scores) and 0 <= scores.min() and scores.max() < 1


def test_a_profile_is_shuffled_over_the_rows(rows):
    X, X_source = rows
    profile = np.concatenate([np.zeros(20), np.arange(1.0, 11)])
    one, again, other = (
        RandomSelector(weight_profile=profile, random_state=i).fit(X, X_source=X_source) for i in (7, 7, 8)
    )
    assert_array_equal(np.sort(one.weights_), profile / 10)
    assert_array_equal(one.weights_, again.weights_)
    assert not np.array_equal(one.weights_, other.weights_)
    assert (np.diff(one.weights_[one.ranking_]) <= 0).all()


def test_a_profile_favours_no_row(rows):
    X, X_source = rows
    profile = np.concatenate([np.zeros(20), np.arange(1.0, 11)])
    fits = [RandomSelector(weight_profile=profile, random_state=i).fit(X, X_source=X_source) for i in range(600)]
    for first in ([s.ranking_[0] for s in fits], [s.ranking_[10] for s in fits]):  # the largest, and one of weight 0
        assert stats.chisquare(np.bincount(first, minlength=30)).pvalue > 1e-3


def test_a_profile_without_a_source_is_not_looked_at(rows):
    assert RandomSelector(weight_profile=np.ones(3)).fit(rows[0]).weights_.shape == (0,)


WRONG_PROFILES = [
    (NeighborSelector(), r"must be an array of weights, got NeighborSelector\(\)\. Pass the weights_ of the fitted"),
    (np.ones(29), r"one weight for each of the 30 source rows, got shape \(29,\)\. Fit the selector whose weights"),
    (np.ones((30, 1)), r"got shape \(30, 1\)"),
    (-np.ones(30), r"must hold finite numbers of at least 0\. Pass the weights_"),
    (np.full(30, np.nan), r"must hold finite numbers of at least 0"),
]


@pytest.mark.parametrize(("profile", "message"), WRONG_PROFILES)
def test_what_is_no_profile_is_refused(rows, profile, message):
    with pytest.raises(ValueError, match=f"weight_profile {message}" if message.startswith("must") else message):
        RandomSelector(weight_profile=profile).fit(rows[0], X_source=rows[1])


# AllSelector


def test_all_takes_every_row_with_the_same_weight_in_the_order_given(rows):
    selector = AllSelector().fit(rows[0], X_source=rows[1])
    assert_array_equal(selector.weights_, np.ones(30))
    assert_array_equal(selector.ranking_, np.arange(30))
    assert_array_equal(selector.score_source(rows[0]), np.ones(5))


# NeighborSelector


def cosines(X_source, X, middle=0.0):
    """Cosine similarity of every source row to every target row, row by row."""
    return np.array(
        [
            [(s - middle) @ (t - middle) / np.linalg.norm(s - middle) / np.linalg.norm(t - middle) for t in X]
            for s in X_source
        ]
    )


@pytest.mark.parametrize("center", [False, True])
def test_neighbour_relevance_is_the_largest_cosine_and_the_mapping_says_to_whom(rows, center):
    X, X_source = rows
    selector = NeighborSelector(center=center).fit(X, X_source=X_source)
    expected = cosines(X_source, X, X_source.mean(axis=0) if center else 0.0)
    assert_allclose(selector.relevance_, np.maximum(expected.max(axis=1), 0), atol=1e-12)
    assert_array_equal(selector.ranking_, np.argsort(-expected.max(axis=1)))
    mapping = selector.mapping_.toarray()
    assert ((mapping > 0).sum(axis=1) <= 1).all()
    assert_array_equal(
        mapping.argmax(axis=1)[selector.relevance_ > 0], expected.argmax(axis=1)[selector.relevance_ > 0]
    )


def test_rows_that_point_away_are_never_used_but_still_in_order(rows):
    X = np.array([[1.0, 0.0], [1.0, 0.1]])
    X_source = np.array([[-1.0, 0.5], [1.0, 0.05], [-1.0, 0.0]])
    selector = NeighborSelector().fit(X, X_source=X_source)
    assert_array_equal(selector.relevance_ > 0, [False, True, False])
    assert_array_equal(selector.ranking_, [1, 0, 2])


@pytest.mark.parametrize("options", [{}, dict(center=True), dict(scale=True), dict(center=True, scale=True)])
def test_neighbour_scores_of_the_pool_are_its_relevance_whatever_the_blocks(rows, options):
    X, X_source = rows
    selector = NeighborSelector(**options).fit(X, X_source=X_source)
    scores = selector.score_source(SourcePool(X_source, block_rows=7))
    assert_allclose(np.maximum(scores, 0), selector.relevance_, atol=1e-12)
    assert_array_equal(np.argsort(-scores, kind="stable"), selector.ranking_)


def test_neighbours_do_not_mind_the_length_of_rows(rows, rng):
    X, X_source = rows
    lengths = rng.uniform(0.1, 10, size=(30, 1))
    plain = NeighborSelector().fit(X, X_source=X_source)
    assert_allclose(NeighborSelector().fit(3 * X, X_source=X_source * lengths).relevance_, plain.relevance_)


def test_rows_of_zeros_have_no_neighbours(rows):
    X, X_source = rows
    X_source = np.concatenate([X_source, np.zeros((2, 4))])
    assert_array_equal(NeighborSelector().fit(X, X_source=X_source).relevance_[-2:], [0, 0])


def test_neighbours_find_more_of_the_relevant_rows_than_chance():
    problem = small_problem(n_source=200)
    found, by_chance = (
        selection_precision(problem.source_is_relevant, selector.fit(problem.X, X_source=problem.X_source).ranking_, 20)
        for selector in (NeighborSelector(), RandomSelector(random_state=0))
    )
    assert found > by_chance + 0.2
