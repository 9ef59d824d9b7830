"""What `eval` would ask, without asking: it fails where `eval` would before its first request; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.ask.conditions import first_request
from perpend.ask.runner import check_loss, check_rendering, check_same, selected, settled, task_of
from perpend.ask.spending import cost
from perpend.ask.task import Task, answer_key, make_model, source_files
from perpend.canon import JSON
from perpend.errors import DataError
from perpend.ledger.items import check_freeze
from perpend.ledger.manifest import MANIFEST, read_manifest
from perpend.ledger.plan import Trial
from perpend.ledger.stopping import stop_facts
from perpend.ledger.store import Store
from perpend.spec.model import Model
from perpend.spec.runspec import RunSpec
from perpend.spec.stopping import StopSpec
from perpend.types import Item, Message, Request, Spent

_RENDERED_ITEMS = 1000
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """One condition as the model would read it, on the run's first item."""

    condition: str
    item: str
    messages: tuple[Message, ...]
    choices: tuple[str, ...] = ()

    def as_json(self) -> dict[str, JSON]:
        """The entry in what `--json` prints."""
        messages: list[JSON] = [{"role": one.role, "content": one.content} for one in self.messages]
        body: dict[str, JSON] = {"condition": self.condition, "item": self.item, "messages": messages}
        return {**body, "choices": list(self.choices)} if self.choices else body


@dataclass(frozen=True, slots=True)
class Preview:
    """What a spec comes to. `trials` is the whole plan, of which `answered` are there already.

    `requests` are first turns that are still to be sent, without retries; as many `second_turns` at most may follow.
    `tokens_in` is estimated at four characters a token, over at most the first 1,000 items; `tokens_out` is the most
    that the token limit allows. `usd` is what those would cost; None where a price is unknown, and `usd_note` says why.
    """

    directory: Path
    items: int
    conditions: int
    models: int
    samplings: int
    repeats: int
    trials: int
    answered: int
    requests: int
    second_turns: int
    tokens_in: int
    tokens_out: int
    usd: float | None
    usd_note: str
    prompts: tuple[ShownPrompt, ...]
    stop: str = ""
    """When the run would stop early, and when it would look, in a sentence; empty without a rule."""

    def as_json(self) -> dict[str, JSON]:
        """What `--json` prints."""
        body: dict[str, JSON] = {name: getattr(self, name) for name in self.__slots__ if name not in _SHOWN_APART}
        prompts: list[JSON] = [prompt.as_json() for prompt in self.prompts]
        stop: dict[str, JSON] = {"stop": self.stop} if self.stop else {}
        return {"run": self.directory.as_posix(), **body, **stop, "prompts": prompts}


_SHOWN_APART = ("directory", "prompts", "stop")


def preview(spec: RunSpec, out: Path) -> Preview:
    """What `evaluate` would ask of a spec. No model is asked, no server contacted, no file written."""
    task = task_of(spec)
    models = [make_model(model.name, model.options, *answer_key(spec, task)) for model in spec.models]
    spec = settled(spec, task)
    source_files(spec, task)
    if spec.freeze is not None:
        check_freeze(spec.freeze, spec.items, spec.fields)
    items, first = _items(spec, task)
    for model, entry in zip(models, spec.models, strict=True):
        check = getattr(model, "check", None)
        if check is not None:
            check(_requests(spec, task, first[0], entry.label)[0])
    directory = out / spec.run_name()
    answered = _answered(directory, spec, task)
    per_model = {
        model.label: items * len(task.conditions) * len(spec.samplings_of(model)) * spec.repeats
        for model in spec.models
    }
    left = {label: trials - answered.get(label, 0) for label, trials in per_model.items()}
    spent = {label: _estimate(spec, task, first, label, left[label]) for label in left}
    usd, why = cost(spec.models, spent)
    total = sum(spent.values(), Spent())
    return Preview(
        directory=directory,
        items=items,
        conditions=len(task.conditions),
        models=len(spec.models),
        samplings=len(spec.samplings),
        repeats=spec.repeats,
        trials=sum(per_model.values()),
        answered=sum(answered.values()),
        requests=total.requests,
        second_turns=0 if task.reprompt is None else total.requests,
        tokens_in=total.input,
        tokens_out=total.output,
        usd=usd,
        usd_note=why,
        prompts=tuple(
            ShownPrompt(
                condition.name, first[0].id, condition.render(first[0]), first[0].choices if task.choices_scored else ()
            )
            for condition in task.conditions
        ),
        stop=_stop(spec.stop, items),
    )


def _stop(stop: StopSpec | None, items: int) -> str:
    if stop is None:
        return ""
    facts = stop_facts(str(stop.rule), stop.look_every, items)
    looks = f"looked at after every {facts.look_every} items, {len(facts.points(items))} times at most"
    return f"It stops as soon as {facts.when}, {looks}."


def _items(spec: RunSpec, task: Task) -> tuple[int, list[Item]]:
    """How many items the run has, and the first of them. An id that is used twice, or no item, is a DataError."""
    known: set[str] = set()
    first: list[Item] = []
    for _, where, item in selected(spec, task, spec.items):
        if item.id in known:
            raise DataError(f"{where}: id {item.id!r} is used twice; ids must be unique in a run")
        known.add(item.id)
        if len(first) < _RENDERED_ITEMS:
            first.append(item)
    if not known:
        raise DataError(f"no items in {', '.join(path.name for path in spec.items)}")
    return len(known), first


def _requests(spec: RunSpec, task: Task, item: Item, label: str) -> list[Request]:
    """What one model is asked about one item, once for each condition and sampling."""
    model = next(one for one in spec.models if one.label == label)
    return [
        first_request(Trial(0, item, condition.name, label, sampling, 0), condition, choices_scored=task.choices_scored)
        for sampling in spec.samplings_of(model)
        for condition in task.conditions
    ]


def _estimate(spec: RunSpec, task: Task, items: Sequence[Item], label: str, requests: int) -> Spent:
    """What that many requests of one model come to, from the mean over some items."""
    rendered = [request for item in items for request in _requests(spec, task, item, label)]
    chars = sum(_chars(request) for request in rendered) / len(rendered)
    most = sum(0 if request.choices else request.sampling.max_tokens for request in rendered) / len(rendered)
    return Spent(requests, round(chars / _CHARS_PER_TOKEN * requests), round(most * requests))


def _chars(request: Request) -> int:
    """Characters that are sent: the messages, and for each choice that is scored the messages and the choice."""
    messages = sum(len(message.content) for message in request.messages)
    return sum(messages + len(choice) for choice in request.choices) if request.choices else messages


class _AsStated:
    """A model of which only the fingerprint that a manifest states is known: its server is not asked."""

    def __init__(self, fingerprint: Mapping[str, JSON]) -> None:
        self._fingerprint = fingerprint

    def fingerprint(self) -> Mapping[str, JSON]:
        """As the manifest has it."""
        return self._fingerprint


def _answered(directory: Path, spec: RunSpec, task: Task) -> dict[str, int]:
    """How many trials of each model have an answer already; a folder that holds another run is a StoreError."""
    if not (directory / MANIFEST).exists():
        return {}
    stated = {model.label: model.fingerprint for model in read_manifest(directory).models}
    stand_ins: list[Model] = [_AsStated(stated.get(model.label, {})) for model in spec.models]  # type: ignore[misc]
    check_same(directory, spec, task, stand_ins)
    with Store.open(directory / "run.db") as store:
        check_loss(store)
        check_rendering(store, task)
        counts: dict[str, int] = {}
        for cell in store.cells():
            counts[cell.model] = counts.get(cell.model, 0) + cell.answered
    return counts
