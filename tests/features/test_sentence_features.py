"""Features of a split: learned from the part that was named, and never from the test."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from selftaught.datasets import LabelledItems, caltech101_splits, sentiment_splits
from selftaught.features import SentenceCNN, sentence_features


def collection(name, n=60):
    y = np.arange(n) % 2
    texts = [f"{name} {i} is {'good' if label else 'bad'}" for i, label in enumerate(y)]
    return LabelledItems(name=name, items=np.array(texts, dtype=object), y=y, class_names=("negative", "positive"))


FILMS, TWEETS = collection("film"), collection("tweet")
CNN = SentenceCNN(maps=3, n_epochs=2, dimension=5, random_state=0)


@pytest.fixture
def split():
    return sentiment_splits(FILMS, TWEETS, n_train=(6,), n_source=20, n_test=10, random_state=0)[0]


@pytest.mark.parametrize(("learn_from", "word"), [("source", "tweet"), ("target", "film")])
def test_it_learns_from_the_named_part_alone(learn_from, word, split):
    seen = []

    class Spy(SentenceCNN):
        def fit(self, X, y):
            seen.append((list(X), list(y)))
            return super().fit(X, y)

    spy = Spy(**CNN.get_params())
    rows = sentence_features(split, FILMS.items, TWEETS.items, spy, learn_from=learn_from)
    parts = split.take(FILMS.items, TWEETS.items)
    ((texts, y),) = seen
    assert texts == list(getattr(parts, learn_from)) and all(text.startswith(word) for text in texts)
    assert y == list(split.source_classes if learn_from == "source" else split.y)
    assert not {*texts} & {*parts.test}
    assert rows.target.shape == (12, 9) and rows.source.shape == (20, 9) and rows.test.shape == (20, 9)
    assert not hasattr(spy, "net_"), "the network that was handed in is left as it is"


@pytest.mark.parametrize("learn_from", ["source", "target"])
def test_what_the_test_says_changes_no_other_row(learn_from, split):
    changed = FILMS.items.copy()
    changed[split.test_idx] = "quite another text"
    one, other = (
        sentence_features(split, texts, TWEETS.items, CNN, learn_from=learn_from) for texts in (FILMS.items, changed)
    )
    assert_array_equal(one.target, other.target)
    assert_array_equal(one.source, other.source)
    assert abs(one.test - other.test).max() > 0


def test_what_cannot_be_learned_from_is_refused(split):
    with pytest.raises(ValueError, match="learn_from must be 'source' or 'target', got 'test'"):
        sentence_features(split, FILMS.items, TWEETS.items, CNN, learn_from="test")
    labels = np.repeat(["a", "b", "c", "d"], 30)
    of_classes = caltech101_splits(labels, n_groups=2, random_state=0)[0]
    with pytest.raises(ValueError, match="not of the target's classes: fit on the target"):
        sentence_features(of_classes, np.array([f"text {i}" for i in range(120)], dtype=object), None, CNN)
