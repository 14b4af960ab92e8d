"""Training: what is put into texts is found, weights stay capped, the best pass is kept."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selftaught.features import sentence_training
from selftaught.features.sentence_net import activations, start_net
from selftaught.features.sentence_training import Descent, cap_norms, set_apart, train_net

PHRASE = np.array([5, 6, 7])
QUICK = Descent(n_epochs=25, batch_size=20, dropout=0.2)
NOTHING = ([], np.empty(0, int))


def train(net, texts, codes, held_out, **changes):
    return train_net(net, texts, codes, held_out, replace(QUICK, **changes), np.random.RandomState(0))


def planted(rng, n=160, n_words=20):
    """Texts of the same words, of which those of class 1 have three in the order 5 6 7, the others never."""
    texts, codes = [], np.arange(n) % 2
    for code in codes:
        text = rng.permutation(np.delete(rng.integers(8, n_words, size=12), slice(0, 3)))
        place = rng.integers(0, 9)
        phrase = PHRASE if code else PHRASE[::-1]
        texts.append(np.insert(text, place, phrase))
    return texts, codes


def net_for(rng, n_words=20, widths=(3,), n_maps=8):
    vectors = rng.normal(size=(n_words, 10)).astype(np.float32)
    vectors[0] = 0
    return start_net(vectors, widths, n_maps, 2, np.random.RandomState(0))


@pytest.mark.parametrize("tune", [True, False])
def test_a_planted_phrase_is_learned_by_filters_that_span_it(tune, rng):
    texts, codes = planted(rng)
    new, new_codes = planted(rng)
    net, epochs, best = train(net_for(rng), texts, codes, (new, new_codes), tune=tune)
    assert epochs[best].held_out_accuracy > 0.95 and epochs[-1].loss < epochs[0].loss / 3
    with_phrase, reversed_phrase = activations(net, [PHRASE, PHRASE[::-1]])
    assert (net.weights[1] - net.weights[0]) @ (with_phrase - reversed_phrase) > 1


def test_filters_of_one_word_cannot_learn_an_order(rng):
    # Both classes have the same words, so that without the order there is nothing to learn.
    texts, codes = planted(rng)
    new = planted(rng, 400)
    _, epochs, best = train(net_for(rng, widths=(1,)), texts, codes, new)
    assert epochs[best].held_out_accuracy < 0.65


def test_after_every_step_no_weights_of_a_class_are_longer_than_the_cap(rng, monkeypatch):
    texts, codes = planted(rng)
    lengths = []
    monkeypatch.setattr(
        sentence_training,
        "loss_and_gradient",
        lambda net, *args, **kwargs: (
            lengths.append(np.linalg.norm(net.weights, axis=1).max()) or unchanged(net, *args, **kwargs)
        ),
    )
    train(net_for(rng), texts, codes, NOTHING, norm_cap=0.3, n_epochs=10)
    assert max(lengths) <= 0.3 * (1 + 1e-6) and max(lengths) > 0.29, "the cap is reached, and kept"


unchanged = sentence_training.loss_and_gradient


def test_static_vectors_stay_and_tuned_ones_move_but_for_zeros(rng):
    texts, codes = planted(rng)
    for tune in (False, True):
        net = net_for(rng)
        before = net.vectors.copy()
        net, _, _ = train(net, texts, codes, NOTHING, tune=tune, n_epochs=3)
        moved = abs(net.vectors - before).max(axis=1) > 0
        assert moved[PHRASE].all() == tune
        assert not moved[[0, 1, 2, 3, 4]].any(), "zeros, and words that do not occur"


def test_the_best_pass_is_kept_and_patience_ends_the_rest(rng):
    texts, _ = planted(rng, 60)
    noise = rng.integers(0, 2, 60)
    held_out = planted(rng, 40)
    net, epochs, best = train(net_for(rng), texts, noise, held_out, n_epochs=60, patience=3)
    assert len(epochs) == min(60, best + 4)
    ranks = [(epoch.held_out_accuracy, -epoch.held_out_loss) for epoch in epochs]
    assert max(ranks) == ranks[best]
    assert sentence_training._judge(net, held_out, QUICK, None)[0] == epochs[best].held_out_accuracy


def test_without_texts_held_out_the_last_pass_is_kept(rng):
    texts, codes = planted(rng, 40)
    _, epochs, best = train(net_for(rng), texts, codes, NOTHING, n_epochs=4)
    assert len(epochs) == 4 and best == 3
    assert np.isnan(epochs[0].held_out_accuracy) and np.isnan(epochs[0].held_out_loss)


def test_every_class_gives_its_share_and_keeps_at_least_one(rng):
    codes = np.array([0] * 40 + [1] * 20 + [2] * 2 + [3])
    train, held_out = set_apart(codes, 0.1, np.random.RandomState(0))
    assert_array_equal(np.sort(np.concatenate([train, held_out])), np.arange(63))
    assert_array_equal(np.bincount(codes[held_out], minlength=4), [4, 2, 1, 0])
    assert_array_equal(set_apart(codes, 0, np.random.RandomState(0))[0], np.arange(63))


def test_norms_are_capped_and_short_ones_left_alone():
    weights = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    cap_norms(weights, 2.0)
    assert_allclose(weights, [[1.2, 1.6], [0.3, 0.4], [0.0, 0.0]])
    cap_norms(weights, np.inf)
    assert_allclose(weights, [[1.2, 1.6], [0.3, 0.4], [0.0, 0.0]])
