"""Every list of cues and every hard rule of the room is needed: without it, some golden case is decided otherwise.

A list is emptied in `rules.toml`. Hard rules are the patterns, word lists and predicates of the modules that read, and
the functions of FINDERS: a pattern then matches nothing, a list is empty, a predicate false. UNGUARDED decides nothing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import FunctionType

import pytest
from tests.judging.test_golden import CASES, is_right

from perpend.judging import cues, mentions, scorers, seed, segment, verdict
from perpend.judging.cues import RULES, Rules, rules
from perpend.judging.words import fold, keys_of

READING = (segment, mentions, cues, verdict, seed)
MODULES = (*READING, scorers)
NEVER = re.compile(r"(?!)")
WORDS = r'(\[cues\.%s\][^\[]*?\nwords = """)(.*?)(""")'
FINDERS: dict[str, Callable[..., object]] = {
    "slot": lambda *_: None,
    "polar": lambda *_: [],
    "parts": lambda *_: [],
    "_restated": lambda *_: [],
    "_alternative": lambda *_: None,
    "_any_order": lambda *_: [],
    "_run_together": lambda *_: [],
    "_outermost": sorted,
    "_answer_block": lambda *_, **__: None,
}
UNGUARDED = frozenset({"ARTICLES", "ORDER", "SIDES", "SPOKEN", "_is_all_of"})
TEXT = RULES.read_text(encoding="utf-8")


@cache
def decided() -> list[tuple[dict, frozenset[str]]]:
    """The golden cases that are decided right, with the words of their texts."""
    return [(case, frozenset(keys_of(fold(case.get("text") or "").text))) for case in CASES if is_right(case)]


def forget() -> None:
    """Empty every cache, so that no rule is answered from memory."""
    for module in MODULES:
        for value in vars(module).values():
            clear = getattr(value, "cache_clear", None)
            if callable(clear) and value is not rules:
                clear()


def breaks(case: Mapping) -> bool:
    try:
        return not is_right(case)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return True


def taken_out(value: object, name: str) -> object:
    """The value with nothing left in it; None for what is no rule."""
    if isinstance(value, re.Pattern):
        return NEVER
    if isinstance(value, tuple | frozenset) and value and all(isinstance(word, str) for word in value):
        return type(value)()
    if isinstance(value, FunctionType) and name.lstrip("_").startswith("is_"):
        return lambda *_, **__: False
    return FINDERS.get(name)


def hard_rules() -> Iterator[str]:
    seen: set[int] = set()
    for module in READING:
        for name, value in vars(module).items():
            is_own = getattr(value, "__module__", module.__name__) in {module.__name__, "re"} and id(value) not in seen
            if is_own and name not in UNGUARDED and taken_out(value, name) is not None:
                seen.add(id(value))
                yield f"{module.__name__.rpartition('.')[2]}.{name}"


def read_by(known: Rules) -> Callable[..., verdict.Reading]:
    """How an AnswerReader reads by these rules, if it remembers nothing."""
    return lambda _, item, response, text: verdict.read(item, text, response.finish, known)


@pytest.fixture(autouse=True)
def remembered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    decided()  # before a rule is taken out
    yield
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize("name", tomllib.loads(TEXT)["cues"])
def test_a_golden_case_needs_each_list_of_cues(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = re.compile(WORDS % name, re.DOTALL)
    words = frozenset(keys_of(re.sub(r"[|?,.]+", " ", pattern.findall(TEXT)[0][1])))
    monkeypatch.setattr(scorers.AnswerReader, "read", read_by(rules(pattern.sub(r"\1qxqxq\3", TEXT))))
    assert any(breaks(case) for case, keys in decided() if keys & words), "no golden case notices"


@pytest.mark.parametrize("name", [*hard_rules()])
def test_a_golden_case_needs_each_hard_rule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, _, name = name.partition(".")
    value = next(vars(module)[name] for module in READING if module.__name__.endswith(place))
    for module in MODULES:
        for other, found in list(vars(module).items()):
            if found is value:
                monkeypatch.setattr(module, other, taken_out(value, name))
    monkeypatch.setattr(scorers.AnswerReader, "read", read_by(rules()))
    forget()
    assert any(breaks(case) for case, _ in decided()), "no golden case notices"


def test_every_finder_is_there() -> None:
    assert not [name for name in FINDERS if not any(name in vars(module) for module in READING)]
