"""The coordinates in which the classifier sees rows."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportCallIssue=false

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_problems import FoldingEncoder

from selftaught import SourcePool
from selftaught.classifiers.frames import fit_code_frame, fit_frame
from selftaught.scaling import IdentityScaling, fit_scaling


@pytest.fixture
def rows(rng):
    return rng.normal(size=(4, 3)), rng.normal(size=(6, 3))


# Rows as they are


def test_a_unit_frame_centres_at_the_mean_of_source_and_target_and_normalises(rows):
    X, X_source = rows
    frame = fit_frame(IdentityScaling(), SourcePool(X_source), X, unit=True)
    middle = np.concatenate([X, X_source]).mean(axis=0)
    assert_allclose(frame.apply(X), (X - middle) / np.linalg.norm(X - middle, axis=1, keepdims=True), rtol=1e-12)


def test_a_scaled_frame_scales_and_nothing_else(rows):
    X, X_source = rows
    scaling = fit_scaling(SourcePool(X_source), X)
    assert_array_equal(fit_frame(scaling, SourcePool(X_source), X, unit=False).apply(X), scaling.apply(X))


def test_the_middle_is_that_of_the_scaled_rows(rows):
    X, X_source = rows
    scaling = fit_scaling(SourcePool(X_source), X)
    frame = fit_frame(scaling, SourcePool(X_source), X, unit=True)
    assert_allclose(frame.middle, scaling.apply(np.concatenate([X, X_source])).mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("block_rows", [1, 4])
def test_the_middle_does_not_depend_on_blocks(rows, block_rows):
    X, X_source = rows
    whole = fit_frame(IdentityScaling(), SourcePool(X_source), X, unit=True)
    blocked = fit_frame(IdentityScaling(), SourcePool(X_source, block_rows=block_rows), X, unit=True)
    assert_allclose(blocked.middle, whole.middle, rtol=1e-12, atol=1e-15)


def test_without_a_source_the_middle_is_that_of_the_target(rows):
    assert_allclose(fit_frame(IdentityScaling(), None, rows[0], unit=True).middle, rows[0].mean(axis=0))


def test_a_row_in_the_middle_stays_there_instead_of_becoming_nan():
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    frame = fit_frame(IdentityScaling(), None, X, unit=True)
    assert_array_equal(frame.apply(np.array([[2.0, 3.0]])), [[0, 0]])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_frame_keeps_the_dtype_and_leaves_its_input(rows, dtype):
    X = rows[0].astype(dtype)
    kept = X.copy()
    assert fit_frame(IdentityScaling(), SourcePool(rows[1]), X, unit=True).apply(X).dtype == dtype
    assert_array_equal(X, kept)


# Codes


def test_codes_are_standardised_by_those_of_the_target(rows):
    X, X_source = rows
    encoder = FoldingEncoder().fit(X, X_source=SourcePool(X_source))
    frame = fit_code_frame(encoder, X)
    assert_allclose(frame.apply(X).mean(axis=0), 0, atol=1e-12)
    assert_allclose(frame.apply(X).std(axis=0), 1)
    codes = encoder.transform(X)
    assert_allclose(frame.apply(X_source), (encoder.transform(X_source) - codes.mean(axis=0)) / codes.std(axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_code_that_is_the_same_for_the_whole_target_says_nothing_of_any_row(rows, dtype):
    X, X_source = (part.astype(dtype) for part in rows)
    X[:, 1] = 0.1  # its code is constant up to the last digit
    frame = fit_code_frame(FoldingEncoder(scale=False).fit(X, X_source=SourcePool(X_source)), X)
    coded = frame.apply(X_source)
    assert coded.dtype == dtype
    assert_array_equal(coded[:, 1], 0)
    assert (coded[:, [0, 2]] != 0).all()
