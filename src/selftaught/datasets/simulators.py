"""Synthetic problems whose relevant source rows are known because they were put there.

- `make_open_set`: the target's classes hidden among others, `x = (centre of its class + z) loadings + noise`.
- `make_planted_mapping`: the model of the mapping step itself, `X_target = Aᵀ X_source + noise`, A row-sparse.
- `make_paper_shape`: visual-word histograms of the size and sparsity that the published experiments use.

Shapes: rows are samples everywhere; a mapping is (n_source, n_target), one row per source sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .checks import check_at_least, check_share
from .problem import TransferProblem


def make_open_set(
    n_source: int = 2000,
    n_per_class: int = 5,
    *,
    n_classes: int = 5,
    n_other_classes: int = 20,
    n_test_per_class: int = 40,
    n_features: int = 64,
    n_factors: int | None = None,
    separation: float = 8.0,
    noise: float = 0.1,
    share_relevant: float = 0.2,
    mean_shift: float = 0.0,
    tail: float | None = None,
    random_state=None,
) -> TransferProblem:
    """Draw an open-set problem from a Gaussian mixture, in full dimension or near a low-rank subspace.

    A row of class c is `(centre_c + z) loadings + noise * e` with standard normal `z` (n_factors) and `e` (n_features)
    and orthonormal `loadings` (n_factors, n_features).

    Parameters
    ----------
    n_source : int, default 2000
        Rows in the pool.
    n_per_class, n_test_per_class : int, default 5 and 40
        Labelled and held-out rows of each target class.
    n_classes, n_other_classes : int, default 5 and 20
        Classes of the target, and classes the rest of the pool comes from.
    n_features : int, default 64
        Width of a row.
    n_factors : int or None, default None
        Dimension of the subspace that holds the classes; None means the full dimension.
    separation : float, default 8.0
        Root mean square distance between two class centres, where a class has standard deviation 1 in each factor.
        At 0 nothing tells the classes apart.
    noise : float, default 0.1
        Standard deviation of the noise added to every feature.
    share_relevant : float, default 0.2
        Share of the pool that belongs to the target's classes, in equal parts.
    mean_shift : float, default 0.0
        Length of an offset, in one random direction, added to every irrelevant row.
    tail : float or None, default None
        With a number, every irrelevant row is lengthened by a factor `1 + Pareto(tail)`: the smaller, the longer the
        longest rows. They catch methods that mistake length for relevance.
    random_state : None, int or numpy.random.Generator, default None
        Seed.

    Returns
    -------
    TransferProblem
        `source_kind` holds "class 0", "class 1", ...; the first `n_classes` are the target's.

    Examples
    --------
    >>> from selftaught.datasets import make_open_set
    >>> problem = make_open_set(n_source=200, share_relevant=0.1, random_state=0)
    >>> int(problem.source_is_relevant.sum())
    20
    """
    check_at_least(1, n_source=n_source, n_per_class=n_per_class, n_test_per_class=n_test_per_class)
    check_at_least(1, n_features=n_features, n_other_classes=n_other_classes)
    check_at_least(2, n_classes=n_classes)
    check_at_least(0, separation=separation, noise=noise)
    check_share(share_relevant=share_relevant)
    if n_factors is not None and not 1 <= n_factors <= n_features:
        raise ValueError(f"n_factors must be in [1, n_features={n_features}] or None, got {n_factors}.")
    if tail is not None and not tail > 0:
        raise ValueError(f"tail must be positive or None, got {tail}. It is the index of a Pareto law.")
    rng = np.random.default_rng(random_state)
    rank = n_features if n_factors is None else n_factors
    loadings = np.linalg.qr(rng.normal(size=(n_features, rank)))[0].T
    # Two standard normal centres are sqrt(2 rank) apart in the root mean square.
    centres = rng.normal(size=(n_classes + n_other_classes, rank)) * separation / np.sqrt(2 * rank)

    def draw(classes):
        z = rng.normal(size=(len(classes), rank))
        return (centres[classes] + z) @ loadings + noise * rng.normal(size=(len(classes), n_features))

    y, y_test = (np.repeat(np.arange(n_classes), n) for n in (n_per_class, n_test_per_class))
    n_relevant = round(share_relevant * n_source)
    others = rng.integers(n_classes, n_classes + n_other_classes, size=n_source - n_relevant)
    classes = rng.permutation(np.concatenate([np.arange(n_relevant) % n_classes, others]))
    is_relevant = classes < n_classes

    X_source, offset = draw(classes), rng.normal(size=n_features)
    X_source[~is_relevant] += mean_shift * offset / np.linalg.norm(offset)
    if tail is not None:
        X_source[~is_relevant] *= 1 + rng.pareto(tail, size=(n_source - n_relevant, 1))
    return TransferProblem(
        name="open set",
        description=f"Gaussian classes, {n_classes} of them the target's, hidden among {n_other_classes} others.",
        X=draw(y),
        y=y,
        X_source=X_source,
        source_is_relevant=is_relevant,
        source_classes=np.where(is_relevant, classes, -1),
        X_test=draw(y_test),
        y_test=y_test,
        class_names=tuple(f"class {c}" for c in range(n_classes)),
        source_kind=np.char.add("class ", classes.astype(str)),
    )


@dataclass(frozen=True, eq=False)
class PlantedMapping:
    """A target rebuilt from a few source rows, with the mapping that did it.

    Attributes
    ----------
    X_source : ndarray of shape (n_source, n_features)
    X_target : ndarray of shape (n_target, n_features)
        `mapping.T @ X_source` plus noise.
    mapping : scipy.sparse.csr_array of shape (n_source, n_target)
        The planted A; its nonzero rows are the relevant ones.
    relevance : ndarray of shape (n_source,)
        Row norms of `mapping`.
    """

    X_source: np.ndarray
    X_target: np.ndarray
    mapping: sparse.csr_array
    relevance: np.ndarray


def make_planted_mapping(
    n_source: int = 200,
    n_target: int = 20,
    n_features: int = 50,
    *,
    n_relevant: int = 10,
    noise: float = 0.0,
    correlation: float = 0.0,
    random_state=None,
) -> PlantedMapping:
    """Draw `X_target = Aᵀ X_source + noise` with a known row-sparse A.

    Parameters
    ----------
    n_source, n_target, n_features : int, default 200, 20 and 50
        Sizes.
    n_relevant : int, default 10
        Source rows with a nonzero row in the mapping. Their row norms are spread evenly over [0.5, 1], so relevance
        has an order to recover and none of it is negligible.
    noise : float, default 0.0
        Standard deviation of the noise added to the target.
    correlation : float, default 0.0
        Correlation between any two source rows, in [0, 1): the nearer to 1, the harder it is to tell which rows were
        used.
    random_state : None, int or numpy.random.Generator, default None
        Seed.

    Returns
    -------
    PlantedMapping

    Examples
    --------
    >>> import numpy as np
    >>> from selftaught.datasets import make_planted_mapping
    >>> planted = make_planted_mapping(random_state=0)
    >>> int((planted.relevance > 0).sum())
    10
    >>> bool(np.allclose(planted.mapping.T @ planted.X_source, planted.X_target))
    True
    """
    check_at_least(1, n_source=n_source, n_target=n_target, n_features=n_features)
    check_at_least(0, n_relevant=n_relevant, noise=noise)
    if n_relevant > n_source:
        raise ValueError(f"n_relevant must be at most n_source={n_source}, got {n_relevant}.")
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation must be in [0, 1), got {correlation}.")
    rng = np.random.default_rng(random_state)
    shared, own = rng.normal(size=n_features), rng.normal(size=(n_source, n_features))
    X_source = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own

    relevance = np.zeros(n_source)
    relevance[rng.choice(n_source, n_relevant, replace=False)] = np.linspace(1, 0.5, n_relevant)
    directions = rng.normal(size=(n_source, n_target))
    mapping = relevance[:, None] * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return PlantedMapping(
        X_source=X_source,
        X_target=mapping.T @ X_source + noise * rng.normal(size=(n_target, n_features)),
        mapping=sparse.csr_array(mapping),
        relevance=relevance,
    )


def make_paper_shape(
    n_source: int = 2400,
    n_target: int = 300,
    n_features: int = 1000,
    *,
    n_test: int = 300,
    n_classes: int = 100,
    n_target_classes: int = 20,
    share_relevant: float = 0.0,
    n_words: int = 370,
    random_state=None,
) -> TransferProblem:
    """Draw visual-word histograms with the shape of the published experiments' image features.

    Every class is a variation of one common word distribution, every row a variation of its class, and a row is the
    share of each word among about `n_words` draws. The constants were chosen against 1,000-word SIFT bags of 100 image
    classes. Those have 91 % zeros, a median largest entry of 0.06 and, from 15 rows per class, a nearest-neighbour
    accuracy of 34 %; these have 91 %, 0.07 and 37 %. Classes overlap.

    Parameters
    ----------
    n_source, n_target, n_test : int, default 2400, 300 and 300
        Rows of the pool, labelled rows and held-out rows, in equal parts over their classes.
    n_features : int, default 1000
        Words.
    n_classes, n_target_classes : int, default 100 and 20
        Classes in all, and those of them that are the target's.
    share_relevant : float, default 0.0
        Share of the pool that belongs to the target's classes. The published pools have none.
    n_words : int, default 370
        Mean number of words in a row; fewer make sparser rows.
    random_state : None, int or numpy.random.Generator, default None
        Seed.

    Returns
    -------
    TransferProblem
        All entries are non-negative and every row sums to 1.

    Examples
    --------
    >>> from selftaught.datasets import make_paper_shape
    >>> problem = make_paper_shape(n_source=80, n_target=40, random_state=0)
    >>> problem.X_source.shape, len(problem.class_names)
    ((80, 1000), 20)
    """
    check_at_least(1, n_source=n_source, n_features=n_features, n_words=n_words)
    check_at_least(2, n_target_classes=n_target_classes)
    check_at_least(n_target_classes, n_target=n_target, n_test=n_test)
    check_share(share_relevant=share_relevant)
    if n_classes <= n_target_classes:
        raise ValueError(f"n_classes must exceed n_target_classes={n_target_classes}, got {n_classes}.")
    rng = np.random.default_rng(random_state)
    n_relevant = round(share_relevant * n_source)
    n_other_classes = n_classes - n_target_classes
    other_classes = n_target_classes + np.arange(n_source - n_relevant) % n_other_classes
    classes = rng.permutation(np.concatenate([np.arange(n_relevant) % n_target_classes, other_classes]))
    y, y_test = (np.sort(np.arange(n) % n_target_classes) for n in (n_target, n_test))

    histograms = _word_histograms(np.concatenate([y, classes, y_test]), n_classes, n_features, n_words, rng)
    X, X_source, X_test = np.split(histograms, [n_target, n_target + n_source])
    is_relevant = classes < n_target_classes
    return TransferProblem(
        name="paper shape",
        description=f"Word histograms of {n_classes} overlapping classes, {n_target_classes} of them the target's.",
        X=X,
        y=y,
        X_source=X_source,
        source_is_relevant=is_relevant,
        source_classes=np.where(is_relevant, classes, -1),
        X_test=X_test,
        y_test=y_test,
        class_names=tuple(f"class {c}" for c in range(n_target_classes)),
        source_kind=np.char.add("class ", classes.astype(str)),
    )


def _word_histograms(classes: np.ndarray, n_classes: int, n_features: int, n_words: int, rng) -> np.ndarray:
    """L1-normalised histograms, (len(classes), n_features), of rows of the given classes."""
    # Word frequencies fall as a power of their rank; a Dirichlet law with that mean, drawn once per class and once
    # more per row, makes words bursty: rows repeat their own words, which is where the zeros come from.
    common = np.arange(1, n_features + 1) ** -0.5
    common /= common.sum()
    class_words = rng.dirichlet(250 * common, size=n_classes)
    rows = rng.standard_gamma(45 * (common + class_words[classes]) / 2)
    lengths = np.maximum(rng.normal(n_words, n_words / 4, len(classes)), 1).astype(int)
    counts = rng.multinomial(lengths, rows / rows.sum(axis=1, keepdims=True))
    return counts / lengths[:, None]
