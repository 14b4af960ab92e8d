"""SciPy's own BLAS keeps to one thread for a while, and nobody else's does."""

import scipy.linalg  # loads SciPy's BLAS
from threadpoolctl import ThreadpoolController

from selftaught._threads import PLACES, one_thread_for_scipy


def threads():
    return {library.filepath: library.num_threads for library in ThreadpoolController().lib_controllers}


def test_only_scipy_s_blas_is_limited_and_only_inside():
    scipy.linalg.norm([1.0])
    with ThreadpoolController().limit(limits=2):
        before = threads()
        with one_thread_for_scipy():
            inside = threads()
        assert threads() == before
    assert inside == {path: 1 if path.startswith(PLACES) else n for path, n in before.items()}
