"""The A-step: which few source rows, and how much of each, rebuild the target.

    minimise over A (n_source, n_target)

        mu/(2 n_target) |A'(X_source - c) - (H_target - c)|^2  +  lam sum_i w_i |A_i|

a group lasso whose groups are the source rows (the published form has c = 0 and w = 1). In ``B_i = w_i A_i``,
``x_i = (X_source_i - c) / w_i``, ``alpha = lam n_target / mu`` it is the plain ``1/2 |Y - B'X|^2 + alpha sum |B_i|``.

Few rows take part, so the problem is solved in a *working set*: start from the rows that pull hardest, solve there
(`group_lasso`), scan the whole pool once for rows that pull harder than alpha, take them in, repeat. Each scan also
gives the duality gap over the whole pool, which certifies the answer: with residual ``R = Y - B'X`` the dual point is
``R min(1, alpha / max_i |R x_i|)``. Only the scan touches the whole pool, in blocks of rows.

More target rows than features: the columns of A are rotated so that only d of them matter, and rotated back; row norms
do not change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .group_lasso import relative_gap, row_norms, solve_group_lasso
from .wide_group_lasso import solve_wide_group_lasso

__all__ = ["MappingSolution", "lam_max", "lengths_around", "map_source", "row_blocks", "solve_mapping"]

BLOCK_BYTES = 2**24
FIRST_ROWS = 100
# Below this share of the hardest pull most rows take part, and sets that grow by and by are solved in vain.
SMALL_ALPHA = 2e-3
MANY_ROWS = 3000
SMALL_SET = 500
MAX_PASSES = 50
NEARLY = 0.98


@dataclass(frozen=True)
class MappingSolution:
    """A solved mapping and its certificate.

    ``mapping`` is SciPy CSR (n_source, n_target), only the rows that matter are stored; ``gap`` the duality gap over
    the objective; ``n_passes`` scans of the pool; ``dual_score`` (n_source,): 1 on the rows that matter, less the
    farther a row is from mattering; ``converged`` whether the gap asked for was reached; ``lam_max`` the least lam at
    which the mapping is zero.
    """

    mapping: sparse.csr_array
    gap: float
    n_passes: int
    dual_score: np.ndarray
    converged: bool
    lam_max: float


@dataclass(frozen=True)
class _Problem:
    """The standardised problem: pool, centre, row weights, responses Y (T, d) and their rotation, alpha."""

    X_source: np.ndarray
    center: np.ndarray | None
    row_weights: np.ndarray | None
    Y: np.ndarray
    rotation: np.ndarray | None
    alpha: float


def lam_max(X_source, H_target, mu=1.0, *, center=None, row_weights=None):
    """Return the smallest lam at which no source row is used: (mu/n_target) max_i |(H_target - c)(x_i - c)| / w_i.

    Parameters
    ----------
    X_source : ndarray, shape (n_source, d)
    H_target : ndarray, shape (n_target, d)
    mu : float, default 1.0
    center : ndarray, shape (d,), optional
        The point c; zero when not given.
    row_weights : ndarray, shape (n_source,), optional
        The weights w of the penalty; one when not given.

    Returns
    -------
    float
    """
    problem = _standardise(X_source, H_target, 1.0, mu, center, row_weights)
    return float(_scan(problem, problem.Y).max(initial=0)) * mu / len(H_target)


def solve_mapping(
    X_source,
    H_target,
    *,
    lam,
    mu=1.0,
    tol=1e-4,
    start=None,
    center=None,
    row_weights=None,
):
    """Solve the A-step to a relative duality gap.

    Parameters
    ----------
    X_source : ndarray, shape (n_source, d)
        The pool.
    H_target : ndarray, shape (n_target, d)
        What is to be rebuilt from the pool.
    lam : float
        Weight of the row norms, positive. At `lam_max` and above the answer is zero.
    mu : float, default 1.0
        Weight of the domain mapping.
    tol : float, default 1e-4
        Relative duality gap to reach over the whole pool.
    start : MappingSolution or sparse or ndarray, shape (n_source, n_target), optional
        A mapping to start from; its rows fix the first working set.
    center : ndarray, shape (d,), optional
        The point c in whose coordinates the mapping acts; zero when not given.
    row_weights : ndarray, shape (n_source,), optional
        Positive weights w of the penalty; one when not given.

    Returns
    -------
    MappingSolution

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.relevance import lam_max, solve_mapping
    >>> rng = np.random.default_rng(0)
    >>> X_source = rng.standard_normal((50, 8))
    >>> H_target = X_source[:3] + 0.01 * rng.standard_normal((3, 8))
    >>> solved = solve_mapping(X_source, H_target, lam=0.5 * lam_max(X_source, H_target))
    >>> solved.mapping.shape, solved.gap <= 1e-4
    ((50, 3), True)
    """
    if not lam > 0:
        raise ValueError(f"lam must be positive, got {lam}. It weighs the row norms; see lam_max for its useful range.")
    problem = _standardise(X_source, H_target, lam, mu, center, row_weights)
    first_pull = _scan(problem, problem.Y)
    if not np.isfinite(first_pull).all():
        row = int(np.argmin(np.isfinite(first_pull)))
        raise ValueError(
            f"X_source and H_target must be finite, and their products too; those of source row {row} are not. "
            "Impute or drop missing values, and scale huge ones."
        )
    rows, B, gap, n_passes, pull = _solve_in_working_set(
        problem, tol, first_pull, _start_norms(start, row_weights, (len(X_source), len(H_target)))
    )
    return MappingSolution(
        mapping=_to_csr(problem, rows, B, len(H_target)),
        gap=gap,
        n_passes=n_passes,
        dual_score=pull / problem.alpha,
        converged=gap <= tol,
        lam_max=lam * float(first_pull.max(initial=0)) / problem.alpha,
    )


def map_source(mapping, X_source, center=None):
    """Return what the mapping makes of the source for each target row: A'(X_source - c) + c, shape (n_target, d)."""
    mapping = sparse.csr_array(mapping)
    rows = np.flatnonzero(np.diff(mapping.indptr))
    part = X_source[rows] if center is None else X_source[rows] - center
    mapped = mapping[rows].T @ part if len(rows) else np.zeros((mapping.shape[1], X_source.shape[1]))
    return (mapped if center is None else mapped + center).astype(X_source.dtype, copy=False)


