"""Descriptors by matrix products: equal to the sum over pixels as it is defined, and to OpenCV's SIFT."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from picture_files import picture
from scipy.ndimage import gaussian_filter

from selftaught.features.dense_sift import DESCRIPTOR, dense_sift


@pytest.fixture
def grey(rng):
    return picture(rng, 41, 61).mean(axis=2).astype(np.float32) + rng.normal(0, 5, (41, 61)).astype(np.float32)


def by_definition(grey, y, x, cell, blur):
    """One descriptor, pixel by pixel, cell by cell, direction by direction, before it is normalised."""
    smooth = np.pad(gaussian_filter(grey.astype(np.float64), blur, mode="nearest", truncate=3), 1, mode="edge")
    found = np.zeros((4, 4, 8))
    for row in range(grey.shape[0]):
        for column in range(grey.shape[1]):
            down = smooth[row + 2, column + 1] - smooth[row, column + 1]
            right = smooth[row + 1, column + 2] - smooth[row + 1, column]
            direction = np.arctan2(down, right) / (np.pi / 4) % 8
            t_y, t_x = (row - y) / cell, (column - x) / cell
            window = np.exp(-(t_y**2 + t_x**2) / 8) * np.hypot(down, right)
            for i in range(4):
                share_y = max(0, 1 - abs(t_y - (i - 1.5)))
                for j in range(4):
                    share_x = max(0, 1 - abs(t_x - (j - 1.5)))
                    low = int(direction)
                    found[i, j, low % 8] += window * share_y * share_x * (1 - (direction - low))
                    found[i, j, (low + 1) % 8] += window * share_y * share_x * (direction - low)
    return found.ravel()


def normalized(descriptor, root):
    descriptor = np.minimum(descriptor / np.linalg.norm(descriptor), 0.2)
    return np.sqrt(descriptor / descriptor.sum()) if root else descriptor / np.linalg.norm(descriptor)


@pytest.mark.parametrize("root", [True, False])
def test_descriptors_are_the_sums_over_pixels(grey, root):
    # 41 and 61 pixels, a step of 20: points at 10, 30 and 10, 30, 50
    found = dense_sift(grey, 5.0, 20, root=root, blur=1.1)
    points = [(y, x) for y in (10, 30) for x in (10, 30, 50)]
    assert found.shape == (6, DESCRIPTOR) and found.dtype == np.float32
    for descriptor, (y, x) in zip(found, points, strict=True):
        assert_allclose(descriptor, normalized(by_definition(grey, y, x, 5.0, 1.1), root), atol=2e-5)


@pytest.mark.parametrize("size", [4, 8, 16])
def test_descriptors_are_those_of_opencv(size, rng):
    # OpenCV rounds to bytes, approximates the angle, leaves out the outermost pixels and blurs by 1.6 in all.
    cv2 = pytest.importorskip("cv2")
    grey = picture(rng, 141, 181).mean(axis=2).round() + rng.integers(-9, 9, (141, 181))
    grey = grey.clip(0, 255).astype(np.uint8)
    points = [
        cv2.KeyPoint(float(x), float(y), float(size), 0.0) for y in range(10, 131, 20) for x in range(10, 171, 20)
    ]
    theirs = cv2.SIFT_create().compute(grey, points)[1]
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    ours = dense_sift(grey.astype(np.float32), 1.5 * size, 20, root=False, blur=np.sqrt(1.6**2 - 0.5**2))
    ours = ours.reshape(-1, 4, 4, 8)[..., -np.arange(8) % 8].reshape(-1, DESCRIPTOR)  # theirs turn the other way
    alike = (ours * theirs).sum(axis=1)
    assert alike.shape == (7 * 9,) and np.median(alike) > 0.998 and alike.min() > 0.98


def test_an_edge_points_one_way():
    grey = np.zeros((40, 40), np.float32)
    grey[:, 20:] = 100
    descriptors = dense_sift(grey, 5.0, 40).reshape(4, 4, 8)
    assert (descriptors[..., 0] > 0).any() and not descriptors[..., 1:].any(), "brighter to the right: direction 0"
    assert_allclose(dense_sift(grey.T, 5.0, 40).reshape(4, 4, 8)[..., 2].T, descriptors[..., 0], atol=1e-6)


def test_brightness_and_contrast_change_nothing(grey):
    assert_allclose(dense_sift(0.5 * grey + 50, 6.0, 10), dense_sift(grey, 6.0, 10), atol=2e-3)


def test_a_turned_image_has_turned_descriptors(grey):
    turned = dense_sift(np.ascontiguousarray(grey[::-1, ::-1]), 6.0, 20).reshape(-1, 4, 4, 8)[::-1, ::-1, ::-1]
    expected = dense_sift(grey, 6.0, 20).reshape(-1, 4, 4, 8)
    assert_allclose(np.roll(turned, 4, axis=-1), expected, atol=1e-4)


@pytest.mark.parametrize("root", [True, False])
def test_all_descriptors_have_unit_length_or_none(grey, root):
    grey[:, 30:] = 128
    lengths = np.linalg.norm(dense_sift(grey, 2.0, 5, root=root), axis=1)
    assert_array_equal(np.unique(lengths.round(5)), [0, 1])


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1), (2, 2), (7, 3)])
def test_the_smallest_images_have_one_descriptor_at_least(shape, rng):
    found = dense_sift(rng.random(shape, dtype=np.float32), 6.0, 8)
    assert found.shape == (max(1, shape[0] // 8) * max(1, shape[1] // 8), DESCRIPTOR)
    assert np.isfinite(found).all()
