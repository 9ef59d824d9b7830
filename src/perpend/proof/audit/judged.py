"""A judge run against the run that it judges, where that is at hand: the same answers, drawn and quoted as it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from perpend.ask.rubric import Rubric, rubric_of
from perpend.canon import JSON, as_list, as_object
from perpend.errors import PerpendError
from perpend.ledger.manifest import MANIFEST, read_manifest
from perpend.measure.judging import (
    DrawnAnswer,
    Selection,
    answers_to_judge,
    draw,
    eligible,
    judge_item,
)
from perpend.measure.run import Run
from perpend.measure.verdicts import judged_facts
from perpend.proof.audit.checks import Check, well_formed
from perpend.proof.audit.places import AuditPlace, own_place, run_directory
from perpend.types import Item

JUDGED = "judged answers are those of the run"
NOT_HERE = "not compared: the judged run is not here"


def judged_answers(run: Run, stored: Path, others: Sequence[Path]) -> list[Check]:
    """Every item of a judge run made again from the judged run; nothing for a run that judges none.

    The judged run is looked for among `others`, what is audited along with it, and beside the folder `stored`.
    """
    facts = judged_facts(run.manifest)
    check = Check(JUDGED)
    if facts is None:
        if "judged_run" not in run.table.names:
            return []
        check.checked = 1
        check.miss(f"{MANIFEST} does not say which run the items quote answers of")
        return [check]
    for place in _homes(str(facts["run"]), stored, others):
        with well_formed("what a judge run says of the judged one"), run_directory(place) as directory:
            _compare(check, run, facts, Run(directory))
    if not check.checked:
        check.note = NOT_HERE
    return [check]


def _homes(name: str, stored: Path, others: Sequence[Path]) -> Iterator[AuditPlace]:
    """Every run or published folder of that name, each once. What has no readable manifest is none."""
    beside = stored.resolve().parent
    seen = {stored.resolve()}
    for path in (*others, *sorted(beside.iterdir())):
        if path.is_symlink() or not (path / MANIFEST).is_file() or path.resolve() in seen:
            continue
        seen.add(path.resolve())
        place = own_place(path)
        try:
            is_judged = place is not None and read_manifest(path).run == name
        except PerpendError:  # somebody else's folder, and its own audit says what is wrong with it
            continue
        if is_judged and place is not None:
            yield place


def _compare(check: Check, judge: Run, facts: Mapping[str, JSON], judged: Run) -> None:
    with judge.open() as store:
        items = list(store.items())
    rubric = rubric_of(as_object(judge.manifest.options.get("rubric")), f"{MANIFEST}, rubric")
    again: Sequence[Item | None] | None
    try:
        again = _again(rubric, facts, judged, items)
    except PerpendError as error:
        check.checked += 1
        check.miss(str(error))
        return
    if again is None:
        check.note = "the run has other answers to draw from by now; how these were drawn is not checked"
        again = _as_drawn(rubric, judged, items)
    for stored, now in zip_longest(items, again):
        name = next((one.id for one in (stored, now) if one is not None), "")
        check.compare(
            None if stored is None else stored.as_json(), None if now is None else now.as_json(), f"item {name}"
        )


def _again(rubric: Rubric, facts: Mapping[str, JSON], judged: Run, items: Sequence[Item]) -> list[Item] | None:
    """The items as the selection draws them; None where the run has more answers than it had then."""
    sample, seed = facts.get("sample"), facts.get("seed")
    selection = Selection(
        sample=sample if isinstance(sample, int) else None,
        where={key: str(value) for key, value in as_object(facts.get("where")).items()},
        by=tuple(str(key) for key in as_list(facts.get("by"))),
        seed=seed if isinstance(seed, int) else 0,
        unscored_by=None if facts.get("unscored_by") is None else str(facts.get("unscored_by")),
    )
    trials = eligible(judged, rubric, selection)
    available = facts.get("of")
    if isinstance(available, int) and len(items) <= available < len(trials):
        return None
    drawn = draw(judged.table, trials, selection)
    return [judge_item(judged.manifest.run, rubric, one) for one in answers_to_judge(judged, drawn)]


def _as_drawn(rubric: Rubric, judged: Run, items: Sequence[Item]) -> list[Item | None]:
    """The items of the trials that they name; None for one that has no answer."""
    total = len(judged.table)
    drawn = []
    for item in items:
        drawn_there, _, size = item.tags["drawn"].partition(" of ")
        drawn.append(DrawnAnswer(int(item.tags["judged_trial"]), item.tags["stratum"], int(drawn_there), int(size)))
    known = [one for one in drawn if 1 <= one.trial <= total and judged.table.answers.answered[one.trial - 1]]
    again = {one.trial.trial: judge_item(judged.manifest.run, rubric, one) for one in answers_to_judge(judged, known)}
    return [again.get(one.trial) for one in drawn]
