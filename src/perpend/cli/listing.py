"""The verb that lists what there is by name: tasks, models, scorers, conditions, runs."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perpend.canon import JSON, pretty, read_text
from perpend.cli.group import AS_JSON, PATH, NearChoice, group
from perpend.errors import DataError, PerpendError, SpecError, StoreError
from perpend.inert import say, say_page

if TYPE_CHECKING:
    from perpend.spec.resolve import Kind

_MADE_BY: dict[Kind, str] = {"tasks": "task", "models": "model", "scorers": "VERSIONS"}
_KINDS = (*_MADE_BY, "conditions", "runs")
_LONGEST = 100


@group.command("list", short_help="List tasks, models, scorers, conditions or runs.")
@click.argument("kind", type=NearChoice(_KINDS))
@click.argument("folder", required=False, type=PATH)
@AS_JSON
def list_(kind: str, folder: Path | None, as_json: bool) -> None:
    """List what there is by name, with a line about each; those of installed packages too.

    Conditions are those of each task with its default options. Runs are the folders below FOLDER [runs].

    \b
    perpend list tasks
    perpend list conditions
    perpend list runs published
    """
    if folder is not None and kind != "runs":
        raise click.UsageError(f"{folder}: a folder is for 'perpend list runs'")
    rows = list(
        _runs(folder or Path("runs")) if kind == "runs" else _conditions() if kind == "conditions" else _named(kind)
    )
    if as_json:
        say_page(pretty(rows))
        return
    if not rows:
        say(f"No {kind}." if kind != "runs" else f"No runs below {folder or 'runs'}.")
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        say(f"{row['name']!s:<{width}}  {row['about']}")


def _named(kind: str) -> Iterator[dict[str, JSON]]:
    """Every task, provider or scorer: what its module says of itself, or the table of scorers. Nothing of it is run."""
    from perpend.judging.scorers import ABOUT
    from perpend.spec.resolve import HOMES, installed, names

    for one, maker in _MADE_BY.items():
        for name in names(one) if one == kind else ():
            entries = installed(one, name)
            if one == "scorers" and not entries:
                yield {"name": name, "about": ABOUT[name], "package": None}
                continue
            tree = _source(entries[0].module if entries else f"{HOMES[one]}.{name}")
            if entries or tree is None or maker in _bound(tree):
                yield {"name": name, "about": _about(tree, name), "package": entries[0].value if entries else None}


def _source(module: str) -> ast.Module | None:
    """The syntax tree of an installed module; None where there is no source that can be read."""
    try:
        place = importlib.util.find_spec(module)
        return None if place is None or place.origin is None else ast.parse(read_text(Path(place.origin)))
    except (ImportError, OSError, SyntaxError, ValueError, PerpendError):
        return None


def _bound(tree: ast.Module) -> set[str]:
    """The names that a module binds at its top."""
    bound: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            bound |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound |= {target.id for target in targets if isinstance(target, ast.Name)}
    return bound


def _about(tree: ast.Module | None, name: str) -> str:
    """The first line of what a module says of itself."""
    lines = ((None if tree is None else ast.get_docstring(tree)) or "Says nothing of itself.").splitlines()
    line = lines[0].removeprefix(f"{name}: ")
    return line[:1].upper() + line[1:]


def _conditions() -> Iterator[dict[str, JSON]]:
    """The conditions of every task with its default options, and how each puts a question."""
    from perpend.ask.task import make_task
    from perpend.spec.resolve import names

    for name in names("tasks"):
        try:
            task = make_task(name, {})
        except (SpecError, DataError, StoreError) as error:
            yield {"name": f"{name}: ?", "about": str(error), "task": name}
            continue
        for condition in task.conditions:
            text = " ".join(str(condition.params.get("user") or "its words are made by code").split())
            about = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
            yield {"name": f"{name}: {condition.name}", "about": about, "task": name, "condition": condition.name}


def _runs(folder: Path) -> Iterator[dict[str, JSON]]:
    """The runs directly below a folder by the time that they began: task, models, answers of trials, date."""
    from perpend.ledger.manifest import MANIFEST, read_manifest
    from perpend.ledger.snapshot import snapshot

    if not folder.is_dir():
        raise StoreError(f"{folder}: no such folder; 'perpend eval' makes runs in ./runs, or where --out says")
    rows: list[dict[str, JSON]] = []
    for place in (path for path in folder.iterdir() if (path / MANIFEST).is_file()):
        try:
            manifest = read_manifest(place)
            models = [model.label for model in manifest.models]
            answered: int | None = None
            stopped = False
            if (place / "run.db").is_file():
                with snapshot(place / "run.db") as ledger:
                    answered = ledger.counts().answered
                    stopped = manifest.stop is not None and _stopped(place)
        except StoreError as error:
            rows.append({"name": place.name, "about": f"cannot be read: {error}", "created": ""})
            continue
        done = f"{manifest.trials:,} trials" if answered is None else f"{answered:,} of {manifest.trials:,} answered"
        done += ", stopped by its rule" * stopped
        rows.append(
            {
                "name": place.name,
                "about": f"{manifest.created[:10]}  {manifest.task}  {', '.join(models)}  {done}",
                "created": manifest.created,
                "task": manifest.task,
                "models": list(models),
                "answered": answered,
                "trials": manifest.trials,
            }
        )
    yield from sorted(rows, key=lambda row: (str(row["created"]), str(row["name"])))


def _stopped(place: Path) -> bool:
    """Whether a run's stopping rule has held."""
    from perpend.ledger.stopping import read_looks, stopped_after
    from perpend.ledger.store import Store

    with Store.open(place / "run.db") as store:
        return stopped_after(read_looks(store)) is not None
