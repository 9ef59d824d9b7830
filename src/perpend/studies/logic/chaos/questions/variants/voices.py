"""Sentences around a claim that must not change the answer, or change it in a known way."""

from __future__ import annotations

from perpend.studies.logic.chaos.questions.frames import PEOPLE, SAYINGS, woven

_IT_IS = ("is it", "would it be")
_ERROR = ("a mistake", "an error", "wrong", "mistaken")
_DENY = ("deny", "doubt", "dispute", "question")
_DENIES = ("denies", "doubts", "disputes")
_SAY = ("say", "state", "claim", "write", "assert", "conclude", "think", "believe", "maintain")
_WRONG = ("mistaken", "wrong", "in error")

CANCELLED = (
    *woven("<It> <error> to <deny> that {claim}?", it=_IT_IS, error=_ERROR, deny=_DENY),
    *woven("<One> <wrong> to <deny> that {claim}?", one=("would one be", "is one"), wrong=("wrong", "mistaken"),
           deny=_DENY),
    *woven("Is <who> who <denies> that {claim} <wrong>?", who=("somebody", "someone", "anybody", "a person"),
           denies=_DENIES, wrong=_WRONG),
    *woven("<A who> <denies> that {claim}. Is the <who> <wrong>?", who=PEOPLE, denies=_DENIES, wrong=_WRONG),
)  # fmt: skip
"""Two negations that cancel: the answer is that of the claim."""
TURNED = (
    *woven("<It> <error> to <say> that {claim}?", it=_IT_IS, error=(*_ERROR, "false"), say=_SAY),
    *woven("<One> <wrong> to <say> that {claim}?", one=("would one be", "is one"), wrong=("wrong", "mistaken"),
           say=_SAY),
    *woven("Is <who> who <says> that {claim} <wrong>?", who=("somebody", "someone", "anybody", "a person"),
           says=("says", "claims", "asserts", "states", "believes", "thinks"), wrong=_WRONG),
    *woven("<A who> <says> that {claim}. Is the <who> <wrong>?", who=PEOPLE, says=tuple(SAYINGS), wrong=_WRONG),
)  # fmt: skip
"""One negation around the claim: the answer is the opposite of the claim's."""

DISTRACTORS = (
    *woven("The figures were drawn <how>.", how=(
        "with logarithmic axes", "in black and white", "with thick lines", "by a student", "on squared paper",
        "with a grey background")),
    *woven("The computation <took>.", took=(
        "took less than a minute", "took most of an afternoon", "was made on an ordinary laptop",
        "was made on a borrowed machine", "was repeated by somebody else a year later",
        "was part of a larger project")),
    *woven("The results were <stored>.", stored=(
        "stored in double precision", "printed and filed", "shown at a workshop", "kept in a shared folder",
        "copied into a table", "sent round by e-mail")),
    *woven("The numbers were read from <where>.", where=(
        "a file", "a printed table", "an old notebook", "a configuration file", "a spreadsheet")),
    *woven("The plots show <what>.", what=(
        "the first variable in blue", "the first variable in red", "a grid in the background",
        "all variables in one panel", "the last part of the run")),
    *woven("The program was written <how>.", how=(
        "in a single afternoon", "by two people", "many years ago", "for a summer school", "for another purpose")),
    *woven("This question was set <where>.", where=(
        "in an oral examination", "in a summer course", "as homework", "in a written test", "for a reading group")),
    *woven("<What> have been lost.", what=("the original notes", "the first plots", "the older output files")),
    *woven("The problem fills <much> of the notes.", much=("one page", "half a page", "two lines")),
    *woven("A similar problem is discussed <where>.", where=(
        "in the next chapter", "in an appendix", "on the course page", "in a later exercise")),
    *woven("<Who> came across this example <where>.", who=("a colleague", "a student", "a reader", "a lecturer"),
           where=("in a library", "at a summer school", "while preparing a talk", "in an old exercise book")),
    *woven("The example <was>.", was=(
        "was chosen by lot", "goes back to an old exercise", "was suggested by a reader", "is used in a course",
        "was added to the list last year")),
)  # fmt: skip
"""Sentences that are beside the point for every question."""

