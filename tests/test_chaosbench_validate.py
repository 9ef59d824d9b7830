"""The gates of an item set and its shortcuts: each passes on a sound set, and a named one catches each mutation."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from perpend.studies.logic.chaosbench import validate
from perpend.studies.logic.chaosbench.sets import FAMILIES, STRATA, Record, write_records
from perpend.studies.logic.chaosbench.validate import (
    Shortcut,
    alike,
    attacks,
    content_gates,
    majorities,
    masked,
    mistake,
    near_pairs,
    numbers_in,
)
from tests.test_chaosbench_items import chaosbench, record

WORDS = "amber birch cedar dune ember fjord grove heath islet knoll larch marsh north ochre plain quartz ridge sable"
FORMS = (
    "Take the {name} oscillator of {words} with the start x = {a} and leave out the first {b} steps. Is {c} above x?",
    "The orbit of the {name} oscillator begins at x = {a} in {words}, and the first {b} steps do not count. Is {c} so?",
)
NOT_HERE = {"textbook results by a second source", "labels again by another way"}
"""The gates that the factory makes; it reads none of these items."""


SYSTEMS = 26


def coin(*name: object) -> float:
    return int(hashlib.sha256(repr(("even", *name)).encode()).hexdigest(), 16) % 10**6 / 10**6


def fair(bundles: int = 120, families: tuple[str, ...] = ("atomic", "multi_hop")) -> list[Record]:
    """Bundles of four items, two TRUE and two FALSE, that differ in numbers which a coin has drawn."""
    records: list[Record] = []
    for n in range(bundles * len(families)):
        words = " ".join(sorted(WORDS.split(), key=lambda word, n=n: coin(n, word)))  # type: ignore[misc]
        for place, label in enumerate(("TRUE", "FALSE", "FALSE", "TRUE")):
            a, b, c = (round(100 * coin(n, place, key), 2) for key in "abc")
            system = n % SYSTEMS
            question = FORMS[n % 2].format(name=f"Kolmo{chr(65 + system)}", words=words, a=a, b=round(b) + 10, c=c)
            records.append(
                {
                    "id": f"i{n}_{place}",
                    "question": question,
                    "ground_truth": label,
                    "type": families[n % len(families)],
                    "system_id": f"kolmo{system}",
                    "template": f"T{n // 3 % 2}",
                    "stratum": STRATA[n // 2 % 5],
                    "kind": f"kind{n // 10 % 2}",
                    "variant": "plain",
                    "pair": f"p{n}",
                    "group": f"g{system}",
                    "cites": ["Kolmo 1999"],
                    "split": ("train", "dev", "test")[system % 3],
                }
            )
    return records


def placed(records: list[Record]) -> list[tuple[str, Record]]:
    return [(f"items:{n}", one) for n, one in enumerate(records, 1)]


def failed(records: list[Record]) -> set[str]:
    return {gate.gate for gate in content_gates(placed(records)) if not gate.passed}


@pytest.fixture(autouse=True)
def no_factory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in an installed package."""
    monkeypatch.setattr(validate, "FACTORY", tmp_path / "factory")


def test_a_sound_set_passes_every_gate_but_those_of_the_factory() -> None:
    assert failed(fair()) == NOT_HERE | {"strata and families"}
    gates = {gate.gate: gate for gate in content_gates(placed(fair()))}
    told = "python -m factory check FILE"
    assert all("not run" in gates[name].detail and told in gates[name].detail for name in NOT_HERE)
    # What another set has not, is said, and no gate that could not run passes.
    foreign = [{key: value for key, value in one.items() if key in validate.KEYS} for one in fair()]
    gates = {gate.gate: gate for gate in content_gates(placed(foreign))}
    cannot = {name for name, gate in gates.items() if "cannot run" in gate.detail}
    assert not any(gates[name].passed for name in cannot)
    few = {gate.gate: gate for gate in content_gates(placed(fair()[:1]))}
    assert few["family degeneracy"].passed
    assert "too few to tell" in few["label balance by family"].detail
    assert not few["label balance"].passed
    assert {"split integrity", "starts stated", "variants keep their fact", "definitions"} <= cannot


