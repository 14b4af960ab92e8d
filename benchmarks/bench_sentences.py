"""How quick is the network for texts, and how good?

    python benchmarks/bench_sentences.py                                    speed, on simulated texts
    python benchmarks/bench_sentences.py --data DIR --vectors FOLDER        and accuracy, on film reviews and tweets

Speed: a training step (loss and gradient, static and tuned) and the activations, against the same network written
plainly with torch's Conv1d and autograd, on the same texts and parameters. Both use one thread. torch gets the texts
padded to the longest of their batch, sorted by length beforehand, so that little is padding. The clock begins with rows
of word vectors. That the two say the same is checked first.

Accuracy: texts drawn without repetitions, as many for training and for the test; word vectors static and tuned, and as
control TF-IDF of words and pairs with logistic regression, its penalty chosen by cross-validation within the training
texts. Mean and standard deviation over ``--splits`` draws. ``--vectors`` is anything that load_word_vectors takes.
"""

from functools import partial

import numpy as np
from common import Log, Table, median_timed, parser, timed
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from selftaught.datasets import load_imdb, load_tweets
from selftaught.features import SentenceCNN, load_word_vectors, tokenize
from selftaught.features.sentence_net import activations, loss_and_gradient, start_net

WIDTHS = (3, 4, 5)
SHAPES = ((50, 100), (300, 100), (50, 1000))  # dimension, filters of each width
TEXTS = {"reviews": (60, 400), "tweets": (4, 30)}  # words, from and to
N_WORDS = 20_000


def main():
    made = parser(__doc__)
    made.add_argument("--vectors", metavar="PATH", help="word vectors for the accuracies")
    made.add_argument("--splits", type=int, default=5)
    made.add_argument("--texts", type=int, default=5000, help="for training, and as many for the test")
    made.add_argument("--parts", nargs="*", default=["speed", "accuracy"], choices=["speed", "accuracy"])
    args = made.parse_args()
    log = Log(args)
    if "speed" in args.parts:
        with threadpool_limits(1):
            measure_speed(args, log)
    if "accuracy" in args.parts and args.data is not None:
        measure_accuracy(args, log)


# --- speed


def measure_speed(args, log):
    try:
        import torch
    except ImportError:
        print("speed is measured against torch, which is not there: pip install torch")
        return
    torch.set_num_threads(1)
    rng = np.random.RandomState(args.seed)
    n_texts = 64 if args.quick else 500
    table = Table("texts", "dimension", "maps", "what", "ours ms/text", "torch ms/text", "ratio")
    for kind, (least, most) in TEXTS.items():
        texts = [
            np.minimum(rng.zipf(1.2, size=rng.randint(least, most + 1)), N_WORDS).astype(np.intp)
            for _ in range(n_texts)
        ]
        texts.sort(key=len)
        batches = [texts[start : start + 50] for start in range(0, n_texts, 50)]
        for dimension, maps in SHAPES[: 1 if args.quick else None]:
            vectors = rng.normal(size=(N_WORDS + 1, dimension)).astype(np.float32)
            vectors[0] = 0
            net = start_net(vectors, WIDTHS, maps, 2, rng)
            net.weights[:] = rng.normal(size=net.weights.shape)
            peer = Peer(net)
            check_same(net, peer, batches[0])
            for what, ours, theirs in (
                ("activations", partial(our_activations, net), peer.activations),
                ("step, static", partial(our_steps, net, False), partial(peer.steps, False)),
                ("step, tuned", partial(our_steps, net, True), partial(peer.steps, True)),
            ):
                seconds = {"ours": median_timed(3, ours, batches)[0], "torch": median_timed(3, theirs, batches)[0]}
                ratio = seconds["torch"] / seconds["ours"]
                table.row(kind, dimension, maps, what, *(1e3 * s / n_texts for s in seconds.values()), ratio)
                log.add(
                    dict(texts=kind, dimension=dimension, maps=maps, what=what, n_texts=n_texts),
                    seconds=seconds,
                    ratio=ratio,
                )


def our_activations(net, batches):
    return [activations(net, batch) for batch in batches]


def our_steps(net, tune, batches):
    for batch in batches:
        loss_and_gradient(net, batch, np.arange(len(batch)) % 2, np.ones((len(batch), len(net.offsets))), tune=tune)


