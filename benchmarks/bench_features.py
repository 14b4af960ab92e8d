"""Bags of visual words against a plain script of OpenCV's SIFT and scikit-learn's MiniBatchKMeans.

Speed: seconds for an image, on one thread of one core, from the bytes of a JPEG to its row, and seconds to learn the
words. The plain script does what its author would do without further thought: key points on a grid, `SIFT.compute`,
MiniBatchKMeans, its `predict`. "same" is SIFTBag with the script's settings (one size, step 10), "default" with its own
(three sizes, step 8, two and a half times the descriptors). They take turns on the same images.

Accuracy (with --data): mean and standard deviation over the paper's five splits of the 3,000 small images, 15 labelled
and 15 test images of 20 classes each. Words are learned from the source and the labelled images. The rival is the
file of 1000-word bags, whose images were full-size where ours have at most 180 pixels, and whose words have seen,
without labels, test images. Both are judged by the same logistic regression on square roots, its strength chosen by
cross-validation on the labelled rows.
"""

from __future__ import annotations

import csv
import io
import tarfile

import cv2
import numpy as np
from common import Log, Table, parser, timed
from PIL import Image
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from selftaught.datasets import caltech101_splits
from selftaught.features import SIFTBag
from selftaught.features.visual_words import BATCH, MAX_PASSES

SAME = dict(step=10, sizes=(96,))  # a key point of size 16 looks at 16 * 1.5 * 4 pixels
STRENGTHS = {"C": [10.0, 100.0, 1000.0]}


