"""Whether a text is English, by its function words: the rules read no other language."""

from __future__ import annotations

import re

NOT_ENGLISH = "not English"
WORD = re.compile(r"[^\W\d_]+(?:'[a-z]+)?")
ENGLISH = frozenset(
    "the of and a to in is it that i you for not on with he as be at by this have are but they what all was there my "
    "so if your we do no can or an will one would from more out about up which when me like just him know take into "
    "its than then them these some because has had were been their other only who also could any most between".split()
)
FOREIGN = frozenset(
    "el la los las un una que es en por para con del se lo pero como su muy esta son "  # Spanish
    "le les des une est et dans pour qui pas sur au avec ce cette il elle sont mais ou c'est "  # French
    "der die das und ist nicht ein eine den dem zu mit auf fur von sich auch wird sind aber oder wir ich "  # German
    "di che per non gli sono della nel delle questo "  # Italian
    "o os um uma nao e da dos em mas foi seu "  # Portuguese
    "het een van niet dat op te zijn met voor maar ook naar wordt "  # Dutch
    "w nie na ze sie jest jak po ale czy jego "  # Polish
    "och att det som ar av pa med inte har ett "  # Swedish
    "ve bir bu icin ile olarak daha cok degil "  # Turkish
    "og er til af ikke".split()  # Danish and Norwegian
)
"""Function words of other languages, folded."""
FEW = 4
"""Up to so many words nothing can be said of the language: 'Paris', 'TRUE', 'Canberra, Australia'."""
LOOKED_AT = 600
"""How many characters are looked at: the beginning shows the language."""


def is_english(text: str) -> bool:
    """Whether the folded text may be read as English.

    It may not where most of its letters are of another alphabet, or where it has more than `FEW` words and its
    function words are more often those of another language than English ones.
    """
    head = text[:LOOKED_AT]
    words = WORD.findall(head)
    if not head.isascii():
        letters = [char for char in head if char.isalpha()]
        if len(letters) > 3 and sum(char > "\u024f" for char in letters) > len(letters) / 2:
            return False
    if len(words) <= FEW:
        return True
    english = sum(word in ENGLISH for word in words)
    if english * 6 >= len(words):
        return True
    foreign = sum(word in FOREIGN for word in words)
    return foreign < 2 or foreign <= english
