"""The neighbour graph against brute force over all pairs, and the facts that hold for every Laplacian."""

import numpy as np
import pytest
from scipy import sparse

from selftaught.relevance import knn_laplacian

METRICS = ("cosine", "euclidean")
STORED_AS = (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix)


def brute_force(X, n_neighbors, metric):
    """The Laplacian by visiting every pair of rows."""
    lengths = np.linalg.norm(X, axis=1)
    unit = X / np.where(lengths > 0, lengths, 1)[:, None]
    cosine = unit @ unit.T
    S = np.zeros(cosine.shape)
    for i in range(len(X)):
        if metric == "cosine":
            others = [j for j in range(len(X)) if j != i and lengths[i] > 0 and lengths[j] > 0]
            others.sort(key=lambda j, i=i: -cosine[i, j])
        else:
            others = [j for j in range(len(X)) if j != i]
            others.sort(key=lambda j, i=i: np.linalg.norm(X[i] - X[j]))
        for j in others[:n_neighbors]:
            S[i, j] = S[j, i] = max(cosine[i, j], 0)
    return np.diag(S.sum(axis=1)) - S


def dense(X, **options):
    return knn_laplacian(X, **options).toarray()


def weights(laplacian):
    """The edges' weights, from a dense Laplacian."""
    return np.diag(np.diag(laplacian)) - laplacian


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_neighbors", [1, 3, 10])
def test_agrees_with_brute_force(rng, metric, n_neighbors):
    for offset in (0.0, 1.0):  # around the origin half of the similarities are negative, away from it none
        X = rng.standard_normal((40, 5)) + offset
        X[[3, 17]] = 0
        laplacian = dense(X, n_neighbors=n_neighbors, metric=metric)
        assert laplacian == pytest.approx(brute_force(X, n_neighbors, metric), abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_facts_of_a_laplacian(rng, metric):
    X = rng.standard_normal((60, 4))
    laplacian = dense(X, metric=metric)
    S = weights(laplacian)
    assert np.array_equal(laplacian, laplacian.T)
    assert np.abs(laplacian.sum(axis=1)).max() < 1e-12
    assert np.linalg.eigvalsh(laplacian).min() > -1e-12
    assert S.min() >= 0 and S.max() <= 1
    Z = rng.standard_normal((60, 3))
    apart = np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
    assert np.trace(Z.T @ laplacian @ Z) == pytest.approx(np.sum(S * apart) / 2)


def test_the_published_graph_is_the_same(rng, published):
    X = rng.uniform(0.1, 0.9, (50, 6))
    assert dense(X, n_neighbors=5) == pytest.approx(published.published_laplacian(X, 5).toarray(), abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_copies_of_a_row_are_neighbours_and_nobody_is_its_own(rng, metric):
    # A row counted as its own neighbour would leave no trace but a neighbour too few: its loop drops out of D - S.
    X = np.tile(rng.uniform(0.1, 1, 6), (8, 1))
    for n_neighbors in (1, 3, 7):
        S = weights(dense(X, n_neighbors=n_neighbors, metric=metric))
        assert np.all(np.count_nonzero(S > 0.5, axis=1) >= n_neighbors)
    X = np.vstack([X[:2], rng.uniform(5, 6, (10, 6)) * np.array([1, -1, 1, -1, 1, -1])])
    assert dense(X, n_neighbors=1, metric=metric)[0, 1] == pytest.approx(-1)


def test_a_row_of_zeros_has_no_edge_and_takes_nobodys_place(rng):
    X = rng.uniform(0.1, 1, (20, 4))
    kept = np.sort(rng.permutation(30)[:20])
    padded = np.zeros((30, 4))
    padded[kept] = X
    laplacian = dense(padded, n_neighbors=3)
    assert laplacian[np.ix_(kept, kept)] == pytest.approx(dense(X, n_neighbors=3))
    assert np.count_nonzero(laplacian) == np.count_nonzero(laplacian[np.ix_(kept, kept)])


@pytest.mark.parametrize("metric", METRICS)
def test_rows_of_zeros_alone(metric):
    for X in (np.zeros((4, 3)), sparse.csr_array((4, 3))):
        assert not dense(X, metric=metric).any()


def test_opposite_rows_are_not_joined():
    X = np.array([[1.0, 0.0], [-1.0, 0.1], [-1.0, -0.1]])
    assert weights(dense(X, n_neighbors=2))[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("metric", METRICS)
def test_more_neighbours_than_there_are_join_everyone(rng, metric):
    X = rng.uniform(0.1, 1, (6, 3))
    everyone = dense(X, n_neighbors=5, metric=metric)
    assert np.all(everyone[~np.eye(6, dtype=bool)] < 0)
    for n_neighbors in (6, 100):
        assert np.array_equal(dense(X, n_neighbors=n_neighbors, metric=metric), everyone)


@pytest.mark.parametrize("metric", METRICS)
def test_one_row_and_two(metric):
    assert dense(np.ones((1, 3)), metric=metric).tolist() == [[0]]
    assert dense(np.array([[1.0, 0.0], [1.0, 1.0]]), metric=metric) == pytest.approx(
        np.array([[1, -1], [-1, 1]]) * np.sqrt(0.5)
    )


@pytest.mark.parametrize("metric", METRICS)
def test_a_larger_neighbourhood_keeps_the_edges_of_a_smaller(rng, metric):
    X = rng.uniform(0.1, 1, (30, 4))
    few, more = (weights(dense(X, n_neighbors=k, metric=metric)) > 0 for k in (2, 4))
    assert np.all(more[few]) and more.sum() > few.sum()


@pytest.mark.parametrize("metric", METRICS)
def test_renumbering_the_rows_renumbers_the_graph(rng, metric):
    X, order = rng.standard_normal((30, 4)), rng.permutation(30)
    assert dense(X[order], metric=metric) == pytest.approx(dense(X, metric=metric)[np.ix_(order, order)], abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_float32_stays_and_everything_else_becomes_float64(rng, metric):
    X = rng.uniform(0.1, 1, (30, 4))
    single = knn_laplacian(X.astype(np.float32), metric=metric)
    assert single.dtype == np.float32
    assert single.toarray() == pytest.approx(dense(X, metric=metric), abs=1e-5)
    assert np.abs(single.sum(axis=1)).max() < 1e-5
    assert knn_laplacian(sparse.csr_array(X.astype(np.float32)), metric=metric).dtype == np.float32
    counts = rng.integers(0, 9, (30, 4))
    for other in (X, X.astype(np.float16), counts, sparse.csr_array(counts)):
        assert knn_laplacian(other, metric=metric).dtype == np.float64


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("stored_as", STORED_AS)
def test_sparse_rows_give_the_graph_of_dense_rows(rng, metric, stored_as):
    X = rng.standard_normal((40, 12)) * (rng.random((40, 12)) < 0.4)
    X[7] = 0
    assert dense(stored_as(X), metric=metric) == pytest.approx(dense(X, metric=metric), abs=1e-12)


def test_the_length_of_a_row_plays_no_part_among_cosines(rng):
    X = rng.standard_normal((30, 4))
    lengths = 10 ** rng.uniform(-300, 300, (30, 1))
    assert dense(X * lengths) == pytest.approx(dense(X), abs=1e-10)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("stored_as", [np.asarray, sparse.csr_array])
def test_the_unit_of_measurement_plays_no_part(rng, metric, stored_as):
    X = rng.standard_normal((30, 4))
    for unit in (1e-100, 1e-10, 1e10, 1e100):
        assert dense(stored_as(unit * X), metric=metric) == pytest.approx(dense(X, metric=metric), abs=1e-10)


@pytest.mark.parametrize(
    ("metric", "stored_as", "dtype", "unit"),
    [
        ("cosine", sparse.csr_array, np.float64, 1e-200),
        ("cosine", sparse.csr_array, np.float64, 1e200),
        ("cosine", sparse.csr_array, np.float32, 1e20),
        ("euclidean", np.asarray, np.float64, 1e-200),
        ("euclidean", np.asarray, np.float64, 1e200),
        ("euclidean", sparse.csr_array, np.float32, 1e20),
    ],
)
def test_no_unit_of_measurement_is_too_large_or_too_small(rng, metric, stored_as, dtype, unit):
    X = rng.standard_normal((30, 4))
    rescaled = stored_as((unit * X).astype(dtype))
    assert dense(rescaled, metric=metric) == pytest.approx(dense(X, metric=metric), abs=1e-4)


def test_nan_is_not_taken_for_a_row_without_direction(rng):
    X = rng.uniform(0.1, 1, (10, 3))
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        knn_laplacian(X)


@pytest.mark.parametrize("metric", METRICS)
def test_input_is_read_and_not_written(rng, metric):
    X = rng.standard_normal((20, 4))
    expected, before = dense(X, metric=metric), X.copy()
    X.setflags(write=False)
    assert np.array_equal(dense(X, metric=metric), expected) and np.array_equal(X, before)
    assert dense(np.asfortranarray(X), metric=metric) == pytest.approx(expected, abs=1e-12)
    stored = sparse.csr_array(X)
    dense(stored, metric=metric)
    assert np.array_equal(stored.toarray(), before)


def test_the_graph_is_sparse(rng):
    laplacian = knn_laplacian(rng.standard_normal((500, 10)), n_neighbors=4)
    assert sparse.issparse(laplacian) and laplacian.format == "csr"
    assert laplacian.nnz <= 500 * (1 + 2 * 4)


def test_errors_say_what_is_allowed():
    X = np.ones((4, 2))
    with pytest.raises(ValueError, match=r"metric must be one of \('cosine', 'euclidean'\), got 'manhattan'"):
        knn_laplacian(X, metric="manhattan")
    with pytest.raises(ValueError, match="n_neighbors must be at least 1, got 0"):
        knn_laplacian(X, n_neighbors=0)
