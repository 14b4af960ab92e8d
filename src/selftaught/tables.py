"""A person's own tables: files of rows to features, labels and ids, and results to files.

    suffix        features                         any other column, by name                    memory
    .csv          all other columns                any; text as written, whole numbers as such  all of it
    .parquet      all other columns                any type                                     a row group at a time
    .npz          the array X, or the only 2-D one the 1-D array of that name                   all of it
    .npy          the array                        the path of a .npy file                      mapped from the file

Columns *set apart* (labels, row ids, what the user leaves out) are no features; all that is left must be numbers, and
none may be missing. CSV (also ``.csv.gz``) and Parquet are read by pyarrow. A Parquet file of up to ``IN_MEMORY`` bytes
of features is read whole, since learning reads the source many times over.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from ._files import written_whole
from .source import SourcePool

__all__ = [
    "Table",
    "check_place",
    "check_readable",
    "check_writable",
    "named_rows",
    "read_parquet_column",
    "read_table",
    "write_table",
]

IN_MEMORY = 2**30
MOST_NAMED = 8


@dataclass(frozen=True)
class Table:
    """The features of a file as a pool of ``rows``, and its other columns, read when they are asked for."""

    path: Path
    rows: SourcePool
    apart: tuple[str, ...]
    read_column: Callable[[str], np.ndarray]

    def has(self, name):
        """Return whether the column is there, as one set apart."""
        return name in self.apart

    def column(self, name):
        """Return a column set apart, shape (n_rows,): numbers, booleans, dates, or an object array of text."""
        if not self.has(name):
            known = [] if self.rows.feature_names is None else self.rows.feature_names
            raise _no_column(self.path, name, [*known, *self.apart])
        values = self.read_column(name)
        if values.shape != (self.rows.n_rows,):
            raise ValueError(
                f"column {name!r} of {self.path} has shape {values.shape}, but there are {self.rows.n_rows} rows of "
                "features. Give one value for each row."
            )
        return values

    def features(self):
        """Return all rows as one array (n_rows, n_features), or where columns are named as a table of pyarrow's."""
        return named_rows(self.rows.to_array(), self.rows.feature_names)


def named_rows(X, names):
    """Return rows X (n, d) as a table with these column names, or as they are where ``names`` is None."""
    if names is None:
        return X
    return _pyarrow().table([np.ascontiguousarray(column) for column in X.T], names=list(names))


def read_table(path, apart=(), *, needed=()):
    """Open a file of rows.

    Parameters
    ----------
    path : str or Path
        Its suffix says what it is, see the module.
    apart : sequence of str
        Columns that are no features, where the file has them.
    needed : sequence of str
        Columns that are no features and have to be there.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        Where the file is not what its suffix says, has no rows, lacks a column that is needed, or has a feature that
        is not numeric or not there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from selftaught.tables import read_table
    >>> _ = Path("fruit.csv").write_text("weight,kind,width\\n150,apple,8\\n120,pear,6\\n")
    >>> table = read_table("fruit.csv", apart=["kind"])
    >>> table.rows.feature_names.tolist(), table.column("kind").tolist()
    (['weight', 'width'], ['apple', 'pear'])
    """
    path = Path(path)
    return READERS[check_readable(path)](path, (*apart, *needed), tuple(needed))


def check_readable(path):
    """Return the suffix by which a file is read; ValueError where there is no such file or no reader for it."""
    suffix = _known_suffix(path, READERS)
    if not Path(path).exists():
        raise ValueError(f"there is no file {path}.")
    if Path(path).is_dir():
        raise ValueError(f"{path} is a folder, not a file.")
    return suffix


def check_writable(path):
    """Return the suffix by which a table would be written; ValueError where it cannot be."""
    suffix = _known_suffix(path, WRITERS)
    check_place(path)
    if suffix == ".parquet":
        _pyarrow()
    return suffix


