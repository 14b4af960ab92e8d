"""``selftaught features``: from a folder of images to rows that the other commands read.

    X        one row for each file that could be read
    paths    its path inside the folder; ``--id paths`` carries it into later results
    y        its class, where the folder's sub-folders are classes; ``--label y``

What could not be read is named in a report beside the output. An extractor that learns something, such as visual words,
learns it from the folder itself, from others (``--fit-on``), or has done so before (``--with``).

A further kind of items is a further `Kind`, a further extractor an entry in its ``extractors``.
"""

from __future__ import annotations

import copy
import csv
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from selftaught._files import written_whole
from selftaught.features import FolderItems, SIFTBag, find_items
from selftaught.features.extractor import FeatureExtractor
from selftaught.features.folders import first_level
from selftaught.persistence import Provenance, check_skops, load_model, save_model
from selftaught.tables import check_place

from .methods import parse_count, parse_jobs, parse_seed
from .terminal import UsageError, laid_out, notes_in_one_line, progress

__all__ = ["KINDS", "Kind", "add_parser"]

MOST_NAMED = 20


@dataclass(frozen=True)
class Kind:
    """One kind of items: where they are, and what makes rows of them.

    ``place`` stands for the place in the help; ``find`` the items of a place, in order; ``names`` what to call some of
    them in the output, and their classes or None; ``extractors`` makes unfitted extractors of the parsed options, by
    short name, the first being the default; ``add_options`` adds options of theirs.
    """

    place: str
    help: str
    find: Callable[[Path], Any]
    names: Callable[[Path, Any], tuple[dict[str, np.ndarray], np.ndarray | None]]
    extractors: dict[str, Callable[[Any], FeatureExtractor]]
    add_options: Callable[[Any], None]


# Images


def _make_sift(arguments):
    return SIFTBag(arguments.words, random_state=arguments.seed)


def _add_image_options(parser):
    parser.add_argument(
        "--words", type=parse_count, default=1000, metavar="N", help="visual words of sift (default: 1000)"
    )


def _find_images(folder):
    return _found(folder).paths


def _found(folder) -> FolderItems:
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}.")
    return find_items(folder)


def _image_names(folder, paths):
    inside = np.array([path.relative_to(folder).as_posix() for path in paths])
    return {"paths": inside}, first_level(folder, paths)


KINDS = {
    "images": Kind(
        place="FOLDER",
        help="a folder of images, and of sub-folders, which are its classes if no image lies beside them",
        find=_find_images,
        names=_image_names,
        extractors={"sift": _make_sift},
        add_options=_add_image_options,
    ),
}


# The command


def add_parser(subparsers):
    """Add the subcommand, which has one of its own for each kind of items."""
    parser = subparsers.add_parser(
        "features",
        help="from a folder of images to a table of features",
        description="Turn items into rows of numbers, which the other commands read.",
    )
    kinds = parser.add_subparsers(title="kinds of items", metavar="KIND", required=True)
    for name, kind in KINDS.items():
        of_kind = kinds.add_parser(
            name, help=f"{kind.help}", description=f"Turn {name} into rows of numbers. {kind.place}: {kind.help}."
        )
        _add_options(of_kind, name, kind)
        of_kind.set_defaults(run=run, kind=name)


def _add_options(parser, name, kind):
    parser.add_argument("place", type=Path, metavar=kind.place, help=kind.help)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.npz", help="the rows: X, what they are, y")
    names = tuple(kind.extractors)
    parser.add_argument(
        "--extractor", default=names[0], choices=names, metavar="NAME", help=f"{', '.join(names)} (default: {names[0]})"
    )
    kind.add_options(parser)
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
    items = kind.find(arguments.place)
    with notes_in_one_line():
        extractor = _extractor(arguments, kind, items)
        with progress("making rows"):
            extracted = extractor.extract(items)
    report = arguments.out.with_suffix(".unreadable.csv")
    _tell_unreadable(items, extracted.problems, report)
    if not len(extracted.kept):
        raise ValueError(f"none of the {len(items)} {arguments.kind} of {arguments.place} can be read: see {report}.")
    names, y = kind.names(arguments.place, [items[i] for i in extracted.kept])
    _write(arguments.out, extracted.X, names, y)
    if arguments.save_extractor is not None:
        provenance = Provenance(method=arguments.extractor, seed=arguments.seed)
        save_model(copy.copy(extractor).set_params(cache=None, n_jobs=None), arguments.save_extractor, provenance)
    _report(arguments, extracted, y)


