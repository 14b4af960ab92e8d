"""Kernel mean matching: ours beside two quadratic programming solvers, and beside single scans of a large source.

dense    n_source = 2000, the kernel matrix given to all. OSQP and Clarabel are run with ever tighter tolerance until
         their answer is as good as was asked of ours, 1e-4 of the MMD^2 at equal weights; only the last run counts.
         Beside them the plain accelerated projected gradient with restart. One judge, here, makes each answer
         admissible by clipping and scaling and computes its MMD^2; a run that exceeds --cap seconds is stopped, and its
         ratio is then a lower bound. ours s is the solver alone, as for the peers; fit s is all of `KMMSelector.fit`.
large    n_source = 100000. A scan is the kernel of all rows with the rows that have a weight, times these weights,
         timed in the same process: no certificate over all rows is cheaper. Then the random features of the same fit,
         judged by the exact kernel: overlap is the share of the 100 largest weights of the exact answer that are among
         their 100 largest. The gap is computed here, from distances by SciPy. Memory is the peak of a process of its
         own beyond what it held with the data in place and a small fit done.

"shift" is one cloud, the target a narrower one to its side; in "clusters" the target lies in 3 of 10 clusters.
Seconds are those of the processor, so that other work on the machine counts for nobody; use one BLAS thread.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from common import Log, Table, Worker, parser, peak_memory
from scipy import sparse
from scipy.spatial.distance import cdist

from selftaught import KMMSelector, SourcePool
from selftaught.selectors.gaussian_kernel import BlockKernel, ScaledRows
from selftaught.selectors.matching_qp import Limits, project, solve_dense, sparse_start

TOL = 1e-4
BOUND = 1000.0
KINDS = ("shift", "clusters")
TIGHTER = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def main():
    made = parser(__doc__)
    made.add_argument("--cap", type=float, default=120.0, help="seconds after which a peer's run is stopped")
    made.add_argument("--parts", nargs="+", default=["dense", "large"], choices=["dense", "large"])
    made.add_argument("--scales", type=float, nargs="+", default=[0.5, 1.0, 2.0], help="bandwidth_scale, dense part")
    args = made.parse_args()
    log = Log(args)
    if "dense" in args.parts:
        compare_dense(args, log, n_source=300 if args.quick else 2000)
    if "large" in args.parts:
        measure_large(args, log, n_source=6000 if args.quick else 100_000)


def draw(kind, n_source, n_features, n_target, seed):
    """Return source (n_source, n_features) and target (n_target, n_features)."""
    rng = np.random.default_rng(seed)
    source, target = rng.normal(size=(n_source, n_features)), rng.normal(size=(n_target, n_features))
    if kind == "shift":
        target *= 0.7
        target[:, : n_features // 4] += 0.5
    else:
        centers = 2.0 * rng.normal(size=(10, n_features))
        source += centers[rng.integers(10, size=n_source)]
        target += centers[rng.integers(3, size=n_target)]
    return source, target


def timed(function, *args, **kwargs):
    """Return the processor's seconds of one call and its result."""
    begin = time.process_time()
    result = function(*args, **kwargs)
    return time.process_time() - begin, result


def median_timed(repeats, function, *args, **kwargs):
    """Return the median seconds of some calls and the last result."""
    runs = [timed(function, *args, **kwargs) for _ in range(repeats)]
    return float(np.median([seconds for seconds, _ in runs])), runs[-1][1]


# --- the judge


def exact_kernel(X, Y, bandwidth):
    return np.exp(-0.5 * cdist(X, Y, "sqeuclidean") / bandwidth**2)


def default_limits(n):
    eps = (np.sqrt(n) - 1) / np.sqrt(n)
    return n * (1 - eps), n * (1 + eps)


def admissible(beta):
    """Return the answer of a solver inside the constraints, which some meet only up to their tolerance."""
    beta, (low, high) = np.clip(beta, 0, BOUND), default_limits(len(beta))
    total = beta.sum()
    return np.clip(beta * (np.clip(total, low, high) / total), 0, BOUND)