def main():
    made = parser(__doc__)
    made.add_argument("--images", type=int, default=300, help="of which words are learned and rows made, for the speed")
    made.add_argument("--words", type=int, default=1000)
    made.add_argument("--repeats", type=int, default=5)
    made.add_argument("--skip-speed", action="store_true")
    args = made.parse_args()
    if args.quick:
        args.images, args.words, args.repeats = 20, 50, 2
    log = Log(args)
    files, labels, rows = load_images(args)
    if not args.skip_speed:
        measure_speed(files[:: max(1, len(files) // args.images)][: args.images], args, log)
    if args.data is not None:
        measure_accuracy(files, labels, rows, args, log)


def load_images(args):
    """Return JPEG files as bytes, their classes, and their rows in the file of bags; noise without --data."""
    if args.data is None:
        rng = np.random.default_rng(args.seed)
        return [_jpeg_of_noise(rng) for _ in range(args.images)], None, None
    folder = args.data / "caltech101"
    with open(folder / "images_30.csv", newline="") as lines, tarfile.open(folder / "images_30.tar") as tar:
        listed = list(csv.DictReader(lines))
        files = [tar.extractfile(line["file"]).read() for line in listed]
    return files, np.array([line["class"] for line in listed]), np.array([int(line["row"]) for line in listed])


def _jpeg_of_noise(rng):
    coarse = Image.fromarray(rng.integers(0, 256, (18, 24, 3), dtype=np.uint8)).resize((180, 135))
    coarse.save(file := io.BytesIO(), "JPEG", quality=80)
    return file.getvalue()


# Speed


class Plain:
    """The script to beat."""

    def __init__(self, n_words, seed):
        self.sift, self.n_words, self.seed = cv2.SIFT_create(), n_words, seed

    def describe(self, file):
        image = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_GRAYSCALE)
        scale = 240 / max(image.shape)
        image = cv2.resize(image, None, fx=scale, fy=scale)
        height, width = image.shape
        points = [cv2.KeyPoint(float(x), float(y), 16.0) for y in range(5, height, 10) for x in range(5, width, 10)]
        found = self.sift.compute(image, points)[1]
        found /= np.maximum(found.sum(axis=1, keepdims=True), 1e-6)
        return np.sqrt(found)

    def fit(self, files):
        rng = np.random.default_rng(self.seed)
        drawn = np.concatenate([rng.permutation(self.describe(file))[:100] for file in files])
        how = dict(batch_size=BATCH, max_iter=MAX_PASSES, n_init=1, random_state=self.seed)
        self.words = MiniBatchKMeans(self.n_words, **how).fit(drawn)

    def transform(self, files):
        rows = [np.bincount(self.words.predict(self.describe(file)), minlength=self.n_words) for file in files]
        return np.array([row / row.sum() for row in rows])


class Ours:
    """SIFTBag on bytes in memory, as the script has them."""

    def __init__(self, *args, **options):
        self.bag = BagOfBytes(*args, **options)

    def fit(self, files):
        self.bag.fit(files)

    def transform(self, files):
        return self.bag.transform(files)


class BagOfBytes(SIFTBag):
    def _raw(self, item):
        return item


def measure_speed(files, args, log):
    cv2.setNumThreads(1)
    contestants = {
        "plain": Plain(args.words, args.seed),
        "same": Ours(args.words, random_state=args.seed, **SAME),
        "default": Ours(args.words, random_state=args.seed),
    }
    parts = np.array_split(np.arange(len(files)), args.repeats)
    with threadpool_limits(1):
        fits = {name: timed(contestant.fit, files)[0] for name, contestant in contestants.items()}
        rows = {name: [] for name in contestants}
        for part in parts:  # in turns, so that a busy moment of the machine meets them all
            for name, contestant in contestants.items():
                rows[name].append(timed(contestant.transform, [files[i] for i in part])[0] / len(part))
    print(f"{len(files)} images, {args.words} words, one thread")
    table = Table("", "ms/image", "plain/it", "fit, s", "plain/it")
    row = {name: float(np.median(seconds)) for name, seconds in rows.items()}
    for name in contestants:
        table.row(name, 1e3 * row[name], row["plain"] / row[name], fits[name], fits["plain"] / fits[name])
    ratios = {f"rows_{name}": row["plain"] / row[name] for name in row}
    ratios |= {f"fit_{name}": fits["plain"] / fits[name] for name in fits}
    seconds = {f"row_{name}": row[name] for name in row} | {f"fit_{name}": fits[name] for name in fits}
    log.add(dict(what="speed", images=len(files), words=args.words), seconds=seconds, ratios=ratios)


# Accuracy


def measure_accuracy(files, labels, rows, args, log):
    bags_of_file = np.load(args.data / "caltech101" / "siftbow1000.npz")["X"][rows].astype(float)
    bags_of_file /= bags_of_file.sum(axis=1, keepdims=True)
    scores = {"file": [], "same": [], "default": []}
    splits = caltech101_splits(labels, random_state=args.seed)[: 1 if args.quick else None]
    table = Table("split", *scores)
    for number, split in enumerate(splits, 1):
        seen = np.concatenate([split.source_idx, split.target_idx])
        X = {"file": bags_of_file}
        for name, options in (("same", SAME), ("default", {})):
            bag = BagOfBytes(args.words, random_state=args.seed, **options).fit([files[i] for i in seen])
            X[name] = np.zeros((len(files), args.words))
            for part in (split.target_idx, split.test_idx):
                X[name][part] = bag.transform([files[i] for i in part])
        for name, bags in X.items():
            scores[name].append(100 * judge(np.sqrt(bags), split))
        table.row(str(number), *(score[-1] for score in scores.values()))
    for name, score in scores.items():
        gain = np.subtract(score, scores["file"])
        print(f"{name:8} {np.mean(score):.1f} ± {np.std(score, ddof=1):.1f} %, to the file {gain.mean():+.1f}")
    log.add(dict(what="accuracy", words=args.words), seconds=None, accuracy=scores)


def judge(X, split):
    """Return the accuracy on the test images."""
    search = GridSearchCV(LogisticRegression(max_iter=1000), STRENGTHS, cv=5)
    return search.fit(X[split.target_idx], split.y).score(X[split.test_idx], split.y_test)


if __name__ == "__main__":
    main()
