from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend.ask.task import make_model, make_task
from perpend.errors import SpecError
from perpend.inert import terminal
from perpend.spec.runspec import ModelSpec, RunSpec, parse_spec, read_spec, spec_with_flags, written_name
from perpend.types import Sampling
from tests.tables import table

TOML = """
task    = "conformity"
items   = ["facts.jsonl"]
repeats = 2
[[model]]
name     = "openai/olmo"
label    = "instruct"
base_url = "http://localhost:8000/v1"
workers  = 8
[[model]]
name = "mock/true"
max_tokens = 99
[sampling]
temperature = [0.0, 1.0]
max_tokens  = 64
[budget]
max_usd = 1.5
"""


def spec_file(tmp_path: Path, text: str = TOML) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return path


def test_lists_make_a_grid_and_a_model_can_have_its_own_token_limit(tmp_path: Path) -> None:
    spec = read_spec(spec_file(tmp_path))
    assert spec.samplings == (Sampling(0.0, 64), Sampling(1.0, 64))
    assert [s.max_tokens for s in spec.samplings_of(spec.models[1])] == [99, 99]
    assert spec.items == (tmp_path / "facts.jsonl",)
    assert spec.limits.max_usd == 1.5


def test_flags_override_the_file(tmp_path: Path) -> None:
    spec = spec_with_flags(
        spec_file(tmp_path), {"temperature": (0.5,), "models": ("mock/echo",), "workers": 3, "max_items": 7}
    )
    assert [s.temperature for s in spec.samplings] == [0.5]
    assert [(m.name, m.options) for m in spec.models] == [("mock/echo", {"workers": 3})]
    assert (spec.max_items, spec.repeats) == (7, 2)


def test_flags_alone_make_a_spec_with_typed_options() -> None:
    spec = spec_with_flags(
        None,
        {
            "task": "conformity",
            "models": ("mock/subject",),
            "model_options": ("sway=0.4", "style=short"),
            "options": ("confederates=3",),
        },
    )
    assert spec.models[0].options == {"sway": 0.4, "style": "short"}
    assert spec.options == {"confederates": 3}


def test_where_and_how_fast_a_model_answers_does_not_change_the_question() -> None:
    def name(**options: str | int) -> str:
        return RunSpec("t", (ModelSpec("openai/m", "m", options),)).run_name()

    assert name(base_url="http://localhost:1/v1", workers=1) == name(base_url="http://localhost:2/v1", workers=64)
    assert name(endpoint="chat") != name(endpoint="completions")


def test_a_path_of_this_machine_is_never_part_of_a_name() -> None:
    assert written_name("local//data/mine/weights.gguf") == "local/weights.gguf"
    assert written_name("/data/mine/task.py") == "task.py"
    assert written_name("openai/org/model") == "openai/org/model"


@pytest.mark.parametrize(*table("specs_impossible"))
def test_an_impossible_run_is_refused(body: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError) as error:
        parse_spec(body, folder=Path(), where="run.toml")
    assert message in str(error.value)
    assert "sk-123" not in str(error.value)


def test_a_missing_or_broken_file_is_a_spec_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such file"):
        read_spec(tmp_path / "none.toml")
    with pytest.raises(SpecError, match="not TOML"):
        read_spec(spec_file(tmp_path, "task ="))


@pytest.mark.parametrize("name", ["./mock", ".", "..", ".mock", "a..b", ":x", "1.x:y", "a b.c"])
def test_what_is_no_name_of_a_module_is_an_unknown_name(name: str) -> None:
    """'.' would be a relative import, which has no meaning here."""
    with pytest.raises(SpecError, match="unknown"):
        make_model(name, {})
    with pytest.raises(SpecError, match="unknown"):
        make_task(name, {})


KNOWN = (
    *("budget", "freeze", "items", "max_items", "model", "name", "options", "repeats", "sampling", "seed", "task"),
    "templates",
)
BASE: dict[str, object] = {"task": "questions", "model": [{"name": "mock/true"}]}


@given(st.text(min_size=1).filter(lambda key: key not in KNOWN))
def test_any_unknown_key_is_an_error_that_names_it(key: str) -> None:
    with pytest.raises(SpecError) as error:
        parse_spec({**BASE, key: 1}, folder=Path(), where="run.toml")
    assert terminal(repr(key)) in terminal(str(error.value))  # what cannot be seen is shown as an escape


@given(
    st.sampled_from(KNOWN),
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
