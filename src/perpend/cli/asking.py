"""Verbs that make answers and scores: eval, freeze, score, show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from perpend.canon import JSON, pretty, write_atomic
from perpend.cli.group import AS_JSON, PATH, derive, group, print_fields

if TYPE_CHECKING:
    from perpend.run import Outcome

F = TypeVar("F", bound=Callable[..., None])


def _run_options(command: F) -> F:
    """The options of `eval` that say what a run is; each overrides the same key of run.toml."""
    for option in reversed(
        (
            click.option("--task", help="A task's name, or file.py."),
            click.option("--model", "models", multiple=True, help="provider/name; may be given several times."),
            click.option("--items", "--subset", multiple=True, type=PATH, help="Item file; instead of the task's own."),
            click.option("--template", "templates", multiple=True, type=PATH, help="A condition from a TOML file."),
            click.option("--freeze", type=PATH, help="Refuse to start unless the items are the frozen ones."),
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


@group.command("eval")
@click.argument("spec_file", metavar="[RUN.TOML]", required=False, type=PATH)
@_run_options
@click.option("--out", type=PATH, default=Path("runs"), show_default=True, help="Where run directories stand.")
@click.option("--dry-run", is_flag=True, help="Say how many trials it would be, ask nothing.")
@click.option("--no-score", is_flag=True, help="Only ask; 'perpend score' scores later.")
@click.option("--quiet", is_flag=True, help="No progress.")
@AS_JSON
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
        print_fields(dict(plan_size(spec)), as_json)
        return
    outcome = evaluate(spec, out, quiet=quiet or as_json)
    if not no_score:
        page = derive(outcome.directory)
        if not as_json:
            click.echo(page)
    _finish(outcome, as_json)


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
    print_fields(body, as_json)
    if outcome.stopped is not None:
        click.echo(f"stopped: {outcome.stopped}. Run the same command again to go on.", err=True)
        if outcome.stopped == "interrupted":
            raise click.exceptions.Exit(130)
    elif outcome.failed:
        click.echo(
            f"{outcome.failed} trials have only failures. Run the same command again to ask them again.", err=True
        )


@group.command()
@click.argument("items", nargs=-1, required=True, type=PATH)
@click.option("--out", type=PATH, help="Write the freeze file here.")
@click.option("--check", type=PATH, help="Compare with this freeze file; exit 3 when an item differs.")
@AS_JSON
def freeze(items: tuple[Path, ...], out: Path | None, check: Path | None, as_json: bool) -> None:
    """Digest the items, so that a later run can prove it used the same ones.

    \b
    perpend freeze facts.jsonl opinions.jsonl --out freeze.json
    perpend freeze facts.jsonl opinions.jsonl --check freeze.json
    """
    from perpend.data import check_freeze
    from perpend.data import freeze as freeze_items

    if check is not None:
        print_fields({"sha256": check_freeze(check, items), "check": "same items"}, as_json)
        return
    body = freeze_items(items)
    if out is not None:
        write_atomic(out, pretty(body))
    count = body["items"]
    print_fields({"sha256": body["sha256"], "items": len(count) if isinstance(count, dict) else 0}, as_json)


@group.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--only", multiple=True, help="Only this scorer, such as 'endorsed' or 'endorsed@1'.")
@AS_JSON
def score(runs: tuple[Path, ...], only: tuple[str, ...], as_json: bool) -> None:
    """Derive the scores again from the stored answers. Needs no model, no key, no network.

    \b
    perpend score runs/RUN
    perpend score runs/RUN --only endorsed@1
    """
    from perpend.measure import Run

    done: dict[str, JSON] = {}
    for directory in runs:
        derive(directory, only)
        done[directory.as_posix()] = list(Run(directory).columns())
    print_fields(done, as_json)


@group.command()
@click.argument("run", type=PATH)
@click.option(
    "--where", multiple=True, metavar="KEY=VALUE", help="Only these: condition, model, item, temperature, a tag."
)
@click.option("--by", multiple=True, help="Groups to draw from. [model, condition, topic]")
@click.option("--n-per-group", type=int, help="So many cases of every group.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--out-md", type=PATH, help="Write the page here instead of printing it.")
@AS_JSON
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
        print_fields(Run(run).status(), as_json)
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
