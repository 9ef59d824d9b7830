"""Verbs about trust: audit, publish."""

from __future__ import annotations

from pathlib import Path

import click

from perpend.canon import JSON, pretty, write_atomic
from perpend.cli.group import AS_JSON, PATH, group


@group.command()
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--rules", type=click.Choice(["v1", "v2", "both"]), default="both", show_default=True)
@click.option("--sample", type=click.IntRange(1), help="Render and score only so many trials again: a quick look.")
@click.option("--seed", type=int, default=0, show_default=True, help="Draws the sample.")
@click.option("--figures", is_flag=True, help="Draw every figure again and compare its bytes; takes a minute.")
@click.option("--workers", type=click.IntRange(1), help="Processes. [as many as there are cores]")
@click.option("--claims", "claims_file", type=PATH, help="Recompute the claims of this file too.")
@click.option("--out-json", type=PATH, help="Write the outcome here too, with the study's own numbers.")
@click.option("--quiet", is_flag=True, help="No progress.")
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
    quiet: bool,
    as_json: bool,
) -> None:
    """Derive everything again from the raw answers and compare. Exit 6 when anything differs.

    A path is a run, a published folder, or a folder of them.

    \b
    perpend audit runs/RUN
    perpend audit published --sample 200
    perpend audit published --claims claims.toml
    perpend audit runs/T0 runs/T1 --rules v1 --out-json audit.json
    """
    from perpend import claims
    from perpend.analyze import study_numbers
    from perpend.audit import Options, as_table, check_claims
    from perpend.audit import audit as audit_paths
    from perpend.errors import AuditFailure
    from perpend.measure import Run

    audits = audit_paths(paths, Options(rules, sample, seed, figures, workers, quiet=quiet or as_json))
    body: dict[str, JSON] = {"audit": [outcome.as_json() for outcome in audits]}
    verdicts: list[claims.Verdict] = []
    if claims_file is not None:
        verdicts = check_claims(claims_file, audits, quiet=quiet or as_json)
        body["claims"] = claims.as_json(verdicts)
    if out_json is not None:
        runs = [Run(outcome.path) for outcome in audits if (outcome.path / "run.db").is_file()]
        write_atomic(out_json, pretty(body | (study_numbers(runs, rules) if runs else {})))
    text = as_table(audits) + (claims.as_table(verdicts) if verdicts else "")
    click.echo(pretty(body) if as_json else text, nl=False)
    failed = [outcome.path.name for outcome in audits if not outcome.ok]
    if failed:
        raise AuditFailure(f"{len(failed)} of {len(audits)} differ from what is stored: {', '.join(failed)}")
    claims.raise_for_failures(verdicts)


@group.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--to", type=PATH, default=Path("published"), show_default=True, help="Where published runs stand.")
@click.option("--accept", multiple=True, metavar="GATE", help="Publish although this gate fails; needs --because.")
@click.option("--because", multiple=True, metavar="TEXT", help="Why, one for each --accept. The report shows it.")
@click.option("--sign", type=PATH, help="Sign the receipt with this SSH key, by ssh-keygen.")
@click.option("--no-figures", is_flag=True, help="Tables and report only.")
@AS_JSON
def publish(  # noqa: PLR0913, PLR0917  a verb has as many parameters as it has flags
    runs: tuple[Path, ...],
    to: Path,
    accept: tuple[str, ...],
    because: tuple[str, ...],
    sign: Path | None,
    no_figures: bool,
    as_json: bool,
) -> None:
    """Check a run at the gates and publish a copy that a stranger can verify. Exit 6 when a gate fails.

    \b
    perpend publish runs/RUN --to published
    perpend publish runs/RUN --accept plan --because "a pilot: 30 of 80 trials"
    """
    from perpend.gates import as_table
    from perpend.publish import publish as publish_runs

    if len(accept) != len(because):
        raise click.UsageError("give one --because for each --accept")
    reasons = dict(zip(accept, because, strict=True))
    made = publish_runs(runs, to, reasons, sign, figures=not no_figures, quiet=as_json)
    if as_json:
        click.echo(pretty([one.as_json() for one in made]), nl=False)
        return
    for one in made:
        click.echo(f"{as_table(one.gates)}\npublished: {one.folder}\nroot SHA-256: {one.root_sha256}")
