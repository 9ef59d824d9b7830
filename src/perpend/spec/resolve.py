"""Names to objects, without a registry: a module of ours, a file, 'package.module:attr' or an entry point.

What a user names may be any of these. What is read from a folder may only be packaged: `packaged` imports nothing else.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from perpend.canon import read_text
from perpend.errors import SpecError, did_you_mean, near_file
from perpend.judging.scorers import SCORERS
from perpend.spec.function import OwnCode
from perpend.spec.own_rules import rule_file_of, rule_file_scorer, versioned
from perpend.types import Scorer

Kind: TypeAlias = Literal["tasks", "models", "scorers"]
HOMES: dict[str, str] = {"tasks": "perpend.studies", "models": "perpend.models"}
"""Where the package's own modules are; its scorers are a table."""
_LONGEST_CODE = 1 << 24
_NOT_NAMES = frozenset(("base", "http", "template"))
_ELSEWHERE = {
    **dict.fromkeys(("temperature", "max_tokens", "seed", "top_p", "stop"), "[sampling]"),
    **dict.fromkeys(("max_usd", "max_requests", "max_minutes"), "[budget]"),
    **dict.fromkeys(("items", "map", "templates", "freeze", "name", "repeats", "max_items"), "the top of run.toml"),
    **dict.fromkeys(("base_url", "workers", "retries", "api_key_env", "label"), "[[model]]"),
}
"""Where keys of run.toml belong that are often looked for among the options of a task."""


def installed(kind: Kind, name: str | None = None) -> list[EntryPoint]:
    """The entry points of installed packages, of one name or all."""
    return [entry for entry in _installed(kind, tuple(sys.path)) if name in (None, entry.name)]