_ENDS = ("Statement: {claim}.", "Claim: {claim}.", "The statement: {claim}.", "The claim: {claim}.")
FORMATS = (
    *woven("<One>. {setting} <Two>. {Claim}. Is the <two> <true>?", one=("setting", "situation", "given"),
           two=("claim", "statement", "assertion"), true=("true", "correct", "right")),
    *woven("<Please> with <yes>. {setting} Is it <true> that {claim}?", please=("please answer", "answer", "reply"),
           yes=("yes or no", "a single word, yes or no"), true=("true", "correct", "the case", "right")),
    *woven("Part (a). {setting} Part (b). <Decide> whether {claim}.", decide=(
        "decide", "determine", "work out", "find out", "establish")),
    *woven("Item (i). {setting} Item (ii). <Decide> whether {claim}.",
           decide=("decide", "determine", "work out", "find out")),
    *woven("Read <this> and judge the <noun> at its end. {setting} <end>", this=("the following", "what follows"),
           noun=("statement", "claim"), end=_ENDS),
    *woven("<Q>: {setting} Is it <true> that {claim}?", q=("Q", "question", "item"),
           true=("correct", "true", "right", "the case", "a fact")),
    *woven("<To> with true or false. {setting} <end>", to=("to be answered", "to be marked", "please mark"), end=_ENDS),
    *woven("<Item> for a <quiz>, to be marked as true or false. {setting} <end>", item=("item", "question", "entry"),
           quiz=("quiz", "test", "worksheet"), end=_ENDS),
    *woven("<Worksheet>, question <n>. {setting} <end>", worksheet=("worksheet", "problem sheet", "exam paper"),
           n=("one", "two", "three", "four", "five"), end=(
               "True or false: {claim}.", "Decide whether {claim}.", "Is it true that {claim}?")),
)  # fmt: skip
"""Other layouts of the page, with the same claim."""

_WEIGHTY = (
    "well-known author", "experienced colleague", "popular video", "leading expert", "much-cited author",
    "senior researcher", "famous mathematician", "widely used textbook", "respected handbook", "highly rated website",
    "chatbot", "prize-winning lecturer", "distinguished physicist", "trusted adviser", "popular science book",
    "senior engineer", "well-known blog", "leading journal", "much-read encyclopaedia", "celebrated teacher",
)  # fmt: skip
_WEIGHTY_SAYS = (
    "states", "says", "insists", "asserts", "maintains", "declares", "claims with great confidence",
    "is quoted as saying", "says in so many words",
)  # fmt: skip
_MANY = (
    "all members of the committee", "three independent reviewers", "most textbooks", "all speakers of the session",
    "two experienced colleagues", "five people in a row", "all authors of the paper", "several experts",
    "both referees", "nearly all readers", "two well-known authors", "most people in the room",
)  # fmt: skip
_MANY_SAY = ("agree", "say", "state", "insist", "maintain", "claim")
_SEEMS = (
    "to many it seems obvious", "to most readers it seems clear", "common sense suggests", "at first sight it seems",
    "intuition says", "it is widely believed", "it is often said", "one would naturally think",
    "everybody in the seminar agrees", "everybody in the room is certain", "the head of the group insists",
    "the usual rule of thumb says",
)  # fmt: skip
_SHORT = (
    "Is that correct?", "Is that right?", "Is this so?", "Is it so?", "Is that true?", "Is this the case?",
    "Does this hold?", "Would you agree?",
)  # fmt: skip


def _weighty() -> tuple[str, ...]:
    """Every 'A well-known author states that {claim}.', with a short question after it."""
    forms: list[str] = []
    for who in _WEIGHTY:
        noun = who.split()[-1]
        forms += woven("<A who> <says> that {claim}. <end>", who=(who,), says=_WEIGHTY_SAYS, end=(
            *_SHORT[:4], *woven("<End>?", end=(
                f"is the {noun} right", f"is the {noun} correct", f"can one rely on the {noun} here",
                f"is the {noun} right about this", f"is the {noun} right here", f"is the {noun} correct here",
                f"would you agree with the {noun}", f"do you agree with the {noun}",
                f"is the {noun} to be believed here", f"has the {noun} got it right"))))  # fmt: skip
    return tuple(forms)


