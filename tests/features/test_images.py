"""Image files and arrays of every kind become RGB; what cannot be read says why, and nothing warns."""

import io
import struct
import threading
import warnings
import zlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("PIL")

from picture_files import encoded, picture
from PIL import Image, ImageOps

from selftaught.features import Unreadable, images, read_image


@pytest.fixture
def rgb(rng):
    return picture(rng)


def difference(image, other):
    return np.abs(image.astype(int) - other).mean()


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "WEBP"])
def test_formats_that_lose_nothing(kind, rgb):
    options = dict(lossless=True) if kind == "WEBP" else {}
    found = read_image(encoded(rgb, kind, **options))
    assert_array_equal(found, rgb)
    assert found.dtype == np.uint8 and found.flags.writeable and found.flags.c_contiguous


def test_formats_that_lose_a_little(rgb):
    assert difference(read_image(encoded(rgb, "JPEG", quality=95)), rgb) < 5
    assert difference(read_image(encoded(rgb, "GIF")), rgb) < 12


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "YCbCr"])
def test_modes_are_shown_as_pillow_shows_them(mode, rgb):
    image = Image.fromarray(rgb).convert(mode)
    kind = "TIFF" if mode in ("CMYK", "YCbCr") else "PNG"
    assert_array_equal(read_image(encoded(image, kind)), np.asarray(image.convert("RGB")))


def test_a_cmyk_jpeg_keeps_its_colours(rgb):
    assert difference(read_image(encoded(Image.fromarray(rgb).convert("CMYK"), "JPEG", quality=95)), rgb) < 6


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_what_is_transparent_is_white(mode, rgb):
    image = Image.fromarray(rgb).convert(mode)
    opacity = np.zeros(rgb.shape[:2], np.uint8)
    opacity[:, :20] = 255
    image.putalpha(Image.fromarray(opacity))
    found = read_image(encoded(image))
    assert (found[:, 20:] == 255).all()
    assert_array_equal(found[:, :20], np.asarray(image.convert("RGB"))[:, :20])


def test_a_transparent_colour_of_a_palette_is_white():
    image = Image.fromarray(np.array([[0, 1]], np.uint8))
    image.putpalette([10, 20, 30, 40, 50, 60])
    assert read_image(encoded(image, transparency=1)).tolist() == [[[10, 20, 30], [255, 255, 255]]]


def test_half_transparent_lies_between():
    files = encoded(np.array([[[0, 100, 200, 128]]], np.uint8))
    array = np.array([[[0, 100, 200, 128]]], np.uint8)
    assert difference(read_image(files), read_image(array)) <= 1
    assert read_image(array).tolist() == [[[127, 177, 227]]]


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_greys_of_16_bits(kind):
    grey = np.array([[0, 257, 30_000, 65_535]], np.uint16)
    assert read_image(encoded(grey, kind))[0, :, 0].tolist() == [0, 1, 117, 255]


def test_greys_as_fractions_and_out_of_range():
    grey = np.array([[0.0, 0.5, 1.0]], np.float32)
    assert read_image(encoded(grey, "TIFF"))[0, :, 0].tolist() == [0, 128, 255]
    with pytest.raises(Unreadable, match="greys from 0 to 300, where 0 to 1 was expected"):
        read_image(encoded(300 * grey, "TIFF"))
    with pytest.raises(Unreadable, match="greys from -5 to 7, where 0 to 65535 was expected"):
        read_image(encoded(np.array([[-5, 7]], np.int32), "TIFF"))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "PNG"])
def test_photos_are_turned_upright(kind, orientation, rgb):
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = dict(quality=95) if kind == "JPEG" else {}
    raw = encoded(rgb, kind, exif=exif, **options)
    upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(raw))))
    found = read_image(raw)
    assert_array_equal(found, upright)
    assert found.shape[:2] == ((30, 40) if orientation < 5 else (40, 30))


def test_a_damaged_exif_block_turns_nothing(rgb):
    raw = encoded(rgb, "JPEG", exif=b"Exif\x00\x00II*\x00\xff\xff\xff\x00garbage")
    assert read_image(raw).shape == rgb.shape


def test_the_first_of_several_frames(rgb):
    others = [Image.fromarray(255 - rgb)]
    for kind in ("GIF", "TIFF", "WEBP"):
        raw = encoded(rgb, kind, save_all=True, append_images=others)
        assert difference(read_image(raw), rgb) < 12, kind


# What cannot be read


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "the file is empty"),
        (b"Dear diary", "no image of a known format"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "no image of a known format"),
        (b"\xff\xd8\xff garbage", "damaged or cut JPEG file"),
        (b"\x89PNG\r\n\x1a\n garbage", "damaged or cut PNG file"),
        (b"GIF89a", "damaged or cut GIF file"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "damaged or cut WEBP file"),
    ],
    ids=lambda value: value[:12].decode("ascii", "replace") if isinstance(value, bytes) else "",
)
def test_what_is_no_image_says_why(raw, reason):
    with pytest.raises(Unreadable, match=reason):
        read_image(raw)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP"])
