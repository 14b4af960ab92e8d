"""Texts to rows by a small convolutional network, trained on labelled texts (Kim, 2014)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from joblib import effective_n_jobs
from scipy import special
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from .._fitting import whole_or_not_at_all
from .._parameters import Choice, Infinity, Interval, check_parameters
from .extractor import FeatureExtractor
from .sentence_net import activations, class_scores, start_net
from .sentence_training import Descent, set_apart, train_net
from .tokens import RULES, tokenize
from .word_vectors import WordVectors

__all__ = ["SentenceCNN"]

RANDOM_RANGE = 0.25  # of random vectors beside no others, as in Kim's code


class SentenceCNN(FeatureExtractor):
    """Rewrite texts as the activations of a network that has learned to tell classes apart (Kim, 2014).

    Filters of a few widths slide over the word vectors of a text; of each, the largest response counts, and a softmax
    on these tells the class. `transform` returns the responses, ``maps * len(widths)`` numbers that are never negative.
    The formulas are at the top of `selftaught.features.sentence_net`.

    **What it may be fitted on.** `fit` learns from the texts and labels that it is given, and from nothing else: never
    give it texts of a test. Rows of the texts it was fitted on are flattered: their classes lie further apart than
    those of new texts. Where that matters, fit on other texts than those that are transformed.

    Parameters
    ----------
    word_vectors : WordVectors or None, default None
        From `load_word_vectors`. Words of the training texts that it lacks get random vectors of the same variance;
        words met later that nobody knows count as zeros. None draws all vectors at random, ``dimension`` long.
    widths : tuple of int, default (3, 4, 5)
        How many words the filters span.
    maps : int, default 100
        Filters of each width: 100 give Kim's 300 features, 1000 the 3000 of the GASTL paper.
    static : bool, default False
        Keep the word vectors as they are, instead of tuning those of the training texts along with the filters.
    dropout : float, default 0.5
        Share of the activations that are put out, at random, for each training text.
    norm_cap : float, default 3.0
        Length to which the weights of a class are shortened after each step; infinity switches it off.
    max_words : int or None, default 400
        Words of a text that are read, from its beginning. None reads all.
    n_epochs : int, default 25
        Passes over the training texts, at most.
    batch_size : int, default 50
        Texts for each step of training, fewer where that would leave less than 20 steps in a pass; and texts at a time
        in `transform`.
    learning_rate : float, default 1.0
        Factor on the steps of Adadelta, which find their own length.
    validation_fraction : float, default 0.1
        Share of the training texts of each class, at least one, that is kept apart to choose the best pass: the one
        with the most texts right, of equals that with the smaller loss. 0 keeps none and takes the last.
    patience : int, default 5
        Passes without a better one after which training ends.
    dimension : int, default 50
        Length of random vectors, where ``word_vectors`` is None.
    cache : path or None, default None
        Folder in which rows are kept, so that a text is computed once for a fitted network.
    n_jobs : int or None, default None
        Threads. More of them change no result of `fit`.
    random_state : int, RandomState or None, default None
        For random vectors, the filters' start, the order of texts, and dropout.
    verbose : int, default 0
        1 writes a line for each pass to standard error.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    net_ : SentenceNet
        The parameters, as arrays.
    words_ : tuple of str
        Words of rows 1, 2, ... of ``net_.vectors``.
    epochs_ : tuple of Epoch
    best_epoch_ : int
        The pass whose parameters were kept, counted from 0.

    Notes
    -----
    Nothing but NumPy and SciPy is needed. The same seed gives the same network on the same machine with the same number
    of threads of BLAS, and whatever ``n_jobs``. A text's row does not depend on the texts beside it, not in its last
    bit.

    References
    ----------
    Y. Kim, "Convolutional neural networks for sentence classification", EMNLP 2014.

    Examples
    --------
    >>> from selftaught.features import SentenceCNN
    >>> texts = ["a good film", "good fun", "what a bore", "a dull bore"] * 10
    >>> labels = ["pos", "pos", "neg", "neg"] * 10
    >>> cnn = SentenceCNN(maps=4, n_epochs=15, batch_size=10, dropout=0.0, random_state=0).fit(texts, labels)
    >>> cnn.transform(["good fun", ""]).shape
    (2, 12)
    >>> cnn.predict(["what good fun", "dull"]).tolist()
    ['pos', 'neg']
    """

    items_are = "texts"
    blas_threads = 1  # its products are small

    _allowed = dict(
        maps=(Interval(1, whole=True),),
        static=(Choice((True, False)),),
        dropout=(Interval(0, 0.99),),
        norm_cap=(Interval(0, open_low=True), Infinity()),
        max_words=(Interval(1, whole=True), Choice((None,))),
        n_epochs=(Interval(1, whole=True),),
        batch_size=(Interval(1, whole=True),),
        learning_rate=(Interval(0, open_low=True),),
        validation_fraction=(Interval(0, 0.9),),
        patience=(Interval(1, whole=True),),
        dimension=(Interval(1, whole=True),),
        verbose=(Interval(0, whole=True), Choice((True, False))),
    )

    def __init__(
        self,
        word_vectors: WordVectors | None = None,
        *,
        widths=(3, 4, 5),
        maps=100,
        static=False,
        dropout=0.5,
        norm_cap=3.0,
        max_words: int | None = 400,
        n_epochs=25,
        batch_size=50,
        learning_rate=1.0,
        validation_fraction=0.1,
        patience=5,
        dimension=50,
        cache=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.word_vectors = word_vectors
        self.widths = widths
        self.maps = maps
        self.static = static
        self.dropout = dropout
        self.norm_cap = norm_cap
        self.max_words = max_words
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.dimension = dimension
        self.cache = cache
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y):
        """Train the network on texts X, a sequence of n, and their classes y (n,). Never give it texts of a test."""
        check_parameters(self, self._allowed)
        widths = self._checked_widths()
        if self.word_vectors is not None and not isinstance(self.word_vectors, WordVectors):
            raise ValueError(f"word_vectors must be WordVectors or None, got {self.word_vectors!r:.80}. "
                             "load_word_vectors reads them from a file.")  # fmt: skip
        with whole_or_not_at_all(self):
            tokens = [self._cut(self._raw(text)) for text in self._as_items(X)]
            self.classes_, codes = _encode(y, len(tokens))
            rng = check_random_state(self.random_state)
            train, held_out = set_apart(codes, self.validation_fraction, rng)
            words, vectors = _starting_vectors(tokens, train, held_out, self.word_vectors, self.dimension, rng)
            rows = {word: row for row, word in enumerate(words, 1)}
            ids = [_rows_of(text, rows) for text in tokens]
            with _threads(self.n_jobs) as spread:
                net, self.epochs_, self.best_epoch_ = train_net(
                    start_net(vectors, widths, self.maps, len(self.classes_), rng),
                    [ids[i] for i in train],
                    codes[train],
                    ([ids[i] for i in held_out], codes[held_out]),
                    self._descent(),
                    rng,
                    spread,
                )
            self._keep(net, words)
        return self

    def predict_proba(self, X):
        """Return the network's own class probabilities of texts, shape (n, n_classes)."""
        scores = class_scores(self.net_, self.transform(X), self.dropout_)
        return special.softmax(scores.astype(np.float64), axis=1)

    def predict(self, X):
        """Return the network's own opinion on the class of each text, shape (n,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _keep(self, net, words):
        """Store the trained net, and behind its words those that only ``word_vectors`` knows."""
        self.dropout_, self.max_words_ = self.dropout, self.max_words
        if self.word_vectors is not None:
            rows, known = self.word_vectors.rows, set(words)
            others = [word for word in rows if word not in known]
            words = [*words, *others]
            net.vectors = np.concatenate([net.vectors, self.word_vectors.vectors[[rows[word] for word in others]]])
        self.net_, self.words_ = net, tuple(words)
        self._rows = None

    def _decode(self, raw):
        if self._rows is None:
            self._rows = {word: row for row, word in enumerate(self.words_, 1)}
        return _rows_of(self._cut(raw, self.max_words_), self._rows)

    def _compute(self, contents):
        return activations(self.net_, contents)

    def _recipe(self):
        net = self.net_
        parts = dict(words="\n".join(self.words_), vectors=net.vectors, filters=net.filters, offsets=net.offsets)
        return dict(parts, rules=RULES, max_words=self.max_words_)

    @property
    def _n_features_out(self):
        return len(self.net_.offsets)

    def _descent(self):
        return Descent(
            tune=not self.static,
            dropout=self.dropout,
            norm_cap=self.norm_cap,
            n_epochs=self.n_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            patience=self.patience,
            verbose=self.verbose,
        )

    def _cut(self, raw, max_words=None):
        """Return the words of a text that are read."""
        return tokenize(raw.decode("utf-8", "surrogatepass"))[: max_words or self.max_words]

    def _checked_widths(self):
        widths = self.widths if isinstance(self.widths, (tuple, list, np.ndarray)) else ()
        if not len(widths) or not all(Interval(1, whole=True).allows(width) for width in widths):
            raise ValueError(f"widths must be whole numbers of at least 1, such as (3, 4, 5), got {self.widths!r}.")
        return tuple(int(width) for width in widths)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.target_tags.required = True
        return tags

    # Words as one text: a file of a model would otherwise hold an entry of its own for each of perhaps 400,000.
    def __getstate__(self):
        state = dict(super().__getstate__())
        if "words_" in state:
            state["_rows"] = None
            state["words_"] = "\n".join(state["words_"])
        return state

    def __setstate__(self, state):
        if "words_" in state:
            state = dict(state, words_=tuple(state["words_"].split("\n")) if state["words_"] else ())
        super().__setstate__(state)


def _encode(y, n):
    """Return the classes (sorted) and the code of each text's class."""
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y must hold one class for each of the {n} texts, got shape {y.shape}.")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes, got {classes.tolist()}. A network learns to tell them apart."
        )
    return classes, codes


