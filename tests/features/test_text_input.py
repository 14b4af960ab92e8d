"""What a network sees of a text: tokens, their limit, their padding."""

import numpy as np
import pytest
from features.tiny_models import tokenizer_file

from selftaught.features import TextInput, Unreadable
from selftaught.features.text_input import LONGEST


def opened(tmp_path, max_length=None, **settings):
    return TextInput(tokenizer_file(tmp_path / "tokenizer.json", **settings), max_length).open()


def test_a_batch_is_padded_to_its_longest_text(tmp_path):
    reader = opened(tmp_path)
    contents = [reader.decode(text) for text in (b"a b", b"c", b"")]
    inputs, mask = reader.batch(contents)
    assert inputs["input_ids"].tolist() == [[2, 4, 5, 3], [2, 6, 3, 0], [2, 3, 0, 0]]
    assert inputs["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]]
    assert not inputs["token_type_ids"].any()
    assert {array.dtype for array in inputs.values()} == {np.dtype(np.int64)}
    assert mask.tolist() == inputs["attention_mask"].astype(bool).tolist()


def test_a_text_is_cut_at_the_limit_and_keeps_its_ends(tmp_path):
    assert opened(tmp_path, 4).decode(b"a b c d e f").tolist() == [2, 4, 5, 3]


def test_the_limit_is_the_callers_or_the_files_or_the_usual_one(tmp_path):
    assert opened(tmp_path).max_length == LONGEST
    assert opened(tmp_path, truncation=5).max_length == 5
    assert opened(tmp_path, 7, truncation=5).max_length == 7


def test_a_file_that_pads_to_a_fixed_length_does_not(tmp_path):
    assert len(opened(tmp_path, padding=20).decode(b"a")) == 3


def test_pieces_are_of_like_length_and_hold_every_text_once(tmp_path, rng):
    contents = [np.zeros(n) for n in rng.integers(1, 30, 20)]
    pieces = [[len(contents[i]) for i in piece] for piece in opened(tmp_path).pieces(contents, 8)]
    assert [len(piece) for piece in pieces] == [8, 8, 4]
    assert np.concatenate(pieces).tolist() == sorted(map(len, contents))


def test_a_text_without_tokens_or_with_half_a_character_is_unreadable(tmp_path):
    reader = opened(tmp_path, with_ends=False)
    with pytest.raises(Unreadable, match="nothing is left of the text"):
        reader.decode(b"  ")
    with pytest.raises(Unreadable, match="half of a surrogate pair"):
        reader.decode("\ud800".encode("utf-8", "surrogatepass"))
    assert reader.blank().tolist() == [4]


def test_the_recipe_is_the_files_content_and_the_limit_not_its_name(tmp_path):
    first = opened(tmp_path).recipe()
    (tmp_path / "tokenizer.json").rename(tmp_path / "other.json")
    assert TextInput(tmp_path / "other.json").open().recipe() == first
    assert TextInput(tmp_path / "other.json", 9).open().recipe() != first
    assert opened(tmp_path, with_ends=False).recipe() != first


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "long"])
def test_a_wrong_limit_is_refused(wrong):
    with pytest.raises(ValueError, match="max_length must be a whole number of tokens, at least 1, or None, got"):
        TextInput("tokenizer.json", wrong)


def test_a_limit_that_leaves_no_token_between_the_ends_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"max_length must be above 2, the tokens that mark the ends .* got 2"):
        opened(tmp_path, 2)


def test_a_missing_or_damaged_tokenizer_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no tokenizer at .*absent.json.*published with the model"):
        TextInput(tmp_path / "absent.json").open()
    (tmp_path / "damaged.json").write_text('{"version": ')
    with pytest.raises(ValueError, match=r"damaged\.json is no tokenizer.json, or is damaged"):
        TextInput(tmp_path / "damaged.json").open()
    with pytest.raises(ValueError, match=r"tokenizer must be the path of a tokenizer.json, got None"):
        TextInput(None)  # type: ignore[arg-type]
