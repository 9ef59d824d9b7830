"""Claims proposed for a paper's tables: every number with its cell, and the numbers of a run that print so."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from perpend._convert import convert
from perpend.cli import cli
from perpend.errors import SpecError, StoreError
from perpend.measure.run import Run
from perpend.proof.claims import read_claims
from perpend.proof.claims.propose import propose
from perpend.proof.claims.tables import TableNumber, read_tables
from perpend.proof.claims.tabular import tabulars

PAPER = r"""
\begin{table}[t]\caption{Main 3 results}
\begin{tabular}{@{}llS[table-format=2.1]rr@{}}
\toprule
 & & \multicolumn{2}{c}{Accuracy (\%)} & {$p$} \\
\cmidrule(lr){3-4}
Model & Size & {Control} & Asch & \\
\midrule
\multirow{2}{*}{GPT-4} & 7B & \textbf{42.4} & $38.1 \pm 0.3$ & $<0.001$ \\ % 99.9
 & 13B & 51.0(4) & $-3.2_{\pm 1.1}$ & $1.2\times10^{-4}$ \\
\midrule
\multicolumn{5}{l}{\textit{Open models}} \\
Olmo-3-7B~\cite{x2024} & -- & \num{12,345} & \SI{61.5}{\percent} & 0.5$^{*}$ \\[2pt]
\bottomrule
\end{tabular}\label{tab:main}
\end{table}
\begin{verbatim}\begin{tabular}{l}a & 77 \\\end{tabular}\end{verbatim}
We ran 800 trials. \input{more}
"""
MORE = r"\begin{tabularx}{\linewidth}{lr} name & {n} \\ \hline \makecell{a \\ b} & 2\,160 \\ \end{tabularx}"


def cells(path: Path) -> list[tuple[str, str, str, str]]:
    return [(one.row, one.column, one.part, str(one.value)) for one in read_tables(path).numbers]


def test_every_number_of_a_latex_table_has_its_row_its_column_and_its_part(tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(PAPER)
    (tmp_path / "more.tex").write_text(MORE)
    assert cells(tmp_path / "paper.tex") == [
        ("GPT-4 / 7B", "Accuracy (%) / Control", "", "42.4"),
        ("GPT-4 / 7B", "Accuracy (%) / Asch", "", "38.1"),
        ("GPT-4 / 7B", "Accuracy (%) / Asch", "±", "0.3"),
        ("GPT-4 / 13B", "Accuracy (%) / Control", "", "51.0"),
        ("GPT-4 / 13B", "Accuracy (%) / Control", "±", "0.4"),
        ("GPT-4 / 13B", "Accuracy (%) / Asch", "", "-3.2"),
        ("GPT-4 / 13B", "Accuracy (%) / Asch", "±", "1.1"),
        ("GPT-4 / 13B", "p", "", "0.00012"),
        ("Open models / Olmo-3-7B / --", "Accuracy (%) / Control", "", "12345"),
        ("Open models / Olmo-3-7B / --", "Accuracy (%) / Asch", "", "61.5"),
        ("Open models / Olmo-3-7B / --", "p", "", "0.5"),
        ("a b", "n", "", "2160"),
    ]
    tables = read_tables(tmp_path / "paper.tex")
    first, last = tables.numbers[0], tables.numbers[-1]
    assert first.marked
    assert first.is_percent
    assert not tables.numbers[7].is_percent
    wanted = "paper.tex:9, table 1 (tab:main), row 'GPT-4 / 7B', column 'Accuracy (%) / Control'"
    assert first.cell == wanted
    assert (last.file, last.table, last.line) == ("more.tex", 2, 1)
    assert any("'<0.001' is a bound" in note for note in tables.notes)
    assert [one.text for _, one in tables.typed] == ["3", "800"]


def test_tables_of_markdown_and_csv_are_read_as_they_are_shown(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "```\n| no | 1 |\n|---|---|\n| x | 2 |\n```\n\n| Model | Acc (%) | 95% CI | Δ |\n|:--|--:|:--|--|\n"
        "| **GPT-4** | **42.4** | [40.1, 44.9] | $-1.2 \\pm 0.3$ |\n"
        "| a_b_1 | 0,42 | 12/40 | 5x |\n| `z` | 1e-4 | n/a | — |\n"
    )
    assert cells(tmp_path / "a.md") == [
        ("GPT-4", "Acc (%)", "", "42.4"),
        ("GPT-4", "95% CI", "", "40.1"),
        ("GPT-4", "95% CI", "number 2", "44.9"),
        ("GPT-4", "Δ", "", "-1.2"),
        ("GPT-4", "Δ", "±", "0.3"),
        ("a_b_1", "95% CI", "", "12"),
        ("a_b_1", "95% CI", "number 2", "40"),
        ("z", "Acc (%)", "", "0.0001"),
    ]
    tables = read_tables(tmp_path / "a.md")
    assert [one.is_percent for one in tables.numbers[:2]] == [True, False]
    assert sum("is no plain number" in note for note in tables.notes) == 2  # a decimal comma, a factor
    (tmp_path / "b.csv").write_text('model;accuracy;n\nsubject;0.424;"1,200"\n')
    assert cells(tmp_path / "b.csv") == [("subject", "accuracy", "", "0.424"), ("subject", "n", "", "1200")]
    with pytest.raises(SpecError, match="no such file"):
        read_tables(tmp_path / "none.md")


@pytest.mark.parametrize(
    "part",
    [
        "{", "}", "\\begin{tabular}{l}", "\\end{tabular}", "\\begin{table}", "\\multicolumn{99}{l}{", "\\multirow{2}",
        "&", "\\\\", "$_{", "^", "\\SI{1}{", "\\cmidrule(", "\\textbf", "|", "\\input{x}", "\\write18{rm}", "1(2)±",
    ],
)  # fmt: skip
def test_hostile_sources_are_read_to_the_end(part: str) -> None:
    text = "\\begin{tabular}{lr} a & 1 \\\\ \\hline " + part * 3_000 + " b & 2 \\\\ \\end{tabular}"
    assert len(list(tabulars(text))) <= 1 + 3_000


HOSTILE = [
    "\\", "{", "}", "&", "\\\\", "$", "_", "1", ".", "\x1b[2J", '"', "'", "|", "\n", "a", "\\begin{tabular}{l}",
    "\\end{tabular}", "\\hline", "%", "\u202e", "±", "\x7f", "#", "]]",
]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(HOSTILE), max_size=60))
def test_whatever_a_source_holds_the_proposals_are_claims_of_plain_text(parts: list[str]) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        for name in ("p.tex", "p.md", "p.csv"):
            path = Path(folder) / name
            text = "".join(parts)
            path.write_text(f"\\begin{{tabular}}{{l}} a & b \\\\ \\hline {text} & 1 \\\\ \\end{{tabular}}\n{text}|2|\n")
            toml = propose(path).as_toml()
            assert "\x1b" not in toml
            assert "\u202e" not in toml
            tomllib.loads(toml)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two models on 40 items: 'small' is right on 30 of them, 'large' on 36; the other score is 0.5 throughout."""
    folder = tmp_path_factory.mktemp("proposals")
    rows = [[f"q{n}", model, int(n < right)] for model, right in (("small", 30), ("large", 36)) for n in range(40)]
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "model", "right"], *rows])
    return Run(convert(folder / "rows.csv", folder / "study", {"id": "id", "model": "model", "score.right": "right"}))


