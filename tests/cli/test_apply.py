"""``predict`` and ``score``: a model applied to new rows, and what goes wrong with either."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selftaught.cli import apply, main
from selftaught.persistence import load_model
from selftaught.source import SourcePool


@pytest.fixture
def model(files):
    """The path of a fitted model, and the model."""
    options = ("--id", "scan", "--n-select", "9", "--guard", "off")
    assert main(files.learn("fit", "m.skops", *options)) == 0
    return files.path("m.skops"), load_model(files.path("m.skops")).model


def features(files, frame):
    return frame[files.target.columns[:-1]]


@pytest.mark.parametrize("new", ["N.csv", "N.parquet"])
def test_predictions_of_new_rows(files, model, new, capsys):
    path, clf = model
    capsys.readouterr()
    assert main(["predict", path, files.path(new), "--out", files.path("p.csv")]) == 0
    predicted = pd.read_csv(files.path("p.csv"))
    X = features(files, files.new)
    assert predicted.columns.tolist() == ["id", "prediction", "confidence"]
    assert predicted["id"].tolist() == list(range(len(X)))
    assert predicted["prediction"].tolist() == clf.predict(X).tolist()
    assert_allclose(predicted["confidence"], clf.predict_proba(X).max(axis=1), rtol=1e-9)
    out, err = capsys.readouterr()
    assert "60 rows" in out and err == ""


def test_small_blocks_predict_the_same(files, model, monkeypatch):
    path, clf = model
    whole = apply.as_pool
    monkeypatch.setattr(apply, "as_pool", lambda *args: SourcePool(whole(*args), block_rows=7))
    assert main(["predict", path, files.path("N.csv"), "--out", files.path("p.parquet")]) == 0
    predicted = pd.read_parquet(files.path("p.parquet"))
    assert predicted["prediction"].tolist() == clf.predict(features(files, files.new)).tolist()


@pytest.mark.parametrize(
    "labels",
    [["01", "2", "3.50"], [3, -1, 7], [True, False], ["NA", "null", " x "]],
    ids=["digits", "int", "bool", "NA"],
)
def test_labels_of_csv_come_back_as_they_were(files, labels):
    y = np.array(labels)[files.problem.y % len(labels)]
    files.target.assign(fruit=y).to_csv(files.path("T.csv"), index=False)
    assert main(files.learn("fit", "m.skops", "--id", "scan", "--guard", "off")) == 0
    assert main(["predict", files.path("m.skops"), files.path("N.csv"), "--out", files.path("p.csv")]) == 0
    found = pd.read_csv(files.path("p.csv"), dtype=str, keep_default_na=False)["prediction"]
    assert {*found} <= {str(label) for label in labels} and found.nunique() > 1


LABELS = {
    "int8": np.array([3, -1, 7], dtype="int8"),
    "bool": np.array([True, False, False]),
    "dates": np.array(["2024-01-31", "2024-02-01", "1969-07-20"], dtype="datetime64[us]"),
    "text": np.array(["NA", "", "x"], dtype=object) + "_",
}


@pytest.mark.parametrize("kind", [*LABELS, "category"])
def test_labels_of_parquet_keep_their_type(files, kind):
    y = LABELS["text" if kind == "category" else kind][files.problem.y]
    column = pd.Categorical(y) if kind == "category" else y
    files.target.assign(fruit=column).to_parquet(files.path("T.parquet"))
    assert main(files.learn("fit", "m.skops", "--id", "scan", "--guard", "off", target="T.parquet")) == 0
    assert main(["predict", files.path("m.skops"), files.path("N.csv"), "--out", files.path("p.parquet")]) == 0
    found = pd.read_parquet(files.path("p.parquet"))["prediction"]
    assert {*found} <= {*pd.Series(y)} and found.nunique() > 1
    if y.dtype != object:
        assert found.dtype == y.dtype


def test_ids_are_kept_where_they_are_found(files, model):
    path, _ = model
    ids = [f"n{i}" for i in range(60)]
    out = files.path("p.csv")
    files.new.assign(scan=ids, other=[f"o{i}" for i in range(60)]).to_csv(files.path("both.csv"), index=False)
    files.new.assign(scan=ids).to_csv(files.path("scan.csv"), index=False)
    assert main(["predict", path, files.path("scan.csv"), "--out", out]) == 0
    assert pd.read_csv(out)["id"].tolist() == ids, "the id column of the fit"
    assert main(["predict", path, files.path("both.csv"), "--id", "other", "--out", out]) == 0
    assert pd.read_csv(out)["id"].tolist() == [f"o{i}" for i in range(60)]


def test_scores_of_a_new_source(files, model):
    path, clf = model
    assert main(["score", path, files.path("S.csv"), "--out", files.path("s.csv")]) == 0
    scored = pd.read_csv(files.path("s.csv"))
    expected = clf.score_source(SourcePool(features(files, files.source)))
    assert scored.columns.tolist() == ["id", "rank", "score"]
    assert scored["id"].tolist() == files.source["scan"].tolist()
    assert_allclose(scored["score"], expected, rtol=1e-6)
    in_order = scored.sort_values("rank")["score"].to_numpy()
    assert_array_equal(scored["rank"].sort_values(), np.arange(1, 61))
    assert (np.diff(in_order) <= 0).all()


def test_a_model_of_arrays_takes_arrays_and_tables(files, capsys):
    np.savez(files.path("T.npz"), X=files.problem.X, fruit=files.problem.y)
    np.save(files.path("S.npy"), files.problem.X_source)
    np.save(files.path("N.npy"), files.problem.X_test)
    pd.DataFrame(files.problem.X_test).to_csv(files.path("N.csv"), index=False)
    assert main(files.learn("fit", "m.skops", "--guard", "off", target="T.npz", source="S.npy")) == 0
    for name in ("N.npy", "N.csv"):
        assert main(["predict", files.path("m.skops"), files.path(name), "--out", files.path(f"{name}.csv")]) == 0
    assert (files.folder / "N.npy.csv").read_bytes() == (files.folder / "N.csv.csv").read_bytes()


# What goes wrong


def refused(capsys, left_behind, code, arguments):
    before = left_behind()
    capsys.readouterr()
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == "" and left_behind() == before
    assert err.startswith("selftaught: ") and err.count("\n") == 1
    return err


@pytest.mark.parametrize("command", ["predict", "score"])
def test_files_that_are_not_there(files, model, capsys, left_behind, command):
    out = files.path("o.csv")
    said = refused(capsys, left_behind, 2, [command, files.path("none.skops"), files.path("N.csv"), "--out", out])
    assert "there is no model file" in said
    said = refused(capsys, left_behind, 2, [command, model[0], files.path("none.csv"), "--out", out])
    assert "there is no file" in said
    said = refused(capsys, left_behind, 2, [command, model[0], files.path("N.csv"), "--out", files.path("o.txt")])
    assert "o.txt must end in one of" in said


@pytest.mark.parametrize("command", ["predict", "score"])
def test_rows_that_do_not_fit_the_model(files, model, capsys, left_behind, command):
    files.new.drop(columns="f2").to_csv(files.path("few.csv"), index=False)
    files.new.assign(f2="red").to_csv(files.path("text.csv"), index=False)
    np.save(files.path("narrow.npy"), files.problem.X_test[:, :3])
    cases = {
        "few.csv": "few.csv does not have the expected columns: missing 'f2'",
        "text.csv": "column 'f2' of",
        "narrow.npy": "narrow.npy has 3 features, but 20 are expected",
    }
    for name, message in cases.items():
        said = refused(capsys, left_behind, 4, [command, model[0], files.path(name), "--out", files.path("o.csv")])
        assert message in said and "X_source" not in said
    arguments = [command, model[0], files.path("N.csv"), "--id", "scan", "--out", files.path("o.csv")]
    assert "N.csv has no column 'scan'" in refused(capsys, left_behind, 4, arguments)


@pytest.mark.parametrize("command", ["predict", "score"])
def test_a_model_that_is_none(files, capsys, left_behind, command):
    (files.folder / "bad.skops").write_bytes(b"rubbish")
    arguments = [command, files.path("bad.skops"), files.path("N.csv"), "--out", files.path("o.csv")]
    assert "bad.skops is not a model of selftaught's, or is damaged" in refused(capsys, left_behind, 4, arguments)


def test_a_model_that_cannot_score_says_so(files, model, capsys, left_behind, monkeypatch):
    monkeypatch.delattr(type(model[1].selector_), "score_source")
    arguments = ["score", model[0], files.path("S.csv"), "--out", files.path("o.csv")]
    assert "m.skops cannot score rows: its method, GASTLSelector" in refused(capsys, left_behind, 2, arguments)


def test_without_skops_the_way_to_get_it_is_said(files, capsys, left_behind, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    said = refused(capsys, left_behind, 2, files.learn("fit", "m.skops", "--id", "scan"))
    assert "pip install 'selftaught[persist]'" in said
