"""Turn any labelled dataset into an open-set transfer problem.

Some classes become the target. A few of their rows keep their labels; some are hidden, unlabelled, among rows of all
the other classes; the rest are held out. The pool is then open-set: it contains the right thing, mostly the wrong
thing, and the truth is known row by row.
"""

from __future__ import annotations

import numpy as np

from .checks import check_at_least
from .problem import TransferProblem


def open_set_split(
    X,
    y,
    *,
    n_target_classes: int = 10,
    n_labels: int,
    n_pool_per_class: int = 40,
    n_irrelevant: int = 1600,
    min_class_size: int = 75,
    random_state=None,
) -> TransferProblem:
    """Hide rows of a few target classes in a pool of rows of the other classes.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Their classes, numbers or strings.
    n_target_classes : int, default 10
        Classes drawn at random for the target, among those with at least `min_class_size` rows.
    n_labels : int
        Labelled rows per target class.
    n_pool_per_class : int, default 40
        Unlabelled rows of each target class in the pool.
    n_irrelevant : int, default 1600
        Rows of the other classes in the pool, drawn at random from all of them, small classes included.
    min_class_size : int, default 75
        A class with fewer rows never becomes a target. Must exceed `n_labels + n_pool_per_class`, so that every target
        class keeps at least one row for the test.
    random_state : None, int or numpy.random.Generator, default None
        Seed of the draw.

    Returns
    -------
    TransferProblem
        With `n_target_classes * n_labels` labelled rows and `n_target_classes * n_pool_per_class + n_irrelevant`
        source rows in random order; all remaining rows of the target classes are the test. `class_names` are the
        target's labels in sorted order, `source_kind` the label of each source row.

    Notes
    -----
    To learn where the rows went, split the row numbers: with `X=np.arange(n_rows)[:, None]` and the same seed,
    the problem's `X_source[:, 0]` says which row of the data each source row is.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.datasets import open_set_split
    >>> y = np.repeat(["apple", "fig", "pear", "plum"], 20)
    >>> X = np.arange(80.0)[:, None]
    >>> problem = open_set_split(X, y, n_target_classes=2, n_labels=3, n_pool_per_class=5, n_irrelevant=30,
    ...                          min_class_size=10, random_state=0)
    >>> problem.X.shape, problem.X_source.shape, problem.X_test.shape
    ((6, 1), (40, 1), (24, 1))
    """
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 2 or y.shape != (len(X),):
        raise ValueError(f"X must have shape (n_rows, n_features) and y (n_rows,), got {X.shape} and {y.shape}.")
    check_at_least(2, n_target_classes=n_target_classes)
    check_at_least(1, n_labels=n_labels)
    check_at_least(0, n_pool_per_class=n_pool_per_class, n_irrelevant=n_irrelevant)
    if min_class_size <= n_labels + n_pool_per_class:
        raise ValueError(
            f"min_class_size must exceed n_labels + n_pool_per_class = {n_labels + n_pool_per_class}, so that every "
            f"target class keeps rows for the test; got {min_class_size}."
        )
    rng = np.random.default_rng(random_state)
    targets = _draw_target_classes(y, n_target_classes, min_class_size, rng)
    others = np.flatnonzero(~np.isin(y, targets))
    if len(others) < n_irrelevant:
        raise ValueError(
            f"n_irrelevant={n_irrelevant} rows were asked for, but the classes that are not targets have only "
            f"{len(others)}. Lower n_irrelevant or n_target_classes."
        )
    # One shuffled list of rows per class, dealt out in three parts: no row can appear twice.
    shuffled = [rng.permutation(np.flatnonzero(y == target)) for target in targets]
    n_used = n_labels + n_pool_per_class
    train_idx = np.concatenate([rows[:n_labels] for rows in shuffled])
    hidden_idx = np.concatenate([rows[n_labels:n_used] for rows in shuffled])
    test_idx = np.concatenate([rows[n_used:] for rows in shuffled])
    pool_idx = rng.permutation(np.concatenate([hidden_idx, rng.choice(others, n_irrelevant, replace=False)]))

    is_relevant = np.isin(y[pool_idx], targets)
    return TransferProblem(
        name="open-set split",
        description=(
            f"{n_target_classes} of {len(np.unique(y))} classes are the target; {n_pool_per_class} unlabelled rows of "
            f"each are hidden among {n_irrelevant} rows of the other classes."
        ),
        X=X[train_idx],
        y=np.searchsorted(targets, y[train_idx]),
        X_source=X[pool_idx],
        source_is_relevant=is_relevant,
        source_classes=np.where(is_relevant, np.searchsorted(targets, y[pool_idx]), -1),
        X_test=X[test_idx],
        y_test=np.searchsorted(targets, y[test_idx]),
        class_names=tuple(str(target) for target in targets),
        source_kind=y[pool_idx].astype(str),
    )


def _draw_target_classes(y: np.ndarray, n_target_classes: int, min_class_size: int, rng) -> np.ndarray:
    """The sorted labels of the drawn classes."""
    labels, sizes = np.unique(y, return_counts=True)
    large = labels[sizes >= min_class_size]
    if len(large) < n_target_classes:
        raise ValueError(
            f"n_target_classes={n_target_classes}, but only {len(large)} of the {len(labels)} classes have at least "
            f"min_class_size={min_class_size} rows (the largest has {sizes.max(initial=0)}). Lower one of the two."
        )
    return np.sort(rng.choice(large, n_target_classes, replace=False))
