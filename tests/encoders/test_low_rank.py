"""S-Low's alternation: it never rises, meets independent answers where the problem is convex, and knows no units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selftaught.encoders import low_rank
from selftaught.encoders.dictionary import random_atoms, ridge_codes
from selftaught.encoders.low_rank import (
    Budget,
    Dictionary,
    Point,
    SourceCodes,
    TargetCodes,
    reduced_dictionary,
    solve_low_rank,
)
from selftaught.encoders.minimax_concave import Weights, measure_weights, objective

PARAMETERS = dict(rank_gamma=5.0, error_gamma=5.0, error_weight=5.0, source_sparsity=0.1, source_weight=1.0)
CONVEX = dict(rank_gamma=np.inf, error_gamma=np.inf)


def draw(rng, n_source=40, n_target=15, d=8):
    """Rows of rank three with gross errors."""
    n = n_source + n_target
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.1 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < 0.05] += 5
    return X[:n_source], X[n_source:]


def start(X_source, X_target, m, rng, **changes):
    D = random_atoms(np.vstack([X_source, X_target]), m, rng)
    point = Point(D, ridge_codes(X_source, D), ridge_codes(X_target, D))
    return point, measure_weights(X_source, X_target, D, point.Z_target, **{**PARAMETERS, **changes})


def value(X_source, X_target, point, weights):
    return objective(X_source, X_target, point.D, point.Z_source, point.Z_target, weights)


# The whole alternation


@pytest.mark.parametrize("gamma", [1.5, 5.0, np.inf])
@pytest.mark.parametrize("max_inner", [1, 10, 100])
@pytest.mark.parametrize("batch_size", [None, 7])
def test_the_objective_never_rises(gamma, max_inner, batch_size, rng):
    for shape in ((40, 15, 8), (0, 9, 12), (1, 1, 3)):
        X_source, X_target = draw(rng, *shape)
        found = solve_low_rank(
            *(X_source, X_target),
            n_components=10,
            rng=rng,
            rank_gamma=gamma,
            error_gamma=gamma,
            max_inner=max_inner,
            batch_size=batch_size,
            tol=1e-9,
        )
        path = np.array(found.objective_path)
        assert (np.diff(path) <= 0).all() and (path[-1] < path[0] or max_inner == 1)
        assert value(X_source, X_target, found.point, found.weights) == pytest.approx(path[-1], rel=1e-12)
        assert (np.linalg.norm(found.point.D, axis=1) <= 1 + 1e-12).all()


def test_huge_knees_are_infinite_ones():
    X_source, X_target = draw(np.random.default_rng(0))
    found = [
        solve_low_rank(
            X_source, X_target, n_components=12, rng=np.random.default_rng(1), rank_gamma=g, error_gamma=g, max_outer=4
        )
        for g in (1e12, np.inf)
    ]
    assert_allclose(found[0].objective_path, found[1].objective_path, rtol=1e-7)
    assert_allclose(found[0].point.D, found[1].point.D, atol=1e-5)


@pytest.mark.parametrize("max_inner", [30, 100])  # source rows by ADMM, and exactly
@pytest.mark.parametrize("size", [1e-6, 0.3, 700.0])
@pytest.mark.parametrize("gamma", [2.0, np.inf])
def test_units_of_the_data_scale_the_objective_and_leave_the_dictionary(size, gamma, max_inner, monkeypatch):
    if max_inner == 30:
        monkeypatch.setattr(low_rank, "EXACTNESS", 0.0)
    X_source, X_target = draw(np.random.default_rng(0))
    one, other = (
        solve_low_rank(
            *(s * X_source, s * X_target),
            n_components=12,
            rng=np.random.default_rng(1),
            rank_gamma=gamma,
            error_gamma=gamma,
            max_outer=3,
            max_inner=max_inner,
        )
        for s in (1.0, size)
    )
    assert_allclose(np.array(other.objective_path) / size, one.objective_path, rtol=1e-6)
    assert_allclose(other.point.D, one.point.D, atol=1e-6)
    assert_allclose(other.point.Z_target / size, one.point.Z_target, atol=1e-5)


def test_rows_of_zeros_alone_have_nothing_to_learn():
    found = solve_low_rank(np.zeros((3, 4)), np.zeros((2, 4)), n_components=5, rng=np.random.default_rng(0))
    assert found.converged and found.n_outer == 0 and found.objective_path == (0.0,)
    assert not found.point.Z_target.any() and found.gaps == {"target codes": 0, "source codes": 0, "dictionary": 0}


def test_a_stalled_round_with_open_gaps_is_not_taken_for_the_end():
    # one step of ADMM lowers nothing here, yet its multipliers carry on into the next round
    rows = draw(np.random.default_rng(1), 0, 9, 12)
    found = solve_low_rank(*rows, n_components=10, rng=np.random.default_rng(1), max_inner=1, max_outer=20)
    path = found.objective_path
    assert path[1] == path[0] and path[-1] < 0.8 * path[0] and not found.converged


def test_a_target_of_zeros_beside_a_source_does_no_harm(rng):
    X_source, _ = draw(rng)
    found = solve_low_rank(X_source, np.zeros((2, 8)), n_components=5, rng=rng, max_outer=3)
    assert np.isfinite(found.point.D).all() and not found.point.Z_target.any()


def test_rounds_end_at_the_tolerance_or_the_budget(rng):
    X_source, X_target = draw(rng)
    seen = []
    early, full = (
        solve_low_rank(
            *(X_source, X_target),
            n_components=6,
            rng=np.random.default_rng(0),
            tol=tol,
            max_outer=8,
            on_round=lambda *told: seen.append(told),
        )
        for tol in (0.3, 1e-9)
    )
    path = early.objective_path
    assert early.converged and path[-2] - path[-1] < 0.3 * path[-2] and early.n_outer < 8
    assert not full.converged and full.n_outer == 8 == len(full.objective_path) - 1
    assert seen == [*enumerate(early.objective_path[1:], 1), *enumerate(full.objective_path[1:], 1)]


# The target's codes


def test_the_target_needs_codes_only_above_an_error_weight_of_one(rng):
    X_source, X_target = draw(rng)
    assert (X_target != 0).all()  # where the critical weight is exact
    for error_weight, coded in ((0.99, False), (1.01, True)):
        point, weights = start(X_source, X_target, 12, rng, error_weight=error_weight, **CONVEX)
        move = TargetCodes(X_target, weights, Budget(20_000, 1e-10))
        found, _ = move(point, value(X_source, X_target, point, weights))
        assert bool(np.linalg.norm(found.Z_target) > 1e-6 * np.linalg.norm(point.Z_target)) is coded


@pytest.mark.parametrize("m", [5, 20])
def test_convex_target_codes_are_those_of_a_primal_dual_method(m, rng):
    X_source, X_target = draw(rng)
    point, weights = start(X_source, X_target, m, rng, error_weight=3.0, **CONVEX)
    D, weight = point.D, weights.error_weight

    def judge(Z):
        return np.linalg.svd(Z, compute_uv=False).sum() + weight * np.abs(X_target - Z @ D).sum()

    # Chambolle and Pock, in all m coordinates, with a gap of its own
    Z, Y = np.zeros((len(X_target), m)), np.zeros_like(X_target)
    ratio, length = np.abs(X_target).mean() / weight, 0.99 / np.linalg.norm(D, 2)
    for _ in range(20_000):
        U, sigma, Vt = np.linalg.svd(Z + length * ratio * Y @ D.T, full_matrices=False)
        new = (U * np.maximum(sigma - length * ratio, 0)) @ Vt
        Y = np.clip(Y + length / ratio * (X_target - (2 * new - Z) @ D), -weight, weight)
        Z = new
        bound = np.vdot(Y, X_target) / max(1, np.linalg.norm(Y @ D.T, 2))
        if judge(Z) - bound <= 1e-6 * bound:
            break
    found, gap = TargetCodes(X_target, weights, Budget(20_000, 1e-8))(point, judge(Z))
    assert judge(Z) == pytest.approx(judge(found.Z_target), rel=2e-6) and gap <= 1e-8 * judge(Z)
    assert judge(found.Z_target) >= bound * (1 - 1e-12)


def test_codes_outside_the_span_of_the_dictionary_are_never_needed(rng):
    # what allows the solver to work in min(m, d) coordinates: fit unchanged, no singular value larger
    D, Z = rng.standard_normal((12, 5)), rng.standard_normal((9, 12))
    axes, B = reduced_dictionary(D)
    assert axes.shape == (12, 5)
    assert_allclose(axes.T @ axes, np.eye(5), atol=1e-12)
    assert_allclose(axes @ B, D, atol=1e-12)
    inside = Z @ axes @ axes.T
    assert_allclose(inside @ D, Z @ D, atol=1e-12)
    assert (np.linalg.svd(inside)[1] <= np.linalg.svd(Z)[1] + 1e-12).all()
    assert reduced_dictionary(np.vstack([D[:2], D[:2]]))[0].shape == (4, 2)


def test_planted_rank_and_gross_errors_are_found(rng):
    n, m, d, rank = 60, 15, 30, 3
    D = rng.standard_normal((m, d))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    clean = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m)) @ D
    gross = rng.random(clean.shape) < 0.05
    X = clean + np.where(gross, rng.choice([-1, 1], clean.shape) * 5 * np.abs(clean).mean(), 0)
    Z = ridge_codes(X, D)
    weights = measure_weights(X[:0], X, D, Z, **PARAMETERS)
    point, reference = Point(D, np.zeros((0, m)), Z), 1.0
    move = TargetCodes(X, weights, Budget(3000, 1e-7))
    for _ in range(3):
        point, _ = move(point, reference)
    sigma = np.linalg.svd(point.Z_target)[1]
    assert np.count_nonzero(sigma > 1e-3 * sigma[0]) == rank
    E = np.abs(X - point.Z_target @ D)
    assert E[gross].min() > 10 * E[~gross].max()


# The source's codes


@pytest.mark.parametrize("exactness", [0.0, np.inf])
def test_a_move_of_the_source_worsens_no_row(exactness, rng, monkeypatch):
    monkeypatch.setattr(low_rank, "EXACTNESS", exactness)
    X_source, X_target = draw(rng)
    point, weights = start(X_source, X_target, 12, rng)

    def by_row(point):
        return np.array(
            [
                value(x[None], X_target[:0], Point(point.D, z[None], point.Z_target[:0]), weights)
                for x, z in zip(X_source, point.Z_source, strict=True)
            ]
        )

    move = SourceCodes(X_source, weights, Budget(30, 1e-6))
    for _ in range(3):
        found, gap = move(point, 1.0)
        assert (by_row(found) <= by_row(point) + 1e-12).all() and by_row(found).sum() < by_row(point).sum()
        assert gap >= 0
        point = found


def test_the_exact_method_is_taken_where_it_is_cheap(rng, monkeypatch):
    called = []
    monkeypatch.setattr(low_rank, "solve_rows", lambda X, D, *_, **__: (called.append(D.shape), _zeros(X, D))[1])
    for (m, d), n_steps, exact in (((16, 8), 100, True), ((128, 100), 10, False), ((16, 8), 1, False)):
        called.clear()
        X_source, X_target = draw(rng, d=d)
        point, weights = start(X_source, X_target, m, rng)
        SourceCodes(X_source, weights, Budget(n_steps, 1e-3))(point, 1.0)
        assert bool(called) is exact


def _zeros(X, D):
    return np.zeros((len(X), len(D))), np.zeros((len(X), 1))


def test_rows_outside_a_batch_keep_their_codes_and_every_row_has_its_turn(rng):
    X_source, X_target = draw(rng)
    point, weights = start(X_source, X_target, 12, rng)
    move = SourceCodes(X_source, weights, Budget(30, 1e-6), 15, rng)
    came = np.zeros(40, dtype=int)
    for _ in range(8):
        found, _ = move(point, 1.0)
        moved = (found.Z_source != point.Z_source).any(axis=1)
        assert moved.sum() <= 15
        came += moved
    assert came.min() >= 2  # eight batches of 15 are three times forty rows


def test_batches_cover_all_rows_between_repeats(rng):
    batches = low_rank._batches(10, 4, rng)
    drawn = [next(batches) for _ in range(5)]
    assert all(len(np.unique(batch)) == 4 for batch in drawn)
    assert_array_equal(np.sort(np.concatenate(drawn)), np.repeat(np.arange(10), 2))
    assert_array_equal(next(low_rank._batches(3, 5, rng)), np.arange(3))
    assert_array_equal(next(low_rank._batches(3, None, rng)), np.arange(3))


# The dictionary


def test_the_dictionary_move_lowers_the_errors_and_keeps_the_codes_of_the_source(rng):
    X_source, X_target = draw(rng)
    for gamma in (2.0, np.inf):
        point, weights = start(X_source, X_target, 12, rng, rank_gamma=gamma, error_gamma=gamma, source_weight=0.3)
        before = value(X_source, X_target, point, weights)
        found, gap = Dictionary(X_source, X_target, weights, Budget(5000, 1e-7))(point, before)
        assert value(X_source, X_target, found, weights) < before and gap <= 1e-7 * before
        assert_array_equal(found.Z_source, point.Z_source)
        assert (np.linalg.norm(found.D, axis=1) <= 1 + 1e-9).all()


def test_atoms_that_no_row_uses_stay(rng):
    X_source, X_target = draw(rng)
    point, weights = start(X_source, X_target, 6, rng)
    for Z in (point.Z_source, point.Z_target):
        Z[:, 2] = 0
    found, _ = Dictionary(X_source, X_target, weights, Budget(200, 1e-6))(point, 1.0)
    assert_allclose(found.D[2], point.D[2], atol=1e-9)
    nothing = Point(point.D, 0 * point.Z_source, 0 * point.Z_target)
    assert Dictionary(X_source, X_target, weights, Budget(200, 1e-6))(nothing, 1.0) == (nothing, 0.0)


def test_the_weights_of_a_move_are_those_of_the_objective(rng):
    # one feature, one atom: the best dictionary is a weighted median, which can be listed
    X_source, X_target = rng.standard_normal((7, 1)), rng.standard_normal((4, 1))
    Z_source, Z_target = rng.uniform(1, 2, (7, 1)), rng.uniform(1, 2, (4, 1))
    weights = Weights(np.inf, np.inf, error_weight=0.7, sparsity=0.0, source_weight=3.0)
    point = Point(np.array([[0.9]]), Z_source, Z_target)
    found, _ = Dictionary(X_source, X_target, weights, Budget(5000, 1e-9))(point, 1.0)
    corners = np.clip(np.concatenate([X_source / Z_source, X_target / Z_target]).ravel(), -1, 1)
    best = min(value(X_source, X_target, Point(np.array([[d]]), Z_source, Z_target), weights) for d in corners)
    assert value(X_source, X_target, found, weights) == pytest.approx(best, rel=1e-6)
