"""Tables from records made by hand: the numbers asked for, in their places, and the paper's beside them."""

import pytest

from selftaught.experiments import write_results
from selftaught.experiments.choose import honest, oracle
from selftaught.experiments.records import Log, read_records
from selftaught.experiments.results import fill_page
from selftaught.experiments.tables import accuracy_table


def record(split, method, variant, params, sizes, correct, fold=None):
    made = dict(dataset="caltech-sift", split=split, seed=0, fold=fold, method=method, variant=variant, params=params)
    made |= dict(sizes=sizes, correct=correct, n_test=100, seconds=0.1, versions="")
    return made | ({"f1": [count / 100 for count in correct]} if fold is None else {})


PLAIN, KMM = dict(form="published", l2=0.0), dict(form="published", bandwidth_scale=1.0)
RECORDS = [
    *(record(split, "target", "plain", PLAIN, [0], [40 + split]) for split in range(5)),
    *(record(split, "kmm", "Soft", KMM, [10, 20], [50, 45]) for split in range(5)),
    *(record(split, "kmm", "Soft", KMM, [10, 20], [1, 9], fold) for split in range(5) for fold in range(3)),
]


def rows_of(table):
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {line[0]: line[1:] for line in lines}


def test_the_oracle_table_takes_the_best_and_shows_the_paper_beside_it():
    table = accuracy_table(RECORDS, "caltech-sift", oracle)
    rows = rows_of(table)
    assert rows["Target only"][:6] == ["40.0", "41.0", "42.0", "43.0", "44.0", "42.0 ± 1.6"]
    assert rows["KMM-Soft"][:5] == ["50.0"] * 5
    assert rows["KMM-Soft"][6].startswith("+8.0 ± 1.6 (5 up, 0 down)"), "gains are paired by split"
    assert "54.2 ± 7" in table, "the paper's mean of KMM-Soft"


def test_the_honest_table_takes_what_the_folds_choose_and_shows_no_oracle_of_the_paper():
    table = accuracy_table(RECORDS, "caltech-sift", honest)
    assert rows_of(table)["KMM-Soft"][:5] == ["45.0"] * 5
    assert "published" not in table


def test_tables_and_figures_are_made_of_records_alone(tmp_path):
    Log(tmp_path).add("a unit", RECORDS, seconds=1.0)
    assert read_records(tmp_path) == RECORDS
    files = write_results(tmp_path)
    oracle_table = tmp_path / "tables" / "caltech-sift-oracle.md"
    assert oracle_table in files
    assert oracle_table.read_text().strip() == accuracy_table(RECORDS, "caltech-sift", oracle)


def test_a_page_gets_its_tables_between_marks():
    page = "# P\n<!-- table: a -->old<!-- end -->\ntext\n<!-- table: b -->\n<!-- end -->\n"
    filled = fill_page(page, {"a": "| new |"})
    assert "| new |" in filled and "old" not in filled and "Not run yet." in filled and "text" in filled
    assert fill_page(filled, {"a": "| new |"}) == filled, "filling again changes nothing"


@pytest.mark.parametrize("how", [oracle, honest])
def test_without_records_there_is_no_row(how):
    assert len(accuracy_table([], "caltech-sift", how).splitlines()) == 2
