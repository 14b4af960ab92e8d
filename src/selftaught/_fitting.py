"""A fit happens whole or not at all."""

from __future__ import annotations

from contextlib import contextmanager

__all__ = ["whole_or_not_at_all"]


@contextmanager
def whole_or_not_at_all(estimator):
    """Give the estimator back the attributes it had, should the body be refused or interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
