"""Verbs that derive from answers: analyze, checkpoint, claims."""

from __future__ import annotations

import os
from pathlib import Path

import click

from perpend.canon import pretty, write_atomic
from perpend.cli.group import AS_JSON, PATH, QUIET, TRUST_CODE, group, print_headline
from perpend.inert import say, say_page


@group.command(short_help="Write tables, figures and a report of one or several runs.")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--out", type=PATH, required=True, help="Directory for tables, figures and report.")
@click.option("--no-figures", is_flag=True, help="Write tables and report only.")
@click.option(
    "--all-figures", is_flag=True, help="Draw every figure of the study, on all cores, not only the main ones."
)
@QUIET
@AS_JSON
@click.option("--judged", "judges", multiple=True, type=PATH, help="Add the verdicts of this judge run as columns.")
@click.option("--tex", type=PATH, help="Write every headline number as a LaTeX command to this file.")
@click.option("--claims", "claims_file", type=PATH, help="With --tex: add the numbers recomputed for these claims.")
@TRUST_CODE
def analyze(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    runs: tuple[Path, ...],
    out: Path,
    no_figures: bool,
    all_figures: bool,
    quiet: bool,
    as_json: bool,
    judges: tuple[Path, ...],
    tex: Path | None,
    claims_file: Path | None,
    trust_code: bool,
) -> None:
    """Write tables, figures and a report of one run, or of several that belong together (a sweep).

    \b
    perpend analyze runs/RUN --out analysis
    perpend analyze runs/T0 runs/T1 --out analysis --all-figures
    perpend analyze runs/RUN --judged runs/JUDGE --out analysis
    """
    from perpend.measure.run import Run
    from perpend.measure.study import Drawn
    from perpend.report.derive import derive

    if no_figures and all_figures:
        raise click.UsageError("give either --no-figures or --all-figures")
    if judges and len(runs) != 1:
        raise click.UsageError("--judged is for one run; analyse each run with its judges by itself")
    opened = [Run(directory, trust_code=trust_code).with_judge(*judges) for directory in runs]
    if tex is not None:
        from perpend.proof.claims import check
        from perpend.proof.macros import write_macros

        write_macros(opened, tex, () if claims_file is None else check(claims_file, opened, quiet=False))
    figures: Drawn = "all" if all_figures else not no_figures
    derived = derive(opened, out, figures=figures, workers=os.cpu_count() or 1, quiet=quiet)
    if as_json:
        headline = {"answer": list(derived.report.answer), "cautions": list(derived.report.cautions)}
        say_page(pretty({"report": derived.path.as_posix(), **headline}))
    elif not quiet:
        print_headline(derived)


@group.command(short_help="Report calibration and slices of one checkpoint.")
@click.option("--model", help="provider/name of a model that scores candidates, for example ngram/final.")
@click.option("--predictions", type=PATH, help="Rows of {id, confidence, correct, …} instead of a model.")
@click.option("--probes", multiple=True, type=PATH, help="Own probes, instead of the packaged verb probes.")
@click.option("--map", "columns", metavar="NAME=COLUMN,…", help="Columns of the predictions, or of a model's probes.")
@click.option("--declare", multiple=True, metavar="FIELD=VALUE", help="A reason_code, verb, … of your own.")
@click.option("--name", help="Name of the checkpoint. [the model's or the file's]")
@click.option("--hash", "checkpoint_sha256", metavar="HASH|FILE", help="Hash of the checkpoint, or its file.")
@click.option("--step", "training_step", type=int, help="Training step.")
@click.option("--parent", "parent_manifest", metavar="HASH|FILE", help="Manifest that it was trained by, or its hash.")
@click.option("--probes-hash", "probes_sha256", help="Hash of the probe set. [that of --probes]")
@click.option("--date", help="Date of the predictions.")
@click.option("--seed", type=int, help="Seed of the checkpoint.")
@click.option("--scoring", help="How candidates were scored, in words.")
@click.option(
    "--held-out", type=PATH, help="With --predictions: rows of {id, language, loglik, tokens} for perplexity."
)
@click.option("--bins", type=click.IntRange(1, 1000), default=10, show_default=True, help="Bins of ECE.")
@click.option("--raw", is_flag=True, help="Score candidates by their summed log-likelihood, not per token.")
@click.option("--corpus", type=PATH, help="Training corpus; a probe that occurs in it is an error.")
@click.option("--out", type=PATH, required=True, help="Directory; the report goes to OUT/NAME.")
@AS_JSON
def checkpoint(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    model: str | None,
    predictions: Path | None,
    probes: tuple[Path, ...],
    columns: str | None,
    declare: tuple[str, ...],
    name: str | None,
    held_out: Path | None,
    bins: int,
    raw: bool,
    corpus: Path | None,
    out: Path,
    as_json: bool,
    **facts: str | int | None,
) -> None:
    """Report calibration, slices and the adversarial slice of one checkpoint: of a model, or of any predictions.

    A model is asked the packaged verb probes, or those of --probes. With --predictions, --probes adds what the
    predictions do not say.

    \b
    perpend checkpoint --model ngram/final --out checkpoints
    perpend checkpoint --predictions mine.csv --map id=qid,confidence=prob,correct=is_right --out checkpoints
    perpend checkpoint --predictions results.json --name step-2000 --step 2000 --hash model.pt --out checkpoints
    """
    from perpend.rows.mapping import parse_map
    from perpend.studies.verbs.checkpoint import ReportOptions, hashed, report_model, report_predictions
    from perpend.studies.verbs.folder import write_checkpoint
    from perpend.studies.verbs.results import answer_lines

    if (model is None) == (predictions is None):
        raise click.UsageError("give either --model or --predictions")
    if predictions is not None and (raw or corpus is not None):
        raise click.UsageError("--raw and --corpus are for --model")
    if model is not None and held_out is not None:
        raise click.UsageError("--held-out is for --predictions")
    options = ReportOptions(
        name,
        raw,
        corpus,
        probes,
        parse_map(columns) if columns else {},
        ",".join(declare),
        {key: hashed(value) for key, value in facts.items() if value is not None},
        held_out,
        bins,
    )
    if model is not None:
        checkpoint_folder = report_model(model, out, options)
    elif predictions is not None:
        checkpoint_folder = report_predictions(predictions, options)
    folder = write_checkpoint(checkpoint_folder, out)
    if as_json:
        say_page(pretty(checkpoint_folder.as_json()))
        return
    for line in answer_lines(checkpoint_folder.name, checkpoint_folder.numbers):
        say(line)
    say(f"Report: {folder / 'REPORT.md'}")


