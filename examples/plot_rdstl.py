"""Atoms that outliers do not move.

Two dictionaries of 24 atoms are learned on the small images of the demo, by RDSTL and with a squared loss. Then one
image in twenty is replaced by noise that is twenty times as strong, and both are learned anew. A squared loss spends
its atoms on the noise. RDSTL counts an image by the length of what is left of it and not by its square, and keeps most
of its atoms.

Run with ``--out FILE`` to write the figure.
"""

import argparse
import warnings

import matplotlib
import numpy as np
from sklearn.decomposition import MiniBatchDictionaryLearning

from selftaught import RDSTLEncoder, SourcePool
from selftaught.datasets import load_demo

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N_ATOMS = 24


def main(out=None):
    problem, rng = load_demo(random_state=0), np.random.default_rng(0)
    X_source = problem.X_source[:800]
    middle = X_source.mean(axis=0)
    clean = X_source - middle
    usual = np.median(np.linalg.norm(clean, axis=1))
    spoiled, noise = clean.copy(), rng.normal(size=(40, clean.shape[1]))
    spoiled[rng.permutation(800)[:40]] = 20 * usual * noise / np.linalg.norm(noise, axis=1)[:, None]
    start = clean[rng.permutation(800)[:N_ATOMS]]
    start /= np.linalg.norm(start, axis=1)[:, None]

    figure, panels = plt.subplots(1, 4, figsize=(11, 4.4))
    shown = (
        ("squared loss, clean", squared_loss(clean, start, usual)),
        ("squared loss, 5 % noise", squared_loss(spoiled, start, usual)),
        ("RDSTL, clean", rdstl(problem.X - middle, problem.y, clean)),
        ("RDSTL, 5 % noise", rdstl(problem.X - middle, problem.y, spoiled)),
    )
    for panel, (title, atoms) in zip(panels, shown, strict=True):
        panel.imshow(tiled(atoms), cmap="RdBu_r", vmin=-1, vmax=1)
        panel.set_title(title, fontsize=10)
        panel.axis("off")
    figure.tight_layout()
    if out:
        figure.savefig(out, dpi=120)
    return figure


def squared_loss(X, start, usual):
    learner = MiniBatchDictionaryLearning(N_ATOMS, alpha=0.1 * usual, fit_algorithm="cd", dict_init=start, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gross outliers are more than its coordinate descent can finish
        return learner.set_params(random_state=0, batch_size=64).fit(X).components_


def rdstl(X, y, X_source):
    encoder = RDSTLEncoder(N_ATOMS, atom_sparsity=0.3, scale=False, pca=None, random_state=0, max_iter=300)
    return encoder.fit(X, y, X_source=SourcePool(X_source)).components_


def tiled(atoms, columns=4):
    """Return the atoms as 8 x 8 images in a grid, each at its own contrast, most of it positive."""
    images = np.pad((atoms / np.abs(atoms).max(axis=1)[:, None]).reshape(-1, 8, 8), ((0, 0), (0, 1), (0, 1)))
    images *= np.where(images.sum(axis=(1, 2)) < 0, -1, 1)[:, None, None]
    images = np.concatenate([images, np.zeros((-len(images) % columns, 9, 9))])
    return np.concatenate([np.concatenate(row, axis=1) for row in images.reshape(-1, columns, 9, 9)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", metavar="FILE")
    main(parser.parse_args().out)
