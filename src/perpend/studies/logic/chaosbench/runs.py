"""A run of the protocol: its folder as it is stored, ours or the reference's; its settings; asking and resuming it.

The folder's own files (run_manifest.json, predictions.jsonl, metrics.json by the protocol's names, summary.md) are
renderings of the ledger below them. A row of predictions states facts (question, true label, texts) and what was read
in them. Only the facts are believed: labels are read again from the texts, and what the row states is compared.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import get_type_hints

from perpend.ask.asking import Outcome as Asked
from perpend.ask.guarded import Guarded
from perpend.ask.runner import evaluate_task
from perpend.ask.starting import has_response, new_folders
from perpend.ask.task import Task, make_model, make_task
from perpend.canon import (
    JSON,
    as_object,
    clean_text,
    digest,
    digest_file,
    dumps,
    number_of,
    object_of,
    packed_lines,
    portable_name,
    read_object,
    write_atomic,
)
from perpend.errors import DataError, PerpendError, SpecError, StoreError, check_format, did_you_mean
from perpend.importers.intake import ImportRecord, Intake
from perpend.ledger.manifest import code_version
from perpend.ledger.plan import Dataset, sampling_of
from perpend.measure.run import Run
from perpend.measure.study import FORMAT, METRICS
from perpend.measure.table import Reply
from perpend.report.derive import derive
from perpend.report.pages import render
from perpend.spec.resolve import names
from perpend.spec.runspec import Limits, ModelSpec, RunSpec, written_name
from perpend.studies.logic.chaosbench import sets
from perpend.studies.logic.chaosbench.sets import PROTOCOL, Record, ids_hash, text_of, to_item
from perpend.studies.logic.design import PARSERS
from perpend.studies.logic.metrics import (
    NO_SPLIT,
    OUTCOMES,
    SUMMARY,
    Prediction,
    Reader,
    in_order,
    prediction,
    predictions_of,
    reader,
    seed_names,
)
from perpend.types import Item, Response, Sampling, Score, Usage

RUN_MANIFEST, SUMMARY_PAGE, RECEIPT = "run_manifest.json", "summary.md", "publish_receipt.json"
NAMES = ("predictions.jsonl", "predictions.jsonl.gz", "predictions_subset.jsonl.gz")
"""What the file of predictions may be called; published runs have the second, the reference's packed ones the third."""
FILES = frozenset((RUN_MANIFEST, METRICS, SUMMARY_PAGE, NAMES[1], RECEIPT))
"""All that a published run holds."""
SOURCE_METRICS = "source_metrics.json"
"""The metrics.json of the folder that a run was imported from; metrics.json itself is derived anew."""
STORED, CONDITION = "stored_label", "question"
STATED = ("parsed_label", "outcome", "correct", "retry_outcome")
"""What a row of the reference states of its own reading."""
_TEXTS = ("pred_text", "retry_pred_text", "first_pred_text")
# The reference's defaults; it records neither, nor does it send a seed.
_SAMPLING = Sampling(temperature=0.0, max_tokens=16, seed=None)
TASK = "logic"
ITEMS = "items.jsonl"
"""The items of a run, in the order in which they are asked, inside its folder."""
PROMPT_VERSION = "perpend-1"
RULES = {"careful": "label@2", "strict": "label@1", "lenient": "label_lenient@1"}
SERVERS: Mapping[str, Sequence[str]] = PROTOCOL["servers"]
FROM_FILES = frozenset(("callable", "replay"))
"""Providers whose model is a file of this machine."""
BATCHED = frozenset(("hf", "mock", "ngram"))
"""Providers that have no workers: one process answers many requests at a time."""
# OpenAI's reasoning models refuse 'max_tokens' and name the limit otherwise.
_REASONING = re.compile(r"(?:o\d|gpt-5)")
_LEAST = {"max_items": 1, "workers": 1, "retries": 0, "max_tokens": 1, "truncate_pred_text": 1}
_BUDGET = ("max_usd", "truncate_pred_text", "phase", "dry_run_cost")
_AS_THEY_ARE = ("max_items", "seed", "retries", "workers", "shuffle_seed", "temperature", "max_tokens")
# What may change when a run is resumed: how fast and for how much, not what is asked.
RESUMABLE = frozenset(("workers", "base_url", "max_usd", "usd_per_million_input", "usd_per_million_output"))


