"""One checkpoint: ask it the verb probes, score its candidates, report. Or report on anybody's predictions."""

from __future__ import annotations

from pathlib import Path

from perpend.ask.runner import evaluate
from perpend.ask.task import make_model
from perpend.canon import JSON
from perpend.measure.run import Run
from perpend.measure.study import Numbers
from perpend.models.hf import Transformers
from perpend.models.ngram import Provider
from perpend.report.compare_forest import write_forest
from perpend.report.derive import derive
from perpend.spec.runspec import ModelSpec, RunSpec, written_name
from perpend.studies.verbs.compare import compare
from perpend.studies.verbs.compare_page import difference_rows, write_compare
from perpend.studies.verbs.folder import (
    CheckpointFolder,
    checkpoint_of,
    load_checkpoint,
    perplexity_metrics,
    write_checkpoint,
)
from perpend.studies.verbs.perplexity import Sentence
from perpend.studies.verbs.predictions import from_table, judgements_of, load_predictions
from perpend.studies.verbs.probes import ADVERSARIAL, CORE, check_leaks, load_heldout, load_probes
from perpend.studies.verbs.report import provenance_of


def report_model(
    name: str, out: Path, *, label: str | None = None, raw: bool = False, corpus: Path | None = None
) -> Path:
    """Ask a model the verb probes (its run is in `out`/runs and resumes) and write its report folder.

    `raw` scores candidates by their summed log-likelihood and not per token. With `corpus`, what the model was trained
    on, a probe whose sentence is in it is an error.
    """
    if corpus is not None:
        check_leaks((*load_probes(CORE), *load_probes(ADVERSARIAL)), corpus)
    options = probe_options(name)
    spec = ModelSpec(name, label or written_name(name).rpartition("/")[2], options)
    run = Run(evaluate(RunSpec("verbs", (spec,), name=f"verbs-{spec.label}"), out / "runs").directory)
    run.score()
    numbers = derive([run], run.directory, figures=False).numbers
    sentences = heldout_sentences(make_model(name, options))
    return write_checkpoint(checkpoint_in(run, numbers, spec.label, raw=raw, sentences=sentences), out)


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


def report_predictions(path: Path, out: Path, *, name: str | None = None) -> Path:
    """Write the report folder of a predictions file that any tool wrote; nothing is asked."""
    return write_checkpoint(checkpoint_of(load_predictions(path), name=name or path.stem), out)


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
            write_forest(difference_rows(numbers), f"{names[0]} → {names[1]}", out)
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
