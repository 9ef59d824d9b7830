"""chaosbench eval: the run plan's flags, the order of items, second turns, errors, resuming."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pytest

from perpend.ask.task import make_task
from perpend.canon import JSON, read_object
from perpend.errors import SpecError
from perpend.ledger.store import Store
from perpend.proof.audit import audit_run
from perpend.studies.logic.chaosbench.runs import Settings, read_rows, settings_from
from perpend.studies.logic.chaosbench.sets import FAMILIES
from perpend.studies.logic.metrics import Prediction
from perpend.types import Item, Message, Response
from tests.servers import Received, Reply, openai_chat, openai_error, serve
from tests.test_chaosbench_items import chaosbench, data_set, record

SUBSET = ("--subset", "data/subsets/few.jsonl")
PRICES = ("--usd-per-million-input", "100000", "--usd-per-million-output", "100000")

# Answers by what the question holds; the second turn, which ends in a request for one word, gets TRUE.
MODEL = """
from pathlib import Path

from perpend.types import Response, Usage

def answer(request):
    text = request.messages[-1].content
    if len(request.messages) > 1:
        return "TRUE"
    if "a = 0," in text and not Path("reachable").exists():
        return Response(error="timeout: no reply in 1 s")
    if "a = 0.125," in text:
        return "It may be so."
    if "a = 0.25," in text:
        return Response(text="<think>the system", finish="length", usage=Usage(9, 128))
    return Response(text="FALSE", finish="stop", usage=Usage(9, 1))
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small data set, with the current directory in it."""
    place = tmp_path / "a set with 'quotes' & blanks"
    place.mkdir()
    monkeypatch.chdir(data_set(place))
    (place / "model.py").write_text(MODEL)
    return place


def the_run(root: Path, out: str = "runs") -> Path:
    """The only run below a folder."""
    (run,) = (root / out).iterdir()
    return run


def manifest(run: Path) -> dict[str, JSON]:
    return read_object(run / "run_manifest.json")


def metrics(run: Path) -> dict[str, JSON]:
    return read_object(run / "metrics.json")


def rows(run: Path) -> list[Prediction]:
    """What the texts of a run's predictions come to; none states anything else."""
    found = read_rows(run / "predictions.jsonl", json.loads((run / "run_manifest.json").read_text()))
    assert not any(row.differs for row in found)
    return [row.prediction for row in found]


def ids(run: Path) -> list[str]:
    return [prediction.id for prediction in rows(run)]


def test_the_smoke_command_of_the_run_plan(root: Path) -> None:
    code, said = chaosbench("eval", "--provider", "mock", *SUBSET, "--max-items", "5")
    assert code == 0, said
    run = the_run(root)
    assert {"run_manifest.json", "predictions.jsonl", "metrics.json", "summary.md"} <= {p.name for p in run.iterdir()}
    body = manifest(run)
    assert (body["provider"], body["order_mode"], body["total_items_evaluated"]) == ("mock", "canonical", 5)
    assert (body["status"], body["max_tokens"], body["temperature"]) == ("completed", 128, 0.0)
    assert (body["strict_parsing"], body["parser"]) == (None, "label@2")
    assert (body["usd"], body["usd_note"], "no cost." in said) == (0.0, "", True)
    assert body["dataset"]["path"] == "data/subsets/few.jsonl"  # type: ignore[index]
    assert len(str(body["dataset_global_sha256"])) == 64
    found = metrics(run)
    assert found["tpr"] == 1.0
    assert found["tnr"] == 0.0
    assert found["mcc"] is None
    assert found["balanced_accuracy"] == 0.5
    assert found["bias_verdict"] == "LABEL-BIASED"


def test_nothing_written_names_this_machine_and_the_ledger_below_passes_the_audit(root: Path) -> None:
    chaosbench("eval", "--provider", "mock", "--model", "subject", "--subset", root / "data/subsets/few.jsonl")
    for path in (path for path in the_run(root).rglob("*") if path.is_file()):
        assert str(root).encode() not in path.read_bytes(), path.name
    audit_run(the_run(root)).raise_for_failures()


