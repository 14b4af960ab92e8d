"""Learning a dictionary: objectives that fall, planted atoms that are found, rows that stream by."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import MiniBatchDictionaryLearning

from selftaught.encoders import dictionary_learning as learning_module
from selftaught.encoders.dictionary import random_atoms
from selftaught.encoders.dictionary_learning import learn_by_turns, learn_in_batches
from selftaught.encoders.sparse_coding import sparse_codes


def planted(rng, n=600, m=8, d=16, n_active=2):
    """Rows made of few atoms each, and the atoms."""
    D = random_atoms(rng.standard_normal((m, d)), m, rng)
    A = np.zeros((n, m))
    for row in A:
        row[rng.permutation(m)[:n_active]] = rng.choice([-1, 1], n_active) * rng.uniform(0.5, 1.5, n_active)
    return A @ D, D


def in_batches(X, size=64, rng=None):
    def read():
        order = np.arange(len(X)) if rng is None else rng.permutation(len(X))
        for start in range(0, len(X), size):
            yield X[order[start : start + size]]

    return read


def value(X, D, beta):
    return sparse_codes(X, D, beta).values.sum()


@pytest.mark.parametrize("m", [6, 16, 40])
def test_in_turns_the_objective_never_rises_and_is_that_of_the_dictionary(m, rng):
    X, _ = planted(rng)
    beta = 0.4
    learned = learn_by_turns(X, random_atoms(X, m, rng), beta, max_iter=40, tol=1e-6)
    path = np.array(learned.objective_path)
    assert len(path) > 5 and (np.diff(path) <= 1e-12 * path[0]).all()
    assert path[-1] == pytest.approx(value(X, learned.D, beta), rel=1e-10)
    assert np.linalg.norm(learned.D, axis=1).max() <= 1 + 1e-9


def test_it_stops_when_the_objective_falls_by_less_than_the_tolerance(rng):
    X, _ = planted(rng)
    start = random_atoms(X, 8, rng)
    for tol in (1e-2, 1e-4):
        learned = learn_by_turns(X, start, 0.4, tol=tol)
        falls = -np.diff(learned.objective_path) / learned.objective_path[:-1]
        assert learned.converged and falls[-1] <= tol and (falls[:-1] > tol).all()
    short = learn_by_turns(X, start, 0.4, tol=0, max_iter=3)
    assert not short.converged and len(short.objective_path) == 3


@pytest.mark.parametrize("way", ["turns", "batches"])
def test_planted_atoms_are_found(way, seed):
    rng = np.random.default_rng(seed)
    X, true = planted(rng, n=800)
    start = random_atoms(X, 12, rng)  # some to spare: with as many as planted, one may sit between two
    beta = 0.1 * np.median(np.linalg.norm(X, axis=1))
    if way == "turns":
        learned = learn_by_turns(X, start, beta, max_iter=60, tol=1e-4)
    else:
        learned = learn_in_batches(in_batches(X, rng=rng), len(X), start, beta, max_iter=60, tol=1e-4)
    match = np.abs(true @ learned.D.T).max(axis=1)
    assert match.min() > 0.95
    assert np.abs(true @ start.T).max(axis=1).min() < 0.95, "the start has them already"


def test_one_batch_that_is_everything_is_a_round_of_turns(rng, monkeypatch):
    # half the rows seen or one pass, whichever is less, is that one batch: nothing older is kept
    X, _ = planted(rng)
    monkeypatch.setattr(learning_module, "SWEEPS_IN_BATCHES", learning_module.SWEEPS_BY_TURNS)
    start = random_atoms(X, 6, rng)
    turns = learn_by_turns(X, start, 0.4, max_iter=5, tol=0)
    batches = learn_in_batches(lambda: [X], len(X), start, 0.4, max_iter=5, tol=0)
    assert_allclose(batches.objective_path, turns.objective_path, rtol=1e-9)


def test_batches_reach_an_objective_no_higher_than_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    X, _ = planted(rng, n=1024, m=30, d=25, n_active=4)
    X += 0.05 * rng.standard_normal(X.shape)
    start, beta = random_atoms(X, 20, rng), 0.2 * np.median(np.linalg.norm(X, axis=1))
    theirs = MiniBatchDictionaryLearning(
        20,
        alpha=beta / 2,
        fit_algorithm="cd",
        dict_init=start,
        batch_size=128,
        max_iter=10,
        tol=0,
        max_no_improvement=None,
        random_state=seed,
    ).fit(X)
    ours = learn_in_batches(in_batches(X, 128, rng), len(X), start, beta, max_iter=10, tol=0)
    assert value(X, ours.D, beta) <= 1.001 * value(X, theirs.components_, beta)


def test_a_pass_counts_every_batch_when_it_is_coded(rng):
    X, _ = planted(rng, n=128)
    start = random_atoms(X, 6, rng)
    first_batch_alone = value(X[:64], start, 0.4)
    learned = learn_in_batches(in_batches(X), 128, start, 0.4, max_iter=1)
    assert first_batch_alone < learned.objective_path[0] <= value(X, start, 0.4)
    assert learned.D.shape == start.shape and not learned.converged


def test_it_is_told_of_every_round(rng):
    X, _ = planted(rng, n=100)
    told = []
    start = random_atoms(X, 6, rng)
    learned = learn_by_turns(X, start, 0.4, max_iter=4, tol=0, on_round=lambda *what: told.append(what))
    assert told == [*enumerate(learned.objective_path, 1)]
    told.clear()
    learned = learn_in_batches(
        in_batches(X), 100, start, 0.4, max_iter=4, tol=0, on_round=lambda *what: told.append(what)
    )
    assert told == [*enumerate(learned.objective_path, 1)]


# Atoms that no row uses


@pytest.mark.parametrize("way", ["turns", "batches"])
def test_useless_atoms_become_rows_that_are_coded_badly(way, rng):
    # the start points where no row has anything, so that all of it is useless
    X, _ = planted(rng)
    X = np.hstack([X, np.zeros((len(X), 10))])
    start = np.hstack([np.zeros((10, 16)), np.linalg.qr(rng.standard_normal((10, 10)))[0]])
    learn = dict(
        turns=lambda: learn_by_turns(X, start, 0.4, max_iter=30),
        batches=lambda: learn_in_batches(in_batches(X), len(X), start, 0.4, max_iter=30),
    )[way]
    learned = learn()
    assert learned.objective_path[0] == pytest.approx((X**2).sum())
    assert learned.objective_path[-1] < 0.5 * learned.objective_path[0]
    assert sparse_codes(X, learned.D, 0.4).codes.any(axis=0).all()


def test_replacements_are_the_rows_that_would_use_themselves(rng):
    X, D = planted(rng, n=30)
    beta = 0.5
    codes = sparse_codes(X, D, beta).codes
    codes[10:20] = 0  # rows that are coded badly
    X[20] = X[21] = X[12]  # and two copies of one of them, coded badly as well
    codes[20] = codes[21] = 0
    unused = np.array([True, False] * 4)
    atoms, seeds = learning_module._replacements(X, codes, D, beta, unused)
    assert_array_equal(atoms, [0, 2, 4, 6])
    lengths = np.linalg.norm(X, axis=1)
    pull = ((X - codes @ D) * X).sum(axis=1) / lengths
    rows = [np.flatnonzero(np.abs(X / lengths[:, None] - seed).max(axis=1) < 1e-12)[0] for seed in seeds]
    different = np.delete(np.arange(30), [20, 21])  # these are copies of row 12
    assert rows == different[np.argsort(-pull[different])][:4].tolist()
    assert pull[rows].min() > beta / 2


def test_content_rows_replace_nothing(rng):
    X = rng.standard_normal((5, 12))
    D = random_atoms(X, 9, rng)  # every row has an atom of its own; four atoms are to spare
    learned = learn_by_turns(X, D, 0.5, max_iter=50)
    assert_array_equal(learned.D[5:], D[5:])
    atoms, seeds = learning_module._replacements(X[:0], np.zeros((0, 9)), D, 0.5, np.ones(9, dtype=bool))
    assert len(atoms) == len(seeds) == 0
