"""The mapping step to a relative duality gap of 1e-4: ours, two solvers of the multi-task lasso, and the published one.

Every answer, ours included, is judged by one gap and one objective, computed here in float64. A peer is run with ever
tighter tolerance until that gap is met, and only its last run counts. A run that exceeds --cap seconds is stopped; its
ratio is then a lower bound. The published reweighting has no criterion: it gets 20 iterations, a star marks an answer
whose gap is still too wide, and its excess over our objective is shown.

Frames: "published" maps around the origin with equal weights; "default" around the target's mean with each row's
penalty weighed by its length, for the peers through rows that are centred and divided by their weights beforehand.
"""

from __future__ import annotations

import warnings

import numpy as np
from common import Log, Table, Worker, median_timed, paper_split, parser, timed
from published import published_a_step

from selftaught.relevance import lam_max, mapping_frame, solve_mapping

GAP = 1e-4
MU = 1.0
TIGHTEN = 3.0
MAX_TIGHTENINGS = 12


def main():
    made = parser(__doc__)
    made.add_argument("--fractions", type=float, nargs="+", default=[0.5, 0.3, 0.1, 0.03], help="of lam_max")
    made.add_argument("--frames", nargs="+", default=["published", "default"], choices=["published", "default"])
    made.add_argument("--peers", nargs="*", default=["sklearn", "skglm", "published"], choices=list(PEERS))
    made.add_argument("--cap", type=float, default=60.0, help="seconds after which a peer's run is stopped")
    made.add_argument("--repeats", type=int, default=3, help="of ours; the median counts")
    args = made.parse_args()
    X_source, X_target, name = paper_split(args)
    log, workers = Log(args), {peer: Worker(PEERS[peer].warm_up) for peer in args.peers}
    print(f"{name}: {X_source.shape[0]} source rows, {len(X_target)} target rows, {X_source.shape[1]} features")
    solve_mapping(X_source, X_target, lam=0.9 * lam_max(X_source, X_target))  # wakes the threads
    titles = [title for peer in args.peers for title in (f"{peer} s", "excess")]
    table = Table("frame", "lam/max", "rows", "ours s", "gap", *titles, "ratio")
    for frame in args.frames:
        for fraction in args.fractions:
            problem = Problem.in_frame(frame, X_source, X_target, fraction)
            ours = solve_ours(problem, args.repeats)
            results = {peer: PEERS[peer].solve(problem, ours, workers[peer], args.cap) for peer in args.peers}
            cells = [cell for result in results.values() for cell in result.cells(ours)]
            ratio, is_bound = best_ratio(ours, results.values())
            table.row(frame, fraction, ours.n_rows, ours.seconds, ours.gap, *cells, f"{'>' * is_bound}{ratio:.1f}")
            log.add(
                dict(data=name, frame=frame, fraction=fraction, lam=problem.lam, mu=MU, gap=GAP, cap=args.cap),
                seconds=dict(ours=ours.seconds) | {peer: result.seconds for peer, result in results.items()},
                n_rows=ours.n_rows,
                ratio=ratio,
                ratio_is_lower_bound=is_bound,
                answers=dict(ours=ours.record()) | {peer: result.record() for peer, result in results.items()},
            )
    print("\nrows: used by ours; excess: objective above ours, relative; *: the gap was not reached")
    for worker in workers.values():
        worker.stop()


# --- the problem, and the one judge of all answers


class Problem:
    """minimise over B: mu/(2 n_target) |Y - B'X|^2 + lam sum |B_i|, with B_i = w_i A_i and X, Y in the frame."""

    def __init__(self, X_source, X_target, lam, center, row_weights):
        self.X_source, self.X_target, self.lam = X_source, X_target, lam
        self.frame = dict(center=center, row_weights=row_weights)
        self.X = X_source if center is None else (X_source - center) / row_weights[:, None]
        self.Y = X_target if center is None else X_target - center
        self.scale = MU / len(self.Y)

    @classmethod
    def in_frame(cls, frame, X_source, X_target, fraction):
        """Build the problem at a fraction of the frame's lam_max."""
        c, w = mapping_frame(X_source, X_target) if frame == "default" else (None, None)
        return cls(X_source, X_target, fraction * lam_max(X_source, X_target, MU, center=c, row_weights=w), c, w)

    @property
    def alpha(self):
        """Weight of the norms where the loss is |Y - B'X|^2 / (2 d), scikit-learn's form."""
        return self.lam / self.scale / self.Y.shape[1]

    def judge(self, B):
        """Return the objective at B (n_source, n_target) and its duality gap over it."""
        R = self.Y - B.T @ self.X
        primal = self.scale / 2 * np.vdot(R, R) + self.lam * np.linalg.norm(B, axis=1).sum()
        largest = self.scale * np.linalg.norm(self.X @ R.T, axis=1).max()
        shrink = min(1.0, self.lam / largest)
        dual = self.scale * (shrink * np.vdot(R, self.Y) - shrink**2 / 2 * np.vdot(R, R))
        return primal, (primal - dual) / primal


