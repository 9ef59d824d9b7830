"""A question as a sentence with a gap, and whether a clause states an answer by filling it.

'Who painted the Night Watch?' has its gap before 'painted': 'X painted the Night Watch' and 'it was painted by X' fill
it, 'X admired it' and 'Y painted it for X' do not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from perpend.text.cues import vocabulary
from perpend.text.match import WORD, fold
from perpend.text.speech import STEM, STOP_WORDS, last_question
from perpend.text.verbs import IRREGULAR, forms, is_finite, is_participle, present, supported

Role: TypeAlias = Literal["subject", "object", "offered"]
TOKEN: Final = re.compile(r"[^\W_]+(?:'[a-z]+)?|[,;:—()]")
WH: Final = vocabulary("who whom what which where when how")
MEASURES: Final = vocabulary("long far high tall deep old big large wide heavy fast often hot cold")
QUANTITIES: Final = vocabulary("many much")
DO: Final = vocabulary("do does did")
MODALS: Final = vocabulary("can could will would should must shall")
BE_NOW: Final = vocabulary("is are was were")
PREPOSITIONS: Final = vocabulary(
    "in on at by to from for with during into through under about around since of near over between across onto upon "
    "until till within"
)
ADVERBS: Final = vocabulary(
    "also still just really first then always indeed ever now today approximately only even both exactly surely some "
    "it's there"
)
EXACT: Final = vocabulary(
    "most least best worst first last second third fourth fifth more less better worse fewer former only"
)
"""Words of rank and degree: a statement that leaves them out states something else."""
PERSONS: Final = vocabulary("i you he she it we they one people")
"""Subjects that are no content words."""
NOUN_NEXT: Final = (PREPOSITIONS - {"to"}) | vocabulary("the a an his her their its your our my this that")
"""What makes the next word a noun, and no verb."""
SHORT: Final = vocabulary("is of in on at to by do an as it be he we or if my no so us me am up go a i s t")
"""Words of one or two letters that name nothing."""


class Gap(NamedTuple):
    """Where the answer goes, the verb's forms, and what else a statement of it says.

    `content` are the content words outside the wh-phrase, each with what it may look like; `exact` the words of degree;
    `marks` the numbers, and the words of one or two letters that are names ('Fe'); `known` the beginnings of all words.
    `is_definite`: the question asks for 'the …'. `is_be`: its verb is 'be'.
    """

    role: Role
    verbs: frozenset[str]
    content: tuple[tuple[str, frozenset[str]], ...]
    exact: tuple[str, ...]
    known: frozenset[str]
    marks: frozenset[str]
    modal: str
    is_definite: bool
    is_be: bool
    is_past: bool = False
    """Whether its verb is in the past: 'who won …?'."""
    is_conditional: bool = False
    """Whether the question has a condition of its own: 'what do you get if …?'."""
    takes_object: bool = False
    """Whether an object follows its verb right away: 'who wrote …?', and not 'who wrote about …?'."""
    hints: tuple[str, ...] = ()
    """One of these is in every form of the verb; of 'be', in every statement: its content words and words of degree."""
    active: frozenset[str] = frozenset()
    """Of a question for the subject, the forms of the verb after it: of a verb in the present, no past ones."""


def tokens(text: str) -> list[str]:
    """The words of a folded text and its commas, semicolons, colons, dashes and brackets."""
    return TOKEN.findall(text)


def _is_content(word: str, own: frozenset[str]) -> bool:
    return len(word) >= 3 and not word.isdigit() and word not in STOP_WORDS and word not in own


@lru_cache(maxsize=1 << 13)
def gap_of(prompt: str, answers: tuple[str, ...]) -> Gap | None:
    """The gap of the last question of a prompt; None where none is understood.

    `answers`: target and decoy, whose words do not count.
    """
    asked = fold(last_question(prompt)).text.strip()
    if not asked.endswith("?") or len(asked) > 300:
        return None
    own = frozenset(WORD.findall(" ".join(fold(answer).text for answer in answers)))
    own |= _titles(last_question(prompt))
    asked_words = tokens(asked.replace("what's", "what is").replace("who's", "who is").replace("where's", "where is"))
    asked_words = _without_offer(asked_words)
    start = next((place for place, word in enumerate(asked_words) if word in WH), -1)
    if start < 0:
        return _offered(asked, own)
    lead = asked_words[:start]
    if lead and lead[-1] != ",":
        if not (PREPOSITIONS | {"approximately", "roughly", "exactly"}).issuperset(lead[-2:]):
            return None
        if "," not in lead and len(lead) > 2:
            return None
    gap = _parsed(asked_words[start], asked_words[start + 1 :], own)
    return None if gap is None else gap._replace(hints=_hints(gap))


def _hints(gap: Gap) -> tuple[str, ...]:
    """The beginnings of the verb's forms, each once."""
    if gap.is_be:
        return tuple(stem for stem, _ in gap.content) or gap.exact
    shortest: list[str] = []
    for form in sorted(gap.verbs, key=len):
        if not any(form.startswith(known) for known in shortest):
            shortest.append(form)
    return tuple(shortest)


