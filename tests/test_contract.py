"""What scikit-learn users take for granted, asked of every estimator."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalMemberAccess=false

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from small_problems import (
    ESTIMATORS,
    SELECTORS,
    TAKE_A_SOURCE,
    TRANSFER_CLASSIFIERS,
    fit_on,
    misled,
    quick,
    results,
    results_on,
    same,
    small_problem,
)

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
from selftaught import model_selection as model_selection_module


@pytest.fixture(scope="module")
def problem():
    return small_problem()


# scikit-learn's own checks


# a default budget that leaves a gap on some check's data, and says so, is no failure
@pytest.mark.filterwarnings("ignore:S-Low solved its last step")
@parametrize_with_checks([cls() for cls in ESTIMATORS])
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


# Parameters in, parameters out


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_get_and_set_params_are_inverse(cls):
    estimator, changed = cls(), cls()
    for name in estimator.get_params(deep=False):
        marker = object()
        assert changed.set_params(**{name: marker}) is changed
        assert changed.get_params(deep=False)[name] is marker  # stored as given, nothing resolved on the way
    with pytest.raises(ValueError, match="Invalid parameter 'no_such_name'"):
        estimator.set_params(no_such_name=1)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_clone_is_unfitted_and_fits_to_the_same_answer(cls, problem):
    fitted = fit_on(quick(cls), problem)
    copy = clone(fitted)
    learned = [name for name in vars(copy) if name.endswith("_") or name.startswith("_")]
    assert not learned and repr(copy) == repr(quick(cls))
    assert same(results(fit_on(copy, problem), problem), results(fitted, problem), rtol=0, atol=0)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_pickled_estimator_says_the_same(cls, problem):
    fitted = fit_on(quick(cls), problem)
    restored = pickle.loads(pickle.dumps(fitted))
    assert same(results(restored, problem), results(fitted, problem), rtol=0, atol=0)


def test_a_fitted_classifier_does_not_keep_the_source(problem):
    # a saved model must not carry a pool that may be larger than memory, nor a path that the next machine lacks
    small, large = (
        len(pickle.dumps(fit_on(quick(SelfTaughtClassifier, selector=RandomSelector(random_state=0), n_select=5), p)))
        for p in (problem, small_problem(n_source=1060))
    )
    per_row = (large - small) / 1000
    assert per_row < problem.X_source.shape[1] * 8, "a row of the source costs as much as its features"


def test_the_repr_shows_what_was_changed_and_nothing_else():
    assert repr(GASTLSelector()) == "GASTLSelector()"
    assert repr(GASTLSelector(n_hidden=7, sparsity=0.5)) == "GASTLSelector(n_hidden=7, sparsity=0.5)"
    assert repr(SelfTaughtClassifier(NeighborSelector(center=True))) == (
        "SelfTaughtClassifier(selector=NeighborSelector(center=True))"
    )


def test_parameters_of_the_selector_are_reached_through_the_classifier(problem):
    clf = quick(SelfTaughtClassifier).set_params(selector__sparsity=0.2)
    assert fit_on(clf, problem).selector_.sparsity == 0.2
    assert clf.selector is not clf.selector_  # the user's own selector stays unfitted
    assert not hasattr(clf.selector, "relevance_")


def test_the_preset_is_the_general_classifier_with_its_selector(problem):
    preset = fit_on(quick(GASTLClassifier, transferability="gaussian"), problem)
    assert same(results(preset, problem), results(fit_on(quick(SelfTaughtClassifier), problem), problem), rtol=0)
    shared = GASTLSelector().get_params().keys() & GASTLClassifier().get_params().keys()
    assert shared == GASTLSelector().get_params().keys()
    for name in shared:
        assert getattr(GASTLSelector(), name) == getattr(GASTLClassifier(), name), name


# Every constructor parameter changes something. A value may need another setting to matter: that comes second.

GASTL_CHANGES = dict(
    n_hidden=(3, {}),
    sparsity=(0.2, {}),
    lam=(1e-3, {}),
    smoothness=(3.0, {}),
    coupling=(2.0, {}),
    n_neighbors=(1, dict(smoothness=3.0)),
    metric=("euclidean", dict(smoothness=3.0, n_neighbors=2)),
    center=(False, dict(sparsity=0.8)),  # few live rows: without a centre the mapping is slow to solve
    normalize=(False, {}),
    init=("random", {}),
    graph_scaling=("sum", {}),
    scale=(False, {}),
    max_outer=(1, {}),
    max_inner=(2, {}),
    history=(1, {}),
    tol=(0.5, {}),
    random_state=(1, dict(init="random")),
)
STAGE_TWO_CHANGES = dict(
    average=(True, dict(transferability="mapping")),
    labels=("hard", {}),
    n_select=(2, {}),
    sigma2=(1.0, dict(transferability="gaussian", guard="off")),
    estimator=(LogisticRegression(), {}),
    rows=("scaled", {}),
    cv=(3, {}),
)
CHANGES = {
    GASTLSelector: GASTL_CHANGES,
    MLSSelector: dict(
        percentiles=((50,), {}),
        aggregate=("mean", {}),
        quality=("overlap", {}),
        threshold=(0.9, dict(aggregate="mean")),
        min_variance=(0.02, {}),
        n_reference=(10, {}),
        scale=(False, {}),
        random_state=(1, dict(n_reference=10)),
    ),
    KMMSelector: dict(
        bandwidth=(0.5, {}),
        bandwidth_scale=(2.0, {}),
        bound=(1.5, {}),
        eps=(0.0, {}),
        solver=("random_features", {}),
        n_features=(8, dict(solver="random_features")),
        max_iter=(1, dict(bandwidth_scale=4.0, tol=1e-8)),
        tol=(0.5, {}),
        scale=(False, {}),
        random_state=(1, dict(solver="random_features")),
    ),
    RandomSelector: dict(weight_profile=(np.arange(80.0), {}), scale=(False, {}), random_state=(1, {})),
    NeighborSelector: dict(center=(True, {}), scale=(True, {})),
    AllSelector: dict(scale=(False, {})),
    STLEncoder: dict(
        n_components=(5, {}),
        penalty=(0.3, {}),
        beta=(0.1, {}),
        solver=("alternate", {}),
        batch_size=(7, {}),
        max_iter=(2, {}),
        tol=(0.1, {}),
        pca=(3, {}),
        scale=(False, {}),
        random_state=(1, {}),
    ),
    RDSTLEncoder: dict(
        n_components=(5, {}),
        atom_sparsity=(0.3, {}),
        class_sparsity=(0.5, {}),
        g1=(1.0, {}),
        g2=(0.5, {}),
        encode_penalty=(0.5, {}),
        max_iter=(1, {}),
        tol=(1e-2, {}),
        pca=(None, {}),
        scale=(False, {}),
        random_state=(1, {}),
    ),
    SLowEncoder: dict(
        n_components=(5, {}),
        rank_gamma=(np.inf, {}),
        error_gamma=(np.inf, {}),
        error_weight=(2.0, {}),
        source_sparsity=(0.5, {}),
        source_weight=(0.2, {}),
        encode=("subspace", dict(error_weight=1.2)),
        eta=(1.0, {}),
        max_outer=(1, {}),
        max_inner=(3, {}),
        tol=(0.3, {}),
        max_source=(30, {}),
        batch_size=(20, {}),
        pca=(0.5, {}),
        scale=(False, {}),
        random_state=(1, {}),
    ),
    SoftmaxClassifier: dict(l2=(1.0, {}), fit_intercept=(True, {}), max_iter=(1, {}), tol=(0.3, {})),
    GASTLClassifier: {**GASTL_CHANGES, **STAGE_TWO_CHANGES, "transferability": ("gaussian", {})},
    SelfTaughtClassifier: {
        **STAGE_TWO_CHANGES,
        "selector": (NeighborSelector(), {}),
        "transferability": ("mapping", {}),
        "scale": (False, {}),
        # for the folds alone: the selector of these tests has a seed of its own
        "random_state": (1, {}),
    },
}
# These have a test of their own below: they change what is done with a result, or where it is computed.
TESTED_APART = {
    GASTLSelector: {"verbose"},
    STLEncoder: {"verbose"},
    RDSTLEncoder: {"verbose"},
    SLowEncoder: {"verbose"},
    KMMSelector: {"verbose"},
    GASTLClassifier: {"verbose", "guard", "n_jobs"},
    SelfTaughtClassifier: {"guard", "n_jobs"},
}


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_no_parameter_is_forgotten_here(cls):
    assert {*CHANGES[cls], *TESTED_APART.get(cls, ())} == {*cls().get_params(deep=False)}


@pytest.mark.parametrize(("cls", "name"), [(cls, name) for cls, changes in CHANGES.items() for name in changes])
@pytest.mark.filterwarnings(
    "ignore:the (mapping|autoencoder|hidden codes|objective|dictionary)",
    "ignore:GASTLSelector finds no source row relevant",
    "ignore:Learning from the target only",
    "ignore:S-Low solved its last step",
)
@pytest.mark.filterwarnings("ignore:the (mapping|autoencoder|hidden codes|weights)", "ignore:Learning from the target")
def test_every_parameter_changes_something(cls, name):
    # classes that overlap, and are of different sizes: otherwise too much is decided whatever the parameters
    problem = small_problem(separation=3.0, n_source=80)
    kept = np.flatnonzero((problem.y > 0) | (np.arange(len(problem.y)) < 3))
    other, needed = CHANGES[cls][name]
    said = []
    for changes in (needed, {**needed, name: other}):
        estimator = quick(cls, **changes)
        X, y = problem.X[kept], problem.y[kept]
        estimator.fit(X, y) if cls is SoftmaxClassifier else estimator.fit(X, y, X_source=problem.X_source)
        said.append(results(estimator, problem))
    assert not same(*said), f"{name}={other!r} changes nothing"


@pytest.mark.parametrize("cls", [GASTLSelector, GASTLClassifier])
def test_verbose_writes_a_line_for_each_round_to_standard_error(cls, problem, capsys):
    options = dict(guard="off", n_select=3) if cls is GASTLClassifier else {}
    fit_on(quick(cls, **options), problem)
    assert capsys.readouterr() == ("", "")
    n_outer = fit_on(quick(cls, **options, verbose=1), problem).diagnostics_.n_outer
    out, err = capsys.readouterr()
    assert out == "" and n_outer > 1
    assert [line.split(":")[0] for line in err.splitlines()] == [f"round {i + 1}" for i in range(n_outer)]


def test_n_jobs_reaches_the_folds_and_changes_no_result(problem, monkeypatch):
    given = []

    class Spy(model_selection_module.Parallel):
        def __init__(self, n_jobs=None, **options):
            given.append(n_jobs)
            super().__init__(n_jobs, **options)

    monkeypatch.setattr(model_selection_module, "Parallel", Spy)
    answers = [results(fit_on(quick(GASTLClassifier, n_jobs=n), problem), problem) for n in (None, 2)]
    assert given == [None, 2]
    assert same(*answers)


def test_guard_changes_what_is_done_with_a_harmful_source():
    problem = small_problem(share_relevant=1.0)
    refused, used = (fit_on(misled(guard=guard), problem) for guard in ("fallback", "off"))
    assert not refused.transfer_.used and used.transfer_.used


# Cross-validation, search, pipelines


@pytest.fixture(scope="module")
def equal_length(problem):
    """As many source rows as target rows: the length that cross-validation would cut."""
    return problem, problem.X_source[: len(problem.X)]


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("cls", TRANSFER_CLASSIFIERS)
def test_a_pool_arrives_whole_in_cross_validation(cls, equal_length, routing):
    problem, X_source = equal_length
    with sklearn.config_context(enable_metadata_routing=routing):
        found = cross_validate(
            quick(cls, n_select=3, guard="off"),
            problem.X,
            problem.y,
            params={"X_source": SourcePool(X_source)},
            cv=3,
            return_estimator=True,
            error_score="raise",
        )
    assert [len(fold.relevance_) for fold in found["estimator"]] == [len(X_source)] * 3


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_a_bare_source_as_long_as_the_target_is_refused(cls, equal_length, routing):
    problem, X_source = equal_length
    with (
        sklearn.config_context(enable_metadata_routing=routing),
        pytest.raises(ValueError, match=r"bare ndarray with 15 rows, exactly as many as X\..*SourcePool\(X_source\)"),
    ):
        quick(cls).fit(problem.X, problem.y, X_source=X_source)


@pytest.mark.parametrize("routing", [False, True])
def test_a_bare_source_that_cross_validation_cut_is_refused(equal_length, routing):
    problem, X_source = equal_length
    with (
        sklearn.config_context(enable_metadata_routing=routing),
        pytest.raises(ValueError, match="bare ndarray with 10 rows, exactly as many as X"),
    ):
        cross_validate(
            quick(GASTLClassifier),
            problem.X,
            problem.y,
            params={"X_source": X_source},
            cv=3,
            error_score="raise",
        )


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("cls", TRANSFER_CLASSIFIERS)
def test_grid_search_tries_every_value_on_the_whole_source(cls, equal_length, routing):
    problem, X_source = equal_length
    sparsity = "sparsity" if cls is GASTLClassifier else "selector__sparsity"
    grid = {"n_select": [0, 2], sparsity: [0.2, 0.3]}
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(quick(cls, guard="off"), grid, cv=3, error_score="raise")
        search.fit(problem.X, problem.y, X_source=SourcePool(X_source))
    assert len(search.cv_results_["params"]) == 4
    assert len(search.best_estimator_.relevance_) == len(X_source)
    alone = fit_on(quick(cls, guard="off").set_params(**search.best_params_), problem, X_source)
    assert_array_equal(search.predict_proba(problem.X_test), alone.predict_proba(problem.X_test))


def test_two_processes_find_what_one_finds(equal_length):
    problem, X_source = equal_length
    found = [
        cross_validate(
            quick(GASTLClassifier, n_select=4),
            problem.X,
            problem.y,
            params={"X_source": SourcePool(X_source)},
            cv=3,
            n_jobs=n_jobs,
            return_estimator=True,
            error_score="raise",
        )
        for n_jobs in (1, 2)
    ]
    for alone, beside in zip(found[0]["estimator"], found[1]["estimator"], strict=True):
        assert same(results(alone, problem), results(beside, problem))


@pytest.mark.parametrize("cls", TRANSFER_CLASSIFIERS)
def test_a_pipeline_passes_the_source_on(cls, equal_length):
    problem, X_source = equal_length
    pool, alone = SourcePool(X_source), fit_on(quick(cls), problem, X_source)
    steps = [("same", FunctionTransformer()), ("clf", quick(cls))]
    by_step_name = Pipeline(steps).fit(problem.X, problem.y, clf__X_source=pool)
    with sklearn.config_context(enable_metadata_routing=True):
        # asked for by the class itself: nobody has to call set_fit_request
        routed = Pipeline(steps).fit(problem.X, problem.y, X_source=pool)
        search = GridSearchCV(Pipeline(steps), {"clf__n_select": [2]}, cv=3, error_score="raise")
        assert len(search.fit(problem.X, problem.y, X_source=pool).best_estimator_["clf"].relevance_) == len(X_source)
    for pipeline in (by_step_name, routed):
        assert len(pipeline["clf"].relevance_) == len(X_source)
        assert_array_equal(pipeline.predict_proba(problem.X_test), alone.predict_proba(problem.X_test))


def test_without_routing_a_pipeline_says_that_it_does_not_know_the_parameter(problem):
    with pytest.raises((ValueError, TypeError), match="X_source"):
        Pipeline([("clf", GASTLClassifier())]).fit(problem.X, problem.y, X_source=SourcePool(problem.X_source))


# Inputs stay as they are; the same seed gives the same answer; float32 stays float32


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_inputs_are_not_modified(cls, problem):
    given = problem.X.copy(), problem.y.copy(), problem.X_source.copy(), problem.X_test.copy()
    estimator = quick(cls).fit(given[0], given[1], X_source=given[2])
    results(estimator, problem)
    if hasattr(estimator, "predict"):
        estimator.predict(given[3])
    if hasattr(estimator, "score_source"):
        estimator.score_source(given[3])
    for now, before in zip(given, (problem.X, problem.y, problem.X_source, problem.X_test), strict=True):
        assert_array_equal(now, before)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_same_seed_gives_the_same_answer_and_leaves_the_global_generator_alone(cls, problem):
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - the global generator is what must not move
    first = results(fit_on(quick(cls), problem), problem)
    again = results(fit_on(quick(cls), problem), problem)
    assert same(first, again, rtol=0, atol=0)
    assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("cls", [RandomSelector, GASTLSelector])
def test_a_random_state_object_is_taken(cls, problem):
    first, again = (fit_on(quick(cls, random_state=np.random.RandomState(3)), problem) for _ in range(2))
    assert_array_equal(first.ranking_, again.ranking_)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_float32_stays_float32_and_says_nearly_the_same(cls, problem):
    wide = fit_on(quick(cls), problem)
    small = quick(cls)
    if cls is SoftmaxClassifier:
        small.fit(problem.X.astype(np.float32), problem.y)
    else:
        small.fit(problem.X.astype(np.float32), problem.y, X_source=problem.X_source.astype(np.float32))
    X_test = problem.X_test.astype(np.float32)
    for codes in ("encode", "transform"):
        if callable(getattr(small, codes, None)):  # S-Low has a parameter of that name
            assert getattr(small, codes)(X_test).dtype == np.float32
    if hasattr(small, "predict_proba"):
        assert small.predict_proba(X_test).dtype == np.float32
        assert_allclose(small.predict_proba(X_test), wide.predict_proba(problem.X_test), atol=0.02)
    if hasattr(small, "autoencoder_"):
        assert {part.dtype for part in vars(small.autoencoder_).values()} == {np.dtype(np.float32)}
    if hasattr(small, "relevance_"):
        # one number a row: results are kept in float64, whatever the rows are
        assert small.relevance_.dtype == small.weights_.dtype == np.float64
        assert_allclose(small.weights_, wide.weights_, atol=0.05)


def test_one_wide_array_makes_everything_wide(problem):
    mixed = quick(GASTLSelector).fit(problem.X, X_source=problem.X_source.astype(np.float32))
    assert mixed.autoencoder_.W1.dtype == np.float64


# Names of columns, ids of rows, labels of any type

NAMES = [f"feature {i}" for i in range(20)]
FRAMES = {"pandas": lambda X: pd.DataFrame(X, columns=NAMES), "polars": lambda X: pl.DataFrame(X, schema=NAMES)}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_source_columns_are_matched_by_name(cls, library, problem):
    frame = FRAMES[library]
    shuffled = np.random.default_rng(0).permutation(NAMES).tolist()
    plain = fit_on(quick(cls), problem)
    named = quick(cls).fit(frame(problem.X), problem.y, X_source=frame(problem.X_source)[shuffled])
    assert_array_equal(named.feature_names_in_, NAMES)
    # a frame's columns lie one after the other in memory, so that products may differ in their last digit
    assert same(results_on(named, frame(problem.X_test)), results(plain, problem), atol=1e-6)


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_source_columns_that_are_missing_or_unknown_are_refused(cls, library, problem):
    frame = FRAMES[library]
    X, X_source = frame(problem.X), frame(problem.X_source)
    fewer, other = X_source[NAMES[1:]], X_source[NAMES]
    other.columns = ["price" if name == "feature 3" else name for name in NAMES]
    with pytest.raises(ValueError, match="missing 'feature 0', unexpected none"):
        quick(cls).fit(X, problem.y, X_source=fewer)
    with pytest.raises(ValueError, match="missing 'feature 3', unexpected 'price'"):
        quick(cls).fit(X, problem.y, X_source=other)


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("cls", [GASTLSelector, NeighborSelector, *TRANSFER_CLASSIFIERS])
def test_rows_to_score_are_matched_by_name_too(cls, library, problem):
    frame = FRAMES[library]
    fitted = quick(cls).fit(frame(problem.X), problem.y, X_source=frame(problem.X_source))
    in_order, turned = frame(problem.X_test), frame(problem.X_test)[NAMES[::-1]]
    assert_allclose(fitted.score_source(turned), fitted.score_source(in_order), rtol=1e-9)


@pytest.mark.parametrize("cls", TRANSFER_CLASSIFIERS)
def test_rows_to_predict_must_have_the_columns_in_order(cls, problem):
    frame = FRAMES["pandas"]
    fitted = quick(cls, n_select=0).fit(frame(problem.X), problem.y, X_source=frame(problem.X_source))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame(problem.X_test)[NAMES[::-1]])


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_row_ids_of_the_source_survive(cls, problem):
    ids = [f"scan-{i}" for i in range(len(problem.X_source))]
    named = quick(cls).fit(problem.X, problem.y, X_source=pd.DataFrame(problem.X_source, index=ids))
    assert list(named.source_index_) == ids
    assert_array_equal(fit_on(quick(cls), problem).source_index_, np.arange(len(ids)))
    assert len(quick(cls).fit(problem.X, problem.y).source_index_) == 0


LABELS = {
    "strings": np.array(["pear", "apple", "fig"]),
    "objects": np.array(["pear", "apple", "fig"], dtype=object),
    "far apart": np.array([10**15, -7, 0]),
    "floats": np.array([2.0, -1.0, 5.0]),
    "small unsigned": np.array([255, 0, 7], dtype=np.uint8),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("cls", [*TRANSFER_CLASSIFIERS, SoftmaxClassifier])
def test_labels_come_back_as_they_were(cls, kind, problem):
    y = LABELS[kind][problem.y]
    estimator = quick(cls)
    estimator.fit(problem.X, y) if cls is SoftmaxClassifier else estimator.fit(
        problem.X, y, X_source=SourcePool(problem.X_source)
    )
    predicted = estimator.predict(problem.X_test)
    assert predicted.dtype == y.dtype and {*predicted} <= {*y}
    assert_array_equal(estimator.classes_, np.sort(LABELS[kind]))
    # the baseline: the same problem with its codes
    assert_array_equal(predicted, LABELS[kind][fit_on(quick(cls), problem).predict(problem.X_test)])


@pytest.mark.parametrize("cls", [*TRANSFER_CLASSIFIERS, SoftmaxClassifier])
def test_two_classes_may_be_booleans(cls):
    problem = small_problem(n_classes=2)
    estimator, codes = quick(cls), fit_on(quick(cls), problem).predict(problem.X_test)
    y = problem.y.astype(bool)
    estimator.fit(problem.X, y) if cls is SoftmaxClassifier else estimator.fit(
        problem.X, y, X_source=SourcePool(problem.X_source)
    )
    assert estimator.predict(problem.X_test).dtype == bool
    assert_array_equal(estimator.predict(problem.X_test), codes.astype(bool))


@pytest.mark.parametrize("cls", SELECTORS)
def test_a_selector_needs_no_labels(cls, problem):
    with_labels = fit_on(quick(cls), problem)
    without = quick(cls).fit(problem.X, X_source=SourcePool(problem.X_source))
    assert_array_equal(with_labels.relevance_, without.relevance_)


@pytest.mark.parametrize("cls", SELECTORS)
def test_what_every_selector_leaves_behind(cls, problem):
    selector = fit_on(quick(cls), problem)
    n_source, n_target = len(problem.X_source), len(problem.X)
    assert selector.relevance_.shape == (n_source,) and (selector.relevance_ >= 0).all()
    assert_allclose(selector.weights_ * selector.relevance_.max(), selector.relevance_)
    assert selector.weights_.max() == 1
    assert_array_equal(np.sort(selector.ranking_), np.arange(n_source))
    assert (np.diff(selector.relevance_[selector.ranking_]) <= 0).all()
    assert selector.encode(problem.X_test).shape[0] == len(problem.X_test)
    if cls.has_mapping:
        assert selector.mapping_.shape == (n_source, n_target)
    else:
        assert selector.mapping_ is None
