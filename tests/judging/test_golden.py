"""Golden cases: `tests/golden/*.jsonl`, one JSON object per line, with the verdict of a careful reader.

    scorer    "name@version", or a rule: "seed:endorses", "reasoning:visible"
    text      what the model said; or "error"; and what there is of prompt, target, decoy, choices, finish …
    value     what the scorer must return: number or null (true and false for rules)
    answer    what it must read out of the text; checked when given, as are the beginning of `reason` and the `quote`
    why       what the case is for; required. source: "supplement" for excerpts of the conformity supplement

A case of `stance` is right if `correct` and `endorsed` agree with it too. What @2 decides otherwise than the reader is
in `known_errors.jsonl`, with the family of its error; what is decided right must leave the list, and an excerpt of the
supplement is never in it. `python -m tests.judging.test_golden --write` brings the list up to date.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from perpend.judging import seed
from perpend.judging.scorers import SCORERS
from perpend.judging.segment import visible
from perpend.types import ChoiceLogprob, Item, Response, Score

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
KNOWN = Path(__file__).resolve().parent / "known_errors.jsonl"
AGREEMENT = 0.86
"""The share of cases that @2 decides as the reader does, rounded down to a hundredth."""
FIELDS = {"scorer", "text", "error", "finish", "logprobs", "refused", "value", "answer", "reason", "quote", "why"}
FIELDS |= {"prompt", "target", "decoy", "choices", "aliases", "tags", "source"}
KEY = ("scorer", "prompt", "target", "decoy", "text", "finish")


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


CASES = [case for path in sorted(GOLDEN.glob("*.jsonl")) for case in rows(path)]
OURS = [case for case in CASES if case["scorer"].endswith("@2")]


def key(case: Mapping) -> str:
    return json.dumps([case.get(field) for field in KEY], ensure_ascii=False)


def by_rule(case: Mapping, rule: str) -> Score:
    if rule == "visible":
        seen = visible(case["text"], case.get("finish"))
        return Score(float(seen.unfinished is None), case["text"][seen.start : seen.end], seen.unfinished or "")
    needs = {"endorses": ("refused", "decoy"), "mentions": ("decoy",), "is_correct": ("target",)}
    said = getattr(seed, rule)(case["text"], *map(case.get, needs.get(rule, ())))
    if rule.startswith("label"):
        return Score(None, said[0] or "INVALID", said[1])
    return Score(None, said, "") if isinstance(said, str) else Score(said, None, "")


def judge(case: Mapping) -> Score:
    if ":" in case["scorer"]:
        return by_rule(case, case["scorer"].partition(":")[2])
    name, _, version = case["scorer"].partition("@")
    lists = {field: tuple(case.get(field, ())) for field in ("choices", "aliases")}
    sides = {field: case.get(field) for field in ("target", "decoy")}
    item = Item("golden", case.get("prompt", "?"), tags=case.get("tags", {}), **sides, **lists)
    likely = None if "logprobs" not in case else tuple(ChoiceLogprob(*pair) for pair in case["logprobs"])
    response = Response(case.get("text"), case.get("error"), likely, case.get("finish"))
    return next(one for one in SCORERS[name] if one.version == version).judge(item, response)


def is_right(case: Mapping) -> bool:
    """Whether a case is decided as its reader does."""
    score = judge(case)
    quote = None if score.span is None else case["text"][slice(*score.span)]
    found = {"answer": score.answer, "reason": score.reason[: len(case.get("reason", ""))], "quote": quote}
    if score.value != pytest.approx(case["value"]) or any(found[name] != case[name] for name in found if name in case):
        return False
    if case["scorer"] != "stance@2" or "answer" not in case:
        return True
    sides = (("correct@2", "correct", "target"), ("endorsed@2", "endorses", "decoy"))
    return all(
        judge({**case, "scorer": one}).value == (case["answer"] == said) for one, said, it in sides if it in case
    )


def test_every_case_says_why_uses_known_fields_and_is_there_once() -> None:
    assert not [case for case in CASES if not case["why"].strip() or not {"scorer", "value"} <= set(case) <= FIELDS]
    assert len({key(case) for case in OURS}) == len(OURS)


def test_seeds_rules_and_scorers_of_other_kinds_are_as_they_were() -> None:
    assert not [case for case in CASES if not case["scorer"].endswith("@2") and not is_right(case)]


def test_golden_cases_are_decided_as_their_reader_does_but_for_the_known_errors() -> None:
    wrong, known = {key(case) for case in OURS if not is_right(case)}, {key(line) for line in rows(KNOWN)}
    assert not wrong - known, "\n".join(sorted(wrong - known))
    assert not known - wrong, "take out what is right now:\n" + "\n".join(sorted(known - wrong))
    assert math.floor(100 * (1 - len(known) / len(OURS))) == round(100 * AGREEMENT)


def test_a_known_error_has_a_family_and_is_none_of_the_supplement() -> None:
    excerpts = {key(case) for case in CASES if "source" in case}
    assert len(excerpts) >= 10
    assert not [line for line in rows(KNOWN) if not line["family"].strip() or key(line) in excerpts]


if __name__ == "__main__" and "--write" in sys.argv:
    families = {key(line): line["family"] for line in rows(KNOWN)}
    errors = [case for case in OURS if not is_right(case) and "source" not in case]
    with KNOWN.open("w", encoding="utf-8") as file:
        for case in errors:
            line = {name: case[name] for name in KEY if name in case}
            print(json.dumps({**line, "family": families.get(key(case), case["why"])}, ensure_ascii=False), file=file)
    print(f"{len(errors)} known errors: AGREEMENT = {math.floor(100 * (1 - len(errors) / len(OURS))) / 100}")
