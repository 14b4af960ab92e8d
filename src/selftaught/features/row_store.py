"""Rows that were computed before, on disk: found by what they were made of and how.

    FOLDER/NAME-DIGEST.sqlite      key (SHA-256 of an item's content)  ->  row (float32)

``NAME`` says who made the rows, ``DIGEST`` stands for everything beside an item's content that decides its row:
parameters, and what was fitted. So a renamed file is found, and a changed one, or the same one with other parameters,
is not. Rows are added in transactions: a process killed at any moment leaves whole rows.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["RowStore", "digest"]

WAIT = 60.0  # seconds for another process to finish its transaction
STORED = np.dtype("<f4")


class RowStore:
    """The rows of one way of making them; ``recipe`` is that way, as `digest` takes it."""

    def __init__(self, folder, name: str, recipe: Any):
        self.path = Path(folder).expanduser() / f"{name}-{digest(recipe)[:16]}.sqlite"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._run("CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID")

    def find(self, keys: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """Return the rows that are there, each of shape (d,), by their keys."""
        found = {}
        with closing(self._connect()) as connection:
            for key in keys:
                row = self._run("SELECT row FROM rows WHERE key = ?", [key], connection).fetchone()
                if row is not None:
                    found[key] = np.frombuffer(row[0], STORED)
        return found

    def add(self, rows: dict[bytes, np.ndarray]) -> None:
        """Add rows under their keys, all of them or none."""
        values = [(key, np.asarray(row, STORED).tobytes()) for key, row in rows.items()]
        with closing(self._connect()) as connection, connection:
            self._run("INSERT OR REPLACE INTO rows VALUES (?, ?)", values, connection, many=True)

    def _connect(self):
        return sqlite3.connect(self.path, timeout=WAIT)

    def _run(self, command, values=(), connection=None, *, many=False):
        """Run one command; a file that is no store is named."""
        if connection is None:
            with closing(self._connect()) as connection, connection:
                return self._run(command, values, connection)
        try:
            return connection.executemany(command, values) if many else connection.execute(command, values)
        except sqlite3.DatabaseError as error:
            raise OSError(
                f"the cache {self.path} cannot be used ({error}). Delete it, and its rows are computed anew; or choose "
                "another cache=."
            ) from error


def digest(value: Any) -> str:
    """Return the SHA-256 of plain data: numbers, text, bytes, None, arrays, and dicts, lists and tuples of these."""
    hashed = hashlib.sha256()
    _feed(hashed, value)
    return hashed.hexdigest()


def _feed(hashed, value):
    """Add a value to a hash, with its kind and size, so that no two values run into one."""
    if isinstance(value, dict):
        value = sorted(value.items())
    if isinstance(value, (list, tuple)):
        hashed.update(b"sequence %d " % len(value))
        for part in value:
            _feed(hashed, part)
    elif isinstance(value, np.ndarray):
        hashed.update(f"array {value.dtype.str} {value.shape} ".encode())
        hashed.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, bytes):
        hashed.update(b"bytes %d " % len(value) + value)
    elif value is None or isinstance(value, (str, bool, int, float, np.generic)):
        text = repr(value.item() if isinstance(value, np.generic) else value)
        hashed.update(f"{len(text)} {text} ".encode("utf-8", "surrogatepass"))
    else:
        raise TypeError(f"cannot tell what {value!r} is made of; a recipe holds plain data and arrays.")
