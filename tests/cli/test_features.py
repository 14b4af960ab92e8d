"""``features images``: a folder becomes rows, what cannot be read a report, and the extractor a file."""

import csv
import os
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("PIL")

from picture_files import encoded, picture, written
from PIL import Image

from selftaught.cli import kinds, main, terminal
from selftaught.features import SIFTBag
from selftaught.persistence import load_model, save_model
from selftaught.tables import read_table


@pytest.fixture
def photos(tmp_path):
    """Two classes of three pictures each."""
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        written(tmp_path / "photos" / name, [picture(rng) for _ in range(3)])
    return tmp_path / "photos"


@pytest.fixture
def run(tmp_path):
    """Run ``features images`` with few words; the output is a name in the temporary folder."""

    def run(folder, out="F.npz", *more):
        return main(["features", "images", str(folder), "--out", str(tmp_path / out), "--words", "9", *map(str, more)])

    return run


def load(path):
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def report_of(path):
    with open(path, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_a_folder_of_classes_becomes_rows(photos, run, tmp_path, capsys):
    assert run(photos) == 0
    found = load(tmp_path / "F.npz")
    paths = sorted(photos.rglob("*.png"))
    assert found["paths"].tolist() == [path.relative_to(photos).as_posix() for path in paths]
    assert found["y"].tolist() == ["cat"] * 3 + ["dog"] * 3
    assert_array_equal(found["X"], SIFTBag(9, random_state=0).fit_transform(paths))
    assert found["X"].dtype == np.float32
    out, err = capsys.readouterr()
    assert "6 rows of 2 classes, 9 features" in out and f"fitted on {photos} itself" in out and err == ""
    assert {path.name for path in tmp_path.iterdir()} == {"photos", "F.npz"}


def test_the_other_commands_read_the_output(photos, run, tmp_path):
    assert run(photos) == 0
    table = read_table(tmp_path / "F.npz", [], needed=["y", "paths"])
    assert table.column("y").tolist() == ["cat"] * 3 + ["dog"] * 3
    assert table.rows.n_features == 9


def test_images_beside_each_other_have_no_classes(photos, run, tmp_path):
    assert run(photos / "cat") == 0
    assert load(tmp_path / "F.npz").keys() == {"X", "paths"}


@pytest.fixture
def mixed(photos):
    """Good files, and bad ones of every kind, one of them at the top level."""
    grey = picture(np.random.default_rng(9))[:, :, 0]
    (photos / "cat" / "grey.jpg").write_bytes(encoded(grey, "JPEG"))
    (photos / "dog" / "cmyk.jpg").write_bytes(encoded(Image.fromarray(grey).convert("CMYK"), "JPEG"))
    (photos / "dog" / "huge.png").write_bytes(encoded(Image.new("1", (9000, 8000))))
    (photos / "dog" / "cut.jpg").write_bytes(encoded(grey, "JPEG")[:-200])
    (photos / "dog" / "empty.jpg").touch()
    (photos / "dog" / "notes.txt").write_text("not a dog, mine")
    (photos / "Thumbs, old.db").write_bytes(b"\xd0\xcf\x11\xe0")
    return photos


def test_of_a_mixed_folder_the_good_files_get_rows_and_the_others_a_report(mixed, run, tmp_path, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(mixed) == 0
    found = load(tmp_path / "F.npz")
    assert len(found["X"]) == 8 and {"cat/grey.jpg", "dog/cmyk.jpg"} <= {*found["paths"].tolist()}
    assert found["y"].tolist() == ["cat"] * 4 + ["dog"] * 4, "what is no image makes no class and hides none"
    report = {row["path"]: row["reason"] for row in report_of(tmp_path / "F.unreadable.csv")}
    expected = {
        "Thumbs, old.db": "no image of a known format",
        "dog/cut.jpg": "damaged or cut JPEG file",
        "dog/empty.jpg": "the file is empty",
        "dog/huge.png": "9,000 x 8,000 pixels, and 64,000,000 are allowed",
        "dog/notes.txt": "no image of a known format",
    }
    assert report.keys() == {str(mixed / name) for name in expected}
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 5 and "5 unreadable" in out
    for name, reason in expected.items():
        assert reason in report[str(mixed / name)]
        assert f"selftaught: unreadable: {mixed / name}: {report[str(mixed / name)]}" in err


def test_a_report_of_an_earlier_run_is_taken_away(mixed, run, tmp_path):
    assert run(mixed) == 0
    for row in report_of(tmp_path / "F.unreadable.csv"):
        os.unlink(row["path"])
    assert run(mixed) == 0
    assert not (tmp_path / "F.unreadable.csv").exists()


def test_of_many_unreadable_files_the_first_are_named(photos, run, capsys):
    for i in range(25):
        (photos / "dog" / f"x{i:02}").write_bytes(b"x")
    assert run(photos) == 0
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 21 and "5 more, see" in err[-1] and "F.unreadable.csv" in err[-1]


def test_a_folder_without_a_readable_file_is_bad_data(tmp_path, run, photos, capsys):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("a")
    assert run(tmp_path / "texts") == 4
    assert run(photos, "E.npz", "--save-extractor", tmp_path / "e.skops") == 0
    capsys.readouterr()
    assert main(["features", "images", str(tmp_path / "texts"), "--out", str(tmp_path / "F.npz"), "--with",
                 str(tmp_path / "e.skops")]) == 4  # fmt: skip
    assert "none of the 1 images of" in capsys.readouterr().err
    assert not (tmp_path / "F.npz").exists() and (tmp_path / "F.unreadable.csv").exists()


# What the extractor has seen


@pytest.fixture
def others(tmp_path):
    rng = np.random.default_rng(5)
    return written(tmp_path / "others", [picture(rng) for _ in range(6)])[0].parent


def test_words_come_from_the_folders_they_are_fitted_on(photos, others, run, tmp_path, capsys):
    assert run(photos, "F.npz", "--fit-on", others) == 0
    bag = SIFTBag(9, random_state=0).fit(sorted(others.iterdir()))
    assert_array_equal(load(tmp_path / "F.npz")["X"], bag.transform(sorted(photos.rglob("*.png"))))
    assert f"fitted on {others}\n" in capsys.readouterr().out
    assert run(photos, "G.npz", "--fit-on", others, "--fit-on", photos / "cat") == 0
    assert (load(tmp_path / "G.npz")["X"] != load(tmp_path / "F.npz")["X"]).any()


@pytest.mark.filterwarnings("default:words are learned without")
def test_what_it_could_not_be_fitted_on_is_noted(photos, others, run, capsys):
    (others / "bad.jpg").write_bytes(b"x")
    assert run(photos, "F.npz", "--fit-on", others) == 0
    err = capsys.readouterr().err
    assert err.startswith("selftaught: note: words are learned without some images: 1 of 7 images cannot be read:")


def test_a_saved_extractor_makes_the_same_rows(photos, others, run, tmp_path, capsys):
    saved = tmp_path / "sift.skops"
    assert run(others, "O.npz", "--fit-on", photos, "--save-extractor", saved, "--cache", tmp_path / "c") == 0
    assert run(photos, "F.npz") == 0
    assert run(others, "N.npz", "--with", saved, "--jobs", 2) == 0
    assert "as it was saved" in capsys.readouterr().out
    assert_array_equal(load(tmp_path / "N.npz")["X"], load(tmp_path / "O.npz")["X"])
    kept = load_model(saved)
    assert kept.model.cache is None and kept.model.n_jobs is None, "of this machine, and not of the next"
    assert (kept.provenance.method, kept.provenance.seed) == ("sift", 0)


def test_seeds_and_jobs(photos, run, tmp_path):
    for name, more in dict(A=(), B=("--seed", 1), C=("--jobs", 2)).items():
        assert run(photos, f"{name}.npz", *more) == 0
    a, b, c = (load(tmp_path / f"{name}.npz")["X"] for name in "ABC")
    assert_array_equal(a, c)
    assert (a != b).any()


# Interruption and progress


def test_ctrl_c_keeps_what_the_cache_has(photos, run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(SIFTBag, "batch_size", 1)
    compute, calls = SIFTBag._compute, []

    def interrupted(self, contents):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return compute(self, contents)

    monkeypatch.setattr(SIFTBag, "_compute", interrupted)
    assert run(photos, "F.npz", "--cache", tmp_path / "c") == 130
    assert "interrupted" in capsys.readouterr().err and not (tmp_path / "F.npz").exists()
    monkeypatch.setattr(SIFTBag, "_samples", None)
    monkeypatch.setattr(SIFTBag, "_compute", lambda self, contents: calls.append(1) or compute(self, contents))
    assert run(photos, "F.npz", "--cache", tmp_path / "c") == 0
    assert len(calls) == 5 + 2, "a round of four was kept"


def test_images_are_counted_on_a_terminal(photos, run, monkeypatch):
    told = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(terminal._StatusLine, "tell", lambda self, *state: told.append((self.doing, *state)))
    assert run(photos) == 0
    assert [state for state in told if state[0] == "fitting sift"] == [
        ("fitting sift", "images", i, 6) for i in range(7)
    ]
    assert [state for state in told if state[0] == "making rows"] == [("making rows", "images", i, 6) for i in range(7)]


# Wrong usage and bad data


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--out", "F.csv"), 2, "--out is a file of arrays and must end in .npz"),
        (("--out", "missing/F.npz"), 2, "there is no folder missing"),
        (("--out", "photos/F.npz"), 2, "lies in photos, and would count among what is found there next time"),
        (("--cache", "photos/cat/c"), 2, "lies in photos"),
        (("--save-extractor", "missing/e.skops"), 2, "there is no folder missing"),
        (("--with", "none.skops"), 2, "there is no saved extractor none.skops"),
        (("--with", "e.skops", "--fit-on", "photos"), 2, "--with uses an extractor as it is"),
        (("--fit-on", "missing"), 2, "there is no folder missing"),
        (("--with", "e.skops"), 4, "e.skops is not a model of selftaught's"),
        (("--with", "model.skops"), 4, "model.skops holds a RandomSelector, which makes no rows of images"),
        (("--words", "2000"), 4, "n_words=2000 words need at least as many descriptors"),
        (("--cache", "e.skops"), 4, "e.skops"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(more, code, message, photos, tmp_path, monkeypatch, capsys):
    from selftaught import RandomSelector

    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.skops").write_bytes(b"no model")
    save_model(RandomSelector(), "model.skops")
    assert main(["features", "images", "photos", "--out", "F.npz", "--words", "9", *more]) == code
    out, err = capsys.readouterr()
    assert message in err and len(err.splitlines()) == 1 and out == ""
    assert not (tmp_path / "F.npz").exists()


@pytest.mark.parametrize(("place", "code"), [("missing", 2), ("empty", 4)])
def test_a_folder_that_is_missing_or_empty(place, code, tmp_path, run, capsys):
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / place) == code
    assert place in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["features"], ["features", "sounds"], ["features", "images", "photos"]])
def test_an_incomplete_command_is_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2


def test_every_kind_has_what_the_command_asks_of_it():
    for name, kind in kinds.KINDS.items():
        assert kind.makers and kind.place.isupper() and kind.help
        assert all(kinds.kind_of(maker) == name for maker in kind.makers)
        assert {maker.learns_from for maker in kind.makers.values()} <= {"items", "labels", "nothing"}
