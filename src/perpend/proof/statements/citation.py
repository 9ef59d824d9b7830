"""CITATION.cff: how to cite a published run (citation-file-format.github.io, version 1.2.0)."""

from __future__ import annotations

import json

from perpend.inert import one_line
from perpend.ledger.manifest import MANIFEST
from perpend.measure.study import METRICS
from perpend.proof.archive import RESPONSES
from perpend.proof.statements.facts import StatedRun

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
