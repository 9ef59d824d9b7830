from __future__ import annotations

import gzip
import json
import os
import re
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpend import canon, toml
from perpend.errors import DataError, PerpendError, SpecError, StoreError
from perpend.types import Message, Request, Sampling


def test_the_digest_is_the_sha256_of_the_canonical_line() -> None:
    # printf '{"a":"ü"}' | sha256sum
    assert canon.dumps({"a": "ü"}) == '{"a":"ü"}'
    assert canon.digest({"a": "ü"}) == "fd621823002706e24604cb868a9f4f8850d6f01fb5040d49ba050482e1472437"


def test_nan_and_infinity_are_refused() -> None:
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canon.dumps({"x": bad})


def test_writing_leaves_the_old_file_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.json"
    canon.write_atomic(path, "old")

    def broken(_: int) -> None:
        raise OSError("no space")

    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(StoreError, match="no space"):
        canon.write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_written_files_can_be_read_by_others(tmp_path: Path) -> None:
    canon.write_atomic(tmp_path / "file", "x")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644


def test_compression_is_deterministic_and_carries_no_time_or_name() -> None:
    data = b"the same bytes " * 100
    assert canon.compress(data) == canon.compress(data)
    assert canon.compress(data)[4:8] == b"\0\0\0\0"
    assert gzip.decompress(canon.compress(data)) == data


@pytest.mark.parametrize(
    "hostile", ["../../etc/passwd", "CON", "nul.txt", "a" * 300, "", ".", "..", "a/b", "ä:b", "x\0y"]
)
def test_a_portable_name_cannot_leave_its_folder(hostile: str) -> None:
    name = canon.portable_name(hostile)
    assert name
    assert len(name) <= 110
    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
    assert name[0] not in "._-"
    assert name.split(".")[0].upper() not in {"CON", "NUL"}


def test_plain_names_stay_as_they_are_and_changed_ones_stay_apart() -> None:
    assert canon.portable_name("qwen2.5-14b") == "qwen2.5-14b"
    assert canon.portable_name("qwen2.5:14b") != canon.portable_name("qwen2.5/14b")


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert canon.clean_text("a\ud800b") == "a\ufffdb"
    canon.clean_text("a\ud800b").encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 1}', "'a' is said twice"),
        ('[{"b": {"a": 1, "a": 2}}]', "'a' is said twice"),
        ("[NaN]", "NaN is no number"),
        ("-Infinity", "-Infinity is no number"),
        ("[1e999]", "1e999 is beyond every number"),
        ("18446744073709551616", "more than 64 bits"),
        ("-" + "9" * 5000, "more than 64 bits"),
        ("[" * 101 + "]" * 101, "more than 100 levels"),
        ('{"a":' * 101 + "1" + "}" * 101, "more than 100 levels"),
    ],
)
def test_json_that_readers_take_differently_or_fall_over_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        canon.parse(text)


def test_brackets_in_strings_are_no_levels_and_honest_json_is_read() -> None:
    assert canon.parse('{"x": "' + "[" * 500 + '\\"{"}') == {"x": "[" * 500 + '"{'}
    assert canon.parse("[" * 100 + "]" * 100) is not None
    assert canon.parse("[1.5, 18446744073709551615, null, true]") == [1.5, 18446744073709551615, None, True]


