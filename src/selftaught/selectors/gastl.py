"""GASTL as a selector: the rows that rebuild the target matter."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._fitting import whole_or_not_at_all
from .._parameters import Choice, Interval, check_parameters
from .._progress import report_round
from ..relevance import closeness, encode, lam_max, mapping_frame, solve_relevance
from .base import SourceSelector

__all__ = ["Diagnostics", "GASTLSelector"]

LOW_R2 = 0.1
COLLAPSED_VARIANCE = 1e-5


@dataclass(frozen=True)
class Diagnostics:
    """How a relevance came about, for a look when a result surprises.

    ``target_r2`` share of the target's variance that the autoencoder keeps; ``hidden_variance`` mean variance of the
    codes; ``gap`` relative duality gap of the last mapping; ``lam``, ``lam_max``; ``objective_path``; ``n_outer``
    rounds; ``converged``; ``n_relevant`` source rows used; ``seconds`` by step.
    """

    target_r2: float
    hidden_variance: float
    gap: float
    lam: float
    lam_max: float
    objective_path: tuple[float, ...]
    n_outer: int
    converged: bool
    n_relevant: int
    seconds: dict[str, float]


class GASTLSelector(SourceSelector):
    """Find the source rows that matter to a target, by GASTL.

    An autoencoder shared by source and target gives cleaned-up target rows; a mapping that pays for every source row
    it touches rebuilds these from the source. The rows it keeps are relevant, in proportion to what they contribute.

    Parameters
    ----------
    n_hidden : int, default 100
        Hidden units of the autoencoder.
    sparsity : float, default 0.3
        How strongly the mapping is pushed to use few rows, as a fraction of the least strength at which it uses none.
        Larger means fewer rows. Above 0 and at most 1.
    lam : float, default None
        The same as an absolute number; overrides ``sparsity``.
    smoothness : float, default 0.1
        How strongly neighbouring rows are held to neighbouring codes; 0 switches the graph off.
    coupling : float or "balanced", default "balanced"
        How strongly a reconstructed target row is drawn to what the mapping makes of it. "balanced" draws it as
        strongly to its mapping as to itself, ``n_target / (n_source + n_target)``; 1.0 as published, with which an
        autoencoder that is trained far enough meets the mapping at zero.
    n_neighbors : int, default 5
        Of the graph.
    metric : {"cosine", "euclidean"}, default "cosine"
        Which rows are neighbours.
    center : bool, default True
        Map around the mean of the target instead of the origin.
    normalize : bool, default True
        Make long and short rows cost the mapping the same for the same contribution.
    init : {"spectral", "random"}, default "spectral"
        Start of the autoencoder: leading directions of the data, or random as published.
    graph_scaling : {"mean", "sum"}, default "mean"
        Whether ``smoothness`` is divided by the number of rows, like the other terms, or not, as published.
    scale : bool, default True
        Bring every feature to [0.1, 0.9] over source and target; switch off for data that already lie inside (0, 1).
    max_outer : int, default 2
        Rounds of training the autoencoder and solving the mapping.
    max_inner : int, default 5
        L-BFGS iterations in a round.
    history : int, default 20
        Updates that L-BFGS remembers.
    tol : float, default 1e-4
        Relative duality gap of the mapping, and relative fall of the objective that ends the rounds.
    random_state : int, RandomState or None, default None
        For the start of the autoencoder.
    verbose : int, default 0
        1 writes a line for each round to standard error.

    Attributes
    ----------
    relevance_ : ndarray, shape (n_source,)
        Length of each row's contribution to the mapping.
    weights_ : ndarray, shape (n_source,)
        Relevance over its maximum.
    ranking_ : ndarray of int, shape (n_source,)
        Source rows, most relevant first; rows of relevance zero by their closeness to the target.
    dual_score_ : ndarray, shape (n_source,)
        1 on the rows used, less the farther a row is from being used at this sparsity.
    mapping_ : scipy.sparse.csr_array, shape (n_source, n_target)
    autoencoder_ : Autoencoder
    diagnostics_ : Diagnostics
    solution_ : RelevanceSolution
        All that stage 1 found.
    scaling_ : FeatureScaling
    source_index_ : ndarray, shape (n_source,)
        Row ids of the source.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from selftaught import GASTLSelector, SourcePool
    >>> from selftaught.datasets import load_demo
    >>> problem = load_demo()
    >>> selector = GASTLSelector(random_state=0).fit(problem.X, X_source=SourcePool(problem.X_source))
    >>> bool(problem.source_is_relevant[selector.ranking_[:20]].mean() > 0.9)
    True
    """

    has_mapping = True

    _allowed = dict(
        n_hidden=(Interval(1, whole=True),),
        sparsity=(Interval(0, 1, open_low=True),),
        lam=(Interval(0, open_low=True), Choice((None,))),
        smoothness=(Interval(0),),
        coupling=(Interval(0, open_low=True), Choice(("balanced",))),
        n_neighbors=(Interval(1, whole=True),),
        metric=(Choice(("cosine", "euclidean")),),
        center=(Choice((True, False)),),
        normalize=(Choice((True, False)),),
        init=(Choice(("spectral", "random")),),
        graph_scaling=(Choice(("mean", "sum")),),
        scale=(Choice((True, False)),),
        max_outer=(Interval(0, whole=True),),
        max_inner=(Interval(1, whole=True),),
        history=(Interval(1, whole=True),),
        tol=(Interval(0, open_low=True),),
        verbose=(Interval(0, whole=True), Choice((True, False))),
    )
    _hints = dict(
        sparsity="It is a fraction of the least strength at which no row is used; pass lam= for an absolute value.",
        smoothness="0 switches the graph off.",
    )

    def __init__(
        self,
        n_hidden=100,
        *,
        sparsity=0.3,
        lam: float | None = None,
        smoothness=0.1,
        coupling: str | float = "balanced",
        n_neighbors=5,
        metric="cosine",
        center=True,
        normalize=True,
        init="spectral",
        graph_scaling="mean",
        scale=True,
        max_outer=2,
        max_inner=5,
        history=20,
        tol=1e-4,
        random_state=None,
        verbose=0,
    ):
        self.n_hidden = n_hidden
        self.sparsity = sparsity
        self.lam = lam
        self.smoothness = smoothness
        self.coupling = coupling
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.center = center
        self.normalize = normalize
        self.init = init
        self.graph_scaling = graph_scaling
        self.scale = scale
        self.max_outer = max_outer
        self.max_inner = max_inner
        self.history = history
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, *, X_source=None):
        """Find the relevance of every source row.

        Parameters
        ----------
        X : array-like or data frame, shape (n_target, d)
            The target rows, at least two.
        y : ignored
            Relevance needs no labels.
        X_source : SourcePool or anything it takes, shape (n_source, d), optional
            The source rows. Without a source there is nothing to select from, and all results are empty.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed, self._hints)
        with whole_or_not_at_all(self):
            return self._fit(X, X_source)

    def _fit(self, X, X_source):
        X_source, X_target = self._read(X, X_source, scale=self.scale)
        if len(X_source) == 0:
            self.solution_ = self.autoencoder_ = self.diagnostics_ = None
            self.dual_score_ = np.zeros(0)
            return self._keep(np.zeros(0))
        solution = self._solve(X_source, X_target)
        self.solution_, self.autoencoder_, self.dual_score_ = solution, solution.autoencoder, solution.dual_score
        self.diagnostics_ = _diagnose(solution, self.tol)
        codes = encode(X_source, solution.autoencoder)
        self._target_codes = encode(X_target, solution.autoencoder)
        self._middle = codes.mean(axis=0, dtype=np.float64).astype(codes.dtype)
        return self._keep(solution.relevance, closeness(codes, self._target_codes, self._middle), solution.mapping)

    def _solve(self, X_source, X_target):
        """Turn fractions into the absolute weights of the objective, and solve."""
        n = len(X_source) + len(X_target)
        mu = len(X_target) / n if self.coupling == "balanced" else float(self.coupling)
        gamma = self.smoothness / n if self.graph_scaling == "mean" else self.smoothness
        lam = self.lam
        if lam is None:
            c, w = mapping_frame(X_source, X_target, center=self.center, normalize=self.normalize)
            # Where no row relates to the target at all, any positive lam gives the same: nothing.
            lam = self.sparsity * lam_max(X_source, X_target, mu, center=c, row_weights=w) or 1.0
        return solve_relevance(
            X_source,
            X_target,
            lam=lam,
            gamma=gamma,
            mu=mu,
            n_hidden=self.n_hidden,
            center=self.center,
            normalize=self.normalize,
            n_neighbors=self.n_neighbors,
            metric=self.metric,
            init=self.init,
            max_outer=self.max_outer,
            max_inner=self.max_inner,
            history=self.history,
            tol=self.tol,
            random_state=self.random_state,
            on_round=report_round if self.verbose else None,
        )

    def encode(self, X):
        """Return the hidden codes of rows, shape (n, n_hidden)."""
        X = self._scaled(X)
        return X if self.autoencoder_ is None else encode(X, self.autoencoder_)

    def score_source(self, X_source):
        """Score rows never seen: their closeness to the target, at most 1, larger is closer.

        Closeness is a soft maximum of the cosine similarities of a row's hidden codes to those of the target rows.


        Parameters
        ----------
        X_source : SourcePool or anything it takes, shape (n, d)
            Read in blocks, so it may be larger than memory.

        Returns
        -------
        scores : ndarray, shape (n,)
        """
        check_is_fitted(self)
        if self.solution_ is None:
            raise ValueError(
                "this selector was fitted without a source and cannot score one. Fit it with X_source= first."
            )

        def score(X):
            X = X.astype(self._target_codes.dtype, copy=False)
            return closeness(encode(X, self.autoencoder_), self._target_codes, self._middle)

        return self._score_blocks(X_source, score)


