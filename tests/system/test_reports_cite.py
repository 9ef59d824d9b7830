"""The law of the house: every number in a report, a table or a summary is one that metrics.json holds."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.cli import chaosbench, cli
from perpend.inert import markdown
from perpend.measure.run import Run
from perpend.measure.study import answer_in, numbers_of
from perpend.report.derive import PLAIN, whole_report
from perpend.spec.resolve import names

NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
# Levels, versions of rules and scorers, ids, times and paths: words that hold digits, not results.
FIXED = re.compile(
    r"95%|80%|\b5%|rules? [12]|@[12]|STAT\d+|temperature 0\b|`[^`]*`|\([^)]*\.csv\)|Date: .*|-0\d+\b|20\d\d-\S+"
    r"|per \+1\.0 of|p \\?< 0\.001|measured coverage 0\.90 to 0\.99|< 0\.0001"
)
MARKED = re.compile(r"[-−+]?⟦[^⟧]*⟧")
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
STUDIES = {
    "conformity": ("--model", "mock/subject", "--model-option", "sway=0.5", "--max-items", "30", "--temperature", "0",
                   "--temperature", "0.7"),
    "logic": ("--model", "mock/subject", "--items", "items.jsonl"),
    "verbs": ("--model", "ngram/early", "--model", "ngram/final", "--max-items", "120"),
    "questions": ("--model", "mock/subject", "--items", "facts.jsonl", "--max-items", "20", "--repeats", "3",
                  "--temperature", "0.7"),
}  # fmt: skip


class Cited(float):
    """A number of metrics.json that says so where it is printed. As a percentage or negated it is the same number."""

    def __format__(self, spec: str) -> str:
        return f"⟦{float(self):{spec}}⟧"

    __str__ = __repr__ = lambda self: f"⟦{float(self)!r}⟧"
    __neg__ = lambda self: Cited(-float(self))  # noqa: E731
    __abs__ = lambda self: Cited(abs(float(self)))  # noqa: E731

    def __mul__(self, other: float) -> float:
        return Cited(float(self) * other) if other in (1, 100) else float(self) * other

    __rmul__ = __mul__


def marked_page(run: Path) -> str:
    """The report of a run, rendered from its metrics.json with every decimal in it marked.

    Sentences that metrics.json itself holds (cautions, verdicts) are left out: they are cited whole.
    """
    opened = Run(run)
    body = json.loads((run / "metrics.json").read_text(encoding="utf-8"), parse_float=Cited)
    study, numbers = opened.code.study or PLAIN, numbers_of(body, [opened.manifest])
    page = whole_report(study, numbers, figures=False).page()
    for sentence in sorted({text for text in strings(body) if DECIMAL.search(text)}, key=len, reverse=True):
        page = page.replace(sentence, "").replace(markdown(sentence), "")
    return page


def strings(value: object) -> Iterator[str]:
    """Every string of words in a JSON value; a lone number in a string is not one."""
    if isinstance(value, str) and " " in value:
        yield value
    elif isinstance(value, list | dict):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from strings(entry)


def leaves(value: object) -> Iterator[float]:
    """Every number in a JSON value, those in strings (temperatures, notes, names of bins) included."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, str):
        yield from (float(token.replace("−", "-")) for token in NUMBER.findall(value))
    elif isinstance(value, list):
        for entry in value:
            yield from leaves(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from leaves(key)
            yield from leaves(entry)


class Known:
    """The numbers of some files, as they are and as percentages, looked up as they are printed."""

    def __init__(self, *paths: Path) -> None:
        values = {number for path in paths for number in leaves(json.loads(path.read_text(encoding="utf-8")))}
        self.values = {v for number in values for v in (number, -number, 100 * number, -100 * number, 1 - number)}
        self.printed: dict[str, set[str]] = {}

    def has(self, token: str) -> bool:
        """Whether a printed number is one of them, rounded to as many places."""
        plain = token.replace("−", "-").lstrip("+")
        if "e" in plain.lower():
            return any(f"{v:.2g}" == f"{float(plain):.2g}" for v in self.values)
        places = len(plain.partition(".")[2])
        key = f".{places}f"
        if key not in self.printed:
            self.printed[key] = {f"{v:{key}}" for v in self.values if abs(v) < 1e15}
        small = plain in {f"{v:.2g}" for v in self.values} if places else False
        return plain in self.printed[key] or small


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from perpend.demo.studies import Size, studies

    folder = tmp_path_factory.mktemp("cite")
    studies("mock/subject", folder, Size(facts=30, opinions=4, logic=40, probes=5))
    (folder / "items" / "logic.jsonl").rename(folder / "items.jsonl")
    (folder / "items" / "facts.jsonl").rename(folder / "facts.jsonl")
    return folder


def test_every_study_is_tried_here() -> None:
    assert STUDIES.keys() == {*names("tasks")} - {"judge"}  # a judge's report is that of what it judges


@pytest.mark.parametrize("study", STUDIES)
def test_every_number_that_a_published_study_prints_is_in_metrics_json(
    place: Path, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    done = CliRunner().invoke(cli, ["eval", "--task", study, *STUDIES[study], "--name", study, "--quiet"])
    assert done.exit_code == 0, done.output
    published = CliRunner().invoke(cli, ["publish", f"runs/{study}", "--no-figures"])
    if published.exit_code:
        needed = [gate for gate in ("unfinished", "invalid") if f"--accept {gate}" in str(published.exception)]
        accept = [part for gate in needed for part in ("--accept", gate, "--because", "a test")]
        published = CliRunner().invoke(cli, ["publish", f"runs/{study}", "--no-figures", *accept])
    assert published.exit_code == 0, published.output
    folder = place / "published" / study
    known = Known(folder / "metrics.json", folder / "manifest.json", folder / "receipt.json")
    page, strange = marked_page(place / "runs" / study), []
    for number, line in enumerate(page.split("\n"), 1):
        printed = NUMBER.findall(MARKED.sub("", FIXED.sub("", line)))
        wrong = [token for token in printed if "." in token or not known.has(token)]
        strange += [f"report.md:{number}: {token} in {line[:120]}" for token in wrong]
    assert MARKED.search(page), "nothing is cited, so this test shows nothing"
    assert 1 <= len(answer_in((folder / "report.md").read_text(encoding="utf-8"))) <= 5
    for path in sorted((folder / "tables").rglob("*.csv")) if (folder / "tables").is_dir() else ():
        for row in csv.reader(path.read_text(encoding="utf-8").splitlines()[1:]):
            cells = [cell for cell in row if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell)]
            strange += [f"{path.name}: {cell}" for cell in cells if float(cell) not in known.values]
    assert not strange, f"{len(strange)} numbers are not in metrics.json:\n" + "\n".join(strange[:20])


def test_every_number_of_the_benchmark_s_summary_is_in_metrics_json(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    done = CliRunner().invoke(
        chaosbench.cli,
        ["eval", "--provider", "mock", "--subset", "data/subsets/subset_1k_armored.jsonl", "--max-items", "60",
         "--output-dir", "bench", "--quiet"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    (run,) = (place / "bench").iterdir()
    known = Known(run / "metrics.json", run / "run_manifest.json")
    page = (run / "summary.md").read_text(encoding="utf-8")
    strange = [
        f"{token} in {line[:100]}"
        for line in page.split("\n")
        for token in NUMBER.findall(line.replace(run.name, "").replace("95%", ""))
        if not known.has(token)
    ]
    assert not strange, "\n".join(strange)
