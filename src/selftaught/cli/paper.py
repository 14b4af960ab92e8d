"""``selftaught paper``: repeat the paper's experiments, all or any part, and write their tables and figures.

It may be stopped at any moment: started again with the same ``--out`` it goes on with what is missing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from selftaught.experiments import DATASETS, METHODS, Place, all_units, run, write_results

from .terminal import UsageError, progress

__all__ = ["add_parser"]


def add_parser(subparsers):
    """Add the subcommand."""
    paper = subparsers.add_parser(
        "paper",
        help="repeat the paper's experiments, resumable",
        description="Repeat the experiments of the GASTL paper and write their tables. Stopped at any moment and "
        "started again with the same --out, it goes on with what is missing.",
    )
    paper.add_argument("--data", type=Path, metavar="DIR", help="folder with caltech101/, imdb/ and tweets/")
    paper.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="records, tables and figures (default: results)",
    )
    paper.add_argument(
        "--datasets", type=_names(DATASETS), metavar="A,B", help=f"of {', '.join(DATASETS)} (default: all)"
    )
    paper.add_argument("--methods", type=_names(METHODS), metavar="A,B", help=f"of {', '.join(METHODS)} (default: all)")
    paper.add_argument("--splits", type=_numbers, metavar="1,2", help="columns of the tables, from 1 (default: all)")
    paper.add_argument(
        "--part",
        default="all",
        choices=("oracle", "honest", "all"),
        help="oracle: on the test rows, the whole grid; honest: on folds of the labelled rows, from which the grid is "
        "chosen; all (default): both",
    )
    paper.add_argument("--seeds", type=_numbers, default=[0], metavar="0,1", help="draws of the splits (default: 0)")
    paper.add_argument("--jobs", type=int, default=2, metavar="N", help="units worked on at once (default: 2)")
    paper.add_argument("--retry", action="store_true", help="take up units again that broke")
    paper.add_argument("--tables-only", action="store_true", help="no work, only tables and figures of the records")
    paper.set_defaults(run=run_paper)


def run_paper(arguments):
    """Do what is missing, then write tables and figures."""
    broken = {} if arguments.tables_only else _run_missing(arguments)
    for file in write_results(arguments.out):
        print(file)
    for key, error in broken.items():
        print(f"selftaught: {key} broke: {error}", file=sys.stderr)


def _run_missing(arguments):
    if arguments.data is None or not arguments.data.is_dir():
        raise UsageError(f"--data must be a folder with caltech101/, imdb/ and tweets/, got {arguments.data}.")
    splits = None if arguments.splits is None else [number - 1 for number in arguments.splits]
    units = all_units(arguments.datasets, arguments.methods, splits, arguments.part, arguments.seeds)
    place = Place(str(arguments.data.resolve()), str((arguments.out / "cache").resolve()))
    with progress("repeating the paper"):
        return run(units, place, arguments.out, n_jobs=arguments.jobs, retry=arguments.retry)


def _names(known):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"knows {', '.join(known)}, got {name!r}")
        return names

    return parse


def _numbers(text):
    numbers = text.split(",")
    if not all(number.isdecimal() for number in numbers):
        raise argparse.ArgumentTypeError(f"must be whole numbers such as 1,2, got {text!r}")
    return [int(number) for number in numbers]
