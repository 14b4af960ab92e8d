"""Kernel mean matching as a selector: known answers, invariances, what it reports, what it refuses."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalMemberAccess=false

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.exceptions import ConvergenceWarning
from small_problems import small_problem

from selftaught import KMMSelector, RandomSelector, SelfTaughtClassifier, SourcePool
from selftaught.metrics import selection_average_precision
from selftaught.selectors import kmm as kmm_module
from selftaught.selectors.matching_qp import Limits, certificate

SOLVERS = ["dense", "working_set", "random_features"]
EXACT = ["dense", "working_set"]


def clouds(rng, n=200, n_target=40, d=4):
    """A source cloud, and a narrower target to its side."""
    return 0.7 * rng.normal(size=(n_target, d)) + 0.5, rng.normal(size=(n, d))


def fitted(X, X_source, **options):
    return KMMSelector(**{"random_state": 0, **options}).fit(X, X_source=SourcePool(X_source))


def certified_by_hand(selector, X, X_source):
    """The gap of the fitted weights in the unit of tol, and their MMD, from kernels by SciPy."""
    source, target = selector.scaling_.apply(X_source), selector.scaling_.apply(X)
    n, beta = len(source), selector.relevance_
    K, K_both, K_target = (
        np.exp(-cdist(A, B, "sqeuclidean") / (2 * selector.bandwidth_**2))
        for A, B in ((source, source), (source, target), (target, target))
    )
    kappa = n / len(target) * K_both.sum(axis=1)
    eps = (np.sqrt(n) - 1) / np.sqrt(n)
    gap = certificate(K @ beta - kappa, beta, Limits(1000.0, n * (1 - eps), n * (1 + eps)))
    mmd2 = (beta @ K @ beta - 2 * kappa @ beta) / n**2 + K_target.mean()
    uniform2 = K.mean() - 2 * kappa.mean() / n + K_target.mean()
    return 2 * gap / n**2 / uniform2, np.sqrt(mmd2), np.sqrt(uniform2)


# Known answers


@pytest.mark.parametrize("solver", EXACT)
def test_a_target_that_is_the_source_gives_equal_weights(rng, solver):
    X = rng.normal(size=(60, 5))
    assert_allclose(fitted(X, X, solver=solver, bandwidth_scale=0.5).relevance_, 1, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_bound_of_one_and_an_exact_sum_leave_equal_weights(rng, solver):
    X, X_source = clouds(rng)
    assert_allclose(fitted(X, X_source, solver=solver, bound=1.0, eps=0.0).relevance_, 1, atol=1e-9)


@pytest.mark.parametrize("solver", EXACT)
def test_a_very_narrow_kernel_gives_all_weight_to_the_rows_of_the_target(rng, solver):
    X_source = rng.normal(size=(200, 5))
    selector = fitted(X_source[:10], X_source, solver=solver, bandwidth=1e-3, scale=False)
    assert_allclose(selector.relevance_, np.where(np.arange(200) < 10, 20.0, 0.0), atol=1e-6)
    assert selector.n_nonzero_ >= 10


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_like_the_target_get_the_weight_and_rows_unlike_it_none(rng, solver):
    near, far = rng.normal(size=(100, 4)), rng.normal(size=(100, 4)) + 4
    weights = fitted(rng.normal(size=(30, 4)), np.concatenate([near, far]), solver=solver).relevance_
    # the sign of the linear term: the other way round the far half would get it all
    assert weights[:100].sum() > 0.97 * weights.sum()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("bound", "eps"), [(1000.0, None), (5.0, 0.05), (2.0, 0.0)])
def test_the_constraints_hold(rng, solver, bound, eps):
    X, X_source = clouds(rng)
    weights = fitted(X, X_source, solver=solver, bound=bound, eps=eps).relevance_
    allowed = 200 * ((np.sqrt(200) - 1) / np.sqrt(200) if eps is None else eps)
    assert weights.min() >= 0 and weights.max() <= bound
    assert abs(weights.sum() - 200) <= allowed + 200 * 1e-9


@pytest.mark.parametrize("solver", EXACT)
def test_the_reported_gap_and_distances_are_those_of_the_definition(rng, solver):
    X, X_source = clouds(rng, n=300)
    selector = fitted(X, X_source, solver=solver)
    gap, mmd, uniform = certified_by_hand(selector, X, X_source)
    assert selector.mmd_ == pytest.approx(mmd, rel=1e-6)
    assert selector.mmd_uniform_ == pytest.approx(uniform, rel=1e-9)
    assert selector.dual_gap_ == pytest.approx(gap, rel=1e-3, abs=1e-9)
    assert selector.dual_gap_ <= 1e-4
    assert selector.mmd_ < selector.mmd_uniform_


def test_the_working_set_agrees_with_the_matrix(rng):
    X, X_source = clouds(rng, n=2000)
    dense, blocks = (fitted(X, X_source, solver=solver) for solver in EXACT)
    assert abs(dense.mmd_**2 - blocks.mmd_**2) <= 1e-4 * dense.mmd_uniform_**2
    assert blocks.bandwidth_ == dense.bandwidth_


@pytest.mark.parametrize("n", [1001, 2401])
@pytest.mark.parametrize("solver", EXACT)
def test_no_row_is_dropped_whatever_the_blocks(rng, solver, n):
    # the only rows like the target are the last, beyond every whole block
    X, X_source = rng.normal(size=(20, 3)), rng.normal(size=(n, 3)) + 6
    X_source[-3:] = X[:3]
    pool = SourcePool(X_source, block_rows=100)
    weights = KMMSelector(solver=solver, random_state=0).fit(X, X_source=pool).relevance_
    assert weights.shape == (n,)
    assert weights[-3:].sum() > 0.9 * weights.sum()


def test_random_features_come_near_and_report_the_exact_gap(rng):
    X, X_source = clouds(rng, n=400)
    exact, few, many = (
        fitted(X, X_source, **options)
        for options in (
            dict(solver="dense"),
            dict(solver="random_features", n_features=32),
            dict(solver="random_features", n_features=4096),
        )
    )
    assert exact.mmd_ <= many.mmd_ + 1e-9 and many.mmd_ < few.mmd_ < exact.mmd_uniform_
    gap, mmd, _ = certified_by_hand(many, X, X_source)
    assert many.dual_gap_ == pytest.approx(gap, rel=1e-6) and many.mmd_ == pytest.approx(mmd, rel=1e-6)


# Invariances, on an exact solver and well inside its tolerance

PRECISE = dict(tol=1e-9, scale=False)
INVARIANT = dict(rtol=1e-4, atol=1e-5)


def test_permuting_the_source_permutes_the_weights(rng):
    X, X_source = clouds(rng)
    order = rng.permutation(200)
    straight, permuted = fitted(X, X_source, **PRECISE), fitted(X, X_source[order], **PRECISE)
    assert_allclose(permuted.relevance_, straight.relevance_[order], **INVARIANT)


def test_only_distances_matter_and_with_the_median_only_their_ratios(rng):
    X, X_source = clouds(rng)
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    straight = fitted(X, X_source, **PRECISE)
    for change in (lambda A: A @ turn, lambda A: A + 100, lambda A: 1e3 * A):
        changed = fitted(change(X), change(X_source), **PRECISE)
        assert_allclose(changed.relevance_, straight.relevance_, **INVARIANT)


def test_repeating_the_target_changes_nothing_at_a_given_width(rng):
    X, X_source = clouds(rng)
    once, twice = (fitted(T, X_source, bandwidth=2.0, **PRECISE) for T in (X, np.tile(X, (2, 1))))
    assert_allclose(twice.relevance_, once.relevance_, **INVARIANT)


def test_the_units_of_a_feature_do_not_matter_when_features_are_scaled(rng):
    X, X_source = clouds(rng)
    units = 10.0 ** np.arange(-3, 5, 2)
    plain, other = fitted(X, X_source, tol=1e-9), fitted(X * units, X_source * units, tol=1e-9)
    assert_allclose(other.relevance_, plain.relevance_, **INVARIANT)


# Parameters and what is left behind


def test_the_width_is_the_median_distance_of_scaled_rows_times_the_factor(rng):
    X, X_source = clouds(rng)
    selector = fitted(X, X_source, bandwidth_scale=0.5)
    rows = np.concatenate([selector.scaling_.apply(X_source), selector.scaling_.apply(X)])
    assert selector.bandwidth_ == pytest.approx(0.5 * np.median(pdist(rows)))
    assert fitted(X, X_source, bandwidth=0.3, bandwidth_scale=2.0).bandwidth_ == pytest.approx(0.6)


def test_ranking_is_by_weight_then_by_similarity_to_the_target(rng):
    X, X_source = clouds(rng)
    selector = fitted(X, X_source)
    used, order = selector.n_nonzero_, selector.ranking_
    assert used == np.count_nonzero(selector.relevance_) < 200
    assert (np.diff(selector.relevance_[order[:used]]) <= 0).all()
    source, target = selector.scaling_.apply(X_source), selector.scaling_.apply(X)
    kappa = np.exp(-cdist(source, target, "sqeuclidean") / (2 * selector.bandwidth_**2)).sum(axis=1)
    assert (np.diff(kappa[order[used:]]) <= 1e-9).all()


def test_it_finds_more_of_the_relevant_rows_than_chance():
    problem = small_problem(n_source=200)
    selectors = KMMSelector(), RandomSelector(random_state=0)
    found, chance = (
        selection_average_precision(
            problem.source_is_relevant, s.fit(problem.X, X_source=SourcePool(problem.X_source)).ranking_
        )
        for s in selectors
    )
    assert found > chance + 0.2


def test_auto_keeps_the_matrix_of_a_small_source_alone(rng, monkeypatch):
    X, X_source = clouds(rng)
    built = []
    original = kmm_module.build_problem

    def spy(*args, dense):
        built.append(dense)
        return original(*args, dense=dense)

    monkeypatch.setattr(kmm_module, "build_problem", spy)
    fitted(X, X_source)
    monkeypatch.setattr(kmm_module, "MOST_DENSE_ROWS", 199)
    fitted(X, X_source)
    assert built == [True, False]


@pytest.mark.parametrize("block_rows", [7, 64])
def test_results_do_not_depend_on_blocks(rng, block_rows):
    X, X_source = clouds(rng)
    whole = fitted(X, X_source, solver="working_set")
    blocked = KMMSelector(solver="working_set", random_state=0).fit(
        X, X_source=SourcePool(X_source, block_rows=block_rows)
    )
    assert_allclose(blocked.relevance_, whole.relevance_, atol=1e-6)


def test_the_working_set_never_holds_the_kernel_nor_the_source(rng):
    n, d = 20_000, 40
    X, X_source = rng.normal(size=(40, d)), rng.normal(size=(n, d))
    pool = SourcePool(X_source, block_rows=1000)
    tracemalloc.start()
    KMMSelector(solver="working_set", random_state=0, tol=0.1).fit(X, X_source=pool)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # about twice the kernel of a working set of 2500 rows; that of all rows would take 3200 MB
    assert peak < 120 * 2**20


def test_a_source_without_rows_to_weigh_leaves_empty_results(rng):
    alone = KMMSelector().fit(rng.normal(size=(5, 2)))
    assert alone.relevance_.shape == alone.weights_.shape == alone.ranking_.shape == (0,)
    assert alone.n_nonzero_ == alone.n_iter_ == 0
    assert np.isnan([alone.mmd_, alone.mmd_uniform_, alone.dual_gap_, alone.bandwidth_]).all()


def test_one_source_row_gets_the_weight_that_the_sum_allows(rng):
    assert_array_equal(fitted(rng.normal(size=(5, 2)), rng.normal(size=(1, 2))).relevance_, [1.0])


def test_verbose_writes_a_line_for_each_round_to_standard_error(rng, capsys):
    X, X_source = clouds(rng)
    quiet = fitted(X, X_source, tol=1e-9)
    assert capsys.readouterr() == ("", "")
    fitted(X, X_source, tol=1e-9, verbose=1)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and len(lines) == quiet.n_iter_ > 1
    assert lines[0].startswith("round 1: objective ")
    assert float(lines[-1].split()[-1]) == pytest.approx(quiet.mmd_**2, rel=1e-4)


# Refusals and warnings


def test_it_scores_no_other_rows_and_says_so(rng):
    X, X_source = clouds(rng)
    assert not hasattr(fitted(X, X_source), "score_source")
    clf = SelfTaughtClassifier(KMMSelector(), n_select=10, guard="off").fit(
        X, np.arange(len(X)) % 2, X_source=SourcePool(X_source)
    )
    assert len(clf.selected_) == 10
    with pytest.raises(ValueError, match=r"KMMSelector weighs only the rows it was fitted on and cannot score others"):
        clf.score_source(X_source)


def test_limits_that_no_weights_meet_are_refused(rng):
    X, X_source = clouds(rng)
    with pytest.raises(ValueError, match=r"bound=0\.5 with eps=0\.1 admits no weights: 200 of at most 0\.5 cannot"):
        fitted(X, X_source, bound=0.5, eps=0.1)
    assert fitted(X, X_source, bound=0.5).relevance_.max() <= 0.5  # the default eps lets the sum be small


@pytest.mark.parametrize("solver", SOLVERS)
def test_too_few_rounds_are_reported(rng, solver):
    X, X_source = clouds(rng, n=400)
    with pytest.warns(
        ConvergenceWarning, match=r"the weights stopped.* after 1 rounds, not at tol=1e-09\. Raise max_iter"
    ):
        fitted(X, X_source, solver=solver, max_iter=1, tol=1e-9, bandwidth_scale=3.0)


def test_a_kernel_to_which_all_rows_are_alike_is_reported(rng):
    X, X_source = clouds(rng)
    with pytest.warns(UserWarning, match=r"all source rows are alike.*Lower bandwidth_scale"):
        fitted(X, X_source, bandwidth_scale=100.0)
    with pytest.warns(UserWarning, match="unless the rows are copies"):
        constant = fitted(np.ones((5, 3)), np.ones((9, 3)))
    assert_allclose(constant.relevance_.sum(), 9)


def test_a_kernel_to_which_no_row_resembles_another_is_reported(rng):
    X, X_source = clouds(rng)
    with pytest.warns(UserWarning, match=r"no row resembles another.*Raise bandwidth_scale"):
        fitted(X, X_source, bandwidth_scale=1e-3)


def test_an_interrupted_fit_leaves_the_old_one(rng, monkeypatch):
    X, X_source = clouds(rng)
    selector = fitted(X, X_source)
    before = selector.relevance_.copy(), selector.bandwidth_

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(kmm_module, "solve_exactly", interrupted)
    with pytest.raises(KeyboardInterrupt):
        selector.fit(X[:, ::2], X_source=X_source[:, ::2])
    assert_array_equal(selector.relevance_, before[0])
    assert selector.bandwidth_ == before[1] and selector.n_features_in_ == 4
