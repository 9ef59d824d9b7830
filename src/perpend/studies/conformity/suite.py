"""The conformity study's item files and suite files → items, templates and a run.toml that 'perpend eval' runs.

The prompts are perpend's own. A condition type that is not known here is an error, never a silent control.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from perpend.ask.conditions import Confidence, asch, authority, control, template
from perpend.ask.task import Task, make_task
from perpend.canon import (
    JSON,
    as_list,
    dumps,
    inside,
    json_lines,
    named,
    number_of,
    object_of,
    portable_name,
    read_object,
    write_atomic,
)
from perpend.canon import text_or_none as text_of
from perpend.errors import DataError, SpecError, did_you_mean
from perpend.importers.intake import must_be_free
from perpend.ledger.items import check_item
from perpend.spec.runspec import read_spec
from perpend.studies.conformity import reference
from perpend.studies.conformity.prompts import template_file, toml
from perpend.types import Condition, Item

TYPES: Mapping[str, tuple[str, ...]] = {
    "control": (),
    "synthetic_asch_history": ("confederates", "confidence"),
    "authoritative_bias": ("user_claim_strength",),
}
"""The condition types that perpend has prompts of its own for, with their parameters."""
_ITEM_KEYS = (
    *("item_id", "domain", "category", "question", "ground_truth_text", "wrong_answer", "source"),
    *("dataset_name", "topic", "is_factual"),
)
_CONFIGS = "configs"
_TASK = '''"""The conditions of a suite of the conformity study, from the template files beside this file."""

from pathlib import Path

from perpend.studies.conformity.suite import suite_task


def task():
    return suite_task(Path(__file__).parent, {name!r}, {files!r})
'''


@dataclass(frozen=True, slots=True)
class SuiteDataset:
    """One entry of a suite's data sets."""

    name: str
    path: str
    category: str | None


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite file: what is asked of whom, how. `max_items` is per data set: the first N; None is all."""

    name: str
    datasets: tuple[SuiteDataset, ...]
    conditions: Mapping[str, Mapping[str, JSON]]
    models: tuple[tuple[str, str], ...]
    """(variant, model_id)"""
    seed: int
    temperature: float
    top_p: float | None
    max_items: int | None


def parse_item(body: Mapping[str, JSON], where: str, dataset: SuiteDataset | None = None) -> tuple[str, Item]:
    """One line of the study's item files, or of its collected items, as (name of the data set, Item)."""
    for key in body:
        if key not in _ITEM_KEYS:
            raise DataError(f"{where}: unknown key {key!r}; {did_you_mean(key, _ITEM_KEYS)}")
    name = text_of(body, "dataset_name", where) or (dataset.name if dataset else Path(where.rpartition(":")[0]).stem)
    truth = text_of(body, "ground_truth_text", where)
    tags = reference.tags(
        dataset=name,
        topic=text_of(body, "topic", where)
        or (dataset.category if dataset else None)
        or text_of(body, "category", where),
        domain=text_of(body, "domain", where),
        source=object_of(body, "source", where),
    )
    item = Item(
        id=named(body, "item_id", where),
        prompt=named(body, "question", where),
        target=reference.target(truth),
        decoy=text_of(body, "wrong_answer", where),
        tags={**tags, "kind": reference.kind(truth)},
    )
    check_item(item, where)
    return name, item


def write_items(source: Path, out: Path) -> Path:
    """Write one of the study's item files as an item file of perpend's."""
    must_be_free(out)
    lines = [dumps(parse_item(body, where)[1].as_json()) for where, body in json_lines(source)]
    if not lines:
        raise DataError(f"{source}: no items")
    write_atomic(out, "\n".join(lines) + "\n")
    return out


def read_suite(path: Path) -> Suite:
    """A suite file of the study."""
    where = str(path)
    body = read_object(path)
    run = object_of(body, "run", where)
    if run.get("top_k", run.get("top_n")) is not None:
        raise SpecError(
            f"{where}: run.top_k: a run has no top_k; remove it from the suite and set it at the server, "
            "and server_rules = true for a model with the option server"
        )
    limit, seed = run.get("max_items_per_dataset"), run.get("seed", reference.SEED)
    if not isinstance(limit, int | None) or not isinstance(seed, int):
        raise SpecError(f"{where}: run: seed and max_items_per_dataset must be integers, not {seed!r}, {limit!r}")
    conditions = {named(c, "name", where): object_of(c, "params", where) for c in _entries(body, "conditions", where)}
    return Suite(
        name=text_of(body, "suite_name", where) or path.stem,
        datasets=tuple(
            SuiteDataset(named(d, "name", where), named(d, "path", where), text_of(d, "category", where))
            for d in _entries(body, "datasets", where)
        ),
        conditions=conditions,
        models=tuple(
            (named(m, "variant", where), named(m, "model_id", where)) for m in _entries(body, "models", where)
        ),
        seed=seed,
        temperature=number_of(run, "temperature", where) or 0.0,
        top_p=number_of(run, "top_p" if "top_p" in run else "nucleus_p", where),
        max_items=limit,
    )


