"""Whole lines only: whatever a kill leaves behind is dropped, and packed records are the loose ones."""

import pytest

from selftaught.experiments import read_records, read_units
from selftaught.experiments.records import LOOSE, PACKED, Log, pack


def records_of(name, n=2):
    return [{"method": name, "number": number} for number in range(n)]


@pytest.mark.parametrize("lost", [1, 20, 40])
def test_a_cut_file_keeps_finished_units_and_goes_on(tmp_path, lost):
    log = Log(tmp_path)
    log.add("a", records_of("a"), seconds=1)
    whole = (tmp_path / LOOSE).read_bytes()
    log.add("b", records_of("b"), seconds=1)
    everything = (tmp_path / LOOSE).read_bytes()
    (tmp_path / LOOSE).write_bytes(everything[:-lost])
    assert {*read_units(tmp_path)} == {"a"} and read_records(tmp_path) == records_of("a")
    Log(tmp_path).add("b", records_of("b"), seconds=1)
    assert (tmp_path / LOOSE).read_bytes() == everything and everything.startswith(whole)


def test_packing_keeps_all_and_sorts(tmp_path):
    log = Log(tmp_path)
    log.add("b", records_of("b"), seconds=1)
    log.add("a", records_of("a"), seconds=1)
    pack(tmp_path)
    assert not (tmp_path / LOOSE).exists()
    assert read_records(tmp_path) == records_of("a") + records_of("b")
    packed = (tmp_path / PACKED).read_bytes()
    pack(tmp_path)
    assert (tmp_path / PACKED).read_bytes() == packed
    Log(tmp_path).add("c", records_of("c"), seconds=1)
    assert {*read_units(tmp_path)} == {"a", "b", "c"}


def test_a_unit_done_again_replaces_what_it_was(tmp_path):
    Log(tmp_path).add("a", [], seconds=1, error="broke")
    pack(tmp_path)
    Log(tmp_path).add("a", records_of("a"), seconds=1)
    assert "error" not in read_units(tmp_path)["a"] and read_records(tmp_path) == records_of("a")