def check_place(path):
    """Raise ValueError where no file can be made under this name."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file to write to.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {path.parent} to write {path.name} into.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ValueError(f"cannot write into the folder {path.absolute().parent}.")


def write_table(path, columns: Mapping[str, Any]):
    """Write named columns of one length to a file that appears whole or not at all.

    Parameters
    ----------
    path : str or Path
        ``.csv``, ``.parquet`` or ``.npz``, which becomes one array for each column.
    columns : mapping of str to ndarray, shape (n,)
        Values hidden by a mask are left empty: as nothing in CSV, null in Parquet, and in an array as NaN or "".
    """
    write = WRITERS[check_writable(path)]
    with written_whole(path) as unfinished:
        write(unfinished, columns)


# CSV and Parquet, by way of pyarrow


def _read_csv(path, apart, needed):
    _pyarrow()
    from pyarrow import csv

    as_text = csv.ConvertOptions(column_types=dict.fromkeys(apart, "string"))
    with _damage_named(path, "CSV"):
        table = csv.read_csv(
            path, convert_options=as_text, parse_options=csv.ParseOptions(newlines_in_values=True)
        ).combine_chunks()
    names = table.schema.names
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        raise ValueError(f"{path} seems to be separated by semicolons or tabs: separate its columns by commas.")
    features, others = _split(path, names, apart, needed)
    _check_numeric(path, table.schema, features)
    part = table.select(features)
    _check_complete(path, part, 0)
    pool = SourcePool(_matrix(part)).named(features)
    return Table(path, pool, others, lambda name: _as_written(path, name, table.column(name)))


def _read_parquet(path, apart, needed):
    _pyarrow()
    from pyarrow import parquet

    with _damage_named(path, "Parquet"):
        schema = parquet.read_schema(path)
    features, others = _split(path, schema.names, apart, needed)
    _check_numeric(path, schema, features)
    rows: Any = ParquetRows(path, tuple(features))
    if rows.shape[0] == 0:
        raise ValueError(f"{path} has no rows.")
    if rows.shape[0] * rows.shape[1] * rows.dtype.itemsize <= IN_MEMORY:
        rows = rows.read(slice(None))

    return Table(path, SourcePool(rows).named(features), others, lambda name: read_parquet_column(path, name))


def read_parquet_column(path, name):
    """Return one column of a Parquet file, whatever the others hold, shape (n_rows,); as `Table.column` does."""
    _pyarrow()
    from pyarrow import parquet

    with _damage_named(path, "Parquet"):
        names = parquet.read_schema(path).names
        column = parquet.read_table(path, columns=[name]).column(name) if name in names else None
    if column is None:
        raise _no_column(path, name, names)
    return _as_numpy(path, name, column)


class ParquetRows:
    """A shard for `SourcePool`: the numeric columns of a Parquet file, of which one row group is in memory at a time.

    Reading rows in order decodes each row group once. How much memory that takes was decided when the file was written
    (``row_group_size`` of pyarrow and pandas).
    """

    storage = "Parquet"

    def __init__(self, path, names):
        self.path, self.names = path, names
        self._open()

    def _open(self):
        from pyarrow import parquet

        self._file = parquet.ParquetFile(self.path)
        n_rows = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        self._starts = np.cumsum([0, *n_rows])
        self._group, self._held = np.empty((0, 0)), -1
        self.shape = (int(self._starts[-1]), len(self.names))
        self.dtype = _float_type([self._file.schema_arrow.field(name).type for name in self.names])

    def __getstate__(self):
        return self.path, self.names, self.shape  # an open file stays in its process: a worker opens its own

    def __setstate__(self, state):
        self.path, self.names, shape = state
        self._open()
        if self.shape != shape:
            raise ValueError(f"{self.path} has changed while it was in use. Start anew.")

    def read(self, rows):
        """Return the rows (a slice or positions) as an array that must not be written to."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            first = int(np.searchsorted(self._starts, start, side="right")) - 1
            if start < stop <= self._starts[first + 1]:
                return self._read_group(first)[start - self._starts[first] : stop - self._starts[first]]
            rows = np.arange(start, stop)
        taken = np.empty((len(rows), self.shape[1]), self.dtype)
        groups = np.searchsorted(self._starts, rows, side="right") - 1
        for group in np.unique(groups):
            here = groups == group
            taken[here] = self._read_group(group)[rows[here] - self._starts[group]]
        return taken

    def _read_group(self, group):
        if group != self._held:
            with _damage_named(self.path, "Parquet"):
                table = self._file.read_row_group(int(group), columns=list(self.names)).select(self.names)
            _check_complete(self.path, table, self._starts[group])
            self._group, self._held = _matrix(table), group
            self._group.flags.writeable = False
        return self._group


