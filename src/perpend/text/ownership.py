"""Whether a claim is the model's own and unqualified: what version 3 adds to the rules of `speech`."""

from __future__ import annotations

import re
from typing import Final

from perpend.text import blocking
from perpend.text.assertion import IS_THE, SLOT, block
from perpend.text.clause import MARKS, Place, holds
from perpend.text.cues import vocabulary
from perpend.text.match import fold
from perpend.text.speech import NUMERAL, WORD, Question, is_framed, is_reported
from perpend.text.voice import CHOSEN, is_affirmed

QUOTATION: Final = re.compile(r"(?:^|[\s(:,])(\"|')(?=\S)(?:(?!\1)[^\n]){0,120}$")
QUOTES_OWN: Final = re.compile(
    r"(?:\banswer(?: to [^.]{0,60})?(?: is|'s| would be| should be|:| as)"
    r"|\bi(?:'d| would|'ll| will)? (?:say|answer|choose|pick|go with)"
    r"|\bit(?:'s| is)|\b(?:is|are|with|as|definitely)|:)[\s,:*(]{0,4}$"
)
"""What makes a quotation the model's answer."""
_ARTICLES: Final = " *theanTHEAN"
HEARSAY: Final = re.compile(
    r"\bit (?:has been|is|was|can be|could be|might be)(?: \w+ly| often| sometimes)? (?:suggested|said|claimed"
    r"|argued|believed|thought"
    r"|alleged|rumou?red|assumed|reported|stated|tempting to \w+) (?:that )?|\b(?:nobody|no one"
    r"|few(?: people)?) [^.;,]{0,20}"
    r"\b(?:say|claim|argue|think|believe)s? (?:that )?"
)
"""What is said by nobody in particular, or by nobody."""
HEARSAY_HINTS: Final = ("it ", "nobody", "no one", "few")
EXAMPLE_HINTS: Final = (
    "form",
    "example",
    "instance",
    "e.g",
    "such as",
    "placeholder",
    "something",
    "instruction",
    "template",
)
CONDITION_HINTS: Final = (
    "if",
    "unless",
    "should you",
    "assuming",
    "suppos",
    "in case",
    "depending on",
    "provided that",
)
CONDITION_NEXT: Final = ("if", "unless", "provided", "assuming", "depending on", "when ")
JOINING: Final = (" and ", " or ", " & ")
"""One of these is in every `HEARSAY`, in every `EXAMPLE`, in every `IF`, in every `IF_AFTER`, in all `COORDINATED`."""
EXAMPLE: Final = re.compile(
    r"\b(?:format|for example|for instance|e\.g\.?|such as|example|in the form|placeholder|something like|instructions?"
    r"|template)\b[^.?!\n]{0,60}$"
)
IF: Final = re.compile(
    r"(?:^|[,;(—:-]\s?|\b(?:but|and|so|or|however|that|though|then|only|still|also|again),? )[\s*\"']*"
    r"(?:if|unless|should you|assuming|suppose|supposing|in case|depending on|provided that)\b"
)
WHEN: Final = re.compile(
    r"(?:^|[,;(—-]\s?|\b(?:but|and|however),? )[\s*\"']*when(?:ever)? (?!it comes|asked|choosing|considering|i\b"
    r"|we\b|given|pressed|forced)"
)
IF_OWN: Final = re.compile(
    r"\bif (?:i (?:had|have|must|were|could|was|can)|i'm (?:forced|pressed|asked|being|honest)|forced|pressed|asked"
    r"|we (?:had|have|must)|it were up to me|you (?:ask|want (?:a|an|my|the)|insist|asked|must know|really)"
    r"|you're (?:asking|looking for|wondering|curious))\b"
)
"""Conditions under which a model still gives its own answer."""
IF_AFTER: Final = re.compile(
    r"[^.;!?\n]{0,40}?[,\s](?:(?:but )?only )?(?:if|unless|provided|assuming|depending on|when (?:you|one))\b"
    r"(?! (?:i had|i have|you ask|asked|forced))"
)
"""A condition after the claim."""
SCOPE: Final = re.compile(
    r"(?:^|[,;—] ?|\b(?:but|and|so|however|while|though),? )\s?[*\"'(-]*"
    r"(?:(?:for|among) (?!me\b|my\b|myself\b|us\b|its\b|their\b|being\b|the (?:record|question|most part)"
    r"|(?:this|your|that|the) (?:question|case|reason|query)|a general|(?:[a-z]+ ){0,2}reasons|example|instance"
    r"|now\b|sure\b"
    r"|centuries|years)"
    r"|in terms of|in (?:some|many|certain|other|the (?:case|context|eyes|opinion|minds?) of) "
    r"|to (?:some|many|most) |as far as (?!i\b|we\b)|from (?:an?|the) (?:[a-z]+ ){1,3}(?:perspective|standpoint|view))"
    r"[^.;]{2,170}$"
)
"""A claim for some people, some purpose or in some respect: 'for many people, …', 'for deep reading, I …'."""
SCOPE_AFTER: Final = re.compile(
    r"[^.;,]{0,30}?\b(?:best|ideal|better|perfect|preferred|superior)(?: (?:choice|option|pick))? for "
    r"(?!me\b|most\b|all\b|every|its\b|their\b|my\b|this\b|that\b|anyone\b)"
    r"|[\s*\"')]{0,4},? ?(?:for [^.;,]{2,40},? (?:and|but|while) [^.;,]{2,40} for\b|(?:for|among) (?:many|some|most"
    r"|certain|others|those|someone|people|anyone|a lot|families|beginners)"
    r"|to (?:many|some|most|others|a lot)"
    r"|in (?:some|certain|many|such|that) (?:cases?|contexts?|cultures|situations|ways|countries|regions"
    r"|circumstances))\b"
)
"""Such a limit after the claim."""
SCOPE_STARTS: Final = ("for ", "among ", "to ", "in ")
"""How it begins after its `MARKS`, if it has no ' for ' in it."""
UNABLE: Final = re.compile(
    r"[^.;!?\n]{0,40}?,? but (?:as an ai\b|i(?:'m| am) (?:just |only )?an? |i (?:can't|cannot|don't|do not)\b)"
)
"""A choice that the model says it cannot make: 'I'd love …, but as an AI …'."""
CONDITIONS: Final = re.compile(
    r"(?:^|[.,;(—] ?|\b(?:but|and|however|while),? )[\s*\"']*(?:at|in|on|under|with|near|during|before"
    r"|until) (?:[a-z-]+ ){0,3}?"
    r"(?:high|higher|lower|low|reduced|increased|different|altitudes?|elevations?|base [a-z0-9]+|moon|mars|mountains?"
    r"|(?:other|some) (?:countries|systems|contexts|cases|definitions?)|mod(?:ulo)? \d+|fiction|novels?|jokes?"
    r"|ancient|medieval"
    r"|the past|older? (?:times|definitions?|days)|former)\b"
)
"""Another condition than the question's: 'at high altitude, …', 'in base 3, …'."""
PART: Final = re.compile(r"\b(?:of|for|in) (?:the |an? |our |my |your )?([a-z][a-z-]+)")
CONCLUDED: Final = re.compile(
    r"^.*\b(?:so|therefore|thus|hence|altogether|in total|in all)\b,? "
    r"(?=(?:it|that|this|the (?:final |correct |right )?(?:total|sum|answer|result|product|number|value))\b)",
    re.DOTALL,
)
"""What leads to a conclusion."""
PRONOUN: Final = re.compile(
    r"(?:,|\bso|\bbecause|\bsince|\bas|\bthus|\bhence|\bwhich means|—|;|\band)\s(?:that )?"
    r"(?:it|that|this|they|which)(?:'s| is| are|'re| has)\b[^,.;]{0,30}$"
)
POINTING: Final = re.compile(
    r"[\s*\"'(-]*(?:(?:so|thus|therefore|but|and|yes|no|well|however|because|since),? )*"
    r"(?:the (?:correct |right |final |best )?(?:answer|question|number|result)"
    r"|it|this|that|they|i|we|you|there|here|what|my|to|in|by|as|based|when|if)\b"
)
"""How a sentence opens that is about what was asked, or about the speakers: its pronoun may be the answer's."""
UNSPECIFIC: Final = vocabulary(
    "question answer answers terms general fact conclusion summary course mathematics arithmetic users agents country "
    "world kind case accordance line"
)


