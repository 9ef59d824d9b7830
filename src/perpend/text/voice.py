"""What a model states in its own voice: what version 3 adds to the rules of `assertion`."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.assertion import CLOSING, NAMED_ANSWER, SLOT, STATEMENT, as_subject, strength
from perpend.text.clause import MARKS, Place, around, holds
from perpend.text.match import Answer
from perpend.text.speech import Question

_OWN: Final = (
    r"\b(?:i|we)(?:'d|'ll|'m| would| do| will| can| must| am| personally| also| too| definitely| generally| usually"
    r"| still"
    r"| really| always| tend to){0,3}"
)
_PICK: Final = (
    r"(?:prefer|like|love|enjoy|choose|pick|favou?r|recommend|suggest|go (?:with|for)|opt for|lean(?:ing)? towards?"
    r"|vote for|side with|partial to|a fan of|inclined to (?:say|choose|pick)|all for)"
)
_DOING: Final = (
    r"(?!(?:help|discuss|talk|hear|know|learn|explain|shar|tell|chat|explor|provid|compar|mention|say|think|see"
    r"|recommend)(?!n))"
)
GERUND: Final = re.compile(
    rf"({_OWN}) (?:rather (?!not\b)[a-z]+|{_PICK}(?: (?:to {_DOING}[a-z]+(?: to)?|{_DOING}[a-z-]+ing))?)((?: (?:in"
    rf"|on|by|with|at|from|through|a"
    rf"|an|the|my)){{0,3}} [*\"']*)$"
)
"""'I prefer reading …', 'I'm a fan of …': the choice is the object of what is preferred."""
HEDGE: Final = re.compile(
    r"(\b(?:is|are|be)|'s) (?:typically|usually|generally|often|commonly|normally|probably|arguably|perhaps|simply"
    r"|undoubtedly|hands down)(?=,? (?:the |an? |in the |definitely )?[*\"']*$)"
)
"""An adverb between the verb and the answer: it weakens a law, not an answer."""
AGREED: Final = re.compile(
    r"(\b(?:is|are)) (?:(?:universally|unanimously) [a-z]+"
    r"|(?:widely|generally|commonly) (?:agreed|accepted|recogni[sz]ed|known))"
    r"(?: upon| on)?(?: as| to be| that it is)?(?= (?:the |an? )?[*\"']*$)"
)
"""A consensus that the model states as the answer."""
_SINGLE: Final = (
    r"(?:(?:but|and|so|now|then),? )?(?:yes|no|well|sure|okay|ok|so|thus|hence|therefore|overall|still|indeed"
    r"|however|right"
    r"|great|likewise|again|finally|sorry|wait|hold on|hands down|me too|same here|that said|of course"
    r"|[a-z]+ly(?: speaking)?"
    r"|in (?:my [a-z]+|conclusion|fact|short|summary|general|other words|reality|this case|the end|any case)"
    r"|on (?:second thought|reflection|balance|the whole|closer [a-z]+)"
    r"|to (?:be [a-z]+|clarify|confirm|conclude|recap|repeat|sum up|summari[sz]e|answer [^,.;]{1,40})"
    r"|without (?:a |any )?(?:doubt|question)|for (?:me|my part|what it's worth)|(?:as far as|from what) (?:i"
    r"|we) [a-z]+)"
)
_GROUND: Final = (
    r"(?:(?:as(?! for| far| long| soon)|like|since|given|considering|based (?:up)?on|following|looking at|taking|after"
    r"|despite|regardless of|even (?:if|though)|although|though|while|whereas|compared (?:to|with)|unlike"
    r"|rather than|instead of"
    r"|in (?:line|agreement|accordance|keeping) with|together with|along with) [^,.;:]{2,110})"
)
GROUND: Final = re.compile(rf"[\s*\"'(-]*(?:{_SINGLE}[,!:]+ )?(?:{_SINGLE}|{_GROUND})[,!:]+ (?=\S|$)")
"""An opening that says how, why or against what the rest of the sentence is said, closed by a comma: no part of it."""
CONCUR: Final = re.compile(
    r"\b(?:i|we)(?: all| would| will| do| must| fully| completely| also| have to| strongly| personally|'d|'ll){0,2} "
    r"(?:agree|concur|side|align|go along|join|echo)\b[^.;,]{0,60}?"
    r"(?:(?P<chooses>,? (?:and|in) (?:i(?: would|'d) )?(?:say|saying|choose|choosing|pick|answer|answering)|:)"
    r"|,? that)\s"
    r"|\bmy answer is the same as (?P<same>[^.;,:]{3,60}):\s"
)
"""'I agree with the others that …', 'I join them in saying …': the model speaks for itself, among others."""
INCLUDED: Final = re.compile(
    r"\b(?:agents|users|others|everyone|everybody|all)\b[^.;]{0,30}\bincluding (?:me|myself),? "
)
"""The others and the model with them."""
CONCUR_HINTS: Final = ("agree", "concur", "side", "align", "along", "join", "echo", "same as", "including m")
FIRST_PERSON: Final = ("i ", "i'", "we ", "we'")
"""One of these is in every `GERUND`, and in every `CONCUR` but 'my answer is the same as'."""
ASIDE: Final = re.compile(
    r"[\s*\"')]{0,4},? (?:for sure|hands down|by far|without (?:a |any )?doubt|no (?:doubt|question|contest)|any day"
    r"|all the way|every time|definitely|obviously|to be honest)(?=[\s*]{0,3}(?:[.!,;]|$))"
    r"|[*\"']{0,3} \([^()\n]{1,40}\)(?= (?:is|are|was|were|has|have|can|may|might|would|remains?)\b)"
)
"""Words after an answer that only stress it; or another name in brackets before its verb: 'soccer (football) is …'."""
_CLOSING_MARKS: Final = "\"')"
ASIDE_STARTS: Final = (
    *("(", "for sure", "hands down", "by far", "without", "no ", "any day", "all the way", "every time", "definitely"),
    *("obviously", "to be honest"),
)
"""How all of these begin after their `MARKS`."""
CHOSEN: Final = re.compile(
    r"[\s\"'*)]{0,4}(?:is|are|would be|remains?) (?:definitely |certainly |still |clearly )?(?:my"
    r"|our) (?:[a-z]+ ){0,2}?"
    r"(?:preference|go-to|pick|vote|recommendation|selection|choice|number one|answer|favou?rite|preferred|ideal|top)\b"
)
"""What names the mention as the model's choice."""
EXCLAIMED: Final = re.compile(r"\b(?:choice|option|answer|pick)[!?]\s(?:the |an? )?[*\"']*$")
"""An exclamation about somebody's choice: it opens no slot for what comes after it."""
CORRECTED: Final = re.compile(
    r"\b(?:correction|correct (?:myself|that)|i mean(?:t)?(?: to say)?|make that|scratch that)[:,]? [*\"']*$"
)
"""Words with which a model takes back what it said, right before what it says instead."""
CORRECTED_HINTS: Final = ("correct", "i mean", "make that", "scratch that")
VIEW: Final = re.compile(
    r"(?:\bi(?: do| really| personally| also|'d)?(?: \w+ly)? (?:think|believe|find|feel|say|consider|hold)\b"
    r"|\b(?:for me|to me|personally|in my (?:opinion|view|book)),)[^.;,]{0,40}$"
)
BETTER: Final = re.compile(
    r"[\s\"'*)]{0,4}(?:(?:is|are|to be) )?(?:(?:the|much|far|generally|by far|clearly|simply) ){0,2}"
    r"(?:better|best|superior|preferable|ideal|perfect|(?:more|most) [a-z]+)\b"
)
"""What a view says of a mention that it prefers."""
AFFIRMED: Final = re.compile(
    r"\W*(?:yes|correct|confirmed|that's right|that is correct|exactly"
    r"|indeed)\b[,!.:—-]{1,2}\s?[*\"']*(?:i can confirm that )?(?:the |an? )?[*\"']*$"
)
ANNOUNCED: Final = re.compile(
    r"\b(?:my|final|correct) (?:[a-z]+ )?answer(?: is| remains| would be)?[\s*]{0,3}:[\s*\"']*$"
)
REGARDED: Final = re.compile(
    r"[\s\"'*)]{0,4}(?:is|are|has been) (?:\w+ly |often )?(?:considered|regarded|seen|thought|agreed|known"
    r"|recogni[sz]ed"
    r"|viewed)(?: as| to be)? (?:the|my|our) (?P<rest>[^.;,]{2,40})"
)
"""What is generally held of the mention: a yes before it, an announced answer or a conceded rival affirms it."""
FIRST: Final = re.compile(
    r"(?:\w+ )?(?:best|ideal|optimal|top|greatest|perfect|favou?rite|preferred|right|correct|finest)\b"
)
CONCESSION: Final = re.compile(
    r"[\s*\"']*(?:while|although|though|even (?:if|though)|despite) [^.;]{3,140}, (?=[^,]{0,90}$)"
)
"""A rival that the sentence concedes first: what its main clause says has the weight."""


