"""Questions that follow from stated equations by hand: right, read again by another way, and not to be guessed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from perpend.errors import DataError
from perpend.stats.gate import FloatArray
from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.grammar import mistake
from perpend.studies.logic.chaos.questions.reason import definitions
from perpend.studies.logic.chaos.questions.reason.bundles import base_facts, bundles
from perpend.studies.logic.chaos.questions.reason.facts import BaseFact
from perpend.studies.logic.chaos.questions.reason.layouts import (
    CLAIMS,
    NAMED_SETTINGS,
    PLAIN,
    SETTINGS,
    TURNED,
    WHOLE,
)  # fmt: skip
from perpend.studies.logic.chaos.questions.reason.named import read_polynomials
from perpend.studies.logic.chaos.questions.reason.poly import Poly, plain
from perpend.studies.logic.chaos.questions.reason.reading import read_system
from perpend.studies.logic.chaos.questions.reason.relabel import clause_truth, relabel, text_truth
from perpend.studies.logic.chaos.questions.reason.remarks import DENIALS
from perpend.studies.logic.chaos.questions.reason.stability import verdict
from perpend.studies.logic.chaos.questions.world import Sources, sources
from perpend.studies.logic.chaosbench.boosting import binned, boosted

KINDS = {"divergence", "symmetry", "fixed_point", "stability", "form"}
LORENZ = "dx/dt = 10 y - 10 x, dy/dt = 28 x - y - x z, dz/dt = x y - 2.5 z"
STATES = "(x, y, z) = (0, 0, 0)"


@pytest.fixture(scope="module")
def world() -> Sources:
    return sources()


@pytest.fixture(scope="module")
def made(world: Sources) -> list[tuple[Draft, ...]]:
    return list(bundles(world))


@pytest.fixture(scope="module")
def facts(world: Sources) -> list[BaseFact]:
    return list(base_facts(world))


def test_there_are_enough_items_and_every_bundle_is_a_square_of_systems_and_statements(
    made: list[tuple[Draft, ...]],
) -> None:
    drafts = [draft for bundle in made for draft in bundle]
    assert len(drafts) >= 4000
    counts = Counter(draft.kind for draft in drafts)
    assert set(counts) == KINDS
    assert min(counts.values()) >= 500
    assert Counter(draft.family for draft in drafts)["extended_systems"] >= 800
    assert {draft.grade for draft in drafts} == {1, 2, 3, 4, 5}
    assert len({draft.question for draft in drafts}) == len(drafts)
    assert len({bundle[0].pair for bundle in made}) == len(made)
    for bundle in made:
        assert sum(draft.label for draft in bundle) == len(bundle) // 2 == 2
        assert len({draft.pair for draft in bundle}) == len({draft.system_id for draft in bundle}) == 1


def test_the_writing_has_no_mistakes_and_names_the_system(made: list[tuple[Draft, ...]]) -> None:
    wrong = [
        (draft.question, said) for b in made for draft in b if (said := mistake(draft.question, draft.system_name))
    ]
    assert wrong == []


def test_there_are_many_sentence_frames(made: list[tuple[Draft, ...]]) -> None:
    frames = defaultdict(set)
    for draft in (draft for bundle in made for draft in bundle):
        words = re.sub(r"\S*[\d=^>()'\[\]]\S*|\b[a-z]\b", "#", read_system(draft.question).rest)
        frames[draft.family].add(re.sub(r"(?:[-+,.;:]|#|\s)+", " ", words))
    assert len(frames["atomic"]) >= 2000
    assert len(frames["extended_systems"]) >= 900


def test_a_statement_about_both_systems_is_laid_out_alike(made: list[tuple[Draft, ...]]) -> None:
    for bundle in made:
        for one, other in (bundle[:2], bundle[2:]):
            assert one.label is not other.label
            assert (one.form, one.polarity) == (other.form, other.polarity)


RIGHT = "the divergence of the vector field is -13.5 at every point"
"""A truth about the equations below, and a denial that is false."""
WRONG = f"the fixed point at {STATES} does not count as unstable"


@pytest.mark.parametrize(("claim", "truth"), [(RIGHT, True), (WRONG, False)])
def test_every_layout_is_well_written_and_read_again(claim: str, truth: bool) -> None:
    for frame in (frame for some in CLAIMS.values() for frame in some):
        question = f"Consider the flow {LORENZ}. {frame.format(claim=claim)}"
        assert mistake(question) is None, question
        assert text_truth(question) is (truth != (frame in TURNED)), question
    for frame in WHOLE:
        question = frame.format(noun="flow", eq=LORENZ, claim=claim)
        assert mistake(question) is None, question
        assert text_truth(question) is truth, question


def test_every_setting_is_well_written_and_read_again() -> None:
    words = {"noun": "flow", "one": "a flow", "eq": LORENZ, "name": "Lorenz system", "values": "a = 1, b = 2.5"}
    for frame in (*SETTINGS, *PLAIN, *NAMED_SETTINGS):
        question = f"{frame.format(**words)} Is it true that {RIGHT}?"
        assert mistake(question) is None, question
        assert text_truth(question), question


def test_every_definition_is_well_written_and_set_aside() -> None:
    told = [getattr(definitions, name) for name in dir(definitions) if name.isupper() and name[0] != "_"]
    sets = [those for told_one in told for those in (told_one.values() if isinstance(told_one, dict) else (told_one,))]
    sentences = [sentence for those in sets for sentence in those if sentence]
    assert len(sentences) > 300
    for sentence in sentences:
        assert mistake(sentence) is None, sentence
        assert text_truth(f"{sentence} Consider the flow {LORENZ}. Is it true that {RIGHT}?"), sentence
        assert not text_truth(f"Consider the flow {LORENZ}. {sentence} Is it true that {WRONG}?"), sentence


def test_the_text_alone_gives_the_same_labels(made: list[tuple[Draft, ...]], world: Sources) -> None:
    # The whole set is read by `chaosbench validate`.
    for draft in (draft for bundle in made[::4] for draft in bundle):
        assert relabel({"question": draft.question}, world) is draft.label, draft.question


def test_a_label_that_was_turned_by_hand_is_seen(made: list[tuple[Draft, ...]], world: Sources) -> None:
    for kind in sorted(KINDS):
        draft = next(bundle[0] for bundle in made if bundle[0].kind == kind)
        planted = replace(draft, label=not draft.label).as_record("planted", "test")
        assert ("TRUE" if relabel(planted, world) else "FALSE") != planted["ground_truth"]


@pytest.mark.parametrize(
    ("claim", "truth"),
    [
        ("the divergence of the vector field is -13.5 at every point", True),
        ("the divergence of the vector field is not -13.5", False),
        ("small volumes carried along by the flow change in proportion to exp(-12.5 t)", False),
        ("small volumes shrink at every point of state space", True),
        ("there are points at which small volumes do not shrink", False),
        ("the flow preserves volumes", False),
        ("the equations keep their form under (x, y, z) -> (-x, -y, z)", True),
        ("the equations keep their form under (x, y, z) -> (-x, y, -z)", False),
        ("changing the signs of x and y together does not leave the equations unchanged", False),
        ("exchanging x and y leaves the equations unchanged", False),
        ("the equations keep their form under (x, y, z, t) -> (-x, -y, z, -t)", False),
        (f"{STATES} is a fixed point", True),
        (f"the fixed point at {STATES} is stable", False),
        (f"some small disturbances of the fixed point at {STATES} grow", True),
        (f"all eigenvalues of the Jacobian matrix at {STATES} are real", True),
        (f"the Jacobian matrix at {STATES} has no eigenvalues off the real axis", True),
        ("(x, y, z) = (1, 1, 27) is a fixed point", False),
        ("the plane z = 0 is invariant", False),
        ("x and y evolve independently of z", False),
        ("the quantity x^2 - 20 z stays constant along every solution", False),
        ("the rate of change of x depends explicitly on the time t", False),
        ("the equation for x is linear", True),
        ("the equation for y is linear", False),
    ],
)
def test_known_truths_of_the_lorenz_system_are_read(claim: str, truth: bool) -> None:
    assert clause_truth(f"Consider the flow {LORENZ}.", claim) is truth
    assert text_truth(f"Consider the flow {LORENZ}. Would it be wrong to say that {claim}?") is not truth


@pytest.mark.parametrize(
    ("question", "truth"),
    [
        ("Take the map x -> 3.2 x - 3.2 x^2. True or false: x = 0 is a fixed point.", True),
        ("Take the map x -> 1 - x^2. True or false: the map exchanges x = 0 and x = 1.", True),
        ("Take the map x -> 1 - x^2. True or false: the map exchanges x = 0 and x = 2.", False),
        ("Take the flow x' = v, v' = x - x^3 - v. Is it true that there are exactly three real fixed points?", True),
        ("Take the flow x' = v, v' = -x - x^3 - v. Is it true that there are exactly three real fixed points?", False),
        ("Take the flow x' = v, v' = x^3 - x. Is it true that 2 v^2 + 2 x^2 - x^4 is conserved?", True),
        ("Take the flow x' = v, v' = x^3 - x. Is it true that 2 v^2 - 2 x^2 + x^4 is conserved?", False),
        ("Take the map x -> 1 - 1.4 x^2 + y, y -> 0.3 x. Is it true that |det J| = 0.3 at every point?", True),
        ("Take the map x -> 1 - 1.4 x^2 + y, y -> 0.3 x. Is it true that |det J| = 1.4 at every point?", False),
    ],
)
def test_known_truths_of_small_systems_are_read(question: str, truth: bool) -> None:
    assert text_truth(question) is truth


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("Is it true that the system is stable?", "no equation"),
        ("Take the flow x' = 2 x. Is it true that the moon is blue?", "no claim"),
        ("Take the flow x' = 2 x, x' = 3 x. Is it true that x = 0 is a fixed point?", "two equations"),
        ("Take x' = 2 x, y[n+1] = 3. Is it true that the flow preserves areas?", "mixed"),
        ("Take the flow x' = (2 x. Is it true that x = 0 is a fixed point?", "bracket"),
        ("Take the flow x' = 2 - x. Is it true that the fixed point at x = 1 is stable?", "no fixed point"),
        ("Take the flow x' = -x^3. Is it true that the fixed point at x = 0 is stable?", "border"),
        ("Take the flow x' = x. Is it not true that x = 0 is not a fixed point?", "more than one denial"),
        ("Take x' = y, y' = x. Is it true that (x, z) = (0, 0) is a fixed point?", "does not fit"),
    ],
)
def test_what_cannot_be_read_is_an_error(question: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        text_truth(question)


def test_a_change_of_one_number_in_the_equations_turns_the_label_that_is_read() -> None:
    right = f"Consider the flow {LORENZ}. Is it true that the divergence of the vector field is -13.5 at every point?"
    assert text_truth(right)
    assert not text_truth(right.replace("2.5 z", "2.6 z"))
    assert not text_truth(right.replace("- 10 x", "+ 10 x"))


def test_blocks_on_the_border_of_stability_are_not_decided() -> None:
    one, two = Fraction(1), Fraction(2)
    assert verdict([[Fraction(0)]], "flow") is None
    assert verdict([[-one]], "map") is None
    assert verdict([[Fraction(0), one], [-one, Fraction(0)]], "flow") is None
    assert verdict([[Fraction(0), one], [-one, Fraction(0)]], "turning") is True
    assert verdict([[-one, two], [-two, -one]], "flow") is True
    assert verdict([[one, two], [two, one]], "flow") is False
    assert verdict([[one / 2, one], [Fraction(0), -one / 2]], "map") is True


def test_polynomials_are_exact() -> None:
    x, wave = Poly.variable("x"), Poly.variable("cos(2 x)")
    assert (x.power(3) * wave).slope("x").at({"x": Fraction(0)}) == 0
    assert (x * wave).slope("x").at({"x": Fraction(0)}) == 1
    assert x.power(2).times(Fraction(1, 2)).at({"x": Fraction(3)}) == Fraction(9, 2)
    with pytest.raises(DataError, match="no fraction"):
        wave.at({"x": Fraction(1)})
    assert [plain(Fraction(n, 10)) for n in (-5, 10, 25)] == ["-0.5", "1", "2.5"]
    with pytest.raises(DataError, match="three decimals"):
        plain(Fraction(1, 3))


def test_equations_of_named_systems_are_read_exactly_or_not_at_all(world: Sources) -> None:
    sides = read_polynomials(world.systems["lorenz63"])
    assert sides is not None
    assert sides[0].terms == {(("sigma", 1), ("y", 1)): 1, (("sigma", 1), ("x", 1)): -1}
    assert read_polynomials(world.systems["gauss_map"]) is None
    assert read_polynomials(world.systems["mackey_glass"]) is None


def test_base_facts_come_in_squares_about_systems_of_no_item(
    facts: list[BaseFact], made: list[tuple[Draft, ...]]
) -> None:
    assert len(facts) >= 600
    by_name = {fact.name: fact for fact in facts}
    assert len(by_name) == len(facts)
    for fact in facts:
        partner, twin = by_name[fact.partner], by_name[fact.twin]
        assert partner.pair == twin.pair == fact.pair
        assert partner.label is twin.label is not fact.label
        assert (partner.says, partner.definition) == (fact.says, fact.definition)
        assert _equations(twin.setting) == _equations(fact.setting) != _equations(partner.setting)
        assert len(fact.says) == len(fact.denies) >= 8
    assert set(Counter(fact.pair for fact in facts).values()) == {4}
    items = {_equations(draft.question) for bundle in made for draft in bundle}
    assert not items & {_equations(fact.setting) for fact in facts}


def _equations(text: str) -> tuple[tuple[str, ...], str]:
    system = read_system(text)
    values = system.values(np.arange(1, 1 + len(system.names)) / 7)
    return system.names, np.array2string(values, precision=6)


def test_every_wording_of_a_base_fact_is_decided_by_its_text(facts: list[BaseFact]) -> None:
    for fact in facts[::5]:
        for clause in fact.says:
            assert clause_truth(fact.setting, clause) is fact.label, clause
        for clause in fact.denies:
            assert clause_truth(fact.setting, clause) is not fact.label, clause


def test_a_wording_that_denies_has_one_word_of_denial_and_a_wording_that_says_has_none(facts: list[BaseFact]) -> None:
    for fact in facts:
        assert [clause for clause in fact.says if _denials(clause) != 0] == []
        assert [clause for clause in fact.denies if _denials(clause) != 1] == []


def _denials(clause: str) -> int:
    return sum(word in DENIALS for word in re.findall(r"[a-z]+", clause))


def test_another_key_gives_other_questions_and_the_same_key_the_same(
    made: list[tuple[Draft, ...]], world: Sources
) -> None:
    private = Sources({}, {}, Chance("another key"))
    fresh = [draft for bundle in bundles(private) for draft in bundle]
    assert not {draft.question for draft in fresh} & {draft.question for bundle in made for draft in bundle}
    again = bundles(world)
    assert [next(again) for _ in range(5)] == made[:5]


def _seen(question: str) -> list[float]:
    """What someone sees who reads no equation: numbers in order, extremes, signs, lengths, a few words."""
    numbers = [float(n.replace(" ", "")) for n in re.findall(r"(?<![\w.])-? ?\d+(?:\.\d+)?", question)]
    front, back = [*numbers, *[np.nan] * 8][:8], [*numbers[::-1], *[np.nan] * 6][:6]
    known = np.array(numbers or [0.0])
    signs = [question.count(mark) for mark in ("-", " - ", "+", "^", "^3", ",", "(", "sin", "cos", "->")]
    words = (
        "not",
        "no",
        "grow",
        "shrink",
        "stable",
        "unstable",
        "negative",
        "positive",
        "real",
        "wrong",
        "false",
        "all",
    )
    extremes = [known.sum(), np.abs(known).sum(), known.max(), known.min(), known.mean(), (known < 0).sum()]
    places = [known.argmax(), known.argmin(), len(known), sum(n == numbers[-1] for n in numbers) if numbers else 0]
    counted = [len(re.findall(rf"\b{word}\b", question)) for word in words]
    return [float(v) for v in (*front, *back, *signs, *extremes, *places, *counted, len(question))]


def _guessed(drafts: list[Draft]) -> float:
    """Balanced accuracy of boosted trees on what is seen, with whole pairs held out."""
    bins = binned(np.array([_seen(draft.question) for draft in drafts]))
    truth: FloatArray = np.array([float(draft.label) for draft in drafts])
    pairs = sorted({draft.pair for draft in drafts})
    fold = np.array([pairs.index(draft.pair) % 5 for draft in drafts])
    answers = np.zeros(len(drafts))
    for n in range(5):
        answers[fold == n] = boosted(bins, truth, fold != n, fold == n)
    return float(np.mean([np.mean(answers[truth == label] == label) for label in (0.0, 1.0)]))


def test_no_kind_can_be_guessed_from_numbers_signs_lengths_and_words(made: list[tuple[Draft, ...]]) -> None:
    drafts = [draft for bundle in made for draft in bundle]
    found = {kind: _guessed([draft for draft in drafts if draft.kind == kind]) for kind in sorted(KINDS)}
    assert max(found.values()) <= 0.54, found


def test_the_attack_finds_a_planted_leak(made: list[tuple[Draft, ...]]) -> None:
    drafts = [draft for bundle in made for draft in bundle if draft.kind == "form"]
    leaky = [replace(d, question=d.question.replace("?", ", say?") if d.label else d.question) for d in drafts]
    assert _guessed(leaky) > 0.6
