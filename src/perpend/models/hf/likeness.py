"""Whether the code of a module is that of a class in transformers: what no trial with a little random input can show.

A clip that no random number reaches, or a scale that begins at position 8192, is in the code of `forward` all the same.
"""

from __future__ import annotations

import dis
from functools import cache
from importlib import import_module
from types import CodeType, FunctionType

from torch import nn


def is_like(module: nn.Module, names: tuple[str, ...]) -> bool:
    """Whether a module computes with the code of one of these classes: 'llama.LlamaMLP' is transformers' own."""
    if "forward" in vars(module):  # some other function, whatever the class says
        return False
    return any(_is_class_like(type(module), name) for name in names)  # type: ignore[arg-type]  # classes are hashable


@cache
def _is_class_like(made: type[nn.Module], name: str) -> bool:
    folder, _, wanted = name.partition(".")
    try:
        reference = getattr(import_module(f"transformers.models.{folder}.modeling_{folder}"), wanted, None)
    except ImportError:  # an older or newer transformers
        return False
    if reference is None or made.__call__ is not reference.__call__:
        return False
    return made is reference or _same(made.forward, reference.forward, set())


def _same(one: object, other: object, seen: set[tuple[int, int]]) -> bool:
    """Whether two values are the same, or functions of the same code that use the same."""
    if one is other or (id(one), id(other)) in seen:
        return True
    if not (isinstance(one, FunctionType) and isinstance(other, FunctionType)):
        return type(one) is type(other) and isinstance(one, int | float | str | None) and one == other
    seen.add((id(one), id(other)))  # a function may name itself
    settings = [(f.__defaults__, tuple(sorted((f.__kwdefaults__ or {}).items()))) for f in (one, other)]
    cells = [[cell.cell_contents for cell in f.__closure__ or ()] for f in (one, other)]
    if settings[0] != settings[1] or len(cells[0]) != len(cells[1]):
        return False
    if not _same_code(one.__code__, other.__code__, docs={one.__doc__, other.__doc__}):
        return False
    named = [(one.__globals__.get(name), other.__globals__.get(name)) for name in _globals_of(one.__code__)]
    return all(_same(a, b, seen) for a, b in [*named, *zip(*cells, strict=True)])


def _same_code(one: CodeType, other: CodeType, docs: set[str | None]) -> bool:
    if (one.co_code, one.co_names, one.co_freevars) != (other.co_code, other.co_names, other.co_freevars):
        return False
    consts = [[value for value in code.co_consts if value is None or value not in docs] for code in (one, other)]
    return len(consts[0]) == len(consts[1]) and all(
        _same_code(a, b, set()) if isinstance(a, CodeType) and isinstance(b, CodeType) else (type(a), a) == (type(b), b)
        for a, b in zip(*consts, strict=True)
    )


def _globals_of(code: CodeType) -> set[str]:
    """The names that it reads from its module, and those that the functions inside it read."""
    names = {str(step.argval) for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(_globals_of(value) for value in code.co_consts if isinstance(value, CodeType)))
