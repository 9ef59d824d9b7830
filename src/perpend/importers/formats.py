"""The formats of other harnesses that are known by their content; plain JSONL needs a field map (field_map)."""

from __future__ import annotations

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

FORMATS = (
    Format(lm_eval_log.FORMAT, lm_eval_log.is_samples, lm_eval_log.read, lm_eval_log.parts),
    Format(inspect_log.FORMAT, inspect_log.is_log, inspect_log.read, inspect_log.parts),
    Format(judged_csv.FORMAT, judged_csv.is_table, judged_csv.read, judged_csv.parts),
    Format(dialogues.FORMAT, dialogues.is_dialogue, dialogues.read),
    Format(every_eval_ever.FORMAT, every_eval_ever.is_record, every_eval_ever.read, every_eval_ever.parts),
    Format(helm.FORMAT, helm.is_run, helm.read),
    Format(alpaca_eval.FORMAT, alpaca_eval.is_source, alpaca_eval.read),
    Format(openai_evals.FORMAT, openai_evals.is_log, openai_evals.read, openai_evals.parts),
    Format(lighteval.FORMAT, lighteval.is_details, lighteval.read),
    Format(known_tables.FORMAT, known_tables.is_table, known_tables.read, known_tables.parts),
)
