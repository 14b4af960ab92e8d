"""MobileNetV2's rows: those of the plain network, and with the published weights those computed elsewhere."""

import csv
import tarfile

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from torch import nn

from selftaught.features import IMAGENET, Backbone, MobileNetV2Features
from selftaught.features.architectures.mobilenet_v2 import MobileNetV2


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "w.pth"
    torch.save(MobileNetV2().state_dict(), path)
    return path


@pytest.fixture
def images(rng):
    return [rng.integers(0, 256, (*rng.integers(30, 300, 2), 3), dtype=np.uint8) for _ in range(3)]


def plain_network(weights):
    network = MobileNetV2()
    network.load_state_dict(torch.load(weights, weights_only=True))
    return nn.Sequential(network.features.eval(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def test_rows_are_the_means_of_the_last_maps(weights, images):
    fitted = MobileNetV2Features(weights, batch_size=2).fit()
    rows = fitted.transform(images)
    with torch.inference_mode():
        expected = plain_network(weights)(torch.from_numpy(np.stack([IMAGENET.prepare(image) for image in images])))
    np.testing.assert_allclose(rows, expected.numpy(), rtol=1e-4, atol=1e-5)
    assert rows.shape == (3, 1280)
    assert rows.dtype == np.float32
    assert fitted.get_feature_names_out()[-1] == "mobilenetv2features1279"


def test_a_backbone_of_the_plain_network_gives_the_same_rows(weights, images):
    rows = Backbone(plain_network(weights)).fit().transform(images)
    np.testing.assert_allclose(rows, MobileNetV2Features(weights).fit().transform(images), rtol=1e-4, atol=1e-5)


def test_parameters_are_stored_as_they_come(weights):
    extractor = MobileNetV2Features(weights, batch_size=3, cache="cache", n_jobs=2)
    assert clone(extractor).get_params() == dict(weights=weights, batch_size=3, cache="cache", n_jobs=2)


@pytest.mark.slow
def test_rows_of_small_images_are_those_of_the_full_images_as_far_as_these_resemble(
    shared_data, shared_weights, tmp_path
):
    """The rows of reference come from the images in full size, ours from copies of at most 180 pixels a side."""
    folder = shared_data / "caltech101"
    with open(folder / "images_30.csv", newline="") as lines:
        listed = list(csv.DictReader(lines))[::3]
    with tarfile.open(folder / "images_30.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    fitted = MobileNetV2Features(shared_weights("mobilenet_v2-b0353104.pth"), n_jobs=2).fit()
    ours = fitted.transform([tmp_path / line["file"] for line in listed])
    rows = [int(line["row"]) for line in listed]
    reference = np.load(folder / "mobilenetv2_1280.npz")["X"][rows].astype(np.float32)
    unit_ours, unit_reference = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (ours, reference))
    cosines = unit_ours @ unit_reference.T
    others = np.where(np.eye(len(rows), dtype=bool), np.nan, cosines)
    assert np.median(cosines.diagonal()) > np.nanmax(np.nanquantile(others, 0.99, axis=1))
    assert np.mean(cosines.argmax(axis=1) == np.arange(len(rows))) > 0.98, "the nearest is the same image in full size"
    y = np.array([line["class"] for line in listed])
    train = np.arange(len(y)) % 2 == 0
    probe = LogisticRegression(max_iter=300)
    accuracy = {
        name: probe.fit(X[train], y[train]).score(X[~train], y[~train])
        for name, X in (("ours", ours), ("reference", reference))
    }
    assert accuracy["ours"] > accuracy["reference"] - 0.05
