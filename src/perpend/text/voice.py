"""Whether a claim is the model's own and unqualified: what version 3 adds to the rules of `speech` and `assertion`."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.assertion import CLOSING, IS_THE, NAMED_ANSWER, SLOT, STATEMENT, as_subject, block, strength
from perpend.text.clause import Place, around, holds, vocabulary
from perpend.text.match import Answer
from perpend.text.speech import NUMERAL, Question, is_reported

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
        before = CONCUR.sub(_for_itself, INCLUDED.sub("i ", before))
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
    aside = ASIDE.match(after) if after[:1] in {" ", ",", "*"} else None
    if aside is not None:
        after = after[aside.end() :]
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
    if _is_affirmed(place, asked):
        return STATEMENT
    return level


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


def disowned(place: Place, level: float, asked: Question, prompt: str) -> str | None:  # noqa: PLR0911 - one a rule
    """Which rule of version 3 or 2 says that a mention is not the model's own, unqualified answer; None: none does."""
    before, after = place.before, place.after
    if (('"' in before and '"' in after) or ("'" in before and "'" in after)) and _is_quoted(before, after):
        return "reported"
    if holds(before, HEARSAY_HINTS) and HEARSAY.search(before):
        return "reported"
    if holds(before, EXAMPLE_HINTS) and EXAMPLE.search(before):
        return "example"
    if _is_conditional(before, after, asked):
        return "supposed"
    if asked.is_opinion:
        if SCOPE.search(before) or (not place.is_last and SCOPE_AFTER.match(after)):
            return "qualified"
    elif CONDITIONS.search(before) or (not place.is_last and SCOPE_AFTER.match(after)):
        return "qualified"
    elif level < SLOT and is_of_another(place, asked, prompt):
        return "another subject"
    if " but " in after and UNABLE.match(after):
        return "denied"
    if (holds(after, JOINING) and COORDINATED.match(after)) or is_heading(place):
        return "listed"
    why = block(place, level)
    if why == "reported" and not is_reported(before, place.clause):
        return None if CHOSEN.match(after) or _is_affirmed(place, asked) else why
    return why


def _is_affirmed(place: Place, asked: Question) -> bool:
    """Whether the model affirms that the mention is generally held to be what was asked."""
    regarded = REGARDED.match(place.after)
    if regarded is None or not (FIRST.match(regarded["rest"]) or asked.focus in regarded["rest"]):
        return False
    if place.start <= 60 and AFFIRMED.fullmatch(place.body, 0, place.start):
        return True
    if CONCESSION.match(place.body[place.low : place.start]):
        return True
    return ANNOUNCED.search(place.body, max(0, place.start - 60), place.start) is not None


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


def is_of_another(place: Place, asked: Question, prompt: str) -> bool:
    """Whether it is said of something else than what was asked.

    'The formula for lye is …' where salt was asked; 'the root of 144 is …' where 64 was; 'lye has …, so it's …'.
    """
    before = place.before
    tail = before[-60:]
    if asked.operators and asked.numerals and NUMERAL.search(tail) and not asked.computed_in(tail):
        return True
    if not asked.stems:
        return False
    lead = " ".join(place.clause.near)
    complement = IS_THE.match(place.after)
    if complement is not None:
        lead = complement["rest"].partition(",")[0]
    parts = PART.findall(lead)
    if (
        parts
        and asked.named_in(lead)
        and PART.search(prompt.lower())
        and not any(_is_part(part, asked) for part in parts)
    ):
        return True
    if POINTING.match(before) or asked.named_in(" ".join(before.split()[:6])):
        return False
    pronoun = PRONOUN.search(before)
    return pronoun is not None and len(before[: pronoun.start()].split()) >= 3


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
    near = max(0, place.line - 1500), place.line + 1500
    is_term = place.after[:1] in {"*", ":"} and TERMS.match(place.body, max(0, place.line - 1)) is not None
    if is_term and len(TERMS.findall(place.body, *near)) > 1:
        return True
    if not HEADING.fullmatch(place.body, place.line, place.start) or place.after[:80].strip(" *_:.\n#"):
        return False
    return len(HEADINGS.findall(place.body, *near)) > 1
