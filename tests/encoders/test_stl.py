"""Self-taught learning: from its parameters to the dictionary and the codes."""

# The estimators' parameters and results are not annotated, and types guessed from defaults are too narrow.
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalMemberAccess=false

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from small_problems import quick, small_problem

from selftaught import SourcePool, STLEncoder
from selftaught.encoders import stl as stl_module
from selftaught.encoders.sparse_coding import sparse_codes

SOLVERS = ("minibatch", "alternate")


@pytest.fixture(scope="module")
def problem():
    return small_problem()


@pytest.fixture(scope="module", params=SOLVERS)
def fitted(request, problem):
    return quick(STLEncoder, solver=request.param).fit(problem.X, X_source=problem.X_source)


def coordinates(encoder, X):
    """Scaled and projected by the formulas."""
    scaling, pca = encoder.scaling_, encoder.pca_
    unit = 0.1 + 0.8 * (np.clip(X, scaling.low, scaling.high) - scaling.low) / (scaling.high - scaling.low)
    return (unit - pca.mean) @ pca.axes.T


# What it learns


def test_scale_and_weight_come_from_the_source_alone(problem, fitted):
    lengths = np.linalg.norm(coordinates(fitted, problem.X_source), axis=1)
    assert fitted.scale_ == pytest.approx(np.median(lengths))
    assert fitted.beta_ == pytest.approx(2 * 0.1 * np.median(lengths))
    absolute = quick(STLEncoder, beta=0.5, penalty=0.9).fit(problem.X, X_source=problem.X_source)
    assert absolute.beta_ == 0.5


def test_codes_are_the_lasso_of_the_coordinates_in_the_dictionary(problem, fitted):
    codes = fitted.transform(problem.X_test)
    assert codes.shape == (len(problem.X_test), 8) and (codes == 0).any() and (codes != 0).any()
    rows, D, beta = coordinates(fitted, problem.X_test), fitted.components_, fitted.beta_
    R = rows - codes @ D
    theta = 2 * R * np.minimum(1, beta / np.abs(2 * R @ D.T).max(axis=1))[:, None]
    primal = (R**2).sum(axis=1) + beta * np.abs(codes).sum(axis=1)
    dual = (rows * theta).sum(axis=1) - (theta**2).sum(axis=1) / 4
    assert ((primal - dual) / primal).max() <= 1e-6
    assert np.linalg.norm(D, axis=1).max() <= 1 + 1e-9


def test_the_last_objective_is_that_of_the_source(problem, fitted):
    rows = coordinates(fitted, problem.X_source)
    value = sparse_codes(rows, fitted.components_, fitted.beta_).values.sum()
    # 60 rows are one batch: its objective was measured before the dictionary's last step
    assert value <= fitted.objective_path_[-1] * (1 + 1e-9)
    assert value >= fitted.objective_path_[-1] * (1 - 2e-4)
    assert fitted.n_iter_ == len(fitted.objective_path_) > 2 and fitted.converged_


def test_in_turns_the_objective_never_rises(problem):
    encoder = quick(STLEncoder, solver="alternate", tol=1e-5).fit(problem.X, X_source=problem.X_source)
    path = np.array(encoder.objective_path_)
    assert len(path) > 10 and (np.diff(path) <= 1e-12 * path[0]).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_target_moves_the_dictionary_through_the_projection_only(solver, problem):
    # a projection off, and features scaled already: then nothing of the target is left
    options = dict(solver=solver, pca=None, scale=False, max_iter=5, tol=0.1)
    X_source = problem.X_source / 10
    one, other = (quick(STLEncoder, **options).fit(X, X_source=X_source) for X in (problem.X, 3 * problem.X[:4]))
    assert_array_equal(one.components_, other.components_)
    assert one.scale_ == other.scale_


def test_labels_change_nothing(problem):
    one, other = (quick(STLEncoder).fit(problem.X, y, X_source=problem.X_source) for y in (None, problem.y[::-1]))
    assert_array_equal(one.components_, other.components_)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("s", [1e-6, 7.0, 1e5])
