"""What a yes/no question puts forward: its content words, in order, and how they hang together."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from perpend.text.cues import vocabulary
from perpend.text.match import fold

TOKEN: Final = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[a-z]+)?|[^\W_]+|[=<>+/^%]|[,;:()—.!?\n]|--?(?=\s)")
"""A word with its n't, a number, a sign of arithmetic, or a mark that ends a clause."""
NUMBERED: Final = re.compile(r"\(\w{1,2}\)")
"""A reference, as to a step of the reasoning: 'we know from (5) that …'."""
MARKS: Final = frozenset(",;:()—.!?\n-") | {"--"}
BE: Final = vocabulary("is are was were be been being am isn't aren't wasn't weren't ain't")
DO: Final = vocabulary("do does did don't doesn't didn't")
HAVE: Final = vocabulary("has have had hasn't haven't hadn't")
MODAL: Final = vocabulary("can could will would should must may might cannot can't couldn't won't wouldn't shouldn't")
AUXILIARIES: Final = BE | DO | HAVE | MODAL
CONTRACTED: Final = {
    **{f"{who}'s": (who, "is") for who in ("it", "that", "this", "he", "she", "there", "what")},
    **{f"{who}'re": (who, "are") for who in ("they", "these", "those", "we", "you")},
}
PRONOUNS: Final = vocabulary("it they he she this that these those")
DENIALS: Final = vocabulary("not never no cannot")
ARTICLES: Final = vocabulary("a an the")
DETERMINERS: Final = ARTICLES | vocabulary("any its their his her one")
PREPOSITIONS: Final = vocabulary("of in on at to for from by with into onto under over through during within")
FUNCTION: Final = (
    DETERMINERS | PREPOSITIONS | vocabulary("as than there and considered classified regarded defined known called")
)
"""Words that may stand in a clause without changing what it says of the question's words."""
OUTER: Final = re.compile(
    r"(?:is it|isn't it)(?: \w+ly)? (?P<judged>true|correct|right|accurate|the case|a fact|false|wrong|incorrect|untrue"
    r"|a myth) (?:to say )?that |does it(?: \w+ly)? follow that |can you confirm that "
    r"|(?:do|would) you (?:think|agree|believe|say)(?: that)? "
)
"""A question about a claim that it states as a clause."""
DENYING: Final = ("false", "wrong", "incorrect", "untrue", "a myth")
INSTRUCTION: Final = re.compile(
    r"\b(?:true or false|false or true|yes or no|no or yes|true/false|yes/no|(?:answer|respond|reply)\b"
    r"(?: only)?(?: with)?\W{1,3}(?:true|false|yes|no))\b|^\W*(?:please )?(?:answer|respond|reply|explain)\b"
)
PREFIX: Final = re.compile(r"^\W*(?:true or false|yes or no|question|q|statement|claim)\W*[:?]\s*")
SENTENCES: Final = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|\Z)[^.!?\n]+)*[.!?]*")
LONGEST: Final = 14
"""Up to so many content words a question is compared word by word."""


class Proposition(NamedTuple):
    """The content words of what is asked, in order, each known by its `stem`.

    `predicate` is the place of the first one of the predicate, where an article, or a pronoun as the subject, shows
    it; `phrased` are the places of those that begin a phrase with a preposition, `beside` of those right after
    another one. `verbs` are its auxiliaries, `openers` the words of its opening, and `is_denied` says that yes means
    the denial of these words. Every sentence that says as many of them as it must holds one of `hints`.
    """

    stems: tuple[str, ...]
    predicate: int | None
    phrased: frozenset[int]
    beside: frozenset[int]
    verbs: frozenset[str]
    openers: frozenset[str]
    is_denied: bool
    hints: tuple[str, ...]


def stem(word: str) -> str:
    """A word without its inflection: 'orbits', 'orbiting' and 'orbited' are one, 'planet' and 'planetary' are not."""
    if len(word) <= 3 or not word.isalpha():
        return word
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ied", "y"), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            base = word[: -len(ending)] + instead
            base = base[:-1] if ending in {"ing", "ed"} and base[-1] == base[-2] and base[-1] not in "ls" else base
            return base.rstrip("e") or base
    return word.rstrip("e") if len(word) > 3 else word


