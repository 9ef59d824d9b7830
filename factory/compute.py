"""The stratum *compute*: what a stated system does from a stated start, after a stated time."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, localcontext
from functools import cache, partial
from itertools import chain, combinations, count, zip_longest
from typing import Any

from factory.again.compute import kept
from factory.chance import Chance
from factory.measure import FACTS, Fact, agrees, measured
from factory.quartet import Claim, Quartet, mirrored
from factory.systems import System, drawn, systems
from factory.tables import toml

wordings = partial(toml, "compute.toml")
ITERATED = 420
"""Bundles of iterated maps among the atomic ones."""
POLYNOMIAL = (
    "logistic", "cubic", "quadratic", "henon", "delayed", "burgers", "duffing_map", "predator", "coupled", "tinkerbell",
)  # fmt: skip
MOST, COUPLES, THREES = 10, 4, 3
"""At most so many bundles of a system, so that none makes up much of a split: of couples of cycles, of three values."""
SAID = {"chaotic": "chaotic", "periodic": "periodic", "rest": "steady"}
RANKS = ("smallest", "middle", "largest")
Group = list[Fact]


@cache
def facts(secret: str = "") -> dict[str, list[Group]]:
    """System → its groups of facts: all numbers but one are the same in a group."""
    if secret:
        looked = measured(secret)
        kept().update((motion.digest, seen) for _, motion, seen in looked)
        rows = [fact for fact, _, seen in looked if agrees(fact, seen)]
    else:
        rows = [json.loads(line) for line in FACTS.read_text(encoding="utf-8").splitlines()]
    groups = defaultdict[tuple[str, int], Group](list)
    for fact in rows:
        groups[fact["system"], fact["group"]].append(fact)
    found = defaultdict[str, list[Group]](list)
    for (name, _), group in groups.items():
        found[name].append(sorted(group, key=lambda fact: float(fact["numbers"][fact["letter"]])))
    return dict(found)


def quartets(family: str, chance: Chance, secret: str = "") -> Iterator[Quartet]:
    if family == "atomic":
        streams = [_regimes(chance, secret, 0), _iterated(chance, ITERATED)]
    else:
        streams = [_regimes(chance, secret, 1), _periods(chance, secret), _transitions(chance, secret)]
        streams.append(_one_of_three(chance, secret))
    for row in zip_longest(*streams):
        yield from (quartet for quartet in row if quartet is not None)


def _shares(secret: str) -> Iterator[tuple[System, list[Group], list[tuple[Group, Group]], list[tuple[Group, Group]]]]:
    """Each system with its groups for regimes, and couples for two values and for three; no group serves twice."""
    for name, groups in facts(secret).items():
        system = systems()[name]
        left = _without(groups, _cycles(system, groups))
        threes = _threes(left)[:THREES]
        left = [group for group in _without(left, chain(*threes)) if len({fact["kind"] for fact in group}) > 1]
        changes = _changes(left)[:THREES]
        room = MOST - len(changes) - len(threes) - (COUPLES if system.discrete else 0)
        yield system, _without(left, chain(*changes))[:room], changes, threes


def _without(groups: list[Group], used: Iterable[Group]) -> list[Group]:
    taken = {group[0]["group"] for group in used}
    return [group for group in groups if group[0]["group"] not in taken]


def _setting(system: System, fact: Fact, draw: Chance, meaning: Sequence[str], values: str = "") -> str:
    numbers = dict(fact["numbers"])
    if values:
        del numbers[fact["letter"]]
    words = draw.pick(wordings()["values" if values else "regime"]["map" if system.discrete else "flow"])
    given = {
        "name": system.name,
        "Name": system.name[0].upper() + system.name[1:],
        "e": system.equations(numbers),
        "s": system.begins(fact["start"]),
        "h": system.horizon,
        "k": fact["letter"],
        "v": values,
    }
    return " ".join([words.format(**given), *(wordings()["meaning"][name] for name in meaning)])


def _quartet(kind: str, system: System, settings: Sequence[str], claims: Any, traits: tuple[str, ...] = ()) -> Quartet:
    cluster, name = (traits[0], "generic") if traits else (system.id, system.id)  # a map that is iterated has no name
    couple = settings[0], settings[1]
    return Quartet(kind, cluster, couple, claims, (name, name), (system.source,), traits)


def _contrast(kind: str, group: Group, chance: Chance) -> Quartet:
    """Two values of one number, and what the motion is at them: its kind, or its period."""
    system = systems()[group[0]["system"]]
    draw = chance.of(kind, system.id, group[0]["group"])
    tells = "kind" if kind == "regime" else "cycle"
    one = draw.pick(group)
    couple = one, draw.pick([fact for fact in group if fact[tells] != one[tells]])
    meaning = ["chaotic"] if any(fact["kind"] == "chaotic" for fact in couple) else []
    same = draw.below(10**6)
    settings = [_setting(system, fact, Chance("words", system.id, same), meaning) for fact in couple]
    words = [wordings()["claims"][fact["kind"] if kind == "regime" else "cycle"] for fact in couple]
    said = [Claim(tuple(w.format(n=fact["cycle"]) for w in some)) for some, fact in zip(words, couple, strict=True)]
    return _quartet(kind, system, settings, mirrored(*said))


def _regimes(chance: Chance, secret: str, half: int) -> Iterator[Quartet]:
    for _, groups, *_ in _shares(secret):
        yield from (_contrast("regime", group, chance) for group in groups[half::2])


def _periods(chance: Chance, secret: str) -> Iterator[Quartet]:
    for name, groups in facts(secret).items():
        yield from (_contrast("period", couple, chance) for couple in _cycles(systems()[name], groups))


def _cycles(system: System, groups: list[Group]) -> list[Group]:
    """Couples of cycles of a map with more than one number, few of each map, and the longer one as often at the larger
    number as at the smaller: otherwise, some examples teach what numbers have which period."""
    ways: dict[bool, list[Group]] = {True: [], False: []}
    for group in groups if system.discrete and len(system.numbers) > 1 else []:
        cycles = [fact for fact in group if fact["kind"] == "periodic"]
        couples = [[a, b] for a, b in combinations(cycles, 2) if a["cycle"] != b["cycle"]]
        falling = [couple for couple in couples if couple[0]["cycle"] > couple[1]["cycle"]]
        if couples:
            ways[bool(falling)].append((falling or couples)[0])
    return [*ways[True][: COUPLES // 2], *ways[False][: min(COUPLES // 2, len(ways[True]) + 1)]]


def _changes(groups: list[Group]) -> list[tuple[Group, Group]]:
    """Couples of two facts each, in which the same number turns one kind of motion into the other, up and down."""
    ways = defaultdict[tuple[str, str, str], list[Group]](list)
    for group in groups:
        pairs = [[low, high] for low, high in combinations(group, 2) if low["kind"] != high["kind"]]
        found = {(low["kind"], low["letter"], high["kind"]): [low, high] for low, high in pairs}
        way = min(found, key=lambda way: len(ways[way]) - len(ways[way[::-1]]))
        ways[way].append(found[way])
    rising = [(up, ways.get(way[::-1], [])) for way, up in sorted(ways.items()) if way[0] < way[2]]
    return [couple for up, down in rising for couple in zip(up, down, strict=False)]


def _transitions(chance: Chance, secret: str) -> Iterator[Quartet]:
    """Two values in each setting: one kind of motion turns into the other in the first, and back in the second."""
    for system, _, couples, _ in _shares(secret):
        for couple in couples:
            draw = chance.of("transition", system.id, *(group[0]["group"] for group in couple))
            kinds = [SAID[fact["kind"]] for fact in couple[0]]
            meaning = [kind for kind in kinds if kind in wordings()["meaning"]]
            same = draw.below(10**6)
            settings, claims = [], []
            for low, high in couple:
                values = [fact["numbers"][fact["letter"]] for fact in (low, high)]
                words = Chance("words", system.id, same)
                settings.append(_setting(system, low, words, meaning, f"{values[0]} and {values[1]}"))
                told = {"k": low["letter"], "low": values[0], "high": values[1]}
                said = [{**told, "a": a, "b": b} for a, b in (kinds, kinds[::-1])]
                one, other = (Claim(tuple(w.format(**t) for w in wordings()["claims"]["change"])) for t in said)
                claims.append((one, other))
            yield _quartet("transition", system, settings, tuple(claims))


def _rank(group: Group) -> int | None:
    """The place of the only chaotic one among three facts."""
    kinds = [fact["kind"] for fact in group]
    return kinds.index("chaotic") if len(kinds) == 3 and kinds.count("chaotic") == 1 else None


def _threes(groups: list[Group]) -> list[tuple[Group, Group]]:
    """Couples of groups in which the same number varies, and chaos has another place among its three values: so none of
    the numbers of a system has its chaos more often at one place than at another."""
    left = [group for group in groups if _rank(group) is not None]
    couples = []
    while left:
        one = left.pop(0)
        fitting = (g for g in left if g[0]["letter"] == one[0]["letter"] and _rank(g) != _rank(one))
        other = next(fitting, None)
        if other is not None:
            left.remove(other)
            couples.append((one, other))
    return couples


def _one_of_three(chance: Chance, secret: str) -> Iterator[Quartet]:
    """Three values, one of which gives chaos; its rank among them differs between the settings."""
    for system, _, _, couples in _shares(secret):
        for couple in couples:
            draw = chance.of("three", system.id, couple[0][0]["group"])
            same = draw.below(10**6)
            settings, said = [], []
            for group in couple:
                values = draw.mixed([fact["numbers"][fact["letter"]] for fact in group])
                text = f"{values[0]}, {values[1]} and {values[2]}"
                words = Chance("words", system.id, same)
                settings.append(_setting(system, group[0], words, ["chaotic"], text))
                told = {"rank": RANKS[_rank(group) or 0], "k": group[0]["letter"]}
                said.append(Claim(tuple(w.format(**told) for w in wordings()["claims"]["only"])))
            yield _quartet("one_of_three", system, settings, mirrored(*said))


def _iterated(chance: Chance, most: int) -> Iterator[Quartet]:
    """A few steps of a map; the two settings differ in one number, and the values lie on both sides of a bound."""
    made = 0
    for number in count():
        if made == most:
            return
        draw = chance.of("iterate", number)
        system = systems()[draw.pick(POLYNOMIAL)]
        numbers, start = drawn(system.numbers, draw), drawn(system.start, draw)
        letter, steps = draw.pick(list(numbers)), draw.between(3, 7)
        other = numbers | drawn({letter: system.numbers[letter]}, draw)
        name = draw.pick(list(system.rates))
        values = [_after(system, chosen, start, steps, name) for chosen in (numbers, other)]
        bound = _between(*values)
        if bound is None:
            continue
        made += 1
        order = (numbers, other) if values[0] > values[1] else (other, numbers)
        words = draw.pick(wordings()["iterate"]["map"])
        settings = [words.format(e=system.equations(chosen), s=system.begins(start)) for chosen in order]
        said = [
            Claim(tuple(w.format(x=name, n=steps, c=bound) for w in wordings()["claims"][side]))
            for side in ("above", "below")
        ]
        traits = tuple(f"iterate: {system.equations(chosen)}" for chosen in order)
        yield _quartet("iterate", system, settings, mirrored(*said), traits)


def _after(system: System, numbers: dict[str, str], start: dict[str, str], steps: int, name: str) -> Decimal:
    """The value of one variable after so many steps, to many digits."""
    from sympy import lambdify

    state = {variable: Decimal(start[variable]) for variable in system.rates}
    known = [Decimal(numbers[letter]) for letter in system.numbers]
    step = lambdify([*state, *(f"p_{letter}" for letter in system.numbers)], system.formulas, modules=[{}])
    with localcontext() as context:
        context.prec = 60
        for _ in range(steps):
            state = dict(zip(state, step(*state.values(), *known), strict=True))
            if any(abs(value) > 100 for value in state.values()):
                return Decimal("NaN")
    return state[name]


def _between(one: Decimal, other: Decimal) -> str | None:
    """A bound with two digits, well away from both values; None where there is none."""
    if one.is_nan() or other.is_nan() or abs(one - other) < Decimal("0.1"):
        return None
    bound = ((one + other) / 2).quantize(Decimal("0.01"))
    return None if bound == 0 else str(bound.normalize() if bound != bound.to_integral() else bound.to_integral())
