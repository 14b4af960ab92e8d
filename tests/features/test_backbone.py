"""Networks of one's own as extractors: what they compute, the manners of an estimator, and what is refused."""

import copy
import pickle
import sys
from typing import Any

import numpy as np
import pytest
import torch
from features.tiny_models import Embedding, image_model, text_model, tokenizer_file
from sklearn.base import clone
from torch import nn

from selftaught.features import Backbone, ImageInput, TextInput, UnreadableItems

SMALL: Any = ImageInput(size=8, resize=None, mean=(0, 0, 0), std=(1, 1, 1))
W = np.array([[1.0, 2, 3], [0, -1, 0.5]])
DIVIDED: tuple[dict[str, Any], ...] = (dict(batch_size=3), dict(batch_size=100), dict(batch_size=2, n_jobs=2))
TEXTS = ["a b c", "d", "a a a a b c d e f g", "", "j i h", "b"]


@pytest.fixture
def pictures(rng):
    return [rng.integers(0, 256, (8, 8, 3), dtype=np.uint8) for _ in range(11)]


@pytest.fixture
def tokenizer(tmp_path):
    return tokenizer_file(tmp_path / "tokenizer.json")


@pytest.fixture
def embedding(seed):
    torch.manual_seed(seed)
    return Embedding()


def convolution(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5))


def seen(pictures):
    return np.stack([SMALL.prepare(picture) for picture in pictures])


# --- rows


def test_an_onnx_file_and_a_module_of_the_same_function_give_the_same_rows(tmp_path, pictures):
    linear = nn.Linear(3, 2, bias=False)
    linear.weight.data = torch.tensor(W, dtype=torch.float32)
    module = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), linear, nn.Tanh())
    expected = np.tanh(seen(pictures).mean((2, 3)) @ W.T)
    for model in (module, image_model(tmp_path / "m.onnx", W), str(tmp_path / "m.onnx")):
        np.testing.assert_allclose(Backbone(model, SMALL).fit().transform(pictures), expected, rtol=1e-5, atol=1e-6)


def test_a_map_of_features_is_averaged_or_taken_whole(pictures):
    module = convolution()
    with torch.no_grad():
        maps = copy.deepcopy(module).eval()(torch.from_numpy(seen(pictures))).numpy()
    mean = Backbone(module, SMALL).fit()
    np.testing.assert_allclose(mean.transform(pictures), maps.mean((2, 3)), rtol=1e-5, atol=1e-6)
    whole = Backbone(module, SMALL, pooling="none").fit()
    np.testing.assert_allclose(whole.transform(pictures), maps.reshape(len(maps), -1), rtol=1e-5, atol=1e-6)
    assert (mean.n_features_, whole.n_features_) == (4, 4 * 6 * 6)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_tokens_are_averaged_without_padding_or_the_first_is_taken(tokenizer, embedding, pooling):
    rows = Backbone(embedding, TextInput(tokenizer), pooling=pooling).fit().transform(TEXTS)
    reader = TextInput(tokenizer).open()
    for text, row in zip(TEXTS, rows, strict=True):
        ids = torch.tensor(reader.decode(text.encode()))[None]
        with torch.no_grad():
            tokens = embedding.eval()(ids, torch.ones_like(ids))["last_hidden_state"][0].numpy()
        np.testing.assert_allclose(row, tokens.mean(0) if pooling == "mean" else tokens[0], rtol=1e-5, atol=1e-6)


def test_an_output_that_is_a_row_already_stays(tokenizer, embedding):
    rows = [
        Backbone(embedding, TextInput(tokenizer), output="pooler_output", pooling=pooling).fit().transform(TEXTS)
        for pooling in ("mean", "cls", "none")
    ]
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], rows[2])


def test_normalized_rows_have_length_one_and_zeros_stay(tmp_path, tokenizer):
    table = np.zeros((14, 3))
    table[4:9] = np.random.default_rng(0).normal(size=(5, 3))
    reads = TextInput(tokenizer)
    plain, unit = (
        Backbone(text_model(tmp_path / "t.onnx", table), reads, normalize=normalize).fit().transform(["a b", "j", "e"])
        for normalize in (False, True)
    )
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), [1, 0, 1], rtol=1e-6)
    np.testing.assert_allclose(unit * np.linalg.norm(plain, axis=1, keepdims=True), plain, rtol=1e-6)


