"""The network of Kim (2014) for texts: its activations, and the gradient of its loss.

A text is its words' vectors, (n, d), between endless rows of zeros. Filter k of width w has weights ``F_k`` (w, d) and
an offset ``b_k``; over all windows of w rows, from the first that is all zeros to the last that holds a word,

    s_kt = sum_j  F_kj . x_(t+j),        z_k = relu(b_k + max_t s_kt)

The activations z (n_filters,) are the features. A text without words has z = relu(b). During training a random half of
them is put out, and ``softmax(V (mask z) + c)`` is held against the class; when all are there, V counts half.

**Why it is quick.** A word adds the same ``F_kj . x`` to a window wherever it stands. So each different word of some
texts is multiplied once with all filters, (n_different, d) x (d, w n_filters), and windows are sums of w rows of these
products. Words repeat, so this multiplies less than a convolution does, and the longer the vectors, the more it saves.
The maximum passes the gradient to one window for each text and filter: the gradient in the products is a sparse matrix
with w entries for each of these, and one sparse product gives the gradient in the filters, another that in the vectors.
No text is padded to the length of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse, special

__all__ = ["Gradient", "SentenceNet", "activations", "class_scores", "loss_and_gradient", "start_net"]

TILE = 96  # words multiplied at once
AT_A_TIME = 128  # filters whose products are held at once: few enough to stay near the processor


@dataclass(eq=False)
class SentenceNet:
    """The parameters, all float32.

    ``vectors`` (n_words + 1, d), row 0 zeros: what stands before, after and in place of words nobody knows;
    ``filters`` for each width (n_maps, width, d); ``offsets`` (n_filters,); ``weights`` (n_classes, n_filters) and
    ``intercept`` (n_classes,) of the softmax.
    """

    vectors: np.ndarray
    filters: tuple[np.ndarray, ...]
    offsets: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray

    @property
    def widest(self) -> int:
        """The largest width of a filter."""
        return max(filters.shape[1] for filters in self.filters)

    def copy(self) -> SentenceNet:
        """Return a net of its own arrays."""
        parts = (self.offsets.copy(), self.weights.copy(), self.intercept.copy())
        return SentenceNet(self.vectors.copy(), tuple(filters.copy() for filters in self.filters), *parts)


@dataclass(frozen=True, eq=False)
class Gradient:
    """The gradient of the loss, in the shapes of `SentenceNet`; of the vectors only the rows ``words`` (U,), if any."""

    words: np.ndarray
    vectors: np.ndarray | None
    filters: tuple[np.ndarray, ...]
    offsets: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray


def start_net(vectors, widths, n_maps, n_classes, rng) -> SentenceNet:
    """Return a net to start from: small random filters, everything after them zero.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n_words + 1, d)
    widths : sequence of int
    n_maps : int
        Filters of each width.
    n_classes : int
    rng : numpy.random.RandomState
    """
    d, n_filters = vectors.shape[1], n_maps * len(widths)
    filters = tuple(rng.uniform(-0.01, 0.01, (n_maps, width, d)).astype(np.float32) for width in widths)
    weights = np.zeros((n_classes, n_filters), np.float32)
    return SentenceNet(vectors, filters, np.zeros(n_filters, np.float32), weights, np.zeros(n_classes, np.float32))


def activations(net: SentenceNet, texts: Sequence[np.ndarray], *, spread: Callable | None = None) -> np.ndarray:
    """Return the features z of texts.

    Parameters
    ----------
    net : SentenceNet
    texts : sequence of n integer arrays
        Rows of ``net.vectors``, a text each, of any lengths.
    spread : callable, optional
        As in `loss_and_gradient`.

    Returns
    -------
    z : ndarray of float32, shape (n, n_filters)
    """
    words, padded = _different_words(net, texts)
    known = net.vectors[words]
    largest = [_windows(known, filters, padded, net.widest, spread)[0] for filters in net.filters]
    return np.maximum(np.concatenate(largest, axis=1) + net.offsets, 0)


def class_scores(net: SentenceNet, z: np.ndarray, dropout: float) -> np.ndarray:
    """Return the scores of classes, (n, n_classes), for features of which in training a share was put out."""
    return (1 - dropout) * (z @ net.weights.T) + net.intercept


def loss_and_gradient(
    net: SentenceNet, texts: Sequence[np.ndarray], codes, mask, *, tune=True, spread: Callable | None = None
) -> tuple[float, Gradient]:
    """Return the mean cross-entropy and its gradient in all parameters.

    Parameters
    ----------
    net : SentenceNet
    texts : sequence of n integer arrays
        Rows of ``net.vectors``.
    codes : ndarray of int, shape (n,)
        The classes.
    mask : ndarray, shape (n, n_filters)
        1 where an activation counts, 0 where it is put out.
    tune : bool, default True
        Whether the gradient in the vectors is wanted; row 0 has none.
    spread : callable, optional
        ``spread(work, n)`` calls ``work(i)`` for i below n, perhaps several at once.

    Returns
    -------
    loss : float
    gradient : Gradient
    """
    words, padded = _different_words(net, texts)
    known = net.vectors[words]
    found = [_windows(known, filters, padded, net.widest, spread, where=True) for filters in net.filters]
    z = np.maximum(np.concatenate([largest for largest, _ in found], axis=1) + net.offsets, 0)
    scores = (z * mask) @ net.weights.T + net.intercept
    loss, d_scores = _cross_entropy(scores, codes)
    d_z = (d_scores @ net.weights) * mask * (z > 0)
    d_vectors = np.zeros_like(known) if tune else None
    d_filters, first = [], 0
    for (_, starts), filters in zip(found, net.filters, strict=True):
        ids = _chosen_words(padded, starts, filters.shape[1], net.widest)
        d_filters.append(_backward(d_z[:, first : first + len(filters)], ids, known, filters, d_vectors))
        first += len(filters)
    if d_vectors is not None:
        d_vectors[0] = 0
    return loss, Gradient(
        words, d_vectors, tuple(d_filters), d_z.sum(axis=0), d_scores.T @ (z * mask), d_scores.sum(axis=0)
    )


def _different_words(net, texts):
    """Return the different words (U,), 0 first, and the texts as positions among them, between zeros."""
    lengths = [len(text) for text in texts]
    joined = np.concatenate([np.zeros(1, np.intp), *texts]).astype(np.intp, copy=False)
    words, places = np.unique(joined, return_inverse=True)
    zeros = np.zeros(net.widest, np.intp)
    parts = np.split(places.reshape(-1)[1:], np.cumsum(lengths)[:-1]) if lengths else []
    return words, [np.concatenate([zeros, part, zeros]) for part in parts]


def _windows(known, filters, padded, widest, spread=None, *, where=False):
    """Return for each text and filter the largest sum s, (n, n_maps), and if asked ``where``, its window's number."""
    largest = np.empty((len(padded), len(filters)), known.dtype)
    starts = np.empty(largest.shape if where else (0, 0), np.intp)
    for first in range(0, len(filters), AT_A_TIME):
        columns = slice(first, first + AT_A_TIME)
        some = filters[columns]
        multiply = np.matmul if where else _products
        products = [multiply(known, some[:, j].T) for j in range(filters.shape[1])]

        def reduce(i, products=products, columns=columns):
            sums = _window_sums(products, padded[i], widest)
            if where:
                starts[i, columns] = best = sums.argmax(axis=0)
                largest[i, columns] = sums[best, np.arange(len(best))]
            else:
                largest[i, columns] = sums.max(axis=0)

        (spread or _one_by_one)(reduce, len(padded))
    return largest, starts


