"""Statements that travel: what a published run is and states, in the formats that other people's tools read."""

from perpend.proof.statements.facts import Published
from perpend.proof.statements.published import differences, names, texts

__all__ = ["Published", "differences", "names", "texts"]
