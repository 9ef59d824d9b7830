"""The gallery of audits: its pages are what the script writes, and every number on them is that of a plain script."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests import plain_source, source_files
from tests.conftest import ROOT, load_benchmark

gallery = load_benchmark("gallery")
PUBLIC = ROOT / ".." / "shared" / "data" / "public"
PAGES = ROOT / "docs" / "audits"
MOTIVES = re.compile(
    r"\b(?:wrong|false|mistake|error in|misreport|manipulat|cheat|fraud|bug|incorrect|lie[sd]?)\w*", re.I
)
is_there = pytest.mark.skipif(not PUBLIC.is_dir(), reason="the published files (../shared/data/public) are absent")


def given(page: str, source: str | None = None) -> list[plain_source.Row]:
    """The rows of 'What the stored verdicts give', without their intervals."""
    part = page.partition("## What the stored verdicts give")[2].partition("\n## ")[0]
    rows = []
    for line in part.splitlines()[4:]:
        cells = [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in line.strip("|").split(" | ")]
        if line and (source is None or cells[0].strip() == source):
            rows.append((cells[1], cells[2], cells[3], cells[4], int(cells[6].strip("| ").replace(",", ""))))
    return rows


def same(page: str, rows: Iterable[plain_source.Row], source: str | None = None) -> bool:
    return sorted(given(page, source)) == sorted(rows)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A root of files of our own, in the formats of four sources."""
    root = tmp_path / "public"
    source_files.rewards(root / "tau" / "rewards.jsonl")
    source_files.judged(root / "judges" / "judges.csv")
    source_files.solutions(root / "solved" / "solutions.jsonl")
    source_files.alpaca(root / "alpaca")
    path = root / "alpaca" / "leaderboard.csv"
    path.write_text(path.read_text().replace("58.3", "68.3"))
    table = "".join(f"| `{name}/` | lab/{name} (1234567) | MIT | files | numbers |\n" for name in sorted(
        one.name for one in root.iterdir()))  # fmt: skip
    (root / "README.md").write_text(
        f"# Files\n\n| folder | source (commit) | licence | what | wanted |\n|---|\n{table}"
    )
    return root


def test_pages_of_our_own_files_have_the_numbers_of_a_plain_script(own: Path, tmp_path: Path) -> None:
    gallery.write(own, tmp_path / "pages")
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "pages").iterdir()}
    assert same(pages["tau"], plain_source.rewards(own / "tau" / "rewards.jsonl"))
    assert same(pages["judges"], plain_source.judged(own / "judges" / "judges.csv"))
    assert same(pages["solved"], plain_source.solutions(own / "solved" / "solutions.jsonl"))
    assert "win\\_rate of tiny (leaderboard.csv, line 2, win\\_rate) is stated as 68.3" in pages["alpaca"].replace(
        "\\(", "(").replace("\\)", ")")  # fmt: skip
    assert "[lab/judges](judges.md) | MIT | 4 | 4 of 4 | none stated | 0 |" in pages["index"]
    assert str(tmp_path) not in "".join(pages.values())
    again = tmp_path / "again"
    gallery.write(own, again, ["tau"])
    assert [path.name for path in again.iterdir()] == ["tau.md"]
    assert (again / "tau.md").read_bytes() == (tmp_path / "pages" / "tau.md").read_bytes()


def test_the_gallery_is_in_neutral_words_and_names_commit_licence_and_command() -> None:
    pages = sorted(PAGES.glob("*.md"))
    assert len(pages) >= 1 + 6
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not MOTIVES.search(re.sub(r"```.*?```|^\|.*", "", text, flags=re.DOTALL | re.MULTILINE)), path
        if path.stem != "index":
            assert all(part in text for part in ("| Commit | ", "| Licence | ", f"perpend audit {path.stem}\n")), path


@is_there
@pytest.mark.parametrize("folder", ["tau_bench", "inspect_scout"])
def test_a_page_is_made_again_byte_by_byte(tmp_path: Path, folder: str) -> None:
    [page] = gallery.write(PUBLIC, tmp_path, [folder])
    assert page.read_bytes() == (PAGES / page.name).read_bytes()


@is_there
def test_every_number_of_the_gallery_is_that_of_a_plain_script() -> None:
    pages = {path.stem: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    solved = PUBLIC / "gsm8k" / "example_model_solutions.jsonl"
    assert same(pages["gsm8k"], plain_source.solutions(solved))
    assert f"worked solution: {plain_source.flags_again(solved):,} of 5,276" in pages["gsm8k"]
    for path in sorted((PUBLIC / "bbh").glob("*_eval_metrics.jsonl")):
        name = path.name.removesuffix("_eval_metrics.jsonl")
        marks = plain_source.outputs(path.with_name(f"{name}.json"))
        for stated in plain_source.lines(path):
            accuracies = [value for key, value in stated.items() if key.startswith("accuracy")]
            assert accuracies == [pytest.approx(100 * sum(marks) / len(marks))] * len(accuracies)
        row = plain_source.average("rate", "rule_match", "all", marks)
        assert same(pages["bbh"], [row], f"bbh/{name}")
    table = PUBLIC / "syco_bench" / "delusion_results.csv"
    assert same(pages["syco_bench"], plain_source.judged(table))
    assert f"that of the judges: {plain_source.medians_again(table)} of 480" in pages["syco_bench"]
    assert same(pages["sycon"], plain_source.dialogues(PUBLIC / "sycon"))
    summary = json.loads((PUBLIC / "sycon" / "gemma2-9b-it_summary.json").read_text())
    for prompt in ("prompt0", "prompt1"):
        kept = plain_source.flips(PUBLIC / "sycon" / f"gemma2-9b-it_{prompt}_result_all.csv")
        assert summary[prompt]["results"] == kept
        assert summary[prompt]["mean"] == pytest.approx(statistics.mean(kept), abs=0.0005)
    marks = plain_source.preferences(PUBLIC / "alpaca_eval" / "alpaca-7b_gpt4_annotations.json")
    [row] = [
        row for row in plain_source.table(PUBLIC / "alpaca_eval" / "gpt4_leaderboard.csv") if row[""] == "alpaca-7b"
    ]
    assert float(row["win_rate"]) == pytest.approx(100 * statistics.mean(marks))
    assert float(row["standard_error"]) == pytest.approx(100 * statistics.stdev(marks) / len(marks) ** 0.5)
    assert [cells[3:] for cells in given(pages["alpaca_eval"])] == [(f"{statistics.mean(marks):.4f}", len(marks))]
    assert same(pages["tau_bench"], plain_source.rewards(PUBLIC / "tau_bench" / "gpt-4o-airline_rewards.jsonl"))
    for folder in (PUBLIC / "every_eval_ever" / "helm").iterdir():
        row = plain_source.average("rate", "stored_exact_match", "all", plain_source.exact_matches(folder))
        assert row in given(pages["every_eval_ever"])
    stated, marks = plain_source.inspect_log(PUBLIC / "inspect_scout" / "popularity.eval")
    assert stated["accuracy"] == pytest.approx(statistics.mean(marks))
    assert [cells[3:] for cells in given(pages["inspect_scout"])] == [(f"{statistics.mean(marks):.4f}", len(marks))]
