"""The inner solver: optimality conditions, closed forms, an independent solver, and pools that are hard on Newton."""

import numpy as np
import pytest

from selftaught.relevance.group_lasso import relative_gap, row_norms, solve_group_lasso


def make_rows(rng, n_rows=30, d=20, n_tasks=6, offset=0.0):
    """Rows and responses; an offset gives all of them one large mean and so makes them nearly parallel."""
    return rng.standard_normal((n_rows, d)) + offset, rng.standard_normal((n_tasks, d)) + offset


def solve(X, Y, alpha, *, eta=None, **options):
    """Solve from rows instead of inner products; B comes back with a row for each row of X."""
    eta = np.full(len(X), 0.01) if eta is None else eta
    solved = solve_group_lasso(X @ X.T, X @ Y.T, alpha, np.vdot(Y, Y), eta=eta, **options)
    B = np.zeros((len(X), len(Y)))
    B[solved.rows] = solved.B
    return B, solved


def objective(X, Y, alpha, B):
    return np.sum((Y - B.T @ X) ** 2) / 2 + alpha * np.linalg.norm(B, axis=1).sum()


def violation(X, Y, alpha, B):
    """How far B is from C_i = alpha B_i / |B_i| on the support and |C_i| <= alpha off it, over the largest alpha."""
    C, norms = X @ (Y - B.T @ X).T, np.linalg.norm(B, axis=1)
    live = norms > 0
    on_support = np.linalg.norm(C[live] - alpha * B[live] / norms[live, None], axis=1)
    off_support = np.clip(np.linalg.norm(C[~live], axis=1) - alpha, 0, None)
    return max(on_support.max(initial=0), off_support.max(initial=0)) / largest_alpha(X, Y)


def largest_alpha(X, Y):
    return np.linalg.norm(X @ Y.T, axis=1).max()


def proximal_gradient(X, Y, alpha, n_iter=20000):
    """Accelerated proximal gradient with restarts, the plainest solver there is."""
    step = 1 / np.linalg.norm(X @ X.T, 2)
    B = ahead = np.zeros((len(X), len(Y)))
    momentum = 1.0
    for _ in range(n_iter):
        moved = ahead + step * X @ (Y - ahead.T @ X).T
        norms = np.linalg.norm(moved, axis=1, keepdims=True)
        following = moved * np.clip(1 - step * alpha / np.maximum(norms, 1e-300), 0, None)
        if np.vdot(ahead - following, following - B) > 0:
            momentum = 1.0
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = following + (momentum - 1) / faster * (following - B)
        B, momentum = following, faster
    return B


@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_the_optimality_conditions_hold_to_many_digits(rng, offset):
    for _ in range(10):
        n_rows, d, n_tasks = rng.integers(1, 40, 3)
        X, Y = make_rows(rng, n_rows, d, n_tasks, offset)
        for fraction in (0.9, 0.5, 0.1, 0.02):
            alpha = fraction * largest_alpha(X, Y)
            B, solved = solve(X, Y, alpha, tol=0.0)  # as far as rounding lets it come
            assert violation(X, Y, alpha, B) < 1e-8
            assert solved.gap <= 1e-11


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_the_gap_asked_for_is_reached_and_true(rng, tol):
    for fraction in (0.9, 0.5, 0.1):
        X, Y = make_rows(rng)
        alpha = fraction * largest_alpha(X, Y)
        B, solved = solve(X, Y, alpha, tol=tol)
        assert solved.gap <= tol
        R = Y - B.T @ X
        shrink = min(1, alpha / np.linalg.norm(X @ R.T, axis=1).max())
        primal, dual = objective(X, Y, alpha, B), np.vdot(shrink * R, Y) - shrink**2 * np.vdot(R, R) / 2
        assert solved.gap == pytest.approx((primal - dual) / primal, abs=1e-12)


def test_agrees_with_accelerated_proximal_gradient(rng):
    for fraction in (0.7, 0.2, 0.05):
        X, Y = make_rows(rng)
        alpha = fraction * largest_alpha(X, Y)
        B, _ = solve(X, Y, alpha, tol=1e-10)
        expected = proximal_gradient(X, Y, alpha)
        assert violation(X, Y, alpha, expected) < 1e-8  # the witness knows what it says
        assert B == pytest.approx(expected, abs=1e-6)
        assert np.array_equal(row_norms(B) > 1e-6, row_norms(expected) > 1e-6)


