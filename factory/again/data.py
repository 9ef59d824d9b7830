"""Labels of *data* from the printed numbers: what a claim means is an expression of `data.toml` beside this file.

The expressions work on arrays of floating-point numbers, where the factory computes with decimals, and by other methods
where there is one; a claim that comes near a border is Unreadable.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from factory.again.asked import asked
from factory.again.claims import Holes, holds
from factory.quartet import Unreadable

_N = r"-?\d+(?:\.\d+)?"
_LIST = re.compile(rf"(?<![\w.^]){_N}(?:, {_N})+(?!\w|\.\d)")
_PAIR = re.compile(rf"({_N}) at [at] = ({_N})")
_ROW = re.compile(rf"at \w = ({_N}), (\w+) ({_N}) and (\w+) ({_N})")
_COLUMNS = re.compile(r"the (\w+) values [^a-z]+ and the (\w+) values [^a-z]+ at \w = ")
_WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_PLACES = ["first", "second", "third", "fourth", "fifth", "sixth"]
_PLACES += ["seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"]
_SIDES = {"above": True, "more": True, "larger": True, "below": False, "less": False, "smaller": False}
_HOLES: Holes = {
    "n": (_N, float),
    "w": ("|".join(_WORDS), _WORDS.index),
    "o": ("|".join(_PLACES), _PLACES.index),
    "x": ("MEGNO|K|the exponent|the entropy", str),
    "t": ("the [^ ]+ test", str),
    "f": ("A|B", str),
    "p": ("[A-Za-z]+", str),
    "s": ("|".join(_SIDES), str),
    "a": (".+", str),
}
_SLACK = 1e-9
_ATTRACTORS = {(2, 1): "hyperchaotic", (1, 1): "chaotic", (0, 2): "a torus", (0, 1): "a limit cycle"}


def label(text: str) -> bool:
    question = asked(text)
    return holds("data.toml", question.claim, _HOLES, _TOOLS | _data(question.setting)) != question.denied


def _read(pattern: str, text: str) -> list[float]:
    """The numbers in the holes of a pattern."""
    found = re.search(pattern.replace("{0}", _N), text)
    if found is None:
        raise Unreadable(f"no {pattern} in {text}")
    return [float(number) for number in found.groups()]


def _data(setting: str) -> dict[str, Any]:
    """What a setting shows, by the names that the expressions use."""
    rows = [np.array(found[0].split(", "), dtype=float) for found in _LIST.finditer(setting)]
    known: dict[str, Any] = {"setting": setting, "rows": rows, "row": rows[0] if rows else None}
    pairs, lines, names = _PAIR.findall(setting), _ROW.findall(setting), _COLUMNS.search(setting)
    if len(pairs) > 2:
        known["along"], known["grid"] = np.array(pairs, dtype=float).T
    elif lines:
        known["grid"], xs, ys = (np.array([float(line[i]) for line in lines]) for i in (0, 2, 4))
        known["column"] = {_name(lines[0][1]): xs, _name(lines[0][3]): ys}
    elif names:
        xs, ys, known["grid"] = rows
        known["column"] = {_name(names[1]): xs, _name(names[2]): ys}
    elif " at a = " in setting:
        known["along"], known["grid"] = rows
    elif "; it says chaotic if " in setting:
        known["verdict"] = _verdicts(setting)
        known["chaotic"] = sum(known["verdict"].values())
    if " is called chaotic by " in setting:
        limits = _read(r"chaotic by .+ is above ({0}) there, by .+ is above ({0}), and regular otherwise", setting)
        said = {name: known["column"][name] > limit for name, limit in zip(known["column"], limits, strict=True)}
        known["said"], (known["one"], known["other"]) = said, said.values()
    return known


def _name(name: str) -> str:
    return name if name.isupper() else f"the {name}"


def _verdicts(setting: str) -> dict[str, bool]:
    """Test → whether it says chaotic."""
    _, *said, last = setting.split(". ")
    if last != "Where a test does not say chaotic, it says regular.":
        raise Unreadable(last)
    return {sentence[0].lower() + sentence[1:].split(" test ")[0] + " test": _verdict(sentence) for sentence in said}


def _verdict(sentence: str) -> bool:
    """Whether a test says chaotic, by its data and its rule."""
    data, rule = sentence.split("; it says chaotic if ")
    limit, rows = float(re.findall(_N, rule)[0]), _data(data)["rows"]
    if rule.startswith("the median"):
        return bool(2 * np.sum(rows[0] > limit) > len(rows[0]))
    if rule.startswith("the value grows"):
        return float(np.diff(_read("finds ({0}) at .+ and ({0}) at ", data))[0]) > limit
    if rule.startswith("the distance grows"):
        a, p, b, q = _read(r"orbits ({0}) × 10\^({0}) apart and finds them ({0}) × 10\^({0}) apart", data)
        return bool(np.log10(b / a) + q - p > np.log10(limit))
    if rule.startswith("the largest exponent"):
        return bool(np.any(rows[0] > limit))
    if rule.startswith("all of them"):
        return bool(np.all(rows[0] < limit))
    if rule.startswith("one of them differs"):
        n = _WORDS.index(rule.split(" from the one ")[1].split()[0])
        return bool(np.any(np.abs(rows[0][n:] - rows[0][:-n]) > limit + _SLACK))
    raise Unreadable(rule)


# What the expressions use.


def _coded(setting: str, row: np.ndarray) -> str:
    (limit,) = _read("Write L for an entry below ({0}) and R for an entry above it", setting)
    return "".join("R" if x > limit else "L" for x in row)


def _beyond(values: np.ndarray, i: int) -> bool:
    """Whether value i is larger than all the others."""
    return 0 <= i < len(values) and bool(np.all(np.delete(values, i) < values[i] - _SLACK))


def _top(values: np.ndarray) -> int:
    (i,) = [i for i in range(len(values)) if _beyond(values, i)]
    return i


def _period(row: np.ndarray) -> int:
    """How far back the last entry stood before, if the later ones repeat those from there on."""
    back = int(np.flatnonzero(row[::-1] == row[-1])[1])
    if np.any(row[-back:] - row[-2 * back : -back]):
        raise Unreadable("no cycle")
    return back


def _longest(grid: np.ndarray, marked: np.ndarray) -> tuple[float, float]:
    text = "".join("x" if mark else " " for mark in marked)
    *others, run = sorted(text.split(), key=len)
    if run in others:
        raise Unreadable("two longest runs")
    i = text.index(run)
    return float(grid[i]), float(grid[i + len(run) - 1])


def _side(value: float, sides: list[str], limit: float) -> bool:
    if abs(value - limit) < _SLACK:
        raise Unreadable("on the border")
    return (value > limit) == _SIDES[sides[0]]


def _dimension(spectrum: np.ndarray) -> float:
    """Where the sum of the exponents, drawn with straight lines over their number, comes down to zero."""
    sums = np.concatenate([[0.0], np.cumsum(np.sort(spectrum)[::-1])])
    i = int(np.flatnonzero(sums > _SLACK)[-1])
    return float(np.interp(0, [-sums[i], -sums[i + 1]], [i, i + 1]))


def _attractor(setting: str, rows: list[np.ndarray], r: float) -> str:
    where = [float(value) for value in re.findall(rf" at r = ({_N})", setting)]
    row = rows[where.index(r)]
    return _ATTRACTORS[int(np.sum(row > 0.005)), int(np.sum(np.abs(row) < 0.005))]


def _zero(grid: np.ndarray, values: np.ndarray) -> float:
    """Where a straight line between the neighbours of different sign is zero."""
    ((i,),) = np.nonzero(np.diff(np.sign(values)))
    return float((grid[i] * values[i + 1] - grid[i + 1] * values[i]) / (values[i + 1] - values[i]))


_TOOLS: dict[str, Any] = {
    **{f.__name__: f for f in (abs, len, min, sum)},
    **{
        f.__name__.strip("_"): f
        for f in (_coded, _beyond, _top, _period, _longest, _side, _dimension, _attractor, _zero)
    },
    "count": np.count_nonzero,
    "first": lambda marked: int(np.flatnonzero(marked)[0]),
    "near": np.isclose,
    "sign": np.sign,
    "steps": np.diff,
    "divergence": lambda s: _read("(?:constant divergence|divergence of a flow is) ({0})", s)[0],
    "larger": lambda a, b: "A" if _side(a, ["above"], b) else "B",
    "signs": lambda values: "".join("+" if v > 0 else "-" for v in values),
}
