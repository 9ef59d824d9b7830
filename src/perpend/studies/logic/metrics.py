"""Replies → what each trial got → balanced accuracy and MCC with TPR and TNR, coverage, bias, by family and split.

Of `total` items, `valid` have a label, `invalid` a whole reply without one, `unfinished` a reply that was cut off and
`errors` none. Coverage is valid / total. Accuracies are over valid items; the 'effective' ones over all that got a
reply, where what is not valid counts as wrong. An error is nobody's answer: it lowers coverage and nothing else.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from perpend.canon import JSON
from perpend.errors import SpecError, did_you_mean
from perpend.judging.segment import NONE
from perpend.judging.verdict import declines
from perpend.measure.keys import BoolArray
from perpend.measure.plans import by_variant
from perpend.measure.study import Metric, Numbers
from perpend.measure.table import Reply, Table
from perpend.report.derive import coverage
from perpend.spec.resolve import packaged_scorer
from perpend.stats.binary import binary_metrics
from perpend.stats.proportions import proportion
from perpend.studies.logic.chaosbench.sets import GROUP_TAGS, NO_FAMILY, PROTOCOL, STRATA, Label, grouped, normalised
from perpend.studies.logic.design import PARSERS, why_unfinished
from perpend.types import Estimate, Item, Number, Response, Scorer

T = TypeVar("T")
Outcome: TypeAlias = Literal["VALID_TRUE", "VALID_FALSE", "INVALID", "UNFINISHED", "ERROR"]
OUTCOMES: tuple[Outcome, ...] = ("VALID_TRUE", "VALID_FALSE", "INVALID", "UNFINISHED", "ERROR")
NO_SPLIT = "unknown"
Reader: TypeAlias = Callable[[Item, Response], tuple[Outcome, str]]
"""A response → its outcome and the reason for it."""
PAIRS = "pairs_right"
LOW_SUPPORT = 100
"""Below this many items a family's number is marked: its interval is wide."""
SUMMARY = ("coverage", "accuracy_valid", "effective_accuracy", "balanced_accuracy", "mcc")
CONFUSION = ("tp", "fp", "tn", "fn")
ESTIMATES = (
    *("accuracy_valid", "accuracy_effective", "accuracy_bounds", "coverage", "tpr", "tnr", "balanced_accuracy"),
    *("balanced_accuracy_effective", "mcc", "bias", PAIRS),
)
WHOLE = 0.95
"""The share of replies that should be whole: the acceptance table asks for a coverage of 0.95."""
_LEAST_FINISHED = 20
_UNDEFINED = Estimate(None, 0, note="no item got a reply")
_BY_PARSER = ("valid", "coverage", "balanced_accuracy", "mcc", "tpr", "tnr")


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one item got.

    INVALID is a whole reply without a label, UNFINISHED one that was cut off, ERROR no reply at all. `first` is the
    outcome of the first reply, which `retry_outcome` differs from where a second one was asked for. `tokens` are those
    of the reply that counts.
    """

    id: str
    question: str
    truth: Label
    outcome: Outcome
    family: str
    split: str = NO_SPLIT
    text: str | None = None
    reason: str = ""
    latency_s: float | None = None
    retry_text: str | None = None
    retry_outcome: Outcome | None = None
    first: Outcome | None = None
    first_text: str | None = None
    error: str | None = None
    finish: str | None = None
    tokens: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> Label | None:
        """The label that was read; None unless the outcome is valid."""
        return "TRUE" if self.outcome == "VALID_TRUE" else "FALSE" if self.outcome == "VALID_FALSE" else None

    @property
    def correct(self) -> bool | None:
        """Whether the label is the true one; None without a label."""
        return None if self.label is None else self.label == self.truth

    @property
    def cluster(self) -> str | None:
        """What items with a common fact share: the group tag, else the system. None where neither is known."""
        return next((self.tags[tag] for tag in (*GROUP_TAGS, "system_id") if self.tags.get(tag)), None)

    @property
    def stratum(self) -> str:
        """What the item asks for; 'unknown' where it does not say."""
        return self.tags.get("stratum") or "unknown"

    @property
    def answer(self) -> float:
        """1 for TRUE, 0 for FALSE, NaN without a label."""
        return float("nan") if self.label is None else float(self.label == "TRUE")


def reader(parser: str) -> Reader:
    """The rule of that name, one of PARSERS: what a response is, and why.

    A label does not depend on the item, and most replies are one word: each text is read once.
    """
    if parser not in PARSERS:
        raise SpecError(f"logic: unknown parser {parser!r}; {did_you_mean(parser, PARSERS)}")
    scorer = packaged_scorer(parser)
    known: dict[tuple[str, str | None], tuple[Outcome, str]] = {}

    def read(item: Item, response: Response) -> tuple[Outcome, str]:
        if response.text is None:
            return "ERROR", response.error or "no reply"
        key = (response.text, response.finish)
        if key not in known:
            known[key] = _read(scorer, item, response, response.text)
        return known[key]

    return read


def _read(scorer: Scorer, item: Item, response: Response, text: str) -> tuple[Outcome, str]:
    score = scorer.judge(item, response)
    if score.answer in ("TRUE", "FALSE"):
        return "VALID_TRUE" if score.answer == "TRUE" else "VALID_FALSE", score.reason
    why = why_unfinished(text, response.finish) or (score.reason if score.reason.startswith(NONE) else None)
    return ("INVALID", score.reason) if why is None else ("UNFINISHED", why)


def prediction(item: Item, first: Response | None, second: Response | None, read: Reader) -> Prediction | None:
    """What an item got, by its replies to the first question and to a second; None where its target is no label.

    A first reply that was not kept was invalid: otherwise there would be no second.
    """
    truth, last = normalised(item.target), second or first
    if truth is None or last is None:
        return None
    outcome, reason = read(item, last)
    row = Prediction(
        id=item.id,
        question=item.prompt,
        truth=truth,
        outcome=outcome,
        family=item.tags.get("type") or item.tags.get("family") or NO_FAMILY,
        split=item.tags.get("split") or NO_SPLIT,
        text=last.text,
        reason=reason,
        latency_s=None if last.ms is None else last.ms / 1000.0,
        first=outcome,
        error=last.error,
        finish=last.finish,
        tokens=None if last.usage is None else last.usage.output,
        tags=item.tags,
    )
    if second is None:
        return row
    before = "INVALID" if first is None else read(item, first)[0]
    text = None if first is None else first.text
    return replace(row, retry_text=last.text, retry_outcome=outcome, first=before, first_text=text)


def predictions_of(table: Table, replies: Sequence[Reply], parser: str) -> list[tuple[int, Prediction]]:
    """(row, prediction) of every trial that was asked and whose item has a label, each reply read by that rule."""
    read, items = reader(parser), table.codes["item"]
    pairs = ((row, prediction(table.items[items[row]], first, second, read)) for row, first, second in replies)
    return [(row, one) for row, one in pairs if one is not None]


@dataclass(frozen=True, slots=True)
class Measured:
    """The counts and estimates of some predictions, by their names."""

    counts: Mapping[str, Number]
    estimates: Mapping[str, Estimate]

    def count(self, name: str) -> int:
        """One of the counts."""
        return int(self.counts.get(name) or 0)

    def value(self, name: str) -> float | None:
        """The value of an estimate; None where it is undefined."""
        return self.estimates.get(name, _UNDEFINED).value

    @property
    def verdict(self) -> Number:
        """'LABEL-BIASED' or 'OK'; None where nothing was answered."""
        return self.estimates.get("bias", _UNDEFINED).also.get("verdict")

    def numbers(self) -> dict[str, JSON]:
        """The numbers by the reference's names, and those that belong beside them. None is undefined."""
        dominant = self.estimates.get("bias", _UNDEFINED).also.get("dominant_label")
        others: dict[str, JSON] = {
            **self.counts,
            "confusion": {name: self.counts[name] for name in CONFUSION},
            "verdict": self.verdict,
            "dominant": None if dominant is None else "TRUE" if dominant == 1 else "FALSE",
        }
        return {name: others[of] if of in others else self.value(of) for name, of in PROTOCOL["numbers"].items()}

    def as_json(self) -> dict[str, JSON]:
        """The numbers, and every estimate with its interval, denominator and method."""
        intervals: dict[str, JSON] = {name: estimate.as_json() for name, estimate in self.estimates.items()}
        return {**self.numbers(), "estimates": intervals}


