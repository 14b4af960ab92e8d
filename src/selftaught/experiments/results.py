"""Writes what the records come to: tables as Markdown, figures as SVG, and the tables of docs/paper.md."""

from __future__ import annotations

from pathlib import Path

from .._files import written_whole
from .choose import honest, oracle
from .protocol import DATASETS
from .records import read_records
from .tables import accuracy_table, sensitivity_table

__all__ = ["fill_page", "tables_of", "write_results"]


def tables_of(records):
    """Return all tables that the records suffice for, by name."""
    tables = {}
    for dataset in DATASETS:
        mine = [record for record in records if record["dataset"] == dataset]
        if mine:
            tables[f"{dataset}-oracle"] = accuracy_table(mine, dataset, oracle)
        if any(record["fold"] is not None for record in mine):
            tables[f"{dataset}-honest"] = accuracy_table(mine, dataset, honest)
    if records:
        tables["sensitivity"] = sensitivity_table(records)
    return tables


def write_results(out):
    """Write ``tables/*.md`` and, where matplotlib is there, ``figures/*.svg`` into a folder with records.

    Returns the files written.
    """
    out, records = Path(out), read_records(out)
    files = [_write(out / "tables" / f"{name}.md", text + "\n") for name, text in tables_of(records).items()]
    try:
        from .figures import draw_figures
    except ImportError:
        return files
    return files + draw_figures(records, out / "figures")


def fill_page(page, tables):
    """Return a page with the text between ``<!-- table: NAME -->`` and ``<!-- end -->`` replaced by the tables."""
    parts = page.split("<!-- table: ")
    filled = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition(" -->")
        after = rest.partition("<!-- end -->")[2]
        filled.append(f"{name} -->\n\n{tables.get(name, 'Not run yet.')}\n\n<!-- end -->{after}")
    return "<!-- table: ".join(filled)


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return path
