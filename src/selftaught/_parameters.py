"""Checks of constructor parameters: the ranges are data, the message is made in one place."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any

__all__ = ["Choice", "Infinity", "Interval", "check_parameters"]


@dataclass(frozen=True)
class Interval:
    """Finite numbers from ``low`` to ``high``; ``open_low`` leaves ``low`` out, ``whole`` allows integers only."""

    low: float
    high: float = float("inf")
    open_low: bool = False
    whole: bool = False

    def allows(self, value: Any) -> bool:
        """Return whether the value lies inside."""
        number = isinstance(value, Integral if self.whole else Real) and not isinstance(value, bool)
        if not number or not isfinite(float(value)):
            return False
        value = float(value)
        return (self.low < value if self.open_low else self.low <= value) and value <= self.high

    def __str__(self):
        kind = "a whole number" if self.whole else "a number"
        low = f"above {self.low:g}" if self.open_low else f"of at least {self.low:g}"
        return f"{kind} {low}" + (f" and at most {self.high:g}" if self.high < float("inf") else "")


@dataclass(frozen=True)
class Choice:
    """One of a few values; compared by identity for None and booleans, by equality for strings."""

    values: tuple

    def allows(self, value):
        """Return whether the value is one of them."""
        return any(value is v or (isinstance(v, str) and isinstance(value, str) and value == v) for v in self.values)

    def __str__(self):
        return " or ".join(repr(v) for v in self.values)


@dataclass(frozen=True)
class Infinity:
    """Positive infinity, for a limit that may be switched off."""

    def allows(self, value):
        """Return whether the value is infinite."""
        return isinstance(value, Real) and float(value) == float("inf")

    def __str__(self):
        return "np.inf"


def check_parameters(estimator, allowed, hints=None):
    """Raise ValueError where a parameter of the estimator is outside what is allowed.

    Parameters
    ----------
    estimator : object
        Whose attributes are checked.
    allowed : dict of str to tuple
        For each parameter the intervals and choices, any of which may allow its value.
    hints : dict of str to str, optional
        What to do about it, added to the message of that parameter.
    """
    for name, options in allowed.items():
        value = getattr(estimator, name)
        if any(option.allows(value) for option in options):
            continue
        rule = ", or ".join(str(option) for option in options)
        hint = (hints or {}).get(name, "")
        raise ValueError(f"{name} must be {rule}, got {value!r}.{' ' if hint else ''}{hint}")
