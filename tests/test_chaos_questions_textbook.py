"""Named results as questions: the curated values against their computation, the labels again from the text, leaks."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from perpend.errors import DataError
from perpend.studies.logic.chaos.questions.chance import Chance
from perpend.studies.logic.chaos.questions.draft import Draft
from perpend.studies.logic.chaos.questions.grammar import mistake
from perpend.studies.logic.chaos.questions.textbook import formulas
from perpend.studies.logic.chaos.questions.textbook.bundles import bundles, table_bundles
from perpend.studies.logic.chaos.questions.textbook.computed import computed
from perpend.studies.logic.chaos.questions.textbook.layouts import ONE, THREE, TWO, denies
from perpend.studies.logic.chaos.questions.textbook.relabel import agrees, is_right, listed_order, relabel
from perpend.studies.logic.chaos.questions.textbook.sharkovskii import chosen_pairs, forces
from perpend.studies.logic.chaos.questions.textbook.tables import KINDS, equation_tables, load_tables
from perpend.studies.logic.chaos.questions.world import Sources, sources

LIMIT = 0.55
Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def world() -> Sources:
    return sources()


@pytest.fixture(scope="module")
def made(world: Sources) -> list[tuple[Draft, ...]]:
    return list(bundles(world))


@pytest.fixture(scope="module")
def drafts(made: list[tuple[Draft, ...]]) -> list[Draft]:
    return [draft for bundle in made for draft in bundle]


def test_there_are_enough_items_results_frames_and_sources(drafts: list[Draft]) -> None:
    kinds = Counter(draft.kind for draft in drafts)
    assert len(drafts) >= 1800
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 300
    assert sum(len(table.results) for table in load_tables()) >= 250
    assert len({draft.form for draft in drafts}) >= 1000
    assert len({form.text for form in (*ONE, *TWO, *THREE)}) == len((*ONE, *TWO, *THREE))
    assert len({draft.question for draft in drafts}) == len(drafts)
    assert {draft.grade for draft in drafts} == {1, 2, 3, 4, 5}
    assert sum(draft.family == "regime_transition" for draft in drafts) >= 300
    # Every source is names and a year.
    assert not [draft.cites for draft in drafts if not re.fullmatch(r"(?:[^;]+ \d{4}(?:; )?)+", draft.cites)]


def test_bundles_are_half_true_and_well_written(made: list[tuple[Draft, ...]]) -> None:
    for bundle in made:
        assert sum(draft.label for draft in bundle) * 2 == len(bundle)
        assert len({draft.pair for draft in bundle}) == 1
        # A right and a wrong statement share each wording.
        wordings = Counter((draft.form, draft.grade, draft.label) for draft in bundle)
        assert all(wordings[form, grade, not label] == count for (form, grade, label), count in wordings.items())
        # The same words and numbers on both sides: only what belongs to what is different.
        words = {label: Counter(w for d in bundle if d.label is label for w in _words(d)) for label in (True, False)}
        assert words[True] == words[False]
        assert [mistake(draft.question) for draft in bundle] == [None] * len(bundle)


def _words(draft: Draft) -> list[str]:
    return re.findall(r"\w+", draft.question.lower())


def test_labels_come_back_from_the_text(drafts: list[Draft], world: Sources) -> None:
    assert [d.question for d in drafts if relabel(d.as_record("x", "test"), world) is not d.label] == []


def test_a_wrong_label_and_an_unreadable_text_are_found(drafts: list[Draft], world: Sources) -> None:
    draft = next(draft for draft in drafts if draft.predicate == "fractals")
    turned = replace(draft, label=not draft.label)
    assert relabel(turned.as_record("x", "test"), world) is not turned.label
    for question, predicate in (("Is it so?", "fractals"), ("Is it so?", "no such table"), ("Hm.", draft.predicate)):
        with pytest.raises(DataError):
            relabel(replace(draft, question=question, predicate=predicate).as_record("x", "test"), world)


def test_layouts_that_ask_for_a_fault_are_read_as_such() -> None:
    for asking in (*ONE, *TWO, *THREE):
        assert denies(asking.filled("", "", "")) is asking.denies


def test_every_table_has_one_value_for_each_subject_and_no_second_right_one(world: Sources) -> None:
    for table in (*load_tables(), *equation_tables(world.systems)):
        assert table.kind in KINDS
        assert len({result.subject for result in table.results}) == len(table.results) >= 2
        assert all("{s}" in clause and "{v}" in clause for clause in table.clauses)
        for result in table.results:
            assert is_right(table, result.subject, result.value), (table.name, result)
            others = {other.value for other in table.results} - {result.value}
            assert not [value for value in others if is_right(table, result.subject, value)]


def test_numbers_of_a_table_have_equal_decimals() -> None:
    for table in load_tables():
        if table.kind == "constant" and all("." in result.value for result in table.results):
            assert len({len(result.value.partition(".")[2]) for result in table.results}) == 1, table.name


def test_a_planted_wrong_value_is_found() -> None:
    table = next(table for table in load_tables() if table.name == "fractals")
    first, second, *rest = table.results
    planted = replace(table, results=(replace(first, value=second.value), second, *rest))
    assert not is_right(planted, first.subject, planted.results[0].value)


def test_many_values_are_computed() -> None:
    known = [computed(table.name, result.subject) for table in load_tables() for result in table.results]
    assert sum(value is not None for value in known) >= 150


def test_universal_numbers() -> None:
    assert formulas.feigenbaum_delta() == pytest.approx(4.669201, abs=2e-4)
    assert formulas.feigenbaum_alpha() == pytest.approx(2.502907, abs=2e-4)
    assert formulas.accumulation() == pytest.approx(3.5699457, abs=1e-6)
    assert formulas.doubling_onset(0) == pytest.approx(3)
    assert formulas.doubling_onset(1) == pytest.approx(1 + math.sqrt(6))
    assert agrees(470 / 19, "24.74")
    assert computed("lorenz-thresholds", "the two symmetric fixed points lose their stability") == pytest.approx(
        470 / 19
    )


@pytest.mark.parametrize("period", [4, 5, 6])
def test_superstable_counts_by_search(period: int) -> None:
    r = np.linspace(0.5, 4, 400001)
    signs = {}
    for n in range(1, period + 1):
        x = np.full_like(r, 0.5)
        for _ in range(n):
            x = r * x * (1 - x)
        crossed = np.nonzero(np.sign(x[:-1] - 0.5) * np.sign(x[1:] - 0.5) < 0)[0]
        signs[n] = {round(float(r[place]), 4) for place in crossed}
    shorter = set().union(*(signs[n] for n in range(1, period) if period % n == 0))
    own = [root for root in signs[period] if all(abs(root - other) > 2e-4 for other in shorter)]
    assert len(own) == formulas.superstable_count(period)


def test_cycles_of_the_shift_by_counting_words() -> None:
    for n in range(1, 9):
        words = {format(k, f"0{n}b") for k in range(2**n)}
        rings = {min(word[i:] + word[:i] for i in range(n)) for word in words}
        prime = [ring for ring in rings if len({ring[i:] + ring[:i] for i in range(n)}) == n]
        assert len(prime) == formulas.cycles_of_the_shift(n)


def _rate(state: Array, jacobian: Array, name: str, c: float) -> tuple[Array, Array]:
    """The rates of the Lorenz or Rössler equations and of a frame of tangent vectors."""
    x, y, z = state
    if name == "lorenz":
        rate = np.array([10 * (y - x), x * (c - z) - y, x * y - 8 / 3 * z])
        slope = np.array([[-10, 10, 0], [c - z, -1, -x], [y, x, -8 / 3]])
    else:
        rate = np.array([-y - z, x + 0.2 * y, 0.2 + z * (x - c)])
        slope = np.array([[0, -1, -1], [1, 0.2, 0], [z, 0, x - c]])
    return rate, slope @ jacobian


def _spectrum(name: str, c: float, step: float, steps: int) -> Array:
    """Lyapunov exponents by the classical fourth-order method and repeated orthonormalisation."""
    state, frame, total = np.array([1.0, 1.0, 1.0]), np.eye(3), np.zeros(3)
    for n in range(steps + steps // 5):
        a, fa = _rate(state, frame, name, c)
        b, fb = _rate(state + step / 2 * a, frame + step / 2 * fa, name, c)
        d, fd = _rate(state + step / 2 * b, frame + step / 2 * fb, name, c)
        e, fe = _rate(state + step * d, frame + step * fd, name, c)
        state = state + step / 6 * (a + 2 * b + 2 * d + e)
        frame, stretch = np.linalg.qr(frame + step / 6 * (fa + 2 * fb + 2 * fd + fe))
        if n >= steps // 5:
            total += np.log(np.abs(np.diag(stretch)))
    return np.array(total / (steps * step))


def test_exponents_and_dimension_of_the_lorenz_attractor() -> None:
    found = _spectrum("lorenz", 28, 0.01, 30000)
    assert found[0] == pytest.approx(0.906, abs=0.03)
    assert found[2] == pytest.approx(-14.57, abs=0.03)
    assert formulas.kaplan_yorke([found[0], 0.0, found[2]]) == pytest.approx(2.06, abs=0.005)


def test_regimes_of_the_roessler_system() -> None:
    """Maxima of x that are different after the transient, at the published values of c."""
    counts = {}
    for c in (2.5, 3.5, 4.0, 5.7):
        state, xs, step = np.array([1.0, 1.0, 0.0]), [], 0.02
        frame = np.zeros((3, 1))
        for n in range(24000):
            a, _ = _rate(state, frame, "roessler", c)
            b, _ = _rate(state + step / 2 * a, frame, "roessler", c)
            d, _ = _rate(state + step / 2 * b, frame, "roessler", c)
            e, _ = _rate(state + step * d, frame, "roessler", c)
            state = state + step / 6 * (a + 2 * b + 2 * d + e)
            if n > 14000:
                xs.append(float(state[0]))
        x = np.array(xs)
        peaks = x[1:-1][(x[1:-1] > x[:-2]) & (x[1:-1] > x[2:])]
        counts[c] = 1 + int((np.diff(np.sort(peaks)) > 0.01).sum())
    assert (counts[2.5], counts[3.5], counts[4.0]) == (1, 2, 4)
    assert counts[5.7] > 20


def test_regimes_of_named_systems_are_those_of_the_facts(world: Sources) -> None:
    """Where an instance with these parameter values was measured and decided, it must say the same."""
    ids = {
        "Rössler": "rossler:a=0.2,b=0.2,c=5.7",
        "Hénon map with a = 1.4": "henon:a=1.4,b=0.3",
        "Van der Pol": "vdp:mu=1,A=0,omega=1",
        "logistic map with r = 3.9": "logistic:r=3.9",
    }
    rows = [row for table in load_tables() if table.name.startswith("famous-regimes") for row in table.results]
    pairs = [(row, key) for row in rows for name, key in ids.items() if name in row.subject]
    measured = [(row, world.records[key]) for row, key in pairs if key in world.records]
    assert len(pairs) == len(ids)
    assert measured
    for row, record in measured:
        assert record.facts.get("Chaotic") in (None, row.value == "a chaotic attractor")


def test_sharkovskii_by_two_ways() -> None:
    order = listed_order(64)
    assert order[:4] == [3, 5, 7, 9]
    assert order[-4:] == [8, 4, 2, 1]
    assert sorted(order) == list(range(1, 65))
    for m, n in combinations(range(1, 65), 2):
        assert forces(m, n) is (order.index(m) <= order.index(n))
        assert forces(m, n) is not forces(n, m)


def test_neither_size_nor_parity_tells_which_period_forces_which() -> None:
    pairs = chosen_pairs(Chance())
    rising = sum(m < n for m, n in pairs)
    assert abs(2 * rising - len(pairs)) <= 4
    assert sum(m % 2 == n % 2 for m, n in pairs) >= 0.9 * len(pairs)


def test_another_key_gives_other_questions(drafts: list[Draft], world: Sources) -> None:
    others = {draft.question for bundle in bundles(replace(world, chance=Chance("another"))) for draft in bundle}
    shared = len(others & {draft.question for draft in drafts})
    assert shared < 0.2 * len(drafts)


def _features(drafts: Sequence[Draft], width: int = 2048) -> Array:
    """Words and pairs of words by digest, the sizes and ranks of the numbers, lengths, and repeated words."""
    table = np.zeros((len(drafts), width + 10))
    for row, draft in enumerate(drafts):
        words = _words(draft)
        for term in (*words, *(f"{a} {b}" for a, b in pairwise(words))):
            digest = hashlib.blake2b(term.encode(), digest_size=4).digest()
            table[row, int.from_bytes(digest) % width] += 1
        numbers = [float(text) for text in re.findall(r"-?\d+(?:\.\d+)?", draft.question)] or [0.0]
        last = numbers[-1]
        table[row, width:] = [
            len(draft.question), len(numbers), last, numbers[0], max(numbers), min(numbers),
            float(last == max(numbers)), last % 2, float(last in numbers[:-1]),
            len(words) - len({word[:5] for word in words}),
        ]  # fmt: skip
    return table


def _attacked(drafts: Sequence[Draft], features: Array) -> float:
    """Balanced accuracy of ridge regression on the features, with whole tables of results held out."""
    truth = np.array([draft.label for draft in drafts])
    fold = np.array([hashlib.blake2b(draft.pair.encode(), digest_size=4).digest()[0] % 5 for draft in drafts])
    said = np.zeros(len(drafts), dtype=np.bool_)
    for out in range(5):
        train, test = fold != out, fold == out
        mean, spread = features[train].mean(0), features[train].std(0) + 1e-9
        a, b = (features[train] - mean) / spread, (features[test] - mean) / spread
        weights = np.linalg.solve(a @ a.T + 2000 * np.eye(len(a)), 2.0 * truth[train] - 1)
        said[test] = b @ a.T @ weights > 0
    return float((said[truth].mean() + 1 - said[~truth].mean()) / 2)


@pytest.mark.parametrize("kind", KINDS)
def test_words_and_numbers_alone_do_not_answer(kind: str, drafts: list[Draft]) -> None:
    own = [draft for draft in drafts if draft.kind == kind]
    assert _attacked(own, _features(own)) <= LIMIT


def test_the_attack_finds_a_planted_leak(drafts: list[Draft]) -> None:
    own = [draft for draft in drafts if draft.kind == "definition"]
    planted = [
        replace(draft, question=draft.question + (" Think it over." if draft.label else " Think twice."))
        for draft in own
    ]
    assert _attacked(planted, _features(planted)) > 0.9


def test_a_table_whose_values_are_all_alike_gives_nothing() -> None:
    table = load_tables()[0]
    alike = replace(table, results=tuple(replace(result, value="the same") for result in table.results))
    assert list(table_bundles(alike, Chance())) == []
