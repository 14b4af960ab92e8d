"""Problems that fit in hundredths of a second, the estimators of which every contract is asked, and test selectors."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from selftaught import (
    AllSelector,
    GASTLClassifier,
    GASTLSelector,
    KMMSelector,
    MLSSelector,
    NeighborSelector,
    RandomSelector,
    RDSTLEncoder,
    SelfTaughtClassifier,
    SLowEncoder,
    SoftmaxClassifier,
    SourcePool,
    STLEncoder,
)
from selftaught.datasets import make_open_set
from selftaught.encoders import SourceEncoder
from selftaught.selectors import SourceSelector

SELECTORS = (GASTLSelector, KMMSelector, MLSSelector, RandomSelector, NeighborSelector, AllSelector)
ENCODERS = (STLEncoder, RDSTLEncoder, SLowEncoder)
TRANSFER_CLASSIFIERS = (SelfTaughtClassifier, GASTLClassifier)
TAKE_A_SOURCE = SELECTORS + ENCODERS + TRANSFER_CLASSIFIERS
SCORE_A_SOURCE = tuple(cls for cls in TAKE_A_SOURCE if hasattr(cls, "score_source"))
ESTIMATORS = (*TAKE_A_SOURCE, SoftmaxClassifier)
QUICK = {SLowEncoder: dict(max_outer=30, max_inner=200, tol=0.02)}  # ends before either budget does


def small_problem(seed=0, **changes):
    """Fifteen labelled rows of three classes, sixty source rows, twenty features (more than target rows)."""
    sizes = dict(n_source=60, n_per_class=5, n_classes=3, n_other_classes=4, n_test_per_class=20, n_features=20)
    return make_open_set(**{**sizes, "separation": 5.0, **changes}, random_state=seed)


def quick(estimator_class, **changes) -> Any:
    """An estimator with small settings and a fixed seed, where it has them."""
    names = estimator_class().get_params(deep=False)
    small = dict(n_hidden=6, max_outer=3, max_inner=10, random_state=0)
    if estimator_class in ENCODERS:
        small |= dict(n_components=8, max_iter=300)
    elif estimator_class not in SELECTORS:
        small |= dict(selector=GASTLSelector(**small), cv=2)
    small |= QUICK.get(estimator_class, {})
    return estimator_class(**{k: v for k, v in small.items() if k in names} | changes)


def fit_on(estimator, problem, X_source=None) -> Any:
    """Fit on a problem, with its source where the estimator takes one."""
    if isinstance(estimator, SoftmaxClassifier):
        return estimator.fit(problem.X, problem.y)
    pool = SourcePool(problem.X_source if X_source is None else X_source)
    return estimator.fit(problem.X, problem.y, X_source=pool)


def results(estimator, problem):
    """All that an estimator has to say about a problem, as a dict of arrays."""
    return results_on(estimator, problem.X_test)


def results_on(estimator, X):
    """What an estimator found, and what it makes of the rows X, as a dict of arrays."""
    said = {}
    rows = ("relevance_", "weights_", "ranking_", "selected_", "pseudo_labels_")
    for name in (*rows, "coef_", "intercept_", "components_", "codes_target_"):
        if hasattr(estimator, name):
            said[name] = getattr(estimator, name)
    if hasattr(estimator, "predict_proba"):
        said["probabilities"] = estimator.predict_proba(X)
    for codes in ("encode", "transform"):
        if callable(getattr(estimator, codes, None)):  # S-Low has a parameter of that name
            said[codes] = getattr(estimator, codes)(X)
    if hasattr(estimator, "score_source"):
        said["scores"] = estimator.score_source(X)
    transfer = getattr(estimator, "transfer_", None)
    if transfer is not None:
        said["used"] = np.array([transfer.used])
        if transfer.curve is not None:
            said["curve"] = transfer.curve.scores
    return said


def only_finite(estimator, X):
    """Whether nothing that an estimator found, or makes of the rows X, is NaN or infinite."""
    return all(np.isfinite(said).all() for said in results_on(estimator, X).values())


def same(first, second, rtol=1e-6, atol=1e-9):
    """Whether two results agree, in shape and up to a tolerance."""
    return first.keys() == second.keys() and all(
        first[k].shape == second[k].shape and np.allclose(first[k], second[k], rtol=rtol, atol=atol) for k in first
    )


class MisleadingSelector(SourceSelector):
    """Maps every source row to the target row that is farthest from it, so that pseudo-labels are wrong."""

    has_mapping = True

    def fit(self, X, y=None, *, X_source=None):
        source, target = self._read(X, X_source, scale=False)
        farthest = cdist(source, target).argmax(axis=1) if len(source) else np.arange(0)
        cells = (np.ones(len(source)), (np.arange(len(source)), farthest))
        mapping = sparse.csr_array(cells, shape=(len(source), len(target)))
        return self._keep(np.ones(len(source)), mapping=mapping)


class FoldingEncoder(SourceEncoder):
    """Codes are distances to the source's mean, feature by feature: what lies on either side of it looks alike."""

    def __init__(self, *, pca=None, scale=True):
        self.pca = pca
        self.scale = scale

    def fit(self, X, y=None, *, X_source=None):
        target, pool = self._open(X, X_source)
        source = target if pool is None else self._source_coordinates(pool, target.shape[1])
        self.components_ = source.mean(axis=0, keepdims=True).repeat(target.shape[1], axis=0)
        return self

    def _encode(self, rows):
        return np.abs(rows - self.components_[0])


def misled(**changes):
    """A classifier whose source does harm: wrong labels at full weight, more of them than target rows."""
    options = dict(transferability="mapping", n_select=60, random_state=0)
    return SelfTaughtClassifier(MisleadingSelector(), **{**options, **changes})
