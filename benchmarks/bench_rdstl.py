"""RDSTL: does its objective ever rise, what does solving all rows at once save, and what does a large source cost?

1. Rises. Random problems, one for each seed, over the range of penalties, more and fewer atoms than features; the
   largest relative rise of the smoothed objective over all steps for codes, and over all for atoms (below 0: none).
2. The code step for 3000 rows, in one group (as of a source) and in 20 (as of so many classes): all rows that share
   penalties at once, against one solve a row of the very same systems (NumPy's, 50 systems a call, so that no time goes
   to Python); the largest difference.
3. Codes of new rows: our walk down the path, against turns of scikit-learn's lasso and new widths from the residuals
   until every row has the gap asked for, 30 at most. One certificate judges both; a star marks a peer that missed it.
4. Growth: seconds a round and peak memory beyond the data, as the source grows; beside it the size of all codes.
"""

from __future__ import annotations

import multiprocessing
import warnings

import numpy as np
from common import Log, Table, median_timed, parser, peak_memory, timed
from sklearn.decomposition import sparse_encode

from selftaught.encoders.dictionary import random_atoms
from selftaught.encoders.reweighting import row_solver
from selftaught.encoders.robust_dictionary import critical_penalties, solve_robust_dictionary
from selftaught.encoders.square_root_lasso import solve_square_root_lasso, square_root_gaps

BLOCK = 1000
GAP = 1e-6


def main():
    made = parser(__doc__)
    made.add_argument("--n-seeds", type=int, default=200, help="random problems of the first part")
    args = made.parse_args()
    log = Log(args)
    show_rises(args, log)
    show_code_step(args, log)
    show_encoder(args, log)
    show_growth(args, log)


# --- 1: does it ever rise?


def show_rises(args, log):
    n_seeds = 20 if args.quick else args.n_seeds
    seconds, worst = timed(lambda: [worst_rises(args.seed + i) for i in range(n_seeds)])
    codes, atoms = np.array(worst).max(axis=0)
    print(f"rises over {n_seeds} problems, relative: steps for codes {codes:.1e}, steps for atoms {atoms:.1e}\n")
    log.add(dict(part="rises", n_seeds=n_seeds), seconds=seconds, worst_codes=codes, worst_atoms=atoms)


def worst_rises(seed):
    """Return the largest relative change of the objective over the steps of each kind, on one random problem."""
    rng = np.random.default_rng(seed)
    k, m, n_classes = rng.integers(3, 30), rng.integers(2, 40), rng.integers(1, 6)
    X = rng.normal(size=(200, k)) * np.geomspace(1, 10 ** rng.uniform(-2, 0), k)
    X[rng.random(200) < 0.05] *= 100
    X[rng.random(200) < 0.05] = 0
    y = rng.integers(n_classes, size=50)
    classes = [np.flatnonzero(y == c) for c in range(n_classes) if (y == c).any()]
    found = solved(X[:150], X[150:], classes, random_atoms(X, m, rng), *10 ** rng.uniform(-2, 0.1, size=2), max_iter=60)
    change = np.diff(found.objective_path) / found.objective_path[:-1]
    return change[0::2].max(), change[1::2].max()


def solved(X_source, X_target, classes, D, atom_sparsity, class_sparsity, **options):
    def read():
        return (
            (slice(i, min(i + BLOCK, len(X_source))), X_source[i : i + BLOCK]) for i in range(0, len(X_source), BLOCK)
        )

    g1, g2 = critical_penalties(read, X_target, classes, D)
    lengths = np.linalg.norm(np.vstack([X_source[:2000], X_target]), axis=1)
    eps = 1e-8 * np.median(lengths[lengths > 0]) ** 2
    penalties = dict(g1=atom_sparsity * g1, g2=class_sparsity * g2)
    return solve_robust_dictionary(read, X_target, classes, D, eps=eps, **penalties, **options)


# --- 2: the code step


def show_code_step(args, log):
    n, rng = 600 if args.quick else 3000, np.random.default_rng(args.seed)
    table = Table("rows", "atoms", "features", "groups", "at once s", "a solve each s", "difference", "ratio")
    for m, k, n_classes in ((256, 150, 1), (256, 150, 20), (256, 256, 1), (256, 256, 20)):
        X, D = rng.normal(size=(n, k)), random_atoms(rng.normal(size=(m, k)), m, rng)
        F, penalties = 10 ** rng.uniform(-1, 3, size=n), 10 ** rng.uniform(-1, 3, size=(n_classes, m))
        of_class = np.array_split(np.arange(n), n_classes)
        at_once, codes = median_timed(5, codes_at_once, X, D, F, penalties, of_class)
        each, reference = timed(codes_one_by_one, X, D, F, penalties, of_class)
        difference, ratio = np.abs(codes - reference).max() / np.abs(reference).max(), each / at_once
        table.row(n, m, k, n_classes, at_once, each, f"{difference:.0e}", ratio)
        seconds = dict(ours=at_once, one_by_one=each)
        log.add(
            dict(part="code step", n=n, m=m, k=k, n_groups=n_classes),
            seconds=seconds,
            difference=difference,
            ratio=ratio,
        )
    print()


