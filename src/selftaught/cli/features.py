"""``selftaught features``: from a folder of images, or a file of texts, to rows that the other commands read.

    X        one row for each item that could be read
    paths    of images: the path inside the folder (of texts: ``names``); ``--id paths`` carries it into later results
    y        its class, where there are classes; ``--label y``

What could not be read is named in a report beside the output. An extractor that learns something, such as visual words,
learns it from the items themselves, from others (``--fit-on``), or has done so before (``--with``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from selftaught._files import written_whole
from selftaught.features.extractor import FeatureExtractor
from selftaught.persistence import Provenance, check_skops, load_model, save_model

from .items import Unread, check_places, fit_extractor, portable, rows_of
from .kinds import KINDS, add_maker_options
from .methods import parse_jobs, parse_seed
from .terminal import UsageError, laid_out, notes_in_one_line

__all__ = ["add_parser"]


def add_parser(subparsers):
    """Add the subcommand, which has one of its own for each kind of items."""
    parser = subparsers.add_parser(
        "features",
        help="from images or texts to a table of features",
        description="Turn images or texts into rows of numbers, which the other commands read.",
    )
    kinds = parser.add_subparsers(title="kinds of items", metavar="KIND", required=True)
    for name, kind in KINDS.items():
        of_kind = kinds.add_parser(
            name, help=kind.help, description=f"Turn {name} into rows of numbers. {kind.place}: {kind.help}."
        )
        _add_options(of_kind, name, kind)
        of_kind.set_defaults(run=run, kind=name, label=None)


def _add_options(parser, name, kind):
    parser.add_argument("place", type=Path, metavar=kind.place, help=kind.help)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.npz", help="the rows: X, what they are, y")
    if name == "texts":
        parser.add_argument("--label", metavar="COLUMN", help="column that holds the classes (.csv, .parquet)")
    kind.add_columns(parser)
    names = tuple(kind.makers)
    parser.add_argument(
        "--extractor", default=names[0], choices=names, metavar="NAME", help=f"{', '.join(names)} (default: {names[0]})"
    )
    add_maker_options(parser, (name,))
    parser.add_argument(
        "--fit-on",
        type=Path,
        action="append",
        metavar=kind.place,
        help=f"learn what the extractor has to learn from these {name}, not from those that rows are made of; may be "
        "repeated",
    )
    parser.add_argument("--with", dest="fitted", type=Path, metavar="FILE.skops", help="use a saved extractor as it is")
    parser.add_argument("--save-extractor", type=Path, metavar="FILE.skops", help="keep the extractor for --with")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep rows here: interrupted work goes on")
    parser.add_argument("--seed", type=parse_seed, default=0, metavar="N", help="same seed, same rows (default: 0)")
    parser.add_argument("--jobs", type=parse_jobs, metavar="N", help="items worked on at once; -1 for all cores")


def run(arguments):
    """Make and write the rows."""
    _check_usage(arguments)
    kind = KINDS[arguments.kind]
    found = kind.find(arguments.place, arguments, arguments.label)
    unread = Unread(arguments.out)
    with notes_in_one_line():
        extractor = _extractor(arguments, kind, found)
        X, kept = rows_of(arguments.place, found, extractor, unread)
    unread.tell()
    _write(arguments.out, {"X": X, kind.names: kept.names} | ({} if kept.y is None else {"y": kept.y}))
    if arguments.save_extractor is not None:
        provenance = Provenance(method=arguments.extractor, seed=arguments.seed)
        save_model(portable(extractor), arguments.save_extractor, provenance)
    _report(arguments, X, kept.y, len(unread.rows))


def _check_usage(arguments):
    """Find out before any work what cannot be done."""
    if arguments.out.suffix.lower() != ".npz":
        raise UsageError(f"--out is a file of arrays and must end in .npz, got {arguments.out}.")
    written = [arguments.out, *([] if arguments.save_extractor is None else [arguments.save_extractor])]
    check_places([arguments.place], written, arguments.cache)
    if arguments.fitted is not None:
        if arguments.fit_on:
            raise UsageError("--with uses an extractor as it is, and --fit-on fits one: give one of the two.")
        if not arguments.fitted.is_file():
            raise UsageError(f"there is no saved extractor {arguments.fitted}.")
    if arguments.fitted is not None or arguments.save_extractor is not None:
        check_skops()


def _extractor(arguments, kind, found):
    """Return the fitted extractor that the command line asks for."""
    here: dict[str, Any] = dict(cache=arguments.cache, n_jobs=arguments.jobs)
    if arguments.fitted is not None:
        extractor = load_model(arguments.fitted).model
        if not isinstance(extractor, FeatureExtractor) or extractor.items_are != arguments.kind:
            held = type(extractor).__name__
            raise ValueError(f"{arguments.fitted} holds a {held}, which makes no rows of {arguments.kind}.")
        return extractor.set_params(**here)
    maker = kind.makers[arguments.extractor]
    places = [found]
    if arguments.fit_on:
        places = [kind.find(place, arguments, arguments.label) for place in arguments.fit_on]
    items = [item for place in places for item in place.items]
    y = None
    if maker.learns_from == "labels":
        y = np.concatenate([_labels(arguments, place.y) for place in places])
    extractor = maker.make(arguments).set_params(**here)
    return fit_extractor(arguments.extractor, extractor, items, y, rows_follow=not arguments.fit_on)


def _labels(arguments, y):
    if y is None:
        raise UsageError(
            f"{arguments.extractor} learns from labelled {arguments.kind}: name their column by --label, give a folder "
            "whose sub-folders are classes, name labelled ones by --fit-on, or use a fitted extractor by --with."
        )
    return y


def _write(path, arrays: dict[str, Any]):
    with written_whole(path) as unfinished, open(unfinished, "wb") as file:
        np.savez_compressed(file, **arrays)


def _report(arguments, X, y, n_unread):
    n_classes = 0 if y is None else len(np.unique(y))
    classes = f" of {n_classes} {'class' if n_classes == 1 else 'classes'}" if n_classes else ""
    unread = f", {n_unread} unreadable" if n_unread else ""
    lines = [
        (arguments.kind, f"{arguments.place}: {len(X):,} rows{classes}, {X.shape[1]:,} features{unread}"),
        ("extractor", _origin(arguments)),
        ("written", str(arguments.out)),
    ]
    print(laid_out(lines))


def _origin(arguments):
    """Say what the extractor is, and what it has seen."""
    if arguments.fitted is not None:
        return f"{arguments.fitted}, as it was saved"
    if KINDS[arguments.kind].makers[arguments.extractor].learns_from == "nothing":
        return arguments.extractor
    seen = ", ".join(map(str, arguments.fit_on)) if arguments.fit_on else f"{arguments.place} itself"
    return f"{arguments.extractor}, seed {arguments.seed}, fitted on {seen}"
