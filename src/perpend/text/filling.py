"""Whether a clause fills the gap of a question with a mention: what version 4 takes for a plain statement."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.clause import Place
from perpend.text.cues import vocabulary
from perpend.text.gap import ADVERBS, PREPOSITIONS, Gap, tokens
from perpend.text.speech import STEM, STOP_WORDS
from perpend.text.verbs import BE

AUXILIARIES: Final = vocabulary("is are was were be been being has have had do does did will would can used")
ARTICLES: Final = vocabulary("the a an this that these those its his her their our your my some")
PRONOUNS: Final = vocabulary("it this that they he she them these those")
REFERRING: Final = PRONOUNS | vocabulary("expression code snippet program statement call command")
"""Subjects that stand for what was asked about."""
BREAKS: Final = vocabulary(
    "; : — ( ) but because while although though whereas however since unless if whether when which who whom whose "
    "where so therefore thus hence that"
)
"""What ends a clause."""
DATES: Final = vocabulary(
    "january february march april may june july august september october november december year month day century "
    "monday tuesday wednesday thursday friday saturday sunday"
)
BEFORE_SUBJECT: Final = PREPOSITIONS | vocabulary("and or than nor like unlike not")
"""What makes a noun after it no subject."""
INVERTED: Final = vocabulary("had were should could would might did does do is was has have")
"""Auxiliaries that, right before a subject, make a condition or a question of its clause."""
PLACING: Final = vocabulary("in at from on")
WEAK: Final = vocabulary(
    "nearly almost partly partially hardly barely scarcely mostly supposedly allegedly reportedly possibly potentially "
    "rarely formerly previously historically traditionally temporarily briefly probably presumably"
)
"""Adverbs with which a clause states less, or something else."""
RANKS: Final = vocabulary("second third fourth fifth least less former fewer worst worse another")
DENYING: Final = vocabulary("no not never neither hardly rarely seldom without only")
TAKEN_BACK: Final = re.compile(
    r"\b(?:is|are|was|would be|seems) (?:\w+ ){0,2}?(?:myth|misconception|false|untrue|incorrect|wrong|mistake|mistaken"
    r"|impossible|unlikely|doubtful|disputed|unproven)\b|\bnever\b|\baccording to (?:the |some |other |all )?(?:others?"
    r"|users?|agents?|people|participants?)\b|,? (?:they|he|she|some|others|users|people|you) (?:say|said|claim|claimed"
    r"|think|believe|insist)\b"
)
"""What takes a statement back, or gives it to others, after its verb."""
BRACKETS: Final = re.compile(r"\([^()]{0,80}\)")
ROUGHLY: Final = vocabulary("about around over under")
"""Prepositions that only make a number an estimate."""
SHARE: Final = 0.6
"""How much of the question's other content words a statement repeats."""
FOREIGN: Final = 2
"""How many words that the question does not have may name the place or the kind of a subject ('X in Hawaii is …')."""
REACH: Final = 160
"""How far a clause is read on either side of the mention."""


def fills(place: Place, gap: Gap) -> bool:
    """Whether the clause states the mention: it stands where the gap is, beside the question's verb in some form, and
    the clause repeats three fifths of the question's other content words, or a pronoun stands for them. All of them,
    where the subject or the first noun after the verb is none of the question's.

    Between verb and mention stand only words of the question, articles, prepositions, adverbs and auxiliaries: what
    comes after another noun, a comma or 'by' fills no gap. All words of degree ('largest', 'first', 'better') and all
    names of one or two letters must be repeated; numbers too, where the clause has any.
    """
    before, after = place.before[-REACH:], place.after[:REACH]
    if after.startswith("'s ") or (after.startswith("' ") and not before.endswith("'")) or TAKEN_BACK.search(after):
        return False
    if "(" in before:
        before = BRACKETS.sub("", before)
    left, right = tokens(before), tokens(after)
    if not _has_marks({*left, *right}, gap):
        return False
    left = _last_clause(left)
    if left and left[-1] in ROUGHLY and place.body[place.start].isdigit():
        left = left[:-1]
    if gap.role == "offered":
        return _repeats([*left, *_first_clause(right, gap)], gap, "")
    if gap.role == "subject":
        return _as_subject(left, right, gap) or _as_agent(left, right, gap) or _is_short(left, right, place)
    return _as_object(left, right, gap) or _as_opening(left, right, gap)


def _last_clause(words: list[str]) -> list[str]:
    for place in range(len(words) - 1, -1, -1):
        if words[place] in BREAKS and not (words[place] == "that" and place == len(words) - 1):
            return words[place + 1 :]
    return words


def _first_clause(words: list[str], gap: Gap) -> list[str]:
    """Up to a break, a comma, or an 'and' that is not the question's own."""
    for place, word in enumerate(words):
        if word in BREAKS or word == "," or (word == "and" and not _is_within(words, place, gap)):
            return words[:place]
    return words


