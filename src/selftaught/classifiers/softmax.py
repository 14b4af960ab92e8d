"""Softmax regression as a scikit-learn classifier; the mathematics is in `selftaught.softmax`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._fitting import whole_or_not_at_all
from .._parameters import Choice, Interval, check_parameters
from ..softmax import fit_softmax, softmax_probabilities, softmax_scores

__all__ = ["SoftmaxClassifier", "encode_classes"]

FLOATS = (np.float64, np.float32)


class SoftmaxClassifier(ClassifierMixin, BaseEstimator):
    """Softmax regression with sample weights and, if need be, soft labels.

    Parameters
    ----------
    l2 : float, default 1e-2
        Penalty on the squared coefficients, relative to the mean loss. 0 as published, where ``max_iter`` iterations
        define the model.
    fit_intercept : bool, default False
    max_iter : int, default 400
        L-BFGS iterations.
    tol : float, default 1e-6
        Gradient norm at which to stop, relative to the rows' typical length.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_classes, d)
    intercept_ : ndarray, shape (n_classes,)
    n_iter_ : int

    Examples
    --------
    >>> from selftaught import SoftmaxClassifier
    >>> SoftmaxClassifier().fit([[0.0, 1.0], [1.0, 0.0]], ["left", "right"]).predict([[0.1, 0.9]])
    array(['left'], dtype='<U5')
    """

    _allowed = dict(
        l2=(Interval(0),),
        fit_intercept=(Choice((True, False)),),
        max_iter=(Interval(1, whole=True),),
        tol=(Interval(0),),
    )

    def __init__(self, l2=1e-2, *, fit_intercept=False, max_iter=400, tol=1e-6):
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X, y, sample_weight=None):
        """Fit on labelled rows X (n, d), y (n,), with optional weights (n,)."""
        check_parameters(self, self._allowed)
        with whole_or_not_at_all(self):
            X, y = validate_data(self, X, y, dtype=FLOATS)
            self.classes_, codes = encode_classes(y)
            weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
            return self.fit_labels(X, np.eye(len(self.classes_))[codes], weights)

    def fit_labels(self, X, labels, sample_weight):
        """Fit on rows of class probabilities (n, n_classes); ``classes_`` must be set."""
        fit = fit_softmax(X, labels, sample_weight, **self.options())
        self.coef_, self.intercept_, self.n_iter_, self._fit = fit.coef, fit.intercept, fit.n_iter, fit
        return self

    def options(self):
        """Return the options of `fit_softmax` that the parameters stand for."""
        options: dict[str, Any] = {name: getattr(self, name) for name in ("l2", "fit_intercept", "max_iter", "tol")}
        return options

    def decision_function(self, X):
        """Return scores: (n, n_classes), or for two classes the second's lead (n,)."""
        scores = softmax_scores(self._checked(X), self._fit)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X):
        """Return class probabilities, shape (n, n_classes)."""
        return softmax_probabilities(self._checked(X), self._fit)

    def predict(self, X):
        """Return the most probable class of each row, shape (n,)."""
        best = softmax_scores(self._checked(X), self._fit).argmax(axis=1)
        return self.classes_[best]

    def _checked(self, X):
        check_is_fitted(self)
        return validate_data(self, X, dtype=FLOATS, reset=False)


def encode_classes(y):
    """Return the classes (sorted) and the code of each row's class."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes, got 1 class: {classes.tolist()[0]!r}. A classifier needs two."
        )
    return classes, codes
