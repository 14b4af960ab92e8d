"""What every test may ask for: seeds that an environment variable can widen, the real data, plots without a screen."""

import hashlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from file_server import Server

from selftaught import _download

os.environ["MPLBACKEND"] = "Agg"  # before anything imports matplotlib: a test machine has no screen

ROOT = Path(__file__).resolve().parents[1]


def parse_seeds(text):
    """``"0"``, ``"0,1,2"``, ``"0-9"`` or a mixture such as ``"0,5-7"`` as a list of integers."""
    seeds = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            raise pytest.UsageError(
                f"SELFTAUGHT_TEST_SEEDS must look like '0', '0,1,2' or '0-9', got {text!r}. "
                "Unset it to run every test with seed 0 alone."
            )
        seeds.extend(range(int(first), int(last or first) + 1))
    return seeds


# scope: an expensive fit that a whole module shares may ask for the seed too
@pytest.fixture(scope="session", params=parse_seeds(os.environ.get("SELFTAUGHT_TEST_SEEDS", "0")), ids="seed{}".format)
def seed(request):
    """The current seed: 0, or each of SELFTAUGHT_TEST_SEEDS ("0,1,2", "0-9") in turn."""
    return request.param


@pytest.fixture
def rng(seed):
    """A fresh generator for the current seed."""
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def shared_data():
    """The folder of the real datasets, or a skip that says how to point to it."""
    named = os.environ.get("SELFTAUGHT_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set SELFTAUGHT_DATA to the folder that holds them")
    return folder


@pytest.fixture
def server(monkeypatch):
    """A fresh server; no proxy stands before it, and nobody waits between attempts."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(_download, "PAUSE", 0.0)
    server = Server()
    yield server
    server.close()


@pytest.fixture
def sha256():
    return lambda content: hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="session")
def shared_weights():
    """Give the path of a network's file by its name, which may begin with a folder; or skip and say how to point to it.

    Packages that hold networks may be unpacked there as they are.
    """
    folder = Path(os.environ.get("SELFTAUGHT_WEIGHTS") or ROOT.parent / "shared" / "weights")

    def path_of(name):
        found = next(folder.rglob(name), None)
        if found is None:
            pytest.skip(f"no {name} in {folder}: set SELFTAUGHT_WEIGHTS to the folder that holds it")
        return found

    return path_of


@pytest.fixture(autouse=True)
def close_figures():
    """Figures left open would add up to matplotlib's warning, in whichever test comes last."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
