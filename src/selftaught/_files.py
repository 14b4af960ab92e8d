"""Files appear whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

__all__ = ["written_whole"]


@contextmanager
def written_whole(path):
    """Give a temporary name beside ``path`` to write to; the file takes its own name when the body has succeeded."""
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
