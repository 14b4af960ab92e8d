"""Published weights: the table, strict loading without memory, and fetching from a server on this machine."""

import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from selftaught._download import FetchError, RemoteFile
from selftaught.features import MobileNetV2Features, VGG19Features
from selftaught.features.architectures.mobilenet_v2 import MobileNetV2
from selftaught.features.architectures.vgg19 import VGG19
from selftaught.features.pretrained import WEIGHT_FILES, strictly_loaded


@pytest.mark.parametrize("remote", WEIGHT_FILES, ids=lambda remote: remote.name)
def test_the_name_holds_the_first_digits_of_the_checksum_as_torchvision_has_it(remote):
    assert re.fullmatch("[0-9a-f]{64}", remote.sha256)
    assert remote.name.endswith(f"-{remote.sha256[:8]}.pth")
    assert remote.url == f"https://download.pytorch.org/models/{remote.name}"
    assert str(remote.place("data")).endswith(f"weights/{remote.name}")


@pytest.mark.parametrize("remote", WEIGHT_FILES, ids=lambda remote: remote.name)
def test_checksums_of_the_files_at_hand_are_right(shared_weights, remote, sha256):
    content = shared_weights(remote.name).read_bytes()
    assert (len(content), sha256(content)) == (remote.size, remote.sha256)


def weightless(build):
    """A state dict of the right names and shapes, in which each tensor is one number repeated."""
    with torch.device("meta"):
        state = build().state_dict()
    return {name: torch.full((), 0.5).to(tensor.dtype).expand(tensor.shape) for name, tensor in state.items()}


@pytest.mark.parametrize("build", [VGG19, MobileNetV2])
def test_a_file_of_the_right_names_and_shapes_is_loaded_as_it_is(tmp_path, build):
    torch.save(weightless(build), tmp_path / "w.pth")
    assert (tmp_path / "w.pth").stat().st_size < 300_000
    state = torch.load(tmp_path / "w.pth", weights_only=True)
    loaded = strictly_loaded(build, state, "w.pth")
    for name, tensor in loaded.state_dict().items():
        assert tensor.data_ptr() == state[name].data_ptr(), "taken over, not copied"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: s.pop("1.bias"),
            r"2\.pth does not hold the weights of Sequential .* 1 of 4 .* missing.* 1\.bias \(2,\)",
        ),
        (lambda s: s.update(more=torch.ones(3)), r"1 tensors are unknown, the first is more \(3,\)"),
        (lambda s: s.update({"0.bias": torch.ones(9)}), r"0\.bias has shape \(9,\), expected \(4,\)"),
    ],
)
def test_another_set_of_weights_is_refused_by_its_first_difference(change, message):
    def build():
        return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))

    state = dict(build().state_dict())
    change(state)
    with pytest.raises(ValueError, match=message):
        strictly_loaded(build, state, "2.pth")


def test_half_precision_is_made_whole():
    state = {name: tensor.half() for name, tensor in nn.Linear(2, 2).state_dict().items()}
    assert strictly_loaded(lambda: nn.Linear(2, 2), state, "").weight.dtype == torch.float32


# --- fetched


@pytest.fixture
def published(server, tmp_path, sha256, monkeypatch):
    """MobileNetV2 with random weights on the server, in place of the published file."""
    torch.manual_seed(0)
    torch.save(MobileNetV2().state_dict(), tmp_path / "made.pth")
    content = (tmp_path / "made.pth").read_bytes()
    url = server.serve("mobilenet.pth", content, cuts=[1000])
    remote = RemoteFile("weights", "mobilenet.pth", url, len(content), sha256(content), "http://example.invalid/page")
    monkeypatch.setattr(MobileNetV2Features, "_remote", remote)
    monkeypatch.setenv("SELFTAUGHT_DATA", str(tmp_path / "data"))
    return tmp_path / "made.pth"


def test_weights_are_fetched_once_verified_and_used(published, server, tmp_path, rng, sha256):
    image = rng.integers(0, 256, (50, 40, 3), dtype=np.uint8)
    expected = MobileNetV2Features(published).fit().transform([image])
    for _ in range(2):
        fetched = MobileNetV2Features().fit()
        np.testing.assert_array_equal(fetched.transform([image]), expected)
    assert [asked for _, asked, _ in server.asked] == [None, "bytes=1000-"], "continued where it broke off, then kept"
    assert fetched.fingerprint_ == sha256(published.read_bytes())
    assert [path.name for path in (tmp_path / "data" / "weights").iterdir()] == ["mobilenet.pth"]


def test_without_a_network_the_error_says_what_to_place_where(published, server, tmp_path):
    server.pages.clear()
    with pytest.raises(FetchError) as caught:
        MobileNetV2Features().fit()
    for part in (str(tmp_path / "data" / "weights" / "mobilenet.pth"), "http://example.invalid/page", "sha256"):
        assert part in str(caught.value)


def test_a_wrong_file_in_the_folder_of_weights_is_not_used(published, tmp_path):
    (tmp_path / "data" / "weights").mkdir(parents=True)
    (tmp_path / "data" / "weights" / "mobilenet.pth").write_bytes(b"something else")
    with pytest.raises(FetchError, match="is not the expected file"):
        MobileNetV2Features().fit()


@pytest.mark.parametrize("extractor", [VGG19Features, MobileNetV2Features])
def test_weights_of_another_network_or_none_at_all_are_named(tmp_path, extractor):
    with pytest.raises(FileNotFoundError, match=r"there is no file of weights at .*absent\.pth"):
        extractor(tmp_path / "absent.pth").fit()
    torch.save(nn.Linear(2, 2).state_dict(), tmp_path / "w.pth")
    network = extractor.__name__.removesuffix("Features")
    with pytest.raises(ValueError, match=rf"w\.pth does not hold the weights of {network} under torchvision's names"):
        extractor(tmp_path / "w.pth").fit()


def test_nobody_needs_torch_or_onnxruntime_to_import_the_extractors_or_to_read_a_model_file():
    # In a process of its own: this one has long imported everything.
    script = """
import sys
import selftaught.features
from selftaught.persistence import get_trusted_types
assert "selftaught.features.backbone.Backbone" in get_trusted_types()
heavy = {"torch", "onnxruntime", "tokenizers", "PIL"} & set(sys.modules)
assert not heavy, f"pulls {sorted(heavy)}"
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
