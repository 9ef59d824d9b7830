"""Measure facts again: python -m perpend.studies.logic.chaos.measure --check [--sample N --seed S].

Also freezes them: --build DIR measures every system into DIR, --collect DIR writes facts.jsonl from it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click
import numpy as np

from perpend.errors import AuditFailure, PerpendError, SpecError, did_you_mean
from perpend.inert import guard_output, say, say_page
from perpend.studies.logic.chaos.build import build, collect, remeasured
from perpend.studies.logic.chaos.dysts_adapter import INSTALL, dysts_systems
from perpend.studies.logic.chaos.records import Record, load_records
from perpend.studies.logic.chaos.system import System
from perpend.studies.logic.chaos.systems import core_systems

# Absolute tolerances of the indicators, from their scatter over starts; exponents carry their own errors.
_TOLERANCE = {"zero_one": 0.15, "permutation_entropy": 0.03}
_SIGMAS = 8.0


def differences(old: Record, new: Record) -> list[str]:
    """What does not hold any more: facts that turned round, numbers out of tolerance. Nothing where both agree."""
    lines = [
        f"{old.id}: {name} was {value}, is {new.facts[name]}"
        for name, value in old.facts.items()
        if new.facts.get(name, value) is not value
    ]
    before, after = old.numbers.get("lyapunov"), new.numbers.get("lyapunov")
    errors = old.numbers.get("lyapunov_error")
    if isinstance(before, list) and isinstance(after, list) and isinstance(errors, list):
        unit = float(str(old.numbers["unit"]))
        for i, (x, y, e) in enumerate(zip(before, after, errors, strict=True)):
            if abs(x - y) > _SIGMAS * e + 2e-3 / unit:
                lines.append(f"{old.id}: Lyapunov exponent {i + 1} was {x} ± {e}, is {y}")
    for name, tolerance in _TOLERANCE.items():
        was, now = old.numbers.get(name), new.numbers.get(name)
        if isinstance(was, float) and isinstance(now, float) and abs(was - now) > tolerance:
            lines.append(f"{old.id}: {name} was {was}, is {now}")
    return lines


def systems_like(pattern: str) -> Mapping[str, System]:
    """Core systems whose ids match a pattern; the dysts ones, which need that package, where it begins with 'dysts'."""
    systems = dysts_systems() if pattern.startswith("dysts") else core_systems()
    chosen = {name: system for name, system in systems.items() if fnmatchcase(name, pattern)}
    if not chosen:
        raise SpecError(f"no system is called {pattern!r}; {did_you_mean(pattern, systems)}")
    return chosen


def check(records: Iterable[Record], systems: Mapping[str, System]) -> tuple[int, list[str]]:
    """Measure records of these systems again, leaving out others: the facts compared, and every difference."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.system_id in systems:
            groups.setdefault(record.system_id, []).append(record)
    compared, lines = 0, []
    for system_id, group in groups.items():
        again = {row.id: row for row in remeasured(systems[system_id], [record.instance for record in group])}
        for record in group:
            compared += len(record.facts)
            lines += differences(record, again[record.id])
    return compared, lines


def sample(records: Sequence[Record], size: int, seed: int) -> list[Record]:
    """`size` records drawn without replacement; all of them where there are fewer."""
    picks = np.random.default_rng(seed).permutation(len(records))[:size]
    return [records[i] for i in sorted(picks.tolist())]


_EPILOG = f"""\b
Examples:
  --check --sample 20 --seed 1      20 instances of the core systems
  --check --only 'lorenz*'          every instance of some systems
  --check --only 'dysts_sprott*'    needs the package: {INSTALL}
  --build DIR                       then the same with --only 'dysts_*', then --collect DIR
"""


@click.command(epilog=_EPILOG)
@click.option("--check", "checking", is_flag=True, help="Measure frozen instances again and compare.")
@click.option("--sample", "size", type=click.IntRange(min=1), help="Check only N instances, sampled with --seed.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--only", default="*", help="Systems with ids like this. Default: the core systems, and no 'dysts_…'.")
@click.option("--build", "target", type=click.Path(path_type=Path, file_okay=False), help="Measure systems into DIR.")
@click.option(
    "--collect", "source", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Freeze what is in DIR."
)
def main(*, checking: bool, size: int | None, seed: int, only: str, target: Path | None, source: Path | None) -> None:
    """Measure the frozen chaos-logic facts again, or make them anew."""
    if not checking and target is None and source is None:
        raise click.UsageError("say what to do: --check, --build DIR or --collect DIR")
    try:
        if target is not None:
            build(systems_like(only), target)
        if source is not None:
            systems, instances = collect(source)
            say(f"{instances} instances of {systems} systems")
        if checking:
            _report(systems_like(only), size, seed)
    except PerpendError as e:
        say_page(f"{e}\n", err=True)
        sys.exit(e.exit_code)


def _report(systems: Mapping[str, System], size: int | None, seed: int) -> None:
    records = [record for record in load_records() if record.system_id in systems]
    picks = records if size is None else sample(records, size, seed)
    compared, lines = check(picks, systems)
    for line in lines:
        say(line, err=True)
    if lines:
        raise AuditFailure(f"{len(lines)} differences in {compared} facts; the lines above name them")
    say(f"{compared} facts of {len(picks)} instances measured again: no difference")


if __name__ == "__main__":
    guard_output()
    main()
