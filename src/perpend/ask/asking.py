"""render → ask → append, model after model, within what the run may spend over all its invocations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.ask.conditions import first_request, request
from perpend.ask.progress import Progress
from perpend.ask.spending import Spending
from perpend.ask.task import Reprompt, Task
from perpend.errors import FunctionError, ModelError
from perpend.ledger.journal import acknowledge
from perpend.ledger.plan import Appended, OpenTrials, Trial
from perpend.ledger.stopping import item_count, stop_facts
from perpend.ledger.store import Store
from perpend.spec.model import Answers, Model
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Item, Request, Response, Spent

if TYPE_CHECKING:
    from perpend.ask.looking import Looking


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
    """Why it stopped before all was asked, in words; None when every trial was asked that the run needs."""
    looked: str = ""
    """How a run with a stopping rule ended, in a sentence; empty without a rule, and while it goes on."""
    not_needed: int = 0
    """Trials that were not asked because the rule held."""


def ask_all(store: Store, spec: RunSpec, task: Task, models: Sequence[Model], *, quiet: bool) -> Outcome:
    """Ask every model what it has not answered yet. What was sent is noted, whatever ends the asking."""
    spending = Spending(store, spec)
    budget = spending.budget
    tallies = [_Tally(store.open_trials(model.label)) for model in spec.models]
    looking = _looking(store, spec, task)
    stopped: str | None = None
    left = 0
    try:
        for model_spec, model, tally in zip(spec.models, models, tallies, strict=True):
            spending.begin(model_spec).answered = tally.answered
            with Progress(model_spec.label, tally.pending.total, tally.answered, quiet=quiet) as progress:
                if looking is None:
                    _ask(store, task, model, spending, (tally, progress, tally.pending))
                else:
                    left += _ask_and_look(store, task, (model_spec, model), spending, (tally, progress, looking))
            tally.check_answered(model_spec.label)
            if task.reprompt is not None and looking is None:
                left += _ask_again(store, task, task.reprompt, (model_spec, model), spending)
    except KeyboardInterrupt:
        stopped = "interrupted"
    finally:
        if spending.sent:
            acknowledge(store.path.parent, store.responses(), spending.by_model())
    planned, answered = sum(tally.pending.total for tally in tallies), sum(tally.answered for tally in tallies)
    failed = sum(len(tally.failed) for tally in tallies)
    stopped_after = None if looking is None else looking.stopped
    not_needed = 0 if looking is None or stopped_after is None else planned - stopped_after * looking.per_item
    if stopped is None and (answered + failed < planned - not_needed or left):
        stopped = budget.spent()
    usd, why = spending.cost()
    directory = store.path.parent
    return Outcome(
        directory,
        planned,
        answered,
        failed,
        spending.sent,
        spending.total(),
        usd,
        why,
        stopped,
        looked="" if looking is None else looking.sentence(),
        not_needed=not_needed,
    )


def _looking(store: Store, spec: RunSpec, task: Task) -> Looking | None:
    """The looks of a run with a stopping rule."""
    if spec.stop is None:
        return None
    from perpend.ask.looking import Looking, look_plan

    scorers, items = task.judges(), item_count(store)
    facts = stop_facts(str(spec.stop.rule), spec.stop.look_every, items)
    plan = look_plan(facts, list(scorers), [one.name for one in task.conditions], items)
    return Looking(store, plan, scorers, spec.repeats)


def _ask_and_look(
    store: Store,
    task: Task,
    who: tuple[ModelSpec, Model],
    spending: Spending,
    watch: tuple[_Tally, Progress, Looking],
) -> int:
    """Ask batch after batch of whole items, and look after each, until the rule holds or all is asked.

    What failed is asked once more before the look, which closes the batch. A batch that could not be asked whole is not
    looked at; the next invocation goes on with it. Returns how many second turns the budget left unasked.
    """
    spec, model = who
    tally, progress, looking = watch
    while (span := looking.batch()) is not None:
        for _ in range(2):
            pending = store.open_trials(spec.label).within(*span)
            if len(pending):
                _ask(store, task, model, spending, (tally, progress, pending))
        left = 0 if task.reprompt is None else _ask_again(store, task, task.reprompt, who, spending, span)
        pending = store.open_trials(spec.label).within(*span)
        if left or pending.never_asked():
            return left
        if len(pending) == span[1] - span[0] + 1:
            raise ModelError(
                f"{spec.label}: trials {span[0]} to {span[1]} were asked twice, none was answered; the last failure: "
                f"{tally.error}. Nothing was looked at. Run the same command again to resume"
            )
        looking.look()
    return 0


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


def _ask(
    store: Store, task: Task, model: Model, spending: Spending, watch: tuple[_Tally, Progress, OpenTrials]
) -> None:
    """The first turn of trials of one model that have no answer yet."""
    tally, progress, pending = watch
    budget = spending.budget
    asked: dict[int, tuple[Trial, Request]] = {}

    def requests() -> Iterator[tuple[int, Request]]:
        for trial in pending:
            question = first_request(trial, task.condition(trial.condition), choices_scored=task.choices_scored)
            asked[trial.trial] = (trial, question)
            yield trial.trial, question

    for batch in _answers(model.answer(requests(), budget), lambda key: asked[key][0].item.id):
        rows = []
        for key, response in batch:
            trial, question = asked.pop(key)
            rows.append(Appended(key, 0, trial.attempt, question.digest, response))
            tally.count(key, response, unusable=_unusable(task.reprompt, trial.item, response))
        store.append(rows, spending.by_model())
        cost = f"; ${budget.usd:.2f}" if budget.usd else ""
        progress.advance(len(rows), f"{len(tally.failed)} failed; {tally.unusable / tally.seen:.0%} unusable{cost}")


def _answers(batches: Iterator[Answers], item_of: Callable[[int], str]) -> Iterator[Answers]:
    """The answers of a model; where a user's function raised, the error names the item too, and what to do."""
    try:
        yield from batches
    except FunctionError as error:
        key = int(error.args[1])
        raise ModelError(
            f"{error}, asked about item {item_of(key)!r} (trial {key}). What was answered is kept. Fix the function; "
            "where a question has no answer, let it return pp.Response(error='…')"
        ) from error


def _ask_again(
    store: Store,
    task: Task,
    reprompt: Reprompt,
    who: tuple[ModelSpec, Model],
    spending: Spending,
    span: tuple[int, int] | None = None,
) -> int:
    """The second turn, for first replies that cannot be used; how many of them the budget left unasked.

    A failed second turn is asked again on resume. `span` keeps to the trials from its first to its last.
    """
    spec, model = who
    done, failures = store.answered_turns(1), store.failures(1)
    asked: dict[int, Request] = {}
    wanted = [
        (trial, response)
        for trial, response in store.answers(last_turn=0)
        if trial.model == spec.label and trial.trial not in done
        if span is None or span[0] <= trial.trial <= span[1]
        if response.text is not None and reprompt.wanted(trial.item, response)
    ]
    left = len(wanted)

    def requests() -> Iterator[tuple[int, Request]]:
        for trial, response in wanted:
            messages = reprompt.render(task.condition(trial.condition).render(trial.item), response)
            asked[trial.trial] = request(trial, messages, choices_scored=False)
            yield trial.trial, asked[trial.trial]

    items = {trial.trial: trial.item.id for trial, _ in wanted}
    for batch in _answers(model.answer(requests(), spending.budget), lambda key: items[key]):
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
