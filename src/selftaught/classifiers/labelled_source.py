"""Stage 2 up to the classifier: the most relevant source rows, brought into the classifier's coordinates and labelled.

    selector (fitted) -> ranked rows with weight > 0 -> log transferability -> pseudo-labels

`LabelledSource` holds the rows in order of relevance, so that "the first p of it" is the selection of size p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..labeling import gaussian_transferability, mapping_transferability, pseudo_labels

__all__ = ["LabelledSource", "label_source"]


@dataclass(frozen=True)
class LabelledSource:
    """Source rows that may be used, most relevant first.

    ``rows`` (k,) their positions in the source; ``X`` (k, d) in the classifier's coordinates; ``labels`` (k, n_classes)
    rows of probabilities; ``weights`` (k,) in (0, 1].
    """

    rows: np.ndarray
    X: np.ndarray
    labels: np.ndarray
    weights: np.ndarray


def label_source(selector, pool, X, y, n_classes, frame, *, most, transferability, average, labels, sigma2):
    """Label the most relevant source rows.

    Parameters
    ----------
    selector : fitted selector
    pool : SourcePool or None
        Without a source there is nothing to label.
    X : ndarray, shape (n_target, d)
        The target rows the selector was fitted on.
    y : ndarray of int, shape (n_target,)
        Class codes.
    n_classes : int
    frame : Frame
    most : int
        Rows to label at the most; rows of weight zero never count.
    transferability, average, labels, sigma2
        See `selftaught.labeling`.

    Returns
    -------
    LabelledSource
    """
    if pool is None:
        return LabelledSource(np.arange(0), frame.apply(X[:0]), np.empty((0, n_classes)), np.empty(0))
    n_relevant = np.count_nonzero(selector.weights_)
    rows = selector.ranking_[: min(most, n_relevant)]
    raw = pool.take(rows)
    if transferability == "mapping":
        logs = mapping_transferability(selector.mapping_[rows], y, n_classes, average=average)
    else:
        codes = selector.encode(raw) if len(rows) else selector.encode(X)[:0]
        logs = gaussian_transferability(codes, selector.encode(X), y, n_classes, sigma2=sigma2)
    return LabelledSource(rows, frame.apply(raw), pseudo_labels(logs, labels), selector.weights_[rows])
