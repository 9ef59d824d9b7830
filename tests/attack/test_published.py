"""A published folder that somebody forged and sealed again: caught with its place, or on the list that is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpend.proof.audit import BEYOND
from tests.attack import honest
from tests.attack.crafted import CRAFTED, Crafted
from tests.attack.files import whole_files
from tests.attack.forge import BODIES, FACTS, LINES, fields
from tests.attack.judge import BEYOND_RULES, FINE, drawn, faults, of_published, pinned

FEW = 3
"""How many forgeries of one file are tried here, of each kind of run; `tests.attack.exhaustive` tries all."""


def test_there_are_more_than_eighty_and_the_list_has_an_entry_for_each_that_may_pass(source: Path) -> None:
    assert len({one.name for one in CRAFTED}) == len(CRAFTED)
    assert len([*CRAFTED, *fields(source / "published" / "questions")]) > 80
    named = {one.beyond for one in CRAFTED} | {key for _, key in BEYOND_RULES}
    assert named - {""} <= BEYOND.keys()


@pytest.mark.parametrize("one", CRAFTED, ids=lambda one: one.name)
def test_what_was_forged_for_a_purpose_is_caught_or_on_the_list(one: Crafted, source: Path, tmp_path: Path) -> None:
    kind = one.kinds.split()[0]
    for forgery in one.forgeries():
        outcome = of_published(source, kind, forgery, tmp_path)
        assert pinned().get(("published", kind, one.name, forgery.level)) == {outcome.verdict: 1}, outcome
        is_free = one.beyond and (one.is_free or forgery.level == "derived")
        if outcome.verdict == "caught":
            said = " ".join((*outcome.places, *outcome.places.values()))
            assert one.place in said, f"{forgery}: {outcome}"
        else:
            assert outcome.verdict in FINE | ({"PASSED"} if is_free else set()), f"{forgery}: {outcome}"


@pytest.mark.parametrize("kind", honest.KINDS)
@pytest.mark.parametrize("file", [*BODIES, *LINES, "report.md", "tables"])
def test_a_changed_field_is_noticed_when_all_is_sealed_again(
    source: Path, tmp_path: Path, kind: str, file: str
) -> None:
    folder = source / "published" / kind
    known = [one for one in fields(folder) if one.file == file or one.file.startswith(f"{file}/")]
    tried = drawn(known, FEW, kind)
    if file in FACTS:
        tried += drawn([one.derived() for one in known], 1, kind)
    assert faults(of_published, source, kind, file, tried, tmp_path) == []


@pytest.mark.parametrize("kind", honest.KINDS)
def test_a_file_that_is_another_or_no_file_is_noticed_when_all_is_sealed_again(
    source: Path, tmp_path: Path, kind: str
) -> None:
    tried = drawn(whole_files(source / "published" / kind), 4 * FEW, kind)
    assert faults(of_published, source, kind, "any", tried, tmp_path) == []
