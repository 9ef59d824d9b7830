"""What judge runs say of another run's answers, as columns of that run: 'judged:endorsed@gpt-4o'. Nothing is written.

A judge may have been asked about one answer several times: with the options in both orders, with several samplings, or
repeatedly. Its verdict is the option on which all of these agree; where they differ, or one gave none, there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perpend.canon import JSON, as_object
from perpend.errors import DataError, SpecError
from perpend.ledger.manifest import Manifest
from perpend.measure.keys import FloatArray
from perpend.measure.packed import Packed
from perpend.measure.table import Judgement, Table
from perpend.types import Item, Score

SCORER = "verdict"
_NUMBER = re.compile(r"[1-9]\d{0,17}")
DIFFER, NONE = "its verdicts differ", "no verdict"


@dataclass(frozen=True, slots=True)
class JudgeColumn:
    """The verdicts of one judge on one run: for each judged trial, from 1, a Score whose answer is the option."""

    name: str
    judge_run: str
    rubric: str
    verdicts: Mapping[int, Score]
    digests: Mapping[int, str]
    """For each judged trial the SHA-256 of the text that was judged."""


def judged_facts(manifest: Manifest) -> Mapping[str, JSON] | None:
    """What the manifest of a judge run says of the run whose answers it judges; None where it is no judge run."""
    facts = as_object(manifest.options).get("judged")
    return facts if isinstance(facts, Mapping) and isinstance(facts.get("run"), str) else None


def unanimous(table: Table) -> dict[str, dict[int, Score]]:
    """For each judge, by its label, the verdict on each item, by its code: the option that all its replies agree on.

    An item that a judge was never asked about, or never answered, is missing or has no verdict.
    """
    replies: dict[str, dict[int, list[Score]]] = {label: {} for label in table.values("model")}
    asked = table.tally(np.ones(len(table), dtype=np.bool_), ("model", "item"))
    name = table.full_name(SCORER)
    for row, _, scores in table.judgements([name]):
        own = replies[table.name("model", row)]
        score = scores.get(name, Score(None, None, "not scored"))
        own.setdefault(int(table.codes["item"][row]), []).append(score)
    return {
        label: {item: _agreed(given, int(asked[number, item])) for item, given in own.items()}
        for number, (label, own) in enumerate(replies.items())
    }


def _agreed(replies: Sequence[Score], asked: int) -> Score:
    options = {reply.answer for reply in replies}
    if len(replies) < asked:
        return Score(None, None, f"{NONE}: {asked - len(replies)} of {asked} replies are missing")
    if len(options) > 1:
        words = ", ".join(sorted(str(option) for option in options))
        return Score(None, None, f"{DIFFER if None not in options else NONE}: {words}")
    return replies[0]


def judge_columns(manifest: Manifest, table: Table) -> list[JudgeColumn]:
    """The columns that a judge run gives, one for each of its models. A run that judges nothing is a SpecError."""
    facts = judged_facts(manifest)
    if facts is None:
        raise SpecError(f"{manifest.run}: judges no run; give a run that 'perpend judge' made")
    rubric = as_object(manifest.options.get("rubric"))
    name, version = str(rubric.get("name")), str(rubric.get("version"))
    trials = [_trial(item, str(facts["run"]), manifest.run) for item in table.items]
    if len(set(trials)) < len(trials):
        raise DataError(f"{manifest.run}: two of its items are about one trial of {facts['run']}")
    digests = {trial: item.tags.get("text_sha256", "") for trial, item in zip(trials, table.items, strict=True)}
    return [
        JudgeColumn(
            name=f"judged:{name}@{label}",
            judge_run=manifest.run,
            rubric=f"{name}@{version}",
            verdicts={trials[code]: score for code, score in verdicts.items()},
            digests=digests,
        )
        for label, verdicts in unanimous(table).items()
    ]


def _trial(item: Item, run: str, judge_run: str) -> int:
    number = item.tags.get("judged_trial", "")
    if item.tags.get("judged_run") != run or not _NUMBER.fullmatch(number):
        raise DataError(f"{judge_run}: item {item.id!r} names no trial of {run}")
    return int(number)


def with_verdicts(table: Table, run: str, judges: Sequence[tuple[Manifest, Table]], texts: Mapping[int, str]) -> Table:
    """The table of a run with the columns of judge runs added.

    A judge of another run, two judges of one name, and a verdict on a text that the run does not hold are errors.
    `texts` are the digests of the run's answers, by trial.
    """
    columns: dict[str, JudgeColumn] = {}
    for manifest, judged in judges:
        facts = judged_facts(manifest)
        if facts is not None and facts["run"] != run:
            raise SpecError(f"{manifest.run}: judges answers of {facts['run']!r}, not of {run!r}")
        for column in judge_columns(manifest, judged):
            if column.name in columns:
                other = columns[column.name].judge_run
                raise SpecError(
                    f"{manifest.run} and {other} both give {column.name!r}; give one judge a label of its own, or "
                    "read them apart"
                )
            columns[column.name] = column
    _check_texts(columns.values(), texts)
    return replace(
        table,
        scorers=(*table.scorers, *columns),
        read_values=_values(table, columns),
        read_judgements=None if table.read_judgements is None else _judgements(table, columns),
        _columns={},
    )


def _check_texts(columns: Iterable[JudgeColumn], texts: Mapping[int, str]) -> None:
    for column in columns:
        for trial, digest in column.digests.items():
            if texts.get(trial) != digest:
                what = "has no answer" if trial not in texts else "has another text"
                raise DataError(
                    f"{column.judge_run}: judged trial {trial}, which {what} in this run; 'perpend audit' says more"
                )


def _values(
    table: Table, columns: Mapping[str, JudgeColumn]
) -> Callable[[Sequence[str]], Mapping[str, FloatArray | Packed]]:
    def read(names: Sequence[str]) -> Mapping[str, FloatArray | Packed]:
        values = dict(table.read_values([name for name in names if name not in columns]))
        for name in names:
            if name in columns:
                own = np.full(len(table), np.nan)
                for trial, score in columns[name].verdicts.items():
                    if score.value is not None:
                        own[trial - 1] = score.value
                values[name] = own
        return values

    return read


def _judgements(table: Table, columns: Mapping[str, JudgeColumn]) -> Callable[[Sequence[str]], Iterator[Judgement]]:
    def read(names: Sequence[str]) -> Iterator[Judgement]:
        for row, response, scores in table.judgements([name for name in names if name not in columns]):
            more = {name: columns[name].verdicts[row + 1] for name in names
                    if name in columns and row + 1 in columns[name].verdicts}  # fmt: skip
            yield row, response, {**scores, **more}

    return read
