"""Command-line flags laid over a run.toml: the same keys, the same checks, one RunSpec."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from perpend.errors import SpecError
from perpend.spec import RunSpec, parse_spec, read_toml


def spec_with_flags(path: Path | None, flags: Mapping[str, object]) -> RunSpec:
    """The RunSpec of a run.toml (or of nothing) with the given flags in place of its keys.

    `flags` are named like the keys of run.toml; None and () mean 'not given'. Paths on the command line are relative
    to the current directory, paths in the file to the file.
    """
    given = {key: value for key, value in flags.items() if value is not None and value != ()}
    body: dict[str, object] = {} if path is None else read_toml(path)
    body |= {key: given[key] for key in ("task", "name", "repeats", "max_items", "seed") if key in given}
    body |= {"items": [str(Path(entry).absolute()) for entry in _texts(given["items"])]} if "items" in given else {}
    if "templates" in given:
        body["templates"] = [str(Path(entry).absolute()) for entry in _texts(given["templates"])]
    body |= {"freeze": str(Path(str(given["freeze"])).absolute())} if "freeze" in given else {}
    temperatures = given.get("temperature")
    sampling = {"temperature": list(temperatures)} if isinstance(temperatures, tuple) else {}
    _lay_over(body, "sampling", sampling | _picked(given, "max_tokens"))
    _lay_over(body, "budget", _picked(given, "max_usd", "max_requests", "max_minutes"))
    _lay_over(body, "options", key_values(_texts(given.get("options", ()))))
    for_each_model = _picked(given, "workers", "retries") | key_values(_texts(given.get("model_options", ())))
    models = [{"name": name} for name in _texts(given.get("models", ()))] or body.get("model", [])
    if not isinstance(models, list):
        raise SpecError(f"{path}: write models as [[model]], with two brackets")
    body["model"] = [{**entry, **for_each_model} if isinstance(entry, dict) else entry for entry in models]
    where = "the command line" if path is None else str(path)
    return parse_spec(body, folder=Path() if path is None else path.parent, where=where)


def key_value(text: str) -> tuple[str, str]:
    """The two sides of KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise SpecError(f"{text!r}: write KEY=VALUE")
    return key, value


def key_values(texts: Sequence[str]) -> dict[str, object]:
    """KEY=VALUE texts with each value as TOML reads it (0.4 is a number); what TOML cannot read is a text."""
    return {key: _toml_value(value) for key, value in map(key_value, texts)}


def _toml_value(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _picked(given: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: given[key] for key in keys if key in given}


def _lay_over(body: dict[str, object], table: str, values: Mapping[str, object]) -> None:
    old = body.get(table, {})
    if values:
        body[table] = {**(old if isinstance(old, dict) else {}), **values}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(entry) for entry in value) if isinstance(value, tuple) else ()
