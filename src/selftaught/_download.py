"""Fetch an official file: resumed where it broke off, verified before use, in its place only when whole.

    NAME.part          what has been received so far; the next call goes on from there
    NAME.unconfirmed   whole, but nobody publishes a checksum: waits for the caller's
    NAME               verified

A file with a known checksum is continued across calls, since the checksum would catch parts of two versions of it.
Without one it is continued only under the server's word that it is unchanged (`If-Range`), so within a call.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from ._transfer_bar import TransferBar

CHUNK, TIMEOUT = 2**18, 30.0
ATTEMPTS, PAUSE = 4, 1.0  # attempts in a row that bring nothing; seconds before the next, doubled each time
NETWORK_TROUBLE = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError)


@dataclass(frozen=True)
class RemoteFile:
    """A file of a collection, as published.

    Attributes
    ----------
    collection, name : str
        Folder and name under which it is kept.
    url : str or None
        Address; None where it can only be had by hand.
    size : int or None
        Bytes; None where unknown.
    sha256 : str or None
        Checksum; None where nobody publishes one.
    page : str
        Where a person finds the file.
    """

    collection: str
    name: str
    url: str | None
    size: int | None
    sha256: str | None
    page: str

    def place(self, folder: str | os.PathLike | None = None) -> Path:
        """Where the file is kept below a data folder (None: `data_folder()`)."""
        return (data_folder() if folder is None else Path(folder)) / self.collection / self.name


def data_folder() -> Path:
    """The folder that holds fetched files: `$SELFTAUGHT_DATA`, or else `~/selftaught_data`."""
    return Path(os.environ.get("SELFTAUGHT_DATA") or "~/selftaught_data").expanduser().absolute()


class FetchError(OSError):
    """A file could not be fetched, or what was fetched is not the file; the message says what to do by hand."""


def fetch_file(
    remote: RemoteFile,
    folder: str | os.PathLike | None = None,
    *,
    url: str | None = None,
    sha256: str | None = None,
) -> Path:
    """Fetch a file unless it is there, and verify it either way.

    Parameters
    ----------
    remote : RemoteFile
        What is wanted.
    folder : path, optional
        Data folder; `$SELFTAUGHT_DATA` or `~/selftaught_data` by default. The file is kept in a folder of its own
        collection.
    url : str, optional
        Another address of the same file, a mirror for instance.
    sha256 : str, optional
        The checksum to expect in place of the published one: your confirmation where there is none.

    Returns
    -------
    Path
        The verified file.

    Raises
    ------
    FetchError
        No network, no such file, wrong bytes, or a checksum that waits for your confirmation.
    """
    size, expected = _expectation(remote, sha256)
    path = remote.place(folder)
    part, unconfirmed = (path.with_name(path.name + suffix) for suffix in (".part", ".unconfirmed"))
    if not path.exists() and not unconfirmed.exists():
        if expected is None:
            part.unlink(missing_ok=True)
        _download(remote, path, part, url or remote.url, size, expected)
        if expected is not None:
            _check_received(part, size, expected)
            os.replace(part, path)
            return path
        os.replace(part, unconfirmed)
    found = path if path.exists() else unconfirmed
    _check_found(found, size, expected)
    if found != path:
        os.replace(found, path)
    return path


def _expectation(remote: RemoteFile, sha256: str | None) -> tuple[int | None, str | None]:
    """Size and checksum to expect; the caller's checksum may be that of another edition, of another size."""
    if sha256 is None:
        return remote.size, remote.sha256
    if not re.fullmatch("[0-9a-f]{64}", digest := sha256.strip().lower()):
        raise ValueError(f"sha256 must be 64 hexadecimal digits, got {sha256!r}.")
    return (remote.size if digest == remote.sha256 else None), digest


def _check_received(part: Path, size: int | None, expected: str) -> None:
    """Delete what was received when it is not the file."""
    n_bytes, actual = part.stat().st_size, _sha256(part)
    if actual != expected:
        part.unlink()
        raise FetchError(
            f"What was received is not {part.name.removesuffix('.part')}: {_described(n_bytes, actual)}, expected "
            f"{_described(size, expected)}. It was deleted. Call again; if this repeats, the file at the address has "
            "changed, or something between you and it answers in its place."
        )


def _check_found(path: Path, size: int | None, expected: str | None) -> None:
    """Verify a file that is there; it may have been put there by hand, so it is never deleted."""
    n_bytes, actual = path.stat().st_size, _sha256(path)
    if expected is None:
        raise FetchError(
            f"Nobody publishes a checksum of this file, so it waits for your confirmation: {path} has "
            f"{_described(n_bytes, actual)}. If you trust it, call again with sha256={actual!r}; if not, delete it."
        )
    if actual != expected:
        raise FetchError(
            f"{path} is not the expected file: it has {_described(n_bytes, actual)}, expected "
            f"{_described(size, expected)}. It was left as it is. Delete it to fetch it again; if it is the file you "
            f"want, pass sha256={actual!r}."
        )


