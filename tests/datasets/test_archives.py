"""What is refused, and that a refusal leaves nothing behind."""

import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile

import pytest
from datasets.official_files import tar_bytes, zip_bytes

from selftaught.datasets import BadArchive
from selftaught.datasets.archives import open_archive, open_table, unpack

FILES = {"a/one.txt": b"one" * 1000, "a/b/two.bin": os.urandom(5000), "three": b""}
PACK = {
    "zip": zip_bytes,
    "tar": tar_bytes,
    "tar.gz": lambda files: tar_bytes(files, compress=gzip.compress),
    "tar.xz": lambda files: tar_bytes(files, compress=lzma.compress),
}


def names_below(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.fixture
def refused(tmp_path):
    """Asserts that an archive of the given bytes is refused by reading and by unpacking, and nothing is left."""

    def check(content, match):
        path = tmp_path / "archive"
        path.write_bytes(content)
        with pytest.raises(BadArchive, match=match) as caught:
            unpack(path, tmp_path / "out")
        assert str(path) in str(caught.value)
        assert "Nothing of it was kept" in str(caught.value)
        assert names_below(tmp_path) == ["archive"]
        with pytest.raises(BadArchive, match=match), open_archive(path) as members:
            for _, file in members:
                file.read()

    return check


@pytest.mark.parametrize("kind", PACK)
def test_good_archives_are_unpacked_whatever_their_suffix(tmp_path, kind):
    path = tmp_path / "archive.of_some_kind"
    path.write_bytes(PACK[kind](FILES))
    folder = unpack(path, tmp_path / "new" / "out")
    assert {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()} == FILES
    assert names_below(tmp_path / "new") == ["out", *sorted(f"out/{n}" for n in [*FILES, "a", "a/b"])]


@pytest.mark.parametrize("kind", PACK)
def test_every_truncation_is_refused(tmp_path, kind):
    whole = PACK[kind](FILES)
    path = tmp_path / "archive"
    # The last 1,024 bytes of these tar files are padding beyond the closing block: without it nothing is missing.
    closing = len(whole.rstrip(b"\0")) // 512 * 512 + 512 if kind == "tar" else len(whole)
    cuts = sorted({*range(0, closing, 512), *range(1, closing, 997), closing - 1})
    for cut in cuts:
        path.write_bytes(whole[:cut])
        with pytest.raises(BadArchive, match="damaged, cut short or no archive"):
            unpack(path, tmp_path / "out")
        assert names_below(tmp_path) == ["archive"], cut


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tar.xz"])
def test_changed_bytes_are_refused_or_harmless(tmp_path, kind, rng):
    """These formats carry checksums: a changed byte is either found, or lies in a field that changes no content."""
    files = {"a/one.txt": b"one" * 1000, "a/b/two.bin": b"\1\2\3" * 50, "three": b""}
    whole, contents, found = PACK[kind](files), sorted(filter(None, files.values())), 0
    path = tmp_path / "archive"
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= rng.choice([1, 0x80, 0xFF, int(whole[place]) or 1])
        path.write_bytes(changed)
        try:
            with open_archive(path) as members:
                read = [file.read() for _, file in members]
        except BadArchive:
            found += 1
        else:
            assert sorted(filter(None, read)) == contents, place
    assert found > len(whole) / 2


@pytest.mark.parametrize(("field", "match"), [("count", "table of contents is not complete"), ("name", "has content")])
def test_a_zip_that_hides_a_member_is_refused(refused, field, match):
    content = bytearray(zip_bytes({"one": b"1", "two": b"2"}))
    entry, closing = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    if field == "count":  # the second entry becomes the comment of the first
        content[entry + 32 : entry + 34] = (closing - content.rindex(b"PK\x01\x02")).to_bytes(2, "little")
    else:
        content[entry + 48] = ord("/")
    refused(bytes(content), match)


def test_a_tar_with_rubbish_for_a_header_is_refused(refused):
    whole = bytearray(tar_bytes(FILES))
    second = whole.index(b"a/b/two.bin")
    whole[second + 148 : second + 156] = b"rubbish!"  # the header's checksum
    refused(bytes(whole), "bad checksum|invalid header|damaged")


def test_a_tar_that_ends_where_a_header_should_be_is_refused(refused):
    whole = tar_bytes({"a": b"x" * 512, "b": b"y" * 512})
    refused(whole[:1024], "cut short")  # header and content of the first member, and then nothing


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../outside", "a/../../outside", "C:/outside", "..\\outside", "\\\\server\\outside", "C:x"]
)
@pytest.mark.parametrize("kind", PACK)
def test_names_that_leave_the_folder_are_refused(refused, kind, name):
    refused(PACK[kind]({"fine": b"1", name: b"2"}), "would be written outside")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_a_tar_are_refused(refused, kind):
    refused(tar_bytes({"fine": b"1"}, links=[("a", "/etc/passwd", kind)]), "is a link or a device")