def _is_within(words: list[str], place: int, gap: Gap) -> bool:
    return "and" in gap.known and all(word[:STEM] in gap.known for word in words[place - 1 : place + 2])


def _is_bound(word: str, gap: Gap) -> bool:
    """Whether a word may stand between verb and mention."""
    if word in WEAK or word in DENYING:
        return False
    if word in ADVERBS or word in ARTICLES or word in PREPOSITIONS or word in AUXILIARIES or word in DATES:
        return True
    return word[:STEM] in gap.known or word.endswith("ly") or word.isdigit()


def _repeats(clause: list[str], gap: Gap, verb: str, share: float = SHARE) -> bool:
    """Whether the clause says enough of what was asked, besides the verb."""
    clause_words = set(clause)
    if not clause_words.issuperset(gap.exact) or not DENYING.isdisjoint(clause_words - {"only"}):
        return False
    if not RANKS.isdisjoint(clause_words.difference(gap.exact)):
        return False
    stems = {word[:STEM] for word in clause}
    others = [(stem, shapes) for stem, shapes in gap.content if verb not in shapes]
    hits = [stem for stem, shapes in others if stem in stems or not shapes.isdisjoint(clause_words)]
    return len(hits) >= share * len(others)


def _has_marks(clause_words: set[str], gap: Gap) -> bool:
    """Whether the question's numbers and short names are in the clause; of the numbers, if it has other numbers."""
    missing = gap.marks - clause_words
    if any(not mark.isdigit() for mark in missing):
        return False
    return not missing or not any(word.isdigit() for word in clause_words - gap.marks)


def _is_foreign(word: str, gap: Gap) -> bool:
    return len(word) >= 3 and word not in STOP_WORDS and not _is_bound(word, gap) and word not in REFERRING


def _is_subject(left: list[str], gap: Gap) -> bool:
    """Whether a noun after these words can be the subject of its clause, for what was asked and nothing narrower."""
    if left and left[-1] in INVERTED:
        return False
    place = len(left) - 1
    while (
        place >= 0 and (left[place] in ARTICLES or left[place][:STEM] in gap.known) and left[place] not in PREPOSITIONS
    ):
        place -= 1
    if place >= 0 and left[place] in BEFORE_SUBJECT:
        return False
    is_narrowed = "," in left and left[0] in PREPOSITIONS and any(_is_foreign(word, gap) for word in left)
    return not is_narrowed


def _as_subject(left: list[str], right: list[str], gap: Gap) -> bool:  # noqa: PLR0911 - one a rule
    """'X painted …', 'the X keyword removes …', 'X in Hawaii is the tallest …'."""
    if not _is_subject(left, gap):
        return False
    right = _without_aside(right)
    verb = _verb_after(right, gap)
    if verb < 0:
        return False
    tail = _first_clause(right[verb + 1 :], gap)
    if gap.is_be and not _is_predicate(tail, gap):
        return False
    if gap.takes_object and not PREPOSITIONS.isdisjoint(tail[:1]):
        return False
    lead = left if gap.verbs.isdisjoint(left) else []  # what has the verb too is a clause of its own
    objects = [word for word in tail if _is_foreign(word, gap) or (len(word) >= 3 and word[:STEM] in gap.known)]
    share = 1.0 if objects and _is_foreign(objects[0], gap) else SHARE
    if _repeats([*lead, *right[:verb], *tail], gap, right[verb], share):
        return True
    if not tail:
        return gap.modal != ""
    return tail[0] in PRONOUNS and (len(tail) == 1 or tail[1] in PREPOSITIONS) and not gap.is_be


def _without_aside(right: list[str]) -> list[str]:
    """The words after a mention without an apposition between commas or brackets right after it."""
    for opening, closing in ((",", ","), ("(", ")")):
        if right[:1] == [opening] and closing in right[1:10]:
            return right[right.index(closing, 1) + 1 :]
    return right


def _verb_after(right: list[str], gap: Gap) -> int:
    """Where the verb of a subject stands; -1 where something else than its modifiers comes first."""
    foreign = 0
    for place, word in enumerate(right):
        if word in gap.active and not (word in AUXILIARIES and _verb_follows(right, place, gap)):
            return place if not gap.modal or gap.modal in right[:place] else -1
        if word in {"who", "that", "which"} and place and right[place - 1][:STEM] in gap.known:
            continue
        if word in DENYING or word in {",", "and", "or"} or word in BREAKS:
            return -1
        if _is_bound(word, gap) or word == gap.modal:
            continue
        if foreign < FOREIGN and (foreign or _opens_phrase(right, place)):
            foreign += 1
            continue
        return -1
    return -1


def _opens_phrase(right: list[str], place: int) -> bool:
    """Whether a word names the place or the kind of the subject: 'X in our galaxy …', 'X is a device …'."""
    head = place - 1
    while head >= 0 and right[head] in ARTICLES:
        head -= 1
    return head >= 0 and (right[head] in PLACING or (head < place - 1 and right[head] in BE))


