"""The file of records: one JSON object a line, written whole, read back whatever stopped the writing.

While work goes on, `Log` appends to ``records.jsonl``. Each finished unit is some lines and then one that says so:

    {"dataset": ..., "split": 0, "seed": 0, "fold": null, "method": "gastl", "variant": "SoftA", "params": {...},
     "sizes": [10, 20, ...], "correct": [151, 153, ...], "f1": [...], "n_test": 300, "seconds": 1.2, "versions": "..."}
    {"unit": "caltech-sift/0/seed0/test/gastl/n_hidden=10/gamma=0.0", "n_records": 50, "seconds": 60.1}

``sizes`` are numbers of source rows, ``correct`` right answers on ``n_test`` rows. A unit that broke has ``error`` in
place of records. Lines after the last finished unit are what a kill left behind: they are dropped.

`pack` turns the file into ``records.jsonl.xz``, sorted, which is what is committed; both are read as one.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterable
from pathlib import Path

from .._files import written_whole

__all__ = ["Log", "pack", "read_records", "read_units"]

LOOSE, PACKED = "records.jsonl", "records.jsonl.xz"


class Log:
    """Appends finished units to the loose file of a folder."""

    def __init__(self, folder):
        self.path = Path(folder) / LOOSE
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _drop_unfinished(self.path)

    def add(self, key, records, *, seconds, error=None):
        """Write a unit's records and that it is done, in one piece."""
        end = dict(unit=key, n_records=len(records), seconds=round(seconds, 2))
        if error is not None:
            end["error"] = error
        text = "".join(_line(each) for each in [*records, end])
        with open(self.path, "a", encoding="utf-8") as lines:
            lines.write(text)
            lines.flush()
            os.fsync(lines.fileno())


def read_units(folder):
    """Return the lines that end units, by key: what is done, how long it took, and what broke."""
    return {line["unit"]: line for line in _read_lines(Path(folder)) if "unit" in line}


def read_records(folder):
    """Return all records of finished units."""
    return [line for line in _read_lines(Path(folder)) if "unit" not in line]


def pack(folder):
    """Turn loose records into packed ones, sorted so that the same records are the same file."""
    folder = Path(folder)
    units = list(_units(_read_lines(folder)))
    if not units:
        return
    units.sort(key=lambda lines: lines[-1]["unit"])
    with written_whole(folder / PACKED) as unfinished, lzma.open(unfinished, "wt", encoding="utf-8", preset=9) as out:
        out.writelines(_line(line) for lines in units for line in lines)
    (folder / LOOSE).unlink(missing_ok=True)


def _read_lines(folder):
    """Return the lines of finished units, packed ones first; a unit that is in both counts as it is in the loose."""
    lines = []
    if (folder / PACKED).exists():
        with lzma.open(folder / PACKED, "rt", encoding="utf-8") as packed:
            lines += [json.loads(line) for line in packed]
    if (folder / LOOSE).exists():
        lines += _whole_lines(folder / LOOSE)[0]
    latest = {units[-1]["unit"]: units for units in _units(lines)}
    return [line for unit in latest.values() for line in unit]


def _units(lines: Iterable[dict]):
    """Yield the lines of each finished unit, the one that ends it last."""
    unit = []
    for line in lines:
        unit.append(line)
        if "unit" in line:
            # What stands before the unit's own records was left by a kill.
            yield unit[len(unit) - 1 - line["n_records"] :]
            unit = []


def _whole_lines(path):
    """Return the lines up to the last finished unit, and how many bytes they are."""
    lines, kept, size, at = [], 0, 0, 0
    with open(path, "rb") as file:
        for raw in file:
            at += len(raw)
            try:
                line = json.loads(raw)
            except ValueError:
                break
            if not raw.endswith(b"\n"):
                break
            lines.append(line)
            if "unit" in line:
                kept, size = len(lines), at
    return lines[:kept], size


def _drop_unfinished(path):
    """Cut off what a kill left after the last finished unit."""
    if path.exists():
        _, size = _whole_lines(path)
        os.truncate(path, size)


def _line(record):
    return json.dumps(record, separators=(",", ":")) + "\n"
