"""Reading a person's files: what comes out, in every format, and what is said of files that cannot be used."""

import datetime
import gzip
import pickle
import sys

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pyarrow import csv, parquet

from selftaught import tables
from selftaught.source import SourcePool
from selftaught.tables import ParquetRows, named_rows, read_table, write_table

# pyarrow carries no annotations, and names of columns are there wherever a file has them.
# pyright: reportAttributeAccessIssue=false, reportOptionalMemberAccess=false, reportArgumentType=false

X = np.array([[1.5, 2.0], [-3.25, 4.0], [5.0, 6.125]])
KINDS = ["pear", "fig", "pear"]
CSV = "a,kind,b\n1.5,pear,2\n-3.25,fig,4\n5,pear,6.125\n"
FORMATS = ("csv", "csv.gz", "parquet", "npz")


def write(folder, form):
    """The same three rows, in one of the formats."""
    path = folder / f"T.{form}"
    if form == "csv":
        path.write_text(CSV)
    elif form == "csv.gz":
        path.write_bytes(gzip.compress(CSV.encode()))
    elif form == "parquet":
        parquet.write_table(pa.table({"a": X[:, 0], "kind": KINDS, "b": X[:, 1]}), path)
    else:
        np.savez(path, X=X, kind=np.array(KINDS), class_names=np.array(["fig", "pear"]))
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_features_and_a_column_apart(tmp_path, form):
    table = read_table(write(tmp_path, form), apart=["kind", "nowhere"])
    assert_array_equal(table.rows.to_array(), X)
    assert table.column("kind").tolist() == KINDS
    assert table.has("kind") and not table.has("nowhere")
    if form == "npz":
        assert table.rows.feature_names is None
        assert_array_equal(table.features(), X)
    else:
        assert list(table.rows.feature_names) == table.features().column_names == ["a", "b"]


def test_an_array_file_is_mapped_and_its_labels_lie_in_another(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", np.array(KINDS))
    labels = str(tmp_path / "y.npy")
    table = read_table(tmp_path / "X.npy", apart=[labels])
    assert "memory-mapped" in repr(table.rows)
    assert table.column(labels).tolist() == KINDS


# Values come out as they went in


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["1", "22", "-3"], [1, 22, -3]),
        (["01", "2", "3"], ["01", "2", "3"]),
        (["1.0", "2", "3"], ["1.0", "2", "3"]),
        (["+1", "2", "3"], ["+1", "2", "3"]),
        (["NA", "null", "nan"], ["NA", "null", "nan"]),
        (["true", "false", "true"], ["true", "false", "true"]),
        (["2024-01-31", "2024-02-01", "x"], ["2024-01-31", "2024-02-01", "x"]),
        (["99999999999999999999", "1", "2"], ["99999999999999999999", "1", "2"]),
        (['"a,b"', '"two\nlines"', "ü"], ["a,b", "two\nlines", "ü"]),
    ],
)
def test_a_column_of_csv_is_taken_as_written_or_as_whole_numbers(tmp_path, written, read):
    path = tmp_path / "T.csv"
    path.write_text("a,y\n" + "".join(f"1,{value}\n" for value in written), encoding="utf-8")
    assert read_table(path, ["y"]).column("y").tolist() == read


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pa.array([1, -2, 3], "int8"), "int8"),
        (pa.array([True, False, True]), "bool"),
        (pa.array(KINDS).dictionary_encode(), "object"),
        (pa.array([datetime.date(2024, 1, 31)] * 3), "datetime64[D]"),
        (pa.array(KINDS, "large_string"), "object"),
    ],
)
def test_a_column_of_parquet_keeps_its_type(tmp_path, values, dtype):
    path = tmp_path / "T.parquet"
    parquet.write_table(pa.table({"a": X[:, 0], "y": values}), path)
    column = read_table(path, ["y"]).column("y")
    assert column.dtype == dtype and pa.array(column).to_pylist() == values.to_pylist()


