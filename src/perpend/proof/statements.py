"""Statements that travel: what a published run is and states, in the formats that other people's tools read.

Each is derived from the run's manifest, its numbers and the digests of its files.

    CITATION.cff               how to cite it
    croissant.json             items, answers and scores as a data set that loaders read
    every_eval_ever/<id>.json  the rates and means of each model, in the shared schema of evaluations
    ro-crate-metadata.json     every file of the folder, and how they came to be
    statement.intoto.json      the digest of every other file, and the numbers that every run states

They cite metrics.json and compute nothing, and no trial is read for them. The last one names the digests of the others.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from perpend.canon import JSON, as_object, open_file, pretty
from perpend.errors import StoreError
from perpend.inert import one_line
from perpend.ledger.manifest import MANIFEST, Manifest, ModelFacts, read_manifest
from perpend.measure.labels import LABELS
from perpend.measure.study import METRICS, Metric, Numbers, numbers_of, read_metrics
from perpend.proof import receipt as receipts
from perpend.proof.archive import ITEMS, LOOKS, PLAN, RESPONSES, SCORES, TRIALS
from perpend.proof.receipt import RECEIPT, STATEMENT
from perpend.report.answer import counted
from perpend.report.derive import REPORT, stated
from perpend.report.every_eval_ever import begun, record_names, records


@dataclass(frozen=True, slots=True)
class StatedRun:
    """A published run: its manifest, its numbers, the SHA-256 of each other file, the code that derived them."""

    manifest: Manifest
    numbers: Numbers
    files: Mapping[str, str]
    code: Mapping[str, JSON]

    @property
    def day(self) -> str | None:
        """The day on which the run was begun, in UTC; None where the manifest states no time."""
        moment = begun(self.manifest)
        return None if moment is None else moment.astimezone(UTC).date().isoformat()

    @property
    def version(self) -> str:
        """The version of perpend that derived the numbers."""
        return str(self.code.get("perpend"))

    @property
    def name(self) -> str:
        """The name of the run as one line without anything that cannot be seen."""
        return one_line(self.manifest.run)

    @property
    def authors(self) -> str:
        """Who is cited: a run does not know who asked it, and no file of it names a user."""
        return f"The authors of {self.name}"

    @property
    def description(self) -> str:
        """One sentence: what was asked of what."""
        run = self.manifest
        models = ", ".join(model.label for model in run.models)
        return one_line(
            f"A language-model evaluation: task {run.task}, {counted(run.items.n, 'item')}, "
            f"{counted(len(run.conditions), 'condition')}, {counted(run.trials, 'trial')}, "
            f"{'models' if len(run.models) > 1 else 'model'} {models}."
        )


# CITATION.cff (citation-file-format.github.io, version 1.2.0).
CITATION = "CITATION.cff"
_IDENTIFIERS = {
    MANIFEST: "what the run set out to ask",
    RESPONSES: "every raw response",
    METRICS: "every number",
}


def citation(run: StatedRun) -> str:
    """The file. The digests identify what is cited."""
    lines = [
        "cff-version: 1.2.0",
        "type: dataset",
        f"message: {_quoted('To cite this run, name it and the digests below, by which a reader can check it.')}",
        f"title: {_quoted(f'{run.name}: raw responses, scores and numbers of a language-model evaluation')}",
        "authors:",
        f"  - name: {_quoted(run.authors)}",
        f"abstract: {_quoted(run.description)}",
        "keywords:",
        *(f"  - {_quoted(word)}" for word in dict.fromkeys(("language models", "evaluation", run.manifest.task))),
    ]
    if run.day is not None:
        lines.append(f"date-released: {_quoted(run.day)}")
    lines.append("identifiers:")
    for name, meaning in _IDENTIFIERS.items():
        lines += ["  - type: other", f"    value: {_quoted(f'sha256:{run.files.get(name)}')}"]
        lines.append(f"    description: {_quoted(f'SHA-256 of {name}: {meaning}')}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A text as YAML's double-quoted scalar: one line in which nothing but its letters has a meaning."""
    return json.dumps(one_line(text), ensure_ascii=False)


