"""The figures of the paper in our numbers, and a heat map, from records alone.

    figure-2    best accuracy against the number of hidden units
    figure-4    no graph against the best weight of the graph
    figure-5    all rows that the mapping uses, none, and the best number
    heat-map    best accuracy by lambda and gamma

All are *oracle* numbers, as in the paper: the best over what the axis leaves open, on the test. Each compares with
target-only and with uniform labels on the same rows.
"""

from __future__ import annotations

import numpy as np

from .._files import written_whole
from .protocol import DATASETS, GAMMAS, LAMS, N_HIDDEN
from .tables import TARGET_ONLY, Row, grid_of_best

__all__ = ["draw_figures"]

VARIANTS = ("SoftA", "HardA", "SoftB", "HardB", "Uniform")


def draw_figures(records, folder):
    """Write an SVG for each figure that the records suffice for; return the files."""
    import matplotlib
    from matplotlib.figure import Figure

    files = []
    tests = [record for record in records if record["fold"] is None]
    datasets = [d for d in DATASETS if any(r["dataset"] == d and r["method"] == "gastl" for r in tests)]
    # No dates and no random names inside: the same records make the same files.
    with matplotlib.rc_context({"svg.hashsalt": "selftaught", "font.size": 9}):
        for name, draw in _FIGURES.items():
            if not datasets:
                continue
            figure = Figure(figsize=(4.2 * len(datasets), 3.2), layout="constrained")
            for ax, dataset in zip(np.ravel(figure.subplots(1, len(datasets))), datasets, strict=True):
                draw(figure, ax, [record for record in tests if record["dataset"] == dataset], dataset)
                ax.set_title(DATASETS[dataset].title)
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{name}.svg"
            with written_whole(path) as unfinished:
                figure.savefig(unfinished, format="svg", metadata={"Date": None})
            files.append(path)
    return files


def _first_split(records):
    """Return the records of the first split there is, as the paper shows one of each."""
    first = min((record["split"], record["seed"]) for record in records)
    return [record for record in records if (record["split"], record["seed"]) == first]


def _best(records, where=(), size=None):
    """Return the best test accuracy in percent of each variant of the published grid, NaN where there is none."""
    best = []
    for variant in VARIANTS:
        row = Row("", "gastl", variant, (("grid", "published"), *where))
        taken = [record for record in records if row.takes(record)]
        shares = [(max(r["correct"]) if size is None else r["correct"][size]) / r["n_test"] for r in taken]
        best.append(100 * max(shares, default=np.nan))
    return best


def _target_only(records):
    taken = [r for r in records if TARGET_ONLY.takes(r)]
    return 100 * taken[0]["correct"][0] / taken[0]["n_test"] if taken else np.nan


def _by_hidden(figure, ax, records, dataset):
    records = _first_split(records)
    curves = np.array([_best(records, (("n_hidden", m),)) for m in N_HIDDEN])
    for variant, curve in zip(VARIANTS, curves.T, strict=True):
        ax.plot(range(len(N_HIDDEN)), curve, marker="o", ms=3, label=variant, ls="--" if variant == "Uniform" else "-")
    ax.axhline(_target_only(records), color="grey", lw=1, label="target only")
    ax.set_xticks(range(len(N_HIDDEN)), [str(m) for m in N_HIDDEN])
    ax.set(xlabel="hidden units", ylabel="best test accuracy (oracle), %")
    ax.legend(fontsize=7)


def _by_graph(figure, ax, records, dataset):
    records = _first_split(records)
    _bars(ax, {"no graph": _best(records, (("gamma", 0.0),)), "best gamma": _best(records)}, _target_only(records))


def _by_size(figure, ax, records, dataset):
    records = _first_split(records)
    bars = {"all relevant rows": _best(records, size=-1), "best p": _best(records)}
    _bars(ax, bars, _target_only(records))


def _bars(ax, groups, target_only):
    width = 0.8 / len(groups)
    for place, (label, values) in enumerate(groups.items()):
        ax.bar(np.arange(len(VARIANTS)) + (place - (len(groups) - 1) / 2) * width, values, width, label=label)
    ax.axhline(target_only, color="grey", lw=1, label="target only")
    ax.set_xticks(range(len(VARIANTS)), VARIANTS)
    known = [value for values in groups.values() for value in values if np.isfinite(value)]
    if known:
        ax.set_ylim(min([*known, target_only]) - 3, max(known) + 2)
    ax.set_ylabel("best test accuracy (oracle), %")
    ax.legend(fontsize=7)


def _heat_map(figure, ax, records, dataset):
    first = _first_split(records)[0]
    best = grid_of_best(records, dataset, "SoftA", split=first["split"], seed=first["seed"])
    image = ax.imshow(best, origin="lower", aspect="auto", cmap="viridis")
    ax.set_xticks(range(len(GAMMAS)), [f"{gamma:g}" for gamma in GAMMAS])
    ax.set_yticks(range(len(LAMS)), [f"{lam:g}" for lam in LAMS])
    ax.set(xlabel="gamma", ylabel="lambda")
    figure.colorbar(image, ax=ax, label="SoftA, 10 hidden units, best p, %")


_FIGURES = {"figure-2": _by_hidden, "figure-4": _by_graph, "figure-5": _by_size, "heat-map": _heat_map}