def test_orthogonal_rows_have_a_closed_form(rng):
    lengths = rng.uniform(0.5, 3, 8)
    X = lengths[:, None] * np.linalg.qr(rng.standard_normal((12, 8)))[0].T
    Y = rng.standard_normal((5, 12))
    Q = X @ Y.T
    pull = np.linalg.norm(Q, axis=1)
    alpha = np.median(pull)
    expected = Q * np.clip(1 - alpha / pull, 0, None)[:, None] / lengths[:, None] ** 2
    assert solve(X, Y, alpha, tol=1e-12)[0] == pytest.approx(expected, abs=1e-8)


def test_one_row_and_one_task():
    # minimise (3 - 2 b)^2 / 2 + |b|: b = (6 - 1) / 4
    B, solved = solve(np.array([[2.0]]), np.array([[3.0]]), 1.0, tol=1e-12)
    assert B.item() == pytest.approx(1.25) and solved.rows.tolist() == [0] and solved.eta.item() == pytest.approx(1.25)


def test_no_start_leads_elsewhere(rng):
    X, Y = make_rows(rng)
    alpha = 0.2 * largest_alpha(X, Y)
    expected, _ = solve(X, Y, alpha, tol=1e-10)
    one = np.zeros(30)
    one[rng.integers(30)] = 1.0
    for eta in (np.full(30, 1e-8), np.full(30, 1e4), rng.exponential(size=30), one):
        assert solve(X, Y, alpha, eta=eta, tol=1e-10)[0] == pytest.approx(expected, abs=1e-6)


def test_repeated_rows_change_neither_the_value_nor_their_sum(rng):
    X, Y = make_rows(rng, n_rows=12)
    alpha = 0.2 * largest_alpha(X, Y)
    once, _ = solve(X, Y, alpha, tol=1e-10)
    twice, _ = solve(np.vstack([X, X]), Y, alpha, tol=1e-10)
    assert np.isfinite(twice).all()
    assert objective(np.vstack([X, X]), Y, alpha, twice) == pytest.approx(objective(X, Y, alpha, once), rel=1e-8)
    assert twice[:12] + twice[12:] == pytest.approx(once, abs=1e-5)


def test_rows_of_zeros_stay_out(rng):
    X, Y = make_rows(rng)
    X[[4, 9]] = 0
    alpha = 0.1 * largest_alpha(X, Y)
    B, _ = solve(X, Y, alpha, tol=1e-10)
    kept = np.delete(np.arange(30), [4, 9])
    assert B[kept] == pytest.approx(solve(X[kept], Y, alpha, tol=1e-10)[0], abs=1e-6)
    assert np.abs(B[[4, 9]]).max() < 1e-12


def test_each_step_lowers_the_value_over_eta(rng):
    X, Y = make_rows(rng, n_rows=60, offset=0.5)
    alpha = 0.1 * largest_alpha(X, Y)
    values = []
    for max_steps in range(12):
        B, solved = solve(X, Y, alpha, eta=np.linspace(0.1, 1, 60), tol=0.0, max_steps=max_steps)
        fit = np.sum((Y - B.T @ X) ** 2) / 2
        values.append(fit + alpha / 2 * np.sum(row_norms(solved.B) ** 2 / solved.eta + solved.eta))
        assert solved.n_steps <= max_steps
        assert objective(X, Y, alpha, B) <= values[-1] * (1 + 1e-12)
    assert np.all(np.diff(values) <= 1e-12 * values[0]) and values[-1] < values[0]


def test_only_live_rows_are_returned(rng):
    X, Y = make_rows(rng, n_rows=60)
    _, solved = solve(X, Y, 0.5 * largest_alpha(X, Y), tol=1e-8)
    assert len(solved.rows) == len(solved.B) == len(solved.eta) < 60
    assert np.all(row_norms(solved.B) > 0) and np.all(solved.eta > 0)
    assert solved.eta == pytest.approx(row_norms(solved.B), rel=1e-3)


def test_input_is_not_changed(rng):
    X, Y = make_rows(rng)
    G, Q, eta = X @ X.T, X @ Y.T, rng.exponential(size=30)
    for array in (G, Q, eta):
        array.setflags(write=False)
    before = [array.copy() for array in (G, Q, eta)]
    solve_group_lasso(G, Q, 0.1 * largest_alpha(X, Y), np.vdot(Y, Y), eta=eta, tol=1e-8)
    for array, copy in zip((G, Q, eta), before, strict=True):
        assert np.array_equal(array, copy)


