"""The core systems: words and numbers from core.toml, equations from maps.py, flows.py and extended.py."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path

from perpend.studies.logic.chaos.extended import EXTENDED
from perpend.studies.logic.chaos.flows import FLOWS
from perpend.studies.logic.chaos.maps import MAPS
from perpend.studies.logic.chaos.system import System

CORE_FILE = Path(__file__).parent / "core.toml"


def core_systems() -> Mapping[str, System]:
    """The core systems by their id, in the order of core.toml."""
    rates = {**MAPS, **FLOWS, **EXTENDED}
    systems = {}
    for system_id, table in tomllib.loads(CORE_FILE.read_text(encoding="utf-8")).items():
        forcing = table.get("forcing")
        systems[system_id] = System(
            system_id=system_id,
            name=table["name"],
            kind=table["kind"],
            variables=tuple(table["variables"]),
            parameters=table["parameters"],
            citation=table["citation"],
            equations=table["equations"],
            rate=rates[system_id],
            start=tuple(table["start"]),
            time_scale=table.get("time_scale", 1.0),
            forcing=None if forcing is None else (forcing[0], forcing[1]),
            lag=table.get("lag"),
            noise=table.get("noise"),
            angles=tuple(table.get("angles", ())),
            turn=table.get("turn", 2 * math.pi),
            size=table.get("size"),
            steps=table.get("steps", 60),
            reference_ids=tuple(table.get("reference_ids", ())),
        )
    return systems
