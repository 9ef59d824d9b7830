"""The benchmark against the reference's real files, and the run plan's commands as they are written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from perpend.measure.run import Run
from perpend.studies.logic.chaosbench.analyze import analyze
from perpend.studies.logic.chaosbench.check import acceptance, examine
from perpend.studies.logic.chaosbench.runs import read_run_folder
from perpend.studies.logic.chaosbench.sets import (
    FAMILIES,
    FileDigest,
    Sampler,
    counted,
    draw,
    global_sha256,
    lines_of,
    load_records,
)
from perpend.studies.logic.chaosbench.validate import attacks, majorities
from tests.conftest import ROOT
from tests.servers import Received, Reply, serve
from tests.test_chaosbench_items import data_set, record, without

Bash: TypeAlias = Callable[..., str]
REFERENCE = ROOT / ".." / "shared" / "data" / "chaosbench"
needs_reference = pytest.mark.skipif(not REFERENCE.is_dir(), reason="the reference's files are not there (shared/data)")
DATA = REFERENCE / "data"
RUN = REFERENCE / "runs" / "20260220T145642Z_ollama_qwen2.5-14b"
CANONICAL = "cfcfcc739988ad99c38d47dd171ff39f67df3ddca7d8d452e8c77b30f14e7279"
LEGACY = "00ec17e31193de42c525ff3c8f166b4b59fae2c2631fa84a4c78b33fb01f9374"
FILES = {
    "cross_indicator": (67, "a03d1594a99e9a7b996d51eb57971d4b41a07554f3cba90da65d57d403e56ab7"),
    "extended_systems": (45, "49a5f675312af895faf54e6e9a7bc35141107d1f57bfced99b9b03108485ae3b"),
    "fol_inference": (1758, "548da0e9a2f801c98f0c1e0daacc9bf6708d196ab0a9acf0f8b4b4d727b785da"),
    "indicator_diagnostics": (530, "eeb4e96000ee87a6856ed529befadb4f7690d4300eb815bc23056462f50da415"),
    "regime_transition": (68, "2e63ebbee85c1763a443e2f2e480051a2f91537746113cd3cdb328e67223f8d0"),
}
# The run plan's loop over the families, word for word but for the provider: no test has that model.
FAMILY_LOOP = """
for family in adversarial atomic consistency_paraphrase cross_indicator \\
    extended_systems fol_inference indicator_diagnostics multi_hop \\
    perturbation_robustness regime_transition; do
  chaosbench eval --provider mock --model subject \\
    --subset data/subsets/subset_family_suites/${family}.jsonl --workers 2 --seed 42
