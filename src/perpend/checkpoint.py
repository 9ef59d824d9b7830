"""One checkpoint: ask it the verb probes, score its candidates, report. Or report on anybody's predictions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from perpend.canon import JSON, digest_file
from perpend.compose import make_model
from perpend.datasets.verbs.probes import ADVERSARIAL, CORE, check_leaks, load_heldout, load_probes
from perpend.measure import Run
from perpend.models.hf import Transformers
from perpend.models.ngram import Provider
from perpend.reports.checkpoint import Provenance, evaluate
from perpend.reports.checkpoint_compare import compare
from perpend.reports.checkpoint_compare_report import write_compare
from perpend.reports.checkpoint_perplexity import Sentence
from perpend.reports.checkpoint_report import load_checkpoint, write_checkpoint
from perpend.reports.predictions import from_run, load_predictions
from perpend.run import evaluate as ask
from perpend.spec import ModelSpec, RunSpec, written_name


def report_model(
    name: str, out: Path, *, label: str | None = None, raw: bool = False, corpus: Path | None = None
) -> Path:
    """Ask a model the verb probes (the run stands under `out`/runs and resumes) and write its report folder.

    `raw` scores candidates by their summed log-likelihood and not per token. With `corpus`, what the model was trained
    on, a probe whose sentence stands in it is an error.
    """
    if corpus is not None:
        check_leaks((*load_probes(CORE), *load_probes(ADVERSARIAL)), corpus)
    options = probe_options(name)
    spec = ModelSpec(name, label or written_name(name).rpartition("/")[2], options)
    run = Run(ask(RunSpec("verbs", (spec,), name=f"verbs-{spec.label}"), out / "runs").directory)
    run.score()
    results = evaluate(
        from_run(run, raw=raw),
        name=spec.label,
        provenance=provenance(run, raw=raw),
        perplexity=heldout_sentences(make_model(name, options)),
    )
    return write_checkpoint(results, out)


def probe_options(name: str) -> dict[str, JSON]:
    """What a model must be told to read a probe as a text with a blank, and not as somebody's message."""
    return {"endpoint": "completions"} if name.partition("/")[0] in ("hf", "local") else {}


def report_predictions(path: Path, out: Path, *, name: str | None = None) -> Path:
    """Write the report folder of a predictions file that any tool wrote; nothing is asked."""
    return write_checkpoint(evaluate(load_predictions(path), name=name or path.stem), out)


def compare_checkpoints(first: Path, second: Path, out: Path) -> str:
    """Compare two report folders on the probes that both scored; write COMPARE.md and return its verdict."""
    found = compare(load_checkpoint(first), load_checkpoint(second))
    write_compare(found, out)
    return found.verdict


def provenance(run: Run, *, raw: bool = False) -> Provenance:
    """What the run's manifest says of the weights, the probes and the moment."""
    models, items = run.manifest.get("models"), run.manifest.get("items")
    first = models[0] if isinstance(models, list) and models else {}
    known = first.get("fingerprint") if isinstance(first, Mapping) else None
    told = known if isinstance(known, Mapping) else {}
    weights = [
        told[key]
        for key in ("checkpoint_sha256", "weights_sha256", "file_sha256", "digest", "params_sha256")
        if key in told
    ]
    step = told.get("step")
    return Provenance(
        checkpoint_sha256=str(weights[0]) if weights else None,
        training_step=int(step) if isinstance(step, str) and step.isdigit() else None,
        parent_manifest=digest_file(run.directory / "manifest.json"),
        probes_sha256=str(items.get("sha256")) if isinstance(items, Mapping) else None,
        date=str(run.manifest.get("created")),
        seed=42,
        scoring=f"log-likelihood of the candidate, {'summed' if raw else 'per token'}, given the text before the blank",
    )


def heldout_sentences(model: object) -> list[Sentence]:
    """The held-out text, sentence by sentence, where the model can say how likely a text is; otherwise nothing."""
    texts = list(load_heldout())
    if isinstance(model, Provider):
        scored = [[value for value in model.ngram.score(text) if value is not None] for _, text in texts]
    elif isinstance(model, Transformers):
        scored = model.text_logprobs([text for _, text in texts])
    else:
        return []
    found: list[Sentence] = []
    for number, ((language, _), scores) in enumerate(zip(texts, scored, strict=True), 1):
        if scores:
            found.append(Sentence(f"{language}-{number}", language, sum(scores), len(scores)))
    return found
