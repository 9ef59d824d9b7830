"""Verbs that make answers and scores: eval, freeze, score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from perpend.canon import JSON, pretty, write_atomic
from perpend.cli.group import AS_JSON, PATH, QUIET, SERVE_WAIT, TRUST_CODE, group, print_fields, print_headline
from perpend.errors import ModelError
from perpend.inert import counted, one_line, say, say_page

if TYPE_CHECKING:
    from perpend.ask.asking import Outcome
    from perpend.ask.preview import Preview

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
            click.option(
                "--scorers", multiple=True, metavar="NAME", help="Add a scorer: includes, endorsed@mine.toml."
            ),
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
            click.option(
                "--stop-when",
                metavar="RULE",
                help="Stop as soon as this holds, with an interval that is valid at any look: 'width(correct) < 0.05'.",
            ),
            click.option("--look-every", type=int, help="Look after every N items. [at most 20 looks]"),
            click.option("--workers", type=int, help="Concurrent requests per model."),
            click.option("--retries", type=int, help="Retries per failed request."),
            click.option("--max-usd", type=float, help="Stop after spending this many USD; needs the models' prices."),
            click.option("--max-requests", type=int, help="Stop after this many requests, retries included."),
            click.option("--max-minutes", type=float, help="Stop this invocation after N minutes."),
        )
    ):
        command = option(command)
    return command


@group.command("eval", short_help="Ask a model about items under conditions; score and report.")
@click.argument("spec_file", metavar="[RUN.TOML]", required=False, type=PATH)
@_run_options
@click.option("--out", type=PATH, default=Path("runs"), show_default=True, help="Directory for runs.")
@click.option("--dry-run", is_flag=True, help="Show prompts, requests, tokens and cost; ask nothing.")
@click.option("--no-score", is_flag=True, help="Ask only; score later with 'perpend score'.")
@click.option("--shard", metavar="K/N", help="Ask only part K of N, into a ledger of its own; no scores.")
@click.option(
    "--scratch", type=PATH, help="With --shard: ask on this local disk; move the ledger to the run at the end."
)
@click.option(
    "--serve",
    metavar="COMMAND",
    help="Serve it: 'vllm serve {model} --port {port}'.",
)
@SERVE_WAIT
@click.option("--durable", is_flag=True, help="Wait for the disk at every commit: a power cut costs no answer.")
@click.option("--accept-loss", is_flag=True, help="Resume although answers are missing that were kept; ask them again.")
@QUIET
@AS_JSON
def eval_(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    spec_file: Path | None,
    out: Path,
    dry_run: bool,
    no_score: bool,
    shard: str | None,
    scratch: Path | None,
    serve: str | None,
    serve_wait: float,
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
    perpend eval run.toml --shard 3/8
    """
    from perpend.api import evaluate_spec
    from perpend.ask.preview import preview
    from perpend.ask.runner import Keeping
    from perpend.ledger.shards import parse_shard
    from perpend.spec.runspec import spec_with_flags
    from perpend.sweep.served import ServeCommand

    if scratch is not None and shard is None:
        raise click.UsageError("--scratch is for one part of a run: give --shard K/N, too")
    if dry_run and shard is not None:
        raise click.UsageError("--dry-run shows the whole run: leave --shard out")
    spec = spec_with_flags(spec_file, flags)
    if dry_run:
        print_preview(preview(spec, out), as_json=as_json, quiet=quiet)
        return
    serving = None if serve is None else ServeCommand(serve, serve_wait)
    keeping = Keeping(durable, accept_loss, None if shard is None else parse_shard(shard), scratch)
    outcome, derived = evaluate_spec(
        spec, out, keeping=keeping, scored=not no_score, serve=serving, quiet=quiet or as_json
    )
    if derived is not None and not as_json and not quiet:
        print_headline(derived)
    finish(outcome, as_json=as_json, quiet=quiet, reported=derived is not None)


def print_preview(seen: Preview, *, as_json: bool = False, quiet: bool = False) -> None:
    """One prompt of each condition, and what the run would send and cost at most."""
    if as_json:
        say_page(pretty(seen.as_json()))
    elif not quiet:
        for prompt in seen.prompts:
            say(f"Condition {prompt.condition}, item {prompt.item}:")
            for message in prompt.messages:
                say(f"  {message.role}:")
                say_page("".join(f"  | {one_line(line)}\n" for line in message.content.split("\n")))
            if prompt.choices:
                say(f"  choices: {' | '.join(prompt.choices)}")
        say(_plan(seen))
        if seen.stop:
            say(seen.stop)
        say(_price(seen))
        say(f"Nothing was asked or written. The run would be {seen.directory.as_posix()}")


def _plan(seen: Preview) -> str:
    parts = [
        counted(seen.items, "item"),
        counted(seen.conditions, "condition"),
        counted(seen.models, "model"),
        counted(seen.samplings, "sampling"),
        *([counted(seen.repeats, "repeat")] if seen.repeats > 1 else []),
    ]
    done = f", {seen.answered:,} of them answered already" if seen.answered else ""
    return f"{' × '.join(parts)}: {counted(seen.trials, 'trial')}{done}."


