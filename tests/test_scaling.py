import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler

from selftaught.scaling import FeatureScaling, IdentityScaling, fit_scaling
from selftaught.source import SourcePool


@pytest.fixture
def X_source(rng):
    return rng.standard_normal((40, 5)) * [1, 10, 1e6, 1e-9, 1] + [0, 3, 1e9, 0, -2]


@pytest.fixture
def X_target(rng):
    return rng.standard_normal((7, 5)) * [1, 20, 1e6, 1e-9, 3] + [1, 3, 1e9, 0, -2]


def scale_column(*values, dtype: type = np.float64):
    """One feature, fitted on these values and applied to them."""
    X = np.array(values, dtype)[:, None]
    return fit_scaling(None, X).apply(X)[:, 0]


def test_it_is_min_max_scaling_of_source_and_target_together(X_source, X_target):
    reference = MinMaxScaler((0.1, 0.9)).fit(np.vstack([X_source, X_target]))
    scaling = fit_scaling(SourcePool(X_source, block_rows=7), X_target)
    assert_allclose(scaling.apply(X_target), reference.transform(X_target), rtol=1e-9)
    assert_allclose(scaling.apply(X_source), reference.transform(X_source), rtol=1e-9)


def test_floor_and_ceiling_are_reached(X_source, X_target):
    for floor, ceiling in [(0.1, 0.9), (0.0, 1.0), (0.25, 0.5)]:
        scaling = fit_scaling(SourcePool(X_source), X_target, floor=floor, ceiling=ceiling)
        scaled = np.vstack([scaling.apply(X_source), scaling.apply(X_target)])
        assert scaled.min() == floor and scaled.max() <= ceiling
        assert_allclose(scaled.min(axis=0), floor, rtol=1e-15)
        assert_allclose(scaled.max(axis=0), ceiling, rtol=1e-15)


def test_without_a_source_the_target_alone_counts(X_target):
    assert_allclose(
        fit_scaling(None, X_target).apply(X_target), MinMaxScaler((0.1, 0.9)).fit_transform(X_target), rtol=1e-9
    )


def test_blocks_storage_and_order_of_rows_do_not_matter(X_source, X_target, rng):
    expected = fit_scaling(SourcePool(X_source), X_target)
    shuffled = X_source[rng.permutation(len(X_source))]
    for given in (X_source, shuffled, sparse.csc_array(X_source), pd.DataFrame(X_source), (X_source[:9], X_source[9:])):
        scaling = fit_scaling(SourcePool(given, block_rows=3), X_target)
        assert_array_equal(scaling.low, expected.low)
        assert_array_equal(scaling.high, expected.high)


def test_scaling_does_not_depend_on_the_unit_of_a_feature(X_source, X_target):
    # grams or tons, as long as the conversion is exact
    expected = fit_scaling(SourcePool(X_source), X_target).apply(X_target)
    for unit in (2.0**-900, 0.25, 2.0**900):
        assert_array_equal(fit_scaling(SourcePool(X_source * unit), X_target * unit).apply(X_target * unit), expected)


def test_new_rows_stay_inside(X_source, X_target):
    scaling = fit_scaling(SourcePool(X_source), X_target)
    far = np.array([[1e308] * 5, [-1e308] * 5, [0.0] * 5])
    assert_allclose(scaling.apply(far)[:2], [[0.9] * 5, [0.1] * 5], rtol=1e-15)
    assert np.all((scaling.apply(far) >= 0.1) & (scaling.apply(far) <= 0.9))


@pytest.mark.parametrize("value", [0.0, 5.0, -1e308, 1e308, 5e-324])
def test_a_constant_feature_becomes_the_midpoint(value):
    scaling = fit_scaling(SourcePool(np.full((3, 1), value)), np.full((2, 1), value))
    assert_array_equal(scaling.apply([[value], [0.0], [1.7e308], [-1.7e308]]), [[0.5]] * 4)
    assert_allclose(fit_scaling(None, [[value]], floor=0.2, ceiling=0.4).apply([[value]]), [[0.3]])


HUGE, TINY = np.finfo(np.float64).max, 5e-324


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((-HUGE, 0.0, HUGE), (0.1, 0.5, 0.9)),  # the range overflows
        ((-HUGE, -HUGE / 2, 0.0), (0.1, 0.5, 0.9)),
        ((1e300, 1.5e300, 2e300), (0.1, 0.5, 0.9)),
        ((0.0, 2 * TINY, 4 * TINY), (0.1, 0.5, 0.9)),  # 1 / range overflows
        ((0.0, TINY), (0.1, 0.9)),
        ((1.0, np.nextafter(1.0, 2.0)), (0.1, 0.9)),  # neighbouring numbers
        ((HUGE, np.nextafter(HUGE, 0.0)), (0.9, 0.1)),
        ((1e9, 1e9 + 0.5, 1e9 + 1), (0.1, 0.5, 0.9)),  # far from zero
        ((-1e300, 0.0, 1e-300, 1e300), (0.1, 0.5, 0.5, 0.9)),
    ],
)
def test_extreme_ranges(values, expected):
    assert_allclose(scale_column(*values), expected, rtol=1e-12)


