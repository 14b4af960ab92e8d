"""Distances against differences in exact arithmetic, percentiles against NumPy's on the list of all pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist

from selftaught.selectors import distances as distances_module
from selftaught.selectors.distances import order_statistics, pair_percentiles, squared_distances

PERCENTILES = (0, 5, 37.5, 50, 95, 100)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_near_copies_keep_the_digits_of_their_distance(rng, offset):
    # by the product alone a distance of 1e-6 at 1e3 from the centre is lost altogether
    X = rng.normal(size=(30, 7)) + offset
    Y = np.concatenate([X + 1e-6 * rng.normal(size=X.shape), X[:3], rng.normal(size=(5, 7))])
    exact = cdist(X.astype(np.longdouble), Y.astype(np.longdouble), "sqeuclidean")
    assert_allclose(squared_distances(X, Y), exact, rtol=1e-11, atol=0)


def test_a_row_is_at_distance_zero_of_its_copy_and_of_no_other(rng):
    X = rng.normal(size=(40, 5))
    assert_array_equal(squared_distances(X, X) == 0, np.eye(40, dtype=bool))


def test_many_close_pairs_are_taken_from_differences_in_pieces(rng, monkeypatch):
    monkeypatch.setattr(distances_module, "BLOCK_VALUES", 10)
    X = 100 + rng.normal(size=(20, 4))
    assert_allclose(squared_distances(X, X), cdist(X, X, "sqeuclidean"), rtol=1e-12)


def test_float32_stays_float32(rng):
    X, Y = rng.normal(size=(20, 6)), rng.normal(size=(30, 6))
    found = squared_distances(X.astype(np.float32), Y.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(found, cdist(X, Y, "sqeuclidean"), rtol=1e-5)


@pytest.mark.parametrize("held", [0, 2**22])
@pytest.mark.parametrize("shape", [(2, 1), (3, 4), (90, 3), (400, 2)])
def test_percentiles_are_those_of_the_list_of_all_pairs(rng, shape, held, monkeypatch):
    monkeypatch.setattr(distances_module, "MOST_KEPT", held)
    X = rng.normal(size=shape)
    found = pair_percentiles(X - X.mean(axis=0), PERCENTILES)
    assert_allclose(found, np.percentile(pdist(X), PERCENTILES), rtol=1e-12)


NUMBERS = {
    "normal": lambda rng: rng.normal(size=5000),
    "few values": lambda rng: rng.integers(4, size=5000).astype(float),
    "one value": lambda rng: np.full(5000, 3.0),
    "outlier": lambda rng: np.append(rng.normal(size=4999), 1e30),
    "crowded": lambda rng: np.concatenate([1 + 1e-12 * rng.random(4000), rng.random(1000)]),
    "tiny": lambda rng: 1e-300 * rng.random(5000),
}


@pytest.mark.parametrize("numbers", NUMBERS)
def test_order_statistics_are_exact_whatever_the_distribution(rng, numbers):
    # few cells and little room, so that cells are counted again
    values, ranks = NUMBERS[numbers](rng), np.array([0, 7, 2500, 2501, 4998, 4999])
    held, largest = np.array_split(values, 7), []

    def read():
        return iter(held)

    sort = np.sort

    def watched(a):
        largest.append(len(a))
        return sort(a)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "sort", watched)
        found = order_statistics(read, ranks, cells=16, most_kept=200)
    assert_array_equal(found, np.sort(values)[ranks])
    assert max(largest, default=0) <= 200, "more numbers held than allowed"
