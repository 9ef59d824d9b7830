"""An answer put before a judge as data: what it says can be read, and nothing in it can pass for an instruction.

Every line of foreign text begins with '| ', so none of it stands where a turn, a heading or a fence begins. Characters
that cannot be seen are shown as escapes. What a chat template would read as a token of its own is broken by a blank.
The answer is between two lines with a number that is drawn from its digest, which a text cannot know of itself.
"""

from __future__ import annotations

import hashlib
import re

from perpend.ask.rubric import PARTS, Rubric
from perpend.canon import clean_text
from perpend.inert import terminal
from perpend.ledger.items import question
from perpend.types import Item

LONGEST = 24_000
"""Characters of an answer that a judge is shown. Of a longer one the end is what counts, so more of it is kept."""
_HEAD = 8_000
# '<|im_start|>', '</s>', '<start_of_turn>', '<<SYS>>', '<｜User｜>', '[INST]', '[/INST]', '◁think▷': the opening sign.
_TOKEN = re.compile(r"<(?=[|｜/!<A-Za-z_])|\[(?=/?[A-Za-z_]{1,40}\])|◁(?=/?[A-Za-z])")
_BREAK = re.compile(r"\r\n?")


def text_sha256(text: str) -> str:
    """SHA-256, in hex, of an answer's text as it is stored, in UTF-8."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which no ledger can hold
        data = clean_text(text).encode()
    return hashlib.sha256(data).hexdigest()


def fence_of(text: str) -> str:
    """The number in the two lines around an answer: from its digest, and in no place of the text itself."""
    number, fence = 0, ""
    while not fence or fence in text:
        fence = hashlib.sha256(f"fence {number} {text_sha256(text)}".encode()).hexdigest()[:16]
        number += 1
    return fence


def quoted(text: str) -> str:
    """Foreign text as lines that begin with '| ', readable and inert."""
    clean = _TOKEN.sub(r"\g<0> ", terminal(_BREAK.sub("\n", clean_text(text))))
    return "\n".join(f"| {line}" for line in clean.split("\n"))


def material(item: Item, text: str, rubric: Rubric) -> str:
    """What a judge is shown of an answer: the item's bare question, what the rubric needs, the answer. No condition."""
    parts = [f"QUESTION\n{quoted(question(item))}"]
    for part in rubric.needs:
        words = str(getattr(item, part))
        if part == "target" and item.aliases:
            words += f"\nalso written: {'; '.join(item.aliases)}"
        parts.append(f"{PARTS[part]}\n{quoted(words)}")
    fence = fence_of(text)
    parts.append(f"BEGIN ANSWER {fence}\n{_shortened(text)}\nEND ANSWER {fence}")
    return "\n\n".join(parts)


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return quoted(text)
    left_out = len(text) - LONGEST
    head, tail = text[:_HEAD], text[len(text) - (LONGEST - _HEAD) :]
    return f"{quoted(head)}\n({left_out:,} characters are left out here)\n{quoted(tail)}"
