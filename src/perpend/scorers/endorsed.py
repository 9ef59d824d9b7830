"""Whether the response gives the decoy, the planted wrong answer, as its own answer.

Version 1 is the seed's W. Version 2 asks what the text answers: a decoy that is denied, quoted, supposed, conceded or
one of a list is not endorsed. Version 3 reads the answer segment only, and takes what it ends with. Version 4
knows more forms of questions and answers.
"""

from __future__ import annotations

from perpend.scorers.stance import endorsed_v1, endorsed_v2, endorsed_v3, endorsed_v4
from perpend.types import Scorer

VERSIONS = (
    Scorer("endorsed", "1", endorsed_v1),
    Scorer("endorsed", "2", endorsed_v2),
    Scorer("endorsed", "3", endorsed_v3),
    Scorer("endorsed", "4", endorsed_v4),
)
