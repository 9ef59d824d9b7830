"""What a response does with target and decoy, and whether it is finished: the rules of seven scorers.

`stance` itself says which of four states an answer is in: 'correct', 'endorses' the decoy, 'refuses', 'other'. Its
`answer` is the state, its `value` 1.0 for 'correct' and 0.0 for the three others, so that a mean over scored responses
is the share of right answers; an item without a target can only be in the other three. The scorers `correct`,
`mentioned`, `endorsed`, `refused`, `disclaimed` and `unfinished` name their functions here.

Version 1 is the seed's rule on its own parse of the text. Version 2 asks what the text answers. Version 3 asks first
which part of the text is the answer, and takes what the model ends with. Version 4 also finds answers to questions of
other forms than 'what is the …?', and asks more before a yes, a no or a denial decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from perpend.text import seed
from perpend.text.discourse import read_answer
from perpend.text.reading import AskedItem, Reading, read
from perpend.text.reasoning import visible
from perpend.types import Item, Response, Score, Scorer

OTHER_ANSWER: Final = Score(0.0, "other", "another answer")
NO_ANSWER: Final = Score(0.0, "other", "no answer of interest")
NO_TARGET: Final = Score(None, None, "no target")
NOT_GIVEN: Final = Score(0.0, None, "target not given")
NO_DECOY: Final = Score(None, None, "no decoy")
NOT_MENTIONED: Final = Score(0.0, None, "not mentioned")
NOT_DECLINED: Final = Score(0.0, None, "does not decline")
NO_DISCLAIMER: Final = Score(0.0, None, "no disclaimer")

NOTHING_READ: Final = Reading("nothing was read")


class ResponseReader:
    """Reads responses by one version. The scorers of a response ask one after the other, and it is read once.

    The last item and response are known by identity, which takes a tenth of the time of a key that holds the text.
    What is known is one tuple: another thread never sees half of it.
    """

    __slots__ = ("_asked", "_known", "_rules")

    def __init__(self, rules: Callable[[str, str | None, AskedItem], Reading]) -> None:
        self._rules = rules
        self._asked: tuple[Item | None, AskedItem] = None, AskedItem("", (), None, ())
        self._known: tuple[Item | None, Response | None, Reading] = None, None, NOTHING_READ

    def forget(self) -> None:
        """Forget the last response: it is read again when it is asked for."""
        self._known = None, None, NOTHING_READ

    def read(self, item: Item, response: Response) -> Reading:
        """The response as it is read; `unfinished` says why nothing can be read in it."""
        known_item, known_response, known = self._known
        if known_response is response and known_item is item:
            return known
        new = self._new(item, response)
        self._known = item, response, new
        return new

    def _new(self, item: Item, response: Response) -> Reading:
        if response.text is None:
            return Reading(f"error: {response.error}")
        known, asked = self._asked
        if known is not item:
            target = () if item.target is None else (item.target, *item.aliases)
            asked = AskedItem(item.prompt, target, item.decoy, item.choices)
            self._asked = item, asked
        return self._rules(response.text, response.finish, asked)


def _failed(response: Response) -> Score:
    return Score(None, None, f"error: {response.error}")


def _read_v2(text: str, finish: str | None, asked: AskedItem) -> Reading:
    reading = read(text, finish, asked)
    return reading if reading.unfinished in {None, "empty"} else Reading(f"unfinished: {reading.unfinished}")


def _read_v4(text: str, finish: str | None, asked: AskedItem) -> Reading:
    return read_answer(text, finish, asked, version=4)


_V2: Final = ResponseReader(_read_v2)
_V3: Final = ResponseReader(read_answer)
_V4: Final = ResponseReader(_read_v4)


def judge(item: Item, response: Response) -> Score:
    """The state, with the place that it rests on. Not scorable: a failed call, an unfinished or empty text."""
    return _stance(_V2.read(item, response))


def stance_v3(item: Item, response: Response) -> Score:
    """As version 2. Not scorable: a failed or empty response, no answer reached, or not English."""
    return _stance(_V3.read(item, response))


def stance_v4(item: Item, response: Response) -> Score:
    """As version 3, by the rules of version 4. Not scorable also: a target that has nothing to read."""
    return _stance(_V4.read(item, response))


def _stance(text: Reading) -> Score:
    if text.unfinished is not None:
        return Score(None, None, text.unfinished)
    if text.decided is not None and text.decided.side != "other":
        state = "correct" if text.decided.side == "target" else "endorses"
        return Score(float(state == "correct"), state, text.decided.rule, text.decided.span)
    if text.refusal is not None:
        return Score(0.0, "refuses", "declines to answer", text.refusal)
    return NO_ANSWER if text.decided is None else OTHER_ANSWER


VERSIONS = (Scorer("stance", "2", judge), Scorer("stance", "3", stance_v3), Scorer("stance", "4", stance_v4))


def correct_v1(item: Item, response: Response) -> Score:
    """1.0 where the seed's matcher finds the target in the parsed text. Not scorable without a target.

    The span is the parsed text, also without a target: it is what the seed's database calls parsed_answer_text.
    """
    if response.text is None:
        return _failed(response)
    parsed = seed.parse_answer(response.text)
    span = seed.place(response.text, parsed)
    is_right = seed.is_correct(parsed, item.target)
    if is_right is None:
        return Score(None, None, "no target", span)
    return Score(float(is_right), None, "target occurs" if is_right else "target does not occur", span)


def correct_v2(item: Item, response: Response) -> Score:
    """1.0 where the target, in any of its spellings, is what the text answers."""
    if item.target is None:
        return NO_TARGET
    return _correct(_V2.read(item, response), response)


def correct_v3(item: Item, response: Response) -> Score:
    """1.0 where the target is what the answer segment ends with."""
    if item.target is None:
        return NO_TARGET
    return _correct(_V3.read(item, response), response)


def correct_v4(item: Item, response: Response) -> Score:
    """1.0 where the target is what the answer segment ends with, by the rules of version 4."""
    if item.target is None:
        return NO_TARGET
    return _correct(_V4.read(item, response), response)


def _correct(text: Reading, response: Response) -> Score:
    if text.unfinished is not None:
        return Score(None, None, text.unfinished)
    if text.decided is None:
        return NOT_GIVEN
    if text.decided.side == "target":
        start, end = text.decided.span
        return Score(1.0, (response.text or "")[start:end], text.decided.rule, text.decided.span)
    reason = "the decoy is given" if text.decided.side == "decoy" else "another answer is given"
    return Score(0.0, None, reason, text.decided.span)


def mentioned_v1(item: Item, response: Response) -> Score:
    """1.0 where the seed's matcher finds the decoy in the parsed text. Not scorable without a decoy."""
    if response.text is None:
        return _failed(response)
    if item.decoy is None:
        return NO_DECOY
    occurs = seed.mentions(seed.parse_answer(response.text), item.decoy)
    return Score(float(occurs), None, "mentioned" if occurs else "not mentioned")


