"""Adadelta (Zeiler, 2012): steps whose length follows the parameters' own, without a rate to choose.

For each parameter with gradient g, and averages G of g^2 and D of the squared steps,

    G <- rho G + (1 - rho) g^2,     step = rate g sqrt((D + eps) / (G + eps)),     D <- rho D + (1 - rho) step^2

where the step enters D without ``rate``. Of an array of which most rows have no gradient, such as word vectors, only
the others are visited. That is exact: without a gradient there is no step, and what the averages have decayed to by
the next visit is a power of rho.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Adadelta"]

RHO, EPS = 0.95, 1e-6


class Adadelta:
    """The state of one parameter array, which `descend` changes in place."""

    def __init__(self, parameter: np.ndarray, rate: float = 1.0):
        self.parameter, self.rate = parameter, rate
        self._squares, self._steps = np.zeros_like(parameter), np.zeros_like(parameter)
        self._visited = np.zeros(len(parameter), np.int64)
        self._time = 0

    def descend(self, gradient: np.ndarray, rows: np.ndarray | slice = slice(None)):
        """Take one step, given the gradient of some rows (each once), the others having none."""
        self._time += 1
        missed = RHO ** (self._time - 1 - self._visited[rows])
        decay = missed.astype(self.parameter.dtype).reshape(-1, *[1] * (self.parameter.ndim - 1))
        squares = RHO * decay * self._squares[rows] + (1 - RHO) * gradient**2
        steps = decay * self._steps[rows]
        step = gradient * np.sqrt((steps + EPS) / (squares + EPS))
        self._squares[rows], self._steps[rows] = squares, RHO * steps + (1 - RHO) * step**2
        self._visited[rows] = self._time
        self.parameter[rows] -= self.rate * step
