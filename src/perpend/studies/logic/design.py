"""The task: yes-or-no questions about dynamical systems and what follows from stated facts, answered TRUE or FALSE."""

from __future__ import annotations

from functools import lru_cache

from perpend.ask.conditions import from_params
from perpend.ask.task import Reprompt, Task
from perpend.errors import SpecError, did_you_mean
from perpend.judging.segment import CUT_WORDS, visible
from perpend.spec.resolve import find_scorer
from perpend.types import Condition, Item, Message, Response

INSTRUCTION = (
    "You are asked a yes-or-no question about a dynamical system, or about what follows from stated premises. "
    "Answer with exactly one word and nothing else: TRUE if the answer is yes, FALSE if it is no."
)
USER = INSTRUCTION + "\n\nQuestion: {question}"
AGAIN = "That was not one of the two words. Answer the question now with exactly one word: TRUE or FALSE."
NO_REPLY = "(no answer)"
"""What stands for an empty first reply in the second turn: some servers refuse an empty message."""
PARSERS = ("label@2", "label@1", "label_lenient@1")
"""The rules that may decide what a reply says; the other ones are scored too, for comparison."""

_ANY = Item("any", "any", "TRUE")


def task(*, parser: str = PARSERS[0], reprompt: bool = True) -> Task:
    """The question after one instruction; `reprompt` asks once more where `parser` finds no label in a whole reply."""
    if parser not in PARSERS:
        raise SpecError(f"logic: unknown parser {parser!r}; {did_you_mean(parser, PARSERS)}")
    return Task(
        name="logic",
        conditions=(condition(),),
        scorers=(*PARSERS, "unfinished"),
        reprompt=second_turn(parser) if reprompt else None,
        options={"parser": parser, "reprompt": reprompt},
    )


def condition() -> Condition:
    """The only condition. One user message: not every model has a place for a system message."""
    question = from_params("question", {"type": "logic", "system": None, "user": USER})
    if question is None:
        raise SpecError("logic: the template is not a string")
    return question


def why_unfinished(text: str, finish: str | None) -> str | None:
    """Why a reply is not whole; None where it is, and of an empty one that was not cut off."""
    was_cut = finish is not None and finish.lower() in CUT_WORDS
    return visible(text, finish).unfinished if was_cut or text.strip() else None


def second_turn(parser: str) -> Reprompt:
    """The reply as the model's own turn, then a request for one word."""
    judge = find_scorer(parser).judge

    @lru_cache(maxsize=4096)  # most replies are one word, and whether it is a label does not depend on the item
    def without_label(text: str, finish: str | None) -> bool:
        response = Response(text=text, finish=finish)
        if judge(_ANY, response).answer != "INVALID":
            return False
        return why_unfinished(text, finish) is None

    def wanted(_item: Item, response: Response) -> bool:
        """A whole or an empty reply without a label; not one that was cut off, which would be cut off again."""
        return response.text is not None and without_label(response.text, response.finish)

    def render(messages: tuple[Message, ...], response: Response) -> tuple[Message, ...]:
        text = response.text or ""
        seen = visible(text, response.finish)
        answer = text[seen.start : seen.end] or NO_REPLY
        return (*messages, Message("assistant", answer), Message("user", AGAIN))

    return Reprompt(wanted, render, {"assistant": "the reply after its reasoning", "empty": NO_REPLY, "user": AGAIN})
