"""The embedded example: a few labelled digits and a scanner's archive in which some more of them lie.

Everything is made from the handwritten digits that scikit-learn carries, without network or image library. The target
has a few labelled images of some digits. The archive mixes unlabelled images of the same digits with what else
a scanner sees, all of it as dark as the digits on average:

    target digit     20 %   the ones worth finding
    other digit      16 %   digits that are not among the target's classes
    turned digit      8 %   a digit turned by a quarter
    negative digit    8 %   white on black, faded
    shuffled digit    8 %   a digit's pixels in random order
    letter           16 %   capital letters in a shaky hand
    scribble          8 %   a pen tried out
    texture          12 %   cloudy paper and cloth
    blank             2 %   evenly grey pages
    noise             2 %   every pixel on its own

No digit is used twice, in whatever form.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from .problem import TransferProblem
from .strokes import draw_letters, draw_scribbles

# Shares of the irrelevant rows, which are four times as many as the relevant ones.
SHARES = {
    "other digit": 0.20,
    "turned digit": 0.10,
    "negative digit": 0.10,
    "shuffled digit": 0.10,
    "letter": 0.20,
    "scribble": 0.10,
    "texture": 0.15,
    "blank": 0.025,
    "noise": 0.025,
}
MAX_POOL_PER_CLASS, MAX_RELEVANT, TEST_PER_CLASS = 80, 400, 60


def load_demo(random_state=0, *, classes=(0, 1, 2, 3, 4), n_per_class: int = 3) -> TransferProblem:
    """Load the embedded example: handwritten digits hidden in an archive of mostly other things.

    Parameters
    ----------
    random_state : None, int or numpy.random.Generator, default 0
        Decides which digits play which part, and draws the rest of the archive.
    classes : sequence of int, default (0, 1, 2, 3, 4)
        The target's digits, at least two different ones.
    n_per_class : int, default 3
        Labelled images per digit, 1 to 20.

    Returns
    -------
    TransferProblem
        Images of 8 x 8 pixels as rows of 64 values in [0, 1] (1 is ink); 60 test images per class; a pool of 2,000
        rows (fewer for fewer than five classes), a fifth of them relevant. `source_kind` says what each row is.

    Examples
    --------
    >>> from selftaught.datasets import load_demo
    >>> problem = load_demo()
    >>> problem
    TransferProblem('demo': 15 labelled rows of 5 classes, 2000 source rows (20 % relevant), 300 test rows, 64 features)
    >>> problem.class_names[problem.y[0]], problem.X[0].reshape(problem.feature_shape).shape
    ('0', (8, 8))
    """
    classes = _check_classes(classes)
    if not 1 <= n_per_class <= 20:
        raise ValueError(f"n_per_class must be in [1, 20], got {n_per_class}. More labels would leave too few digits.")
    rng = np.random.default_rng(random_state)
    digits = load_digits()
    images, digit = digits.images / 16, digits.target

    # Deal the digits: every image goes to one part only.
    n_pool = min(MAX_POOL_PER_CLASS, MAX_RELEVANT // len(classes))
    shuffled = [rng.permutation(np.flatnonzero(digit == c)) for c in classes]
    train_idx = np.concatenate([rows[:n_per_class] for rows in shuffled])
    hidden_idx = np.concatenate([rows[n_per_class : n_per_class + n_pool] for rows in shuffled])
    test_idx = np.concatenate([rows[-TEST_PER_CLASS:] for rows in shuffled])
    spare_idx = rng.permutation(np.setdiff1d(np.arange(len(digit)), np.r_[train_idx, hidden_idx, test_idx]))
    is_other = ~np.isin(digit[spare_idx], classes)

    parts = {"target digit": images[hidden_idx]}
    parts |= _irrelevant(images, spare_idx, is_other, n_irrelevant=4 * len(hidden_idx), rng=rng)
    kind = np.repeat(list(parts), [len(part) for part in parts.values()])
    codes = np.full(len(kind), -1)
    codes[kind == "target digit"] = np.searchsorted(classes, digit[hidden_idx])
    order = rng.permutation(len(kind))
    return TransferProblem(
        name="demo",
        description=(
            f"A few labelled handwritten digits ({', '.join(map(str, classes))}) and an archive of 8 x 8 scans: "
            "more of these digits among other digits, turned, negative and shuffled ones, letters, scribbles, "
            "textures, blank pages and noise."
        ),
        X=images[train_idx].reshape(-1, 64),
        y=np.searchsorted(classes, digit[train_idx]),
        X_source=np.concatenate(list(parts.values())).reshape(-1, 64)[order],
        source_is_relevant=codes[order] >= 0,
        source_classes=codes[order],
        X_test=images[test_idx].reshape(-1, 64),
        y_test=np.searchsorted(classes, digit[test_idx]),
        class_names=tuple(str(c) for c in classes),
        feature_shape=(8, 8),
        source_kind=kind[order],
    )


def _check_classes(classes) -> np.ndarray:
    """The asked digits, sorted."""
    unique = np.unique(classes)
    if len(unique) < 2 or len(unique) < len(classes) or not np.isin(unique, np.arange(10)).all():
        raise ValueError(f"classes must be at least two different digits from 0 to 9, got {tuple(classes)}.")
    return unique


def _irrelevant(images: np.ndarray, spare_idx: np.ndarray, is_other: np.ndarray, n_irrelevant: int, rng) -> dict:
    """Everything in the archive that is not worth finding: kind -> (n, 8, 8) images."""
    n = {kind: round(share * n_irrelevant) for kind, share in SHARES.items()}
    other_idx = spare_idx[is_other][: n["other digit"]]
    # With nine or ten target classes there are not enough other digits; letters take their place.
    n["letter"] += n["other digit"] - len(other_idx)
    rest_idx = np.setdiff1d(spare_idx, other_idx)
    spoiled_kinds = ["turned digit", "negative digit", "shuffled digit"]
    spoiled_idx = np.split(rng.permutation(rest_idx), np.cumsum([n[kind] for kind in spoiled_kinds]))
    turned, negative, shuffled = (images[idx] for idx in spoiled_idx[:3])

    page_inks = images.mean(axis=(1, 2))

    def inks(kind):
        return rng.choice(page_inks, size=n[kind])

    return {
        "other digit": images[other_idx],
        "turned digit": np.rot90(turned, axes=(1, 2)),
        "negative digit": _faded(1 - negative, rng.choice(page_inks, size=len(negative))),
        "shuffled digit": rng.permuted(shuffled.reshape(-1, 64), axis=1).reshape(-1, 8, 8),
        "letter": draw_letters(inks("letter"), rng),
        "scribble": draw_scribbles(inks("scribble"), rng),
        "texture": _faded(_clouds(n["texture"], rng), inks("texture")),
        "blank": _faded(rng.uniform(0.9, 1.0, size=(n["blank"], 8, 8)), inks("blank")),
        "noise": _faded(rng.uniform(size=(n["noise"], 8, 8)), inks("noise")),
    }


def _faded(images: np.ndarray, inks: np.ndarray) -> np.ndarray:
    """Rescale every image, (n, 8, 8), to its wanted mean ink, within [0, 1]."""
    return np.clip(images * (inks / images.mean(axis=(1, 2)))[:, None, None], 0, 1)


def _clouds(n: int, rng) -> np.ndarray:
    """Cut-outs, (n, 8, 8) in [0, 1], of random fields whose spectrum falls with frequency, as that of photographs."""
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(32), np.fft.fftfreq(32)))
    frequency[0, 0] = np.inf  # no constant part
    fields = np.fft.ifft2(np.fft.fft2(rng.normal(size=(n, 32, 32))) / frequency).real[:, :8, :8]
    deviations = (fields - fields.mean(axis=(1, 2), keepdims=True)) / fields.std(axis=(1, 2), keepdims=True)
    return 1 / (1 + np.exp(-2 * deviations))
