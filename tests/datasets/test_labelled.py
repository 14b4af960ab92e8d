"""One record for images, texts and rows."""

import numpy as np
import pytest

from selftaught.datasets import LabelledItems
from selftaught.datasets.labelled import labelled_items, texts_array


def test_class_names_become_codes_and_back():
    data = labelled_items("fruit", np.arange(4), ["pear", "fig", "pear", "apple"], groups=["a", "b", "a", "a"])
    assert data.class_names == ("apple", "fig", "pear")
    assert data.y.tolist() == [2, 1, 2, 0]
    assert data.labels.tolist() == ["pear", "fig", "pear", "apple"]
    assert data.groups is not None and data.groups.tolist() == ["a", "b", "a", "a"]
    assert repr(data) == "LabelledItems('fruit': 4 items of 3 classes, 1 to 2 each)"


def test_a_long_text_does_not_lengthen_the_others():
    texts = texts_array(["a", "b" * 10**6])
    assert texts.dtype == object and texts.nbytes == 16 and texts[1][-1] == "b"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(2, int)}, "y has 2 entries for 3 items"),
        ({"groups": np.array(["a"])}, "groups has 1 entries for 3 items"),
        ({"y": np.array([0, 1, 2])}, r"codes 0 .. 1 into class_names, got \[0 1 2\]"),
        ({"y": np.array([0, 1, -1])}, "codes 0 .. 1 into class_names"),
    ],
)
def test_entries_must_fit(change, message):
    fields = {"name": "x", "items": np.arange(3), "y": np.array([0, 1, 1]), "class_names": ("a", "b"), **change}
    with pytest.raises(ValueError, match=message):
        LabelledItems(**fields)
