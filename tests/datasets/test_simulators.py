"""Simulated problems have the structure their parameters promise."""

import inspect

import numpy as np
import pytest
from sklearn.linear_model import MultiTaskLasso

from selftaught.datasets import make_open_set, make_paper_shape, make_planted_mapping


def nearest_neighbor_accuracy(problem):
    unit, unit_test = (np.sqrt(np.abs(X)) * np.sign(X) for X in (problem.X, problem.X_test))
    unit, unit_test = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (unit, unit_test))
    return np.mean(problem.y[np.argmax(unit_test @ unit.T, axis=1)] == problem.y_test)


# --- every maker ---------------------------------------------------------------------------------------------------

SMALL = {
    make_open_set: {"n_source": 60, "n_per_class": 3, "n_test_per_class": 4, "n_features": 6},
    make_planted_mapping: {"n_source": 30, "n_target": 4, "n_features": 6, "n_relevant": 3},
    make_paper_shape: {"n_source": 60, "n_target": 40, "n_test": 40, "n_features": 50},
}
OTHER_VALUE = {
    make_open_set: {"n_factors": 2, "separation": 1.0, "noise": 0.5, "share_relevant": 0.5, "mean_shift": 2.0}
    | {"tail": 3.0, "n_classes": 3, "n_other_classes": 2},
    make_planted_mapping: {"noise": 0.1, "correlation": 0.5},
    make_paper_shape: {"n_classes": 40, "n_target_classes": 10, "share_relevant": 0.5, "n_words": 50},
}


def same(one, other):
    return all(
        a.shape == b.shape and np.array_equal(a, b)
        for a, b in ((getattr(one, k), getattr(other, k)) for k in vars(one))
        if isinstance(a, np.ndarray)
    )


@pytest.mark.parametrize("make", SMALL)
def test_the_seed_decides(make):
    assert same(make(**SMALL[make], random_state=3), make(**SMALL[make], random_state=3))
    assert not same(make(**SMALL[make], random_state=3), make(**SMALL[make], random_state=4))
    assert same(make(**SMALL[make], random_state=3), make(**SMALL[make], random_state=np.random.default_rng(3)))


@pytest.mark.parametrize(
    ("make", "name"), [(make, name) for make in SMALL for name in inspect.signature(make).parameters]
)
def test_every_parameter_changes_something(make, name):
    values = {**SMALL[make], "random_state": 0}
    changed = values | {name: OTHER_VALUE[make].get(name, values.get(name, 0) + 1)}
    assert not same(make(**values), make(**changed))


# --- open set ------------------------------------------------------------------------------------------------------


def test_open_set_counts():
    problem = make_open_set(n_source=300, n_per_class=4, n_classes=3, n_test_per_class=7, share_relevant=0.1)
    assert np.bincount(problem.y).tolist() == [4, 4, 4] and np.bincount(problem.y_test).tolist() == [7, 7, 7]
    assert np.bincount(problem.source_classes + 1).tolist() == [270, 10, 10, 10]
    kind = np.asarray(problem.source_kind)
    assert {*kind[problem.source_is_relevant]} == {*problem.class_names}
    assert not {*kind[~problem.source_is_relevant]} & {*problem.class_names}


@pytest.mark.parametrize("n_factors", [None, 5])
def test_separation_is_the_distance_between_centres_in_standard_deviations(seed, n_factors):
    settings = {"n_source": 4000, "n_classes": 40, "share_relevant": 1.0, "n_factors": n_factors, "random_state": seed}
    problem = make_open_set(**settings, n_features=20, separation=50, noise=0.0)
    means = np.array([problem.X_source[problem.source_classes == c].mean(axis=0) for c in range(40)])
    # the pairs of 40 centres: twice their scatter about the mean, times 40 / 39
    assert np.sqrt(2 * means.var(axis=0, ddof=1).sum()) == pytest.approx(50, rel=0.1)
    within = problem.X_source - means[problem.source_classes]
    assert (within**2).sum() / (4000 - 40) == pytest.approx(n_factors or 20, rel=0.05)


def test_classes_come_apart_with_separation(seed):
    accuracy = [
        nearest_neighbor_accuracy(make_open_set(n_source=1, separation=s, n_test_per_class=100, random_state=seed))
        for s in (0, 8, 30)
    ]
    assert accuracy[0] < 0.3 < accuracy[1] < accuracy[2]


def test_factors_bound_the_rank():
    problem = make_open_set(n_factors=3, noise=0.0, random_state=0)
    values = np.linalg.svd(np.concatenate([problem.X, problem.X_source, problem.X_test]), compute_uv=False)
    assert values[2] > 1 and values[3] < 1e-10


def test_mean_shift_moves_irrelevant_rows_by_one_vector():
    plain, shifted = (make_open_set(mean_shift=shift, random_state=0) for shift in (0.0, 3.0))
    moved = shifted.X_source - plain.X_source
    assert not moved[plain.source_is_relevant].any()
    assert np.linalg.norm(moved[~plain.source_is_relevant], axis=1) == pytest.approx(3.0)
    assert np.ptp(moved[~plain.source_is_relevant], axis=0) == pytest.approx(0, abs=1e-12)


