"""callable: any Python function as a model, for tests of your own and for engines that have no provider here.

In a spec: name = "callable/my_engine.py:answer". In Python: `pp.evaluate(task, function)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable as Function
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from perpend.canon import clean_text
from perpend.errors import FunctionError, ModelError, SpecError, a_or_an
from perpend.models.base import plain_text, spoken
from perpend.spec.function import OwnCode, code_sha256, function_name, parameters, source_sha256
from perpend.spec.model import Answers, Budget
from perpend.spec.resolve import factory
from perpend.types import Request, Response


@dataclass(frozen=True, slots=True)
class Callable:
    """Calls `function(request)`, one request at a time; it returns a Response or a string.

    What the function raises stops the run with an error that says where it was raised; to report a failed request,
    return `Response(error=…)`. The fingerprint is the digest of the function's source.
    """

    label: str
    function: Function[[Request], Response | str]

    @property
    def name(self) -> str:
        """'callable/…'."""
        return f"callable/{self.label}"

    def fingerprint(self) -> Mapping[str, str]:
        """The function's name, and the digest of its text; where there is none, that of what Python compiled.

        What it calls is in neither.
        """
        digest = source_sha256(self.function)
        facts = {"provider": "callable", "function": function_name(self.function)}
        if digest is not None:
            return {**facts, "source_sha256": digest}
        code = code_sha256(self.function)
        return {**facts, "source": "not available", **({} if code is None else {"code_sha256": code})}

    def answer(self, requests: Iterator[tuple[int, Request]], budget: Budget) -> Iterator[Answers]:
        """One request at a time, one batch each."""
        for key, request in requests:
            if not budget.may_send():
                return
            with OwnCode(self.name, raises=functools.partial(_failed, key)):
                reply = self.function(request)
            response = Response(text=clean_text(reply), finish="stop") if isinstance(reply, str) else reply
            budget.spend(response.usage, is_answer=response.error is None)
            yield [(key, response)]


def _failed(key: int, message: str) -> FunctionError:
    return FunctionError(message, key)


def model(name: str) -> Callable:
    """The function that 'file.py:attr' or 'package.module:attr' names."""
    if ":" not in name:
        raise ModelError(f"callable/{name}: name a function as file.py:function or package.module:function")
    where, _, attribute = name.partition(":")
    function = factory("models", name, attribute)
    return Callable(f"{Path(where).name}:{attribute}", asking(function, otherwise="request"))


def of_function(function: Function[..., object], label: str | None = None) -> Callable:
    """A function of a Python program as a model; it takes the prompt as a string unless it says otherwise."""
    return Callable(label or function_name(function), asking(function, otherwise="prompt"))


def asking(function: Function[..., object], *, otherwise: str) -> Function[[Request], Response | str]:
    """The function as one of a Request. What it takes is the name of its first parameter, else `otherwise`.

    `prompt` is a string: the messages' texts with blank lines between. `messages` is a list of
    {"role": …, "content": …}, as chat servers take it. `request` is the whole Request, sampling included.
    """
    stated = parameters(function)
    first = stated[0] if stated else None
    takes = first.name if first is not None and first.name in ("prompt", "messages", "request") else otherwise
    if first is not None and first.annotation in (Request, "Request", "pp.Request"):
        takes = "request"
    if len([one for one in stated if one.default is one.empty]) > 1:
        raise SpecError(
            f"model {function_name(function)!r}: a function that answers takes one argument, a prompt or messages"
        )

    def ask(request: Request) -> Response | str:
        if takes == "prompt":
            reply = function(plain_text(request.messages))
        else:
            reply = function(spoken(request.messages) if takes == "messages" else request)
        if not isinstance(reply, Response | str):
            raise ModelError(
                f"{function_name(function)} returned {a_or_an(type(reply).__name__)}; "
                "return a string, or a Response(error=…) where there is no answer"
            )
        return reply

    return functools.update_wrapper(ask, function)
