"""Pages that are made from the code. `python -m tests.generated_docs` writes them; a test compares."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

import click

from perpend.cli import cli
from tests import chaos_page, floor_plan
from tests.conftest import load_benchmark

ROOT = Path(__file__).resolve().parent.parent


def cli_page() -> str:
    """Every verb with its help text."""
    lines = [
        "# Command line",
        "",
        "Results go to standard output, progress and messages to standard error. Every reading verb takes `--json`.",
        "Exit codes are those of [the errors](errors.md). This page is made from the code.",
        "",
    ]
    # With its parent, as it is called: click keeps the help option that it first made for a command.
    width = {"terminal_width": 80}  # whatever the terminal is
    parent = click.Context(cli, info_name="perpend", help_option_names=["-h", "--help"], **width)
    for name, command in cli.commands.items():
        context = click.Context(command, info_name=name, parent=parent, **width)
        lines += [f"## perpend {name}", "", "```text", command.get_help(context).rstrip(), "```", ""]
        for inner, verb in (command.commands if isinstance(command, click.Group) else {}).items():
            within = click.Context(verb, info_name=inner, parent=context, **width)
            lines += [f"### perpend {name} {inner}", "", "```text", verb.get_help(within).rstrip(), "```", ""]
    return "\n".join(lines)


def schema_page() -> str:
    """The run directory and the schema of run.db."""
    schema = "\n\n".join(
        files("perpend.ledger").joinpath(name).read_text(encoding="utf-8").rstrip()
        for name in ("schema.sql", "looks.sql")
    )
    head = (ROOT / "docs" / "reference" / "run-format.md").read_text(encoding="utf-8").split("## Schema")[0]
    return f"{head}## Schema\n\nThis part is made from the code.\n\n```sql\n{schema}\n```\n"


def architecture_page() -> str:
    """The page on the architecture with its table of rooms."""
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    head, _, rest = page.partition("<!-- rooms -->")
    return f"{head}<!-- rooms -->\n{floor_plan.table()}\n<!-- /rooms -->{rest.partition('<!-- /rooms -->')[2]}"


def mutants_page() -> str:
    """The page on mutants with the outcomes of the last run of benchmarks/mutants.py."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import mutants

    page = (ROOT / "docs" / "explanation" / "mutants.md").read_text(encoding="utf-8")
    head, _, rest = page.partition("<!-- mutants -->")
    return f"{head}<!-- mutants -->\n{mutants.told()}\n<!-- /mutants -->{rest.partition('<!-- /mutants -->')[2]}"


def coverage_page() -> str:
    """The page on coverage with the shares of benchmarks/coverage.csv."""
    page = (ROOT / "docs" / "reference" / "coverage.md").read_text(encoding="utf-8")
    head, _, rest = page.partition("<!-- cells -->")
    cells = load_benchmark("cells").page()
    return f"{head}<!-- cells -->\n\n{cells}\n<!-- /cells -->{rest.partition('<!-- /cells -->')[2]}"


def items_page() -> str:
    """The page on the logic items with counts and examples of the packaged set."""
    return chaos_page.filled((ROOT / "docs" / "reference" / "items-chaos.md").read_text(encoding="utf-8"))


PAGES = {
    "docs/explanation/architecture.md": architecture_page,
    "docs/explanation/mutants.md": mutants_page,
    "docs/figures/floor-plan.svg": floor_plan.picture,
    "docs/reference/cli.md": cli_page,
    "docs/reference/coverage.md": coverage_page,
    "docs/reference/items-chaos.md": items_page,
    "docs/reference/run-format.md": schema_page,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        (ROOT / path).write_text(page(), encoding="utf-8")
