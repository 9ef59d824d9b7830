"""The leaderboard of the chaos-logic set: what needs no understanding, the embedded model, and solvers with tools.

    python benchmarks/leaderboard.py                           every row, from the frozen facts; most of an hour
    python benchmarks/leaderboard.py --quick                   a few items of each stratum, no model; seconds
    python benchmarks/leaderboard.py --work again.jsonl        keeps what was measured and asked, and goes on from there
    python benchmarks/leaderboard.py --solve 2000              so many computed items, evenly over systems
    python benchmarks/leaderboard.py --into docs/reference     writes leaderboard.md there
    python benchmarks/leaderboard.py --facts                   only: do the frozen facts agree with the third program?

Every cell is balanced accuracy with a 95% interval clustered by what items share; an answer that is missing counts as
wrong. Strata are never added up. The solver reads a question's text, integrates the equations that it finds there with
a program that shares nothing with the measuring of the facts, and answers by what comes out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from perpend.canon import JSON, digest, dumps
from perpend.errors import PerpendError
from perpend.models.local import model as local_model
from perpend.spec.model import Budget
from perpend.stats import binary_metrics, proportion
from perpend.studies.logic.chaos.questions.chance import text_name
from perpend.studies.logic.chaos.questions.draft import STRATA
from perpend.studies.logic.chaos.questions.items import MAKERS, Bundle, Maker, build
from perpend.studies.logic.chaos.questions.world import Sources, sources
from perpend.studies.logic.chaos.solving.again import FactComparison, compared, measured_again, world_again
from perpend.studies.logic.chaos.solving.answers import answer, instances_of, spread
from perpend.studies.logic.chaosbench.attacks import attacks
from perpend.studies.logic.chaosbench.folds import Attacked
from perpend.studies.logic.design import PARSERS, USER, second_turn
from perpend.studies.logic.replies import reader
from perpend.types import Estimate, Item, Message, Request, Response, Sampling

Record = Mapping[str, JSON]
MODEL = "smollm2"
REPLY_TOKENS = 16
AIM = 0.998
"""Share of decided facts on which the third program is to agree."""
QUICK = 6
"""Computed items of a quick board; there are twice as many bundles of each stratum."""
SHOWN = 100
"""Disagreements that a page lists."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the board: balanced accuracy by stratum, and of compute by grade where answers are known."""

    name: str
    tools: str
    strata: Mapping[str, Estimate]
    grades: Mapping[str, Estimate]

    def as_json(self) -> dict[str, JSON]:
        return {
            "name": self.name,
            "tools": self.tools,
            "strata": {name: one.as_json() for name, one in self.strata.items()},
            "grades": {name: one.as_json() for name, one in self.grades.items()},
        }


def items(world: Sources, few: int | None) -> list[Record]:
    """All items of the set; or those of the first bundles of each stratum."""
    makers: Sequence[Maker] = MAKERS if few is None else [partial(_first, maker, few) for maker in MAKERS]
    return [record for rows in build(world, makers).values() for record in rows]


def _first(maker: Maker, few: int, world: Sources) -> Iterator[Bundle]:
    yield from islice(maker(world), few)


def counted(records: Sequence[Record], answers: Sequence[bool | None]) -> Estimate:
    """Balanced accuracy; a missing answer is a wrong one."""
    if not records:
        return Estimate(None, 0, note="no items")
    own = Attacked(records, {})
    given = [float(not truth if said is None else said) for truth, said in zip(own.truth, answers, strict=True)]
    metrics = binary_metrics(own.truth, given, own.clusters)
    found = metrics["balanced_accuracy"]
    missing = {"unanswered": sum(said is None for said in answers)}
    return replace(found, also={**metrics["accuracy_valid"].also, **found.also, **missing})


