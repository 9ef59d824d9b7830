"""What later versions must not change silently: verdicts of scorers, words of conditions, values of statistics.

`python -m tests.pinned` writes down what has no pinned value yet: a new scorer version, condition or statistic. It
never changes a value that is there: tests/golden/formats/*.json is evidence of what older versions did.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from perpend import stats
from perpend.ask.task import make_task
from perpend.judging.scorers import SCORERS
from perpend.ledger.manifest import template
from perpend.stats import brier, calibration, calibration_error, selective
from perpend.types import ChoiceLogprob, Estimate, Item, Message, Response, Score, Scorer

FOLDER = Path(__file__).parent / "golden" / "formats"
TASKS: tuple[tuple[str, dict[str, object]], ...] = (
    ("questions", {}),
    ("questions", {"system": None}),
    ("conformity", {}),
    ("conformity", {"confidence": "low", "claim": "low", "without_system": True}),
    ("conformity", {"confederates": 3, "consensus": "diverse"}),
    ("conformity", {"consensus": "dissent"}),
    ("logic", {}),
    ("verbs", {}),
)


def scorers() -> Iterator[Scorer]:
    """Every packaged version of every packaged scorer."""
    for versions in SCORERS.values():
        yield from versions


def corpus() -> list[tuple[Item, Response]]:
    """1033 texts with their items, fixed for good: a new case goes into tests/golden/*.jsonl."""
    lines = (FOLDER / "corpus.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    return [(_item(body), _response(body)) for body in map(json.loads, lines)]


def _item(body: Mapping[str, object]) -> Item:
    lists = {key: tuple(body.get(key, ())) for key in ("choices", "aliases")}
    return Item("pinned", str(body.get("prompt", "?")), body.get("target"), decoy=body.get("decoy"), **lists)


def _response(body: Mapping[str, object]) -> Response:
    pairs = body.get("logprobs")
    likely = None if pairs is None else tuple(ChoiceLogprob(*pair) for pair in pairs)
    return Response(body.get("text"), body.get("error"), likely, body.get("finish"))


def verdict(score: Score) -> str:
    """One judgement as a line; of a share of a softmax the digits that every machine agrees on."""
    value = None if score.value is None else f"{score.value:.12g}"
    return json.dumps([value, score.answer, score.reason, score.span], ensure_ascii=False)


def verdicts(scorer: Scorer) -> dict[str, str]:
    """The SHA-256 of all verdicts on the corpus, and four hex digits of that of each, to say which one changed."""
    lines = [verdict(scorer.judge(item, response)) for item, response in corpus()]
    return {"sha256": _sha256("\n".join(lines)), "each": "".join(_sha256(line)[:4] for line in lines)}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


ASKED = Item(
    "asked",
    "Which {planet} is “largest”?",
    "Jupiter",
    ("Jupiter", "Saturn", "Mars"),
    "Saturn",
    tags={"others": "Io; Ganymed"},
)


def templates() -> dict[str, dict[str, str]]:
    """Of every packaged condition and second turn: the digest of its words, as a manifest states it, and of what a
    model is sent for one item."""
    digests = {}
    for name, options in TASKS:
        task = make_task(name, options)
        said = ", ".join(f"{key}={value}" for key, value in options.items())
        messages: tuple[Message, ...] = ()
        for condition in task.conditions:
            messages = condition.render(ASKED)
            words = template(condition.name, condition.params).sha256
            digests[f"{name}({said}): {condition.name}"] = {"words": words, "messages": _sent(messages)}
        if task.reprompt is not None:
            words = template("reprompt", task.reprompt.params).sha256
            again = task.reprompt.render(messages, Response("<think>Hm.</think>Perhaps."))
            digests[f"{name}({said}): second turn"] = {"words": words, "messages": _sent(again)}
    return digests


def _sent(messages: tuple[Message, ...]) -> str:
    return _sha256(json.dumps([[message.role, message.content] for message in messages], ensure_ascii=False))


N = np.arange(120)
ITEMS = N // 3
CONTROL = ((N * N + 3 * N) % 7 < 3).astype(float)
PRESSURE = ((N * N + N // 3) % 11 < 4).astype(float)
RETEST = ((N * N + 3 * N + N // 17) % 7 < 3).astype(float)
CONFIDENCE = (2 * ((N * 37) % 101) + 1) / 203
COUNTS = stats.Confusion(tp=41, fp=9, fn=14, tn=27, invalid=6, invalid_positive=4)


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


STATISTICS: dict[str, Callable[[], object]] = {
    "wilson": lambda: stats.wilson(7, 23),
    "clopper_pearson, level 0.9": lambda: stats.clopper_pearson(7, 23, level=0.9),
    "risk_difference": lambda: stats.risk_difference(7, 23, 11, 19),
    "proportion": lambda: stats.proportion(CONTROL),
    "proportion, clustered": lambda: stats.proportion(CONTROL, ITEMS),
    "proportion, clustered, exact": lambda: stats.proportion(CONTROL, ITEMS, method="clopper-pearson"),
    "mean": lambda: stats.mean(CONFIDENCE),
    "mean, clustered": lambda: stats.mean(CONFIDENCE, ITEMS),
    "mcnemar": lambda: stats.mcnemar(13, 5),
    "paired_difference": lambda: stats.paired_difference(CONTROL, PRESSURE),
    "paired_difference, clustered": lambda: stats.paired_difference(CONTROL, PRESSURE, ITEMS),
    "override": lambda: stats.override(CONTROL, PRESSURE),
    "override, clustered": lambda: stats.override(CONTROL, PRESSURE, ITEMS),
    "rescue, clustered": lambda: stats.rescue(CONTROL, PRESSURE, ITEMS),
    "flip, clustered": lambda: stats.flip(CONTROL, PRESSURE, ITEMS),
    "excess, clustered": lambda: stats.excess(CONTROL, PRESSURE, RETEST, ITEMS),
    "paired_odds_ratio": lambda: stats.paired_odds_ratio(13, 5),
    "paired_test": lambda: stats.paired_test(CONTROL, PRESSURE),
    "paired_test, clustered": lambda: stats.paired_test(CONTROL, PRESSURE, ITEMS, rng=_rng()),
    "sign_flip, sampled": lambda: stats.sign_flip((N * 7919) % 100003 - 40000, rng=_rng()),
    "confusion_metrics": lambda: stats.confusion_metrics(COUNTS),
    "binary_metrics, clustered": lambda: stats.binary_metrics(CONTROL, PRESSURE, ITEMS),
    "paired_bootstrap": lambda: stats.paired_bootstrap(CONTROL, PRESSURE, RETEST, ITEMS),
    "accuracy_bounds": lambda: stats.confusion_metrics(COUNTS)["accuracy_bounds"],
    "mde_paired": lambda: stats.mde_paired(120, 0.3),
    "mcnemar_power": lambda: stats.mcnemar_power(120, 0.2, 0.08),
    "ece_estimate": lambda: calibration.ece_estimate(CONFIDENCE, CONTROL),
    "ece_estimate, clustered": lambda: calibration.ece_estimate(CONFIDENCE, CONTROL, 8, clusters=ITEMS, rng=_rng()),
    "ece": lambda: calibration_error.ece(CONFIDENCE, CONTROL),
    "smooth_ece": lambda: calibration_error.smooth_ece(CONFIDENCE, CONTROL),
    "debiased_l2_squared": lambda: calibration_error.debiased_l2_squared(CONFIDENCE, CONTROL),
    "brier_estimate, clustered": lambda: brier.brier_estimate(CONFIDENCE, CONTROL, clusters=ITEMS),
    "brier_skill": lambda: brier.brier_skill(CONFIDENCE, CONTROL),
    "spiegelhalter, clustered": lambda: brier.spiegelhalter(CONFIDENCE, CONTROL, clusters=ITEMS),
    "aurc": lambda: selective.aurc(CONFIDENCE, CONTROL),
    "risk_at": lambda: selective.risk_at(CONFIDENCE, CONTROL, 0.5),
    "holm": lambda: stats.holm([0.01, 0.04, 0.03, 0.5]).tolist(),
    "benjamini_hochberg": lambda: stats.benjamini_hochberg([0.01, 0.04, 0.03, 0.5]).tolist(),
}


def plain(value: object) -> object:
    """What a statistic gave, as JSON: of a caution its id and number."""
    if isinstance(value, Estimate):
        body = value.as_json()
        return {**body, "cautions": [[caution.id, caution.number] for caution in value.cautions]}
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value


def statistics() -> dict[str, object]:
    """Every pinned statistic on the columns above."""
    return {name: plain(compute()) for name, compute in STATISTICS.items()}


KINDS: dict[str, Callable[[], Mapping[str, object]]] = {
    "verdicts": lambda: {f"{scorer.name}@{scorer.version}": verdicts(scorer) for scorer in scorers()},
    "templates": templates,
    "statistics": statistics,
}


def pinned(kind: str) -> dict[str, object]:
    """What is written down of one kind, by name."""
    path = FOLDER / f"{kind}.json"
    body: dict[str, object] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return body


if __name__ == "__main__":
    for kind, compute in KINDS.items():
        known = pinned(kind)
        new = {name: value for name, value in compute().items() if name not in known}
        lines = (f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in sorted({**known, **new}.items()))
        (FOLDER / f"{kind}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        print(f"{kind}: {len(new)} new, {len(known)} as they were")
