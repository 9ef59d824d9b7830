"""Pages that are made from the code. `python -m tests.generated_docs` writes them; a test compares."""

from __future__ import annotations

import ast
import csv
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import click

from perpend.cli import cli
from perpend.judging.cues import RULES
from perpend.judging.scorers import ABOUT, SCORERS
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


def scorers_page() -> str:
    """The page on scorers with what each says, the cue lists and facts of the rules, and what was measured."""
    page = text_of("docs/reference/scorers.md")
    for name, block in (
        ("scorers", table_of_scorers()),
        ("cues", cue_lists()),
        ("facts", facts()),
        ("measured", measured()),
    ):
        page = with_block(page, name, block)
    return page


def table_of_scorers() -> str:
    """Every scorer that reads what an answer says, with its versions and what it asks."""
    rows = [
        f"| `{name}` | {', '.join(scorer.version for scorer in versions)} | {ABOUT[name].rstrip('.')} |"
        for name, versions in SCORERS.items()
        if versions[-1].version == "2" or name in ("includes", "exact")
    ]
    return "\n".join(["| name | versions | asks |", "|---|---|---|", *rows])


def cue_lists() -> str:
    """Every cue list by its sign, with its comment and its first words, of each choice one."""
    told: dict[str, list[str]] = {"against": [], "for": [], "free": []}
    comments = dict(re.findall(r"^\[cues\.(\w+)\]  # (.+)$", RULES.read_text(encoding="utf-8"), re.MULTILINE))
    for name, entry in rules_body()["cues"].items():
        phrases = [phrase.split() for phrase in entry["words"].replace("\n", " ").split(",")]
        words = [" ".join(word.partition("|")[0].rstrip("?") for word in phrase) for phrase in phrases]
        plain = [phrase for phrase in dict.fromkeys(words) if not re.search(r"\d|\.\.", phrase)]
        shown = ", ".join(sorted(plain, key=lambda phrase: len(phrase.split()))[:2])
        told[entry["sign"]].append(f"`{name}` {re.split('[:;]', comments[name])[0]} (*{shown}*)")
    heads = {"against": "Against a mention", "for": "For it", "free": "Either"}
    return "\n\n".join(f"{heads[sign]}: {'; '.join(lists)}." for sign, lists in told.items())


def facts() -> str:
    """The facts of place with a weight of 1 or more, the weightiest first, by sign."""
    weights = {name: entry[2] for name, entry in rules_body()["facts"].items() if abs(entry[2]) >= 1}
    ordered = sorted(weights, key=lambda name: -abs(weights[name]))
    for_it, against = ([f"*{name}*" for name in ordered if weights[name] * sign > 0] for sign in (1, -1))
    limits = ", ".join(f"{name} {value}" for name, value in rules_body()["thresholds"].items())
    return f"For: {', '.join(for_it)}. Against: {', '.join(against)}. Thresholds: {limits}."


def rules_body() -> dict:
    """The packaged rules."""
    return tomllib.loads(RULES.read_text(encoding="utf-8"))


MEASURED = {
    "open": "open questions",
    "sums": "word problems",
    "sums, line removed": "without their last line",
    "verdicts": "valid or invalid, yes or no",
    "conformity": "planted answers",
    "decoy in a wrong answer": "decoy in a wrong answer",
    "decoy in a right answer": "decoy in a right answer",
    "decoy not there": "decoy not there",
}
"""Of each set what the page calls it."""


def measured() -> str:
    """The shares of benchmarks/measured/judging.csv, in %, without the counts."""
    with (ROOT / "benchmarks" / "measured" / "judging.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["set"], row["rule"]): row for row in csv.DictReader(file)}

    def cell(name: str, rule: str, column: str) -> str:
        return re.sub(r"\d\.\d{3}", _percent, rows.get((name, rule), {}).get(column, "").partition(" (")[0]) or "–"

    lines = ["| answers | @2: precision | recall | right | @1: right | includes: right |", "|---|---|---|---|---|---|"]
    for name, called in MEASURED.items():
        for rule in ("@2", "@2 without parts") if name == "open" else ("@2",):
            ours = [
                cell(name, rule, column) if name[:5] != "decoy" or column == "accuracy" else "" for column in COLUMNS
            ]
            others = [cell(name, other, "accuracy") if rule == "@2" else "" for other in ("@1", "includes")]
            lines.append(f"| {called}{rule[2:]} | {' | '.join([*ours, *others])} |")
    return "\n".join(lines)


COLUMNS = ("precision", "recall", "accuracy")


def _percent(found: re.Match[str]) -> str:
    return f"{float(found[0]) * 100:.1f}"


PAGES = {
    "docs/audits/index.md": audits_page,
    "docs/explanation/architecture.md": architecture_page,
    "docs/how-to/chaosbench.md": howto_page,
    "docs/reference/cli.md": cli_page,
    "docs/reference/coverage.md": coverage_page,
    "docs/reference/items-chaos.md": items_page,
    "docs/reference/run-format.md": schema_page,
    "docs/reference/scorers.md": scorers_page,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        (ROOT / path).write_text(page(), encoding="utf-8")
