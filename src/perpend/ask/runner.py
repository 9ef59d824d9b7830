"""plan → render → ask → append. Same question, same directory: what has no answer yet is asked, the rest is kept."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.ask.asking import Outcome, ask_all
from perpend.ask.conditions import first_request, template
from perpend.ask.given import with_scorers
from perpend.ask.guarded import Guarded
from perpend.ask.sharding import asking_place, begin_shard, check_cut, check_unmerged, place_shard, shared_manifest
from perpend.ask.spending import check_prices
from perpend.ask.starting import holding, new_folders, withdrawn
from perpend.ask.task import CODE, Planned, Task, answer_key, declare, intent, make_model, make_task, source_texts
from perpend.canon import JSON, digest_file, write_atomic
from perpend.disk import temporary_folder
from perpend.errors import DataError, DiskError, SpecError, StoreError, near_file
from perpend.ledger.database import refuse_linked_folders
from perpend.ledger.item_file import ITEMS, write_item_file
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
from perpend.ledger.plan import Dataset, Plan
from perpend.ledger.shards import SHARDS, Shard
from perpend.ledger.snapshot import snapshot
from perpend.ledger.stopping import seeded_place
from perpend.ledger.store import Store
from perpend.rows.reader import FORMATS
from perpend.spec.keys import note_variables
from perpend.spec.model import Model
from perpend.spec.runspec import RunSpec, written_name
from perpend.types import Item

_CHECKED_REQUESTS = 64
_DISK = "the disk is full"


@dataclass(frozen=True, slots=True)
class Keeping:
    """How answers are kept. `durable` waits for the disk at every commit: a power cut then costs nothing.

    `accept_loss` goes on where answers are missing that were kept before; they are asked again. With `shard` only that
    part of the run is asked, into a ledger of its own, which `scratch` keeps on a disk of this machine until it is put
    in its place.
    """

    durable: bool = False
    accept_loss: bool = False
    shard: Shard | None = None
    scratch: Path | None = None


_PLAINLY = Keeping()


def evaluate(spec: RunSpec, out: Path, *, keeping: Keeping = _PLAINLY, quiet: bool = False) -> Outcome:
    """`evaluate_task` with the task and the models that the spec names."""
    task = task_of(spec)
    models = [make_model(model.name, model.options, *answer_key(spec, task)) for model in spec.models]
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
    lost answers. The outcome of a shard names the folder of its ledger.
    """
    spec = settled(spec, task)
    run, shard = out / spec.run_name(), keeping.shard
    directory = run if shard is None else _shard_folder(spec, run, shard, keeping.scratch)
    guarded = _guarded(spec, models)
    with new_folders(directory), holding(directory), withdrawn(directory):
        if shard is not None:
            begin_shard(directory, run, shard)
        _prepare(directory, spec, task, guarded, None if shard is None else (run, shard))
        note_variables(directory, [name for model in guarded for name in model.key_variables])
        with Store.open(directory / "run.db", write=True, durable=keeping.durable) as store:
            if not keeping.accept_loss:
                check_loss(store)
            check_rendering(store, task)
            outcome = ask_all(store, spec, task, guarded, quiet=quiet)
    if shard is None or keeping.scratch is None:
        return outcome
    return replace(outcome, directory=place_shard(directory, run))


def _guarded(spec: RunSpec, models: Sequence[Model]) -> list[Guarded]:
    return [
        Guarded(model, (*entry.key_variables, *getattr(model, "key_variables", ())))
        for entry, model in zip(spec.models, models, strict=True)
    ]


def begin_shards(spec: RunSpec, task: Task, models: Sequence[Model], out: Path, shard: Shard) -> None:
    """Write what all shards of a run share, or check that what is there means the same run. Nothing is asked."""
    spec = settled(spec, task)
    run = out / spec.run_name()
    guarded = _guarded(spec, models)
    with new_folders(run / SHARDS), temporary_folder("begin", run / SHARDS) as tmpdir:
        _prepare(tmpdir / shard.folder, spec, task, guarded, (run, shard), asked=False)


def _shard_folder(spec: RunSpec, run: Path, shard: Shard, scratch: Path | None) -> Path:
    if spec.stop is not None:
        raise SpecError(
            f"--shard {shard}: this run has a stopping rule, which looks at all answers in turn and needs them in one "
            "ledger. Leave --stop-when out, or run it without --shard."
        )
    for folder in (run, run / SHARDS):
        refuse_linked_folders(folder)
    return asking_place(run, shard, scratch)


def task_of(spec: RunSpec) -> Task:
    """The spec's task, with its templates in place of the conditions that they name, or added, and more scorers."""
    task = make_task(spec.task, spec.options)
    conditions = {condition.name: condition for condition in (*task.conditions, *map(template, spec.templates))}
    return with_scorers(replace(task, conditions=tuple(conditions.values())), spec.scorers)


