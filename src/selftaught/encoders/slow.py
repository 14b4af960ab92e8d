"""S-Low as an encoder: one dictionary for source and target, under which the target's codes have a low rank."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._fitting import whole_or_not_at_all
from .._parameters import Choice, Infinity, Interval, check_parameters
from .._progress import report_round
from .base import COMMON_PARAMETERS, SourceEncoder
from .low_rank import solve_low_rank
from .minimax_concave import Weights

__all__ = ["SLowDiagnostics", "SLowEncoder"]

MOST_COMPONENTS = 256


@dataclass(frozen=True)
class SLowDiagnostics:
    """How a dictionary came about, for a look when a result surprises.

    ``target_rank`` rank of the target's codes; ``gaps`` how far, at most, each step of the last round stopped from the
    minimum of its convex problem, relative to the objective, by duality; ``certificate`` the largest of them;
    ``weights`` constants of the objective in units of the data; ``objective_path``; ``n_outer`` rounds; ``converged``;
    ``n_learned_from`` source rows that took part; ``seconds`` by step.
    """

    target_rank: int
    gaps: dict[str, float]
    certificate: float
    weights: Weights
    objective_path: tuple[float, ...]
    n_outer: int
    converged: bool
    n_learned_from: int
    seconds: dict[str, float]


class SLowEncoder(SourceEncoder):
    """Rewrite rows as codes in a dictionary learned with low-rank codes of the target (self-taught low-rank coding).

    **Reconstructed**: the full paper (Li, Li and Fu, 2018) was not available, and this is a form faithful to its
    spirit. Certain are one dictionary for source and target, a low-rank constraint on the target's codes,
    minimax-concave stand-ins for rank and sparsity, and majorisation-minimisation with an augmented Lagrangian inside.
    Not known, and therefore ours, are the exact terms, the constants and the encoder for new rows. A difference from
    published figures is no evidence either way.

    For rows ``X = Z D + E`` of source (s) and target (t), and atoms in unit balls, it lowers

        sum_k M(sigma_k(Z_t)) + l_s |Z_s|_1 + l_e (source_weight M(E_s) + M(E_t))

    where ``M(t)`` grows like ``|t|`` and flattens out at a knee, so that gross errors and strong directions cost no
    more than moderate ones. Labels play no part.

    Parameters
    ----------
    n_components : int, default None
        Atoms of the dictionary; None takes twice the features after projection, at most 256.
    rank_gamma : float, default 5.0
        Knee of the rank penalty, as a multiple of the mean singular value of the starting codes. ``np.inf`` is the
        convex nuclear norm.
    error_gamma : float, default 5.0
        Knee of the error penalty, as a multiple of the mean error at the start. ``np.inf`` is the absolute error.
    error_weight : float, default 5.0
        How much an error costs, as a multiple of the cost up to which the target needs no codes. Larger rebuilds the
        target more closely, at a higher rank.
    source_sparsity : float, default 0.1
        How strongly source codes are pushed to zero, as a fraction of the strength at which half of them vanish.
    source_weight : float, default 1.0
        What an error of a source row counts against one of a target row.
    encode : {"ridge", "subspace"}, default "ridge"
        Codes of rows by ridge regression on the atoms, or on the row space of the target's learned codes alone.
    eta : float, default 0.1
        Strength of that ridge.
    max_outer : int, default 10
        Rounds of coding and learning the dictionary.
    max_inner : int, default 100
        Steps of ADMM in each part of a round.
    tol : float, default 1e-4
        Relative duality gap of the parts of a round, and relative fall of the objective that ends the rounds early.
    max_source : int, default 20000
        Source rows that are held in memory with their codes; of a larger source a random sample is learned from. None
        holds all.
    batch_size : int, default 5000
        Source rows that a round codes anew, while the codes of the others are frozen. None is all of them.
    pca : float, int or None, default 0.96
        Share of the variance, or number of directions, to project source and target on before coding; None for none.
    scale : bool, default True
        Bring every feature to [0.1, 0.9] over source and target.
    random_state : int, RandomState or None, default None
        For the rows that the first atoms are, samples and batches.
    verbose : int, default 0
        1 writes a line for each round to standard error.

    Attributes
    ----------
    components_ : ndarray, shape (n_components, k)
        The dictionary, one atom a row.
    codes_target_ : ndarray, shape (n_target, n_components)
        The low-rank codes of the target rows, found together. `transform` codes rows one by one, and differently: train
        a classifier on what it gives.
    objective_path_ : ndarray, shape (n_iter_ + 1,)
        The objective at the start and after every round; it never rises.
    n_iter_ : int
        Rounds.
    converged_ : bool
        Whether the last round lowered the objective by less than ``tol``.
    diagnostics_ : SLowDiagnostics
    scaling_, pca_
        As in every encoder.
    source_index_ : ndarray, shape (n_source,)
        Row ids of the source.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    S. Li, K. Li, Y. Fu, "Self-taught low-rank coding for visual learning", IEEE Transactions on Neural Networks and
    Learning Systems 29(3), 2018.

    Examples
    --------
    >>> from selftaught import SLowEncoder, SourcePool
    >>> from selftaught.datasets import make_open_set
    >>> problem = make_open_set(n_source=100, n_per_class=10, n_features=10, random_state=0)
    >>> encoder = SLowEncoder(n_components=12, tol=1e-2, random_state=0)
    >>> codes = encoder.fit(problem.X, X_source=SourcePool(problem.X_source)).transform(problem.X)
    >>> codes.shape == (len(problem.X), 12)
    True
    """

    _allowed = dict(
        COMMON_PARAMETERS,
        n_components=(Interval(1, whole=True), Choice((None,))),
        rank_gamma=(Interval(0, open_low=True), Infinity()),
        error_gamma=(Interval(0, open_low=True), Infinity()),
        error_weight=(Interval(0, open_low=True),),
        source_sparsity=(Interval(0, open_low=True),),
        source_weight=(Interval(0, open_low=True),),
        encode=(Choice(("ridge", "subspace")),),
        eta=(Interval(0, open_low=True),),
        max_outer=(Interval(1, whole=True),),
        max_inner=(Interval(1, whole=True),),
        tol=(Interval(0, open_low=True),),
        max_source=(Interval(1, whole=True), Choice((None,))),
        batch_size=(Interval(1, whole=True), Choice((None,))),
        verbose=(Interval(0, whole=True), Choice((True, False))),
    )
    _hints = dict(
        rank_gamma="It is a multiple of the mean singular value; np.inf gives the convex problem.",
        error_gamma="It is a multiple of the mean error; np.inf gives the convex problem.",
        error_weight="At 1 and below the target needs no codes.",
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        rank_gamma=5.0,
        error_gamma=5.0,
        error_weight=5.0,
        source_sparsity=0.1,
        source_weight=1.0,
        encode="ridge",
        eta=0.1,
        max_outer=10,
        max_inner=100,
        tol=1e-4,
        max_source: int | None = 20_000,
        batch_size: int | None = 5_000,
        pca: float | int | None = 0.96,
        scale=True,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.rank_gamma = rank_gamma
        self.error_gamma = error_gamma
        self.error_weight = error_weight
        self.source_sparsity = source_sparsity
        self.source_weight = source_weight
        self.encode = encode
        self.eta = eta
        self.max_outer = max_outer
        self.max_inner = max_inner
        self.tol = tol
        self.max_source = max_source
        self.batch_size = batch_size
        self.pca = pca
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, *, X_source=None):
        """Learn the dictionary from source and target.

        Parameters
        ----------
        X : array-like or data frame, shape (n_target, d)
            The target rows.
        y : ignored
            Labels play no part.
        X_source : SourcePool or anything it takes, shape (n_source, d), optional
            The source rows. Without a source the dictionary is learned from the target alone.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed, self._hints)
        with whole_or_not_at_all(self):
            return self._fit(X, X_source)

    def _fit(self, X, X_source):
        target, pool = self._open(X, X_source)
        rng = check_random_state(self.random_state)
        source = self._sample(pool, target.shape[1], rng)
        solution = solve_low_rank(
            source.astype(np.float64),
            target.astype(np.float64),
            n_components=self.n_components or min(MOST_COMPONENTS, 2 * target.shape[1]),
            rng=rng,
            rank_gamma=self.rank_gamma,
            error_gamma=self.error_gamma,
            error_weight=self.error_weight,
            source_sparsity=self.source_sparsity,
            source_weight=self.source_weight,
            max_outer=self.max_outer,
            max_inner=self.max_inner,
            tol=self.tol,
            batch_size=self.batch_size,
            on_round=report_round if self.verbose else None,
        )
        D, Z = solution.point.D, solution.point.Z_target
        V = row_space(Z)
        self.components_, self.codes_target_ = D.astype(self._dtype), Z.astype(self._dtype)
        self._encoding = encoding(D, self.eta, V if self.encode == "subspace" else None).astype(self._dtype)
        self.objective_path_ = np.array(solution.objective_path)
        self.n_iter_, self.converged_ = solution.n_outer, solution.converged
        self.diagnostics_ = _diagnose(solution, V.shape[1], len(source), self.tol)
        return self

    def _sample(self, pool, n_features, rng):
        """Return the source rows to learn from, in the coordinates of the dictionary."""
        if pool is None or self.max_source is None or pool.n_rows <= self.max_source:
            return self._source_coordinates(pool, n_features)
        rows = np.sort(rng.choice(pool.n_rows, self.max_source, replace=False))
        return self._coordinates(pool.take(rows))

    def _encode(self, rows):
        return rows @ self._encoding


