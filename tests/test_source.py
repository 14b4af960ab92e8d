import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import Parallel, delayed
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV, cross_validate

from selftaught.source import BLOCK_BYTES, SourcePool, as_source

NAMES = ["height", "width", "depth", "mass"]
SPARSE_FORMATS = [
    f"{kind}_{form}" for kind in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil") for form in ("array", "matrix")
]


@pytest.fixture
def X(rng):
    """A table with zeros (for the sparse formats) whose values float32 holds exactly."""
    return rng.integers(-3, 4, size=(23, 4)).astype(float)


@pytest.fixture
def npy(X, tmp_path):
    np.save(tmp_path / "source.npy", X)
    return tmp_path / "source.npy"


def frames(X):
    return {"pandas": pd.DataFrame(X, columns=NAMES), "polars": pl.DataFrame(X, schema=NAMES)}


def every_way(X, npy):
    """The same table in every form a pool takes."""
    return {
        "array": X,
        "fortran": np.asfortranarray(X),
        "integers": X.astype(np.int16),
        "big-endian": X.astype(">f8"),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "unaligned": np.frombuffer(b"-" + X.tobytes(), X.dtype, offset=1).reshape(X.shape),
        "nested list": X.tolist(),
        "matrix": X.view(np.matrix),
        "path": npy,
        "path as text": str(npy),
        "memmap": np.load(npy, mmap_mode="r"),
        "shards": (X[:5], sparse.csc_array(X[5:9]), pd.DataFrame(X[9:])),
        "pool": SourcePool(X),
        "aligned": SourcePool(pd.DataFrame(X[:, ::-1], columns=NAMES[::-1])).aligned_to(NAMES),
        **frames(X),
    }


def stacked_blocks(pool):
    return np.concatenate([block for _, block in pool.blocks()])


# Reading


def test_every_form_gives_the_same_rows(X, npy):
    for form, given in every_way(X, npy).items():
        pool = SourcePool(given, block_rows=4)
        assert (pool.n_rows, pool.n_features, pool.dtype) == (23, 4, np.float64), form
        assert_array_equal(stacked_blocks(pool), X, err_msg=form)
        assert_array_equal(pool.to_array(), X, err_msg=form)
        assert pool.to_array().flags.c_contiguous and pool.to_array().flags.aligned, form
        assert_array_equal(pool.take([22, 3, 3, 0, 9]), X[[22, 3, 3, 0, 9]], err_msg=form)
        assert_array_equal(pool.to_array(columns=[2, 0]), X[:, [2, 0]], err_msg=form)


@pytest.mark.parametrize("form", SPARSE_FORMATS)
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32, np.float64])
def test_sparse_formats_all_give_the_same_blocks(X, form, dtype):
    matrix = getattr(sparse, form)(X.astype(dtype))
    pool = SourcePool(matrix, block_rows=4)
    assert_array_equal(stacked_blocks(pool), X.astype(dtype).astype(float))
    assert_array_equal(pool.take([3, 3, 1]), X[[3, 3, 1]].astype(dtype).astype(float))
    assert pool.dtype == (np.float32 if dtype == np.float32 else np.float64)


def test_blocks_cover_the_rows_in_order_and_are_ready_to_compute_with(X, npy):
    for form, given in every_way(X, npy).items():
        pool = SourcePool(given, block_rows=4)
        end = 0
        for rows, block in pool.blocks():
            assert rows.start == end and rows.stop - rows.start == len(block) <= 4, form
            assert type(block) is np.ndarray and block.dtype == pool.dtype and block.dtype.isnative, form
            assert block.flags.c_contiguous and block.flags.aligned, form
            end = rows.stop
        assert end == 23, form


def test_shards_are_the_stacked_array(X, rng):
    cuts = np.sort(rng.choice(np.arange(1, 23), size=3, replace=False))
    pool = SourcePool(tuple(np.split(X, cuts)), block_rows=5)
    rows = rng.integers(0, 23, size=40)
    assert_array_equal(stacked_blocks(pool), X)
    assert_array_equal(pool.take(rows), X[rows])


def test_a_block_is_about_sixteen_megabytes():
    pool = SourcePool(np.zeros((2, 1000), np.float32))
    assert pool.block_rows == BLOCK_BYTES // 4000
    assert SourcePool(sparse.csr_array((2, 10**8))).block_rows == 1  # one row alone is larger


