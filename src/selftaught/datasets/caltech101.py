"""Caltech-101: 9,144 images of 101 kinds of objects and of background, each class a folder.

    101_ObjectCategories/CLASS/image_0001.jpg

The authors ship `caltech-101.zip`, which holds `101_ObjectCategories.tar.gz` among other things; earlier they shipped
the latter alone. Images are read from a folder, so archives are unpacked first.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from .._download import fetch_file
from .archives import Members, tar_members, unpack
from .labelled import LabelledItems, labelled_items
from .remote import CALTECH101

IMAGES = "101_ObjectCategories"
IMAGE_NAME = re.compile(r"image_\d+\.jpe?g", re.IGNORECASE)
ARCHIVES = ("caltech-101.zip", f"{IMAGES}.tar.gz", f"{IMAGES}.tar")


def load_caltech101(path: str | os.PathLike, *, folder: str | os.PathLike | None = None) -> LabelledItems:
    """Find the images of Caltech-101, with their classes.

    Parameters
    ----------
    path : path
        The archive as its authors ship it (`caltech-101.zip`, or the older `101_ObjectCategories.tar.gz`), any zip or
        tar file that holds `101_ObjectCategories/CLASS/image_*.jpg`, or a folder with these: `101_ObjectCategories`
        itself, one that holds it, or one that holds the archive.
    folder : path, optional
        Where an archive is unpacked to, whole or not at all; by default beside it, under its name without suffix. A
        folder that is there already is used as it is, and refused if it was unpacked from another archive.

    Returns
    -------
    LabelledItems
        `items` are paths as strings, sorted by class and file name; all folders are classes, `BACKGROUND_Google` and
        `Faces_easy` among them (`caltech101_splits` leaves these out). Files with other names than `image_*.jpg` are
        not part of the dataset.

    Raises
    ------
    BadArchive
        The archive is damaged, cut short, encrypted, or would write outside the folder. Nothing is left behind.

    Examples
    --------
    >>> from pathlib import Path
    >>> from selftaught.datasets import load_caltech101
    >>> for name in ("anchor/image_0001.jpg", "anchor/image_0002.jpg", "barrel/image_0001.jpg"):
    ...     image = Path("101_ObjectCategories") / name
    ...     image.parent.mkdir(parents=True, exist_ok=True)
    ...     _ = image.write_bytes(b"stands for a JPEG file")
    >>> images = load_caltech101("101_ObjectCategories")
    >>> images
    LabelledItems('Caltech-101': 3 items of 2 classes, 1 to 2 each)
    >>> images.labels
    array(['anchor', 'anchor', 'barrel'], dtype='<U6')
    """
    path = Path(path)
    if path.is_dir():
        archive = next((path / name for name in ARCHIVES if (path / name).is_file()), None)
        found = _image_folder(path)
        if found is None and archive is not None:
            found = _image_folder(_unpacked(archive, folder))
    else:
        found = _image_folder(_unpacked(path, folder))
    images = [] if found is None else sorted(_images(found))
    if not images:
        raise ValueError(
            f"{path} holds no images of Caltech-101. Expected {IMAGES}/CLASS/image_0001.jpg and so on, or one of "
            f"{', '.join(ARCHIVES)}."
        )
    labels = [class_name for class_name, _, _ in images]
    return labelled_items("Caltech-101", np.array([image for _, _, image in images]), labels)


def fetch_caltech101(
    folder: str | os.PathLike | None = None, *, url: str | None = None, sha256: str | None = None
) -> LabelledItems:
    """Fetch Caltech-101 (137 MB) unless it is there, verify and unpack it, and load it.

    Parameters
    ----------
    folder : path, optional
        Data folder; `$SELFTAUGHT_DATA` or `~/selftaught_data` by default.
    url : str, optional
        A mirror of `caltech-101.zip`.
    sha256 : str, optional
        Checksum to expect in place of the published one.

    Returns
    -------
    LabelledItems
        As `load_caltech101` returns it.
    """
    return load_caltech101(fetch_file(CALTECH101, folder, url=url, sha256=sha256))


def _unpacked(archive: Path, folder: str | os.PathLike | None) -> Path:
    """The folder with the archive's images, unpacked now or earlier."""
    stem = re.sub(r"(\.tar)?\.\w+$", "", archive.name)
    beside = archive.with_name(stem if stem != archive.name else f"{stem}.unpacked")
    target = beside if folder is None else Path(folder)
    state = archive.stat()
    stamp = f".unpacked-from-{state.st_size}-{state.st_mtime_ns}"
    if not target.exists():
        unpack(archive, target, _wanted)
        (target / stamp).touch()
    earlier = [file.name for file in target.glob(".unpacked-from-*")]
    if earlier and stamp not in earlier:
        raise ValueError(
            f"{target} was unpacked from another archive than {archive}. Delete it to unpack again, or name another "
            "folder=."
        )
    return target


def _wanted(members: Members) -> Members:
    """The images among an archive's members, those of a tar file inside it included."""
    for name, file in members:
        place = PurePosixPath(name)
        if place.name == f"{IMAGES}.tar.gz" and "__MACOSX" not in place.parts:
            yield from _wanted(tar_members(gzip.GzipFile(fileobj=file)))
        elif place.parts[-3:-2] == (IMAGES,) and IMAGE_NAME.fullmatch(place.name):
            yield str(PurePosixPath(IMAGES, *place.parts[-2:])), file


def _image_folder(folder: Path) -> Path | None:
    """`101_ObjectCategories` in the folder or one level below, or the folder itself if it holds classes."""
    below = [folder / IMAGES, *sorted(folder.glob(f"*/{IMAGES}"))]
    return next((candidate for candidate in (*below, folder) if any(_images(candidate))), None)


def _images(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Class, file name and path of every image in the folders of a folder."""
    for class_folder in folder.iterdir() if folder.is_dir() else ():
        if class_folder.is_dir():
            for file in class_folder.iterdir():
                if IMAGE_NAME.fullmatch(file.name):
                    yield class_folder.name, file.name, str(file)
