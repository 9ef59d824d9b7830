"""Keys: no spelling of one is stored, shown or published, whatever sends it back and wherever a text is cut."""

from __future__ import annotations

import base64
import gzip
import html
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from perpend.ask.guarded import Guarded
from perpend.cli import cli
from perpend.errors import ModelError, SpecError
from perpend.models import ollama, openai
from perpend.models.http.link import Link
from perpend.spec.keys import (
    HIDDEN,
    WITHHELD,
    holds_a_key,
    is_telling,
    key_values,
    keys_here,
    keys_in,
    note_variables,
    noted_variables,
    spellings,
)
from perpend.spec.model import Answers, Budget
from perpend.spec.runspec import parse_spec
from perpend.types import Request, Response, Usage
from tests.servers import Received, Reply, openai_chat, openai_error, serve

KEY = "kk/Zx91+QpLm-77_w=abc"
DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "small letters": str.lower,
    "address": lambda key: quote(key, safe=""),
    "every letter of an address": lambda key: "".join(f"%{ord(ch):02X}" for ch in key),
    "an address in an address": lambda key: quote(quote(key, safe=""), safe=""),
    "JSON": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "every letter of JSON": lambda key: "".join(f"\\u{ord(ch):04x}" for ch in key),
    "HTML": html.escape,
    "every letter of HTML": lambda key: "".join(f"&#{ord(ch)};" for ch in key),
    "hex": lambda key: key.encode().hex(),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 with a name": lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
    "base64 for addresses": lambda key: base64.urlsafe_b64encode(f"u:{key}:x".encode()).decode(),
}


