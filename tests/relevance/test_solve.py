"""The alternation: its promises on random problems, the published algorithm as a witness, planted relevance."""

from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from selftaught.datasets import make_planted_mapping
from selftaught.metrics import selection_average_precision
from selftaught.relevance import (
    contribution_lengths,
    encode,
    knn_laplacian,
    lam_max,
    map_source,
    mapping_frame,
    objective,
    random_start,
    reconstruct,
    solve_mapping,
    solve_relevance,
    spectral_start,
)

FRAME = ("center", "normalize")


def make_rows(rng, n_source=40, n_target=8, d=7, dtype: Any = np.float64):
    """Source rows near a subspace, target rows mixed from a few of them, all inside (0, 1)."""
    rank = min(3, d)
    Z = rng.standard_normal((n_source, rank))
    few = rng.choice(n_source, min(3, n_source), replace=False)
    Z_target = rng.dirichlet(np.ones(len(few)), n_target) @ Z[few]
    loadings = rng.normal(0, 0.6, (rank, d))
    rows = [expit(z @ loadings + 0.1 * rng.standard_normal((len(z), d))) for z in (Z, Z_target)]
    return [X.astype(dtype) for X in rows]


def solve(X_source, X_target, fraction=0.1, **given):
    """Solve at a fraction of lam_max at the target rows."""
    options: dict = dict(n_hidden=4, max_inner=10, max_outer=3, random_state=0) | given
    center, row_weights = mapping_frame(
        X_source, X_target, **{name: options[name] for name in FRAME if name in options}
    )
    frame = dict(center=center, row_weights=row_weights)
    options.setdefault("lam", fraction * lam_max(X_source, X_target, options.get("mu", 1.0), **frame))
    return solve_relevance(X_source, X_target, **options)


def objective_of(solution, X_source, X_target):
    """The whole objective at a solution, from outside."""
    s = solution
    frame = dict(center=s.center, row_weights=s.row_weights)
    weights = dict(lam=s.lam, gamma=s.gamma, mu=s.mu)
    return objective(X_source, X_target, s.autoencoder, s.mapping, s.laplacian, **weights, **frame).total


def relative_gap(solution, X_source, X_target):
    """The duality gap of the mapping at the reconstructions that the autoencoder ends with, by its definition."""
    s, n_target = solution, len(X_target)
    Y = reconstruct(X_target, s.autoencoder) - s.center
    X = (X_source - s.center) / s.row_weights[:, None]
    A = s.row_weights[:, None] * s.mapping.toarray()
    R = Y - A.T @ X
    largest = s.mu / n_target * np.linalg.norm(X @ R.T, axis=1).max()
    dual_point = R * min(1, s.lam / largest)
    primal = s.mu / (2 * n_target) * np.sum(R**2) + s.lam * np.linalg.norm(A, axis=1).sum()
    dual = s.mu / (2 * n_target) * (np.sum(Y**2) - np.sum((Y - dual_point) ** 2))
    return (primal - dual) / primal


def draw_options(rng) -> dict:
    return dict(
        mu=10 ** rng.uniform(-1, 1),
        gamma=rng.choice([0.0, 1e-4, 1e-2]),
        n_hidden=rng.integers(1, 12),
        center=bool(rng.integers(2)),
        normalize=bool(rng.integers(2)),
        metric=rng.choice(["cosine", "euclidean"]),
        init=rng.choice(["spectral", "random"]),
        max_outer=rng.integers(1, 5),
        max_inner=rng.integers(1, 30),
        history=rng.integers(1, 20),
        tol=10 ** rng.uniform(-6, -0.3),
        random_state=rng.integers(100),
    )


# --- promises on random problems -----------------------------------------------------------------------------------


def test_the_objective_never_rises_and_is_the_one_that_is_reported(rng):
    for trial in range(30):
        dtype = np.float32 if trial % 3 == 0 else np.float64
        X_source, X_target = make_rows(rng, rng.integers(1, 60), rng.integers(1, 15), rng.integers(1, 12), dtype)
        options = draw_options(rng)
        if len(X_target) == 1 and options["center"]:
            options["lam"] = 0.01  # lam_max is zero where the target row is the centre
        solution = solve(X_source, X_target, 10 ** rng.uniform(-2, 0), **options)
        path = np.array(solution.objective_path)
        assert len(path) == solution.n_outer + 1 <= options["max_outer"] + 1
        assert np.all(np.diff(path) <= 0)
        # A path that only looked monotone would end below the objective of what is returned.
        assert objective_of(solution, X_source, X_target) == pytest.approx(
            path[-1], rel=1e-5 if dtype == np.float32 else 1e-9
        )


