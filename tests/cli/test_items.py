"""Images and texts in place of tables: ``select``, ``fit``, ``predict`` and ``score`` by way of ``--features``."""

import csv

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("PIL")
pytest.importorskip("skops")

from picture_files import written
from PIL import Image

from selftaught import GASTLClassifier, SourcePool
from selftaught.cli import main
from selftaught.features import SIFTBag, find_items
from selftaught.persistence import load_model


def stripes(rng, across):
    """A picture of stripes, across or along, of random width and brightness."""
    wave = np.sin(np.arange(40) / rng.uniform(1.5, 3) + rng.uniform(0, 6)) * rng.uniform(60, 120) + 128
    grey = np.tile(wave, (40, 1)) + rng.normal(0, 4, (40, 40))
    return np.asarray(Image.fromarray(np.clip(grey if across else grey.T, 0, 255).astype(np.uint8)))


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Folders of labelled pictures (two classes), of a pile with one that is broken, and of new ones."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, n in (("labelled", 4), ("new", 3)):
        for label, across in (("rows", False), ("columns", True)):
            written(tmp_path / name / label, [stripes(rng, across) for _ in range(n)])
    written(tmp_path / "pile", [stripes(rng, i % 2 == 0) for i in range(12)])
    (tmp_path / "pile" / "broken.jpg").write_bytes(b"\xff\xd8\xff and no more")
    return tmp_path


PLACES = ("--target", "labelled", "--source", "pile")
SIFT = ("--features", "sift", "--words", "12", "--guard", "off", "--n-select", "6")


