"""Networks that others trained and published: where their weights are, and how they are read."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from pathlib import Path
from typing import Any

from .._download import RemoteFile, fetch_file
from .extras import import_extra
from .image_input import IMAGENET
from .network import NetworkFeatures, Opened
from .torch_network import TorchNetwork, read_weights

__all__ = ["MOBILENET_V2_WEIGHTS", "PretrainedFeatures", "VGG19_WEIGHTS", "WEIGHT_FILES", "strictly_loaded"]

PUBLISHED = "https://download.pytorch.org/models"

# torchvision gives the first 8 digits of the sha256 in the name. The rest of MobileNetV2's, and its size, were computed
# from the file; those of VGG-19 stand in two unrelated public repositories, and we have not had the file.
VGG19_WEIGHTS = RemoteFile(
    collection="weights",
    name="vgg19-dcbb9e9d.pth",
    url=f"{PUBLISHED}/vgg19-dcbb9e9d.pth",
    size=574_673_361,
    sha256="dcbb9e9dad569fff7a846263a77324fc34978fea2bfb039c012d710e1776ae44",
    page=f"{PUBLISHED}/vgg19-dcbb9e9d.pth",
)
MOBILENET_V2_WEIGHTS = RemoteFile(
    collection="weights",
    name="mobilenet_v2-b0353104.pth",
    url=f"{PUBLISHED}/mobilenet_v2-b0353104.pth",
    size=14_212_972,
    sha256="b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889",
    page=f"{PUBLISHED}/mobilenet_v2-b0353104.pth",
)
WEIGHT_FILES = (VGG19_WEIGHTS, MOBILENET_V2_WEIGHTS)


class PretrainedFeatures(NetworkFeatures):
    """What extractors by a published image classifier share.

    A subclass has the parameter ``weights`` beside those of `NetworkFeatures`, and gives

        _remote             the published file
        _module(state)      a module from the tensors of a file, with forward from images to rows
    """

    _remote: RemoteFile
    weights: Any

    @abstractmethod
    def _module(self, state: dict, path: Path) -> Any: ...

    def _open(self):
        import_extra("torch", "torch")  # before anything is fetched for it
        path = fetch_file(self._remote) if self.weights is None else Path(self.weights).expanduser()
        module = self._module(read_weights(path), path)
        with open(path, "rb") as file:
            fingerprint = hashlib.file_digest(file, "sha256").hexdigest()
        return Opened(TorchNetwork(module, fingerprint, channels_last=True), IMAGENET)

    def _rows(self, answer, mask):
        return answer


def strictly_loaded(build, state: dict, path) -> Any:
    """Return the module that ``build()`` makes, with the tensors of a state dict as its parameters, every one of them.

    The module is built without memory of its own, and takes the tensors as they are.
    """
    torch: Any = import_extra("torch", "torch")
    with torch.device("meta"):
        module = build()
    wanted = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in state.items()}
    if wanted != found:
        raise ValueError(
            f"{path} does not hold the weights of {type(module).__name__} under torchvision's names: "
            f"{_first_difference(wanted, found)}."
        )
    state = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in state.items()}
    module.load_state_dict(state, strict=True, assign=True)
    return module


def _first_difference(wanted, found) -> str:
    """Say in what two sets of named shapes differ, by their first examples."""
    missing = [name for name in wanted if name not in found]
    strange = [name for name in found if name not in wanted]
    if missing:
        return f"{len(missing)} of {len(wanted)} tensors are missing, the first is {missing[0]} {wanted[missing[0]]}"
    if strange:
        return f"{len(strange)} tensors are unknown, the first is {strange[0]} {found[strange[0]]}"
    name = next(name for name in wanted if wanted[name] != found[name])
    return f"{name} has shape {found[name]}, expected {wanted[name]}"