def _standardise(X_source, H_target, lam, mu, center, row_weights):
    """Gather the problem in its plain form; tasks are rotated where there are more of them than features."""
    if not mu > 0:
        raise ValueError(f"mu must be positive, got {mu}. It weighs the domain mapping.")
    X_source = np.asarray(X_source)
    if X_source.dtype.kind != "f":
        X_source = X_source.astype(np.float64)
    Y = np.asarray(H_target, dtype=np.float64)
    if center is not None:
        Y = Y - center
    rotation = None
    if Y.shape[0] > Y.shape[1]:
        rotation, Y = np.linalg.qr(Y)
    return _Problem(X_source, center, row_weights, Y, rotation, lam * len(H_target) / mu)


def _solve_in_working_set(problem, tol, pull, norms):
    """Return live rows, their B, the gap over the pool, the number of scans and every row's pull |R x_i|."""
    alpha, Y = problem.alpha, problem.Y
    response_square = float(np.vdot(Y, Y))
    rows, B, R = np.empty(0, np.intp), np.empty((0, len(Y))), Y
    gap = relative_gap(response_square, response_square, pull.max(initial=0), 0.0, alpha)
    n_passes, stalled, lacking = 1, False, True
    working = _WorkingSet(problem, _first_rows(pull, alpha, norms))
    eta = np.zeros(len(working.rows)) if norms is None else norms[working.rows]
    solved = None
    while gap > tol and n_passes < MAX_PASSES and not stalled and len(working.rows):
        # A set that still lacks rows deserves no more accuracy than it can keep.
        lacking = lacking and len(working.rows) < len(pull)
        inner_tol = max(tol / 2, min(gap, 1.0) / 50) if lacking else tol / 2
        solved = working.solve(eta, solved, inner_tol)
        rows, B, R = working.rows[solved.rows], solved.B, Y - solved.B.T @ working.X[solved.rows]
        pull, previous = _scan(problem, R), gap
        gap = relative_gap(np.vdot(R, R), np.vdot(R, Y), pull.max(), row_norms(B).sum(), alpha)
        n_passes += 1
        joining = _joining_rows(pull, alpha, rows)
        n_missing = np.count_nonzero(pull > alpha) - np.count_nonzero(pull[working.rows] > alpha)
        stalled = not lacking and n_missing == 0 and gap >= previous
        lacking = n_missing > len(rows) / 10
        working.replace(solved.rows, joining)
    return rows, B, float(gap), n_passes, pull


def _first_rows(pull, alpha, norms):
    """Return the first working set: the start's rows and the rows that pull hardest, many where alpha is so small."""
    n_first = FIRST_ROWS if norms is not None or alpha > SMALL_ALPHA * pull.max(initial=0) else MANY_ROWS
    hardest = np.argsort(-pull, kind="stable")[:n_first]
    hardest = hardest[pull[hardest] > alpha]
    return hardest if norms is None else np.union1d(hardest, np.flatnonzero(norms))


