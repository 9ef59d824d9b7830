"""How many runs of the same items and model a runs folder holds: was the published one the first, or the best of 20."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perpend.canon import JSON, digest
from perpend.errors import StoreError
from perpend.manifest import BINDING, differences, read_manifest

_DIFFERENCES = 10


def attempts(run: Path, metrics: Sequence[JSON]) -> dict[str, JSON]:
    """What the receipt says of the runs that stand beside a run directory. `metrics` are the run's own.

    They count when they hold the same items, by digest, and share a model, by its name or its fingerprint. A copy of
    the run itself does not count. `position` is the place of this run among all of them by the time that each began,
    from 1. A headline is one Estimate; that of another run is what its own metrics.json says, and null where that does
    not hold it.
    """
    own = read_manifest(run)
    mine = headline(own, metrics)
    others = sorted(_others(run, own), key=lambda found: _begun(found[0]))
    position = 1 + sum(_begun(manifest) < _begun(own) for manifest, _ in others)
    return {
        "others": [
            {
                "run": str(manifest.get("run")),
                "created": str(manifest.get("created")),
                "differs": _differences(manifest, own),
                "headline": _same_number(_metrics(path), mine),
            }
            for manifest, path in others
        ],
        "position": position,
        "of": len(others) + 1,
        "headline": mine,
        "told": _sentence(position, len(others)),
    }


def headline(manifest: Mapping[str, JSON], metrics: Sequence[JSON]) -> dict[str, JSON] | None:
    """The first metric of the latest version of the first scorer that a run declares; None where there is none."""
    declared = manifest.get("scorers")
    names = [str(name) for name in declared] if isinstance(declared, list) else []
    stem = names[0].partition("@")[0] if names else ""
    latest = [name for name in names if name.partition("@")[0] == stem][-1:]
    for metric in metrics:
        if isinstance(metric, Mapping) and metric.get("scorer") in latest:
            return {key: metric.get(key) for key in ("metric", "scorer", "where", "value", "lo", "hi", "n")}
    return None


def _others(run: Path, own: Mapping[str, JSON]) -> Iterator[tuple[dict[str, JSON], Path]]:
    """The other runs of the folder that count, once each."""
    seen = {digest(own)}
    for path in sorted(run.resolve().parent.iterdir()):
        if not (path / "manifest.json").is_file() or not (path / "run.db").is_file():
            continue
        try:
            manifest = read_manifest(path)
        except StoreError:
            continue  # of another format, or no run at all: nothing can be said of it
        if digest(manifest) not in seen and _items(manifest) == _items(own) and _share_model(manifest, own):
            seen.add(digest(manifest))
            yield manifest, path


def _items(manifest: Mapping[str, JSON]) -> JSON:
    items = manifest.get("items")
    return items.get("sha256") if isinstance(items, Mapping) else None


def _share_model(first: Mapping[str, JSON], second: Mapping[str, JSON]) -> bool:
    return any(_is_same_model(one, other) for one in _models(first) for other in _models(second))


def _models(manifest: Mapping[str, JSON]) -> list[Mapping[str, JSON]]:
    models = manifest.get("models")
    return [model for model in models if isinstance(model, Mapping)] if isinstance(models, list) else []


def _is_same_model(first: Mapping[str, JSON], second: Mapping[str, JSON]) -> bool:
    """Of one name, or of one fingerprint: other weights under an old name are another attempt, too."""
    prints = (first.get("fingerprint"), second.get("fingerprint"))
    return first.get("name") == second.get("name") or (all(prints) and prints[0] == prints[1])


def _begun(manifest: Mapping[str, JSON]) -> tuple[str, str]:
    return str(manifest.get("created")), str(manifest.get("run"))


def _differences(before: Mapping[str, JSON], now: Mapping[str, JSON]) -> list[JSON]:
    """Where the other run's question differs from this one's, each as 'place: there → here'."""
    keys = (*BINDING, "scorers")
    told = differences({key: before.get(key) for key in keys}, {key: now.get(key) for key in keys})
    more = len(told) - _DIFFERENCES
    return [*told[:_DIFFERENCES], *([f"and {more} more"] if more > 0 else [])]


def _metrics(path: Path) -> list[JSON]:
    try:
        body = json.loads((path / "metrics.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    found = body.get("metrics") if isinstance(body, dict) else None
    return found if isinstance(found, list) else []


def _same_number(metrics: Sequence[JSON], mine: Mapping[str, JSON] | None) -> dict[str, JSON] | None:
    """The metric of the same name, scorer and slice; where the slice is another, the first of that name and scorer."""
    if mine is None:
        return None
    alike = [
        metric
        for metric in metrics
        if isinstance(metric, Mapping) and all(metric.get(key) == mine[key] for key in ("metric", "scorer"))
    ]
    alike.sort(key=lambda metric: metric.get("where") != mine["where"])
    return {key: alike[0].get(key) for key in mine} if alike else None


def _sentence(position: int, others: int) -> str:
    if not others:
        return "The runs folder holds no other run of these items with one of these models."
    which = "the first" if position == 1 else "the last" if position == others + 1 else f"number {position}"
    return (
        f"The runs folder holds {others} other run{'s' * (others != 1)} of these items with one of these models; "
        f"by the time that they began, this one is {which} of {others + 1}."
    )
