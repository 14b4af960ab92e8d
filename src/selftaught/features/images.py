"""Image bytes and arrays as RGB pixels."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from .extractor import Unreadable
from .extras import import_extra

__all__ = ["decode_image"]


def decode_image(raw: bytes | np.ndarray) -> np.ndarray:
    """Return the image of a file's bytes, or an array, as RGB uint8 of shape (h, w, 3)."""
    if isinstance(raw, np.ndarray):
        if raw.dtype != np.uint8 or raw.ndim != 3 or raw.shape[2] != 3 or not raw.size:
            raise Unreadable(f"an image array must be uint8 of shape (h, w, 3), got {raw.dtype} {raw.shape}")
        return raw
    Image: Any = import_extra("PIL.Image", "images")
    try:
        return np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise Unreadable(f"no image, or damaged ({error})") from error