def settled(spec: RunSpec, task: Task) -> RunSpec:
    """The spec with the items and options that the task makes of it; SpecError where it cannot be asked at all."""
    paths = spec.items or task.items
    if not paths:
        raise SpecError(f'task {task.name!r} has no items of its own; give items = ["…"] or --items')
    check_prices(spec)
    task.judges()  # an unknown scorer is reported before a model is asked
    # What the task made of its options, so that a default and the same value given by hand are one question.
    fields = spec.fields or task.fields
    stop = spec.stop
    if stop is not None:
        names = [condition.name for condition in task.conditions]
        stop = replace(stop, rule=stop.rule.resolved(list(task.judges()), names))
    return replace(spec, task=task.name, options=task.options, items=paths, fields=fields, stop=stop)


def check_same(directory: Path, spec: RunSpec, task: Task, fingerprints: Iterable[Mapping[str, JSON]]) -> None:
    """StoreError that says what differs where a run's folder, which has a manifest, asks another question."""
    datasets, frozen = _files(spec)
    before = read_manifest(directory)
    with Store.open(directory / "run.db") as store:
        items = replace(_same_items(store, before, spec, task, datasets), freeze_sha256=frozen)
    planned = Planned(items, datasets, before.trials)
    changed = differences(before.binding(), intent(directory.name, spec, task, fingerprints, planned).binding())
    if changed:
        raise StoreError(
            f"{directory}: holds another run; it differs in",
            *changed[:10],
            "Give this one another name (--name), or undo the change to resume that one.",
            *_same_questions(directory, changed),
        )


def _same_questions(directory: Path, changed: Sequence[str]) -> list[str]:
    """What to do where nothing but the code that scores differs: the stored answers are answers to this run as well."""
    if not all(line.startswith(("sources", "scorers")) for line in changed):
        return []
    return [
        "Only code that scores differs, so its answers can be scored by the new code, and nobody is asked again:",
        f"the same command with --model replay/{directory} --name {directory.name}-2",
    ]


def _files(spec: RunSpec) -> tuple[tuple[Dataset, ...], str | None]:
    """The item files with their digests, and that of the freeze that they were checked by."""
    frozen = None if spec.freeze is None else check_freeze(spec.freeze, spec.items, spec.fields)
    return tuple(Dataset(path.stem, "1", path.name, _digest(path, spec.fields)) for path in spec.items), frozen


def _prepare(
    directory: Path,
    spec: RunSpec,
    task: Task,
    models: Sequence[Model],
    part: tuple[Path, Shard] | None = None,
    *,
    asked: bool = True,
) -> None:
    """Write the plan and then the manifest, or check that the ones that are there mean the same run.

    `part` are the run of a shard and the shard, which may not be merged yet if it is to be `asked`.
    """
    if part is None and not (directory / "run.db").exists() and (directory / SHARDS / MANIFEST).exists():
        raise StoreError(f"{directory}: its shards were not merged yet. Run 'perpend merge' on it, then this again.")
    if (directory / MANIFEST).exists():
        check_same(directory, spec, task, (model.fingerprint() for model in models))
        if part is not None and asked:
            check_unmerged(part[0], directory / "run.db")
        if part is None:
            declare(directory, [one for one in task.judges().values() if one.rule_file])
        return
    run, shard = part or (directory, None)
    datasets, frozen = _files(spec)
    digest = ItemsDigest()
    plan = Plan(
        datasets=datasets,
        conditions={condition.name: condition.params for condition in task.conditions},
        models=[(model.label, written_name(model.name), model.binding_options) for model in spec.models],
        samplings={model.label: spec.samplings_of(model) for model in spec.models},
        repeats=spec.repeats,
    )
    with _planning(directory), temporary_folder("plan", directory) as tmpdir:
        whole = tmpdir / "run.db"
        with Store.create(whole, run.name) as store:
            trials = store.write_plan(plan, _digesting(_ordered(spec, task), digest), shard=shard)
        planned = Planned(replace(_items_facts(spec, digest), freeze_sha256=frozen), datasets, trials)
        # The first contact with a server.
        manifest = intent(run.name, spec, task, (model.fingerprint() for model in models), planned)
        if shard is not None:
            manifest = shared_manifest(run, manifest)
            if asked:
                check_unmerged(run, whole)
            every = [Shard(number, shard.of) for number in range(1, shard.of + 1)]
            check_cut(run, [shard] if asked else every, manifest)
            write_item_file(run / SHARDS / ITEMS, _ordered(spec, task))
        _place(whole, directory)
    for _, name, data in source_texts(spec, task):
        write_atomic(directory / CODE / name, data)
    write_manifest(directory, manifest)


