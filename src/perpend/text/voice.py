"""Whether a claim is the model's own and unqualified: what version 3 adds to the rules of `speech` and `assertion`."""

from __future__ import annotations

import re

from perpend.text import reasoning
from perpend.text.assertion import SLOT, STATEMENT, block, strength
from perpend.text.clause import Place, clause, vocabulary
from perpend.text.match import Answer, Span
from perpend.text.speech import NUMERAL, Question

_OWN = (
    r"\b(?:i|we)(?:'d|'ll|'m| would| do| will| can| must| am| personally| also| too| definitely| generally| usually| still"
    r"| really| always| tend to){0,3}"
)
_PICK = (
    r"(?:prefer|like|love|enjoy|choose|pick|favou?r|recommend|suggest|go (?:with|for)|opt for|lean(?:ing)? towards?"
    r"|vote for|side with|partial to|a fan of|inclined to (?:say|choose|pick)|all for)"
)
GERUND = re.compile(
    rf"({_OWN}) {_PICK}(?: (?:to [a-z]+|[a-z-]+ing))?((?: (?:in|on|by|with|at|from|through|a|an|the|my)){{0,3}} [*\"']*)$"
)
"""'I prefer reading …', 'I'm a fan of …': the choice is the object of what is preferred."""
HEDGE = re.compile(
    r"(\b(?:is|are|be)|'s) (?:typically|usually|generally|often|commonly|normally|probably|arguably|perhaps|simply"
    r"|undoubtedly|hands down)(?=,? (?:the |an? |in the |definitely )?[*\"']*$)"
)
"""An adverb between the verb and the answer: it weakens a law, not an answer."""
AGREED = re.compile(
    r"(\b(?:is|are)) (?:(?:universally|unanimously) [a-z]+"
    r"|(?:widely|generally|commonly) (?:agreed|accepted|recogni[sz]ed|known))"
    r"(?: upon| on)?(?: as| to be| that it is)?(?= (?:the |an? )?[*\"']*$)"
)
"""A consensus that the model states as the answer."""
GROUND = re.compile(
    r"^[\s*\"'(-]*(?:(?:so|thus|therefore|and|yes|hence|but),? )?"
    r"(?:considering|given|in (?:line|agreement|accordance|keeping) with|consistent with|following|like|along with"
    r"|together with|just like|as with|as|based (?:up)?on|after considering|since|because of|even (?:if|though)"
    r"|compared (?:to|with)|unlike|rather than|instead of|despite|in contrast to|over) (?!for\b)[^,.;]{3,110}, (?=\S)"
)
"""An opening phrase that says why, or against what, the sentence after its comma is said: no part of the claim."""
CONCUR = re.compile(
    r"\bi(?: would| do| must| fully| completely| also| have to| strongly| personally|'d){0,2} (?:agree|concur|side|align)\b"
    r"[^.;,]{0,60}?(?:,? (?:that|in saying|and say|and i(?: would|'d) say)|:)\s"
)
"""'I agree with the others that …': the model speaks for itself, among others."""
STRESS = re.compile(
    r"[\s*\"')]{0,4},? (?:for sure|hands down|by far|without (?:a |any )?doubt|no (?:doubt|question|contest)|any day"
    r"|all the way|every time|definitely|obviously|to be honest)(?=[\s*]{0,3}(?:[.!,;]|$))"
)
"""Words after an answer that only stress it."""
CHOSEN = re.compile(
    r"[\s\"'*)]{0,4}(?:is|are|would be|remains?) (?:definitely |certainly |still |clearly )?(?:my|our) (?:[a-z]+ ){0,2}?"
    r"(?:preference|go-to|pick|vote|recommendation|selection|choice|number one|answer)\b"
)
"""What names the mention as the model's choice."""
VIEW = re.compile(
    r"\bi(?: do| really| personally| also|'d)?(?: \w+ly)? (?:think|believe|find|feel|say|consider|hold)\b[^.;,]{0,40}$"
)
BETTER = re.compile(
    r"[\s\"'*)]{0,4}(?:(?:is|are|to be) )?(?:(?:the|much|far|generally|by far|clearly|simply) ){0,2}"
    r"(?:better|best|superior|preferable|ideal|(?:more|most) [a-z]+)\b"
)
"""What a view says of a mention that it prefers."""
AFFIRMED = re.compile(
    r"\W*(?:yes|correct|confirmed|that's right|that is correct|exactly|indeed)\b[,!.:—-]{1,2}\s?[*\"']*(?:i can confirm that )?(?:the |an? )?[*\"']*$"
)
REGARDED = re.compile(
    r"[\s\"'*)]{0,4}(?:is|are|has been) (?:\w+ly |often )?(?:considered|regarded|seen|thought|agreed|known|recogni[sz]ed|viewed)"
    r"(?: as| to be)? (?:the|my|our)\b"
)
"""After an opening yes, what is generally held of the mention is affirmed."""


