"""plan → render → ask → append. Same question, same directory: what has no answer yet is asked, the rest is kept."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.ask.conditions import first_request, request, template
from perpend.ask.guarded import Guarded
from perpend.ask.progress import Progress
from perpend.ask.task import CODE, Planned, Reprompt, Task, intent, make_model, make_task, source_texts
from perpend.canon import digest_file, write_atomic
from perpend.disk import temporary_folder
from perpend.errors import DataError, ModelError, SpecError, StoreError
from perpend.ledger.database import exclusive
from perpend.ledger.items import check_freeze, read_items
from perpend.ledger.manifest import (
    MANIFEST,
    ItemsDigest,
    ItemsFacts,
    Manifest,
    differences,
    read_manifest,
    write_manifest,
)
from perpend.ledger.plan import Appended, Dataset, OpenTrials, Plan, Trial
from perpend.ledger.snapshot import snapshot
from perpend.ledger.store import Store
from perpend.spec.keys import note_variables
from perpend.spec.model import Budget, Model
from perpend.spec.runspec import ModelSpec, RunSpec, written_name
from perpend.types import Item, Request, Response

_CHECKED_REQUESTS = 64


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an evaluation ended: of `planned` trials `answered` have an answer and `failed` only failures."""

    directory: Path
    planned: int
    answered: int
    failed: int
    sent: int
    usd: float
    stopped: str | None = None
    """Why it stopped before all was asked, in words; None when every trial was asked."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """How answers are kept. `durable` waits for the disk at every commit: a power cut then costs nothing.

    `accept_loss` goes on where answers are missing that were kept before; they are asked again.
    """

    durable: bool = False
    accept_loss: bool = False


_PLAINLY = Keeping()


def evaluate(spec: RunSpec, out: Path, *, keeping: Keeping = _PLAINLY, quiet: bool = False) -> Outcome:
    """`evaluate_task` with the task and the models that the spec names."""
    task = task_of(spec)
    models = [make_model(model.name, model.options, spec.items or task.items) for model in spec.models]
    return evaluate_task(spec, task, models, out, keeping=keeping, quiet=quiet)


def evaluate_task(
    spec: RunSpec,
    task: Task,
    models: Sequence[Model],
    out: Path,
    *,
    keeping: Keeping = _PLAINLY,
    quiet: bool = False,
) -> Outcome:
    """Ask what the run directory has no answer to yet, and append it. A second call does nothing.

    The directory is `out` / the spec's run name; `models` go with the spec's models, in order. A changed data set,
    prompt or spec is refused with what differs; so is a directory whose answers have lost their manifest, or that has
    lost answers.
    """
    paths = spec.items or task.items
    if not paths:
        raise SpecError(f'task {task.name!r} has no items of its own; give items = ["…jsonl"] or --items')
    # What the task made of its options, so that a default and the same value given by hand are one question.
    spec = replace(spec, task=task.name, options=task.options, items=paths)
    directory = out / spec.run_name()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory}: cannot be created: {error.strerror}; choose another --out") from None
    guarded = [
        Guarded(model, (*entry.key_variables, *getattr(model, "key_variables", ())))
        for entry, model in zip(spec.models, models, strict=True)
    ]
    with exclusive(directory):
        _prepare(directory, spec, task, guarded)
        note_variables(directory, [name for model in guarded for name in model.key_variables])
        with Store.open(directory / "run.db", write=True, durable=keeping.durable) as store:
            if not keeping.accept_loss:
                _check_loss(store)
            _check_rendering(store, task)
            return _ask_all(store, spec, task, guarded, quiet=quiet)


def task_of(spec: RunSpec) -> Task:
    """The spec's task, with its templates in place of the conditions that they name, or added."""
    task = make_task(spec.task, spec.options)
    conditions = {condition.name: condition for condition in (*task.conditions, *map(template, spec.templates))}
    return replace(task, conditions=tuple(conditions.values()))