def test_numbers_of_all_kinds_become_floats_and_float32_stays(tmp_path):
    path = tmp_path / "T.parquet"
    columns = {
        "small": pa.array([1, 2, 255], "uint8"),
        "flag": pa.array([True, False, True]),
        "price": pa.array(["1.25", "2.50", "3.75"]).cast(pa.decimal128(5, 2)),
    }
    parquet.write_table(pa.table(columns), path)
    assert_array_equal(read_table(path).rows.to_array(), [[1, 1, 1.25], [2, 0, 2.5], [255, 1, 3.75]])
    parquet.write_table(pa.table({"a": pa.array([1, 2], "float32"), "b": pa.array([3, 4], "float32")}), path)
    assert read_table(path).rows.dtype == np.float32


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    (tmp_path / "T.csv").write_bytes(b"\xef\xbb\xbf" + CSV.encode())
    assert read_table(tmp_path / "T.csv", ["kind"]).rows.feature_names.tolist() == ["a", "b"]


# Parquet in row groups


@pytest.fixture
def grouped(tmp_path, rng):
    """A file of 103 rows in groups of 10, its values, and the shard that reads it."""
    values = rng.normal(size=(103, 4))
    path = tmp_path / "S.parquet"
    table = pa.table(dict(zip("abcd", values.T, strict=True)) | {"name": [f"r{i}" for i in range(103)]})
    parquet.write_table(table, path, row_group_size=10)
    return path, values, ParquetRows(path, ("a", "b", "c", "d"))


@pytest.mark.parametrize("block_rows", [1, 7, 10, 25, 200])
def test_row_groups_give_the_same_blocks_as_memory(grouped, block_rows):
    _, values, shard = grouped
    pool = SourcePool(shard, block_rows=block_rows)
    blocks = list(pool.blocks())
    assert_array_equal(np.concatenate([block for _, block in blocks]), values)
    assert [(rows.start, rows.stop) for rows, _ in blocks] == [
        (i, min(i + block_rows, 103)) for i in range(0, 103, block_rows)
    ]


def test_rows_are_taken_from_several_groups_in_the_order_asked(grouped, rng):
    _, values, shard = grouped
    rows = rng.integers(0, 103, size=60)
    assert_array_equal(SourcePool(shard).take(rows), values[rows])


def test_each_group_is_decoded_once_when_read_in_order(grouped, monkeypatch):
    _, _, shard = grouped
    decoded = []
    monkeypatch.setattr(tables, "_matrix", lambda t, matrix=tables._matrix: decoded.append(t.num_rows) or matrix(t))
    for _ in SourcePool(shard, block_rows=7).blocks():
        pass
    assert decoded == [10] * 10 + [3]


def test_a_large_file_stays_on_disk_and_a_small_one_does_not(grouped, monkeypatch):
    path, values, _ = grouped
    small = read_table(path, ["name"])
    monkeypatch.setattr(tables, "IN_MEMORY", 100)
    large = read_table(path, ["name"])
    assert "in memory" in repr(small.rows) and "Parquet" in repr(large.rows)
    for table in (small, large):
        assert_array_equal(table.rows.to_array(), values)
        assert_array_equal(table.rows.aligned_to(["d", "a", "c", "b"]).take([50]), values[[50]][:, [3, 0, 2, 1]])
        assert table.column("name")[-1] == "r102"


def test_a_worker_opens_the_file_anew_and_notices_a_change(grouped):
    path, values, shard = grouped
    shard.read(slice(0, 5))
    sent = pickle.dumps(shard)
    assert len(sent) < 1000, "rows do not travel"
    assert_array_equal(pickle.loads(sent).read(slice(20, 40)), values[20:40])
    parquet.write_table(pa.table(dict(zip("abcd", values[:50].T, strict=True))), path)
    with pytest.raises(ValueError, match="has changed while it was in use"):
        pickle.loads(sent)


def test_rows_of_a_group_cannot_be_written_to(grouped):
    _, _, shard = grouped
    with pytest.raises(ValueError, match="read-only"):
        shard.read(slice(0, 3))[0, 0] = 1


# Files that cannot be used

