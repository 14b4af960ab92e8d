"""Products of rows: what they are, and that a row does not see its company."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selftaught.encoders.row_products import row_products


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 95, 96, 97, 300])
def test_it_is_the_matrix_product(n, dtype, rng):
    X, B = rng.standard_normal((n, 7)).astype(dtype), rng.standard_normal((7, 5)).astype(dtype)
    product = row_products(X, B)
    assert product.shape == (n, 5) and product.dtype == np.float64
    assert_allclose(product, X.astype(float) @ B.astype(float), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("d", "k"), [(3, 5), (64, 37), (256, 257), (641, 130), (1000, 64)])
def test_no_bit_depends_on_the_rows_beside_it(d, k, dtype, rng):
    X, B = rng.standard_normal((200, d)).astype(dtype), rng.standard_normal((k, d)).astype(dtype).T
    together, order = row_products(X, B), rng.permutation(200)
    assert_array_equal(row_products(X[order], B), together[order])
    assert_array_equal(row_products(X[:33], B), together[:33])
    assert_array_equal(np.vstack([row_products(X[i : i + 1], B) for i in (0, 7, 199)]), together[[0, 7, 199]])
