"""Images as bags of visual words: which SIFT descriptors occur in them, and how often."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils import check_random_state

from .._fitting import whole_or_not_at_all
from .._parameters import Choice, Interval, check_parameters
from .dense_sift import DESCRIPTOR, dense_sift
from .extractor import FeatureExtractor
from .images import check_pillow, read_image, scaled_size
from .row_store import RowStore, digest
from .visual_words import learn_words, word_shares

__all__ = ["SIFTBag"]

ALLOWED = dict(
    n_words=(Interval(1, whole=True),),
    max_side=(Interval(16, 4096, whole=True),),
    step=(Interval(1, whole=True),),
    root=(Choice((True, False)),),
    descriptors_per_image=(Interval(1, whole=True),),
    max_descriptors=(Interval(1, whole=True),),
)


class SIFTBag(FeatureExtractor):
    """Share of each visual word among the SIFT descriptors of an image.

    Each image is scaled to a longer side of ``max_side``, and described on a regular grid by (Root)SIFT descriptors of
    several sizes. ``fit`` samples descriptors and learns ``n_words`` words from them by k-means; ``transform`` counts
    to which word each descriptor of an image is nearest.

    Fit it to the source and the labelled target images, never to test images: words that have seen them know
    something of what they are tested on.

    Parameters
    ----------
    n_words : int, default 1000
        Words, and so features.
    max_side : int, default 240
        Longer side in pixels to which images are scaled, up or down.
    step : int, default 8
        Pixels of the scaled image from one grid point to the next.
    sizes : tuple of numbers, default (24, 48, 96)
        Sides, in pixels of the scaled image, of the squares that descriptors look at: 4 x 4 cells each.
    root : bool, default True
        RootSIFT: square roots of descriptors that sum to one, whose Euclidean distance is Hellinger's.
    descriptors_per_image : int, default 100
        How many descriptors of an image the words are learned from.
    max_descriptors : int, default 200000
        How many in all: of more images than `max_descriptors / descriptors_per_image`, that many are drawn.
    random_state : None, int or RandomState, default None
        Seed of the samples and the clustering. Use an int along with a cache: without one each fit learns other words,
        and nothing that an earlier one has put into the cache is found again.
    cache : path or None, default None
        A folder where descriptors of a fit and rows are kept, by content: interrupted work goes on, and renamed files
        are not done again.
    n_jobs : int or None, default None
        Images worked on at once. The rows do not depend on it.

    Attributes
    ----------
    words_ : ndarray of float32, shape (n_words, 128)
        The visual words.

    Notes
    -----
    ``transform`` and ``extract`` take paths and arrays of shape (h, w) or (h, w, 1 | 3 | 4), uint8 or float in [0, 1].
    Rows are float32 and sum to one. Classifiers that compare rows by products, linear ones included, do better on their
    square roots.

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.features import SIFTBag
    >>> images = np.random.default_rng(0).random((5, 32, 40))
    >>> bags = SIFTBag(n_words=8, max_side=64, random_state=0).fit(images[:4])
    >>> bags.transform(images[4:]).shape
    (1, 8)
    """

    blas_threads = 1  # products of this size gain nothing from threads, and rows are to be the same whatever n_jobs

    def __init__(
        self,
        n_words=1000,
        *,
        max_side=240,
        step=8,
        sizes=(24, 48, 96),
        root=True,
        descriptors_per_image=100,
        max_descriptors=200_000,
        random_state=None,
        cache=None,
        n_jobs=None,
    ):
        self.n_words = n_words
        self.max_side = max_side
        self.step = step
        self.sizes = sizes
        self.root = root
        self.descriptors_per_image = descriptors_per_image
        self.max_descriptors = max_descriptors
        self.random_state = random_state
        self.cache = cache
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Learn the words.

        Images that cannot be read are left out, with a warning that names some of them.

        Parameters
        ----------
        X : sequence of length n
            Paths or arrays of images.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_parameters()
        check_pillow()
        items = self._as_items(X)
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        with whole_or_not_at_all(self):
            self.words_ = learn_words(self._sample(self._drawn(items, rng), seed), self.n_words, rng)
        return self

    def _check_parameters(self):
        check_parameters(self, ALLOWED)
        sizes = Interval(4)
        if not isinstance(self.sizes, (tuple, list)) or not self.sizes or not all(map(sizes.allows, self.sizes)):
            raise ValueError(
                f"sizes must be a tuple of numbers, each {sizes}, got {self.sizes!r}. They are the sides of "
                "the squares that descriptors look at."
            )

    def _drawn(self, items, rng):
        """Return as many of the items as the words are learned from."""
        n_images = max(1, self.max_descriptors // self.descriptors_per_image)
        if len(items) <= n_images:
            return items
        return [items[position] for position in np.sort(rng.choice(len(items), n_images, replace=False))]

    def _sample(self, items, seed):
        """Return some descriptors of each image, (n, 128) float32, whatever the order of the images."""
        n_values = self.descriptors_per_image * DESCRIPTOR
        store = None
        if self.cache is not None:
            recipe = dict(self._description(), seed=seed, descriptors_per_image=self.descriptors_per_image)
            store = RowStore(self.cache, f"{type(self).__name__}-fit", recipe, "<f2")
        samples = self._extract(items, lambda images: self._samples(images, seed), n_values, store)
        if samples.problems:
            missed = self._in_words(items, samples.problems)
            warnings.warn(f"words are learned without some images: {missed}.", stacklevel=3)
        rows = np.asarray(samples.X, np.float16)
        rows = rows[sorted(range(len(rows)), key=lambda i: rows[i].tobytes())].reshape(-1, DESCRIPTOR)
        descriptors = rows[~np.isnan(rows[:, 0])].astype(np.float32)
        if len(descriptors) < self.n_words:
            raise ValueError(
                f"n_words={self.n_words} words need at least as many descriptors, and {len(samples.kept)} images gave "
                f"{len(descriptors)}. Give more images, or raise descriptors_per_image, or lower n_words."
            )
        return descriptors

    def _samples(self, images, seed):
        """Return ``descriptors_per_image`` descriptors of each image, one after the other; NaN where it has fewer."""
        rows = np.full((len(images), self.descriptors_per_image, DESCRIPTOR), np.nan, np.float16)
        for row, image in zip(rows, images, strict=True):
            # The generator goes by the image itself: not by its place among the others, nor by who works on it.
            rng = np.random.default_rng([seed, int(digest(image)[:16], 16)])
            drawn = rng.permutation(self._descriptors(image))[: len(row)]
            row[: len(drawn)] = drawn
        return rows.reshape(len(images), -1)

    def _decode(self, raw):
        image_module = check_pillow()
        # Read at twice the size or more, so that what is scaled down here has all the detail that remains.
        image = image_module.fromarray(read_image(raw, at_least=2 * self.max_side)).convert("L")
        size = scaled_size(image.size, self.max_side / max(image.size))
        return np.asarray(image.resize(size, image_module.Resampling.BICUBIC), np.float32)

    def _compute(self, contents):
        return np.stack([word_shares(self._descriptors(image), self.words_) for image in contents])

    def _descriptors(self, image):
        """Return the descriptors of all sizes, (n, 128)."""
        return np.concatenate([dense_sift(image, size / 4, self.step, root=bool(self.root)) for size in self.sizes])

    def _description(self):
        """Return what decides the descriptors of an image."""
        return dict(
            max_side=self.max_side, step=self.step, sizes=[float(size) for size in self.sizes], root=bool(self.root)
        )

    def _recipe(self):
        return dict(self._description(), words=self.words_)

    @property
    def _n_features_out(self):
        return len(self.words_)