def test_a_pool_of_a_pool_shares_data_and_block_size(X):
    pool = SourcePool(X, block_rows=7)
    assert SourcePool(pool).block_rows == 7 and SourcePool(pool, block_rows=2).block_rows == 2
    assert np.shares_memory(SourcePool(pool).to_array(), X)


def test_taking_no_rows_gives_an_empty_table(X):
    assert SourcePool(X).take([]).shape == (0, 4)


@pytest.mark.parametrize("order", ["C", "F"])
def test_reading_holds_one_block_not_the_table(order):
    X = np.ones((20_000, 50), np.int16, order=order)
    pool, table_bytes = SourcePool(X, block_rows=500), X.size * 8
    tracemalloc.start()
    for _ in pool.blocks():
        pass
    blocks_peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    pool.to_array()
    array_peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert blocks_peak < 0.1 * table_bytes
    assert array_peak < 1.1 * table_bytes


# What the data are: dtype, names, ids


def test_float32_stays_float32_and_all_else_becomes_float64(X, tmp_path):
    np.save(tmp_path / "single.npy", X.astype(np.float32))
    single = X.astype(np.float32)
    for given in (single, single.astype(">f4"), (single, tmp_path / "single.npy"), *frames(single).values()):
        pool = SourcePool(given)
        assert pool.dtype == pool.take([0]).dtype == pool.to_array().dtype == np.float32
    for dtype in (np.float16, np.float64, np.longdouble, np.uint8, np.int64, bool):
        assert SourcePool(X.astype(dtype)).to_array().dtype == np.float64
    assert SourcePool((single, X)).dtype == np.float64
    assert SourcePool(pd.DataFrame({"a": single[:, 0], "b": X[:, 0]})).dtype == np.float64


def test_to_array_in_another_dtype(X):
    assert_array_equal(SourcePool(X).to_array(dtype=np.float32), X.astype(np.float32), strict=True)


def test_frames_may_mix_numbers_and_booleans():
    columns = {"a": [1, 2, 3], "b": [True, False, True], "c": np.array([0.5, 1, 2], np.float32)}
    expected = [[1, 1, 0.5], [2, 0, 1], [3, 1, 2]]
    nullable = pd.DataFrame(columns).convert_dtypes()
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), nullable):
        assert_array_equal(SourcePool(frame).to_array(), expected)


def test_column_names_are_kept_when_all_are_strings(X):
    for frame in frames(X).values():
        assert_array_equal(SourcePool(frame).feature_names, NAMES)
    assert SourcePool(pd.DataFrame(X)).feature_names is None
    assert SourcePool(pd.DataFrame(X, columns=["a", "b", "c", 3])).feature_names is None
    assert SourcePool(X).feature_names is None
    assert_array_equal(SourcePool((X, frames(X)["polars"])).feature_names, NAMES)


def test_row_ids_are_those_of_the_pandas_index(X):
    frame = pd.DataFrame(X, index=[f"img{i:02}" for i in range(23)])
    assert_array_equal(SourcePool(frame).index, frame.index.to_numpy())
    assert_array_equal(SourcePool(frames(X)["polars"]).index, np.arange(23))
    assert_array_equal(SourcePool(X).index, np.arange(23))
    mixed = SourcePool((X[:2], frame[:2], X[:1]))
    assert_array_equal(mixed.index, np.array([0, 1, "img00", "img01", 4], object))


def test_default_indices_of_shards_are_counted_through(X):
    frame = pd.DataFrame(X)
    assert_array_equal(SourcePool((frame, frame)).index, np.arange(46))


def test_repr(X, npy):
    assert repr(SourcePool(X)) == "SourcePool(23 rows x 4 features, float64, in memory)"
    assert repr(SourcePool(npy)) == "SourcePool(23 rows x 4 features, float64, memory-mapped)"
    assert repr(SourcePool(sparse.csr_array(X))) == "SourcePool(23 rows x 4 features, float64, sparse)"
    pool = SourcePool((frames(X)["pandas"], X, X[:1]))
    assert repr(pool) == "SourcePool(47 rows x 4 features, float64, 3 shards, data frame and in memory)"


# The user's data is not touched


def test_an_array_in_the_right_form_is_not_copied_and_cannot_be_changed(X, npy):
    for given in (X, np.load(npy, mmap_mode="r")):
        whole = SourcePool(given).to_array()
        assert np.shares_memory(whole, given) and type(whole) is np.ndarray
        with pytest.raises(ValueError, match="read-only"):
            whole[0] = 7
    for _, block in SourcePool(X).blocks():
        with pytest.raises(ValueError, match="read-only"):
            block[0] = 7
    assert X.flags.writeable


