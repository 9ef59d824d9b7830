"""What a study is to everything that derives, proves and shows: its numbers, and how they are told.

Reports cite, they do not compute: `metrics` states every number that anybody will print, metrics.json holds them, and
`report` is given nothing but what metrics.json holds. This is the only place that writes and reads metrics.json.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from perpend.canon import (
    JSON,
    as_list,
    as_object,
    dumps,
    list_of,
    object_of,
    pretty,
    read_object,
    text_of,
    whole_of,
    write_atomic,
)
from perpend.errors import DataError, SpecError, StoreError, check_format, did_you_mean
from perpend.inert import markdown, one_line, plain
from perpend.judging.cues import RULES as RULE_FILE
from perpend.judging.scorers import SCORERS
from perpend.ledger.manifest import Manifest
from perpend.measure.column import Column
from perpend.measure.table import IMPORTED, Table
from perpend.types import Caution, Estimate, Number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRICS = "metrics.json"
RULES = "rules"
"""By which words and weights the scorers of ours judged, where there is one of them."""
OURS = frozenset(f"{name}@2" for name, versions in SCORERS.items() if versions[-1].version == "2")
FORMAT = 4


@dataclass(frozen=True, slots=True)
class Metric:
    """One Estimate and where it comes from: its name, the scorer's column, the slice, and the digest of its columns."""

    name: str
    scorer: str
    where: Mapping[str, str]
    estimate: Estimate
    columns_sha256: str = ""

    def as_json(self) -> dict[str, JSON]:
        """The entry in metrics.json."""
        return {
            "metric": self.name,
            "scorer": self.scorer,
            "where": dict(self.where),
            "columns_sha256": self.columns_sha256,
            **self.estimate.as_json(),
        }

    def __repr__(self) -> str:
        return one_line(f"Metric({self}: {self.estimate})")

    def __str__(self) -> str:
        place = ", ".join(f"{key} {value}" for key, value in self.where.items())
        return f"{self.name} of {self.scorer or 'the run'}" + (f" at {place}" if place else "")


