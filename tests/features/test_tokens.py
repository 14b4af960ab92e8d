"""Texts as words: what Kim's preparation does, and what reviews and tweets ask for beyond it."""

import pytest

from selftaught.features import tokenize, vocabulary_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A Good Film", "a good film"),
        ("I don't, you'll, he's, I'm, we've, they'd", "i do n't , you 'll , he 's , i 'm , we 've , they 'd"),
        ("can't WON'T isn’t", "ca n't wo n't is n't"),
        ("'tis 'really' the actors' rock 'n' roll", "' tis ' really ' the actors ' rock ' n ' roll"),
        ("yes,no;(maybe)", "yes , no ; ( maybe )"),
        ("what?!! no!!! ---", "what ? ! no ! -"),
        ("well... so.. end. …", "well ... so ... end . ..."),
        ("sooooo goood", "soo good"),
        ("10/10, 7.5", "10 / 10 , 7 . 5"),
        ("one<br /><br/>two<BR>three", "one two three"),
        ("<i>so</i> <a href='x'>there</a> I <3 you, a < b > c", "so there i < 3 you , a < b > c"),
        ("&quot;Tom &amp; Jerry&quot; &lt;3", '" tom & jerry " < 3'),
        ("&amp;quot;twice&amp;quot;", '" twice "'),
        ("&lt;b&gt; stays", "< b > stays"),
        ("@joe: hi @ann_b", "<user> : hi <user>"),
        ("me@home @ 5", "me @ home @ 5"),
        ("see http://t.co/aB1?x=1&y=2 or www.example.org now", "see <url> or <url> now"),
        ("#happy snake_case", "# happy snake case"),
        ("Ünïcode ΑΘΗΝΑ кино 映画", "ünïcode αθηνα кино 映画"),
        ("“Curly” ‘quotes’ it`s it´s", "\" curly \" ' quotes ' it 's it 's"),
        ("left\x96over\x00 \u2028 spaces\t\n", "left over spaces"),
        ("", ""),
        (" <br /> ", ""),
        ("\ud800 lone", "lone"),
    ],
)
def test_words(text, words):
    assert tokenize(text) == words.split()


def test_cutting_words_again_changes_nothing(rng):
    # A text put together from its own words has the same words: no rule depends on what another has made.
    pieces = ["don't", "it's", "good", "!!!", "...", "soooo", "(", "10", "they're", "n't", "'s"]
    for _ in range(50):
        words = tokenize(" ".join(rng.choice(pieces, size=12)))
        assert tokenize(" ".join(words)) == words


@pytest.mark.parametrize(
    "text", ["<a" * 20_000, "!" * 200_000, "a" * 200_000, "&" * 100_000, "'" * 100_000, "@" * 99_999]
)
def test_hostile_texts_take_no_longer_than_others(text):
    # Patterns that look back and forth could take quadratic time, minutes rather than a blink, which a run would show.
    assert len(tokenize(text)) <= len(text)


def test_vocabulary_is_the_union():
    assert vocabulary_of(["a good film", "A bad film!", ""]) == {"a", "good", "bad", "film", "!"}
    assert vocabulary_of([]) == set()
