"""A run of the protocol: its settings, its folder from the first question to the last file, and resuming it.

The folder's own files (run_manifest.json, predictions.jsonl, metrics.json by the protocol's names, summary.md) are
renderings of the ledger below them (run.db, manifest.json) and of the Numbers that are derived from it.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import get_type_hints

from perpend.ask.asking import Outcome
from perpend.ask.guarded import Guarded
from perpend.ask.runner import evaluate_task
from perpend.ask.starting import has_response, new_folders
from perpend.ask.task import Task, make_model, make_task
from perpend.canon import (
    JSON,
    as_object,
    digest,
    digest_file,
    dumps,
    object_of,
    portable_name,
    write_atomic,
)
from perpend.errors import DataError, PerpendError, SpecError, StoreError, did_you_mean
from perpend.ledger.manifest import code_version
from perpend.measure.run import Run
from perpend.measure.study import METRICS
from perpend.measure.table import Reply
from perpend.report.derive import derive
from perpend.report.templates import render
from perpend.spec.resolve import names
from perpend.spec.runspec import Limits, ModelSpec, RunSpec, written_name
from perpend.studies.logic.chaosbench.folders import (
    RUN_MANIFEST,
    SUMMARY_PAGE,
    as_lines,
    cut_stated,
    parser_stated,
    read_json,
)
from perpend.studies.logic.chaosbench.sets import PROTOCOL, SHORT, ItemSource, Record, ids_hash, text_of, to_item
from perpend.studies.logic.metrics import SUMMARY, Prediction, in_order, predictions_of, seed_names
from perpend.types import Sampling

TASK = "logic"
ITEMS = "items.jsonl"
"""The items of a run, in the order in which they are asked, inside its folder."""
PROMPT_VERSION = "perpend-1"
PARSERS = {"careful": "label@4", "strict": "label@1", "lenient": "label_lenient@1"}
SERVERS: Mapping[str, Sequence[str]] = PROTOCOL["servers"]
FILES = frozenset(("callable", "replay"))
"""Providers whose model is a file of this machine."""
BATCHED = frozenset(("hf", "mock", "ngram"))
"""Providers that have no workers: one process answers many requests at a time."""
# OpenAI's reasoning models refuse 'max_tokens' and name the limit otherwise.
_REASONING = re.compile(r"(?:o\d|gpt-5)")
_LEAST = {"max_items": 1, "workers": 1, "retries": 0, "max_tokens": 1, "truncate_pred_text": 1}
_AS_THEY_ARE = ("max_items", "seed", "retries", "workers", "shuffle_seed", "temperature", "max_tokens")
# What may change when a run is resumed: how fast and for how much, not what is asked.
RESUMABLE = frozenset(("workers", "base_url", "max_usd", "usd_per_million_input", "usd_per_million_output"))


@dataclass(frozen=True, slots=True)
class Settings:
    """One run of the protocol. `max_items` are drawn by `seed`; `shuffle_seed` then reorders them."""

    provider: str
    model: str | None = None
    max_items: int | None = None
    seed: int = 42
    workers: int = 1
    retries: int = 1
    temperature: float = 0.0
    max_tokens: int = 128
    parsing: str = "careful"
    shuffle_seed: int | None = None
    phase: str | None = None
    truncate_pred_text: int | None = None
    max_usd: float | None = None
    usd_per_million_input: float | None = None
    usd_per_million_output: float | None = None
    base_url: str | None = None

    def __post_init__(self) -> None:
        known = {*SERVERS, *names("models")}
        if self.provider not in known:
            raise SpecError(f"unknown provider {self.provider!r}; {did_you_mean(self.provider, known)}")
        if self.model is None and self.provider != "mock":
            raise SpecError(f"--provider {self.provider} needs --model; for example --model qwen2.5:14b")
        if self.parsing not in PARSERS:
            raise SpecError(f"unknown parsing {self.parsing!r}; {did_you_mean(self.parsing, PARSERS)}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise SpecError(f"--{name.replace('_', '-')} must be {least} or more, not {value}")
        if not (math.isfinite(self.temperature) and self.temperature >= 0.0):
            raise SpecError(f"--temperature must be a number of at least 0, not {self.temperature}")
        if self.max_usd is not None and None in (self.usd_per_million_input, self.usd_per_million_output):
            raise SpecError(
                "--max-usd needs prices: give --usd-per-million-input and --usd-per-million-output for this model"
            )

    @property
    def provider_name(self) -> str:
        """'mock', or provider/model: what run ids and tables show."""
        return self.provider if self.model is None else written_name(f"{self.provider}/{self.model}")

    @property
    def parser(self) -> str:
        """The scorer that decides what a reply says."""
        return PARSERS[self.parsing]

    def as_json(self) -> dict[str, JSON]:
        """What the run folder keeps: no address, and of a model that is a file only its name."""
        kept = {key: value for key, value in asdict(self).items() if key != "base_url"}
        return kept | {"model": None if self.model is None else self.provider_name.partition("/")[2]}

    def stated(self) -> dict[str, JSON]:
        """What a run manifest says of the settings by the reference's names, beside `settings` themselves."""
        return {
            **{key: getattr(self, key) for key in _AS_THEY_ARE},
            "provider": self.provider_name,
            # The reference has two rules; the careful one is neither of them.
            "strict_parsing": {"strict": True, "lenient": False}.get(self.parsing),
            "order_mode": "canonical" if self.shuffle_seed is None else "shuffled",
            "budget": {
                "max_usd": self.max_usd,
                "truncate_pred_text": self.truncate_pred_text,
                "phase": self.phase,
                "dry_run_cost": None,
            },
            "parser": self.parser,
        }

    def spec(self, directory: Path) -> RunSpec:
        """The run as perpend's runner takes it, in a folder that holds its items."""
        return RunSpec(
            task=TASK,
            models=(self._model(),),
            items=(directory / ITEMS,),
            name=directory.name,
            options=make_task(TASK, self.task_options()).options,
            samplings=(Sampling(self.temperature, self.max_tokens, self.seed),),
            seed=self.seed,
            limits=Limits(max_usd=self.max_usd),
        )

    def task_options(self) -> dict[str, JSON]:
        """The options of the task: the parser, and whether an invalid reply is asked for again."""
        return {"parser": self.parser, "reprompt": self.retries > 0}

    def _model(self) -> ModelSpec:
        name = self.model or "true"
        server = SERVERS.get(self.provider)
        options: dict[str, JSON] = {}
        if self.provider not in FILES | BATCHED:
            options["workers"] = self.workers
        if server is not None:
            address, *keys = server
            options |= {"base_url": address, "api_key_env": next((key for key in keys if key in os.environ), keys[0])}
        if self.base_url is not None:
            options["base_url"] = self.base_url
        if self.provider == "openai" and _REASONING.match(name):
            options["max_tokens_field"] = "max_completion_tokens"
        return ModelSpec(
            name=f"{'openai' if server else self.provider}/{name}",
            label=self.provider_name,
            options=options,
            usd_per_million_input=self.usd_per_million_input,
            usd_per_million_output=self.usd_per_million_output,
        )

    def run_id(self, stamp: str) -> str:
        """'YYYYMMDDTHHMMSSZ_provider_model', with what some file system refuses replaced by '-'."""
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", self.provider_name.replace("/", "_")).strip("._-")
        return portable_name(f"{stamp}_{plain}")


