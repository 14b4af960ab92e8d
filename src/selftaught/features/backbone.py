"""Any network as a feature extractor: an ONNX file or a torch module, for images or for texts."""

from __future__ import annotations

import copy
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._parameters import Choice, check_parameters
from .image_input import IMAGENET, ImageInput
from .network import NetworkFeatures, Opened, pooled
from .onnx_network import OnnxNetwork
from .text_input import TextInput
from .torch_network import TorchNetwork, fingerprint_of

__all__ = ["Backbone"]


class Backbone(NetworkFeatures):
    """Rows that a network of your own computes of images or texts.

    What goes in is said by ``reads``, what is made of the network's answer by ``pooling`` and ``normalize``. Each row
    belongs to its item alone: the rows beside it, and the padding that they bring, change it by rounding at most.

    Parameters
    ----------
    model : str, Path or torch.nn.Module
        An ONNX file, or a module, which is copied by ``fit`` and run in evaluation mode. A module runs on the device
        where its parameters are; an ONNX file on the processor.
    reads : ImageInput or TextInput, default IMAGENET
        What the network sees of an item. `IMAGENET`, `CLIP` and `PLUS_MINUS_ONE` are there for images;
        ``TextInput("tokenizer.json")`` for texts.
    output : str, int or None, default None
        Which of several outputs to take, by name or position; None takes the first.
    pooling : {"mean", "cls", "none"}, default "mean"
        What is made of an output that has positions, tokens (n, n_tokens, d) or places (n, d, height, width): their
        mean (padding left out), the first token, or all numbers one after another (images only). An output (n, d) is
        taken as it is.
    normalize : bool, default False
        Whether rows are scaled to length 1. Rows of zeros stay.
    batch_size : int, default 8
        Items that go through the network together.
    cache : str, Path or None, default None
        Folder in which rows are kept, by content of item, model and parameters.
    n_jobs : int or None, default None
        Batches worked on side by side, each by one thread.

    Attributes
    ----------
    fingerprint_ : str
        SHA-256 of the model: of the file, or of the module's class, printed structure and numbers.
    n_features_ : int
        Numbers in a row.

    Notes
    -----
    A model quantized while it runs (its numbers get one scale for a batch) is given one item at a time, and so is one
    that was exported for one.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from selftaught.features import Backbone, ImageInput
    >>> channels = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    >>> plain = ImageInput(size=8, resize=None, mean=(0, 0, 0), std=(1, 1, 1))
    >>> Backbone(channels, plain).fit().transform([np.full((8, 8, 3), 64, np.uint8)]).round(2).astype(str).tolist()
    [['0.25', '0.25', '0.25']]
    """

    def __init__(
        self,
        model: Any,
        reads: ImageInput | TextInput = IMAGENET,
        *,
        output=None,
        pooling="mean",
        normalize=False,
        batch_size=8,
        cache=None,
        n_jobs=None,
    ):
        self.model = model
        self.reads = reads
        self.output = output
        self.pooling = pooling
        self.normalize = normalize
        self.batch_size = batch_size
        self.cache = cache
        self.n_jobs = n_jobs

    @property
    def items_are(self):
        """What the items are, as ``reads`` says."""
        return self.reads.items_are

    def _check(self):
        super()._check()
        allowed = {"pooling": (Choice(("mean", "cls", "none")),), "normalize": (Choice((True, False)),)}
        check_parameters(self, allowed)
        if not isinstance(self.reads, (ImageInput, TextInput)):
            raise ValueError(f"reads must be an ImageInput or a TextInput, got {self.reads!r:.80}.")
        is_position = isinstance(self.output, Integral) and not isinstance(self.output, bool)
        if not (self.output is None or isinstance(self.output, str) or is_position):
            raise ValueError(f"output must be a name, a position or None, got {self.output!r}.")

    def _open(self):
        reader = self.reads.open()
        opened = Opened(self._network(), reader)
        blank, _ = reader.batch([reader.blank()])
        try:
            opened.network.run(blank)
        except ValueError:
            raise
        except Exception as error:  # what a network makes of a wrong shape is up to its kind
            shown = {k: v.shape for k, v in blank.items()} if isinstance(blank, dict) else blank.shape
            raise ValueError(
                f"the model cannot be run on {self.items_are} of shape {shown}: {' '.join(str(error).split())[:300]}. "
                "What it is shown is set by reads=: size and layout of an ImageInput, max_length of a TextInput."
            ) from error
        return opened

    def _network(self):
        if isinstance(self.model, (str, PathLike)):
            return OnnxNetwork(Path(self.model).expanduser(), self.output)
        if not (hasattr(self.model, "state_dict") and hasattr(self.model, "forward")):
            raise ValueError(f"model must be the path of an ONNX file or a torch module, got {self.model!r:.80}.")
        module = copy.deepcopy(self.model)  # what the caller does with theirs must not change our rows
        return TorchNetwork(module, fingerprint_of(module), self.output)

    def _rows(self, answer, mask):
        rows = pooled(answer, mask, self.pooling)
        if not self.normalize:
            return rows
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(lengths > 0, lengths, 1)

    def _settings(self):
        return {"output": self.output, "pooling": self.pooling, "normalize": self.normalize}
