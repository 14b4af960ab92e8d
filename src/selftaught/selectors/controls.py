"""Controls: selectors that any method has to beat before its selection means something.

None of them solves anything: they take rows at random, all rows, or the rows that resemble the target.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from .._parameters import Choice, check_parameters
from ..relevance import nearest_target
from .base import SourceSelector

__all__ = ["AllSelector", "NeighborSelector", "RandomSelector"]


class RandomSelector(SourceSelector):
    """Rank the source rows at random: does the choice of rows matter, or only how many there are?

    Parameters
    ----------
    weight_profile : array-like, shape (n_source,), default None
        The ``weights_`` of a fitted selector, shuffled over the rows: as many rows with the same weights as that
        selector uses, but not its rows. Without them every row has weight one.
    scale : bool, default True
        Bring every feature to [0.1, 0.9] before classes are compared.
    random_state : int, RandomState or None, default None

    Attributes
    ----------
    relevance_, weights_ : ndarray, shape (n_source,)
        One for every row, or the profile shuffled and over its maximum.
    ranking_ : ndarray of int, shape (n_source,)
        A random order; with a profile, of the rows of equal weight.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught import RandomSelector
    >>> selector = RandomSelector(random_state=0).fit(np.eye(2), X_source=np.arange(10.0).reshape(5, 2))
    >>> sorted(selector.ranking_.tolist())
    [0, 1, 2, 3, 4]
    """

    def __init__(self, *, weight_profile=None, scale=True, random_state=None):
        self.weight_profile = weight_profile
        self.scale = scale
        self.random_state = random_state

    def fit(self, X, y=None, *, X_source=None):
        """Draw the order; parameters as in `GASTLSelector.fit`."""
        check_parameters(self, dict(scale=(Choice((True, False)),)))
        X_source, _ = self._read(X, X_source, scale=self.scale)
        rng = check_random_state(self.random_state)
        draws = rng.uniform(size=len(X_source))
        if self.weight_profile is None or not len(X_source):
            return self._keep(np.ones(len(X_source)), draws)
        return self._keep(rng.permutation(_checked_profile(self.weight_profile, len(X_source))), draws)

    def score_source(self, X_source):
        """Return one random score for each row, shape (n,), the same for the same ``random_state``."""
        rng = check_random_state(self.random_state)
        return self._score_blocks(X_source, lambda X: rng.uniform(size=len(X)))


class AllSelector(SourceSelector):
    """Take the whole source, every row with weight one: does selecting matter at all?

    In a classifier it ignores ``n_select``: all rows are used, or with ``n_select=0``, which asks for none, none.

    Parameters
    ----------
    scale : bool, default True
        Bring every feature to [0.1, 0.9] before classes are compared.

    Attributes
    ----------
    relevance_, weights_ : ndarray, shape (n_source,)
        One for every row.
    ranking_ : ndarray of int, shape (n_source,)
        The source's own order.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught import AllSelector
    >>> AllSelector().fit(np.eye(2), X_source=np.arange(6.0).reshape(3, 2)).weights_
    array([1., 1., 1.])
    """

    uses_all = True

    def __init__(self, *, scale=True):
        self.scale = scale

    def fit(self, X, y=None, *, X_source=None):
        """Count the rows; parameters as in `GASTLSelector.fit`."""
        check_parameters(self, dict(scale=(Choice((True, False)),)))
        X_source, _ = self._read(X, X_source, scale=self.scale)
        return self._keep(np.ones(len(X_source)))

    def score_source(self, X_source):
        """Return one for each row, shape (n,)."""
        return self._score_blocks(X_source, lambda X: np.ones(len(X)))


class NeighborSelector(SourceSelector):
    """Rank source rows by their largest cosine similarity to a target row: does a method beat nearest neighbours?

    Simple, and hard to beat.

    Parameters
    ----------
    center : bool, default False
        Take similarities around the mean of the source instead of the origin.
    scale : bool, default False
        Bring every feature to [0.1, 0.9] first.

    Attributes
    ----------
    relevance_ : ndarray, shape (n_source,)
        The similarity, zero where it is negative.
    weights_ : ndarray, shape (n_source,)
        Relevance over its maximum.
    ranking_ : ndarray of int, shape (n_source,)
        Source rows, most similar first.
    mapping_ : scipy.sparse.csr_array, shape (n_source, n_target)
        The similarity, at the nearest target row alone.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught import NeighborSelector
    >>> X, X_source = np.array([[1.0, 0.0], [1.0, 0.2]]), np.array([[0.0, 1.0], [2.0, 0.1], [1.0, 1.0]])
    >>> NeighborSelector().fit(X, X_source=X_source).ranking_
    array([1, 2, 0])
    """

    has_mapping = True

    def __init__(self, *, center=False, scale=False):
        self.center = center
        self.scale = scale

    def fit(self, X, y=None, *, X_source=None):
        """Compare source and target; parameters as in `GASTLSelector.fit`."""
        check_parameters(self, dict(center=(Choice((True, False)),), scale=(Choice((True, False)),)))
        X_source, X_target = self._read(X, X_source, scale=self.scale)
        self._targets = X_target
        self._middle = X_source.mean(axis=0) if self.center and len(X_source) else np.zeros(X_target.shape[1])
        self._middle = self._middle.astype(X_target.dtype)
        similarity, nearest = nearest_target(X_source, X_target, self._middle)
        relevance = np.maximum(similarity, 0)
        cells = (relevance, (np.arange(len(X_source)), nearest))
        mapping = sparse.csr_array(cells, shape=(len(X_source), len(X_target)))
        return self._keep(relevance, similarity, mapping)

    def score_source(self, X_source):
        """Return the similarity of rows never seen, in [-1, 1], shape (n,), read in blocks."""
        return self._score_blocks(X_source, lambda X: nearest_target(X, self._targets, self._middle)[0])


def _checked_profile(weights, n_source):
    """Return one weight for each source row, in float64, with maximum one (unless all are zero)."""
    if hasattr(weights, "fit"):
        raise ValueError(
            f"weight_profile must be an array of weights, got {weights!r}. Pass the weights_ of the fitted selector: "
            "the selector itself would lose its fit wherever scikit-learn clones this one."
        )
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n_source,):
        raise ValueError(
            f"weight_profile must hold one weight for each of the {n_source} source rows, got shape {weights.shape}. "
            "Fit the selector whose weights these are on the same source."
        )
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(
            "weight_profile must hold finite numbers of at least 0. Pass the weights_ of a fitted selector."
        )
    return weights / (weights.max() or 1.0)
