"""Every kind of forgery: which file it changes, and what names it when everything is sealed again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import digest
from perpend.ledger.items import stored_item
from perpend.ledger.manifest import ItemsDigest
from tests.tamper.forgery import Forge, Table, all_of, edit, lines, read, text

FILES = "files are those of the receipt"
READ = "what is stored can be read"
PARTS = "plan is made of the manifest's parts"
ASKED = "questions were asked as planned"
THIRD = "trial 3 (item-1, control)"


@dataclass(frozen=True, slots=True)
class Kind:
    """One forgery: the file that it changes, and, when all is sealed again, the check that names it and the place."""

    name: str
    forge: Forge
    file: str
    caught: str
    place: str
    run: str = "logic"


def score(**values: object) -> Forge:
    """Change the score of trial 3 by label@2, which is the third line of the second scorer's 16."""

    def change(rows: list[Table]) -> None:
        assert (rows[18]["scorer"], rows[18]["trial"]) == ("label@2", 3)
        rows[18] |= values

    return lines("scores.jsonl.gz", change)


def a_bit(folder: Path) -> None:
    path = folder / "responses.jsonl.gz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def swapped(first: int, second: int, *, with_answers: bool) -> Forge:
    """Swap two lines of the plan; and what was said and scored there, so that all belongs together again."""
    numbers = {first: second, second: first}

    def plan(rows: list[Table]) -> None:
        rows[first - 1], rows[second - 1] = rows[second - 1], rows[first - 1]

    def renumbered(rows: list[Table]) -> None:
        for row in rows:
            row["trial"] = numbers.get(row["trial"], row["trial"])
        rows.sort(key=lambda row: (str(row.get("scorer")), row["trial"]))

    names = ("responses.jsonl.gz", "scores.jsonl.gz") if with_answers else ()
    return all_of(lines("trials.jsonl.gz", plan), *(lines(name, renumbered) for name in names))


def items_digest(folder: Path) -> None:
    """The manifest states the digest of the items as they are now."""
    found = ItemsDigest()
    for line in read(folder / "items.jsonl.gz"):
        found.add(stored_item(json.dumps(line["item"])))
    edit("manifest.json", lambda body: body["items"].update(sha256=found.hexdigest()))(folder)


def manifest(path: str, value: object, *, redigest: bool = False) -> Forge:
    """Set what stands at a path of the manifest, such as 'conditions/1/name'; and its template's digest."""

    def change(body: Table) -> None:
        at: object = body
        *keys, last = (int(key) if key.isdigit() else key for key in path.split("/"))
        for key in keys:
            at = at[key]
        at[last] = value
        if redigest:
            for entry in body["conditions"]:
                entry["sha256"] = digest(entry["params"])

    return edit("manifest.json", change)


def plan(key: str, number: int, **values: object) -> Forge:
    return edit("plan.json", lambda body: body[key][number].update(values))


def renamed_scorer(folder: Path) -> None:
    edit("plan.json", lambda body: body.update(scorers=["label@9", "label@2"]))(folder)
    lines("scores.jsonl.gz", lambda rows: [row.update(scorer="label@9") for row in rows[:16]])(folder)


def metric(key: str, value: float) -> Forge:
    return edit("metrics.json", lambda body: body["metrics"][0].update({key: value}))


def a_cell(folder: Path) -> None:
    path = folder / "tables" / "rule4" / "opinion_wrong_answer_agreement_rates.csv"
    rows = path.read_text().split("\n")
    rows[1] = rows[1].rpartition(",")[0] + ",0.125"
    path.write_text("\n".join(rows))


