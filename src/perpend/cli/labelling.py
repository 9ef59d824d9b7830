"""A reader at the terminal: one answer at a time, one key for each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from perpend.ask.quoting import material
from perpend.canon import JSON
from perpend.inert import say, say_page

if TYPE_CHECKING:
    from perpend.ask.rubric import Rubric
    from perpend.measure.judging import AnswerToJudge, Selection
    from perpend.measure.run import Run

_BACK, _QUIT, _UNDECIDABLE = "b", "q", "u"


def session(run: Run, rubric: Rubric, selection: Selection, reader: str) -> dict[str, JSON]:
    """Ask for a label of every answer of the sample that this reader has not labelled; how far it has come.

    Each label is in the file before the next answer is shown.
    """
    from perpend.measure.judging import answers_to_judge
    from perpend.measure.labels import LABELS, append_labels, label_of, sample_to_label

    drawn, done = sample_to_label(run, rubric, selection, reader)
    answers = list(answers_to_judge(run, drawn))
    at = next((n for n, one in enumerate(answers) if one.drawn.trial not in done), len(answers))
    keys = _keys(rubric)
    say_page(_opening(rubric, keys, len(answers), len(done)), err=True)
    while at < len(answers):
        answer = answers[at]
        _show(rubric, answer, keys, (at + 1, len(answers)))
        key = _key([*keys, _BACK, _QUIT])
        if key == _QUIT:
            break
        if key == _BACK:
            at = max(0, at - 1)
            continue
        append_labels(run, [label_of(rubric, answer, keys[key], reader, selection.seed)])
        done.add(answer.drawn.trial)
        at += 1
        while at < len(answers) and answers[at].drawn.trial in done:
            at += 1
    return {
        "labelled": len(done),
        "of": len(answers),
        "reader": reader,
        "rubric": rubric.full_name,
        "file": (run.directory / LABELS).as_posix(),
    }


def _keys(rubric: Rubric) -> dict[str, str]:
    """Key → option: 'u' for the first one that decides nothing, numbers for the others in the order of the rubric."""
    undecided = [option.name for option in rubric.options if option.value is None][:1]
    numbered = [option.name for option in rubric.options if option.name not in undecided]
    keys = {str(number): name for number, name in enumerate(numbered, 1)}
    return keys | ({_UNDECIDABLE: undecided[0]} if undecided else {})


def _opening(rubric: Rubric, keys: dict[str, str], total: int, done: int) -> str:
    options = "".join(f"  {key}  {name}: {rubric.option(name).means}\n" for key, name in keys.items())
    return (
        f"{total} answers, {done} labelled. {rubric.question}\n{rubric.guide}\n{options}"
        f"  {_BACK}  back\n  {_QUIT}  quit; the same command resumes\n"
    )


def _show(rubric: Rubric, answer: AnswerToJudge, keys: dict[str, str], place: tuple[int, int]) -> None:
    say_page(f"\n--- {place[0]} of {place[1]} ---\n{material(answer.trial.item, answer.text, rubric)}\n", err=True)
    say(f"{rubric.question} [{'/'.join(f'{key} {name}' for key, name in keys.items())}]", err=True)


def _key(known: Sequence[str]) -> str:
    """The next key that means something: from the terminal at once, from a file or a pipe line by line."""
    while True:
        if sys.stdin.isatty():
            text = click.getchar()
        else:
            line = sys.stdin.readline()
            text = line.strip() if line else _QUIT
        if text.lower() in known:
            return text.lower()
        say(f"{text!r}: press one of {', '.join(known)}", err=True)