def _price(seen: Preview) -> str:
    """Requests, tokens and cost before they are spent; the tokens out and the cost are upper bounds."""
    again = f", and up to {seen.second_turns:,} second turns" if seen.second_turns else ""
    at_most = dollars(seen.usd, seen.usd_note).replace("cost $", "cost at most $") + (" without them" if again else "")
    return (
        f"{counted(seen.requests, 'request')} to send{again}; about {seen.tokens_in:,} tokens in, at most "
        f"{seen.tokens_out:,} out, {at_most}."
    )


_ONCE_MORE = "Run the same command again to ask once more."


def finish(outcome: Outcome, *, as_json: bool = False, quiet: bool = False, reported: bool = False) -> None:
    """Say how an evaluation ended, in two lines; why it stopped and what to do next go to standard error.

    How its looks ended is said where no report was `reported` that says so.
    """
    if as_json:
        print_fields(_ending(outcome), as_json=True)
    elif not quiet:
        if outcome.looked and not reported:
            say(f"{outcome.looked}.")
        say(f"{counts(outcome)}. {spending(outcome)}.")
        say(f"Run: {outcome.directory.as_posix()}")
    if outcome.stopped is not None:
        say(f"Stopped: {outcome.stopped}. {next_step(outcome.stopped)}", err=True)
        if outcome.stopped == "interrupted":
            raise click.exceptions.Exit(130)
        if not outcome.answered:
            raise ModelError("nothing was answered, so there is nothing to report. Allow more, then run it again.")
    elif outcome.failed:
        trials = "1 trial" if outcome.failed == 1 else f"{outcome.failed:,} trials"
        again = "Looks have counted them as missing, so they stay so." if outcome.looked else _ONCE_MORE
        say(f"{trials} got no answer. {again}", err=True)


def _ending(outcome: Outcome) -> dict[str, JSON]:
    return {
        "run": outcome.directory.as_posix(),
        "planned": outcome.planned,
        "answered": outcome.answered,
        "failed": outcome.failed,
        "requests": outcome.sent,
        "requests_total": outcome.spent.requests,
        "tokens_in": outcome.spent.input,
        "tokens_out": outcome.spent.output,
        "usd": outcome.usd,
        "usd_note": outcome.usd_note,
        "stopped": outcome.stopped,
        **({"looked": outcome.looked, "not_needed": outcome.not_needed} if outcome.looked else {}),
    }


def counts(outcome: Outcome) -> str:
    """'38 of 40 answered, 2 failed'."""
    failed = f", {outcome.failed:,} failed" if outcome.failed else ""
    spared = f", {outcome.not_needed:,} not needed" if outcome.not_needed else ""
    return f"{outcome.answered:,} of {outcome.planned:,} answered{failed}{spared}"


def spending(outcome: Outcome) -> str:
    """What the run came to, over all its invocations: requests, tokens and cost, or why the cost is unknown."""
    spent = outcome.spent
    requests = "1 request" if spent.requests == 1 else f"{spent.requests:,} requests"
    tokens = f"{spent.input:,} tokens in, {spent.output:,} out"
    if spent.uncounted and not spent.input and not spent.output:
        tokens = "tokens not counted"
    elif spent.uncounted:
        tokens += f" (not counted in {spent.uncounted:,} answer{'s' * (spent.uncounted != 1)})"
    return f"{requests}, {tokens}, {dollars(outcome.usd, outcome.usd_note)}"


def dollars(usd: float | None, note: str) -> str:
    """'cost $0.0123', 'no cost', or 'cost unknown' and why."""
    if usd == 0.0:
        return "no cost"
    return f"cost unknown ({note})" if usd is None else f"cost ${usd:,.4f}"


def next_step(stopped: str) -> str:
    """What a user can do about a run that stopped before its end."""
    if "cannot be kept" in stopped:
        return "Leave --max-usd out, or limit the run by --max-requests; then run the same command again."
    if stopped.startswith(("--max-usd", "--max-requests")):
        return "What earlier invocations spent counts. To resume, raise it and run the same command again."
    return "Run the same command again to resume."


@group.command(short_help="Record checksums of the items, to check a later run by.")
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


@group.command(short_help="Score the stored answers again.")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--only", multiple=True, help="Only this scorer, such as 'endorsed' or 'endorsed@1'.")
@click.option("--scorers", multiple=True, metavar="NAME", help="Add a scorer to the run: includes, endorsed@mine.toml.")
@click.option("--workers", type=click.IntRange(1), help="Number of processes. [number of cores]")
@TRUST_CODE
@AS_JSON
def score(
    runs: tuple[Path, ...],
    only: tuple[str, ...],
    scorers: tuple[str, ...],
    workers: int | None,
    trust_code: bool,
    as_json: bool,
) -> None:
    """Score the stored answers again. Needs no model, no key, no network.

    \b
    perpend score runs/RUN
    perpend score runs/RUN --only endorsed@1
    perpend score runs/RUN --scorers endorsed@mine.toml
    """
    from perpend.api import score as score_run
    from perpend.measure.run import Run

    scored: dict[str, JSON] = {}
    for directory in runs:
        derived = score_run(directory, only, scorers=scorers, workers=workers, trust_code=trust_code)
        scored[directory.as_posix()] = list(Run(directory).table.scorers)
        if not as_json:
            print_headline(derived)
    if as_json:
        print_fields(scored, as_json)
