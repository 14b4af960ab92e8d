"""Training the network for texts: Adadelta over shuffled batches, the best pass kept (Kim, 2014).

for each pass:  for each batch:  put out activations at random -> loss and gradient -> a step -> shorten the weights
                the texts held out -> is this the best pass so far?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from .._progress import counted, report_round
from .adadelta import Adadelta
from .sentence_net import SentenceNet, activations, class_scores, loss_and_gradient

__all__ = ["Descent", "Epoch", "cap_norms", "set_apart", "train_net"]

LEAST_STEPS = 20  # in a pass: Adadelta begins with short steps, and with few texts would not come far in larger batches


@dataclass(frozen=True)
class Epoch:
    """One pass over the training texts.

    ``loss`` the mean cross-entropy of the batches as they were met, with dropout; ``held_out_accuracy`` and
    ``held_out_loss`` after the pass, of the texts kept apart, NaN where there are none.
    """

    loss: float
    held_out_accuracy: float
    held_out_loss: float


@dataclass(frozen=True)
class Descent:
    """How to train; the fields are those parameters of `SentenceCNN`, ``tune`` is the opposite of its ``static``."""

    tune: bool = True
    dropout: float = 0.5
    norm_cap: float = 3.0
    n_epochs: int = 25
    batch_size: int = 50
    learning_rate: float = 1.0
    patience: int = 5
    verbose: int = 0


def train_net(
    net: SentenceNet,
    texts: Sequence[np.ndarray],
    codes: np.ndarray,
    held_out: tuple[Sequence[np.ndarray], np.ndarray],
    settings: Descent,
    rng,
    spread: Callable | None = None,
) -> tuple[SentenceNet, tuple[Epoch, ...], int]:
    """Train a net.

    Parameters
    ----------
    net : SentenceNet
        Where to start; it is changed.
    texts : sequence of n integer arrays
        Rows of ``net.vectors``.
    codes : ndarray of int, shape (n,)
        Their classes.
    held_out : pair of texts and codes
        What chooses the pass; with no texts the last is kept.
    settings : Descent
    rng : numpy.random.RandomState
    spread : callable, optional
        As in `loss_and_gradient`.

    Returns
    -------
    net : SentenceNet
        As it was after the best pass.
    epochs : tuple of Epoch
    best : int
        Which of them it was.
    """
    descend = _make_descent(net, settings)
    best_net, best, epochs = net, 0, []
    batch_size = min(settings.batch_size, max(1, len(texts) // LEAST_STEPS))
    for number in counted(range(settings.n_epochs), settings.n_epochs, "passes over the texts"):
        losses = []
        order = rng.permutation(len(texts))
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            mask = rng.random_sample((len(batch), len(net.offsets))).astype(np.float32) >= settings.dropout
            loss, gradient = loss_and_gradient(
                net, [texts[i] for i in batch], codes[batch], mask, tune=settings.tune, spread=spread
            )
            descend(gradient)
            losses.append(loss * len(batch))
        epochs.append(Epoch(sum(losses) / len(order), *_judge(net, held_out, settings, spread)))
        if settings.verbose:
            report_round(number + 1, epochs[-1].loss)
        if not len(held_out[1]) or number == 0 or _order(epochs[-1]) > _order(epochs[best]):
            best = number
            best_net = net.copy() if len(held_out[1]) else net
        elif number - best >= settings.patience:
            break
    return best_net, tuple(epochs), best


def set_apart(codes, fraction: float, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of texts to train on and of those to hold out: of each class a share, at least one.

    A class of a single text is not held out, and with a fraction of 0 none is.
    """
    held_out = []
    for code in np.unique(codes) if fraction > 0 else ():
        rows = rng.permutation(np.flatnonzero(codes == code))
        held_out.extend(rows[: min(max(1, round(fraction * len(rows))), len(rows) - 1)])
    return np.setdiff1d(np.arange(len(codes)), held_out), np.sort(np.array(held_out, dtype=np.intp))


def cap_norms(weights: np.ndarray, cap: float) -> None:
    """Shorten each row of the weights, in place, to at most the length ``cap``."""
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    weights *= np.minimum(1, cap / np.maximum(lengths, np.finfo(np.float32).tiny))


def _make_descent(net, settings):
    """Return a function that takes a step in all parameters of the net, given their gradient."""
    offsets, weights, intercept = (
        Adadelta(parameter, settings.learning_rate) for parameter in (net.offsets, net.weights, net.intercept)
    )
    filters = [Adadelta(parameter, settings.learning_rate) for parameter in net.filters]
    vectors = Adadelta(net.vectors, settings.learning_rate) if settings.tune else None

    def descend(gradient):
        for state, part in zip(filters, gradient.filters, strict=True):
            state.descend(part)
        offsets.descend(gradient.offsets)
        weights.descend(gradient.weights)
        intercept.descend(gradient.intercept)
        if vectors is not None:
            vectors.descend(gradient.vectors, gradient.words)
        cap_norms(net.weights, settings.norm_cap)

    return descend


def _judge(net, held_out, settings, spread):
    """Return the accuracy and the mean cross-entropy of the texts held out."""
    texts, codes = held_out
    if not len(codes):
        return float("nan"), float("nan")
    n = settings.batch_size
    z = np.concatenate([activations(net, texts[i : i + n], spread=spread) for i in range(0, len(texts), n)])
    scores = class_scores(net, z, settings.dropout).astype(np.float64)
    losses = -special.log_softmax(scores, axis=1)[np.arange(len(codes)), codes]
    return float((scores.argmax(axis=1) == codes).mean()), float(losses.mean())


def _order(epoch):
    """Return what makes one pass better than another."""
    return epoch.held_out_accuracy, -epoch.held_out_loss
