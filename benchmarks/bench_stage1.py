"""All of stage 1 to an objective no higher than where the published algorithm ends.

Published: random start, 400 L-BFGS iterations with 100 updates for the autoencoder, reweighting with a dense system
for the mapping, in turns until the objective falls by less than 1e-4 of itself, at most --n-outer times. Ours: the
published objective too (no centring, no weights, the same lam, gamma and mu = 1), spectral start, with budgets that
grow until the objective is low enough; the seconds of that run count, the others are shown.

One function, in float64, gives the objective of both; the published smoothing of the norm is no part of it. "rows" are
source rows whose row of the mapping is longer than 1e-3: with mu = 1 and enough training, autoencoder and mapping may
meet at a mapping of zero. A lam is a fraction of lam_max at the target rows; gamma is not divided by n.
"""

from __future__ import annotations

import numpy as np
from common import Log, Table, paper_split, parser, timed
from published import Weights, published_gastl, published_laplacian, published_objective

from selftaught.relevance import lam_max, solve_relevance

MU = 1.0
TOL = 1e-4
# Rounds and L-BFGS iterations in each.
BUDGETS = (
    (1, 5),
    (1, 10),
    (1, 20),
    (1, 40),
    (2, 20),
    (2, 40),
    (5, 20),
    (3, 50),
    (10, 20),
    (10, 50),
    (10, 100),
    (10, 400),
)
LONG_ROW = 1e-3


def main():
    made = parser(__doc__)
    made.add_argument("--fractions", type=float, nargs="+", default=[0.1, 0.01], help="of lam_max")
    made.add_argument("--gammas", type=float, nargs="+", default=[0.0, 1e-4])
    made.add_argument("--n-hidden", type=int, nargs="+", default=[100])
    made.add_argument("--n-outer", type=int, default=3, help="most rounds of the published algorithm")
    made.add_argument("--n-iter", type=int, default=400, help="its L-BFGS iterations in a round")
    args = made.parse_args()
    X_source, X_target, name = paper_split(args)
    n_iter, n_outer = (40, 1) if args.quick else (args.n_iter, args.n_outer)
    log = Log(args)
    laplacian = published_laplacian(np.vstack([X_source, X_target]))
    print(f"{name}: {X_source.shape[0]} source rows, {len(X_target)} target rows, {X_source.shape[1]} features")
    table = Table("n_hidden", "lam/max", "gamma", "who", "rounds", "inner", "seconds", "objective", "rows", "ratio")
    for n_hidden in args.n_hidden:
        for fraction in args.fractions:
            for gamma in args.gammas:
                lam = fraction * lam_max(X_source, X_target, MU)
                case = Case(X_source, X_target, laplacian, lam, gamma, n_hidden, args.seed)
                parameters = dict(data=name, n_hidden=n_hidden, fraction=fraction, gamma=gamma, lam=lam, mu=MU)
                labels = (n_hidden, fraction, gamma)
                theirs = case.run_published(n_outer, n_iter)
                cells = (theirs.n_outer, n_iter, theirs.seconds, theirs.objective, theirs.n_rows)
                table.row(*labels, "published", *cells, "")
                log.add(parameters | dict(who="published", n_iter=n_iter), **theirs.record())
                for dtype in ("float32", "float64"):
                    for max_outer, max_inner in BUDGETS:
                        ours = case.run_ours(dtype, max_outer, max_inner)
                        done = ours.objective <= theirs.objective
                        ratio = theirs.seconds / ours.seconds if done else None
                        cells = (max_outer, max_inner, ours.seconds, ours.objective, ours.n_rows)
                        table.row(*labels, dtype, *cells, f"{ratio:.1f}" if done else "")
                        budget = dict(who="ours", dtype=dtype, max_outer=max_outer, max_inner=max_inner)
                        log.add(parameters | budget, **ours.record(), ratio=ratio, published_objective=theirs.objective)
                        if done:
                            break


class Result:
    """Where a run ended: seconds, objective, rounds, source rows that its mapping uses."""

    def __init__(self, seconds, objective, n_outer, A):
        self.seconds, self.objective, self.n_outer = seconds, float(objective), n_outer
        lengths = np.linalg.norm(A, axis=1)
        self.n_rows, self.n_nonzero = int(np.sum(lengths > LONG_ROW)), int(np.count_nonzero(lengths))
        self.longest = float(lengths.max())

    def record(self):
        return vars(self)


class Case:
    """One problem, and both ways to solve it."""

    def __init__(self, X_source, X_target, laplacian, lam, gamma, n_hidden, seed):
        self.X_source, self.X_target, self.laplacian = X_source, X_target, laplacian
        self.lam, self.gamma, self.n_hidden, self.seed = lam, gamma, n_hidden, seed

    def objective(self, weights, A):
        """Return the published objective in float64, the judge of both."""
        weights = Weights(*(np.asarray(part, dtype=np.float64) for part in weights))
        return published_objective(self.X_source, self.X_target, weights, A, self.laplacian, self.lam, self.gamma, MU)

    def run_published(self, n_outer, n_iter):
        """Run the published algorithm; only its steps are on the clock, not its looks at the objective."""
        solved = published_gastl(
            self.X_source,
            self.X_target,
            self.lam,
            self.gamma,
            MU,
            self.n_hidden,
            n_outer,
            n_iter=n_iter,
            random_state=self.seed,
            tol=TOL,
        )
        value = self.objective(solved.autoencoder, solved.A)
        return Result(sum(solved.seconds.values()), value, len(solved.objective_path) - 1, solved.A)

    def run_ours(self, dtype, max_outer, max_inner):
        """Run the library on the published objective; everything is on the clock."""
        seconds, solved = timed(
            solve_relevance,
            self.X_source.astype(dtype),
            self.X_target.astype(dtype),
            lam=self.lam,
            gamma=self.gamma,
            mu=MU,
            n_hidden=self.n_hidden,
            center=False,
            normalize=False,
            max_outer=max_outer,
            max_inner=max_inner,
            tol=TOL,
            random_state=self.seed,
        )
        auto, A = solved.autoencoder, solved.mapping.toarray()
        return Result(seconds, self.objective((auto.W1, auto.b1, auto.W2, auto.b2), A), solved.n_outer, A)


if __name__ == "__main__":
    main()
