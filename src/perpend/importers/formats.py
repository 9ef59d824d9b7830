"""The formats of other harnesses that are known by their content; plain JSONL needs a field map (field_map)."""

from __future__ import annotations

from perpend.importers import dialogues, inspect_log, judged_csv, lm_eval_log
from perpend.measure.study import Format

FORMATS = (
    Format(lm_eval_log.FORMAT, lm_eval_log.is_samples, lm_eval_log.read, lm_eval_log.parts),
    Format(inspect_log.FORMAT, inspect_log.is_log, inspect_log.read, inspect_log.parts),
    Format(judged_csv.FORMAT, judged_csv.is_table, judged_csv.read),
    Format(dialogues.FORMAT, dialogues.is_dialogue, dialogues.read),
)
