"""RDSTL as an encoder: a robust dictionary that source and labelled target share."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import assert_all_finite

from .._fitting import whole_or_not_at_all
from .._parameters import Choice, Interval, check_parameters
from .._progress import report_round
from .base import COMMON_PARAMETERS, SourceEncoder
from .dictionary import random_atoms
from .reweighting import row_squares
from .robust_dictionary import critical_penalties, solve_robust_dictionary
from .square_root_lasso import solve_square_root_lasso

__all__ = ["RDSTLEncoder"]

# Rows of a source up to this size are held in the coordinates of the dictionary; larger ones are read in every round.
RESIDENT_BYTES = 256 * 2**20
RESIDENT_ROWS = 4096
MOST_ATOMS = 256
# Squared norms are smoothed by the square of this share of a row's usual length. A column of codes that is not ten
# times as long as that lies where the smoothed norm has flattened out: the atom is off.
SMOOTHING = 1e-4
OFF = 10 * SMOOTHING
# ... or below this share of the longest column.
OFF_SHARE = 1e-6
# Relative duality gap that the code of a new row must have.
GAP = 1e-6


class RDSTLEncoder(SourceEncoder):
    """Code rows in a dictionary learned robustly from source and labelled target.

    Robust and discriminative self-taught learning.

    Reconstructed: the full paper (Wang, Nie and Huang, 2013) was not available. This is a form faithful to what is
    known of it, and results obtained with it are no evidence on the published method.

    - *Certain*: a robust loss that sums lengths of residuals and not their squares (the l2,1 norm); an l2,1 penalty on
      the codes that selects atoms and brings in the target's labels; a solver that reweights iteratively and never
      raises its objective.
    - *Ours*: how the two penalties are weighed, atoms in unit balls, the smoothing, the start, how penalties are set
      as fractions of critical values, and how new rows are coded.

    Over atoms ``D`` (m, k) of length at most one, and codes ``A`` (n, m) of all rows, source and target,

        sum_i |x_i - a_i D|  +  g1 sum_j |A_:j|  +  g2 sum_c sum_j |A(c)_:j|

    is lowered, where A(c) holds the target rows of class c. New rows have no labels and come alone. They, and the
    training rows likewise, are coded by ``min_a |x - a D| + g |a|_1`` with ``g = g1 / sqrt(n)``, which gives equal rows
    the code that they would have together.

    Parameters
    ----------
    n_components : int or "auto", default "auto"
        Atoms in the dictionary. "auto" takes 256, or as many as there are directions after the projection if these are
        fewer: beyond that the joint problem does not need them, and codes of single rows become arbitrary.
    atom_sparsity : float, default 0.1
        How strongly atoms are pushed out of use altogether, as a fraction of the least ``g1`` at which, with the atoms
        of the start, no atom is used.
    class_sparsity : float, default 0.1
        How strongly each class is pushed to use few atoms, as a fraction of the like value of ``g2``, the median over
        classes. At 0, or without labels, classes play no part.
    g1, g2 : float, default None
        The same as absolute numbers; they override ``atom_sparsity`` and ``class_sparsity``.
    encode_penalty : float or "auto", default "auto"
        The penalty g of new rows, in (0, 1]; at 1 every code is zero. "auto" is ``g1 / sqrt(n)``.
    max_iter : int, default 100
        Rounds of a step for the codes and a step for the atoms.
    tol : float, default 1e-4
        Relative fall of the objective that ends the rounds.
    pca : float, int or None, default 0.96
        Share of the variance, or number, of the principal directions of source and target to keep; None for all
        features.
    scale : bool, default True
        Bring every feature to [0.1, 0.9] over source and target first.
    random_state : int, RandomState or None, default None
        For the rows that the atoms start from.
    verbose : int, default 0
        1 writes a line for each round to standard error.

    Attributes
    ----------
    components_ : ndarray, shape (n_active, k)
        The atoms in use, in the coordinates after scaling and projection.
    n_active_ : int
        Their number.
    codes_target_ : ndarray, shape (n_target, n_active)
        Codes of the target rows from the joint problem, which sees the labels. For study alone: codes of new rows
        cannot be like them, so a classifier must be trained on ``transform(X)``.
    objective_path_ : ndarray, shape (1 + 2 n_iter,)
        The smoothed objective at the start, then after each step for the codes and each for the atoms, in turn.
    n_iter_ : int
    converged_ : bool
    g1_, g2_, encode_penalty_ : float
        The penalties used.
    g1_max_, g2_max_ : float
        The critical values that fractions refer to.
    scaling_ : FeatureScaling
    pca_ : Projection or None
    source_index_ : ndarray, shape (n_source,)
        Row ids of the source.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    H. Wang, F. Nie and H. Huang, "Robust and discriminative self-taught learning", ICML 2013.

    Examples
    --------
    >>> from selftaught import RDSTLEncoder, SourcePool
    >>> from selftaught.datasets import make_open_set
    >>> problem = make_open_set(200, n_classes=3, n_factors=6, random_state=0)
    >>> encoder = RDSTLEncoder(8, random_state=0)
    >>> codes = encoder.fit(problem.X, problem.y, X_source=SourcePool(problem.X_source)).transform(problem.X_test)
    >>> codes.shape
    (120, 8)
    """

    _allowed = dict(
        n_components=(Interval(1, whole=True), Choice(("auto",))),
        atom_sparsity=(Interval(0, open_low=True),),
        class_sparsity=(Interval(0),),
        g1=(Interval(0, open_low=True), Choice((None,))),
        g2=(Interval(0), Choice((None,))),
        encode_penalty=(Interval(0, 1, open_low=True), Choice(("auto",))),
        max_iter=(Interval(1, whole=True),),
        tol=(Interval(0, open_low=True),),
        verbose=(Interval(0, whole=True), Choice((True, False))),
        **COMMON_PARAMETERS,
    )
    _hints = dict(
        atom_sparsity="It is a fraction of the least penalty at which no atom is used; pass g1= for an absolute value.",
        class_sparsity="It is a fraction of a critical value; pass g2= for an absolute value.",
        encode_penalty="From 1 on every code is zero.",
    )

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        atom_sparsity=0.1,
        class_sparsity=0.1,
        g1: float | None = None,
        g2: float | None = None,
        encode_penalty: str | float = "auto",
        max_iter=100,
        tol=1e-4,
        pca: float | None = 0.96,
        scale=True,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.atom_sparsity = atom_sparsity
        self.class_sparsity = class_sparsity
        self.g1 = g1
        self.g2 = g2
        self.encode_penalty = encode_penalty
        self.max_iter = max_iter
        self.tol = tol
        self.pca = pca
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, *, X_source=None):
        """Learn the dictionary from source and target.

        Parameters
        ----------
        X : array-like or data frame, shape (n_target, d)
            The target rows, at least two.
        y : array-like, shape (n_target,), optional
            Their classes, of any type. Without them the class penalty is absent.
        X_source : SourcePool or anything it takes, shape (n_source, d), optional
            The source rows. Without a source the dictionary is learned from the target alone.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed, self._hints)
        with whole_or_not_at_all(self):
            return self._fit(X, y, X_source)

    def _fit(self, X, y, X_source):
        rng = check_random_state(self.random_state)
        X_target, pool = self._open(X, X_source)
        X_target, classes = X_target.astype(np.float64), class_rows(y, X_target)
        n_source = 0 if pool is None else pool.n_rows
        n = n_source + len(X_target)
        read_source = self._source_reader(pool, X_target.shape[1])
        n_atoms = min(MOST_ATOMS, X_target.shape[1]) if self.n_components == "auto" else self.n_components
        D = self._start(pool, X_target, n_source, n_atoms, rng)
        self.g1_max_, self.g2_max_ = critical_penalties(read_source, X_target, classes, D)
        # Where no row has any length, any positive penalty gives the same: zero.
        self.g1_ = float(self.g1 or self.atom_sparsity * self.g1_max_ or 1.0)
        self.g2_ = float(self.class_sparsity * self.g2_max_ if self.g2 is None else self.g2)
        self.encode_penalty_ = self.g1_ / np.sqrt(n) if self.encode_penalty == "auto" else float(self.encode_penalty)
        length = usual_length(read_source, X_target)
        found = solve_robust_dictionary(
            read_source,
            X_target,
            classes,
            D,
            g1=self.g1_,
            g2=self.g2_,
            eps=(SMOOTHING * length) ** 2,
            max_iter=self.max_iter,
            tol=self.tol,
            on_round=report_round if self.verbose else None,
        )
        return self._keep(found, length)

    def _start(self, pool, X_target, n_source, n_atoms, rng):
        """Return atoms at rows drawn from source and target, (n_atoms, k)."""
        n = n_source + len(X_target)
        # Twice as many as atoms, since rows of zeros are no atoms.
        drawn = rng.permutation(n)[: 2 * n_atoms]
        of_source = drawn[drawn < n_source]
        rows = X_target[drawn[drawn >= n_source] - n_source]
        if len(of_source):
            rows = np.concatenate([self._coordinates(pool.take(of_source)).astype(np.float64), rows])
        return random_atoms(rows, n_atoms, rng)

    def _source_reader(self, pool, k):
        """Return a function that yields (slice, float64 rows in the coordinates of the dictionary) of the source."""
        if pool is None:
            return lambda: ()
        if pool.n_rows * k * 8 > RESIDENT_BYTES:
            return lambda: ((rows, block.astype(np.float64)) for rows, block in self._source_blocks(pool))
        whole = self._source_coordinates(pool, k).astype(np.float64)
        slices = [slice(i, min(i + RESIDENT_ROWS, len(whole))) for i in range(0, len(whole), RESIDENT_ROWS)]
        return lambda: ((rows, whole[rows]) for rows in slices)

    def _keep(self, found, length):
        """Store what was found, without the atoms that are out of use."""
        on = found.column_norms > max(OFF * length, OFF_SHARE * found.column_norms.max())
        if not on.any():
            warnings.warn(
                f"no atom is in use at g1={self.g1_:.3g}, and nearly all codes will be zero. "
                "Lower atom_sparsity, or g1 if you gave it.",
                UserWarning,
                stacklevel=4,
            )
            on[found.column_norms.argmax()] = True
        if not found.converged:
            fall = 1 - found.objective_path[-1] / found.objective_path[-3]
            warnings.warn(
                f"the dictionary was still improving by {fall:.1e} a round after {found.n_iter} rounds, above "
                f"tol={self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.components_ = found.D[on].astype(self._dtype)
        self.codes_target_ = found.codes_target[:, on].astype(self._dtype)
        self.n_active_ = int(on.sum())
        self.objective_path_ = np.array(found.objective_path)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        return self

    def _encode(self, rows):
        D = self.components_.astype(np.float64)
        found = solve_square_root_lasso(rows.astype(np.float64), D, self.encode_penalty_)
        if (loose := np.count_nonzero(found.gaps > GAP)) > 0:
            warnings.warn(
                f"codes of {loose} rows are not certified: their duality gap is up to {found.gaps.max():.1e} of the "
                "objective. Raise encode_penalty, or lower n_components.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found.codes.astype(self._dtype)


def class_rows(y, X):
    """Return the rows of each class of y, a list of index arrays; empty where y is None."""
    if y is None:
        return []
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    assert_all_finite(y, input_name="y")
    if y.dtype.kind == "f" and (y != np.round(y)).any():
        raise ValueError(
            f"y must hold classes, got numbers such as {y[y != np.round(y)][0]:g}. "
            "Give a class for each row, or y=None to learn without labels."
        )
    _, codes = np.unique(y, return_inverse=True)
    return [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]


def usual_length(read_source, X_target):
    """Return the median length of the rows that are not zero, or 1 where there are none."""
    squares = np.concatenate([row_squares(X) for _, X in read_source()] + [row_squares(X_target)])
    return float(np.sqrt(np.median(squares[squares > 0]))) if squares.any() else 1.0
