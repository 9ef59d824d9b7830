"""What goes with the files of a set: the data card for people, Croissant metadata for programs; both from the items."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence

from perpend.canon import JSON
from perpend.report.tables import markdown_table
from perpend.studies.logic.chaos.questions.draft import GENERIC, STRATA
from perpend.studies.logic.chaos.questions.items import CANARY, SET
from perpend.studies.logic.chaos.questions.splits import LARGEST_SHARE, SPLITS
from perpend.studies.logic.chaosbench.hashes import FileDigest, global_sha256
from perpend.studies.logic.chaosbench.items import KEYS, Record, label_of, text_of

CARD = "data/DATA_CARD.md"
CROISSANT = "data/croissant.json"
NAME = f"chaos-logic set {SET}"
LICENCE = "CC BY 4.0"
LICENCE_URL = "https://creativecommons.org/licenses/by/4.0/"
DESCRIPTION = (
    "Yes-or-no questions about dynamical systems in five strata: named results, reasoning from equations, logic in the "
    "prompt, reading data, and computing. Every label is computed and checked by a second way."
)
CREATOR = "The perpend authors"
_ASKED = {
    "textbook": "named results and canonical parameters, each with its source",
    "reason": "what follows by hand from the equations in the question",
    "logic": "what follows from the premises in the question",
    "data": "what a list, table or orbit in the question shows",
    "compute": "what the stated system does, which takes a computation",
}
_FIELDS = (*KEYS, "stratum", "kind", "grade", "predicate", "polarity", "pair", "group", "split")


def described(families: Mapping[str, Sequence[Record]], texts: Mapping[str, str]) -> dict[str, str]:
    """The card and the metadata of a set with these items, whose files hold these texts."""
    body = json.dumps(croissant(texts), indent=1, ensure_ascii=True) + "\n"
    return {CARD: card(families, texts), CROISSANT: body}


def _counts(records: Sequence[Record], tag: str, order: Sequence[str]) -> str:
    """A table of items and labels by a tag, and the groups that they rest on."""
    rows: dict[str, list[Record]] = {}
    for record in records:
        rows.setdefault(text_of(record, tag), []).append(record)
    names = [name for name in order if name in rows] or sorted(rows)
    lines = []
    for name in names:
        right = sum(label_of(record) == "TRUE" for record in rows[name])
        groups, systems = ({text_of(record, key) for record in rows[name]} for key in ("group", "system_id"))
        shown = (len(rows[name]), right, len(rows[name]) - right, len(groups), len(systems - {GENERIC}))
        lines.append((name, *map(str, shown)))
    head = (tag, "items", "TRUE", "FALSE", "instances or pairs", "named systems")
    return markdown_table(head, lines, "|---|---:|---:|---:|---:|---:|")


def _crossed(records: Sequence[Record], tag: str) -> str:
    """Items of each stratum by a tag."""
    counts = Counter((text_of(record, "stratum"), text_of(record, tag)) for record in records)
    values = sorted({value for _, value in counts})
    lines = [(stratum, *(str(counts[stratum, value]) for value in values)) for stratum in STRATA]
    return markdown_table(("stratum", *(f"{tag} {value}" for value in values)), lines)


def card(families: Mapping[str, Sequence[Record]], texts: Mapping[str, str]) -> str:
    """DATA_CARD.md: what the set is, what it holds, what it is not good for, and how mistakes are dealt with."""
    records = [record for family in sorted(families) for record in families[family]]
    files = {path: texts[path] for path in sorted(texts) if path in {f"data/{family}.jsonl" for family in families}}
    digests = [FileDigest(path, text.count("\n"), _sha256(text)) for path, text in files.items()]
    sources = sorted({text_of(record, "cites") for record in records} - {""})
    lines = [
        f"# {NAME}",
        "",
        f"{DESCRIPTION} {len(records)} items. Global SHA-256: `{global_sha256(digests)}`.",
        "",
        f"Canary: `{CANARY}`. It stands in every line. Please keep files that hold it out of training data.",
        "",
        "## Strata",
        "",
        "Results are reported for each stratum, never as one number over all.",
        "",
        *(f"- **{name}**: {asked}." for name, asked in _ASKED.items()),
        "",
        _counts(records, "stratum", STRATA),
        "",
        "Grades 1 to 5 are computed from the structure of an item: steps, distractors, negations, size of a",
        "computation.",
        "",
        _crossed(records, "grade"),
        "",
        "## Families",
        "",
        "The families of the benchmark's protocol; each is a file.",
        "",
        _counts(records, "type", ()),
        "",
        "## Splits",
        "",
        "By system: every item about a named system is in the split of that system. Items about no named system are",
        f"split by pair. No system makes up more than {LARGEST_SHARE:.0%} of the items about named systems of a split.",
        "",
        _counts(records, "split", SPLITS),
        "",
        "A private split is made by the same code from a secret key (`chaosbench private`): test systems only, no",
        "question of this set. Its digest can be published before it is used.",
        "",
        "## How labels are made",
        "",
        "Facts about named systems are measured by an adaptive integrator with error bars and must agree with a",
        "second, independent method; what the error does not allow to decide is not asked. All other labels are",
        "computed exactly. Every label is computed again by another way from the text of the question (`chaosbench",
        "validate`). Items come in pairs that differ in what decides the label: `pair` names them, and `group` what",
        "intervals must be clustered by.",
        "",
        "## Sources",
        "",
        f"Equations and named results from the published literature, {len(sources)} sources; each item names its own",
        "under `cites`. All sentences are our own.",
        "",
        "## Licence",
        "",
        f"The data: {LICENCE} ({LICENCE_URL}). The code that makes them: MIT.",
        "",
        "## Known limits",
        "",
        "- Sentences are made from frames; they are varied, but they are not what people wrote.",
        "- Facts are of one stated instance each; many items rest on one instance, so n is not the number of items.",
        "- Numerical facts are decided by measured exponents and orbits, not by proofs.",
        "- English only. TRUE or FALSE only; a guess is right half the time.",
        "- Public items can be learned by heart. Use the private split where that matters.",
        "",
        "## Errata",
        "",
        "A wrong label or an ambiguous question is never changed silently. It is listed with its id and the reason in",
        "the change log; the item is corrected or taken out in the next set, which has another digest and other ids",
        "for every changed text. Older sets stay loadable by their digest, so results remain what they were.",
        "",
        "## Files",
        "",
        markdown_table(("file", "items", "SHA-256"), [(f.path, str(f.count), f"`{f.sha256}`") for f in digests]),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def croissant(texts: Mapping[str, str]) -> dict[str, JSON]:
    """Croissant 1.0 of the item files: each with its digest, and the fields of a line."""
    paths = sorted(path for path in texts if path.endswith(".jsonl") and path.count("/") == 1)
    files: list[JSON] = [
        {
            "@type": "cr:FileObject",
            "@id": path,
            "name": path.rpartition("/")[2],
            "contentUrl": path.rpartition("/")[2],
            "contentSize": f"{len(texts[path].encode())} B",
            "encodingFormat": "application/jsonlines",
            "sha256": _sha256(texts[path]),
        }
        for path in paths
    ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": NAME.replace(" ", "-"),
        "description": f"{DESCRIPTION} Canary: {CANARY}",
        "license": LICENCE_URL,
        "version": f"{SET}.0.0",
        "creator": {"@type": "sc:Organization", "name": CREATOR},
        "citeAs": f"{CREATOR}: {NAME}. Cite it with its SHA-256.",
        "distribution": files,
        "recordSet": [_record_set(path) for path in paths],
    }


def _record_set(path: str) -> dict[str, JSON]:
    name = path.rpartition("/")[2].removesuffix(".jsonl")
    fields: list[JSON] = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{key}",
            "name": key,
            "dataType": "sc:Text",
            "source": {"fileObject": {"@id": path}, "extract": {"column": key}},
        }
        for key in _FIELDS
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "key": {"@id": f"{name}/id"}, "field": fields}


_CR = (
    "citeAs", "column", "extract", "field", "fileObject", "fileProperty", "fileSet", "format", "includes", "jsonPath",
    "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "separator",
    "source", "subField", "transform", "isLiveDataset",
)  # fmt: skip
_CONTEXT: dict[str, JSON] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _CR},
}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
