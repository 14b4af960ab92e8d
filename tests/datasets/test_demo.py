"""The demo is honest: no digit twice, a true truth, and nothing given away by brightness."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import cosine_similarity

from selftaught.datasets import load_demo


@pytest.fixture(scope="module")
def demo(seed):
    return load_demo(seed)


@pytest.fixture(scope="module")
def digit_of_image():
    """What every image of the original data shows, by its pixels."""
    digits = load_digits()
    return {image.astype(np.uint8).tobytes(): digit for image, digit in zip(digits.data, digits.target, strict=True)}


def keys(rows):
    return [np.rint(16 * row).astype(np.uint8).tobytes() for row in rows]


def of_kind(demo, kind):
    return demo.X_source[demo.source_kind == kind]


def test_the_archive_is_mostly_something_else(demo):
    kinds, counts = np.unique(demo.source_kind, return_counts=True)
    assert dict(zip(kinds.tolist(), counts.tolist(), strict=True)) == {
        **{"target digit": 400, "other digit": 320, "letter": 320, "texture": 240, "scribble": 160},
        **{"turned digit": 160, "negative digit": 160, "shuffled digit": 160, "blank": 40, "noise": 40},
    }
    assert np.array_equal(demo.source_is_relevant, demo.source_kind == "target digit")
    assert np.bincount(demo.source_classes + 1).tolist() == [1600, 80, 80, 80, 80, 80]
    assert np.bincount(demo.y).tolist() == [3] * 5 and np.bincount(demo.y_test).tolist() == [60] * 5


def test_labels_are_those_of_the_original_images(demo, digit_of_image):
    names = np.array(demo.class_names)
    relevant = demo.source_is_relevant
    for rows, codes in [
        (demo.X, demo.y),
        (demo.X_test, demo.y_test),
        (demo.X_source[relevant], demo.source_classes[relevant]),
    ]:
        assert [str(digit_of_image[key]) for key in keys(rows)] == names[codes].tolist()
    assert {digit_of_image[key] for key in keys(of_kind(demo, "other digit"))} == {5, 6, 7, 8, 9}


def test_no_digit_is_used_twice_in_whatever_form(demo, digit_of_image):
    negative = of_kind(demo, "negative digit")
    turned = of_kind(demo, "turned digit").reshape(-1, 8, 8)
    parts = [
        demo.X,
        demo.X_test,
        of_kind(demo, "target digit"),
        of_kind(demo, "other digit"),
        np.rot90(turned, k=-1, axes=(1, 2)).reshape(-1, 64),
        1 - negative / negative.max(axis=1, keepdims=True),  # paper without ink is the brightest pixel of a negative
    ]
    used = keys(np.concatenate(parts))
    assert len(set(used)) == len(used)
    assert set(used) <= set(digit_of_image)


def test_values_are_ink(demo):
    for X in (demo.X, demo.X_source, demo.X_test):
        assert X.shape[1] == 64 == np.prod(demo.feature_shape)
        assert X.min() >= 0 and X.max() <= 1


def test_relevant_rows_are_found_by_looking_but_not_by_brightness(demo):
    brightness = demo.X_source.mean(axis=1)
    by_brightness = [
        average_precision_score(demo.source_is_relevant, score)
        for score in (brightness, -brightness, -np.abs(brightness - demo.X.mean()))
    ]
    similarity = cosine_similarity(demo.X_source, demo.X).max(axis=1)
    by_looking = average_precision_score(demo.source_is_relevant, similarity)
    assert max(by_brightness) < 0.3 < 0.7 < by_looking < 0.99


def test_every_kind_is_as_dark_as_the_digits(demo):
    for kind in np.unique(demo.source_kind):
        assert of_kind(demo, kind).mean() == pytest.approx(load_digits().data.mean() / 16, abs=0.02), kind


def test_finding_the_relevant_rows_is_worth_something(demo):
    relevant = demo.source_is_relevant
    X, y = np.r_[demo.X, demo.X_source[relevant]], np.r_[demo.y, demo.source_classes[relevant]]
    alone, helped = (
        LogisticRegression(max_iter=2000).fit(*rows).score(demo.X_test, demo.y_test)
        for rows in [(demo.X, demo.y), (X, y)]
    )
    assert helped > alone + 0.03


def test_the_seed_decides():
    one, same, other = (load_demo(s).X_source for s in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other)


@pytest.mark.parametrize("classes", [(8, 3), range(9), range(10)])
def test_other_choices_of_digits(classes, digit_of_image):
    demo = load_demo(classes=classes, n_per_class=20)
    assert demo.class_names == tuple(map(str, sorted(classes)))
    assert np.bincount(demo.y).tolist() == [20] * len(classes)
    assert np.mean(demo.source_is_relevant) == pytest.approx(0.2, abs=0.005)
    others = {digit_of_image[key] for key in keys(of_kind(demo, "other digit"))}
    assert others == {*range(10)} - {*classes}
    assert all(np.any(demo.source_kind == f"{how} digit") for how in ("turned", "negative", "shuffled"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": (3,)}, r"at least two different digits from 0 to 9, got \(3,\)"),
        ({"classes": (3, 3, 4)}, r"two different digits .* got \(3, 3, 4\)"),
        ({"classes": (3, 10)}, r"from 0 to 9, got \(3, 10\)"),
        ({"n_per_class": 0}, r"n_per_class must be in \[1, 20\], got 0"),
        ({"n_per_class": 21}, r"n_per_class must be in \[1, 20\], got 21"),
    ],
)
def test_impossible_choices_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        load_demo(**change)
