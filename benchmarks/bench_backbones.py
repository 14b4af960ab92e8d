"""How many images and texts a second do the networks take, against the plain library in a loop?

The peers do what a careful script would: decode with Pillow, resize, cut, scale, and run torch's module or
onnxruntime's session on batches of the same size, once with one thread and once with as many as there are cores. Ours
runs with n_jobs=1 and n_jobs=cores. The networks come from files in --weights where they are there (vgg19-dcbb9e9d.pth,
mobilenet_v2-b0353104.pth; model.onnx with tokenizer.json of a sentence model), else they are drawn at random, which
takes as long; an ONNX file is not made up. Runs of ours and of the peer take turns, and a ratio above 1 says that ours
is faster: by the clock, and in seconds of work of all cores, which a busy machine disturbs less.
"""

from __future__ import annotations

import csv
import os
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from common import Log, Table, parser, timed
from PIL import Image
from torch import nn

from selftaught.features import IMAGENET, Backbone, MobileNetV2Features, TextInput, VGG19Features
from selftaught.features.architectures.mobilenet_v2 import MobileNetV2
from selftaught.features.architectures.vgg19 import VGG19

BATCH = 8
WORDS = "the a film was very good bad and plot actor boring music scene of in never seen such ending".split()


def main():
    made = parser(__doc__)
    made.add_argument("--weights", type=Path, metavar="DIR", help="folder of the networks' files")
    made.add_argument("--images", type=int, default=128, help="how many for MobileNetV2; VGG-19 gets an eighth")
    made.add_argument("--repeats", type=int, default=5)
    args = made.parse_args()
    if args.quick:
        args.images, args.repeats = 16, 1
    log, cores = Log(args), os.cpu_count() or 1
    table = Table("network", "threads", "items", "ours /s", "peer /s", "ratio", "work ratio", "apart")
    with tempfile.TemporaryDirectory() as folder:
        paths = image_files(args, Path(folder))
        for name, n_items in (("MobileNetV2", args.images), ("VGG-19", max(2, args.images // 8))):
            for threads in sorted({1, cores}):
                pair = image_pair(name, args.weights, threads, Path(folder))
                measure(table, log, args, name, threads, paths[:n_items], *pair)
        model, tokenizer = found(args.weights, "model.onnx"), found(args.weights, "tokenizer.json")
        if model is None or tokenizer is None:
            print("no model.onnx and tokenizer.json in --weights: no measurement of sentences")
            return
        for threads in sorted({1, cores}):
            measure(table, log, args, "sentences", threads, texts(args), *text_pair(model, tokenizer, threads))


def found(folder, name):
    """Return the path of a file in a folder or below, or None."""
    return None if folder is None else next(folder.rglob(name), None)


def measure(table, log, args, name, threads, items, ours, peer):
    """Time both in turns, and compare their rows."""
    ours(items[:2]), peer(items[:2])
    seconds, work, rows = {"ours": [], "peer": []}, {"ours": [], "peer": []}, {}
    for _ in range(args.repeats):
        for who, run in (("ours", ours), ("peer", peer)):
            begin = time.process_time()
            taken, rows[who] = timed(run, items)
            work[who].append(time.process_time() - begin)
            seconds[who].append(taken)
    took = {who: float(np.median(runs)) for who, runs in seconds.items()}
    worked = {who: float(np.median(runs)) for who, runs in work.items()}
    apart = float(np.abs(rows["ours"] - rows["peer"]).max() / np.abs(rows["peer"]).max())
    ratio, work_ratio = took["peer"] / took["ours"], worked["peer"] / worked["ours"]
    table.row(name, threads, len(items), len(items) / took["ours"], len(items) / took["peer"], ratio, work_ratio, apart)
    log.add(
        dict(network=name, threads=threads, n_items=len(items), batch_size=BATCH),
        seconds=took,
        core_seconds=worked,
        ratio=ratio,
        core_ratio=work_ratio,
        largest_relative_difference=apart,
    )


# --- images


def image_pair(name, weights, threads, folder):
    """Return ours and the peer for one network, both from the same file."""
    module, extractor, published = {
        "MobileNetV2": (MobileNetV2, MobileNetV2Features, "mobilenet_v2-b0353104.pth"),
        "VGG-19": (VGG19, VGG19Features, "vgg19-dcbb9e9d.pth"),
    }[name]
    path = found(weights, published) or folder / published
    if not path.is_file():
        torch.manual_seed(0)
        torch.save(module().state_dict(), path)
    plain = module().eval()
    plain.load_state_dict(torch.load(path, weights_only=True))
    if name == "MobileNetV2":
        plain = nn.Sequential(plain.features, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    else:
        plain = nn.Sequential(plain.features, plain.avgpool, nn.Flatten(), plain.classifier[:5])
    fitted = extractor(path, batch_size=BATCH, n_jobs=threads).fit()

    def peer(paths):
        torch.set_num_threads(threads)
        with torch.inference_mode():
            batches = (paths[start : start + BATCH] for start in range(0, len(paths), BATCH))
            return torch.cat([plain(torch.stack([seen(path) for path in batch])) for batch in batches]).numpy()

    return fitted.transform, peer


def seen(path):
    """Return what the network sees of an image, as torchvision's documentation says."""
    image = Image.open(path).convert("RGB")
    image = image.resize([int(256 * side / min(image.size)) for side in image.size], Image.Resampling.BILINEAR)
    left, top = (round((side - 224) / 2) for side in image.size)
    pixels = np.array(image.crop((left, top, left + 224, top + 224)), np.float32) / 255
    return torch.from_numpy((pixels - np.float32(IMAGENET.mean)) / np.float32(IMAGENET.std)).permute(2, 0, 1)


def image_files(args, folder):
    """Return the paths of Caltech images, or of noise in their size."""
    if args.data is not None:
        with open(args.data / "caltech101" / "images_30.csv", newline="") as lines:
            names = [line["file"] for line in csv.DictReader(lines)]
        names = names[:: max(1, len(names) // args.images)][: args.images]
        with tarfile.open(args.data / "caltech101" / "images_30.tar") as archive:
            for name in names:
                archive.extract(name, folder, filter="data")
        return [folder / name for name in names]
    rng, paths = np.random.default_rng(args.seed), []
    for number in range(args.images):
        paths.append(folder / f"{number}.jpg")
        pixels = rng.integers(0, 256, (15, 20, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((180, 135)).save(paths[-1], quality=80)
    return paths


# --- texts


def texts(args):
    """Return made-up sentences of 3 to 40 words."""
    rng = np.random.default_rng(args.seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 40))) + f" {i}" for i in range(args.images)]


def text_pair(model, tokenizer, threads):
    """Return ours and the peer: onnxruntime's session in a loop, padded to the longest text of the batch."""
    import onnxruntime
    from tokenizers import Tokenizer

    reads = TextInput(tokenizer, max_length=128)
    fitted = Backbone(model, reads, normalize=True, batch_size=BATCH, n_jobs=threads).fit()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    plain = Tokenizer.from_file(str(tokenizer))
    plain.enable_truncation(128)
    plain.enable_padding()

    def peer(items):
        rows = []
        for start in range(0, len(items), BATCH):
            encoded = plain.encode_batch(items[start : start + BATCH])
            ids, mask = (np.array([getattr(e, kind) for e in encoded]) for kind in ("ids", "attention_mask"))
            inputs = dict(input_ids=ids, attention_mask=mask, token_type_ids=np.zeros_like(ids))
            answer = session.run(None, inputs)[0]
            means = (answer * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            rows.append(means / np.linalg.norm(means, axis=1, keepdims=True))
        return np.concatenate(rows)

    return fitted.transform, peer


if __name__ == "__main__":
    main()
