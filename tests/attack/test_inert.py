"""Foreign text begins nothing: no list, no heading, no link in Markdown, no formula in a spreadsheet."""

from __future__ import annotations

from importlib import import_module

import pytest

from perpend.inert import csv_cell, markdown, plain

STARTS = "- x|-|---|- - -|+ x|+|* x|1. x|12.|1) x|> x|# x|===|```|~~~|    x"


@pytest.mark.parametrize("text", STARTS.split("|"))
def test_a_text_that_begins_a_line_begins_no_block_and_shows_the_same_characters(text: str) -> None:
    renderer = import_module("markdown")  # mkdocs brings it, and has no types
    shown = renderer.markdown(f"{markdown(text)}\n")
    assert shown.startswith("<p>")
    assert shown.count("<") == 2, shown
    under = renderer.markdown(f"A line.\n{markdown(text)}\n")
    assert under.startswith("<p>")
    assert under.count("<") == 2, under
    assert plain(markdown(text)) == " ".join(text.split())


@pytest.mark.parametrize("text", ["-0.5", "a. b", "1.5 points", "+12 points", "a - b", "-x", "x = y", "wwwx.org"])
def test_an_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert markdown(text) == text


@pytest.mark.parametrize(
    "text", ["www.evil.example", "see WWW.evil.example", "(www.evil.example)", "x,www.evil.example"]
)
def test_no_reader_finds_an_address_to_link(text: str) -> None:
    assert "www." not in markdown(text).lower()
    assert plain(markdown(text)) == text


@pytest.mark.parametrize("sign", "=+-@|%＝＋－＠％")
def test_no_spreadsheet_takes_a_cell_for_a_formula(sign: str) -> None:
    for text in (f'{sign}HYPERLINK("http://evil.example")', f"  {sign}1", f"\t{sign}1"):
        assert csv_cell(text).startswith("'")
