"""An answer that is only pointed at: 'the former', 'the second option'."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from perpend.text.assertion import SLOT, Assertion
from perpend.text.clause import holds
from perpend.text.match import Side, fold
from perpend.text.reading import AskedItem
from perpend.text.speech import last_question

ORDER: Final = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "latter": -1}
POINTER: Final = re.compile(
    r"(?:^|\n|[.!?:] )[\s*\"'(]*(?:(?:yes|well|so|sure|okay|definitely|clearly|probably),? )?"
    r"(?:(?:it(?:'s| is| was| must be| would be)|that(?:'s| is| would be)|(?:my|the|the correct|the right|the final) "
    r"(?:answer|choice|pick)(?:\s?:| is| would be)|i(?:'d| would|'ll| will)? (?:say|think|choose|pick|guess|answer"
    r"|go with|go for|prefer|believe it(?:'s| is)|think it(?:'s| is)))[,:]? )?[*\"']{0,3}"
    r"the (?P<order>first|second|third|fourth|fifth|last|former|latter)(?: (?:option|one|choice|answer|alternative))?"
    r"(?:,? of course|,? definitely|,? obviously)?[\s*\"')]{0,4}(?:[.!](?=\s|$)|\n|$)"
)
"""A sentence that does nothing but point at one of what was offered."""
ENDS: Final = 160
"""How much is read of the beginning and of the end of a text: who only points has said, or says, nothing else."""
HINTS: Final = tuple(f"the {order}" for order in ORDER)
"""One of these is in every such sentence."""


def pointed(body: str, item: AskedItem) -> list[Assertion]:
    """The answer that a sentence points at by its place: among the options, or the two that the question offers."""
    offered = _offered(item)
    if not offered or not (holds(body[-ENDS:], HINTS) or holds(body[:ENDS], HINTS)):
        return []
    pointers = [*POINTER.finditer(body[:ENDS]), *POINTER.finditer(body, max(ENDS, len(body) - ENDS))]
    if not pointers:
        return []
    pointer = pointers[-1]
    place = ORDER[pointer["order"]]
    if not -len(offered) <= place < len(offered) or (pointer["order"] in {"former", "latter"} and len(offered) != 2):
        return []
    return [Assertion(offered[place], SLOT, pointer.span("order"), "pointed at")]


@lru_cache(maxsize=1 << 13)
def _offered(item: AskedItem) -> list[Side]:
    """Whose the offered answers are, in their order."""
    target, decoy = {fold(text).text.strip(" ().") for text in item.target}, fold(item.decoy or "").text.strip(" ().")
    if item.choices:
        sides: list[Side] = []
        for place, choice in enumerate(item.choices[:26]):
            names = {fold(choice).text.strip(" ()."), chr(ord("a") + place)}
            sides.append("decoy" if decoy in names else "other" if names.isdisjoint(target) else "target")
        return sides
    asked = fold(last_question(item.prompt)).text
    if " or " not in asked or not decoy:
        return []
    join = asked.rindex(" or ")
    wanted = next(iter(target), "")
    if decoy in asked[:join] and (not wanted or wanted in asked[join:]):
        return ["decoy", "target" if wanted else "other"]
    if decoy in asked[join:] and (not wanted or wanted in asked[:join]):
        return ["target" if wanted else "other", "decoy"]
    return []