def test_scaling_all_data_scales_the_codes_and_leaves_the_dictionary(s, solver, problem):
    # start, beta and tolerance know no unit
    options = dict(solver=solver, scale=False)
    plain = quick(STLEncoder, **options).fit(problem.X, X_source=problem.X_source)
    scaled = quick(STLEncoder, **options).fit(s * problem.X, X_source=s * problem.X_source)
    assert_allclose(scaled.components_, plain.components_, atol=1e-7)
    assert_allclose(scaled.codes_target_, s * plain.codes_target_, rtol=1e-5, atol=s * 1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_planted_atoms_are_found(solver, seed):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((8, 16))
    D /= np.linalg.norm(D, axis=1)[:, None]
    A = np.where(rng.random((800, 8)) < 0.25, rng.choice([-1, 1], (800, 8)) * rng.uniform(0.5, 1.5, (800, 8)), 0)
    options = dict(solver=solver, pca=None, scale=False, batch_size=64, tol=1e-3)
    # the problem has local minima: of three starts the one that its own objective prefers
    starts = [STLEncoder(12, **options, random_state=s).fit(A[:9] @ D, X_source=A @ D) for s in range(3)]
    best = min(starts, key=lambda encoder: encoder.objective_path_[-1])
    assert np.abs(D @ best.components_.T).max(axis=1).min() > 0.95


# Codes: the same row, the same code


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_training_row_and_its_copy_have_one_code_to_the_last_bit(dtype, rng):
    problem = small_problem(n_features=70, n_source=300)
    X, X_source, X_test = (part.astype(dtype) for part in (problem.X, problem.X_source, problem.X_test))
    encoder = STLEncoder(40, penalty=0.05, random_state=0, tol=1e-2).fit(X, X_source=X_source)
    assert encoder.codes_target_.dtype == dtype
    assert_array_equal(encoder.transform(X), encoder.codes_target_)
    mixed = np.vstack([X_test[:31], X, X_test[31:]])
    assert_array_equal(encoder.transform(mixed)[31 : 31 + len(X)], encoder.codes_target_)
    order = rng.permutation(len(mixed))
    assert_array_equal(encoder.transform(mixed[order]), encoder.transform(mixed)[order])
    assert_array_equal(np.vstack([encoder.transform(row[None]) for row in X]), encoder.codes_target_)


def test_fit_transform_is_fit_and_transform(problem):
    once = quick(STLEncoder).fit_transform(problem.X, problem.y, X_source=problem.X_source)
    assert_array_equal(once, quick(STLEncoder).fit(problem.X, X_source=problem.X_source).transform(problem.X))


# The stream


def test_without_a_source_it_learns_from_the_target(problem, fitted):
    alone = quick(STLEncoder, solver=fitted.solver).fit(problem.X)
    lengths = np.linalg.norm(coordinates(alone, problem.X), axis=1)
    assert alone.scale_ == pytest.approx(np.median(lengths))
    assert alone.components_.shape[0] == 8 and alone.source_index_.shape == (0,)
    as_source = quick(STLEncoder, solver=fitted.solver).fit(problem.X, X_source=SourcePool(problem.X))
    assert_allclose(alone.components_, as_source.components_, atol=1e-7)


def test_batches_are_of_the_size_asked_for_and_cross_blocks(problem):
    encoder = quick(STLEncoder, batch_size=16).fit(problem.X, X_source=problem.X_source)
    pool, rng = SourcePool(problem.X_source, block_rows=10), np.random.RandomState(0)
    target = coordinates(encoder, problem.X)
    batches = [*encoder._batches(pool, target, rng)]
    assert [len(batch) for batch in batches] == [16, 16, 16, 12]
    ordered = [rows[np.lexsort(rows.T)] for rows in (np.vstack(batches), coordinates(encoder, problem.X_source))]
    assert_allclose(*ordered, atol=1e-12)


def test_memory_follows_the_block_and_not_the_source(rng):
    X = rng.standard_normal((20, 50))
    peaks = []
    for n in (2000, 16000):
        pool = SourcePool(rng.standard_normal((n, 50)), block_rows=500)
        tracemalloc.start()
        STLEncoder(4, max_iter=2, tol=1, random_state=0).fit(X, X_source=pool)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # ids and lengths of rows are 8 bytes each; the rows themselves are 400
    assert peaks[1] - peaks[0] < 14000 * 60


@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_blocks_of_any_size_lead_to_much_the_same_objective(block_rows, problem):
    pool = SourcePool(problem.X_source, block_rows=block_rows)
    values = []
    for source in (problem.X_source, pool):
        encoder = quick(STLEncoder, batch_size=20).fit(problem.X, X_source=source)
        rows = coordinates(encoder, problem.X_source)
        values.append(sparse_codes(rows, encoder.components_, encoder.beta_).values.sum())
    assert values[1] == pytest.approx(values[0], rel=0.05)


# Unusual data


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_source", [1, 5])
def test_fewer_source_rows_than_atoms(n_source, solver, problem):
    encoder = STLEncoder(30, solver=solver, random_state=0).fit(problem.X, X_source=problem.X_source[:n_source])
    assert encoder.components_.shape == (30, len(encoder.pca_.axes))
    assert_allclose(np.linalg.norm(encoder.components_, axis=1), 1, atol=0.2)
    assert encoder.transform(problem.X_test).any()


@pytest.mark.parametrize("solver", SOLVERS)
def test_more_atoms_than_directions(solver, problem):
    encoder = STLEncoder(50, pca=4, solver=solver, random_state=0, tol=1e-3).fit(problem.X, X_source=problem.X_source)
    codes = encoder.transform(problem.X_test)
    assert np.count_nonzero(codes, axis=1).max() <= 4


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_of_zeros_and_copies(solver, problem):
    X_source = np.vstack([problem.X_source, problem.X_source[:20], np.zeros((70, 20))])
    encoder = quick(STLEncoder, solver=solver, pca=None, scale=False).fit(problem.X, X_source=X_source)
    lengths = np.linalg.norm(X_source[:80], axis=1)
    assert encoder.scale_ == pytest.approx(np.median(lengths))  # rows of zeros left out, although they are the many
    assert not encoder.transform(np.zeros((1, 20))).any()


def test_a_source_of_nothing_but_zeros_leaves_random_atoms(problem):
    encoder = quick(STLEncoder, pca=None, scale=False).fit(problem.X, X_source=np.zeros((9, 20)))
    assert encoder.scale_ == 1
    assert_allclose(np.linalg.norm(encoder.components_, axis=1), 1)
    assert encoder.codes_target_.any()


def test_one_target_row(problem):
    encoder = quick(STLEncoder).fit(problem.X[:1], X_source=problem.X_source)
    assert encoder.codes_target_.shape == (1, 8)


def test_rows_that_are_all_the_same_are_refused():
    with pytest.raises(ValueError, match="one and the same row throughout"):
        quick(STLEncoder).fit(np.ones((4, 3)), X_source=np.ones((9, 3)))


# What it says


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(n_components=0), r"n_components must be a whole number of at least 1, got 0\."),
        (dict(penalty=0), r"penalty must be a number above 0, got 0\. It is a share of .*; pass beta= for an absolute"),
        (dict(beta=-1.0), r"beta must be a number above 0, or None, got -1\.0\."),
        (dict(solver="lars"), r"solver must be 'minibatch' or 'alternate', got 'lars'\."),
        (dict(batch_size=0), r"batch_size must be a whole number of at least 1, got 0\."),
        (dict(max_iter=0), r"max_iter must be a whole number of at least 1, got 0\."),
        (dict(tol=-1), r"tol must be a number of at least 0, got -1\."),
        (dict(pca=2.5), r"pca must be .*, got 2\.5\."),
        (dict(scale="no"), r"scale must be True or False, got 'no'\."),
        (dict(verbose=-1), r"verbose must be a whole number of at least 0, or True or False, got -1\."),
    ],
)
def test_parameters_out_of_range(wrong, message, problem):
    with pytest.raises(ValueError, match=message):
        quick(STLEncoder, **wrong).fit(problem.X, X_source=problem.X_source)


