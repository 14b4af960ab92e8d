"""How many source rows to use, and whether to use any: the transfer curve, an honest choice, the guard.

The *transfer curve* is the score of the classifier against the number p of source rows it learns from, p = 0 being
target-only. It is measured by repeated stratified cross-validation on the target. Everything is refitted inside every
fold, the relevance included: a held-out row that had shaped the relevance would be no test of it.

The size is chosen where the mean score is highest. Its gain over target-only is *cross-fitted*: each fold scores the
size that the other folds would have chosen, so that choosing the best of many does not flatter the gain. Folds share
training rows, so the interval is widened by Nadeau and Bengio's correction.

The *guard* turns the gain into a verdict. The verdict is an estimate, not a guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import RepeatedStratifiedKFold, check_cv

from ._progress import counted
from .metrics import paired_interval

__all__ = ["Transfer", "TransferCurve", "curve_sizes", "judge_transfer", "make_folds", "measure_curve"]

SMALLEST_CLASS = 3
FOLDS, REPEATS = 5, 2
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True)
class TransferCurve:
    """Accuracy on held-out target rows by number of source rows.

    ``sizes`` (n_sizes,) ascending, the first is 0; ``scores`` (n_folds, n_sizes); ``test_fraction`` held-out rows per
    training row.
    """

    sizes: np.ndarray
    scores: np.ndarray
    test_fraction: float

    @property
    def mean(self):
        """Mean score of each size."""
        return self.scores.mean(axis=0)

    def best_transfer(self, folds=slice(None)):
        """Return the position of the best size above 0, the largest of equals."""
        mean = self.scores[folds, 1:].mean(axis=0)
        # Means of equal scores may differ in the last digit, which must not decide.
        return 1 + int(np.flatnonzero(mean >= mean.max() - 1e-12)[-1])

    def gains(self):
        """Return each fold's gain over target-only at the transfer size that the other folds choose."""
        n_folds = len(self.scores)
        chosen = [self.best_transfer(np.arange(n_folds) != fold) if n_folds > 1 else -1 for fold in range(n_folds)]
        return self.scores[np.arange(n_folds), chosen] - self.scores[:, 0]


@dataclass(frozen=True)
class Transfer:
    """Whether the source was used, and why.

    ``used``; ``tested`` whether folds could be made; ``n_select`` source rows used; ``gain`` mean accuracy gain over
    target-only, cross-fitted, with ``low`` and ``high`` of its interval (NaN where untested); ``folds_won``,
    ``folds_lost``, ``n_folds``; ``reason`` in words; ``curve`` or None.
    """

    used: bool
    tested: bool
    n_select: int
    gain: float
    low: float
    high: float
    folds_won: int
    folds_lost: int
    n_folds: int
    reason: str
    curve: TransferCurve | None = None

    @property
    def best_size(self):
        """The size above 0 with the highest mean score, whether or not it was used."""
        return self.n_select if self.curve is None else int(self.curve.sizes[self.curve.best_transfer()])


def curve_sizes(n_select, n_relevant):
    """Return the sizes of the curve, ascending from 0: up to all relevant rows, or 0 and the size asked for."""
    if n_select == "auto":
        return np.unique([0, *(size for size in SIZES if size < n_relevant), n_relevant])
    return np.unique([0, min(int(n_select), n_relevant)])


def make_folds(y, cv, rng):
    """Return a list of (train, test) index pairs, or None where the smallest class is too small for any verdict."""
    smallest = np.bincount(y).min()
    if cv is None or isinstance(cv, Integral):
        if smallest < SMALLEST_CLASS:
            return None
        n_splits = min(FOLDS if cv is None else cv, smallest)
        cv = RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=REPEATS, random_state=rng)
    folds = list(check_cv(cv, y, classifier=True).split(np.zeros(len(y)), y))
    return [fold for fold in folds if len(np.unique(y[fold[0]])) == len(np.unique(y))] or None


def measure_curve(score_fold, folds, sizes, *, n_jobs=None):
    """Measure the transfer curve.

    Parameters
    ----------
    score_fold : callable
        Takes training rows, test rows and the sizes; returns one score for each size.
    folds : list of (train, test)
    sizes : ndarray of int
    n_jobs : int, optional
        Folds worked on at once.

    Returns
    -------
    TransferCurve
    """
    work = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(score_fold)(*fold, sizes) for fold in folds)
    scores = list(counted(work, len(folds), "folds"))
    share = float(np.mean([len(test) / len(train) for train, test in folds]))
    return TransferCurve(np.asarray(sizes), np.asarray(scores, dtype=float), share)


def judge_transfer(curve):
    """Return the verdict on a measured curve, as a `Transfer`.

    The source is refused where its cross-fitted gain is negative.
    """
    interval = paired_interval(curve.gains(), test_fraction=curve.test_fraction)
    interval = replace(interval, mean=round(interval.mean, 12) + 0.0)  # the rounding of a sum is no loss, nor is -0.0
    used = interval.mean >= 0
    size = int(curve.sizes[curve.best_transfer()])
    return Transfer(
        used=used,
        tested=True,
        n_select=size if used else 0,
        gain=interval.mean,
        low=interval.low,
        high=interval.high,
        folds_won=interval.wins,
        folds_lost=interval.losses,
        n_folds=interval.n,
        reason=_in_words(used, size, interval),
        curve=curve,
    )


def _in_words(used, size, interval):
    """Say what was found and how sure it is."""
    found = (
        f"with {size} source rows accuracy on held-out target rows changes by {100 * interval.mean:+.1f} points "
        f"({100 * interval.level:.0f}% interval {100 * interval.low:+.1f} to {100 * interval.high:+.1f}); "
        f"better in {interval.wins} of {interval.n} folds, worse in {interval.losses}"
    )
    if not used:
        return f"Not used: {found}."
    sure = (
        "The gain is clear" if interval.low > 0 else "A target this small cannot show more than that it does not hurt"
    )
    return f"Used: {found}. {sure}."
