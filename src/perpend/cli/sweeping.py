"""Verbs for a run in shards on many machines: submit, status, cancel."""

from __future__ import annotations

import math
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perpend.canon import JSON, pretty
from perpend.cli.group import AS_JSON, PATH, QUIET, SERVE_WAIT, group
from perpend.errors import ModelError, PerpendError, SpecError
from perpend.inert import say, say_page

LIMITS = ("--max-requests", "--max-usd")
if TYPE_CHECKING:
    from perpend.sweep.facts import ShardState
    from perpend.sweep.submitting import SweepStanding


@group.command(short_help="Ask a run in shards, on a cluster or on this machine.")
@click.argument("spec_file", metavar="RUN.TOML", type=PATH)
@click.option(
    "--engine", type=click.Choice(["local", "slurm"]), default="local", show_default=True, help="Who runs the tasks."
)
@click.option("--shards", type=click.IntRange(1, 9999), required=True, help="Parts of the run, one task each.")
@click.option("--out", type=PATH, default=Path("runs"), show_default=True, help="Directory for runs, on a shared disk.")
@click.option("--name", help="Name of the run directory. [derived from the spec]")
@click.option("--at-once", type=click.IntRange(1), help="Tasks at a time, with --engine local. [number of cores]")
@click.option("--gpus", type=click.IntRange(0), help="GPUs of each task.")
@click.option(
    "--time", "time_", metavar="TIME", help="Time limit of a task, as sbatch takes it; it is queued again then."
)
@click.option("--partition", help="Partition of the cluster.")
@click.option("--setup", multiple=True, metavar="LINE", help="Line of shell before the command; repeat for several.")
@click.option("--serve", metavar="COMMAND", help="Start this server for each task: 'vllm serve {model} --port {port}'.")
@SERVE_WAIT
@click.option("--scratch", type=PATH, help="Disk of the node for a shard while it is asked. [$TMPDIR]")
@click.option("--max-usd", type=float, help="Stop after spending this many USD, all shards together.")
@click.option("--max-requests", type=int, help="Stop after this many requests, all shards together.")
@click.option("--no-score", is_flag=True, help="Merge only; score later with 'perpend score'.")
@click.option("--print", "printed", is_flag=True, help="Write plain sbatch files; submit nothing.")
@QUIET
@AS_JSON
def submit(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    spec_file: Path,
    engine: str,
    shards: int,
    out: Path,
    name: str | None,
    at_once: int | None,
    gpus: int | None,
    time_: str | None,
    partition: str | None,
    setup: tuple[str, ...],
    serve: str | None,
    serve_wait: float,
    scratch: Path | None,
    max_usd: float | None,
    max_requests: int | None,
    no_score: bool,
    printed: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Ask a run in shards: tasks of a SLURM cluster, or processes of this machine; then merge.

    Each task is 'perpend eval RUN.TOML --shard k/N'. The same command again submits only what is not done.

    \b
    perpend submit run.toml --shards 4
    perpend submit run.toml --engine slurm --shards 64 --gpus 1 --time 4:00:00 --partition gpu
    perpend submit run.toml --engine slurm --shards 64 --gpus 1 --serve 'vllm serve {model} --port {port}'
    perpend submit run.toml --engine slurm --shards 64 --print
    """
    from perpend.spec.runspec import spec_with_flags
    from perpend.sweep.facts import Sweep
    from perpend.sweep.submitting import minutes, print_files
    from perpend.sweep.submitting import submit as submit_sweep

    if engine == "local" and not printed:
        ignored = [flag for flag, value in (("--gpus", gpus), ("--partition", partition), ("--setup", setup)) if value]
        if ignored:
            raise SpecError(f"--engine local does not take {', '.join(ignored)}: give --engine slurm, or leave it out")
    flags = {"name": name, "max_usd": max_usd, "max_requests": max_requests}
    spec = spec_with_flags(spec_file, flags)
    sweep = Sweep(
        shards,
        engine,
        str(spec_file.absolute()),
        str(out.absolute()),
        name,
        len(spec.models),
        serve,
        None if scratch is None else str(scratch.absolute()),
        spec.limits.max_requests,
        spec.limits.max_usd,
        gpus,
        None if time_ is None else minutes(time_),
        partition,
        not no_score,
        "\n".join(setup),
        serve_wait,
    )
    if printed:
        run, files = print_files(spec, sweep)
        _print_files(out / run.name, files, as_json=as_json)
        return
    run, ids = submit_sweep(spec, sweep, at_once=at_once, say=None if quiet or as_json else partial(say, err=True))
    if engine == "slurm":
        _submitted(out / run.name, ids, as_json=as_json, quiet=quiet)
    else:
        _ended(out / run.name, as_json=as_json, quiet=quiet)


def _print_files(run: Path, files: list[Path], *, as_json: bool) -> None:
    *arrays, merge = files or [Path()]
    if as_json:
        say_page(pretty({"run": run.as_posix(), "files": [path.as_posix() for path in files]}))
    elif not files:
        say(f"Every shard is done. Merge them: perpend merge {shlex.quote(str(run))}")
    else:
        say("Nothing was submitted. To submit:")
        for path in arrays:
            say(f"  sbatch {shlex.quote(str(path))}")
        say("and when all have ended:")
        say(f"  sbatch {shlex.quote(str(merge))}")
        say(f"Run: {run.as_posix()}")


def _submitted(run: Path, ids: list[str], *, as_json: bool, quiet: bool) -> None:
    if as_json:
        say_page(pretty({"run": run.as_posix(), "jobs": list[JSON](ids)}))
    elif not quiet:
        if ids:
            say(f"Submitted as job{'s' * (len(ids) > 1)} {', '.join(ids)}; the last merges the shards.")
        else:
            say("Nothing to submit: every shard is done or in the queue.")
            say(f"If the job that merges them was cancelled: perpend merge {shlex.quote(str(run))}")
        say(f"How it stands: perpend status {shlex.quote(str(run))}")


def _ended(run: Path, *, as_json: bool, quiet: bool) -> None:
    from perpend.cli.moving import merge
    from perpend.sweep.facts import note_merge
    from perpend.sweep.submitting import standing

    seen = standing(run)
    if any(one.answered or one.failed for one in seen.shards):
        flags = {"no_score": not seen.sweep.scored, "trust_code": True, "quiet": quiet or as_json, "as_json": False}
        try:
            click.get_current_context().invoke(merge, run=run, shards=(), **flags)
        except PerpendError as error:
            note_merge(run, str(error))
            raise
        note_merge(run, "")
        seen = standing(run)
    _print_standing(seen, as_json=as_json, quiet=quiet)
    open_ = [one for one in seen.shards if one.state != "done"]
    if open_:
        numbers = ", ".join(str(one.shard) for one in open_[:20]) + (" …" if len(open_) > 20 else "")
        raise ModelError(
            f"{len(open_)} of {seen.sweep.shards} shards {'is' if len(open_) == 1 else 'are'} not done: {numbers}. "
            f"{_advice(open_)}"
        )


def _advice(open_: list[ShardState]) -> str:
    if all(one.why.startswith(LIMITS) for one in open_):
        return "The limit of the sweep is reached; the same command with a higher one resumes."
    return "The same command submits them again."


@group.command(short_help="Show how far a submitted run is.")
@click.argument("run", type=PATH)
@AS_JSON
def status(run: Path, as_json: bool) -> None:
    """Show how a submitted run stands: shards, answers, rate, failures, time left.

    \b
    perpend status runs/RUN
    """
    from perpend.sweep.submitting import standing

    _print_standing(standing(run), as_json=as_json, quiet=False)


def _print_standing(seen: SweepStanding, *, as_json: bool, quiet: bool) -> None:
    from perpend.sweep.facts import counted

    body = seen.as_json()
    if as_json:
        say_page(pretty(body))
        return
    if quiet:
        return
    states = ", ".join(f"{count} {state}" for state, count in counted(list(seen.shards)))
    say(f"{seen.sweep.shards} shard{'s' * (seen.sweep.shards > 1)}: {states}." + " Cancelled." * seen.cancelled)
    failed = f", {body['failed']:,} failed" if body["failed"] else ""
    unknown = sum(not one.is_counted for one in seen.shards)
    begun = f" ({unknown} shard{'s' * (unknown > 1)} not counted yet)" * bool(unknown)
    say(f"{body['answered']:,} of {body['planned']:,} answered{failed}{begun}. {_pace(seen)}.")
    for one in [one for one in seen.shards if one.state in ("failed", "stopped")][:20]:
        say(f"  shard {one.shard} {one.state}: {_in_one_line(one.why) or 'no reason was given'}")
    if seen.unmerged:
        say(f"Not merged: {_in_one_line(seen.unmerged)}")
        say(f"To merge: perpend merge {shlex.quote(str(seen.run))}")
    say(f"Run: {seen.run.as_posix()}")


def _in_one_line(text: str) -> str:
    """An error in one line: what a server said last must not look like lines of ours."""
    return " | ".join(filter(None, map(str.strip, text.splitlines())))


def _pace(seen: SweepStanding) -> str:
    seconds, why = seen.seconds_left()
    if seconds == 0:
        return "Nothing is left"
    if seconds is None or seen.rate is None:
        return f"Time left unknown: {why}"
    parts = math.ceil(seconds / 60)
    left = f"{parts} minute{'s' * (parts > 1)}" if parts < 120 else f"{parts / 60:.1f} hours"
    return f"{seen.rate:,.1f} a second, about {left} left"


@group.command(short_help="Stop a submitted run: tasks keep what they have and end.")
@click.argument("run", type=PATH)
@QUIET
def cancel(run: Path, quiet: bool) -> None:
    """Stop a submitted run: tasks keep what they have and end. 'perpend submit' resumes it.

    \b
    perpend cancel runs/RUN
    """
    from perpend.sweep.submitting import cancel as cancel_sweep
    from perpend.sweep.submitting import standing

    sweep = cancel_sweep(run)
    if not quiet:
        is_done = all(one.state == "done" for one in standing(run).shards)
        more = "Every shard was done already." if is_done else "Submit again to resume."
        say(f"Cancelled: what {sweep.shards} shards have is kept. {more}")
