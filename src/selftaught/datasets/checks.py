"""Range checks that the makers and the splitter share."""

from __future__ import annotations


def check_at_least(minimum: float, **values: float) -> None:
    """Refuse any named value below `minimum`."""
    for name, value in values.items():
        if not value >= minimum:
            raise ValueError(f"{name} must be at least {minimum}, got {value}.")


def check_share(**values: float) -> None:
    """Refuse any named value outside [0, 1]."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must be in [0, 1], got {value}. It is a share, not a percentage.")
