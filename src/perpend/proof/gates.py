"""Gates: what must hold before a run is published; and the attempts that stand beside it.

A gate that cannot apply, as the prompts of an imported run, passes and says why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.ask.progress import Progress
from perpend.ask.task import conditions_of
from perpend.canon import JSON, as_list, as_object, digest
from perpend.errors import StoreError
from perpend.inert import one_line
from perpend.judging.segment import visible
from perpend.ledger.items import item_digest
from perpend.ledger.manifest import ItemsDigest, Manifest, ModelFacts, differences, read_manifest
from perpend.ledger.snapshot import Counts, ScoreCounts, snapshot
from perpend.ledger.stopping import StopFacts, item_count, read_looks, stopped_after
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.measure.study import read_metrics
from perpend.proof.rendered import RenderedAgain, rendered_again
from perpend.types import OWN_RULES

COVERAGE_LEAST = 0.95
"""Answered trials / planned trials. What failed for good is no answer."""
INVALID_MOST = 0.05
"""Answers in which the task's label scorer finds no label / answered trials."""
UNFINISHED_MOST = 0.05
"""Answers that were cut off, still reason or are empty / answered trials."""
NAMES = ("dataset", "prompts", "plan", "coverage", "invalid", "unfinished", "scores", "private")
"""Every gate, in the order in which they are shown; 'private' looks at the files that were written."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate: whether it holds, and the figures that it rests on. `because` is why a failed one was accepted."""

    gate: str
    passed: bool
    detail: str
    because: str | None = None

    def as_json(self) -> dict[str, JSON]:
        """The line of the receipt."""
        body: dict[str, JSON] = {"gate": self.gate, "passed": self.passed, "found": self.detail}
        return body if self.because is None else {**body, "accepted": self.because}


def as_table(gates: Sequence[Gate]) -> str:
    """The gates as text, one per line."""
    width = max(len(gate.gate) for gate in gates)
    lines = []
    for gate in gates:
        verdict = "pass" if gate.passed else "FAIL" if gate.because is None else "accepted"
        why = "" if gate.because is None else f"; accepted because: {gate.because}"
        lines.append(f"{verdict:<8}  {gate.gate:<{width}}  {one_line(gate.detail + why)}")
    return "\n".join(lines)


def gates(run: Run | Path, *, quiet: bool = True, rendered: RenderedAgain | None = None) -> list[Gate]:
    """Every gate of a run but 'private', which needs the files that would be published. No code of the run is run.

    `rendered` is what somebody who rendered every first question has counted.
    """
    opened = run if isinstance(run, Run) else Run(run)
    manifest, database = opened.manifest, opened.directory / "run.db"
    with Store.open(database) as store, snapshot(database) as db:
        counts, scored = db.counts(), db.score_counts()
        looked = None if manifest.stop is None else _looked(store, manifest, manifest.stop)
        return [
            _dataset(store, manifest),
            _prompts(store, manifest, rendered, counts, quiet=quiet),
            _plan(manifest, counts, _unasked_turns(opened, store), looked),
            _coverage(counts, looked),
            _invalid(manifest, counts, scored),
            _unfinished(store, counts, scored),
            _scores(opened, counts, scored),
        ]


def _dataset(store: Store, manifest: Manifest) -> Gate:
    """The items of run.db are those of the manifest, and those of the freeze file that the run was begun with."""
    stated = manifest.items
    frozen, sampled = stated.freeze_sha256, stated.max_items is not None
    taken, lines = ItemsDigest(), []
    for item in store.items():
        taken.add(item)
        if frozen is not None and not sampled:
            lines.append(f"{item.id}\t{item_digest(item)}\n")
    items = f"{taken.count} items {taken.hexdigest()}"
    if (taken.count, taken.hexdigest()) != (stated.n, stated.sha256):
        return Gate("dataset", False, f"{items}; the manifest says {stated.n} items {stated.sha256}")
    if frozen is None:
        return Gate("dataset", True, f"{items}, the manifest's; the run names no freeze")
    if sampled:
        return Gate("dataset", True, f"{items}, the manifest's; drawn from freeze {frozen}, which the run checked")
    now = hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
    return Gate("dataset", now == frozen, f"{items}; freeze {frozen}" + ("" if now == frozen else f", items {now}"))


def _prompts(store: Store, manifest: Manifest, rendered: RenderedAgain | None, counts: Counts, *, quiet: bool) -> Gate:
    """Every first question, rendered again by this code, has the digest of the one that was asked."""
    if manifest.is_imported:
        return Gate("prompts", True, "not applicable: imported, the questions were rendered elsewhere")
    for entry in manifest.conditions:
        if digest(dict(entry.params)) != entry.sha256:
            return Gate("prompts", False, f"the template of {entry.name!r} does not match its digest in the manifest")
    conditions = conditions_of(manifest)
    if isinstance(conditions, str):
        return Gate("prompts", True, f"not applicable: {conditions.partition(';')[0]}")
    now = rendered
    if now is None:
        with Progress("prompts", counts.planned, quiet=quiet) as progress:
            now = rendered_again(store, conditions, counts.planned, manifest.choices_scored, progress)
    if now.unknown is not None:
        return Gate("prompts", False, f"the manifest has no condition {now.unknown!r}")
    first = f", the first for {now.first}" if now.first else ""
    detail = f"{now.same} of {now.same + now.differ} requests have this code's digest{first}"
    return Gate("prompts", not now.differ, detail)


