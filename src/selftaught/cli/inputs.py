"""The tables that a command names, read into what the library takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from selftaught.source import SourcePool, as_source
from selftaught.tables import check_place, check_readable, check_writable, read_table

from .terminal import UsageError, blaming

__all__ = [
    "Problem",
    "add_input_options",
    "as_pool",
    "check_files",
    "check_output",
    "checked_labels",
    "describe_problem",
    "read_problem",
]


@dataclass(frozen=True)
class Problem:
    """The labelled rows ``X``, ``y`` and the source, whose columns are in the order of X's.

    ``extractor`` made the rows, where they come from images or texts.
    """

    X: Any
    y: np.ndarray
    pool: SourcePool
    extractor: Any = None


def add_input_options(parser):
    """Add the options that name the person's tables and their columns."""
    group = parser.add_argument_group("tables (.csv, .csv.gz, .parquet, .npz, .npy)")
    group.add_argument("--target", type=Path, required=True, metavar="FILE", help="the few labelled rows")
    group.add_argument(
        "--label",
        metavar="COLUMN",
        help="column of the target that holds the classes (for a .npy target: another .npy file; not for a folder, "
        "whose sub-folders are the classes)",
    )
    group.add_argument(
        "--source", type=Path, required=True, metavar="FILE", help="the unlabelled rows, columns matched by name"
    )
    add_column_options(group)


def add_column_options(group):
    """Add the options that say which columns are no features."""
    group.add_argument("--id", metavar="COLUMN", help="column of row ids, kept in the results (default: 0, 1, 2, ...)")
    group.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN", help="a column to leave out; may be repeated"
    )


def check_files(inputs, out, *, is_table=True):
    """Find out before any work whether the files can be read, and the result written without losing an input."""
    try:
        for path in inputs:
            check_readable(path)
    except ValueError as error:
        raise UsageError(error) from error
    check_output(inputs, out, is_table=is_table)


def check_output(inputs, out, *, is_table=True):
    """Find out whether the result can be written without losing an input."""
    try:
        check_writable(out) if is_table else check_place(out)
    except ValueError as error:
        raise UsageError(error) from error
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise UsageError(f"{out} is read and cannot be written to as well: choose another --out.")


def read_problem(arguments):
    """Return the labelled rows and the source that the command line names, of two tables."""
    label, ids = arguments.label, [] if arguments.id is None else [arguments.id]
    target = read_table(arguments.target, [*ids, *arguments.drop], needed=[label])
    y = checked_labels(target.column(label), f"column {label!r} of {target.path}")
    source = read_table(arguments.source, [label, *arguments.drop], needed=ids)
    for name in arguments.drop:
        if not (target.has(name) or source.has(name)):
            # A slip of the pen, which would leave a column in that was to be left out.
            raise ValueError(f"neither {target.path} nor {source.path} has a column {name!r} to drop.")
    with blaming("X_source", target.path):
        X = target.features()
    pool = as_pool(source, arguments.id, target.rows.feature_names, target.rows.n_features)
    return Problem(X, y, pool)


def as_pool(table, id_column, names, n_features):
    """Return a table's rows as a pool with the columns asked for, its index being the ids, if there are any."""
    with blaming("X_source", table.path):
        pool = as_source(table.rows, n_target=-1, n_features=n_features, feature_names=names)
    if id_column is None:
        return pool
    ids = table.column(id_column)
    # Text of a fixed width is kept compactly, in memory and in a model's file.
    return pool.named(None, ids.astype(str) if ids.dtype == object else ids)


def describe_problem(arguments, problem):
    """Return what was read, as pairs of heading and text."""
    n_target, n_features = problem.X.shape
    counts = f"{n_target:,} labelled rows of {len(np.unique(problem.y))} classes, {n_features:,} features"
    return [
        ("target", f"{arguments.target}: {counts}"),
        ("source", f"{arguments.source}: {problem.pool.n_rows:,} rows"),
    ]


def checked_labels(y, where):
    """Return the labels, refused unless they are classes, at least two of them."""
    if y.dtype == object and not all(isinstance(value, str) for value in y):
        odd = next(value for value in y if not isinstance(value, str))
        raise ValueError(f"{where} holds {odd!r}; labels are text, whole numbers, booleans or dates.")
    if y.dtype.kind not in "OUbiufM":
        raise ValueError(f"{where} holds values of type {y.dtype}; labels are text, whole numbers, booleans or dates.")
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        odd = y[y != np.floor(y)][0]
        raise ValueError(
            f"{where} holds {odd:g}, but labels are classes, not measurements: give text or whole numbers."
        )
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"{where} holds only one class, {classes.tolist()[0]!r}, and a classifier needs two.")
    return y
