"""The frozen facts: one line per instance in facts.jsonl, one per system in systems.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import JSON, dumps
from perpend.errors import DataError
from perpend.studies.logic.chaos.instances import Instance, default_start
from perpend.studies.logic.chaos.system import System

FOLDER = Path(__file__).parent
FACTS_FILE = FOLDER / "facts.jsonl"
SYSTEMS_FILE = FOLDER / "systems.jsonl"


@dataclass(frozen=True, slots=True)
class Record:
    """One instance with what is known of it. A predicate that is in neither mapping is not decided."""

    id: str
    system_id: str
    parameters: Mapping[str, float]
    start: tuple[float, ...]
    start_matters: bool
    """Whether a question must state the initial state: nearby starts end up elsewhere, or nothing contracts."""
    facts: Mapping[str, bool]
    methods: Mapping[str, str]
    """Predicate → the method that decided it; see predicates.METHODS."""
    numbers: Mapping[str, JSON]

    @property
    def instance(self) -> Instance:
        """The instance to measure again."""
        return Instance(self.system_id, self.parameters, self.start)

    def as_json(self) -> dict[str, JSON]:
        """The line of facts.jsonl: the facts as two mappings, predicate → method, of the true and of the false ones."""
        return {
            "id": self.id,
            "system_id": self.system_id,
            "parameters": dict(self.parameters),
            "start": list(self.start),
            "start_matters": self.start_matters,
            "true": {name: self.methods[name] for name, value in self.facts.items() if value},
            "false": {name: self.methods[name] for name, value in self.facts.items() if not value},
            "numbers": dict(self.numbers),
        }


@dataclass(frozen=True, slots=True)
class SystemWords:
    """What a question may say of a system."""

    system_id: str
    name: str
    kind: str
    variables: tuple[str, ...]
    parameters: Mapping[str, float]
    citation: str
    equations: str
    reference_ids: tuple[str, ...]


def instance_id(system: System, instance: Instance) -> str:
    """The system and its parameter values, and the start where it is not the system's own."""
    # In the system's order: a record read back has its parameters in the file's.
    values = ",".join(f"{name}={instance.values[name]:.10g}" for name in system.parameters)
    name = f"{system.system_id}:{values}"
    if instance.start == default_start(system, instance.values):
        return name
    return f"{name};start={','.join(f'{x:.10g}' for x in instance.start)}"


def load_records(path: Path = FACTS_FILE) -> tuple[Record, ...]:
    """The frozen instances, in the file's order."""
    return tuple(_record(path, n, line) for n, line in _lines(path))


def load_systems(path: Path = SYSTEMS_FILE) -> Mapping[str, SystemWords]:
    """The systems of the frozen instances, by id."""
    bodies = [json.loads(line) for _, line in _lines(path)]
    lists = ("variables", "reference_ids")
    return {body["system_id"]: SystemWords(**{**body, **{key: tuple(body[key]) for key in lists}}) for body in bodies}


def _lines(path: Path) -> Iterable[tuple[int, str]]:
    return enumerate(path.read_text(encoding="utf-8").splitlines(), 1)


def _record(path: Path, n: int, line: str) -> Record:
    try:
        body = json.loads(line)
        facts = {**dict.fromkeys(body["true"], True), **dict.fromkeys(body["false"], False)}
        return Record(
            id=body["id"],
            system_id=body["system_id"],
            parameters=body["parameters"],
            start=tuple(body["start"]),
            start_matters=body["start_matters"],
            facts=dict(sorted(facts.items())),
            methods={**body["true"], **body["false"]},
            numbers=body["numbers"],
        )
    except (json.JSONDecodeError, KeyError, TypeError) as e:
        raise DataError(f"{path.name}:{n}: not a line of facts ({e}); restore the committed file") from e


def as_lines(rows: Iterable[Mapping[str, JSON]]) -> str:
    """Canonical JSON lines."""
    return "".join(dumps(row) + "\n" for row in rows)
