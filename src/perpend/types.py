"""The values that flow through perpend: few, frozen, slotted. Nothing here computes anything but its own identity."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias

from perpend.canon import JSON, dumps, quoted
from perpend.errors import DataError
from perpend.inert import one_line

Role: TypeAlias = Literal["system", "user", "assistant"]
Number: TypeAlias = float | int | str | bool | None


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Item:
    """One question. `target` None means that no answer is right (an opinion); `decoy` is the planted wrong answer."""

    id: str
    prompt: str
    target: str | None = None
    choices: tuple[str, ...] = ()
    decoy: str | None = None
    aliases: tuple[str, ...] = ()
    """Other spellings of the target that count as the target."""
    tags: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, JSON]:
        """The item as canonical JSON holds it; absent parts are left out, so adding a field moves no digest."""
        body: dict[str, JSON] = {"id": self.id, "prompt": self.prompt}
        if self.target is not None:
            body["target"] = self.target
        if self.choices:
            body["choices"] = list(self.choices)
        if self.decoy is not None:
            body["decoy"] = self.decoy
        if self.aliases:
            body["aliases"] = list(self.aliases)
        if self.tags:
            body["tags"] = dict(self.tags)
        return body


@dataclass(frozen=True, slots=True)
class Condition:
    """How an item is put to a model. `params` hold everything that shapes the messages, template texts included."""

    name: str
    render: Callable[[Item], tuple[Message, ...]]
    params: Mapping[str, JSON]
    needs_decoy: bool = False


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn. `seed` None sends none; `top_p` None and `stop` () leave the server's own."""

    temperature: float = 0.0
    max_tokens: int = 512
    seed: int | None = 42
    top_p: float | None = None
    stop: tuple[str, ...] = ()

    def as_json(self) -> dict[str, JSON]:
        """Every decode parameter by its name."""
        return {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "top_p": self.top_p,
            "stop": list(self.stop),
        }

    def canonical(self) -> str:
        """`as_json` as canonical JSON. A trial has a seed of its own; the rest is the same for many."""
        if type(self.seed) is not int:
            return dumps(self.as_json())
        before, after = _around_seed(self.max_tokens, tuple(self.stop), self.temperature, self.top_p)
        return f"{before}{self.seed}{after}"


@lru_cache(maxsize=256, typed=True)
def _around_seed(max_tokens: int, stop: tuple[str, ...], temperature: float, top_p: float | None) -> tuple[str, str]:
    body = Sampling(temperature, max_tokens, 0, top_p, stop).as_json()
    before, seed, after = dumps(body).partition('"seed":')
    return before + seed, after.removeprefix("0")


@dataclass(frozen=True)  # not slotted: the digest is computed once and kept
class Request:
    """Everything that determines an answer but the model. `choices` asks for the likelihood of each instead of text."""

    messages: tuple[Message, ...]
    sampling: Sampling
    choices: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hex, of messages, sampling and choices as canonical JSON, which is made by hand: of trials there
        are many."""
        messages = ",".join([f"[{quoted(message.role)},{quoted(message.content)}]" for message in self.messages])
        choices = ",".join(map(quoted, self.choices))
        body = f'{{"choices":[{choices}],"messages":[{messages}],"sampling":{self.sampling.canonical()}}}'
        return hashlib.sha256(body.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them, and what it was fed; None where it did not say."""

    input: int | None = None
    output: int | None = None
    prompt_sha256: str | None = None
    """SHA-256, in hex, of the text that the model read, template applied, where the provider knows it."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What asking came to: requests with their retries, and tokens as the server counted them, of failures too.

    `uncounted` answers came without a count of their tokens, in or out.
    """

    requests: int = 0
    input: int = 0
    output: int = 0
    uncounted: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(*(getattr(self, name) + getattr(other, name) for name in Spent.__slots__))

    def __or__(self, other: Spent) -> Spent:
        """The greater number of each."""
        return Spent(*(max(getattr(self, name), getattr(other, name)) for name in Spent.__slots__))


@dataclass(frozen=True, slots=True)
class ChoiceLogprob:
    """Log-likelihood of one choice: `total` over its `tokens`. None: the tokenizer cannot represent it."""

    total: float | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Response:
    """What came back for one request: exactly one of `text` and `error`.

    `finish` is 'stop', 'length', another word of the server's, or None where it said nothing.
    """

    text: str | None = None
    error: str | None = None
    choice_logprobs: tuple[ChoiceLogprob, ...] | None = None
    finish: str | None = None
    usage: Usage | None = None
    ms: float | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.error is None):
            raise ValueError("a Response has exactly one of text and error")


