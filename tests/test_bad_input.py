"""What users do wrong, or do unusually: a right answer, or an error that says what to do."""

import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from small_problems import (
    ENCODERS,
    ESTIMATORS,
    SCORE_A_SOURCE,
    TAKE_A_SOURCE,
    TRANSFER_CLASSIFIERS,
    fit_on,
    misled,
    only_finite,
    quick,
    results,
    same,
)
from small_problems import small_problem as make_problem

from selftaught import (
    AllSelector,
    GASTLClassifier,
    GASTLSelector,
    KMMSelector,
    MLSSelector,
    NeighborSelector,
    RandomSelector,
    SelfTaughtClassifier,
    SoftmaxClassifier,
    SourcePool,
    TransferRefused,
)
from selftaught.classifiers import self_taught as self_taught_module
from selftaught.selectors import NothingRelevant
from selftaught.selectors import gastl as gastl_selector_module


@pytest.fixture(scope="module")
def problem():
    return make_problem()


def spoiled(X, value):
    """A copy with one bad value, in row 3 and column 2."""
    X = X.copy()
    X[3, 2] = value
    return X


# Values

BAD_VALUES = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


@pytest.mark.parametrize("value", BAD_VALUES)
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_target_rows_that_are_not_finite_are_refused(cls, value, problem):
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        quick(cls).fit(spoiled(problem.X, BAD_VALUES[value]), problem.y)


@pytest.mark.parametrize("value", BAD_VALUES)
@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_source_rows_that_are_not_finite_are_refused_by_name(cls, value, problem):
    message = rf"X_source has {value} in row 3, column 2\. Every value must be a finite number: impute it or drop"
    with pytest.raises(ValueError, match=message):
        quick(cls).fit(problem.X, problem.y, X_source=spoiled(problem.X_source, BAD_VALUES[value]))
    frame = pd.DataFrame(problem.X_source, columns=[f"c{i}" for i in range(20)], index=np.arange(60) + 100)
    frame.loc[103, "c2"] = BAD_VALUES[value]
    with pytest.raises(ValueError, match=rf"X_source has {value} in row 103 \(position 3\), column 'c2'"):
        quick(cls).fit(problem.X, problem.y, X_source=frame)


@pytest.mark.parametrize("cls", SCORE_A_SOURCE)
def test_rows_to_score_that_are_not_finite_are_refused(cls, problem):
    fitted = fit_on(quick(cls), problem)
    with pytest.raises(ValueError, match="has nan in row 3, column 2"):
        fitted.score_source(spoiled(problem.X_test, np.nan))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_text_in_the_target_is_refused(cls, problem):
    X = problem.X.astype(object)
    X[0, 0] = "blue"
    with pytest.raises(ValueError, match="could not convert string to float: 'blue'"):
        quick(cls).fit(X, problem.y)


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_text_in_the_source_is_refused(cls, problem):
    with pytest.raises(ValueError, match=r"X_source has dtype <U\d+, but must hold real numbers\. Encode text"):
        quick(cls).fit(problem.X, problem.y, X_source=problem.X_source.astype(str))
    frame = pd.DataFrame(problem.X_source).assign(colour="blue")
    with pytest.raises(ValueError, match="X_source has column 'colour' of type String, but every column must be"):
        quick(cls).fit(problem.X, problem.y, X_source=frame)


# Shapes and containers


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_sparse_target_is_refused(cls, problem):
    with pytest.raises(TypeError, match=r"Sparse data was passed.*dense data is required"):
        quick(cls).fit(sparse.csr_array(problem.X), problem.y)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_a_sparse_source_gives_the_answer_of_a_dense_one(cls, form, problem):
    X_source = np.where(np.abs(problem.X_source) < 0.5, 0, problem.X_source)
    dense, sparse_ = fit_on(quick(cls), problem, X_source), fit_on(quick(cls), problem, form(X_source))
    assert same(results(dense, problem), results(sparse_, problem), rtol=1e-9)
    if cls in SCORE_A_SOURCE:
        assert_allclose(sparse_.score_source(form(X_source)), dense.score_source(X_source))


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_a_source_of_another_width_is_refused(cls, problem):
    message = "X_source has 19 features, but 20 are expected. Give source and target the same columns"
    for X_source in (problem.X_source[:, 1:], SourcePool(problem.X_source[:, 1:])):
        with pytest.raises(ValueError, match=message):
            quick(cls).fit(problem.X, problem.y, X_source=X_source)
    if cls in SCORE_A_SOURCE:
        with pytest.raises(ValueError, match=message):
            fit_on(quick(cls), problem).score_source(problem.X_test[:, 1:])


