"""Cases as a reader sees them: plain text for a terminal, Markdown for a file. What models wrote is inert in both."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from perpend.canon import parse
from perpend.inert import fenced, markdown, one_line, terminal
from perpend.measure.samplings import parameter_text
from perpend.report.cases import Case, FlippedCase, keys
from perpend.report.sent import SentTurn
from perpend.report.tables import terminal_width, wrapped
from perpend.types import Item, Response, Sampling, Score

_EXCERPT, _SHORT, _TAG = 600, 160, 40
_MESSAGES = ("stored_messages@import", "stored_prompt@import")
"""Columns that hold what was sent; shown as messages, not as scores."""


def as_text(cases: Sequence[Case], scorers: Sequence[str]) -> str:
    """The cases one below the other, with the scores of these scorers, no line wider than the terminal."""
    return "".join(f"Case {number}\n{_case(case, scorers)}\n" for number, case in enumerate(cases, 1))


def flips_as_text(flips: Sequence[FlippedCase], scorers: Sequence[str] = ()) -> str:
    """Each flipped question once, with its answers under both conditions and what the scorers, or the one, say."""
    parts = []
    for number, flip in enumerate(flips, 1):
        one, other = (_value(case.scores[flip.scorer]) for case in (flip.first, flip.second))
        ways = [f"{side.trial.condition}: {value}" for side, value in ((flip.first, one), (flip.second, other))]
        head = one_line(f"Flip {number}: {flip.scorer} is {one} under {flip.first.trial.condition}, {other} under "
                        f"{flip.second.trial.condition}")  # fmt: skip
        lines = [*wrapped(head, ""), *_place(flip.second, ("condition",)), *_question(flip.second.trial.item)]
        for case, way in zip((flip.first, flip.second), ways, strict=True):
            lines += [
                "",
                *wrapped(one_line(f"  {way}"), "  "),
                *_sent(case.sent),
                *_answer(case),
                *_scores(case, scorers or [flip.scorer]),
            ]
        parts.append("\n".join(lines) + "\n\n")
    return "".join(parts)


def _case(case: Case, scorers: Sequence[str]) -> str:
    item = case.trial.item
    lines = [*_place(case), *_question(item), *_sent(case.sent), *_answer(case), *_scores(case, scorers)]
    return "\n".join(lines) + "\n"


def _place(case: Case, without: Sequence[str] = ()) -> Iterator[str]:
    """Item and tags; condition, model, temperature; what is right and what was planted."""
    trial, item = case.trial, case.trial.item
    tags = ", ".join(f"{key} {value}" for key, value in item.tags.items() if len(value) <= _TAG)
    facts = {
        "item": item.id + (f" ({tags})" if tags else ""),
        "condition": trial.condition,
        "model": ", ".join((trial.model, *_setting(trial.sampling)))
        + (f", repeat {trial.repeat}" if trial.repeat else ""),
        "target": "none: an opinion" if item.target is None else item.target,
        "decoy": item.decoy,
    }
    for name, text in facts.items():
        if text is not None and name not in without:
            yield from wrapped(f"  {name:<10} {one_line(text)}", " " * 13)


def _setting(sampling: Sampling) -> Iterator[str]:
    """The temperature, and the top_p and stop strings that were sent."""
    for key in ("temperature", "top_p", "stop"):
        if key == "temperature" or getattr(sampling, key):
            yield f"{key} {parameter_text(key, sampling)}"


def _question(item: Item) -> Iterator[str]:
    yield "  question"
    yield from _quoted(item.prompt)


def _sent(sent: Sequence[SentTurn]) -> Iterator[str]:
    before: tuple[tuple[str, str], ...] = ()
    for turn in sent:
        words = {"same digest": "as sent; the digest of the request is the same", "": "not known"}
        proof = words.get(turn.proof, turn.proof)
        yield from wrapped(f"  messages of turn {turn.turn + 1} ({proof})", "    ")
        if turn.note:
            yield from wrapped(f"    {one_line(turn.note)}", "    ")
        is_longer = bool(before) and turn.messages[: len(before)] == before
        if is_longer:
            yield "    the same as before, then"
        for role, text in turn.messages[len(before) if is_longer else 0 :]:
            yield from wrapped(f"    {one_line(role)}", "    ")
            yield from _quoted(text, excerpt=False)
        before = turn.messages


def _answer(case: Case) -> Iterator[str]:
    """What came back: the text, the error, or the likelihood of each choice."""
    item, response = case.trial.item, case.response
    if response.text is None:
        yield "  no answer: an error"
        yield from _quoted(response.error or "")
        return
    choices = list(choice_lines(item, response))
    if choices:
        yield "  choices, with their log-likelihoods"
        for line in choices:
            yield from wrapped(f"    {one_line(line)}", "      ")
    elif item.choices:
        yield "  choices"
        for n, choice in enumerate(item.choices):
            mark = "  ← target" if choice == item.target else ""
            yield from wrapped(f"    {chr(65 + n)}) {one_line(choice)}{mark}", "       ")
    if response.text.strip() or not choices:
        finish = f" (finish: {one_line(response.finish)})" if response.finish not in (None, "stop") else ""
        yield from wrapped(f"  answer{finish}" + ("" if response.text.strip() else ": an empty text"), "  ")
        if response.text.strip():
            yield from _quoted(response.text)


def choice_lines(item: Item, response: Response) -> Iterator[str]:
    """Each choice with its log-likelihood; which is the likeliest, and which the target. None without likelihoods."""
    likelihoods = response.choice_logprobs
    if likelihoods is None:
        return
    names = choice_names(item, len(likelihoods))
    totals = [one.total for one in likelihoods if one.total is not None]
    best = max(totals) if totals else None
    for name, one in zip(names, likelihoods, strict=True):
        marks = ["chosen"] if one.total is not None and one.total == best and totals.count(one.total) == 1 else []
        marks += ["target"] if name == item.target and names.count(name) == 1 else []
        total = "none" if one.total is None else f"{one.total:.3f}"
        yield f"{total:>9}  {name}" + (f"  ← {', '.join(marks)}" if marks else "")


def choice_names(item: Item, count: int) -> Sequence[str]:
    """The texts of the choices; of an import whose choices no item can have, those of its tag; else their numbers."""
    if len(item.choices) == count:
        return item.choices
    try:
        kept = parse(item.tags.get("choices", ""))
    except (ValueError, RecursionError):
        kept = None
    if isinstance(kept, list) and len(kept) == count:
        return [str(name) for name in kept]
    return [f"choice {n + 1}" for n in range(count)] if count > 1 else ["the continuation"]


def _scores(case: Case, scorers: Sequence[str]) -> Iterator[str]:
    own = {name: case.scores[name] for name in scorers if name in case.scores and name not in _MESSAGES}
    if not own:
        return
    yield "  scores"
    widest = min(28, max(map(len, own)))
    for name, score in own.items():
        read = "" if score.answer is None else f"'{_shortened(score.answer)}'; "
        line = f"    {one_line(name):<{widest}}  {_value(score):<5} {one_line(read + score.reason)}"
        yield from wrapped(line, " " * (widest + 12))


def _value(score: Score) -> str:
    if score.value is None:
        return "–"
    short = f"{score.value:.3f}".rstrip("0").rstrip(".")
    return short if abs(score.value) >= 0.001 or not score.value else f"{score.value:.2g}"


def _shortened(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


def _quoted(text: str, *, excerpt: bool = True) -> Iterator[str]:
    """Foreign text, every line of it behind '| ', so that none can pass for one of ours. Of a long one the ends."""
    if excerpt and len(text) > 2 * _EXCERPT:
        yield from _quoted(text[:_EXCERPT])
        yield f"    … {len(text) - 2 * _EXCERPT} characters are left out here …"
        text = text[-_EXCERPT:]
    for line in terminal(text).expandtabs(4).split("\n"):
        for piece in _pieces(line, terminal_width() - 6):
            yield f"    | {piece}"


def _pieces(line: str, width: int) -> Iterable[str]:
    """A line cut into pieces that fit, at blanks where there are some; wide letters count as two."""
    from rich.cells import cell_len, chop_cells

    if cell_len(line) <= width:
        return [line]
    words = textwrap.wrap(line, width, replace_whitespace=False, drop_whitespace=False, break_long_words=False)
    return [piece.rstrip() for part in words for piece in (chop_cells(part.strip() or part, width) or [""])]


def as_markdown(cases: Sequence[Case], title: str) -> str:
    """The cases as a page: place in the plan, target, decoy, scores, question, messages, the text's head and tail."""
    lines = [f"# {markdown(title)}", "", f"{len(cases)} case{'s' * (len(cases) != 1)}.", ""]
    for number, case in enumerate(cases, 1):
        lines += [f"## Case {number}", "", *_markdown_case(case), ""]
    return "\n".join(lines)


