"""The designs of benchmarks/coverage.py: one function per family, each a list of ways to make data and to judge it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import coverage_decisions
import draws
from draws import FEW, LAWS, SIZES, Array
from outcomes import Design, Judged, Once, Rng, interval, open_interval, test
from perpend import stats
from perpend.errors import DataError
from perpend.stats import calibration, regression, selective
from perpend.types import Estimate


def rates() -> Iterator[Design]:
    def once(size: str, rate: float, law: str) -> Once:
        def run(rng: Rng) -> dict[str, Judged]:
            sizes = SIZES[size](rng)
            right, items = draws.answers(rng, sizes, draws.chances(rng, len(sizes), law, rate))
            ours = stats.proportion(right, items)
            return {"rate": interval(ours, rate, "Wilson, effective n, t", Wilson_on_rows=stats.proportion(right))}

        return run

    for size in SIZES:
        for rate in (0.05, 0.5, 0.8, 0.95, 0.99):
            for law in LAWS:
                near = ", near 0 or 1" if rate in (0.05, 0.95, 0.99) else ""
                yield Design(f"{draws.kind(size)}{near}", f"{size}, rate {rate:g}, {law}", once(size, rate, law))


VALUES: dict[str, Callable[[Rng, int], Array]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "exponential": lambda rng, n: rng.exponential(1.0, n) - 1.0,
    "log-normal": lambda rng, n: (np.exp(rng.standard_normal(n)) - np.exp(0.5)) / 2.161,
}
"""Laws of mean 0 and sd 1."""


def means() -> Iterator[Design]:
    def once(size: str, law: str, icc: float) -> Once:
        def run(rng: Rng) -> dict[str, Judged]:
            sizes = SIZES[size](rng)
            items = np.repeat(np.arange(len(sizes)), sizes)
            common, own = VALUES[law](rng, len(sizes))[items], VALUES[law](rng, len(items))
            values = icc**0.5 * common + (1.0 - icc) ** 0.5 * own
            return {"mean": interval(stats.mean(values, items), 0.0, "cluster t", t_on_rows=stats.mean(values))}

        return run

    for size in SIZES:
        for law in VALUES:
            for icc in (0.0, 0.5, 1.0):
                kind = draws.kind(size) + ("" if law == "normal" else ", skewed")
                yield Design(kind, f"{size}, {law} values, ICC {icc:g}", once(size, law, icc))


def pairs() -> Iterator[Design]:
    def once(size: str, pair: tuple[float, float], slope: float, identical: bool) -> Once:
        truth = pair[1] - pair[0]

        def run(rng: Rng) -> dict[str, Judged]:
            control, pressure, items = draws.paired_answers(rng, SIZES[size](rng), pair, slope, identical=identical)
            ours = stats.paired_difference(control, pressure, items)
            rows = stats.paired_difference(control, pressure)
            outcome = {"paired difference": interval(ours, truth, "Newcombe, effective n, t", Newcombe_on_rows=rows)}
            if truth == 0.0:
                p = stats.paired_test(control, pressure, items)
                outcome["paired test"] = test(p, p.value, "sign flip", McNemar_on_rows=p.also["p_midp"])
            return outcome

        return run

    for size in SIZES:
        for pair, slope in (
            ((0.5, 0.5), 0.0),
            ((0.5, 0.5), 2.0),
            ((0.9, 0.9), 0.0),
            ((0.9, 0.9), 2.0),
            ((0.98, 0.98), 2.0),
            ((0.95, 0.85), 2.0),
        ):
            for identical in (False, True):
                repeats = ", identical repeats" if identical else ""
                name = f"{size}, rates {pair[0]:g} and {pair[1]:g}, item × condition sd {slope:g}{repeats}"
                near = ", near 0 or 1" if pair[0] > 0.9 else ""
                yield Design(f"{draws.kind(size)}{near}", name, once(size, pair, slope, identical))


def calibrations() -> Iterator[Design]:
    def once(size: str, law: str, correlation: float, gap: float) -> Once:
        many = draws.many_confidences(law)
        truth = float((many - np.maximum(many - gap, 0.0)).mean())  # the gap has one sign, so bins do not matter

        def run(rng: Rng) -> dict[str, Judged]:
            sizes = SIZES[size](rng)
            c = draws.confidences(rng, sizes, law)
            y = draws.judged(rng, sizes, np.maximum(c - gap, 0.0), correlation)
            items = np.repeat(np.arange(len(sizes)), sizes)
            ece = calibration.ece_estimate(c, y, clusters=items, rng=rng)
            outcome = {"ECE, items repeat": interval(ece, truth, "gated hull")}
            if gap == 0.0:
                z, rows = calibration.spiegelhalter(c, y, clusters=items), calibration.spiegelhalter(c, y)
                outcome["test of ECE"] = test(ece, ece.also["p_calibrated"], "null with dependence")
                outcome["Spiegelhalter"] = test(z, z.also["p"], "null with dependence", on_rows=rows.also["p"])
            return outcome

        return run

    for size in (*FEW, "100 items × 6"):
        for law in draws.CONFIDENCES:
            for correlation in (0.0, 0.5, 1.0):
                for gap in (0.0, 0.1):
                    name = f"{size}, {law}, correlation {correlation:g}, gap {gap:g}"
                    yield Design(draws.kind(size), name, once(size, law, correlation, gap), cost=3)


def row_calibrations() -> Iterator[Design]:
    """One row per item."""

    def once(n: int, law: str, gap: float) -> Once:
        many = draws.many_confidences(law)
        shift = many - np.maximum(many - gap, 0.0)

        def run(rng: Rng) -> dict[str, Judged]:
            c = draws.confidences(rng, np.ones(n, dtype=np.int64), law)
            y = (rng.random(n) < np.maximum(c - gap, 0.0)).astype(np.float64)
            ece = calibration.ece_estimate(c, y, rng=rng)
            square = calibration.debiased_l2_squared(c, y)
            outcome = {
                "ECE, one row per item": interval(ece, float(shift.mean()), "gated hull"),
                "debiased L2²": interval(square, float((shift**2).mean()), "U-statistic"),
            }
            if gap == 0.0:
                outcome["test of ECE"] = test(ece, ece.also["p_calibrated"], "consistency")
            return outcome

        return run

    for n in (30, 60, 200, 1000):
        for law in draws.CONFIDENCES:
            for gap in (0.0, 0.05, 0.15):
                name = f"{n} items × 1, {law}, gap {gap:g}"
                yield Design("one row per item", name, once(n, law, gap))


def odds() -> Iterator[Design]:
    def once(size: str, between: bool, pair: tuple[float, float], identical: bool) -> Once:
        truth = pair[1] * (1.0 - pair[0]) / (1.0 - pair[1]) / pair[0]

        def run(rng: Rng) -> dict[str, Judged]:
            sizes = SIZES[size](rng)
            first, second, items = draws.paired_answers(rng, sizes, pair, 1.0, identical=identical)
            if between:
                own = (items % 2).astype(bool)
                y, group = np.where(own, second, first), np.where(own, "b", "a")
            else:
                y, group = np.concatenate((first, second)), np.repeat(["a", "b"], len(first))
                items = np.concatenate((items, items))
            try:
                cells = regression.collapse(y, [regression.factor("g", group.tolist(), reference="a")], items=items)
                fit = regression.fit_logit(cells, ["g"])
                ours = regression.odds_ratio(cells, fit, "g[b]")
            except DataError:
                return {"odds ratio": Judged("item-clustered t", None)}
            outcome = {"odds ratio": open_interval(ours, truth)}
            if truth == 1.0:
                # Which runs are separated depends on what is tested, so the test is judged over all runs together.
                outcome["test of an odds ratio"] = test(ours, ours.also["p"], "item-clustered t, or Firth")
                wald = regression.clustered_test(fit, "g")
                outcome["clustered test"] = test(wald, wald.also["p"], "Wald, Hotelling F")
            return outcome

        return run

    for size in FEW:
        for between in (True, False):
            for pair in ((0.5, 0.5), (0.8, 0.8), (0.95, 0.95), (0.8, 0.6)):
                for identical in (False, True):
                    name = (
                        f"{size}, factor {'between' if between else 'within'} items, rates {pair[0]:g} and {pair[1]:g}"
                    )
                    repeats = ", identical repeats" if identical else ""
                    yield Design(draws.kind(size), name + repeats, once(size, between, pair, identical), cost=2)


def tables() -> Iterator[Design]:
    """Balanced accuracy and MCC of independent rows."""

    def once(n: int, prevalence: float, pair: tuple[float, float]) -> Once:
        tpr, tnr = pair
        tp, fn = prevalence * tpr, prevalence * (1.0 - tpr)
        fp, tn = (1.0 - prevalence) * (1.0 - tnr), (1.0 - prevalence) * tnr
        mcc = float((tp * tn - fp * fn) / np.sqrt((tp + fn) * (fp + tn) * (tp + fp) * (fn + tn)))

        def run(rng: Rng) -> dict[str, Judged]:
            counts = stats.Confusion(*rng.multinomial(n, [tp, fn, fp, tn]).tolist())
            plan = stats.wilson_on_balanced_accuracy_as_in_the_run_plan(counts)
            ours, both = stats.mcc(counts), stats.balanced_accuracy(counts)
            return {
                "balanced accuracy": interval(both, (tpr + tnr) / 2.0, "MOVER-Wilson", the_run_plan=plan),
                "MCC": interval(ours, mcc, "delta on Fisher's z, smoothed"),
            }

        return run

    for n in (30, 68, 200, 1000):
        for prevalence in (0.05, 0.15, 0.5):
            for pair in ((0.6, 0.6), (0.8, 0.8), (0.6, 0.95), (0.95, 0.95), (0.99, 0.99)):
                expected = n * prevalence * (1.0 - pair[0])
                kind = "small cells" if min(expected, n * prevalence * pair[0]) < 5.0 else "filled cells"
                name = f"{n} rows, prevalence {prevalence:.0%}, TPR {pair[0]:g}, TNR {pair[1]:g}"
                yield Design(kind, name, once(n, prevalence, pair))


def clustered_tables() -> Iterator[Design]:
    def once(positive: int, negative: int, rate: float, law: str) -> Once:
        n, share = positive + negative, positive / (positive + negative)
        gold, items = np.repeat([1.0] * positive + [0.0] * negative, 6), np.repeat(np.arange(n), 6)
        yes = share * rate + (1.0 - share) * (1.0 - rate)
        mcc = float((2.0 * rate - 1.0) * np.sqrt(share * (1.0 - share) / (yes * (1.0 - yes))))

        def run(rng: Rng) -> dict[str, Judged]:
            right, _ = draws.answers(rng, np.full(n, 6), draws.chances(rng, n, law, rate))
            answer = np.where(right == 1.0, gold, 1.0 - gold)
            ours, rows = stats.binary_metrics(gold, answer, items), stats.binary_metrics(gold, answer)
            return {
                f"{name}, items repeat": interval(ours[key], truth, ours[key].method, on_rows=rows[key])
                for name, key, truth in (("balanced accuracy", "balanced_accuracy", rate), ("MCC", "mcc", mcc))
            }

        return run

    for positive, negative in ((10, 30), (10, 190), (20, 20), (100, 100)):
        for rate in (0.65, 0.93):
            for law in ("ICC 0.2", "ICC 1", "logit-normal sd 2"):
                kind = "equal items" if positive > 50 else "few items"
                name = f"{positive} + {negative} items × 6, TPR = TNR = {rate:g}, {law}"
                yield Design(kind, name, once(positive, negative, rate, law), cost=2)


def areas() -> Iterator[Design]:
    def once(size: str, law: str, correlation: float) -> Once:
        many = draws.many_confidences(law)
        risk = np.cumsum(1.0 - many) / np.arange(1.0, len(many) + 1.0)
        share = np.arange(1.0, len(many) + 1.0) / len(many)
        truths = float(risk.mean()), float((risk * share).mean()), float(risk[int(0.8 * len(many))])

        def run(rng: Rng) -> dict[str, Judged]:
            sizes = SIZES[size](rng)
            c = draws.confidences(rng, sizes, law)
            y, items = draws.judged(rng, sizes, c, correlation), np.repeat(np.arange(len(sizes)), sizes)
            area, rows = selective.selective(c, y, clusters=items), selective.selective(c, y)
            outcome = {}
            for name, key, truth in (("AURC", "aurc", truths[0]), ("AUGRC", "augrc", truths[1])):
                (lo, hi), (first, last) = (getattr(one, f"{key}_ends") or (None, None) for one in (area, rows))
                ours = Estimate(getattr(area, key), area.n, lo, hi, cautions=area.cautions)
                naive = Estimate(getattr(area, key), area.n, first, last)
                outcome[name] = interval(ours, truth, "linearised, cluster t", on_rows=naive)
            at, naive = selective.risk_at(c, y, 0.8, clusters=items), selective.risk_at(c, y, 0.8)
            outcome["risk at coverage 0.8"] = interval(at, truths[2], "Wilson, effective n, t", on_rows=naive)
            return outcome

        return run

    for size in (*FEW, "100 items × 6"):
        for law in draws.CONFIDENCES:
            for correlation in (0.0, 0.5, 1.0):
                name = f"{size}, {law}, correlation {correlation:g}"
                yield Design(draws.kind(size), name, once(size, law, correlation), cost=2)


def single_rates() -> Iterator[Design]:
    """One row per item."""

    def once(n: int, rate: float) -> Once:
        return lambda rng: {"rate": interval(stats.wilson(int(rng.binomial(n, rate)), n), rate, "Wilson")}

    for n in (20, 50, 100, 300, 1000):
        for rate in (0.5, 0.8, 0.9, 0.95, 0.99):
            kind = "one row per item" + (", near 0 or 1" if rate > 0.9 else "")
            yield Design(kind, f"{n} items × 1, rate {rate:g}", once(n, rate))


FAMILIES: dict[str, Callable[[], Iterator[Design]]] = {
    "rate": rates,
    "single": single_rates,
    "mean": means,
    "pairs": pairs,
    "calibration": calibrations,
    "rows": row_calibrations,
    "odds": odds,
    "tables": tables,
    "clustered-tables": clustered_tables,
    "areas": areas,
    "agreement": coverage_decisions.agreements,
    "looks": coverage_decisions.looks,
    "stops": coverage_decisions.stops,
    "rank": coverage_decisions.ranks,
}
