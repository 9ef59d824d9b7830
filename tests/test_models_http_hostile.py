"""Servers that mean harm: each ends as an error within the time limit, in little memory, and no key travels on.

The client runs in a process of its own, so that what it takes at most can be measured.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perpend.cli import cli
from perpend.errors import ModelError
from perpend.ledger.store import Store
from perpend.models import openai
from perpend.models.http.attempt import Caller
from perpend.models.http.body import _unpacked
from perpend.models.http.link import Link
from perpend.models.http.reply import BadReplyError, as_usage, parse, retry_after
from perpend.spec.model import Budget
from perpend.types import Message, Request, Response, Sampling, Usage
from tests.conftest import ROOT
from tests.peak import PEAK_KB
from tests.servers import Received, Reply, openai_chat, openai_error, serve

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
BLOCK = 1 << 16
LIMIT_S, MOST_MB = 2.0, 500
CLIENT = f"""
import json, sys, time
from perpend.errors import ModelError
from perpend.models import openai
from perpend.spec.model import Budget
from perpend.types import Message, Request, Sampling
{PEAK_KB}
model = openai.model("m", base_url=sys.argv[1], backoff_s=0.001, timeout_s={LIMIT_S}, retries=0, workers=8)
questions = ((n, Request((Message("user", f"question {{n}}"),), Sampling(max_tokens=8))) for n in range(8))
started = time.monotonic()
outcome = []
try:
    for batch in model.answer(questions, Budget()):
        outcome += [(response.text or "")[:20] if response.error is None else response.error for _, response in batch]
except ModelError as error:
    outcome.append(f"ModelError: {{error}}")
print(json.dumps([outcome, time.monotonic() - started, peak_kb() / 1024]))
"""


def zeros() -> tuple[bytes, bytes]:
    """The start of an endless gzip stream of zeros, and what continues it: 64 kB of it are 64 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    start = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH)
    return start, packer.compress(bytes(64 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH)


def flood(body: bytes, more: bytes, latency_s: float = 0.0) -> Reply:
    return Reply(body, does="flood", more=more, latency_s=latency_s)


ENDLESS: dict[str, Callable[[], Reply]] = {
    "headers": lambda: flood(OK, b"X-A: b\r\n" * 8192),
    "a header": lambda: flood(OK + b"X: ", b"a" * BLOCK),
    "a status line": lambda: flood(b"HTTP/1.1 200 ", b"a" * BLOCK),
    "interim replies": lambda: flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2048),
    "a body": lambda: flood(OK + b"\r\n", b"x" * BLOCK),
    "a promised body": lambda: flood(OK + b"Content-Length: 99999999999\r\n\r\n", b"x" * BLOCK),
    "chunks": lambda: flood(CHUNKED, b"1\r\nx\r\n" * 8192),
    "the size of a chunk": lambda: flood(CHUNKED, b"0" * BLOCK),
    "a chunk's extension": lambda: flood(CHUNKED + b"5;", b"a" * BLOCK),
    "trailers": lambda: flood(CHUNKED + b"0\r\n", b"X: y\r\n" * 8192),
    "packed zeros": lambda: flood(OK + b"Content-Encoding: gzip\r\n\r\n" + zeros()[0], zeros()[1]),
    "a slow body": lambda: flood(OK + b"\r\n", b"x", 0.02),
    "slow headers": lambda: flood(OK, b"X: y\r\n", 0.02),
}
LARGE: dict[str, Callable[[], bytes]] = {
    "empty lists": lambda: b"[" + b"[]," * 5_000_000 + b"[]]",
    "objects in objects": lambda: b"[" + b'{"":{}},' * 1_900_000 + b"0]",
    "pairs": lambda: b"{" + b",".join(b'"%d":0' % n for n in range(1_300_000)) + b"}",
    "numbers": lambda: b"[" + b"0.1," * 3_900_000 + b"0]",
    "texts": lambda: b"[" + b'"ab",' * 3_000_000 + b"0]",
    "brackets": lambda: b"[" * (15 << 20),
    "quotes": lambda: b'{"a":"' + b'\\"[{,' * 3_000_000,
    "digits": lambda: b"9" * (15 << 20),
    "wide letters": lambda: openai_chat("").body.replace(b'""', b'"' + "😀".encode() + b"a" * (15 << 20) + b'"'),
}


