"""show RUN: what was asked, how far it is, and what the newest scorers say, as text for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perpend.canon import JSON
from perpend.inert import one_line
from perpend.ledger.digest import content_digest
from perpend.ledger.plan import read_sampling
from perpend.measure.column import Column
from perpend.measure.run import Run
from perpend.measure.samplings import PARAMETERS, TEMPERATURE, parameter_text
from perpend.measure.stopped import DIFFERENCE, LOOKS, RATE, stop_metrics
from perpend.measure.table import IMPORTED, Table
from perpend.report.answer import counted
from perpend.report.columns import on_their_own
from perpend.report.stopped import decisive, how_it_ended, sentence
from perpend.report.tables import LONGEST, WIDEST, terminal_table, wrapped
from perpend.types import Estimate, Sampling

_MOST, _NAMED, _SCORES = 8, 8, 5
_FINE = 1000
"""Trials from which on a percentage has a decimal."""


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """One model under one condition at one setting: trials, and what each scorer came to (a share or a mean).

    `setting` has the temperature, and every other parameter of the samplings that varies.
    """

    model: str
    condition: str
    setting: Mapping[str, str]
    planned: int
    answered: int
    failed: int
    rates: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Overview:
    """A run as `show` prints it. `scorers` are the newest versions that gave any value, `shares` those of 0 and 1."""

    facts: Mapping[str, str]
    rows: tuple[OverviewRow, ...]
    scorers: tuple[str, ...]
    shares: frozenset[str]
    status: Mapping[str, JSON]

    def as_json(self) -> dict[str, JSON]:
        """The state of the run, and one record for each model, condition and setting."""
        rows: list[JSON] = [
            {
                "model": row.model,
                "condition": row.condition,
                **row.setting,
                "planned": row.planned,
                "answered": row.answered,
                "failed": row.failed,
                "rates": {name: one.as_json() for name, one in row.rates.items()},
            }
            for row in self.rows
        ]
        return {**self.status, **self.facts, "rows": rows}

    def as_text(self) -> str:
        """Facts, then tables no wider than the terminal."""
        widest = max(map(len, self.facts))
        lines = [f"{name:<{widest}}  {one_line(text)}" for name, text in self.facts.items()]
        folded = [part for line in lines for part in wrapped(line, " " * (widest + 2))]
        return "\n".join([*folded, "", *self._tables()]) + "\n"

    def _tables(self) -> Iterable[str]:
        places = [{"model": row.model, "condition": row.condition, **row.setting} for row in self.rows]
        several = [key for key in ("model", *PARAMETERS) if len({place.get(key) for place in places}) > 1]
        keys = [*(["model"] if "model" in several else []), "condition", *(key for key in several if key != "model")]
        names = [[place.get(key, "") for key in keys] for place in places]
        counts = [[str(row.answered), str(row.failed)] for row in self.rows]
        shown = self.scorers[:_MOST]
        cells = [[_rate(row.rates[name], is_share=name in self.shares) for row in self.rows] for name in shown]
        head, rows, numbers = [*keys, "answered", "failed"], [a + b for a, b in zip(names, counts, strict=True)], 2
        room = WIDEST - _width(head, rows)
        for name, column in zip(map(_shortened, shown), cells, strict=True):
            needed = max(len(name), *map(len, column)) + 2
            if needed > room and numbers:
                yield terminal_table(head, rows, numbers) + "\n"
                head, rows, numbers = [*keys], [list(row) for row in names], 0
                room = WIDEST - _width(head, rows)
            head, rows, numbers = [*head, name], [[*a, b] for a, b in zip(rows, column, strict=True)], numbers + 1
            room -= needed
        yield terminal_table(head, rows, numbers) + "\n"
        if len(self.scorers) > _MOST:
            yield f"{len(self.scorers) - _MOST} more scorers: name one with --scorer."
        if self.scorers:
            yield "A rate is the share of 1 among the n trials that have a score, with its 95% interval."
        if set(shown) - self.shares:
            yield "Of scores other than 0 and 1 it is the mean."


def _width(head: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    return sum(min(LONGEST, max(len(name), *(len(row[n]) for row in rows))) + 2 for n, name in enumerate(head))


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[1 - LONGEST // 2 :]}"


def overview(run: Run, scorers: Sequence[str] = ()) -> Overview:
    """What was asked of a run and what came of it. `scorers` are what to show instead of all newest ones."""
    table = run.table
    columns = [table.column(name) for name in (scorers or on_their_own(newest(run)))]
    columns = [column for column in columns if scorers or column.defined.any() or _is_due(column, table)]
    shares = {column.name for column in columns if column.is_binary}
    with run.open() as store:
        cells = store.cells()
        datasets = store.datasets()
    counts: dict[tuple[str, ...], list[int]] = {}
    for cell in cells:
        sampling = read_sampling(cell.sampling)
        setting = (parameter_text(key, sampling) for key in table.settings)
        own = counts.setdefault((cell.model, cell.condition, *setting), [0, 0, 0])
        for place, count in enumerate((cell.planned, cell.answered, cell.failed)):
            own[place] += count
    rows = tuple(_row(columns, shares, table.settings, place, own) for place, own in counts.items())
    totals = [sum(count[place] for count in counts.values()) for place in range(3)]
    rows, looked = valid_at_looks(run, rows)
    files = [Path(dataset.path).name for dataset in datasets]
    return Overview(
        _facts(run, table, totals, files) | looked,
        rows,
        tuple(c.name for c in columns),
        frozenset(shares),
        run.status(),
    )


def valid_at_looks(run: Run, rows: Sequence[OverviewRow]) -> tuple[tuple[OverviewRow, ...], dict[str, str]]:
    """The rows of a run with a stopping rule, its rule's scores as of the last look; and how its looks ended."""
    metrics = list(stop_metrics(run)) if run.manifest.stop is not None else []
    looked = [metric.estimate for metric in metrics if metric.name == LOOKS]
    if run.manifest.stop is None or not looked:
        return tuple(rows), {}
    at_look = {(metric.scorer, metric.where["condition"]): metric.estimate for metric in metrics if metric.name == RATE}
    changed = tuple(
        replace(row, rates={name: at_look.get((name, row.condition), one) for name, one in row.rates.items()})
        for row in rows
    )
    facts = {"looks": how_it_ended(looked[0], run.manifest.stop.when)}
    if at_look:
        names = ", ".join(dict.fromkeys(name for name, _ in at_look))
        facts["interval"] = f"that of {names} is of the last look, valid there; others are for a fixed number of items"
    for metric in decisive(metrics, run.manifest)[:_NAMED]:
        if metric.name == DIFFERENCE:
            facts["difference"] = " ".join(filter(None, (facts.get("difference"), sentence(metric))))
    return changed, facts


