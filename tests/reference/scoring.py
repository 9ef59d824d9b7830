"""Check the scorers against a file of crafted cases: `python -m tests.reference.scoring FILE.jsonl`.

A case has `text`, `ground_truth`, `wrong_answer` and perhaps `refusal_flag`; `expected_*` (parsed, span, is_correct, W,
mention) is what the seed's rules give, `human_*` (is_correct, W) what a reader says; any of them may be null or absent.
A row of the seed's runs has `raw_text`, what was stored of it (`stored_*`) and labels by the seed's rules (`ref_*`).
Version 1 must equal every `expected_*`, `stored_*` and `ref_*`, else the exit status is 1. For the newest version the
agreement with the reader and every case that differs is printed: a difference there is a finding, not a failure.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from perpend.judging import seed
from perpend.judging.scorers import SCORERS
from perpend.types import Item, Response, Score

JUDGED = {"is_correct": "correct", "W": "endorsed"}
"""What a reader judged, and the scorer that answers the same question."""


def load(path: Path) -> list[dict]:
    """The objects of a JSONL file, blank lines left out. Split at newlines only: a text may hold other separators."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def text_of(case: dict) -> str:
    """The completion; a null one is empty."""
    return case.get("raw_text") or case.get("text") or ""


def seed_differences(case: dict) -> list[str]:
    """What the seed's rules give otherwise than the case expects. What the case does not state is not compared."""
    flag = case.get("stored_refusal_flag", case.get("refusal_flag"))
    target, decoy = case.get("ground_truth"), case.get("wrong_answer")
    parsed = seed.parse_answer(text_of(case))
    refused = seed.is_refusal(text_of(case)) if flag is None else bool(flag)
    is_correct, endorsed, mention = (
        seed.is_correct(parsed, target),
        seed.endorses(parsed, refused, decoy),
        seed.mentions(parsed, decoy),
    )
    got = {
        "expected_parsed": parsed,
        "expected_span": seed.answer_span(parsed),
        "expected_is_correct": is_correct,
        "expected_W": endorsed,
        "expected_mention": mention,
        "stored_parsed_answer_text": parsed,
        "stored_refusal_flag": seed.is_refusal(text_of(case)),
        # The runner that made the rows stored the target of an opinion as the word 'None', and graded against it.
        "stored_is_correct": seed.is_correct(parsed, case.get("stored_ground_truth_text")),
        "ref_is_correct": is_correct,
        "ref_W": endorsed,
        "ref_mention": mention,
    }
    # An expected null is a judgement only of correctness, where it means that there is nothing to be right about.
    unstated = {f"expected_{name}" for name in ("parsed", "span", "W", "mention")}
    return [
        f"{case.get('id', case.get('trial_id', '?'))}: {name} is {value!r}, expected {case[name]!r}"
        for name, value in got.items()
        if name in case and case[name] != value and (case[name] is not None or name not in unstated)
    ]


def read(judge: Callable[[Item, Response], Score], case: dict) -> Score:
    """The score of a case's text, which has no finish reason."""
    item = Item(
        str(case.get("id", "?")),
        case.get("question") or "",
        target=case.get("ground_truth"),
        decoy=case.get("wrong_answer"),
    )
    return judge(item, Response(text=text_of(case)))


def reader_report(cases: list[dict]) -> list[str]:
    """How often the newest version agrees with the reader, of the cases that the reader decided, and where not."""
    lines = []
    for judged, name in JUDGED.items():
        judge = SCORERS[name][-1].judge
        decided = [case for case in cases if case.get(f"human_{judged}") is not None]
        if not decided:
            lines.append(f"{judged}: no case decided by a reader")
            continue
        scores = [(case, read(judge, case)) for case in decided]
        # Not scorable is no endorsement and not correct; how many there are is said beside.
        wrong = [(case, score) for case, score in scores if float(case[f"human_{judged}"]) != (score.value or 0.0)]
        unscorable = sum(score.value is None for _, score in scores)
        lines.append(
            f"{judged}: newest {name} agrees with the reader in {len(decided) - len(wrong)} of {len(decided)} cases"
            f" ({unscorable} not scorable)"
        )
        lines += [
            f"  {case.get('id', '?')}: reader {case[f'human_{judged}']}, scorer {score.value} ({score.reason});"
            f" {case.get('why', '')}"
            for case, score in wrong
        ]
    return lines


def main(arguments: list[str]) -> int:
    """Print the comparison of one file; 1 when version 1 differs anywhere."""
    if len(arguments) != 1:
        print("usage: python -m tests.reference.scoring FILE.jsonl", file=sys.stderr)
        return 2
    cases = load(Path(arguments[0]))
    differences = [found for case in cases for found in seed_differences(case)]
    print(f"version 1: {len(differences)} differences in {len(cases)} cases")
    print("\n".join(differences + reader_report(cases)))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
