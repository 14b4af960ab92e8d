"""Bags of visual words: the same seed gives the same rows whatever the order, the jobs or an interruption."""

import csv
import io
import pickle
import signal
import subprocess
import sys
import tarfile
import textwrap

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from picture_files import encoded, picture, written
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_checks

from selftaught.datasets import caltech101_splits
from selftaught.features import SIFTBag, UnreadableItems
from selftaught.features.dense_sift import dense_sift
from selftaught.persistence import load_model, save_model


def small(**changes):
    return SIFTBag(**{**dict(n_words=12, max_side=48, random_state=0, descriptors_per_image=20), **changes})


@pytest.fixture
def pictures(rng):
    return [picture(rng, 30 + i, 40) for i in range(8)]


@pytest.fixture
def files(pictures, tmp_path):
    return written(tmp_path / "files", pictures)


# Rows


def test_rows_are_shares_of_words(pictures):
    bag = small().fit(pictures)
    rows = bag.transform(pictures)
    assert bag.words_.shape == (12, 128) and rows.shape == (8, 12)
    assert bag.words_.dtype == rows.dtype == np.float32
    assert_allclose(rows.sum(axis=1), 1, rtol=1e-6)
    assert (rows >= 0).all() and len(np.unique(rows, axis=0)) == 8


def test_a_row_counts_the_nearest_words_of_all_descriptors(pictures):
    bag = small(sizes=(16, 40), step=5).fit(pictures)
    image = bag._decode(pictures[0])
    assert image.shape == (36, 48)
    descriptors = np.concatenate([dense_sift(image, cell, 5) for cell in (4.0, 10.0)])
    nearest = np.linalg.norm(descriptors[:, None] - bag.words_, axis=2).argmin(axis=1)
    assert_allclose(bag.transform(pictures[:1])[0], np.bincount(nearest, minlength=12) / len(descriptors), atol=1e-7)


def test_paths_and_arrays_of_one_image_have_one_row(pictures, files):
    bag = small().fit(files)
    assert_array_equal(bag.transform(files), bag.transform(pictures))
    assert_array_equal(small().fit(pictures).words_, bag.words_)


def test_grey_images_of_any_depth_have_one_row(pictures):
    bag, grey = small().fit(pictures), pictures[0][:, :, 0]
    same = [grey, grey[:, :, None], np.repeat(grey[:, :, None], 3, axis=2), grey / 255]
    assert len(np.unique(bag.transform(same), axis=0)) == 1


def test_a_large_photo_has_nearly_the_row_of_the_same_photo_scaled_down(rng):
    large = picture(rng, 600, 800)
    photos = [picture(rng) for _ in range(8)]
    bag = small(max_side=100).fit(photos)
    as_jpeg = bag._decode(encoded(large, "JPEG", quality=95))
    assert as_jpeg.shape == (75, 100)
    assert np.abs(as_jpeg - bag._decode(large)).mean() < 1


def test_a_blank_image_and_one_of_a_single_pixel_have_rows(pictures):
    blank = [np.zeros((9, 9)), np.ones((1, 1)), np.ones((1, 300))]
    rows = small().fit(pictures).transform(blank)
    assert_array_equal(rows.max(axis=1), 1)


# The same answer


@pytest.mark.parametrize("cache", [False, True])
def test_order_jobs_and_batches_change_nothing(pictures, tmp_path, rng, cache, monkeypatch):
    first = small().fit(pictures)
    rows = first.transform(pictures)
    order = rng.permutation(8)
    for n_jobs, batch in ((2, 1), (-1, 3)):
        monkeypatch.setattr(SIFTBag, "batch_size", batch)
        bag = small(n_jobs=n_jobs, cache=tmp_path / str(n_jobs) if cache else None)
        bag.fit([pictures[i] for i in order])
        assert_array_equal(bag.words_, first.words_)
        assert_array_equal(bag.transform([pictures[i] for i in order]), rows[order])


