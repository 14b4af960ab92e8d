"""A split as row numbers: which items are the labelled target, the source and the test, before there are features.

Features that are learned (a visual vocabulary, a scaler, a network) are fitted on the source and the labelled target
alone. So a split is drawn first; `TransferSplit.take` deals paths, texts or rows to the three parts, and
`TransferSplit.problem` joins the features of the parts to a `TransferProblem`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .problem import TransferProblem


class DealtItems(NamedTuple):
    """Items (paths, texts, rows) of the three parts of a split, in the split's order."""

    target: np.ndarray
    source: np.ndarray
    test: np.ndarray

    @property
    def fitting(self) -> np.ndarray:
        """Source and target without the test: all that features may be fitted on."""
        return np.concatenate([self.source, self.target])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TransferSplit:
    """Which items are the labelled target, the unlabelled source and the test.

    Attributes
    ----------
    name, description : str
        Short name, and what it is in a sentence.
    target_idx, test_idx : ndarrays of int
        Positions in the target's collection.
    source_idx : ndarray of int
        Positions in the source's collection, in random order; `source_is_apart` says whether that is another one.
    y, y_test : ndarrays of int
        Codes of `target_idx` and `test_idx` into `class_names`.
    source_classes : ndarray of int
        True classes of `source_idx`, -1 for none of the target's.
    source_kind : ndarray of str
        Names of these classes.
    class_names : tuple of str
        The target's classes.
    source_is_apart : bool
        Whether the source comes from a collection of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.datasets import caltech101_splits
    >>> labels = np.repeat(["ant", "bee", "cat", "dog"], 40)
    >>> X = np.random.default_rng(0).normal(size=(160, 5))
    >>> split, other = caltech101_splits(labels, n_groups=2, random_state=0)
    >>> split
    TransferSplit('Caltech-101, group 1 of 2': 30 labelled, 60 source, 30 test items)
    >>> parts = split.take(X)
    >>> scale = np.abs(parts.fitting).max()  # anything learned is learned without the test
    >>> split.problem(*(part / scale for part in parts))
    TransferProblem('Caltech-101, group 1 of 2': 30 labelled rows of 2 classes, 60 source rows (0 % relevant),
    30 test rows, 5 features)
    """

    name: str
    description: str
    target_idx: np.ndarray
    y: np.ndarray
    source_idx: np.ndarray
    source_classes: np.ndarray
    source_kind: np.ndarray
    test_idx: np.ndarray
    y_test: np.ndarray
    class_names: tuple[str, ...]
    source_is_apart: bool = False

    def __repr__(self):
        sizes = f"{len(self.target_idx)} labelled, {len(self.source_idx)} source, {len(self.test_idx)} test items"
        return f"TransferSplit({self.name!r}: {sizes})"

    def take(self, items, source_items=None) -> DealtItems:
        """Deal the items of the collection, or of the two collections.

        Parameters
        ----------
        items : array-like of shape (n_items, ...)
            All items of the target's collection: paths, texts or rows.
        source_items : array-like of shape (n_source_items, ...), optional
            All items of the source's, where `source_is_apart`.

        Returns
        -------
        DealtItems
            `target`, `source` and `test`.
        """
        if self.source_is_apart != (source_items is not None):
            raise ValueError(
                "The source of this split is a collection of its own: give its items as source_items."
                if self.source_is_apart
                else "The source of this split comes from the same collection: leave source_items out."
            )
        items = _as_items(items)
        pool = items if source_items is None else _as_items(source_items)
        for collection, idx in ((items, self.target_idx), (items, self.test_idx), (pool, self.source_idx)):
            if idx.max(initial=-1) >= len(collection):
                raise ValueError(
                    f"The split asks for item number {idx.max()} of a collection that has {len(collection)}. Give all "
                    "items of the collection that was split, in the same order."
                )
        return DealtItems(items[self.target_idx], pool[self.source_idx], items[self.test_idx])

    def problem(self, X: np.ndarray, X_source: np.ndarray, X_test: np.ndarray) -> TransferProblem:
        """Join the features of the three parts, in the order of `take`.

        Parameters
        ----------
        X, X_source, X_test : ndarrays of shape (n, n_features)
            Features of the labelled target, the source and the test.

        Returns
        -------
        TransferProblem
        """
        return TransferProblem(
            name=self.name,
            description=self.description,
            X=X,
            y=self.y,
            X_source=X_source,
            source_is_relevant=self.source_classes >= 0,
            source_classes=self.source_classes,
            X_test=X_test,
            y_test=self.y_test,
            class_names=self.class_names,
            source_kind=self.source_kind,
        )


def _as_items(items) -> np.ndarray:
    """Items as an array that can be indexed, without a copy of what is one."""
    if isinstance(items, np.ndarray):
        return items
    if len(items) and isinstance(items[0], str):
        as_objects = np.empty(len(items), dtype=object)
        as_objects[:] = items
        return as_objects
    return np.asarray(items)
