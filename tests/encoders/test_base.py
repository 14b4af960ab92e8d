"""What encoders share: reading, scaling, projecting, coding in blocks; on an encoder that returns the coordinates."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from selftaught import SourcePool
from selftaught._parameters import check_parameters
from selftaught.encoders import SourceEncoder
from selftaught.encoders import base as base_module
from selftaught.encoders.base import COMMON_PARAMETERS


class Coordinates(SourceEncoder):
    """Codes are the coordinates themselves."""

    def __init__(self, scale=True, pca: float | None = 0.9):
        self.scale = scale
        self.pca = pca

    def fit(self, X, y=None, *, X_source=None):
        check_parameters(self, COMMON_PARAMETERS)
        self.codes_target_, pool = self._open(X, X_source)
        self.coordinates_source_ = self._source_coordinates(pool, self.codes_target_.shape[1])
        self.components_ = np.eye(self.codes_target_.shape[1])
        return self

    def _encode(self, rows):
        return rows


@pytest.fixture
def rows(rng):
    """Target (6, 10) and source (40, 10)."""
    mixing = rng.standard_normal((10, 10))
    return rng.standard_normal((6, 10)) @ mixing, rng.standard_normal((40, 10)) @ mixing


def unit(X, both):
    return 0.1 + 0.8 * (X - both.min(axis=0)) / np.ptp(both, axis=0)


@pytest.mark.parametrize("scale", [True, False])
def test_scaling_and_projection_are_fitted_on_source_and_target(scale, rows):
    X, X_source = rows
    encoder = Coordinates(scale).fit(X, X_source=X_source)
    both = np.vstack([X_source, X])
    if scale:
        X, X_source, both = (unit(part, both) for part in (X, X_source, both))
    pca = PCA(0.9, svd_solver="full").fit(both)
    assert_allclose(encoder.pca_.shares, pca.explained_variance_ratio_)
    assert_allclose(np.abs(encoder.codes_target_), np.abs(pca.transform(X)), atol=1e-9)
    assert_allclose(np.abs(encoder.coordinates_source_), np.abs(pca.transform(X_source)), atol=1e-9)


def test_a_source_in_blocks_gives_what_one_in_memory_gives(rows):
    X, X_source = rows
    whole = Coordinates().fit(X, X_source=X_source)
    blocks = Coordinates().fit(X, X_source=SourcePool((X_source[:13], X_source[13:]), block_rows=7))
    assert_allclose(blocks.coordinates_source_, whole.coordinates_source_, atol=1e-9)


def test_the_rows_of_the_pool_are_never_held_at_once(rows, monkeypatch):
    X, X_source = rows
    monkeypatch.setattr(SourcePool, "to_array", lambda *_, **__: pytest.fail("the whole source was read"))
    read = []
    original = SourcePool.blocks

    def blocks(self):
        for rows, block in original(self):
            read.append(len(block))
            yield rows, block

    monkeypatch.setattr(SourcePool, "blocks", blocks)
    Coordinates().fit(X, X_source=SourcePool(X_source, block_rows=7))
    assert max(read) == 7


@pytest.mark.parametrize(("pca", "width"), [(None, 10), (4, 4), (1.0, 10), (100, 10)])
def test_what_pca_takes(pca, width, rows):
    X, X_source = rows
    encoder = Coordinates(pca=pca).fit(X, X_source=X_source)
    assert encoder.transform(X).shape == (6, width)
    assert (encoder.pca_ is None) == (pca is None)
    if pca is None:
        assert_allclose(encoder.codes_target_, unit(X, np.vstack([X_source, X])))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            dict(pca=0.0),
            r"pca must be a whole number of at least 1, or a number above 0 and at most 1, or None, got 0\.0",
        ),
        (dict(pca=1.5), r"got 1\.5\."),
        (dict(pca=0), r"got 0\."),
        (dict(pca=True), r"got True\."),
        (dict(pca="all"), r"got 'all'\."),
        (dict(scale=1), r"scale must be True or False, got 1\."),
    ],
)
def test_common_parameters_out_of_range(changes, message, rows):
    with pytest.raises(ValueError, match=message):
        Coordinates(**changes).fit(*rows)


def test_transform_codes_rows_in_blocks_each_as_if_alone(rows, monkeypatch):
    X, X_source = rows
    encoder = Coordinates().fit(X, X_source=X_source)
    together = encoder.transform(X_source)
    assert_array_equal(together, encoder.coordinates_source_)
    assert_array_equal(encoder.transform(X), encoder.codes_target_)
    monkeypatch.setattr(base_module, "BLOCK_ROWS", 7)
    assert_array_equal(encoder.transform(X_source), together)
    assert_array_equal(np.vstack([encoder.transform(row[None]) for row in X_source]), together)


@pytest.mark.parametrize("source", [True, False])
def test_the_wider_of_the_two_types_decides(source, rows):
    X, X_source = (part.astype(np.float32) for part in rows)
    assert Coordinates().fit(X, X_source=X_source if source else None).transform(X).dtype == np.float32
    assert Coordinates().fit(X, X_source=X_source.astype(float)).transform(X).dtype == np.float64


def test_without_a_source_the_target_is_all_there_is(rows):
    X, _ = rows
    encoder = Coordinates().fit(X)
    pca = PCA(0.9, svd_solver="full").fit(unit(X, X))
    assert_allclose(np.abs(encoder.codes_target_), np.abs(pca.transform(unit(X, X))), atol=1e-9)
    assert encoder.coordinates_source_.shape == (0, len(pca.components_))
    assert encoder.source_index_.shape == (0,)


def test_one_target_row_is_enough_beside_a_source_and_not_without(rows):
    X, X_source = rows
    assert Coordinates().fit(X[:1], X_source=X_source).codes_target_.shape[0] == 1
    with pytest.raises(ValueError, match=r"1 sample.* a minimum of 2 is required"):
        Coordinates().fit(X[:1])


def test_rows_without_variance_are_refused_unless_coded_as_they_are(rows):
    same = np.ones((5, 10))
    with pytest.raises(ValueError, match=r"one and the same row throughout.*or pca=None to code the features"):
        Coordinates().fit(same, X_source=np.ones((9, 10)))
    assert Coordinates(pca=None).fit(same, X_source=np.ones((9, 10))).codes_target_.shape == (5, 10)


def test_names_of_columns_and_ids_of_rows(rows):
    X, X_source = rows
    names = [f"c{i}" for i in range(10)]
    ids = [f"row {i}" for i in range(40)]
    shuffled = pd.DataFrame(X_source, columns=names, index=ids)[names[::-1]]
    named = Coordinates().fit(pd.DataFrame(X, columns=names), X_source=shuffled)
    assert_array_equal(named.source_index_, ids)
    assert_allclose(named.codes_target_, Coordinates().fit(X, X_source=X_source).codes_target_, atol=1e-9)
    assert named.get_feature_names_out()[:2].tolist() == ["coordinates0", "coordinates1"]
    assert len(named.get_feature_names_out()) == named.codes_target_.shape[1]


def test_before_a_fit_and_for_another_width(rows):
    X, X_source = rows
    with pytest.raises(NotFittedError, match="not fitted yet"):
        Coordinates().transform(X)
    with pytest.raises(ValueError, match="X has 9 features, but Coordinates is expecting 10"):
        Coordinates().fit(X, X_source=X_source).transform(X[:, 1:])


def test_an_encoder_has_to_say_how_it_codes(rows):
    with pytest.raises(NotImplementedError):
        SourceEncoder()._encode(rows[0])
