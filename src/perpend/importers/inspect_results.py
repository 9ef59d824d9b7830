"""The numbers that a log of inspect_ai states of its own scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from perpend.canon import JSON, as_list, as_object
from perpend.importers import harness
from perpend.measure.stated import SourceNumber

_STATISTICS = {"accuracy": "mean", "mean": "mean", "stderr": "standard_error", "std": "standard_deviation"}


def stated_results(source: Path, header: Mapping[str, JSON]) -> Iterator[SourceNumber]:
    """The metrics that the log itself states. Over several epochs only means are computed again."""
    body = as_object(header.get("results"))
    epochs = harness.finite(as_object(as_object(header.get("eval")).get("config")).get("epochs")) or 1
    total = body.get("total_samples")
    if isinstance(total, int) and not isinstance(total, bool):
        yield SourceNumber("samples", total, source.name, "results.total_samples", statistic="trials")
    for number, score in enumerate(as_list(body.get("scores"))):
        name = str(as_object(score).get("name"))
        for metric, stated in as_object(as_object(score).get("metrics")).items():
            value = harness.finite(stated.get("value") if isinstance(stated, Mapping) else stated)
            if value is None:
                continue
            what, place = f"{metric} of {name}", f"results.scores[{number}].metrics.{metric}.value"
            statistic = _STATISTICS.get(metric.rpartition("/")[2])
            if statistic is None or (statistic != "mean" and epochs > 1):
                why = "it is no mean of the scores" if statistic is None else "it is of the means of the epochs"
                yield SourceNumber(what, value, source.name, place, unchecked=why)
            else:
                yield SourceNumber(what, value, source.name, place, harness.column(name), statistic)
