"""Whether the decoy occurs in the response at all: what endorsement is not.

Version 1 is the seed's rule, on the whole parsed text. Version 2 reads whole words and numbers in the model's own turn,
after its reasoning. Version 3 reads the answer segment. Version 4 knows more notations.
"""

from __future__ import annotations

from perpend.scorers.stance import mentioned_v1, mentioned_v2, mentioned_v3, mentioned_v4
from perpend.types import Scorer

VERSIONS = (
    Scorer("mentioned", "1", mentioned_v1),
    Scorer("mentioned", "2", mentioned_v2),
    Scorer("mentioned", "3", mentioned_v3),
    Scorer("mentioned", "4", mentioned_v4),
)
