"""Archives read with suspicion: whole, unencrypted, and with every name inside the place it is unpacked to.

Zip and tar files, the latter plain or compressed with gzip or xz, are read member by member without trusting their
suffix. A refused archive raises `BadArchive`; what had been unpacked by then is gone.

What Python's own readers let pass, and this module does not:

- a tar file that ends without its closing block of zeros, or has rubbish where a header should be, looks to `tarfile`
  like one that ends there. `_StrictHeader` makes it an error.
- a zip file whose table of contents lost an entry, or lists one as a folder, looks to `zipfile` like one without it.
  The closing record's count is compared, and folders have no content.
- in a gzip or xz file the checksum stands at the very end, after the last member. The stream is read to its end.
- links and device files are not data. Neither is followed, unpacked or ignored: the archive is refused.
"""

from __future__ import annotations

import errno
import gzip
import lzma
import os
import shutil
import stat
import struct
import tarfile
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import cast

Members = Iterator[tuple[str, BufferedIOBase]]

# What the readers raise on damage. Plain OSError is not among them: a full disk is not a damaged archive.
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError)
MAGIC = {b"PK\x03\x04": "zip", b"PK\x05\x06": "zip", b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz"}


class BadArchive(ValueError):
    """An archive that is damaged, cut short, encrypted, or would write outside the folder it is unpacked to."""


@contextmanager
def open_archive(path: str | os.PathLike) -> Iterator[Members]:
    """The regular files of an archive, in its order, as pairs of name and open file.

    Each file is to be read before the next one is asked for. Damage found while reading, also in the caller's own
    reading, comes out as `BadArchive`.
    """
    with refusing_damage(path), _opened(path) as file:
        yield _zip_members(file) if compression(path) == "zip" else tar_members(file)


@contextmanager
def open_table(path: str | os.PathLike, is_wanted: Callable[[str], bool]) -> Iterator[BufferedIOBase]:
    """One file as bytes: the path itself, plain or compressed, or the first wanted member of a zip archive."""
    if compression(path) != "zip":
        with refusing_damage(path), _opened(path) as file:
            yield file
        return
    with open_archive(path) as members:
        names = []
        for name, file in members:
            if is_wanted(name):
                yield file
                return
            names.append(name)
    raise ValueError(f"{path} holds none of the files looked for, only {', '.join(names[:5]) or 'nothing'}.")


@contextmanager
def refusing_damage(path: str | os.PathLike) -> Iterator[None]:
    """Turn what readers raise on damage into `BadArchive`, naming the file."""
    try:
        yield
    except BadArchive as error:
        raise BadArchive(f"{path}: {error} Nothing of it was kept.") from None
    except DAMAGE as error:
        raise BadArchive(
            f"{path} is damaged, cut short or no archive ({error or type(error).__name__}). Nothing of it was kept: "
            "delete it and fetch or copy it again."
        ) from error


def unpack(archive: str | os.PathLike, folder: str | os.PathLike, members: Callable[[Members], Members] = iter) -> Path:
    """Unpack an archive into a new folder, whole or not at all.

    Files are written to a hidden folder beside it, which gets its name when the last one is complete.

    Parameters
    ----------
    archive : path
    folder : path
        Must not exist yet.
    members : callable, optional
        From the archive's members to those wanted: picks, renames, opens archives inside the archive.

    Returns
    -------
    Path
        The folder.
    """
    folder = Path(folder)
    if folder.exists():
        raise FileExistsError(f"{folder} exists already; move it away or name another folder to unpack {archive} to.")
    unfinished = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.unfinished")
    unfinished.mkdir(parents=True)
    try:
        with open_archive(archive) as found:
            for name, file in members(found):
                _write(file, unfinished / check_name(name))
        if not any(unfinished.iterdir()):
            raise BadArchive(f"{archive} holds none of the files looked for. Nothing of it was kept.")
        unfinished.rename(folder)
    except BaseException:  # also Ctrl-C: half an archive must never look like a whole one
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return folder


def compression(path: str | os.PathLike) -> str:
    """The kind of file by its first bytes: "zip", "gzip", "xz" or "plain"."""
    with open(path, "rb") as file:
        start = file.read(6)
    return next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "plain")


