from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perpend.ask.runner import evaluate
from perpend.cli import cli
from perpend.errors import DataError
from perpend.ledger.items import load_items
from perpend.measure.run import Run
from perpend.measure.study import numbers_of, read_metrics
from perpend.proof.audit import audit_run
from perpend.report.derive import derive
from perpend.spec.runspec import Limits, ModelSpec, RunSpec
from perpend.studies.verbs.checkpoint import checkpoint_in, compared_checkpoints
from perpend.studies.verbs.compare import compare
from perpend.studies.verbs.folder import load_checkpoint, write_checkpoint
from perpend.studies.verbs.probes import CORE, CORPUS


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


def test_results_json_states_the_numbers_of_the_run_s_metrics_json(checkpoints: Path) -> None:
    run = checkpoints / "runs" / "verbs-final"
    numbers = numbers_of(read_metrics(run), [])
    body = results(checkpoints / "final")

    def stated(name: str, **where: str) -> object:
        return numbers.cite(name, "choice@1", model="final", **where).as_json()

    names = ("accuracy", "ece", "brier", "confidence_minus_accuracy", "ece_above_chance", "brier_multiclass_sum")
    assert {name: body["estimates"][name] for name in names} == {name: stated(name, category="core") for name in names}
    for cell in body["slices"]:
        place = {"slice": cell["slice"], "value": cell["value"]}
        assert cell["accuracy"] == stated("slice_accuracy", **place)
        assert cell["difference_from_the_rest"] == stated("slice_difference", **place)
    assert len(body["adversarial"]["by_category"]) == 6
    for code, one in body["adversarial"]["by_category"].items():
        trick = numbers.cite("trick_accuracy", "choice@1", reason_code=code)
        assert [one["n"], one["correct"], *one["wilson"]] == [trick.n, trick.also["k"], trick.lo, trick.hi]
    bins = [numbers.cite("reliability", "choice@1", category="core", bin=str(n)) for n in range(10)]
    assert [(one["count"], one["accuracy"]) for one in body["estimates"]["reliability"]] == [
        (one.n, one.value) for one in bins
    ]
    assert numbers.find("perplexity") == []
    assert "`perpend audit` does not recompute it" in (checkpoints / "final" / "REPORT.md").read_text()


def test_the_tables_of_the_run_are_those_of_the_report_folder(checkpoints: Path) -> None:
    for name in ("per_slice.csv", "adversarial_by_category.csv"):
        run = checkpoints / "runs" / "verbs-final" / "tables" / name
        assert run.read_bytes() == (checkpoints / "final" / name).read_bytes()


def test_the_report_on_stored_predictions_states_what_it_stated(checkpoints: Path, tmp_path: Path) -> None:
    for name in ("early", "final"):
        folder = write_checkpoint(load_checkpoint(checkpoints / name), tmp_path)
        kept = [path for path in (checkpoints / name).iterdir() if path.suffix in (".json", ".csv", ".jsonl", ".md")]
        assert len(kept) == 6
        for path in kept:
            assert (folder / path.name).read_bytes() == path.read_bytes(), path.name
    compared_checkpoints(checkpoints / "early", checkpoints / "final", tmp_path, figures=False)
    for name in ("COMPARE.json", "COMPARE.md"):
        assert (tmp_path / name).read_bytes() == (checkpoints / name).read_bytes()


def test_two_models_of_one_run_each_have_a_section_and_are_compared(tmp_path: Path) -> None:
    models = (ModelSpec("ngram/early", "early"), ModelSpec("ngram/final", "final"))
    run = Run(evaluate(RunSpec("verbs", models, name="both", max_items=60), tmp_path, quiet=True).directory)
    run.score()
    derived = derive([run], run.directory, figures=False)
    page = (run.directory / "report.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## early",
        "## final",
        "## early → final",
    ]
    assert sorted(path.relative_to(run.directory).as_posix() for path in run.directory.rglob("*.csv")) == [
        f"tables/{label}/{name}.csv"
        for label in ("early", "final")
        for name in ("adversarial_by_category", "per_slice")
    ]
    first, second = (checkpoint_in(run, derived.numbers, label) for label in ("early", "final"))
    alone = compare(first, second).cite("contrast", measure="accuracy")
    assert derived.numbers.cite("contrast", "choice@1", measure="accuracy") == alone
    assert audit_run(run.directory).ok


def test_a_run_whose_second_model_was_not_asked_yet_is_reported_without_a_comparison(tmp_path: Path) -> None:
    models = (ModelSpec("ngram/early", "early"), ModelSpec("ngram/final", "final"))
    spec = RunSpec("verbs", models, name="half", max_items=20, limits=Limits(max_requests=20))
    run = Run(evaluate(spec, tmp_path, quiet=True).directory)
    run.score()
    numbers = derive([run], run.directory, figures=False).numbers
    assert numbers.cite("accuracy", "choice@1", model="final", category="core").n == 0
    assert numbers.find("comparison") == []


def test_the_report_says_which_weights_and_which_probes(checkpoints: Path) -> None:
    page = (checkpoints / "final" / "REPORT.md").read_text()
    for fact in ("Checkpoint hash", "Training step: 5002", "Probe-set hash", "Perplexity, en", "per token"):
        assert fact in page


def test_more_training_is_found_to_be_better(checkpoints: Path) -> None:
    assert results(checkpoints / "final")["accuracy"] > results(checkpoints / "early")["accuracy"]
    assert (checkpoints / "verdict").read_text().startswith("final is better on accuracy")
    assert "early → final" in (checkpoints / "COMPARE.md").read_text()


def test_summed_likelihoods_are_another_scoring(tmp_path: Path, checkpoints: Path) -> None:
    done = call("checkpoint", "--model", "ngram/final", "--raw", "--name", "raw", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "summed" in (tmp_path / "raw" / "REPORT.md").read_text()
    assert results(tmp_path / "raw")["ece"] != results(checkpoints / "final")["ece"]


def test_a_leaked_probe_is_an_error_that_names_it(tmp_path: Path) -> None:
    probe = load_items([CORE])[0]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(f"Something else.\n{probe.prompt.replace('___', probe.target or '')}\n")
    done = call("checkpoint", "--model", "ngram/final", "--corpus", str(corpus), "--out", str(tmp_path))
    assert isinstance(done.exception, DataError)
    assert probe.id in str(done.exception)
    assert call("checkpoint", "--model", "ngram/final", "--corpus", str(CORPUS), "--out", str(tmp_path)).exit_code == 0
