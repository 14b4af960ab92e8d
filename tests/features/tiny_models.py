"""Networks of a few numbers, made in the test that needs them."""

import numpy as np
import torch

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghij")


def tokenizer_file(path, *, with_ends=True, **settings):
    """Write a tokenizer.json that makes a token of each word of one letter."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if with_ends:
        ends = [(word, vocabulary[word]) for word in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    if "truncation" in settings:
        tokenizer.enable_truncation(settings["truncation"])
    if "padding" in settings:
        tokenizer.enable_padding(length=settings["padding"])
    tokenizer.save(str(path))
    return path


class Embedding(torch.nn.Module):
    """Texts to numbers of their tokens, each shifted by the mean over its text: a tiny transformer."""

    def __init__(self, n_features=5):
        super().__init__()
        self.table = torch.nn.Embedding(len(WORDS), n_features)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, input_ids, attention_mask):
        tokens = self.table(input_ids)
        kept = attention_mask[:, :, None].to(tokens.dtype)
        mean = (tokens * kept).sum(1, keepdim=True) / kept.sum(1, keepdim=True)
        return {"last_hidden_state": self.dropout(torch.tanh(tokens + mean)), "pooler_output": mean[:, 0]}


def onnx_file(path, nodes, inputs, outputs, constants=(), **saving):
    """Write an ONNX file; nodes are (operator, inputs, outputs, attributes), inputs and outputs (name, type, shape)."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def info(name, kind, shape):
        return helper.make_tensor_value_info(name, getattr(TensorProto, kind), shape)

    graph = helper.make_graph(
        [helper.make_node(operator, ins, outs, **attributes) for operator, ins, outs, attributes in nodes],
        "tiny",
        [info(*one) for one in inputs],
        [info(*one) for one in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in dict(constants).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path), **saving)
    return path


def image_model(path, weights, *, batch: str | int = "n", side: str | int = "s", **saving):
    """Images to tanh(W · mean colour): W (d, 3)."""
    nodes = [
        ("GlobalAveragePool", ["x"], ["mean"], {}),
        ("Flatten", ["mean"], ["flat"], {}),
        ("Gemm", ["flat", "W"], ["scores"], {"transB": 1}),
        ("Tanh", ["scores"], ["rows"], {}),
    ]
    outputs = [("rows", "FLOAT", None), ("mean", "FLOAT", None)]
    weights = np.asarray(weights, np.float32)
    return onnx_file(path, nodes, [("x", "FLOAT", [batch, 3, side, side])], outputs, {"W": weights}, **saving)


def text_model(path, table, *, quantized=False, kind="INT64"):
    """Tokens to their rows of a table; quantized: on the fly, by one scale for the whole batch."""
    nodes = [("Gather", ["table", "input_ids"], ["exact"], {})]
    if quantized:
        nodes += [
            ("DynamicQuantizeLinear", ["exact"], ["q", "scale", "zero"], {}),
            ("DequantizeLinear", ["q", "scale", "zero"], ["tokens"], {}),
        ]
    else:
        nodes += [("Identity", ["exact"], ["tokens"], {})]
    inputs = [("input_ids", kind, ["n", "t"])]
    table = np.asarray(table, np.float32)
    return onnx_file(path, nodes, inputs, [("tokens", "FLOAT", None)], {"table": table})
