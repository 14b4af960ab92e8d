"""A person's texts from every kind of file, and what is wrong with one."""

import argparse
import gzip
import lzma
import zipfile

import pandas as pd
import pytest

from selftaught.cli.terminal import UsageError
from selftaught.cli.texts import add_network_options, has_columns, make_sentence_cnn, read_texts

FRAME = pd.DataFrame({"id": [7, 8, 9], "review": ["Good, very good.", "naïve", ""], "mood": ["fine", "poor", "01"]})


def ys(found):
    assert found.y is not None
    return found.y.tolist()


def test_lines_are_texts(tmp_path):
    content = "one\u2028still one\r\n\ncaf\xe9\n".encode()
    for name, compress in (("t.txt", bytes), ("t.txt.gz", gzip.compress), ("t.TXT.xz", lzma.compress)):
        (tmp_path / name).write_bytes(compress(content))
        found = read_texts(tmp_path / name)
        assert found.items.tolist() == ["one\u2028still one", "", "café"]
        assert found.names.tolist() == [1, 2, 3] and found.y is None


def test_what_is_not_utf8_is_latin1_and_a_mark_at_the_start_is_passed_over(tmp_path):
    (tmp_path / "t.txt").write_bytes("\ufeffcafé\n".encode() + "café\n".encode("latin-1"))
    assert read_texts(tmp_path / "t.txt").items.tolist() == ["café", "café"]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.xz", "t.zip"])
def test_columns_of_csv(name, tmp_path):
    if name == "t.zip":
        FRAME.to_csv(tmp_path / "t.csv", index=False)
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.write(tmp_path / "t.csv", "t.csv")
    else:
        FRAME.to_csv(tmp_path / name, index=False)
    found = read_texts(tmp_path / name, "review", "mood")
    assert found.items.tolist() == FRAME["review"].tolist() and ys(found) == ["fine", "poor", "01"]
    assert read_texts(tmp_path / name, "review").y is None


def test_columns_of_parquet(tmp_path):
    FRAME.iloc[:2].to_parquet(tmp_path / "t.parquet")
    found = read_texts(tmp_path / "t.parquet", "review", "id")
    assert found.items.tolist() == ["Good, very good.", "naïve"] and ys(found) == ["7", "8"]


def test_the_only_other_column_is_the_text(tmp_path):
    FRAME[["mood", "review"]].to_csv(tmp_path / "t.csv", index=False)
    assert read_texts(tmp_path / "t.csv", label="mood").items.tolist() == FRAME["review"].tolist()


def test_folders_are_classes_as_in_aclimdb(tmp_path):
    for name, text in (
        ("pos/0_9.txt", "fine"),
        ("neg/1_2.txt", "poor"),
        ("neg/0_1.txt", "caf\xe9"),
        ("unsup/0_0.txt", "?"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="latin-1")
    found = read_texts(tmp_path)
    assert found.names.tolist() == ["neg/0_1.txt", "neg/1_2.txt", "pos/0_9.txt"]
    assert found.items.tolist() == ["café", "poor", "fine"] and ys(found) == ["neg", "neg", "pos"]
    assert read_texts(tmp_path / "unsup").y is None and len(read_texts(tmp_path / "unsup").items) == 1


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("t.doc", b"", {}, r"must end in one of .txt, .*, or be that of a folder"),
        ("t.txt", b"", {}, "holds no texts"),
        ("t.txt", b"a", {"label": "y"}, "is a file of lines and has no columns: leave out --text and --label"),
        ("t.txt.gz", gzip.compress(b"a" * 99, mtime=0)[:-9], {}, "is damaged or cut short"),
        ("t.csv", b"", {"text": "a"}, "has no column 'a'; it has none"),
        ("t.csv", b"a,b,c\n", {}, "has the columns 'a', 'b', 'c': name one by --text"),
        (
            "t.csv",
            b"review,b\n",
            {"text": "reviews"},
            "has no column 'reviews'; it has 'review', 'b'. Is 'review' meant?",
        ),
        ("t.csv", b"a,a\n", {"text": "a"}, "has several columns 'a'"),
        ("t.csv", b"a,b\n1\n", {"text": "a"}, "line 2: expected 2 fields, as in the header, got 1"),
        ("t.csv", b"a,b\n1,\n", {"text": "a", "label": "b"}, "line 2: column 'b' has no value"),
        ("t.csv", b"a,b\n", {"text": "a"}, "holds no texts"),
        ("t.parquet", b"PAR1", {"text": "a"}, "cannot be read as Parquet"),
        ("t.parquet", b"PAR1", {}, "name the column that holds the texts by --text"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(name, content, options, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_texts(tmp_path / name, **options)


def test_what_is_wrong_with_a_place_or_column_is_said(tmp_path):
    with pytest.raises(ValueError, match="there is no file or folder"):
        read_texts(tmp_path / "t.txt")
    with pytest.raises(ValueError, match="holds no texts"):
        read_texts(tmp_path)
    with pytest.raises(ValueError, match="is a folder and has no columns"):
        read_texts(tmp_path, text="a")
    FRAME.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"column 'id' of .* holds 7, and not text"):
        read_texts(tmp_path / "t.parquet", "id")
    with pytest.raises(ValueError, match=r"has no column 'mod'.* Is 'mood' meant"):
        read_texts(tmp_path / "t.parquet", "mod")
    with pytest.raises(ValueError, match=r"column 'review' of .* has no value in row 3"):
        read_texts(tmp_path / "t.parquet", "review")


def parse(*words):
    parser = argparse.ArgumentParser()
    add_network_options(parser)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(words)


def test_options_make_the_network(tmp_path):
    (tmp_path / "v.txt").write_text("good 1 2\nbad 3 4\nfilm 5 6\n")
    arguments = parse(
        "--word-vectors", str(tmp_path / "v.txt"), "--maps", "7", "--static", "--max-words", "9", "--seed", "3"
    )
    cnn = make_sentence_cnn(arguments)
    assert (cnn.maps, cnn.static, cnn.max_words, cnn.random_state) == (7, True, 9, 3)
    assert cnn.word_vectors is not None and cnn.word_vectors.words == ("good", "bad", "film")
    with pytest.raises(UsageError, match=r"there are no word vectors .*none.txt"):
        make_sentence_cnn(parse("--word-vectors", str(tmp_path / "none.txt")))


def test_which_places_have_columns(tmp_path):
    assert has_columns(tmp_path / "t.csv") and has_columns(tmp_path / "t.parquet")
    assert not has_columns(tmp_path / "t.txt") and not has_columns(tmp_path)
