"""The transfer curve, the honest choice of a size, and the verdict, on curves made by hand."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportOptionalIterable=false, reportOptionalSubscript=false

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

from selftaught.metrics import paired_interval
from selftaught.model_selection import TransferCurve, curve_sizes, judge_transfer, make_folds, measure_curve


def curve(scores, sizes=None):
    scores = np.asarray(scores, dtype=float)
    return TransferCurve(np.arange(scores.shape[1]) * 10 if sizes is None else sizes, scores, 0.25)


# Sizes


@pytest.mark.parametrize(
    ("n_select", "n_relevant", "sizes"),
    [
        ("auto", 7, [0, 7]),
        ("auto", 10, [0, 10]),
        ("auto", 60, [0, 10, 20, 50, 60]),
        ("auto", 1, [0, 1]),
        (30, 60, [0, 30]),
        (30, 20, [0, 20]),
        (np.int64(5), 9, [0, 5]),
    ],
)
def test_sizes_rise_from_zero_to_what_is_relevant(n_select, n_relevant, sizes):
    assert_array_equal(curve_sizes(n_select, n_relevant), sizes)


# Folds


def test_five_folds_twice_by_default_each_with_every_class(rng):
    y = np.repeat([0, 1, 2], [9, 5, 7])
    folds = make_folds(y, None, np.random.RandomState(0))
    assert len(folds) == 10
    for train, test in folds:
        assert not {*train} & {*test} and len(train) + len(test) == 21
        assert {*y[train]} == {0, 1, 2}
    for half in (folds[:5], folds[5:]):
        assert_array_equal(np.sort(np.concatenate([test for _, test in half])), np.arange(21))
    assert {tuple(test) for _, test in folds[:5]} != {tuple(test) for _, test in folds[5:]}


@pytest.mark.parametrize(("smallest", "cv", "n_folds"), [(3, None, 6), (4, None, 8), (4, 5, 8), (9, 3, 6), (9, 2, 4)])
def test_there_are_no_more_folds_than_rows_in_the_smallest_class(smallest, cv, n_folds):
    y = np.repeat([0, 1], [smallest, 12])
    assert len(make_folds(y, cv, np.random.RandomState(0))) == n_folds


def test_a_numpy_integer_is_a_number_of_folds():
    y = np.repeat([0, 1], 9)
    assert len(make_folds(y, np.int64(3), np.random.RandomState(0))) == len(make_folds(y, 3, np.random.RandomState(0)))


@pytest.mark.parametrize("smallest", [1, 2])
@pytest.mark.parametrize("cv", [None, 5])
def test_classes_of_one_or_two_rows_allow_no_verdict(smallest, cv):
    assert make_folds(np.repeat([0, 1], [smallest, 12]), cv, np.random.RandomState(0)) is None


def test_folds_follow_their_seed():
    y = np.repeat([0, 1], 9)
    one, same, other = (make_folds(y, None, np.random.RandomState(s)) for s in (1, 1, 2))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(one, other, strict=True))


def test_a_splitter_of_ones_own_is_taken_as_it_is():
    y = np.tile([0, 1], 6)
    folds = make_folds(y, KFold(4), np.random.RandomState(0))
    assert [test.tolist() for _, test in folds] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


def test_folds_that_would_train_without_a_class_are_left_out():
    y = np.array([0, 0, 0, 0, 1])
    assert len(make_folds(y, LeaveOneOut(), np.random.RandomState(0))) == 4
    assert make_folds(np.array([0, 0, 1, 1]), KFold(2), np.random.RandomState(0)) is None


# The curve


def test_the_curve_holds_what_each_fold_scored():
    folds = [(np.arange(3, 9), np.arange(3)), (np.arange(5), np.arange(5, 9))]
    asked = []

    def score_fold(train, test, sizes):
        asked.append((train, test, sizes))
        return [len(train) + p for p in sizes]

    sizes = np.array([0, 10, 20])
    measured = measure_curve(score_fold, folds, sizes)
    assert_array_equal(measured.scores, [[6, 16, 26], [5, 15, 25]])
    assert_array_equal(measured.mean, [5.5, 15.5, 25.5])
    assert measured.test_fraction == pytest.approx((3 / 6 + 4 / 5) / 2)
    for (train, test, given), fold in zip(asked, folds, strict=True):
        assert train is fold[0] and test is fold[1] and given is sizes


def test_the_best_size_is_above_zero_and_the_largest_of_equals():
    assert curve([[9, 1, 2, 2, 1]]).best_transfer() == 3
    assert curve([[9, 3, 3, 3]]).best_transfer() == 3
    # sums of thirds in another order differ in the last digit, which must not decide
    thirds = [[0, 1 / 3, 1], [0, 1 / 3, 0], [0, 1 / 3, 0]]
    assert curve(thirds).best_transfer() == 2


def test_gains_are_cross_fitted():
    # Size 10 is best on folds 1 and 2, size 20 on fold 0 by far. Without fold 0 the others choose 10, and so on.
    scores = [[0.5, 0.4, 0.9], [0.5, 0.7, 0.4], [0.5, 0.7, 0.4]]
    by_hand = []
    for fold in range(3):
        others = [f for f in range(3) if f != fold]
        chosen = 1 + int(np.argmax(np.mean([scores[f][1:] for f in others], axis=0)))
        by_hand.append(scores[fold][chosen] - scores[fold][0])
    assert_allclose(by_hand, [-0.1, -0.1, -0.1])
    assert_allclose(curve(scores).gains(), by_hand)
    # the choice that has seen its own fold flatters itself: the same curve, the size that is best on all folds
    best = curve(scores).best_transfer()
    assert np.mean([row[best] - row[0] for row in scores]) > 0 > np.mean(by_hand)


def test_noise_alone_shows_no_gain_on_average(rng):
    # many sizes, all of them worth nothing: choosing the best must not look like a gain, and without cross-fitting does
    fitted, flattered = [], []
    for _ in range(200):
        noise = curve(rng.normal(size=(5, 9)))
        fitted.append(noise.gains().mean())
        flattered.append((noise.mean - noise.mean[0])[noise.best_transfer()])
    error = np.std(fitted) / np.sqrt(200)
    assert abs(np.mean(fitted)) < 4 * error < np.mean(flattered)


def test_one_fold_has_no_others_and_takes_the_largest_size():
    assert_array_equal(curve([[0.5, 0.9, 0.7]]).gains(), [0.7 - 0.5])


# The verdict


def test_a_clear_gain():
    verdict = judge_transfer(curve([[0.5, 0.6, 0.8], [0.4, 0.6, 0.7], [0.6, 0.6, 0.9], [0.5, 0.6, 0.8]]))
    assert (verdict.used, verdict.tested, verdict.n_select, verdict.best_size) == (True, True, 20, 20)
    assert (verdict.folds_won, verdict.folds_lost, verdict.n_folds) == (4, 0, 4)
    interval = paired_interval([0.3, 0.3, 0.3, 0.3], test_fraction=0.25)
    assert (verdict.gain, verdict.low) == (pytest.approx(interval.mean), pytest.approx(interval.low))
    assert verdict.reason == (
        "Used: with 20 source rows accuracy on held-out target rows changes by +30.0 points (95% interval +30.0 to "
        "+30.0); better in 4 of 4 folds, worse in 0. The gain is clear."
    )


def test_a_gain_that_may_be_chance_says_so():
    verdict = judge_transfer(curve([[0.5, 0.8], [0.5, 0.4], [0.5, 0.7]]))
    interval = paired_interval([0.3, -0.1, 0.2], test_fraction=0.25)
    assert verdict.used and verdict.low == pytest.approx(interval.low) and interval.low < 0
    assert (
        verdict.reason.startswith("Used: with 10 source rows")
        and "better in 2 of 3 folds, worse in 1" in verdict.reason
    )
    assert verdict.reason.endswith("A target this small cannot show more than that it does not hurt.")


def test_no_change_at_all_is_used():
    verdict = judge_transfer(curve([[0.5, 0.5], [0.7, 0.7]]))
    assert verdict.used and verdict.gain == 0 and (verdict.folds_won, verdict.folds_lost) == (0, 0)
    assert "changes by +0.0 points" in verdict.reason and "does not hurt" in verdict.reason


def test_a_loss_is_refused():
    verdict = judge_transfer(curve([[0.8, 0.5, 0.6], [0.8, 0.9, 0.6]]))
    assert (verdict.used, verdict.tested, verdict.n_select) == (False, True, 0)
    assert verdict.gain < 0 and verdict.best_size == 10  # of the sizes above zero, the one that would do least harm
    assert verdict.reason.startswith("Not used: with 10 source rows accuracy on held-out target rows changes by -")
    assert verdict.reason.endswith("worse in 2.")


def test_rounding_is_no_loss():
    # three rows a fold: won a third here, lost a third there, which sums to -5.6e-17
    verdict = judge_transfer(curve([[1 / 3, 2 / 3], [1, 2 / 3], [1, 1]]))
    assert verdict.used and "-0.0 points" not in verdict.reason


def test_the_interval_is_widened_because_folds_share_rows():
    scores = [[0.5, 0.8], [0.5, 0.4], [0.5, 0.7]]
    verdict = judge_transfer(curve(scores))
    naive = paired_interval([0.3, -0.1, 0.2])
    assert verdict.high - verdict.low > naive.high - naive.low


def test_custom_folds_of_a_stratified_splitter_are_its_own(rng):
    y = np.repeat([0, 1], 6)
    splitter = StratifiedKFold(3, shuffle=True, random_state=4)
    ours, theirs = make_folds(y, splitter, np.random.RandomState(0)), splitter.split(np.zeros(12), y)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(ours, theirs, strict=True))
