"""Open-set table: what the selection finds and what transfer gains, beside every control.

Target: ten classes of Caltech-101, a few labelled images each. Pool: 40 unlabelled images of each of these classes
hidden among 1600 images of other classes. For each method: precision of the selection at 20 and 100, average
precision, and accuracy on the remaining images of the ten classes. Test labels choose nothing.

    python benchmarks/bench_open_set.py --data DIR [--seeds 10] [--out open_set.jsonl]

Without ``--data`` the same table is made for simulated problems.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

from selftaught import (
    AllSelector,
    GASTLClassifier,
    NeighborSelector,
    RandomSelector,
    SelfTaughtClassifier,
    SoftmaxClassifier,
    SourcePool,
)
from selftaught.datasets import make_open_set, open_set_split
from selftaught.metrics import paired_interval, selection_average_precision, selection_precision

LABELS = (1, 2, 5)
FEATURES = ("mobilenetv2_1280", "siftbow1000")


def methods(seed, published):
    """Return the methods by name; each is fitted on the target and the pool."""
    off = dict(guard="off", random_state=seed)
    made = {
        "target only": None,
        "GASTL": GASTLClassifier(random_state=seed),
        "GASTL, no guard": GASTLClassifier(n_select=1.0, **off),
        "GASTL, hard labels": GASTLClassifier(n_select=1.0, labels="hard", **off),
        "GASTL, gaussian labels": GASTLClassifier(n_select=1.0, transferability="gaussian", **off),
        "GASTL, uniform labels": GASTLClassifier(n_select=1.0, labels="uniform", **off),
        "random rows": SelfTaughtClassifier(RandomSelector(), n_select=100, **off),
        "neighbours": SelfTaughtClassifier(NeighborSelector(), n_select=100, transferability="mapping", **off),
        "neighbours, centred": SelfTaughtClassifier(
            NeighborSelector(center=True), n_select=100, transferability="mapping", **off
        ),
        "all rows": SelfTaughtClassifier(AllSelector(), n_select=1.0, **off),
    }
    if published:
        # One round of 400 iterations: further rounds multiply the time and drive the mapping to zero.
        made["as published, soft A"] = GASTLClassifier.as_published("A", lam=published, random_state=seed).set_params(
            max_outer=1
        )
    return made


def run_problem(problem, seed, published):
    """Return one record for each method."""
    pool = SourcePool(problem.X_source)
    target = SelfTaughtClassifier().fit(problem.X, problem.y)
    pooled = SelfTaughtClassifier(AllSelector(), n_select=0, guard="off").fit(problem.X, problem.y, X_source=pool)
    records = [dict(method="target only, no source seen", accuracy=target.score(problem.X_test, problem.y_test))]
    for name, method in methods(seed, published).items():
        start = time.perf_counter()
        fitted = pooled if method is None else method.fit(problem.X, problem.y, X_source=pool)
        record = dict(method=name, seconds=time.perf_counter() - start)
        record["accuracy"] = fitted.score(problem.X_test, problem.y_test)
        if method is not None:
            relevant, ranking = problem.source_is_relevant, fitted.ranking_
            record["p20"] = selection_precision(relevant, ranking, 20)
            record["p100"] = selection_precision(relevant, ranking, 100)
            record["ap"] = selection_average_precision(relevant, ranking)
            record["selected"] = len(fitted.selected_)
            verdict = fitted.transfer_
            record |= dict(tested=verdict.tested, used=verdict.used, gain=verdict.gain, low=verdict.low)
        records.append(record)
        if name == "as published, soft A":
            accuracy = relabelled(fitted, problem, pool, "gaussian").score(problem.X_test, problem.y_test)
            records.append(record | dict(method="as published, soft B", accuracy=accuracy))
    return [*records, *peers(problem, pooled.frame_)]


def relabelled(fitted, problem, pool, transferability):
    """Return the classifier with other pseudo-labels from the same stage 1, which takes nearly all of the time."""
    fitted.set_params(transferability=transferability)
    fitted._finish(fitted._prepare(fitted.selector_, pool, problem.X, problem.y))
    return fitted


def peers(problem, frame):
    """Yield scikit-learn's self-training on the same rows, and what true labels would give."""
    X, S, X_test = frame.apply(problem.X), frame.apply(problem.X_source), frame.apply(problem.X_test)
    base = LogisticRegression(C=100 / len(X), fit_intercept=False, max_iter=400)
    surest = dict(criterion="k_best", k_best=10, max_iter=10)
    for name, options in {"self-training, p > 0.75": dict(threshold=0.75), "self-training, 10 x 10": surest}.items():
        start = time.perf_counter()
        y = np.concatenate([problem.y, np.full(len(S), -1)])
        fitted = SelfTrainingClassifier(base, **options).fit(np.concatenate([X, S]), y)
        taken = int(np.sum(fitted.labeled_iter_ > 0))
        accuracy = fitted.score(X_test, problem.y_test)
        yield dict(method=name, accuracy=accuracy, selected=taken, seconds=time.perf_counter() - start)
    hidden = problem.source_classes >= 0
    fitted = SoftmaxClassifier().fit(
        np.concatenate([X, S[hidden]]), np.concatenate([problem.y, problem.source_classes[hidden]])
    )
    yield dict(method="true labels", accuracy=fitted.score(X_test, problem.y_test), selected=int(hidden.sum()))


