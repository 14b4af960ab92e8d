"""The command ``selftaught``: finds the subcommand, and turns what went wrong into one line and an exit code.

Exit codes: 0 done, 2 wrong usage, 3 the guard refused, 4 bad data, 130 interrupted. Usage is what can be told without
opening a file, a missing one included; data is what is in it.
"""

from __future__ import annotations

import argparse
import os
import sys

from selftaught import TransferRefused, __version__

from . import apply, demo, features, learn, paper
from .terminal import UsageError

__all__ = ["main"]

COMMANDS = (demo, learn, apply, features, paper)
USAGE, REFUSED, BAD_DATA, INTERRUPTED, BROKEN_PIPE = 2, 3, 4, 130, 141


def main(argv=None) -> int:
    """Run the command line and return its exit code; wrong usage exits with 2."""
    arguments = _make_parser().parse_args(argv)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except TransferRefused as error:
        return _fail(REFUSED, error)
    except BrokenPipeError:
        # The reader left, as `head` does: nobody to tell, and nothing to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (UsageError, ImportError) as error:
        return _fail(USAGE, error)
    except (ValueError, OSError, MemoryError) as error:
        return _fail(BAD_DATA, error)
    except KeyboardInterrupt:
        return _fail(INTERRUPTED, "interrupted")
    return 0


def _make_parser():
    parser = argparse.ArgumentParser(
        prog="selftaught",
        description="Find the unlabelled rows that help a few labelled ones, use them, or refuse when they would hurt.",
    )
    parser.add_argument("--version", action="version", version=f"selftaught {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def _fail(code, why):
    if isinstance(why, OSError) and why.filename is not None:
        why = f"{why.filename}: {why.strerror}"
    print(f"selftaught: {' '.join(str(why).split())}", file=sys.stderr)
    return code