KINDS = [
    Kind("one bit", a_bit, "responses.jsonl.gz", READ, "responses.jsonl.gz"),
    Kind(
        "a score's value",
        score(value=1.0),
        "scores.jsonl.gz",
        "scores of label@2",
        f"{THIRD}: value: stored 1.0, recomputed 0.0",
    ),
    Kind(
        "a score's reason",
        score(reason="because"),
        "scores.jsonl.gz",
        "scores of label@2",
        f"{THIRD}: reason: stored 'because'",
    ),
    Kind("a score's span", score(span=[0, 1]), "scores.jsonl.gz", "scores of label@2", f"{THIRD}: span: stored (0, 1)"),
    Kind(
        "a score's answer",
        score(answer="FALSE"),
        "scores.jsonl.gz",
        "scores of label@2",
        f"{THIRD}: answer: stored 'FALSE'",
    ),
    Kind(
        "a dropped score",
        lines("scores.jsonl.gz", lambda rows: rows.pop(18)),
        "scores.jsonl.gz",
        "every answer has its scores",
        f"{THIRD}: no score of label@2",
    ),
    Kind(
        "a score of nothing",
        lines("responses.jsonl.gz", lambda rows: rows.pop(2)),
        "responses.jsonl.gz",
        "scores of label@2",
        f"{THIRD}: stored 0.0",
    ),
    Kind(
        "a response's text",
        lines("responses.jsonl.gz", lambda rows: rows[2].update(text="FALSE")),
        "responses.jsonl.gz",
        "scores of label@2",
        f"{THIRD}: value: stored 0.0, recomputed 1.0",
    ),
    Kind(
        "a dropped response",
        lines("responses.jsonl.gz", lambda rows: rows.pop(2)),
        "responses.jsonl.gz",
        "every trial was asked",
        "trials planned, trials asked: stored 8, recomputed 7",
    ),
    Kind(
        "a response too many",
        lines("responses.jsonl.gz", lambda rows: rows.insert(3, {**rows[2], "attempt": 2})),
        "responses.jsonl.gz",
        "no response is missing or too many",
        f"{THIRD}: turn 0: attempts [0, 2], not [0, 1]",
    ),
    Kind(
        "a request's digest",
        lines("responses.jsonl.gz", lambda rows: rows[2].update(request_sha256="00" * 32)),
        "responses.jsonl.gz",
        ASKED,
        f"{THIRD}, turn 0: stored {'00' * 32}",
    ),
    Kind(
        "a dropped trial",
        lines("trials.jsonl.gz", lambda rows: rows.pop()),
        "trials.jsonl.gz",
        READ,
        "responses.jsonl.gz: names trial 16 of 15",
    ),
    Kind(
        "a duplicated trial",
        lines("trials.jsonl.gz", lambda rows: rows.__setitem__(-1, rows[2])),
        "trials.jsonl.gz",
        READ,
        "UNIQUE constraint failed: trial",
    ),
    Kind(
        "two trials swapped", swapped(3, 5, with_answers=False), "trials.jsonl.gz", ASKED, "trial 3 (item-2, control)"
    ),
    Kind(
        "another order",
        swapped(3, 5, with_answers=True),
        "responses.jsonl.gz",
        "no trial twice, all in plan order",
        "trial 4 (item-1, asch_history_2, m): comes after a trial that the plan puts later",
    ),
    Kind(
        "an item's text",
        lines("items.jsonl.gz", lambda rows: rows[1]["item"].update(prompt="Is it?")),
        "items.jsonl.gz",
        "items are those of the manifest",
        "digest of the items",
    ),
    Kind(
        "an item's text with its digest",
        all_of(lines("items.jsonl.gz", lambda rows: rows[1]["item"].update(prompt="Is it?")), items_digest),
        "items.jsonl.gz",
        ASKED,
        THIRD,
    ),
    Kind(
        "an item's target with its digest",
        all_of(
            lines("items.jsonl.gz", lambda rows: rows[1]["item"].update(target="TRUE", decoy="FALSE")), items_digest
        ),
        "items.jsonl.gz",
        "scores of label@2",
        f"{THIRD}: value: stored 0.0, recomputed 1.0",
    ),
    Kind(
        "a template",
        manifest("conditions/0/params/user", "{question} Hurry."),
        "manifest.json",
        "templates have their digests",
        "control: stored",
    ),
    Kind(
        "a template with its digest",
        manifest("conditions/0/params/user", "{question} Hurry.", redigest=True),
        "manifest.json",
        ASKED,
        "trial 1 (item-0, control)",
    ),
    Kind(
        "a condition's name",
        plan("conditions", 1, name="calm"),
        "plan.json",
        PARTS,
        "conditions[1]: stored 'asch_history_2'",
    ),
    Kind(
        "a condition's name in both places",
        all_of(plan("conditions", 1, name="calm"), manifest("conditions/1/name", "calm")),
        "manifest.json",
        ASKED,
        "trial 2 (item-0, calm)",
    ),
    Kind("a sampling", plan("samplings", 0, temperature=1.0), "plan.json", PARTS, "samplings[0]"),
    Kind(
        "a sampling in both places",
        all_of(plan("samplings", 0, temperature=1.0), manifest("samplings/0/temperature", 1.0)),
        "manifest.json",
        ASKED,
        "trial 1 (item-0, control)",
    ),
    Kind("a scorer's version", renamed_scorer, "plan.json", "scores of label@9", "unknown scorer 'label@9'"),
    Kind(
        "a scorer that was declared",
        renamed_scorer,
        "plan.json",
        "declared scorers have scores",
        "declared scorer label@1",
    ),
    Kind("a metric", metric("value", 0.9), "metrics.json", "metrics.json", "rate of label@1 at "),
    Kind("an interval's bound", metric("lo", 0.01), "metrics.json", "metrics.json", ", lo: stored 0.01, recomputed "),
    Kind(
        "a line of the report",
        text("report.md", "16 trials planned", "17 trials planned"),
        "report.md",
        "report.md",
        "stored '17 trials planned",
    ),
    Kind(
        "a cell of a table",
        a_cell,
        "tables/rule4/opinion_wrong_answer_agreement_rates.csv",
        "tables",
        "opinion_wrong_answer_agreement_rates.csv:2, column 'refusal_rate': stored 0.125, recomputed ",
        "study",
    ),
    Kind(
        "a removed table",
        lambda folder: (folder / "tables" / "companions" / "integrity.csv").unlink(),
        "tables/companions/integrity.csv",
        "tables",
        "integrity.csv: missing",
        "study",
    ),
    Kind(
        "a table too many",
        lambda folder: (folder / "tables" / "best.csv").write_text("a,b\n"),
        "tables/best.csv",
        "tables",
        "tables/best.csv: nothing in this run gives such a file",
        "study",
    ),
    Kind(
        "a removed figure",
        lambda folder: (folder / "figures/pressure_effects_double.png").unlink(),
        "figures/pressure_effects_double.png",
        "figures",
        "pressure_effects_double.png: missing",
        "study",
    ),
    Kind(
        "an extra file",
        lambda folder: (folder / "notes.txt").write_text("trust us"),
        "notes.txt",
        "tables",
        "notes.txt: nothing in this run gives such a file",
    ),
    Kind(
        "a removed file",
        lambda folder: (folder / "metrics.json").unlink(),
        "metrics.json",
        "files are those of a published run",
        "metrics.json: a published run needs it",
    ),
    Kind(
        "verify.py",
        lambda folder: (folder / "verify.py").write_text("print('whole')\n"),
        "verify.py",
        "files are those of a published run",
        "verify.py: not perpend's; do not run it",
    ),
    Kind(
        "an extra fact in the manifest",
        edit("manifest.json", lambda body: body["items"].update(hardest=True)),
        "manifest.json",
        "manifest holds nothing else",
        "items, hardest: stored, not recomputed",
    ),
    Kind(
        "an extra fact in the plan",
        edit("plan.json", lambda body: body["models"][0].update(rank=1)),
        "plan.json",
        READ,
        "plan.json: unknown key 'rank'",
    ),
    Kind(
        "an extra fact beside an item",
        lines("items.jsonl.gz", lambda rows: rows[1].update(note="easy")),
        "items.jsonl.gz",
        READ,
        "items.jsonl.gz:2: unknown key 'note'",
    ),
    Kind(
        "an extra fact beside a response",
        lines("responses.jsonl.gz", lambda rows: rows[1].update(human=1)),
        "responses.jsonl.gz",
        READ,
        "responses.jsonl.gz:2: unknown key 'human'",
    ),
    Kind(
        "an extra fact beside a score",
        lines("scores.jsonl.gz", lambda rows: rows[1].update(human=1)),
        "scores.jsonl.gz",
        READ,
        "scores.jsonl.gz:2: unknown key 'human'",
    ),
    Kind(
        "an extra number in metrics.json",
        edit("metrics.json", lambda body: body.update(accuracy=0.99)),
        "metrics.json",
        "metrics.json",
        "accuracy: stored, not recomputed",
    ),
    Kind(
        "a metric too many",
        edit("metrics.json", lambda body: body["metrics"].append(body["metrics"][0])),
        "metrics.json",
        "metrics.json",
        "number of metrics: stored",
    ),
    Kind(
        "a model's name in the plan",
        plan("models", 0, name="callable/better"),
        "plan.json",
        PARTS,
        "models, their names and options[0][0]: stored 'callable/m'",
    ),
    Kind(
        "a template in the plan",
        plan("conditions", 0, params={"user": "{question} Hurry."}),
        "plan.json",
        PARTS,
        "params[0]",
    ),
    Kind(
        "an item file's digest",
        plan("datasets", 0, sha256="0" * 64),
        "plan.json",
        PARTS,
        "item files[0][3]: stored",
    ),
    Kind(
        "the number of repeats",
        manifest("repeats", 2),
        "manifest.json",
        "no trial twice, all in plan order",
        "number of repeats: stored 2, recomputed 1",
    ),
    Kind(
        "a program among the tables",
        lambda folder: ((folder / "tables").mkdir(exist_ok=True), (folder / "tables/plot.py").write_text("")),
        "tables/plot.py",
        "tables",
        "tables/plot.py: nothing in this run gives such a file",
    ),
    Kind(
        "code that the manifest does not list",
        lambda folder: ((folder / "code").mkdir(), (folder / "code/score.py").write_text("")),
        "code/score.py",
        "code is that of the manifest",
        "code/score.py: not in the manifest",
    ),
]
