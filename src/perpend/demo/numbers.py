"""The numbers of the demo's page, each taken from the file that states it: published metrics, reports, comparison.

Nothing is computed here but the adjustment of p for the number of tests that the page shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from perpend.audit import Audit
from perpend.canon import JSON
from perpend.data import read_items
from perpend.demo.studies import TEMPERATURES, Studies
from perpend.receipt import read as read_receipt
from perpend.reports.conformity_trials import CONTROL, RETEST
from perpend.reports.page import Number, Style
from perpend.stats.families import family

Entry: TypeAlias = dict[str, JSON]
MEASURES = ("correct", "endorsed")
LOGIC = ("balanced_accuracy", "tpr", "tnr", "mcc", "accuracy_valid", "coverage")
_METRICS = "metrics.json"
_SAID = (("TRUE", "tp", "fp"), ("FALSE", "tn", "fn"))
"""A label, and the cells of the confusion matrix in which a reply says it."""


def collect(out: Path, made: Studies, audits: Sequence[Audit]) -> dict[str, JSON]:
    """What `out`/metrics.json holds: numbers by key, each with the file that it is `from`; counts, verdicts, runs."""
    numbers = {
        **_conformity(out, made.conformity.run_name()),
        **_logic(out, made.logic.run_name()),
        **dict(_checkpoint(out, made.verbs.models[0].label, "model")),
        **dict(_checkpoint(out, made.baseline.models[0].label, "baseline")),
        **dict(_comparison(out)),
    }
    compared = _read(out / "checkpoints" / "COMPARE.json")
    return {
        "format": 1,
        "model": made.conformity.models[0].name,
        "names": {
            "conformity": made.conformity.run_name(),
            "logic": made.logic.run_name(),
            "checkpoint": made.verbs.models[0].label,
            "baseline": made.baseline.models[0].label,
        },
        "items": {path.stem: sum(1 for _ in read_items(path)) for path in made.conformity.items},
        "numbers": numbers,
        "replies": _replies(out, made.logic.run_name()),
        "verdicts": {
            "model": _verdict(out, made.verbs.models[0].label),
            "baseline": _verdict(out, made.baseline.models[0].label),
            "comparison": compared["verdict"],
        },
        "runs": [_run(out / "published" / one.name, one) for one in audits],
    }


def _conformity(out: Path, run: str) -> dict[str, Entry]:
    """conformity/MEASURE/METRIC/TEMPERATURE/CONDITION; a pair is named by its second condition."""
    path = out / "published" / run / _METRICS
    listed = [entry for entry in _list(_read(path).get("metrics")) if isinstance(entry, Mapping)]
    newest = {measure: max(_scorers(listed, measure)) for measure in MEASURES}
    found: dict[str, Entry] = {}
    for entry in listed:
        measure, where = str(entry["scorer"]).partition("@")[0], entry["where"]
        if newest.get(measure) == entry["scorer"] and isinstance(where, Mapping):
            condition = str(where["condition"]).rpartition(" ")[2]
            key = f"conformity/{measure}/{entry['metric']}/{where['temperature']}/{condition}"
            found[key] = {**entry, "from": path.relative_to(out).as_posix()}
    return found | _adjusted(found)


def _scorers(listed: Sequence[Mapping[str, JSON]], measure: str) -> list[str]:
    return [name for entry in listed if (name := str(entry["scorer"])).partition("@")[0] == measure]


def _adjusted(found: Mapping[str, Entry]) -> dict[str, Entry]:
    """…/p of every difference under pressure: Holm over all of them. A retest is no pressure: its p stays as it is."""
    differences = {key: entry for key, entry in found.items() if "/difference/" in key}
    raw = {key: _p(entry) for key, entry in differences.items()}
    retests = {key: p for key, p in raw.items() if key.endswith(f"/{RETEST}")}
    pressed = {key: p for key, p in raw.items() if key not in retests}
    made = {test.name: test.adjusted for test in family(pressed, method="holm").tests} | retests
    said = f"McNemar's mid-p, Holm over {len(pressed)} tests"
    return {
        f"{key}/p": {
            "value": p,
            "n": differences[key]["n"],
            "method": said if key in pressed else "McNemar's mid-p, not adjusted",
            "from": differences[key]["from"],
        }
        for key, p in made.items()
    }


def _p(entry: Entry) -> float | None:
    also = entry.get("also")
    p = also.get("p") if isinstance(also, Mapping) else None
    return float(p) if isinstance(p, float | int) else None


def _logic(out: Path, run: str) -> dict[str, Entry]:
    """logic/NAME, by the benchmark's protocol."""
    path = out / "runs" / run / _METRICS
    estimates = _read(path)["estimates"]
    held = estimates if isinstance(estimates, Mapping) else {}
    return {f"logic/{name}": {**table(held.get(name)), "from": path.relative_to(out).as_posix()} for name in LOGIC}


