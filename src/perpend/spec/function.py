"""A Python function as something that a run can name: what it is called, its source, and whether that stands alone."""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import re
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TypeAlias

from perpend.errors import PerpendError, SpecError, a_or_an
from perpend.spec.keys import holds_a_key, keys_here
from perpend.types import Item, Response, Score, Scorer

Function: TypeAlias = Callable[..., object]
_LONGEST_LINE = 80


class OwnCode:
    """Code of a user's own runs in this block: what it raises is the user's mistake, and a PerpendError says where.

    'scorer brief@1 raised KeyError: 'a' (brief.py:3: return …)'. The place is the last line of the traceback that is
    neither perpend's nor an installed package's. A PerpendError passes, and so does what ends a program.
    """

    def __init__(self, what: str, then: str = "", raises: Callable[[str], PerpendError] = SpecError) -> None:
        self.what, self.then, self.raises = what, then, raises

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise a PerpendError instead of any other Exception."""
        if not isinstance(error, Exception) or isinstance(error, PerpendError):
            return
        frames = traceback.extract_tb(error.__traceback__)
        at = ([frame for frame in frames if not _is_foreign(frame.filename)] or frames)[-1:]
        where = "".join(f" ({Path(one.filename).name}:{one.lineno}: {(one.line or '')[:_LONGEST_LINE]})" for one in at)
        raise self.raises(f"{self.what} raised {type(error).__name__}: {error}{where}{self.then}") from error


def _is_foreign(file: str) -> bool:
    here = Path(__file__).resolve().parent.parent
    path = Path(file)
    libraries = Path(traceback.__file__).resolve().parent
    return here in path.parents or libraries in path.parents or "site-packages" in path.parts or file.startswith("<")


def judged_by(scorer: Scorer, item: Item, response: Response, trial: int | None = None) -> Score:
    """The score; what a scorer of the user's own raises, and what it returns that is no Score, is a SpecError.

    A packaged rule that raises is a bug of ours, and ends the program as such.
    """
    if scorer.judge.__module__.startswith("perpend.judging."):
        return scorer.judge(item, response)
    name, number = f"scorer {scorer.name}@{scorer.version}", "" if trial is None else f", trial {trial}"
    place = f"on item {item.id!r}{number}"
    with OwnCode(name, f", {place}. {_KEPT}"):
        score: object = scorer.judge(item, response)
    if not isinstance(score, Score):
        kind = type(score).__name__
        raise SpecError(f"{name} returned {a_or_an(kind)}, {place}; return a pp.Score. {_KEPT}")
    return score


_KEPT = "The answers are kept."


def function_name(function: Function) -> str:
    """What a function is called: its own name, 'lambda', or the name of the class that it is an instance of."""
    inner = inspect.unwrap(function)
    name = getattr(inner, "__name__", None)
    return (name if isinstance(name, str) else type(inner).__name__).strip("<>")


def source_of(function: Function) -> str | None:
    """The text of a function as Python can find it; None where there is none to be had (typed at a prompt, built in).

    Of a lambda this is the statement that it is in. What a function takes from outside of itself is not in its text.
    """
    try:
        return inspect.getsource(_code_of(function))
    except (OSError, TypeError):
        return None


def source_sha256(function: Function) -> str | None:
    """SHA-256, in hex, of a function's text; None where there is none to be had."""
    source = source_of(function)
    return None if source is None else hashlib.sha256(source.encode()).hexdigest()


