"""Precision of a ranking against scikit-learn and by hand; intervals against SciPy, closed forms and their coverage."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score

from selftaught.metrics import (
    paired_interval,
    selection_average_precision,
    selection_precision,
    transfer_gain,
    wilson_interval,
)

# --- was the right thing chosen? -----------------------------------------------------------------------------------


def test_precision_by_hand():
    relevant = [True, False, True, False, True]
    ranking = [4, 1, 0]
    assert [selection_precision(relevant, ranking, k) for k in (1, 2, 3)] == [1, 1 / 2, 2 / 3]


def test_average_precision_by_hand():
    relevant = np.array([True, False, True, False, True])
    # found at ranks 1 and 3 of the ranking; the third only when all five rows have been read
    assert selection_average_precision(relevant, [4, 1, 0]) == pytest.approx((1 / 1 + 2 / 3 + 3 / 5) / 3)
    assert selection_average_precision(relevant, [0, 2, 4, 1, 3]) == 1
    assert selection_average_precision(relevant, [1, 3, 0, 2, 4]) == pytest.approx((1 / 3 + 2 / 4 + 3 / 5) / 3)


def test_an_empty_ranking_leaves_all_rows_tied_last():
    assert selection_average_precision([True, False, False, False], []) == 1 / 4


@pytest.mark.parametrize("n_ranked", [0, 1, 17, 60])
def test_average_precision_agrees_with_scikit_learn(rng, n_ranked):
    for _ in range(20):
        relevant = rng.random(60) < rng.uniform(0.05, 0.9)
        relevant[rng.integers(60)] = True
        ranking = rng.permutation(60)[:n_ranked]
        scores = np.full(60, -1.0)  # rows left out share the last place
        scores[ranking] = np.arange(n_ranked, 0, -1)
        expected = average_precision_score(relevant, scores)
        assert selection_average_precision(relevant, ranking) == pytest.approx(expected)


def test_average_precision_does_not_depend_on_how_rows_are_numbered(rng):
    relevant, ranking = rng.random(50) < 0.3, rng.permutation(50)[:30]
    new_number = rng.permutation(50)
    renumbered = np.empty(50, dtype=bool)
    renumbered[new_number] = relevant
    before, after = (
        selection_average_precision(*args) for args in [(relevant, ranking), (renumbered, new_number[ranking])]
    )
    assert before == pytest.approx(after)


def test_swapping_a_relevant_row_forward_never_lowers_average_precision(rng):
    relevant, ranking = rng.random(40) < 0.4, rng.permutation(40)
    for i in range(39):
        swapped = ranking.copy()
        swapped[[i, i + 1]] = swapped[[i + 1, i]]
        change = selection_average_precision(relevant, swapped) - selection_average_precision(relevant, ranking)
        assert np.sign(change) == int(relevant[ranking[i + 1]]) - int(relevant[ranking[i]])


@pytest.mark.parametrize(
    ("relevant", "ranking", "message"),
    [
        ([1, 0, 1], [0], "boolean mask .* dtype int64"),
        ([[True], [False]], [0], r"boolean mask .* got shape \(2, 1\)"),
        ([True, False], [0.9, 0.1], "np.argsort"),
        ([True, False], [[0], [1]], r"row indices .* got shape \(2, 1\)"),
        ([True, False], [0, 2], r"indices from 0 to 2; they must be in \[0, 1\]"),
        ([True, False], [-1, 0], "indices from -1 to 0"),
        ([True, False, False], [1, 1, 2], "names 1 rows twice"),
    ],
)
def test_rankings_are_checked(relevant, ranking, message):
    for ask in (selection_average_precision, lambda *args: selection_precision(*args, k=1)):
        with pytest.raises(ValueError, match=message):
            ask(relevant, ranking)


@pytest.mark.parametrize("k", [0, 3])
def test_precision_looks_only_at_ranked_rows(k):
    with pytest.raises(ValueError, match=rf"k must be in \[1, 2\], the number of ranked rows, got {k}"):
        selection_precision([True, False, True], [0, 1], k)


def test_average_precision_needs_something_to_find():
    with pytest.raises(ValueError, match="relevant is False everywhere"):
        selection_average_precision([False, False], [0, 1])


# --- did it help? --------------------------------------------------------------------------------------------------


def test_paired_interval_is_students(rng):
    differences = rng.normal(0.3, 1, size=12)
    ours = paired_interval(differences, level=0.9)
    theirs = stats.ttest_1samp(differences, 0).confidence_interval(0.9)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    assert (ours.mean, ours.level, ours.n) == (pytest.approx(differences.mean()), 0.9, 12)


def test_paired_interval_by_hand():
    # mean 2, s² = 1, n = 3; the 97.5 % point of t with 2 degrees of freedom is 4.302653
    plain = paired_interval([1, 2, 3])
    corrected = paired_interval([1, 2, 3], test_fraction=0.25)
    assert plain.high - 2 == pytest.approx(4.302653 * np.sqrt(1 / 3), rel=1e-6)
    assert corrected.high - 2 == pytest.approx(4.302653 * np.sqrt(1 / 3 + 1 / 4), rel=1e-6)
    assert corrected.low + corrected.high == pytest.approx(4)


def test_paired_interval_counts_wins():
    interval = paired_interval([0.1, -0.2, 0.0, 0.3, 0.0, 0.1])
    assert (interval.wins, interval.losses, interval.ties, interval.n) == (3, 1, 2, 6)


def test_swapping_the_pair_mirrors_the_interval(rng):
    differences = rng.normal(size=9)
    one, other = paired_interval(differences, test_fraction=0.5), paired_interval(-differences, test_fraction=0.5)
    assert (one.low, one.high, one.wins) == (-other.high, -other.low, other.losses)


def test_a_single_difference_says_nothing():
    interval = paired_interval([0.2], test_fraction=0.25)
    assert (interval.mean, interval.low, interval.high) == (0.2, -np.inf, np.inf)


@pytest.mark.parametrize("value", [0.0, 0.1, -1 / 3])
def test_equal_differences_have_no_width(value):
    interval = paired_interval([value] * 7, test_fraction=0.25)
    assert (interval.mean, interval.low, interval.high) == (value, value, value)


@pytest.mark.slow
def test_the_correction_restores_coverage_for_overlapping_folds(rng):
    # Equicorrelated Gaussian folds with correlation f / (1 + f) are the model behind the correction: there it is
    # exact, while the plain interval forgets that the folds move together.
    n_folds, test_fraction, n_runs = 10, 0.25, 4000
    correlation = test_fraction / (1 + test_fraction)
    shared, own = rng.normal(size=(n_runs, 1)), rng.normal(size=(n_runs, n_folds))
    runs = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own

    def coverage(test_fraction):
        intervals = [paired_interval(run, test_fraction=test_fraction) for run in runs]
        return np.mean([i.low <= 0 <= i.high for i in intervals])

    assert coverage(test_fraction) == pytest.approx(0.95, abs=0.015)  # 4 standard errors
    assert coverage(None) < 0.85


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"differences": []}, "non-empty list of finite numbers"),
        ({"differences": [0.1, np.nan]}, "finite numbers, got .*nan"),
        ({"differences": [[0.1], [0.2]]}, "non-empty list of finite numbers"),
        ({"differences": [0.1, 0.2], "test_fraction": 0}, "test_fraction must be positive or None, got 0"),
        ({"differences": [0.1, 0.2], "level": 95}, r"level must be in \(0, 1\), got 95. Use 0.95"),
    ],
)
def test_paired_interval_refuses(kwargs, message):
    with pytest.raises(ValueError, match=message):
        paired_interval(**kwargs)


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (3, 10), (10, 10), (812, 1000)])
def test_wilson_interval_solves_its_equation(successes, n):
    # its ends are the proportions p with |p_hat - p| = z sqrt(p (1 - p) / n)
    interval = wilson_interval(successes, n, level=0.9)
    z = stats.norm.ppf(0.95)
    for p in (interval.low, interval.high):
        assert abs(successes / n - p) == pytest.approx(z * np.sqrt(p * (1 - p) / n), abs=1e-9)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1
    assert (interval.value, interval.level, interval.successes, interval.n) == (successes / n, 0.9, successes, n)


def test_wilson_interval_counts_failures_the_same_way():
    right, wrong = wilson_interval(7, 30), wilson_interval(23, 30)
    assert (right.low, right.high) == pytest.approx((1 - wrong.high, 1 - wrong.low))


@pytest.mark.parametrize(("successes", "n"), [(3, 2), (-1, 5), (0, 0)])
def test_wilson_interval_refuses(successes, n):
    with pytest.raises(ValueError, match=rf"successes must be in \[0, n\] .* got successes={successes} and n={n}"):
        wilson_interval(successes, n)


def predictions(won, lost, n):
    """True labels and two predictions: `won` rows become right, `lost` become wrong, the other rows stay right."""
    y_true = np.zeros(n, dtype=int)
    before, after = y_true.copy(), y_true.copy()
    before[:won] = 1
    after[won : won + lost] = 1
    return y_true, before, after


def test_transfer_gain_by_hand():
    gain = transfer_gain(*predictions(won=6, lost=1, n=98))
    assert (gain.before, gain.after, gain.n) == (92 / 98, 97 / 98, 98)
    assert gain.gain == pytest.approx(5 / 98)
    assert gain.p_value == pytest.approx(2 * (1 + 7) / 2**7)  # 0 or 1 of 7 fair coins, both sides
    center, half = 0.05, 1.959964 * np.sqrt((0.09 - 0.05**2) / 100)
    assert (gain.low, gain.high) == pytest.approx((center - half, center + half), rel=1e-6)


def test_swapping_before_and_after_mirrors_the_gain(rng):
    y_true, before, after = rng.integers(3, size=(3, 40))
    one, other = transfer_gain(y_true, before, after), transfer_gain(y_true, after, before)
    assert (one.gain, one.low, one.high, one.p_value) == (-other.gain, -other.high, -other.low, other.p_value)


def test_the_gain_does_not_depend_on_label_names_or_row_order(rng):
    labels = rng.integers(3, size=(3, 40))
    renamed = np.array(["ape", "bee", "cat"])[labels][:, rng.permutation(40)]
    assert transfer_gain(*labels) == transfer_gain(*renamed)


def test_no_change_is_no_proof():
    few, many = (transfer_gain(*predictions(won=0, lost=0, n=n)) for n in (10, 1000))
    assert few.gain == 0 and few.p_value == 1
    assert few.low == -few.high < 0
    assert 0 < many.high < few.high / 10


def test_the_interval_stays_among_possible_gains():
    for won, lost in [(3, 0), (0, 3)]:
        gain = transfer_gain(*predictions(won, lost, n=3), level=0.999)
        assert -1 <= gain.low <= gain.gain <= gain.high <= 1


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 200])
def test_coverage_of_the_gain(rng, n):
    # Few predictions change, as after most transfers. The t interval of the row differences is the peer: it collapses
    # when none does.
    p_won, p_lost, n_runs = 0.06, 0.01, 3000
    covered = covered_by_t = 0
    for _ in range(n_runs):
        won, lost, _ = rng.multinomial(n, [p_won, p_lost, 1 - p_won - p_lost])
        y_true, before, after = predictions(won, lost, n)
        gain = transfer_gain(y_true, before, after)
        t = paired_interval((after == y_true).astype(float) - (before == y_true))
        covered += gain.low <= p_won - p_lost <= gain.high
        covered_by_t += t.low <= p_won - p_lost <= t.high
    assert covered / n_runs > 0.935
    assert covered > covered_by_t


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([], [], []), "non-empty"),
        (([0, 1], [0, 1], [0]), r"got shapes \(2,\), \(2,\) and \(1,\)"),
        (([0, 1], [[0.2, 0.8]] * 2, [0, 1]), "labels, not probabilities"),
    ],
)
def test_transfer_gain_refuses(args, message):
    with pytest.raises(ValueError, match=message):
        transfer_gain(*args)


def test_transfer_gain_refuses_a_wrong_level():
    with pytest.raises(ValueError, match=r"level must be in \(0, 1\), got 1"):
        transfer_gain([0], [0], [0], level=1)