def settings_from(body: Mapping[str, object], where: str) -> Settings:
    """The settings that flags or a run folder state; what they do not state keeps its default."""
    picked = {key: value for key, value in body.items() if key in _KINDS}
    for key, value in picked.items():
        if not isinstance(value, _KINDS[key]) or isinstance(value, bool):
            raise SpecError(f"{where}: {key} cannot be {value!r}")
    return Settings(**picked)  # type: ignore[arg-type]  # each was checked just above


_KINDS = {key: kind | int if isinstance(1.0, kind) else kind for key, kind in get_type_hints(Settings).items()}


def resumed(before: Settings, given: Mapping[str, object], where: str) -> Settings:
    """The settings of a run that is resumed: its own, with the speed and the budget that are given now.

    Any other flag that differs from the run is refused.
    """
    stated = {key: value for key, value in given.items() if key in _KINDS}
    # A model that is a file has to be named again: the run folder does not hold its path. Its digest is checked.
    is_same = written_name(f"{before.provider}/{stated.get('model')}") == before.provider_name
    free = RESUMABLE | ({"model"} if before.provider in FILES or is_same else set())
    differ = [
        f"--{key.replace('_', '-')} {getattr(before, key)} → {value}"
        for key, value in stated.items()
        if key not in free and getattr(before, key) != value
    ]
    if differ:
        raise SpecError(f"{where}: the run was begun otherwise: {', '.join(differ)}. Leave these out, or start anew.")
    return settings_from({**before.as_json(), **stated}, where)


