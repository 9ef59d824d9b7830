"""The items that were read by hand: draws 200 of the set, 40 of each stratum, and keeps the readers' verdicts.

    python benchmarks/read_items.py           prints the items with labels and verdicts, to be read
    python benchmarks/read_items.py --write   writes what is drawn into read_items.jsonl, each with the verdict it has
    python benchmarks/read_items.py --json    one JSON object: how many were read, how many labels are right
    python benchmarks/read_items.py --quick   5 of each stratum

The draw goes by a digest of the ids, so that nobody chose them. `read_items.jsonl` has a line per item: id, stratum,
label, question, verdict. A reader writes the verdict: "right; …", or what is wrong. Where a drawn item is not in the
file as the set words it, or has no verdict, nothing is counted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from perpend.studies.logic.chaos.questions.draft import STRATA
from perpend.studies.logic.chaosbench.validate import items_at

EACH, QUICK = 40, 5
VERDICTS = Path(__file__).with_name("read_items.jsonl")


def drawn(records: Iterable[Mapping[str, object]], each: int) -> list[Mapping[str, object]]:
    """`each` records of every stratum, in the order of the strata and of the digests of their ids."""
    rows = sorted(records, key=lambda row: hashlib.sha256(f"read {row['id']}".encode()).hexdigest())
    return [row for stratum in STRATA for row in [r for r in rows if r["stratum"] == stratum][:each]]


def verdicts(path: Path = VERDICTS) -> dict[str, dict[str, str]]:
    """Id → the line of an item that was read."""
    return {row["id"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def with_verdict(row: Mapping[str, object], read: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The line of a drawn item; its verdict is '' until somebody has read it as it is worded now."""
    line = {"id": row["id"], "stratum": row["stratum"], "label": row["ground_truth"], "question": row["question"]}
    body = {key: str(value) for key, value in line.items()}
    known = read.get(body["id"], {})
    return {**body, "verdict": known.get("verdict", "") if body.items() <= known.items() else ""}


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the items that are read by hand, and count the verdicts.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help=f"write {VERDICTS.name}")
    given = parser.parse_args()
    if given.write and given.quick:
        parser.error("give --write or --quick")
    read = verdicts()
    rows = [
        with_verdict(row, read) for row in drawn((record for _, record in items_at()), QUICK if given.quick else EACH)
    ]
    if given.write:
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        VERDICTS.write_text("".join(lines), encoding="utf-8")
    if given.json:
        unread = [row["id"] for row in rows if not row["verdict"]]
        if unread:
            sys.exit(f"{len(unread)} drawn items have no verdict in {VERDICTS.name}, as {unread[0]}; read them")
        right = sum(row["verdict"].startswith("right") for row in rows)
        odd = sum("odd wording" in row["verdict"] for row in rows)
        print(json.dumps({"read": len(rows), "right": right, "odd_wording": odd}))
        return
    for row in rows:
        print(f"{row['id']} {row['stratum']} {row['label']}: {row['verdict'] or 'not read'}")
        print(f"  {row['question']}")


if __name__ == "__main__":
    main()
