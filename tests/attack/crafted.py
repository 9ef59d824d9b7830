"""Forgeries with a purpose: each would better a number, or have a folder say more than it holds, if it passed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from perpend.ask.conditions import request
from perpend.ask.task import conditions_of, make_task
from perpend.canon import digest, dumps
from perpend.ledger.items import item_digest, stored_item
from perpend.ledger.manifest import ItemsDigest, read_manifest
from perpend.ledger.plan import Trial, read_sampling
from perpend.types import Response
from tests.attack.forge import Body, Forge, Forgery, all_of, edit, lines, unpacked

ALL = "questions conformity logic pilot verbs imported code"
ASKED = "questions conformity logic pilot"


@dataclass(frozen=True, slots=True)
class Crafted:
    """A forgery by its name and the kinds of run that it is tried on.

    `place` is in what the audit says, however it is sealed. `beyond` is the entry of the printed list that it falls
    under when it passes: derived anew, or already when it is only sealed again (`is_free`). A `file` is what a seal is
    made of: to derive all anew would undo the forgery.
    """

    name: str
    kinds: str
    forge: Forge
    place: str = ""
    beyond: str = ""
    is_free: bool = False
    file: str = ""

    def forgeries(self) -> list[Forgery]:
        """The forgery, sealed in each of the two ways."""
        sealed = Forgery(self.file or "crafted", self.name, "crafted", self.forge)
        return [sealed] if self.file else [sealed, sealed.derived()]


def manifest(change: Callable[[Body], object]) -> Forge:
    """Change the manifest."""
    return edit("manifest.json", change)


def both(key: str, change: Callable[[Body], object]) -> Forge:
    """Change every entry of a part in the manifest and in the plan."""
    names = ("manifest.json", "plan.json")
    return all_of(*(edit(name, lambda body: [change(entry) for entry in body[key]]) for name in names))


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

    manifest(change)(folder)


def targets(folder: Path) -> dict[int, str]:
    """The right answer of every trial."""
    items = [json.loads(line)["item"] for line in unpacked(folder / "items.jsonl.gz")]
    trials = [json.loads(line) for line in unpacked(folder / "trials.jsonl.gz")]
    return {number: str(items[row[0] - 1].get("target") or "Yes") for number, row in enumerate(trials, 1)}


def second_turns(chosen: Callable[[Body], bool] = lambda _: True, sha256: str | None = None) -> Forge:
    """A second turn with the right answer after every first one that is chosen and has none."""

    def forge(folder: Path) -> None:
        right = targets(folder)

        def change(rows: list[Body]) -> None:
            asked = {row["trial"] for row in rows if row["turn"] == 1}
            for row in list(rows):
                if row["turn"] == 0 and "text" in row and row["trial"] not in asked and chosen(row):
                    sent = sha256 or row["request_sha256"]
                    rows.append({**row, "turn": 1, "attempt": 0, "text": right[row["trial"]], "request_sha256": sent})
            _ordered(rows)

        lines("responses.jsonl.gz", change)(folder)

    return forge


def asked_again(folder: Path) -> None:
    """Second turns after usable replies, with the digest of the request that logic would have sent."""
    conditions, reprompt = conditions_of(read_manifest(folder)), make_task("logic", {}).reprompt
    assert not isinstance(conditions, str)
    assert reprompt is not None
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    items = [stored_item(dumps(json.loads(line)["item"])) for line in unpacked(folder / "items.jsonl.gz")]
    trials = [json.loads(line) for line in unpacked(folder / "trials.jsonl.gz")]
    right = targets(folder)

    def change(rows: list[Body]) -> None:
        asked = {row["trial"] for row in rows if row["turn"] == 1}
        for row in list(rows):
            if row["turn"] or "text" not in row or row["trial"] in asked:
                continue
            item, condition, _, sampling, repeat = trials[row["trial"] - 1]
            name, params = plan["conditions"][condition - 1]["name"], dumps(plan["samplings"][sampling - 1])
            trial = Trial(row["trial"], items[item - 1], name, "m", read_sampling(params), repeat)
            messages = reprompt.render(conditions[name].render(trial.item), Response(text=row["text"]))
            sent = request(trial, messages, choices_scored=False).digest
            rows.append({**row, "turn": 1, "attempt": 0, "text": right[row["trial"]], "request_sha256": sent})
        _ordered(rows)

    lines("responses.jsonl.gz", change)(folder)


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
    lines("responses.jsonl.gz", lambda rows: [row.update(text=right[row["trial"]]) for row in rows if "text" in row])(
        folder
    )


def right_targets(folder: Path) -> None:
    """The first item's right answer is what the model said."""
    lines("items.jsonl.gz", lambda rows: rows[0]["item"].update(target="Whatever it said"))(folder)
    items_digest(folder)


