"""Oracle and honest choices on records small enough to choose by eye."""

from typing import Any

from selftaught.experiments.choose import gather, honest, oracle


def record(fold, lam, sizes, correct, n_test=100) -> dict[str, Any]:
    extra = {"f1": [x / n_test for x in correct]} if fold is None else {}
    return dict(fold=fold, params={"lam": lam}, sizes=sizes, correct=correct, n_test=n_test, **extra)


def chosen(how, records):
    choice = how(curves_of(records))
    assert choice is not None
    return choice


def curves_of(records):
    return gather(records, lambda record: True)


def folds_of(lam, sizes, *corrects):
    return [record(fold, lam, sizes, correct, 10) for fold, correct in enumerate(corrects)]


TEST = [record(None, 0.1, [10, 20, 30], [50, 80, 60]), record(None, 1.0, [10, 15], [70, 90])]
FOLDS = [
    *folds_of(0.1, [10, 20, 25], [5, 6, 9], [5, 6, 9], [5, 6, 9]),
    *folds_of(1.0, [10, 12], [9, 1], [9, 1], [8, 1]),
]


def test_the_oracle_takes_the_best_of_the_test():
    best = chosen(oracle, TEST)
    assert (best.accuracy, best.f1, best.size, best.params) == (0.9, 0.9, 15, {"lam": 1.0})


def test_the_honest_choice_is_by_the_folds_and_reads_the_test_once():
    best = chosen(honest, TEST + FOLDS)
    # 9 of 10 in every fold at p = 30, which the folds reach with their 25 rows of any weight.
    assert (best.accuracy, best.size, best.params, best.on_folds) == (0.6, 30, {"lam": 0.1}, 0.9)


def test_the_test_has_no_part_in_the_honest_choice():
    spoiled = [each | {"correct": [0] * len(each["sizes"])} for each in TEST]
    assert chosen(honest, spoiled + FOLDS).params == chosen(honest, TEST + FOLDS).params


def test_ties_go_to_the_smallest_size_then_to_the_first_of_the_grid():
    test = [record(None, lam, [10, 20], [7, 7]) for lam in (1.0, 0.1)]
    folds = [each for lam in (1.0, 0.1) for each in folds_of(lam, [10, 20], [7, 7], [7, 7], [7, 7])]
    for choice in (chosen(oracle, test), chosen(honest, test + folds)):
        assert (choice.size, choice.params) == (10, {"lam": 0.1})


def test_there_is_no_honest_choice_before_all_folds_are_done():
    assert honest(curves_of(TEST + FOLDS[:-1])) is None
    assert oracle(curves_of(FOLDS)) is None
