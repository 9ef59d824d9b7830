"""Labels of *logic* from the printed text, by truth tables: every rule strikes out rows, and the rows left decide.

A row says of each property whether an object has it; a set of rows is a whole number with a bit for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

from factory.again.asked import asked
from factory.quartet import Unreadable
from factory.tables import toml

Rows = int
_VERBS = ("hum", "leak", "rattle", "vibrate", "squeak", "show", "need", "run", "stand", "pass", "use")
_ONE = rf"(?:is|has|does not|{'|'.join(v + ('es' if v.endswith('ss') else 's') for v in _VERBS)})\b"
_MANY = rf"(?:are|have|do not|{'|'.join(_VERBS)})\b"
_MOST = 18

Form = tuple[re.Pattern[str], Callable[..., Rows]]


@cache
def _forms(kind: str) -> list[Form]:
    """The sentences of a kind, and the rows that they leave, as a function of those of their phrases."""
    said = toml("again/logic.toml")[kind]
    laws = {law: eval(f"lambda x, y=0, z=0: {law}", {"__builtins__": {}}) for _, law in said}  # noqa: S307 - of our file
    return [(_pattern(form), laws[law]) for form, law in said]


def _pattern(text: str) -> re.Pattern[str]:
    """A form as an expression that finds its phrases; `_single` sees to it that none of them runs into the next."""
    parts = {
        "A": r"[Aa]n? (?P<n>\w+)",
        "N": r"(?P<n>\w+)",
        "Ns": r"(?P<n>\w+)s",
        "W": r"(?P<n>[A-Z]\w+) (?P<who>[A-Z]|\d+)",
    }
    for slot in "XYZ":
        parts |= {slot: rf"(?P<{slot}>{_ONE}[^,]*?)", f"{slot}s": rf"(?P<{slot}s>{_MANY}[^,]*?)"}
    return re.compile(re.sub(r"\b(?:A|W|Ns?|[XYZ]s?)\b", lambda found: parts[found[0]], text))


@dataclass
class Table:
    """The rows over the properties that a text names."""

    properties: list[str]
    nouns: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    @property
    def all(self) -> Rows:
        return (1 << (1 << len(self.properties))) - 1

    def rows(self, phrase: str, *, many: bool) -> Rows:
        name, holds = _property(phrase, many=many)
        rows = _column(self.properties.index(name), len(self.properties))
        return rows if holds else self.all & ~rows

    def read(self, sentence: str, kind: str) -> Rows | None:
        """The rows that a sentence speaks of; None where it is none of the kind."""
        found = list(_readings(sentence, kind))
        if len(found) > 1:
            raise Unreadable(f"more than one reading: {sentence}")
        if not found:
            return None
        match, law = found[0]
        self.nouns.add(match["n"].lower())
        self.names.update(name for key, name in match.groupdict().items() if key == "who")
        phrases = [(key, phrase) for key, phrase in match.groupdict().items() if key[0] in "XYZ"]
        return law(*(self.rows(p, many=key.endswith("s")) for key, p in sorted(phrases))) & self.all


def _readings(sentence: str, *kinds: str) -> Iterator[tuple[re.Match[str], Callable[..., Rows]]]:
    for pattern, law in (form for kind in kinds or ("rules", "existing", "facts") for form in _forms(kind)):
        match = pattern.fullmatch(sentence)
        if match and all(_single(p, many=k.endswith("s")) for k, p in match.groupdict().items() if k[0] in "XYZ"):
            yield match, law


def _single(phrase: str, *, many: bool) -> bool:
    """Whether a phrase says one thing."""
    verbs = re.findall(rf"\b{_MANY if many else _ONE}", re.sub(r"^(do|does) not \w+", r"\1 not", phrase))
    return len(verbs) == 1 and not re.search(r"\b(?:and|or|if|that|it|then|only|either|both)\b", phrase)


def _property(phrase: str, *, many: bool) -> tuple[str, bool]:
    """'has no red label' → ('have red label', False)."""
    verb, _, rest = phrase.partition(" ")
    if verb in ("is", "are"):
        return f"be {rest.removeprefix('not ')}", not rest.startswith("not ")
    if verb in ("has", "have"):
        article, _, thing = rest.partition(" ")
        return f"have {thing if article in ('a', 'an', 'no') else rest}", article != "no"
    if verb in ("does", "do"):
        return rest.removeprefix("not "), False
    base = verb if many else verb.removesuffix("es") if verb.endswith("sses") else verb.removesuffix("s")
    return f"{base} {rest}".rstrip(), True


@cache
def _column(place: int, count: int) -> Rows:
    """The rows in which the property at a place holds."""
    half = 1 << place
    rows, width = ((1 << half) - 1) << half, 2 * half
    while width < 1 << count:
        rows |= rows << width
        width *= 2
    return rows


def label(text: str) -> bool:
    question = asked(text)
    _opening, *sentences = re.split(r"(?<=\.) ", question.setting)
    if any(_readings(_opening.removesuffix("."))):
        raise Unreadable(f"statements without an opening: {_opening}")
    if sentences and _OPEN.fullmatch(sentences[0]):
        del sentences[0]
    about = _about(question.claim)
    claims = [claim[0].upper() + claim[1:] for claim in [about[1]] if claim]
    table = Table(_named([s.removesuffix(".") for s in sentences] + claims))
    allowed = facts = table.all
    witnesses: list[Rows] = []
    for sentence in sentences:
        for kind in ("rules", "existing", "facts"):
            rows = table.read(sentence.removesuffix("."), kind)
            if rows is None:
                continue
            if kind == "rules":
                allowed &= rows
            elif kind == "facts":
                facts &= rows
            else:
                witnesses.append(rows)
            break
        else:
            raise Unreadable(f"no statement that is known: {sentence}")
    things = [rows & allowed for rows in (*witnesses, facts)]
    answer = _answer(about[0], claims, table, allowed, things)
    if len(table.nouns) != 1 or len(table.names) > 1:
        raise Unreadable(f"several sorts of things: {sorted(table.nouns)}, {sorted(table.names)}")
    return answer != question.denied


_OPEN = re.compile(r"A statement about all \w+ of some kind leaves open whether there are any\.")
_ABOUT = (
    ("together", r"the statements (?:can all be true together|are consistent with one another)()"),
    ("apart", r"the statements (?:contradict one another|are inconsistent with one another)()"),
    ("settled", r"the statements (?:settle|are enough to tell) whether (.+)"),
    ("open", r"the statements leave (?:it undecided|open) whether (.+)"),
    ("follows", r"(.+)"),
)


def _about(claim: str) -> tuple[str, str]:
    return next((kind, found[1]) for kind, pattern in _ABOUT if (found := re.fullmatch(pattern, claim)))


def _named(sentences: list[str]) -> list[str]:
    """All properties that are named, in the order of their names."""
    found = set()
    for sentence in sentences:
        for match, _ in _readings(sentence):
            phrases = [(k, p) for k, p in match.groupdict().items() if k[0] in "XYZ"]
            found |= {_property(p, many=k.endswith("s"))[0] for k, p in phrases}
    if len(found) > _MOST:
        raise Unreadable(f"more than {_MOST} properties")
    return sorted(found)


def _answer(kind: str, claims: list[str], table: Table, allowed: Rows, things: list[Rows]) -> bool:
    """`things`: what each object that is spoken of may be; the last is the one with a name."""
    if kind in ("together", "apart"):
        return all(things) == (kind == "together")
    if not all(things):
        raise Unreadable("statements that contradict one another")
    said = {form: table.read(claims[0], form) for form in ("rules", "existing", "facts")}
    if said["rules"] is not None and kind == "follows":
        return not allowed & ~said["rules"]
    if said["existing"] is not None and kind == "follows":
        return any(not may & ~said["existing"] for may in things)
    if said["facts"] is None:
        raise Unreadable(f"no claim that is known: {claims[0]}")
    must, cannot = not things[-1] & ~said["facts"], not things[-1] & said["facts"]
    return must if kind == "follows" else (must or cannot) == (kind == "settled")
