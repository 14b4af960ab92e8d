"""``selftaught paper``: a part of the protocol on a small collection, and what is wrong with the words."""

import pytest
from small_protocol import write_collection

from selftaught.cli import main
from selftaught.experiments import read_records, read_units


def test_a_part_is_run_and_its_table_written(tmp_path, capsys):
    write_collection(tmp_path / "data")
    part = ["--datasets", "caltech-sift", "--methods", "target", "--splits", "1,2", "--part", "oracle", "--jobs", "1"]
    command = ["paper", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out"), *part]
    assert main(command) == 0
    assert set(read_units(tmp_path / "out")) == {f"caltech-sift/{split}/seed0/test/target" for split in (0, 1)}
    assert "caltech-sift-oracle.md" in capsys.readouterr().out
    before = read_records(tmp_path / "out")
    assert main([*command, "--tables-only"]) == 0 and main(command) == 0
    assert read_records(tmp_path / "out") == before, "what is done is not done again"


@pytest.mark.parametrize("words", [["--datasets", "mnist"], ["--methods", "magic"], ["--splits", "one"]])
def test_words_that_are_not_known_are_refused(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["paper", *words])
    assert stopped.value.code == 2


def test_without_data_nothing_is_run(tmp_path, capsys):
    assert main(["paper", "--data", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 2
    assert "--data must be a folder" in capsys.readouterr().err and not (tmp_path / "out").exists()
