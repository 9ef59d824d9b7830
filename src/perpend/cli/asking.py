"""Verbs that make answers and scores: eval, freeze, score, show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from perpend.canon import JSON, pretty, write_atomic
from perpend.cli.group import AS_JSON, PATH, TRUST_CODE, group, print_fields, print_headline
from perpend.errors import ModelError
from perpend.inert import say, say_page

if TYPE_CHECKING:
    from perpend.ask.runner import Outcome

F = TypeVar("F", bound=Callable[..., None])


def _run_options(command: F) -> F:
    """The options of `eval` that say what a run is; each overrides the same key of run.toml."""
    for option in reversed(
        (
            click.option("--task", help="Name of a task, or file.py."),
            click.option("--model", "models", multiple=True, help="provider/name; repeat for several."),
            click.option("--items", "--subset", multiple=True, type=PATH, help="Item file, instead of the task's."),
            click.option("--map", metavar="NAME=COLUMN,…", help="Columns of the item files, or a TOML file of them."),
            click.option("--template", "templates", multiple=True, type=PATH, help="Add a condition from a TOML file."),
            click.option("--freeze", type=PATH, help="Refuse to start unless the items match this freeze file."),
            click.option("--name", help="Name of the run directory. [derived from the spec]"),
            click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Option of the task."),
            click.option(
                "--model-option", "model_options", multiple=True, metavar="KEY=VALUE", help="Option of each --model."
            ),
            click.option("--temperature", multiple=True, type=float, help="Repeat for a grid. [0]"),
            click.option("--max-tokens", type=int, help="[512]"),
            click.option("--repeats", type=int, help="Times to ask each trial. [1]"),
            click.option("--max-items", "--limit", type=int, help="Use N items, sampled with --seed."),
            click.option("--seed", type=int, help="[42]"),
            click.option("--workers", type=int, help="Concurrent requests per model."),
            click.option("--retries", type=int, help="Retries per failed request."),
            click.option("--max-usd", type=float, help="Stop after spending this many USD (prices from run.toml)."),
            click.option("--max-requests", type=int, help="Stop after this many requests, retries included."),
            click.option("--max-minutes", type=float, help="Stop after this many minutes."),
        )
    ):
        command = option(command)
    return command


@group.command("eval")
@click.argument("spec_file", metavar="[RUN.TOML]", required=False, type=PATH)
@_run_options
@click.option("--out", type=PATH, default=Path("runs"), show_default=True, help="Directory for runs.")
@click.option("--dry-run", is_flag=True, help="Count the trials; ask nothing.")
@click.option("--no-score", is_flag=True, help="Ask only; score later with 'perpend score'.")
@click.option("--durable", is_flag=True, help="Wait for the disk at every commit: a power cut costs no answer.")
@click.option("--accept-loss", is_flag=True, help="Resume although answers are missing that were kept; ask them again.")
@click.option("--quiet", is_flag=True, help="Hide progress.")
@AS_JSON
def eval_(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    spec_file: Path | None,
    out: Path,
    dry_run: bool,
    no_score: bool,
    durable: bool,
    accept_loss: bool,
    quiet: bool,
    as_json: bool,
    **flags: object,
) -> None:
    """Ask a model about items under conditions; keep every answer; score; report.

    The same command resumes where it stopped, and does nothing once every trial is answered.

    \b
    perpend eval run.toml
    perpend eval --task conformity --model mock/subject --model-option sway=0.4
    perpend eval --task questions --items facts.csv --map prompt=question,target=answer --model ollama/qwen2.5:14b
    """
    from perpend.api import evaluate_spec
    from perpend.ask.runner import Keeping, plan_size
    from perpend.spec.runspec import spec_with_flags

    spec = spec_with_flags(spec_file, flags)
    if dry_run:
        print_fields(dict(plan_size(spec)), as_json)
        return
    keeping = Keeping(durable, accept_loss)
    outcome, derived = evaluate_spec(spec, out, keeping=keeping, scored=not no_score, quiet=quiet or as_json)
    if derived is not None and not as_json:
        print_headline(derived)
    finish(outcome, as_json)


def finish(outcome: Outcome, as_json: bool) -> None:
    """Say how an evaluation ended; what stopped it and what is left go to standard error."""
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
        say(f"stopped: {outcome.stopped}. Run the same command again to resume.", err=True)
        if outcome.stopped == "interrupted":
            raise click.exceptions.Exit(130)
        if not outcome.answered:
            raise ModelError("nothing was answered, so there is nothing to report. Allow more, then run it again.")
    elif outcome.failed:
        say(
            f"{outcome.failed} trial{'s' * (outcome.failed != 1)} got no answer. Run the same command to retry.",
            err=True,
        )


@group.command()
@click.argument("items", nargs=-1, required=True, type=PATH)
@click.option("--out", type=PATH, help="Write the freeze file here.")
@click.option("--check", type=PATH, help="Compare with this freeze file; exit 3 if an item differs.")
@click.option("--map", "columns", metavar="NAME=COLUMN,…", help="Columns of the item files, or a TOML file of them.")
@AS_JSON
def freeze(items: tuple[Path, ...], out: Path | None, check: Path | None, columns: str | None, as_json: bool) -> None:
    """Record checksums of the items, so that a later run can prove that it used the same ones.

    \b
    perpend freeze facts.jsonl opinions.jsonl --out freeze.json
    perpend freeze facts.jsonl opinions.jsonl --check freeze.json
    perpend freeze facts.csv --map prompt=question,target=answer --out freeze.json
    """
    from perpend.ledger.items import check_freeze
    from perpend.ledger.items import freeze as freeze_items
    from perpend.rows.mapping import parse_map

    fields = parse_map(columns) if columns else {}
    if check is not None:
        print_fields({"sha256": check_freeze(check, items, fields), "check": "same items"}, as_json)
        return
    body = freeze_items(items, fields)
    if out is not None:
        write_atomic(out, pretty(body))
    count = body["items"]
    print_fields({"sha256": body["sha256"], "items": len(count) if isinstance(count, dict) else 0}, as_json)


@group.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--only", multiple=True, help="Only this scorer, such as 'endorsed' or 'endorsed@1'.")
@TRUST_CODE
@AS_JSON
def score(runs: tuple[Path, ...], only: tuple[str, ...], trust_code: bool, as_json: bool) -> None:
    """Score the stored answers again. Needs no model, no key, no network.

    \b
    perpend score runs/RUN
    perpend score runs/RUN --only endorsed@1
    """
    from perpend.api import score as score_run
    from perpend.measure.run import Run

    scored: dict[str, JSON] = {}
    for directory in runs:
        run = Run(directory, trust_code=trust_code)
        score_run(run, only)
        scored[directory.as_posix()] = list(run.table.scorers)
    print_fields(scored, as_json)


@group.command()
@click.argument("run", type=PATH)
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only trials with this condition, model, item, temperature or tag.",
)
@click.option("--by", multiple=True, help="Group by this. [model, condition, topic]")
@click.option("--n-per-group", type=int, help="Show N cases per group.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--out-md", type=PATH, help="Write the page to this file instead of printing it.")
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
    """Show the state of a run or, with --where or --n-per-group, raw answers and how each was scored.

    \b
    perpend show runs/RUN
    perpend show runs/RUN --where condition=control --where item=capital_canada
    perpend show runs/RUN --n-per-group 1 --out-md cases.md
    """
    from perpend.ledger.store import Store
    from perpend.measure.run import Run
    from perpend.report.cases import as_markdown, sample
    from perpend.spec.runspec import key_value

    if not where and n_per_group is None:
        print_fields(Run(run).status(), as_json)
        return
    with Store.open(run / "run.db") as store:
        cases = sample(store, where=dict(map(key_value, where)), by=by, n_per_group=n_per_group, seed=seed)
    if as_json:
        say_page(pretty([case.as_json() for case in cases]))
        return
    page = as_markdown(cases, f"Cases of {run.name}")
    if out_md is not None:
        write_atomic(out_md, page)
        say(f"{len(cases)} case{'s' * (len(cases) != 1)} in {out_md}")
    else:
        say_page(page + "\n")
