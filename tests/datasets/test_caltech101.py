"""Caltech-101 from the archive as shipped, from its parts, from folders, and from a server."""

import gzip
import os

import numpy as np
import pytest
from datasets.official_files import JPEG, caltech_images, caltech_zip, tar_bytes, write_files, zip_bytes

from selftaught.datasets import BadArchive, FetchError, fetch_caltech101, load_caltech101

CLASSES = ("BACKGROUND_Google", "Faces", "Faces_easy", "anchor")
ARCHIVES = {
    "caltech-101.zip": caltech_zip,
    "101_ObjectCategories.tar.gz": lambda: tar_bytes(caltech_images(), compress=gzip.compress),
    "images_30.tar": lambda: tar_bytes(caltech_images()),
    "archive.zip": lambda: zip_bytes({f"some/{name}": content for name, content in caltech_images().items()}),
}


def check(images, below):
    assert images.class_names == CLASSES
    assert images.y.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [os.path.basename(path) for path in images.items] == ["image_0001.jpg", "image_0002.jpg"] * 4
    for path, label in zip(images.items, images.labels, strict=True):
        assert str(path).startswith(str(below)) and f"{os.sep}{label}{os.sep}" in path
        with open(path, "rb") as file:
            assert file.read() == JPEG


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_are_unpacked_beside_themselves(tmp_path, name):
    archive = tmp_path / name
    archive.write_bytes(ARCHIVES[name]())
    folder = tmp_path / name.split(".")[0]
    check(load_caltech101(archive), below=folder)
    assert {path.name for path in tmp_path.iterdir()} == {name, folder.name}
    files = [path.name for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert {*files} == {"image_0001.jpg", "image_0002.jpg"} and len(files) == 8


@pytest.mark.parametrize("name", ARCHIVES)
def test_unpacking_goes_where_it_is_told(tmp_path, name):
    (tmp_path / name).write_bytes(ARCHIVES[name]())
    check(load_caltech101(tmp_path / name, folder=tmp_path / "there"), below=tmp_path / "there")
    assert {path.name for path in tmp_path.iterdir()} == {name, "there"}


def test_folders_are_read_as_they_are(tmp_path):
    write_files(tmp_path / "caltech-101", caltech_images())
    for folder in (tmp_path, tmp_path / "caltech-101", tmp_path / "caltech-101" / "101_ObjectCategories"):
        check(load_caltech101(folder), below=folder)


def test_a_folder_with_the_archive_will_do(tmp_path):
    (tmp_path / "caltech-101.zip").write_bytes(caltech_zip())
    check(load_caltech101(tmp_path), below=tmp_path)


def test_an_archive_is_unpacked_once(tmp_path):
    archive = tmp_path / "caltech-101.zip"
    archive.write_bytes(caltech_zip())
    first = load_caltech101(archive).items
    os.utime(first[0], (1, 1))
    again = load_caltech101(archive).items
    assert np.array_equal(first, again) and os.stat(again[0]).st_mtime == 1


def test_images_of_another_archive_are_not_taken_for_this_ones(tmp_path):
    archive = tmp_path / "caltech-101.zip"
    archive.write_bytes(caltech_zip())
    load_caltech101(archive)
    archive.write_bytes(zip_bytes(caltech_images(("lotus",))))
    with pytest.raises(ValueError, match=r"unpacked from another archive.*Delete it"):
        load_caltech101(archive)


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_damaged_archives_leave_nothing_behind(tmp_path, name, share):
    content = ARCHIVES[name]()
    (tmp_path / name).write_bytes(content.rstrip(b"\0")[: int(share * len(content.rstrip(b"\0")))])
    with pytest.raises(BadArchive, match="damaged"):
        load_caltech101(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_archive_inside_the_archive_is_not_trusted_either(tmp_path):
    inside = tar_bytes({**caltech_images(), "..\\outside.jpg": JPEG}, compress=gzip.compress)
    (tmp_path / "caltech-101.zip").write_bytes(zip_bytes({"caltech-101/101_ObjectCategories.tar.gz": inside}))
    with pytest.raises(BadArchive, match=r"outside.jpg' would be written outside"):
        load_caltech101(tmp_path / "caltech-101.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["caltech-101.zip"]


def test_an_archive_of_something_else_leaves_nothing_behind(tmp_path):
    (tmp_path / "caltech-101.zip").write_bytes(zip_bytes({"letter.txt": b"Dear all"}))
    with pytest.raises(BadArchive, match="none of the files looked for"):
        load_caltech101(tmp_path / "caltech-101.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["caltech-101.zip"]


def test_a_folder_without_images_says_what_was_expected(tmp_path):
    write_files(tmp_path, {"101_ObjectCategories/anchor/notes.txt": b""})
    with pytest.raises(ValueError, match=r"holds no images of Caltech-101. Expected .*image_0001.jpg"):
        load_caltech101(tmp_path)


def test_it_is_fetched_from_a_server_that_breaks_off(server, tmp_path, sha256):
    content = caltech_zip()
    address = server.serve("caltech-101.zip", content, cuts=[len(content) // 2])
    check(fetch_caltech101(tmp_path, url=address, sha256=sha256(content)), below=tmp_path / "caltech101")
    assert len(server.asked) == 2
    check(fetch_caltech101(tmp_path, url=address, sha256=sha256(content)), below=tmp_path / "caltech101")
    assert len(server.asked) == 2


def test_wrong_bytes_are_never_unpacked(server, tmp_path):
    with pytest.raises(FetchError, match="expected 137,414,764"):
        fetch_caltech101(tmp_path, url=server.serve("caltech-101.zip", caltech_zip()))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_real_images_are_in_the_order_of_their_table(shared_data, tmp_path):
    images = load_caltech101(shared_data / "caltech101" / "images_30.tar", folder=tmp_path / "images")
    table = np.loadtxt(shared_data / "caltech101" / "images_30.csv", delimiter=",", skiprows=1, dtype=str)
    assert len(images.class_names) == 100 and np.bincount(images.y).tolist() == [30] * 100
    shown = [path.removeprefix(f"{tmp_path / 'images'}{os.sep}") for path in images.items.tolist()]
    assert shown == table[:, 0].tolist() and images.labels.tolist() == table[:, 1].tolist()