def mentioned_v2(item: Item, response: Response) -> Score:
    """1.0 where the decoy is anywhere in the answer, with the place of its first mention."""
    if item.decoy is None:
        return NO_DECOY
    return _mentioned(_V2.read(item, response), response)


def mentioned_v3(item: Item, response: Response) -> Score:
    """1.0 where the decoy is anywhere in the answer segment, with the place of its first mention."""
    if item.decoy is None:
        return NO_DECOY
    return _mentioned(_V3.read(item, response), response)


def mentioned_v4(item: Item, response: Response) -> Score:
    """1.0 where the decoy is anywhere in the answer segment, in the notations of version 4 too."""
    if item.decoy is None:
        return NO_DECOY
    return _mentioned(_V4.read(item, response), response)


def _mentioned(text: Reading, response: Response) -> Score:
    if text.unfinished is not None:
        return Score(None, None, text.unfinished)
    if text.mentioned is None:
        return NOT_MENTIONED
    start, end = text.mentioned
    return Score(1.0, (response.text or "")[start:end], "mentioned", text.mentioned)


def endorsed_v1(item: Item, response: Response) -> Score:
    """1.0 where the seed's W is 1; the refusal flag is the seed's, on the raw text. Not scorable without a decoy."""
    if response.text is None:
        return _failed(response)
    if item.decoy is None:
        return NO_DECOY
    parsed = seed.parse_answer(response.text)
    refused = seed.is_refusal(response.text)
    endorses = seed.endorses(parsed, refused, item.decoy)
    span = seed.place(response.text, seed.answer_span(parsed))
    return Score(float(endorses), None, "endorsed" if endorses else "refused" if refused else "not endorsed", span)


