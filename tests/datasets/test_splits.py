"""The paper's splits: sizes, disjointness, reproducibility, and that nothing of the test reaches the features."""

from itertools import combinations

import numpy as np
import pytest

from selftaught.datasets import LabelledItems, caltech101_splits, load_imdb, load_tweets, sentiment_splits

PINNED = {
    "class_names": ("ant", "bee"),
    "target_idx": [3, 2, 10, 11],
    "source_idx": [12, 23, 22, 17, 19, 20, 15, 14],
    "test_idx": [5, 4, 7, 8],
}
SIZES = {"n_train": (2, 5), "n_source": 20, "n_test": 6}


# --- Caltech-101 ---------------------------------------------------------------------------------------------------


@pytest.fixture
def caltech_labels(rng):
    """102 class folders with 31 to 60 images, in mixed order."""
    names = ["BACKGROUND_Google", "Faces_easy", *(f"class_{i:03d}" for i in range(100))]
    return rng.permutation(np.repeat(names, rng.integers(31, 61, size=len(names))))


@pytest.fixture
def caltech(caltech_labels, seed):
    return caltech101_splits(caltech_labels, random_state=seed)


def test_caltech_sizes_are_the_papers(caltech):
    assert len(caltech) == 5
    for split in caltech:
        assert len(split.class_names) == 20 and list(split.class_names) == sorted(split.class_names)
        assert np.bincount(split.y).tolist() == [15] * 20 == np.bincount(split.y_test).tolist()
        kinds, counts = np.unique(split.source_kind, return_counts=True)
        assert len(kinds) == 80 and {*counts} == {30} and not {*kinds} & {*split.class_names}
        assert (split.source_classes == -1).all() and not split.source_is_apart


def test_caltech_groups_share_no_class_and_cover_all(caltech):
    groups = [{*split.class_names} for split in caltech]
    assert not any(one & other for one, other in combinations(groups, 2))
    assert set.union(*groups) == {f"class_{i:03d}" for i in range(100)}


def test_caltech_parts_share_no_image(caltech):
    for split in caltech:
        rows = np.concatenate([split.target_idx, split.source_idx, split.test_idx])
        assert len(np.unique(rows)) == len(rows) == 3000


def test_all_caltech_splits_draw_from_the_same_images(caltech):
    used = [{*split.target_idx, *split.source_idx, *split.test_idx} for split in caltech]
    assert all(one == used[0] for one in used)


def test_caltech_classes_are_told_truly(caltech, caltech_labels):
    for split in caltech:
        names = np.asarray(split.class_names)
        assert np.array_equal(caltech_labels[split.target_idx], names[split.y])
        assert np.array_equal(caltech_labels[split.test_idx], names[split.y_test])
        assert np.array_equal(caltech_labels[split.source_idx], split.source_kind)


def test_the_source_is_in_random_order(caltech):
    # an ordered pool would let "the first rows" pass for a method
    assert all(len(np.unique(split.source_kind[:80])) > 30 for split in caltech)


def test_the_seed_decides_the_caltech_splits(caltech_labels):
    one, same, other = (caltech101_splits(caltech_labels, random_state=s) for s in (3, 3, 4))
    for a, b in zip(one, same, strict=True):
        assert a.class_names == b.class_names
        for name in ("target_idx", "source_idx", "test_idx"):
            assert np.array_equal(getattr(a, name), getattr(b, name))
    assert one[0].class_names != other[0].class_names
    assert {*one[0].target_idx, *one[0].source_idx} != {*other[0].target_idx, *other[0].source_idx}


