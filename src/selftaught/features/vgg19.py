"""VGG-19 as a feature extractor."""

from __future__ import annotations

from functools import partial
from typing import Any

from .._parameters import Choice, check_parameters
from .extras import import_extra
from .image_input import IMAGENET
from .pretrained import VGG19_WEIGHTS, PretrainedFeatures, strictly_loaded

__all__ = ["VGG19Features"]

# How many parts of torchvision's classifier lead to a layer: before its ReLU, and after.
PARTS = {"fc6": (1, 2), "fc7": (4, 5)}


class VGG19Features(PretrainedFeatures):
    """Rows of VGG-19, trained on ImageNet: by default the 4096 numbers of its last layer but one.

    The image is scaled to a shorter side of 256 pixels, and the 224 × 224 pixels in its middle are seen, as torchvision
    prescribes for its weights.

    Parameters
    ----------
    weights : str, Path or None, default None
        torchvision's file ``vgg19-dcbb9e9d.pth`` (575 MB), or any of the same names and shapes. None takes it from the
        folder ``weights`` in ``$SELFTAUGHT_DATA`` or ``~/selftaught_data``, fetched if it is not there, and verified
        either way. A file of convolutions alone will do for ``layer="pool5"``, also one of the *normalised* VGG-19
        known from style transfer (a colour layer first, reflecting borders).
    layer : {"fc7", "fc6", "pool5"}, default "fc7"
        The second full layer (4096 numbers), the first (4096), or the mean over the 7 × 7 places of the last
        convolution's maxima (512).
    relu : bool, default True
        Whether negative values of fc6 and fc7 are set to 0, as the next layer would see them. Those of pool5 never are
        negative.
    batch_size : int, default 8
        Images that go through the network together.
    cache : str, Path or None, default None
        Folder in which rows are kept, by content of image, weights and parameters.
    n_jobs : int or None, default None
        Batches worked on side by side, each by one thread.

    Attributes
    ----------
    fingerprint_ : str
        SHA-256 of the file of weights.
    n_features_ : int
        Numbers in a row.

    References
    ----------
    K. Simonyan, A. Zisserman, "Very deep convolutional networks for large-scale image recognition", ICLR 2015.
    """

    _remote = VGG19_WEIGHTS

    def __init__(self, weights=None, *, layer="fc7", relu=True, batch_size=8, cache=None, n_jobs=None):
        self.weights = weights
        self.layer = layer
        self.relu = relu
        self.batch_size = batch_size
        self.cache = cache
        self.n_jobs = n_jobs

    def _check(self):
        super()._check()
        check_parameters(self, {"layer": (Choice(("fc7", "fc6", "pool5")),), "relu": (Choice((True, False)),)})

    def _module(self, state, path):
        nn: Any = import_extra("torch.nn", "torch")
        vgg = vgg19(state, path)
        if self.layer == "pool5":
            return nn.Sequential(vgg.features, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        if not hasattr(vgg, "classifier"):
            raise ValueError(
                f"{path} holds the convolutions of VGG-19 alone: layer={self.layer!r} cannot be had from it. "
                "Use layer='pool5', or torchvision's file."
            )
        return nn.Sequential(vgg.features, vgg.avgpool, nn.Flatten(), vgg.classifier[: PARTS[self.layer][self.relu]])

    def _settings(self):
        return {"layer": self.layer, "relu": self.relu}


def vgg19(state: dict, path) -> Any:
    """Return VGG-19 with the tensors of a state dict: all of it, its convolutions alone, or the normalised ones."""
    import_extra("torch", "torch")
    from .architectures.vgg19 import VGG19

    colour = state.get("0.weight")
    if colour is not None and tuple(colour.shape) == (3, 3, 1, 1):
        names = [name for name, _ in VGG19(has_classifier=False).named_parameters()]
        return strictly_loaded(
            partial(VGG19, padding_mode="reflect", has_classifier=False), _from_normalised(state, names), path
        )
    has_classifier = any(name.startswith("classifier.") for name in state) or not state
    return strictly_loaded(partial(VGG19, has_classifier=has_classifier), state, path)


def _from_normalised(state, names):
    """Return the normalised convolutions for images in ImageNet's scale, its colour layer inside the first of them.

    That layer takes values x from 0 to 1 to ``C x + c``, where we have ``z = (x - mean) / std``. A convolution of it,
    ``W (C x + c) + b``, is one of z with ``W C diag(std)`` and ``b + Σ W (C mean + c)``; at the borders too, since
    reflected pixels are pixels.
    """
    torch: Any = import_extra("torch", "torch")
    mean, std = (torch.tensor(values, dtype=torch.float64) for values in (IMAGENET.mean, IMAGENET.std))
    (_, C), (_, c), *others = sorted(state.items(), key=lambda item: (int(item[0].split(".")[0]), "b" in item[0][-4:]))
    C, c = C[:, :, 0, 0].double(), c.double()
    tensors = [tensor for _, tensor in others]
    W, b = tensors[0].double(), tensors[1].double()
    tensors[0] = torch.einsum("okhw,ki,i->oihw", W, C, std).float()
    tensors[1] = (b + torch.einsum("okhw,k->o", W, C @ mean + c)).float()
    return dict(zip(names, tensors, strict=False))
