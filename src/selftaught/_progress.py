"""What long work tells of its progress.

``verbose=1`` writes one line for each round of a fit to standard error. Whoever runs a fit, such as the command line,
may listen to how many of the guard's folds are done; nobody does by default.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["counted", "listening", "report_round"]

_listener: ContextVar = ContextVar("listener", default=None)


def report_round(number, value):
    """Write the number of a round and the objective after it."""
    print(f"round {number}: objective {value:.6g}", file=sys.stderr)


def counted(items, total, what):
    """Yield the items; tell who listens ``(what, number done, total)`` at the start and after each."""
    tell = _listener.get() or _ignore
    tell(what, 0, total)
    for done, item in enumerate(items, 1):
        yield item
        tell(what, done, total)


@contextmanager
def listening(tell):
    """Have ``tell(what, done, total)`` called while the body works."""
    token = _listener.set(tell)
    try:
        yield
    finally:
        _listener.reset(token)


def _ignore(what, done, total):
    """Listen to nothing."""
