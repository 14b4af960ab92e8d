"""One value and gradient of the autoencoder's objective against the least it could cost.

The least: its five matrix products into arrays that already exist, and one pass of the sigmoid over the codes and one
over the reconstructions. Two columns of it: with the library's own sigmoid (tanh, in place), and with
scipy.special.expit. With the graph term an evaluation also multiplies the Laplacian by the codes; what that product
takes alone is a column of its own. The contestants take turns, so that a busy moment of the machine meets them all;
"shortest" is the shortest run of ours over the shortest with tanh, which other work on the machine disturbs least.
"""

from __future__ import annotations

import numpy as np
from common import Log, Table, paper_split, parser, timed
from scipy.special import expit

from selftaught.relevance import blend_aim, knn_laplacian, objective_and_gradient, pack, random_start
from selftaught.relevance.autoencoder import _sigmoid


def main():
    made = parser(__doc__)
    made.add_argument("--n-hidden", type=int, nargs="+", default=[10, 100, 200])
    made.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    made.add_argument("--repeats", type=int, default=31)
    args = made.parse_args()
    repeats = 3 if args.quick else args.repeats
    log = Log(args)
    X_source, X_target, name = paper_split(args)
    X_target = X_target.astype(args.dtype)
    X = np.concatenate([X_source.astype(args.dtype), X_target])
    laplacian = knn_laplacian(X)
    print(f"{name}: n = {len(X)}, d = {X.shape[1]}, {args.dtype}, medians of {repeats}, milliseconds")
    titles = (
        "gamma=0",
        "gamma>0",
        "5 products",
        "+ tanh",
        "+ expit",
        "graph",
        "ours/tanh",
        "ours/expit",
        "shortest",
    )
    table = Table("n_hidden", *titles)
    for n_hidden in args.n_hidden:
        runs = measure(X, X_target, laplacian, n_hidden, repeats)
        ms = {what: 1e3 * float(np.median(seconds)) for what, seconds in runs.items()}
        shortest = min(runs["gamma=0"]) / min(runs["tanh"])
        over_tanh, over_expit = ms["gamma=0"] / ms["tanh"], ms["gamma=0"] / ms["expit"]
        table.row(n_hidden, *ms.values(), over_tanh, over_expit, shortest)
        log.add(
            dict(data=name, n=len(X), d=X.shape[1], n_target=len(X_target), n_hidden=n_hidden, dtype=args.dtype),
            seconds={what: value / 1e3 for what, value in ms.items()},
            ratio_over_tanh=over_tanh,
            ratio_over_expit=over_expit,
            ratio_of_shortest=shortest,
            ratio_with_graph=ms["gamma>0"] / (ms["tanh"] + ms["graph"]),
        )


def measure(X, X_target, laplacian, n_hidden, repeats):
    """Return the seconds of every run of each contestant."""
    rng = np.random.default_rng(0)
    autoencoder = random_start(X, n_hidden, rng)
    theta, aim = pack(autoencoder), blend_aim(X, X_target, 1.0)
    least = Least(X, autoencoder)
    codes = rng.random((len(X), n_hidden)).astype(X.dtype)
    contestants = {
        "gamma=0": lambda: objective_and_gradient(theta, X, aim),
        "gamma>0": lambda: objective_and_gradient(theta, X, aim, laplacian, gamma=1e-4),
        "products": lambda: least.run(lambda values: None),
        "tanh": lambda: least.run(_sigmoid),
        "expit": lambda: least.run(lambda values: expit(values, out=values)),
        "graph": lambda: laplacian @ codes,
    }
    for contestant in contestants.values():
        contestant()
    seconds = {what: [] for what in contestants}
    for _ in range(repeats):
        for what, contestant in contestants.items():
            seconds[what].append(timed(contestant)[0])
    return seconds


class Least:
    """The five products of one evaluation and a sigmoid over codes and reconstructions, nothing allocated."""

    def __init__(self, X, autoencoder):
        n, d, m = len(X), X.shape[1], autoencoder.n_hidden
        self.X, self.W1, self.W2 = X, autoencoder.W1, autoencoder.W2
        shapes = dict(Z=(n, m), H=(n, d), dW2=(d, m), D2=(n, m), dW1=(m, d))
        self.into = {name: np.empty(shape, X.dtype) for name, shape in shapes.items()}

    def run(self, sigmoid):
        """H stands in for the error at the output, which has its shape."""
        to = self.into
        np.matmul(self.X, self.W1.T, out=to["Z"])
        sigmoid(to["Z"])
        np.matmul(to["Z"], self.W2.T, out=to["H"])
        sigmoid(to["H"])
        np.matmul(to["H"].T, to["Z"], out=to["dW2"])
        np.matmul(to["H"], self.W2, out=to["D2"])
        np.matmul(to["D2"].T, self.X, out=to["dW1"])


if __name__ == "__main__":
    main()