def row(name: str, tools: str, records: Sequence[Record], answers: Sequence[bool | None]) -> Row:
    """A line from answers."""

    def part(tag: str, value: str, among: str = "") -> Estimate:
        places = [k for k, one in enumerate(records) if one[tag] == value and among in ("", one["stratum"])]
        return counted([records[k] for k in places], [answers[k] for k in places])

    strata = [stratum for stratum in STRATA if any(one["stratum"] == stratum for one in records)]
    grades = sorted({str(one["grade"]) for one in records if one["stratum"] == "compute"})
    return Row(
        name, tools, {stratum: part("stratum", stratum) for stratum in strata},
        {grade: part("grade", grade, "compute") for grade in grades},
    )  # fmt: skip


def attack_rows(records: Sequence[Record], world: Sources) -> Iterator[Row]:
    """What needs neither physics nor logic."""
    usual = {name: system.parameters for name, system in world.systems.items()}
    for attack in attacks(records, usual):
        strata = {name: attack.parts[f"stratum {name}"] for name in STRATA if f"stratum {name}" in attack.parts}
        yield Row(attack.name, "none", strata, {})


def solver_row(records: Sequence[Record], again: Sources) -> Row:
    """The solvers with tools, on the strata that they are for."""
    return row("solver with code tools", "integrator, truth table", records, [answer(one, again) for one in records])


def model_row(records: Sequence[Record], each: int, work: Path | None, workers: int) -> Row | None:
    """The embedded model on a sample of each stratum; None where it is not installed."""
    chosen: list[Record] = []
    for stratum in STRATA:
        own = [record for record in records if record["stratum"] == stratum]
        chosen += sorted(own, key=lambda one: text_name(str(one["id"])))[:each]
    known = _replies(work)
    names = [digest([str(record["question"]), MODEL, USER]) for record in chosen]
    missing = [k for k, name in enumerate(names) if name not in known]
    try:
        for k, response in asked([str(chosen[k]["question"]) for k in missing], workers):
            name = names[missing[k]]
            known[name] = (response.text, response.finish)
            if work is not None:
                with work.open("a", encoding="utf-8") as file:
                    file.write(dumps({"name": name, "text": response.text, "finish": response.finish}) + "\n")
    except PerpendError as error:
        tell(f"the embedded model is not asked: {error}")
        return None
    read, anything = reader(PARSERS[0]), Item("any", "any", "TRUE")
    outcomes = [read(anything, Response(text=known[name][0], finish=known[name][1]))[0] for name in names]
    answers = [{"VALID_TRUE": True, "VALID_FALSE": False}.get(outcome) for outcome in outcomes]
    return row(f"local/{MODEL}, the embedded model", "none", chosen, answers)


def asked(questions: Sequence[str], workers: int) -> Iterator[tuple[int, Response]]:
    """The model's reply to each question with the question's place; asked once more where a reply has no label."""
    if not questions:
        return
    again, progress, done = second_turn(PARSERS[0]), Progress(), 0
    model, anything = local_model(MODEL, workers=workers), Item("any", "any", "TRUE")
    talks = {k: (Message("user", USER.format(question=text)),) for k, text in enumerate(questions)}
    later: dict[int, tuple[Message, ...]] = {}
    for turn in (talks, later):
        requests = ((k, Request(messages, Sampling(max_tokens=REPLY_TOKENS))) for k, messages in turn.items())
        for batch in model.answer(requests, Budget()) if turn else ():
            for k, response in batch:
                if turn is talks and again.wanted(anything, response):
                    later[k] = again.render(talks[k], response)
                else:
                    done += 1
                    yield k, response
            progress(f"replies of {MODEL}", done, len(questions))


