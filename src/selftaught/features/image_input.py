"""What a network is shown of an image: its size, which part, and the scale of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from .extras import import_extra
from .images import read_image

__all__ = ["CLIP", "IMAGENET", "PLUS_MINUS_ONE", "ImageInput"]

CHOICES = dict(interpolation=("bilinear", "bicubic"), channels=("RGB", "BGR"), layout=("NCHW", "NHWC"))


@dataclass(frozen=True)
class ImageInput:
    """How an image becomes the input of a network.

    Scaled so that its shorter side has ``resize`` pixels, cut to the square of ``size`` pixels in its middle, divided
    by 255, and ``(value - mean) / std`` for each channel. The default is that of the classifiers trained on ImageNet,
    as torchvision publishes them.

    Attributes
    ----------
    size : int, default 224
        Pixels on each side of what the network sees.
    resize : int or None, default 256
        Pixels of the shorter side before the middle is cut out; None shows the whole image, stretched to a square.
    interpolation : {"bilinear", "bicubic"}, default "bilinear"
        Both average over the pixels that fall together.
    mean, std : sequence of 3 numbers
        Red, green and blue, on the scale of 0 to 1.
    channels : {"RGB", "BGR"}, default "RGB"
        The order in which the network has the colours; ``mean`` and ``std`` stay red, green, blue.
    layout : {"NCHW", "NHWC"}, default "NCHW"
        Whether the channels come before rows and columns, as in PyTorch, or after them, as in TensorFlow.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.features import ImageInput
    >>> ImageInput(size=32, resize=None).prepare(np.zeros((40, 60, 3), np.uint8)).shape
    (3, 32, 32)
    """

    size: int = 224
    resize: int | None = 256
    interpolation: str = "bilinear"
    mean: Sequence[float] = (0.485, 0.456, 0.406)
    std: Sequence[float] = (0.229, 0.224, 0.225)
    channels: str = "RGB"
    layout: str = "NCHW"

    items_are = "images"

    def __post_init__(self):
        if not _is_count(self.size):
            raise ValueError(f"size must be a whole number of pixels, at least 1, got {self.size!r}.")
        if self.resize is not None and (not _is_count(self.resize) or self.resize < self.size):
            raise ValueError(
                f"resize must be a whole number of at least size={self.size}, or None to show the whole image, got "
                f"{self.resize!r}."
            )
        for name, options in CHOICES.items():
            if getattr(self, name) not in options:
                raise ValueError(f"{name} must be {' or '.join(map(repr, options))}, got {getattr(self, name)!r}.")
        for name in ("mean", "std"):
            values = getattr(self, name)
            numbers = not isinstance(values, str) and np.ndim(values) == 1 and len(values) == 3
            if not numbers or not all(isinstance(v, Real) and isfinite(v) for v in values):
                raise ValueError(f"{name} must be 3 numbers, for red, green and blue, got {values!r}.")
            object.__setattr__(self, name, tuple(float(value) for value in values))
        if min(self.std) <= 0:
            raise ValueError(f"std must be above 0, got {self.std!r}.")

    def open(self):
        """Return what reads items: this itself."""
        return self

    def recipe(self):
        """Return all that decides what the network sees, as plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def decode(self, raw):
        """Return the network's input of one image, of its bytes or array."""
        return self.prepare(read_image(raw))

    def prepare(self, image: np.ndarray) -> np.ndarray:
        """Return the network's input of an RGB image (h, w, 3) uint8: float32, (3, size, size) or (size, size, 3)."""
        shown = self._cut(image).transpose(2, 0, 1)
        scale = 1 / (255 * np.array(self.std))
        values = np.multiply(shown, scale[:, None, None], dtype=np.float32)
        values -= (np.array(self.mean) / np.array(self.std)).astype(np.float32)[:, None, None]
        if self.channels == "BGR":
            values = values[::-1]
        return np.ascontiguousarray(values if self.layout == "NCHW" else values.transpose(1, 2, 0))

    def blank(self):
        """Return an image to try a network on."""
        return self.prepare(np.zeros((self.size, self.size, 3), np.uint8))

    def pieces(self, contents, at_most):
        """Yield positions that go through the network together."""
        for start in range(0, len(contents), at_most):
            yield range(start, min(start + at_most, len(contents)))

    def batch(self, contents):
        """Return the network's input for some images, and None: there is no padding to leave out."""
        return np.stack(contents), None

    def _cut(self, image):
        """Return the square of the image that the network sees."""
        Image: Any = import_extra("PIL.Image", "images")
        height, width = image.shape[:2]
        if self.resize is None:
            new_width = new_height = self.size
        else:
            shorter = min(height, width)
            new_width, new_height = (self.resize * side // shorter for side in (width, height))
        if (new_height, new_width) != (height, width):
            method = Image.Resampling.BILINEAR if self.interpolation == "bilinear" else Image.Resampling.BICUBIC
            image = np.asarray(Image.fromarray(image).resize((new_width, new_height), method))
        # Half pixels are rounded to even numbers, as in torchvision.
        top, left = round((new_height - self.size) / 2), round((new_width - self.size) / 2)
        return image[top : top + self.size, left : left + self.size]


def _is_count(value):
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


IMAGENET = ImageInput()
CLIP = ImageInput(
    resize=224,
    interpolation="bicubic",
    mean=(0.48145466, 0.4578275, 0.40821073),
    std=(0.26862954, 0.26130258, 0.27577711),
)
PLUS_MINUS_ONE = ImageInput(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