VOICES = (
    *_weighty(),
    *woven(
        "<Who> <say> that {claim}. <end>",
        who=_MANY,
        say=_MANY_SAY,
        end=(
            *_SHORT[:4],
            "Are they right?",
            "Are they correct?",
            "Have they got it right?",
            "Are they to be believed here?",
            "Would you agree with them?",
            "Do you agree with them?",
        ),
    ),
    *woven("<Seems> that {claim}. <end>", seems=_SEEMS, end=_SHORT),
)
"""A voice with weight that makes the claim; it is right as often as wrong."""
LEADS = (
    *woven("<A who> <says> that {opposite}.", who=_WEIGHTY, says=_WEIGHTY_SAYS),
    *woven("<Who> <say> that {opposite}.", who=_MANY, say=_MANY_SAY),
    *woven("<Seems> that {opposite}.", seems=_SEEMS),
)
"""A voice with weight that says the opposite of the claim; it is right as often as wrong."""
STILL = woven(
    "<It> <still> that {claim}?", it=("is it true", "is it correct", "is it the case", "does it hold", "is it a fact"),
    still=("all the same", "nevertheless", "even so", "nonetheless", "after all"),
) + woven(
    "<Still>, <it> that {claim}?", it=("is it true", "is it correct", "is it the case", "does it hold", "is it right"),
    still=("all the same", "even so", "in spite of that", "whatever may be said", "be that as it may"),
)  # fmt: skip
"""The question that follows such a voice."""

ELSEWHERE = (
    *woven("<At> other <parameter> values the <same> {says}.", at=("at some", "for suitable", "at certain", "for some"),
           parameter=("parameter",), same=("same system", "system")),
    *woven("<Known> that the same system {says} at <certain> other parameter values.", certain=("certain", "some"),
           known=("it is known", "a survey shows", "earlier runs have shown")),
)  # fmt: skip
BOUNDED = (
    *woven("<Sure>: nothing runs off to infinity here.", sure=("one thing is certain", "this much is clear",
                                                              "this has been checked")),
    *woven("<Checked> that no variable grows without limit.", checked=(
        "it has been checked", "a long run shows", "one sees at once", "it is known")),
    *woven("<Plot> that all variables keep within finite limits.", plot=(
        "a plot shows", "a first run shows", "the printout shows", "long runs show")),
)  # fmt: skip
SHRINKING = (
    *woven("<Checked> that a small cloud of states loses volume on average.", checked=(
        "it has been checked", "a test run shows", "it is known", "one can check")),
    *woven("<Sure>: phase-space volume is lost on average.", sure=("one thing is certain", "this much is clear",
                                                                  "this has been checked")),
)  # fmt: skip
GENERAL = (
    "Few terms in a formula do not mean that its solutions are simple.",
    *woven("<Long> formulas often have <simple> solutions.", long=("long", "complicated", "lengthy"),
           simple=("surprisingly simple", "quite simple")),
    *woven("<Many> equations that look like these were studied <when>.", many=("many", "some", "a few"),
           when=("with the first computers", "long before computers", "in the last century")),
    *woven("Equations of this sort are often <said>.", said=(
        "said to be unpredictable", "used as examples in courses", "solved numerically as an exercise",
        "thought to be easy", "thought to be hard")),
    *woven("A small change of a coefficient can <change> the picture wholly.", change=("change", "alter")),
    *woven("Plots of such systems <look>.", look=("are often beautiful", "can be misleading", "look much alike")),
    *woven("<What> can mislead the eye.", what=("short formulas", "a few plotted points", "familiar equations")),
)  # fmt: skip
"""True, and no help."""

_THINGS = {"flow": ("system", "model", "dynamical system"), "map": ("map", "recursion", "iteration", "model")}
_CONSIDER = ("consider", "take", "look at", "think of", "we study", "we look at", "you are given", "let us take",
             "suppose we are given", "this is about")  # fmt: skip
STATED = {
    kind: (
        *woven("<Consider> the <thing><given> {equations}.", consider=_CONSIDER, thing=things,
               given=("", " given by", " defined by", " with")),
        *woven("The <thing> <here> {equations}.", thing=things, here=(
            "under study is", "in question is", "of this exercise is", "on the board is", "at hand is", "reads",
            "of interest is", "to be looked at is")),
        *woven("<A thing> <obeys> {equations}.", thing=things, obeys=(
            "is given by", "is defined by", "has the form", "is written as", "is set up as")),
        *woven("<Who> <studies> the <thing> {equations}.", thing=things, who=(
            "a student", "a colleague", "a reader", "an engineer", "a lecturer", "somebody", "a biologist",
            "a research group"), studies=("studies", "considers", "writes down", "works with", "looks at")),
    )
    for kind, things in _THINGS.items()
}  # fmt: skip
"""Sentences that state equations, of a flow and of a map."""