def _split(path, names, apart, needed):
    """Return the names of the features, and of the columns that are set apart."""
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ValueError(f"{path} has several columns of one name: {_first(twice)}. Rename or drop them.")
    for name in needed:
        if name not in names:
            raise _no_column(path, name, names)
    features = [name for name in names if name not in apart]
    if not features:
        raise ValueError(f"{path} has no feature: its columns are {_first(names) or 'none'}.")
    return features, tuple(name for name in names if name in apart)


def _check_numeric(path, schema, features):
    from pyarrow import types

    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    for name in features:
        kind = schema.field(name).type
        if not any(is_kind(kind) for is_kind in numeric):
            raise ValueError(
                f"column {name!r} of {path} holds {_kind_in_words(kind)}, but a feature must be numeric: encode it as "
                "numbers, or leave it out (--drop, or --id for row ids)."
            )


def _check_complete(path, table, first_row):
    """Refuse a table without rows, or with a value that is missing, NaN or infinite; row numbers start from 1."""
    if table.num_rows == 0:
        raise ValueError(f"{path} has no rows.")
    from pyarrow import compute, types

    for name in table.schema.names:
        column = table.column(name)
        good = compute.is_finite(column) if types.is_floating(column.type) else compute.is_valid(column)
        if compute.all(good, skip_nulls=False).as_py():
            continue
        row = int(np.flatnonzero(~compute.fill_null(good, False).to_numpy())[0])
        value = column[row].as_py()
        found = "no value" if value is None else str(value)
        raise ValueError(
            f"column {name!r} of {path} has {found} in row {first_row + row + 1} (the first is row 1). Every value "
            "must be a finite number: impute it or drop the row."
        )


def _matrix(table):
    """Return the columns as one array, filled batch by batch so that rows stay in the processor's cache."""
    X = np.empty((table.num_rows, table.num_columns), _float_type(table.schema.types))
    start = 0
    for batch in table.to_batches(max_chunksize=1024):
        for j, column in enumerate(batch.columns):
            column = column.cast("float64") if _is_decimal(column.type) else column
            X[start : start + len(batch), j] = column.to_numpy(zero_copy_only=False)
        start += len(batch)
    return X


def _float_type(kinds):
    """Return float32 if all columns are, else float64."""
    return np.dtype(np.float32 if all(str(kind) == "float" for kind in kinds) else np.float64)


def _is_decimal(kind):
    from pyarrow import types

    return types.is_decimal(kind)


def _kind_in_words(kind):
    from pyarrow import types

    text = (types.is_string, types.is_large_string, types.is_binary, types.is_dictionary)
    return "text" if any(is_kind(kind) for is_kind in text) else f"values of type {kind}"


def _as_written(path, name, column):
    """Return a column of CSV: as whole numbers where all are written in the usual way, so that 01 stays 01."""
    values = _as_numpy(path, name, column)
    try:
        numbers = np.array([int(value) for value in values], dtype=np.int64)
    except (ValueError, OverflowError):
        return values
    return numbers if all(str(n) == value for n, value in zip(numbers.tolist(), values, strict=True)) else values


def _as_numpy(path, name, column):
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_nested(column.type):
        raise ValueError(f"column {name!r} of {path} holds values of type {column.type}: give one value in each row.")
    values = column.to_numpy(zero_copy_only=False)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    if values.dtype == object:
        missing |= values == ""
    if missing.any():
        raise ValueError(
            f"column {name!r} of {path} has no value in row {np.argmax(missing) + 1} (the first is row 1)."
        )
    return values


# Arrays of NumPy


def _read_npy(path, apart, needed):
    try:
        pool = SourcePool(path)
    except ValueError as error:
        raise ValueError(str(error).replace("X_source", str(path))) from error
    files = tuple(name for name in apart if name.endswith(".npy") and Path(name).is_file())

    def read_column(name):
        return _plain(name, name, _load_array(name, name, lambda: np.load(name, allow_pickle=False)))

    return Table(path, pool, files, read_column)


def _read_npz(path, apart, needed):
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            names = list(archive.files)
    except Exception as error:  # zipfile, zlib and NumPy each have their own for a damaged file
        raise _unreadable(path, ".npz", error) from error
    key = _features_of(path, names, apart)
    try:
        pool = SourcePool(_read_array(path, key))
    except ValueError as error:
        raise ValueError(str(error).replace("X_source", f"{key} of {path}")) from error
    # Whatever is not the features may be asked for: a file of features often carries more, such as class names.
    others = tuple(name for name in names if name != key)
    return Table(path, pool, others, lambda name: _plain(path, name, _read_array(path, name)))


