"""From a run and a rubric to what a judge run asks: the task's options, and the item file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perpend.ask.rubric import Rubric
from perpend.canon import JSON, dumps, portable_name, write_atomic
from perpend.disk import temporary_folder
from perpend.measure.judging import Selection, judge_items
from perpend.measure.run import Run


@contextmanager
def prepared(
    run: Run, rubric: Rubric, selection: Selection, *, both_orders: bool = False, likelihoods: bool = False
) -> Iterator[tuple[dict[str, JSON], Path]]:
    """The options of the task `judge`, and for the time of the block its item file; the ledger keeps the items.

    The same run, rubric and selection give the same bytes, so a judge run that was interrupted is resumed.
    """
    items, available = judge_items(run, rubric, selection)
    options: dict[str, JSON] = {
        "rubric": rubric.as_json(),
        "both_orders": both_orders,
        "likelihoods": likelihoods,
        "judged": {"run": run.manifest.run, "of": available, **selection.as_json()},
    }
    with temporary_folder("judge") as folder:
        path = folder / f"{portable_name(run.manifest.run)}.jsonl"
        write_atomic(path, "".join(dumps(item.as_json()) + "\n" for item in items))
        yield options, path