def _products(known, filters):
    """Return ``known filters``, (U, d) times (d, m), each row as if it were alone, to the last bit.

    BLAS adds in another order at the end of a matrix than in its middle, and small matrices in yet another; in float32
    even the rows of a tile differ, in float64 they do not. So words are multiplied in tiles of one size, in float64.
    Training does without: there a word's neighbours are part of the draw.
    """
    tiles = np.zeros((-(-len(known) // TILE), TILE, known.shape[1]))
    tiles.reshape(-1, known.shape[1])[: len(known)] = known
    products = (tiles @ filters.astype(np.float64)).reshape(-1, filters.shape[1])
    return products.astype(known.dtype)


def _window_sums(products, places, widest):
    """Return the sums s (n_windows, n_maps) of one text."""
    width = len(products)
    n_windows = len(places) - 2 * widest + width
    first = widest - width
    sums = products[0].take(places[first : first + n_windows], axis=0)
    for j in range(1, width):
        sums += products[j].take(places[first + j : first + j + n_windows], axis=0)
    return sums


def _chosen_words(padded, starts, width, widest):
    """Return the positions of the words in the window that each filter has chosen, (n, n_maps, width)."""
    steps = starts[:, :, None] + np.arange(widest - width, widest)
    return np.stack([places[step] for places, step in zip(padded, steps, strict=True)])


def _backward(d_s, ids, known, filters, d_vectors):
    """Return the gradient in the filters, and add that in the vectors to ``d_vectors`` (U, d), where there is one."""
    n, n_maps = d_s.shape
    d_filters = np.empty_like(filters)
    ends = np.arange(0, n * n_maps + 1, n)
    entries: Any = np.ascontiguousarray(d_s.T).ravel()
    for j in range(filters.shape[1]):
        shape = (n_maps, len(known))
        d_products = sparse.csr_array((entries, np.ascontiguousarray(ids[:, :, j].T).ravel(), ends), shape=shape)
        d_filters[:, j] = d_products @ known
        if d_vectors is not None:
            d_vectors += d_products.T @ np.ascontiguousarray(filters[:, j])
    return d_filters


def _cross_entropy(scores, codes):
    """Return the mean cross-entropy, and its gradient in the scores."""
    rows = np.arange(len(codes))
    log_shares = special.log_softmax(scores.astype(np.float64), axis=1)
    d_scores = np.exp(log_shares)
    d_scores[rows, codes] -= 1
    return float(-log_shares[rows, codes].mean()), (d_scores / len(codes)).astype(scores.dtype)


def _one_by_one(work, n):
    for i in range(n):
        work(i)
