"""The Large Movie Review Dataset (IMDB): 50,000 film reviews, half of them positive.

Two forms are about. The authors' archive `aclImdb_v1.tar.gz` has a file for each review,

    aclImdb/{train,test}/{pos,neg}/ID_RATING.txt        (and 50,000 unlabelled reviews in train/unsup)

and the file known from Kaggle, `IMDB Dataset.csv`, has columns `review` and `sentiment`, and no word on train and test.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from .._download import fetch_file
from .archives import compression, open_archive
from .csv_files import as_utf8, read_rows
from .labelled import LabelledItems, labelled_items, texts_array
from .remote import IMDB

REVIEW = re.compile(r"(?:^|.*/)(train|test)/(pos|neg)/(\d+)_\d+\.txt")
SENTIMENT = {"pos": "positive", "neg": "negative"}
ARCHIVES = ("aclImdb_v1.tar.gz", "IMDB Dataset.csv", "IMDB_Dataset.csv.xz")

Review = tuple[str, str, int, str]  # part, sentiment, number, text


def load_imdb(path: str | os.PathLike) -> LabelledItems:
    """Read the film reviews and their sentiment.

    Parameters
    ----------
    path : path
        The authors' archive `aclImdb_v1.tar.gz`, which is not unpacked; the unpacked folder, or one that holds it or
        the archive; or the CSV file known from Kaggle, plain or compressed (.zip, .gz, .xz).

    Returns
    -------
    LabelledItems
        `items` are the texts as they are, HTML line breaks (`<br />`) included; classes "negative" and "positive";
        `groups` the official parts "train" and "test", None for the CSV file. Reviews from the archive or folder are
        sorted by part, sentiment and number, those of the CSV file are in its order. Unlabelled reviews are left out.

    Notes
    -----
    418 reviews repeat another one. `sentiment_splits` leaves repetitions out.

    Examples
    --------
    >>> from pathlib import Path
    >>> from selftaught.datasets import load_imdb
    >>> _ = Path("IMDB Dataset.csv").write_text('review,sentiment\\n"Good, very good.",positive\\nA bore.,negative\\n')
    >>> reviews = load_imdb("IMDB Dataset.csv")
    >>> reviews.items[0], str(reviews.labels[0])
    ('Good, very good.', 'positive')
    """
    path = Path(path)
    if path.is_dir():
        reviews = list(_reviews_in_folder(path))
        archive = next((path / name for name in ARCHIVES if (path / name).is_file()), None)
        if not reviews and archive is not None:
            return load_imdb(archive)
    elif ".csv" in path.name.lower() or compression(path) == "zip":
        return _load_table(path)
    else:
        with open_archive(path) as members:
            reviews = [review for name, file in members for review in _review(name, file)]
    if not reviews:
        raise ValueError(f"{path} holds no reviews. Expected aclImdb/train/pos/0_9.txt and so on, or {ARCHIVES[0]}.")
    reviews.sort()
    parts, sentiments, _, texts = zip(*reviews, strict=True)
    return labelled_items("IMDB", texts_array(texts), sentiments, groups=parts)


def fetch_imdb(
    folder: str | os.PathLike | None = None, *, url: str | None = None, sha256: str | None = None
) -> LabelledItems:
    """Fetch the film reviews (84 MB) unless they are there, verify and load them.

    Parameters
    ----------
    folder : path, optional
        Data folder; `$SELFTAUGHT_DATA` or `~/selftaught_data` by default.
    url : str, optional
        A mirror of `aclImdb_v1.tar.gz`.
    sha256 : str, optional
        Checksum to expect in place of the published one.

    Returns
    -------
    LabelledItems
        As `load_imdb` returns it.
    """
    return load_imdb(fetch_file(IMDB, folder, url=url, sha256=sha256))


def _review(name: str, file) -> Iterator[Review]:
    """The review in a file, if the file's name is that of one."""
    if found := REVIEW.fullmatch(name):
        part, sentiment, number = found.groups()
        yield part, SENTIMENT[sentiment], int(number), as_utf8(file.read().decode("latin-1"))


def _reviews_in_folder(folder: Path) -> Iterator[Review]:
    for root in (folder, folder / "aclImdb"):
        for text in root.glob("*/*/*_*.txt"):
            if REVIEW.fullmatch(text.relative_to(root).as_posix()):
                with open(text, "rb") as file:
                    yield from _review(text.as_posix(), file)


def _load_table(path: Path) -> LabelledItems:
    rows = read_rows(path, lambda name: name.endswith(".csv") and not name.startswith("__MACOSX"))
    _, header = next(rows, (1, []))
    if header != ["review", "sentiment"]:
        raise ValueError(f"{path} must have the columns review and sentiment, got {', '.join(header[:8]) or 'none'}.")
    texts, labels = [], []
    for line, row in rows:
        if len(row) != 2 or row[1] not in SENTIMENT.values():
            raise ValueError(f"{path}, line {line}: expected a review and positive or negative, got {str(row)[-60:]}.")
        texts.append(row[0])
        labels.append(row[1])
    if not texts:
        raise ValueError(f"{path} has a header but no reviews.")
    return labelled_items("IMDB", texts_array(texts), labels)