class _WorkingSet:
    """Some rows of the pool in standard form, ``X`` (k, d), and how to solve the problem on them alone.

    Up to as many rows as features it is solved in inner products, ``G`` (k, k) and ``Q`` (k, T), and so are small sets;
    larger ones in the features themselves.
    """

    def __init__(self, problem, rows):
        self._problem, self.rows = problem, rows
        self.X = _standard_rows(problem, rows)
        self._G = self._Q = None

    @property
    def _is_wide(self):
        return len(self.rows) > max(self.X.shape[1], SMALL_SET)

    def solve(self, eta, last, tol):
        """Solve to a relative gap; ``eta`` guesses the norms of the first rows, ``last`` is the solution before."""
        alpha, Y = self._problem.alpha, self._problem.Y
        known = eta if last is None else last.eta
        start = np.concatenate([known, np.zeros(len(self.rows) - len(known))])
        if self._is_wide:
            return solve_wide_group_lasso(self.X, Y, alpha, eta=start, tol=tol)
        if self._G is None:
            self._G, self._Q = self.X @ self.X.T, self.X @ Y.T
        if last is not None and last.inverse is None:
            last = None
        return solve_group_lasso(self._G, self._Q, alpha, float(np.vdot(Y, Y)), eta=start, last=last, tol=tol)

    def replace(self, kept, joining):
        """Go on with the rows at the positions ``kept`` and new rows of the pool, of which alone products are taken."""
        X = _standard_rows(self._problem, joining)
        if self._G is not None and len(kept) + len(joining) <= X.shape[1]:
            across = self.X[kept] @ X.T
            self._G = np.block([[self._G[np.ix_(kept, kept)], across], [across.T, X @ X.T]])
            self._Q = np.concatenate([self._Q[kept], X @ self._problem.Y.T])
        else:
            self._G = self._Q = None
        self.rows = np.concatenate([self.rows[kept], joining])
        self.X = np.concatenate([self.X[kept], X])


def _joining_rows(pull, alpha, live):
    """Return the rows not live that pull as hard as alpha or nearly, hardest first, at most twice as many as live.

    A row that is nearly there costs little inside the set, and a scan of the pool if it turns out to be missing.
    """
    harder = np.flatnonzero(pull > NEARLY * alpha)
    outside = np.setdiff1d(harder, live, assume_unique=True)
    hardest = np.argsort(-pull[outside], kind="stable")
    return outside[hardest[: max(FIRST_ROWS, 2 * len(live))]]


def _start_norms(start, row_weights, shape):
    """Return w_i |A_i| of a mapping to start from."""
    if start is None:
        return None
    mapping = sparse.csr_array(start.mapping if isinstance(start, MappingSolution) else start)
    if mapping.shape != shape:
        raise ValueError(f"start must be a mapping of shape (n_source, n_target) = {shape}, got {mapping.shape}.")
    norms = np.sqrt(mapping.multiply(mapping).sum(axis=1)).ravel()
    return norms if row_weights is None else norms * row_weights


def _standard_rows(problem, rows):
    """Return (x_i - c) / w_i for the given rows, float64."""
    part = problem.X_source[rows].astype(np.float64)
    if problem.center is not None:
        part -= problem.center
    if problem.row_weights is not None:
        part /= problem.row_weights[rows, None]
    return part


def _scan(problem, R):
    """Return the pull |R x_i| of every standardised row, reading the pool once in blocks."""
    X, center = problem.X_source, problem.center
    directions = R.T.astype(X.dtype)
    offset = 0 if center is None else (np.asarray(center, X.dtype) @ directions)
    pull = np.empty(len(X))
    for rows in row_blocks(X, len(R)):
        pull[rows] = row_norms(X[rows] @ directions - offset)
    return pull if problem.row_weights is None else pull / problem.row_weights


def lengths_around(X, center):
    """Return the length of each row around a point, float64, in blocks of rows."""
    lengths = np.empty(len(X))
    for rows in row_blocks(X, X.shape[1]):
        lengths[rows] = row_norms(X[rows] - center)
    return lengths


def row_blocks(X, width):
    """Yield slices of rows for which ``width`` numbers a row take about BLOCK_BYTES."""
    step = max(1, BLOCK_BYTES // (width * X.dtype.itemsize))
    for begin in range(0, len(X), step):
        yield slice(begin, begin + step)


def _to_csr(problem, rows, B, n_target):
    """Undo rotation and weights, and store the live rows in pool order."""
    A = B if problem.rotation is None else B @ problem.rotation.T
    if problem.row_weights is not None:
        A = A / problem.row_weights[rows, None]
    order = np.argsort(rows)
    indptr = np.zeros(len(problem.X_source) + 1, dtype=np.int64)
    indptr[rows + 1] = n_target
    data, columns = A[order].ravel(), np.tile(np.arange(n_target), len(rows))
    return sparse.csr_array((data, columns, np.cumsum(indptr)), shape=(len(problem.X_source), n_target))
