"""The messages of a trial as they were sent: rendered from the ledger, and held against the digest of the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perpend.ask.conditions import first_request, from_params, request
from perpend.ask.task import Reprompt, conditions_of
from perpend.canon import JSON, as_object, parse
from perpend.ledger.plan import Trial
from perpend.measure.run import Run
from perpend.measure.table import IMPORTED
from perpend.measure.toolkit import reprompt_of
from perpend.types import Condition, Request, Response, Score

Proof: TypeAlias = Literal["same digest", "another digest", "as the source states them", ""]


@dataclass(frozen=True, slots=True)
class SentTurn:
    """What was sent in one turn, as (role, text). Without messages, `note` says why they cannot be had.

    `proof` says whether they have the digest of the request that was stored.
    """

    turn: int
    messages: tuple[tuple[str, str], ...]
    proof: Proof
    note: str = ""

    def as_json(self) -> dict[str, JSON]:
        """The turn as JSON."""
        messages: list[JSON] = [{"role": role, "content": text} for role, text in self.messages]
        return {"turn": self.turn, "messages": messages, "proof": self.proof, "note": self.note}


@dataclass(frozen=True, slots=True)
class Renderer:
    """What renders the messages of a run again."""

    conditions: Mapping[str, Condition]
    reprompt: Reprompt | None
    choices_scored: bool
    is_imported: bool
    why: str
    why_no_second: str


def renderer(run: Run) -> Renderer:
    """The conditions of a run as its manifest holds them, and its second turn where this code has the same."""
    manifest = run.manifest
    conditions = conditions_of(manifest)
    reprompt, why_no_second = (None, "") if manifest.is_imported else reprompt_of(manifest, run.code)
    known = {
        entry.name: condition
        for entry in manifest.conditions
        if (condition := from_params(entry.name, entry.params)) is not None
    }
    why = conditions if isinstance(conditions, str) else ""
    return Renderer(known, reprompt, manifest.choices_scored, manifest.is_imported, why, why_no_second)


def sent_of(
    trial: Trial, asked: Sequence[tuple[int, str, Response]], scores: Mapping[str, Score], by: Renderer
) -> tuple[SentTurn, ...]:
    """Every turn of a trial with its messages; `asked` is what `turns` gives of it."""
    if by.is_imported:
        return (_imported(trial, scores, by),)
    condition = by.conditions.get(trial.condition)
    sent: list[SentTurn] = []
    for turn, digest, _ in asked:
        if condition is None or turn > 1:
            sent.append(SentTurn(turn, (), "", by.why or "this version does not render it again"))
        elif turn == 0:
            sent.append(_turn(turn, first_request(trial, condition, choices_scored=by.choices_scored), digest))
        elif by.reprompt is None:
            sent.append(SentTurn(turn, (), "", by.why_no_second or "the task asks for no second turn"))
        else:
            messages = by.reprompt.render(condition.render(trial.item), asked[0][2])
            sent.append(_turn(turn, request(trial, messages, choices_scored=False), digest))
    return tuple(sent)


def _turn(turn: int, again: Request, digest: str) -> SentTurn:
    proof: Proof = "same digest" if again.digest == digest else "another digest"
    note = "" if proof == "same digest" else "these are not the words that were sent: 'perpend audit' says more"
    return SentTurn(turn, tuple((message.role, message.content) for message in again.messages), proof, note)


def _imported(trial: Trial, scores: Mapping[str, Score], by: Renderer) -> SentTurn:
    """What the source kept of the messages: a list of them, a system and a user text, or a template."""
    for name in (f"stored_messages@{IMPORTED}", f"stored_prompt@{IMPORTED}"):
        messages = _stored(scores.get(name))
        if messages:
            return SentTurn(0, messages, "as the source states them")
    condition = by.conditions.get(trial.condition)
    if condition is not None:
        rendered = tuple((message.role, message.content) for message in condition.render(trial.item))
        return SentTurn(0, rendered, "as the source states them")
    return SentTurn(0, (), "", "the source kept no messages; the question above is what it states")


def _stored(score: Score | None) -> tuple[tuple[str, str], ...]:
    if score is None or score.answer is None:
        return ()
    try:
        body = parse(score.answer)
    except (ValueError, RecursionError):
        return (("user", score.answer),)
    if isinstance(body, Mapping):
        return tuple((role, str(body[role])) for role in ("system", "user") if body.get(role))
    entries: Sequence[JSON] = body if isinstance(body, list) else [body]
    return tuple(
        (str(as_object(entry).get("role", "user")), str(as_object(entry).get("content", entry))) for entry in entries
    )