@pytest.mark.parametrize("cls", [*TRANSFER_CLASSIFIERS, SoftmaxClassifier])
def test_rows_to_predict_of_another_width_are_refused(cls, problem):
    with pytest.raises(ValueError, match=r"X has 19 features, but .* is expecting 20 features"):
        fit_on(quick(cls), problem).predict(problem.X_test[:, 1:])


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_an_empty_source_is_refused(cls, problem):
    with pytest.raises(ValueError, match=r"X_source is empty \(0 rows\). Give at least one row, or X_source=None"):
        quick(cls).fit(problem.X, problem.y, X_source=problem.X_source[:0])


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_a_bare_array_as_long_as_the_target_is_refused_and_a_pool_is_not(cls, problem):
    with pytest.raises(ValueError, match="bare ndarray with 15 rows, exactly as many as X"):
        quick(cls).fit(problem.X, problem.y, X_source=problem.X_source[:15])
    assert len(fit_on(quick(cls), problem, problem.X_source[:15]).source_index_) == 15


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_one_source_row_is_enough(cls, problem):
    # a row of one of the target's classes, so that its relevance is not zero
    row = np.flatnonzero(problem.source_is_relevant)[:1]
    with warnings.catch_warnings():
        if cls is MLSSelector:  # a landmark is judged by the other source rows, and there are none
            warnings.simplefilter("ignore", NothingRelevant)
        fitted = fit_on(quick(cls), problem, problem.X_source[row])
    assert fitted.source_index_.shape == (1,) and only_finite(fitted, problem.X_test)


# Classes


@pytest.mark.parametrize("cls", [*TRANSFER_CLASSIFIERS, SoftmaxClassifier])
def test_one_class_is_refused(cls, problem):
    with pytest.raises(ValueError, match=r"y must hold at least two classes, got 1 class: .*\. A classifier needs two"):
        quick(cls).fit(problem.X, np.zeros(15, dtype=int))


def test_the_one_class_is_named_as_the_user_wrote_it(problem):
    with pytest.raises(ValueError, match="got 1 class: 7"):
        SoftmaxClassifier().fit(problem.X, np.full(15, 7))


@pytest.mark.parametrize("cls", TRANSFER_CLASSIFIERS)
def test_a_class_with_one_row_is_learned_from_untested_and_that_is_said(cls, problem):
    kept = np.flatnonzero((problem.y > 0) | (np.arange(15) == 0))
    clf = quick(cls).fit(problem.X[kept], problem.y[kept], X_source=SourcePool(problem.X_source))
    assert not clf.transfer_.tested
    assert "too few labelled rows for cross-validation" in clf.transfer_.reason
    assert clf.predict_proba(problem.X_test).shape == (60, 3)


@pytest.mark.parametrize("cls", [*TRANSFER_CLASSIFIERS, SoftmaxClassifier])
def test_labels_of_another_length_are_refused(cls, problem):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        quick(cls).fit(problem.X, problem.y[:-1])


@pytest.mark.parametrize("cls", TRANSFER_CLASSIFIERS)
def test_labels_are_needed(cls, problem):
    with pytest.raises(ValueError, match="requires y to be passed"):
        quick(cls).fit(problem.X, None, X_source=problem.X_source)