def test_read_only_data_is_read(X):
    X.flags.writeable = False
    assert_array_equal(stacked_blocks(SourcePool(X)), X)
    matrix = sparse.csr_array(X)
    matrix.data.flags.writeable = matrix.indices.flags.writeable = matrix.indptr.flags.writeable = False
    assert_array_equal(SourcePool(matrix).take([2, 1]), X[[2, 1]])


def test_inputs_are_never_modified(X, npy):
    for given in every_way(X, npy).values():
        before = pickle.dumps(given)
        pool = SourcePool(given, block_rows=4)
        stacked_blocks(pool)
        for taken in (pool.take([1, 0]), pool.to_array([1])):
            taken[:] = 7  # these are always new arrays
        assert pickle.dumps(given) == before
    assert npy.read_bytes()[-X.nbytes :] == X.tobytes()


# Columns in the order of the target


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_are_matched_by_name(X, library, npy):
    order = [2, 0, 3, 1]
    wanted = np.array(NAMES, dtype=object)[order]
    pool = SourcePool(frames(X)[library], block_rows=4)
    aligned = pool.aligned_to(wanted)
    assert_array_equal(aligned.feature_names, wanted)
    assert_array_equal(stacked_blocks(aligned), X[:, order])
    assert_array_equal(aligned.take([5, 1]), X[[5, 1]][:, order])
    assert_array_equal(aligned.to_array(), X[:, order])
    assert_array_equal(pool.to_array(), X)  # the pool itself keeps its order
    assert_array_equal(SourcePool(aligned.aligned_to(NAMES)).to_array(), X)
    assert aligned.block_rows == 4


def test_names_on_one_side_only_compare_the_width(X):
    unnamed, named = SourcePool(X), SourcePool(frames(X)["pandas"])
    assert unnamed.aligned_to(NAMES) is unnamed
    assert named.aligned_to(None) is named and named.aligned_to(NAMES) is named
    with pytest.raises(ValueError, match="X_source has 4 features, but 2 are expected"):
        unnamed.aligned_to(NAMES[:2])


def test_shards_are_matched_by_name_with_the_first_that_has_names(X):
    reversed_frame = frames(X)["polars"][:, ::-1]
    pool = SourcePool((X, frames(X)["pandas"], reversed_frame))
    assert_array_equal(pool.to_array(), np.vstack([X, X, X]))


def test_columns_that_do_not_match_are_named(X):
    pool = SourcePool(frames(X)["pandas"])
    with pytest.raises(ValueError, match=r"missing 'age', unexpected 'depth', 'mass'\. Rename or drop"):
        pool.aligned_to(["width", "height", "age"])
    with pytest.raises(ValueError, match=r"missing 'c0', 'c1', 'c2', 'c3', 'c4' and 3 more, unexpected none"):
        pool.aligned_to(NAMES + [f"c{i}" for i in range(8)])


# Bad data


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_bad_value_is_named_when_its_block_is_read(X, value, tmp_path):
    X[13, 2] = X[20, 0] = value
    np.save(tmp_path / "bad.npy", X)
    for given in (X, tmp_path / "bad.npy", sparse.csr_array(X), (X[:5], X[5:])):
        pool = SourcePool(given, block_rows=4)  # reads nothing, so it cannot complain yet
        for read in (pool.to_array, lambda pool=pool: pool.take([1, 13, 20]), lambda pool=pool: list(pool.blocks())):
            with pytest.raises(ValueError, match=rf"X_source has {value} in row 13, column 2\. .* impute it or drop"):
                read()
        assert_array_equal(pool.take([12, 14]), X[[12, 14]])


def test_a_bad_value_is_named_by_row_id_and_column_name(X):
    X[13, 2] = np.nan
    frame = pd.DataFrame(X, columns=NAMES, index=[f"img{i:02}" for i in range(23)])
    with pytest.raises(ValueError, match=r"nan in row img13 \(position 13\), column 'depth'"):
        SourcePool(frame).to_array()
    with pytest.raises(ValueError, match=r"nan in row img13 \(position 36\), column 'depth'"):
        SourcePool((np.zeros((23, 4)), frame)).take([40, 36])


def test_missing_values_of_frames_are_bad_values():
    for frame in (
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"a": pd.array([True, None], dtype="boolean")}),
        pl.DataFrame({"a": [1, None]}),
        pl.DataFrame({"a": [0.5, None]}, schema={"a": pl.Float32}),
    ):
        with pytest.raises(ValueError, match="X_source has nan in row 1, column 'a'"):
            SourcePool(frame).to_array()


