"""How far a transfer is: one line that rewrites itself on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
import time


class TransferBar:
    """Shows received and total megabytes on standard error, a few times a second; a context manager."""

    def __init__(self, name: str):
        self.name = name
        self.total: int | None = None
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._shown_at = float("-inf")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self._on_terminal and self._shown_at > 0:
            print(file=sys.stderr)

    def show(self, received: int) -> None:
        """Say how much there is, unless it was said a moment ago and is not the end."""
        now = time.monotonic()
        if not self._on_terminal or (now - self._shown_at < 0.2 and received != self.total):
            return
        self._shown_at = now
        of_total = f" of {self.total / 1e6:.1f} MB, {100 * received / self.total:3.0f} %" if self.total else " MB"
        print(f"\r{self.name}: {received / 1e6:.1f}{of_total} ", end="", file=sys.stderr, flush=True)
