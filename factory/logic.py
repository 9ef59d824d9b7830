"""The stratum *logic*: rules and facts in plain words, and what follows from them.

Two lanes of rules lead from the facts to two properties. One lane holds; in the other one rule or one fact is weak: it
points the wrong way, speaks of some only, has the wrong sign. The other setting has the same sentences with two words
exchanged, so that the other lane holds. Around a weak rule that names the property of the claim, further rules give the
property of the other claim the same neighbours. A literal is a whole number that is not zero: 3 says that the third
property holds, -3 that it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

from factory.chance import Chance
from factory.quartet import Claim, Quartet
from factory.tables import toml

said = partial(toml, "logic.toml")
Clause = tuple[int, ...]
STEPS = {
    "fol_inference": ((0, 1), (0, 1), (1, 1), (0, 2), (1, 2), (0, 3)),
    "multi_hop": ((1, 2), (0, 3), (2, 2), (1, 3), (0, 4), (2, 3), (3, 2), (3, 3)),
}
"""Family → rules that both lanes share, rules of a lane of its own."""
NEEDED = {"fol_inference": (1, 3), "multi_hop": (3, 6)}
KINDS = ("follows", "follows", "excluded", "consistent", "decided")
MOST_FACTS, MOST_STATEMENTS, MOST_ATOMS = 4, 13, 16
TRIES = 60


@dataclass(frozen=True)
class Rule:
    form: str
    atoms: tuple[int, ...]
    wording: int

    def clauses(self) -> list[Clause]:
        return [self._filled(clause) for clause in said()["form"][self.form].get("clauses", [])]

    def witness(self) -> Clause | None:
        """What some object has, where the rule says only that."""
        slots = said()["form"][self.form].get("witness")
        return self._filled(slots) if slots else None

    def _filled(self, slots: Iterable[int]) -> Clause:
        return tuple(self.atoms[abs(slot) - 1] * (1 if slot > 0 else -1) for slot in slots)

    def renamed(self, names: dict[int, int]) -> Rule:
        return replace(self, atoms=tuple(names.get(atom, atom) for atom in self.atoms))


# What follows: by propagation, and by cases where that ends.


def possible(clauses: Iterable[Clause], known: Iterable[int]) -> bool:
    """Whether an object that obeys all clauses can have all that is known."""
    true = set(known)
    if any(-literal in true for literal in true):
        return False
    left = list(clauses)
    while True:
        rest, new = [], set[int]()
        for clause in left:
            if any(literal in true for literal in clause):
                continue
            open_ = tuple(literal for literal in clause if -literal not in true)
            if not open_:
                return False
            if len(open_) == 1:
                new.add(open_[0])
            rest.append(open_)
        if not new:
            return not rest or any(possible(rest, (*true, way)) for way in (rest[0][0], -rest[0][0]))
        if any(-literal in new for literal in new):
            return False
        true |= new
        left = rest


def implied(clauses: Sequence[Clause], known: Iterable[int], literal: int) -> bool:
    return not possible(clauses, (*known, -literal))


# Making an argument.


@dataclass
class Sketch:
    """Rules and facts that are being put down."""

    draw: Chance
    rules: list[Rule] = field(default_factory=list)
    facts: list[int] = field(default_factory=list)
    atoms: int = 0

    def fresh(self, sign: int = 1) -> int:
        self.atoms += 1
        return sign * self.atoms

    def sign(self) -> int:
        return -1 if self.draw.below(10) < 3 else 1

    def add(self, form: str, *literals: int) -> int:
        """A rule about these properties, whatever their signs; its place among the rules."""
        atoms = [abs(literal) for literal in literals]
        swapped = atoms[1::-1] + atoms[2:]
        symmetrical = form in ("excl", "or", "xor", "iff", "joint", "joint_not", "any", "any_not", "some")
        if symmetrical and self.draw.heads():
            atoms = swapped
        if form == "fork" and self.draw.heads():
            atoms = [atoms[0], atoms[2], atoms[1]]
        self.rules.append(Rule(form, tuple(atoms), self.draw.below(len(said()["form"][form]["wordings"]))))
        return len(self.rules) - 1

    def plain(self, start: int, end: int) -> int:
        """What has `start` has `end`."""
        if start * end > 0:
            return self.add("imp", *((start, end) if start > 0 else (end, start)))
        return self.add("excl" if start > 0 else "or", start, end)

    def three(self, start: int, beside: int, end: int) -> int:
        """What has `start` and `beside` has `end`; not for two denied ones that lead to an asserted one."""
        denied = [-literal for literal in (start, beside) if literal < 0] + [end] * (end > 0)
        asserted = [literal for literal in (start, beside) if literal > 0] + [-end] * (end < 0)
        if len(asserted) == 1:
            return self.add("fork", asserted[0], *denied)
        return self.add("joint" if denied else "joint_not", *asserted, *denied)


def link(sketch: Sketch, how: str, start: int, end: int, *, weak: bool) -> list[int]:
    """Rules that lead from one literal to another, or do not where they are weak; the one that shows it comes last."""
    if how == "cases":
        one, other = sketch.fresh(), sketch.fresh()
        first, second = sketch.add("fork", start, one, other), sketch.plain(one, end)
        return [first, second, *link(sketch, sketch.draw.pick(("some", "against")), other, end, weak=weak)]
    if how == "joint":
        beside = sketch.fresh(sketch.sign() if start > 0 else 1)
        sketch.facts.append(-beside if weak else beside)
        return [sketch.three(start, beside, end)]
    if how == "any" and start > 0:
        return [sketch.add("any" if end > 0 else "any_not", start, sketch.fresh(), end)]
    return [_weak(sketch, how, start, end) if weak else _strong(sketch, how, start, end)]


def _strong(sketch: Sketch, how: str, start: int, end: int) -> int:
    exclusive = how == "exclusive" or (how == "turned" and start * end < 0 and sketch.draw.heads())
    return sketch.add("xor" if start * end < 0 else "iff", start, end) if exclusive else sketch.plain(start, end)


def _weak(sketch: Sketch, how: str, start: int, end: int) -> int:
    if how == "some":
        return sketch.add("some" if end > 0 else "some_not", start, end)
    if how == "against":
        return sketch.plain(start, -end)
    return sketch.plain(end, start) if start * end > 0 else sketch.add("or" if start > 0 else "excl", start, end)


@dataclass
class Argument:
    """Two settings and what is claimed: literal `ends[c]` is implied in setting c alone, by `needed` of the rules."""

    rules: tuple[list[Rule], list[Rule]]
    facts: tuple[list[int], list[int]]
    ends: tuple[int, int]
    needed: int
    atoms: int


def argument(draw: Chance, steps: tuple[int, int], subject: str, last: int, *, rich: bool) -> Argument | None:
    """`last`: the sign of what is claimed. None where the draw does not become what it should."""
    shared, own = steps
    sketch = Sketch(draw)
    weakened = ["turned", "turned", "some", "against", "joint"]
    weakened += [] if shared else ["start", "start"]
    weakened += ["cases"] * 3 if rich and own < 3 and last > 0 else []
    how = draw.pick(weakened)
    at = 0 if how == "start" else draw.between(1, own)
    plain = ["plain"] * 3 + ["exclusive", "joint", "any"] if rich else ["plain"] * 6 + ["exclusive", "joint", "any"]
    signs = [sketch.sign() for _ in range(own)] + [last]
    if how == "cases":
        signs[at - 1 : at + 1] = [1, 1] if at < own else [1, last]
    if how == "some":
        signs[at - 1] = 1

    begin = sketch.fresh(signs[0] if not shared else sketch.sign())
    sketch.facts.append(begin)
    for number in range(shared):
        after = sketch.fresh(signs[0] if number == shared - 1 else sketch.sign())
        link(sketch, draw.pick(plain), begin, after, weak=False)
        begin = after
    starts = [begin, begin]
    if how == "start" or (not shared and subject == "one" and draw.heads()):
        starts[1] = sketch.fresh(signs[0])
        sketch.facts.append(-starts[1] if how == "start" else starts[1])

    lanes = [[start, *(sketch.fresh(sign) for sign in signs[1:])] for start in starts]
    links: list[list[list[int]]] = [[], []]
    beside: list[int] = []
    for level in range(1, own + 1):
        way = how if level == at else draw.pick(plain)
        for lane in (0, 1):
            before = len(sketch.facts)
            weak = level == at and lane == 1
            links[lane].append(link(sketch, way, lanes[lane][level - 1], lanes[lane][level], weak=weak))
            beside += sketch.facts[before:] if level == at else []
    needed = shared + sum(map(len, links[0]))
    ends = lanes[0][-1], lanes[1][-1]
    if at == own and how not in ("joint", "start"):
        _twins(sketch, [links[lane][-1][-1] for lane in (0, 1)], [abs(end) for end in ends])
    change = _change(sketch, how, at, lanes, links, beside)
    made = Argument((sketch.rules, []), (sketch.facts, []), ends, needed, sketch.atoms)

    def finished() -> bool:
        rules, facts = change(sketch.rules, sketch.facts)
        made.rules, made.facts, made.atoms = (sketch.rules, rules), (sketch.facts, facts), sketch.atoms
        return _sound(made, subject)

    if not finished():
        return None
    for _ in range(draw.below(3)):
        before = sketch.atoms
        _distract(sketch)
        if not finished():
            sketch.rules.pop()
            sketch.atoms = before
    return made if finished() else None


def _twins(sketch: Sketch, telling: Sequence[int], ends: Sequence[int]) -> None:
    """The rules that name the ends once more, each about the other end and about something new beside it."""
    for place, end, other in zip(telling, ends, reversed(ends), strict=True):
        rule = sketch.rules[place]
        names = {atom: sketch.fresh() for atom in rule.atoms if atom != end} | {end: other}
        wording = sketch.draw.below(len(said()["form"][rule.form]["wordings"]))
        sketch.rules.append(replace(rule.renamed(names), wording=wording))


Changed = tuple[list[Rule], list[int]]


def _change(
    sketch: Sketch, how: str, at: int, lanes: list[list[int]], links: list[list[list[int]]], beside: list[int]
) -> Callable[[list[Rule], list[int]], Changed]:
    """What makes the other setting of the one: two properties exchanged, in the facts or in some rules."""
    own = len(links[0])
    if how == "start":
        beside = [lane[0] for lane in lanes]
    if how in ("joint", "start") and sketch.draw.heads():
        one, other = (abs(literal) for literal in beside)

        def facts_changed(rules: list[Rule], facts: list[int]) -> Changed:
            names = {one: other, other: one}
            return list(rules), [names.get(abs(f), abs(f)) * (1 if f > 0 else -1) for f in facts]

        return facts_changed
    pair = [links[lane][at - 1][-1] for lane in (0, 1)]
    if how == "turned" and at < own and all(sketch.rules[p].form == "imp" for p in pair) and sketch.draw.heads():

        def turned(rules: list[Rule], facts: list[int]) -> Changed:
            return [replace(r, atoms=r.atoms[::-1]) if p in pair else r for p, r in enumerate(rules)], list(facts)

        return turned
    level = sketch.draw.between(max(at, 1), own)
    one, other = (abs(lane[level]) for lane in lanes)
    places = {place for lane in links for place in lane[level - 1]}

    def exchanged(rules: list[Rule], facts: list[int]) -> Changed:
        names = {one: other, other: one}
        return [r.renamed(names) if level == own or p in places else r for p, r in enumerate(rules)], list(facts)

    return exchanged


def _distract(sketch: Sketch) -> None:
    """One more rule, about what is there or about something new."""
    draw = sketch.draw
    old = draw.some(range(1, sketch.atoms + 1), 3)
    one, two, three = (atom if draw.below(10) < 7 else -atom for atom in (old * 3)[:3])
    shape = draw.pick(("old", "new", "after", "three", "some"))
    if shape == "new":
        sketch.plain(sketch.fresh(), two)
    elif shape == "after":
        sketch.plain(one, sketch.fresh())
    elif shape == "three" and len(old) == 3:
        sketch.three(abs(one), abs(two), three)
    elif shape == "some":
        sketch.add("some" if two > 0 else "some_not", abs(one), two if abs(two) != abs(one) else sketch.fresh())
    elif abs(one) != abs(two):
        sketch.plain(one, two)
    else:
        sketch.plain(one, sketch.fresh())


def _sound(made: Argument, subject: str) -> bool:
    """Whether each end is implied in its own setting alone, by as many rules as planned, and nothing is odd."""
    facts = len(made.facts[0])
    if facts > MOST_FACTS or len(made.rules[0]) + facts > MOST_STATEMENTS or made.atoms > MOST_ATOMS:
        return False
    return all(_sound_setting(made, s) and (subject != "some" or not _shown(made, s)) for s in (0, 1))


def _sound_setting(made: Argument, s: int) -> bool:
    rules, facts, end = made.rules[s], made.facts[s], made.ends[s]
    clauses = [clause for rule in rules for clause in rule.clauses()]
    if len({(rule.form, frozenset(rule.atoms)) for rule in rules}) < len(rules) or not possible(clauses, facts):
        return False
    if not implied(clauses, facts, end) or implied(clauses, facts, made.ends[1 - s]):
        return False
    without = [[c for q, rule in enumerate(rules) if q != p for c in rule.clauses()] for p in range(len(rules))]
    if sum(not implied(few, facts, end) for few in without) != made.needed:
        return False
    return all(possible(clauses, case) for rule in rules for case in _instances(rule))


def _instances(rule: Rule) -> list[Clause]:
    """What a reader may think that the rule has an instance of: each way to fall under it; 'some' is not all."""
    witness = rule.witness()
    if witness:
        return [witness, (witness[0], -witness[1])]
    return [tuple(-other for other in clause if other != literal) for clause in rule.clauses() for literal in clause]


def _shown(made: Argument, s: int) -> bool:
    """Whether what a rule says of some object is enough for a claim."""
    clauses = [clause for rule in made.rules[s] for clause in rule.clauses()]
    witnesses = [rule.witness() for rule in made.rules[s]]
    return any(witness and implied(clauses, witness, end) for witness in witnesses for end in made.ends)


# Words.


@dataclass(frozen=True)
class Property:
    verb: str
    rest: str

    def text(self, sign: int, *, plural: bool = False) -> str:
        """'is stiff', 'has no red label', 'does not hum', 'are stiff', 'hum'."""
        if self.verb == "be":
            return " ".join([("are" if plural else "is"), *(["not"] if sign < 0 else []), self.rest])
        if self.verb == "have":
            no = "no " + self.rest.split(" ", 1)[1]
            return f"{'have' if plural else 'has'} {self.rest if sign > 0 else no}"
        if sign < 0:
            return f"{'do' if plural else 'does'} not {self.verb} {self.rest}".rstrip()
        ending = "" if plural else "es" if self.verb.endswith("ss") else "s"
        return f"{self.verb}{ending} {self.rest}".rstrip()


@dataclass(frozen=True)
class Words:
    properties: Sequence[Property]
    noun: str
    who: str

    def of(self, literal: int, *, plural: bool = False) -> str:
        return self.properties[abs(literal) - 1].text(literal, plural=plural)

    def filled(self, template: str, **more: str) -> str:
        a = f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"
        known = {"n": self.noun, "ns": f"{self.noun}s", "a": a, "A": a[0].upper() + a[1:]}
        return template.format(**known, who=self.who, Who=self.who[0].upper() + self.who[1:], **more)

    def rule(self, rule: Rule) -> str:
        parts: dict[str, str] = {}
        for slot, atom in zip("xyz", rule.atoms, strict=False):
            parts |= {slot: self.of(atom), f"not_{slot}": self.of(-atom)}
            parts |= {f"{slot}s": self.of(atom, plural=True), f"not_{slot}s": self.of(-atom, plural=True)}
        return self.filled(said()["form"][rule.form]["wordings"][rule.wording], **parts)

    def all_of(self, literals: Sequence[int]) -> str:
        texts = [self.of(literal) for literal in literals]
        return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]


def quartets(family: str, chance: Chance) -> Iterator[Quartet]:
    rich = family == "fol_inference"
    for number in count():
        draw = chance.of(number)
        kind = KINDS[number % len(KINDS)]
        subject = draw.pick(_subjects(kind)) if rich else "one"
        for attempt in range(TRIES):
            found = _quartet(family, kind, subject, draw.of("try", attempt), f"{family} {number}")
            if found:
                yield found
                break


def _subjects(kind: str) -> tuple[str, ...]:
    return {"decided": ("one",), "consistent": ("one", "one", "some")}.get(kind, ("one", "one", "some", "every"))


def _quartet(family: str, kind: str, subject: str, draw: Chance, name: str) -> Quartet | None:
    """One question form: what is claimed, and the facts that go with it."""
    rich = family == "fol_inference"
    last = {"follows": 1, "excluded": -1}.get(kind) or (1 if draw.heads() else -1)
    made = argument(draw.of("argument"), draw.pick(STEPS[family]), subject, last, rich=rich)
    if made is None or not NEEDED[family][0] <= made.needed <= NEEDED[family][1]:
        return None
    if subject == "every" and (
        len(made.facts[0]) > 1 or made.facts[0] != made.facts[1] or (last < 0 > made.facts[0][0])
    ):
        return None
    form = kind
    if kind == "decided":
        form = draw.pick(("settled", "open"))
        clauses = [[clause for rule in rules for clause in rule.clauses()] for rules in made.rules]
        if any(implied(clauses[s], made.facts[s], -made.ends[1 - s]) for s in (0, 1)):
            return None
    if kind == "consistent":
        made.facts = made.facts[0] + [-made.ends[0]], made.facts[1] + [-made.ends[0]]
    if subject == "some" and (len(made.facts[0]) > 3 or sum(fact < 0 for fact in made.facts[0]) > 1):
        return None
    if kind == "consistent" or form == "open":  # the first claim is that of the consistent or settled setting
        first = 1 if kind == "consistent" else 0
        made.rules, made.facts = (made.rules[first], made.rules[1 - first]), (made.facts[first], made.facts[1 - first])
        made.ends = made.ends[0], made.ends[0]
    world = draw.pick(list(said()["world"].values()))
    words = _words(world, made.atoms, draw)
    opening = words.filled(draw.pick(world["put" if kind == "consistent" else "given"]))
    if subject == "some" and kind != "consistent":
        opening += " " + words.filled(said()["facts"]["none"])
    layout = draw.of("layout")
    settings = [" ".join([opening, *_body(made.rules[s], made.facts[s], subject, words, layout.of())]) for s in (0, 1)]
    claims = [_claim(kind, form, subject, c, made, words) for c in (0, 1)]
    return Quartet(kind, name, (settings[0], settings[1]), ((claims[0], claims[1]), (claims[0], claims[1])))


def _words(world: dict[str, Any], atoms: int, draw: Chance) -> Words:
    groups = draw.some(world["properties"], atoms)
    chosen = [draw.pick(group.split("|")).partition(" ") for group in groups]
    noun = draw.pick(world["nouns"])
    return Words([Property(verb, rest) for verb, _, rest in chosen], noun, f"{noun} {draw.pick(world['names'])}")


def _body(rules: list[Rule], facts: list[int], subject: str, words: Words, draw: Chance) -> list[str]:
    """The sentences of a setting; the order depends on nothing but the places."""
    order = draw.mixed(range(len(rules)))
    told = [words.rule(rules[place]) for place in order]
    facts = [facts[place] for place in draw.mixed(range(len(facts)))]
    template = draw.pick(said()["facts"]["some" if subject == "some" else "one"])
    parts: list[list[int]] = [] if subject == "every" else [[]]
    for fact in facts if parts else []:
        full = len(parts[-1]) == 2 or (fact < 0 and any(f < 0 for f in parts[-1])) or draw.heads()
        if parts[-1] and full and subject != "some":
            parts.append([])
        parts[-1].append(fact)
    known = [words.filled(template, f=words.all_of(part)) for part in parts]
    return [*known, *told] if draw.heads() else [*told, *known]


def _claim(kind: str, form: str, subject: str, c: int, made: Argument, words: Words) -> Claim:
    if kind in ("follows", "excluded"):
        form = "no" if subject == "every" and kind == "excluded" else subject
    wordings = said()["claim"][form]
    wordings = wordings[c % len(wordings)]
    literal = made.ends[c] if kind in ("follows", "excluded") and form != "no" else abs(made.ends[c])
    given = words.all_of(made.facts[0]) if subject == "every" else ""
    texts = tuple(words.filled(wording, c=words.of(literal), f=given) for wording in wordings)
    return Claim(texts, negative=kind == "excluded")
