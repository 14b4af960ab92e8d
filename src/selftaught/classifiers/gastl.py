"""GASTL as a classifier: `SelfTaughtClassifier` with GASTL's own parameters in its constructor."""

from __future__ import annotations

from ..selectors import GASTLSelector
from .self_taught import SelfTaughtClassifier
from .softmax import SoftmaxClassifier

__all__ = ["GASTLClassifier"]


class GASTLClassifier(SelfTaughtClassifier):
    """Learn from a few labelled rows and the rows of an unlabelled source that help, by GASTL.

    `SelfTaughtClassifier` with a `GASTLSelector`, whose parameters stand in this constructor.

    Parameters
    ----------
    n_hidden, sparsity, lam, smoothness, coupling, n_neighbors, metric, center, normalize, init, graph_scaling, scale, \
    max_outer, max_inner, history, tol, verbose
        See `GASTLSelector`.
    transferability : {"mapping", "gaussian"}, default "mapping"
        How the class of a source row is found; see `SelfTaughtClassifier`, also for all parameters that follow.
    average, labels, n_select, sigma2, guard, estimator, rows, cv, n_jobs, random_state
        See `SelfTaughtClassifier`.

    Attributes
    ----------
    classes_, relevance_, weights_, ranking_, selected_, pseudo_labels_, transfer_, diagnostics_, selector_, \
    classifier_, source_index_
        See `SelfTaughtClassifier`.

    Examples
    --------
    >>> from selftaught import GASTLClassifier, SourcePool
    >>> from selftaught.datasets import load_demo
    >>> problem = load_demo()
    >>> clf = GASTLClassifier(random_state=0).fit(problem.X, problem.y, X_source=SourcePool(problem.X_source))
    >>> clf.predict(problem.X_test).shape == problem.y_test.shape
    True
    """

    def __init__(
        self,
        n_hidden=100,
        *,
        sparsity=0.3,
        lam: float | None = None,
        smoothness=0.1,
        coupling: str | float = "balanced",
        n_neighbors=5,
        metric="cosine",
        center=True,
        normalize=True,
        init="spectral",
        graph_scaling="mean",
        scale=True,
        max_outer=2,
        max_inner=5,
        history=20,
        tol=1e-4,
        transferability="mapping",
        average=False,
        labels="soft",
        n_select: str | float = "auto",
        sigma2: str | float = "median",
        guard="fallback",
        estimator=None,
        rows="unit",
        cv=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            transferability=transferability,
            average=average,
            labels=labels,
            n_select=n_select,
            sigma2=sigma2,
            guard=guard,
            estimator=estimator,
            rows=rows,
            scale=scale,
            cv=cv,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.n_hidden = n_hidden
        self.sparsity = sparsity
        self.lam = lam
        self.smoothness = smoothness
        self.coupling = coupling
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.center = center
        self.normalize = normalize
        self.init = init
        self.graph_scaling = graph_scaling
        self.max_outer = max_outer
        self.max_inner = max_inner
        self.history = history
        self.tol = tol
        self.verbose = verbose

    def _make_selector(self):
        names = GASTLSelector().get_params()
        return GASTLSelector(**{name: getattr(self, name) for name in names})

    @classmethod
    def as_published(
        cls,
        scheme="A",
        *,
        labels="soft",
        lam=0.1,
        gamma=1e-3,
        n_hidden=100,
        n_select=100,
        random_state=None,
    ):
        """Return the published algorithm with its constants, its errata mended.

        Random start, 400 L-BFGS iterations a round with 100 updates kept, no centring, no weighting of rows, the graph
        term as a sum, Gaussians of variance 1, a softmax without penalty or offset on the scaled features, no guard.

        Parameters
        ----------
        scheme : {"A", "B"}, default "A"
            Pseudo-labels from the mapping (A) or from Gaussians around class means of the codes (B).
        labels : {"soft", "hard"}, default "soft"
        lam, gamma : float
            Absolute weights of sparsity and graph. For the numbers of the paper's grid halve lam: its printed update
            solves for half of it.
        n_hidden, n_select : int
        random_state : int, RandomState or None

        Returns
        -------
        GASTLClassifier
        """
        if scheme not in ("A", "B"):
            raise ValueError(f"scheme must be 'A' (from the mapping) or 'B' (from Gaussians), got {scheme!r}.")
        return cls(
            n_hidden,
            lam=lam,
            smoothness=gamma,
            coupling=1.0,
            center=False,
            normalize=False,
            init="random",
            graph_scaling="sum",
            max_outer=10,
            max_inner=400,
            history=100,
            transferability="mapping" if scheme == "A" else "gaussian",
            labels=labels,
            n_select=n_select,
            sigma2=1.0,
            guard="off",
            estimator=SoftmaxClassifier(l2=0.0, max_iter=400, tol=0.0),
            rows="scaled",
            random_state=random_state,
        )
