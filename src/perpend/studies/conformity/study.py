"""conformity: does a model leave the right answer when others claim a wrong one? What is asked, and STUDY."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.ask.conditions import SYSTEM, Confidence, Consensus, asch, authority, control
from perpend.ask.task import Task
from perpend.errors import SpecError, did_you_mean
from perpend.types import Condition

if TYPE_CHECKING:
    from perpend.canon import JSON
    from perpend.measure.run import Run
    from perpend.measure.study import FigureOf, Format, Metric, Numbers, Report
    from perpend.measure.table import Table
    from perpend.studies.conformity.trials import Rule

_ITEMS = Path(str(files("perpend.studies.conformity"))) / "items"
_SCORERS = (
    "correct@1",
    "correct",
    "mentioned@1",
    "mentioned",
    "endorsed@1",
    "endorsed",
    "refused@1",
    "refused",
    "disclaimed",
    "unfinished",
    "stance",
    "abstained",
    "uncertain",
)


def task(  # noqa: PLR0913  one parameter for each factor of the design
    *,
    confederates: int = 5,
    confidence: Confidence = "high",
    consensus: Consensus = "unanimous",
    claim: Confidence = "high",
    system: str | None = SYSTEM,
    without_system: bool = False,
    conditions: Sequence[str] = (),
) -> Task:
    """Control, a second control that shows how much answers change by themselves, a group and an authority.

    All share one system message, so that a pressure effect is not a prompt effect; `without_system` adds each
    condition once more without any, named '…_no_system'. `conditions` keeps only these, control first;
    'asch' and 'authority' are the group and the authority, whatever their names.
    """
    everything = _conditions(system, "", confederates, confidence, consensus, claim)
    if without_system:
        everything += _conditions(None, "_no_system", confederates, confidence, consensus, claim)
    known = [condition.name for condition in everything]
    called = {"asch": known[2], "authority": known[3]}
    conditions = [called.get(name, name) for name in conditions]
    for name in conditions:
        if name not in known:
            raise SpecError(f"conformity has no condition {name!r}; {did_you_mean(name, known)}")
    return Task(
        name="conformity",
        conditions=tuple(condition for condition in everything if not conditions or condition.name in conditions),
        scorers=_SCORERS,
        items=(_ITEMS / "facts.jsonl", _ITEMS / "opinions.jsonl"),
        options={
            "confederates": confederates,
            "confidence": confidence,
            "consensus": consensus,
            "claim": claim,
            "system": system,
            "without_system": without_system,
            "conditions": list(conditions),
        },
    )


def _conditions(
    system: str | None, suffix: str, confederates: int, confidence: Confidence, consensus: Consensus, claim: Confidence
) -> list[Condition]:
    group = f"asch_history_{confederates}{'' if consensus == 'unanimous' else '_' + consensus}{suffix}"
    return [
        control(system=system, name=f"control{suffix}"),
        control(system=system, name=f"control_retest{suffix}"),
        asch(confederates, confidence=confidence, consensus=consensus, system=system, name=group),
        authority(claim, system=system, name=f"authoritative_bias{suffix}"),
    ]


class ConformityStudy:
    """What pressure does to answers: by the reference's rules (1) and by ours (2)."""

    stored_labels: Mapping[str, str] = {
        f"stored_{name}@import": f"{name}@1" for name in ("correct", "refused", "mentioned", "endorsed")
    }
    """What the study's own files store of an answer, and the scorer that must say the same of its raw text."""

    reference_labels: Mapping[str, str] = {
        f"ref_{name}@import": f"{name}@1" for name in ("correct", "mentioned", "endorsed")
    }
    """What the reference's rules said of an answer, where a row states it, and the scorer that must say the same."""

    def metrics(self, table: Table) -> Iterator[Metric]:
        """Every number of the study, by each rule version that all trials were judged by."""
        from perpend.studies.conformity.metrics import study_metrics

        return study_metrics(table)

    def report(self, numbers: Numbers, *, figures: bool = True) -> Report:
        """Headline, sections, tables, LaTeX and figures; the plain summary where no rule version has all judgements."""
        from perpend.report.derive import PLAIN
        from perpend.studies.conformity.report import study_report

        if not numbers.find("study"):
            plain = PLAIN.report(numbers)
            missing = "No rule version has all of correct, mentioned, endorsed and refused; run 'perpend score'."
            return replace(plain, headline=f"{missing}\n\n{plain.headline}", cautions=(missing, *plain.cautions))
        return study_report(numbers, with_figures=figures)

    def all_figures(self, numbers: Numbers) -> Iterator[FigureOf]:
        """The reference's whole set by every rule version; none where no rule version has all judgements."""
        from perpend.studies.conformity.figures import all_figures
        from perpend.studies.conformity.tables import Results

        return all_figures(Results(numbers)) if numbers.find("study") else iter(())

    def seed_audit(self, runs: Sequence[Run], rules: Sequence[Rule] = ("1", "2")) -> dict[str, JSON]:
        """The JSON of the reference's audit script, recomputed from the raw text by each rule version."""
        from perpend.studies.conformity.audit import audit_numbers

        return audit_numbers(runs, rules)

    def extra_checks(self, run: Run) -> Iterator[tuple[str, int, int, str]]:
        """(name, checked, differing, first difference) of what an audit checks in this study beside the labels."""
        from perpend.studies.conformity.audit import extra_checks

        return extra_checks(run)

    @property
    def formats(self) -> tuple[Format, ...]:
        """The study's own files: simulation.db, folders of them, runs_metadata.json, JSONL of outputs."""
        from perpend.studies.conformity.formats import FORMATS

        return FORMATS


STUDY = ConformityStudy()