def test_a_draw_is_pinned():
    """A seed keeps its meaning between releases; made by this function with NumPy 2.4."""
    labels = np.repeat(["ant", "bee", "cat", "dog"], 6)
    split, _ = caltech101_splits(labels, n_per_class=4, n_groups=2, n_train=2, random_state=0)
    assert split.class_names == PINNED["class_names"]
    for name in ("target_idx", "source_idx", "test_idx"):
        assert getattr(split, name).tolist() == PINNED[name], name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_per_class": 62}, r"n_per_class must be at most \d+, the items of the class 'class_\d+', got 62"),
        ({"n_train": 30}, r"n_train must be in \[1, n_per_class - 1 = 29\], got 30"),
        ({"n_train": 0}, "n_train must be in"),
        ({"n_groups": 1}, "n_groups must be at least 2, got 1"),
        ({"n_groups": 51}, "n_groups must be at most 50: a target needs two of the 100 classes; got 51"),
    ],
)
def test_impossible_caltech_splits_are_refused(caltech_labels, change, message):
    with pytest.raises(ValueError, match=message):
        caltech101_splits(caltech_labels, **change)


def test_other_datasets_may_exclude_nothing(caltech_labels):
    splits = caltech101_splits(caltech_labels, exclude=(), n_groups=3, n_per_class=10, n_train=3, random_state=0)
    assert [len(split.class_names) for split in splits] == [34, 34, 34]
    assert {"Faces_easy", "BACKGROUND_Google"} < {name for split in splits for name in split.class_names}


# --- texts ---------------------------------------------------------------------------------------------------------


def texts(name, n=80, *, extra=()):
    """Numbered texts, every second one positive, and further (text, code) pairs."""
    pairs = [*((f"{name} number {i}", i % 2) for i in range(n)), *extra]
    return LabelledItems(
        name=name,
        items=np.array([text for text, _ in pairs], dtype=object),
        y=np.array([code for _, code in pairs]),
        class_names=("negative", "positive"),
    )


FILMS, TWEETS = texts("film"), texts("tweet")


def deal(target, source, seed: int | np.integer = 0):
    """Texts of the three parts, for each training size."""
    splits = sentiment_splits(target, source, **SIZES, random_state=seed)
    return [split.take(target.items, source.items) for split in splits]


def test_text_sizes_are_as_asked(seed):
    small, large = sentiment_splits(FILMS, TWEETS, **SIZES, random_state=seed)
    assert np.bincount(small.y).tolist() == [2, 2] and np.bincount(large.y).tolist() == [5, 5]
    for split in (small, large):
        assert np.bincount(split.y_test).tolist() == [6, 6]
        assert np.bincount(split.source_classes).tolist() == [10, 10]
        assert split.source_is_apart
        assert np.array_equal(split.y, FILMS.y[split.target_idx])
        assert np.array_equal(split.y_test, FILMS.y[split.test_idx])
        assert np.array_equal(split.source_classes, TWEETS.y[split.source_idx])
        assert np.array_equal(split.source_kind, TWEETS.labels[split.source_idx])


def test_a_small_training_set_is_part_of_a_large_one(seed):
    small, large = sentiment_splits(FILMS, TWEETS, **SIZES, random_state=seed)
    assert {*small.target_idx} < {*large.target_idx}
    assert np.array_equal(small.test_idx, large.test_idx) and np.array_equal(small.source_idx, large.source_idx)


def test_a_collection_is_dealt_the_same_way_in_both_directions():
    """As in the paper, a collection has rows for the source and others for the target; they never meet."""
    forth = sentiment_splits(FILMS, TWEETS, **SIZES, random_state=5)[-1]
    back = sentiment_splits(TWEETS, FILMS, **SIZES, random_state=5)[-1]
    for as_target, as_source in ((forth, back), (back, forth)):
        rows = np.concatenate([as_target.target_idx, as_target.test_idx, as_source.source_idx])
        assert len(np.unique(rows)) == len(rows)


def test_repeated_texts_never_meet(rng):
    """Every text is there three times, spelled a little differently: the parts still share none."""
    repeated = [(f"  FILM   number {i}\n", i % 2) for i in range(80)] + [(f"film number {i}", i % 2) for i in range(80)]
    films = texts("film", extra=repeated)
    for parts in deal(films, TWEETS):
        keys = [" ".join(text.split()).lower() for text in np.concatenate(parts)]
        assert len({*keys}) == len(keys)
        assert {*parts.target, *parts.test} <= {*FILMS.items}, "the first spelling is kept"


