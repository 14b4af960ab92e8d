"""A person's files, made on the fly: a small problem as a table of labelled rows, one of unlabelled rows, a new one."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_problems import small_problem

from selftaught.datasets import TransferProblem

LABELS = np.array(["pear", "apple", "fig"])


@dataclass(frozen=True)
class Files:
    """Where the tables lie, and what is in them."""

    folder: Path
    target: pd.DataFrame
    source: pd.DataFrame
    new: pd.DataFrame
    problem: TransferProblem

    def path(self, name):
        return str(self.folder / name)

    def learn(self, command, out, *more, target="T.csv", source="S.csv", label="fruit"):
        """Arguments of ``select`` or ``fit``."""
        files = ["--target", self.path(target), "--source", self.path(source), "--out", self.path(out)]
        return [command, *files, "--label", label, *more]


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)


@pytest.fixture
def files(tmp_path):
    """T, S and N as .csv and .parquet; the source's columns are in another order, and its rows have ids."""
    problem = small_problem(separation=6.0)
    names = [f"f{i}" for i in range(20)]
    target = pd.DataFrame(problem.X, columns=names).assign(fruit=LABELS[problem.y])
    source = pd.DataFrame(problem.X_source, columns=names)[names[::-1]]
    source.insert(3, "scan", [f"s{i:03}" for i in range(len(source))])
    new = pd.DataFrame(problem.X_test, columns=names)[names[5:] + names[:5]].assign(fruit="unknown")
    for suffix in (".csv", ".parquet"):
        for name, frame in (("T", target), ("S", source), ("N", new)):
            write(frame, tmp_path / f"{name}{suffix}")
    return Files(tmp_path, target, source, new, problem)


@pytest.fixture
def left_behind(files):
    """Names of the files that a command added to the folder."""
    before = {path.name for path in files.folder.iterdir()}
    return lambda: {path.name for path in files.folder.iterdir()} - before