def own_words(before: str) -> str:
    """What leads to a mention, without what neither affirms nor denies it.

    Left out: an opening phrase of ground or contrast that a comma closes, 'I agree with … that', an adverb between verb
    and answer. The ways to choose become 'prefer'.
    """
    if "," in before:
        before = GROUND.sub("", before)
    if "agree" in before or "concur" in before or "side" in before or "align" in before:
        before = CONCUR.sub("", before)
    tail = before[-40:]
    if "ly" in tail or "often" in tail or "perhaps" in tail or "hands" in tail:
        before = AGREED.sub(r"\1", HEDGE.sub(r"\1", before))
    return GERUND.sub(r"\1 prefer\2", before)


def own_place(place: Place) -> Place:
    """The place with what stands before it reduced to `own_words`, and without a stress after it."""
    before, after = own_words(place.before), place.after
    stress = STRESS.match(after) if after[:1] in " ,*" else None
    if stress is not None:
        after = after[stress.end() :]
    if before == place.before:
        return place if stress is None else place._replace(after=after)
    return place._replace(before=before, after=after, clause=clause(before))


def weight(place: Place, asked: Question, answer: Answer, *, strict: bool) -> float:
    """How strongly a mention is given: as `strength`, and STATEMENT for what is chosen, preferred or affirmed."""
    level = strength(place, asked, numeric=answer.kind == "number", strict=strict)
    if level >= STATEMENT or strict:
        return level
    if CHOSEN.match(place.after) or (asked.is_opinion and BETTER.match(place.after) and VIEW.search(place.before)):
        return STATEMENT
    if place.start <= 60 and REGARDED.match(place.after) and AFFIRMED.fullmatch(place.body, 0, place.start):
        return STATEMENT
    return level