def test_texts_of_both_labels_and_of_both_collections_are_left_out():
    ambiguous = [(f"film number {i}", 1 - i % 2) for i in range(0, 80, 5)]
    shared = [(f"TWEET number {i}", 0) for i in range(0, 80, 5)]
    films = texts("film", extra=[*ambiguous, *shared, ("  ", 0)])
    barred = {text.casefold() for text, _ in (*ambiguous, *shared)}
    for seed in range(5):
        for parts in [*deal(films, TWEETS, seed), *deal(TWEETS, films, seed)]:
            assert not barred & {text.casefold() for text in np.concatenate(parts)}


def test_the_seed_decides_the_text_splits():
    one, same, other = (deal(FILMS, TWEETS, seed)[-1] for seed in (1, np.int64(1), 2))
    for a, b, c in zip(one, same, other, strict=True):
        assert np.array_equal(a, b) and not np.array_equal(a, c)


def test_a_generator_serves_as_a_seed(rng):
    state = rng.bit_generator.state
    first = sentiment_splits(FILMS, TWEETS, **SIZES, random_state=rng)
    rng.bit_generator.state = state
    again = sentiment_splits(FILMS, TWEETS, **SIZES, random_state=rng)
    assert np.array_equal(first[0].target_idx, again[0].target_idx)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_train": ()}, r"n_train must hold at least one number, each at least 1, got \(\)"),
        ({"n_train": (0, 5)}, "n_train must hold"),
        ({"n_test": 0}, "n_test must be at least 1, got 0"),
        ({"n_source": 21}, "n_source must be a multiple of the number of classes, 2, got 21"),
        ({"n_source": 0}, "n_source must be a multiple"),
        ({"n_test": 36}, r"film has 40 usable texts of the class 'negative', but 5 \+ 36 are needed"),
        ({"n_source": 60}, r"tweet has 40 usable texts of the class 'negative', but 5 \+ 6 \+ 30 are needed"),
    ],
)
def test_impossible_text_splits_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        sentiment_splits(FILMS, TWEETS, **{**SIZES, **change})


def test_classes_must_agree():
    stars = LabelledItems(name="stars", items=FILMS.items, y=FILMS.y, class_names=("one", "five"))
    with pytest.raises(ValueError, match=r"must have the same classes, got \('one', 'five'\) and"):
        sentiment_splits(stars, TWEETS, **SIZES)


# --- real data -----------------------------------------------------------------------------------------------------


def test_the_real_features_split_as_in_the_paper(shared_data):
    data = np.load(shared_data / "caltech101" / "siftbow1000.npz")
    splits = caltech101_splits(data["classes"][data["y"]], random_state=0)
    problem = splits[0].problem(*splits[0].take(data["X"].astype(float)))
    assert (problem.X.shape, problem.X_source.shape, problem.X_test.shape) == ((300, 1000), (2400, 1000), (300, 1000))
    names = {name for split in splits for name in split.class_names}
    assert len(names) == 100 and not names & {"BACKGROUND_Google", "Faces_easy"}


@pytest.mark.slow
def test_the_real_texts_split_as_in_the_paper(shared_data):
    imdb, tweets = load_imdb(shared_data / "imdb"), load_tweets(shared_data / "tweets")
    used = {"IMDB": set(), "tweets": set()}
    for target, source in ((imdb, tweets), (tweets, imdb)):
        splits = sentiment_splits(target, source, random_state=0)
        assert [len(split.target_idx) for split in splits] == [20, 200, 2000]
        for split in splits:
            parts = split.take(target.items, source.items)
            assert (len(parts.source), len(parts.test)) == (3000, 1500)
            keys = [" ".join(text.split()).casefold() for text in np.concatenate(parts)]
            assert len({*keys}) == len(keys)
        used[target.name] |= {*splits[-1].target_idx, *splits[-1].test_idx}
        used[source.name] |= {*splits[-1].source_idx}
    assert {name: len(rows) for name, rows in used.items()} == {"IMDB": 6500, "tweets": 6500}
