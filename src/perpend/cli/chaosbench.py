"""chaosbench: the commands of the run plan, thin over perpend's ledger, runner and statistics.

Parse, call one function, print, exit code. Results go to standard output, progress and messages to standard error.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

from perpend.canon import JSON, VERSION, as_object, number_of, parse, read_text, write_atomic
from perpend.cli.command import run
from perpend.cli.group import UserPath
from perpend.errors import AuditFailure, PerpendError, SpecError, StoreError
from perpend.inert import one_line, say, say_page

if TYPE_CHECKING:
    from perpend.proof.gates import Gate
    from perpend.studies.logic.chaosbench.runs import Settings

F = TypeVar("F", bound=Callable[..., None])
_PATH = UserPath(path_type=Path)
_SHORTEST_KEY, _LONGEST_KEY = 32, 4096
_SELECTOR = click.option(
    "--selector",
    type=_PATH,
    default=Path("data/canonical_v2_files.json"),
    show_default=True,
    help="List of the canonical files.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, prog_name="chaosbench")
def cli() -> None:
    """The chaos-logic benchmark: frozen items, one protocol, runs that can be checked.

    \b
    chaosbench eval --provider mock --subset data/subsets/subset_1k_armored.jsonl --max-items 50
    chaosbench eval --provider ollama --model qwen2.5:14b --dataset canonical --workers 2
    chaosbench publish-run --run runs/RUN
    chaosbench analyze-runs --runs-dir published_results/runs --out-dir artifacts/runs_audit
    """


_EVAL_OPTIONS = (
    click.option("--provider", help="mock, local, hf, ollama, openai, anthropic, gemini, deepseek, openrouter, groq."),
    click.option("--model", help="Name of the model; not needed for mock."),
    click.option("--dataset", default="canonical", show_default=True, help="'canonical', or an item file."),
    click.option("--subset", type=_PATH, help="Item file; takes precedence over --dataset."),
    click.option("--tier", type=click.Choice(["P0", "P1", "P2", "P3", "P4"]), help="Row of the run plan."),
    click.option("--max-items", "--limit", type=int, help="Use N items, sampled with --seed."),
    click.option("--output-dir", type=_PATH, default=Path("runs"), show_default=True, help="Directory for runs."),
    click.option("--seed", type=int, default=42, show_default=True, help="Samples items; is sent to the model."),
    click.option("--workers", type=int, default=1, show_default=True, help="Concurrent requests."),
    click.option("--retries", type=int, default=1, show_default=True, help="0: do not ask again after INVALID."),
    click.option("--temperature", type=float, default=0.0, show_default=True),
    click.option("--max-tokens", type=int, default=128, show_default=True),
    click.option("--lenient", is_flag=True, help="Read replies by the reference's lenient rule."),
    click.option("--strict-parsing", is_flag=True, help="Read replies by the reference's strict rule."),
    click.option("--resume", metavar="RUN", help="Resume a run, given by its path or its id."),
    click.option("--shuffle-seed", type=int, help="Ask in another order: one permutation with this seed."),
    click.option("--phase", help="A word of your own for the manifest."),
    click.option("--truncate-pred-text", type=int, help="Shorten texts in predictions.jsonl to N characters."),
    click.option("--max-usd", type=float, help="Stop after spending this many USD; needs the two prices."),
    click.option("--usd-per-million-input", type=float, help="Price of a million tokens in. [unknown]"),
    click.option("--usd-per-million-output", type=float, help="Price of a million tokens out. [unknown]"),
    click.option("--base-url", help="Address of the server, where it is not the provider's own."),
    click.option("--quiet", is_flag=True, help="Print errors only."),
)


def _eval_options(command: F) -> F:
    for option in reversed(_EVAL_OPTIONS):
        command = option(command)
    return command


@cli.command("eval")
@_eval_options
@click.pass_context
def eval_(context: click.Context, /, **flags: object) -> None:
    """Ask a model the items of a set; keep every reply; write the run folder.

    \b
    chaosbench eval --tier P0
    chaosbench eval --provider ollama --model qwen2.5:14b --subset data/subsets/subset_5k_armored.jsonl --workers 2
    chaosbench eval --resume runs/20260220T145642Z_ollama_qwen2.5-14b
    """
    if flags["lenient"] and flags["strict_parsing"]:
        raise SpecError("--lenient and --strict-parsing are two rules of reading a reply; give one")
    given = {
        name: flags[name]
        for name in flags
        if context.get_parameter_source(name) not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
    }
    if flags["resume"] is not None:
        _resume(str(flags["resume"]), Path(str(flags["output_dir"])), given)
        return
    for one in _runs_of(flags):
        _evaluate(one, given)


def _runs_of(flags: Mapping[str, object]) -> list[dict[str, object]]:
    """The runs that the flags come to: one, or those of a tier of the run plan."""
    from perpend.studies.logic.chaosbench.runs import TIERS

    tier = TIERS.get(str(flags["tier"]))
    if tier is None:
        return [dict(flags)]
    if flags["subset"] is not None:
        raise SpecError("--tier names its items itself; leave --subset out")
    runs = []
    for subset in tier["subsets"]:
        one = {**flags, "subset": Path(subset) if subset else None}
        one["max_items"] = flags["max_items"] or tier.get("max_items")
        one["provider"] = flags["provider"] or tier.get("provider")
        runs.append(one)
    return runs


def _settings(flags: Mapping[str, object]) -> dict[str, object]:
    """The flags with the rule of reading a reply under its one name."""
    picked = dict(flags)
    if flags.get("lenient") or flags.get("strict_parsing"):
        picked["parsing"] = "lenient" if flags.get("lenient") else "strict"
    return picked


def _evaluate(flags: Mapping[str, object], given: Mapping[str, object]) -> None:
    from perpend.studies.logic.chaosbench.runs import new_run, settings_from
    from perpend.studies.logic.chaosbench.sets import open_source

    if flags["provider"] is None:
        raise SpecError("--provider is missing; for example --provider mock")
    settings = settings_from(_settings(flags), "the command line")
    subset = flags["subset"]
    source = open_source(subset if isinstance(subset, Path) else None, str(flags["dataset"]))
    if source.note and not flags["quiet"]:
        say(f"note: {source.path}: {source.note}; the run cannot be published as canonical", err=True)
    with new_run(source, settings, Path(str(flags["output_dir"]))) as directory:
        _ask(directory, settings, given)


def _resume(name: str, out: Path, given: Mapping[str, object]) -> None:
    from perpend.studies.logic.chaosbench.runs import RUN_MANIFEST, read_json, resumed, settings_of, write_json

    directory = next((one for one in (Path(name), out / name) if (one / RUN_MANIFEST).is_file()), None)
    if directory is None:
        raise StoreError(f"{name}: no such run, neither as a path nor below {out}; it needs a {RUN_MANIFEST}")
    settings = resumed(settings_of(directory), _settings(given), str(directory))
    write_json(directory / RUN_MANIFEST, {**read_json(directory / RUN_MANIFEST), "resumed_from": directory.name})
    _ask(directory, settings, given)


def _ask(directory: Path, settings: Settings, given: Mapping[str, object]) -> None:
    from perpend.ask.starting import has_response
    from perpend.cli.asking import counts, spending
    from perpend.studies.logic.chaosbench.runs import ask

    again, quiet = _again(directory, settings, given), bool(given.get("quiet"))
    try:
        outcome = ask(directory, settings, quiet=quiet)
    except PerpendError:
        if has_response(directory):
            say(f"The answers so far are kept. To resume: {again}", err=True)
        raise
    if not quiet:
        say_page(read_text(directory / "summary.md") + "\n")
        say(f"{counts(outcome)}. {spending(outcome)}.")
        say(f"Run: {directory}")
    if outcome.failed:
        items = "1 item" if outcome.failed == 1 else f"{outcome.failed} items"
        say(f"{items} got no reply. To ask again: {again}", err=True)
    if outcome.stopped is not None:
        if outcome.stopped.startswith("--max-usd"):
            more = _again(directory, settings, {**given, "max_usd": None})
            say(f"Stopped: {outcome.stopped}. To resume, add a higher --max-usd to: {more}", err=True)
        else:
            say(f"Stopped: {outcome.stopped}. To resume: {again}", err=True)
        raise click.exceptions.Exit(130 if outcome.stopped == "interrupted" else 1)


def _again(directory: Path, settings: Settings, given: Mapping[str, object]) -> str:
    """What a shell takes to resume a run: its folder, and what was given now and the folder does not keep.

    A server's address and a model that is a file are not written into a run's folder; speed and budget may have been
    given anew. No flag holds a secret: keys are in the environment.
    """
    from perpend.studies.logic.chaosbench.runs import FROM_FILES, RESUMABLE

    is_file = settings.provider in FROM_FILES or settings.as_json()["model"] != settings.model
    named = RESUMABLE | ({"model"} if is_file else set())
    flags = [
        word
        for key, value in given.items()
        if key in named and value is not None
        for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    return shlex.join(["chaosbench", "eval", "--resume", str(directory), *flags])


@cli.command()
@click.option("--run", "run", type=_PATH, required=True, help="Run folder.")
def report(run: Path) -> None:
    """Write a run's scores, predictions, numbers and summary again from its replies. Asks no model."""
    from perpend.studies.logic.chaosbench.runs import finish, settings_of

    settings_of(run)
    finish(run)
    say_page(read_text(run / "summary.md") + "\n")