def test_a_number_beyond_float64_is_infinite():
    huge = np.full((1, 1), np.finfo(np.longdouble).max)
    if huge.dtype != np.float64:
        with pytest.raises(ValueError, match="X_source has inf in row 0, column 0"):
            SourcePool(huge).to_array()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(3), r"must be 2-D \(rows x features\), got shape \(3,\)\. Reshape it: X\.reshape\(1, -1\)"),
        (pd.Series([1.0, 2.0]), r"must be 2-D .* got shape \(2,\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)\. Reshape it: X\.reshape\(len\(X\), -1\)"),
        ([np.zeros((2, 2)), np.zeros((2, 2))], "shards go in a tuple"),
        ([[1, 2], [3]], "not a table: .* Give all rows one length; shards go in a tuple"),
        (np.zeros((0, 3)), r"X_source is empty \(0 rows\)\. Give at least one row"),
        (pd.DataFrame({"a": []}), r"X_source is empty \(0 rows\)"),
        (pl.DataFrame(), r"X_source is empty \(0 rows\)"),
        (np.zeros((3, 0)), r"X_source has 0 features \(shape \(3, 0\)\)"),
        (pd.DataFrame(index=range(3)), "X_source has 0 features"),
        (np.array([["a", "b"]]), "X_source has dtype <U1, but must hold real numbers. Encode text"),
        (np.array([[1, None]]), r"X_source has dtype object, .* X_source\.astype\(float\)"),
        (np.array([[1j]]), "X_source has dtype complex128, .* real and imaginary"),
        (sparse.csr_array([[1j]]), "X_source has dtype complex128"),
        (np.array([["2020-01-01"]], "M8[D]"), "must hold real numbers"),
        (pd.DataFrame({"a": [1], "city": ["Rome"]}), "X_source has column 'city' of type .*, but every column must be"),
        (pl.DataFrame({"a": [1], "city": ["Rome"]}), "column 'city' of type String, .* Encode it as numbers or drop"),
        (pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}), "column 'day' of type Datetime"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "several columns of one name: .*'a' 2 times.* Rename or drop"),
        (np.ma.masked_equal([[1, 2]], 2), r"masked array, .* Fill it: X_source\.filled\(value\)"),
        ((), "X_source is an empty tuple. Give at least one shard"),
        ((np.zeros((2, 3)), np.zeros((2, 4))), r"has 4 features, but 3 are expected\. .* This is shard 1 of a tuple"),
        ((np.zeros((2, 3)), np.zeros((0, 3))), r"empty \(0 rows\)\. .* This is shard 1 of a tuple"),
        (tuple(pd.DataFrame({name: [1]}) for name in "ab"), "missing 'a', unexpected 'b'.* This is shard 1 of a tuple"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        SourcePool(given)


@pytest.mark.parametrize("given", [None, 3.0, {"a": [1]}, pl.LazyFrame({"a": [1]})])
def test_what_is_no_array_is_refused(given):
    with pytest.raises(TypeError, match=rf"X_source cannot be a {type(given).__name__}\. Give a 2-D array"):
        SourcePool(given)


def test_files_that_cannot_be_mapped_are_refused(tmp_path):
    (tmp_path / "text.npy").write_text("1,2\n3,4\n")
    np.save(tmp_path / "objects.npy", np.array([[1, None]]))
    for name in ("text.npy", "objects.npy"):
        with pytest.raises(ValueError, match=rf"{name} cannot be read as a \.npy file: .* Write one with np\.save"):
            SourcePool(tmp_path / name)
    np.save(tmp_path / "empty.npy", np.zeros((0, 3)))
    with pytest.raises(ValueError, match=r"empty \(0 rows\)"):
        SourcePool(tmp_path / "empty.npy")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npy"):
        SourcePool(tmp_path / "nowhere.npy")


@pytest.mark.parametrize("block_rows", [0, -1, 2.5, "many"])
def test_block_rows_must_be_a_positive_integer(X, block_rows):
    with pytest.raises(ValueError, match=f"block_rows must be an integer of at least 1, got {block_rows!r}. Leave it"):
        SourcePool(X, block_rows=block_rows)


def test_positions_are_checked(X):
    pool = SourcePool(X)
    for outside in (-1, 23):
        with pytest.raises(IndexError, match=f"between 0 and 22, got {outside}. They are positions, not row ids"):
            pool.take([0, outside])
    with pytest.raises(TypeError, match=r"shape \(23,\) of bool\. For a mask pass np\.flatnonzero\(mask\)"):
        pool.take(X[:, 0] > 0)


# Copies of a pool: clone, pickle, other processes


def test_clone_shares_the_pool(X):
    pool = SourcePool(X)
    assert clone(pool) is pool


def test_pickled_pools_give_the_same_rows(X, npy):
    for form, given in every_way(X, npy).items():
        pool = SourcePool(given, block_rows=4)
        again = pickle.loads(pickle.dumps(pool))
        assert repr(again) == repr(pool) and again.block_rows == 4, form
        assert_array_equal(again.to_array(), X, err_msg=form)
        assert_array_equal(again.index, pool.index, err_msg=form)


def test_mapped_files_are_pickled_by_place_not_by_value(rng, tmp_path):
    X = rng.standard_normal((1000, 30))
    for order, laid_out in {"C": X, "F": np.asfortranarray(X)}.items():
        np.save(tmp_path / f"{order}.npy", laid_out)
        mapped = np.load(tmp_path / f"{order}.npy", mmap_mode="r")
        views = {
            "path": (tmp_path / f"{order}.npy", X),
            "rows": (mapped[100:], X[100:]),
            "columns": (mapped[:, 3:9], X[:, 3:9]),
            "backwards": (mapped[::-2], X[::-2]),
            "plain view": (np.asarray(mapped)[7:], X[7:]),
        }
        for name, (given, expected) in views.items():
            pickled = pickle.dumps(SourcePool(given))
            assert len(pickled) < 2000, name
            again = pickle.loads(pickled)
            assert "memory-mapped" in repr(again) and len(pickle.dumps(again)) < 2000, name
            assert_array_equal(again.to_array(), expected, err_msg=name)


def test_maps_without_a_file_of_their_own_are_pickled_by_value(X, npy):
    private = np.load(npy, mmap_mode="c")
    private[0, 0] = 77
    assert pickle.loads(pickle.dumps(SourcePool(private))).take([0])[0, 0] == 77
    mapped = SourcePool(npy)
    npy.unlink()
    assert_array_equal(pickle.loads(pickle.dumps(mapped)).to_array(), X)


def test_a_file_that_changed_in_size_is_not_reopened(X, npy):
    pickled = pickle.dumps(SourcePool(npy))
    np.save(npy, X[:5])
    with pytest.raises(ValueError, match=r"source\.npy has changed since its SourcePool was made\. Make a new"):
        pickle.loads(pickled)


def test_paths_are_absolute_once_opened(X, npy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pickled = pickle.dumps(SourcePool("source.npy"))
    monkeypatch.chdir(Path(tmp_path.anchor))
    assert_array_equal(pickle.loads(pickled).to_array(), X)


def test_other_processes_read_the_same_rows(X, npy):
    big = np.tile(X, (2000, 1))  # large enough that joblib writes it to a temporary file, which must not be kept
    pools = [SourcePool(npy), SourcePool(big), SourcePool(frames(X)["polars"])]
    returned = Parallel(n_jobs=2)(delayed(SourcePool)(pool, block_rows=9) for pool in pools)
    for pool, back in zip(pools, returned, strict=True):
        assert back.block_rows == 9 and repr(back) == repr(pool)
        assert_array_equal(back.to_array(), pool.to_array())


# As a fit parameter


class ReceivesWholeSource(ClassifierMixin, BaseEstimator):
    """Predicts one class; its fit fails unless the source arrives whole."""

    __metadata_request__fit = {"X_source": True}

    def __init__(self, n_rows=None, constant=0):
        self.n_rows = n_rows
        self.constant = constant

    def fit(self, X, y, X_source=None):
        pool = as_source(X_source, n_target=len(X), n_features=X.shape[1])
        assert pool.n_rows == len(pool.to_array()) == self.n_rows
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.constant])


