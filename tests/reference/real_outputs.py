"""Check the scorers on real completions: `python -m tests.reference.real_outputs ROWS.jsonl [LABELS.jsonl]`.

Version 1 must reproduce every stored parse, flag and label (`stored_*`) and every label by the seed's rules (`ref_*`),
else the exit status is 1. Then, per model variant, how often mention and endorsement differ; with labels, precision and
recall of endorsement against the human's, and every row where the newest version differs from the human.
The rows carry no finish reason: only structure shows that one was cut off.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from perpend.text import seed
from perpend.types import Item, Response, Score
from tests.reference.scoring import load, newest

Judge = Callable[[dict], float | None]


def seed_differences(row: dict) -> list[str]:
    """What the seed's rules give otherwise than the row has stored. What the row does not state is not compared."""
    parsed = seed.parse_answer(text(row))
    # The runner that made the rows stored the target of an opinion as the word 'None', and graded against it.
    got = {
        "stored_parsed_answer_text": parsed,
        "stored_refusal_flag": seed.is_refusal(text(row)),
        "stored_is_correct": seed.is_correct(parsed, row.get("stored_ground_truth_text")),
        "ref_is_correct": seed.is_correct(parsed, row.get("ground_truth")),
        "ref_mention": seed.mentions(parsed, row.get("wrong_answer")),
        "ref_W": seed.endorses(parsed, refused(row), row.get("wrong_answer")),
    }
    return [
        f"{row['trial_id']}: {name} is {value!r}, stored {row[name]!r}"
        for name, value in got.items()
        if name in row and row[name] != value
    ]


def refused(row: dict) -> bool:
    flag = row.get("stored_refusal_flag", row.get("refusal_flag"))
    return seed.is_refusal(text(row)) if flag is None else bool(flag)


def text(row: dict) -> str:
    """The completion of a row, which the files of labels call `text`. A null one is empty."""
    return row.get("raw_text") or row.get("text") or ""


def seed_endorsed(row: dict) -> float:
    return float(seed.endorses(seed.parse_answer(text(row)), refused(row), row.get("wrong_answer")))


def seed_mentioned(row: dict) -> float:
    return float(seed.mentions(seed.parse_answer(text(row)), row.get("wrong_answer")))


def judged(scorer: Callable[[Item, Response], Score], row: dict, questions: dict[str, str]) -> Score:
    item = Item(
        row.get("item_id") or "?",
        row.get("question") or questions.get(row["trial_id"], ""),
        target=row.get("ground_truth"),
        decoy=row.get("wrong_answer"),
    )
    return scorer(item, Response(text=text(row)))


def newest_judge(name: str, questions: dict[str, str]) -> Judge | None:
    scorer = newest(name)
    return None if scorer is None else lambda row: judged(scorer, row, questions).value


def wilson(k: int, n: int) -> str:
    """k/n with its Wilson 95 % interval; NA when n is 0."""
    if not n:
        return "NA (n=0)"
    z, share = 1.959963984540054, k / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{share:.3f} [{centre - half:.3f}, {centre + half:.3f}] ({k}/{n})"


def mismatches(rows: list[dict], mention: Judge, endorse: Judge) -> list[str]:
    """Per variant and kind, the share of rows where mention and endorsement differ. Not scorable is neither."""
    lines = []
    for variant in sorted({row["variant"] for row in rows}):
        cells = []
        for kind, part in kinds([row for row in rows if row["variant"] == variant]):
            differing = sum((mention(row) or 0.0) != (endorse(row) or 0.0) for row in part)
            cells.append(f"{kind} {differing / len(part):.3f} ({differing}/{len(part)})" if part else f"{kind} NA")
        unscorable = sum(endorse(row) is None for row in rows if row["variant"] == variant)
        lines.append(f"  {variant:14s} {'  '.join(cells)}  not scorable {unscorable}")
    return lines


def kinds(rows: list[dict]) -> Iterable[tuple[str, list[dict]]]:
    yield "all", rows
    yield "factual", [row for row in rows if row.get("ground_truth") is not None]
    yield "opinion", [row for row in rows if row.get("ground_truth") is None]


def precision_recall(labels: list[dict], endorse: Judge) -> list[str]:
    """Precision and recall against the rows that the human decided. Not scorable counts as no endorsement."""
    lines = []
    for kind, rows in kinds([row for row in labels if row.get("human_W") is not None]):
        said = [(row.get("human_W") == 1, endorse(row)) for row in rows]
        hits = sum(real and value == 1 for real, value in said)
        lines.append(
            f"  {kind:8s} n={len(rows)}  precision {wilson(hits, sum(value == 1 for _, value in said))}"
            f"  recall {wilson(hits, sum(real for real, _ in said))}"
            f"  not scorable {sum(value is None for _, value in said)}"
        )
    return lines


def label_report(labels: list[dict], questions: dict[str, str]) -> list[str]:
    undecided = sum(row.get("human_W") is None for row in labels)
    lines = [f"human labels: {len(labels)}, of them {undecided} undecidable and left out"]
    lines += ["endorsement, version 1:", *precision_recall(labels, seed_endorsed)]
    scorer = newest("endorsed")
    if scorer is None:
        return [*lines, "no scorer 'endorsed'"]
    lines += ["endorsement, newest version:"]
    lines += precision_recall(labels, lambda row: judged(scorer, row, questions).value)
    lines += ["rows where the newest version differs from the human:"]
    for row in labels:
        score = judged(scorer, row, questions)
        if row.get("human_W") is not None and (score.value or 0.0) != row.get("human_W"):
            lines.append(
                f"  {row['trial_id']} {row.get('variant')} {row.get('item_id')}: human {row['human_W']},"
                f" scorer {score.value} ({score.reason}); {row.get('note', '')}"
            )
    return lines


def main(arguments: list[str]) -> int:
    """Print the comparison; 1 when version 1 differs from anything stored."""
    if len(arguments) not in (1, 2):
        print("usage: python -m tests.reference.real_outputs ROWS.jsonl [LABELS.jsonl]", file=sys.stderr)
        return 2
    rows = load(Path(arguments[0]))
    questions = {row["trial_id"]: row.get("question") or "" for row in rows}
    differences = [found for row in rows for found in seed_differences(row)]
    print("\n".join([f"version 1: {len(differences)} mismatches in {len(rows)} rows", *differences]))
    print("mention against endorsement, version 1: share of rows that differ")
    print("\n".join(mismatches(rows, seed_mentioned, seed_endorsed)))
    mention, endorse = newest_judge("mentioned", questions), newest_judge("endorsed", questions)
    if mention is not None and endorse is not None:
        print("mention against endorsement, newest version: share of rows that differ")
        print("\n".join(mismatches(rows, mention, endorse)))
    if len(arguments) == 2:
        print("\n".join(label_report(load(Path(arguments[1])), questions)))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
