"""The HTTP core, through the openai provider: what is retried, what is data, what ends a run, what leaks."""

from __future__ import annotations

import asyncio
import gc
import gzip
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from perpend.errors import ModelError, SpecError
from perpend.models import openai
from perpend.models.http import exchange
from perpend.models.http.attempt import Pace
from perpend.models.http.reply import retry_after
from perpend.spec.model import Budget
from perpend.types import Message, Request, Response, Sampling
from tests.servers import Received, Reply, Script, Server, openai_chat, openai_error, serve
from tests.tables import table

GOOD = openai_chat("TRUE")


def questions(n: int, start: int = 0) -> Iterator[tuple[int, Request]]:
    for key in range(start, start + n):
        yield key, Request((Message("user", f"question {key}"),), Sampling(max_tokens=8))


def model_at(server: Server | str, **options: object) -> openai.OpenAI:
    url = server if isinstance(server, str) else server.url
    chosen: dict[str, object] = {"backoff_s": 0.001, "timeout_s": 5.0, **options}
    return openai.model("stub", base_url=f"{url}/v1", **chosen)  # type: ignore[arg-type]  # a test passes what it likes


def ask(model: openai.OpenAI, n: int, budget: Budget | None = None) -> dict[int, Response]:
    answers = [pair for batch in model.answer(questions(n), budget or Budget()) for pair in batch]
    assert len({key for key, _ in answers}) == len(answers), "a key was answered twice"
    return dict(answers)


def asked(server: Server) -> list[str]:
    return [received.question for received in server.received]


def wait_until(holds: Callable[[], bool]) -> bool:
    """Whether it holds within two seconds."""
    end = time.monotonic() + 2.0
    while not holds() and time.monotonic() < end:
        time.sleep(0.002)
    return holds()


def first_then(first: Reply, *more: Reply, then: Reply = GOOD) -> Script:
    """The first replies to each question, in order, and then another for ever."""
    seen: dict[str, Iterator[Reply]] = {}

    def script(received: Received) -> Reply:
        replies = seen.setdefault(received.question, itertools.chain([first, *more], itertools.repeat(then)))
        return next(replies)

    return script


def test_every_question_is_answered_once_and_at_most_workers_at_a_time() -> None:
    with serve(lambda r: replace(openai_chat(r.question.upper()), latency_s=0.005)) as server:
        answers = ask(model_at(server, workers=3), 50)
    assert {key: response.text for key, response in answers.items()} == {n: f"QUESTION {n}" for n in range(50)}
    assert 1 < server.most_in_flight <= 3
    assert all(response.ms is not None and response.ms > 0 for response in answers.values())


def test_answers_come_as_they_arrive_and_requests_are_pulled_only_as_needed() -> None:
    pulled: list[int] = []

    def watched() -> Iterator[tuple[int, Request]]:
        for key, request in questions(100):
            pulled.append(key)
            yield key, request

    with serve(lambda _: GOOD) as server:
        for _ in model_at(server, workers=4).answer(watched(), Budget()):
            assert len(pulled) <= 8
            break