def flips_as_markdown(flips: Sequence[FlippedCase], title: str) -> str:
    """The flips as a page: both cases of each."""
    lines = [f"# {markdown(title)}", "", f"{len(flips)} flip{'s' * (len(flips) != 1)}.", ""]
    for number, flip in enumerate(flips, 1):
        one, other = (_value(case.scores[flip.scorer]) for case in (flip.first, flip.second))
        lines += [f"## Flip {number}: {markdown(flip.scorer)} {one} → {other}", ""]
        for case in (flip.first, flip.second):
            lines += [f"### {markdown(case.trial.condition)}", "", *_markdown_case(case), ""]
    return "\n".join(lines)


def _markdown_case(case: Case) -> Iterator[str]:
    item = case.trial.item
    yield from (f"- {markdown(key)}: {markdown(value)}" for key, value in keys(case.trial).items())
    for key, text in (("target", item.target), ("decoy", item.decoy)):
        yield f"- {key}: {'none' if text is None else markdown(text)}"
    for name, score in case.scores.items():
        value = "not scored" if score.value is None else f"{score.value:g}"
        yield f"- {markdown(name)}: {value} ({markdown(score.reason)})"
    yield from ("", "Question:", "", *_excerpt(item.prompt))
    for turn in case.sent:
        yield from (
            "",
            f"Messages of turn {turn.turn + 1} ({turn.proof or 'not known'}{turn.note and f': {turn.note}'}):",
        )
        for role, text in turn.messages:
            yield from ("", f"{markdown(role)}:", "", fenced(text))
    choices = list(choice_lines(item, case.response))
    if choices:
        yield from ("", "Choices, with their log-likelihoods:", "", fenced("\n".join(map(one_line, choices))))
    if case.response.text is None:
        yield from ("", "No answer:", "", fenced(case.response.error or ""))
    elif case.response.text.strip() or not choices:
        yield from ("", "Answer:", "", *_excerpt(case.response.text))


def _excerpt(text: str) -> list[str]:
    head = fenced(text[:_EXCERPT])
    if len(text) <= _EXCERPT:
        return [head]
    return [head, "", f"… and the last {_EXCERPT} of {len(text)} characters:", "", fenced(text[-_EXCERPT:])]
