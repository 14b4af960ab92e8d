"""Random problems of every shape and scale: whatever the data, the results are what they claim to be.

A plain seeded loop. Each problem is small, and many are degenerate: more features than rows and the reverse, constant
columns, repeated rows, rows of zeros, one source row.
"""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false

import warnings

import numpy as np
import pytest

from selftaught import AllSelector, GASTLClassifier, NeighborSelector, RandomSelector, SelfTaughtClassifier, SourcePool

# All that the library may have to say about such problems; anything else is an error.
DOCUMENTED = (
    "the mapping stopped",
    "the autoencoder keeps",
    "the hidden codes have collapsed",
    "Learning from the target",
)


def random_problem(rng):
    """Labelled rows, classes, source rows and rows to predict, with a description."""
    n_target, n_source, d = int(rng.integers(4, 41)), int(rng.integers(1, 61)), int(rng.integers(1, 31))
    n_classes = int(rng.integers(2, min(5, n_target)))
    y = rng.permutation(np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_target - n_classes)]))
    scale, shift = 10.0 ** rng.uniform(-8, 8), rng.choice([0.0, 1.0, 100.0])
    dtype = rng.choice(["f4", "f8"])
    centres = rng.normal(size=(n_classes, d)) * rng.choice([0.0, 2.0])
    rows = [centres[y], centres[rng.integers(n_classes, size=n_source)], centres[rng.integers(n_classes, size=9)]]
    rows = [scale * (part + shift + rng.normal(size=part.shape)) for part in rows]
    flaws = [flaw for flaw in ("constant", "repeated", "zero") if rng.random() < 0.3]
    for part in rows:
        if "constant" in flaws:
            part[:, rng.integers(d)] = scale
        if "repeated" in flaws:
            part[len(part) // 2 :] = part[0]
        if "zero" in flaws:
            part[0] = 0
    X, X_source, X_test = (part.astype(dtype) for part in rows)
    story = f"{n_target} x {d}, source {n_source}, {n_classes} classes, scale {scale:.0e} + {shift:g}, {dtype}, {flaws}"
    return X, y, X_source, X_test, story


def random_classifier(rng):
    """A classifier with settings drawn at random, small enough for a loop."""
    shared = dict(
        labels=rng.choice(["soft", "hard", "uniform"]).item(),
        n_select=[("auto"), 3, 0.5][rng.integers(3)],
        rows=rng.choice(["unit", "scaled"]).item(),
        guard=rng.choice(["fallback", "off"]).item(),
        cv=2,
        random_state=0,
    )
    if rng.random() < 0.5:
        selector = [NeighborSelector(), NeighborSelector(center=True), AllSelector(), RandomSelector()][rng.integers(4)]
        return SelfTaughtClassifier(selector, **shared)
    return GASTLClassifier(
        n_hidden=int(rng.integers(1, 8)),
        sparsity=rng.uniform(0.3, 0.9),
        smoothness=rng.choice([0.0, 0.1, 1.0]),
        max_outer=1,
        max_inner=4,
        tol=1e-2,
        transferability=rng.choice(["mapping", "gaussian"]).item(),
        **shared,
    )


def check(clf, X, y, X_source, X_test):
    """Fit and assert what must hold whatever the data."""
    clf.fit(X, y, X_source=SourcePool(X_source))
    n = len(X_source)
    assert np.isfinite(clf.relevance_).all() and (clf.relevance_ >= 0).all()
    assert (clf.weights_ >= 0).all() and clf.weights_.max() in (0, 1)
    assert (clf.weights_.max() == 0) == (not clf.relevance_.any())
    assert np.array_equal(np.sort(clf.ranking_), np.arange(n))
    assert (np.diff(clf.relevance_[clf.ranking_]) <= 0).all()
    assert np.array_equal(clf.selected_, clf.ranking_[: clf.transfer_.n_select])
    assert (clf.weights_[clf.selected_] > 0).all()
    assert clf.pseudo_labels_.shape == (len(clf.selected_), len(clf.classes_))
    assert np.allclose(clf.pseudo_labels_.sum(axis=1), 1) and (clf.pseudo_labels_ >= 0).all()
    p = clf.predict_proba(X_test)
    assert np.isfinite(p).all() and (p >= 0).all() and np.allclose(p.sum(axis=1), 1, atol=1e-5)
    predicted = np.searchsorted(clf.classes_, clf.predict(X_test))
    assert np.allclose(p[np.arange(9), predicted], p.max(axis=1), atol=1e-6)  # of equals, rounding may choose
    scores = clf.score_source(X_test)
    assert scores.shape == (9,) and np.isfinite(scores).all() and scores.max() <= 1 + 1e-5
    if clf.transfer_.tested:
        assert clf.transfer_.used == (clf.transfer_.gain >= 0) or clf.guard == "off"
        assert clf.transfer_.low <= clf.transfer_.gain <= clf.transfer_.high


@pytest.mark.parametrize("part", range(60))
def test_results_are_what_they_claim_to_be(part, seed):
    rng = np.random.default_rng([seed, part])
    X, y, X_source, X_test, story = random_problem(rng)
    clf = random_classifier(rng)
    with warnings.catch_warnings():
        for text in DOCUMENTED:
            warnings.filterwarnings("ignore", message=text, category=UserWarning)
        try:
            check(clf, X, y, X_source, X_test)
        except Exception as error:
            error.add_note(f"{story}; {clf}")
            raise