def _starting_vectors(tokens, train, held_out, known: WordVectors | None, dimension, rng):
    """Return the words of the training texts, and vectors (n_words + 1, d) to start from, row 0 zeros.

    Words that only texts held out contain are among them where they have a vector, as they will be in new texts.
    """
    rows = {} if known is None else known.rows
    words = dict.fromkeys(word for i in train for word in tokens[i])
    words |= dict.fromkeys(word for i in held_out for word in tokens[i] if word in rows)
    words = list(words)
    d = dimension if known is None else known.vectors.shape[1]
    spread = RANDOM_RANGE if known is None else np.sqrt(3 * known.vectors.var(dtype=np.float64))
    vectors = rng.uniform(-spread, spread, (len(words) + 1, d)).astype(np.float32)
    vectors[0] = 0
    if known is not None:
        there = [(row, rows[word]) for row, word in enumerate(words, 1) if word in rows]
        vectors[[row for row, _ in there]] = known.vectors[[row for _, row in there]]
    return words, vectors


def _rows_of(tokens, rows):
    """Return the rows of words (n,), 0 for words that are not known."""
    return np.array([rows.get(word, 0) for word in tokens], dtype=np.intp)


@contextmanager
def _threads(n_jobs):
    """Give a function that calls ``work(i)`` for i below n in ``n_jobs`` threads, None for one."""
    n_threads = effective_n_jobs(n_jobs)
    if n_threads == 1:
        yield None
        return
    with ThreadPoolExecutor(n_threads) as pool:

        def spread(work, n):
            list(pool.map(lambda some: [work(i) for i in some], np.array_split(np.arange(n), n_threads)))

        yield spread