def _is_due(column: Column, table: Table) -> bool:
    """Whether a column without a value should have some: it is no import's, and its scorer can judge an item."""
    unfit = table.unfit(column.name)
    is_own = not column.name.endswith(f"@{IMPORTED}") and bool(table.answers.answered.any())
    return is_own and unfit is not None and len(unfit) < len(table.items)


def _row(
    columns: Sequence[Column], shares: Iterable[str], settings: Sequence[str], place: Sequence[str], own: Sequence[int]
) -> OverviewRow:
    model, condition, *texts = place
    setting = dict(zip(settings, texts, strict=True))
    rates = {}
    for column in columns:
        part = column.where(model=model, condition=condition, **setting)
        rates[column.name] = part.rate() if column.name in shares else part.mean()
    planned, answered, failed = own
    return OverviewRow(model, condition, setting, planned, answered, failed, rates)


def newest(run: Run) -> list[str]:
    """The newest version of each scorer: first those that the manifest names, in its order, then the others."""
    stems = [name.partition("@")[0] for name in (*run.manifest.scorers, *run.table.scorers)]
    return [run.table.full_name(stem) for stem in dict.fromkeys(stems) if run.table.has(stem)]


def _facts(run: Run, table: Table, totals: Sequence[int], files: Sequence[str]) -> dict[str, str]:
    manifest = run.manifest
    planned, answered, failed = totals
    models = [one.label if one.label == one.name else f"{one.label} ({one.name})" for one in manifest.models]
    state = [counted(planned, "trial"), f"{answered} answered", f"{failed} failed"]
    left = planned - answered - failed
    is_stopped = len(table.items) < manifest.items.n and manifest.stop is not None
    state += [f"{left} not {'needed' if is_stopped else 'asked yet'}"] if left > 0 else []
    items = f"{len(table.items)}" + (f" of {manifest.items.n}" if is_stopped else "")
    items += f", from {_listed(files)}" if files else ""
    source = manifest.source_of_import
    facts = {
        "run": run.name,
        "task": manifest.task + (f", imported from {source.get('format')}" if source is not None else ""),
        "items": items,
        "models" if len(models) > 1 else "model": _listed(models),
        "conditions" if len(manifest.conditions) > 1 else "condition": _listed(one.name for one in manifest.conditions),
        "sampling": "; ".join(dict.fromkeys(_sampling(one, table.settings) for one in manifest.samplings)),
        "state": ", ".join(state),
        "digest": content_digest(run.directory),
    }
    if manifest.repeats > 1:
        facts["sampling"] += f"; each {manifest.repeats} times"
    if not any(table.has(name) for name in manifest.scorers):
        facts["scores"] = ("only those of the source" if table.scorers else "none") + "; 'perpend score' adds ours"
    return facts


