"""The facts, piece by piece: plan a system, measure an instance, look at it by the second method; then freeze.

A work file has one JSON line for each finished piece, appended whole, so that a build that was stopped goes on where it
was. Its first line holds the digest of the code that measures; another code refuses it. Pieces come round by round over
all systems, so that whatever is finished covers all of them.
"""

from __future__ import annotations

import ast
import json
import multiprocessing
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from perpend.canon import JSON, digest, dumps, write_atomic
from perpend.errors import DataError
from perpend.inert import say
from perpend.studies.logic.chaos.dysts_adapter import dysts_systems
from perpend.studies.logic.chaos.instances import Instance
from perpend.studies.logic.chaos.measuring import check, decide, endure, numbers, plan
from perpend.studies.logic.chaos.measuring.machines import machine
from perpend.studies.logic.chaos.predicates import PREDICATES
from perpend.studies.logic.chaos.records import FACTS_FILE, FOLDER, SYSTEMS_FILE, Record, as_lines, instance_id
from perpend.studies.logic.chaos.rules import consequences
from perpend.studies.logic.chaos.system import System
from perpend.studies.logic.chaos.systems import CORE_FILE, core_systems

Stage: TypeAlias = Literal["plan", "first", "second"]
PROCESSES = 2
_SAY_EVERY = 20.0
# Systems whose orbits the engine is tried on for the digest: a map, a flow, a forced flow.
_TRIED = ("henon", "lorenz63", "duffing")


@dataclass(frozen=True, slots=True)
class Piece:
    """One unit of work. `oscillating` and `period` are what earlier pieces found."""

    stage: Stage
    system_id: str
    instance: Instance | None = None
    oscillating: tuple[float, int] = (1.0, 0)
    first: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """What the work file calls it."""
        if self.instance is None:
            return f"plan {self.system_id}"
        return f"{self.stage} {instance_id(known_systems(core_only=not self.dysts)[self.system_id], self.instance)}"

    @property
    def dysts(self) -> bool:
        """Whether the system is one of dysts."""
        return self.system_id.startswith("dysts_")


@cache
def known_systems(*, core_only: bool) -> Mapping[str, System]:
    """The core systems, and those of dysts, which need that package."""
    return core_systems() if core_only else {**core_systems(), **dysts_systems()}


def _system(system_id: str) -> System:
    return known_systems(core_only=not system_id.startswith("dysts_"))[system_id]


def _meaning(path: Path) -> str:
    """A module without comments, docstrings and layout."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                part for part in body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
            ]
    return ast.dump(tree)


def code_digest() -> str:
    """Of what measures: the modules that plan and measure by what they do, the engine by what it computes."""
    paths = [Path(str(module.__file__)) for module in (plan, numbers, endure)]
    tried: list[JSON] = []
    for name in _TRIED:
        system = core_systems()[name]
        engine = machine(system, system.parameters)
        run = engine.follow(system.parameters, np.array(system.start), 0.0, 20.0, 1.0, 1e-9, 2)
        tried.append([f"{x:.6e}" for x in (*run.state, *run.growth.mean(axis=0))])
    return digest({"code": [_meaning(path) for path in paths], "tried": tried})


def system_digest(system: System) -> str:
    """Of a system's equations as they compute, its numbers and its scan; its words may change."""
    n = len(system.start) if system.size is None else int(system.parameters[system.size])
    inputs = 2 * n if system.lag is not None else n
    x = np.array([[0.3 + 0.1 * i] for i in range(inputs)])
    params = {name: np.array([value]) for name, value in system.parameters.items()}
    with np.errstate(all="ignore"):
        rate = system.rate(np.array([0.7]), x, params)[:, 0]
    table = tomllib.loads(CORE_FILE.read_text(encoding="utf-8")).get(system.system_id, {})
    return digest(
        {
            "rate": [f"{value:.9e}" for value in rate],
            "numbers": [dict(system.parameters), list(system.start), system.time_scale, system.kind],
            "scan": [table.get(key) for key in ("scan", "starts", "landmarks")],
        }
    )


