"""Film reviews from the authors' archive, its folder, and the one-file form."""

import gzip
import lzma
import tarfile

import pytest
from datasets.official_files import REVIEWS, tar_bytes, write_files, zip_bytes

from selftaught.datasets import BadArchive, fetch_imdb, load_imdb

TABLE = 'review,sentiment\r\n"Très bon!<br />Very good",positive\r\n"A bore,\nwith two lines",negative\r\n'.encode()
EXPECTED = [
    ("test", "negative", "Awful"),
    ("test", "positive", "Great"),
    ("train", "negative", "A bore,\nwith two lines"),
    ("train", "positive", "Très bon!<br />Very good"),
    ("train", "positive", "Fine"),
    ("train", "positive", "Nice"),
]


def check(reviews):
    assert [*zip(reviews.groups.tolist(), reviews.labels.tolist(), reviews.items, strict=True)] == EXPECTED
    assert reviews.class_names == ("negative", "positive")


def test_the_archive_is_read_without_unpacking(tmp_path):
    archive = tmp_path / "aclImdb_v1.tar.gz"
    shuffled = dict(reversed(REVIEWS.items()))  # the order inside the archive does not matter
    archive.write_bytes(tar_bytes(shuffled, compress=gzip.compress))
    check(load_imdb(archive))
    check(load_imdb(tmp_path))
    assert [*tmp_path.iterdir()] == [archive]


def test_the_folder_is_read_from_inside_and_outside(tmp_path):
    write_files(tmp_path, REVIEWS)
    check(load_imdb(tmp_path))
    check(load_imdb(tmp_path / "aclImdb"))


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("IMDB Dataset.csv", bytes),
        ("IMDB Dataset.csv.gz", gzip.compress),
        ("IMDB_Dataset.csv.xz", lzma.compress),
        ("IMDB Dataset.csv.zip", lambda content: zip_bytes({"IMDB Dataset.csv": content})),
        ("archive.zip", lambda content: zip_bytes({"__MACOSX/._x.csv": b"", "IMDB Dataset.csv": content})),
    ],
)
def test_the_table_is_read_plain_or_compressed(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(TABLE))
    reviews = load_imdb(tmp_path / name)
    assert reviews.items.tolist() == ["Très bon!<br />Very good", "A bore,\nwith two lines"]
    assert reviews.labels.tolist() == ["positive", "negative"] and reviews.groups is None


@pytest.mark.parametrize("share", [0.1, 0.5, 0.98])
def test_a_damaged_archive_is_refused(tmp_path, share):
    content = tar_bytes(REVIEWS, compress=gzip.compress)
    (tmp_path / "aclImdb_v1.tar.gz").write_bytes(content[: int(share * len(content))])
    with pytest.raises(BadArchive, match="damaged, cut short"):
        load_imdb(tmp_path / "aclImdb_v1.tar.gz")


def test_an_archive_with_links_is_refused(tmp_path):
    link = ("aclImdb/train/pos/9_9.txt", "/etc/passwd", tarfile.SYMTYPE)
    (tmp_path / "a.tar").write_bytes(tar_bytes(REVIEWS, links=[link]))
    with pytest.raises(BadArchive, match="is a link"):
        load_imdb(tmp_path / "a.tar")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must have the columns review and sentiment, got none"),
        (b"text,label\na,1\n", "must have the columns review and sentiment, got text, label"),
        (b"review,sentiment\n", "a header but no reviews"),
        (b"review,sentiment\nfine,positive\nodd,neutral\n", "line 3: expected a review and positive or negative"),
        (b"review,sentiment\nfine, it is,positive\n", "line 2: expected a review"),
        (TABLE[:-20], "line 4: expected a review"),
    ],
)
def test_tables_of_another_form_are_refused(tmp_path, content, message):
    (tmp_path / "reviews.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_imdb(tmp_path / "reviews.csv")


def test_a_folder_without_reviews_says_what_was_expected(tmp_path):
    with pytest.raises(ValueError, match=r"holds no reviews. Expected aclImdb/train/pos/0_9.txt"):
        load_imdb(tmp_path)


def test_a_missing_file_is_named(tmp_path):
    for name in ("aclImdb_v1.tar.gz", "IMDB Dataset.csv"):
        with pytest.raises(FileNotFoundError, match=name):
            load_imdb(tmp_path / name)


def test_it_is_fetched(server, tmp_path, sha256):
    content = tar_bytes(REVIEWS, compress=gzip.compress)
    check(fetch_imdb(tmp_path, url=server.serve("aclImdb_v1.tar.gz", content), sha256=sha256(content)))
    assert (tmp_path / "imdb" / "aclImdb_v1.tar.gz").read_bytes() == content


@pytest.mark.slow
def test_the_real_table(shared_data):
    reviews = load_imdb(shared_data / "imdb")
    assert len(reviews.items) == 50_000 and reviews.y.sum() == 25_000
    assert len({*reviews.items}) == 49_582
    assert sum("<br />" in text for text in reviews.items) == 29_200
