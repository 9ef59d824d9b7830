"""eval --dry-run: what would be asked, with nothing sent and nothing written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perpend.errors import ModelError, StoreError
from tests.servers import serve
from tests.test_starts import answering, ask, call

PRICES = ("--model-option", "usd_per_million_input=1", "--model-option", "usd_per_million_output=10")


def test_a_dry_run_shows_one_prompt_of_each_condition_and_what_it_would_cost(
    tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    items = items_file(5)
    flags = ("--task", "conformity", "--option", "confederates=2", "--items", str(items), "--model", "openai/stub")
    with serve(answering) as server:
        base = ("--model-option", f"base_url={server.url}", "--max-tokens", "10", "--out", str(tmp_path / "runs"))
        done = call("eval", *flags, *base, *PRICES, "--dry-run")
        assert done.exit_code == 0, (done.output, done.exception)
        body = json.loads(call("eval", *flags, *base, *PRICES, "--dry-run", "--json").stdout)
        assert call("eval", *flags, *base, "--dry-run", "--quiet").output == ""
        assert server.received == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.jsonl"]
    assert done.stdout.count("Statement 0: 0 is even.") == 4
    assert "Participant 2" in done.stdout
    assert "5 items × 4 conditions × 1 model × 1 sampling: 20 trials." in done.stdout
    assert (body["trials"], body["requests"], body["tokens_out"]) == (20, 20, 200)
    assert body["usd"] == pytest.approx((body["tokens_in"] + 10 * 200) / 1e6)
    prompts = {prompt["condition"]: prompt["messages"] for prompt in body["prompts"]}
    assert len(prompts) == 4
    chars = sum(len(message["content"]) for message in prompts["control"])
    assert body["tokens_in"] >= chars / 4 * 20


def test_a_cost_without_prices_is_not_estimated(items_file: Callable[..., Path]) -> None:
    with serve(answering) as server:
        done = ask(items_file(5), server.url, "--dry-run")
    assert "cost unknown (no price for openai/stub)" in done.stdout
    assert "None" not in done.stdout


def test_what_is_answered_already_is_not_counted_again(items_file: Callable[..., Path]) -> None:
    items = items_file(5)
    with serve(answering) as server:
        ask(items, server.url, "--name", "run", "--max-requests", "2")
        asked = len(server.received)
        body = json.loads(ask(items, server.url, "--name", "run", "--dry-run", "--json").stdout)
        assert (body["answered"], body["requests"], body["trials"]) == (2, 3, 5)
        other = ask(items, server.url, "--name", "run", "--temperature", "1", "--dry-run")
        assert isinstance(other.exception, StoreError)
        assert "samplings[0].temperature" in str(other.exception)
        assert len(server.received) == asked


def test_a_protocol_that_cannot_ask_this_is_said_before(items_file: Callable[..., Path]) -> None:
    flags = ("--task", "verbs", "--model", "openai/stub", "--model-option", "base_url=http://127.0.0.1:1")
    done = call("eval", *flags, "--dry-run")
    assert isinstance(done.exception, ModelError)
    assert "endpoint" in str(done.exception)


def test_a_second_turn_is_counted_apart(items_file: Callable[..., Path]) -> None:
    flags = ("--task", "logic", "--items", str(items_file(4)), "--model", "mock/true", "--dry-run", "--json")
    body = json.loads(call("eval", *flags).stdout)
    assert (body["requests"], body["second_turns"]) == (4, 4)
