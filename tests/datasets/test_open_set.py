"""The splitter deals every row at most once, tells the truth about it, and says what is missing."""

import numpy as np
import pytest

from selftaught.datasets import open_set_split

SIZES = {"ant": 30, "bee": 20, "cat": 25, "dog": 8, "elk": 22}
SETTINGS = {"n_target_classes": 2, "n_labels": 3, "n_pool_per_class": 6, "n_irrelevant": 30, "min_class_size": 15}


@pytest.fixture
def labels(rng):
    return rng.permutation(np.repeat(list(SIZES), list(SIZES.values())))


@pytest.fixture
def problem(labels, seed):
    """A split of row numbers: X says which row went where."""
    return open_set_split(np.arange(len(labels))[:, None], labels, **SETTINGS, random_state=seed)


def test_sizes_are_as_asked(problem):
    assert np.bincount(problem.y).tolist() == [3, 3]
    assert len(problem.X_source) == 2 * 6 + 30
    assert np.bincount(problem.source_classes[problem.source_is_relevant]).tolist() == [6, 6]


def test_no_row_is_dealt_twice(problem):
    rows = np.concatenate([problem.X, problem.X_source, problem.X_test]).ravel()
    assert len(np.unique(rows)) == len(rows)


def test_the_truth_is_told(problem, labels):
    names = np.array(problem.class_names)
    assert np.array_equal(labels[problem.X[:, 0]], names[problem.y])
    assert np.array_equal(labels[problem.X_test[:, 0]], names[problem.y_test])
    assert np.array_equal(labels[problem.X_source[:, 0]], problem.source_kind)
    assert np.array_equal(np.isin(problem.source_kind, names), problem.source_is_relevant)
    relevant = problem.source_is_relevant
    assert np.array_equal(names[problem.source_classes[relevant]], problem.source_kind[relevant])


def test_all_remaining_target_rows_are_the_test(problem):
    for code, name in enumerate(problem.class_names):
        assert np.sum(problem.y_test == code) == SIZES[name] - 3 - 6


def test_small_classes_are_never_targets_but_may_be_in_the_pool(labels):
    X = np.zeros((len(labels), 1))
    problems = [open_set_split(X, labels, **SETTINGS, random_state=s) for s in range(30)]
    drawn = {name for problem in problems for name in problem.class_names}
    assert drawn == {"ant", "bee", "cat", "elk"}
    assert any("dog" in np.asarray(problem.source_kind) for problem in problems)


def test_the_pool_is_in_random_order(problem):
    # an ordered pool would let "the first rows" pass for a method
    first = problem.source_is_relevant[: problem.source_is_relevant.sum()]
    assert 0 < first.sum() < len(first)


def test_the_seed_decides(labels):
    X = np.arange(len(labels))[:, None]
    one, same, other = (open_set_split(X, labels, **SETTINGS, random_state=s) for s in (7, 7, 8))
    assert np.array_equal(one.X_source, same.X_source) and np.array_equal(one.X, same.X)
    assert not np.array_equal(one.X_source, other.X_source)


def test_numbers_serve_as_labels_and_dtype_and_input_are_kept(rng):
    y = np.repeat([10, 30, 70], 20)
    X = rng.normal(size=(60, 2)).astype(np.float32)
    before = X.copy()
    problem = open_set_split(X, y, **{**SETTINGS, "n_irrelevant": 20}, random_state=0)
    assert {*problem.class_names} < {"10", "30", "70"} and {*problem.y} == {0, 1}
    assert problem.X.dtype == problem.X_source.dtype == problem.X_test.dtype == np.float32
    assert np.array_equal(X, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_target_classes": 5}, "only 4 of the 5 classes have at least min_class_size=15 .* largest has 30"),
        ({"min_class_size": 9}, r"must exceed n_labels \+ n_pool_per_class = 9, .* got 9"),
        ({"n_irrelevant": 90}, r"n_irrelevant=90 rows were asked for, .* only \d+. Lower"),
        ({"n_target_classes": 1}, "n_target_classes must be at least 2, got 1"),
        ({"n_labels": 0}, "n_labels must be at least 1, got 0"),
        ({"n_irrelevant": -1}, "n_irrelevant must be at least 0, got -1"),
        ({"n_pool_per_class": 0, "n_irrelevant": 0}, "X_source is empty"),
    ],
)
def test_impossible_splits_are_refused(labels, change, message):
    with pytest.raises(ValueError, match=message):
        open_set_split(np.zeros((len(labels), 1)), labels, **{**SETTINGS, **change}, random_state=0)


@pytest.mark.parametrize("shape", [(105,), (104, 1)])
def test_shapes_are_checked(labels, shape):
    with pytest.raises(ValueError, match=r"X must have shape \(n_rows, n_features\) and y \(n_rows,\), got"):
        open_set_split(np.zeros(shape), labels, n_labels=1)
