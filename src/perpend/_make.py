"""What a Python program makes before it asks: tasks, models and scorers, of names, files, lists and functions."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, overload

from perpend.ask.given import (
    GivenCondition,
    GivenItem,
    GivenScorer,
    Judge,
    function_scorer,
    items_given,
    with_conditions,
    with_scorers,
)
from perpend.ask.task import Task, make_task
from perpend.canon import JSON
from perpend.errors import SpecError, a_or_an
from perpend.rows.mapping import flat_map, parse_map
from perpend.spec.model import Model
from perpend.spec.resolve import factory, find_scorer
from perpend.spec.runspec import ModelSpec, written_name
from perpend.types import Condition, Item, Scorer

AnyModel: TypeAlias = "str | ModelSpec | Model | Callable[..., object]"
"""A model's name, what `model` returns, or a function that answers."""


def task(
    name: str,
    *,
    items: str | Path | GivenItem | Sequence[str | Path | GivenItem] | None = None,
    conditions: GivenCondition | Sequence[GivenCondition] | None = None,
    scorers: GivenScorer | Sequence[GivenScorer] = (),
    map: Mapping[str, str] | str | None = None,  # noqa: A002  the name that the flag and run.toml have
    **options: JSON,
) -> Task:
    """The task of that name with these options.

    `items` takes the place of its own: files, or items in memory (dicts and pp.Items). `map` says which column of the
    files means what: {"prompt": "question", "target": "answer"}. `conditions` keeps some of its
    own and adds others: names, template files, Condition objects; the first is what the others are compared with.
    `scorers` are added to its own: names, Scorers, and functions of (item, response) or (item, text).
    """
    wanted = [conditions] if isinstance(conditions, str | Path | Condition) else list(conditions or ())
    parameters = inspect.signature(factory("tasks", name, "task")).parameters
    # A task that chooses among its conditions itself states them in its manifest, as an option.
    if wanted and all(isinstance(one, str) for one in wanted) and "conditions" in parameters:
        options, wanted = {**options, "conditions": [str(one) for one in wanted]}, []
    _check_options(name, options, parameters)
    fields = parse_map(map) if isinstance(map, str) else flat_map(map or {}, "map")
    chosen = replace(make_task(name, options), fields=fields)
    if wanted:
        chosen = with_conditions(chosen, wanted)
    added: Sequence[GivenScorer] = scorers if isinstance(scorers, list | tuple) else [scorers]  # type: ignore[list-item]  # one, then
    if added:
        chosen = with_scorers(chosen, added)
    if items is None:
        return chosen
    if hasattr(items, "columns"):
        raise SpecError("a data frame is no list of items; give its rows: frame.to_dict('records') or frame.to_dicts()")
    entries = [items] if isinstance(items, str | Path | Item | Mapping) else list(items)
    files = [Path(entry) for entry in entries if isinstance(entry, str | Path)]
    if not files:
        return replace(chosen, items=(), in_memory=items_given([e for e in entries if not isinstance(e, str | Path)]))
    if len(files) < len(entries):
        raise SpecError("items are files or items in memory, not both; read the files first, or write the items down")
    return replace(chosen, items=tuple(files))


def _check_options(name: str, options: Mapping[str, JSON], parameters: Mapping[str, inspect.Parameter]) -> None:
    """SpecError for an option that the task does not take and that is nearly one of `task` itself."""
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return
    for key in options:
        near = difflib.get_close_matches(key, ("items", "conditions", "scorers", "map"), n=1, cutoff=0.7)
        if near and key not in parameters:
            raise SpecError(f"task {name!r}: unknown option {key!r}; did you mean {near[0]!r}?")


@overload
def scorer(given: str) -> Scorer: ...
@overload
def scorer(given: Judge, *, name: str | None = None, version: str | None = None) -> Scorer: ...
def scorer(given: str | Judge, *, name: str | None = None, version: str | None = None) -> Scorer:
    """The scorer 'correct' (its latest version), 'correct@1', or the one in 'brief.py'; `judge` it on anything.

    Or a function of (item, response) or (item, text) as one: True is 1, False is 0, None is no value. Its version is,
    unless you give one, the first digits of its text's digest; 'unrecorded' where Python does not have the text.
    """
    if not isinstance(given, str):
        return function_scorer(given, name, version)
    if name is not None or version is not None:
        raise SpecError("name and version are for a function; write a version as 'correct@1'")
    return find_scorer(given)


@overload
def model(
    name: str,
    *,
    label: str | None = None,
    max_tokens: int | None = None,
    usd_per_million_input: float | None = None,
    usd_per_million_output: float | None = None,
    **options: JSON,
) -> ModelSpec: ...
@overload
def model(name: Callable[..., object], *, label: str | None = None) -> Model: ...
def model(
    name: str | Callable[..., object],
    *,
    label: str | None = None,
    max_tokens: int | None = None,
    usd_per_million_input: float | None = None,
    usd_per_million_output: float | None = None,
    **options: JSON,
) -> ModelSpec | Model:
    """A model 'provider/name' with the provider's options, or a function that answers; nothing is contacted yet.

    A function gets the prompt as a string; one whose parameter is called `messages` gets a list of
    {"role": …, "content": …}, one whose parameter is called `request` the whole Request. It returns a string or a
    Response. Its code is no part of the run: the manifest has its name and, where there is one, its text's digest.
    Without both prices what a run costs is unknown, and a limit in dollars is refused.
    """
    prices = usd_per_million_input, usd_per_million_output
    if isinstance(name, str):
        return ModelSpec(name, label or written_name(name), options, max_tokens, *prices)
    if options or max_tokens is not None or prices != (None, None):
        raise SpecError("a function as a model takes a label and no other option")
    from perpend.models.callable import of_function

    return of_function(name, label)


def models_given(entries: AnyModel | Sequence[AnyModel]) -> list[ModelSpec | Model]:
    """One model or several, each as a spec or as something that answers."""
    return [_model(entry) for entry in (entries if isinstance(entries, list | tuple) else [entries])]


def _model(entry: object) -> ModelSpec | Model:
    if isinstance(entry, ModelSpec):
        return entry
    if isinstance(entry, str):
        return model(entry)
    if callable(getattr(entry, "answer", None)) and callable(getattr(entry, "fingerprint", None)):
        return entry  # type: ignore[return-value]  # checked just above; Protocols cannot be narrowed structurally
    if callable(entry):
        return model(entry)
    raise SpecError(f"a model is a name, a pp.model(…) or a function that answers, not {a_or_an(type(entry).__name__)}")