def test_answers_that_trickle_in_are_stored_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit for each answer is what made a slow server cost more processor time per item than a fast one."""
    monkeypatch.setattr(exchange, "_GATHER_S", 60.0)
    with serve(lambda received: replace(GOOD, latency_s=0.002 * (received.number % 8))) as server:
        batches = [len(batch) for batch in model_at(server, workers=8).answer(questions(64), Budget())]
    assert sum(batches) == 64
    assert min(batches[:-1]) >= 8, "as many as there are workers; the last has the rest"


def test_an_answer_does_not_wait_for_a_slow_one() -> None:
    with serve(lambda received: replace(GOOD, latency_s=30.0 if received.question == "question 1" else 0)) as server:
        answers = model_at(server, workers=2).answer(questions(2), Budget())
        assert [key for key, _ in next(answers)] == [0]
        answers.close()


def test_what_is_answered_when_the_run_is_interrupted_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_GATHER_S", 60.0)

    def interrupted() -> Iterator[tuple[int, Request]]:
        yield from questions(2)
        raise KeyboardInterrupt  # the third is pulled when one of the two is answered

    with serve(lambda received: replace(GOOD, latency_s=30.0 if received.question == "question 1" else 0)) as server:
        answers = model_at(server, workers=2).answer(interrupted(), Budget())
        assert [key for key, _ in next(answers)] == [0]
        with pytest.raises(KeyboardInterrupt):
            next(answers)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_a_passing_failure_is_tried_again(status: int) -> None:
    with serve(first_then(openai_error(status, "busy"), openai_error(status, "busy"))) as server:
        answers = ask(model_at(server), 2)
    assert [answers[n].text for n in range(2)] == ["TRUE", "TRUE"]
    assert len(server.received) == 6


@pytest.mark.parametrize("does", ["cut", "reset", "silent", "drip"])
def test_a_broken_connection_is_tried_again(does: str) -> None:
    bad = Reply(GOOD.body, does=does)  # type: ignore[arg-type]  # pytest hands over plain strings
    with serve(first_then(bad)) as server:
        answers = ask(model_at(server, timeout_s=0.25), 1)
    assert answers[0].text == "TRUE"
    assert len(server.received) >= 2


@pytest.mark.parametrize("does", ["cut", "reset", "silent", "drip"])
def test_a_connection_that_stays_broken_for_one_item_costs_that_item_only(does: str) -> None:
    bad = Reply(GOOD.body, does=does)  # type: ignore[arg-type]  # pytest hands over plain strings
    with serve(lambda r: bad if r.question == "question 7" else GOOD) as server:
        answers = ask(model_at(server, timeout_s=0.25, retries=1, workers=4), 20)
    assert {key for key, response in answers.items() if response.text is None} == {7}
    assert len(answers) == 20
    assert asked(server).count("question 7") == 2


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_one_item_that_always_fails_costs_that_item_only(status: int) -> None:
    bad = openai_error(status, "the context is too long")
    with serve(lambda r: bad if r.question == "question 3" else GOOD) as server:
        answers = ask(model_at(server, retries=2), 40)
    assert len(answers) == 40
    assert [key for key, response in answers.items() if response.error] == [3]
    assert answers[3].error is not None
    assert f"HTTP {status}: the context is too long" in answers[3].error
    assert asked(server).count("question 3") == (3 if status == 500 else 1)


def test_a_bad_first_item_is_data_once_another_one_is_answered() -> None:
    with serve(lambda r: openai_error(400, "no") if r.question == "question 0" else GOOD) as server:
        answers = ask(model_at(server, workers=1), 3)
    assert answers[0].error == "HTTP 400: no"
    assert [answers[n].text for n in (1, 2)] == ["TRUE", "TRUE"]


def test_one_refusal_alone_is_data_so_that_a_run_with_one_bad_item_can_be_repeated() -> None:
    with serve(lambda _: openai_error(400, "too long")) as server:
        assert ask(model_at(server), 1)[0].error == "HTTP 400: too long"


@pytest.mark.parametrize("n", [2, 100])
def test_a_server_that_refuses_everything_ends_the_run_with_its_words(n: int) -> None:
    with (
        serve(lambda _: openai_error(400, "temperature must be 1")) as server,
        pytest.raises(ModelError, match="temperature must be 1"),
    ):
        ask(model_at(server), n)
    assert len(server.received) <= 16


@pytest.mark.parametrize(("status", "advice"), [(401, "check the key"), (403, "check the key"), (404, "model's name")])
def test_a_closed_door_ends_the_run_at_once(status: int, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "s3cret")
    with serve(lambda _: openai_error(status, "no entry")) as server, pytest.raises(ModelError, match=advice) as caught:
        ask(model_at(server, api_key_env="STUB_KEY", workers=2), 100)
    assert "no entry" in str(caught.value)
    assert len(server.received) <= 2


def test_an_empty_account_is_not_a_rate_limit() -> None:
    with (
        serve(lambda _: openai_error(429, "You exceeded your current quota", "insufficient_quota")) as server,
        pytest.raises(ModelError, match="check the account"),
    ):
        ask(model_at(server, workers=1), 5)
    assert len(server.received) == 1


def test_a_missing_key_ends_the_run_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STUB_KEY", raising=False)
    with serve(lambda _: GOOD) as server, pytest.raises(ModelError, match="STUB_KEY is not set"):
        ask(model_at(server, api_key_env="STUB_KEY"), 1)
    assert server.received == []


def test_neither_key_nor_address_is_in_errors_or_reprs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", "s3cret")
    words = "key s3cret is not for http://127.0.0.1:8080/v1, said 127.0.0.1. " + "x" * 1000

    def script(received: Received) -> Reply:
        if received.method == "GET":
            return openai_error(404, words)
        return GOOD if received.question == "question 0" else openai_error(400, words)

    with serve(script) as server:
        model = model_at(server, api_key_env="STUB_KEY", workers=1)
        error = ask(model, 2)[1].error
        assert server.received[0].headers["authorization"] == "Bearer s3cret"
        fingerprint = model.fingerprint()
    assert error is not None
    for shown in (error, repr(model), json.dumps(dict(fingerprint))):
        assert "s3cret" not in shown
        assert "127.0.0.1" not in shown
    assert len(error) <= 300


def test_the_server_s_wish_to_wait_is_heeded_by_every_worker() -> None:
    first = threading.Event()
    refused_at: list[float] = []

    def script(received: Received) -> Reply:
        if not first.is_set():
            first.set()
            refused_at.append(time.monotonic())
            return openai_error(429, "slow down", **{"Retry-After": "0.1"})
        sent_at.append(time.monotonic())
        return GOOD

    sent_at: list[float] = []
    with serve(script) as server:
        answers = ask(model_at(server, workers=1), 3)
    assert len(answers) == 3
    assert min(sent_at) - refused_at[0] >= 0.1


def test_retry_after_reads_seconds_and_dates_and_nothing_else() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    waited = retry_after({"Retry-After": later})
    assert waited is not None
    assert 25 < waited <= 30
    assert retry_after({"Retry-After": "2"}) == 2.0
    assert retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert [retry_after({"Retry-After": bad}) for bad in ("soon", "nan", "")] == [None, None, None]
    assert retry_after({}) is None


def test_a_wait_of_hours_ends_the_run_instead_of_sleeping() -> None:
    with (
        serve(lambda _: openai_error(429, "daily quota", **{"Retry-After": "7200"})) as server,
        pytest.raises(ModelError, match="asks to wait 7200 s"),
    ):
        ask(model_at(server), 3)


def test_a_dead_server_ends_the_run_and_its_requests_stay_unanswered() -> None:
    answers: dict[int, Response] = {}

    def collect(server: Server) -> None:
        for batch in model_at(server, workers=4, retries=1).answer(questions(500), Budget()):
            answers.update(batch)
            if len(answers) >= 20:
                server.stop()

    with serve(lambda _: GOOD) as server, pytest.raises(ModelError, match="run the same command again to resume"):
        collect(server)
    assert 20 <= len(answers) < 100
    assert all(response.text == "TRUE" for response in answers.values())


def test_a_server_that_was_never_there_ends_the_run() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ModelError, match="cannot be reached") as caught:
        ask(model_at(url, retries=1), 1)
    assert "Connection refused" in str(caught.value)


def test_a_server_that_comes_back_is_asked_again_what_it_missed() -> None:
    with serve(lambda _: GOOD) as server:
        port = server.port
        stream = model_at(server, workers=2, retries=8, backoff_s=0.01).answer(questions(40), Budget())
        answers = dict(next(stream))
        server.stop()
        revived: list[Server] = []

        def revive() -> None:
            time.sleep(0.05)
            revived.append(Server(lambda _: GOOD, port))

        thread = threading.Thread(target=revive)
        thread.start()
        for batch in stream:
            answers.update(batch)
        thread.join()
        revived[0].stop()
    assert sorted(answers) == list(range(40))
    assert all(response.text == "TRUE" for response in answers.values())


def test_a_server_that_fails_everything_for_long_ends_the_run() -> None:
    with (
        serve(lambda _: openai_error(503, "loading the model")) as server,
        pytest.raises(ModelError, match=r"16 requests failed in a row .*loading the model"),
    ):
        ask(model_at(server, retries=1), 1000)
    assert len(server.received) < 100


def test_a_few_failures_at_the_end_are_data() -> None:
    with serve(lambda _: openai_error(500, "oops")) as server:
        answers = ask(model_at(server, retries=1), 3)
    assert [answers[n].error for n in range(3)] == ["2 attempts, the last: HTTP 500: oops"] * 3


@pytest.mark.parametrize("status", [200, 400, 429, 500])
@pytest.mark.parametrize(
    *table(
        "http_bodies_refused",
        ("[" * 1_000_000,),
        ('{"a":' * 100_000,),
        ("9" * 10_000,),
        ('{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":' + "9" * 100_000,),
    )
)
def test_a_body_that_is_no_answer_is_an_error_of_that_trial(body: str, status: int) -> None:
    """A body is bytes, written here as the characters of their numbers."""
    bad = Reply(body.encode("latin-1"), status)
    with serve(lambda r: bad if r.question == "question 1" else GOOD) as server:
        answers = ask(model_at(server, retries=1, workers=1), 3)
    assert answers[1].error is not None
    assert len(answers[1].error) <= 300
    assert [answers[n].text for n in (0, 2)] == ["TRUE", "TRUE"]


@pytest.mark.parametrize(*table("http_refused", ("HTTP/1.1 200 OK\r\nX: " + "y" * 100_000 + "\r\n\r\n",)))
def test_what_is_not_http_is_an_error_of_that_trial(raw: str) -> None:
    bad = Reply(raw.encode("latin-1"), does="raw")
    with serve(lambda r: bad if r.question == "question 1" else GOOD) as server:
        answers = ask(model_at(server, retries=0), 3)
    assert answers[1].error is not None
    assert [answers[n].text for n in (0, 2)] == ["TRUE", "TRUE"]


def test_a_status_below_200_ends_the_run() -> None:
    for raw in (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nxxxx", b"HTTP/1.1 000 x\r\n\r\n"):
        with serve(lambda _, raw=raw: Reply(raw, does="raw")) as server, pytest.raises(ModelError, match="protocol"):  # type: ignore[misc]
            ask(model_at(server, retries=0), 1)


def test_an_answer_is_read_whatever_its_content_type_and_compression() -> None:
    squeezed = Reply(gzip.compress(GOOD.body), headers={"Content-Type": "text/html", "Content-Encoding": "gzip"})
    with serve(lambda _: squeezed) as server:
        assert ask(model_at(server), 1)[0].text == "TRUE"


def test_a_compressed_bomb_is_an_error_and_not_a_full_memory() -> None:
    bomb = Reply(gzip.compress(bytes(80 << 20)), headers={"Content-Encoding": "gzip"})
    with serve(lambda r: bomb if r.question == "question 0" else GOOD) as server:
        answers = ask(model_at(server, retries=0), 2)
    assert answers[0].error == "the reply is longer than 16 MiB"


def test_an_answer_of_ten_megabytes_is_an_answer() -> None:
    text = "TRUE " * 2_000_000
    with serve(lambda _: openai_chat(text)) as server:
        assert ask(model_at(server), 1)[0].text == text


def test_lone_surrogates_become_replacement_characters() -> None:
    with serve(lambda _: openai_chat("a\ud800b")) as server:
        text = ask(model_at(server), 1)[0].text
    assert text == "a\ufffdb"


def test_redirects_are_not_followed_because_the_key_would_be() -> None:
    elsewhere = Reply(b"", 307, {"Location": "/v2/chat/completions"})
    with serve(lambda _: elsewhere) as server, pytest.raises(ModelError, match="redirects"):
        ask(model_at(server), 1)
    assert [received.path for received in server.received] == ["/v1/chat/completions"]


def test_the_budget_counts_retries_and_leaves_the_rest_unanswered() -> None:
    budget = Budget(max_requests=7)
    with serve(first_then(openai_error(500, "once"))) as server:
        answers = ask(model_at(server, workers=2), 100, budget)
    assert len(server.received) == budget.sent == 7
    assert len(answers) == 3
    assert all(response.text == "TRUE" for response in answers.values())


def test_the_budget_is_charged_for_every_answer() -> None:
    budget = Budget(max_usd=100.0, usd_per_input=1.0, usd_per_output=1.0)
    with serve(lambda _: GOOD) as server:
        answers = ask(model_at(server, workers=1), 100, budget)
    assert len(answers) == 10
    assert budget.usd == 100.0


def test_a_rate_limit_spaces_the_requests() -> None:
    with serve(lambda _: GOOD) as server:
        started = time.monotonic()
        ask(model_at(server, rpm=6000), 6)
        assert time.monotonic() - started >= 0.05


def test_a_token_limit_books_an_estimate_and_then_what_was_used() -> None:
    pace = Pace(per_minute=600)
    assert pace.reserve(10, now=100.0) == 0.0
    assert pace.reserve(10, now=100.0) == pytest.approx(1.0)
    pace.correct(booked=10, used=5)
    assert pace.reserve(0, now=100.0) == pytest.approx(1.5)
    assert Pace(None).reserve(1e9, now=0.0) == 0.0


def test_a_consumer_that_stops_leaves_no_open_connection() -> None:
    def interrupted(server: Server) -> None:
        for _ in model_at(server, workers=4).answer(questions(50), Budget()):
            raise KeyboardInterrupt

    with serve(lambda r: GOOD if r.question == "question 0" else Reply(does="silent")) as server:
        with pytest.raises(KeyboardInterrupt):
            interrupted(server)
        gc.collect()
        assert wait_until(lambda: server.open_connections == 0)


def test_an_error_of_the_requests_iterator_is_raised_as_it_is() -> None:
    def broken() -> Iterator[tuple[int, Request]]:
        yield from questions(2)
        raise ZeroDivisionError

    with serve(lambda _: GOOD) as server, pytest.raises(ZeroDivisionError):
        list(model_at(server, workers=1).answer(broken(), Budget()))


def test_it_works_where_a_loop_already_runs_as_in_a_notebook() -> None:
    async def cell() -> dict[int, Response]:
        return ask(model_at(server), 20)

    with serve(lambda _: GOOD) as server:
        answers = asyncio.run(cell())
    assert sorted(answers) == list(range(20))


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with serve(lambda _: GOOD) as server:
        assert ask(model_at(server), 1)[0].text == "TRUE"
    elsewhere = openai.model("stub", base_url="http://models.example:8000/v1")
    assert elsewhere.link.proxy() == "http://127.0.0.1:9"


@pytest.mark.parametrize(*table("http_options_refused"))
def test_an_impossible_option_is_a_spec_error_that_shows_no_secret(options: dict[str, object]) -> None:
    with pytest.raises(SpecError) as caught:
        openai.model("stub", **options)  # type: ignore[arg-type]  # that is the point
    assert "secret" not in str(caught.value)
