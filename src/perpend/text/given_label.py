"""Which label, TRUE or FALSE, a text gives: marked as final or as the answer, set apart, or stated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from perpend.text.match import LABELS, Folded, fold, places_of
from perpend.text.seed import Label

POSITIVE: Final = frozenset({"true", "yes", "correct", "t", "y"})
FIRM: Final = frozenset({"true", "false"})
"""Words that can only be meant as the label; 'Yes' or 'No' may open a sentence that answers something else."""
MERITS: Final = frozenset({"correct", "incorrect"})
# Blanked in place, so that offsets hold. The brackets of <answer> stay: they mark an answer.
_MARKUP: Final = '*_#~$\\{}[]"'
QUOTE: Final = re.compile(r"'(?:(?<![a-z]')|(?![a-z]))")
# Both labels side by side are the options, and several are a list: no answer. A comma joins two only if they are TRUE
# and FALSE: in 'Yes, no doubt' it does not.
OPTIONS: Final = re.compile(
    r"\b(?:true|false|yes|no)\b(?: *+(?:,|or\b|and\b|nor\b|vs\b\.?|/|\|) *+(?:true|false|yes|no)\b)++"
)
WHOLE_WORD: Final = re.compile(rf"(?:{'|'.join(LABELS)})(?!\w)")
LONE_LETTER: Final = re.compile(r"\W*+(?P<word>[tfyn])\W*+")

_ADVERB: Final = (
    r"(?:(?:definitely|clearly|indeed|simply|certainly|actually|therefore|thus|obviously|logically|probably|most likely"
    r"|likely|in fact|still),? ++)"
)
_NOUN: Final = (
    r"(?:(?:the|this|that|your|given|above|original|following) ++){1,3}"
    r"(?:statement|claim|assertion|proposition|implication|inference|conjecture|hypothesis|sentence)"
)
_ISNT: Final = r"(?: ++(?P<isnt>isn't|cannot be|can't be)\b)"
_IS: Final = r"(?: ++(?:is|was|remains|would be|should be|must be|has to be|will be)\b|'s\b)"
REACH: Final = 400
"""How far before a label word its reading may begin."""
READING: Final = re.compile(
    rf"[ (]*+(?:[a-h][.):]{{1,2}} ++)?{_ADVERB}{{0,2}}"
    rf"(?P<subject>(?:it|this|that|{_NOUN}(?: that [^.\n?]{{0,150}})?)(?:{_IS}|{_ISNT}) *+)?"
    rf"{_ADVERB}{{0,2}}(?P<deny>(?:not|never) ++)?(?:an? ++)?"
    r"(?P<word>true|false|yes|no|correct|incorrect|untrue)\b(?:(?<!no) ++(?:statement|claim|assertion)\b)?"
)
"""A label from the end of what announces it on: perhaps a subject, perhaps a denial, then the word."""
MARKED_LETTER: Final = re.compile(r"[ (]*+(?P<word>[tfyn])(?= *+(?:[.)\n<]|$))")

_MARKED: Final = r"(?:answer|verdict|judge?ment|decision|response|label)"
_MARK: Final = rf"\b{_MARKED}(?: to [^.\n:?]{{0,120}}?)?"
FINAL_MARK: Final = re.compile(
    rf"(?:\bfinal[ -]*+(?:{_MARKED}|conclusion)(?:{_IS})?(?: *+[:=])?|<answer>"
    r"|\bboxed\b(?: ++(?:text|math)[a-z]*+)?)\s*+"
)
ANSWER_MARK: Final = re.compile(
    rf"(?:{_MARK}(?:(?:{_IS}|{_ISNT})(?: *+[:=])?| *+[:=])|\b(?:conclusion|result) *+[:=])\s*+"
)
CONCLUSION: Final = re.compile(
    r"\b(?:therefore|thus|hence|so|consequently|accordingly|overall|in (?:conclusion|summary|short)"
    r"|i(?:'d|'ll| would| will| must)?"
    r" (?:say|think|believe|answer|choose|pick|select|go with|conclude|respond)(?: with)?)\b"
    r" *+[,:]?\s*+(?:that )?"
)
FINAL_HINTS: Final = ("final", "<answer>", "boxed")
ANSWER_HINTS: Final = ("answer", "verdict", "judg", "decision", "response", "label", "conclusion", "result")
"""How every mark begins: to look for these first costs a tenth."""
UNMARKED_HINTS: Final = ("boxed",)
"""Of the final ones, those without any of the others beside them."""
OPENING: Final = re.compile(r"\A\W*+")
LINE_START: Final = re.compile(r"^[^\w\n]*+", re.MULTILINE)
BREAK: Final = re.compile(r"[.!?:;=>—\n] *+")
STATEMENT: Final = re.compile(rf"\b(?={_NOUN}\b)")
PRONOUN_STATEMENT: Final = re.compile(r"(?:^|[.!?\n] *+)(?=(?:it|this|that)\b)")
CAPITALS: Final = re.compile(r"\b(?=(?:true|false)\b)")

LINE_END: Final = re.compile(r"[ .!)]*+(?:\n|$)")
TEXT_END: Final = re.compile(r"[\s.!)]*+$")
_CLAUSE_END: Final = r" *+(?:$|[.,;:!()\n—<]|-+ |(?:because|since|as|given|due|is (?:the|my))\b"
CLAUSE_END: Final = re.compile(_CLAUSE_END + ")")
PHRASE_END: Final = re.compile(_CLAUSE_END + r"|(?:that|for|in|by|based|according|and|but|under)\b)")
ENDED: Final = re.compile(rf"(?:{'|'.join(LABELS)})(?: ++(?:statement|claim|assertion)\b)?{PHRASE_END.pattern}")
"""A label word and what must follow it outside a mark, but for an opening 'yes'."""
CONDITION: Final = re.compile(r" *+,? *+(?:but )?(?:only )?(?:if|when|unless|provided|depending|otherwise)\b")
SENTENCE_END: Final = re.compile(r"[.!?\n]")
QUESTION: Final = re.compile(r"[^.!?\n]{0,300}\?")
SUPPOSED: Final = re.compile(
    r"\b(?:(?<!\bi )(?<!\bwe )(?:might|may|could|would) (?:[a-z]+ )?"
    r"(?:think|say|expect|assume|guess|believe|conclude|suggest|argue)"
    r"|(?:users?|they|agents?|participants|others|people|some)\b[^.,;\n]{0,20}"
    r"\b(?:says?|said|thinks?|sure|believes?|claim(?:s|ed)?|answered|suggest(?:s|ed)?))\b[^.\n]{0,30}$"
)
"""Before a mark: the answer that follows is what somebody else may give or gave."""
UNDECIDED: Final = re.compile(
    r"\b(?:if|whether|either|neither|both|otherwise|else|unless|(?:may|might|could|can|would) be"
    r"|not (?:necessarily|always|entirely|strictly|quite|only))[ ,:]*+$"
)
DENIED: Final = re.compile(r"(?:\bnot|\bnever|n't|\bcannot)(?: be| actually| really)? ++$")

_HEDGES: Final = (
    r"(?:it (?:all )?depends|depends on|(?:cannot|can't|can not) (?:be )?(?:determined?|say|tell|know|answered)"
    r"|(?:not enough|insufficient) (?:information|data|context)|ambiguous|indeterminate|undetermined|undecidable"
    r"|unknown|uncertain|unclear|unsure|not sure|neither true nor false|both true and false|both false and true"
    r"|i (?:do not|don't) know)\b"
)
HEDGE: Final = re.compile(rf"\b{_HEDGES}")
HEDGE_HINTS: Final = (
    *("depends", "determin", "can't ", "enough ", "insufficient ", "ambiguous", "undecidable"),
    *("uncertain", "unclear", "sure", "know"),
)
NOT_HINTS: Final = ("cannot ", "can not ")
PAIR_HINTS: Final = ("nor false", "true and", "false and")
"""One of these is near the beginning of every hedge; the second ones have 'not', the third 'false' beside them."""
HEDGE_HINT: Final = max(map(len, HEDGE_HINTS))
ANSWER_HEDGE: Final = re.compile(rf"{_MARK}(?:{_IS}| *+:)?\s++(?:that )?(?:it is )?(?P<hedge>{_HEDGES})")
CORRECTION: Final = re.compile(
    r"\b(?:wait|actually|correction|on second thought|on reflection|scratch that|my mistake"
    r"|i made an? (?:mistake|error)|i was wrong|let me (?:re-?)?(?:check|consider|evaluate|correct|examine)"
    r"|i apologi[sz]e)\b"
)
TURN: Final = re.compile(r"\n *+(?:question|q|user|human|problem) *+\d*+ *+:")
NEAR: Final = 60
"""How many characters before a label are looked at for a denial or a supposition."""
NOTHING: Final = "no label found"


class LabelVerdict:
    """A label that a text gives between two places; None for a hedge, or for nothing, there. `why` names the rule.

    `word` is what says so, and `subject` whether it is said of one, as in 'the claim is false'.
    """

    __slots__ = ("end", "label", "start", "subject", "why", "word")

    def __init__(
        self,
        label: Label | None,
        why: str,
        span: tuple[int, int] = (0, 0),
        word: str = "",
        *,
        subject: bool = False,
    ) -> None:
        self.label, self.why, self.word, self.subject = label, why, word, subject
        self.start, self.end = span


def read(text: str, folded: Folded) -> LabelVerdict:
    """The label that a finished answer gives. What an invented further turn says counts only if nothing else does."""
    turn = TURN.search(folded.text) if "\n" in folded.text else None
    if turn is not None:
        own = text[: folded.span(turn.start(), turn.end())[0]]
        before = _decide(own, fold(own))
        if before.label is not None:
            return before
    return _decide(text, folded)


def _decide(text: str, folded: Folded) -> LabelVerdict:
    plain = folded.text
    for mark in _MARKUP:
        if mark in plain:
            plain = plain.replace(mark, " ")
    if "'" in plain:
        plain = QUOTE.sub(" ", plain)
    places = [place for place in folded.labels() if WHOLE_WORD.match(plain, place)]
    flat = plain
    if len(places) > 1 and any(OPTIONS.match(plain, place) for place in places):
        flat = OPTIONS.sub(_without_options, plain)
    words = [place for place in places if ENDED.match(flat, place)]
    capitals = [at for word in words if (at := CAPITALS.match(flat, word)) and _is_capital(text, folded, word)]
    verdict = _weigh(flat, places, words, capitals)
    if verdict.label is not None:
        verdict.start, verdict.end = folded.span(verdict.start, verdict.end)
        return verdict
    hedge = _hedge(plain, 0, len(plain)) if verdict.why == NOTHING else None
    return verdict if hedge is None else LabelVerdict(None, f"hedge: {hedge}")


def _without_options(found: re.Match[str]) -> str:
    """Blanks for a list that holds both labels; itself where all are one label, or a comma joins a yes and a no."""
    words = found.group().replace(",", " , ").split()
    labels = [word for word in words if word in LABELS]
    is_pair = len(labels) == 2 and "," in words and not FIRM.issuperset(labels)
    if is_pair or len({word in POSITIVE for word in labels}) == 1:
        return found.group()
    return " " * len(found.group())


def _is_capital(text: str, folded: Folded, word: int) -> bool:
    start, end = folded.span(word, word + len("true"))
    return text[start:end].isupper()


def _windows(flat: str, words: list[int]) -> list[tuple[int, int]]:
    """The sentences up to the label words. No reading goes beyond a point or a question mark."""
    spans: list[tuple[int, int]] = []
    for word in words:
        first = max(0, word - REACH)
        start = max(first, flat.rfind(".", first, word), flat.rfind("?", first, word))
        if spans and start < spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, word + 1))  # one character more: a place may end only where its word does
    return spans


def _weigh(flat: str, places: list[int], words: list[int], capitals: Sequence[re.Match[str]]) -> LabelVerdict:
    """The verdict of the strongest kind that the text holds; verdicts of one kind must agree.

    `places` are those of all label words, `words` those with what must follow outside a mark.
    """
    lone = LONE_LETTER.fullmatch(flat)
    if lone is not None:
        return LabelVerdict(_label(lone["word"]), "one-letter answer", lone.span("word"))
    ends = _at_the_ends(flat, places, words) if places else []
    marks = places_of(flat, ANSWER_HINTS)
    hedges = [LabelVerdict(None, f"hedge: {h['hedge']}", h.span("hedge")) for h in _matches(flat, marks, ANSWER_HEDGE)]
    for mark, hinted, why in (
        (FINAL_MARK, places_of(flat, FINAL_HINTS if marks else UNMARKED_HINTS), "final answer"),
        (ANSWER_MARK, marks, "marked answer"),
    ):
        marked = _marked(flat, _matches(flat, hinted, mark), why)
        if marked:
            return _agreed(flat, marked + hedges + [v for v in ends if v.word in FIRM])
    if not words:
        return _agreed(flat, ends or hedges) if ends or hedges else LabelVerdict(None, NOTHING)
    windows = _windows(flat, words)
    concluded = _given(flat, _within(flat, windows, CONCLUSION), PHRASE_END, "conclusion")
    lines = _given(flat, _line_starts(flat, words), LINE_END, "label on its own line")
    apart = ends + [v for v in concluded + lines if not v.subject]
    if apart or hedges:
        return _agreed(flat, apart or hedges)
    statements = _given(flat, _within(flat, windows, STATEMENT), PHRASE_END, "statement")
    pronouns = _given(flat, _within(flat, windows, PRONOUN_STATEMENT), PHRASE_END, "statement")
    for stated in (concluded, statements, pronouns, _capitals(flat, capitals)):
        asserted = [v for v in stated if not QUESTION.match(flat, v.end)]
        if asserted:
            return _unhedged(flat, asserted)
    return LabelVerdict(None, NOTHING)


def _at_the_ends(flat: str, places: list[int], words: list[int]) -> list[LabelVerdict]:
    """The labels with which the text opens and closes, but for those that are said of a subject."""
    ends = _given(flat, islice(OPENING.finditer(flat), 1), CLAUSE_END, "opening label")
    tail = max(0, len(flat) - NEAR)
    if words and words[-1] > tail:
        ends += _given(flat, BREAK.finditer(flat, tail, places[-1]), TEXT_END, "closing label")
    return [verdict for verdict in ends if not verdict.subject]


def _matches(flat: str, places: list[int], pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """The matches that begin at these places and do not overlap, as `finditer` gives them."""
    matches: list[re.Match[str]] = []
    for place in places:
        if not matches or place >= matches[-1].end():
            match = pattern.match(flat, place)
            if match is not None:
                matches.append(match)
    return matches


def _within(flat: str, windows: list[tuple[int, int]], pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    for start, end in windows:
        yield from pattern.finditer(flat, start, end)


def _line_starts(flat: str, words: list[int]) -> Iterator[re.Match[str]]:
    """The beginnings of the lines that hold a label word."""
    for line in dict.fromkeys(flat.rfind("\n", max(0, word - REACH), word) + 1 for word in words):
        if (start := LINE_START.match(flat, line)) is not None:
            yield start


def _label(word: str, *, denied: bool = False) -> Label:
    return "TRUE" if (word in POSITIVE) != denied else "FALSE"


def _given(flat: str, places: Iterable[re.Match[str]], ending: re.Pattern[str], why: str) -> list[LabelVerdict]:
    """The labels that stand at the ends of these places and are themselves followed by the ending."""
    return [verdict for place in places if (verdict := _reading(flat, place, ending, why)) is not None]


def _reading(flat: str, place: re.Match[str], ending: re.Pattern[str] | None, why: str) -> LabelVerdict | None:
    reading = READING.match(flat, place.end())
    if reading is None or CONDITION.match(flat, reading.end()) or flat.startswith("?", reading.end()):
        return None
    word, end = reading["word"], reading.end()
    # 'No' before a noun is a determiner, 'Yes' before anything is an answer.
    if word == "no" and CLAUSE_END.match(flat, end) is None:
        return None
    if ending is not None and not (word == "yes" and ending is CLAUSE_END) and ending.match(flat, end) is None:
        return None
    is_unsaid = place.re is ANSWER_MARK and place["isnt"] is not None
    denied = (reading["deny"] is not None) ^ (reading["isnt"] is not None) ^ is_unsaid
    is_of_subject = reading["subject"] is not None
    return LabelVerdict(_label(word, denied=denied), why, reading.span("word"), word, subject=is_of_subject)


def _marked(flat: str, marks: Iterable[re.Match[str]], why: str) -> list[LabelVerdict]:
    """The labels that a mark announces, one-letter ones included, unless somebody is only supposed to give them."""
    verdicts: list[LabelVerdict] = []
    for place in marks:
        verdict = _reading(flat, place, None, why)
        letter = MARKED_LETTER.match(flat, place.end())
        if verdict is None and letter is None:
            continue
        if SUPPOSED.search(flat, max(0, place.start() - NEAR), place.start()):
            continue
        # 'My answer is correct' is about the answer; 'Answer: correct' is one.
        if verdict is not None and (verdict.word not in MERITS or place.group().rstrip().endswith((":", "=", ">"))):
            verdicts.append(verdict)
        elif letter is not None:
            verdicts.append(LabelVerdict(_label(letter["word"]), why, letter.span("word")))
    return verdicts


def _capitals(flat: str, places: Iterable[re.Match[str]]) -> list[LabelVerdict]:
    """Every TRUE and FALSE in capitals, wherever it stands, unless it is supposed or conditional."""
    kept = []
    for verdict in _given(flat, places, PHRASE_END, "only label in capitals"):
        if UNDECIDED.search(flat, max(0, verdict.start - NEAR), verdict.start) is None:
            denied = DENIED.search(flat, max(0, verdict.start - NEAR), verdict.start) is not None
            span = verdict.start, verdict.end
            kept.append(LabelVerdict(_label(verdict.word, denied=denied), verdict.why, span, verdict.word))
    return kept


def _unhedged(flat: str, stated: list[LabelVerdict]) -> LabelVerdict:
    """What is stated, unless a hedge comes before it all or ends its last sentence: then the hedge is the answer."""
    last = stated[-1].end
    stop = SENTENCE_END.search(flat, last)
    hedge = _hedge(flat, 0, stated[0].start) or _hedge(flat, last, stop.start() if stop else len(flat))
    return _agreed(flat, stated) if hedge is None else LabelVerdict(None, f"hedge: {hedge}")


def _hedge(flat: str, start: int, stop: int) -> str | None:
    """The first hedge between two places."""
    part = flat[start : stop + HEDGE_HINT]
    hints = HEDGE_HINTS + (NOT_HINTS if "not " in part else ()) + (PAIR_HINTS if "false" in part else ())
    for hint in places_of(part, hints):
        place = start + hint
        if place < stop and HEDGE.search(flat, max(start, place - 16), min(stop, place + 48)):
            hedge = HEDGE.search(flat, max(start, place - 16), stop)
            return None if hedge is None else hedge.group()
    return None


def _agreed(flat: str, verdicts: list[LabelVerdict]) -> LabelVerdict:
    """The one label of all, or the last one after a correction. None where they disagree or end in a hedge."""
    last = max(verdicts, key=lambda verdict: verdict.start)
    others = [v for v in verdicts if v.label not in (None, last.label)]
    if last.label is None or not others:
        return last
    other = max(others, key=lambda verdict: verdict.start)
    if CORRECTION.search(flat, other.end, last.start):
        return LabelVerdict(last.label, f"{last.why}, after a correction", (last.start, last.end))
    return LabelVerdict(None, f"contradictory: {other.label} ({other.why}), {last.label} ({last.why})")
