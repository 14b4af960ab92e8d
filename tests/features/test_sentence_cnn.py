"""The network for texts as a transformer: what it promises about rows, seeds, files, and wrong input."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from selftaught.datasets import load_tweets
from selftaught.features import SentenceCNN, WordVectors, load_word_vectors

GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "dull", "poor", "awful")
THINGS = ("film", "plot", "cast", "music", "scene", "ending")


def reviews(rng, n=80):
    y = np.arange(n) % 2
    texts = [f"what a {rng.choice(GOOD if label else BAD)} {rng.choice(THINGS)} !" for label in y]
    return texts, np.array(["no", "yes"])[y]


def quick(**changes):
    settings = dict(maps=5, n_epochs=6, batch_size=10, dimension=8, random_state=0)
    return SentenceCNN(**(settings | changes))  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def known():
    words = (*GOOD, *BAD, "what", "a", "film", "superb")
    return WordVectors(words, np.random.default_rng(0).normal(size=(len(words), 6)))


@pytest.fixture(scope="module")
def fitted(known):
    return quick(word_vectors=known).fit(*reviews(np.random.default_rng(0)))


NEW = ["a good film", "", "zzz qqq", "what a superb film", "bad " * 30, "@joe &amp; co"]


def test_rows_have_the_promised_shape(fitted):
    rows = fitted.transform(NEW)
    assert rows.shape == (6, 15) and rows.dtype == np.float32 and (rows >= 0).all()
    assert fitted.get_feature_names_out()[[0, -1]].tolist() == ["sentencecnn0", "sentencecnn14"]
    assert fitted.transform([]).shape == (0, 15)


def test_it_learns_to_tell_the_classes_apart(rng):
    cnn = quick(n_epochs=25).fit(*reviews(rng))
    texts, y = reviews(rng)
    assert (cnn.predict(texts) == y).mean() > (y == "no").mean() + 0.3
    probabilities = cnn.predict_proba(texts)
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_array_equal(cnn.classes_[probabilities.argmax(axis=1)], cnn.predict(texts))


def test_a_row_does_not_depend_on_the_texts_beside_it(fitted):
    together = fitted.transform(NEW)
    for text, row in zip(NEW, together, strict=True):
        assert_array_equal(fitted.transform([text])[0], row)


def test_texts_without_a_known_word_are_texts_without_words(fitted):
    empty, unknown = fitted.transform(["", "zzz qqq"])
    assert_array_equal(empty, unknown)
    assert_array_equal(empty, np.maximum(fitted.net_.offsets, 0))


def test_words_that_only_the_word_vectors_know_are_read(fitted):
    # "superb" is in no training text. That is what vectors learned elsewhere are for.
    with_word, without = fitted.transform(["what a superb film", "what a zzz film"])
    assert abs(with_word - without).max() > 0


def test_words_beyond_the_most_are_not_read(rng):
    texts, y = reviews(rng)
    short, whole = quick(max_words=3).fit(texts, y), quick(max_words=None).fit(texts, y)
    long, cut = "what a good dull film", "what a good"
    assert_array_equal(*short.transform([long, cut]))
    assert abs(np.subtract(*whole.transform([long, cut]))).max() > 0


def test_the_same_seed_gives_the_same_network_whatever_the_threads(rng, known):
    texts, y = reviews(rng)
    one, same, threads = (quick(word_vectors=known, n_jobs=n).fit(texts, y).transform(NEW) for n in (1, 1, 3))
    assert_array_equal(one, same)
    assert_array_equal(one, threads)
    assert abs(quick(word_vectors=known, random_state=1).fit(texts, y).transform(NEW) - one).max() > 0


def test_static_vectors_are_kept_and_missing_ones_are_drawn_as_wide(rng, known):
    texts, y = reviews(rng, 400)
    cnn = quick(word_vectors=known, static=True, n_epochs=1).fit(texts, y)
    rows = {word: cnn.net_.vectors[i] for i, word in enumerate(cnn.words_, 1)}
    for word, row in known.rows.items():
        assert_array_equal(rows[word], known.vectors[row])
    drawn = np.array([row for word, row in rows.items() if word not in known.rows])
    assert len(drawn) == 6, "the other things, and the mark"
    assert abs(drawn).max() <= np.sqrt(3) * known.vectors.std() and abs(drawn).max() > known.vectors.std()
    assert_array_equal(cnn.net_.vectors[0], 0)


def test_texts_held_out_lend_no_words_without_vectors(rng, known):
    texts = [f"{w} number{i}" for i, w in enumerate([*GOOD, *BAD] * 5)]
    cnn = quick(word_vectors=known, validation_fraction=0.5, n_epochs=1).fit(texts, [0, 0, 0, 0, 1, 1, 1, 1] * 5)
    assert sum(word.startswith("number") for word in cnn.words_) == 20


def test_inputs_are_not_changed_and_frames_and_arrays_are_as_good_as_lists(rng, known):
    texts, y = reviews(rng)
    before = known.vectors.copy()
    cnn = quick(word_vectors=known).fit(texts, y)
    assert_array_equal(known.vectors, before)
    for form in (np.array(texts, dtype=object), np.array(texts), pd.Series(texts, index=range(7, 87)), tuple(texts)):
        assert_array_equal(clone(cnn).fit(form, y).transform(form), cnn.transform(texts))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("word_vectors", None), ("widths", (2,)), ("maps", 3), ("static", True), ("dropout", 0.0), ("norm_cap", 0.01),
        ("max_words", 2), ("n_epochs", 1), ("batch_size", 2), ("learning_rate", 0.1), ("validation_fraction", 0.0),
        ("random_state", 5),
    ],
)  # fmt: skip
def test_every_parameter_of_the_fit_changes_something(name, value, known):
    texts, y = reviews(np.random.default_rng(0))
    y = np.where(np.arange(80) % 7 == 0, "no", y)
    one, other = (quick(**({"word_vectors": known} | change)).fit(texts, y) for change in ({}, {name: value}))
    one, other = one.transform(NEW), other.transform(NEW)
    assert one.shape != other.shape or abs(one - other).max() > 0


def test_patience_dimension_and_verbose_change_something(known, capsys):
    texts, y = reviews(np.random.default_rng(0), 40)
    y = y[np.random.default_rng(1).permutation(40)]
    short, long = (quick(patience=patience, n_epochs=40).fit(texts, y) for patience in (1, 9))
    assert len(short.epochs_) < len(long.epochs_)
    assert quick(dimension=3).fit(texts, y).net_.vectors.shape[1] == 3
    assert capsys.readouterr().err == ""
    quick(verbose=1, n_epochs=2, validation_fraction=0).fit(texts, y)
    assert capsys.readouterr().err.count("round") == 2


def test_rows_in_the_cache_are_found_and_those_of_another_network_are_not(known, tmp_path, monkeypatch):
    texts, y = reviews(np.random.default_rng(0))
    cnn = quick(word_vectors=known, cache=tmp_path).fit(texts, y)
    rows = cnn.transform(NEW)
    other = quick(word_vectors=known, cache=tmp_path, random_state=1).fit(texts, y)
    assert abs(other.transform(NEW) - rows).max() > 0
    monkeypatch.setattr(type(cnn), "_compute", None)
    assert_array_equal(cnn.transform(NEW[::-1]), rows[::-1])


def test_threads_in_transform_change_no_row(fitted):
    texts = [f"{text} {i}" for i, text in enumerate(NEW * 40)]
    threads = clone(fitted).set_params(n_jobs=2)
    threads.__setstate__(fitted.__getstate__() | {"n_jobs": 2})
    assert_array_equal(threads.transform(texts), fitted.transform(texts))


def test_pickle_and_skops_keep_the_network(fitted, tmp_path):
    rows = fitted.transform(NEW)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(NEW), rows)
    skops_io = pytest.importorskip("skops.io")
    skops_io.dump(fitted, tmp_path / "cnn.skops")
    types = skops_io.get_untrusted_types(file=tmp_path / "cnn.skops")
    assert {kind.rpartition(".")[2] for kind in types} <= {"SentenceCNN", "SentenceNet", "WordVectors", "Epoch"}
    loaded = skops_io.load(tmp_path / "cnn.skops", trusted=types)
    assert_array_equal(loaded.transform(NEW), rows)
    assert loaded.words_ == fitted.words_ and loaded.word_vectors.words == fitted.word_vectors.words


def test_parameters_changed_after_the_fit_change_no_row(fitted, rng):
    copy = pickle.loads(pickle.dumps(fitted))
    copy.set_params(max_words=1, maps=3, dropout=0.0)
    assert_array_equal(copy.transform(NEW), fitted.transform(NEW))
    assert_array_equal(copy.predict_proba(NEW), fitted.predict_proba(NEW))


def test_it_works_in_a_pipeline(rng):
    texts, y = reviews(rng)
    pipeline = make_pipeline(quick(n_epochs=15), LogisticRegression()).fit(texts, y)
    assert pipeline.predict(["what a lovely plot !"])[0] == "yes"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"widths": ()}, r"widths must be whole numbers of at least 1, such as \(3, 4, 5\), got \(\)"),
        ({"widths": (3, 0)}, r"got \(3, 0\)"),
        ({"widths": 3}, "widths must be"),
        ({"maps": 0}, "maps must be a whole number of at least 1, got 0"),
        ({"dropout": 1.0}, "dropout must be a number of at least 0 and at most 0.99, got 1.0"),
        ({"norm_cap": 0}, "norm_cap must be a number above 0, or np.inf, got 0"),
        ({"max_words": 0}, "max_words must be a whole number of at least 1, or None, got 0"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
        ({"word_vectors": "glove.txt"}, "word_vectors must be WordVectors or None, got 'glove.txt'. load_word_vectors"),
    ],
)
def test_parameters_out_of_range_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        quick(**changes).fit(["a", "b"], [0, 1])


@pytest.mark.parametrize(
    ("texts", "y", "message"),
    [
        ("one text", [1], "must be a sequence of texts, got 'one text'. Put a single one into a list"),
        (["a", 3.5], [0, 1], "each item must be a text, got 3.5 of type float"),
        (["a", None], [0, 1], "each item must be a text, got None"),
        (["a", "b"], [0], r"y must hold one class for each of the 2 texts, got shape \(1,\)"),
        (["a", "b"], [0, 0], r"y must hold at least two classes, got \[0\]"),
        (["a", "b"], [0.5, 1.5], "Unknown label type"),
        ([], [], r"y must hold at least two classes, got \[\]"),
    ],
)
def test_texts_and_labels_that_cannot_be_learned_from_are_refused(texts, y, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(texts, y)


def test_without_a_fit_there_are_no_rows():
    with pytest.raises(NotFittedError):
        quick().transform(["a"])


def test_a_refused_fit_leaves_the_earlier_one_whole(fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(ValueError, match="two classes"):
        copy.fit(["a", "b"], [1, 1])
    assert_array_equal(copy.transform(NEW), fitted.transform(NEW))


def test_two_texts_are_enough_to_fit():
    cnn = quick().fit(["good", "bad"], [1, 0])
    assert cnn.best_epoch_ == 5 and np.isnan(cnn.epochs_[0].held_out_loss), "nothing could be held out"


@pytest.mark.slow
def test_rows_of_real_tweets_are_worth_more_than_counts_of_words_to_a_learner_with_few_labels(
    shared_data, shared_weights
):
    # With the vectors of others and the labels of 3000 tweets, against 100 labelled tweets alone.
    package = shared_weights("glove_6B_50d_emb.npy").parents[1]
    tweets = load_tweets(shared_data / "tweets")
    rows = np.random.default_rng(0).permutation(len(tweets.items))
    learn, few, test = rows[:3000], rows[3000:3100], rows[3100:5100]
    cnn = SentenceCNN(load_word_vectors(package), random_state=0).fit(tweets.items[learn], tweets.y[learn])
    scores = [
        make_pipeline(rewrite, LogisticRegression(max_iter=2000)).fit(tweets.items[few], tweets.y[few]).score(
            tweets.items[test], tweets.y[test]
        )
        for rewrite in (_Frozen(cnn), CountVectorizer())
    ]  # fmt: skip
    assert scores[0] > scores[1] + 0.03


class _Frozen:
    """A fitted transformer that a pipeline does not fit again."""

    def __init__(self, transformer):
        self.transformer = transformer

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.transformer.transform(X)
