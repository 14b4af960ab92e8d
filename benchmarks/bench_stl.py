"""Sparse codes and the dictionary behind them: ours against scikit-learn's, at one penalty, start and number of passes.

Encoding: all source rows in one dictionary, by `sparse_codes` and by `sparse_encode(algorithm="lasso_cd")`, which has
the lowest gap of scikit-learn's algorithms here. Learning: as many passes from the same atoms over the same batches, by
`learn_in_batches` and by `MiniBatchDictionaryLearning`; `learn_by_turns`, whose rounds are passes too, beside them.
Objectives and gaps of all contestants come from one function here, those of dictionaries with exact codes.

A ratio above 1 says that ours is faster; an excess below 0 that our objective is lower. Seconds are those of the
processor, so that other work on it counts for nothing: set OPENBLAS_NUM_THREADS=1, or several threads add up. Each
time is the best of --repeats, contestants in turn. The last line is the estimator: values of training rows' codes that
differ from those of their copies in another batch.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from common import Log, Table, paper_split, parser
from sklearn.decomposition import MiniBatchDictionaryLearning, sparse_encode

from selftaught import SourcePool, STLEncoder
from selftaught.encoders.dictionary import random_atoms
from selftaught.encoders.dictionary_learning import learn_by_turns, learn_in_batches
from selftaught.encoders.projection import fit_projection
from selftaught.encoders.sparse_coding import sparse_codes

BATCH = 256


def main():
    made = parser(__doc__)
    made.add_argument("--components", type=int, nargs="+", default=[64, 256, 1024], help="m; 1024 exceeds d")
    made.add_argument("--penalties", type=float, nargs="+", default=[0.02, 0.05, 0.1, 0.2, 0.4])
    made.add_argument("--learn-penalty", type=float, default=0.1)
    made.add_argument("--passes", type=int, nargs="+", default=[5, 20])
    made.add_argument("--repeats", type=int, default=3)
    args = made.parse_args()
    if args.quick:
        args.components, args.penalties, args.passes, args.repeats = [32, 256], [0.05, 0.2], [2], 1
    warnings.simplefilter("ignore")  # peers say that they stopped at the passes they were given
    X_source, X_target, name = paper_split(args)
    pca = fit_projection(lambda: [X_source, X_target], 0.96)
    X, log = pca.apply(X_source), Log(args)
    print(
        f"{name}: {len(X)} source rows, {X_source.shape[1]} features, {X.shape[1]} directions with 96 % of the variance"
    )
    scale = np.median(np.linalg.norm(X, axis=1))
    for m in args.components:
        start = random_atoms(X, m, np.random.default_rng(args.seed))
        beta = 2 * args.learn_penalty * scale
        learned = compare_learning(X, start, beta, args, log, name)
        compare_encoding(X, learned, scale, args, log, name)
    compare_bits(X_source, X_target, args, log, name)


def best_of(repeats, contestants):
    """Return the least processor seconds of each contestant and its last result, by name; they take turns."""
    seconds, results = {name: np.inf for name in contestants}, {}
    for _ in range(repeats):
        for name, run in contestants.items():
            begin = time.process_time()
            results[name] = run()
            seconds[name] = min(seconds[name], time.process_time() - begin)
    return seconds, results


def judge(X, codes, D, beta):
    """Return the objective of codes and the largest relative duality gap of a row."""
    R = X - codes @ D
    primal = (R**2).sum(axis=1) + beta * np.abs(codes).sum(axis=1)
    theta = 2 * R * np.minimum(1, beta / np.abs(2 * R @ D.T).max(axis=1))[:, None]
    dual = (X * theta).sum(axis=1) - (theta**2).sum(axis=1) / 4
    return primal.sum(), ((primal - dual) / primal).max()


def compare_learning(X, start, beta, args, log, name):
    """Print a row for each number of passes; return the dictionary of the most."""
    print(f"\nlearning, m = {len(start)}, penalty {args.learn_penalty}")
    table = Table("passes", "ours s", "sklearn s", "ratio", "excess", "turns s", "its excess")
    for passes in args.passes:
        seconds, learned = best_of(
            args.repeats,
            {
                "ours": lambda passes=passes: learn_ours(X, start, beta, passes, args.seed),
                "sklearn": lambda passes=passes: learn_theirs(X, start, beta, passes, args.seed),
                "turns": lambda passes=passes: learn_by_turns(X, start, beta, max_iter=passes, tol=0).D,
            },
        )
        values = {who: sparse_codes(X, D, beta).values.sum() for who, D in learned.items()}
        excess = {who: value / values["sklearn"] - 1 for who, value in values.items()}
        ratio = seconds["sklearn"] / seconds["ours"]
        table.row(
            passes,
            seconds["ours"],
            seconds["sklearn"],
            ratio,
            f"{excess['ours']:+.3%}",
            seconds["turns"],
            f"{excess['turns']:+.3%}",
        )
        parameters = dict(data=name, step="learning", m=len(start), beta=beta, passes=passes, batch=BATCH)
        log.add(parameters, seconds=seconds, objectives=values, ratio=ratio)
    return learned["ours"]


def learn_ours(X, start, beta, passes, seed):
    rng = np.random.default_rng(seed)

    def read():
        order = rng.permutation(len(X))
        for first in range(0, len(X), BATCH):
            yield X[order[first : first + BATCH]]

    return learn_in_batches(read, len(X), start, beta, max_iter=passes, tol=-np.inf).D


def learn_theirs(X, start, beta, passes, seed):
    options = dict(fit_algorithm="cd", batch_size=BATCH, max_iter=passes, tol=0, max_no_improvement=None)
    model = MiniBatchDictionaryLearning(len(start), alpha=beta / 2, dict_init=start, random_state=seed, **options)
    return model.fit(X).components_


def compare_encoding(X, D, scale, args, log, name):
    """Print a row for each penalty."""
    print(f"\nencoding, m = {len(D)}")
    table = Table("penalty", "atoms", "ours s", "gap", "sklearn s", "its gap", "excess", "ratio")
    for penalty in args.penalties:
        beta = 2 * penalty * scale
        seconds, codes = best_of(
            args.repeats,
            {
                "ours": lambda beta=beta: sparse_codes(X, D, beta).codes,
                "sklearn": lambda beta=beta: sparse_encode(X, D, algorithm="lasso_cd", alpha=beta / 2),
            },
        )
        judged = {who: judge(X, found, D, beta) for who, found in codes.items()}
        ratio, excess = seconds["sklearn"] / seconds["ours"], judged["ours"][0] / judged["sklearn"][0] - 1
        atoms = np.count_nonzero(codes["ours"]) / len(X)
        (_, gap), (_, their_gap) = judged["ours"], judged["sklearn"]
        cells = f"{gap:.1e}", seconds["sklearn"], f"{their_gap:.1e}", f"{excess:+.1e}", ratio
        table.row(penalty, atoms, seconds["ours"], *cells)
        parameters = dict(data=name, step="encoding", m=len(D), penalty=penalty, beta=beta)
        log.add(parameters, seconds=seconds, atoms_per_row=atoms, judged=judged, ratio=ratio)


def compare_bits(X_source, X_target, args, log, name):
    """Print how many values of training rows' codes differ from those of their copies in other company."""
    encoder = STLEncoder(args.components[0], random_state=args.seed, max_iter=5, tol=0)
    encoder.fit(X_target, X_source=SourcePool(X_source))
    n, order = len(X_target), np.random.default_rng(args.seed).permutation(len(X_target) + len(X_source))
    mixed = encoder.transform(np.vstack([X_target, X_source])[order])[np.argsort(order)][:n]
    alone = np.vstack([encoder.transform(row[None]) for row in X_target])
    differ = {
        "in a batch of others": int(np.count_nonzero(mixed != encoder.codes_target_)),
        "one by one": int(np.count_nonzero(alone != encoder.codes_target_)),
    }
    print(f"\nvalues of {encoder.codes_target_.size} that differ between a training row and its copy: {differ}")
    log.add(dict(data=name, step="copies"), seconds=None, differ=differ)


if __name__ == "__main__":
    main()