def rows(path):
    with open(path, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def in_python():
    """The same in Python, as docs/features.md shows it."""
    labelled = find_items("labelled")
    pile = [path for path in find_items("pile").paths if path.name != "broken.jpg"]
    bag = SIFTBag(12, random_state=0).fit([*labelled.paths, *pile])
    clf = GASTLClassifier(n_select=6, guard="off", random_state=0)
    clf.fit(bag.transform(labelled.paths), labelled.y, X_source=SourcePool(bag.transform(pile)))
    return bag, clf, pile


def test_a_selection_of_images_calls_them_by_their_paths(photos, capsys):
    assert main(["select", *PLACES, *SIFT, "--out", "sel.csv"]) == 0
    _, clf, pile = in_python()
    selection = rows("sel.csv")
    assert [row["id"] for row in selection] == [path.name for path in pile]
    assert_allclose([float(row["relevance"]) for row in selection], clf.relevance_, rtol=1e-5)
    assert {row["pseudo_label"] for row in selection if row["selected"] == "True"} <= {"rows", "columns"}
    out, err = capsys.readouterr()
    assert "8 labelled rows of 2 classes, 12 features" in out and "12 rows" in out
    assert "unreadable: pile/broken.jpg: a damaged or cut JPEG file" in err
    assert [row["path"] for row in rows("sel.unreadable.csv")] == ["pile/broken.jpg"]


def test_a_model_of_images_predicts_and_scores_images(photos):
    assert main(["fit", *PLACES, *SIFT, "--cache", "cache", "--out", "m.skops"]) == 0
    assert main(["predict", "m.skops", "new", "--out", "p.csv", "--cache", "cache"]) == 0
    assert main(["score", "m.skops", "pile", "--out", "s.csv"]) == 0
    bag, clf, _ = in_python()
    new = find_items("new")
    assert [row["id"] for row in rows("p.csv")] == [path.relative_to("new").as_posix() for path in new.paths]
    assert [row["prediction"] for row in rows("p.csv")] == clf.predict(bag.transform(new.paths)).tolist()
    assert len(rows("s.csv")) == 12
    saved = load_model("m.skops")
    assert saved.extractor.cache is None and len(saved.provenance.inputs["source"]) == 64
    assert_array_equal(saved.extractor.transform(new.paths), bag.transform(new.paths))


def test_the_hash_of_a_folder_goes_by_names_and_contents(photos):
    def hashed():
        assert main(["fit", *PLACES, *SIFT, "--out", "m.skops"]) == 0
        return load_model("m.skops").provenance.inputs["target"]

    before = hashed()
    assert hashed() == before
    (photos / "labelled/rows/0.png").rename(photos / "labelled/rows/zero.png")
    assert hashed() != before


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Labelled texts in a column, a pile of lines, new ones, and vectors of some words."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = {"fine": ["good", "fun", "warm"], "poor": ["bad", "dull", "cold"]}

    def text(mood):
        return " ".join(rng.permutation([*rng.choice(words[mood], 3), "a", "film"]))

    with open("T.csv", "w", newline="") as file:
        csv.writer(file).writerows([("review", "mood"), *((text(m), m) for m in ("fine", "poor") * 10)])
    for name, n in (("pile.txt", 30), ("new.txt", 4)):
        (tmp_path / name).write_text("\n".join(text(m) for m in ("fine", "poor") * (n // 2)) + "\n")
    vectors = {word: rng.normal(size=5) for word in [*words["fine"], *words["poor"], "film"]}
    lines = (f"{word} {' '.join(f'{x:.3f}' for x in vector)}" for word, vector in vectors.items())
    (tmp_path / "v.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_two_files_of_texts_become_a_model(texts):
    network = ("--features", "sentence-cnn", "--word-vectors", "v.txt", "--maps", "6", "--seed", "1")
    files = ("--target", "T.csv", "--label", "mood", "--text", "review", "--source", "pile.txt")
    assert main(["fit", *files, *network, "--guard", "off", "--n-select", "10", "--out", "m.skops"]) == 0
    assert main(["predict", "m.skops", "new.txt", "--out", "p.csv"]) == 0
    assert [row["id"] for row in rows("p.csv")] == ["1", "2", "3", "4"]
    assert [row["prediction"] for row in rows("p.csv")] == ["fine", "poor", "fine", "poor"], (
        "texts of these words alone"
    )
    assert load_model("m.skops").extractor.word_vectors is None, "its words are in the network"


def test_texts_to_rows(texts):
    network = ("--word-vectors", "v.txt", "--maps", "6")
    labelled = ("T.csv", "--text", "review", "--label", "mood")
    assert main(["features", "texts", *labelled, *network, "--out", "T.npz", "--save-extractor", "e.skops"]) == 0
    assert main(["features", "texts", "pile.txt", "--with", "e.skops", "--out", "S.npz"]) == 0
    with np.load("T.npz") as T, np.load("S.npz") as S:
        assert T["X"].shape == (20, 18) and S["X"].shape == (30, 18)
        assert T["y"].tolist() == ["fine", "poor"] * 10 and "y" not in S
        assert S["names"].tolist() == list(range(1, 31))
    files = ("--target", "T.npz", "--label", "y", "--source", "S.npz")
    assert main(["fit", *files, "--guard", "off", "--out", "m.skops"]) == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["fit", "--target", "new/rows", "--source", "labelled", "--features", "sift"], "new/rows has no classes"),
        (["fit", *PLACES, "--features", "sift", "--label", "y"], "the classes of images are the names of sub-folders"),
        (["fit", "--target", "none", "--source", "pile", "--features", "sift"], "there is no folder none"),
        (["fit", *PLACES, "--features", "onnx"], "name the network's file by --model"),
        (["fit", *PLACES, "--features", "vgg19", "--weights", "none.pth"], "there is no file none.pth"),
        (["fit", "--target", "T.csv", "--source", "S.csv"], "name the column of the target that holds the classes"),
        (["fit", *PLACES, "--features", "sift", "--cache", "pile/c"], "lies in pile, and would count among"),
        (["features", "texts", "x.txt"], "sentence-cnn learns from labelled texts"),
        (["features", "texts", "x.txt", "--extractor", "sentence-onnx", "--model", "m.onnx"], "--tokenizer FILE"),
    ],
)
def test_what_cannot_be_done_is_said_before_any_work(command, message, photos, capsys):
    (photos / "x.txt").write_text("one\ntwo\n")
    out = "o.npz" if command[0] == "features" else "o.skops"
    assert main([*command, "--out", out, "--words", "12"] if command[0] == "fit" else [*command, "--out", out]) == 2
    _, err = capsys.readouterr()
    assert message in err and len(err.splitlines()) == 1
    assert not (photos / out).exists()


def test_a_target_of_one_class_is_refused(photos, capsys):
    for path in (photos / "labelled" / "rows").iterdir():
        path.unlink()
    assert main(["fit", *PLACES, *SIFT, "--out", "m.skops"]) == 4
    assert "only one class, 'columns'" in capsys.readouterr().err
