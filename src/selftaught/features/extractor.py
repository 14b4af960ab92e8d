"""What all feature extractors share: from items (image files, arrays, texts) to rows, each item's row by itself.

items -> raw content and its key -> rows found in the cache
                                 -> the others decoded and computed, in batches, in parallel -> cache
      -> rows of the readable items, and what is wrong with the rest

Work goes in rounds of a few batches. After each round its rows are in the cache, so what was interrupted goes on from
there. Items of equal content are computed once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from .._progress import counted
from .row_store import RowStore

__all__ = ["Extracted", "FeatureExtractor", "Unreadable", "UnreadableItems"]

BATCHES_A_ROUND = 4
MOST_NAMED = 5
MOST_LETTERS = 80


class Unreadable(ValueError):
    """One item cannot be read; the message says why, without the item's name."""


class UnreadableItems(ValueError):
    """Items that cannot be read; ``problems`` maps their positions to the reasons."""

    def __init__(self, message: str, problems: dict[int, str]):
        super().__init__(message)
        self.problems = problems


@dataclass(frozen=True, eq=False)
class Extracted:
    """Rows of the items that could be read, and what is wrong with the rest.

    ``X`` (n_kept, d) float32; ``kept`` (n_kept,) their positions among the items; ``problems`` the reason for each
    other position.
    """

    X: np.ndarray
    kept: np.ndarray
    problems: dict[int, str]