def certified(g, beta):
    """Return how far f(beta) can be from the best: the best vertex by hand, row after row."""
    low, high = default_limits(len(g))
    best, left = 0.0, high
    for value in np.sort(g):
        if value >= 0 and high - left >= low:
            break
        amount = min(BOUND, left if value < 0 else low - (high - left))
        best, left = best + value * amount, left - amount
        if left <= 0:
            break
    return float(g @ beta - best)


# --- dense


def compare_dense(args, log, n_source):
    print(f"\n{n_source} source rows, 20 features, 200 target rows; to {TOL:g} of the MMD^2 at equal weights")
    workers = {name: Worker(warm_up) for name in PEERS}
    peers = [title for name in PEERS for title in (f"{name} s", "MMD^2")]
    table = Table("kind", "scale", "rows", "ours s", "fit s", "MMD^2", *peers, "ratio", least=8)
    for kind in KINDS:
        source, target = draw(kind, n_source, 20, 200, args.seed)
        for scale in args.scales:
            problem = DenseProblem(source, target, scale)
            seconds, ours = median_timed(3, problem.solve)
            found = {name: tightened(PEERS[name], problem, ours, workers[name], args.cap) for name in PEERS}
            exact = [answer["seconds"] for name, answer in found.items() if answer["reached"] and name != "gradient"]
            stopped = [answer["seconds"] for name, answer in found.items() if name != "gradient"]
            ratio = min(exact or stopped) / seconds
            cells = [cell for a in found.values() for cell in (a["shown"], a["mmd2"])]
            rows, value, bound = np.count_nonzero(ours), problem.mmd2(ours), "" if exact else ">"
            table.row(kind, scale, rows, seconds, problem.fit_seconds, value, *cells, f"{bound}{ratio:.0f}")
            log.add(
                dict(
                    part="dense", kind=kind, n_source=n_source, n_target=200, d=20, scale=scale, tol=TOL, cap=args.cap
                ),
                seconds=dict(ours=seconds, fit=problem.fit_seconds) | {k: a["seconds"] for k, a in found.items()},
                mmd2=dict(ours=value, uniform=problem.uniform) | {k: a["mmd2"] for k, a in found.items()},
                gap=problem.gap(ours),
                n_rows=rows,
                ratio=ratio,
                ratio_is_lower_bound=not exact,
                peers={k: dict(tol=a["tol"], reached=a["reached"]) for k, a in found.items()},
            )
    print(f"*: not within {TOL:g} of ours; ratio: the faster of OSQP and Clarabel over ours")
    for worker in workers.values():
        worker.stop()


class DenseProblem:
    """Kernel and linear term of one problem, on the features and with the width that the selector used."""

    def __init__(self, source, target, scale):
        n = len(source)
        selector = KMMSelector(solver="dense", bandwidth_scale=scale, tol=TOL)
        self.fit_seconds, _ = median_timed(3, selector.fit, target, X_source=SourcePool(source))
        X, T = selector.scaling_.apply(source), selector.scaling_.apply(target)
        self.K = exact_kernel(X, X, selector.bandwidth_)
        self.kappa = n / len(T) * exact_kernel(X, T, selector.bandwidth_).sum(axis=1)
        self.target_mean = exact_kernel(T, T, selector.bandwidth_).mean()
        self.uniform = self.mmd2(np.ones(n))

    def mmd2(self, beta):
        return float(beta @ (self.K @ beta) - 2 * self.kappa @ beta) / len(beta) ** 2 + self.target_mean

    def gap(self, beta):
        """Return the certified gap in the unit of the tolerance."""
        return 2 * certified(self.K @ beta - self.kappa, beta) / len(beta) ** 2 / self.uniform

    def solve(self):
        """Ours, from the kernel matrix to the weights."""
        n, (low, high) = len(self.kappa), default_limits(len(self.kappa))
        limits, target = Limits(BOUND, low, high), TOL * self.uniform * n**2 / 2
        start = sparse_start(self.kappa, limits)
        return solve_dense(self.K, self.kappa, limits, start=start, target=target).beta


