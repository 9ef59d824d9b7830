"""The stratum *reason*: claims about equations that stand in the question, to be settled by algebra on paper.

Both systems of a bundle are alike: the same variables, and where the claim allows it the same terms with the same
signs, often the same coefficients in other places. What a claim means stands in `reason.toml`, as an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from factory.algebra import Exponents, Point, Poly, System, constant, decimal, point_text, variable
from factory.chance import Chance
from factory.quartet import Claim, Quartet, mirrored
from factory.tables import toml

claims = partial(toml, "reason.toml")
NAMES = {
    1: (("x",), ("u",), ("z",), ("p",)),
    2: (("x", "y"), ("u", "v"), ("x", "z"), ("p", "q"), ("v", "w")),
    3: (("x", "y", "z"), ("u", "v", "w"), ("p", "q", "r"), ("x", "y", "w")),
    4: (("x", "y", "z", "w"), ("p", "q", "r", "s"), ("x1", "x2", "x3", "x4"), ("x", "y", "u", "v")),
    5: (("x", "y", "z", "u", "v"), ("x1", "x2", "x3", "x4", "x5"), ("p", "q", "r", "s", "u")),
    6: (("x", "y", "z", "u", "v", "w"), ("x1", "x2", "x3", "x4", "x5", "x6"), ("y1", "y2", "y3", "y4", "y5", "y6")),
}
TRIES = 400
MARGIN = 0.04
"""How far an eigenvalue stays away from the border of stability."""

Values = dict[str, Any]
Built = tuple[tuple[System, System], tuple[Values, Values]]
"""Two systems and the values of two claims."""


def quartets(family: str, chance: Chance) -> Iterator[Quartet]:
    extended = family == "extended_systems"
    possible = [c for c in claims()["claim"] if not (extended and c["build"] in SMALL)]
    for number in count():
        claim = possible[number % len(possible)]
        draw = chance.of(number)
        discrete = claim["of"] == "map" or (claim["of"] == "both" and draw.heads())
        size = draw.between(4, 6) if extended else SMALL.get(claim["build"]) or draw.pick((2, 2, 3, 3, 4))
        size = max(size, SMALLEST.get(claim["build"], 1))
        names = draw.pick(NAMES[size])
        found = _found(claim, names, discrete, draw)
        if found is not None:
            yield _worded(claim, found, draw)


def _found(claim: Values, names: tuple[str, ...], discrete: bool, draw: Chance) -> Built | None:
    """The first draw of the builder in which each claim holds in its own system and fails in the other."""
    build: Callable[[Chance, tuple[str, ...], bool], Built | None] = BUILDERS[claim["build"]]
    expressions = (claim["decides"], claim.get("counter", claim)["decides"])
    for attempt in range(TRIES):
        built = build(draw.of("try", attempt), names, discrete)
        if built is None:
            continue
        systems, values = built
        if all(_holds(expressions[c], systems[s], values[c]) == (s == c) for s in (0, 1) for c in (0, 1)):
            return built
    return None


def _holds(expression: str, system: System, values: Values) -> bool:
    """Whether a claim of `reason.toml` is true of a system."""
    i = {name: k for k, name in enumerate(system.names)}
    divergence = system.divergence
    known = {
        "abs": abs,
        "trace": divergence.at((Fraction(0),) * len(system.names))
        if not divergence.uses() and not system.extra
        else None,
        "trace_at": system.trace,
        "det_at": system.det,
        "rests": system.rests,
        "goes": lambda p, q: system.after(p) == q,
        "points": _real_roots(system.rhs[0]) if len(i) == 1 else None,
        "excess": system.excess,
        "tends": lambda p, q: _limit(system, p) == q[0],
        "linear": lambda v: all(sum(exponents) == 1 for exponents in system.rhs[i[v]].terms),
        "autonomous": all(len(system.names) not in f.uses() or "t" not in system.extra[0] for f in system.rhs),
        "closed": lambda v, w: system.rhs[i[v]].uses() | system.rhs[i[w]].uses() <= {i[v], i[w]},
        "kept": lambda _: system.keeps(values["poly"]),
        "invariant": lambda v: all(exponents[i[v]] for exponents in system.rhs[i[v]].terms),
        "unchanged": system.unchanged,
    }
    return bool(eval(expression, {"__builtins__": {}}, known | values))  # noqa: S307 - an expression of our own file


def _real_roots(f: Poly) -> int:
    """How many different real numbers a polynomial in one variable vanishes at."""
    roots = np.roots(_coefficients(f))
    return len({round(float(r.real), 4) for r in roots if abs(r.imag) < 1e-7})


def _coefficients(f: Poly) -> list[float]:
    degree = max(e[0] for e in f.terms)
    return [float(f.terms.get((k,), 0)) for k in range(degree, -1, -1)]


def _limit(system: System, start: Point) -> Fraction | None:
    """Where a flow on the line goes from a start: the next root uphill or downhill."""
    f = system.rhs[0]
    rate = f.at(start)
    roots = sorted(Fraction(round(float(r.real))) for r in np.roots(_coefficients(f)))
    ahead = [r for r in roots if (r - start[0]) * rate > 0]
    return None if not ahead else min(ahead) if rate > 0 else max(ahead)


def _worded(claim: Values, built: Built, draw: Chance) -> Quartet:
    systems, values = built
    of = "map" if systems[0].discrete else "flow"
    intro, style = draw.pick(claims()["intro"][of]), draw.pick(claims()["style"][of])
    given = claim.get("given", {}).get(of, "")
    settings = [intro.format(e=system.text(style)) + (f" {given}" if given else "") for system in systems]
    said = [
        Claim(tuple(w.format(**{"v": systems[0].names[0], **_texts(systems[0], values[c])}) for w in words))
        for c, words in enumerate((claim["wordings"], claim.get("counter", claim)["wordings"]))
    ]
    equations = tuple(f"reason: {system.text('{v} = {f}')}" for system in systems)
    return Quartet(claim["kind"], "/".join(equations), (settings[0], settings[1]), mirrored(*said), traits=equations)


def _texts(system: System, values: Values) -> dict[str, str]:
    """The values of a claim as they are printed."""
    texts = {}
    head = f"({', '.join(system.names)})" if len(system.names) > 1 else system.names[0]
    for name, value in values.items():
        if name in ("p", "q"):
            texts[{"p": "at", "q": "to"}[name]] = f"{head} = {point_text(value)}"
        elif isinstance(value, Fraction):
            texts[name] = decimal(value)
        elif isinstance(value, int):
            texts[name] = ("no", "one", "two", "three")[value]
        elif isinstance(value, str):
            texts[name] = value
    if "signs" in values and "v" not in values:
        changed = [("" if sign > 0 else "-") + name for sign, name in zip(values["signs"], system.names, strict=True)]
        texts |= {"before": head, "after": f"({', '.join(changed)})"}
    return texts


# Sketches: terms with signs; the coefficients come later, so that two systems can share all but these.

Sketch = list[list[tuple[Exponents, int]]]


def _product(of: int, *factors: int) -> Exponents:
    return tuple(factors.count(i) for i in range(of))


def _sketch(draw: Chance, size: int, *, diagonal: bool, own: bool) -> Sketch:
    """Two to four terms an equation, few where there are many equations; `diagonal` puts each variable into its own
    equation, and without `own` it stands in no other term of it."""
    sketch: Sketch = []
    for i in range(size):
        others = [j for j in range(size) if own or j != i] or [i]
        possible = [_product(size, j) for j in others if j != i or not diagonal]
        possible += [_product(size, j, k) for j in others for k in others if j <= k]
        more = draw.some(possible, min(len(possible), draw.between(1, 2 if size > 3 else 3)))
        exponents = [*([_product(size, i)] if diagonal else []), *more]
        if size == 1 and len(exponents) < 2:
            exponents.append((3,))
        sketch.append([(e, 1 if draw.heads() else -1) for e in draw.mixed(list(dict.fromkeys(exponents)))])
    return sketch


def _sizes(draw: Chance, sketch: Sketch, low: float, high: float) -> list[Fraction]:
    return [draw.number(low, high, 1) for row in sketch for _ in row]


def _filled(sketch: Sketch, sizes: Sequence[Fraction], names: tuple[str, ...], discrete: bool) -> System:
    left = iter(sizes)
    return System(names, tuple(Poly((e, sign * next(left)) for e, sign in row) for row in sketch), discrete)


def _resting(system: System, point: Point) -> System:
    """The same system with constants that make a point a fixed point."""
    size = len(point)
    wanted = point if system.discrete else (Fraction(0),) * size
    gaps = (w - f.at(point) for w, f in zip(wanted, system.rhs, strict=True))
    rhs = tuple(f + constant(gap, size) for f, gap in zip(system.rhs, gaps, strict=True))
    return System(system.names, rhs, system.discrete)


def _point(draw: Chance, size: int, reach: int = 3) -> Point:
    return tuple(Fraction(draw.between(-reach, reach)) for _ in range(size))


def _two(
    draw: Chance, names: tuple[str, ...], discrete: bool, *, own: bool = True, whole: bool = False
) -> tuple[System, System]:
    """Two systems with the same terms and signs; the second has the coefficients of the first in other places."""
    sketch = _sketch(draw, len(names), diagonal=True, own=own)
    sizes = _sizes(draw, sketch, 0.1, 0.9 if discrete else 4.5)
    if whole:  # so that a determinant has few digits
        sizes = [Fraction(draw.between(1, 4)) for _ in sizes]
    first = _filled(sketch, sizes, names, discrete)
    return first, _filled(sketch, draw.mixed(sizes), names, discrete)


# Builders: two systems in which the two claims can be told apart.


def constant_divergence(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    systems = _two(draw, names, discrete, own=False)
    origin = (Fraction(0),) * len(names)
    return systems, ({"c": systems[0].trace(origin)}, {"c": systems[1].trace(origin)})


def sign_of_divergence(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    return _two(draw, names, discrete, own=False), ({}, {})


def trace_at_point(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built | None:
    systems, p = _two(draw, names, discrete), _point(draw, len(names))
    if not any(p) or not all(system.divergence.uses() for system in systems):
        return None
    return systems, ({"p": p, "c": systems[0].trace(p)}, {"p": p, "c": systems[1].trace(p)})


def determinant_at_point(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built | None:
    systems, p = _two(draw, names, discrete, whole=True), _point(draw, len(names), 2)
    values = tuple(system.det(p) for system in systems)
    if not all(values) or not any(p):
        return None
    return systems, ({"p": p, "c": values[0]}, {"p": p, "c": values[1]})


def size_of_determinant(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built | None:
    systems, p = _two(draw, names, discrete), _point(draw, len(names), 2)
    if any(abs(abs(system.det(p)) - 1) < Fraction(1, 20) for system in systems):
        return None
    return systems, ({"p": p}, {"p": p})


def two_points(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    """The points have the same sizes in other places and with other signs: their sizes do not tell which is which."""
    systems, p = _two(draw, names, discrete), _point(draw, len(names))
    points = p, tuple(-value if draw.heads() else value for value in draw.mixed(p))
    return (
        (_resting(systems[0], points[0]), _resting(systems[1], points[1])),
        ({"p": points[0]}, {"p": points[1]}),
    )


def two_cycles(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built | None:
    """f(x) = p + q - x + (x - p) (x - q) (a x + c), so f(p) = q and f(q) = p; the systems share p, a and c, and their q
    are neighbours."""
    among = (-5, -4, -3, -2, 2, 3, 4, 5)  # 0 and 1 make it too easy to see f(p) from the coefficients
    p, q = draw.some(among, 2)
    r = q + (1 if draw.heads() else -1)
    a, c = draw.pick((-3, -2, -1, 1, 2, 3)), draw.between(-12, 12)
    if r == p or r not in among:
        return None
    x = variable(0, 1)
    systems = []
    for there in (q, r):
        start, end, slope = (constant(Fraction(n), 1) for n in (-p, -there, c))
        rest = (x + start) * (x + end) * (x.scaled(Fraction(a)) + slope)
        systems.append(System(names, (rest + x.scaled(Fraction(-1)) + constant(Fraction(p + there), 1),), discrete))
    point = (Fraction(p),)
    return (systems[0], systems[1]), ({"p": point, "q": (Fraction(q),)}, {"p": point, "q": (Fraction(r),)})


def numbers_of_points(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built | None:
    """(x - a) (x^2 + b x + c): one fixed point or three."""
    systems = []
    scale = Fraction(draw.pick((1, -1, 2, -2, 3, -3)))
    for _ in range(2):
        a, b, c = draw.between(-4, 4), draw.between(-6, 6), draw.between(-8, 9)
        if b * b == 4 * c or a * a + b * a + c == 0:
            return None
        x = variable(0, 1)
        cubic = (x + constant(Fraction(-a), 1)) * (x * x + x.scaled(Fraction(b)) + constant(Fraction(c), 1))
        systems.append(System(names, (cubic.scaled(scale),), discrete))
    counts = [_real_roots(system.rhs[0]) for system in systems]
    return (systems[0], systems[1]), ({"c": counts[0], "v": names[0]}, {"c": counts[1], "v": names[0]})


def stable_and_not(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built | None:
    size = len(names)
    p = _point(draw, size, 2) if size < 4 else (Fraction(0),) * size
    systems = _two(draw, names, discrete)
    if any(abs(system.excess(p)) < MARGIN for system in systems):
        return None
    return (_resting(systems[0], p), _resting(systems[1], p)), ({"p": p}, {"p": p})


def saddle_or_spiral(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    p, systems = _point(draw, 2, 2), _two(draw, names, discrete)
    return (_resting(systems[0], p), _resting(systems[1], p)), ({"p": p}, {"p": p})


def basins(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built | None:
    """s (x - a) (x - b) (x - c), both with the same start; it goes to different whole numbers."""
    start = draw.between(-4, 4)
    systems = []
    for _ in range(2):
        roots = draw.some([n for n in range(-5, 6) if n != start], 3)
        scale = Fraction(draw.pick((1, -1, 2, -2)))
        cubic = constant(scale, 1)
        for root in roots:
            cubic = cubic * (variable(0, 1) + constant(Fraction(-root), 1))
        systems.append(System(names, (cubic,), discrete))
    p = (Fraction(start),)
    limits = [_limit(system, p) for system in systems]
    if limits[0] is None or limits[1] is None:
        return None
    return (systems[0], systems[1]), ({"p": p, "q": (limits[0],)}, {"p": p, "q": (limits[1],)})


def one_linear(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    """Of two equations one has a product in place of a linear term; in the other system the other one has it."""
    size = len(names)
    a, b = draw.some(range(size), 2)
    base = _sketch(draw, size, diagonal=True, own=True)
    systems = []
    for bent in (b, a):
        rows = [list(row) for row in base]
        for i in (a, b):
            linear = draw.some(range(size), min(size, draw.between(2, 3)))
            rows[i] = [(_product(size, j), 1 if draw.heads() else -1) for j in linear]
            if i == bent:
                j, k = draw.pick(range(size)), draw.pick(range(size))
                rows[i][draw.below(len(rows[i]))] = (_product(size, j, k), 1 if draw.heads() else -1)
        systems.append(_filled(rows, _sizes(draw, rows, 0.2, 5.0), names, discrete))
    return (systems[0], systems[1]), ({"v": names[a]}, {"v": names[b]})


def driven_or_not(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    """A cosine of a variable in the first system, of the time in the second."""
    size = len(names)
    rate, i, j = draw.between(2, 5), draw.below(size), draw.below(size)
    of_what = draw.pick(("cos", "sin"))
    systems = []
    for inside in (names[j], "t"):
        sketch = _sketch(draw, size, diagonal=True, own=True)
        plain = _filled(sketch, _sizes(draw, sketch, 0.2, 4.0), names, discrete)
        rhs = [Poly(((*e, 0), c) for e, c in f.terms.items()) for f in plain.rhs]
        rhs[i] = rhs[i] + Poly([((*(0 for _ in range(size)), 1), draw.number(0.2, 4.0, 1))])
        systems.append(System(names, tuple(rhs), discrete, (f"{of_what}({rate} {inside})",)))
    return (systems[0], systems[1]), ({}, {})


def one_closed(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    """Variables a and b, or a and c, stand in each other's equations alone."""
    size = len(names)
    a, b, c = draw.some(range(size), 3)
    systems = []
    for partner in (b, c):
        sketch = _sketch(draw, size, diagonal=True, own=True)
        for i in (a, partner):
            inside = [_product(size, a, partner), _product(size, partner if i == a else a), _product(size, i, i)]
            inside = [inside[1 - draw.below(2)], *draw.some(inside, 1)]
            signs = [(e, 1 if draw.heads() else -1) for e in dict.fromkeys([_product(size, i), *inside])]
            sketch[i] = draw.mixed(signs)
        systems.append(_filled(sketch, _sizes(draw, sketch, 0.2, 5.0), names, discrete))
    return (systems[0], systems[1]), (_pair(names, a, b), _pair(names, a, c))


