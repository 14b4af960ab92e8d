"""What all selectors share: how they read their rows and what they leave behind.

A selector looks at a labelled target and an unlabelled source and says how much each source row matters. After ``fit``
it has

    relevance_ (n_source,)    >= 0, larger is more relevant, zero is never used
    weights_ (n_source,)      relevance over its maximum
    ranking_ (n_source,)      all source rows, most relevant first
    mapping_                  (n_source, n_target) CSR, where the method has one: who rebuilds, or resembles, whom
    scaling_                  how features are brought to [0.1, 0.9]
    source_index_ (n_source,) the user's own row ids

and offers ``encode(X)``, the coordinates in which classes are compared, and ``score_source(X_source)`` for rows that it
has never seen.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..scaling import IdentityScaling, fit_scaling
from ..source import as_source, float_dtype

__all__ = ["SourceSelector"]

FLOATS = (np.float64, np.float32)


class SourceSelector(BaseEstimator):
    """Reading and bookkeeping common to the selectors; see the module for the contract."""

    # Routed by default, so that nobody has to ask for it; nothing is switched on globally.
    __metadata_request__fit = {"X_source": True}

    has_mapping = False

    def _open(self, X, X_source, *, scale):
        """Validate, open the source and fit the scaling: return a pool, or None, and the scaled target rows.

        The target rows have the dtype of both.
        """
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        names = getattr(self, "feature_names_in_", None)
        if X_source is None:
            pool, self.source_index_ = None, np.arange(0)
        else:
            pool = as_source(X_source, n_target=len(X), n_features=X.shape[1], feature_names=names)
            self.source_index_ = pool.index
        self.scaling_ = fit_scaling(pool, X) if scale else IdentityScaling()
        dtype = X.dtype if pool is None else np.promote_types(X.dtype, pool.dtype)
        return pool, self.scaling_.apply(X.astype(dtype, copy=False))

    def _read(self, X, X_source, *, scale):
        """Validate and scale: return the source rows and the target rows, both dense, in one dtype."""
        pool, target = self._open(X, X_source, scale=scale)
        if pool is None:
            return np.empty((0, target.shape[1]), target.dtype), target
        return self.scaling_.apply_to_pool(pool, target.dtype), target

    def _keep(self, relevance, closeness=None, mapping=None):
        """Store relevance, weights and ranking: relevance first, closeness among rows of equal relevance."""
        closeness = np.zeros(len(relevance)) if closeness is None else closeness
        self.relevance_ = relevance
        largest = relevance.max(initial=0)
        self.weights_ = relevance / largest if largest > 0 else np.zeros(len(relevance))
        self.ranking_ = np.lexsort((-closeness, -relevance))
        self.mapping_ = mapping
        return self

    def encode(self, X):
        """Return the coordinates in which classes are compared: here the scaled features, shape (n, d)."""
        return self._scaled(X)

    def _scaled(self, X):
        check_is_fitted(self)
        return self.scaling_.apply(validate_data(self, X, dtype=FLOATS, reset=False))

    def _score_blocks(self, X_source, score):
        """Return ``score`` of the scaled rows of a source, read in blocks."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        # Rows to score are never cut by cross-validation, so any number of them is welcome.
        pool = as_source(X_source, n_target=-1, n_features=self.n_features_in_, feature_names=names)
        scores = np.empty(pool.n_rows)
        for rows, block in pool.blocks():
            scores[rows] = score(self.scaling_.apply(block.astype(float_dtype(block.dtype), copy=False)))
        return scores
