"""Whose statement a clause is: the model's own or reported; affirmed or denied; a question or an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from perpend.text.clause import Clause, clause, holds, words
from perpend.text.cues import (
    AFFIRMING,
    CONCEDING,
    DENIAL,
    GENERIC,
    LEARNED,
    LISTING,
    QUANTIFIERS,
    REPORTING,
    SPEAKERS,
    SUPPOSING,
    WHO,
    vocabulary,
)
from perpend.text.match import fold

SPEECH: Final = vocabulary(
    "said say says saying state states stated stating claim claims claimed claiming answered answers answering answer "
    "respond responds responded responding believe believes believed believing think thinks thought thinking mention "
    "mentions mentioned mentioning suggest suggests suggested suggesting insist insists insisted assert asserts "
    "asserted propose proposes proposed chose choose chosen choosing pick picked picking picks report reported reports "
    "prefer prefers preferred favor favour favored favoured favors consider considered considers considering find "
    "found finds indicate indicated indicates gave give given gives giving provide provided identify identified cite "
    "cited cites regard regarded agree agreed agrees agreeing confirm confirmed describe described want wants expect "
    "expects expected like likes love loves enjoy enjoys associate associated vote voted select selected argue argued "
    "repeat repeated guess guessed went refer referred referring assume assumed assumes quote quoted wrote told "
    "recommend recommended opt named listed conclude concluded concludes sure confident certain convinced that"
)
"""Verbs of saying, choosing and thinking. After a speaker they make the clause somebody else's."""
ACCORDING: Final = re.compile(
    r"according to (?:(?:the|all|these|those|most)\s)?(?:\w+\s)?"
    r"(?:others?|users?|agents?|participants?|consensus|majority|them|you|their \w+)\b"
)
QUOTED: Final = re.compile(
    r"\b(?:said|says?|stated?|claim(?:s|ed)?|answer(?:s|ed)?|respond(?:s|ed)?|replied|mention(?:s|ed)?|suggest(?:s|ed)?"
    r"|insist(?:s|ed)?|repeat(?:s|ed)?|chose|wrote)[,:\s]{1,3}(?:that\s)?\"[^\"]{0,60}$"
)
"""An open quotation that a verb of saying begins."""
SAID_NEXT: Final = re.compile(
    r"[\s,\"'*.]{0,5}(?:(?:they|he|she|you|agents?|users?|others|(?:the|prior|previous|other|all|five|every)\s"
    r"(?:\w+\s)?(?:users?|agents?|others|answers?|one|people))\s(?:\w+\s){0,2}?"
    r"(?:said|says?|stated?|claim\w*|answer\w*|think|thought|believ\w*|suggest\w*|chose|insist\w*)\b"
    r"|(?:was|were|is|are|has been|have been)\s(?:\w+\s)?(?:mentioned|quoted|claimed|suggested|cited|considered"
    r"|regarded|preferred|associated|praised|recommended|referenced|favou?red|ranked)\b|,? according to\b"
    r"|(?:for|to|among) (?:many|some|most|others|lots)\b)"
)
"""Who says it, after the mention; or that it is said, cited or regarded by nobody in particular."""
CONDITIONS: Final = ("if ", "in case", "unless ", "assuming", "suppose")
OWN_CONDITIONS: Final = ("if i had", "if i have", "if i must", "if i were", "if forced", "if pressed", "if asked")
"""Conditions under which a model still gives its own choice: 'if I had to choose, …'."""
TAG_QUESTION: Final = re.compile(r",\s?(?:right|correct|no|yes|isn't it|huh)\?")
LISTED_NEXT: Final = re.compile(
    r"[\s\"'*)]{0,4}(?:,\s(?!which|not|and|because|since|as|but|so|with|while|the|it|is|an?\s|in\s)[^.,;:]{1,30},\s(?!not\b|but\b|which\b|who\b|is\b|was\b)"
    r"|,?\s?(?:or|vs\.?|versus|/)\s|,\s(?!which|not\s)\w+(?:\s\w+)?,?\s(?:and|or)\s)"
)
LISTED_HINTS: Final = (",", "or", "v", "/")
"""One of these is in the first eight characters of every such."""


def is_reported(before: str, near: Clause) -> bool:
    """Whether somebody else says it, or people in general do."""
    if near.kinds:  # most clauses have no cue
        if "based on" in near.kinds:
            near = _without_ground(near)
        kinds = near.kinds
        if not kinds.isdisjoint(REPORTING):
            return True
        if not kinds.isdisjoint(WHO) and kinds.isdisjoint(LEARNED) and _speaks(near.near):
            return True
    if "according" in before and ACCORDING.search(before):
        return True
    return '"' in before and QUOTED.search(before) is not None


def _without_ground(near: Clause) -> Clause:
    """The clause without a closed 'based on …,': what others said is then why the model says it too."""
    words = near.near
    start = words.index("based")
    if "," not in words[start:]:
        return near
    return clause(" ".join(words[:start] + words[words.index(",", start) + 1 :]))


