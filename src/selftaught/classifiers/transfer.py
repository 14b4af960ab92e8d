"""What the classifier can be trained on, with the source and without: by selected rows, or by codes.

    TransferByRows     size p = the target rows and the p most relevant source rows, all in one frame
    TransferByCodes    size 0 = the target rows in the plain frame, any other = their codes; no source row joins them

A *size* is a place on the transfer curve. Both ways have

    n_usable                                    the largest size
    trusted_untested                            whether to transfer where the target is too small for folds
    sizes(n_select)                             those of the transfer curve, ascending from 0
    frame(size), train(estimator, size)         how to read rows, and a classifier of class codes
    accuracies(estimator, X, codes, sizes)      on rows held out
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from ..labeling import weighted_copies
from ..model_selection import curve_sizes
from ..softmax import fit_softmax_path, softmax_scores
from .frames import CodeFrame, Frame
from .labelled_source import LabelledSource
from .softmax import SoftmaxClassifier

__all__ = ["TransferByCodes", "TransferByRows"]


@dataclass(frozen=True)
class TransferByRows:
    """The target ``X`` (n_target, d), as the user gave it, its one-hot ``targets``, and source rows that may join."""

    plain: Frame
    X: np.ndarray
    targets: np.ndarray
    source: LabelledSource

    trusted_untested = True

    @property
    def n_usable(self):
        """Source rows that may be used."""
        return len(self.source.rows)

    def sizes(self, n_select):
        """Return the sizes of the transfer curve."""
        return curve_sizes("auto" if n_select == "auto" else self.n_usable, self.n_usable)

    def frame(self, size):
        """Return the frame, the same for all sizes."""
        return self.plain

    def train(self, estimator, size):
        """Return a clone of the estimator trained on the target and the first ``size`` source rows."""
        rows, labels, weights = self.plain.apply(self.X), self.targets, np.ones(len(self.X))
        if size:
            rows = np.concatenate([rows, self.source.X[:size]])
            labels = np.concatenate([labels, self.source.labels[:size]])
            weights = np.concatenate([weights, self.source.weights[:size]])
        return _train(estimator, rows, labels, weights)

    def accuracies(self, estimator, X, codes, sizes):
        """Return the accuracy at each size; the softmax is fitted along the sizes, each fit starting from the last."""
        sizes = np.minimum(sizes, self.n_usable)
        if not isinstance(estimator, SoftmaxClassifier):
            return _accuracies(self, estimator, X, codes, sizes)
        distinct, position = np.unique(sizes, return_inverse=True)
        ranked = self.source.X, self.source.labels, self.source.weights
        fits = fit_softmax_path(self.plain.apply(self.X), self.targets, *ranked, distinct, **estimator.options())
        rows = self.plain.apply(X)
        return np.asarray([np.mean(softmax_scores(rows, fit).argmax(axis=1) == codes) for fit in fits])[position]


@dataclass(frozen=True)
class TransferByCodes:
    """The target ``X`` (n_target, d) and its one-hot ``targets``, plain or coded by what ``n_usable`` rows taught."""

    plain: Frame
    coded: CodeFrame
    X: np.ndarray
    targets: np.ndarray
    n_usable: int

    trusted_untested = False

    def sizes(self, n_select):
        """Return 0 and the whole source, which acts through the dictionary or not at all."""
        return np.array([0, self.n_usable])

    def frame(self, size):
        """Return the coded frame for any size but 0."""
        return self.coded if size else self.plain

    def train(self, estimator, size):
        """Return a clone of the estimator trained on the target rows alone, in the frame of that size."""
        return _train(estimator, self.frame(size).apply(self.X), self.targets, np.ones(len(self.X)))

    def accuracies(self, estimator, X, codes, sizes):
        """Return the accuracy at each size."""
        return _accuracies(self, estimator, X, codes, sizes)


def _accuracies(transfer, estimator, X, codes, sizes):
    """Train anew for each size."""
    return [np.mean(transfer.train(estimator, p).predict(transfer.frame(p).apply(X)) == codes) for p in sizes]


def _train(estimator, rows, labels, weights):
    """Return a classifier of class codes; one that takes no soft labels sees a row once for each class it may be."""
    estimator = clone(estimator)
    if isinstance(estimator, SoftmaxClassifier):
        estimator.classes_ = np.arange(labels.shape[1])
        estimator.n_features_in_ = rows.shape[1]
        return estimator.fit_labels(rows, labels, weights)
    copies, copy_codes, copy_weights = weighted_copies(rows, labels, weights)
    return estimator.fit(copies, copy_codes, sample_weight=copy_weights)