def codes_at_once(X, D, F, penalties, of_class):
    return np.concatenate(
        [row_solver(D, p).codes(X[rows], F[rows]) for rows, p in zip(of_class, penalties, strict=True)]
    )


def codes_one_by_one(X, D, F, penalties, of_class):
    """Solve (F_i D D' + diag p) a_i = F_i D x_i for each row, 50 systems a call."""
    gram, codes = D @ D.T, []
    for rows, p in zip(of_class, penalties, strict=True):
        for some in np.array_split(rows, -(-len(rows) // 50)):
            systems = F[some, None, None] * gram
            systems[:, np.arange(len(p)), np.arange(len(p))] += p
            codes.append(np.linalg.solve(systems, (F[some, None] * (X[some] @ D.T))[..., None])[..., 0])
    return np.concatenate(codes)


# --- 3: codes of new rows


def show_encoder(args, log):
    rng = np.random.default_rng(args.seed)
    n, m, k = (20, 64, 40) if args.quick else (60, 256, 150)
    X = rng.normal(size=(n, k)) * np.linspace(1, 0.1, k)
    D = random_atoms(rng.normal(size=(m, k)) * np.linspace(1, 0.1, k), m, rng)
    print(f"codes of {n} new rows, {m} atoms, {k} features, each peer to a relative gap of {GAP:g}")
    table = Table("penalty g", "nonzero", "ours s", "gap", "sklearn s", "gap", "turns", "ratio")
    for g in (0.3, 0.1, 0.05) if args.quick else (0.3, 0.1, 0.05, 0.02):
        ours, found = timed(solve_square_root_lasso, X, D, g)
        theirs, (codes, turns) = timed(by_turns, X, D, g)
        gaps = found.gaps.max(), square_root_gaps(X, D, g, codes).max()
        missed, nonzero = "*" * bool(gaps[1] > GAP), np.count_nonzero(found.codes) / n
        table.row(g, nonzero, ours, f"{gaps[0]:.0e}", theirs, f"{gaps[1]:.0e}{missed}", turns, theirs / ours)
        seconds = dict(ours=ours, sklearn=theirs)
        log.add(dict(part="encoder", n=n, m=m, k=k, g=g), seconds=seconds, gaps=gaps, turns=turns, ratio=theirs / ours)
    print()


def by_turns(X, D, g, max_turns=30):
    """Return codes and turns: a lasso for rows over their widths, new widths from the residuals; rows done leave."""
    codes, rows, floor = np.zeros((len(X), len(D))), np.arange(len(X)), 0.01 * np.linalg.norm(X, axis=1)
    width = np.linalg.norm(X, axis=1)
    turn = 0
    while len(rows) > 0 and turn < max_turns:
        turn += 1
        x, s = X[rows], width[rows, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            a = s * sparse_encode(x / s, D, algorithm="lasso_cd", alpha=g, init=codes[rows] / s, max_iter=2000)
        codes[rows] = a
        width[rows] = np.maximum(np.linalg.norm(x - a @ D, axis=1), floor[rows])
        rows = rows[square_root_gaps(x, D, g, a) > GAP]
    return codes, turn


# --- 4: growth


def show_growth(args, log):
    sizes = (1000, 4000) if args.quick else (3000, 10_000, 30_000, 100_000)
    table = Table("source rows", "s a round", "us a row", "memory MB", "codes MB", least=11)
    for n in sizes:
        seconds, extra = in_a_fresh_process(growth_of, n, args.seed)
        table.row(f"{n}", seconds, 1e6 * seconds / n, extra / 2**20, n * 256 * 8 / 2**20)
        log.add(dict(part="growth", n=n, m=256, k=150), seconds=seconds, peak_bytes=extra)


def in_a_fresh_process(function, *args):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args)


def growth_of(n, seed, n_rounds=5):
    """Return seconds a round and peak bytes beyond the data; a small problem has woken everything before."""
    rng = np.random.default_rng(seed)
    X_source, X_target = rng.normal(size=(n, 150)) * np.linspace(1, 0.1, 150), rng.normal(size=(300, 150))
    classes = np.array_split(np.arange(300), 20)
    D = random_atoms(X_source[:1000], 256, rng)
    solved(X_source[:BLOCK], X_target, classes, D, 0.1, 0.1, max_iter=1)
    before = peak_memory()
    seconds, _ = timed(solved, X_source, X_target, classes, D, 0.1, 0.1, max_iter=n_rounds, tol=-1.0)
    return seconds / n_rounds, peak_memory() - before


if __name__ == "__main__":
    main()