def read_json(path: Path) -> dict[str, JSON]:
    """The object in a JSON file."""
    if not path.exists():
        raise StoreError(f"{path.parent}: not a run folder (there is no {path.name})")
    return read_object(path)


def is_ours(manifest: Mapping[str, JSON]) -> bool:
    """Whether this program wrote a run manifest; the reference names neither a parser nor settings."""
    return "parser" in manifest or "settings" in manifest


def check_version(folder: Path, manifest: Mapping[str, JSON], stored: Mapping[str, JSON]) -> None:
    """FormatError for a folder that another version of perpend wrote; the reference's metrics.json has no format."""
    if is_ours(manifest) and stored:
        check_format(stored.get("format"), FORMAT, folder / METRICS, as_object(manifest.get("code")).get("perpend"))


def parser_named(manifest: Mapping[str, JSON]) -> str:
    """The rule that read the replies: the one that a run manifest names, else the reference's."""
    return str(manifest.get("parser") or ("label@1" if manifest.get("strict_parsing", True) else "label_lenient@1"))


def parser_stated(manifest: Mapping[str, JSON]) -> str:
    """`parser_named`, where it is one of PARSERS; anything else is a DataError and never looked up."""
    parser = parser_named(manifest)
    if parser not in PARSERS:
        raise DataError(f"{RUN_MANIFEST}: unknown parser {parser!r}; {did_you_mean(parser, PARSERS)}")
    return parser


def cut_stated(manifest: Mapping[str, JSON]) -> int | None:
    """The number of characters that texts in the predictions were cut to, 1 or more; None where they are whole."""
    cut = object_of(manifest, "budget", RUN_MANIFEST).get("truncate_pred_text")
    if cut is not None and (not isinstance(cut, int) or isinstance(cut, bool) or cut < 1):
        raise DataError(f"{RUN_MANIFEST}: truncate_pred_text is 1 or more, or null, not {cut!r:.80}")
    return cut


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """One line of the file: its place, what it states, the replies that it holds and what they come to, and how the two
    differ.

    `shortened`: its texts may have been cut, so that its outcomes are those that it states.
    """

    place: str
    stated: Mapping[str, JSON]
    turns: tuple[Response | None, Response | None]
    prediction: Prediction
    differs: str = ""
    shortened: bool = False


def as_json(one: Prediction, cut: int | None = None) -> dict[str, JSON]:
    """A row; `cut` shortens the texts to that many characters."""
    confidence = 0.0 if one.label is None else 1.0 if "FINAL_ANSWER" in (one.text or "") else 0.9
    return {
        "id": one.id,
        "question": one.question,
        "ground_truth": one.truth,
        "pred_text": one.text and one.text[:cut],
        "parsed_label": one.label,
        "outcome": one.outcome,
        "correct": one.correct,
        "latency_s": one.latency_s,
        "task_family": one.family,
        "split": None if one.split == NO_SPLIT else one.split,
        "retry_pred_text": one.retry_text and one.retry_text[:cut],
        "retry_outcome": one.retry_outcome,
        "meta": {"parse_reason": one.reason, "parse_confidence": confidence},
        "first_outcome": one.first,
        "first_pred_text": one.first_text and one.first_text[:cut],
        "error": one.error,
        "finish": one.finish,
        "output_tokens": one.tokens,
        "tags": dict(one.tags),
    }


def as_lines(predictions: Iterable[Prediction], cut: int | None = None) -> str:
    """The whole file."""
    return "".join(json.dumps(as_json(one, cut)) + "\n" for one in predictions)


def predictions_path(folder: Path) -> Path | None:
    """The prediction file of a run folder; None where there is none."""
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


def read_rows(path: Path, manifest: Mapping[str, JSON]) -> list[PredictionRow]:
    """The rows of a prediction file, read by the rule that its manifest states."""
    ours, cut, read = is_ours(manifest), cut_stated(manifest), reader(parser_stated(manifest))
    return [_row(row, place, read, ours, cut) for place, row in packed_lines(path)]


