"""What a Python program calls: the verbs of the command line as functions, with the same effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from perpend._make import AnyModel, models_given, task
from perpend.ask.asking import Outcome
from perpend.ask.given import on_disk
from perpend.ask.merging import merge as merge_shards
from perpend.ask.runner import Keeping, evaluate_task, task_of
from perpend.ask.task import Task, answer_key, declare_scorers, make_model, make_task
from perpend.errors import SpecError, did_you_mean
from perpend.ledger.shards import parse_shard
from perpend.spec.runspec import Limits, ModelSpec, RunSpec
from perpend.spec.stopping import stop_spec
from perpend.types import Sampling

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from perpend.measure.fitting import Fitted
    from perpend.measure.pilot import RunPlan
    from perpend.measure.run import Run
    from perpend.proof.publish import Published
    from perpend.report.compare_runs import RunComparison
    from perpend.report.derive import Derived
    from perpend.report.interactive import InteractiveRun
    from perpend.report.rank_runs import RunRanking
    from perpend.sweep.served import ServeCommand

Where: TypeAlias = "Mapping[str, str] | None"
Place: TypeAlias = "str | Path | Run"
"""A run directory, or the Run of it."""


def evaluate(  # noqa: PLR0913  each is one key of run.toml
    what: Task | str,
    models: AnyModel | Sequence[AnyModel],
    *,
    temperature: float | Sequence[float] = 0.0,
    max_tokens: int = 512,
    seed: int = 42,
    repeats: int = 1,
    max_items: int | None = None,
    stop_when: str | None = None,
    look_every: int | None = None,
    limits: Limits | None = None,
    name: str | None = None,
    out: str | Path = "runs",
    durable: bool = False,
    accept_loss: bool = False,
    shard: str | None = None,
    scratch: str | Path | None = None,
    quiet: bool = False,
) -> InteractiveRun:
    """Ask, keep, score, report; resume if the run exists. Returns the Run, whose columns answer questions.

    `models` is one or several of: a name such as 'mock/subject', what `pp.model` returns, a function that answers.
    `stop_when` ends the run as soon as a rule such as 'width(correct) < 0.05' holds, which is looked at after every
    `look_every` items. With `shard`, such as '3/8', only that part is asked, into a ledger of its own, and nothing is
    scored: `merge` puts the parts together. With `scratch`, a folder on a local disk, that ledger is there, and a copy
    of it is put below the run at the end. `durable` waits for the disk at every commit: a power cut costs no answer.
    `accept_loss` resumes although answers are missing that were kept, and asks them again.
    """
    if scratch is not None and shard is None:
        raise SpecError("scratch is for one part of a run: give shard='K/N', too")
    kept_on = None if scratch is None else Path(scratch)
    keeping = Keeping(durable, accept_loss, None if shard is None else parse_shard(shard), kept_on)
    temperatures = [temperature] if isinstance(temperature, float | int) else temperature
    entries = models_given(models)
    specs = [entry if isinstance(entry, ModelSpec) else ModelSpec(entry.name, entry.name) for entry in entries]
    with on_disk(task(what) if isinstance(what, str) else what) as ready:
        spec = RunSpec(
            task=ready.name,
            models=tuple(specs),
            name=name,
            samplings=tuple(Sampling(float(t), max_tokens, seed) for t in temperatures),
            repeats=repeats,
            max_items=max_items,
            seed=seed,
            limits=limits or Limits(),
            stop=stop_spec(stop_when, look_every),
        )
        key = answer_key(spec, ready)
        asked = [make_model(e.name, e.options, *key) if isinstance(e, ModelSpec) else e for e in entries]
        outcome = evaluate_task(spec, ready, asked, Path(out), keeping=keeping, quiet=quiet)
        run = _run_of(outcome, ready)
    if keeping.shard is None:
        score(run)
    return run


def evaluate_spec(
    spec: RunSpec,
    out: Path,
    *,
    keeping: Keeping | None = None,
    scored: bool = True,
    serve: ServeCommand | None = None,
    quiet: bool = False,
) -> tuple[Outcome, Derived | None]:
    """Ask what a RunSpec says and, unless `scored` is False, score and report. `out` holds run directories.

    A shard, if `keeping` has one, is never scored. `serve` starts a server for each model.
    """
    from perpend.sweep.asking import ask_here

    what = task_of(spec)
    keeping = keeping or Keeping()
    outcome = ask_here(spec, what, out, keeping, serve=serve, quiet=quiet)
    is_scored = scored and keeping.shard is None
    return outcome, score(_run_of(outcome, what, spec.task)) if is_scored else None


def merge(
    run: str | Path, shards: str | Path | Sequence[str | Path] = (), *, trust_code: bool = False
) -> InteractiveRun:
    """Put the shards of a run, by default all in RUN/shards, together; score, report. Returns the Run.

    A set union of the answers: the order does not matter, nor whether a shard was merged before. A shard of another
    run, or one that answers a trial otherwise, is a StoreError that says what differs, and nothing is changed. Python
    files of the run are run only with `trust_code`; a run that has some is otherwise left unscored.
    """
    from perpend.report.interactive import InteractiveRun

    paths = [shards] if isinstance(shards, str | Path) else shards
    directory = merge_shards(Path(run), [Path(path) for path in paths]).directory
    merged = InteractiveRun(directory, trust_code=trust_code)
    if trust_code or not merged.manifest.python:
        score(merged)
    return merged


def judge(  # noqa: PLR0913  each is one flag of the verb
    run: Place,
    model: AnyModel | Sequence[AnyModel],
    *,
    rubric: str = "endorsed",
    sample: int | None = None,
    where: Where = None,
    by: Sequence[str] = ("model", "condition"),
    unscored_by: str | None = None,
    both_orders: bool = False,
    likelihoods: bool = False,
    seed: int = 42,
    temperature: float = 0.0,
    max_tokens: int = 512,
    limits: Limits | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> InteractiveRun:
    """Ask a model about the stored answers of a run, blind; the judge's own Run, beside the first. Resumes.

    `rubric` is 'endorsed', 'correct', 'stance' or a .toml file. `sample` answers are spread evenly over the strata of
    `by`; `unscored_by` keeps to answers that this scorer gives no value. `Run.with_judge` adds the verdicts to the
    first run as columns.
    """
    from perpend.ask.rubric import find_rubric
    from perpend.measure.judging import Selection
    from perpend.studies.judge.study import prepared

    judged = _run(run)
    chosen = Selection(sample, where or {}, tuple(by), seed, unscored_by)
    with prepared(judged, find_rubric(rubric), chosen, both_orders=both_orders, likelihoods=likelihoods) as (
        options,
        items,
    ):
        return evaluate(
            replace(make_task("judge", options), items=(items,)),
            model,
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
            limits=limits,
            name=name,
            out=judged.directory.parent if out is None else out,
            quiet=quiet,
        )


def fit(runs: Place | Sequence[Place], labels: str | Path, out: str | Path) -> Fitted:
    """Fit the weights of a rule file to labelled answers of runs, with perpend's as the prior, and write it to `out`.

    `labels` is a labels.jsonl, or a table, with labels for `correct` or `endorsed`. Precision and recall are cross-
    validated over items. Where no more verdicts are right than before it is an AuditFailure, and nothing is written.
    """
    from perpend.measure.fitting import fit_rules

    return fit_rules([_run(run) for run in _several(runs)], Path(labels), Path(out))


def score(
    run: Place,
    only: Sequence[str] = (),
    *,
    scorers: Sequence[str] = (),
    workers: int | None = None,
    trust_code: bool = False,
) -> Derived:
    """Score every stored answer again and write metrics.json, report.md and the tables beside the run.

    `only` names scorers. `scorers`, such as 'endorsed@mine.toml', are added to those that the run declares.
    `workers` is the number of processes, by default that of the cores where the run is large. A scorer that came from a
    Python file of the run itself is run only with `trust_code`.
    """
    from perpend.report.derive import derive

    if scorers:
        run = run if isinstance(run, str | Path) else run.directory
        declare_scorers(Path(run), scorers)
    opened = _run(run, trust_code=trust_code).alone()
    opened.score(only, workers=workers)
    return derive([opened], opened.directory, figures=False)


def analyze(
    runs: Place | Sequence[Place], out: str | Path, *, figures: bool | Literal["all"] = True, trust_code: bool = False
) -> Path:
    """Write metrics.json, report.md, tables and figures of one run, or of several as one sweep; the report's path.

    `figures` are the few that answer the study's question; 'all' draws every one that the study has.
    """
    from perpend.report.derive import derive

    opened = [_run(run, trust_code=trust_code) for run in _several(runs)]
    return derive(opened, Path(out), figures=figures).path


def plan(  # noqa: PLR0913  each is one flag of the verb
    run: Place,
    *,
    detect: float = 0.05,
    power: float = 0.8,
    alpha: float = 0.05,
    score: str | None = None,
    repeats: int | None = None,
    items: int | None = None,
    where: Where = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
) -> RunPlan:
    """How many items, repeats and requests a study needs to detect a difference, from a pilot run.

    `score` is the run's first unless given; with `items` the repeats are planned. `prices` are US dollars per million
    tokens in and out by the model's label, '' for all. A published folder, or a log that `convert` reads, is a pilot
    too. Undefined, with the reason, where the pilot cannot say.
    """
    from perpend._convert import as_run
    from perpend.measure.pilot import PlanRequest, plan_of

    request = PlanRequest(detect, power, alpha, score, repeats, items, prices or {}, where or {})
    if not isinstance(run, str | Path):
        return plan_of(run, request)
    with as_run(Path(run)) as opened:
        return plan_of(opened, request)


def publish(  # noqa: PLR0913  each is one flag of the verb
    runs: Place | Sequence[Place],
    to: str | Path = "published",
    *,
    accept: Mapping[str, str] | None = None,
    sign: str | Path | None = None,
    figures: bool | Literal["all"] = True,
    page: bool = False,
    trust_code: bool = False,
) -> list[Published]:
    """Check runs at the gates and publish copies that a stranger can verify. A gate that fails is an AuditFailure.

    `accept` maps the name of a gate that may fail to the reason why. `sign` is an SSH key's file. With `page` each has
    page.html, to read its trials in a browser.
    """
    from perpend.proof.publish import publish as publish_runs
    from perpend.view.published import PAGES

    opened = [_run(run, trust_code=trust_code) for run in _several(runs)]
    key = None if sign is None else Path(sign)
    pages = PAGES if page else None
    return publish_runs(opened, Path(to), accept or {}, key, figures=figures, page=pages, trust_code=trust_code)


def compare(  # noqa: PLR0913  each is one flag of the verb
    first: Place,
    second: Place,
    out: str | Path | None = None,
    *,
    first_where: Where = None,
    second_where: Where = None,
    columns: Sequence[str] = (),
    margin: float | None = None,
    weights: str = "",
    strata: str = "",
    shares: Mapping[str, float] | None = None,
    figures: bool = True,
) -> RunComparison:
    """The second run against the first, on the trials that both have; with `out`, page, tables and figures too.

    A published folder, or a log that `convert` reads, is imported for the time of the comparison.

    `first_where` and `second_where` narrow each to a part, such as {'model': 'small'} or {'rule': '1'}.

    `margin`, such as 0.02, is the largest difference that does not matter: the comparison then says whether the second
    is shown to be equivalent, or not worse. `weights` and `strata` name the tags of the items that hold a weight and a
    stratum; `shares` says how large each stratum is.
    """
    from perpend._compare import CompareOptions, compare_any
    from perpend.measure.population import Population

    one, other = (Path(place) if isinstance(place, str) else place for place in (first, second))
    folder = None if out is None else Path(out)
    options = CompareOptions(columns, margin, Population(weights, strata, shares or {}))
    return compare_any((one, first_where or {}), (other, second_where or {}), folder, options, figures=figures)


def rank(  # noqa: PLR0913  each is one flag of the verb
    runs: Place | Sequence[Place],
    out: str | Path | None = None,
    *,
    columns: Sequence[str] = (),
    models: Sequence[str] = (),
    where: Mapping[str, str | float] | None = None,
    pooled: bool = False,
    lowest_first: bool = False,
    missing: Literal["shared", "pairwise", "zero"] = "shared",
    figures: bool = True,
) -> RunRanking:
    """Models of one run or of several, ranked on the items that all of them have: tiers, and the ranks each can have.

    A ranking for each column and condition, or with `pooled` for each column over all conditions; without `columns`,
    by the first scorer of the first run. `missing` says what becomes of a trial without a value: 'shared' leaves its
    item out for all models, 'pairwise' for that model, 'zero' counts 0. With `out`, page, tables and figures are
    written into that folder, or one table into a .csv, .md or .tex file.
    """
    from perpend._compare import rank_any
    from perpend.report.rank_runs import RankOptions

    places = [Path(place) if isinstance(place, str) else place for place in _several(runs)]
    options = RankOptions(columns, models, where or {}, pooled, lowest_first, missing)
    return rank_any(places, options, None if out is None else Path(out), figures=figures)


@overload
def convert(
    source: str | Path,
    destination: str | Path,
    *,
    fields: str | Mapping[str, str] | None = None,
    metadata: str | Path | None = None,
    runs_dir: str | Path | None = None,
) -> Path: ...
@overload
def convert(
    source: Sequence[Path] | list[str] | tuple[str, ...],
    destination: str | Path,
    *,
    fields: str | Mapping[str, str] | None = None,
    metadata: str | Path | None = None,
    runs_dir: str | Path | None = None,
) -> list[Path]: ...
def convert(
    source: str | Path | Sequence[Path] | list[str] | tuple[str, ...],
    destination: str | Path,
    *,
    fields: str | Mapping[str, str] | None = None,
    metadata: str | Path | None = None,
    runs_dir: str | Path | None = None,
) -> Path | list[Path]:
    """Import what another tool recorded as a run, or write a run in another format; returns the path written.

    A folder of several logs gives a folder of runs at `destination`. A list of sources does too, and returns the path
    of each.
    """
    from perpend._convert import convert as convert_one
    from perpend._convert import convert_each

    at, runs = (None if place is None else Path(place) for place in (metadata, runs_dir))
    if isinstance(source, str | Path):
        return convert_one(Path(source), Path(destination), fields, metadata=at, runs_dir=runs)
    sources = [Path(one) for one in source]
    return list(convert_each(sources, Path(destination), fields, metadata=at, runs_dir=runs, exports=True))


@overload
def export(run: Place, out: Literal["pandas"], *, where: Where = None, only: Sequence[str] = ()) -> pd.DataFrame: ...
@overload
def export(run: Place, out: Literal["polars"], *, where: Where = None, only: Sequence[str] = ()) -> pl.DataFrame: ...
@overload
def export(run: Place, out: str | Path, *, format: Literal["simulation.db"]) -> Path: ...
@overload
def export(run: Place, out: Path, *, where: Where = None, only: Sequence[str] = (), by: Sequence[str] = ()) -> int: ...
def export(
    run: Place,
    out: str | Path,
    *,
    where: Where = None,
    only: Sequence[str] = (),
    by: Sequence[str] = (),
    format: Literal["table", "simulation.db"] = "table",  # noqa: A002  as the verb's --as
) -> int | Path | pd.DataFrame | pl.DataFrame:
    """One row per trial: plan, item, answer, every score. Written to a .csv, .parquet or .jsonl file, or with `by` to a
    folder of Parquet files parted by these keys; the number of rows is returned. Or returned as a DataFrame of 'pandas'
    or 'polars'.

    The format 'simulation.db' is the file that the conformity study's own scripts read: of the whole run, written to
    the file or into the folder `out`; its path is returned.
    """
    from perpend.report.export import export as export_run
    from perpend.report.export import export_parts, to_pandas, to_polars

    if format != "table":
        from perpend._convert import write_simulation

        if format != "simulation.db":
            raise SpecError(f"unknown format {format!r}; {did_you_mean(format, ['table', 'simulation.db'])}")
        if where or only or by:
            raise SpecError("simulation.db holds the whole run: leave out where, only and by")
        return write_simulation(Path(run) if isinstance(run, str | Path) else run.directory, Path(out))
    if out == "pandas":
        return to_pandas(_run(run), where=where, only=only)
    if out == "polars":
        return to_polars(_run(run), where=where, only=only)
    if by:
        return export_parts(_run(run), Path(out), by=by, where=where, only=only)
    return export_run(_run(run), Path(out), where=where, only=only)


def _run_of(outcome: Outcome, task_asked: Task, name: str | None = None) -> InteractiveRun:
    # numpy is loaded here: the first question need not wait for it.
    from perpend.measure.toolkit import toolkit_of
    from perpend.report.interactive import InteractiveRun

    return InteractiveRun(outcome.directory, code=toolkit_of(task_asked, name, outcome.directory))


def _several(runs: Place | Sequence[Place]) -> Sequence[Place]:
    return runs if isinstance(runs, list | tuple) else [runs]  # type: ignore[list-item]  # one place, then


def _run(given: Place, *, trust_code: bool = False) -> Run:
    from perpend.measure.run import Run
    from perpend.report.interactive import InteractiveRun

    return given if isinstance(given, Run) else InteractiveRun(given, trust_code=trust_code)
