"""Code shown to readers runs: the Python blocks of README.md and docs/, and the doctests of every module.

The blocks of one file share a namespace, in order, as a reader would type them. A block stays out only under a line
``<!-- no-run: reason -->``, and the reason is not optional.
"""

import doctest
import importlib
import re
import textwrap
from pathlib import Path

import pytest

import selftaught

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(selftaught.__file__).parent

PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if page.exists()]
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.name != "__main__.py"  # importing it would run the command line
]

BLOCK = re.compile(
    r"(?:^[ ]*<!--[ ]*no-run:(?P<reason>[^\n]*?)-->[ ]*\n)?"
    r"^(?P<indent>[ ]*)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)


def runnable_blocks(text):
    """Pairs of line number and code; the number is that of the block's first line of code."""
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        reason = match["reason"]
        assert reason is None or reason.strip(), f"line {line}: no-run needs a reason"
        if reason is None:
            yield line, textwrap.dedent(match["code"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for line, code in runnable_blocks(page.read_text(encoding="utf-8")):
        # the empty lines make a traceback point to the right line of the page
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed == 0, f"{failed} examples in the docstrings of {name} do not give what they show (output above)"


def test_the_rules_for_blocks():
    page = textwrap.dedent(
        """\
        ```python
        a = 1
        ```
        <!-- no-run: needs a GPU -->
        ```python
        raise SystemExit
        ```
        - in a list:
          ```python
          b = a
          ```
        ```bash
        make test
        ```
        """
    )
    assert [*runnable_blocks(page)] == [(2, "a = 1\n"), (10, "b = a\n")]
    with pytest.raises(AssertionError, match="no-run needs a reason"):
        list(runnable_blocks("<!-- no-run: -->\n```python\npass\n```\n"))