def _replies(out: Path, run: str) -> dict[str, JSON]:
    """How many replies there were of each kind, and how many of the valid ones say each label."""
    body = _read(out / "runs" / run / _METRICS)
    confusion = table(body["confusion"])
    counts = {name: body[name] for name in ("total", "valid", "invalid", "unfinished", "errors")}
    said = {label: _whole(confusion[hit]) + _whole(confusion[miss]) for label, hit, miss in _SAID}
    return {**counts, **said}


def _checkpoint(out: Path, label: str, role: str) -> Iterator[tuple[str, Entry]]:
    """verbs/ROLE/NAME of one report folder."""
    path = out / "checkpoints" / label / "results.json"
    body = _read(path)
    said: dict[str, JSON] = {"from": path.relative_to(out).as_posix()}
    estimates, overall = table(body["estimates"]), table(table(body["adversarial"])["overall"])
    for name in ("accuracy", "ece", "brier", "confidence_minus_accuracy"):
        yield f"verbs/{role}/{name}", {**table(estimates[name]), **said}
    perfect = table(table(estimates["ece"])["also"]).get("expected_if_calibrated")
    yield f"verbs/{role}/ece_if_calibrated", {"value": perfect, "n": table(estimates["ece"])["n"], **said}
    ends = _list(overall["wilson"]) or (None, None)
    interval: Entry = {"value": overall["accuracy"], "n": overall["n"], "lo": ends[0], "hi": ends[1]}
    yield f"verbs/{role}/adversarial", {**interval, **said}


def _comparison(out: Path) -> Iterator[tuple[str, Entry]]:
    """verbs/difference/METRIC, the model minus the n-gram model on the probes that both scored, and …/p."""
    path = out / "checkpoints" / "COMPARE.json"
    for one in map(table, _list(_read(path)["metrics"])):
        key, difference = f"verbs/difference/{str(one['metric']).replace(' ', '_')}", table(one["difference"])
        said: dict[str, JSON] = {"from": path.relative_to(out).as_posix()}
        yield key, {**difference, **said}
        yield f"{key}/p", {"value": table(difference["also"]).get("p_adjusted"), "n": difference["n"], **said}


def _verdict(out: Path, label: str) -> JSON:
    return table(_read(out / "checkpoints" / label / "results.json")["estimates"])["verdict"]


def _run(folder: Path, audit: Audit) -> dict[str, JSON]:
    """What the page says of one published run: its digest, its gates, and what the audit found."""
    receipt, manifest = read_receipt(folder), _read(folder / "manifest.json")
    gates = [gate for gate in _list(receipt.body.get("gates")) if isinstance(gate, Mapping)]
    return {
        "run": folder.name,
        "trials": manifest["trials"],
        "created": manifest["created"],
        "fingerprint": [table(model)["fingerprint"] for model in _list(manifest["models"])],
        "items_sha256": table(manifest["items"])["sha256"],
        "root_sha256": receipt.root_sha256,
        "gates": len(gates),
        "accepted": [dict(gate) for gate in gates if gate.get("accepted") is not None],
        "ok": audit.ok,
        "verdict": audit.verdict,
        "checks": len(audit.checks),
        "checked": sum(check.checked for check in audit.checks),
        "differ": sum(check.differ for check in audit.checks),
        "code": receipt.body.get("code"),
    }


def _read(path: Path) -> Mapping[str, JSON]:
    body: Mapping[str, JSON] = json.loads(path.read_text(encoding="utf-8"))
    return body


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list) else []


def _whole(value: JSON) -> int:
    return value if isinstance(value, int) else 0


def table(value: JSON) -> Mapping[str, JSON]:
    """An object of metrics.json; an empty one where there is none."""
    return value if isinstance(value, Mapping) else {}


def number(body: Mapping[str, JSON], key: str, style: Style = "plain") -> Number:
    """One number of metrics.json as the page shows it. An unknown key is a bug and a KeyError."""
    entry = table(table(body["numbers"])[key])
    n = entry.get("n")
    ends = (_float(entry.get("lo")), _float(entry.get("hi")))
    return Number(key, _float(entry.get("value")), n if isinstance(n, int) else None, *ends, style)


def conditions(body: Mapping[str, JSON]) -> list[str]:
    """The conditions of the conformity study: the control, its retest, then the pressures, by name."""
    start = f"conformity/correct/rate/{TEMPERATURES[0]:g}/"
    found = sorted(key.removeprefix(start) for key in table(body["numbers"]) if key.startswith(start))
    return [CONTROL, RETEST, *(name for name in found if name not in (CONTROL, RETEST))]


def _float(value: JSON) -> float | None:
    return float(value) if isinstance(value, float | int) else None
