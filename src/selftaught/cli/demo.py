"""``selftaught demo``: the embedded example with default parameters, beside its controls, in seconds.

Thirty labelled digits and an archive in which a fifth of the scans are digits too. Each seed deals the digits anew and
seeds every method; nothing is tuned on the example and no seed is left out. All ten digits, because "which scans are
digits?" needs no explaining. That choice is kind to the method: with the five digits of ``load_demo()`` target-only is
closer to its ceiling, other digits lie in the pool, and the gain is nearer to zero.

    run_seed(seed) -> SeedResult        for each seed, side by side
    describe(results) -> text           printed
    draw(result of seed 0) -> figure    written beside its name, then renamed
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed

from selftaught import GASTLClassifier, NeighborSelector, RandomSelector, SelfTaughtClassifier, SourcePool
from selftaught._files import written_whole
from selftaught.datasets import load_demo
from selftaught.metrics import TransferGain, paired_interval, selection_precision, transfer_gain
from selftaught.plotting import ObjectiveDisplay, RelevanceDisplay, SourceImagesDisplay, TransferCurveDisplay

from .methods import parse_count

__all__ = ["SeedResult", "add_parser", "describe", "draw", "run", "run_seed"]

CLASSES, N_PER_CLASS = tuple(range(10)), 3
FIGURE = "selftaught-demo.png"
WANTED = "target digit"
TARGET_ONLY, GASTL = "target only", "GASTL"
NEIGHBORS, RANDOM = "as many nearest neighbours", "as many random rows"
FIRST = 20


@dataclass(frozen=True)
class SeedResult:
    """What one seed gave: the fitted GASTL, the accuracy of every method, the gain over target-only in detail."""

    seed: int
    gastl: GASTLClassifier
    accuracy: dict[str, float]
    gain: TransferGain
    n_relevant: int
    precision_first: float
    precision_all: float


def add_parser(subparsers):
    """Add the subcommand and its options."""
    parser = subparsers.add_parser(
        "demo",
        help="the embedded example: digits in an archive of other things, seconds, no network",
        description="Run the embedded example with default parameters over several seeds, beside its controls, and "
        f"write one figure, {FIGURE}.",
    )
    parser.add_argument("--seeds", type=parse_count, default=5, metavar="N", help="run seeds 0 to N-1 (default: 5)")
    parser.add_argument("--out", type=_folder, default=Path(), metavar="DIR", help="where to write (default: here)")
    parser.set_defaults(run=run)


def run(arguments):
    """Run the example, print what it shows, write the figure."""
    results = _run_seeds(arguments.seeds)
    width = min(shutil.get_terminal_size((88, 24)).columns, 96)
    print(describe(results, width))
    try:
        figure = draw(results[0])
    except ImportError as error:
        print(f"\nNo figure: {error}")
        return
    path = arguments.out / FIGURE
    _write_figure(figure, path)
    print(f"\nFigure (seed 0): {path}")


def _run_seeds(n_seeds):
    """Run all seeds, some at a time; count them on a terminal."""
    n_jobs = min(n_seeds, cpu_count())
    results = []
    _report(0, n_seeds)
    for result in Parallel(n_jobs=n_jobs, return_as="generator")(delayed(run_seed)(seed) for seed in range(n_seeds)):
        results.append(result)
        _report(len(results), n_seeds)
    return results


def _report(done, total):
    if sys.stderr.isatty():
        line = f"\rseed {done + 1} of {total} ..." if done < total else "\r\033[K"
        print(line, end="", file=sys.stderr, flush=True)


def load_example(seed):
    """Return the example as this seed deals it."""
    return load_demo(seed, classes=CLASSES, n_per_class=N_PER_CLASS)


def run_seed(seed):
    """Fit GASTL and every control on the example as this seed deals it."""
    problem = load_example(seed)
    pool, relevant = SourcePool(problem.X_source), problem.source_is_relevant

    def fitted(method):
        return method.fit(problem.X, problem.y, X_source=pool)

    gastl = fitted(GASTLClassifier(random_state=seed))
    p = int(np.count_nonzero(gastl.weights_))
    target_only = SelfTaughtClassifier().fit(problem.X, problem.y)
    ceiling = SelfTaughtClassifier().fit(
        np.concatenate([problem.X, problem.X_source[relevant]]),
        np.concatenate([problem.y, problem.source_classes[relevant]]),
    )

    def control(selector):
        """Use as many rows as GASTL finds relevant, and do not ask whether they help."""
        return fitted(SelfTaughtClassifier(selector, guard="off").set_params(n_select=p))

    methods = {
        TARGET_ONLY: target_only,
        GASTL: gastl,
        "GASTL without its guard": fitted(GASTLClassifier(guard="off", random_state=seed)),
        NEIGHBORS: control(NeighborSelector()),
        RANDOM: control(RandomSelector(random_state=seed)),
        "all digits of the pool, true labels": ceiling,
    }
    predictions = {name: method.predict(problem.X_test) for name, method in methods.items()}
    return SeedResult(
        seed=seed,
        gastl=gastl,
        accuracy={name: float(np.mean(predicted == problem.y_test)) for name, predicted in predictions.items()},
        gain=transfer_gain(problem.y_test, predictions[TARGET_ONLY], predictions[GASTL]),
        n_relevant=p,
        precision_first=selection_precision(relevant, gastl.ranking_, FIRST),
        precision_all=selection_precision(relevant, gastl.ranking_, p),
    )


def describe(results, width=88):
    """Return the findings as text of at most ``width`` columns."""
    first = results[0]
    problem = load_example(first.seed)
    parts = [
        _describe_problem(problem),
        _describe_selection(problem, results),
        _describe_gain(first.gain),
        _describe_methods(results),
        _describe_guard(results),
    ]
    return "\n\n".join(f"{textwrap.fill(heading, width)}\n\n{_laid_out(lines, width)}" for heading, lines in parts)


def _describe_problem(problem):
    kinds = Counter(problem.source_kind.tolist())
    others = ", ".join(f"{kind} {n}" for kind, n in kinds.most_common() if kind != WANTED)
    n_wanted, n_source = kinds[WANTED], len(problem.X_source)
    n, names = len(problem.X), problem.class_names
    return f"Which scans of an archive help to read digits, when only {n} are labelled?", [
        ("target", f"{n} labelled images of 8 x 8 pixels, {N_PER_CLASS} of each digit from {names[0]} to {names[-1]}"),
        ("pool", f"{n_source:,} unlabelled scans, {n_wanted} of them digits ({n_wanted / n_source:.0%})"),
        ("", f"the rest: {others}"),
        ("test", f"{len(problem.X_test)} other digits, held out"),
    ]


def _describe_selection(problem, results):
    first = results[0]
    picked = problem.source_kind[first.gastl.ranking_[: first.n_relevant]]
    mistakes = Counter(kind for kind in picked.tolist() if kind != WANTED)
    chance = np.mean(problem.source_is_relevant)
    lines = [
        ("relevant", f"{first.n_relevant} of {len(problem.X_source):,} scans"),
        (f"first {FIRST}", f"{first.precision_first:.0%} are digits (a blind pick: {chance:.0%})"),
        (f"all {first.n_relevant}", f"{first.precision_all:.0%} are digits"),
        ("mistaken", ", ".join(f"{kind} {n}" for kind, n in mistakes.most_common()) or "none"),
    ]
    if len(results) > 1:
        purity = [result.precision_all for result in results]
        lines.append(("all seeds", f"{np.mean(purity):.0%} are digits, from {min(purity):.0%} to {max(purity):.0%}"))
    return "What GASTL picks, without labels of the pool (seed 0)", lines


def _describe_gain(gain):
    return f"What it is worth: accuracy on the {gain.n} held-out digits (seed 0)", [
        ("before", f"{100 * gain.before:.1f}%, learned from the target only"),
        ("after", f"{100 * gain.after:.1f}%"),
        ("gain", f"{_points(gain.gain)} points, 95% interval {_points(gain.low)} to {_points(gain.high)}"),
    ]


def _describe_methods(results):
    several = len(results) > 1
    names = list(results[0].accuracy)
    accuracy = 100 * np.array([[result.accuracy[name] for name in names] for result in results])
    gains = accuracy - accuracy[:, :1]
    lines = [f"{'':36}{'accuracy':>12}{'gain':>14}" + ("    better in" if several else "")]
    for name, scores, gain in zip(names, accuracy.T, gains.T, strict=True):
        line = f"{name:36}{_spread(scores, '.1f'):>12}"
        if name != TARGET_ONLY:
            line += f"{_spread(gain, '+.1f'):>14}"
            line += f"    {np.sum(gain > 0)} of {len(gain)}" if several else ""
        lines.append(line)
    if several:
        by_gastl = gains[:, names.index(GASTL)]
        rivals = {"target only": TARGET_ONLY, "neighbours": NEIGHBORS, "random rows": RANDOM}
        lines += ["", "GASTL, seed by seed,"]
        lines += [(f"against {name}", _conclude(by_gastl - gains[:, names.index(of)])) for name, of in rivals.items()]
    lines += ["", "Neighbours and random rows: as many as GASTL finds relevant, without guard."]
    spread = "mean ± standard deviation over " if several else ""
    return f"Beside the controls: accuracy in %, {spread}{_seeds(results)}", lines


def _conclude(gains):
    """Say what the gains of all seeds, in points, amount to."""
    interval = paired_interval(gains)
    verdict = "better" if interval.low > 0 else "worse" if interval.high < 0 else "unsettled"
    return f"{verdict}: {interval.mean:+.1f} points, 95% interval {interval.low:+.1f} to {interval.high:+.1f}"


def _describe_guard(results):
    used = sum(result.gastl.transfer_.used for result in results)
    reasons = [result.gastl.transfer_.reason for result in results]
    # A remark that all verdicts share, if they have one, is made once.
    remarks = {remark for reason in reasons if (remark := reason.partition(". ")[2])}
    shared = remarks.pop() if len(remarks) == 1 else ""
    lines = [
        (f"seed {result.seed}", reason.removesuffix(shared)) for result, reason in zip(results, reasons, strict=True)
    ]
    heading = f"The guard, judging by the labelled digits alone: source used in {used} of {len(results)} seeds"
    return heading, lines + ([("all", shared)] if shared else [])


def _laid_out(lines, width):
    """Indent lines: text as it is, or a pair of a word and what is to be said about it, wrapped beside the word."""
    words = [line[0] for line in lines if not isinstance(line, str)]
    beside = 4 + max(map(len, words), default=0)
    laid_out = []
    for line in lines:
        if isinstance(line, str):
            laid_out.append(f"  {line}".rstrip())
        else:
            start = f"  {line[0]}".ljust(beside)
            laid_out.append(textwrap.fill(line[1], width, initial_indent=start, subsequent_indent=" " * beside))
    return "\n".join(laid_out)


def _points(share):
    return f"{100 * share:+.1f}"


def _spread(values, form):
    if len(values) == 1:
        return format(values[0], form)
    return f"{np.mean(values):{form}} ± {np.std(values, ddof=1):.1f}"


def _seeds(results):
    return "seed 0" if len(results) == 1 else f"seeds 0 to {len(results) - 1}"


def draw(result):
    """Return the figure of one seed: images, relevance by kind, objective, transfer curve."""
    problem = load_example(result.seed)
    figure = _new_figure()
    halves: Any = figure.subfigures(2, height_ratios=(1, 1.6))
    heading = f"{len(problem.X)} labelled digits, {len(problem.X_source):,} unlabelled scans, a fifth of them digits"
    figure.suptitle(heading, x=0.012, ha="left", fontweight="bold")
    SourceImagesDisplay.from_estimator(
        result.gastl,
        problem.X_source,
        feature_shape=problem.feature_shape,
        is_relevant=problem.source_is_relevant,
        ax=halves[0].subplots(),
    )
    kinds, objective, curve = halves[1].subplots(1, 3, width_ratios=(1, 0.75, 1.25))
    RelevanceDisplay.from_estimator(result.gastl, problem.source_kind, highlight=WANTED, ax=kinds)
    ObjectiveDisplay.from_estimator(result.gastl, ax=objective)
    TransferCurveDisplay.from_estimator(result.gastl, ax=curve)
    return figure


def _new_figure():
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("it needs matplotlib. Install it with: pip install 'selftaught[plot]'") from error
    return Figure(figsize=(9.6, 6), layout="constrained")


def _write_figure(figure, path):
    """Write under a temporary name, then rename: whoever finds the file finds all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as unfinished:
        figure.savefig(unfinished, format="png", dpi=160)


def _folder(text):
    path = Path(text)
    existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write into {text!r}")
    return path
