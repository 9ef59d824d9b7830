"""The chaos-logic items: rebuilt bit for bit, balanced in every cell, and every mutation caught by a named gate."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from perpend.errors import DataError
from perpend.studies.logic.chaos.families.recompute import Facts
from perpend.studies.logic.chaos.items import build
from perpend.studies.logic.chaos.records import load_records, load_systems
from perpend.studies.logic.chaosbench import packaged
from perpend.studies.logic.chaosbench.baselines import LIMIT, shortcuts
from perpend.studies.logic.chaosbench.freeze import freeze, read_freeze
from perpend.studies.logic.chaosbench.items import Record, text_of
from perpend.studies.logic.chaosbench.masking import Mask
from perpend.studies.logic.chaosbench.settings import FAMILIES
from perpend.studies.logic.chaosbench.sources import open_source, read_selector
from perpend.studies.logic.chaosbench.validate import content_gates
from tests.test_chaosbench_items import chaosbench


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return packaged.set_texts()


@pytest.fixture(scope="module")
def families(texts: dict[str, str]) -> dict[str, list[Record]]:
    return {family: lines(texts[f"data/{family}.jsonl"]) for family in FAMILIES}


@pytest.fixture(scope="module")
def everything(families: dict[str, list[Record]]) -> list[Record]:
    return [record for records in families.values() for record in records]


@pytest.fixture
def few(texts: dict[str, str]) -> list[Record]:
    return lines(texts["data/subsets/subset_1k_armored.jsonl"])


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def own_cache(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(packaged.CACHE_ENV, str(cache))
    monkeypatch.chdir(tmp_path)
    packaged.set_root.cache_clear()
    yield cache
    packaged.set_root.cache_clear()


def lines(text: str) -> list[Record]:
    return [json.loads(line) for line in text.splitlines()]


def failed(records: list[Record], facts: Facts | None = None) -> set[str]:
    numbered = [(f"items:{n}", record) for n, record in enumerate(records, 1)]
    return {gate.gate for gate in content_gates(numbered, facts) if not gate.passed}


def test_the_set_is_rebuilt_from_the_facts_bit_for_bit(texts: dict[str, str]) -> None:
    frozen = json.loads((packaged.committed() / packaged.FILES).read_text())
    assert {path: hashlib.sha256(text.encode()).hexdigest() for path, text in texts.items()} == frozen


def test_the_freeze_is_that_of_the_rebuilt_files(texts: dict[str, str], tmp_path: Path) -> None:
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = freeze(read_selector(tmp_path / "data/canonical_v2_files.json"), tmp_path / "out")
    committed = read_freeze(packaged.committed())
    assert committed is not None
    assert (found.sha256, found.total) == (committed["global_sha256"], committed["canonical_total_questions"])
    assert found.duplicate_ids == ()


def test_there_are_ten_families_of_enough_items(families: dict[str, list[Record]]) -> None:
    assert sum(map(len, families.values())) >= 25_000
    assert min(map(len, families.values())) >= 300
    for family, records in families.items():
        assert {record["type"] for record in records} == {family}
        labels = Counter(record["ground_truth"] for record in records)
        assert labels["TRUE"] == labels["FALSE"]


def test_labels_are_balanced_in_every_cell(everything: list[Record]) -> None:
    cells: dict[tuple[str, ...], Counter[str]] = {}
    for record in everything:
        # A reversed argument asks for another conclusion where it is FALSE; only the whole form is balanced.
        reverse = text_of(record, "template").startswith("reversed")
        conclusion = ("", "") if reverse else (text_of(record, "predicate"), text_of(record, "polarity"))
        cell = (text_of(record, "type"), text_of(record, "template"), *conclusion)
        cells.setdefault(cell, Counter())[text_of(record, "ground_truth")] += 1
    assert [cell for cell, found in cells.items() if found["TRUE"] != found["FALSE"]] == []


def test_most_questions_have_a_twin_that_differs_in_numbers_only(families: dict[str, list[Record]]) -> None:
    for family in ("atomic", "extended_systems", "regime_transition", "indicator_diagnostics"):
        mask = Mask(families[family])
        seen: dict[tuple[str, str], Counter[str]] = {}
        for record in families[family]:
            key = (text_of(record, "system_id"), mask.masked(record))
            seen.setdefault(key, Counter())[text_of(record, "ground_truth")] += 1
        matched = sum(2 * min(found["TRUE"], found["FALSE"]) for found in seen.values())
        assert matched >= 0.9 * len(families[family]), family


def test_names_do_not_give_the_answer(everything: list[Record]) -> None:
    regime = [r for r in everything if r["predicate"] == "Chaotic" and r["kind"] == "fact"]
    systems: dict[str, set[str]] = {}
    for record in regime:
        systems.setdefault(text_of(record, "system_id"), set()).add(text_of(record, "ground_truth"))
    assert all(found == {"TRUE", "FALSE"} for found in systems.values())


def test_logic_questions_state_what_is_in_force(families: dict[str, list[Record]]) -> None:
    for family, hops in (("fol_inference", {"1"}), ("multi_hop", {"2", "3", "4", "5"})):
        kinds = Counter(record["kind"] for record in families[family])
        assert set(kinds) == {"argument", "world_knowledge"}
        stated = [record for record in families[family] if record["kind"] == "argument"]
        assert {record["hop_count"] for record in stated} == hops
        assert all(record["rules"] and record["premises"] for record in stated)
        assert kinds["argument"] > kinds["world_knowledge"] >= 300


def test_a_premise_or_conclusion_alone_decides_nothing(families: dict[str, list[Record]]) -> None:
    for family in ("fol_inference", "multi_hop"):
        groups: dict[str, list[Record]] = {}
        for record in families[family]:
            groups.setdefault(text_of(record, "group"), []).append(record)
        for rows in groups.values():
            assert Counter(record["ground_truth"] for record in rows) == {"TRUE": 2, "FALSE": 2}
            assert len({record["rules"] for record in rows}) == 1


def test_held_out_systems_are_in_no_other_split(everything: list[Record]) -> None:
    splits: dict[str, set[str]] = {}
    for record in everything:
        splits.setdefault(text_of(record, "system_id"), set()).add(text_of(record, "split"))
    held = [system for system, found in splits.items() if "heldout_systems" in found]
    assert len(held) >= 8
    assert all(splits[system] == {"heldout_systems"} for system in held)


def test_the_whole_set_passes_the_gates_of_content(everything: list[Record]) -> None:
    assert failed(everything) == set()


def test_no_shortcut_reaches_far_on_the_small_subset(texts: dict[str, str]) -> None:
    for entry in shortcuts(lines(texts["data/subsets/subset_1k_armored.jsonl"])):
        value = entry.overall["balanced_accuracy"].value
        assert value is not None
        assert value <= LIMIT, entry.name


def _at(records: list[Record], **tags: str) -> Record:
    return next(record for record in records if all(record.get(key) == value for key, value in tags.items()))


def _label(records: list[Record]) -> None:
    record = _at(records, kind="fact")
    record["ground_truth"] = "FALSE" if record["ground_truth"] == "TRUE" else "TRUE"


def _argument_label(records: list[Record]) -> None:
    record = _at(records, kind="argument")
    record["ground_truth"] = "FALSE" if record["ground_truth"] == "TRUE" else "TRUE"


def _number(records: list[Record]) -> None:
    record = _at(records, system_id="henon", kind="fact")
    name, value = text_of(record, "parameters").split(",")[0].split("=")
    record["question"] = text_of(record, "question").replace(f"{name} = {value}", f"{name} = 9.75")


def _other_instance(records: list[Record]) -> None:
    records[0]["instance"] = "henon:a=77,b=77"
    records[0]["kind"] = "fact"


def _no_kind(records: list[Record]) -> None:
    del records[0]["kind"]


def _word_twice(records: list[Record]) -> None:
    records[0]["question"] = text_of(records[0], "question").replace(" the ", " the the ", 1)


def _placeholder(records: list[Record]) -> None:
    records[0]["question"] = text_of(records[0], "question")[:-1] + " {claim}?"


def _broken_name(records: list[Record]) -> None:
    record = _at(records, system_id="henon")
    record["question"] = text_of(record, "question").replace("Hénon map", "Hénon is map")


def _variant(records: list[Record]) -> None:
    rows = [r for r in records if r.get("variant") and r["type"] == "perturbation_robustness"]
    first = next(r for r in rows if sum(r["group"] == other["group"] for other in rows) > 1)
    first["predicate"] = "Delay"


def _text_again(records: list[Record]) -> None:
    records[0]["question"] = records[1]["question"]


@pytest.mark.parametrize(
    ("mutate", "gate"),
    [
        (_label, "labels from facts and rules"),
        (_argument_label, "labels from facts and rules"),
        (_number, "labels from facts and rules"),
        (_other_instance, "labels from facts and rules"),
        (_no_kind, "labels from facts and rules"),
        (_word_twice, "grammar"),
        (_placeholder, "grammar"),
        (_broken_name, "grammar"),
        (_variant, "variants keep their fact"),
        (_text_again, "exact duplicates"),
    ],
)
def test_a_mutated_item_is_caught_by_a_named_gate(
    mutate: Callable[[list[Record]], None], gate: str, few: list[Record]
) -> None:
    assert gate not in failed(few)
    mutate(few)
    assert gate in failed(few)


def test_a_mutated_fact_is_caught_and_changes_the_set(everything: list[Record], texts: dict[str, str]) -> None:
    records = {record.id: record for record in load_records()}
    name = text_of(_at(everything, kind="fact", predicate="Chaotic"), "instance")
    before = records[name]
    records[name] = replace(before, facts={**before.facts, "Chaotic": not before.facts["Chaotic"]})
    concerned = [record for record in everything if name in text_of(record, "instance")]
    assert "labels from facts and rules" in failed(concerned, Facts(records.values()))
    assert "labels from facts and rules" not in failed(concerned)
    again = build(records.values(), load_systems())
    assert [dict(record) for record in again["atomic"]] != lines(texts["data/atomic.jsonl"])


def test_the_set_is_made_on_first_use_from_any_directory(own_cache: Path) -> None:
    code, said = chaosbench("eval", "--tier", "P0", "--quiet")
    assert code == 0, said
    source = open_source(None, "canonical")
    committed = read_freeze(packaged.committed())
    assert committed is not None
    assert source.global_sha256 == committed["global_sha256"]
    assert source.note == ""
    suite = open_source(Path("data/subsets/subset_family_suites/multi_hop.jsonl"), "canonical")
    assert (len(suite.records), suite.note) == (456, "")
    assert own_cache in packaged.set_root().parents


def test_a_damaged_file_of_the_cache_is_made_again(own_cache: Path, texts: dict[str, str]) -> None:
    del own_cache
    path = packaged.set_root() / "data/atomic.jsonl"
    path.write_text("{}\n")
    packaged.set_root.cache_clear()
    assert (packaged.set_root() / "data/atomic.jsonl").read_text() == texts["data/atomic.jsonl"]


def test_a_set_that_does_not_come_out_as_frozen_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frozen = json.loads((packaged.committed() / packaged.FILES).read_text())
    frozen["data/atomic.jsonl"] = "0" * 64
    (tmp_path / packaged.FILES).write_text(json.dumps(frozen))
    monkeypatch.setattr(packaged, "committed", lambda: tmp_path)
    with pytest.raises(DataError, match=r"1 of \d+ files .* as data/atomic\.jsonl"):
        packaged.write_set(tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()
