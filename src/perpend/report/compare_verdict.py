"""The verdict of a comparison: what differs, what is shown to be within the margin, what could have been missed."""

from __future__ import annotations

from collections.abc import Sequence

from perpend.report.compare_contrasts import RunContrast

_IN_VERDICT = 5


def verdict(first: str, second: str, contrasts: Sequence[RunContrast], margin: float | None = None) -> str:
    """What may be claimed after the correction, and of the rest what these pairs could have missed.

    With a margin, first what is shown of it.
    """
    within = "" if margin is None else _within(first, second, contrasts, margin)
    return f"{within} {_differs(first, second, contrasts)}".strip()


def _differs(first: str, second: str, contrasts: Sequence[RunContrast]) -> str:
    """What differs after Holm's correction."""
    detected = sorted((one for one in contrasts if one.is_detected), key=lambda one: -abs(one.difference.value or 0.0))
    rest = [one for one in contrasts if not one.is_detected]
    missed = _missed(rest)
    tests = f"Holm over {len(contrasts)} test{'s' * (len(contrasts) != 1)}, 5%"
    if not detected:
        return f"No detectable difference between {first} and {second} ({tests}). {missed}".strip()
    ways = []
    for word, sign in (("higher", 1.0), ("lower", -1.0)):
        own = [one for one in detected if (one.difference.value or 0.0) * sign > 0.0]
        names = [f"{one.place} ({one.difference.value or 0.0:+.3f})" for one in own[:_IN_VERDICT]]
        more = f" and {len(own) - _IN_VERDICT} more" if len(own) > _IN_VERDICT else ""
        ways += [f"{word} on {', '.join(names)}{more}"] if own else []
    text = f"{second} is {' and '.join(ways)} than {first} ({tests})."
    return text if not rest else f"{text} On the other {len(rest)} no detectable difference. {missed}".strip()


def _missed(rest: Sequence[RunContrast]) -> str:
    sizes = [size for one in rest if isinstance(size := one.difference.also.get("mde"), float)]
    if not sizes:
        return ""
    span = f"{min(sizes):.3f}" if max(sizes) - min(sizes) < 0.0005 else f"{min(sizes):.3f} to {max(sizes):.3f}"
    return f"Minimum detectable effect at 80% power: {span}."


def size(margin: float, *, is_share: bool) -> str:
    """A margin as a sentence has it: '2 points' of a share, the number itself of other columns."""
    points = f"{100.0 * margin:.4g}"
    return f"{points} point{'s' * (points != '1')}" if is_share else f"{margin:.4g}"


def _within(first: str, second: str, contrasts: Sequence[RunContrast], margin: float) -> str:
    """What is shown of the margin: 'equivalent', 'not worse', 'not shown', each with where and p after Holm."""
    sentences = []
    for is_share in (True, False):
        limit = size(margin, is_share=is_share)
        words = {
            "equivalent": f"{second} is equivalent to {first} within ±{limit}",
            "not worse": f"{second} is not worse than {first} by more than {limit}",
            "not lower": f"{second} is not lower than {first} by more than {limit}",
            "not shown": f"Neither 'equivalent' nor 'not worse' is shown for a margin of {limit}",
        }
        for shown, sentence in words.items():
            own = [one for one in contrasts if one.shown == shown and one.is_share == is_share]
            names = ", ".join(map(_with_p, own[:_IN_VERDICT]))
            more = f" and {len(own) - _IN_VERDICT} more" if len(own) > _IN_VERDICT else ""
            sentences += [f"{sentence} on {names}{more}."] if own else []
    count = f"{len(contrasts)} difference{'s' * (len(contrasts) != 1)}"
    return f"{' '.join(sentences)} (Two one-sided tests, Holm over {count}, 5%.)"


def _with_p(one: RunContrast) -> str:
    also = {} if one.within is None else one.within.also
    p = also.get("p_adjusted" if one.shown == "equivalent" else "p_non_inferior")
    return (
        f"{one.place} (p {'< 0.0001' if p < 1e-4 else f'= {p:.2g}'})" if isinstance(p, float) else f"{one.place} (NA)"
    )