def test_a_cut_file_is_named_as_such_wherever_it_is_cut(kind, rgb):
    raw = encoded(rgb, kind)
    for share in (0.02, 0.1, 0.5, 0.8):
        with pytest.raises(Unreadable, match=rf"damaged or cut {kind} file|no image of a known format"):
            read_image(raw[: max(1, int(share * len(raw)))])


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP"])
def test_any_damage_ends_in_an_image_or_in_a_reason(kind, rgb, rng):
    raw = bytearray(encoded(rgb, kind))
    for _ in range(60):
        damaged = raw.copy()
        for place in rng.integers(0, len(raw), 4):
            damaged[place] = rng.integers(256)
        try:
            assert read_image(bytes(damaged)).shape[2] == 3
        except Unreadable as problem:
            assert str(problem)


def bomb(width, height):
    """A PNG of a few hundred bytes that claims this size."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(999))) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [9_000, 11_000, 60_000])
def test_a_decompression_bomb_is_refused_before_it_is_decoded(side):
    with pytest.raises(Unreadable, match="pixels"):
        read_image(bomb(side, side))


def test_the_limit_is_told_and_can_be_moved(rgb):
    with pytest.raises(Unreadable, match="40 x 30 pixels, and 1,199 are allowed in all"):
        read_image(encoded(rgb), max_pixels=1199)
    assert read_image(encoded(rgb), max_pixels=1200).shape == rgb.shape


def test_a_large_jpeg_is_read_at_reduced_size(rng):
    large = picture(rng, 600, 800)
    raw = encoded(large, "JPEG", quality=95)
    assert read_image(raw, at_least=200, max_pixels=40_000).shape == (150, 200, 3)
    assert read_image(raw, at_least=201).shape == (300, 400, 3)
    assert read_image(raw, at_least=5000).shape == (600, 800, 3)
    small = np.asarray(Image.fromarray(large).resize((200, 150), Image.Resampling.BOX))
    assert difference(read_image(raw, at_least=200), small) < 4
    # no other format can be read smaller than it is
    with pytest.raises(Unreadable, match="800 x 600 pixels, and 40,000"):
        read_image(encoded(large), at_least=200, max_pixels=40_000)


# Arrays


def test_arrays_of_all_allowed_shapes(rgb):
    assert_array_equal(read_image(rgb), rgb)
    grey = rgb[:, :, 0]
    for array in (grey, grey[:, :, None]):
        assert_array_equal(read_image(array), np.repeat(grey[:, :, None], 3, axis=2))
    assert_array_equal(read_image(rgb / 255), rgb)
    assert_array_equal(read_image((rgb / 255).astype(np.float32)), rgb)
    assert_array_equal(read_image(np.dstack([rgb, np.full_like(grey, 255)])), rgb)
    assert (read_image(np.dstack([rgb / 255, np.zeros(grey.shape)])) == 255).all()


def test_an_array_is_not_handed_back_itself(rgb):
    found = read_image(rgb)
    found[:] = 0
    assert rgb.any()


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros(5), r"shape \(5,\), where \(h, w\)"),
        (np.zeros((5, 5, 2)), r"shape \(5, 5, 2\)"),
        (np.zeros((0, 5)), r"shape \(0, 5, 1\)"),
        (np.full((5, 5), 2.0), r"values from 2 to 2; floats have to lie in \[0, 1\]"),
        (np.full((5, 5), np.nan), "values from nan to nan"),
        (np.zeros((5, 5), int), "an array of int64, where uint8, or float"),
        (np.zeros((5, 5), bool), "an array of bool"),
    ],
)
def test_other_arrays_say_what_is_allowed(array, reason):
    with pytest.raises(Unreadable, match=reason):
        read_image(array)


# Warnings


def test_warnings_of_pillow_do_not_leak_and_no_others_are_held_back(monkeypatch, rgb):
    def warn(*_):
        warnings.warn_explicit("huge", UserWarning, "Image.py", 1, module="PIL.Image")

    monkeypatch.setattr(images, "_upright", lambda image: warn() or image)
    read_image(encoded(rgb))
    with pytest.raises(UserWarning, match="huge"):
        warn()
    monkeypatch.setattr(images, "_upright", lambda image: warnings.warn("ours", stacklevel=1) or image)
    with pytest.raises(Unreadable, match="ours"):  # an error in the tests, which damage would end in too
        read_image(encoded(rgb))


def test_filters_are_as_before_after_many_threads(rgb):
    before, raw = list(warnings.filters), encoded(rgb)
    threads = [threading.Thread(target=lambda: [read_image(raw) for _ in range(20)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warnings.filters == before


def test_without_pillow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'selftaught\[images\]'"):
        read_image(b"\xff\xd8\xff")
