"""Task = conditions + scorers + items of its own; making tasks and models by their names; and the intent of a run."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from perpend.ask.conditions import from_params
from perpend.canon import JSON, digest_file, open_file, portable_name, write_atomic
from perpend.errors import SpecError, StoreError, a_or_an, did_you_mean, near_file
from perpend.inert import one_line
from perpend.ledger.database import exclusive, refuse_linked_folders
from perpend.ledger.manifest import (
    RULES,
    ItemsFacts,
    Manifest,
    ModelFacts,
    SourceFile,
    code_version,
    now,
    read_manifest,
    template,
    write_manifest,
)
from perpend.ledger.plan import Dataset
from perpend.ledger.stopping import stop_facts
from perpend.rows.mapping import NO_MAP
from perpend.spec.model import Model
from perpend.spec.own_rules import versioned
from perpend.spec.resolve import (
    call,
    factory,
    file_of,
    find_scorer,
    is_file,
    names,
    packaged_factory,
    packaged_scorer,
)
from perpend.spec.runspec import RunSpec, written_name
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

    `scorers` are Scorers, or names such as 'correct' (its latest version), 'correct@1' or 'brief.py'; `items` are the
    task's own files, used when a run names none. `choices_scored` asks for the likelihood of each choice instead of a
    text. `source` is the Python file that the task came from; None where it is packaged.
    """

    name: str
    conditions: tuple[Condition, ...]
    scorers: tuple[str | Scorer, ...]
    items: tuple[Path, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    """Which column of the item files means what; see `RunSpec.fields`."""
    check: Callable[[Item, str], None] | None = None
    """Raises DataError for an item, at a place, that the task cannot ask; None where any item will do."""
    reprompt: Reprompt | None = None
    choices_scored: bool = False
    options: Mapping[str, JSON] = field(default_factory=dict)
    source: Path | None = None
    in_memory: tuple[Item, ...] = ()
    """Items that a Python program gave, instead of files; the run's ledger keeps them."""

    def __post_init__(self) -> None:
        for name in ("conditions", "scorers", "items", "in_memory"):
            object.__setattr__(self, name, tuple(getattr(self, name)))  # a list is welcome too
        known = [condition.name for condition in self.conditions]
        twice = sorted({name for name in known if known.count(name) > 1})
        if not known or twice:
            raise SpecError(f"task {self.name!r}: " + (f"two conditions are {twice[0]!r}" if twice else "no condition"))

    def __repr__(self) -> str:
        conditions = ", ".join(condition.name for condition in self.conditions)
        n = len(self.in_memory)
        items = f"{n} item{'s' * (n != 1)}" if n else ", ".join(path.name for path in self.items)
        return one_line(f"Task({self.name!r}: {conditions}; scored by {len(self.scorers)}; {items or 'no items'})")

    def condition(self, name: str) -> Condition:
        """The condition of that name."""
        for condition in self.conditions:
            if condition.name == name:
                return condition
        known = [condition.name for condition in self.conditions]
        raise SpecError(f"task {self.name!r} has no condition {name!r}; {did_you_mean(name, known)}")

    def judges(self, copies: Mapping[str, Path] | None = None) -> dict[str, Scorer]:
        """Its scorers by 'name@version', in their order. An unknown one, or one given twice, is an error.

        Beside one by an author's own rules stands the packaged one, after it: the latest of the name is ours. Of a task
        that came out of a run, `copies` are the run's Python files by their names: no other file is run.
        """
        scorers: dict[str, Scorer] = {}
        for entry in self.scorers:
            name = _copied(entry, copies) if isinstance(entry, str) and copies is not None else entry
            scorer = find_scorer(name) if isinstance(name, str) else name
            full = f"{scorer.name}@{scorer.version}"
            if full in scorers:
                raise SpecError(f"task {self.name!r}: two scorers are {full!r}; give each version a name of its own")
            scorers[full] = scorer
        return _with_ours(scorers)

    def sources(self) -> list[tuple[str, Path]]:
        """(kind, file) of every Python file that the task and those of its scorers that it names came from."""
        files = [("tasks", self.source)] if self.source is not None else []
        for entry in self.scorers:
            path = file_of(versioned(entry)[0]) if isinstance(entry, str) else None
            if path is not None:
                files.append(("scorers", path))
        return files


def _with_ours(scorers: Mapping[str, Scorer]) -> dict[str, Scorer]:
    own = [scorer for scorer in scorers.values() if scorer.rule_file]
    ours = {f"{one.name}@{one.version}": one for one in (packaged_scorer(scorer.name) for scorer in own)}
    ordered: dict[str, Scorer] = {}
    for full, scorer in {**scorers, **ours}.items():
        if full in ours:
            ordered |= {f"{one.name}@{one.version}": one for one in own if one.name == scorer.name}
        if not scorer.rule_file:
            ordered[full] = scorer
    return ordered


def _copied(name: str, copies: Mapping[str, Path]) -> str:
    """The name of a scorer with the run's copy in place of the file that it names."""
    path = file_of(versioned(name)[0])
    if path is None:
        return name
    if path.name not in copies:
        raise StoreError(
            f"{CODE}/{path.name} is missing: the run's task names it, and no other file of that name is run"
        )
    return f"{copies[path.name]}{name[len(str(path)) :]}"


def make_task(name: str, options: Mapping[str, JSON]) -> Task:
    """The task that a user names (or 'file.py', 'file.py:attr', 'package.module:attr') with these options."""
    return replace(_task(factory("tasks", name, "task"), name, options), source=file_of(name))


def packaged_task(name: str, options: Mapping[str, JSON]) -> Task:
    """The task that a name out of a folder stands for; only perpend's own and those of installed packages are run."""
    return _task(packaged_factory("tasks", name, "task"), name, options)


def _task(maker: Callable[..., object], name: str, options: Mapping[str, JSON]) -> Task:
    task = call(maker, options, f"task {name!r}")
    if not isinstance(task, Task):
        raise SpecError(f"task {name!r} gave {a_or_an(type(task).__name__)}, not a perpend Task")
    return task


def answer_key(spec: RunSpec, task: Task) -> tuple[tuple[Path, ...], Mapping[str, str]]:
    """The item files of a run and the map of their columns, as `make_model` takes them."""
    return spec.items or task.items, spec.fields or task.fields


def make_model(
    name: str, options: Mapping[str, JSON], items: tuple[Path, ...] = (), fields: Mapping[str, str] = NO_MAP
) -> Model:
    """The model 'provider/name', or the one that 'file.py:attr' makes.

    Only a provider whose factory takes `answer_key` is given the item files, and the map of their columns if it takes
    `answer_map`: the simulated subject, which has to know what is right to be wrong at a known rate.
    """
    provider, _, rest = name.partition("/")
    if provider not in names("models") and file_of(name) is not None:
        provider, rest = name, ""
    is_module = "." in name and all(part.isidentifier() for part in name.split("."))
    if provider == name and name not in names("models") and ":" not in name and not is_file(name) and not is_module:
        hint = did_you_mean(name, names("models"))
        raise SpecError(f"unknown model {name!r}: write provider/name, such as openai/{name}; providers, {hint}")
    maker = factory("models", provider, "model")
    arguments: dict[str, object] = dict(options)
    if "answer_key" not in options:
        given: dict[str, object] = {"answer_key": items, "answer_map": fields}
        arguments |= {key: value for key, value in given.items() if key in inspect.signature(maker).parameters}
    model = call(maker, arguments, f"model {name!r}", rest)
    if not callable(getattr(model, "answer", None)) or not callable(getattr(model, "fingerprint", None)):
        raise SpecError(f"model {name!r} gave {a_or_an(type(model).__name__)}, which has no answer() and fingerprint()")
    return model  # type: ignore[return-value]  # checked just above; Protocols cannot be narrowed structurally


CODE = "code"
"""The folder of a run that holds copies of the Python files that its names came from."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What a run knows of its items once its plan is written."""

    items: ItemsFacts
    datasets: tuple[Dataset, ...]
    trials: int


def intent(
    name: str, spec: RunSpec, task: Task, fingerprints: Iterable[Mapping[str, JSON]], planned: Planned
) -> Manifest:
    """The manifest of a run that is about to begin. `fingerprints` are those of its models, in order."""
    return Manifest(
        run=name,
        task=task.name,
        options=task.options,
        choices_scored=task.choices_scored,
        items=planned.items,
        conditions=tuple(template(condition.name, condition.params) for condition in task.conditions),
        reprompt=None if task.reprompt is None else template("reprompt", task.reprompt.params),
        models=tuple(
            ModelFacts(written_name(one.name), one.label, one.binding_options, one.max_tokens, fingerprint)
            for one, fingerprint in zip(spec.models, fingerprints, strict=True)
        ),
        samplings=spec.samplings,
        repeats=spec.repeats,
        trials=planned.trials,
        scorers=tuple(task.judges()),
        datasets=planned.datasets,
        sources=tuple(
            SourceFile(kind, name, hashlib.sha256(data).hexdigest()) for kind, name, data in source_texts(spec, task)
        ),
        stop=None if spec.stop is None else stop_facts(str(spec.stop.rule), spec.stop.look_every, planned.items.n),
        created=now(),
        code=code_version(),
    )


def source_files(spec: RunSpec, task: Task) -> list[tuple[str, Path]]:
    """(kind, file) of every Python file that a name of the run names, each once. Two files of one name are an error."""
    files = task.sources()
    for model in spec.models:
        provider, _, rest = model.name.partition("/")
        path = file_of(rest) if provider in names("models") else file_of(model.name)
        if path is not None:
            files.append(("models", path))
    known: dict[str, Path] = {}
    for _, path in files:
        if not path.is_file():
            raise SpecError(f"{path}: no such file{near_file(path)}")
        if known.setdefault(path.name, path).resolve() != path.resolve():
            raise SpecError(f"{path} and {known[path.name]} have one name; a run keeps a copy of each, so rename one")
    return list(dict.fromkeys(files))


def source_texts(spec: RunSpec, task: Task) -> list[tuple[str, str, bytes]]:
    """(kind, name, bytes) of every file that the run keeps: those that it names, its scorers' own texts, rule files.

    Two of one name are an error.
    """
    texts = []
    for kind, path in source_files(spec, task):
        with open_file(path, SpecError) as file:
            texts.append((kind, path.name, file.read()))
    texts += [
        ("scorers", f"{portable_name(f'{entry.name}-{entry.version}')}.py", entry.source.encode())
        for entry in task.scorers
        if isinstance(entry, Scorer) and entry.source and not entry.rule_file
    ]
    texts += [(RULES, name, data) for name, data in rule_texts(task.judges().values())]
    known: dict[str, bytes] = {}
    for _, name, data in texts:
        if known.setdefault(name, data) != data:
            raise SpecError(f"two files of the run are called {name!r}; give one of the scorers another name")
    return texts


def rule_texts(scorers: Iterable[Scorer]) -> list[tuple[str, bytes]]:
    """(name, bytes) of the rule files of some scorers, each once."""
    return list(dict.fromkeys((one.rule_file, one.source.encode()) for one in scorers if one.rule_file))


def declare(directory: Path, added: Iterable[Scorer]) -> None:
    """Add scorers to those that a run's manifest declares, with copies of their rule files, and ours beside them.

    The questions and the answers stay as they are. A rule file of a name that the run has for another is a SpecError.
    """
    refuse_linked_folders(directory)
    manifest = read_manifest(directory)
    every = _with_ours({f"{one.name}@{one.version}": one for one in added})
    known = {source.file: source.sha256 for source in manifest.sources}
    new, names = [], list(manifest.scorers)
    for file, data in rule_texts(every.values()):
        sha256 = hashlib.sha256(data).hexdigest()
        if known.get(file, sha256) != sha256:
            raise SpecError(f"{directory}: keeps another {CODE}/{file}; give the new file another name")
        if file not in known:
            write_atomic(directory / CODE / file, data)
            new.append(SourceFile(RULES, file, sha256))
    for full, one in every.items():
        if full not in names:  # before ours, which stays the last of its name and so the latest
            before = [at for at, name in enumerate(names) if one.rule_file and name.startswith(f"{one.name}@")][-1:]
            names.insert(before[0] if before and names[before[0]] in every else len(names), full)
    if new or names != [*manifest.scorers]:
        write_manifest(directory, replace(manifest, scorers=tuple(names), sources=(*manifest.sources, *new)))


def declare_scorers(directory: Path, names: Sequence[str]) -> None:
    """Add scorers by their names to those that a run declares; packaged ones and those of rule files."""
    for name in names:
        if file_of(versioned(name)[0]) is not None:
            raise SpecError(f"{name}: a run keeps the Python that it began with; ask it again, with --model replay/RUN")
    added = [find_scorer(name) for name in names]
    with exclusive(directory):
        declare(directory, added)


def conditions_of(manifest: Manifest) -> dict[str, Condition] | str:
    """The conditions of a run by their names, made again from its manifest; where that cannot be, why."""
    if manifest.is_imported:
        return "imported: the questions were rendered elsewhere"
    conditions: dict[str, Condition] = {}
    for entry in manifest.conditions:
        condition = from_params(entry.name, entry.params)
        if condition is None:
            return f"condition {entry.name!r} holds no template; its questions cannot be rendered again"
        conditions[entry.name] = condition
    return conditions


def trusted_files(manifest: Manifest, directory: Path) -> dict[str, Path]:
    """The copies of the run's own Python files by their names, each with the digest that the manifest states."""
    files: dict[str, Path] = {}
    for source in manifest.sources:
        path = directory / CODE / source.file
        if Path(source.file).name != source.file or not path.is_file():
            raise StoreError(f"{directory}: {CODE}/{source.file} is missing; the run cannot be scored again without it")
        if digest_file(path, within=directory) != source.sha256:
            raise StoreError(f"{path}: does not match the digest in the manifest; nothing of it is run")
        files[source.file] = path
    return files
