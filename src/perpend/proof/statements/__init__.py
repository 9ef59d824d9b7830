"""Statements that travel: what a published run is and states, in the formats that other people's tools read."""

from perpend.proof.statements.facts import StatedRun
from perpend.proof.statements.published import differences, names, texts

__all__ = ["StatedRun", "differences", "names", "texts"]