def work(piece: Piece) -> tuple[str, dict[str, JSON]]:
    """Do one piece: its name and the line that it leaves."""
    system = _system(piece.system_id)
    line: dict[str, JSON] = {"piece": piece.name}
    began = time.process_time()
    if piece.stage == "plan":
        chosen = plan.planned(system)
        line["system"] = system_digest(system)
        line["unit"], line["watched"] = chosen.unit, chosen.watched
        line["instances"] = [{"values": dict(one.values), "start": list(one.start)} for one in chosen.instances]
        if not chosen.instances:
            line["why"] = "no machine takes this system"
    elif piece.instance is not None:
        line |= _measured(system, piece.instance, piece)
    line["seconds"] = round(time.process_time() - began, 2)
    return piece.name, line


def _measured(system: System, instance: Instance, piece: Piece) -> dict[str, JSON]:
    """The numbers of one method; where the engine refuses the setting, why, and nothing is clear."""
    try:
        if piece.stage == "second":
            return check.second_look(system, instance, piece.oscillating, piece.first or {})
        measured_of = endure.measure(system, instance, piece.oscillating)
        return endure.as_json(measured_of, endure.largest_divergence(system, instance))
    except DataError as e:
        unknown: dict[str, JSON] = {"exponents": [], "errors": [], "unit": piece.oscillating[0], "volume": None}
        return {**unknown, "end": "unclear", "why": str(e), "robust": False, "start_matters": True}


def read_work(path: Path) -> dict[str, dict[str, Any]]:
    """The finished pieces of a work file by name. A last line cut short is left out; DataError for other code."""
    measured_of: dict[str, dict[str, Any]] = {}
    if not path.exists():
        return measured_of
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines[0] != dumps({"digest": code_digest()}):
        raise DataError(f"{path.name} was measured by other code; build into a new file")
    for line in lines[1:-1]:
        body = json.loads(line)
        # A system of which nothing could be planned is tried again: the engine may take it now.
        if body.get("instances") != []:
            measured_of[body["piece"]] = body
    for name, body in list(measured_of.items()):
        if name.startswith("plan ") and body["system"] != system_digest(_system(name[5:])):
            raise DataError(f"{path.name}: the equations or the scan of {name[5:]} changed; build into a new file")
    return measured_of


def _instances(system_id: str, body: Mapping[str, Any]) -> list[Instance]:
    """Read back in the system's own order of parameters."""
    names = _system(system_id).parameters
    return [
        Instance(system_id, {name: one["values"][name] for name in names}, tuple(one["start"]))
        for one in body["instances"]
    ]


def pieces(systems: Iterable[str], done: Mapping[str, Mapping[str, Any]], stages: Sequence[Stage]) -> list[Piece]:
    """What can be done now, in order: plans first, then round by round over the systems."""
    names = list(systems)
    todo = [Piece("plan", name) for name in names if f"plan {name}" not in done]
    if todo:
        return todo
    plans = {name: _instances(name, done[f"plan {name}"]) for name in names}
    for k in range(max(map(len, plans.values()), default=0)):
        for stage in stages:
            for name in names:
                if k >= len(plans[name]) or _system(name).is_noisy(plans[name][k].values):
                    continue
                body = done[f"plan {name}"]
                piece = Piece(stage, name, plans[name][k], (body["unit"], body["watched"]))
                before = done.get(f"first {piece.name.partition(' ')[2]}")
                if piece.name in done or (stage == "second" and before is None):
                    continue
                todo.append(
                    piece if stage == "first" else Piece(stage, name, piece.instance, piece.oscillating, before)
                )
    return todo


