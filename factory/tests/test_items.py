"""The set as it is shipped: sizes, splits, and a sample of the bundles made again."""

from __future__ import annotations

import runpy
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from factory.__main__ import PACKED, read
from factory.again.asked import asked
from factory.again.notation import equations
from factory.items import BUNDLES, CANARY, Bundle, Item, bundles, disagreements, private, split


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return read(PACKED)


def test_sizes(items: list[Item]) -> None:
    assert 24_000 <= len(items) <= 26_000
    assert sum(item["ground_truth"] == "TRUE" for item in items) * 2 == len(items)
    assert len({item["id"] for item in items}) == len({item["question"] for item in items}) == len(items)
    assert len({item["stratum"] for item in items}) == 5
    families = Counter(str(item["type"]) for item in items)
    tested = Counter((str(item["type"]), item["ground_truth"]) for item in items if item["split"] == "test")
    assert len(families) == 10
    assert min(families.values()) >= 600
    assert all(tested[family, label] >= 228 for family in families for label in ("TRUE", "FALSE"))


def test_no_bundle_and_no_cluster_is_in_two_splits(items: list[Item]) -> None:
    for key in ("pair", "group"):
        splits = defaultdict[str, set[str]](set)
        for item in items:
            splits[str(item[key])].add(str(item["split"]))
        assert all(len(some) == 1 for some in splits.values())


def test_bundles_are_half_true(items: list[Item]) -> None:
    told = Counter[str]()
    for item in items:
        told[str(item["pair"])] += 1 if item["ground_truth"] == "TRUE" else -1
    assert not any(told.values())


@pytest.mark.parametrize("stratum", sorted(BUNDLES.keys() - {"compute"}))  # that one needs sympy: tests/more/factory
def test_a_sample_made_again_is_in_the_set(items: list[Item], stratum: str) -> None:
    known = {item["question"]: item["ground_truth"] for item in items}
    for family in BUNDLES[stratum]:
        for bundle in bundles(stratum, family, 6):
            for question in bundle.questions:
                assert known[question.text] == ("TRUE" if question.label else "FALSE")


def test_no_equations_of_reason_and_no_iterated_map_are_in_two_splits(items: list[Item]) -> None:
    splits = defaultdict[tuple[str, ...], set[str]](set)
    for item in items:
        if item["stratum"] == "reason" or item["kind"] == "iterate":
            splits[equations(asked(str(item["question"])).setting).sides].add(str(item["split"]))
    assert len(splits) > 2000
    assert all(len(some) == 1 for some in splits.values())


def test_a_private_set_follows_from_its_key_and_shares_no_question_with_the_public_one(
    items: list[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {"reason": {"atomic": 40, "adversarial": 10}, "logic": {"multi_hop": 10}, "data": {"atomic": 10}}
    monkeypatch.setattr("factory.items.BUNDLES", few)
    first, again, other = (private(32 * letter, items) for letter in "kkl")
    assert first == again != other
    made = [item for some in first.values() for item in some]
    assert len(made) > 100
    assert sum(item["ground_truth"] == "TRUE" for item in made) * 2 == len(made)
    assert not {item["question"] for item in made} & {item["question"] for item in items}
    assert {(item["split"], item["canary"]) for item in made} == {("private", CANARY)}
    assert disagreements(made) == []


def test_a_private_set_needs_a_key_and_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_text(32 * "k")
    (tmp_path / "short").write_text("k")
    for key, folder, told in (("none", "out", "No such"), ("short", "out", "32 characters"), ("key", ".", "not empty")):
        monkeypatch.setattr(sys, "argv", ["factory", "private", str(tmp_path / key), str(tmp_path / folder)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(PACKED.parents[4] / "factory/__main__.py"), run_name="__main__")
        assert (ended.value.code, told in capsys.readouterr().out) == (2, True)


def test_bundles_with_a_trait_in_common_stay_together() -> None:
    made = bundles("reason", "atomic", 12)
    twin = Bundle("data", "atomic", made[0].quartet, made[0].questions)
    homes = [part for part, members in split([*made, twin]).items() for b in members if b.quartet is twin.quartet]
    assert list(Counter(homes).values()) == [2]
