"""Reading and bookkeeping that all selectors share, seen through the plainest possible selector."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from selftaught import SourcePool
from selftaught.selectors import NothingRelevant, SourceSelector


class GivenRelevance(SourceSelector):
    """Takes relevance and closeness from its constructor."""

    def __init__(self, relevance=(), closeness=None, scale=True):
        self.relevance = relevance
        self.closeness = closeness
        self.scale = scale

    def fit(self, X, y=None, *, X_source=None):
        self.read_ = self._read(X, X_source, scale=self.scale)
        closeness = None if self.closeness is None else np.asarray(self.closeness)
        return self._keep(np.asarray(self.relevance, dtype=float), closeness)

    def score_source(self, X_source):
        return self._score_blocks(X_source, lambda X: X.sum(axis=1))


@pytest.fixture
def rows(rng):
    return rng.normal(size=(4, 3)), rng.normal(size=(6, 3))


def test_weights_are_relevance_over_its_maximum(rows):
    fitted = GivenRelevance([0.0, 4.0, 1.0, 0.0, 2.0, 4.0]).fit(rows[0], X_source=rows[1])
    assert_array_equal(fitted.weights_, [0, 1, 0.25, 0, 0.5, 1])


def test_no_relevance_at_all_gives_no_weights_instead_of_nan_and_says_so(rows):
    with pytest.warns(NothingRelevant, match="GivenRelevance finds no source row relevant: all weights are zero"):
        fitted = GivenRelevance(np.zeros(6)).fit(rows[0], X_source=rows[1])
    assert_array_equal(fitted.weights_, np.zeros(6))


def test_relevance_ranks_first_closeness_second_the_order_given_last(rows):
    fitted = GivenRelevance([0.0, 4, 1, 0, 0, 4], [9.0, 1, 5, 7, 9, 2]).fit(rows[0], X_source=rows[1])
    assert_array_equal(fitted.ranking_, [5, 1, 2, 0, 4, 3])
    plain = GivenRelevance([0.0, 4, 1, 0, 0, 4]).fit(rows[0], X_source=rows[1])
    assert_array_equal(plain.ranking_, [1, 5, 2, 0, 3, 4])


def test_scaling_is_fitted_on_source_and_target_together(rows):
    X, X_source = rows
    source, target = GivenRelevance(np.ones(6)).fit(X, X_source=X_source).read_
    stacked = np.concatenate([source, target])
    # every feature reaches both ends over all rows, which neither part alone need do
    assert_allclose(stacked.min(axis=0), 0.1)
    assert_allclose(stacked.max(axis=0), 0.9)
    both = np.concatenate([X_source, X])
    expected = 0.1 + 0.8 * (both - both.min(axis=0)) / np.ptp(both, axis=0)
    assert_allclose(stacked, expected, rtol=1e-12)


def test_scaling_can_be_left_out(rows):
    source, target = GivenRelevance(np.ones(6), scale=False).fit(rows[0], X_source=rows[1]).read_
    assert_array_equal(target, rows[0])
    assert_array_equal(source, rows[1])


@pytest.mark.parametrize(
    ("target", "source", "read"),
    [("f4", "f4", "f4"), ("f4", "f8", "f8"), ("f8", "f4", "f8"), ("i4", "f4", "f8"), ("f4", "i4", "f8")],
)
def test_source_and_target_are_read_in_one_dtype(rows, target, source, read):
    for part in GivenRelevance(np.ones(6)).fit(rows[0].astype(target), X_source=rows[1].astype(source)).read_:
        assert part.dtype == read


def test_without_a_source_everything_is_empty(rows):
    fitted = GivenRelevance().fit(rows[0])
    assert fitted.read_[0].shape == (0, 3)
    for name in ("relevance_", "weights_", "ranking_", "source_index_"):
        assert getattr(fitted, name).shape == (0,), name


def test_encode_gives_the_scaled_rows_and_clips_what_lies_outside(rows):
    fitted = GivenRelevance(np.ones(6)).fit(rows[0], X_source=rows[1])
    assert_array_equal(fitted.encode(rows[0]), fitted.read_[1])
    assert fitted.encode(np.full((1, 3), 100.0)).max() == pytest.approx(0.9)


def test_encode_and_score_need_a_fit(rows):
    for method in ("encode", "score_source"):
        with pytest.raises(NotFittedError, match="GivenRelevance instance is not fitted yet"):
            getattr(GivenRelevance(), method)(rows[0])


@pytest.mark.parametrize("block_rows", [1, 4, 100])
def test_scores_do_not_depend_on_blocks(rows, block_rows):
    fitted = GivenRelevance(np.ones(6)).fit(rows[0], X_source=rows[1])
    whole = fitted.encode(rows[1]).sum(axis=1)
    assert_allclose(fitted.score_source(SourcePool(rows[1], block_rows=block_rows)), whole)


def test_any_number_of_rows_may_be_scored_as_many_as_the_target_has_included(rows):
    fitted = GivenRelevance(np.ones(6)).fit(rows[0], X_source=rows[1])
    assert fitted.score_source(rows[0]).shape == (4,)
    assert fitted.score_source(rows[0][:1]).shape == (1,)


def test_ids_of_shards_follow_each_other(rows):
    frame = pd.DataFrame(rows[1][:2], index=["a", "b"])
    fitted = GivenRelevance(np.ones(6)).fit(rows[0], X_source=(frame, rows[1][2:]))
    assert fitted.source_index_.tolist() == ["a", "b", 2, 3, 4, 5]
