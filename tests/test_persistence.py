"""Models as files: what is loaded says the same as what was saved, and nothing but our own types is loaded."""

import io
import json
import os
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from small_problems import ENCODERS, SELECTORS, TAKE_A_SOURCE, quick, results, same, small_problem

from selftaught import GASTLClassifier, SelfTaughtClassifier, SoftmaxClassifier, SourcePool, persistence
from selftaught.persistence import Provenance, SavedModel, get_trusted_types, hash_file, load_model, save_model

skops_io = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def problem():
    return small_problem()


def round_trip(model, folder):
    save_model(model, folder / "model.skops")
    return load_model(folder / "model.skops").model


def fitted(cls, problem, **changes):
    return quick(cls, **changes).fit(problem.X, problem.y, X_source=SourcePool(problem.X_source))


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_every_estimator_says_the_same_after_loading(cls, problem, tmp_path):
    estimator = fitted(cls, problem)
    loaded = round_trip(estimator, tmp_path)
    assert type(loaded) is cls and loaded.get_params(deep=False).keys() == estimator.get_params(deep=False).keys()
    assert same(results(loaded, problem), results(estimator, problem), rtol=0, atol=0)


@pytest.mark.parametrize("method", SELECTORS + ENCODERS)
def test_every_method_inside_a_classifier_says_the_same_after_loading(method, problem, tmp_path):
    estimator = fitted(SelfTaughtClassifier, problem, selector=quick(method), guard="off")
    loaded = round_trip(estimator, tmp_path)
    assert same(results(loaded, problem), results(estimator, problem), rtol=0, atol=0)
    assert repr(loaded.transfer_) == repr(estimator.transfer_), "as text, since an untested gain is NaN"


@pytest.mark.parametrize("cls", TAKE_A_SOURCE)
def test_a_model_is_made_of_declared_types_alone(cls, problem, tmp_path):
    save_model(fitted(cls, problem), tmp_path / "model.skops")
    assert {*skops_io.get_untrusted_types(file=tmp_path / "model.skops")} <= {*get_trusted_types()}


def test_declared_are_our_own_types_and_plain_data_and_no_function():
    for name in get_trusted_types():
        assert name.startswith(("selftaught.", "scipy.sparse.")) or name == "numpy.dtype"
        module, _, kind = name.rpartition(".")
        __import__(module)
        assert isinstance(getattr(sys.modules[module], kind), type), f"{name} can be looked up, and is a class"


@pytest.mark.parametrize(
    "y",
    [
        ["pear", "fig", "kiwi"],
        np.array([b"no"[0], 7, 0], dtype=np.uint8),
        np.array(["2024-01-31", "2024-02-01", "2024-03-01"], "datetime64[D]"),
        np.array(["a", "b", "c"], dtype=object),
    ],
    ids=["text", "small numbers", "dates", "objects"],
)
def test_labels_names_and_ids_survive(y, problem, tmp_path):
    names = [f"feature {i}" for i in range(20)]
    X, source = pd.DataFrame(problem.X, columns=names), pd.DataFrame(problem.X_source, columns=names)
    source.index = pd.Index(np.array([f"scan-{i}" for i in range(len(source))]))
    estimator = quick(GASTLClassifier).fit(X, np.asarray(y)[problem.y], X_source=SourcePool(source))
    loaded = round_trip(estimator, tmp_path)
    assert_array_equal(loaded.classes_, estimator.classes_)
    assert loaded.classes_.dtype == estimator.classes_.dtype
    assert_array_equal(loaded.feature_names_in_, names)
    assert_array_equal(loaded.source_index_, source.index)
    assert_array_equal(loaded.predict(X), estimator.predict(X))


def test_float32_and_another_final_classifier_survive(problem, tmp_path):
    estimator = quick(GASTLClassifier, estimator=LogisticRegression())
    estimator.fit(problem.X.astype(np.float32), problem.y, X_source=SourcePool(problem.X_source.astype(np.float32)))
    loaded = round_trip(estimator, tmp_path)
    X = problem.X_test.astype(np.float32)
    assert_array_equal(loaded.predict_proba(X), estimator.predict_proba(X))
    assert loaded.predict_proba(X).dtype == estimator.predict_proba(X).dtype


