"""Names to things, without a registry: a module of ours, a file, 'package.module:attr' or an entry point."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Literal, TypeAlias

from perpend.errors import SpecError, did_you_mean

Kind: TypeAlias = Literal["tasks", "models", "scorers"]


def names(kind: Kind) -> list[str]:
    """What is there: the package's own modules and what installed packages add."""
    package = importlib.import_module(f"perpend.{kind}")
    own = [module.name for module in pkgutil.iter_modules(package.__path__) if module.name not in {"base", "http"}]
    return sorted({*own, *(entry.name for entry in entry_points(group=f"perpend.{kind}"))})


def factory(kind: Kind, name: str, default: str) -> Callable[..., object]:
    """The function that makes what `name` names: `default` of its module unless the name says another."""
    made = attribute(kind, name, default)
    if not callable(made):
        raise SpecError(f"{kind[:-1]} {name!r}: {default!r} is not a function that makes one")
    return made


def attribute(kind: Kind, name: str, default: str) -> object:
    """What a name stands for. An unknown name is a SpecError that lists the near ones."""
    where, _, wanted = name.partition(":")
    wanted = wanted or default
    if where.endswith(".py"):
        module = module_from_file(Path(where))
    elif where in names(kind) and ":" not in name:
        for entry in entry_points(group=f"perpend.{kind}", name=where):
            found: object = entry.load()
            return found
        module = importlib.import_module(f"perpend.{kind}.{where}")
    elif "." in where or ":" in name:
        try:
            module = importlib.import_module(where)
        except ModuleNotFoundError as error:
            raise SpecError(f"{kind[:-1]} {name!r}: {error}") from None
    else:
        raise SpecError(f"unknown {kind[:-1]} {name!r}; {did_you_mean(where, names(kind))}")
    if not hasattr(module, wanted):
        raise SpecError(f"{kind[:-1]} {name!r}: {module.__name__} has no {wanted!r}")
    exported: object = getattr(module, wanted)
    return exported


def module_from_file(path: Path) -> ModuleType:
    """The module in a Python file."""
    if not path.is_file():
        raise SpecError(f"{path}: no such file")
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    if module_spec is None or module_spec.loader is None:
        raise SpecError(f"{path}: cannot be loaded as Python")
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module


def call(maker: Callable[..., object], options: Mapping[str, object], what: str, *first: str) -> object:
    """Call a factory with options; an option that it does not take is a SpecError with a suggestion."""
    parameters = inspect.signature(maker).parameters
    known = [name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        for key in options:
            if key not in known:
                raise SpecError(f"{what}: unknown option {key!r}; {did_you_mean(key, known)}")
    return maker(*first, **options)
