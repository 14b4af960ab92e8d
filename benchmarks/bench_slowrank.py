"""S-Low: does its objective ever rise, are its inner answers right, how close do they get, and what does a round cost?

descent      random problems of many shapes; the worst relative rise of the objective over all rounds, and how far the
             last value is from one computed here, by the formula.
convex       with infinite knees, the nuclear-norm problem at a fixed dictionary, against a primal-dual hybrid gradient
             method written here, which shares no code with ours and is run to a relative gap of 1e-6 of its own;
             the source's codes against SciPy's linear programs; and knees of 1e12 against infinite ones.
certificates the steps and processor seconds that each part of a round takes to a gap, at the published problems' size.
round        processor seconds of an outer round against the formulas written down as plainly as they are printed, with
             the same number of ADMM steps for both, and the objective that each reaches.

Data of the last two: simulated visual words, 2400 source and 300 target rows, projected to 150 directions, 256 atoms.
"""

from __future__ import annotations

import time

import numpy as np
from common import Log, Table, paper_split, parser, timed
from scipy.optimize import linprog

from selftaught.encoders.dictionary import random_atoms, ridge_codes
from selftaught.encoders.low_rank import Budget, Dictionary, Point, TargetCodes, solve_low_rank
from selftaught.encoders.minimax_concave import measure_weights, objective
from selftaught.encoders.projection import fit_projection
from selftaught.encoders.row_programs import solve_rows
from selftaught.encoders.splitting import Problem, RowSparsity, cold_state, solve_split

INF = np.inf
DEFAULTS = dict(rank_gamma=5.0, error_gamma=5.0, error_weight=5.0, source_sparsity=0.1, source_weight=1.0)


def main():
    made = parser(__doc__)
    made.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    made.add_argument("--problems", type=int, default=200, help="of descent")
    args = made.parse_args()
    if args.quick:
        args.problems = 12
    log = Log(args)
    for part in args.parts:
        print(f"\n{part}")
        PARTS[part](args, log)


# --- descent


def descent(args, log):
    worst_rise, worst_difference, rounds, least_fall = -INF, 0.0, 0, INF
    seconds = 0.0
    for seed in range(args.seed, args.seed + args.problems):
        rng = np.random.default_rng(seed)
        X_source, X_target = random_problem(rng)
        options = dict(
            n_components=int(rng.integers(2, 40)),
            rank_gamma=rng.choice([0.5, 1.5, 5.0, 10.0, INF]),
            error_gamma=rng.choice([0.5, 1.5, 5.0, 10.0, INF]),
            error_weight=rng.choice([0.9, 2.0, 5.0, 20.0]),
            source_sparsity=rng.choice([1e-6, 0.1, 0.5, 1.5]),
            source_weight=rng.choice([0.1, 1.0, 3.0]),
            max_inner=int(rng.choice([1, 3, 10, 100])),
            batch_size=rng.choice([None, 7]),
            max_outer=15,
            tol=1e-8,
        )
        took, found = timed(solve_low_rank, X_source, X_target, rng=np.random.default_rng(seed), **options)
        path = np.array(found.objective_path)
        seconds += took
        rounds += len(path) - 1
        worst_rise = max(worst_rise, (np.diff(path) / path[:-1]).max())
        least_fall = min(least_fall, 1 - path[-1] / path[0])
        value = value_by_the_formula(X_source, X_target, found.point, found.weights)
        worst_difference = max(worst_difference, abs(value - path[-1]) / path[-1])
    print(f"{args.problems} problems, {rounds} rounds: worst rise {worst_rise:.1e}, least fall in all {least_fall:.1e}")
    print(f"values against the formula: worst difference {worst_difference:.1e}")
    log.add(
        dict(part="descent", problems=args.problems),
        seconds=seconds,
        worst_rise=worst_rise,
        least_fall=least_fall,
        worst_difference=worst_difference,
    )


def random_problem(rng):
    """Return low-rank rows with gross errors, of few or many rows and features, sometimes without a source."""
    d, rank = int(rng.integers(1, 25)), int(rng.integers(1, 6))
    n_source, n_target = int(rng.choice([0, 1, 10, 60])), int(rng.integers(1, 30))
    n = n_source + n_target
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + 0.1 * rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.05] += 10 * rng.standard_normal()
    X *= 10.0 ** rng.integers(-3, 4)
    return X[:n_source], X[n_source:]


def value_by_the_formula(X_source, X_target, point, weights):
    def M(t, knee):
        t = abs(t)
        return t if knee == INF else t - t**2 / (2 * knee) if t <= knee else knee / 2

    rank = sum(M(sigma, weights.knee_rank) for sigma in np.linalg.svd(point.Z_target)[1])
    errors = 0.0
    for X, Z, share in ((X_source, point.Z_source, weights.source_weight), (X_target, point.Z_target, 1.0)):
        errors += share * sum(M(e, weights.knee_error) for e in (X - Z @ point.D).ravel())
    return rank + weights.sparsity * np.abs(point.Z_source).sum() + weights.error_weight * errors


