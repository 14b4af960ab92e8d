"""The A-step against scikit-learn, its certificate recomputed, exact facts, invariances, many hard problems."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso, MultiTaskLasso

from selftaught.relevance import MappingSolution, lam_max, map_source, solve_mapping


def make_problem(rng, n_source=60, n_target=6, d=20):
    return rng.standard_normal((n_source, d)), rng.standard_normal((n_target, d))


def make_frame(rng, X_source):
    """A centre and weights that have nothing to do with the rows."""
    return dict(center=rng.normal(0, 0.3, X_source.shape[1]), row_weights=rng.uniform(0.3, 3, len(X_source)))


def solve(X_source, H_target, fraction, *, mu=1.0, tol=1e-10, **options):
    """Solve at a fraction of lam_max; returns lam, too."""
    frame = {name: options[name] for name in ("center", "row_weights") if name in options}
    lam = fraction * lam_max(X_source, H_target, mu, **frame)
    return solve_mapping(X_source, H_target, lam=lam, mu=mu, tol=tol, **options), lam


def scikit_learn(X_source, H_target, lam, mu=1.0):
    n_target, d = H_target.shape
    lasso = MultiTaskLasso(alpha=lam * n_target / (mu * d), fit_intercept=False, tol=1e-13, max_iter=200_000)
    return lasso.fit(X_source.T, H_target.T).coef_.T


def standardise(X_source, H_target, center=0.0, row_weights=1.0):
    """The plain problem that a centre and weights stand for; its solution is w_i A_i."""
    weights = np.broadcast_to(row_weights, len(X_source))
    return (X_source - center) / weights[:, None], H_target - center, weights


def primal(X_source, H_target, A, lam, mu=1.0, **frame):
    X, Y, weights = standardise(X_source, H_target, **frame)
    B = weights[:, None] * A
    return mu / (2 * len(Y)) * np.sum((Y - B.T @ X) ** 2) + lam * np.linalg.norm(B, axis=1).sum()


def gap_and_score(X_source, H_target, A, lam, mu=1.0, **frame):
    """The relative duality gap and the dual score, each by its definition."""
    X, Y, weights = standardise(X_source, H_target, **frame)
    R = Y - (weights[:, None] * A).T @ X
    score = mu / len(Y) * np.linalg.norm(X @ R.T, axis=1) / lam
    dual_point = R / max(1, score.max())
    dual = mu / (2 * len(Y)) * (np.sum(Y**2) - np.sum((Y - dual_point) ** 2))
    value = primal(X_source, H_target, A, lam, mu, **frame)
    return (value - dual) / value, score


# --- the answer ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.9, 0.5, 0.1, 0.02])
@pytest.mark.parametrize("mu", [1.0, 0.2])
def test_equals_the_multi_task_lasso(rng, fraction, mu):
    X_source, H_target = make_problem(rng)
    solved, lam = solve(X_source, H_target, fraction, mu=mu)
    assert solved.mapping.toarray() == pytest.approx(scikit_learn(X_source, H_target, lam, mu), abs=1e-6)


@pytest.mark.parametrize("fraction", [0.8, 0.2, 0.05])
def test_centre_and_weights_equal_the_multi_task_lasso_on_standardised_rows(rng, fraction):
    X_source, H_target = make_problem(rng)
    frame = make_frame(rng, X_source)
    solved, lam = solve(X_source, H_target, fraction, mu=0.7, **frame)
    X, Y, weights = standardise(X_source, H_target, **frame)
    assert solved.mapping.toarray() == pytest.approx(scikit_learn(X, Y, lam, 0.7) / weights[:, None], abs=1e-6)


def test_one_target_row_is_the_plain_lasso(rng):
    X_source, H_target = make_problem(rng, n_target=1)
    solved, lam = solve(X_source, H_target, 0.2)
    lasso = Lasso(alpha=lam / 20, fit_intercept=False, tol=1e-13, max_iter=200_000)
    assert solved.mapping.toarray()[:, 0] == pytest.approx(lasso.fit(X_source.T, H_target[0]).coef_, abs=1e-6)


@pytest.mark.parametrize("framed", [False, True])
def test_more_target_rows_than_features(rng, framed):
    # Here the columns are rotated; padded with empty features the same problem is solved without.
    X_source, H_target = make_problem(rng, n_source=40, n_target=25, d=8)
    frame = make_frame(rng, X_source) if framed else {}
    solved, lam = solve(X_source, H_target, 0.2, **frame)
    X, Y, weights = standardise(X_source, H_target, **frame)
    assert solved.mapping.toarray() == pytest.approx(scikit_learn(X, Y, lam) / weights[:, None], abs=1e-6)
    padded, _ = solve(np.pad(X, ((0, 0), (0, 20))), np.pad(Y, ((0, 0), (0, 20))), 0.2)
    assert padded.mapping.toarray() / weights[:, None] == pytest.approx(solved.mapping.toarray(), abs=1e-6)


def test_the_published_update_nears_the_same_mapping(rng, published):
    X_source, H_target = make_problem(rng, n_source=30)
    solved, lam = solve(X_source, H_target, 0.2, mu=1.5)
    least = primal(X_source, H_target, solved.mapping.toarray(), lam, 1.5)
    excess = [
        primal(X_source, H_target, published.published_a_step(X_source, H_target, lam, 1.5, n), lam, 1.5) / least - 1
        for n in (20, 200, 2000)
    ]
    assert 1e-2 > excess[0] >= excess[1] >= excess[2] >= -1e-9 and excess[2] < 1e-5


@pytest.mark.parametrize("framed", [False, True])
def test_zero_from_lam_max_on_and_not_before(rng, framed):
    X_source, H_target = make_problem(rng)
    frame = make_frame(rng, X_source) if framed else {}
    for mu in (1.0, 0.1):
        for fraction in (1 + 1e-12, 1.5, 1e6):
            solved, _ = solve(X_source, H_target, fraction, mu=mu, **frame)
            assert solved.mapping.nnz == 0 and solved.gap == pytest.approx(0, abs=1e-15) and solved.converged
        below, lam = solve(X_source, H_target, 1 - 1e-4, mu=mu, **frame)
        assert len(live_rows(below.mapping)) == 1
        assert below.lam_max == pytest.approx(lam / (1 - 1e-4), rel=1e-12)


def test_lam_max_by_its_formula(rng):
    X_source, H_target = make_problem(rng)
    frame = make_frame(rng, X_source)
    assert lam_max(X_source, H_target) == pytest.approx(np.linalg.norm(X_source @ H_target.T, axis=1).max() / 6)
    X, Y, _ = standardise(X_source, H_target, **frame)
    assert lam_max(X_source, H_target, 3.0, **frame) == pytest.approx(np.linalg.norm(X @ Y.T, axis=1).max() / 2)


# --- the certificate -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
@pytest.mark.parametrize("framed", [False, True])
def test_the_gap_asked_for_is_reached_and_true(rng, tol, framed):
    for fraction in (0.9, 0.5, 0.1, 0.02):
        for shape in (dict(), dict(n_target=30), dict(n_source=5), dict(n_source=400, d=50)):
            X_source, H_target = make_problem(rng, **shape)
            frame = make_frame(rng, X_source) if framed else {}
            solved, lam = solve(X_source, H_target, fraction, mu=0.4, tol=tol, **frame)
            gap, score = gap_and_score(X_source, H_target, solved.mapping.toarray(), lam, 0.4, **frame)
            assert solved.gap <= tol and solved.converged
            assert solved.gap == pytest.approx(gap, abs=1e-12)
            assert solved.dual_score == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize("framed", [False, True])
def test_small_gaps_are_reached(rng, framed):
    for fraction in (0.9, 0.5, 0.1, 0.02):
        for shape in (dict(), dict(n_target=30), dict(n_source=5), dict(n_source=400, d=50)):
            X_source, H_target = make_problem(rng, **shape)
            frame = make_frame(rng, X_source) if framed else {}
            for tol in (1e-7, 1e-9, 1e-11):
                solved, lam = solve(X_source, H_target, fraction, tol=tol, **frame)
                gap, _ = gap_and_score(X_source, H_target, solved.mapping.toarray(), lam, **frame)
                assert solved.gap <= tol and solved.converged
                assert solved.gap == pytest.approx(gap, abs=1e-13)


def test_close_rows_are_no_harder(rng):
    # Uncentred non-negative features, the published setting: all rows share one large mean.
    for n_source, n_target, d in [(55, 42, 41), (50, 7, 16), (300, 20, 30)]:
        X_source, H_target = rng.uniform(0.1, 0.9, (n_source, d)), rng.uniform(0.1, 0.9, (n_target, d))
        for fraction in (0.9, 0.5, 0.1):
            solved, _ = solve(X_source, H_target, fraction, tol=1e-9)
            assert solved.gap <= 1e-9 and solved.n_passes <= 15


def test_the_dual_score_is_one_on_the_support_and_less_off_it(rng):
    X_source, H_target = make_problem(rng, n_source=200)
    for frame in ({}, make_frame(rng, X_source)):
        solved, _ = solve(X_source, H_target, 0.3, **frame)
        live = np.isin(np.arange(200), live_rows(solved.mapping))
        assert 0 < live.sum() < 200
        assert solved.dual_score[live] == pytest.approx(1, abs=1e-5)
        assert solved.dual_score[~live].max() < 1 + 1e-8


def test_a_solver_stopped_early_says_so(rng, monkeypatch):
    X_source, H_target = make_problem(rng, n_source=300)
    monkeypatch.setattr("selftaught.relevance.mapping.MAX_PASSES", 2)
    solved, lam = solve(X_source, H_target, 0.05, tol=1e-9)
    gap, _ = gap_and_score(X_source, H_target, solved.mapping.toarray(), lam)
    assert not solved.converged and solved.gap > 1e-9 and solved.gap == pytest.approx(gap)


# --- working set, blocks and warm starts ---------------------------------------------------------------------------


def live_rows(mapping):
    return np.flatnonzero(np.diff(mapping.indptr))


@pytest.mark.parametrize("framed", [False, True])
def test_neither_first_rows_nor_blocks_matter(rng, monkeypatch, framed):
    X_source, H_target = make_problem(rng, n_source=300)
    frame = make_frame(rng, X_source) if framed else {}
    expected, lam = solve(X_source, H_target, 0.1, **frame)
    monkeypatch.setattr("selftaught.relevance.mapping.FIRST_ROWS", 2)
    monkeypatch.setattr("selftaught.relevance.mapping.BLOCK_BYTES", 1000)
    solved = solve_mapping(X_source, H_target, lam=lam, tol=1e-10, **frame)
    assert solved.n_passes > expected.n_passes
    assert solved.mapping.toarray() == pytest.approx(expected.mapping.toarray(), abs=1e-6)
    assert solved.dual_score == pytest.approx(expected.dual_score, abs=1e-6)
    assert lam_max(X_source, H_target, **frame) == pytest.approx(expected.lam_max)


@pytest.mark.parametrize("framed", [False, True])
def test_a_start_saves_passes_and_changes_nothing_else(rng, framed):
    X_source, H_target = make_problem(rng, n_source=300)
    frame = make_frame(rng, X_source) if framed else {}
    cold, lam = solve(X_source, H_target, 0.1, **frame)
    near, _ = solve(X_source, H_target + 0.01 * rng.standard_normal(H_target.shape), 0.1, **frame)
    for start in (cold, cold.mapping, cold.mapping.toarray()):
        warm = solve_mapping(X_source, H_target, lam=lam, tol=1e-10, start=start, **frame)
        assert warm.mapping.toarray() == pytest.approx(cold.mapping.toarray(), abs=1e-6)
        assert warm.n_passes < cold.n_passes
    misleading = np.zeros((300, 6)), np.full((300, 6), 1e6), sparse.random_array((300, 6), rng=rng)
    for start in (near, sparse.coo_array(near.mapping), *misleading):
        warm = solve_mapping(X_source, H_target, lam=lam, tol=1e-10, start=start, **frame)
        assert warm.mapping.toarray() == pytest.approx(cold.mapping.toarray(), abs=1e-6)


# --- what is returned ----------------------------------------------------------------------------------------------


def test_only_live_rows_are_stored(rng):
    X_source, H_target = make_problem(rng, n_source=200)
    solved, _ = solve(X_source, H_target, 0.5)
    mapping = solved.mapping
    assert isinstance(solved, MappingSolution) and mapping.format == "csr" and mapping.shape == (200, 6)
    assert mapping.has_canonical_format
    stored = np.linalg.norm(mapping.toarray(), axis=1) > 0
    assert mapping.nnz == 6 * stored.sum() < 6 * 200
    assert np.array_equal(np.flatnonzero(stored), live_rows(mapping))


@pytest.mark.parametrize("center", [None, 0.3])
def test_map_source_by_its_formula(rng, center):
    X_source, H_target = make_problem(rng)
    c = None if center is None else np.full(20, center)
    for A in (solve(X_source, H_target, 0.3)[0].mapping, sparse.csr_array((60, 6)), rng.standard_normal((60, 6))):
        plain = A.toarray() if sparse.issparse(A) else A
        expected = plain.T @ (X_source - (center or 0)) + (center or 0)
        assert map_source(A, X_source, c) == pytest.approx(expected)
        assert map_source(A, X_source.astype(np.float32), c).dtype == np.float32


def test_input_is_read_and_not_written(rng):
    X_source, H_target = make_problem(rng, n_target=30)
    frame = make_frame(rng, X_source)
    expected, lam = solve(X_source, H_target, 0.2, **frame)
    arrays = (X_source, H_target, *frame.values(), expected.mapping.data)
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    again = solve_mapping(X_source, H_target, lam=lam, tol=1e-10, start=expected, **frame)
    for array, copy in zip(arrays, before, strict=True):
        assert np.array_equal(array, copy)
    assert again.mapping.toarray() == pytest.approx(expected.mapping.toarray(), abs=1e-6)
    fortran, _ = solve(np.asfortranarray(X_source), np.asfortranarray(H_target), 0.2, **frame)
    assert fortran.mapping.toarray() == pytest.approx(expected.mapping.toarray(), abs=1e-6)
    strided, _ = solve(np.repeat(X_source, 2, axis=0)[::2], H_target[::-1][::-1], 0.2, **frame)
    assert strided.mapping.toarray() == pytest.approx(expected.mapping.toarray(), abs=1e-6)


def test_float32_rows_give_the_answer_to_float32(rng):
    X_source, H_target = make_problem(rng)
    frame = make_frame(rng, X_source)
    expected, lam = solve(X_source, H_target, 0.2, **frame)
    single = solve_mapping(X_source.astype(np.float32), H_target.astype(np.float32), lam=lam, tol=1e-5, **frame)
    assert single.converged
    assert single.mapping.toarray() == pytest.approx(expected.mapping.toarray(), abs=1e-3)


def test_counts_are_rows_like_others(rng):
    X_source, H_target = rng.integers(0, 5, (60, 20)), rng.uniform(0, 1, (6, 20))
    solved, lam = solve(X_source.astype(float), H_target, 0.2)
    assert lam_max(X_source, H_target) == pytest.approx(solved.lam_max)
    counted = solve_mapping(X_source, H_target, lam=lam, tol=1e-10)
    assert counted.mapping.toarray() == pytest.approx(solved.mapping.toarray(), abs=1e-6)


# --- invariances ---------------------------------------------------------------------------------------------------


def test_renumbering_the_pool_renumbers_the_mapping(rng):
    X_source, H_target = make_problem(rng, n_source=150)
    frame, order = make_frame(rng, X_source), rng.permutation(150)
    solved, _ = solve(X_source, H_target, 0.2, **frame)
    moved, _ = solve(X_source[order], H_target, 0.2, center=frame["center"], row_weights=frame["row_weights"][order])
    assert moved.mapping.toarray() == pytest.approx(solved.mapping.toarray()[order], abs=1e-6)
    assert moved.dual_score == pytest.approx(solved.dual_score[order], abs=1e-6)


def test_rotating_the_target_rows_keeps_row_norms(rng):
    # The problem sees H_target through |R|, which an orthogonal mixing of target rows does not change.
    X_source, H_target = make_problem(rng)
    rotation = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    solved, _ = solve(X_source, H_target, 0.2)
    turned, _ = solve(X_source, rotation @ H_target, 0.2)
    assert turned.mapping.toarray() == pytest.approx(solved.mapping.toarray() @ rotation.T, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 0.1, 1e6])
def test_scaling_laws(rng, scale):
    X_source, H_target = make_problem(rng)
    frame = make_frame(rng, X_source)
    c, w = frame["center"], frame["row_weights"]
    solved, lam = solve(X_source, H_target, 0.2, **frame)
    A = solved.mapping.toarray()

    def again(X_source, H_target, lam, mu=1.0, center=c, row_weights=w):
        options = dict(lam=lam, mu=mu, tol=1e-10, center=center, row_weights=row_weights)
        return solve_mapping(X_source, H_target, **options).mapping.toarray()

    # another unit for all rows; another weight for both terms; another unit for the penalty's weights
    assert again(scale * X_source, scale * H_target, scale**2 * lam, center=scale * c) == pytest.approx(A, abs=1e-6)
    assert again(X_source, H_target, scale * lam, mu=scale) == pytest.approx(A, abs=1e-6)
    assert again(X_source, H_target, lam / scale, row_weights=scale * w) == pytest.approx(A, abs=1e-6)
    # longer pool rows are used less, longer target rows use more
    longer = c + scale * (X_source - c)
    assert scale * again(longer, H_target, scale * lam) == pytest.approx(A, abs=1e-6)
    assert again(X_source, c + scale * (H_target - c), scale * lam) / scale == pytest.approx(A, abs=1e-6)


def test_copies_in_the_pool_share_the_work(rng):
    X_source, H_target = make_problem(rng, n_source=30)
    once, lam = solve(X_source, H_target, 0.2)
    twice = solve_mapping(np.vstack([X_source, X_source]), H_target, lam=lam, tol=1e-10).mapping.toarray()
    assert twice[:30] + twice[30:] == pytest.approx(once.mapping.toarray(), abs=1e-5)


def test_rows_of_zeros_are_never_used(rng):
    X_source, H_target = make_problem(rng)
    X_source[::3] = 0
    for fraction in (0.5, 0.01):
        solved, _ = solve(X_source, H_target, fraction, tol=1e-8)
        assert not solved.mapping.toarray()[::3].any() and not solved.dual_score[::3].any()


def test_a_larger_lam_never_fits_better_nor_pays_more_for_less(rng):
    # F(A1, lam1) + F(A2, lam2) <= F(A2, lam1) + F(A1, lam2): misfit rises and row norms fall with lam.
    X_source, H_target = make_problem(rng)
    misfits, norms = [], []
    for fraction in (0.9, 0.5, 0.2, 0.05, 0.01):
        A = solve(X_source, H_target, fraction)[0].mapping.toarray()
        misfits.append(np.sum((H_target - A.T @ X_source) ** 2))
        norms.append(np.linalg.norm(A, axis=1).sum())
    assert np.all(np.diff(misfits) < 0) and np.all(np.diff(norms) > 0)


# --- hard problems -------------------------------------------------------------------------------------------------


def draw_problem(rng):
    """Shapes from 1 to 40, scales from 1e-6 to 1e6; around a mean, with copies, with rows of zeros."""
    n_source, n_target, d = rng.integers(1, 41, 3)
    X_source, H_target = rng.standard_normal((n_source, d)), rng.standard_normal((n_target, d))
    kind = rng.integers(3)
    if kind == 1:
        X_source, H_target = np.abs(X_source) + 1, np.abs(H_target) + 1
    elif kind == 2:
        X_source, H_target = rng.choice(X_source, n_source), rng.choice(H_target, n_target)
        X_source[rng.random(n_source) < 0.2] = 0
    X_source, H_target = X_source * 10 ** rng.uniform(-6, 6), H_target * 10 ** rng.uniform(-6, 6)
    frame = {}
    if rng.random() < 0.5:
        frame["center"] = H_target.mean(axis=0)
    if rng.random() < 0.5:
        lengths = np.linalg.norm(X_source - frame.get("center", 0), axis=1)
        frame["row_weights"] = np.maximum(lengths, 1e-3 * np.median(lengths)) + 1e-12
    return X_source, H_target, frame


def test_no_problem_is_left_unsolved(rng):
    for _ in range(150):
        X_source, H_target, frame = draw_problem(rng)
        mu, fraction, tol = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-8, -2)
        largest = lam_max(X_source, H_target, mu, **frame)
        if largest == 0:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solved = solve_mapping(X_source, H_target, lam=fraction * largest, mu=mu, tol=tol, **frame)
        A = solved.mapping.toarray()
        assert np.isfinite(A).all() and solved.gap <= tol and solved.n_passes <= 15
        # Differences of numbers much larger than the result leave a recomputed gap few digits.
        gap, _ = gap_and_score(X_source, H_target, A, fraction * largest, mu, **frame)
        assert gap <= tol + 1e-9


def test_an_empty_pool_has_an_empty_mapping(rng):
    H_target = rng.standard_normal((4, 3))
    assert lam_max(np.empty((0, 3)), H_target) == 0
    solved = solve_mapping(np.empty((0, 3)), H_target, lam=1.0)
    assert solved.mapping.shape == (0, 4) and solved.dual_score.shape == (0,)


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0, -1.0, float("nan")])
def test_lam_must_be_positive(rng, lam):
    with pytest.raises(ValueError, match=rf"lam must be positive, got {lam}.*lam_max for its useful range"):
        solve_mapping(*make_problem(rng), lam=lam)


@pytest.mark.parametrize("mu", [0.0, -1.0])
def test_mu_must_be_positive(rng, mu):
    with pytest.raises(ValueError, match="mu must be positive"):
        solve_mapping(*make_problem(rng), lam=0.1, mu=mu)


@pytest.mark.parametrize("shape", [(61, 6), (59, 6), (60, 5)])
def test_a_start_of_another_shape_is_refused(rng, shape):
    with pytest.raises(ValueError, match="start"):
        solve_mapping(*make_problem(rng), lam=0.1, start=np.ones(shape))


@pytest.mark.parametrize("where", ["source", "target"])
def test_nan_is_not_certified(rng, where):
    X_source, H_target = make_problem(rng)
    {"source": X_source, "target": H_target}[where][2, 3] = np.nan
    try:
        solved = solve_mapping(X_source, H_target, lam=0.1)
    except ValueError:
        return
    assert not solved.converged
