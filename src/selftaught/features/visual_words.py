"""Visual words: typical descriptors, and how often each is met in an image.

learn_words    descriptors (n, d)         -> words (n_words, d), the means of a k-means clustering
word_shares    descriptors of one image   -> share of each word (n_words,): how many are nearest to it, over all
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

__all__ = ["learn_words", "word_shares"]

BATCH = 4096
MAX_PASSES = 30


def learn_words(descriptors, n_words, rng) -> np.ndarray:
    """Return the words of some descriptors, float32, shape (n_words, d).

    One thread, since several add up in whatever order they finish, and the same seed is to give the same words.
    """
    clustering = MiniBatchKMeans(n_words, batch_size=BATCH, max_iter=MAX_PASSES, n_init=1, random_state=rng)
    with threadpool_limits(1):
        return clustering.fit(descriptors).cluster_centers_.astype(np.float32, copy=False)


def word_shares(descriptors, words) -> np.ndarray:
    """Return the share of descriptors that are nearest to each word, float32, shape (n_words,).

    The nearest word w maximises x·w - |w|²/2; of two at the same distance it is the first.
    """
    closeness = descriptors @ words.T
    closeness -= np.einsum("ij,ij->i", words, words) / 2
    counts = np.bincount(closeness.argmax(axis=1), minlength=len(words))
    return (counts / len(descriptors)).astype(np.float32)