def test_the_mapping_at_the_end_is_certified(rng):
    for tol in (1e-2, 1e-4, 1e-6):
        for fraction in (0.5, 0.1, 0.02):
            X_source, X_target = make_rows(rng)
            options = draw_options(rng) | dict(tol=tol, max_outer=3)
            solution = solve(X_source, X_target, fraction, **options)
            gap = relative_gap(solution, X_source, X_target)
            assert solution.gap <= tol and gap <= tol
            assert gap <= solution.gap + 1e-12  # less where the mapping of the round before was kept


def test_a_rough_mapping_that_is_worse_than_the_last_is_not_taken(rng):
    # At such tolerances zero may be certified in a round although the last mapping is better.
    X_source, X_target = make_rows(rng)
    for fraction in np.linspace(0.1, 0.6, 11):
        tol = 0.98 * (1 - fraction) ** 2  # the gap of zero at the start is (1 - fraction)^2
        solution = solve(X_source, X_target, fraction, tol=tol, max_outer=1)
        assert objective_of(solution, X_source, X_target) == pytest.approx(solution.objective_path[-1], rel=1e-9)


def test_an_optimiser_that_ends_too_high_does_no_harm(rng, monkeypatch):
    X_source, X_target = make_rows(rng)
    before = solve(X_source, X_target, max_outer=0)

    def optimiser_that_visits(*steps):
        def down_and_up(function, theta, **options):
            _, gradient = function(theta)
            for step in steps:
                function(theta - step * gradient)

        return down_and_up

    for steps, moved in [((0.1, 0.2, 1e5), True), ((1e5,), False)]:
        monkeypatch.setattr("selftaught.relevance.solve.optimize.minimize", optimiser_that_visits(*steps))
        after = solve(X_source, X_target, max_outer=1)
        assert np.array_equal(after.autoencoder.W2, before.autoencoder.W2) == (not moved)
        assert after.objective_path[1] <= after.objective_path[0] == before.objective_path[0]
        assert objective_of(after, X_source, X_target) == pytest.approx(after.objective_path[1], rel=1e-12)


def test_the_start_maps_onto_the_target_rows_themselves(rng):
    X_source, X_target = make_rows(rng)
    solution = solve(X_source, X_target, max_outer=0, tol=1e-7)
    center, row_weights = mapping_frame(X_source, X_target)
    expected = solve_mapping(X_source, X_target, lam=solution.lam, tol=1e-7, center=center, row_weights=row_weights)
    assert np.array_equal(solution.mapping.toarray(), expected.mapping.toarray()) and expected.mapping.nnz > 0
    assert solution.n_outer == 0 and not solution.converged and len(solution.objective_path) == 1
    assert solution.lam_max == pytest.approx(lam_max(X_source, X_target, center=center, row_weights=row_weights))


@pytest.mark.parametrize(("init", "begin"), [("spectral", spectral_start), ("random", random_start)])
def test_the_autoencoder_starts_where_it_is_told(rng, init, begin):
    X_source, X_target = make_rows(rng)
    solution = solve(X_source, X_target, init=init, max_outer=0, random_state=3)
    expected = begin(np.vstack([X_source, X_target]), 4, np.random.RandomState(3))
    for found, part in zip(astuple(solution.autoencoder), astuple(expected), strict=True):
        assert np.array_equal(found, part)


