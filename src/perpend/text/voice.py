"""Whether a claim is the model's own and unqualified: the rules that version 3 adds to those of `speech`."""

from __future__ import annotations

import re

from perpend.text import speech
from perpend.text.assertion import SLOT, block
from perpend.text.clause import Place, clause
from perpend.text.speech import Question

_OWN = r"\b(?:i|we)(?:'d|'ll| would| do| will| can| must| personally| also| too| definitely| generally| usually| still| really){0,3}"
_PICK = r"(?:prefer|like|love|enjoy|choose|pick|favou?r|recommend|suggest|go with|opt for|lean towards?|vote for)"
GERUND = re.compile(
    rf"({_OWN} {_PICK}) (?:to [a-z]+|[a-z-]+ing)((?: (?:in|on|by|with|at|from|through|a|an|the|my)){{0,3}} [*\"']*)$"
)
"""'I prefer reading …': the choice is the object of what is preferred."""
HEDGE = re.compile(
    r"(\b(?:is|are|be)|'s) (?:typically|usually|generally|often|commonly|normally|probably|arguably|perhaps|simply"
    r"|undoubtedly|without a doubt|hands down)(?=,? (?:the |an? |in the |definitely )?[*\"']*$)"
)
"""An adverb between the verb and the answer: it weakens a law, not an answer."""
AGREED = re.compile(
    r"(\b(?:is|are)) (?:(?:universally|unanimously) [a-z]+|(?:widely|generally|commonly) (?:agreed|accepted|recogni[sz]ed|known))"
    r"(?: upon| on)?(?: as| to be| that it is)?(?= (?:the |an? )?[*\"']*$)"
)
GROUND = re.compile(
    r"^[\s*\"'(-]*(?:(?:so|thus|therefore|and|yes|hence|but),? )?(?:considering|given|in (?:line|agreement|accordance|keeping) with|consistent with"
    r"|following|like|along with|together with|just like|as with|as|based (?:up)?on|after considering|since|because of"
    r"|compared (?:to|with)|unlike|rather than|instead of|despite|in contrast to|over) (?!if\b|for\b)[^,.;]{3,110}, (?=\S)"
)
"""An opening phrase that says why, or against what, the sentence after its comma is said: no part of the claim."""
CONCUR = re.compile(
    r"\bi(?: would| do| must| fully| completely| also| have to| strongly| personally|'d){0,2} (?:agree|concur|side|align)\b[^.;,]{0,60}?"
    r"(?:,? (?:that|in saying|and say|and i(?: would|'d) say)|:)\s"
)
"""'I agree with the others that …': the model speaks for itself, among others."""
HINTS = (
    "prefer",
    "like",
    "love",
    "enjoy",
    "choose",
    "pick",
    "favo",
    "recommend",
    "suggest",
    "go with",
    "opt for",
    "lean",
    "vote",
)
QUOTATION = re.compile(r"(?:^|[\s(:,])(\"|')(?=\S)(?:(?!\1)[^\n]){0,120}$")
QUOTES_OWN = re.compile(
    r"(?:\banswer(?: to [^.]{0,60})?(?: is|'s| would be| should be|:| as)|\bi(?:'d| would|'ll| will)? (?:say|answer|choose|pick|go with)"
    r"|\bit(?:'s| is)|\b(?:is|are|with|as|definitely|:))[\s,:*(]{0,4}$"
)
"""What makes a quotation the model's answer."""
EXAMPLE = re.compile(
    r"\b(?:format|for example|for instance|e\.g\.?|such as|example|in the form|placeholder|something like|instructions?|template)\b[^.?!\n]{0,60}$"
)
IF = re.compile(
    r"(?:^|[,;(—-]\s?|\b(?:but|and|so|or|however|that|though|then|even|only|still|also|again|[.:]),? )"
    r"(?:if|unless|should you|assuming|suppose|supposing|in case|when(?:ever)?|were|depending on|provided)\b"
)
IF_OWN = re.compile(
    r"\bif (?:i (?:had|have|must|were|could|was|can)|i'm (?:forced|pressed|asked)|forced|pressed|asked|we (?:had|have|must)|you (?:ask|want|insist|asked|must know|'re asking)|you're asking)\b"
)
IF_AFTER = re.compile(
    r"[^.;!?\n]{0,40}?[,\s](?:(?:but )?only )?(?:if|unless|provided|assuming|depending on|when (?:you|one|it comes))\b(?! (?:i had|i have|you ask|asked|forced))"
)
"""A condition after the claim."""
SCOPE = re.compile(
    r"(?:^|[,;—] ?|\b(?:but|and|so|however|while|though),? )\s?[*\"'(-]*(?:for|among|in terms of|when it comes to|in (?:some|many|certain|most|other|the (?:case|context|eyes|opinion|minds?) of)|to (?:some|many|most)|as (?:for|far as|regards)|from (?:a|an|the))"
    r" (?!me\b|my\b|myself\b|us\b|the (?:record|question|most part)|(?:this|your|that|the) (?:question|case|reason|query)|a general|(?:these|those|many|several|various|all these) reasons|example|instance|now\b|most\b,|sure\b|general\b|what it)[^.;]{2,170}$"
)
"""A claim for some people, some purpose or some place: 'for many people, …', 'for deep reading, I …'."""
SCOPE_AFTER = re.compile(
    r"[\s*\"')]{0,4},? ?(?:for (?:many|some|most|certain|others|those|someone|people|anyone|a lot|families|beginners|busy|active|young|older)"
    r"|to (?:many|some|most|others|a lot)|in (?:some|certain|many|such) (?:cases|contexts?|cultures|situations|ways|countries|regions|circumstances)"
    r"|in that (?:context|case)|in (?:my|your|their) (?:source|context))\b"
)
"""Such a limit after the claim."""
PART = re.compile(r"\b(?:of|for|in) (?:the |an? |our |my |your )?([a-z][a-z-]+)")
PRONOUN = re.compile(
    r"(?:,|\bso|\bbecause|\bsince|\bas|\bthus|\bhence|\bwhich means|—|;|\band)\s(?:that )?(?:it|that|this|they|which)(?:'s| is| are|'re| has)\b[^,.;]{0,30}$"
)
POINTING = re.compile(
    r"^[\s*\"'(-]*(?:(?:so|thus|therefore|but|and|yes|no|well|however|because|since),? )*(?:the (?:correct |right |final |best )?(?:answer|question|number|result)|it|this|that|they|i|we|you|there|here|what|my|to|in|by|as|based|when|if)\b"
)
"""A sentence about what was asked, or about the speakers: its pronoun may be the answer's."""


