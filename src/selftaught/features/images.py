"""From the bytes of an image file, or an array, to one form: RGB, uint8, shape (h, w, 3).

Whatever the file holds is shown as a viewer would show it on a white page: upright (EXIF), transparent parts white,
grey and CMYK as RGB, 16 bits as 8, the first frame of several. What cannot be shown is `Unreadable`, in plain words.
"""

from __future__ import annotations

import io
import threading
import warnings

import numpy as np

from .extractor import Unreadable

__all__ = ["MAX_PIXELS", "read_image"]

# 64 million pixels take 192 MB as RGB. Cameras seldom make more, and a file of a few kB can claim any number.
MAX_PIXELS = 64_000_000
# No other format is tried: some of those that Pillow knows start programs, such as an interpreter of PostScript.
FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP")
BEGINNINGS = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF8": "GIF",
    b"BM": "BMP",
    b"II*\x00": "TIFF",
    b"MM\x00*": "TIFF",
}


def read_image(content, *, at_least=None, max_pixels=MAX_PIXELS) -> np.ndarray:
    """Return an image as RGB.

    Parameters
    ----------
    content : bytes or ndarray
        What a JPEG, PNG, GIF, BMP, TIFF or WebP file holds; or an array of shape (h, w) or (h, w, 1 | 3 | 4), uint8 or
        float in [0, 1], the fourth channel being opacity.
    at_least : int, optional
        How many pixels the longer side has to have. A JPEG may then be read at a half, a quarter or an eighth of its
        size, which is fast and needs little memory; other formats are read whole.
    max_pixels : int, default 64 million
        Larger files are refused before they are decoded, since their pixels could fill the memory.

    Returns
    -------
    ndarray of uint8, shape (h, w, 3)

    Raises
    ------
    Unreadable
        With the reason in words.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.features import read_image
    >>> read_image(np.array([[0.0, 1.0]])).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """
    if isinstance(content, np.ndarray):
        return _from_array(content)
    with _pillow_keeps_quiet:
        return _from_bytes(content, at_least, max_pixels)


# Files


def _from_bytes(raw, at_least, max_pixels):
    with _opened(raw) as image:
        kind = image.format
        try:
            if at_least is not None:
                image.draft(None, scaled_size(image.size, min(1.0, at_least / max(image.size))))
            _check_size(image.size, max_pixels)
            image.load()
            return np.array(_as_rgb(_upright(image)))
        except Unreadable:
            raise
        except Exception as error:  # a damaged file ends in whatever the damaged place leads to
            raise Unreadable(f"a damaged or cut {kind} file ({_first_words(error)})") from error


def _opened(raw):
    """Return the image as Pillow opens it, of which only the beginning is read yet."""
    image_module = check_pillow()
    try:
        return image_module.open(io.BytesIO(raw), formats=FORMATS)
    except image_module.DecompressionBombError as error:
        raise Unreadable(f"more than twice the {image_module.MAX_IMAGE_PIXELS:,} pixels that Pillow allows") from error
    except Exception as error:  # damage again
        raise Unreadable(_why_unknown(raw)) from error


def scaled_size(size, scale) -> tuple[int, int]:
    """Return width and height times a factor, neither less than one pixel."""
    width, height = size
    return max(1, round(width * scale)), max(1, round(height * scale))


def _check_size(size, max_pixels):
    width, height = size
    if width * height > max_pixels:
        raise Unreadable(f"{width:,} x {height:,} pixels, and {max_pixels:,} are allowed in all")


def _why_unknown(raw):
    """Say what is wrong with a file that Pillow does not know."""
    if not raw:
        return "the file is empty"
    kind = next((kind for beginning, kind in BEGINNINGS.items() if raw.startswith(beginning)), None)
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        kind = "WEBP"
    if kind is not None:
        return f"a damaged or cut {kind} file (its beginning cannot be read)"
    return f"no image of a known format ({', '.join(FORMATS)})"


def _first_words(error):
    return (str(error).strip().partition("\n")[0] or type(error).__name__)[:80].rstrip(".")


def _upright(image):
    """Return the image as its EXIF orientation asks for; a damaged EXIF block asks for nothing."""
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damage again, but the pixels are there
        return image


def _as_rgb(image):
    """Return a Pillow image of any mode as one of mode RGB."""
    if image.mode.startswith("I") or image.mode == "F":
        return image_of_grey(np.asarray(image))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        page = check_pillow().new("RGBA", image.size, "white")
        page.alpha_composite(image)
        image = page
    return image.convert("RGB")


def image_of_grey(values):
    """Return greys of more than 8 bits as RGB: whole numbers up to 65535, or fractions up to 1."""
    top = 65535 if values.dtype.kind in "iu" else 1.0
    low, high = values.min(), values.max()
    if not (low >= 0 and high <= top):
        raise Unreadable(f"greys from {low:g} to {high:g}, where 0 to {top:g} was expected")
    return check_pillow().fromarray(_to_bytes(values / top)).convert("RGB")


# Arrays


def _from_array(array):
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or array.size == 0:
        raise Unreadable(f"an array of shape {array.shape}, where (h, w) or (h, w, 1, 3 or 4) is allowed")
    if array.dtype.kind == "f":
        low, high = array.min(), array.max()
        if not (low >= 0 and high <= 1):
            raise Unreadable(f"an array with values from {low:g} to {high:g}; floats have to lie in [0, 1]")
    elif array.dtype != np.uint8:
        raise Unreadable(f"an array of {array.dtype}, where uint8, or float in [0, 1], is allowed")
    if array.shape[2] == 4:
        scale = 1.0 if array.dtype.kind == "f" else 255.0
        colour, opacity = array[:, :, :3] / scale, array[:, :, 3:] / scale
        array = colour * opacity + (1 - opacity)
    if array.dtype.kind == "f":
        array = _to_bytes(array)
    return np.broadcast_to(array, (*array.shape[:2], 3)).copy()


def _to_bytes(shares):
    """Return numbers in [0, 1] as whole numbers from 0 to 255."""
    return np.rint(shares * 255).astype(np.uint8)


# Pillow


def check_pillow():
    """Return Pillow's module for images, or say how to get it."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("images need Pillow. Install it with: pip install 'selftaught[images]'") from error
    return Image


class _Quiet:
    """Hold back the warnings of Pillow inside a block, in however many threads at once.

    The filters of `warnings` belong to the whole process. So the first thread to enter sets one and the last to leave
    takes it away; were each to do so for itself, one could give back what another has set.
    """

    def __init__(self):
        self.lock, self.inside, self.filters = threading.Lock(), 0, None

    def __enter__(self):
        with self.lock:
            if not self.inside:
                self.filters = warnings.catch_warnings()
                self.filters.__enter__()
                warnings.filterwarnings("ignore", module=r"PIL\.")
            self.inside += 1

    def __exit__(self, *_):
        with self.lock:
            self.inside -= 1
            if not self.inside and self.filters is not None:
                self.filters.__exit__(None, None, None)


_pillow_keeps_quiet = _Quiet()