def test_a_small_file_that_cannot_be_read_says_which_and_why(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xe9")
    (tmp_path / "half").write_text('{"a": "\\ud800"}', encoding="utf-8")
    with pytest.raises(DataError, match="gone: no such file; make it"):
        canon.read_text(tmp_path / "gone", advice="make it")
    with pytest.raises(StoreError, match="cannot be read: a folder, where a file is expected"):
        canon.read_text(tmp_path, StoreError)
    with pytest.raises(SpecError, match="not UTF-8 at byte 0"):
        toml.read_toml(tmp_path / "latin")
    with pytest.raises(StoreError, match="half: damaged"):
        canon.read_object(tmp_path / "half", StoreError)
    with (tmp_path / "long").open("wb") as file:
        file.truncate((1 << 26) + 1)
    with pytest.raises(DataError, match="longer than 64 MB"):
        canon.read_object(tmp_path / "long")


def test_a_pipe_in_a_file_s_place_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (canon.read_text, canon.read_object, toml.read_toml, canon.digest_file):
        with pytest.raises(PerpendError, match="not a file"):
            read(tmp_path / "pipe")
    with pytest.raises(DataError, match="not a file"):
        list(canon.json_lines(tmp_path / "pipe"))


def test_a_name_that_no_file_can_have_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no name of a file"):
        canon.read_text(tmp_path / "a\0b")
    with pytest.raises(DataError, match="too long"):
        canon.read_text(tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".".join("a" * 200_000) + " = 1", "a key of more than 100 parts"),
        ("[" + " . ".join("a" * 50_000) + "]", "a key of more than 100 parts"),
        (".".join(['"!"'] * 50_000) + " = 1", "a key of more than 100 parts"),
        ("a = " + "[" * 5000, "nested more than 100 levels"),
        ("a = " + "[" * 101 + "]" * 101, "nested more than 100 levels"),
        ("a = 0x" + "f" * 5000, "an integer of more than 64 bits"),
        ("a = " + "9" * 5000, "Exceeds the limit"),
        ("a = 1979-13-01", "not TOML"),
        ("x" * 400_000, "not TOML"),
        ("a = '" + "x" * 600_000 + "'", "longer than 512 KB"),
    ],
)
def test_toml_that_nobody_writes_is_refused_at_once(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "run.toml").write_text(text)
    began = time.monotonic()
    with pytest.raises(SpecError, match=message):
        toml.read_toml(tmp_path / "run.toml")
    assert time.monotonic() - began < 5


def test_honest_toml_is_read(tmp_path: Path) -> None:
    sentences = "A. B. C. " * 90
    text = f'a.b."c d".e = [0.1, 9223372036854775807]\ns = "{sentences}"\nn = [{"1.5, " * 500}]\nt = 1979-05-27\n'
    (tmp_path / "run.toml").write_text(text)
    body = toml.read_toml(tmp_path / "run.toml")
    assert body["a"] == {"b": {"c d": {"e": [0.1, 9223372036854775807]}}}
    assert body["s"] == sentences


def test_json_of_more_than_a_million_values_is_refused_before_it_fills_the_memory() -> None:
    with pytest.raises(ValueError, match="more than 1,000,000 values"):
        canon.parse("[" + "{}," * 600_000 + "{}]")
    assert canon.parse("[" + "0," * 900_000 + "0]") is not None


def test_json_s_depth_is_found_without_trying_any_text_twice() -> None:
    with pytest.raises(ValueError, match="nested more than"):  # in the square of its length it would take days
        canon.parse("[" * 200 + '"' + '\\"' * 2_000_000)


def test_half_a_surrogate_pair_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="half a surrogate pair"):
        canon.write_atomic(tmp_path / "x", "a\ud800")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [True, "3", 3.0, None, [3]])
def test_an_integer_is_neither_a_boolean_nor_text_nor_a_float(value: canon.JSON) -> None:
    with pytest.raises(DataError, match=re.escape("file:7: 'n' must be an integer, not ")):
        canon.whole_of({"n": value}, "n", "file:7")
    assert canon.whole_of({"n": -3}, "n", "file:7") == -3


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (0, 0),
        (1, 1),
        ((1 << 63) - 1, (1 << 63) - 1),
        (1 << 63, None),
        (-1, None),
        (True, None),
        (1.0, None),
        ("1", None),
        (None, None),
    ],
)
def test_a_count_is_what_a_database_holds(value: canon.JSON, count: int | None) -> None:
    counted = canon.count_or_none(value)
    assert counted == count
    assert type(counted) is type(count)


