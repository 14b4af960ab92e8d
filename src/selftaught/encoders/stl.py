"""Self-taught learning as it began: sparse codes in a dictionary learned from the source."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._fitting import whole_or_not_at_all
from .._parameters import Choice, Interval, check_parameters
from .._progress import report_round
from ..relevance.group_lasso import row_norms
from .base import COMMON_PARAMETERS, SourceEncoder
from .dictionary import random_atoms
from .dictionary_learning import learn_by_turns, learn_in_batches
from .sparse_coding import sparse_codes

__all__ = ["STLEncoder"]

LARGEST_GAP = 1e-6


class STLEncoder(SourceEncoder):
    """Rewrite rows as sparse codes in a dictionary that is learned from the source (Raina et al., 2007).

    The dictionary D, (m, k) with atoms of length at most one, and codes A solve, over the source rows x_i,

        minimise      sum_i |x_i - a_i D|^2 + beta |a_i|_1            beta = 2 penalty scale_

    and the code of any row is the minimiser over its ``a`` alone, D fixed. Labels and target rows play no part in D;
    the target shares in ``scaling_`` and ``pca_`` only. No row's code depends on the rows that are coded with it.

    Parameters
    ----------
    n_components : int, default 256
        Atoms of the dictionary, the width of the codes. May exceed the number of source rows.
    penalty : float, default 0.1
        How sparse codes are: a share of the weight from which on a row of median length has no code. Larger means
        fewer atoms a row.
    beta : float, default None
        The same as an absolute number; overrides ``penalty``.
    solver : {"minibatch", "alternate"}, default "minibatch"
        "minibatch" reads the source in batches, pass after pass, and may be used on a source larger than memory;
        "alternate" keeps all rows and codes, and lowers the objective in every round.
    batch_size : int, default 256
        Rows after which "minibatch" improves the dictionary.
    max_iter : int, default 100
        Passes over the source, or rounds of "alternate", at most.
    tol : float, default 1e-4
        Relative fall of the objective from one pass or round to the next that ends them.
    pca : float, int or None, default 0.96
        Share of the variance of source and target to keep before coding, or number of directions; None codes the
        features themselves.
    scale : bool, default True
        Bring every feature to [0.1, 0.9] over source and target first.
    random_state : int, RandomState or None, default None
        For the start of the dictionary, source rows of unit length, and the order within batches.
    verbose : int, default 0
        1 writes a line for each pass or round to standard error.

    Attributes
    ----------
    components_ : ndarray, shape (n_components, k)
        The dictionary, in the coordinates after ``scaling_`` and ``pca_``.
    codes_target_ : ndarray, shape (n_target, n_components)
        Codes of the target rows, equal to ``transform`` of them.
    scale_ : float
        Median length of the source rows in these coordinates, rows of zeros left out.
    beta_ : float
        The weight used.
    objective_path_ : tuple of float
        The objective of each pass (of every batch as it was coded) or round.
    n_iter_ : int
    converged_ : bool
    scaling_ : FeatureScaling
    pca_ : Projection or None
    source_index_ : ndarray, shape (n_source,)
        Row ids of the source.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from selftaught import SourcePool, STLEncoder
    >>> from selftaught.datasets import load_demo
    >>> problem = load_demo()
    >>> encoder = STLEncoder(32, tol=1e-2, random_state=0).fit(problem.X, X_source=SourcePool(problem.X_source))
    >>> codes = encoder.transform(problem.X_test)
    >>> codes.shape == (len(problem.X_test), 32) and bool((codes == 0).mean() > 0.5)
    True
    """

    _allowed = dict(
        n_components=(Interval(1, whole=True),),
        penalty=(Interval(0, open_low=True),),
        beta=(Interval(0, open_low=True), Choice((None,))),
        solver=(Choice(("minibatch", "alternate")),),
        batch_size=(Interval(1, whole=True),),
        max_iter=(Interval(1, whole=True),),
        tol=(Interval(0),),
        verbose=(Interval(0, whole=True), Choice((True, False))),
        **COMMON_PARAMETERS,
    )
    _hints = dict(
        penalty="It is a share of the weight from which on a median row has no code; pass beta= for an absolute value.",
    )

    def __init__(
        self,
        n_components=256,
        *,
        penalty=0.1,
        beta: float | None = None,
        solver="minibatch",
        batch_size=256,
        max_iter=100,
        tol=1e-4,
        pca: float | None = 0.96,
        scale=True,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.penalty = penalty
        self.beta = beta
        self.solver = solver
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.pca = pca
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, *, X_source=None):
        """Learn the dictionary.

        Parameters
        ----------
        X : array-like or data frame, shape (n_target, d)
            The target rows; at least two where there is no source.
        y : ignored
            The dictionary needs no labels.
        X_source : SourcePool or anything it takes, shape (n_source, d), optional
            The source rows. Without a source the dictionary is learned from the target rows.

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
        lengths = np.concatenate([row_norms(block) for block in self._blocks(pool, target)])
        self.scale_ = float(np.median(lengths[lengths > 0])) if lengths.any() else 1.0
        self.beta_ = 2 * self.penalty * self.scale_ if self.beta is None else float(self.beta)
        learned = self._learn(pool, target, len(lengths), rng)
        self.components_ = learned.D.astype(self._dtype)
        self.objective_path_, self.converged_ = learned.objective_path, learned.converged
        self.n_iter_ = len(learned.objective_path)
        self.codes_target_ = self._encode(target)
        self._warn()
        return self

    def _learn(self, pool, target, n_rows, rng):
        """Start from source rows, and learn the dictionary."""
        # Twice as many as needed: rows of zeros cannot start an atom.
        chosen = rng.permutation(n_rows)[: 2 * self.n_components]
        candidates = target[chosen] if pool is None else self._coordinates(pool.take(chosen))
        start = random_atoms(candidates.astype(np.float64), self.n_components, rng)
        on_round = report_round if self.verbose else None
        if self.solver == "alternate":
            rows = target if pool is None else self._source_coordinates(pool, target.shape[1])
            rows = rows.astype(np.float64, copy=False)
            return learn_by_turns(rows, start, self.beta_, max_iter=self.max_iter, tol=self.tol, on_round=on_round)
        return learn_in_batches(
            lambda: self._batches(pool, target, rng),
            n_rows,
            start,
            self.beta_,
            max_iter=self.max_iter,
            tol=self.tol,
            on_round=on_round,
        )

    def _blocks(self, pool, target):
        """Yield the rows to learn from: those of the source or, without one, of the target."""
        if pool is None:
            yield target
        else:
            for _, block in self._source_blocks(pool):
                yield block

    def _batches(self, pool, target, rng):
        """Yield the rows to learn from, ``batch_size`` at a time, shuffled within the blocks they are read in."""
        rest = target[:0]
        for block in self._blocks(pool, target):
            rows = np.concatenate([rest, block])[rng.permutation(len(rest) + len(block))]
            n_full = len(rows) - len(rows) % self.batch_size
            for start in range(0, n_full, self.batch_size):
                yield rows[start : start + self.batch_size]
            rest = rows[n_full:]
        if len(rest):
            yield rest

    def _encode(self, rows):
        coded = sparse_codes(rows, self.components_, self.beta_)
        short = np.count_nonzero(coded.gaps > LARGEST_GAP)
        if short:
            warnings.warn(
                f"the codes of {short} of {len(rows)} rows stopped at a relative duality gap of up to "
                f"{coded.gaps.max():.1e}, above {LARGEST_GAP:g}. Raise penalty for an easier problem.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return coded.codes.astype(rows.dtype, copy=False)

    def _warn(self):
        """Say so where the dictionary could still improve, or codes say nothing."""
        if not self.converged_:
            path = self.objective_path_
            last = f"by {(path[-2] - path[-1]) / path[-2]:.1e} of its value" if len(path) > 1 else "in its only one"
            warnings.warn(
                f"the objective still fell {last} in round {len(path)}, the last of max_iter={self.max_iter}; "
                f"tol={self.tol:g} was asked for. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if not self.codes_target_.any():
            warnings.warn(
                f"every code of the target is zero at beta={self.beta_:.3g}, so codes tell no rows apart. "
                "Lower penalty (or beta).",
                UserWarning,
                stacklevel=4,
            )
