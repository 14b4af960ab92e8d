"""The single-layer autoencoder: codes, reconstructions, starting points, value and gradient.

``Z = sig(X W1' + b1)`` are the codes, ``H = sig(Z W2' + b2)`` the reconstructions, rows are samples throughout.
With the mapping fixed, the part of the objective that depends on the autoencoder is

    1/(2n) |H - X|^2  +  mu/(2 n_target) |H_target - M|^2  +  gamma Tr(Z' Lap Z)

where M is what the mapping makes of the source for each target row. For a target row the first two terms are two
parabolas in the same h, whose sum is one parabola around a point between x and its m, plus a constant:

    a/2 |h - t|^2 + const,      a = 1/n + mu/n_target,      t = (x/n + mu m/n_target) / a.

So one forward and one backward pass through a *blended* aim serve both terms at once: five matrix products in all.
The elementwise work runs over blocks of rows small enough to stay in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import randomized_svd

__all__ = [
    "Aim",
    "Autoencoder",
    "blend_aim",
    "decode",
    "encode",
    "objective_and_gradient",
    "pack",
    "random_start",
    "reconstruct",
    "spectral_start",
    "unpack",
    "value_and_gradient",
]

BLOCK_BYTES = 2**19


@dataclass(frozen=True)
class Autoencoder:
    """Weights of the autoencoder: ``W1`` (n_hidden, d), ``b1`` (n_hidden,), ``W2`` (d, n_hidden), ``b2`` (d,)."""

    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray
    b2: np.ndarray

    @property
    def n_hidden(self):
        """Number of hidden units."""
        return len(self.b1)


@dataclass(frozen=True)
class Aim:
    """What the reconstruction is drawn to: ``target`` (n, d), with what force ``pull`` (n,), and the constant left."""

    target: np.ndarray
    pull: np.ndarray
    constant: float


def encode(X, autoencoder):
    """Return the hidden codes Z of the rows of X, shape (n, n_hidden)."""
    return _sigmoid(_affine(X, autoencoder.W1, autoencoder.b1))


def decode(Z, autoencoder):
    """Return the reconstructions H of the codes Z, shape (n, d)."""
    return _sigmoid(_affine(Z, autoencoder.W2, autoencoder.b2))


def reconstruct(X, autoencoder):
    """Return decode(encode(X)), shape (n, d)."""
    return decode(encode(X, autoencoder), autoencoder)


def pack(autoencoder):
    """Flatten an autoencoder into the float64 vector theta that an optimiser moves."""
    parts = (autoencoder.W1, autoencoder.b1, autoencoder.W2, autoencoder.b2)
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])


def unpack(theta, d, dtype=np.float64):
    """Rebuild the autoencoder of width d from theta; views into one array of the dtype asked for."""
    theta = np.asarray(theta, dtype=dtype)
    m = (theta.size - d) // (2 * d + 1)
    W1, b1, W2, b2 = np.split(theta, np.cumsum([m * d, m, d * m]))
    return Autoencoder(W1.reshape(m, d), b1, W2.reshape(d, m), b2)


def blend_aim(X, mapped_target, mu):
    """Merge reconstruction and domain mapping into one aim for each row.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Source rows first, then the target rows.
    mapped_target : ndarray, shape (n_target, d)
        What the mapping makes of the source for each target row.
    mu : float
        Weight of the domain mapping.
    """
    n, n_target = len(X), len(mapped_target)
    near, far = 1 / n, mu / n_target
    aim = X.copy()
    aim[n - n_target :] *= near / (near + far)
    aim[n - n_target :] += (far / (near + far)) * mapped_target
    pull = np.full(n, near)
    pull[n - n_target :] += far
    apart = np.sum(np.square(X[n - n_target :] - mapped_target), dtype=np.float64)
    return Aim(aim, pull, 0.5 * near * far / (near + far) * apart)


def objective_and_gradient(theta, X, aim, laplacian=None, *, gamma=0.0):
    """Value and gradient of the smooth part of the objective, the mapping held fixed.

    Parameters
    ----------
    theta : ndarray, shape (2 d n_hidden + n_hidden + d,)
        The packed autoencoder; see `pack`.
    X : ndarray, shape (n, d)
        Source rows first, then the target rows. Products run in its dtype, sums in float64.
    aim : Aim
        From `blend_aim`.
    laplacian : sparse, shape (n, n), optional
        Needed where ``gamma`` is not zero.
    gamma : float
        Weight of the graph term.

    Returns
    -------
    value : float
    gradient : ndarray, float64, shaped like theta
    """
    value, gradient = value_and_gradient(theta, X, aim, laplacian, gamma=gamma)
    return value, gradient.astype(np.float64, copy=False)


def value_and_gradient(theta, X, aim, laplacian=None, *, gamma=0.0):
    """Return `objective_and_gradient` with the gradient in the dtype of X."""
    d, dtype = X.shape[1], X.dtype
    auto = unpack(theta, d, dtype)
    gradient = np.zeros(theta.size, dtype)
    g = unpack(gradient, d, dtype)
    Z = encode(X, auto)
    D2 = np.empty_like(Z)
    value = aim.constant
    if gamma:
        np.multiply(laplacian @ Z, dtype.type(2 * gamma), out=D2)
        value += 0.5 * np.einsum("ij,ij->", D2, Z, dtype=np.float64)
    slope = np.empty_like(Z[: _block_rows(d, dtype)])
    for rows in _row_blocks(len(X), d, dtype):
        Z_rows, D2_rows = Z[rows], D2[rows]
        D3, loss = _output_error(Z_rows, auto, aim.target[rows], aim.pull[rows])
        value += loss
        g.W2[...] += D3.T @ Z_rows
        g.b2[...] += D3.sum(axis=0)
        back = D3 @ auto.W2
        D2_rows[...] = back + D2_rows if gamma else back
        rate = slope[: len(Z_rows)]
        np.subtract(1, Z_rows, out=rate)
        rate *= Z_rows
        D2_rows *= rate
    np.matmul(D2.T, X, out=g.W1)
    g.b1[...] = D2.sum(axis=0)
    return float(value), gradient


def _output_error(Z, auto, target, pull):
    """Return D3 (the error at the output before its sigmoid) and the loss of a block of rows."""
    H = decode(Z, auto)
    D3 = H - target
    square = np.einsum("ij,ij->i", D3, D3)
    loss = 0.5 * float(pull @ square)
    D3 *= pull.astype(H.dtype)[:, None]
    D3 *= H
    np.subtract(1, H, out=H)
    D3 *= H
    return D3, loss


def random_start(X, n_hidden, rng):
    """Return the published start: uniform weights in +- sqrt(6 / (d + n_hidden + 1)), zero offsets."""
    d, dtype = X.shape[1], X.dtype
    reach = np.sqrt(6 / (d + n_hidden + 1))
    W1 = rng.uniform(-reach, reach, (n_hidden, d)).astype(dtype)
    W2 = rng.uniform(-reach, reach, (d, n_hidden)).astype(dtype)
    return Autoencoder(W1, np.zeros(n_hidden, dtype), W2, np.zeros(d, dtype))


def spectral_start(X, n_hidden, rng, *, reach=1.0, ridge=1e-6):
    """Start from the leading directions of the data, where the autoencoder is nearly a projection.

    The encoder projects the centred rows on their leading right singular vectors, scaled so that the widest code has
    standard deviation ``reach`` before the sigmoid, which is nearly straight there. The decoder is the ridge
    regression of ``logit(X)`` on the codes.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Rows with entries inside (0, 1); others are clipped for the decoder.
    n_hidden : int
    rng : numpy.random.RandomState
        For the randomised singular vectors, and for spare units where ``n_hidden`` exceeds the rank.
    """
    d, dtype = X.shape[1], X.dtype
    mean = X.mean(axis=0, dtype=np.float64).astype(dtype)
    centred = X - mean
    V, widest = _leading_directions(centred, n_hidden, rng)
    W1 = (reach / widest) * V
    encoder = Autoencoder(W1, -(W1 @ mean), np.zeros((d, n_hidden), dtype), np.zeros(d, dtype))
    W2, b2 = _ridge(encode(X, encoder), _logit(X), ridge)
    return Autoencoder(encoder.W1, encoder.b1, W2, b2)


def _leading_directions(centred, n_hidden, rng):
    """Return n_hidden unit directions (n_hidden, d), leading first, and the largest standard deviation along one."""
    n, d = centred.shape
    m = min(n_hidden, n, d)
    _, size, V = randomized_svd(centred, m, n_iter=4, random_state=rng)
    spread = size[0] / np.sqrt(n)
    if spread <= 8 * np.finfo(centred.dtype).eps:  # entries are of order one: what is left of equal rows is rounding
        spread = 0.0
    spare = rng.standard_normal((n_hidden - m, d)) / np.sqrt(d)
    V = np.vstack([V, spare]).astype(centred.dtype)
    return V, centred.dtype.type(spread if spread > 0 else 1)


def _logit(X, margin=1e-3):
    """Return log(x / (1 - x)), entries first clipped to [margin, 1 - margin]."""
    p = np.clip(X, margin, 1 - margin)
    return np.log(p) - np.log1p(-p)


def _ridge(Z, Y, ridge):
    """Return (W, b) of the ridge regression Y ~ Z W' + b, the penalty relative to the codes' mean variance."""
    Z_mean, Y_mean = Z.mean(axis=0, dtype=np.float64), Y.mean(axis=0, dtype=np.float64)
    Zc = Z.astype(np.float64) - Z_mean
    gram = Zc.T @ Zc
    # Codes are of order one: the second part is rounding, and saves a matrix of zeros from being singular.
    gram[np.diag_indices_from(gram)] += ridge * np.trace(gram) / len(gram) + np.finfo(float).eps * len(Z)
    W = np.linalg.solve(gram, Zc.T @ (Y - Y_mean)).T
    return W.astype(Z.dtype), (Y_mean - W @ Z_mean).astype(Z.dtype)


def _affine(X, W, b):
    """Return X W' + b."""
    out = X @ W.T
    out += b
    return out


def _sigmoid(values):
    """Replace the values by their sigmoids, in place; tanh never overflows and is vectorised in both precisions."""
    values *= values.dtype.type(0.5)
    np.tanh(values, out=values)
    values *= values.dtype.type(0.5)
    values += values.dtype.type(0.5)
    return values


def _block_rows(d, dtype):
    """Return how many rows of width d fill one block."""
    return max(64, BLOCK_BYTES // (d * dtype.itemsize))


def _row_blocks(n, d, dtype):
    """Yield slices that cover n rows of width d, each about BLOCK_BYTES large."""
    step = _block_rows(d, dtype)
    for start in range(0, n, step):
        yield slice(start, start + step)
