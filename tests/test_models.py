"""Every provider, found by pkgutil, is held to the protocol of `perpend.spec.model.Model`."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

import perpend.models
from perpend.spec.model import Budget, Model
from perpend.types import Message, Request, Response, Sampling
from tests.servers import OLLAMA_MODEL, anthropic_message, ollama, openai_chat, serve

KEY = "contract-s3cret"
N = 40


def providers() -> dict[str, ModuleType]:
    """The modules of perpend.models that have a factory; the others are what providers share."""
    names = [module.name for module in pkgutil.iter_modules(perpend.models.__path__)]
    modules = {name: importlib.import_module(f"perpend.models.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "model")}


def questions(n: int = N) -> Iterator[tuple[int, Request]]:
    for key in range(n):
        yield 3 * key + 1, Request((Message("user", f"Is {key} even? TRUE or FALSE."),), Sampling(max_tokens=8))


@contextmanager
def openai_at(folder: Path) -> Iterator[Model]:
    with serve(lambda _: openai_chat("TRUE")) as server:
        yield perpend_model("openai")("stub", base_url=f"{server.url}/v1", api_key_env="CONTRACT_KEY")


@contextmanager
def anthropic_at(folder: Path) -> Iterator[Model]:
    with serve(lambda _: anthropic_message("TRUE")) as server:
        yield perpend_model("anthropic")("stub", base_url=server.url, api_key_env="CONTRACT_KEY")


@contextmanager
def ollama_at(folder: Path) -> Iterator[Model]:
    with serve(ollama) as server:
        yield perpend_model("ollama")(OLLAMA_MODEL, base_url=server.url, api_key_env="CONTRACT_KEY")


@contextmanager
def mock_at(folder: Path) -> Iterator[Model]:
    yield perpend_model("mock")("true")


@contextmanager
def replay_at(folder: Path) -> Iterator[Model]:
    path = folder / "predictions.jsonl"
    rows = [json.dumps({"request_sha256": request.digest, "text": "TRUE"}) for _, request in questions()]
    path.write_text("\n".join(rows), encoding="utf-8")
    yield perpend_model("replay")(str(path))


@contextmanager
def callable_at(folder: Path) -> Iterator[Model]:
    path = folder / "engine.py"
    path.write_text("def answer(request):\n    return 'TRUE'\n", encoding="utf-8")
    yield perpend_model("callable")(f"{path}:answer")


# One line for each provider that can run anywhere; what needs weights or an engine has tests of its own.
STARTS = {
    "anthropic": anthropic_at,
    "callable": callable_at,
    "mock": mock_at,
    "ollama": ollama_at,
    "openai": openai_at,
    "replay": replay_at,
}


def perpend_model(provider: str) -> Callable[..., Model]:
    made: Callable[..., Model] = providers()[provider].model
    return made


@pytest.fixture(params=sorted(set(providers()) & set(STARTS)))
def started(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    monkeypatch.setenv("CONTRACT_KEY", KEY)
    with STARTS[request.param](tmp_path) as model:
        yield model


def answers(model: Model, budget: Budget, n: int = N) -> list[tuple[int, Response]]:
    return [pair for batch in model.answer(questions(n), budget) for pair in batch]


def test_the_known_providers_are_found() -> None:
    assert set(STARTS) <= set(providers())


@pytest.mark.parametrize("provider", sorted(providers()))
def test_a_factory_takes_a_name_and_keyword_options_only(provider: str) -> None:
    first, *options = inspect.signature(perpend_model(provider)).parameters.values()
    assert first.kind in {first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD}
    assert all(option.kind in {option.KEYWORD_ONLY, option.VAR_KEYWORD} for option in options)
    assert all(option.default is not option.empty for option in options if option.kind is option.KEYWORD_ONLY)


@pytest.mark.parametrize("provider", sorted(providers()))
def test_no_option_is_a_secret(provider: str) -> None:
    names = set(inspect.signature(perpend_model(provider)).parameters)
    assert not names & {"api_key", "key", "token", "password", "secret"}


def test_the_name_starts_with_the_provider(started: Model) -> None:
    provider, slash, rest = started.name.partition("/")
    assert provider in STARTS
    assert slash
    assert rest


def test_the_fingerprint_is_stable_text_without_address_path_or_key(started: Model, tmp_path: Path) -> None:
    found = dict(started.fingerprint())
    assert found
    assert found == dict(started.fingerprint())
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in found.items())
    for shown in (json.dumps(found), repr(started)):
        assert KEY not in shown
        assert "127.0.0.1" not in shown
        assert str(tmp_path) not in shown


def test_every_key_is_answered_exactly_once(started: Model) -> None:
    given = answers(started, Budget())
    assert sorted(key for key, _ in given) == [key for key, _ in questions()]
    assert {response.text for _, response in given} == {"TRUE"}


def test_a_second_call_answers_again(started: Model) -> None:
    assert len(answers(started, Budget())) == len(answers(started, Budget())) == N


def test_no_request_is_no_answer_and_no_error(started: Model) -> None:
    assert answers(started, Budget(), n=0) == []


@pytest.mark.parametrize("limit", [0, 1, 7])
def test_the_budget_is_never_passed_and_the_rest_stays_unanswered(started: Model, limit: int) -> None:
    budget = Budget(max_requests=limit)
    given = answers(started, budget)
    assert budget.sent == limit
    assert len(given) == len({key for key, _ in given}) == limit


def test_requests_are_not_pulled_long_before_they_are_asked(started: Model) -> None:
    pulled = 0

    def endless() -> Iterator[tuple[int, Request]]:
        nonlocal pulled
        for _, request in questions():
            while True:
                pulled += 1
                yield pulled, request

    for batch in started.answer(endless(), Budget()):
        assert pulled <= len(batch) + 64
        break