def test_the_number_of_a_run_that_prints_as_a_cell_is_proposed_and_of_several_none_is_chosen(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "t.md").write_text(
        "| model | accuracy (%) | n | other |\n|--|--|--|--|\n"
        "| small | 75.0 | 40 | 0.123 |\n| large | **90.0** | 40 | |\n"
    )
    claims = tmp_path / "claims.toml"
    arguments = ["claims", "extract", str(tmp_path / "t.md"), "--run", str(run.directory), "--out", str(claims)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert "5 proposed, 3 to complete" in done.output
    text = claims.read_text()
    body = tomllib.loads(text)["claim"]
    assert [one["expect"] for one in body] == [75.0, 40, 0.123, 90.0, 40]
    assert body[0]["number"] == "100 * rate(stored_right@import, model='small')"
    assert body[3]["number"] == "100 * rate(stored_right@import, model='large')"
    assert [one["number"] for one in body if one["expect"] in (40, 0.123)] == ["", "", ""]
    assert "#   n(rate(stored_right@import, model='small'))" in text
    assert "#   items()" in text
    with pytest.raises(SpecError, match="number is blank"):
        read_claims(claims)
    counted = text.replace('number = ""', 'number = "items()"').replace("expect = 0.123", "expect = 40")
    claims.write_text(counted)
    checked = CliRunner().invoke(cli, ["claims", "check", str(claims), str(run.directory)])
    assert checked.exit_code == 0, checked.output
    assert "5 of 5 hold" in checked.output
    again = CliRunner().invoke(cli, arguments)
    assert isinstance(again.exception, StoreError)
    assert "exists already" in str(again.exception)


def test_a_cell_says_where_it_is_in_one_line() -> None:
    from decimal import Decimal

    one = TableNumber("a\nb.tex", 1, "x", 3, "r\x1b[2J", "c", "1", Decimal(1))
    assert "\n" not in one.cell
    assert "\x1b" not in one.cell
