"""The splits of the GASTL paper.

    Caltech-101    30 images of each of 100 classes; 5 groups of 20 classes, each the target once: 15 training and 15
                   test images of each of its classes; the 30 images of each of the other 80 classes are the source
    IMDB, tweets   3,000 source texts of one; of the other 10, 100 or 1000 training and 750 test texts per class

Which images, groups and texts the paper drew is not published: a seed stands for one such draw. That the source texts
are half negative, half positive is our reading of "the number of samples from each class to be the same", and
2 (1000 + 750) + 3000 = 6,500 is the number of texts that the paper reports for each collection.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np

from .checks import check_at_least
from .labelled import LabelledItems
from .transfer_split import TransferSplit


def caltech101_splits(
    labels,
    *,
    n_per_class: int = 30,
    n_groups: int = 5,
    n_train: int = 15,
    exclude: tuple[str, ...] = ("BACKGROUND_Google", "Faces_easy"),
    random_state=None,
) -> tuple[TransferSplit, ...]:
    """Split images into groups of classes, each of which is the target once and the others then its source.

    Parameters
    ----------
    labels : array-like of shape (n_items,)
        Class names: `load_caltech101(...).labels`, or those of any other dataset with many classes.
    n_per_class : int, default 30
        Items drawn of each class.
    n_groups : int, default 5
        Groups the classes are divided into at random; sizes differ by at most one.
    n_train : int, default 15
        Labelled items per target class; the other `n_per_class - n_train` are the test.
    exclude : tuple of str, default ("BACKGROUND_Google", "Faces_easy")
        Classes left out; names that do not occur are ignored.
    random_state : None, int or numpy.random.Generator, default None
        Seed of the draw. It goes by the order of the items: sort paths first, as `load_caltech101` does.

    Returns
    -------
    tuple of TransferSplit
        One per group. All draw from the same `n_per_class` items of each class.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.datasets import caltech101_splits
    >>> labels = np.repeat([f"class {c}" for c in range(100)], 31)
    >>> splits = caltech101_splits(labels, random_state=0)
    >>> len(splits), splits[0]
    (5, TransferSplit('Caltech-101, group 1 of 5': 300 labelled, 2400 source, 300 test items))
    """
    labels = np.asarray(labels, dtype=str)
    classes = np.setdiff1d(labels, exclude)
    check_at_least(2, n_groups=n_groups)
    if not 1 <= n_train < n_per_class:
        raise ValueError(f"n_train must be in [1, n_per_class - 1 = {n_per_class - 1}], got {n_train}.")
    if len(classes) < 2 * n_groups:
        raise ValueError(f"n_groups must be at most {len(classes) // 2}: a target needs two of the {len(classes)} "
                         f"classes; got {n_groups}.")  # fmt: skip
    rng = np.random.default_rng(random_state)
    drawn = {label: _draw(label, labels, n_per_class, rng) for label in classes.tolist()}
    groups = [np.sort(group) for group in np.array_split(rng.permutation(classes), n_groups)]
    return tuple(
        _group_split(f"Caltech-101, group {i + 1} of {n_groups}", group.tolist(), drawn, n_train, rng)
        for i, group in enumerate(groups)
    )


def sentiment_splits(
    target: LabelledItems,
    source: LabelledItems,
    *,
    n_train: tuple[int, ...] = (10, 100, 1000),
    n_source: int = 3000,
    n_test: int = 750,
    random_state=None,
) -> tuple[TransferSplit, ...]:
    """Take texts of one collection as the unlabelled source, and a few labelled ones of another as the target.

    Within a collection, rows are dealt to three parts, for training, for test and as a source, which do not overlap.
    With an integer seed, a collection is dealt the same way whether it is the target or the source.

    Parameters
    ----------
    target, source : LabelledItems
        Texts with the same class names: from `load_imdb` and `load_tweets`, in either order.
    n_train : tuple of int, default (10, 100, 1000)
        Labelled texts per class, one split for each number. A smaller training set is part of a larger one.
    n_source : int, default 3000
        Source texts, the same number of each class.
    n_test : int, default 750
        Test texts per class, the same in all splits.
    random_state : None, int or numpy.random.Generator, default None
        Seed of the draw.

    Returns
    -------
    tuple of TransferSplit
        One per number in `n_train`, with the same source and test.

    Notes
    -----
    Texts that differ only in case or spacing count as one, and the first is kept. Those that occur with two labels, and
    those that occur in both collections, are left out. So no text, however often it is repeated, is in two parts.

    Examples
    --------
    >>> from selftaught.datasets import LabelledItems, sentiment_splits
    >>> import numpy as np
    >>> y = np.arange(40) % 2
    >>> films, tweets = (
    ...     LabelledItems(name=name, items=np.array([f"{name} number {i}" for i in range(40)], dtype=object), y=y,
    ...                   class_names=("negative", "positive")) for name in ("film", "tweet"))
    >>> small, large = sentiment_splits(films, tweets, n_train=(1, 5), n_source=10, n_test=8, random_state=0)
    >>> large
    TransferSplit('tweet to film, 5 per class': 10 labelled, 10 source, 16 test items)
    >>> large.take(films.items, tweets.items).target[0]
    'film number 8'
    """
    if target.class_names != source.class_names:
        raise ValueError(
            f"target and source must have the same classes, got {target.class_names} and {source.class_names}."
        )
    n_classes = len(target.class_names)
    n_train = tuple(n_train)
    if not n_train or min(n_train) < 1:
        raise ValueError(f"n_train must hold at least one number, each at least 1, got {n_train}.")
    check_at_least(1, n_test=n_test)
    if n_source < n_classes or n_source % n_classes:
        raise ValueError(f"n_source must be a multiple of the number of classes, {n_classes}, got {n_source}.")
    n_labelled, n_hidden = max(n_train), n_source // n_classes
    if not isinstance(random_state, Integral):
        random_state = np.random.default_rng(random_state).integers(2**63)
    seed = int(random_state)
    keys, foreign_keys = ([_text_key(text) for text in collection.items] for collection in (target, source))
    in_target = _deal(target, keys, {*foreign_keys}, [n_labelled, n_test], seed)
    in_source = _deal(source, foreign_keys, {*keys}, [n_labelled, n_test, n_hidden], seed)

    test_idx = np.concatenate([test for _, test in in_target])
    source_idx = np.random.default_rng(seed).permutation(np.concatenate([hidden for *_, hidden in in_source]))
    splits = []
    for n in n_train:
        target_idx = np.concatenate([labelled[:n] for labelled, _ in in_target])
        splits.append(
            TransferSplit(
                name=f"{source.name} to {target.name}, {n} per class",
                description=f"{n} labelled {target.name} texts per class, {n_source} {source.name} texts as source.",
                target_idx=target_idx,
                y=target.y[target_idx],
                source_idx=source_idx,
                source_classes=source.y[source_idx],
                source_kind=source.labels[source_idx],
                test_idx=test_idx,
                y_test=target.y[test_idx],
                class_names=target.class_names,
                source_is_apart=True,
            )
        )
    return tuple(splits)


def _draw(label: str, labels: np.ndarray, n: int, rng) -> np.ndarray:
    """Positions of `n` random items of a class."""
    rows = np.flatnonzero(labels == label)
    if len(rows) < n:
        raise ValueError(f"n_per_class must be at most {len(rows)}, the items of the class {label!r}, got {n}.")
    return rng.permutation(rows)[:n]


def _group_split(name: str, group: list[str], drawn: dict[str, np.ndarray], n_train: int, rng) -> TransferSplit:
    """The split in which one group of classes is the target and all others are the source."""
    others = [label for label in drawn if label not in group]
    n_per_class = len(drawn[group[0]])
    codes = np.arange(len(group))
    source_idx = np.concatenate([drawn[label] for label in others])
    order = rng.permutation(len(source_idx))
    return TransferSplit(
        name=name,
        description=f"{len(group)} classes of images are the target, the images of {len(others)} others the source.",
        target_idx=np.concatenate([drawn[label][:n_train] for label in group]),
        y=np.repeat(codes, n_train),
        source_idx=source_idx[order],
        source_classes=np.full(len(source_idx), -1),
        source_kind=np.repeat(others, n_per_class)[order],
        test_idx=np.concatenate([drawn[label][n_train:] for label in group]),
        y_test=np.repeat(codes, n_per_class - n_train),
        class_names=tuple(group),
    )


def _deal(data: LabelledItems, keys: list[str], foreign_keys: set[str], sizes: list[int], seed: int) -> list:
    """For each class, random positions in parts of the given sizes."""
    usable = _usable(data, keys, foreign_keys)
    rng = np.random.default_rng(seed)
    parts = []
    for code, class_name in enumerate(data.class_names):
        rows = rng.permutation(usable[data.y[usable] == code])
        if len(rows) < sum(sizes):
            raise ValueError(
                f"{data.name} has {len(rows)} usable texts of the class {class_name!r}, but "
                f"{' + '.join(map(str, sizes))} are needed (training, test, source). Ask for fewer."
            )
        parts.append(np.split(rows, np.cumsum(sizes))[: len(sizes)])
    return parts


def _usable(data: LabelledItems, keys: list[str], foreign_keys: set[str]) -> np.ndarray:
    """Positions of texts that are the first of their key, have one label only, and are not in the other collection."""
    first, ambiguous = {}, {""}
    for i, key in enumerate(keys):
        earlier = first.setdefault(key, i)
        if data.y[earlier] != data.y[i]:
            ambiguous.add(key)
    return np.array([i for key, i in first.items() if key not in ambiguous and key not in foreign_keys], dtype=int)


def _text_key(text: str) -> str:
    return " ".join(text.casefold().split())
