"""statement.intoto.json: an in-toto statement on the results of an evaluation, to be signed.

The predicate follows what is proposed for in-toto as 'eval-result' (in-toto/attestation, issue 565 and pull request
575) in its words: harness, metric, sampleSize, assuranceLevel. While that is a proposal the type and its version are
ours. A run has no threshold, so there is neither a comparator nor a verdict; what is absent claims nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from perpend.canon import JSON
from perpend.ledger.manifest import ModelFacts
from perpend.measure.study import Metric
from perpend.proof.statements.facts import StatedRun
from perpend.report.derive import stated

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
