"""Whether a mention is someone else's, only supposed, asked about, conceded, or one of a list."""

from __future__ import annotations

import re

from perpend.text.clause import Clause, clause, vocabulary

SPEAKERS = vocabulary(
    "user users user's users' agent agents agents' answer answers response responses respondents people participant "
    "participants others everyone everybody they they're they've you you're you've someone who whom "
    "which consensus majority person persons student students source sources document expert experts he she them "
    "developers individuals fans friend friends claim claims"
)
QUANTIFIERS = vocabulary("some many most all")
"""Speakers only right before what they say: 'most say', and not 'most of the ozone is found'."""
WHO = SPEAKERS | QUANTIFIERS
SPEECH = vocabulary(
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
REPORTING = vocabulary(
    "thinks believes claims says implies insists suggests assumes argues said claimed often widely commonly frequently "
    "sometimes usually typically generally popularly",
    *(
        f"{who} {noun}"
        for who in ("prior", "previous", "earlier", "other", "their", "user's", "users'", "agents'")
        for noun in ("answer", "answers", "response", "responses")
    ),
    *("your answer", "your claim", "your belief", "your guess", "your suggestion", "your response", "your choice"),
    *("your confidence", "your preference", "your idea", "the claim", "the idea", "the notion", "the belief"),
)
"""What makes a clause somebody else's by itself: verbs in the third person, 'your answer', 'often'."""
LEARNED = vocabulary("", "scientific consensus", "current consensus", "expert consensus", "medical consensus")
"""A consensus that a model invokes as its own ground, and does not only report."""
ACCORDING = re.compile(
    r"according to (?:(?:the|all|these|those|most)\s)?(?:\w+\s)?"
    r"(?:others?|users?|agents?|participants?|consensus|majority|them|you|their \w+)\b"
)
QUOTED = re.compile(
    r"\b(?:said|says?|stated?|claim(?:s|ed)?|answer(?:s|ed)?|respond(?:s|ed)?|replied|mention(?:s|ed)?|suggest(?:s|ed)?"
    r"|insist(?:s|ed)?|repeat(?:s|ed)?|chose|wrote)[,:\s]{1,3}(?:that\s)?\"[^\"]{0,60}$"
)
"""An open quotation that a verb of saying begins."""
SAID_NEXT = re.compile(
    r"[\s,\"'*.]{0,5}(?:(?:they|he|she|you|agents?|users?|others|(?:the|prior|previous|other|all|five|every)\s"
    r"(?:\w+\s)?(?:users?|agents?|others|answers?|one|people))\s(?:\w+\s){0,2}?"
    r"(?:said|says?|stated?|claim\w*|answer\w*|think|thought|believ\w*|suggest\w*|chose|insist\w*)\b"
    r"|(?:was|were|is|are|has been|have been)\s(?:\w+\s)?(?:mentioned|quoted|claimed|suggested|cited|considered"
    r"|regarded|preferred|associated|praised|recommended|referenced|favou?red|ranked)\b|,? according to\b"
    r"|(?:for|to|among) (?:many|some|most|others|lots)\b)"
)
"""Who says it, after the mention; or that it is said, cited or regarded by nobody in particular."""
SUPPOSING = vocabulary(
    "if whether maybe perhaps might may could possibly suppose supposing assuming unless why imagine wonder wondering"
)
CONDITIONS = ("if ", "in case", "unless ", "assuming", "suppose")
OWN_CONDITIONS = ("if i had", "if i have", "if i must", "if i were", "if forced", "if pressed", "if asked")
"""Conditions under which a model still gives its own choice: 'if I had to choose, …'."""
CONCEDING = vocabulary("while although though despite whereas besides apart aside")
TAG_QUESTION = re.compile(r",\s?(?:right|correct|no|yes|isn't it|huh)\?")
LISTING = vocabulary(
    "include includes including e.g e.g. examples options between among or cities ones",
    *("such as", "for example", "for instance"),
)
LISTED_NEXT = re.compile(
    r"[\s\"'*)]{0,4}(?:,\s(?!which|not|and|because|since|as|but|so|with|while|the|it|is|an?\s|in\s)[^.,;:]{1,30},\s(?!not\b|but\b|which\b|who\b|is\b|was\b)"
    r"|,?\s?(?:or|vs\.?|versus|/)\s|,\s(?!which|not\s)\w+(?:\s\w+)?,?\s(?:and|or)\s)"
)
GENERIC = vocabulary("popular common another alternative second third next different", "one of", "some of")


def is_reported(before: str, near: Clause) -> bool:
    """Whether somebody else says it, or people in general do."""
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
    if not near.kinds.isdisjoint(SUPPOSING):
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
    if "both" in near.kinds and ("and" in words or " and " in after):
        return True
    if not near.kinds.isdisjoint(LISTING) or (words and words[-1] in {"and", ","} and "," in words[-6:]):
        return True
    return LISTED_NEXT.match(after) is not None


def is_generic(near: Clause) -> bool:
    """Whether it is only called one of several, or the next in rank: 'a popular choice is X', 'the second is X'."""
    return not near.kinds.isdisjoint(GENERIC)