# --- convex


def convex(args, log):
    table = Table("seed", "n, m, d", "ours", "gap", "peer", "gap", "differ", "linprog", "1e12, inf")
    shapes = [(20, 12, 8), (30, 10, 20), (15, 30, 15)]
    for seed in range(args.seed, args.seed + (1 if args.quick else 4)):
        for n, m, d in shapes:
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.1 * rng.standard_normal((n, d))
            X[rng.random(X.shape) < 0.05] += 5.0
            X_source = rng.standard_normal((10, d))
            D, point, weights = start(X_source, X, m, rng, rank_gamma=INF, error_gamma=INF)
            move = TargetCodes(X, weights, Budget(20_000, 1e-7))
            ours, _ = move(point, nuclear_value(X, D, point.Z_target, weights.error_weight))
            value = nuclear_value(X, D, ours.Z_target, weights.error_weight)
            peer, bound = primal_dual(X, D, weights.error_weight)
            row_difference = against_linprog(X_source, D, weights)
            paths = [
                solve_low_rank(
                    X_source, X, n_components=m, rng=np.random.default_rng(seed), rank_gamma=g, error_gamma=g
                )
                for g in (1e12, INF)
            ]
            knees = relative(paths[0].objective_path[-1], paths[1].objective_path[-1])
            differ, own_gap = relative(value, peer), (value - bound) / value
            cells = f"{value:.6f}", f"{own_gap:.1e}", f"{peer:.6f}", f"{(peer - bound) / peer:.1e}", f"{differ:.1e}"
            table.row(f"{seed}", f"{n},{m},{d}", *cells, f"{row_difference:.1e}", f"{knees:.1e}")
            log.add(
                dict(part="convex", seed=seed, n=n, m=m, d=d),
                seconds=None,
                ours=value,
                gap=own_gap,
                peer=peer,
                peer_gap=(peer - bound) / peer,
                linprog_difference=row_difference,
                knee_difference=knees,
            )


def relative(a, b):
    return abs(a - b) / abs(b)


def start(X_source, X_target, m, rng, **changes):
    D = random_atoms(np.concatenate([X_source, X_target]), m, rng)
    point = Point(D, ridge_codes(X_source, D), ridge_codes(X_target, D))
    return D, point, measure_weights(X_source, X_target, D, point.Z_target, **{**DEFAULTS, **changes})


def nuclear_value(X, D, Z, weight):
    return np.linalg.svd(Z, compute_uv=False).sum() + weight * np.abs(X - Z @ D).sum()


def primal_dual(X, D, weight, tol=1e-6, max_steps=400_000):
    """Minimise |Z|_* + weight |X - Z D|_1 by Chambolle and Pock's method; return the best value and the best bound.

    Saddle point: min over Z, max over |Y| <= weight of |Z|_* + <Y, X - Z D>. A Y is feasible where |Y D'|_2 <= 1.
    """
    Z, Y = np.zeros((len(X), len(D))), np.zeros_like(X)
    length = 0.99 / np.linalg.norm(D, 2)
    best, bound = INF, -INF
    ratio = np.abs(X).mean() / weight  # of the primal step to the dual one, in the units of both
    tau, sigma = length * ratio, length / ratio
    for step in range(max_steps):
        U, s, Vt = np.linalg.svd(Z + tau * Y @ D.T, full_matrices=False)
        new = (U * np.maximum(s - tau, 0)) @ Vt
        Y = np.clip(Y + sigma * (X - (2 * new - Z) @ D), -weight, weight)
        Z = new
        if step % 50 == 0:
            best = min(best, nuclear_value(X, D, Z, weight))
            bound = max(bound, np.vdot(Y, X) / max(1.0, np.linalg.norm(Y @ D.T, 2)))
            if best - bound <= tol * best:
                break
    return best, bound


def against_linprog(X, D, weights):
    """Return the largest relative difference of our rows' values from linear programs'."""
    weight, sparsity = weights.source_weight * weights.error_weight, weights.sparsity
    Z, _ = solve_rows(X, D, np.zeros_like(X), weight=weight, sparsity=sparsity, tol=1e-8)
    m, d = D.shape
    cost = np.concatenate([np.full(2 * m, sparsity), np.full(2 * d, weight)])
    equations = np.hstack([D.T, -D.T, np.eye(d), -np.eye(d)])
    peers = np.array([linprog(cost, A_eq=equations, b_eq=x).fun for x in X])
    ours = sparsity * np.abs(Z).sum(axis=1) + weight * np.abs(X - Z @ D).sum(axis=1)
    return (np.abs(ours - peers) / peers).max()


