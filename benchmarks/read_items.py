"""The items that were read by hand: draws 200 of the set, 40 of each stratum, and writes the page of verdicts.

    python benchmarks/read_items.py                      prints the items with labels, to be read
    python benchmarks/read_items.py --into docs/reference   writes the page from the verdicts in read_items.toml
    python benchmarks/read_items.py --json               one JSON object: how many were read, and how many were wrong
    python benchmarks/read_items.py --quick              5 of each stratum

The draw goes by a digest of the ids, so that nobody chose them. A verdict is written down by a reader for an id; an
item that is drawn and has no verdict is an error of the page.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from perpend.inert import one_line
from perpend.studies.logic.chaos.questions.draft import STRATA
from perpend.studies.logic.chaosbench.validate import items_at

EACH, QUICK = 40, 5
VERDICTS = Path(__file__).with_name("read_items.toml")
PAGE = "items-chaos-read.md"
_HEAD = """# Items that were read by hand

200 items of set 2, {each} of each stratum, were drawn by a digest of their ids and read one by one; the answer was
worked out again from the text: by hand, by a truth table, or by a short computation. {outcome}

The page is written by `benchmarks/read_items.py` from `benchmarks/read_items.toml`, which holds the verdicts.
"""


def drawn(records: Iterable[Mapping[str, object]], each: int) -> list[Mapping[str, object]]:
    """`each` records of every stratum, in the order of the strata and of the digests of their ids."""
    rows = sorted(records, key=lambda row: hashlib.sha256(f"read {row['id']}".encode()).hexdigest())
    return [row for stratum in STRATA for row in [r for r in rows if r["stratum"] == stratum][:each]]


def verdicts(path: Path = VERDICTS) -> dict[str, str]:
    """Id → what the reader says: 'right', or what is wrong."""
    return {str(key): str(value) for key, value in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def page(rows: Iterable[Mapping[str, object]], said: Mapping[str, str]) -> str:
    """The page; a drawn item without a verdict is a ValueError."""
    rows = list(rows)
    missing = [str(row["id"]) for row in rows if row["id"] not in said]
    if missing:
        raise ValueError(f"{len(missing)} drawn items have no verdict, as {missing[0]}")
    counts = Counter("right" if said[str(row["id"])].startswith("right") else "wrong" for row in rows)
    odd = sum("odd wording" in said[str(row["id"])] for row in rows)
    outcome = f"{counts['right']} labels are right, {counts['wrong']} are wrong; {odd} questions are worded oddly."
    lines = [_HEAD.format(each=len(rows) // len(STRATA), outcome=outcome)]
    for stratum in STRATA:
        lines += [f"## {stratum.capitalize()}", "", "| item | label | question | verdict |", "|---|---|---|---|"]
        for row in rows:
            if row["stratum"] == stratum:
                question = one_line(str(row["question"])).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
                lines.append(f"| `{row['id']}` | {row['ground_truth']} | {question} | {said[str(row['id'])]} |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the items that are read by hand, and write the page on them.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--into", type=Path, help="folder of the page")
    given = parser.parse_args()
    rows = drawn((record for _, record in items_at()), QUICK if given.quick else EACH)
    said = verdicts()
    if given.into is not None:
        (given.into / PAGE).write_text(page(rows, said), encoding="utf-8")
    if given.json:
        seen = [row for row in rows if row["id"] in said]
        right = sum(said[str(row["id"])].startswith("right") for row in seen)
        print(json.dumps({"drawn": len(rows), "read": len(seen), "right": right}))
        return
    for row in rows:
        print(f"{row['id']} {row['stratum']} {row['kind']} grade {row['grade']} {row['ground_truth']}")
        print(f"  {row['question']}")


if __name__ == "__main__":
    main()