@cli.command()
@click.option("--output-dir", type=_PATH, default=Path("artifacts/freeze"), show_default=True)
@_SELECTOR
@click.option("--make-selector", is_flag=True, help="First list every *.jsonl file beside the selector in it.")
@click.option("--force", is_flag=True, help="Replace a freeze that differs from the files.")
def freeze(output_dir: Path, selector: Path, make_selector: bool, force: bool) -> None:
    """Record checksums of the canonical files; if there is a freeze already, compare with it.

    Exit 0: frozen, or the same as before. 1: a bad label, or the files differ from the freeze. 2: something is missing.
    """
    from perpend.studies.logic.chaosbench.sets import freeze as freeze_files
    from perpend.studies.logic.chaosbench.sets import read_selector

    if make_selector:
        listed = [f"{selector.parent.name}/{path.name}" for path in selector.absolute().parent.glob("*.jsonl")]
        body = {"schema_version": "v2", "description": "Canonical item files", "files": sorted(listed)}
        write_atomic(selector, json.dumps(body, indent=2) + "\n")
    frozen = freeze_files(read_selector(selector), output_dir, force=force)
    for file in frozen.selector.digests:
        say(f"{file.sha256}  {file.path}  (count={file.count})")
    say(f"total: {frozen.selector.total}")
    say(f"global_sha256: {frozen.selector.sha256}")
    if frozen.duplicate_ids:
        say(f"warning: {len(frozen.duplicate_ids)} ids occur twice, as {frozen.duplicate_ids[0]!r}", err=True)
    if frozen.differences is not None:
        say("differs from the freeze before; replaced" if frozen.differences else "same as the freeze before")
        for difference in frozen.differences:
            say(f"  {difference}")