def measure(predictions: Sequence[Prediction]) -> Measured:
    """The numbers of some predictions; intervals clustered by group or system where every item has one."""
    states = Counter(prediction.outcome for prediction in predictions)
    total, invalid, unfinished, errors = (len(predictions), *(states[s] for s in ("INVALID", "UNFINISHED", "ERROR")))
    clusters, clustered_by = _clusters(predictions)
    pairs = Counter((prediction.label, prediction.truth) for prediction in predictions)
    estimates: dict[str, Estimate] = {}
    rows = [row for row, prediction in enumerate(predictions) if prediction.outcome != "ERROR"]
    if rows:
        gold = np.array([predictions[row].truth == "TRUE" for row in rows], dtype=np.float64)
        answers = np.array([predictions[row].answer for row in rows])
        estimates |= binary_metrics(gold, answers, None if clusters is None else [clusters[row] for row in rows])
    if predictions:
        valid = np.array([prediction.label is not None for prediction in predictions], dtype=np.float64)
        estimates["coverage"] = proportion(valid, clusters)
    if is_stratified(predictions):
        estimates[PAIRS] = pairs_right(predictions)
    tp, tn = pairs["TRUE", "TRUE"], pairs["FALSE", "FALSE"]
    counts: dict[str, Number] = {
        "total": total,
        "valid": states["VALID_TRUE"] + states["VALID_FALSE"],
        "invalid": invalid,
        "unfinished": unfinished,
        "errors": errors,
        "correct": tp + tn,
        "invalid_rate": invalid / total if total else None,
        "unfinished_rate": unfinished / total if total else None,
        "error_rate": errors / total if total else None,
        "tp": tp,
        "fp": pairs["TRUE", "FALSE"],
        "tn": tn,
        "fn": pairs["FALSE", "TRUE"],
        "low_support": total < LOW_SUPPORT,
        "clustered_by": clustered_by,
    }
    return Measured(counts, estimates)