done
"""


@pytest.fixture
def bash(tmp_path: Path) -> Bash:
    """Runs a script in a folder with `chaosbench` on the path; returns what it printed."""
    command = tmp_path / "bin" / "chaosbench"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m perpend.cli.chaosbench \"$@\"\n")
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"

    def run(script: str, folder: Path, code: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-euc", script],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    return run


@needs_reference
@pytest.mark.parametrize("family", FILES)
def test_the_files_have_the_published_digests_and_round_trip(family: str) -> None:
    path = DATA / f"v22_{family}.jsonl"
    assert counted(path) == FILES[family]
    records = load_records([path])
    assert lines_of(records).encode() == path.read_bytes()


@needs_reference
def test_the_published_digests_of_the_files_give_the_published_global_ones() -> None:
    batches = json.loads((DATA / "v2_manifest.json").read_text())["batches"]
    files = [FileDigest(f"data/{stem}.jsonl", entry["count"], entry["sha256"]) for stem, entry in batches.items()]
    assert (global_sha256(files), global_sha256(files, legacy=True)) == (CANONICAL, LEGACY)


@needs_reference
@pytest.mark.parametrize("family", FILES)
def test_the_family_suites_come_out_byte_for_byte(family: str) -> None:
    published = DATA / "subsets" / "subset_family_suites" / f"{family}.jsonl"
    then = json.loads(published.with_suffix(".manifest.json").read_text())
    sampler = Sampler(456, balance_families=False)
    stated = {"created_utc": then["created_utc"], "subset_name": family, "source": f"data/v22_{family}.jsonl"}
    records = load_records([DATA / f"v22_{family}.jsonl"])
    chosen, now = draw(records, sampler, {**stated, "dataset_global_sha256": CANONICAL})
    assert lines_of(chosen).encode() == published.read_bytes()
    assert json.dumps(now) == json.dumps(then)


@needs_reference
def test_the_armored_quotas_are_the_published_ones() -> None:
    then = json.loads((DATA / "subsets" / "subset_1k_armored.manifest.json").read_text())
    # Its items are not all here, but their numbers are: quotas and labels do not depend on anything else.
    pool = [
        {"id": f"{family}{label}{n}", "type": family, "ground_truth": label}
        for family, entry in then["per_family_sampling_log"].items()
        for label in ("TRUE", "FALSE")
        for n in range(entry[f"{label.lower()}_available"])
    ]
    stated = {"subset_name": "subset_1k_armored", "source": "canonical", "dataset_global_sha256": CANONICAL}
    _, now = draw(pool, Sampler(1000), stated)
    assert now["per_family_sampling_log"] == then["per_family_sampling_log"]
    assert now["per_family_counts"] == then["per_family_counts"]
    assert {key: then[key] for key in now if key not in ("sha256",)} == without(now, "sha256")


@needs_reference
def test_freezing_what_is_there_gives_the_digests(tmp_path: Path, bash: Bash) -> None:
    data = tmp_path / "set" / "data"
    data.mkdir(parents=True)
    for family in FILES:
        (data / f"v22_{family}.jsonl").write_bytes((DATA / f"v22_{family}.jsonl").read_bytes())
    said = bash("chaosbench freeze --make-selector", tmp_path / "set")
    for family, (count, sha256) in FILES.items():
        assert f"{sha256}  data/v22_{family}.jsonl  (count={count})" in said
    assert "total: 2468" in said


@needs_reference
def test_the_real_run_recomputes_from_its_predictions() -> None:
    found = examine(RUN)
    assert not any(check.differ for check in found.checks)
    body = found.body
    assert body is not None
    assert body["confusion"] == {"tp": 1569, "fp": 540, "tn": 1962, "fn": 929}
    stored = json.loads((RUN / "metrics.json").read_text())
    for key in ("coverage", "accuracy_valid", "effective_accuracy", "balanced_accuracy", "mcc"):
        assert round(body[key], 4) == stored[key]  # type: ignore[call-overload]
    families = body["per_family"]
    assert isinstance(families, dict)
    for family, numbers in stored["per_family"].items():
        assert {key: families[family][key] for key in numbers} == numbers
    assert families["regime_transition"]["low_support"] is True
    assert families["multi_hop"]["bias_verdict"] == "LABEL-BIASED"


@needs_reference
def test_the_real_run_s_acceptance_is_told_line_by_line() -> None:
    lines = {check.gate: check.passed for check in acceptance(RUN, DATA / "canonical_v2_files.json")}
    assert lines == {
        "dataset SHA equals the freeze": False,  # five of its ten files are not here
        "prompt hash is this code's": False,
        "invalid rate at most 0.05": True,
        "coverage present and at least 0.95": True,
        "predictions are there": True,
        "every id once": True,
        "every planned item was asked": True,
        "predictions recompute": True,
        "metrics recompute": True,
        "summary recomputes": True,
    }


@needs_reference
def test_the_real_run_is_imported_and_scored(tmp_path: Path) -> None:
    run = Run(read_run_folder(RUN, tmp_path / "imported"))
    run.score(["label@1"])
    assert run["label@1"].rate().value == 3531 / 5000
    assert run["label@1"].disagreement(run["stored_label"]).value == 0.0


@needs_reference
def test_a_shortcut_stands_beside_the_real_run_and_words_alone_are_above_it() -> None:
    subset = DATA / "subsets" / "subset_1k_armored.jsonl"
    found = analyze(RUN.parent, items=[subset], include_failed=True)
    assert not found.errors
    (base,) = found.baselines
    blind = {entry.name: entry.overall for entry in base.shortcuts}["template majority, system masked"]
    assert (blind["balanced_accuracy"].lo or 0.0) > 0.55
    words = {entry.name: entry for entry in attacks(load_records([subset]))}["words 1-3, groups held out"]
    model = found.runs[0].measured
    assert model is not None
    assert (words.overall["balanced_accuracy"].lo or 0.0) > (model.value("balanced_accuracy") or 1.0)
    assert not words.as_gate().passed


@needs_reference
def test_sentence_form_alone_answers_the_reference_s_inference_family() -> None:
    records = load_records([DATA / "v22_fol_inference.jsonl"])
    values = {entry.name: entry.overall["balanced_accuracy"].value for entry in majorities(records) if not entry.note}
    assert (values["template majority, system masked"] or 0.0) > 0.95


def plan(root: Path) -> Path:
    """A small data set in the run plan's layout."""
    data_set(root, FAMILIES, 24)
    lines = [json.dumps(record(n, family)) + "\n" for family in FAMILIES for n in range(24)]
    suites = root / "data" / "subsets" / "subset_family_suites"
    suites.mkdir()
    for number, family in enumerate(FAMILIES):
        (suites / f"{family}.jsonl").write_text("".join(lines[24 * number : 24 * number + 24]))
    for name in ("subset_1k_armored", "subset_5k_armored"):
        (root / "data" / "subsets" / f"{name}.jsonl").write_text("".join(lines))
    return root


