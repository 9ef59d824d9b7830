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
from tests.tables import table


def printed(text: str) -> list[str]:
    return [number.text for number in scan(text).numbers]


@pytest.mark.parametrize(*table("numbers_found"))
def test_numbers_of_the_text_are_found_as_they_are_printed(text: str, wanted: list[str]) -> None:
    assert printed(text) == wanted


@pytest.mark.parametrize(*table("numbers_left_out"))
def test_what_is_no_number_of_the_paper_is_left_out(text: str) -> None:
    assert printed(text) == []


def test_a_number_that_begins_a_line_is_no_part_of_the_word_before() -> None:
    assert printed("We asked\n5 models with\n\n12 items under an $L_1$ penalty\n7 times") == ["5", "12", "7"]


def test_an_escaped_percent_sign_starts_no_comment() -> None:
    assert printed("42\\% of 7 % 9\n\\\\% 8\n3") == [r"42\%", "7", "3"]


def typed(text: str) -> Typed:
    (number,) = scan(text).numbers
    return number


@pytest.mark.parametrize(*table("numbers_covered"))
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