BAD_CSV = {
    "empty": ("", "cannot be read as CSV: Empty CSV file"),
    "no rows": ("a,b\n", "has no rows"),
    "short row": ("a,b\n1,2\n3\n", "cannot be read as CSV: .*Expected 2 columns, got 1"),
    "missing value": ("a,b\n1,2\n3,\n", "column 'b' of .* has no value in row 2"),
    "all missing": ("a,b\n1,\n3,\n", "column 'b' of .* has no value in row 1"),
    "not a number": ("a,b\n1,2\n3,nan\n", "column 'b' of .* has no value in row 2"),
    "infinite": ("a,b\n1,2\n3,-inf\n", "column 'b' of .* has -inf in row 2"),
    "text": ("a,b\n1,2\n3,red\n", "column 'b' of .* holds text, but a feature must be numeric.*--drop"),
    "dates": ("a,b\n1,2024-01-31\n", "column 'b' of .* holds values of type date32"),
    "same name": ("a,a\n1,2\n", "several columns of one name: 'a'"),
    "semicolons": ("a;b\n1;2\n", "separated by semicolons or tabs"),
    "only what is apart": ("kind\nfig\n", "has no feature: its columns are 'kind'"),
    "missing label": ("a,kind\n1,fig\n2,\n", "column 'kind' of .* has no value in row 2"),
    "not text": ("a,kind\n1,caf\udce9\n", "cannot be read as CSV: .*invalid UTF8"),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_a_csv_that_cannot_be_used_is_refused_in_words(tmp_path, case):
    text, message = BAD_CSV[case]
    path = tmp_path / "T.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=message) as refused:
        read_table(path, ["kind"]).column("kind")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("form", ["csv", "parquet", "npz", "npy"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff rubbish \x93", b"PK\x03\x04 cut", b"PAR1 cut PAR1"])
def test_a_file_that_is_not_what_its_suffix_says(tmp_path, form, content):
    path = tmp_path / f"T.{form}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"T\.{form}"):
        read_table(path)


@pytest.mark.parametrize("form", ["parquet", "npz"])
def test_a_truncated_file(tmp_path, form):
    path = write(tmp_path, form)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="cannot be read as"):
        read_table(path)


def test_a_parquet_damaged_in_the_middle(tmp_path):
    path = write(tmp_path, "parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(60) + whole[64:])
    with pytest.raises(ValueError, match=r"T\.parquet cannot be read as Parquet"):
        read_table(path, ["kind"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": pa.array([1.0, None])}, "column 'a' of .* has no value in row 2"),
        ({"a": pa.array([1.0, float("nan")])}, "column 'a' of .* has nan in row 2"),
        ({"a": pa.array([[1.0], [2.0]])}, "column 'a' of .* holds values of type list"),
        ({"a": pa.array([], "float64")}, "has no rows"),
        ({"a": [1.0], "kind": pa.array([["x"]])}, "column 'kind' of .* give one value in each row"),
    ],
)
def test_a_parquet_that_cannot_be_used(tmp_path, columns, message):
    path = tmp_path / "S.parquet"
    parquet.write_table(pa.table(columns), path)
    with pytest.raises(ValueError, match=message):
        read_table(path, ["kind"]).column("kind")


def test_a_missing_value_deep_in_a_file_is_named_by_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "IN_MEMORY", 0)
    parquet.write_table(pa.table({"a": [*map(float, range(24)), None]}), tmp_path / "S.parquet", row_group_size=10)
    pool = read_table(tmp_path / "S.parquet").rows
    with pytest.raises(ValueError, match=r"column 'a' of .*S\.parquet has no value in row 25"):
        for _ in pool.blocks():
            pass


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"A": X, "B": X}, "must hold its features as X, or as its only 2-D array; it has 'A', 'B'"),
        ({"y": np.arange(3)}, "must hold its features as X"),
        ({"X": np.arange(3)}, r"X of .*T\.npz must be 2-D"),
        ({"X": np.array([["a", "b"]])}, r"X of .*T\.npz has dtype <U1"),
        ({"X": X, "kind": np.arange(2)}, "column 'kind' of .* has shape .2,., but there are 3 rows"),
        ({"X": X, "kind": np.array([1, np.nan, 2])}, r"'kind' of .* has no value \(NaN\) in row 2"),
        ({"X": X, "kind": np.array(["a", 1, None], dtype=object)}, "'kind' of .* holds Python objects"),
        ({"X": X}, "has no column 'kind'; it has none that is named"),
    ],
)
def test_an_npz_that_cannot_be_used(tmp_path, arrays, message):
    np.savez(tmp_path / "T.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "T.npz", ["kind"]).column("kind")


def test_a_column_that_is_not_there_is_answered_with_those_that_are(tmp_path):
    table = read_table(write(tmp_path, "csv"), ["kind"])
    with pytest.raises(ValueError, match=r"T\.csv has no column 'colour'; it has 'a', 'b', 'kind'\.$"):
        table.column("colour")
    with pytest.raises(ValueError, match=r"no column 'kinds'.* Is 'kind' meant\?$"):
        read_table(write(tmp_path, "csv"), needed=["kinds"])


def test_an_array_file_has_no_columns_but_other_files(tmp_path):
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=r"X\.npy has no named columns, and there is no file y: give a \.npy file"):
        read_table(tmp_path / "X.npy", needed=["y"]).column("y")


