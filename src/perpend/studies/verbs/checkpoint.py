"""One checkpoint: ask it the verb probes, score its candidates, report. Or report on anybody's predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from perpend.ask.runner import evaluate
from perpend.ask.task import make_model
from perpend.canon import JSON, as_object, digest, digest_file
from perpend.errors import DataError
from perpend.ledger.items import read_items
from perpend.measure.run import Run
from perpend.measure.study import Numbers
from perpend.models.hf import Transformers
from perpend.models.ngram import Provider
from perpend.report.compare_forest import write_forest
from perpend.report.derive import derive
from perpend.rows.json_stream import first_object
from perpend.spec.runspec import ModelSpec, RunSpec, written_name
from perpend.studies.verbs.compare import compare
from perpend.studies.verbs.compare_page import contrasts, write_compare
from perpend.studies.verbs.domains import check_probe, declared, known_tricks
from perpend.studies.verbs.folder import (
    CheckpointFolder,
    checkpoint_of,
    load_checkpoint,
    perplexity_metrics,
)
from perpend.studies.verbs.metrics import N_BINS
from perpend.studies.verbs.perplexity import Sentence, load_sentences
from perpend.studies.verbs.predictions import from_table, judgements_of, load_predictions
from perpend.studies.verbs.probes import ADVERSARIAL, CORE, check_leaks, load_heldout
from perpend.studies.verbs.report import Provenance, provenance_of
from perpend.types import Item


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What is said of a checkpoint beside its predictions. `facts` go by the names of FACTS, and win over known ones.

    `probes` are files of own probes in place of the package's; `fields` maps columns of the predictions or, for a
    model, of the probes; `declare` names values of one's own (see `declared`).
    """

    name: str | None = None
    raw: bool = False
    corpus: Path | None = None
    probes: tuple[Path, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    declare: str = ""
    facts: Provenance = field(default_factory=dict)
    held_out: Path | None = None
    n_bins: int = N_BINS


def report_model(name: str, out: Path, options: ReportOptions) -> CheckpointFolder:
    """Ask a model the verb probes or own ones (its run is in `out`/runs and resumes) and write its report folder.

    With `corpus`, what the model was trained on, a probe whose sentence is in it is an error.
    """
    own = options.probes
    if options.corpus is not None:
        fields = options.fields if own else {}
        check_leaks((p for path in own or (CORE, ADVERSARIAL) for p in read_items(path, fields)), options.corpus)
    model_options = probe_options(name)
    spec = ModelSpec(name, options.name or written_name(name).rpartition("/")[2], model_options)
    question = RunSpec(
        "verbs",
        (spec,),
        items=own,
        fields=options.fields,
        options={"declare": options.declare} if options.declare else {},
        name=None if own or options.declare else f"verbs-{spec.label}",
    )
    run = Run(evaluate(question, out / "runs").directory)
    run.score()
    numbers = derive([run], run.directory, figures=False).numbers
    # The held-out text is of the package's probes; of others it says nothing.
    sentences = () if own else heldout_sentences(make_model(name, model_options))
    checkpoint = checkpoint_in(run, numbers, spec.label, raw=options.raw, sentences=sentences)
    if options.n_bins != checkpoint.n_bins:
        checkpoint = checkpoint_of(
            checkpoint.choices,
            name=checkpoint.name,
            provenance=checkpoint.provenance,
            sentences=sentences,
            n_bins=options.n_bins,
        )
    return replace(checkpoint, provenance={**checkpoint.provenance, **options.facts})


def hashed(value: str | int) -> str | int:
    """A fact as a report states it: of a file its SHA-256, because a path means nothing elsewhere."""
    return digest_file(Path(value)) if isinstance(value, str) and value and Path(value).is_file() else value


def checkpoint_in(
    run: Run, numbers: Numbers, label: str, *, raw: bool = False, sentences: tuple[Sentence, ...] = ()
) -> CheckpointFolder:
    """One model of a derived run as a checkpoint: its numbers are those of metrics.json."""
    table = run.table
    choices = from_table(table, table.mask({"model": label}), judgements_of(table), raw=raw)
    own = numbers.part(table.full_name("choice_raw" if raw else "choice"), model=label)
    with_perplexity = Numbers((*own.metrics, *perplexity_metrics(sentences)), own.manifests)
    return CheckpointFolder(label, choices, with_perplexity, provenance_of(run.manifest, label, raw=raw), sentences)


def probe_options(name: str) -> dict[str, JSON]:
    """The options with which a model reads a probe as a text with a blank, and not as somebody's message."""
    return {"endpoint": "completions"} if name.partition("/")[0] in ("hf", "local") else {}


def report_predictions(path: Path, options: ReportOptions) -> CheckpointFolder:
    """The checkpoint of a file of predictions that any tool wrote; nothing is asked.

    What a results.json states of the checkpoint beside its predictions is taken from it.
    """
    own = declared(options.declare)
    probes: dict[str, Item] = {}
    for source in options.probes:
        for where, item in read_items(source):
            check_probe(item, where, own)
            if item.id in probes:
                raise DataError(f"{where}: id {item.id!r} is used twice; ids must be unique")
            probes[item.id] = item
    choices = load_predictions(
        path, fields=options.fields, probes=probes if options.probes else None, tricks=known_tricks(own)
    )
    name, stated = _stated(path)
    if options.probes:
        stated = {**stated, "probes_sha256": digest([probes[key].as_json() for key in sorted(probes)])}
    return checkpoint_of(
        choices,
        name=options.name or name or path.stem,
        provenance={**stated, **options.facts},
        sentences=() if options.held_out is None else load_sentences(options.held_out),
        n_bins=options.n_bins,
    )


_LARGEST = 1 << 26
_NAMES = ("checkpoint", "checkpoint_name", "name")
_STATED = {
    "checkpoint_sha256": ("checkpoint_sha256", "checkpoint_hash", "hash", "sha256"),
    "training_step": ("training_step", "step"),
    "parent_manifest": ("parent_manifest", "parent"),
    "probes_sha256": ("probes_sha256", "probe_set_hash", "probes_hash"),
    "date": ("date", "created", "timestamp"),
    "seed": ("seed",),
    "scoring": ("scoring",),
}
"""What a results.json may call each fact, at its top or in its `provenance`."""


def _stated(path: Path) -> tuple[str | None, dict[str, JSON]]:
    """The name and the facts that a results.json states; none for any other file."""
    body = (first_object(path, whole=_LARGEST) or {}) if path.suffix.lower() == ".json" else {}
    known = {**body, **as_object(body.get("provenance"))}
    facts: dict[str, JSON] = {}
    for fact, names in _STATED.items():
        for name in names:
            if fact not in facts and isinstance(known.get(name), str | int | float):
                facts[fact] = known[name]
    label = next((known[name] for name in _NAMES if isinstance(known.get(name), str)), None)
    return None if label is None else str(label), facts


def compared_checkpoints(
    first: Path, second: Path, out: Path | None = None, *, figures: bool = True
) -> tuple[Numbers, tuple[str, str]]:
    """Compare two report folders on the probes that both scored: the numbers, and the names of both.

    With `out`, write COMPARE.md, COMPARE.json and, unless `figures` is False, the forest of the differences.
    """
    sides = load_checkpoint(first), load_checkpoint(second)
    names = sides[0].name, sides[1].name
    numbers = compare(*sides)
    if out is not None:
        write_compare(numbers, names, out)
        if figures:
            write_forest(contrasts(numbers), f"{names[0]} → {names[1]}", out)
    return numbers, names


def heldout_sentences(model: object) -> tuple[Sentence, ...]:
    """The held-out text, sentence by sentence, where the model can say how likely a text is; otherwise nothing."""
    texts = list(load_heldout())
    if isinstance(model, Provider):
        scores = [[value for value in model.ngram.score(text) if value is not None] for _, text in texts]
    elif isinstance(model, Transformers):
        scores = model.text_logprobs([text for _, text in texts])
    else:
        return ()
    return tuple(
        Sentence(f"{language}-{number}", language, sum(own), len(own))
        for number, ((language, _), own) in enumerate(zip(texts, scores, strict=True), 1)
        if own
    )