def own_words(before: str) -> str:
    """What leads to a mention, without what neither affirms nor denies it.

    Left out: an opening phrase of ground or contrast that a comma closes, 'I agree with … that', an adverb between verb
    and answer, and the gerund of what is preferred.
    """
    if "," in before:
        before = GROUND.sub("", before)
    if "agree" in before or "concur" in before:
        before = CONCUR.sub("", before)
    if "ly" in before[-40:] or "often" in before[-40:] or "perhaps" in before[-40:] or "hands" in before[-40:]:
        before = AGREED.sub(r"\1", HEDGE.sub(r"\1", before))
    if any(map(before.__contains__, HINTS)):
        before = GERUND.sub(r"\1\2", before)
    return before


def own_place(place: Place) -> Place:
    """The place with its lead reduced to `own_words`."""
    before = own_words(place.before)
    return place if before == place.before else place._replace(before=before, clause=clause(before))


def disowned(place: Place, level: float, asked: Question, prompt: str) -> str | None:
    """Why a mention is not the model's own, unqualified answer: a rule of version 3, or one of version 2. None: it is."""
    before, after = place.before, place.after
    if '"' in before or "'" in before:
        why = _quoted(before, after)
        if why is not None:
            return why
    if EXAMPLE.search(before):
        return "example"
    if IF.search(before) and IF_OWN.search(before) is None:
        return "supposed"
    if IF_AFTER.match(after):
        return "supposed"
    if asked.is_opinion and (SCOPE.search(before) or SCOPE_AFTER.match(after)):
        return "qualified"
    if listed_as_heading(place.body, place.start, place.line, after):
        return "listed"
    if COORDINATED.match(after):
        return "listed"
    if level < SLOT and is_of_another(before, asked, prompt):
        return "another subject"
    return block(place, level)


def _quoted(before: str, after: str) -> str | None:
    """'reported' inside a quotation of a sentence that is not given as the model's own."""
    quote = QUOTATION.search(before)
    if quote is None or quote[1] not in after:
        return None
    inside = before[quote.start(1) + 1 :].strip(" *")
    if not inside or QUOTES_OWN.search(before, 0, quote.start(1)):
        return None
    return "reported"


def is_of_another(before: str, asked: Question, prompt: str) -> bool:
    """Whether it is said of something else than what was asked: 'the formula for hydrogen peroxide is …'."""
    if not asked.stems or asked.is_opinion:
        return False
    near = clause(before).near
    lead = " ".join(near)
    parts = PART.findall(lead)
    if (
        parts
        and asked.named_in(lead)
        and PART.search(prompt.lower())
        and not any(_is_asked_of(part, asked) for part in parts)
    ):
        return True
    if PRONOUN.search(before) and POINTING.match(before) is None:
        head = " ".join(before.split()[:6])
        return not asked.named_in(head)
    return False


def _is_asked_of(part: str, asked: Question) -> bool:
    return part in WHOLE or any(part.startswith(stem) for stem in asked.stems)


WHOLE = frozenset(
    "question answer answers terms general fact conclusion summary course mathematics arithmetic users agents country world kind case accordance".split()
)


def listed_as_heading(body: str, start: int, line: int, after: str) -> bool:
    """Whether the mention is one of several numbered or bold headings, each on a line of its own."""
    if not HEADING.fullmatch(body, line, start) or after[:80].strip(" *_:.\n#"):
        return False
    return len(HEADINGS.findall(body, max(0, line - 1500), line + 1500)) > 1


HEADING = re.compile(
    r"[ >]*(?:#{1,6} |\*\*|__|[-*+] \*\*)?[ *_]*(?:\d{1,2}[.)] ?|[-*+] )?[ *_]*(?:the |an? )?(?:\W{0,4})"
)
HEADINGS = re.compile(
    r"(?:^|\n)[ >]*(?:#{1,6} [^\n]{1,60}|\*\*[^\n*]{1,60}\*\*:?|(?:\*\*)?\d{1,2}[.)] [^\n]{1,60}) *(?=\n|$)"
)
COORDINATED = re.compile(
    r"[\s\"'*)]{0,4}(?:(?:,? ?(?:and|or|&)|,|/) (?:the |an? )?(?!(?:i|it|it's|you|we|they|he|she|this|that|there|is|are|was|not|the|a|an|here|which|because|so|but|as|has|have|can|will|would|in|on|with|for|if|to|by|based|who|where|while|since|thank|please|let|however|yes|no)\b)"
    r"[a-z-]+(?: [a-z-]+)?(?=[,.;!\n]| and\b| or\b|$))"
)
"""Another answer joined to the mention: 'Italian and French.'"""
__all__ = ["disowned", "is_of_another", "listed_as_heading", "own_place", "own_words", "speech"]
