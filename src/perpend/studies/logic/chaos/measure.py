"""Measure facts again: python -m perpend.studies.logic.chaos.measure --check [--sample N --seed S].

The check uses the second method alone. Also makes them: --build FILE measures every system piece by piece into a work
file and goes on where it was stopped, --collect FILE writes facts.jsonl from it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click
import numpy as np

from perpend.errors import AuditFailure, PerpendError, SpecError, did_you_mean
from perpend.inert import guard_output, say, say_page
from perpend.studies.logic.chaos.dysts_adapter import INSTALL, dysts_systems
from perpend.studies.logic.chaos.measuring.build import build, collect, known_systems
from perpend.studies.logic.chaos.measuring.check import check
from perpend.studies.logic.chaos.records import Record, load_records
from perpend.studies.logic.chaos.system import System
from perpend.studies.logic.chaos.systems import core_systems


def systems_like(pattern: str) -> Mapping[str, System]:
    """Core systems whose ids match a pattern; the dysts ones, which need that package, where it begins with 'dysts'.

    'all': both.
    """
    if pattern == "all":
        return known_systems(core_only=False)
    systems = dysts_systems() if pattern.startswith("dysts") else core_systems()
    chosen = {name: system for name, system in systems.items() if fnmatchcase(name, pattern)}
    if not chosen:
        raise SpecError(f"no system is called {pattern!r}; {did_you_mean(pattern, systems)}")
    return chosen


def sample(records: Sequence[Record], size: int, seed: int) -> list[Record]:
    """`size` records drawn without replacement; all of them where there are fewer."""
    picks = np.random.default_rng(seed).permutation(len(records))[:size]
    return [records[i] for i in sorted(picks.tolist())]


_EPILOG = f"""\b
Examples:
  --check --sample 20 --seed 1      20 instances of the core systems
  --check --only 'lorenz*'          every instance of some systems
  --check --only 'dysts_sprott*'    needs the package: {INSTALL}
  --build work.jsonl --only all     every system; stop it and start it again at will
  --collect work.jsonl              freezes what is finished
"""


@click.command(epilog=_EPILOG)
@click.option("--check", "checking", is_flag=True, help="Measure frozen instances again and compare.")
@click.option("--sample", "size", type=click.IntRange(min=1), help="Check only N instances, sampled with --seed.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--only", default="*", help="Systems with ids like this, or 'all'. Default: the core ones.")
@click.option("--build", "target", type=click.Path(path_type=Path, dir_okay=False), help="Measure into a work file.")
@click.option(
    "--collect", "source", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Freeze a work file."
)
def main(*, checking: bool, size: int | None, seed: int, only: str, target: Path | None, source: Path | None) -> None:
    """Measure the frozen chaos-logic facts again, or make them anew."""
    if not checking and target is None and source is None:
        raise click.UsageError("say what to do: --check, --build FILE or --collect FILE")
    try:
        if target is not None:
            build(tuple(systems_like(only)), target)
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
    done = check(picks, systems)
    for line in done.lines:
        say(line, err=True)
    if done.lines:
        raise AuditFailure(f"{len(done.lines)} differences in {done.compared} comparisons; the lines above name them")
    say(f"{done.compared} facts and exponents of {done.instances} instances measured again: no difference")
    if done.instances < len(picks):
        say(f"{len(picks) - done.instances} instances with noise or of exact maps are known without measuring")


if __name__ == "__main__":
    guard_output()
    main()
