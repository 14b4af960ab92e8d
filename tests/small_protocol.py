"""A protocol that runs in seconds: a made-up collection like Caltech-101, and units that count themselves."""

import csv
import os
import time
from pathlib import Path

import numpy as np

from selftaught.experiments.protocol import Unit


def write_collection(folder, seed=0, n_classes=10, n_per_class=30, d=30):
    """Write word counts of images around a centre for each class, ``caltech101/`` as the protocol reads it."""
    rng = np.random.default_rng(seed)
    centres = rng.gamma(1.0, 2.0, (n_classes, d))
    y = np.repeat(np.arange(n_classes), n_per_class)
    X = rng.poisson(centres[y] + 1)
    place = Path(folder) / "caltech101"
    place.mkdir(parents=True)
    np.savez(place / "siftbow1000.npz", X=X.astype(np.uint16))
    with open(place / "images_30.csv", "w", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["file", "class", "row"])
        table.writerows([f"{code}/{i}.jpg", f"class {code:02d}", i] for i, code in enumerate(y))
    return folder


def counting_units(n=6):
    """Return units for `count`."""
    return [Unit("caltech-sift", 0, 0, None, "target", (("number", number),)) for number in range(n)]


def count(unit, place):
    """Return three records of a unit after some time, and note that it was begun in the place's folder."""
    number = dict(unit.setting)["number"]
    with open(Path(place.data) / "begun.txt", "a") as lines:
        lines.write(f"{number}\n")
    time.sleep(float(os.environ.get("SECONDS_A_UNIT", "0")))
    if number == 3 and (Path(place.data) / "break").exists():
        raise ArithmeticError("number 3 is broken")
    return [
        dict(dataset="caltech-sift", split=0, seed=0, fold=None, method="target", variant="plain",
             params=dict(number=number, copy=copy), sizes=[0], correct=[number + copy], f1=[0.5], n_test=10,
             seconds=time.perf_counter())
        for copy in range(3)
    ]  # fmt: skip
