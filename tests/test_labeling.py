"""Transferability by hand, against SciPy's densities and at extreme scales; labels and weighted copies by hand."""

import numpy as np
import pytest
from scipy import sparse, stats

from selftaught.labeling import gaussian_transferability, mapping_transferability, pseudo_labels, weighted_copies


@pytest.fixture
def mapping(rng):
    """A mapping with entries of both signs, zeros, and one row of zeros; three classes of 4, 3 and 1 target rows."""
    A = rng.normal(size=(12, 8)) * (rng.random((12, 8)) < 0.7)
    A[5] = 0
    return A


Y = np.array([0, 1, 0, 2, 1, 0, 1, 0])


@pytest.fixture
def codes(rng):
    """Codes of 40 source and 8 target rows in four dimensions, classes as in Y, none of them empty."""
    codes_target = rng.random((8, 4)) + 0.3 * Y[:, None]
    return rng.random((40, 4)) * 1.6, codes_target


def entropy(labels):
    """Mean entropy of rows, 1 for uniform rows."""
    return stats.entropy(labels, axis=1).mean() / np.log(labels.shape[1])


# --- transferability by the mapping ----------------------------------------------------------------------------------


def test_mapping_by_hand():
    mapping = [[1.0, 2.0, -3.0], [0.0, 0.0, 0.5]]
    found = mapping_transferability(np.array(mapping), [0, 1, 0], 2)
    np.testing.assert_allclose(found, [[np.log(1 + 9), np.log(4)], [np.log(0.25), -np.inf]], rtol=1e-15)


def test_average_divides_by_the_size_of_the_class():
    mapping = np.array([[1.0, 2.0, -3.0]])
    found = mapping_transferability(mapping, [0, 1, 0], 2, average=True)
    np.testing.assert_allclose(found, [[np.log(5), np.log(4)]], rtol=1e-15)


def test_a_column_listed_twice_changes_the_sum_but_not_the_average(mapping):
    doubled, y = np.hstack([mapping, mapping[:, Y == 1]]), np.append(Y, [1, 1, 1])
    once, twice = mapping_transferability(mapping, Y, 3), mapping_transferability(doubled, y, 3)
    np.testing.assert_allclose(twice, once + np.log([1, 2, 1]))
    once, twice = (mapping_transferability(*args, n_classes=3, average=True) for args in [(mapping, Y), (doubled, y)])
    np.testing.assert_allclose(twice, once)


@pytest.mark.parametrize("average", [False, True])
def test_nothing_drawn_is_minus_infinity(mapping, average):
    found = mapping_transferability(mapping, Y, 5, average=average)  # classes 3 and 4 have no target rows
    assert (found[5] == -np.inf).all()
    assert (found[:, 3:] == -np.inf).all()
    assert np.isfinite(found[0, :3]).any()


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_and_dense_mappings_agree(mapping, form):
    expected = mapping_transferability(mapping, Y, 3)
    np.testing.assert_array_equal(mapping_transferability(form(mapping), Y, 3), expected)


def test_entries_stored_in_pieces_are_added_before_they_are_squared():
    in_pieces = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2))
    np.testing.assert_allclose(mapping_transferability(in_pieces, [0, 1], 2), np.log([[9, 16]]))
    np.testing.assert_array_equal(in_pieces.data, [1, 2, 4])  # and the caller's matrix keeps its pieces


def test_a_large_sparse_mapping_stays_sparse():
    n_source, n_target = 300_000, 200_000  # 480 GB if it were dense
    rows, cols = np.array([7, 7, 299_999]), np.array([0, 199_999, 100_000])
    mapping = sparse.csr_array((np.array([3.0, 1.0, 2.0]), (rows, cols)), shape=(n_source, n_target))
    y = np.arange(n_target) % 2
    found = mapping_transferability(mapping, y, 2)
    np.testing.assert_allclose(found[rows[1:]], [[np.log(9), 0], [np.log(4), -np.inf]])
    assert np.isinf(found).sum() == 2 * n_source - 3


