"""Perplexity of a held-out text, from the log-likelihood of each of its sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from perpend.canon import JSON, number_of
from perpend.errors import DataError
from perpend.rows.mapping import text_cell
from perpend.rows.reader import read_rows
from perpend.stats import proportions
from perpend.types import Estimate

OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the held-out text: its log-likelihood in nats over its tokens."""

    id: str
    language: str
    loglik: float
    tokens: int

    def __post_init__(self) -> None:
        if not math.isfinite(self.loglik) or self.loglik > 0.0:
            raise DataError(f"sentence {self.id!r}: log-likelihood is {self.loglik!r}; it is finite and at most 0")
        if self.tokens < 1:
            raise DataError(f"sentence {self.id!r}: has {self.tokens} tokens; leave an empty sentence out")

    def as_json(self) -> dict[str, JSON]:
        """One line of held_out.jsonl."""
        return {"id": self.id, "language": self.language, "loglik": self.loglik, "tokens": self.tokens}


def load_sentences(path: Path) -> tuple[Sentence, ...]:
    """The sentences of a file of rows of {id, language, loglik, tokens}."""
    sentences: dict[str, Sentence] = {}
    for where, body in read_rows(path):
        name, language = (text_cell(body.get(key), key, where) or "" for key in ("id", "language"))
        loglik, tokens = number_of(body, "loglik", where), number_of(body, "tokens", where)
        if not name.strip() or name in sentences:
            raise DataError(f"{where}: id is {name!r:.80} of {language!r:.80}; each sentence has an id of its own")
        if loglik is None or tokens is None or not tokens.is_integer():
            raise DataError(f"{where}: loglik is {loglik!r}, tokens {tokens!r}; give a number and an integer")
        try:
            sentences[name] = Sentence(name, language, loglik, int(tokens))
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
    return tuple(sentences.values())


def by_language(sentences: Sequence[Sentence]) -> dict[str, list[Sentence]]:
    """All sentences, then those of each language where there is more than one."""
    groups: dict[str, list[Sentence]] = {OVERALL: list(sentences)} if sentences else {}
    for language in sorted({one.language for one in sentences}):
        if len(groups[OVERALL]) > sum(one.language == language for one in sentences):
            groups[language] = [one for one in sentences if one.language == language]
    return groups


def nats(sentences: Sequence[Sentence]) -> Estimate:
    """Nats per token, Σ -loglik / Σ tokens, with Student's interval on the linearised ratio over sentences."""
    lost = np.array([-one.loglik for one in sentences])
    tokens = np.array([one.tokens for one in sentences], dtype=np.float64)
    ratio = float(lost.sum() / tokens.sum())
    mean = proportions.mean(ratio + (lost - ratio * tokens) / tokens.mean())
    return replace(mean, value=ratio, also={**mean.also, "tokens": int(tokens.sum())})


def perplexities(sentences: Sequence[Sentence]) -> dict[str, Estimate]:
    """exp of nats per token, overall and by language, the interval carried over; nothing without sentences."""
    return {name: perplexity(nats(group)) for name, group in by_language(sentences).items()}


def perplexity(log: Estimate) -> Estimate:
    """The Estimate of nats per token on the scale of perplexity."""
    value, lo, hi = (None if x is None else math.exp(x) for x in (log.value, log.lo, log.hi))
    return replace(log, value=value, lo=lo, hi=hi, method=f"exp of nats per token, {log.method}")


def paired_nats(a: Sequence[Sentence], b: Mapping[str, Sentence]) -> Estimate:
    """Nats per token of b minus a on the sentences that both have; `also` holds p. Undefined where tokens differ.

    Perplexity per token means the same only where both count the same tokens.
    """
    pairs = [(one, b[one.id]) for one in a if one.id in b]
    if len(pairs) < 2:
        return Estimate(None, len(pairs), note="fewer than two sentences in common")
    if any(first.tokens != second.tokens for first, second in pairs):
        return Estimate(None, len(pairs), note="the two tokenizers cut the text differently")
    tokens = np.array([first.tokens for first, _ in pairs], dtype=np.float64)
    rise = np.array([first.loglik - second.loglik for first, second in pairs])
    ratio = float(rise.sum() / tokens.sum())
    mean = proportions.mean(ratio + (rise - ratio * tokens) / tokens.mean())
    return replace(mean, value=ratio, also={**mean.also, "p": _student_p(ratio, mean)})


def _student_p(value: float, mean: Estimate) -> float | None:
    """Two-sided p of Student's t. Without any spread it is 1 where nothing differs, else undefined."""
    from scipy.special import stdtr

    se = mean.also.get("se")
    if not isinstance(se, float) or se == 0.0:
        return 1.0 if value == 0.0 else None
    return float(2.0 * stdtr(mean.n - 1, -abs(value) / se))
