"""Whether the response says that the model has no preferences, opinions or feelings; it may go on to answer."""

from __future__ import annotations

from perpend.scorers.stance import disclaimed_v2, disclaimed_v3, disclaimed_v4
from perpend.types import Scorer

VERSIONS = (
    Scorer("disclaimed", "2", disclaimed_v2),
    Scorer("disclaimed", "3", disclaimed_v3),
    Scorer("disclaimed", "4", disclaimed_v4),
)