def _features_of(path, names, apart):
    """Return which array of an archive holds the features: X, or the only one of two dimensions."""
    candidates = [name for name in names if name not in apart]
    if "X" not in candidates:
        candidates = [name for name in candidates if _read_array(path, name).ndim == 2]
        if len(candidates) != 1:
            held = _first(names) or "nothing"
            raise ValueError(f"{path} must hold its features as X, or as its only 2-D array; it has {held}.")
    return "X" if "X" in candidates else candidates[0]


def _read_array(path, name):
    """Return one array of an archive."""

    def load():
        with np.load(path, allow_pickle=False) as archive:
            return archive[name]

    return _load_array(path, name, load)


def _load_array(path, name, load):
    try:
        return load()
    except Exception as error:
        if "allow_pickle" in str(error):
            error = ValueError("it holds Python objects; write it as text or numbers, for instance array.astype(str)")
        raise ValueError(f"{name!r} of {path} cannot be read: {error}.") from error


def _plain(path, name, values):
    """Return text as objects, like the other readers do; refuse NaN."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(f"{name!r} of {path} has no value (NaN) in row {np.argmax(np.isnan(values)) + 1}.")
    return values.astype(object) if values.dtype.kind == "U" else values


# Writing


def _write_csv(path, columns):
    import csv

    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))


def _write_parquet(path, columns):
    pyarrow = _pyarrow()
    from pyarrow import parquet

    arrays = [
        pyarrow.array(np.ma.getdata(values), _text_type(values), mask=np.ma.getmaskarray(values))
        for values in columns.values()
    ]
    parquet.write_table(pyarrow.table(arrays, names=list(columns)), path)


def _text_type(values):
    """Return the type of a column of text, which could not be told were all of it hidden; None for any other."""
    return "string" if np.ma.getdata(values).dtype == object else None


def _write_npz(path, columns):
    with open(path, "wb") as file:
        arrays: dict[str, Any] = {name: _without_mask(values) for name, values in columns.items()}
        np.savez_compressed(file, **arrays)


def _without_mask(values):
    """Return an array that needs no pickle, NaN or "" where a value is hidden."""
    data, hidden = np.ma.getdata(values), np.ma.getmaskarray(values)
    if data.dtype == object:
        return np.where(hidden, "", data).astype(str)
    if not hidden.any():
        return data
    if data.dtype.kind == "M":
        return np.where(hidden, np.datetime64("NaT"), data)
    return np.where(hidden, np.nan, data)


# Words


READERS = {".csv": _read_csv, ".csv.gz": _read_csv, ".parquet": _read_parquet, ".npy": _read_npy, ".npz": _read_npz}
WRITERS = {".csv": _write_csv, ".parquet": _write_parquet, ".npz": _write_npz}


def _known_suffix(path, known):
    name = Path(path).name.lower()
    suffix = next((suffix for suffix in known if name.endswith(suffix)), None)
    if suffix is None:
        raise ValueError(f"the name {path} must end in one of {', '.join(known)}.")
    return suffix


@contextmanager
def _damage_named(path, kind):
    """Say which file it is that pyarrow cannot read: its own errors do not."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _unreadable(path, kind, error) from error


def _unreadable(path, kind, error):
    first_line = str(error).strip().partition("\n")[0].rstrip(".")
    return ValueError(f"{path} cannot be read as {kind}: {first_line}.")


def _no_column(path, name, names):
    if str(path).endswith(".npy"):
        return ValueError(f"{path} has no named columns, and there is no file {name}: give a .npy file of the column.")
    alike = get_close_matches(name, names, n=1)
    hint = f" Is {alike[0]!r} meant?" if alike else ""
    return ValueError(f"{path} has no column {name!r}; it has {_first(names) or 'none that is named'}.{hint}")


def _first(names):
    shown = ", ".join(repr(name) for name in list(names)[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown} and {len(names) - MOST_NAMED} more"


def _pyarrow():
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("CSV and Parquet need pyarrow. Install it with: pip install 'selftaught[io]'") from error
    return pyarrow
