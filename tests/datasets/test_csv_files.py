"""CSV files of unknown encoding, compressed or not."""

import gzip
import lzma

import pytest
from datasets.official_files import zip_bytes

from selftaught.datasets import BadArchive
from selftaught.datasets.csv_files import as_utf8, read_rows


def rows_of(tmp_path, content):
    (tmp_path / "table").write_bytes(content)
    return list(read_rows(tmp_path / "table", lambda name: name == "t.csv"))


def test_lines_of_either_encoding_are_read(tmp_path):
    assert rows_of(tmp_path, b"caf\xe9,1\ncaf\xc3\xa9,2\n\xf0\x9f\x98\x80,3\n") == [
        (1, ["café", "1"]),
        (2, ["café", "2"]),
        (3, ["😀", "3"]),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    assert rows_of(tmp_path, "\ufeffa,b\n\ufeff1,2\n".encode())[0] == (1, ["a", "b"])


def test_quoted_fields_may_hold_lines_commas_and_quotes(tmp_path):
    assert rows_of(tmp_path, b'"a\r\nb","c, ""d"""\r\n\r\ne,f\r\n') == [(2, ["a\r\nb", 'c, "d"']), (4, ["e", "f"])]


def test_other_line_ends_of_unicode_end_no_line(tmp_path):
    assert rows_of(tmp_path, "a\x85b\u2028c,1\n".encode()) == [(1, ["a\x85b\u2028c", "1"])]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, lambda content: zip_bytes({"t.csv": content})])
def test_compressed_files_are_read_and_cut_ones_refused(tmp_path, pack):
    content = b"".join(b"%d,%d\n" % (i, i * i) for i in range(10_000))
    assert len(rows_of(tmp_path, pack(content))) == 10_000
    with pytest.raises(BadArchive, match="cut short"):
        rows_of(tmp_path, pack(content)[:-20])


def test_an_endless_field_is_an_error_with_its_line(tmp_path):
    with pytest.raises(ValueError, match=r"table, line \d+: field larger than field limit.*damaged or no CSV"):
        rows_of(tmp_path, b'a,b\n"' + b"x\n" * 200_000)


@pytest.mark.parametrize("text", ["", "plain", "é", "\x80", "Ã©é"])
def test_what_is_no_utf8_stays(text):
    assert as_utf8(text) == text


def test_what_is_utf8_is_read_so():
    assert as_utf8("é".encode().decode("latin-1")) == "é"