class Peer:
    """The network as one writes it with torch."""

    def __init__(self, net):
        import torch

        self.torch = torch
        self.embedding = torch.nn.Embedding.from_pretrained(torch.tensor(net.vectors), padding_idx=0)
        self.convolutions = torch.nn.ModuleList()
        for filters in net.filters:
            maps, width, dimension = filters.shape
            convolution = torch.nn.Conv1d(dimension, maps, width)
            convolution.weight.data = torch.tensor(np.ascontiguousarray(filters.transpose(0, 2, 1)))
            convolution.bias.data.zero_()
            self.convolutions.append(convolution)
        self.head = torch.nn.Linear(len(net.offsets), len(net.weights))
        self.head.weight.data, self.head.bias.data = torch.tensor(net.weights), torch.tensor(net.intercept)

    def forward(self, batch):
        torch, widest = self.torch, max(WIDTHS)
        padded = np.zeros((len(batch), max(map(len, batch)) + 2 * widest), np.int64)
        for row, text in zip(padded, batch, strict=True):
            row[widest : widest + len(text)] = text
        X = self.embedding(torch.from_numpy(padded)).transpose(1, 2)
        return torch.cat([torch.relu(convolution(X)).amax(2) for convolution in self.convolutions], 1)

    def activations(self, batches):
        with self.torch.no_grad():
            return [self.forward(batch).numpy() for batch in batches]

    def steps(self, tune, batches):
        self.embedding.weight.requires_grad_(tune)
        for batch in batches:
            self.embedding.weight.grad = None
            self.convolutions.zero_grad()
            codes = self.torch.arange(len(batch)) % 2
            self.torch.nn.functional.cross_entropy(self.head(self.forward(batch)), codes).backward()


def check_same(net, peer, batch):
    ours, (theirs,) = activations(net, batch), peer.activations([batch])
    assert np.allclose(ours, theirs, atol=1e-5 * abs(theirs).max()), "ours and torch's activations differ"
    mask = np.ones(ours.shape)
    gradient = loss_and_gradient(net, batch, np.arange(len(batch)) % 2, mask)[1]
    peer.steps(True, [batch])
    for filters, convolution in zip(gradient.filters, peer.convolutions, strict=True):
        theirs = convolution.weight.grad.numpy().transpose(0, 2, 1)
        # A filter may respond to two windows alike but for rounding, and then each picks its own.
        differs = abs(filters - theirs).max(axis=(1, 2)) > 1e-4 * abs(theirs).max()
        assert differs.mean() < 0.01, "ours and torch's gradients differ"


# --- accuracy


def measure_accuracy(args, log):
    vectors = load_word_vectors(args.vectors)
    n = 200 if args.quick else args.texts
    table = Table("texts", "method", "accuracy", "sd", "fit s", "texts/s")
    for data in (load_tweets(args.data / "tweets"), load_imdb(args.data / "imdb" / "IMDB_Dataset.csv.xz")):
        different = np.array(list({text: i for i, text in enumerate(data.items)}.values()))
        found = {}
        for split in range(args.splits):
            rows = np.random.default_rng(args.seed + split).permutation(different)[: 2 * n]
            train, test = rows[:n], rows[n:]
            for method, model in contestants(vectors, args.seed + split):
                fit, _ = timed(model.fit, data.items[train], data.y[train])
                predict, said = timed(model.predict, data.items[test])
                accuracy = 100 * float((said == data.y[test]).mean())
                found.setdefault(method, []).append((accuracy, fit, n / predict))
                epochs = [] if not hasattr(model, "epochs_") else [epoch.held_out_accuracy for epoch in model.epochs_]
                log.add(
                    dict(texts=data.name, method=method, split=split, n_train=n),
                    seconds=dict(fit=fit, predict=predict),
                    accuracy=accuracy,
                    held_out=epochs,
                )
        for method, runs in found.items():
            accuracies, fits, rates = np.array(runs).T
            table.row(data.name, method, accuracies.mean(), accuracies.std(), np.median(fits), np.median(rates))


def contestants(vectors, seed):
    words = TfidfVectorizer(tokenizer=tokenize, token_pattern=None, lowercase=False, ngram_range=(1, 2), min_df=2)
    chosen = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [1, 10, 100]}, cv=5)
    yield "TF-IDF", make_pipeline(words, chosen)
    for static in (True, False):
        yield "static" if static else "tuned", SentenceCNN(vectors, static=static, random_state=seed)


if __name__ == "__main__":
    main()
