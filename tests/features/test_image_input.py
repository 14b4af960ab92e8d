"""What a network sees of an image, held against torch's own resampling and against pixels counted by hand."""

import io
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from selftaught.features import IMAGENET, ImageInput, Unreadable

RAW: dict[str, Any] = dict(mean=(0, 0, 0), std=(1, 1, 1))


@pytest.fixture
def image(rng):
    """A smooth RGB image, 60 rows and 90 columns."""
    small = rng.integers(0, 256, (4, 6, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(small).resize((90, 60), Image.Resampling.BICUBIC))


@pytest.mark.parametrize(
    ("side", "shape"), [(32, (60, 90)), (32, (90, 60)), (97, (60, 90)), (33, (61, 87)), (60, (60, 90))]
)
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_it_is_torchs_antialiased_resampling(rng, side, shape, interpolation):
    smooth = Image.fromarray(rng.integers(0, 256, (4, 6, 3), dtype=np.uint8)).resize(shape[::-1])
    seen = ImageInput(size=side, resize=side, interpolation=interpolation, **RAW).prepare(np.asarray(smooth))
    height, width = (int(side * s / min(shape)) for s in shape)
    batch = torch.from_numpy(np.array(smooth)).permute(2, 0, 1)[None].float()
    resized = torch.nn.functional.interpolate(batch, (height, width), mode=interpolation, antialias=True)
    top, left = round((height - side) / 2), round((width - side) / 2)
    expected = resized[0, :, top : top + side, left : left + side].clamp(0, 255).numpy()
    assert np.abs(255 * seen - expected).max() < 1.5, "Pillow rounds to whole numbers after each of two directions"


def test_without_resizing_the_middle_is_cut_out_exactly(image):
    seen = ImageInput(size=40, resize=60, **RAW).prepare(image)
    np.testing.assert_allclose(seen, image[10:50, 25:65].transpose(2, 0, 1) / 255, rtol=1e-6)
    assert seen.dtype == np.float32
    assert seen.flags.c_contiguous


def test_half_a_pixel_is_rounded_to_the_even_one_as_torchvision_does(image):
    seen = ImageInput(size=55, resize=60, **RAW).prepare(image)  # 2.5 rows above, 17.5 columns beside
    np.testing.assert_allclose(seen, image[2:57, 18:73].transpose(2, 0, 1) / 255, rtol=1e-6)


def test_the_whole_image_is_stretched_where_nothing_is_cut(image):
    seen = ImageInput(size=30, resize=None, **RAW).prepare(image)
    expected = np.asarray(Image.fromarray(image).resize((30, 30), Image.Resampling.BILINEAR))
    np.testing.assert_allclose(seen, expected.transpose(2, 0, 1) / 255, rtol=1e-6)


def test_mean_and_std_are_of_red_green_and_blue_whatever_the_order_of_channels(image):
    plain = ImageInput(size=60, resize=60, **RAW).prepare(image)
    mean, std = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.25, 2.0])
    expected = (plain - mean[:, None, None]) / std[:, None, None]
    settings: dict[str, Any] = dict(size=60, resize=60, mean=mean, std=std)
    np.testing.assert_allclose(ImageInput(**settings).prepare(image), expected, rtol=1e-5, atol=1e-6)
    bgr = ImageInput(**settings, channels="BGR").prepare(image)
    np.testing.assert_allclose(bgr, expected[::-1], rtol=1e-5, atol=1e-6)
    last = ImageInput(**settings, layout="NHWC").prepare(image)
    np.testing.assert_allclose(last, expected.transpose(1, 2, 0), rtol=1e-5, atol=1e-6)


def test_bytes_of_a_file_are_read_as_the_array_is(image):
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    np.testing.assert_array_equal(IMAGENET.decode(file.getvalue()), IMAGENET.prepare(image))
    with pytest.raises(Unreadable):
        IMAGENET.decode(file.getvalue()[:50])


def test_one_pixel_is_an_image():
    assert IMAGENET.prepare(np.zeros((1, 1, 3), np.uint8)).shape == (3, 224, 224)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(size=0), "size must be a whole number of pixels, at least 1, got 0"),
        (dict(size=2.5), "size must be a whole number"),
        (dict(resize=100), "resize must be a whole number of at least size=224, or None .*got 100"),
        (dict(interpolation="nearest"), "interpolation must be 'bilinear' or 'bicubic', got 'nearest'"),
        (dict(channels="GRB"), "channels must be 'RGB' or 'BGR', got 'GRB'"),
        (dict(layout="NCWH"), "layout must be 'NCHW' or 'NHWC'"),
        (dict(mean=0.5), "mean must be 3 numbers, for red, green and blue, got 0.5"),
        (dict(std=(1, 1, "a")), "std must be 3 numbers"),
        (dict(mean=(0, 0, np.nan)), "mean must be 3 numbers"),
        (dict(std=(1, 0, 1)), "std must be above 0"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        ImageInput(**wrong)
