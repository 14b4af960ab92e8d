"""The record keeps its promises or is not made."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from selftaught.datasets import TransferProblem


@pytest.fixture
def problem():
    return TransferProblem(
        name="tiny",
        description="Four source rows, one of them relevant.",
        X=np.zeros((2, 3)),
        y=np.array([0, 1]),
        X_source=np.zeros((4, 3)),
        source_is_relevant=np.array([False, True, False, False]),
        source_classes=np.array([-1, 1, -1, -1]),
        X_test=np.zeros((5, 3)),
        y_test=np.array([0, 0, 1, 1, 1]),
        class_names=("cat", "dog"),
    )


def test_a_problem_introduces_itself(problem):
    assert repr(problem) == (
        "TransferProblem('tiny': 2 labelled rows of 2 classes, 4 source rows (25 % relevant), 5 test rows, 3 features)"
    )


def test_optional_fields_are_always_there(problem):
    assert problem.feature_shape is None and problem.source_kind is None
    assert {"feature_shape", "source_kind"} <= {field.name for field in fields(problem)}


def test_a_problem_is_frozen(problem):
    with pytest.raises(FrozenInstanceError):
        problem.y = np.array([1, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.array([0, 1, 1])}, "y has 3 entries but its rows number 2"),
        ({"y_test": np.array([0, 1])}, "y_test has 2 entries but its rows number 5"),
        ({"source_classes": np.array([-1, 1])}, "source_classes has 2 entries but its rows number 4"),
        ({"source_kind": np.array(["cat"])}, "source_kind has 1 entries but its rows number 4"),
        ({"X_test": np.zeros((5, 4))}, r"same number of features, got \[3, 4\]"),
        ({"y": np.array([0, 0])}, r"every code 0 .. 1 into class_names and no other, got \[0\]"),
        ({"y": np.array([0, 2])}, r"got \[0 2\]"),
        ({"source_is_relevant": np.ones(4, dtype=bool)}, "-1 exactly where source_is_relevant is False"),
    ],
)
def test_contradictions_are_refused(problem, change, message):
    with pytest.raises(ValueError, match=message):
        replace(problem, **change)


def test_an_empty_source_is_refused(problem):
    none = {name: getattr(problem, name)[:0] for name in ("X_source", "source_is_relevant", "source_classes")}
    with pytest.raises(ValueError, match="X_source is empty"):
        replace(problem, **none)