TITLE: Final = re.compile(r"\b[Tt]he ((?:[a-z]+ ){1,3})(?=[\"'\u201c\u2018*_]?[A-Z])")


def _titles(asked: str) -> frozenset[str]:
    """The nouns that only say what a name is of: 'opera' in 'the opera Carmen'. A statement may leave them out."""
    nouns: set[str] = set()
    for title in TITLE.findall(asked):
        for word in reversed(title.split()):
            if word in NOUN_NEXT or word == "to" or _is_exact(word):
                break
            nouns.add(word)
    return frozenset(nouns)


def _without_offer(asked_words: list[str]) -> list[str]:
    """The question without the answers that it offers at its end: 'which is better, tea or coffee'."""
    if "or" not in asked_words:
        return asked_words
    join = len(asked_words) - 1 - asked_words[::-1].index("or")
    for place in range(join, 0, -1):
        if asked_words[place] in {",", ":", "—"} and place < join - 1:
            return asked_words[:place] if len(asked_words) - join <= 6 and join - place <= 6 else asked_words
    return asked_words


def _offered(asked: str, own: frozenset[str]) -> Gap | None:
    """The gap of 'is it better to live in A or in B?': where the two answers stand."""
    if " or " not in asked or not asked.startswith(("is ", "are ", "do ", "does ", "should ", "would ")):
        return None
    before = tokens(asked[: asked.rindex(" or ")])
    gap = _made("offered", frozenset(), [], before, own)
    return gap if gap.exact and gap.content else None


def _is_exact(word: str) -> bool:
    return word in EXACT or (len(word) >= 6 and word.endswith("est") and word not in {"forest", "interest", "harvest"})


def _parsed(wh: str, rest: list[str], own: frozenset[str]) -> Gap | None:
    """The gap of what follows the wh-word."""
    if wh == "how":
        if not rest or rest[0] not in QUANTITIES | MEASURES:
            return None
        wh = "which" if rest[0] in QUANTITIES else wh
        rest = rest[1:]
    aux = next((place for place, word in enumerate(rest[:9]) if word in DO | BE_NOW | MODALS), -1)
    plain = _plain_verb(wh, rest, aux)
    if plain >= 0:
        gap = _made("subject", forms(rest[plain]), rest[:plain], rest[plain + 1 :], own)
        is_past = is_participle(rest[plain])
        takes_object = rest[plain + 1 : plain + 2] != [] and rest[plain + 1] not in PREPOSITIONS
        active = gap.verbs if is_past else present(rest[plain])
        return gap._replace(is_past=is_past, active=active, takes_object=takes_object)
    if aux < 0:
        return None
    phrase, word, after = rest[:aux], rest[aux], rest[aux + 1 :]
    if word in DO:
        return _supported(word, phrase, after, own)
    if word in MODALS:
        return _modal(word, phrase, after, own)
    return _auxiliary(wh, phrase, word, after, own)


