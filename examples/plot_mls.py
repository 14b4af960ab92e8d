"""Where landmarks lie: the quality of multiscale landmark selection over a plane.

Half of the source lies where the target does, half elsewhere. A landmark is a point from which source and target look
alike, and the map shows where such points are: between the two groups rather than on the target, and in the empty
corners, where nothing is seen of either. The best scale alone (left) is easily pleased; the mean over all scales
(right) less so.

    python examples/plot_mls.py --out landmarks.png
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from selftaught import MLSSelector

EXTENT = (-4.5, 8.5, -4.5, 4.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="FILE", help="where to write the figure; it is drawn and dropped without")
    args = parser.parse_args()
    X, X_source = draw(np.random.default_rng(0))
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
    for ax, aggregate in zip(axes, ("max", "mean"), strict=True):
        selector = MLSSelector(aggregate=aggregate, scale=False).fit(X, X_source=X_source)
        image = draw_map(ax, selector, X, X_source)
        ax.set_title(f'aggregate="{aggregate}"')
    axes[0].legend(loc="lower right", fontsize=8)
    figure.colorbar(image, ax=axes, label="Q, the quality of a landmark")
    figure.suptitle("From where do source and target look alike?")
    if args.out:
        figure.savefig(args.out, dpi=110)
    plt.close(figure)


def draw(rng):
    """Return 40 target rows and 160 source rows, of which the first half lies where the target does."""
    X = 0.8 * rng.normal(size=(40, 2))
    X_source = 0.8 * rng.normal(size=(160, 2))
    X_source[80:] += (4.0, 0.0)
    return X, X_source


def draw_map(ax, selector, X, X_source):
    """Colour the plane by quality, with the rows on top and the ten best source rows ringed."""
    left, right, bottom, top = EXTENT
    columns, rows = np.linspace(left, right, 130), np.linspace(bottom, top, 90)
    plane = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
    quality = selector.score_source(plane).reshape(90, 130)
    image = ax.imshow(quality, extent=EXTENT, origin="lower", vmin=0.5, vmax=1, cmap="viridis", aspect="equal")
    ax.scatter(*X_source.T, s=8, color="black", label="source")
    ax.scatter(*X.T, s=24, color="red", marker="x", label="target")
    ax.scatter(
        *X_source[selector.ranking_[:10]].T,
        s=70,
        facecolors="none",
        edgecolors="magenta",
        linewidths=1.5,
        label="ten best",
    )
    return image


if __name__ == "__main__":
    main()