def test_the_order_is_the_sample_of_the_seed_then_one_permutation(root: Path) -> None:
    everything = [json.loads(line)["id"] for line in (root / "data/subsets/few.jsonl").read_text().splitlines()]
    chosen = random.Random(3).sample(everything, 7)
    chaosbench("eval", "--provider", "mock", *SUBSET, "--max-items", "7", "--seed", "3", "--output-dir", "a")
    assert ids(the_run(root, "a")) == chosen
    random.Random(9).shuffle(chosen)
    flags = ("--max-items", "7", "--seed", "3", "--shuffle-seed", "9", "--output-dir", "b")
    chaosbench("eval", "--provider", "mock", *SUBSET, *flags)
    assert ids(the_run(root, "b")) == chosen
    body = manifest(the_run(root, "b"))
    assert (body["order_mode"], body["shuffle_seed"]) == ("shuffled", 9)


def test_the_canonical_set_is_asked_in_the_selectors_order(root: Path) -> None:
    code, said = chaosbench("eval", "--provider", "mock", "--dataset", "canonical", "--output-dir", root / "elsewhere")
    assert code == 0, said
    found = ids(the_run(root, "elsewhere"))
    assert (len(found), found[0], found[-1]) == (120, "atomic_0000", "multi_hop_0059")


def test_the_packaged_set_is_found_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = data_set(tmp_path / "package")
    monkeypatch.setattr("perpend.studies.logic.chaosbench.sets.packaged_root", lambda: packaged)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert chaosbench("eval", "--provider", "mock", *SUBSET)[0] == 0
    assert chaosbench("eval", "--provider", "mock", "--dataset", "canonical")[0] == 0
    assert chaosbench("freeze")[0] == 0
    runs = list((tmp_path / "elsewhere" / "runs").iterdir())
    assert sorted(len(ids(run)) for run in runs) == [20, 120]
    for run in runs:
        assert chaosbench("publish-run", "--run", run)[0] == 0


def test_errors_invalid_and_unfinished_replies_are_told_apart(root: Path) -> None:
    code, _ = chaosbench("eval", "--provider", "callable", "--model", "model.py:answer", "--subset", few(root, 8))
    assert code == 0
    run = the_run(root)
    outcomes = {p.id: (p.outcome, p.first, p.retry_outcome) for p in rows(run)}
    assert outcomes["atomic_0000"] == ("ERROR", "ERROR", None)
    assert outcomes["atomic_0001"] == ("VALID_TRUE", "INVALID", "VALID_TRUE")
    assert outcomes["atomic_0002"] == ("UNFINISHED", "UNFINISHED", None)
    assert outcomes["atomic_0003"] == ("VALID_FALSE", "VALID_FALSE", None)
    found = metrics(run)
    assert [found[key] for key in ("total", "valid", "invalid", "unfinished", "errors")] == [8, 6, 0, 1, 1]
    assert (found["coverage"], found["coverage_first_reply"]) == (6 / 8, 5 / 8)
    assert (found["reprompted"], found["error_rate"]) == (1, 1 / 8)
    assert found["token_budget"]["needed_max_tokens"] is None  # type: ignore[index]
    assert "timeout" in (run / "predictions.jsonl").read_text()


def few(root: Path, count: int) -> Path:
    path = root / "data" / "subsets" / "first.jsonl"
    path.write_text("".join(json.dumps(record(n)) + "\n" for n in range(count)))
    return path


def test_without_retries_an_invalid_reply_stays_invalid(root: Path) -> None:
    chaosbench("eval", "--provider", "callable", "--model", "model.py:answer", "--subset", few(root, 4), "--retries", 0)
    found = metrics(the_run(root))
    assert (found["invalid"], found["reprompted"]) == (1, 0)
    assert found["invalid_kinds"] == {"formatting_failure": 1, f"truth_{record(1)['ground_truth']}": 1}


def test_resuming_asks_only_what_failed_and_keeps_the_rest(root: Path) -> None:
    chaosbench("eval", "--provider", "callable", "--model", "model.py:answer", "--subset", few(root, 8))
    run = the_run(root)
    assert metrics(run)["errors"] == 1
    # The model is part of the run: its code may not change. What changes is the world, here the time-out.
    (root / "reachable").touch()
    code, said = chaosbench("eval", "--resume", run.name, "--model", "model.py:answer")
    assert code == 0, said
    assert manifest(run)["resumed_from"] == run.name
    assert (metrics(run)["total"], metrics(run)["errors"]) == (8, 0)
    with Store.open(run / "run.db") as store:
        assert store.failures(0) == {1: 1}
    before = (run / "predictions.jsonl").read_bytes()
    code, said = chaosbench("eval", "--resume", run, "--model", "model.py:answer")
    assert code == 0, said
    assert (run / "predictions.jsonl").read_bytes() == before