@dataclass(frozen=True, slots=True)
class _Looked:
    """How far a run with a stopping rule came: the trials that were due, and the last look in words."""

    due: int
    is_whole: bool
    detail: str


def _looked(store: Store, manifest: Manifest, stop: StopFacts) -> _Looked:
    looks, n = read_looks(store), item_count(store)
    points, after = stop.points(n), stopped_after(looks)
    due = (n if after is None else after) * len(manifest.conditions) * manifest.repeats
    is_whole = after is not None or len(looks) == len(points)
    state = f"stopped at look {len(looks)} of {len(points)}, after {after} of {n} items" if after is not None else ""
    return _Looked(due, is_whole, state or f"{len(looks)} of {len(points)} looks were recorded")


def _plan(manifest: Manifest, counts: Counts, unasked_turns: int, looked: _Looked | None) -> Gate:
    """Every planned trial is there and was asked, a second time where the task asks for that.

    Where a stopping rule held, every trial up to that look; then all looks are recorded.
    """
    planned = counts.planned if looked is None else looked.due
    gap = planned - counts.asked
    if counts.planned != manifest.trials or not counts.gapless:
        return Gate("plan", False, f"{counts.planned} trials in run.db, {manifest.trials} in the manifest")
    figure = f"{counts.asked} of {planned} trials were asked"
    left = f"; {unasked_turns} second turns never were" if unasked_turns else ""
    if looked is not None:
        left += f"; {looked.detail}"
    is_whole = looked is None or looked.is_whole
    return Gate(
        "plan", not gap and not unasked_turns and is_whole, figure + (f"; {gap} never were" if gap else "") + left
    )


def _unasked_turns(run: Run, store: Store) -> int:
    """How many first replies cannot be used and were not followed by a second turn; 0 where the task has none here."""
    reprompt = None if run.manifest.reprompt is None or run.code.task is None else run.code.task.reprompt
    if reprompt is None:
        return 0
    asked = store.answered_turns(1) | store.failures(1).keys()
    return sum(
        response.text is not None and trial.trial not in asked and reprompt.wanted(trial.item, response)
        for trial, response in store.answers(last_turn=0)
    )


def _coverage(counts: Counts, looked: _Looked | None) -> Gate:
    planned = counts.planned if looked is None else looked.due
    return _share("coverage", counts.answered, planned, least=COVERAGE_LEAST, what="planned trials have an answer")


def _invalid(manifest: Manifest, counts: Counts, scored: Mapping[str, ScoreCounts]) -> Gate:
    """By the scorer that the task reads labels with: its option `parser`, else the latest of its first label scorer."""
    labels = [name for name in manifest.scorers if name.startswith("label")]
    if not labels:
        return Gate("invalid", True, "not applicable: no declared scorer reads labels")
    latest = [name for name in labels if name.partition("@")[0] == labels[0].partition("@")[0]][-1]
    chosen = str(manifest.options.get("parser", latest))
    if chosen not in scored:
        return Gate("invalid", False, f"{chosen} has no scores; 'perpend score' makes them")
    what = f"answers have no label by {chosen}"
    return _share("invalid", scored[chosen].invalid, counts.answered, most=INVALID_MOST, what=what)


def _unfinished(store: Store, counts: Counts, scored: Mapping[str, ScoreCounts]) -> Gate:
    known = [name for name in scored if name.startswith("unfinished@")]
    if known:
        unfinished = scored[known[-1]].ones
    else:
        answers = (response for _, response in store.answers() if response.text is not None)
        unfinished = sum(
            visible(answer.text or "", answer.finish).unfinished is not None
            for answer in answers
            if answer.choice_logprobs is None
        )
    return _share("unfinished", unfinished, counts.answered, most=UNFINISHED_MOST, what="answers are unfinished")


def _scores(run: Run, counts: Counts, scored: Mapping[str, ScoreCounts]) -> Gate:
    """Every declared scorer version has a score for every trial that was asked, and can be had to score again.

    A scorer out of a file that the run brought along can: the file is published with the run.
    """
    declared = run.manifest.scorers
    missing = [name for name in declared if name not in scored]
    if missing or not declared:
        return Gate("scores", False, f"no scores of {', '.join(missing) or 'any scorer'}; 'perpend score' makes them")
    for name in declared:
        if scored[name].trials != counts.asked:
            return Gate("scores", False, f"{name}: {scored[name].trials} scores, {counts.asked} trials were asked")
        lacking = run.code.missing.get(f"scorer {name}")
        if lacking is not None and (OWN_RULES.fullmatch(name) or not run.manifest.python):
            return Gate("scores", False, f"{name}: this code cannot score it again: {lacking}")
    return Gate("scores", True, f"{len(declared)} scorers, {counts.asked} scores each")