def write_suite(suite: Path, items: Path, out: Path) -> Path:
    """Write what 'perpend eval' needs to run a suite into the folder `out`, and return its run.toml.

    `items` is the folder that the suite's paths start from, or one file of collected items with `dataset_name`.
    """
    plan = read_suite(suite)
    must_be_free(out)
    if plan.max_items is not None and plan.max_items < 1:
        raise SpecError(f"{suite}: max_items_per_dataset {plan.max_items} leaves no item; give 1 or more, or null")
    conditions = [_condition(name, params, str(suite)) for name, params in plan.conditions.items()]
    try:
        item_files = [_write_dataset(plan, dataset, items, out / "items") for dataset in plan.datasets]
        files = [f"{portable_name(condition.name)}.toml" for condition in conditions]
        for condition, file in zip(conditions, files, strict=True):
            write_atomic(out / "templates" / file, template_file(condition))
        write_atomic(out / "task.py", _TASK.format(name=plan.name, files=files))
        write_atomic(out / "run.toml", _run_toml(plan, [f"items/{path.name}" for path in item_files]))
        read_spec(out / "run.toml")
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    return out / "run.toml"


def items_folder(suite: Path) -> Path:
    """The folder that the paths of a suite's data sets start from. All of them must lead into the study's own folder.

    That is the suite's, or the one above where the suite is in `configs`, as the study keeps them; paths may start
    further above, as in 'experiments/my_study/data/facts.jsonl'.
    """
    wanted = read_suite(suite).datasets
    own = suite.resolve().parent
    study = own.parent if own.name == _CONFIGS else own
    for folder in dict.fromkeys((own, study, *study.parents)):
        paths = [inside(folder, dataset.path, f"{suite}: data set {dataset.name!r:.80}") for dataset in wanted]
        if all(path.is_file() and path.resolve().is_relative_to(study) for path in paths):
            return folder
    raise DataError(
        f"{suite}: its item files ({wanted[0].path} …) are not in its folder {study.name!r}; put them there, or give"
        " them: perpend.studies.conformity.suite.write_suite(suite, items, out)"
    )


def suite_task(folder: Path, name: str, files: Sequence[str]) -> Task:
    """The task of a converted suite: conformity, with the suite's template files as its conditions."""
    conditions = tuple(template(folder / "templates" / file) for file in files)
    study = make_task("conformity", {})
    return Task(name=study.name, conditions=conditions, scorers=study.scorers, options={"suite": name})


def _entries(body: Mapping[str, JSON], key: str, where: str) -> list[Mapping[str, JSON]]:
    listed = as_list(body.get(key))
    entries = [entry for entry in listed if isinstance(entry, Mapping)]
    if not entries or len(entries) < len(listed):
        raise SpecError(f"{where}: {key!r} must be a list of objects; this is no suite file of the conformity study")
    names = [str(entry.get("name", entry.get("variant"))) for entry in entries]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SpecError(f"{where}: two of {key!r} are named {twice[0]!r}; give each a name of its own")
    return entries


def _condition(name: str, params: Mapping[str, JSON], suite: str) -> Condition:
    kind, where = params.get("type"), f"{suite}: condition {name!r}"
    if not isinstance(kind, str) or kind not in TYPES:
        raise SpecError(f"{where}: unknown type {kind!r}; {did_you_mean(str(kind), TYPES)}")
    for key in params:
        if key not in ("type", *TYPES[kind]):
            raise SpecError(f"{where}: unknown parameter {key!r}; {did_you_mean(key, TYPES[kind])}")
    if kind == "control":
        return control(name=name)
    if kind == "authoritative_bias":
        return authority(_strength(params, "user_claim_strength", where), name=name)
    confederates = params.get("confederates", 5)
    if not isinstance(confederates, int):
        raise SpecError(f"{where}: confederates must be an integer, not {confederates!r}")
    return asch(confederates, confidence=_strength(params, "confidence", where), name=name)


def _strength(params: Mapping[str, JSON], key: str, where: str) -> Confidence:
    value = params.get(key, "high")
    if value == "high":
        return "high"
    if value == "low":
        return "low"
    raise SpecError(f"{where}: {key} must be 'high' or 'low', not {value!r}")


def _write_dataset(suite: Suite, dataset: SuiteDataset, items: Path, out: Path) -> Path:
    """Write the items of one data set, the first `max_items` of it."""
    bodies = list(islice(_bodies(dataset, items), suite.max_items))
    if not bodies:
        raise DataError(f"{items}: no items of data set {dataset.name!r}")
    path = out / f"{portable_name(dataset.name)}.jsonl"
    write_atomic(path, "".join(dumps(parse_item(body, where, dataset)[1].as_json()) + "\n" for where, body in bodies))
    return path


def _bodies(dataset: SuiteDataset, items: Path) -> Iterator[tuple[str, dict[str, JSON]]]:
    if items.is_dir():
        yield from json_lines(inside(items, dataset.path, f"data set {dataset.name!r:.80}"))
        return
    for where, body in json_lines(items):
        if body.get("dataset_name") == dataset.name:
            yield where, body


def _run_toml(suite: Suite, items: Iterable[str]) -> str:
    lines = [
        'task = "task.py"',
        f"name = {toml(suite.name)}",
        f"items = [{', '.join(map(toml, items))}]",
        f"seed = {suite.seed}",
        "",
        "[sampling]",
        f"temperature = {suite.temperature!r}",
        f"max_tokens = {reference.max_tokens('')}",
    ]
    if suite.top_p is not None:
        lines.append(f"top_p = {suite.top_p!r}")
    for variant, model in suite.models:
        lines += ["", "[[model]]", f"name = {toml(f'openai/{model}')}", f"label = {toml(variant)}"]
        if reference.max_tokens(model) != reference.max_tokens(""):
            lines.append(f"max_tokens = {reference.max_tokens(model)}")
    return "\n".join(lines) + "\n"