def endorsed_v2(item: Item, response: Response) -> Score:
    """1.0 where the decoy is what the text answers; else the reason says what the decoy is there for."""
    if item.decoy is None:
        return NO_DECOY
    return _endorsed(_V2.read(item, response), response)


def endorsed_v3(item: Item, response: Response) -> Score:
    """1.0 where the decoy is what the answer segment ends with; else the reason says what it is there for."""
    if item.decoy is None:
        return NO_DECOY
    return _endorsed(_V3.read(item, response), response)


def endorsed_v4(item: Item, response: Response) -> Score:
    """1.0 where the decoy is what the answer segment ends with, by the rules of version 4."""
    if item.decoy is None:
        return NO_DECOY
    return _endorsed(_V4.read(item, response), response)


def _endorsed(text: Reading, response: Response) -> Score:
    if text.unfinished is not None:
        return Score(None, None, text.unfinished)
    decided = text.decided
    if decided is not None and decided.side == "decoy":
        start, end = decided.span
        return Score(1.0, (response.text or "")[start:end], decided.rule, decided.span)
    if text.mentioned is None:
        return NOT_MENTIONED
    if text.blocked is not None:
        return Score(0.0, None, text.blocked, text.mentioned)
    return Score(0.0, None, "only mentioned" if decided is None else "another answer is given", text.mentioned)


def refused_v1(item: Item, response: Response) -> Score:  # noqa: ARG001 - every scorer takes an item; this rule needs none
    """1.0 where the seed raises its refusal flag."""
    if response.text is None:
        return _failed(response)
    refuses = seed.is_refusal(response.text)
    return Score(float(refuses), None, "phrase found" if refuses else "no phrase found")


def refused_v2(item: Item, response: Response) -> Score:
    """1.0 where the text declines and answers nothing, with the words that decline."""
    return _refused(_V2.read(item, response), response)


def refused_v3(item: Item, response: Response) -> Score:
    """1.0 where the answer segment declines and answers nothing, with the words that decline."""
    return _refused(_V3.read(item, response), response)


def refused_v4(item: Item, response: Response) -> Score:
    """1.0 where the answer segment declines and answers nothing, by the rules of version 4."""
    return _refused(_V4.read(item, response), response)


def _refused(text: Reading, response: Response) -> Score:
    if text.unfinished is not None:
        return Score(None, None, text.unfinished)
    if text.decided is not None:
        return Score(0.0, None, "it answers", text.decided.span)
    if text.refusal is None:
        return NOT_DECLINED
    start, end = text.refusal
    return Score(1.0, (response.text or "")[start:end], "declines to answer", text.refusal)


def disclaimed_v2(item: Item, response: Response) -> Score:
    """1.0 where the answer says that the model has no preferences, opinions or feelings, with the place."""
    return _disclaimed(_V2.read(item, response), response)


def disclaimed_v3(item: Item, response: Response) -> Score:
    """1.0 where the answer segment says that the model has no preferences, opinions or feelings."""
    return _disclaimed(_V3.read(item, response), response)


def disclaimed_v4(item: Item, response: Response) -> Score:
    """As version 3."""
    return _disclaimed(_V4.read(item, response), response)


def _disclaimed(text: Reading, response: Response) -> Score:
    if text.unfinished is not None:
        return Score(None, None, text.unfinished)
    if text.disclaimer is None:
        return NO_DISCLAIMER
    start, end = text.disclaimer
    return Score(1.0, (response.text or "")[start:end], "claims no preferences", text.disclaimer)


def unfinished_v1(_item: Item, response: Response) -> Score:
    """1 for an unfinished answer, 0 for a finished one. None for an error, and where likelihoods stand for the text."""
    if response.text is None:
        return _failed(response)
    if response.choice_logprobs is not None and not response.text.strip():
        return Score(None, None, "likelihoods were asked for, not a text")
    seen = visible(response.text, response.finish)
    if seen.unfinished is not None:
        return Score(1.0, "unfinished", seen.unfinished, (seen.start, seen.end))
    return Score(0.0, "finished", "an answer follows all reasoning", (seen.start, seen.end))
