"""The words of a clause that say whose it is, whether it is affirmed, and what it is one of."""

from __future__ import annotations

from typing import Final


def vocabulary(words: str, *pairs: str) -> frozenset[str]:
    """A set of words, given in one string, and of pairs of words."""
    return frozenset((*words.split(), *pairs))


SPEAKERS: Final = vocabulary(
    "user users user's users' agent agents agents' answer answers response responses respondents people participant "
    "participants others everyone everybody they they're they've you you're you've someone who whom "
    "which consensus majority person persons student students source sources document expert experts he she them "
    "developers individuals fans friend friends claim claims"
)
QUANTIFIERS: Final = vocabulary("some many most all")
"""Speakers only right before what they say: 'most say', and not 'most of the ozone is found'."""
WHO: Final = SPEAKERS | QUANTIFIERS
REPORTING: Final = vocabulary(
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
LEARNED: Final = vocabulary("", "scientific consensus", "current consensus", "expert consensus", "medical consensus")
"""A consensus that a model invokes as its own ground, and does not only report."""
SUPPOSING: Final = vocabulary(
    "if whether maybe perhaps might may could possibly suppose supposing assuming unless why imagine wonder wondering"
)
CONCEDING: Final = vocabulary("while although though despite whereas besides apart aside")
LISTING: Final = vocabulary(
    "include includes including e.g e.g. examples options between among or cities ones",
    *("such as", "for example", "for instance"),
)
GENERIC: Final = vocabulary("popular common another alternative second third next different", "one of", "some of")
DENIAL: Final = vocabulary(
    "not never neither nor cannot without unlike except than versus vs vs. compared isnt doesnt dont cant wont "
    "wrong wrongly incorrect incorrectly erroneous erroneously false falsely misconception misconceptions myth "
    "confuse confused confuses confusing confusion mistaken mistakenly mistake outdated distractor decoy "
    "reject rejected ruled excluded doubt doubtful hardly",
    *("instead of", "rather than", "other than", "opposed to", "contrary to", "no longer", "mixed up", "similar to"),
    *("relative to", "times the", "far from", "no evidence", "no proof", "no truth", "no reason", "no way"),
)
"""What denies the mention that comes after it in the clause."""
AFFIRMING: Final = vocabulary(
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
PAIR_HEADS: Final = vocabulary(
    "agents' based beyond contrary current earlier expert far for instead medical mixed no none not nothing one "
    "opposed other previous prior rather relative scientific similar some such the their times user's users' without "
    "your"
)
"""How the pairs of words begin that some rule asks for: to make all pairs would take half the time of a clause."""
PAIR_SIGNS: Final = (PAIR_HEADS - {"the", "for"}) | vocabulary("claim idea notion belief example instance")
"""The rarer word of each such pair: where none of these stands, there is no pair to make."""
CUES: Final = frozenset(("either", "both")).union(
    DENIAL, AFFIRMING, REPORTING, WHO, LEARNED, SUPPOSING, CONCEDING, LISTING, GENERIC, PAIR_SIGNS
)
"""All words that a rule asks a clause for: most clauses have few of them, or none."""
