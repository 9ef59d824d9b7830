from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.errors import SpecError
from perpend.inert import terminal
from perpend.spec.runspec import parse_spec

KNOWN = {
    "task",
    "items",
    "templates",
    "freeze",
    "name",
    "options",
    "model",
    "sampling",
    "repeats",
    "max_items",
    "seed",
    "budget",
}
BASE: dict[str, object] = {"task": "questions", "model": [{"name": "mock/true"}]}


@given(st.text(min_size=1).filter(lambda key: key not in KNOWN))
def test_any_unknown_key_is_an_error_that_names_it(key: str) -> None:
    with pytest.raises(SpecError) as error:
        parse_spec({**BASE, key: 1}, folder=Path(), where="run.toml")
    assert terminal(repr(key)) in terminal(str(error.value))  # what cannot be seen is shown as an escape


@given(
    st.sampled_from(sorted(KNOWN)),
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.lists(st.integers())
    | st.dictionaries(st.text(), st.text()),
)
def test_a_value_of_any_kind_is_taken_or_refused_but_never_a_crash(key: str, value: object) -> None:
    with suppress(SpecError):  # any other exception is a crash
        parse_spec({**BASE, key: value}, folder=Path(), where="run.toml")
