"""``select`` and ``fit`` as a person meets them: what is written, what is said, and what goes wrong."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import parquet

import selftaught
from selftaught import GASTLClassifier, SourcePool, model_selection
from selftaught.cli import learn, main, methods
from selftaught.encoders import SourceEncoder
from selftaught.persistence import hash_file, load_model
from selftaught.selectors import SourceSelector

COLUMNS = ["id", "rank", "relevance", "weight", "selected", "pseudo_label", "confidence"]


def in_python(files, **options):
    """What the library says of the same problem."""
    clf = GASTLClassifier(random_state=0, **options)
    pool = SourcePool(files.source.drop(columns="scan")[files.target.columns[:-1]])
    return clf.fit(files.target.drop(columns="fruit"), files.target["fruit"].to_numpy(), X_source=pool)


def refuse(curve, judge=model_selection.judge_transfer):
    """A guard that always refuses."""
    return dataclasses.replace(judge(curve), used=False, n_select=0, reason="Not used: it would hurt.")


# The selection


@pytest.mark.parametrize("source", ["S.csv", "S.parquet"])
def test_the_selection_has_one_line_for_each_source_row(files, source, capsys):
    assert (
        main(files.learn("select", "sel.csv", "--id", "scan", "--n-select", "9", "--guard", "off", source=source)) == 0
    )
    selection = pd.read_csv(files.path("sel.csv"), keep_default_na=True)
    clf = in_python(files, n_select=9, guard="off")
    assert selection.columns.tolist() == COLUMNS
    assert selection["id"].tolist() == files.source["scan"].tolist(), "in the source's own order"
    assert_array_equal(np.argsort(selection["rank"]), clf.ranking_)
    assert_allclose(selection["relevance"], clf.relevance_, rtol=1e-9)
    assert_allclose(selection["weight"], clf.weights_, rtol=1e-9)
    assert_array_equal(np.flatnonzero(selection["selected"]), np.sort(clf.selected_))
    used = selection.iloc[clf.selected_]
    assert used["pseudo_label"].tolist() == clf.classes_[clf.pseudo_labels_.argmax(axis=1)].tolist()
    assert_allclose(used["confidence"], clf.pseudo_labels_.max(axis=1), rtol=1e-9)
    assert selection.drop(index=clf.selected_)[["pseudo_label", "confidence"]].isna().all(axis=None)
    out, err = capsys.readouterr()
    assert err == "", "no progress in a pipe"
    assert "60 rows" in out and "15 labelled rows of 3 classes, 20 features" in out
    assert "Used without asking" in out and files.path("sel.csv") in out


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_the_selection_says_the_same_in_every_format(files, suffix):
    assert main(files.learn("select", f"sel.{suffix}", "--id", "scan", "--n-select", "9", "--guard", "off")) == 0
    path, clf = files.path(f"sel.{suffix}"), in_python(files, n_select=9, guard="off")
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "npz": np.load}[suffix](path)
    assert list(read) == COLUMNS
    assert list(read["id"]) == files.source["scan"].tolist()
    assert_allclose(read["weight"], clf.weights_, rtol=1e-9)
    assert_array_equal(np.flatnonzero(read["selected"]), np.sort(clf.selected_))
    labels = np.asarray(read["pseudo_label"])[clf.selected_]
    assert labels.tolist() == clf.classes_[clf.pseudo_labels_.argmax(axis=1)].tolist()


def test_without_ids_rows_are_counted_from_0(files):
    assert main(files.learn("select", "sel.csv", "--drop", "scan", "--method", "random", "--guard", "off")) == 0
    assert pd.read_csv(files.path("sel.csv"))["id"].tolist() == list(range(60))


def test_row_ids_that_look_like_numbers_come_back_as_written(files):
    source = files.source.assign(scan=[f"{i:04}" for i in range(60)])
    source.to_csv(files.path("S.csv"), index=False)
    assert main(files.learn("select", "sel.csv", "--id", "scan", "--method", "all", "--guard", "off")) == 0
    assert pd.read_csv(files.path("sel.csv"), dtype=str)["id"].tolist() == source["scan"].tolist()


def test_where_the_guard_refuses_the_rows_are_ranked_and_none_is_selected(files, monkeypatch, capsys):
    monkeypatch.setattr("selftaught.classifiers.self_taught.judge_transfer", refuse)
    assert main(files.learn("select", "sel.parquet", "--id", "scan", "--n-select", "9")) == 0
    selection = parquet.read_table(files.path("sel.parquet")).to_pydict()
    assert sorted(selection["rank"]) == list(range(1, 61)) and max(selection["relevance"]) > 0
    assert not any(selection["selected"])
    assert selection["pseudo_label"] == selection["confidence"] == [None] * 60
    assert "it would hurt" in capsys.readouterr().out


# Columns are matched by name


@pytest.mark.parametrize("target", ["T.csv", "T.parquet"])
@pytest.mark.parametrize("source", ["S.csv", "S.parquet"])
def test_formats_and_the_order_of_columns_change_nothing(files, target, source):
    options = ("--id", "scan", "--n-select", "9", "--guard", "off")
    assert main(files.learn("fit", "m.skops", *options, target=target, source=source)) == 0
    found, clf = load_model(files.path("m.skops")).model, in_python(files, n_select=9, guard="off")
    X_new = files.new[files.target.columns[:-1]]
    assert found.feature_names_in_.tolist() == clf.feature_names_in_.tolist()
    assert_allclose(found.predict_proba(X_new), clf.predict_proba(X_new), rtol=1e-6)
    assert_array_equal(found.selected_, clf.selected_)
    assert found.source_index_[found.ranking_[0]] == files.source["scan"][clf.ranking_[0]]


def test_arrays_are_matched_by_position(files):
    problem = files.problem
    np.save(files.path("T.npy"), problem.X)
    np.save(files.path("y.npy"), problem.y)
    np.savez(files.path("T.npz"), X=problem.X, fruit=problem.y)
    np.save(files.path("S.npy"), problem.X_source)
    np.savez(files.path("S.npz"), X=problem.X_source, scan=np.arange(60))
    options = ("--n-select", "9", "--guard", "off")
    y = files.path("y.npy")
    assert main(files.learn("fit", "a.skops", *options, target="T.npy", source="S.npy", label=y)) == 0
    assert main(files.learn("fit", "b.skops", *options, "--id", "scan", target="T.npz", source="S.npz")) == 0
    clf = in_python(files, n_select=9, guard="off")
    for name in ("a.skops", "b.skops"):
        found = load_model(files.path(name)).model
        assert_array_equal(found.selected_, clf.selected_)
        assert found.predict(problem.X_test).dtype == problem.y.dtype


def test_a_label_in_the_source_is_not_looked_at(files):
    for name, fruit in (("a", "apple"), ("b", "nobody knows")):
        files.source.assign(fruit=fruit).to_csv(files.path("S.csv"), index=False)
        assert main(files.learn("select", f"{name}.csv", "--id", "scan")) == 0
    assert (files.folder / "a.csv").read_bytes() == (files.folder / "b.csv").read_bytes()


def test_a_column_dropped_is_no_feature(files):
    files.target.assign(note="text").to_csv(files.path("T.csv"), index=False)
    assert main(files.learn("fit", "m.skops", "--drop", "note", "--drop", "scan", "--guard", "off")) == 0
    assert "note" not in load_model(files.path("m.skops")).model.feature_names_in_


# Options reach the library


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), dict(n_select="auto", guard="fallback", random_state=0, n_jobs=None)),
        (("--n-select", "7"), dict(n_select=7)),
        (("--n-select", "0.25"), dict(n_select=0.25)),
        (("--n-select", "1.0"), dict(n_select=1.0)),
        (("--guard", "warn", "--seed", "5", "--jobs", "-1"), dict(guard="warn", random_state=5, n_jobs=-1)),
    ],
)
def test_options_become_parameters(files, monkeypatch, options, expected):
    given = []

    def fit(self, X, y, *, X_source):
        given.append(self.get_params())
        raise KeyboardInterrupt

    monkeypatch.setattr(GASTLClassifier, "fit", fit)
    assert main(files.learn("fit", "m.skops", "--id", "scan", *options)) == 130
    assert {name: given[0][name] for name in expected} == expected
    assert type(given[0]["n_select"]) is type(expected.get("n_select", "auto"))


@pytest.mark.parametrize("name", [name for name, cls in methods.METHODS.items() if hasattr(selftaught, cls)])
def test_every_method_that_is_here_fits_and_predicts(files, name):
    assert (
        main(files.learn("fit", "m.skops", "--id", "scan", "--method", name, "--guard", "off", "--n-select", "9")) == 0
    )
    saved = load_model(files.path("m.skops"))
    assert type(saved.model.selector_).__name__ == methods.METHODS[name]
    assert saved.provenance.method == name
    assert main(["predict", files.path("m.skops"), files.path("N.csv"), "--out", files.path("p.csv")]) == 0


def test_a_method_that_is_not_here_is_said_to_be_missing(files, monkeypatch, capsys, left_behind):
    monkeypatch.setitem(methods.METHODS, "mls", "NoSuchSelector")
    assert main(files.learn("fit", "m.skops", "--id", "scan", "--method", "mls")) == 2
    said = (
        f"selftaught: method 'mls' is not part of selftaught {selftaught.__version__}, which has no NoSuchSelector.\n"
    )
    assert capsys.readouterr() == ("", said)
    assert left_behind() == set()


def test_every_name_stands_for_a_selector_or_an_encoder_that_is_told_apart():
    for name, cls in methods.SELECTORS.items():
        if hasattr(selftaught, cls):
            assert issubclass(getattr(selftaught, cls), SourceSelector), name
    for name, cls in methods.ENCODERS.items():
        if hasattr(selftaught, cls):
            assert issubclass(getattr(selftaught, cls), SourceEncoder), name


# The model


def test_the_model_tells_where_it_comes_from(files):
    assert main(files.learn("fit", "m.skops", "--id", "scan", "--seed", "4", "--n-select", "9")) == 0
    saved = load_model(files.path("m.skops"))
    provenance = saved.provenance
    assert (provenance.method, provenance.seed) == ("gastl", 4)
    assert provenance.inputs == {"target": hash_file(files.path("T.csv")), "source": hash_file(files.path("S.csv"))}
    assert provenance.verdict == saved.model.transfer_.reason
    assert provenance.columns == {"label": "fruit", "id": "scan", "drop": []}
    assert provenance.versions["selftaught"] == selftaught.__version__


def test_the_same_files_and_seed_give_the_same_model(files):
    for name in ("a", "b"):
        assert main(files.learn("select", f"{name}.csv", "--id", "scan", "--method", "random", "--seed", "3")) == 0
    assert main(files.learn("select", "c.csv", "--id", "scan", "--method", "random", "--seed", "4")) == 0
    a, b, c = ((files.folder / f"{name}.csv").read_bytes() for name in "abc")
    assert a == b != c


# What goes wrong: one sentence, an exit code, no file


def refused(files, capsys, left_behind, code, arguments):
    """The one line that a refused command says."""
    before = left_behind()
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == "" and left_behind() == before
    assert err.startswith("selftaught: ") and err.count("\n") == 1 and "Traceback" not in err
    assert "X_source" not in err, "a person at the command line knows no such thing"
    return err


USAGE = {
    "no such file": (dict(target="none.csv"), "there is no file .*none.csv"),
    "not a table": (dict(source="notes.txt"), "notes.txt must end in one of .csv"),
    "a folder": (dict(source="folder.csv"), "folder.csv is a folder"),
    "no such place": (dict(out="none/sel.csv"), "there is no folder .*none to write sel.csv into"),
    "result of no kind": (dict(out="sel.xlsx"), "sel.xlsx must end in one of .csv, .parquet, .npz"),
    "over its input": (dict(out="T.csv"), "T.csv is read and cannot be written to as well"),
}


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage_is_found_before_the_work(files, capsys, left_behind, monkeypatch, case):
    (files.folder / "folder.csv").mkdir()
    (files.folder / "notes.txt").touch()
    names, message = USAGE[case]
    monkeypatch.setattr(learn, "read_problem", lambda arguments: pytest.fail("nothing is read"))
    inputs = {name: value for name, value in names.items() if name != "out"}
    arguments = files.learn("select", names.get("out", "sel.csv"), **inputs)
    assert re.search(message, refused(files, capsys, left_behind, 2, arguments))


@pytest.mark.parametrize(
    "options",
    [
        ("--n-select", "0.0"),
        ("--n-select", "1.5"),
        ("--n-select", "many"),
        ("--seed", "-1"),
        ("--jobs", "0"),
        ("--method", "magic"),
        ("--guard", "maybe"),
    ],
)
def test_values_that_no_option_takes(files, capsys, left_behind, options):
    with pytest.raises(SystemExit) as exit_:
        main(files.learn("select", "sel.csv", *options))
    assert exit_.value.code == 2
    assert options[0] in capsys.readouterr().err and left_behind() == set()


def test_what_describes_rows_cannot_select_them(files, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(files.learn("select", "sel.csv", "--method", "stl"))
    assert exit_.value.code == 2
    assert "invalid choice: 'stl'" in capsys.readouterr().err


def spoil(files, name, change):
    """Write one of the tables anew with a change."""
    frame = getattr(files, {"T": "target", "S": "source"}[name[0]])
    change(frame.copy()).to_csv(files.path(name), index=False)


def with_value(row, column, value):
    """A change that puts a value into one cell."""

    def change(frame):
        values = frame[column].astype(object).tolist()
        values[row] = value
        return frame.assign(**{column: values})

    return change


DATA = {
    "no label column": ("T.csv", lambda f: f.rename(columns={"fruit": "kind"}), "T.csv has no column 'fruit'; it has "),
    "no id column": ("S.csv", lambda f: f.rename(columns={"scan": "f99"}), "S.csv has no column 'scan'; it has "),
    "source lacks a column": ("S.csv", lambda f: f.drop(columns="f7"), "S.csv does not have .* missing 'f7'"),
    "source has one more": ("S.csv", lambda f: f.assign(more=1.0), "S.csv does not have .* unexpected 'more'"),
    "text in the source": ("S.csv", with_value(4, "f3", "much"), "column 'f3' of .*S.csv holds text"),
    "hole in the source": ("S.csv", with_value(4, "f3", None), "column 'f3' of .*S.csv has no value in row 5"),
    "hole in the target": ("T.csv", with_value(2, "f3", None), "column 'f3' of .*T.csv has no value in row 3"),
    "hole in the labels": ("T.csv", with_value(2, "fruit", None), "column 'fruit' of .*T.csv has no value in row 3"),
    "hole in the ids": ("S.csv", with_value(2, "scan", None), "column 'scan' of .*S.csv has no value in row 3"),
    "one class": ("T.csv", lambda f: f.assign(fruit="fig"), "column 'fruit' of .*T.csv holds only one class, 'fig'"),
    "no rows": ("T.csv", lambda f: f[:0], "T.csv has no rows"),
    "no source rows": ("S.csv", lambda f: f[:0], "S.csv has no rows"),
}


@pytest.mark.parametrize("case", DATA)
@pytest.mark.parametrize("command", ["select", "fit"])
def test_data_that_cannot_be_used(files, capsys, left_behind, command, case):
    name, change, message = DATA[case]
    spoil(files, name, change)
    arguments = files.learn(command, "sel.csv", "--id", "scan")
    assert re.search(message, refused(files, capsys, left_behind, 4, arguments))


def test_a_slip_of_the_pen_in_drop_is_noticed(files, capsys, left_behind):
    said = refused(files, capsys, left_behind, 4, files.learn("select", "sel.csv", "--id", "scan", "--drop", "f33"))
    assert "has a column 'f33' to drop" in said


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.linspace(0, 1, 15), "labels are classes"),
        ([[1, 2]] * 15, "give one value in each row"),
        ([b"a", b"b", b"c"] * 5, "labels are text, whole numbers, booleans or dates"),
    ],
)
def test_labels_that_are_no_classes(files, capsys, left_behind, labels, message):
    files.target.assign(fruit=list(labels)).to_parquet(files.path("T.parquet"))
    arguments = files.learn("select", "sel.csv", "--id", "scan", target="T.parquet")
    assert re.search(message, refused(files, capsys, left_behind, 4, arguments))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_value_in_an_array_names_its_file(files, capsys, left_behind, value):
    X_source = files.problem.X_source.copy()
    X_source[7, 3] = value
    np.save(files.path("S.npy"), X_source)
    np.savez(files.path("T.npz"), X=files.problem.X, fruit=files.problem.y)
    arguments = files.learn("select", "sel.csv", target="T.npz", source="S.npy")
    assert f"S.npy has {value} in row 7, column 3" in refused(files, capsys, left_behind, 4, arguments)


def test_arrays_of_another_width_name_the_file(files, capsys, left_behind):
    np.save(files.path("S.npy"), files.problem.X_source[:, :5])
    np.savez(files.path("T.npz"), X=files.problem.X, fruit=files.problem.y)
    said = refused(files, capsys, left_behind, 4, files.learn("fit", "m.skops", target="T.npz", source="S.npy"))
    assert "S.npy has 5 features, but 20 are expected" in said


@pytest.mark.parametrize("command", ["select", "fit"])
def test_a_refusal_under_guard_raise_ends_with_3_and_no_file(files, capsys, left_behind, monkeypatch, command):
    monkeypatch.setattr("selftaught.classifiers.self_taught.judge_transfer", refuse)
    arguments = files.learn(command, "out.csv", "--id", "scan", "--guard", "raise", "--n-select", "9")
    assert "it would hurt" in refused(files, capsys, left_behind, 3, arguments)


def test_ctrl_c_leaves_the_old_result(files, capsys, monkeypatch):
    (files.folder / "sel.csv").write_text("old")

    def interrupted(self, X, y, *, X_source):
        raise KeyboardInterrupt

    monkeypatch.setattr(GASTLClassifier, "fit", interrupted)
    assert main(files.learn("select", "sel.csv", "--id", "scan")) == 130
    assert capsys.readouterr() == ("", "selftaught: interrupted\n")
    assert (files.folder / "sel.csv").read_text() == "old"


@pytest.mark.filterwarnings("always")
def test_what_the_library_warns_of_is_one_line(files, capsys, monkeypatch):
    monkeypatch.setattr("selftaught.classifiers.self_taught.judge_transfer", refuse)
    assert main(files.learn("select", "sel.csv", "--id", "scan", "--n-select", "9", "--guard", "warn")) == 0
    out, err = capsys.readouterr()
    assert err == "selftaught: note: Used against the evidence: it would hurt.\n"
    assert "Used against the evidence" in out


# As a process of its own


def run(arguments, **options):
    command = [sys.executable, "-m", "selftaught", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_the_whole_way_in_processes_of_their_own(files):
    fit = run(files.learn("fit", "m.skops", "--id", "scan", "--n-select", "9", "--guard", "off"))
    assert (fit.returncode, fit.stderr) == (0, "")
    predict = run(["predict", files.path("m.skops"), files.path("N.csv"), "--out", files.path("p.csv")])
    assert (predict.returncode, predict.stderr) == (0, "")
    expected = in_python(files, n_select=9, guard="off").predict(files.new[files.target.columns[:-1]])
    assert pd.read_csv(files.path("p.csv"))["prediction"].tolist() == expected.tolist()
    bad = run(files.learn("fit", "m.skops", target="none.csv"))
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == f"selftaught: there is no file {files.path('none.csv')}.\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal's Ctrl-C, sent as POSIX does")
def test_ctrl_c_in_a_process_of_its_own(files, left_behind):
    rng = np.random.default_rng(0)
    np.save(files.path("S.npy"), rng.normal(size=(60_000, 100)))
    np.savez(files.path("T.npz"), X=rng.normal(size=(300, 100)), fruit=np.arange(300) % 3)
    before = left_behind()
    command = [sys.executable, "-m", "selftaught", *files.learn("select", "s.csv", target="T.npz", source="S.npy")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(8)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == ("", "selftaught: interrupted\n")
    assert process.returncode == 130 and left_behind() == before