def test_an_object_or_a_list_may_be_absent_but_not_something_else() -> None:
    assert canon.object_of({}, "a", "x") == canon.object_of({"a": None}, "a", "x") == {}
    assert canon.object_of({"a": {"b": 1}}, "a", "x") == {"b": 1}
    assert canon.list_of({}, "a", "x") == canon.list_of({"a": None}, "a", "x") == []
    assert canon.list_of({"a": [1]}, "a", "x") == [1]
    with pytest.raises(DataError, match=re.escape("x: 'a' must be an object, not []")):
        canon.object_of({"a": []}, "a", "x")
    with pytest.raises(DataError, match=re.escape("x: 'a' must be a list, not {}")):
        canon.list_of({"a": {}}, "a", "x")
    assert canon.as_object([]) == {}
    assert canon.as_list({}) == []


def test_text_that_must_be_there_is_asked_for_by_its_near_names() -> None:
    assert canon.text_of({"name": ""}, "name", "x") == ""
    assert canon.text_or_none({}, "name", "x") is None
    with pytest.raises(DataError, match="x: 'name' is missing; did you mean 'nam'"):
        canon.text_of({"nam": "a"}, "name", "x")
    with pytest.raises(DataError, match="x: 'name' must be a string, not 3"):
        canon.text_of({"name": 3}, "name", "x")
    assert canon.named({"name": " a "}, "name", "x") == " a "
    with pytest.raises(DataError, match="x: 'name' is missing or blank"):
        canon.named({"name": " "}, "name", "x")


@pytest.mark.parametrize(
    ("value", "number"), [(None, None), ("1.5", 1.5), (True, 1.0), (False, 0.0), (2, 2.0), (-0.5, -0.5)]
)
def test_a_number_may_be_written_in_several_ways(value: canon.JSON, number: float | None) -> None:
    assert canon.number_of({"n": value}, "n", "x") == number


@pytest.mark.parametrize("value", ["", "x", "nan", "1e999", 10**400, [], {}])
def test_what_is_no_finite_number_is_refused(value: canon.JSON) -> None:
    with pytest.raises(DataError, match=re.escape("x: 'n' must be a number, not ")):
        canon.number_of({"n": value}, "n", "x")


texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_canonical_json_round_trips(value: canon.JSON) -> None:
    assert json.loads(canon.dumps(value)) == value
    assert canon.dumps(json.loads(canon.dumps(value))) == canon.dumps(value)


@given(st.dictionaries(texts, values, min_size=2, max_size=5))
def test_the_order_of_keys_is_irrelevant(value: dict[str, canon.JSON]) -> None:
    turned = dict(reversed(value.items()))
    assert canon.dumps(turned) == canon.dumps(value)
    assert canon.digest(turned) == canon.digest(value)


@given(st.text())
def test_any_text_can_be_cleaned_and_encoded(text: str) -> None:
    assert canon.clean_text(canon.clean_text(text)) == canon.clean_text(text)
    canon.clean_text(text).encode()


@given(st.text())
def test_any_text_has_a_portable_name(text: str) -> None:
    name = canon.portable_name(text)
    assert name == canon.portable_name(text)
    assert 0 < len(name) <= 110
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>|\0 ')


@given(st.text(), st.text())
def test_two_texts_never_share_a_portable_name(one: str, other: str) -> None:
    assert one == other or canon.portable_name(one) != canon.portable_name(other)


samplings = st.builds(
    Sampling,
    st.floats(0, 2) | st.integers(0, 2),
    st.integers(1, 10**6),
    st.none() | st.integers(-(2**70), 2**70),
    st.none() | st.floats(0, 1) | st.integers(0, 1),
    st.lists(texts | st.just('"seed":0'), max_size=3).map(tuple),
)


@given(st.lists(st.builds(Message, st.sampled_from(["system", "user"]), texts), max_size=3), samplings, st.lists(texts))
def test_a_request_is_digested_as_its_canonical_json(
    messages: list[Message], sampling: Sampling, choices: list[str]
) -> None:
    request = Request(tuple(messages), sampling, tuple(choices))
    body = {
        "messages": [[one.role, one.content] for one in messages],
        "sampling": sampling.as_json(),
        "choices": choices,
    }
    assert request.digest == canon.digest(body)
