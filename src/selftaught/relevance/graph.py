"""The local structure of the data: a k-nearest-neighbour graph and its Laplacian.

Two rows are joined when either is among the ``n_neighbors`` nearest of the other. The weight of an edge is the cosine
similarity of its two rows, negative similarities count as no edge. With ``S`` the symmetric weights and
``D = diag(S 1)`` the Laplacian is ``D - S``, and ``Tr(Z' (D - S) Z)`` is small when joined rows have near codes.

The graph is sparse: it holds at most ``2 n_neighbors`` numbers a row, and nothing of size ``n x n`` is ever formed.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

__all__ = ["knn_laplacian"]

METRICS = ("cosine", "euclidean")


def knn_laplacian(X, n_neighbors=5, metric="cosine"):
    """Build the Laplacian of the symmetrised k-nearest-neighbour graph.

    Parameters
    ----------
    X : ndarray or sparse, shape (n, d)
        The rows to join.
    n_neighbors : int, default 5
        Neighbours of each row, itself not counted. Cut to the number of other rows where there are fewer.
    metric : {"cosine", "euclidean"}, default "cosine"
        Which rows count as near. The weights are cosine similarities either way.

    Returns
    -------
    laplacian : scipy.sparse.csr_array, shape (n, n)
        Symmetric, positive semi-definite, rows sum to zero. float32 if ``X`` is float32, else float64.

    Notes
    -----
    A row of zeros points nowhere: its cosine similarity with any row is taken as zero, so it has no edge and takes
    nobody's place among the neighbours when ``metric="cosine"``.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.relevance import knn_laplacian
    >>> laplacian = knn_laplacian(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]), n_neighbors=1)
    >>> laplacian.shape, bool(abs(laplacian.sum(axis=1)).max() < 1e-12)
    ((3, 3), True)
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {METRICS}, got {metric!r}.")
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1, got {n_neighbors}.")
    X = X if X.dtype == np.float32 else X.astype(np.float64)
    n = X.shape[0]
    largest = abs(X).max() if X.size else 0
    if not np.isfinite(largest):
        raise ValueError("X must be finite, got NaN or infinity. Impute or drop such rows.")
    unit, length = _unit_rows(X)
    searched = np.flatnonzero(length > 0) if metric == "cosine" else np.arange(n)
    # On the unit sphere the Euclidean order is the cosine order, and scikit-learn's Euclidean search is its fastest.
    # Distances are squared on the way: dividing by the largest entry keeps them in range.
    points = unit if metric == "cosine" else X * _inverse(np.asarray([largest]))[0]
    pairs = _neighbour_pairs(points[searched], n_neighbors)
    rows, cols = searched[pairs[0]], searched[pairs[1]]
    return _laplacian(_symmetric_weights(unit, rows, cols))


def _unit_rows(X):
    """Return the rows scaled to length one (zero rows stay zero) and their lengths."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        X = sparse.diags_array(_inverse(abs(X).max(axis=1).toarray().ravel())).dot(X).tocsr()
        length = np.sqrt(X.multiply(X).sum(axis=1)).ravel()
        return sparse.diags_array(_inverse(length)).dot(X).tocsr(), length
    # Dividing by the largest entry first keeps the squares of huge and of tiny rows in range.
    largest = np.abs(X).max(axis=1, initial=0)
    scaled = X * _inverse(largest)[:, None]
    length = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    scaled *= _inverse(length)[:, None]
    return scaled, length


def _inverse(values):
    """Return ``1 / values``, zero where the value is zero or its inverse overflows."""
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1 / values
    return np.where(np.isfinite(inverse), inverse, 0).astype(values.dtype)


def _neighbour_pairs(points, n_neighbors):
    """Return (row, neighbour) index arrays, each row with its nearest others, itself left out."""
    n = points.shape[0]
    k = min(n_neighbors, n - 1)
    if k < 1:
        return np.empty((2, 0), dtype=np.intp)
    neighbours = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points).kneighbors(return_distance=False)
    return np.repeat(np.arange(n), k), neighbours.ravel()


def _symmetric_weights(unit, rows, cols):
    """Return S: cosine similarity on each edge, an edge standing if either end asked for it."""
    n = unit.shape[0]
    low, high = np.minimum(rows, cols), np.maximum(rows, cols)
    low, high = np.divmod(np.unique(low * np.int64(n) + high), n) if len(low) else (low, high)
    weights = np.clip(_paired_products(unit, low, high), 0, 1)
    edges = sparse.coo_array((weights, (low, high)), shape=(n, n))
    S = (edges + edges.T).tocsr()
    S.eliminate_zeros()
    return S


def _paired_products(unit, rows, cols, block=8192):
    """Return the inner product of ``unit[rows[e]]`` and ``unit[cols[e]]`` for each edge e, in blocks of edges."""
    out = np.empty(len(rows), dtype=unit.dtype)
    for start in range(0, len(rows), block):
        part = slice(start, start + block)
        left, right = unit[rows[part]], unit[cols[part]]
        if sparse.issparse(unit):
            out[part] = left.multiply(right).sum(axis=1).ravel()
        else:
            out[part] = np.einsum("ij,ij->i", left, right)
    return out


def _laplacian(S):
    """Return D - S with D the row sums of S."""
    degree = np.asarray(S.sum(axis=1)).ravel()
    return (sparse.diags_array(degree) - S).tocsr().astype(S.dtype)