def holds(text: str, key: str = KEY) -> bool:
    """Whether a text holds the key in a spelling of this file."""
    return any(disguise(key) in text for disguise in DISGUISES.values())


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key but the one that this file sends, under a name that does not look like one."""
    for name in list(os.environ):
        if holds_a_key(name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MYSERVER", KEY)


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "HF_TOKEN", "my_secret", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "APIKEY", "KEY_2", "Pass"],
)
def test_the_name_of_a_variable_says_that_it_holds_a_key(name: str) -> None:
    assert holds_a_key(name)


@pytest.mark.parametrize("name", ["PATH", "KEYBOARD", "TOKENIZERS_PARALLELISM", "MAX_TOKENS", "PASSAGE", "HOME"])
def test_other_variables_hold_none(name: str) -> None:
    assert not holds_a_key(name)


def test_values_that_are_words_or_counts_are_not_looked_for() -> None:
    words = {"A_KEY": "EMPTY", "B_KEY": "ollama", "C_KEY": "12345678", "D_KEY": "", "E_KEY": "password", "F_KEY": "abc"}
    assert key_values(words) == {}
    assert key_values({"A_KEY": "hunter2", "B": "x", "C": "named-by-1-spec"}, ["C"]) == {
        "A_KEY": "hunter2",
        "C": "named-by-1-spec",
    }


@pytest.mark.parametrize("value", ["not-needed", "lm-studio", "sk-no-key-required", "your_api_key", "hunter2"])
def test_a_value_that_stands_for_no_key_changes_no_answer(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB", value)
    assert not is_telling(value)
    response = Response(f"It says {value}, which is not-needed.", finish="stop")
    assert keys_in(["LAB"]).scrub_response(response) == response


@pytest.mark.parametrize("value", ["correct-horse-battery-staple", "abcdefghijklmnopqrst", "123456789012"])
def test_a_value_that_no_text_holds_by_right_counts(value: str) -> None:
    assert is_telling(value)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_no_spelling_of_a_key_is_left_in_a_text(disguise: Callable[[str], str]) -> None:
    keys = keys_in(["MYSERVER"])
    for before, after in itertools.product(("", "a ", "x=", "é"), ("", " z", "&y", "…")):
        text = keys.scrub(before + disguise(KEY) + after)
        assert not holds(text)
        assert HIDDEN in text or text == WITHHELD


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("broken", [" ", "\n", "\u200b", "\r\n\t", "\u202e", "\x00"])
def test_a_key_broken_by_blanks_is_not_left_in_an_error(broken: str) -> None:
    assert keys_here(["MYSERVER"]).scrub_error("no: " + KEY[:9] + broken + KEY[9:]) == WITHHELD


@given(st.text(min_size=8).filter(is_telling), st.text(), st.text())
def test_any_value_is_found_in_any_text(value: str, before: str, after: str) -> None:
    assert value in spellings(value)
    data = before.encode("utf-8", "replace") + value.encode("utf-8", "replace") + after.encode("utf-8", "replace")
    packed = base64.b64encode(data).decode()
    assert any(len(way) >= 8 and way in packed for way in spellings(value)) or "?" in value


@pytest.mark.usefixtures("environment")
def test_ordinary_texts_are_left_as_they_are() -> None:
    keys = keys_here(["MYSERVER"])
    for text in ("50% of a\\b & c", r"\frac{a}{b} \xi \u", "a%20b %zz", "&amp; &#65;", "kk/Zx91", ""):
        assert keys.scrub(text) == keys.scrub_error(text) == text


def test_a_short_key_is_taken_out_of_errors_as_a_word_and_left_in_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "hunter2")
    keys = keys_here()
    error = keys.scrub_response(Response(error="wrong key hunter2; see hunter22"))
    assert error.error == "wrong key <key>; see hunter22"
    assert keys.scrub_response(Response("hunter2 is a password")).text == "hunter2 is a password"


def test_a_key_of_digits_is_taken_out_of_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB", "1234567890123456")
    keys = keys_in(["LAB"])
    assert keys.scrub_response(Response("x", usage=Usage(1234567890123456, 2))).usage is None
    assert keys.scrub_response(Response("x", usage=Usage(3, 2))).usage == Usage(3, 2)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
@pytest.mark.parametrize("filler", ["x", " ", "é ", "%41", "\\u0041"])
def test_no_half_of_a_key_is_left_where_a_text_is_cut(disguise: Callable[[str], str], filler: str) -> None:
    """The key at every place around each cut: at most its first six characters may be shown."""
    link = Link("http://127.0.0.1/v1", "MYSERVER")
    shown = disguise(KEY)
    for cut in (300, 1 << 14, (1 << 14) + link.keys().longest):
        for place in range(cut - len(shown) - 3, cut + 3, 7):
            words = link.scrub((filler * cut)[:place] + shown + " tail" * 9000)
            assert shown[:12] not in words, place
            assert KEY[:7] not in words, place
            assert len(words) <= 300


def fields(key: str) -> Iterator[tuple[str, Reply]]:
    """A reply for every place in which a server may send something back."""
    good = json.loads(openai_chat("TRUE").body)
    yield "text", openai_chat(f"TRUE {key}")
    yield "finish", openai_chat("TRUE", finish=key)
    yield "refusal", openai_chat(None, refusal=key)
    yield "model", Reply(json.dumps({**good, "model": key, "id": key}).encode())
    yield "usage", Reply(json.dumps({**good, "usage": {"prompt_tokens": key, key: 3}}).encode())
    yield "header", Reply(openai_chat("TRUE").body, headers={"X-Key": quote(key), "Content-Type": quote(key)})
    yield "message of a 400", openai_error(400, f"wrong key {key}", code=key)
    yield "message of a 500", openai_error(500, f"{'x' * 290} {key}")
    yield "body of a 500", Reply(f"{'x' * 190}{key}".encode(), 500)
    yield "body that is no JSON", Reply(f"{'<p>' * 25}{key}".encode())
    yield "JSON without an answer", Reply(json.dumps({"error": {"message": [key]}, "x": key}).encode())
    yield "escaped JSON", Reply(('{"x": "' + "".join(f"\\u{ord(ch):04x}" for ch in key) + '"}').encode())


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("disguise", ["plain", "address", "base64 with a name", "every letter of an address"])
@pytest.mark.parametrize("place", [name for name, _ in fields("")])
def test_a_key_that_a_server_sends_back_reaches_no_file_and_no_terminal(
    tmp_path: Path, items_file: Callable[..., Path], place: str, disguise: str
) -> None:
    hostile = dict(fields(DISGUISES[disguise](KEY)))[place]

    def script(received: Received) -> Reply:
        if received.path.endswith("/models"):
            entry = {"id": "m", "owned_by": f"by {DISGUISES[disguise](KEY)}", DISGUISES[disguise](KEY): KEY}
            return Reply(json.dumps({"data": [entry]}).encode())
        assert received.headers["authorization"] == f"Bearer {KEY}"
        return hostile if "Statement 1:" in received.question or place == "text" else openai_chat("TRUE")

    with serve(script) as server:
        options = {"base_url": f"{server.url}/v1", "api_key_env": "MYSERVER", "backoff_s": 0.001, "retries": 1}
        given = [f"--model-option={name}={value}" for name, value in options.items()]
        what = ["eval", "--task", "questions", "--items", str(items_file(4)), "--model", "openai/m", "--name", "r"]
        done = CliRunner().invoke(cli, [*what, "--out", str(tmp_path / "runs"), *given])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(cli, ["show", str(tmp_path / "runs" / "r"), "--n-per-group", "9"])
    assert not holds(done.output + shown.output)
    for path in (tmp_path / "runs").rglob("*"):
        if path.is_file():
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            assert not holds(data.decode("utf-8", "replace")), path
            assert DISGUISES[disguise](KEY)[:10].encode() not in data, f"{path}: half of it"
    assert noted_variables(tmp_path / "runs" / "r") == ["MYSERVER"]


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("status", [401, 402, 403, 404, 429, 302, 307])
def test_an_error_that_ends_the_run_shows_no_key(tmp_path: Path, items_file: Callable[..., Path], status: int) -> None:
    def script(received: Received) -> Reply:
        if received.path.endswith("/models"):
            return Reply(b"{}", 404)
        return openai_error(status, f"no: {KEY} {quote(KEY, safe='')}", Location=f"http://127.0.0.1/{quote(KEY)}")

    with serve(script) as server:
        options = {"base_url": f"{server.url}/v1", "api_key_env": "MYSERVER", "backoff_s": 0.001, "retries": 1}
        given = [f"--model-option={name}={value}" for name, value in options.items()]
        what = ["eval", "--task", "questions", "--items", str(items_file(4)), "--model", "openai/m", "--name", "r"]
        done = CliRunner().invoke(cli, [*what, "--out", str(tmp_path / "runs"), *given])
    assert isinstance(done.exception, ModelError)
    assert not holds(str(done.exception))
    assert not holds(repr(done.exception))


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("provider", [openai, ollama])
def test_a_fingerprint_holds_no_key_that_the_server_lists(provider: ModuleType) -> None:
    entry = {"id": "m", "name": "m", "owned_by": KEY, "digest": KEY, "details": {"quantization_level": KEY}}
    body = json.dumps({"data": [entry], "models": [entry], "version": KEY}).encode()
    with serve(lambda _: Reply(body)) as server:
        model = provider.model("m", base_url=server.url, api_key_env="MYSERVER")
        facts = json.dumps(dict(model.fingerprint()))
    assert HIDDEN in facts
    assert not holds(facts)


class Careless:
    """A provider that lets a key through wherever it can."""

    name = "careless"

    def fingerprint(self) -> Mapping[str, str]:
        return {"provider": "careless", "token": KEY}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        del requests, budget
        yield [(1, Response(f"my key is {KEY}", finish=KEY)), (2, Response(error=f"KeyError: {KEY!r}"))]
        raise ModelError(f"no luck with {KEY}")


@pytest.mark.usefixtures("environment")
def test_a_provider_of_somebody_else_is_guarded_too() -> None:
    model = Guarded(Careless(), ("MYSERVER",))
    answers = model.answer(iter([]), Budget())
    batch = next(answers)
    assert [response for _, response in batch] == [
        Response("my key is <key>", finish="<key>"),
        Response(error="KeyError: '<key>'"),
    ]
    with pytest.raises(ModelError, match="no luck with <key>"):
        next(answers)
    assert model.fingerprint() == {"provider": "careless", "token": "<key>"}


@pytest.mark.parametrize("option", ["api_key", "key", "token", "password", "my_api_key", "hf_token", "client_secret"])
def test_a_key_itself_is_refused_in_a_spec(option: str) -> None:
    body = {"task": "t", "model": [{"name": "openai/m", option: "sk-shown"}]}
    with pytest.raises(SpecError, match="use api_key_env") as refused:
        parse_spec(body, folder=Path(), where="run.toml")
    assert "sk-shown" not in str(refused.value)


def test_the_names_of_variables_are_kept_beside_the_run(tmp_path: Path) -> None:
    note_variables(tmp_path, [])
    assert not list(tmp_path.iterdir())
    note_variables(tmp_path, ["B", "A"])
    note_variables(tmp_path, ["C", "A"])
    assert noted_variables(tmp_path) == ["A", "B", "C"]
