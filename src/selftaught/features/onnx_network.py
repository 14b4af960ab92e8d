"""ONNX files as networks, by onnxruntime."""

from __future__ import annotations

import hashlib
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from .extras import import_extra

__all__ = ["OnnxNetwork"]

NUMPY_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
# Where weights lie in files beside the model, its bytes hold entries with the key "location" and their names.
OUTSIDE = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])")
# Operators of this name take one scale for a whole batch: a row would depend on the rows beside it.
SHARED_SCALE = b"DynamicQuantize"


class OnnxNetwork:
    """An ONNX file, opened; ``output`` is the name or position of the answer among its outputs."""

    def __init__(self, path: Path, output: str | int | None = None):
        onnxruntime: Any = import_extra("onnxruntime", "onnx")
        if not path.is_file():
            raise FileNotFoundError(f"there is no model at {path}.")
        content = path.read_bytes()
        self.path, self.fingerprint = path, _fingerprint(path, content)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3  # what stops it is raised; what it would like better is nobody's concern here
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has some dozen errors, without a common base
            raise ValueError(f"{path} is no ONNX model, or is damaged: {_first_line(error)}") from error
        self._inputs = {given.name: given for given in self._session.get_inputs()}
        self._output = self._chosen(output)
        self.at_once = self._batch_of_the_file(SHARED_SCALE in content)

    def run(self, inputs):
        """Return the model's answer as float32."""
        answer = self._session.run([self._output], self._named(inputs))[0]
        return np.asarray(answer, np.float32)

    def alone(self):
        """Keep each caller to one thread: the session was opened so."""
        return nullcontext()

    def _named(self, inputs) -> dict[str, np.ndarray]:
        """Return the inputs by the names, and in the types, that the model asks for."""
        if not isinstance(inputs, dict):
            if len(self._inputs) != 1:
                raise ValueError(
                    f"{self.path} asks for {self._asked()}, and an image is one input. Is it a model of texts? Then "
                    "reads= must be a TextInput."
                )
            inputs = {name: inputs for name in self._inputs}
        elif missing := [name for name in self._inputs if name not in inputs]:
            raise ValueError(
                f"{self.path} asks for {', '.join(missing)}, and a text gives {', '.join(inputs)}. Is it a model of "
                "images? Then reads= must be an ImageInput."
            )
        return {
            name: np.asarray(inputs[name], NUMPY_TYPES.get(given.type, inputs[name].dtype))
            for name, given in self._inputs.items()
        }

    def _asked(self):
        return ", ".join(f"{name} {given.type} {given.shape}" for name, given in self._inputs.items())

    def _chosen(self, output) -> str:
        names = [made.name for made in self._session.get_outputs()]
        if output is None:
            return names[0]
        if isinstance(output, str) and output in names:
            return output
        if not isinstance(output, str) and -len(names) <= output < len(names):
            return names[output]
        raise ValueError(f"{self.path} has no output {output!r}; it has {', '.join(map(repr, names))}.")

    def _batch_of_the_file(self, has_shared_scale) -> int | None:
        """Return how many items the model takes together: None as many as there are."""
        sizes = {given.shape[0] for given in self._inputs.values() if given.shape and isinstance(given.shape[0], int)}
        if sizes - {1}:
            raise ValueError(
                f"{self.path} takes exactly {sizes.pop()} items together. Export it with a free batch axis, or with 1."
            )
        return 1 if sizes or has_shared_scale else None


def _fingerprint(path: Path, content: bytes) -> str:
    """Return the SHA-256 of a model and of the files in which its weights lie, where they are not inside."""
    hashed = hashlib.sha256(content)
    names = {content[found.end() : found.end() + found[1][0]] for found in OUTSIDE.finditer(content)}
    for name in sorted(names):
        beside = path.parent / name.decode("utf-8", "replace")
        if beside.is_file():
            hashed.update(name + beside.read_bytes())
    return hashed.hexdigest()


def _first_line(error) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
