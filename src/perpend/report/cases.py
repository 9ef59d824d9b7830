"""cases: raw answers to read, a few from every group, with what each scorer said of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perpend.canon import JSON
from perpend.errors import SpecError, did_you_mean
from perpend.inert import fenced, markdown
from perpend.ledger.plan import Trial
from perpend.ledger.store import Store
from perpend.types import Response, Score

_EXCERPT = 600
_GROUPS = ("model", "condition", "topic")


@dataclass(frozen=True, slots=True)
class Case:
    """One trial with its answer and its stored scores by 'name@version'."""

    trial: Trial
    response: Response
    scores: Mapping[str, Score]

    def as_json(self) -> dict[str, JSON]:
        """Everything about the case, as JSON."""
        return {
            "trial": self.trial.trial,
            **keys(self.trial),
            "prompt": self.trial.item.prompt,
            "target": self.trial.item.target,
            "decoy": self.trial.item.decoy,
            "text": self.response.text,
            "error": self.response.error,
            "finish": self.response.finish,
            "scores": {
                name: {
                    "value": s.value,
                    "answer": s.answer,
                    "reason": s.reason,
                    "span": None if s.span is None else list(s.span),
                }
                for name, s in self.scores.items()
            },
        }


def keys(trial: Trial) -> dict[str, str]:
    """What a trial can be picked or grouped by: its place in the plan and its item's tags."""
    return {
        **trial.item.tags,
        "item": trial.item.id,
        "condition": trial.condition,
        "model": trial.model,
        "temperature": f"{trial.sampling.temperature:g}",
        "repeat": str(trial.repeat),
    }


def sample(
    store: Store, *, where: Mapping[str, str], by: Sequence[str], n_per_group: int | None, seed: int
) -> list[Case]:
    """Cases that match `where`; with `n_per_group`, that many of every group of `by`, drawn by the seed.

    `by` () groups by model, condition and, where items have one, topic. An item without a tag named in `by` falls into
    the group '' of it. A key that no trial has is an error.
    """
    chosen: list[tuple[Trial, Response]] = []
    known: set[str] = set()
    for trial, response in store.answers():
        values = keys(trial)
        known.update(values)
        if all(values.get(key) == wanted for key, wanted in where.items()):
            chosen.append((trial, response))
    for key in [*where, *by]:
        if known and key not in known:
            raise SpecError(f"no trial has {key!r}; {did_you_mean(key, known)}")
    if n_per_group is not None:
        groups = by or [key for key in _GROUPS if key in known]
        chosen = list(_stratified(chosen, groups, n_per_group, seed))
    scores = store.scores([trial.trial for trial, _ in chosen])
    return [Case(trial, response, scores.get(trial.trial, {})) for trial, response in chosen]


def _stratified(
    rows: Iterable[tuple[Trial, Response]], by: Sequence[str], count: int, seed: int
) -> Iterator[tuple[Trial, Response]]:
    groups: dict[tuple[str, ...], list[tuple[Trial, Response]]] = {}
    for row in rows:
        values = keys(row[0])
        groups.setdefault(tuple(values.get(key, "") for key in by), []).append(row)
    rng = random.Random(seed)
    for group in sorted(groups):
        rows_of_group = groups[group]
        rng.shuffle(rows_of_group)
        yield from sorted(rows_of_group[:count], key=lambda row: row[0].trial)


def as_markdown(cases: Sequence[Case], title: str) -> str:
    """The cases as a page: its place in the plan, target, decoy, scores, and the text's head and tail."""
    lines = [f"# {markdown(title)}", "", f"{len(cases)} cases.", ""]
    for number, case in enumerate(cases, 1):
        lines += [f"## Case {number}", ""]
        lines += [f"- {markdown(key)}: {markdown(value)}" for key, value in keys(case.trial).items()]
        for key, text in (("target", case.trial.item.target), ("decoy", case.trial.item.decoy)):
            lines.append(f"- {key}: {'none' if text is None else markdown(text)}")
        for name, score in case.scores.items():
            value = "not scored" if score.value is None else f"{score.value:g}"
            lines.append(f"- {markdown(name)}: {value} ({markdown(score.reason)})")
        lines += ["", *_excerpt(case.response), ""]
    return "\n".join(lines)


def _excerpt(response: Response) -> list[str]:
    if response.text is None:
        return ["No answer:", "", fenced(response.error or "")]
    head = fenced(response.text[:_EXCERPT])
    if len(response.text) <= _EXCERPT:
        return [head]
    return [
        head,
        "",
        f"… and the last {_EXCERPT} of {len(response.text)} characters:",
        "",
        fenced(response.text[-_EXCERPT:]),
    ]