def disowned(  # noqa: PLR0911 - one a rule
    place: Place, level: float, asked: Question, prompt: str, version: int = 3, known: frozenset[str] = frozenset()
) -> str | None:
    """Which rule of version 3 or 2 says that a mention is not the model's own, unqualified answer; None: none does.

    Version 4 asks its own blocks, to which `known` belongs, and knows more of what the question is about.
    """
    before, after = place.before, place.after
    if (('"' in before and '"' in after) or ("'" in before and "'" in after)) and _is_quoted(before, after):
        return "reported"
    if holds(before, HEARSAY_HINTS) and HEARSAY.search(before):
        return "reported"
    if holds(before, EXAMPLE_HINTS) and EXAMPLE.search(before):
        return "example"
    if _is_conditional(before, after, asked):
        return "supposed"
    limits = SCOPE if asked.is_opinion else CONDITIONS
    if (is_limited(after) and not (version >= 4 and _is_own_limit(after, asked))) or limits.search(before):
        return "qualified"
    if not asked.is_opinion and level < SLOT and is_of_another(place, asked, prompt, version):
        return "another subject"
    if " but " in after and UNABLE.match(after):
        return "denied"
    if (holds(after, JOINING) and COORDINATED.match(after)) or is_heading(place):
        return "listed"
    why = block(place, level) if version < 4 else blocking.block(place, level, asked, known)
    if why is None and _is_framed_unspaced(before):
        return "denied"
    if why == "reported" and not is_reported(before, place.clause):
        return None if CHOSEN.match(after) or is_affirmed(place, asked) else why
    return why


