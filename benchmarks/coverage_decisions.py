"""Designs of benchmarks/coverage.py for agreement, for looking more than once, and for ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

import draws
from draws import FEW, SIZES, Array
from outcomes import Design, Judged, Once, Rng, covers, interval
from perpend import stats
from perpend.ask.looking import LookPlan, ScoredItems
from perpend.ledger.stopping import StopFacts
from perpend.spec.stopping import parse_rule


def agreements() -> Iterator[Design]:
    functions = {"kappa": stats.kappa, "AC1": stats.ac1, "alpha": stats.alpha}

    def ratings(rng: Rng, sizes: draws.Ints, rate: float) -> tuple[Array, Array, draws.Ints]:
        items = np.repeat(np.arange(len(sizes)), sizes)
        truth, _ = draws.answers(rng, sizes, draws.chances(rng, len(sizes), "ICC 0.5", rate))
        wrong = draws.chances(rng, len(sizes), "ICC 0.2", 0.1)[items]
        first, second = (np.where(rng.random(len(items)) < wrong, 1.0 - truth, truth) for _ in range(2))
        return first, second, items

    @cache
    def truths(rate: float) -> dict[str, float]:
        first, second, _ = ratings(np.random.default_rng(3), np.ones(400_000, dtype=np.int64), rate)
        return {name: function([first, second]).value or 0.0 for name, function in functions.items()}

    def once(size: str, rate: float) -> Once:
        def run(rng: Rng) -> dict[str, Judged]:
            first, second, items = ratings(rng, SIZES[size](rng), rate)
            return {
                name: interval(function([first, second], items), truths(rate)[name], "delta on log(1 - value), t")
                for name, function in functions.items()
            }

        return run

    for size in FEW:
        for rate in (0.1, 0.4):
            yield Design(draws.kind(size), f"{size}, rate {rate:g}, raters err on 0.1", once(size, rate), cost=2)


def looks() -> Iterator[Design]:
    """Twenty looks at 200 items: how often the truth is left out at any of them."""
    counts = tuple(range(10, 201, 10))

    def once(law: str) -> Once:
        truth, bounds = {"pairs": (0.0, (-1.0, 1.0)), "skewed": (0.05, (0.0, 1.0))}.get(law, (0.9, (0.0, 1.0)))

        def shares(rng: Rng) -> Array:
            return rng.binomial(6, draws.chances(rng, 200, "ICC 0.5", 0.9)) / 6.0

        def run(rng: Rng) -> dict[str, Judged]:
            x = (rng.random(200) < 0.9).astype(np.float64) if law == "0 and 1" else shares(rng)
            x = x - shares(rng) if law == "pairs" else x
            x = (rng.random(200) < 0.5) * rng.beta(1.0, 9.0, 200) if law == "skewed" else x
            ones = stats.sequence(x, looks=counts, bounds=bounds)
            fixed = [stats.mean(x[:n]) for n in counts]
            naive = any(covers(one, truth) is False for one in fixed)
            wrong = any(covers(one, truth) is False for one in ones)
            beside = {"Student's t at every look": naive}
            return {"confidence sequence": Judged("20 looks", wrong, ones[0].cautions, beside, 0.05)}

        return run

    for law in ("0 and 1", "shares of 6", "skewed", "pairs"):
        yield Design("20 looks", f"200 items, {law}", once(law), cost=2)


def stops() -> Iterator[Design]:
    """Runs that may stop at every tenth of 200 items, by their rule: is what they then claim wrong?"""

    def plan(rule: str, *conditions: str) -> LookPlan:
        return LookPlan(parse_rule(rule), StopFacts(rule, 10), conditions, 200)

    decided = plan("low(c@1, b - a) > 0 or high(c@1, b - a) < 0", "a", "b")
    against_half = plan("low(c@1) > 0.5 or high(c@1) < 0.5", "a")

    def stopped(plan: LookPlan, values: Array) -> int | None:
        """After how many items the rule first holds."""
        blocks = ({"c@1": ScoredItems(values[:n], np.ones(n, dtype=np.bool_))} for n in plan.points)
        looks = (plan.look(look, block) for look, block in enumerate(blocks, 1))
        return next((one.items for one in looks if one.stop), None)

    def difference(rng: Rng) -> dict[str, Judged]:
        values = (rng.random((200, 2, 3)) < rng.beta(2.0, 1.0, (200, 1, 1))).astype(np.float64)
        change = (values[:, 1] - values[:, 0]).mean(axis=1)
        naive = any(abs(change[:n].mean()) > 1.96 * change[:n].std(ddof=1) / n**0.5 for n in decided.points)
        beside = {"1.96 standard errors at every look": naive}
        return {"stopping rule": Judged("20 looks", stopped(decided, values) is not None, (), beside, 0.05)}

    def rate(rng: Rng) -> dict[str, Judged]:
        values = rng.binomial(4, rng.beta(1.0, 1.0, (200, 1, 1))) / 4.0
        return {"stopping rule": Judged("20 looks", stopped(against_half, values) is not None, (), {}, 0.05)}

    yield Design("20 looks", "200 items × 3, two conditions alike", difference, cost=2)
    yield Design("20 looks", "200 items × 4, a rate of 0.5 against 0.5", rate, cost=2)


def ranks() -> Iterator[Design]:
    """How often any of all rank sets, or of all intervals, is wrong."""
    tied = np.array([0.85, 0.85, 0.85, 0.7, 0.7, 0.4])

    def answers(rng: Rng, items: int, rates: Array) -> dict[str, list[float]]:
        """Hard and easy items for all; models differ by item."""
        hard = rng.standard_normal(items)
        table = {}
        for m, rate in enumerate(rates):
            own = draws.centre_of(float(rate), 1.22) + hard + 0.7 * rng.standard_normal(items)
            table[str(m)] = (rng.random(items) < draws.logistic(own)).astype(np.float64).tolist()
        return table

    def shares(rng: Rng, items: int, rates: Array) -> dict[str, list[float]]:
        """Means of 8 repeats: every other model fails on few items wholly, the others on all in part."""
        even = [rng.random(items) < rate if m % 2 else np.full(items, rate) for m, rate in enumerate(rates)]
        return {str(m): (rng.binomial(8, own) / 8).tolist() for m, own in enumerate(even)}

    def once(items: int, rates: Array, drawn: Callable[[Rng, int, Array], dict[str, list[float]]]) -> Once:
        def run(rng: Rng) -> dict[str, Judged]:
            table = drawn(rng, items, rates)
            ranking = stats.rank(table, rng=rng, resamples=999)
            wrong_set = wrong_mean = False
            for model in ranking.models:
                own_rate = rates[int(model.name)]
                best, worst = 1 + int((rates > own_rate).sum()), len(rates) - int((rates < own_rate).sum())
                wrong_set |= model.lowest > best or model.highest < worst
                wrong_mean |= covers(model.mean, float(own_rate)) is False
            return {
                "rank sets, all at once": Judged("sign flips, step-down", wrong_set, ranking.cautions, {}, 0.05),
                "means of models, all at once": Judged("largest |t|", wrong_mean, ranking.cautions, {}, 0.05),
            }

        return run

    for items in (20, 50, 200):
        for name, rates, drawn in (
            ("three and two tied", tied, answers),
            ("all six tied", np.full(6, 0.8), answers),
            ("ten near 1", np.full(10, 0.95), answers),
            ("shares, five tied", np.full(5, 0.9), shares),
        ):
            yield Design("true ties", f"{items} items, {name}", once(items, rates, drawn), cost=2)
