"""The classifier that learns from a labelled target and an unlabelled source, with any selector or encoder.

fit -> read and scale -> selector (stage 1) -> labels (stage 2a) -> transfer curve and guard -> classifier (stage 2b)
                      -> encoder            -> codes             ->
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from .._fitting import whole_or_not_at_all
from .._parameters import Choice, Interval, check_parameters
from ..encoders import SourceEncoder
from ..model_selection import Transfer, judge_transfer, make_folds, measure_curve
from ..scaling import IdentityScaling, fit_scaling
from ..selectors import GASTLSelector, NothingRelevant, SourceSelector
from ..source import as_source
from .frames import fit_code_frame, fit_frame
from .labelled_source import label_source
from .softmax import SoftmaxClassifier, encode_classes
from .transfer import TransferByCodes, TransferByRows

__all__ = ["SelfTaughtClassifier", "TransferRefused"]

FLOATS = (np.float64, np.float32)


class TransferRefused(RuntimeError):
    """Raised with ``guard="raise"`` where the source would not help."""


def _selector_scores(classifier):
    """Return whether the selector can score new rows; if not, say who cannot."""
    selector = classifier._make_selector()
    if not hasattr(selector, "score_source"):
        raise AttributeError(
            f"{type(selector).__name__} does not score source rows that it was not fitted on. "
            "Use a selector that does, such as GASTLSelector()."
        )
    return True


class SelfTaughtClassifier(ClassifierMixin, BaseEstimator):
    """Learn from a few labelled rows and what helps of an unlabelled source.

    A selector says which source rows matter; these get pseudo-labels and join the labelled rows in training, with
    weights. An encoder learns from the source how to describe rows, and the classifier sees the labelled rows in that
    description. Cross-validation on the labelled rows decides how many source rows to use, and whether to use any.

    Parameters
    ----------
    selector : selector or encoder, default None
        Who looks at the source: `GASTLSelector()` when not given, or any other selector or encoder of `selftaught`.
        With an encoder ``transferability``, ``average``, ``labels`` and ``sigma2`` have no part, and ``n_select``
        only where it is 0.
    transferability : {"gaussian", "mapping"}, default "gaussian"
        How the class of a source row is found: by its distance to the class means in the selector's coordinates, or
        by the target rows that the selector's mapping connects it with.
    average : bool, default False
        With ``transferability="mapping"``: mean over the rows of a class in place of the published sum, which favours
        large classes.
    labels : {"soft", "hard", "uniform"}, default "soft"
        Pseudo-labels: shares of all classes, the likeliest class, or (a control) no information.
    n_select : "auto", int or float, default "auto"
        Source rows to use: chosen on the transfer curve, a number, or a fraction of the source. Rows of weight zero
        are never used.
    sigma2 : "median" or float, default "median"
        Variance of the Gaussians; 1.0 as published.
    guard : {"fallback", "warn", "raise", "off"}, default "fallback"
        What to do where cross-validation finds that the source does not help: learn from the target only, use the
        source all the same with a warning, raise `TransferRefused`, or do not ask.
    estimator : classifier, default None
        Trained in the end: `SoftmaxClassifier()` when not given, or any scikit-learn classifier that takes sample
        weights (a soft label becomes one weighted copy for each class).
    rows : {"unit", "scaled"}, default "unit"
        What the classifier sees: rows around the mean of source and target, scaled to unit length, or the scaled
        features themselves, as published.
    scale : bool, default True
        Bring every feature to [0.1, 0.9] over source and target.
    cv : int, splitter or None, default None
        Folds of the guard: 5 folds, twice, or fewer where a class is smaller.
    n_jobs : int, default None
        Folds worked on at once.
    random_state : int, RandomState or None, default None
        For the folds, and for a selector without a seed of its own.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    relevance_, weights_ : ndarray, shape (n_source,)
        Of every source row; see the selector. An encoder gives none.
    ranking_ : ndarray of int, shape (n_source,)
        Source rows, most relevant first. An encoder gives none.
    selected_ : ndarray of int
        Source rows learned from, most relevant first; empty where transfer was refused, and with an encoder.
    pseudo_labels_ : ndarray, shape (len(selected_), n_classes)
        Class probabilities given to these rows.
    transfer_ : Transfer
        Whether the source was used, the estimated gain and the reason in words.
    selector_, classifier_ : fitted selector (or encoder) and classifier
    diagnostics_ : Diagnostics or None
        Of the selector, where it has any.
    source_index_ : ndarray, shape (n_source,)
        Row ids of the source.

    Examples
    --------
    >>> from selftaught import NeighborSelector, SelfTaughtClassifier, SourcePool
    >>> from selftaught.datasets import load_demo
    >>> problem = load_demo()
    >>> clf = SelfTaughtClassifier(NeighborSelector(), n_select=50, random_state=0)
    >>> clf = clf.fit(problem.X, problem.y, X_source=SourcePool(problem.X_source))
    >>> len(clf.relevance_) == len(problem.X_source)
    True
    """

    __metadata_request__fit = {"X_source": True}

    _allowed = dict(
        transferability=(Choice(("gaussian", "mapping")),),
        average=(Choice((True, False)),),
        labels=(Choice(("hard", "soft", "uniform")),),
        n_select=(Choice(("auto",)), Interval(0)),
        sigma2=(Choice(("median",)), Interval(0, open_low=True)),
        guard=(Choice(("fallback", "warn", "raise", "off")),),
        rows=(Choice(("unit", "scaled")),),
        scale=(Choice((True, False)),),
    )

    def __init__(
        self,
        selector=None,
        *,
        transferability="gaussian",
        average=False,
        labels="soft",
        n_select: str | float = "auto",
        sigma2: str | float = "median",
        guard="fallback",
        estimator=None,
        rows="unit",
        scale=True,
        cv=None,
        n_jobs=None,
        random_state=None,
    ):
        self.selector = selector
        self.transferability = transferability
        self.average = average
        self.labels = labels
        self.n_select = n_select
        self.sigma2 = sigma2
        self.guard = guard
        self.estimator = estimator
        self.rows = rows
        self.scale = scale
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y, *, X_source=None):
        """Learn from the labelled rows and whatever helps of the source.

        Parameters
        ----------
        X : array-like or data frame, shape (n_target, d)
            The labelled rows.
        y : array-like, shape (n_target,)
            Their classes, of any type.
        X_source : SourcePool or anything it takes, shape (n_source, d), optional
            The unlabelled rows, columns matched by name with those of X. Without a source, learns from X alone.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        self._check_estimator()
        with whole_or_not_at_all(self):
            return self._fit(X, y, X_source)

    def _fit(self, X, y, X_source):
        X, y = validate_data(self, X, y, dtype=FLOATS)
        self.classes_, codes = encode_classes(y)
        pool = None if X_source is None else self._read_source(X_source, len(X))
        rng = check_random_state(self.random_state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingRelevant)  # said below, with what follows from it
            self.selector_ = self._new_selector(rng).fit(X, codes, X_source=pool)
        self._keep_selection()
        transfer = self._prepare(self.selector_, pool, X, codes)
        self.transfer_ = self._decide(X, codes, pool, transfer, rng)
        self._finish(transfer)
        return self

    def _read_source(self, X_source, n_target):
        names = getattr(self, "feature_names_in_", None)
        return as_source(X_source, n_target=n_target, n_features=self.n_features_in_, feature_names=names)

    def _new_selector(self, rng):
        """Return an unfitted selector, seeded where the user left it open."""
        selector = clone(self._make_selector())
        if "random_state" in selector.get_params() and selector.random_state is None:
            selector.set_params(random_state=rng.randint(2**31 - 1))
        chooses = isinstance(selector, SourceSelector)
        if chooses and self.transferability == "mapping" and not selector.has_mapping:
            raise ValueError(
                f"transferability='mapping' needs a selector that maps source rows to target rows, and "
                f"{type(selector).__name__} does not. Use transferability='gaussian'."
            )
        return selector

    def _make_selector(self):
        return GASTLSelector() if self.selector is None else self.selector

    def _keep_selection(self):
        selector = self.selector_
        if isinstance(selector, SourceSelector):
            self.relevance_, self.weights_, self.ranking_ = selector.relevance_, selector.weights_, selector.ranking_
        self.source_index_ = selector.source_index_
        self.diagnostics_ = getattr(selector, "diagnostics_", None)

    def _prepare(self, selector, pool, X, codes):
        """Return what the classifier can be trained on, given a selector or encoder fitted on just these rows."""
        scaling = fit_scaling(pool, X) if self.scale else IdentityScaling()
        frame = fit_frame(scaling, pool, X, unit=self.rows == "unit")
        targets = np.eye(len(self.classes_))[codes]
        most = 0 if pool is None else self._most(pool.n_rows)
        if isinstance(selector, SourceEncoder):
            return TransferByCodes(frame, fit_code_frame(selector, X), X, targets, most)
        how = dict(transferability=self.transferability, average=self.average, labels=self.labels, sigma2=self.sigma2)
        source = label_source(selector, pool, X, codes, len(self.classes_), frame, most=most, **how)
        return TransferByRows(frame, X, targets, source)

    @property
    def _n_select(self):
        """``n_select``, or the whole source where only all of it or (0) nothing can be used."""
        return 1.0 if self._make_selector().uses_all and self.n_select != 0 else self.n_select

    def _most(self, n_source):
        """Return how many source rows the transfer curve may need."""
        if self._n_select == "auto":
            return n_source
        if isinstance(self._n_select, Integral):
            return int(self._n_select)
        share = float(self._n_select)
        if share > 1:
            raise ValueError(
                f"n_select as a float is a fraction of the source, at most 1.0, got {share}. "
                "Pass an int for a number of rows."
            )
        return round(share * n_source)

    def _decide(self, X, codes, pool, transfer, rng):
        """Return the verdict: how many source rows to use, and why."""
        n_usable = transfer.n_usable
        if n_usable == 0:
            reason = "no source was given" if pool is None else "no source row is relevant, or n_select is 0"
            if pool is not None and self.n_select != 0:
                warnings.warn(f"Learning from the target only: {reason}.", UserWarning, stacklevel=4)
            return _untested(False, 0, f"Not used: {reason}.")
        sizes = transfer.sizes(self._n_select)
        if self.guard == "off" and len(sizes) == 2:
            return _untested(True, n_usable, "Used without asking: guard='off'.")
        folds = make_folds(codes, self.cv, rng)
        if folds is None:
            return _decide_untested(transfer)
        return self._apply_guard(judge_transfer(self._measure_curve(X, codes, pool, folds, sizes)))

    def _measure_curve(self, X, codes, pool, folds, sizes):
        """Score every size in every fold, all of it refitted on the fold's own training rows."""

        def score_fold(train, test, sizes):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # said once, of the fit on all rows
                selector = clone(self.selector_).fit(X[train], codes[train], X_source=pool)
            transfer = self._prepare(selector, pool, X[train], codes[train])
            return transfer.accuracies(self._make_estimator(), X[test], codes[test], sizes)

        return measure_curve(score_fold, folds, sizes, n_jobs=self.n_jobs)

    def _apply_guard(self, verdict):
        """Turn the verdict on the curve into what ``guard`` says to do about it."""
        if verdict.used:
            return verdict
        if self.guard == "raise":
            raise TransferRefused(f"{verdict.reason} Set guard='fallback' to learn from the target only.")
        if self.guard == "fallback":
            return verdict
        reason = verdict.reason.replace("Not used:", "Used against the evidence:", 1)
        if self.guard == "warn":
            warnings.warn(reason, UserWarning, stacklevel=5)
        return replace(verdict, used=True, n_select=verdict.best_size, reason=reason)

    def _finish(self, transfer):
        """Train the final classifier on as much as the verdict allows."""
        p = self.transfer_.n_select
        by_rows = isinstance(transfer, TransferByRows)
        self.selected_ = transfer.source.rows[:p] if by_rows else np.arange(0)
        self.pseudo_labels_ = transfer.source.labels[:p] if by_rows else np.empty((0, len(self.classes_)))
        self.frame_ = transfer.frame(p)
        self.classifier_ = transfer.train(self._make_estimator(), p)

    def _check_estimator(self):
        if self.estimator is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"estimator must take sample weights, and {type(self.estimator).__name__}.fit has no sample_weight. "
                "Choose one that does, such as LogisticRegression, or leave estimator=None."
            )
        if self.selector is not None and not isinstance(self.selector, (SourceSelector, SourceEncoder)):
            raise ValueError(
                f"selector must be a selector or encoder of selftaught's, such as NeighborSelector(), "
                f"got {self.selector!r}. "
                "A classifier to train in the end goes into estimator=."
            )

    def _make_estimator(self):
        return SoftmaxClassifier() if self.estimator is None else self.estimator

    def predict(self, X):
        """Return the class of each row, shape (n,)."""
        rows = self._rows(X)
        return self.classes_[self.classifier_.predict(rows)]

    def predict_proba(self, X):
        """Return class probabilities, shape (n, n_classes); needs an ``estimator`` that has them."""
        rows = self._rows(X)
        return self.classifier_.predict_proba(rows)

    @available_if(_selector_scores)
    def score_source(self, X_source):
        """Score source rows never seen; see the selector."""
        check_is_fitted(self)
        # -1 rows: what is scored is never cut by cross-validation, so it may be as long as it likes.
        return self.selector_.score_source(self._read_source(X_source, n_target=-1))

    def _rows(self, X):
        check_is_fitted(self)
        return self.frame_.apply(validate_data(self, X, dtype=FLOATS, reset=False))


def _decide_untested(transfer):
    """The target is too small for folds: say so, and do what has been found to do better (docs/decisions/009)."""
    used = transfer.trusted_untested
    reason = (
        f"{'Used' if used else 'Not used,'} untested: the smallest class has too few labelled rows for "
        "cross-validation, so whether the source helps cannot be told from this target."
    )
    return _untested(used, transfer.n_usable if used else 0, reason)


def _untested(used, n_select, reason):
    """Return a verdict that no fold has tested."""
    nan = float("nan")
    return Transfer(used, False, n_select, nan, nan, nan, 0, 0, 0, reason)