def test_the_record_agrees_with_itself(rng):
    X_source, X_target = make_rows(rng)
    for options in (dict(gamma=1e-3), dict(center=False, normalize=False)):
        solution = solve(X_source, X_target, **options)
        A = solution.mapping.toarray()
        assert solution.relevance == pytest.approx(solution.row_weights * np.linalg.norm(A, axis=1))
        assert np.array_equal(solution.relevance, contribution_lengths(solution.mapping, solution.row_weights))
        assert solution.relevance.max() > 0
        frame: dict = dict(center=solution.center, row_weights=solution.row_weights)
        assert solution.lam_max == pytest.approx(lam_max(X_source, X_target, **frame))
        H_target = reconstruct(X_target, solution.autoencoder)
        missed = H_target - map_source(solution.mapping, X_source, solution.center)
        pull = np.linalg.norm((X_source - solution.center) @ missed.T, axis=1) / solution.row_weights / len(X_target)
        assert solution.dual_score == pytest.approx(pull / solution.lam, rel=1e-6)
        X = np.vstack([X_source, X_target])
        assert solution.hidden_variance == pytest.approx(encode(X, solution.autoencoder).var(axis=0).mean())
        spread = np.sum((X_target - X_target.mean(axis=0)) ** 2)
        assert solution.target_r2 == pytest.approx(1 - np.sum((H_target - X_target) ** 2) / spread)
        graph = knn_laplacian(X).toarray() if solution.gamma else np.zeros((48, 48))
        assert np.array_equal(solution.laplacian.toarray(), graph)
        assert {*solution.seconds} == {"graph", "start", "mapping", "autoencoder"}
        assert min(solution.seconds.values()) >= 0


def test_tol_ends_the_rounds(rng):
    X_source, X_target = make_rows(rng)
    soon = solve(X_source, X_target, tol=0.9, max_outer=10)
    assert soon.converged and soon.n_outer == 1
    later = solve(X_source, X_target, tol=1e-3, max_outer=200)
    path = np.array(later.objective_path)
    fall = -np.diff(path) / path[:-1]
    assert later.converged and later.n_outer < 200 and fall[-1] <= 1e-3 < fall[:-1].min()
    cut = solve(X_source, X_target, tol=1e-9, max_outer=2)
    assert not cut.converged and cut.n_outer == 2


# --- witnesses -----------------------------------------------------------------------------------------------------


def test_the_published_objective_agrees_at_our_solution(rng, published):
    for gamma in (0.0, 1e-3):
        X_source, X_target = make_rows(rng)
        solution = solve(X_source, X_target, gamma=gamma, mu=0.7, center=False, normalize=False)
        weights = published.Weights(*astuple(solution.autoencoder))
        laplacian = published.published_laplacian(np.vstack([X_source, X_target]))
        A = solution.mapping.toarray()
        expected = published.published_objective(X_source, X_target, weights, A, laplacian, solution.lam, gamma, 0.7)
        assert objective_of(solution, X_source, X_target) == pytest.approx(expected, rel=1e-10)
        assert solution.objective_path[-1] == pytest.approx(expected, rel=1e-10)


def test_both_theta_steps_see_the_same_gradient(rng, published):
    # From the same weights and mapping one iteration of L-BFGS goes down the gradient: same step, same gradient.
    X_source, X_target = make_rows(rng)
    options: dict = dict(gamma=1e-3, mu=0.7, center=False, normalize=False, init="random")
    start = solve(X_source, X_target, max_outer=0, **options)
    laplacian = published.published_laplacian(np.vstack([X_source, X_target]))
    for n_iter in (1, 5):
        ours = solve(X_source, X_target, max_outer=1, max_inner=n_iter, **options).autoencoder
        weights, A = published.Weights(*astuple(start.autoencoder)), start.mapping.toarray()
        theirs = published.published_theta_step(
            X_source, X_target, weights, A, laplacian, 1e-3, 0.7, n_iter=n_iter, history=20
        )
        for found, expected, before in zip(astuple(ours), theirs, weights, strict=True):
            assert found == pytest.approx(expected, abs=1e-8) and not np.allclose(found, before, atol=1e-6)


def test_no_higher_than_the_published_algorithm_after_a_few_of_its_rounds(rng, published):
    for trial in range(3):
        X_source, X_target = make_rows(rng)
        options = dict(gamma=1e-3, center=False, normalize=False, random_state=trial)
        ours = solve(X_source, X_target, **options, max_outer=10, max_inner=50)
        theirs = published.published_gastl(
            X_source, X_target, ours.lam, 1e-3, 1.0, 4, n_outer=3, n_iter=50, random_state=trial
        )
        assert ours.objective_path[-1] < theirs.objective_path[-1] < 0.9 * theirs.objective_path[0]