# croissant.json (mlcommons.org/croissant, version 1.0).
CROISSANT = "croissant.json"
_CR = "http://mlcommons.org/croissant/"
_TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace "
    "samplingRate separator source subField transform"
)
_CONTEXT: Mapping[str, JSON] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": _CR,
    "dct": "http://purl.org/dc/terms/",
    "rai": f"{_CR}RAI/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS.split()},
}
_FILES = {
    ITEMS: "Every item, in the order of the plan.",
    TRIALS: "Every trial: a list of item, condition, model, sampling (from 1) and repeat (from 0).",
    RESPONSES: "Every raw response, retries and failures included.",
    SCORES: "Every score, by scorer and trial.",
}
_RECORDS: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]] = {
    "items": (
        ITEMS,
        {
            "dataset": ("sc:Integer", "Number of the item's file in plan.json, from 0."),
            "item.id": ("sc:Text", "Name of the item."),
            "item.prompt": ("sc:Text", "The question."),
            "item.target": ("sc:Text", "The right answer; null where there is none, as for an opinion."),
            "item.decoy": ("sc:Text", "A planted wrong answer; null where there is none."),
        },
    ),
    "responses": (
        RESPONSES,
        {
            "trial": ("sc:Integer", "Line of the trial in trials.jsonl.gz, from 1."),
            "turn": ("sc:Integer", "0 is the first question, 1 a second one."),
            "attempt": ("sc:Integer", "Retries after a failure count on."),
            "request_sha256": ("sc:Text", "Digest of all that was sent."),
            "text": ("sc:Text", "What the model said; absent where the call failed."),
        },
    ),
    "scores": (
        SCORES,
        {
            "trial": ("sc:Integer", "Line of the trial in trials.jsonl.gz, from 1."),
            "scorer": ("sc:Text", "Name and version of the rule."),
            "value": ("sc:Float", "The score; null where the answer cannot be judged."),
            "answer": ("sc:Text", "The answer that the rule read, if it reads one."),
            "reason": ("sc:Text", "Why."),
        },
    ),
}


def croissant(run: StatedRun) -> dict[str, JSON]:
    """The metadata. Files are named relative to the folder; every name of a field is ours."""
    body: dict[str, JSON] = {
        "@context": dict(_CONTEXT),
        "@type": "sc:Dataset",
        "name": run.name,
        "description": run.description,
        "conformsTo": f"{_CR}1.0",
        "version": "1.0.0",
        "isLiveDataset": False,
        "citeAs": run.authors,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "description": meaning,
                "contentUrl": name,
                "encodingFormat": "application/jsonlines",
                "sha256": run.files[name],
            }
            for name, meaning in _FILES.items()
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": name,
                "name": name,
                "description": _FILES[file],
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"{name}/{column.rpartition('.')[2]}",
                        "name": column.rpartition(".")[2],
                        "description": meaning,
                        "dataType": kind,
                        "source": _source(file, column),
                    }
                    for column, (kind, meaning) in columns.items()
                ],
            }
            for name, (file, columns) in _RECORDS.items()
        ],
    }
    return body if run.day is None else {**body, "datePublished": run.day}


def _source(file: str, column: str) -> dict[str, JSON]:
    """A column of a file; 'item.id' is the key 'id' of the objects in its column 'item'."""
    first, _, key = column.partition(".")
    body: dict[str, JSON] = {"fileObject": {"@id": file}, "extract": {"column": first}}
    return {**body, "transform": {"jsonPath": f"$.{key}"}} if key else body