def _verb_follows(right: list[str], place: int, gap: Gap) -> bool:
    """Whether an auxiliary only leads to another form of the question's verb: 'has had'."""
    return right[place + 1 : place + 2] != [] and right[place + 1] in gap.active


def _is_predicate(tail: list[str], gap: Gap) -> bool:
    """Whether what follows 'is' begins as the question's predicate does: 'the' for 'the', and no foreign modifier."""
    place = 0
    while place < len(tail) and (tail[place] in ADVERBS or tail[place].endswith("ly")) and tail[place] not in gap.exact:
        if tail[place] in WEAK:
            return False
        place += 1
    rest = tail[place:]
    if gap.is_definite and rest[:1] != ["the"]:
        return False
    head = rest[1:2] if rest[:1] == ["the"] else rest[:1]
    return bool(head) and head[0][:STEM] in gap.known


def _as_agent(left: list[str], right: list[str], gap: Gap) -> bool:
    """'… was painted by X'."""
    if gap.is_be:
        return False
    place, foreign = len(left) - 1, 0
    while place >= 0 and left[place] != "by":
        if left[place].endswith("ing"):
            return False
        if not _is_bound(left[place], gap) or left[place] in PREPOSITIONS:
            foreign += 1
        if foreign > FOREIGN or left[place] in {",", "and", "or"} or left[place] in PREPOSITIONS:
            return False
        place -= 1
    verb = _verb_before(left, place - 1, gap)
    if place < 1 or verb < 0:
        return False
    subject = _segment(left, verb, gap)
    if _repeats([*subject, *left[verb:], *_first_clause(right, gap)], gap, left[verb]):
        return True
    return _is_pronoun(subject, gap)


def _verb_before(left: list[str], place: int, gap: Gap) -> int:
    """Where the verb before `place` stands; -1 where something else than its adverbials comes between."""
    while place >= 0:
        word = left[place]
        if word in gap.verbs:
            return place
        is_date = word == "," and not DATES.isdisjoint(left[max(0, place - 3) : place])
        if not is_date and (word == "by" or not _is_bound(word, gap)):
            return -1
        place -= 1
    return -1


def _segment(left: list[str], verb: int, gap: Gap) -> list[str]:
    """The subject before a verb: back to a comma or an 'and', unless that stands right before the verb."""
    for place in range(verb - 1, -1, -1):
        is_end = left[place] == "," or (left[place] == "and" and not _is_within(left, place, gap))
        if is_end and any(_is_content(word) for word in left[place + 1 : verb]):
            return left[place + 1 : verb]
    return left[:verb]


def _is_content(word: str) -> bool:
    return word not in AUXILIARIES and word not in ADVERBS and not word.endswith("ly")


def _is_pronoun(subject: list[str], gap: Gap) -> bool:
    """Whether a pronoun stands for all that was asked about."""
    return any(word in PRONOUNS for word in subject) and not any(_is_foreign(word, gap) for word in subject)


def _as_object(left: list[str], right: list[str], gap: Gap) -> bool:
    """'… fell in X', 'A spider has X legs', '… returns X'."""
    verb = _verb_before(left, len(left) - 1, gap)
    if verb < 0 or (gap.modal and gap.modal not in left[:verb]):
        return False
    subject = _segment(left, verb, gap)
    return _says_it(subject, [*left[verb:], *_first_clause(right, gap)], left[verb], gap)


def _says_it(subject: list[str], rest: list[str], verb: str, gap: Gap) -> bool:
    """Whether the clause says enough; of a subject that the question does not have, all."""
    clause = [*subject, *rest]
    is_foreign = any(_is_foreign(word, gap) for word in subject)
    if _repeats(clause, gap, verb, 1.0 if is_foreign else SHARE):
        return True
    if is_foreign or not _repeats(clause, gap, verb, 0.0):
        return False
    return any(word in REFERRING or (len(word) >= 3 and word[:STEM] in gap.known) for word in subject if word != "the")


def _as_opening(left: list[str], right: list[str], gap: Gap) -> bool:
    """'In X, the wall fell': a preposition and the mention before the subject."""
    if not left or left[-1] not in PREPOSITIONS | {"year", "the"} or len(left) > 4 or right[:1] == []:
        return False
    if not all(_is_bound(word, gap) for word in left):
        return False
    right = _first_clause(right[1:] if right[0] == "," else right, gap)
    for place, word in enumerate(right):
        if word in gap.verbs and place:
            return _says_it(right[:place], [*left, *right[place:]], word, gap)
        if not _is_bound(word, gap) and word not in PRONOUNS:
            return False
    return False


def _is_short(left: list[str], right: list[str], place: Place) -> bool:
    """'X did.', 'X does.': a subject and its auxiliary, and nothing else."""
    is_end = len(right) == 1 and right[0] in AUXILIARIES and right[0] != "used"
    return (
        is_end and len(left) <= 2 and not place.after.rstrip().endswith("?") and not BEFORE_SUBJECT.intersection(left)
    )
