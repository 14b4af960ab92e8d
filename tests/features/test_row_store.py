"""Rows on disk: found again by content and recipe, whole after any death, and never mistaken for others."""

import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from selftaught.features.row_store import RowStore, digest


def test_rows_are_found_by_their_keys(tmp_path, rng):
    store = RowStore(tmp_path, "A", 1)
    rows = {b"one": rng.random(3, dtype=np.float32), b"two": rng.random(5, dtype=np.float32)}
    store.add(rows)
    found = store.find([b"two", b"three", b"one"])
    assert found.keys() == rows.keys()
    for key, row in rows.items():
        assert_array_equal(found[key], row)
        assert found[key].dtype == np.float32


def test_rows_of_another_type_come_back_as_they_were(tmp_path):
    row = np.array([0.5, np.nan, 2.0], np.float16)
    RowStore(tmp_path, "A", 1, "<f2").add({b"one": row})
    assert_array_equal(RowStore(tmp_path, "A", 1, "<f2").find([b"one"])[b"one"], row)


def test_another_recipe_or_name_is_another_store(tmp_path):
    RowStore(tmp_path, "A", dict(step=1)).add({b"one": np.ones(2)})
    assert RowStore(tmp_path, "A", dict(step=1)).find([b"one"])
    assert not RowStore(tmp_path, "A", dict(step=2)).find([b"one"])
    assert not RowStore(tmp_path, "B", dict(step=1)).find([b"one"])


def test_the_folder_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    store = RowStore("~/deep/down", "A", 1)
    assert store.path.is_file() and tmp_path in store.path.parents


def test_rows_are_added_all_or_none(tmp_path):
    store = RowStore(tmp_path, "A", 1)
    with pytest.raises(ValueError, match="could not convert"):
        store.add({b"one": np.ones(2), b"two": np.array(["text"])})
    assert not store.find([b"one"])
    with pytest.raises(OSError, match=r"cannot be used|damaged"):
        store.add({b"one": np.ones(2), None: np.ones(2)})  # type: ignore[dict-item]
    assert not store.find([b"one"])


@pytest.mark.parametrize("damage", [b"this is no database, and long enough to tell" * 50, None])
def test_a_damaged_file_is_named(tmp_path, damage):
    store = RowStore(tmp_path, "A", 1)
    store.add({bytes([i]) * 32: np.ones(200) for i in range(200)})
    raw = store.path.read_bytes()
    store.path.write_bytes(damage or raw[:100] + b"\xff" * (len(raw) - 100))
    with pytest.raises(OSError, match=rf"the cache .*{store.path.name} is damaged .*Delete it"):
        RowStore(tmp_path, "A", 1).find([b"\x07" * 32])


def test_a_cache_in_use_is_waited_for_and_then_named(tmp_path, monkeypatch):
    monkeypatch.setattr("selftaught.features.row_store.WAIT", 0.05)
    store = RowStore(tmp_path, "A", 1)
    other = sqlite3.connect(store.path)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(OSError, match=r"cannot be used .*locked.*choose another cache="):
        store.add({b"one": np.ones(2)})
    other.rollback()
    other.close()
    store.add({b"one": np.ones(2)})


def test_a_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        RowStore(tmp_path / "file", "A", 1)


@pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="cannot be used"):
        RowStore(tmp_path, "A", 1)


DIFFERENT = [
    *(None, 1, 1.0, True, "1", b"1", "", (), ("",), ((),), [[], []], {}, dict(a=1), dict(a=2), dict(b=1)),
    *(["ab", "c"], ["a", "bc"], [1, [2, 3]], [[1, 2], 3], [1, 2, 3], "None", "True", -0.0, 0.0, 1e-300),
    *(np.arange(4), np.arange(4.0), np.arange(4).reshape(2, 2), np.arange(4, dtype=np.int32)),
]


def test_no_two_values_have_one_digest():
    assert len({digest(value) for value in DIFFERENT}) == len(DIFFERENT)


def test_what_is_equal_has_one_digest():
    assert digest(dict(a=1, b=2)) == digest(dict(b=2, a=1))
    assert digest((1, 2)) == digest([1, 2])
    assert digest(np.float64(0.1)) == digest(0.1)
    strided = np.arange(12).reshape(3, 4).T
    assert digest(strided) == digest(strided.copy())


def test_what_has_no_plain_content_has_no_digest():
    with pytest.raises(TypeError, match=r"cannot tell what .* is made of; a recipe holds plain data"):
        digest(dict(a=object()))
    with pytest.raises(TypeError, match=r"PosixPath|WindowsPath"):
        digest(Path("a"))
