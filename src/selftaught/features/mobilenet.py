"""MobileNetV2 as a feature extractor."""

from __future__ import annotations

from typing import Any

from .extras import import_extra
from .pretrained import MOBILENET_V2_WEIGHTS, PretrainedFeatures, strictly_loaded

__all__ = ["MobileNetV2Features"]


class MobileNetV2Features(PretrainedFeatures):
    """Rows of MobileNetV2, trained on ImageNet: the means of its last 1280 feature maps, 0 or above.

    A small network: some 60 times fewer operations than VGG-19. The image is scaled to a shorter side of 256 pixels,
    and the 224 × 224 pixels in its middle are seen, as torchvision prescribes for its weights.

    Parameters
    ----------
    weights : str, Path or None, default None
        torchvision's file ``mobilenet_v2-b0353104.pth`` (14 MB), or any of the same names and shapes. None takes it
        from the folder ``weights`` in ``$SELFTAUGHT_DATA`` or ``~/selftaught_data``, fetched if it is not there, and
        verified either way.
    batch_size : int, default 8
        Images that go through the network together.
    cache : str, Path or None, default None
        Folder in which rows are kept, by content of image and weights.
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
    M. Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks", CVPR 2018.
    """

    _remote = MOBILENET_V2_WEIGHTS

    def __init__(self, weights=None, *, batch_size=8, cache=None, n_jobs=None):
        self.weights = weights
        self.batch_size = batch_size
        self.cache = cache
        self.n_jobs = n_jobs

    def _module(self, state, path):
        nn: Any = import_extra("torch.nn", "torch")
        from .architectures.mobilenet_v2 import MobileNetV2, without_normalisations

        network = without_normalisations(strictly_loaded(MobileNetV2, state, path))
        return nn.Sequential(network.features, nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def _settings(self):
        return {}