# Rows without information


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_constant_columns_change_nothing(cls, problem):
    # a constant says nothing about a row: it is brought to the middle, and centring takes it out. Two things see it all
    # the same: the graph of GASTL, whose cosines are taken at the origin, and neighbours without centring.
    changes = dict(smoothness=0) if cls in (GASTLSelector, GASTLClassifier) else {}
    if cls is SelfTaughtClassifier:
        changes = dict(selector=quick(GASTLSelector, smoothness=0))
    if cls is NeighborSelector:
        changes = dict(center=True)

    def widened(X):
        return np.column_stack([X, np.full(len(X), 5.0), np.zeros(len(X))])

    plain = fit_on(quick(cls, **changes), problem)
    wide = quick(cls, **changes).fit(widened(problem.X), problem.y, X_source=widened(problem.X_source))
    assert only_finite(wide, widened(problem.X_test))
    if cls in ENCODERS:
        assert_allclose(wide.transform(widened(problem.X)), plain.transform(problem.X), atol=1e-6)
    elif cls in (GASTLSelector, *TRANSFER_CLASSIFIERS):
        # the random sketch behind the start has other numbers in wider data, and the reconstruction two more terms
        assert_array_equal(wide.ranking_[:3], plain.ranking_[:3])
    else:
        assert_allclose(wide.relevance_, plain.relevance_, atol=1e-9)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_rows_of_zeros_and_duplicated_rows_do_no_harm(cls, scale, problem):
    X = np.concatenate([problem.X, np.zeros((2, 20)), problem.X[:2]])
    y = np.concatenate([problem.y, [0, 1], problem.y[:2]])
    X_source = np.concatenate([problem.X_source, np.zeros((3, 20)), problem.X_source[:9]])
    estimator = quick(cls, scale=scale) if cls is not SelfTaughtClassifier else quick(cls)
    if cls in (GASTLSelector, GASTLClassifier) and not scale:
        X, X_source = X / 20, X_source / 20  # near the range in which a sigmoid can answer
    with np.errstate(all="raise", under="ignore"):
        estimator.fit(X, y, X_source=X_source) if scale else _fit_expecting_low_r2(estimator, X, y, X_source)
    assert only_finite(estimator, X) and only_finite(estimator, X_source)


def _fit_expecting_low_r2(estimator, X, y, X_source):
    """Unscaled data lie outside what a sigmoid can rebuild, which the library may say."""
    with warnings.catch_warnings():
        for text in ("the autoencoder keeps", "the mapping stopped", "Learning from the target only"):
            warnings.filterwarnings("ignore", message=text)
        return estimator.fit(X, y, X_source=X_source)


@pytest.mark.parametrize("cls", [NeighborSelector, GASTLSelector])
def test_duplicated_source_rows_are_equally_near(cls, problem):
    twice = np.concatenate([problem.X_source, problem.X_source])
    scores = fit_on(quick(cls), problem, twice).score_source(twice)
    assert_allclose(scores[:60], scores[60:])


@pytest.mark.parametrize("cls", [GASTLClassifier, SelfTaughtClassifier])
def test_a_source_of_one_row_repeated_is_no_crash(cls, problem):
    same_row = np.repeat(problem.X_source[:1], 9, axis=0)
    clf = _fit_expecting_low_r2(quick(cls), problem.X, problem.y, same_row)
    assert np.isfinite(clf.predict_proba(problem.X_test)).all()


# Nothing relevant, nothing asked for


@pytest.mark.parametrize("guard", ["fallback", "warn", "raise", "off"])
@pytest.mark.parametrize("n_select", ["auto", 5, 0.5])
def test_with_no_relevant_row_it_learns_from_the_target_only_and_says_so(problem, guard, n_select):
    clf = quick(GASTLClassifier, lam=1e3, guard=guard, n_select=n_select)
    with pytest.warns(UserWarning, match="Learning from the target only: no source row is relevant"):
        fit_on(clf, problem)
    assert not clf.relevance_.any() and not clf.transfer_.used and clf.selected_.shape == (0,)
    alone = fit_on(quick(GASTLClassifier, n_select=0), problem)
    assert_array_equal(clf.predict_proba(problem.X_test), alone.predict_proba(problem.X_test))


