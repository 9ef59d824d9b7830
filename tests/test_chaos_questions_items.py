"""Set 2 is assembled from bundles: balanced, without repeated texts, split by system, the same bytes each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.items import CANARY, build
from perpend.studies.logic.chaos.questions.plain import plain_text
from perpend.studies.logic.chaos.questions.splits import LARGEST_SHARE, SPLITS, split_of, system_splits, without_excess
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import SystemWords, load_systems

SYSTEMS = {
    f"s{n}": SystemWords(
        system_id=f"s{n}",
        name=f"the system {n}",
        kind="map" if n % 3 else "flow",
        variables=("x",) * (4 if n % 5 == 0 else 2),
        parameters={"a": 1.0},
        citation="",
        equations="",
        reference_ids=(),
    )
    for n in range(40)
}
WORLD = Sources(records={}, systems=SYSTEMS)


def pair(name: str, text: str = "", system: str = "generic", **other: object) -> tuple[Draft, Draft]:
    """A TRUE and a FALSE item of one pair."""
    words = text or f"Is {name} so"
    draft = Draft("reason", "atomic", "form", "is_so", f"{words} at 1?", True, name, 2, "P", system_id=system)
    draft = replace(draft, **other)  # type: ignore[arg-type]
    return draft, replace(draft, question=f"{words} at 2?", label=False)


def makers(*bundles: tuple[Draft, ...]) -> list[object]:
    def maker(_world: Sources) -> Iterator[tuple[Draft, ...]]:
        yield from bundles

    return [maker]


def built(*bundles: tuple[Draft, ...], world: Sources = WORLD, taken: tuple[str, ...] = ()) -> list[dict[str, object]]:
    families = build(world, makers(*bundles), taken)  # type: ignore[arg-type]
    return [record for records in families.values() for record in records]  # type: ignore[misc]


def test_items_have_versioned_ids_of_their_text_and_the_canary() -> None:
    records = built(*(pair(f"p{n}") for n in range(30)))
    assert len(records) == 60
    assert all(str(record["id"]).startswith("atomic_2_") for record in records)
    assert {record["canary"] for record in records} == {CANARY}
    again = {record["question"]: record["id"] for record in built(*(pair(f"p{n}") for n in range(3, 9)))}
    before = {record["question"]: record["id"] for record in records}
    assert all(before[question] == name for question, name in again.items())


def test_the_order_of_the_bundles_does_not_matter() -> None:
    bundles = [pair(f"p{n}", system=f"s{n % 40}") for n in range(200)]
    assert built(*bundles) == built(*reversed(bundles))


def test_a_bundle_that_repeats_a_text_is_left_out_whole() -> None:
    records = built(pair("p0", "Is it so"), pair("p1", "IS it, so"), pair("p2", "Is it not so"))
    assert len(records) == 4
    assert sum("not" in str(record["question"]) for record in records) == 2
    assert built(pair("p2", "Is it not so"), taken=(plain_text("Is it not so at 2?"),)) == []


@pytest.mark.parametrize(
    ("bundle", "complaint"),
    [
        ((), "is empty"),
        (pair("a")[:1], "as many TRUE as FALSE"),
        ((pair("a")[0], pair("b")[1]), "several pairs"),
        (pair("a", stratum="physics"), "unknown stratum"),
        (pair("a", family="riddles"), "unknown family"),
        (pair("a", grade=6), "grade"),
    ],
)
def test_a_bundle_that_breaks_the_contract_is_an_error(bundle: tuple[Draft, ...], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        built(bundle)


def test_every_system_is_in_one_split_and_kinds_are_dealt_out() -> None:
    splits = system_splits(load_systems())
    counts = Counter(splits.values())
    assert set(counts) == set(SPLITS)
    total = sum(counts.values())
    assert abs(counts["train"] / total - 0.5) < 0.03
    assert abs(counts["test"] / total - 0.3) < 0.03
    wide = Counter(splits[name] for name, words in load_systems().items() if len(words.variables) >= 4)
    assert set(wide) == set(SPLITS)


def test_a_bundle_about_systems_of_two_splits_is_left_out() -> None:
    splits = system_splits(SYSTEMS)
    one = next(name for name in splits if splits[name] == "train")
    other = next(name for name in splits if splits[name] == "test")
    assert split_of(pair("p", system=f"{one}_vs_{other}"), splits) is None
    assert split_of(pair("p", system=one, instance=f"{one}:a=1 > {one}:a=2"), splits) == "train"
    assert split_of(pair("p", instance=f"{other}:a=1"), splits) == "test"
    assert built(pair("p", system=f"{one}_vs_{other}")) == []


def test_splits_do_not_depend_on_the_key() -> None:
    bundles = [pair(f"p{n}", system=f"s{n % 40}" if n % 2 else "generic") for n in range(80)]
    secret = Sources(records={}, systems=SYSTEMS, chance=Chance("another key"))
    public = {record["question"]: record["split"] for record in built(*bundles)}
    assert public == {record["question"]: record["split"] for record in built(*bundles, world=secret)}


def test_no_system_has_more_than_its_share() -> None:
    crowd = [pair(f"p{n}", system="s0") for n in range(300)]
    others = [pair(f"q{n}", system=f"s{1 + n % 20}") for n in range(200)]
    kept = without_excess([*crowd, *others])
    counts = Counter(bundle[0].system_id for bundle in kept)
    assert max(counts.values()) <= LARGEST_SHARE * sum(counts.values())
    assert counts["s0"] > counts["s1"]
    few = without_excess([*crowd, *(pair(f"q{n}", system="s1") for n in range(9))])
    assert Counter(bundle[0].system_id for bundle in few) == {"s0": 9, "s1": 9}
    generic = [pair(f"g{n}") for n in range(50)]
    assert without_excess(generic) == generic
