"""Mistakes of writing that can be seen without understanding: one sentence each, or none."""

from __future__ import annotations

import re

_OPEN = {")": "(", "]": "[", "}": "{"}
_DOUBLED = re.compile(r"\b([A-Za-z]{2,}) \1\b")
# Single letters are parameters, and so are Greek names; the article stands before words of three letters or more.
_ARTICLE = re.compile(r"\b(an?) ([A-Za-z]{3,}(?:-[A-Za-z]+)?)")
_VOWEL = re.compile(r"[aeiou]|hour|honest", re.IGNORECASE)
_CONSONANT = re.compile(r"uni(?!n)|use|one\b|once|eu", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{|\}|\bNone\b|\bnan\b|\bTODO\b|%s|_{2,}")
_SPACING = re.compile(r" {2,}|\s[,;?!]|\s\.(?!\d)|,[,.?]|\.\.|\?\?|^\s|\s$|\(\s|\s\)")
_SENTENCE = re.compile(r"[.?!] ([a-z])")
_RAW = re.compile(r"\b(?:[A-Z][a-z]+){2,}\b")
"""Identifiers such as StrangeAttractor, which no sentence holds."""
_NAMES = frozenset(("LaTeX",))


def mistake(question: str, system_name: str = "") -> str | None:
    """What is wrong with the writing of a question; None where nothing is found.

    Where a system name is given it must stand in the question, and wherever its first word does, so must the rest.
    """
    # Dots of an enumeration, 'k = 1, ..., 10', are one mark.
    question = question.replace("...", "…")
    plain = question.replace(system_name, "NAME") if system_name else question
    checks = (
        (not question[:1].isupper(), "it does not begin with a capital"),
        (question[-1:] not in ("?", "."), "it does not end with one full stop or question mark"),
        (question.count("?") > 1, "it has two question marks"),
        (_unbalanced(question), "a bracket is not closed"),
        (bool(_PLACEHOLDER.search(question)), "a placeholder is left"),
        (bool(_SPACING.search(question)), "blanks and marks are out of order"),
        (bool(_DOUBLED.search(question)), "a word stands twice"),
        (bool(_SENTENCE.search(question)), "a sentence begins with a small letter"),
        (_wrong_article(plain), "'a' and 'an' are mixed up"),
        (bool(set(_RAW.findall(plain)) - _NAMES), "an identifier is in the sentence"),
        (bool(system_name) and system_name not in question, "the system's name is not in it, or is broken up"),
    )
    return next((complaint for wrong, complaint in checks if wrong), None)


def _unbalanced(text: str) -> bool:
    opened: list[str] = []
    for mark in text:
        if mark in _OPEN.values():
            opened.append(mark)
        elif mark in _OPEN and (not opened or opened.pop() != _OPEN[mark]):
            return True
    return bool(opened)


def _wrong_article(text: str) -> bool:
    for article, word in _ARTICLE.findall(text):
        vowel = bool(_VOWEL.match(word)) and not _CONSONANT.match(word)
        if vowel != (article == "an"):
            return True
    return False