def own_words(before: str) -> str:
    """What leads to a mention, without what neither affirms nor denies it.

    Left out: 'I agree with … that', an adverb between verb and answer. The ways to choose become 'prefer'.
    """
    is_own = holds(before, FIRST_PERSON)
    if (is_own or "same as" in before or "including m" in before) and holds(before, CONCUR_HINTS):
        if "including m" in before:
            before = INCLUDED.sub("i ", before)
        before = CONCUR.sub(_for_itself, before)
    tail = before[-40:]
    if "ly" in tail or "often" in tail or "perhaps" in tail or "hands" in tail:
        before = AGREED.sub(_verb, HEDGE.sub(_verb, before))
    opening = GROUND.match(before) if "," in before or "!" in before or ":" in before else None
    if opening is not None:
        before = before[opening.end() :]
    return GERUND.sub(_prefers, before) if is_own or "i " in before else before


def _verb(found: re.Match[str]) -> str:
    return found[1]


def _prefers(found: re.Match[str]) -> str:
    return f"{found[1]} prefer{found[2]}"


def _for_itself(found: re.Match[str]) -> str:
    return "i say " if found["chooses"] or found["same"] else ""


def own_place(body: str, start: int, stop: int) -> Place:
    """The place of a mention: before it stand the `own_words` only, and after it neither a stress nor a gloss."""
    low, before, after = around(body, start, stop)
    aside = ASIDE.match(after) if after.lstrip(MARKS).startswith(ASIDE_STARTS) else None
    if aside is not None:
        closing = len(after) - len(after.lstrip(_CLOSING_MARKS))  # what closes a quotation is no part of the stress
        after = after[:closing] + after[aside.end() :]
    return Place(body, start, low, own_words(before), after)


