"""The unlabelled source, in memory or on disk, read in blocks of rows.

Everything that reads a source reads it through a `SourcePool`: arrays, sparse matrices, data frames, memory-mapped
files and tuples of these become one table of n_rows x n_features floats, handed out as dense blocks of about 16 MB.
Only one block is in memory at a time, so the source may be larger than memory; NaN and infinity are found as it is
read.

Inside, a pool is a tuple of shards. A shard has `shape`, `dtype` (float32 or float64), `storage` (a word for the
repr) and `read(rows)`: the given rows (a slice, or positions inside the shard) as a 2-D array of any layout. Anything
that has these four is welcome as a shard, so a store that is not known here can be read in blocks too.
"""

import copy
import os
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy import sparse

BLOCK_BYTES = 16 * 2**20


class SourcePool:
    """An unlabelled source that is read in blocks and never cut by cross-validation.

    scikit-learn's cross-validation cuts every fit parameter that is as long as ``X``. A pool has no length, no
    shape and is no array, so it always arrives whole; `sklearn.base.clone` shares it instead of copying it.

    The pool keeps a reference to the data and does not copy it: leave the data unchanged while the pool is in use.

    Parameters
    ----------
    X : array-like, sparse matrix or array, data frame, path, tuple of these, or SourcePool
        The rows, of shape (n_rows, n_features), all numeric (booleans count as 0 and 1).

        - NumPy arrays of any numeric dtype, byte order and layout, `numpy.memmap` included.
        - SciPy sparse, any format. Formats other than CSR are converted once.
        - pandas or polars data frames. Columns are matched by name with those of the target.
        - The path of a ``.npy`` file, which is opened memory-mapped and never loaded whole.
        - A tuple of shards: the rows of the first, then of the second, and so on. All have the same columns.
        - A shard of your own, see the module: an object with `shape`, `dtype`, `storage` and `read(rows)`.
        - Another pool, whose data is shared.
    block_rows : int, default=None
        Rows per block. By default as many as make about 16 MB.

    Attributes
    ----------
    n_rows, n_features : int
        The size of the table.
    dtype : dtype
        Of the blocks: float32 if all of the data is float32, else float64.
    feature_names : ndarray of object, shape (n_features,), or None
        Column names; None when the data has none, or not all are strings.
    block_rows : int
        Rows per block.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.source import SourcePool
    >>> pool = SourcePool(np.arange(10).reshape(5, 2), block_rows=2)
    >>> pool
    SourcePool(5 rows x 2 features, float64, in memory)
    >>> for rows, block in pool.blocks():
    ...     print(rows.start, rows.stop, block.sum())
    0 2 6.0
    2 4 22.0
    4 5 17.0
    """

    feature_names: np.ndarray | None
    _shards: "tuple[_Shard, ...]"

    def __init__(self, X: Any, *, block_rows: int | None = None):
        if isinstance(X, SourcePool):
            self._shards, self._row_ids, self.feature_names = X._shards, X._row_ids, X.feature_names
        elif isinstance(X, tuple):
            self._shards, self._row_ids, self.feature_names = _joined(X)
        else:
            shard, self._row_ids, self.feature_names = _opened(X)
            self._shards = (shard,)
        self._starts = np.cumsum([0, *(shard.shape[0] for shard in self._shards)])
        self.n_rows = int(self._starts[-1])
        self.n_features = int(self._shards[0].shape[1])
        self.dtype = np.result_type(*(shard.dtype for shard in self._shards))
        if block_rows is None and isinstance(X, SourcePool):
            block_rows = X.block_rows
        self.block_rows = _checked_block_rows(block_rows, self.n_features * self.dtype.itemsize)

    def __repr__(self) -> str:
        shards = f"{len(self._shards)} shards, " if len(self._shards) > 1 else ""
        storage = " and ".join(dict.fromkeys(shard.storage for shard in self._shards))
        return f"SourcePool({self.n_rows} rows x {self.n_features} features, {self.dtype}, {shards}{storage})"

    def __sklearn_clone__(self) -> "SourcePool":
        return self

    @property
    def index(self) -> np.ndarray:
        """Row ids, shape (n_rows,): the values of a pandas index, else 0, 1, ..., n_rows - 1."""
        return np.arange(self.n_rows) if self._row_ids is None else self._row_ids

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Read the whole source once, block by block, in order.

        Blocks do not cross the border between two shards.

        Yields
        ------
        rows : slice
            The block's place among the rows of the pool.
        block : ndarray of shape (rows.stop - rows.start, n_features)
            Dense, C-contiguous, of the pool's dtype. It may be a read-only view of your data: never write to it.

        Raises
        ------
        ValueError
            At the first row that holds NaN or infinity.
        """
        for shard, (first, end) in zip(self._shards, pairwise(self._starts.tolist()), strict=True):
            for start in range(first, end, self.block_rows):
                stop = min(start + self.block_rows, end)
                block = _dense(shard.read(slice(start - first, stop - first)), self.dtype)
                self._check_finite(block, range(start, stop))
                yield slice(start, stop), block

    def take(self, rows: Any) -> np.ndarray:
        """Read some rows, in the order asked; a row may be asked for more than once.

        Parameters
        ----------
        rows : array-like of int, shape (n,)
            Positions, from 0 to n_rows - 1 (not the ids in ``index``).

        Returns
        -------
        ndarray of shape (n, n_features)
            A new dense array of the pool's dtype.

        Examples
        --------
        >>> import numpy as np
        >>> from selftaught.source import SourcePool
        >>> SourcePool((np.zeros((2, 3)), np.ones((2, 3)))).take([3, 0])
        array([[1., 1., 1.],
               [0., 0., 0.]])
        """
        rows = _checked_positions(rows, self.n_rows)
        taken = np.empty((len(rows), self.n_features), self.dtype)
        for shard, (first, end) in zip(self._shards, pairwise(self._starts), strict=True):
            here = np.flatnonzero((rows >= first) & (rows < end))
            if here.size:
                taken[here] = _dense(shard.read(rows[here] - first), self.dtype)
        self._check_finite(taken, rows)
        return taken

    def to_array(self, columns: Any = None, *, dtype: Any = None) -> np.ndarray:
        """Read the whole source, or some of its columns, into one dense array.

        Parameters
        ----------
        columns : array-like of int, default=None
            Positions of the wanted columns, in the wanted order. None means all.
        dtype : dtype, default=None
            float32 or float64. None means the pool's.

        Returns
        -------
        ndarray of shape (n_rows, n_features) or (n_rows, len(columns))
            C-contiguous; allocated once and filled block by block. All columns of one NumPy array (or memory-mapped
            file) that has this form already are not copied: the result is then a read-only view of your data. Copy
            it before you change it.
        """
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        if columns is None and dtype == self.dtype and (view := self._ready_array()) is not None:
            for _ in self.blocks():  # nothing to copy, yet the values still have to be checked
                pass
            return view
        wanted = np.arange(self.n_features)[slice(None) if columns is None else columns]
        whole = np.empty((self.n_rows, len(wanted)), dtype)
        for rows, block in self.blocks():
            whole[rows] = block if columns is None else block[:, wanted]
        return whole

    def aligned_to(self, feature_names: Any) -> "SourcePool":
        """Give the columns the order of ``feature_names``.

        Nothing is copied: blocks are reordered as they are read. When the pool or the caller has no names, only the
        number of columns is compared.

        Parameters
        ----------
        feature_names : array-like of str, shape (n_features,), or None
            The names of the target's columns.

        Returns
        -------
        SourcePool
            This pool if its columns are in order already, else a view of it.

        Raises
        ------
        ValueError
            When columns are missing or not known to the target.
        """
        if feature_names is None:
            return self
        names = np.asarray(feature_names, dtype=object)
        if self.feature_names is None:
            _check_width(self, len(names))
            return self
        _check_same_names(self.feature_names, names)
        if np.array_equal(names, self.feature_names):
            return self
        position = {name: i for i, name in enumerate(self.feature_names)}
        order = np.array([position[name] for name in names])
        aligned = copy.copy(self)
        aligned._shards = tuple(_ReorderedShard(shard, order) for shard in self._shards)
        aligned.feature_names = names
        return aligned

    def named(self, feature_names: Any, index: Any = None) -> "SourcePool":
        """Give names to the columns and ids to the rows, of data that carry none themselves.

        Parameters
        ----------
        feature_names : array-like of str, shape (n_features,), or None
            None leaves the names as they are.
        index : array-like, shape (n_rows,), or None
            None leaves the ids as they are.

        Returns
        -------
        SourcePool
            A view of this pool.

        Examples
        --------
        >>> import numpy as np
        >>> from selftaught.source import SourcePool
        >>> pool = SourcePool(np.eye(2)).named(["width", "height"], index=["p7", "p9"])
        >>> pool.aligned_to(["height", "width"]).take([0])
        array([[0., 1.]])
        """
        named = copy.copy(self)
        if feature_names is not None:
            named.feature_names = np.asarray(feature_names, dtype=object)
            _check_length("feature_names", named.feature_names, self.n_features)
        if index is not None:
            named._row_ids = np.asarray(index)
            _check_length("index", named._row_ids, self.n_rows)
        return named

    def _ready_array(self) -> np.ndarray | None:
        """The data itself, when it is one array that needs no conversion."""
        shard = self._shards[0]
        if len(self._shards) == 1 and isinstance(shard, _ArrayShard) and shard.is_ready():
            return shard.array
        return None

    def _check_finite(self, block: np.ndarray, positions: Any) -> None:
        """Name the first bad value of a block whose i-th row is row ``positions[i]`` of the pool."""
        finite = np.isfinite(block)
        if finite.all():
            return
        i, column = np.argwhere(~finite)[0]
        value, position = block[i, column], positions[i]
        row = f"row {position}" if self._row_ids is None else f"row {self._row_ids[position]} (position {position})"
        name = column if self.feature_names is None else repr(self.feature_names[column])
        raise ValueError(
            f"X_source has {value} in {row}, column {name}. Every value must be a finite number: "
            "impute it or drop the row."
        )


def as_source(X_source: Any, *, n_target: int, n_features: int, feature_names: Any = None) -> SourcePool:
    """Turn what the user gave as ``X_source`` into a pool whose columns are those of the target.

    Parameters
    ----------
    X_source : SourcePool or anything a SourcePool takes
        The unlabelled rows. A bare array, sparse matrix or data frame with exactly ``n_target`` rows is refused:
        scikit-learn's cross-validation cuts such fit parameters, so it may be a part of the source only.
    n_target : int
        Rows of the target.
    n_features : int
        Columns of the target.
    feature_names : array-like of str, shape (n_features,), default=None
        Column names of the target, if it has any.

    Returns
    -------
    SourcePool

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.source import as_source
    >>> as_source(np.ones((50, 3)), n_target=8, n_features=3)
    SourcePool(50 rows x 3 features, float64, in memory)
    """
    pool = SourcePool(X_source)
    if pool.n_rows == n_target and not isinstance(X_source, (SourcePool, tuple, str, os.PathLike)):
        raise ValueError(
            f"X_source is a bare {type(X_source).__name__} with {n_target} rows, exactly as many as X. scikit-learn's "
            "cross-validation cuts every fit parameter that is as long as X, so a whole source cannot be told from a "
            "cut one. Pass X_source=SourcePool(X_source), which always arrives whole."
        )
    pool = pool.aligned_to(feature_names)
    _check_width(pool, n_features)
    return pool


def float_dtype(dtype: Any) -> np.dtype:
    """Return the float dtype to compute in: float32 for float32 data, float64 for any other numeric data."""
    return np.dtype(np.float32 if np.dtype(dtype).type is np.float32 else np.float64)


# Shards: one class for each way of keeping rows


@runtime_checkable
class _Shard(Protocol):
    shape: tuple[int, ...]
    dtype: np.dtype
    storage: str

    def read(self, rows: Any) -> np.ndarray: ...


class _ArrayShard:
    def __init__(self, array: np.ndarray, storage: str | None = None):
        self.array = np.asarray(array).view()
        self.array.flags.writeable = False  # blocks may be views of the user's data: nobody may write to them
        self.shape, self.dtype = array.shape, float_dtype(array.dtype)
        self.storage = storage or ("in memory" if _backing_map(array) is None else "memory-mapped")

    def __reduce__(self):
        # an array in memory keeps its storage in a worker, where joblib may have mapped it to a file soon to be deleted
        place = None if self.storage == "in memory" else _place_in_file(self.array)
        return (_ArrayShard, (self.array, "in memory")) if place is None else (_reopened, place)

    def read(self, rows: Any) -> np.ndarray:
        return self.array[rows]

    def is_ready(self) -> bool:
        return self.array.dtype == self.dtype and self.array.flags.c_contiguous and self.array.flags.aligned


class _SparseShard:
    def __init__(self, matrix: Any):
        self.matrix = matrix.tocsr()  # the format in which rows are cheap to read
        self.shape, self.dtype, self.storage = matrix.shape, float_dtype(matrix.dtype), "sparse"

    def read(self, rows: Any) -> np.ndarray:
        return self.matrix[rows].toarray()


class _FrameShard:
    def __init__(self, frame: nw.DataFrame):
        kinds = set(frame.schema.values())
        kind = nw.Float32() if kinds == {nw.Float32()} else nw.Float64()
        self.frame, self.cast = frame, None if kinds == {kind} else kind
        self.dtype = np.dtype(np.float32 if kind == nw.Float32() else np.float64)
        self.shape, self.storage = frame.shape, "data frame"

    def read(self, rows: Any) -> np.ndarray:
        part = self.frame[rows]
        # columns of several types, booleans or nullable integers would meet in an array of objects
        return part.to_numpy() if self.cast is None else part.select(nw.all().cast(self.cast)).to_numpy()


class _ReorderedShard:
    def __init__(self, shard: _Shard, order: np.ndarray):
        self.shard, self.order = shard, order
        self.shape, self.dtype, self.storage = shard.shape, shard.dtype, shard.storage

    def read(self, rows: Any) -> np.ndarray:
        return np.take(self.shard.read(rows), self.order, axis=1)


# From what the user gave to a shard, its row ids and its column names


def _opened(X: Any) -> tuple[_Shard, np.ndarray | None, np.ndarray | None]:
    if isinstance(X, (str, os.PathLike)):
        return _ArrayShard(_checked_table(_mapped_file(X))), None, None
    if isinstance(X, _Shard):
        _check_shape(X.shape)
        return X, None, None
    if sparse.issparse(X):
        return _SparseShard(_checked_table(X)), None, None
    frame = _as_frame(X)
    if isinstance(frame, nw.DataFrame):
        return _FrameShard(_checked_frame(frame)), _row_ids(frame), _column_names(frame)
    return _ArrayShard(_checked_table(_as_array(X))), None, None


def _joined(parts: tuple) -> tuple[tuple[_Shard, ...], np.ndarray | None, np.ndarray | None]:
    """Shards, row ids and column names of a tuple; the first shard that has names gives the order of the columns."""
    if not parts:
        raise ValueError("X_source is an empty tuple. Give at least one shard, or X_source=None for no source.")
    pools = [_one_of_many(i, SourcePool, part) for i, part in enumerate(parts)]
    names = next((pool.feature_names for pool in pools if pool.feature_names is not None), None)
    for i, pool in enumerate(pools):
        _one_of_many(i, _check_width, pool, pools[0].n_features)
        pools[i] = _one_of_many(i, pool.aligned_to, names)
    shards = tuple(shard for pool in pools for shard in pool._shards)
    return shards, _joined_ids(pools), names


def _one_of_many(i: int, read: Callable, *args: Any) -> Any:
    try:
        return read(*args)
    except ValueError as error:
        raise ValueError(f"{error} This is shard {i} of a tuple, whose shards all have the same columns.") from error


def _joined_ids(pools: list[SourcePool]) -> np.ndarray | None:
    if all(pool._row_ids is None for pool in pools):
        return None
    starts = np.cumsum([0, *(pool.n_rows for pool in pools[:-1])])
    ids = [
        pool.index + start if pool._row_ids is None else pool.index for pool, start in zip(pools, starts, strict=True)
    ]
    if len({part.dtype.kind for part in ids}) > 1:
        ids = [np.fromiter(part, object, len(part)) for part in ids]  # NumPy would turn 7 beside "a" into "7"
    return np.concatenate(ids)


def _as_frame(X: Any) -> Any:
    """A narwhals frame, or X itself when it is not a data frame."""
    try:
        return nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError as error:
        found = " ".join(str(error).split())
        raise ValueError(f"X_source has several columns of one name: {found}. Rename or drop them.") from error


def _as_array(X: Any) -> np.ndarray:
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError(
            "X_source is a masked array, whose masked values would be used. Fill it: X_source.filled(value)."
        )
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(
            f"X_source is not a table: {error}. Give all rows one length; shards go in a tuple."
        ) from error
    if array.ndim == 0:
        raise TypeError(
            f"X_source cannot be a {type(X).__name__}. Give a 2-D array, a sparse matrix, a pandas or polars data "
            "frame (a lazy one after .collect()), the path of a .npy file, or a tuple of these."
        )
    return array


def _mapped_file(path: str | os.PathLike) -> np.memmap:
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as a .npy file: {error}. Write one with np.save(path, X).") from error


def _checked_table(X: Any) -> Any:
    """An array or a sparse matrix, refused unless it is a table of real numbers."""
    _check_shape(X.shape)
    if X.dtype.kind not in "biuf":
        raise ValueError(
            f"X_source has dtype {X.dtype}, but must hold real numbers. Encode text as numbers, split complex values "
            "into real and imaginary columns, convert objects with X_source.astype(float)."
        )
    return X


def _checked_frame(frame: nw.DataFrame) -> nw.DataFrame:
    _check_shape(frame.shape)
    for name, kind in frame.schema.items():
        if not (kind.is_numeric() or kind == nw.Boolean):
            raise ValueError(
                f"X_source has column {name!r} of type {kind}, but every column must be numeric. "
                "Encode it as numbers or drop it."
            )
    return frame


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        hint = (
            "X.reshape(1, -1) if it is one row, X.reshape(-1, 1) if it is one column"
            if len(shape) == 1
            else "X.reshape(len(X), -1) makes each item a row; shards go in a tuple"
        )
        raise ValueError(f"X_source must be 2-D (rows x features), got shape {shape}. Reshape it: {hint}.")
    if shape[0] == 0:
        raise ValueError("X_source is empty (0 rows). Give at least one row, or X_source=None for no source.")
    if shape[1] == 0:
        raise ValueError(f"X_source has 0 features (shape {shape}). Give it the columns of the target.")


def _check_width(pool: SourcePool, n_features: int) -> None:
    if pool.n_features != n_features:
        raise ValueError(
            f"X_source has {pool.n_features} features, but {n_features} are expected. "
            "Give source and target the same columns in the same order."
        )


def _check_length(what: str, values: np.ndarray, expected: int) -> None:
    if values.shape != (expected,):
        raise ValueError(f"{what} must hold {expected} values, one for each, got shape {values.shape}.")


def _check_same_names(names: np.ndarray, expected: np.ndarray) -> None:
    missing = Counter(expected) - Counter(names)
    unexpected = Counter(names) - Counter(expected)
    if missing or unexpected:
        raise ValueError(
            f"X_source does not have the expected columns: missing {_first_five(missing)}, unexpected "
            f"{_first_five(unexpected)}. Rename or drop columns; plain arrays are matched by position instead."
        )


def _first_five(names: Counter) -> str:
    shown = ", ".join(repr(name) for name in list(names)[:5]) or "none"
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _row_ids(frame: nw.DataFrame) -> np.ndarray | None:
    """Values of a pandas index; None for polars and for the index 0, 1, 2, ... that pandas gives when none is set."""
    index = nw.maybe_get_index(frame)
    if index is None:
        return None
    ids = index.to_numpy()
    return None if ids.dtype.kind in "iu" and np.array_equal(ids, np.arange(len(ids))) else ids


def _column_names(frame: nw.DataFrame) -> np.ndarray | None:
    return np.array(frame.columns, dtype=object) if all(isinstance(name, str) for name in frame.columns) else None


def _checked_block_rows(block_rows: int | None, row_bytes: int) -> int:
    if block_rows is None:
        return max(1, BLOCK_BYTES // row_bytes)
    if not isinstance(block_rows, Integral) or block_rows < 1:
        raise ValueError(
            f"block_rows must be an integer of at least 1, got {block_rows!r}. Leave it out for blocks of 16 MB."
        )
    return int(block_rows)


def _checked_positions(rows: Any, n_rows: int) -> np.ndarray:
    rows = np.asarray(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise TypeError(
            f"rows must be a 1-D array of integers, got shape {rows.shape} of {rows.dtype}. "
            "For a mask pass np.flatnonzero(mask)."
        )
    outside = rows[(rows < 0) | (rows >= n_rows)]
    if outside.size:
        raise IndexError(f"rows must be between 0 and {n_rows - 1}, got {outside[0]}. They are positions, not row ids.")
    return rows.astype(np.intp)


def _dense(block: np.ndarray, dtype: np.dtype) -> np.ndarray:
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, and is reported as such
        return np.require(np.asarray(block), dtype, ["C", "A"])


# Memory maps across processes: NumPy would pickle the values


def _backing_map(array: np.ndarray) -> np.memmap | None:
    """The outermost memory map that an array is a view of."""
    found, owner = None, array
    while isinstance(owner, np.ndarray):
        found = owner if isinstance(owner, np.memmap) else found
        owner = owner.base
    return found


def _place_in_file(array: np.ndarray) -> tuple | None:
    """Arguments of `_reopened`; None when the values are not those of a named file."""
    mapped = _backing_map(array)
    if mapped is None or mapped.mode == "c":  # c: changes live in memory, not in the file
        return None
    if mapped.filename is None or not os.path.exists(mapped.filename):
        return None
    offset = mapped.offset + array.__array_interface__["data"][0] - mapped.__array_interface__["data"][0]
    return mapped.filename, os.path.getsize(mapped.filename), array.shape, array.dtype, array.strides, offset


def _reopened(path: Any, size: int, shape: tuple, dtype: np.dtype, strides: tuple, offset: int) -> _ArrayShard:
    if os.path.getsize(path) != size:
        raise ValueError(f"{path} has changed since its SourcePool was made. Make a new SourcePool of it.")
    contents = np.memmap(path, np.uint8, mode="r")
    return _ArrayShard(np.ndarray(shape, dtype, contents, offset, strides))