@cli.command()
@click.option("--size", type=int, required=True, help="Number of items.")
@click.option("--out", type=_PATH, required=True, help="Item file to write; its manifest is written beside it.")
@click.option("--seed", type=int, default=42, show_default=True)
@click.option("--source", default="canonical", show_default=True, help="'canonical', or an item file.")
@click.option("--balance-labels", is_flag=True, help="Half TRUE, half FALSE in every family.")
@click.option("--balance-families", is_flag=True, help="At least --min-per-family of each, exactly --size in all.")
@click.option("--family-weights", default="{}", help='JSON, for example {"multi_hop": 2}.')
@click.option("--min-per-family", type=int, default=1, show_default=True)
def subset(size: int, out: Path, source: str, family_weights: str, **flags: int) -> None:
    """Sample a subset; with both balances and seed 42 it is the reference's 'armored' one.

    \b
    chaosbench subset --size 1000 --balance-labels --balance-families --out data/subsets/subset_1k_armored.jsonl
    chaosbench subset --size 456 --balance-labels --source data/v22_multi_hop.jsonl --out multi_hop.jsonl
    """
    from perpend.studies.logic.chaosbench.sets import Sampler, open_source, write_subset

    sampler = Sampler(
        size=size,
        seed=flags["seed"],
        balance_labels=bool(flags["balance_labels"]),
        balance_families=bool(flags["balance_families"]),
        weights=_weights(family_weights),
        min_per_family=flags["min_per_family"],
    )
    opened = open_source(None, source)
    body = write_subset(out, opened, source if source == "canonical" else opened.path, sampler)
    say(f"{out}: {body['size']} items, ids {body['sha256']}, {json.dumps(body['label_balance'])}")


