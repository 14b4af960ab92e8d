"""ONNX files: run by names and types of their inputs; what cannot be run is refused in words."""

import os
from typing import Any

import numpy as np
import pytest
from features.tiny_models import image_model, onnx_file, text_model

from selftaught.features.onnx_network import OnnxNetwork

W = np.array([[1.0, 2, 3], [0, -1, 0.5]])


def images(rng, n=3, side=8):
    return rng.normal(size=(n, 3, side, side)).astype(np.float32)


def test_it_computes_what_the_file_says(tmp_path, rng):
    x = images(rng)
    answer = OnnxNetwork(image_model(tmp_path / "m.onnx", W)).run(x)
    np.testing.assert_allclose(answer, np.tanh(x.mean((2, 3)) @ W.T), rtol=1e-5, atol=1e-6)
    assert answer.dtype == np.float32


@pytest.mark.parametrize("output", ["mean", 1, -1])
def test_an_output_is_taken_by_name_or_position(tmp_path, rng, output):
    x = images(rng)
    answer = OnnxNetwork(image_model(tmp_path / "m.onnx", W), output).run(x)
    np.testing.assert_allclose(answer[:, :, 0, 0], x.mean((2, 3)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("output", ["absent", 2, -3])
def test_an_output_that_is_not_there_is_refused(tmp_path, output):
    with pytest.raises(ValueError, match=f"has no output {output!r}; it has 'rows', 'mean'"):
        OnnxNetwork(image_model(tmp_path / "m.onnx", W), output)


@pytest.mark.parametrize("kind", ["INT64", "INT32"])
def test_texts_go_in_by_name_and_in_the_type_asked_for(tmp_path, rng, kind):
    table = rng.normal(size=(5, 3))
    ids = np.array([[1, 4], [2, 2]])
    network = OnnxNetwork(text_model(tmp_path / "t.onnx", table, kind=kind))
    answer = network.run(dict(input_ids=ids, attention_mask=np.ones_like(ids), token_type_ids=0 * ids))
    np.testing.assert_allclose(answer, table[ids], rtol=1e-6)


def test_half_precision_goes_in_and_comes_out(tmp_path):
    nodes = [("Flatten", ["x"], ["rows"], {})]
    path = onnx_file(tmp_path / "m.onnx", nodes, [("x", "FLOAT16", ["n", 3])], [("rows", "FLOAT16", None)])
    answer = OnnxNetwork(path).run(np.full((2, 3), 0.5, np.float32))
    assert answer.dtype == np.float32
    assert answer.tolist() == [[0.5] * 3] * 2


def test_images_for_a_model_of_texts_and_the_reverse_are_refused(tmp_path, rng):
    inputs = [("input_ids", "INT64", ["n", "t"]), ("attention_mask", "INT64", ["n", "t"])]
    nodes = [("Mul", ["input_ids", "attention_mask"], ["rows"], {})]
    texts = OnnxNetwork(onnx_file(tmp_path / "t.onnx", nodes, inputs, [("rows", "INT64", None)]))
    with pytest.raises(ValueError, match=r"t\.onnx asks for input_ids .*reads= must be a TextInput"):
        texts.run(images(rng))
    ids = np.ones((1, 2), int)
    with pytest.raises(ValueError, match=r"m\.onnx asks for x, and a text gives .*reads= must be an ImageInput"):
        OnnxNetwork(image_model(tmp_path / "m.onnx", W)).run(dict(input_ids=ids, attention_mask=ids))


def test_a_missing_or_damaged_model_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no model at .*absent\.onnx"):
        OnnxNetwork(tmp_path / "absent.onnx")
    content = image_model(tmp_path / "m.onnx", W).read_bytes()
    for damaged in (b"", content[: len(content) // 2], os.urandom(200)):
        (tmp_path / "d.onnx").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"d\.onnx is no ONNX model, or is damaged: \S"):
            OnnxNetwork(tmp_path / "d.onnx")


def test_the_fingerprint_is_the_files_content(tmp_path):
    first = OnnxNetwork(image_model(tmp_path / "a.onnx", W)).fingerprint
    assert OnnxNetwork(image_model(tmp_path / "b.onnx", W)).fingerprint == first
    assert OnnxNetwork(image_model(tmp_path / "c.onnx", 2 * W)).fingerprint != first


def test_weights_in_a_file_beside_the_model_are_part_of_the_fingerprint(tmp_path, rng):
    saving: dict[str, Any] = dict(save_as_external_data=True, location="weights.bin", size_threshold=0)
    path = image_model(tmp_path / "m.onnx", W, **saving)
    network = OnnxNetwork(path)
    x = images(rng)
    np.testing.assert_allclose(network.run(x), np.tanh(x.mean((2, 3)) @ W.T), rtol=1e-5, atol=1e-6)
    content = path.read_bytes()
    (tmp_path / "weights.bin").unlink()
    image_model(path, -W, **saving)
    assert path.read_bytes() == content, "the model itself is the same: only the file beside it has changed"
    assert OnnxNetwork(path).fingerprint != network.fingerprint


def test_how_many_items_go_in_together_is_the_files(tmp_path, rng):
    assert OnnxNetwork(image_model(tmp_path / "m.onnx", W)).at_once is None
    assert OnnxNetwork(image_model(tmp_path / "m.onnx", W, batch=1)).at_once == 1
    with pytest.raises(ValueError, match=r"m\.onnx takes exactly 4 items together. Export it with a free batch axis"):
        OnnxNetwork(image_model(tmp_path / "m.onnx", W, batch=4))


def test_a_model_quantized_while_it_runs_gets_one_item_at_a_time(tmp_path, rng):
    table = rng.normal(size=(5, 3)) * np.array([[1], [1], [1], [1], [100]])
    network = OnnxNetwork(text_model(tmp_path / "t.onnx", table, quantized=True))
    assert network.at_once == 1
    alone = network.run(dict(input_ids=np.array([[1, 2]])))
    beside_large = network.run(dict(input_ids=np.array([[1, 2], [4, 4]])))
    assert np.abs(alone[0] - beside_large[0]).max() > 0.1, "this is why"