@pytest.mark.parametrize("size", [1e-200, 1e-310, 1e200])
def test_the_size_of_a_row_moves_its_logs_and_not_its_labels(mapping, size):
    expected = mapping_transferability(mapping, Y, 3)
    found = mapping_transferability(mapping * size, Y, 3)
    # 1e-310 is subnormal and keeps about 14 digits
    np.testing.assert_allclose(found, expected + 2 * np.log(size), rtol=1e-12)
    np.testing.assert_allclose(pseudo_labels(found), pseudo_labels(expected), rtol=0, atol=1e-12)


def test_renumbering_rows_columns_and_classes_only_renumbers_the_answer(mapping, rng):
    expected = mapping_transferability(mapping, Y, 3)
    rows, cols, new_code = rng.permutation(12), rng.permutation(8), rng.permutation(3)
    found = mapping_transferability(mapping[rows][:, cols], new_code[Y[cols]], 3)
    np.testing.assert_allclose(found[:, new_code], expected[rows])


# --- transferability by the codes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma2", [1.0, 0.03])
def test_gaussian_is_the_log_density_of_scipy(codes, sigma2):
    codes_source, codes_target = codes
    means = [codes_target[c == Y].mean(axis=0) for c in range(3)]
    expected = [stats.multivariate_normal(mean, sigma2).logpdf(codes_source) for mean in means]
    found = gaussian_transferability(codes_source, codes_target, Y, 3, sigma2=sigma2)
    np.testing.assert_allclose(found, np.transpose(expected))


def test_median_by_hand():
    codes_target, y = np.array([[0.0], [10.0], [20.0]]), [0, 1, 2]
    codes_source = np.array([[1.0], [4.0], [12.0]])
    # squared distances (1, 81, 361), (16, 36, 256), (144, 4, 64): the others are further by 220, 130 and 100 on average
    expected = gaussian_transferability(codes_source, codes_target, y, 3, sigma2=130 / (2 * np.log(3)))
    np.testing.assert_allclose(gaussian_transferability(codes_source, codes_target, y, 3), expected, rtol=1e-14)


@pytest.mark.parametrize("n_classes", [3, 7])
def test_the_median_row_finds_its_nearest_class_n_classes_times_as_likely_as_the_others(codes, n_classes):
    codes_source, codes_target = codes[0][:39], codes[1][:n_classes]  # an odd number: the median is a row's
    logs = np.sort(gaussian_transferability(codes_source, codes_target, np.arange(n_classes), n_classes), axis=1)
    assert np.median(logs[:, -1] - logs[:, :-1].mean(axis=1)) == pytest.approx(np.log(n_classes))


@pytest.mark.parametrize(
    "moved",
    [
        lambda Z: Z + 1000,
        lambda Z: Z * 1e-6,
        lambda Z: Z @ np.linalg.qr(np.vander(np.arange(4.0)))[0],
        lambda Z: np.hstack([Z, np.full((len(Z), 30), 0.5)]),
    ],
    ids=["shifted", "scaled", "rotated", "beside constants"],
)
def test_with_the_median_labels_depend_on_the_shape_of_the_codes_alone(codes, moved):
    before = pseudo_labels(gaussian_transferability(*codes, y=Y, n_classes=3))
    after = pseudo_labels(gaussian_transferability(*map(moved, codes), y=Y, n_classes=3))
    np.testing.assert_allclose(after, before, rtol=1e-9)


def test_the_median_gives_informative_labels_where_the_published_variance_does_not(rng):
    # Codes as an autoencoder gives them: inside (0, 1), close to one half, classes 0.1 apart.
    y = np.arange(20)
    codes_target = 0.5 + rng.normal(scale=0.05, size=(20, 10))
    codes_source = codes_target[rng.integers(20, size=300)] + rng.normal(scale=0.02, size=(300, 10))
    published, median = (
        pseudo_labels(gaussian_transferability(codes_source, codes_target, y, 20, sigma2=sigma2))
        for sigma2 in (1.0, "median")
    )
    assert entropy(published) > 0.999
    assert entropy(median) < 0.8