def nearest_neighbour_score(X_source, X_target):
    """Largest cosine similarity to a target row, around the target's mean."""
    center = X_target.mean(axis=0)
    unit = [(X - center) / np.linalg.norm(X - center, axis=1, keepdims=True) for X in (X_source, X_target)]
    return (unit[0] @ unit[1].T).max(axis=1)


def test_planted_relevance_is_found_better_than_by_chance_and_by_neighbours(rng):
    planted = make_planted_mapping(n_relevant=20, noise=0.05, correlation=0.5, random_state=rng)
    both = np.concatenate([planted.X_source, planted.X_target])
    low, high = both.min(axis=0), both.max(axis=0)
    X_source, X_target = (0.1 + 0.8 * (X - low) / (high - low) for X in (planted.X_source, planted.X_target))
    relevant = planted.relevance > 0

    def precision(*keys):
        return selection_average_precision(relevant, np.lexsort([-key for key in keys]))

    solution = solve(X_source, X_target, 0.1, n_hidden=30, max_inner=50)
    found = precision(solution.dual_score, solution.relevance)
    neighbours = precision(nearest_neighbour_score(X_source, X_target))
    chance = np.mean([precision(rng.random(len(relevant))) for _ in range(50)])
    assert found > neighbours + 0.1 and found > chance + 0.1


# --- exact facts and invariances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("centred", [False, True])
def test_from_lam_max_on_nothing_is_relevant(rng, centred):
    X_source, X_target = make_rows(rng)
    options: dict = dict(center=centred, normalize=centred)
    none = solve(X_source, X_target, 2.0, **options)
    assert not none.relevance.any() and none.mapping.nnz == 0
    assert np.all(none.dual_score < 1)
    assert solve(X_source, X_target, 0.1, **options).relevance.any()


def same(one, other):
    """Whether two solutions are equal to the last bit."""
    parts = [(s.mapping.toarray(), s.relevance, *astuple(s.autoencoder), s.objective_path) for s in (one, other)]
    return all(np.array_equal(a, b) for a, b in zip(*parts, strict=True))


def test_the_same_seed_gives_the_same_answer_and_another_does_not(rng):
    X_source, X_target = make_rows(rng)
    one = solve(X_source, X_target, init="random", random_state=1)
    assert same(one, solve(X_source, X_target, init="random", random_state=1))
    assert same(one, solve(X_source, X_target, init="random", random_state=np.random.RandomState(1)))
    assert not same(one, solve(X_source, X_target, init="random", random_state=2))


def test_without_smoothness_no_graph_matters(rng):
    X_source, X_target = make_rows(rng)
    one = solve(X_source, X_target, gamma=0.0)
    graphs: list[dict] = [dict(n_neighbors=1), dict(n_neighbors=20), dict(metric="euclidean")]
    for options in graphs:
        assert same(one, solve(X_source, X_target, gamma=0.0, **options))
        assert not same(solve(X_source, X_target, gamma=0.1), solve(X_source, X_target, gamma=0.1, **options))


def test_renumbering_the_source_renumbers_relevance(rng):
    # Every sum runs over the full batch, so that only rounding tells the order of the rows.
    X_source, X_target = make_rows(rng)
    order = rng.permutation(len(X_source))
    options = dict(gamma=1e-3, tol=1e-6, max_outer=2, max_inner=5)
    one, other = solve(X_source, X_target, **options), solve(X_source[order], X_target, **options)
    assert one.relevance.max() > 0.01
    assert other.relevance == pytest.approx(one.relevance[order], abs=1e-5)
    assert other.dual_score == pytest.approx(one.dual_score[order], abs=1e-4)


def test_renumbering_the_target_leaves_relevance(rng):
    X_source, X_target = make_rows(rng)
    order = rng.permutation(len(X_target))
    options = dict(gamma=1e-3, tol=1e-6, max_outer=2, max_inner=5)
    one, other = solve(X_source, X_target, **options), solve(X_source, X_target[order], **options)
    assert other.relevance == pytest.approx(one.relevance, abs=1e-5)
    assert other.mapping.toarray() == pytest.approx(one.mapping.toarray()[:, order], abs=1e-5)


