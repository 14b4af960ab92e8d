"""Every derivative against finite differences, the blended aim against the two terms it merges, the starting points."""

from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import Ridge

from selftaught.relevance import (
    Autoencoder,
    blend_aim,
    decode,
    encode,
    knn_laplacian,
    map_source,
    objective,
    objective_and_gradient,
    pack,
    random_start,
    reconstruct,
    spectral_start,
    unpack,
)
from selftaught.relevance.autoencoder import Aim

N_SOURCE, N_TARGET, D, N_HIDDEN = 13, 5, 7, 4
N = N_SOURCE + N_TARGET


def make_problem(rng, dtype: Any = np.float64):
    """Rows, what a mapping makes of the source, a Laplacian and a point theta away from any symmetry."""
    X = rng.uniform(0.1, 0.9, (N, D)).astype(dtype)
    A = rng.normal(0, 0.2, (N_SOURCE, N_TARGET))
    mapped = (A.T @ X[:N_SOURCE]).astype(dtype)
    theta = rng.normal(0, 0.7, 2 * D * N_HIDDEN + N_HIDDEN + D)
    return X, mapped, knn_laplacian(X, n_neighbors=3), theta


def forward(theta, X):
    """Codes and reconstructions, from the formula."""
    W1, b1, W2, b2 = np.split(theta, np.cumsum([N_HIDDEN * D, N_HIDDEN, D * N_HIDDEN]))
    Z = expit(X @ W1.reshape(N_HIDDEN, D).T + b1)
    return Z, expit(Z @ W2.reshape(D, N_HIDDEN).T + b2)


def reconstruction_term(theta, X, mapped, laplacian):
    return np.sum((forward(theta, X)[1] - X) ** 2) / (2 * N)


def mapping_term(theta, X, mapped, laplacian):
    return np.sum((forward(theta, X)[1][N_SOURCE:] - mapped) ** 2) / (2 * N_TARGET)


def graph_term(theta, X, mapped, laplacian):
    Z, _ = forward(theta, X)
    return np.trace(Z.T @ laplacian.toarray() @ Z)


def finite_differences(function, theta, step=1e-6):
    gradient = np.empty_like(theta)
    for i in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (function(up) - function(down)) / (2 * step)
    return gradient


