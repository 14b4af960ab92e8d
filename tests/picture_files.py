"""Small pictures, as arrays and as files of every kind."""

import io

import numpy as np
from PIL import Image


def picture(rng, height=30, width=40):
    """Soft blobs of colour, (height, width, 3) uint8: no two seeds alike, and JPEG changes little."""
    coarse = rng.integers(0, 256, (4, 5, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))


def encoded(image, kind="PNG", **options):
    """The bytes of a file of an array or a Pillow image."""
    image = image if isinstance(image, Image.Image) else Image.fromarray(image)
    image.save(file := io.BytesIO(), kind, **options)
    return file.getvalue()


def written(folder, images, names=None):
    """Write images as .png files; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    names = names or [f"{i}.png" for i in range(len(images))]
    paths = [folder / name for name in names]
    for path, image in zip(paths, images, strict=True):
        path.write_bytes(encoded(image))
    return paths
