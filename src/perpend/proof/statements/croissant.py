"""croissant.json: items, answers and scores of a published run as a data set (mlcommons.org/croissant, version 1.0)."""

from __future__ import annotations

from collections.abc import Mapping

from perpend.canon import JSON
from perpend.proof.archive import ITEMS, RESPONSES, SCORES, TRIALS
from perpend.proof.statements.facts import StatedRun

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
