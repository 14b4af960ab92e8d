"""The record every loader returns: labelled images, texts or rows, before anything is split off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LabelledItems:
    """A whole dataset as its authors labelled it.

    Attributes
    ----------
    name : str
        Short name, for tables.
    items : ndarray of shape (n_items,) or (n_items, n_features)
        What is labelled: paths of images (str), texts (str, held as objects) or rows of numbers.
    y : ndarray of int, shape (n_items,)
        Codes into `class_names`.
    class_names : tuple of str
        Names of the classes, in sorted order unless the dataset numbers them itself.
    groups : ndarray of str, shape (n_items,), or None
        Where each item comes from inside the dataset, such as the official part ("train", "test") or a domain; None
        when there is only one.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.datasets import LabelledItems
    >>> fruit = LabelledItems(name="fruit", items=np.array(["a.jpg", "b.jpg", "c.jpg"]), y=np.array([1, 0, 1]),
    ...                       class_names=("apple", "fig"))
    >>> fruit
    LabelledItems('fruit': 3 items of 2 classes, 1 to 2 each)
    >>> fruit.labels
    array(['fig', 'apple', 'fig'], dtype='<U5')
    """

    name: str
    items: np.ndarray
    y: np.ndarray
    class_names: tuple[str, ...]
    groups: np.ndarray | None = None

    def __post_init__(self):
        for name, values in (("y", self.y), ("groups", self.groups)):
            if values is not None and len(values) != len(self.items):
                raise ValueError(f"{name} has {len(values)} entries for {len(self.items)} items; give one per item.")
        if len(self.y) and not (self.y.min() >= 0 and self.y.max() < len(self.class_names)):
            raise ValueError(
                f"y must hold codes 0 .. {len(self.class_names) - 1} into class_names, got {np.unique(self.y)}."
            )

    @property
    def labels(self) -> np.ndarray:
        """The class name of each item, shape (n_items,)."""
        return np.asarray(self.class_names)[self.y]

    def __repr__(self):
        sizes = np.bincount(self.y, minlength=len(self.class_names))
        spread = f"{sizes.min()} each" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()} each"
        return f"LabelledItems({self.name!r}: {len(self.items)} items of {len(self.class_names)} classes, {spread})"


def labelled_items(name: str, items, labels, *, groups=None) -> LabelledItems:
    """The record of items whose labels are class names."""
    class_names, y = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    return LabelledItems(
        name=name,
        items=items,
        y=y,
        class_names=tuple(map(str, class_names)),
        groups=None if groups is None else np.asarray(groups, dtype=str),
    )


def texts_array(texts) -> np.ndarray:
    """Texts as an array of objects: NumPy's own strings would give every text the room of the longest."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
