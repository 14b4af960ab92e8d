"""Which files of a folder are items, and which sub-folders are classes."""

import os
import sys

import pytest

from selftaught.features import find_items


@pytest.fixture
def folder(tmp_path):
    """A folder to fill; ``fill("a/b.jpg", ...)``."""

    def fill(*names):
        for name in names:
            path = tmp_path / "photos" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x")
        return tmp_path / "photos"

    return fill


def inside(folder, found):
    return [path.relative_to(folder).as_posix() for path in found.paths]


def test_sub_folders_are_classes(folder):
    root = folder("b/2.jpg", "b/10.jpg", "a/deep/down/1.jpg", "a-b/1.PNG", "a/0")
    found = find_items(root)
    assert inside(root, found) == ["a/0", "a/deep/down/1.jpg", "a-b/1.PNG", "b/10.jpg", "b/2.jpg"]
    assert found.y is not None and found.y.tolist() == ["a", "a", "a-b", "b", "b"]
    assert [path.parent.parent for path in find_items(str(root)).paths][-1] == root


def test_a_file_at_the_top_level_has_no_class_and_so_has_none(folder):
    root = folder("b/2.jpg", "1.jpg")
    found = find_items(root)
    assert inside(root, found) == ["1.jpg", "b/2.jpg"] and found.y is None


def test_hidden_files_and_folders_are_passed_over(folder):
    root = folder("a/1.jpg", "a/.DS_Store", ".git/config", ".hidden")
    found = find_items(root)
    assert inside(root, found) == ["a/1.jpg"] and found.y is not None


def test_a_hidden_folder_can_be_named_itself(folder):
    root = folder(".thumbnails/1.jpg")
    assert len(find_items(root / ".thumbnails").paths) == 1


def test_an_empty_folder_and_none_are_refused(folder, tmp_path):
    (tmp_path / "empty" / "class").mkdir(parents=True)
    folder(".hidden")
    for name in ("empty", "photos"):
        with pytest.raises(ValueError, match=f"{name} holds no files, nor do its sub-folders"):
            find_items(tmp_path / name)
    for name in ("missing", "photos/.hidden"):
        with pytest.raises(ValueError, match=f"{name} is not a folder"):
            find_items(tmp_path / name)


@pytest.mark.skipif(sys.platform == "win32", reason="links need privileges")
class TestLinks:
    def test_they_are_followed(self, folder, tmp_path):
        root = folder("a/1.jpg")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "2.jpg").write_bytes(b"x")
        (root / "b").symlink_to(tmp_path / "elsewhere")
        (root / "a" / "3.jpg").symlink_to(root / "a" / "1.jpg")
        found = find_items(root)
        assert inside(root, found) == ["a/1.jpg", "a/3.jpg", "b/2.jpg"]
        assert found.y is not None and found.y.tolist() == ["a", "a", "b"]

    def test_two_classes_may_link_to_one_folder(self, folder):
        root = folder("a/1.jpg")
        (root / "b").symlink_to(root / "a")
        assert inside(root, find_items(root)) == ["a/1.jpg", "b/1.jpg"]

    def test_a_circle_ends(self, folder):
        root = folder("a/1.jpg")
        (root / "a" / "back").symlink_to(root)
        (root / "a" / "self").symlink_to(root / "a")
        assert inside(root, find_items(root)) == ["a/1.jpg"]

    def test_a_broken_link_is_an_item_that_cannot_be_read(self, folder):
        root = folder("a/1.jpg")
        (root / "a" / "2.jpg").symlink_to(root / "gone")
        assert inside(root, find_items(root)) == ["a/1.jpg", "a/2.jpg"]

    def test_a_pipe_is_no_item(self, folder):
        root = folder("a/1.jpg")
        os.mkfifo(root / "a" / "pipe")
        assert inside(root, find_items(root)) == ["a/1.jpg"]
