"""Gates: what must hold before a run is published, each with the figure that it rests on.

A gate that cannot apply, as the prompts of an imported run, passes and says why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.ask.progress import Progress
from perpend.ask.requests import first_request
from perpend.ask.task import conditions_of
from perpend.canon import JSON, digest
from perpend.inert import terminal
from perpend.ledger.items import item_digest
from perpend.ledger.manifest import ItemsDigest, Manifest
from perpend.ledger.snapshot import Counts, ScoreCounts, snapshot
from perpend.ledger.store import Store
from perpend.measure.run import Run
from perpend.text.reasoning import visible

COVERAGE_LEAST = 0.95
"""Answered trials / planned trials. What failed for good is no answer."""
INVALID_MOST = 0.05
"""Answers in which the task's label scorer finds no label / answered trials."""
UNFINISHED_MOST = 0.05
"""Answers that were cut off, still reason or are empty / answered trials."""
NAMES = ("dataset", "prompts", "plan", "coverage", "invalid", "unfinished", "scores", "private")
"""Every gate, in the order in which they are shown; 'private' looks at the files that were written."""
_CHUNK = 500


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
        lines.append(f"{verdict:<8}  {gate.gate:<{width}}  {terminal(gate.detail + why)}")
    return "\n".join(lines)


def gates(run: Run | Path, *, quiet: bool = True) -> list[Gate]:
    """Every gate of a run but 'private', which needs the files that would be published. No code of the run is run."""
    opened = run if isinstance(run, Run) else Run(run)
    manifest, database = opened.manifest, opened.directory / "run.db"
    with Store.open(database) as store, snapshot(database) as db:
        counts, scored = db.counts(), db.score_counts()
        return [
            _dataset(store, manifest),
            _prompts(store, manifest, counts, quiet=quiet),
            _plan(manifest, counts),
            _coverage(counts),
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


def _prompts(store: Store, manifest: Manifest, counts: Counts, *, quiet: bool) -> Gate:
    """Every first question, rendered again by this code, has the digest of the one that was asked."""
    if manifest.is_imported:
        return Gate("prompts", True, "not applicable: imported, the questions were rendered elsewhere")
    for entry in manifest.conditions:
        if digest(dict(entry.params)) != entry.sha256:
            return Gate("prompts", False, f"the template of {entry.name!r} does not match its digest in the manifest")
    conditions = conditions_of(manifest)
    if isinstance(conditions, str):
        return Gate("prompts", True, f"not applicable: {conditions.partition(';')[0]}")
    requests = store.first_requests()
    pending = next(requests, None)
    same, differ, first = 0, 0, ""
    with Progress("prompts", counts.planned, quiet=quiet) as progress:
        for start in range(1, counts.planned + 1, _CHUNK):
            for trial in store.trials(start, start + _CHUNK - 1):
                while pending is not None and pending[0] == trial.trial:
                    if trial.condition not in conditions:
                        return Gate("prompts", False, f"the manifest has no condition {trial.condition!r}")
                    now = first_request(trial, conditions[trial.condition], choices_scored=manifest.choices_scored)
                    if now.digest == pending[1]:
                        same += 1
                    else:
                        differ += 1
                        first = first or f", the first for trial {trial.trial} ({trial.item.id}, {trial.condition})"
                    pending = next(requests, None)
            progress.advance(min(_CHUNK, counts.planned - start + 1))
    return Gate("prompts", not differ, f"{same} of {same + differ} requests have this code's digest{first}")


def _plan(manifest: Manifest, counts: Counts) -> Gate:
    """Every planned trial is there and was asked."""
    gap = counts.planned - counts.asked
    if counts.planned != manifest.trials or not counts.gapless:
        return Gate("plan", False, f"{counts.planned} trials in run.db, {manifest.trials} in the manifest")
    figure = f"{counts.asked} of {counts.planned} trials were asked"
    return Gate("plan", not gap, figure + (f"; {gap} never were" if gap else ""))


def _coverage(counts: Counts) -> Gate:
    return _share(
        "coverage", counts.answered, counts.planned, least=COVERAGE_LEAST, what="planned trials have an answer"
    )


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
        if lacking is not None and not run.manifest.sources:
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
