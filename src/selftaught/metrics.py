"""Two questions a transfer experiment asks: were the right source rows chosen, and did they help?

The first is answered by precision over a ranking of the source, the second by paired differences of accuracy with an
interval. Everything takes arrays and returns numbers or frozen records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats


def selection_precision(relevant, ranking, k: int) -> float:
    """Share of truly relevant rows among the first k of a ranking.

    Parameters
    ----------
    relevant : array-like of bool, shape (n_source,)
        The truth.
    ranking : array-like of int, shape (n_ranked,)
        Row indices, most relevant first, each at most once. It may leave rows out.
    k : int
        Number of rows looked at, in [1, n_ranked].

    Returns
    -------
    float

    Examples
    --------
    >>> from selftaught.metrics import selection_precision
    >>> selection_precision([True, False, True, False], [2, 1, 0], k=2)
    0.5
    """
    relevant, ranking = _check_ranking(relevant, ranking)
    if not 1 <= k <= len(ranking):
        raise ValueError(f"k must be in [1, {len(ranking)}], the number of ranked rows, got {k}.")
    return float(relevant[ranking[:k]].mean())


def selection_average_precision(relevant, ranking) -> float:
    """Average precision of a full or partial ranking of the source.

    The mean, over all relevant rows, of the precision at the rank where the row is found. Rows missing from the ranking
    come last, tied with each other: a relevant one among them is found only when the whole source has been read, at
    precision `n_relevant / n_source`.

    Parameters
    ----------
    relevant : array-like of bool, shape (n_source,)
        The truth; at least one row must be relevant.
    ranking : array-like of int, shape (n_ranked,)
        Row indices, most relevant first, each at most once.

    Returns
    -------
    float
        1 when every relevant row comes before every other; about `n_relevant / n_source` for a random order.

    Examples
    --------
    >>> from selftaught.metrics import selection_average_precision
    >>> selection_average_precision([True, False, True, False], [0, 1, 2, 3])     # (1/1 + 2/3) / 2
    0.8333333333333333
    >>> selection_average_precision([True, False, True, False], [0])              # (1/1 + 2/4) / 2
    0.75
    """
    relevant, ranking = _check_ranking(relevant, ranking)
    n_relevant = relevant.sum()
    if n_relevant == 0:
        raise ValueError(
            "relevant is False everywhere, so average precision is undefined. A pool with nothing to find "
            "calls for the transfer gain instead."
        )
    hits = relevant[ranking]
    precision = np.cumsum(hits) / np.arange(1, len(ranking) + 1)
    n_missed = n_relevant - hits.sum()
    return float((precision[hits].sum() + n_missed * n_relevant / len(relevant)) / n_relevant)


def _check_ranking(relevant, ranking) -> tuple[np.ndarray, np.ndarray]:
    """The truth as booleans, the ranking as distinct row indices."""
    relevant, ranking = np.asarray(relevant), np.asarray(ranking)
    if relevant.ndim != 1 or relevant.dtype != bool:
        raise ValueError(
            f"relevant must be a boolean mask of shape (n_source,), got shape {relevant.shape} and dtype "
            f"{relevant.dtype}. Pass codes as `source_classes >= 0`."
        )
    if ranking.size == 0:
        ranking = ranking.astype(int)  # an empty list arrives as floats
    if ranking.ndim != 1 or not np.issubdtype(ranking.dtype, np.integer):
        raise ValueError(
            f"ranking must be row indices of shape (n_ranked,), got shape {ranking.shape} and dtype {ranking.dtype}. "
            "Turn scores into a ranking with `np.argsort(-scores)`."
        )
    if ranking.size and not (ranking.min() >= 0 and ranking.max() < len(relevant)):
        raise ValueError(
            f"ranking holds indices from {ranking.min()} to {ranking.max()}; they must be in [0, {len(relevant) - 1}]."
        )
    if len(np.unique(ranking)) < len(ranking):
        raise ValueError(f"ranking names {len(ranking) - len(np.unique(ranking))} rows twice; each may occur once.")
    return relevant, ranking


@dataclass(frozen=True)
class PairedInterval:
    """Mean of paired differences with its confidence interval.

    Attributes
    ----------
    mean, low, high : float
        Mean difference and the ends of its interval.
    level : float
        Confidence level.
    n, wins, losses, ties : int
        Number of differences, and how many are above, below and equal to zero.
    """

    mean: float
    low: float
    high: float
    level: float
    n: int
    wins: int
    losses: int
    ties: int


def paired_interval(differences, *, test_fraction: float | None = None, level: float = 0.95) -> PairedInterval:
    """Student t interval of the mean of paired differences, corrected for overlapping folds if asked.

    The variance of the mean is `s² / n` for independent differences. Repeated cross-validation reuses its training
    rows, so its folds are not independent and that interval is too narrow; the correction of Nadeau and Bengio takes
    `s² (1/n + n_test/n_train)` instead.

    Parameters
    ----------
    differences : array-like of shape (n,)
        One difference per pair: fold, split or dataset.
    test_fraction : float or None, default None
        `n_test / n_train` of one fold, for cross-validation (1/4 for five folds); None for independent pairs.
    level : float, default 0.95
        Confidence level.

    Returns
    -------
    PairedInterval
        With a single difference the interval is the whole line; with equal differences it has no width.

    References
    ----------
    C. Nadeau, Y. Bengio. "Inference for the generalization error". Machine Learning 52, 2003.

    Examples
    --------
    >>> from selftaught.metrics import paired_interval
    >>> interval = paired_interval([0.02, 0.05, -0.01, 0.04, 0.0])
    >>> f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}], {interval.wins} of {interval.n} won"
    '0.020 [-0.012, 0.052], 3 of 5 won'
    """
    differences = np.asarray(differences, dtype=float)
    if differences.ndim != 1 or not differences.size or not np.isfinite(differences).all():
        raise ValueError(
            f"differences must be a non-empty list of finite numbers, got {differences}. "
            "Leave out the pairs that have no result."
        )
    if test_fraction is not None and not 0 < test_fraction < np.inf:
        raise ValueError(
            f"test_fraction must be positive or None, got {test_fraction}. It is n_test / n_train of one fold, "
            "1/4 for five-fold cross-validation."
        )
    _check_level(level)
    n, mean = len(differences), float(differences.mean())
    if n == 1:
        half = np.inf
    elif np.ptp(differences) == 0:
        # Equal numbers have a mean that rounding may move; the first one is exact.
        mean, half = float(differences[0]), 0.0
    else:
        variance = differences.var(ddof=1) * (1 / n + (test_fraction or 0.0))
        half = stats.t.ppf((1 + level) / 2, n - 1) * np.sqrt(variance)
    return PairedInterval(
        mean=mean,
        low=float(mean - half),
        high=float(mean + half),
        level=level,
        n=n,
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
        ties=int((differences == 0).sum()),
    )


@dataclass(frozen=True)
class ProportionInterval:
    """A share of successes, an accuracy for instance, with its confidence interval.

    Attributes
    ----------
    value, low, high : float
        `successes / n` and the ends of its interval, all in [0, 1].
    level : float
        Confidence level.
    successes, n : int
        The counts.
    """

    value: float
    low: float
    high: float
    level: float
    successes: int
    n: int


def wilson_interval(successes: int, n: int, level: float = 0.95) -> ProportionInterval:
    """Wilson's score interval of a proportion, SciPy's, as a record.

    Parameters
    ----------
    successes, n : int
        Successes among n trials: correct predictions among held-out rows.
    level : float, default 0.95
        Confidence level.

    Returns
    -------
    ProportionInterval
        Never leaves [0, 1] and keeps a width when all or none succeed.

    Examples
    --------
    >>> from selftaught.metrics import wilson_interval
    >>> accuracy = wilson_interval(90, 100)
    >>> f"{accuracy.value:.2f} [{accuracy.low:.3f}, {accuracy.high:.3f}]"
    '0.90 [0.826, 0.945]'
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"successes must be in [0, n] and n at least 1, got successes={successes} and n={n}.")
    _check_level(level)
    low, high = stats.binomtest(int(successes), int(n)).proportion_ci(level, method="wilson")
    return ProportionInterval(successes / n, float(low), float(high), level, int(successes), int(n))