def _row(row: Mapping[str, JSON], place: str, read: Reader, ours: bool, cut: int | None) -> PredictionRow:
    truth, tags = sets.label_of(row), object_of(row, "tags", place)
    texts = [None if row.get(key) is None else clean_text(text_of(row, key)) for key in _TEXTS]
    item = Item(text_of(row, "id"), text_of(row, "question"), truth, tags={key: text_of(tags, key) for key in tags})
    turns = _turns(row, place, texts, ours)
    one = prediction(item, *turns, read)
    if one is None or not item.id:
        raise DataError(f"{place}: a prediction needs an 'id' and a 'ground_truth' that is TRUE or FALSE")
    one = replace(one, latency_s=_count(row, "latency_s", place))
    if not ours:
        # The reference knows no error and nothing unfinished.
        states = {key: getattr(one, key) for key in ("outcome", "retry_outcome", "first")}
        plain = {key: "INVALID" for key, state in states.items() if state in ("UNFINISHED", "ERROR")}
        family, split = text_of(row, "task_family") or sets.NO_FAMILY, text_of(row, "split") or NO_SPLIT
        one = replace(one, family=family, split=split, **plain)  # type: ignore[arg-type]  # an outcome
    shortened = cut is not None and longest_text(texts) == cut
    if shortened:
        stated = [row.get(key) for key in ("outcome", "retry_outcome", "first_outcome")]
        if stated[0] is None or not {*stated} <= {*OUTCOMES, None}:
            raise DataError(f"{place}: 'outcome' is missing or unknown; one of {', '.join(OUTCOMES)}")
        reason = text_of(object_of(row, "meta", place), "parse_reason")
        one = replace(one, outcome=stated[0], retry_outcome=stated[1], first=stated[2] or one.first, reason=reason)  # type: ignore[arg-type]  # checked just above
    facts, differs = as_json(one), ""
    for key in sorted(({*facts, *row} if ours else {*STATED}) - ({"meta"} if shortened else set())):
        if key not in facts or row.get(key) != facts[key] or type(row.get(key)) is not type(facts[key]):
            differs = f"{key} is {row.get(key)!r:.80}, its texts give {facts.get(key)!r:.80}"
            break
    if cut is not None and longest_text(texts) > cut:
        differs = f"a text of {longest_text(texts)} characters, where texts were cut to {cut}"
    return PredictionRow(place, row, turns, one, differs, shortened)


def _turns(
    row: Mapping[str, JSON], place: str, texts: Sequence[str | None], ours: bool
) -> tuple[Response | None, Response | None]:
    """The replies to the first and to the second question. A text that a second one replaced is lost.

    The reference asks again after an invalid reply, and keeps that one only where the second is invalid, too.
    """
    text, retried, kept = texts
    ms, tokens = _count(row, "latency_s", place), _count(row, "output_tokens", place)
    error = None if text is not None else clean_text(text_of(row, "error")) or "the source holds no text"
    last = Response(
        text,
        error,
        finish=None if row.get("finish") is None else clean_text(text_of(row, "finish")),
        usage=None if tokens is None else Usage(output=int(tokens)),
        ms=None if ms is None else ms * 1000.0,
    )
    if ours:
        first = None if kept is None else Response(kept)
        return (last, None) if retried is None else (first, last)
    if retried is not None:
        return last, Response(retried)
    return (None, last) if row.get("retry_outcome") is not None else (last, None)


def longest_text(texts: Iterable[str | None]) -> int:
    """The number of characters of the longest of some texts."""
    return max((len(text) for text in texts if text is not None), default=0)


def _count(row: Mapping[str, JSON], key: str, place: str) -> float | None:
    """A number of 0 or more, or None where the key is absent or null."""
    value = number_of(row, key, place)
    if value is not None and not 0 <= value < 1 << 53:
        raise DataError(f"{place}: {key!r} must be 0 or more, not {value:g}")
    return value


def repeated(ids: Iterable[str]) -> list[str]:
    """The ids that occur more than once, in order."""
    return [name for name, count in Counter(ids).items() if count > 1]


