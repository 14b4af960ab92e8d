"""Rows that were computed before, on disk: found by what they were made of and how.

    FOLDER/NAME-DIGEST.sqlite      key (SHA-256 of an item's content)  ->  row (float32 unless said otherwise)

``NAME`` says who made the rows, ``DIGEST`` stands for everything beside an item's content that decides its row:
parameters, and what was fitted. So a renamed file is found, and a changed one, or the same one with other parameters,
is not. Rows are added in transactions: a process killed at any moment leaves whole rows.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["RowStore", "digest"]

TABLE = "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID"
WAIT = 60.0  # seconds for another process to finish its transaction


class RowStore:
    """The rows of one way of making them; ``recipe`` is that way, as `digest` takes it, ``dtype`` that of the rows."""

    def __init__(self, folder, name: str, recipe: Any, dtype="<f4"):
        self.path = Path(folder).expanduser() / f"{name}-{digest(recipe)[:16]}.sqlite"
        self.dtype = np.dtype(dtype)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID"
            )

    def find(self, keys: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """Return the rows that are there, each of shape (d,), by their keys."""
        found = {}
        with self._open() as connection:
            for key in keys:
                row = connection.execute("SELECT row FROM rows WHERE key = ?", [key]).fetchone()
                if row is not None:
                    found[key] = np.frombuffer(row[0], self.dtype)
        return found

    def add(self, rows: dict[bytes, np.ndarray]) -> None:
        """Add rows under their keys, all of them or none."""
        values = [(key, np.asarray(row, self.dtype).tobytes()) for key, row in rows.items()]
        with self._open() as connection:
            connection.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", values)

    @contextmanager
    def _open(self):
        """Give a connection whose changes are kept at the end; a file that cannot be used is named."""
        try:
            with closing(sqlite3.connect(self.path, timeout=WAIT)) as connection, connection:
                yield connection
        except sqlite3.OperationalError as error:
            raise OSError(
                f"the cache {self.path} cannot be used ({error}). See whether its folder can be written to and its "
                "disk has room; or choose another cache=."
            ) from error
        except sqlite3.DatabaseError as error:
            raise OSError(
                f"the cache {self.path} is damaged ({error}). Delete it, and its rows are computed anew; or choose "
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
        hashed.update(b"mapping ")
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
