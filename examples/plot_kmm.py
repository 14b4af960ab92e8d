"""Who carries the weight: kernel mean matching in a plane, with a narrow, the median and a wide kernel.

The source is one broad cloud, the target a ring on its right side. Matching gives source rows (circles, their area is
the weight) what the source lacks of the target (crosses). A narrow kernel spreads the weight over all rows
near the target; the wider the kernel, the fewer rows carry it, and a little weight far away makes up for what they
miss.

    python examples/plot_kmm.py --out matching.png
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from selftaught import KMMSelector


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="FILE", help="where to write the figure; it is drawn and dropped without")
    args = parser.parse_args()
    X, X_source = draw(np.random.default_rng(0))
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), sharey=True, layout="constrained")
    for ax, factor in zip(axes, (0.1, 1.0, 3.0), strict=True):
        selector = KMMSelector(bandwidth_scale=factor, scale=False).fit(X, X_source=X_source)
        draw_weights(ax, selector, X, X_source)
        ax.set_title(
            f"bandwidth_scale={factor:g}: {selector.n_nonzero_} of {len(X_source)} rows\n"
            f"distance of the means {selector.mmd_uniform_:.2g} → {selector.mmd_:.1g}",
            fontsize=10,
        )
    axes[0].legend(loc="lower left", fontsize=8)
    figure.suptitle("Source rows weighted to look like the target")
    if args.out:
        figure.savefig(args.out, dpi=110)
    plt.close(figure)


def draw(rng):
    """Return 80 target rows on a ring and 600 source rows around it."""
    angles = rng.uniform(0, 2 * np.pi, size=80)
    radii = 1 + 0.12 * rng.normal(size=80)
    X = np.column_stack([1 + radii * np.cos(angles), radii * np.sin(angles)])
    return X, 1.5 * rng.normal(size=(600, 2))


def draw_weights(ax, selector, X, X_source):
    """Draw every source row as a dot, those with a weight as circles of that area, and the target as crosses."""
    used = selector.relevance_ > 0
    share = selector.relevance_[used] / selector.relevance_.sum()
    ax.scatter(*X_source.T, s=4, color="0.7", label="source")
    ax.scatter(*X_source[used].T, s=6000 * share, color="tab:blue", alpha=0.55, label="its weight")
    ax.scatter(*X.T, s=18, color="tab:red", marker="x", linewidths=0.9, label="target")
    ax.set(xlim=(-3.6, 4.6), ylim=(-3.4, 3.4), aspect="equal", xticks=[], yticks=[])


if __name__ == "__main__":
    main()
