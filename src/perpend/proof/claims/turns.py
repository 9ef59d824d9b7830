"""Turns of dialogues: the key `turn` of conditions such as 'prompt0_turn_3', and how long a first verdict is kept."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from perpend.errors import SpecError
from perpend.measure.column import Column, Pair
from perpend.measure.keys import joined
from perpend.measure.table import Table
from perpend.types import Estimate

TURN, DIALOGUE = "turn", "dialogue"
_TURN = re.compile(r"(?:(?P<dialogue>.+)_)?turn_(?P<turn>\d{1,6})", re.DOTALL)
_DIALOGUE_AXES = ("run", "item", DIALOGUE, "model", "sampling", "repeat")


def with_turns(table: Table) -> Table:
    """The table with the keys `turn` and `dialogue` (the condition without its turn), where conditions name turns.

    '' is the turn of a condition without one. A table that has a tag of that name keeps it.
    """
    conditions = table.names["condition"]
    parts = [_TURN.fullmatch(name) for name in conditions]
    if not any(parts) or TURN in table.names or DIALOGUE in table.names:
        return table
    turns = ["" if part is None else str(int(part["turn"])) for part in parts]
    dialogues = [name if part is None else part["dialogue"] or "" for name, part in zip(conditions, parts, strict=True)]
    codes, names = dict(table.codes), dict(table.names)
    for key, values in ((TURN, turns), (DIALOGUE, dialogues)):
        known = tuple(dict.fromkeys(values))
        names[key] = known
        codes[key] = np.array([known.index(value) for value in values], dtype=np.int64)[table.codes["condition"]]
    return replace(table, codes=codes, names=names)


def pair_of_turns(column: Column, first: str, second: str) -> Pair:
    """The answers of each dialogue at two of its turns."""
    one, other = (column.mask & column.table.mask({TURN: turn}) for turn in (first, second))
    return Pair(column.name, (first, second), column, *column.table.partners(one, other, _DIALOGUE_AXES))


def of_dialogues(function: str, column: Column) -> Estimate:
    """turn_of_flip: how many turns a dialogue keeps the value 1 from its first turn on, on average.

    number_of_flips: how often its value changes from one turn to the next. Over dialogues with a value at every turn
    from 1 to their last; `also.incomplete` counts the others. Undefined where there is none. Clustered by item.
    """
    from perpend.stats.proportions import mean

    table = column.table
    if TURN not in table.names:
        raise SpecError(f"{function}() is of dialogues: no condition here names a turn, as 'turn_1' does")
    numbers = np.array([int(name) if name else 0 for name in table.names[TURN]], dtype=np.int64)[table.codes[TURN]]
    rows = np.flatnonzero(column.mask & (numbers > 0))
    keys = joined([table.codes[axis][rows] for axis in _DIALOGUE_AXES])
    order = np.lexsort((numbers[rows], keys))
    rows, keys = rows[order], keys[order]
    kept: list[float] = []
    items: list[int] = []
    incomplete = 0
    for dialogue in np.split(rows, np.flatnonzero(np.diff(keys)) + 1) if len(rows) else ():
        values = column.all_values[dialogue]
        if np.isnan(values).any() or not np.array_equal(numbers[dialogue], np.arange(1, len(dialogue) + 1)):
            incomplete += 1
            continue
        kept.append(_flip(values) if function == "turn_of_flip" else float(np.count_nonzero(np.diff(values))))
        items.append(int(table.codes["item"][dialogue[0]]))
    if not kept:
        return Estimate(None, 0, note="no dialogue has a value at every turn", also={"incomplete": incomplete})
    estimate = mean(kept, np.array(items, dtype=np.int64))
    return replace(estimate, also={**estimate.also, "incomplete": incomplete})


def _flip(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    others = np.flatnonzero(values != 1.0)
    return float(others[0] if len(others) else len(values))
