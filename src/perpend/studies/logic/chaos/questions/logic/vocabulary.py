"""The words of the properties: invented ones, those of a laboratory, and terms of the theory.

In one question no two properties are linked by their words or by a definition. Invented words have no meaning at all.
The properties of devices are accidents, such as a label or a supply. Of the terms of the theory, a question takes one
from each group at most; the groups hold what a reader might connect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perpend.studies.logic.chaos.questions.chance import Chance

INVENTED, LAB, TERMS = VOCABULARIES = ("invented", "lab", "terms")


@dataclass(frozen=True, slots=True)
class Property:
    """A verb in its base form and what comes after it: ('be', 'stiff'), ('have', 'a time delay').

    A denial can be worded in several ways; `manner`, from 0 to below 1, says which.
    """

    verb: str
    rest: str

    @property
    def adjective(self) -> str | None:
        """The word that may stand before a noun; None where the property is no single adjective."""
        return self.rest if self.verb == "be" and " " not in self.rest else None

    def third(self, holds: bool, manner: float = 0) -> str:
        """'is stiff', 'has no time delay', 'does not show bursts'."""
        if holds:
            return f"{self._third_verb} {self.rest}"
        if self.verb == "be":
            ways = [f"is not {self.rest}"]
            if self.adjective and "-" not in self.rest:
                ways = [*ways * 3, f"fails to be {self.rest}"]
        elif self.verb == "have":
            ways = [
                f"has no {self._bare}",
                f"does not have {self.rest}",
                f"lacks {self.rest}",
                f"is without {self.rest}",
            ]
        else:
            ways = [f"does not {self.verb} {self.rest}"]
            if self._can_be_none:
                ways.append(f"{self._third_verb} no {self._bare}")
        return ways[int(manner * len(ways))]

    def plural(self, holds: bool, manner: float = 0) -> str:
        """'are stiff', 'have no time delay', 'do not show bursts'."""
        if self.verb == "be":
            return f"are {self.rest}" if holds else f"are not {self.rest}"
        if holds:
            return self.base(True)
        if self.verb == "have":
            ways = [
                f"have no {self._bare}",
                f"do not have {self.rest}",
                f"lack {self.rest}",
                f"are without {self.rest}",
            ]
        else:
            ways = [f"do not {self.verb} {self.rest}"]
            if self._can_be_none:
                ways.append(f"{self.verb} no {self._bare}")
        return ways[int(manner * len(ways))]

    def base(self, holds: bool, manner: float = 0) -> str:
        """'be stiff', 'not be stiff', 'have no time delay': after 'must' or 'to'."""
        if holds:
            return f"{self.verb} {self.rest}"
        if self.verb == "have":
            ways = [f"have no {self._bare}", f"lack {self.rest}", f"be without {self.rest}"]
            return ways[int(manner * len(ways))]
        return f"not {self.verb} {self.rest}"

    def gerund(self, holds: bool, manner: float = 0) -> str:
        """'being stiff', 'not being stiff', 'having no time delay'."""
        if self.verb == "have" and not holds:
            ways = [f"having no {self._bare}", f"not having {self.rest}", f"lacking {self.rest}"]
            return ways[int(manner * len(ways))]
        stem = self.verb[:-1] if self.verb in ("have", "use") else self.verb
        return f"{'' if holds else 'not '}{stem}ing {self.rest}"

    def often(self, adverb: str, *, plural: bool = False) -> str:
        """'is always stiff', 'never has a time delay'."""
        if self.verb == "be":
            return f"{'are' if plural else 'is'} {adverb} {self.rest}"
        return f"{adverb} {self.verb if plural else self._third_verb} {self.rest}"

    @property
    def _third_verb(self) -> str:
        irregular = {"be": "is", "have": "has"}
        return irregular.get(self.verb) or f"{self.verb}{'es' if self.verb.endswith('ss') else 's'}"

    @property
    def _bare(self) -> str:
        return self.rest.removeprefix("an ").removeprefix("a ")

    @property
    def _can_be_none(self) -> bool:
        """'shows no slow drift', but not 'passes no leak test' or 'needs no two operators'."""
        return self.verb != "pass" and not self.rest.startswith(("the ", "two "))


_MADE_UP = """
    blenic blick brask brellic brostal clorvic crell crendal dorn dravic drosk drunnic fenk flessic florval frandic frim
    glavic glemmous glot gorv gralvous grennic helsk hestric jeld jemmal jorvic jurn kelvous kerm klent krovic lommic
    lorm lurst lurvous melvic merv morl morvous murdric narsk nelvic nolt nostric pelvous plennic plorvic plun prandous
    prusk quellic quist quorvous ralvic relmous rostric selvous skend skennic skorval slommic smervic snellous sorvic
    spolvic sprennic stolvous strommic tarvic telmous thorvic tolmic torl trellous trunnic tulmous vandric velmic vint
    vorlic vostrous wendric wolmic yarvic yold zarn zelmic zorvous
