"""What all encoders share: how they read their rows, the projection before coding, and what they leave behind.

An encoder learns a dictionary from an unlabelled source (and, as the method may be, the labelled target) and rewrites
rows as codes in it. No source row trains a classifier: the source acts through the dictionary alone. After ``fit`` it
has

    scaling_                       how features are brought to [0.1, 0.9]
    pca_                           the leading directions of source and target together, or None
    components_ (m, k)             the dictionary, one atom a row, in the coordinates after ``scaling_`` and ``pca_``
    codes_target_ (n_target, m)    codes of the target rows
    objective_path_, n_iter_, converged_
    source_index_ (n_source,)      the user's own row ids

and ``transform(X)`` gives the codes of any rows, of those it was fitted on as of new ones, each row for itself.
Without a source it learns from the target alone.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._parameters import Choice, Interval
from ..scaling import IdentityScaling, fit_scaling
from ..source import as_source
from .projection import fit_projection

__all__ = ["COMMON_PARAMETERS", "SourceEncoder"]

FLOATS = (np.float64, np.float32)
BLOCK_ROWS = 4096
# What `check_parameters` allows of the parameters that every encoder has.
COMMON_PARAMETERS = dict(
    scale=(Choice((True, False)),),
    pca=(Interval(1, whole=True), Interval(0, 1, open_low=True), Choice((None,))),
)


class SourceEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Reading and bookkeeping common to the encoders; see the module for the contract.

    A subclass has the parameters ``scale`` and ``pca``, fits in ``fit`` and codes rows in ``_encode``.
    """

    # Routed by default, so that nobody has to ask for it; nothing is switched on globally.
    __metadata_request__fit = {"X_source": True}

    # The whole source is used, however many rows are asked for: it acts through the dictionary.
    uses_all = True

    def _open(self, X, X_source):
        """Validate the target, open the source, and fit scaling and projection on both.

        Returns
        -------
        coordinates : ndarray, shape (n_target, k)
            The target rows, scaled and projected.
        pool : SourcePool or None
            To be read with `_source_blocks` or `_source_coordinates`.
        """
        # One row alone has no variance; beside a source it has.
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2 if X_source is None else 1)
        pool, self.source_index_ = None, np.arange(0)
        if X_source is not None:
            names = getattr(self, "feature_names_in_", None)
            pool = as_source(X_source, n_target=len(X), n_features=X.shape[1], feature_names=names)
            self.source_index_ = pool.index
        self._dtype = X.dtype if pool is None else np.promote_types(X.dtype, pool.dtype)
        self.scaling_ = fit_scaling(pool, X) if self.scale else IdentityScaling()
        self.pca_ = None
        if self.pca is not None:

            def read_blocks():
                yield self._scaled(X)
                for _, block in () if pool is None else pool.blocks():
                    yield self._scaled(block)

            self.pca_ = fit_projection(read_blocks, self.pca)
        return self._coordinates(X), pool

    def _scaled(self, X):
        return self.scaling_.apply(X.astype(self._dtype, copy=False))

    def _coordinates(self, X):
        """Return validated rows in the coordinates of the dictionary, shape (n, k)."""
        rows = self._scaled(X)
        return rows if self.pca_ is None else self.pca_.apply(rows)

    def _source_blocks(self, pool):
        """Yield (slice, rows in the coordinates of the dictionary) over the whole source."""
        for rows, block in pool.blocks():
            yield rows, self._coordinates(block)

    def _source_coordinates(self, pool, n_features):
        """Return the whole source in the coordinates of the dictionary, (n_source, n_features); empty for no pool."""
        if pool is None:
            return np.empty((0, n_features), self._dtype)
        coordinates = np.empty((pool.n_rows, n_features), self._dtype)
        for rows, block in self._source_blocks(pool):
            coordinates[rows] = block
        return coordinates

    def transform(self, X):
        """Return the codes of rows, shape (n, n_components), each row coded for itself, in blocks.

        Parameters
        ----------
        X : array-like or data frame, shape (n, d)

        Returns
        -------
        codes : ndarray, shape (n, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        starts = range(0, len(X), BLOCK_ROWS)
        return np.concatenate([self._encode(self._coordinates(X[start : start + BLOCK_ROWS])) for start in starts])

    def _encode(self, rows):
        """Return the codes of rows already in the coordinates of the dictionary."""
        raise NotImplementedError

    @property
    def _n_features_out(self):
        return len(self.components_)
