"""MobileNetV2.

M. Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks", CVPR 2018.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

__all__ = ["MobileNetV2", "without_normalisations"]

STAGES = (  # widening, channels, blocks, stride of the first block
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)


class InvertedResidual(nn.Module):
    """Widen, filter each channel by itself, narrow; added to the input where shapes allow."""

    def __init__(self, n_in, n_out, stride, widening):
        super().__init__()
        n_wide = n_in * widening
        widen = [_filtered(n_in, n_wide, 1)] if widening != 1 else []
        narrow = nn.Conv2d(n_wide, n_out, 1, bias=False), nn.BatchNorm2d(n_out)
        self.conv = nn.Sequential(*widen, _filtered(n_wide, n_wide, 3, stride, groups=n_wide), *narrow)
        self.is_added = stride == 1 and n_in == n_out

    def forward(self, x):
        """Return the block's map of features."""
        return x + self.conv(x) if self.is_added else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residuals: (n, 3, 224, 224) to 1000 classes, by way of 1280 features."""

    def __init__(self):
        super().__init__()
        blocks: list[nn.Module] = [_filtered(3, 32, 3, stride=2)]
        n_in = 32
        for widening, n_out, count, stride in STAGES:
            for number in range(count):
                blocks.append(InvertedResidual(n_in, n_out, stride if number == 0 else 1, widening))
                n_in = n_out
        self.features = nn.Sequential(*blocks, _filtered(n_in, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, x):
        """Return the scores of the classes, (n, 1000)."""
        return self.classifier(torch.mean(self.features(x), dim=(2, 3)))


def _filtered(n_in, n_out, size, stride=1, groups=1):
    """Return a convolution, its normalisation, and values cut off at 0 and 6."""
    convolution = nn.Conv2d(n_in, n_out, size, stride, padding=size // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(n_out), nn.ReLU6(inplace=True))


def without_normalisations(module):
    """Return a module for evaluation alone, each normalisation inside the convolution before it: a third less time.

    In evaluation a normalisation is a fixed scale and shift of each channel, and these are of the convolution's kind.
    """
    for part in module.eval().children():
        without_normalisations(part)
        if not isinstance(part, nn.Sequential):
            continue
        for i, (before, after) in enumerate(pairwise(part)):
            if isinstance(before, nn.Conv2d) and isinstance(after, nn.BatchNorm2d):
                part[i], part[i + 1] = nn.utils.fuse_conv_bn_eval(before, after), nn.Identity()
    return module