def test_a_stopped_run_is_resumed_to_the_same_end(root: Path) -> None:
    prices = ("--usd-per-million-input", "0", "--usd-per-million-output", "1000000")
    few(root, 8)
    start = ("eval", "--provider", "mock", "--subset", "data/subsets/first.jsonl", *prices)
    code, said = chaosbench(*start, "--max-usd", "3")
    assert (code, "--max-usd 3 reached" in said) == (1, True)
    run = the_run(root)
    assert manifest(run)["status"] == "stopped: --max-usd 3 reached (3.0000 spent)"
    assert (metrics(run)["total"], manifest(run)["total_items_planned"]) == (3, 8)
    code, said = chaosbench("eval", "--resume", run.name, "--max-usd", "100")
    assert code == 0, said
    assert (metrics(run)["total"], manifest(run)["status"]) == (8, "completed")


def test_a_run_is_not_resumed_with_other_settings(root: Path) -> None:
    chaosbench("eval", "--provider", "mock", *SUBSET)
    run = the_run(root)
    code, said = chaosbench("eval", "--resume", run.name, "--seed", "7", "--workers", "3")
    assert code == 2
    assert "--seed 42 → 7" in said
    assert "--workers" not in said
    (run / "items.jsonl").write_text((run / "items.jsonl").read_text().replace("chaotic", "Chaotic", 1))
    code, said = chaosbench("eval", "--resume", run.name)
    assert (code, "not the file that the run began with" in said) == (3, True)


def test_a_report_is_derived_again_from_the_replies(root: Path) -> None:
    chaosbench("eval", "--provider", "mock", "--model", "subject", *SUBSET)
    run = the_run(root)
    names = ("metrics.json", "predictions.jsonl", "summary.md", "run_manifest.json", "report.md")
    before = {name: (run / name).read_bytes() for name in names}
    for name in ("metrics.json", "predictions.jsonl", "summary.md"):
        (run / name).unlink()
    code, said = chaosbench("report", "--run", run)
    assert code == 0, said
    assert {name: (run / name).read_bytes() for name in names} == before


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--provider", "mocc"), "did you mean 'mock'"),
        (("--provider", "ollama"), "needs --model"),
        ((), "--provider is missing"),
        (("--provider", "mock", "--max-usd", "1"), "needs prices"),
        (("--provider", "mock", "--lenient", "--strict-parsing"), "give one"),
        (("--provider", "mock", "--max-items", "0"), "--max-items must be 1 or more"),
        (("--provider", "mock", "--tier", "P0", *SUBSET), "leave --subset out"),
        (("--provider", "mock", "--dataset", "nowhere/canonical.json"), "no such selector"),
        (("--resume", "20260101T000000Z_mock"), "no such run"),
        (("--provider", "groq", "--model", "m"), "GROQ_API_KEY"),
        (("--provider", "callable", "--model", "nowhere.py:answer"), "nowhere.py"),
        (("--provider", "ollama", "--model", "tiny", "--base-url", "http://127.0.0.1:9"), "check base_url"),
    ],
)
def test_a_start_that_fails_leaves_nothing_behind(
    root: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], told: str
) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    code, said = chaosbench("eval", *flags, *(() if {"--subset", "--dataset"} & {*flags} else SUBSET))
    assert (code != 0, told in said, "To resume" in said) == (True, True, False), said
    assert not (root / "runs").exists()


def test_two_runs_of_one_second_have_two_folders(root: Path) -> None:
    for _ in range(3):
        assert chaosbench("eval", "--provider", "mock", *SUBSET)[0] == 0
    assert len(list((root / "runs").iterdir())) == 3


def test_tiers_are_shorthands(root: Path) -> None:
    few(root, 60).rename(root / "data/subsets/subset_1k_armored.jsonl")
    code, said = chaosbench("eval", "--tier", "P0")
    assert code == 0, said
    assert (manifest(the_run(root))["max_items"], metrics(the_run(root))["total"]) == (50, 50)
    suites = root / "data/subsets/subset_family_suites"
    suites.mkdir()
    for family in FAMILIES:
        (suites / f"{family}.jsonl").write_text(few(root, 4).read_text())
    code, said = chaosbench("eval", "--tier", "P4", "--provider", "mock", "--output-dir", "p4")
    assert code == 0, said
    assert sorted(manifest(run)["dataset"]["name"] for run in (root / "p4").iterdir()) == sorted(FAMILIES)  # type: ignore[index]


