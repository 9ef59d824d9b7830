"""Laws of all statistics: order does not matter, a swap turns the sign, repeats are worth one row, garbage is refused.

`EXAMPLES` has arguments for each public function; one without an entry fails the first test.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pytest

from perpend import stats
from perpend.errors import DataError
from perpend.stats import brier, calibration, selective
from perpend.stats.cells import Column
from perpend.types import Estimate
from tests.tables import table

G = 60
RNG = np.random.default_rng(12)
ABILITY = RNG.beta(2.0, 1.0, G)
COLUMNS = {
    "label": [(RNG.random(G) < ABILITY).astype(float) for _ in range(3)],
    "answer": [(RNG.random(G) < ABILITY * part).astype(float) for part in (1.0, 0.7, 0.9)],
    "rating": [np.where(RNG.random(G) < 0.8, np.round(ABILITY), 1.0 - np.round(ABILITY)) for _ in range(2)],
    "value": [ABILITY + RNG.standard_normal(G), ABILITY + RNG.standard_normal(G)],
    "share": [ABILITY, RNG.random(G)],
    "whole": [RNG.integers(-2, 3, G).astype(float)],
    "either": [(RNG.random(G) < ABILITY * part).astype(float) for part in (1.0, 0.8)],
    "score": [ABILITY + RNG.standard_normal(G), ABILITY + RNG.standard_normal(G)],
    "p": [RNG.random(G)],
    "maybe p": [RNG.random(G)],
}
"""One row per item."""
GARBAGE: Mapping[str, tuple[object, ...]] = {
    "label": (2.0, -1.0, math.nan, None, "yes"),
    "answer": (2.0, -1.0, "yes"),
    "rating": ([], {}),
    "value": (math.nan, math.inf, None, "much"),
    "share": (1.1, -0.1, math.nan, None, "much"),
    "whole": (0.5, math.nan, None, "much"),
    "either": (math.nan, math.inf, None, "much"),
    "score": (math.inf, "much", []),
    "p": (1.1, -0.1, math.nan, None, "small"),
    "maybe p": (1.1, -0.1, math.nan, "small"),
    "count": (-1, 1.5, math.nan, None, "3"),
    "ratio": (1.5, -0.1, math.nan, None, "much"),
}
"""By kind of argument, what is none of its entries; of a count or a ratio, what is none itself."""


@dataclass(frozen=True, slots=True)
class Example:
    """How a function is called: with columns of these kinds and then the items, or with these counts and ratios.

    `swap` is 'sign' where exchanging the first two arguments turns the sign of what comes out, 'same' where it changes
    nothing. `is_ordered`: the order of rows means something.
    """

    call: Callable[..., object]
    columns: tuple[str, ...] = ()
    numbers: tuple[tuple[str, float], ...] = ()
    swap: str = ""
    knows_items: bool = True
    is_ordered: bool = False
    may_be_empty: bool = False


def of_table(of: Callable[[stats.Confusion], object]) -> Callable[..., object]:
    return lambda *counts: of(stats.Confusion(*counts))


def read(verdicts: object, labels: object, items: object) -> stats.JudgedTrials:
    """A judge's trials, of which a third was not read."""
    given = zip(list(labels), list(items), strict=False)  # type: ignore[call-overload]
    return stats.JudgedTrials(verdicts, [None if item % 3 == 0 else label for label, item in given], items)  # type: ignore[arg-type]


