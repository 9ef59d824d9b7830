"""The verb probes: correct on load, covering the grid, in no training text; and each bad input is named."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import perpend
from perpend.ask.task import make_task
from perpend.errors import DataError
from perpend.ledger.items import check_freeze, load_items
from perpend.proof.audit import audit_run
from perpend.studies.verbs.build import ITEMS, build
from perpend.studies.verbs.domains import PERSONS, TENSES, TRICKS, VERBS
from perpend.studies.verbs.probes import (
    ADVERSARIAL,
    CORE,
    CORPUS,
    HELDOUT,
    Probe,
    as_item,
    check_leaks,
    leaks,
    load_heldout,
    load_probes,
)
from perpend.studies.verbs.study import FOLDER

GOOD = json.loads(CORE.read_text(encoding="utf-8").splitlines()[0])


def every() -> tuple[Probe, ...]:
    return load_probes(CORE) + load_probes(ADVERSARIAL)


def written(folder: Path, *rows: object, name: str = "core.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_every_cell_of_the_grid_has_a_core_probe_and_every_verb_and_tense_both_languages() -> None:
    core = load_probes(CORE)
    assert {(p.verb, p.tense, p.person) for p in core} == {(v, t, p) for v in VERBS for t in TENSES for p in PERSONS}
    assert {(p.verb, p.tense, p.language) for p in core} == {
        (v, t, c) for v in VERBS for t in TENSES for c in ("en", "es")
    }
    assert len(core) >= 120


def test_every_trick_has_six_probes_or_more_in_both_languages() -> None:
    probes = load_probes(ADVERSARIAL)
    assert set(Counter(probe.reason_code for probe in probes)) == set(TRICKS)
    assert min(Counter(probe.reason_code for probe in probes).values()) >= 6
    assert {(probe.reason_code, probe.language) for probe in probes} == {(t, c) for t in TRICKS for c in ("en", "es")}
    assert all(probe.explanation for probe in probes)


def test_candidate_sets_of_two_three_and_four_all_occur() -> None:
    sizes = Counter(len(probe.candidates) for probe in load_probes(CORE))
    assert set(sizes) == {2, 3, 4}
    assert min(sizes.values()) >= 50


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_expected_form_stands_in_no_favourite_place(size: int) -> None:
    places = Counter(p.candidates.index(p.expected) for p in load_probes(CORE) if len(p.candidates) == size)
    assert max(places.values()) < 1.5 * sum(places.values()) / size


def test_ids_and_sentences_are_unique_over_both_files() -> None:
    probes = every()
    assert len({probe.id for probe in probes}) == len({probe.prompt for probe in probes}) == len(probes)


def test_a_probe_becomes_an_item_with_its_fields_as_tags() -> None:
    probe = load_probes(ADVERSARIAL)[0]
    item = as_item(probe)
    assert (item.id, item.prompt, item.target, item.choices) == (probe.id, probe.prompt, "went", probe.candidates)
    assert item.tags["reason_code"] == "over_regularization"
    assert item.tags["candidates"] == "3"
    assert {"language", "verb", "regularity", "tense", "person", "label", "category", "source"} <= set(item.tags)


BAD: dict[str, tuple[dict[str, object], str]] = {
    "expected form not among candidates": ({"expected": "wrok"}, "not among its candidates"),
    "unknown reason_code": ({"reason_code": "bare_from"}, "did you mean 'bare_form'"),
    "unknown language": ({"language": "fr"}, "unknown language 'fr'"),
    "unknown verb": ({"verb": "sing"}, "unknown verb 'sing'"),
    "unknown tense": ({"tense": "past"}, "unknown tense 'past'"),
    "unknown person": ({"person": "1pl"}, "unknown person '1pl'"),
    "unknown label": ({"label": "right"}, "unknown label 'right'"),
    "regularity of another verb": ({"regularity": "irregular"}, "'work' is regular"),
    "adversarial in the core file": ({"category": "adversarial", "reason_code": TRICKS[0]}, "holds core probes only"),
    "adversarial without a trick": ({"category": "adversarial"}, "names its trick"),
    "no blank": ({"prompt": "I need to work."}, "exactly once"),
    "two blanks": ({"prompt": "I ___ to ___."}, "exactly once"),
    "a longer blank": ({"prompt": "I need to ____."}, "exactly once"),
    "one candidate": ({"candidates": ["work"]}, "two or more different"),
    "a candidate twice": ({"candidates": ["work", "Work"]}, "two or more different"),
    "candidates as a text": ({"candidates": "work works"}, "must be a list"),
    "half a surrogate pair": ({"candidates": ["work", "\ud800"]}, "surrogate"),
    "half a surrogate pair in a text": ({"explanation": "\ud800"}, "surrogate"),
    "a blank candidate": ({"candidates": ["work", " "]}, "must be a list"),
    "an unknown field": ({"expectd": "work"}, "did you mean 'expected'"),
    "a number for an id": ({"id": 7}, "must be a string"),
    "an empty prompt": ({"prompt": " "}, "missing or blank"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_probe_is_an_error_that_names_file_and_line(case: str, tmp_path: Path) -> None:
    change, message = BAD[case]
    path = written(tmp_path, {**GOOD, "id": "first"}, {**GOOD, **change})
    with pytest.raises(DataError, match=r"core\.jsonl:2: ") as caught:
        load_probes(path)
    assert message in str(caught.value)


def test_a_missing_field_a_duplicated_id_and_broken_json_are_named_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"core\.jsonl:1: 'verb' is missing"):
        load_probes(written(tmp_path, {key: value for key, value in GOOD.items() if key != "verb"}))
    with pytest.raises(DataError, match=r"core\.jsonl:2: id .* line 1 already"):
        load_probes(written(tmp_path, GOOD, GOOD))
    with pytest.raises(DataError, match=r"core\.jsonl:1: a JSON object was expected"):
        load_probes(written(tmp_path, [1]))
    path = tmp_path / "core.jsonl"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"core\.jsonl:1: not JSON"):
        load_probes(path)
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match="no probes"):
        load_probes(path)
    path.write_bytes(b"\xff")
    with pytest.raises(DataError, match="not UTF-8"):
        load_probes(path)
    with pytest.raises(DataError, match="no such file"):
        load_probes(tmp_path / "absent.jsonl")


def test_a_core_probe_in_the_adversarial_file_is_an_error_unless_the_category_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD, name="my_adversarial.jsonl")
    with pytest.raises(DataError, match="holds adversarial probes only"):
        load_probes(path)
    assert len(load_probes(path, category="core")) == 1


def test_no_probe_stands_in_the_corpus_or_in_the_held_out_text() -> None:
    assert leaks(every(), CORPUS) == []
    assert leaks(every(), HELDOUT) == []


@pytest.mark.parametrize(
    "line",
    [
        "I need to work late tonight.",
        "He said: “I NEED to  work, late tonight” – again.",
        "Ok. I need to work late tonight!",
    ],
)
def test_a_planted_leak_is_found_whatever_its_case_marks_and_neighbours(line: str, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(f"Something else.\n{line}\n", encoding="utf-8")
    probe = load_probes(CORE)[0]
    (leak,) = leaks(every(), corpus)
    assert (leak.id, leak.where, leak.line, len(leak.sha256)) == (probe.id, probe.where, 2, 64)
    with pytest.raises(DataError, match=r"core\.jsonl:1: probe .* is at .*corpus\.txt:2"):
        check_leaks(every(), corpus)


def test_the_same_sentence_with_another_form_is_no_leak(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("I need to works late tonight.\nI need to work late tonight or tomorrow", encoding="utf-8")
    assert [leak.line for leak in leaks(every(), corpus)] == [2]


def test_what_is_derived_is_what_the_script_writes(tmp_path: Path) -> None:
    build(tmp_path, tmp_path / "corpus.txt")
    for path in tmp_path.iterdir():
        there = CORPUS if path.name == "corpus.txt" else FOLDER / path.name
        assert path.read_bytes() == there.read_bytes(), "run: python -m perpend.studies.verbs.build"
    check_freeze(FOLDER / "freeze.json", [FOLDER / name for name in ITEMS.values()])


def test_corpus_and_held_out_text_are_disjoint_of_the_stated_size_and_balanced() -> None:
    corpus = CORPUS.read_text(encoding="utf-8").splitlines()
    heldout = load_heldout()
    assert 3000 <= len(corpus) == len(set(corpus)) <= 6000
    assert CORPUS.stat().st_size < 400_000
    assert Counter(language for language, _ in heldout) == {"en": 150, "es": 150}
    assert not {sentence for _, sentence in heldout} & set(corpus)


def test_a_held_out_line_without_its_language_is_named(tmp_path: Path) -> None:
    path = tmp_path / "held.txt"
    path.write_text("en\tFine.\nNo language.\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"held\.txt:2"):
        load_heldout(path)


def test_the_task_asks_the_bare_sentence_and_scores_the_candidates(tmp_path: Path) -> None:
    task = make_task("verbs", {})
    items = load_items(task.items)
    assert [item.id for item in items] == [probe.id for probe in every()]
    (message,) = task.conditions[0].render(items[0])
    assert (message.role, message.content) == ("user", items[0].prompt)
    run = perpend.evaluate(task, [perpend.model("ngram/early")], out=tmp_path, max_items=20, quiet=True)
    assert run["confidence"].where(condition="blank").mean().n > 15
    assert audit_run(next(tmp_path.iterdir())).ok