def _weights(text: str) -> dict[str, float]:
    """Family weights, as JSON."""
    try:
        body = parse(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"--family-weights: not JSON: {error}") from None
    weights = body.values() if isinstance(body, dict) else [None]
    if not all(isinstance(weight, int | float) and not isinstance(weight, bool) for weight in weights):
        raise SpecError('--family-weights: must be an object of numbers, for example {"multi_hop": 2}')
    return {family: number_of(as_object(body), family, "") or 0.0 for family in as_object(body)}


@cli.command("publish-run")
@click.option("--run", "run", type=_PATH, required=True, help="Run folder.")
@click.option("--out", type=_PATH, default=Path("published_results/runs"), show_default=True)
@_SELECTOR
@click.option("--force", is_flag=True, help="Replace a published run of the same name; every check still applies.")
@click.option("--compress-predictions", is_flag=True, hidden=True, help="Predictions are always published, compressed.")
def publish_run(run: Path, out: Path, selector: Path, force: bool, compress_predictions: bool) -> None:
    """Check a run against the acceptance table and publish a copy with its predictions. Exit 6 when a line fails.

    Every label is read again from its text, and every number is recomputed.
    """
    del compress_predictions
    from perpend.studies.logic.chaosbench.check import acceptance, publish

    gates = acceptance(run, selector)
    say_page(_table(gates) + "\n")
    failed = [f"{gate.gate}: {gate.detail}" for gate in gates if not gate.passed]
    if failed:
        lines = "1 line fails" if len(failed) == 1 else f"{len(failed)} lines fail"
        raise AuditFailure(f"{run}: not published; {lines}: " + "; ".join(failed))
    say(f"published: {publish(run, out, gates, force=force)}")


def _table(gates: Sequence[Gate]) -> str:
    """Gates as text, one per line."""
    width = max(len(gate.gate) for gate in gates)
    return "\n".join(
        f"{'pass' if one.passed else 'FAIL'}  {one.gate:<{width}}  {one_line(one.detail)}" for one in gates
    )


@cli.command("analyze-runs")
@click.option("--runs-dir", type=_PATH, default=Path("runs"), show_default=True, help="Directory of runs.")
@click.option("--out-dir", type=_PATH, default=Path("artifacts/runs_audit"), show_default=True)
@click.option("--items", multiple=True, type=_PATH, help="Item files: adds shortcut baselines, and systems to runs.")
@_SELECTOR
@click.option("--include-failed", is_flag=True, help="Show runs that fail a check among the results, marked.")
def analyze_runs(runs_dir: Path, out_dir: Path, items: tuple[Path, ...], selector: Path, include_failed: bool) -> None:
    """Recompute and check every run below a folder; write tables and figures. Exit 6 when a run does not recompute.

    A run that fails a check or an acceptance criterion is left out of the results unless --include-failed.
    """
    from perpend.studies.logic.chaosbench.analyze import PAGE, analyze, write_audit

    analysis = analyze(runs_dir, items=items, selector=selector, include_failed=include_failed)
    write_audit(analysis, out_dir)
    say_page(read_text(out_dir / "baselines_table.md") + "\n")
    for run_id, gate in analysis.errors:
        say(f"error: {run_id}: {gate.gate}: {gate.detail}", err=True)
    for row in analysis.left_out:
        say(f"left out: {row.run_id}: {', '.join(row.failed)}", err=True)
    runs, errors = len(analysis.all_runs), len(analysis.errors)
    failed = sum(bool(row.failed) for row in analysis.all_runs)
    counts = f"{runs} run{'s' * (runs != 1)}, {failed} not accepted, {errors} error{'s' * (errors != 1)}"
    say(f"{counts}; {out_dir / PAGE}")
    if errors:
        checks = "1 check fails" if errors == 1 else f"{errors} checks fail"
        raise AuditFailure(f"{checks}; {out_dir / PAGE} lists every check")


