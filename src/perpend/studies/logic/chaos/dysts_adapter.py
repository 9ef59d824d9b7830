"""Systems of the `dysts` package (Gilpin 2021), read from its source at build time.

Only equations, default parameters, initial states and citations are taken from it; every fact is measured here. The
package is needed to build or re-measure those facts, never to use them. Its files are read and it is never imported, so
that it needs none of its dependencies.
"""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import numpy as np

from perpend.errors import SpecError
from perpend.studies.logic.chaos.system import Array, Kind, Params, Rate, System

VERSION = "0.96"
INSTALL = f"pip install --no-deps dysts=={VERSION}"
# The same equations as a core system; doubles among themselves are recognised by their text.
_CORE_DOUBLES = (
    "Lorenz Rossler Chen Chua Duffing RikitakeDynamo Lorenz84 Hadley ForcedBrusselator ForcedVanDerPol MackeyGlass "
    "ForcedFitzHughNagumo DoublePendulum"
)
# HindmarshRose differs from the published model; StickSlipOscillator, FluidTrampoline, SprottMore and (nearly)
# WindmiReduced are not continuous, so nearby orbits tell nothing of their exponents; Bouali2 and LiuChen are others'
# equations with terms switched off; ExcitableCell has 31 parameters to state; the rest are stiff beyond a fixed step or
# depend on time other than by one periodic phase.
_UNFIT = (
    "HindmarshRose StickSlipOscillator FluidTrampoline SprottMore WindmiReduced Bouali2 LiuChen ExcitableCell "
    "BelousovZhabotinsky GlycolyticOscillation Torus ArnoldWeb BickleyJet"
)
_MAPS = (
    "Bogdanov DeJong Svensson Bedhead GumowskiMira Tinkerbell Pickover MaynardSmith Gingerbreadman Duffing "
    "Hopalong KaplanYorke"
)
# (amplitude, frequency parameter, period) where the last variable is nothing but a clock.
_FORCED: Mapping[str, tuple[str, str, Callable[[Params], Array]]] = {
    "CircadianRhythm": ("vc", "ps", lambda p: p["ps"]),
    "DoubleGyre": ("eps", "omega", lambda p: 2 * np.pi / p["omega"]),
    "OscillatingFlow": ("b", "omega", lambda p: 2 * np.pi / p["omega"]),
    "TurchinHanski": ("e", "lamb", lambda p: 1 / p["lamb"]),
}
_ANGLES = {"ArnoldBeltramiChildress": (0, 1, 2), "OscillatingFlow": (0, 1), "SwingingAtwood": (1,)}
# Names that a sentence can carry and that do not give the answer away ('hyper', 'chaotic', 'torus').
_NAMES = {
    "AnishchenkoAstakhov": "the Anishchenko–Astakhov oscillator",
    "ArnoldBeltramiChildress": "the Arnold–Beltrami–Childress flow",
    "AtmosphericRegime": "the atmospheric regime model", "Blasius": "the Blasius food chain",
    "Bogdanov": "the Bogdanov map", "BurkeShaw": "the Burke–Shaw system",
    "CaTwoPlus": "the Houart–Dupont–Goldbeter calcium model", "ChenLee": "the Chen–Lee system",
    "CircadianRhythm": "the Leloup–Gonze–Goldbeter circadian model",
    "CoevolvingPredatorPrey": "the coevolving predator–prey model", "Colpitts": "the Colpitts oscillator",
    "DeJong": "the de Jong map", "DoubleGyre": "the double gyre",
    "Duffing": "the Duffing map", "Finance": "the Cai–Huang finance model",
    "GenesioTesi": "the Genesio–Tesi system", "Gingerbreadman": "the generalised gingerbreadman map",
    "GuckenheimerHolmes": "the Guckenheimer–Holmes system", "GumowskiMira": "the Gumowski–Mira map",
    "Hadley": "the Hadley circulation model", "HastingsPowell": "the Hastings–Powell food chain",
    "HenonHeiles": "the Hénon–Heiles system", "HyperBao": "the four-dimensional Bao system",
    "HyperCai": "the four-dimensional Cai system", "HyperJha": "the four-dimensional Jha system",
    "HyperLorenz": "the four-dimensional Lorenz system", "HyperLu": "the four-dimensional Lü system",
    "HyperPang": "the four-dimensional Pang system", "HyperQi": "the four-dimensional Qi system",
    "HyperRossler": "the four-dimensional Rössler system", "HyperWang": "the four-dimensional Wang system",
    "HyperXu": "the four-dimensional Xu system", "HyperYan": "the four-dimensional Yan system",
    "HyperYangChen": "the four-dimensional Yang–Chen system", "IkedaDelay": "the Ikeda delay equation",
    "IsothermalChemical": "the isothermal chemical reaction model", "ItikBanksTumor": "the Itik–Banks tumour model",
    "JerkCircuit": "the exponential jerk circuit", "KaplanYorke": "the Kaplan–Yorke map",
    "KawczynskiStrizhak": "the Kawczynski–Strizhak model", "Laser": "the Abooee laser model",
    "LorenzBounded": "the bounded Lorenz system", "LorenzCoupled": "the coupled Lorenz systems",
    "LorenzStenflo": "the Lorenz–Stenflo system", "LuChen": "the Lü–Chen system",
    "LuChenCheng": "the Lü–Chen–Cheng system", "MaynardSmith": "the Maynard Smith map",
    "MooreSpiegel": "the Moore–Spiegel oscillator", "NewtonLiepnik": "the Newton–Leipnik system",
    "NoseHoover": "the Nosé–Hoover oscillator", "NuclearQuadrupole": "the nuclear quadrupole model",
    "OscillatingFlow": "the oscillating convection-roll flow", "PanXuZhou": "the Pan–Xu–Zhou system",
    "PehlivanWei": "the Pehlivan–Wei system", "PiecewiseCircuit": "the cubic delay circuit",
    "Qi": "the Qi system of four variables", "QiChen": "the Qi–Chen system",
    "RabinovichFabrikant": "the Rabinovich–Fabrikant equations",
    "RayleighBenard": "the reduced Rayleigh–Bénard convection model", "SaltonSea": "the Salton Sea ecological model",
    "SanUmSrisuchinwong": "the San-Um–Srisuchinwong system", "ScrollDelay": "the two-scroll delay equation",
    "ShimizuMorioka": "the Shimizu–Morioka system", "SprottJerk": "the Sprott jerk system",
    "SprottTorus": "the Sprott system of 2014", "SwingingAtwood": "the swinging Atwood machine",
    "TurchinHanski": "the Turchin–Hanski vole model", "VallisElNino": "the Vallis El Niño model",
    "VossDelay": "the Voss delay equation", "WangSun": "the Wang–Sun system",
    "YuWang": "the Yu–Wang system", "ZhouChen": "the Zhou–Chen system",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DystsSource:
    """The body of one right-hand side: its state, its parameters, its statements and the names that it returns."""

    state: tuple[str, ...]
    parameters: tuple[str, ...]
    statements: tuple[ast.Assign, ...]
    outputs: tuple[str, ...]


class _UnusualError(ValueError):
    """The source is not a plain list of assignments and a returned tuple of names."""


class _Unself(ast.NodeTransformer):
    """Writes 'a' for 'self.a'."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.Name(node.attr, ast.Load())
        return node


def _read(function: ast.FunctionDef, parameters: Sequence[str]) -> DystsSource:
    """A static right-hand side with its state spelt out, or a method that unpacks its state from X."""
    # Classes inherit from each other, and the statements are changed here.
    tree = copy.deepcopy(function)
    *statements, last = [_Unself().visit(node) for node in tree.body if not isinstance(node, ast.Expr)]
    state = tuple(argument.arg for argument in tree.args.args if argument.arg not in (*parameters, "t"))
    kept = []
    for node in statements:
        if not isinstance(node, ast.Assign) or any(isinstance(part, ast.List) for part in ast.walk(node)):
            raise _UnusualError
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and ast.unparse(node.value) == "X":
            state = tuple(ast.unparse(element) for element in target.elts)
        elif ast.unparse(target).strip("()") != ast.unparse(node.value).strip("()"):
            if not isinstance(target, ast.Name):
                raise _UnusualError
            kept.append(node)
    if not isinstance(last, ast.Return) or last.value is None:
        raise _UnusualError
    returned = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    if len(returned) == 1 and not isinstance(returned[0], ast.Name):
        kept.append(ast.Assign([ast.Name("out", ast.Store())], returned[0]))
        returned = [ast.Name("out", ast.Load())]
    outputs = tuple(ast.unparse(element) for element in returned)
    called = {ast.unparse(node.func) for part in kept for node in ast.walk(part) if isinstance(node, ast.Call)}
    if not all(name.isidentifier() for name in outputs) or any(not name.startswith("np.") for name in called):
        raise _UnusualError
    return DystsSource(state, tuple(parameters), tuple(kept), outputs)


class _Expose(ast.NodeTransformer):
    """Replaces the first number that is not an exponent by the parameter k, and remembers it."""

    def __init__(self) -> None:
        self.value: float | None = None

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        node.left = self.visit(node.left)
        if not isinstance(node.op, ast.Pow):
            node.right = self.visit(node.right)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if self.value is None and isinstance(node.value, int | float):
            self.value = float(node.value)
            return ast.Name("k", ast.Load())
        return node


def _exposed(source: DystsSource) -> tuple[DystsSource, dict[str, float]]:
    """A system without parameters gets one: its first number."""
    expose = _Expose()
    for statement in source.statements:
        statement.value = expose.visit(statement.value)
    if expose.value is None:
        raise _UnusualError
    return replace(source, parameters=("k",)), {"k": expose.value}


def _text(expression: ast.expr) -> str:
    return re.sub(r"np\.(\w+)", r"\1", ast.unparse(expression)).replace(" ** ", "^").replace("**", "^")


def _lines(source: DystsSource, kind: Kind) -> str:
    """The statements as a line of text: outputs as derivatives or next values, the rest as definitions."""
    last = source.state[-1]
    bodies = {ast.unparse(statement.targets[0]): _text(statement.value) for statement in source.statements}
    pairs = zip(source.outputs, source.state, strict=False)  # a clock or a delayed state has no equation of its own
    shown = {out: f"{name}[n+1]" if kind == "map" else f"d{name}/dt" for out, name in pairs}
    swaps: dict[str, str] = {}
    if kind == "map":
        swaps = {**shown, **{name: f"{name}[n]" for name in source.state}}
    elif kind == "delay":
        swaps = {source.state[0]: f"{source.state[0]}(t)", source.state[1]: f"{source.state[0]}(t - tau)"}
    elif kind == "forced flow":
        swaps = {last: f"({bodies.pop(source.outputs[-1])} * t)"}
    pattern = re.compile(r"\b(" + "|".join(swaps) + r")\b") if swaps else None
    lines = []
    for name, body in bodies.items():
        written = pattern.sub(lambda match: swaps[match.group()], body) if pattern else body
        lines.append(f"{shown.get(name, name)} = {written}")
    return ", ".join(lines)


def _shape(source: DystsSource) -> str:
    """The statements with names numbered in order of appearance: equal for equal equations in other letters."""
    text = "; ".join(f"{ast.unparse(s.targets[0])} = {_text(s.value)}" for s in source.statements)
    seen: dict[str, str] = {}
    return re.sub(r"[A-Za-z_]\w*", lambda match: seen.setdefault(match.group(), f"v{len(seen)}"), text)


def _compiled(source: DystsSource) -> Callable[..., tuple[Array, ...]]:
    """A function of state, time and parameters, from statements that may have been changed."""
    names = [ast.arg(name) for name in (*source.state, "t", *source.parameters)]
    outputs = ast.Tuple([ast.Name(name, ast.Load()) for name in source.outputs], ast.Load())
    function = ast.FunctionDef(
        name="rate",
        args=ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=[*source.statements, ast.Return(outputs)],
        decorator_list=[],
    )
    namespace: dict[str, Callable[..., tuple[Array, ...]]] = {}
    module = ast.fix_missing_locations(ast.Module([function], []))
    exec(compile(module, "dysts", "exec"), {"np": np}, namespace)  # noqa: S102  the installed package's own source
    return namespace["rate"]


def _rate(source: DystsSource, period: Callable[[Params], Array] | None, *, delayed: bool) -> Rate:
    function = _compiled(source)

    def rate(t: Array, x: Array, p: Params) -> Array:
        values = [p[name] for name in source.parameters]
        clock = [] if period is None else [2 * np.pi * t / period(p)]
        # Assigned one by one, constants broadcast; np.stack of broadcast arrays costs four times as much.
        out = np.empty_like(x[:1] if delayed else x)
        for i, part in enumerate(function(*x, *clock, t, *values)[: len(out)]):
            out[i] = part
        return out

    return rate


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", name)


def _short(x: float, digits: int) -> float:
    return float(f"{x:.{digits}g}")


def _convert(
    name: str, source: DystsSource, parameters: Mapping[str, float], data: Mapping[str, object], kind: Kind
) -> System:
    forced = _FORCED.get(name)
    turned = _ANGLES.get(name, ())
    start = [float(x) for x in np.atleast_1d(np.array(data["initial_conditions"], dtype=np.float64))]
    start = [x % (2 * np.pi) if i in turned else x for i, x in enumerate(start)]
    # A delay equation starts on a constant history, a forced flow without its clock.
    variables = source.state[: {"delay": 1, "forced flow": len(source.state) - 1}.get(kind, len(source.state))]
    cited = str(data.get("citation") or "").strip(" .")[:110] or "no citation given"
    return System(
        system_id=f"dysts_{name.lower()}" + ("_map" if kind == "map" else ""),
        name=_NAMES.get(name) or f"the {_spaced(name)} {'map' if kind == 'map' else 'system'}",
        kind=kind,
        variables=variables,
        parameters=parameters,
        citation=f"{cited}; as in dysts (Gilpin 2021)",
        equations=_lines(source, kind),
        rate=_rate(source, None if forced is None else forced[2], delayed=kind == "delay"),
        start=tuple(_short(x, 4) for x in start[: len(variables)]),
        time_scale=1.0 if kind == "map" else _short(float(str(data["period"])), 3),
        forcing=None if forced is None else forced[:2],
        forcing_period=None if forced is None else forced[2],
        lag="tau" if kind == "delay" else None,
        angles=turned,
        # The delay is the unit there, and it may hold several oscillations.
        steps=120 if kind == "delay" else 60,
    )


def _installed() -> Path:
    """The folder of the installed package."""
    try:
        package = metadata.distribution("dysts")
    except metadata.PackageNotFoundError as e:
        raise SpecError(f"the systems 'dysts_…' are read from the dysts package: {INSTALL}") from e
    if package.version != VERSION:
        raise SpecError(f"dysts {package.version} is installed, and the frozen facts are of {VERSION}: {INSTALL}")
    return Path(str(package.locate_file("dysts")))


def _right_hand_sides(file: Path) -> Iterator[tuple[str, str, ast.FunctionDef]]:
    """Of every class in a module: its name, the class outside the module that it comes from, and its method `rhs`,
    own or inherited, or its static `_rhs` where it has none."""
    classes = {n.name: n for n in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(n, ast.ClassDef)}
    for name in sorted(classes):
        root, functions = name, dict[str, ast.FunctionDef]()
        while root in classes:
            for node in classes[root].body:
                if isinstance(node, ast.FunctionDef):
                    functions.setdefault(node.name, node)
            root = ast.unparse(classes[root].bases[0])
        function = functions.get("rhs") or functions.get("_rhs")
        if function is not None:
            yield name, root, function


def dysts_systems() -> Mapping[str, System]:
    """The usable systems of the installed dysts, by id: scalar parameters, continuous, no double of another."""
    folder = _installed()
    systems: dict[str, System] = {}
    shapes: set[str] = set()
    for file, data_file, parent in (
        ("flows.py", "chaotic_attractors.json", "DynSys"),
        ("flows.py", "chaotic_attractors.json", "DynSysDelay"),
        ("maps.py", "discrete_maps.json", "DynMap"),
    ):
        listed = json.loads((folder / "data" / data_file).read_text(encoding="utf-8"))
        is_map, delayed = parent == "DynMap", parent == "DynSysDelay"
        for name, root, function in _right_hand_sides(folder / file):
            wanted = name in _MAPS.split() if is_map else name not in f"{_CORE_DOUBLES} {_UNFIT}".split()
            if root != parent or not wanted:
                continue
            data = listed[name]
            scalars = {k: float(v) for k, v in sorted(data["parameters"].items()) if not isinstance(v, list)}
            if len(scalars) < len(data["parameters"]):
                continue
            kind: Kind = "map" if is_map else "delay" if delayed else "forced flow" if name in _FORCED else "flow"
            try:
                source = _read(function, tuple(scalars))
                source, scalars = (source, scalars) if scalars else _exposed(source)
            except _UnusualError:
                continue
            shape = _shape(source)
            if shape not in shapes:
                shapes.add(shape)
                system = _convert(name, source, scalars, data, kind)
                systems[system.system_id] = system
    return systems