def _speaks(words: list[str]) -> bool:
    """Whether a verb of saying follows a speaker."""
    spoken = False
    for place, word in enumerate(words):
        if spoken and word in SPEECH:
            return True
        if word in QUANTIFIERS:
            verb = place + 2 if words[place + 1 : place + 2] and words[place + 1].endswith("ly") else place + 1
            if verb < len(words) and words[verb] in SPEECH:
                return True
        spoken = spoken or word in SPEAKERS
    return False


def is_supposed(before: str, near: Clause) -> bool:
    """Whether it is only supposed, wondered about, or holds under a condition that opens the sentence."""
    if near.kinds and not near.kinds.isdisjoint(SUPPOSING):
        return True
    opening = before.lstrip(" \"'*-")
    return opening.startswith(CONDITIONS) and not opening.startswith(OWN_CONDITIONS)


def is_asked(after: str) -> bool:
    """Whether its sentence is a question. A statement with a tag ('…, right?') is not."""
    return after.rstrip("\"'*) \n").endswith("?") and TAG_QUESTION.search(after[-24:]) is None


def is_conceded(near: Clause) -> bool:
    """Whether it stands in a clause that gives way: 'while X …', 'although X …'."""
    return not near.kinds.isdisjoint(CONCEDING)


def is_listed(near: Clause, after: str) -> bool:
    """Whether it is one of several: in an enumeration, or between 'or's."""
    words = near.near
    if near.kinds:
        if "both" in near.kinds and ("and" in words or " and " in after):
            return True
        if not near.kinds.isdisjoint(LISTING):
            return True
    if words and words[-1] in {"and", ","} and "," in words[-6:]:
        return True
    return holds(after[:8], LISTED_HINTS) and LISTED_NEXT.match(after) is not None


def is_generic(near: Clause) -> bool:
    """Whether it is only called one of several, or the next in rank: 'a popular choice is X', 'the second is X'."""
    return not near.kinds.isdisjoint(GENERIC)


FRAME: Final = re.compile(
    r"(?:\b(?:not (?:the case|true|correct|right|accurate)|untrue|false|incorrect|wrong|mistaken|myth|misconception"
    r"|disagree|doubt|deny|cannot agree|cannot confirm)"
    r"|n't (?:agree|true|correct|the case|confirm|think|believe|say))\b"
    r"[^.;]{0,24}?\b(?:that|with)\b(?:(?!;|\bbut\b).)*$"
)
"""A frame that denies the whole clause it opens, however long: 'it is not the case that …'."""
FRAME_HINTS: Final = (
    *("not", "n't", "untrue", "false", "incorrect", "wrong", "mistaken", "myth", "misconception", "disagree", "doubt"),
    "deny",
)
_FALSEHOOD: Final = (
    r"(?:not|never|no longer|wrong|incorrect|false|mistaken|inaccurate|untrue|impossible|off"
    r"|a (?:common |popular )?(?:misconception|myth|mistake|error|miscalculation|distractor)"
    r"|(?:too|a bit|way|far|much) (?:high|low|big|small|off)|close,? but|(?:half|twice|double) (?:of )?the"
    r"|the (?:wrong|incorrect)|an? (?:different|incorrect|wrong))\b"
)
DENIED_NEXT: Final = re.compile(
    r"[\s\"'*)\],°]{0,6}(?:\([^)]{0,40}\)\s?)?(?:which |that |this )?"
    r"(?:(?:is|are|was|were|would be|seems?|sounds?|looks?|as|must be|may be|might be)[\s*]{1,4}"
    rf"(?:\w+\s){{0,3}}?{_FALSEHOOD}"
    r"|(?:is|are|was|were|does|did|do|can|could|would|wo|ca|has|have|should)n't\b|cannot\b"
    r"|(?:can|could|does|do|did|would|will|may|might|has|have)\s(?:\w+\s)?not\b|\(?(?:incorrect|wrong|false))"
)
"""What denies a mention right after it, whatever part it plays."""
DENIED_LATER: Final = re.compile(
    r"(?:[^.;]|;\s(?=it\b)){0,90}?\b"
    r"(?:is|are|was|were|does|do|did|can|could|would|will|has|have|should|it's|that's|but)"
    r"(?:\s(?:it|that|also|actually|definitely|certainly|still|therefore|itself))?"
    r"(?:\s(?:not|never|incorrect|wrong)\b|n't\b)"
)
"""What denies a mention that is the subject of its sentence: 'Munich is large; it is not the capital'."""
BYGONE: Final = re.compile(
    r"[\s\"'*)\],]{0,5}(?:[^.;,]{0,24}?\b(?:is|was|were|are|being|as)\s(?:\w+\s){0,3}?"
    r"(?:former|formerly|once|historical|historically|old|previous|ancient|second|third|fourth|fifth|used to)"
    r"|(?:\w+\s){0,2}used to)\b"
)
"""What makes the subject something else than the answer: what was before, or the next in rank."""
LATER_HINTS: Final = ("n't", "not", "never", "incorrect", "wrong")
BYGONE_HINTS: Final = (
    "former",
    "once",
    "histor",
    "old",
    "previous",
    "ancient",
    "second",
    "third",
    "fourth",
    "fifth",
    "used",
)
"""One of these stands in everything that the two patterns match: most sentences have none."""
RETRACTED: Final = re.compile(
    r"[\s\"'*.!)]{0,8}(?:(?:wait|no|sorry)[,.\s]{1,3})?(?:that|this|it)(?:'s| is| was)\s(?:\w+\s)?"
    r"(?:incorrect|wrong|false|a mistake|not (?:correct|right|true))\b"
)
"""A sentence after the mention's own that takes it back."""