def _replies(work: Path | None) -> dict[str, tuple[str | None, str | None]]:
    if work is None or not work.exists():
        return {}
    bodies = [json.loads(line) for line in work.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    return {body["name"]: (body["text"], body["finish"]) for body in bodies}


@dataclass(slots=True)
class Progress:
    """Says on the error stream how far it is, not too often."""

    last: float = 0.0

    def __call__(self, what: str, done: int, whole: int, seconds: float = 20.0) -> None:
        if time.monotonic() - self.last > seconds:
            self.last = time.monotonic()
            tell(f"{what}: {done} of {whole}")


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def agreement(rows: Sequence[FactComparison]) -> dict[str, Estimate]:
    """The share of decided facts on which the third program agrees: all, and by predicate; clustered by instance."""
    parts = {"all": list(rows)}
    for one in rows:
        parts.setdefault(one.predicate, []).append(one)
    return {
        name: proportion([float(one.agrees) for one in own], [one.instance for one in own])
        for name, own in parts.items()
        if own
    }


def disagreements(rows: Sequence[FactComparison]) -> list[JSON]:
    """One entry for each instance with a disagreement: the predicates, and the numbers of both."""
    found: dict[str, dict[str, JSON]] = {}
    for one in rows:
        if not one.agrees:
            entry = found.setdefault(one.instance, {"instance": one.instance, "facts": {}, **one.numbers})
            facts = entry["facts"]
            assert isinstance(facts, dict)
            facts[one.predicate] = {"fact": one.fact, "again": one.again}
    return list(found.values())


def cell(one: Estimate | None) -> str:
    """'0.503 [0.492, 0.514], n 5240 (1310)'."""
    if one is None:
        return "—"
    if one.value is None:
        return f"undefined: {one.note}"
    ends = "" if one.lo is None or one.hi is None else f" [{one.lo:.3f}, {one.hi:.3f}]"
    worth = one.also.get("n_effective")
    return f"{one.value:.3f}{ends}, n {one.n}" + (f" ({worth:.0f})" if isinstance(worth, int | float) else "")


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The board by stratum."""
    yield f"| who | tools | {' | '.join(STRATA)} |"
    yield "|---|---|" + "---|" * len(STRATA)
    for one in rows:
        yield f"| {one.name} | {one.tools} | {' | '.join(cell(one.strata.get(name)) for name in STRATA)} |"


def graded(rows: Sequence[Row]) -> Iterator[str]:
    """*compute* by grade, of those whose answers are known one by one."""
    known = [one for one in rows if one.grades]
    grades = sorted({grade for one in known for grade in one.grades})
    yield f"| who | tools | {' | '.join(f'grade {grade}' for grade in grades)} |"
    yield "|---|---|" + "---|" * len(grades)
    for one in known:
        yield f"| {one.name} | {one.tools} | {' | '.join(cell(one.grades.get(grade)) for grade in grades)} |"


def agreed(rows: Sequence[FactComparison]) -> Iterator[str]:
    """Agreement by predicate, and the disagreements."""
    shares = agreement(rows)
    whole = shares.get("all")
    reached = whole is not None and whole.value is not None and whole.value >= AIM
    unclear = sum(one.again is None for one in rows)
    yield f"{cell(whole)} of decided facts; the aim, {AIM}, is {'reached' if reached else 'not reached'}. "
    yield f"Of {len(rows)} facts {unclear} were not clear to the third program; they count as disagreements."
    yield ""
    yield "| predicate | agreement |"
    yield "|---|---|"
    for name in sorted(shares):
        if name != "all":
            yield f"| {name} | {cell(shares[name])} |"
    entries = disagreements(rows)
    yield ""
    yield f"{len(entries)} instances have a disagreement" + (f"; the first {SHOWN}:" if len(entries) > SHOWN else ".")
    if entries:
        yield ""
        yield "| instance | fact, and the third program's | exponents | exponents by the third program |"
        yield "|---|---|---|---|"
    for entry in entries[:SHOWN]:
        assert isinstance(entry, dict)
        facts = entry["facts"]
        assert isinstance(facts, dict)
        said = ", ".join(f"{name} {json.dumps(value)}" for name, value in facts.items())
        numbers = [_numbers(entry[f"exponents{whose}"], entry[f"errors{whose}"]) for whose in ("", " again")]
        yield f"| `{entry['instance']}` | {said} | {numbers[0]} | {numbers[1] or entry['why']} |"


def _numbers(values: JSON, errors: JSON) -> str:
    if not isinstance(values, list) or not isinstance(errors, list):
        return ""
    return ", ".join(f"{x:.4g} ± {e:.1g}" for x, e in zip(values, errors, strict=False) if isinstance(x, int | float))


def page(rows: Sequence[Row], facts: Sequence[FactComparison], records: Sequence[Record]) -> str:
    """leaderboard.md."""
    counts = Counter(str(record["stratum"]) for record in records)
    listed = ", ".join(f"{name} {counts[name]}" for name in STRATA)
    lines = [
        "# The leaderboard of the chaos-logic set",
        "",
        "Written by `python benchmarks/leaderboard.py --into docs/reference`; every number is computed. There is one",
        "column for each stratum and never one number for all. A cell is balanced accuracy with its 95% interval,",
        "clustered by the instance or pair that items share, then the number of items and, in brackets, what they are",
        "worth as independent ones. A missing answer counts as wrong; — means: not asked, or too few items to tell.",
        "",
        f"{len(records)} items: {listed}. Digest of ids: `{digest([str(record['id']) for record in records])[:16]}`.",
        "",
        *table(rows),
        "",
        "Rows without tools but the model's learn from labels of other systems and pairs; memorisers learn from the",
        "other splits. The solver reads a question's text. For *logic* it makes a truth table. For *compute* it",
        "integrates the equations of the text (`chaos/solving/`), by another program than those that measured the",
        "facts: it is what a user of tools without a slip scores.",
        "",
        "## *compute* by grade, without and with tools",
        "",
        *graded(rows),
        "",
        "## Do the facts agree with the third program?",
        "",
        *(agreed(facts) if facts else ["No instance was measured again."]),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="The leaderboard of the chaos-logic set.")
    parser.add_argument("--quick", action="store_true", help="a few items of each stratum, and no model")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--work", type=Path, metavar="FILE", help="keep what is measured here; replies beside it")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--solve", type=int, metavar="N", help="computed items (with --facts: instances); all")
    parser.add_argument("--model", type=int, default=100, metavar="N", help="items of a stratum that the model gets")
    parser.add_argument("--facts", action="store_true", help="only compare the frozen facts with the third program's")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="write leaderboard.md into this folder")
    given = parser.parse_args()
    world = sources()
    solve = QUICK if given.quick and given.solve is None else given.solve
    records = [] if given.facts else items(world, 2 * QUICK if given.quick else None)
    rows: list[Row] = []
    if given.facts:
        known = [{"id": one.id, "system_id": one.system_id} for one in world.records.values()]
        ids = [str(one["id"]) for one in spread(known, solve)]
    else:
        solved = spread([one for one in records if one["stratum"] == "compute"], solve)
        ids = instances_of(solved)
    facts_again = measured_again(world, ids, given.workers, given.work, partial(Progress(), "instances"))
    facts = compared(world, facts_again)
    if not given.facts:
        solved += [one for one in records if one["stratum"] == "logic"]
        rows += attack_rows(records, world)
        if not given.quick and given.model:
            replies = None if given.work is None else given.work.with_suffix(".replies.jsonl")
            rows += [one for one in (model_row(records, given.model, replies, given.workers),) if one is not None]
        rows.append(solver_row(solved, world_again(world, facts_again)))
    if given.into is not None and not given.facts:
        (given.into / "leaderboard.md").write_text(page(rows, facts, records), encoding="utf-8")
    if given.json:
        shares: dict[str, JSON] = {name: one.as_json() for name, one in agreement(facts).items()}
        compared_facts: dict[str, JSON] = {"agreement": shares, "disagreements": disagreements(facts)}
        print(json.dumps({"items": len(records), "rows": [one.as_json() for one in rows], "facts": compared_facts}))
        return 0
    print("\n".join(agreed(facts)) if given.facts else page(rows, facts, records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
