"""Attacks without physics: nothing on a fair set, and each planted leak is found by the attack that reads it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from perpend.studies.logic.chaosbench import features
from perpend.studies.logic.chaosbench.attacks import LIMIT, Attack, attacks
from perpend.studies.logic.chaosbench.boosting import binned, boosted
from perpend.studies.logic.chaosbench.folds import FOLDS, Attacked
from perpend.studies.logic.chaosbench.items import Record

SYSTEMS = {f"s{n}": {"a": 1.0 + n} for n in range(30)}
PARTS = 600


def coin(*name: object) -> float:
    return int(hashlib.sha256(repr(name).encode()).hexdigest(), 16) % 10**6 / 10**6


def fair() -> list[Record]:
    """Pairs whose two items differ only in numbers that a coin has drawn: 600 pairs of two kinds on 30 systems."""
    records: list[Record] = []
    for n in range(PARTS):
        system = n % 30
        for label in ("TRUE", "FALSE"):
            a, b, c = (round(0.1 + coin(n, label, key), 2) for key in "abc")
            form = ("Is {} above {} when a = {}?", "At a = {2}, does {0} exceed {1}?")[n % 2]
            records.append(
                {
                    "id": f"{n}{label}",
                    "question": form.format(f"{a:.2f}", f"{b:.2f}", f"{c:.2f}"),
                    "ground_truth": label,
                    "type": "atomic",
                    "system_id": f"s{system}",
                    "template": f"T{n % 2}",
                    "stratum": ("reason", "data")[n % 2],
                    "kind": ("one", "other")[n % 2],
                    "grade": "1",
                    "predicate": f"P{n % 3}",
                    "polarity": "positive",
                    "pair": f"p{n}",
                    "group": f"p{n}",
                    "split": ("train", "dev", "test")[system % 3],
                    "parameters": f"a={SYSTEMS[f's{system}']['a'] * (1 + coin(n, label, 'far')):.3f}",
                }
            )
    return records


def run(records: list[Record]) -> dict[str, Attack]:
    return {attack.name: attack for attack in attacks(records, SYSTEMS)}


@pytest.fixture(scope="module")
def on_fair() -> Mapping[str, Attack]:
    return run(fair())


def test_a_fair_set_stands_every_attack(on_fair: Mapping[str, Attack]) -> None:
    assert {name: attack.as_gate().detail for name, attack in on_fair.items() if attack.over} == {}
    assert len(on_fair) == 13 + 9


def test_numbers_are_counted_by_stratum_and_kind_with_their_intervals(on_fair: Mapping[str, Attack]) -> None:
    attack = on_fair["trees on number sizes"]
    assert set(attack.parts) == {"stratum reason", "stratum data", "kind one", "kind other"}
    detail = attack.as_gate().detail
    assert "clusters" in detail
    assert "effective n" in detail


def _value(record: Record, number: str) -> None:
    record["question"] = str(record["question"]).replace("?", f", for n = {number}?")


def _size(record: Record) -> None:
    _value(record, "1.50" if record["ground_truth"] == "TRUE" else "2.50")


def _decimals(record: Record) -> None:
    low = coin(record["id"])
    _value(record, f"{low:.3f}" if record["ground_truth"] == "TRUE" else f"{low:.2f}")


def _order(record: Record) -> None:
    low, high = sorted((coin(record["id"], 1), coin(record["id"], 2)))
    pair = (low, high) if record["ground_truth"] == "TRUE" else (high, low)
    record["question"] = f"Of the first and the second, is {pair[0]:.4f} named before {pair[1]:.4f}?"


def _distance(record: Record) -> None:
    usual = SYSTEMS[str(record["system_id"])]["a"]
    far = 0.5 if record["ground_truth"] == "TRUE" else 0.1
    record["parameters"] = f"a={usual * (1 + far + 0.05 * coin(record['id'])):.4f}"


def _denial(record: Record) -> None:
    if record["ground_truth"] == "FALSE":
        record["question"] = str(record["question"]).replace("?", ", and not otherwise?")


def _word(record: Record) -> None:
    word = "surely" if record["ground_truth"] == "TRUE" else "perhaps"
    record["question"] = f"Tell me: {word} {record['question']}"


def _template(record: Record) -> None:
    record["template"] = f"T{record['ground_truth']}"


def _predicate(record: Record) -> None:
    record["predicate"] = f"P{record['ground_truth']}"


@pytest.mark.parametrize(
    ("leak", "attack"),
    [
        (_size, "trees on number sizes"),
        (_decimals, "trees on digits and decimals"),
        (_order, "trees on number sizes"),
        (_order, "trees on order and place"),
        (_distance, "trees on distance from usual parameters"),
        (_denial, "trees on lengths and denials"),
        (_word, "naive Bayes on words"),
        (_size, "naive Bayes on words and numbers"),
        (_template, "form majority"),
        (_predicate, "predicate majority"),
        (_decimals, "trees on all of these, by kind"),
        (_decimals, "trees on all of these, by predicate"),
        (_decimals, "trees on all of these, by form"),
    ],
)
def test_a_planted_leak_fails_its_gate(leak: Callable[[Record], None], attack: str) -> None:
    records = fair()
    for record in records:
        leak(record)
    gate = run(records)[attack].as_gate()
    assert not gate.passed
    assert f"above {LIMIT}" in gate.detail


def test_a_leak_in_one_kind_is_seen_where_the_whole_would_hide_it() -> None:
    records = fair()
    for record in records:
        if record["kind"] == "one" and coin(record["id"], "few") < 0.3:
            _size(record)
        else:
            _value(record, "1.50" if coin(record["id"]) < 0.5 else "2.50")
    over = run(records)["trees on number sizes"].over
    assert "kind one" in over
    assert "kind other" not in over


def test_splits_that_share_their_facts_are_found_by_memory() -> None:
    records = fair()
    for record in records:
        # The same instance is asked in every split, and its answer is always the same.
        record["instance"] = f"{record['system_id']}:a={record['ground_truth']}"
        record["split"] = ("train", "dev", "test")[int(str(record["pair"])[1:]) // 30 % 3]
    found = run(records)
    assert found["memoriser: the same instance or system, split test"].over
    for record in records:
        record["question"] = f"{record['question']} Case {record['ground_truth']}{record['system_id']} of many."
    assert run(records)["memoriser: nearest question, split dev"].over


def test_a_flipped_neighbour_is_an_attack_too() -> None:
    records = fair()
    for n, record in enumerate(records):
        # Twins across splits, with the same rare words and the opposite label.
        record["question"] = f"Is word{n // 2 % 300}{'a' if n % 2 else 'b'} so at last?"
        record["ground_truth"] = "TRUE" if (n < PARTS) == (n % 2 == 0) else "FALSE"
        record["split"] = "train" if n < PARTS else "test"
    assert run(records)["memoriser: opposite of the nearest question, split test"].over


def test_nothing_of_an_owner_is_on_both_sides_of_a_fold() -> None:
    records = fair()[:200]
    items = Attacked(records, SYSTEMS)
    rows = np.arange(len(records))
    tested = np.zeros(len(records))
    for train, test in items.folds(rows):
        systems = [{str(records[row]["system_id"]) for row in rows[side]} for side in (train, test)]
        assert not systems[0] & systems[1]
        tested[test] += 1
    assert (tested == 1).all()
    assert len(items.folds(rows)) == FOLDS


def test_the_trees_learn_what_needs_two_columns() -> None:
    draws = np.random.default_rng(3).random((2000, 3))
    truth = ((draws[:, 0] > 0.5) != (draws[:, 1] > 0.5)).astype(np.float64)
    train = np.arange(2000) < 1500
    assert (boosted(binned(draws), truth, train, ~train) == truth[~train]).mean() > 0.9
    assert boosted(binned(draws[:, :0]), truth, train, ~train).tolist() == [0.0] * 500


def test_numbers_are_read_as_they_are_written() -> None:
    assert features.numbers_in("At x1 = −0.50 and k = 3, is it 1e-3 or x2?") == ["-0.50", "3", "1e-3"]
    row = features.spellings("Is 0.50 above 3?")
    assert (row["decimals 0"], row["decimals 1"], row["odd 1"]) == (2.0, 0.0, 1.0)
    assert features.places("Take 1, 5, 2. Is it the second?")["asked ordinal"] == 2.0
    assert features.marks("It is not so. Is it never so?")["denials"] == 2.0