"""
_MADE_UP_THINGS = """
    brantle dravel drell frosket glimp gribbin hosset krammet lesker murdle nundle pellock plonter quoint skirn sprindle
    tarnel vorple zindle
"""

_LAB: tuple[Property, ...] = tuple(
    Property(verb, rest)
    for verb, rests in {
        "be": "battery-powered|water-cooled|hand-tuned|vacuum-sealed|remote-controlled|second-hand|on loan|"
        "bolted to the wall|painted green|listed in the catalogue|older than the building|wired to the main clock|"
        "rack-mounted|insured against theft|kept under a hood|due for repair",
        "have": "a gold contact|a spare mains lead|a red label|a built-in filter|a second output|a service contract|"
        "a manual switch|a glass cover|a cracked seal|a paper manual|a broken handle|a ceramic base",
        "show": "a sharp spectral peak|low-frequency noise|a slow drift|a warm-up transient|occasional bursts|"
        "a daily cycle",
        "need": "a weekly check|an external trigger|a licence|two operators|a new fuse",
        "use": "a coaxial cable|a borrowed lens|liquid helium|a quartz reference",
        "pass": "the overnight test|the leak test|the shock test",
        "bear": "a yellow tag|a serial number",
    }.items()
    for rest in rests.split("|")
)
_TERMS: tuple[tuple[Property, ...], ...] = tuple(
    tuple(Property(*entry.split(" ", 1)) for entry in group.split("|"))
    for group in (
        "be chaotic|be ergodic|have a strange attractor|be integrable|show transient chaos|have a period-three orbit",
        "be dissipative|be time-reversible|have a conserved quantity|be invertible",
        "be autonomous|be parametrically driven",
        "be bounded|have a compact state space",
        "be multistable|show hysteresis|have a fractal basin boundary",
        "be piecewise linear|be nearly linear",
        "be spatially extended|have a ring topology",
        "show phase locking|show amplitude death",
        "show intermittency|show critical slowing",
        "have a time delay|have a finite memory",
        "be stiff|show relaxation oscillations",
        "be structurally stable|be persistent under noise",
        "have a saddle point|have a homoclinic orbit",
        "be symmetric under a change of sign|have a mirror symmetry",
        "be weakly coupled|be globally coupled",
        "be dimensionless|be written in normal form",
    )
)
SHOWING = ("show", "exhibit", "display")
"""Words for one and the same; a question keeps to one of them."""
ROOM = {INVENTED: 40, LAB: len(_LAB), TERMS: len(_TERMS)}
"""How many properties a question can have in a vocabulary."""


def properties(vocabulary: str, count: int, chance: Chance, *name: str) -> tuple[Property, ...]:
    """`count` properties of a vocabulary that belong to a name. More than its ROOM is an error of the caller."""
    assert count <= ROOM[vocabulary]
    if vocabulary == TERMS:
        groups = chance.mixed(_TERMS, str, *name)[:count]
        return _showing(chance, [chance.pick(group, *name, group[0].rest) for group in groups], *name)
    if vocabulary == LAB:
        return _showing(chance, chance.mixed(_LAB, str, *name)[:count], *name)
    made_up = [Property("be", word) for word in _MADE_UP.split()]
    if chance.share(*name, "things") < 0.4:
        made_up += [Property("have", f"a {word}") for word in _MADE_UP_THINGS.split()]
    return tuple(chance.mixed(made_up, str, *name)[:count])


def _showing(chance: Chance, chosen: Sequence[Property], *name: str) -> tuple[Property, ...]:
    """The properties with the word for 'show' that belongs to a name."""
    verb = chance.pick(SHOWING, *name, "showing")
    return tuple(replace(each, verb=verb) if each.verb == SHOWING[0] else each for each in chosen)
