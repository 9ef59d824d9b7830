"""Pages that are made from the code. `python -m tests.generated_docs` writes them; a test compares."""

from __future__ import annotations

import ast
import re
from importlib.resources import files
from pathlib import Path

import click

from perpend.cli import cli
from perpend.studies.logic.chaosbench.sets import committed
from tests.conftest import load_benchmark
from tests.floors import FLOORS, MODULES, unit

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
    schema = files("perpend.ledger").joinpath("schema.sql").read_text(encoding="utf-8").rstrip()
    head = (ROOT / "docs" / "reference" / "run-format.md").read_text(encoding="utf-8").split("## Schema")[0]
    return f"{head}## Schema\n\nThis part is made from the code.\n\n```sql\n{schema}\n```\n"


def text_of(path: str) -> str:
    """A page as it is."""
    return (ROOT / path).read_text(encoding="utf-8")


def with_block(page: str, name: str, block: str) -> str:
    """A page with the block between its two comments of that name."""
    head, _, rest = page.partition(f"<!-- {name} -->")
    return f"{head}<!-- {name} -->\n{block}\n<!-- /{name} -->{rest.partition(f'<!-- /{name} -->')[2]}"


def architecture_page() -> str:
    """The page on the architecture with its table of rooms."""
    return with_block(text_of("docs/explanation/architecture.md"), "rooms", table_of_rooms())


def table_of_rooms() -> str:
    """The rooms with the first sentence of their `__init__`, or of the file, from the roof to the ground."""
    there = {unit(path): path for path in reversed(MODULES)}
    lines = ["| floor | room | what it is for |", "|---:|---|---|"]
    for floor, names in reversed(list(enumerate(FLOORS))):
        for room in (name for name in names.split() if name in there):
            purpose = (ast.get_docstring(ast.parse(there[room].read_text(encoding="utf-8"))) or "").split("\n\n")[0]
            lines.append(f"| {floor} | `{room}` | {' '.join(purpose.split()).replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


def audits_page() -> str:
    """The page on the audits of public sources with a row per data file of benchmarks/audits."""
    gallery = load_benchmark("gallery")
    return with_block(text_of("docs/audits/index.md"), "sources", gallery.table(gallery.entries()))


def coverage_page() -> str:
    """The page on coverage with the shares of benchmarks/coverage.csv."""
    return with_block(text_of("docs/reference/coverage.md"), "cells", f"\n{load_benchmark('cells').page()}")


def items_page() -> str:
    """The page on the logic items with counts and examples of the packaged set, as its data card has them."""
    card = (committed() / "DATA_CARD.md").read_text(encoding="utf-8")
    intro, tables = card.split("\n\n")[1], card.partition("## What is in it")[2].partition("## How labels are made")[0]
    page = with_block(text_of("docs/reference/items-chaos.md"), "intro", intro)
    return with_block(page, "set", f"\n## What is in it{tables.rstrip()}\n")


def howto_page() -> str:
    """The page on the benchmark with the size of the packaged set."""
    size = re.search(r" has ([\d,]+) yes-or-no", (committed() / "DATA_CARD.md").read_text(encoding="utf-8"))
    assert size is not None
    return re.sub(r"(?<=items-chaos\.md\), )[\d,]+(?= items)", size[1], text_of("docs/how-to/chaosbench.md"))


PAGES = {
    "docs/audits/index.md": audits_page,
    "docs/explanation/architecture.md": architecture_page,
    "docs/how-to/chaosbench.md": howto_page,
    "docs/reference/cli.md": cli_page,
    "docs/reference/coverage.md": coverage_page,
    "docs/reference/items-chaos.md": items_page,
    "docs/reference/run-format.md": schema_page,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        (ROOT / path).write_text(page(), encoding="utf-8")
