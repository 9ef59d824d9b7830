"""Layouts of a yes/no question: where the setting stands, how the claim is put, who puts it.

A layout never turns the answer round: the answer is yes exactly where the claim holds. None holds a negation, so that
the only denial in a question is that of its claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perpend.studies.logic.chaos.questions.chance import Chance


@dataclass(frozen=True, slots=True)
class AskedClaim:
    """What is asked, as clauses without capital and mark: 'the map is chaotic', 'is the map chaotic'.

    `asks` is '' for a denial, since 'is it not chaotic?' can be read in two ways, and wherever there is no such form.
    `far` and `far_asks` are the same for a place before the setting ('the system described below is chaotic'); `far` is
    '' where the claim cannot stand there.
    """

    claim: str
    asks: str = ""
    far: str = ""
    far_asks: str = ""


AFTER: Mapping[str, str] = {
    "direct": "{Asks}?",
    "question_mark": "Question: {asks}?",
    "true_that": "Is it true that {claim}?",
    "correct_that": "Is it correct that {claim}?",
    "right_to_say": "Is it right to say that {claim}?",
    "correct_to_say": "Is it correct to say that {claim}?",
    "case_that": "Is it the case that {claim}?",
    "fact_that": "Is it a fact that {claim}?",
    "hold_that": "Does it hold that {claim}?",
    "so_that": "Is it so that {claim}?",
    "one_right": "Is one right in saying that {claim}?",
    "agree": "Would you agree that {claim}?",
    "would_be_correct": "Would it be correct to write that {claim}?",
    "would_be_right": "Would one be right to state that {claim}?",
    "confirm": "Would a careful computation confirm that {claim}?",
    "following_true": "Is the following statement true? {Claim}.",
    "following_right": "Is the following right: {claim}?",
    "following_holds": "Does the following hold: {claim}?",
    "true_or_false": "True or false: {claim}.",
    "true_or_false_mark": "True or false? {Claim}.",
    "right_or_wrong": "Right or wrong: {claim}.",
    "decide": "Decide whether {claim}.",
    "determine": "Determine whether {claim}.",
    "work_out": "Work out whether {claim}.",
    "find_out": "Find out whether {claim}.",
    "say_whether": "Say whether it is true that {claim}.",
    "state_whether": "State whether {claim}.",
    "judge": "Judge this statement: {claim}.",
    "check": "Check this statement: {claim}. Is it true?",
    "claim_correct": "Claim: {claim}. Is the claim correct?",
    "claim_holds": "Claim: {claim}. Does the claim hold?",
    "claim_short": "Claim: {claim}. True or false?",
    "statement_true": "Statement: {claim}. Is the statement true?",
    "assertion": "Assertion: {claim}. Is the assertion right?",
    "here_claim": "Here is a claim: {claim}. Is it true?",
    "claim_is": "The claim is that {claim}. Does it hold?",
    "proposition": "The proposition to test is that {claim}. Is it true?",
    "want_to_know": "We want to know whether {claim}. Is that so?",
    "question_is": "The question is whether {claim}. Is it so?",
    "wonder": "One wonders whether {claim}. Is this the case?",
    "suggested": "It has been suggested that {claim}. Is this right?",
    "conjectured": "It is conjectured that {claim}. Is the conjecture right?",
    "suppose": "Suppose somebody claims that {claim}. Would that be correct?",
    "expects": "A colleague expects that {claim}. Is the colleague right?",
    "predicts": "A colleague predicts that {claim}. Does the prediction come true?",
    "student": "A student concludes that {claim}. Is the conclusion correct?",
    "solution": "In a solution to an exercise one reads that {claim}. Is that correct?",
    "lab_note": "A lab note records that {claim}. Is the note right?",
    "caption": "The caption of a figure says that {claim}. Is the caption correct?",
    "referee": "A referee maintains that {claim}. Is the referee right?",
    "report": "A report states that {claim}. Is this correct?",
    "lecture": "In a lecture it is said that {claim}. Is it so?",
    "notebook": "An entry in a notebook reads: {claim}. Is the entry right?",
    "abstract": "The authors of a preprint want to write that {claim}. Would this be true?",
    "quiz": "A quiz asks whether {claim}. Is the answer yes?",
    "hypothesis": "Hypothesis: {claim}. Does the hypothesis hold here?",
    "test": "Somebody tests by computation whether {claim}. Is the outcome positive?",
    "handbook": "A handbook entry says: {claim}. Is the entry correct?",
    "email": "An e-mail says that {claim}. Is the sender right?",
    "reader": "A reader takes it that {claim}. Is the reader right?",
    "expected": "Should one expect that {claim}?",
    "find_that": "Will one find that {claim}?",
    "turns_out": "Does it turn out that {claim}?",
    "simulation": "Would an accurate simulation show that {claim}?",
}
"""What follows the setting."""

BEFORE: Mapping[str, str] = {
    "first_direct": "{Asks}? {setting}",
    "first_true_that": "Is it true that {claim}? {setting}",
    "first_correct_that": "Is it correct that {claim}? {setting}",
    "first_case_that": "Is it the case that {claim}? {setting}",
    "first_hold_that": "Does it hold that {claim}? {setting}",
    "first_right_to_say": "Is it right to say that {claim}? {setting}",
    "first_true_or_false": "True or false: {claim}. {setting}",
    "first_decide": "Decide whether {claim}. {setting}",
    "first_determine": "Determine whether {claim}. {setting}",
    "first_task": "Your task is to decide whether {claim}. {setting}",
    "first_task_is": "The task is to find out whether {claim}. {setting}",
    "first_claim": "Claim: {claim}. {setting} Is the claim correct?",
    "first_claim_true": "Claim: {claim}. {setting} Is the claim true?",
    "first_statement": "Statement: {claim}. {setting} Is the statement true?",
    "first_claim_is": "The claim is that {claim}. {setting} Does it hold?",
    "first_check": "The claim to be checked is that {claim}. {setting} Is it right?",
    "first_note": "A lab note records that {claim}. {setting} Is the note right?",
    "first_student": "A student states that {claim}. {setting} Is the student right?",
    "first_report": "A report says that {claim}. {setting} Is this correct?",
    "first_problem": "Problem: find out whether {claim}. {setting}",
    "first_exercise": "Exercise: decide whether {claim}. {setting}",
    "first_said": "It is said that {claim}. {setting} Is it so?",
    "first_want": "We want to know whether {claim}. {setting} Is that the case?",
    "first_question": "Question: {asks}? {setting}",
}
"""What stands before the setting, which ends or is followed by a short question."""

OPENINGS = ("", "", "", "", "", "Problem: ", "Exercise: ", "Setting: ")
"""What may stand before a setting that comes first; most often nothing."""
FIRST_SHARE = 0.25
"""How often the claim stands before the setting, where it can."""
DEFINITION_FIRST_SHARE = 0.3


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def begins_sentence(claim: str) -> bool:
    """Whether a claim can begin a sentence: its first word is no symbol, of which a capital would make another one."""
    first, _, rest = claim.partition(" ")
    return first.replace("-", "").isalpha() and (len(first) > 1 or first == "a") and rest[:1] not in ("=", "<", ">")


def layout(
    chance: Chance,
    key: Sequence[str],
    statement: AskedClaim,
    setting: str = "",
    definition: str = "",
    only: Sequence[str] = (),
) -> tuple[str, str]:
    """The form and the question that belong to a key.

    `setting` and `definition` are whole sentences; either may be ''. The definition stands after the setting, at times
    before it. `only` restricts the forms; where none of it fits, every form that fits may be used.
    """
    after, before = _fitting(statement)
    first = bool(setting) and bool(before) and chance.share("claim first", *key) < FIRST_SHARE
    wanted = [name for name in (*after, *(before if setting else ())) if name in only]
    form = chance.pick(wanted or (before if first else after), "layout", *key)
    return form, laid_out(chance, key, form, statement, (setting, definition))


def _fitting(statement: AskedClaim) -> tuple[list[str], list[str]]:
    """The forms for a place after the setting and for one before it."""
    begins = begins_sentence(statement.claim)
    after = [
        name
        for name, form in AFTER.items()
        if (statement.asks or "sks}" not in form) and (begins or "{Claim}" not in form)
    ]
    before = [name for name, form in BEFORE.items() if statement.far_asks or "sks}" not in form]
    return after, before if statement.far else []


def laid_out(chance: Chance, key: Sequence[str], form: str, statement: AskedClaim, context: tuple[str, str]) -> str:
    """The question in one form; `context` is the setting and the definition, either of which may be ''."""
    setting, definition = context
    parts = [part for part in (setting, definition) if part]
    if len(parts) == 2 and chance.share("definition first", *key) < DEFINITION_FIRST_SHARE:
        parts.reverse()
    block = " ".join(parts)
    if form in BEFORE:
        claim, asks = statement.far, statement.far_asks
        return BEFORE[form].format(claim=claim, asks=asks, Asks=capital(asks), setting=block)
    claim, asks = statement.claim, statement.asks
    text = AFTER[form].format(claim=claim, Claim=capital(claim), asks=asks, Asks=capital(asks))
    if not block:
        return text
    opening = chance.pick(OPENINGS, "opening", *key) if parts[0] == setting else ""
    return f"{opening}{block} {text}"
