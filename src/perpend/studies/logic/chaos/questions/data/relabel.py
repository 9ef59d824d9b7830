"""The label of an item of the stratum 'data', from its text alone and by other code than that which made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.data.reread_agreement import relabel_agreement
from perpend.studies.logic.chaos.questions.data.reread_bifurcation import relabel_bifurcation
from perpend.studies.logic.chaos.questions.data.reread_orbit import relabel_orbit
from perpend.studies.logic.chaos.questions.data.reread_series import relabel_series
from perpend.studies.logic.chaos.questions.data.reread_spectrum import relabel_spectrum
from perpend.studies.logic.chaos.questions.data.reread_table import relabel_table
from perpend.studies.logic.chaos.questions.world import Sources

READERS: Mapping[str, Callable[[str], bool]] = {
    "agreement": relabel_agreement,
    "bifurcation": relabel_bifurcation,
    "orbit": relabel_orbit,
    "series": relabel_series,
    "spectrum": relabel_spectrum,
    "table": relabel_table,
}


def relabel(record: Mapping[str, JSON], world: Sources) -> bool:
    """Whether the answer is yes. Only the kind and the question are read; a DataError where that fails."""
    del world
    reader = READERS.get(str(record.get("kind")))
    if reader is None:
        raise DataError(f"no kind of the stratum 'data': {record.get('kind')}")
    return reader(str(record["question"]))
