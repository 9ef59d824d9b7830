"""How many runs of the same items and model a runs folder holds: was the published one the first, or the best of 20."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, digest
from perpend.errors import StoreError
from perpend.ledger.manifest import Manifest, ModelFacts, differences, read_manifest
from perpend.measure.study import read_metrics

_DIFFERENCES = 10
_HEADLINE = ("metric", "scorer", "where", "value", "lo", "hi", "n")


def attempts(run: Path, metrics: Sequence[JSON]) -> dict[str, JSON]:
    """What the receipt says of the runs beside a run directory. `metrics` are the run's own.

    They count when they hold the same items, by digest, and share a model, by its name or its fingerprint. A copy of
    the run itself does not count. `position` is the place of this run among all of them by the time that each began,
    from 1. A headline is one Estimate; that of another run is what its own metrics.json says, and null where that does
    not hold it.
    """
    own = read_manifest(run)
    mine = headline(own, metrics)
    others = sorted(_others(run, own), key=lambda other: _begun(other[0]))
    position = 1 + sum(_begun(manifest) < _begun(own) for manifest, _ in others)
    return {
        "others": [
            {
                "run": manifest.run,
                "created": manifest.created,
                "differs": _differences(manifest, own),
                "headline": _same_number(_metrics(path), mine),
            }
            for manifest, path in others
        ],
        "position": position,
        "of": len(others) + 1,
        "headline": mine,
        "told": sentence(position, len(others)),
    }


def headline(manifest: Manifest, metrics: Sequence[JSON]) -> dict[str, JSON] | None:
    """The first metric of the latest version of the first scorer that a run declares; None where there is none."""
    stem = manifest.scorers[0].partition("@")[0] if manifest.scorers else ""
    latest = [name for name in manifest.scorers if name.partition("@")[0] == stem][-1:]
    for metric in map(as_object, metrics):
        if metric.get("scorer") in latest:
            return {key: metric.get(key) for key in _HEADLINE}
    return None


def sentence(position: int, others: int) -> str:
    """How many other runs there are and which one this is, in a sentence."""
    if not others:
        return "The runs folder holds no other run of these items with one of these models."
    which = "the first" if position == 1 else "the last" if position == others + 1 else f"number {position}"
    return (
        f"The runs folder holds {others} other run{'s' * (others != 1)} of these items with one of these models; "
        f"by the time that they began, this one is {which} of {others + 1}."
    )


def _others(run: Path, own: Manifest) -> Iterator[tuple[Manifest, Path]]:
    """The other runs of the folder that count, once each."""
    seen = {digest(own.as_json())}
    for path in sorted(run.resolve().parent.iterdir()):
        if not (path / "manifest.json").is_file() or not (path / "run.db").is_file():
            continue
        try:
            manifest = read_manifest(path)
        except StoreError:
            continue  # of another format, or no run at all: nothing can be said of it
        identity = digest(manifest.as_json())
        if identity not in seen and manifest.items.sha256 == own.items.sha256 and _share_model(manifest, own):
            seen.add(identity)
            yield manifest, path


def _share_model(first: Manifest, second: Manifest) -> bool:
    return any(_is_same_model(one, other) for one in first.models for other in second.models)


def _is_same_model(first: ModelFacts, second: ModelFacts) -> bool:
    """Of one name, or of one fingerprint: other weights under an old name are another attempt, too."""
    return first.name == second.name or (bool(first.fingerprint) and first.fingerprint == second.fingerprint)


def _begun(manifest: Manifest) -> tuple[str, str]:
    return manifest.created, manifest.run


def _differences(before: Manifest, now: Manifest) -> list[JSON]:
    """Where the other run's question differs from this one's, each as 'place: there → here'."""
    there, here = ({**manifest.binding(), "scorers": list(manifest.scorers)} for manifest in (before, now))
    lines = differences(there, here)
    more = len(lines) - _DIFFERENCES
    return [*lines[:_DIFFERENCES], *([f"and {more} more"] if more > 0 else [])]


def _metrics(path: Path) -> Sequence[JSON]:
    try:
        return as_list(read_metrics(path).get("metrics"))
    except (OSError, StoreError):
        return []


def _same_number(metrics: Sequence[JSON], mine: Mapping[str, JSON] | None) -> dict[str, JSON] | None:
    """The metric of the same name, scorer and slice; where the slice is another, the first of that name and scorer."""
    if mine is None:
        return None
    alike = [one for one in map(as_object, metrics) if all(one.get(key) == mine[key] for key in ("metric", "scorer"))]
    alike.sort(key=lambda metric: metric.get("where") != mine["where"])
    return {key: alike[0].get(key) for key in mine} if alike else None
