"""Stage 1: the alternation that finds which source rows matter to the target.

What is solved
--------------
Source and target rows share one autoencoder (`autoencoder`). Its reconstructions of the target, ``H_target``, must also
be rebuilt by a linear *mapping* A from the source rows (`mapping`), and A pays for every source row it uses. Rows that
are close on a nearest-neighbour graph (`graph`) keep close codes. The sum of these four terms is the `objective`; what
a source row contributes to the mapping, ``w_i |A_i|``, is its relevance.

How
---
The objective is convex in A for a fixed autoencoder and smooth in the autoencoder for a fixed A, so each is solved in
turn:

1. *start*: the autoencoder by its leading directions (or at random, as published), the mapping by an A-step onto the
   target rows themselves. A mapping of zero must never start the alternation: it would draw every reconstruction of
   the target to one point, where zero is the answer for good.
2. *theta-step*: some iterations of L-BFGS on the autoencoder.
3. *A-step*: the group lasso, to a duality gap, warm-started.
4. stop when the objective falls by less than ``tol`` of itself, or after ``max_outer`` rounds.

Neither step may raise the objective: a step that would is not taken.

Two choices go beyond the published form. ``center`` lets the mapping act around the mean of the target instead of the
origin: otherwise rebuilding the mean shared by all rows is its first and largest task. ``normalize`` weighs each row's
penalty by its length around that point: otherwise long rows are cheap and chosen for their length.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, sparse
from sklearn.utils import check_random_state

from .._threads import one_thread_for_scipy
from .autoencoder import (
    Autoencoder,
    blend_aim,
    encode,
    objective_and_gradient,
    pack,
    random_start,
    reconstruct,
    spectral_start,
    unpack,
)
from .graph import knn_laplacian
from .group_lasso import row_norms
from .mapping import lengths_around, map_source, solve_mapping
from .objective import contribution_lengths, objective

__all__ = ["RelevanceSolution", "mapping_frame", "solve_relevance"]

INITS = ("spectral", "random")
LEAST_LENGTH = 1e-3


@dataclass(frozen=True)
class RelevanceSolution:
    """What stage 1 found.

    ``mapping`` CSR (n_source, n_target); ``relevance`` (n_source,) lengths ``w_i |A_i|``; ``dual_score`` (n_source,)
    continuous relevance, 1 on the rows used; ``autoencoder``; ``laplacian`` CSR (n, n); ``center`` (d,), zero when off;
    ``row_weights`` (n_source,), one when off; ``lam``, ``gamma``, ``mu`` as in `objective`; ``lam_max`` at the target
    rows; ``objective_path`` after the start and after each round, never increasing; ``gap`` relative duality gap of the
    last A-step; ``converged``; ``n_outer``; ``target_r2`` share of the target's variance that the autoencoder keeps;
    ``hidden_variance`` mean variance of the codes; ``seconds`` by step.
    """

    mapping: sparse.csr_array
    relevance: np.ndarray
    dual_score: np.ndarray
    autoencoder: Autoencoder
    laplacian: sparse.csr_array
    center: np.ndarray
    row_weights: np.ndarray
    lam: float
    lam_max: float
    gamma: float
    mu: float
    objective_path: tuple[float, ...]
    gap: float
    converged: bool
    n_outer: int
    target_r2: float
    hidden_variance: float
    seconds: dict[str, float]


@one_thread_for_scipy()
def solve_relevance(
    X_source,
    X_target,
    *,
    lam,
    gamma=0.0,
    mu=1.0,
    n_hidden=100,
    center=True,
    normalize=True,
    n_neighbors=5,
    metric="cosine",
    init="spectral",
    max_outer=10,
    max_inner=50,
    history=20,
    tol=1e-4,
    gtol=0.0,
    start=None,
    laplacian=None,
    random_state=None,
    on_round=None,
):
    """Find which source rows matter to the target.

    Parameters
    ----------
    X_source : ndarray, shape (n_source, d)
    X_target : ndarray, shape (n_target, d)
        Of the same dtype, entries inside (0, 1); see `selftaught.scaling`.
    lam, gamma, mu : float
        Weights of row sparsity, graph and mapping in the `objective`.
    n_hidden : int, default 100
    center : bool, default True
        Map around the mean of the target rows instead of the origin.
    normalize : bool, default True
        Weigh each row's penalty by its length around the centre.
    n_neighbors, metric
        Of the graph; see `knn_laplacian`. The graph is built only where ``gamma`` is not zero.
    init : {"spectral", "random"}, default "spectral"
    max_outer : int, default 10
        Rounds of theta-step and A-step.
    max_inner : int, default 50
        L-BFGS iterations in a theta-step.
    history : int, default 20
        Updates that L-BFGS remembers.
    tol : float, default 1e-4
        Relative fall of the objective at which to stop, and relative duality gap of every A-step.
    gtol : float, default 0.0
        Largest entry of the autoencoder's gradient at which a theta-step ends before ``max_inner`` iterations.
    start : RelevanceSolution or sparse, shape (n_source, n_target), optional
        A solution of a neighbouring problem (another ``lam``, ``gamma`` or ``mu``): autoencoder and mapping go on from
        it, and the first A-step is onto its reconstructions. Or a mapping alone to warm-start the first A-step, which
        is convex, so that this changes the time and not the answer.
    laplacian : sparse, shape (n, n), optional
        The graph, where it is at hand.
    random_state : int, RandomState or None
    on_round : callable, optional
        Called after every round with its number and the objective.

    Returns
    -------
    RelevanceSolution
    """
    if init not in INITS:
        raise ValueError(f"init must be one of {INITS}, got {init!r}.")
    clock = _Clock()
    X = np.concatenate([X_source, X_target])
    c, w = mapping_frame(X_source, X_target, center=center, normalize=normalize)
    if laplacian is None:
        laplacian = knn_laplacian(X, n_neighbors, metric) if gamma else sparse.csr_array((len(X),) * 2, dtype=X.dtype)
    clock.lap("graph")
    if isinstance(start, RelevanceSolution):
        autoencoder, aimed_at = start.autoencoder, reconstruct(X_target, start.autoencoder)
        start = start.mapping
    else:
        begin = spectral_start if init == "spectral" else random_start
        autoencoder, aimed_at = begin(X, n_hidden, check_random_state(random_state)), X_target
    clock.lap("start")
    frame = dict(center=c, row_weights=w)
    step = solve_mapping(X_source, aimed_at, lam=lam, mu=mu, tol=tol, start=start, **frame)
    clock.lap("mapping")

    def value():
        return objective(
            X_source, X_target, autoencoder, step.mapping, laplacian, lam=lam, gamma=gamma, mu=mu, **frame
        ).total

    lam_max_start = step.lam_max
    path, converged = [value()], False
    while len(path) <= max_outer and not converged:
        aim = blend_aim(X, map_source(step.mapping, X_source, c), mu)
        autoencoder = _theta_step(autoencoder, X, aim, laplacian, gamma, max_inner, history, gtol)
        clock.lap("autoencoder")
        step = _a_step(X_source, reconstruct(X_target, autoencoder), step, lam, mu, tol, frame)
        clock.lap("mapping")
        path.append(min(path[-1], value()))
        converged = path[-2] - path[-1] <= tol * abs(path[-2])
        if on_round is not None:
            on_round(len(path) - 1, path[-1])
    return RelevanceSolution(
        mapping=step.mapping,
        relevance=contribution_lengths(step.mapping, w),
        dual_score=step.dual_score,
        autoencoder=autoencoder,
        laplacian=laplacian,
        center=c,
        row_weights=w,
        lam=lam,
        lam_max=lam_max_start,
        gamma=gamma,
        mu=mu,
        objective_path=tuple(path),
        gap=step.gap,
        converged=converged,
        n_outer=len(path) - 1,
        target_r2=_target_r2(X_target, autoencoder),
        hidden_variance=float(encode(X, autoencoder).var(axis=0).mean()),
        seconds=clock.seconds,
    )


def mapping_frame(X_source, X_target, *, center=True, normalize=True):
    """Return the point c around which the mapping acts (d,), and the weights w of the rows' norms (n_source,).

    ``c`` is the mean of the target rows and ``w_i = |x_i - c|``, bounded away from zero so that a row at ``c``, which
    can contribute nothing, stays harmless. Switched off they are zeros and ones, the published form.
    """
    d, dtype = X_source.shape[1], X_source.dtype
    c = X_target.mean(axis=0, dtype=np.float64).astype(dtype) if center else np.zeros(d, dtype)
    if not normalize:
        return c, np.ones(len(X_source))
    lengths = lengths_around(X_source, c)
    typical = np.median(lengths)
    return c, np.maximum(lengths, LEAST_LENGTH * typical) if typical > 0 else np.ones(len(X_source))


def _theta_step(autoencoder, X, aim, laplacian, gamma, max_inner, history, gtol):
    """Lower the smooth part by L-BFGS; the best point seen is kept, so it never rises."""
    best = _Best(pack(autoencoder))

    def value_and_gradient(theta):
        value, gradient = objective_and_gradient(theta, X, aim, laplacian, gamma=gamma)
        best.offer(theta, value)
        return value, gradient

    options = dict(maxcor=history, maxiter=max_inner, maxfun=2 * max_inner, ftol=0.0, gtol=gtol)
    optimize.minimize(value_and_gradient, best.theta, jac=True, method="L-BFGS-B", options=options)
    return unpack(best.theta, X.shape[1], X.dtype)


class _Best:
    """The lowest point an optimiser has visited."""

    def __init__(self, theta):
        self.theta, self.value = theta, np.inf

    def offer(self, theta, value):
        """Keep theta if it is lower than what is kept."""
        if value < self.value:
            self.theta, self.value = theta.copy(), value


def _a_step(X_source, H_target, last, lam, mu, tol, frame):
    """Solve for the mapping, and keep the last one if at this tolerance it is no worse."""
    step = solve_mapping(X_source, H_target, lam=lam, mu=mu, tol=tol, start=last, **frame)

    def value(mapping):
        missed = row_norms(map_source(mapping, X_source, frame["center"]) - H_target).astype(np.float64)
        return (
            mu * (missed @ missed) / (2 * len(H_target))
            + lam * contribution_lengths(mapping, frame["row_weights"]).sum()
        )

    return step if value(step.mapping) <= value(last.mapping) else replace(step, mapping=last.mapping)


def _target_r2(X_target, autoencoder):
    """Return the share of the target rows' variance that their reconstructions keep; 1 where there is none to keep."""
    missed = np.square(reconstruct(X_target, autoencoder) - X_target).sum(dtype=np.float64)
    spread = np.square(X_target - X_target.mean(axis=0)).sum(dtype=np.float64)
    rounding = X_target.size * (4 * np.finfo(X_target.dtype).eps * np.abs(X_target).max()) ** 2
    return float(1 - missed / spread) if spread > rounding else 1.0


class _Clock:
    """Seconds spent by step, added up over rounds."""

    def __init__(self):
        self.seconds, self._last = {}, time.perf_counter()

    def lap(self, step):
        """Book the time since the last lap under a step."""
        now = time.perf_counter()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self._last
        self._last = now
