"""The numbers that a LaTeX source types: found, told apart from what is no number of the paper, and covered or not."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.errors import SpecError
from perpend.proof.claims import extract
from perpend.proof.claims.extract import covers
from perpend.proof.claims.tex import Typed, is_sealed, scan, sealed


def printed(text: str) -> list[str]:
    return [number.text for number in scan(text).numbers]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r"We ran 23,760 trials, 21{,}600 factual and 2\,160 on opinions.", ["23,760", "21{,}600", r"2\,160"]),
        (r"It was 42.4\% overall, $74.7\%$ for think, 12 percent and 3.4 points elsewhere.",
         [r"42.4\%", r"74.7\%", "12 percent", "3.4 points"]),
        (r"$p = 5.0\times10^{-12}$, $p < 10^{-4}$, 1.2e-4, $\approx0.33$",
         [r"5.0\times10^{-12}", "10^{-4}", "1.2e-4", "0.33"]),
        (r"interval [0.34, 0.51], $x \in[0.1, 0.2]$, $-3.42$, +44.2", ["0.34", "0.51", "0.1", "0.2", "3.42", "44.2"]),
        (r"\textbf{0.5} \footnote{It was 15 of 20.} \emph{.75}", ["0.5", "15", "20", ".75"]),
        (r"\multicolumn{2}{c}{12.5} & \href{http://x/9}{31} & \textcolor{red!20}{7.5}", ["12.5", "31", "7.5"]),
        (r"\newcommand{\accuracy}[1]{0.81}", ["0.81"]),
        (r"\begin{tabular*}{9cm}{l}12\end{tabular*} \begin{listed}{0.7}\end{listed}", ["12", "0.7"]),
        (r"$\mathrm{OR}_{T=1\,\mathrm{vs}\,0}=1.13$, 95\% CI [1.03, 1.24], ($+11.6$ pp), $\sim$38 & Asch (5)",
         ["1.13", r"95\%", "1.03", "1.24", "11.6$ pp", "38", "5"]),
        (r"At each step 0.3 is added; in both studies 12 of 20; Table 3 shows 42\%; error--0.5",
         ["0.3", "12", "20", r"42\%", "0.5"]),
    ],
)  # fmt: skip
def test_numbers_of_the_text_are_found_as_they_are_printed(text: str, wanted: list[str]) -> None:
    assert printed(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "% 42 of the trials\nnone",
        r"\label{tab:3} \ref{sec:42} \citep[p.~12]{wilson1927} \autocite{x2024} \eqref{eq:7} \cref{fig:1,fig:2}",
        r"\includegraphics[width=0.5\textwidth]{figure3.png} \vspace{-2mm} 0.7\linewidth and 3pt, 2.5cm, 4em",
        r"\usepackage[margin=2cm]{geometry} \documentclass[11pt,a4paper]{article} \fontsize{9}{11}",
        r"\begin{thebibliography}{99}\bibitem{a} E. Wilson, 1927, pp. 209--212.\end{thebibliography}",
        r"\begin{verbatim}x = 42\end{verbatim} \verb|77| \url{http://x.org/88} \begin{lstlisting}9\end{lstlisting}",
        r"Section 4.4, Sections~4.4 and 4.5, Table 3, Figs. 2 and 3, Eq.~(5), \S\ and §2, Appendix 1",
        r"$x_1$, $x_{12}$, $x^2$, $\sum_{i=1}^{10}$, H\textsubscript{2}O, CO$_2$",
        r"GPT-4, OLMo-3-7B, Llama2, asch\_history\_5, T5, top-5, the 3rd of v2, 70B, 2D",
        r"version 1.2.3 of 2026-02-05 at 12:30",
        r"allenai/Olmo-3-1025-7B and claude-3-5-sonnet, black!25, Observation 2: Asch (1956), Mader et al., 2023",
        r"We (1) ask and (2) judge, as in the 1950s.",
        r"\tikzset{box/.style={line width=1pt, opacity=0.3, steps=5}} \definecolor{b}{RGB}{70,130,210} \tcbset{arc=4}",
        r"\\[2pt] \hspace{1cm} \setlength{\tabcolsep}{4pt} \renewcommand{\arraystretch}{1.2} \penalty10000 \char34",
        r"\begin{tabular}{lp{3cm}*{2}{r}} \cmidrule(lr){2-3} \cline{1-2} \multirow{2}{*}{x} \end{tabular}",
        r"\begin{figure}[t!] \setcounter{table}{3} \newcommand{\x}[2]{#1 #2} \sqrt[3]{x}",
    ],
)
def test_what_is_no_number_of_the_paper_is_left_out(text: str) -> None:
    assert printed(text) == []


def test_a_number_that_begins_a_line_is_no_part_of_the_word_before() -> None:
    assert printed("We asked\n5 models with\n\n12 items under an $L_1$ penalty\n7 times") == ["5", "12", "7"]


def test_an_escaped_percent_sign_starts_no_comment() -> None:
    assert printed("42\\% of 7 % 9\n\\\\% 8\n3") == [r"42\%", "7", "3"]


def typed(text: str) -> Typed:
    (number,) = scan(text).numbers
    return number


@pytest.mark.parametrize(
    ("text", "expected", "is_covered"),
    [
        ("0.424", "0.424", True),
        (r"42.4\%", "0.424", True),
        (r"42\%", "0.424", True),
        (r"43\%", "0.424", False),
        ("42.4", "0.424", True),
        ("0.42", "0.424", True),
        ("0.4236", "0.424", False),
        ("0.4240", "0.424", True),
        ("42", "0.42", False),
        ("0", "0.424", False),
        ("0", "0", True),
        ("23,760", "23760", True),
        ("23,761", "23760", False),
        ("falls by 3.4 points", "-0.0342", True),
        (r"$5.0\times10^{-12}$", "5.0e-12", True),
        (r"$5.1\times10^{-12}$", "5.0e-12", False),
        (r"7.08\%", "7.08", True),
        (r"$\sim$41", "0.41", False),
        ("1", "0.6", False),
    ],
)
def test_a_number_is_covered_when_it_is_the_value_rounded_to_what_is_printed(
    text: str, expected: str, is_covered: bool
) -> None:
    assert covers(typed(text), Decimal(expected)) is is_covered


def test_both_ends_of_a_range_in_percent_are_percentages() -> None:
    low, high = scan(r"between 41--55\% of them").numbers
    assert low.is_percent
    assert high.is_percent
    assert covers(low, Decimal("0.41"))


CLAIMS = """
[[claim]]
name = "mismatch"
number = "disagreement(mentioned, endorsed)"
expect = 0.424
[[claim]]
name = "by"
number = "rate(correct)"
by = "model"
expect = { a = 0.75, b = "undefined" }
[[claim]]
name = "unused"
number = "trials()"
expect = 9999
"""


def paper(folder: Path, text: str, **files: str) -> Path:
    (folder / "paper.tex").write_text(text, encoding="utf-8")
    for name, body in files.items():
        (folder / f"{name}.tex").write_text(body, encoding="utf-8")
    return folder / "paper.tex"


def test_it_says_what_each_claim_covers_and_lists_the_rest_with_line_and_context(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    path = paper(tmp_path, "One.\nIt was 42.4\\% here, 0.424 there\nand 75\\% for a,\nover 12 runs.\n")
    found = extract(path, tmp_path / "claims.toml")
    assert found.by_claim() == {"mismatch": 2, "by: a": 1, "unused": 0}
    (rest,) = found.uncovered
    assert (rest.file, rest.number.line, rest.number.text) == ("paper.tex", 4, "12")
    table = found.as_table()
    assert "paper.tex:4: 12" in table
    assert "over 12 runs" in table
    assert "1 of 4 typed numbers are covered by no claim" in table
    assert "shows no number: unused" in table
    assert json.loads(json.dumps(found.as_json()))["covered"] == 3


def test_inputs_are_followed_once_and_only_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.tex").write_text("31337", encoding="utf-8")
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "link.tex").symlink_to(tmp_path / "secret.tex")
    path = paper(
        folder,
        "\\input{one} \\input{paper} \\input one\n\\input{../secret} \\input{link} \\include{gone} \\input{/etc/hosts}",
        one="1 \\input{paper}",
    )
    found = extract(path)
    assert [(one.file, one.number.text) for one in found.numbers] == [("one.tex", "1")]
    assert len(found.notes) == 4
    assert "../secret is not a file of this folder" in found.as_table()


def test_a_computed_number_is_covered_by_construction_until_its_file_is_changed(tmp_path: Path) -> None:
    numbers = sealed("\\newcommand{\\Rate}{$0.424$}\n\\newcommand{\\Other}{$0.5$}\n")
    path = paper(tmp_path, "\\input{numbers} It is \\Rate, again \\Rate{}, not \\Rates.", numbers=numbers)
    found = extract(path)
    assert (found.numbers, found.macros) == ((), 2)
    assert is_sealed(numbers)
    paper(tmp_path, path.read_text(encoding="utf-8"), numbers=numbers.replace("0.424", "0.242"))
    changed = extract(path)
    assert [one.number.text for one in changed.numbers] == ["0.242", "0.5"]
    assert "was changed since" in changed.as_table()


def test_a_paper_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such file"):
        extract(tmp_path / "paper.tex")


def test_bytes_that_are_no_text_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    path.write_bytes(b"\xff\x00\x1b[m 12 of\r\n\r 13 \xe2\x80\xae \\input{a\x00b} \\input{" + b"x" * 290 + b"}")
    found = extract(path)
    assert [(one.number.text, one.number.line) for one in found.numbers] == [("12", 1), ("13", 3)]
    assert not set(found.as_table()) & {"\x00", "\x1b", "\u202e"}


@pytest.mark.parametrize(
    "part",
    ["\\label{", "{", "}", "[", "\\cite[", "$", "\\\\", "^{", "10^", "\\verb|", "\\begin{tabular}", "\\newcommand{",
     "Section 1, ", "1,", "\\begin{verbatim}", "\\input{", "table((((", "%", "\\", "1\\times10^{", "\\%"],
)  # fmt: skip
def test_hostile_sources_are_read_to_the_end(part: str) -> None:
    scan(part * 20_000)
    scan(part * 200 + "}" * 200 + "]" * 200 + "42")


@given(st.text(alphabet="\\{}[]%$_^&#~ \n0123456789.,abcinput-|", max_size=200))
def test_any_text_is_scanned(text: str) -> None:
    for number in scan(text).numbers:
        assert number.value >= 0
        assert 1 <= number.line <= text.count("\n") + 1


@given(st.integers(0, 10**6), st.integers(0, 4))
def test_a_plain_number_in_a_sentence_is_found_with_its_value(digits: int, places: int) -> None:
    value = Decimal(digits).scaleb(-places)
    (number,) = scan(f"We found {value:f} of them.").numbers
    assert number.value == value
