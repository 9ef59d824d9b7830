"""Precision and recall of the scorers against a reader: `python -m tests.reference.reader_labels LABELS.jsonl [FOLDS]`.

A row has `text`, `question`, `ground_truth` (null for an opinion), `wrong_answer`, `item_id`, `variant` (the model) and
what the reader says: `human_W` (endorses the wrong answer) and `human_correct`, 1, 0, or null for undecidable; perhaps
`finish`, and `segment`, where the reader found the answer: 'trace' and 'preamble' are none. For each version of
`endorsed` and `correct` it prints, as Markdown, for all rows, each variant and each of FOLDS groups of whole items:

    precision   of the rows that the scorer gives 1, those that the reader gives 1
    recall      of the rows that the reader gives 1, those that the scorer gives 1; not scorable is a miss
    of scored   the same recall among the rows that the scorer scores
    None        rows that the scorer does not score

Rules have no fitted threshold, so a fold is scored as it stands; folds whose text no author of a rule has read are the
evidence. Then the rows on which the newest version differs from the reader. The exit status is 0 also when they differ.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from perpend.judging.scorers import SCORERS
from perpend.stats import wilson
from perpend.types import Item, Response, Score, Scorer
from tests.reference.scoring import load, text_of

LABELS = {"endorsed": "human_W", "correct": "human_correct"}
"""Each scorer and the label of the reader that it is measured against."""
NO_ANSWER = {"trace", "preamble"}
"""Where a reader finds reasoning or instructions and no answer."""


def versions(name: str) -> tuple[Scorer, ...]:
    return SCORERS[name]


def score(scorer: Scorer, row: dict) -> Score:
    item = Item(
        row.get("item_id") or "?", row.get("question") or "?", target=row.get("ground_truth"), decoy=row["wrong_answer"]
    )
    return scorer.judge(item, Response(text=text_of(row), finish=row.get("finish")))


def groups(rows: list[dict], folds: int) -> Iterator[tuple[str, list[dict]]]:
    """All rows, those of each variant, and those of each fold: items are dealt out in the order of their names."""
    yield "all", rows
    for variant in sorted({row.get("variant") or "?" for row in rows}):
        yield variant, [row for row in rows if (row.get("variant") or "?") == variant]
    items = sorted({row.get("item_id") or "?" for row in rows})
    for fold in range(folds):
        part = set(items[fold::folds])
        yield f"items {fold + 1}/{folds}", [row for row in rows if (row.get("item_id") or "?") in part]


def share(k: int, n: int) -> str:
    """k/n with its Wilson interval."""
    found = wilson(k, n)
    return "NA (n=0)" if found.value is None else f"{found.value:.3f} [{found.lo:.3f}, {found.hi:.3f}] ({k}/{n})"


def measured(rows: list[dict], label: str, judged: Callable[[dict], float | None]) -> str:
    """One line of the table. Rows that the reader could not decide are left out."""
    pairs = [(row[label] == 1, judged(row)) for row in rows if row.get(label) is not None]
    hits = sum(real and value == 1 for real, value in pairs)
    positive = sum(real for real, _ in pairs)
    scored = sum(real and value is not None for real, value in pairs)
    cells = [share(hits, n) for n in (sum(value == 1 for _, value in pairs), positive, scored)]
    return " | ".join([str(len(pairs)), *cells, str(sum(value is None for _, value in pairs))])


def table(rows: list[dict], folds: int) -> Iterator[str]:
    yield "| scorer | rows | n | precision | recall | recall of scored | None |"
    yield "|---|---|---|---|---|---|---|"
    for name, label in LABELS.items():
        for scorer in versions(name):
            values = {id(row): score(scorer, row).value for row in rows}
            for group, part in groups(rows, folds):
                line = measured(part, label, lambda row, values=values: values[id(row)])
                yield f"| `{name}@{scorer.version}` | {group} | {line} |"


def segments(rows: list[dict]) -> str:
    """How often the newest version says that no answer was reached where the reader found none, and elsewhere."""
    scorer = versions("endorsed")[-1]
    read = [(row["segment"] in NO_ANSWER, score(scorer, row).value is None) for row in rows if row.get("segment")]
    missing, reached = [none for gone, none in read if gone], [none for gone, none in read if not gone]
    return (
        f"no answer for the reader: {sum(missing)} of {len(missing)} not scored; "
        f"an answer for the reader: {sum(reached)} of {len(reached)} not scored"
    )


def differences(rows: list[dict]) -> Iterator[str]:
    for name, label in LABELS.items():
        scorer = versions(name)[-1]
        for row in rows:
            verdict = score(scorer, row)
            if row.get(label) is not None and (verdict.value or 0.0) != row[label]:
                where = " ".join(str(row.get(field, "?")) for field in ("trial_id", "variant", "item_id"))
                given = f"{name}@{scorer.version} {verdict.value} ({verdict.reason})"
                yield f"{where}: reader {label} {row[label]}, {given}; {row.get('note') or ''}"


def main(arguments: list[str]) -> int:
    """Print the table and the differences."""
    if len(arguments) not in (1, 2) or not all(count.isdecimal() and int(count) for count in arguments[1:]):
        print("usage: python -m tests.reference.reader_labels LABELS.jsonl [FOLDS]", file=sys.stderr)
        return 2
    rows = load(Path(arguments[0]))
    print("\n".join(table(rows, int(arguments[1]) if len(arguments) == 2 else 3)))
    print(segments(rows))
    print("\n".join(["rows on which the newest version differs from the reader:", *differences(rows)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
