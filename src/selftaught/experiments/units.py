"""What each unit of the protocol computes: from the rows of a split to records.

Every method ends in the same place: a ranking of source rows with weights and pseudo-labels goes through the softmax
for every number p of rows (`_curves`), in one of two frames:

    published    the scaled features, no penalty, Gaussians of variance 1
    ours         rows of unit length around their mean, with l2, Gaussians of the median variance

Nothing here chooses anything: all of the grid is recorded, and `choose` reads it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .. import (
    GASTLClassifier,
    KMMSelector,
    MLSSelector,
    NeighborSelector,
    RandomSelector,
    RDSTLEncoder,
    SLowEncoder,
    SourcePool,
    STLEncoder,
)
from ..classifiers.frames import fit_code_frame, fit_frame
from ..labeling import gaussian_transferability, mapping_transferability, pseudo_labels
from ..relevance import encode, knn_laplacian, lam_max, mapping_frame, solve_mapping, solve_relevance
from ..scaling import fit_scaling
from .protocol import AGGREGATES, BANDWIDTH_SCALES, L2S, LAMS, OUR_L2S, RANDOM_SEEDS, SHARES, Unit, curve_sizes
from .softmax_curves import published_coefs, ridge_coefs
from .splits import Part, load_part

__all__ = ["Place", "compute"]

FORMS = ("published", "ours")
KINDS = ("Soft", "Hard", "Uniform")
# The first lambda of a path gets the 400 iterations of the paper, in two rounds; from there on the autoencoder goes
# along. The mapping is solved to TOL, where the published reweighting is at 2 % after 20 of its iterations.
FIRST_ROUNDS: dict[str, Any] = dict(max_outer=2, max_inner=200)
NEXT_ROUNDS: dict[str, Any] = dict(max_outer=1, max_inner=50)
TOL = 5e-3
PUBLISHED: dict[str, Any] = dict(mu=1.0, center=False, normalize=False, init="random", history=100, gtol=1e-5, tol=TOL)
OURS: dict[str, Any] = dict(init="spectral", max_outer=2, max_inner=5)


@dataclass(frozen=True)
class Place:
    """Where units find their data, and where they may keep features of texts."""

    data: str
    cache: str | None = None
    text_features: object = None


@dataclass(frozen=True, eq=False)
class _Rows:
    """Target, source and test rows in the frame of one softmax, and the classes of the target one-hot."""

    form: str
    target: np.ndarray
    source: np.ndarray
    test: np.ndarray
    targets: np.ndarray
    y_test: np.ndarray

    def sigma2(self):
        """Return the variance of the Gaussians that goes with the frame."""
        return 1.0 if self.form == "published" else "median"

    def l2s(self):
        """Return the penalties of the softmax that go with the frame."""
        return (0.0,) if self.form == "published" else OUR_L2S


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A part with what its units share: scaled rows, both frames, the graph."""

    part: Part
    scaling: Any
    source: np.ndarray
    target: np.ndarray
    laplacian: Any

    def rows(self, form):
        """Return the rows in one of the FORMS."""
        return _rows(self, form)


def compute(unit: Unit, place: Place) -> list[dict]:
    """Return the records of a unit."""
    with threadpool_limits(1), warnings.catch_warnings():
        # What a grid visits is often degenerate; the records show it.
        warnings.simplefilter("ignore")
        prepared = _prepare(place, unit.dataset, unit.split, unit.seed, unit.fold)
        work = _WORK[unit.method](prepared, dict(unit.setting), unit)
        n_test = len(prepared.part.y_test)
        return [_record(unit, measured, n_test, seconds) for measured, seconds in _timed(work)]


@lru_cache(maxsize=1)
def _prepare(place, dataset, split, seed, fold):
    part = load_part(place.data, dataset, split, seed, fold, place.cache, place.text_features)
    scaling = fit_scaling(SourcePool(part.X_source), part.X)
    source, target = scaling.apply(part.X_source), scaling.apply(part.X)
    return _Prepared(part, scaling, source, target, knn_laplacian(np.concatenate([source, target])))


@lru_cache(maxsize=2)
def _rows(prepared, form):
    part = prepared.part
    frame = fit_frame(prepared.scaling, SourcePool(part.X_source), part.X, unit=form == "ours")
    target, source, test = (frame.apply(X) for X in (part.X, part.X_source, part.X_test))
    return _Rows(form, target, source, test, np.eye(part.n_classes)[part.y], part.y_test)


# --- records


@dataclass(frozen=True)
class _Measured:
    """What a method did with one setting: which method and variant, parameters, and right answers by size."""

    method: str
    variant: str
    params: dict
    sizes: list[int]
    scores: list[tuple[int, float]]


def _timed(work: Iterator[list[_Measured]]):
    """Yield what the work yields in groups, each with its part of the seconds of its group."""
    begin = time.perf_counter()
    for group in work:
        now = time.perf_counter()
        for measured in group:
            yield measured, (now - begin) / len(group)
        begin = time.perf_counter()


