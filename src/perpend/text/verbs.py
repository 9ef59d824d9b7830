"""The forms of English verbs: enough to know a question's verb in its answer ('did … fall' in 'fell')."""

from __future__ import annotations

from typing import Final

from perpend.text.cues import vocabulary

_IRREGULAR: Final = (
    "be is are was were been being;born born;have has had having;do does did done doing;beat beats beat beaten;"
    "become becomes became become;begin begins began begun beginning;bend bends bent;bite bites bit bitten biting;"
    "bind binds bound;blow blows blew blown;break breaks broke broken breaking;breed breeds bred;"
    "bring brings brought;build builds built;burn burns burnt burned;buy buys bought;catch catches caught;"
    "choose chooses chose chosen choosing;come comes came come coming;cost costs cost;cut cuts cut cutting;"
    "deal deals dealt;die dies died dying;dig digs dug digging;draw draws drew drawn;drink drinks drank drunk;"
    "drive drives drove driven driving;eat eats ate eaten;fall falls fell fallen;feed feeds fed;feel feels felt;"
    "fight fights fought;find finds found;fly flies flew flown;forget forgets forgot forgotten forgetting;"
    "freeze freezes froze frozen freezing;get gets got gotten getting;give gives gave given giving;go goes went gone;"
    "grow grows grew grown;hang hangs hung hanged;hide hides hid hidden hiding;hit hits hit hitting;hold holds held;"
    "keep keeps kept;know knows knew known;lay lays laid;lead leads led;leave leaves left leaving;lend lends lent;"
    "let lets let letting;lie lies lay lain lying;light lights lit lighting;lose loses lost losing;"
    "make makes made making;mean means meant;meet meets met;pay pays paid;put puts put putting;read reads read;"
    "ride rides rode ridden riding;ring rings rang rung;rise rises rose risen rising;run runs ran run running;"
    "say says said;see sees saw seen;seek seeks sought;sell sells sold;send sends sent;set sets set setting;"
    "shake shakes shook shaken shaking;shine shines shone shining;shoot shoots shot;show shows showed shown;"
    "shrink shrinks shrank shrunk;shut shuts shut shutting;sing sings sang sung;sink sinks sank sunk;"
    "sit sits sat sitting;sleep sleeps slept;speak speaks spoke spoken;spend spends spent;spin spins spun spinning;"
    "split splits split splitting;spread spreads spread;stand stands stood;steal steals stole stolen;"
    "stick sticks stuck;strike strikes struck striking;swim swims swam swum swimming;swing swings swung;"
    "take takes took taken taking;teach teaches taught;tell tells told;think thinks thought;throw throws threw thrown;"
    "understand understands understood;wake wakes woke woken waking;wear wears wore worn;"
    "win wins won winning;write writes wrote written writing"
)
_GROUPS: Final = tuple(tuple(group.split()) for group in _IRREGULAR.split(";"))
IRREGULAR: Final = {form: group for group in _GROUPS for form in group} | {group[0]: group for group in _GROUPS}
"""Every form of an irregular verb, with all forms of it."""
BE: Final = vocabulary("is are was were be been being remains")
_VOWELS: Final = "aeiou"


def _bases(word: str) -> list[str]:
    """What a regular form may be a form of: 'removes' of 'remove', 'carried' of 'carry', 'stopped' of 'stop'."""
    bases = [word]
    if word.endswith(("ies", "ied")):
        bases.append(word[:-3] + "y")
    if word.endswith("s") and not word.endswith("ss"):
        bases.append(word[:-1])
    if word.endswith("es"):
        bases.append(word[:-2])
    if word.endswith("ed"):
        bases += [word[:-1], word[:-2]]
        if len(word) > 5 and word[-3] == word[-4]:
            bases.append(word[:-3])
    return [base for base in bases if len(base) > 1]


def _regular(base: str) -> list[str]:
    if base.endswith("e"):
        return [base, base + "s", base + "d", base[:-1] + "ing"]
    if base.endswith("y") and base[-2] not in _VOWELS:
        return [base, base[:-1] + "ies", base[:-1] + "ied", base + "ing"]
    doubled = base + base[-1] if base[-1] not in "aeiouwxys" else base
    return [base, base + "s", base + "es", base + "ed", base + "ing", doubled + "ed", doubled + "ing"]


def forms(word: str) -> frozenset[str]:
    """All forms of the verb that a word is a form of, and of what else it may be a form of."""
    known = IRREGULAR.get(word)
    if known is not None:
        return frozenset(known)
    return frozenset(form for base in _bases(word) for form in _regular(base))


def supported(base: str, auxiliary: str) -> frozenset[str]:
    """The forms of a verb in the answer to a question with 'do', 'does' or 'did': with the ending that this took."""
    known = IRREGULAR.get(base)
    if known is None:
        third, past = [base + "s", base + "es"], [form for form in _regular(base) if form.endswith("ed")]
        if base.endswith("y"):
            third.append(base[:-1] + "ies")
        return frozenset(past + third if auxiliary == "did" else third)
    if auxiliary != "did":
        return frozenset(known[1:2])
    return frozenset(form for form in known if form != base or known.count(base) > 1)


def is_participle(word: str) -> bool:
    """Whether a word may be a past participle: '-ed', or that of an irregular verb."""
    known = IRREGULAR.get(word)
    if known is not None:
        return word == "born" or (word not in known[:2] and not word.endswith("ing"))
    return len(word) > 4 and word.endswith("ed")


def present(word: str) -> frozenset[str]:
    """The forms of a verb in the present, and its '-ing'."""
    known = IRREGULAR.get(word)
    if known is not None:
        return frozenset(form for form in known if form in known[:2] or form.endswith("ing"))
    return frozenset(form for form in forms(word) if not form.endswith("ed"))


def is_finite(word: str) -> bool:
    """Whether a word looks like a finite verb: any form of an irregular one, '-ed', or '-s'."""
    if word in IRREGULAR:
        return not word.endswith("ing")
    return len(word) > 3 and (word.endswith("ed") or (word.endswith("s") and not word.endswith(("ss", "us", "is"))))