def tightened(run, problem, ours, worker, cap):
    """Run a peer with smaller and smaller tolerance until its answer is as good as ours, or the cap is reached."""
    aim = problem.mmd2(ours) + TOL * problem.uniform
    for tol in TIGHTER:
        result = worker.call(run, problem.K, problem.kappa, tol, aim - problem.target_mean, cap=cap)
        if result is None:
            return dict(seconds=cap, mmd2=np.nan, tol=tol, reached=False, shown=f"> {cap:g}")
        value = problem.mmd2(admissible(result[1]))
        reached = value <= aim
        if reached:
            break
    return dict(
        seconds=result[0], mmd2=value, tol=tol, reached=reached, shown=f"{result[0]:.4g}{'' if reached else ' *'}"
    )


def run_osqp(K, kappa, tol, aim):
    import osqp

    n, (low, high) = len(kappa), default_limits(len(kappa))
    A = sparse.vstack([sparse.eye(n), np.ones((1, n))], format="csc")
    lower, upper = np.append(np.zeros(n), low), np.append(np.full(n, BOUND), high)
    # Divided by n, the kernel and its linear term are about one, which suits the solvers' absolute tolerances.
    P = sparse.csc_matrix(np.triu(K) / n)

    def solve():
        solver = osqp.OSQP()
        solver.setup(P, -kappa / n, A, lower, upper, verbose=False, eps_abs=tol, eps_rel=tol, max_iter=1_000_000)
        return solver.solve(raise_error=False).x

    return timed(solve)


def run_clarabel(K, kappa, tol, aim):
    import clarabel

    n, (low, high) = len(kappa), default_limits(len(kappa))
    A = sparse.vstack([sparse.eye(n), -sparse.eye(n), np.ones((1, n)), -np.ones((1, n))], format="csc")
    b = np.concatenate([np.full(n, BOUND), np.zeros(n), [high, -low]])
    P, settings = sparse.csc_matrix(np.triu(K) / n), clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol

    def solve():
        solver = clarabel.DefaultSolver(P, -kappa / n, A, b, [clarabel.NonnegativeConeT(len(b))], settings)
        return np.array(solver.solve().x)

    return timed(solve)


def run_gradient(K, kappa, tol, aim):
    """Accelerated projected gradient with restart, stopped (to its favour) as soon as its MMD^2 is good enough."""
    n, (low, high) = len(kappa), default_limits(len(kappa))
    limits = Limits(BOUND, low, high)

    def solve():
        v = np.ones(n)
        for _ in range(50):
            v = K @ v
            v /= (norm := np.linalg.norm(v))
        beta = ahead = project(np.ones(n), limits)
        momentum = 1.0
        for step in range(1_000_000):
            following = project(ahead - (K @ ahead - kappa) / (1.01 * norm), limits)
            if momentum > 1 and (ahead - following) @ (following - beta) > 0:
                ahead, momentum = beta, 1.0
                continue
            grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = following + (momentum - 1) / grown * (following - beta)
            beta, momentum = following, grown
            if step % 20 == 0 and (beta @ (K @ beta) - 2 * kappa @ beta) / n**2 <= aim:
                break
        return beta

    return timed(solve)


