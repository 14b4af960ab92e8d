"""Images in a folder, with their classes where its sub-folders are classes.

FOLDER/CLASS/.../photo.jpg      y is CLASS
FOLDER/photo.jpg                y is None
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["FolderItems", "find_items", "first_level"]


@dataclass(frozen=True, eq=False)
class FolderItems:
    """What lies in a folder.

    ``paths`` (n,) Path objects, sorted; ``y`` (n,) the name of the first sub-folder of each, or None where files lie
    directly in the folder.
    """

    paths: tuple[Path, ...]
    y: np.ndarray | None


def find_items(folder) -> FolderItems:
    """Find all files in a folder and below.

    Every file counts, whatever its name ends in: whether it is an image shows when it is read. Names that begin with a
    dot are passed over, files and folders alike. Links are followed, but not back to a folder that they came from.

    Parameters
    ----------
    folder : str or Path
        Whose sub-folders are classes, if it has any and no files beside them.

    Returns
    -------
    FolderItems

    Examples
    --------
    >>> from pathlib import Path
    >>> from selftaught.features import find_items
    >>> for name in ("anchor/1.jpg", "anchor/more/2.jpg", "barrel/1.jpg"):
    ...     image = Path("photos") / name
    ...     image.parent.mkdir(parents=True, exist_ok=True)
    ...     _ = image.write_bytes(b"stands for a JPEG file")
    >>> found = find_items("photos")
    >>> [path.as_posix() for path in found.paths], found.y.tolist()
    (['photos/anchor/1.jpg', 'photos/anchor/more/2.jpg', 'photos/barrel/1.jpg'], ['anchor', 'anchor', 'barrel'])
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder. Name one that holds the files.")
    paths = sorted(_files_below(folder), key=lambda path: path.relative_to(folder).parts)
    if not paths:
        raise ValueError(f"{folder} holds no files, nor do its sub-folders (hidden ones are passed over).")
    return FolderItems(tuple(paths), first_level(folder, paths))


def first_level(folder, paths) -> np.ndarray | None:
    """Return the name of the first sub-folder of each path in a folder, or None where one lies directly in it."""
    parts = [Path(path).relative_to(folder).parts for path in paths]
    return None if any(len(inside) == 1 for inside in parts) else np.array([inside[0] for inside in parts])


def _files_below(folder, above=frozenset()):
    """Yield every file that is not hidden; ``above`` are the folders that led here, to none of which a link returns.

    A link that leads nowhere is a file too, one that cannot be read. Pipes and devices are none: reading might not end.
    """
    state = os.stat(folder)
    here = (state.st_dev, state.st_ino)
    if here in above:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from _files_below(entry.path, above | {here})
            elif entry.is_file() or entry.is_symlink():
                yield Path(entry.path)