@pytest.mark.parametrize(
    ("name", "message"),
    [("T.xlsx", "must end in one of .csv,"), ("none.csv", "there is no file"), ("folder.csv", "is a folder")],
)
def test_a_path_that_is_no_table(tmp_path, name, message):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "T.xlsx").touch()
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)


def test_without_pyarrow_the_way_to_get_it_is_said(tmp_path, monkeypatch):
    path, array = write(tmp_path, "csv"), write(tmp_path, "npz")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'selftaught\[io\]'"):
        read_table(path)
    read_table(array)
    write_table(tmp_path / "out.csv", {"a": np.arange(3)})
    with pytest.raises(ImportError, match=r"pip install 'selftaught\[io\]'"):
        write_table(tmp_path / "out.parquet", {"a": np.arange(3)})


# Writing

WRITTEN = {
    "id": np.array(["p 1", 'p "2"', "p,3"]),
    "rank": np.array([3, 1, 2]),
    "weight": np.array([0.1, 1 / 3, 1e-300]),
    "selected": np.array([True, False, True]),
    "label": np.ma.array(np.array(["x", "y", "z"], dtype=object), mask=[False, True, False]),
    "number": np.ma.array([7, 8, 9], mask=[True, False, False]),
}


def test_csv_gives_back_what_was_written(tmp_path):
    write_table(tmp_path / "out.csv", WRITTEN)
    back = csv.read_csv(tmp_path / "out.csv")
    assert back.column_names == list(WRITTEN)
    assert back["id"].to_pylist() == WRITTEN["id"].tolist()
    assert back["weight"].to_pylist() == WRITTEN["weight"].tolist(), "every digit"
    assert back["selected"].to_pylist() == [True, False, True]
    assert back["label"].to_pylist() == ["x", "", "z"]
    assert back["number"].to_pylist() == [None, 8, 9]


def test_parquet_gives_back_what_was_written(tmp_path):
    write_table(tmp_path / "out.parquet", WRITTEN)
    back = parquet.read_table(tmp_path / "out.parquet")
    assert {name: back[name].to_pylist() for name in WRITTEN} == {k: v.tolist() for k, v in WRITTEN.items()}


def test_a_column_of_nothing_keeps_its_type_in_parquet(tmp_path):
    nothing = np.ma.array(np.array(["x", "x"], dtype=object), mask=True)
    write_table(tmp_path / "out.parquet", {"label": nothing})
    column = parquet.read_table(tmp_path / "out.parquet")["label"]
    assert column.type == pa.string() and column.to_pylist() == [None, None]


def test_npz_gives_back_what_was_written_without_pickle(tmp_path):
    write_table(tmp_path / "out.npz", WRITTEN)
    back = np.load(tmp_path / "out.npz", allow_pickle=False)
    for name in ("id", "rank", "weight", "selected"):
        assert_array_equal(back[name], WRITTEN[name])
    assert back["label"].tolist() == ["x", "", "z"]
    assert_array_equal(back["number"], [np.nan, 8, 9])


def test_what_fails_half_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="shorter"):
        write_table(path, {"a": np.arange(3), "b": np.arange(2)})
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.txt", "must end in one of .csv, .parquet, .npz"),
        ("none/out.csv", "there is no folder"),
        ("dir.csv", "is a folder, not a file to write to"),
    ],
)
def test_a_place_that_cannot_be_written_to(tmp_path, name, message):
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(ValueError, match=message):
        write_table(tmp_path / name, {"a": np.arange(3)})


def test_rows_take_names_only_where_there_are_any():
    assert named_rows(X, None) is X
    table = named_rows(X, ["a", "b"])
    assert table.column_names == ["a", "b"] and table["b"].to_pylist() == X[:, 1].tolist()
