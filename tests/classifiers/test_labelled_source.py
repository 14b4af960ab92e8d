"""From a fitted selector to labelled rows in the coordinates of the classifier."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportCallIssue=false

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from selftaught import SourcePool
from selftaught.classifiers.frames import fit_frame
from selftaught.classifiers.labelled_source import label_source
from selftaught.scaling import IdentityScaling


@pytest.fixture
def rows(rng):
    return rng.normal(size=(4, 3)), rng.normal(size=(6, 3))


@pytest.fixture
def labelling(rows):
    """A selector that ranks row 4 before 1 before 3 and uses no other; target rows 0 and 1 are of class 0."""
    X, X_source = rows
    mapping = np.zeros((6, 4))
    mapping[4], mapping[1], mapping[3] = [3, 0, 4, 0], [0, 1, 0, 0], [1, 1, 1, 1]
    selector = SimpleNamespace(
        weights_=np.array([0, 0.5, 0, 0.25, 1, 0]),
        ranking_=np.array([4, 1, 3, 0, 2, 5]),
        mapping_=sparse.csr_array(mapping),
        encode=lambda rows: 2 * rows,
    )

    def label(**changes):
        options = dict(most=6, transferability="mapping", average=False, labels="soft", sigma2=1.0) | changes
        frame = fit_frame(IdentityScaling(), SourcePool(X_source), X, unit=True)
        y = np.array([0, 0, 1, 1])
        return label_source(selector, SourcePool(X_source), X, y, 2, frame, **options), frame

    return label


def test_rows_come_in_order_of_relevance_in_the_frame_with_their_weights(labelling, rows):
    source, frame = labelling()
    assert_array_equal(source.rows, [4, 1, 3])
    assert_array_equal(source.weights, [1, 0.5, 0.25])
    assert_array_equal(source.X, frame.apply(rows[1][[4, 1, 3]]))


@pytest.mark.parametrize("most", [0, 1, 2, 3, 6, 100])
def test_rows_of_weight_zero_are_never_used_however_many_are_asked_for(labelling, most):
    source, _ = labelling(most=most)
    assert_array_equal(source.rows, [4, 1, 3][:most])
    assert source.X.shape == (min(most, 3), 3) and source.labels.shape == (min(most, 3), 2)


def test_labels_from_the_mapping_are_shares_of_its_squares(labelling):
    assert_allclose(labelling()[0].labels, [[9 / 25, 16 / 25], [1, 0], [0.5, 0.5]])
    assert_array_equal(labelling(labels="hard")[0].labels, [[0, 1], [1, 0], [1, 0]])
    assert_array_equal(labelling(labels="uniform")[0].labels, np.full((3, 2), 0.5))


def test_labels_from_gaussians_compare_the_selectors_own_coordinates(labelling, rows):
    X, X_source = rows
    codes, means = 2 * X_source[[4, 1, 3]], 2 * np.stack([X[:2].mean(axis=0), X[2:].mean(axis=0)])
    density = np.exp(-((codes[:, None] - means) ** 2).sum(axis=2) / (2 * 0.7))
    expected = density / density.sum(axis=1, keepdims=True)
    assert_allclose(labelling(transferability="gaussian", sigma2=0.7)[0].labels, expected, rtol=1e-9)


def test_no_rows_have_no_labels_of_either_kind(labelling):
    for transferability in ("mapping", "gaussian"):
        assert labelling(transferability=transferability, most=0)[0].labels.shape == (0, 2)
