"""A judge run against the run that it judges, where that is at hand: the same answers, drawn and quoted as it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from perpend.ask.rubric import Rubric, rubric_of
from perpend.canon import JSON, as_list, as_object
from perpend.errors import FormatError, PerpendError
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

JUDGED, DRAWN = "judged answers are those of the run", "answers were drawn as the judge run states"
NOT_HERE = "which answers were judged and how they were drawn: the judged run is not here"
_GROWN = "how the answers were drawn: the run has more to draw from by now"


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
    with run.open() as store:
        items = list(store.items())
    with well_formed("what a judge run says of the judged one"):
        drawn = _drawn(facts, items)
        for place in _homes(str(facts["run"]), stored, others):
            with run_directory(place) as directory:
                _compare((check, drawn), run, facts, Run(directory), items, is_final=place.published)
    if not check.checked:
        check.missing = NOT_HERE
    return [drawn, check]


def _drawn(facts: Mapping[str, JSON], items: Sequence[Item]) -> Check:
    """What the manifest and the items say of the draw, against each other: counts, strata, and their sizes."""
    check = Check(DRAWN)
    check.compare(sorted(facts), sorted(("run", "of", *Selection().as_json())), f"{MANIFEST}, keys of judged")
    of, sample = facts.get("of"), facts.get("sample")
    tags = [(item.tags["stratum"], item.tags["drawn"]) for item in items]
    check.compare(len(set(tags)), len({stratum for stratum, _ in tags}), "strata with their numbers, each once")
    sizes = {}
    for stratum, numbers in dict(tags).items():
        own, _, size = numbers.partition(" of ")
        sizes[stratum] = int(size)
        check.compare(int(own), sum(name == stratum for name, _ in tags), f"answers drawn in {stratum}")
    total = sum(sizes.values())
    wanted = of if not isinstance(sample, int) else min(sample, of) if isinstance(of, int) else None
    check.compare(len(items), wanted, "answers drawn, as sample and of say")
    # A stratum of which none was drawn, because there are more strata than answers in the sample, is not named.
    is_whole = isinstance(sample, int) and len(sizes) == sample
    check.compare(of, max(total, of) if is_whole and isinstance(of, int) else total, "answers to draw from, by strata")
    return check


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


def _compare(
    checks: tuple[Check, Check],
    judge: Run,
    facts: Mapping[str, JSON],
    judged: Run,
    items: Sequence[Item],
    *,
    is_final: bool,
) -> None:
    """Compare each item with the one that the judged run gives. One that `is_final` was published: it cannot grow."""
    check, drawn = checks
    rubric = rubric_of(as_object(judge.manifest.options.get("rubric")), f"{MANIFEST}, rubric")
    selection = _selection(facts)
    again: Sequence[Item | None]
    try:
        trials = eligible(judged, rubric, selection)
        stated = facts.get("of")
        has_grown = not is_final and isinstance(stated, int) and len(items) <= stated < len(trials)
        if has_grown:
            drawn.missing = _GROWN
            again = _as_drawn(rubric, judged, items, draw(judged.table, trials, replace(selection, sample=None)))
        else:
            drawn.compare(stated, len(trials), "answers to draw from")
            chosen = draw(judged.table, trials, selection)
            again = [judge_item(judged.manifest.run, rubric, one) for one in answers_to_judge(judged, chosen)]
    except FormatError:
        raise
    except PerpendError as error:
        check.checked += 1
        check.miss(str(error))
        return
    for stored, now in zip_longest(items, again):
        name = next((one.id for one in (stored, now) if one is not None), "")
        check.compare(
            None if stored is None else stored.as_json(), None if now is None else now.as_json(), f"item {name}"
        )


def _selection(facts: Mapping[str, JSON]) -> Selection:
    sample, seed = facts.get("sample"), facts.get("seed")
    return Selection(
        sample=sample if isinstance(sample, int) else None,
        where={key: str(value) for key, value in as_object(facts.get("where")).items()},
        by=tuple(str(key) for key in as_list(facts.get("by"))),
        seed=seed if isinstance(seed, int) else 0,
        unscored_by=None if facts.get("unscored_by") is None else str(facts.get("unscored_by")),
    )


def _as_drawn(rubric: Rubric, judged: Run, items: Sequence[Item], now: Sequence[DrawnAnswer]) -> list[Item | None]:
    """The items of the trials that they name, among those that can be drawn `now`; None for one that cannot.

    A stratum has its name of now, and cannot have been larger than it is.
    """
    known = {one.trial: one for one in now}
    drawn: list[DrawnAnswer | None] = []
    for item in items:
        own, _, size = item.tags["drawn"].partition(" of ")
        there = known.get(int(item.tags["judged_trial"]))
        is_possible = there is not None and int(size) <= there.of
        drawn.append(replace(there, drawn=int(own), of=int(size)) if there is not None and is_possible else None)
    answers = answers_to_judge(judged, [one for one in drawn if one is not None])
    again = {one.trial.trial: judge_item(judged.manifest.run, rubric, one) for one in answers}
    return [None if one is None else again.get(one.trial) for one in drawn]