def test_rows_do_not_depend_on_the_rows_beside_them(tokenizer, embedding, pictures):
    """Batches, threads and padding are a matter of speed: they may change a sum's order and nothing else."""
    for model, reads, items in ((convolution(), SMALL, pictures), (embedding, TextInput(tokenizer), TEXTS)):
        alone = np.concatenate([Backbone(model, reads).fit().transform([item]) for item in items])
        for settings in DIVIDED:
            rows = Backbone(model, reads, **settings).fit().transform(items)
            np.testing.assert_allclose(rows, alone, rtol=1e-5, atol=1e-6, err_msg=str(settings))


def test_rows_of_a_model_quantized_while_it_runs_do_not_either(tmp_path, tokenizer, rng):
    table = rng.normal(size=(14, 3)) * np.where(np.arange(14) == 9, 100, 1)[:, None]
    fitted = Backbone(text_model(tmp_path / "t.onnx", table, quantized=True), TextInput(tokenizer)).fit()
    texts = ["a b", "f f f", "c"]
    np.testing.assert_array_equal(fitted.transform(texts), np.concatenate([fitted.transform([t]) for t in texts]))


def test_a_model_exported_for_one_item_takes_many(tmp_path, pictures):
    one, many = (
        Backbone(image_model(tmp_path / "m.onnx", W, batch=batch), SMALL).fit().transform(pictures)
        for batch in (1, "n")
    )
    np.testing.assert_array_equal(one, many)


# --- the module stays the caller's


def test_the_callers_module_is_not_changed_and_may_change(pictures):
    module = convolution().train()
    before = copy.deepcopy(module.state_dict())
    fitted = Backbone(module, SMALL).fit()
    rows = fitted.transform(pictures)
    assert module.training
    assert all(parameter.requires_grad for parameter in module.parameters())
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    with torch.no_grad():
        next(module.parameters()).add_(1)
    np.testing.assert_array_equal(fitted.transform(pictures), rows)
    assert not np.allclose(fitted.fit().transform(pictures), rows)


def test_a_model_that_changed_after_the_fit_is_refused_by_a_copy(tmp_path):
    fitted = Backbone(image_model(tmp_path / "m.onnx", W), SMALL).fit()
    later = pickle.loads(pickle.dumps(fitted))
    image_model(tmp_path / "m.onnx", 2 * W)
    with pytest.raises(ValueError, match=r"has changed since Backbone was fitted. Fit it again"):
        later.transform([np.zeros((8, 8, 3), np.uint8)])


# --- manners


def test_copies_and_files_hold_no_network_and_open_it_again(tmp_path, pictures):
    fitted = Backbone(image_model(tmp_path / "m.onnx", np.ones((500, 3))), SMALL).fit()
    rows = fitted.transform(pictures)
    stored = pickle.dumps(fitted)
    assert len(stored) < 2000
    for again in (pickle.loads(stored), copy.deepcopy(fitted), clone(fitted).fit()):
        np.testing.assert_array_equal(again.transform(pictures), rows)


def test_a_fitted_extractor_is_written_without_pickle(tmp_path, pictures):
    from skops import io

    fitted = Backbone(str(image_model(tmp_path / "m.onnx", W)), SMALL).fit()
    ours = [f"{kind.__module__}.{kind.__qualname__}" for kind in (Backbone, ImageInput)]
    again = io.loads(io.dumps(fitted), trusted=ours)
    np.testing.assert_array_equal(again.transform(pictures), fitted.transform(pictures))


def test_parameters_are_stored_as_they_come_and_columns_are_named(tmp_path):
    model = image_model(tmp_path / "m.onnx", W)
    backbone = Backbone(model, SMALL, batch_size=3)
    assert backbone.get_params() == dict(
        *({},),
        model=model,
        reads=SMALL,
        output=None,
        pooling="mean",
        normalize=False,
        batch_size=3,
        cache=None,
        n_jobs=None,
    )
    assert clone(backbone).get_params() == backbone.get_params()
    assert backbone.fit().get_feature_names_out().tolist() == ["backbone0", "backbone1"]


def test_fit_needs_no_items_and_takes_them(tmp_path, pictures):
    backbone = Backbone(image_model(tmp_path / "m.onnx", W), SMALL)
    np.testing.assert_array_equal(backbone.fit_transform(pictures), backbone.fit().transform(pictures))


def test_rows_in_the_cache_are_of_this_model_and_these_settings(tmp_path, pictures, monkeypatch):
    cache, path = tmp_path / "cache", image_model(tmp_path / "m.onnx", W)
    settings: list[dict[str, Any]] = [
        {},
        dict(normalize=True),
        dict(output="mean"),
        dict(reads=ImageInput(size=8, resize=None)),
    ]
    rows = []
    for changed in settings:
        expected = Backbone(path, **dict(dict(reads=SMALL), **changed)).fit().transform(pictures)
        for _ in range(2):
            cached = Backbone(path, **dict(dict(reads=SMALL, cache=cache), **changed)).fit().transform(pictures)
            np.testing.assert_array_equal(cached, expected)
        rows.append(expected)
    assert len([*cache.iterdir()]) == len(settings)
    other = Backbone(image_model(tmp_path / "m.onnx", 2 * W), SMALL, cache=cache).fit().transform(pictures)
    assert not np.allclose(other, rows[0])
    fitted = Backbone(path, SMALL, cache=cache).fit()
    monkeypatch.setattr(Backbone, "_compute", None)
    np.testing.assert_array_equal(fitted.transform(pictures), other)