@dataclass(frozen=True)
class TransferGain:
    """What transfer did to the accuracy on the same held-out rows.

    Attributes
    ----------
    before, after : float
        Accuracy without and with the source.
    gain, low, high : float
        `after - before` and the ends of its interval.
    p_value : float
        Exact McNemar test of "no difference", two-sided.
    n : int
        Held-out rows.
    """

    before: float
    after: float
    gain: float
    low: float
    high: float
    p_value: float
    n: int


def transfer_gain(y_true, before, after, level: float = 0.95) -> TransferGain:
    """Accuracy gained by transfer, paired row by row.

    Only rows on which the two predictions differ in correctness carry information: `won` became right, `lost` became
    wrong. The test is binomial on these. The interval is Bonett and Price's: one row is added to each of the two
    counts, then `d = (won - lost) / (n + 2)` and `d ± z sqrt(((won + lost) / (n + 2) - d²) / (n + 2))`. Unlike the
    plain interval it keeps a width when no prediction changes: a few agreeing rows do not prove that the gain is zero.

    Parameters
    ----------
    y_true, before, after : array-like of shape (n,)
        True labels, and those predicted without and with the source.
    level : float, default 0.95
        Confidence level.

    Returns
    -------
    TransferGain

    References
    ----------
    D. G. Bonett, R. M. Price. "Adjusted Wald confidence interval for a difference of binomial proportions based on
    paired data". Journal of Educational and Behavioral Statistics 37, 2012.

    Examples
    --------
    >>> from selftaught.metrics import transfer_gain
    >>> gain = transfer_gain([0, 1, 0, 1], before=[0, 1, 1, 0], after=[0, 1, 0, 0])
    >>> gain.before, gain.after, gain.gain, gain.p_value
    (0.5, 0.75, 0.25, 1.0)
    """
    y_true, before, after = np.asarray(y_true), np.asarray(before), np.asarray(after)
    if y_true.ndim != 1 or not y_true.size or not y_true.shape == before.shape == after.shape:
        raise ValueError(
            f"y_true, before and after must be non-empty and hold one label per row, got shapes {y_true.shape}, "
            f"{before.shape} and {after.shape}. Pass predicted labels, not probabilities."
        )
    _check_level(level)
    right_before, right_after = before == y_true, after == y_true
    won, lost = int((right_after & ~right_before).sum()), int((right_before & ~right_after).sum())
    n = len(y_true)

    center = (won - lost) / (n + 2)
    spread = np.sqrt(((won + lost + 2) / (n + 2) - center**2) / (n + 2))
    half = stats.norm.ppf((1 + level) / 2) * spread
    return TransferGain(
        before=float(right_before.mean()),
        after=float(right_after.mean()),
        gain=(won - lost) / n,
        low=float(max(center - half, -1.0)),
        high=float(min(center + half, 1.0)),
        p_value=float(stats.binomtest(won, won + lost).pvalue) if won + lost else 1.0,
        n=n,
    )


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}. Use 0.95 for a 95 % interval.")