def read_run_folder(source: Path, destination: Path) -> Path:
    """Import a run folder (run_manifest.json and predictions) as a run directory, and return it.

    The label that the folder had stored becomes the score `stored_label@import`; ours are derived from the texts by
    'perpend score'. A text that a second one replaced is lost in the source; then only the second turn is there.
    """
    path = predictions_path(source)
    if path is None:
        raise DataError(f"{source}: no predictions.jsonl; there is nothing to import")
    manifest = read_json(source / RUN_MANIFEST)
    check_version(source, manifest, read_json(source / METRICS) if (source / METRICS).is_file() else {})
    rows = read_rows(path, manifest)
    twice = repeated(row.prediction.id for row in rows)
    if twice or not rows:
        raise DataError(f"{path}: " + (f"id {twice[0]!r} occurs twice" if twice else "it is empty"))
    with Intake(destination, "logic", options={"parser": parser_stated(manifest)}) as intake:
        asked_with, provider = _SAMPLING, str(manifest.get("provider") or "unknown")
        if "temperature" in manifest and "max_tokens" in manifest:
            keys = ("temperature", "max_tokens", "seed")
            asked_with = sampling_of({key: manifest.get(key) for key in keys}, RUN_MANIFEST)
        else:
            intake.notes["temperature, max_tokens and seed are the reference's defaults; it records none"] = 1
        intake.conditions[CONDITION] = {"type": "imported", "prompt_hash": manifest.get("prompt_hash")}
        dataset = Dataset(path.name.split(".")[0], "1", path.name, digest_file(path))
        for row in rows:
            one = row.prediction
            tags = {**one.tags, "type": one.family, "split": one.split}
            facts: dict[str, JSON] = {"prompt": one.question, "target": one.truth, "tags": tags}
            for turn, response in enumerate(row.turns):
                if response is not None:
                    record = ImportRecord(row.place, one.id, facts, dataset, provider, asked_with, provider, CONDITION)
                    intake.add(replace(record, trial=one.id, turn=turn, response=response, labels=_stored(row)))
        # The folder's own files stay beside the ledger, so that they can be checked and analysed as in the source.
        (intake.folder / "run").mkdir()
        for name in (RUN_MANIFEST, path.name, METRICS, SUMMARY_PAGE):
            if (source / name).is_file():
                shutil.copyfile(source / name, intake.folder / "run" / (SOURCE_METRICS if name == METRICS else name))
        return intake.write({"kind": "chaosbench run", "run_id": manifest.get("run_id"), "run_manifest": manifest})


def _stored(row: PredictionRow) -> dict[str, Score]:
    """The label and the verdict that the source states, which nothing here believes."""
    correct = row.stated.get("correct")
    reason = str(object_of(row.stated, "meta", row.place).get("parse_reason") or "as the source stored it")
    value = float(correct) if isinstance(correct, bool) else None
    return {STORED: Score(value, sets.normalised(row.stated.get("parsed_label")) or "INVALID", reason)}


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
        if self.parsing not in RULES:
            raise SpecError(f"unknown parsing {self.parsing!r}; {did_you_mean(self.parsing, RULES)}")
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
            "budget": {key: getattr(self, key, None) for key in _BUDGET},
            "parser": RULES[self.parsing],
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
        return {"parser": RULES[self.parsing], "reprompt": self.retries > 0}

    def _model(self) -> ModelSpec:
        name = self.model or "true"
        server = SERVERS.get(self.provider)
        options: dict[str, JSON] = {}
        if self.provider not in FROM_FILES | BATCHED:
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
    free = RESUMABLE | ({"model"} if before.provider in FROM_FILES or is_same else set())
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
        : sets.SHORT
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
def new_run(source: sets.ItemSource, settings: Settings, out: Path) -> Iterator[Path]:
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


def _intent(source: sets.ItemSource, settings: Settings, directory: Path, records: Sequence[Record]) -> dict[str, JSON]:
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


def ask(directory: Path, settings: Settings, *, quiet: bool = False) -> Asked:
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


def finish(directory: Path, outcome: Asked | None = None, seconds: float = 0.0) -> None:
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
        strata=in_order(as_object(metrics.get("per_stratum"))),
        families=sorted(as_object(metrics.get("per_family")).items()),
    )


def index(out: Path, derived: Mapping[str, tuple[Mapping[str, JSON], Mapping[str, JSON]]] | None = None) -> str:
    """The table of everything published in a folder; `derived` has manifest and numbers of some, by their folders."""
    known = dict(derived or {})
    for one in sorted(path.parent for path in out.glob(f"*/{RUN_MANIFEST}")):
        if one.name not in known:
            known[one.name] = read_json(one / RUN_MANIFEST), read_json(one / METRICS)
    runs = [(name, *body, in_order(as_object(body[1].get("per_stratum")))) for name, body in sorted(known.items())]
    return render(__package__, "index.md", runs=runs)
