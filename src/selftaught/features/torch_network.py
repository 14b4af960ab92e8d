"""torch modules as networks: run without gradients, in evaluation mode, and told apart by their content."""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .extras import import_extra

__all__ = ["TorchNetwork", "fingerprint_of", "read_weights"]


class TorchNetwork:
    """A module that takes images as (n, ...) or texts by the names of its arguments.

    The module is the network's own from now on: give a copy. It runs where its parameters are, in their precision.
    ``channels_last`` keeps the channels of a pixel together in memory, with which convolutions are a quarter faster; a
    module that reshapes its maps by itself may not allow it.
    """

    def __init__(self, module, fingerprint, output=None, *, channels_last=False):
        self._torch: Any = import_extra("torch", "torch")
        self._format = self._torch.channels_last if channels_last else self._torch.contiguous_format
        self._module = module.eval().requires_grad_(False)
        if channels_last:
            self._module.to(memory_format=self._format)
        self.fingerprint, self._output = fingerprint, output
        # Numbers quantized on the fly share one scale for a whole batch: a row would depend on the rows beside it.
        quantized = any("quantized.dynamic" in type(part).__module__ for part in module.modules())
        self.at_once = 1 if quantized else None
        floating = [p for p in (*module.parameters(), *module.buffers()) if p.is_floating_point()]
        self._device = floating[0].device if floating else self._torch.device("cpu")
        self._dtype = floating[0].dtype if floating else self._torch.float32
        self._arguments = _arguments(module)

    def run(self, inputs):
        """Return the module's answer as float32."""
        with self._torch.inference_mode():
            if isinstance(inputs, dict):
                given = {name: self._tensor(array) for name, array in inputs.items()}
                if self._arguments is not None:
                    given = {name: tensor for name, tensor in given.items() if name in self._arguments}
                answer = self._module(**given) if given else self._module(self._tensor(inputs["input_ids"]))
            else:
                answer = self._module(self._tensor(inputs).contiguous(memory_format=self._format))
            return self._chosen(answer).float().cpu().numpy()

    @contextmanager
    def alone(self):
        """Keep torch to one thread for each caller: the threads that are begun inside the block take this over."""
        n_threads = self._torch.get_num_threads()
        self._torch.set_num_threads(1)
        try:
            yield
        finally:
            self._torch.set_num_threads(n_threads)

    def _tensor(self, array):
        tensor = self._torch.from_numpy(np.ascontiguousarray(array)).to(self._device)
        return tensor.to(self._dtype) if tensor.is_floating_point() else tensor

    def _chosen(self, answer) -> Any:
        """Return the output asked for, of a tensor, or of several by name or position."""
        if isinstance(answer, Mapping):
            answer, names = list(answer.values()), list(answer)
            chosen = names.index(self._output) if self._output in names else self._output
        else:
            names, chosen = (), self._output
        answers = [answer] if isinstance(answer, self._torch.Tensor) else answer
        if not isinstance(answers, (list, tuple)) or not all(isinstance(a, self._torch.Tensor) for a in answers[:1]):
            raise ValueError(f"the module must return a tensor, or several in a tuple or dict, got {type(answer)}.")
        if chosen is None:
            return answers[0]
        if isinstance(chosen, str) or not -len(answers) <= chosen < len(answers):
            there = ", ".join(map(repr, names)) or f"numbers 0 to {len(answers) - 1}"
            raise ValueError(f"the module has no output {self._output!r}; it has {there}.")
        return answers[chosen]


def fingerprint_of(module) -> str:
    """Return the SHA-256 of a module: its class, its structure as printed, and all its numbers."""
    hashed = hashlib.sha256(f"{type(module).__module__}.{type(module).__qualname__} {module!r}".encode())
    torch: Any = import_extra("torch", "torch")
    for name, value in (*module.state_dict().items(), *module.named_buffers()):
        hashed.update(f" {name} ".encode())
        if isinstance(value, torch.Tensor):
            hashed.update(f"{value.dtype} {tuple(value.shape)} ".encode())
            value = value.detach().cpu().contiguous()
            value = value.int_repr() if value.is_quantized else value
            hashed.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
        else:
            hashed.update(repr(value).encode())
    return hashed.hexdigest()


def read_weights(path: Path) -> dict:
    """Return the tensors of a state dict file by their names; nothing but tensors is ever read from it."""
    torch: Any = import_extra("torch", "torch")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of weights at {path}.")
    with open(path, "rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old forms of the file, before it is read or refused
        try:
            state = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # a damaged file ends in whatever the damaged place leads to
            raise ValueError(
                f"{path} is no file of weights as torch.save writes them, or is damaged ({type(error).__name__})."
            ) from error
    if not isinstance(state, Mapping) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ValueError(f"{path} must hold a state dict, tensors by the names of parameters, got {type(state)}.")
    return dict(state)


def _arguments(module):
    """Return the names of the arguments of a module's forward, or None where it takes any."""
    parameters = inspect.signature(module.forward).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters}
