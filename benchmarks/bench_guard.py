"""What the guard's honesty costs and buys: stage 1 refitted in every fold against one stage 1 shared by all folds.

Shared, a held-out target row has already shaped relevance and scaling by the time it is predicted, so the estimated
gain may flatter. Both estimates are set beside the gain on a large test set that neither sees; labels, frame and
classifier are refitted in either case. "error" is estimate less test gain; "right" the share of verdicts (use or
refuse) that the test set confirms; gains and errors in points of accuracy.

    python benchmarks/bench_guard.py [--data DIR] [--seeds 10] [--labels 3 5]
"""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from bench_open_set import FEATURES, load
from common import Log, Table, parser, timed

from selftaught import GASTLClassifier, SourcePool
from selftaught.datasets import make_open_set, open_set_split
from selftaught.model_selection import judge_transfer, make_folds, measure_curve


def main():
    made = parser(__doc__)
    made.add_argument("--seeds", type=int, default=10)
    made.add_argument("--labels", type=int, nargs="+", default=[3, 5], help="labelled rows of each class")
    args = made.parse_args()
    log, seeds = Log(args), range(args.seed, args.seed + (2 if args.quick else args.seeds))
    table = Table("data", "labels", "stage 1", "estimate", "test", "error", "|error|", "right", "seconds", least=8)
    for features in FEATURES if args.data else ["simulated"]:
        for n_labels in args.labels:
            records = [measure(draw(args, features, n_labels, seed), seed) for seed in seeds]
            for how in ("refitted", "shared"):
                summary = summarise([record[how] for record in records])
                table.row(features, n_labels, how, *summary.values())
                seconds = summary.pop("seconds")
                log.add(dict(data=features, labels=n_labels, stage_1=how), seconds=seconds, **summary)


def draw(args, features, n_labels, seed):
    """Return the open-set problem of a seed."""
    if args.data:
        return open_set_split(*load(Path(args.data), features), n_labels=n_labels, random_state=seed)
    return make_open_set(n_per_class=n_labels, separation=4.0, random_state=seed)


def measure(problem, seed):
    """Return estimate, test gain of the size chosen, and seconds, both ways."""
    pool = SourcePool(problem.X_source)
    with warnings.catch_warnings(action="ignore"):
        classifier = GASTLClassifier(guard="off", n_select=1.0, random_state=seed)
        classifier.fit(problem.X, problem.y, X_source=pool)
        transfer = classifier._prepare(classifier.selector_, pool, problem.X, problem.y)
        sizes, folds = transfer.sizes("auto"), make_folds(problem.y, None, np.random.RandomState(seed))
        on_test = transfer.accuracies(classifier._make_estimator(), problem.X_test, problem.y_test, sizes)
        seconds, refitted = timed(classifier._measure_curve, problem.X, problem.y, pool, folds, sizes)
        shared_seconds, shared = timed(shared_curve, classifier, problem, pool, folds, sizes)
    gains = dict(zip(sizes.tolist(), 100 * (on_test - on_test[0]), strict=True))
    return {
        "refitted": judged(refitted, gains, seconds),
        "shared": judged(shared, gains, shared_seconds),
    }


def shared_curve(classifier, problem, pool, folds, sizes):
    """Measure the transfer curve with the stage 1 of all rows in every fold."""
    selector = classifier.selector_

    def score_fold(train, test, sizes):
        part = SimpleNamespace(
            ranking_=selector.ranking_,
            weights_=selector.weights_,
            mapping_=selector.mapping_[:, train],
            encode=selector.encode,
        )
        transfer = classifier._prepare(part, pool, problem.X[train], problem.y[train])
        estimator = classifier._make_estimator()
        return transfer.accuracies(estimator, problem.X[test], problem.y[test], sizes)

    return measure_curve(score_fold, folds, sizes)


def judged(curve, gains, seconds):
    verdict = judge_transfer(curve)
    return dict(estimate=100 * verdict.gain, test=gains[verdict.best_size], used=verdict.used, seconds=seconds)


def summarise(records):
    """Return means over seeds."""
    estimate, test, used, seconds = (np.array([r[key] for r in records]) for key in records[0])
    error = estimate - test
    right = np.where(used, test >= 0, test <= 0)
    return dict(
        estimate=estimate.mean(),
        test=test.mean(),
        error=error.mean(),
        size_of_error=np.abs(error).mean(),
        right=right.mean(),
        seconds=seconds.mean(),
    )


if __name__ == "__main__":
    main()
