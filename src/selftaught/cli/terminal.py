"""What the command line says beside its results: errors of usage, notes, and progress where somebody is watching."""

from __future__ import annotations

import shutil
import sys
import textwrap
import threading
import time
import warnings
from contextlib import contextmanager

from selftaught._progress import listening

__all__ = ["UsageError", "blaming", "laid_out", "notes_in_one_line", "progress"]

EVERY = 0.2
BAR = 20


class UsageError(ValueError):
    """The command line asks for what there is not: a file, a method, a place to write."""


@contextmanager
def blaming(name, path):
    """Name the file in place of the argument of a function that the user has never seen."""
    try:
        yield
    except ValueError as error:
        if name not in str(error):
            raise
        raise ValueError(str(error).replace(name, str(path))) from error


@contextmanager
def notes_in_one_line():
    """Print warnings as one line each on standard error, without the place in the code that raised them."""

    def show(message, category, filename, lineno, file=None, line=None):
        print(f"selftaught: note: {' '.join(str(message).split())}", file=sys.stderr)

    before, warnings.showwarning = warnings.showwarning, show
    try:
        yield
    finally:
        warnings.showwarning = before


def laid_out(lines):
    """Return pairs of heading and text as lines that fit the terminal, or in a pipe as one line each."""
    gap = 2 + max(len(heading) for heading, _ in lines)
    width = min(shutil.get_terminal_size((100, 24)).columns, 100) if sys.stdout.isatty() else 0
    return "\n".join(_folded(f"{heading:{gap}}{text}", width, gap) for heading, text in lines)


def _folded(line, width, indent):
    if not width:
        return line
    return textwrap.fill(line, width, subsequent_indent=" " * indent, break_on_hyphens=False, break_long_words=False)


@contextmanager
def progress(doing):
    """Show on a terminal what is being done, how far it is and since when; in a pipe show nothing.

    Yields a function ``tell(what, done, total)``; a fit inside the body tells of its folds by itself.
    """
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    line = _StatusLine(doing)
    with line, listening(line.tell):
        yield line.tell


class _StatusLine:
    """One line on standard error, written anew by a thread of its own while the work goes on."""

    def __init__(self, doing):
        self.doing, self.state = doing, ("", 0, 0)
        self.start, self.ended = time.monotonic(), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._write()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        print("\r\033[K", end="", file=sys.stderr, flush=True)

    def tell(self, what, done, total):
        """Note how far the work is."""
        self.state = what, done, total

    def _run(self):
        while not self.ended.wait(EVERY):
            self._write()

    def _write(self):
        what, done, total = self.state
        bar = "#" * (BAR * done // total) if total else ""
        far = f"[{bar:.<{BAR}}] {done} of {total} {what}, " if total else ""
        line = f"{self.doing} {far}{time.monotonic() - self.start:.0f} s"
        width = shutil.get_terminal_size((100, 24)).columns - 1
        print(f"\r{line[:width]}\033[K", end="", file=sys.stderr, flush=True)