@group.group(short_help="Recompute what a paper says of runs.")
def claims() -> None:
    """Recompute what a paper says of runs, and list the numbers that nothing recomputes.

    \b
    perpend claims check claims.toml runs/RUN
    perpend claims extract paper.tex --claims claims.toml
    """


@claims.command("check")
@click.argument("claims_file", metavar="CLAIMS.TOML", type=PATH)
@click.argument("runs", nargs=-1, type=PATH)
@click.option("--strict", is_flag=True, help="Exit 6 also where a claim is not checkable on these data.")
@click.option("--map", "fields", help="Columns of a table that others published: prompt=COLUMN,text=COLUMN,…")
@TRUST_CODE
@AS_JSON
def claims_check(
    claims_file: Path, runs: tuple[Path, ...], strict: bool, fields: str | None, trust_code: bool, as_json: bool
) -> None:
    """Recompute every claim from the raw answers.

    A path is a run, a published folder, or what others published (all that 'perpend import' reads). Without any, those
    that 'runs' in the file names.

    Exit 0: no claim fails, and at least one was checked. Exit 6: a claim does not hold, or is undefined. A claim that
    rests on pairs that the data do not hold is not checkable: it fails only with --strict.

    \b
    perpend claims check claims.toml runs/RUN
    perpend claims check claims.toml published
    """
    from perpend._claims import check_claims
    from perpend.proof import claims as claim_checks

    verdicts = check_claims(claims_file, runs, fields=fields, trust_code=trust_code, quiet=as_json)
    say_page(pretty(claim_checks.as_json(verdicts)) if as_json else claim_checks.as_table(verdicts))
    claim_checks.raise_for_failures(verdicts, strict=strict)


@claims.command("extract")
@click.argument("paper", metavar="PAPER", type=PATH)
@click.option("--run", "runs", multiple=True, type=PATH, help="Propose the numbers of this run that print as a cell.")
@click.option("--out", type=PATH, help="Write the proposed claims to this new file.")
@click.option("--claims", "claims_file", type=PATH, help="List the numbers that these claims do not cover instead.")
@click.option("--strict", is_flag=True, help="Exit 6 if no claim covers a number.")
@AS_JSON
def claims_extract(
    paper: Path, runs: tuple[Path, ...], out: Path | None, claims_file: Path | None, strict: bool, as_json: bool
) -> None:
    """Propose a claim for each number in a paper's tables; with --claims, list the numbers that none covers.

    PAPER is a LaTeX source, a Markdown file or a table as CSV. Of several numbers of a run that print as a cell does,
    all are listed and none is chosen: you complete the line.

    \b
    perpend claims extract paper.tex --run runs/RUN --out claims.toml
    perpend claims extract paper.tex --claims claims.toml
    """
    from perpend.errors import AuditFailure
    from perpend.proof.claims import extract

    if claims_file is None and not strict:
        _propose(paper, runs, out, as_json=as_json)
        return
    if runs or out is not None:
        raise click.UsageError("--run and --out are for proposals; leave out --claims and --strict")
    extraction = extract(paper, claims_file or ())
    say_page(pretty(extraction.as_json()) if as_json else extraction.as_table())
    if strict and extraction.uncovered:
        raise AuditFailure(f"{len(extraction.uncovered)} of {len(extraction.numbers)} numbers are covered by no claim")


def _propose(paper: Path, runs: tuple[Path, ...], out: Path | None, *, as_json: bool) -> None:
    from perpend._claims import opened_runs
    from perpend.errors import StoreError
    from perpend.measure.run import table_of
    from perpend.proof.claims.propose import propose

    if out is not None and (out.exists() or out.is_symlink()):
        raise StoreError(f"{out}: exists already; give the name of a new file")
    with opened_runs(runs) as opened:
        proposals = propose(paper, table_of(opened) if opened else None, [run.name for run in opened])
    if out is not None:
        write_atomic(out, proposals.as_toml())
    if as_json:
        say_page(pretty(proposals.as_json()))
    elif out is None:
        say_page(proposals.as_toml())
    else:
        blank = sum(len(entry.candidates) != 1 for entry in proposals.entries)
        say(f"Claims: {out} ({len(proposals.entries)} proposed, {blank} to complete)")
