"""SciPy's optimisers beside NumPy's products: wheels of the two bring a BLAS each, and their threads fight.

Between two products of NumPy, L-BFGS calls SciPy's BLAS on vectors. The threads of whichever has just worked spin for a
while, waiting for more, and keep the cores from the other: with two threads on two cores the autoencoder's step took
3.7 s, with SciPy's BLAS on one thread 1.4 s, with both on one 1.9 s. Where both share one library nothing is changed.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import scipy
from threadpoolctl import ThreadpoolController

__all__ = ["one_thread_for_scipy"]

# Where wheels keep the libraries that they bring: beside the package, inside it on macOS.
PLACES = tuple(f"{Path(scipy.__path__[0])}{end}" for end in (".libs", "/.dylibs"))


@contextmanager
def one_thread_for_scipy():
    """Keep a BLAS that belongs to SciPy alone to one thread, inside a block or, as a decorator, a function."""
    controller = ThreadpoolController()
    own = [library.filepath for library in controller.lib_controllers if library.filepath.startswith(PLACES)]
    with controller.select(filepath=own).limit(limits=1):
        yield
