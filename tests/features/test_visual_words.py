"""Words are means of clusters; shares count which word is nearest."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from selftaught.features.visual_words import learn_words, word_shares


def test_words_are_the_centres_of_well_separated_clusters(rng):
    centres = 10 * np.eye(5, 8, dtype=np.float32)
    descriptors = np.repeat(centres, 200, axis=0) + rng.normal(0, 0.1, (1000, 8)).astype(np.float32)
    words = learn_words(rng.permutation(descriptors), 5, np.random.RandomState(0))
    assert words.dtype == np.float32
    assert_allclose(words[np.argmax(words @ centres.T, axis=0)], centres, atol=0.1)


def test_the_same_seed_learns_the_same_words(rng):
    descriptors = rng.random((5000, 16), dtype=np.float32)
    first, second, other = (learn_words(descriptors, 20, np.random.RandomState(seed)) for seed in (0, 0, 1))
    assert_array_equal(first, second)
    assert (first != other).any()


def test_shares_agree_with_all_distances(rng):
    descriptors, words = rng.random((300, 16), dtype=np.float32), rng.random((20, 16), dtype=np.float32)
    distances = np.linalg.norm(descriptors[:, None] - words, axis=2)
    shares = word_shares(descriptors, words)
    assert_allclose(shares, np.bincount(distances.argmin(axis=1), minlength=20) / 300)
    assert shares.dtype == np.float32


def test_long_words_are_not_nearer_for_being_long():
    words = np.array([[1.0, 0.0], [10.0, 0.0]], np.float32)
    assert_array_equal(word_shares(np.array([[2.0, 0.0]], np.float32), words), [1, 0])
    assert_array_equal(word_shares(np.array([[5.5, 0.0]], np.float32), words), [1, 0]), "a tie goes to the first"