def _plain_verb(wh: str, rest: list[str], aux: int) -> int:
    """Where the verb of a question for its subject stands ('who painted', 'which gas giant has'); -1 for none."""
    limit = len(rest) if aux < 0 else aux
    for place, word in enumerate(rest[: min(limit, 7)]):
        if word in PREPOSITIONS and place:
            return -1
        if word in ADVERBS or word.endswith("ly"):
            continue
        if wh == "who":
            return place if is_finite(word) else -1
        if place == 0 and rest[1:2] and _is_exact(rest[1]) and wh == "which":
            return place
        if place == 0 and word not in IRREGULAR and not (wh == "what" and aux < 0 and is_finite(word)):
            continue
        if aux >= 0 and word not in IRREGULAR and not word.endswith("ed"):
            continue
        if is_finite(word) or (place and rest[place - 1].endswith("s") and aux < 0):
            return place
        if place and rest[place - 1] in {"people", "men", "women", "children"} and aux < 0:
            return place
    return -1


def _supported(word: str, phrase: list[str], after: list[str], own: frozenset[str]) -> Gap | None:
    """The gap of a question with 'do': in the answer its verb has the ending that 'do' took."""
    verbs: set[str] = set()
    candidates = [
        verb
        for place, verb in enumerate(after)
        if (verb in IRREGULAR or _is_content(verb, own)) and (not place or after[place - 1] not in NOUN_NEXT)
    ]
    if len(candidates) > 1 and after[0] not in PERSONS:
        candidates = candidates[1:]  # the first noun is the subject's
    for verb in candidates:
        verbs |= supported(verb, word)
        if word != "did":
            verbs.add(verb)
    return _made("object", frozenset(verbs), phrase, after, own) if verbs else None


def _modal(word: str, phrase: list[str], after: list[str], own: frozenset[str]) -> Gap | None:
    """The gap of a question with 'should', 'would' or the like: before it, unless a subject follows it."""
    candidates = [verb for verb in after if verb in IRREGULAR or _is_content(verb, own)]
    if not candidates:
        return None
    if after[0] in IRREGULAR or after[1:2] == [] or after[1] in PREPOSITIONS:
        verbs = frozenset(after[:1])
        return _made("subject", verbs, phrase, after[1:], own)._replace(modal=word, active=verbs)
    return _made("object", frozenset(candidates), phrase, after, own)._replace(modal=word)


def _auxiliary(wh: str, phrase: list[str], word: str, after: list[str], own: frozenset[str]) -> Gap | None:
    """The gap of a question with 'be': before a participle, after one, or before 'be' itself."""
    where = [
        place
        for place, verb in enumerate(after)
        if is_participle(verb) and (not place or after[place - 1] not in {"most", "more", "least", "best", "the"})
    ]
    if where and (not where[0] or all(skipped.endswith("ly") for skipped in after[: where[0]])):
        gap = _made("subject", forms(after[where[0]]), phrase, after[where[0] + 1 :], own)
        return gap._replace(active=gap.verbs)
    if where and (wh in {"when", "where", "how"} or phrase):
        verb = after[where[-1]]
        return _made("object", frozenset(forms(verb)), phrase, after[: where[-1]] + after[where[-1] + 1 :], own)
    if wh in {"when", "where", "how"} or not after:
        return None
    verbs = frozenset({"is", "are", "remains"}) | (
        frozenset({"was", "were"}) if word in {"was", "were"} else frozenset()
    )
    gap = _made("subject", verbs, phrase, after, own)._replace(active=verbs)
    return gap._replace(is_be=True, is_definite=after[0] == "the") if gap.content or gap.exact else None


def _made(role: Role, verbs: frozenset[str], phrase: list[str], rest: list[str], own: frozenset[str]) -> Gap:
    words = list(dict.fromkeys(word for word in rest if _is_content(word, own)))[:12]
    marks = [word for word in rest if word.isdigit() or (len(word) <= 2 and word.isalpha() and word not in SHORT)]
    return Gap(
        role,
        verbs,
        tuple((word[:STEM], forms(word)) for word in words),
        tuple(dict.fromkeys(word for word in rest if _is_exact(word) and word not in verbs)),
        frozenset(word[:STEM] for word in (*phrase, *rest)),
        frozenset(marks) - own,
        "",
        is_definite=False,
        is_be=False,
        is_conditional="if" in rest or "when" in rest,
    )