def plan_size(spec: RunSpec) -> dict[str, int]:
    """How many items, conditions, models, samplings and trials a spec comes to, without asking anything."""
    task = task_of(spec)
    items = sum(1 for _ in _selected(spec, task, spec.items or task.items))
    samplings = sum(len(spec.samplings_of(model)) for model in spec.models)
    return {
        "items": items,
        "conditions": len(task.conditions),
        "models": len(spec.models),
        "samplings": len(spec.samplings),
        "repeats": spec.repeats,
        "trials": items * len(task.conditions) * samplings * spec.repeats,
    }


def _prepare(directory: Path, spec: RunSpec, task: Task, models: Sequence[Model]) -> None:
    """Write the plan and then the manifest, or check that the ones that are there mean the same run."""
    task.judges()  # an unknown scorer is reported before a model is asked
    frozen = None if spec.freeze is None else check_freeze(spec.freeze, spec.items)
    datasets = tuple(Dataset(path.stem, "1", path.name, _digest(path)) for path in spec.items)
    if (directory / MANIFEST).exists():
        before = read_manifest(directory)
        with Store.open(directory / "run.db") as store:
            items = replace(_same_items(store, before, spec, task, datasets), freeze_sha256=frozen)
        planned = Planned(items, datasets, before.trials)
        changed = differences(before.binding(), intent(directory.name, spec, task, models, planned).binding())
        if changed:
            raise StoreError(
                f"{directory}: holds another run; it differs in",
                *changed[:10],
                "Give this one another name (--name), or undo the change to resume that one.",
            )
        return
    digest = ItemsDigest()
    plan = Plan(
        datasets=datasets,
        conditions={condition.name: condition.params for condition in task.conditions},
        models=[(model.label, written_name(model.name), model.binding_options) for model in spec.models],
        samplings={model.label: spec.samplings_of(model) for model in spec.models},
        repeats=spec.repeats,
    )
    with temporary_folder("plan", directory) as tmpdir:
        whole = tmpdir / "run.db"
        with Store.create(whole, directory.name) as store:
            trials = store.write_plan(plan, _digesting(_selected(spec, task, spec.items), digest))
        if digest.count == 0:
            raise DataError(f"no items in {', '.join(path.name for path in spec.items)}")
        _place(whole, directory)
    planned = Planned(replace(_items_facts(spec, digest), freeze_sha256=frozen), datasets, trials)
    manifest = intent(directory.name, spec, task, models, planned)
    for _, name, data in source_texts(spec, task):
        write_atomic(directory / CODE / name, data)
    write_manifest(directory, manifest)


def _place(plan: Path, directory: Path) -> None:
    """Put a new plan into a directory that has no manifest.

    One that is there already is kept: the same, where a call was killed before it wrote the manifest, is as good as the
    new one; anything else is refused. Nothing is ever deleted or overwritten.
    """
    there = directory / "run.db"
    left = sorted(path.name for path in directory.glob("run.db*"))
    if not left:
        plan.replace(there)
        return
    with Store.open(there) as store:
        answers = store.responses()
    if answers:
        raise StoreError(
            f"{directory}: holds {answers} answers but no {MANIFEST}, so nobody can say what was asked. Nothing was "
            f"changed. Put {MANIFEST} back to resume, or give the new run another name (--name)."
        )
    with snapshot(there) as old, snapshot(plan) as new:
        if not old.same_plan(new):
            raise StoreError(
                f"{directory}: holds the plan of another run, of which nothing was asked yet ({', '.join(left)}), and "
                f"no {MANIFEST}. Remove the folder, or give the new run another name (--name)."
            )


def _check_loss(store: Store) -> None:
    """Refuse to go on as if nothing had happened where answers are gone that were kept."""
    lost = store.lost()
    if lost:
        raise StoreError(
            f"{store.path.parent}: {lost} answers that were kept are missing from run.db: was run.db-wal left behind, "
            "an older run.db put back, or the power cut? Put the files back, or give --accept-loss to ask them again."
        )


