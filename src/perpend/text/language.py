"""Whether a text is English, by its function words: the rules read no other language."""

from __future__ import annotations

import re
from typing import Final

from perpend.text.clause import blanking
from perpend.text.cues import vocabulary

NOT_ENGLISH: Final = "not English"
WORD: Final = re.compile(r"[^\W\d_]+(?:'[a-z]+)?")
LETTERS: Final = blanking("".join(char for char in map(chr, range(128)) if not char.isalpha()))
OTHER_LETTER: Final = re.compile(r"[^\u0000-\u024f\W\d_]")
"""Of an alphabet that is not Latin."""
ENGLISH: Final = vocabulary(
    "the of and a to in is it that i you for not on with he as be at by this have are but they what all was there my "
    "so if your we do no can or an will one would from more out about up which when me like just him know take into "
    "its than then them these some because has had were been their other only who also could any most between"
)
FOREIGN: Final = vocabulary(
    "de el la los las un una que es en por para con del se lo pero como su muy esta son "  # Spanish
    "le les des une est et dans pour qui pas sur au avec ce cette il elle sont mais ou c'est "  # French
    "der die das und ist nicht ein eine den dem zu mit auf fur von sich auch wird sind aber oder wir ich "  # German
    "di che per non gli sono della nel delle questo "  # Italian
    "os um uma nao da dos em mas foi seu "  # Portuguese
    "het een van niet dat op te zijn met voor maar ook naar wordt "  # Dutch
    "nie na ze sie jest jak po ale czy jego "  # Polish
    "och att det som ar av pa med inte har ett "  # Swedish
    "ve bir bu icin ile olarak daha cok degil "  # Turkish
    "og er til af ikke"  # Danish and Norwegian
)
"""Function words of other languages, folded."""
SHARED: Final = vocabulary("son per die den pour met ale con um er op med pa dos non em ar")
"""Those that are English words too, of which none shows another language by itself."""
NAME: Final = re.compile(r"\b[A-Z]\w+(?: (?:de|del|di|da|dos|du|des|la|las|los|el)){1,3} (?=[A-Z])")
"""The beginning of a name in a Romance language: 'Ciudad de los Reyes'."""
FREQUENT: Final = (" the ", " and ", " that ", " with ", " are ", " can ", " you ", " it's ")
FEW: Final = 2
"""Up to so many words nothing can be said of the language: 'Paris', 'TRUE', 'Port Moresby'."""
LOOKED_AT: Final = 600
"""How many characters are looked at: the beginning shows the language."""


def is_english(folded: str, original: str, version: int = 3) -> bool:
    """Whether a text, given folded and as it is, may be read as English.

    It may not where most of its letters are of another alphabet; nor where it has more than `FEW` words, two of them
    function words of another language, at least one in small letters ('Los Angeles, Las Vegas' are names), and fewer
    English ones. Three of `FREQUENT` make it English. From version 4 on, the two are none of `SHARED`, nor
    inside a name: '$20 per hour, $160 per day' and 'Lima (Ciudad de los Reyes), not Cusco' are English.
    """
    head = folded[:LOOKED_AT]
    is_ascii = head.isascii()
    if not is_ascii and len(OTHER_LETTER.findall(head)) > 2:
        letters = [char for char in head if char.isalpha()]
        if len(letters) > 3 and sum(char > "\u024f" for char in letters) > len(letters) / 2:
            return False
    seen = 0  # three of the most frequent words are enough, and to look for them first takes a tenth of the time
    for word in FREQUENT:
        if word in head:
            seen += 1
            if seen == 3:
                return True
    if is_ascii and FOREIGN.isdisjoint(head.translate(LETTERS).split()):  # in a third of the time of what follows
        return True
    words = WORD.findall(head)
    foreign = [word for word in words if word in FOREIGN]
    if len(words) <= FEW or len(foreign) < 2 or len(foreign) <= sum(word in ENGLISH for word in words):
        return True
    if version >= 4:
        words = WORD.findall(NAME.sub(" ", original[:LOOKED_AT]).lower())
        if sum(word in FOREIGN and word not in SHARED for word in words) < 2:
            return True
    small = set(WORD.findall(original[: 2 * LOOKED_AT]))
    return not any(word in small for word in foreign)
