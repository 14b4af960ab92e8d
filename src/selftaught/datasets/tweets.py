"""Tweets labelled negative or positive: Sentiment140 and the competition file of the paper.

    Sentiment140   training.1600000.processed.noemoticon.csv in trainingandtestdata.zip, no header, six fields:
                   polarity (0 negative, 2 neutral, 4 positive), id, date, query, user, text
    Kaggle         train.csv of the competition twitter-sentiment-analysis2, about 100,000 rows:
                   ItemID, Sentiment (0 negative, 1 positive), SentimentText

Neither says how it is encoded; `csv_files` copes with what is known to occur.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path, PurePosixPath

from .._download import fetch_file
from .archives import open_table
from .csv_files import as_utf8, read_rows
from .labelled import LabelledItems, labelled_items, texts_array
from .remote import KAGGLE_TWEETS, SENTIMENT140

TRAINING = "training.1600000.processed.noemoticon.csv"
TABLES = (TRAINING, SENTIMENT140.name, KAGGLE_TWEETS.name)
POLARITY = {"0": "negative", "2": None, "4": "positive"}
KAGGLE_HEADER = ["ItemID", "Sentiment", "SentimentText"]
KAGGLE_SENTIMENT = {"0": "negative", "1": "positive"}
DISTRIBUTIONS = {"sentiment140": SENTIMENT140, "kaggle": KAGGLE_TWEETS}


def load_tweets(path: str | os.PathLike) -> LabelledItems:
    """Read tweets and their sentiment.

    Parameters
    ----------
    path : path
        Sentiment140 as shipped (`trainingandtestdata.zip`, of which the training file is read) or one of its CSV files;
        the Kaggle competition's `train.csv`; either also compressed (.zip, .gz, .xz). Which of the two it is, the file
        itself says. Or a folder: one that holds any of these under its official name, or `negative.txt` and
        `positive.txt` (.xz) with one tweet in each line.

    Returns
    -------
    LabelledItems
        `items` are the texts as they are, HTML entities and user names included, in the order of the file; classes
        "negative" and "positive". The neutral tweets of Sentiment140's small test file are left out.

    Notes
    -----
    Sentiment140 is sorted by sentiment and date: shuffle before taking a part. Repeated tweets are common, and some
    occur with both labels. `sentiment_splits` sees to both.

    Examples
    --------
    >>> from pathlib import Path
    >>> from selftaught.datasets import load_tweets
    >>> _ = Path("train.csv").write_text("ItemID,Sentiment,SentimentText\\n1,0,is so sad\\n2,1,it is friday\\n")
    >>> tweets = load_tweets("train.csv")
    >>> tweets.items[1], str(tweets.labels[1])
    ('it is friday', 'positive')
    """
    path = Path(path)
    if path.is_dir():
        table = next((path / name for name in TABLES if (path / name).is_file()), None)
        pairs = list(_lines_of_folder(path)) if table is None else list(_tweets(table))
    else:
        pairs = list(_tweets(path))
    if not pairs:
        raise ValueError(f"{path} holds no tweets. Expected {', '.join(TABLES)}, or negative.txt and positive.txt.")
    labels, texts = zip(*pairs, strict=True)
    return labelled_items("tweets", texts_array(texts), labels)


def fetch_tweets(
    folder: str | os.PathLike | None = None,
    *,
    distribution: str = "sentiment140",
    url: str | None = None,
    sha256: str | None = None,
) -> LabelledItems:
    """Fetch tweets (81 MB) unless they are there, verify and load them.

    Parameters
    ----------
    folder : path, optional
        Data folder; `$SELFTAUGHT_DATA` or `~/selftaught_data` by default.
    distribution : {"sentiment140", "kaggle"}, default "sentiment140"
        Which collection. The Kaggle file, the paper's, cannot be fetched without an account: the error says where to
        put it, and its sha256 has to be confirmed, since none is published.
    url : str, optional
        A mirror of the file.
    sha256 : str, optional
        Checksum to expect in place of the published one.

    Returns
    -------
    LabelledItems
        As `load_tweets` returns it.
    """
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"distribution must be one of {', '.join(map(repr, DISTRIBUTIONS))}, got {distribution!r}.")
    return load_tweets(fetch_file(DISTRIBUTIONS[distribution], folder, url=url, sha256=sha256))


def _tweets(path: Path) -> Iterator[tuple[str, str]]:
    """Label and text of each tweet of a CSV file in either form."""
    rows = read_rows(path, lambda name: PurePosixPath(name).name in (TRAINING, KAGGLE_TWEETS.name))
    line, first = next(rows, (1, []))
    if first == KAGGLE_HEADER:
        yield from _labelled(path, rows, n_fields=3, label_at=1, sentiments=KAGGLE_SENTIMENT)
    elif len(first) == 6 and first[0] in POLARITY:
        yield from _labelled(path, chain([(line, first)], rows), n_fields=6, label_at=0, sentiments=POLARITY)
    else:
        raise ValueError(
            f"{path} is neither the Kaggle file with labels ({', '.join(KAGGLE_HEADER)}) nor Sentiment140 (polarity, "
            f"id, date, query, user, text, without header): it begins with {str(first)[:100]}."
        )


def _labelled(path, rows, *, n_fields: int, label_at: int, sentiments: dict) -> Iterator[tuple[str, str]]:
    for line, row in rows:
        if len(row) != n_fields or row[label_at] not in sentiments:
            raise ValueError(
                f"{path}, line {line}: expected {n_fields} fields, number {label_at + 1} of them "
                f"{' or '.join(sentiments)}, got {str(row)[:100]}."
            )
        if (label := sentiments[row[label_at]]) is not None:
            yield label, row[-1]


def _lines_of_folder(folder: Path) -> Iterator[tuple[str, str]]:
    """Label and text of each line of the folder's two text files."""
    found = {
        label: [f for f in (folder / f"{label}.txt", folder / f"{label}.txt.xz") if f.is_file()]
        for label in ("negative", "positive")
    }
    if not all(found.values()):
        return
    for label, files in found.items():
        with open_table(files[0], lambda name: False) as lines:
            # Not splitlines: tweets hold other characters that it takes for the end of a line.
            texts = lines.read().decode("latin-1").split("\n")
        yield from ((label, as_utf8(text).removesuffix("\r")) for text in texts if text.strip())
