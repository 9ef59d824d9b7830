from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from perpend import canon
from perpend.types import Message, Request, Sampling

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