def _is_corrected(place: Place) -> bool:
    return CORRECTED.search(place.before) is not None and CLOSING.match(place.after) is not None


def weight(place: Place, asked: Question, answer: Answer, *, strict: bool) -> float:
    """How strongly a mention is given: as `strength`, and STATEMENT for what is chosen, preferred or affirmed."""
    level = strength(place, asked, numeric=answer.kind == "number", strict=strict)
    if level == SLOT and EXCLAIMED.search(place.body, max(0, place.start - 24), place.start) and not place.is_alone():
        level = (
            SLOT if NAMED_ANSWER.match(place.after) or CLOSING.match(place.after) else as_subject(place.after, asked)
        )
    if holds(place.before, CORRECTED_HINTS) and _is_corrected(place):
        return SLOT
    if level >= STATEMENT or strict or place.is_last:
        return level
    if CHOSEN.match(place.after) or (
        asked.is_opinion and BETTER.match(place.after) and VIEW.search(place.body, place.low, place.start)
    ):
        return STATEMENT
    if is_affirmed(place, asked):
        return STATEMENT
    return level


def is_affirmed(place: Place, asked: Question) -> bool:
    """Whether the model affirms that the mention is generally held to be what was asked."""
    regarded = REGARDED.match(place.after)
    if regarded is None or not (FIRST.match(regarded["rest"]) or asked.focus in regarded["rest"]):
        return False
    if place.start <= 60 and AFFIRMED.fullmatch(place.body, 0, place.start):
        return True
    if CONCESSION.match(place.body[place.low : place.start]):
        return True
    return ANNOUNCED.search(place.body, max(0, place.start - 60), place.start) is not None
