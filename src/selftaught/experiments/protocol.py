"""The protocol of the paper's section 5 as data: which splits, which methods, which grids, and how they become units.

A *unit* is the least work that is done or not done: a pure function of a few words and numbers, which gives some
records. What can share work is in one unit: one path over lambda serves every number p of source rows and every kind of
pseudo-label.

Each split is worked on once for the test (``fold`` is None) and once for each of three folds of its labelled target,
from which parameters are chosen without a look at the test.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "DATASETS",
    "GAMMAS",
    "LAMS",
    "METHODS",
    "N_FOLDS",
    "SHARES",
    "Dataset",
    "Method",
    "Unit",
    "all_units",
    "curve_sizes",
]

N_FOLDS = 3

# The paper's grid. Its printed update solves for half of lambda (erratum E2), so lambda is halved where it is used.
N_HIDDEN = (10, 50, 100, 200)
LAMS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
GAMMAS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
SIZES = (*range(10, 101, 10), *range(150, 501, 50), 1000, 1500)
# Beside it lambda as a share of the least lambda at which no row is used, which means the same on all data.
SHARES = (0.5, 0.3, 0.1, 0.03, 0.01)

# The paper names no grids for its competitors. These are ours, and small where a fit takes long.
BANDWIDTH_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
AGGREGATES = ("max", "mean")
PENALTIES = (0.05, 0.1, 0.2)
SPARSITIES = (0.03, 0.1)
# Our softmax has l2 = 1e-2 by default, which suits a few labels a class; with the 15 of Caltech less is better.
OUR_L2S = (1e-2, 1e-4)
L2S = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
RANDOM_SEEDS = (0, 1, 2, 3, 4)


@dataclass(frozen=True)
class Dataset:
    """A collection with its features, its splits and what the paper calls it: ``table`` and the columns of it."""

    name: str
    title: str
    table: str
    columns: tuple[str, ...]

    @property
    def n_splits(self):
        """Number of splits, one for each column."""
        return len(self.columns)


SETS = ("1", "2", "3", "4", "5")
PER_CLASS = ("10", "100", "1000")
DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset("caltech-sift", "Caltech-101, SIFT bags", "Caltech101 (SIFTBOW)", SETS),
        Dataset("caltech-mobilenet", "Caltech-101, MobileNetV2 in place of VGG-19", "Caltech101 (VGG-19)", SETS),
        Dataset("tweets-imdb", "Twitter to IMDB", "Twitter to IMDB", PER_CLASS),
        Dataset("imdb-tweets", "IMDB to Twitter", "IMDB to Twitter", PER_CLASS),
    )
}


@dataclass(frozen=True)
class Method:
    """A family of units: ``settings`` are the parameters of each, ``folds`` whether it takes part in the choice."""

    name: str
    settings: tuple[tuple[tuple[str, object], ...], ...]
    folds: bool = True


def _settings(**axes):
    """Every combination of the values of some parameters, each as pairs of name and value."""
    combined = [()]
    for name, values in axes.items():
        combined = [(*pairs, (name, value)) for pairs in combined for value in values]
    return tuple(combined)


METHODS = {
    method.name: method
    for method in (
        Method("target", _settings()),
        Method("gastl", _settings(n_hidden=N_HIDDEN, gamma=GAMMAS)),
        Method("defaults", _settings(n_hidden=N_HIDDEN, gamma=GAMMAS)),
        Method("controls", _settings()),
        Method("kmm", _settings()),
        Method("mls", _settings()),
        Method("stl", _settings(n_components=(128, 256), penalty=PENALTIES)),
        Method("rdstl", _settings(atom_sparsity=SPARSITIES, class_sparsity=SPARSITIES)),
        Method("slow", _settings()),
        Method("estimator", _settings(), folds=False),
    )
}


@dataclass(frozen=True)
class Unit:
    """One piece of work: a method with a setting, on one split for the test or on one of its folds."""

    dataset: str
    split: int
    seed: int
    fold: int | None
    method: str
    setting: tuple[tuple[str, object], ...]

    @property
    def key(self):
        """The unit in one line, as the records name it."""
        where = f"{self.dataset}/{self.split}/seed{self.seed}/{'test' if self.fold is None else f'fold{self.fold}'}"
        return "/".join([where, self.method, *(f"{name}={value}" for name, value in self.setting)])


def all_units(datasets=None, methods=None, splits=None, part="all", seeds=(0,)):
    """Return the units of a part of the protocol, those that share data next to each other.

    Parameters
    ----------
    datasets, methods : sequence of str, optional
        Names; all by default.
    splits : sequence of int, optional
        Numbers of splits from 0; all by default.
    part : {"all", "oracle", "honest"}
        On the test alone, on the folds alone, or both.
    seeds : sequence of int
        Draws of the splits.
    """
    folds = {"oracle": [None], "honest": [*range(N_FOLDS)], "all": [None, *range(N_FOLDS)]}[part]
    return [
        Unit(dataset, split, seed, fold, method, setting)
        for fold in sorted(folds, key=lambda fold: (fold is not None, fold))
        for dataset in datasets or DATASETS
        for seed in seeds
        for split in range(DATASETS[dataset].n_splits)
        if splits is None or split in splits
        for method in methods or METHODS
        if fold is None or METHODS[method].folds
        for setting in METHODS[method].settings
    ]


def curve_sizes(n_usable, n_source):
    """Return the distinct numbers of source rows that the grid comes to where ``n_usable`` rows have any weight."""
    return sorted({min(size, n_usable) for size in (*SIZES, n_source)})
