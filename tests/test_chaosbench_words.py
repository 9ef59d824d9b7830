"""chaosbench by the protocol's words: MCC of a constant model, strict_parsing, the prompt's hash, small subsets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perpend.studies.logic.chaosbench.packaged import committed
from perpend.studies.logic.chaosbench.sources import read_selector
from perpend.studies.logic.chaosbench.validate import content_gates, items_at
from tests.test_chaosbench_eval import manifest, metrics, the_run
from tests.test_chaosbench_items import chaosbench, data_set

SUBSET = ("--subset", "data/subsets/few.jsonl")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(data_set(tmp_path))
    return tmp_path


def test_the_mcc_of_a_constant_model_is_na_in_the_data_and_0_by_convention_in_every_report(root: Path) -> None:
    code, said = chaosbench("eval", "--provider", "mock", *SUBSET)
    assert code == 0, said
    run = the_run(root)
    assert metrics(run)["mcc"] is None
    for page in ("summary.md", "report.md"):
        text = (run / page).read_text()
        assert "NA (0 by convention)" in text, page
    assert "| MCC | NA (0 by convention) |" in (run / "summary.md").read_text()
    code, said = chaosbench("analyze-runs", "--runs-dir", "runs", "--out-dir", "out", "--include-failed")
    assert "NA (0 by convention)" in said.replace("\\", "")
    assert "0 by convention" not in (root / "out" / "baselines_table.csv").read_text()


@pytest.mark.parametrize(
    ("flags", "stated", "parser"),
    [
        ((), None, "label@4"),
        (("--strict-parsing",), True, "label@1"),
        (("--lenient",), False, "label_lenient@1"),
    ],
)
def test_strict_parsing_tells_the_parsers_apart(
    root: Path, flags: tuple[str, ...], stated: bool | None, parser: str
) -> None:
    # The last line says one thing and the pattern before it another: the reference's two rules differ on it.
    (root / "model.py").write_text("def answer(request):\n    return 'The answer is TRUE.\\nNot FALSE'\n")
    code, said = chaosbench("eval", "--provider", "callable", "--model", "model.py:answer", *SUBSET, *flags)
    assert code == 0, said
    run = the_run(root)
    body = manifest(run)
    assert (body["strict_parsing"], body["parser"]) == (stated, parser)
    rows = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    labels = {row["parsed_label"] for row in rows}
    if stated is not None:
        assert labels == {"FALSE" if stated else "TRUE"}


def test_a_command_prints_the_prompt_and_the_hash_that_a_run_states(root: Path) -> None:
    code, said = chaosbench("prompt")
    assert code == 0
    assert "Question: {question}" in said
    body = json.loads(chaosbench("prompt", "--json")[1])
    assert f"prompt_hash: {body['prompt_hash']}" in said
    chaosbench("eval", "--provider", "mock", *SUBSET, "--quiet")
    assert manifest(the_run(root))["prompt_hash"] == body["prompt_hash"]
    once = json.loads(chaosbench("prompt", "--retries", "0", "--json")[1])
    assert once["second_turn"] is None
    assert once["prompt_hash"] != body["prompt_hash"]


def test_validate_without_arguments_takes_the_packaged_set() -> None:
    frozen = json.loads((committed() / "v2_freeze_manifest.json").read_text())
    placed = items_at()
    assert len(placed) == frozen["canonical_total_questions"]
    assert "[the packaged set]" in " ".join(chaosbench("validate", "--help")[1].split())


@pytest.mark.parametrize("count", [1, 3])
def test_a_subset_of_one_item_fails_no_gate_that_is_meant_for_families(count: int) -> None:
    (path, *_) = read_selector().paths()
    placed = items_at(path)
    alike = [entry for entry in placed if entry[1]["ground_truth"] == "TRUE"][:count]
    gates = {gate.gate: gate for gate in content_gates(alike)}
    assert gates["family degeneracy"].passed, gates["family degeneracy"].detail
    assert gates["label balance by family"].passed
    assert "too few to tell" in gates["family degeneracy"].detail
    assert not gates["label balance"].passed, "the set as a whole is another matter"
