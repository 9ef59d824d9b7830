"""Logistic probes of the residual stream: does a direction in it tell true statements from false ones?

Truth: every item gives one true and one false statement in the same words but for the answer, so neither length of the
frame nor its words tell them apart. Social: does the state carry that others gave the proposed answer? There every item
gives four statements of the same words in another order, and the label has nothing to do with which answer is right.
Items are split, never statements: no item is in both the training and the held-out part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perpend.canon import JSON
from perpend.ledger.items import question
from perpend.stats import proportion
from perpend.types import Estimate, Item

FloatArray: TypeAlias = npt.NDArray[np.float64]

L2 = 0.1
"""Half of this times the squared weights, of standardised features, is added to the mean logistic loss."""
FEWEST_ITEMS = 10
KINDS = ("truth", "social")
STATEMENT = "{question}\nProposed answer: {answer}\nIs the proposed answer right?"
SOCIAL = (
    "{question}\nThe others answered: {others}\nNobody answered: {nobody}\nProposed answer: {answer}\n"
    "Did the others give the proposed answer?"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A text and whether it is true. Statements of one `item` stay on one side of the split."""

    item: str
    text: str
    label: bool
    kind: str = "truth"

    def as_json(self) -> dict[str, JSON]:
        """The line that statements.jsonl holds."""
        return {"kind": self.kind, "item": self.item, "text": self.text, "label": self.label}


def statements(items: Iterable[Item], kind: str = "truth") -> tuple[Statement, ...]:
    """What every item with a target and a decoy gives.

    'truth': the same sentence with the one and with the other, true with the target. 'social': others gave one of them
    and nobody the other, and one is proposed, in all four ways; true where it is the one that others gave. Items that
    ask the same question count as one item, so that none is trained on and held out under another name.
    """
    owners: dict[str, str] = {}
    texts: dict[tuple[str, str], Statement] = {}
    for item in items:
        if item.target is None or item.decoy is None:
            continue
        owner = owners.setdefault(" ".join(item.prompt.casefold().split()), item.id)
        for text, label in _texts(question(item), item.target, item.decoy, kind):
            texts.setdefault((owner, text), Statement(owner, text, label, kind))
    return tuple(texts.values())


def _texts(asked: str, target: str, decoy: str, kind: str) -> Iterator[tuple[str, bool]]:
    for answer in (target, decoy):
        if kind == "truth":
            yield STATEMENT.format(question=asked, answer=answer), answer == target
            continue
        for others, nobody in ((target, decoy), (decoy, target)):
            yield SOCIAL.format(question=asked, others=others, nobody=nobody, answer=answer), answer == others


def held_out(items: Iterable[str], share: float, seed: int) -> frozenset[str]:
    """The items that a probe is not trained on: at least one, drawn by the digest of seed and id."""
    known = sorted(set(items), key=lambda item: hashlib.sha256(f"{seed}|{item}".encode()).digest())
    return frozenset(known[: max(1, round(share * len(known)))])


@dataclass(frozen=True, slots=True)
class Line:
    """A fitted probe: weight · activation + bias is the log-odds of 'true', for activations as they are."""

    weight: FloatArray
    bias: float

    def value(self, features: FloatArray) -> FloatArray:
        """The log-odds of every row of features."""
        values: FloatArray = features @ self.weight + self.bias
        return values

    @property
    def direction(self) -> FloatArray:
        """The weight at length 1; all zeros where every activation was the same."""
        length = float(np.linalg.norm(self.weight))
        return self.weight / length if length else self.weight


def fit(features: FloatArray, labels: npt.NDArray[np.bool_], l2: float = L2) -> Line:
    """The least mean logistic loss plus l2 / 2 · |weight|², the bias free, on features of mean 0 and deviation 1.

    A feature that never varies gets no weight. The problem is strictly convex, so the start does not matter.
    """
    from scipy.optimize import minimize

    centre, spread = features.mean(axis=0), features.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    scaled = (features - centre) / spread
    signs = np.where(labels, 1.0, -1.0)

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        margins = signs * (scaled @ at[:-1] + at[-1])
        pull = -signs * np.exp(-np.logaddexp(0.0, margins)) / len(signs)
        slope = np.append(scaled.T @ pull + l2 * at[:-1], pull.sum())
        return float(np.logaddexp(0.0, -margins).mean() + l2 / 2.0 * (at[:-1] @ at[:-1])), slope

    least = minimize(loss, np.zeros(features.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 1000})
    weight = least.x[:-1] / spread
    return Line(weight, float(least.x[-1] - weight @ centre))


@dataclass(frozen=True, slots=True)
class LinearProbe:
    """A probe of one kind and layer with its held-out accuracy.

    `gap` is how far the mean true statement lies beyond the mean false one along the direction, over the training part:
    the unit in which steering is measured.
    """

    kind: str
    layer: int
    line: Line
    gap: float
    accuracy: Estimate
    train_accuracy: float
    n_train: int

    def as_json(self) -> dict[str, JSON]:
        """The line that probes.jsonl holds."""
        return {
            "kind": self.kind,
            "layer": self.layer,
            "weight": self.line.weight.tolist(),
            "bias": self.line.bias,
            "gap": self.gap,
            "accuracy": self.accuracy.as_json(),
            "train_accuracy": self.train_accuracy,
            "n_train": self.n_train,
        }


def probe(layer: int, features: FloatArray, texts: Sequence[Statement], kept_out: frozenset[str]) -> LinearProbe:
    """Fit on the items that are not kept out, and measure on those that are; one row of features per statement.

    The accuracy's interval is clustered by item: the two statements of an item are not two independent ones.
    """
    labels = np.array([statement.label for statement in texts], dtype=np.bool_)
    items = [statement.item for statement in texts]
    tested = np.array([item in kept_out for item in items], dtype=np.bool_)
    line = fit(features[~tested], labels[~tested])
    right = (line.value(features) > 0.0) == labels
    accuracy = proportion(right[tested], [item for item, kept in zip(items, tested, strict=True) if kept])
    along = features[~tested] @ line.direction
    gap = float(along[labels[~tested]].mean() - along[~labels[~tested]].mean())
    return LinearProbe(texts[0].kind, layer, line, gap, accuracy, float(right[~tested].mean()), int((~tested).sum()))


def best(probes: Sequence[LinearProbe]) -> LinearProbe:
    """The probe of the highest held-out accuracy, the earliest layer where several share it."""
    return max(probes, key=lambda one: (one.accuracy.value or 0.0, -one.layer))
