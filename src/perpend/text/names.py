"""Names in part: the surname of a person who is asked for, and a river, lake or mountain without its class."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.apart import COMMON
from perpend.text.cues import vocabulary
from perpend.text.match import END, GAP, WORD, Check, Folded, Form, Span, fold, whole
from perpend.text.speech import last_question

_ROLES: Final = (
    "person|man|woman|author|writer|painter|artist|composer|scientist|inventor|president|king|queen|emperor|empress"
    "|philosopher|poet|playwright|dramatist|novelist|director|actor|actress|physicist|chemist|mathematician|explorer"
    "|astronaut|cosmonaut|leader|general|musician|singer|architect|sculptor|astronomer|biologist|economist|politician"
    "|pharaoh|minister|chancellor|philanthropist|naturalist|engineer|player|athlete|pioneer|monarch|ruler|navigator"
    "|founder|psychologist|historian|pilot|doctor|physician|nurse|saint|pope|dictator|chairman|statesman|designer"
)
ASKS_WHO: Final = re.compile(
    r"\b(?:whom|whose|who(?! (?:won|wins|beat|defeated|lost|host\w*|organi[sz]\w+|makes?|made|manufactur\w+|produce\w*"
    r"|sells?|sold|owns?|owned|publish\w*|sponsor\w*|occup\w+|invaded|colonized|colonised)\b))\b"
    rf"|\b(?:which|what|name the|name an?) (?:[a-z-]+ ){{0,3}}(?:{_ROLES})\b"
    rf"|\b(?:what|who) (?:is|was) the (?:full |last )?name of the (?:[a-z-]+ ){{0,2}}(?:{_ROLES})\b"
)
"""A question that asks for a person. Teams, firms and states also win, make and own."""
PARTICLES: Final = vocabulary("de da di du del della des der den van von la le ter ten ibn bin al el af av zu dos das")
"""What stands inside a name in small letters."""
BODIES: Final = vocabulary(
    "the new north south east west united real great royal national san santa los las fc ac club party university "
    "college company corporation inc ltd army navy empire kingdom republic city town team church council committee "
    "court house bank group union league states society institute association brothers sons"
)
"""Words of names that are no person's: what such a name ends with is not enough."""
TITLES: Final = vocabulary(
    "mr mrs ms miss dr sir dame lord lady saint st prof professor king queen emperor president pope captain general "
    "count duke prince princess minister chancellor senator admiral colonel"
)
ROLE: Final = re.compile(_ROLES)
SUFFIX: Final = re.compile(r"(?:jr|sr|i{1,3}|iv|vi{0,3}|ix|x)\.?")
"""What follows a surname and is none."""
BEFORE: Final = re.compile(r"(?P<word>[^\W\d_][\w'’-]*)(?P<point>\.?) $")
INITIALS: Final = re.compile(r"(?<!\w)(?P<word>[A-Z])\.(?:\s?[A-Z]\.){1,3}\s?$")
"""Initials without a blank between them, or with."""
AFTER: Final = re.compile(r" ([^\W\d_][\w'’-]*)|,? [A-Z]\.\s?[A-Z]\b")
_LONGEST_FIRST: Final = "|".join(sorted(PARTICLES, key=len, reverse=True))
GOES_ON: Final = re.compile(rf"(?: [A-Z][\w'’-]+)? (?:{_LONGEST_FIRST}|the)(?: (?:la|der|den|the))? [A-Z][\w'’-]+")
"""How a name of one word goes on: 'Rembrandt van Rijn', 'Alexander the Great'."""
_CLASSES: Final = {
    "mount": ("mount", "peak", "summit", "volcano"), "mt": ("mount", "peak", "summit", "volcano"), "lake": ("lake",),
    "river": ("river",), "cape": ("cape",), "sea": ("sea", "body of water"), "ocean": ("ocean", "body of water"),
    "desert": ("desert",), "island": ("island",), "islands": ("island",), "mountains": ("mount", "range"),
    "canal": ("canal", "waterway"), "strait": ("strait",), "peninsula": ("peninsula",), "city": ("city",),
}  # fmt: skip
"""The words of a name that say what kind of place it is, and those of a question that ask for the kind."""


CLASS_BEFORE: Final = re.compile(r"(?<!\w)([a-z]+)\.? $")
CLASS_AFTER: Final = re.compile(r" ([a-z]+)(?!\w)")
MARKS: Final = re.compile(r"[-'.]")
"""What may stand inside a name: 'J.K.', 'O'Neill'."""
SHORTEST: Final = 3
"""How many letters a name in part has at least."""


def asks_who(prompt: str) -> bool:
    """Whether the question asks for a person."""
    return ASKS_WHO.search(fold(last_question(prompt)).text) is not None


def name_forms(spelling: str, rival: str | None, prompt: str) -> list[Form]:
    """Shorter names of a person or a place that is asked for.

    Of a person with a name of two to four words, what it ends with: its last capitalised word, and that with the words
    before it. Of a place, the name without its class, if the question has the class. Each only if its words are neither
    in the other answer nor in the prompt, with a capital, and not as part of another name (`_own_name`).
    """
    names = spelling.replace(",", " ").split()
    folded = [fold(name).text.strip(".") for name in names]
    if not 2 <= len(names) <= 5 or any(not WORD.fullmatch(MARKS.sub("", name)) for name in folded):
        return []
    taken = set(WORD.findall(fold(prompt).text)) | set(WORD.findall(fold(rival or "").text))
    if names[0][0].isupper() and asks_who(prompt):
        return _surnames(names, folded, taken)
    return _places(names, folded, taken, fold(prompt).text)