def _check_usage(arguments):
    """Find out before any work what cannot be done."""
    if arguments.out.suffix.lower() != ".npz":
        raise UsageError(f"--out is a file of arrays and must end in .npz, got {arguments.out}.")
    written = [arguments.out, *([arguments.save_extractor] if arguments.save_extractor else [])]
    try:
        for path in written:
            check_place(path)
    except ValueError as error:
        raise UsageError(error) from error
    for path in [*written, *([arguments.cache] if arguments.cache else [])]:
        if arguments.place.resolve() in path.resolve().parents:
            raise UsageError(f"{path} lies in {arguments.place}, and would count among its {arguments.kind} next time.")
    if arguments.fitted is not None:
        if arguments.fit_on:
            raise UsageError("--with uses an extractor as it is, and --fit-on fits one: give one of the two.")
        if not arguments.fitted.is_file():
            raise UsageError(f"there is no saved extractor {arguments.fitted}.")
    if arguments.fitted is not None or arguments.save_extractor is not None:
        check_skops()


def _extractor(arguments, kind, items):
    """Return the fitted extractor that the command line asks for."""
    here: dict[str, Any] = dict(cache=arguments.cache, n_jobs=arguments.jobs)
    if arguments.fitted is not None:
        extractor = load_model(arguments.fitted).model
        if not isinstance(extractor, FeatureExtractor) or extractor.items_are != arguments.kind:
            held = type(extractor).__name__
            raise ValueError(f"{arguments.fitted} holds a {held}, which makes no rows of {arguments.kind}.")
        return extractor.set_params(**here)
    extractor = kind.extractors[arguments.extractor](arguments).set_params(**here)
    with progress(f"fitting {arguments.extractor}"), warnings.catch_warnings():
        if not arguments.fit_on:
            # What cannot be read is named when the rows are made.
            warnings.filterwarnings("ignore", message="words are learned without")
            return extractor.fit(items)
        return extractor.fit([item for place in arguments.fit_on for item in kind.find(place)])


def _tell_unreadable(items, problems, report):
    """Name what cannot be read on standard error and in a report; take away a report that is out of date."""
    if not problems:
        report.unlink(missing_ok=True)
        return
    rows = [(str(items[i]), reason) for i, reason in problems.items()]
    for name, reason in rows[:MOST_NAMED]:
        print(f"selftaught: unreadable: {name}: {reason}", file=sys.stderr)
    if len(rows) > MOST_NAMED:
        print(f"selftaught: unreadable: {len(rows) - MOST_NAMED} more, see {report}", file=sys.stderr)
    with written_whole(report) as unfinished, open(unfinished, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("path", "reason"), *rows])


def _write(path, X, names, y):
    arrays: dict[str, Any] = {"X": X, **names} | ({} if y is None else {"y": y})
    with written_whole(path) as unfinished, open(unfinished, "wb") as file:
        np.savez_compressed(file, **arrays)


def _report(arguments, extracted, y):
    n_rows, n_features = extracted.X.shape
    classes = "" if y is None else f" of {len(np.unique(y))} classes"
    unreadable = f", {len(extracted.problems)} unreadable" if extracted.problems else ""
    lines = [
        (arguments.kind, f"{arguments.place}: {n_rows:,} rows{classes}, {n_features:,} features{unreadable}"),
        ("extractor", _origin(arguments)),
        ("written", str(arguments.out)),
    ]
    print(laid_out(lines))


def _origin(arguments):
    """Say what the extractor is, and what it has seen."""
    if arguments.fitted is not None:
        return f"{arguments.fitted}, as it was saved"
    seen = ", ".join(map(str, arguments.fit_on)) if arguments.fit_on else f"{arguments.place} itself"
    return f"{arguments.extractor}, seed {arguments.seed}, fitted on {seen}"