def load(data, features):
    """Return the rows and classes of the 100 classes of Caltech-101."""
    stored = np.load(Path(data) / "caltech101" / f"{features}.npz")
    classes = stored["classes"][stored["y"]]
    keep = ~np.isin(classes, ["BACKGROUND_Google", "Faces_easy"])
    X = stored["X"][keep].astype(np.float32)
    return (X / X.sum(axis=1, keepdims=True) if features.startswith("sift") else X), classes[keep]


def cell(data, features, n_labels, seed, published):
    """Run all methods on one split."""
    if data:
        problem = open_set_split(*load(data, features), n_labels=n_labels, random_state=seed)
    else:
        problem = make_open_set(n_per_class=n_labels, separation=4.0, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        records = run_problem(problem, seed, published)
    return [dict(features=features, labels=n_labels, seed=seed, **record) for record in records]


def print_table(records):
    """Print means over seeds and the paired difference to target-only with its 95 % interval."""
    cells = defaultdict(lambda: defaultdict(list))
    for record in sorted(records, key=lambda r: r["seed"]):
        cells[record["features"], record["labels"]][record["method"]].append(record)
    for (features, labels), by_method in cells.items():
        base = np.array([r["accuracy"] for r in by_method["target only"]])
        print(f"\n{features}, {labels} labelled per class, {len(base)} seeds")
        print(
            f"{'method':28} {'P@20':>5} {'P@100':>5} {'AP':>5} {'accuracy':>13} {'against target only':>22} "
            f"{'rows':>5} {'used':>5} {'s':>6}"
        )
        for method, rows in by_method.items():
            accuracy = np.array([r["accuracy"] for r in rows])
            gap = paired_interval(accuracy - base)
            mean = lambda key, rows=rows: f"{np.mean([r[key] for r in rows]):5.3f}" if key in rows[0] else "     "  # noqa: E731
            used = f"{sum(r['used'] for r in rows):2d}/{len(rows)}" if "used" in rows[0] else ""
            print(
                f"{method:28} {mean('p20')} {mean('p100')} {mean('ap')} "
                f"{100 * accuracy.mean():6.1f} ± {100 * accuracy.std(ddof=min(1, len(rows) - 1)):4.1f} "
                f"{100 * gap.mean:+6.1f} [{100 * gap.low:+5.1f}, {100 * gap.high:+5.1f}] "
                f"{np.mean([r.get('selected', 0) for r in rows]):5.0f} {used:>5} "
                f"{np.mean([r.get('seconds', 0) for r in rows]):6.2f}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with the real data; simulated problems without")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--features", nargs="+", default=FEATURES)
    parser.add_argument("--labels", nargs="+", type=int, default=LABELS)
    parser.add_argument(
        "--published",
        type=float,
        default=0.0,
        metavar="LAM",
        help="also run the published form at this lam, which takes minutes a split",
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", help="append the records to this file, one JSON line each")
    args = parser.parse_args()
    features = args.features if args.data else ["simulated"]
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    grid = [(args.data, f, n, seed, args.published) for f in features for n in args.labels for seed in seeds]
    done = Parallel(n_jobs=args.jobs, verbose=1)(delayed(cell)(*point) for point in grid)
    records = [record for part in done for record in part]
    if args.out:
        with open(args.out, "a") as out:
            out.writelines(json.dumps(record) + "\n" for record in records)
    print_table(records)


if __name__ == "__main__":
    main()
