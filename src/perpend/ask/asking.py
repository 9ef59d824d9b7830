"""render → ask → append, model after model, within what the run may spend over all its invocations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from perpend.ask.conditions import first_request, request
from perpend.ask.progress import Progress
from perpend.ask.spending import Spending
from perpend.ask.task import Reprompt, Task
from perpend.errors import ModelError
from perpend.ledger.plan import Appended, OpenTrials, Trial
from perpend.ledger.spent import note_spent
from perpend.ledger.store import Store
from perpend.spec.model import Model
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Item, Request, Response, Spent


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an evaluation ended: of `planned` trials `answered` have an answer and `failed` only failures.

    `spent` and `usd` are of the whole run, earlier invocations included.
    """

    directory: Path
    planned: int
    answered: int
    failed: int
    sent: int
    """Requests that this invocation sent, retries included."""
    spent: Spent
    usd: float | None
    """What the counted tokens cost by the prices given; None where that is unknown, and `usd_note` says why."""
    usd_note: str = ""
    stopped: str | None = None
    """Why it stopped before all was asked, in words; None when every trial was asked."""


def ask_all(store: Store, spec: RunSpec, task: Task, models: Sequence[Model], *, quiet: bool) -> Outcome:
    """Ask every model what it has not answered yet. What was sent is noted, whatever ends the asking."""
    spending = Spending(store, spec)
    budget = spending.budget
    tallies = [_Tally(store.open_trials(model.label)) for model in spec.models]
    stopped: str | None = None
    left = 0
    try:
        for model_spec, model, tally in zip(spec.models, models, tallies, strict=True):
            spending.begin(model_spec).answered = tally.answered
            with Progress(model_spec.label, tally.pending.total, tally.answered, quiet=quiet) as progress:
                _ask(store, task, model, spending, (tally, progress))
            tally.check_answered(model_spec.label)
            if task.reprompt is not None:
                left += _ask_again(store, task, task.reprompt, (model_spec, model), spending)
    except KeyboardInterrupt:
        stopped = "interrupted"
    finally:
        if spending.sent:
            note_spent(store, spending.by_model())
    planned, answered = sum(tally.pending.total for tally in tallies), sum(tally.answered for tally in tallies)
    failed = sum(len(tally.failed) for tally in tallies)
    if stopped is None and (answered + failed < planned or left):
        stopped = budget.spent()
    usd, why = spending.cost()
    directory = store.path.parent
    return Outcome(directory, planned, answered, failed, spending.sent, spending.total(), usd, why, stopped)


class _Tally:
    """How far one model is: answers so far, the trials that only failed, and what came in this time."""

    def __init__(self, pending: OpenTrials) -> None:
        self.pending = pending
        self.answered = pending.total - len(pending)
        self.failed = set(pending.attempts)
        self.seen = self.unusable = 0
        self.error = ""

    def count(self, trial: int, response: Response, *, unusable: bool) -> None:
        """Take one response in."""
        self.seen += 1
        self.unusable += unusable
        if response.error is not None:
            self.error = response.error
            self.failed.add(trial)
        else:
            self.answered += 1
            self.failed.discard(trial)

    def check_answered(self, model: str) -> None:
        """ModelError where the model was asked and has not answered anything, now or before: that is no result."""
        if self.seen and not self.answered:
            raise ModelError(
                f"{model}: {self.seen} trial{'s' * (self.seen != 1)} asked, none answered; the last failure: "
                f"{self.error}. The failures are stored. Look at the model or its server, or wait if it asks for fewer "
                "requests; run the same command again to resume"
            )


def _ask(store: Store, task: Task, model: Model, spending: Spending, watch: tuple[_Tally, Progress]) -> None:
    """The first turn of every trial of one model that has no answer yet."""
    tally, progress = watch
    budget = spending.budget
    asked: dict[int, tuple[Trial, Request]] = {}

    def requests() -> Iterator[tuple[int, Request]]:
        for trial in tally.pending:
            question = first_request(trial, task.condition(trial.condition), choices_scored=task.choices_scored)
            asked[trial.trial] = (trial, question)
            yield trial.trial, question

    for batch in model.answer(requests(), budget):
        rows = []
        for key, response in batch:
            trial, question = asked.pop(key)
            rows.append(Appended(key, 0, trial.attempt, question.digest, response))
            tally.count(key, response, unusable=_unusable(task.reprompt, trial.item, response))
        store.append(rows, spending.by_model())
        cost = f"; ${budget.usd:.2f}" if budget.usd else ""
        progress.advance(len(rows), f"{len(tally.failed)} failed; {tally.unusable / tally.seen:.0%} unusable{cost}")


def _ask_again(store: Store, task: Task, reprompt: Reprompt, who: tuple[ModelSpec, Model], spending: Spending) -> int:
    """The second turn, for first replies that cannot be used; how many of them the budget left unasked.

    A failed second turn is asked again on resume.
    """
    spec, model = who
    done, failures = store.answered_turns(1), store.failures(1)
    asked: dict[int, Request] = {}
    wanted = [
        (trial, response)
        for trial, response in store.answers(last_turn=0)
        if trial.model == spec.label and trial.trial not in done
        if response.text is not None and reprompt.wanted(trial.item, response)
    ]
    left = len(wanted)

    def requests() -> Iterator[tuple[int, Request]]:
        for trial, response in wanted:
            messages = reprompt.render(task.condition(trial.condition).render(trial.item), response)
            asked[trial.trial] = request(trial, messages, choices_scored=False)
            yield trial.trial, asked[trial.trial]

    for batch in model.answer(requests(), spending.budget):
        rows = [Appended(key, 1, failures.get(key, 0), asked.pop(key).digest, response) for key, response in batch]
        store.append(rows, spending.by_model())
        left -= len(rows)
    return left


def _unusable(reprompt: Reprompt | None, item: Item, response: Response) -> bool:
    if response.text is None:
        return False
    if reprompt is not None:
        return reprompt.wanted(item, response)
    return response.finish == "length" or not response.text.strip()
