"""What a run spends over all its invocations: requests, tokens, money. Unknown money is None with a reason, never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perpend.errors import SpecError
from perpend.ledger.spent import spent_before
from perpend.ledger.store import Store
from perpend.spec.model import Budget
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.types import Spent

_PRICES = ("usd_per_million_input", "usd_per_million_output")


def check_prices(spec: RunSpec) -> None:
    """SpecError where the run has a limit in dollars and a model without both prices: the limit could not be kept."""
    if spec.limits.max_usd is None:
        return
    for model in spec.models:
        missing = [key for key in _PRICES if getattr(model, key) is None]
        if missing:
            raise SpecError(
                f"max_usd needs the price of every model, and {model.label!r} has none: write {' and '.join(missing)} "
                f"(US dollars for a million tokens; 0 if it is free) below its [[model]] in run.toml, or give "
                f"{' '.join(f'--model-option {key}=…' for key in missing)}"
            )


def cost(models: Sequence[ModelSpec], spent: Mapping[str, Spent]) -> tuple[float | None, str]:
    """US dollars for the tokens of every model that was asked, by the prices that it has now; and why there are none.

    Undefined (None) where a model that was asked has no price, or answered without a count of its tokens.
    """
    asked = [model for model in models if spent.get(model.label, Spent()).requests]
    unpriced = [model.label for model in asked if model.price is None]
    if unpriced:
        return None, f"no price for {', '.join(unpriced)}"
    blind = [model.label for model in asked if spent[model.label].uncounted and any(model.price or ())]
    if blind:
        answers = sum(spent[label].uncounted for label in blind)
        return None, f"no token counts in {answers} answer{'s' * (answers != 1)} of {', '.join(blind)}"
    return sum(_dollars(model, spent[model.label]) for model in asked), ""


def _dollars(model: ModelSpec, spent: Spent) -> float:
    per_input, per_output = model.price or (0.0, 0.0)
    return (spent.input * per_input + spent.output * per_output) / 1e6


class Spending:
    """The one budget of a run's models, which are asked one after another, and what each of them has spent."""

    def __init__(self, store: Store, spec: RunSpec) -> None:
        self._models = spec.models
        self._spent = spent_before(store)
        self._label: str | None = None
        before = self.total()
        limits = spec.limits
        usd, _ = cost(spec.models, self._spent)
        self.budget = Budget(
            limits.max_requests,
            limits.max_usd,
            limits.max_minutes,
            sent=before.requests,
            usd=usd or 0.0,
            input=before.input,
            output=before.output,
            uncounted=before.uncounted,
            is_blind=usd is None,
        )
        self._mark = self._first = self.budget.counted()

    def begin(self, model: ModelSpec) -> Budget:
        """The budget with the prices of the model that is asked next."""
        self._spent, self._label, self._mark = self.by_model(), model.label, self.budget.counted()
        per_input, per_output = model.price or (0.0, 0.0)
        self.budget.usd_per_input, self.budget.usd_per_output = per_input / 1e6, per_output / 1e6
        # Models are asked one after the other: nothing of the last one is in flight, and its cost is not this one's.
        self.budget.in_flight, self.budget.dearest = 0, 0.0
        return self.budget

    def by_model(self) -> dict[str, Spent]:
        """What each model has spent so far, in all invocations."""
        if self._label is None:
            return dict(self._spent)
        now, mark = self.budget.counted(), self._mark
        more = Spent(*(getattr(now, name) - getattr(mark, name) for name in Spent.__slots__))
        return {**self._spent, self._label: self._spent.get(self._label, Spent()) + more}

    def total(self) -> Spent:
        """What the run has spent so far, in all invocations."""
        return sum(self.by_model().values(), Spent())

    def cost(self) -> tuple[float | None, str]:
        """The run's cost so far, as `cost` says it."""
        return cost(self._models, self.by_model())

    @property
    def sent(self) -> int:
        """Requests that this invocation has sent."""
        return self.budget.sent - self._first.requests