@cli.command()
@click.option("--data", type=_PATH, help="Folder of item files (*.jsonl in it), or one file. [the packaged set]")
@click.option("--strict", is_flag=True, hidden=True, help="Every gate is always enforced.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def validate(data: Path | None, strict: bool, as_json: bool) -> None:
    """Check an item set: schema, duplicates, balance, leakage, shortcuts. Exit 6 when a gate fails."""
    del strict
    from perpend.studies.logic.chaosbench.validate import items_at
    from perpend.studies.logic.chaosbench.validate import validate as validate_items

    gates = validate_items(items_at(data))
    body: Sequence[JSON] = [gate.as_json() for gate in gates]
    say_page((json.dumps(body, indent=2) if as_json else _table(gates)) + "\n")
    failed = [gate.gate for gate in gates if not gate.passed]
    if failed:
        where = "the packaged set" if data is None else data
        raise AuditFailure(f"{where}: {len(failed)} of {len(gates)} gates fail: {', '.join(failed)}")


@cli.command()
@click.option("--key-file", type=_PATH, help="Text file with the secret key. [$CHAOSBENCH_PRIVATE_KEY]")
@click.option("--out", type=_PATH, help="Folder to write the items into. [only the digest is printed]")
def private(key_file: Path | None, out: Path | None) -> None:
    """Make a private test set from a secret key, and print the digest that can be published before it is used.

    The same key makes the same bytes. No question of the public set is in it. The key is never printed or written. The
    items are made by the factory, which takes ten minutes on two cores; it is in a checkout of perpend's source and in
    no installed package: exit 2 without it.

    \b
    openssl rand -hex 32 > key.txt
    chaosbench private --key-file key.txt
    chaosbench private --key-file key.txt --out private
    chaosbench eval --provider ollama --model qwen2.5:14b --dataset private/data/canonical_v2_files.json
    """
    from perpend.disk import temporary_folder
    from perpend.studies.logic.chaosbench.validate import run_factory

    if key_file is None:
        key, where = os.environ.get("CHAOSBENCH_PRIVATE_KEY", "").strip(), "$CHAOSBENCH_PRIVATE_KEY"
    else:
        hint = "give a text file with the key"
        key, where = read_text(key_file, SpecError, hint, longest=_LONGEST_KEY).strip(), str(key_file)
    if len(key) < _SHORTEST_KEY:
        hint = "for example 'openssl rand -hex 32'" if key else "give --key-file, or set CHAOSBENCH_PRIVATE_KEY"
        raise SpecError(f"{where}: a key needs {_SHORTEST_KEY} characters or more, this one has {len(key)}; {hint}")
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{out}: cannot be made a folder: {error.strerror}; choose another --out") from None
        if not os.access(out, os.R_OK | os.W_OK | os.X_OK) or any(out.iterdir()):
            raise StoreError(f"{out}: cannot be written to, or is not empty; choose another --out")
    typed = shlex.join([str(key_file or "KEYFILE"), str(out or "FOLDER")])
    with temporary_folder("private") as folder:
        words = ("/dev/stdin", (out or folder / "items").absolute())
        done = run_factory("private", *words, typed=typed, given=key)
    say_page(done.stdout)
    say_page(done.stderr, err=True)
    raise click.exceptions.Exit(done.returncode)


@cli.command()
@click.option("--retries", type=int, default=1, show_default=True, help="0: without the second turn.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def prompt(retries: int, as_json: bool) -> None:
    """Print every word that a model is sent, and the hash of it that run_manifest.json states.

    \b
    chaosbench prompt
    chaosbench prompt --retries 0 --json
    """
    from perpend.ask.task import make_task
    from perpend.studies.logic.chaosbench.runs import PROMPT_VERSION, TASK, Settings, prompt_hash

    task = make_task(TASK, Settings("mock", retries=retries).task_options())
    first = str(task.conditions[0].params["user"])
    second = None if task.reprompt is None else str(task.reprompt.params["user"])
    body: dict[str, JSON] = {"prompt_version": PROMPT_VERSION, "prompt_hash": prompt_hash(task), "prompt": first}
    if as_json:
        say_page(json.dumps(body | {"second_turn": second}, indent=2) + "\n")
        return
    say_page(f"{first}\n" + ("" if second is None else f"\nSecond turn, after a reply without a label:\n\n{second}\n"))
    say_page(f"\nprompt_version: {PROMPT_VERSION}\nprompt_hash: {body['prompt_hash']}\n")


def main() -> None:
    """Run the command line."""
    run(cli)


if __name__ == "__main__":
    main()
