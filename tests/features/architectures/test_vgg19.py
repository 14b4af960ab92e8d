"""VGG-19 against what torchvision publishes of it, and against a forward pass written anew."""

import pytest
import torch
import torch.nn.functional as F

from selftaught.features.architectures.vgg19 import VGG19

CHANNELS = [64, 64, 128, 128, 256, 256, 256, 256, 512, 512, 512, 512, 512, 512, 512, 512]
PLACES = [0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34]


def shapes(module):
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def on_meta(build, **settings):
    """A module without numbers: shapes alone."""
    with torch.device("meta"):
        return build(**settings)


def vgg19_shapes():
    found, before = {}, 3
    for place, channels in zip(PLACES, CHANNELS, strict=True):
        found |= {f"features.{place}.weight": (channels, before, 3, 3), f"features.{place}.bias": (channels,)}
        before = channels
    for place, (n_out, n_in) in {0: (4096, 25088), 3: (4096, 4096), 6: (1000, 4096)}.items():
        found |= {f"classifier.{place}.weight": (n_out, n_in), f"classifier.{place}.bias": (n_out,)}
    return found


def test_names_shapes_and_number_of_parameters_are_those_published():
    module = on_meta(VGG19)
    assert shapes(module) == vgg19_shapes()
    assert sum(parameter.numel() for parameter in module.parameters()) == 143_667_240
    assert module(torch.empty(2, 3, 224, 224, device="meta")).shape == (2, 1000)


def test_the_convolutions_alone_are_those_of_the_whole():
    assert shapes(on_meta(VGG19, has_classifier=False)) == {
        name: shape for name, shape in vgg19_shapes().items() if name.startswith("features.")
    }


@torch.inference_mode()
@pytest.mark.parametrize("padding_mode", ["zeros", "reflect"])
def test_vgg_computes_its_convolutions_and_maxima(seed, padding_mode):
    torch.manual_seed(seed)
    module = VGG19(padding_mode=padding_mode, has_classifier=False)
    x = expected = torch.randn(1, 3, 64, 64)
    border = "constant" if padding_mode == "zeros" else "reflect"
    for place in PLACES:
        weight, bias = (module.state_dict()[f"features.{place}.{kind}"] for kind in ("weight", "bias"))
        expected = F.conv2d(F.pad(expected, (1, 1, 1, 1), mode=border), weight, bias).relu()
        if place in (2, 7, 16, 25, 34):
            expected = F.max_pool2d(expected, 2)
    assert expected.abs().max() > 0
    torch.testing.assert_close(module.features(x), expected, rtol=1e-4, atol=1e-7)