class FeatureExtractor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Reading, caching and parallel work common to the extractors.

    A subclass has the parameters ``cache`` (a folder or None) and ``n_jobs``, and gives

        _decode(raw)         what one row is computed from, of an item's raw content; raises `Unreadable`
        _compute(contents)   the rows of a list of these, (len(contents), d) float32; each row for itself
        _recipe()            what decides a row beside the content: plain data and arrays (see `row_store.digest`)
        _n_features_out      d

    Raw content is bytes for a path (str or Path) or a text, and the array itself for an array. A row must not depend on
    the other items, their order or ``n_jobs``, or the cache would hand out another answer than the computation.
    """

    items_are = "images"  # or "texts", in which case a str is the content and not a path
    batch_size = 16
    threads = True  # whether ``n_jobs`` threads work side by side; off where the computation brings its own
    blas_threads = None  # to how many threads NumPy's products are held while rows are computed; None: leave them alone

    def transform(self, X) -> np.ndarray:
        """Return one row for each item.

        Parameters
        ----------
        X : sequence of length n
            Paths or arrays of images, or texts.

        Returns
        -------
        rows : ndarray of float32, shape (n, d)

        Raises
        ------
        UnreadableItems
            After all others are done, and in the cache if there is one. `extract` gives the rows of the others.
        """
        extracted = self.extract(X)
        if extracted.problems:
            what = self._in_words(self._as_items(X), extracted.problems)
            advice = "Leave them out, or use extract(), which gives the rows of the others."
            raise UnreadableItems(f"{what}. {advice}", extracted.problems)
        return extracted.X

    def extract(self, X) -> Extracted:
        """Return the rows of the items that can be read, and what is wrong with the rest.

        Parameters
        ----------
        X : sequence of length n
            Paths or arrays of images, or texts.

        Returns
        -------
        Extracted
        """
        check_is_fitted(self)
        items = self._as_items(X)
        store = None if self.cache is None else RowStore(self.cache, type(self).__name__, self._recipe())
        return self._extract(items, self._compute, self._n_features_out, store)

    def _extract(self, items, compute, n_features, store) -> Extracted:
        """Return the rows that ``compute`` makes of decoded items, by way of a store where there is one."""
        X = np.empty((len(items), n_features), np.float32 if store is None else store.dtype)
        kept, problems = [], {}
        work = self._row_of_each(items, compute, store)
        for position, row in enumerate(counted(work, len(items), self.items_are)):
            if isinstance(row, Unreadable):
                problems[position] = str(row)
            else:
                X[len(kept)] = row
                kept.append(position)
        return Extracted(X[: len(kept)].copy() if problems else X, np.array(kept, dtype=int), problems)

    def _row_of_each(self, items, compute, store) -> Iterator:
        """Yield for each item, in order, its row or what is wrong with it."""
        n_jobs = effective_n_jobs(self.n_jobs) if self.threads else 1
        remaining = iter(items)
        with Parallel(n_jobs=n_jobs, prefer="threads") as parallel:
            while held := list(islice(remaining, self.batch_size * BATCHES_A_ROUND * n_jobs)):
                raws = [self._raw(item) for item in held]
                keys = [None if isinstance(raw, Unreadable) else _key(raw) for raw in raws]
                known: dict[Any, Any] = {} if store is None else store.find({key for key in keys if key is not None})
                missing = {
                    key: raw for key, raw in zip(keys, raws, strict=True) if key not in known and key is not None
                }
                computed = self._compute_all(missing, compute, parallel)
                if store is not None:
                    store.add({key: row for key, row in computed.items() if not isinstance(row, Unreadable)})
                known |= computed
                yield from (raw if key is None else known[key] for key, raw in zip(keys, raws, strict=True))

    def _compute_all(self, raws, compute, parallel):
        """Return the row of each raw content, or what is wrong with it, by its key."""
        keys = list(raws)
        batches = [keys[start : start + self.batch_size] for start in range(0, len(keys), self.batch_size)]
        with self._fewer_threads():
            done = parallel(delayed(self._compute_batch)([raws[key] for key in batch], compute) for batch in batches)
        return {
            key: row for batch, rows in zip(batches, done, strict=True) for key, row in zip(batch, rows, strict=True)
        }

    def _compute_batch(self, raws, compute):
        """Decode and compute one batch; an unreadable item does not keep the others from their rows."""
        contents = [_or_unreadable(self._decode, raw) for raw in raws]
        readable = [content for content in contents if not isinstance(content, Unreadable)]
        rows = iter(compute(readable) if readable else ())
        return [content if isinstance(content, Unreadable) else next(rows) for content in contents]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.input_tags.three_d_array = self.items_are == "images"
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _fewer_threads(self):
        """Hold NumPy's products to ``blas_threads`` inside a block."""
        if self.blas_threads is None:
            return nullcontext()
        return ThreadpoolController().limit(limits=self.blas_threads, user_api="blas")

    def _as_items(self, X: Any) -> Sequence:
        """Return the items as a sequence; one path or text alone is refused."""
        if isinstance(X, (str, bytes, os.PathLike)) or getattr(X, "ndim", 1) == 0 or not hasattr(X, "__len__"):
            raise ValueError(f"X must be a sequence of {self.items_are}, got {X!r:.80}. Put a single one into a list.")
        # A column of a data frame is a sequence too, but its [i] goes by the index.
        return getattr(X, "to_numpy", lambda: X)()

    def _raw(self, item) -> bytes | np.ndarray | Unreadable:
        """Return the content of an item as it is, or what is wrong with it."""
        if isinstance(item, np.ndarray) and self.items_are == "images":
            return item
        if isinstance(item, str) and self.items_are == "texts":
            return item.encode("utf-8", "surrogatepass")
        if isinstance(item, (str, os.PathLike)) and self.items_are == "images":
            return _or_unreadable(_read_file, item)
        allowed = "a path or an array" if self.items_are == "images" else "a text"
        raise ValueError(f"each item must be {allowed}, got {item!r:.80} of type {type(item).__name__}.")

    def _name(self, item, position) -> str:
        """Return how to call an item in a message: a path whole, a text by its beginning."""
        if isinstance(item, np.ndarray):
            return f"number {position}"
        return str(item) if self.items_are == "images" else str(item)[:MOST_LETTERS]

    def _in_words(self, X, problems) -> str:
        """Say which items cannot be read, and why."""
        named = [f"{self._name(X[i], i)}: {why}" for i, why in islice(problems.items(), MOST_NAMED)]
        more = f"; and {len(problems) - MOST_NAMED} more" if len(problems) > MOST_NAMED else ""
        return f"{len(problems)} of {len(X)} {self.items_are} cannot be read: {'; '.join(named)}{more}"


def _read_file(path) -> bytes:
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise Unreadable((error.strerror or str(error)).lower()) from error
    if not raw:
        raise Unreadable("the file is empty")
    return raw


def _or_unreadable(read, item):
    """Return what ``read`` makes of the item, or the `Unreadable` that it raises."""
    try:
        return read(item)
    except Unreadable as problem:
        return problem


def _key(raw: bytes | np.ndarray) -> bytes:
    """Return the SHA-256 of a content; arrays by kind and shape as well."""
    if isinstance(raw, bytes):
        return hashlib.sha256(raw).digest()
    head = f"{raw.dtype.str} {raw.shape} ".encode()
    return hashlib.sha256(head + np.ascontiguousarray(raw).tobytes()).digest()
