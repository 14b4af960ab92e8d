"""What all extractors share: the cache, duplicates, unreadable items, parallel work, and how scikit-learn sees them."""

import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from selftaught import _progress
from selftaught.features import Unreadable, UnreadableItems
from selftaught.features.extractor import FeatureExtractor


class Bytes(FeatureExtractor):
    """Length and ``scale`` times the sum of a file's bytes, or of an array; counts how often it is asked."""

    _n_features_out = 2
    batch_size = 2

    def __init__(self, scale=1.0, cache=None, n_jobs=None):
        self.scale, self.cache, self.n_jobs = scale, cache, n_jobs

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def _decode(self, raw):
        calls.append(raw)
        if not isinstance(raw, np.ndarray) and raw.startswith(b"bad"):
            raise Unreadable("it begins with bad")
        return np.frombuffer(raw, np.uint8) if isinstance(raw, bytes) else raw

    def _compute(self, contents):
        return np.array([[len(content), self.scale * content.sum()] for content in contents], np.float32)

    def _recipe(self):
        return dict(scale=self.scale)


class Texts(Bytes):
    items_are = "texts"


calls = []


@pytest.fixture(autouse=True)
def no_calls_yet():
    calls.clear()


@pytest.fixture
def files(tmp_path):
    """Thirty files of different content."""
    folder = tmp_path / "files"
    folder.mkdir()
    paths = [folder / f"{i:02}" for i in range(30)]
    for i, path in enumerate(paths):
        path.write_bytes(bytes([i]) * (i + 1))
    return paths


EXPECTED = np.array([[i + 1, i * (i + 1)] for i in range(30)], np.float32)


def fitted(cls=Bytes, **options):
    return cls(**options).fit([])


# Rows


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda paths: [str(path) for path in paths], pd.Series])
def test_one_row_for_each_item_in_order(files, kind):
    rows = fitted().transform(kind(files))
    assert_array_equal(rows, EXPECTED)
    assert rows.dtype == np.float32


def test_a_column_of_a_frame_goes_by_place_not_by_index(files):
    files[3].write_bytes(b"bad")
    column = pd.DataFrame({"path": [str(path) for path in files]}, index=range(100, 130))["path"]
    with pytest.raises(UnreadableItems, match="files/03: it begins with bad"):
        fitted().transform(column)


def test_arrays_are_items_by_kind_shape_and_content(tmp_path):
    items = [np.zeros((2, 3)), np.zeros((3, 2)), np.zeros((2, 3), np.float32), np.asfortranarray(np.ones((2, 3)))]
    rows = fitted(cache=tmp_path).transform([*items, items[3].copy(order="C")])
    assert_array_equal(rows[:, 1], [0, 0, 0, 6, 6])
    assert len(calls) == 4


def test_texts_are_their_own_content():
    assert_array_equal(fitted(Texts).transform(["a", "é", "\ud800"])[:, 0], [1, 2, 3])


def test_nothing_gives_no_rows(tmp_path):
    for cache in (None, tmp_path):
        assert fitted(cache=cache).transform([]).shape == (0, 2)


@pytest.mark.parametrize("cache", [False, True])
def test_rows_do_not_depend_on_jobs_batches_or_order(files, tmp_path, cache, rng, monkeypatch):
    order = rng.permutation(30)
    for n_jobs, batch in ((1, 1), (2, 3), (-1, 16)):
        monkeypatch.setattr(Bytes, "batch_size", batch)
        folder = tmp_path / f"cache{n_jobs}" if cache else None
        rows = fitted(cache=folder, n_jobs=n_jobs).transform([files[i] for i in order])
        assert_array_equal(rows, EXPECTED[order])


def test_jobs_are_threads_and_none_where_the_computation_brings_its_own(files, monkeypatch):
    names = set()
    compute = Bytes._compute
    monkeypatch.setattr(
        Bytes, "_compute", lambda self, contents: names.add(threading.get_ident()) or compute(self, contents)
    )
    fitted(n_jobs=2).transform(files)
    assert threading.get_ident() not in names and names
    monkeypatch.setattr(Bytes, "threads", False)
    names.clear()
    fitted(n_jobs=2).transform(files)
    assert names == {threading.get_ident()}