def _surnames(names: list[str], folded: list[str], taken: set[str]) -> list[Form]:
    is_name = all(
        name[0].isupper() or word in PARTICLES for name, word in zip(names, folded, strict=True)
    ) and not SUFFIX.fullmatch(folded[-1])
    last = folded[-1]
    if (
        not is_name
        or not BODIES.isdisjoint(folded)
        or len(last) < SHORTEST
        or not names[-1][0].isupper()
        or taken.intersection(WORD.findall(last))
    ):
        return []
    check = _own_name(frozenset(word[0] for word in folded[:-1] if word not in PARTICLES))
    starts = [start for start in range(1, len(folded)) if not taken.intersection(folded[start:])]
    return [_form(folded[start:], check) for start in starts]


def _places(names: list[str], folded: list[str], taken: set[str], prompt: str) -> list[Form]:
    for kind, rest, capital in ((folded[0], folded[1:], names[1]), (folded[-1], folded[:-1], names[0])):
        classes = _CLASSES.get(kind, ())
        is_asked = any(word in prompt for word in classes)
        is_name = len(rest) <= 2 and capital[0].isupper() and len("".join(rest)) >= SHORTEST
        if is_asked and is_name and not taken.intersection(rest):
            return [_form(rest, _own_name(frozenset()))]
    return []


def _form(words: list[str], check: Check) -> Form:
    parts = [GAP.join(map(re.escape, WORD.findall(word))) for word in words]
    return Form(WORD.findall(words[0])[0], whole(r"[\s-]".join(parts) + END), check=check)


def _own_name(initials: frozenset[str]) -> Check:
    """The check of a name in part: it has a capital, and neither neighbour makes it the name of somebody else.

    Of a person, who has `initials`, a title, a role or a first name with one of them before it belong to it, and so do
    a particle and other names between them; of a place its class. Any other capitalised word right before or after it
    makes it another name: 'Ian Fleming', 'Victoria Falls'.
    """

    def check(text: Folded, original: str, span: Span) -> Span | None:
        first, last = text.span(span[0], span[1])
        if not any(char.isupper() for char in original[first:last]):
            return None
        following = AFTER.match(original, last)
        if following is not None and (following[1] is None or following[1][0].isupper()):
            return None
        start, is_known, has_others = first, False, False
        for _ in range(4):
            glued = INITIALS.search(original, max(0, start - 12), start)
            before = glued or _before(original, start)
            if before is None:
                break
            word = fold(before["word"]).text
            is_particle = word in PARTICLES and start == first
            if not is_particle and (not before["word"][0].isupper() or not _is_name(word)):
                break
            is_title = word in TITLES or ROLE.fullmatch(word) is not None if initials else word in _CLASSES
            is_known = is_known or is_title or word[0] in initials
            has_others = has_others or not (is_particle or is_title or word[0] in initials)
            start = before.start()
        return None if has_others and not is_known else (_moved(text, span, first - start), span[1])

    return check


def classes_asked(prompt: str) -> frozenset[str]:
    """The classes of places that a question asks for: 'river' of 'Which river …?'."""
    asked = fold(last_question(prompt)).text
    return frozenset(kind for kind, words in _CLASSES.items() if any(word in asked for word in words))


def with_class(classes: frozenset[str]) -> Check:
    """The check of a place's name: a class that is asked for, right before or after it, belongs to it: 'River Nile'."""

    def check(text: Folded, original: str, span: Span) -> Span:  # noqa: ARG001 - a check
        body, (start, stop) = text.text, span
        before, after = CLASS_BEFORE.search(body, max(0, start - 16), start), CLASS_AFTER.match(body, stop)
        if before is not None and before[1] in classes:
            start = before.start()
        return start, after.end() if after is not None and after[1] in classes else stop

    return check


def _before(original: str, start: int) -> re.Match[str] | None:
    """The word right before a place in its sentence; a point after it belongs to a title or an initial."""
    before = BEFORE.search(original, max(0, start - 24), start)
    if before is None or not before["point"]:
        return before
    word = before["word"].lower()
    return before if len(word) == 1 or word in TITLES or word in _CLASSES else None


def _is_name(word: str) -> bool:
    """Whether a capitalised word may be a name, and does not only open the sentence: "It's", 'Actually'."""
    return word.partition("'")[0] not in COMMON and not word.endswith("ly")


def _moved(text: Folded, span: Span, by: int) -> int:
    """Where the span begins with so many more characters of the original before it."""
    if text.offsets is None:
        return span[0] - by
    wanted, start = text.offsets[span[0]] - by, span[0]
    while start > 0 and text.offsets[start - 1] >= wanted:
        start -= 1
    return start


def full_name(text: Folded, original: str, span: Span) -> Span:
    """The check of a person's name of one word: it takes in what the whole name has before it ('Ludwig van') and, after
    a particle, behind it ('van Rijn')."""
    first, last = text.span(span[0], span[1])
    if not original[first].isupper():
        return span
    start = first
    for _ in range(4):
        before = _before(original, start)
        if before is None:
            break
        word = fold(before["word"]).text
        is_name = before["word"][0].isupper() and _is_name(word)
        if not is_name and (word not in PARTICLES or start != first):
            break
        start = before.start()
    while original[start].islower():  # a particle without a first name before it
        start = original.index(" ", start) + 1
    following = GOES_ON.match(original, last)
    end = span[1] + (0 if following is None else following.end() - last)
    return _moved(text, span, first - start), min(end, len(text.text))
