"""The words of the properties: invented ones, those of a laboratory, and terms of the theory.

In one question no two properties are linked by their words or by a definition. Invented words have no meaning at all.
The properties of devices are accidents, such as a label or a supply. Of the terms of the theory, a question takes one
from each group at most; the groups hold what a reader might connect.
"""

from __future__ import annotations

from dataclasses import dataclass

from perpend.studies.logic.chaos.questions.chance import Chance

INVENTED, LAB, TERMS = VOCABULARIES = ("invented", "lab", "terms")


@dataclass(frozen=True, slots=True)
class Property:
    """A verb in its base form and what comes after it: ('be', 'stiff'), ('have', 'a time delay')."""

    verb: str
    rest: str

    @property
    def adjective(self) -> str | None:
        """The word that may stand before a noun; None where the property is no single adjective."""
        return self.rest if self.verb == "be" and " " not in self.rest else None

    def third(self, holds: bool) -> str:
        """'is stiff', 'has no time delay', 'does not show bursts'."""
        if self.verb == "be":
            return f"is {self.rest}" if holds else f"is not {self.rest}"
        if self.verb == "have":
            return f"has {self.rest}" if holds else f"has no {_bare(self.rest)}"
        ending = "es" if self.verb.endswith("ss") else "s"
        return f"{self.verb}{ending} {self.rest}" if holds else f"does not {self.verb} {self.rest}"

    def plural(self, holds: bool) -> str:
        """'are stiff', 'have no time delay', 'do not show bursts'."""
        if self.verb == "be":
            return f"are {self.rest}" if holds else f"are not {self.rest}"
        if self.verb == "have":
            return self.base(holds)
        return f"{self.verb} {self.rest}" if holds else f"do not {self.verb} {self.rest}"

    def base(self, holds: bool) -> str:
        """'be stiff', 'not be stiff', 'have no time delay': after 'must' or 'to'."""
        if self.verb == "have":
            return f"have {self.rest}" if holds else f"have no {_bare(self.rest)}"
        return f"{self.verb} {self.rest}" if holds else f"not {self.verb} {self.rest}"


def _bare(rest: str) -> str:
    return rest.removeprefix("an ").removeprefix("a ")


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
        "bolted to the wall|painted green|listed in the catalogue|older than the building|wired to the main clock",
        "have": "a gold contact|a spare amplifier|a red label|a built-in filter|a second output|a service contract|"
        "a manual switch|a glass cover|a cracked seal|a paper manual",
        "show": "a sharp spectral peak|low-frequency noise|a slow drift|a warm-up transient|occasional bursts|"
        "a daily cycle",
        "need": "a weekly check|an external trigger|a licence|two operators",
        "use": "a coaxial cable|a borrowed lens|liquid helium",
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
ROOM = {INVENTED: 40, LAB: len(_LAB), TERMS: len(_TERMS)}
"""How many properties a question can have in a vocabulary."""


def properties(vocabulary: str, count: int, chance: Chance, *name: str) -> tuple[Property, ...]:
    """`count` properties of a vocabulary that belong to a name. More than its ROOM is an error of the caller."""
    assert count <= ROOM[vocabulary]
    if vocabulary == TERMS:
        groups = chance.mixed(_TERMS, str, *name)[:count]
        return tuple(chance.pick(group, *name, group[0].rest) for group in groups)
    if vocabulary == LAB:
        return tuple(chance.mixed(_LAB, str, *name)[:count])
    made_up = [Property("be", word) for word in _MADE_UP.split()]
    if chance.share(*name, "things") < 0.4:
        made_up += [Property("have", f"a {word}") for word in _MADE_UP_THINGS.split()]
    return tuple(chance.mixed(made_up, str, *name)[:count])
