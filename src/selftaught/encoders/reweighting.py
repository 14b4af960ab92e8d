"""One reweighted step for codes under a robust loss and penalties on columns: ridge regressions, all rows at once.

Norms are smoothed, ``|v| -> sqrt(|v|^2 + eps)``. Each lies under the parabola that touches it at the present point,

    sqrt(|v|^2 + eps)  <=  weight |v|^2 + constant,        weight = 1 / (2 sqrt(|v_now|^2 + eps)),

so lowering the sum of the parabolas lowers the sum of the norms. With F_i the weight of the residual of row i and p_j
the weighted penalty on column j of the codes, the step for row i is

    a_i = argmin F_i |x_i - a D|^2 + sum_j p_j a_j^2  =  F_i x_i D' (F_i D D' + diag p)^-1.

Rows differ in F_i alone: one eigendecomposition serves all rows that share p. For ``M = diag(p)^-1/2 D`` (m, k),

    k < m:    M' M = V diag(w) V',     a_i = [(x_i V)     / (w + 1/F_i)]  V' M' diag(p)^-1/2
    k >= m:   M M' = U diag(w) U',     a_i = [(x_i M' U)  / (w + 1/F_i)]  U' diag(p)^-1/2

which in both cases is ``a_i = b_i out`` with ``b_i = (x_i into) / (w + 1/F_i)`` of min(m, k) numbers: `RowSolver`. The
columns of p that belong to atoms out of use are large, and enter by their inverse only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["RowSolver", "majorizer", "row_solver", "row_squares", "smooth_norms"]


def row_squares(A):
    """Return the squared Euclidean norm of each row."""
    return np.einsum("ij,ij->i", A, A)


def smooth_norms(squares, eps):
    """Return ``sqrt(|v|^2 + eps)`` from squared norms."""
    return np.sqrt(squares + eps)


def majorizer(squares, eps):
    """Return the weight of the parabola that touches the smoothed norm, from squared norms at the present point."""
    return 0.5 / smooth_norms(squares, eps)


@dataclass(frozen=True)
class RowSolver:
    """``into`` (k, r), ``w`` (r,), ``out`` (r, m), with r = min(m, k), for rows that share the penalties p."""

    into: np.ndarray
    w: np.ndarray
    out: np.ndarray

    def inner(self, X, F):
        """Return b (n, r), the codes before their expansion to m columns: ``codes = b @ out``."""
        b = X @ self.into
        b /= self.w + 1 / F[:, None]
        return b

    def codes(self, X, F):
        """Return the codes (n, m) of rows X (n, k) whose residuals weigh F (n,)."""
        return self.inner(X, F) @ self.out


def row_solver(D, p):
    """Prepare the reweighted step for a dictionary D (m, k) and penalties p (m,), all positive."""
    s = 1 / np.sqrt(p)
    M = s[:, None] * D
    if D.shape[1] < D.shape[0]:
        w, V = np.linalg.eigh(M.T @ M)
        return RowSolver(V, np.maximum(w, 0), (M @ V).T * s)
    w, U = np.linalg.eigh(M @ M.T)
    return RowSolver(M.T @ U, np.maximum(w, 0), U.T * s)
