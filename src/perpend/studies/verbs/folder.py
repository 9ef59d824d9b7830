"""The folder of one checkpoint: results.json, two tables, three figures, REPORT.md, and the predictions themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perpend.canon import JSON, dumps, object_of, portable_name, pretty, read_object, text_of, whole_of, write_atomic
from perpend.errors import DataError
from perpend.inert import markdown
from perpend.measure.study import Metric, Numbers
from perpend.report.style import save
from perpend.report.tables import as_csv
from perpend.studies.verbs.figures import figures_of
from perpend.studies.verbs.metrics import N_BINS, as_metrics, checkpoint_numbers
from perpend.studies.verbs.perplexity import Sentence, load_sentences, perplexities
from perpend.studies.verbs.predictions import Choice, load_predictions, predictions_digest
from perpend.studies.verbs.report import FACTS, Provenance, facts, page_of, parts_of, tables_of
from perpend.studies.verbs.results import results_body

_OPTIONAL = (
    "held_out.jsonl", "reliability.png", "reliability.pdf", "adversarial_by_category.png",
    "adversarial_by_category.pdf", "per_slice.png", "per_slice.pdf",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CheckpointFolder:
    """What is known of one checkpoint: its choices, the likelihood of held-out sentences, and every number of them."""

    name: str
    choices: tuple[Choice, ...]
    numbers: Numbers
    provenance: Provenance = field(default_factory=dict)
    sentences: tuple[Sentence, ...] = ()
    n_bins: int = N_BINS

    def as_json(self) -> dict[str, JSON]:
        """results.json."""
        known = {name: self.provenance.get(name) for name in FACTS}
        known["predictions_sha256"] = predictions_digest(self.choices)
        return {"format": 1, "checkpoint": self.name, "provenance": known, **results_body(self.numbers)}


def checkpoint_of(
    choices: Sequence[Choice],
    *,
    name: str,
    provenance: Provenance | None = None,
    sentences: Sequence[Sentence] = (),
    n_bins: int = N_BINS,
) -> CheckpointFolder:
    """Every number of one checkpoint from its choices, and perplexity from the sentences of a held-out text."""
    if not name.strip():
        raise DataError("name: is blank; a checkpoint needs a name, for example 'step-2000'")
    twice = [one for one, times in Counter(choice.id for choice in choices).items() if times > 1]
    if twice:
        raise DataError(f"predictions: id {twice[0]!r} occurs twice; ids are unique")
    metrics = (*as_metrics(checkpoint_numbers(choices, n_bins), choices), *perplexity_metrics(sentences))
    return CheckpointFolder(name, tuple(choices), Numbers(metrics), provenance or {}, tuple(sentences), n_bins)


def perplexity_metrics(sentences: Sequence[Sentence]) -> list[Metric]:
    """Perplexity overall and by language. It comes from no ledger, so no run's metrics.json has it."""
    return [Metric("perplexity", "", {"language": name}, one) for name, one in perplexities(sentences).items()]


def write_checkpoint(checkpoint: CheckpointFolder, out: Path) -> Path:
    """Write every artefact into `out` / the checkpoint's name and return that folder.

    What was there under the same names is replaced: the same predictions give the same files.
    """
    folder, numbers = out / portable_name(checkpoint.name), checkpoint.numbers
    for name in _OPTIONAL:  # what an earlier report had and this one has not would be read as this one's
        (folder / name).unlink(missing_ok=True)
    write_atomic(folder / "predictions.jsonl", _lines([one.as_json() for one in checkpoint.choices]))
    if checkpoint.sentences:
        write_atomic(folder / "held_out.jsonl", _lines([one.as_json() for one in checkpoint.sentences]))
    write_atomic(folder / "results.json", pretty(checkpoint.as_json()))
    for table in tables_of(numbers):
        write_atomic(folder / f"{table.name}.csv", as_csv(table.columns, table.rows))
    pictures = {}
    for figure in figures_of(numbers, checkpoint.name):
        save(figure.draw(), folder / figure.name)
        pictures[figure.name] = f"{figure.name}.png"
    title = f"# Checkpoint {markdown(checkpoint.name)}"
    page = [title, facts(checkpoint.provenance), page_of(parts_of(numbers, pictures))]
    write_atomic(folder / "REPORT.md", "\n\n".join(page) + "\n")
    return folder


def _lines(rows: Sequence[JSON]) -> str:
    return "".join(dumps(row) + "\n" for row in rows)


def load_checkpoint(folder: Path) -> CheckpointFolder:
    """The checkpoint of a folder that `write_checkpoint` wrote, its numbers computed again from its predictions."""
    path, held_out = folder / "results.json", folder / "held_out.jsonl"
    if not path.exists():
        raise DataError(f"{folder}: holds no results.json; give a folder that a checkpoint report wrote")
    body = read_object(path)
    provenance = object_of(body, "provenance", str(path))
    name, n_bins = text_of(body, "checkpoint", str(path)), whole_of(body, "n_bins", str(path))
    return checkpoint_of(
        load_predictions(folder / "predictions.jsonl"),
        name=name,
        provenance=provenance,
        sentences=load_sentences(held_out) if held_out.exists() else (),
        n_bins=n_bins,
    )
