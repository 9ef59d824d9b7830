"""Answers of a user of tools: what a question says is read, and what it asks is computed.

Questions of the logic stratum are answered by a truth table; those of the compute stratum, and what words their facts
anew, by facts that the third program measured from the equations' text. No label and no frozen fact is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.chance import text_name
from perpend.studies.logic.chaos.questions.relabel import relabel
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.solving import truth_table

STRATA_SOLVED = ("logic", "compute")


def answer(record: Mapping[str, JSON], again: Sources) -> bool | None:
    """TRUE or FALSE; `again` has the facts of the third program alone.

    None where the item is of another stratum, where its text is not understood, or where what it asks is not clear.
    """
    try:
        if record.get("stratum") == "logic":
            return truth_table.answer(str(record["question"]))
        if record.get("stratum") == "compute":
            return relabel(record, again)
    except DataError:
        return None
    return None


def instances_of(records: Iterable[Mapping[str, JSON]]) -> list[str]:
    """The ids of the instances that items are about, each once, in the order of the items."""
    named = (str(record["instance"]).split(" > ") for record in records if record.get("instance"))
    return list(dict.fromkeys(name for names in named for name in names))


def spread(records: Iterable[Mapping[str, JSON]], count: int | None) -> list[Mapping[str, JSON]]:
    """So many items, evenly over systems: the first of each, the second of each, and so on; all with None."""
    by_system: dict[str, list[Mapping[str, JSON]]] = {}
    for record in sorted(records, key=lambda one: text_name(str(one["id"]))):
        by_system.setdefault(str(record["system_id"]), []).append(record)
    rounds = [(place, name, record) for name, own in by_system.items() for place, record in enumerate(own)]
    rounds.sort(key=lambda entry: entry[:2])
    return [record for _, _, record in rounds[:count]]