def _items_facts(spec: RunSpec, digest: ItemsDigest) -> ItemsFacts:
    return ItemsFacts(digest.count, digest.hexdigest(), spec.max_items, spec.seed)


def _same_items(store: Store, before: Manifest, spec: RunSpec, task: Task, datasets: Sequence[Dataset]) -> ItemsFacts:
    """The facts about the items as they are now; a StoreError that names them when single items changed.

    Files whose bytes are the planned ones need no second reading: a run of a million trials resumes at once.
    """
    stated = before.items
    same_files = [d.sha256 for d in store.datasets()] == [d.sha256 for d in datasets]
    if (stated.max_items, stated.seed) == (spec.max_items, spec.seed) and same_files:
        return stated
    digest = ItemsDigest()
    planned = {item.id: item for item in store.items()}
    changed: list[str] = []
    for _, _, item in _digesting(_selected(spec, task, spec.items), digest):
        if planned.pop(item.id, None) != item:
            changed.append(item.id)
    changed += list(planned)
    if changed:
        raise StoreError(
            f"{store.path.parent}: {len(changed)} item(s) are not those that the run was planned with: "
            f"{', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}. "
            "Put the items back to resume, or give the new run another name (--name)."
        )
    return _items_facts(spec, digest)


def _check_rendering(store: Store, task: Task) -> None:
    """Refuse to resume when this code would put the questions differently from how they were asked so far."""
    for number, asked in store.sample_requests(_CHECKED_REQUESTS):
        for trial in list(store.trials(number, number)):
            condition = task.condition(trial.condition)
            if first_request(trial, condition, choices_scored=task.choices_scored).digest != asked:
                raise StoreError(
                    f"{store.path.parent}: trial {number} (item {trial.item.id!r}, {trial.condition}) would now be "
                    "asked differently than it was: the task's code has changed. Give the new run another --name."
                )


def _ask_all(store: Store, spec: RunSpec, task: Task, models: Sequence[Model], *, quiet: bool) -> Outcome:
    budget = Budget(spec.limits.max_requests, spec.limits.max_usd, spec.limits.max_minutes)
    tallies = [_Tally(store.open_trials(model.label)) for model in spec.models]
    stopped: str | None = None
    try:
        for model_spec, model, tally in zip(spec.models, models, tallies, strict=True):
            budget.usd_per_input = model_spec.usd_per_million_input / 1e6
            budget.usd_per_output = model_spec.usd_per_million_output / 1e6
            budget.answered = tally.answered
            with Progress(model_spec.label, tally.pending.total, tally.answered, quiet=quiet) as progress:
                _ask(store, task, model, budget, (tally, progress))
            tally.check_answered(model_spec.label)
            if task.reprompt is not None:
                _ask_again(store, task, task.reprompt, (model_spec, model), budget)
    except KeyboardInterrupt:
        stopped = "interrupted"
    planned, answered = sum(tally.pending.total for tally in tallies), sum(tally.answered for tally in tallies)
    failed = sum(len(tally.failed) for tally in tallies)
    if stopped is None and answered + failed < planned:
        stopped = budget.spent()
    return Outcome(store.path.parent, planned, answered, failed, budget.sent, budget.usd, stopped)


class _Tally:
    """How far one model is: answers so far, the trials that only failed, and what came in this time."""

    def __init__(self, pending: OpenTrials) -> None:
        self.pending = pending
        self.answered = pending.total - len(pending)
        self.failed = set(pending.attempts)
        self.seen = self.unusable = 0
        self.error = ""

    def count(self, trial: int, response: Response, *, unusable: bool) -> None:
        """Take one response in."""
        self.seen += 1
        self.unusable += unusable
        if response.error is not None:
            self.error = response.error
            self.failed.add(trial)
        else:
            self.answered += 1
            self.failed.discard(trial)

    def check_answered(self, model: str) -> None:
        """ModelError where the model was asked and has not answered anything, now or before: that is no result."""
        if self.seen and not self.answered:
            raise ModelError(
                f"{model}: {self.seen} trial{'s' * (self.seen != 1)} asked, none answered; the last failure: "
                f"{self.error}. The failures are stored. Look at the model or its server, or wait if it asks for fewer "
                "requests; run the same command again to resume"
            )