@pytest.fixture
def target(rng):
    return rng.standard_normal((12, 4)), np.arange(12) % 2


def sources(rng, n_rows, folder):
    X_source = rng.standard_normal((n_rows, 4))
    np.save(folder / "rows.npy", X_source)
    return [SourcePool(X_source), SourcePool(sparse.csr_array(X_source)), (X_source,), folder / "rows.npy"]


# 12 rows are as many as X has, 8 as many as a training fold has, 23 are neither
@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("n_rows", [12, 8, 23])
def test_cross_validation_never_cuts_a_pool(rng, target, n_rows, routing, tmp_path):
    X, y = target
    with sklearn.config_context(enable_metadata_routing=routing):
        for X_source in sources(rng, n_rows, tmp_path):
            estimator, params = ReceivesWholeSource(n_rows), {"X_source": X_source}
            scores = cross_validate(estimator, X, y, params=params, cv=3, error_score="raise")
            assert len(scores["test_score"]) == 3
            search = GridSearchCV(estimator, {"constant": [0, 1]}, cv=3, error_score="raise")
            assert search.fit(X, y, X_source=X_source).n_splits_ == 3


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame, pl.DataFrame, np.ndarray.tolist])
def test_a_bare_source_as_long_as_the_target_is_refused(rng, target, form):
    X, y = target
    X_source = form(rng.standard_normal((12, 4)))
    message = rf"bare {type(X_source).__name__} with 12 rows, exactly as many as X\..*SourcePool\(X_source\)"
    with pytest.raises(ValueError, match=message) as refusal:
        ReceivesWholeSource(12).fit(X, y, X_source=X_source)
    assert "was cut" not in str(refusal.value)  # outside cross-validation nothing was


