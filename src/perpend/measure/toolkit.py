"""The code that a run names: its scorers, its study, its task.

A manifest is data. Its names are looked up among packaged ones; a Python file that a run brought along is run only
when the caller says so, and only with the digest that the manifest states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.ask.task import CODE, Reprompt, Task, make_task, packaged_task, trusted_files
from perpend.canon import digest
from perpend.errors import PerpendError, SpecError
from perpend.ledger.manifest import RULES, Manifest, read_manifest
from perpend.spec.own_rules import rule_file_of, rule_file_scorers
from perpend.spec.resolve import find_scorer, is_file, module_from_file, module_of, names, packaged_scorer
from perpend.types import OWN_RULES, Scorer

if TYPE_CHECKING:
    from perpend.measure.study import Study


@dataclass(frozen=True, slots=True)
class Toolkit:
    """What a run's names stand for. `missing` says of each thing that cannot be had why not.

    `study` None: the run has the plain summary, or its study is among the missing.
    """

    scorers: Mapping[str, Scorer] = field(default_factory=dict)
    study: Study | None = None
    task: Task | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    """'scorer brief@1' → why; also 'study' and 'task'."""

    def scorer(self, name: str) -> Scorer:
        """The scorer of that name: one of the run's, else a packaged one, else a file that the user names.

        A name with a version is one out of a ledger, which never names a file. 'endorsed@mine.toml' is the run's own.
        """
        if name in self.scorers:
            return self.scorers[name]
        if f"scorer {name}" in self.missing:
            raise SpecError(f"scorer {name!r}: {self.missing[f'scorer {name}']}")
        if (path := rule_file_of(name)) is not None:
            for scorer in self.scorers.values():
                if (scorer.name, scorer.rule_file) == (name.partition("@")[0], path.name):
                    return scorer
            raise SpecError(f"scorer {name!r}: the run has none of such a file; add it with --scorers {name}")
        return find_scorer(name) if is_file(name) and "@" not in name else packaged_scorer(name)


def toolkit_of(task: Task, name: str | None = None, directory: Path | None = None) -> Toolkit:
    """The toolkit of a task at hand, and of the rule files in its run's directory; `name` is what the user called it.

    Only a file, which travels with the run, or a packaged or installed task brings a study: a reader finds no other.
    """
    called = str(task.source) if task.source is not None else name or task.name
    is_found = task.source is not None or called in names("tasks")
    own_rules = {} if directory is None else _own_rules(read_manifest(directory), directory)[0]
    scorers = {**own_rules, **task.judges()}
    return Toolkit(scorers, _study(called) if is_found else None, task)


def toolkit(manifest: Manifest, directory: Path, *, trust_code: bool = False) -> Toolkit:
    """The toolkit of a run by what its manifest says.

    Without `trust_code` nothing out of the run's folder is run, and what would have needed it is missing.
    """
    missing: dict[str, str] = {}
    files = trusted_files(manifest, directory) if trust_code else {}
    own = manifest.source("tasks")
    task: Task | None = None
    study: Study | None = None
    untrusted = f"it is in {CODE}/{{}}, which is not run without --trust-code"
    if own is not None and own.file not in files:
        missing["task"] = missing["study"] = untrusted.format(own.file)
    else:
        called = manifest.task if own is None else str(files[own.file])
        try:
            task = packaged_task(called, manifest.options) if own is None else make_task(called, manifest.options)
            if own is not None:
                task = replace(task, scorers=tuple(task.judges(files).values()))
        except (PerpendError, TypeError, ValueError) as error:
            missing["task"] = f"this version cannot make it: {error}"
        if own is not None or called in names("tasks"):
            study = _study(called)
    scorers: dict[str, Scorer] = {} if task is None or own is None else task.judges()
    for source in manifest.sources:
        if source.kind == "scorers" and source.file in files:
            versions = getattr(module_from_file(files[source.file]), "VERSIONS", ())
            scorers |= {f"{scorer.name}@{scorer.version}": scorer for scorer in versions}
    own_rules, broken = _own_rules(manifest, directory)
    scorers |= own_rules
    for name in manifest.scorers:
        if name in scorers:
            continue
        if OWN_RULES.fullmatch(name) and broken:
            missing[f"scorer {name}"] = broken
            continue
        try:
            scorers[name] = packaged_scorer(name)
        except SpecError as error:
            brought = [source.file for source in manifest.sources if source.kind in ("tasks", "scorers")]
            missing[f"scorer {name}"] = untrusted.format(f" or {CODE}/".join(brought)) if brought else str(error)
    return Toolkit(scorers, study, task, missing)


def reprompt_of(manifest: Manifest, code: Toolkit) -> tuple[Reprompt | None, str]:
    """The second turn of a run's task, if it is the one that the manifest declares; otherwise None and why not."""
    declared = manifest.reprompt
    if declared is None:
        return None, ""
    if code.task is None:
        return None, f"second turns: {code.missing.get('task')}"
    reprompt = code.task.reprompt
    if reprompt is None or digest(dict(reprompt.params)) != declared.sha256:
        return None, "second turns: this code puts them in other words"
    return reprompt, ""


def _own_rules(manifest: Manifest, directory: Path) -> tuple[dict[str, Scorer], str]:
    """The scorers of a run's rule files, which are data and so read whoever wrote them; and why some cannot be had."""
    scorers: dict[str, Scorer] = {}
    broken = ""
    for source in manifest.sources:
        if source.kind == RULES:
            try:
                path = directory / CODE / source.file
                made = rule_file_scorers(path, sha256=source.sha256, within=directory)
            except SpecError as error:
                broken = str(error)
            else:
                scorers |= {f"{scorer.name}@{scorer.version}": scorer for scorer in made.values()}
    return scorers, broken


def _study(name: str) -> Study | None:
    """The STUDY of the module that a task's name names; None where it has none."""
    study: Study | None = getattr(module_of("tasks", name), "STUDY", None)
    return study
