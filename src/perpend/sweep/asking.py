"""From a spec to the models of a shard's task: with --serve, each behind a server of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from perpend.ask.asking import Outcome
from perpend.ask.runner import Keeping, begin_shards, evaluate_task, settled, task_of
from perpend.ask.task import Task, answer_key, make_model
from perpend.canon import JSON
from perpend.ledger.manifest import MANIFEST, read_manifest
from perpend.ledger.shards import SHARDS, Shard
from perpend.spec.model import Answers, Budget, Model
from perpend.spec.runspec import ModelSpec, RunSpec, spec_with_flags
from perpend.sweep.command import scratch
from perpend.sweep.facts import Sweep, folder
from perpend.sweep.served import ServeCommand, Served, Servers
from perpend.sweep.task import ask_shard
from perpend.types import Request


def run_of(spec: RunSpec, out: Path) -> Path:
    """The run's directory."""
    return out / settled(spec, task_of(spec)).run_name()


def serving(sweep: Sweep) -> ServeCommand | None:
    """How each task serves its models; None where it starts no server."""
    return None if sweep.serve is None else ServeCommand(sweep.serve, sweep.serve_minutes)


@contextmanager
def models_of(spec: RunSpec, task: Task, serve: ServeCommand | None, log: Callable[[], Path]) -> Iterator[list[Model]]:
    """The models of a spec. With `serve` each is asked at a server that is started when it is needed first."""
    if serve is None:
        yield [make_model(model.name, model.options, *answer_key(spec, task)) for model in spec.models]
        return
    with Servers(serve, log()) as servers:
        yield [Served(model.name, partial(_at, model, spec, task), servers) for model in spec.models]


def _at(model: ModelSpec, spec: RunSpec, task: Task, url: str) -> Model:
    return make_model(model.name, {**model.options, "base_url": url}, *answer_key(spec, task))


def ask_here(
    spec: RunSpec, task: Task, out: Path, keeping: Keeping, *, serve: ServeCommand | None, quiet: bool
) -> Outcome:
    """Ask a run, or the shard of it that `keeping` names, in this process; `serve` starts a server for each model."""
    # The models first: a name that is of none is refused before the run, whose name is made of it, has a folder.
    with models_of(spec, task, serve, lambda: _log(run_of(spec, out), keeping)) as models:
        if keeping.shard is None:
            return evaluate_task(spec, task, models, out, keeping=keeping, quiet=quiet)
        run = run_of(spec, out)
        asked = _asked_only(run, keeping.shard, models)
        return ask_shard(
            spec,
            run,
            (keeping.shard, keeping.scratch),
            lambda limited: evaluate_task(limited, task, asked, out, keeping=keeping, quiet=quiet),
        )


def _log(run: Path, keeping: Keeping) -> Path:
    """Where the words of a server go."""
    if keeping.shard is None:
        return Path(tempfile.gettempdir()) / f"perpend-server-{os.getpid()}.log"
    return folder(run) / "logs" / f"{keeping.shard.number:04d}-server.log"


def _asked_only(run: Path, shard: Shard, models: Sequence[Model]) -> list[Model]:
    """The models, those of whom the shard asks nothing with the fingerprint that the manifest states.

    So a shard loads and serves only what it asks.
    """
    if not (run / SHARDS / MANIFEST).exists():
        return list(models)
    manifest = read_manifest(run / SHARDS)
    if len(manifest.models) != len(models):  # another run, which is refused with what differs
        return list(models)
    spans = [shard.items_of(place, len(models), manifest.items.n) for place in range(len(models))]
    return [
        model if first <= last else _Stated(model, facts.fingerprint)
        for model, facts, (first, last) in zip(models, manifest.models, spans, strict=True)
    ]


class _Stated:
    """A model that is not asked."""

    def __init__(self, model: Model, fingerprint: Mapping[str, JSON]) -> None:
        self._model, self._fingerprint = model, fingerprint

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    def fingerprint(self) -> Mapping[str, str]:
        """What the manifest states."""
        return {key: str(value) for key, value in self._fingerprint.items()}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """Nothing is asked of it."""
        return self._model.answer(requests, budget)


def begin(run: Path, sweep: Sweep) -> None:
    """Write what all shards share, their manifest: the first contact with each model. A second call checks it."""
    spec = spec_with_flags(Path(sweep.spec), {"name": sweep.name})
    task = task_of(spec)
    log = scratch(run, sweep) / "server-first.log"
    with models_of(spec, task, serving(sweep), lambda: log) as models:
        begin_shards(spec, task, models, run.parent, Shard(1, sweep.shards))
