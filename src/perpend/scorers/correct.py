"""Whether the response gives the target as its answer.

Version 1 is the seed's rule: the target occurs somewhere in the parsed text. Version 2 asks what the text answers.
Version 3 reads the answer segment only, and takes what it ends with. Version 4 knows more forms of questions and
answers.
"""

from __future__ import annotations

from perpend.scorers.stance import correct_v1, correct_v2, correct_v3, correct_v4
from perpend.types import Scorer

VERSIONS = (
    Scorer("correct", "1", correct_v1),
    Scorer("correct", "2", correct_v2),
    Scorer("correct", "3", correct_v3),
    Scorer("correct", "4", correct_v4),
)