# statement.intoto.json. The predicate follows what is proposed for in-toto as 'eval-result' (in-toto/attestation, issue
# 565, pull request 575) in its words: harness, metric, sampleSize, assuranceLevel. While that is a proposal, type and
# version are ours. A run has no threshold, so there is neither a comparator nor a verdict; what is absent claims
# nothing.
TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:perpend:eval-result:0.1"
# Of what identifies a model, these are the digest of one file or of what a server loads as one.
_OF_A_FILE = ("file_sha256", "checkpoint_sha256", "digest")
_SHA256 = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def statement(run: StatedRun, files: Mapping[str, str]) -> dict[str, JSON]:
    """The statement, whose subjects are the files of the folder by their SHA-256."""
    manifest = run.manifest
    return {
        "_type": TYPE,
        "subject": [{"name": name, "digest": {"sha256": files[name]}} for name in sorted(files)],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "run": manifest.run,
            "created": manifest.created,
            "task": manifest.task,
            "assuranceLevel": "self_attested",
            "harness": {
                "name": "perpend",
                "version": run.version,
                "digest": {"sha256": str(run.code.get("source_sha256"))},
            },
            "models": [_model(model) for model in manifest.models],
            "dataset": {
                "items": manifest.items.n,
                "digest": {"sha256": manifest.items.sha256},
                "files": [
                    {"name": one.name, "version": one.version, "digest": {"sha256": one.sha256}}
                    for one in manifest.datasets
                ],
            },
            "conditions": [{"name": one.name, "digest": {"sha256": one.sha256}} for one in manifest.conditions],
            "trials": manifest.trials,
            "metrics": [_metric(metric) for metric in stated(run.numbers)],
        },
    }


def _model(model: ModelFacts) -> dict[str, JSON]:
    body: dict[str, JSON] = {"name": model.name, "label": model.label, "fingerprint": dict(model.fingerprint)}
    for key in _OF_A_FILE:
        match = _SHA256.fullmatch(str(model.fingerprint.get(key)))
        if match:
            return {**body, "digest": {"sha256": match[1]}}
    return body


def _metric(metric: Metric) -> dict[str, JSON]:
    """A number with its denominator; without a value it says why, without an interval it has none."""
    one = metric.estimate
    body: dict[str, JSON] = {"metric": metric.name, "scorer": metric.scorer, "where": dict(metric.where)}
    body |= {"value": one.value, "sampleSize": one.n, "columns_sha256": metric.columns_sha256}
    if one.value is None:
        body["note"] = one.note
    if one.lo is not None and one.hi is not None:
        body["interval"] = {"lower": one.lo, "upper": one.hi, "level": one.level, "method": one.method}
    return body


# ro-crate-metadata.json (RO-Crate 1.1).
RO_CRATE = "ro-crate-metadata.json"
_VERSION = "https://w3id.org/ro/crate/1.1"
_NO_LICENCE = "The run states no licence. Whoever published it can say how it may be used."
_MEANINGS = {
    MANIFEST: "What the run set out to ask, written before the first question.",
    PLAN: "Item files, conditions, models, samplings, scorers.",
    ITEMS: "Every item.",
    TRIALS: "Every trial: item, condition, model, sampling, repeat, by their numbers.",
    RESPONSES: "Every raw response, retries and failures included.",
    SCORES: "Every score with its scorer's version, its reason and its span.",
    LABELS: "Human labels of answers.",
    LOOKS: "What each look of the stopping rule showed.",
    METRICS: "Every number with its interval, its denominator and the digest of its columns.",
    REPORT: "The report; every number in it is in metrics.json.",
    CITATION: "How to cite the run.",
    CROISSANT: "Items, answers and scores as a data set that loaders read.",
    STATEMENT: "in-toto statement: the digest of every other file, and the rates and pairs that every run states.",
    RECEIPT: "The digest of every file, the gates, and the other attempts.",
}
_FORMATS = {
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".gz": "application/gzip",
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".tex": "application/x-tex",
    ".txt": "text/plain",
    ".png": "image/png",
    ".pdf": "application/pdf",
    ".html": "text/html",
    ".js": "text/javascript",
    ".py": "text/x-python",
    ".cff": "application/yaml",
}