def test_extreme_ranges_in_float32():
    huge, tiny = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal
    for values in [(-huge, 0.0, huge), (0.0, 2 * tiny, 4 * tiny), (2.0**24 - 2, 2.0**24 - 1, 2.0**24)]:
        scaled = scale_column(*values, dtype=np.float32)
        assert scaled.dtype == np.float32
        assert_allclose(scaled, [0.1, 0.5, 0.9], rtol=1e-6)


def test_extreme_features_do_not_disturb_their_neighbours(rng):
    X = rng.standard_normal((30, 3))
    alone = fit_scaling(None, X[:, [1]]).apply(X[:, [1]])
    X[:, 0] *= 1e307
    X[:, 2] *= 1e-320
    assert_array_equal(fit_scaling(None, X).apply(X)[:, [1]], alone)


def test_float32_stays_float32_and_agrees_with_float64(X_source, X_target):
    for dtype in (np.float32, ">f4"):
        single = X_source.astype(dtype)
        scaling = fit_scaling(SourcePool(single), X_target.astype(dtype))
        scaled = scaling.apply(single)
        assert scaled.dtype == scaling.apply_to_pool(SourcePool(single)).dtype == np.float32
        assert_allclose(scaled, scaling.apply(single.astype(np.float64)), rtol=1e-6)
    assert fit_scaling(None, [[1], [3]]).apply([[2]]).dtype == np.float64


def test_a_float32_source_under_a_float64_target_keeps_its_digits():
    # 2**24 + 0.5 is no float32 number: a shift by it in float32 would be a shift by 2**24
    source = SourcePool(np.array([[2.0**24 + 4]], np.float32))
    scaling = fit_scaling(source, np.array([[2.0**24 + 0.5]]))
    assert_allclose(scaling.apply(np.array([[2.0**24 + 2]], np.float32)), [[0.1 + 0.8 * 1.5 / 3.5]], rtol=1e-6)


def test_a_pool_is_scaled_like_an_array(X_source, X_target):
    pool = SourcePool(X_source, block_rows=7)
    scaling = fit_scaling(pool, X_target)
    assert_array_equal(scaling.apply_to_pool(pool), scaling.apply(X_source))
    single = scaling.apply_to_pool(pool, np.float32)
    assert_array_equal(single, scaling.apply(X_source).astype(np.float32), strict=True)


def test_many_rows_are_scaled_in_steps_like_few(rng):
    X = rng.standard_normal((2**20 // 64 + 9, 64))
    scaling = fit_scaling(None, X)
    assert_array_equal(scaling.apply(X)[-20:], scaling.apply(X[-20:]))


def test_scaling_a_pool_holds_one_table_and_a_block():
    pool = SourcePool(np.ones((40_000, 50), np.float32), block_rows=1000)
    scaling = fit_scaling(pool, np.zeros((1, 50)))
    tracemalloc.start()
    scaled = scaling.apply_to_pool(pool)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * scaled.nbytes


def test_inputs_are_never_modified(X_source, X_target):
    for scaling in (fit_scaling(SourcePool(X_source), X_target), IdentityScaling()):
        before = X_source.copy(), X_target.copy(), pickle.dumps(scaling)
        scaling.apply(X_target)[:] = 0.5  # the result is a new array
        scaling.apply_to_pool(SourcePool(X_source))
        assert_array_equal(X_source, before[0])
        assert_array_equal(X_target, before[1])
        assert pickle.dumps(scaling) == before[2]


def test_identity_changes_and_clips_nothing(X_source):
    identity = IdentityScaling()
    assert_array_equal(identity.apply(1e6 * X_source), 1e6 * X_source)
    assert_array_equal(identity.apply_to_pool(SourcePool(X_source)), X_source)
    assert_array_equal(
        identity.apply_to_pool(SourcePool(X_source), np.float32), X_source.astype(np.float32), strict=True
    )
    assert identity.apply(X_source.astype(np.float32)).dtype == np.float32
    assert identity.apply(np.array([[1, 2]])).dtype == np.float64


def test_records_survive_pickling(X_source, X_target):
    scaling = fit_scaling(SourcePool(X_source), X_target)
    again = pickle.loads(pickle.dumps(scaling))
    assert isinstance(again, FeatureScaling)
    assert_array_equal(again.apply(X_target), scaling.apply(X_target))


def test_widths_must_agree(X_source, X_target):
    source = SourcePool(X_source)
    scaling = fit_scaling(source, X_target)
    for wrong in (
        lambda: fit_scaling(source, X_target[:, :1]),
        lambda: scaling.apply(X_target[:, :1]),
        lambda: scaling.apply_to_pool(SourcePool(X_source[:, :1])),
    ):
        with pytest.raises(
            ValueError, match=r"the data have \d features, .* made for \d\. Give source, target and new"
        ):
            wrong()


@pytest.mark.parametrize(("floor", "ceiling"), [(0.9, 0.1), (0.5, 0.5), (np.nan, 0.9)])
def test_floor_must_lie_below_ceiling(X_target, floor, ceiling):
    with pytest.raises(ValueError, match=f"floor must be less than ceiling, got floor={floor} and ceiling={ceiling}"):
        fit_scaling(None, X_target, floor=floor, ceiling=ceiling)


def test_a_bad_source_is_named_while_fitting(X_source, X_target):
    X_source[3, 1] = np.nan
    with pytest.raises(ValueError, match="X_source has nan in row 3, column 1"):
        fit_scaling(SourcePool(X_source), X_target)
