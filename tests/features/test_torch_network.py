"""torch modules: not changed, told apart by content; files of weights: nothing but tensors is read from them."""

import copy
import pickle
import sys

import numpy as np
import pytest
import torch
from features.tiny_models import Embedding
from torch import nn

from selftaught.features.torch_network import TorchNetwork, fingerprint_of, read_weights


@pytest.fixture(autouse=True)
def seeded(seed):
    torch.manual_seed(seed)


def network(module, **settings):
    return TorchNetwork(module, "", **settings)


def test_it_runs_in_evaluation_mode_without_gradients():
    module = nn.Sequential(nn.Flatten(), nn.Dropout(0.9), nn.BatchNorm1d(4)).train()
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    answer = network(module).run(x)
    np.testing.assert_allclose(answer, x / np.sqrt(1 + 1e-5), rtol=1e-6)


def test_precision_of_the_parameters_is_taken_and_answers_are_float32():
    linear = nn.Linear(3, 2).double()
    x = np.ones((4, 3), np.float32)
    answer = network(copy.deepcopy(linear)).run(x)
    assert answer.dtype == np.float32
    with torch.no_grad():
        np.testing.assert_allclose(answer, linear(torch.ones(4, 3, dtype=torch.float64)), rtol=1e-6)


def test_texts_go_in_by_the_names_of_arguments():
    class Named(nn.Module):
        def forward(self, input_ids, attention_mask):
            return (input_ids * attention_mask).float()

    class Single(nn.Module):
        def forward(self, tokens):
            return tokens.float()

    class Anything(nn.Module):
        def forward(self, **inputs):
            return torch.stack([inputs[name].sum(1) for name in sorted(inputs)], dim=1).float()

    ids, mask = np.array([[3, 4], [5, 6]]), np.array([[1, 1], [1, 0]])
    texts = dict(input_ids=ids, attention_mask=mask, token_type_ids=np.zeros_like(ids))
    assert network(Named()).run(texts).tolist() == [[3, 4], [5, 0]]
    assert network(Single()).run(texts).tolist() == [[3, 4], [5, 6]]
    assert network(Anything()).run(texts).tolist() == [[2, 7, 0], [1, 11, 0]]


class Several(nn.Module):
    """Returns its input in several forms, as ``kind`` says."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        return {"tuple": (x, 2 * x), "dict": {"one": x, "two": 2 * x}, "number": 3.0, "numbers": (1.0, 2.0)}[self.kind]


@pytest.mark.parametrize(
    ("kind", "output", "factor"), [("tuple", None, 1), ("tuple", 1, 2), ("tuple", -2, 1), ("dict", None, 1)]
)
def test_one_of_several_outputs_is_taken_by_position(kind, output, factor):
    x = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(network(Several(kind), output=output).run(x), factor * x)


def test_one_of_several_outputs_is_taken_by_name():
    x = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(network(Several("dict"), output="two").run(x), 2 * x)


@pytest.mark.parametrize(
    ("kind", "output", "message"),
    [
        ("tuple", 2, "no output 2; it has numbers 0 to 1"),
        ("tuple", "two", "no output 'two'; it has numbers 0 to 1"),
        ("dict", "three", "no output 'three'; it has 'one', 'two'"),
        ("number", None, "must return a tensor, or several in a tuple or dict, got <class 'float'>"),
        ("numbers", None, "must return a tensor, or several"),
    ],
)
def test_an_output_that_is_not_there_is_refused(kind, output, message):
    with pytest.raises(ValueError, match=message):
        network(Several(kind), output=output).run(np.ones((1, 2), np.float32))


def test_a_fingerprint_tells_class_structure_and_numbers():
    linear = nn.Linear(2, 2)
    same = copy.deepcopy(linear)
    other = copy.deepcopy(linear)
    with torch.no_grad():
        other.weight[0, 0] += 1e-6
    assert fingerprint_of(linear) == fingerprint_of(same)
    different = [
        *(linear, other, copy.deepcopy(linear).double(), nn.Linear(2, 2, bias=False)),
        *(nn.Sequential(linear), nn.Sequential(linear, nn.Tanh()), nn.Sequential(linear, nn.ReLU())),
        *(nn.Embedding(3, 2), Embedding()),
    ]
    assert len({fingerprint_of(module) for module in different}) == len(different)


def test_a_fingerprint_sees_buffers_that_are_not_saved():
    module = nn.Linear(1, 1)
    shift = torch.zeros(3)
    module.register_buffer("shift", shift, persistent=False)
    before = fingerprint_of(module)
    shift += 1
    assert fingerprint_of(module) != before


def test_alone_means_one_thread_and_ends():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with network(nn.Identity()).alone():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_channels_together_in_memory_change_rounding_alone():
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    x = np.random.default_rng(0).normal(size=(2, 3, 16, 16)).astype(np.float32)
    plain = network(copy.deepcopy(module)).run(x)
    np.testing.assert_allclose(network(module, channels_last=True).run(x), plain, rtol=1e-4, atol=1e-6)


# --- files of weights


def test_weights_come_back_as_they_were_saved(tmp_path):
    state = nn.Linear(3, 2).state_dict()
    for old in (False, True):
        torch.save(state, tmp_path / "w.pth", _use_new_zipfile_serialization=not old)
        read = read_weights(tmp_path / "w.pth")
        assert [*read] == ["weight", "bias"]
        assert all(torch.equal(read[name], state[name]) for name in state)


class Malicious:
    """Pickled, it asks for a function to be called."""

    def __reduce__(self):
        return (sys.exit, ("code in the file was run",))


def test_code_in_a_file_is_never_run(tmp_path):
    (tmp_path / "w.pth").write_bytes(pickle.dumps({"weight": Malicious()}))
    with pytest.raises(ValueError, match=r"w\.pth is no file of weights .* or is damaged \(UnpicklingError\)"):
        read_weights(tmp_path / "w.pth")
    torch.save({"weight": Malicious()}, tmp_path / "w.pth")
    with pytest.raises(ValueError, match="is no file of weights"):
        read_weights(tmp_path / "w.pth")


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, -1])
def test_a_damaged_file_is_named(tmp_path, kept):
    torch.save(nn.Linear(30, 20).state_dict(), tmp_path / "w.pth")
    content = (tmp_path / "w.pth").read_bytes()
    (tmp_path / "w.pth").write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    with pytest.raises(ValueError, match=r"w\.pth is no file of weights as torch.save writes them, or is damaged"):
        read_weights(tmp_path / "w.pth")


def test_other_things_than_tensors_by_name_are_refused(tmp_path):
    for saved in (torch.ones(3), [torch.ones(3)], {"state_dict": {"w": torch.ones(3)}}):
        torch.save(saved, tmp_path / "w.pth")
        with pytest.raises(ValueError, match="must hold a state dict, tensors by the names of parameters"):
            read_weights(tmp_path / "w.pth")
    with pytest.raises(FileNotFoundError, match=r"there is no file of weights at .*absent\.pth"):
        read_weights(tmp_path / "absent.pth")
