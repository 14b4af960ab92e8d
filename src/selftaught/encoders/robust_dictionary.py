"""A robust dictionary with switched-off atoms, over a source read in blocks and labelled target rows.

The problem, over a dictionary D (m, k) with atoms in unit balls and codes A (n, m) of all rows, source and target:

    sum_i |x_i - a_i D|  +  g1 sum_j |A_:j|  +  g2 sum_c sum_j |A(c)_:j|            (A(c): target rows of class c)

Residuals count by their length and not its square, so a gross outlier pulls no harder than any other row; the penalties
switch columns of A off, for all rows or for those of one class. All norms are smoothed by eps (`reweighting`).

Two steps alternate, and each lowers the smoothed objective: a reweighted step for all codes, weights from the point
before it; and sweeps over the atoms for ``sum_i F_i |x_i - a_i D|^2``, with the F of the new codes.

Codes of source rows are never held. A row's code is ``b_i out`` with b_i from its own x_i and F_i alone, and what the
steps need of all of them are sums of r x r and r x k (r = min(m, k)) that expand afterwards:

    |A_:j|^2 = [out' (sum b_i b_i') out]_jj     A'FA = out' (sum F_i b_i b_i') out     A'FX = out' (sum F_i b_i x_i')

So a round is one pass over the rows: rebuild each row's old b_i for the residual under the new D, which gives its F_i;
make the new b_i; add it to the sums. Kept between passes is one number a row, whatever m.

Without classes there is a yardstick. The least of ``sum_j |A_:j|`` over all ways to write Y = A D with atoms in unit
balls is the nuclear norm of Y, so the problem is ``min_Y sum_i |x_i - y_i| + g1 |Y|_*``, which is convex. It fixes Y
and the space that atoms span, and leaves atoms free to turn within it: the penalty selects dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .dictionary import improve_dictionary
from .reweighting import RowSolver, majorizer, row_solver, row_squares, smooth_norms

__all__ = ["RobustDictionary", "critical_penalties", "solve_robust_dictionary"]

RIDGE = 0.1


@dataclass(frozen=True)
class RobustDictionary:
    """Where the alternation ended.

    ``D`` (m, k), ``codes_target`` (n_target, m), ``column_norms`` (m,) of the codes of all rows; ``objective_path``:
    the start, then the value after each code step and each dictionary step in turn; ``n_iter`` pairs of steps.
    """

    D: np.ndarray
    codes_target: np.ndarray
    column_norms: np.ndarray
    objective_path: tuple[float, ...]
    n_iter: int
    converged: bool


def critical_penalties(read_source, X_target, classes, D):
    """Return the least g1 at which all codes are zero without g2, and the median over classes of that of g2.

    A code leaves zero where ``|U_:j| > g``, U holding the inner products of atoms with rows of unit length.
    """
    squares = np.sum([_pull(X_target, D), *(_pull(X, D) for _, X in read_source())], axis=0)
    by_class = [np.sqrt(_pull(X_target[rows], D).max()) for rows in classes]
    return float(np.sqrt(squares.max())), float(np.median(by_class)) if by_class else 0.0


def _pull(X, D):
    """Return the squared column norms of the inner products of atoms and rows of unit length, without rows of zeros."""
    squares = row_squares(X)
    return np.where(squares > 0, 1 / np.where(squares > 0, squares, 1), 0) @ (X @ D.T) ** 2


def solve_robust_dictionary(
    read_source, X_target, classes, D, *, g1, g2, eps, max_iter=100, tol=1e-4, n_sweeps=3, on_round=None
):
    """Alternate code steps and dictionary steps from ridge codes.

    Parameters
    ----------
    read_source : callable
        Each call yields (slice, rows (n_b, k)) over the whole source; nothing where there is none.
    X_target : ndarray, shape (n_target, k)
    classes : list of ndarray of int
        The target rows of each class; empty for no labels.
    D : ndarray, shape (m, k)
        Start: atoms of length at most one.
    g1, g2 : float
        Penalties on columns of all codes (positive) and of those of a class.
    eps : float
        Added to squared norms.
    max_iter : int
    tol : float
        Relative fall of the objective over a pair of steps that ends them.
    n_sweeps : int
        Over the atoms in each dictionary step; 0 keeps the dictionary.
    on_round : callable, optional
        Called with the number of a round and the objective after it.

    Returns
    -------
    RobustDictionary
    """
    problem = _Problem(read_source, X_target, classes if g2 > 0 else [], g1, g2, eps)
    point = problem.start(D)
    path, converged, n_iter = [], False, 0
    for n_iter in range(1, max_iter + 1):
        before, point = problem.code(point)
        path += [before, problem.value(point)]
        point = problem.move_atoms(point, n_sweeps)
        if on_round is not None:
            on_round(n_iter, path[-1])
        previous = path[max(len(path) - 3, 0)]
        converged = previous - path[-1] <= tol * previous
        if converged:
            break
    path.append(problem.value_anew(point))
    return RobustDictionary(point.D, point.A, np.sqrt(point.squares), tuple(path), n_iter, converged)


@dataclass(frozen=True)
class _SourceCodes:
    """Codes of the source rows as `RowSolver` and F (n_source,), and the sums that the steps need of them."""

    solver: RowSolver
    F: np.ndarray
    loss: float
    squares: np.ndarray
    gram: np.ndarray
    cross: np.ndarray


@dataclass(frozen=True)
class _Point:
    """A dictionary D and codes of all rows: of the source by their sums, of the target in full, A (n_target, m).

    ``loss`` is that of the codes in the dictionary for which they were made.
    """

    D: np.ndarray
    source: _SourceCodes
    A: np.ndarray
    loss: float

    @property
    def squares(self):
        """Squared norms of the columns of all codes, (m,)."""
        return self.source.squares + row_squares(self.A.T)


@dataclass(frozen=True)
class _Problem:
    """The smoothed objective, and the two steps that lower it."""

    read_source: Callable
    X_target: np.ndarray
    classes: list
    g1: float
    g2: float
    eps: float

    def start(self, D):
        """Return ridge codes in D: the reweighted step with all weights one."""
        ridge = row_solver(D, np.full(len(D), RIDGE))
        source = self._code_source(ridge, D, lambda rows, X: np.ones(len(X)))
        A = ridge.codes(self.X_target, np.ones(len(self.X_target)))
        return self._point(D, source, A)

    def code(self, point):
        """Return the objective at a point, and the point with new codes."""
        D, eps = point.D, self.eps
        p = self.g1 * majorizer(point.squares, eps)
        source = self._code_source(row_solver(D, p), D, lambda rows, X: self._source_weights(point, rows, X))
        target_squares = row_squares(self.X_target - point.A @ D)
        F = majorizer(target_squares, eps)
        before = np.sum(0.5 / source.F) + np.sum(0.5 / F) + self._penalty(point)
        A = np.empty_like(point.A)
        for rows in self.classes or [slice(None)]:
            p_class = p + self.g2 * majorizer(row_squares(point.A[rows].T), eps) if self.classes else p
            A[rows] = row_solver(D, p_class).codes(self.X_target[rows], F[rows])
        return float(before), self._point(D, source, A)

    def move_atoms(self, point, n_sweeps):
        """Return the point with new atoms; its loss is still that of the old ones."""
        source, A, X = point.source, point.A, self.X_target
        FA = majorizer(row_squares(X - A @ point.D), self.eps)[:, None] * A
        out = source.solver.out
        S = out.T @ source.gram @ out + A.T @ FA
        T = out.T @ source.cross + FA.T @ X
        return replace(point, D=improve_dictionary(point.D, S, T, n_sweeps=n_sweeps))

    def value(self, point):
        """Return the objective at a point whose codes were made for its dictionary."""
        return float(point.loss + self._penalty(point))

    def value_anew(self, point):
        """Return the objective at any point, by a pass over the source."""
        F = [self._source_weights(point, rows, X) for rows, X in self.read_source()]
        loss = sum(np.sum(0.5 / f) for f in F) + self._target_loss(point.D, point.A)
        return float(loss + self._penalty(point))

    def _point(self, D, source, A):
        return _Point(D, source, A, source.loss + self._target_loss(D, A))

    def _target_loss(self, D, A):
        return smooth_norms(row_squares(self.X_target - A @ D), self.eps).sum()

    def _penalty(self, point):
        by_class = sum(smooth_norms(row_squares(point.A[rows].T), self.eps).sum() for rows in self.classes)
        return self.g1 * smooth_norms(point.squares, self.eps).sum() + self.g2 * by_class

    def _source_weights(self, point, rows, X):
        """Return the weights F of source rows under the present dictionary, from codes made for an earlier one."""
        codes = point.source
        b = codes.solver.inner(X, codes.F[rows])
        return majorizer(row_squares(X - b @ (codes.solver.out @ point.D)), self.eps)

    def _code_source(self, solver, D, weigh):
        """Code the whole source in one pass; ``weigh(rows, X)`` gives the F of a block."""
        r, k = len(solver.w), D.shape[1]
        F, loss, plain, gram, cross = [np.zeros(0)], 0.0, np.zeros((r, r)), np.zeros((r, r)), np.zeros((r, k))
        back = solver.out @ D
        for rows, X in self.read_source():
            F.append(weigh(rows, X))
            b = solver.inner(X, F[-1])
            norms = smooth_norms(row_squares(X - b @ back), self.eps)
            loss += norms.sum()
            plain += b.T @ b
            b_weighted = b * (0.5 / norms)[:, None]
            gram += b.T @ b_weighted
            cross += b_weighted.T @ X
        squares = np.einsum("rj,rj->j", solver.out, plain @ solver.out)
        return _SourceCodes(solver, np.concatenate(F), loss, np.maximum(squares, 0), gram, cross)
