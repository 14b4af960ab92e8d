"""Rows that a neural network computes: opened when it is needed, never part of the fitted estimator.

    items -> what the network sees (`ImageInput`, `TextInput`) -> its answer -> one row each

Each of ``n_jobs`` threads prepares and computes batches of its own, with one thread of the network's: on two cores
this was faster than one batch at a time on both for all but VGG-19, where it made little difference: preparing and
small layers gain nothing from a second thread.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from .._parameters import Interval, check_parameters
from .extractor import FeatureExtractor

__all__ = ["Network", "NetworkFeatures", "Opened", "pooled"]


class Network(Protocol):
    """A network that was opened: ``fingerprint`` is its content, ``at_once`` how many items it may take together."""

    fingerprint: str
    at_once: int | None

    def run(self, inputs: Any) -> np.ndarray:
        """Return the network's answer to a batch of images (array) or texts (dict of arrays)."""
        ...

    def alone(self) -> AbstractContextManager:
        """Keep each caller to one thread, inside a block."""
        ...


class Opened:
    """A network and the reader of its items."""

    def __init__(self, network: Network, reader):
        self.network, self.reader = network, reader

    def rows(self, contents, at_most, make_rows) -> np.ndarray:
        """Return what ``make_rows(answer, mask)`` makes of the network's answers, in the order of the contents."""
        rows, order, at_most = [], [], min(at_most, self.network.at_once or at_most)
        for positions in self.reader.pieces(contents, at_most):
            inputs, mask = self.reader.batch([contents[i] for i in positions])
            answer = self.network.run(inputs)
            if answer.shape[:1] != (len(positions),):
                raise ValueError(
                    f"the network answered {len(positions)} {self.reader.items_are} with an array of shape "
                    f"{answer.shape}; its first number should be theirs."
                )
            rows.append(make_rows(answer, mask))
            order.extend(positions)
        together = np.concatenate(rows)
        in_order = np.empty_like(together)
        in_order[order] = together
        return in_order


# Open networks of estimators that still exist: not attributes, so that copies and files of estimators stay small.
_OPEN: WeakKeyDictionary[NetworkFeatures, Opened] = WeakKeyDictionary()
_OPENING = RLock()


class NetworkFeatures(FeatureExtractor):
    """What extractors by a neural network share.

    A subclass has the parameters ``batch_size``, ``cache`` and ``n_jobs``, and gives

        _open()                   the network and the reader, as `Opened`; raises what is wrong with the files
        _rows(answer, mask)       rows (n, d) of the network's answer to a batch
        _settings()               what decides a row beside the network and its reader: plain data
    """

    batch_size: int

    def fit(self, X=None, y=None):
        """Open the network and try it on a blank item; nothing is learned.

        Parameters
        ----------
        X, y : ignored

        Returns
        -------
        self
        """
        self._check()
        opened = self._open()
        row = opened.rows([opened.reader.blank()], 1, self._rows)
        self.fingerprint_ = opened.network.fingerprint
        self.input_recipe_ = opened.reader.recipe()
        self.n_features_ = row.shape[1]
        _OPEN[self] = opened
        return self

    @abstractmethod
    def _open(self) -> Opened: ...

    @abstractmethod
    def _rows(self, answer: np.ndarray, mask: np.ndarray | None) -> np.ndarray: ...

    @abstractmethod
    def _settings(self) -> dict: ...

    def _check(self):
        check_parameters(self, {"batch_size": (Interval(1, whole=True),)})

    @property
    def _n_features_out(self):
        return self.n_features_

    def _recipe(self):
        return {"network": self.fingerprint_, "input": self.input_recipe_, **self._settings()}

    def _opened(self) -> Opened:
        """Return the network and its reader, opened anew where this estimator is a copy or comes from a file."""
        with _OPENING:
            if self not in _OPEN:
                opened = self._open()
                if (opened.network.fingerprint, opened.reader.recipe()) != (self.fingerprint_, self.input_recipe_):
                    raise ValueError(
                        f"the model or its tokenizer has changed since {type(self).__name__} was fitted. Fit it again; "
                        "rows computed before are of another model."
                    )
                _OPEN[self] = opened
            return _OPEN[self]

    def _extract(self, items, compute, n_features, store):
        with self._opened().network.alone():
            return super()._extract(items, compute, n_features, store)

    def _decode(self, raw):
        return self._opened().reader.decode(raw)

    def _compute(self, contents):
        return self._opened().rows(contents, self.batch_size, self._rows)


def pooled(answer: np.ndarray, mask: np.ndarray | None, pooling: str) -> np.ndarray:
    """Return one row for each item of a network's answer.

    Parameters
    ----------
    answer : ndarray of shape (n, d), (n, n_tokens, d) or (n, d, height, width)
        The first has no positions and is returned as it is.
    mask : bool ndarray of shape (n, n_tokens), or None
        False for padding; None where the items are images.
    pooling : {"mean", "cls", "none"}
        The mean over the positions that are no padding, the first token, or all positions one after another.
    """
    if answer.ndim == 2:
        return answer
    if answer.ndim not in (3, 4) or (mask is not None and answer.shape[:2] != mask.shape):
        raise ValueError(
            f"rows are made of outputs of shape (n, d), (n, n_tokens, d) or (n, d, height, width), and this one has "
            f"{answer.shape}. Name another with output=."
        )
    if pooling == "none":
        if mask is not None:
            raise ValueError(
                "pooling='none' would give each text as many numbers as it has tokens: use 'mean' or 'cls'."
            )
        return answer.reshape(len(answer), -1)
    if pooling == "cls":
        if answer.ndim == 4:
            raise ValueError("pooling='cls' takes the first token, and this output is a map of places: use 'mean'.")
        return answer[:, 0]
    if answer.ndim == 4:
        return answer.mean(axis=(2, 3))
    if mask is None:
        return answer.mean(axis=1)
    kept = mask.astype(answer.dtype)
    return np.einsum("ntd,nt->nd", answer, kept) / kept.sum(axis=1, keepdims=True)
