"""Rubrics: packaged ones, a user's own, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpend.ask.rubric import find_rubric, packaged_rubrics, rubric_of
from perpend.canon import digest
from perpend.errors import SpecError
from perpend.spec.resolve import names
from perpend.types import Item
from tests.tables import table

GOOD = {
    "name": "polite",
    "version": "1",
    "question": "Is it polite?",
    "option": [{"name": "yes", "means": "it is", "value": 1}, {"name": "no", "means": "it is not", "value": 0}],
}


@pytest.mark.parametrize("name", packaged_rubrics())
def test_a_packaged_rubric_reads_back_what_it_writes(name: str) -> None:
    rubric = find_rubric(name)
    assert rubric.full_name == name
    assert rubric_of(rubric.as_json(), name) == rubric
    assert rubric.measures in names("scorers")
    assert rubric.options[-1].value is None
    forward, back = (rubric.condition(order).params["user"] for order in ("as_listed", "reversed"))
    listed = [line for line in str(forward).split("\n") if line.startswith("- ")]
    assert [line for line in str(back).split("\n") if line.startswith("- ")] == listed[::-1]
    assert len(listed) == len(rubric.options)


WORDS = {
    "correct@1": ("0fd37eb3a1d6", "25198c32785f"),
    "endorsed@1": ("1fe6f2f90888", "48e2c71a8117"),
    "stance@1": ("3890cfe12664", "6bfea26f986f"),
}
"""The digests of the rubric and of the prompt that is made of it."""


@pytest.mark.parametrize("name", packaged_rubrics())
def test_the_words_of_a_version_never_change(name: str) -> None:
    """Whoever changes a word writes a new version: labels and judge runs name the old one."""
    rubric = find_rubric(name)
    prompt = digest(dict(rubric.condition("as_listed").params))
    assert (rubric.sha256[:12], prompt[:12]) == WORDS[name]


def test_a_name_without_a_version_is_the_latest() -> None:
    assert find_rubric("correct") == find_rubric("correct@1")
    with pytest.raises(SpecError, match="unknown rubric 'correct@9'; did you mean 'correct@1'"):
        find_rubric("correct@9")


def test_a_rubric_fits_an_item_that_has_what_it_needs() -> None:
    assert find_rubric("endorsed").fits(Item("a", "?", decoy="x"))
    assert not find_rubric("endorsed").fits(Item("a", "?", "x"))
    assert not find_rubric("stance").fits(Item("a", "?", decoy="x"))


@pytest.mark.parametrize(*table("rubrics_refused", ({"guide": "x" * 30_000}, "at most 20,000 characters")))
def test_what_is_no_rubric_is_an_error_that_says_why(change: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        rubric_of({**GOOD, **change}, "mine.toml")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such file"):
        find_rubric(str(tmp_path / "none.toml"))


def test_an_unknown_option_suggests_the_near_one() -> None:
    with pytest.raises(SpecError, match="did you mean 'undecidable'"):
        find_rubric("endorsed").option("undecideable")