def test_a_start_changes_the_time_and_not_the_answer(rng):
    X_source, X_target = make_rows(rng)
    options = dict(tol=1e-6, max_outer=2, max_inner=5)
    cold = solve(X_source, X_target, **options)
    for start in (cold.mapping, np.ones((40, 8))):
        warm = solve(X_source, X_target, start=start, **options)
        assert warm.relevance == pytest.approx(cold.relevance, abs=1e-4)
        assert warm.objective_path[-1] == pytest.approx(cold.objective_path[-1], rel=1e-4)


CHANGES: dict = dict(
    lam=0.01,
    gamma=0.1,
    mu=3.0,
    n_hidden=6,
    center=False,
    normalize=False,
    n_neighbors=2,
    metric="euclidean",
    init="spectral",
    max_outer=1,
    max_inner=2,
    history=1,
    tol=0.5,
    random_state=1,
)


@pytest.mark.parametrize("name", CHANGES)
def test_every_parameter_changes_something(seed, name):
    X_source, X_target = make_rows(np.random.default_rng(seed))
    base: dict = dict(gamma=0.01, init="random", lam=0.005)
    assert not same(solve(X_source, X_target, **base), solve(X_source, X_target, **(base | {name: CHANGES[name]})))


# --- the frame -----------------------------------------------------------------------------------------------------


def test_the_frame_by_its_formula(rng):
    X_source, X_target = make_rows(rng)
    center, row_weights = mapping_frame(X_source, X_target)
    assert center == pytest.approx(X_target.mean(axis=0))
    assert row_weights == pytest.approx(np.linalg.norm(X_source - center, axis=1))
    center, row_weights = mapping_frame(X_source, X_target, center=False)
    assert not center.any() and row_weights == pytest.approx(np.linalg.norm(X_source, axis=1))
    assert np.array_equal(mapping_frame(X_source, X_target, normalize=False)[1], np.ones(40))


def test_a_row_at_the_centre_is_harmless(rng):
    X_source, X_target = make_rows(rng)
    X_source[[0, 5]] = X_target.mean(axis=0)
    _, row_weights = mapping_frame(X_source, X_target)
    assert row_weights.min() == row_weights[0] == row_weights[5] == pytest.approx(1e-3 * np.median(row_weights))
    solution = solve(X_source, X_target)
    assert np.isfinite(solution.relevance).all() and solution.relevance.any()
    assert solution.relevance[[0, 5]] == pytest.approx(0, abs=1e-12)
    _, row_weights = mapping_frame(np.tile(X_target.mean(axis=0), (5, 1)), X_target)
    assert row_weights.tolist() == [1] * 5


def test_blocks_of_rows_do_not_matter(rng, monkeypatch):
    X_source, X_target = make_rows(rng)
    expected = mapping_frame(X_source, X_target)[1]
    monkeypatch.setattr("selftaught.relevance.mapping.BLOCK_BYTES", 100)
    assert mapping_frame(X_source, X_target)[1] == pytest.approx(expected, rel=1e-14)


# --- input that is hard or unusual ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        (dict(), dict(n_hidden=30)),
        (dict(n_source=6, n_target=3), dict(n_hidden=60)),
        (dict(n_target=1), dict(lam=0.01)),
        (dict(n_target=1), dict(center=False)),
        (dict(n_source=1), dict()),
        (dict(n_source=1, n_target=1), dict(lam=0.01, gamma=0.1)),
        (dict(d=1), dict()),
        (dict(n_target=50, d=3), dict()),
        (dict(), dict(max_inner=1, history=1, n_hidden=1)),
    ],
)
def test_odd_shapes(rng, shape, options):
    X_source, X_target = make_rows(rng, **shape)
    solution = solve(X_source, X_target, **options)
    assert solution.mapping.shape == (len(X_source), len(X_target))
    assert all(np.isfinite(part).all() for part in (solution.relevance, *astuple(solution.autoencoder)))
    assert objective_of(solution, X_source, X_target) == pytest.approx(solution.objective_path[-1], rel=1e-9)
    assert np.all(np.diff(solution.objective_path) <= 0) and solution.gap <= 1e-4