def test_a_tail_lengthens_irrelevant_rows_only():
    plain, light, heavy = (make_open_set(tail=tail, random_state=0) for tail in (None, 5.0, 1.0))
    irrelevant = ~plain.source_is_relevant
    for problem in (light, heavy):
        assert np.array_equal(problem.X_source[~irrelevant], plain.X_source[~irrelevant])
    lengths, light_lengths, heavy_lengths = (
        np.linalg.norm(problem.X_source[irrelevant], axis=1) for problem in (plain, light, heavy)
    )
    assert np.all(light_lengths >= lengths)
    assert np.max(heavy_lengths / lengths) > 10 * np.max(light_lengths / lengths) > 10


# --- planted mapping -----------------------------------------------------------------------------------------------


def test_the_planted_mapping_rebuilds_the_target(rng):
    planted = make_planted_mapping(n_relevant=7, random_state=rng)
    assert planted.mapping.shape == (200, 20)
    assert planted.mapping.T @ planted.X_source == pytest.approx(planted.X_target)
    assert planted.relevance == pytest.approx(np.linalg.norm(planted.mapping.toarray(), axis=1))
    assert np.sort(planted.relevance)[-7:] == pytest.approx(np.linspace(0.5, 1, 7))
    assert np.count_nonzero(planted.relevance) == 7


def test_noise_has_the_size_asked_for(seed):
    clean, noisy = (make_planted_mapping(n_target=200, noise=n, random_state=seed) for n in (0.0, 0.5))
    assert np.std(noisy.X_target - clean.X_target) == pytest.approx(0.5, rel=0.05)


def test_rows_are_as_correlated_as_asked(seed):
    for correlation in (0.0, 0.6):
        planted = make_planted_mapping(n_features=5000, n_source=30, correlation=correlation, random_state=seed)
        off_diagonal = np.corrcoef(planted.X_source)[~np.eye(30, dtype=bool)]
        assert off_diagonal.mean() == pytest.approx(correlation, abs=0.05)


def test_a_group_lasso_finds_the_planted_rows(seed):
    # scikit-learn's solver as the independent witness that the plant can be found at all
    planted = make_planted_mapping(n_source=80, n_relevant=5, noise=0.01, random_state=seed)
    lasso = MultiTaskLasso(alpha=0.05, fit_intercept=False).fit(planted.X_source.T, planted.X_target.T)
    found = np.argsort(-np.linalg.norm(lasso.coef_, axis=0))[:5]
    assert {*found} == {*np.flatnonzero(planted.relevance)}


# --- the paper's shape ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paper_shape():
    return make_paper_shape(random_state=0)


def test_paper_shape_sizes(paper_shape):
    assert paper_shape.X.shape == (300, 1000) == paper_shape.X_test.shape
    assert paper_shape.X_source.shape == (2400, 1000)
    assert np.bincount(paper_shape.y).tolist() == [15] * 20 == np.bincount(paper_shape.y_test).tolist()
    assert not paper_shape.source_is_relevant.any()
    kinds, counts = np.unique(paper_shape.source_kind, return_counts=True)
    assert len(kinds) == 80 and set(counts) == {30} and not {*kinds} & {*paper_shape.class_names}


def test_paper_shape_rows_are_sparse_histograms(paper_shape):
    for X in (paper_shape.X, paper_shape.X_source, paper_shape.X_test):
        assert X.min() == 0
        assert X.sum(axis=1) == pytest.approx(1)
        assert np.mean(X == 0) == pytest.approx(0.91, abs=0.01)


def test_paper_shape_classes_overlap_but_exist(paper_shape):
    chance = 1 / 20
    assert 4 * chance < nearest_neighbor_accuracy(paper_shape) < 0.75


def test_paper_shape_with_relevant_rows_and_few_words():
    problem = make_paper_shape(n_source=100, n_target=20, n_test=20, share_relevant=0.4, n_words=50, random_state=0)
    assert np.bincount(problem.source_classes + 1).tolist() == [60, *[2] * 20]
    assert np.mean(problem.X_source == 0) > 0.95


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (make_open_set, {"n_source": 0}, "n_source must be at least 1, got 0"),
        (make_open_set, {"n_classes": 1}, "n_classes must be at least 2, got 1"),
        (make_open_set, {"separation": -1.0}, "separation must be at least 0, got -1.0"),
        (make_open_set, {"noise": np.nan}, "noise must be at least 0, got nan"),
        (make_open_set, {"share_relevant": 20}, r"share_relevant must be in \[0, 1\], got 20. It is a share"),
        (make_open_set, {"n_factors": 7}, r"n_factors must be in \[1, n_features=6\] or None, got 7"),
        (make_open_set, {"tail": 0.0}, "tail must be positive or None, got 0.0"),
        (make_planted_mapping, {"n_relevant": 31}, "n_relevant must be at most n_source=30, got 31"),
        (make_planted_mapping, {"correlation": 1.0}, r"correlation must be in \[0, 1\), got 1.0"),
        (make_paper_shape, {"n_target": 19}, "n_target must be at least 20, got 19"),
        (make_paper_shape, {"n_classes": 20}, "n_classes must exceed n_target_classes=20, got 20"),
    ],
)
def test_impossible_settings_are_refused(make, change, message):
    with pytest.raises(ValueError, match=message):
        make(**{**SMALL[make], **change})