def _clusters(predictions: Sequence[Prediction]) -> tuple[list[str] | None, str]:
    known = [cluster for cluster in (prediction.cluster for prediction in predictions) if cluster is not None]
    if known and len(known) == len(predictions):
        return known, f"{len(set(known))} groups of items with a common fact or system"
    ids = [prediction.id for prediction in predictions]
    if len(set(ids)) < len(ids):
        return ids, f"{len(set(ids))} items, some of them asked several times"
    return None, "nothing: the predictions name no group and no system"


def first_replies(predictions: Sequence[Prediction]) -> Estimate:
    """Valid first replies / items; `also` has how many were asked again, and the coverage after that."""
    total = len(predictions)
    valid = sum(prediction.first in ("VALID_TRUE", "VALID_FALSE") for prediction in predictions)
    after = sum(prediction.label is not None for prediction in predictions)
    again = sum(prediction.retry_outcome is not None for prediction in predictions)
    also: dict[str, Number] = {"reprompted": again, "coverage_after_reprompt": after / total if total else None}
    return Estimate(valid / total if total else None, total, method="valid first replies / items", also=also)


def invalid_kinds(predictions: Sequence[Prediction]) -> Estimate:
    """Invalid replies by kind, in `also`: empty_response, refusal, hedging, formatting_failure; and by true label."""
    kinds: Counter[str] = Counter()
    for prediction in predictions:
        if prediction.outcome == "INVALID":
            text = prediction.text or ""
            hedges = "hedge" in prediction.reason or "ambiguity" in prediction.reason
            declined = not hedges and declines(text)
            kind = "hedging" if hedges else "refusal" if declined else "formatting_failure"
            kinds[kind if text.strip() else "empty_response"] += 1
            kinds[f"truth_{prediction.truth}"] += 1
    invalid = sum(prediction.outcome == "INVALID" for prediction in predictions)
    return Estimate(invalid, len(predictions), method="count", also=dict(sorted(kinds.items())))