@pytest.mark.parametrize(("max_iter", "last"), [(1, "in its only one"), (3, r"by .* of its value")])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_dictionary_that_could_improve_is_reported(solver, max_iter, last, problem):
    message = rf"objective still fell {last} in round {max_iter}, the last of max_iter={max_iter}; tol=0 was .* Raise"
    with pytest.warns(ConvergenceWarning, match=message):
        encoder = quick(STLEncoder, solver=solver, max_iter=max_iter, tol=0).fit(problem.X, X_source=problem.X_source)
    assert not encoder.converged_


def test_codes_that_are_all_zero_are_reported(problem):
    with pytest.warns(
        UserWarning, match=r"every code of the target is zero at beta=[\d.]+, .*Lower penalty \(or beta\)"
    ):
        quick(STLEncoder, penalty=50.0).fit(problem.X, X_source=problem.X_source)


def test_codes_above_the_gap_are_reported(problem, monkeypatch):
    encoder = quick(STLEncoder).fit(problem.X, X_source=problem.X_source)

    def cut_short(X, D, beta):
        return sparse_codes(X, D, beta, max_rounds=1)

    monkeypatch.setattr(stl_module, "sparse_codes", cut_short)
    with pytest.warns(ConvergenceWarning, match=r"codes of \d+ of 60 rows stopped .* above 1e-06\. Raise penalty"):
        encoder.transform(problem.X_test)


@pytest.mark.parametrize("solver", SOLVERS)
def test_verbose_writes_a_line_for_each_round_to_standard_error(solver, problem, capsys):
    n_iter = quick(STLEncoder, solver=solver, verbose=1).fit(problem.X, X_source=problem.X_source).n_iter_
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(":")[0] for line in err.splitlines()] == [f"round {i + 1}" for i in range(n_iter)]


def test_an_interrupted_fit_leaves_what_was_there(problem, monkeypatch):
    encoder = quick(STLEncoder).fit(problem.X, X_source=problem.X_source)
    before = encoder.transform(problem.X_test)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(stl_module, "learn_in_batches", interrupt)
    with pytest.raises(KeyboardInterrupt):
        encoder.fit(problem.X[:, ::-1] ** 2, X_source=problem.X_source[:, ::-1] ** 2)
    assert_array_equal(encoder.transform(problem.X_test), before)
    fresh = quick(STLEncoder)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(problem.X, X_source=problem.X_source)
    with pytest.raises(NotFittedError):
        fresh.transform(problem.X)


def test_codes_have_names_and_go_into_frames(problem, fitted):
    assert fitted.get_feature_names_out().tolist() == [f"stlencoder{i}" for i in range(8)]
    framed = quick(STLEncoder).set_output(transform="pandas").fit(problem.X, X_source=problem.X_source)
    assert framed.transform(problem.X).columns.tolist() == [f"stlencoder{i}" for i in range(8)]
