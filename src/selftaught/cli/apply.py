"""``selftaught predict`` and ``selftaught score``: use a model that ``selftaught fit`` has written.

    predict    the class of each row of a new table, and how sure the model is
    score      how close rows of a new source are to the target: which ones are worth adding

Both read their table in blocks, so a .parquet or .npy file may be larger than memory.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from selftaught.persistence import load_model
from selftaught.tables import named_rows, read_table, write_table

from .inputs import as_pool, check_files
from .items import check_places, read_item_pool
from .kinds import KINDS
from .methods import parse_jobs
from .terminal import UsageError, blaming, laid_out, notes_in_one_line, progress

__all__ = ["add_parser"]


def add_parser(subparsers):
    """Add both subcommands."""
    predict = subparsers.add_parser(
        "predict",
        help="the class of each row of a new table",
        description="Predict the class of each row of a table. Writes id, prediction, confidence.",
    )
    _add_options(predict, "NEW", "the rows, columns matched by name; a column of labels is not looked at")
    predict.set_defaults(run=run_predict)
    score = subparsers.add_parser(
        "score",
        help="how close the rows of a new source are to the target of a model",
        description="Score the rows of a source that the model has not seen. Writes id, rank, score.",
    )
    _add_options(score, "NEW_SOURCE", "the rows, columns matched by name")
    score.set_defaults(run=run_score)


def _add_options(parser, name, what):
    parser.add_argument("model", type=Path, metavar="MODEL", help="written by selftaught fit")
    parser.add_argument("new", type=Path, metavar=name, help=what)
    group = parser.add_argument_group("images and texts, where the model was fitted with --features")
    KINDS["texts"].add_columns(group)
    group.add_argument("--cache", type=Path, metavar="DIR", help="keep rows here: interrupted work goes on")
    group.add_argument("--jobs", type=parse_jobs, metavar="N", help="items worked on at once; -1 for all cores")
    parser.add_argument("--id", metavar="COLUMN", help="column of row ids (default: that of the fit, if it is there)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the results, as .csv, .parquet or .npz"
    )


def run_predict(arguments):
    """Predict and write."""
    with notes_in_one_line():
        model, pool = _open(arguments)
        names = getattr(model, "feature_names_in_", None)
        codes, confidence = np.empty(pool.n_rows, dtype=np.int64), np.empty(pool.n_rows)
        with progress("predicting") as tell, blaming("X_source", arguments.new):
            for rows, block in pool.blocks():
                probabilities = model.predict_proba(named_rows(block, names))
                codes[rows], confidence[rows] = probabilities.argmax(axis=1), probabilities.max(axis=1)
                tell("rows", rows.stop, pool.n_rows)
    predictions = model.classes_[codes]
    write_table(arguments.out, {"id": pool.index, "prediction": predictions, "confidence": confidence})
    _report(arguments, pool)


def run_score(arguments):
    """Score and write."""
    with notes_in_one_line():
        model, pool = _open(arguments)
        if not hasattr(model, "score_source"):
            raise UsageError(
                f"{arguments.model} cannot score rows: its method, {type(model.selector_).__name__}, learns how to "
                "describe rows and does not rank them. Fit one with another --method."
            )
        with progress("scoring"), blaming("X_source", arguments.new):
            scores = model.score_source(pool)
    rank = np.empty(len(scores), dtype=np.int64)
    rank[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    write_table(arguments.out, {"id": pool.index, "rank": rank, "score": scores})
    _report(arguments, pool)


def _open(arguments):
    """Return the model, and the rows as a pool with the columns of its fit."""
    if not arguments.model.is_file():
        raise UsageError(f"there is no model file {arguments.model}.")
    saved = load_model(arguments.model)
    model, columns = saved.model, saved.provenance.columns
    if saved.extractor is not None:
        check_places([arguments.new], [arguments.out], arguments.cache, is_table=True)
        arguments.text = arguments.text or columns.get("text")
        return model, read_item_pool(arguments, arguments.new, saved.extractor)
    check_files([arguments.new], arguments.out)
    id_of_fit = columns.get("id")
    known = (columns.get("label"), id_of_fit, *columns.get("drop", ()))
    apart, ids = [name for name in known if name is not None], [] if arguments.id is None else [arguments.id]
    table = read_table(arguments.new, apart, needed=ids)
    id_column = arguments.id or (id_of_fit if id_of_fit and table.has(id_of_fit) else None)
    return model, as_pool(table, id_column, getattr(model, "feature_names_in_", None), model.n_features_in_)


def _report(arguments, pool):
    print(laid_out([("rows", f"{arguments.new}: {pool.n_rows:,} rows"), ("written", str(arguments.out))]))
