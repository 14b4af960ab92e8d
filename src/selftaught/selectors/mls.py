"""Multiscale landmark selection as a selector: rows that see source and target alike matter."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._fitting import whole_or_not_at_all
from .._parameters import Choice, Interval, check_parameters
from .base import SourceSelector
from .landmarks import fit_surroundings, landmark_quality, normalized_overlap, overlap_coefficient

__all__ = ["MLSSelector"]

OVERLAPS = {"normalized": normalized_overlap, "overlap": overlap_coefficient}
# All source rows stand for themselves up to the first number; of more, a sample of the second size stands for all.
ALL_UP_TO, SAMPLE = 5000, 2000


class MLSSelector(SourceSelector):
    """Find the source rows from which source and target look alike, by multiscale landmark selection.

    **Reconstructed in part.** Certain of the published method: Gaussian similarities of a candidate to all source and
    to all target rows; the candidate is good if the two distributions of similarities overlap; several scales. The full
    paper was not available, so the normalised overlap, the percentiles and the threshold of about 0.3 are a form
    faithful in spirit. The subspace alignment that follows landmark selection in the paper is no part of this.

    For source row x and each scale s, with m_S, v_S the mean and variance of ``exp(-|x - y|^2 / (2 s^2))`` over all
    other source rows y, and m_T, v_T over the target rows,

        q_s(x) = exp(-(m_S - m_T)^2 / (2 (v_S + v_T))),        Q(x) = max_s q_s(x).

    Known of the method, and left as it is: rows far from everything see nothing on either side and look perfect; where
    source and target are alike, Q is close to 1 for all rows and hardly tells them apart.

    Parameters
    ----------
    percentiles : sequence of float, default (5, 10, ..., 95)
        Of all pairwise distances in source and target together: the scales. Reconstructed.
    aggregate : {"max", "mean"}, default "max"
        The best scale decides, or all do. That the original takes the maximum is likely, not certain.
    quality : {"normalized", "overlap"}, default "normalized"
        How alike two normals of these moments are: the formula above, or the area under both densities.
    threshold : float, default None
        Rows with Q up to this have relevance zero and are never used. The original keeps landmarks above about 0.3;
        without a threshold the ranking decides alone.
    min_variance : float, default 1e-10
        Where v_S + v_T is no more than this, q is 0: similarities that all vanish are no agreement.
    n_reference : int, default None
        Source rows, drawn at random, that stand for the source in m_S and v_S and in the scales. None takes all up to
        5000, and 2000 of more.
    scale : bool, default True
        Bring every feature to [0.1, 0.9] over source and target.
    random_state : int, RandomState or None, default None
        For the draw of reference rows.

    Attributes
    ----------
    relevance_ : ndarray, shape (n_source,)
        Q.
    weights_ : ndarray, shape (n_source,)
        Relevance over its maximum.
    ranking_ : ndarray of int, shape (n_source,)
        Source rows by Q, then by the mean of q_s over the scales.
    scales_ : ndarray, shape (n_scales,)
        In units of the scaled features; percentiles at which the distance is zero are left out.
    reference_ : ndarray of int, shape (n_reference,)
        Positions of the source rows that stand for the source.
    mapping_ : None
    scaling_ : FeatureScaling
    source_index_ : ndarray, shape (n_source,)
        Row ids of the source.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    R. Aljundi, R. Emonet, D. Muselet, M. Sebban, Landmarks-based kernelized subspace alignment for unsupervised domain
    adaptation, CVPR 2015. As a selector: S. Feng, H. Yu, M. F. Duarte, Knowledge-Based Systems, 2020.

    Examples
    --------
    >>> from selftaught import MLSSelector, SourcePool
    >>> from selftaught.datasets import load_demo
    >>> problem = load_demo()
    >>> selector = MLSSelector(aggregate="mean").fit(problem.X, X_source=SourcePool(problem.X_source))
    >>> selector.ranking_.shape == problem.source_is_relevant.shape
    True
    >>> bool((selector.score_source(problem.X_source) == selector.relevance_).all())
    True
    """

    _allowed = dict(
        aggregate=(Choice(("max", "mean")),),
        quality=(Choice(("normalized", "overlap")),),
        threshold=(Interval(0, 1), Choice((None,))),
        min_variance=(Interval(0),),
        n_reference=(Interval(2, whole=True), Choice((None,))),
        scale=(Choice((True, False)),),
    )

    def __init__(
        self,
        *,
        percentiles=tuple(range(5, 100, 5)),
        aggregate="max",
        quality="normalized",
        threshold: float | None = None,
        min_variance=1e-10,
        n_reference: int | None = None,
        scale=True,
        random_state=None,
    ):
        self.percentiles = percentiles
        self.aggregate = aggregate
        self.quality = quality
        self.threshold = threshold
        self.min_variance = min_variance
        self.n_reference = n_reference
        self.scale = scale
        self.random_state = random_state

    def fit(self, X, y=None, *, X_source=None):
        """Judge every source row, reading the source in blocks.

        Parameters
        ----------
        X : array-like or data frame, shape (n_target, d)
            The target rows, at least two.
        y : ignored
            Landmarks need no labels.
        X_source : SourcePool or anything it takes, shape (n_source, d), optional
            The source rows; they may be more than fit in memory. Without a source all results are empty.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        _check_percentiles(self.percentiles)
        with whole_or_not_at_all(self):
            return self._fit(X, X_source)

    def _fit(self, X, X_source):
        pool, targets = self._open(X, X_source, scale=self.scale)
        self.scales_, self.reference_, self._surroundings = np.zeros(0), np.arange(0), None
        if pool is None:
            return self._keep(np.zeros(0))
        self.reference_ = self._draw_reference(pool.n_rows)
        sources = self.scaling_.apply(pool.take(self.reference_)).astype(targets.dtype, copy=False)
        surroundings = fit_surroundings(sources, targets, self.percentiles)
        self.scales_, self._surroundings = surroundings.scales, surroundings
        relevance, mean = np.empty((2, pool.n_rows))
        for rows, block in self._scaled_blocks(pool):
            relevance[rows], mean[rows] = self._judge(block, surroundings)
        return self._keep(relevance, mean)

    def _draw_reference(self, n_source):
        """Return the positions of the rows that stand for the source, ascending."""
        n_reference = self.n_reference
        if n_reference is None:
            n_reference = n_source if n_source <= ALL_UP_TO else SAMPLE
        if n_reference >= n_source:
            return np.arange(n_source)
        rng = check_random_state(self.random_state)
        return np.sort(rng.choice(n_source, n_reference, replace=False))

    def _judge(self, block, surroundings):
        """Return the relevance of scaled rows, and the mean over scales that orders rows of equal relevance."""
        rows = block.astype(surroundings.center.dtype, copy=False)
        overlap = OVERLAPS[self.quality]
        found = landmark_quality(rows, surroundings, overlap=overlap, min_variance=self.min_variance)
        relevance = found.largest if self.aggregate == "max" else found.mean
        if self.threshold is not None:
            relevance = np.where(relevance > self.threshold, relevance, 0)
        return relevance, found.mean

    def score_source(self, X_source):
        """Judge rows by the reference rows and scales of the fit; a row that was in the fit scores its relevance.

        Parameters
        ----------
        X_source : SourcePool or anything it takes, shape (n, d)
            Read in blocks, so it may be larger than memory.

        Returns
        -------
        scores : ndarray, shape (n,)
            In [0, 1].
        """
        check_is_fitted(self)
        surroundings = self._surroundings
        if surroundings is None:
            raise ValueError(
                "this selector was fitted without a source and cannot score one. Fit it with X_source= first."
            )
        return self._score_blocks(X_source, lambda block: self._judge(block, surroundings)[0])


def _check_percentiles(percentiles):
    """Raise ValueError unless these are one or more numbers from 0 to 100."""
    listed = isinstance(percentiles, (tuple, list, range, np.ndarray))
    if not listed or len(percentiles) == 0 or not all(Interval(0, 100).allows(p) for p in percentiles):
        raise ValueError(
            f"percentiles must be one or more numbers from 0 to 100, got {percentiles!r}. "
            "They are percentiles of the distances between rows, such as (5, 50, 95)."
        )