def test_codes_so_far_away_that_densities_underflow_still_get_the_right_labels():
    codes_target, y = np.array([[0.0], [1.0]]), [0, 1]
    codes_source = np.array([[-2000.0], [2000.25], [0.5]])
    found = gaussian_transferability(codes_source, codes_target, y, 2, sigma2=1000.0)
    assert np.exp(found[0]).sum() == 0
    odds = np.exp((codes_source - 0.5) / 1000)  # of class 1, from N(z|1) / N(z|0)
    np.testing.assert_allclose(pseudo_labels(found), np.hstack([1 / (1 + odds), odds / (1 + odds)]), rtol=1e-9)


def test_a_class_without_target_rows_is_impossible(codes):
    found = gaussian_transferability(*codes, y=Y, n_classes=5)
    assert (found[:, 3:] == -np.inf).all()
    np.testing.assert_array_equal(found[:, :3], gaussian_transferability(*codes, y=Y, n_classes=3))


def test_source_rows_on_the_class_means_get_the_label_of_that_class():
    codes_target, y = np.array([[0.0], [1.0], [3.0]]), [0, 1, 2]
    labels = pseudo_labels(gaussian_transferability(codes_target, codes_target, y, 3))
    np.testing.assert_array_equal(labels.argmax(axis=1), y)


@pytest.mark.parametrize("source", [0.5, 0.75])
def test_codes_that_do_not_tell_the_classes_apart_give_uniform_labels(source):
    codes_target, codes_source = np.full((6, 3), 0.5), np.full((6, 3), source)
    labels = pseudo_labels(gaussian_transferability(codes_source, codes_target, [0, 0, 1, 1, 2, 2], 3))
    np.testing.assert_array_equal(labels, 1 / 3)


# --- labels ----------------------------------------------------------------------------------------------------------


def test_soft_labels_are_shares_of_the_transferability():
    np.testing.assert_allclose(pseudo_labels(np.log([[1.0, 2, 5], [3, 3, 3]])), [[0.125, 0.25, 0.625], [1 / 3] * 3])


def test_hard_labels_take_the_largest_and_the_lowest_class_among_equals():
    labels = pseudo_labels(np.array([[-1.0, -0.5, -2], [-3, -1, -1], [-np.inf, -np.inf, -800]]), labels="hard")
    np.testing.assert_array_equal(labels, [[0, 1, 0], [0, 1, 0], [0, 0, 1]])


def test_uniform_labels_ignore_the_transferability():
    np.testing.assert_array_equal(pseudo_labels(np.array([[0.0, -50, -np.inf, 3]]), labels="uniform"), [[0.25] * 4])


@pytest.mark.parametrize("labels", ["soft", "hard", "uniform"])
def test_a_row_that_says_nothing_is_uniform(labels):
    found = pseudo_labels(np.array([[-np.inf, -np.inf], [-np.inf, -5000.0]]), labels=labels)
    np.testing.assert_array_equal(found[0], [0.5, 0.5])
    np.testing.assert_array_equal(found[1], [0.5, 0.5] if labels == "uniform" else [0, 1])


@pytest.mark.parametrize("shift", [-1e5, 0, 1e5])
def test_soft_labels_do_not_depend_on_a_constant_of_the_row(shift):
    logs = np.log([[1.0, 3.0]])
    np.testing.assert_allclose(pseudo_labels(logs + shift), [[0.25, 0.75]], rtol=1e-9)


# --- weighted copies -------------------------------------------------------------------------------------------------


def test_copies_by_hand():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    labels = np.array([[0.5, 0.5, 0], [0, 0, 1], [0.2, 0.3, 0.5], [0.1, 0.9, 0]])
    X_copies, y_codes, weights = weighted_copies(X, labels, [2.0, 3.0, 0.0, 1.0])
    np.testing.assert_array_equal(X_copies.ravel(), [1, 1, 2, 4, 4])
    np.testing.assert_array_equal(y_codes, [0, 1, 2, 0, 1])
    np.testing.assert_allclose(weights, [1, 1, 3, 0.1, 0.9])


