"""Own predictions and own probes, from files as people have them, to the report on a checkpoint."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend.cli import cli
from perpend.errors import DataError, PerpendError, SpecError
from perpend.rows.mapping import parse_map
from perpend.studies.verbs.checkpoint import ReportOptions, report_predictions
from perpend.studies.verbs.folder import CheckpointFolder
from perpend.studies.verbs.predictions import load_predictions
from perpend.studies.verbs.report import facts, page_of, parts_of
from tests.tables import table

PROBES = [
    {"id": 1, "prompt": "Yesterday I ___ home.", "candidates": ["walked", "walk"], "expected": "walked",
     "verb": "walk", "tense": "past_simple", "language": "en", "category": "core", "reason_code": "past_form"},
    {"id": 2, "prompt": "She ___ home.", "candidates": ["walks", "walk"], "expected": "walks", "verb": "walk"},
    {"id": 3, "prompt": "He ___ there.", "candidates": ["went", "goed"], "expected": "went",
     "category": "adversarial", "reason_code": "over_regularization"},
]  # fmt: skip


def verb(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(n: int = 40) -> list[dict[str, object]]:
    return [
        {"id": k, "confidence": round(0.5 + k / 2 / n, 4), "correct": int(k % 4 > 0), "part": "ab"[k % 2]}
        for k in range(n)
    ]


def probes_file(*bodies: object) -> str:
    Path("probes.jsonl").write_text("".join(json.dumps(body) + "\n" for body in bodies or PROBES))
    return "probes.jsonl"


def page(checkpoint: CheckpointFolder) -> str:
    return facts(checkpoint.provenance) + page_of(parts_of(checkpoint.numbers, None))


def test_predictions_come_as_any_table_with_a_map(folder: Path) -> None:
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    expected = load_predictions(Path("a.jsonl"))
    with Path("a.csv").open("w", newline="", encoding="utf-16") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["qid", "prob", "right", "part"])
        for row in rows():
            writer.writerow([row["id"], str(row["confidence"]).replace(".", ","), bool(row["correct"]), row["part"]])
    fields = parse_map("id=qid,confidence=prob,correct=right")
    assert load_predictions(Path("a.csv"), fields=fields) == expected
    Path("a.json").write_text(json.dumps({"model": "m", "rows": rows()}))
    assert load_predictions(Path("a.json")) == expected
    Path("b.json").write_text(json.dumps([{**row, "id": float(str(row["id"]))} for row in rows()]))
    assert load_predictions(Path("b.json")) == expected
    with pytest.raises(PerpendError, match="no row has the column 'x'"):
        load_predictions(Path("a.csv"), fields=parse_map("confidence=x"))


def test_whether_a_choice_is_right_follows_from_what_was_chosen_and_expected(folder: Path) -> None:
    Path("a.csv").write_text(
        "id,confidence,predicted,expected,candidates,probabilities\n1,.9,7,7,7|8,.9|.1\n"
        '2,0.6,8,7,"[7, 8]","[0.4, 0.6]"\n'
    )
    one, two = load_predictions(Path("a.csv"))
    assert (one.correct, two.correct, one.candidates, two.probabilities) == (True, False, ("7", "8"), (0.4, 0.6))


@pytest.mark.parametrize(
    "body",
    [
        {"core": "LIST", "adversarial": "TRICKS"},
        {"ece": 0.1, "predictions": "LIST", "adversarial": {"overall": {"n": 2}, "predictions": "TRICKS"}},
        {"predictions": "KEYED", "adversarial": {"by_probe": "TRICKS"}, "bins": [{"lo": 0.0, "hi": 0.1}]},
    ],
)
def test_the_results_of_a_lab_are_read_with_what_they_state(folder: Path, body: dict[str, object]) -> None:
    core = [{"id": f"p{k}", "predicted": "a", "expected": "ab"[k % 2], "confidence": 0.7} for k in range(4)]
    tricks = [{"id": "t", "predicted": "went", "expected": "went", "confidence": 0.6, "reason_code": "plural_or_oos"}]
    keyed = {str(row["id"]): {key: value for key, value in row.items() if key != "id"} for row in core}
    parts: dict[str, object] = {"LIST": core, "TRICKS": tricks, "KEYED": keyed}
    text = json.dumps({"checkpoint": "step-9", "step": 9, "provenance": {"checkpoint_hash": "ab", "seed": 3}, **body})
    for name, part in parts.items():
        text = text.replace(f'"{name}"', json.dumps(part))
    Path("results.json").write_text(text)
    one = report_predictions(Path("results.json"), ReportOptions(facts={"seed": 4}))
    assert one.name == "step-9"
    assert one.provenance == {"checkpoint_sha256": "ab", "training_step": 9, "seed": 4}
    assert [(choice.id, choice.correct, choice.category) for choice in one.choices] == [
        ("p0", True, "core"), ("p1", False, "core"), ("p2", True, "core"), ("p3", False, "core"),
        ("t", True, "adversarial"),
    ]  # fmt: skip


@pytest.mark.parametrize(*table("predictions_files_refused"))
def test_what_is_wrong_with_predictions_is_said_with_its_place(
    folder: Path, name: str, text: str, message: str
) -> None:
    Path(name).write_text(text)
    with pytest.raises(PerpendError, match=message):
        report_predictions(Path(name), ReportOptions())


def test_a_declared_reason_code_is_a_trick(folder: Path) -> None:
    Path("a.csv").write_text("id,confidence,correct,category,reason_code\n1,0.5,1,adversarial,negation\n2,0.5,1,,\n")
    one = report_predictions(Path("a.csv"), ReportOptions(declare="reason_code=negation"))
    assert [metric.where["reason_code"] for metric in one.numbers.find("trick_accuracy")] == ["negation"]
    for wrong, message in (("trick=x", "unknown field 'trick'"), ("reason_code", "write FIELD=VALUE")):
        with pytest.raises(SpecError, match=message):
            report_predictions(Path("a.csv"), ReportOptions(declare=wrong))


def test_probes_add_what_predictions_do_not_say(folder: Path) -> None:
    probes = (Path(probes_file()),)
    Path("a.csv").write_text("id,confidence,predicted\n1,0.8,walked\n3,0.6,goed\n")
    one = report_predictions(Path("a.csv"), ReportOptions(probes=probes))
    first, trick, absent = one.choices
    assert (first.correct, first.tags["verb"], first.candidates) == (True, "walk", ("walked", "walk"))
    assert (trick.correct, trick.category, trick.reason_code) == (False, "adversarial", "over_regularization")
    assert (absent.id, absent.unscored) == ("2", "no prediction")
    assert re.fullmatch("[0-9a-f]{64}", str(one.provenance["probes_sha256"]))
    Path("a.csv").write_text("id,confidence,predicted\n4,0.8,walked\n")
    with pytest.raises(DataError, match="a.csv:2: no probe is called '4'"):
        report_predictions(Path("a.csv"), ReportOptions(probes=probes))
    Path("a.csv").write_text("id,confidence,predicted,expected\n1,0.8,walked,walk\n")
    with pytest.raises(DataError, match="expected 'walk', but its probe says 'walked'"):
        report_predictions(Path("a.csv"), ReportOptions(probes=probes))


def test_the_report_of_own_data_speaks_of_nothing_that_is_not_in_it(folder: Path) -> None:
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    text = page(report_predictions(Path("a.jsonl"), ReportOptions()))
    words = ("verb", "dversarial", "erplexity", "trick", "ambiguous", "tokenizer", "Confusion", "core probe", "NA")
    assert [word for word in words if word in text.replace("checkpoint", "")] == []
    sections = re.split(r"^#+ .*$", text, flags=re.MULTILINE)
    assert all(section.strip() for section in sections)
    assert "Not given: checkpoint hash, training step, parent manifest, probe-set hash, date, seed, scoring" in text
    assert "10 bins of equal width, 5 of them empty, the smallest other one with 7." in text
    assert not re.search(r"smallest\D* 0\b", text)


def test_every_fact_of_the_report_is_a_flag_and_the_terminal_has_the_answer(folder: Path) -> None:
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    Path("model.pt").write_bytes(b"weights")
    Path("held.csv").write_text("id,language,loglik,tokens\n1,en,-3.5,4\n2,en,-4.5,5\n")
    done = verb(
        "checkpoint", "--predictions", "a.jsonl", "--name", "mine", "--step", "2000", "--hash", "model.pt",
        "--parent", "cd" * 32, "--probes-hash", "ef" * 32, "--date", "2026-01-31", "--seed", "7", "--scoring", "sum",
        "--held-out", "held.csv", "--bins", "5", "--out", "out",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    first, second, *_, last = done.output.splitlines()
    pattern = (
        r"mine: ECE 0\.\d{3} \[0\.\d{3}, 0\.\d{3}\], n = 40, 5 bins. A perfectly calibrated model would show 0\.\d{3}"
    )
    assert re.match(pattern, first)
    assert re.match(r"Calibration: .*\. Accuracy 0\.750 \[0\.\d{3}, 0\.\d{3}\]\.", second)
    assert last == "Report: out/mine/REPORT.md"
    assert len(done.output.splitlines()) <= 6
    report = Path("out/mine/REPORT.md").read_text()
    weights = hashlib.sha256(b"weights").hexdigest()
    stated = (f"Checkpoint hash: {weights}", "Training step: 2000", f"Parent manifest: {'cd' * 32}", "Seed: 7",
              f"Probe-set hash: {'ef' * 32}", "Date: 2026-01-31", "Scoring: sum", "Perplexity, overall")  # fmt: skip
    assert [line for line in stated if line not in report] == []
    assert "Not given" not in report
    assert json.loads(Path("out/mine/results.json").read_text())["n_bins"] == 5


def test_own_probes_are_asked_by_checkpoint_and_by_eval(folder: Path) -> None:
    probes = probes_file()
    done = verb(
        "checkpoint", "--model", "ngram/early", "--probes", probes, "--name", "own", "--bins", "4", "--out", "out"
    )
    assert done.exit_code == 0, done.output
    results = json.loads(Path("out/own/results.json").read_text())
    assert (results["n"], results["n_bins"], results["adversarial"]["overall"]["n"]) == (2, 4, 1)
    assert results["perplexity"] == {}
    flags = ["eval", "--task", "verbs", "--items", probes, "--model", "ngram/early", "--name", "own", "--quiet"]
    assert verb(*flags).exit_code == 0
    assert pp.Run("runs/own")["choice"].where(candidates="2", category="core").rate().n == 1
    assert verb("audit", "runs/own", "--quiet").exit_code == 0
    Path("p.csv").write_text("nr;text;forms;right\n1;She ___ home.;walks|walk;walks\n")
    csv_flags = ["eval", "--task", "verbs", "--items", "p.csv", "--model", "ngram/early", "--quiet"]
    assert verb(*csv_flags, "--map", "id=nr,prompt=text,candidates=forms,expected=right").exit_code == 0


@pytest.mark.parametrize(*table("probes_refused"))
def test_what_is_wrong_with_a_probe_is_said_with_its_place(
    folder: Path, change: dict[str, object], message: str
) -> None:
    good: dict[str, object] = {"id": 9, "prompt": "I ___ home.", "candidates": ["went", "go"], "expected": "went"}
    done = verb("eval", "--task", "verbs", "--items", probes_file({**good, **change}), "--model", "ngram/early")
    assert isinstance(done.exception, DataError)
    assert re.search(message, str(done.exception)), done.exception


def test_declared_values_are_part_of_the_run(folder: Path) -> None:
    probes = probes_file({**PROBES[1], "verb": "run", "category": "adversarial", "reason_code": "negation"})
    declare = "verb=run,reason_code=negation"
    flags = ["eval", "--task", "verbs", "--items", probes, "--model", "ngram/early", "--name", "own", "--quiet"]
    assert verb(*flags, "--option", f"declare={declare}").exit_code == 0
    assert json.loads(Path("runs/own/manifest.json").read_text())["task"]["options"] == {"declare": declare}
    assert verb("audit", "runs/own", "--quiet").exit_code == 0


def test_a_probe_of_ones_own_that_is_in_the_corpus_is_an_error(folder: Path) -> None:
    Path("corpus.txt").write_text("Yes: yesterday, I walked home!\n")
    flags = ["--model", "ngram/early", "--probes", probes_file(), "--corpus", "corpus.txt", "--out", "out"]
    done = verb("checkpoint", *flags)
    assert isinstance(done.exception, DataError)
    assert "probes.jsonl:1: probe '1' is at corpus.txt:1" in str(done.exception)


def test_flags_that_do_not_go_together_are_usage_errors(folder: Path) -> None:
    for flags in (
        [], ["--model", "ngram/early", "--predictions", "a"], ["--predictions", "a", "--raw"],
        ["--model", "ngram/early", "--held-out", "a"], ["--predictions", "a", "--bins", "0"],
    ):  # fmt: skip
        assert verb("checkpoint", *flags, "--out", "out").exit_code == 2