def components(values: object, rows: object) -> stats.Components:
    """Of items that were asked twice under two conditions: four rows each."""
    place = np.asarray(rows)
    return stats.variance_components(values, place // 4, place % 2)  # type: ignore[arg-type]


PAIR, RATERS, COUNTS = ("label", "label"), ("rating", "rating"), tuple(("count", n) for n in (41, 9, 14, 27))
CALIBRATION: tuple[Callable[..., object], ...] = (
    calibration.ece, calibration.mce, calibration.rmsce, calibration.ace, calibration.ece_equal_mass,
    calibration.smooth_ece, calibration.debiased_l2_squared, calibration.debiased_rmsce, calibration.reliability,
    brier.brier, brier.brier_corp, brier.brier_murphy, brier.brier_skill, selective.aurc,
)  # fmt: skip
EXAMPLES: dict[str, Example] = {
    "ac1": Example(lambda a, b, i: stats.ac1([a, b], i), RATERS, swap="same"),
    "against_mde": Example(
        lambda a, b, i: stats.against_mde(stats.paired_difference(a, b, i), stats.mde_paired(60, 0.3)),
        PAIR,
        swap="sign",
    ),
    "alpha": Example(lambda a, b, i: stats.alpha([a, b], i), RATERS, swap="same"),
    "balanced_accuracy": Example(of_table(stats.balanced_accuracy), numbers=COUNTS),
    "benjamini_hochberg": Example(lambda p, _: sorted(stats.benjamini_hochberg(p)), ("p",), knows_items=False),
    "binary_metrics": Example(stats.binary_metrics, ("label", "answer")),
    "by_item": Example(
        lambda v, i: dict(sorted(stats.by_item(v, ["m"] * len(v), i).items())),
        ("value",),
        knows_items=False,
        is_ordered=True,
    ),
    "clopper_pearson": Example(stats.clopper_pearson, numbers=(("count", 7), ("count", 23))),
    "cluster_mcnemar": Example(lambda v, _: stats.cluster_mcnemar(v), ("value",), knows_items=False),
    "cohens_h": Example(stats.cohens_h, numbers=(("ratio", 0.3), ("ratio", 0.6)), swap="sign"),
    "confusion": Example(lambda a, b, _: stats.confusion(a, b), ("label", "answer"), knows_items=False),
    "confusion_metrics": Example(of_table(stats.confusion_metrics), numbers=COUNTS),
    "corrected_difference": Example(
        lambda a, b, c, i: stats.corrected_difference(read(a, c, i), read(b, c, i)),
        ("answer", "answer", "answer"),
        swap="sign",
    ),
    "corrected_rate": Example(lambda a, b, i: stats.corrected_rate(stats.JudgedTrials(a, b, i)), ("answer", "answer")),
    "decided": Example(
        lambda a, b, i: stats.decided([stats.equivalence(a, b, i, margin=0.2)])[0], ("either", "either"), swap="sign"
    ),
    "detectable": Example(lambda v, i: stats.detectable(components(v, i), 90, 2), ("value",), knows_items=False),
    "equivalence": Example(lambda a, b, i: stats.equivalence(a, b, i, margin=0.2), ("either", "either"), swap="sign"),
    "errs_differently": Example(
        lambda a, b, c, i: stats.errs_differently(stats.JudgedTrials(a, c, i), stats.JudgedTrials(b, c, i)),
        ("answer", "answer", "answer"),
        swap="same",
    ),
    "excess": Example(stats.excess, ("label", "label", "label")),
    "expected_se": Example(lambda v, i: stats.expected_se(components(v, i), 90, 2), ("value",), knows_items=False),
    "family": Example(
        lambda p, _: sorted(t.adjusted or 9.0 for t in stats.family(dict(enumerate(p))).tests),
        ("maybe p",),
        knows_items=False,
        may_be_empty=True,
    ),
    "flip": Example(stats.flip, PAIR),
    "flip_rate": Example(lambda a, i: stats.flip_rate(a, np.asarray(i) // 3), ("rating",), knows_items=False),
    "holm": Example(lambda p, _: sorted(stats.holm(p)), ("p",), knows_items=False),
    "judge_rates": Example(lambda a, b, i: stats.judge_rates(stats.JudgedTrials(a, b, i))["all"], ("answer", "answer")),
    "kappa": Example(lambda a, b, i: stats.kappa([a, b], i), RATERS, swap="same"),
    "mcc": Example(of_table(stats.mcc), numbers=COUNTS),
    "mcnemar": Example(stats.mcnemar, numbers=(("count", 13), ("count", 5)), swap="same"),
    "mcnemar_power": Example(stats.mcnemar_power, numbers=(("count", 60), ("ratio", 0.2), ("ratio", 0.1))),
    "mde_clustered": Example(lambda a, b, i: stats.mde_clustered(stats.paired_difference(a, b, i)), PAIR, swap="same"),
    "mde_paired": Example(stats.mde_paired, numbers=(("count", 60), ("ratio", 0.2))),
    "mean": Example(stats.mean, ("value",)),
    "needed": Example(
        lambda v, i: stats.needed(components(v, i), detect=0.4, repeats=2), ("value",), knows_items=False
    ),
    "override": Example(stats.override, PAIR),
    "paired_bootstrap": Example(stats.paired_bootstrap, ("label", "answer", "answer")),
    "paired_difference": Example(stats.paired_difference, PAIR, swap="sign"),
    "paired_odds_ratio": Example(stats.paired_odds_ratio, numbers=(("count", 13), ("count", 5))),
    "paired_sequence": Example(
        lambda a, b, i: stats.paired_sequence(a, b, i, looks=[60])[0], ("share", "share"), swap="sign", is_ordered=True
    ),
    "paired_test": Example(stats.paired_test, PAIR, swap="same"),
    "pass_at_k": Example(lambda a, i: stats.pass_at_k(a, i, 1), ("label",), knows_items=False),
    "pass_hat_k": Example(lambda a, i: stats.pass_hat_k(a, i, 1), ("label",), knows_items=False),
    "precision": Example(lambda a, b, i: stats.precision(stats.JudgedTrials(a, b, i)), ("answer", "answer")),
    "proportion": Example(stats.proportion, ("label",)),
    "rank": Example(
        lambda a, b, i: [m.mean for m in stats.rank({"a": list(a), "b": list(b)}, resamples=99).models],
        ("score", "score"),
        knows_items=False,
    ),
    "raw_agreement": Example(lambda a, b, i: stats.raw_agreement([a, b], i), RATERS, swap="same"),
    "rescue": Example(stats.rescue, PAIR),
    "risk_difference": Example(
        stats.risk_difference, numbers=(("count", 7), ("count", 23), ("count", 11), ("count", 19))
    ),
    "sensitivity": Example(lambda a, b, i: stats.sensitivity(stats.JudgedTrials(a, b, i)), ("answer", "answer")),
    "sequence": Example(lambda v, i: stats.sequence(v, i, looks=[60])[0], ("share",), is_ordered=True),
    "sign_flip": Example(lambda v, _: stats.sign_flip(v), ("whole",), knows_items=False),
    "specificity": Example(lambda a, b, i: stats.specificity(stats.JudgedTrials(a, b, i)), ("answer", "answer")),
    "variance_components": Example(components, ("value",), knows_items=False),
    "wilson": Example(stats.wilson, numbers=(("count", 7), ("count", 23))),
    "wilson_on_balanced_accuracy_as_in_the_run_plan": Example(
        of_table(stats.wilson_on_balanced_accuracy_as_in_the_run_plan), numbers=COUNTS
    ),
    # Of the modules behind perpend.stats, what its pages name.
    **{
        of.__name__: Example(lambda c, y, _, of=of: of(c, y), ("share", "label"), knows_items=False)
        for of in CALIBRATION
    },
    "ece_estimate": Example(lambda c, y, i: calibration.ece_estimate(c, y, clusters=i), ("share", "label")),
    "brier_estimate": Example(lambda c, y, i: brier.brier_estimate(c, y, clusters=i), ("share", "label")),
    "spiegelhalter": Example(lambda c, y, i: brier.spiegelhalter(c, y, clusters=i), ("share", "label")),
    "risk_at": Example(lambda c, y, i: selective.risk_at(c, y, 0.8, clusters=i), ("share", "label")),
}


def arguments(example: Example) -> list[object]:
    """The columns and the items of an example, or its numbers."""
    if example.numbers:
        return [number for _, number in example.numbers]
    place = dict.fromkeys(COLUMNS, -1)
    given: list[object] = []
    for kind in example.columns:
        place[kind] += 1
        given.append(COLUMNS[kind][place[kind]])
    return [*given, np.arange(G)]


def numbers(found: object) -> Iterator[float | None]:
    """Every number that came out."""
    if isinstance(found, Estimate):
        yield from (found.value, found.lo, found.hi)
    elif isinstance(found, stats.Components):
        yield from numbers([found.item, found.condition, found.item_condition, found.sampling, found.mean])
    elif is_dataclass(found):
        yield from numbers([getattr(found, one.name) for one in fields(found)])
    elif isinstance(found, Mapping):
        yield from numbers(list(found.values()))
    elif isinstance(found, list | tuple | np.ndarray):
        for one in found:
            yield from numbers(one)
    else:
        assert found is None or isinstance(found, int | float)
        yield None if found is None else float(found)


def chosen(wanted: Callable[[Example], object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if wanted(example)])


def test_every_public_function_has_an_example() -> None:
    public = {name for name in stats.__all__ if not isinstance(getattr(stats, name), type)}
    assert public <= EXAMPLES.keys(), "an entry in EXAMPLES, so that the laws are tried on it"


@chosen(lambda example: example.columns and not example.is_ordered)
def test_the_order_of_rows_does_not_matter(name: str) -> None:
    given = [np.asarray(column) for column in arguments(EXAMPLES[name])]
    order = np.random.default_rng(1).permutation(G)
    there = [*numbers(EXAMPLES[name].call(*given))]
    back = [*numbers(EXAMPLES[name].call(*(column[order] for column in given)))]
    assert back == [one if one is None else pytest.approx(one, abs=1e-9) for one in there]


@chosen(lambda example: example.swap)
def test_a_swap_of_two_columns_changes_the_sign_or_nothing(name: str) -> None:
    example = EXAMPLES[name]
    first, second, *rest = arguments(example)
    there, back = example.call(first, second, *rest), example.call(second, first, *rest)
    expected = [*numbers(there)]
    if example.swap == "sign" and isinstance(there, Estimate):
        assert there.value != 0.0
        value, lo, hi = (None if one is None else -one for one in expected)
        expected = [value, hi, lo]
    elif example.swap == "sign":
        expected = [-one for one in expected if one is not None]
    assert [*numbers(back)] == [one if one is None else pytest.approx(one, abs=1e-7) for one in expected]


@chosen(lambda example: example.columns and example.knows_items)
def test_repeats_of_an_item_are_worth_one_row(name: str) -> None:
    """Their interval is as wide as that of one row per item, but for t's quantile, and rows without items are not."""
    example = EXAMPLES[name]
    given = arguments(example)
    once = [*estimates(example.call(*given))]
    four = [*estimates(example.call(*(np.repeat(np.asarray(column), 4) for column in given)))]
    compared = 0
    for one, other in zip(once, four, strict=True):
        if one.lo is not None and one.hi is not None and other.lo is not None and other.hi is not None:
            assert other.value == pytest.approx(one.value, abs=0.01), "alpha's chance is of ratings, not of items"
            assert other.hi - other.lo == pytest.approx(one.hi - one.lo, rel=0.15)
            compared += 1
    assert compared or not any(one.lo is not None for one in once)


def estimates(found: object) -> Iterator[Estimate]:
    """The estimates in what came out."""
    if isinstance(found, Estimate):
        yield found
    elif isinstance(found, Mapping):
        yield from (one for one in found.values() if isinstance(one, Estimate))


@pytest.mark.parametrize("name", EXAMPLES)
def test_garbage_is_refused_and_never_a_number(name: str) -> None:
    example, given = EXAMPLES[name], arguments(EXAMPLES[name])
    for place, (kind, _) in enumerate(example.numbers):
        for wrong in GARBAGE[kind]:
            with pytest.raises(DataError):
                example.call(*given[:place], wrong, *given[place + 1 :])
    for place, kind in enumerate(example.columns):
        column = list(np.asarray(given[place]))
        for wrong in GARBAGE[kind]:
            with pytest.raises(DataError):
                example.call(*given[:place], [*column[:-1], wrong], *given[place + 1 :])
        if len(example.columns) > 1 or example.knows_items:
            with pytest.raises(DataError):
                example.call(*given[:place], column[:-1], *given[place + 1 :])
    if example.columns and not example.may_be_empty:
        with pytest.raises(DataError):
            example.call(*([] for _ in given))


MADE: dict[str, Callable[..., object]] = {
    "array": lambda *values: np.array(values),
    "masked": lambda values, mask: np.ma.array(values, mask=mask),
    "range": range,
    "trials": stats.JudgedTrials,
    "components": stats.variance_components,
    "column": lambda name, levels, codes: Column(name, tuple(levels), np.array(codes)),
}
"""What a line of stats_refused.jsonl says in one word, with what it is made of."""


def made(given: object) -> object:
    """An argument as a function takes it."""
    if isinstance(given, list):
        return [made(one) for one in given]
    if isinstance(given, dict) and given.keys() <= MADE.keys() and given:
        ((word, of),) = given.items()
        return MADE[word](*of)
    return given


@pytest.mark.parametrize(*table("stats_refused"))
def test_what_means_nothing_is_refused_by_name(
    call: str, given: list[object], options: dict[str, object], told: str
) -> None:
    module, _, name = call.rpartition(".")
    function = getattr(importlib.import_module(f"perpend.stats.{module}") if module else stats, name)
    with pytest.raises(DataError, match=told):
        function(*map(made, given), **options)
