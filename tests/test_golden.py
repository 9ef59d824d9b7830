"""Golden cases: `tests/golden/*.jsonl`, one JSON object per line, one line for every bug ever found.

    scorer    "name@version", e.g. "label@2"; or a rule of `perpend.text`: "seed:endorses", "reasoning:visible"
    text      what the model said; or "error": the call failed and there is no text
    finish    finish reason, absent for none
    prompt, target, decoy, choices, aliases, tags    the item, absent where it has none
    logprobs  [[total | null, tokens], …] for scorers of likelihoods
    refused   only for "seed:endorses"
    value     what the scorer must return: number or null (true and false for rules)
    answer    what it must read out of the text; checked when given
    reason    how its reason must begin; checked when given
    quote     the characters of the text that the span must cover; checked when given
    why       what the case guards, in words; required

The guard test disables every compiled pattern and every word list of `perpend.text` and `perpend.scorers` in turn:
a rule whose loss breaks no golden case is either dead or unguarded.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import perpend.scorers
import perpend.text
from perpend.text import reasoning, seed
from perpend.types import ChoiceLogprob, Item, Response, Score, Scorer

GOLDEN = Path(__file__).resolve().parent / "golden"
ITEM_FIELDS = {"prompt", "target", "decoy", "choices", "aliases", "tags"}
FIELDS = {"scorer", "text", "error", "finish", "logprobs", "refused", "value", "answer", "reason", "quote", "why"}
NEVER = re.compile(r"(?!)")


def cases() -> list[tuple[str, dict]]:
    found = []
    for path in sorted(GOLDEN.glob("*.jsonl")):
        # Not splitlines(): a case may hold a line separator that JSON does not escape.
        for number, line in enumerate(path.read_text(encoding="utf-8").rstrip("\n").split("\n"), 1):
            found.append((f"{path.stem}:{number}", json.loads(line)))
    return found


def modules() -> list[ModuleType]:
    names = [
        f"{package.__name__}.{found.name}"
        for package in (perpend.text, perpend.scorers)
        for found in pkgutil.iter_modules(package.__path__)
    ]
    return [importlib.import_module(name) for name in names]


def judge(case: dict) -> Score:
    kind, _, rule = case["scorer"].partition(":")
    if rule:
        return RULES[f"{kind}:{rule}"](case)
    name, _, version = case["scorer"].partition("@")
    item = Item(
        id="golden",
        prompt=case.get("prompt", "?"),
        target=case.get("target"),
        choices=tuple(case.get("choices", ())),
        decoy=case.get("decoy"),
        aliases=tuple(case.get("aliases", ())),
        tags=case.get("tags", {}),
    )
    logprobs = case.get("logprobs")
    response = Response(
        text=case.get("text"),
        error=case.get("error"),
        choice_logprobs=None if logprobs is None else tuple(ChoiceLogprob(*pair) for pair in logprobs),
        finish=case.get("finish"),
    )
    return scorer(name, version).judge(item, response)


def scorer(name: str, version: str) -> Scorer:
    versions = importlib.import_module(f"perpend.scorers.{name}").VERSIONS
    return next(found for found in versions if found.version == version)


def visible_part(case: dict) -> Score:
    seen = reasoning.visible(case["text"], case.get("finish"))
    return Score(float(seen.unfinished is None), case["text"][seen.start : seen.end], seen.unfinished or "")


def label(case: dict, rule: Callable[[str], tuple[str | None, str]]) -> Score:
    found, reason = rule(case["text"])
    return Score(None, found or "INVALID", reason)


RULES: dict[str, Callable[[dict], Score]] = {
    "seed:parse_answer": lambda case: Score(None, seed.parse_answer(case["text"]), ""),
    "seed:is_refusal": lambda case: Score(seed.is_refusal(case["text"]), None, ""),
    "seed:is_correct": lambda case: Score(seed.is_correct(case["text"], case.get("target")), None, ""),
    "seed:mentions": lambda case: Score(seed.mentions(case["text"], case.get("decoy")), None, ""),
    "seed:answer_span": lambda case: Score(None, seed.answer_span(case["text"]), ""),
    "seed:endorses": lambda case: Score(
        seed.endorses(case["text"], case.get("refused", False), case.get("decoy")), None, ""
    ),
    "seed:label_strict": lambda case: label(case, seed.label_strict),
    "seed:label_lenient": lambda case: label(case, seed.label_lenient),
    "reasoning:visible": visible_part,
}


def differences(case: dict) -> list[str]:
    score = judge(case)
    wrong = []
    if score.value != pytest.approx(case["value"]):
        wrong.append(f"value {score.value!r}, expected {case['value']!r}")
    if "answer" in case and score.answer != case["answer"]:
        wrong.append(f"answer {score.answer!r}, expected {case['answer']!r}")
    if "reason" in case and not score.reason.startswith(case["reason"]):
        wrong.append(f"reason {score.reason!r}, expected it to begin with {case['reason']!r}")
    if "quote" in case:
        quoted = None if score.span is None else case["text"][slice(*score.span)]
        if quoted != case["quote"]:
            wrong.append(f"span covers {quoted!r}, expected {case['quote']!r}")
    return [*wrong, f"reason of the score: {score.reason!r}"] if wrong else []


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in cases()])
def test_the_golden_case_holds(case: dict) -> None:
    assert not differences(case), case["why"]


def test_every_golden_line_says_why_and_uses_known_fields() -> None:
    wrong = [
        name
        for name, case in cases()
        if not (case.get("why", "").strip() and {"scorer", "value"} <= set(case) <= FIELDS | ITEM_FIELDS)
    ]
    assert not wrong, "\n".join(wrong)


def guards() -> Iterator[tuple[str, object]]:
    seen: set[int] = set()
    for module in modules():
        for name, value in vars(module).items():
            if id(value) not in seen and disabled(value) is not None:
                seen.add(id(value))
                yield f"{module.__name__}.{name}", value


def disabled(value: object) -> object:
    """The value with nothing left to match; None for what is no pattern and no collection of words."""
    if isinstance(value, re.Pattern):
        return NEVER
    if isinstance(value, tuple) and value and all(isinstance(word, str | re.Pattern) for word in value):
        return ()
    if isinstance(value, frozenset) and value and all(isinstance(word, str) for word in value):
        return frozenset()
    return None


@pytest.fixture(scope="module")
def held() -> list[dict]:
    """The cases that hold with every rule in place: only these can show that one is missing."""
    return [case for _, case in cases() if not breaks(case)]


@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in guards()])
def test_a_golden_case_breaks_when_the_rule_is_disabled(
    value: object, held: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in modules():
        for name, found in list(vars(module).items()):
            if found is value:
                monkeypatch.setattr(module, name, disabled(value))
    forget()
    try:
        assert any(breaks(case) for case in held), "no golden case notices that this rule is gone"
    finally:
        forget()


def breaks(case: dict) -> bool:
    try:
        return bool(differences(case))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return True


def forget() -> None:
    """Empty every cache, so that a disabled rule is not answered from memory."""
    for module in modules():
        for value in vars(module).values():
            clear = getattr(value, "cache_clear", None)
            if callable(clear):
                clear()