def _sampling(one: Sampling, settings: Sequence[str]) -> str:
    limit = f", up to {one.max_tokens} tokens" if one.max_tokens else ""
    others = [key for key in settings if key not in (TEMPERATURE, "max_tokens")]
    return f"temperature {one.temperature:g}{limit}" + "".join(f", {key} {parameter_text(key, one)}" for key in others)


def _listed(names: Iterable[str], most: int = _NAMED) -> str:
    every = list(dict.fromkeys(names))
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def _rate(one: Estimate, *, is_share: bool) -> str:
    """'95% [88, 98] n=40', of other numbers '0.53 [0.50, 0.56] n=40', 'NA' where it is undefined."""
    if one.value is None:
        return "NA"
    scale, places = (100.0, 0 if one.n < _FINE else 1) if is_share else (1.0, 3)
    ends = "" if one.lo is None or one.hi is None else f" [{scale * one.lo:.{places}f}, {scale * one.hi:.{places}f}]"
    return f"{scale * one.value:.{places}f}{'%' * is_share}{ends} n={one.n}"


def import_line(path: Path) -> str:
    """What an import took in: samples, errors, stored scores. Of what is no run, its path."""
    if not (path / "run.db").is_file():
        return str(path)
    run = Run(path)
    with run.open() as store:
        cells = store.cells()
        stored = {
            name: sum(value is not None for _, value in store.score_values(name, version))
            for name, version in store.scorers()
            if version == IMPORTED
        }
    planned, failed = sum(cell.planned for cell in cells), sum(cell.failed for cell in cells)
    parts = [counted(planned, "sample"), counted(failed, "error")]
    absent = planned - failed - sum(cell.answered for cell in cells)
    parts += [f"{absent} without an answer"] if absent else []
    scores = [f"{name.removeprefix('stored_')} ({count})" for name, count in stored.items() if count]
    parts.append(f"scores: {_listed(scores, _SCORES)}" if scores else "no scores")
    notes = (run.manifest.source_of_import or {}).get("notes")
    ending = f" {counted(len(notes), 'note')} in manifest.json." if isinstance(notes, Mapping) and notes else ""
    return f"{path}: {', '.join(parts)}.{ending}"