UNFIT = ("no target", "no decoy", "target ", "likelihoods ")
"""How the reason of a Score without a value begins where the item cannot be judged, whatever is answered. Every other
reason says that this answer could not be: it failed, stopped before it came to one, or cannot be read."""


@dataclass(frozen=True, slots=True, init=False)
class Score:
    """One judgement of one response. `value` None: not scorable, and `reason` says why.

    `answer` is what was read out of the response; `span` is where, as characters of `Response.text`.
    """

    value: float | None
    answer: str | None
    reason: str
    span: tuple[int, int] | None = None

    def __init__(
        self, value: float | None, answer: str | None, reason: str, span: tuple[int, int] | None = None
    ) -> None:
        # Half the time of what a frozen dataclass makes: every response has a score of every scorer.
        _set_value(self, value)
        _set_answer(self, answer)
        _set_reason(self, reason)
        _set_span(self, span)


_set_value, _set_answer, _set_reason, _set_span = (Score.__dict__[name].__set__ for name in Score.__slots__)


@dataclass(frozen=True, slots=True)
class Scorer:
    """A named, versioned rule. Any change of what `judge` returns for some input is a new version."""

    name: str
    version: str
    judge: Callable[[Item, Response], Score]
    source: str = field(default="", compare=False, repr=False)
    """Text that makes it again, which a run keeps: Python of one that was given as a function, or a rule file.

    '' for all others.
    """
    rule_file: str = field(default="", compare=False, repr=False)
    """The name of the rule file whose text `source` is; '' where it is none."""


OWN_RULES: Final = re.compile(r".+@[A-Za-z0-9][A-Za-z0-9_.-]*-[0-9a-f]{8}")
"""The full name of a scorer by an author's own rules: name, the file's name, the first digits of its digest."""


@dataclass(frozen=True, slots=True)
class Caution:
    """Something that a reader of a number must know: a stable id (STAT001 …), its figure, and what to do."""

    id: str
    text: str
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its denominator and interval. `value` None: undefined, and `note` says why.

    `n` counts the rows in the denominator; `also` holds the companions that belong beside the number
    (k, b, c, p, df, icc, n_clusters …), each None where undefined.
    """

    value: float | None
    n: int
    lo: float | None = None
    hi: float | None = None
    method: str = ""
    note: str = ""
    level: float = 0.95
    also: Mapping[str, Number] = field(default_factory=dict)
    cautions: tuple[Caution, ...] = ()

    def __post_init__(self) -> None:
        """Values of 1e300, which an import may bring, add up to infinity: that is undefined, and no number."""
        is_undefined = _is_infinite(self.value)
        if is_undefined:
            object.__setattr__(self, "note", "beyond every number: the values are too large")
        for end in ("value", "lo", "hi"):
            if is_undefined or _is_infinite(getattr(self, end)):
                object.__setattr__(self, end, None)
        if any(map(_is_infinite, self.also.values())):
            kept = {key: None if _is_infinite(value) else value for key, value in self.also.items()}
            object.__setattr__(self, "also", kept)

    def as_json(self) -> dict[str, JSON]:
        """The record that metrics.json holds, at full precision."""
        return {
            "value": self.value,
            "n": self.n,
            "lo": self.lo,
            "hi": self.hi,
            "method": self.method,
            "note": self.note,
            "level": self.level,
            "also": dict(self.also),
            "cautions": [{"id": c.id, "text": c.text, "number": c.number} for c in self.cautions],
        }

    def __float__(self) -> float:
        """The value alone, without its interval. A DataError with the note where it is undefined: never 0 or NaN."""
        if self.value is None:
            raise DataError(f"the number is undefined: {self.note or 'nothing says why'} (n = {self.n})")
        return float(self.value)

    def __format__(self, spec: str) -> str:
        """The value by a format such as '.3f', 'NA' where it is undefined; without a format, the whole text."""
        if not spec:
            return str(self)
        return "NA" if self.value is None else format(self.value, spec)

    def __str__(self) -> str:
        if self.value is None:
            return f"NA ({self.note}) n={self.n}"
        interval = "" if self.lo is None or self.hi is None else f" [{self.lo:.3f}, {self.hi:.3f}]"
        why = f" ({self.note})" if self.note and not interval else ""
        return f"{self.value:.3f}{interval} n={self.n}{why}"

    def __repr__(self) -> str:
        return f"Estimate({one_line(str(self))})"


def _is_infinite(value: Number) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
