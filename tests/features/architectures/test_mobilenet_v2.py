"""MobileNetV2 against what torchvision publishes of it, and against a forward pass written anew."""

import pytest
import torch
import torch.nn.functional as F

from selftaught.features.architectures.mobilenet_v2 import MobileNetV2, without_normalisations

# Input, widened and output channels of the 17 blocks, and their strides.
BLOCKS = (
    *((32, 32, 16, 1), (16, 96, 24, 2), (24, 144, 24, 1), (24, 144, 32, 2), (32, 192, 32, 1), (32, 192, 32, 1)),
    *((32, 192, 64, 2), (64, 384, 64, 1), (64, 384, 64, 1), (64, 384, 64, 1), (64, 384, 96, 1), (96, 576, 96, 1)),
    *((96, 576, 96, 1), (96, 576, 160, 2), (160, 960, 160, 1), (160, 960, 160, 1), (160, 960, 320, 1)),
)


def shapes(module):
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def on_meta(build, **settings):
    """A module without numbers: shapes alone."""
    with torch.device("meta"):
        return build(**settings)


def mobilenet_shapes():
    def filtered(name, norm, n_out, n_in, size):
        parts = ("weight", "bias", "running_mean", "running_var")
        return {f"{name}.weight": (n_out, n_in, size, size), f"{norm}.num_batches_tracked": ()} | {
            f"{norm}.{part}": (n_out,) for part in parts
        }

    found = filtered("features.0.0", "features.0.1", 32, 3, 3)
    for number, (n_in, n_wide, n_out, _) in enumerate(BLOCKS, 1):
        at = f"features.{number}.conv"
        widens = n_in != n_wide
        if widens:
            found |= filtered(f"{at}.0.0", f"{at}.0.1", n_wide, n_in, 1)
        found |= filtered(f"{at}.{widens:d}.0", f"{at}.{widens:d}.1", n_wide, 1, 3)
        found |= filtered(f"{at}.{widens + 1}", f"{at}.{widens + 2}", n_out, n_wide, 1)
    found |= filtered("features.18.0", "features.18.1", 1280, 320, 1)
    return found | {"classifier.1.weight": (1000, 1280), "classifier.1.bias": (1000,)}


def test_names_shapes_and_number_of_parameters_are_those_published():
    module = on_meta(MobileNetV2)
    assert shapes(module) == mobilenet_shapes()
    assert sum(parameter.numel() for parameter in module.parameters()) == 3_504_872
    assert module(torch.empty(2, 3, 224, 224, device="meta")).shape == (2, 1000)


@pytest.fixture
def mobilenet(seed):
    """MobileNetV2 with random weights and with normalisations that do something."""
    torch.manual_seed(seed)
    module = MobileNetV2().eval()
    bounds = dict(weight=(0.5, 1.5), bias=(-0.2, 0.5), running_mean=(-0.1, 0.1), running_var=(0.5, 2))
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            for name, (low, high) in bounds.items():
                torch.nn.init.uniform_(getattr(part, name), low, high)
    return module


def mobilenet_anew(state, x):
    """Features (n, 1280), from the tensors and the table of blocks alone."""

    def filtered(x, name, norm, stride=1, groups=1, bounded=True):
        weight = state[f"{name}.weight"]
        x = F.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2, groups=groups)
        mean, var, scale, shift = (state[f"{norm}.{k}"] for k in ("running_mean", "running_var", "weight", "bias"))
        x = (x - mean[:, None, None]) / torch.sqrt(var + 1e-5)[:, None, None] * scale[:, None, None]
        x = x + shift[:, None, None]
        return x.clamp(0, 6) if bounded else x

    x = filtered(x, "features.0.0", "features.0.1", stride=2)
    for number, (n_in, n_wide, n_out, stride) in enumerate(BLOCKS, 1):
        at, widens, y = f"features.{number}.conv", n_in != n_wide, x
        if widens:
            y = filtered(y, f"{at}.0.0", f"{at}.0.1")
        y = filtered(y, f"{at}.{widens:d}.0", f"{at}.{widens:d}.1", stride, groups=n_wide)
        y = filtered(y, f"{at}.{widens + 1}", f"{at}.{widens + 2}", bounded=False)
        x = x + y if stride == 1 and n_in == n_out else y
    return filtered(x, "features.18.0", "features.18.1").mean((2, 3))


@torch.inference_mode()
def test_mobilenet_computes_what_its_blocks_say(mobilenet):
    x = torch.randn(2, 3, 64, 64)
    expected = mobilenet_anew(mobilenet.state_dict(), x)
    torch.testing.assert_close(mobilenet.features(x).mean((2, 3)), expected, rtol=1e-4, atol=1e-5)
    classifier = mobilenet.classifier[1]
    torch.testing.assert_close(
        mobilenet(x), F.linear(expected, classifier.weight, classifier.bias), rtol=1e-4, atol=1e-5
    )


@torch.inference_mode()
def test_normalisations_inside_the_convolutions_change_rounding_alone(mobilenet):
    x = torch.randn(2, 3, 64, 64)
    expected = mobilenet(x)
    lighter = without_normalisations(mobilenet)
    assert not any(isinstance(part, torch.nn.BatchNorm2d) for part in lighter.modules())
    torch.testing.assert_close(lighter(x), expected, rtol=1e-4, atol=1e-5)