@cache
def _installed(kind: Kind, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:  # noqa: ARG001  the path is the key
    """Read once: to look through all installed packages takes 20 ms, and a run has a dozen names."""
    return tuple(entry_points(group=f"perpend.{kind}"))


def names(kind: Kind) -> list[str]:
    """What is there: the package's own modules and what installed packages add."""
    return sorted({*_own_names(kind), *(entry.name for entry in installed(kind))})


def _own_names(kind: Kind) -> list[str]:
    if kind == "scorers":
        return list(SCORERS)
    package = importlib.import_module(HOMES[kind])
    return [module.name for module in pkgutil.iter_modules(package.__path__) if module.name not in _NOT_NAMES]


def is_file(name: str) -> bool:
    """Whether a name is that of a Python file: 'file.py' or 'file.py:attr'."""
    return name.partition(":")[0].endswith(".py")


def file_of(name: str) -> Path | None:
    """The Python file that a name names; None where it names something else."""
    return Path(name.partition(":")[0]) if is_file(name) else None


def module_of(kind: Kind, name: str) -> ModuleType:
    """The module that a user's name stands for. An unknown name is a SpecError that lists the near ones."""
    where = name.partition(":")[0]
    if is_file(name):
        return module_from_file(Path(where))
    if where in names(kind) and ":" not in name:
        for entry in installed(kind, where):
            return importlib.import_module(entry.module)
        return importlib.import_module(f"{HOMES[kind]}.{where}")
    if ("." in where or ":" in name) and all(part.isidentifier() for part in where.split(".")):
        try:
            with OwnCode(f"{kind[:-1]} {name!r}", "; it cannot be loaded"):
                return importlib.import_module(where)
        except SpecError as error:
            if isinstance(error.__cause__, ModuleNotFoundError):
                raise SpecError(f"{kind[:-1]} {name!r}: {error.__cause__}") from None
            raise
    raise SpecError(f"unknown {kind[:-1]} {name!r}; {did_you_mean(where, names(kind))}")


def attribute(kind: Kind, name: str, default: str) -> object:
    """What a user's name stands for: `default` of its module, unless the name or an entry point says another."""
    where, _, wanted = name.partition(":")
    if kind == "scorers" and name in SCORERS and not installed(kind, name):
        return SCORERS[name]
    module = module_of(kind, name)
    if not wanted and not is_file(name):
        for entry in installed(kind, where):
            return entry.load()
    if not hasattr(module, wanted or default):
        raise SpecError(f"{kind[:-1]} {name!r}: {module.__name__} has no {wanted or default!r}")
    return getattr(module, wanted or default)


def packaged(kind: Kind, name: str, default: str) -> object:
    """What a name out of a folder stands for: of ours or of an installed package, and never a file or a path."""
    if name not in names(kind):
        raise SpecError(f"{kind[:-1]} {name!r} is neither perpend's nor an installed package's, so it is not run")
    return attribute(kind, name, default)


def factory(kind: Kind, name: str, default: str) -> Callable[..., object]:
    """The function that makes what a user's name names."""
    return _callable(kind, name, attribute(kind, name, default))


def packaged_factory(kind: Kind, name: str, default: str) -> Callable[..., object]:
    """The function that makes what a name out of a folder names."""
    return _callable(kind, name, packaged(kind, name, default))


def _callable(kind: Kind, name: str, maker: object) -> Callable[..., object]:
    if not callable(maker):
        raise SpecError(f"{kind[:-1]} {name!r} is not a function that makes one")
    return maker


def find_scorer(name: str) -> Scorer:
    """The scorer that a user names: 'correct' is its latest version, 'correct@1' that one, 'brief.py' one of a file.

    'endorsed@mine.toml' is one by a rule file.
    """
    if rule_file_of(name) is not None:
        return rule_file_scorer(name)
    stem, version = versioned(name)
    return _of_version(name, version, attribute("scorers", stem, "VERSIONS"))


def packaged_scorer(name: str) -> Scorer:
    """The scorer that a name out of a folder stands for."""
    stem, version = versioned(name)
    return _of_version(name, version, packaged("scorers", stem, "VERSIONS"))


def _of_version(name: str, version: str, versions: object) -> Scorer:
    if not isinstance(versions, tuple) or not all(isinstance(scorer, Scorer) for scorer in versions):
        raise SpecError(f"scorer {name!r}: VERSIONS must be a tuple of Scorers")
    for scorer in reversed(versions):
        if version in ("", scorer.version):
            chosen: Scorer = scorer
            return chosen
    known = [f"{versioned(name)[0]}@{scorer.version}" for scorer in versions]
    raise SpecError(f"unknown scorer {name!r}; {did_you_mean(name, known)}")


def module_from_file(path: Path) -> ModuleType:
    """The module in a Python file."""
    if not path.exists():
        raise SpecError(f"{path}: no such file{near_file(path)}")
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    if module_spec is None or module_spec.loader is None:
        raise SpecError(f"{path}: cannot be loaded as Python")
    text = read_text(path, SpecError, longest=_LONGEST_CODE)
    try:
        compile(text, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:  # a zero byte is a ValueError
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise SpecError(f"{path}{line}: not Python: {getattr(error, 'msg', error)}") from None
    module = importlib.util.module_from_spec(module_spec)
    with OwnCode(str(path), "; it cannot be loaded"):
        module_spec.loader.exec_module(module)
    return module


def call(maker: Callable[..., object], options: Mapping[str, object], what: str, *first: str) -> object:
    """Call a factory with options; one that it does not take, or not of that type, is a SpecError that says so."""
    parameters = inspect.signature(maker).parameters
    named = [one for one in parameters.values() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    known = [one.name for one in named[len(first) :]]
    types = _types(maker)
    options = {key: _split(value) if _is_list(types.get(key)) else value for key, value in options.items()}
    for key, value in options.items():
        if key not in known and not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
            hint = f"it belongs in {_ELSEWHERE[key]}" if key in _ELSEWHERE else did_you_mean(key, known)
            raise SpecError(f"{what}: unknown option {key!r}; {hint}")
        if key in known and not _fits(value, types.get(key)):
            raise SpecError(f"{what}: {key} must be {_named(types[key])}, not {value!r:.80}")
    lacking = [one.name for one in named[len(first) :] if one.default is one.empty and one.name not in options]
    if lacking:
        raise SpecError(f"{what}: needs the option {lacking[0]!r}; give it, or give the parameter a default")
    if str(getattr(maker, "__module__", "")).partition(".")[0] == "perpend":
        return maker(*first, **options)
    with OwnCode(what):
        return maker(*first, **options)


def _types(maker: Callable[..., object]) -> Mapping[str, object]:
    """The annotated types of a factory's options; none where they cannot be had: then it judges its options itself."""
    try:
        return get_type_hints(maker)
    except (NameError, TypeError, AttributeError):
        return {}


def _is_list(wanted: object) -> bool:
    return get_origin(wanted) is Sequence and get_args(wanted) == (str,)


def _split(value: object) -> object:
    """A list of strings as a command line has it: 'control,asch'."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def _fits(value: object, wanted: object) -> bool:
    """Whether a value out of a run.toml is of a plain type. Of other types nothing is said here."""
    if get_origin(wanted) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(wanted))
    if get_origin(wanted) is Literal:
        return value in get_args(wanted)
    if _is_list(wanted):
        return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    if wanted in (int, float):
        return isinstance(value, int | float if wanted is float else int) and not isinstance(value, bool)
    return isinstance(value, wanted) if wanted in (str, bool, NoneType) else True


def _named(wanted: object) -> str:
    plain: dict[object, str] = {
        int: "an integer",
        float: "a number",
        str: "a string",
        bool: "true or false",
        NoneType: "left out",
    }
    if get_origin(wanted) in (Union, UnionType):
        return " or ".join(_named(one) for one in get_args(wanted))
    if get_origin(wanted) is Literal:
        return f"one of {', '.join(map(repr, get_args(wanted)))}"
    return plain.get(wanted, "a list of strings")