def warm_up():
    """Import the peers before the clock runs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    for run in PEERS.values():
        run(exact_kernel(X, X, 1.0), np.ones(20), 1e-3, np.inf)


PEERS = {"osqp": run_osqp, "clarabel": run_clarabel, "gradient": run_gradient}


# --- large


def measure_large(args, log, n_source):
    print(f"\n{n_source} source rows, solved to {TOL:g} of the MMD^2 at equal weights, defaults otherwise")
    titles = ("MMD^2", "gap", "scan s", "fit s", "scans", "peak MB", "rff s", "rff MMD^2", "overlap")
    table = Table("kind", "d", "target", "rows", *titles, least=7)
    for kind in KINDS:
        for d, n_target in ((20, 200), (50, 300)):
            with tempfile.TemporaryDirectory() as folder:
                source, target = draw(kind, n_source, d, n_target, args.seed)
                np.save(Path(folder, "source.npy"), source)
                exact, features = (
                    fresh_process(fit_large, folder, target, solver) for solver in ("working_set", "random_features")
                )
            gap = judge_large(source, target, exact)
            best = [set(np.argsort(-found["beta"])[:100]) for found in (exact, features)]
            overlap = len(best[0] & best[1]) / 100
            table.row(
                *(kind, d, n_target, exact["n_nonzero"], exact["mmd2"], gap, exact["scan_seconds"]),
                *(exact["seconds"], exact["seconds"] / exact["scan_seconds"], exact["peak_bytes"] / 2**20),
                *(features["seconds"], features["mmd2"], overlap),
            )
            log.add(
                dict(part="large", kind=kind, n_source=n_source, n_target=n_target, d=d, tol=TOL),
                seconds=dict(fit=exact["seconds"], scan=exact["scan_seconds"], random_features=features["seconds"]),
                peak_bytes=exact["peak_bytes"],
                peak_bytes_random_features=features["peak_bytes"],
                kernel_bytes=8 * n_source**2,
                scans=exact["seconds"] / exact["scan_seconds"],
                n_rounds=exact["n_iter"],
                n_rows=exact["n_nonzero"],
                mmd2=dict(exact=exact["mmd2"], random_features=features["mmd2"], uniform=exact["uniform"]),
                gap=gap,
                gap_reported=exact["gap"],
                gap_random_features=features["gap"],
                violation=violation(exact["beta"]),
                overlap_of_100_largest=overlap,
            )


def fresh_process(function, *args):
    worker = Worker()
    result = worker.call(function, *args, cap=3600)
    worker.stop()
    return result


def fit_large(folder, target, solver):
    """Fit in this process and return what there is to report."""
    rng = np.random.default_rng(0)
    KMMSelector(solver=solver).fit(target[:20], X_source=SourcePool(rng.normal(size=(500, target.shape[1]))))
    source = np.load(Path(folder, "source.npy"))
    pool, before = SourcePool(source), peak_memory()
    seconds, fitted = timed(KMMSelector(solver=solver, tol=TOL, random_state=0).fit, target, X_source=pool)
    peak, beta = peak_memory() - before, fitted.relevance_
    used = np.flatnonzero(beta)
    center = fitted.scaling_.apply(target).mean(axis=0)
    kernel = BlockKernel(ScaledRows(pool, fitted.scaling_, center, fitted.bandwidth_))
    scan_seconds, _ = median_timed(3, kernel.product, used, beta[used])
    return dict(
        beta=beta,
        seconds=seconds,
        scan_seconds=scan_seconds,
        peak_bytes=peak,
        mmd2=fitted.mmd_**2,
        uniform=fitted.mmd_uniform_**2,
        gap=fitted.dual_gap_,
        n_iter=fitted.n_iter_,
        n_nonzero=fitted.n_nonzero_,
        bandwidth=fitted.bandwidth_,
        scaling=fitted.scaling_,
    )


def judge_large(source, target, found):
    """Return the gap in the unit of the tolerance, over every row, from kernels computed another way."""
    X, T, beta = found["scaling"].apply(source), found["scaling"].apply(target), found["beta"]
    used, g = np.flatnonzero(beta), np.empty(len(beta))
    for start in range(0, len(X), 1000):
        part = X[start : start + 1000]
        kappa = len(X) / len(T) * exact_kernel(part, T, found["bandwidth"]).sum(axis=1)
        g[start : start + 1000] = exact_kernel(part, X[used], found["bandwidth"]) @ beta[used] - kappa
    return 2 * certified(g, beta) / len(beta) ** 2 / found["uniform"]


def violation(beta):
    """Return how far the weights are outside the constraints, the sum as a share of the number of rows."""
    low, high = default_limits(len(beta))
    total = beta.sum()
    return max(0.0, -beta.min(), beta.max() - BOUND, (low - total) / len(beta), (total - high) / len(beta))


if __name__ == "__main__":
    main()
