"""Forgeries with a purpose: each would better a number, or have a folder say more than it holds, if it passed.

crafted.jsonl has one a line. `steps` change files: [file, operation, path in its JSON, value], or [function below, …].
`place` is in what the audit says, of the `check` that is named; `runs` are the kinds of run that it is tried on. A key
`open`, `sealed` or `derived` says what comes of it at that level: 'caught', 'accepted', 'refused', or the entry of the
printed list that it falls under. Of the ledger of a run directory (`of` is 'runs') 'sealed' means as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from perpend.ask.conditions import request
from perpend.ask.task import conditions_of, make_task
from perpend.canon import digest, dumps
from perpend.ledger.items import item_digest, stored_item
from perpend.ledger.manifest import ItemsDigest, read_manifest
from perpend.ledger.plan import Trial, read_sampling
from perpend.proof.statements import CITATION
from perpend.types import Response
from tests.attack.forge import STATED, Body, Forge, Forgery, edit, lines, text, unpacked
from tests.attack.ledger import run_sql, schema_sql

SEALS = ("receipt.json", "../")
"""What a seal is made of, which the receipt does not list."""
LEVELS = ("open", "sealed", "derived")
ALL = "questions conformity logic pilot verbs imported code"


@dataclass(frozen=True, slots=True)
class Crafted:
    """A line of crafted.jsonl."""

    name: str
    runs: str
    steps: list[list[Any]]
    check: str = ""
    place: str = ""
    of: str = "published"
    levels: dict[str, str] = field(default_factory=dict)

    @property
    def kinds(self) -> list[str]:
        return self.runs.replace("all", ALL).split()

    def forge(self, folder: Path) -> None:
        for name, *rest in self.steps:
            if name in STEPS:
                STEPS[name](folder, *rest)
            else:
                for file in name.split():
                    changed(file, *rest)(folder)

    def forgeries(self) -> list[Forgery]:
        """The forgery at each level that is told."""
        stated = [str(step[0]) for step in self.steps if str(step[0]).startswith((*SEALS, *STATED, CITATION))]
        file = "run.db" if self.of == "runs" else stated[0] if stated else "crafted"
        return [Forgery(file, self.name, "crafted", self.forge, level) for level in self.levels]


def read() -> tuple[Crafted, ...]:
    """All lines of crafted.jsonl; one that names no level is caught once it is sealed."""
    crafted = []
    for line in Path(__file__).with_name("crafted.jsonl").read_text(encoding="utf-8").splitlines():
        body = json.loads(line)
        levels = {level: body.pop(level) for level in LEVELS if level in body}
        crafted.append(Crafted(**body, levels=levels or {"sealed": "caught"}))
    return tuple(crafted)


def changed(file: str, operation: str, *arguments: Any) -> Forge:
    """One step on a file: on the whole of it, or at a path of its JSON, such as 'conditions/1/name' or 'models/*'."""
    if operation in WHOLE:
        return lambda folder: WHOLE[operation](folder / file, *arguments)
    if operation == "replace":
        return text(file, *arguments)
    apply = partial(at_path, operation=operation, path=arguments[0], values=arguments[1:])
    return lines(file, apply) if file.endswith(".gz") else edit(file, apply)


def at_path(body: Any, operation: str, path: str, values: tuple[Any, ...]) -> None:
    """Change what is at a path of a body; '*' is each entry of a list."""
    *keys, last = (int(key) if key.lstrip("-").isdigit() else key for key in path.split("/"))
    parents = [body]
    for key in keys:
        parents = [one for parent in parents for one in (parent if key == "*" else [parent[key]])]
    for parent in parents:
        for key in range(len(parent)) if last == "*" else [last]:
            OPERATIONS[operation](parent, key, *values)


def _again(parent: list[Any], key: int, **values: Any) -> None:
    parent.insert(key + 1, {**parent[key], **values} if isinstance(parent[key], dict) else parent[key])


def _swap(parent: list[Body], key: int, other: int, name: str) -> None:
    parent[key][name], parent[other][name] = parent[other][name], parent[key][name]


OPERATIONS: dict[str, Callable[..., object]] = {
    "set": lambda parent, key, value: parent.__setitem__(key, value),
    "add": lambda parent, key, value: parent.__setitem__(key, parent[key] + value),
    "update": lambda parent, key, values: parent[key].update(values),
    "pop": lambda parent, key: parent.pop(key),
    "append": lambda parent, key, value: parent[key].append(value),
    "again": lambda parent, key, values=None: _again(parent, key, **(values or {})),
    "swap": _swap,
    "reverse": lambda parent, key: parent[key].reverse(),
    "clear": lambda parent, key: parent[key].clear(),
}


def _written(path: Path, words: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(words, encoding="utf-8")


def _flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def _last_cell(path: Path, cell: str) -> None:
    rows = path.read_text(encoding="utf-8").split("\n")
    rows[1] = rows[1].rpartition(",")[0] + "," + cell
    path.write_text("\n".join(rows), encoding="utf-8")


WHOLE: dict[str, Callable[..., object]] = {
    "write": _written,
    "prose": lambda path, words: _written(path, path.read_text(encoding="utf-8") + words),
    "remove": Path.unlink,
    "link": Path.symlink_to,
    "open brackets": lambda path: path.write_text("[" * 100_000, encoding="utf-8"),
    "flip a bit": _flipped,
    "last cell": _last_cell,
}


def items_digest(folder: Path) -> None:
    """The manifest states number and digests of the items as they are now."""
    taken, frozen = ItemsDigest(), []
    for line in unpacked(folder / "items.jsonl.gz"):
        item = stored_item(dumps(json.loads(line)["item"]))
        taken.add(item)
        frozen.append(f"{item.id}\t{item_digest(item)}\n")

    def change(body: Body) -> None:
        body["items"].update(n=taken.count, sha256=taken.hexdigest())
        if body["items"]["freeze_sha256"] is not None:
            body["items"]["freeze_sha256"] = hashlib.sha256("".join(sorted(frozen)).encode()).hexdigest()

    edit("manifest.json", change)(folder)


def template_digests(folder: Path) -> None:
    """The manifest states the digests of the templates, and of the second turn, as they are now."""

    def change(body: Body) -> None:
        for entry in (*body["conditions"], *([body["reprompt"]] if body.get("reprompt") else [])):
            entry["sha256"] = digest(entry["params"])

    edit("manifest.json", change)(folder)


def targets(folder: Path) -> dict[int, str]:
    """The right answer of every trial."""
    items = [json.loads(line)["item"] for line in unpacked(folder / "items.jsonl.gz")]
    trials = [json.loads(line) for line in unpacked(folder / "trials.jsonl.gz")]
    return {number: str(items[row[0] - 1].get("target") or "Yes") for number, row in enumerate(trials, 1)}


def _ordered(rows: list[Body]) -> None:
    rows.sort(key=lambda row: (row["trial"], row["turn"], row["attempt"]))


def second_turns(folder: Path, trial: int = 0, sha256: str = "", *, sent: Callable[[Body], str] | None = None) -> None:
    """A second turn with the right answer after every first one that has none, or after that of one trial."""
    right = targets(folder)

    def change(rows: list[Body]) -> None:
        asked = {row["trial"] for row in rows if row["turn"] == 1}
        for row in list(rows):
            if row["turn"] == 0 and "text" in row and row["trial"] not in asked and trial in (0, row["trial"]):
                own = sent(row) if sent else sha256 or row["request_sha256"]
                rows.append({**row, "turn": 1, "attempt": 0, "text": right[row["trial"]], "request_sha256": own})
        _ordered(rows)

    lines("responses.jsonl.gz", change)(folder)


def asked_again(folder: Path) -> None:
    """Second turns after usable replies, with the digest of the request that logic would have sent."""
    conditions, reprompt = conditions_of(read_manifest(folder)), make_task("logic", {}).reprompt
    assert not isinstance(conditions, str)
    assert reprompt is not None
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    items = [stored_item(dumps(json.loads(line)["item"])) for line in unpacked(folder / "items.jsonl.gz")]
    trials = [json.loads(line) for line in unpacked(folder / "trials.jsonl.gz")]

    def sent(row: Body) -> str:
        item, condition, _, sampling, repeat = trials[row["trial"] - 1]
        name, params = plan["conditions"][condition - 1]["name"], dumps(plan["samplings"][sampling - 1])
        trial = Trial(row["trial"], items[item - 1], name, "m", read_sampling(params), repeat)
        messages = reprompt.render(conditions[name].render(trial.item), Response(text=row["text"]))
        return request(trial, messages, choices_scored=False).digest

    second_turns(folder, sent=sent)


def better_attempt(folder: Path) -> None:
    """A later attempt with the right answer beside an answer."""
    right = targets(folder)

    def change(rows: list[Body]) -> None:
        first = next(row for row in rows if "text" in row)
        rows.append({**first, "attempt": first["attempt"] + 1, "text": right[first["trial"]]})
        _ordered(rows)

    lines("responses.jsonl.gz", change)(folder)


def right_answers(folder: Path) -> None:
    """Every answer is the right one."""
    right = targets(folder)
    change = lambda rows: [row.update(text=right[row["trial"]]) for row in rows if "text" in row]  # noqa: E731  one line
    lines("responses.jsonl.gz", change)(folder)


def without(folder: Path, column: int) -> None:
    """The last item (column 0) or condition (column 1) and everything of it is left out, and was never planned."""
    trials = [json.loads(line) for line in unpacked(folder / "trials.jsonl.gz")]
    last = max(row[column] for row in trials)
    kept = [number for number, row in enumerate(trials, 1) if row[column] != last]
    numbers = {old: new for new, old in enumerate(kept, 1)}
    _keep(folder, "trials.jsonl.gz", lambda row: row if row[column] != last else None)
    for name in ("responses.jsonl.gz", "scores.jsonl.gz"):
        _keep(folder, name, lambda row: {**row, "trial": numbers[row["trial"]]} if row["trial"] in numbers else None)
    for file in ("manifest.json", "plan.json") if column else ():
        edit(file, lambda body: body["conditions"].pop())(folder)
    if not column:
        lines("items.jsonl.gz", lambda rows: rows.pop())(folder)
        items_digest(folder)
    edit("manifest.json", lambda body: body.update(trials=len(kept)))(folder)


def _keep(folder: Path, name: str, row_of: Callable[[Any], object]) -> None:
    def change(rows: list[Any]) -> None:
        rows[:] = [kept for row in rows if (kept := row_of(row)) is not None]

    lines(name, change)(folder)


def scorers(folder: Path, operation: str, path: str, *values: Any) -> None:
    """Other declared scorers, and scores of these only."""
    edit("manifest.json", partial(at_path, operation=operation, path=path, values=values))(folder)
    declared = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["scorers"]

    def is_kept(name: str) -> bool:
        return name in declared or name.endswith("@import")

    _keep(folder, "scores.jsonl.gz", lambda row: row if is_kept(row["scorer"]) else None)
    edit("plan.json", lambda plan: plan.update(scorers=[name for name in plan["scorers"] if is_kept(name)]))(folder)


def renamed_scorer(folder: Path, old: str, new: str) -> None:
    """Another version of a scorer in the plan and in its scores."""
    edit("plan.json", lambda plan: plan.update(scorers=[new if name == old else name for name in plan["scorers"]]))(
        folder
    )
    lines("scores.jsonl.gz", lambda rows: [row.update(scorer=new) for row in rows if row["scorer"] == old])(folder)


def trials_swapped(folder: Path, first: int, second: int, *, with_answers: bool) -> None:
    """Swap two lines of the plan; and what was said and scored there, so that all belongs together again."""
    numbers = {first: second, second: first}

    def plan(rows: list[Any]) -> None:
        rows[first - 1], rows[second - 1] = rows[second - 1], rows[first - 1]

    def renumbered(rows: list[Body]) -> None:
        for row in rows:
            row["trial"] = numbers.get(row["trial"], row["trial"])
        rows.sort(key=lambda row: (str(row.get("scorer")), row["trial"]))

    lines("trials.jsonl.gz", plan)(folder)
    for name in ("responses.jsonl.gz", "scores.jsonl.gz") if with_answers else ():
        lines(name, renumbered)(folder)


STEPS: dict[str, Callable[..., None]] = {
    "items digest": items_digest,
    "template digests": template_digests,
    "second turns": second_turns,
    "asked again": asked_again,
    "better attempt": better_attempt,
    "right answers": right_answers,
    "without": without,
    "scorers": scorers,
    "renamed scorer": renamed_scorer,
    "trials swapped": partial(trials_swapped, with_answers=False),
    "trials swapped with their answers": partial(trials_swapped, with_answers=True),
    "sql": run_sql,
    "sql without guards": partial(run_sql, guarded=False),
    "schema": schema_sql,
}
CRAFTED = read()