def parameters(function: Function) -> list[inspect.Parameter]:
    """The parameters that a call by position fills, as the function states them; none where it states none."""
    try:
        every = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return []
    return [one for one in every if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def _code_of(function: Function) -> Function:
    """What holds the text: the function itself or, of an instance that is called, its class."""
    inner = inspect.unwrap(function)
    is_written = inspect.isroutine(inner) or inspect.isclass(inner)
    return inner if is_written else type(inner)


def standalone(function: Function, name: str) -> str | None:
    """Python text that defines the function as `name` and needs installed packages only; None where no text can.

    Other functions and plain values of its module are written before it. A value that an enclosing function or an
    object holds, a decorated function and an instance of a class cannot be written as text; a key must not be.
    """
    parts = _Parts()
    try:
        parts.define(name, function)
        text = parts.text()
        compile(text, "<source>", "exec")
    except (_NotAloneError, SyntaxError, RecursionError):
        return None
    return text if keys_here().scrub(text) == text else None


class _NotAloneError(Exception):
    """The function needs what no text can give."""


class _Parts:
    """What the text of a function must define, each name once, in the order of use."""

    def __init__(self) -> None:
        self.imports: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.values: dict[str, object] = {}

    def text(self) -> str:
        """Imports, then one definition after another."""
        imports = "\n".join(["from __future__ import annotations", *sorted(self.imports.values())])
        return "\n\n".join([imports, *self.texts.values()]) + "\n"

    def define(self, name: str, value: object) -> None:
        """Define one name, after those that it needs."""
        if name in self.values:
            if self.values[name] is not value:
                raise _NotAloneError
            return
        self.values[name] = value
        is_defined = isinstance(value, FunctionType | BuiltinFunctionType | type)
        home = value.__name__ if isinstance(value, ModuleType) else value.__module__ if is_defined else None
        if home is not None and _is_installed(home):
            self.imports[name] = _import(name, value, home)
        elif isinstance(value, FunctionType):
            self._define_function(name, value)
        elif holds_a_key(name):  # no key is ever written down
            raise _NotAloneError
        else:
            self.texts[name] = f"{name} = {self._literal(value)}"

    def _define_function(self, name: str, function: FunctionType) -> None:
        source = source_of(function)
        if source is None or function.__closure__ or hasattr(function, "__wrapped__"):
            raise _NotAloneError
        node = _definition(function, source)
        used = {inner for code in _codes(function.__code__) for inner in code.co_names}
        for part in [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]:
            used |= {inner.id for inner in ast.walk(part) if isinstance(inner, ast.Name)}
        # Attributes are among the names of a code object too; only what is read as a name of its own is needed.
        read = dict.fromkeys(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))
        for needed in [inner for inner in read if inner in used and inner != function.__name__]:
            if needed in function.__globals__:
                self.define(needed, function.__globals__[needed])
            elif not hasattr(builtins, needed):
                raise _NotAloneError
        if isinstance(node, ast.FunctionDef):
            self.texts[node.name] = textwrap.dedent(source).rstrip()
        if isinstance(node, ast.Lambda):
            self.texts[name] = f"{name} = {ast.unparse(node)}"
        elif node.name != name:
            self.texts[name] = f"{name} = {node.name}"

    def _literal(self, value: object) -> str:
        if isinstance(value, re.Pattern):
            self.imports["re"] = "import re"
            return f"re.compile({value.pattern!r}, {value.flags})"
        text = repr(value)
        try:
            if ast.literal_eval(text) == value:
                return text
        except (ValueError, SyntaxError, MemoryError):
            pass
        raise _NotAloneError


def _import(name: str, value: object, home: str) -> str:
    if isinstance(value, ModuleType):
        return f"import {home} as {name}"
    own = getattr(value, "__name__", "")
    if getattr(sys.modules.get(home), own, None) is not value:
        raise _NotAloneError
    return f"from {home} import {own} as {name}"


def _is_installed(home: str) -> bool:
    """Whether a module is Python's, perpend's or an installed package's, and not a file of the user's own."""
    top = home.partition(".")[0]
    file = Path(str(getattr(sys.modules.get(top), "__file__", None) or ""))
    return top in {*sys.stdlib_module_names, "perpend"} - {"__main__"} or "site-packages" in file.parts


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of what is defined inside of it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def code_sha256(function: Function) -> str | None:
    """SHA-256, in hex, of what this Python compiled a function to, names and constants included; None without code.

    It tells two functions apart of which there is no text. What they enclose and call is not in it.
    """
    inner = inspect.unwrap(function)
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    return hashlib.sha256(_spelled(code).encode()).hexdigest() if isinstance(code, CodeType) else None


def _spelled(value: object) -> str:
    """A code object or a constant of one, as the same text in every process: sets are sorted."""
    if isinstance(value, CodeType):
        return f"code{[value.co_code.hex(), value.co_names, value.co_varnames, [*map(_spelled, value.co_consts)]]}"
    if isinstance(value, frozenset):
        return f"set{sorted(map(_spelled, value))}"
    return f"tuple{[*map(_spelled, value)]}" if isinstance(value, tuple) else repr(value)


def _facts(code: CodeType) -> tuple[object, ...]:
    return code.co_code, code.co_consts, code.co_names, code.co_varnames


def _compiled(node: ast.Lambda) -> tuple[object, ...]:
    """What a lambda is compiled to, by which two in one statement are told apart."""
    code = compile(ast.Expression(node), "<lambda>", "eval")
    return next((_facts(inner) for inner in code.co_consts if isinstance(inner, CodeType)), ())


def _definition(function: FunctionType, source: str) -> ast.Lambda | ast.FunctionDef:
    """The one definition in a text that is this function's."""
    tree = ast.parse(textwrap.dedent(source))
    if function.__name__ == "<lambda>":
        lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
        same = [node for node in lambdas if _compiled(node) == _facts(function.__code__)]
        if same:
            return same[0]  # of two that are compiled to the same, either will do
    elif tree.body and isinstance(tree.body[0], ast.FunctionDef) and not tree.body[0].decorator_list:
        return tree.body[0]
    raise _NotAloneError