class Answer:
    """What a solver gave, judged; ``capped`` where it was stopped, and then the rest is of its last finished run."""

    def __init__(self, problem, seconds, B, capped=False, tol=None):
        self.seconds, self.capped, self.tol = seconds, capped, tol
        self.objective, self.gap, self.n_rows = np.nan, np.nan, 0
        if B is not None:
            self.objective, self.gap = problem.judge(B)
            self.n_rows = int(np.count_nonzero(B.any(axis=1)))

    @property
    def reached(self):
        """Whether this is an answer as exact as was asked for."""
        return not self.capped and self.gap <= GAP

    def excess(self, ours):
        """Return how far the objective lies above that of ours, relative."""
        return (self.objective - ours.objective) / ours.objective

    def cells(self, ours):
        """Return seconds and excess for the table."""
        if self.capped:
            return f"> {self.seconds:.4g}", ""
        return f"{self.seconds:.4g}{'' if self.reached else ' *'}", f"{self.excess(ours):.1e}"

    def record(self):
        return dict(objective=self.objective, gap=self.gap, n_rows=self.n_rows, capped=self.capped, tol=self.tol)


def best_ratio(ours, results):
    """Return the seconds of the fastest peer over ours, and whether that is only a bound because peers were stopped."""
    exact = [result.seconds for result in results if result.reached]
    if exact:
        return min(exact) / ours.seconds, False
    stopped = [result.seconds for result in results if result.capped]
    return (min(stopped) / ours.seconds if stopped else np.nan), True


# --- the solvers


def solve_ours(problem, repeats):
    seconds, solved = median_timed(
        repeats, solve_mapping, problem.X_source, problem.X_target, lam=problem.lam, mu=MU, tol=GAP, **problem.frame
    )
    A, w = solved.mapping.toarray(), problem.frame["row_weights"]
    return Answer(problem, seconds, A if w is None else A * w[:, None])


class Tightened:
    """A peer with a tolerance of its own, made tighter until the common gap is met."""

    def __init__(self, run, first_tol, warm_up=None):
        self.run, self.first_tol, self.warm_up = run, first_tol, warm_up

    def solve(self, problem, ours, worker, cap):
        design, response = np.asfortranarray(problem.X.T), np.asfortranarray(problem.Y.T)
        tol = self.first_tol(problem, ours)
        answer = None
        for _ in range(MAX_TIGHTENINGS):
            result = worker.call(self.run, design, response, problem.alpha, tol, cap=cap)
            if result is None:
                return Answer(problem, cap, None, capped=True, tol=tol)
            answer = Answer(problem, *result, tol=tol)
            if answer.reached:
                break
            tol /= TIGHTEN
        return answer


class Reweighted:
    """The published update, for a fixed number of iterations."""

    warm_up = None

    def solve(self, problem, ours, worker, cap):
        result = worker.call(run_published, problem.X, problem.Y, problem.lam, cap=cap)
        return Answer(problem, cap, None, capped=True) if result is None else Answer(problem, *result)


def run_sklearn(design, response, alpha, tol):
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import MultiTaskLasso

    warnings.simplefilter("ignore", ConvergenceWarning)
    model = MultiTaskLasso(alpha=alpha, fit_intercept=False, tol=tol, max_iter=1_000_000, copy_X=False)
    seconds, _ = timed(model.fit, design, response)
    return seconds, model.coef_.T


def run_skglm(design, response, alpha, tol):
    from skglm.datafits import QuadraticMultiTask
    from skglm.penalties import L2_1
    from skglm.solvers import MultiTaskBCD

    solver = MultiTaskBCD(fit_intercept=False, tol=tol, max_iter=1000)
    seconds, (W, _, _) = timed(solver.solve, design, response, QuadraticMultiTask(), L2_1(alpha))
    return seconds, W


def warm_up_skglm():
    """Compile before the clock runs: arrays of the same type and layout as the ones to come."""
    rng = np.random.default_rng(0)
    run_skglm(np.asfortranarray(rng.random((20, 30))), np.asfortranarray(rng.random((20, 5))), 0.05, 1e-6)


def run_published(X_source, H_target, lam):
    return timed(published_a_step, X_source, H_target, lam, MU)


def gap_in_squares(problem, ours):
    """Return three times the gap wanted in the unit of scikit-learn's tolerance, the squared responses."""
    return 3 * GAP * ours.objective / problem.scale / np.vdot(problem.Y, problem.Y)


def share_of_alpha(problem, ours):
    """Return a violation of the optimality conditions, in the unit of alpha, known to be too loose."""
    return 0.03 * problem.alpha


PEERS = {
    "sklearn": Tightened(run_sklearn, gap_in_squares),
    "skglm": Tightened(run_skglm, share_of_alpha, warm_up_skglm),
    "published": Reweighted(),
}


if __name__ == "__main__":
    main()
