"""A model between its provider and the ledger: no key passes, whatever the provider lets through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perpend.errors import ModelError
from perpend.spec.keys import keys_here, keys_in
from perpend.spec.model import Answers, Budget, Model
from perpend.types import Request


@dataclass(frozen=True, slots=True)
class Guarded:
    """Answers, failures, errors and fingerprint of a model without the keys of this environment.

    Answers are searched for the keys in `key_variables`, which its server was sent; errors for every key that is here,
    because a server on this machine may know the others too.
    """

    model: Model
    key_variables: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    def fingerprint(self) -> Mapping[str, str]:
        """The model's own, without keys."""
        keys = keys_here(self.key_variables)
        return {name: keys.scrub(fact) for name, fact in self.model.fingerprint().items()}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """The model's own answers, each without keys."""
        sent, known = keys_in(self.key_variables), keys_here(self.key_variables)
        if not known.values:
            yield from self.model.answer(requests, budget)
            return
        try:
            for batch in self.model.answer(requests, budget):
                yield [
                    (key, (sent if response.error is None else known).scrub_response(response))
                    for key, response in batch
                ]
        except ModelError as error:
            words = [known.scrub_error(str(part)) for part in error.args]
            raise type(error)(*words) from None