def test_a_bare_source_that_cross_validation_cut_is_refused(rng, target):
    X, y = target
    params = {"X_source": rng.standard_normal((12, 4))}
    with pytest.raises(ValueError, match="bare ndarray with 8 rows, exactly as many as X"):
        cross_validate(ReceivesWholeSource(12), X, y, params=params, cv=3, error_score="raise")


def test_a_bare_source_of_another_length_is_taken(rng, target):
    X, y = target
    ReceivesWholeSource(13).fit(X, y, X_source=rng.standard_normal((13, 4)))


def test_as_source_brings_the_columns_into_the_order_of_the_target(X):
    pool = as_source(frames(X)["polars"], n_target=5, n_features=4, feature_names=NAMES[::-1])
    assert_array_equal(pool.to_array(), X[:, ::-1])


def test_as_source_names_both_widths(X):
    for given in (X, SourcePool(X), (X,), frames(X)["pandas"]):
        with pytest.raises(ValueError, match=r"X_source has 4 features, but 7 are expected\. Give source and target"):
            as_source(given, n_target=5, n_features=7)


# Names and ids given afterwards, and stores of one's own


class Squares:
    """A store that makes its rows: row i is i, i squared."""

    shape, dtype, storage = (10, 2), np.dtype(float), "made up"

    def read(self, rows):
        i = np.arange(10)[rows]
        return np.stack([i, i**2], axis=1).astype(float)


def test_a_store_of_ones_own_is_read_in_blocks():
    pool = SourcePool(Squares(), block_rows=4)
    assert repr(pool) == "SourcePool(10 rows x 2 features, float64, made up)"
    assert [len(block) for _, block in pool.blocks()] == [4, 4, 2]
    assert_array_equal(pool.take([9, 3]), [[9, 81], [3, 9]])
    assert_array_equal(SourcePool((Squares(), np.ones((2, 2)))).take([10, 2]), [[1, 1], [2, 4]])


def test_an_empty_store_is_refused_like_any_source():
    empty = Squares()
    empty.shape = (0, 2)
    with pytest.raises(ValueError, match="X_source is empty"):
        SourcePool(empty)


def test_names_and_ids_can_be_given_to_data_without_any():
    plain = SourcePool(np.arange(6.0).reshape(3, 2))
    named = plain.named(["a", "b"], index=["x", "y", "z"])
    assert_array_equal(named.feature_names, ["a", "b"])
    assert list(named.index) == ["x", "y", "z"]
    assert_array_equal(named.aligned_to(["b", "a"]).take([1]), [[3, 2]])
    assert plain.feature_names is None and list(plain.index) == [0, 1, 2], "the pool itself is left alone"
    assert_array_equal(named.named(None, [7, 8, 9]).feature_names, ["a", "b"])


@pytest.mark.parametrize(
    ("names", "index", "message"),
    [
        (["a"], None, r"feature_names must hold 2 values.*got shape \(1,\)"),
        (None, [1, 2], r"index must hold 3 values.*got shape \(2,\)"),
        (None, [[1], [2], [3]], r"index must hold 3 values.*got shape \(3, 1\)"),
    ],
)
def test_names_and_ids_of_another_length_are_refused(names, index, message):
    with pytest.raises(ValueError, match=message):
        SourcePool(np.ones((3, 2))).named(names, index)
