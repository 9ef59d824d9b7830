"""publish-run and analyze-runs: what is refused, what is published, what the audit of runs says."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from perpend.errors import DataError, StoreError
from perpend.measure.run import Run
from perpend.studies.logic.chaosbench.analyze import analyze, compare_runs, write_audit
from perpend.studies.logic.chaosbench.check import acceptance
from perpend.studies.logic.chaosbench.runs import read_run_folder
from perpend.studies.logic.metrics import Prediction
from tests.test_chaosbench_items import chaosbench, data_set

SELECTOR = Path("data/canonical_v2_files.json")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small data set with one run of a mock, and the current directory in it."""
    monkeypatch.chdir(data_set(tmp_path))
    assert chaosbench("eval", "--provider", "mock", "--model", "subject", "--dataset", "canonical")[0] == 0
    return tmp_path


@pytest.fixture
def run(root: Path) -> Path:
    (found,) = (root / "runs").iterdir()
    return found


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def reference_run(folder: Path, rows: list[dict[str, object]], **manifest: object) -> Path:
    """A run folder as the reference writes it: no tags, no confusion counts, rounded numbers."""
    folder.mkdir(parents=True)
    valid = [row for row in rows if row["outcome"] != "INVALID"]
    right = [row for row in valid if row["correct"]]
    body = {
        "run_id": "20260101T000000Z_ollama_tiny:1b",
        "provider": "ollama/tiny:1b",
        "total_items_evaluated": len(rows),
    }
    (folder / "run_manifest.json").write_text(json.dumps({**body, **manifest}))
    (folder / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    numbers = {"total": len(rows), "valid": len(valid), "accuracy_valid": round(len(right) / len(valid), 4)}
    (folder / "metrics.json").write_text(json.dumps(numbers))
    return folder


def row(number: int, truth: str, label: str | None, **more: object) -> dict[str, object]:
    return {
        "id": f"item-{number}",
        "question": f"Is number {number} so?",
        "ground_truth": truth,
        "pred_text": label or "Unknown",
        "parsed_label": label,
        "outcome": f"VALID_{label}" if label else "INVALID",
        "correct": None if label is None else label == truth,
        "latency_s": 0.1,
        "task_family": "multi_hop" if number % 2 else "atomic",
        "split": None,
        "retry_pred_text": None,
        "retry_outcome": None,
        "meta": {"parse_reason": "final line token", "parse_confidence": 0.9},
        **more,
    }


ROWS = [row(n, "TRUE" if n % 3 else "FALSE", "TRUE" if n % 5 else "FALSE") for n in range(60)]


def test_an_accepted_run_is_published_with_its_predictions(root: Path, run: Path) -> None:
    code, said = chaosbench("publish-run", "--run", run)
    assert code == 0, said
    assert "FAIL" not in said
    to = root / "published_results" / "runs" / run.name
    data = gzip.decompress((to / "predictions.jsonl.gz").read_bytes())
    assert data == (run / "predictions.jsonl").read_bytes()
    receipt = json.loads((to / "publish_receipt.json").read_text())
    assert set(receipt["files_sha256"]) == {"run_manifest.json", "metrics.json", "summary.md", "predictions.jsonl.gz"}
    assert all(check["passed"] for check in receipt["checks"])
    assert run.name in (root / "published_results" / "runs" / "README.md").read_text()
    for path in to.iterdir():
        assert str(root).encode() not in path.read_bytes()


def test_publishing_again_needs_force_gives_the_same_bytes_and_is_never_onto_itself(root: Path, run: Path) -> None:
    chaosbench("publish-run", "--run", run)
    path = root / "published_results" / "runs" / run.name / "predictions.jsonl.gz"
    before = path.read_bytes()
    code, said = chaosbench("publish-run", "--run", run)
    assert (code, "is published already" in said) == (5, True)
    assert chaosbench("publish-run", "--run", run, "--force")[0] == 0
    code, said = chaosbench("publish-run", "--run", path.parent, "--force")
    assert (code, "is a published run itself" in said, path.read_bytes() == before) == (5, True, True)


@pytest.mark.parametrize(
    ("line", "file", "change_to"),
    [
        ("dataset SHA equals the freeze", "run_manifest.json", {"dataset_global_sha256": "0" * 64}),
        ("prompt hash is this code's", "run_manifest.json", {"prompt_hash": "0" * 16}),
        ("invalid rate at most 0.05", "metrics.json", {"invalid_rate": 0.06}),
        ("coverage present", "metrics.json", {"coverage": None}),
        ("coverage present", "metrics.json", {"coverage": 0.94}),
        ("every planned item was asked", "run_manifest.json", {"status": "stopped: interrupted"}),
        ("metrics recompute", "metrics.json", {"mcc": 0.9}),
    ],
)
def test_a_run_that_fails_one_line_is_refused_with_it(
    root: Path, run: Path, line: str, file: str, change_to: dict[str, object]
) -> None:
    change(run / file, **change_to)
    code, said = chaosbench("publish-run", "--run", run)
    assert code == 6
    assert f"FAIL  {line}" in said
    assert not (root / "published_results").exists()


def test_a_changed_data_set_is_refused(root: Path, run: Path) -> None:
    path = root / "data" / "v22_atomic.jsonl"
    path.write_text(path.read_text().replace("chaotic", "Chaotic", 1))
    failed = [check.gate for check in acceptance(run, SELECTOR) if not check.passed]
    assert failed == ["dataset SHA equals the freeze"]


def test_predictions_that_are_not_there_occur_twice_or_contradict_themselves_are_found(run: Path) -> None:
    path = run / "predictions.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], lines[0]]) + "\n")
    assert "every id once" in [check.gate for check in acceptance(run, SELECTOR) if not check.passed]
    path.write_text(lines[0].replace('"outcome": "VALID_', '"outcome": "INVALID", "was": "'))
    assert "predictions recompute" in [check.gate for check in acceptance(run, SELECTOR) if not check.passed]
    path.unlink()
    code, said = chaosbench("publish-run", "--run", run)
    assert (code, "FAIL  predictions are there" in said) == (6, True)


def test_the_audit_reads_published_runs_and_writes_every_file(root: Path, run: Path) -> None:
    chaosbench("publish-run", "--run", run)
    code, said = chaosbench("analyze-runs", "--runs-dir", "published_results/runs", "--out-dir", "artifacts/audit")
    assert code == 0, said
    out = root / "artifacts" / "audit"
    assert {path.name for path in out.iterdir()} == {
        "summary.json",
        "RUNS_AUDIT.md",
        "baselines_table.csv",
        "baselines_table.md",
        "baselines_table.tex",
        "baselines_by_family.csv",
        "balanced_accuracy.png",
        "tpr_tnr.png",
    }
    (first,) = json.loads((out / "summary.json").read_text())["runs"]
    assert (first["is_canonical_run"], first["is_full_run"], first["errors"]) == (True, True, [])
    assert sum(first["confusion"].values()) == 120
    with (out / "baselines_table.csv").open() as file:
        table = list(csv.DictReader(file))
    assert table[0]["run_id"] == run.name
    assert {entry["provider"] for entry in table[1:]} == {"shortcut"}
    with (out / "baselines_by_family.csv").open() as file:
        assert [(entry["family"], entry["low_support"]) for entry in csv.DictReader(file)] == [
            ("atomic", "True"),
            ("multi_hop", "True"),
        ]


def test_the_reference_s_folders_are_read_and_checked(tmp_path: Path) -> None:
    reference_run(tmp_path / "runs" / "a", ROWS)
    found = analyze(tmp_path / "runs", selector=tmp_path / "none.json", include_failed=True)
    (only,) = found.runs
    assert not found.errors
    assert [check.gate for check in only.acceptance if not check.passed] == [
        "dataset SHA equals the freeze",
        "prompt hash is this code's",
    ]
    assert only.measured is not None
    assert only.names == {"provider": "ollama", "model": "tiny:1b"}
    assert str(only.measured.counts["clustered_by"]).startswith("nothing")
    write_audit(found, tmp_path / "out")
    page = (tmp_path / "out" / "RUNS_AUDIT.md").read_text()
    assert "| every id once | pass |" in page
    assert "no readable selector none.json" in page
    assert str(tmp_path) not in page


def test_names_from_a_run_stay_text_in_every_table(tmp_path: Path) -> None:
    reference_run(tmp_path / "runs" / "a", ROWS, provider="=cmd|x/a_b&50%<b>")
    found = analyze(tmp_path / "runs", selector=tmp_path / "none.json", include_failed=True)
    write_audit(found, tmp_path / "out")
    assert r"a\_b\&50\%" in (tmp_path / "out" / "baselines_table.tex").read_text()
    assert r"a\_b\&50%\<b\>" in (tmp_path / "out" / "baselines_table.md").read_text()
    assert ",'=cmd|x," in (tmp_path / "out" / "baselines_table.csv").read_text()


def test_an_error_in_a_run_is_a_fail_and_a_non_zero_exit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = reference_run(tmp_path / "runs" / "a", ROWS)
    change(folder / "metrics.json", accuracy_valid=0.99)
    reference_run(tmp_path / "runs" / "b", ROWS)
    (tmp_path / "runs" / "b" / "predictions.jsonl").unlink()
    code, said = chaosbench("analyze-runs", "--out-dir", "out")
    assert code == 6
    assert "metrics recompute: accuracy_valid 0.99" in said
    assert "predictions are there: no predictions.jsonl" in said
    assert (tmp_path / "out" / "RUNS_AUDIT.md").read_text().count("| FAIL |") >= 2


def test_a_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    code, said = chaosbench("analyze-runs", "--runs-dir", tmp_path, "--out-dir", tmp_path / "out")
    assert (code, "holds a run_manifest.json" in said) == (3, True)


def test_item_files_add_systems_and_shortcuts(root: Path, tmp_path: Path) -> None:
    items = [json.loads(line) for line in (root / "data/v22_atomic.jsonl").read_text().splitlines()]
    rows = [
        row(n, item["ground_truth"], "TRUE", id=item["id"], question=item["question"]) for n, item in enumerate(items)
    ]
    reference_run(tmp_path / "old" / "a", rows)
    found = analyze(tmp_path / "old", items=[Path("data/v22_atomic.jsonl")], selector=SELECTOR, include_failed=True)
    assert found.runs[0].measured is not None
    assert str(found.runs[0].measured.counts["clustered_by"]).startswith("30 groups")
    assert found.baselines[0].items == "v22_atomic.jsonl"
    assert "template majority, system masked" in [entry.name for entry in found.baselines[0].shortcuts]


def pred(number: int, label: str, group: str = "") -> Prediction:
    outcome = "VALID_TRUE" if label == "TRUE" else "VALID_FALSE"
    tags = {"group": group} if group else {}
    return Prediction(str(number), f"q{number}", "TRUE" if number % 2 else "FALSE", outcome, "f", tags=tags)


def test_two_runs_on_the_same_items_are_compared_in_pairs() -> None:
    good = [pred(n, "TRUE" if n % 2 else "FALSE") for n in range(100)]
    bad = [pred(n, "TRUE") for n in range(100)]
    some = [pred(n, "TRUE" if n % 2 and n % 7 else "FALSE") for n in range(100)]
    found = {(c.first, c.second): c for c in compare_runs({"bad": bad, "good": good, "some": some, "few": good[:9]})}
    assert set(found) == {("bad", "good"), ("bad", "some"), ("good", "some")}
    best = found["bad", "good"]
    assert best.balanced_accuracy_difference.value == 0.5
    assert best.p is not None
    assert best.p_holm is not None
    assert best.p < best.p_holm < 1e-6
    assert best.mcc_difference.note == "undefined for the first classifier"


def test_pairs_of_one_base_fact_count_once() -> None:
    rows = [(pred(n, "TRUE", f"g{n // 10}"), pred(n, "TRUE" if n % 2 else "FALSE", f"g{n // 10}")) for n in range(100)]
    (clustered,) = compare_runs({"a": [one for one, _ in rows], "b": [other for _, other in rows]})
    assert clustered.p is not None
    assert clustered.p > 1e-4


def test_a_reference_run_becomes_a_run_of_perpend(tmp_path: Path) -> None:
    again = row(60, "TRUE", "TRUE", retry_pred_text="TRUE", retry_outcome="VALID_TRUE")
    twice = row(61, "TRUE", None, retry_pred_text="Still unknown", retry_outcome="INVALID")
    source = reference_run(tmp_path / "a", [*ROWS, again, twice])
    run = Run(read_run_folder(source, tmp_path / "imported"))
    run.score()
    assert run.status()["answered"] == 62
    assert run["label@1"].disagreement(run["stored_label"]).value == 0.0
    assert run["label@1"].rate().also["unscored"] == 1
    assert run.table.values("type") == ("atomic", "multi_hop")
    found = analyze(tmp_path / "imported", selector=tmp_path / "none.json", include_failed=True)
    assert found.runs[0].measured is not None
    assert found.runs[0].measured.count("total") == 62
    with pytest.raises(StoreError, match="exists already"):
        read_run_folder(source, tmp_path / "imported")
    code, said = chaosbench("eval", "--resume", tmp_path / "imported")
    assert (code, "cannot be resumed" in said) == (5, True)


def test_an_import_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    source = reference_run(tmp_path / "a", [*ROWS, row(60, "TRUE", "TRUE", question=" ")])
    with pytest.raises(DataError, match="'prompt' is missing or blank"):
        read_run_folder(source, tmp_path / "runs" / "imported")
    assert not (tmp_path / "runs").exists()


def test_a_run_that_fails_a_criterion_is_left_out_of_the_results(root: Path, run: Path) -> None:
    (root / "vague.py").write_text("def answer(request):\n    return 'It may be so.'\n")
    flags = ("--provider", "callable", "--model", "vague.py:answer", "--subset", "data/subsets/few.jsonl")
    assert chaosbench("eval", *flags, "--quiet")[0] == 0
    vague = next(folder for folder in (root / "runs").iterdir() if folder != run)
    code, said = chaosbench("analyze-runs", "--out-dir", "without")
    assert code == 0, said
    assert f"left out: {vague.name}: invalid rate at most 0.05, coverage present" in said
    assert "2 runs, 1 not accepted, 0 errors" in said
    body = json.loads((root / "without" / "summary.json").read_text())
    assert (body["runs_accepted"], body["runs_failed"], body["runs_left_out"]) == (1, 1, [vague.name])
    assert [one["accepted"] for one in body["runs"]] == [True, False]
    page = (root / "without" / "RUNS_AUDIT.md").read_text()
    assert "1 accepted, 1 not accepted, 1 left out of the results" in page
    for name in ("baselines_table.csv", "baselines_table.md", "baselines_table.tex", "baselines_by_family.csv"):
        assert "vague" not in (root / "without" / name).read_text()
    assert not body["comparisons"]


def test_include_failed_shows_such_a_run_marked_in_every_table(root: Path, run: Path) -> None:
    del run
    flags = ("--provider", "mock", "--model", "subject", "--subset", foreign(root))
    assert chaosbench("eval", *flags, "--quiet")[0] == 0
    code, said = chaosbench("analyze-runs", "--include-failed", "--out-dir", "with")
    assert code == 0, said
    out = root / "with"
    for name in ("baselines_table.csv", "baselines_by_family.csv"):
        with (out / name).open() as file:
            rows = [row for row in csv.DictReader(file) if row["provider"] != "shortcut"]
        assert list(rows[0])[-1] == "accepted"
        assert {row["accepted"] for row in rows} == {"yes", "no: dataset SHA equals the freeze"}
    for name in ("baselines_table.md", "baselines_table.tex"):
        assert "no: dataset SHA" in (out / name).read_text().replace("\\", "")
    assert "(not accepted) by family and split" in (out / "RUNS_AUDIT.md").read_text()


def foreign(root: Path) -> Path:
    """An item file whose items are not in the canonical set."""
    path = root / "data" / "subsets" / "foreign.jsonl"
    rows = [json.loads(line) for line in (root / "data/subsets/few.jsonl").read_text().splitlines()]
    path.write_text("".join(json.dumps({**row, "id": f"other-{row['id']}"}) + "\n" for row in rows))
    return path
