"""Fitted models as files, without pickle.

A model file is a zip archive in the format of skops: arrays as ``.npy``, everything else as JSON. Loading it runs no
code of the file's: it makes objects of types that were declared beforehand, and `get_trusted_types` declares those of
this package that a fitted model may be made of, and no others.

    save_model(model, path, provenance)  ->  path     appears whole or not at all
    load_model(path)                     ->  SavedModel(model, provenance)
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
import platform
import warnings
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import scipy
import sklearn
from sklearn.base import BaseEstimator

import selftaught

from ._files import written_whole

__all__ = ["Provenance", "SavedModel", "check_skops", "get_trusted_types", "hash_file", "load_model", "save_model"]

# Rooms of which a fitted model may hold estimators and records.
ROOMS = (
    *("scaling", "relevance", "labeling", "softmax", "selectors", "encoders", "model_selection", "classifiers"),
    "features",
)
# What else a fit leaves behind: plain data, of which making one runs no code.
SPARSE = tuple(f"scipy.sparse._{kind}.{kind}_{form}" for kind in ("csr", "csc", "coo") for form in ("array", "matrix"))
DATA = ("numpy.dtype", *SPARSE)


@dataclass(frozen=True)
class Provenance:
    """Where a model comes from.

    ``method`` its short name; ``seed`` given to it; ``inputs`` SHA-256 of each file by the part it played; ``verdict``
    of the guard in words; ``columns`` that were no features, by the part they played; ``versions`` of the packages.
    """

    method: str = ""
    seed: int | None = None
    inputs: dict[str, str] = field(default_factory=dict)
    verdict: str = ""
    columns: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=lambda: _versions())


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds: the fitted ``model``, its ``provenance``, and what made its rows of images or texts."""

    model: Any
    provenance: Provenance
    extractor: Any = None


def save_model(model, path, provenance=None, extractor=None):
    """Write a fitted model to a file.

    Parameters
    ----------
    model : fitted estimator
        Of this package; ``estimator=`` may be any classifier of scikit-learn's that skops can write.
    path : str or Path
        By custom ending in ``.skops``.
    provenance : Provenance, optional
        Kept beside the model. Without one, the versions of the packages are.
    extractor : fitted extractor of `selftaught.features`, optional
        What made the rows of the fit of images or texts, for those that come later.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught import SelfTaughtClassifier
    >>> from selftaught.persistence import load_model, save_model
    >>> clf = SelfTaughtClassifier().fit(np.eye(4), ["a", "a", "b", "b"])
    >>> save_model(clf, "model.skops")
    >>> load_model("model.skops").model.predict(np.eye(4)).tolist()
    ['a', 'a', 'b', 'b']
    """
    io = check_skops()
    with written_whole(path) as unfinished:
        io.dump(SavedModel(model, provenance or Provenance(), extractor), unfinished)


def load_model(path):
    """Read what `save_model` wrote, and nothing else.

    Returns
    -------
    SavedModel

    Raises
    ------
    ValueError
        Where the file is no model, is damaged, or holds types that no model of this package is made of.
    """
    io = check_skops()
    from skops.io.exceptions import UntrustedTypesFoundException

    try:
        saved = io.load(Path(path), trusted=get_trusted_types())
    except OSError:
        raise
    except UntrustedTypesFoundException as error:
        raise ValueError(f"{path} was not loaded: it holds types that no model of selftaught has. {error}") from error
    except Exception as error:  # a damaged file ends in whatever the damaged place leads to
        raise ValueError(f"{path} is not a model of selftaught's, or is damaged ({type(error).__name__}).") from error
    if not isinstance(saved, SavedModel):
        raise ValueError(f"{path} holds a {type(saved).__name__}, not a model written by save_model.")
    _warn_of_other_version(path, saved.provenance.versions)
    return saved


@cache
def get_trusted_types():
    """Return the names of the types that a model of this package may be made of, for ``skops.io.load(trusted=...)``.

    These are all estimators and records of the rooms that take part in a fit, SciPy's sparse arrays and NumPy's dtype.
    skops itself knows Python's and NumPy's other types of data and the estimators of scikit-learn.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from selftaught.persistence import get_trusted_types
    >>> "selftaught.scaling.FeatureScaling" in get_trusted_types()
    True
    """
    ours = [kind for module in _modules() for kind in vars(module).values() if _belongs(kind, module)]
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in (*ours, Provenance, SavedModel)}
    return [*sorted(names), *DATA]


def _modules():
    """Yield every module of the rooms."""
    for room in ROOMS:
        module = importlib.import_module(f"selftaught.{room}")
        yield module
        for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
            yield importlib.import_module(f"selftaught.{room}.{inner.name}")


def _belongs(kind, module):
    """Whether a value found in a module is an estimator or record that this module defines."""
    if not inspect.isclass(kind) or kind.__module__ != module.__name__:
        return False
    return issubclass(kind, BaseEstimator) or is_dataclass(kind)


def hash_file(path):
    """Return the SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _versions():
    packages = dict(selftaught=selftaught, numpy=numpy, scipy=scipy)
    versions = {name: package.__version__ for name, package in packages.items()}
    return versions | {"scikit-learn": sklearn.__version__, "python": platform.python_version()}


def _warn_of_other_version(path, versions):
    written = versions.get("selftaught")
    if written != selftaught.__version__:
        warnings.warn(
            f"{path} was written by selftaught {written}, and this is {selftaught.__version__}: it may predict "
            "otherwise. Fit it anew where that matters.",
            UserWarning,
            stacklevel=3,
        )


def check_skops():
    """Return skops' module for files, or say how to get it."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("a model file needs skops. Install it with: pip install 'selftaught[persist]'") from error
    return skops.io