def relative(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def smooth_part(theta, X, mapped, laplacian, mu, gamma):
    return objective_and_gradient(theta, X, blend_aim(X, mapped, mu), laplacian, gamma=gamma)


# --- value and gradient --------------------------------------------------------------------------------------------

TERMS = {  # term: its formula, and the weights (mu, gamma) that bring it in
    "reconstruction": (reconstruction_term, None),
    "mapping": (mapping_term, (1.7, 0.0)),
    "graph": (graph_term, (0.0, 0.3)),
}


@pytest.mark.parametrize("trial", range(3))
@pytest.mark.parametrize("term", TERMS)
def test_each_term_by_its_formula_and_by_finite_differences(rng, term, trial):
    problem = rng.spawn(3)[trial]
    X, mapped, laplacian, theta = make_problem(problem)
    formula, added = TERMS[term]
    value, gradient = smooth_part(theta, X, mapped, laplacian, mu=0.0, gamma=0.0)
    weight = 1.0
    if added is not None:
        more, more_gradient = smooth_part(theta, X, mapped, laplacian, *added)
        value, gradient, weight = more - value, more_gradient - gradient, sum(added)
    assert value == pytest.approx(weight * formula(theta, X, mapped, laplacian), rel=1e-10)
    expected = weight * finite_differences(lambda at: formula(at, X, mapped, laplacian), theta)
    assert relative(gradient, expected) < 1e-7


@pytest.mark.parametrize("trial", range(3))
def test_the_sum_of_all_terms_by_finite_differences_of_itself(rng, trial):
    X, mapped, laplacian, theta = make_problem(rng.spawn(3)[trial])
    _, gradient = smooth_part(theta, X, mapped, laplacian, mu=0.6, gamma=0.05)
    expected = finite_differences(lambda at: smooth_part(at, X, mapped, laplacian, mu=0.6, gamma=0.05)[0], theta)
    assert relative(gradient, expected) < 1e-7


@pytest.mark.parametrize("centred", [False, True])
def test_value_and_sparsity_make_the_whole_objective(rng, centred):
    X, _, laplacian, theta = make_problem(rng)
    X_source, X_target = X[:N_SOURCE], X[N_SOURCE:]
    A = rng.normal(0, 0.2, (N_SOURCE, N_TARGET))
    center = X_target.mean(axis=0) if centred else None
    for mu, gamma, lam in [(1.0, 0.0, 0.1), (0.3, 0.02, 0.5), (20.0, 3.0, 1e-3)]:
        value, _ = smooth_part(theta, X, map_source(A, X_source, center), laplacian, mu, gamma)
        whole = objective(
            X_source, X_target, unpack(theta, D), A, laplacian, lam=lam, gamma=gamma, mu=mu, center=center
        )
        assert value + lam * np.linalg.norm(A, axis=1).sum() == pytest.approx(whole.total, rel=1e-12)


def test_float32_agrees_with_float64(rng):
    X, mapped, laplacian, theta = make_problem(rng)
    value, gradient = smooth_part(theta, X, mapped, laplacian, mu=1.3, gamma=0.02)
    single, single_gradient = smooth_part(
        theta, X.astype(np.float32), mapped.astype(np.float32), laplacian.astype(np.float32), mu=1.3, gamma=0.02
    )
    assert single == pytest.approx(value, rel=1e-5)
    assert relative(single_gradient, gradient) < 1e-4
    assert gradient.dtype == single_gradient.dtype == np.float64  # what SciPy's optimiser works in
    assert type(value) is type(single) is float


@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 200])
def test_where_blocks_of_rows_end_does_not_matter(rng, monkeypatch, n):
    X, theta = rng.uniform(0.1, 0.9, (n, D)), rng.normal(size=2 * D * N_HIDDEN + N_HIDDEN + D)
    mapped, laplacian = rng.uniform(0.1, 0.9, (max(1, n // 3), D)), knn_laplacian(X)
    for gamma in (0.0, 0.1):
        whole = smooth_part(theta, X, mapped, laplacian, 1.0, gamma)
        with monkeypatch.context() as patch:
            patch.setattr("selftaught.relevance.autoencoder.BLOCK_BYTES", 1)
            parts = smooth_part(theta, X, mapped, laplacian, 1.0, gamma)
        assert parts[0] == pytest.approx(whole[0], rel=1e-12)
        assert relative(parts[1], whole[1]) < 1e-12


def test_without_a_graph_term_no_graph_is_asked_for(rng):
    X, mapped, laplacian, theta = make_problem(rng)
    aim = blend_aim(X, mapped, 1.0)
    without, with_graph = objective_and_gradient(theta, X, aim), objective_and_gradient(theta, X, aim, laplacian)
    assert without[0] == with_graph[0] and np.array_equal(without[1], with_graph[1])


def test_the_gradient_vanishes_where_the_aim_is_reached(rng):
    X, _, _, theta = make_problem(rng)
    H = forward(theta, X)[1]
    value, gradient = objective_and_gradient(theta, X, Aim(H, np.full(N, 1 / N), 0.25))
    assert value == pytest.approx(0.25) and np.abs(gradient).max() < 1e-14


def test_nothing_that_comes_in_is_changed(rng):
    X, mapped, laplacian, theta = make_problem(rng)
    before = [array.copy() for array in (theta, X, mapped, laplacian.data)]
    for array in (theta, X, mapped, laplacian.data):
        array.setflags(write=False)
    expected = smooth_part(theta, X, mapped, laplacian, mu=1.0, gamma=0.1)
    for array, copy in zip((theta, X, mapped, laplacian.data), before, strict=True):
        assert np.array_equal(array, copy)
    fortran = smooth_part(theta, np.asfortranarray(X), np.asfortranarray(mapped), laplacian, mu=1.0, gamma=0.1)
    assert fortran[0] == pytest.approx(expected[0]) and relative(fortran[1], expected[1]) < 1e-12


# --- the blended aim -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.0, 1e-6, 0.5, 1.0, 1e6])
def test_the_blend_of_two_parabolas_is_one_parabola_and_a_constant(rng, mu):
    X, mapped, _, _ = make_problem(rng)
    aim = blend_aim(X, mapped, mu)
    for _ in range(3):
        H = rng.uniform(0, 1, (N, D))
        blended = np.sum(aim.pull[:, None] * (H - aim.target) ** 2) / 2 + aim.constant
        apart = np.sum((H - X) ** 2) / (2 * N) + mu * np.sum((H[N_SOURCE:] - mapped) ** 2) / (2 * N_TARGET)
        assert blended == pytest.approx(apart, rel=1e-9)
    assert np.array_equal(aim.target[:N_SOURCE], X[:N_SOURCE])


# --- encoding and packing ------------------------------------------------------------------------------------------


def test_packing_and_unpacking_are_inverse(rng):
    theta = rng.normal(size=2 * D * N_HIDDEN + N_HIDDEN + D)
    auto = unpack(theta, D)
    assert [part.shape for part in astuple(auto)] == [(N_HIDDEN, D), (N_HIDDEN,), (D, N_HIDDEN), (D,)]
    assert auto.n_hidden == N_HIDDEN
    assert np.array_equal(pack(auto), theta)
    single: Any = np.float32
    assert pack(unpack(theta, D, single)).dtype == np.float64
    assert {part.dtype for part in astuple(unpack(theta, D, single))} == {np.dtype(single)}


@pytest.mark.parametrize(("d", "m"), [(1, 1), (1, 5), (5, 1), (3, 7)])
def test_the_width_of_the_code_is_read_off_theta(rng, d, m):
    assert unpack(rng.normal(size=2 * d * m + m + d), d).n_hidden == m


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_encode_and_decode_by_the_formula(rng, dtype):
    X, _, _, theta = make_problem(rng, dtype)
    auto = unpack(theta, D, dtype)
    Z, H = forward(theta, X.astype(np.float64))
    tolerance = 1e-6 if dtype == np.float32 else 1e-14
    assert encode(X, auto) == pytest.approx(Z, abs=tolerance)
    assert decode(Z.astype(dtype), auto) == pytest.approx(H, abs=tolerance)
    assert reconstruct(X, auto) == pytest.approx(H, abs=tolerance)
    assert encode(X, auto).dtype == reconstruct(X, auto).dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saturated_units_do_not_overflow(dtype):
    W1, W2 = np.array([[1e20], [-1e20]], dtype), np.ones((1, 2), dtype)
    auto = Autoencoder(W1, np.zeros(2, dtype), W2, np.zeros(1, dtype))
    assert encode(np.ones((1, 1), dtype), auto).tolist() == [[1, 0]]
    theta = pack(auto)
    X = np.ones((3, 1), dtype)
    value, gradient = objective_and_gradient(theta, X, blend_aim(X, X[:1], 1.0))
    assert np.isfinite(value) and np.isfinite(gradient).all()


# --- starting points -----------------------------------------------------------------------------------------------


def loss(X, auto):
    return float(np.mean((reconstruct(X, auto) - X) ** 2))


def structured_rows(rng, n=120, d=15, rank=4):
    return expit(rng.standard_normal((n, rank)) @ rng.normal(0, 0.5, (rank, d)) + 0.05 * rng.standard_normal((n, d)))


@pytest.mark.parametrize("start", [random_start, spectral_start])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_start_has_shape_and_dtype_and_follows_its_seed(rng, start, dtype):
    X = structured_rows(rng).astype(dtype)
    for n_hidden in (1, 4, 15, 40, 200):
        auto = start(X, n_hidden, np.random.RandomState(0))
        assert [part.shape for part in astuple(auto)] == [(n_hidden, 15), (n_hidden,), (15, n_hidden), (15,)]
        assert {part.dtype for part in astuple(auto)} == {np.dtype(dtype)}
        assert all(np.isfinite(part).all() for part in astuple(auto))
        assert np.array_equal(pack(auto), pack(start(X, n_hidden, np.random.RandomState(0))))


def test_the_random_start_is_the_published_one(rng):
    X = structured_rows(rng)
    auto = random_start(X, 30, np.random.RandomState(0))
    reach = np.sqrt(6 / (15 + 30 + 1))
    for W in (auto.W1, auto.W2):
        assert np.abs(W).max() <= reach < 1.02 * np.abs(W).max()
        assert W.mean() == pytest.approx(0, abs=4 * reach / np.sqrt(3 * W.size))
    assert not auto.b1.any() and not auto.b2.any()
    assert not np.array_equal(auto.W1, random_start(X, 30, np.random.RandomState(1)).W1)


@pytest.mark.parametrize("n_hidden", [2, 4, 10])
def test_the_spectral_start_rebuilds_better_than_a_random_one_and_than_the_mean(rng, n_hidden):
    X = structured_rows(rng)
    spectral = loss(X, spectral_start(X, n_hidden, np.random.RandomState(0)))
    assert spectral < loss(X, random_start(X, n_hidden, np.random.RandomState(0)))
    assert spectral < np.mean((X - X.mean(axis=0)) ** 2)


def test_the_spectral_encoder_projects_on_the_leading_directions(rng):
    X = structured_rows(rng)
    for reach in (1.0, 0.1):
        auto = spectral_start(X, 4, np.random.RandomState(0), reach=reach)
        before_sigmoid = X @ auto.W1.T + auto.b1
        spread = before_sigmoid.std(axis=0)
        assert before_sigmoid.mean(axis=0) == pytest.approx(0, abs=1e-12)
        assert spread[0] == pytest.approx(reach) and np.all(np.diff(spread) <= 1e-12)
        singular = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:4]
        assert spread == pytest.approx(reach * singular / singular[0], rel=1e-6)


@pytest.mark.parametrize("ridge", [1e-6, 1e-2])
def test_the_spectral_decoder_is_a_ridge_regression(rng, ridge):
    X = np.clip(structured_rows(rng), 0.01, 0.99)
    auto = spectral_start(X, 6, np.random.RandomState(0), ridge=ridge)
    Z, logit = encode(X, auto), np.log(X / (1 - X))
    alpha = ridge * np.sum((Z - Z.mean(axis=0)) ** 2) / 6
    expected = Ridge(alpha=alpha, solver="cholesky").fit(Z, logit)
    assert auto.W2 == pytest.approx(expected.coef_, rel=1e-6)
    assert auto.b2 == pytest.approx(expected.intercept_, rel=1e-6)


def test_the_spectral_start_takes_rows_outside_the_open_unit_interval(rng):
    X = np.concatenate([rng.integers(0, 2, (20, 6)).astype(float), rng.normal(0, 3, (20, 6))])
    assert all(np.isfinite(part).all() for part in astuple(spectral_start(X, 3, np.random.RandomState(0))))


def test_a_constant_feature_is_rebuilt(rng):
    X = structured_rows(rng)
    X[:, 3] = 0.3
    H = reconstruct(X, spectral_start(X, 6, np.random.RandomState(0)))
    assert H[:, 3] == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("entry", [0.3, 0.5])
def test_identical_rows_are_rebuilt_by_moderate_weights(entry):
    X = np.full((40, 8), entry)
    auto = spectral_start(X, 5, np.random.RandomState(0))
    assert np.abs(auto.W1).max() < 1e3
    assert reconstruct(X, auto) == pytest.approx(X, abs=1e-6)
