"""A line on a terminal, silence elsewhere."""

import io
import sys
from contextlib import redirect_stderr

import pytest

from selftaught._transfer_bar import TransferBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal():
    return Terminal()


def on(terminal):
    return redirect_stderr(terminal)  # not in the fixture: pytest sets stderr anew between fixture and test


def test_a_terminal_sees_the_first_and_the_last_word(terminal):
    with on(terminal), TransferBar("a.zip") as bar:
        bar.total = 4_000_000
        for received in range(0, 4_000_001, 1000):
            bar.show(received)
    lines = terminal.getvalue().split("\r")[1:]
    assert lines[0] == "a.zip: 0.0 of 4.0 MB,   0 % "
    assert lines[-1] == "a.zip: 4.0 of 4.0 MB, 100 % \n"
    assert len(lines) < 100, "not at every step"


def test_without_a_total_only_what_there_is(terminal):
    with on(terminal), TransferBar("a.zip") as bar:
        bar.show(1_500_000)
    assert terminal.getvalue() == "\ra.zip: 1.5 MB \n"


def test_a_bar_that_showed_nothing_ends_no_line(terminal):
    with on(terminal), TransferBar("a.zip"):
        pass
    assert terminal.getvalue() == ""


def test_the_line_is_ended_when_the_transfer_is_broken_off(terminal):
    with pytest.raises(KeyboardInterrupt), on(terminal), TransferBar("a.zip") as bar:
        bar.show(1)
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith("\n")


def test_a_pipe_and_no_stream_at_all_see_nothing(capsys, monkeypatch):
    with TransferBar("a.zip") as bar:
        bar.show(1)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", None)
    with TransferBar("a.zip") as bar:
        bar.show(1)
