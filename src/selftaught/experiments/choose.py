"""From records to the two numbers of each method, which are never mixed.

    oracle    the best test accuracy over the whole grid, which nobody without the test's labels could choose
    honest    the test accuracy of the setting with the best mean accuracy on folds of the labelled rows

A *setting* is the parameters and the number p of source rows. Equal settings are told apart by a fixed rule: the
smallest p first, then the order of the grid. A fold may have fewer rows of any weight than p asks for: then all of
them stand for p, as in the fit.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from .protocol import N_FOLDS, SIZES

__all__ = ["Choice", "Curves", "gather", "honest", "oracle"]


ALL = 2**62  # more source rows than there are: all of them


@dataclass(frozen=True)
class Choice:
    """A setting and what it is worth: accuracy and mean F1 on the test, in [0, 1], and for an honest choice the
    accuracy on the folds that it was chosen by.
    """

    accuracy: float
    f1: float
    size: int
    params: dict
    on_folds: float = float("nan")


@dataclass(frozen=True)
class Curves:
    """All records of one method on one split: ``test`` and ``folds`` by the JSON text of the parameters, in the order
    of the grid."""

    test: dict[str, dict]
    folds: dict[str, list[dict]]


def gather(records, select):
    """Return the curves of the records that ``select`` takes, of one method and one split."""
    test, folds = {}, defaultdict(list)
    for record in filter(select, records):
        key = json.dumps(record["params"], sort_keys=True)
        if record["fold"] is None:
            test[key] = record
        else:
            folds[key].append(record)
    order = sorted({**test, **folds}, key=_grid_order)
    return Curves({k: test[k] for k in order if k in test}, {k: folds[k] for k in order if k in folds})


def oracle(curves):
    """Return the best choice with the test's labels in sight, or None where there are no records."""
    best = None
    for size, _, record in _settings(curves.test):
        accuracy, f1 = _at(record, "correct", size) / record["n_test"], _at(record, "f1", size)
        if best is None or accuracy > best.accuracy + 1e-12:
            best = Choice(accuracy, f1, min(size, record["sizes"][-1]), record["params"])
    return best


def honest(curves):
    """Return the choice by the folds, or None until all folds and the test have been computed."""
    complete = {key: records for key, records in curves.folds.items() if len(records) == N_FOLDS and key in curves.test}
    if not complete or len(complete) < len(curves.test):
        return None
    best = None
    for size, key, record in _settings({key: curves.test[key] for key in complete}):
        on_folds = float(np.mean([_at(fold, "correct", size) / fold["n_test"] for fold in complete[key]]))
        if best is None or on_folds > best.on_folds + 1e-12:
            accuracy, f1 = _at(record, "correct", size) / record["n_test"], _at(record, "f1", size)
            best = Choice(accuracy, f1, min(size, record["sizes"][-1]), record["params"], on_folds)
    return best


def _settings(records):
    """Yield (p, key, record), the smallest p first, then by the grid."""
    for size in (*SIZES, ALL):
        for key, record in records.items():
            yield size, key, record


def _at(record, what, size):
    """Return the entry for ``size`` source rows: that of all rows of any weight where there are fewer."""
    sizes = record["sizes"]
    return record[what][int(np.searchsorted(sizes, min(size, sizes[-1])))]


def _grid_order(key):
    """Order parameters by their values, numbers as numbers."""
    return [(name, isinstance(value, str), value) for name, value in sorted(json.loads(key).items())]
