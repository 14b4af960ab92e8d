"""From row numbers to items, and from the features of the parts to a problem."""

from dataclasses import replace

import numpy as np
import pytest

from selftaught.datasets import TransferSplit

WITHIN = TransferSplit(
    name="fruit",
    description="Two kinds of fruit, and other things.",
    target_idx=np.array([4, 0]),
    y=np.array([0, 1]),
    source_idx=np.array([6, 2, 5]),
    source_classes=np.array([-1, 1, -1]),
    source_kind=np.array(["stone", "pear", "leaf"]),
    test_idx=np.array([1, 3]),
    y_test=np.array([1, 0]),
    class_names=("fig", "pear"),
)
APART = replace(WITHIN, source_is_apart=True)


def test_items_are_dealt_in_the_splits_order():
    parts = WITHIN.take(np.array([*"abcdefg"]))
    assert [part.tolist() for part in parts] == [["e", "a"], ["g", "c", "f"], ["b", "d"]]


def test_features_are_fitted_without_the_test():
    assert WITHIN.take(np.arange(7)).fitting.tolist() == [6, 2, 5, 4, 0]
    assert APART.take(np.arange(5), np.arange(10, 17)).fitting.tolist() == [16, 12, 15, 4, 0]


def test_features_of_the_parts_make_the_problem(rng):
    X = rng.normal(size=(7, 3)).astype(np.float32)
    problem = WITHIN.problem(*WITHIN.take(X))
    assert np.array_equal(problem.X, X[[4, 0]]) and problem.X.dtype == np.float32
    assert np.array_equal(problem.X_source, X[[6, 2, 5]]) and np.array_equal(problem.X_test, X[[1, 3]])
    assert problem.y.tolist() == [0, 1] and problem.y_test.tolist() == [1, 0]
    assert problem.source_is_relevant.tolist() == [False, True, False]
    assert (problem.name, problem.class_names) == ("fruit", ("fig", "pear"))


def test_features_of_two_collections_make_the_problem(rng):
    X, X_source = rng.normal(size=(5, 2)), rng.normal(size=(7, 2))
    problem = APART.problem(*APART.take(X, X_source))
    assert np.array_equal(problem.X, X[[4, 0]]) and np.array_equal(problem.X_source, X_source[[6, 2, 5]])


def test_features_of_a_wrong_number_of_items_are_refused():
    with pytest.raises(ValueError, match="y has 2 entries but its rows number 3"):
        WITHIN.problem(np.ones((3, 1)), np.ones((3, 1)), np.ones((2, 1)))


def test_lists_are_dealt_like_arrays():
    texts = [*"abcdef", "a text that is longer than the others"]
    from_list = WITHIN.take(texts)
    assert from_list.source.tolist() == [texts[6], "c", "f"] and from_list.source.dtype == object
    assert WITHIN.take([[i, 0.5] for i in range(7)]).target.tolist() == [[4, 0.5], [0, 0.5]]


def test_the_right_collections_are_asked_for():
    items = np.arange(7)
    with pytest.raises(ValueError, match="a collection of its own: give its items as source_items"):
        APART.take(items)
    with pytest.raises(ValueError, match="the same collection: leave source_items out"):
        WITHIN.take(items, items)
    with pytest.raises(ValueError, match="asks for item number 6 of a collection that has 3"):
        APART.take(items, items[:3])
    with pytest.raises(ValueError, match="asks for item number 4 of a collection that has 4"):
        WITHIN.take(items[:4])


def test_it_says_how_large_it_is():
    assert repr(WITHIN) == "TransferSplit('fruit': 2 labelled, 3 source, 2 test items)"
