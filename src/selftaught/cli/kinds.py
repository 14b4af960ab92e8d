"""What rows can be made of, beside a person's own tables: images in a folder, texts in a file or folder, and by whom.

    images    sift, mobilenetv2, vgg19, onnx
    texts     sentence-cnn, sentence-onnx

A further extractor is one more `Maker`, a further kind of items one more `Kind`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from selftaught.features import (
    CLIP,
    IMAGENET,
    PLUS_MINUS_ONE,
    Backbone,
    MobileNetV2Features,
    SIFTBag,
    TextInput,
    VGG19Features,
    find_items,
)
from selftaught.features.extractor import FeatureExtractor

from .methods import parse_count
from .terminal import UsageError
from .texts import add_network_options, has_columns, make_sentence_cnn, read_texts

__all__ = ["KINDS", "MAKERS", "Items", "Kind", "Maker", "add_maker_options", "kind_of"]

INPUTS = {"imagenet": IMAGENET, "clip": CLIP, "plus-minus-one": PLUS_MINUS_ONE}


@dataclass(frozen=True, eq=False)
class Items:
    """Images or texts: ``items`` (n,), ``names`` (n,) by which results call them, and their classes ``y`` (n,).

    ``y`` is None where there are none; an image outside of any sub-folder has the class "".
    """

    items: Sequence | np.ndarray
    names: np.ndarray
    y: np.ndarray | None

    def take(self, positions):
        """Return some of the items; they have classes where each of them has one."""
        y = None if self.y is None or (self.y[positions] == "").any() else self.y[positions]
        return Items([self.items[i] for i in positions], self.names[positions], y)


@dataclass(frozen=True)
class Maker:
    """Makes an unfitted extractor of the parsed options.

    ``learns_from`` says what the extractor is fitted to: "items", "labels" (of the items, that is), or "nothing".
    """

    make: Callable[[Any], FeatureExtractor]
    learns_from: str

    def fit(self, extractor, items, y=None):
        """Fit the extractor to what it learns from."""
        if self.learns_from == "nothing":
            return extractor.fit()
        return extractor.fit(items) if self.learns_from == "items" else extractor.fit(items, y)


@dataclass(frozen=True)
class Kind:
    """One kind of items.

    ``place`` is what the help calls where they are; ``find`` takes it, the options, and the column of classes;
    ``names`` is what a file of rows calls their names; ``makers`` by short name, the default first; ``add_columns``
    adds the options that say where in a file they are.
    """

    place: str
    help: str
    names: str
    find: Callable[[Path, Any, str | None], Items]
    makers: dict[str, Maker]
    add_columns: Callable[[Any], None]


# Images


def _find_images(folder, arguments, label):
    if label is not None:
        raise UsageError("the classes of images are the names of sub-folders: leave out --label.")
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}.")
    paths = find_items(folder).paths
    inside = [path.relative_to(folder) for path in paths]
    first = np.array([path.parts[0] if len(path.parts) > 1 else "" for path in inside])
    return Items(paths, np.array([path.as_posix() for path in inside]), first)


def _make_onnx(arguments):
    return Backbone(_model(arguments), INPUTS[arguments.input])


def _model(arguments):
    if arguments.model is None:
        raise UsageError("name the network's file by --model FILE.onnx.")
    return _checked(arguments.model)


def _checked(path) -> Any:
    """Return a file's absolute path, so that a model that remembers it finds it from other folders too."""
    if path is not None and not path.is_file():
        raise UsageError(f"there is no file {path}.")
    return None if path is None else str(path.absolute())


# Texts


def _find_texts(place, arguments, label):
    if not place.exists():
        raise UsageError(f"there is no file or folder {place}.")
    # One --text serves two places, of which one may be a file of lines.
    texts = read_texts(place, arguments.text if has_columns(place) else None, label)
    return Items(texts.items, texts.names, texts.y)


def _make_sentence_onnx(arguments):
    if arguments.tokenizer is None:
        raise UsageError("name the file tokenizer.json that belongs to the network by --tokenizer FILE.")
    return Backbone(_model(arguments), TextInput(_checked(arguments.tokenizer)), normalize=True)


def _add_text_columns(parser):
    parser.add_argument("--text", metavar="COLUMN", help="column that holds the texts (.csv, .parquet)")


KINDS = {
    "images": Kind(
        place="FOLDER",
        help="a folder of images, and of sub-folders, which are its classes if no image lies beside them",
        names="paths",
        find=_find_images,
        makers={
            "sift": Maker(lambda a: SIFTBag(a.words, random_state=a.seed), "items"),
            "mobilenetv2": Maker(lambda a: MobileNetV2Features(_checked(a.weights)), "nothing"),
            "vgg19": Maker(lambda a: VGG19Features(_checked(a.weights), layer=a.layer), "nothing"),
            "onnx": Maker(_make_onnx, "nothing"),
        },
        add_columns=lambda parser: None,
    ),
    "texts": Kind(
        place="PLACE",
        help="a file of texts (.txt with one in each line, .csv, .parquet), or a folder of .txt files, whose "
        "sub-folders are classes",
        names="names",
        find=_find_texts,
        makers={
            "sentence-cnn": Maker(make_sentence_cnn, "labels"),
            "sentence-onnx": Maker(_make_sentence_onnx, "nothing"),
        },
        add_columns=_add_text_columns,
    ),
}
MAKERS = {name: maker for kind in KINDS.values() for name, maker in kind.makers.items()}


def kind_of(maker):
    """Return the kind of items that a maker's extractors, by its short name, make rows of."""
    return next(name for name, kind in KINDS.items() if maker in kind.makers)


def add_maker_options(group, kinds=tuple(KINDS)):
    """Add the options that decide how an extractor is made."""
    if "images" in kinds:
        group.add_argument("--words", type=parse_count, default=1000, metavar="N", help="sift: visual words (1000)")
        group.add_argument("--weights", type=Path, metavar="FILE", help="mobilenetv2, vgg19: torchvision's file")
        group.add_argument("--layer", default="fc7", choices=("fc7", "fc6", "pool5"), help="vgg19: of which (fc7)")
        group.add_argument("--input", default="imagenet", choices=tuple(INPUTS), help="onnx: scale (imagenet)")
    group.add_argument("--model", type=Path, metavar="FILE.onnx", help="onnx, sentence-onnx: the network")
    if "texts" in kinds:
        group.add_argument("--tokenizer", type=Path, metavar="FILE", help="sentence-onnx: its tokenizer.json")
        add_network_options(group)
