"""Tweets in the forms of Sentiment140, of the Kaggle competition, and as lines."""

import gzip
import lzma

import pytest
from datasets.official_files import KAGGLE, SENTIMENT140, SENTIMENT140_ZIP, write_files, zip_bytes

from selftaught.datasets import BadArchive, FetchError, fetch_tweets, load_tweets

OF_SENTIMENT140 = [
    ("negative", "@you, that's a bummer. ;D"),
    ("negative", "a sad café"),
    ("positive", 'I LOVE "it" café &amp; co'),
    ("positive", "line\x85one"),
]
OF_KAGGLE = [
    ("negative", "                     is so sad for my APL friend............."),
    ("positive", "omg, its already 7:30 :O"),
    ("negative", 'a "quoted" word, été'),
]


def pairs(tweets):
    return [*zip(tweets.labels.tolist(), tweets.items, strict=True)]


def test_the_archive_as_shipped(tmp_path):
    archive = tmp_path / "trainingandtestdata.zip"
    archive.write_bytes(zip_bytes(SENTIMENT140_ZIP))
    assert pairs(load_tweets(archive)) == OF_SENTIMENT140 == pairs(load_tweets(tmp_path))
    assert [*tmp_path.iterdir()] == [archive]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize(("content", "expected"), [(SENTIMENT140, OF_SENTIMENT140), (KAGGLE, OF_KAGGLE)])
def test_the_file_itself_says_which_it_is(tmp_path, content, expected, pack):
    (tmp_path / "any.name").write_bytes(pack(content))
    assert pairs(load_tweets(tmp_path / "any.name")) == expected


def test_the_competitions_file_by_its_name(tmp_path):
    (tmp_path / "train.csv").write_bytes(KAGGLE)
    assert pairs(load_tweets(tmp_path)) == OF_KAGGLE
    (tmp_path / "twitter-sentiment-analysis2.zip").write_bytes(zip_bytes({"test.csv": b"ItemID", "train.csv": KAGGLE}))
    assert pairs(load_tweets(tmp_path / "twitter-sentiment-analysis2.zip")) == OF_KAGGLE


def test_the_small_test_file_loses_its_neutral_tweets(tmp_path):
    write_files(tmp_path, SENTIMENT140_ZIP)
    assert pairs(load_tweets(tmp_path / "testdata.manual.2009.06.14.csv")) == [("positive", "I loooove it")]


@pytest.mark.parametrize("pack", [bytes, lzma.compress])
def test_two_files_of_lines(tmp_path, pack):
    suffix = ".txt" if pack is bytes else ".txt.xz"
    for label, content in (("negative", "so sad\r\n\nnot\u2028now\n"), ("positive", "caf\u00e9!\n")):
        (tmp_path / f"{label}{suffix}").write_bytes(pack(content.encode()))
    expected = [("negative", "so sad"), ("negative", "not\u2028now"), ("positive", "café!")]
    assert pairs(load_tweets(tmp_path)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"neither the Kaggle file .* begins with \[\]"),
        (b"ItemID,SentimentText\n1,so sad\n", "neither the Kaggle file with labels"),  # the competition's test.csv
        (b'"1","2","3","4","5","6"\n', "neither the Kaggle file"),
        (KAGGLE + b"4,2,odd\n", "line 5: expected 3 fields, number 2 of them 0 or 1, got"),
        (KAGGLE + b"4,1,one, two\n", "line 5: expected 3 fields"),
        (SENTIMENT140 + b'"0","14678', "line 6: expected 6 fields, number 1 of them 0 or 2 or 4"),
        (b"ItemID,Sentiment,SentimentText\n", "holds no tweets"),
    ],
)
def test_files_of_another_form_are_refused(tmp_path, content, message):
    (tmp_path / "tweets.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_tweets(tmp_path / "tweets.csv")


def test_a_damaged_archive_is_refused(tmp_path):
    (tmp_path / "trainingandtestdata.zip").write_bytes(zip_bytes(SENTIMENT140_ZIP)[:-30])
    with pytest.raises(BadArchive, match="damaged, cut short"):
        load_tweets(tmp_path)


def test_an_archive_without_tweets_says_what_it_has(tmp_path):
    (tmp_path / "x.zip").write_bytes(zip_bytes({"letter.txt": b"Dear all"}))
    with pytest.raises(ValueError, match=r"none of the files looked for, only letter.txt"):
        load_tweets(tmp_path / "x.zip")


@pytest.mark.parametrize("files", [{}, {"positive.txt": b"one side\n"}, {"negative.txt": b"one side\n"}])
def test_a_folder_without_tweets_says_what_was_expected(tmp_path, files):
    write_files(tmp_path, files)
    with pytest.raises(ValueError, match=r"holds no tweets. Expected training.1600000"):
        load_tweets(tmp_path)


def test_sentiment140_is_fetched(server, tmp_path, sha256):
    content = zip_bytes(SENTIMENT140_ZIP)
    address = server.serve("trainingandtestdata.zip", content, cuts=[50])
    assert pairs(fetch_tweets(tmp_path, url=address, sha256=sha256(content))) == OF_SENTIMENT140


def test_the_competitions_file_is_placed_by_hand_and_confirmed(tmp_path, sha256):
    place = tmp_path / "tweets" / "train.csv"
    with pytest.raises(FetchError, match=r"cannot be fetched by a program.*kaggle.*an account is needed") as caught:
        fetch_tweets(tmp_path, distribution="kaggle")
    assert str(place) in str(caught.value)
    place.parent.mkdir()
    place.write_bytes(KAGGLE)
    with pytest.raises(FetchError, match=f"sha256='{sha256(KAGGLE)}'"):
        fetch_tweets(tmp_path, distribution="kaggle")
    assert pairs(fetch_tweets(tmp_path, distribution="kaggle", sha256=sha256(KAGGLE))) == OF_KAGGLE


def test_other_distributions_are_refused(tmp_path):
    with pytest.raises(ValueError, match="must be one of 'sentiment140', 'kaggle', got 'mastodon'"):
        fetch_tweets(tmp_path, distribution="mastodon")


def test_the_real_lines(shared_data):
    tweets = load_tweets(shared_data / "tweets")
    assert len(tweets.items) == 100_000 and tweets.y.sum() == 50_000
    negative, positive = ({*tweets.items[tweets.y == code]} for code in (0, 1))
    assert (len(positive), len(negative), len(positive & negative)) == (49_841, 49_538, 16)
