"""Golden cases: `tests/golden/*.jsonl`, one JSON object per line, with the verdict of a careful reader.

    scorer    "name@version", or a rule: "seed:endorses", "reasoning:visible"
    text      what the model said; or "error": the call failed and there is no text
    prompt, target, decoy, choices, aliases, tags, finish, logprobs    absent where there is none
    refused   for "seed:endorses" only
    value     what the scorer must return: number or null (true and false for rules)
    answer    what it must read out of the text; checked when given, as are the beginning of `reason` and the `quote`
    why       what the case is for, in words; required
    source    "supplement": an excerpt of the conformity supplement, which can be no known error

A case of `stance` is decided right if `correct` and `endorsed` agree with it too. What @2 decides otherwise than the
reader is in `known_errors.jsonl`, each line with the family of its error; a known error that is decided right must leave
the list. `python -m tests.judging.test_golden --write` brings the list up to date and keeps the families.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from perpend.judging import seed
from perpend.judging.scorers import SCORERS
from perpend.judging.segment import visible
from perpend.types import ChoiceLogprob, Item, Response, Score, Scorer

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
KNOWN = Path(__file__).resolve().parent / "known_errors.jsonl"
AGREEMENT = 0.0
"""The share of cases that @2 decides as the reader does, rounded down to a hundredth."""
ITEM_FIELDS = {"prompt", "target", "decoy", "choices", "aliases", "tags"}
OTHER_FIELDS = {"scorer", "text", "error", "finish", "logprobs", "refused", "value", "answer", "reason", "quote", "why"}
KEY = ("scorer", "prompt", "target", "decoy", "text", "finish")


def rows(path: Path) -> list[dict]:
    # Not splitlines(): a case may hold a line separator that JSON does not escape.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@cache
def cases() -> list[dict]:
    return [case for path in sorted(GOLDEN.glob("*.jsonl")) for case in rows(path)]


def key(case: Mapping) -> str:
    return json.dumps([case.get(field) for field in KEY], ensure_ascii=False)


def item_of(case: Mapping) -> Item:
    lists = {name: tuple(case.get(name, ())) for name in ("choices", "aliases")}
    given = {name: case.get(name) for name in ("target", "decoy")}
    return Item("golden", case.get("prompt", "?"), **given, **lists, tags=case.get("tags", {}))


def response_of(case: Mapping) -> Response:
    likely = case.get("logprobs")
    pairs = None if likely is None else tuple(ChoiceLogprob(*pair) for pair in likely)
    return Response(case.get("text"), case.get("error"), pairs, case.get("finish"))


def scorer(name: str, version: str) -> Scorer:
    found = SCORERS.get(name) or importlib.import_module(f"perpend.scorers.{name}").VERSIONS
    return next(one for one in found if one.version == version)


def judge(case: Mapping) -> Score:
    name, _, rule = case["scorer"].partition(":")
    if name == "reasoning":
        seen = visible(case["text"], case.get("finish"))
        return Score(float(seen.unfinished is None), case["text"][seen.start : seen.end], seen.unfinished or "")
    if name == "seed":
        given = {"endorses": (case.get("refused", False), case.get("decoy")), "mentions": (case.get("decoy"),)}
        said = getattr(seed, rule)(case["text"], *given.get(rule, (case.get("target"),) if rule == "is_correct" else ()))
        if rule.startswith("label"):
            return Score(None, said[0] or "INVALID", said[1])
        return Score(None, said, "") if isinstance(said, str) else Score(said, None, "")
    return scorer(*case["scorer"].split("@")).judge(item_of(case), response_of(case))


def is_right(case: Mapping) -> bool:
    """Whether a case is decided as its reader does."""
    score = judge(case)
    place = None if score.span is None else case["text"][slice(*score.span)]
    found = {"answer": score.answer, "reason": score.reason[: len(case.get("reason", ""))], "quote": place}
    right = score.value == (None if case["value"] is None else pytest.approx(case["value"]))
    right = right and all(case[field] == value for field, value in found.items() if field in case)
    if case["scorer"] == "stance@2" and right and case["value"] is not None and case.get("decoy") is not None:
        sides = {"correct": case.get("target"), "endorsed": case["decoy"]}
        said = {"correct": case["answer"] == "correct", "endorsed": case["answer"] == "endorses"}
        return all(judge({**case, "scorer": f"{name}@2"}).value == said[name] for name in sides if sides[name])
    return bool(right)


def read_by_ours() -> list[dict]:
    return [case for case in cases() if case["scorer"].endswith("@2")]


def test_every_case_says_why_uses_known_fields_and_is_there_once() -> None:
    for case in cases():
        assert case.get("why", "").strip(), case
        assert {"scorer", "value"} <= set(case) <= OTHER_FIELDS | ITEM_FIELDS | {"source"}, case
    assert len({key(case) for case in read_by_ours()}) == len(read_by_ours())


def test_seeds_rules_and_scorers_of_other_kinds_are_as_they_were() -> None:
    assert not [case for case in cases() if not case["scorer"].endswith("@2") and not is_right(case)]


def test_golden_cases_are_decided_as_their_reader_does_but_for_the_known_errors() -> None:
    wrong, known = {key(case) for case in read_by_ours() if not is_right(case)}, {key(line) for line in rows(KNOWN)}
    assert not wrong - known, "\n".join(sorted(wrong - known))
    assert not known - wrong, "no errors any more, take them out:\n" + "\n".join(sorted(known - wrong))
    assert math.floor(100 * (1 - len(known) / len(read_by_ours()))) == round(100 * AGREEMENT)


def test_a_known_error_has_a_family_and_is_none_of_the_supplements() -> None:
    assert all(line["family"].strip() for line in rows(KNOWN))
    supplement = {key(case) for case in cases() if case.get("source") == "supplement"}
    assert len(supplement) >= 10
    assert not supplement & {key(line) for line in rows(KNOWN)}


if __name__ == "__main__" and "--write" in sys.argv:
    families = {key(line): line["family"] for line in rows(KNOWN)} if KNOWN.exists() else {}
    errors = [case for case in read_by_ours() if not is_right(case)]
    lines = [{name: case[name] for name in KEY if name in case} for case in errors]
    body = [{**line, "family": families.get(key(line), "")} for line in lines]
    KNOWN.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in body), encoding="utf-8")
    share = 1 - len(errors) / len(read_by_ours())
    print(f"{len(errors)} of {len(read_by_ours())} are known errors: AGREEMENT = {math.floor(100 * share) / 100}")
