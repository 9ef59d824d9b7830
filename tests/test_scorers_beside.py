"""`may_state`: what stands beside a mention may spare the rules only where they would not make it the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from perpend.text import beside, match
from perpend.text.assertion import MENTION, is_strict
from perpend.text.clause import around
from perpend.text.reading import AskedItem, wanted_of
from perpend.text.speech import Question
from perpend.text.voice import own_place, weight

Weighed: TypeAlias = tuple[int, str, str, Question, float]
"""A mention as `may_state` is asked about it, and its weight."""
GOLDEN = Path(__file__).resolve().parent / "golden"
OPENING = "There is a lot to be told about this, and it would take a whole book to tell it to the end of all days. "


def weighed() -> Iterator[Weighed]:
    """Every mention in the golden cases, after an opening and in a line of other words, and its weight."""
    for name in ("correct", "endorsed", "stance", "version3"):
        for line in (GOLDEN / f"{name}.jsonl").read_text("utf-8").splitlines():
            case = json.loads(line)
            target = () if case.get("target") is None else (case["target"], *case.get("aliases", ()))
            asked = AskedItem(case.get("prompt", "?"), target, case.get("decoy"), tuple(case.get("choices", ())))
            wanted = wanted_of(asked)
            for text in (OPENING + (case.get("text") or ""), f"{OPENING}\n{case.get('text') or ''}"):
                folded = match.fold(text)
                for _, answer in wanted.sides:
                    for span in match.find(folded, text, answer):
                        strict = is_strict(folded.text, span, answer)
                        low, before, after = around(folded.text, *span)
                        place = own_place(folded.text, span[0], low, before, after)
                        level = weight(place, wanted.question, answer, strict=strict)
                        yield span[0], before, after, wanted.question, level


def spared(mentions: list[Weighed]) -> list[float]:
    """The weights of the mentions that are passed over."""
    return [
        level for start, before, after, asked, level in mentions if not beside.may_state(start, before, after, asked)
    ]


def test_only_mentions_that_the_rules_do_not_state_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    mentions = list(weighed())
    levels = spared(mentions)
    assert max(levels) <= MENTION
    assert len(levels) > 20
    monkeypatch.setattr(beside, "LAST_WORDS", beside.LAST_WORDS - {"is"})
    assert max(spared(mentions)) > MENTION, "a verb that is left out would be seen here"
