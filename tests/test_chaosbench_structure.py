"""Gates on how set 2 is built and labelled: each passes on sound items and fails on one planted fault."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.world import Sources
from perpend.studies.logic.chaos.records import Record as Instance
from perpend.studies.logic.chaosbench import labels, structure
from perpend.studies.logic.chaosbench.items import Record
from perpend.studies.logic.chaosbench.validate import content_gates

START = (0.25, -1.5)


def instance(name: str, **other: object) -> Instance:
    """A frozen instance: chaotic, with numbers that say so."""
    body: dict[str, object] = {
        "id": name,
        "system_id": name.partition(":")[0],
        "parameters": {"a": 1.0},
        "start": START,
        "start_matters": False,
        "facts": {"Chaotic": True, "PositiveLargestLyapunov": True, "Periodic": False},
        "methods": {"Chaotic": "definition", "PositiveLargestLyapunov": "spectrum", "Periodic": "definition"},
        "numbers": {"lyapunov": [0.5, 0.0, -2.0], "lyapunov_error": [0.01, 0.01, 0.01], "starts": {"same": 10}},
    }
    return Instance(**{**body, **other})  # type: ignore[arg-type]


WORLD = Sources(
    records={
        "s1:a=1": instance("s1:a=1"),
        "s2:a=1": instance("s2:a=1", start_matters=True),
        "s3:a=1": instance("s3:a=1", facts={"Bounded": True}, methods={"Bounded": "orbit"}),
    },
    systems={},
    chance=Chance(),
)


def item(n: int, **tags: str) -> Record:
    label = "TRUE" if n % 2 == 0 else "FALSE"
    body: Record = {
        "id": f"atomic_2_{n}",
        "question": f"Is this the case at x = {n}?",
        "ground_truth": label,
        "type": "atomic",
        "system_id": f"s{n // 2 % 30}",
        "template": "is_case",
        "stratum": "compute",
        "kind": "regime",
        "grade": "2",
        "predicate": "Chaotic",
        "polarity": "positive",
        "pair": f"p{n // 2}",
        "group": f"p{n // 2}",
        "split": ("train", "dev", "test")[n // 2 % 30 % 3],
    }
    return {**body, **tags}


def sound(count: int = 1200) -> list[Record]:
    return [item(n) for n in range(count)]


def test_splits_hold() -> None:
    assert structure.splits(sound()).passed
    assert structure.shares(sound()).passed


def _other_split(records: list[Record]) -> None:
    records[1]["split"] = "dev"


def _other_system(records: list[Record]) -> None:
    records[0] |= {"system_id": "s1"}
    records[1] |= {"system_id": "s1"}


def _other_instance(records: list[Record]) -> None:
    records[0]["instance"] = "s0:a=1 > s1:a=1"


def _same_group(records: list[Record]) -> None:
    records[0]["group"] = "p1"


def _no_split(records: list[Record]) -> None:
    del records[0]["split"]


@pytest.mark.parametrize("fault", [_other_split, _other_system, _other_instance, _same_group, _no_split])
def test_a_pair_system_or_group_in_two_splits_fails(fault: Callable[[list[Record]], None]) -> None:
    records = sound()
    fault(records)
    assert not structure.splits(records).passed


def test_a_system_that_dominates_a_split_fails() -> None:
    records = [*sound(), *(item(n, system_id="s2", split="test", pair=f"q{n}", group=f"q{n}") for n in range(200))]
    gate = structure.shares(records)
    assert not gate.passed
    assert "s2 makes up" in gate.detail


def test_strata_and_families_need_their_items() -> None:
    per = {"textbook": 2000, "reason": 3500, "logic": 5600, "data": 2500, "compute": 2500}
    records: list[Record] = []
    for stratum, count in per.items():
        for n in range(count):
            family = structure.FAMILIES[len(records) % len(structure.FAMILIES)]
            records.append(item(n, stratum=stratum, type=family, cites="May 1976"))
    assert structure.strata(records).passed

    def without(keep: Callable[[Record], bool]) -> str:
        gate = structure.strata([record for record in records if keep(record)])
        assert not gate.passed
        return gate.detail

    assert "data has" in without(lambda record: record["stratum"] != "data" or record["ground_truth"] == "TRUE")
    assert "adversarial has 0" in without(lambda record: record["type"] != "adversarial")
    for tags, complaint in (
        ({"grade": "7"}, "grade"),
        ({"stratum": "physics"}, "unknown"),
        ({"type": "riddles"}, "unknown"),
        ({"stratum": "textbook", "cites": ""}, "cite nothing"),
    ):
        gate = structure.strata([*records, item(0, **tags)])
        assert not gate.passed
        assert complaint in gate.detail
    assert not structure.strata([{**item(0), "stratum": ""}]).passed


def test_variants_are_of_the_same_facts() -> None:
    variants = ("base", "paraphrase", "negation")
    records = [
        item(2 * n + (fact == 1) ^ (variant == "negation"), variant=variant, pair=f"v{n}", group=f"v{n}",
             polarity="negative" if variant == "negation" else "positive")
        for n in range(20) for fact in (0, 1) for variant in variants
    ]  # fmt: skip
    assert structure.variants(records).passed
    for fault in (
        {"ground_truth": "FALSE" if records[1]["ground_truth"] == "TRUE" else "TRUE"},
        {"polarity": "negative"},
        {"variant": "base"},
    ):
        broken = copy.deepcopy(records)
        broken[1] |= fault  # type: ignore[arg-type]
        assert not structure.variants(broken).passed
    assert not structure.variants(sound()).passed


@pytest.mark.parametrize(
    ("term", "definition"),
    [
        ("settle on an attracting cycle", "An attracting cycle is a motion that repeats and that others approach."),
        ("chaotic", "Chaotic means bounded with a positive largest exponent and never periodic."),
        ("dissipative", "Dissipative means that volumes shrink on average."),
        ("quasi-periodic", "Quasi-periodic motion winds round a torus."),
    ],
)
def test_a_convention_needs_its_definition(term: str, definition: str) -> None:
    bare = item(0, question=f"Is the motion {term}?")
    assert not structure.definitions([bare]).passed
    assert structure.definitions([{**bare, "question": f"{definition} {bare['question']}"}]).passed
    assert structure.definitions([{**bare, "stratum": "logic"}]).passed
    elsewhere = f"For other parameter values it is {term}. Is it at rest?"
    assert structure.definitions([{**bare, "question": elsewhere}]).passed


def test_a_start_that_matters_is_stated() -> None:
    needed = {name: record.start for name, record in WORLD.records.items() if record.start_matters}
    stated = item(0, instance="s2:a=1", question="From (x, y) = (0.25, -1.5), is it so?")
    assert structure.starts([stated], needed).passed
    assert structure.starts([item(0, instance="s1:a=1")], needed).passed
    assert not structure.starts([{**stated, "question": "From (x, y) = (0.25, 1), is it so?"}], needed).passed
    assert not structure.starts([item(0, instance="s1:a=1 > s2:a=1")], needed).passed
    root = {"s2:a=1": (2**0.5 - 1, 3**0.5 - 1)}
    assert structure.starts([{**stated, "question": "From (sqrt(2) - 1, sqrt(3) - 1), is it so?"}], root).passed
    assert not structure.starts([{**stated, "question": "From (sqrt(2) - 1, sqrt(5) - 1), is it so?"}], root).passed


def test_facts_are_frozen_and_decided() -> None:
    assert labels.facts([item(0, instance="s1:a=1"), item(2)], WORLD).passed
    assert "no frozen instance" in labels.facts([item(0, instance="s1:a=2")], WORLD).detail
    assert "is not decided" in labels.facts([item(0, instance="s1:a=1 > s3:a=1")], WORLD).detail


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ({"numbers": {"lyapunov": [0.02, -1.0], "lyapunov_error": [0.01, 0.01]}}, "not positive beyond its error"),
        ({"facts": {"Chaotic": False}, "methods": {"Chaotic": "spectrum"}}, "is positive beyond its error"),
        ({"facts": {"Chaotic": True, "Periodic": True}}, "two regimes"),
        ({"methods": {}}, "no known method"),
        ({"numbers": {"starts": {"same": 8, "cycle": 2}}}, "start is said not to matter"),
        (
            {
                "facts": {"AttractingCycle": True, "PositiveLargestLyapunov": False},
                "methods": {"AttractingCycle": "spectrum", "PositiveLargestLyapunov": "spectrum"},
                "numbers": {"lyapunov": [0.0, -0.0013], "lyapunov_error": [0.001, 0.0014]},
            },
            "two neutral directions",
        ),
    ],
)
def test_facts_go_with_their_numbers(fault: dict[str, object], complaint: str) -> None:
    assert labels.contradictions(instance("s1:a=1")) == []
    assert any(complaint in wrong for wrong in labels.contradictions(instance("s1:a=1", **fault)))
    broken = Sources(records={"s1:a=1": instance("s1:a=1", **fault)}, systems={})
    assert not labels.facts([item(0, instance="s1:a=1", predicate="P")], broken).passed


def test_every_label_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "perpend.studies.logic.chaos.questions.relabel.relabel"
    monkeypatch.setattr(module, lambda record, _world: record["question"].endswith("0?"))
    records = [item(0), item(1)]
    assert labels.labels(records, WORLD).passed
    gate = labels.labels([item(0, ground_truth="FALSE")], WORLD)
    assert not gate.passed
    assert "the other way gives TRUE" in gate.detail
    monkeypatch.setattr(module, lambda record, _world: record["nothing"])
    assert "cannot be computed" in labels.labels(records, WORLD).detail


def test_an_unknown_stratum_cannot_be_labelled_again() -> None:
    assert not labels.labels([item(0, stratum="physics")], WORLD).passed
    assert "cannot run" in labels.labels([{**item(0), "stratum": ""}], WORLD).detail


def test_labels_are_balanced_by_stratum_and_kind() -> None:
    records = sound(200)
    placed = [(f"items:{n}", record) for n, record in enumerate(records)]
    gates = {gate.gate: gate for gate in content_gates(placed, WORLD)}
    assert gates["label balance by stratum"].passed
    for n, record in enumerate(records):
        record |= {"kind": "other" if n % 2 else "regime", "stratum": "data" if n % 2 else "compute"}
    gates = {gate.gate: gate for gate in content_gates(placed, WORLD)}
    assert not gates["label balance by stratum"].passed
    assert not gates["label balance by kind"].passed
