from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.errors import SpecError
from perpend.report import tables as latex


def test_every_special_character_is_shown_and_none_is_run() -> None:
    assert latex.tex_escaped("50% of $x_1$ & #2 {a} ~^") == (
        r"50\% of \$x\_1\$ \& \#2 \{a\} \textasciitilde{}\textasciicircum{}"
    )
    assert latex.tex_escaped(r"\input{/etc/passwd}") == r"\textbackslash{}input\{/etc/passwd\}"
    assert latex.tex_escaped("a\n\nb\x1b") == r"a b\textbackslash{}u001b"


@given(st.text())
def test_braces_always_balance_and_no_foreign_command_survives(text: str) -> None:
    found = latex.tex_escaped(text)
    bare = re.sub(r"\\[{}$&#%_]", "", found)
    assert bare.count("{") == bare.count("}")
    commands = set(re.findall(r"\\([A-Za-z]+)", found))
    assert commands <= {
        "textbackslash",
        "textasciitilde",
        "textasciicircum",
        "textless",
        "textgreater",
        "textbar",
        "char",
    }
    assert not re.search(r"(?<!\\)[$&#%_]", found)


@given(st.lists(st.text(), min_size=1))
def test_macro_names_are_letters_only(parts: list[str]) -> None:
    assert re.fullmatch(r"[A-Za-z]+", latex.macro_name(*parts))


@given(st.lists(st.text(max_size=5), unique=True))
def test_every_name_has_a_word_of_its_own(names: list[str]) -> None:
    words = latex.macro_words(names)
    assert len(set(words.values())) == len(names)
    assert all(re.fullmatch(r"[A-Za-z]+", word) for word in words.values())


def test_digits_are_spelled_out() -> None:
    assert (
        latex.macro_name("PressureEffect", "instruct_sft", "asch_history_5")
        == "PressureEffectInstructSftAschHistoryFive"
    )


def test_two_names_for_one_command_are_refused() -> None:
    with pytest.raises(SpecError, match="both give the LaTeX command"):
        latex.macros({("a b",): "1", ("aB",): "2"})


def test_numbers_keep_their_minus_and_undefined_is_na() -> None:
    assert latex.tex_number(-3.14159, sign=True) == "$-3.1$"
    assert latex.tex_number(None) == "NA"
    assert latex.tex_p_value(None) == "NA"
    assert latex.tex_p_value(0.0421) == "$0.042$"
    assert latex.tex_p_value(1.3e-165) == r"$1.3\times10^{-165}$"
