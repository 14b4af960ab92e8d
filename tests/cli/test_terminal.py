"""What a person sees while work goes on, and how messages are worded."""

import sys
import time
import warnings
from types import SimpleNamespace

import pytest

from selftaught import _progress
from selftaught.cli import main, terminal
from selftaught.cli.terminal import blaming, laid_out, notes_in_one_line, progress


def watch(monkeypatch):
    """Somebody sits at a terminal of 60 columns. (No fixture: pytest changes the streams between setup and test.)"""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(terminal.shutil, "get_terminal_size", lambda *_: SimpleNamespace(columns=60, lines=24))


def test_progress_shows_a_bar_and_clears_it(capsys, monkeypatch):
    watch(monkeypatch)
    monkeypatch.setattr(terminal, "EVERY", 0.001)
    with progress("fitting gastl") as tell:
        tell("folds", 3, 10)
        time.sleep(0.2)
    err = capsys.readouterr().err
    assert "\rfitting gastl [######..............] 3 of 10 folds, 0 s" in err
    assert max(len(line) for line in err.replace("\033[K", "").split("\r")) < 60
    assert err.endswith("\r\033[K")


def test_progress_is_quiet_in_a_pipe(capsys):
    with progress("fitting gastl") as tell:
        tell("folds", 3, 10)
    assert capsys.readouterr() == ("", "")


def test_the_folds_of_a_fit_are_counted_by_who_listens(files, monkeypatch):
    watch(monkeypatch)
    told = []
    monkeypatch.setattr(terminal._StatusLine, "tell", lambda self, *state: told.append((self.doing, *state)))
    assert main(files.learn("select", "sel.csv", "--id", "scan", "--n-select", "9")) == 0
    assert told == [("fitting gastl", "folds", done, 10) for done in range(11)]


def test_nobody_listens_once_the_work_is_done():
    told = []
    with _progress.listening(lambda *state: told.append(state)):
        assert list(_progress.counted("ab", 2, "letters")) == ["a", "b"]
    assert list(_progress.counted("ab", 2, "letters")) == ["a", "b"]
    assert told == [("letters", 0, 2), ("letters", 1, 2), ("letters", 2, 2)]


def test_an_error_clears_the_line_too(capsys, monkeypatch):
    watch(monkeypatch)
    with pytest.raises(ValueError, match="bad"), progress("reading"):
        raise ValueError("bad")
    assert capsys.readouterr().err.endswith("\r\033[K")


@pytest.mark.filterwarnings("always")
def test_notes_are_one_line_and_the_old_way_comes_back(capsys):
    before = warnings.showwarning
    with notes_in_one_line():
        warnings.warn("two\n lines", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "selftaught: note: two lines\n"
    assert warnings.showwarning is before


def test_text_folds_on_a_terminal_and_not_in_a_pipe(monkeypatch):
    watch(monkeypatch)
    lines = [("guard", "a word " * 20), ("written", "/very/long" * 10)]
    folded = laid_out(lines).splitlines()
    assert folded[0].startswith("guard    a word") and folded[1].startswith("         word a")
    assert max(map(len, folded[:-1])) <= 60 and "/very/long" * 10 in folded[-1], "a path is not torn"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert len(laid_out(lines).splitlines()) == 2


def test_the_file_is_blamed_in_place_of_an_argument():
    with pytest.raises(ValueError, match=r"^S\.csv has 3 features$"), blaming("X_source", "S.csv"):
        raise ValueError("X_source has 3 features")
    with pytest.raises(ValueError, match=r"^something else$"), blaming("X_source", "S.csv"):
        raise ValueError("something else")
