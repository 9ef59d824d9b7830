"""Formats are pinned: what an older run meant, a later version must not change silently.

The values were derived without perpend, by sha256sum and a JSON writer. A test that fails here has found a change that
older runs, receipts or resumed runs would not survive. Do not put the new value in its place: the message says which
number to raise, or which new name to give, and what of the old form must stay readable.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perpend import canon
from perpend.ask.conditions import trial_seed
from perpend.ask.runner import evaluate
from perpend.ledger import items, manifest, schema, store
from perpend.ledger.plan import Dataset, Plan, Trial
from perpend.ledger.raw import plan_batches
from perpend.measure import study
from perpend.measure.table import Table
from perpend.proof import lines, receipt
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Caution, Estimate, Item, Message, Request, Sampling

GOLDEN = Path(__file__).parent / "golden" / "formats"
DERIVED: dict[str, list[list[Any]]] = json.loads((GOLDEN / "derived.json").read_text(encoding="utf-8"))
OSLO = Item(
    "oslo",
    "What is the capital of Norway?",
    target="Oslo",
    choices=("Oslo", "Bergen"),
    decoy="Bergen",
    aliases=("Christiania",),
    tags={"topic": "geography"},
)
SEASON = Item("größe-1", "Which season is best? “Be brief.”", decoy="winter")
SEEDS = (
    "the seed of a trial is part of its request's digest: no run that was begun before could be resumed, replayed or "
    "audited. Keep this derivation; a better one needs a name of its own in the manifest"
)
BYTES = (
    "canonical bytes are what every digest is taken of: items, requests, manifests and receipts of older versions "
    "would all be called changed. Keep this form; another one needs new format numbers everywhere"
)
IDENTITY = "older runs would be asked again under another name, or not be found. Keep the derivation"


# printf '42|item-0|control|0' | sha256sum: the first 8 digits as a number, halved
@pytest.mark.parametrize(("seed", "item", "condition", "repeat", "sent"), DERIVED["seeds"])
def test_the_seed_of_a_trial(seed: int | None, item: str, condition: str, repeat: int, sent: int | None) -> None:
    trial = Trial(1, Item(item, "?"), condition, "any model", Sampling(0.7, seed=seed), repeat)
    assert trial_seed(trial) == sent, SEEDS


@pytest.mark.parametrize(("value", "line", "sha256"), DERIVED["lines"])
def test_canonical_lines_and_their_digests(value: canon.JSON, line: str, sha256: str) -> None:
    assert canon.dumps(value) == line, BYTES
    assert canon.digest(value) == sha256, BYTES


def test_canonical_json_for_reading() -> None:
    expected = (GOLDEN / "mixed.json").read_text(encoding="utf-8")
    assert canon.pretty(DERIVED["lines"][0][0]) == expected, (
        f"manifest.json, plan.json and receipt.json are compared byte by byte; {BYTES}"
    )


def test_compressed_bytes_have_one_header(tmp_path: Path) -> None:
    """Deflate itself may differ between zlibs, so what it wrote is compared after unpacking."""
    text = "größe\n" * 50
    packed = canon.compress(text.encode())
    # magic, deflate, no flags, no time, level 6, 'Unix': whatever the system and its Python
    assert packed[:10].hex() == "1f8b0800000000000003", "a published run would have other digests than before"
    assert gzip.decompress(packed).decode() == text
    lines.write_lines(tmp_path / "lines.gz", ["größe"] * 50)
    written = (tmp_path / "lines.gz").read_bytes()
    assert written[:10].hex() == "1f8b08000000000000ff", "a published run would have other digests than before"
    assert gzip.decompress(written).decode() == text


@pytest.mark.parametrize(("text", "name"), DERIVED["names"])
def test_portable_names(text: str, name: str) -> None:
    assert canon.portable_name(text) == name, IDENTITY


@pytest.mark.parametrize(("body", "sha256"), DERIVED["requests"])
def test_digests_of_requests(body: dict[str, Any], sha256: str) -> None:
    messages = tuple(Message(*one) for one in body["messages"])
    sampling = Sampling(**{**body["sampling"], "stop": tuple(body["sampling"]["stop"])})
    request_ = Request(messages, sampling, tuple(body["choices"]))
    assert request_.digest == sha256, (
        "run.db keeps this digest of every question: a resumed run would be refused, a replay would find nothing and "
        "an audit would call every answer forged. Keep it; a new field is left out where it says nothing new"
    )


def test_digests_of_items_and_of_a_freeze(tmp_path: Path) -> None:
    broken = "frozen items and planned runs would be called changed. A new field is left out where it is empty"
    assert items.item_digest(OSLO) == "7722f4cfb4c4620b28c78240cdaa451187c671b4e632cc6cce16c2305ca3c64d", broken
    assert items.item_digest(SEASON) == "ec1058277739a4294675701a0faaa2dacce90c921ba211d7a805d275c34fb886", broken
    digest = manifest.ItemsDigest()
    assert digest.hexdigest() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    for item in (OSLO, SEASON):
        digest.add(item)
    assert digest.hexdigest() == "123ea4818dbb2cf683e21e2f7efd608ecd14fb42d08c7b841e5363452248c4cd", broken
    path = tmp_path / "two.jsonl"
    path.write_text(
        '{"id": "oslo", "prompt": "What is the capital of Norway?", "target": "Oslo", "choices": ["Oslo", "Bergen"],'
        ' "decoy": "Bergen", "aliases": ["Christiania"], "tags": {"topic": "geography"}}\n'
        '{"id": "größe-1", "prompt": "Which season is best? “Be brief.”", "decoy": "winter"}\n',
        encoding="utf-8",
    )
    frozen = items.freeze([path])
    assert frozen["format"] == 2
    assert frozen["sha256"] == "4b04506ec0cbf47f9c6fdb751081cdd29ed3dbd8456054913839c647560af499", broken
    assert list(frozen) == ["format", "files", "items", "sha256"]


def test_the_digest_of_the_columns_that_a_number_came_from() -> None:
    """Row numbers as 8-byte integers, then the values of each column as 8-byte floats, all little-endian."""
    columns = {"a@1": np.array([1.0, 0.0, np.nan, 0.5]), "b@1": np.array([0.0, 1.0, 1.0, 0.25])}
    codes = {"item": np.arange(4)}
    table = Table(("tiny",), codes, {"item": ("p", "q", "r", "s")}, (), tuple(columns), lambda _names: columns)
    rows = np.array([True, False, True, True])
    broken = f"metrics.json states it of every number; raise its format ({study.FORMAT}), keep this one for older runs"
    assert table.digest(["a@1", "b@1"], rows) == ("97578102ba7fd293f944d08b03da66a5c0ac314b6a1e2c606867fe5522d21326"), (
        broken
    )
    assert table.digest(["a"], rows) == "58dbf3e51e557f21ab654669de69bcccbe824b56b9af40e6e286c112787c572d", broken


def test_metrics_json_has_one_line_per_metric(tmp_path: Path) -> None:
    metrics = [
        study.Metric("rate", "correct@1", {"model": "größe", "condition": "control"}, Estimate(0.1, 3), "ab"),
        study.Metric(
            "ece",
            "confidence@1",
            {},
            Estimate(None, 0, 0.25, 1.0, "none", "no row", 0.9, {"p": None, "k": 2}, (Caution("STAT001", "x", 0.5),)),
        ),
    ]
    study.write_metrics(tmp_path, ["tiny"], metrics, {"by_seed": {"b": 1, "a": [0.5]}})
    assert (tmp_path / "metrics.json").read_bytes() == (GOLDEN / "metrics.json").read_bytes(), (
        f"an audit compares metrics.json byte by byte; raise its format ({study.FORMAT}) and keep reading this one"
    )
    study.write_metrics(tmp_path, ["one", "two"], [], {})
    assert (tmp_path / "metrics.json").read_text(encoding="utf-8") == (
        '{\n  "format": 4,\n  "metrics": [],\n  "runs": [\n    "one",\n    "two"\n  ]\n}\n'
    )


def everything() -> manifest.Manifest:
    """A manifest that says all that one can say."""
    template = manifest.template("asch", {"type": "asch", "system": None, "user": "{question} “{decoy}”"})
    return manifest.Manifest(
        run="größe",
        task="conformity",
        options={"confederates": 5, "conditions": []},
        items=manifest.ItemsFacts(2, "12" * 32, 2, 42, "34" * 32),
        conditions=(template,),
        models=(
            manifest.ModelFacts("mock/true", "mock/true"),
            manifest.ModelFacts("openai/x", "big", {"effort": "low"}, 64, {"provider": "openai"}),
        ),
        samplings=(Sampling(), Sampling(0.7, 64, None, 0.9, ("\n",))),
        trials=8,
        scorers=("correct@2", "mine@1"),
        datasets=(Dataset("facts", "1", "facts.jsonl", "56" * 32),),
        choices_scored=True,
        reprompt=manifest.template("reprompt", {"user": "Again."}),
        repeats=2,
        sources=(manifest.SourceFile("scorers", "mine.py", "78" * 32),),
        source_of_import={"format": "rows", "sha256": "9a" * 32},
        created="2024-02-29T12:00:00+00:00",
        code={"perpend": "0.2.0"},
    )


def test_the_bytes_of_a_manifest(tmp_path: Path) -> None:
    manifest.write_manifest(tmp_path, everything())
    written = (tmp_path / "manifest.json").read_bytes()
    expected = (GOLDEN / "manifest.json").read_bytes()
    assert written == expected, (
        f"older manifests would not read as written, and published ones would fail their audit; leave out what says "
        f"nothing new, or raise the format of the manifest ({manifest.FORMAT}) and keep reading this one"
    )
    assert hashlib.sha256(expected).hexdigest() == "0b0997d4889080607fd033de84ac9d782a5e930cbba4a48a2f5db93a181dd32c"
    assert manifest.read_manifest(tmp_path) == everything()
    assert sorted(everything().binding()) == sorted(
        ("task", "items", "conditions", "reprompt", "models", "samplings", "repeats", "sources", "stop")
    ), "what binds a run decides whether it may be resumed"


def test_the_bytes_of_a_receipt(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "a.txt").write_bytes(b"first\n")
    (tmp_path / "code" / "b.py").write_bytes("x = 'ü'\n".encode())
    (tmp_path / "receipt.json.sig").write_bytes(b"not listed")
    (tmp_path / "signer.pub").write_bytes(b"not listed")
    (tmp_path / "statement.intoto.json.sig").write_bytes(b"not listed")
    written = receipt.write(tmp_path, "tiny", {"gates": [{"name": "complete", "ok": True}]})
    broken = f"older receipts would not verify; raise the receipt's format ({receipt.FORMAT}) and keep checking this"
    assert written.root_sha256 == "5352b5931988267b5683e769dc7a2611325769241d4323e1201661ea893f1e82", broken
    assert written.receipt_sha256 == "1fcc74288b2d6e0d0c3315ae176864777fd5f0a9492f38a38926f329dd3d79ae", broken
    assert (tmp_path / "receipt.json").read_bytes() == (GOLDEN / "receipt.json").read_bytes(), broken
    assert receipt.differences(tmp_path) == []


def test_a_changed_schema_has_a_new_version() -> None:
    sql = files("perpend.ledger").joinpath("schema.sql").read_bytes()
    pinned = {2: "0e4199f7c8e331afe5df357e4b1f813ddacc145f4395f84859f6aeab57d45741"}
    assert schema.APPLICATION_ID == 0x70657270, "no older run.db would be taken for a run"
    assert schema.SCHEMA_VERSION in pinned, "pin the digest of the new schema beside the old ones"
    assert hashlib.sha256(sql).hexdigest() == pinned[schema.SCHEMA_VERSION], (
        "schema.sql changed: raise SCHEMA_VERSION, keep opening older files, and pin the new digest beside this one"
    )


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (RunSpec("questions", (ModelSpec("mock/true", "mock/true"),)), "questions-mock-true-2eacf281"),
        (
            RunSpec(
                "/somewhere/my_task.py",
                (
                    ModelSpec("openai/gpt-4o", "big", {"effort": "low", "base_url": "http://x", "workers": 8}, 64, 1.5),
                    ModelSpec("local//somewhere/weights.gguf", "small"),
                ),
                items=(Path("/somewhere/facts.jsonl"),),
                templates=(Path("calm.toml"),),
                options={"größe": [1, "a"]},
                samplings=(Sampling(0.7, 16, 7, 0.9, ("\n",)), Sampling(1.0, 16, 7, 0.9, ("\n",))),
                repeats=3,
                max_items=50,
                seed=7,
            ),
            "my_task-big_1_2f88bb4d-e88dacc4",
        ),
        (RunSpec("questions", (ModelSpec("mock/true", "x"),), name="größe 1"), "gr_e_1_b517509f"),
    ],
)
def test_the_name_of_a_run_is_its_question(spec: RunSpec, name: str) -> None:
    assert spec.run_name() == name, IDENTITY


@pytest.mark.parametrize(("seed", "kept"), [(42, [0, 3, 7, 8, 16]), (7, [1, 2, 4, 10, 12])])
def test_the_items_that_a_seed_draws(tmp_path: Path, seed: int, kept: list[int]) -> None:
    """random.Random(seed).sample(range(20), 5), over all files, in the order of the files."""
    for file, numbers in (("one.jsonl", range(8)), ("two.jsonl", range(8, 20))):
        lines = [json.dumps({"id": f"item-{n}", "prompt": f"{n}?"}) for n in numbers]
        (tmp_path / file).write_text("\n".join(lines), encoding="utf-8")
    spec = RunSpec(
        "questions",
        (ModelSpec("mock/true", "true"),),
        items=(tmp_path / "one.jsonl", tmp_path / "two.jsonl"),
        max_items=5,
        seed=seed,
    )
    directory = evaluate(spec, tmp_path / "runs", quiet=True).directory
    with store.Store.open(directory / "run.db") as ledger:
        assert [item.id for item in ledger.items()] == [f"item-{n}" for n in kept], (
            "a run with max_items would be asked other items when it is resumed. Keep the draw"
        )


def test_the_order_of_a_plan(tmp_path: Path) -> None:
    """By model, sampling, item, condition, repeat: a trial's identity is its position."""
    cold, warm = Sampling(0.0), Sampling(0.7)
    plan = Plan(
        (Dataset("tiny", "1", "tiny.jsonl", "00" * 32),),
        {"control": {"user": "{question}"}, "asch": {"user": "{question} {decoy}"}},
        (("b", "mock/true", {}), ("a", "mock/false", {})),
        {"b": (cold, warm), "a": (warm,)},
        2,
    )
    with store.Store.create(tmp_path / "run.db", "tiny") as ledger:
        assert ledger.write_plan(plan, [(0, "x:1", OSLO), (0, "x:2", SEASON)]) == 24
        rows = [(t.model, t.sampling.temperature, t.item.id, t.condition, t.repeat) for t in ledger.trials(1, 24)]
        numbers = [row for batch in plan_batches(ledger) for row in batch]
    # item, condition, model, sampling, repeat
    block = [(1, 1, 0), (1, 1, 1), (1, 2, 0), (1, 2, 1), (2, 1, 0), (2, 1, 1), (2, 2, 0), (2, 2, 1)]
    names = [("oslo", "control", 0), ("oslo", "control", 1), ("oslo", "asch", 0), ("oslo", "asch", 1),
             ("größe-1", "control", 0), ("größe-1", "control", 1), ("größe-1", "asch", 0),
             ("größe-1", "asch", 1)]  # fmt: skip
    broken = "trials of older runs would be read as other trials. Keep the order, or raise SCHEMA_VERSION"
    assert rows == [
        (model, temperature, *row) for model, temperature in (("b", 0.0), ("b", 0.7), ("a", 0.7)) for row in names
    ], broken
    assert numbers == [
        (item, condition, model, sampling, repeat)
        for model, sampling in ((1, 1), (1, 2), (2, 2))
        for item, condition, repeat in block
    ], broken
