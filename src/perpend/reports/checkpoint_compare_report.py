"""COMPARE.md and COMPARE.json: one comparison, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perpend.canon import pretty, write_atomic
from perpend.inert import markdown
from perpend.reports.checkpoint_compare import Comparison
from perpend.reports.checkpoint_contrasts import Contrast
from perpend.reports.checkpoint_report import interval, number, p_value, probe, table
from perpend.reports.predictions import Prediction

_SHOWN = 100
_METHODS = (
    "Accuracy: Newcombe's paired interval and McNemar's mid-p. Brier score: paired bootstrap by probe, and a test that "
    "swaps the two answers of random probes. ECE: paired bootstrap by probe, with room for its bias. Log perplexity: "
    "nats per token, Student's t over sentences. p is adjusted by Holm. MDE: the smallest difference that these probes "
    "show with 80% power."
)


def write_compare(found: Comparison, out: Path) -> Path:
    """Write COMPARE.md and COMPARE.json into the folder `out` and return the path of the page."""
    write_atomic(out / "COMPARE.json", pretty(found.as_json()))
    write_atomic(out / "COMPARE.md", compare_report(found))
    return out / "COMPARE.md"


def compare_report(found: Comparison) -> str:
    """The comparison in Markdown: verdict, metrics, slices that changed, probes that flipped."""
    first, second = markdown(found.first), markdown(found.second)
    verdict = markdown(found.verdict)
    left = ", ".join(f"{n} {name}" for name, n in found.unpaired.items()) or "none"
    lines = [
        f"# {first} → {second}", "",
        f"**Verdict:** {verdict}", "",
        f"{found.n_pairs} probes that both answered; without a partner: {left}. Differences: second minus first.", "",
        "## Metrics", "", *_metrics(found.metrics, (first, second)),
        _METHODS, "",
        "## Slices that changed", "", *_slices(found.slices, (first, second)),
        f"## Right in {first}, wrong in {second}", "", *_flips(found.lost),
        f"## Wrong in {first}, right in {second}", "", *_flips(found.won),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def _metrics(metrics: Sequence[Contrast], names: tuple[str, str]) -> list[str]:
    rows = []
    for one in metrics:
        d = one.difference
        shown = number(d.value) if d.value is not None else f"NA ({markdown(d.note)})"
        rows.append(
            (markdown(one.metric), number(one.first), number(one.second), shown, interval(d), str(d.n),
             p_value(d.also.get("p")), p_value(d.also.get("p_adjusted")), number(d.also.get("mde")))
        )  # fmt: skip
    head = ("metric", *names, "difference", "95% interval", "n", "p", "adjusted p", "MDE")
    return table(head, rows)


def _slices(slices: Sequence[Contrast], names: tuple[str, str]) -> list[str]:
    changed = [one for one in slices if one.is_detected]
    told = f"{len(changed)} of {len(slices)} slices changed after correction (McNemar, Benjamini and Hochberg, 5%)."
    return [told, "", *(_metrics(changed, names) if changed else [])]


def _flips(pairs: Sequence[tuple[Prediction, Prediction]]) -> list[str]:
    told = f"{len(pairs)} probes."
    if len(pairs) > _SHOWN:
        told = f"{len(pairs)} probes; the first {_SHOWN} are shown, COMPARE.json has all ids."
    rows = [(markdown(a.id), probe(a), markdown(a.expected or "–"), _choice(a), _choice(b)) for a, b in pairs[:_SHOWN]]
    return [told, "", *(table(("id", "probe", "expected", "before", "after"), rows) if rows else [])]


def _choice(one: Prediction) -> str:
    return f"{markdown(one.predicted or '–')} ({number(one.confidence, 2)})"
