"""The plain published algorithm, which the benchmarks use as their peer and these tests as an independent witness."""

import importlib.util
import sys
from pathlib import Path

import pytest

PUBLISHED = Path(__file__).resolve().parents[2] / "benchmarks" / "published.py"


@pytest.fixture(scope="session")
def published():
    """The module benchmarks/published.py; scripts are not importable from here by name."""
    if not PUBLISHED.exists():
        pytest.skip("benchmarks/published.py is not part of the source distribution")
    spec = importlib.util.spec_from_file_location("published", PUBLISHED)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
