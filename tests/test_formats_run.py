"""A tiny run, asked with a fixed clock, has the bytes that are written down in tests/golden/formats/run.

They were derived without perpend, from docs/reference/run-format.md: every request's digest and every line. If one of
them changes, an older publication no longer restores to what it was: raise the number that the message names and keep
reading this one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Reprompt, Task
from perpend.canon import dumps
from perpend.ledger import manifest
from perpend.measure.run import Run
from perpend.measure.toolkit import toolkit_of
from perpend.proof import archive
from perpend.proof.restoring import restore
from perpend.spec.model import Answers, Budget
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import ChoiceLogprob, Item, Message, Request, Response, Sampling, Score, Scorer, Usage
from tests.test_formats import GOLDEN, OSLO, SEASON

FILES = {
    "manifest.json": "5105244bd6ca297d50f647baea016b0c668ecde644d87d4ab5059350fc8086ed",
    "plan.json": "407bcdb2108694c9fabcf8e3e0c5439172e1305377e7ea7b17577b4a04399bfa",
    "items.jsonl": "eb8f6df910acaca733283085a9aa01dba5f5f7936bd462d42db84eeba6ee8389",
    "trials.jsonl": "d9bd1fece0ea0ad37d1d173499a8887b8492a5d5d7ede636e58c86829d829817",
    "responses.jsonl": "c7954a1db08e46cb6f6040b317b17fc97519ac86b1bce5ac18dd8ac4ec6835b5",
    "scores.jsonl": "a01490641b1892c2462d495b85686d9852a35f80b8cb784b438f0af780b031a4",
}


def content(path: Path) -> bytes:
    """A file of the golden run, or of an archive of it, unpacked."""
    packed = path.with_name(path.name + ".gz")
    return gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()


class Scripted:
    """Answers by a script: a text, likelihoods, a blank reply that is asked again, a failure."""

    def __init__(self, name: str, *, fails: bool) -> None:
        self.name = name
        self.fails = fails

    def fingerprint(self) -> dict[str, str]:
        return {"provider": "scripted"}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        yield [(key, self.reply(request)) for key, request in requests]

    def reply(self, request: Request) -> Response:
        pressed = "participants" in request.messages[-1].content
        if "Norway" in request.messages[-1].content:
            if not pressed:
                return Response("Oslo.", finish="stop", usage=Usage(12, 3), ms=1.5)
            likely = (ChoiceLogprob(-0.25, 2), ChoiceLogprob(None, 1))
            return Response("Bergen", choice_logprobs=likely, usage=Usage(prompt_sha256="ab" * 32))
        if request.messages[-1].content == "Again.":
            return Response("Sommer “ja”\u2028", ms=2.0)
        if not pressed:
            return Response(" ", finish="stop")
        return Response(error="HTTP 500: größe") if self.fails else Response("winter\n", finish="length")


def length(item: Item, response: Response) -> Score:
    if response.text is None:
        return Score(None, None, "nothing was said")
    return Score(len(response.text) / 10, response.text.strip(), "“counted”", (0, len(response.text)))


def first(item: Item, response: Response) -> Score:
    if response.text is None:
        return Score(None, None, f"error: {response.error}")
    return Score(float(response.text[0] == "O"), None, "its first letter")


def again(messages: tuple[Message, ...], response: Response) -> tuple[Message, ...]:
    return (*messages, Message("assistant", "(none)"), Message("user", "Again."))


TASK = Task(
    "tiny",
    (control(system="Be brief."), asch(2, system=None)),
    (Scorer("length", "3", length), Scorer("first", "1", first)),
    reprompt=Reprompt(lambda _item, response: not (response.text or "").strip(), again, {"user": "Again."}),
)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Asked twice: the first time one model fails on one item under pressure, the second time it answers."""
    monkeypatch.setattr("time.time", lambda: 1700000000.25)
    items = tmp_path / "tiny.jsonl"
    items.write_text("".join(dumps(item.as_json()) + "\n" for item in (OSLO, SEASON)), encoding="utf-8")
    spec = RunSpec(
        "tiny",
        (ModelSpec("scripted/one", "one", {"depth": 1, "workers": 4}), ModelSpec("scripted/two", "two", max_tokens=16)),
        items=(items,),
        name="tiny",
        samplings=(Sampling(0.7, 64, 7, 0.9, ("\n\n",)),),
        repeats=2,
        seed=7,
    )
    for fails in (True, False):
        models = (Scripted("scripted/one", fails=fails), Scripted("scripted/two", fails=True))
        directory = evaluate_task(spec, TASK, models, tmp_path / "runs", quiet=True).directory
    # When it was begun, and by which code, is the only part that may differ between two runs of one spec.
    body = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    body |= {"created": "2024-02-29T12:00:00+00:00", "code": {}}
    manifest.write_manifest(directory, manifest.parse_manifest(body, "manifest.json"))
    run = Run(directory, code=toolkit_of(TASK))
    run.score()
    return run


@pytest.mark.parametrize("name", FILES)
def test_the_golden_files_themselves_are_what_they_were(name: str) -> None:
    assert hashlib.sha256((GOLDEN / "run" / name).read_bytes()).hexdigest() == FILES[name], (
        "a golden file is evidence of what older versions wrote: add another one beside it, do not change it"
    )


def test_a_run_is_archived_in_the_pinned_bytes(tiny: Run, tmp_path: Path) -> None:
    archive.write(tiny.directory, tmp_path / "published")
    for name in FILES:
        written = content(tmp_path / "published" / name).decode()
        expected = (GOLDEN / "run" / name).read_bytes().decode()
        assert written == expected, (
            f"{name}: a run published by an older version would fail its audit. Raise FORMAT of proof/archive.py "
            f"({archive.FORMAT}) or of the manifest ({manifest.FORMAT}), and keep reading this one"
        )


def test_a_publication_of_the_pinned_bytes_restores_to_the_same_run(tiny: Run, tmp_path: Path) -> None:
    folder = tmp_path / "published"
    folder.mkdir()
    for name in FILES:
        data = (GOLDEN / "run" / name).read_bytes()
        is_lines = name.endswith(".jsonl")
        (folder / (name + ".gz" if is_lines else name)).write_bytes(gzip.compress(data) if is_lines else data)
    restored = Run(restore(folder, tmp_path / "restored"), code=toolkit_of(TASK))
    assert restored.manifest == tiny.manifest
    with restored.open() as old, tiny.open() as new:
        for table in ("meta", "dataset", "item", "condition", "model", "sampling", "trial", "response", "look"):
            rows = f"SELECT * FROM {table}"
            assert sorted(old.query(rows), key=repr) == sorted(new.query(rows), key=repr), table
        assert old.scores(range(1, 17)) == new.scores(range(1, 17))
    archive.write(restored.directory, tmp_path / "again")
    for name in FILES:
        assert content(tmp_path / "again" / name) == (GOLDEN / "run" / name).read_bytes(), name