def test_products_are_held_to_the_threads_that_a_subclass_names(files, monkeypatch):
    seen = []

    def compute(self, contents):
        seen.append({found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"})
        return np.zeros((len(contents), 2), np.float32)

    monkeypatch.setattr(Bytes, "_compute", compute)
    monkeypatch.setattr(Bytes, "blas_threads", 1)
    fitted().transform(files[:2])
    assert seen == [{1}]


# The cache


def test_what_is_in_the_cache_is_not_computed_again(files, tmp_path):
    first = fitted(cache=tmp_path / "c").transform(files)
    assert len(calls) == 30
    again = fitted(cache=tmp_path / "c").transform(files)
    assert len(calls) == 30
    assert_array_equal(again, first)


def test_renamed_files_are_found_and_changed_ones_are_not(files, tmp_path):
    extractor = fitted(cache=tmp_path / "c")
    extractor.transform(files)
    calls.clear()
    renamed = files[0].rename(files[0].with_name("other name"))
    assert_array_equal(extractor.transform([renamed]), EXPECTED[:1])
    assert not calls
    files[1].write_bytes(b"changed")
    assert extractor.transform(files[1:3])[0, 0] == 7
    assert calls == [b"changed"]


def test_other_parameters_give_other_rows(files, tmp_path):
    fitted(cache=tmp_path / "c").transform(files)
    assert_array_equal(fitted(scale=2.0, cache=tmp_path / "c").transform(files)[:, 1], 2 * EXPECTED[:, 1])


def test_items_of_equal_content_are_computed_once(files, tmp_path):
    for path in files[1:]:
        path.write_bytes(files[0].read_bytes())
    for cache in (None, tmp_path / "c"):
        calls.clear()
        assert_array_equal(fitted(cache=cache).transform(files[:8]), EXPECTED[[0] * 8])
        assert len(calls) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_a_killed_process_leaves_what_it_has_done(files, tmp_path):
    # It dies by SIGKILL in the third round, of eight items each: the rows of two are there.
    script = textwrap.dedent(
        f"""
        import os, signal, sys
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import test_extractor

        class Dying(test_extractor.Bytes):
            def _decode(self, raw):
                if len(raw) == 20:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super()._decode(raw)

        Dying.__name__ = "Bytes"
        Dying(cache={str(tmp_path / "c")!r}).fit([]).transform(sorted(Path({str(files[0].parent)!r}).iterdir()))
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert_array_equal(fitted(cache=tmp_path / "c").transform(files), EXPECTED)
    assert [len(raw) for raw in calls] == [*range(17, 31)]


def test_an_interrupt_keeps_the_rounds_before_it(files, tmp_path, monkeypatch):
    decode = Bytes._decode

    def interrupted(self, raw):
        if len(raw) == 20:
            raise KeyboardInterrupt
        return decode(self, raw)

    monkeypatch.setattr(Bytes, "_decode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted(cache=tmp_path / "c").transform(files)
    monkeypatch.setattr(Bytes, "_decode", decode)
    calls.clear()
    assert_array_equal(fitted(cache=tmp_path / "c").transform(files), EXPECTED)
    assert min(len(raw) for raw in calls) == 17


# What cannot be read


@pytest.fixture
def mixed(files):
    """The files, four of which cannot be read, for four reasons."""
    files[1].write_bytes(b"bad file")
    files[2].write_bytes(b"")
    files[3].unlink()
    files[4].unlink()
    files[4].mkdir()
    return files[:6]


def test_the_others_get_their_rows(mixed, tmp_path):
    for cache in (None, tmp_path / "c", tmp_path / "c"):
        extracted = fitted(cache=cache).extract(mixed)
        assert_array_equal(extracted.X, EXPECTED[[0, 5]])
        assert extracted.kept.tolist() == [0, 5]
        assert {*extracted.problems} == {1, 2, 3, 4}
        assert extracted.problems[1] == "it begins with bad"
        assert extracted.problems[2] == "the file is empty"
        assert "no such file" in extracted.problems[3]
        assert "directory" in extracted.problems[4]


def test_transform_names_them_all_at_the_end(mixed):
    with pytest.raises(UnreadableItems, match=r"4 of 6 images cannot be read: .*01: it begins with bad; .*02: the f"):
        fitted().transform(mixed)
    with pytest.raises(UnreadableItems, match="extract\\(\\), which gives the rows of the others") as caught:
        fitted().transform(mixed)
    assert {*caught.value.problems} == {1, 2, 3, 4}


def test_of_many_only_the_first_are_named():
    with pytest.raises(UnreadableItems, match=r"20 of 20 texts cannot be read: (bad \d: .*){5}; and 15 more"):
        fitted(Texts).transform([f"bad {i}" for i in range(20)])


def test_a_long_path_is_named_whole_and_a_long_text_by_its_beginning(tmp_path):
    path = tmp_path / ("x" * 100 + ".jpg")
    path.write_bytes(b"bad")
    with pytest.raises(UnreadableItems, match=r"x{100}\.jpg: it begins"):
        fitted().transform([path])
    with pytest.raises(UnreadableItems, match=r"read: bad x{76}: it begins"):
        fitted(Texts).transform(["bad " + "x" * 100])


def test_an_array_is_named_by_its_place(monkeypatch):
    def decode(self, raw):
        raise Unreadable("too bright")

    monkeypatch.setattr(Bytes, "_decode", decode)
    with pytest.raises(UnreadableItems, match="number 1: too bright"):
        fitted().transform([np.zeros(2), np.ones(2)])


def test_when_nothing_can_be_read_there_are_no_rows():
    extracted = fitted(Texts).extract(["bad", "bad"])
    assert extracted.X.shape == (0, 2) and extracted.X.dtype == np.float32 and not len(extracted.kept)


@pytest.mark.parametrize("X", ["one.jpg", Path("one.jpg"), b"raw", np.array("one.jpg"), 5, None])
def test_a_single_item_is_refused(X):
    with pytest.raises(ValueError, match=r"X must be a sequence of images, got .* Put a single one into a list"):
        fitted().transform(X)


def test_items_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="each item must be a path or an array, got 5 of type int"):
        fitted().transform([5])
    with pytest.raises(ValueError, match=r"each item must be a text, got .* of type float"):
        fitted(Texts).transform(["a", float("nan")])


def test_a_damaged_cache_is_named(files, tmp_path):
    extractor = fitted(cache=tmp_path / "c")
    extractor.transform(files)
    (store,) = (tmp_path / "c").iterdir()
    store.write_bytes(b"no database at all" * 100)
    with pytest.raises(OSError, match=f"{store.name} is damaged"):
        extractor.transform(files)


# scikit-learn


def test_names_of_features_frames_and_pipelines(files):
    extractor = fitted()
    assert extractor.get_feature_names_out().tolist() == ["bytes0", "bytes1"]
    frame = clone(extractor).set_output(transform="pandas").fit([]).transform(files)
    assert frame.columns.tolist() == ["bytes0", "bytes1"] and frame.shape == (30, 2)
    assert make_pipeline(Bytes(), StandardScaler()).fit_transform(files).shape == (30, 2)


def test_an_unfitted_extractor_says_so(files):
    with pytest.raises(ValueError, match="not fitted yet"):
        Bytes().transform(files)


def test_tags_say_what_goes_in():
    tags = Bytes().__sklearn_tags__()
    assert not tags.input_tags.two_d_array and tags.input_tags.string and tags.input_tags.three_d_array
    assert not Texts().__sklearn_tags__().input_tags.three_d_array


def test_who_listens_is_told_of_each_item(files):
    told = []
    with _progress.listening(lambda *state: told.append(state)):
        fitted().transform(files[:3])
    assert told == [("images", done, 3) for done in range(4)]
