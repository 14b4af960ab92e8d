"""Kernel mean matching as a selector: the rows that together look like the target matter."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._fitting import whole_or_not_at_all
from .._parameters import Choice, Interval, check_parameters
from .._progress import report_round
from .base import SourceSelector
from .gaussian_kernel import ScaledRows
from .matching_problem import build_problem, choose_bandwidth, solve_exactly, solve_with_features
from .matching_qp import Limits

__all__ = ["KMMSelector"]

# Up to here the kernel matrix is kept: 200 MB. Beyond, it is never formed.
MOST_DENSE_ROWS = 5000
# Kernel means nearer than the root of this count as one: `tol` asks for a share of no less.
LEAST_MMD2 = 1e-8
# A kernel says something where similarities are not all this near to one, and where those of a row with all source
# rows, or of a target row with them, add up to more than this.
LEAST_CONTRAST = 1e-3
LEAST_COMPANY = 0.1


class KMMSelector(SourceSelector):
    """Weigh the source rows so that, as a whole, they look like the target: kernel mean matching.

    The weights bring the mean of the source, in the feature space of a Gaussian kernel, as near to the mean of the
    target as they can (Huang et al. 2007). Few rows get a weight at all; one that would add nothing gets none, however
    much it resembles the target.

    Parameters
    ----------
    bandwidth : "median" or float, default "median"
        Width of the Gaussian kernel, in the units of the scaled features: the median distance between rows of source
        and target (on at most 2000 of them), or a number.
    bandwidth_scale : float, default 1.0
        Factor on ``bandwidth``. Smaller compares finer detail and spreads the weight over more rows.
    bound : float, default 1000.0
        Largest weight of a row, where the average is about 1. Smaller spreads the weight over more rows.
    eps : float, default None
        The weights add up to within ``eps * n_source`` of ``n_source``; None means
        ``(sqrt(n_source) - 1) / sqrt(n_source)``, which hardly binds.
    solver : {"auto", "dense", "working_set", "random_features"}, default "auto"
        "dense" keeps the kernel matrix, "working_set" never forms it, and both give the exact answer; "auto" takes the
        first up to 5000 source rows. "random_features" approximates the kernel.
    n_features : int, default 512
        Of ``solver="random_features"``; they take ``8 * n_source * n_features`` bytes.
    max_iter : int, default 1000
        Most rounds of the solver. Some dozens are the rule.
    tol : float, default 1e-4
        How far the result may be from the best, in squared distance of the means, as a share of that distance when all
        rows have the same weight. Certified over all rows.
    scale : bool, default True
        Bring every feature to [0.1, 0.9] over source and target.
    random_state : int, RandomState or None, default None
        For the rows that are sampled where there are more than 2000, and for random features.
    verbose : int, default 0
        1 writes a line for each round of the solver to standard error.

    Attributes
    ----------
    relevance_ : ndarray, shape (n_source,)
        The weights, in [0, bound], about ``n_source`` in sum.
    weights_ : ndarray, shape (n_source,)
        The same over their maximum.
    ranking_ : ndarray of int, shape (n_source,)
        Source rows, largest weight first; rows of weight zero by their similarity to the target.
    n_nonzero_ : int
        Rows with a weight. No more than these can be used, whatever ``n_select`` asks for.
    mmd_ : float
        Distance of the two kernel means with these weights.
    mmd_uniform_ : float
        The same with equal weights; estimated on 2000 rows where the source has more than 5000.
    dual_gap_ : float
        Certified bound in the unit of ``tol``, over all rows and for the exact kernel, whatever the solver.
    bandwidth_ : float
        The width used.
    n_iter_ : int
        Rounds of the solver.
    scaling_ : FeatureScaling
    source_index_ : ndarray, shape (n_source,)
        Row ids of the source.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    There is no ``score_source``: a weight exists only for a row that was in the problem. Without a source the numbers
    above are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught import KMMSelector
    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 4
    >>> selector = KMMSelector().fit(rng.normal(size=(20, 3)), X_source=np.concatenate([near, far]))
    >>> bool(selector.relevance_[:60].sum() > 0.95 * selector.relevance_.sum())
    True
    """

    _allowed = dict(
        bandwidth=(Choice(("median",)), Interval(0, open_low=True)),
        bandwidth_scale=(Interval(0, open_low=True),),
        bound=(Interval(0, open_low=True),),
        eps=(Choice((None,)), Interval(0)),
        solver=(Choice(("auto", "dense", "working_set", "random_features")),),
        n_features=(Interval(1, whole=True),),
        max_iter=(Interval(1, whole=True),),
        tol=(Interval(0, open_low=True),),
        scale=(Choice((True, False)),),
        verbose=(Interval(0, whole=True), Choice((True, False))),
    )

    def __init__(
        self,
        *,
        bandwidth: str | float = "median",
        bandwidth_scale=1.0,
        bound=1000.0,
        eps: float | None = None,
        solver="auto",
        n_features=512,
        max_iter=1000,
        tol=1e-4,
        scale=True,
        random_state=None,
        verbose=0,
    ):
        self.bandwidth = bandwidth
        self.bandwidth_scale = bandwidth_scale
        self.bound = bound
        self.eps = eps
        self.solver = solver
        self.n_features = n_features
        self.max_iter = max_iter
        self.tol = tol
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, *, X_source=None):
        """Find the weights.

        Parameters
        ----------
        X : array-like or data frame, shape (n_target, d)
            The target rows, at least two.
        y : ignored
            Weights need no labels.
        X_source : SourcePool or anything it takes, shape (n_source, d), optional
            The source rows. Beyond 5000 they are read in blocks, several times, and never kept.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        with whole_or_not_at_all(self):
            return self._fit(X, X_source)

    def _fit(self, X, X_source):
        pool, target = self._open(X, X_source, scale=self.scale)
        if pool is None:
            self.mmd_ = self.mmd_uniform_ = self.dual_gap_ = self.bandwidth_ = float("nan")
            self.n_nonzero_ = self.n_iter_ = 0
            return self._keep(np.zeros(0))
        limits = self._limits(pool.n_rows)
        rng = check_random_state(self.random_state)
        problem = self._build(pool, target, rng)
        self._warn_of_a_blind_kernel(problem)
        return self._report(problem, self._solve(problem, limits, rng))

    def _limits(self, n):
        """Return the admissible weights of n rows."""
        eps = (np.sqrt(n) - 1) / np.sqrt(n) if self.eps is None else float(self.eps)
        limits = Limits(float(self.bound), max(0.0, n * (1 - eps)), n * (1 + eps))
        if limits.bound * n < limits.low:
            raise ValueError(
                f"bound={self.bound:g} with eps={eps:.3g} admits no weights: {n} of at most {self.bound:g} cannot "
                f"add up to {limits.low:.6g}. Raise bound to 1 or more, or raise eps."
            )
        return limits

    def _build(self, pool, target, rng):
        """Choose the width and compute what does not depend on weights."""
        # Distances do not know an origin; near the data their rounding is least.
        center = target.mean(axis=0, dtype=np.float64)
        rows, target = ScaledRows(pool, self.scaling_, center), target - center
        width = choose_bandwidth(rows, target, rng) if self.bandwidth == "median" else float(self.bandwidth)
        self.bandwidth_ = self.bandwidth_scale * width
        dense = self.solver == "dense" or (self.solver == "auto" and pool.n_rows <= MOST_DENSE_ROWS)
        return build_problem(rows.over(self.bandwidth_), target / self.bandwidth_, rng, dense=dense)

    def _solve(self, problem, limits, rng):
        """Solve to ``tol``, an MMD^2 as a share of the one at equal weights, turned into units of the objective."""
        n = len(problem.kappa)
        options = dict(
            target=self.tol * _unit_of_gap(problem) * n**2 / 2,
            max_rounds=self.max_iter,
            on_round=(lambda number, value: report_round(number, problem.mmd2(value))) if self.verbose else None,
        )
        if self.solver == "random_features":
            return solve_with_features(problem, limits, self.n_features, rng, **options)
        return solve_exactly(problem, limits, **options)

    def _report(self, problem, found):
        """Keep what was found, and say where it is not what was asked for."""
        n = len(problem.kappa)
        self.mmd_ = float(np.sqrt(problem.mmd2(found.value(problem.kappa))))
        self.mmd_uniform_ = float(np.sqrt(problem.uniform_mmd2))
        self.dual_gap_ = 2 * found.gap / n**2 / _unit_of_gap(problem)
        self.n_nonzero_, self.n_iter_ = int(np.count_nonzero(found.beta)), found.n_rounds
        if not found.converged:
            reached = "" if self.solver == "random_features" else f" at a certified gap of {self.dual_gap_:.1e}"
            warnings.warn(
                f"the weights stopped{reached} after {found.n_rounds} rounds, not at tol={self.tol:g}. "
                "Raise max_iter or tol, or lower bandwidth_scale for an easier problem.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self._keep(found.beta, problem.kappa)

    def _warn_of_a_blind_kernel(self, problem):
        """Warn where the kernel takes all rows for one, or none for another's neighbour."""
        n = len(problem.kappa)
        if n > 1 and problem.similarity > 1 - LEAST_CONTRAST:
            warnings.warn(
                f"to this kernel all source rows are alike (mean similarity {problem.similarity:.6f}), so weights say "
                f"nothing. Lower bandwidth_scale (bandwidth_={self.bandwidth_:.3g}), unless the rows are copies.",
                UserWarning,
                stacklevel=4,
            )
        if (n - 1) * problem.similarity < LEAST_COMPANY and problem.kappa.mean() < LEAST_COMPANY:
            warnings.warn(
                "to this kernel no row resembles another, of the source or of the target, so the weights say nothing. "
                f"Raise bandwidth_scale (bandwidth_={self.bandwidth_:.3g}).",
                UserWarning,
                stacklevel=4,
            )


def _unit_of_gap(problem):
    """Return the MMD^2 of which ``tol`` is a share."""
    return max(problem.uniform_mmd2, LEAST_MMD2)
