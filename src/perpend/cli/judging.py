"""Verbs about what answers say, by a model, by a person, or by rules of your own: judge, label, fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from perpend.canon import pretty
from perpend.cli.asking import finish, print_preview
from perpend.cli.group import AS_JSON, PATH, QUIET, group, print_fields, print_headline
from perpend.inert import say, say_page


@group.command(short_help="Ask a model about the stored answers of a run.")
@click.argument("run", type=PATH)
@click.option("--model", "models", multiple=True, required=True, help="provider/name of the judge; repeat for several.")
@click.option("--model-option", "model_options", multiple=True, metavar="KEY=VALUE", help="Option of each --model.")
@click.option("--rubric", default="endorsed", show_default=True, help="endorsed, correct, stance, or file.toml.")
@click.option("--sample", type=click.IntRange(1), help="Judge N answers, spread evenly over --by. [all]")
@click.option("--by", default="model,condition", show_default=True, help="Strata of --sample, separated by commas.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only answers with this condition, model or tag.")
@click.option("--unscored-by", metavar="SCORER", help="Only answers that this scorer of RUN gives no value.")
@click.option("--both-orders", is_flag=True, help="Ask twice, the second time with the options in reverse order.")
@click.option("--likelihoods", is_flag=True, help="Compare the likelihoods of the options; ask for no text.")
@click.option("--seed", type=int, default=42, show_default=True, help="Draws the sample and the order.")
@click.option("--temperature", multiple=True, type=float, help="Repeat for a grid. [0]")
@click.option("--max-tokens", type=int, help="[512]")
@click.option("--workers", type=int, help="Concurrent requests per model.")
@click.option("--retries", type=int, help="Retries per failed request.")
@click.option("--max-usd", type=float, help="Stop after spending this many USD; needs the models' prices.")
@click.option("--max-requests", type=int, help="Stop after this many requests, retries included.")
@click.option("--max-minutes", type=float, help="Stop this invocation after N minutes.")
@click.option("--name", help="Name of the judge's run directory. [derived from the spec]")
@click.option("--out", type=PATH, help="Directory for runs. [the one that RUN is in]")
@click.option("--dry-run", is_flag=True, help="Show prompts, requests, tokens and cost; ask nothing.")
@QUIET
@AS_JSON
def judge(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    run: Path,
    rubric: str,
    sample: int | None,
    by: str,
    where: tuple[str, ...],
    unscored_by: str | None,
    both_orders: bool,
    likelihoods: bool,
    out: Path | None,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    **flags: object,
) -> None:
    """Ask a model about the stored answers of a run. The verdicts are a run of their own; RUN is not changed.

    The judge sees the question, the answer and what the rubric needs: neither the model, nor the condition, nor a
    scorer's verdict. The same command resumes where it stopped.

    \b
    perpend judge runs/RUN --model openai/gpt-4o --rubric endorsed --sample 500
    perpend judge runs/RUN --model local/smollm2 --rubric correct --where condition=control --both-orders
    perpend analyze runs/RUN --judged runs/JUDGE --out analysis
    """
    from perpend.api import evaluate_spec
    from perpend.ask.preview import preview
    from perpend.ask.rubric import find_rubric
    from perpend.measure.judging import Selection
    from perpend.measure.run import Run
    from perpend.spec.runspec import key_value, spec_with_flags
    from perpend.studies.judge.study import prepared

    judged, seed = Run(run), flags["seed"]
    strata = tuple(key for key in by.split(",") if key)
    chosen = Selection(sample, dict(map(key_value, where)), strata, int(str(seed)), unscored_by)
    with prepared(judged, find_rubric(rubric), chosen, both_orders=both_orders, likelihoods=likelihoods) as (
        options,
        items,
    ):
        spec = replace(spec_with_flags(None, {**flags, "task": "judge", "items": (items,)}), options=options)
        to = out or (run.parent if run.name else run.resolve().parent)
        if dry_run:
            print_preview(preview(spec, to), as_json=as_json, quiet=quiet)
            return
        outcome, derived = evaluate_spec(spec, to, quiet=quiet or as_json)
    if derived is not None and not as_json and not quiet:
        print_headline(derived)
    finish(outcome, as_json=as_json, quiet=quiet)


@group.command(short_help="Read answers of a run, blind, and say what each does.")
@click.argument("run", type=PATH)
@click.option("--rubric", default="endorsed", show_default=True, help="endorsed, correct, stance, or file.toml.")
@click.option("--sample", type=click.IntRange(1), default=100, show_default=True, help="Label N answers.")
@click.option("--by", default="model,condition", show_default=True, help="Strata of the sample, separated by commas.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only answers with this condition, model or tag.")
@click.option("--reader", default="reader-1", show_default=True, help="A name for you; it is written down.")
@click.option("--seed", type=int, default=42, show_default=True, help="Draws the sample; the same for all readers.")
@click.option("--from", "source", type=PATH, help="Take labels from this CSV, TSV, JSON, JSONL or Parquet file.")
@click.option("--map", "fields", help="Columns of that file: trial=COLUMN,label=COLUMN,by=COLUMN,… or a TOML file.")
@AS_JSON
def label(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    run: Path,
    rubric: str,
    sample: int,
    by: str,
    where: tuple[str, ...],
    reader: str,
    seed: int,
    source: Path | None,
    fields: str | None,
    as_json: bool,
) -> None:
    """Read answers of a run and say what each does, blind: neither the model nor the condition is shown.

    Labels are appended to labels.jsonl in the run's folder. The same command resumes; another --reader gets the same
    answers. Keys: 1, 2, … for the options, u for undecidable, b to go back, q to quit.

    \b
    perpend label runs/RUN --rubric endorsed --sample 150 --reader anna
    perpend label runs/RUN --rubric correct --from readings.csv --map trial=row,label=verdict
    """
    from perpend.ask.rubric import find_rubric
    from perpend.cli.labelling import session
    from perpend.measure.judging import Selection
    from perpend.measure.labels import append_labels, check_reader, import_labels, label_rows
    from perpend.measure.run import Run
    from perpend.rows.mapping import parse_map
    from perpend.spec.runspec import key_value

    opened, chosen, name = Run(run), find_rubric(rubric), check_reader(reader)
    if source is not None:
        rows = label_rows(source, parse_map(fields) if fields else {})
        labels = import_labels(opened, rows, chosen, name)
        print_fields({"labels": len(labels), "file": append_labels(opened, labels).as_posix()}, as_json)
        return
    if fields:
        raise click.UsageError("--map is for --from")
    strata = tuple(key for key in by.split(",") if key)
    selection = Selection(sample, dict(map(key_value, where)), strata, seed)
    print_fields(session(opened, chosen, selection, name), as_json)


@group.command(short_help="Fit scoring rules of your own to labels.")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--labels", required=True, type=PATH, help="Labels for correct or endorsed: a labels.jsonl, or a table.")
@click.option("--out", required=True, type=PATH, help="Write the rule file here, such as mine.toml.")
@AS_JSON
def fit(runs: tuple[Path, ...], labels: Path, out: Path, as_json: bool) -> None:
    """Fit the weights of the scoring rules to labelled answers. perpend's weights are the prior: few labels move them
    little.

    Precision and recall are cross-validated over items. Where no more verdicts are right than with perpend's weights,
    nothing is written, and the exit code is 6.

    \b
    perpend fit runs/RUN --labels runs/RUN/labels.jsonl --out mine.toml
    perpend score runs/OTHER --scorers endorsed@mine.toml
    """
    from perpend.api import fit as fit_rules

    fitted = fit_rules(list(runs), labels, out)
    if as_json:
        say_page(pretty(fitted.as_json()))
        return
    for line in fitted.as_lines():
        say(line)
    say(f"Rules: {fitted.path.as_posix()} ({', '.join(fitted.scorers)})")
    say(f"Use them: perpend score RUN --scorers {fitted.scorers[0].partition('@')[0]}@{fitted.path.as_posix()}")
