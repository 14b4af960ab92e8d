"""What is done is not done again, what is killed is not lost, what is broken does not spread."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import small_protocol
from small_protocol import count, counting_units, write_collection

from selftaught.experiments import Place, all_units, read_records, read_units, run

N_UNITS = 12
SCRIPT = f"""
from small_protocol import count, counting_units
from selftaught.experiments import Place, run
import sys
run(counting_units({N_UNITS}), Place(sys.argv[1]), sys.argv[2], n_jobs=int(sys.argv[3]), work=count)
"""


def timeless(records):
    return sorted(str({k: v for k, v in record.items() if k != "seconds"}) for record in records)


def begun(folder):
    return Counter((Path(folder) / "begun.txt").read_text().split())


def test_a_second_run_repeats_nothing_and_adds_what_is_new(tmp_path):
    place = Place(str(tmp_path))
    run(counting_units(3), place, tmp_path / "out", work=count)
    run(counting_units(5), place, tmp_path / "out", work=count)
    assert begun(tmp_path) == Counter("01234")
    assert len(read_records(tmp_path / "out")) == 15


def test_a_broken_unit_is_recorded_and_the_rest_goes_on(tmp_path):
    (tmp_path / "break").touch()
    place, units = Place(str(tmp_path)), counting_units(6)
    broken = run(units, place, tmp_path / "out", work=count)
    assert broken == {units[3].key: "ArithmeticError: number 3 is broken"}
    assert len(read_records(tmp_path / "out")) == 15
    assert run(units, place, tmp_path / "out", work=count) == broken and begun(tmp_path)["3"] == 1
    (tmp_path / "break").unlink()
    assert run(units, place, tmp_path / "out", work=count, retry=True) == {}
    assert begun(tmp_path)["3"] == 2 and len(read_records(tmp_path / "out")) == 18


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_three_times_it_ends_where_an_uninterrupted_run_ends(tmp_path, n_jobs):
    calm, hurried = tmp_path / "calm", tmp_path / "hurried"
    calm.mkdir()
    hurried.mkdir()
    run(counting_units(N_UNITS), Place(str(calm)), calm / "out", work=count)
    environment = os.environ | {"SECONDS_A_UNIT": "0.1", "PYTHONPATH": str(Path(small_protocol.__file__).parent)}
    command = [sys.executable, "-c", SCRIPT, str(hurried), str(hurried / "out"), str(n_jobs)]
    for kill in range(3):
        process = subprocess.Popen(command, env=environment, start_new_session=True)
        wait_for(lambda kill=kill: begun_so_far(hurried) >= 3 * (kill + 1), process)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert len(read_units(hurried / "out")) < N_UNITS
    subprocess.run(command, env=environment, check=True)
    assert timeless(read_records(hurried / "out")) == timeless(read_records(calm / "out"))
    # Each kill costs the units in hand, and no other is begun twice.
    assert sum(begun(hurried).values()) <= N_UNITS + 3 * (n_jobs + 1)


def begun_so_far(folder):
    return sum(begun(folder).values()) if (folder / "begun.txt").exists() else 0


def wait_for(happens, process, seconds=60):
    until = time.monotonic() + seconds
    while not happens():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
def test_the_whole_machinery_on_a_small_collection(tmp_path, monkeypatch):
    # Units of real methods: the same records whether one unit is done at a time or two, for the test as for folds.
    write_collection(tmp_path / "data")
    units = [
        unit
        for unit in all_units(["caltech-sift"], ["target", "gastl", "defaults", "controls", "mls"], [0])
        if not unit.setting or dict(unit.setting) == dict(n_hidden=10, gamma=1e-3)
    ]
    place = Place(str(tmp_path / "data"))
    assert run(units, place, tmp_path / "one") == {}
    assert run(units, place, tmp_path / "two", n_jobs=2) == {}
    records = read_records(tmp_path / "one")
    assert timeless(records) == timeless(read_records(tmp_path / "two"))
    assert {record["fold"] for record in records} == {None, 0, 1, 2}
    for record in records:
        assert len(record["sizes"]) == len(record["correct"]) and record["sizes"] == sorted(set(record["sizes"]))
        assert 0 <= min(record["correct"]) and max(record["correct"]) <= record["n_test"]
        assert ("f1" in record) == (record["fold"] is None)
    published = [r for r in records if r["method"] == "gastl" and r["fold"] is None and r["variant"] == "SoftA"]
    assert len(published) == 10  # five lambdas of each grid
