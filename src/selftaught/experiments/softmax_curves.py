"""The softmax for every number p of source rows, for several kinds of pseudo-labels at once.

    published_coefs    no penalty, no offset, from zero, 400 iterations of L-BFGS at most
    ridge_coefs        with a penalty, so that there is one minimum

The fits of one ranking differ in p and in labels. Those with the same p share their rows and are minimised side by side
(`_lbfgs`); each p starts from the p before.

Without a penalty, and with classes that can be separated, there is no minimum, and where the iteration ends defines the
model. The ends are those of minFunc, which the paper used: no entry of the gradient above 1e-5, or a change of value or
point below 1e-9. After the first p a fit goes on for NEXT_ITER iterations at most: on Caltech's visual words its
objective is then within 3 % of that of a fit from zero with all 400, and its accuracy within their scatter
(docs/decisions/018). Where rows are few, the fit is made in coordinates of their span, which it never leaves.
"""

from __future__ import annotations

import numpy as np

from .._lbfgs import minimise_many

__all__ = ["published_coefs", "ridge_coefs"]

MAX_ITER, NEXT_ITER, GTOL, FTOL = 400, 40, 1e-5, 1e-9
HISTORY = 20
# Coordinates of the span pay where rows are fewer than this share of the features.
FEW = 0.6
# The curvature of the softmax along an axis, times classes, over the mean square of the rows there.
CURVATURE = 0.3


def published_coefs(X_target, targets, X_ranked, weights, label_sets, sizes):
    """Yield the coefficients (n_sets, n_classes, d) for each number of source rows.

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
        Their pseudo-labels, once for each kind.
    sizes : sequence of int
        Numbers of source rows, ascending.
    """
    n_target, d = X_target.shape
    n_sets, n_classes = len(label_sets), targets.shape[1]
    coefs, n_iter = np.zeros((n_sets, n_classes, d), X_target.dtype), MAX_ITER
    few = [size for size in sizes if n_target + size <= FEW * d]
    for places, spanned in ((few, True), (sizes[len(few) :], False)):
        if not places:
            continue
        rows, axes = np.concatenate([X_target, X_ranked[: places[-1]]]), None
        if spanned:
            axes, R = np.linalg.qr(rows.T)
            rows = np.ascontiguousarray(R.T)
        points = _enter(coefs, axes)
        for size in places:
            masses = _masses(targets, weights, label_sets, size, n_target + size).astype(rows.dtype)
            ask = _objective(rows[: n_target + size], masses)
            points = minimise_many(ask, points, max_iter=n_iter, history=HISTORY, gtol=GTOL, ftol=FTOL).points
            coefs, n_iter = _leave(points, axes, n_classes), NEXT_ITER
            yield coefs


def ridge_coefs(X_target, targets, X_ranked, weights, label_sets, sizes, *, l2=1e-2, max_iter=400, gtol=1e-6):
    """Yield the coefficients (n_sets, n_classes, d) of the softmax with penalty l2; parameters as in `published_coefs`.

    In coordinates along the principal axes of the rows, in units in which the objective curves alike along all of them.
    """
    n_target, n_classes = targets.shape
    rows = np.concatenate([X_target, X_ranked[: sizes[-1]]])
    axes = np.eye(rows.shape[1], dtype=rows.dtype)
    if len(rows) < rows.shape[1]:
        axes, R = np.linalg.qr(rows.T)
        rows = np.ascontiguousarray(R.T)
    shares = np.concatenate([np.ones(n_target), weights[: sizes[-1]]])
    curvature, rotation = np.linalg.eigh((rows * (shares / shares.sum()).astype(rows.dtype)[:, None]).T @ rows)
    unit = (1 / np.sqrt(CURVATURE / n_classes * np.maximum(curvature, 0) + l2)).astype(rows.dtype)
    rows, axes = rows @ (rotation * unit), axes @ (rotation * unit)
    penalty = l2 * unit**2
    points = np.zeros((len(label_sets), n_classes * rows.shape[1]), rows.dtype)
    for size in sizes:
        total = n_target + float(weights[:size].sum())
        masses = _masses(targets, weights, label_sets, size, total).astype(rows.dtype)
        ask = _objective(rows[: n_target + size], masses, penalty)
        points = minimise_many(ask, points, max_iter=max_iter, history=HISTORY, gtol=gtol, ftol=FTOL).points
        yield _leave(points, axes, n_classes)


def _enter(coefs, axes):
    """Return coefficients (n_sets, n_classes, d) as points of a search (n_sets, n_classes * r)."""
    return (coefs if axes is None else coefs @ axes).reshape(len(coefs), -1)


def _leave(points, axes, n_classes):
    """Return points of a search as coefficients of the features."""
    thetas = points.reshape(len(points), n_classes, -1)
    return thetas.copy() if axes is None else thetas @ axes.T


def _masses(targets, weights, label_sets, size, total):
    """Return weight times label over ``total``, shape (n_sets, n_classes, n_target + size)."""
    labelled = np.broadcast_to(targets, (len(label_sets), *targets.shape))
    stacked = np.concatenate([labelled, weights[:size, None] * label_sets[:, :size]], axis=1)
    return np.swapaxes(stacked, 1, 2) / total


def _objective(rows, masses, penalty=None):
    """Return the function that `minimise_many` asks: values and gradients of some of the fits."""
    n, r = rows.shape
    masses = np.ascontiguousarray(masses)
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
        gradient = (P.reshape(-1, n) @ rows).reshape(len(which), -1, r)
        if penalty is not None:
            theta = points.reshape(gradient.shape)
            pulled = penalty * theta
            value = value + 0.5 * np.einsum("fcr,fcr->f", pulled, theta, dtype=np.float64)
            gradient += pulled
        return value, gradient.reshape(len(which), -1)

    return value_and_gradient
