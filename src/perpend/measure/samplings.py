"""How answers were drawn, as keys of trials: each parameter of the samplings that tells trials of a model apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from perpend.canon import dumps
from perpend.ledger.plan import read_sampling
from perpend.measure.keys import Codes, joined
from perpend.measure.packed import narrow, taken
from perpend.types import Sampling

TEMPERATURE = "temperature"
PARAMETERS: tuple[str, ...] = tuple(Sampling.__slots__)
"""Every parameter of a sampling: the temperature first."""
_UNSET = "none"
_PART = 1 << 20


def parameter_text(parameter: str, sampling: Sampling) -> str:
    """A parameter as a key of trials has it: '0.1', '512', '\"a\" \"b\"'; 'none' where none was sent."""
    value = getattr(sampling, parameter)
    if parameter == "stop":
        return " ".join(dumps(entry) for entry in value) or _UNSET
    if value is None:
        return _UNSET
    return f"{value:g}" if parameter in (TEMPERATURE, "top_p") else str(value)


def setting_words(where: Mapping[str, str], keys: Iterable[str] = PARAMETERS) -> list[str]:
    """The parameters that a slice states, for a reader: 'temperature 0.7', 'top_p 0.1'."""
    return [f"{key} {where[key]}" for key in PARAMETERS if key in keys and key in where]


def settings_in(slices: Iterable[Mapping[str, str]]) -> list[str]:
    """The parameters that some slices state, in order."""
    known = {key for where in slices for key in where}
    return [key for key in PARAMETERS if key in known]


def varied(codes: Mapping[str, Codes], names: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The temperature, and each parameter that differs between trials of one model of one run at one temperature.

    A limit that a model has for itself, and a seed that goes with a temperature, tell nothing apart.
    """
    if len(names.get("sampling", ())) == len(names.get(TEMPERATURE, ())):  # known already: each has one of its own
        return (TEMPERATURE,)
    samplings = [read_sampling(params) for params in names.get("sampling", ())]
    if len({one.temperature for one in samplings}) == len(samplings):
        return (TEMPERATURE,)
    axes = [key for key in ("run", "model") if key in codes]
    sizes = [*(len(names[key]) if key in names else int(codes[key].max(initial=0)) + 1 for key in axes), len(samplings)]
    seen = np.zeros(int(np.prod(sizes)), dtype=np.bool_)
    for start in range(0, len(codes["sampling"]), _PART):  # memory
        here = slice(start, start + _PART)
        seen[joined([codes[key][here] for key in (*axes, "sampling")], sizes)] = True
    groups: dict[tuple[int, float], list[Sampling]] = {}
    for key in np.flatnonzero(seen).tolist():
        place, number = divmod(key, len(samplings))
        groups.setdefault((place, samplings[number].temperature), []).append(samplings[number])
    differs = [
        key for key in PARAMETERS[1:] if any(len({getattr(one, key) for one in own}) > 1 for own in groups.values())
    ]
    return (TEMPERATURE, *differs)


def parameter_codes(parameter: str, samplings: Sequence[str], of_rows: Codes) -> tuple[Codes, tuple[str, ...]]:
    """The codes of a parameter, row by row, and what they stand for, in the order in which they first occur."""
    texts = [parameter_text(parameter, read_sampling(params)) for params in samplings]
    names = tuple(dict.fromkeys(texts))
    numbers = np.array([names.index(text) for text in texts], dtype=np.int64)
    return taken(narrow(numbers, len(names)), of_rows), names


def as_key(parameter: str, value: str | float) -> str:
    """A value as a user gives it, as the key has it: 0.10 is 0.1, 'END' is '\"END\"'."""
    if not isinstance(value, str):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if parameter == "stop" and not value.startswith('"') and value != _UNSET:
        return dumps(value)
    try:
        number = float(value)
    except ValueError:
        return value
    return value if parameter in ("stop", "seed", "max_tokens") else f"{number:g}"


def sampling_words(params: str) -> str:
    """A stored sampling for a reader, without what was not sent: 'temperature 0, max_tokens 512, seed 42'."""
    one = read_sampling(params)
    texts = {key: parameter_text(key, one) for key in PARAMETERS}
    return ", ".join(f"{key} {text}" for key, text in texts.items() if text != _UNSET)