def linear_integrals(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    """The last equation undoes what the others change of k1 x + k2 y + ... ."""
    size = len(names)
    systems, values = [], []
    for _ in range(2):
        used = draw.some(range(size), min(size, 4))
        k = [Fraction(0)] * size
        for i in used:
            k[i] = Fraction(draw.pick((1, 2, 3, -1, -2, -3)))
        last = used[-1]
        k[last] = Fraction(draw.pick((1, -1)))
        sketch = _sketch(draw, size, diagonal=False, own=True)
        sketch = [row[:2] for row in sketch]
        whole = [Fraction(draw.between(1, 5)) for row in sketch for _ in row]
        rhs = list(_filled(sketch, whole, names, discrete).rhs)
        rest = sum((rhs[i].scaled(k[i]) for i in used[:-1]), Poly())
        rhs[last] = rest.scaled(-1 / k[last])
        quantity = sum((variable(i, size).scaled(k[i]) for i in range(size)), Poly())
        systems.append(System(names, tuple(rhs), discrete))
        values.append({"poly": quantity, "k": quantity.text(names)})
    return (systems[0], systems[1]), (values[0], values[1])


def quadratic_integrals(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    """dx/dt = b y g and dy/dt = -a x g keep a x^2 + b y^2; further variables go their own ways."""
    size = len(names)
    i, j = draw.some(range(size), 2)
    a, b = draw.some(range(1, 8), 2)
    systems, values = [], []
    signs = [1 if draw.heads() else -1 for _ in range(2)]
    for s, t in ((a, b), (b, a)):
        sketch = _sketch(draw, size, diagonal=True, own=True)
        rhs = list(_filled(sketch, _sizes(draw, sketch, 0.2, 5.0), names, discrete).rhs)
        factors = [(0,) * size, *(_product(size, n) for n in range(size))]
        g = sum((Poly([(draw.pick(factors), Fraction(sign))]) for sign in signs), Poly())
        x, y = variable(i, size), variable(j, size)
        rhs[i], rhs[j] = (y * g).scaled(Fraction(t)), (x * g).scaled(Fraction(-s))
        quantity = (x * x).scaled(Fraction(s)) + (y * y).scaled(Fraction(t))
        systems.append(System(names, tuple(rhs), discrete))
        values.append({"poly": quantity, "k": quantity.text(names)})
    return (systems[0], systems[1]), (values[0], values[1])


def one_invariant(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    """Every term of a's equation, or of b's, contains its own variable."""
    size = len(names)
    a, b = draw.some(range(size), 2)
    systems = []
    for whole in (a, b):
        sketch = _sketch(draw, size, diagonal=True, own=True)
        for i in (a, b):
            others = [_product(size, j) for j in range(size) if j != i]
            inside = [_product(size, i, j) for j in range(size)]
            row = [_product(size, i), draw.pick(inside), draw.pick(inside if i == whole else others)]
            sketch[i] = draw.mixed([(e, 1 if draw.heads() else -1) for e in dict.fromkeys(row)])
        systems.append(_filled(sketch, _sizes(draw, sketch, 0.1, 2.0), names, discrete))
    return (systems[0], systems[1]), ({"v": names[a]}, {"v": names[b]})


def sign_changes(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built | None:
    size = len(names)
    patterns = [tuple(-1 if draw.heads() else 1 for _ in range(size)) for _ in range(2)]
    if any(sum(p) == size for p in patterns):
        return None
    systems = []
    for signs in patterns:
        rows: Sketch = []
        for i in range(size):
            fitting = [e for e in _monomials(size) if _parity(e, signs) == signs[i] and any(e)]
            rows.append(
                [(e, 1 if draw.heads() else -1) for e in draw.some(fitting, draw.between(2, 3 if size < 4 else 2))]
            )
        systems.append(_filled(rows, _sizes(draw, rows, 0.2, 5.0), names, discrete))
    same = tuple(range(size))
    return (systems[0], systems[1]), ({"places": same, "signs": patterns[0]}, {"places": same, "signs": patterns[1]})


def _monomials(size: int) -> list[Exponents]:
    pairs = [(j, k) for j in range(size) for k in range(j, size)]
    cubes = [(j, j, k) for j in range(size) for k in range(size)]
    return [_product(size, *factors) for factors in [*((j,) for j in range(size)), *pairs, *cubes]]


def _parity(exponents: Exponents, signs: Sequence[int]) -> int:
    return int(np.prod([sign**power for sign, power in zip(signs, exponents, strict=True)]))


def exchanges(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    return _exchanged(draw, names, discrete, 1)


def exchanges_with_signs(draw: Chance, names: tuple[str, ...], discrete: bool) -> Built:
    return _exchanged(draw, names, discrete, -1)


def _exchanged(draw: Chance, names: tuple[str, ...], discrete: bool, sign: int) -> Built:
    """a and b, or a and c, can change places; `sign` is what both are multiplied by."""
    size = len(names)
    a, b, c = draw.some(range(size), 3)
    systems, values = [], []
    for partner in (b, c):
        places, signs = list(range(size)), [1] * size
        places[a], places[partner], signs[a], signs[partner] = partner, a, sign, sign
        sketch = _sketch(draw, size, diagonal=True, own=True)
        rhs = list(_filled([row[:2] for row in sketch], _sizes(draw, sketch, 0.2, 5.0), names, discrete).rhs)
        rhs[partner] = rhs[a].moved(places, signs).scaled(Fraction(sign))
        for i in range(size):
            if i not in (a, partner):
                rhs[i] = rhs[i] + rhs[i].moved(places, signs)
                rhs[i] = rhs[i] if rhs[i].terms else variable(i, size).scaled(draw.number(0.2, 5.0, 1))
        systems.append(System(names, tuple(rhs), discrete))
        values.append({"places": tuple(places), "signs": tuple(signs), **_pair(names, a, partner)})
    return (systems[0], systems[1]), (values[0], values[1])


def _pair(names: tuple[str, ...], i: int, j: int) -> Values:
    return {"v": names[min(i, j)], "w": names[max(i, j)]}


BUILDERS = {
    f.__name__: f
    for f in (
        constant_divergence, sign_of_divergence, trace_at_point, determinant_at_point, size_of_determinant, two_points,
        two_cycles, numbers_of_points, stable_and_not, saddle_or_spiral, basins, one_linear, driven_or_not, one_closed,
        linear_integrals, quadratic_integrals, one_invariant, sign_changes, exchanges, exchanges_with_signs,
    )
}  # fmt: skip
SMALL = {"two_cycles": 1, "numbers_of_points": 1, "basins": 1, "saddle_or_spiral": 2}
"""Builders that make systems of one size only."""
SMALLEST = {"one_closed": 3, "linear_integrals": 2, "exchanges": 3, "exchanges_with_signs": 3, "sign_changes": 2}