def test_more_rows_than_are_relevant_are_not_used(problem):
    clf = fit_on(quick(GASTLClassifier, n_select=1000, guard="off"), problem)
    assert 0 < len(clf.selected_) == np.count_nonzero(clf.relevance_) < 60


# Arrays of every make


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_arrays_of_every_make_give_the_same_answer(cls, problem):
    X, X_source = (
        np.round(8 * problem.X),
        np.round(8 * problem.X_source),
    )  # whole numbers, so that integers can hold them
    plain = results(quick(cls).fit(X, problem.y, X_source=X_source), problem)
    frozen, frozen_source = X.copy(), X_source.copy()
    frozen.flags.writeable = frozen_source.flags.writeable = False
    makes = {
        "read-only": (frozen, frozen_source),
        "fortran": (np.asfortranarray(X), np.asfortranarray(X_source)),
        "big-endian": (X.astype(">f8"), X_source.astype(">f8")),
        "integers": (X.astype(np.int32), X_source.astype(np.int16)),
        "lists": (X.tolist(), X_source.tolist()),
        "strided": (np.repeat(X, 2, axis=0)[::2], np.repeat(X_source, 2, axis=0)[::2]),
        "shards": (X, (X_source[:7], X_source[7:])),
    }
    for make, (target, source) in makes.items():
        said = results(quick(cls).fit(target, problem.y, X_source=source), problem)
        assert same(said, plain, rtol=1e-6, atol=1e-7), make


# Parameters out of range