def test_the_cache_changes_nothing_and_spares_the_work(files, tmp_path, monkeypatch):
    expected = small().fit_transform(files)
    assert_array_equal(small(cache=tmp_path / "c").fit_transform(files), expected)
    monkeypatch.setattr(SIFTBag, "_descriptors", None)
    renamed = [path.rename(path.with_suffix(".other")) for path in files]
    assert_array_equal(small(cache=tmp_path / "c").fit_transform(renamed), expected)


def test_other_settings_are_not_confused_in_one_cache(files, tmp_path):
    for changes in (dict(), dict(step=4), dict(sizes=(30,)), dict(root=False), dict(max_side=60), dict(random_state=1)):
        rows = small(cache=tmp_path / "c", **changes).fit_transform(files)
        assert_array_equal(rows, small(**changes).fit_transform(files), str(changes))


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_a_killed_fit_goes_on_where_it_was(files, tmp_path, monkeypatch):
    script = textwrap.dedent(
        f"""
        import os, signal
        from pathlib import Path
        from selftaught.features import SIFTBag

        class Dying(SIFTBag):
            batch_size, described = 1, 0

            def _descriptors(self, image):
                Dying.described += 1
                if Dying.described == 6:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super()._descriptors(image)

        Dying.__name__ = "SIFTBag"
        bag = Dying(n_words=12, max_side=48, random_state=0, descriptors_per_image=20, cache={str(tmp_path / "c")!r})
        bag.fit(sorted(Path({str(files[0].parent)!r}).iterdir()))
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    calls, describe = [], SIFTBag._descriptors
    monkeypatch.setattr(SIFTBag, "_descriptors", lambda self, image: calls.append(1) or describe(self, image))
    words = small(cache=tmp_path / "c").fit(files).words_
    assert len(calls) == 4, "four of eight were done, in a round of four"
    assert_array_equal(words, small().fit(files).words_)


def test_the_seed_matters(pictures):
    assert (small(random_state=1).fit(pictures).words_ != small().fit(pictures).words_).any()
    bag = small(random_state=np.random.RandomState(0))
    assert (bag.fit(pictures).words_ != bag.fit(pictures).words_).any(), "a generator moves on"
    assert (small(random_state=None).fit(pictures).words_ != small(random_state=None).fit(pictures).words_).any()


CHANGES = dict(
    n_words=11,
    max_side=60,
    step=5,
    sizes=(20,),
    root=False,
    descriptors_per_image=10,
    max_descriptors=60,
    random_state=3,
)


@pytest.mark.parametrize("name", CHANGES)
def test_every_parameter_changes_something(name, pictures):
    words, changed = small().fit(pictures).words_, small(**{name: CHANGES[name]}).fit(pictures).words_
    assert words.shape != changed.shape or (words != changed).any()


def test_no_parameter_is_untested():
    assert {*SIFTBag().get_params()} == {*CHANGES, "cache", "n_jobs"}


def test_of_many_images_some_are_drawn(pictures, monkeypatch):
    calls, describe = [], SIFTBag._descriptors
    monkeypatch.setattr(SIFTBag, "_descriptors", lambda self, image: calls.append(1) or describe(self, image))
    small(max_descriptors=79).fit(pictures)
    assert len(calls) == 3


# What goes wrong


def test_a_fit_goes_on_without_what_cannot_be_read(files):
    files[2].write_bytes(b"Dear diary")
    with pytest.warns(UserWarning, match=r"without some images: 1 of 8 images cannot be read: .*2\.png: no image of"):
        bag = small().fit(files)
    assert_array_equal(bag.words_, small().fit([*files[:2], *files[3:]]).words_)
    with pytest.raises(UnreadableItems, match="no image of a known format"):
        bag.transform(files)
    assert bag.extract(files).kept.tolist() == [0, 1, 3, 4, 5, 6, 7]


def test_too_few_descriptors_for_the_words(pictures):
    bag = small().fit(pictures)
    words = bag.words_
    with pytest.raises(ValueError, match=r"n_words=1000 words need .* 8 images gave 160\. Give more images, or raise"):
        bag.set_params(n_words=1000).fit(pictures)
    assert bag.words_ is words, "a refused fit leaves the earlier one"
    with pytest.raises(ValueError, match="0 images gave 0"):
        small().fit([])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(n_words=0), "n_words must be a whole number of at least 1, got 0"),
        (dict(max_side=8), "max_side must be a whole number of at least 16 and at most 4096, got 8"),
        (dict(step=2.5), "step must be a whole number of at least 1, got 2.5"),
        (dict(root="yes"), "root must be True or False, got 'yes'"),
        (dict(descriptors_per_image=0), "descriptors_per_image must be"),
        (dict(max_descriptors=-1), "max_descriptors must be"),
        (dict(sizes=()), r"sizes must be a tuple of numbers, each a number of at least 4, got \(\)"),
        (dict(sizes=24), r"sizes must be a tuple of numbers, .* got 24"),
        (dict(sizes=(24, 3)), r"sizes must be .* at least 4, got \(24, 3\)\. They are the sides of the squares"),
    ],
)
def test_parameters_out_of_range(changes, message, pictures):
    with pytest.raises(ValueError, match=message):
        small(**changes).fit(pictures)


def test_one_path_alone_is_refused():
    with pytest.raises(ValueError, match="Put a single one into a list"):
        small().fit("photo.jpg")


# scikit-learn and files


# Those of scikit-learn's checks that need no numbers to fit to: it runs the others on tables alone.
CHECKS = (
    *("check_estimator_cloneable", "check_estimator_repr"),
    *("check_estimator_tags_renamed", "check_get_params_invariance", "check_mixin_order"),
    *("check_no_attributes_set_in_init", "check_parameters_default_constructible", "check_set_params"),
    "check_valid_tag_types",
)


@pytest.mark.parametrize("check", CHECKS)
def test_scikit_learn_finds_nothing_to_complain_about(check):
    getattr(estimator_checks, check)("SIFTBag", SIFTBag())


def test_clones_copies_and_names(pictures):

    assert repr(clone(small())) == repr(small())
    assert not hasattr(clone(small().fit(pictures)), "words_")
    fitted = small().fit(pictures)
    assert fitted.get_feature_names_out().tolist() == [f"siftbag{i}" for i in range(12)]
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(pictures), fitted.transform(pictures))
    frame = small().set_output(transform="pandas").fit(pictures).transform(pictures)
    assert frame.columns.tolist() == fitted.get_feature_names_out().tolist()


def test_a_saved_bag_makes_the_same_rows(pictures, tmp_path):
    pytest.importorskip("skops")
    bag = small(sizes=(16, 24.5)).fit(pictures)
    save_model(bag, tmp_path / "bag.skops")
    loaded = load_model(tmp_path / "bag.skops").model
    assert repr(loaded) == repr(bag)
    assert_array_equal(loaded.transform(pictures), bag.transform(pictures))


# Real images


@pytest.mark.slow
def test_real_images_are_told_apart_better_than_by_the_bags_of_one_size(shared_data):
    """Against the file of bags (one size, step 10) on one split; `benchmarks/bench_features.py` has all five."""
    folder = shared_data / "caltech101"
    with open(folder / "images_30.csv", newline="") as lines, tarfile.open(folder / "images_30.tar") as tar:
        listed = list(csv.DictReader(lines))
        raws = [tar.extractfile(line["file"]).read() for line in listed]  # type: ignore[union-attr]
    split = caltech101_splits([line["class"] for line in listed], random_state=0)[1]
    theirs = np.load(folder / "siftbow1000.npz")["X"][[int(line["row"]) for line in listed]].astype(float)

    def arrays(positions):
        from PIL import Image

        return [np.asarray(Image.open(io.BytesIO(raws[i])).convert("RGB")) for i in positions]

    bag = SIFTBag(random_state=0, n_jobs=2).fit(arrays([*split.source_idx[::3], *split.target_idx]))

    def accuracy(X, X_test):
        search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [10.0, 100.0, 1000.0]}, cv=5)
        return search.fit(np.sqrt(X), split.y).score(np.sqrt(X_test), split.y_test)

    shares = theirs / theirs.sum(axis=1, keepdims=True)
    ours = accuracy(bag.transform(arrays(split.target_idx)), bag.transform(arrays(split.test_idx)))
    assert ours >= accuracy(shares[split.target_idx], shares[split.test_idx])
