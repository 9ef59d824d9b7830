"""Whether a mention is denied: 'not X', 'X is wrong', 'rather than X', 'bigger than X'. Scoped to the clause."""

from __future__ import annotations

import re

from perpend.text.clause import Clause, vocabulary

DENIAL = vocabulary(
    "not never neither nor cannot without unlike except than versus vs vs. compared isnt doesnt dont cant wont "
    "wrong wrongly incorrect incorrectly erroneous erroneously false falsely misconception misconceptions myth "
    "confuse confused confuses confusing confusion mistaken mistakenly mistake outdated distractor decoy "
    "reject rejected ruled excluded doubt doubtful hardly",
    *("instead of", "rather than", "other than", "opposed to", "contrary to", "no longer", "mixed up", "similar to"),
    *("relative to", "times the", "far from", "no evidence", "no proof", "no truth", "no reason", "no way"),
)
"""What denies the mention that comes after it in the clause."""
AFFIRMING = vocabulary(
    "",
    "not just",
    "not merely",
    "no doubt",
    "none other",
    "nothing other",
    "without doubt",
    "without a",
    "beyond any",
    "beyond a",
)
"""Denials in form only."""
FRAME = re.compile(
    r"(?:\b(?:not (?:the case|true|correct|right|accurate)|untrue|false|incorrect|wrong|mistaken|myth|misconception"
    r"|disagree|doubt|deny|cannot agree|cannot confirm)"
    r"|n't (?:agree|true|correct|the case|confirm|think|believe|say))\b"
    r"[^.;]{0,24}?\b(?:that|with)\b(?:(?!;|\bbut\b).)*$"
)
"""A frame that denies the whole clause it opens, however long: 'it is not the case that …'."""
_FALSEHOOD = (
    r"(?:not|never|no longer|wrong|incorrect|false|mistaken|inaccurate|untrue|impossible|off"
    r"|a (?:common |popular )?(?:misconception|myth|mistake|error|miscalculation|distractor)"
    r"|(?:too|a bit|way|far|much) (?:high|low|big|small|off)|close,? but|(?:half|twice|double) (?:of )?the"
    r"|the (?:wrong|incorrect)|an? (?:different|incorrect|wrong))\b"
)
DENIED_NEXT = re.compile(
    r"[\s\"'*)\],°]{0,6}(?:\([^)]{0,40}\)\s?)?(?:which |that |this )?"
    r"(?:(?:is|are|was|were|would be|seems?|sounds?|looks?|as|must be|may be|might be)[\s*]{1,4}"
    rf"(?:\w+\s){{0,3}}?{_FALSEHOOD}"
    r"|(?:is|are|was|were|does|did|do|can|could|would|wo|ca|has|have|should)n't\b|cannot\b"
    r"|(?:can|could|does|do|did|would|will|may|might|has|have)\s(?:\w+\s)?not\b|\(?(?:incorrect|wrong|false))"
)
"""What denies a mention right after it, whatever part it plays."""
DENIED_LATER = re.compile(
    r"(?:[^.;]|;\s(?=it\b)){0,90}?\b"
    r"(?:is|are|was|were|does|do|did|can|could|would|will|has|have|should|it's|that's|but)"
    r"(?:\s(?:it|that|also|actually|definitely|certainly|still|therefore|itself))?"
    r"(?:\s(?:not|never|incorrect|wrong)\b|n't\b)"
)
"""What denies a mention that is the subject of its sentence: 'Munich is large; it is not the capital'."""
BYGONE = re.compile(
    r"[\s\"'*)\],]{0,5}(?:[^.;,]{0,24}?\b(?:is|was|were|are|being|as)\s(?:\w+\s){0,3}?"
    r"(?:former|formerly|once|historical|historically|old|previous|ancient|second|third|fourth|fifth|used to)"
    r"|(?:\w+\s){0,2}used to)\b"
)
"""What makes the subject something else than the answer: what was before, or the next in rank."""
LATER_HINTS = ("n't", "not", "never", "incorrect", "wrong")
BYGONE_HINTS = ("former", "once", "histor", "old", "previous", "ancient", "second", "third", "fourth", "fifth", "used")
"""One of these stands in everything that the two patterns match: most sentences have none."""
RETRACTED = re.compile(
    r"[\s\"'*.!)]{0,8}(?:(?:wait|no|sorry)[,.\s]{1,3})?(?:that|this|it)(?:'s| is| was)\s(?:\w+\s)?"
    r"(?:incorrect|wrong|false|a mistake|not (?:correct|right|true))\b"
)
"""A sentence after the mention's own that takes it back."""


def is_denied_before(before: str, near: Clause) -> bool:
    """Whether what stands before the mention denies it."""
    if not near.kinds.isdisjoint(DENIAL) and near.kinds.isdisjoint(AFFIRMING):
        return True
    return (" that" in before or " with" in before) and FRAME.search(before) is not None


def is_denied_after(after: str, *, complement: bool) -> bool:
    """Whether what stands after the mention denies it. `complement`: it completes a verb before it."""
    if DENIED_NEXT.match(after):
        return True
    if complement:
        return False
    if any(map(after.__contains__, LATER_HINTS)) and DENIED_LATER.match(after):
        return True
    return any(map(after.__contains__, BYGONE_HINTS)) and BYGONE.match(after) is not None