def token_budget(predictions: Sequence[Prediction], max_tokens: int | None) -> Estimate:
    """The tokens that 95% of the replies need; n counts replies, `also` has the limit and how many were cut off.

    Exact where at most 5% are cut off. Otherwise the quantile of a log-normal law fitted to the lengths of whole
    replies, with the others as 'longer than the limit'. Undefined where none is cut off, or too few were whole to fit.
    """
    replies = [p for p in predictions if p.outcome != "ERROR"]
    cut = sum(p.outcome == "UNFINISHED" for p in replies)
    whole = np.array([p.tokens for p in replies if p.outcome != "UNFINISHED" and p.tokens], dtype=np.float64)
    needed: float | None = None
    if not cut:
        note = "every reply was whole"
    elif len(whole) < _LEAST_FINISHED:
        note = f"not known: {len(whole)} whole replies have a token count, {_LEAST_FINISHED} are needed to estimate it"
    elif cut <= (1.0 - WHOLE) * (cut + len(whole)):
        needed = float(np.sort(whole)[math.ceil(WHOLE * (cut + len(whole))) - 1])
        note = f"at most so many tokens in {WHOLE:.0%} of the replies"
    elif max_tokens is None:
        note = "not known: the limit is not recorded"
    else:
        from scipy.stats import CensoredData, lognorm

        longer = np.full(cut, float(max_tokens))
        shape, _, scale = lognorm.fit(CensoredData(uncensored=whole, right=longer), floc=0.0)
        needed = float(math.ceil(lognorm.ppf(WHOLE, shape, scale=scale)))
        note = f"extrapolated: {WHOLE:.0%} quantile of a log-normal law fitted to {len(whole)} whole, {cut} cut replies"
    return Estimate(needed, len(replies), note=note, also={"max_tokens": max_tokens, "unfinished": cut})


def is_stratified(predictions: Sequence[Prediction]) -> bool:
    """Whether every item names its stratum and its pair; those of the reference do not."""
    return bool(predictions) and all(one.tags.get("stratum") and one.tags.get("pair") for one in predictions)


def in_order(strata: Mapping[str, T]) -> dict[str, T]:
    """Strata as the set lists them; unknown ones last."""
    return {name: strata[name] for name in (*STRATA, *sorted(strata.keys() - {*STRATA})) if name in strata}


def pairs_right(predictions: Sequence[Prediction]) -> Estimate:
    """Of the pairs with a TRUE and a FALSE item that were asked: the share whose items are all answered right.

    A pair is what shares the tag `pair`, a bundle of two items or more. What is not valid counts as wrong; a pair with
    an item that got no reply is left out. `also` has what guessing gives. Undefined without such a pair. Clustered by
    the group of the pair's first item.
    """
    pairs = grouped((prediction.tags.get("pair", ""), prediction) for prediction in predictions)
    whole = [
        rows
        for rows in pairs.values()
        if {row.truth for row in rows} == {"TRUE", "FALSE"} and all(row.outcome != "ERROR" for row in rows)
    ]
    if not whole:
        return Estimate(None, 0, note="no pair was asked as a whole")
    right = np.array([all(row.correct for row in rows) for rows in whole], dtype=np.float64)
    share = proportion(right, [rows[0].cluster or rows[0].id for rows in whole])
    guessing: Number = float(np.mean([0.5 ** len(rows) for rows in whole]))
    return replace(share, also={**share.also, "guessing": guessing})