def test_a_link_that_later_members_pass_through_is_refused(refused):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        link = tarfile.TarInfo("door")
        link.type, link.linkname = tarfile.SYMTYPE, "/tmp"
        archive.addfile(link)
        through = tarfile.TarInfo("door/outside")
        archive.addfile(through, io.BytesIO())
    refused(content.getvalue(), "is a link or a device")


def test_links_in_a_zip_are_refused(refused):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        link = zipfile.ZipInfo("door")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    refused(content.getvalue(), "'door' is a link")


def test_passwords_are_refused_before_anything_is_read(refused):
    content = bytearray(zip_bytes({"fine": b"1", "secret": b"2"}))
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.rindex(signature) + flags] |= 1
    refused(bytes(content), "protected by a password; unpack it yourself")


def test_an_unknown_compression_is_refused(refused):
    content = bytearray(zip_bytes({"odd": b"1"}))
    for signature, method in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        content[content.index(signature) + method] = 99
    refused(bytes(content), "compression method")


@pytest.mark.parametrize("names", [("a", "a"), ("a", "a/b"), ("a/b", "a")])
def test_two_members_in_one_place_are_refused(tmp_path, names):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    (tmp_path / "archive").write_bytes(content.getvalue())
    with pytest.raises(BadArchive, match="claim the place"):
        unpack(tmp_path / "archive", tmp_path / "out")
    assert names_below(tmp_path) == ["archive"]


@pytest.mark.parametrize("content", [b"", b"<html>404</html>", b"PK\x03\x04 no zip", b"\x1f\x8b no gzip", b"\0" * 600])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "archive").write_bytes(content)
    with pytest.raises(BadArchive):
        unpack(tmp_path / "archive", tmp_path / "out")
    assert names_below(tmp_path) == ["archive"]


def test_a_missing_archive_is_not_called_damaged(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        unpack(tmp_path / "nowhere.zip", tmp_path / "out")
    assert names_below(tmp_path) == []


def test_an_existing_folder_is_never_written_to(tmp_path):
    (tmp_path / "archive").write_bytes(zip_bytes(FILES))
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError, match="exists already; move it away"):
        unpack(tmp_path / "archive", tmp_path / "out")
    assert names_below(tmp_path) == ["archive", "out"]


def test_an_interrupted_unpacking_leaves_nothing(tmp_path):
    (tmp_path / "archive").write_bytes(zip_bytes(FILES))

    def interrupted(members):
        yield next(members)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unpack(tmp_path / "archive", tmp_path / "out", interrupted)
    assert names_below(tmp_path) == ["archive"]


def test_a_full_disk_is_not_called_damage(tmp_path, monkeypatch):
    (tmp_path / "archive").write_bytes(zip_bytes(FILES))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("selftaught.datasets.archives.shutil.copyfileobj", full)
    with pytest.raises(OSError, match="No space left") as caught:
        unpack(tmp_path / "archive", tmp_path / "out")
    assert not isinstance(caught.value, BadArchive)
    assert names_below(tmp_path) == ["archive"]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, lambda c: zip_bytes({"x": b"", "t.csv": c})])
def test_a_table_is_read_plain_or_compressed(tmp_path, compress):
    (tmp_path / "table").write_bytes(compress(b"a,b\n"))
    with open_table(tmp_path / "table", lambda name: name == "t.csv") as file:
        assert file.read() == b"a,b\n"


def test_a_zip_without_the_table_says_what_it_has(tmp_path):
    (tmp_path / "table.zip").write_bytes(zip_bytes({"x": b"", "y": b""}))
    with pytest.raises(ValueError, match="none of the files looked for, only x, y"):
        with open_table(tmp_path / "table.zip", lambda name: name == "t.csv"):
            pass