WRONG = [
    (GASTLSelector, dict(n_hidden=0), r"n_hidden must be a whole number of at least 1, got 0\."),
    (GASTLSelector, dict(n_hidden=2.5), r"n_hidden must be a whole number of at least 1, got 2\.5\."),
    (GASTLSelector, dict(sparsity=0), r"sparsity must be a number above 0 and at most 1, got 0\. It is a fraction"),
    (
        GASTLSelector,
        dict(sparsity=1.5),
        r"got 1\.5\. It is a fraction of the least strength.*pass lam= for an",
    ),
    (GASTLSelector, dict(lam=0), r"lam must be a number above 0, or None, got 0\."),
    (
        GASTLSelector,
        dict(smoothness=-1),
        r"smoothness must be a number of at least 0, got -1\. 0 switches the",
    ),
    (GASTLSelector, dict(coupling=0), r"coupling must be a number above 0, or 'balanced', got 0\."),
    (GASTLSelector, dict(n_neighbors=0), r"n_neighbors must be a whole number of at least 1, got 0\."),
    (GASTLSelector, dict(metric="manhattan"), r"metric must be 'cosine' or 'euclidean', got 'manhattan'\."),
    (GASTLSelector, dict(center="yes"), r"center must be True or False, got 'yes'\."),
    (GASTLSelector, dict(normalize=None), r"normalize must be True or False, got None\."),
    (GASTLSelector, dict(init="zeros"), r"init must be 'spectral' or 'random', got 'zeros'\."),
    (GASTLSelector, dict(graph_scaling="n"), r"graph_scaling must be 'mean' or 'sum', got 'n'\."),
    (GASTLSelector, dict(scale=1), r"scale must be True or False, got 1\."),
    (GASTLSelector, dict(max_outer=-1), r"max_outer must be a whole number of at least 0, got -1\."),
    (GASTLSelector, dict(max_inner=0), r"max_inner must be a whole number of at least 1, got 0\."),
    (GASTLSelector, dict(history=0), r"history must be a whole number of at least 1, got 0\."),
    (GASTLSelector, dict(tol=0), r"tol must be a number above 0, got 0\."),
    (GASTLSelector, dict(tol=np.nan), r"tol must be a number above 0, got nan\."),
    (GASTLSelector, dict(verbose=-1), r"verbose must be a whole number of at least 0, or True or False, got -1\."),
    (KMMSelector, dict(bandwidth="mean"), r"bandwidth must be 'median', or a number above 0, got 'mean'\."),
    (KMMSelector, dict(bandwidth_scale=0), r"bandwidth_scale must be a number above 0, got 0\."),
    (KMMSelector, dict(bound=-1), r"bound must be a number above 0, got -1\."),
    (KMMSelector, dict(eps=-0.1), r"eps must be None, or a number of at least 0, got -0\.1\."),
    (KMMSelector, dict(solver="cvx"), r"solver must be 'auto' or 'dense' or 'working_set' or 'random_features', got"),
    (KMMSelector, dict(n_features=0), r"n_features must be a whole number of at least 1, got 0\."),
    (KMMSelector, dict(max_iter=0), r"max_iter must be a whole number of at least 1, got 0\."),
    (KMMSelector, dict(tol=0), r"tol must be a number above 0, got 0\."),
    (KMMSelector, dict(scale="no"), r"scale must be True or False, got 'no'\."),
    (KMMSelector, dict(verbose=-1), r"verbose must be a whole number of at least 0, or True or False, got -1\."),
    (
        SelfTaughtClassifier,
        dict(transferability="psychic"),
        r"transferability must be 'gaussian' or 'mapping', got",
    ),
    (SelfTaughtClassifier, dict(average="mean"), r"average must be True or False, got 'mean'\."),
    (SelfTaughtClassifier, dict(labels="fuzzy"), r"labels must be 'hard' or 'soft' or 'uniform', got 'fuzzy'\."),
    (SelfTaughtClassifier, dict(n_select=-1), r"n_select must be 'auto', or a number of at least 0, got -1\."),
    (SelfTaughtClassifier, dict(n_select="all"), r"n_select must be 'auto', or a number of at least 0, got 'all'\."),
    (
        SelfTaughtClassifier,
        dict(n_select=1.5),
        r"n_select as a float is a fraction of the source, at most 1\.0, got",
    ),
    (SelfTaughtClassifier, dict(sigma2=0), r"sigma2 must be 'median', or a number above 0, got 0\."),
    (
        SelfTaughtClassifier,
        dict(guard="maybe"),
        r"guard must be 'fallback' or 'warn' or 'raise' or 'off', got 'may",
    ),
    (SelfTaughtClassifier, dict(rows="raw"), r"rows must be 'unit' or 'scaled', got 'raw'\."),
    (SelfTaughtClassifier, dict(scale="no"), r"scale must be True or False, got 'no'\."),
    (RandomSelector, dict(scale="no"), r"scale must be True or False, got 'no'\."),
    (AllSelector, dict(scale=None), r"scale must be True or False, got None\."),
    (NeighborSelector, dict(center=1), r"center must be True or False, got 1\."),
    (NeighborSelector, dict(scale=1), r"scale must be True or False, got 1\."),
    (GASTLClassifier, dict(sparsity=2), r"sparsity must be a number above 0 and at most 1, got 2\."),
    (GASTLClassifier, dict(labels="fuzzy"), r"labels must be 'hard' or 'soft' or 'uniform', got 'fuzzy'\."),
]


@pytest.mark.parametrize(("cls", "wrong", "message"), WRONG)
def test_parameters_out_of_range(cls, wrong, message, problem):
    with pytest.raises(ValueError, match=message):
        quick(cls, **wrong).fit(problem.X, problem.y, X_source=problem.X_source)


@pytest.mark.parametrize("cls", [GASTLSelector, KMMSelector, SelfTaughtClassifier])
def test_no_parameter_with_a_range_is_left_out_above(cls):
    assert {name for c, wrong, _ in WRONG if c is cls for name in wrong} == {*cls._allowed}


@pytest.mark.parametrize("name", ["lam", "smoothness", "coupling"])
@pytest.mark.filterwarnings("ignore")
def test_infinite_weights_are_refused(name, problem):
    with pytest.raises(ValueError, match=f"{name} must be"):
        fit_on(quick(GASTLSelector, **{name: np.inf}), problem)


# Parts that do not fit together


@pytest.mark.parametrize("n_select", [5, "auto"])
def test_an_estimator_without_weights_is_refused(problem, n_select):
    clf = quick(SelfTaughtClassifier, estimator=KNeighborsClassifier(), n_select=n_select)
    message = "estimator must take sample weights, and KNeighborsClassifier.fit has no sample_weight. Choose one that"
    with pytest.raises(ValueError, match=message):
        fit_on(clf, problem)


