from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perpend.cli import cli
from perpend.datasets.verbs.probes import CORE, CORPUS, load_probes
from perpend.errors import DataError


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both n-gram checkpoints, evaluated and compared."""
    out = tmp_path_factory.mktemp("checkpoints")
    for name in ("early", "final"):
        done = call("checkpoint", "--model", f"ngram/{name}", "--out", str(out))
        assert done.exit_code == 0, done.output
    done = call("compare", str(out / "early"), str(out / "final"), "--out", str(out))
    assert done.exit_code == 0, done.output
    (out / "verdict").write_text(done.output)
    return out


def results(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


def test_a_checkpoint_has_every_artefact_with_the_named_keys(checkpoints: Path) -> None:
    names = {path.name for path in (checkpoints / "final").iterdir()}
    assert {
        "results.json", "reliability.png", "adversarial_by_category.csv", "adversarial_by_category.png",
        "per_slice.csv", "per_slice.png", "REPORT.md",
    } <= names  # fmt: skip
    found = results(checkpoints / "final")
    assert {"ece", "brier", "n_bins", "min_bin_count"} <= found.keys()
    assert {"n", "correct", "accuracy", "wilson"} <= found["adversarial"]["overall"].keys()
    assert len(found["adversarial"]["by_category"]) == 6


def test_the_report_says_which_weights_and_which_probes(checkpoints: Path) -> None:
    page = (checkpoints / "final" / "REPORT.md").read_text()
    for fact in ("Checkpoint hash", "Training step: 5002", "Probe-set hash", "Perplexity, en", "per token"):
        assert fact in page


def test_more_training_is_found_to_be_better(checkpoints: Path) -> None:
    assert results(checkpoints / "final")["accuracy"] > results(checkpoints / "early")["accuracy"]
    assert (checkpoints / "verdict").read_text().startswith("final is better on accuracy")
    assert "early → final" in (checkpoints / "COMPARE.md").read_text()


def test_a_checkpoint_does_not_differ_from_itself(checkpoints: Path, tmp_path: Path) -> None:
    done = call("compare", str(checkpoints / "final"), str(checkpoints / "final"), "--out", str(tmp_path))
    assert "no detectable difference" in done.output.lower()


def test_summed_likelihoods_are_another_scoring(tmp_path: Path, checkpoints: Path) -> None:
    done = call("checkpoint", "--model", "ngram/final", "--raw", "--name", "raw", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "summed" in (tmp_path / "raw" / "REPORT.md").read_text()
    assert results(tmp_path / "raw")["ece"] != results(checkpoints / "final")["ece"]


def test_the_same_reports_come_from_predictions_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [{"id": f"p{n}", "confidence": 0.5 + n / 200, "correct": int(n % 4 > 0)} for n in range(80)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = call("checkpoint", "--predictions", str(path), "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert results(tmp_path / "mine")["accuracy"] == 0.75


def test_a_leaked_probe_is_an_error_that_names_it(tmp_path: Path) -> None:
    probe = load_probes(CORE)[0]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(f"Something else.\n{probe.sentence()}\n")
    done = call("checkpoint", "--model", "ngram/final", "--corpus", str(corpus), "--out", str(tmp_path))
    assert isinstance(done.exception, DataError)
    assert probe.id in str(done.exception)
    assert call("checkpoint", "--model", "ngram/final", "--corpus", str(CORPUS), "--out", str(tmp_path)).exit_code == 0


def test_a_model_or_a_file_must_be_given(tmp_path: Path) -> None:
    assert call("checkpoint", "--out", str(tmp_path)).exit_code == 2
