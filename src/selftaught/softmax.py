"""Weighted softmax regression with soft labels.

Rows x_i with class probabilities q_i and weights w_i. With ``W = sum w_i``, ``Theta`` (n_classes, d) and, where asked
for, an intercept b (n_classes,),

    minimise    sum_i  w_i / W  CE(q_i, softmax(Theta x_i + b))  +  l2/2 |Theta|^2,    CE(q, p) = -sum_c q_c log p_c

with L-BFGS. The products with X run in the precision of X, everything else in float64.

**Coordinates.** L-BFGS is at the mercy of how the problem is conditioned, and raw features are conditioned badly: they
share a large mean and vary little along most directions. Two changes of coordinates, both exact, come first:

1. Fewer rows than features. The gradient is a combination of rows, so the fit never leaves their span: with the QR
   factors ``X' = Q R`` it finds the n_classes x n numbers ``B`` of ``Theta = B Q'`` from the rows ``R'``.
2. ``l2 > 0``. The minimiser is unique, so the way to it is ours to choose: coordinates along the principal axes of the
   rows, in units in which the objective curves alike along all of them (the curvature is about l2 + 0.3/n_classes times
   the mean square of the rows). With ``l2 = 0`` there may be no minimiser, and the iteration that comes last defines
   the model: nothing is rescaled, and the iterates are those of L-BFGS on Theta itself.

With an intercept the rows are centred first, so that it is not entangled with Theta; it is then the coefficient of a
column of ones on which there is no penalty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg, special
from scipy.optimize import minimize

__all__ = [
    "SoftmaxFit",
    "fit_softmax",
    "fit_softmax_path",
    "softmax_objective_and_gradient",
    "softmax_probabilities",
    "softmax_scores",
]

# The Hessian of the softmax is the rows' second moment times p(1 - p), which goes from 1/n_classes at the start towards
# 0 where the fit is sure. On real features any factor between 0.1 and 1 gave nearly the same number of iterations.
CURVATURE = 0.3
# Directions flatter than this, relative to the steepest, are flat but for rounding, which must not be blown up.
FLATTEST = {"float32": 1e-7, "float64": 1e-10}
# Smaller gradients, relative to the rows, are not worth asking for: about there rounding begins to hide from the line
# search whether a step is an improvement, and L-BFGS would spend its evaluations on finding none.
LEAST_TOL = {"float32": 5e-6, "float64": 1e-8}


@dataclass(frozen=True, eq=False)
class SoftmaxFit:
    """A fitted softmax.

    Attributes
    ----------
    coef : ndarray, shape (n_classes, d)
        Theta, in the dtype of X.
    intercept : ndarray, shape (n_classes,)
        Zeros when no intercept was asked for.
    n_iter : int
        Iterations of L-BFGS.
    converged : bool
        Whether the fit ended by itself: the gradient came below the tolerance, or rounding hides all further progress.
    objective : float
        The objective at the solution.
    """

    coef: np.ndarray
    intercept: np.ndarray
    n_iter: int
    converged: bool
    objective: float


def fit_softmax(
    X,
    labels,
    sample_weight=None,
    *,
    l2: float = 1e-4,
    fit_intercept: bool = False,
    max_iter: int = 400,
    tol: float = 1e-6,
    history: int = 10,
    start: SoftmaxFit | None = None,
) -> SoftmaxFit:
    """Fit the weighted softmax with soft labels.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        The rows. float32 stays float32, anything else becomes float64.
    labels : ndarray, shape (n, n_classes)
        Class probabilities of each row.
    sample_weight : array-like, shape (n,), default None
        Weights of the rows, not negative; None means equal weights. Only their proportions matter, and rows of weight
        zero are left out before any work.
    l2 : float, default 1e-4
        Penalty on Theta. It corresponds to ``C = 1 / (l2 * sum of weights)`` in scikit-learn.
    fit_intercept : bool, default False
        Whether to fit an intercept, without penalty.
    max_iter : int, default 400
        Most iterations of L-BFGS.
    tol : float, default 1e-6
        The fit stops when the gradient's norm is at most ``tol`` times the root mean square length of the rows
        (centred, when there is an intercept): the gradient that an error of about ``tol`` in every label would leave.
        Less than 1e-8 (5e-6 for float32) is lost in rounding and raised to that; 0 stands for running ``max_iter``
        iterations whatever the gradient.
    history : int, default 10
        Updates that L-BFGS remembers.
    start : SoftmaxFit, default None
        Where to start; None means from zero. With ``l2=0`` it decides where the fit ends.

    Returns
    -------
    fit : SoftmaxFit
        With ``converged=False`` when ``max_iter`` came first, and always for ``tol=0``.

    Notes
    -----
    With ``l2=0`` and classes that can be separated the objective has no minimiser: coefficients grow for as long as
    the fit goes on.

    What the changes of coordinates bring, in total time against L-BFGS on Theta with the same tolerance (Caltech-101,
    1000 and 1280 features, 10 or 20 classes, one thread, ``l2=1e-4``): 3 to 6 times faster with 100 to 1000 rows, 5 to
    7 times with 2700, where L-BFGS on Theta takes all of its 400 iterations or nearly so, and the fit here 20 to 60.
    The span of the rows alone, which is what ``l2=0`` has, is 4.5 times faster with 100 rows, 3 with 300, 2 with 600.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.softmax import fit_softmax, softmax_probabilities
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> fit = fit_softmax(X, labels=np.array([[1.0, 0.0], [0.2, 0.8]]), l2=1e-6)
    >>> fit.converged, softmax_probabilities(X, fit).round(2)
    (True, array([[1. , 0. ],
           [0.2, 0.8]]))
    """
    X, labels, weights = _check_rows(X, labels, sample_weight)
    _check_options(l2=l2, max_iter=max_iter, tol=tol, history=history)
    _check_start(start, (labels.shape[1], X.shape[1]))
    solve = partial(_minimise, max_iter=max_iter, tol=tol, history=history)
    (fit,) = _fit_prefixes(X, labels, weights, [len(X)], l2, fit_intercept, start, solve)
    return fit


def fit_softmax_path(
    X_target,
    labels_target,
    X_ranked,
    labels_ranked,
    weights_ranked,
    sizes,
    *,
    l2: float = 1e-4,
    fit_intercept: bool = False,
    max_iter: int = 400,
    tol: float = 1e-6,
    history: int = 10,
) -> list[SoftmaxFit]:
    """Fit the softmax on the target and the first p source rows, for every p in ``sizes``.

    The fits share one change of coordinates, and each starts from the one before. They are what `fit_softmax` returns
    for each p alone, up to the tolerance.

    Parameters
    ----------
    X_target : ndarray, shape (n_target, d)
        The labelled rows, each of weight 1.
    labels_target : ndarray, shape (n_target, n_classes)
        Their class probabilities.
    X_ranked : ndarray, shape (n_ranked, d)
        Source rows, most relevant first.
    labels_ranked : ndarray, shape (n_ranked, n_classes)
        Their class probabilities.
    weights_ranked : array-like, shape (n_ranked,)
        Their weights.
    sizes : sequence of int
        Numbers of source rows, from 0 to n_ranked, ascending.
    l2, fit_intercept, max_iter, tol, history
        As in `fit_softmax`. With ``l2=0`` the start decides where a fit ends, so each fit starts from zero.

    Returns
    -------
    fits : list of SoftmaxFit
        One for each of ``sizes``.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.softmax import fit_softmax_path
    >>> X, labels = np.eye(3), np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> fits = fit_softmax_path(X[:2], labels[:2], X[2:], labels[2:], [1.0], sizes=[0, 1])
    >>> [round(fit.objective, 3) for fit in fits]
    [0.003, 0.234]
    """
    sizes = _check_sizes(sizes, len(X_ranked))
    _check_options(l2=l2, max_iter=max_iter, tol=tol, history=history)
    weights = np.concatenate([np.ones(len(X_target)), np.asarray(weights_ranked, dtype=np.float64)])
    last = len(X_target) + sizes[-1]
    X = np.concatenate([X_target, X_ranked])[:last]
    labels = np.concatenate([labels_target, labels_ranked])[:last]
    if l2 == 0:
        options: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "history": history, "fit_intercept": fit_intercept}
        ends = [len(X_target) + p for p in sizes]
        return [fit_softmax(X[:end], labels[:end], weights[:end], l2=0, **options) for end in ends]
    counts = [np.count_nonzero(weights[: len(X_target) + p]) for p in sizes]
    X, labels, weights = _check_rows(X, labels, weights[:last])
    solve = partial(_minimise, max_iter=max_iter, tol=tol, history=history)
    return _fit_prefixes(X, labels, weights, counts, l2, fit_intercept, None, solve)


def softmax_scores(X, fit: SoftmaxFit) -> np.ndarray:
    """Return the scores ``X Theta' + b``, shape (n, n_classes): log probabilities up to a constant of the row.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        The rows.
    fit : SoftmaxFit
        From `fit_softmax`.

    Returns
    -------
    scores : ndarray, shape (n, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.softmax import SoftmaxFit, softmax_scores
    >>> fit = SoftmaxFit(np.array([[1.0], [-1.0]]), np.array([0.5, 0.0]), n_iter=0, converged=True, objective=0.0)
    >>> softmax_scores(np.array([[2.0]]), fit)
    array([[ 2.5, -2. ]])
    """
    return X @ fit.coef.T + fit.intercept


def softmax_probabilities(X, fit: SoftmaxFit) -> np.ndarray:
    """Return the class probabilities of rows, shape (n, n_classes).

    Parameters
    ----------
    X : ndarray, shape (n, d)
        The rows.
    fit : SoftmaxFit
        From `fit_softmax`.

    Returns
    -------
    probabilities : ndarray, shape (n, n_classes)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.softmax import SoftmaxFit, softmax_probabilities
    >>> fit = SoftmaxFit(np.array([[1000.0], [0.0]]), np.zeros(2), n_iter=0, converged=True, objective=0.0)
    >>> softmax_probabilities(np.array([[0.0], [1.0]]), fit)
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return special.softmax(softmax_scores(X, fit), axis=1)


def softmax_objective_and_gradient(theta, X, mass, l2: float | np.ndarray = 0.0) -> tuple[float, np.ndarray]:
    """Value and gradient of the objective; it knows no optimiser.

    Parameters
    ----------
    theta : ndarray, shape (n_classes * d,)
        Theta, row after row.
    X : ndarray, shape (n, d)
        The rows. A column of ones with penalty 0 makes an intercept.
    mass : ndarray, shape (n, n_classes)
        Weight times label, ``w_i / W q_ic``: all of it sums to one. Fastest in Fortran order.
    l2 : float or ndarray of shape (d,), default 0.0
        Penalty, one for all columns of X or one for each.

    Returns
    -------
    objective : float
    gradient : ndarray of float64, shape (n_classes * d,)

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.softmax import softmax_objective_and_gradient
    >>> objective, gradient = softmax_objective_and_gradient(np.zeros(2), np.array([[3.0]]), np.array([[1.0, 0.0]]))
    >>> round(objective, 4), gradient                                                  # log 2, (p - q) x
    (0.6931, array([-1.5,  1.5]))
    """
    theta = np.asarray(theta, dtype=np.float64).reshape(mass.shape[1], -1)
    # One row per class from here on: sums over classes then add whole rows, many times faster than across short rows.
    S = (theta.astype(X.dtype) @ X.T).astype(np.float64)
    S -= S.max(axis=0)
    P = np.exp(S)
    normaliser = P.sum(axis=0)
    S -= np.log(normaliser)
    objective = -np.vdot(mass.T, S) + 0.5 * np.vdot(l2 * theta, theta)
    P *= mass.sum(axis=1) / normaliser
    P -= mass.T
    gradient = (P.astype(X.dtype) @ X).astype(np.float64) + l2 * theta
    return float(objective), gradient.ravel()


@dataclass(frozen=True)
class _Frame:
    """Where a fit happens: ``rows = (X - origin) axes``, then a column of ones if there is an origin (d,).

    ``axes`` (d, r) are orthonormal, None stands for the identity; no origin means no intercept.
    """

    origin: np.ndarray | None
    axes: np.ndarray | None

    def enter(self, fit):
        """Coefficients of a fit in this frame, (n_classes, r) or (n_classes, r + 1); what no row sees is left out."""
        theta = fit.coef if self.axes is None else fit.coef @ self.axes
        if self.origin is None:
            return theta
        return np.column_stack([theta, fit.intercept + fit.coef @ self.origin])

    def leave(self, theta, dtype):
        """Coefficients (n_classes, d) and intercept (n_classes,) of X itself."""
        intercept = np.zeros(len(theta))
        if self.origin is not None:
            theta, intercept = theta[:, :-1], theta[:, -1]
        coef = theta if self.axes is None else theta @ self.axes.T
        if self.origin is not None:
            intercept = intercept - coef @ self.origin
        return coef.astype(dtype), intercept.astype(dtype)


def _choose_frame(X, weights, l2, fit_intercept, start):
    """The frame for rows X, and the rows in it."""
    origin = np.average(X, axis=0, weights=weights).astype(X.dtype) if fit_intercept else None
    rows = X if origin is None else X - origin
    axes = None
    # Without a penalty nothing draws a start back into the span of the rows, so it must not be projected there.
    if len(X) < X.shape[1] and (l2 > 0 or start is None):
        axes, R = linalg.qr(rows.T, mode="economic", check_finite=False)
        rows = np.ascontiguousarray(R.T)
    if l2 > 0:
        weighted = np.sqrt(weights / weights.sum()).astype(X.dtype)[:, None] * rows
        _, rotation = np.linalg.eigh(weighted.T @ weighted)
        rows, axes = rows @ rotation, rotation if axes is None else axes @ rotation
    if fit_intercept:
        rows = np.column_stack([rows, np.ones(len(rows), dtype=X.dtype)])
    return _Frame(origin, axes), rows


def _fit_prefixes(X, labels, weights, counts, l2, fit_intercept, start, solve):
    """Fits on the first ``counts`` rows of X, ascending: one frame for all, each starting from the one before."""
    frame, rows = _choose_frame(X[: counts[-1]], weights[: counts[-1]], l2, fit_intercept, start)
    n_classes = labels.shape[1]
    theta = np.zeros((n_classes, rows.shape[1])) if start is None else frame.enter(start)
    penalty = np.full(rows.shape[1], float(l2))
    penalty[X.shape[1] if frame.axes is None else frame.axes.shape[1] :] = 0.0
    fits = []
    for count in counts:
        share = weights[:count] / weights[:count].sum()
        mass = np.asfortranarray(share[:, None] * labels[:count])
        mean_square = share @ np.square(rows[:count], dtype=np.float64)
        scale = _scale(CURVATURE / n_classes * mean_square + penalty, X.dtype) if l2 > 0 else np.ones(len(penalty))
        theta, stop = solve(theta, rows[:count], mass, penalty, scale, length=np.sqrt(mean_square.sum()))
        fits.append(SoftmaxFit(*frame.leave(theta, X.dtype), **stop))
    return fits


def _scale(curvature, dtype):
    """Units (r,) in which the objective curves alike in every direction."""
    return 1 / np.sqrt(np.maximum(curvature, FLATTEST[dtype.name] * curvature.max()))


def _minimise(theta, rows, mass, penalty, scale, length, max_iter, tol, history):
    """Minimise over ``phi = theta / scale``; the solution in theta, and how the search ended."""
    scale = scale.astype(rows.dtype).astype(np.float64)  # the same numbers on both sides of every product
    X, l2 = rows * scale.astype(rows.dtype), penalty * scale**2
    goal = max(tol, LEAST_TOL[rows.dtype.name]) * length if tol > 0 else 0.0
    steepness = np.inf

    def gradient_norm(gradient):
        return np.linalg.norm(gradient.reshape(theta.shape) / scale)

    def objective_and_gradient(phi):
        nonlocal steepness
        objective, gradient = softmax_objective_and_gradient(phi, X, mass, l2)
        steepness = gradient_norm(gradient)
        return objective, gradient

    def stop_at_goal(_):
        if steepness <= goal:  # the last point evaluated is the one a line search accepts
            raise StopIteration

    # The optimiser's own tests depend on the coordinates; the one that is left ends a search that rounding has stalled.
    options = {"maxiter": max_iter, "maxcor": history, "maxls": 20, "maxfun": 50 * max_iter, "gtol": 0.0}
    options["ftol"] = min(tol, np.finfo(np.float64).eps)
    found = minimize(
        objective_and_gradient,
        (theta / scale).ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=stop_at_goal,
        options=options,
    )
    stalled = tol > 0 and found.nit < max_iter and np.isfinite(found.fun)
    converged = bool(stalled or gradient_norm(found.jac) <= goal)
    stop = {"n_iter": int(found.nit), "converged": converged, "objective": float(found.fun)}
    return found.x.reshape(theta.shape) * scale, stop


def _check_rows(X, labels, sample_weight):
    """The rows of positive weight: X in its floating type, labels and weights in float64."""
    X, labels = np.asarray(X), np.asarray(labels, dtype=np.float64)
    X = np.ascontiguousarray(X, dtype=X.dtype if X.dtype == np.float32 else np.float64)
    weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if labels.ndim != 2 or len(labels) != len(X):
        raise ValueError(f"labels must be (n, n_classes) with n = {len(X)}, the rows of X, got shape {labels.shape}.")
    if weights.shape != (len(X),):
        raise ValueError(f"sample_weight must hold one weight for each of the {len(X)} rows, got {weights.shape}.")
    if not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
        raise ValueError("sample_weight must be finite, never negative, and not zero for all rows.")
    used = weights > 0
    if not used.all():
        X, labels, weights = X[used], labels[used], weights[used]
    if not (labels >= 0).all() or not (abs(labels.sum(axis=1) - 1) <= 1e-4).all():
        raise ValueError("labels must be rows of probabilities: not negative, each row with the sum 1.")
    return X, labels, weights


def _check_start(start, shape):
    if start is not None and start.coef.shape != shape:
        raise ValueError(f"start must have coef of shape {shape}, got {start.coef.shape}. Start from zero: start=None.")


def _check_options(*, l2, max_iter, tol, history):
    lowest = {"l2": (l2, 0), "max_iter": (max_iter, 1), "tol": (tol, 0), "history": (history, 1)}
    for name, (value, least) in lowest.items():
        if not least <= value < np.inf:
            raise ValueError(f"{name} must be at least {least} and finite, got {value}.")


def _check_sizes(sizes, n_ranked):
    sizes = [int(p) for p in sizes]
    if not sizes or sizes != sorted(sizes) or sizes[0] < 0 or sizes[-1] > n_ranked:
        raise ValueError(f"sizes must ascend from 0 or more to at most {n_ranked}, the ranked rows, got {sizes}.")
    return sizes
