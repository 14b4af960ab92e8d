"""Steps that dictionaries share: a start, ridge codes, and block coordinate descent over unit balls.

A dictionary ``D`` is (m, d), one atom a row, every atom of length at most one. Codes are (n, m), rows ``codes @ D``.
"""

from __future__ import annotations

import numpy as np

from ..relevance.group_lasso import row_norms

__all__ = ["improve_dictionary", "project_on_balls", "random_atoms", "ridge_codes"]


def random_atoms(X, n_components, rng):
    """Return n_components different rows of X brought to unit length, (n_components, d).

    Rows of zeros are passed over. Where there are too few rows, random directions fill the rest.
    """
    lengths = row_norms(X)
    usable = np.flatnonzero(lengths > 0)
    chosen = rng.permutation(usable)[:n_components]
    spare = rng.standard_normal((n_components - len(chosen), X.shape[1]))
    spare /= row_norms(spare)[:, None]
    return np.vstack([X[chosen] / lengths[chosen, None], spare]).astype(X.dtype)


def project_on_balls(D):
    """Return the atoms, those longer than one brought to length one."""
    return D / np.maximum(row_norms(D), 1).astype(D.dtype)[:, None]


def ridge_codes(X, D, ridge=0.1):
    """Return the codes ``X D' (D D' + ridge I)^-1``, shape (n, m)."""
    gram = D @ D.T
    gram[np.diag_indices_from(gram)] += ridge
    return np.linalg.solve(gram, D @ X.T).T


def improve_dictionary(D, gram, cross, *, n_sweeps=2):
    """Lower ``1/2 |X - A D|^2`` over atoms in unit balls, the codes A fixed, one atom at a time.

    Parameters
    ----------
    D : ndarray, shape (m, d)
    gram : ndarray, shape (m, m)
        ``A' A``; for weighted rows ``A' F A``.
    cross : ndarray, shape (m, d)
        ``A' X``; for weighted rows ``A' F X``.
    n_sweeps : int

    Returns
    -------
    D : ndarray, shape (m, d)
        A new array, never worse. Atoms that no row uses stay as they are.
    """
    D = D.copy()
    used = np.flatnonzero(np.diag(gram) > 0)
    for _ in range(n_sweeps):
        for j in used:
            atom = D[j] + (cross[j] - gram[j] @ D) / gram[j, j]
            D[j] = atom / max(np.sqrt(atom @ atom), 1)
    return D
