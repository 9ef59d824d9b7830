"""The verb probes: correct on load, covering the grid, in no training text; and each bad input is named."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import perpend
from perpend.ask.task import make_task
from perpend.errors import DataError
from perpend.ledger.items import check_freeze, load_items, read_items
from perpend.models.base import BLANK
from perpend.proof.audit import audit_run
from perpend.studies.verbs.build import ITEMS, build
from perpend.studies.verbs.domains import DOMAINS, PERSONS, TENSES, TRICKS, VERBS, check_probe
from perpend.studies.verbs.probes import (
    ADVERSARIAL,
    CORE,
    CORPUS,
    HELDOUT,
    check_leaks,
    leaks,
    load_heldout,
)
from perpend.studies.verbs.study import FOLDER
from perpend.types import Item

GOOD = json.loads(CORE.read_text(encoding="utf-8").splitlines()[0])


def every() -> list[tuple[str, Item]]:
    return [*read_items(CORE), *read_items(ADVERSARIAL)]


def tags(path: Path, *names: str) -> list[tuple[str, ...]]:
    return [tuple(item.tags[name] for name in names) for item in load_items([path])]


def test_every_cell_of_the_grid_has_a_core_probe_and_every_verb_and_tense_both_languages() -> None:
    cells = {(v, t) for v in VERBS for t in TENSES}
    assert set(tags(CORE, "verb", "tense", "person")) == {(*cell, person) for cell in cells for person in PERSONS}
    assert set(tags(CORE, "verb", "tense", "language")) == {(*cell, code) for cell in cells for code in ("en", "es")}
    assert len(tags(CORE)) >= 120


def test_every_trick_has_six_probes_or_more_in_both_languages() -> None:
    tricks = Counter(tags(ADVERSARIAL, "reason_code"))
    assert {trick for (trick,) in tricks} == set(TRICKS)
    assert min(tricks.values()) >= 6
    assert set(tags(ADVERSARIAL, "reason_code", "language")) == {(t, c) for t in TRICKS for c in ("en", "es")}
    assert all(explanation for (explanation,) in tags(ADVERSARIAL, "explanation"))


def test_each_packaged_probe_states_every_field_has_one_blank_and_is_in_the_file_of_its_category() -> None:
    for where, item in every():
        check_probe(item, where, {})
        assert set(DOMAINS) <= set(item.tags), where
        assert item.prompt.count(BLANK) == 1, where
        assert item.target in item.choices, where
    for path in (CORE, ADVERSARIAL):
        assert set(tags(path, "category")) == {(path.stem,)}


def test_candidate_sets_of_two_three_and_four_all_occur() -> None:
    sizes = Counter(len(item.choices) for item in load_items([CORE]))
    assert set(sizes) == {2, 3, 4}
    assert min(sizes.values()) >= 50


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_expected_form_stands_in_no_favourite_place(size: int) -> None:
    places = Counter(p.choices.index(p.target or "") for p in load_items([CORE]) if len(p.choices) == size)
    assert max(places.values()) < 1.5 * sum(places.values()) / size


def test_ids_and_sentences_are_unique_over_both_files() -> None:
    probes = load_items([CORE, ADVERSARIAL])
    assert len({probe.id for probe in probes}) == len({probe.prompt for probe in probes}) == len(probes)


def test_a_probe_becomes_an_item_with_its_fields_as_tags() -> None:
    row, item = json.loads(ADVERSARIAL.read_text(encoding="utf-8").splitlines()[0]), load_items([ADVERSARIAL])[0]
    assert (item.id, item.prompt, item.target, list(item.choices)) == (
        *map(row.get, ("id", "prompt")),
        "went",
        row["candidates"],
    )
    assert item.tags["reason_code"] == "over_regularization"
    assert item.tags["candidates"] == "3"
    assert {"language", "verb", "regularity", "tense", "person", "label", "category", "source"} <= set(item.tags)


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
    (leak,) = leaks(every(), corpus)
    assert (leak.id, leak.where, leak.line, len(leak.sha256)) == (GOOD["id"], f"{CORE}:1", 2, 64)
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
    assert [item.id for item in items] == [probe.id for _, probe in every()]
    (message,) = task.conditions[0].render(items[0])
    assert (message.role, message.content) == ("user", items[0].prompt)
    run = perpend.evaluate(task, [perpend.model("ngram/early")], out=tmp_path, max_items=20, quiet=True)
    assert run["confidence"].where(condition="blank").mean().n > 15
    assert audit_run(next(tmp_path.iterdir())).ok
