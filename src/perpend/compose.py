"""Task = conditions + scorers + items of its own; and making tasks, models and scorers by their names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import JSON
from perpend.errors import SpecError, did_you_mean
from perpend.models.base import Model
from perpend.resolve import attribute, call, factory, names
from perpend.types import Condition, Item, Message, Response, Scorer


@dataclass(frozen=True, slots=True)
class Reprompt:
    """A second turn for answers that cannot be used. `params` hold its whole text."""

    wanted: Callable[[Item, Response], bool]
    render: Callable[[tuple[Message, ...], Response], tuple[Message, ...]]
    params: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked and how it is judged. The first condition is the one that the others are compared with.

    `scorers` are names such as 'correct' (its latest version) or 'correct@1'; `items` are the task's own files,
    used when a run names none. `choices_scored` asks for the likelihood of each choice instead of a text.
    """

    name: str
    conditions: tuple[Condition, ...]
    scorers: tuple[str, ...]
    items: tuple[Path, ...] = ()
    reprompt: Reprompt | None = None
    choices_scored: bool = False
    options: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = [condition.name for condition in self.conditions]
        twice = sorted({name for name in known if known.count(name) > 1})
        if not known or twice:
            raise SpecError(f"task {self.name!r}: " + (f"two conditions are {twice[0]!r}" if twice else "no condition"))

    def condition(self, name: str) -> Condition:
        """The condition of that name."""
        for condition in self.conditions:
            if condition.name == name:
                return condition
        known = [condition.name for condition in self.conditions]
        raise SpecError(f"task {self.name!r} has no condition {name!r}; {did_you_mean(name, known)}")


def make_task(name: str, options: Mapping[str, JSON]) -> Task:
    """The task of that name (or 'file.py', 'file.py:attr', 'package.module:attr') with these options."""
    task = call(factory("tasks", name, "task"), options, f"task {name!r}")
    if not isinstance(task, Task):
        raise SpecError(f"task {name!r} gave a {type(task).__name__}, not a perpend Task")
    return task


def make_model(name: str, options: Mapping[str, JSON], answer_key: tuple[Path, ...] = ()) -> Model:
    """The model 'provider/name', or the one that 'file.py:attr' makes.

    Only a provider whose factory takes `answer_key` is given the item files: the simulated subject, which has to know
    what is right to be wrong at a known rate.
    """
    provider, _, rest = name.partition("/")
    if provider not in names("models") and name.partition(":")[0].endswith(".py"):
        provider, rest = name, ""
    maker = factory("models", provider, "model")
    arguments: dict[str, object] = dict(options)
    if "answer_key" in inspect.signature(maker).parameters and "answer_key" not in arguments:
        arguments["answer_key"] = answer_key
    made = call(maker, arguments, f"model {name!r}", rest)
    if not callable(getattr(made, "answer", None)) or not callable(getattr(made, "fingerprint", None)):
        raise SpecError(f"model {name!r} gave a {type(made).__name__}, which has no answer() and fingerprint()")
    return made  # type: ignore[return-value]  # checked just above; Protocols cannot be narrowed structurally


def find_scorer(name: str) -> Scorer:
    """The scorer of that name: 'correct' is its latest version, 'correct@1' that one."""
    stem, _, version = name.partition("@")
    versions = attribute("scorers", stem, "VERSIONS")
    if not isinstance(versions, tuple) or not all(isinstance(scorer, Scorer) for scorer in versions):
        raise SpecError(f"scorer {stem!r}: VERSIONS must be a tuple of Scorers")
    for scorer in reversed(versions):
        if isinstance(scorer, Scorer) and version in ("", scorer.version):
            return scorer
    known = [f"{stem}@{scorer.version}" for scorer in versions if isinstance(scorer, Scorer)]
    raise SpecError(f"unknown scorer {name!r}; {did_you_mean(name, known)}")
