"""Low-rank coding of damaged images.

A tenth of the pixels of 150 handwritten digits is broken: black or white, at random. S-Low learns one dictionary from
these and from 400 unlabelled images, and codes the digits together, with codes of a low rank and an error for every
pixel. What the codes rebuild is the part that rows have in common; what is broken ends up in the errors.

Below the images: how far pixels are from the truth, broken ones and sound ones apart, and the singular values of the
rows and of their codes. The convex form (infinite knees) shrinks all directions alike; the minimax-concave form leaves
the strong ones alone, keeps more of them and comes closer to the truth. Neither is free: sound pixels pay for it.

S-Low is a reconstruction (see docs/methods/slow.md). Run with ``--out FILE.png`` to keep the figure.
"""

from __future__ import annotations

import argparse

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from selftaught import SLowEncoder
from selftaught.datasets import load_demo

FORMS = {"minimax concave": 2.0, "convex": np.inf}
N_SHOWN = 10


def main():
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--out", metavar="FILE")
    args = made.parse_args()
    problem, rng = load_demo(), np.random.default_rng(0)
    truth = problem.X_test[:150]
    broken = rng.random(truth.shape) < 0.1
    given = np.where(broken, rng.integers(0, 2, truth.shape), truth)
    singular, rebuilt = {"rows as given": np.linalg.svd(given)[1]}, {"as given": given}
    for form, gamma in FORMS.items():
        encoder = SLowEncoder(
            64, pca=None, scale=False, error_weight=10, rank_gamma=gamma, error_gamma=gamma, tol=1e-2, random_state=0
        ).fit(given, X_source=problem.X_source[:400])
        rebuilt[form] = encoder.codes_target_ @ encoder.components_
        singular[f"codes, {form}"] = np.linalg.svd(encoder.codes_target_)[1]
    figure = draw(truth, given, broken, rebuilt, singular)
    if args.out:
        figure.savefig(args.out, dpi=120)


def draw(truth, given, broken, rebuilt, singular):
    figure = plt.figure(figsize=(9, 7), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(3, 2))
    best = rebuilt["minimax concave"]
    images = {"as it was": truth, "as given": given, "rebuilt": best, "errors": np.abs(given - best)}
    for row, (name, rows) in zip(above.subplots(len(images), N_SHOWN), images.items(), strict=True):
        for i, axes in enumerate(row):
            axes.imshow(rows[15 * i].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[])
        row[0].set_ylabel(name, rotation=0, ha="right", va="center")
    left, right = below.subplots(1, 2)
    places = np.arange(len(rebuilt))
    for shift, mask, label in ((-0.2, broken, "broken pixels"), (0.2, ~broken, "sound pixels")):
        left.bar(places + shift, [np.abs(X - truth)[mask].mean() for X in rebuilt.values()], 0.38, label=label)
    left.set(title="mean distance from the truth", xticks=places, xticklabels=[*rebuilt])
    left.legend(frameon=False)
    for name, values in singular.items():
        right.plot(np.arange(1, 16), values[:15], marker="o", ms=4, label=name)
    right.set(title="singular values", xlabel="direction", yscale="symlog")
    right.legend(frameon=False)
    return figure


if __name__ == "__main__":
    main()
