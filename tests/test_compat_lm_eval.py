"""Samples of lm-evaluation-harness become runs: its metrics are kept, its likelihoods are those of choices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend._convert import convert
from perpend.cli import cli
from perpend.errors import DataError
from perpend.measure.run import Run
from perpend.studies import questions
from perpend.types import ChoiceLogprob, Sampling
from tests.test_compat_inspect import RECORDED, one, trials
from tests.test_compat_rows import notes


@pytest.fixture(scope="module")
def logs() -> tuple[Path, Mapping[str, Mapping[str, float]]]:
    """The folder that lm_eval wrote, and the results that it reports."""
    folder = RECORDED / "lm_eval"
    [results] = folder.glob("results_*.json")
    return folder, json.loads(results.read_text(encoding="utf-8"))["results"]


def test_the_accuracies_are_those_that_lm_eval_reports(
    logs: tuple[Path, Mapping[str, Mapping[str, float]]], tmp_path: Path
) -> None:
    folder, reported = logs
    run = Run(convert(folder, tmp_path / "run"))
    run.score()
    for name, task, metric in (
        ("stored_acc", "pick", "acc,none"),
        ("stored_acc_norm", "pick", "acc_norm,none"),
        ("stored_exact_match", "say", "exact_match,none"),
        ("stored_exact_match_short", "say", "exact_match,short"),
        ("choice", "pick", "acc,none"),
        ("choice_raw", "pick", "acc,none"),
        ("correct", "say", "exact_match,none"),
    ):
        assert run[name].rate().value == pytest.approx(reported[task][metric]), name
    assert run["stored_acc"].disagreement(run["choice"]).value == 0
    assert 0 < reported["pick"]["acc,none"] < 1
    assert run["stored_acc"].rate().n == 12
    assert run.table.values("task") == ("pick", "say")
    assert len(run.table) == 18


def test_a_samples_file_a_results_file_and_their_folder_are_all_read(
    logs: tuple[Path, Mapping[str, Mapping[str, float]]], tmp_path: Path
) -> None:
    folder, _ = logs
    [results], [samples] = folder.glob("results_*.json"), folder.glob("samples_say_*.jsonl")
    assert len(Run(convert(results, tmp_path / "all")).table) == 18
    run = Run(convert(samples, tmp_path / "say"))
    trial, response, scores = trials(run)[0]
    assert (trial.item.id, trial.item.prompt, trial.item.target) == ("say/0", "Question: Say word 0.\nAnswer:", "no")
    assert (trial.item.tags["topic"], trial.sampling) == ("t0", Sampling(0.0, 16, None, None, ("\n",)))
    assert (response.text, scores["stored_filtered_short@import"].answer) == ("lol", "lo")
    assert run.manifest.scorers == tuple(questions.task().judges())
    assert all("further outputs" not in note for note in notes(run))


@pytest.mark.parametrize("log", ["inspect_ai/eval", "lm_eval"])
def test_every_verb_works_on_an_imported_log(log: str, tmp_path: Path) -> None:
    run, analysis = str(tmp_path / "run"), tmp_path / "analysis"
    for command in (
        ["import", str(RECORDED / log), run],
        ["score", run],
        ["analyze", run, "--out", str(analysis)],
        ["audit", run],
        ["show", run, "--n-per-group", "1"],
    ):
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, (command, done.output, done.exception)
    assert r"stored\_" in (analysis / "report.md").read_text()


PICKED: Mapping[str, object] = {
    "doc_id": 3,
    "doc": {"question": "Which?", "subject": "art"},
    "target": "1",
    "arguments": {f"gen_args_{n}": {"arg_0": "Which?\nAnswer:", "arg_1": f" {text}"} for n, text in enumerate("xyz")},
    "resps": [[["-2.5", "False"]], [["-0.5", "True"]], [["-1.5", "False"]]],
    "filtered_resps": [["-2.5", "False"], ["-0.5", "True"], ["-1.5", "False"]],
    "filter": "none",
    "metrics": ["acc"],
    "acc": 1.0,
}
SAID: Mapping[str, object] = {
    "doc_id": 4,
    "doc": {"question": "Which?"},
    "target": "Lima",
    "arguments": {"gen_args_0": {"arg_0": "Which?", "arg_1": {"until": ["."], "do_sample": True, "temperature": 0.7}}},
    "resps": [["Lima"]],
    "filtered_resps": ["Lima"],
    "filter": "none",
    "metrics": ["exact_match"],
    "exact_match": 1,
}
STAMP = "2026-01-02T03-04-05.678"


def samples(tmp_path: Path, *lines: Mapping[str, object], results: Mapping[str, object] | None = None) -> Path:
    path = tmp_path / f"samples_quiz_{STAMP}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if results is not None:
        (tmp_path / f"results_{STAMP}.json").write_text(json.dumps(results))
    return path


def imported(tmp_path: Path, *lines: Mapping[str, object]) -> Run:
    return Run(convert(samples(tmp_path, *lines), tmp_path / "run"))


def test_likelihoods_of_continuations_are_likelihoods_of_choices(tmp_path: Path) -> None:
    run = imported(tmp_path, PICKED)
    run.score()
    trial, response, scores = one(run)
    assert (trial.item.choices, trial.item.target, trial.item.tags["subject"]) == (("x", "y", "z"), "y", "art")
    assert response.choice_logprobs == (ChoiceLogprob(-2.5, 1), ChoiceLogprob(-0.5, 1), ChoiceLogprob(-1.5, 1))
    assert (scores["choice@1"].value, scores["stored_acc@import"].value) == (1.0, 1.0)
    assert scores["stored_target@import"].answer == "1"
    assert run.manifest.scorers == ("choice@1", "choice_raw@1", "confidence@1", "confidence_raw@1")
    assert scores["confidence@1"].value == pytest.approx(0.6652, abs=1e-4)


@pytest.mark.parametrize(
    ("target", "acc", "meant"),
    [
        ("2", 1.0, "3"),  # the number of the likeliest
        ("3", 1.0, "3"),  # no number of a choice, so its text
        ("2", 0.0, "2"),  # the number is that of the likeliest, which was not right: it is the text
        ("1", 0.0, "2"),  # both readings are wrong answers: the number
        (2, 1.0, "3"),
        ("other", 0.0, "other"),
    ],
)
def test_a_target_is_the_number_of_a_choice_unless_the_accuracy_refutes_it(
    tmp_path: Path, target: object, acc: float, meant: str
) -> None:
    arguments = [["Which?", f" {n}"] for n in (1, 2, 3)]  # as versions before 0.4.3 wrote them
    resps = [[[-3.0, False]], [[-2.0, False]], [[-1.0, True]]]
    line = {**PICKED, "target": target, "arguments": arguments, "resps": resps, "acc": acc}
    trial, _, _ = one(imported(tmp_path, line))
    assert trial.item.target == meant


def test_several_right_numbers_and_equal_choices_are_no_choices(tmp_path: Path) -> None:
    run = imported(tmp_path, {**PICKED, "target": "[0, 2]"})
    trial, _, _ = one(run)
    assert (trial.item.target, trial.item.aliases, trial.item.choices) == ("x", ("z",), ())
    run.score()
    assert run["choice"].rate().value is None


def test_choices_that_continue_alike_are_told_by_their_contexts(tmp_path: Path) -> None:
    arguments = {f"gen_args_{n}": {"arg_0": f"The {who}", "arg_1": " ran."} for n, who in enumerate(("cat", "dog"))}
    trial, _, _ = one(imported(tmp_path, {**PICKED, "arguments": arguments, "resps": PICKED["resps"][:2]}))
    assert (trial.item.choices, trial.item.target) == (("The cat", "The dog"), "The dog")


def test_likelihoods_after_nothing_are_not_choices_of_their_own(tmp_path: Path) -> None:
    given = [["Which?", " x"], ["Which?", " y"], ["", "x"], ["", "y"]]
    resps = [[["-1", "True"]], [["-2", "False"]], [["-5", "False"]], [["-6", "False"]]]
    trial, response, _ = one(imported(tmp_path, {**PICKED, "arguments": given, "resps": resps}))
    assert trial.item.choices == ("x", "y")
    assert response.choice_logprobs == (ChoiceLogprob(-1.0, 1), ChoiceLogprob(-2.0, 1))


def test_one_likelihood_is_no_choice(tmp_path: Path) -> None:
    one_of_them = {**PICKED, "arguments": [["The cat", " ran"]], "resps": [[["-1", "True"]]], "target": " ran"}
    rolling = {**PICKED, "doc_id": 5, "arguments": [["A whole text."]], "resps": [["-123.4"]], "target": ""}
    run = imported(tmp_path, one_of_them, {**rolling, "metrics": ["word_perplexity"], "word_perplexity": [-123.4, 3]})
    run.score()
    (first, _, _), (second, _, scores) = trials(run)
    assert (first.item.target, first.item.choices) == (" ran", ())
    assert (second.item.target, second.item.prompt) == (None, "A whole text.")
    assert scores["stored_word_perplexity_0@import"].value == -123.4
    assert run["choice"].rate().value is None


def test_a_likelihood_of_zero_leaves_the_choice_open(tmp_path: Path) -> None:
    run = imported(tmp_path, {**PICKED, "resps": [[["-inf", "False"]], [["-1", "True"]], [["-2", "False"]]]})
    run.score()
    assert run["choice"].rate().value is None
    assert any("likelihood of 0" in note for note in notes(run))


@pytest.mark.parametrize("stated", [{}, []])
@pytest.mark.parametrize("text", ["Lima", "42"])
def test_a_generation_that_states_no_parameter_is_no_likelihood(tmp_path: Path, stated: object, text: str) -> None:
    trial, response, _ = one(imported(tmp_path, {**SAID, "arguments": [["Which?", stated]], "resps": [[text]]}))
    assert (response.text, response.choice_logprobs) == (text, None)
    assert (trial.item.target, trial.sampling.temperature) == ("Lima", 0.0)


def test_several_texts_of_a_document_are_repeats(tmp_path: Path) -> None:
    run = imported(tmp_path, {**SAID, "resps": [["Lima", "Cusco"]]})
    found = trials(run)
    assert [(trial.repeat, response.text) for trial, response, _ in found] == [(0, "Lima"), (1, "Cusco")]
    assert run["stored_exact_match"].rate().n == 1
    assert found[0][0].sampling == Sampling(0.7, 0, None, None, (".",))


def test_the_model_is_named_in_the_results(tmp_path: Path) -> None:
    results = {"results": {}, "configs": {}, "n-shot": {}, "model_name": "lab/small", "date": 5.0}
    run = Run(convert(samples(tmp_path, SAID, results=results), tmp_path / "run"))
    assert run.table.values("model") == ("lab/small",)
    (tmp_path / f"results_{STAMP}.json").unlink()
    run = Run(convert(tmp_path / f"samples_quiz_{STAMP}.jsonl", tmp_path / "again"))
    assert run.table.values("model") == ("unknown",)
    assert "files without results beside them: the model is not known" in notes(run)


def test_a_line_without_its_samples_and_one_of_two_runs_in_a_folder_are_said_so(tmp_path: Path) -> None:
    path = samples(tmp_path, PICKED, {"doc_id": 1})
    with pytest.raises(DataError, match="jsonl:2: arguments, doc, filtered_resps, resps missing"):
        convert(path, tmp_path / "run")
    (tmp_path / "samples_quiz_2027-01-02T03-04-05.678.jsonl").write_text(json.dumps(SAID) + "\n")
    with pytest.raises(DataError, match="1 of 2 sources could not be imported"):
        convert(tmp_path, tmp_path / "out" / "run")
    (tmp_path / "results_2028-01-01T00-00-00.json").write_text('{"results": {}, "configs": {}, "n-shot": {}}')
    with pytest.raises(DataError, match="run lm_eval with --log_samples"):
        convert(tmp_path / "results_2028-01-01T00-00-00.json", tmp_path / "out" / "run")
