"""Displays: what a fitted model found, as figures.

Each display holds the numbers it shows and nothing of the model, so it can be stored and drawn again. As in
scikit-learn, ``from_estimator`` takes the numbers from a fitted selector or classifier and draws them, ``plot`` draws
into any axes, and ``ax_`` and ``figure_`` are what was drawn on.

One colour, a green that colour-blind readers can tell from grey, marks what matters; all else is grey. Matplotlib is
imported when a display draws: ``pip install 'selftaught[plot]'``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .source import as_source

__all__ = ["ObjectiveDisplay", "RelevanceDisplay", "SourceImagesDisplay", "TransferCurveDisplay"]

ACCENT, INK, GREY, PALE = "#00875f", "#333333", "#8c8c8c", "#c8c8c8"
TITLE = 11
MARKER: dict[str, Any] = dict(marker="o", markersize=5, markeredgecolor="white", markeredgewidth=0.8)


class TransferCurveDisplay:
    """Accuracy against the number of source rows learned from, and what the guard made of it.

    The line is the mean over the folds of the labelled rows, the band one standard deviation to either side. Sizes
    stand at equal distances, since each is about twice the one before. The gain in the title is the cross-fitted one,
    on which the guard decides; the rise of the line is a little larger, as its best size was chosen by looking.

    Parameters
    ----------
    transfer : Transfer
        A verdict with a curve, ``transfer_`` of a classifier.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    line_, band_, target_only_, chosen_ : artists
        Mean, spread over folds, the level without a source, the size used.

    Examples
    --------
    >>> from selftaught import GASTLClassifier, SourcePool
    >>> from selftaught.datasets import load_demo
    >>> from selftaught.plotting import TransferCurveDisplay
    >>> problem = load_demo()
    >>> clf = GASTLClassifier(random_state=0).fit(problem.X, problem.y, X_source=SourcePool(problem.X_source))
    >>> TransferCurveDisplay.from_estimator(clf).ax_.get_ylabel()
    'accuracy on held-out rows, %'
    """

    ax_: Any
    figure_: Any
    line_: Any
    band_: Any
    target_only_: Any
    chosen_: Any

    def __init__(self, transfer):
        self.transfer = transfer

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the transfer curve of a fitted classifier."""
        check_is_fitted(estimator)
        transfer = getattr(estimator, "transfer_", None)
        if transfer is None:
            raise ValueError(f"{type(estimator).__name__} has no transfer_. Only classifiers measure a transfer curve.")
        if transfer.curve is None:
            raise ValueError(
                f"no transfer curve was measured. {transfer.reason} A curve needs a source, at least three labelled "
                "rows of each class, and n_select='auto' or a guard."
            )
        return cls(transfer).plot(ax)

    def plot(self, ax=None):
        """Draw into ``ax``, or a new figure."""
        self.figure_, self.ax_ = _axes(ax)
        ax, transfer, curve = self.ax_, self.transfer, self.transfer.curve
        places, mean, spread = np.arange(len(curve.sizes)), 100 * curve.mean, 100 * curve.scores.std(axis=0)
        chosen = int(np.flatnonzero(curve.sizes == transfer.n_select)[0])
        self.band_ = ax.fill_between(places, mean - spread, mean + spread, color=PALE, alpha=0.45, linewidth=0)
        self.target_only_ = ax.axhline(mean[0], color=INK, linewidth=1, linestyle=(0, (4, 3)))
        (self.line_,) = ax.plot(places, mean, color=GREY, linewidth=1.6, **MARKER)
        (self.chosen_,) = ax.plot(places[chosen], mean[chosen], color=ACCENT, linestyle="", **MARKER)
        self.chosen_.set_markersize(9)
        used = f"{transfer.n_select} used" if transfer.used else "not used"
        side = _towards_middle(chosen, len(places))
        _note(ax, used, (places[chosen], mean[chosen]), (0, 9), ha=side, color=ACCENT, fontweight="bold")
        at_right = ("axes fraction", "data")
        _note(ax, "target only", (1, mean[0]), (0, -4), at_right, ha="right", va="top", color=INK)
        folds = f"band: one standard deviation over {len(curve.scores)} folds"
        _note(ax, folds, (1, 0), (0, 4), "axes fraction", ha="right", color=GREY, fontsize="small")
        ax.set_xticks(places, [f"{size:,}" for size in curve.sizes])
        ax.margins(y=0.1)
        ax.set(xlabel="source rows learned from", ylabel="accuracy on held-out rows, %")
        _title(ax, _short_verdict(transfer))
        return self