def ro_crate(run: StatedRun, names: Iterable[str]) -> dict[str, JSON]:
    """The metadata of a folder that holds the files of these names; digests are in the statement and the receipt."""
    manifest, files = run.manifest, sorted(names)
    ids: list[JSON] = [{"@id": quote(name)} for name in files]
    models: list[dict[str, JSON]] = [
        {"@id": f"#model-{number}", "@type": "SoftwareApplication", "name": one_line(model.label)}
        for number, model in enumerate(manifest.models, 1)
    ]
    root: dict[str, JSON] = {
        "@id": "./",
        "@type": "Dataset",
        "name": run.name,
        "description": run.description,
        "license": {"@id": "#licence"},
        "author": {"@id": "#authors"},
        "hasPart": ids,
        "mentions": {"@id": "#run"},
    }
    action: dict[str, JSON] = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": one_line(f"{manifest.task} asked of {', '.join(model.label for model in manifest.models)}"),
        "instrument": [{"@id": "#perpend"}, *({"@id": model["@id"]} for model in models)],
        "object": [{"@id": ITEMS}, {"@id": MANIFEST}],
        "result": [{"@id": name} for name in (RESPONSES, SCORES, METRICS)],
    }
    if run.day is not None:
        root["datePublished"] = run.day
        action["startTime"] = run.day
    return {
        "@context": f"{_VERSION}/context",
        "@graph": [
            {"@id": RO_CRATE, "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": _VERSION}},
            root,
            *(_file(name) for name in files),
            action,
            {"@id": "#authors", "@type": "Organization", "name": run.authors},
            {"@id": "#licence", "@type": "CreativeWork", "name": "Not stated", "description": _NO_LICENCE},
            {"@id": "#perpend", "@type": "SoftwareApplication", "name": "perpend", "version": run.version},
            *models,
        ],
    }


def _file(name: str) -> dict[str, JSON]:
    body: dict[str, JSON] = {"@id": quote(name), "@type": "File", "name": one_line(name)}
    kind = _FORMATS.get(PurePosixPath(name).suffix)
    body |= {} if kind is None else {"encodingFormat": kind}
    return {**body, "description": _MEANINGS[name]} if name in _MEANINGS else body


RECORDS = "every_eval_ever"
_MISSING = "(no such line)"
_SHOWN = 200


def names(manifest: Manifest) -> set[str]:
    """The files that state something of a run, as its published folder has them."""
    own = {f"{RECORDS}/{name}" for name in record_names(manifest).values()}
    return {CITATION, CROISSANT, RO_CRATE, STATEMENT, *own}


def texts(run: StatedRun) -> dict[str, str]:
    """Every statement of a published run by the name of its file. The same facts give the same bytes."""
    bodies = {
        CITATION: citation(run),
        CROISSANT: pretty(croissant(run)),
        **{f"{RECORDS}/{name}": pretty(body) for name, body in records(run.manifest, run.numbers).items()},
    }
    bodies[RO_CRATE] = pretty(ro_crate(run, [*run.files, *bodies, STATEMENT, RECEIPT]))
    others = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in bodies.items()}
    bodies[STATEMENT] = pretty(statement(run, {**run.files, **others}))
    return bodies


def differences(folder: Path) -> Iterator[tuple[str, str]]:
    """(file, how it differs or '') of every statement that a published folder should have.

    Compared are bytes, with what follows from the folder's own manifest, metrics.json and receipt, which are checked
    against the ledger elsewhere.
    """
    receipt, manifest = receipts.read(folder), read_manifest(folder)
    own = names(manifest)
    files = {name: value for name, value in receipt.files.items() if name not in own}
    code = as_object(receipt.body.get("code"))
    run = StatedRun(manifest, numbers_of(read_metrics(folder), [manifest]), files, code)
    for name, text in sorted(texts(run).items()):
        yield name, _difference(folder, name, text.encode())


def _difference(folder: Path, name: str, now: bytes) -> str:
    path = folder / name
    if not path.is_file():
        return f"{name}: missing"
    with open_file(path, StoreError, within=folder) as file:
        stored = file.read(2 * len(now) + _SHOWN)  # what is longer differs before its end
    if stored == now:
        return ""
    pairs = zip_longest(*(text.decode("utf-8", "replace").split("\n") for text in (stored, now)), fillvalue=_MISSING)
    for number, (one, other) in enumerate(pairs, 1):
        if one != other:
            return f"{name}:{number}: stored {one!r:.{_SHOWN}}, recomputed {other!r:.{_SHOWN}}"
    return f"{name}: not UTF-8"
