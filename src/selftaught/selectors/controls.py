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
    """Rank the source rows at random: what selection adds shows against this.

    Parameters
    ----------
    scale : bool, default True
        Bring every feature to [0.1, 0.9] before classes are compared.
    random_state : int, RandomState or None, default None

    Attributes
    ----------
    relevance_, weights_ : ndarray, shape (n_source,)
        One for every row.
    ranking_ : ndarray of int, shape (n_source,)
        A random order.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught import RandomSelector
    >>> selector = RandomSelector(random_state=0).fit(np.eye(2), X_source=np.arange(10.0).reshape(5, 2))
    >>> sorted(selector.ranking_.tolist())
    [0, 1, 2, 3, 4]
    """

    def __init__(self, *, scale=True, random_state=None):
        self.scale = scale
        self.random_state = random_state

    def fit(self, X, y=None, *, X_source=None):
        """Draw the order; parameters as in `GASTLSelector.fit`."""
        check_parameters(self, dict(scale=(Choice((True, False)),)))
        X_source, _ = self._read(X, X_source, scale=self.scale)
        rng = check_random_state(self.random_state)
        return self._keep(np.ones(len(X_source)), rng.uniform(size=len(X_source)))

    def score_source(self, X_source):
        """Return one random score for each row, shape (n,), the same for the same ``random_state``."""
        rng = check_random_state(self.random_state)
        return self._score_blocks(X_source, lambda X: rng.uniform(size=len(X)))


class AllSelector(SourceSelector):
    """Take the whole source, every row with weight one: what selecting at all adds shows against this.

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
    """Rank source rows by their largest cosine similarity to a target row: simple, and hard to beat.

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
