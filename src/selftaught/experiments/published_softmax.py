"""The published softmax for every number of source rows and every kind of pseudo-label at once.

No penalty, no offset, from zero, 400 iterations of L-BFGS at most: with classes that can be separated there is no
minimum, and where the iteration ends defines the model. The ends are those of minFunc, which the paper used: no entry of
the gradient above 1e-5, or a change of value or point below 1e-9.

The fits of one ranking share their rows: the first p source rows for each p, with other labels for each variant. So
they are minimised side by side (`_lbfgs`), several numbers of rows in one product, rows beyond a fit's own p at weight
zero. Where rows are fewer than features the fit never leaves their span, and is made in coordinates of it.
"""

from __future__ import annotations

import numpy as np

from .._lbfgs import minimise_many

__all__ = ["published_coefs"]

MAX_ITER, GTOL, FTOL = 400, 1e-5, 1e-9
# Numbers of rows share a product as long as the largest is not much more than they need on average.
WASTE = 1.35


def published_coefs(X_target, targets, X_ranked, weights, label_sets, sizes, *, max_iter=MAX_ITER, history=20):
    """Return the coefficients of every fit, shape (n_sets, n_sizes, n_classes, d).

    Parameters
    ----------
    X_target : ndarray, shape (n_target, d)
        The labelled rows, each of weight 1.
    targets : ndarray, shape (n_target, n_classes)
        Their classes, one-hot.
    X_ranked : ndarray, shape (n_ranked, d)
        Source rows, most relevant first.
    weights : ndarray, shape (n_ranked,)
        Their weights.
    label_sets : ndarray, shape (n_sets, n_ranked, n_classes)
        Their pseudo-labels, once for each variant.
    sizes : sequence of int
        Numbers p of source rows, ascending.
    max_iter, history : int
        Of L-BFGS.
    """
    n_sets, n_classes, d = len(label_sets), targets.shape[1], X_target.shape[1]
    coefs = np.empty((n_sets, len(sizes), n_classes, d), X_target.dtype)
    for places in _groups(sizes, len(X_target)):
        most = sizes[places[-1]]
        rows, axes = _span(np.concatenate([X_target, X_ranked[:most]]))
        masses = np.concatenate(
            [_masses(targets, weights[:most], label_sets[:, :most], sizes[place]) for place in places]
        ).astype(rows.dtype)
        start = np.zeros((len(masses), n_classes * rows.shape[1]), rows.dtype)
        ask = _objective(rows, masses)
        found = minimise_many(ask, start, max_iter=max_iter, history=history, gtol=GTOL, ftol=FTOL)
        thetas = found.points.reshape(len(places), n_sets, n_classes, -1)
        coefs[:, places] = np.swapaxes(thetas if axes is None else thetas @ axes.T, 0, 1)
    return coefs


def _groups(sizes, n_target):
    """Split the places of ascending sizes into runs whose fits share their rows."""
    groups = []
    for place in range(len(sizes)):
        candidate = [*groups[-1], place] if groups else [place]
        needed = np.mean([sizes[i] + n_target for i in candidate])
        if groups and sizes[place] + n_target <= WASTE * needed:
            groups[-1] = candidate
        else:
            groups.append([place])
    return groups


def _span(X):
    """Return the rows in coordinates of their span and its axes (d, n), or the rows themselves and None."""
    if len(X) >= X.shape[1]:
        return X, None
    axes, R = np.linalg.qr(X.T)
    return np.ascontiguousarray(R.T), axes


def _masses(targets, weights, label_sets, size):
    """Return weight times label over the number of rows, shape (n_sets, n_classes, n): zero beyond ``size``."""
    shares = np.where(np.arange(len(weights)) < size, weights, 0)
    labelled = np.broadcast_to(targets, (len(label_sets), *targets.shape))
    stacked = np.concatenate([labelled, shares[:, None] * label_sets], axis=1)
    return np.swapaxes(stacked, 1, 2) / (len(targets) + size)


def _objective(rows, masses):
    """Return the function that `minimise_many` asks: values and gradients of some of the fits."""
    n, r = rows.shape
    totals = masses.sum(axis=1)

    def value_and_gradient(points, which):
        mass, total = masses[which], totals[which]
        S = (points.reshape(-1, r) @ rows.T).reshape(len(which), -1, n)
        S -= S.max(axis=1, keepdims=True)
        P = np.exp(S)
        normaliser = P.sum(axis=1)
        fit = np.einsum("fcn,fcn->f", mass, S, dtype=np.float64)
        value = np.einsum("fn,fn->f", total, np.log(normaliser), dtype=np.float64) - fit
        P *= (total / normaliser)[:, None]
        P -= mass
        return value, (P.reshape(-1, n) @ rows).reshape(len(which), -1)

    return value_and_gradient
