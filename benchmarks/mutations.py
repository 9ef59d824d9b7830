"""Small changes of Python source, one at one place, drawn by a seed: what benchmarks/mutants.py tries."""

from __future__ import annotations

import ast
import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip
_CALLS = {"sorted": "list", "reversed": "list", "min": "max", "max": "min", "any": "all", "all": "any"}
_SQL = {" DESC": "", "DISTINCT ": "", "IS NOT NULL": "IS NULL", "<=": "<", "ORDER BY t.trial": "", " LIMIT 1": ""}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: where, of which kind, and the line before and after it. `function` '': outside every function."""

    id: str
    file: str
    line: int
    function: str
    kind: str
    before: str
    after: str
    text: str


def sites(node: ast.AST, function: str = "", scope: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Every node that may be changed, with the qualified name of the function that it is in."""
    if isinstance(node, ast.FunctionDef):
        function, scope = scope + node.name, f"{scope}{node.name}.<locals>."
        children: list[ast.AST] = [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
    elif isinstance(node, ast.ClassDef):
        children, scope = list(node.body), f"{scope}{node.name}."
    elif isinstance(node, ast.AnnAssign):
        children = [node.value] if node.value is not None and "TypeAlias" not in ast.dump(node.annotation) else []
    elif isinstance(node, ast.JoinedStr) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
        children = []  # before Python 3.12 nodes in f-strings do not know where they are
    elif isinstance(node, ast.Assign) and "__all__" in ast.dump(node.targets[0]):
        children = []
    elif isinstance(node, ast.keyword) and node.arg == "strict":
        children = []  # of zip: a guard against what its neighbours forbid already
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):  # a docstring
            yield child, function
            yield from sites(child, function, scope)


def changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """(kind, the code in its place) for every way to change a node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield "comparison", _unparsed(ast.Compare(node.left, [_SWAPS[type(node.ops[0])]()], node.comparators))
    elif isinstance(node, ast.BinOp) and type(node.op) in _SWAPS:
        yield "arithmetic", _unparsed(ast.BinOp(node.left, _SWAPS[type(node.op)](), node.right))
    elif isinstance(node, ast.BoolOp):
        yield "and, or", _unparsed(ast.BoolOp(_SWAPS[type(node.op)](), node.values))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", _unparsed(node.operand)
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield "return", "return None"
    elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or isinstance(
        node, ast.AugAssign | ast.Raise
    ):
        yield "statement", "pass"
    elif isinstance(node, ast.Call):
        yield from _called(node)
    elif isinstance(node, ast.Constant):
        yield from ((kind, f"({value!r})") for kind, value in _constants(node.value))


def _called(node: ast.Call) -> Iterator[tuple[str, str]]:
    plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
    if isinstance(node.func, ast.Name) and node.func.id in _CALLS and plain:
        rest = () if node.func.id in ("sorted", "reversed") else node.keywords
        yield "call", _unparsed(ast.Call(ast.Name(_CALLS[node.func.id]), node.args, list(rest)))
    if len(plain) == len(node.args) > 1 and ast.dump(plain[0]) != ast.dump(plain[1]):
        yield "arguments", _unparsed(ast.Call(node.func, [plain[1], plain[0], *plain[2:]], node.keywords))


def _constants(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, bool):
        yield "boolean", not value
    elif isinstance(value, int):
        yield from (("integer", value + step) for step in (1, -1))
    elif isinstance(value, float):
        yield "float", value * 1.1 or 1.0
    elif isinstance(value, str):
        yield "string", value[:-1] if value else "x"
        if "SELECT" in value or "FROM" in value:
            yield from (("SQL", value.replace(old, new, 1)) for old, new in _SQL.items() if old in value)


def _unparsed(node: ast.AST) -> str:
    return f"({ast.unparse(ast.fix_missing_locations(node))})"


def _conditions(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    """What decides, made to decide one way: (expression, kind, code)."""
    if isinstance(node, ast.If | ast.IfExp):
        yield node.test, "condition", "True"
        yield node.test, "condition", "False"
    elif isinstance(node, ast.While):
        yield node.test, "condition", "False"
    elif isinstance(node, ast.comprehension):
        yield from ((test, "condition", "True") for test in node.ifs)


def candidates(tree: ast.AST) -> Iterator[tuple[ast.AST, str, str, str]]:
    """(node, name of its function, kind, the code in its place) for every change, in the order of the source."""
    for node, function in sites(tree):
        for kind, code in changes(node):
            yield node, function, kind, code
        for test, kind, code in _conditions(node):
            yield test, function, kind, code


def mutant(file: str, source: str, candidate: tuple[ast.AST, str, str, str]) -> Mutant | None:
    """The file with one change; None where the code is no Python then, or means the same."""
    place, function, kind, code = candidate
    lines = source.encode().split(b"\n")
    first, last = place.lineno - 1, place.end_lineno - 1
    head, tail = lines[first][: place.col_offset], lines[last][place.end_col_offset :]
    new = [*lines[:first], head + code.encode() + tail, *lines[last + 1 :]]
    text = b"\n".join(new).decode()
    try:
        is_same = ast.dump(ast.parse(text)) == ast.dump(ast.parse(source))
    except SyntaxError:
        return None
    before, after = (rows[first].decode().strip() for rows in (lines, new))
    key = hashlib.sha256(f"{file}\0{text}".encode()).hexdigest()[:12]
    return None if is_same else Mutant(key, file, first + 1, function, kind, before, after, text)


def selection(root: Path, packages: Sequence[str], lines: int, seed: int) -> list[Mutant]:
    """One mutant for so many lines of a file. Kinds are drawn first, so that constants do not crowd out all others.

    A file's mutants depend on the seed and on its own text: what is known of them outlasts a change elsewhere.
    """
    paths = [path for name in packages for path in _modules(root / "src" / "perpend" / name)]
    sources = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    chosen: dict[str, Mutant] = {}
    for file, source in sources.items():
        rng = random.Random(f"{seed}:{file}")
        kinds: dict[str, list[tuple[ast.AST, str, str, str]]] = defaultdict(list)
        for candidate in candidates(ast.parse(source)):
            kinds[candidate[2]].append(candidate)
        quota = len(chosen) + round(source.count("\n") / lines)
        while len(chosen) < quota and kinds:
            kind = rng.choice(sorted(kinds))
            drawn = mutant(file, source, kinds[kind].pop(rng.randrange(len(kinds[kind]))))
            if drawn is not None:
                chosen[drawn.id] = drawn
            if not kinds[kind]:
                del kinds[kind]
    return list(chosen.values())


def _modules(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]
