"""run.toml and flags → RunSpec. Lists make a grid; an unknown key is an error; secrets are named, not held."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import JSON, digest, portable_name
from perpend.errors import SpecError, did_you_mean
from perpend.rows.mapping import flat_map, parse_map
from perpend.spec.own_rules import rule_file_of, versioned
from perpend.spec.stopping import StopSpec, check_single, stop_spec
from perpend.toml import parse_toml, read_toml
from perpend.types import Sampling

_KEYS = (
    "task",
    "items",
    "map",
    "templates",
    "scorers",
    "freeze",
    "name",
    "options",
    "model",
    "sampling",
    "repeats",
    "max_items",
    "seed",
    "stop_when",
    "look_every",
    "budget",
)
_SAMPLING = ("temperature", "max_tokens", "seed", "top_p", "stop")
_PLAINLY_GIVEN = ("task", "name", "repeats", "max_items", "seed", "stop_when", "look_every")
_BUDGET = ("max_usd", "max_requests", "max_minutes")
_HOMES = {
    **dict.fromkeys(("temperature", "max_tokens", "top_p", "stop"), "[sampling]"),
    **dict.fromkeys(_BUDGET, "[budget]"),
    **dict.fromkeys(("label", "base_url", "workers", "retries", "api_key_env"), "[[model]]"),
}
"""Keys that are often written at the top of the file, and where they belong."""
COMMAND_LINE = "the command line"
_FREE = ("mock", "ngram", "replay")
"""Providers that compute, or look up, their answers here."""
_MOST_REPEATS = 100_000
_MODEL = ("name", "label", "max_tokens", "usd_per_million_input", "usd_per_million_output")
_SECRET = re.compile(
    r"key|(?:\w+_)?(?:api_?key|(?:access|secret)_key|token|secret|pass(?:word|wd|phrase)?|credentials?)"
)
# How fast and from where a model answers, not what it answers: left out of a run's identity and of all that is written.
TRANSPORT = frozenset(
    (
        "base_url",
        "api_key_env",
        "workers",
        "retries",
        "timeout_s",
        "rpm",
        "tpm",
        "backoff_s",
        "stream",
        "threads",
        "device",
    )
)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model of a run: 'provider/name', the label that tables show, and the provider's options."""

    name: str
    label: str
    options: Mapping[str, JSON] = field(default_factory=dict)
    max_tokens: int | None = None
    """Overrides the sampling's: a reasoning model needs more room."""
    usd_per_million_input: float | None = None
    """US dollars for a million tokens; None: unknown, and so is what the run costs."""
    usd_per_million_output: float | None = None

    @property
    def price(self) -> tuple[float, float] | None:
        """US dollars for a million tokens in and out; None unless both are known, or it is a model that asks nobody."""
        if (self.usd_per_million_input, self.usd_per_million_output) == (None, None) and self._is_free:
            return 0.0, 0.0
        if self.usd_per_million_input is None or self.usd_per_million_output is None:
            return None
        return self.usd_per_million_input, self.usd_per_million_output

    @property
    def _is_free(self) -> bool:
        return self.name.partition("/")[0] in _FREE

    @property
    def binding_options(self) -> dict[str, JSON]:
        """The options that may change an answer."""
        return {key: value for key, value in self.options.items() if key not in TRANSPORT}

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The environment variables that its options name; what they hold must not be written down."""
        return tuple(str(value) for key, value in self.options.items() if key.endswith("_env") and value)

    def identity(self) -> dict[str, JSON]:
        """What of this may change an answer."""
        return {
            "name": written_name(self.name),
            "label": self.label,
            "options": self.binding_options,
            "max_tokens": self.max_tokens,
        }


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may spend; None is no limit."""

    max_usd: float | None = None
    max_requests: int | None = None
    max_minutes: float | None = None


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything that a run is asked to be. `items` () means the task's own."""

    task: str
    models: tuple[ModelSpec, ...]
    items: tuple[Path, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    """Which column of the item files means what (`map` in run.toml); empty where they have an item's own names."""
    templates: tuple[Path, ...] = ()
    """Condition files: one of the name of a task's condition takes its place, another is added."""
    scorers: tuple[str, ...] = ()
    """Added to the task's own: 'includes', 'endorsed@mine.toml', 'brief.py'. No part of the question."""
    freeze: Path | None = None
    name: str | None = None
    options: Mapping[str, JSON] = field(default_factory=dict)
    samplings: tuple[Sampling, ...] = (Sampling(),)
    repeats: int = 1
    max_items: int | None = None
    seed: int = 42
    """Draws the `max_items`; also the samplings' seed where they name none."""
    limits: Limits = Limits()
    stop: StopSpec | None = None

    def __post_init__(self) -> None:
        if not self.models:
            raise SpecError("no model: give one, for example --model mock/true")
        labels = [model.label for model in self.models]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise SpecError(f"two models are labelled {twice[0]!r}; give each [[model]] a label of its own")
        if not 1 <= self.repeats <= _MOST_REPEATS:
            raise SpecError(f"repeats must be from 1 to {_MOST_REPEATS:,}, not {self.repeats!r:.80}")
        if self.max_items is not None and self.max_items < 1:
            raise SpecError(f"max_items must be 1 or more, not {self.max_items!r:.80}")
        check_single(self.stop, labels, len(self.samplings))
        for name in Limits.__slots__:
            _limit(getattr(self.limits, name), name, "the budget")
        for model in self.models:
            for name in ("usd_per_million_input", "usd_per_million_output"):
                _limit(getattr(model, name), name, model.label)

    def samplings_of(self, model: ModelSpec) -> tuple[Sampling, ...]:
        """The samplings that one model is asked with."""
        if model.max_tokens is None:
            return self.samplings
        return tuple(Sampling(s.temperature, model.max_tokens, s.seed, s.top_p, s.stop) for s in self.samplings)

    def identity(self) -> dict[str, JSON]:
        """The question that this run asks, without the contents of files: same question, same directory."""
        return {
            "task": written_name(self.task),
            "options": dict(self.options),
            "items": [path.name for path in self.items],
            "map": dict(self.fields),
            "templates": [path.name for path in self.templates],
            "models": [model.identity() for model in self.models],
            "samplings": [sampling.as_json() for sampling in self.samplings],
            "repeats": self.repeats,
            "max_items": self.max_items,
            "seed": self.seed,
            "stop": None if self.stop is None else {**self.stop.as_json()},
        }

    def run_name(self) -> str:
        """The name of the run's directory: the given one, or task, first label and the identity's first 8 digits."""
        if self.name is not None:
            return portable_name(self.name)
        more = f"+{len(self.models) - 1}" if len(self.models) > 1 else ""
        stem = portable_name(f"{Path(self.task).stem}-{self.models[0].label.replace('/', '-')}{more}")
        return f"{stem}-{digest(self.identity())[:8]}"


def written_name(name: str) -> str:
    """A model's or task's name as it may be written down: of a path on this machine only the last part."""
    provider, slash, rest = name.partition("/")
    if name.startswith(("/", "~")) or name.endswith(".py"):
        return Path(name).name
    return f"{provider}/{Path(rest).name}" if slash and rest.startswith(("/", "~", ".")) else name


def read_spec(path: Path) -> RunSpec:
    """The RunSpec in a run.toml; paths in it are relative to its folder."""
    return parse_spec(read_toml(path), folder=path.parent, where=str(path))


def parse_spec(body: Mapping[str, object], *, folder: Path, where: str) -> RunSpec:
    """A RunSpec from what a run.toml holds."""
    for key in body:
        if key in _HOMES:
            raise SpecError(f"{where}: {key!r} belongs in {_HOMES[key]}")
    if "looks" in body:
        raise SpecError(
            f"{where}: 'looks' cannot be planned; stop_when = 'width(correct) < 0.05' ends a run, looked at every "
            "look_every items, with an interval that is valid at any look"
        )
    _known(body, _KEYS, where)
    task = body.get("task")
    if where == COMMAND_LINE and task is None:
        raise SpecError(
            "nothing says what to ask. Give a run.toml, or --task and --model; for example: "
            "perpend eval --task questions --items questions.csv --model openai/gpt-4o"
        )
    if not isinstance(task, str):
        raise SpecError(f'{where}: task = "…" is missing; for example task = "questions"')
    seed = _whole(body.get("seed", 42), "seed", where)
    models = body.get("model", [])
    budget = _table(body.get("budget", {}), "budget", where)
    _known(budget, _BUDGET, f"{where}: [budget]")
    requests = budget.get("max_requests")
    options = _table(body.get("options", {}), "options", where)
    frozen, name = body.get("freeze"), body.get("name")
    return RunSpec(
        task=str(folder / task) if task.endswith(".py") else task,
        models=tuple(_model(entry, where) for entry in (models if isinstance(models, list) else [models])),
        items=tuple(folder / _string(entry, "items", where) for entry in _listed(body.get("items", []))),
        fields=_fields(body.get("map"), folder, where),
        templates=tuple(folder / _string(entry, "templates", where) for entry in _listed(body.get("templates", []))),
        scorers=tuple(_scorer(entry, folder, where) for entry in _listed(body.get("scorers", []))),
        freeze=None if frozen is None else folder / _string(frozen, "freeze", where),
        name=None if name is None else _string(name, "name", where),
        options={key: _json(value, f"{where}: [options] {key}") for key, value in options.items()},
        samplings=parse_samplings(_table(body.get("sampling", {}), "sampling", where), seed, where),
        repeats=_whole(body.get("repeats", 1), "repeats", where),
        max_items=None if body.get("max_items") is None else _whole(body["max_items"], "max_items", where),
        seed=seed,
        limits=Limits(
            max_usd=_limit(budget.get("max_usd"), "max_usd", where),
            max_requests=None if requests is None else _whole(requests, "max_requests", where),
            max_minutes=_limit(budget.get("max_minutes"), "max_minutes", where),
        ),
        stop=stop_spec(body.get("stop_when"), body.get("look_every"), where),
    )


def _scorer(entry: object, folder: Path, where: str) -> str:
    """A scorer's name, with the file that it names in the folder of run.toml."""
    name = _string(entry, "scorers", where)
    path, (stem, _) = rule_file_of(name), versioned(name)
    if path is not None:
        return f"{name.partition('@')[0]}@{folder / path}"
    return f"{folder / stem}{name[len(stem) :]}" if stem.endswith(".py") else name


def _fields(value: object, folder: Path, where: str) -> dict[str, str]:
    """The map of the items: a table, or what --map takes."""
    if value is None:
        return {}
    if isinstance(value, str):
        return parse_map(str(folder / value) if value.endswith(".toml") else value)
    return flat_map(_table(value, "map", where), where)


def parse_samplings(body: Mapping[str, object], seed: int, where: str) -> tuple[Sampling, ...]:
    """The grid of samplings: every combination of the listed values."""
    _known(body, _SAMPLING, f"{where}: [sampling]")
    stop = tuple(_string(entry, "stop", where) for entry in _listed(body.get("stop", [])))
    grid = itertools.product(
        _listed(body.get("temperature", 0.0)),
        _listed(body.get("max_tokens", 512)),
        _listed(body.get("seed", seed)),
        _listed(body.get("top_p", [None])),
    )
    samplings: list[Sampling] = []
    for temperature, max_tokens, one_seed, top_p in grid:
        sampling = Sampling(
            temperature=_number(temperature, "temperature", where, low=0.0),
            max_tokens=_whole(max_tokens, "max_tokens", where),
            seed=_whole(one_seed, "seed", where),
            top_p=None if top_p is None else _number(top_p, "top_p", where, low=0.0),
            stop=stop,
        )
        if sampling.top_p is not None and not 0 < sampling.top_p <= 1:
            raise SpecError(f"{where}: top_p must be above 0 and at most 1, not {sampling.top_p}")
        if sampling.max_tokens < 1:
            raise SpecError(f"{where}: max_tokens must be 1 or more, not {sampling.max_tokens}")
        if sampling in samplings:
            raise SpecError(f"{where}: [sampling] lists the same combination twice: {sampling}")
        samplings.append(sampling)
    if not samplings:
        raise SpecError(f"{where}: [sampling] is an empty grid; every list needs a value")
    return tuple(samplings)


def _model(entry: object, where: str) -> ModelSpec:
    body = _table(entry, "[[model]]", where)
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise SpecError(f'{where}: a [[model]] has no name; for example name = "openai/gpt-4o"')
    secret = sorted(key for key in body if _SECRET.fullmatch(key))
    if secret:
        raise SpecError(f'{where}: {name}: {secret[0]!r} would be written down; use api_key_env = "NAME_OF_A_VARIABLE"')
    label, tokens = body.get("label", written_name(name)), body.get("max_tokens")
    return ModelSpec(
        name=name,
        label=_string(label, "label", where),
        options={key: _json(value, f"{where}: {name}: {key}") for key, value in body.items() if key not in _MODEL},
        max_tokens=None if tokens is None else _whole(tokens, "max_tokens", where),
        usd_per_million_input=_limit(body.get("usd_per_million_input"), "usd_per_million_input", where),
        usd_per_million_output=_limit(body.get("usd_per_million_output"), "usd_per_million_output", where),
    )


def _known(body: Mapping[str, object], known: Iterable[str], where: str) -> None:
    for key in body:
        if key not in known:
            own = did_you_mean(key, known)
            is_far = not own.startswith("did you mean") and "task" in known
            raise SpecError(f"{where}: unknown key {key!r}; {own}" + "; options of the task go into [options]" * is_far)


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def _table(value: object, what: str, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise SpecError(f"{where}: {what} must be a table, not {value!r:.80}")
    return value


def _string(value: object, what: str, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise SpecError(f"{where}: {what} must be a string, not {value!r:.80}")
    return value


def _whole(value: object, what: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 1 << 63:  # what a database holds
        raise SpecError(f"{where}: {what} must be an integer, not {value!r:.80}")
    return value


def _number(value: object, what: str, where: str, *, low: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= sys.float_info.max:
        raise SpecError(f"{where}: {what} must be a number of at least {low:g}, not {value!r:.80}")
    return float(value)


def _limit(value: object, what: str, where: str) -> float | None:
    return None if value is None else _number(value, what, where, low=0.0)


def _json(value: object, where: str) -> JSON:
    """An option as JSON. What JSON has no place for (a date, nan) is a SpecError."""
    if isinstance(value, list):
        return [_json(entry, where) for entry in value]
    if isinstance(value, dict):
        return {str(key): _json(entry, where) for key, entry in value.items()}
    if isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= sys.float_info.max):
        return value
    raise SpecError(f"{where}: {value!s:.80} cannot be written as JSON; use strings, numbers, lists or tables")


def spec_with_flags(path: Path | None, flags: Mapping[str, object]) -> RunSpec:
    """The RunSpec of a run.toml (or of nothing) with the given flags in place of its keys.

    `flags` are named like the keys of run.toml; None and () mean 'not given'. Paths on the command line are relative
    to the current directory, paths in the file to the file.
    """
    given = {key: value for key, value in flags.items() if value is not None and value != ()}
    body: dict[str, object] = {} if path is None else read_toml(path)
    body |= {key: given[key] for key in _PLAINLY_GIVEN if key in given}
    for key in ("items", "templates"):
        body |= {key: [_from_here(entry, path) for entry in _texts(given[key])]} if key in given else {}
    if "scorers" in given:
        here = Path() if path is None else Path().absolute()
        body["scorers"] = [_scorer(entry, here, COMMAND_LINE) for entry in _texts(given["scorers"])]
    body |= {"map": parse_map(str(given["map"]))} if "map" in given else {}
    body |= {"freeze": _from_here(str(given["freeze"]), path)} if "freeze" in given else {}
    temperatures = given.get("temperature")
    sampling = {"temperature": list(temperatures)} if isinstance(temperatures, tuple) else {}
    _lay_over(body, "sampling", sampling | _picked(given, "max_tokens"))
    _lay_over(body, "budget", _picked(given, "max_usd", "max_requests", "max_minutes"))
    _lay_over(body, "options", key_values(_texts(given.get("options", ()))))
    for_each_model = _picked(given, "workers", "retries") | key_values(_texts(given.get("model_options", ())))
    models = [{"name": name} for name in _texts(given.get("models", ()))] or body.get("model", [])
    if not isinstance(models, list):
        raise SpecError(f"{path}: write models as [[model]], with two brackets")
    body["model"] = [{**entry, **for_each_model} if isinstance(entry, dict) else entry for entry in models]
    where = COMMAND_LINE if path is None else str(path)
    return parse_spec(body, folder=Path() if path is None else path.parent, where=where)


def _from_here(entry: str, spec: Path | None) -> str:
    """A path of the command line as parse_spec reads it: from the folder of run.toml, if there is one."""
    return entry if spec is None else str(Path(entry).absolute())


def key_value(text: str) -> tuple[str, str]:
    """The two sides of KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise SpecError(f"{text!r}: write KEY=VALUE")
    return key, value


def key_values(texts: Sequence[str]) -> dict[str, object]:
    """KEY=VALUE strings with each value as TOML reads it (0.4 is a number); what TOML cannot read is a string."""
    return {key: _toml_value(value) for key, value in map(key_value, texts)}


def _toml_value(text: str) -> object:
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text


def _picked(given: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: given[key] for key in keys if key in given}


def _lay_over(body: dict[str, object], table: str, values: Mapping[str, object]) -> None:
    old = body.get(table, {})
    if values:
        body[table] = {**(old if isinstance(old, dict) else {}), **values}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(entry) for entry in value) if isinstance(value, tuple) else ()
