"""The published GASTL, stage 1, as plain as it can be written: reference of the tests, peer of the benchmarks.

Nothing here is shared with the library, and nothing is clever: the neighbour graph comes from all n x n similarities,
reconstruction and mapping are differentiated in two passes, each iteration of the A-step solves a dense n_source x
n_source system, and the autoencoder starts at random. Only what is certainly wrong in print is put right: the factor 2
in the A-step, the input of the mapping term's gradient, and a row norm smoothed as sqrt(|A_i|^2 + eps^2) instead of a
constant added to A. What the paper leaves open: the first A-step maps onto the target rows themselves.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse

# rows are samples


class Weights(NamedTuple):
    """The autoencoder: ``W1`` (n_hidden, d), ``b1`` (n_hidden,), ``W2`` (d, n_hidden), ``b2`` (d,)."""

    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray
    b2: np.ndarray


class PublishedSolution(NamedTuple):
    """``A`` (n_source, n_target) dense; ``objective_path`` after the start and each round; ``seconds`` by step."""

    autoencoder: Weights
    A: np.ndarray
    objective_path: list[float]
    seconds: dict[str, float]


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


def forward(X, weights):
    """Return codes and reconstructions."""
    Z = sigmoid(X @ weights.W1.T + weights.b1)
    return Z, sigmoid(Z @ weights.W2.T + weights.b2)


def published_laplacian(X, n_neighbors=5):
    """D - S of the symmetrised cosine graph; stored sparse, so that its products cost no more than its edges."""
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    near = np.argsort(-cosine, axis=1, kind="stable")[:, : min(n_neighbors, len(X) - 1)]
    joined = np.zeros(cosine.shape, dtype=bool)
    np.put_along_axis(joined, near, True, axis=1)
    S = np.where(joined | joined.T, np.clip(cosine, 0, None), 0)
    return sparse.csr_array(np.diag(S.sum(axis=1)) - S)


def published_objective(X_source, X_target, weights, A, laplacian, lam, gamma, mu=1.0):
    X = np.vstack([X_source, X_target])
    Z, H = forward(X, weights)
    reconstruction = np.sum((H - X) ** 2) / (2 * len(X))
    mapping = np.sum((A.T @ X_source - H[len(X_source) :]) ** 2) / (2 * len(X_target))
    return reconstruction + mu * mapping + lam * np.linalg.norm(A, axis=1).sum() + gamma * np.sum(Z * (laplacian @ Z))


def published_a_step(X_source, H_target, lam, mu=1.0, n_iter=20, eps=1e-8, start=None):
    """Reweighted ridge regressions: the row norms of one are the weights of the next."""
    n_source, n_target = len(X_source), len(H_target)
    gram, right = mu * X_source @ X_source.T, mu * X_source @ H_target.T
    A = np.ones((n_source, n_target)) if start is None else start
    for _ in range(n_iter):
        U = 1 / (2 * np.sqrt(np.sum(A**2, axis=1) + eps**2))
        A = np.linalg.solve(gram + np.diag(2 * n_target * lam * U), right)
    return A


def published_theta_step(X_source, X_target, weights, A, laplacian, gamma, mu=1.0, n_iter=400, history=100):
    """L-BFGS on the autoencoder, the mapping held fixed; returns the weights it ends with."""
    X = np.vstack([X_source, X_target])
    mapped = A.T @ X_source
    cuts, shapes = np.cumsum([part.size for part in weights])[:-1], [part.shape for part in weights]

    def unpack(theta):
        return Weights(*(part.reshape(shape) for part, shape in zip(np.split(theta, cuts), shapes, strict=True)))

    def backward(rows, aim, weight, w):
        Z, H = forward(rows, w)
        D3 = weight * (H - aim) * H * (1 - H)
        D2 = (D3 @ w.W2) * Z * (1 - Z)
        return weight / 2 * np.sum((H - aim) ** 2), (D2.T @ rows, D2.sum(axis=0), D3.T @ Z, D3.sum(axis=0))

    def value_and_gradient(theta):
        w = unpack(theta)
        loss, gradient = backward(X, X, 1 / len(X), w)
        mapping, gradient_mapping = backward(X_target, mapped, mu / len(X_target), w)
        Z = sigmoid(X @ w.W1.T + w.b1)
        D2 = 2 * gamma * (laplacian @ Z) * Z * (1 - Z)
        gradient_graph = (D2.T @ X, D2.sum(axis=0), np.zeros(shapes[2]), np.zeros(shapes[3]))
        parts = [(a + b + c).ravel() for a, b, c in zip(gradient, gradient_mapping, gradient_graph, strict=True)]
        return loss + mapping + gamma * np.sum(Z * (laplacian @ Z)), np.concatenate(parts)

    theta = np.concatenate([part.ravel() for part in weights])
    options = dict(maxiter=n_iter, maxfun=20 * n_iter, maxcor=history, ftol=0.0, gtol=0.0)
    return unpack(optimize.minimize(value_and_gradient, theta, jac=True, method="L-BFGS-B", options=options).x)


def published_gastl(
    X_source,
    X_target,
    lam,
    gamma,
    mu,
    n_hidden,
    n_outer,
    n_iter=400,
    history=100,
    random_state=None,
    n_a_iter=20,
    tol=0.0,
):
    """Alternate the two steps n_outer times from a random autoencoder, or until the objective falls less than tol."""
    seconds = {"graph": 0.0, "mapping": 0.0, "autoencoder": 0.0}

    def timed(step, function, *args, **kwargs):
        begin = time.perf_counter()
        result = function(*args, **kwargs)
        seconds[step] += time.perf_counter() - begin
        return result

    d, rng = X_source.shape[1], np.random.default_rng(random_state)
    reach = np.sqrt(6 / (d + n_hidden + 1))
    W1, W2 = rng.uniform(-reach, reach, (n_hidden, d)), rng.uniform(-reach, reach, (d, n_hidden))
    weights = Weights(W1, np.zeros(n_hidden), W2, np.zeros(d))
    laplacian = timed("graph", published_laplacian, np.vstack([X_source, X_target]))
    A = timed("mapping", published_a_step, X_source, X_target, lam, mu, n_a_iter)
    path = [published_objective(X_source, X_target, weights, A, laplacian, lam, gamma, mu)]
    for _ in range(n_outer):
        steps = (X_source, X_target, weights, A, laplacian, gamma, mu, n_iter, history)
        weights = timed("autoencoder", published_theta_step, *steps)
        H_target = forward(X_target, weights)[1]
        A = timed("mapping", published_a_step, X_source, H_target, lam, mu, n_a_iter, start=A)
        path.append(published_objective(X_source, X_target, weights, A, laplacian, lam, gamma, mu))
        if path[-2] - path[-1] < tol * path[-2]:
            break
    return PublishedSolution(weights, A, path, seconds)
