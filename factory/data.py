"""The stratum *data*: an orbit, a table, the tests of one run, a series, a spectrum or a scan, and what they show.

Both settings of a bundle come from one source: the same map, grid and limits, with other data. What a claim means is an
expression of `data.toml` over the printed numbers, so rounding decides no label; what is compared stays a margin apart.
Orbits and scans come from maps that are iterated with sums and products alone, so every machine prints the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cache, partial
from itertools import accumulate, count, pairwise
from math import frexp, ldexp
from typing import Any

from factory.chance import Chance
from factory.quartet import Claim, Quartet, mirrored
from factory.tables import toml

book = partial(toml, "data.toml")
KINDS = {
    "atomic": ("orbit",),
    "cross_indicator": ("table", "agreement"),
    "indicator_diagnostics": ("series", "spectrum", "bifurcation"),
}
TRIES = 300
SAMPLES = 5
"""How many data of a source are drawn before it is drawn anew."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
ORDINALS = ["zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
ORDINALS += ["eleventh", "twelfth", "thirteenth"]

Values = dict[str, Any]
List = Sequence[Decimal]


class Unfit(ValueError):  # noqa: N818
    """Data that are too near to a border, or show nothing to ask about."""


def quartets(family: str, chance: Chance) -> Iterator[Quartet]:
    kinds = KINDS[family]
    for number in count():
        possible = [c for c in book()["claim"] if c["kind"] == kinds[number % len(kinds)]]
        found = _found(possible[number // len(kinds) % len(possible)], chance.of(number))
        if found is not None:
            yield found


def _found(claim: Values, draw: Chance) -> Quartet | None:
    """The first two data of a source of which each has a claim that holds in it alone."""
    source = SOURCES[claim["source"]]
    for attempt in range(TRIES):
        drawn: list[tuple[Values, Any]] = []
        for i in range(SAMPLES):
            tried = draw.of("try", attempt)  # anew: what both data share is drawn the same again
            try:
                sample = source(tried.of("shared"), tried.of("sample", i), **claim.get("with", {}))
                new = sample, _shown(claim, sample)
            except Unfit:
                continue
            for old in drawn:
                said = _claims(claim, (old, new), tried.of("claims"))
                if said is not None:
                    return _worded(claim, (old[0], sample), said, draw)
            drawn.append(new)
    return None


def _shown(claim: Values, sample: Values) -> Any:
    """What a claim is about, in one setting."""
    form = next(form for form in ("value", "among", "number", "decides") if form in claim)
    shown = _result(claim[form], sample)
    if form == "value" and isinstance(shown, int) and shown < claim.get("least", 0):
        raise Unfit("too few to be counted")
    return shown


def _result(expression: str, sample: Values) -> Any:
    return eval(expression, {"__builtins__": {}, **TOOLS, **sample})  # noqa: S307 - an expression of our own file


def _claims(claim: Values, pair: Sequence[tuple[Values, Any]], draw: Chance) -> list[tuple[str, Values]] | None:
    """For each of two settings, which wordings state its claim, with which values; a limit stays 1% away, and more."""
    shown = [s for _, s in pair]
    if "same" in claim and _result(claim["same"], pair[0][0]) != _result(claim["same"], pair[1][0]):
        return None
    if "lure" in claim:
        looks = [_result(claim["lure"], sample) for sample, _ in pair]
        if looks[0] == looks[1] or ((looks[0] > looks[1]) == (shown[0] > shown[1])) != draw.heads():
            return None
    if "among" in claim:
        own = [sorted(set(shown[i]) - set(shown[1 - i])) for i in (0, 1)]
        return [("wordings", _fields(draw.pick(o))) for o in own] if all(own) else None
    fields: Values = {}
    if "number" in claim:
        low, high = sorted(shown)
        unit = Decimal(1).scaleb(-claim["digits"])
        c = (low + (high - low) * draw.between(30, 70) / 100).quantize(unit)
        if min(high - c, c - low) < abs(c) / 100 + 2 * unit or high - low > abs(c):
            return None
        shown, fields = [s > c for s in shown], {"c": c}
    if shown[0] == shown[1]:
        return None
    return [("wordings", _fields(s)) if "value" in claim else ("wordings" if s else "counter", fields) for s in shown]


def _fields(value: Any) -> Values:
    if isinstance(value, int):
        return {"v": NUMBERS[value], "nth": ORDINALS[value], "next": ORDINALS[value + 1]}
    return dict(zip("vw", value, strict=True)) if isinstance(value, tuple) else {"v": value}


def _worded(claim: Values, samples: Sequence[Values], said: list[tuple[str, Values]], draw: Chance) -> Quartet:
    texts = [{name: _text(value) for name, value in sample.items()} for sample in samples]
    intro = draw.pick(book()["intro"][claim.get("intro", claim["source"])])
    rule = book()["judged"] if "judged" in claim else claim.get("rule", "")
    settings = [f"{intro} {rule}".rstrip().format(**text) for text in texts]
    claims = [
        Claim(tuple(w.format(**(text | {name: _text(v) for name, v in fields.items()})) for w in claim[words]))
        for text, (words, fields) in zip(texts, said, strict=True)
    ]
    cluster = hashlib.sha256("\n".join(sorted(settings)).encode()).hexdigest()[:12]
    traits = tuple(dict.fromkeys(f"map: {s['map']}" for s in samples if "map" in s))
    return Quartet(claim["kind"], cluster, (settings[0], settings[1]), mirrored(*claims), traits=traits)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# What expressions of data.toml use.


def steps(values: List) -> list[Decimal]:
    return [b - a for a, b in pairwise(values)]


def clear(margin: float, values: List, *limits: Decimal) -> List:
    """The values, if none is near a limit."""
    if any(abs(value - limit) < margin for value in values for limit in limits):
        raise Unfit("near a limit")
    return values


def only(values: Sequence[Any]) -> Any:
    """The first of some, if there are any."""
    if not values:
        raise Unfit("nothing there")
    return values[0]


def place(values: List, margin: float) -> int:
    """Which value is the largest, counted from 1."""
    *_, second, largest = sorted(values)
    clear(margin, [largest], second)
    return 1 + values.index(largest)


def above(a: Decimal, b: Decimal, margin: float) -> bool:
    return clear(margin, [a], b)[0] > b


def words(orbit: List, limit: Decimal, length: int = 4) -> set[str]:
    letters = "".join("LR"[x > limit] for x in orbit)
    return {letters[i : i + length] for i in range(len(letters) - length + 1)}


def ends(grid: List, marked: Sequence[bool]) -> tuple[Decimal, Decimal]:
    """The ends of the longest run of what is marked."""
    runs = [grid[i:j] for i in range(len(grid)) for j in range(i + 2, len(grid) + 1) if all(marked[i:j])]
    longest = only(sorted(runs, key=len)[::-1])
    if [len(run) for run in runs].count(len(longest)) > 1:
        raise Unfit("two longest runs")
    return longest[0], longest[-1]


def one_way(first: Sequence[bool], second: Sequence[bool]) -> bool:
    """Whether the first implies the second, where one implies the other."""
    differ = {a for a, b in zip(first, second, strict=True) if a != b}
    if len(differ) != 1:
        raise Unfit("both or none")
    return differ == {False}


def dimension(spectrum: List) -> Decimal:
    """Kaplan–Yorke."""
    sums = list(accumulate(spectrum))
    j = max(i for i, total in enumerate(sums) if total > 0) + 1
    if j == len(spectrum):
        raise Unfit("volumes grow")
    return j + sums[j - 1] / abs(spectrum[j])


def zero(grid: List, values: List) -> Decimal:
    crossed = [i for i, (x, y) in enumerate(pairwise(values)) if x * y < 0]
    if len(crossed) != 1:
        raise Unfit("no single zero")
    i = crossed[0]
    return grid[i] + (grid[i + 1] - grid[i]) * values[i] / (values[i] - values[i + 1])


TOOLS: Values = {f.__name__: f for f in (abs, all, any, len, max, range, sum, zip, steps, clear, only, place, above)}
TOOLS |= {f.__name__: f for f in (words, ends, one_way, dimension, zero)} | {"number": Decimal, "None": None}


# Numbers as they are printed.


def _number(draw: Chance, *bounds: float) -> Decimal:
    """Between the first two, with as many digits after the point as the third says."""
    low, high, digits = bounds
    drawn = draw.number(low, high, int(digits))
    return _rounded(Decimal(drawn.numerator) / drawn.denominator, int(digits))


def _rounded(value: Decimal | float, digits: int) -> Decimal:
    return Decimal(value).quantize(Decimal(1).scaleb(-digits)) + 0


# Maps x[n+1] = f(x[n]) + b x[n-1].


def _polynomial(name: str, a: Decimal) -> tuple[float, float, float, float]:
    """The coefficients of f, from the constant up."""
    c = float(a)
    return {"logistic": (0.0, c, -c, 0.0), "quadratic": (1.0, 0.0, -c, 0.0), "cubic": (0.0, c, 0.0, -1.0)}[name]


def _formula(name: str, a: Decimal | str, b: Decimal) -> str:
    memory = f" {'+' if b > 0 else '-'} {abs(b)} x[n-1]" if b else ""
    return f"x[n+1] = {book()['map'][name]['text'].format(a=a)}{memory}"


def _map(draw: Chance) -> tuple[str, Decimal, Decimal]:
    name = draw.pick(list(book()["map"]))
    low, high = book()["map"][name]["a"]
    b = _number(draw, *book()["map"][name]["b"], 2) if draw.heads() else Decimal(0)
    return name, _number(draw, low + 0.6 * (high - low), high, 2 if b else 3), b


def _start(draw: Chance, name: str) -> Decimal:
    return _number(draw, *book()["map"][name]["start"], 3)


def _iterates(name: str, a: Decimal, b: Decimal, start: Decimal, number: int, skipped: int = 0) -> list[Decimal]:
    (c0, c1, c2, c3), memory = _polynomial(name, a), float(b)
    x = before = float(start)
    orbit = []
    for i in range(skipped + number):
        if i >= skipped:
            orbit.append(_rounded(x, 3))
        x, before = c0 + x * (c1 + x * (c2 + x * c3)) + memory * before, x
        if abs(x) > 5:
            raise Unfit("unbounded")
    return orbit


@cache
def _exponent(name: str, a: Decimal, b: Decimal, transient: int = 300, length: int = 1500) -> Decimal:
    """The largest exponent of a map; powers of two are taken out of the tangent vector as it grows or shrinks."""
    (c0, c1, c2, c3), memory = _polynomial(name, a), float(b)
    x = before = 0.1
    now, then, twos = 1.0, 0.0, 0
    for i in range(transient + length):
        now, then = (c1 + x * (2 * c2 + 3 * x * c3)) * now + memory * then, now
        x, before = c0 + x * (c1 + x * (c2 + x * c3)) + memory * before, x
        if i % 20 == 19:
            size = abs(now) + abs(then)
            if abs(x) > 5 or size < 1e-200:
                raise Unfit("unbounded, or stable beyond measure")
            now, then = ldexp(now, -frexp(size)[1]), ldexp(then, -frexp(size)[1])
            twos = twos + frexp(size)[1] if i > transient else 0
    return _rounded(twos * Decimal(2).ln() / length, 3)


def orbit(shared: Chance, draw: Chance) -> Values:
    (name, a, b), c = _map(shared), _number(shared, 0.3, 0.7, 2)
    values = _iterates(name, a, b, _start(draw, name), shared.between(10, 12))
    if len({round(x, 1) for x in values}) < 5:
        raise Unfit("it settles")
    return {"map": _formula(name, a, b), "orbit": clear(0.003, values, c), "c": c}


def cycle(shared: Chance, draw: Chance) -> Values:
    """An orbit that settles on a cycle, from a few entries before it repeats itself in print."""
    (name, _, b), length = _map(shared), shared.between(13, 15)
    for i in range(8):
        tried = draw.of(i)
        a = _number(tried, *book()["map"][name]["a"], 3)
        values = _iterates(name, a, b, _start(tried, name), 400)
        p = next((p for p in range(1, 6) if values[-p - 1 :] == values[-2 * p - 1 : -p]), 0)
        if p > 1 + (i < 4) and min(steps(sorted(values[-p:]))) > 0.006:
            first = min(i for i in range(400 - p) if values[i:-p] == values[i + p :])
            start = first - tried.between(0, min(6, length - 2 * p - 1))
            values = values[max(start, 0) : start + length]
            if len(values) == length:
                return {"map": _formula(name, a, b), "orbit": values, "period": p}
    raise Unfit("no cycle")


def twins(shared: Chance, draw: Chance) -> Values:
    (name, a, b), length = _map(shared), shared.between(9, 11)
    start, apart, c = _start(draw, name), shared.between(2, 5), shared.pick((5, 10, 20))
    pair = [_iterates(name, a, b, s, length) for s in (start, start + Decimal(apart) / 1000)]
    distances = [abs(x - y) for x, y in zip(*pair, strict=True)]
    limit = Decimal(c) / 100
    texts = {"map": _formula(name, a, b), "orbit": pair[0], "twin": pair[1], "c": limit}
    return {**texts, "distances": clear(0.004, distances, limit)}


# Tables and tests.


def table(shared: Chance, draw: Chance) -> Values:
    """Rows are drawn from one pool, so that both tables show mostly the same values in other places."""
    model = shared.pick(book()["model"])
    names = sorted(shared.some(list(model["columns"]), 2), key=list(model["columns"]).index)
    columns = [model["columns"][name] for name in names]
    limits = [_number(shared, *column["limit"], column["limit_digits"]) for column in columns]
    size, p = shared.between(7, 9), shared.pick(list(model["world"]))
    start, step = _number(shared, *model["world"][p]["start"], 2), shared.pick((1, 2, 4, 5))
    grid = [start + Decimal(step * i) / 100 for i in range(size)]
    pool = [_row(shared.of("row", i), model, names, limits) for i in range(size + 4)]
    x, y = (f"the {name}" if name.islower() else name for name in names)
    rows = draw.some([row for row in pool if row], size)
    if len(rows) < size:
        raise Unfit("few rows")
    xs, ys = zip(*rows, strict=True)
    text = f"the {names[0]} values {_text(xs)} and the {names[1]} values {_text(ys)} at {p} = {_text(grid)}"
    if shared.heads():
        lines = zip(grid, rows, strict=True)
        text = "; ".join(f"at {p} = {g}, {names[0]} {a} and {names[1]} {b}" for g, (a, b) in lines)
    world = model["world"][p]["text"].format(n=NUMBERS[size])
    first, second = ([v > limit for v in vs] for vs, limit in zip((xs, ys), limits, strict=True))
    data = {"world": world, "table": text, "grid": grid, "xs": xs, "ys": ys, "first": first, "second": second}
    return {**data, "p": p, "x": x, "y": y, "x_limit": limits[0], "y_limit": limits[1]}


def _row(draw: Chance, model: Values, names: Sequence[str], limits: List) -> tuple[Decimal, ...]:
    state = draw.pick(("regular", "doubtful", "chaotic"))
    row = {n: _number(draw, *column[state], column["digits"]) for n, column in model["columns"].items()}
    if "MEGNO" in row and state != "regular":
        row["MEGNO"] = _rounded(row["exponent"] * model["time"] / 2 * _number(draw, 0.7, 1.35, 2), 1)
    margins = [2 * Decimal(1).scaleb(-model["columns"][n]["digits"]) for n in names]
    near = [abs(row[n] - limit) < m for n, limit, m in zip(names, limits, margins, strict=True)]
    return () if any(near) else tuple(row[n] for n in names)


def tests(shared: Chance, draw: Chance, number: int) -> Values:
    """A test that says the same in both settings says it with the same data."""
    names = shared.some(list(book()["test"]), number)
    chaotic = [draw.heads() for _ in names]
    said = [
        book()["test"][name].format(**{k: _text(v) for k, v in _test(shared.of(name), name, verdict).items()})
        for name, verdict in zip(names, chaotic, strict=True)
    ]
    return {"tests": " ".join(said), "names": names, "chaotic": chaotic, "n": NUMBERS[number]}


def _test(draw: Chance, name: str, chaotic: bool) -> Values:
    own = draw.of("verdict", chaotic)
    if name == "the 0–1 test":
        size = draw.pick((5, 7))
        many = size // 2 + draw.between(1, 2)
        high = many if chaotic else size - many
        ks = [_number(draw, *((0.90, 0.99) if i < high else (0.01, 0.14)), 2) for i in range(size)]
        return {"list": draw.mixed(ks), "n": NUMBERS[size], "limit": draw.pick(("0.5", "0.6", "0.7"))}
    if name == "the MEGNO test":
        limit, first, start = _number(draw, 0.7, 1.4, 1), _number(draw, 2.0, 3.0, 1), 100 * draw.between(4, 9)
        last = first + limit + (_number(own, 0.2, 2.0, 1) if chaotic else -_number(own, 0.2, 0.7, 1))
        return {"first": first, "last": last, "start": start, "end": start + 500, "limit": limit}
    if name == "the twin test":
        times, first, small = 100 * draw.between(3, 9), _number(draw, 1.2, 4.0, 1), draw.between(7, 9)
        factor = _number(own, 1.3, 4.0, 2)
        grown = Decimal(f"{first * times * (factor if chaotic else 1 / factor):.1e}")
        large = small - grown.adjusted()
        return {"first": first, "last": grown.scaleb(large - small), "small": small, "large": large, "limit": times}
    if name == "the exponent test":
        spectrum = [
            _number(own, 0.013, 0.060, 3) * (1 if chaotic else -1),
            Decimal("0.001"),
            -_number(draw, 0.2, 0.9, 3),
        ]
        return {"list": sorted(spectrum)[::-1], "limit": draw.pick(("0.008", "0.010"))}
    if name == "the correlation test":
        values = [_number(draw, -0.30, 0.66, 2) for _ in range(draw.between(4, 6))]
        if not chaotic:
            values[own.below(len(values))] = _number(own, 0.84, 0.97, 2)
        return {"list": values, "n": NUMBERS[len(values)], "limit": draw.pick(("0.70", "0.75", "0.80"))}
    period, percent = draw.between(2, 3), draw.pick((10, 15, 20))
    around = draw.some(range(22, 60, 4), period)
    maxima = [Decimal(around[i % period]) / 10 + _number(draw, -0.04, 0.04, 2) for i in range(4 * period)]
    if chaotic:
        maxima[own.between(period, len(maxima) - 1)] += _number(own, percent / 100 + 0.10, percent / 100 + 0.30, 2)
    return {"list": maxima, "n": NUMBERS[period], "limit": Decimal(percent) / 100}


# Series.


def growth(shared: Chance, draw: Chance, span: Values) -> Values:
    """A distance or MEGNO: growth with fluctuations, for a distance up to the size of the attractor."""
    unit, rate, digits = shared.pick(span["units"]), _number(shared, *span["rate"], 1), span["digits"]
    times, i, j = [unit * k for k in range(span["first"], span["last"])], shared.between(1, 2), shared.between(4, 6)
    values, top = [_number(draw, *span["start"], digits)], _number(draw, *span["top"], digits)
    while len(values) < len(times):
        new = values[-1] + _rounded(rate * _number(draw, 0.4, 1.6, 2), digits)
        values.append(new if new < top else top + _number(draw, -0.3, 0.3, digits))
    if values[j] > span["top"][0] - 1:
        raise Unfit("saturated")
    series = ", ".join(f"{v} at t = {t}" for v, t in zip(values, times, strict=True))
    return {"list": values, "times": times, "series": series, "i": i, "j": j, "from": times[i], "to": times[j]}


def frequencies(shared: Chance, draw: Chance) -> Values:
    size = shared.pick((5, 7))
    high = size // 2 + draw.below(2)
    values = [_number(draw, *((0.52, 0.99) if i < high else (0.02, 0.48)), 2) for i in range(size)]
    mean = clear(0.02, [sum(values, Decimal(0)) / size], Decimal("0.5"))[0]
    return {"list": draw.mixed(values), "n": NUMBERS[size], "mean": mean, "median": sorted(values)[size // 2]}


def correlation(shared: Chance, draw: Chance) -> Values:
    """Noisy slopes at small r, a plateau, smaller slopes where r nears the size of the attractor."""
    size, top, level = shared.between(9, 11), -shared.between(0, 3), _number(shared, 1.4, 2.3, 1)
    plateau = size - 6 + draw.below(3)
    slopes = [level + _number(draw, -0.5, 0.5, 2) for _ in range(size - 3 - plateau)]
    slopes += [level + _number(draw, -0.2, 0.2, 2) for _ in range(plateau)]
    slopes += [_rounded(level * draw.between(*part) / 100, 2) for part in ((70, 85), (30, 50))]
    low, high = level - Decimal("0.15"), level + Decimal("0.15")
    clear(0.02, slopes, low, high)
    values = list(accumulate([-sum(slopes) - _number(draw, 0.1, 0.6, 2), *slopes]))
    return {"list": values, "grid": [top + i - size + 1 for i in range(size)], "low": low, "high": high}


def peaks(shared: Chance, draw: Chance) -> Values:
    size, period = shared.between(8, 10), _number(shared, 3.0, 9.0, 1)
    waits = [_rounded(period * draw.between(78, 122) / 100, 1) for _ in range(size - 1)]
    return {"list": list(accumulate([_number(draw, 0.5, 4.0, 1), *waits]))}


# Spectra and scans.


def _flow(draw: Chance, size: int, positive: int) -> list[Decimal]:
    """The exponents of a dissipative flow, largest first."""
    plus = [_number(draw, 0.02, 0.18 if i else 0.45, 3) for i in range(positive)]
    minus = [-_number(draw, 0.02, 0.5, 3) for _ in range(size - positive - 2)]
    return sorted([*plus, Decimal(0), *minus, -_number(draw, 0.5, 1.6, 3)], reverse=True)


def spectrum(shared: Chance, draw: Chance) -> Values:
    size = shared.between(4, 6)
    values = _flow(draw, size, 2 if size < 6 else draw.between(2, 3))
    return {"list": values, "head": values[:-1], "divergence": sum(values), "n": NUMBERS[size]}


def pair(shared: Chance, draw: Chance) -> Values:
    size = shared.between(4, 5)
    return dict(zip("ab", draw.mixed([_flow(shared, size, shared.between(1, 2)) for _ in "ab"]), strict=True))


def regimes(shared: Chance, draw: Chance) -> Values:
    """The same spectra at other values of a parameter."""
    attractors = {"hyperchaotic": "++0-", "chaotic": "+0--", "a torus": "00--", "a limit cycle": "0---"}
    start, step = _number(shared, 0.5, 4, 1), shared.pick((1, 2, 5))
    grid = [start + Decimal(step * i) / 10 for i in range(4)]
    sizes = {"+": (0.012, 0.15), "0": (-0.003, 0.003), "-": (-0.9, -0.012)}
    spectra = {n: sorted(_number(shared, *sizes[s], 3) for s in signs)[::-1] for n, signs in attractors.items()}
    found = list(zip(draw.mixed(list(attractors)), grid, strict=True))
    return {"found": found, "series": "; ".join(f"{_text(spectra[name])} at r = {r}" for name, r in found)}


def scan(shared: Chance, draw: Chance, sizes: list[int], spread: int, scale: str = "map") -> Values:
    """Scans of a map in which only b differs, and not by much. On the scale of an instrument, a has other values: where
    the exponents of a map change their sign can be known."""
    name, size = shared.pick(list(book()["map"])), shared.between(*sizes)
    low, high = book()["map"][name]["a"]
    step = _number(shared, 0.01, (high - low) / 20, 2)
    start = _number(shared, low + 0.3 * (high - low), high - size * float(step), 2)
    grid, by_rows = [start + step * i for i in range(size)], shared.heads()
    b = _number(shared, *book()["map"][name]["b"], 3) + Decimal(draw.between(-spread, spread)) / 1000
    values: list[Decimal] = []
    for a in reversed(grid):
        values[:0] = clear(0.003, [_exponent(name, a, b)], Decimal(0))
    if scale != "map":
        first, step = _number(shared, 0.5, 6, 2), _number(shared, 0.05, 0.4, 2)
        grid = [first + step * i for i in range(size)]
    rows = ", ".join(f"{v} at a = {a}" for v, a in zip(values, grid, strict=True))
    text = rows if by_rows else f"{_text(values)} at a = {_text(grid)}"
    return {"grid": grid, "list": values, "scan": text} | ({"map": _formula(name, "a", b)} if scale == "map" else {})


def doublings(shared: Chance, draw: Chance) -> Values:
    knob = shared.pick(("driving amplitude", "coupling strength", "feedback strength", "control parameter"))
    gaps = [_number(draw, 0.3, 0.7, 4)]
    while len(gaps) < 3:
        gaps.append(_rounded(gaps[-1] / _number(draw, 3.7, 5.6, 2), 4))
    ratios = [a / b for a, b in pairwise(gaps)]
    return {"knob": knob, "list": list(accumulate([_number(shared, 0.5, 3, 4), *gaps])), "ratios": ratios}


ORBITS_AND_RUNS = (orbit, cycle, twins, table, tests, growth, frequencies, correlation, peaks)
SOURCES: dict[str, Callable[..., Values]] = {f.__name__: f for f in ORBITS_AND_RUNS}
SOURCES |= {f.__name__: f for f in (spectrum, pair, regimes, scan, doublings)}
