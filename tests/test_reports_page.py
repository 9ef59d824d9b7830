"""The page: everything that it is given is text, and it needs nothing but itself."""

from __future__ import annotations

import io
import re
import struct
import zlib
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.report.page import (
    Card,
    Cards,
    Code,
    Commands,
    FactList,
    Number,
    Page,
    PageSection,
    PageTable,
    Part,
    Picture,
    Said,
    Strong,
    Text,
    render,
    shown,
)

HOSTILE = "</dd></p><script>alert(1)</script><img src=x onerror=alert(1)>\" onload='x' &lt;\x1b[31m\u202e\x00"


class Reader(HTMLParser):
    """Every tag with its attributes, and all text outside the style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def png() -> bytes:
    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b""))
    held = io.BytesIO(b"")
    held.write(b"\x89PNG\r\n\x1a\n")
    for kind, data in chunks:
        held.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
    return held.getvalue()


def page_with(text: str) -> str:
    """A page that shows one text in every place where a text can stand."""
    number = Number(text, 0.5, 3, 0.1, 0.9)
    parts: list[Part] = [
        Cards([Card(text, number, text), Card(text, text, text)]),
        Text([text, Code(text), Strong(text), number], small=True),
        PageTable(text, (text,), [(text, number, Code(text), [text, number])]),
        Picture(png(), 1, 1, text, [text]),
        Said(text, [(text, text)]),
        FactList([(text, [text, Code(text)])]),
        Commands([text]),
    ]
    return render(Page(text, [text], parts, [PageSection(text, parts)], [text]))


def shape(page: str) -> list[tuple[str, list[str]]]:
    return [(tag, sorted(attributes)) for tag, attributes in Reader(page).tags]


def test_hostile_text_is_only_text_wherever_it_stands() -> None:
    page = page_with(HOSTILE)
    assert shape(page) == shape(page_with("plain"))
    assert "script" not in {tag for tag, _ in Reader(page).tags}
    assert "<script>alert(1)</script>" in Reader(page).text
    assert not {"\x1b", "\u202e", "\x00"} & set(page)


@given(st.text())
def test_no_text_changes_the_shape_of_the_page(text: str) -> None:
    assert shape(page_with(text)) == shape(page_with("plain"))


def test_the_page_asks_nobody_and_runs_nothing() -> None:
    page = page_with("plain")
    tags = Reader(page).tags
    addresses = [a[key] or "" for _, a in tags for key in ("src", "href", "srcset", "action") if key in a]
    assert addresses
    assert all(address.startswith("data:") for address in addresses)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", page)
    policy = next(a["content"] for tag, a in tags if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_a_number_stands_with_its_full_precision_its_key_and_its_interval() -> None:
    page = render(Page("t", [Number("a/b", 1 / 3, 3, 0.0614, 0.7923)], [], [], []))
    assert f'<data value="{1 / 3!r}" data-key="a/b">0.333</data> <span class="ci">[0.061, 0.792]</span>' in page


def test_an_undefined_number_is_na_and_has_no_value() -> None:
    page = render(Page("t", [Number("a", None, 0)], [], [], []))
    assert '<data value="" data-key="a">NA</data></p>' in page


@pytest.mark.parametrize(
    ("value", "style", "text"),
    [
        (0.0004, "p", "< 0.001"),
        (0.2, "p", "0.200"),
        (-0.25, "signed", "\N{MINUS SIGN}0.250"),
        (0.25, "signed", "+0.250"),
        (-0.0001, "signed", "0.000"),
        (1.0, "plain", "1.000"),
        (None, "plain", "NA"),
    ],
)
def test_numbers_are_shown_as_a_reader_expects(value: float | None, style: str, text: str) -> None:
    assert shown(value, "p" if style == "p" else "signed" if style == "signed" else "plain") == text


def test_the_same_page_is_the_same_bytes() -> None:
    assert page_with("x") == page_with("x")