def test_a_loaded_model_can_be_fitted_anew(problem, tmp_path):
    estimator = fitted(GASTLClassifier, problem)
    loaded = round_trip(estimator, tmp_path).fit(problem.X, problem.y, X_source=SourcePool(problem.X_source))
    assert same(results(loaded, problem), results(estimator, problem), rtol=0, atol=0)


def test_the_file_holds_no_pickle(problem, tmp_path):
    save_model(fitted(GASTLClassifier, problem), tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        assert {name.rpartition(".")[2] for name in archive.namelist()} <= {"json", "npy", "npz"}
        for name in archive.namelist():
            if not name.endswith("json"):
                np.load(io.BytesIO(archive.read(name)), allow_pickle=False)


def test_provenance_comes_back(problem, tmp_path):
    given = Provenance("gastl", 3, {"target": "ab"}, "Used: why not.", dict(label="y", id=None, drop=["a", "b"]))
    save_model(fitted(GASTLClassifier, problem), tmp_path / "model.skops", given)
    assert load_model(tmp_path / "model.skops").provenance == given
    assert given.versions.keys() == {"selftaught", "numpy", "scipy", "scikit-learn", "python"}


def test_a_model_of_another_version_is_loaded_with_a_warning(problem, tmp_path, monkeypatch):
    save_model(fitted(GASTLClassifier, problem), tmp_path / "model.skops")
    monkeypatch.setattr(persistence.selftaught, "__version__", "99.0")
    with pytest.warns(UserWarning, match=r"written by selftaught .*, and this is 99\.0: it may predict otherwise"):
        load_model(tmp_path / "model.skops")


# What is not a model of ours


class Foreign:
    """Not a type of the package's."""


def test_a_foreign_type_is_named_and_not_made(tmp_path):
    skops_io.dump(SavedModel(Foreign(), Provenance()), tmp_path / "model.skops")
    with pytest.raises(ValueError, match=r"model\.skops was not loaded: it holds types .*Foreign"):
        load_model(tmp_path / "model.skops")


def test_code_smuggled_into_a_model_does_not_run(tmp_path, problem):
    path, witness = tmp_path / "model.skops", tmp_path / "witness"
    save_model(SoftmaxClassifier().fit(problem.X, problem.y), path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(contents["schema.json"])
    argument = dict(__class__="str", __module__="builtins", __loader__="JsonNode", content=json.dumps(str(witness)))
    arguments = dict(__class__="tuple", __module__="builtins", __loader__="TupleNode", content=[argument])
    schema["content"]["content"]["model"] = dict(
        __class__="mkdir", __module__=os.mkdir.__module__, __loader__="ConstructorFromReduceNode", content=arguments
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (contents | {"schema.json": json.dumps(schema).encode()}).items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match="was not loaded: it holds types"):
        load_model(path)
    assert not witness.exists()


@pytest.mark.parametrize("content", [b"", b"rubbish", b"PK\x03\x04 rubbish"])
def test_a_file_that_is_no_model(tmp_path, content):
    (tmp_path / "model.skops").write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.skops is not a model of selftaught's, or is damaged"):
        load_model(tmp_path / "model.skops")


def test_a_damaged_model(tmp_path, problem):
    path = tmp_path / "model.skops"
    save_model(fitted(GASTLClassifier, problem), path)
    whole = path.read_bytes()
    for cut in (0.2, 0.5, 0.95):
        path.write_bytes(whole[: int(cut * len(whole))])
        with pytest.raises(ValueError, match="is damaged"):
            load_model(path)


def test_another_objects_file_is_not_taken_for_a_model(tmp_path):
    skops_io.dump({"a": 1}, tmp_path / "model.skops")
    with pytest.raises(ValueError, match="holds a dict, not a model written by save_model"):
        load_model(tmp_path / "model.skops")


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.skops")


def test_what_cannot_be_saved_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("old")
    with pytest.raises(Exception, match="generator"):
        save_model(dict(a=(i for i in range(3))), path)
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_without_skops_the_way_to_get_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"pip install 'selftaught\[persist\]'"):
        save_model(SoftmaxClassifier(), tmp_path / "model.skops")


def test_the_hash_is_that_of_the_bytes(tmp_path):
    (tmp_path / "T.csv").write_bytes(b"abc")
    # the published test vector of SHA-256
    assert hash_file(tmp_path / "T.csv") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
