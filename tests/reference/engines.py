"""One file of weights, two engines: llama.cpp and transformers on every verb probe.

    python -m tests.reference.engines [--items N]

Both read the embedded model in F16. For each probe: is the likeliest candidate the same, and how far apart are the
log-likelihoods per token?
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.ask.task import make_task
from perpend.ledger.items import read_items
from perpend.models.hf import model as hf
from perpend.models.local import model as local
from perpend.models.local.variants import make_variants
from perpend.spec.model import Budget, Model
from perpend.types import ChoiceLogprob, Item, Request, Sampling


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two engines agree: `same` of `n` probes have one likeliest candidate; `largest` difference per token."""

    n: int
    same: int
    largest: float


def probes() -> list[Item]:
    return [item for path in make_task("verbs", {}).items for _, item in read_items(path)]


def scores(model: Model, items: Sequence[Item]) -> list[tuple[ChoiceLogprob, ...]]:
    (condition,) = make_task("verbs", {}).conditions
    requests = [Request(condition.render(item), Sampling(), item.choices) for item in items]
    found = {key: response for batch in model.answer(iter(enumerate(requests)), Budget()) for key, response in batch}
    return [found[key].choice_logprobs or () for key in range(len(items))]


def compare(items: Sequence[Item], one: Model, other: Model) -> Agreement:
    same, largest = 0, 0.0
    for mine, theirs in zip(scores(one, items), scores(other, items), strict=True):
        means = [[(score.total or 0.0) / score.tokens for score in side] for side in (mine, theirs)]
        assert [score.tokens for score in mine] == [score.tokens for score in theirs]
        same += means[0].index(max(means[0])) == means[1].index(max(means[1]))
        largest = max(largest, *(abs(a - b) for a, b in zip(*means, strict=True)))
    return Agreement(len(items), same, largest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, help="only so many, evenly over all [all]")
    arguments = parser.parse_args()
    items = probes()
    if arguments.items:
        items = items[:: max(1, len(items) // arguments.items)][: arguments.items]
    with tempfile.TemporaryDirectory() as folder:
        made = str(make_variants("smollm2", Path(folder), ["f16"])["f16"])
        both = (local(made, endpoint="completions"), hf(made, endpoint="completions", device="cpu"))
        found = compare(items, *both)
    print(json.dumps({"probes": found.n, "same_argmax": found.same, "largest_difference_per_token": found.largest}))


if __name__ == "__main__":
    sys.exit(main())