@dataclass(frozen=True)
class Numbers:
    """What metrics.json holds, with the manifests of the runs that it is of."""

    metrics: tuple[Metric, ...]
    manifests: tuple[Manifest, ...] = ()
    _by_name: dict[tuple[str, str], list[Metric]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for metric in self.metrics:
            self._by_name.setdefault((metric.name, metric.scorer), []).append(metric)
            self._by_name.setdefault((metric.name, "*"), []).append(metric)

    def __repr__(self) -> str:
        return one_line(f"Numbers({', '.join(self.runs)}: {len(self.metrics)} metrics)")

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(manifest.run for manifest in self.manifests)

    def find(self, name: str, scorer: str = "*", **where: str) -> list[Metric]:
        """Every metric of that name and slice, in the order of metrics.json; none where there is none."""
        rows = self._by_name.get((name, scorer), [])
        return [row for row in rows if all(row.where.get(key) == value for key, value in where.items())]

    def part(self, scorer: str, **where: str) -> Numbers:
        """The numbers of one scorer and slice, as Numbers of their own."""
        kept = (m for m in self.metrics if m.scorer == scorer and where.items() <= m.where.items())
        return Numbers(tuple(kept), self.manifests)

    def cite(self, name: str, scorer: str = "*", **where: str) -> Estimate:
        """The one Estimate of that name, scorer and slice. An unknown or ambiguous one is an error."""
        rows = self.find(name, scorer, **where)
        if len(rows) == 1:
            return rows[0].estimate
        if not rows:
            known = {metric.name for metric in self.metrics}
            hint = did_you_mean(name, known) if name not in known else f"it has {_slices(self.find(name))}"
            raise SpecError(f"metrics.json has no {name!r} of {scorer} with {where}; {hint}")
        raise SpecError(f"{name!r} of {scorer} with {where} is {len(rows)} numbers ({rows[0]}; {rows[1]} …); say more")

    def get(self, name: str, scorer: str = "*", **where: str) -> Estimate | None:
        """`cite`, or None where metrics.json has no such number."""
        rows = self.find(name, scorer, **where)
        return rows[0].estimate if rows else None


def _slices(metrics: Sequence[Metric], most: int = 5) -> str:
    shown = "; ".join(f"{metric.scorer} {dict(metric.where)}" for metric in metrics[:most])
    return shown + (" …" if len(metrics) > most else "")


def body_of(runs: Sequence[str], metrics: Iterable[Metric], names: Mapping[str, JSON]) -> dict[str, JSON]:
    """The body of metrics.json. `names` are the same numbers by the names of a study's seed."""
    stated = list(metrics)
    body: dict[str, JSON] = {"format": FORMAT, "metrics": [metric.as_json() for metric in stated]}
    body |= {"run": runs[0]} if len(runs) == 1 else {"runs": list(runs)}
    if any(metric.scorer in OURS for metric in stated):
        body[RULES] = f"perpend@2, sha256 {_digest()}"
    clash = sorted(body.keys() & names.keys())
    if clash:
        raise SpecError(f"a study names a number {clash[0]!r}, which metrics.json uses itself; rename it")
    return {**names, **body}


@cache
def _digest() -> str:
    """SHA-256, in hex, of the packaged words and weights."""
    return hashlib.sha256(RULE_FILE.read_bytes()).hexdigest()


def write_metrics(folder: Path, runs: Sequence[str], metrics: Iterable[Metric], names: Mapping[str, JSON]) -> None:
    """Write metrics.json into a folder."""
    write_atomic(folder / METRICS, metrics_text(body_of(runs, metrics, names)))


def metrics_text(body: Mapping[str, JSON]) -> str:
    """The body of metrics.json as canonical JSON, with one line per metric so that a diff shows which changed."""
    lines = ",\n".join(f"    {dumps(metric)}" for metric in as_list(body.get("metrics")))
    rest = pretty({**body, "metrics": []})
    head, _, tail = rest.partition('\n  "metrics": []')
    return f'{head}\n  "metrics": [\n{lines}\n  ]{tail}' if lines else rest


def read_metrics(folder: Path) -> Mapping[str, JSON]:
    """The body of metrics.json, as it is. A file that cannot be read, or of another format, is a StoreError."""
    path = folder / METRICS
    if not path.exists():
        raise StoreError(f"{folder}: there is no {METRICS}; 'perpend score' writes it")
    body = read_object(path, StoreError, within=folder)
    check_format(body.get("format"), FORMAT, path)
    return body


def numbers_of(body: Mapping[str, JSON], manifests: Sequence[Manifest], where: str = METRICS) -> Numbers:
    """The Numbers that the body of metrics.json states. What it does not state does not exist."""
    try:
        return Numbers(
            tuple(metric_of(as_object(entry), where) for entry in list_of(body, "metrics", where)), tuple(manifests)
        )
    except DataError as error:
        raise StoreError(str(error)) from None


def metric_of(entry: Mapping[str, JSON], where: str) -> Metric:
    """The Metric of which `as_json` gave this."""
    return Metric(
        name=text_of(entry, "metric", where),
        scorer=text_of(entry, "scorer", where),
        where={key: str(value) for key, value in object_of(entry, "where", where).items()},
        estimate=Estimate(
            value=_float(entry.get("value")),
            n=whole_of(entry, "n", where),
            lo=_float(entry.get("lo")),
            hi=_float(entry.get("hi")),
            method=text_of(entry, "method", where),
            note=text_of(entry, "note", where),
            level=_float(entry.get("level")) or 0.95,
            also={key: _number(value) for key, value in object_of(entry, "also", where).items()},
            cautions=tuple(
                Caution(str(one.get("id")), str(one.get("text")), _float(one.get("number")))
                for one in map(as_object, as_list(entry.get("cautions")))
            ),
        ),
        columns_sha256=text_of(entry, "columns_sha256", where),
    )


def _float(value: JSON) -> float | None:
    """A number as it is: an integer stays one, so that what is written again is the same."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: JSON) -> Number:
    return value if isinstance(value, bool | int | float | str) else None


def plain_metrics(table: Table) -> Iterator[Metric]:
    """For every scorer, model and setting: the rate in each condition, and each condition paired with the first.

    A setting is a temperature, with every other parameter of the samplings that varies: top_p, max_tokens, seed.

    A column of other values than 0 and 1 (a confidence) gives its mean instead, and no pairs. Of one without any value,
    the rates are undefined; a text that was imported and a scorer that can judge none of the items give nothing.
    """
    for column in map(table.column, table.scorers):  # one at a time: memory
        if column.defined.any() or _could_have_values(column, table):
            yield from _of_column(column)


def _could_have_values(column: Column, table: Table) -> bool:
    if ":" in column.name or column.name.endswith(f"@{IMPORTED}"):
        return False
    unfit = table.unfit(column.name)
    return unfit is not None and len(unfit) < len(table.items) and bool(table.answers.answered.any())


def _of_column(column: Column) -> Iterator[Metric]:
    table = column.table
    conditions = table.values("condition")
    binary = column.is_binary
    for cell in table.grid_of(table.cell_keys()):
        rows = column.where(**cell)
        if not len(rows.rows):
            continue
        for condition in conditions:
            one = rows.where(condition=condition)
            where = {**cell, "condition": condition}
            estimate = one.rate() if binary else one.mean()
            yield Metric("rate" if binary else "mean", column.name, where, estimate, one.digest())
        digest = rows.digest() if binary and conditions[1:] else ""
        for condition in conditions[1:] if binary else ():
            pair = rows.pair(conditions[0], condition)
            where = {**cell, "condition": f"{conditions[0]} → {condition}"}
            for name, estimate in (
                ("difference", pair.difference()),
                ("override", pair.override()),
                ("rescue", pair.rescue()),
            ):
                yield Metric(name, column.name, where, estimate, digest)


Drawn: TypeAlias = bool | Literal["all"]
"""Which figures are drawn: none, the few that answer the question, or all that the study has."""
Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class TableOf:
    """Rows under named columns, written as tables/<name>.csv at full precision; None is an empty cell."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class FigureOf:
    """A figure, written as figures/<name>.png and .pdf; `draw` takes nothing: it has its values already."""

    name: str
    draw: Callable[[], Figure]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and Markdown below it; words of models and authors in it are inert already."""

    title: str
    text: str


ANSWER_LINES = 5
"""The most sentences that an answer has; more are a report."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a study says: the answer, then Markdown, tables, figures, and other text files by name.

    `answer` is up to five sentences of plain text, the numbers in them cited; the terminal shows them, report.md begins
    with them. `cautions` are sentences of plain text, too. `headline` is Markdown.
    """

    title: str
    headline: str
    sections: tuple[Section, ...] = ()
    tables: tuple[TableOf, ...] = ()
    figures: tuple[FigureOf, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    answer: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = ("sections", "tables", "figures", "files")
        sizes = ", ".join(f"{len(getattr(self, name))} {name}" for name in parts)
        return one_line(f"Report({self.title!r}: {sizes})")

    def page(self) -> str:
        """report.md."""
        answer = "\n".join(f"- {markdown(sentence)}" for sentence in self.answer)
        parts = [f"# {self.title}", answer, self.headline]
        parts += [f"## {part.title}\n\n{part.text}" for part in self.sections]
        return "\n\n".join(part for part in parts if part) + "\n"


def answer_in(page: str) -> list[str]:
    """The answer that a report.md begins with, as plain text; nothing where it begins otherwise."""
    lines = page.split("\n", 2 + ANSWER_LINES)[2 : 2 + ANSWER_LINES]
    return [plain(line.removeprefix("- ")) for line in itertools.takewhile(lambda line: line.startswith("- "), lines)]


class Study(Protocol):
    """The face of a study for deriving; each study's module has one as STUDY."""

    def metrics(self, table: Table) -> Iterator[Metric]:
        """Every number that the study prints, beside the rates and pairs that every run states."""
        ...

    def report(self, numbers: Numbers, *, figures: bool = True) -> Report:
        """What is told of the numbers. Looks numbers up and computes none; without `figures` it links to none."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files that a study, or an importer, reads as runs: how it is known, and how it is read.

    `read` makes a run directory at its second argument and returns it. `parts` says of a folder that is one, which
    files in it are runs of their own, by the names that these get.
    """

    name: str
    is_one: Callable[[Path], bool]
    read: Callable[[Path, Path], Path]
    parts: Callable[[Path], Mapping[str, Path]] = lambda folder: {folder.name: folder}


def formats_of(study: Study) -> Sequence[Format]:
    """The formats that a study reads; none unless it says so as `formats`."""
    formats: Sequence[Format] = getattr(study, "formats", ())
    return formats


def all_figures_of(study: Study, numbers: Numbers) -> tuple[FigureOf, ...]:
    """The figures that are drawn on request, beside those of the report; none unless the study has `all_figures`."""
    maker: Callable[[Numbers], Iterable[FigureOf]] | None = getattr(study, "all_figures", None)
    return () if maker is None else tuple(maker(numbers))


def names_of(study: Study, metrics: Sequence[Metric], manifests: Sequence[Manifest]) -> Mapping[str, JSON]:
    """The same numbers by the names of the study's seed, written beside them; none unless it has `seed_names`."""
    maker: Callable[[Numbers], Mapping[str, JSON]] | None = getattr(study, "seed_names", None)
    return {} if maker is None else maker(Numbers(tuple(metrics), tuple(manifests)))


def stored_labels_of(study: Study) -> Mapping[str, str]:
    """The stored columns that must agree with a scorer of ours; none unless the study says so as `stored_labels`."""
    labels: Mapping[str, str] = getattr(study, "stored_labels", {})
    return labels


def reference_labels_of(study: Study) -> Mapping[str, str]:
    """As `stored_labels_of`, for columns that only some rows state; none unless it says so as `reference_labels`."""
    labels: Mapping[str, str] = getattr(study, "reference_labels", {})
    return labels
