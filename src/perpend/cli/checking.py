"""Verbs about trust: audit, publish."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from perpend.canon import JSON, pretty, write_atomic
from perpend.cli.group import AS_JSON, PATH, QUIET, TRUST_CODE, group
from perpend.inert import say, say_page


@group.command(short_help="Recompute everything from the raw answers and compare.")
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--rules", type=click.Choice(["v1", "v2", "both"]), default="both", show_default=True)
@click.option("--sample", type=click.IntRange(1), help="Recompute only N trials, sampled with --seed: a quick look.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of --sample.")
@click.option("--figures", is_flag=True, help="Redraw every figure and compare its bytes; takes a minute.")
@click.option("--workers", type=click.IntRange(1), help="Number of processes. [number of cores]")
@click.option("--claims", "claims_file", type=PATH, help="Also recompute the claims in this file.")
@click.option("--out-json", type=PATH, help="Also write the outcome to this file, with the study's own numbers.")
@click.option("--metadata", type=PATH, help="The runs_metadata.json of a folder of simulation.db runs.")
@click.option("--map", "fields", help="Columns of a table that others published: prompt=COLUMN,text=COLUMN,…")
@click.option("--page", type=PATH, help="Also write the audit of what others published to this HTML file.")
@TRUST_CODE
@QUIET
@AS_JSON
def audit(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    paths: tuple[Path, ...],
    rules: str,
    sample: int | None,
    seed: int,
    figures: bool,
    workers: int | None,
    claims_file: Path | None,
    out_json: Path | None,
    metadata: Path | None,
    fields: str | None,
    page: Path | None,
    trust_code: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Recompute everything from the raw answers and compare. Exit 6 if anything differs.

    A path is a run, a published folder, a run in the format of a study (simulation.db, a chaosbench run), or a
    folder of these. Nothing in it is executed, unless you give --trust-code.

    A path may also be what others published (HELM, every_eval_ever, AlpacaEval and all else that 'perpend import'
    reads): then its stated numbers are computed again from its stored verdicts.

    \b
    perpend audit runs/RUN
    perpend audit published --sample 200
    perpend audit published --claims claims.toml
    perpend audit runs/T0 runs/T1 --rules v1 --out-json audit.json
    perpend audit alpaca_eval/results/tiny --page audit.html
    """
    from perpend._audit import audited
    from perpend.proof import claims
    from perpend.proof.audit import BEYOND, Options, as_table, seed_numbers
    from perpend.proof.source_text import as_page
    from perpend.view.published import PAGES

    options = Options(
        rules,
        sample,
        seed,
        figures,
        workers,
        quiet=quiet or as_json,
        trust_code=trust_code,
        metadata=metadata,
        page=PAGES,
        say=None if quiet else partial(say, err=True),
    )
    done = audited(paths, options, claims_file, fields)
    body: dict[str, JSON] = {"audit": [outcome.as_json() for outcome in done.runs], "cannot_be_found": dict(BEYOND)}
    text = as_table(done.runs) if done.runs else ""
    if done.sources:
        body["sources"] = [outcome.as_json() for outcome in done.sources]
        text += "\n".join(as_page(outcome) for outcome in done.sources)
    if claims_file is not None:
        body["claims"] = claims.as_json(done.claims)
        text += claims.as_table(done.claims)
    if out_json is not None:
        write_atomic(out_json, pretty(body | seed_numbers(done.runs, rules)))
    if page is not None:
        done.write_page(page)
    if as_json or not quiet:
        say_page(pretty(body) if as_json else text)
    elif not done.ok:
        say_page(text, err=True)
    done.raise_for_failures()


@group.command(short_help="Publish a copy of a run that a stranger can verify.")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--to", type=PATH, default=Path("published"), show_default=True, help="Directory for published runs.")
@click.option("--accept", multiple=True, metavar="GATE", help="Publish even though this gate fails; needs --because.")
@click.option("--because", multiple=True, metavar="TEXT", help="Reason, one per --accept. The report shows it.")
@click.option("--sign", type=PATH, help="Sign receipt and statement with this SSH key (ssh-keygen).")
@click.option("--no-figures", is_flag=True, help="Write tables and report only.")
@click.option("--all-figures", is_flag=True, help="Draw every figure of the study, not only the main ones.")
@click.option("--page", is_flag=True, help="Also write page.html, to read the trials in a browser.")
@click.option("--workers", type=click.IntRange(1), help="Number of processes. [number of cores]")
@TRUST_CODE
@AS_JSON
def publish(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    runs: tuple[Path, ...],
    to: Path,
    accept: tuple[str, ...],
    because: tuple[str, ...],
    sign: Path | None,
    no_figures: bool,
    all_figures: bool,
    page: bool,
    workers: int | None,
    trust_code: bool,
    as_json: bool,
) -> None:
    """Check a run against the gates and publish a copy that a stranger can verify. Exit 6 if a gate fails.

    \b
    perpend publish runs/RUN --to published
    perpend publish runs/RUN --to published --page
    perpend publish runs/RUN --accept plan --because "a pilot: 30 of 80 trials"
    """
    from perpend.measure.study import Drawn
    from perpend.proof.gates import as_table
    from perpend.proof.publish import publish as publish_runs
    from perpend.view.published import PAGES

    if len(accept) != len(because):
        raise click.UsageError("give one --because for each --accept")
    if no_figures and all_figures:
        raise click.UsageError("give either --no-figures or --all-figures")
    figures: Drawn = "all" if all_figures else not no_figures
    reasons = dict(zip(accept, because, strict=True))
    pages = PAGES if page else None
    published = publish_runs(
        runs, to, reasons, sign, figures=figures, page=pages, quiet=as_json, workers=workers, trust_code=trust_code
    )
    if as_json:
        say_page(pretty([one.as_json() for one in published]))
        return
    for one in published:
        say_page(as_table(one.gates) + "\n")
        say(f"published: {one.folder}")
        say(f"root SHA-256: {one.root_sha256}")
