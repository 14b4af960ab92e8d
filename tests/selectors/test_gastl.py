"""GASTL as a selector: from its parameters to the solver's, what it reports, and what it scores."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalMemberAccess=false

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from small_problems import quick, small_problem

from selftaught import GASTLSelector, RandomSelector, SourcePool
from selftaught.metrics import selection_average_precision
from selftaught.relevance import lam_max, solve_relevance
from selftaught.selectors import NothingRelevant
from selftaught.selectors import gastl as gastl_module


@pytest.fixture(scope="module")
def problem():
    return small_problem()


@pytest.fixture(scope="module")
def fitted(problem):
    return quick(GASTLSelector).fit(problem.X, X_source=problem.X_source)


def scaled_by_hand(problem):
    """Source and target in [0.1, 0.9], by the formula."""
    both = np.concatenate([problem.X_source, problem.X])
    unit = 0.1 + 0.8 * (both - both.min(axis=0)) / np.ptp(both, axis=0)
    return unit[: len(problem.X_source)], unit[len(problem.X_source) :]


def test_it_finds_more_of_the_relevant_rows_than_chance(problem, fitted):
    by_chance = RandomSelector(random_state=0).fit(problem.X, X_source=problem.X_source)
    found, chance = (selection_average_precision(problem.source_is_relevant, s.ranking_) for s in (fitted, by_chance))
    assert found > chance + 0.2


def test_the_objective_is_balanced_and_sparsity_a_share_of_lam_max(problem, fitted):
    source, target = scaled_by_hand(problem)
    n, mu = len(source) + len(target), len(target) / (len(source) + len(target))
    middle = target.mean(axis=0)
    lam = 0.3 * lam_max(source, target, mu, center=middle, row_weights=np.linalg.norm(source - middle, axis=1))
    by_hand = solve_relevance(
        source, target, lam=lam, gamma=0.1 / n, mu=mu, n_hidden=6, max_outer=3, max_inner=10, random_state=0
    )
    assert_allclose(fitted.relevance_, by_hand.relevance, rtol=1e-4, atol=1e-8)
    assert fitted.solution_.lam == pytest.approx(lam) and fitted.solution_.lam_max == pytest.approx(lam / 0.3)
    assert (fitted.solution_.gamma, fitted.solution_.mu) == (pytest.approx(0.1 / n), pytest.approx(mu))


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        (dict(lam=0.01), "lam", 0.01),
        (dict(lam=0.01, sparsity=0.9), "lam", 0.01),  # lam overrides sparsity
        (dict(coupling=0.5), "mu", 0.5),
        (dict(smoothness=0.2), "gamma", 0.2 / 75),
        (dict(smoothness=1e-4, graph_scaling="sum"), "gamma", 1e-4),
        (dict(smoothness=0), "gamma", 0),
    ],
)
def test_parameters_become_the_weights_of_the_objective(problem, changes, name, expected):
    selector = quick(GASTLSelector, **changes).fit(problem.X, X_source=problem.X_source)
    assert getattr(selector.solution_, name) == pytest.approx(expected, rel=1e-12)


def test_what_is_learned_is_what_the_solution_holds(problem, fitted):
    solution, told = fitted.solution_, fitted.diagnostics_
    assert fitted.mapping_ is solution.mapping and fitted.autoencoder_ is solution.autoencoder
    assert_array_equal(fitted.dual_score_, solution.dual_score)
    assert_allclose(
        fitted.relevance_, solution.row_weights * np.sqrt(solution.mapping.power(2).sum(axis=1)), rtol=1e-12
    )
    assert told.n_relevant == np.count_nonzero(fitted.relevance_) > 0
    assert told.objective_path == solution.objective_path and (np.diff(told.objective_path) <= 0).all()
    assert told.n_outer == len(told.objective_path) - 1
    assert told.seconds.keys() == {"graph", "start", "mapping", "autoencoder"}
    assert 0 < told.lam < told.lam_max and 0.1 < told.target_r2 < 1 and told.gap <= 1e-4


def test_rows_used_have_dual_score_one_and_no_other_has_more(fitted):
    used = fitted.relevance_ > 0
    assert_allclose(fitted.dual_score_[used], 1, atol=0.01)
    assert fitted.dual_score_[~used].max() <= 1 + 0.01


def test_more_sparsity_uses_fewer_rows(problem):
    counts = [
        quick(GASTLSelector, sparsity=s, max_outer=1).fit(problem.X, X_source=problem.X_source).diagnostics_.n_relevant
        for s in (0.1, 0.3, 0.6)
    ]
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1]


@pytest.mark.parametrize("changes", [dict(sparsity=1.0, max_outer=0), dict(lam=1e3)])
def test_at_lam_max_and_above_no_row_is_relevant_and_ranking_falls_back_on_closeness(problem, changes):
    # at the start the mapping aims at the target rows themselves, so max_outer=0 makes lam_max exact
    with pytest.warns(NothingRelevant, match="GASTLSelector finds no source row relevant"):
        selector = quick(GASTLSelector, **changes).fit(problem.X, X_source=problem.X_source)
    assert_array_equal(selector.relevance_, np.zeros(60))
    assert_array_equal(selector.weights_, np.zeros(60))
    scores = selector.score_source(problem.X_source)
    assert (np.diff(scores[selector.ranking_]) <= 1e-12).all()


def test_encode_gives_hidden_codes_and_without_a_source_scaled_features(problem, fitted):
    codes = fitted.encode(problem.X_test)
    assert codes.shape == (len(problem.X_test), 6) and (codes > 0).all() and (codes < 1).all()
    alone = quick(GASTLSelector).fit(problem.X)
    assert alone.encode(problem.X_test).shape == problem.X_test.shape
    assert alone.autoencoder_ is alone.diagnostics_ is alone.solution_ is None


# score_source


def test_scores_of_the_pool_order_its_rows_of_relevance_zero_as_the_ranking_does(problem, fitted):
    scores = fitted.score_source(problem.X_source)
    unused = [i for i in fitted.ranking_ if fitted.relevance_[i] == 0]
    assert len(unused) > 30 and (np.diff(scores[unused]) <= 1e-12).all()
    assert scores.max() <= 1


@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_scores_do_not_depend_on_blocks(problem, fitted, block_rows):
    blocked = fitted.score_source(SourcePool(problem.X_source, block_rows=block_rows))
    assert_allclose(blocked, fitted.score_source(problem.X_source), rtol=1e-12)


def test_fitting_does_not_depend_on_blocks(problem, fitted):
    blocked = quick(GASTLSelector).fit(problem.X, X_source=SourcePool(problem.X_source, block_rows=7))
    assert_array_equal(blocked.relevance_, fitted.relevance_)


def test_rows_never_seen_score_higher_where_they_resemble_the_target(problem, fitted):
    # held-out rows of the target's classes against rows of the other classes: one is the baseline of the other
    ours, others = (
        fitted.score_source(problem.X_test),
        fitted.score_source(problem.X_source[~problem.source_is_relevant]),
    )
    assert np.median(ours) > np.median(others)
    assert fitted.score_source(problem.X).min() > np.median(others)


def test_scoring_without_a_source_is_refused(problem):
    with pytest.raises(ValueError, match=r"fitted without a source and cannot score one\. Fit it with X_source= first"):
        quick(GASTLSelector).fit(problem.X).score_source(problem.X_source)


# Warnings


@pytest.mark.filterwarnings("ignore:the mapping stopped")
def test_an_autoencoder_that_keeps_nothing_is_reported(problem):
    with pytest.warns(UserWarning, match=r"keeps \d+% of the target's variance.*Raise n_hidden, lower smoothness"):
        quick(GASTLSelector, n_hidden=1, max_inner=1, init="random").fit(problem.X, X_source=problem.X_source)


@pytest.mark.filterwarnings("ignore:the (autoencoder keeps|mapping stopped)")
def test_collapsed_codes_are_reported(problem):
    options = dict(smoothness=100.0, graph_scaling="sum", max_inner=60)
    with pytest.warns(UserWarning, match=r"hidden codes have collapsed to one point.*graph_scaling='mean'"):
        quick(GASTLSelector, **options).fit(problem.X, X_source=problem.X_source)


def test_a_mapping_above_its_tolerance_is_reported(fitted):
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap of .*above tol=.*\. Raise tol, or raise"):
        gastl_module._diagnose(fitted.solution_, 1e-12 if fitted.solution_.gap > 1e-12 else 0.0)


# Invariances: each holds because the objective does not know the order in question; rounding grows over the rounds

INVARIANT = dict(rtol=1e-3, atol=1e-5)


def test_permuting_the_source_permutes_the_relevance(problem, fitted, rng):
    # the objective is a sum over source rows, each with its own row of the mapping
    order = rng.permutation(60)
    permuted = quick(GASTLSelector).fit(problem.X, X_source=problem.X_source[order])
    assert_allclose(permuted.relevance_, fitted.relevance_[order], **INVARIANT)
    assert_allclose(permuted.score_source(problem.X_test), fitted.score_source(problem.X_test), **INVARIANT)


def test_permuting_the_target_leaves_the_relevance(problem, fitted, rng):
    # target rows are the columns of the mapping; row norms do not know their order
    order = rng.permutation(15)
    permuted = quick(GASTLSelector).fit(problem.X[order], X_source=problem.X_source)
    assert_allclose(permuted.relevance_, fitted.relevance_, **INVARIANT)
    assert_allclose(permuted.mapping_.toarray(), fitted.mapping_.toarray()[:, order], **INVARIANT)


def test_permuting_the_features_leaves_the_relevance(problem, rng):
    # norms and inner products are sums over features; with as many hidden units as features the start uses all of
    # their directions, so the random sketch behind its singular vectors drops out
    order = rng.permutation(20)
    straight = quick(GASTLSelector, n_hidden=20).fit(problem.X, X_source=problem.X_source)
    permuted = quick(GASTLSelector, n_hidden=20).fit(problem.X[:, order], X_source=problem.X_source[:, order])
    assert_allclose(permuted.relevance_, straight.relevance_, **INVARIANT)


def test_the_units_of_a_feature_do_not_matter(problem, fitted, rng):
    # every feature is brought to [0.1, 0.9] first
    units, zeros = 10 ** rng.uniform(-6, 6, size=20), rng.normal(size=20)
    other = quick(GASTLSelector).fit(problem.X * units + zeros, X_source=problem.X_source * units + zeros)
    assert_allclose(other.relevance_, fitted.relevance_, **INVARIANT)


def test_a_graph_that_weighs_nothing_is_never_looked_at(problem):
    # smoothness = 0 gives one answer whatever the graph
    one, other = (
        quick(GASTLSelector, smoothness=0, n_neighbors=k, metric=m).fit(problem.X, X_source=problem.X_source)
        for k, m in ((2, "cosine"), (9, "euclidean"))
    )
    assert_array_equal(one.relevance_, other.relevance_)
    assert one.solution_.laplacian.nnz == 0