def row_space(Z):
    """Return an orthonormal basis of the rows of Z, (m, r)."""
    _, sigma, Vt = np.linalg.svd(Z, full_matrices=False)
    return Vt[sigma > 1e-8 * sigma[0]].T


def encoding(D, eta, V=None):
    """Return the matrix (d, m) that turns rows into ridge codes, in the span of V (m, r) where it is given."""
    VD = D if V is None else V.T @ D
    codes = np.linalg.solve(VD @ VD.T + eta * np.eye(len(VD)), VD).T
    return codes if V is None else codes @ V.T


def _diagnose(solution, rank, n_source, tol):
    """Gather the diagnostics, and warn where the last round was not solved as closely as asked."""
    certificate = max(solution.gaps.values())
    if certificate > tol:
        worst = max(solution.gaps, key=solution.gaps.__getitem__)
        warnings.warn(
            f"S-Low solved its last step for the {worst} to a relative gap of {certificate:.1e}, above tol={tol:g}. "
            "Raise max_inner, or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return SLowDiagnostics(
        target_rank=rank,
        gaps=solution.gaps,
        certificate=certificate,
        weights=solution.weights,
        objective_path=solution.objective_path,
        n_outer=solution.n_outer,
        converged=solution.converged,
        n_learned_from=n_source,
        seconds=solution.seconds,
    )