# --- certificates


def certificates(args, log):
    """Infinite knees, so that a move continues where its last call ended and the tangent stays."""
    X_source, X_target, m = paper_coordinates(args)
    rng = np.random.default_rng(args.seed)
    D, point, weights = start(X_source, X_target, m, rng, rank_gamma=INF, error_gamma=INF)
    value = objective(X_source, X_target, D, point.Z_source, point.Z_target, weights)
    weight = weights.source_weight * weights.error_weight
    table = Table("part", "steps", "seconds", "gap", least=20)

    def note(part, steps, seconds, gap):
        table.row(part, f"{steps}", seconds, f"{gap / value:.1e}")
        log.add(dict(part="certificates", inner=part, steps=steps), seconds=seconds, gap=gap / value)

    def chain(part, move, place):
        steps = seconds = 0
        for more in (30, 70, 200) if args.quick else (30, 70, 200, 700):
            move.budget = Budget(more, 1e-7)
            took, (place, gap) = worked(move, place, value)
            steps, seconds = steps + more, seconds + took
            note(part, steps, seconds, gap)
            if gap <= 1e-7 * value:
                break
        return place

    point = chain("target codes", TargetCodes(X_target, weights, None), point)
    C = np.zeros_like(X_source)
    problem = Problem(X_source, D, RowSparsity(weights.sparsity), C, weight)
    state, steps, seconds = cold_state(problem, point.Z_source, weight / np.abs(X_source).mean()), 0, 0.0
    for more in (30, 70, 200):
        took, found = worked(solve_split, problem, state, n_steps=more, tol=1e-7)
        state, steps, seconds = found.state, steps + more, seconds + took
        note("source codes, ADMM", steps, seconds, found.gap.sum())
    for tol in (1e-2, 1e-4, 1e-6):
        took, (Z, gap) = worked(solve_rows, X_source, D, C, weight=weight, sparsity=weights.sparsity, tol=tol)
        note(f"source codes, exact to {tol:g}", "", took, gap.sum())
    chain("dictionary", Dictionary(X_source, X_target, weights, None), Point(D, Z, point.Z_target))


def paper_coordinates(args):
    """Return source and target rows in their leading directions, and the number of atoms."""
    X_source, X_target, _ = paper_split(args)
    k, m = (20, 30) if args.quick else (150, 256)
    projection = fit_projection(lambda: (X_target, X_source), k)
    return projection.apply(X_source), projection.apply(X_target), m


# --- round


def rounds(args, log):
    X_source, X_target, m = paper_coordinates(args)
    n_rounds, n_steps = (2, 30) if args.quick else (3, 100)
    ours = Laps()
    found = solve_low_rank(
        X_source,
        X_target,
        n_components=m,
        rng=np.random.default_rng(args.seed),
        max_outer=n_rounds,
        max_inner=n_steps,
        tol=1e-7,
        on_round=ours.lap,
    )
    plain = Laps()
    _, point, weights = start(X_source, X_target, m, np.random.default_rng(args.seed))
    plain_slow(X_source, X_target, point, weights, n_rounds=n_rounds, n_steps=n_steps, on_round=plain.lap)
    shape = f"n = {len(X_source) + len(X_target)}, m = {m}, d = {X_source.shape[1]}"
    print(f"{shape}, {n_steps} ADMM steps in each part; start at {found.objective_path[0]:.4f}")
    table = Table("round", "ours s", "objective", "plain s", "objective", "ratio")
    for i in range(n_rounds):
        ratio = plain.seconds[i] / ours.seconds[i]
        table.row(f"{i + 1}", ours.seconds[i], ours.values[i], plain.seconds[i], plain.values[i], f"{ratio:.1f}")
    ratio = np.median(plain.seconds) / np.median(ours.seconds)
    print(f"median ratio {ratio:.1f}; ours by part: { {k: round(v, 2) for k, v in found.seconds.items()} }")
    print(f"gaps after the last round: { {k: float(f'{v:.1e}') for k, v in found.gaps.items()} }")
    log.add(
        dict(part="round", n_steps=n_steps, m=m, d=X_source.shape[1]),
        seconds=dict(ours=ours.seconds, plain=plain.seconds),
        ratio=ratio,
        objectives=dict(ours=ours.values, plain=plain.values),
        gaps=found.gaps,
    )


def worked(function, *args, **kwargs):
    """Return the processor seconds of one call, which other work on the machine disturbs least, and its result."""
    begin = time.process_time()
    result = function(*args, **kwargs)
    return time.process_time() - begin, result


