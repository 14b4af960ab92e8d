"""Fetching from a server that breaks off, forgets, lies and vanishes; what is left on disk in each case."""

import os
import socket
import urllib.request

import pytest

from selftaught import _download
from selftaught._download import FetchError, RemoteFile, fetch_file

CONTENT = os.urandom(1_000_000)
HALF = len(CONTENT) // 2
OTHER = os.urandom(len(CONTENT))


@pytest.fixture
def remote(server, sha256):
    """A published file that the server has."""
    return RemoteFile(
        collection="things",
        name="things.zip",
        url=server.serve("things.zip", CONTENT),
        size=len(CONTENT),
        sha256=sha256(CONTENT),
        page="http://example.invalid/things",
    )


@pytest.fixture
def unpublished(remote):
    """The same file, of which nobody published a checksum."""
    return RemoteFile(**{**vars(remote), "size": None, "sha256": None})


def files_below(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def ranges(server):
    return [asked for _, asked, _ in server.asked]


def test_a_file_arrives_once_whole_and_verified(remote, server, tmp_path):
    path = fetch_file(remote, tmp_path)
    assert path == tmp_path / "things" / "things.zip"
    assert path.read_bytes() == CONTENT
    assert fetch_file(remote, tmp_path) == path
    assert len(server.asked) == 1
    assert files_below(tmp_path) == ["things.zip"]


def test_the_data_folder_is_named_by_the_environment(remote, tmp_path, monkeypatch):
    monkeypatch.setenv("SELFTAUGHT_DATA", str(tmp_path / "data"))
    assert fetch_file(remote) == tmp_path / "data" / "things" / "things.zip"
    monkeypatch.setenv("SELFTAUGHT_DATA", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert remote.place() == tmp_path / "selftaught_data" / "things" / "things.zip"


def test_a_mirror_is_asked_in_place_of_the_address(remote, server, tmp_path):
    fetch_file(remote, tmp_path, url=server.serve("mirror/same.zip", CONTENT))
    assert [path for path, _, _ in server.asked] == ["/mirror/same.zip"]


def test_redirections_are_followed(remote, server, tmp_path):
    address = server.serve("moved", b"", location=remote.url)
    assert fetch_file(remote, tmp_path, url=address).read_bytes() == CONTENT


# --- broken transfers ----------------------------------------------------------------------------------------------


def test_a_broken_transfer_goes_on_where_it_stopped(remote, server, tmp_path):
    server.serve("things.zip", CONTENT, cuts=[HALF, 1000])
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT
    assert ranges(server) == [None, f"bytes={HALF}-", f"bytes={HALF + 1000}-"]


def test_a_server_without_ranges_sends_everything_again(remote, server, tmp_path):
    server.serve("things.zip", CONTENT, cuts=[HALF], ranges=False)
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_what_was_received_is_kept_and_continued_by_the_next_call(remote, server, tmp_path):
    server.serve("things.zip", CONTENT, cuts=[HALF] + [0] * _download.ATTEMPTS)
    with pytest.raises(FetchError, match=f"broke off.* The {HALF:,} bytes received so far are kept"):
        fetch_file(remote, tmp_path)
    assert files_below(tmp_path) == ["things.zip.part"]
    server.asked.clear()
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT
    assert ranges(server) == [f"bytes={HALF}-"]
    assert files_below(tmp_path) == ["things.zip"]


def test_attempts_that_bring_something_are_not_counted_as_failures(remote, server, tmp_path):
    server.serve("things.zip", CONTENT, cuts=[50_000] * 3 * _download.ATTEMPTS)
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 3 * _download.ATTEMPTS + 1


def test_an_interrupted_transfer_is_continued(remote, server, tmp_path, monkeypatch):
    def interrupt_after_half(bar, received):
        if received >= HALF:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_download.TransferBar, "show", interrupt_after_half)
        with pytest.raises(KeyboardInterrupt):
            fetch_file(remote, tmp_path)
    assert files_below(tmp_path) == ["things.zip.part"]
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT
    start = int(ranges(server)[1].removeprefix("bytes=").removesuffix("-"))
    assert HALF <= start < len(CONTENT)


def test_a_stalled_server_is_given_up(remote, server, tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "TIMEOUT", 0.2)
    server.serve("things.zip", CONTENT, cuts=[HALF] + [0] * _download.ATTEMPTS, stall=30.0)
    with pytest.raises(FetchError, match="timed out"):
        fetch_file(remote, tmp_path)
    assert files_below(tmp_path) == ["things.zip.part"]


def test_a_whole_part_needs_no_server(remote, server, tmp_path):
    (tmp_path / "things").mkdir()
    (tmp_path / "things" / "things.zip.part").write_bytes(CONTENT)
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT
    assert server.asked == []


def test_a_part_that_is_too_long_is_dropped(remote, server, tmp_path):
    (tmp_path / "things").mkdir()
    (tmp_path / "things" / "things.zip.part").write_bytes(CONTENT + b"more")
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT
    assert ranges(server) == [f"bytes={len(CONTENT) + 4}-", None]


def test_a_part_of_another_file_is_found_out(remote, server, tmp_path):
    (tmp_path / "things").mkdir()
    (tmp_path / "things" / "things.zip.part").write_bytes(OTHER[:HALF])
    with pytest.raises(FetchError, match=r"What was received is not things\.zip"):
        fetch_file(remote, tmp_path)
    assert files_below(tmp_path) == []
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT


def test_a_server_that_sends_another_part_is_not_believed(remote, server, tmp_path):
    server.serve("things.zip", CONTENT, cuts=[HALF], shift=7)
    with pytest.raises(FetchError, match="another part of the file than was asked for"):
        fetch_file(remote, tmp_path)
    assert (tmp_path / "things" / "things.zip.part").read_bytes() == CONTENT[:HALF]


def test_an_answer_without_a_length_is_judged_by_its_checksum(remote, server, tmp_path):
    server.serve("things.zip", CONTENT, length=False)
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT


def test_an_answer_without_a_length_that_breaks_off_is_continued(remote, server, tmp_path):
    server.serve("things.zip", CONTENT, length=False, cuts=[HALF])
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT
    assert ranges(server) == [None, f"bytes={HALF}-"]


# --- no file -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [404, 403, 410])
def test_a_missing_file_is_asked_for_once_and_leaves_nothing(remote, server, tmp_path, status):
    server.serve("things.zip", CONTENT, statuses=[status] * 9)
    with pytest.raises(FetchError, match=f"the server answered {status}") as caught:
        fetch_file(remote, tmp_path)
    assert len(server.asked) == 1
    assert [*tmp_path.iterdir()] == []
    assert remote.url in str(caught.value)


def test_a_busy_server_is_asked_again(remote, server, tmp_path):
    server.serve("things.zip", CONTENT, statuses=[503, 429])
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 3


def test_without_a_network_the_error_says_what_to_place_where(remote, server, tmp_path, sha256):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(FetchError) as caught:
        fetch_file(remote, tmp_path, url=f"http://127.0.0.1:{port}/things.zip")
    place = str(tmp_path / "things" / "things.zip")
    for part in (f"127.0.0.1:{port}", "refused", place, "1,000,000 bytes", sha256(CONTENT), remote.page):
        assert part in str(caught.value)
    assert [*tmp_path.iterdir()] == []
    assert isinstance(caught.value, OSError)  # the command line turns it into an exit code


def test_a_file_placed_by_hand_is_verified_and_used(remote, server, tmp_path):
    (tmp_path / "things").mkdir()
    (tmp_path / "things" / "things.zip").write_bytes(CONTENT)
    assert fetch_file(remote, tmp_path).read_bytes() == CONTENT
    assert server.asked == []


def test_a_wrong_file_placed_by_hand_is_refused_and_left_alone(remote, server, tmp_path, sha256):
    (tmp_path / "things").mkdir()
    (tmp_path / "things" / "things.zip").write_bytes(b"wrong")
    with pytest.raises(FetchError, match=f"is not the expected file: it has 5 bytes, sha256 {sha256(b'wrong')}"):
        fetch_file(remote, tmp_path)
    assert (tmp_path / "things" / "things.zip").read_bytes() == b"wrong"
    assert server.asked == []


def test_a_file_that_no_program_can_fetch_says_so(remote, tmp_path):
    by_hand = RemoteFile(**{**vars(remote), "url": None, "size": None, "sha256": None})
    with pytest.raises(FetchError, match=r"cannot be fetched by a program.*size unknown, no sha256 published"):
        fetch_file(by_hand, tmp_path)


# --- wrong bytes ---------------------------------------------------------------------------------------------------


def test_wrong_bytes_are_deleted_and_described(remote, server, tmp_path, sha256):
    server.serve("things.zip", OTHER)
    with pytest.raises(FetchError, match=f"{sha256(OTHER)}, expected .*{sha256(CONTENT)}. It was deleted"):
        fetch_file(remote, tmp_path)
    assert files_below(tmp_path) == []


def test_a_file_of_another_size_is_refused_before_it_is_received(remote, server, tmp_path):
    server.serve("things.zip", b"<html>Log in to this network</html>")
    with pytest.raises(FetchError, match="offers 35 bytes, expected 1,000,000"):
        fetch_file(remote, tmp_path)
    assert files_below(tmp_path) == []


def test_the_callers_checksum_takes_the_place_of_the_tables(remote, server, tmp_path, sha256):
    server.serve("things.zip", OTHER + b"a later edition")
    path = fetch_file(remote, tmp_path, sha256=sha256(OTHER + b"a later edition").upper())
    assert path.read_bytes() == OTHER + b"a later edition"
    with pytest.raises(FetchError, match="is not the expected file"):
        fetch_file(remote, tmp_path)


@pytest.mark.parametrize("wrong", ["", "abc", "z" * 64, "0" * 63])
def test_a_checksum_must_look_like_one(remote, tmp_path, wrong):
    with pytest.raises(ValueError, match="sha256 must be 64 hexadecimal digits, got"):
        fetch_file(remote, tmp_path, sha256=wrong)


# --- no published checksum -----------------------------------------------------------------------------------------


def test_an_unpublished_checksum_has_to_be_confirmed(unpublished, server, tmp_path, sha256):
    digest = sha256(CONTENT)
    for _ in range(2):
        with pytest.raises(FetchError, match=f"Nobody publishes.*1,000,000 bytes.*call again with sha256='{digest}'"):
            fetch_file(unpublished, tmp_path)
        assert files_below(tmp_path) == ["things.zip.unconfirmed"]
    assert fetch_file(unpublished, tmp_path, sha256=digest).read_bytes() == CONTENT
    assert files_below(tmp_path) == ["things.zip"]
    assert len(server.asked) == 1, "received once, however often it is asked for"


def test_a_wrong_confirmation_is_refused(unpublished, tmp_path, sha256):
    with pytest.raises(FetchError):
        fetch_file(unpublished, tmp_path)
    with pytest.raises(FetchError, match=r"unconfirmed is not the expected file.*left as it is"):
        fetch_file(unpublished, tmp_path, sha256=sha256(OTHER))
    assert files_below(tmp_path) == ["things.zip.unconfirmed"]


def test_two_versions_are_never_joined_without_a_checksum(unpublished, server, tmp_path, sha256):
    """The file changes while it is received: the server's ETag says so, and the transfer begins again."""
    address = server.serve("things.zip", OTHER, cuts=[HALF], etag='"old"')
    old = server.pages["/things.zip"]

    class Swapped(list):
        def pop(self, i):
            server.serve("things.zip", CONTENT, etag='"new"')
            return HALF

    old.cuts = Swapped([HALF])
    with pytest.raises(FetchError, match=sha256(CONTENT)):
        fetch_file(unpublished, tmp_path, url=address)
    assert server.asked[1] == ("/things.zip", f"bytes={HALF}-", '"old"')


def test_without_a_version_an_unpublished_file_begins_again(unpublished, server, tmp_path, sha256):
    server.serve("things.zip", CONTENT, cuts=[HALF])
    with pytest.raises(FetchError, match=sha256(CONTENT)):
        fetch_file(unpublished, tmp_path)
    assert ranges(server) == [None, None]


def test_a_part_that_cannot_be_continued_is_not_kept(unpublished, server, tmp_path):
    server.serve("things.zip", CONTENT, cuts=[HALF] * 2 * _download.ATTEMPTS)
    with pytest.raises(FetchError, match="broke off"):
        fetch_file(unpublished, tmp_path)
    assert files_below(tmp_path) == []


def test_a_weak_version_vouches_for_nothing(unpublished, server, tmp_path, sha256):
    server.serve("things.zip", CONTENT, cuts=[HALF], etag='W/"about"')
    with pytest.raises(FetchError, match=sha256(CONTENT)):
        fetch_file(unpublished, tmp_path)
    assert ranges(server) == [None, None]


# --- manners ---------------------------------------------------------------------------------------------------------


def test_the_program_says_who_it_is(remote, tmp_path, monkeypatch):
    seen = []
    urlopen = urllib.request.urlopen
    monkeypatch.setattr(
        urllib.request, "urlopen", lambda r, **k: seen.append(r.get_header("User-agent")) or urlopen(r, **k)
    )
    fetch_file(remote, tmp_path)
    assert seen == ["selftaught"]
