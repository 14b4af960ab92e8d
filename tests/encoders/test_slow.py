"""S-Low as an encoder: how rows are coded, what is reported, which rows take part, what is refused."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalMemberAccess=false

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from small_problems import fit_on, quick, small_problem

from selftaught import SLowEncoder, SourcePool
from selftaught.encoders import low_rank
from selftaught.encoders import slow as slow_module
from selftaught.encoders.low_rank import solve_low_rank


@pytest.fixture(scope="module")
def problem():
    return small_problem()


@pytest.fixture(scope="module")
def fitted(problem):
    return fit_on(quick(SLowEncoder), problem)


# Codes


def test_ridge_codes_by_their_formula(problem, fitted):
    D, rows = fitted.components_, fitted._coordinates(problem.X_test)
    by_hand = np.array([np.linalg.solve(D @ D.T + 0.1 * np.eye(len(D)), D @ x) for x in rows])
    assert_allclose(fitted.transform(problem.X_test), by_hand, atol=1e-10)


def test_subspace_codes_by_their_formula_and_of_the_rank_of_the_target(problem):
    encoder = fit_on(quick(SLowEncoder, encode="subspace", error_weight=2.0), problem)
    _, sigma, Vt = np.linalg.svd(encoder.codes_target_)
    rank = encoder.diagnostics_.target_rank
    assert 0 < rank < 8 and sigma[rank - 1] > 1e-3 * sigma[0] and (sigma[rank:] < 1e-8 * sigma[0]).all()
    D, V, rows = encoder.components_, Vt[:rank].T, encoder._coordinates(problem.X_test)
    by_hand = rows @ D.T @ V @ np.linalg.inv(V.T @ D @ D.T @ V + 0.1 * np.eye(rank)) @ V.T
    codes = encoder.transform(problem.X_test)
    assert_allclose(codes, by_hand, atol=1e-10)
    assert np.linalg.matrix_rank(codes, tol=1e-8) <= rank


@pytest.mark.parametrize("encode", ["ridge", "subspace"])
def test_a_row_is_coded_alike_in_training_in_a_batch_and_alone(encode, problem):
    encoder = fit_on(quick(SLowEncoder, encode=encode), problem)
    codes = encoder.transform(problem.X)
    assert_allclose(encoder.transform(np.vstack([problem.X_test, problem.X]))[-len(codes) :], codes, atol=1e-12)
    assert_allclose(np.vstack([encoder.transform(x[None]) for x in problem.X]), codes, atol=1e-12)
    assert_allclose(quick(SLowEncoder, encode=encode).fit_transform(problem.X, X_source=problem.X_source), codes)


def test_subspace_codes_are_zero_where_the_target_needs_none(problem):
    encoder = fit_on(quick(SLowEncoder, encode="subspace", error_weight=0.5, rank_gamma=np.inf), problem)
    assert encoder.diagnostics_.target_rank == 0 and not encoder.codes_target_.any()
    assert not encoder.transform(problem.X_test).any()


# What is learned


def test_the_fit_is_the_alternation_on_scaled_and_projected_rows(problem, fitted):
    both = np.concatenate([problem.X_source, problem.X])
    unit = 0.1 + 0.8 * (both - both.min(axis=0)) / np.ptp(both, axis=0)
    centred = unit - unit.mean(axis=0)
    _, sigma, Vt = np.linalg.svd(centred, full_matrices=False)
    k = np.argmax(np.cumsum(sigma**2) / (sigma**2).sum() >= 0.96) + 1
    rows = centred @ Vt[:k].T
    alone = solve_low_rank(
        *(rows[: len(problem.X_source)], rows[len(problem.X_source) :]),
        n_components=8,
        rng=np.random.RandomState(0),
        max_outer=30,
        max_inner=200,
        tol=0.02,
    )
    # axes may be mirrored, which changes nothing
    assert_allclose(fitted.objective_path_, alone.objective_path, rtol=1e-6)
    assert_allclose(np.abs(fitted.components_), np.abs(alone.point.D), atol=1e-5)


def test_what_is_told_is_what_was_found(problem, fitted):
    told = fitted.diagnostics_
    assert fitted.components_.shape == (8, len(fitted.pca_.axes)) and fitted.codes_target_.shape == (15, 8)
    assert (np.diff(fitted.objective_path_) <= 0).all() and len(fitted.objective_path_) == fitted.n_iter_ + 1
    assert_array_equal(told.objective_path, fitted.objective_path_)
    assert (told.n_outer, told.converged, told.n_learned_from) == (fitted.n_iter_, fitted.converged_, 60)
    assert told.converged and told.certificate == max(told.gaps.values()) <= 0.02
    assert told.gaps.keys() == {"target codes", "source codes", "dictionary"}
    assert told.seconds.keys() == {"start", *told.gaps}


def test_the_number_of_atoms_follows_the_features(problem):
    encoder = fit_on(quick(SLowEncoder, n_components=None, pca=3), problem)
    assert encoder.components_.shape == (6, 3)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(slow_module, "MOST_COMPONENTS", 5)
        assert len(fit_on(quick(SLowEncoder, n_components=None, pca=3), problem).components_) == 5


def test_the_source_changes_the_dictionary(problem, fitted):
    without = quick(SLowEncoder).fit(problem.X)
    assert without.diagnostics_.n_learned_from == 0 and without.source_index_.shape == (0,)
    assert without.diagnostics_.gaps.keys() == {"target codes", "dictionary"}
    other = fit_on(quick(SLowEncoder), problem, problem.X_source[::-1] ** 3)
    assert other.components_.shape != fitted.components_.shape or not np.allclose(other.components_, fitted.components_)


def test_labels_play_no_part(problem, fitted):
    assert_array_equal(
        quick(SLowEncoder).fit(problem.X, problem.y[::-1], X_source=problem.X_source).components_, fitted.components_
    )


def test_of_a_large_source_a_sample_is_held_and_a_batch_is_coded(problem, monkeypatch):
    sizes, batches = [], []

    class Spy(low_rank.SourceCodes):
        def __init__(self, X, *rest):
            sizes.append(len(X))
            super().__init__(X, *rest)

        def _exactly(self, problem, *rest):
            batches.append(len(problem.X))
            return super()._exactly(problem, *rest)

    monkeypatch.setattr(low_rank, "SourceCodes", Spy)
    encoder = fit_on(quick(SLowEncoder, max_source=40, batch_size=12), problem)
    assert sizes == [40] and set(batches) == {12} and encoder.diagnostics_.n_learned_from == 40
    assert len(encoder.source_index_) == 60
    assert (np.diff(encoder.objective_path_) <= 0).all()


def test_rows_are_solved_in_float64_and_codes_keep_their_dtype(problem):
    small = quick(SLowEncoder).fit(problem.X.astype(np.float32), X_source=problem.X_source.astype(np.float32))
    assert small.components_.dtype == small.codes_target_.dtype == np.float32
    assert small.transform(problem.X.astype(np.float32)).dtype == np.float32
    assert small.diagnostics_.certificate <= 0.02


# Few rows, poor rows


def test_fewer_rows_than_atoms(problem):
    encoder = quick(SLowEncoder, n_components=12).fit(problem.X[:2], X_source=problem.X_source[:4])
    assert encoder.components_.shape[0] == 12 and np.isfinite(encoder.transform(problem.X_test)).all()


def test_identical_rows_have_no_variance_to_keep(problem):
    same = np.repeat(problem.X[:1], 5, axis=0)
    with pytest.raises(ValueError, match=r"no variance to keep\. Give rows that differ, or pca=None"):
        quick(SLowEncoder).fit(same, X_source=SourcePool(same))
    encoder = quick(SLowEncoder, pca=None, scale=False).fit(same, X_source=SourcePool(same))
    assert_allclose(np.ptp(encoder.transform(same), axis=0), 0, atol=1e-12)


def test_rows_of_zeros_alone(problem):
    zeros = np.zeros((3, 4))
    encoder = SLowEncoder(pca=None, scale=False).fit(zeros, X_source=SourcePool(zeros))
    assert encoder.n_iter_ == 0 and not encoder.codes_target_.any() and not encoder.transform(zeros).any()


# Budgets, messages, interruptions


def test_a_budget_that_is_too_small_is_named_with_the_gap_it_left(problem):
    with pytest.warns(
        ConvergenceWarning,
        match=r"S-Low solved its last step for the (source codes|dictionary|target codes) to a relative gap of "
        r"\d\.\de-\d\d, above tol=1e-06\. Raise max_inner, or tol\.",
    ):
        poor = fit_on(quick(SLowEncoder, max_inner=5, tol=1e-6, max_outer=3), problem)
    assert poor.diagnostics_.certificate > 1e-6 and not poor.converged_


def test_the_knob_that_is_named_closes_the_gap(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fine = fit_on(quick(SLowEncoder, max_inner=20_000, tol=1e-6, max_outer=2), problem)
    assert fine.diagnostics_.certificate <= 1e-6


def test_verbose_writes_a_line_for_each_round(problem, capsys):
    encoder = fit_on(quick(SLowEncoder, verbose=1), problem)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(":")[0] for line in err.splitlines()] == [f"round {i + 1}" for i in range(encoder.n_iter_)]


def test_an_interrupted_fit_leaves_what_was_there(problem, monkeypatch):
    encoder = fit_on(quick(SLowEncoder), problem)
    before = encoder.transform(problem.X_test)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(low_rank.Dictionary, "__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(problem.X[:, ::-1], X_source=problem.X_source[:, ::-1])
    assert_array_equal(encoder.transform(problem.X_test), before)
    fresh = quick(SLowEncoder)
    with pytest.raises(KeyboardInterrupt):
        fit_on(fresh, problem)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        fresh.transform(problem.X_test)


WRONG = [
    (dict(n_components=0), r"n_components must be a whole number of at least 1, or None, got 0\."),
    (dict(rank_gamma=0), r"rank_gamma must be a number above 0, or np\.inf, got 0\. It is a multiple of the mean sing"),
    (dict(error_gamma=-np.inf), r"error_gamma must be a number above 0, or np\.inf, got -inf\. It is a multiple of"),
    (dict(error_weight=np.inf), r"error_weight must be a number above 0, got inf\. At 1 and below the target needs no"),
    (dict(source_sparsity=0), r"source_sparsity must be a number above 0, got 0\."),
    (dict(source_weight=0), r"source_weight must be a number above 0, got 0\."),
    (dict(encode="lasso"), r"encode must be 'ridge' or 'subspace', got 'lasso'\."),
    (dict(eta=0), r"eta must be a number above 0, got 0\."),
    (dict(max_outer=0), r"max_outer must be a whole number of at least 1, got 0\."),
    (dict(max_inner=2.5), r"max_inner must be a whole number of at least 1, got 2\.5\."),
    (dict(tol=0), r"tol must be a number above 0, got 0\."),
    (dict(max_source=0), r"max_source must be a whole number of at least 1, or None, got 0\."),
    (dict(batch_size="all"), r"batch_size must be a whole number of at least 1, or None, got 'all'\."),
    (dict(pca=1.5), r"pca must be .*, got 1\.5\."),
    (dict(scale="yes"), r"scale must be True or False, got 'yes'\."),
    (dict(verbose=-1), r"verbose must be a whole number of at least 0, or True or False, got -1\."),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_parameters_out_of_range(wrong, message, problem):
    with pytest.raises(ValueError, match=message):
        fit_on(quick(SLowEncoder, **wrong), problem)


def test_no_parameter_with_a_range_is_left_out_above():
    assert {name for wrong, _ in WRONG for name in wrong} == {*SLowEncoder._allowed}
