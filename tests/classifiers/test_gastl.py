"""GASTL as a classifier: the preset, and the published algorithm piece by piece."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_problems import fit_on, quick, small_problem

from selftaught import GASTLClassifier, GASTLSelector, SoftmaxClassifier
from selftaught.relevance import encode, solve_relevance
from selftaught.softmax import fit_softmax, softmax_probabilities


@pytest.fixture(scope="module")
def problem():
    return small_problem()


def test_its_selector_is_gastl_with_its_own_parameters(problem):
    clf = fit_on(quick(GASTLClassifier, sparsity=0.25, metric="euclidean", n_select=4), problem)
    selector = clf.selector_
    assert type(selector) is GASTLSelector
    for name, value in selector.get_params().items():
        assert getattr(clf, name) == value, name
    assert clf.diagnostics_ is selector.diagnostics_
    assert_array_equal(clf.relevance_, selector.relevance_)
    assert_array_equal(clf.score_source(problem.X_test), selector.score_source(problem.X_test))


def test_a_seed_left_open_is_drawn_once_and_kept_for_the_folds(problem):
    clf = fit_on(quick(GASTLClassifier, random_state=None, n_select=4, guard="off"), problem)
    assert isinstance(clf.selector_.random_state, int)
    assert clf.random_state is None


# The published algorithm

PUBLISHED = dict(
    coupling=1.0,
    center=False,
    normalize=False,
    init="random",
    graph_scaling="sum",
    scale=True,
    max_outer=10,
    max_inner=400,
    history=100,
    n_neighbors=5,
    metric="cosine",
    sigma2=1.0,
    average=False,
    guard="off",
    rows="scaled",
    lam=0.1,
    smoothness=1e-3,
    n_hidden=100,
    n_select=100,
    labels="soft",
)


@pytest.mark.parametrize(("scheme", "transferability"), [("A", "mapping"), ("B", "gaussian")])
def test_published_constants(scheme, transferability):
    params = GASTLClassifier.as_published(scheme).get_params(deep=False)
    assert {name: params[name] for name in PUBLISHED} == PUBLISHED
    assert params["transferability"] == transferability
    estimator = params["estimator"]
    assert type(estimator) is SoftmaxClassifier
    assert (estimator.l2, estimator.fit_intercept, estimator.max_iter) == (0, False, 400)


def test_published_choices_are_passed_on():
    clf = GASTLClassifier.as_published("B", labels="hard", lam=0.2, gamma=0.03, n_hidden=7, n_select=9, random_state=4)
    got = (clf.transferability, clf.labels, clf.lam, clf.smoothness, clf.n_hidden, clf.n_select, clf.random_state)
    assert got == ("gaussian", "hard", 0.2, 0.03, 7, 9, 4)


@pytest.mark.parametrize("scheme", ["C", "a", None, 1])
def test_there_are_two_schemes(scheme):
    with pytest.raises(ValueError, match=r"scheme must be 'A' \(from the mapping\) or 'B' \(from Gaussians\), got "):
        GASTLClassifier.as_published(scheme)


@pytest.mark.parametrize("labels", ["soft", "hard"])
@pytest.mark.parametrize("scheme", ["A", "B"])
@pytest.mark.filterwarnings("ignore:the (mapping|autoencoder|hidden codes)")
def test_published_is_its_pieces_put_together(problem, scheme, labels):
    options = dict(lam=0.02, gamma=1e-5, n_hidden=5, n_select=8)
    clf = GASTLClassifier.as_published(scheme, labels=labels, random_state=0, **options)
    clf = fit_on(clf.set_params(max_outer=2, max_inner=5, estimator__max_iter=20), problem)
    assert len(clf.selected_) == 8

    both = np.concatenate([problem.X_source, problem.X, problem.X_test])
    low, high = both[:75].min(axis=0), both[:75].max(axis=0)
    scaled = 0.1 + 0.8 * (np.clip(both, low, high) - low) / (high - low)
    source, target, test = scaled[:60], scaled[60:75], scaled[75:]
    solution = solve_relevance(
        source, target, lam=0.02, gamma=1e-5, mu=1.0, n_hidden=5, center=False, normalize=False, n_neighbors=5,
        metric="cosine", init="random", max_outer=2, max_inner=5, history=100, random_state=0,
    )  # fmt: skip
    A = solution.mapping.toarray()
    relevance = np.linalg.norm(A, axis=1)
    chosen = np.argsort(-relevance)[:8]
    assert_array_equal(clf.selected_, chosen)
    assert_allclose(clf.relevance_, relevance, rtol=1e-6, atol=1e-12)
    if scheme == "A":
        share = np.stack([(A[chosen][:, problem.y == c] ** 2).sum(axis=1) for c in range(3)], axis=1)
    else:
        codes, codes_target = encode(source[chosen], solution.autoencoder), encode(target, solution.autoencoder)
        means = np.stack([codes_target[problem.y == c].mean(axis=0) for c in range(3)])
        share = np.exp(-0.5 * ((codes[:, None] - means) ** 2).sum(axis=2))
    share /= share.sum(axis=1, keepdims=True)
    expected = share if labels == "soft" else np.eye(3)[share.argmax(axis=1)]
    assert_allclose(clf.pseudo_labels_, expected, rtol=1e-4, atol=1e-7)
    fit = fit_softmax(
        np.concatenate([target, source[chosen]]),
        np.concatenate([np.eye(3)[problem.y], expected]),
        np.concatenate([np.ones(15), relevance[chosen] / relevance.max()]),
        l2=0.0,
        max_iter=20,  # without a penalty there is no minimum: after hundreds of steps rounding would show
    )
    assert_allclose(clf.predict_proba(problem.X_test), softmax_probabilities(test, fit), atol=1e-3)