def _ordered(rows: list[Body]) -> None:
    rows.sort(key=lambda row: (row["trial"], row["turn"], row["attempt"]))


def without(column: int) -> Forge:
    """The last item (column 0) or condition (column 1) and everything of it is left out, and was never planned."""

    def forge(folder: Path) -> None:
        trials = [json.loads(line) for line in unpacked(folder / "trials.jsonl.gz")]
        last = max(row[column] for row in trials)
        kept = [number for number, row in enumerate(trials, 1) if row[column] != last]
        numbers = {old: new for new, old in enumerate(kept, 1)}
        _keep("trials.jsonl.gz", lambda row: row if row[column] != last else None)(folder)
        for name in ("responses.jsonl.gz", "scores.jsonl.gz"):
            _keep(name, lambda row: {**row, "trial": numbers[row["trial"]]} if row["trial"] in numbers else None)(
                folder
            )
        if column:
            edit("plan.json", lambda body: body["conditions"].pop())(folder)
            manifest(lambda body: body["conditions"].pop())(folder)
        else:
            lines("items.jsonl.gz", lambda rows: rows.pop())(folder)
            items_digest(folder)
        manifest(lambda body: body.update(trials=len(kept)))(folder)

    return forge


def _keep(name: str, row_of: Callable[[Body], object]) -> Forge:
    def change(rows: list[Body]) -> None:
        rows[:] = [kept for row in rows if (kept := row_of(row)) is not None]  # type: ignore[misc]

    return lines(name, change)


def template(name: str, text: str) -> Forge:
    """A text of every condition, with its digest, in the manifest and in the plan."""

    def change(entry: Body) -> None:
        entry["params"][name] = text
        if "sha256" in entry:
            entry["sha256"] = digest(entry["params"])

    return both("conditions", change)


def scorers(change: Callable[[list[str]], object]) -> Forge:
    """Other declared scorers, and scores of these only."""

    def forge(folder: Path) -> None:
        body = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        change(body["scorers"])
        manifest(lambda now: now.update(scorers=body["scorers"]))(folder)

        def is_kept(name: str) -> bool:
            return name in body["scorers"] or name.endswith("@import")

        _keep("scores.jsonl.gz", lambda row: row if is_kept(row["scorer"]) else None)(folder)
        edit("plan.json", lambda plan: plan.update(scorers=[name for name in plan["scorers"] if is_kept(name)]))(folder)

    return forge


def task(**values: object) -> Forge:
    """Say something else of the task."""
    return manifest(lambda body: body["task"].update(values))


def items(**values: object) -> Forge:
    """Say something else of the items."""
    return manifest(lambda body: body["items"].update(values))


def sources(**values: object) -> Forge:
    """Say that the run brought a file."""
    return manifest(
        lambda body: body.update(sources=[{"kind": "scorers", "file": "x.py", "sha256": "ab" * 32, **values}])
    )


def reprompt(text: str) -> Forge:
    """Another second turn, with its digest."""
    return manifest(lambda body: body.update(reprompt={"params": {"text": text}, "sha256": digest({"text": text})}))


NO_REPROMPT = manifest(lambda body: body.update(reprompt=None))
DATASET = {"name": "gpqa", "version": "1", "path": "gpqa.jsonl", "sha256": "ab" * 32}
SHELL = {"args": "touch evil", "shell": True}
TURN, RECEIPT, INDEX = "turn 1", "receipt.json", "../index.json"

