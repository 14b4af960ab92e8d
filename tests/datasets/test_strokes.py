"""Pen drawings cover as much of the page as asked and go where they should."""

import numpy as np
import pytest

from selftaught.datasets.strokes import LETTERS, draw_letters, draw_scribbles, ink_segments

VERTICAL = np.array([[[0.5, 0.1], [0.5, 0.9]]])


def test_a_vertical_line_inks_the_middle_columns():
    image = ink_segments(VERTICAL, ink=0.2)
    assert image[1:7, 3:5].min() > 0.7
    assert image[:, [0, 1, 6, 7]].max() == 0
    assert np.array_equal(image, image[:, ::-1]) and np.array_equal(image, image[::-1])


def test_a_line_ends_where_it_ends():
    upper_half = VERTICAL * [1, 0.5]
    assert ink_segments(upper_half, ink=0.1)[5:].max() == 0


def test_turning_the_line_turns_the_image():
    horizontal = VERTICAL[..., ::-1]
    assert np.array_equal(ink_segments(horizontal, ink=0.2), ink_segments(VERTICAL, ink=0.2).T)


@pytest.mark.parametrize("draw", [draw_letters, draw_scribbles])
def test_ink_is_as_asked(rng, draw):
    inks = rng.uniform(0.18, 0.42, size=50)
    images = draw(inks, rng)
    assert images.shape == (50, 8, 8)
    assert images.mean(axis=(1, 2)) == pytest.approx(inks, abs=0.01)
    # counted in blocks of 4 x 4 dots, as the digits are
    assert np.array_equal(images * 16, np.round(images * 16))
    assert images.min() == 0 and images.max() == 1


def test_drawings_differ(rng):
    for draw in (draw_letters, draw_scribbles):
        assert len(np.unique(draw(np.full(30, 0.3), rng), axis=0)) == 30


def test_a_segment_of_no_length_is_a_dot():
    image = ink_segments(np.full((1, 2, 2), 0.5), ink=0.1)
    assert image[3:5, 3:5].min() > 0.9 and image[[0, -1]].max() == 0


def test_glyphs_stay_in_the_unit_box():
    points = np.array([point for lines in LETTERS.values() for line in lines for point in line])
    assert points.min() == 0 and points.max() == 1
