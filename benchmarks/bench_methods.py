"""Every method and every control on the same splits: accuracy, gain over target-only, seconds of one fit.

Caltech-101, word shares of SIFT bags: 20 of 100 classes with 15 labelled and 15 test images each, the other 80 classes
(2400 images) as the source. Office-Caltech, word shares of SURF bags: some labelled rows of one domain, the Caltech
domain without its labels as the source, the rest of the first domain as the test. Without --data, simulated problems.

Nothing is tuned: constructor defaults throughout; selectors use their 100 most relevant rows, without guard and for
GASTL also with n_select="auto" and the guard. All classifiers are the same softmax on the same kind of rows. Gains
are paired over the splits. "reconstructed" methods (RDSTL, S-Low, in part MLS) are ours in the spirit of theirs.

    python benchmarks/bench_methods.py [--data DIR] [--seeds 3] [--only GASTL STL] [--out FILE.jsonl]
"""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np
from common import Log, caltech_split, parser, timed
from scipy.io import loadmat

from selftaught import (
    AllSelector,
    GASTLClassifier,
    KMMSelector,
    MLSSelector,
    NeighborSelector,
    RandomSelector,
    RDSTLEncoder,
    SelfTaughtClassifier,
    SLowEncoder,
    SourcePool,
    STLEncoder,
)
from selftaught.datasets import make_open_set

N_SELECT = 100
OFFICE = {"amazon": 5, "webcam": 5, "dslr": 5}
BASE = "target only"


def methods(seed):
    """Return all methods by name, unfitted."""
    common = dict(guard="off", random_state=seed)

    def by(selector, **changes):
        return SelfTaughtClassifier(selector, **{"n_select": N_SELECT, **common, **changes})

    return {
        BASE: SelfTaughtClassifier(AllSelector(), n_select=0, **common),
        "GASTL, guard": GASTLClassifier(random_state=seed),
        "GASTL": GASTLClassifier(n_select=N_SELECT, **common),
        "GASTL, hard labels": GASTLClassifier(n_select=N_SELECT, labels="hard", **common),
        "GASTL, uniform labels": GASTLClassifier(n_select=N_SELECT, labels="uniform", **common),
        "STL": by(STLEncoder()),
        "RDSTL (reconstructed)": by(RDSTLEncoder()),
        "S-Low (reconstructed)": by(SLowEncoder()),
        "KMM, soft labels": by(KMMSelector()),
        "KMM, hard labels": by(KMMSelector(), labels="hard"),
        "MLS, soft labels": by(MLSSelector()),
        "MLS, hard labels": by(MLSSelector(), labels="hard"),
        "nearest neighbours": by(NeighborSelector(), transferability="mapping"),
        "random rows": by(RandomSelector()),
        "all rows": by(AllSelector()),
    }


def problems(args):
    """Yield the name of a dataset and a function of the seed that returns X, y, X_source, X_test, y_test."""
    if args.data is None:
        yield "simulated", simulated
        return
    yield "Caltech-101, SIFT bags", lambda seed: caltech_split(args.data / "caltech101", seed)
    for domain, n_labels in OFFICE.items():
        yield f"Office-Caltech, {domain}", lambda seed, d=domain, n=n_labels: office_split(args.data, d, n, seed)


def simulated(seed):
    problem = make_open_set(random_state=seed)
    return problem.X, problem.y, problem.X_source, problem.X_test, problem.y_test


def office_split(data, domain, n_labels, seed):
    """Return some labelled rows of each class of a domain, the Caltech domain as the source, and the domain's rest."""
    (X, y), (X_source, _) = (office_shares(data, name) for name in (domain, "Caltech10"))
    rng = np.random.default_rng(seed)
    labelled = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:n_labels] for c in np.unique(y)])
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    return X[labelled], y[labelled], X_source, X[rest], y[rest]


def office_shares(data, name):
    stored = loadmat(data / "office_caltech10" / f"{name}_SURF_L10.mat")
    counts = stored["fts"].astype(np.float64)
    return counts / counts.sum(axis=1, keepdims=True), stored["labels"].ravel().astype(int)


def main():
    made = parser(__doc__)
    made.add_argument("--seeds", type=int, default=3)
    made.add_argument("--only", nargs="+", help="names of methods, or beginnings of them")
    args = made.parse_args()
    log = Log(args)
    for name, draw in problems(args):
        records = defaultdict(list)
        for seed in range(args.seed, args.seed + (1 if args.quick else args.seeds)):
            X, y, X_source, X_test, y_test = draw(seed)
            for method, classifier in methods(seed).items():
                if args.only and method != BASE and not method.startswith(tuple(args.only)):
                    continue
                with warnings.catch_warnings(action="ignore"):
                    seconds, _ = timed(classifier.fit, X, y, X_source=SourcePool(X_source))
                accuracy = classifier.score(X_test, y_test)
                records[method].append((accuracy, seconds))
                log.add(dict(data=name, method=method, split=seed), seconds=seconds, accuracy=accuracy)
        print_table(name, records, (len(X), len(X_source), len(X_test), X.shape[1]))


def print_table(name, records, shape):
    """Print mean and spread over the splits, and the paired difference to target-only."""
    print("\n{}: {} labelled, {} source, {} test rows, {} features".format(name, *shape))
    print(f"{'method':24}{'accuracy':>14}{'gain':>8}{'worst':>8}{'best':>8}{'seconds':>10}")
    base = np.array([accuracy for accuracy, _ in records[BASE]])
    for method, runs in records.items():
        accuracy, seconds = np.array(runs).T
        gains = 100 * (accuracy - base)
        spread = 100 * accuracy.std(ddof=1) if len(runs) > 1 else 0.0
        print(
            f"{method:24}{100 * accuracy.mean():8.1f} ± {spread:3.1f}{gains.mean():+8.1f}{gains.min():+8.1f}"
            f"{gains.max():+8.1f}{np.median(seconds):10.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
