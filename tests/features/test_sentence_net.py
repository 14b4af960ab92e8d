"""The network for texts against the formulas written plainly, against torch, and against finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selftaught.features.sentence_net import AT_A_TIME, activations, class_scores, loss_and_gradient, start_net

WIDTHS = (2, 3, 5)


def draw(rng, *, n_maps=4, d=6, n_words=30, widths=WIDTHS, n_classes=3):
    """A net all of whose parameters matter, and texts of 0 to 12 words."""
    vectors = rng.normal(size=(n_words + 1, d)).astype(np.float32)
    vectors[0] = 0
    net = start_net(vectors, widths, n_maps, n_classes, np.random.RandomState(rng.integers(2**31)))
    for filters in net.filters:
        filters[:] = rng.normal(size=filters.shape)
    net.offsets[:] = rng.normal(size=net.offsets.shape)
    net.weights[:] = rng.normal(size=net.weights.shape)
    net.intercept[:] = rng.normal(size=net.intercept.shape)
    texts = [rng.integers(0, n_words + 1, size=n) for n in (7, 0, 1, 12, 2, 5)]
    return net, texts, rng.integers(0, n_classes, size=len(texts))


def plain_activations(net, text):
    """The formula: every window of a text between zeros, one after the other, in float64."""
    zeros = np.zeros((9, net.vectors.shape[1]))
    rows = np.concatenate([zeros, net.vectors[text].astype(float), zeros])
    largest = [
        max(float(np.sum(rows[t : t + filters.shape[1]] * f)) for t in range(len(rows) - filters.shape[1] + 1))
        for filters in net.filters
        for f in filters
    ]
    return np.maximum(np.array(largest) + net.offsets, 0)


def test_activations_are_those_of_the_formula(rng):
    net, texts, _ = draw(rng, n_maps=AT_A_TIME + 3)
    expected = np.array([plain_activations(net, text) for text in texts])
    assert_allclose(activations(net, texts), expected, rtol=1e-5, atol=1e-5)


def test_a_text_without_words_has_the_offsets_that_are_positive(rng):
    net, _, _ = draw(rng)
    unknown = np.zeros(4, int)
    z = activations(net, [np.empty(0, int), unknown])
    assert_array_equal(z, [np.maximum(net.offsets, 0)] * 2)
    assert activations(net, [np.empty(0, int)]).shape == (1, 12)


def test_neither_the_texts_beside_it_nor_unknown_words_around_it_change_a_row(rng):
    # In no bit: rows come from a cache, which must not hand out another answer than the computation.
    for d in (6, 50, 301):
        net, texts, _ = draw(rng, d=d, n_words=700, n_maps=AT_A_TIME + 5)
        texts += [rng.integers(0, 701, size=n) for n in (300, 90, 600)]
        together = activations(net, texts)
        for text, row in zip(texts, together, strict=True):
            assert_array_equal(activations(net, [text])[0], row)
            between_zeros = np.concatenate([np.zeros(11, int), text, np.zeros(3, int)])
            assert_array_equal(activations(net, [between_zeros, *texts[:4]])[0], row)


def test_order_matters_within_a_window_but_place_does_not(rng):
    net, _, _ = draw(rng)
    phrase, filler = np.array([3, 1, 4]), np.zeros(9, int)
    moved = activations(net, [np.concatenate([phrase, filler]), np.concatenate([filler, phrase])])
    assert_array_equal(moved[0], moved[1])
    assert abs(activations(net, [phrase[::-1]])[0] - moved[0]).max() > 1e-2


@pytest.mark.parametrize("tune", [True, False])
def test_the_gradient_is_that_of_finite_differences(tune, rng):
    net, texts, codes = draw(rng)
    mask = (rng.random((len(texts), len(net.offsets))) < 0.6).astype(np.float32)
    in_double(net)
    _, gradient = loss_and_gradient(net, texts, codes, mask, tune=tune)
    for name, parameter, found in parts(net, gradient):
        for _ in range(6):
            place = tuple(rng.integers(0, size) for size in parameter.shape)
            step, at = 1e-5, parameter[place]
            parameter[place] = at + step
            above = loss_and_gradient(net, texts, codes, mask)[0]
            parameter[place] = at - step
            below = loss_and_gradient(net, texts, codes, mask)[0]
            parameter[place] = at
            assert_allclose(found[place], (above - below) / (2 * step), rtol=1e-6, atol=1e-8, err_msg=name)


def in_double(net):
    """Give the net parameters of float64, so that differences mean something."""
    net.vectors, net.offsets = net.vectors.astype(float), net.offsets.astype(float)
    net.filters = tuple(filters.astype(float) for filters in net.filters)
    net.weights, net.intercept = net.weights.astype(float), net.intercept.astype(float)


def parts(net, gradient):
    for i, filters in enumerate(net.filters):
        yield f"filters {i}", filters, gradient.filters[i]
    yield "offsets", net.offsets, gradient.offsets
    yield "weights", net.weights, gradient.weights
    yield "intercept", net.intercept, gradient.intercept
    if gradient.vectors is not None:
        full = np.zeros_like(net.vectors)
        full[gradient.words] = gradient.vectors
        assert_array_equal(full[0], 0, "zeros stay zeros")
        yield "vectors", net.vectors[1:], full[1:]


def test_loss_and_gradient_are_those_of_torch(rng):
    torch = pytest.importorskip("torch")
    net, texts, codes = draw(rng, n_maps=AT_A_TIME + 2, d=8)
    mask = (rng.random((len(texts), len(net.offsets))) < 0.5).astype(np.float32)
    loss, gradient = loss_and_gradient(net, texts, codes, mask)

    padded = np.zeros((len(texts), 40), np.int64)
    for row, text in zip(padded, texts, strict=True):
        row[10 : 10 + len(text)] = text
    vectors = torch.tensor(net.vectors, requires_grad=True)
    filters = [torch.tensor(f, requires_grad=True) for f in net.filters]
    offsets, weights, intercept = (
        torch.tensor(part, requires_grad=True) for part in (net.offsets, net.weights, net.intercept)
    )
    X = vectors[torch.tensor(padded)].transpose(1, 2)
    largest = torch.cat([torch.nn.functional.conv1d(X, f.transpose(1, 2)).amax(2) for f in filters], 1)
    scores = (torch.relu(largest + offsets) * torch.tensor(mask)) @ weights.T + intercept
    theirs = torch.nn.functional.cross_entropy(scores, torch.tensor(codes))
    theirs.backward()
    assert_allclose(loss, theirs.item(), rtol=1e-5)
    for ours, parameter in zip(gradient.filters, filters, strict=True):
        assert_allclose(ours, grad(parameter), rtol=1e-3, atol=1e-5)
    for ours, parameter in zip(
        (gradient.offsets, gradient.weights, gradient.intercept), (offsets, weights, intercept), strict=True
    ):
        assert_allclose(ours, grad(parameter), rtol=1e-3, atol=1e-5)
    expected = grad(vectors)
    expected[0] = 0
    found = np.zeros_like(expected)
    assert gradient.vectors is not None
    found[gradient.words] = gradient.vectors
    assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def grad(parameter):
    return parameter.grad.numpy().copy()


def test_texts_counted_twice_weigh_twice(rng):
    net, texts, codes = draw(rng)
    mask = np.ones((len(texts), len(net.offsets)), np.float32)
    loss, gradient = loss_and_gradient(net, texts, codes, mask)
    twice = loss_and_gradient(net, [*texts, *texts], np.tile(codes, 2), np.tile(mask, (2, 1)))
    assert_allclose(twice[0], loss, rtol=1e-6)
    assert_allclose(twice[1].filters[1], gradient.filters[1], rtol=1e-4, atol=1e-6)
    assert_array_equal(twice[1].words, gradient.words)


def test_a_spread_that_goes_backwards_changes_no_bit(rng):
    net, texts, codes = draw(rng)
    mask = np.ones((len(texts), len(net.offsets)), np.float32)

    def backwards(work, n):
        for i in reversed(range(n)):
            work(i)

    one, other = (loss_and_gradient(net, texts, codes, mask, spread=spread) for spread in (None, backwards))
    assert one[0] == other[0]
    assert_array_equal(one[1].filters[2], other[1].filters[2])
    assert_array_equal(activations(net, texts), activations(net, texts, spread=backwards))


def test_scores_at_rest_are_the_mean_over_masks(rng):
    net, texts, _ = draw(rng)
    z = activations(net, texts)
    masks = rng.random((20_000, 1, z.shape[1])) >= 0.3
    average = ((z * masks) @ net.weights.T + net.intercept).mean(axis=0)
    scores = class_scores(net, z, 0.3)
    assert_allclose(average, scores, atol=0.05 * abs(scores).max())