def test_close_rows_do_not_slow_it_down(rng):
    # Non-negative features around a large mean: the normal case for uncentred histograms and activations.
    for _ in range(5):
        X, Y = rng.uniform(0.1, 0.9, (60, 40)), rng.uniform(0.1, 0.9, (40, 40))
        pull = np.linalg.norm(X @ Y.T, axis=1)
        alpha = 0.5 * pull.max()
        eta = np.clip(pull - alpha, 0, None) / np.sum(X**2, axis=1) / 60
        _, solved = solve(X, Y, alpha, eta=eta, tol=1e-6)
        assert solved.gap <= 1e-6 and solved.n_steps <= 30


def test_many_rows_in_few_features_do_not_stop_it():
    # Forty rows where four would do: nearly all of them leave at once. On some of these it once crawled.
    for seed in (1, 3, 4, 5, 7):
        rng = np.random.default_rng(seed)
        for trial in range(60):
            X, Y = make_rows(rng, n_rows=40, d=4, n_tasks=1 + 29 * (trial % 2))
            for fraction in (0.95, 0.9, 0.02):
                eta = np.full(40, 1.0 if trial % 2 else 0.01)
                _, solved = solve(X, Y, fraction * largest_alpha(X, Y), eta=eta, tol=1e-6)
                assert solved.gap <= 1e-6


def test_a_row_that_hardly_pulls_harder_still_enters(rng):
    # What it brings is lost in the rounding of the value, and it takes a while to find its size among the others.
    for _ in range(10):
        X, Y = make_rows(rng, n_rows=40, d=10, n_tasks=20)
        alpha = 0.005 * largest_alpha(X, Y)
        B, solved = solve(X, Y, alpha, tol=1e-13)
        late = rng.standard_normal(10)
        late *= (1 + 3e-5) * alpha / np.linalg.norm((Y - B.T @ X) @ late)
        eta = np.zeros(41)
        eta[solved.rows] = solved.eta
        _, again = solve(np.vstack([X, late]), Y, alpha, eta=eta, tol=1e-8)
        assert again.gap <= 1e-8


def test_a_solve_is_taken_up_where_another_ended(rng):
    X, Y = make_rows(rng, n_rows=200, d=40)
    alpha = 0.2 * largest_alpha(X, Y)
    _, first = solve(X[:150], Y, alpha, tol=1e-9)
    both = np.vstack([X[first.rows], X[150:]])
    expected, _ = solve(both, Y, alpha, tol=1e-9)
    taken_up = solve_group_lasso(both @ both.T, both @ Y.T, alpha, np.vdot(Y, Y), eta=None, last=first, tol=1e-9)
    B = np.zeros_like(expected)
    B[taken_up.rows] = taken_up.B
    assert B == pytest.approx(expected, abs=1e-6)
    rows = X[first.rows]
    again = solve_group_lasso(rows @ rows.T, rows @ Y.T, alpha, np.vdot(Y, Y), eta=None, last=first, tol=1e-9)
    assert again.n_steps == 0 and again.B == pytest.approx(first.B)


def test_many_rows_at_once_are_solved_as_exactly_as_few(rng):
    # beyond a hundred rows the inverse goes by halves, and with more rows than features it is at its worst
    X, Y = make_rows(rng, n_rows=500, d=100, n_tasks=30)
    alpha = 0.01 * largest_alpha(X, Y)
    B, solved = solve(X, Y, alpha, eta=np.zeros(500), tol=1e-10)
    assert len(solved.rows) > 256 and solved.gap <= 1e-10
    assert violation(X, Y, alpha, B) < 1e-6


def test_row_norms(rng):
    A = rng.standard_normal((7, 3))
    assert row_norms(A) == pytest.approx(np.linalg.norm(A, axis=1))
    assert row_norms(np.empty((0, 3))).shape == (0,)


def test_the_gap_of_nothing_is_nothing():
    assert relative_gap(0.0, 0.0, 0.0, 0.0, 1.0) == 0
    # no row used and none pulls harder than alpha: zero is optimal; at twice alpha it is not
    assert relative_gap(4.0, 4.0, 1.0, 0.0, 1.0) == 0
    assert relative_gap(4.0, 4.0, 2.0, 0.0, 1.0) == pytest.approx((1 - 0.5) ** 2)


def test_nan_is_not_certified():
    assert not relative_gap(np.nan, np.nan, np.nan, np.nan, 1.0) <= 1e-4