def test_each_rule_of_reading_is_reported_and_one_decides(root: Path) -> None:
    (root / "yes.py").write_text("def answer(request):\n    return 'Not enough data about y'\n")
    flags = ("--provider", "callable", "--model", "yes.py:answer", "--subset", few(root, 8))
    chaosbench("eval", *flags, "--strict-parsing", "--output-dir", "strict")
    chaosbench("eval", *flags, "--retries", "0", "--output-dir", "careful")
    strict, careful = metrics(the_run(root, "strict")), metrics(the_run(root, "careful"))
    # The reference takes the variable y for 'yes'.
    assert (strict["valid"], careful["valid"]) == (8, 0)
    assert careful["by_parser"]["label@1"]["valid"] == 8  # type: ignore[index]
    assert careful["balanced_accuracy"] is None


def test_long_texts_can_be_cut_in_the_predictions_only(root: Path) -> None:
    (root / "long.py").write_text("def answer(request):\n    return 'TRUE. ' + 'Because. ' * 50\n")
    flags = ("--provider", "callable", "--model", "long.py:answer", "--subset", few(root, 4))
    chaosbench("eval", *flags, "--truncate-pred-text", "10")
    assert {p.text for p in rows(the_run(root))} == {"TRUE. Beca"}
    assert b"Because. Because." in (the_run(root) / "run.db").read_bytes()


def test_the_task_asks_again_only_where_a_whole_reply_has_no_label() -> None:
    reprompt = make_task("logic", {}).reprompt
    assert reprompt is not None
    item = Item("a", "Is it so?", "TRUE")
    wanted = {text: reprompt.wanted(item, Response(text=text, finish="stop")) for text in ("TRUE", "Perhaps.", "  ")}
    assert wanted == {"TRUE": False, "Perhaps.": True, "  ": True}
    assert not reprompt.wanted(item, Response(text="", finish="length"))
    assert not reprompt.wanted(item, Response(text="<think>so", finish="length"))
    assert not reprompt.wanted(item, Response(error="timeout"))
    asked = (Message("user", "Is it so?"),)
    again = reprompt.render(asked, Response(text="<think>hm</think>Perhaps."))
    assert [message.role for message in again] == ["user", "assistant", "user"]
    assert again[1].content == "Perhaps."
    assert reprompt.render(asked, Response(text=""))[1].content == "(no answer)"
    assert make_task("logic", {"reprompt": False}).reprompt is None
    with pytest.raises(SpecError, match="unknown parser"):
        make_task("logic", {"parser": "label@9"})


def test_the_prompt_is_the_instruction_and_the_question() -> None:
    (condition,) = make_task("logic", {}).conditions
    (message,) = condition.render(Item("a", "Is {x} chaotic?", "TRUE"))
    assert message.content.endswith("\n\nQuestion: Is {x} chaotic?")
    assert "TRUE" in message.content


def test_settings_of_a_damaged_manifest_are_an_error() -> None:
    with pytest.raises(SpecError, match="max_tokens cannot be '16'"):
        settings_from({"provider": "mock", "max_tokens": "16"}, "run_manifest.json")
    assert Settings("openrouter", "a/b").spec(Path("x")).models[0].name == "openai/a/b"
    reasoning = Settings("openai", "o3-mini").spec(Path("x")).models[0]
    assert reasoning.options["max_tokens_field"] == "max_completion_tokens"
    assert Settings("ollama", "qwen2.5:14b").run_id("20260220T145642Z") == "20260220T145642Z_ollama_qwen2.5-14b"


def test_the_mcc_of_a_constant_model_is_na_in_the_data_and_0_by_convention_in_every_report(root: Path) -> None:
    code, said = chaosbench("eval", "--provider", "mock", *SUBSET)
    assert code == 0, said
    run = the_run(root)
    assert metrics(run)["mcc"] is None
    assert "NA (0 by convention)" in (run / "report.md").read_text()
    assert "| MCC | NA (0 by convention) |" in (run / "summary.md").read_text()
    code, said = chaosbench("analyze-runs", "--runs-dir", "runs", "--out-dir", "out", "--include-failed")
    assert "NA (0 by convention)" in said.replace("\\", "")
    assert "0 by convention" not in (root / "out" / "baselines_table.csv").read_text()


