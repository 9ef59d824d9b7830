"""What a Python program calls: a task, models, one function that asks. The same as the command line, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perpend.canon import JSON
from perpend.compose import Task, make_model, make_task
from perpend.measure import Run
from perpend.models.base import Model
from perpend.run import evaluate_task
from perpend.spec import Limits, ModelSpec, RunSpec, written_name
from perpend.types import Sampling


def task(name: str, *, items: str | Path | Sequence[str | Path] | None = None, **options: JSON) -> Task:
    """The task of that name with these options; `items` instead of its own files."""
    files = () if items is None else (items,) if isinstance(items, str | Path) else items
    paths = tuple(Path(path) for path in files)
    made = make_task(name, options)
    return replace(made, items=paths) if paths else made


def model(name: str, *, label: str | None = None, max_tokens: int | None = None, **options: JSON) -> ModelSpec:
    """A model 'provider/name' with the provider's options; nothing is contacted yet."""
    return ModelSpec(name, label or written_name(name), options, max_tokens)


def evaluate(  # noqa: PLR0913  each is one key of run.toml
    what: Task,
    models: Sequence[ModelSpec | Model],
    *,
    temperature: float | Sequence[float] = 0.0,
    max_tokens: int = 512,
    seed: int = 42,
    repeats: int = 1,
    max_items: int | None = None,
    limits: Limits | None = None,
    name: str | None = None,
    out: str | Path = "runs",
    quiet: bool = False,
) -> Run:
    """Ask, keep, score; resume if the run exists. Returns the Run, whose columns answer questions."""
    temperatures = [temperature] if isinstance(temperature, float | int) else temperature
    specs = [entry if isinstance(entry, ModelSpec) else ModelSpec(entry.name, entry.name) for entry in models]
    spec = RunSpec(
        task=what.name,
        models=tuple(specs),
        name=name,
        samplings=tuple(Sampling(float(t), max_tokens, seed) for t in temperatures),
        repeats=repeats,
        max_items=max_items,
        seed=seed,
        limits=limits or Limits(),
    )
    made = [make_model(e.name, e.options, what.items) if isinstance(e, ModelSpec) else e for e in models]
    outcome = evaluate_task(spec, what, made, Path(out), quiet=quiet)
    run = Run(outcome.directory)
    run.score()
    return run
