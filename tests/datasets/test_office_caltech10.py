"""The four domains, from files, from the authors' archive, from a server; and the split between two of them."""

import io

import numpy as np
import pytest
from datasets.official_files import surf_files, write_files, zip_bytes
from scipy.io import savemat

from selftaught._download import RemoteFile
from selftaught.datasets import (
    BadArchive,
    FetchError,
    fetch_office_caltech10,
    load_office_caltech10,
    office_caltech10,
    office_caltech10_split,
)

FILES = surf_files()
ARCHIVE = {"ToRelease_GFK/README.txt": b"", **{f"ToRelease_GFK/data/{name}": FILES[name] for name in FILES}}


@pytest.fixture
def office(tmp_path):
    return load_office_caltech10(write_files(tmp_path, FILES))


def mat(**matrices):
    buffer = io.BytesIO()
    savemat(buffer, matrices)
    return buffer.getvalue()


def check(data):
    assert data.items.shape == (40 + 50 + 60 + 70, 800) and data.items.dtype == np.float64
    assert [*dict.fromkeys(data.groups.tolist())] == ["amazon", "caltech", "dslr", "webcam"]
    for i, domain in enumerate(("amazon", "caltech", "dslr", "webcam")):
        rows = data.groups == domain
        counts = np.random.default_rng(i).integers(0, 4, size=(rows.sum(), 800))
        assert np.array_equal(data.items[rows], counts)
        assert np.array_equal(data.y[rows], np.repeat(np.arange(10), 4 + i))
    assert data.class_names[:2] == ("backpack", "bike") and len(data.class_names) == 10


def test_four_files_in_a_folder(office):
    check(office)


def test_the_authors_archive(tmp_path):
    (tmp_path / "GFK_v1.zip").write_bytes(zip_bytes(ARCHIVE))
    check(load_office_caltech10(tmp_path / "GFK_v1.zip"))
    check(load_office_caltech10(tmp_path))


