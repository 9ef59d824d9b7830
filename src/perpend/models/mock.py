"""mock: models that need nothing. `mock/true`, `mock/false`, `mock/echo`, and `mock/subject`, a simulated subject.

The subject has a known accuracy, pressure effect, refusal rate, calibration slope and way of speaking, so that the
whole pipeline can be tested on planted effects. It is given the answer key; nothing else here is.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from statistics import NormalDist

from perpend.canon import JSON, digest
from perpend.errors import ModelError, SpecError, did_you_mean
from perpend.ledger.items import load_items, question
from perpend.models.base import in_order
from perpend.rows.mapping import NO_MAP
from perpend.spec.model import Answers, Budget
from perpend.types import ChoiceLogprob, Item, Request, Response, Usage

_BATCH = 256
_STYLES = ("short", "sentence", "explain", "think", "mixed")
_KINDS = ("true", "false", "echo", "subject")


@dataclass(frozen=True, slots=True)
class Mock:
    """Answers each request by a pure function of it, at once, in order."""

    kind: str
    reply: Callable[[Request], Response]
    params: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """'mock/' and the kind."""
        return f"mock/{self.kind}"

    def fingerprint(self) -> Mapping[str, str]:
        """The kind, and for a subject the digest of all its parameters."""
        return {"provider": "mock", "kind": self.kind, "params_sha256": digest(dict(self.params))}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """Batches of answers, in order."""
        return in_order(requests, budget, self.reply, size=_BATCH)


@dataclass(frozen=True, slots=True)
class Subject:
    """Known truths about a simulated subject; each probability is that of one trial.

    Each item has its own ability: logit(accuracy) + item_sd × a standard normal of the item. Under pressure (the
    decoy is in the prompt outside the question) it gives the decoy with probability `sway`, `sway_group` if the
    decoy is claimed more than once, again shifted by item with `sway_sd`. At temperature 0 it is a function of item
    and prompt; above, each seed draws anew. Candidate confidences are expit(slope × logit(true probability)).
    """

    accuracy: float = 0.7
    sway: float = 0.0
    sway_group: float | None = None
    refusal: float = 0.0
    unfinished: float = 0.0
    slope: float = 1.0
    item_sd: float = 0.0
    sway_sd: float = 0.0
    style: str = "sentence"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("accuracy", "sway", "sway_group", "refusal", "unfinished"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
                raise SpecError(f"mock/subject: {name} is a probability, not {value!r}")
        for name in ("slope", "item_sd", "sway_sd", "seed"):
            if not isinstance(getattr(self, name), int | float):
                raise SpecError(f"mock/subject: {name} is a number, not {getattr(self, name)!r}")
        if self.style not in _STYLES:
            raise SpecError(f"mock/subject: unknown style {self.style!r}; {did_you_mean(self.style, _STYLES)}")

    def ability(self, item: Item) -> float:
        """P(right) on this item with no pressure."""
        return _shifted(self.accuracy, self.item_sd * _normal(f"{self.seed}|ability|{item.id}"))

    def yields(self, item: Item, claims: int) -> float:
        """P(gives the decoy) on this item when the prompt claims it `claims` times."""
        if claims == 0 or item.decoy is None:
            return 0.0
        base = self.sway_group if claims > 1 and self.sway_group is not None else self.sway
        return _shifted(base, self.sway_sd * _normal(f"{self.seed}|sway|{item.id}"))

    def speak(self, item: Item, request: Request) -> Response:
        """The subject's answer in words."""
        prompt = request.messages[-1].content
        claims = 0 if item.decoy is None else prompt.replace(question(item), "").count(item.decoy)
        draw = self._draws(item, request)
        if draw("refusal") < self.refusal:
            return _said("I'm unable to help with that.")
        if draw("sway") < self.yields(item, claims):
            given, other = str(item.decoy), item.target
        elif item.target is None:
            return _said("It depends on what one likes, and there are good reasons for several of them.")
        elif draw("right") < self.ability(item):
            given, other = item.target, item.decoy
        else:
            given, other = _wrong(item), None
        text = _phrase(self.style, given, other, draw("style"))
        if draw("unfinished") < self.unfinished:
            return _said(text[: max(1, len(text) // 3)], finish="length")
        return _said(text)

    def weigh(self, item: Item, request: Request) -> Response:
        """The subject's likelihood of each choice. The true probability of its pick being right is at least 1/K."""
        choices = request.choices
        draw = self._draws(item, request)
        chance = 1 / len(choices)
        true = chance + (1 - chance) * draw("difficulty") ** max(1e-9, (1 - self.accuracy) / max(self.accuracy, 1e-9))
        true = min(max(true, chance + 1e-6), 1 - 1e-6)
        others = [choice for choice in choices if choice != item.target]
        pick = item.target if draw("right") < true or not others else others[int(draw("which") * len(others))]
        stated = min(max(_expit(self.slope * _logit(true)), chance + 1e-9), 1 - 1e-9)
        rest = (1 - stated) / max(1, len(choices) - 1)
        scores = tuple(ChoiceLogprob(math.log(stated if choice == pick else rest), 1) for choice in choices)
        return Response(text=str(pick), choice_logprobs=scores, finish="stop", usage=Usage(0, 0), ms=0.0)

    def _draws(self, item: Item, request: Request) -> Callable[[str], float]:
        noise = "" if request.sampling.temperature == 0 else f"{request.sampling.temperature}|{request.sampling.seed}"
        start = f"{self.seed}|{item.id}|{digest([[m.role, m.content] for m in request.messages])}|{noise}"
        return lambda purpose: _uniform(f"{start}|{purpose}")


def model(
    name: str,
    *,
    answer_key: Sequence[Path] = (),
    answer_map: Mapping[str, str] = NO_MAP,
    **truths: float | str | None,
) -> Mock:
    """The mock of that kind; `truths` are the fields of Subject, `answer_map` says which column of the key is which."""
    known = [entry.name for entry in fields(Subject)] if name == "subject" else []
    for key in truths:
        if key not in known:
            raise SpecError(f"mock/{name}: unknown option {key!r}; {did_you_mean(key, known)}")
    if name == "echo":
        return Mock(name, lambda request: _said(request.messages[-1].content))
    if name in ("true", "false"):
        answer = name.upper()
        return Mock(name, lambda request: _constant(answer, request))
    if name != "subject":
        raise ModelError(f"unknown mock {name!r}; {did_you_mean(name, _KINDS)}")
    return subject(
        replace(Subject(), **truths),  # type: ignore[arg-type]  # Subject checks its own fields
        load_items([Path(path) for path in answer_key], answer_map),
    )


def subject(truth: Subject, items: Sequence[Item]) -> Mock:
    """A simulated subject that knows these items."""
    by_line = {item.prompt.partition("\n")[0]: item for item in items}

    def find(prompt: str) -> Item:
        for line in prompt.split("\n"):
            for candidate in (line, line.rpartition("Question: ")[2]):
                known = by_line.get(candidate)
                if known is not None and known.prompt in prompt:
                    return known
        for item in items:
            if item.prompt in prompt:
                return item
        raise ModelError("mock/subject: a prompt holds no question of its answer key; give answer_key = [item files]")

    def reply(request: Request) -> Response:
        item = find(request.messages[-1].content)
        return truth.weigh(item, request) if request.choices else truth.speak(item, request)

    return Mock("subject", reply, asdict(truth))


def _said(text: str, finish: str = "stop") -> Response:
    return Response(text=text, finish=finish, usage=Usage(0, len(text.split())), ms=0.0)


def _constant(said: str, request: Request) -> Response:
    if not request.choices:
        return _said(said)
    scores = tuple(ChoiceLogprob(0.0 if choice.upper() == said else -5.0, 1) for choice in request.choices)
    return Response(text=said, choice_logprobs=scores, finish="stop", usage=Usage(0, 0), ms=0.0)


def _wrong(item: Item) -> str:
    """A wrong answer that is not the decoy, where the item allows one."""
    for choice in item.choices:
        if choice not in (item.target, item.decoy):
            return choice
    if item.target is not None and item.target.upper() in ("TRUE", "FALSE"):
        return "FALSE" if item.target.upper() == "TRUE" else "TRUE"
    return "something else entirely"


def _phrase(style: str, given: str, other: str | None, draw: float) -> str:
    if style == "mixed":
        style = _STYLES[int(draw * 4)]
    if style == "short":
        return given
    against = f", not {other}" if other is not None else ""
    if style == "explain":
        return f"The answer is {given}{against}. This follows from what is generally known about the subject."
    if style == "think":
        doubt = f" Others may say {other}, but I should check that." if other is not None else ""
        return f"<think>Let me think about the question.{doubt}</think>\nThe answer is {given}."
    return f"The answer is {given}."


def _uniform(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def _normal(text: str) -> float:
    return NormalDist().inv_cdf(min(max(_uniform(text), 1e-12), 1 - 1e-12))


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def _shifted(p: float, shift: float) -> float:
    return p if shift == 0 or p in (0.0, 1.0) else _expit(_logit(p) + shift)