def _download(remote: RemoteFile, path: Path, part: Path, url: str | None, size: int | None, expected: str | None):
    """Receive the file as `part`, or say why not and what to do."""
    by_hand = (
        f"To do without the network, get the file from {remote.page} and place it as {path} "
        f"({_described(size, expected)}), then call this again."
    )
    if url is None:
        raise FetchError(f"{remote.name} cannot be fetched by a program. {by_hand}")
    transfer = _Transfer(url, part, size, has_checksum=expected is not None)
    with TransferBar(remote.name) as bar:
        reason = _persist(transfer, bar)
    if transfer.is_whole:
        return
    kept = f" The {transfer.received:,} bytes received so far are kept, and continued then."
    if expected is None:
        part.unlink(missing_ok=True)
    raise FetchError(
        f"Could not fetch {remote.name} from {url}: {reason}. {by_hand}{kept if transfer.received else ''}"
    )


def _persist(transfer: _Transfer, bar: TransferBar) -> str:
    """Try until the file is whole or several attempts in a row brought nothing; what went wrong last."""
    reason, failures = "", 0
    while not transfer.is_whole and failures < ATTEMPTS:
        if failures:
            time.sleep(PAUSE * 2 ** (failures - 1))
        before = transfer.received
        try:
            transfer.attempt(bar)
            reason = "the connection broke off"
        except urllib.error.HTTPError as error:
            error.close()
            reason = f"the server answered {error.code} {error.reason}"
            if error.code == 416:  # it has nothing beyond what is here: that is of another version
                transfer.part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in (408, 429):
                break
        except NETWORK_TROUBLE as error:
            reason = str(getattr(error, "reason", "") or error or type(error).__name__)
        failures = 0 if transfer.received > before else failures + 1
    return reason


class _Transfer:
    """One file on its way: knows what it has, asks for the rest."""

    def __init__(self, url: str, part: Path, size: int | None, *, has_checksum: bool):
        self.url, self.part, self.size, self.has_checksum = url, part, size, has_checksum
        self.version = None  # what the server calls this version of the file, once it has said
        self.is_whole = size is not None and self.received == size

    @property
    def received(self) -> int:
        """Bytes on disk."""
        return self.part.stat().st_size if self.part.exists() else 0

    def attempt(self, bar: TransferBar) -> None:
        """Ask for what is missing and write what comes; raises what the network raises."""
        start = self.received if self.version or self.has_checksum else 0
        headers = {"User-Agent": "selftaught"}
        if start:
            headers["Range"] = f"bytes={start}-"
        if start and self.version:
            headers["If-Range"] = self.version
        request = urllib.request.Request(self.url, headers=headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            start, total = _extent(response, start)
            if self.size is not None and total not in (None, self.size):
                self.part.unlink(missing_ok=True)
                raise FetchError(
                    f"{self.url} offers {total:,} bytes, expected {self.size:,}: this is another file. Nothing of it "
                    "was kept. If the authors replaced it, pass the new file's sha256=."
                )
            self.version = _strong_version(response.headers)
            self.part.parent.mkdir(parents=True, exist_ok=True)
            with open(self.part, "ab" if start else "wb") as file:
                bar.total, received = total or self.size, start
                while chunk := response.read(CHUNK):
                    file.write(chunk)
                    bar.show(received := received + len(chunk))
        # Without a word on its length, a file ends where the connection does; the checksum then has to tell.
        self.is_whole = received == total if total is not None else received == (self.size or received)


def _extent(response, start: int) -> tuple[int, int | None]:
    """Where the answer begins in the file, and how long the file is, if the server says."""
    if response.status != 206:  # the whole file, whatever was asked
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdecimal() else None
    told = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
    if told is None or int(told[1]) != start:
        raise http.client.HTTPException("the server sent another part of the file than was asked for")
    return start, int(told[2]) if told[2] != "*" else None


def _strong_version(headers) -> str | None:
    """The ETag if it vouches for every byte, else the date of change."""
    tag = headers.get("ETag", "")
    return tag if tag.startswith('"') else headers.get("Last-Modified")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _described(size: int | None, sha256: str | None) -> str:
    n_bytes = "size unknown" if size is None else f"{size:,} bytes"
    return f"{n_bytes}, {'no sha256 published' if sha256 is None else f'sha256 {sha256}'}"
