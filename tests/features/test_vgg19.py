"""VGG-19's rows: the layer asked for, and the normalised convolutions against a forward pass in their own layout."""

import csv
import tarfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from sklearn.base import clone
from torch import nn

from selftaught.features import IMAGENET, VGG19Features
from selftaught.features import vgg19 as module_of_vgg19
from selftaught.features.architectures.vgg19 import VGG19

# Where the normalised file has its convolutions: each follows the border's reflection, and a ReLU follows it.
NORMALISED = [2, 5, 9, 12, 16, 19, 22, 25, 29, 32, 35, 38, 42, 45, 48, 51]
ENDS_OF_STAGES = (5, 12, 25, 38, 51)


@pytest.fixture(scope="module")
def convolutions():
    """Random weights of VGG-19's convolutions, by torchvision's names."""
    torch.manual_seed(0)
    return VGG19(has_classifier=False).state_dict()


@pytest.fixture
def images(rng):
    return [rng.integers(0, 256, (*rng.integers(30, 300, 2), 3), dtype=np.uint8) for _ in range(2)]


def normalised_from(convolutions):
    """The same tensors in the normalised file's layout, behind a colour layer."""
    torch.manual_seed(1)
    pairs = [tensor for name, tensor in convolutions.items()]
    state = {"0.weight": torch.randn(3, 3, 1, 1), "0.bias": torch.randn(3)}
    for place, weight, bias in zip(NORMALISED, pairs[::2], pairs[1::2], strict=True):
        state |= {f"{place}.weight": weight, f"{place}.bias": bias}
    return state


@torch.inference_mode()
def normalised_anew(state, pixels):
    """Means over the last maxima, (n, 512), of pixels in [0, 1], computed in the file's own layout."""
    x = F.conv2d(pixels, state["0.weight"], state["0.bias"])
    for place in NORMALISED:
        x = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), state[f"{place}.weight"], state[f"{place}.bias"]).relu()
        if place in ENDS_OF_STAGES:
            x = F.max_pool2d(x, 2, ceil_mode=True)
    return x.mean((2, 3)).numpy()


def pixels_of(images):
    """What is seen, (n, 3, 224, 224) in [0, 1], without ImageNet's scale."""
    mean, std = (np.array(values, np.float32)[:, None, None] for values in (IMAGENET.mean, IMAGENET.std))
    return torch.from_numpy(np.stack([IMAGENET.prepare(image) * std + mean for image in images]))


def close(rows, expected):
    """Whether rows agree to 1e-5 of their length."""
    return np.all(np.linalg.norm(rows - expected, axis=1) < 1e-5 * np.linalg.norm(expected, axis=1))


def test_pool5_is_the_mean_over_the_last_maxima(tmp_path, convolutions, images):
    torch.save(convolutions, tmp_path / "w.pth")
    rows = VGG19Features(tmp_path / "w.pth", layer="pool5").fit().transform(images)
    vgg = VGG19(has_classifier=False)
    vgg.load_state_dict(convolutions)
    with torch.inference_mode():
        expected = vgg.features(torch.from_numpy(np.stack([IMAGENET.prepare(image) for image in images]))).mean((2, 3))
    assert rows.shape == (2, 512)
    assert close(rows, expected.numpy())


def test_the_normalised_convolutions_are_those_of_their_own_layout(tmp_path, convolutions, images):
    state = normalised_from(convolutions)
    torch.save(state, tmp_path / "w.pth")
    rows = VGG19Features(tmp_path / "w.pth", layer="pool5").fit().transform(images)
    assert close(rows, normalised_anew(state, pixels_of(images)))


def test_normalised_convolutions_that_are_not_all_there_are_refused(tmp_path, convolutions):
    state = normalised_from(convolutions)
    del state["51.weight"], state["51.bias"]
    torch.save(state, tmp_path / "w.pth")
    with pytest.raises(ValueError, match=r"2 of 32 tensors are missing, the first is features\.34\.weight"):
        VGG19Features(tmp_path / "w.pth", layer="pool5").fit()


@pytest.mark.parametrize("layer", ["fc6", "fc7"])
def test_full_layers_cannot_be_had_from_convolutions_alone(tmp_path, convolutions, layer):
    torch.save(convolutions, tmp_path / "w.pth")
    with pytest.raises(ValueError, match=f"convolutions of VGG-19 alone: layer='{layer}' .* Use layer='pool5'"):
        VGG19Features(tmp_path / "w.pth", layer=layer).fit()


