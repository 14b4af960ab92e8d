"""The four terms of the objective, written out with loops and dense matrices."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from selftaught.relevance import Autoencoder, contribution_lengths, knn_laplacian, objective

N_SOURCE, N_TARGET, D, N_HIDDEN = 15, 6, 5, 4


def make_problem(rng, dtype: Any = np.float64):
    X_source, X_target = (rng.uniform(0.1, 0.9, (n, D)).astype(dtype) for n in (N_SOURCE, N_TARGET))
    shapes = (N_HIDDEN, D), (N_HIDDEN,), (D, N_HIDDEN), (D,)
    auto = Autoencoder(*(rng.standard_normal(shape).astype(dtype) for shape in shapes))
    A = rng.standard_normal((N_SOURCE, N_TARGET)) * (rng.random((N_SOURCE, 1)) < 0.4)
    return X_source, X_target, auto, A, knn_laplacian(np.vstack([X_source, X_target]), n_neighbors=3)


def by_hand(X_source, X_target, auto, A, laplacian, lam, gamma, mu, center, row_weights):
    """The terms, row by row."""
    X, n = np.vstack([X_source, X_target]), N_SOURCE + N_TARGET
    Z = [1 / (1 + np.exp(-(auto.W1 @ x + auto.b1))) for x in X]
    H = [1 / (1 + np.exp(-(auto.W2 @ z + auto.b2))) for z in Z]
    reconstruction = sum(np.sum((h - x) ** 2) for h, x in zip(H, X, strict=True)) / (2 * n)
    mapped = [center + sum(A[i, j] * (X_source[i] - center) for i in range(N_SOURCE)) for j in range(N_TARGET)]
    missed = sum(np.sum((m - h) ** 2) for m, h in zip(mapped, H[N_SOURCE:], strict=True))
    sparsity = sum(w * np.sqrt(np.sum(a**2)) for w, a in zip(row_weights, A, strict=True))
    S = -laplacian.toarray()
    apart = sum(S[i, j] * np.sum((Z[i] - Z[j]) ** 2) for i in range(n) for j in range(n) if i != j)
    return reconstruction, mu * missed / (2 * N_TARGET), lam * sparsity, gamma * apart / 2


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_term_by_hand(rng, centred, weighted):
    problem = make_problem(rng)
    center = rng.uniform(0, 1, D) if centred else None
    row_weights = rng.uniform(0.3, 3, N_SOURCE) if weighted else None
    for lam, gamma, mu in [(0.3, 0.05, 1.0), (2.0, 1.0, 0.2), (0.0, 0.0, 0.0)]:
        found = objective(*problem, lam=lam, gamma=gamma, mu=mu, center=center, row_weights=row_weights)
        by_default = (
            np.zeros(D) if center is None else center,
            np.ones(N_SOURCE) if row_weights is None else row_weights,
        )
        expected = by_hand(*problem, lam, gamma, mu, *by_default)
        terms = (found.reconstruction, found.mapping, found.sparsity, found.graph)
        assert terms == pytest.approx(expected, rel=1e-12)
        assert found.total == pytest.approx(sum(expected), rel=1e-12)


def test_agrees_with_the_published_objective(rng, published):
    X_source, X_target, auto, A, laplacian = make_problem(rng)
    found = objective(X_source, X_target, auto, A, laplacian, lam=0.3, gamma=0.05, mu=0.7)
    weights = published.Weights(auto.W1, auto.b1, auto.W2, auto.b2)
    expected = published.published_objective(X_source, X_target, weights, A, laplacian, 0.3, 0.05, 0.7)
    assert found.total == pytest.approx(expected, rel=1e-10)


def test_neutral_frames_change_nothing(rng):
    problem = make_problem(rng)
    options = dict(lam=0.3, gamma=0.05)
    assert objective(*problem, **options, center=np.zeros(D), row_weights=np.ones(N_SOURCE)).total == pytest.approx(
        objective(*problem, **options).total, rel=1e-14
    )


def test_a_mapping_may_be_stored_in_any_way(rng):
    X_source, X_target, auto, A, laplacian = make_problem(rng)
    expected = objective(X_source, X_target, auto, A, laplacian, lam=0.3, gamma=0.05)
    for stored_as in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, np.asfortranarray):
        assert objective(X_source, X_target, auto, stored_as(A), laplacian, lam=0.3, gamma=0.05) == expected


def test_without_a_graph_term_no_graph_is_asked_for(rng):
    X_source, X_target, auto, A, laplacian = make_problem(rng)
    without = objective(X_source, X_target, auto, A, lam=0.3, gamma=0.0)
    assert without == objective(X_source, X_target, auto, A, laplacian, lam=0.3, gamma=0.0) and without.graph == 0


def test_float32_agrees_with_float64(seed):
    double, single = (make_problem(np.random.default_rng(seed), dtype) for dtype in (np.float64, np.float32))
    options: dict = dict(lam=0.3, gamma=0.05, center=np.full(D, 0.5), row_weights=np.full(N_SOURCE, 2.0))
    assert objective(*single, **options).total == pytest.approx(objective(*double, **options).total, rel=1e-5)


def test_contribution_lengths(rng):
    A, weights = make_problem(rng)[3], rng.uniform(0.3, 3, N_SOURCE)
    assert contribution_lengths(A) == pytest.approx(np.linalg.norm(A, axis=1))
    assert contribution_lengths(sparse.csr_array(A), weights) == pytest.approx(weights * np.linalg.norm(A, axis=1))
    assert contribution_lengths(sparse.csr_array((4, 2))).tolist() == [0] * 4
    assert contribution_lengths(A.astype(np.float32)).dtype == np.float64