def check_name(name: str) -> str:
    """Refuse a member that would be written outside the folder, on any operating system."""
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    leaves = posix.is_absolute() or windows.drive or windows.root or ".." in (*posix.parts, *windows.parts)
    if leaves or not name or "\0" in name:
        raise BadArchive(f"the member {name!r} would be written outside the folder it is unpacked to.")
    return name


def tar_members(stream: BufferedIOBase) -> Members:
    """The regular files of an uncompressed tar stream, which is read to its end."""
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_StrictHeader) as archive:
        while (member := archive.next()) is not None:
            # tarfile remembers every header, 100 MB for a hundred thousand files. (The stubs know nothing of the list.)
            archive.members.clear()  # pyright: ignore[reportAttributeAccessIssue]
            check_name(member.name)
            if member.isreg() and (file := archive.extractfile(member)) is not None:
                yield member.name, cast(BufferedIOBase, file)
            elif not member.isdir():
                raise BadArchive(f"the member {member.name!r} is a link or a device, not a file.")
    while stream.read(2**20):
        pass


class _StrictHeader(tarfile.TarInfo):
    @classmethod
    def fromtarfile(cls, tarfile_):
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # pyright: ignore[reportAttributeAccessIssue]  # closing block: the right end
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error} at byte {tarfile_.offset}") from None


def _zip_members(file: BufferedIOBase) -> Members:
    with _zip_oddities():
        archive = zipfile.ZipFile(file)
    with archive:
        members = archive.infolist()
        if _promised_members(file) not in (len(members), 0xFFFF):  # 0xFFFF: more than fit into the field
            raise zipfile.BadZipFile("its table of contents is not complete")
        for member in members:
            check_name(member.filename)
            if member.flag_bits & 0x1:
                raise BadArchive("it is protected by a password; unpack it yourself and give the folder.")
            if stat.S_ISLNK(member.external_attr >> 16):
                raise BadArchive(f"the member {member.filename!r} is a link, not a file.")
            if member.is_dir() and member.file_size:
                raise zipfile.BadZipFile(f"the folder {member.filename!r} has content")
        for member in members:
            if not member.is_dir():
                with _zip_oddities():
                    opened = archive.open(member)
                with opened:
                    yield member.filename, cast(BufferedIOBase, opened)


@contextmanager
def _zip_oddities() -> Iterator[None]:
    """Turn the further errors by which `zipfile` answers changed bytes into its own."""
    try:
        yield
    except (NotImplementedError, IndexError, UnicodeDecodeError, struct.error) as error:
        raise zipfile.BadZipFile(str(error)) from None
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise zipfile.BadZipFile("an offset in it points nowhere") from None


def _promised_members(file: BufferedIOBase) -> int:
    """How many members the closing record of a zip file counts; `zipfile` does not compare."""
    file.seek(max(file.seek(0, os.SEEK_END) - 2**16 - 22, 0))
    closing = file.read().rpartition(b"PK\x05\x06")[2]
    return int.from_bytes(closing[6:8], "little")


def _opened(path: str | os.PathLike) -> BufferedIOBase:
    """The file, decompressed if it is compressed as a whole."""
    kind = compression(path)
    return gzip.open(path) if kind == "gzip" else lzma.open(path) if kind == "xz" else open(path, "rb")


def _write(source: BufferedIOBase, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = open(path, "xb")
    except (FileExistsError, NotADirectoryError):
        raise BadArchive(f"two of its members claim the place {path.name!r}.") from None
    with copy:
        shutil.copyfileobj(source, copy, 2**20)
