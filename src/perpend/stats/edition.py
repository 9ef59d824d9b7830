"""Which edition of the statistics is in force: 2, or 1 while an audit recomputes what perpend 0.1 stated.

Edition 1 took the spread that a few items showed for the truth, and some of its intervals did not cover (CHANGELOG.md).
Its publications stay what they are, so what they state is recomputed as it was computed then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_EDITION: ContextVar[int] = ContextVar("edition", default=2)


def is_first() -> bool:
    """True while `first_edition` is in force."""
    return _EDITION.get() == 1


@contextmanager
def first_edition() -> Iterator[None]:
    """Compute as perpend 0.1 did."""
    token = _EDITION.set(1)
    try:
        yield
    finally:
        _EDITION.reset(token)
