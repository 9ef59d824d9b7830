"""What a Python program gives in place of names and files: items in memory, conditions, functions that score."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from perpend.ask.conditions import asch, authority, bare, condition, control, template
from perpend.ask.task import Task
from perpend.canon import JSON, dumps, write_atomic
from perpend.disk import temporary_folder
from perpend.errors import DataError, SpecError, a_or_an, did_you_mean
from perpend.ledger.items import check_answers, parse_item
from perpend.spec.function import function_name, parameters, standalone
from perpend.spec.resolve import names, packaged_scorer
from perpend.types import Condition, Item, Response, Score, Scorer

GivenItem: TypeAlias = "Item | Mapping[str, JSON]"
GivenCondition: TypeAlias = "str | Path | Condition"
Judge: TypeAlias = Callable[[Item, Response], "Score | float | None"]
"""A function that scores: of an item and a response, or of an item and the response's text."""
GivenScorer: TypeAlias = "str | Scorer | Judge"

UNRECORDED = "unrecorded"
"""The version of a function whose text cannot be had: nobody can tell one such function from the next."""
_MAKERS: Mapping[str, Callable[[], Condition]] = {
    "control": control,
    "asch": asch,
    "authority": authority,
    "bare": bare,
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def items_given(entries: Sequence[GivenItem]) -> tuple[Item, ...]:
    """Items in memory, each checked as a line of a file is. One that is none is a DataError that says which."""
    items = []
    for number, entry in enumerate(entries):
        where = f"items[{number}]"
        if not isinstance(entry, Item | Mapping):
            raise DataError(f"{where}: an item is a pp.Item or a dict, not {a_or_an(type(entry).__name__)}")
        try:
            line = dumps(entry.as_json() if isinstance(entry, Item) else _as_text(entry))
        except (TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{where}: cannot be written as JSON: {error}") from None
        item = parse_item(line, where)
        check_answers(item, where)
        items.append(item)
    if not items:
        raise DataError("items is an empty list; give at least one item, or leave it out for the task's own")
    return tuple(items)


def _as_text(entry: Mapping[str, JSON]) -> dict[str, JSON]:
    """The dict with numbers for answers as text, as a table's cells are: 4 is '4'."""
    body = dict(entry)
    for key in ("target", "decoy"):
        value = body.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            body[key] = str(value)
    return body


@contextmanager
def on_disk(task: Task) -> Iterator[Task]:
    """The task with its items in memory as a file, for the time of the block; the ledger keeps the items.

    The file's name has the first digits of its digest, so that other items are another run.
    """
    if not task.in_memory:
        yield task
        return
    text = "".join(dumps(item.as_json()) + "\n" for item in task.in_memory)
    with temporary_folder("items") as folder:
        path = folder / f"items-{hashlib.sha256(text.encode()).hexdigest()[:8]}.jsonl"
        write_atomic(path, text)
        yield replace(task, items=(path,), in_memory=())


def with_conditions(task: Task, wanted: Iterable[GivenCondition]) -> Task:
    """The task under these conditions, the first of them the one that the others are compared with.

    A string is the name of one of the task's own, one of 'control', 'asch', 'authority', 'bare', or a template's file.
    """
    return replace(task, conditions=tuple(_condition(task, entry) for entry in wanted))


def _condition(task: Task, entry: GivenCondition) -> Condition:
    own = {one.name: one for one in task.conditions}
    if isinstance(entry, str) and entry in own:
        return own[entry]
    if isinstance(entry, Path) or (isinstance(entry, str) and entry.endswith(".toml")):
        return template(Path(entry))
    if isinstance(entry, str):
        if entry not in _MAKERS:
            raise SpecError(f"unknown condition {entry!r}; {did_you_mean(entry, {*own, *_MAKERS})}")
        entry = _MAKERS[entry]()
    if not isinstance(entry, Condition):
        raise SpecError(
            f"a condition is a name, a template's file or a pp.condition(…), not {a_or_an(type(entry).__name__)}"
        )
    user, system = entry.params.get("user"), entry.params.get("system")
    if entry in own.values() or not isinstance(user, str) or not isinstance(system, str | None):
        return entry
    # What the task does not bring itself is a template to whoever audits the run.
    return condition(entry.name, user, system)


def with_scorers(task: Task, added: Iterable[GivenScorer]) -> Task:
    """The task with these scorers after its own; one that it has already is not added again."""
    scorers = list(task.scorers)
    known = set(task.judges())
    for entry in added:
        scorer = scorer_given(entry)
        full = next(iter(replace(task, scorers=(scorer,)).judges()))
        if full not in known:
            scorers.append(scorer)
            known.add(full)
    return replace(task, scorers=tuple(scorers))


def scorer_given(entry: GivenScorer) -> str | Scorer:
    """A scorer as a task takes it: a name as it is, a function as a Scorer, a Scorer with its text where it has one."""
    if isinstance(entry, str):
        return entry
    if not isinstance(entry, Scorer):
        return function_scorer(entry)
    if entry.source or _is_packaged(entry):
        return entry
    text = standalone(entry.judge, "judge")
    if text is None:
        return entry
    versions = f"VERSIONS = (Scorer({entry.name!r}, {entry.version!r}, judge),)"
    return replace(entry, source=f"{text}\nfrom perpend import Scorer\n\n{versions}\n")


def _is_packaged(scorer: Scorer) -> bool:
    return scorer.name in names("scorers") and packaged_scorer(f"{scorer.name}@{scorer.version}").judge is scorer.judge


def function_scorer(function: Judge, name: str | None = None, version: str | None = None) -> Scorer:
    """A function as a Scorer: True is 1, False is 0, a number itself, None 'no value', a Score as it is.

    A parameter called `text` gets the response's text, any other the Response. A call that failed has no value and is
    not shown to the function. The version is by default the first digits of the digest of its text.
    """
    if not callable(function):
        raise SpecError(f"a scorer is a name, a pp.Scorer or a function, not {a_or_an(type(function).__name__)}")
    own = name or function_name(function)
    if not _NAME.fullmatch(own):
        raise SpecError(f"a scorer is called by letters, digits, '_', '-' and '.', not {own!r:.80}; give name=…")
    stated = parameters(function)
    if len([one for one in stated if one.default is one.empty]) > 2 or len(stated) == 1:
        raise SpecError(f"scorer {own!r}: a function that scores takes an item and a response (or its text)")
    text = standalone(function, "judge")
    label = version or (UNRECORDED if text is None else hashlib.sha256(text.encode()).hexdigest()[:8])
    versions = f"VERSIONS = (scorer(judge, name={own!r}, version={label!r}),)"
    source = "" if text is None else f"{text}\nfrom perpend import scorer\n\n{versions}\n"
    return Scorer(own, label, _judging(function, own, by_text=len(stated) > 1 and stated[1].name == "text"), source)


def _judging(function: Callable[..., object], name: str, *, by_text: bool) -> Callable[[Item, Response], Score]:
    def judge(item: Item, response: Response) -> Score:
        if response.text is None:
            return Score(None, None, f"error: {response.error}")
        value = function(item, response.text if by_text else response)
        if isinstance(value, Score):
            return value
        if value is None:
            return Score(None, None, f"{name} gave no value")
        # numpy's numbers are neither int nor float, but know how to become one.
        if isinstance(value, str) or not hasattr(value, "__float__"):
            raise SpecError(
                f"scorer {name!r} returned {a_or_an(type(value).__name__)} for item {item.id!r}; "
                "return True, False, a number, None or a pp.Score"
            )
        return Score(float(value), None, f"{name} returned {value!r}")

    return judge
