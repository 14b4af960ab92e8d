"""RDSTL as an encoder: from its parameters to the joint problem, its invariances, odd data, and what it warns of."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalMemberAccess=false

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.exceptions import ConvergenceWarning
from small_problems import quick, small_problem

from selftaught import RDSTLEncoder, SourcePool
from selftaught.encoders import rdstl as rdstl_module
from selftaught.encoders.dictionary import random_atoms
from selftaught.encoders.robust_dictionary import critical_penalties, solve_robust_dictionary
from selftaught.encoders.square_root_lasso import square_root_gaps


@pytest.fixture(scope="module")
def problem():
    return small_problem()


@pytest.fixture(scope="module")
def fitted(problem):
    return fit(problem)


def fit(problem, y="classes", **changes):
    y = problem.y if isinstance(y, str) else y
    return quick(RDSTLEncoder, **changes).fit(problem.X, y, X_source=SourcePool(problem.X_source))


# What fit leaves behind


def test_penalties_are_fractions_of_the_critical_values(problem, fitted):
    assert fitted.g1_ == pytest.approx(0.1 * fitted.g1_max_) and fitted.g2_ == pytest.approx(0.1 * fitted.g2_max_)
    assert 0 < fitted.g1_max_ <= np.sqrt(75) and 0 < fitted.g2_max_ <= np.sqrt(5)
    assert fitted.encode_penalty_ == pytest.approx(fitted.g1_ / np.sqrt(75))


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        (dict(g1=0.7), "g1_", 0.7),
        (dict(g1=0.7, atom_sparsity=0.9), "g1_", 0.7),
        (dict(g2=0.2, class_sparsity=0.9), "g2_", 0.2),
        (dict(g2=0), "g2_", 0.0),
        (dict(encode_penalty=0.4), "encode_penalty_", 0.4),
        (dict(g1=0.75), "encode_penalty_", 0.75 / np.sqrt(75)),
    ],
)
def test_absolute_penalties_override_fractions(problem, changes, name, expected):
    assert getattr(fit(problem, **changes), name) == pytest.approx(expected, rel=1e-12)


def test_by_default_there_are_as_many_atoms_as_directions_and_256_at_most(problem, monkeypatch):
    n_directions = len(fit(problem).pca_.axes)
    assert fit(problem, n_components="auto").components_.shape == (n_directions, n_directions)
    assert rdstl_module.MOST_ATOMS == 256
    monkeypatch.setattr(rdstl_module, "MOST_ATOMS", 3)
    assert fit(problem, n_components="auto").n_active_ == 3


def test_it_is_the_joint_problem_and_the_square_root_lasso(problem, fitted):
    source, target = (fitted.pca_.apply(fitted.scaling_.apply(rows)) for rows in (problem.X_source, problem.X))
    everything = np.vstack([source, target])
    rng = np.random.RandomState(0)
    drawn = rng.permutation(75)[:16]
    assert_allclose(np.sort(drawn % 75), np.sort(drawn))
    D = random_atoms(everything[[*drawn[drawn < 60], *drawn[drawn >= 60]]], 8, rng)
    classes = [np.flatnonzero(problem.y == c) for c in range(3)]

    def read():
        return [(slice(0, 60), source)]

    g1_max, g2_max = critical_penalties(read, target, classes, D)
    eps = (1e-4 * np.median(np.linalg.norm(everything, axis=1))) ** 2
    by_hand = solve_robust_dictionary(
        read, target, classes, D, g1=0.1 * g1_max, g2=0.1 * g2_max, eps=eps, max_iter=300, tol=1e-4
    )
    assert_allclose(fitted.objective_path_, by_hand.objective_path, rtol=1e-8)
    assert_allclose(fitted.components_, by_hand.D, atol=1e-6)
    assert_allclose(fitted.codes_target_, by_hand.codes_target, atol=1e-6)
    gaps = square_root_gaps(target, fitted.components_, fitted.encode_penalty_, fitted.transform(problem.X))
    assert gaps.max() <= 1e-9


def test_what_it_tells_of_the_fit(fitted):
    path = fitted.objective_path_
    assert fitted.converged_ and path.shape == (1 + 2 * fitted.n_iter_,)
    assert np.diff(path).max() <= 1e-12 * path[0]
    assert fitted.n_active_ == len(fitted.components_) == fitted.codes_target_.shape[1] == 8
    assert (np.linalg.norm(fitted.components_, axis=1) <= 1 + 1e-9).all()
    assert_array_equal(fitted.get_feature_names_out(), [f"rdstlencoder{j}" for j in range(8)])


# Invariances: each holds because of what the objective does not know


def test_the_names_of_classes_do_not_matter(problem, fitted):
    for names in (np.array(["pear", "apple", "fig"]), np.array([10**15, -7, 0]), np.array([2.0, -1.0, 5.0])):
        named = fit(problem, names[problem.y])
        assert_allclose(named.objective_path_, fitted.objective_path_, rtol=1e-9)
        assert_allclose(named.components_, fitted.components_, atol=1e-6)


def test_no_labels_are_no_class_term(problem, fitted):
    without, weightless = fit(problem, None), fit(problem, class_sparsity=0)
    assert_array_equal(without.components_, weightless.components_)
    assert_array_equal(without.codes_target_, weightless.codes_target_)
    assert without.g2_ == 0
    assert np.abs(without.codes_target_ - fitted.codes_target_).max() > 1e-4


@pytest.mark.parametrize("s", [1e-4, 300.0])
def test_scaled_data_have_scaled_codes_and_the_same_atoms(problem, s):
    plain, scaled = (
        quick(RDSTLEncoder, scale=False).fit(k * problem.X, problem.y, X_source=SourcePool(k * problem.X_source))
        for k in (1, s)
    )
    assert_allclose(scaled.components_, plain.components_, atol=1e-6)
    size = np.abs(plain.transform(problem.X_test)).max()
    assert_allclose(scaled.transform(s * problem.X_test) / s, plain.transform(problem.X_test), atol=1e-5 * size)


def test_a_row_and_its_copy_have_equal_codes_whatever_comes_along(problem, fitted):
    # codes of the training rows are made like those of new rows, not taken from the joint problem
    codes = fitted.transform(problem.X)
    assert_allclose(fitted.transform(np.vstack([problem.X_test, problem.X]))[-15:], codes, atol=1e-6)
    assert_allclose(np.vstack([fitted.transform(x[None]) for x in problem.X]), codes, atol=1e-6)
    again = quick(RDSTLEncoder).fit_transform(problem.X, problem.y, X_source=SourcePool(problem.X_source))
    assert_allclose(again, codes, atol=1e-12)
    assert np.abs(fitted.codes_target_ - codes).max() > 0.01


@pytest.mark.parametrize("resident_bytes", [0, 2**28])
def test_a_source_too_large_to_hold_gives_the_same_answer(problem, fitted, resident_bytes, monkeypatch):
    monkeypatch.setattr(rdstl_module, "RESIDENT_BYTES", resident_bytes)
    cut = quick(RDSTLEncoder).fit(problem.X, problem.y, X_source=SourcePool(problem.X_source, block_rows=7))
    assert_allclose(cut.objective_path_, fitted.objective_path_, rtol=1e-9)
    assert_allclose(cut.components_, fitted.components_, atol=1e-6)


# Robustness


@pytest.mark.filterwarnings("ignore:Objective did not converge")
def test_gross_outliers_move_the_dictionary_less_than_that_of_stl(seed):
    """STL's dictionary as scikit-learn learns it: squared loss, penalty a tenth of a row's usual length."""
    rng = np.random.default_rng(seed)
    planted = random_atoms(rng.normal(size=(10, 30)), 10, rng)
    X = rng.normal(size=(400, 10)) * (rng.random((400, 10)) < 0.3) @ planted + 0.02 * rng.normal(size=(400, 30))
    spoiled, outliers = X.copy(), rng.permutation(380)[:20]
    spoiled[outliers] = 20 * random_atoms(rng.normal(size=(20, 30)), 20, rng)
    start = random_atoms(np.delete(X, outliers, axis=0), 10, rng)

    def by_rdstl(X):
        return solve_robust_dictionary(
            lambda: [(slice(0, 380), X[:380])], X[380:], [], start, g1=1.5, g2=0.0, eps=1e-8, max_iter=100
        ).D

    def by_stl(X):
        alpha = 0.1 * np.median(np.linalg.norm(X, axis=1))
        learner = MiniBatchDictionaryLearning(
            10, alpha=alpha, fit_algorithm="cd", dict_init=start, max_iter=20, batch_size=64, random_state=0
        )
        return learner.fit(X).components_

    def match(D):
        return np.abs(planted @ D.T / np.linalg.norm(D, axis=1)).max(axis=1).mean()

    moved_rdstl, moved_stl = (abs(match(learn(X)) - match(learn(spoiled))) for learn in (by_rdstl, by_stl))
    assert moved_rdstl < 0.05 and moved_rdstl < 0.5 * moved_stl


# Odd data


def test_without_a_source_it_learns_from_the_target(problem):
    alone = quick(RDSTLEncoder).fit(problem.X, problem.y)
    assert alone.transform(problem.X_test).shape == (60, alone.n_active_)
    assert len(alone.source_index_) == 0


@pytest.mark.parametrize("n_source", [1, 4])
@pytest.mark.parametrize("n_target", [2, 3])
def test_fewer_rows_than_atoms(problem, n_source, n_target):
    pool = SourcePool(problem.X_source[:n_source])
    encoder = quick(RDSTLEncoder).fit(problem.X[:n_target], problem.y[:n_target], X_source=pool)
    assert np.isfinite(encoder.transform(problem.X_test)).all() and 1 <= encoder.n_active_ <= 8


def test_rows_of_zeros_have_zero_codes(problem):
    X = problem.X.copy()
    X[0] = 0
    source = np.vstack([problem.X_source, np.zeros((5, 20))])
    encoder = quick(RDSTLEncoder, scale=False, pca=None).fit(X, problem.y, X_source=source)
    codes = encoder.transform(X)
    assert not codes[0].any() and codes[1:].any(axis=1).all()
    assert_allclose(encoder.codes_target_[0], 0, atol=1e-12)


def test_nothing_but_zeros(problem):
    with pytest.warns(UserWarning, match=r"no atom is in use.*Lower atom_sparsity, or g1 if you gave it"):
        encoder = quick(RDSTLEncoder, scale=False, pca=None).fit(
            np.zeros((4, 3)), [0, 0, 1, 1], X_source=np.zeros((9, 3))
        )
    assert not encoder.transform(np.zeros((2, 3))).any()
    assert np.isfinite(encoder.transform(np.ones((2, 3)))).all()


def test_constant_data_are_refused_by_the_projection():
    with pytest.raises(ValueError, match=r"one and the same row throughout.*pca=None"):
        quick(RDSTLEncoder).fit(np.ones((4, 3)), [0, 0, 1, 1], X_source=np.ones((9, 3)))


def test_one_class_is_enough(problem):
    encoder = quick(RDSTLEncoder).fit(problem.X[:5], np.zeros(5), X_source=problem.X_source)
    assert encoder.g2_ > 0 and np.isfinite(encoder.transform(problem.X_test)).all()


# Warnings and errors


def test_a_penalty_beyond_every_atom_is_reported_and_codes_are_zero(problem):
    with pytest.warns(UserWarning, match=r"no atom is in use at g1=.*Lower atom_sparsity"):
        encoder = fit(problem, g1=50.0)
    assert encoder.n_active_ == 1 and not encoder.transform(problem.X_test).any()


def test_codes_without_their_proof_are_reported(problem, fitted, monkeypatch):
    monkeypatch.setattr(rdstl_module, "GAP", -1.0)
    with pytest.warns(ConvergenceWarning, match=r"codes of 60 rows are not certified.*Raise encode_penalty"):
        fitted.transform(problem.X_test)


def test_rounds_that_do_not_suffice_are_reported(problem):
    message = r"still improving by .* a round after 2 rounds, above tol=1e-06\. Raise max_iter or tol"
    with pytest.warns(ConvergenceWarning, match=message):
        encoder = fit(problem, max_iter=2, tol=1e-6)
    assert not encoder.converged_ and encoder.n_iter_ == 2


def test_verbose_writes_a_line_for_each_round_to_standard_error(problem, capsys):
    n_iter = fit(problem).n_iter_
    assert capsys.readouterr() == ("", "")
    fit(problem, verbose=1)
    out, err = capsys.readouterr()
    assert out == "" and [line.split(":")[0] for line in err.splitlines()] == [f"round {i + 1}" for i in range(n_iter)]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.linspace(0, 1, 15) ** 2, r"y must hold classes, got numbers such as 0\.005.*or y=None to learn without"),
        (np.full(15, np.nan), "Input y contains NaN"),
        (np.arange(14), "inconsistent numbers of samples"),
        (np.zeros((15, 2)), "1d array"),
    ],
)
def test_labels_that_are_none_are_refused(problem, y, message):
    with pytest.raises(ValueError, match=message):
        fit(problem, y)


WRONG = [
    (dict(n_components=0), r"n_components must be a whole number of at least 1, or 'auto', got 0\."),
    (dict(atom_sparsity=0), r"atom_sparsity must be a number above 0, got 0\. It is a fraction.*pass g1= for"),
    (dict(class_sparsity=-1), r"class_sparsity must be a number of at least 0, got -1\. It is a fraction.*pass g2="),
    (dict(g1=0), r"g1 must be a number above 0, or None, got 0\."),
    (dict(g2=-1), r"g2 must be a number of at least 0, or None, got -1\."),
    (dict(encode_penalty="g1"), r"encode_penalty must be .* or 'auto', got 'g1'\. From 1 on every code is zero"),
    (dict(encode_penalty=1.5), r"encode_penalty must be a number above 0 and at most 1, or 'auto', got 1\.5\."),
    (dict(max_iter=0), r"max_iter must be a whole number of at least 1, got 0\."),
    (dict(tol=0), r"tol must be a number above 0, got 0\."),
    (dict(pca=1.5), r"pca must be .*, got 1\.5\."),
    (dict(scale="no"), r"scale must be True or False, got 'no'\."),
    (dict(verbose=-1), r"verbose must be a whole number of at least 0, or True or False, got -1\."),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_parameters_out_of_range(problem, wrong, message):
    with pytest.raises(ValueError, match=message):
        fit(problem, **wrong)


def test_no_parameter_with_a_range_is_left_out_above():
    assert {name for wrong, _ in WRONG for name in wrong} == {*RDSTLEncoder._allowed}


@pytest.mark.parametrize("before", [None, "a fit"])
def test_an_interrupted_fit_leaves_the_old_fit_or_none(problem, before, monkeypatch):
    encoder = quick(RDSTLEncoder) if before is None else fit(problem)
    held = dict(vars(encoder))

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(rdstl_module, "solve_robust_dictionary", interrupted)
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(problem.X[:, ::-1], problem.y, X_source=problem.X_source[:, ::-1])
    assert vars(encoder).keys() == held.keys() and all(vars(encoder)[name] is held[name] for name in held)
