"""The gates of an item set: each passes on a sound set, and a named one catches each mutation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from perpend.studies.logic.chaosbench.baselines import shortcuts
from perpend.studies.logic.chaosbench.duplicates import exact_duplicates, near_duplicates
from perpend.studies.logic.chaosbench.items import Record, write_records
from perpend.studies.logic.chaosbench.masking import Mask
from perpend.studies.logic.chaosbench.ngrams import NgramRegression
from perpend.studies.logic.chaosbench.validate import validate
from tests.test_chaosbench_items import PREDICATES, chaosbench, record

FORMS = (
    "At k = {k}, is the {name} {predicate}?",
    "Does the {name} count as {predicate} when k = {k}?",
    "Take k = {k}. Would you call the {name} {predicate}?",
)


def fair(count: int = 480) -> list[Record]:
    """A set without shortcuts: the label is a coin that no tag knows, TRUE as often as FALSE in every cell."""
    records: list[Record] = []
    for n in range(count):
        system, form, predicate = n // 12 % 20, n % 3, PREDICATES[n // 3 % 4]
        coin = int(hashlib.sha256(f"{n // 240}{system}{form}{predicate}".encode()).hexdigest(), 16) % 2
        name = f"Kolmo{chr(65 + system)} oscillator"
        records.append(
            {
                "id": f"i{n:04}",
                "question": FORMS[form].format(k=n / 16, name=name, predicate=predicate),
                "ground_truth": "TRUE" if coin == n // 240 % 2 else "FALSE",
                "type": "atomic" if n % 2 else "regime_transition",
                "system_id": f"kolmo{system}",
                "template": f"T{form}",
                "predicate": predicate,
                "system_name": name,
                "group": f"g{n}",
                "split": "heldout_systems" if system < 2 else "core",
            }
        )
    # The same cell once with each label: 240 items and their opposites at another k.
    for first, second in zip(records[:240], records[240:], strict=True):
        second["ground_truth"] = "FALSE" if first["ground_truth"] == "TRUE" else "TRUE"
    return records


def failed(records: list[Record]) -> set[str]:
    return {
        gate.gate for gate in validate([(f"items:{n}", one) for n, one in enumerate(records, 1)]) if not gate.passed
    }


FOREIGN = {
    *("label balance by stratum", "label balance by kind", "strata and families", "definitions"),
    *("variants keep their fact", "labels again by another way"),
}
"""Gates that need what a set of other systems has not: they say that they cannot run, and fail."""


def test_a_fair_set_passes_every_gate_that_can_run() -> None:
    assert failed(fair()) == FOREIGN
    gates = {gate.gate: gate.detail for gate in validate([(f"items:{n}", one) for n, one in enumerate(fair(), 1)])}
    assert all("cannot" in gates[name] for name in FOREIGN)


def _blank(records: list[Record]) -> None:
    records[5]["question"] = " "


def _label(records: list[Record]) -> None:
    records[5]["ground_truth"] = "true"


def _order(records: list[Record]) -> None:
    records[5] = {"question": records[5].pop("question"), **records[5]}


def _same_id(records: list[Record]) -> None:
    records[5]["id"] = records[6]["id"]


def _same_text(records: list[Record]) -> None:
    records[5]["question"] = str(records[6]["question"]).upper().rstrip("?") + " ?"


def _leak(records: list[Record]) -> None:
    records[5]["question"] = f"{records[5]['question']} The answer is yes."


def _split(records: list[Record]) -> None:
    records[0]["split"] = "core"


def _group(records: list[Record]) -> None:
    records[0]["group"] = records[100]["group"]


def _no_split(records: list[Record]) -> None:
    for one in records:
        del one["split"]


def _no_predicate(records: list[Record]) -> None:
    for one in records:
        del one["predicate"]


def _family(records: list[Record]) -> None:
    for one in records[:30]:
        one |= {"type": "cross_indicator", "ground_truth": "TRUE"}


def _template(records: list[Record]) -> None:
    for one in records:
        one["ground_truth"] = "TRUE" if one["template"] == "T0" else one["ground_truth"]


def _predicate(records: list[Record]) -> None:
    for one in records:
        if one["predicate"] in ("bounded", "mixing"):
            one["ground_truth"] = "TRUE" if one["predicate"] == "bounded" else "FALSE"


@pytest.mark.parametrize(
    ("mutate", "gates"),
    [
        (_blank, {"schema"}),
        (_label, {"schema"}),
        (_order, {"schema"}),
        (_same_id, {"duplicate ids"}),
        (_same_text, {"exact duplicates"}),
        (_leak, {"leakage"}),
        (_split, {"split integrity"}),
        (_group, {"split integrity"}),
        (_no_split, {"split integrity"}),
        (_no_predicate, {"label balance by predicate", "shortcut: predicate majority"}),
        (_family, {"family degeneracy", "label balance by family"}),
        (_template, {"label balance by template", "shortcut: template tag majority"}),
        (_predicate, {"label balance by predicate", "shortcut: question n-grams, systems held out"}),
    ],
)
def test_each_mutation_is_caught_by_a_named_gate(mutate: Callable[[list[Record]], None], gates: set[str]) -> None:
    records = fair()
    mutate(records)
    assert gates <= failed(records)


def test_the_command_prints_the_table_and_fails_with_it(tmp_path: Path) -> None:
    write_records(tmp_path / "a.jsonl", fair())
    code, said = chaosbench("validate", "--data", tmp_path)
    assert code == 6
    assert "pass  near duplicates" in said
    assert f"{len(FOREIGN)} of " in said.splitlines()[-1]
    assert all(f"FAIL  {name}" in said for name in FOREIGN)
    write_records(tmp_path / "b.jsonl", [record(1), record(1)])
    code, said = chaosbench("validate", "--data", tmp_path, "--json")
    assert code == 6
    body = json.loads(said[: said.rindex("]") + 1])
    assert {"gate": "duplicate ids", "passed": False, "found": body[1]["found"]} == body[1]
    assert chaosbench("validate", "--data", tmp_path / "none")[0] == 3


def test_numbers_make_two_questions_of_one_sentence() -> None:
    one, other = record(1), record(2, question=record(1)["question"].replace("0.125", "1.25"), system_id="sys1")
    assert exact_duplicates([one, other]) == []
    assert near_duplicates([one, other]) == []


def test_near_duplicates_are_found_over_the_whole_set_and_variants_are_not() -> None:
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau"
    base = {"predicate": "p", "system_id": "s"}
    crowd = [record(n, question=f"w{n} " * 9, **base) for n in range(50)]
    pair = [record(n, question=f"{words} {word}", **base) for n, word in ((60, "upsilon"), (75, "phi"))]
    found = near_duplicates([pair[0], *crowd, pair[1]])
    assert found == [("atomic_0060", "atomic_0075")]
    assert near_duplicates([{**pair[0], "group": "g"}, {**pair[1], "group": "g"}]) == []
    assert near_duplicates(pair) == found


def test_names_are_learned_where_no_tag_states_them() -> None:
    records: list[Record] = [
        {"id": f"{n}{at}", "question": text, "system_id": f"sys{n}"}
        for n, name in enumerate(("Hopf-7 ring (slow)", "Duff box", "Mira engine"))
        for at, text in enumerate((f"Is the {name} fast?", f"Given {name} at 0.3, does it stop?", f"Can {name} run?"))
    ]
    mask = Mask(records)
    assert mask.names == {"sys0": "Hopf-7 ring (slow)", "sys1": "Duff box", "sys2": "Mira engine"}
    assert {mask.masked(one) for one in records[::3]} == {"is the □ fast?"}
    assert mask.masked(records[1]) == "given □ at #, does it stop?"


def test_a_label_that_follows_from_the_sentence_is_found_without_the_system() -> None:
    records = fair()
    for one in records:
        one["ground_truth"] = "TRUE" if one["predicate"] in ("chaotic", "bounded") else "FALSE"
    values = {entry.name: entry.overall["balanced_accuracy"].value for entry in shortcuts(records) if not entry.note}
    assert values["template majority, system masked"] == 1.0
    assert values["predicate majority"] == 1.0
    assert values["question n-grams, systems held out"] == 1.0


def test_knowing_the_system_does_not_help_a_shortcut() -> None:
    records = fair()
    for one in records:
        one["ground_truth"] = "TRUE" if int(str(one["system_id"]).removeprefix("kolmo")) % 2 else "FALSE"
    for entry in shortcuts(records):
        value = entry.overall["balanced_accuracy"].value
        assert value is not None
        assert value <= 0.55, entry.name


def test_a_shortcut_that_cannot_run_says_so() -> None:
    notes = {entry.name: entry.note for entry in shortcuts([record(0), record(12)])}
    assert "fewer than two systems" in notes["template majority, system masked"]
    assert "systems, 5 are needed" in notes["question n-grams, systems held out"]


def test_the_regression_agrees_with_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    records = fair()
    texts = [Mask(records).masked(one) for one in records]
    truth = np.array([float(n * 7 % 5 < 2 or "bounded" in text) for n, text in enumerate(texts)])
    test = np.arange(len(texts)) % 4 == 0
    ours = NgramRegression(texts)
    rows = ours.features[ours.row]
    theirs = linear.LogisticRegression(C=1.0, max_iter=2000, tol=1e-8).fit(rows[~test], truth[~test])
    assert (ours.answers(truth, ~test, test) == theirs.predict(rows[test])).mean() > 0.98


def test_training_rows_of_one_class_give_that_class() -> None:
    made = NgramRegression(["a b", "a b", "a c"])
    train, test = np.array([True, True, False]), np.array([False, False, True])
    assert made.answers(np.array([1.0, 1.0, 0.0]), train, test).tolist() == [1.0]
    assert made.answers(np.array([1.0, 1.0, 0.0]), train & False, test).tolist() == [0.0]


def test_a_sign_that_stands_alone_is_no_number() -> None:
    one = record(1, question="Is x' = x - y so?")
    other = record(2, question="Is x' = x + y so?", system_id=one["system_id"])
    assert exact_duplicates([one, other]) == []
    assert near_duplicates([one, other]) == []