def _diagnose(solution, tol):
    """Gather the diagnostics, and warn of what makes a relevance meaningless."""
    if solution.gap > tol:
        warnings.warn(
            f"the mapping stopped at a relative duality gap of {solution.gap:.1e}, above tol={tol:g}. "
            "Raise tol, or raise sparsity for an easier problem.",
            ConvergenceWarning,
            stacklevel=4,
        )
    if solution.target_r2 < LOW_R2:
        warnings.warn(
            f"the autoencoder keeps {max(solution.target_r2, 0):.0%} of the target's variance, so the relevance says "
            "little. Raise n_hidden, lower smoothness or coupling, or use init='spectral'.",
            UserWarning,
            stacklevel=4,
        )
    if solution.gamma > 0 and solution.hidden_variance < COLLAPSED_VARIANCE:
        warnings.warn(
            f"the hidden codes have collapsed to one point (variance {solution.hidden_variance:.1e}): the graph term "
            f"outweighs the rest. Lower smoothness, or use graph_scaling='mean'.",
            UserWarning,
            stacklevel=4,
        )
    return Diagnostics(
        target_r2=solution.target_r2,
        hidden_variance=solution.hidden_variance,
        gap=solution.gap,
        lam=solution.lam,
        lam_max=solution.lam_max,
        objective_path=solution.objective_path,
        n_outer=solution.n_outer,
        converged=solution.converged,
        n_relevant=int(np.count_nonzero(solution.relevance)),
        seconds=solution.seconds,
    )