def _record(unit, measured, n_test, seconds):
    record: dict[str, Any] = dict(
        dataset=unit.dataset,
        split=unit.split,
        seed=unit.seed,
        fold=unit.fold,
        method=measured.method,
        variant=measured.variant,
        params=measured.params,
        sizes=[int(size) for size in measured.sizes],
        correct=[int(correct) for correct, _ in measured.scores],
    )
    if unit.fold is None:
        record["f1"] = [round(float(f1), 4) for _, f1 in measured.scores]
    return record | dict(n_test=n_test, seconds=round(seconds, 3))


def _score(rows, coef):
    """Return the number of test rows told right and the mean F1 over classes."""
    return _compare((rows.test @ coef.T).argmax(axis=1), rows.y_test, len(coef))


def _compare(told, y, n_classes):
    table = np.bincount(y * n_classes + told, minlength=n_classes**2).reshape(n_classes, n_classes)
    right = np.diag(table)
    both = table.sum(axis=0) + table.sum(axis=1)
    return int(right.sum()), float(np.mean(2 * right / np.maximum(both, 1)))


# --- the softmax for every number of rows


def _curves(rows, l2, relevance, label_sets, ranking=None):
    """Return sizes, and for each kind of label its scores by size.

    ``relevance`` (n_source,) makes ranking and weights; ``label_sets`` (n_sets, n_source, n_classes) in source order.
    """
    n_usable = np.count_nonzero(relevance)
    order = np.argsort(-relevance, kind="stable") if ranking is None else ranking
    order = order[:n_usable]
    sizes = curve_sizes(n_usable, len(relevance))
    weights = (relevance / max(relevance.max(initial=0), np.finfo(float).tiny))[order]
    along = _fits(l2, rows.target, rows.targets, rows.source[order], weights, label_sets[:, order], sizes)
    scores = [[_score(rows, coef) for coef in coefs] for coefs in along]
    return sizes, [list(each) for each in zip(*scores, strict=True)]


def _fits(l2, *problem):
    """Yield the coefficients for each number of rows, with a penalty or as published without."""
    return ridge_coefs(*problem, l2=l2) if l2 else published_coefs(*problem)


def _kinds(logs):
    """Return soft, hard and uniform labels from log transferabilities, (3, n_source, n_classes)."""
    return [pseudo_labels(logs, kind.lower()) for kind in KINDS]


def _by_rows(method, params, rows, relevance, variants, label_sets, ranking=None):
    """Return what was measured of each variant of one ranking, for each penalty that goes with the frame."""
    measured = []
    for l2 in rows.l2s():
        sizes, scores = _curves(rows, l2, relevance, np.stack(label_sets), ranking)
        with_l2 = params | ({"l2": l2} if l2 else {})
        measured += [
            _Measured(method, variant, with_l2, sizes, each) for variant, each in zip(variants, scores, strict=True)
        ]
    return measured


def _target_only(rows, l2=0.0):
    """Return the scores of the target alone, with or without a penalty."""
    none = np.empty((1, 0, rows.targets.shape[1]))
    (coefs,) = _fits(l2, rows.target, rows.targets, rows.source[:0], np.empty(0), none, [0])
    return [_score(rows, coefs[0])]


# --- the methods


def _target(prepared, setting, unit):
    for form in FORMS:
        rows = prepared.rows(form)
        yield [_Measured("target", "plain", dict(form=form, l2=0.0), [0], _target_only(rows))]
        for l2 in L2S:
            yield [_Measured("target", "l2", dict(form=form, l2=l2), [0], _target_only(rows, l2))]


GASTL_VARIANTS = ("SoftA", "HardA", "SoftB", "HardB", "Uniform")


def _gastl_labels(solution, prepared, sigma2):
    """Return the labels of the four variants and the uniform ones."""
    part, n_classes = prepared.part, prepared.part.n_classes
    by_mapping = mapping_transferability(solution.mapping, part.y, n_classes)
    codes = encode(prepared.source, solution.autoencoder), encode(prepared.target, solution.autoencoder)
    by_codes = gaussian_transferability(*codes, part.y, n_classes, sigma2=sigma2)
    soft_a, hard_a, uniform = _kinds(by_mapping)
    soft_b, hard_b, _ = _kinds(by_codes)
    return soft_a, hard_a, soft_b, hard_b, uniform


