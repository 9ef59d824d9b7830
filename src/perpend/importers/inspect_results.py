"""The numbers that a log of inspect_ai states of its own scores."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from perpend.canon import JSON, as_list, as_object, portable_name
from perpend.importers import harness
from perpend.measure.stated import SourceNumber

_STATISTICS = {"accuracy": "mean", "mean": "mean", "stderr": "standard_error", "std": "standard_deviation"}


def stated_results(source: Path, header: Mapping[str, JSON], columns: Collection[str]) -> Iterator[SourceNumber]:
    """The metrics that the log itself states. Over several epochs only means are computed again.

    A score that has several values, which `columns` are, states the metrics of each under its own name.
    """
    body = as_object(header.get("results"))
    epochs = harness.finite(as_object(as_object(header.get("eval")).get("config")).get("epochs")) or 1
    total = body.get("total_samples")
    if isinstance(total, int) and not isinstance(total, bool):
        yield SourceNumber("samples", total, source.name, "results.total_samples", statistic="trials")
    for number, score in enumerate(as_list(body.get("scores"))):
        name, scorer = (str(as_object(score).get(key)) for key in ("name", "scorer"))
        parted = f"{harness.column(scorer)}_{portable_name(name)}"
        column = harness.column(name) if harness.column(name) in columns or parted not in columns else parted
        for metric, stated in as_object(as_object(score).get("metrics")).items():
            value = harness.finite(stated.get("value") if isinstance(stated, Mapping) else stated)
            if value is None:
                continue
            what, place = f"{metric} of {name}", f"results.scores[{number}].metrics.{metric}.value"
            statistic = _STATISTICS.get(metric.rpartition("/")[2])
            why = "it is no mean of the scores" if statistic is None else ""
            if statistic not in (None, "mean"):
                why = "it is of the means of the epochs" if epochs > 1 else _clustered(stated)
            if statistic is None or why:
                yield SourceNumber(what, value, source.name, place, unchecked=why)
            else:
                yield SourceNumber(what, value, source.name, place, column, statistic)


def _clustered(stated: JSON) -> str:
    """Why a standard error that is clustered cannot be computed again from single scores; '' of another."""
    body = as_object(stated)
    options = {**as_object(body.get("options")), **as_object(body.get("params"))}
    return "it is clustered by metadata of the samples" if options.get("cluster") else ""