CRAFTED = (
    Crafted("second turns where none is asked", "questions conformity pilot verbs imported code", second_turns(), TURN),
    Crafted(
        "one second turn", "questions conformity pilot imported", second_turns(lambda row: row["trial"] == 2), TURN
    ),
    Crafted("second turns with zeros for digests", "questions conformity", second_turns(sha256="0" * 64), TURN),
    Crafted("second turns after usable replies", "logic", asked_again, TURN),
    Crafted("second turns with the digest of the first", "logic", second_turns(), TURN),
    Crafted("no second turn in the manifest", "logic", NO_REPROMPT, "reprompt"),
    Crafted("no second turn in the manifest, more of them", "logic", all_of(NO_REPROMPT, second_turns()), "reprompt"),
    Crafted("another second turn", "logic", reprompt("Please."), "reprompt"),
    Crafted("another second turn, more of them", "logic", all_of(reprompt("Please."), second_turns()), "reprompt"),
    Crafted("a second turn declared", "questions conformity", all_of(reprompt("Please."), second_turns()), "reprompt"),
    Crafted("a later attempt than the answer", ASKED, better_attempt, "comes after an answer"),
    Crafted(
        "every answer right", "questions conformity logic pilot imported code", right_answers, "scores of", "answers"
    ),
    Crafted("another right answer", "questions conformity logic pilot imported", right_targets, "", "answers"),
    Crafted("the last item left out", ALL, without(0), "", "answers"),
    Crafted("the last condition left out", "conformity code", without(1), "", "answers"),
    Crafted("a task that nobody has", ALL, task(name="gpqa_diamond"), "", "names", is_free=True),
    Crafted("a program as task", ALL, task(name="subprocess:run", options=SHELL), "", "names", is_free=True),
    Crafted("a module as task", "questions conformity imported", task(name="antigravity"), "", "names", is_free=True),
    Crafted("a file as task", "questions conformity", task(name="tables/x.py"), "", "names", is_free=True),
    Crafted("another packaged task", "questions pilot", task(name="verbs"), "task"),
    Crafted("another task of the same options", "questions", task(name="logic", options={}), "task"),
    Crafted(
        "other options of the task", "questions pilot", task(options={"system": "Think hard."}), "condition control"
    ),
    Crafted("no options of the task", ASKED, task(options={}), "options"),
    Crafted(
        "choices that were scored", "questions conformity logic pilot", task(choices_scored=True), "choices_scored"
    ),
    Crafted("choices that were not scored", "verbs", task(choices_scored=False), "choices_scored"),
    Crafted("another model", ALL, both("models", lambda m: m.update(name="openai/gpt-9")), "", "names", is_free=True),
    Crafted("another label", "questions", both("models", lambda m: m.update(label=m["label"] + "!")), "model", "names"),
    Crafted(
        "another option of a model",
        ALL,
        both("models", lambda m: m.update(options={"t": 1})),
        "",
        "names",
        is_free=True,
    ),
    Crafted("a token limit of its own", ASKED, manifest(lambda b: b["models"][0].update(max_tokens=9)), "samplings"),
    Crafted(
        "no token limit of its own",
        "questions",
        manifest(lambda b: b["models"][1].update(max_tokens=None)),
        "samplings",
    ),
    Crafted(
        "a sampling's token limit",
        ALL,
        manifest(lambda b: [s.update(max_tokens=99) for s in b["samplings"]]),
        "samplings",
    ),
    Crafted("a sampling in both", ASKED, both("samplings", lambda s: s.update(temperature=s["temperature"] + 0.5)), ""),
    Crafted("a sampling twice", ASKED, manifest(lambda b: b["samplings"].append(b["samplings"][0])), "samplings"),
    Crafted("samplings in another order", "questions", manifest(lambda b: b["samplings"].reverse()), "samplings"),
    Crafted("more repeats", ALL, manifest(lambda b: b.update(repeats=b["repeats"] + 1)), ""),
    Crafted("fewer trials", ALL, manifest(lambda b: b.update(trials=b["trials"] - 1)), "that manifest.json states"),
    Crafted(
        "an invented freeze",
        "logic conformity verbs pilot imported code",
        items(freeze_sha256="ab" * 32),
        "dataset",
        "names",
    ),
    Crafted("another freeze", "questions", items(freeze_sha256="ab" * 32), "dataset", "names"),
    Crafted("no freeze", "questions", items(freeze_sha256=None), "dataset", "names"),
    Crafted("a freeze that is no digest", ALL, items(freeze_sha256="frozen"), "SHA-256"),
    Crafted("a sample of too few", "questions pilot", items(max_items=3), "wanted"),
    Crafted("a sample said to be all", "conformity logic verbs", items(max_items=None), "", "choice", is_free=True),
    Crafted("another seed of the sample", "conformity logic verbs", items(seed=7), "", "choice", is_free=True),
    Crafted("another item file", ALL, both("datasets", lambda d: d.update(DATASET)), "", "names", is_free=True),
    Crafted(
        "an item file in the plan", ALL, edit("plan.json", lambda b: b["datasets"][0].update(DATASET)), "item files"
    ),
    Crafted(
        "an item file more",
        "questions conformity",
        all_of(*(edit(n, lambda b: b["datasets"].append(DATASET)) for n in ("manifest.json", "plan.json"))),
        "",
        "names",
        is_free=True,
    ),
    Crafted(
        "another system prompt",
        "questions conformity logic pilot code",
        template("system", "You know."),
        "condition control",
    ),
    Crafted(
        "another user prompt",
        "questions conformity logic pilot code",
        template("user", "Think. {question}"),
        "condition control",
    ),
    Crafted("an unused word of a condition", "conformity questions", template("confederates", "99"), "condition"),
    Crafted(
        "a condition's text in the plan",
        ALL,
        edit("plan.json", lambda b: b["conditions"][0].update(params={})),
        "params",
    ),
    Crafted("the first scorer left out", "questions conformity logic pilot", scorers(lambda n: n.pop(0)), "", "choice"),
    Crafted("the last scorer left out", "questions conformity logic pilot", scorers(lambda n: n.pop()), "", "choice"),
    Crafted("no scorer at all", "questions conformity", scorers(lambda n: n.clear()), "", "choice"),
    Crafted("scorers in another order", "questions conformity logic pilot", scorers(lambda n: n.reverse()), "scorers"),
    Crafted("a scorer twice", "questions conformity", scorers(lambda n: n.append(n[0])), "scorers"),
    Crafted("a file as scorer", "questions imported", scorers(lambda n: n.append("tables/x.py@1")), "tables/x.py@1"),
    Crafted("a module as scorer", "questions imported", scorers(lambda n: n.append("os:system")), "os:system"),
    Crafted(
        "another time",
        "questions",
        manifest(lambda b: b.update(created="2020-01-01T00:00:00+00:00")),
        "",
        "times",
        is_free=True,
    ),
    Crafted("a time that is none", ALL, manifest(lambda b: b.update(created="last week")), "created"),
    Crafted(
        "another name of the run",
        "questions pilot",
        all_of(manifest(lambda b: b.update(run="final")), edit("plan.json", lambda b: b["meta"].update(run="final"))),
        "final",
        "names",
    ),
    Crafted(
        "a run said to be imported",
        "questions conformity logic pilot",
        manifest(lambda b: b.update({"import": {"format": "jsonl"}})),
        "import",
        "imports",
    ),
    Crafted("a run said to be ours", "imported", manifest(lambda b: b.pop("import")), ""),
    Crafted("a source that is not there", "questions", sources(), "x.py"),
    Crafted("a source outside of the folder", "questions code", sources(kind="tasks", file="../../evil.py"), "evil.py"),
    Crafted("a source of an unknown kind", "code", manifest(lambda b: b["sources"][0].update(kind="plugins")), ""),
    Crafted("no sources", "code", manifest(lambda b: b.pop("sources")), "code/"),
    Crafted("another source's digest", "code", manifest(lambda b: b["sources"][0].update(sha256="ab" * 32)), "code/"),
    Crafted("a gate left out", ALL, edit(RECEIPT, lambda b: b["gates"].pop(3)), "coverage", file=RECEIPT),
    Crafted(
        "a gate more",
        ALL,
        edit(RECEIPT, lambda b: b["gates"].append({"gate": "peer", "passed": True, "found": "all"})),
        "peer",
        file=RECEIPT,
    ),
    Crafted("gates in another order", ALL, edit(RECEIPT, lambda b: b["gates"].reverse()), "gate", file=RECEIPT),
    Crafted("a gate twice", ALL, edit(RECEIPT, lambda b: b["gates"].append(b["gates"][0])), "gate", file=RECEIPT),
    Crafted(
        "a reason for a gate that passes",
        "questions",
        edit(RECEIPT, lambda b: b["gates"][0].update(accepted="so")),
        "gate dataset",
        file=RECEIPT,
    ),
    Crafted(
        "another reason",
        "pilot",
        edit(RECEIPT, lambda b: b["gates"][2].update(accepted="it is fine")),
        "report.md",
        file=RECEIPT,
    ),
    Crafted(
        "no reason", "pilot", edit(RECEIPT, lambda b: b["gates"][2].update(accepted="")), "gate plan", file=RECEIPT
    ),
    Crafted(
        "another sentence on attempts",
        ALL,
        edit(RECEIPT, lambda b: b["attempts"].update(told="The only one.")),
        "told",
        file=RECEIPT,
    ),
    Crafted(
        "a page with prose", ALL, lambda folder: _prose(folder.parent / "README.md"), "README.md", file="../README.md"
    ),
    Crafted(
        "an index with a ghost", ALL, edit(INDEX, lambda b: b["runs"].append({"run": "ghost"})), "ghost", file=INDEX
    ),
)


def _prose(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "\nAll of these were replicated.\n", encoding="utf-8")