QUOTATION = re.compile(r"(?:^|[\s(:,])(\"|')(?=\S)(?:(?!\1)[^\n]){0,120}$")
QUOTES_OWN = re.compile(
    r"(?:\banswer(?: to [^.]{0,60})?(?: is|'s| would be| should be|:| as)"
    r"|\bi(?:'d| would|'ll| will)? (?:say|answer|choose|pick|go with)"
    r"|\bit(?:'s| is)|\b(?:is|are|with|as|definitely)|:)[\s,:*(]{0,4}$"
)
"""What makes a quotation the model's answer."""
_ARTICLES = " *theanTHEAN"
EXAMPLE = re.compile(
    r"\b(?:format|for example|for instance|e\.g\.?|such as|example|in the form|placeholder|something like|instructions?"
    r"|template)\b[^.?!\n]{0,60}$"
)
IF = re.compile(
    r"(?:^|[,;(—:-]\s?|\b(?:but|and|so|or|however|that|though|then|only|still|also|again),? )[\s*\"']*"
    r"(?:if|unless|should you|assuming|suppose|supposing|in case|depending on|provided that)\b"
)
WHEN = re.compile(
    r"(?:^|[,;(—-]\s?|\b(?:but|and|however),? )[\s*\"']*when(?:ever)? (?!it comes|asked|choosing|considering|i\b|we\b|given|pressed|forced)"
)
IF_OWN = re.compile(
    r"\bif (?:i (?:had|have|must|were|could|was|can)|i'm (?:forced|pressed|asked|being|honest)|forced|pressed|asked"
    r"|we (?:had|have|must)|it were up to me|you (?:ask|want (?:a|an|my|the)|insist|asked|must know|really)"
    r"|you're (?:asking|looking for|wondering|curious))\b"
)
"""Conditions under which a model still gives its own answer."""
IF_AFTER = re.compile(
    r"[^.;!?\n]{0,40}?[,\s](?:(?:but )?only )?(?:if|unless|provided|assuming|depending on|when (?:you|one))\b"
    r"(?! (?:i had|i have|you ask|asked|forced))"
)
"""A condition after the claim."""
SCOPE = re.compile(
    r"(?:^|[,;—] ?|\b(?:but|and|so|however|while|though),? )\s?[*\"'(-]*"
    r"(?:(?:for|among) (?!me\b|my\b|myself\b|us\b|its\b|their\b|being\b|the (?:record|question|most part)"
    r"|(?:this|your|that|the) (?:question|case|reason|query)|a general|(?:[a-z]+ ){0,2}reasons|example|instance|now\b|sure\b"
    r"|centuries|years)"
    r"|in terms of|in (?:some|many|certain|other|the (?:case|context|eyes|opinion|minds?) of) "
    r"|to (?:some|many|most) |as far as |from (?:an?|the) (?:[a-z]+ ){1,3}(?:perspective|standpoint|view))"
    r"[^.;]{2,170}$"
)
"""A claim for some people, some purpose or in some respect: 'for many people, …', 'for deep reading, I …'."""
SCOPE_AFTER = re.compile(
    r"[\s*\"')]{0,4},? ?(?:(?:for|among) (?:many|some|most|certain|others|those|someone|people|anyone|a lot|families|beginners)"
    r"|to (?:many|some|most|others|a lot)"
    r"|in (?:some|certain|many|such|that) (?:cases?|contexts?|cultures|situations|ways|countries|regions|circumstances))\b"
)
"""Such a limit after the claim."""
CONDITIONS = re.compile(
    r"(?:^|[,;(—] ?|\b(?:but|and|however|while),? )[\s*\"']*(?:at|in|on|under|with|near|during|before|until) (?:[a-z-]+ ){0,3}?"
    r"(?:high|higher|lower|low|reduced|increased|different|altitudes?|elevations?|base [a-z0-9]+|moon|mars|mountains?"
    r"|(?:other|some) (?:countries|systems|contexts|cases|definitions?)|mod(?:ulo)? \d+|fiction|novels?|jokes?|ancient|medieval"
    r"|the past|older? (?:times|definitions?|days)|former)\b"
)
"""Another condition than the question's: 'at high altitude, …', 'in base 3, …'."""
PART = re.compile(r"\b(?:of|for|in) (?:the |an? |our |my |your )?([a-z][a-z-]+)")
PRONOUN = re.compile(
    r"(?:,|\bso|\bbecause|\bsince|\bas|\bthus|\bhence|\bwhich means|—|;|\band)\s(?:that )?"
    r"(?:it|that|this|they|which)(?:'s| is| are|'re| has)\b[^,.;]{0,30}$"
)
POINTING = re.compile(
    r"[\s*\"'(-]*(?:(?:so|thus|therefore|but|and|yes|no|well|however|because|since),? )*"
    r"(?:the (?:correct |right |final |best )?(?:answer|question|number|result)"
    r"|it|this|that|they|i|we|you|there|here|what|my|to|in|by|as|based|when|if)\b"
)
"""How a sentence opens that is about what was asked, or about the speakers: its pronoun may be the answer's."""
UNSPECIFIC = vocabulary(
    "question answer answers terms general fact conclusion summary course mathematics arithmetic users agents country "
    "world kind case accordance line"
)


def disowned(place: Place, level: float, asked: Question, prompt: str) -> str | None:
    """Why a mention is not the model's own, unqualified answer: a rule of version 3, or one of version 2. None: it is."""
    before, after = place.before, place.after
    if ('"' in before or "'" in before) and _is_quoted(before, after):
        return "reported"
    if EXAMPLE.search(before):
        return "example"
    if _is_conditional(before, after, asked):
        return "supposed"
    if asked.is_opinion:
        if SCOPE.search(before) or SCOPE_AFTER.match(after):
            return "qualified"
    elif CONDITIONS.search(before) or SCOPE_AFTER.match(after):
        return "qualified"
    elif level < SLOT and is_of_another(before, asked, prompt):
        return "another subject"
    if COORDINATED.match(after) or is_heading(place):
        return "listed"
    why = block(place, level)
    if why == "reported" and AFFIRMED.fullmatch(place.body, 0, place.start) and REGARDED.match(after):
        return None
    return why


def _is_quoted(before: str, after: str) -> bool:
    """Whether it stands in a quotation of more than itself that is not given as the model's own."""
    quote = QUOTATION.search(before)
    if quote is None or quote[1] not in after:
        return False
    return bool(before[quote.start(1) + 1 :].strip(_ARTICLES)) and not QUOTES_OWN.search(before, 0, quote.start(1))


def _is_conditional(before: str, after: str, asked: Question) -> bool:
    if IF_AFTER.match(after) or (IF.search(before) and IF_OWN.search(before) is None):
        return True
    return asked.is_opinion and WHEN.search(before) is not None


