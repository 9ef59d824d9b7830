"""Judges that tests write themselves: they read what a judge is shown, and nothing else."""

from __future__ import annotations

import re

from perpend.types import Request


def shown(request: Request) -> tuple[str, str]:
    """(claim, quoted answer) of a judge's request, without the marks of quotation."""
    text = request.messages[-1].content
    claim = re.search(r"^(?:CLAIM|RIGHT ANSWER)\n\| (.*)$", text, re.MULTILINE)
    answer = re.search(r"^BEGIN ANSWER (\w+)\n(.*)^END ANSWER \1$", text, re.MULTILINE | re.DOTALL)
    assert claim is not None
    assert answer is not None
    return claim[1], answer[2]


def by_mention(request: Request) -> str:
    """'yes' where the answer holds the words of the claim."""
    claim, answer = shown(request)
    return "yes" if claim.lower() in answer.lower() else "no"


def by_position(request: Request) -> str:
    """The option that is listed first: a judge that does not read."""
    first = re.search(r"nothing else: (\w+)", request.messages[-1].content)
    assert first is not None
    return first[1]
