"""Pen drawings on the 8 x 8 grid of the handwritten digits: letters and scribbles.

A drawing is a set of line segments, (n_segments, 2 ends, 2 coordinates), coordinates in [0, 1] from the top left. It is
inked as the digits of `load_digits` were: on a 32 x 32 bitmap, of which every 4 x 4 block is counted. The pen's width
follows from the amount of ink asked for, so that drawings are as dark as the digits and ink gives nothing away.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

# Polylines (x, y) in the unit box. Letters that can pass for a digit, such as O, I, S, B and Z, are left out.
LETTERS = {
    "A": [[(0, 1), (0.5, 0), (1, 1)], [(0.2, 0.6), (0.8, 0.6)]],
    "E": [[(1, 0), (0, 0), (0, 1), (1, 1)], [(0, 0.5), (0.8, 0.5)]],
    "F": [[(1, 0), (0, 0), (0, 1)], [(0, 0.5), (0.8, 0.5)]],
    "H": [[(0, 0), (0, 1)], [(1, 0), (1, 1)], [(0, 0.5), (1, 0.5)]],
    "K": [[(0, 0), (0, 1)], [(1, 0), (0, 0.5), (1, 1)]],
    "L": [[(0, 0), (0, 1), (1, 1)]],
    "M": [[(0, 1), (0, 0), (0.5, 0.6), (1, 0), (1, 1)]],
    "N": [[(0, 1), (0, 0), (1, 1), (1, 0)]],
    "T": [[(0, 0), (1, 0)], [(0.5, 0), (0.5, 1)]],
    "U": [[(0, 0), (0, 0.8), (0.3, 1), (0.7, 1), (1, 0.8), (1, 0)]],
    "V": [[(0, 0), (0.5, 1), (1, 0)]],
    "W": [[(0, 0), (0.25, 1), (0.5, 0.3), (0.75, 1), (1, 0)]],
    "X": [[(0, 0), (1, 1)], [(1, 0), (0, 1)]],
}


def draw_letters(inks: np.ndarray, rng) -> np.ndarray:
    """Random capital letters in a shaky hand, one (8, 8) image per wanted mean ink."""
    names = rng.choice(list(LETTERS), size=len(inks))
    return np.array(
        [ink_segments(_shaky(_segments(LETTERS[name]), rng), ink) for name, ink in zip(names, inks, strict=True)]
    )


def draw_scribbles(inks: np.ndarray, rng) -> np.ndarray:
    """Pen wanderings without meaning, one (8, 8) image per wanted mean ink."""
    return np.array([ink_segments(_segments([_wander(rng)]), ink) for ink in inks])


def ink_segments(segments: np.ndarray, ink: float) -> np.ndarray:
    """Draw segments with a pen just wide enough to cover a share `ink` of the page, as an (8, 8) image in [0, 1]."""
    across = (np.arange(32) + 0.5) / 32
    pixels = np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 1, 2)
    start, step = segments[:, 0], segments[:, 1] - segments[:, 0]
    # Nearest point of each segment: the projection of the pixel on its line, held between the two ends.
    along = ((pixels - start) * step).sum(axis=-1) / np.maximum((step**2).sum(axis=-1), 1e-12)
    nearest = start + np.clip(along, 0, 1)[..., None] * step
    distance = np.linalg.norm(pixels - nearest, axis=-1).min(axis=1)
    bitmap = distance <= np.quantile(distance, ink)
    return bitmap.reshape(8, 4, 8, 4).mean(axis=(1, 3))


def _segments(polylines: list) -> np.ndarray:
    return np.array([pair for line in polylines for pair in pairwise(line)], dtype=float)


def _shaky(segments: np.ndarray, rng) -> np.ndarray:
    """A glyph of the unit box, resized, slanted, placed and trembling, still on the page."""
    width, height, slant = rng.uniform(0.4, 0.65), rng.uniform(0.75, 0.9), rng.uniform(-0.15, 0.15)
    centred = (segments - 0.5 + rng.normal(scale=0.04, size=segments.shape)) * [width, height]
    centred[..., 0] += slant * centred[..., 1]
    return centred + 0.5 + rng.uniform(-0.04, 0.04, size=2)


def _wander(rng) -> np.ndarray:
    """Twelve points of a pen that turns at random and is reflected at the edges of the page."""
    angles = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(scale=1.0, size=12))
    path = rng.uniform(0.2, 0.8, size=2) + np.cumsum(0.25 * np.c_[np.cos(angles), np.sin(angles)], axis=0)
    return 1 - np.abs(1 - path % 2)