def is_of_another(before: str, asked: Question, prompt: str) -> bool:
    """Whether it is said of something else than what was asked.

    'The formula for lye is …' where salt was asked; 'the root of 144 is …' where 64 was; 'lye has …, so it's …'.
    """
    lead = " ".join(clause(before).near)
    if asked.operators and asked.numerals and NUMERAL.search(lead) and not asked.computed_in(lead):
        return True
    if not asked.stems:
        return False
    parts = PART.findall(lead)
    if (
        parts
        and asked.named_in(lead)
        and PART.search(prompt.lower())
        and not any(_is_part(part, asked) for part in parts)
    ):
        return True
    return (
        PRONOUN.search(before) is not None
        and POINTING.match(before) is None
        and not asked.named_in(" ".join(before.split()[:6]))
    )


def _is_part(part: str, asked: Question) -> bool:
    return part in UNSPECIFIC or any(part.startswith(stem) for stem in asked.stems)


HEADING = re.compile(r"[ >]*(?:#{1,6} |\*\*|__|[-*+] \*\*)?[ *_]*(?:\d{1,2}[.)] ?|[-*+] )?[ *_]*(?:the |an? )?\W{0,4}")
HEADINGS = re.compile(
    r"(?:^|\n)[ >]*(?:#{1,6} [^\n]{1,60}|\*\*[^\n*]{1,60}\*\*:?|(?:\*\*)?\d{1,2}[.)] [^\n]{1,60}) *(?=\n|$)"
)
"""Lines of a list: headings, bold or numbered, each on a line of its own."""
_NO_ANSWER = (
    r"(?!(?:i|it|it's|you|we|they|he|she|this|that|that's|there|is|are|was|not|here|which|because|so|but|as|has|have|can|will"
    r"|would|in|on|with|for|if|to|by|based|who|where|while|since|thank|please|let|however|yes|no|nothing|always|only|then"
    r"|also|never|should|must|may|does|do|did)\b)"
)
_NEXT = rf"(?:the |an? |some )?{_NO_ANSWER}[a-z-]+(?: [a-z-]+)?"
COORDINATED = re.compile(
    rf"[\s\"'*)]{{0,4}}(?:(?:,| &|/) {_NEXT}){{0,4}},? (?:and|or|&) (?:maybe |perhaps )?{_NEXT}(?=[*]{{0,2}}[,.;!\n]|$)"
)
"""Another answer joined to the mention: 'Italian and French.'"""


def is_heading(place: Place) -> bool:
    """Whether the mention is one of several numbered or bold headings, each on a line of its own."""
    if not HEADING.fullmatch(place.body, place.line, place.start) or place.after[:80].strip(" *_:.\n#"):
        return False
    return len(HEADINGS.findall(place.body, max(0, place.line - 1500), place.line + 1500)) > 1


OPENING_AGREEMENT = re.compile(
    r"\W*(?:(?:(?:yes|indeed),? )?(?:that's|that is|this is|it is|you are|you're) (?:\w+ly )?(?:correct|right|true)"
    r"|correct|right|exactly|agreed|confirmed|yes(?=\W{0,3}\Z))\s?[.!](?=\s|\Z)"
)
CONCURRING = re.compile(
    r"\bi(?: do| also| fully| completely| must| too| would|'d){0,2} (?:agree|concur)(?: with (?:you|them|the [a-z]+|everyone|all|that))?(?=[.!,;]|\Z)"
)
NOT_ALL = re.compile(r"[\s*]{0,3}(?:that|about|in|to|on|with (?:the|your) (?:idea|point|sentiment))\b")
"""Agreement with a part of what was said: 'you're right that it is larger'."""
DRAWS_BACK = re.compile(
    r"\b(?:but|however|although|though|that said|still)\b[^\n]{0,160}?"
    r"\b(?:subjective|depends?|var(?:y|ies)|no (?:single|one|objective|universal|definitive|right)|not (?:necessarily|objectively)"
    r"|can't|cannot|don't|isn't|is not)\b"
)
"""What takes an agreement back."""


def agreement(text: str) -> Span | None:
    """The last place where the model sides with who spoke before, with all of it, and does not draw back after it."""
    agreed = reasoning.agreement(text)
    if agreed is not None and NOT_ALL.match(text, agreed[1]):
        agreed = None
    opening = OPENING_AGREEMENT.match(text)
    if agreed is None and opening is not None:
        agreed = opening.span()
    if agreed is None and ("agree" in text or "concur" in text):
        for found in CONCURRING.finditer(text):
            agreed = found.span()
    return None if agreed is None or DRAWS_BACK.search(text, agreed[1]) else agreed
