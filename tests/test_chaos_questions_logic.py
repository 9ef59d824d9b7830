"""The logic stratum: balance, the solver that reads only the text, and faults that relabelling must notice."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from perpend.canon import JSON
from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.grammar import mistake
from perpend.studies.logic.chaos.questions.logic.arguments import KINDS, argument
from perpend.studies.logic.chaos.questions.logic.bundles import bundles
from perpend.studies.logic.chaos.questions.logic.relabel import relabel
from perpend.studies.logic.chaos.questions.logic.theory import (
    ANY,
    EITHER,
    IFF,
    GivenRule,
    all_clauses,
    entails,
    satisfiable,
)
from perpend.studies.logic.chaos.questions.world import Sources, sources
from perpend.studies.logic.chaos.solving.truth_table import answer, read

Matrix = NDArray[np.float64]


@pytest.fixture(scope="module")
def world() -> Sources:
    return sources()


@pytest.fixture(scope="module")
def made(world: Sources) -> list[tuple[Draft, ...]]:
    return list(bundles(world))


@pytest.fixture(scope="module")
def items(made: list[tuple[Draft, ...]]) -> list[Draft]:
    return [draft for bundle in made for draft in bundle]


def record(draft: Draft) -> dict[str, JSON]:
    return draft.as_record("logic-0", "test")


def test_families_kinds_and_grades_are_well_filled(items: list[Draft]) -> None:
    families = Counter(draft.family for draft in items)
    assert families["fol_inference"] >= 2400
    assert families["multi_hop"] >= 3600
    assert all(count >= 1000 for count in Counter(draft.kind for draft in items).values())
    grades = Counter(draft.grade for draft in items)
    assert sorted(grades) == [1, 2, 3, 4, 5]
    assert min(grades.values()) >= 800
    assert {draft.extra["hop_count"] for draft in items if draft.family == "fol_inference"} == {"1"}
    assert {draft.extra["hop_count"] for draft in items if draft.family == "multi_hop"} == set("23456")


def test_bundles_are_balanced_and_share_what_does_not_decide(made: list[tuple[Draft, ...]]) -> None:
    assert len({bundle[0].pair for bundle in made}) == len(made)
    for bundle in made:
        assert len(bundle) in (4, 8)
        assert sum(draft.label for draft in bundle) * 2 == len(bundle)
        assert len({(draft.pair, draft.kind, draft.grade) for draft in bundle}) == 1
        for yes, no in zip(bundle[::2], bundle[1::2], strict=True):
            assert (yes.label, no.label, yes.form) == (True, False, no.form)
            assert _rules_of(yes) == _rules_of(no)


def _rules_of(draft: Draft) -> list[str]:
    sentences = re.split(r"(?<=[.?]) (?=[A-Z(\[])", draft.question)
    return [
        sentence for sentence in sentences if read_as_rule(re.sub(r"^(?:[(\[]\d+[)\]]|[A-Z]\w+ \d+:) ", "", sentence))
    ]


def test_questions_are_written_well_and_once(items: list[Draft]) -> None:
    assert len({draft.question for draft in items}) == len(items)
    assert not [(draft.question, wrong) for draft in items if (wrong := mistake(draft.question))]


def test_there_are_many_frames(items: list[Draft]) -> None:
    for family in ("fol_inference", "multi_hop"):
        frames = {_masked(draft.question) for draft in items if draft.family == family}
        assert len(frames) >= 1000


def _masked(question: str) -> str:
    """The question without its rules, facts and names: one mark for any run of statements."""
    kept = []
    for sentence in re.split(r"(?<=[.?]) (?=[A-Z(\[])", question):
        stated = re.match(r"[(\[]|Rule \d", sentence) or read_as_rule(sentence)
        kept.append("#" if stated else re.sub(r"(that|whether|:) .+", r"\1 #", sentence))
    return re.sub(r"(?:# ?)+", "# ", " ".join(kept))


def read_as_rule(sentence: str) -> bool:
    try:
        return bool(read(f"{sentence} Could it be that S is grey?").rules)
    except DataError:
        return False


def test_the_solver_answers_all_from_the_text_alone(items: list[Draft]) -> None:
    wrong = [draft.question for draft in items[::3] if answer(draft.question) is not draft.label]
    assert not wrong


def test_another_key_gives_fresh_questions_that_are_right_too(items: list[Draft], world: Sources) -> None:
    private = Sources(world.records, world.systems, Chance("a key of this test"))
    fresh = [draft for bundle in bundles(private) for draft in bundle]
    assert not {draft.question for draft in items} & {draft.question for draft in fresh}
    assert all(relabel(record(draft), private) is draft.label for draft in fresh[::15])


def test_relabelling_notices_a_flipped_label_and_a_missing_rule(items: list[Draft], world: Sources) -> None:
    """Planted faults: the label, a rule that is gone, a rule that is gone and was counted so, another kind."""
    draft = next(draft for draft in items if draft.kind == "follows" and draft.label and "(1)" in draft.question)
    whole = record(draft)
    assert relabel(whole, world) is True
    flipped = {**whole, "ground_truth": "FALSE"}
    assert relabel(flipped, world) is not (flipped["ground_truth"] == "TRUE")
    rules = re.findall(r"\(\d+\) [^.]+\. ", f"{draft.question} ")
    answers = []
    for rule in rules:
        less = {**whole, "question": draft.question.replace(rule, "", 1)}
        with pytest.raises(DataError, match="'statements'"):
            relabel(less, world)
        answers.append(relabel({**less, "statements": str(len(rules) - 1)}, world))
    assert answers.count(False) == int(draft.extra["hop_count"])
    with pytest.raises(DataError, match="'kind'"):
        relabel({**whole, "kind": "excluded"}, world)


ASKED = "S is grey. Does it follow that S is {}?"


@pytest.mark.parametrize(
    ("rule", "red", "not_red"),
    [
        ("If a system is grey, then it is red.", True, False),
        ("If a system is red, it is grey.", False, False),
        ("If a system is not grey, it is red.", False, False),
        ("Every system that is not red is not grey.", True, False),
        ("A system is red if it is grey.", True, False),
        ("A system is red only if it is grey.", False, False),
        ("A system is grey only if it is red.", True, False),
        ("Only systems that are grey are red.", False, False),
        ("Only red systems are grey.", True, False),
        ("For a system to be grey, it must be red.", True, False),
        ("For a system to be red, it is enough that it is grey.", True, False),
        ("A system cannot be grey unless it is red.", True, False),
        ("A system can only be red if it is grey.", False, False),
        ("Unless a system is grey, it is red.", False, False),
        ("A system is not red unless it is grey.", False, False),
        ("A system is red unless it is not grey.", True, False),
        ("No system that is grey is red.", False, True),
        ("No grey system is red.", False, True),
        ("There is no system that is grey but is not red.", True, False),
        ("Every system either is grey or is red, but not both.", False, True),
        ("Every system is grey or is red, or both.", False, False),
        ("Of every system exactly one of two things is true: it is not grey or it is red.", True, False),
        ("A system is grey if and only if it is red.", True, False),
        ("A system is red exactly when it is not grey.", False, True),
        ("Some systems that are grey are red.", False, False),
        ("Not every system that is grey is red.", False, False),
        ("A system is red except when it is not grey.", True, False),
        ("Except when a system is grey, it is red.", False, False),
        ("A system cannot be grey without being red.", True, False),
        ("A system cannot be red if it is grey.", False, True),
        ("No system can be red unless it is grey.", False, False),
        ("Being red is necessary for a system to be grey.", True, False),
        ("Being red is sufficient for a system to be grey.", False, False),
        ("For a system, being grey excludes being red.", False, True),
        ("For a system, being red follows from being grey.", True, False),
        ("It is impossible for a system that is grey to be red.", False, True),
        ("When a system is grey, there is no way for it to be red.", False, True),
        ("If a system is grey, it is bound to be red.", True, False),
        ("Whenever a system is grey, the system is never red.", False, True),
        ("That a system is red is guaranteed if it is grey.", True, False),
        ("That a system is red implies that it is grey.", False, False),
        ("The only systems that are grey are red ones.", True, False),
        ("The only systems that are red are grey ones.", False, False),
        ("Not one of the grey systems is red.", False, True),
        ("The systems that are grey are exactly those that are not red.", False, True),
        ("No system both is grey and is not red.", True, False),
        ("It is not the case that all systems that are grey are red.", False, False),
        ("Grey systems are never red.", False, True),
        ("If a system is grey and is old, then it is red.", False, False),
        ("If a system is grey or is old, then it is red.", True, False),
        ("If a system is grey, it is red or is old, or both.", False, False),
        ("If a system is grey, it is old or is new, or both. Every old system is red. All new systems are red.", True,
         False),
    ],
)  # fmt: skip
def test_each_pattern_has_its_meaning(rule: str, red: bool, not_red: bool) -> None:
    assert answer(f"{rule} {ASKED.format('red')}") is red
    assert answer(f"{rule} {ASKED.format('not red')}") is not_red


def test_kinds_of_question() -> None:
    said = "Every system that is grey has a time delay. S is grey. T has no time delay."
    assert answer(f"{said} Is it ruled out that T is grey?")
    assert not answer(f"{said} Is it ruled out that S has a time delay?")
    assert answer(f"{said} Could it be that S is old?")
    assert not answer(f"{said} Could it be that S has no time delay?")
    assert answer(f"{said} Do these statements settle whether T is grey?")
    assert not answer(f"{said} Do these statements settle whether T is old?")
    assert answer(f"{said} Can all these statements be true together?")
    assert not answer(f"{said} T is grey. Can all these statements be true together?")
    assert answer("No grey system is red. Does it follow that no system that is red is grey?")
    assert not answer("Only red systems are grey. Does it follow that every system that is red is grey?")
    assert not answer(
        "No grey system is red. Some systems that are grey are red. Can all these statements be true together?"
    )


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Perhaps every system that is grey is red. S is grey. Does it follow that S is red?",
        "Most systems that are grey are red. S is grey. Does it follow that S is red?",
        "If a system is grey, it is red or is old. S is grey. Does it follow that S is red?",
        "Every grey system is red. S is grey.",
        "Every grey system is red. S is grey. Does it follow that S is red? Is it ruled out that S is red?",
        "Every grey system is red. S is grey. A student says that S is red.",
        "Every grey system is red. No grey system is red. S is grey. Does it follow that S is red?",
        "Set aside that every grey system is red. S is grey. Does it follow that S is red?",
        "Every grey system is red. It is grey. Does it follow that S is red?",
        "Every grey system is red. S is grey and is old or is new. Does it follow that S is red?",
    ],
)
def test_what_cannot_be_read_is_refused(question: str) -> None:
    with pytest.raises(DataError):
        answer(question)


def test_the_checker_agrees_with_trying_all_cases() -> None:
    chance = Chance("checker")
    for number in range(60):
        spot = str(number)

        def literal(*name: str, spot: str = spot) -> int:
            return (1 + chance.below(5, spot, *name)) * (1 if chance.share(spot, "sign", *name) < 0.5 else -1)

        joins = ("if", ANY, EITHER, IFF)
        rules = [
            GivenRule(
                (literal("g", str(at)),), (literal("t", str(at)), literal("u", str(at)))[: 1 + (join == EITHER)], join
            )
            for at, join in enumerate(chance.pick(joins, spot, str(at)) for at in range(7))
        ]
        lines = [
            line
            for line in product((False, True), repeat=5)
            if all(any(line[abs(x) - 1] is (x > 0) for x in clause) for rule in rules for clause in rule.clauses())
        ]
        clauses = all_clauses(rules)
        assert satisfiable(clauses, ()) is bool(lines)
        for known, then in product((1, -2, 3), (4, -5)):
            fitting = [line for line in lines if line[abs(known) - 1] is (known > 0)]
            assert entails(clauses, (known,), (then,)) is all(line[abs(then) - 1] is (then > 0) for line in fitting)


def test_labels_do_not_depend_on_how_unless_is_read() -> None:
    seen = 0
    for number in range(40):
        found = argument(Chance("unless"), f"test:{number}", KINDS[number % 4], 1 + number % 3)
        if found is None:
            continue
        for case in found.cases:
            rules = found.rules[case.rules]
            seen += any(rule.unless for rule in rules)
            known = case.others if case.of_other else (*case.premises, *found.facts)
            for strong in (False, True):
                clauses = all_clauses(rules, strong=strong)
                always, never = entails(clauses, known, case.shown), entails(clauses, known, (-case.shown[0],))
                labels = {"follows": always, "excluded": never, "consistent": not never, "decided": always or never}
                assert labels[found.kind] is case.label
    assert seen > 20


def _features(draft: Draft) -> list[float]:
    """What can be counted without following a chain of rules."""
    found = read(draft.question)
    words = Counter(re.findall(r"[a-z]+", draft.question.lower()))
    mine = list(found.premises) if found.who is None else found.facts.get(found.who, [])
    if found.kind == "together":
        mine = [fact for facts in found.facts.values() for fact in facts]
    claim = found.claim[0] if found.claim else mine[-1]
    denied = claim[0], not claim[1]
    names = {name for name, _ in mine} - {claim[0]}
    sides = [(set(rule.given), set(rule.then)) for rule in found.rules]
    named = [{name for name, _ in given | then} for given, then in sides]
    claimed = [at for at, here in enumerate(named) if claim[0] in here]
    premised = [at for at, here in enumerate(named) if names & here]
    signs = [holds for _, holds in mine]
    return [
        *(float(words[word]) for word in ("not", "no", "or", "and", "unless", "only", "if", "every", "some", "both")),
        len(draft.question), len(found.rules), claim[1], len(mine), sum(signs), len(claimed), len(premised),
        len(set(claimed) & set(premised)), sum(claim in then for _, then in sides),
        sum(claim in given for given, _ in sides), sum(denied in then for _, then in sides),
        sum(denied in given for given, _ in sides), sum(bool(set(mine) & given) for given, _ in sides),
        sum(bool(set(mine) & then) for _, then in sides), claimed[0] if claimed else -1, claimed[-1] if claimed else -1,
        premised[0] if premised else -1, min((abs(a - b) for a in claimed for b in premised), default=-1),
        draft.question.find(claim[0].split()[-1]) / len(draft.question), len(claim[0]), (sum(signs) + claim[1]) % 2,
        all(sign is claim[1] for sign in signs),
    ]  # fmt: skip


def _boosted(train: NDArray[np.int64], label: Matrix, test: NDArray[np.int64], rounds: int = 60) -> Matrix:
    """Scores of boosted trees of depth two on binned features."""
    score, out = np.zeros(len(train)), np.zeros(len(test))

    def split(rows: NDArray[np.bool_], rest: Matrix) -> tuple[int, int]:
        best = (0.0, 0, 0)
        for at in range(train.shape[1]):
            total = np.bincount(train[rows, at], rest[rows], minlength=8).cumsum()[:-1]
            count = np.bincount(train[rows, at], minlength=8).cumsum()[:-1]
            gain = total**2 / (count + 5) + (rest[rows].sum() - total) ** 2 / (rows.sum() - count + 5)
            best = max(best, (float(gain.max()), at, int(gain.argmax())))
        return best[1:]

    for _ in range(rounds):
        rest = label - 1 / (1 + np.exp(-score))
        root = split(np.ones(len(train), bool), rest)
        for side in (False, True):
            rows = (train[:, root[0]] <= root[1]) != side
            rows_test = (test[:, root[0]] <= root[1]) != side
            at, limit = split(rows, rest)
            for lower in (False, True):
                leaf = rows & ((train[:, at] <= limit) != lower)
                step = 0.4 * rest[leaf].sum() / (0.25 * leaf.sum() + 5)
                score[leaf] += step
                out[rows_test & ((test[:, at] <= limit) != lower)] += step
    return out


def _attack(items: list[Draft]) -> NDArray[np.bool_]:
    """For each item whether an attack that was fitted on other bundles gets it right; fitted for each kind."""
    table = np.array([_features(draft) for draft in items])
    edges = [np.unique(np.quantile(column, np.arange(1, 8) / 8)) for column in table.T]
    binned = np.stack([np.searchsorted(edge, column) for edge, column in zip(edges, table.T, strict=True)], axis=1)
    label = np.array([draft.label for draft in items], float)
    fold = np.array([Chance("folds").below(4, draft.pair) for draft in items])
    right = np.zeros(len(items), bool)
    for kind in sorted({draft.kind for draft in items}):
        here = np.array([draft.kind == kind for draft in items])
        for part in range(4):
            train, test = here & (fold != part), here & (fold == part)
            right[test] = (_boosted(binned[train], label[train], binned[test]) > 0) == label[test]
    return right


def test_counting_gives_nothing_away(items: list[Draft]) -> None:
    right = _attack(items)
    groups = {"all": np.ones(len(items), bool)}
    for tag in ("kind", "family", "grade"):
        for value in sorted({str(getattr(draft, tag)) for draft in items}):
            groups[value] = np.array([str(getattr(draft, tag)) == value for draft in items])
    found = {name: float(right[rows].mean()) for name, rows in groups.items()}
    assert found["all"] <= 0.53, found
    assert max(found.values()) <= 0.55, found


def test_the_attack_sees_a_planted_leak(items: list[Draft]) -> None:
    """Planted fault: half of the bundles keep only questions whose premise or conclusion tells the label."""
    leaky = [draft for draft in items if Chance("leak").share(draft.pair) < 0.5 or draft.label is draft.polarity]
    assert _attack(leaky[:2500]).mean() > 0.6
