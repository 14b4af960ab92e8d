"""The record every dataset returns: a labelled target, an unlabelled source whose truth is known, held-out rows.

Labels are codes `0 .. n_classes - 1` into `class_names`, whatever the data's own labels were, so that `-1` is free to
say "none of the target's classes" in the source.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TransferProblem:
    """A transfer task together with the answers a method must not see.

    A method may use `X`, `y` and `X_source`; everything else is for judging it.

    Attributes
    ----------
    name : str
        Short name, for tables.
    description : str
        What the rows are and where they come from, in a sentence or two.
    X : ndarray of shape (n_target, n_features)
        The labelled target.
    y : ndarray of int, shape (n_target,)
        Its classes, codes into `class_names`; every class has at least one row.
    X_source : ndarray of shape (n_source, n_features)
        The unlabelled pool.
    source_is_relevant : ndarray of bool, shape (n_source,)
        Whether the row belongs to one of the target's classes.
    source_classes : ndarray of int, shape (n_source,)
        The row's true class as a code into `class_names`; -1 where `source_is_relevant` is False.
    X_test, y_test : ndarrays of shape (n_test, n_features) and (n_test,)
        Held-out rows of the target's classes.
    class_names : tuple of str
        Names of the target's classes.
    feature_shape : tuple of int or None
        Shape of one row as an image, `(8, 8)` for instance; None when rows are not images.
    source_kind : ndarray of str, shape (n_source,), or None
        What each source row really is, in words.

    Examples
    --------
    >>> from selftaught.datasets import make_open_set
    >>> problem = make_open_set(n_source=500, n_per_class=3, random_state=0)
    >>> problem
    TransferProblem('open set': 15 labelled rows of 5 classes, 500 source rows (20 % relevant), 200 test rows,
    64 features)
    >>> problem.X[problem.y == 2].shape
    (3, 64)
    """

    name: str
    description: str
    X: np.ndarray
    y: np.ndarray
    X_source: np.ndarray
    source_is_relevant: np.ndarray
    source_classes: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    class_names: tuple[str, ...]
    feature_shape: tuple[int, ...] | None = None
    source_kind: np.ndarray | None = None

    def __post_init__(self):
        for name, rows, labels in [("y", self.X, self.y), ("y_test", self.X_test, self.y_test)]:
            _check_length(name, labels, len(rows))
        for name in ("source_is_relevant", "source_classes", "source_kind"):
            if getattr(self, name) is not None:
                _check_length(name, getattr(self, name), len(self.X_source))
        if len(self.X_source) == 0:
            raise ValueError("X_source is empty; a transfer problem needs at least one source row.")
        widths = {rows.shape[1] for rows in (self.X, self.X_source, self.X_test)}
        if len(widths) > 1:
            raise ValueError(f"X, X_source and X_test must have the same number of features, got {sorted(widths)}.")
        if not np.array_equal(np.unique(self.y), np.arange(len(self.class_names))):
            raise ValueError(
                f"y must hold every code 0 .. {len(self.class_names) - 1} into class_names and no other, "
                f"got {np.unique(self.y)}."
            )
        if not np.array_equal(self.source_is_relevant, self.source_classes >= 0):
            raise ValueError("source_classes must be -1 exactly where source_is_relevant is False.")

    def __repr__(self):
        return (
            f"TransferProblem({self.name!r}: {len(self.X)} labelled rows of {len(self.class_names)} classes, "
            f"{len(self.X_source)} source rows ({100 * np.mean(self.source_is_relevant):.0f} % relevant), "
            f"{len(self.X_test)} test rows, {self.X.shape[1]} features)"
        )


def _check_length(name: str, values: np.ndarray, n_rows: int) -> None:
    if len(values) != n_rows:
        raise ValueError(f"{name} has {len(values)} entries but its rows number {n_rows}; there must be one per row.")
