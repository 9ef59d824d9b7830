"""A quartet becomes questions: every setting with every claim, in the variants of its family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from factory.chance import Chance
from factory.quartet import Quartet
from factory.tables import toml

wordings = partial(toml, "wordings.toml")
VARIANTS: dict[str, tuple[str, ...]] = {
    "adversarial": ("right voice", "wrong voice"),
    "consistency_paraphrase": ("plain", "reworded", "denied"),
    "perturbation_robustness": ("plain", "reworded", "denied", "question first", "listed"),
}
"""What a family asks of each setting and claim; every other family asks it once, plainly."""


@dataclass(frozen=True)
class Question:
    text: str
    label: bool
    variant: str
    frame: str
    setting: int
    claim: int


def variants(family: str) -> tuple[str, ...]:
    return VARIANTS.get(family, ("plain",))


def fits(family: str, quartet: Quartet) -> bool:
    """Whether the claims can be put into all variants of a family: none is denied that holds a negation."""
    wanted = variants(family)
    return ("denied" not in wanted or quartet.deniable) and ("reworded" not in wanted or quartet.reworded)


def questions(quartet: Quartet, family: str, chance: Chance, frames: str = "general") -> Iterator[Question]:
    """All questions of a bundle. Wordings are drawn once for it, so nothing but claim and setting differs inside."""
    said = wordings()
    words = [chance.below(len(quartet.claims[0][c].wordings)) for c in (0, 1)]
    who, book = (chance.pick(list(said[name])) for name in ("who", "book"))
    plain = (
        "asked"
        if family == "adversarial"
        else chance.pick([k for k in ("asked", "asked", "stated", "reported") if k in said[frames]])
    )
    drawn = {kind: chance.pick(of_kind) for kind, of_kind in said[frames].items()}
    for variant in variants(family):
        for s in (0, 1):
            for c in (0, 1):
                wording = words[c] + (variant == "reworded")
                claims = quartet.claims[s]
                clause = claims[c].wordings[wording % len(claims[c].wordings)]
                kind = {"denied": "denied", "question first": "early", "listed": "listed"}.get(variant, plain)
                frame, setting, label = drawn[kind], quartet.settings[s], s == c
                text = _filled(frame, clause, who, setting)
                if variant.endswith("voice"):
                    voiced = claims[s if variant == "right voice" else 1 - s]
                    heard = voiced.wordings[words[0] % len(voiced.wordings)]
                    frame = drawn["lure"]
                    text = frame.format(book=book, Book=_capital(book), v=heard, question=text)
                if "{setting}" not in frame:
                    text = f"{setting} {text}"
                # The record does not say which voice is right: with the text, that would be the label.
                name = "voice" if variant.endswith("voice") else variant
                yield Question(text, label != (variant == "denied"), name, frame, s, c)


def _filled(frame: str, clause: str, who: str, setting: str) -> str:
    again = "the " + who.split(" ", 1)[1]
    return frame.format(c=clause, C=_capital(clause), who=who, Who=_capital(who), the=again, setting=setting)


def _capital(text: str) -> str:
    """With a capital letter where that does not change a name of the equations, as x in 'x after 7 steps …'."""
    first = text.split(" ", 1)[0]
    is_name = not first.isalpha() or (len(first) == 1 and first != "a")
    return text if is_name else text[0].upper() + text[1:]