@dataclass(frozen=True, slots=True)
class MetricCell:
    """Some predictions of one model at one temperature under one rule: how their numbers are named.

    `digest` gives the digest of the columns of some of the predictions, by their positions.
    """

    parser: str
    where: Mapping[str, str]
    max_tokens: int | None = None
    digest: Callable[[Sequence[int]], str] = lambda _rows: ""

    def metrics(self, predictions: Sequence[Prediction]) -> Iterator[Metric]:
        """Every number: of all, by family, by split; by stratum where items have one.

        `part` in `where` says which.
        """
        everything = range(len(predictions))
        yield from self._measured(predictions, everything, {"part": "all"})
        for name, estimate in (
            ("first_replies", first_replies(predictions)),
            ("invalid_kinds", invalid_kinds(predictions)),
            ("token_budget", token_budget(predictions, self.max_tokens)),
        ):
            yield Metric(name, self.parser, {**self.where, "part": "all"}, estimate, self.digest(everything))
        for key in ("family", "split", *(("stratum",) if is_stratified(predictions) else ())):
            groups = grouped((str(getattr(prediction, key)), row) for row, prediction in enumerate(predictions))
            for value, rows in groups.items():
                yield from self._measured(predictions, rows, {"part": key, key: value})

    def _measured(
        self, predictions: Sequence[Prediction], rows: Sequence[int], part: Mapping[str, str]
    ) -> Iterator[Metric]:
        measured = measure([predictions[row] for row in rows])
        where, digest = {**self.where, **part}, self.digest(rows)
        counted = Estimate(len(rows), len(rows), method="count", also=measured.counts)
        yield Metric("outcomes", self.parser, where, counted, digest)
        for name, estimate in measured.estimates.items():
            yield Metric(name, self.parser, where, estimate, digest)


def study_metrics(table: Table) -> Iterator[Metric]:
    """Every number of the study: of each model and temperature, under each rule of reading a reply.

    A model that was asked with several top_p, limits or stops is one for each.
    """
    yield from coverage(table)
    table = by_variant(table)
    replies = list(table.replies())
    models, temperatures = table.codes["model"], table.codes["temperature"]
    cells = list(dict.fromkeys(zip(models.tolist(), temperatures.tolist(), strict=True)))
    # All rules where the table has no scores of theirs.
    for parser in [parser for parser in PARSERS if parser in table.scorers] or PARSERS:
        pairs = predictions_of(table, replies, parser)
        for model, temperature in cells:
            own = [(row, one) for row, one in pairs if (models[row], temperatures[row]) == (model, temperature)]
            where = {"model": table.names["model"][model], "temperature": table.names["temperature"][temperature]}
            limit = _max_tokens(table, (models == model) & (temperatures == temperature))
            cell = MetricCell(parser, where, limit, _digest(table, parser, [row for row, _ in own]))
            yield from cell.metrics([one for _, one in own])


def parsers(numbers: Numbers) -> tuple[str, ...]:
    """The rules that the numbers are by, in the order of metrics.json."""
    return tuple(dict.fromkeys(metric.scorer for metric in numbers.find("outcomes", part="all")))


def _digest(table: Table, parser: str, rows: Sequence[int]) -> Callable[[Sequence[int]], str]:
    columns = [parser] if table.has(parser) else []

    def digest(places: Sequence[int]) -> str:
        mask = np.zeros(len(table), dtype=np.bool_)
        mask[[rows[place] for place in places]] = True
        return table.digest(columns, mask)

    return digest


def _max_tokens(table: Table, rows: BoolArray) -> int | None:
    """The token limit of some rows; None where they have several."""
    names = table.names["sampling"]
    limits = {json.loads(names[code])["max_tokens"] for code in np.unique(table.codes["sampling"][rows]).tolist()}
    return int(limits.pop()) if len(limits) == 1 else None


