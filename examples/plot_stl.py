"""Self-taught learning as it began: what an archive's dictionary looks like, and what its codes are worth.

The dictionary is learned from the archive of the embedded example, four fifths of which are not digits: letters,
scribbles, textures, noise. Above, its atoms as pictures of 8 x 8 pixels, and one digit as the sum of the few atoms that
its code uses. Below, how well a softmax that was trained on 15 labelled digits reads 300 others, on their codes and on
their pixels (bars: range of the starts). Codes that rebuild a picture well need not tell digits apart: with so few
labels only those of one or two atoms come up to the pixels.

    python examples/plot_stl.py --out stl.png
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from selftaught import SoftmaxClassifier, SourcePool, STLEncoder
from selftaught.datasets import load_demo

PENALTIES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
SEEDS = range(3)


def accuracy(problem, rebuilt):
    clf = make_pipeline(StandardScaler(), SoftmaxClassifier())
    return clf.fit(rebuilt(problem.X), problem.y).score(rebuilt(problem.X_test), problem.y_test)


def encoder(problem, penalty, seed):
    made = STLEncoder(32, penalty=penalty, tol=1e-2, random_state=seed)
    return made.fit(problem.X, X_source=SourcePool(problem.X_source))


def show(axis, picture, title=""):
    bound = np.abs(picture).max()
    axis.imshow(picture.reshape(8, 8), cmap="RdBu_r", vmin=-bound, vmax=bound)
    axis.set_title(title, fontsize=8)
    axis.axis("off")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="FILE", help="where to write the figure")
    args = parser.parse_args()
    problem = load_demo()
    pixels = accuracy(problem, lambda X: X)
    codes = [[accuracy(problem, encoder(problem, p, seed).transform) for seed in SEEDS] for p in PENALTIES]

    fitted = encoder(problem, 0.1, 0)
    atoms = fitted.components_ @ fitted.pca_.axes
    figure = plt.figure(figsize=(9, 6.5), layout="constrained")
    above, middle, below = figure.subfigures(3, 1, height_ratios=[1.2, 0.9, 1.6])
    above.suptitle("atoms of the archive", fontsize=10)
    for axis, atom in zip(above.subplots(2, 16).flat, atoms, strict=True):
        show(axis, atom)
    code = fitted.codes_target_[-1]
    used = np.argsort(-np.abs(code))[:5]
    middle.suptitle("a digit, what its code rebuilds, and the atoms it uses most", fontsize=10)
    digit = fitted.scaling_.apply(problem.X[-1:])[0] - fitted.pca_.mean
    parts = [(digit, "digit"), (code @ atoms, f"{np.count_nonzero(code)} atoms")]
    parts += [(code[j] * atoms[j], f"{code[j]:+.2f}") for j in used]
    for axis, (picture, title) in zip(middle.subplots(1, len(parts)), parts, strict=True):
        show(axis, picture, title)
    axis = below.subplots()
    axis.errorbar(PENALTIES, np.mean(codes, axis=1), np.ptp(codes, axis=1) / 2, marker="o", capsize=3, label="codes")
    axis.axhline(pixels, color="grey", linestyle="--", label="pixels")
    axis.set(xlabel="penalty", ylabel="accuracy on new digits", title="15 labelled digits, 32 atoms, 3 starts")
    axis.legend()
    if args.out:
        figure.savefig(args.out, dpi=120)


if __name__ == "__main__":
    main()
