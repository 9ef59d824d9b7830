r"""macros: the headline numbers of runs, and what was recomputed for claims, as LaTeX commands.

A paper that takes in this file with \input carries no typed number. The first line is a comment with the digest of the
rest: 'perpend claims extract' takes the numbers of an unchanged file for covered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from perpend.canon import write_atomic
from perpend.errors import SpecError
from perpend.measure.run import Run
from perpend.measure.samplings import settings_in
from perpend.measure.study import Metric, plain_metrics
from perpend.proof.claims.check import Verdict
from perpend.proof.claims.file import WHOLE
from perpend.proof.claims.language import Order
from perpend.proof.claims.tex import sealed
from perpend.report import tables as latex
from perpend.types import Estimate

_ARROW = " → "


def write_macros(runs: Sequence[Run], path: Path, verdicts: Sequence[Verdict] = ()) -> Path:
    r"""Write one \newcommand for each rate and pair that these runs state, and for each recomputed claim.

    A name is metric, scorer, version, model, temperature and conditions, with the run in front where there are several:
    \RateCorrectTwoSubjectZeroControl. It ends in Lo, Hi, N, P, or Pct for percent. Undefined is NA.
    """
    write_atomic(path, sealed(macros(runs, verdicts)))
    return path


def macros(runs: Sequence[Run], verdicts: Sequence[Verdict] = ()) -> str:
    """The commands as LaTeX. Two numbers that would share a name are an error."""
    entries: dict[tuple[str, ...], str] = {}
    labels = latex.macro_words([run.name for run in runs])
    for run in runs:
        front = () if len(runs) == 1 else (labels[run.name],)
        for words, estimate in _headlines([*plain_metrics(run.table)]):
            entries |= _commands((*front, *words), estimate, signed=words[0] == "difference")
    for verdict in verdicts:
        for words, value in _claimed(verdict).items():
            if words in entries:
                raise SpecError(f"the claim {verdict.name!r} and another number share a LaTeX command; rename it")
            entries[words] = value
    return latex.macros(entries)


def _headlines(metrics: Sequence[Metric]) -> Iterator[tuple[tuple[str, ...], Estimate]]:
    """Each metric with the words of its name; labels that come to the same letters get names of their own."""
    models = latex.macro_words([metric.where["model"] for metric in metrics])
    sides = latex.macro_words([side for metric in metrics for side in metric.where["condition"].split(_ARROW)])
    for metric in metrics:
        conditions = [sides[side] for side in metric.where["condition"].split(_ARROW)]
        setting = [word for key in settings_in([metric.where])[1:] for word in (key, metric.where[key])]
        place = (models[metric.where["model"]], metric.where["temperature"], *setting)
        words = (metric.name, metric.scorer, *place, *conditions)
        yield words, metric.estimate


def _commands(words: tuple[str, ...], one: Estimate, *, signed: bool) -> dict[tuple[str, ...], str]:
    p = one.also.get("p")
    commands = {
        words: latex.tex_number(one.value, 3, sign=signed),
        (*words, "Lo"): latex.tex_number(one.lo, 3, sign=signed),
        (*words, "Hi"): latex.tex_number(one.hi, 3, sign=signed),
        (*words, "N"): str(one.n),
        (*words, "Pct"): latex.tex_number(_percent(one.value), sign=signed),
        (*words, "Lo", "Pct"): latex.tex_number(_percent(one.lo), sign=signed),
        (*words, "Hi", "Pct"): latex.tex_number(_percent(one.hi), sign=signed),
    }
    if "p" in one.also:
        commands[*words, "P"] = latex.tex_p_value(p if isinstance(p, float) else None)
    return commands


def _percent(value: float | None) -> float | None:
    return None if value is None else 100.0 * value


def _claimed(verdict: Verdict) -> dict[tuple[str, ...], str]:
    """What was recomputed for a claim, with as many decimals as the claim states; of an order nothing."""
    claim, one = verdict.claim, verdict.estimate
    if isinstance(claim.formula, Order):
        return {}
    expected = claim.expect.get(verdict.slice)
    exponent = None if expected is None else expected.as_tuple().exponent
    digits = max(0, -exponent) if isinstance(exponent, int) else 3
    name = claim.name if claim.name.lower().startswith("claim") else f"claim {claim.name}"
    words = (name,) if verdict.slice == WHOLE else (name, verdict.slice)

    def shown(value: float | None) -> str:
        return latex.tex_number(value, digits) if digits <= 6 else latex.tex_p_value(value)

    return {
        words: shown(one.value),
        (*words, "Lo"): shown(one.lo),
        (*words, "Hi"): shown(one.hi),
        (*words, "N"): str(one.n),
    }