def test_strata_and_families_have_what_they_need() -> None:
    records = fair(1200 * 5, FAMILIES[:1])
    for n, one in enumerate(records):
        one |= {"type": FAMILIES[n // 4 % 10], "stratum": STRATA[n // 40 % 5]}
    assert validate._strata("strata and families", records).passed
    for key, value, complaint in (
        ("stratum", "physics", "stratum 'physics' is unknown"),
        ("type", "riddles", "family 'riddles' is unknown"),
        ("cites", [], "1 textbook items cite nothing"),
    ):
        before, records[0] = records[0], {**records[0], key: value}
        gate = validate._strata("strata and families", records)
        assert (gate.passed, complaint in gate.detail) == (False, True), gate.detail
        records[0] = before
    few = [one for one in records if one["type"] != "atomic" or one["split"] != "test"]
    assert "atomic has 0 in test, 456 needed" in validate._strata("strata and families", few).detail


def change(row: int, **values: object) -> Callable[[list[Record]], None]:
    return lambda records: records[row].update(values)  # type: ignore[arg-type]


def every(**values: Callable[[Record], object]) -> Callable[[list[Record]], None]:
    def mutate(records: list[Record]) -> None:
        for one in records:
            one.update({key: value(one) for key, value in values.items()})  # type: ignore[misc]

    return mutate


def ask(words: str) -> Callable[[Record], object]:
    return lambda one: str(one["question"]).replace("?", f"{words}?")


MUTATIONS: dict[str, tuple[Callable[[list[Record]], None], str]] = {
    "blank": (change(5, question=" "), "schema"),
    "label": (change(5, ground_truth="true"), "schema"),
    "number": (change(5, kind=3), "schema"),
    "order": (lambda records: records.__setitem__(5, dict(reversed(records[5].items()))), "schema"),
    "same id": (change(5, id="i0_0"), "duplicate ids"),
    "same text": (lambda rows: rows[5].update(question=f"{rows[6]['question']}".upper()), "exact duplicates"),
    "leak": (lambda rows: rows[5].update(question=f"{rows[5]['question']} The answer is yes."), "leakage"),
    "bundle": (change(0, split="dev"), "split integrity"),
    "group": (change(0, group="g1"), "split integrity"),
    "system": (every(system_id=lambda one: one["system_id"] if one["split"] == "dev" else "s"), "share of a system"),
    "no split": (every(split=lambda one: ""), "split integrity"),
    "family": (every(ground_truth=lambda one: "TRUE" if one["type"] == "atomic" else "FALSE"), "family degeneracy"),
    "by family": (every(ground_truth=lambda one: "TRUE" if one["type"] == "atomic" else one["ground_truth"]),
                  "label balance by family"),
    "by template": (every(ground_truth=lambda one: "TRUE" if one["template"] == "T0" else "FALSE"),
                    "label balance by template"),
    "by stratum": (every(ground_truth=lambda one: "TRUE" if one["stratum"] == "data" else "FALSE"),
                   "label balance by stratum"),
    "by kind": (every(ground_truth=lambda one: "TRUE" if one["kind"] == "kind0" else "FALSE"), "label balance by kind"),
    "overall": (every(ground_truth=lambda one: "TRUE"), "label balance"),
    "variant": (change(0, variant="denied"), "variants keep their fact"),
    "half": (change(0, ground_truth="FALSE"), "variants keep their fact"),
    "start": (every(question=lambda one: str(one["question"]).replace("start", "x").replace("begins", "is")),
              "starts stated"),
    "horizon": (every(question=lambda one: str(one["question"]).replace("leave out", "take").replace("not count", "go")
                      .replace("?", ", as its attractor?")), "horizons stated"),
    "definition": (every(question=ask(", or is it hyperchaotic")), "definitions"),
    "grammar": (every(question=ask(" so so")), "grammar"),
    "copy": (lambda rows: [rows[n].update(question=f"{rows[n - 4]['question']}".replace("?", f" now {n}?"))
                           for n in range(4, len(rows), 8)] and None, "near copies"),
    "nearly one": (lambda rows: [rows[n].update(question=f"{rows[n - 104]['question']}".replace("?", ", say?"))
                                 for n in range(104, 424, 4)] and every(group=lambda one: one["id"])(rows),
                   "near duplicates"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_mutation_is_caught_by_a_named_gate(name: str) -> None:
    (mutate, gate), records = MUTATIONS[name], fair()
    assert gate not in NOT_HERE | {"strata and families"}  # all that fails before
    mutate(records)
    assert gate in failed(records)


def test_the_command_prints_the_table_and_fails_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    write_records(tmp_path / "a.jsonl", fair(10))
    code, said = chaosbench("validate", "--data", tmp_path)
    assert code == 6
    assert "pass  near duplicates" in said
    assert said.count("pip install 'perpend[attacks]'") == 18
    assert "FAIL  shortcut: words 1-3, bundles held out" in said
    assert "FAIL  shortcut: template majority" not in said.splitlines()[-1]
    write_records(tmp_path / "b.jsonl", [record(1), record(1)])
    code, said = chaosbench("validate", "--data", tmp_path, "--json")
    assert code == 6
    body = json.loads(said[: said.rindex("]") + 1])
    assert {"gate": "duplicate ids", "passed": False, "found": body[1]["found"]} == body[1]
    assert chaosbench("validate", "--data", tmp_path / "none")[0] == 3


def test_the_factory_is_asked_where_it_is_and_named_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CHAOSBENCH_PRIVATE_KEY", raising=False)
    (tmp_path / "key.txt").write_text("k" * 32)
    flags = ("private", "--key-file", tmp_path / "key.txt", "--out", tmp_path / "out")
    code, said = chaosbench(*flags)
    assert (code, "python -m factory private" in said) == (2, True)
    validate.FACTORY.mkdir()
    (validate.FACTORY / "__main__.py").write_text(
        "import sys\nword, *rest = sys.argv[1:]\n"
        "lines = open(rest[0]).read().splitlines()\nassert word != 'private' or lines == ['k' * 32]\n"
        "bad = sum('KolmoB' in line for line in lines)\n"
        "print('private' if word == 'private' else f'{len(lines)} items, {bad} disagreements')\nsys.exit(bool(bad))\n"
    )
    assert chaosbench(*flags) == (0, "private\n")
    (tmp_path / "out" / "mine.txt").touch()
    assert chaosbench(*flags)[0] == 5, "a folder that holds something else stays as it is"
    assert chaosbench("private")[0] == 2
    monkeypatch.setenv("CHAOSBENCH_PRIVATE_KEY", "k" * 32)
    assert chaosbench("private") == (0, "private\n")
    records = [one for one in fair() if one["stratum"] == "textbook" or one["system_id"] != "kolmo1"]
    gates = {gate.gate: gate for gate in content_gates(placed(records)) if gate.gate in NOT_HERE}
    others = sum(one["stratum"] != "textbook" for one in records)
    assert gates["labels again by another way"].passed
    assert gates["labels again by another way"].detail == f"{others} items, 0 disagreements"
    assert not gates["textbook results by a second source"].passed


def test_numbers_and_signs_make_two_questions_of_one_sentence() -> None:
    pairs = (
        ("With a = 0.125, is the Mira system chaotic?", "With a = 1.25, is the Mira system chaotic?"),
        ("Is x' = x - y so?", "Is x' = x + y so?"),
    )
    for one, other in pairs:
        records: list[Record] = [{**record(1), "question": one}, {**record(2), "question": other}]
        assert not {"exact duplicates", "near duplicates"} & failed(records)


def test_pairs_of_sets_that_are_alike_are_all_found() -> None:
    rng = np.random.default_rng(5)
    sets = [frozenset(f"w{n}" for n in rng.choice(12, size=rng.integers(1, 9), replace=False)) for _ in range(150)]
    for least in (0.5, 0.8, 1.0):
        wanted = {
            (i, j) for j in range(len(sets)) for i in range(j)
            if len(sets[i] & sets[j]) >= least * len(sets[i] | sets[j])
        }  # fmt: skip
        assert set(alike(sets, least)) == wanted
    assert wanted


def test_a_near_copy_is_in_another_bundle_and_a_near_duplicate_has_the_same_numbers() -> None:
    base = {"question": f"Is 0.5 in {WORDS} so?", "system_id": "s", "pair": "a", "group": "a"}
    other = {"question": f"Is 0.5 in {WORDS} then?", "pair": "b", "group": "b"}
    rows: list[Record] = [{**record(1), **base}, {**record(2), **base, **other}]
    assert near_pairs(rows) == [(rows[0]["id"], rows[1]["id"], True)]
    rows[1]["question"] = str(rows[0]["question"]).replace("0.5", "0.75")
    assert near_pairs(rows) == [(rows[0]["id"], rows[1]["id"], False)]
    rows[1]["pair"] = "a"
    assert near_pairs(rows) == []


@pytest.mark.parametrize(
    ("question", "wrong"),
    [
        ("Is it so?", None),
        ("Take k = 1, ..., 10. Is an hour a unit of the FitzHugh–Nagumo model?", None),
        ("is it so?", "capital"),
        ("Is it so", "full stop"),
        ("Is it? Is it so?", "two question marks"),
        ("Is f(x so?", "bracket"),
        ("Is {name} so?", "placeholder"),
        ("Is it , so?", "out of order"),
        ("Is is it so?", None),
        ("Is it it so?", "stands twice"),
        ("Take x. is it so?", "small letter"),
        ("Is a attractor there?", "before a vowel"),
        ("Is an unit there?", "before a consonant"),
        ("Is StrangeAttractor so?", "identifier"),
    ],
)
def test_mistakes_of_writing_are_seen(question: str, wrong: str | None) -> None:
    found = mistake(question)
    assert found is None if wrong is None else wrong in str(found)


def test_names_are_learned_where_nothing_states_them() -> None:
    records: list[Record] = [
        {"id": f"{n}{at}", "question": text, "system_id": f"sys{n}"}
        for n, name in enumerate(("Hopf-7 ring (slow)", "Duff box", "Mira engine"))
        for at, text in enumerate((f"Is the {name} fast?", f"Given {name} at 0.3, does it stop?", f"Can {name} run?"))
    ]
    assert masked(records) == ["is the □ fast?", "given □ at #, does it stop?", "can □ run?"] * 3


def plain(count: int = 480) -> list[Record]:
    """Short sentences about twenty systems, which say the same of each."""
    return [
        {
            **record(n),
            "question": f"Is the Kolmo{chr(65 + n % 20)} oscillator {('chaotic', 'bounded')[n // 20 % 2]}?",
            "system_id": f"kolmo{n % 20}",
            "template": f"T{n // 20 % 2}",
        }
        for n in range(count)
    ]


def test_a_label_that_follows_from_the_sentence_is_found_and_one_of_the_system_is_not() -> None:
    records = plain()
    for n, one in enumerate(records):
        one["ground_truth"] = "TRUE" if n // 20 % 2 else "FALSE"
    found = {entry.name: entry for entry in majorities(records)}
    assert [entry.overall["balanced_accuracy"].value for entry in found.values()] == [1.0, 1.0]
    assert not any(entry.as_gate().passed for entry in found.values())
    for n, one in enumerate(records):
        one["ground_truth"] = "TRUE" if n % 20 % 2 else "FALSE"
    assert all(entry.as_gate().passed for entry in majorities(records))
    notes = {entry.name: entry.note for entry in majorities([record(0), record(12)])}
    assert "fewer than two systems" in notes["template majority, system masked"]


def run(records: list[Record]) -> dict[str, Shortcut]:
    return {attack.name: attack for attack in attacks(records)}


@pytest.fixture(scope="module")
def on_fair() -> dict[str, Shortcut]:
    return run(fair(100))


def test_a_fair_set_stands_every_attack(on_fair: dict[str, Shortcut]) -> None:
    assert {name: attack.as_gate().detail for name, attack in on_fair.items() if not attack.as_gate().passed} == {}
    assert len(on_fair) == 18
    cells = on_fair["numbers, groups held out"].cells
    assert {"all", "family atomic", "stratum data", "kind data kind1"} <= set(cells)
    assert "clustered" in cells["all"].method or cells["all"].lo is not None


def _size(one: Record) -> str:
    return f", for n = {1.5 if one['ground_truth'] == 'TRUE' else 2.5}"


def _decimals(one: Record) -> str:
    return f", for n = {coin(one['id']):.{3 if one['ground_truth'] == 'TRUE' else 2}f}"


def _word(one: Record) -> str:
    return ", surely" if one["ground_truth"] == "TRUE" else ", perhaps"


def _denial(one: Record) -> str:
    return ", and never so" if one["ground_truth"] == "FALSE" else ""


@cache
def on_leak(leak: Callable[[Record], str]) -> dict[str, Shortcut]:
    """A leak in all items, which are of two kinds only: five times as fast as in ten."""
    records = fair(40)
    for one in records:
        one |= {"question": str(one["question"]).replace("?", f"{leak(one)}?"), "stratum": "data"}
    return run(records)


@pytest.mark.parametrize(
    ("leak", "attack"),
    [
        (_size, "numbers"),
        (_size, "words 1-3"),
        (_decimals, "numbers"),
        (_decimals, "all of these"),
        (_denial, "order and length"),
        (_word, "words 1-3"),
    ],
)
def test_a_planted_leak_fails_its_gates_however_it_was_held_out(leak: Callable[[Record], str], attack: str) -> None:
    found = on_leak(leak)
    for how in validate.HELD_OUT:
        gate = found[f"{attack}, {how}"].as_gate()
        assert not gate.passed
        assert f"above {validate.LIMIT}" in gate.detail


def test_a_leak_in_one_kind_is_seen_where_the_whole_would_hide_it(monkeypatch: pytest.MonkeyPatch) -> None:
    models, records = validate._models, fair(100)
    monkeypatch.setattr(validate, "_models", lambda own: {"numbers": models(own)["numbers"]})  # the others take long
    for one in records:
        is_leak = one["kind"] == "kind1" and one["stratum"] == "data"
        number = 1.5 if coin(one["id"]) < 0.5 else 2.5
        one["question"] = str(one["question"]).replace("?", f"{_size(one) if is_leak else f', for n = {number}'}?")
    attack = run(records)["numbers, bundles held out"]
    assert "kind data kind1" in attack.as_gate().detail
    assert (attack.cells["all"].value or 1.0) < validate.LIMIT + 0.05


def test_questions_of_other_splits_are_no_answer_to_a_nearest_neighbour() -> None:
    records = fair(80)
    for n, one in enumerate(records):
        # Twins across splits: the same rare words with the same label, and with the opposite one.
        one["question"] = f"Is word{n // 4 % 20}{'a' if one['ground_truth'] == 'TRUE' else 'b'} so at last?"
        one |= {"split": "train" if n < len(records) / 2 else "test", "group": one["pair"], "stratum": "data"}
    found = run(records)
    assert not found["nearest question, train to test"].as_gate().passed
    for one in records:
        if one["split"] == "test":
            one["ground_truth"] = "TRUE" if one["ground_truth"] == "FALSE" else "FALSE"
    assert not run(records)["opposite of the nearest question, train to test"].as_gate().passed


class Spy:
    """A classifier that remembers what it learned from and what it was asked; its tables hold the items themselves."""

    def __init__(self, seen: list[tuple[list[Record], list[Record]]]) -> None:
        self.seen = seen

    def fit(self, rows: npt.NDArray[np.object_], _labels: object) -> Spy:
        self.learned: list[Record] = rows.tolist()
        return self

    def predict(self, rows: npt.NDArray[np.object_]) -> npt.NDArray[np.float64]:
        self.seen.append((self.learned, rows.tolist()))
        return np.zeros(len(rows))


def test_no_bundle_is_on_both_sides_of_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[Record], list[Record]]] = []
    spied = lambda records: {validate.ATTACKS[0]: (Spy(seen), np.array(records, dtype=np.object_))}  # noqa: E731
    monkeypatch.setattr(validate, "_models", spied)
    records = fair(30)
    records[0]["group"] = "g1"  # one bundle in two groups
    found = run(records)
    for learned, asked in seen:
        assert not {one["pair"] for one in learned} & {one["pair"] for one in asked}
    assert all(found[f"words 1-3, {how}"].cells["all"].n == len(records) for how in validate.HELD_OUT[:2])
    assert 0 < found["words 1-3, train to test"].cells["all"].n <= sum(one["split"] == "test" for one in records)


def test_items_of_others_are_attacked_too_and_without_the_library_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = [{key: value for key, value in one.items() if key not in ("pair", "group", "split")} for one in fair(30)]
    for one in bare:
        one |= {"question": str(one["question"]).replace("?", f"{_word(one)}?"), "stratum": "data"}
    found = run(bare)
    assert not any(found[f"words 1-3, {how}"].as_gate().passed for how in validate.HELD_OUT)
    assert found["words 1-3, groups held out"].cells["all"].value == 1.0
    assert found["words 1-3, train to test"].note == "cannot run: no item could be held out"
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    assert {attack.note for attack in attacks(fair(6))} == {validate.INSTALL}
    assert not any(attack.as_gate().passed for attack in attacks(fair(6)))


def test_numbers_are_read_as_they_are_written() -> None:
    assert numbers_in("At x1 = −0.50 and k = 3, is it 1e-3 or x2?") == ["-0.50", "3", "1e-3"]