def _ask(store: Store, task: Task, model: Model, budget: Budget, watch: tuple[_Tally, Progress]) -> None:
    """The first turn of every trial of one model that has no answer yet."""
    tally, progress = watch
    asked: dict[int, tuple[Trial, Request]] = {}

    def requests() -> Iterator[tuple[int, Request]]:
        for trial in tally.pending:
            question = first_request(trial, task.condition(trial.condition), choices_scored=task.choices_scored)
            asked[trial.trial] = (trial, question)
            yield trial.trial, question

    for batch in model.answer(requests(), budget):
        rows = []
        for key, response in batch:
            trial, question = asked.pop(key)
            rows.append(Appended(key, 0, trial.attempt, question.digest, response))
            tally.count(key, response, unusable=_unusable(task.reprompt, trial.item, response))
        store.append(rows)
        cost = f"; ${budget.usd:.2f}" if budget.usd else ""
        progress.advance(len(rows), f"{len(tally.failed)} failed; {tally.unusable / tally.seen:.0%} unusable{cost}")


def _ask_again(store: Store, task: Task, reprompt: Reprompt, who: tuple[ModelSpec, Model], budget: Budget) -> None:
    """The second turn, for first replies that cannot be used. A failed second turn is asked again on resume."""
    spec, model = who
    done, failures = store.answered_turns(1), store.failures(1)
    asked: dict[int, Request] = {}

    def requests() -> Iterator[tuple[int, Request]]:
        wanted = [
            (trial, response)
            for trial, response in store.answers(last_turn=0)
            if trial.model == spec.label and trial.trial not in done
            if response.text is not None and reprompt.wanted(trial.item, response)
        ]
        for trial, response in wanted:
            messages = reprompt.render(task.condition(trial.condition).render(trial.item), response)
            asked[trial.trial] = request(trial, messages, choices_scored=False)
            yield trial.trial, asked[trial.trial]

    for batch in model.answer(requests(), budget):
        store.append(Appended(key, 1, failures.get(key, 0), asked.pop(key).digest, response) for key, response in batch)


def _unusable(reprompt: Reprompt | None, item: Item, response: Response) -> bool:
    if response.text is None:
        return False
    if reprompt is not None:
        return reprompt.wanted(item, response)
    return response.finish == "length" or not response.text.strip()


def _selected(spec: RunSpec, task: Task, paths: Sequence[Path]) -> Iterator[tuple[int, str, Item]]:
    """(number of the file, file:line, item) of every item that the run uses: all, or `max_items` drawn by the seed."""
    needs_decoy = [condition.name for condition in task.conditions if condition.needs_decoy]
    keep: set[int] | None = None
    if spec.max_items is not None:
        total = sum(1 for path in paths for _ in read_items(path))
        if spec.max_items < total:
            keep = set(random.Random(spec.seed).sample(range(total), spec.max_items))
    position = 0
    for number, path in enumerate(paths):
        for line, item in read_items(path):
            if keep is None or position in keep:
                if needs_decoy and item.decoy is None:
                    raise DataError(
                        f"{path}:{line}: item {item.id!r} has no decoy; condition {needs_decoy[0]!r} needs one"
                    )
                if task.choices_scored and not item.choices:
                    raise DataError(
                        f"{path}:{line}: item {item.id!r} has no choices; task {task.name!r} scores choices"
                    )
                yield number, f"{path}:{line}", item
            position += 1


def _digesting(items: Iterator[tuple[int, str, Item]], digest: ItemsDigest) -> Iterator[tuple[int, str, Item]]:
    for number, where, item in items:
        digest.add(item)
        yield number, where, item


def _digest(path: Path) -> str:
    try:
        next(read_items(path), None)  # what is no item file need not be read to its end
        return digest_file(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; give the path of a JSONL file of items") from None