def test_hard_labels_give_back_the_rows(rng):
    X, y, weights = rng.random((9, 2)), rng.integers(3, size=9), rng.uniform(0.1, 1, size=9)
    for given, expected in [(weights, weights), (None, np.ones(9))]:
        for found, wanted in zip(weighted_copies(X, np.eye(3)[y], given), (X, y, expected), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_negligible_masses_are_dropped_and_the_weight_of_the_row_is_kept():
    labels = np.array([[0.6 - 4e-7, 0.4, 4e-7], [0.6 - 4e-6, 0.4, 4e-6]])
    X_copies, y_codes, weights = weighted_copies(np.array([[1], [2]]), labels, [10.0, 1.0])
    np.testing.assert_array_equal(X_copies.ravel(), [1, 1, 2, 2, 2])
    np.testing.assert_array_equal(y_codes, [0, 1, 0, 1, 2])
    assert weights[:2].sum() == pytest.approx(10, rel=1e-15)
    assert weights[0] / weights[1] == pytest.approx((0.6 - 4e-7) / 0.4, rel=1e-15)


def test_copies_of_sparse_and_float32_rows_stay_sparse_and_float32(rng):
    X, labels = rng.random((5, 3)).astype(np.float32), rng.dirichlet(np.ones(2), size=5)
    dense, from_sparse = weighted_copies(X, labels)[0], weighted_copies(sparse.csr_array(X), labels)[0]
    assert dense.dtype == from_sparse.dtype == np.float32
    np.testing.assert_array_equal(from_sparse.toarray(), dense)


# --- contract --------------------------------------------------------------------------------------------------------


def test_inputs_are_not_modified(mapping, codes, rng):
    logs, X, labels, weights = rng.normal(size=(5, 3)), rng.random((5, 2)), rng.dirichlet(np.ones(3), 5), np.arange(5.0)
    logs[0] = -np.inf
    calls = [
        (mapping_transferability, (mapping, Y, 3)),
        (mapping_transferability, (sparse.csr_array(mapping), Y, 3)),
        (gaussian_transferability, (*codes, Y, 3)),
        (pseudo_labels, (logs,)),
        (weighted_copies, (X, labels, weights)),
    ]
    for function, args in calls:
        arrays = [getattr(a, "data", a) if sparse.issparse(a) else np.asarray(a) for a in args]
        before = [np.copy(a) for a in arrays]
        function(*args)
        for now, then in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("transferability", ["mapping", "gaussian"])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], r"one class code for each of the 3 target rows, got shape \(2,\)"),
        ([0, 1, 2], r"integer class codes from 0 to 1, got \[0 1 2\].*return_inverse"),
        ([-1, 0, 1], r"from 0 to 1, got \[-1  0  1\]"),
        ([0.0, 1.0, 1.0], r"integer class codes from 0 to 1, got \[0. 1.\]"),
    ],
)
def test_class_codes_that_make_no_sense_are_named(transferability, y, message):
    with pytest.raises(ValueError, match=message):
        if transferability == "mapping":
            mapping_transferability(np.ones((2, 3)), y, 2)
        else:
            gaussian_transferability(np.ones((2, 4)), np.ones((3, 4)), y, 2)


@pytest.mark.parametrize("sigma2", [0, -1.0, np.inf, np.nan, "mean"])
def test_a_variance_that_makes_no_sense_is_named(codes, sigma2):
    with pytest.raises(ValueError, match=f"sigma2 must be a positive number or 'median', got {sigma2!r}"):
        gaussian_transferability(*codes, y=Y, n_classes=3, sigma2=sigma2)


def test_an_unknown_kind_of_label_is_named():
    with pytest.raises(ValueError, match=r"labels must be one of \('soft', 'hard', 'uniform'\), got 'fuzzy'"):
        pseudo_labels(np.zeros((1, 2)), labels="fuzzy")