@contextmanager
def _planning(directory: Path) -> Iterator[None]:
    """A disk that refuses the plan, which is written first, is said to have: nothing was asked, and nothing is kept."""
    try:
        yield
    except DiskError as error:
        text = str(error).replace("what was written is kept: ", "")
        why = text[max(text.find(_DISK), 0) :]  # without the name of a temporary file
        raise DiskError(f"{directory}: the plan of the run cannot be written, so nothing was asked: {why}") from None


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


def check_loss(store: Store) -> None:
    """Refuse to go on as if nothing had happened where answers are gone that were kept."""
    lost = store.lost()
    if lost:
        raise StoreError(
            f"{store.path.parent}: {lost} answers that were kept are missing from run.db: was run.db-wal left behind, "
            "an older run.db put back, or the power cut? Put the files back, or ask them again: 'perpend eval' with "
            "--accept-loss."
        )


def _items_facts(spec: RunSpec, digest: ItemsDigest) -> ItemsFacts:
    return ItemsFacts(digest.count, digest.hexdigest(), spec.max_items, spec.seed, fields=spec.fields)


def _same_items(store: Store, before: Manifest, spec: RunSpec, task: Task, datasets: Sequence[Dataset]) -> ItemsFacts:
    """The facts about the items as they are now; a StoreError that names them when single items changed.

    Files whose bytes are the planned ones need no second reading: a run of a million trials resumes at once.
    """
    stated = before.items
    same_files = [d.sha256 for d in store.datasets()] == [d.sha256 for d in datasets]
    same_draw = (stated.max_items, stated.seed, stated.fields) == (spec.max_items, spec.seed, spec.fields)
    if same_draw and same_files:
        return stated
    digest = ItemsDigest()
    planned = {item.id: item for item in store.items()}
    is_part = len(planned) < stated.n
    changed: list[str] = []
    for _, _, item in _digesting(_ordered(spec, task), digest):
        earlier = planned.pop(item.id, item if is_part else None)
        if earlier != item:
            changed.append(item.id)
    changed += list(planned)
    if changed:
        raise StoreError(
            f"{store.path.parent}: {len(changed)} item(s) are not those that the run was planned with: "
            f"{', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}. "
            "Put the items back to resume, or give the new run another name (--name)."
        )
    return _items_facts(spec, digest)


def check_rendering(store: Store, task: Task) -> None:
    """Refuse to resume when this code would put the questions differently from how they were asked so far."""
    for number, asked in store.sample_requests(_CHECKED_REQUESTS):
        for trial in list(store.trials(number, number)):
            condition = task.condition(trial.condition)
            if first_request(trial, condition, choices_scored=task.choices_scored).digest != asked:
                raise StoreError(
                    f"{store.path.parent}: trial {number} (item {trial.item.id!r}, {trial.condition}) would now be "
                    "asked differently than it was: the task's code has changed. Give the new run another --name."
                )


def selected(spec: RunSpec, task: Task, paths: Sequence[Path]) -> Iterator[tuple[int, str, Item]]:
    """(number of the file, file:line, item) of every item that the run uses: all, or `max_items` drawn by the seed."""
    needs_decoy = [condition.name for condition in task.conditions if condition.needs_decoy]
    keep: set[int] | None = None
    if spec.max_items is not None:
        total = sum(1 for path in paths for _ in read_items(path, spec.fields))
        if spec.max_items < total:
            keep = set(random.Random(spec.seed).sample(range(total), spec.max_items))
    position = 0
    for number, path in enumerate(paths):
        for where, item in read_items(path, spec.fields):
            if keep is None or position in keep:
                if needs_decoy and item.decoy is None:
                    raise DataError(
                        f"{where}: item {item.id!r} has no decoy; condition {needs_decoy[0]!r} needs one. "
                        "If a column has it, write --map decoy=COLUMN"
                    )
                if task.choices_scored and not item.choices:
                    raise DataError(
                        f"{where}: item {item.id!r} has no choices; task {task.name!r} scores choices. "
                        "If a column has them, write --map choices=COLUMN"
                    )
                if task.check is not None:
                    task.check(item, where)
                yield number, where, item
            position += 1


def _ordered(spec: RunSpec, task: Task) -> Iterator[tuple[int, str, Item]]:
    """The items in the order of the plan: that of their files, or that of the seed where the run may stop early."""
    items = selected(spec, task, spec.items)
    if spec.stop is None:
        return items
    return iter(sorted(items, key=lambda entry: seeded_place(spec.seed, entry[2].id)))


def _digesting(items: Iterator[tuple[int, str, Item]], digest: ItemsDigest) -> Iterator[tuple[int, str, Item]]:
    for number, where, item in items:
        digest.add(item)
        yield number, where, item


def _digest(path: Path, fields: Mapping[str, str]) -> str:
    try:
        next(read_items(path, fields), None)  # what is no item file need not be read to its end
        return digest_file(path)
    except FileNotFoundError:
        near = near_file(path) or f"; give the path of a file of items: {FORMATS}"
        raise DataError(f"{path}: no such file{near}") from None
