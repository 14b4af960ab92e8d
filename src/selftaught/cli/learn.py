"""``selftaught select`` and ``selftaught fit``: learn from a labelled table and an unlabelled one.

select    a table with one line for each source row: how relevant it is, whether it is used, as which class
fit       the trained classifier in a file, for ``predict`` and ``score``
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from selftaught.features import find_items
from selftaught.features.row_store import digest
from selftaught.persistence import Provenance, check_skops, hash_file, save_model
from selftaught.tables import write_table

from .inputs import add_input_options, check_files, describe_problem, read_problem
from .items import add_feature_options, check_places, portable, read_item_problem
from .methods import SELECTORS, add_method_options, make_classifier
from .terminal import UsageError, blaming, laid_out, notes_in_one_line, progress

__all__ = ["add_parser", "selection_columns"]


def add_parser(subparsers):
    """Add both subcommands."""
    select = subparsers.add_parser(
        "select",
        help="which rows of an unlabelled table matter to a labelled one, how much, as which class",
        description="Find the rows of an unlabelled table that help to learn from a labelled one. Writes one line for "
        "each source row: id, rank, relevance, weight, selected, pseudo_label, confidence.",
    )
    add_input_options(select)
    add_feature_options(select)
    add_method_options(select, tuple(SELECTORS))
    select.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the selection, as .csv, .parquet or .npz"
    )
    select.set_defaults(run=run_select)
    fit = subparsers.add_parser(
        "fit",
        help="train a classifier on a labelled table and what helps of an unlabelled one",
        description="Train a classifier on a labelled table and on what helps of an unlabelled one, and write it to a "
        "file without pickle.",
    )
    add_input_options(fit)
    add_feature_options(fit)
    add_method_options(fit)
    fit.add_argument("--out", type=Path, required=True, metavar="FILE", help="the model, by custom ending in .skops")
    fit.set_defaults(run=run_fit)


def run_select(arguments):
    """Find and write the selection."""
    _check_usage(arguments, is_table=True)
    problem, classifier = _learn(arguments)
    write_table(arguments.out, selection_columns(classifier, problem.pool.index))
    _report(arguments, problem, classifier)


def run_fit(arguments):
    """Train and write the model."""
    _check_usage(arguments, is_table=False)
    check_skops()
    problem, classifier = _learn(arguments)
    extractor = None if problem.extractor is None else portable(problem.extractor)
    save_model(classifier, arguments.out, _provenance(arguments, classifier), extractor)
    _report(arguments, problem, classifier)


def _check_usage(arguments, *, is_table):
    """Find out before any work what cannot be done."""
    places = [arguments.target, arguments.source]
    if arguments.features is not None:
        check_places(places, [arguments.out], arguments.cache, is_table=is_table)
    elif arguments.label is None:
        raise UsageError("name the column of the target that holds the classes by --label.")
    else:
        check_files(places, arguments.out, is_table=is_table)


def _learn(arguments):
    """Return the problem that was read, and the classifier fitted to it."""
    how = dict(n_select=arguments.n_select, guard=arguments.guard, seed=arguments.seed, jobs=arguments.jobs)
    classifier = make_classifier(arguments.method, **how)
    with notes_in_one_line():
        problem = _read(arguments)
        with progress(f"fitting {arguments.method}"), blaming("X_source", arguments.source):
            classifier.fit(problem.X, problem.y, X_source=problem.pool)
    return problem, classifier


def _read(arguments):
    if arguments.features is not None:
        return read_item_problem(arguments)
    with progress("reading the tables"):
        return read_problem(arguments)


def selection_columns(classifier, ids):
    """Return what a fitted classifier makes of the source rows: columns of the same length, in the source's order."""
    n_source = len(ids)
    rank = np.empty(n_source, dtype=np.int64)
    rank[classifier.ranking_] = np.arange(1, n_source + 1)
    selected = np.zeros(n_source, dtype=bool)
    selected[classifier.selected_] = True
    best = classifier.pseudo_labels_.argmax(axis=1)
    labels = np.full(n_source, classifier.classes_[0], dtype=classifier.classes_.dtype)
    labels[classifier.selected_] = classifier.classes_[best]
    confidence = np.zeros(n_source)
    confidence[classifier.selected_] = classifier.pseudo_labels_.max(axis=1, initial=0)
    return {
        "id": ids,
        "rank": rank,
        "relevance": classifier.relevance_,
        "weight": classifier.weights_,
        "selected": selected,
        "pseudo_label": np.ma.array(labels, mask=~selected),
        "confidence": np.ma.array(confidence, mask=~selected),
    }


def _provenance(arguments, classifier):
    text = {} if arguments.text is None else {"text": arguments.text}
    return Provenance(
        method=arguments.method,
        seed=arguments.seed,
        inputs={part: _hash_place(getattr(arguments, part)) for part in ("target", "source")},
        verdict=classifier.transfer_.reason,
        columns=dict(label=arguments.label, id=arguments.id, drop=list(arguments.drop)) | text,
    )


def _hash_place(place):
    """Return the SHA-256 of a file, or of the names and contents of the files in a folder."""
    if not place.is_dir():
        return hash_file(place)
    files = find_items(place).paths
    return digest([(path.relative_to(place).as_posix(), hash_file(path)) for path in files if path.is_file()])


def _report(arguments, problem, classifier):
    print(
        laid_out(
            [
                *describe_problem(arguments, problem),
                ("method", f"{arguments.method}, seed {arguments.seed}"),
                ("guard", classifier.transfer_.reason),
                ("written", str(arguments.out)),
            ]
        )
    )
