"""callable: any Python function as a model, for tests of your own and for engines that have no provider here.

In a spec: name = "callable/my_engine.py:answer". In Python: `Callable("my engine", function)`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable as Function
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from perpend.canon import clean_text
from perpend.errors import ModelError
from perpend.spec.model import Answers, Budget
from perpend.spec.resolve import factory
from perpend.types import Request, Response


@dataclass(frozen=True, slots=True)
class Callable:
    """Calls `function(request)`, one request at a time; it returns a Response or a string.

    What the function raises is a programmer's bug and stops the run; to report a failed request, return
    `Response(error=…)`. The fingerprint is the digest of the function's source.
    """

    label: str
    function: Function[[Request], Response | str]

    @property
    def name(self) -> str:
        """'callable/…'."""
        return f"callable/{self.label}"

    def fingerprint(self) -> Mapping[str, str]:
        """The digest of the function's source text, or its qualified name where there is no source."""
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):
            source = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return {"provider": "callable", "source_sha256": sha256(source.encode()).hexdigest()}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """One request at a time, one batch each."""
        for key, request in requests:
            if not budget.may_send():
                return
            reply = self.function(request)
            response = Response(text=clean_text(reply), finish="stop") if isinstance(reply, str) else reply
            budget.spend(response.usage, is_answer=response.error is None)
            yield [(key, response)]


def model(name: str) -> Callable:
    """The function that 'file.py:attr' or 'package.module:attr' names."""
    if ":" not in name:
        raise ModelError(f"callable/{name}: name a function as file.py:function or package.module:function")
    where, _, function = name.partition(":")
    return Callable(f"{Path(where).name}:{function}", _checked(factory("models", name, function)))


def _checked(function: Function[..., object]) -> Function[[Request], Response | str]:
    def ask(request: Request) -> Response | str:
        reply = function(request)
        if not isinstance(reply, Response | str):
            raise ModelError(f"{function.__name__} returned a {type(reply).__name__}; return a string or a Response")
        return reply

    return functools.wraps(function)(ask)
