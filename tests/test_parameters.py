"""The small table language in which the ranges of constructor parameters are written."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from selftaught._parameters import Choice, Infinity, Interval, check_parameters


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        (Interval(0), [0, 0.0, 1, 1e300, np.float32(2), np.int64(3), Fraction(1, 3)], [-1, -1e-300]),
        (Interval(0, open_low=True), [1e-300, 1], [0, 0.0, -1]),
        (Interval(0, 1), [0, 1, 0.5], [1.0000001, -0.1]),
        (Interval(0, 1, open_low=True), [1, 1.0], [0, 2]),
        (Interval(1, whole=True), [1, 10**20, np.int8(5)], [0, 1.0, 2.5, np.float64(3)]),
    ],
)
def test_interval_allows_its_numbers_and_no_others(interval, inside, outside):
    assert [value for value in inside if not interval.allows(value)] == []
    assert [value for value in outside if interval.allows(value)] == []


@pytest.mark.parametrize("value", [True, False, "1", None, [1], np.array(1.0), np.nan, 1j])
@pytest.mark.parametrize("interval", [Interval(0), Interval(0, whole=True)])
def test_what_is_no_number_is_in_no_interval(interval, value):
    assert not interval.allows(value)


def test_infinity_is_in_no_interval():
    assert not Interval(0).allows(np.inf)


def test_infinity_allows_itself_alone():
    assert Infinity().allows(np.inf) and Infinity().allows(np.float32(np.inf))
    for value in (-np.inf, np.nan, 1e300, "inf", None, True):
        assert not Infinity().allows(value)


def test_choice_compares_strings_by_value_and_the_rest_by_identity():
    choice = Choice(("auto", None, True))
    assert choice.allows("".join(["au", "to"])) and choice.allows(None) and choice.allows(True)
    for value in ("Auto", False, 1, np.array(["auto"]), np.array([1, 2])):
        assert not choice.allows(value)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (Interval(0), "a number of at least 0"),
        (Interval(0, 1, open_low=True), "a number above 0 and at most 1"),
        (Interval(1, whole=True), "a whole number of at least 1"),
        (Choice(("a", None)), "'a' or None"),
        (Infinity(), "np.inf"),
    ],
)
def test_options_say_what_they_allow(option, words):
    assert str(option) == words


def test_the_first_parameter_out_of_range_is_named_with_its_value_and_its_hint():
    allowed = dict(fine=(Interval(0),), wrong=(Interval(0, 1), Choice(("auto",))))
    thing = SimpleNamespace(fine=1, wrong=-2)
    message = r"^wrong must be a number of at least 0 and at most 1, or 'auto', got -2\. Try 0\.5\.$"
    with pytest.raises(ValueError, match=message):
        check_parameters(thing, allowed, dict(wrong="Try 0.5."))
    with pytest.raises(ValueError, match=r"got -2\.$"):
        check_parameters(thing, allowed)
    check_parameters(SimpleNamespace(fine=0, wrong="auto"), allowed)
