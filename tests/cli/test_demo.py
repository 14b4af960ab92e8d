"""The demo as a user meets it: what is printed, what is written, what is returned, and what goes wrong."""

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from selftaught import TransferRefused, __version__
from selftaught.cli import app, demo, main
from selftaught.datasets import load_demo


@pytest.fixture(scope="module", autouse=True)
def small_example():
    """Two digits in place of ten: the same code, a second of work, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "load_example", lambda seed: load_demo(seed, classes=(3, 8)))
        patch.setattr(demo, "cpu_count", lambda: 1)
        yield


@pytest.fixture(scope="module")
def results(small_example):
    """Two seeds."""
    return [demo.run_seed(seed) for seed in (0, 1)]


def run_with(monkeypatch, outcome):
    """The exit code of the demo when its work ends in ``outcome``, an exception to raise."""

    def work(n_seeds):
        raise outcome

    monkeypatch.setattr(demo, "_run_seeds", work)
    return main(["demo"])


def test_it_runs_and_writes_one_figure(tmp_path, capsys):
    assert main(["demo", "--seeds", "2", "--out", str(tmp_path / "new")]) == 0
    out, err = capsys.readouterr()
    assert err == "", "no progress in a pipe"
    assert [path.name for path in (tmp_path / "new").iterdir()] == [demo.FIGURE]
    assert (tmp_path / "new" / demo.FIGURE).read_bytes().startswith(b"\x89PNG")
    assert out.rstrip().endswith(demo.FIGURE)


def test_one_seed_claims_no_spread(tmp_path, capsys):
    assert main(["demo", "--seeds", "1", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "±" not in out
    assert "seeds 0 to" not in out
    assert "nan" not in out


def test_seeds_are_counted_on_a_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["demo", "--seeds", "1", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().err.startswith("\rseed 1 of 1 ...")


def test_the_text_states_the_numbers_of_the_results(results):
    text = demo.describe(results)
    first = results[0]
    assert f"{first.n_relevant} of 800 scans" in text
    assert f"{first.precision_first:.0%} are digits (a blind pick: 20%)" in text
    assert f"{100 * first.gain.before:.1f}%, learned from the target only" in text
    assert f"{100 * first.gain.after:.1f}%" in text
    for name in first.accuracy:
        mean = 100 * np.mean([result.accuracy[name] for result in results])
        line = next(line for line in text.splitlines() if line.startswith(f"  {name}  "))
        assert f"{mean:.1f} ± " in line
    used = sum(result.gastl.transfer_.used for result in results)
    assert f"source used in {used} of 2 seeds" in text
    together = " ".join(text.split())
    for result in results:
        assert result.gastl.transfer_.reason.partition(". ")[0] in together


@pytest.mark.parametrize("width", [80, 88])
def test_the_text_fits_the_terminal(results, width):
    assert max(map(len, demo.describe(results, width).splitlines())) <= width


def test_accuracies_and_gain_agree(results):
    for result in results:
        assert result.gain.before == result.accuracy[demo.TARGET_ONLY]
        assert result.gain.after == result.accuracy[demo.GASTL]
        assert result.accuracy["all digits of the pool, true labels"] > result.accuracy[demo.TARGET_ONLY]


def test_the_figure_shows_four_things(results):
    titles = [ax.get_title(loc="left") for ax in demo.draw(results[0]).axes]
    assert len(titles) == 4
    assert titles[1] == f"{results[0].n_relevant} of 800 rows are relevant"


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [([2.0, 3.0, 2.5], "better"), ([-2.0, -3.0, -2.5], "worse"), ([-2.0, 2.0, 1.0], "unsettled")],
)
def test_the_conclusion_follows_the_interval(gains, verdict):
    assert demo._conclude(np.array(gains)).startswith(f"{verdict}: {np.mean(gains):+.1f} points")


def test_a_figure_that_fails_leaves_the_old_one(tmp_path):
    path = tmp_path / demo.FIGURE
    path.write_bytes(b"old")

    def savefig(unfinished, **_):
        unfinished.write_bytes(b"half")
        assert path.read_bytes() == b"old", "the name is taken only by a finished file"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        demo._write_figure(SimpleNamespace(savefig=savefig), path)
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


def test_without_matplotlib_the_numbers_still_come(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["demo", "--seeds", "1", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "No figure: it needs matplotlib. Install it with: pip install 'selftaught[plot]'" in out
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        (TransferRefused("the source would hurt"), 3, "the source would hurt"),
        (ValueError("X contains NaN"), 4, "X contains NaN"),
        (FileNotFoundError(2, "No such file", "T.csv"), 4, "T.csv"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=["refused", "bad data", "no file", "interrupted"],
)
def test_what_goes_wrong_is_one_line_and_an_exit_code(monkeypatch, capsys, outcome, code, said):
    assert run_with(monkeypatch, outcome) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("selftaught: ")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["demos"], ["demo", "--seeds", "0"], ["demo", "--seeds", "few"]])
def test_wrong_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: selftaught" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_found_before_the_work(tmp_path, capsys):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as exit_:
        main(["demo", "--out", str(tmp_path / "file" / "deeper")])
    assert exit_.value.code == 2
    assert "cannot write into" in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_error(monkeypatch, capfd):
    saved = os.dup(1)
    try:
        assert run_with(monkeypatch, BrokenPipeError()) == app.BROKEN_PIPE
    finally:
        os.dup2(saved, 1)
        os.close(saved)
    assert capfd.readouterr().err == ""


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"selftaught {__version__}\n"


@pytest.mark.slow
def test_the_example_itself_runs_without_a_word_of_warning(tmp_path):
    command = [sys.executable, "-m", "selftaught", "demo", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "over seeds 0 to 4" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal's Ctrl-C, sent as POSIX does")
def test_ctrl_c_ends_it_with_one_line_and_no_file(tmp_path):
    command = [sys.executable, "-m", "selftaught", "demo", "--seeds", "100", "--out", str(tmp_path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(10)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=30) == ("", "selftaught: interrupted\n")
    assert process.returncode == 130
    assert [*tmp_path.iterdir()] == []
