"""The projection: scikit-learn's PCA from blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA

from selftaught.encoders.projection import fit_projection


def rows_of_rank(n, d, rng, spread=2.0):
    """Rows with variances that fall off, around a mean that is not zero."""
    return rng.standard_normal((n, d)) * np.exp(-spread * np.arange(d) / d) @ np.linalg.qr(rng.standard_normal((d, d)))[
        0
    ] + rng.standard_normal(d)


SHAPES = [(60, 12), (12, 12), (13, 12), (9, 30), (2, 5)]


@pytest.mark.parametrize("keep", [0.5, 0.96, 1.0, 1, 3, 100])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_it_is_the_pca_of_scikit_learn(n, d, keep, rng):
    X = rows_of_rank(n, d, rng)
    ours = fit_projection(lambda: [X], keep)
    most = min(n - 1, d)
    wanted = most if keep == 1.0 and isinstance(keep, float) else min(keep, most) if isinstance(keep, int) else keep
    theirs = PCA(wanted, svd_solver="full").fit(X)
    assert ours.axes.shape == theirs.components_.shape
    assert_allclose(ours.mean, theirs.mean_, atol=1e-12)
    assert_allclose(ours.shares, theirs.explained_variance_ratio_, atol=1e-12)
    signs = np.sign(np.einsum("ij,ij->i", ours.axes, theirs.components_))
    assert_allclose(ours.axes * signs[:, None], theirs.components_, atol=1e-8)
    assert_allclose(ours.apply(X) * signs, theirs.transform(X), atol=1e-8)


@pytest.mark.parametrize("keep", [0.1, 0.7, 0.96, 0.999])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_no_fewer_directions_than_the_share_needs_and_no_more(n, d, keep, rng):
    X = rows_of_rank(n, d, rng)
    kept = fit_projection(lambda: [X], keep)
    total = ((X - X.mean(axis=0)) ** 2).sum()
    shares = np.cumsum((kept.apply(X) ** 2).sum(axis=0)) / total
    assert shares[-1] >= keep - 1e-9
    assert len(shares) == 1 or shares[-2] < keep
    assert kept.shares.sum() == pytest.approx(shares[-1])


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_blocks_give_what_the_whole_gives(n, d, rng):
    X = rows_of_rank(n, d, rng)
    whole = fit_projection(lambda: [X], 0.9)
    in_blocks = fit_projection(lambda: np.array_split(X, 4), 0.9)
    assert_allclose(in_blocks.axes, whole.axes, atol=1e-9)
    assert_allclose(in_blocks.shares, whole.shares, atol=1e-12)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_of_an_axis_and_its_opposite_one_is_chosen_by_rule(n, d, rng):
    # the two ways to the axes, by features and by rows, meet when rows are repeated
    X = rows_of_rank(n, d, rng)
    axes = fit_projection(lambda: [X], 3).axes
    assert (axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] > 0).all()
    by_features = fit_projection(lambda: [X] * 20, 3).axes
    assert_allclose(by_features[: len(axes)], axes, atol=1e-8)


@pytest.mark.parametrize(("n", "d"), [(80, 40), (40, 80)])
def test_axes_are_orthonormal_down_to_the_faintest(n, d, rng):
    # variances over twelve powers of ten: inner products of rows alone lose the small ones
    X = rows_of_rank(n, d, rng, spread=14.0 * d / min(n, d))
    axes = fit_projection(lambda: [X], 1.0).axes
    assert len(axes) > 20
    assert_allclose(axes @ axes.T, np.eye(len(axes)), atol=1e-10)


@pytest.mark.parametrize(("n", "d"), [(60, 12), (9, 30)])
def test_float32_stays_float32_and_directions_are_found_in_float64(n, d, rng):
    X = rows_of_rank(n, d, rng).astype(np.float32)
    small, wide = fit_projection(lambda: [X], 0.9), fit_projection(lambda: [X.astype(float)], 0.9)
    assert_allclose(small.axes, wide.axes, atol=1e-9)
    assert small.apply(X).dtype == np.float32


def test_a_row_alone_has_the_coordinates_it_has_in_a_batch(rng):
    X = rows_of_rank(300, 70, rng)
    projection, order = fit_projection(lambda: [X], 0.96), rng.permutation(300)
    together = projection.apply(X)
    assert_array_equal(projection.apply(X[order]), together[order])
    assert_array_equal(projection.apply(X[5:6]), together[5:6])


@pytest.mark.parametrize("keep", [0.96, 1.0, 2])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3])
@pytest.mark.parametrize("d", [3, 40])
def test_rows_that_are_all_the_same_are_refused(d, value, keep):
    X = np.full((20, d), value)
    with pytest.raises(ValueError, match=r"one and the same row throughout.*Give rows that differ, or pca=None"):
        fit_projection(lambda: np.array_split(X, 3), keep)


def test_repeated_rows_have_as_many_directions_as_they_span(rng):
    two = rng.standard_normal((2, 6))
    assert fit_projection(lambda: [np.repeat(two, 10, axis=0)], 1.0).axes.shape == (1, 6)
    assert fit_projection(lambda: [np.repeat(two, 10, axis=0)], 4).axes.shape == (1, 6)
