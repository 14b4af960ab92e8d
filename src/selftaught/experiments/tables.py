"""The tables of the paper in our numbers, from records alone, as Markdown.

Each dataset has two tables, never mixed: the *oracle* one beside the published numbers, and the *honest* one. Rows are
methods and controls, columns the splits, as in the paper; further columns give the mean over splits with its spread
(standard deviation), the mean difference to target-only, paired by split, and mean F1.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from .choose import gather, honest, oracle
from .protocol import DATASETS, GAMMAS, LAMS
from .published import ACCURACY, SENSITIVITY

__all__ = ["ROWS", "Row", "accuracy_table", "grid_of_best", "sensitivity_table", "summary"]


@dataclass(frozen=True)
class Row:
    """A row of the tables: its title, and which records it is about."""

    title: str
    method: str
    variant: str
    where: tuple[tuple[str, object], ...] = ()
    all_source: bool = False

    def takes(self, record):
        """Return whether a record belongs to the row."""
        return (
            record["method"] == self.method
            and record["variant"] == self.variant
            and all(record["params"].get(name) == value for name, value in self.where)
        )


def _rows():
    published, ours = (("form", "published"),), (("form", "ours"),)
    yield Row("Target only", "target", "plain", published)
    yield Row("Target only, l2", "target", "l2", published)
    yield Row("Target only, unit rows, l2", "target", "l2", ours)
    for title, method in (("STL", "stl"), ("RDSTL", "rdstl"), ("S-Low", "slow")):
        yield Row(title, method, "plain")
        yield Row(f"{title}, l2", method, "l2")
    for title, method in (("KMM", "kmm"), ("MLS", "mls")):
        for kind in ("Soft", "Hard"):
            yield Row(f"{title}-{kind}", method, kind, published)
    for kind in ("SoftA", "HardA", "SoftB", "HardB"):
        yield Row(f"GASTL-{kind}", "gastl", kind, (("grid", "published"),))
    for kind in ("SoftA", "HardA", "SoftB", "HardB"):
        yield Row(f"GASTL-{kind}, relative lambda", "gastl", kind, (("grid", "relative"),))
    yield Row("control: GASTL's rows, uniform labels", "gastl", "Uniform", (("grid", "published"),))
    for method, title in (("random", "random rows"), ("neighbour", "nearest rows")):
        for kind in ("Soft", "Hard", "Uniform"):
            yield Row(f"control: {title}, {kind.lower()} labels", method, kind, published)
    for kind in ("Soft", "Uniform"):
        yield Row(f"control: all source, {kind.lower()} labels", "random", kind, published, all_source=True)
    for kind in ("SoftA", "HardA", "SoftB", "HardB"):
        yield Row(f"our form, {kind}", "defaults", kind)
    yield Row("our form: uniform labels", "defaults", "Uniform")
    for title, method in (("KMM", "kmm"), ("MLS", "mls")):
        yield Row(f"{title}-Soft, our softmax", method, "Soft", ours)
    for method, title in (("random", "random rows"), ("neighbour", "nearest rows")):
        for kind in ("Soft", "Uniform"):
            yield Row(f"control: {title}, {kind.lower()} labels, our softmax", method, kind, ours)
    yield Row("GASTLClassifier() as it comes", "estimator", "default")


ROWS = tuple(_rows())
TARGET_ONLY = ROWS[0]


@dataclass(frozen=True)
class Summary:
    """One row over splits: ``choices`` by (split, seed); ``gains`` over target-only where both are known."""

    row: Row
    choices: dict
    gains: list[float]

    def accuracies(self):
        """Return accuracies in percent, split by split."""
        return [100 * choice.accuracy for choice in self.choices.values()]


def summary(records, dataset, how):
    """Return the rows of one dataset for which there are records; ``how`` is `oracle` or `honest`."""
    by_split = defaultdict(list)
    for record in records:
        if record["dataset"] == dataset:
            by_split[record["split"], record["seed"]].append(record)
    chosen = {row: {split: _choose(by_split[split], row, how) for split in sorted(by_split)} for row in ROWS}
    chosen = {row: {k: c for k, c in choices.items() if c is not None} for row, choices in chosen.items()}
    plain = chosen[TARGET_ONLY]
    return [
        Summary(row, choices, [100 * (c.accuracy - plain[k].accuracy) for k, c in choices.items() if k in plain])
        for row, choices in chosen.items()
        if choices
    ]


def _choose(records, row, how):
    if row.all_source:
        records = [_last_size(record) for record in records if row.takes(record)]
    curves = gather(records, row.takes)
    if not curves.test:
        return None
    if how is honest and row.method == "estimator":  # has chosen by itself, on folds of its own
        return oracle(curves)
    if how is honest and len(curves.test) == 1 and all(len(r["sizes"]) == 1 for r in curves.test.values()):
        return oracle(curves)  # nothing to choose
    return how(curves)


def _last_size(record):
    """Return a record cut down to all source rows."""
    return record | {name: record[name][-1:] for name in ("sizes", "correct", "f1") if name in record}


def accuracy_table(records, dataset, how):
    """Return a Markdown table, accuracies in percent: ours, with the published numbers below where there are any."""
    rows = summary(records, dataset, how)
    columns = DATASETS[dataset].columns
    seeds = sorted({seed for each in rows for _, seed in each.choices})
    head = ["", *columns, "mean", "gain over target only", "mean F1"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for each in rows:
        cells = [_cell([100 * each.choices[s, z].accuracy for z in seeds if (s, z) in each.choices])
                 for s in range(len(columns))]  # fmt: skip
        f1 = 100 * float(np.mean([choice.f1 for choice in each.choices.values()]))
        lines.append(_line(each.row.title, cells, _spread(each.accuracies()), _gain(each), f"{f1:.1f}"))
        theirs = ACCURACY[dataset].get(each.row.title) if how is oracle else None
        if theirs:
            plain = ACCURACY[dataset]["Target only"]
            gains = np.subtract(theirs, plain)
            gain = "" if each.row == TARGET_ONLY else f"{gains.mean():+.1f} ± {gains.std(ddof=1):.1f}"
            lines.append(_line("— published", [f"{x:.1f}" for x in theirs], _spread(theirs), gain, ""))
    return "\n".join(lines)


def _line(*cells):
    title, columns, *rest = cells
    return "| " + " | ".join([title, *columns, *rest]) + " |"


def _cell(values):
    return f"{np.mean(values):.1f}" if values else ""


def _spread(values):
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else f"{values[0]:.1f}"


def _gain(each):
    if each.row == TARGET_ONLY or not each.gains:
        return ""
    wins, losses = sum(gain > 0 for gain in each.gains), sum(gain < 0 for gain in each.gains)
    spread = f" ± {np.std(each.gains, ddof=1):.1f}" if len(each.gains) > 1 else ""
    return f"{np.mean(each.gains):+.1f}{spread} ({wins} up, {losses} down)"


def grid_of_best(records, dataset, variant, *, split=0, seed=0, n_hidden=10, grid="published"):
    """Return the best test accuracy over p at each (lambda, gamma), in percent, (n_lams, n_gammas); NaN if unknown."""
    best = np.full((len(LAMS), len(GAMMAS)), np.nan)
    row = Row("", "gastl", variant, (("grid", grid), ("n_hidden", n_hidden)))
    for record in records:
        if (record["dataset"], record["split"], record["seed"], record["fold"]) == (dataset, split, seed, None):
            if row.takes(record) and record["params"]["lam"] in LAMS:
                place = LAMS.index(record["params"]["lam"]), GAMMAS.index(record["params"]["gamma"])
                best[place] = 100 * max(record["correct"]) / record["n_test"]
    return best


def sensitivity_table(records):
    """Return the paper's Table 3 in our numbers: mean ± standard deviation over lambda and gamma at n_hidden = 10."""
    head = ["", *(DATASETS[name].title for name in SENSITIVITY)]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for variant in ("SoftA", "HardA", "SoftB", "HardB", "Uniform"):
        ours = []
        for dataset in SENSITIVITY:
            best = grid_of_best(records, dataset, variant)
            ours.append("" if np.isnan(best).any() else f"{best.mean():.2f} ± {best.std(ddof=1):.2f}")
        lines.append(_line(variant, ours))
        if variant in SENSITIVITY["caltech-sift"]:
            theirs = [SENSITIVITY[dataset][variant] for dataset in SENSITIVITY]
            lines.append(_line("— published", [f"{mean:.2f} ± {spread:.2f}" for mean, spread in theirs]))
    return "\n".join(lines)