def test_strict_parsing_tells_the_parsers_apart(root: Path) -> None:
    # The last line says one thing and the pattern before it another: the reference's two rules differ on it.
    (root / "model.py").write_text("def answer(request):\n    return 'The answer is TRUE.\\nNot FALSE'\n")
    flags = ("--provider", "callable", "--model", "model.py:answer", *SUBSET, "--output-dir")
    for flag, stated, parser in (("--strict-parsing", True, "label@1"), ("--lenient", False, "label_lenient@1")):
        assert chaosbench("eval", *flags, parser, flag)[0] == 0
        run = the_run(root, parser)
        assert (manifest(run)["strict_parsing"], manifest(run)["parser"]) == (stated, parser)
        assert {row.label for row in rows(run)} == {"FALSE" if stated else "TRUE"}


def test_a_command_prints_the_prompt_and_the_hash_that_a_run_states(root: Path) -> None:
    code, said = chaosbench("prompt")
    assert code == 0
    assert "Question: {question}" in said
    body = json.loads(chaosbench("prompt", "--json")[1])
    assert f"prompt_hash: {body['prompt_hash']}" in said
    assert chaosbench("eval", "--provider", "mock", *SUBSET, "--quiet") == (0, "")
    assert manifest(the_run(root))["prompt_hash"] == body["prompt_hash"]
    once = json.loads(chaosbench("prompt", "--retries", "0", "--json")[1])
    assert once["second_turn"] is None
    assert once["prompt_hash"] != body["prompt_hash"]


def printed(said: str, before: str) -> list[str]:
    """The command that a line of the output ends in, as a shell reads it, without the program's name."""
    (line,) = [line for line in said.splitlines() if before in line]
    program, *words = shlex.split(line.partition(before)[2])
    assert program == "chaosbench"
    return words


class Replying:
    """A server that refuses every second question while it `fails`."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    def __call__(self, received: Received) -> Reply:
        if received.method == "GET":
            return Reply(status=404)
        return openai_error(400, "not now") if self.fails and received.number % 2 else openai_chat("TRUE")


def test_the_printed_command_resumes_the_run(root: Path) -> None:
    script = Replying(fails=True)
    with serve(script) as server:
        out = ("--output-dir", "my runs")
        flags = ("--provider", "openai", "--model", "stub", "--base-url", server.url, "--workers", "2")
        code, said = chaosbench("eval", *flags, *SUBSET, *out)
        assert code == 0, said
        words = printed(said, "To ask again: ")
        assert words[words.index("--base-url") + 1] == server.url
        script.fails = False
        code, said = chaosbench(*words)
        assert code == 0, said
        assert "got no reply" not in said
    run = the_run(root, "my runs")
    assert metrics(run)["errors"] == 0
    assert server.url not in (run / "run_manifest.json").read_text()


def test_a_model_that_is_a_file_is_named_in_the_command(root: Path) -> None:
    code, said = chaosbench("eval", "--provider", "callable", "--model", f"{root}/model.py:answer", *SUBSET)
    assert code == 0, said
    words = printed(said, "To ask again: ")
    (root / "reachable").touch()
    code, said = chaosbench(*words)
    assert code == 0, said
    assert metrics(the_run(root))["errors"] == 0


def test_money_counts_over_all_invocations_and_stands_in_the_manifest(root: Path) -> None:
    with serve(Replying()) as server:
        flags = ("--provider", "openai", "--model", "stub", "--base-url", server.url)
        code, said = chaosbench("eval", *flags, *SUBSET, *PRICES, "--max-usd", "3", "--retries", "0")
        assert code == 1, said
        run = the_run(root)
        assert manifest(run)["usd"] == 3.0
        words = printed(said, "add a higher --max-usd to: ")
        for _ in range(2):
            code, said = chaosbench(*words)
            assert (code, manifest(run)["usd"]) == (1, 3.0)
        code, said = chaosbench(*words, "--max-usd", "5")
        assert (code, manifest(run)["usd"], metrics(run)["total"]) == (1, 5.0, 5)
        assert sum(received.method == "POST" for received in server.received) == 5


def test_a_server_that_refuses_the_first_question_leaves_no_folder(root: Path) -> None:
    with serve(lambda r: Reply(status=404) if r.method == "GET" else openai_error(401, "no such key")) as server:
        code, said = chaosbench("eval", "--provider", "openai", "--model", "m", "--base-url", server.url, *SUBSET)
    assert code == 4, said
    assert not (root / "runs").exists()