def prompt_hash(task: Task) -> str:
    """16 hex digits over every word that the model is sent: the whole template, and the second turn."""
    reprompt: JSON = None if task.reprompt is None else dict(task.reprompt.params)
    return digest({"conditions": [dict(condition.params) for condition in task.conditions], "reprompt": reprompt})[
        :SHORT
    ]


TIERS = PROTOCOL["tiers"]
"""Rows of the run plan: the subset of each run, '' for the canonical set, and its other settings."""
ORDER = (
    "max_items draws random.Random(seed).sample(items, max_items), in the order of the draw; "
    "shuffle_seed then applies random.Random(shuffle_seed).shuffle once"
)


def chosen(records: Sequence[Record], settings: Settings) -> list[Record]:
    """The items of a run in their order, by the rule that `ORDER` states."""
    picked = list(records)
    if settings.max_items is not None and settings.max_items < len(picked):
        picked = random.Random(settings.seed).sample(picked, settings.max_items)
    if settings.shuffle_seed is not None:
        random.Random(settings.shuffle_seed).shuffle(picked)
    return picked


@contextmanager
def new_run(source: ItemSource, settings: Settings, out: Path) -> Iterator[Path]:
    """A new run folder with its items and its intent, for the length of a block.

    Where an error ends the block before any reply was kept, as when the model cannot be had, no folder is left.
    """
    records = chosen(source.records, settings)
    lines = [dumps(to_item(record, f"{source.path}: {text_of(record, 'id')}").as_json()) for record in records]
    started = datetime.now(UTC)
    with new_folders(out):
        directory = _new_folder(out, settings.run_id(started.strftime("%Y%m%dT%H%M%SZ")))
        try:
            write_atomic(directory / ITEMS, "\n".join(lines) + "\n")
            spec = settings.spec(directory)
            model = make_model(spec.models[0].name, spec.models[0].options, spec.items)
            fingerprint: dict[str, JSON] = dict(Guarded(model, spec.models[0].key_variables).fingerprint())
            intent = _intent(source, settings, directory, records)
            write_json(directory / RUN_MANIFEST, intent | {"started_utc": started.isoformat(), "model": fingerprint})
            yield directory
        except PerpendError:
            if not has_response(directory):
                shutil.rmtree(directory)
            raise


def _new_folder(out: Path, name: str) -> Path:
    """A folder that did not exist: two runs that start in one second do not share one."""
    for n in range(1, 1000):
        directory = out / (name if n == 1 else f"{name}-{n}")
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise StoreError(f"{directory}: cannot be made: {error.strerror}; choose another --output-dir") from None
        return directory
    raise StoreError(f"{out}: a thousand runs are called {name}; choose another --output-dir")


def _intent(source: ItemSource, settings: Settings, directory: Path, records: Sequence[Record]) -> dict[str, JSON]:
    code = code_version()
    return dict.fromkeys(PROTOCOL["manifest"]) | {
        **settings.stated(),
        "run_id": directory.name,
        "prompt_version": PROMPT_VERSION,
        "prompt_hash": prompt_hash(make_task(TASK, settings.task_options())),
        "dataset_global_sha256": source.global_sha256 or "unavailable",
        "canonical_selector": source.selector,
        "total_items_evaluated": 0,
        "python_version": code["python"],
        "status": "running",
        "total_items_planned": len(records),
        "dataset": {
            "name": source.name,
            "path": source.path,
            "sha256": source.sha256,
            "items": len(source.records),
            "note": source.note,
            **({"set": source.of} if source.of else {}),
        },
        "items": {
            "sha256": digest_file(directory / ITEMS),
            "ids_hash": ids_hash(text_of(record, "id") for record in records),
            "order": ORDER,
        },
        "settings": settings.as_json(),
        "code": code,
    }


def settings_of(directory: Path) -> Settings:
    """The settings of a run of ours. A run of the reference has none and cannot be resumed."""
    body = read_json(directory / RUN_MANIFEST)
    if "settings" not in body or not (directory / ITEMS).is_file():
        raise StoreError(f"{directory}: not a run of this program, so it cannot be resumed; 'perpend import' reads it")
    return settings_from(object_of(body, "settings", str(directory / RUN_MANIFEST)), str(directory))


