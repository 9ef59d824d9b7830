"""Verbs that derive from answers: analyze, checkpoint, compare, claims."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.canon import pretty
from perpend.cli.group import AS_JSON, PATH, group


@group.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--out", type=PATH, required=True, help="Where tables, figures and report are written.")
@click.option("--no-figures", is_flag=True, help="Tables and report only.")
@click.option("--tex", type=PATH, help="Write every headline number as a LaTeX command here.")
@click.option("--claims", "claims_file", type=PATH, help="With --tex: also what is recomputed for these claims.")
def analyze(runs: tuple[Path, ...], out: Path, no_figures: bool, tex: Path | None, claims_file: Path | None) -> None:
    """Tables, figures and a report of one run or of several that belong together (a sweep).

    \b
    perpend analyze runs/RUN --out analysis
    perpend analyze runs/T0 runs/T1 --out analysis --no-figures
    """
    from perpend.analyze import analyze as analyze_runs
    from perpend.measure import Run

    made = [Run(directory) for directory in runs]
    if tex is not None:
        from perpend.claims import check
        from perpend.reports.macros import write_macros

        write_macros(made, tex, () if claims_file is None else check(claims_file, made, quiet=False))
    click.echo(analyze_runs(made, out, figures=not no_figures))


@group.command()
@click.option("--model", help="provider/name of a model that scores candidates, for example ngram/final.")
@click.option("--predictions", type=PATH, help="JSONL of {id, confidence, correct, …} instead of a model.")
@click.option("--name", help="Name of the checkpoint; otherwise the model's or the file's.")
@click.option("--raw", is_flag=True, help="Score candidates by their summed log-likelihood, not per token.")
@click.option("--corpus", type=PATH, help="What the model was trained on; a probe that stands in it is an error.")
@click.option("--out", type=PATH, required=True, help="The report goes to OUT/NAME.")
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


@group.command()
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@click.option(
    "--first",
    "first_where",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only this part of FIRST; rule=1 is a scorer version.",
)
@click.option("--second", "second_where", multiple=True, metavar="KEY=VALUE", help="Only this part of SECOND.")
@click.option("--column", "columns", multiple=True, help="Only this column, such as 'correct' or 'correct@1'.")
@click.option("--out", type=PATH, help="Where COMPARE.md, COMPARE.json and the tables are written.")
@AS_JSON
def compare(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    first: Path,
    second: Path,
    first_where: tuple[str, ...],
    second_where: tuple[str, ...],
    columns: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Two runs (or parts of them), or two checkpoints, on the same items: paired differences, tests, and a verdict.

    \b
    perpend compare runs/before runs/after --out comparison
    perpend compare runs/RUN runs/RUN --first model=small --second model=large --column correct --out comparison
    perpend compare checkpoints/early checkpoints/final --out checkpoints
    """
    from perpend.compare import compare_directories, is_run, side
    from perpend.flags import key_value

    if not is_run(first) and not is_run(second):
        from perpend.checkpoint import compare_checkpoints

        if out is None:
            raise click.UsageError("two checkpoints need --out")
        click.echo(compare_checkpoints(first, second, out))
        return
    sides = side(first, dict(map(key_value, first_where))), side(second, dict(map(key_value, second_where)))
    found = compare_directories(*sides, out, columns)
    click.echo(pretty(found.as_json()) if as_json else found.verdict, nl=not as_json)


@group.group()
def claims() -> None:
    """What a paper says of runs: recompute it, and list the numbers that nothing recomputes.

    \b
    perpend claims check claims.toml runs/RUN
    perpend claims extract paper.tex --claims claims.toml
    """


@claims.command("check")
@click.argument("claims_file", metavar="CLAIMS.TOML", type=PATH)
@click.argument("runs", nargs=-1, required=True, type=PATH)
@AS_JSON
def claims_check(claims_file: Path, runs: tuple[Path, ...], as_json: bool) -> None:
    """Recompute every claim from the raw answers. Exit 6 when one does not hold.

    \b
    perpend claims check claims.toml runs/RUN
    """
    from perpend import claims as made
    from perpend.measure import Run

    verdicts = made.check(claims_file, [Run(directory) for directory in runs], quiet=as_json)
    click.echo(pretty(made.as_json(verdicts)) if as_json else made.as_table(verdicts), nl=False)
    made.raise_for_failures(verdicts)


@claims.command("extract")
@click.argument("paper", metavar="PAPER.TEX", type=PATH)
@click.option("--claims", "claims_file", type=PATH, help="Claims that cover numbers of the paper.")
@click.option("--strict", is_flag=True, help="Exit 6 when a number is covered by no claim.")
@AS_JSON
def claims_extract(paper: Path, claims_file: Path | None, strict: bool, as_json: bool) -> None:
    """List the numbers in a LaTeX source that no claim covers.

    \b
    perpend claims extract paper.tex --claims claims.toml
    """
    from perpend.claims import extract
    from perpend.errors import AuditFailure

    found = extract(paper, claims_file or ())
    click.echo(pretty(found.as_json()) if as_json else found.as_table(), nl=False)
    if strict and found.uncovered:
        raise AuditFailure(f"{len(found.uncovered)} of {len(found.numbers)} numbers are covered by no claim")
