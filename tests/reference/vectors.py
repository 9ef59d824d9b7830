"""Run known-answer cases against perpend.stats: `python -m tests.reference.vectors DIR`, from the repository root.

DIR holds `*.json` files `{suite, cases}`; a case is `{id, function, inputs, expected, tolerance}`. A `CASES` mapping
says how each function label calls us: an adapter takes the inputs (NaN and Infinity decoded to floats) and returns a
number, None, a list, a mapping, an Estimate (its value and cautions), or an `Answer` that carries cautions.

A case passes when |got - expected| <= abs + rel·|expected| for every number, and null comes back as None.
`expected = {"must": [...]}` passes when any listed outcome happens: error, null, empty, warning.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from perpend.canon import JSON
from perpend.errors import PerpendError
from perpend.types import Caution, Estimate

Adapter: TypeAlias = Callable[[dict[str, JSON]], object]

LET_GO = ("logit_009",)
"""Ids of cases that perpend does not answer any more: a random intercept per item, which no study asks for.
`regression.odds_ratio` gives the odds ratio across items instead, with a covariance that knows the items."""

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True, slots=True)
class Answer:
    """What an adapter found, with the cautions that came with it."""

    value: object
    cautions: tuple[Caution, ...] = ()


def decoded(value: JSON) -> JSON:
    """The value with the strings NaN, Infinity and -Infinity as floats, at any depth."""
    if isinstance(value, str):
        return _SPECIAL.get(value, value)
    if isinstance(value, Mapping):
        return {key: decoded(inner) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [decoded(inner) for inner in value]
    return value


def difference(got: object, expected: JSON, tolerance: Mapping[str, float], at: str = "") -> str | None:
    """Where and how the answer misses the expectation, or None."""
    if isinstance(got, (np.ndarray, np.generic)):
        got = got.tolist()
    if isinstance(got, Mapping) and not isinstance(expected, Mapping):
        got = _meant(got, expected)
    if isinstance(expected, Mapping):
        if not isinstance(got, Mapping):
            return f"{at}: got {got!r}, expected a mapping"
        inner = (difference(got.get(k, _MISSING), v, tolerance, f"{at}.{k}") for k, v in expected.items())
        return next((found for found in inner if found), None)
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        if not isinstance(got, Sequence) or isinstance(got, str) or len(got) != len(expected):
            return f"{at}: got {got!r}, expected {len(expected)} values"
        listed = (difference(g, e, tolerance, f"{at}[{i}]") for i, (g, e) in enumerate(zip(got, expected, strict=True)))
        return next((found for found in listed if found), None)
    return None if _same(got, expected, tolerance) else f"{at}: got {got!r}, expected {expected!r}"


_MISSING = "no such key"


def _meant(got: Mapping[object, object], expected: JSON) -> object:
    """Of a mapping, what a case means that expects no mapping: its ends where two are expected, else its headline."""
    is_pair = isinstance(expected, Sequence) and not isinstance(expected, str) and len(expected) == 2
    return got["ci"] if is_pair and "ci" in got else next(iter(got.values()), _MISSING)


def _same(got: object, expected: JSON, tolerance: Mapping[str, float]) -> bool:
    if expected is None or isinstance(expected, (str, bool)):
        return type(got) is type(expected) and got == expected
    if not isinstance(expected, (int, float)):
        return False
    if not math.isfinite(expected):
        # Our JSON has no infinity: an end that does not exist is None with a note.
        return got is None or got == expected
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        return False
    return abs(got - expected) <= tolerance.get("abs", 0.0) + tolerance.get("rel", 0.0) * abs(expected)


def is_null(value: object) -> bool:
    """Undefined: None, or a mapping whose headline, its first value, is None."""
    if isinstance(value, Mapping):
        return bool(value) and next(iter(value.values())) is None
    return value is None


def failure(case: Mapping[str, JSON], adapters: Mapping[str, Adapter], suite: str = "") -> str | None:
    """Why the case fails, or None."""
    label, inputs, expected = case["function"], decoded(case["inputs"]), decoded(case["expected"])
    adapter = adapters.get(label) if isinstance(label, str) else None
    if adapter is None and suite == "paired_rates":  # its labels name numbers of one table of pairs
        from tests.reference.vectors_core import paired_rates_as

        adapter = paired_rates_as(str(label))
    if adapter is None:
        return f"unknown function label {label!r}; add an adapter to a CASES mapping"
    if not isinstance(inputs, dict):
        return "inputs is not a mapping"
    must = expected.get("must") if isinstance(expected, Mapping) else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = adapter(inputs)
        except PerpendError as error:
            return None if isinstance(must, list) and "error" in must else f"{type(error).__name__}: {error}"
    answer = Answer(result.value, result.cautions) if isinstance(result, Estimate) else result
    answer = answer if isinstance(answer, Answer) else Answer(answer)
    if not isinstance(must, list):
        limits = case.get("tolerance") or {"abs": 1e-9}
        return difference(answer.value, expected, {k: float(v) for k, v in dict(limits).items()}, label)
    happened = {
        "null": is_null(answer.value),
        "empty": isinstance(answer.value, (Sequence, Mapping, np.ndarray)) and len(answer.value) == 0,
        "warning": bool(answer.cautions or caught) and not is_null(answer.value),
    }
    if any(happened.get(str(outcome), False) for outcome in must):
        return None
    return f"{label}: got {answer.value!r} with {len(answer.cautions)} cautions, must be one of {must}"


def run(folder: Path, adapters: Mapping[str, Adapter]) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """Passed and failed cases of each suite, but those of `LET_GO`, and what each failure was."""
    tally: dict[str, tuple[int, int]] = {}
    failures: list[str] = []
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        suite = content.get("suite", path.stem)
        kept = [case for case in content["cases"] if case["id"] not in LET_GO]
        found = [(case["id"], failure(case, adapters, suite)) for case in kept]
        bad = [f"{name}: {told}" for name, told in found if told]
        tally[suite] = (len(found) - len(bad), len(bad))
        failures += bad
    return tally, failures


def main(arguments: Sequence[str]) -> int:
    """Print passed and failed per suite; 0 when all pass, 1 when any fails, 2 when there is nothing to run."""
    from tests.reference import vectors_calibration, vectors_core, vectors_decisions

    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m tests.reference.vectors DIR (a folder of *.json case files)", file=sys.stderr)
        return 2
    adapters = {**vectors_decisions.CASES, **vectors_core.CASES, **vectors_calibration.CASES}
    tally, failures = run(Path(arguments[0]), adapters)
    if not tally:
        print(f"no *.json files in {arguments[0]}", file=sys.stderr)
        return 2
    for suite, (passed, failed) in tally.items():
        print(f"{suite:<24} {passed:>4} passed {failed:>4} failed")
    print(f"{'all':<24} {sum(p for p, _ in tally.values()):>4} passed {len(failures):>4} failed")
    for told in failures:
        print(f"FAILED {told}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