def _gastl(prepared, setting, unit):
    """The published algorithm along a path of lambda, from the smallest, where the mapping is richest."""
    source, target = prepared.source, prepared.target
    greatest, rows = lam_max(source, target), prepared.rows("published")
    published = [("published", lam, lam / 2) for lam in LAMS]
    relative = [("relative", share, share * greatest) for share in SHARES]
    steps, rounds = sorted([*published, *relative], key=lambda step: step[2]), FIRST_ROUNDS
    solution = _first_mapping(prepared, steps[0][2])
    for grid, value, lam in steps:
        solution = solve_relevance(
            source,
            target,
            lam=lam,
            gamma=setting["gamma"],
            n_hidden=setting["n_hidden"],
            laplacian=prepared.laplacian,
            start=solution,
            random_state=unit.seed,
            **PUBLISHED,
            **rounds,
        )
        rounds, params = NEXT_ROUNDS, dict(grid=grid, lam=value, **setting)
        labels = _gastl_labels(solution, prepared, rows.sigma2())
        yield _by_rows("gastl", params, rows, solution.relevance, GASTL_VARIANTS, labels)


@lru_cache(maxsize=1)
def _first_mapping(prepared, lam):
    """Return the mapping onto the target rows themselves, where all paths on a part begin."""
    return solve_mapping(prepared.source, prepared.target, lam=lam, tol=TOL).mapping


def _defaults(prepared, setting, unit):
    """Our form of GASTL: centred, weighted, balanced, from the spectral start."""
    source, target, rows = prepared.source, prepared.target, prepared.rows("ours")
    n = len(source) + len(target)
    mu = len(target) / n
    c, w = mapping_frame(source, target)
    greatest = lam_max(source, target, mu, center=c, row_weights=w)
    for share in SHARES:
        solution = solve_relevance(
            source,
            target,
            lam=share * greatest,
            gamma=setting["gamma"] / n,
            mu=mu,
            n_hidden=setting["n_hidden"],
            laplacian=prepared.laplacian,
            random_state=unit.seed,
            **OURS,
        )
        params = dict(grid="relative", lam=share, **setting)
        labels = _gastl_labels(solution, prepared, rows.sigma2())
        yield _by_rows("defaults", params, rows, solution.relevance, GASTL_VARIANTS, labels)


def _feature_labels(prepared, rows):
    """Return labels by the classes' means in the features, the published form of all that has no mapping."""
    part = prepared.part
    return _kinds(
        gaussian_transferability(prepared.source, prepared.target, part.y, part.n_classes, sigma2=rows.sigma2())
    )


def _by_selector(method, make, choices, prepared):
    """Fit a selector for each choice and run its ranking through both frames."""
    part = prepared.part
    for params in choices:
        selector = make(**params).fit(part.X, part.y, X_source=SourcePool(part.X_source))
        for form in FORMS:
            rows = prepared.rows(form)
            labels = _feature_labels(prepared, rows)
            where = dict(form=form, **params)
            yield _by_rows(method, where, rows, selector.relevance_, KINDS, labels, selector.ranking_)


def _controls(prepared, setting, unit):
    yield from _by_selector("random", RandomSelector, [dict(random_state=seed) for seed in RANDOM_SEEDS], prepared)
    yield from _by_selector("neighbour", NeighborSelector, [{}], prepared)


def _kmm(prepared, setting, unit):
    yield from _by_selector("kmm", KMMSelector, [dict(bandwidth_scale=scale) for scale in BANDWIDTH_SCALES], prepared)


def _mls(prepared, setting, unit):
    yield from _by_selector("mls", MLSSelector, [dict(aggregate=aggregate) for aggregate in AGGREGATES], prepared)


def _by_encoder(method, make):
    """Return the work of an encoder: the softmax on standardised codes of the target rows, without and with l2."""

    def work(prepared, setting, unit):
        part = prepared.part
        encoder = make(random_state=unit.seed, **setting).fit(part.X, part.y, X_source=SourcePool(part.X_source))
        frame = fit_code_frame(encoder, part.X)
        codes, test = (frame.apply(X).astype(np.float32) for X in (part.X, part.X_test))
        rows = _Rows("codes", codes, codes[:0], test, np.eye(part.n_classes)[part.y], part.y_test)
        plain = _Measured(method, "plain", dict(l2=0.0, **setting), [0], _target_only(rows))
        yield [plain, *(_Measured(method, "l2", dict(l2=l2, **setting), [0], _target_only(rows, l2)) for l2 in L2S)]

    return work


def _estimator(prepared, setting, unit):
    """The default estimator as it comes, guard and all: its own cross-validation chooses, nobody else does."""
    part = prepared.part
    classifier = GASTLClassifier(random_state=unit.seed).fit(part.X, part.y, X_source=SourcePool(part.X_source))
    told = classifier.predict(part.X_test)
    found = classifier.transfer_
    params = dict(used=bool(found.used), gain=round(float(found.gain), 4))
    yield [_Measured("estimator", "default", params, [found.n_select], [_compare(told, part.y_test, part.n_classes)])]


_WORK = {
    "target": _target,
    "gastl": _gastl,
    "defaults": _defaults,
    "controls": _controls,
    "kmm": _kmm,
    "mls": _mls,
    "stl": _by_encoder("stl", STLEncoder),
    "rdstl": _by_encoder("rdstl", RDSTLEncoder),
    "slow": _by_encoder("slow", SLowEncoder),
    "estimator": _estimator,
}
