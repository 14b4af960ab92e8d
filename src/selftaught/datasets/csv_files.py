"""Rows of CSV files whose encoding nobody wrote down.

The bytes are parsed as Latin-1, which loses nothing, and every field is then read as UTF-8 if it is valid UTF-8 and
left as Latin-1 if not: collections of tweets mix the two, line by line.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator

from .archives import open_table

BYTE_ORDER_MARK = "\xef\xbb\xbf"  # of UTF-8, as it looks in Latin-1


def read_rows(path: str | os.PathLike, is_wanted: Callable[[str], bool]) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each row of a CSV file, plain, compressed, or a wanted member of a zip archive."""
    with open_table(path, is_wanted) as file:
        # TextIOWrapper alone asks for 8 kB at a time, which costs a third of the time when xz has to answer.
        reader = csv.reader(io.TextIOWrapper(io.BufferedReader(file, 2**20), encoding="latin-1", newline=""))
        try:
            for i, row in enumerate(reader):
                if i == 0 and row:
                    row[0] = row[0].removeprefix(BYTE_ORDER_MARK)
                if row:
                    yield reader.line_num, [as_utf8(field) for field in row]
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}. The file is damaged or no CSV file.") from None


def as_utf8(text: str) -> str:
    """Text read as Latin-1, read again as UTF-8 where it is that."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return text
