"""Methods by the short names of the command line, and classifiers made of them."""

from __future__ import annotations

import argparse
from typing import Any

import selftaught
from selftaught import GASTLClassifier, SelfTaughtClassifier

from .terminal import UsageError

__all__ = ["ENCODERS", "METHODS", "add_method_options", "make_classifier", "parse_count", "parse_jobs", "parse_seed"]

SELECTORS = {
    "gastl": "GASTLSelector",
    "kmm": "KMMSelector",
    "mls": "MLSSelector",
    "neighbors": "NeighborSelector",
    "random": "RandomSelector",
    "all": "AllSelector",
}
ENCODERS = {"stl": "STLEncoder", "rdstl": "RDSTLEncoder", "slow": "SLowEncoder"}
METHODS = SELECTORS | ENCODERS


def add_method_options(parser, methods=tuple(METHODS)):
    """Add what decides how the source is used."""
    group = parser.add_argument_group("how the source is used")
    group.add_argument(
        "--method",
        default="gastl",
        choices=methods,
        metavar="NAME",
        help=f"{', '.join(methods)} (default: gastl); random, neighbors and all are controls",
    )
    add_common_options(group)


def add_common_options(group):
    """Add the options that mean the same to every method."""
    group.add_argument(
        "--n-select",
        type=_n_select,
        default="auto",
        metavar="N",
        help="source rows to learn from: a number, a share such as 0.1, or auto (default: found by cross-validation)",
    )
    group.add_argument(
        "--guard",
        default="fallback",
        choices=("fallback", "warn", "raise", "off"),
        metavar="WHAT",
        help="where the source would hurt: fallback (default: learn from the target only), warn (and use it), "
        "raise (stop with exit code 3), off (do not ask)",
    )
    group.add_argument(
        "--seed", type=parse_seed, default=0, metavar="N", help="the same seed, the same result (default: 0)"
    )
    group.add_argument(
        "--jobs", type=parse_jobs, default=None, metavar="N", help="folds worked on at once; -1 for all cores"
    )


def make_classifier(method, *, n_select="auto", guard="fallback", seed=0, jobs=None):
    """Return the unfitted classifier that uses a source by this method."""
    options: dict[str, Any] = dict(n_select=n_select, guard=guard, n_jobs=jobs, random_state=seed)
    if method == "gastl":
        return GASTLClassifier(**options)
    cls = getattr(selftaught, METHODS[method], None)
    if cls is None:
        raise UsageError(
            f"method {method!r} is not part of selftaught {selftaught.__version__}, which has no {METHODS[method]}."
        )
    return SelfTaughtClassifier(cls(), **options)


def _n_select(text):
    if text == "auto" or text.isdecimal():
        return text if text == "auto" else int(text)
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(
            f"must be a whole number, a share above 0 and at most 1, or auto, got {text!r}"
        )
    return share


def parse_count(text):
    """Read a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def parse_seed(text):
    """Read a seed."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {2**32 - 1}, got {text!r}")
    return int(text)


def parse_jobs(text):
    """Read how many workers are asked for."""
    if not text.removeprefix("-").isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number other than 0, got {text!r}")
    return int(text)
