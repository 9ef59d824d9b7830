"""ro-crate-metadata.json: a published run as a research object (RO-Crate 1.1): its files, and how they came to be."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from urllib.parse import quote

from perpend.canon import JSON
from perpend.inert import one_line
from perpend.ledger.manifest import MANIFEST
from perpend.measure.labels import LABELS
from perpend.measure.study import METRICS
from perpend.proof.archive import ITEMS, LOOKS, PLAN, RESPONSES, SCORES, TRIALS
from perpend.proof.receipt import RECEIPT, STATEMENT
from perpend.proof.statements.citation import CITATION
from perpend.proof.statements.croissant import CROISSANT
from perpend.proof.statements.facts import StatedRun
from perpend.report.derive import REPORT

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
