"""Features of the texts of a transfer split, learned without its test.

The GASTL paper describes its texts by the network of Kim (2014) and does not say on which labels that was trained.
There are two ways that keep the test out:

    learn_from="source"    on the source's texts and their true classes. What the network knows of the target's texts
                           are the word vectors alone. But it has seen labels that a self-taught learner does not have:
                           source rows come out grouped by class, which methods and controls all profit from alike.
    learn_from="target"    on the labelled target texts. No label is used that a learner does not have. But rows of
                           these texts are flattered: they lie further apart than those of new texts, so whoever
                           chooses by cross-validation among them (the guard, a penalty) believes too much.

Accuracies with features of the two kinds are not to be compared with each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .sentence_cnn import SentenceCNN

__all__ = ["SentenceFeatures", "sentence_features"]


class SentenceFeatures(NamedTuple):
    """Rows of the three parts of a split, and the fitted network that made them."""

    target: np.ndarray
    source: np.ndarray
    test: np.ndarray
    cnn: SentenceCNN


def sentence_features(split: Any, texts, source_texts, cnn: SentenceCNN, *, learn_from="source") -> SentenceFeatures:
    """Fit a network on one part of a split, and make rows of all parts.

    Parameters
    ----------
    split : TransferSplit
        Of `selftaught.datasets.sentiment_splits`.
    texts, source_texts : array-likes of str
        All texts of the target's and of the source's collection, as ``split.take`` wants them.
    cnn : SentenceCNN
        Not fitted, and left as it is.
    learn_from : {"source", "target"}, default "source"
        Whose labels are used, see the module. The test's never are, nor its texts.

    Returns
    -------
    SentenceFeatures

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.datasets import LabelledItems, sentiment_splits
    >>> from selftaught.features import SentenceCNN, sentence_features
    >>> y = np.arange(40) % 2
    >>> films, tweets = (
    ...     LabelledItems(name=name, items=np.array([f"{name} {i} is {'good' if i % 2 else 'bad'}" for i in range(40)],
    ...                   dtype=object), y=y, class_names=("negative", "positive")) for name in ("film", "tweet"))
    >>> split, = sentiment_splits(films, tweets, n_train=(5,), n_source=10, n_test=8, random_state=0)
    >>> rows = sentence_features(split, films.items, tweets.items, SentenceCNN(maps=4, n_epochs=2, random_state=0))
    >>> split.problem(rows.target, rows.source, rows.test)
    TransferProblem('tweet to film, 5 per class': 10 labelled rows of 2 classes, 10 source rows (100 % relevant),
    16 test rows, 12 features)
    """
    parts = split.take(texts, source_texts) if split.source_is_apart else split.take(texts)
    if learn_from not in ("source", "target"):
        raise ValueError(
            f"learn_from must be 'source' or 'target', got {learn_from!r}. The test is never learned from."
        )
    learned = (parts.source, split.source_classes) if learn_from == "source" else (parts.target, split.y)
    if (np.asarray(learned[1]) < 0).any():
        raise ValueError("the source's texts are not of the target's classes: fit on the target, learn_from='target'.")
    fitted = clone(cnn).fit(*learned)
    target, source, test = (fitted.transform(part) for part in (parts.target, parts.source, parts.test))
    return SentenceFeatures(target, source, test, fitted)
