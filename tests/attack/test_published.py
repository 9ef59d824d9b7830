"""A published folder that somebody forged and sealed again: caught with its place, or on the list that is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpend.proof import verify
from perpend.proof.audit import BEYOND
from perpend.proof.audit.bundle import bundle
from tests.attack import honest
from tests.attack.conftest import Copied
from tests.attack.crafted import CRAFTED, SEALS, Crafted
from tests.attack.files import whole_files
from tests.attack.forge import BODIES, FACTS, LINES, fields, values
from tests.attack.judge import BEYOND_RULES, contents, drawn, faults, of_published, of_run

FEW = 3
"""How many forgeries of one file are tried here, of each kind of run; `tests.attack.exhaustive` tries all."""
MANY = {"metrics.json": 24, "report.md": 24, "scores.jsonl.gz": 24, "tables": 8}
"""And how many values of what a reader sees first."""
FILES = "files are those of the receipt"
PUBLISHED = [one for one in CRAFTED if one.of == "published"]
BEFORE_THE_SEAL = [one for one in PUBLISHED if not one.forgeries()[0].file.startswith(SEALS)]


def test_there_are_more_than_eighty_and_the_list_has_an_entry_for_each_that_may_pass(source: Path) -> None:
    assert len({one.name for one in CRAFTED}) == len(CRAFTED) > 80
    named = {verdict for one in CRAFTED for verdict in one.levels.values()} | {key for _, key in BEYOND_RULES}
    assert named - {"caught", "accepted", "refused"} <= BEYOND.keys()


@pytest.mark.parametrize("one", BEFORE_THE_SEAL, ids=lambda one: one.name)
def test_what_was_changed_is_named_by_the_receipt(one: Crafted, copied: Copied) -> None:
    folder = copied(f"published/{one.kinds[0]}")
    before = contents(folder)
    one.forge(folder)
    after = contents(folder)
    names = [
        Path(path).relative_to(folder).as_posix() for path in {*before, *after} if before.get(path) != after.get(path)
    ]
    changed = sorted(name for name in names if not (folder / name).is_dir())
    assert changed
    check = next(check for check in bundle(folder) if check.name == FILES)
    assert check.first.startswith(f"{changed[0]}: ")
    assert check.differ == len(changed)
    told = verify.problems(folder)
    assert all(any(line.startswith(f"{name}: ") for line in told) for name in changed), told


@pytest.mark.parametrize("one", CRAFTED, ids=lambda one: one.name)
def test_what_was_forged_for_a_purpose_is_caught_or_on_the_list(one: Crafted, source: Path, tmp_path: Path) -> None:
    judge = of_published if one.of == "published" else of_run
    for forgery in one.forgeries():
        outcome = judge(source, one.kinds[0], forgery, tmp_path)
        expected = one.levels[forgery.level]
        assert outcome.verdict == ("PASSED" if expected in BEYOND else expected), f"{forgery}: {outcome}"
        if outcome.verdict == "caught":
            said = outcome.places[one.check] if one.check else " ".join((*outcome.places, *outcome.places.values()))
            assert one.place in said, f"{forgery}: {outcome}"
            assert (FILES in outcome.places) == (forgery.level == "open" and one.check == FILES), outcome


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


@pytest.mark.parametrize("kind", ["conformity", "logic", "verbs", "questions"])
@pytest.mark.parametrize("file", MANY)
def test_a_changed_value_is_noticed_when_all_is_sealed_again(
    source: Path, tmp_path: Path, kind: str, file: str
) -> None:
    tried = drawn(values(source / "published" / kind, file), MANY[file], kind)
    assert faults(of_published, source, kind, f"values of {file}", tried, tmp_path) == []


@pytest.mark.parametrize("kind", honest.KINDS)
def test_a_file_that_is_another_or_no_file_is_noticed_when_all_is_sealed_again(
    source: Path, tmp_path: Path, kind: str
) -> None:
    tried = drawn(whole_files(source / "published" / kind), 4 * FEW, kind)
    assert faults(of_published, source, kind, "any", tried, tmp_path) == []
