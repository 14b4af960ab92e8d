"""VGG-19.

K. Simonyan, A. Zisserman, "Very deep convolutional networks for large-scale image recognition", ICLR 2015.
"""

from __future__ import annotations

from typing import Literal

from torch import nn

__all__ = ["VGG19"]

STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))  # channels and convolutions; each ends in a maximum


class VGG19(nn.Module):
    """16 convolutions of 3 × 3 pixels and three full layers: (n, 3, 224, 224) to 1000 classes."""

    def __init__(self, padding_mode: Literal["zeros", "reflect"] = "zeros", has_classifier=True):
        super().__init__()
        layers, n_in = [], 3
        for n_out, count in STAGES:
            for _ in range(count):
                layers += [nn.Conv2d(n_in, n_out, 3, padding=1, padding_mode=padding_mode), nn.ReLU(inplace=True)]
                n_in = n_out
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        if not has_classifier:
            return
        self.classifier = nn.Sequential(
            *(nn.Linear(512 * 7 * 7, 4096), nn.ReLU(inplace=True), nn.Dropout()),
            *(nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout()),
            nn.Linear(4096, 1000),
        )

    def forward(self, x):
        """Return the scores of the classes, (n, 1000)."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))