def test_a_missing_domain_is_named(tmp_path):
    write_files(tmp_path, {name: FILES[name] for name in FILES if "dslr" not in name})
    with pytest.raises(ValueError, match=r"lacks dslr_SURF_L10.mat. Expected the four files"):
        load_office_caltech10(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged or no MATLAB file"),
        (b"<html>404</html>", "damaged or no MATLAB file"),
        (FILES["dslr_SURF_L10.mat"][:300], "damaged or no MATLAB file"),
        (mat(fts=np.ones((3, 800))), r"damaged or no MATLAB file with fts and labels \('labels'\)"),
        (mat(fts=np.ones((3, 80)), labels=[[1], [2], [3]]), r"must hold fts of shape \(n, 800\) .* got .*\(3, 80\)"),
        (mat(fts=np.ones((3, 800)), labels=[[1], [2]]), "must hold fts"),
        (mat(fts=np.ones((2, 800)), labels=[[0], [11]]), r"labels from 1 to 10, got .* labels \[ 0 11\]"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    write_files(tmp_path, {**FILES, "dslr_SURF_L10.mat": content})
    with pytest.raises(ValueError, match=message) as caught:
        load_office_caltech10(tmp_path)
    assert "dslr_SURF_L10.mat" in str(caught.value)


def test_any_damage_to_a_file_is_a_clear_error(tmp_path, rng):
    whole = FILES["dslr_SURF_L10.mat"]
    for _ in range(300):
        changed = bytearray(whole[: rng.integers(1, len(whole))] if rng.random() < 0.3 else whole)
        changed[rng.integers(len(changed))] ^= rng.integers(1, 256)
        try:
            office_caltech10._read_domain(bytes(changed), "dslr")
        except ValueError as error:
            assert str(error).startswith("dslr ")


def test_a_damaged_archive_is_refused(tmp_path):
    (tmp_path / "GFK_v1.zip").write_bytes(zip_bytes(ARCHIVE)[:-40])
    with pytest.raises(BadArchive, match="damaged, cut short"):
        load_office_caltech10(tmp_path)


def test_the_four_files_are_fetched_and_verified(server, tmp_path, sha256, monkeypatch):
    table = tuple(
        RemoteFile("office_caltech10", name, None, len(FILES[name]), sha256(FILES[name]), "nowhere") for name in FILES
    )
    monkeypatch.setattr(office_caltech10, "OFFICE_CALTECH10", table)
    for name in FILES:
        server.serve(name, FILES[name], cuts=[100])
    check(fetch_office_caltech10(tmp_path, url=server.url + "/"))
    assert len(server.asked) == 8
    assert sorted(path.name for path in (tmp_path / "office_caltech10").iterdir()) == sorted(FILES)


def test_the_authors_archive_waits_for_confirmation(server, tmp_path, sha256):
    content = zip_bytes(ARCHIVE)
    address = server.serve("GFK_v1.zip", content)
    with pytest.raises(FetchError, match=f"Nobody publishes.*sha256='{sha256(content)}'"):
        fetch_office_caltech10(tmp_path, distribution="archive", url=address)
    check(fetch_office_caltech10(tmp_path, distribution="archive", url=address, sha256=sha256(content)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distribution": "images"}, "must be 'files' or 'archive', got 'images'"),
        ({"sha256": "0" * 64}, "the four files have checksums of their own"),
    ],
)
def test_impossible_requests_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        fetch_office_caltech10(tmp_path, **options)


def test_one_domain_is_the_source_of_another(office):
    problem = office_caltech10_split(office, source="webcam", target="amazon", n_labels=2, random_state=0)
    assert np.bincount(problem.y).tolist() == [2] * 10 == np.bincount(problem.y_test).tolist()
    assert problem.X_source.shape == (70, 800) and problem.source_is_relevant.all()
    for X in (problem.X, problem.X_source, problem.X_test):
        assert X.sum(axis=1) == pytest.approx(1)
    amazon = np.concatenate([problem.X, problem.X_test])
    assert len(np.unique(amazon, axis=0)) == 40, "every row is dealt once"
    rows = {row.tobytes(): y for row, y in zip(office.items, office.y, strict=True)}
    sums = office.items[office.groups == "webcam"].sum(axis=1)
    for row, code in zip(problem.X_source, problem.source_classes, strict=True):
        assert code in [rows.get((row * s).round().tobytes()) for s in {*sums.tolist()}]


def test_the_seed_decides_the_split(office):
    one, same, other = (
        office_caltech10_split(office, source="dslr", target="webcam", random_state=s) for s in (1, 1, 2)
    )
    assert np.array_equal(one.X, same.X) and np.array_equal(one.X_source, same.X_source)
    assert not np.array_equal(one.X, other.X) and not np.array_equal(one.X_source, other.X_source)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "amazon"}, "two of amazon, caltech, dslr, webcam, got 'amazon' and 'amazon'"),
        ({"source": "imdb"}, "got 'imdb' and 'webcam'"),
        ({"n_labels": 7}, "n_labels must be below 7, the rows of the smallest class of 'webcam', got 7"),
        ({"n_labels": 0}, "n_labels must be at least 1, got 0"),
    ],
)
def test_impossible_splits_are_refused(office, change, message):
    with pytest.raises(ValueError, match=message):
        office_caltech10_split(office, **{"source": "amazon", "target": "webcam", **change})


def test_an_empty_histogram_stays_empty(office):
    office.items[office.groups == "amazon"] = 0
    assert not office_caltech10_split(office, source="amazon", target="dslr").X_source.any()


def test_the_real_files(shared_data):
    data = load_office_caltech10(shared_data / "office_caltech10")
    sizes = {domain: int((data.groups == domain).sum()) for domain in ("amazon", "caltech", "dslr", "webcam")}
    assert sizes == {"amazon": 958, "caltech": 1123, "dslr": 157, "webcam": 295}
    amazon = np.bincount(data.y[data.groups == "amazon"]).tolist()
    assert amazon == [92, 82, 94, 99, 100, 100, 99, 100, 94, 98]
    problem = office_caltech10_split(data, source="amazon", target="dslr", random_state=0)
    assert problem.X.shape == (30, 800) and len(problem.X_test) == 127
