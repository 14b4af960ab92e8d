"""What ``verbose=1`` shows: one line for each round of a long fit, on standard error."""

from __future__ import annotations

import sys

__all__ = ["report_round"]


def report_round(number, value):
    """Write the number of a round and the objective after it."""
    print(f"round {number}: objective {value:.6g}", file=sys.stderr)
