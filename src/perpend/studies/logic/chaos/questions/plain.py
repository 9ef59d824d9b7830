"""A question's text without what does not make it another question."""

from __future__ import annotations

import re

# A number keeps its point and sign: 3.71 and 37.1 are two questions. So does a term of an equation: x - y and x + y.
# Other punctuation does not count, nor does the hyphen of a word.
_TOKEN = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\w+|(?<!\w)[-+−](?=[\s\w(])")


def words_of(question: str) -> list[str]:
    """The words and numbers of a question in lower case, without punctuation."""
    return _TOKEN.findall(question.lower())


def plain_text(question: str) -> str:
    """A question up to case, punctuation and blanks."""
    return " ".join(words_of(question))