class Laps:
    """Notes the processor seconds and the objective of every round."""

    def __init__(self):
        self.seconds, self.values, self._begun = [], [], time.process_time()

    def lap(self, number, value):
        now = time.process_time()
        self.seconds.append(now - self._begun)
        self.values.append(value)
        self._begun = now


def plain_slow(X_source, X_target, point, weights, *, n_rounds, n_steps, on_round):
    """The alternation as plain as its formulas: source and target in one array, one rho, a full SVD in every step."""
    X, n_source = np.concatenate([X_source, X_target]), len(X_source)
    D, Z = point.D, np.concatenate([point.Z_source, point.Z_target])
    weight = np.full((len(X), 1), weights.error_weight)
    weight[:n_source] *= weights.source_weight

    def value(D, Z):
        return objective(X_source, X_target, D, Z[:n_source], Z[n_source:], weights)

    best = value(D, Z)
    code_state = dictionary_state = None
    for number in range(1, n_rounds + 1):
        new, code_state = plain_codes(X, n_source, D, Z, weights, weight, n_steps, code_state)
        if value(D, new) < best:
            Z, best = new, value(D, new)
        new, dictionary_state = plain_dictionary(X, D, Z, weights, weight, n_steps, dictionary_state)
        if value(new, Z) < best:
            D, best = new, value(new, Z)
        on_round(number, best)


def plain_codes(X, n_source, D, Z, weights, weight, n_steps, state):
    U, sigma, Vt = np.linalg.svd(Z[n_source:], full_matrices=False)
    C_Z = U @ np.diag(np.minimum(sigma / weights.knee_rank, 1)) @ Vt
    E = X - Z @ D
    C_E = np.clip(E / weights.knee_error, -1, 1)
    J = Z.copy()
    Y, V, rho = state or (np.zeros_like(X), np.zeros_like(Z), weights.error_weight / np.abs(X[n_source:]).mean())
    inverse = np.linalg.inv(D @ D.T + np.eye(len(D)))
    for step in range(1, n_steps + 1):
        before_J, before_E = J.copy(), E
        U, sigma, Vt = np.linalg.svd(Z[n_source:] + (V[n_source:] + C_Z) / rho, full_matrices=False)
        J[n_source:] = U @ np.diag(np.maximum(sigma - 1 / rho, 0)) @ Vt
        J[:n_source] = plain_soft(Z[:n_source] + V[:n_source] / rho, weights.sparsity / rho)
        Z = ((X - E + Y / rho) @ D.T + J - V / rho) @ inverse
        fit = Z @ D
        E = plain_soft(X - fit + (Y + weight * C_E) / rho, weight / rho)
        Y, V = Y + rho * (X - fit - E), V + rho * (Z - J)
        if step % 10 == 0 and step <= n_steps // 2:
            rho *= plain_balance(X, (X - fit - E, Z - J), (E - before_E, J - before_J), (Y, V), rho)
    return J, (Y, V, rho)


def plain_dictionary(X, D, Z, weights, weight, n_steps, state):
    E = X - Z @ D
    C_E = np.clip(E / weights.knee_error, -1, 1)
    Q = D
    Y, V, rho = state or (np.zeros_like(X), np.zeros_like(D), weights.error_weight / np.abs(X).mean())
    c = np.trace(Z.T @ Z) / len(D)
    inverse = np.linalg.inv(Z.T @ Z + c * np.eye(len(D)))
    for step in range(1, n_steps + 1):
        before_Q, before_E = Q, E
        D = inverse @ (Z.T @ (X - E + Y / rho) + c * Q - V / rho)
        fit = Z @ D
        E = plain_soft(X - fit + (Y + weight * C_E) / rho, weight / rho)
        Q = D + V / (rho * c)
        Q = Q / np.maximum(np.linalg.norm(Q, axis=1, keepdims=True), 1)
        Y, V = Y + rho * (X - fit - E), V + rho * c * (D - Q)
        if step % 10 == 0 and step <= n_steps // 2:
            rho *= plain_balance(X, (X - fit - E, D - Q), (E - before_E, Q - before_Q), (Y, V), rho)
    return Q, (Y, V, rho)


def plain_soft(T, threshold):
    return np.sign(T) * np.maximum(np.abs(T) - threshold, 0)


def plain_balance(X, primal, moved, multipliers, rho):
    primal = sum(np.linalg.norm(part) for part in primal) / np.linalg.norm(X)
    dual = rho * sum(np.linalg.norm(part) for part in moved) / sum(np.linalg.norm(part) for part in multipliers)
    return 2.0 if primal > 10 * dual else 0.5 if dual > 10 * primal else 1.0


PARTS = {"descent": descent, "convex": convex, "certificates": certificates, "round": rounds}


if __name__ == "__main__":
    main()
