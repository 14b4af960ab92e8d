"""What a network is shown of a text: the numbers of its tokens."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .extractor import Unreadable
from .extras import import_extra

__all__ = ["TextInput"]

LONGEST = 512  # tokens, where neither the caller nor the tokenizer's file sets a limit: what BERT and its kin can take
PADDING = ("[PAD]", "<pad>")


@dataclass(frozen=True)
class TextInput:
    """How a text becomes the input of a network.

    Attributes
    ----------
    tokenizer : str or Path
        The ``tokenizer.json`` that belongs to the model.
    max_length : int or None, default None
        Tokens after which a text is cut off, those that mark its ends included. None takes the limit in the
        tokenizer's file, or 512 where it has none.
    """

    tokenizer: str | PathLike
    max_length: int | None = None

    items_are = "texts"

    def __post_init__(self):
        if not isinstance(self.tokenizer, (str, PathLike)):
            raise ValueError(f"tokenizer must be the path of a tokenizer.json, got {self.tokenizer!r:.80}.")
        longest = self.max_length
        whole = isinstance(longest, Integral) and not isinstance(longest, bool)
        if longest is not None and not (whole and longest >= 1):
            raise ValueError(f"max_length must be a whole number of tokens, at least 1, or None, got {longest!r}.")

    def open(self):
        """Return what reads texts; the tokenizer's file is read now."""
        tokenizers: Any = import_extra("tokenizers", "onnx")
        path = Path(self.tokenizer).expanduser()
        if not path.is_file():
            raise FileNotFoundError(
                f"there is no tokenizer at {path}. It is the file tokenizer.json that is published with the model."
            )
        content = path.read_bytes()
        try:
            tokenizer = tokenizers.Tokenizer.from_str(content.decode("utf-8"))
        except Exception as error:  # the package raises plain Exception
            raise ValueError(f"{path} is no tokenizer.json, or is damaged ({error}).") from error
        return TextReader(tokenizer, self.max_length, hashlib.sha256(content).hexdigest())


class TextReader:
    """Texts to batches of tokens, with a tokenizer as its file has it, but for length and padding."""

    items_are = "texts"

    def __init__(self, tokenizer, max_length, fingerprint):
        told = tokenizer.truncation or {}
        self.max_length = max_length or told.get("max_length", LONGEST)
        ends = tokenizer.num_special_tokens_to_add(is_pair=False)
        if self.max_length <= ends:
            raise ValueError(
                f"max_length must be above {ends}, the tokens that mark the ends of a text, got {self.max_length}."
            )
        self._pad = _padding_token(tokenizer)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_length)
        self._tokenizer, self._fingerprint = tokenizer, fingerprint

    def recipe(self):
        """Return all that decides what the network sees, as plain data."""
        return {"tokenizer": self._fingerprint, "max_length": self.max_length}

    def decode(self, raw):
        """Return the tokens of a text, (n_tokens,) int64."""
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Unreadable("the text has half of a surrogate pair, which is no character") from error
        tokens = np.array(self._tokenizer.encode(text).ids, dtype=np.int64)
        if not len(tokens):
            raise Unreadable("nothing is left of the text as tokens")
        return tokens

    def blank(self):
        """Return tokens to try a network on."""
        return np.array(self._tokenizer.encode("a").ids or [self._pad], dtype=np.int64)

    def pieces(self, contents, at_most):
        """Yield positions that go through the network together: texts of like length, so that little is padding."""
        by_length = np.argsort([len(tokens) for tokens in contents], kind="stable")
        for start in range(0, len(contents), at_most):
            yield by_length[start : start + at_most]

    def batch(self, contents):
        """Return the network's inputs for some texts, and the mask (n, n_tokens) of what is no padding."""
        lengths = np.array([len(tokens) for tokens in contents])
        mask = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(mask.shape, self._pad, dtype=np.int64)
        ids[mask] = np.concatenate(contents)
        inputs = dict(input_ids=ids, attention_mask=mask.astype(np.int64), token_type_ids=np.zeros_like(ids))
        return inputs, mask


def _padding_token(tokenizer) -> int:
    """Return the number of the token that pads; some networks number the positions of a text by it."""
    if tokenizer.padding:
        return tokenizer.padding["pad_id"]
    found = (tokenizer.token_to_id(token) for token in PADDING)
    return next((number for number in found if number is not None), 0)
