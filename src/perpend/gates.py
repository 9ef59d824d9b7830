"""Gates: what must hold before a run is published, each with the figure that it rests on.

A gate that cannot apply, as the prompts of an imported run, passes and says why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import JSON, digest
from perpend.compose import find_scorer
from perpend.conditions import from_params
from perpend.data import item_digest
from perpend.errors import SpecError
from perpend.inert import terminal
from perpend.ledger import Counts, ScoreCounts, snapshot
from perpend.manifest import ItemsDigest, read_manifest
from perpend.plan import first_request
from perpend.progress import Progress
from perpend.store import Store
from perpend.text.reasoning import visible
from perpend.types import Condition

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
    """One gate: whether it holds and what was found. `because` is why a failed one was accepted."""

    gate: str
    passed: bool
    found: str
    because: str | None = None

    def as_json(self) -> dict[str, JSON]:
        """The line of the receipt."""
        body: dict[str, JSON] = {"gate": self.gate, "passed": self.passed, "found": self.found}
        return body if self.because is None else {**body, "accepted": self.because}


def as_table(gates: Sequence[Gate]) -> str:
    """The gates for people, a line each."""
    width = max(len(gate.gate) for gate in gates)
    lines = []
    for gate in gates:
        verdict = "pass" if gate.passed else "FAIL" if gate.because is None else "accepted"
        why = "" if gate.because is None else f"; accepted because: {gate.because}"
        lines.append(f"{verdict:<8}  {gate.gate:<{width}}  {terminal(gate.found + why)}")
    return "\n".join(lines)


def gates(run: Path, *, quiet: bool = True) -> list[Gate]:
    """Every gate of a run directory but 'private', which needs the files that would be published."""
    manifest = read_manifest(run)
    with Store.open(run / "run.db") as store, snapshot(run / "run.db") as db:
        counts, scored = db.counts(), db.score_counts()
        return [
            _dataset(store, manifest),
            _prompts(store, manifest, counts, quiet=quiet),
            _plan(manifest, counts),
            _coverage(counts),
            _invalid(manifest, counts, scored),
            _unfinished(store, counts, scored),
            _scores(manifest, counts, scored),
        ]


def _dataset(store: Store, manifest: Mapping[str, JSON]) -> Gate:
    """The items of run.db are those of the manifest, and those of the freeze file that the run was begun with."""
    stated = _table(manifest.get("items"))
    frozen, drawn = stated.get("freeze_sha256"), stated.get("max_items") is not None
    taken, lines = ItemsDigest(), []
    for item in store.items():
        taken.add(item)
        if frozen is not None and not drawn:
            lines.append(f"{item.id}\t{item_digest(item)}\n")
    told = f"{taken.count} items {taken.hexdigest()}"
    if (taken.count, taken.hexdigest()) != (stated.get("n"), stated.get("sha256")):
        return Gate("dataset", False, f"{told}; the manifest says {stated.get('n')} items {stated.get('sha256')}")
    if frozen is None:
        return Gate("dataset", True, f"{told}, the manifest's; the run names no freeze")
    if drawn:
        return Gate("dataset", True, f"{told}, the manifest's; drawn from freeze {frozen}, which the run checked")
    now = hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
    return Gate("dataset", now == frozen, f"{told}; freeze {frozen}" + ("" if now == frozen else f", items {now}"))


def _prompts(store: Store, manifest: Mapping[str, JSON], counts: Counts, *, quiet: bool) -> Gate:
    """Every first question, rendered again by this code, has the digest of the one that was asked."""
    if "import" in manifest:
        return Gate("prompts", True, "not applicable: imported, the questions were rendered elsewhere")
    conditions: dict[str, Condition] = {}
    for entry in map(_table, _list(manifest.get("conditions"))):
        name, params = str(entry.get("name")), _table(entry.get("params"))
        if digest(params) != entry.get("sha256"):
            return Gate("prompts", False, f"the template of {name!r} has not the digest that the manifest states")
        made = from_params(name, params)
        if made is None:
            return Gate("prompts", True, f"not applicable: condition {name!r} holds no template")
        conditions[name] = made
    scored = bool(_table(manifest.get("task")).get("choices_scored"))
    asked = store.first_requests()
    pending = next(asked, None)
    same, differ, first = 0, 0, ""
    with Progress("prompts", counts.planned, quiet=quiet) as progress:
        for start in range(1, counts.planned + 1, _CHUNK):
            for trial in store.trials(start, start + _CHUNK - 1):
                while pending is not None and pending[0] == trial.trial:
                    if trial.condition not in conditions:
                        return Gate("prompts", False, f"the manifest has no condition {trial.condition!r}")
                    if first_request(trial, conditions[trial.condition], choices_scored=scored).digest == pending[1]:
                        same += 1
                    else:
                        differ += 1
                        first = first or f", the first for trial {trial.trial} ({trial.item.id}, {trial.condition})"
                    pending = next(asked, None)
            progress.advance(min(_CHUNK, counts.planned - start + 1))
    return Gate("prompts", not differ, f"{same} of {same + differ} requests have this code's digest{first}")


def _plan(manifest: Mapping[str, JSON], counts: Counts) -> Gate:
    """Every planned trial is there and was asked."""
    planned, gap = manifest.get("trials"), counts.planned - counts.asked
    if counts.planned != planned or not counts.gapless:
        return Gate("plan", False, f"{counts.planned} trials in run.db, {planned} in the manifest")
    told = f"{counts.asked} of {counts.planned} trials were asked"
    return Gate("plan", not gap, told + (f"; {gap} never were" if gap else ""))


def _coverage(counts: Counts) -> Gate:
    return _share(
        "coverage", counts.answered, counts.planned, least=COVERAGE_LEAST, what="planned trials have an answer"
    )


def _invalid(manifest: Mapping[str, JSON], counts: Counts, scored: Mapping[str, ScoreCounts]) -> Gate:
    """By the scorer that the task reads labels with: its option `parser`, else the latest of its first label scorer."""
    declared = [str(name) for name in _list(manifest.get("scorers"))]
    labels = [name for name in declared if name.startswith("label")]
    if not labels:
        return Gate("invalid", True, "not applicable: no declared scorer reads labels")
    latest = [name for name in labels if name.partition("@")[0] == labels[0].partition("@")[0]][-1]
    chosen = str(_table(_table(manifest.get("task")).get("options")).get("parser", latest))
    if chosen not in scored:
        return Gate("invalid", False, f"{chosen} has no scores; 'perpend score' makes them")
    what = f"answers have no label by {chosen}"
    return _share("invalid", scored[chosen].invalid, counts.answered, most=INVALID_MOST, what=what)


def _unfinished(store: Store, counts: Counts, scored: Mapping[str, ScoreCounts]) -> Gate:
    known = [name for name in scored if name.startswith("unfinished@")]
    if known:
        found = scored[known[-1]].ones
    else:
        answers = (response for _, response in store.answers() if response.text is not None)
        found = sum(
            visible(answer.text or "", answer.finish).unfinished is not None
            for answer in answers
            if answer.choice_logprobs is None
        )
    return _share("unfinished", found, counts.answered, most=UNFINISHED_MOST, what="answers are unfinished")


def _scores(manifest: Mapping[str, JSON], counts: Counts, scored: Mapping[str, ScoreCounts]) -> Gate:
    """Every declared scorer version has a score for every trial that was asked, and this code has that version."""
    declared = [str(name) for name in _list(manifest.get("scorers"))]
    missing = [name for name in declared if name not in scored]
    if missing or not declared:
        return Gate("scores", False, f"no scores of {', '.join(missing) or 'any scorer'}; 'perpend score' makes them")
    for name in declared:
        if scored[name].trials != counts.asked:
            return Gate("scores", False, f"{name}: {scored[name].trials} scores, {counts.asked} trials were asked")
        try:
            find_scorer(name)
        except SpecError as error:
            return Gate("scores", False, f"{name}: this code cannot score it again: {error}")
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


def _table(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}


def _list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list) else []