class ObjectiveDisplay:
    """The objective of GASTL after each round, relative to its start; it never rises.

    Parameters
    ----------
    objective_path : array-like, shape (n_rounds + 1,)
        ``diagnostics_.objective_path``, the first entry being the start.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    line_ : artist
    """

    ax_: Any
    figure_: Any
    line_: Any

    def __init__(self, objective_path):
        self.objective_path = np.asarray(objective_path, dtype=float)

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the objective of a fitted `GASTLSelector` or a classifier that used one."""
        check_is_fitted(estimator)
        diagnostics = getattr(estimator, "diagnostics_", None)
        if diagnostics is None:
            raise ValueError(
                f"this {type(estimator).__name__} has no objective to show. Fit GASTL with a source: only GASTL "
                "minimises one."
            )
        return cls(diagnostics.objective_path).plot(ax)

    def plot(self, ax=None):
        """Draw into ``ax``, or a new figure."""
        self.figure_, self.ax_ = _axes(ax)
        rounds = np.arange(len(self.objective_path))
        share = 100 * self.objective_path / self.objective_path[0]
        (self.line_,) = self.ax_.plot(rounds, share, color=ACCENT, linewidth=1.6, **MARKER)
        self.ax_.set_xticks(rounds if len(rounds) <= 8 else rounds[:: math.ceil(len(rounds) / 6)])
        self.ax_.locator_params(axis="y", nbins=4)
        self.ax_.margins(x=0.1, y=0.12)
        self.ax_.set(xlabel="round", ylabel="objective, % of its start")
        _title(self.ax_, f"Objective {share[-1] - 100:+.1f}%".replace("-", "−"))
        return self


class RelevanceDisplay:
    """How relevance is spread over the source: sorted, or by kind of row where the kinds are known.

    Parameters
    ----------
    relevance : array-like, shape (n_source,)
    kind : array-like of str, shape (n_source,), optional
        What each source row is. Then each relevant row is a dot on the line of its kind, and the kinds stand in the
        order of how many of their rows are relevant, with that number and the number of all.
    highlight : str or sequence of str, default ()
        Kinds to draw in colour: the ones worth finding.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    kinds_ : list of str
        From top to bottom; empty without ``kind``.
    artists_ : list of artists
        The line, or the dots of each of ``kinds_``.
    """

    ax_: Any
    figure_: Any
    kinds_: list[str]
    artists_: list[Any]

    def __init__(self, relevance, kind=None, *, highlight=()):
        self.relevance = np.asarray(relevance, dtype=float)
        self.kind = None if kind is None else np.asarray(kind)
        self.highlight = {highlight} if isinstance(highlight, str) else {*highlight}
        if self.kind is not None and len(self.kind) != len(self.relevance):
            raise ValueError(
                f"kind has {len(self.kind)} entries for {len(self.relevance)} source rows. Pass one kind for each row "
                "of the source, in its order."
            )

    @classmethod
    def from_estimator(cls, estimator, kind=None, *, highlight=(), ax=None):
        """Draw the relevance that a fitted selector or classifier found."""
        check_is_fitted(estimator)
        return cls(estimator.relevance_, kind, highlight=highlight).plot(ax)

    def plot(self, ax=None):
        """Draw into ``ax``, or a new figure."""
        self.figure_, self.ax_ = _axes(ax)
        n_relevant, n_source = np.count_nonzero(self.relevance), len(self.relevance)
        _title(self.ax_, f"{n_relevant:,} of {n_source:,} rows are relevant")
        if self.kind is None:
            self._plot_sorted(n_relevant)
        else:
            self._plot_kinds(self.kind)
        return self

    def _plot_sorted(self, n_relevant):
        self.kinds_ = []
        shown = np.sort(self.relevance)[::-1][: n_relevant + max(1, n_relevant // 10)]
        ranks = np.arange(1, len(shown) + 1)
        self.artists_ = self.ax_.plot(ranks, shown, color=ACCENT, linewidth=1.6)
        self.ax_.set(xlabel="source rows, most relevant first", ylabel="relevance", ylim=(0, None))

    def _plot_kinds(self, kind_of_row):
        is_relevant = self.relevance > 0
        kinds, totals = np.unique(kind_of_row, return_counts=True)
        total = dict(zip(kinds.tolist(), totals.tolist(), strict=True))
        found = {kind: np.count_nonzero(is_relevant & (kind_of_row == kind)) for kind in total}
        self.kinds_ = sorted(total, key=lambda kind: (-found[kind], -total[kind], kind))
        self.artists_ = []
        for line, kind in enumerate(self.kinds_):
            color = ACCENT if kind in self.highlight else GREY
            relevance = self.relevance[is_relevant & (kind_of_row == kind)]
            # Steps of the golden ratio spread dots evenly over the line's height, the same way every time.
            heights = line + 0.6 * ((np.arange(len(relevance)) * 0.618034) % 1 - 0.5)
            dots = self.ax_.scatter(relevance, heights, s=16, color=color, alpha=0.75, linewidth=0, clip_on=False)
            self.artists_.append(dots)
            counts = f"{found[kind]:,} of {total[kind]:,}"
            _note(self.ax_, counts, (1, line), (6, 0), ("axes fraction", "data"), va="center", color=color)
        self.ax_.set_yticks(range(len(self.kinds_)), self.kinds_)
        for label, kind in zip(self.ax_.get_yticklabels(), self.kinds_, strict=True):
            label.set(color=ACCENT if kind in self.highlight else INK)
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.spines["left"].set_visible(False)
        largest = self.relevance.max(initial=0) or 1.0
        self.ax_.set(xlabel="relevance", xlim=(0, 1.03 * largest), ylim=(len(self.kinds_) - 0.4, -0.6))


class SourceImagesDisplay:
    """The most and the least relevant source rows as images, side by side.

    Parameters
    ----------
    most, least : ndarray, shape (n, height, width) or (n, height, width, 3)
        Images, the most relevant first, and the least relevant last.
    most_is_right, least_is_right : array-like of bool, shape (n,), optional
        Whether a row truly is relevant; decides the colour of its frame.
    n_columns : int, default 8
        Images in a line, of each of the two groups.
    cmap : str, default "gray_r"
        For images of one channel; the default draws large values dark, as ink.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    images_ : list of artists
        Most relevant first, then the least relevant.
    frames_ : list of artists
        One for each image.
    """

    ax_: Any
    figure_: Any
    images_: list[Any]
    frames_: list[Any]

    def __init__(self, most, least, *, most_is_right=None, least_is_right=None, n_columns=8, cmap="gray_r"):
        self.most, self.least = np.asarray(most), np.asarray(least)
        self.most_is_right, self.least_is_right = most_is_right, least_is_right
        self.n_columns = n_columns
        self.cmap = cmap

    @classmethod
    def from_estimator(
        cls, estimator, X_source, *, feature_shape, is_relevant=None, n=24, n_columns=8, cmap="gray_r", ax=None
    ):
        """Draw the n most and the n least relevant rows of the source that a selector or classifier was fitted on.

        Parameters
        ----------
        estimator : fitted selector or classifier
        X_source : SourcePool or anything it takes, shape (n_source, d)
        feature_shape : tuple of int
            Shape of one row as an image.
        is_relevant : array-like of bool, shape (n_source,), optional
            The truth, where it is known.
        n, n_columns, cmap, ax
            Images in each group, and how to draw them.
        """
        check_is_fitted(estimator)
        pool = as_source(X_source, n_target=-1, n_features=estimator.n_features_in_)
        ranking = estimator.ranking_
        if pool.n_rows != len(ranking):
            raise ValueError(
                f"X_source has {pool.n_rows} rows, but the estimator was fitted with {len(ranking)}. Pass the source "
                "it was fitted on."
            )
        if math.prod(feature_shape) != pool.n_features:
            raise ValueError(
                f"feature_shape {tuple(feature_shape)} makes {math.prod(feature_shape)} values, but a row has "
                f"{pool.n_features}."
            )
        n = min(n, len(ranking) // 2)
        groups = ranking[:n], ranking[len(ranking) - n :]
        truth = [None if is_relevant is None else np.asarray(is_relevant)[rows] for rows in groups]
        images = [pool.take(rows).reshape(-1, *feature_shape) for rows in groups]
        right = dict(most_is_right=truth[0], least_is_right=truth[1])
        return cls(*images, **right, n_columns=n_columns, cmap=cmap).plot(ax)

    def plot(self, ax=None):
        """Draw into ``ax``, or a new figure."""
        self.figure_, self.ax_ = _axes(ax)
        self.images_, self.frames_ = [], []
        self._brightest = max(self.most.max(initial=0), self.least.max(initial=0)) or 1.0
        apart = self.n_columns + 0.7
        self._plot_group("most relevant", self.most, self.most_is_right, left=0)
        self._plot_group("least relevant", self.least, self.least_is_right, left=apart)
        n_lines = math.ceil(max(len(self.most), len(self.least)) / self.n_columns)
        self.ax_.set(xlim=(0, apart + self.n_columns), ylim=(n_lines, -0.35), aspect="equal")
        self.ax_.set_axis_off()
        return self

    def _plot_group(self, name, images, is_right, *, left):
        from matplotlib.patches import Rectangle

        known = "" if is_right is None else f": {np.count_nonzero(is_right)} of {len(images)} truly are"
        self.ax_.text(left + 0.05, -0.12, f"{name}{known}", color=INK, fontsize=TITLE)
        is_right = np.zeros(len(images), bool) if is_right is None else np.asarray(is_right)
        size, pad = 0.90, 0.05
        for i, (image, right) in enumerate(zip(images, is_right, strict=True)):
            line, column = divmod(i, self.n_columns)
            x, y = left + column + pad, line + pad
            extent = (x, x + size, y + size, y)
            self.images_.append(
                self.ax_.imshow(image, cmap=self.cmap, extent=extent, vmin=0, vmax=self._brightest, aspect="equal")
            )
            color, width = (ACCENT, 2.2) if right else (PALE, 1.2)
            frame = Rectangle((x, y), size, size, fill=False, edgecolor=color, linewidth=width)
            self.frames_.append(self.ax_.add_patch(frame))


def _axes(ax):
    """Return the figure and the axes to draw on, quietened: no box, short ticks."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("Displays need matplotlib. Install it with: pip install 'selftaught[plot]'") from error
        _, ax = pyplot.subplots(figsize=(5.5, 3.8), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(color=GREY, labelcolor=INK, length=3)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
    return ax.figure, ax


def _title(ax, text):
    ax.set_title(text, loc="left", color=INK, fontsize=TITLE)


def _note(ax, text, point, offset, coordinates: Any = "data", **look):
    """Write text beside a point, ``offset`` in points away from it."""
    ax.annotate(text, point, offset, xycoords=coordinates, textcoords="offset points", **look)


def _towards_middle(place, n_places):
    """Where a label hangs on its point so that it stays inside the axes."""
    return "left" if place == 0 else "right" if place == n_places - 1 else "center"


def _short_verdict(transfer):
    """The verdict in two short lines, with the gain and its 95% interval."""
    rows = f"{transfer.best_size:,} source rows"
    if not transfer.used:
        verdict = f"Not used: {rows} would not help"
    elif transfer.gain < 0:
        verdict = f"{rows} used against the evidence"
    else:
        verdict = f"{rows} used"
    gain, low, high = (
        f"{100 * points:+.1f}".replace("-", "−") for points in (transfer.gain, transfer.low, transfer.high)
    )
    return f"{verdict}\n{gain} points ({low} to {high})"
