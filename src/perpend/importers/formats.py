"""The formats of other harnesses that are known by their content; plain JSONL needs a field map (field_map)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from perpend.importers import (
    alpaca_eval,
    dialogues,
    every_eval_ever,
    helm,
    inspect_log,
    judged_csv,
    known_tables,
    lighteval,
    lm_eval_log,
    openai_evals,
)
from perpend.measure.study import Format


def _of_files(
    name: str,
    files: Callable[[Path], Sequence[Path]],
    read: Callable[[Path, Path], Path],
    *,
    each: bool = False,
) -> Format:
    """A format that is known by its files: those in a folder, or the one; `each` of them is a run of its own."""
    parts = [lambda folder: {path.stem: path for path in files(folder)}] if each else []
    return Format(name, lambda source: bool(files(source)), read, *parts)


FORMATS = (
    Format(lm_eval_log.FORMAT, lm_eval_log.is_samples, lm_eval_log.read, lm_eval_log.parts),
    Format(inspect_log.FORMAT, inspect_log.is_log, inspect_log.read, inspect_log.parts),
    _of_files(judged_csv.FORMAT, judged_csv.tables, judged_csv.read, each=True),
    _of_files(dialogues.FORMAT, dialogues.outputs, dialogues.read),
    _of_files(every_eval_ever.FORMAT, every_eval_ever.records, every_eval_ever.read, each=True),
    Format(helm.FORMAT, helm.is_run, helm.read),
    _of_files(alpaca_eval.FORMAT, alpaca_eval.files, alpaca_eval.read),
    _of_files(openai_evals.FORMAT, openai_evals.logs, openai_evals.read, each=True),
    _of_files(lighteval.FORMAT, lighteval.details, lighteval.read),
    _of_files(known_tables.FORMAT, known_tables.tables, known_tables.read, each=True),
)
