"""The floor plan as a picture: rooms as boxes on their floors, a line for every import from one room to another."""

from __future__ import annotations

import ast
from html import escape

from tests.floors import FLOORS, MODULES, SOURCE, edges, unit

_WIDTH, _HEIGHT, _ACROSS, _DOWN, _LEFT = 150, 40, 190, 92, 92


def rooms() -> list[list[str]]:
    """The rooms and files that exist, floor by floor from the ground."""
    there = {unit(path) for path in MODULES}
    return [[room for room in floor.split() if room in there] for floor in FLOORS]


def purpose(room: str) -> str:
    """The sentence in a room's `__init__`, or in the file that it is."""
    path = SOURCE / room / "__init__.py" if (SOURCE / room).is_dir() else SOURCE / f"{room}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def imports() -> dict[str, set[str]]:
    """For each room the rooms that it imports from."""
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        targets = {target.split(".")[0] for target in edges(path)} - {unit(path)}
        graph.setdefault(unit(path), set()).update(targets)
    return graph


def picture() -> str:
    """The plan as SVG; lines to the ground floor, which everything stands on, are left out."""
    floors = rooms()
    widest = max(map(len, floors))
    place = {
        room: (_LEFT + (widest - len(names)) * _ACROSS // 2 + column * _ACROSS, (len(floors) - 1 - floor) * _DOWN + 20)
        for floor, names in enumerate(floors)
        for column, room in enumerate(names)
    }
    width, height = _LEFT + _ACROSS * widest, _DOWN * len(floors) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-size="14">',
        f'<rect width="{width}" height="{height}" fill="#fdfcf9"/>',
    ]
    for floor in range(len(floors)):
        y = (len(floors) - 1 - floor) * _DOWN + 20
        lines.append(f'<text x="12" y="{y + 25}" fill="#5d5a54">floor {floor}</text>')
    for room, targets in sorted(imports().items()):
        for target in sorted(targets - set(floors[0])):
            (x1, y1), (x2, y2) = place[room], place[target]
            start, end = (x1 + _WIDTH // 2, y1 + _HEIGHT), (x2 + _WIDTH // 2, y2)
            if y1 == y2:  # ground floor and roof: files of one floor, from right to left
                start, end = (x1, y1 + _HEIGHT // 2), (x2 + _WIDTH, y2 + _HEIGHT // 2)
            lines.append(
                f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="#9a3412"'
                ' stroke-opacity="0.35"/>'
            )
    for room, (x, y) in place.items():
        lines.append(f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#fff" stroke="#1c1b19"/>')
        lines.append(
            f'<text x="{x + _WIDTH // 2}" y="{y + 25}" text-anchor="middle" fill="#1c1b19">{escape(room)}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def table() -> str:
    """The rooms with their purposes, from the roof to the ground, as Markdown."""
    lines = ["| floor | room | what it is for |", "|---:|---|---|"]
    for floor, names in reversed(list(enumerate(rooms()))):
        lines += [f"| {floor} | `{room}` | {purpose(room).replace('|', chr(92) + '|')} |" for room in names]
    return "\n".join(lines)
