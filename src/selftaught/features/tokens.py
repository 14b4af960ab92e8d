"""From a text to its words, the way the makers of word vectors cut it.

After Kim (2014): lower case, contractions as two words, every mark by itself. Reviews and tweets ask for more: line
breaks of HTML, ``&quot;`` and the like, names of users, addresses.

    "<br />I don't <b>like</b> it...  @joe: see http://t.co/x &amp; laugh!!!"
    ->  i do n't like it ... <user> : see <url> & laugh !

``<user>`` and ``<url>`` are written as in the vectors that GloVe learned from tweets. Whoever has other vectors has no
vector for them, see `SentenceCNN`. Letters are those of any script; a letter said more than twice is said twice.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

__all__ = ["tokenize", "vocabulary_of"]

RULES = 1  # goes up with every change of how texts are cut, so that rows kept in a cache are computed anew

TAG = re.compile(r"<br\s*/?>|</?[a-z][a-z0-9]*(?:\s[^<>]{0,500})?/?>", re.IGNORECASE)
ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
USER = re.compile(r"(?<![\w@])@\w+")
NOT = re.compile(r"n't\b")
# Quotes that open a word stay quotes: only what follows a letter is the rest of a contraction.
CONTRACTION = re.compile(r"(?<=\w)'(s|m|d|re|ve|ll)\b")
DRAWN_OUT = re.compile(r"([a-z\u00df-\U0010ffff])\1\1+")  # four times as fast as a class of all letters
REPEATED = re.compile(r"([^\w\s.])\1+")
# Marks are all else but spaces and the control characters that a wrong encoding leaves behind.
TOKEN = re.compile(r"<user>|<url>|n't|'(?:s|m|d|re|ve|ll)\b|[^\W_]+|\.{2,}|[^\w\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")
QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "…": "..."})


def tokenize(text: str) -> list[str]:
    """Cut a text into lower-case words and marks.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        Empty for a text without any.

    Examples
    --------
    >>> from selftaught.features import tokenize
    >>> tokenize("I don't LIKE it:<br />it's sooooo long!!!")
    ['i', 'do', "n't", 'like', 'it', ':', 'it', "'s", 'soo', 'long', '!']
    >>> tokenize("@joe &quot;Hi&quot; www.example.org")
    ['<user>', '"', 'hi', '"', '<url>']
    """
    # What is seldom there is looked for in the fastest way before anything is replaced.
    if "<" in text:
        text = TAG.sub(" ", text)
    if "&" in text:
        text = html.unescape(html.unescape(text))  # twice: collected tweets are often escaped twice
    text = text.translate(QUOTES).lower() if not text.isascii() or "`" in text else text.lower()
    if "http" in text or "www." in text:
        text = ADDRESS.sub(" <url> ", text)
    if "@" in text:
        text = USER.sub(" <user> ", text)
    if "'" in text:
        text = CONTRACTION.sub(r" '\1", NOT.sub(" n't", text))
    text = DRAWN_OUT.sub(r"\1\1", REPEATED.sub(r"\1", text))
    return ["..." if token[0] == "." and len(token) > 1 else token for token in TOKEN.findall(text)]


def vocabulary_of(texts: Iterable[str]) -> set[str]:
    """Return the words that occur in texts: all that is needed of a large file of word vectors.

    Examples
    --------
    >>> from selftaught.features import vocabulary_of
    >>> sorted(vocabulary_of(["A dull film", "a duller film"]))
    ['a', 'dull', 'duller', 'film']
    """
    return {token for text in texts for token in tokenize(text)}
