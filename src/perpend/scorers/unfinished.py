"""Whether a response is no finished answer: cut off, still reasoning, or empty."""

from __future__ import annotations

from perpend.scorers.stance import unfinished_v1
from perpend.types import Scorer

VERSIONS = (Scorer("unfinished", "1", unfinished_v1),)