# --- refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(model=3), "model must be the path of an ONNX file or a torch module, got 3"),
        (dict(reads="images"), "reads must be an ImageInput or a TextInput, got 'images'"),
        (dict(output=1.5), "output must be a name, a position or None, got 1.5"),
        (dict(pooling="max"), "pooling must be 'mean' or 'cls' or 'none', got 'max'"),
        (dict(normalize="l2"), "normalize must be True or False, got 'l2'"),
        (dict(batch_size=0), "batch_size must be a whole number of at least 1, got 0"),
        (dict(pooling="cls"), "pooling='cls' takes the first token, and this output is a map of places"),
    ],
)
def test_wrong_parameters_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Backbone(**{"model": convolution(), "reads": SMALL, **settings}).fit()


def test_all_numbers_of_a_text_are_no_row(tokenizer, embedding):
    with pytest.raises(ValueError, match="as many numbers as it has tokens: use 'mean' or 'cls'"):
        Backbone(embedding, TextInput(tokenizer), pooling="none").fit()


class Odd(nn.Module):
    """Answers with an array of some other shape."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return torch.zeros(self.shape)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((), r"answered 1 images with an array of shape \(\)"),
        ((7, 2), r"answered 1 images with an array of shape \(7, 2\)"),
        ((1,), r"rows are made of outputs of shape .* this one has \(1,\)"),
        ((1, 2, 3, 4, 5), "rows are made of outputs of shape"),
    ],
)
def test_answers_that_are_no_rows_are_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        Backbone(Odd(shape), SMALL).fit()


def test_a_size_that_the_model_does_not_take_is_told_by_fit(tmp_path):
    for model in (nn.Sequential(nn.Flatten(), nn.Linear(3 * 4 * 4, 2)), image_model(tmp_path / "m.onnx", W, side=4)):
        with pytest.raises(ValueError, match=r"cannot be run on images of shape \(1, 3, 8, 8\): .*size and layout"):
            Backbone(model, SMALL).fit()


def test_too_many_tokens_are_told(tokenizer):
    class Short(nn.Module):
        def forward(self, input_ids):
            raise RuntimeError("position 3 is out of range")

    with pytest.raises(ValueError, match=r"cannot be run on texts of shape \{'input_ids': \(1, 3\).*max_length"):
        Backbone(Short(), TextInput(tokenizer)).fit()


def test_an_item_that_cannot_be_read_is_named(tmp_path, tokenizer, pictures):
    (tmp_path / "no.jpg").write_bytes(b"no image")
    with pytest.raises(UnreadableItems, match=r"1 of 2 images cannot be read: .*no\.jpg"):
        Backbone(image_model(tmp_path / "m.onnx", W), SMALL).fit().transform([pictures[0], tmp_path / "no.jpg"])
    bare = TextInput(tokenizer_file(tmp_path / "bare.json", with_ends=False))
    fitted = Backbone(text_model(tmp_path / "t.onnx", np.ones((14, 2))), bare).fit()
    with pytest.raises(UnreadableItems, match=r"1 of 3 texts cannot be read: .*nothing is left of the text"):
        fitted.transform(["a", "", "b"])
    assert fitted.extract(["a", "", "b"]).kept.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("package", "extra"), [("onnxruntime", "onnx"), ("tokenizers", "onnx"), ("torch", "torch"), ("PIL.Image", "images")]
)
def test_a_missing_package_is_named_with_the_command(tmp_path, tokenizer, package, extra, monkeypatch):
    model = convolution() if package == "torch" else text_model(tmp_path / "t.onnx", np.ones((14, 2)))
    reads = TextInput(tokenizer) if package in ("onnxruntime", "tokenizers") else SMALL
    if package == "PIL.Image":
        model = image_model(tmp_path / "m.onnx", W)
    monkeypatch.setitem(sys.modules, package, None)
    name = package.partition(".")[0]
    with pytest.raises(ImportError, match=rf"{name} is needed .* pip install 'selftaught\[{extra}\]'"):
        Backbone(model, reads).fit().transform([np.zeros((4, 9, 3), np.uint8)])