def test_the_commands_of_the_run_plan_work_as_written(tmp_path: Path, bash: Bash) -> None:
    root = plan(tmp_path / "set")
    bash("chaosbench eval --provider mock --subset data/subsets/subset_1k_armored.jsonl --max-items 50", root)
    bash(FAMILY_LOOP, root)
    runs = sorted((root / "runs").iterdir())
    assert len(runs) == 11
    said = bash(
        f"chaosbench publish-run --run runs/{runs[0].name}; chaosbench publish-run --run runs/{runs[1].name}", root
    )
    assert said.count("published: ") == 2
    bash("chaosbench analyze-runs --runs-dir published_results/runs --out-dir artifacts/runs_audit", root)
    assert len(json.loads((root / "artifacts/runs_audit/summary.json").read_text())["runs"]) == 2


def test_a_real_server_is_asked_by_the_run_plan_s_flags(tmp_path: Path, bash: Bash) -> None:
    root = plan(tmp_path / "set")

    def script(received: Received) -> Reply:
        if received.path == "/api/version":
            return Reply(json.dumps({"version": "0.5.4"}).encode())
        if received.path == "/api/tags":
            entry = {"name": "deepseek-r1:14b", "digest": "abc", "details": {"quantization_level": "Q4"}}
            return Reply(json.dumps({"models": [entry]}).encode())
        assert isinstance(received.body, dict)
        reasons = received.number % 2
        said = "<think>Let me see" if reasons else "TRUE"
        done = {"done": True, "done_reason": "length" if reasons else "stop", "eval_count": 256 if reasons else 2}
        return Reply(json.dumps({"message": {"content": said}, "prompt_eval_count": 60, **done}).encode())

    with serve(script) as server:
        flags = "--provider ollama --model deepseek-r1:14b --workers 2 --seed 42 --max-tokens 256"
        bash(f"chaosbench eval {flags} --subset data/subsets/subset_5k_armored.jsonl --base-url {server.url}", root)
        asked = [received.body for received in server.received if received.path == "/api/chat"]
    (run,) = (root / "runs").iterdir()
    assert run.name.endswith("_ollama_deepseek-r1-14b")
    body = json.loads((run / "run_manifest.json").read_text())
    assert (body["model"]["digest"], body["workers"], body["max_tokens"]) == ("abc", 2, 256)
    numbers = json.loads((run / "metrics.json").read_text())
    assert numbers["errors"] == numbers["invalid"] == 0
    assert numbers["unfinished"] == numbers["valid"] == 120
    assert isinstance(numbers["token_budget"]["needed_max_tokens"], float)
    first = asked[0]
    assert isinstance(first, dict)
    assert first["options"]["num_predict"] == 256
    assert isinstance(first["options"]["seed"], int)
    assert server.url not in json.dumps(body)
    assert "FAIL  coverage" in bash(f"chaosbench publish-run --run runs/{run.name}", root, code=6)


def test_the_same_run_twice_gives_the_same_predictions(tmp_path: Path, bash: Bash) -> None:
    root = plan(tmp_path / "set")
    for out in ("one", "two"):
        bash(f"chaosbench eval --provider mock --model subject --dataset canonical --output-dir {out}", root)
    (one,), (two,) = (root / "one").iterdir(), (root / "two").iterdir()
    lines = [(run / "predictions.jsonl").read_text().splitlines() for run in (one, two)]
    rows = [[without(json.loads(line), "latency_s") for line in found] for found in lines]
    assert rows[0] == rows[1]
