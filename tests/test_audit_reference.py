"""The reference studies' own files through convert, analyze, publish and audit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perpend._convert import convert
from perpend.measure.run import Run
from perpend.proof.audit import Options, audit, audit_run
from perpend.proof.publish import publish
from perpend.report.derive import derive
from tests.conftest import ROOT

DATA = ROOT / ".." / "shared" / "data"
CHAOSBENCH = DATA / "chaosbench" / "runs"
ROWS = DATA / "conformity" / "real_outputs_t0.jsonl"
READERS = DATA / "conformity" / "human_endorsement_labels_t0.jsonl"


def scored(directory: Path) -> Path:
    run = Run(directory)
    run.score()
    derive([Run(directory)], directory, figures=False)
    return directory


def differing(folder: Path) -> list[str]:
    (outcome,) = audit([folder], Options())
    assert any(check.checked for check in outcome.checks)
    return [f"{check.name}: {check.first}" for check in outcome.checks if check.differ]


@pytest.mark.skipif(not CHAOSBENCH.is_dir(), reason="chaosbench's run folders are not beside this checkout")
def test_a_run_folder_of_chaosbench_is_converted_published_and_passes(tmp_path: Path) -> None:
    source = next(path for path in sorted(CHAOSBENCH.iterdir()) if path.is_dir())
    run = scored(convert(source, tmp_path / "runs" / "chaos"))
    (published,) = publish([run], tmp_path / "published", {})
    assert differing(run) == []
    assert differing(published.folder) == []


@pytest.mark.skipif(not ROWS.is_file(), reason="the conformity study's rows are not beside this checkout")
def test_the_rows_of_the_conformity_study_are_converted_published_and_pass(tmp_path: Path) -> None:
    run = scored(convert(ROWS, tmp_path / "runs" / "all"))
    assert differing(run) == []
    # Of the opinions only, whose figures are few: a study of facts draws dozens.
    opinions = [line for line in ROWS.read_text().splitlines() if json.loads(line)["ground_truth"] is None]
    (tmp_path / "opinions.jsonl").write_text("\n".join(opinions) + "\n")
    run = scored(convert(tmp_path / "opinions.jsonl", tmp_path / "runs" / "opinions"))
    (published,) = publish([run], tmp_path / "published", {})
    assert differing(published.folder) == []


@pytest.mark.skipif(
    not (ROWS.is_file() and READERS.is_file()), reason="the readers' labels are not beside this checkout"
)
def test_readers_of_real_answers_agree_more_with_the_second_rule_than_with_the_first(tmp_path: Path) -> None:
    run = scored(convert(ROWS, tmp_path / "run"))
    table = Run(run).table
    lines = []
    for line in READERS.read_text().splitlines():
        row = json.loads(line)
        place = {"item": row["item_id"], "condition": row["condition"], "model": row["variant"]}
        unsure = row["human_W"] not in (0, 1)
        if unsure or not all(value in table.names[key] for key, value in place.items()):
            continue
        if table.mask(place).sum() == 1:
            lines.append(json.dumps({**place, "scorer": "endorsed", "value": row["human_W"]}) + "\n")
    assert lines
    (run / "labels.jsonl").write_text("".join(lines))
    outcome = audit_run(run)
    assert outcome.ok
    first, second = outcome.labels
    assert (first.scorer, second.scorer) == ("endorsed@1", "endorsed@2")
    assert first.precision.value is not None
    assert second.precision.value is not None
    assert second.precision.value > first.precision.value