def _share(
    gate: str, part: int, all_of_them: int, *, what: str, least: float | None = None, most: float | None = None
) -> Gate:
    """A share within its bound. A share of nothing fails: nothing was shown."""
    if not all_of_them:
        return Gate(gate, False, f"0 of 0 {what}")
    share = part / all_of_them
    passed = (least is None or share >= least) and (most is None or share <= most)
    bound = f"at least {least}" if least is not None else f"at most {most}"
    return Gate(gate, passed, f"{part} of {all_of_them} {what}: {share:.4f}, {bound} is asked for")


_DIFFERENCES = 10
_HEADLINE = ("metric", "scorer", "where", "value", "lo", "hi", "n")


def attempts(run: Path, metrics: Sequence[JSON]) -> dict[str, JSON]:
    """What the receipt says of the runs beside a run directory. `metrics` are the run's own.

    They count when they share an item, by its content, and a model, by its name or its fingerprint; `shared` is how
    many items they share. A copy of the run itself does not count, and neither does a run without a single answer (a
    server that was down): those are listed apart, as `unanswered`. `position` is the place of this
    run among all that count by the time that each began, from 1. A headline is one Estimate; that of another run is
    what its own metrics.json says, and null where that does not hold it.
    """
    own = read_manifest(run)
    mine = headline(own, metrics)
    alike = sorted(_others(run, own), key=lambda other: _begun(other[0]))
    others = [one for one in alike if _has_answer(one[1])]
    empty = [one for one in alike if one not in others]
    position = 1 + sum(_begun(manifest) < _begun(own) for manifest, _, _ in others)
    apart: list[JSON] = [
        {"run": manifest.run, "created": manifest.created, "shared": shared} for manifest, _, shared in empty
    ]
    return {
        "unanswered": apart,
        "others": [
            {
                "run": manifest.run,
                "created": manifest.created,
                "differs": _differences(manifest, own),
                "headline": _same_number(_metrics(path), mine),
                "shared": shared,
            }
            for manifest, path, shared in others
        ],
        "position": position,
        "of": len(others) + 1,
        "headline": mine,
        "told": sentence(position, len(others), len(apart)),
    }


def headline(manifest: Manifest, metrics: Sequence[JSON]) -> dict[str, JSON] | None:
    """The first metric of the latest version of the first scorer that a run declares; None where there is none."""
    stem = manifest.scorers[0].partition("@")[0] if manifest.scorers else ""
    latest = [name for name in manifest.scorers if name.partition("@")[0] == stem][-1:]
    for metric in map(as_object, metrics):
        if metric.get("scorer") in latest:
            return {key: metric.get(key) for key in _HEADLINE}
    return None


def sentence(position: int, others: int, unanswered: int = 0) -> str:
    """How many other runs there are and which one this is, in a sentence; and how many were never answered."""
    apart = ""
    if unanswered:
        verbs = ("holds", "does") if unanswered == 1 else ("hold", "do")
        apart = f" {unanswered} more {verbs[0]} no answer at all and {verbs[1]} not count."
    if not others:
        return "The runs folder holds no other run that shares items and a model with this one." + apart
    which = "the first" if position == 1 else "the last" if position == others + 1 else f"number {position}"
    return (
        f"The runs folder holds {others} other run{'s' * (others != 1)} that share{'s' * (others == 1)} items and a "
        f"model with this one; by the time that they began, this one is {which} of {others + 1}.{apart}"
    )


def _others(run: Path, own: Manifest) -> Iterator[tuple[Manifest, Path, int]]:
    """The other runs of the folder that count, once each, with the number of items that they share with this one."""
    seen = {digest(own.as_json())}
    mine: frozenset[bytes] | None = None
    for path in sorted(run.resolve().parent.iterdir()):
        if not (path / "manifest.json").is_file() or not (path / "run.db").is_file():
            continue
        try:
            manifest = read_manifest(path)
        except StoreError:
            continue  # of another format, or no run at all: nothing can be said of it
        identity = digest(manifest.as_json())
        if identity in seen or not any(_is_same_model(one, other) for one in manifest.models for other in own.models):
            continue
        mine = mine or _item_digests(run)
        shared = len(mine & _item_digests(path)) if manifest.items.sha256 != own.items.sha256 else own.items.n
        if shared:
            seen.add(identity)
            yield manifest, path, shared


def _has_answer(run: Path) -> bool:
    """Whether a run was ever answered; one whose ledger cannot be read counts as if it was."""
    try:
        with snapshot(run / "run.db") as db:
            return db.has_answer()
    except StoreError:
        return True


def _item_digests(run: Path) -> frozenset[bytes]:
    """What the items of a run are, by content; nothing where its ledger cannot be read."""
    try:
        with snapshot(run / "run.db") as db:
            return frozenset(hashlib.sha256(str(body).encode()).digest() for _, body in db.items())
    except StoreError:
        return frozenset()


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