@pytest.mark.parametrize("selector", [RandomSelector(), AllSelector(), MLSSelector()])
def test_labels_from_the_mapping_need_a_selector_that_has_one(problem, selector):
    message = f"transferability='mapping' needs a selector that maps.*{type(selector).__name__} does not"
    with pytest.raises(ValueError, match=message):
        fit_on(SelfTaughtClassifier(selector, transferability="mapping"), problem)


def test_a_word_is_no_selector(problem):
    with pytest.raises(
        ValueError, match="selector must be a selector or encoder of selftaught's, such as NeighborSelector"
    ):
        fit_on(SelfTaughtClassifier("gastl"), problem)


def test_a_splitter_that_is_none_is_refused(problem):
    with pytest.raises(ValueError, match="Expected `cv` as an integer, a cross-validation object"):
        fit_on(quick(SelfTaughtClassifier, cv="five"), problem)


# Before a fit


@pytest.mark.parametrize("cls", [RandomSelector, AllSelector, NeighborSelector, MLSSelector, *TRANSFER_CLASSIFIERS])
def test_scoring_needs_a_fit(cls, problem):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        cls().score_source(problem.X_source)


def test_scoring_with_gastl_needs_a_fit(problem):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        GASTLSelector().score_source(problem.X_source)


@pytest.mark.parametrize("cls", [GASTLSelector, MLSSelector, *TRANSFER_CLASSIFIERS])
def test_scoring_without_a_source_says_what_is_missing(cls, problem):
    with pytest.raises(ValueError, match=r"fitted without a source and cannot score one\. Fit it with X_source= first"):
        quick(cls).fit(problem.X, problem.y).score_source(problem.X_source)


# Interrupted


class Boom:
    """Raises what a user's Ctrl-C raises."""

    def __init__(self, *args, **kwargs):
        raise KeyboardInterrupt


STEPS = {
    "selection": (gastl_selector_module, "solve_relevance"),
    "labels": (self_taught_module, "label_source"),
    "folds": (self_taught_module, "measure_curve"),
}


@pytest.mark.parametrize("step", STEPS)
def test_an_interrupted_refit_leaves_the_old_fit_or_none(step, problem, monkeypatch):
    clf = fit_on(quick(GASTLClassifier), problem)
    before = clf.predict(problem.X_test)
    monkeypatch.setattr(*STEPS[step], Boom)
    other = make_problem(1)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(other.X[:, ::-1], np.array(["x", "y", "z"])[other.y], X_source=other.X_source[:, ::-1])
    try:
        after = clf.predict(problem.X_test)
    except NotFittedError:
        return
    assert after.dtype == before.dtype
    assert_array_equal(after, before)


@pytest.mark.parametrize("step", STEPS)
def test_an_interrupted_first_fit_is_no_fit(step, problem, monkeypatch):
    clf = quick(GASTLClassifier)
    monkeypatch.setattr(*STEPS[step], Boom)
    with pytest.raises(KeyboardInterrupt):
        fit_on(clf, problem)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        clf.predict(problem.X_test)


def test_a_refused_fit_is_no_fit():
    problem = make_problem(share_relevant=1.0)
    clf = misled(guard="raise")
    with pytest.raises(TransferRefused):
        fit_on(clf, problem)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        clf.predict(problem.X_test)


def test_an_interrupted_fit_can_be_repeated_and_leaves_no_file(problem, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    clf = quick(GASTLClassifier)
    with monkeypatch.context() as patched:
        patched.setattr(*STEPS["folds"], Boom)
        with pytest.raises(KeyboardInterrupt):
            fit_on(clf, problem)
    assert same(results(fit_on(clf, problem), problem), results(fit_on(quick(GASTLClassifier), problem), problem), 0, 0)
    assert os.listdir(tmp_path) == []
    assert pickle.loads(pickle.dumps(clf)).transfer_.reason == clf.transfer_.reason