def test_constant_features_do_no_harm(rng):
    X_source, X_target = make_rows(rng)
    for X in (X_source, X_target):
        X[:, 2] = 0.3
    for init in ("spectral", "random"):
        solution = solve(X_source, X_target, gamma=1e-3, init=init, max_inner=100)
        assert solution.relevance.any()
        assert reconstruct(X_target, solution.autoencoder)[:, 2] == pytest.approx(0.3, abs=0.05)


def test_identical_rows_are_no_failure():
    solution = solve(np.full((20, 5), 0.5), np.full((4, 5), 0.5), lam=0.1)
    assert not solution.relevance.any()


def test_nothing_to_keep_is_kept_in_full(rng):
    X_source, _ = make_rows(rng)
    assert solve(X_source, np.full((3, 7), 0.1), lam=0.01).target_r2 == 1


def test_float32_stays(rng, seed):
    X_source, X_target = make_rows(rng)
    options = dict(gamma=1e-3, max_outer=2, max_inner=5)
    double = solve(X_source, X_target, **options)
    single = solve(X_source.astype(np.float32), X_target.astype(np.float32), **options)
    dtypes = {part.dtype for part in (*astuple(single.autoencoder), single.laplacian, single.center)}
    assert dtypes == {np.dtype(np.float32)}
    assert single.objective_path[-1] == pytest.approx(double.objective_path[-1], rel=1e-3)
    assert single.relevance == pytest.approx(double.relevance, abs=0.02 * double.relevance.max())
    assert objective_of(single, X_source.astype(np.float32), X_target.astype(np.float32)) == pytest.approx(
        single.objective_path[-1], rel=1e-5
    )


def test_input_is_read_and_not_written(rng):
    X_source, X_target = make_rows(rng)
    expected, before = solve(X_source, X_target, gamma=1e-3), (X_source.copy(), X_target.copy())
    for X in (X_source, X_target):
        X.setflags(write=False)
    assert same(solve(X_source, X_target, gamma=1e-3), expected)
    assert np.array_equal(X_source, before[0]) and np.array_equal(X_target, before[1])
    fortran = solve(np.asfortranarray(X_source), np.asfortranarray(X_target), gamma=1e-3, max_outer=1, max_inner=3)
    straight = solve(X_source, X_target, gamma=1e-3, max_outer=1, max_inner=3)
    assert fortran.objective_path == pytest.approx(straight.objective_path, rel=1e-4)


def test_every_round_is_reported(rng):
    X_source, X_target = make_rows(rng)
    heard = []
    solution = solve(X_source, X_target, max_outer=4, on_round=lambda *news: heard.append(news))
    assert heard == [(i, value) for i, value in enumerate(solution.objective_path) if i > 0] and len(heard) > 1


def test_errors_say_what_is_allowed(rng):
    X_source, X_target = make_rows(rng)
    with pytest.raises(ValueError, match=r"init must be one of \('spectral', 'random'\), got 'zeros'"):
        solve_relevance(X_source, X_target, lam=0.1, init="zeros")
    with pytest.raises(ValueError, match="metric must be one of"):
        solve_relevance(X_source, X_target, lam=0.1, gamma=0.1, metric="manhattan")
    with pytest.raises(ValueError, match="lam must be positive, got 0"):
        solve_relevance(X_source, X_target, lam=0)


def test_a_solution_as_start_goes_on_where_it_ended(rng):
    X = 0.1 + 0.8 * rng.random((40, 6))
    how: dict[str, Any] = dict(lam=0.02, gamma=1e-3, n_hidden=3, random_state=0, tol=1e-6)
    first = solve_relevance(X[:30], X[30:], max_outer=2, **how)
    onward = solve_relevance(X[:30], X[30:], max_outer=2, start=first, laplacian=first.laplacian, **how)
    assert onward.objective_path[0] <= first.objective_path[-1] * (1 + 1e-5), "the mapping was solved to a gap of tol"
    assert onward.objective_path[-1] <= onward.objective_path[0]
    assert "graph" in onward.seconds and onward.laplacian is first.laplacian