def tokens(text: str) -> list[str]:
    """The words, numbers and marks of a folded text without its markup. 'it's' is 'it is'."""
    words: list[str] = []
    plain = text.replace("*", " ").replace('"', " ").replace("_", " ")
    for token in TOKEN.findall(NUMBERED.sub(" ", plain) if "(" in plain else plain):
        words += CONTRACTED.get(token, (token,))
    return words


@lru_cache(maxsize=1 << 13)
def proposition(prompt: str) -> Proposition | None:
    """What the last sentence of a prompt that asks, or else states, puts forward; None where that is not plain.

    Instructions ('Answer TRUE or FALSE.') are passed over, and an opening up to a comma is none of its words. Not
    plain: a question with 'or', with 'not' inside, or without content words.
    """
    sentences = [PREFIX.sub("", sentence.strip()) for sentence in SENTENCES.findall(fold(prompt[-600:]).text)]
    sentences = [sentence for sentence in sentences if tokens(sentence) and not INSTRUCTION.search(sentence)]
    if not sentences:
        return None
    asked = next((sentence for sentence in reversed(sentences) if sentence.endswith("?")), sentences[-1])
    if not asked.endswith("?"):
        return _put_forward("", "", asked, is_denied=False)
    opening, clause = _asking(asked)
    outer = OUTER.match(clause)
    if outer is not None:
        return _put_forward(opening, "", clause[outer.end() :], is_denied=outer["judged"] in DENYING)
    first, _, rest = clause.partition(" ")
    return _put_forward(opening, first, rest, is_denied=False) if first in AUXILIARIES else None


def _asking(sentence: str) -> tuple[str, str]:
    """The opening of a question, up to a comma, and the clause that begins with its verb."""
    place = 0
    while place >= 0:
        clause = sentence[place:].lstrip(" ,;:\"'*(")
        first = clause.partition(" ")[0]
        if first in {"so", "and", "but", "now", "then", "well"}:
            clause = clause.partition(" ")[2].lstrip(" ,")
            first = clause.partition(" ")[0]
        if first in AUXILIARIES:
            return sentence[:place], clause
        marks = [at for mark in ",;:" if (at := sentence.find(mark, place + 1)) >= 0]
        place = min(marks) if marks else -1
    return "", sentence


def _put_forward(opening: str, auxiliary: str, clause: str, *, is_denied: bool) -> Proposition | None:
    words = [token for token in tokens(clause) if token not in {"?", ".", "!"}]
    if "or" in words or MARKS & set(words):
        return None
    stems: list[str] = []
    phrased: set[int] = set()
    beside: set[int] = set()
    verbs = {auxiliary} if auxiliary else set()
    predicate, before = None, auxiliary
    for place, token in enumerate(words):
        if token in DENIALS or token.endswith("n't"):
            if auxiliary:
                return None
            is_denied = not is_denied
        elif token in AUXILIARIES:
            verbs.add(token)
            predicate = len(stems) if not auxiliary and predicate is None else predicate
        elif token in ARTICLES and place and before not in PREPOSITIONS and before not in {"and", "than", "as"}:
            is_second = bool(stems) and auxiliary in BE
            predicate = len(stems) if is_second and predicate is None else predicate
        elif token not in FUNCTION and token not in PRONOUNS and token not in ARTICLES:
            if before in PREPOSITIONS or (before in DETERMINERS and place > 1 and words[place - 2] in PREPOSITIONS):
                phrased.add(len(stems))
            elif before not in FUNCTION and before not in AUXILIARIES and place:
                beside.add(len(stems))
            stems.append(stem(token))
        before = token
    if not stems or len(stems) > LONGEST:
        return None
    if auxiliary and words[0] in PRONOUNS:
        predicate = 0
    elif predicate is None and len(stems) == 2 and auxiliary in BE:
        predicate = 1
    openers = frozenset(stem(token) for token in tokens(opening) if token not in MARKS)
    return Proposition(
        tuple(stems),
        predicate,
        frozenset(phrased),
        frozenset(beside),
        frozenset(verbs),
        openers,
        is_denied,
        tuple(dict.fromkeys(word[:4] for word in stems)),
    )