def ask(directory: Path, settings: Settings, *, quiet: bool = False) -> Outcome:
    """Ask what has no answer yet, and write the run folder's files. Answers stay if it stops; asking again resumes."""
    stored = object_of(read_json(directory / RUN_MANIFEST), "items", str(directory))
    if digest_file(directory / ITEMS) != stored.get("sha256"):
        raise DataError(f"{directory / ITEMS}: is not the file that the run began with; put it back to resume")
    spec = settings.spec(directory)
    if spec.run_name() != directory.name:
        raise SpecError(f"{directory}: a run folder keeps its name; rename it to {spec.run_name()!r}")
    task = make_task(TASK, settings.task_options())
    model = make_model(spec.models[0].name, spec.models[0].options, spec.items)
    begun = time.monotonic()
    outcome = evaluate_task(spec, task, [model], directory.parent, quiet=quiet)
    finish(directory, outcome, time.monotonic() - begun)
    return outcome


def write_json(path: Path, body: Mapping[str, JSON]) -> None:
    """An object in the order of its keys, two spaces deep: run manifests are read by people, top to bottom."""
    write_atomic(path, json.dumps(body, indent=2, allow_nan=False) + "\n")


def run_predictions(run: Run, parser: str) -> list[Prediction]:
    """One prediction for every item that was asked, in the order of the run."""
    return [one for _, one in predictions_of(run.table, list(run.table.replies()), parser)]


def finish(directory: Path, outcome: Outcome | None = None, seconds: float = 0.0) -> None:
    """Score a run's replies, and write its metrics.json, report, tables, predictions, manifest and summary.

    Without an outcome nothing was asked: how the run ended, and when, stays as the manifest has it.
    """
    run, manifest = Run(directory), read_json(directory / RUN_MANIFEST)
    run.score()
    body = seed_names(derive([run], directory, figures=False).numbers)
    predictions = run_predictions(run, parser_stated(manifest))
    write_atomic(directory / "predictions.jsonl", as_lines(predictions, cut_stated(manifest)))
    manifest |= {
        "total_items_evaluated": len(predictions),
        "metrics_summary": {name: body[name] for name in SUMMARY},
        "tokens": tokens(run.table.replies()),
    }
    if outcome is not None:
        before = manifest.get("wall_seconds")
        manifest |= {
            "created_utc": datetime.now(UTC).isoformat(),
            "status": "completed" if outcome.stopped is None else f"stopped: {outcome.stopped}",
            "wall_seconds": seconds + (before if isinstance(before, int | float) else 0.0),
            "usd": outcome.usd,
            "usd_note": outcome.usd_note,
        }
    write_json(directory / RUN_MANIFEST, manifest)
    write_atomic(directory / SUMMARY_PAGE, summary_page(manifest, body))


def tokens(replies: Iterable[Reply]) -> dict[str, JSON]:
    """The tokens of the replies on record, both turns; attempts that failed are not counted."""
    usages = [turn.usage for _, *turns in replies for turn in turns if turn is not None and turn.usage is not None]
    return {"input": sum(usage.input or 0 for usage in usages), "output": sum(usage.output or 0 for usage in usages)}


def summary_page(manifest: Mapping[str, JSON], metrics: Mapping[str, JSON]) -> str:
    """summary.md: the numbers of a run with intervals, from metrics.json by the protocol's names; NA is undefined."""
    return render(
        __package__,
        "summary.md",
        manifest=manifest,
        dataset=as_object(manifest.get("dataset")),
        parser=parser_stated(manifest),
        metrics=metrics,
        strata=_strata(metrics),
        families=sorted(as_object(metrics.get("per_family")).items()),
    )


def _strata(metrics: Mapping[str, JSON]) -> list[tuple[str, JSON]]:
    return sorted(as_object(metrics.get("per_stratum")).items(), key=lambda part: in_order(part[0]))


def index(out: Path, derived: Mapping[str, tuple[Mapping[str, JSON], Mapping[str, JSON]]] | None = None) -> str:
    """The table of everything published in a folder; `derived` has manifest and numbers of some, by their folders."""
    known = dict(derived or {})
    for one in sorted(path.parent for path in out.glob(f"*/{RUN_MANIFEST}")):
        if one.name not in known:
            known[one.name] = read_json(one / RUN_MANIFEST), read_json(one / METRICS)
    return render(
        __package__, "index.md", runs=[(name, *body, _strata(body[1])) for name, body in sorted(known.items())]
    )
