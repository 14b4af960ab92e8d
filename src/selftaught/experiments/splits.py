"""The data of each split of the protocol, from a folder as docs/paper.md describes it, and the folds of its target.

    caltech101/siftbow1000.npz, mobilenetv2_1280.npz    X (n, d), one row for each image, of which images_30.csv names
    caltech101/images_30.csv                            30 of each class: columns file, class, row
    imdb/, tweets/                                      texts, as `load_imdb` and `load_tweets` take them

Texts become rows by a network that is trained on the source and its sentiment, never on labels of the target: so the
folds of a target share their features, and no test row or label has had a part in them. They are kept in ``cache``.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from .._files import written_whole
from ..datasets import caltech101_splits, load_imdb, load_tweets, sentiment_splits
from .protocol import N_FOLDS

__all__ = ["Part", "TextFeatures", "load_part", "sentence_features"]

CALTECH_FEATURES = {"caltech-sift": "siftbow1000.npz", "caltech-mobilenet": "mobilenetv2_1280.npz"}
TEXTS = {"tweets-imdb": ("imdb", "tweets"), "imdb-tweets": ("tweets", "imdb")}


@dataclass(frozen=True, eq=False)
class Part:
    """What a unit works on: labelled rows ``X, y``, the source, and rows ``X_test, y_test`` to be judged on.

    float32; ``y`` and ``y_test`` are codes from 0.
    """

    X: np.ndarray
    y: np.ndarray
    X_source: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n_classes(self):
        """Number of classes."""
        return int(self.y.max()) + 1

    def fold(self, number, seed):
        """Return one fold of the labelled rows, the part of them held out as its test."""
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(self.X, self.y)
        train, held_out = list(folds)[number]
        return Part(self.X[train], self.y[train], self.X_source, self.X[held_out], self.y[held_out])


class TextFeatures:
    """How texts become rows: ``fit`` takes texts and their classes and returns a function from texts to rows."""

    def __init__(self, fit):
        self.fit = fit


def sentence_features():
    """Return the features of `SentenceCNN`, with the vectors that `load_word_vectors` finds by itself."""
    from ..features import SentenceCNN, load_word_vectors

    def fit(texts, y, seed):
        return SentenceCNN(load_word_vectors(), random_state=seed).fit(list(texts), y).transform

    return TextFeatures(fit)


@lru_cache(maxsize=2)
def load_part(folder, dataset, split, seed, fold=None, cache=None, text_features=None):
    """Return the rows of one split, or of one fold of its target.

    Parameters
    ----------
    folder : path
        The data.
    dataset : str
        A name in `protocol.DATASETS`.
    split, seed : int
        Number of the split in the draw with this seed.
    fold : int, optional
    cache : path, optional
        Where features of texts are kept.
    text_features : TextFeatures, optional
        `sentence_features` by default.
    """
    if fold is not None:
        return load_part(folder, dataset, split, seed, None, cache, text_features).fold(fold, seed)
    if dataset in CALTECH_FEATURES:
        return _caltech_part(Path(folder) / "caltech101", CALTECH_FEATURES[dataset], split, seed)
    return _text_part(Path(folder), dataset, split, seed, cache, text_features)


def _caltech_part(folder, features, split, seed):
    with open(folder / "images_30.csv", newline="", encoding="utf-8") as lines:
        listed = list(csv.DictReader(lines))
    rows = np.array([int(line["row"]) for line in listed])
    X = np.load(folder / features)["X"][rows].astype(np.float64)
    if features.startswith("sift"):
        X /= X.sum(axis=1, keepdims=True)
    drawn = caltech101_splits([line["class"] for line in listed], random_state=seed)[split]
    target, source, test = drawn.take(X.astype(np.float32))
    return Part(target, drawn.y, source, test, drawn.y_test)


def _text_part(folder, dataset, split, seed, cache, text_features):
    kept = None if cache is None else Path(cache) / f"{dataset}-{split}-seed{seed}.npz"
    if kept is not None and kept.exists():
        arrays = np.load(kept)
        return Part(*(arrays[name] for name in ("X", "y", "X_source", "X_test", "y_test")))
    loaded = {"imdb": load_imdb, "tweets": load_tweets}
    target, source = (loaded[name](folder / name) for name in TEXTS[dataset])
    drawn = sentiment_splits(target, source, random_state=seed)
    dealt = [each.take(target.items, source.items) for each in drawn]
    # Source and test are the same in all splits, and so are their features.
    features = sentence_features() if text_features is None else text_features
    to_rows = features.fit(dealt[0].source, drawn[0].source_classes, seed)
    X_source, X_test = _as_rows(to_rows(dealt[0].source)), _as_rows(to_rows(dealt[0].test))
    parts = [
        Part(_as_rows(to_rows(texts.target)), each.y, X_source, X_test, each.y_test)
        for texts, each in zip(dealt, drawn, strict=True)
    ]
    if kept is not None:
        for number, part in enumerate(parts):
            _keep(kept.with_name(f"{dataset}-{number}-seed{seed}.npz"), part)
    return parts[split]


def _as_rows(X):
    return np.ascontiguousarray(X, dtype=np.float32)


def _keep(path, part):
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as unfinished, open(unfinished, "wb") as file:
        np.savez(file, **vars(part))
