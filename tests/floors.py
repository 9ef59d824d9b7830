"""The floors of the house and the import graph of the package, read from the source."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import perpend

SOURCE = Path(perpend.__file__).parent
FLOORS = (
    "inert errors opening disk canon toml types",
    "judging stats rows",
    "spec ledger",
    "models ask",
    "measure sweep",
    "report",
    "proof importers engines",
    "studies inside view",
    "_convert _compare _make _view _claims _audit api demo cli pytest __init__ __main__",
)
"""From the ground up. Rooms of one floor do not import each other; ground floor and roof are single files, each of
which imports only those to its left."""
_ORDERED = (0, len(FLOORS) - 1)
RANK = {
    room: floor + (place / 100 if floor in _ORDERED else 0.0)
    for floor, line in enumerate(FLOORS)
    for place, room in enumerate(line.split())
}
MODULES = sorted(SOURCE.rglob("*.py"))


def unit(path: Path) -> str:
    """The room, or the file of the ground floor or the roof, that a module belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def module_name(path: Path) -> str:
    """The dotted name of a module without 'perpend.'; '__init__' is the package itself."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


@cache
def _known() -> frozenset[str]:
    return frozenset(module_name(path) for path in MODULES)


@cache
def edges(path: Path) -> frozenset[str]:
    """The modules of perpend that a module imports, anywhere in it."""
    targets: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "perpend":
            base = node.module.partition(".")[2]
            for alias in node.names:
                full = f"{base}.{alias.name}".lstrip(".")
                targets.add(full if full in _known() else base or "__init__")
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names if alias.name.split(".")[0] == "perpend")
            targets.update(name.partition(".")[2] or "__init__" for name in names)
    return frozenset(targets)