def against(reply: Reply) -> tuple[list[str], float, float]:
    """What a client of its own makes of a server that always replies so: outcomes, seconds, MB at most."""
    with serve(lambda _: reply) as server:
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, server.url],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
    assert done.returncode == 0, done.stderr
    outcome, seconds, megabytes = json.loads(done.stdout)
    return outcome, seconds, megabytes


@pytest.mark.parametrize("reply", ENDLESS.values(), ids=ENDLESS)
def test_a_reply_without_an_end_is_an_error_in_time_and_in_little_memory(reply: Callable[[], Reply]) -> None:
    outcome, seconds, megabytes = against(reply())
    assert outcome
    assert all(error.startswith(("no whole reply within", "connection lost", "the repl")) for error in outcome)
    assert seconds < 4 * LIMIT_S, "the limit, and what eight floods take of a busy machine"
    assert megabytes < MOST_MB


@pytest.mark.parametrize("body", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_large_reply_is_an_error_or_an_answer_in_little_memory(body: Callable[[], bytes], packed: bool) -> None:
    data = body()
    reply = Reply(gzip.compress(data, 1), headers={"Content-Encoding": "gzip"}) if packed else Reply(data)
    outcome, _, megabytes = against(reply)
    assert len(outcome) in {1, 8}
    assert megabytes < MOST_MB


def test_large_answers_one_after_another_are_all_answers() -> None:
    text = "TRUE " * 2_000_000
    with serve(lambda _: openai_chat(text)) as server:
        model = openai.model("m", base_url=server.url, workers=1, retries=0)
        answers = [pair for batch in model.answer(iter(questions(6)), Budget()) for pair in batch]
    assert [response.text for _, response in answers] == [text] * 6


def test_a_block_that_unpacks_to_a_thousand_times_its_length_is_unpacked_no_further_than_allowed() -> None:
    bomb = gzip.compress(bytes(8 << 20))
    assert len(_unpacked(zlib.decompressobj(31), bomb, 1000)) == 1000


def questions(n: int = 1) -> list[tuple[int, Request]]:
    return [(key, Request((Message("user", f"question {key}"),), Sampling(max_tokens=8))) for key in range(n)]


def one(reply: Reply, **options: object) -> Response | str:
    """The response to one question, or the ModelError that it came to."""
    with serve(lambda _: reply) as server:
        chosen: dict[str, object] = {"backoff_s": 0.001, "timeout_s": LIMIT_S, "retries": 0, **options}
        model = openai.model("m", base_url=server.url, **chosen)  # type: ignore[arg-type]  # a test passes what it likes
        try:
            ((_, response),) = [pair for batch in model.answer(iter(questions()), Budget()) for pair in batch]
        except ModelError as error:
            return str(error)
    return response


@pytest.mark.parametrize(
    "usage",
    [
        '{"prompt_tokens":NaN,"completion_tokens":-Infinity}',
        '{"prompt_tokens":1e999,"completion_tokens":-1}',
        '{"prompt_tokens":' + "9" * 3000 + ',"completion_tokens":true}',
        '{"prompt_tokens":1000000001,"completion_tokens":"7"}',
        "[1, 2]",
        "null",
        "NaN",
    ],
)
def test_a_wild_usage_loses_no_answer_and_counts_nothing(usage: str) -> None:
    body = f'{{"choices":[{{"message":{{"role":"a","content":"x"}}}}],"usage":{usage}}}'
    outcome = one(Reply(body.encode()))
    assert isinstance(outcome, Response)
    assert (outcome.text, outcome.usage) == ("x", None)


def test_content_nested_without_end_is_an_error_of_that_trial() -> None:
    deep = b'{"choices":[{"message":{"role":"a","content":' + b"[" * 800 + b"]" * 800 + b"}}]}"
    outcome = one(Reply(deep))
    assert isinstance(outcome, Response)
    assert outcome.error == "the reply's content is neither a text nor parts of one"


def test_an_answer_begun_with_a_mark_is_read() -> None:
    marked = one(Reply(b"\xef\xbb\xbf" + openai_chat("TRUE").body))
    assert isinstance(marked, Response)
    assert marked.text == "TRUE"


def test_a_reason_to_stop_of_a_megabyte_is_left_out() -> None:
    outcome = one(openai_chat("TRUE", finish="x" * 1_000_000))
    assert isinstance(outcome, Response)
    assert (outcome.text, outcome.finish) == ("TRUE", None)


def test_scores_of_choices_that_lie_are_an_error_of_that_trial() -> None:
    request = Request((Message("user", "She"),), Sampling(), (" works", " work"))
    replies = (
        {"index": [], "logprobs": {"tokens": ["She", " works"], "token_logprobs": [None, -1]}},
        {"index": {"a": 1}, "logprobs": 7},
        {"index": 0, "logprobs": {"tokens": [[], {}], "token_logprobs": [None, []]}},
        {"index": 1e308, "logprobs": {"tokens": ["She", " works"], "token_logprobs": [None, math.inf]}},
    )
    for reply in replies:
        body = json.dumps({"choices": [reply, reply]}).encode()
        with serve(lambda _, body=body: Reply(body)) as server:  # type: ignore[misc]  # the body of this turn
            model = openai.model("m", base_url=server.url, endpoint="completions", retries=0)
            try:
                ((_, response),) = [pair for batch in model.answer(iter([(0, request)]), Budget()) for pair in batch]
            except ModelError:
                continue
            assert response.error


@pytest.mark.parametrize("path", ["/models", "/api/tags"])
def test_a_listing_without_bottom_is_an_error(path: str) -> None:
    deep = b'{"data":[{"id":"m","x":' + b"[" * 700 + b"]" * 700 + b'}],"models":[]}'
    with serve(lambda r: Reply(deep) if r.path.endswith(path) else Reply(b'{"version":"1"}')) as server:
        model = openai.model("m", base_url=server.url, retries=0)
        if path == "/models":
            with pytest.raises(ModelError, match="nested more than"):
                model.fingerprint()
        else:
            assert model.fingerprint()


@pytest.mark.parametrize(
    "where",
    [
        "http://127.0.0.1:{port}/v2",
        "http://localhost:{port}/x",
        "file:///etc/hostname",
        "//127.0.0.1:{port}/",
        "ftp://x/",
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_key_follows_no_redirect(where: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "kk-123456789")
    with serve(lambda _: openai_chat("TRUE")) as other:
        elsewhere = Reply(b"", status, {"Location": where.format(port=other.port)})
        outcome = one(elsewhere, api_key_env="LAB_KEY")
        assert not other.received
    assert isinstance(outcome, str)
    assert "redirects" in outcome


@pytest.mark.parametrize(
    "value",
    ["nan", "inf", "-inf", "1e999", "-1e308", "", "soon", "Sun, 99 Nov 9999 00:00:00 +99999999999999", "\u0663"],
)
def test_a_wish_to_wait_is_read_or_left_alone(value: str) -> None:
    seconds = retry_after({"Retry-After": value})
    assert seconds is None or seconds >= 0


def test_a_server_that_counts_wildly_does_not_stop_the_pace_for_days() -> None:
    caller = Caller(Link("http://127.0.0.1/v1", tpm=60_000.0), {}, str, Budget())
    caller.tokens_pace.reserve(100, 0.0)
    caller._account(Response("x", usage=Usage(999_999_999, 999_999_999)), 100)
    assert caller.tokens_pace.reserve(1, 0.0) < 10


def test_limits_of_what_is_read() -> None:
    assert as_usage(10**9 + 1, -1) is None
    with pytest.raises(BadReplyError, match="more than 1000000 values"):
        parse(b"[" + b"0," * 1_000_001 + b"0]")
    assert parse(b'{"a":"' + b"[{," * 500_000 + b'"}') == {"a": "[{," * 500_000}


def evaluate(tmp_path: Path, items: Path, url: str, *more: str) -> Result:
    options = {"base_url": f"{url}/v1", "backoff_s": 0.001, "retries": 1, "timeout_s": 0.5}
    given = [f"--model-option={name}={value}" for name, value in options.items()]
    what = ["eval", "--task", "questions", "--items", str(items), "--model", "openai/m", "--name", "r"]
    return CliRunner().invoke(cli, [*what, "--out", str(tmp_path), *given, *more])


def failing(reply: Reply) -> Callable[[Received], Reply]:
    return lambda received: Reply(b'{"data":[]}') if received.path.endswith("/models") else reply


NO_ANSWER = {
    "429": openai_error(429, "slower"),
    "500": openai_error(500, "overloaded"),
    "400": openai_error(400, "no such parameter"),
    "time-outs": Reply(does="silent"),
    "resets": Reply(does="reset"),
    "no JSON": Reply(b"<html>"),
    "no answer": Reply(b"{}"),
}


@pytest.mark.parametrize("reply", NO_ANSWER.values(), ids=NO_ANSWER)
@pytest.mark.parametrize("count", [1, 4])
def test_a_run_without_any_answer_is_exit_4_says_why_and_can_be_resumed(
    tmp_path: Path, items_file: Callable[..., Path], reply: Reply, count: int
) -> None:
    items = items_file(count)
    with serve(failing(reply)) as server:
        done = evaluate(tmp_path, items, server.url)
    assert isinstance(done.exception, ModelError), done.output
    assert done.exception.exit_code == 4
    assert "run the same command again to resume" in str(done.exception)
    with serve(failing(openai_chat("TRUE"))) as server:
        again = evaluate(tmp_path, items, server.url)
    assert again.exit_code == 0, again.output
    assert f"{count} of {count} answered" in again.output


def test_some_failures_are_exit_0_with_a_count(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    def script(received: Received) -> Reply:
        if received.path.endswith("/models"):
            return Reply(b'{"data":[]}')
        return openai_error(429, "slower") if "Statement 3" in received.question else openai_chat("TRUE")

    with serve(script) as server:
        done = evaluate(tmp_path, items_file(5), server.url)
    assert done.exit_code == 0, done.output
    assert "1 trial got no answer" in done.stderr


def test_a_resumed_run_whose_rest_fails_is_exit_0_with_a_count(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    items = items_file(5)
    with serve(failing(openai_chat("TRUE"))) as server:
        assert evaluate(tmp_path, items, server.url, "--max-requests", "2").exit_code == 0
    with serve(failing(openai_error(429, "slower"))) as server:
        done = evaluate(tmp_path, items, server.url)
    assert done.exit_code == 0, done.output
    assert "3 trials got no answer" in done.stderr


@pytest.mark.parametrize("limit", [("--max-requests", "0"), ("--max-minutes", "0")])
def test_a_budget_that_allows_nothing_is_not_exit_0(
    tmp_path: Path, items_file: Callable[..., Path], limit: tuple[str, str]
) -> None:
    with serve(failing(openai_chat("TRUE"))) as server:
        done = evaluate(tmp_path, items_file(3), server.url, *limit)
    assert isinstance(done.exception, ModelError), done.output
    assert "Stopped" in done.stderr


def test_a_budget_spent_on_failures_is_exit_4(tmp_path: Path, items_file: Callable[..., Path]) -> None:
    with serve(failing(openai_error(429, "slower"))) as server:
        done = evaluate(tmp_path, items_file(30), server.url, "--max-requests", "4")
    assert isinstance(done.exception, ModelError), done.output
    with Store.open(tmp_path / "r" / "run.db") as store:
        assert sum(cell.answered for cell in store.cells()) == 0