def is_limited(after: str) -> bool:
    """Whether what follows limits the claim to some people, some purpose or some respect."""
    if " for " not in after and not after.lstrip(MARKS).startswith(SCOPE_STARTS):
        return False
    return SCOPE_AFTER.match(after) is not None


def _is_own_limit(after: str, asked: Question) -> bool:
    """Whether the limit that follows is that of a question for an opinion: 'better for breakfast'."""
    limit = SCOPE_AFTER.match(after) if asked.is_opinion else None
    if limit is None or not limit[0].endswith("for "):
        return False
    return asked.named_in(" ".join(after[limit.end() :].split()[:2]))


def _is_framed_unspaced(before: str) -> bool:
    """Whether a frame denies it whose 'that' or 'with' follows no blank: `block` has looked at all others."""
    if " that" in before or " with" in before or not ("that" in before or "with" in before):
        return False
    return is_framed(before)


def _is_quoted(before: str, after: str) -> bool:
    """Whether it stands in a quotation of more than itself that is not given as the model's own."""
    quote = QUOTATION.search(before)
    if quote is None or quote[1] not in after:
        return False
    return bool(before[quote.start(1) + 1 :].strip(_ARTICLES)) and not QUOTES_OWN.search(before, 0, quote.start(1))


def _is_conditional(before: str, after: str, asked: Question) -> bool:
    if holds(after, CONDITION_NEXT) and IF_AFTER.match(after):
        return True
    if holds(before, CONDITION_HINTS) and IF.search(before) and IF_OWN.search(before) is None:
        return True
    return asked.is_opinion and "when" in before and WHEN.search(before) is not None