def build(systems: Sequence[str], path: Path, stages: Sequence[Stage] = ("first", "second")) -> None:
    """Do every piece that the work file lacks, two at a time, and say how far it is."""
    done = read_work(path)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dumps({"digest": code_digest()}) + "\n", encoding="utf-8")
    _mend(path)
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool, path.open("a", encoding="utf-8") as out:
        while todo := pieces(systems, done, stages):
            began = reported = time.monotonic()
            for k, (name, line) in enumerate(pool.imap_unordered(work, todo), 1):
                out.write(dumps(line) + "\n")
                out.flush()
                done[name] = line
                if time.monotonic() - reported > _SAY_EVERY or k == len(todo):
                    reported = time.monotonic()
                    left = (reported - began) / k * (len(todo) - k) / 60
                    say(f"{todo[0].stage}: {k} of {len(todo)} pieces, about {left:.0f} min left")


def _mend(path: Path) -> None:
    """Cut off a last line that a kill left unfinished."""
    text = path.read_bytes()
    if not text.endswith(b"\n"):
        write_atomic(path, text[: text.rfind(b"\n") + 1].decode())


def regime(record: Record) -> str | None:
    """Which regime a record is in: one of REGIMES, 'Escape', 'Noise', or None where none was decided."""
    if record.facts.get("Stochastic"):
        return "Noise"
    if record.facts.get("Bounded") is False:
        return "Escape"
    return next((name for name in decide.REGIMES if record.facts.get(name)), None)


def record_of(
    system: System, instance: Instance, first: Mapping[str, Any] | None, second: Mapping[str, Any] | None
) -> Record:
    """The record of an instance from what both methods left. None for both: a noisy one."""
    one = decide.MethodReading.of(first) if first is not None else None
    two = decide.MethodReading.of(second) if second is not None else None
    facts = decide.decide(system, instance, one, two)
    decided = {name: value for name, (value, _) in facts.items()}
    # Of an orbit that runs away, or of noise, no number was measured, and none is denied.
    implied = {name: value for name, value in consequences(decided).items() if PREDICATES[name].kind != "number"}
    shown = decide.numbers_of(system, instance, one, facts) if one is not None else {}
    return Record(
        instance_id(system, instance),
        system.system_id,
        instance.values,
        instance.start,
        one is not None and decide.start_matters(system, instance, one, facts),
        dict(sorted({**decided, **implied}.items())),
        {**{name: method for name, (_, method) in facts.items()}, **dict.fromkeys(implied, "rule")},
        shown,
    )


def kept(records: Sequence[Record], limits: plan.Quota) -> list[Record]:
    """As many chaotic as other records of a system, in the order of the plan; a few where one side is lacking.

    Those with noise, which chaos is not asked of, are kept besides.
    """
    known = [(regime(record), record) for record in records]
    wild = [record for kind, record in known if kind == "Chaotic"]
    calm = [record for kind, record in known if kind not in (None, "Chaotic", "Noise")]
    noisy = [record for kind, record in known if kind == "Noise"]
    share = min(len(wild), len(calm), limits.kept // 2)
    if share == 0:
        return (wild or calm)[: limits.least] + noisy
    return wild[:share] + calm[:share] + noisy


def collected(done: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[System, list[Record]]]:
    """The kept records of every planned system whose pieces are finished, by system."""
    for name in sorted(key[5:] for key in done if key.startswith("plan ")):
        system = _system(name)
        records = []
        for instance in _instances(name, done[f"plan {name}"]):
            key = instance_id(system, instance)
            first, second = done.get(f"first {key}"), done.get(f"second {key}")
            if system.is_noisy(instance.values) or (first is not None and second is not None):
                records.append(record_of(system, instance, first, second))
        yield system, kept(records, plan.quota(system))


def collect(path: Path, folder: Path = FOLDER) -> tuple[int, int]:
    """Freeze what is finished in a work file into facts.jsonl and systems.jsonl: (systems, instances)."""
    systems: list[System] = []
    rows: list[Record] = []
    for system, records in collected(read_work(path)):
        if records:
            systems.append(system)
            rows += records
    write_atomic(folder / SYSTEMS_FILE.name, as_lines(system.as_json() for system in systems))
    write_atomic(folder / FACTS_FILE.name, as_lines(row.as_json() for row in sorted(rows, key=lambda row: row.id)))
    return len(systems), len(rows)
