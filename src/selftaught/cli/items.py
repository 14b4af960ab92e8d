"""Images and texts in place of tables: found, made into rows, and what could not be read named beside the output."""

from __future__ import annotations

import copy
import csv
import sys
import warnings
from pathlib import Path

import numpy as np

from selftaught._files import written_whole
from selftaught.source import SourcePool

from .inputs import Problem, check_output, checked_labels
from .kinds import KINDS, MAKERS, add_maker_options, kind_of
from .terminal import UsageError, progress

__all__ = [
    *("Unread", "add_feature_options", "check_places", "fit_extractor", "portable", "read_item_pool"),
    *("read_item_problem", "rows_of"),
]

MOST_NAMED = 20


class Unread:
    """What could not be read, of one place or several, and the report on it beside the output."""

    def __init__(self, out):
        self.report, self.rows = out.with_suffix(".unreadable.csv"), []

    def add(self, items, problems):
        """Note the items whose positions are keys of ``problems``, with the reasons."""
        self.rows += [(str(items[i]), reason) for i, reason in problems.items()]

    def tell(self):
        """Name them, and write the report; take away one that is out of date."""
        if not self.rows:
            self.report.unlink(missing_ok=True)
            return
        for name, reason in self.rows[:MOST_NAMED]:
            print(f"selftaught: unreadable: {name}: {reason}", file=sys.stderr)
        if len(self.rows) > MOST_NAMED:
            print(f"selftaught: unreadable: {len(self.rows) - MOST_NAMED} more, see {self.report}", file=sys.stderr)
        with written_whole(self.report) as unfinished, open(unfinished, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("path", "reason"), *self.rows])


def add_feature_options(parser):
    """Add the options for images and texts in place of tables."""
    group = parser.add_argument_group("images and texts (target and source are folders, or files of texts)")
    group.add_argument(
        "--features",
        choices=tuple(MAKERS),
        metavar="NAME",
        help=f"make rows of them: {', '.join(MAKERS)}; see selftaught features",
    )
    KINDS["texts"].add_columns(group)
    add_maker_options(group)
    group.add_argument("--cache", type=Path, metavar="DIR", help="keep rows here: interrupted work goes on")


def check_places(places, written, cache=None, *, is_table=False):
    """Refuse outputs that cannot be made, or that would lie among the items of a folder next time."""
    for path in written:
        check_output(places, path, is_table=is_table)
    for path in [*written, *([] if cache is None else [cache])]:
        for place in places:
            if place.resolve() in path.resolve().parents:
                raise UsageError(f"{path} lies in {place}, and would count among what is found there next time.")


def fit_extractor(name, extractor, items, y=None, *, rows_follow=True):
    """Fit an extractor; where rows of the same items follow, it is then that those it cannot read are named."""
    with progress(f"fitting {name}"), warnings.catch_warnings():
        if rows_follow:
            warnings.filterwarnings("ignore", message="words are learned without")
        return MAKERS[name].fit(extractor, items, y)


def rows_of(place, found, extractor, unread):
    """Return the rows (n_kept, d) of the items that can be read, and these items."""
    with progress("making rows"):
        extracted = extractor.extract(found.items)
    unread.add(found.items, extracted.problems)
    if not len(extracted.kept):
        unread.tell()
        what = extractor.items_are
        raise ValueError(f"none of the {len(found.items)} {what} of {place} can be read: see {unread.report}.")
    return np.asarray(extracted.X), found.take(extracted.kept)


def portable(extractor):
    """Return a fitted extractor for a file: without what belongs to this run, or served the fit alone."""
    served = dict(cache=None, n_jobs=None, word_vectors=None)
    parameters = extractor.get_params(deep=False)
    return copy.copy(extractor).set_params(**{name: value for name, value in served.items() if name in parameters})


def read_item_problem(arguments):
    """Return the rows of labelled items and of a source of items; the extractor has learned from nothing else."""
    kind, maker = KINDS[kind_of(arguments.features)], MAKERS[arguments.features]
    target = kind.find(arguments.target, arguments, arguments.label)
    source = kind.find(arguments.source, arguments, None)
    unread = Unread(arguments.out)
    extractor = maker.make(arguments).set_params(cache=arguments.cache, n_jobs=arguments.jobs)
    if maker.learns_from == "labels":
        fit_extractor(arguments.features, extractor, target.items, _classes(target, arguments.target))
    else:
        fit_extractor(arguments.features, extractor, [*target.items, *source.items])
    X, target = rows_of(arguments.target, target, extractor, unread)
    X_source, source = rows_of(arguments.source, source, extractor, unread)
    unread.tell()
    pool = SourcePool(X_source).named(None, source.names)
    return Problem(X, _classes(target, arguments.target), pool, extractor)


def read_item_pool(arguments, place, extractor):
    """Return the rows of new items as a pool, made by the extractor that a model was fitted with."""
    found = KINDS[extractor.items_are].find(place, arguments, None)
    unread = Unread(arguments.out)
    X, found = rows_of(place, found, extractor.set_params(cache=arguments.cache, n_jobs=arguments.jobs), unread)
    unread.tell()
    return SourcePool(X).named(None, found.names)


def _classes(target, place):
    if target.y is None:
        raise UsageError(
            f"{place} has no classes: name their column by --label, or sort the files into sub-folders, one for each "
            "class, with no file beside them."
        )
    return checked_labels(target.y, f"{place}")
