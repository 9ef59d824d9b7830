"""What a run may spend, over all its invocations, against a server: kills, resumes, retries, missing counts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import perpend as pp
from perpend.ask.spending import Spending
from perpend.cli import cli
from perpend.errors import SpecError
from perpend.ledger.journal import JOURNAL
from perpend.ledger.store import Store
from perpend.spec.runspec import Limits, ModelSpec, RunSpec
from tests.servers import Received, Reply, Script, Server, openai_chat, openai_error, serve

PRICES = ("usd_per_million_input=100000", "usd_per_million_output=100000")
"""A reply of the stub counts 7 tokens in and 3 out: one dollar."""


def chats(server: Server) -> int:
    return sum(received.method == "POST" for received in server.received)


def answering(reply: Script = lambda received: openai_chat("TRUE")) -> Script:
    return lambda received: reply(received) if received.method == "POST" else Reply(status=404)


def command(server: Server, items: Path, *more: str, prices: tuple[str, ...] = PRICES) -> list[str]:
    options = (f"base_url={server.url}", "retries=1", "backoff_s=0.001", *prices)
    given = [word for option in options for word in ("--model-option", option)]
    start = ["eval", "--task", "questions", "--items", str(items), "--model", "openai/stub", *given]
    return [*start, "--out", str(items.parent / "runs"), "--name", "run", "--workers", "1", *more]


def call(arguments: list[str]) -> Result:
    return CliRunner().invoke(cli, arguments)


def ending(arguments: list[str]) -> dict[str, object]:
    done = call([*arguments, "--json"])
    assert done.stdout, done.output
    body: dict[str, object] = json.loads(done.stdout)
    return body


@pytest.mark.parametrize("missing", PRICES)
def test_a_limit_in_dollars_without_a_price_is_refused_before_the_first_request(
    items_file: Callable[..., Path], missing: str
) -> None:
    items, left = items_file(5), tuple(price for price in PRICES if price != missing)
    key = missing.partition("=")[0]
    with serve(answering()) as server:
        done = call(command(server, items, "--max-usd", "1", prices=left))
        assert isinstance(done.exception, SpecError), done.output
        assert f"write {key} (" in str(done.exception)
        assert "[[model]] in run.toml" in str(done.exception)
        assert f"--model-option {key}=" in str(done.exception)
        assert server.received == []
    assert not (items.parent / "runs").exists()


def test_every_model_of_a_limited_run_needs_a_price(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    free = pp.model("mock/true", label="free", usd_per_million_input=0, usd_per_million_output=0)
    what = pp.task("questions", items=items_file(3))
    with pytest.raises(SpecError, match="'other' has none"):
        pp.evaluate(what, [free, pp.model("mock/false", label="other")], limits=Limits(max_usd=1.0), out=tmp_path)
    run = pp.evaluate(what, [free], limits=Limits(max_usd=1.0), out=tmp_path / "runs", quiet=True)
    assert run.status()["answered"] == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"limits": Limits(max_usd=-1.0)},
        {"limits": Limits(max_usd=float("nan"))},
        {"limits": Limits(max_requests=-1)},
        {"models": (ModelSpec("mock/true", "m", usd_per_million_input=-1.0),)},
        {"models": (ModelSpec("mock/true", "m", usd_per_million_output=float("nan")),)},
    ],
)
def test_a_limit_or_price_below_zero_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SpecError, match="at least 0"):
        RunSpec(**({"task": "questions", "models": (ModelSpec("mock/true", "m"),)} | wrong))  # type: ignore[arg-type]


def test_dollars_count_over_all_invocations(items_file: Callable[..., Path]) -> None:
    with serve(answering()) as server:
        limited = command(server, items_file(20), "--max-usd", "3")
        first, again, third = ending(limited), ending(limited), ending(limited)
        assert (first["answered"], first["usd"], chats(server)) == (3, 3.0, 3)
        assert (again["answered"], again["usd"], again["requests_total"], again["requests"]) == (3, 3.0, 3, 0)
        assert (third["tokens_in"], third["tokens_out"], chats(server)) == (21, 9, 3)
        more = ending(command(server, items_file(20), "--max-usd", "5"))
        assert (more["answered"], more["usd"], chats(server)) == (5, 5.0, 5)
        said = call(limited)
        assert "Stopped: --max-usd 3 reached (5.0000 spent). What earlier invocations spent counts." in said.stderr


def test_requests_count_over_all_invocations_with_their_retries(items_file: Callable[..., Path]) -> None:
    def flaky(received: Received) -> Reply:
        return openai_error(500, "busy") if received.number % 3 == 1 else openai_chat("TRUE")

    with serve(answering(flaky)) as server:
        limited = command(server, items_file(20), "--max-requests", "7")
        assert ending(limited)["requests_total"] == 7 == chats(server)
        assert ending(limited)["requests_total"] == 7 == chats(server)
        assert ending(command(server, items_file(20), "--max-requests", "9"))["requests_total"] == 9 == chats(server)


def test_what_a_killed_process_spent_counts(items_file: Callable[..., Path]) -> None:
    items = items_file(20)
    running: list[subprocess.Popen[bytes]] = []

    def deadly(received: Received) -> Reply:
        if received.number == 5:
            running[0].kill()
        return openai_chat("TRUE")

    with serve(answering(deadly)) as server:
        limited = command(server, items, "--max-usd", "6")
        start = [sys.executable, "-c", "from perpend.cli import main; main()", *limited]
        running.append(subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        assert running[0].wait(60) == -9
        killed_after = chats(server)
        resumed = ending(limited)
        assert resumed["usd"] == 6.0
        # The kill cost the request that was in flight, and no more.
        assert killed_after <= chats(server) <= 7
        (items.parent / "runs" / "run" / JOURNAL).unlink()
        assert ending(limited)["usd"] == 6.0, "without the journal, the ledger itself counts"


def test_a_limit_is_passed_by_no_more_than_the_requests_in_flight(items_file: Callable[..., Path]) -> None:
    with serve(answering()) as server:
        limited = command(server, items_file(60), "--max-usd", "10", "--workers", "4")
        first = ending(limited)
        assert isinstance(first["usd"], float)
        assert 10 <= first["usd"] <= 13
        assert chats(server) == first["requests_total"] == first["usd"]
        assert server.most_in_flight <= 4


def test_a_failed_attempt_costs_what_its_server_counts(items_file: Callable[..., Path]) -> None:
    def empty_first(received: Received) -> Reply:
        body = json.loads(openai_chat("TRUE").body)
        return openai_chat("TRUE") if received.number > 2 else Reply(json.dumps({**body, "choices": []}).encode())

    with serve(answering(empty_first)) as server:
        done = ending(command(server, items_file(3)))
        assert (done["answered"], done["failed"], done["requests_total"], done["usd"]) == (2, 1, 4, 4.0), "one retry"
        done = ending(command(server, items_file(3)))
        assert (done["answered"], done["failed"], done["requests_total"], done["usd"]) == (3, 0, 5, 5.0)


def test_a_server_that_counts_no_tokens_stops_a_run_that_is_limited_in_dollars(items_file: Callable[..., Path]) -> None:
    def uncounted(received: Received) -> Reply:
        body = json.loads(openai_chat("TRUE").body)
        return Reply(json.dumps({key: value for key, value in body.items() if key != "usage"}).encode())

    with serve(answering(uncounted)) as server:
        limited = command(server, items_file(9), "--max-usd", "5")
        done = call(limited)
        assert chats(server) == 1
        assert "cannot be kept: answers came without a count of their tokens. Leave --max-usd out" in done.stderr
        call(limited)
        assert chats(server) == 1
        assert "tokens not counted, cost unknown" in call(command(server, items_file(9))).stdout
        free = ending(command(server, items_file(9)))
        assert (free["answered"], free["usd"]) == (9, None)
        assert free["usd_note"] == "no token counts in 9 answers of openai/stub"


def test_cost_without_a_price_is_unknown_and_said_so(items_file: Callable[..., Path]) -> None:
    with serve(answering()) as server:
        arguments = command(server, items_file(3), prices=())
        done = call(arguments)
        assert done.exit_code == 0, done.output
        *_, counted, place = done.stdout.splitlines()
        assert counted == ("3 of 3 answered. 3 requests, 21 tokens in, 9 out, cost unknown (no price for openai/stub).")
        assert place.startswith("Run: ")
        assert "None" not in done.output
        body = ending(arguments)
        assert (body["usd"], body["usd_note"], body["requests"]) == (None, "no price for openai/stub", 0)


def test_quiet_prints_nothing_but_what_went_wrong(items_file: Callable[..., Path]) -> None:
    with serve(answering()) as server:
        arguments = command(server, items_file(3), "--quiet")
        done = call(arguments)
        assert (done.exit_code, done.output) == (0, "")
        assert json.loads(call([*arguments, "--json"]).stdout)["answered"] == 3


def test_what_one_model_left_in_flight_keeps_no_other_waiting(tmp_path: Path) -> None:
    """A worker that died was counted twice and answered once."""
    models = tuple(ModelSpec(f"mock/{n}", n, usd_per_million_input=1.0, usd_per_million_output=1.0) for n in ("a", "b"))
    with Store.create(tmp_path / "run.db", "run") as store:
        spending = Spending(store, RunSpec(task="questions", models=models, limits=Limits(max_usd=1.0)))
        budget = spending.begin(models[0])
        assert budget.may_send()
        assert budget.must_wait()
        assert not spending.begin(models[1]).must_wait()