@pytest.fixture
def small_network(tmp_path, monkeypatch):
    """A network of VGG-19's parts with few numbers, in place of what is read from a file."""
    torch.manual_seed(0)
    full = [
        nn.Linear(12, 7),
        nn.ReLU(True),
        nn.Dropout(),
        nn.Linear(7, 6),
        nn.ReLU(True),
        nn.Dropout(),
        nn.Linear(6, 5),
    ]
    small = SimpleNamespace(
        features=nn.Conv2d(3, 3, 1), avgpool=nn.AdaptiveAvgPool2d(2), classifier=nn.Sequential(*full)
    )
    monkeypatch.setattr(module_of_vgg19, "vgg19", lambda state, path: small)
    torch.save({"any": torch.ones(1)}, tmp_path / "w.pth")
    return small, tmp_path / "w.pth"


@pytest.mark.parametrize(("layer", "relu"), [("fc6", False), ("fc6", True), ("fc7", False), ("fc7", True)])
def test_full_layers_before_and_after_their_relu(small_network, images, layer, relu):
    network, path = small_network
    rows = VGG19Features(path, layer=layer, relu=relu).fit().transform(images)
    first, second = network.classifier[0], network.classifier[3]
    with torch.inference_mode():
        maps = network.features(torch.from_numpy(np.stack([IMAGENET.prepare(image) for image in images])))
        x = F.linear(F.adaptive_avg_pool2d(maps, 2).flatten(1), first.weight, first.bias)
        if layer == "fc7":
            x = F.linear(x.relu(), second.weight, second.bias)
        expected = x.relu() if relu else x
    assert (x < 0).any(), "or the ReLU would have nothing to do"
    np.testing.assert_allclose(rows, expected.numpy(), rtol=1e-4, atol=1e-6)


def test_fc7_of_the_whole_network_has_4096_numbers():
    with torch.device("meta"):
        state = VGG19().state_dict()
        for layer in ("fc6", "fc7"):
            module = VGG19Features(layer=layer)._module(dict(state), Path("w.pth"))
            assert module(torch.empty(2, 3, 224, 224)).shape == (2, 4096)


def test_parameters_are_stored_as_they_come_and_every_one_tells_rows_apart():
    extractor = VGG19Features("w.pth", layer="fc6", relu=False, batch_size=3, cache="cache", n_jobs=2)
    expected = dict(weights="w.pth", layer="fc6", relu=False, batch_size=3, cache="cache", n_jobs=2)
    assert clone(extractor).get_params() == expected
    recipes = [VGG19Features(layer=layer, relu=relu)._settings() for layer in ("fc6", "fc7") for relu in (True, False)]
    assert len({str(recipe) for recipe in recipes}) == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(layer="fc8"), "layer must be 'fc7' or 'fc6' or 'pool5', got 'fc8'"),
        (dict(relu=1), "relu must be True or False, got 1"),
        (dict(batch_size=0), "batch_size must be a whole number of at least 1, got 0"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_fetched(settings, message):
    with pytest.raises(ValueError, match=message):
        VGG19Features(**settings).fit()


# --- real weights


@pytest.fixture(scope="module")
def photographs(shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    with open(shared_data / "caltech101" / "images_30.csv", newline="") as lines:
        names = [line["file"] for line in csv.DictReader(lines)][::250]
    with tarfile.open(shared_data / "caltech101" / "images_30.tar") as archive:
        for name in names:
            archive.extract(name, folder, filter="data")
    return [folder / name for name in names]


@pytest.mark.slow
def test_the_published_normalised_convolutions_on_photographs(shared_weights, photographs):
    path = shared_weights("vgg_normalized.pth")
    rows = VGG19Features(path, layer="pool5").fit().transform(photographs)
    images = [np.asarray(Image.open(photograph).convert("RGB")) for photograph in photographs]
    assert close(rows, normalised_anew(torch.load(path, weights_only=True), pixels_of(images)))


@pytest.mark.slow
def test_the_published_weights_on_photographs(shared_weights, photographs):
    path = shared_weights("vgg19-dcbb9e9d.pth")
    rows = VGG19Features(path).fit().transform(photographs)
    vgg = VGG19().eval()
    vgg.load_state_dict(torch.load(path, weights_only=True))
    images = [np.asarray(Image.open(photograph).convert("RGB")) for photograph in photographs]
    with torch.inference_mode():
        maps = vgg.features(torch.from_numpy(np.stack([IMAGENET.prepare(image) for image in images])))
        assert close(rows, vgg.classifier[:5](maps.flatten(1)).numpy())
