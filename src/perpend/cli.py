"""The verbs: parse, call one function, print, exit code. No logic lives here.

Results go to standard output, progress and messages to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from perpend import __version__
from perpend.canon import JSON, pretty, write_atomic
from perpend.errors import PerpendError

if TYPE_CHECKING:
    from perpend.run import Outcome

F = TypeVar("F", bound=Callable[..., None])
_PATH = click.Path(path_type=Path)
_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="perpend")
def cli() -> None:
    """Language-model evaluations whose every number a stranger can recompute.

    \b
    perpend eval --task conformity --model mock/subject     ask, score, report
    perpend show runs/RUN --n-per-group 1                   read raw answers
    perpend analyze runs/RUN --out analysis                 tables, figures, report
    perpend audit runs/RUN                                  recompute everything and compare
    perpend freeze items.jsonl --out freeze.json            digest the items
    """


def _run_options(command: F) -> F:
    """The options of `eval` that say what a run is; each overrides the same key of run.toml."""
    for option in reversed(
        (
            click.option("--task", help="A task's name, or file.py."),
            click.option("--model", "models", multiple=True, help="provider/name; may be given several times."),
            click.option(
                "--items", "--subset", multiple=True, type=_PATH, help="Item file; instead of the task's own."
            ),
            click.option("--template", "templates", multiple=True, type=_PATH, help="A condition from a TOML file."),
            click.option("--freeze", type=_PATH, help="Refuse to start unless the items are the frozen ones."),
            click.option("--name", help="Name of the run's directory; otherwise made from the spec."),
            click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the task."),
            click.option(
                "--model-option", "model_options", multiple=True, metavar="KEY=VALUE", help="…of each --model."
            ),
            click.option("--temperature", multiple=True, type=float, help="Several make a grid. [0]"),
            click.option("--max-tokens", type=int, help="[512]"),
            click.option("--repeats", type=int, help="How often each trial is asked. [1]"),
            click.option("--max-items", type=int, help="So many items, drawn by the seed."),
            click.option("--seed", type=int, help="[42]"),
            click.option("--workers", type=int, help="Concurrent requests of each model."),
            click.option("--retries", type=int, help="Retries of a failed request."),
            click.option("--max-usd", type=float, help="Stop when so much is spent (prices stand in run.toml)."),
            click.option("--max-requests", type=int, help="Stop after so many requests, retries included."),
            click.option("--max-minutes", type=float, help="Stop after so many minutes."),
        )
    ):
        command = option(command)
    return command


@cli.command("eval")
@click.argument("spec_file", metavar="[RUN.TOML]", required=False, type=_PATH)
@_run_options
@click.option("--out", type=_PATH, default=Path("runs"), show_default=True, help="Where run directories stand.")
@click.option("--dry-run", is_flag=True, help="Say how many trials it would be, ask nothing.")
@click.option("--no-score", is_flag=True, help="Only ask; 'perpend score' scores later.")
@click.option("--quiet", is_flag=True, help="No progress.")
@_AS_JSON
def eval_(
    spec_file: Path | None, out: Path, dry_run: bool, no_score: bool, quiet: bool, as_json: bool, **flags: object
) -> None:
    """Ask a model about items under conditions; keep every answer; score; report.

    The same command again goes on where it stopped, and does nothing when all is answered.

    \b
    perpend eval run.toml
    perpend eval --task conformity --model mock/subject --model-option sway=0.4
    perpend eval --task questions --items facts.jsonl --model ollama/qwen2.5:14b --workers 2
    """
    from perpend.flags import spec_with_flags
    from perpend.run import evaluate, plan_size

    spec = spec_with_flags(spec_file, flags)
    if dry_run:
        _print(dict(plan_size(spec)), as_json)
        return
    outcome = evaluate(spec, out, quiet=quiet or as_json)
    if not no_score:
        page = _derive(outcome.directory)
        if not as_json:
            click.echo(page)
    _finish(outcome, as_json)


def _derive(directory: Path, only: tuple[str, ...] = ()) -> str:
    """Everything after the answers: scores, metrics.json, report.md."""
    from perpend.measure import Run
    from perpend.reports.summary import write_summary

    run = Run(directory)
    run.score(only)
    return write_summary(run)


def _finish(outcome: Outcome, as_json: bool) -> None:
    body: dict[str, JSON] = {
        "run": outcome.directory.as_posix(),
        "planned": outcome.planned,
        "answered": outcome.answered,
        "failed": outcome.failed,
        "requests": outcome.sent,
        "usd": outcome.usd,
        "stopped": outcome.stopped,
    }
    _print(body, as_json)
    if outcome.stopped is not None:
        click.echo(f"stopped: {outcome.stopped}. Run the same command again to go on.", err=True)
        if outcome.stopped == "interrupted":
            raise click.exceptions.Exit(130)
    elif outcome.failed:
        click.echo(
            f"{outcome.failed} trials have only failures. Run the same command again to ask them again.", err=True
        )


@cli.command()
@click.argument("items", nargs=-1, required=True, type=_PATH)
@click.option("--out", type=_PATH, help="Write the freeze file here.")
@click.option("--check", type=_PATH, help="Compare with this freeze file; exit 3 when an item differs.")
@_AS_JSON
def freeze(items: tuple[Path, ...], out: Path | None, check: Path | None, as_json: bool) -> None:
    """Digest the items, so that a later run can prove it used the same ones.

    \b
    perpend freeze facts.jsonl opinions.jsonl --out freeze.json
    perpend freeze facts.jsonl opinions.jsonl --check freeze.json
    """
    from perpend.data import check_freeze
    from perpend.data import freeze as freeze_items

    if check is not None:
        _print({"sha256": check_freeze(check, items), "check": "same items"}, as_json)
        return
    body = freeze_items(items)
    if out is not None:
        write_atomic(out, pretty(body))
    count = body["items"]
    _print({"sha256": body["sha256"], "items": len(count) if isinstance(count, dict) else 0}, as_json)


@cli.command()
@click.argument("runs", nargs=-1, required=True, type=_PATH)
@click.option("--only", multiple=True, help="Only this scorer, such as 'endorsed' or 'endorsed@1'.")
@_AS_JSON
def score(runs: tuple[Path, ...], only: tuple[str, ...], as_json: bool) -> None:
    """Derive the scores again from the stored answers. Needs no model, no key, no network.

    \b
    perpend score runs/RUN
    perpend score runs/RUN --only endorsed@1
    """
    from perpend.measure import Run

    done: dict[str, JSON] = {}
    for directory in runs:
        _derive(directory, only)
        done[directory.as_posix()] = list(Run(directory).columns())
    _print(done, as_json)


@cli.command()
@click.argument("run", type=_PATH)
@click.option(
    "--where", multiple=True, metavar="KEY=VALUE", help="Only these: condition, model, item, temperature, a tag."
)
@click.option("--by", multiple=True, help="Groups to draw from. [model, condition, topic]")
@click.option("--n-per-group", type=int, help="So many cases of every group.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--out-md", type=_PATH, help="Write the page here instead of printing it.")
@_AS_JSON
def show(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    run: Path,
    where: tuple[str, ...],
    by: tuple[str, ...],
    n_per_group: int | None,
    seed: int,
    out_md: Path | None,
    as_json: bool,
) -> None:
    """How far a run is; with --where or --n-per-group, raw answers with what each scorer said.

    \b
    perpend show runs/RUN
    perpend show runs/RUN --where condition=control --where item=capital_canada
    perpend show runs/RUN --n-per-group 1 --out-md cases.md
    """
    from perpend.flags import key_value
    from perpend.measure import Run
    from perpend.reports.cases import as_markdown, sample
    from perpend.store import Store

    if not where and n_per_group is None:
        _print(Run(run).status(), as_json)
        return
    with Store.open(run / "run.db") as store:
        cases = sample(store, where=dict(map(key_value, where)), by=by, n_per_group=n_per_group, seed=seed)
    if as_json:
        click.echo(pretty([case.as_json() for case in cases]), nl=False)
        return
    page = as_markdown(cases, f"Cases of {run.name}")
    if out_md is not None:
        write_atomic(out_md, page)
        click.echo(f"{len(cases)} cases in {out_md}")
    else:
        click.echo(page)


@cli.command()
@click.argument("runs", nargs=-1, required=True, type=_PATH)
@click.option("--out", type=_PATH, required=True, help="Where tables, figures and report are written.")
@click.option("--no-figures", is_flag=True, help="Tables and report only.")
def analyze(runs: tuple[Path, ...], out: Path, no_figures: bool) -> None:
    """Tables, figures and a report of one run or of several that belong together (a sweep).

    \b
    perpend analyze runs/RUN --out analysis
    perpend analyze runs/T0 runs/T1 --out analysis --no-figures
    """
    from perpend.analyze import analyze as analyze_runs
    from perpend.measure import Run

    click.echo(analyze_runs([Run(directory) for directory in runs], out, figures=not no_figures))


@cli.command()
@click.argument("runs", nargs=-1, required=True, type=_PATH)
@click.option("--rules", type=click.Choice(["v1", "v2", "both"]), default="both", show_default=True)
@click.option("--out-json", type=_PATH, help="Write the outcome here too, with the study's own numbers.")
@_AS_JSON
def audit(runs: tuple[Path, ...], rules: str, out_json: Path | None, as_json: bool) -> None:
    """Derive everything again from the raw answers and compare. Exit 6 when anything differs.

    \b
    perpend audit runs/RUN
    perpend audit runs/T0 runs/T1 --rules v1 --out-json audit.json
    """
    from perpend.analyze import study_numbers
    from perpend.audit import as_table, audit_run
    from perpend.errors import AuditFailure
    from perpend.measure import Run

    audits = [audit_run(directory, rules) for directory in runs]
    body: dict[str, JSON] = {"audit": [outcome.as_json() for outcome in audits]}
    if out_json is not None:
        body |= study_numbers([Run(directory) for directory in runs], rules)
        write_atomic(out_json, pretty(body))
    click.echo(pretty(body) if as_json else as_table(audits), nl=False)
    failed = [outcome.path.name for outcome in audits if not outcome.ok]
    if failed:
        raise AuditFailure(f"{len(failed)} of {len(audits)} runs differ from what is stored: {', '.join(failed)}")


@cli.command()
@click.option("--model", help="provider/name of a model that scores candidates, for example ngram/final.")
@click.option("--predictions", type=_PATH, help="JSONL of {id, confidence, correct, …} instead of a model.")
@click.option("--name", help="Name of the checkpoint; otherwise the model's or the file's.")
@click.option("--raw", is_flag=True, help="Score candidates by their summed log-likelihood, not per token.")
@click.option("--corpus", type=_PATH, help="What the model was trained on; a probe that stands in it is an error.")
@click.option("--out", type=_PATH, required=True, help="The report goes to OUT/NAME.")
def checkpoint(
    model: str | None, predictions: Path | None, name: str | None, raw: bool, corpus: Path | None, out: Path
) -> None:
    """Calibration, slices and the adversarial slice of one checkpoint on the verb probes; or of any predictions.

    \b
    perpend checkpoint --model ngram/final --out checkpoints
    perpend checkpoint --predictions mine.jsonl --name mine --out checkpoints
    """
    from perpend.checkpoint import report_model, report_predictions

    if (model is None) == (predictions is None):
        raise click.UsageError("give either --model or --predictions")
    if model is not None:
        click.echo(report_model(model, out, label=name, raw=raw, corpus=corpus) / "REPORT.md")
    elif predictions is not None:
        click.echo(report_predictions(predictions, out, name=name) / "REPORT.md")


@cli.command()
@click.argument("first", type=_PATH)
@click.argument("second", type=_PATH)
@click.option("--out", type=_PATH, required=True, help="Where COMPARE.md and COMPARE.json are written.")
def compare(first: Path, second: Path, out: Path) -> None:
    """Two checkpoints on the same probes: paired differences with intervals and tests, and a verdict.

    \b
    perpend compare checkpoints/early checkpoints/final --out checkpoints
    """
    from perpend.checkpoint import compare_checkpoints

    click.echo(compare_checkpoints(first, second, out))


@cli.command()
@click.argument("source", type=_PATH)
@click.argument("destination", type=_PATH)
def convert(source: Path, destination: Path) -> None:
    """Import what another tool recorded as a run; or write a run as the conformity study's simulation.db.

    \b
    perpend convert rows.jsonl runs/imported
    perpend convert simulation.db runs/imported
    perpend convert runs/RUN simulation.db
    """
    from perpend.compat.convert import convert as convert_files

    click.echo(convert_files(source, destination))


@cli.command()
@click.option("--out", type=_PATH, default=Path("runs"), show_default=True)
def demo(out: Path) -> None:
    """A conformity study on two simulated subjects; ends with a report to open."""
    from perpend.analyze import analyze as analyze_runs
    from perpend.measure import Run
    from perpend.run import evaluate
    from perpend.spec import ModelSpec, RunSpec
    from perpend.types import Sampling

    steady: dict[str, JSON] = {"accuracy": 0.85, "item_sd": 1.0, "style": "mixed", "seed": 1}
    swayed: dict[str, JSON] = {**steady, "sway": 0.2, "sway_group": 0.4, "sway_sd": 1.0, "refusal": 0.03, "seed": 2}
    models = (ModelSpec("mock/subject", "steady", steady), ModelSpec("mock/subject", "swayed", swayed))
    spec = RunSpec("conformity", models, name="demo-conformity", samplings=(Sampling(0.0), Sampling(1.0)))
    directory = evaluate(spec, out).directory
    _derive(directory)
    click.echo("Drawing tables and figures …", err=True)
    report = analyze_runs([Run(directory)], directory / "analysis")
    click.echo(f"The report lies at {report}")


def _print(body: dict[str, JSON], as_json: bool) -> None:
    if as_json:
        click.echo(pretty(body), nl=False)
        return
    for key, value in body.items():
        click.echo(f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else value}")


def main() -> None:
    """Run the command line; every error that is a PerpendError becomes its message and its exit code."""
    try:
        code = cli.main(standalone_mode=False)
    except PerpendError as error:
        click.echo(f"error: {error}", err=True)
        code = error.exit_code
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)