def parser_of(numbers: Numbers) -> str:
    """The rule that the runs were read by; the first that there are numbers of where they name none, or several."""
    stated = {str(manifest.options.get("parser", PARSERS[0])) for manifest in numbers.manifests}
    known = parsers(numbers) or PARSERS
    chosen = stated.pop() if len(stated) == 1 else known[0]
    if chosen not in known:
        raise SpecError(f"logic: there are no numbers by the parser {chosen!r}; {did_you_mean(chosen, known)}")
    return chosen


def cells_of(numbers: Numbers) -> list[dict[str, str]]:
    """The model and the temperature of every cell, in the order of metrics.json."""
    metrics = [m for first in parsers(numbers)[:1] for m in numbers.find("outcomes", first, part="all")]
    return [{key: metric.where[key] for key in ("model", "temperature")} for metric in metrics]


def measured(numbers: Numbers, parser: str, **where: str) -> Measured:
    """The counts and estimates of one cell and part, as metrics.json states them."""
    estimates = ((name, numbers.get(name, parser, **where)) for name in ESTIMATES)
    known = {name: estimate for name, estimate in estimates if estimate is not None}
    return Measured(numbers.cite("outcomes", parser, **where).also, known)


def parts(numbers: Numbers, parser: str, part: str, **cell: str) -> dict[str, Measured]:
    """The numbers of each family, split or stratum of a cell, in the order of metrics.json."""
    names = [metric.where[part] for metric in numbers.find("outcomes", parser, part=part, **cell)]
    return {name: measured(numbers, parser, part=part, **{part: name}, **cell) for name in names}


def protocol(numbers: Numbers, parser: str, **cell: str) -> dict[str, JSON]:
    """The numbers of one cell by the names that metrics.json has in the benchmark's protocol."""
    overall, known = measured(numbers, parser, part="all", **cell), strata(numbers, parser, **cell)
    first, kinds, budget = (
        numbers.cite(name, parser, part="all", **cell) for name in ("first_replies", "invalid_kinds", "token_budget")
    )
    return {
        **overall.numbers(),
        "reprompted": first.also["reprompted"],
        "coverage_first_reply": first.value,
        "coverage_after_reprompt": first.also["coverage_after_reprompt"],
        "invalid_kinds": dict(kinds.also),
        "token_budget": {**budget.also, "replies": budget.n, "needed_max_tokens": budget.value, "note": budget.note},
        "clustered_by": overall.counts["clustered_by"],
        "estimates": overall.as_json()["estimates"],
        "per_family": {name: one.as_json() for name, one in parts(numbers, parser, "family", **cell).items()},
        "per_split": {name: one.as_json() for name, one in parts(numbers, parser, "split", **cell).items()},
        **({"per_stratum": {name: one.as_json() for name, one in known.items()}} if known else {}),
    }


def strata(numbers: Numbers, parser: str, **cell: str) -> dict[str, Measured]:
    """The numbers of each stratum, in the set's order; none where items are of no stratum."""
    return in_order(parts(numbers, parser, "stratum", **cell))


def seed_names(numbers: Numbers) -> dict[str, JSON]:
    """The protocol's keys of metrics.json. With several models or temperatures, one object for each under `models`."""
    parser, cells = parser_of(numbers), cells_of(numbers)
    bodies: dict[str, JSON] = {}
    for cell in cells:
        body = protocol(numbers, parser, **cell) | {"by_parser": by_parser(numbers, **cell)}
        if len(cells) == 1:
            return body
        bodies[f"{cell['model']}, temperature {cell['temperature']}"] = body
    return {"models": bodies}


def by_parser(numbers: Numbers, **cell: str) -> dict[str, JSON]:
    """Coverage, balanced accuracy, MCC, TPR and TNR under each rule of reading a reply, from the same texts."""
    bodies = {parser: measured(numbers, parser, part="all", **cell).numbers() for parser in parsers(numbers)}
    return {parser: {key: body[key] for key in _BY_PARSER} for parser, body in bodies.items()}