def is_of_another(place: Place, asked: Question, prompt: str, version: int = 3) -> bool:
    """Whether it is said of something else than what was asked.

    'The formula for lye is …' where salt was asked; 'the root of 144 is …' where 64 was; 'lye has …, so it's …'. By
    version 4 the numbers before a conclusion ('…, so the total is') are not its subject, an article is no part, and
    every word of the question may be one.
    """
    before = place.before
    tail = before[-60:]
    if asked.operators and asked.numerals and NUMERAL.search(tail) and not asked.computed_in(tail):
        return version < 4 or not _is_concluded(tail, asked)
    if not asked.stems:
        return False
    lead = " ".join(place.clause.near)
    complement = None if place.is_last else IS_THE.match(place.after)
    if complement is not None:
        lead = complement["rest"].partition(",")[0]
    parts = PART.findall(lead)
    if (
        parts
        and asked.named_in(lead)
        and PART.search(prompt.lower())
        and not any(_is_part(part, asked) for part in parts)
        and (version < 4 or not _is_known_part(parts, prompt))
    ):
        return True
    if POINTING.match(before) or asked.named_in(" ".join(before.split()[:6])):
        return False
    pronoun = PRONOUN.search(before)
    return pronoun is not None and len(before[: pronoun.start()].split()) >= 3


def _is_concluded(tail: str, asked: Question) -> bool:
    """Whether a conclusion without numbers of its own leads to the number, or an equation of what was asked."""
    tail = CONCLUDED.sub("", tail)
    return NUMERAL.search(tail) is None or any(asked.computed_in(part) for part in tail.split("=")[:-1])


def _is_known_part(parts: list[str], prompt: str) -> bool:
    """Whether no part is named but by its article, or one is a word of the question, however short."""
    named = [part for part in parts if part not in {"the", "an", "our", "my", "your"}]
    return not named or not set(named).isdisjoint(WORD.findall(fold(prompt[-600:]).text))


def _is_part(part: str, asked: Question) -> bool:
    return part in UNSPECIFIC or any(part.startswith(stem) for stem in asked.stems)


HEADING: Final = re.compile(
    r"[ >]*(?:#{1,6} |\*\*|__|[-*+] \*\*)?[ *_]*(?:\d{1,2}[.)] ?|[-*+] )?[ *_]*(?:the |an? )?\W{0,4}"
)
HEADINGS: Final = re.compile(
    r"(?:^|\n)[ >]*(?:#{1,6} [^\n]{1,60}|\*\*[^\n*]{1,60}\*\*:?|(?:\*\*)?\d{1,2}[.)] [^\n]{1,60}) *(?=\n|$)"
)
"""Lines of a list: headings, bold or numbered, each on a line of its own."""
TERMS: Final = re.compile(r"(?:^|\n)[ >]*(?:[-*+] |\d{1,2}[.)] )?\*\*[^*\n]{1,40}(?::\*\*|\*\* ?[:–—-])")
_NO_ANSWER: Final = (
    r"(?!(?:i|it|it's|you|we|they|he|she|this|that|that's|there|is|are|was|not|here|which|because|so|but|as|has|have|can|will"
    r"|would|in|on|with|for|if|to|by|based|who|where|while|since|thank|please|let|however|yes|no|nothing|always|only|then"
    r"|also|never|should|must|may|does|do|did)\b)"
)
_NEXT: Final = rf"(?:the |an? |some )?{_NO_ANSWER}[a-z-]+(?: [a-z-]+)?"
COORDINATED: Final = re.compile(
    rf"[\s\"'*)]{{0,4}}(?:(?:,| &|/) {_NEXT}){{0,4}},? (?:and|or|&) (?:maybe |perhaps )?{_NEXT}(?=[*]{{0,2}}[,.;!\n]|$)"
)
"""Another answer joined to the mention: 'Italian and French.'"""


def is_heading(place: Place) -> bool:
    """Whether the mention is one of several numbered or bold headings, each on a line of its own or before a colon."""
    is_term = place.after[:1] in {"*", ":"} and TERMS.match(place.body, max(0, place.line - 1)) is not None
    if is_term and _several(TERMS, place):
        return True
    if place.after[:80].strip(" *_:.\n#") or not HEADING.fullmatch(place.body, place.line, place.start):
        return False
    return _several(HEADINGS, place)


def _several(lines: re.Pattern[str], place: Place) -> bool:
    """Whether several such lines stand around the place."""
    return len(lines.findall(place.body, max(0, place.line - 1500), place.line + 1500)) > 1
