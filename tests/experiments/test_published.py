"""The numbers of the paper: complete, and their means those computed by hand from its tables."""

import numpy as np
import pytest

from selftaught.experiments import DATASETS
from selftaught.experiments.published import ACCURACY, SENSITIVITY

MEANS = {
    "caltech-sift": {"Target only": 48.13, "STL": 52.20, "RDSTL": 41.33, "S-Low": 38.73, "KMM-Soft": 54.20,
                     "KMM-Hard": 49.33, "MLS-Soft": 53.27, "MLS-Hard": 48.60},
    "caltech-mobilenet": {"Target only": 94.20, "STL": 94.27, "RDSTL": 89.93, "S-Low": 89.60, "KMM-Soft": 94.60,
                          "KMM-Hard": 93.93, "MLS-Soft": 93.93, "MLS-Hard": 94.33},
}  # fmt: skip
BEST_GASTL = {
    "caltech-sift": (53.00, 68.00, 51.67, 56.00, 58.67),
    "caltech-mobilenet": (96.00, 97.00, 94.67, 95.67, 96.00),
    "tweets-imdb": (60.73, 70.60, 77.67),
    "imdb-tweets": (58.67, 62.73, 78.60),
}


@pytest.mark.parametrize("dataset", ACCURACY)
def test_every_method_has_a_number_for_every_column(dataset):
    assert len(ACCURACY[dataset]) == 12
    assert {len(row) for row in ACCURACY[dataset].values()} == {DATASETS[dataset].n_splits}
    assert {*SENSITIVITY[dataset]} == {"SoftA", "HardA", "SoftB", "HardB"}


@pytest.mark.parametrize("dataset", MEANS)
def test_means_are_those_computed_by_hand(dataset):
    for method, mean in MEANS[dataset].items():
        assert np.mean(ACCURACY[dataset][method]) == pytest.approx(mean, abs=0.006)


@pytest.mark.parametrize("dataset", BEST_GASTL)
def test_the_best_variant_of_each_column_is_the_one_read_off_the_page(dataset):
    gastl = [row for method, row in ACCURACY[dataset].items() if method.startswith("GASTL")]
    assert tuple(np.max(gastl, axis=0)) == BEST_GASTL[dataset]
