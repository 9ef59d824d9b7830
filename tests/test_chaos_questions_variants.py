"""Reworded facts: all variants of a fact agree, and are labelled again from their text."""

from __future__ import annotations

from collections import Counter

import pytest

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.compute.reading import claims_in
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.frames import AFTER
from perpend.studies.logic.chaos.questions.grammar import mistake
from perpend.studies.logic.chaos.questions.variants.base import equations_in
from perpend.studies.logic.chaos.questions.variants.bundles import bundles
from perpend.studies.logic.chaos.questions.variants.relabel import relabel, unframed
from perpend.studies.logic.chaos.questions.variants.voices import (
    BOUNDED,
    CANCELLED,
    DISTRACTORS,
    GENERAL,
    SHRINKING,
    STILL,
    TURNED,
    VOICES,
)
from perpend.studies.logic.chaos.questions.world import Sources, sources

LEAST = {"adversarial": 1000, "consistency_paraphrase": 1200, "perturbation_robustness": 1500}


@pytest.fixture(scope="module")
def world() -> Sources:
    return sources()


@pytest.fixture(scope="module")
def made(world: Sources) -> list[tuple[Draft, ...]]:
    return list(bundles(world))


@pytest.fixture(scope="module")
def drafts(made: list[tuple[Draft, ...]]) -> list[Draft]:
    return [draft for bundle in made for draft in bundle]


def test_families_are_large_enough_and_of_both_strata(drafts: list[Draft]) -> None:
    counts = Counter(draft.family for draft in drafts)
    assert set(counts) == set(LEAST)
    assert all(counts[family] >= least for family, least in LEAST.items())
    for family in LEAST:
        strata = Counter(draft.stratum for draft in drafts if draft.family == family)
        assert set(strata) == {"compute", "reason"}


def test_bundles_are_balanced(made: list[tuple[Draft, ...]]) -> None:
    for bundle in made:
        assert sum(draft.label for draft in bundle) * 2 == len(bundle)
        assert len({draft.pair for draft in bundle}) == 1
    assert len({bundle[0].pair for bundle in made}) == len(made)


def test_variants_of_a_fact_agree(made: list[tuple[Draft, ...]]) -> None:
    for bundle in made:
        family, variants = bundle[0].family, Counter(draft.variant for draft in bundle)
        if family == "consistency_paraphrase":
            assert set(variants) == {"p0", "p1", "p2"}
        elif family == "perturbation_robustness":
            assert set(variants) == {"base", "paraphrase", "negation", "distractor", "format"}
        assert len(set(variants.values())) == 1
        labels = {v: [d.label for d in bundle if d.variant == v] for v in variants}
        base = labels.get("base", labels.get("p0"))
        for variant, own in labels.items():
            if family != "adversarial":
                assert base is not None
                assert own == ([not label for label in base] if variant == "negation" else base)


def test_questions_are_written_without_mistakes_and_none_twice(drafts: list[Draft]) -> None:
    assert [d.question for d in drafts if mistake(d.question, d.system_name)] == []
    assert len({draft.question for draft in drafts}) == len(drafts)


def test_every_label_is_found_again_from_the_text(world: Sources, drafts: list[Draft]) -> None:
    wrong = [d.question for d in drafts[::4] if relabel(d.as_record("x", "test"), world) is not d.label]
    assert wrong == []


def test_a_voice_is_right_as_often_as_wrong(drafts: list[Draft]) -> None:
    for form in ("voice", "against"):
        labels = [draft.label for draft in drafts if draft.form == form]
        assert len(labels) > 100
        assert sum(labels) * 2 == len(labels)


def test_denials_are_as_often_true_as_false(drafts: list[Draft]) -> None:
    for family in LEAST:
        for polarity in (True, False):
            own = [d.label for d in drafts if d.family == family and d.polarity is polarity]
            assert sum(own) * 2 == len(own)


@pytest.mark.parametrize("kind", ["regime", "iterate", "divergence"])
def test_a_negation_around_the_claim_turns_the_label(world: Sources, drafts: list[Draft], kind: str) -> None:
    draft = next(d for d in drafts if d.kind == kind and d.form == "turned")
    form = next(form for form in TURNED if form.partition("{claim}")[0] in draft.question)
    opening, other = form.partition("{claim}")[0], CANCELLED[0].partition("{claim}")[0]
    ending = form.partition("{claim}")[2]
    text = draft.question.replace(opening, other).removesuffix(ending) + "?"
    record = draft.as_record("x", "test")
    assert relabel(record, world) is draft.label
    assert relabel({**record, "question": text}, world) is not draft.label


def test_a_text_with_another_value_is_refused(world: Sources, drafts: list[Draft]) -> None:
    draft = next(draft for draft in drafts if draft.kind == "regime" and " = 2" in draft.question)
    record = {**draft.as_record("x", "test"), "question": draft.question.replace(" = 2", " = 92")}
    with pytest.raises(DataError):
        relabel(record, world)


def test_every_layout_is_found_again() -> None:
    for form in (*(form for forms in AFTER.values() for form in forms), *VOICES, *STILL):
        if "sks}" not in form:
            text = form.format(claim="the origin is a fixed point", Claim="The origin is a fixed point")
            assert unframed(f"Consider the map x -> 2 x. {text}") == (
                "Consider the map x -> 2 x.", "the origin is a fixed point")  # fmt: skip


def test_sentences_beside_the_point_claim_nothing() -> None:
    for sentence in (*DISTRACTORS, *GENERAL, *BOUNDED, *SHRINKING):
        assert mistake(sentence) is None
        assert claims_in(sentence) == []


def test_equations_are_found_in_a_setting() -> None:
    assert equations_in("A model with x' = y - 2 x and y' = -x^3 is studied.") == ("x' = y - 2 x and y' = -x^3", False)
    assert equations_in("Take the map x[n+1] = 2 x[n].") == ("x[n+1] = 2 x[n]", True)


def test_unframed_reads_the_claim() -> None:
    assert unframed("Consider the map x -> 2 x. Is it true that the origin is fixed?") == (
        "Consider the map x -> 2 x.",
        "the origin is fixed",
    )
    with pytest.raises(DataError, match="no known layout"):
        unframed("Nothing is asked here")
