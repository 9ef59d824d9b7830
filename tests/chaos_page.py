"""The counts and examples of the page on the logic items, from the packaged set."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from perpend.canon import JSON
from perpend.report.tables import markdown_table
from perpend.studies.logic.chaos.questions.draft import FAMILIES, STRATA
from perpend.studies.logic.chaos.questions.splits import SPLITS
from perpend.studies.logic.chaosbench.items import Record, family_of, label_of, text_of
from perpend.studies.logic.chaosbench.masking import systems_of
from perpend.studies.logic.chaosbench.packaged import EDITIONS, FREEZE, committed
from perpend.studies.logic.chaosbench.sources import open_source

GRADES = "12345"


@cache
def items(edition: str) -> tuple[Record, ...]:
    """The items of a packaged set."""
    return tuple(open_source(None, "canonical", edition).records)


def filled(page: str) -> str:
    """The page with its blocks written anew."""
    records = items(EDITIONS[-1])
    for name, block in {"size": size, "kinds": kinds, "examples": examples, "sets": sets}.items():
        head, _, rest = page.partition(f"<!-- {name} -->")
        page = f"{head}<!-- {name} -->\n\n{block(records)}\n\n<!-- /{name} -->{rest.partition(f'<!-- /{name} -->')[2]}"
    return page


def size(records: Sequence[Record]) -> str:
    """How many there are, by stratum, family, grade and split, and what they rest on."""
    named = {system for record in records for system in systems_of(record)}
    places = {name for record in records for name in text_of(record, "instance").split(" > ")} - {""}
    sources = {source for record in records for source in text_of(record, "cites").split("; ")} - {""}
    right = sum(label_of(record) == "TRUE" for record in records)
    told = (
        f"The set has {len(records):,} items, {right:,} of them TRUE. {len(named)} systems are named; {len(places):,} "
        f"measured instances and {_distinct(records, 'pair'):,} pairs underlie the labels; {len(sources)} sources are "
        "cited."
    )
    rows = []
    for stratum in STRATA:
        own = [record for record in records if record["stratum"] == stratum]
        grades, splits = (Counter(text_of(record, tag) for record in own) for tag in ("grade", "split"))
        counts = (len(own), _distinct(own, "group"), *(grades[g] for g in GRADES), *(splits[s] for s in SPLITS))
        rows.append((f"*{stratum}*", *(f"{count:,}" for count in counts)))
    head = ("stratum", "items", "clusters", *(f"grade {grade}" for grade in GRADES), *SPLITS)
    crossed = Counter((family_of(record), record["stratum"]) for record in records)
    families = [
        (f"`{family}`", *(f"{crossed[family, s]:,}" if crossed[family, s] else "" for s in STRATA),
         f"{sum(crossed[family, s] for s in STRATA):,}")
        for family in FAMILIES
    ]  # fmt: skip
    by_family = markdown_table(("family", *(f"*{s}*" for s in STRATA), "all"), families, _right(len(STRATA) + 2))
    return "\n".join([*textwrap.wrap(told, 120), "", markdown_table(head, rows, _right(len(head))), "", by_family])


def kinds(records: Sequence[Record]) -> str:
    """Items, clusters and forms by kind, in the order of the strata."""
    found = Counter((text_of(record, "stratum"), text_of(record, "kind")) for record in records)
    rows = []
    for stratum, kind in sorted(found, key=lambda key: (STRATA.index(key[0]), key[1])):
        own = [record for record in records if (record["stratum"], record["kind"]) == (stratum, kind)]
        counts = (len(own), _distinct(own, "group"), _distinct(own, "template"), _distinct(own, "predicate"))
        rows.append((f"*{stratum}*", f"`{kind}`", *(f"{count:,}" for count in counts)))
    head = ("stratum", "kind", "items", "clusters", "forms", "predicates")
    return markdown_table(head, rows, "|---|---" + _right(5)[4:])


def examples(records: Sequence[Record]) -> str:
    """Two items of each stratum, a TRUE one and a FALSE one of another kind, in the order of a digest of their ids."""
    ordered = sorted(records, key=lambda record: hashlib.sha256(f"shown {record['id']}".encode()).hexdigest())
    lines = ["```text"]
    for stratum in STRATA:
        own = [record for record in ordered if record["stratum"] == stratum]
        one = next(record for record in own if label_of(record) == "TRUE")
        other = next(record for record in own if label_of(record) == "FALSE" and record["kind"] != one["kind"])
        lines.append(stratum)
        for record in (one, other):
            tags = f"{family_of(record)}, {record['kind']}, grade {record['grade']}"
            text = f"{label_of(record)} ({tags}): {text_of(record, 'question')}"
            lines += textwrap.wrap(text, 118, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join([*lines, "```"])


def sets(records: Sequence[Record]) -> str:
    """The packaged sets with their digests."""
    del records
    rows = []
    for edition in EDITIONS:
        body: Mapping[str, JSON] = json.loads((committed(edition) / FREEZE).read_text(encoding="utf-8"))
        rows.append((edition, f"{len(items(edition)):,}", f"`{body['global_sha256']}`"))
    return markdown_table(("set", "items", "global SHA-256"), rows, "|---|---:|---|")


def _distinct(records: Iterable[Record], tag: str) -> int:
    return len({text_of(record, tag) for record in records})


def _right(columns: int) -> str:
    return "|---" + "|---:" * (columns - 1) + "|"