def is_denied_before(before: str, near: Clause) -> bool:
    """Whether what stands before the mention denies it."""
    if near.kinds and not near.kinds.isdisjoint(DENIAL) and near.kinds.isdisjoint(AFFIRMING):
        return True
    return (" that" in before or " with" in before) and is_framed(before)


def is_framed(before: str) -> bool:
    """Whether a frame denies what comes after it."""
    return holds(before, FRAME_HINTS) and FRAME.search(before) is not None


def is_denied_after(after: str, *, complement: bool) -> bool:
    """Whether what stands after the mention denies it. `complement`: it completes a verb before it."""
    if DENIED_NEXT.match(after):
        return True
    if complement:
        return False
    if holds(after, LATER_HINTS) and DENIED_LATER.match(after):
        return True
    return holds(after, BYGONE_HINTS) and BYGONE.match(after) is not None


WORD: Final = re.compile(r"[^\W_]+")
NUMERAL: Final = re.compile(r"\d+(?:\.\d+)?")
STOP_WORDS: Final = vocabulary(
    "what which who whom whose where when why how the and for are was were does did you your yours our their its his "
    "her with from that this these those have has had can could will would should than then there here about into "
    "over many much approximately following most likely been being not true false yes"
)
_OPERATORS: Final = {
    "add": ("+", "plus", "add", "sum"),
    "subtract": (" - ", "minus", "subtract", "difference"),
    "multiply": ("*", " x ", "times", "multipl", "product"),
    "divide": ("/", "divid", "quotient"),
    "root": ("root", "√", "sqrt"),
}
STEM: Final = 5
STEMS: Final = 12
"""A content word is known by its first five letters, so that 'orbits' is 'orbit'; the first twelve words count."""


@dataclass(frozen=True, slots=True)
class Question:
    """The beginnings of a question's content words, its numbers and its operators.

    `focus` is the first content word of the sentence that asks. `is_opinion`: nothing is right. `asks_you`: it speaks
    to 'you'.
    """

    stems: tuple[str, ...]
    focus: str
    numerals: tuple[str, ...]
    operators: frozenset[str]
    is_past: bool
    is_opinion: bool
    asks_you: bool

    def named_in(self, text: str) -> bool:
        """Whether a content word stands in the text; of a question without any, everything may speak."""
        return not self.stems or holds(text, self.stems)

    def repeated_in(self, text: str) -> bool:
        """Whether three of five content words, and at least two, stand in the text."""
        if len(self.stems) < 2:
            return False
        repeated = 0
        for stem in self.stems:
            if stem in text:
                repeated += 1
        return repeated >= 0.6 * len(self.stems)

    def computed_in(self, text: str) -> bool:
        """Whether the text ends in the expression that the question asks for; without numbers, whether it names it."""
        numerals = NUMERAL.findall(text)
        if not numerals:
            return self.named_in(text)
        if not self.operators or tuple(numerals[-len(self.numerals) :]) != self.numerals:
            return False
        unmarked = text.replace("**", "")
        return any(sign in unmarked for name in self.operators for sign in _OPERATORS[name])


def _stems(text: str, own: set[str]) -> tuple[str, ...]:
    stems = [word[:STEM] for word in WORD.findall(text) if len(word) >= 3 and not word.isdigit() and word not in own]
    return tuple(dict.fromkeys(stems))[:STEMS]


def last_question(prompt: str) -> str:
    """The last sentence that asks something; the whole prompt when there is none, or nothing is asked about in it."""
    end = prompt.rfind("?") + 1
    start = max(prompt.rfind(mark, 0, max(0, end - 1)) for mark in (". ", "? ", "! ", "\n")) + 1
    asked = prompt[start:end]
    return asked if any(len(word) > 2 and word not in STOP_WORDS for word in WORD.findall(fold(asked).text)) else prompt


@lru_cache(maxsize=1 << 13)
def question(prompt: str, answers: tuple[str, ...], *, is_opinion: bool) -> Question:
    """What to expect in a sentence that answers `prompt`. Words of the answers themselves do not count."""
    text = fold(prompt[-600:]).text
    own = set(WORD.findall(" ".join(fold(answer).text for answer in answers))) | STOP_WORDS
    stems = _stems(text, own)
    return Question(
        stems=stems,
        focus=next(iter(_stems(fold(last_question(prompt)).text, own)), next(iter(stems), "")),
        numerals=tuple(NUMERAL.findall(text)),
        operators=frozenset(name for name, signs in _OPERATORS.items() if any(sign in text for sign in signs)),
        is_past=not {"was", "were", "did"}.isdisjoint(words(text)),
        is_opinion=is_opinion,
        asks_you="you" in words(text),
    )
