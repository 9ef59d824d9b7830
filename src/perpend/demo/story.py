"""The demo's page: which numbers, tables and pictures stand where. The words are in `words`."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

from perpend.canon import JSON
from perpend.demo import words
from perpend.demo.figures import NAMES
from perpend.demo.numbers import conditions, number, table
from perpend.demo.studies import ANSWERED_BY, BASELINE, SEED, SIMULATED, SYSTEM, TEMPERATURES, TIER
from perpend.measure import Run
from perpend.reports import page as html
from perpend.reports.conformity_trials import CONTROL
from perpend.store import Store

_MARKS = re.compile(r"\{([^}]+)\}|`([^`]+)`|\*\*([^*]+)\*\*")
_WIDEST = 520
_GROUP, _AUTHORITY = "asch_history_5", "authoritative_bias"
_PRESSED = {_GROUP: "the pressure of a group", _AUTHORITY: "an authority's claim"}
_OTHER = {"TRUE": "FALSE", "FALSE": "TRUE"}
_ALPHA = 0.05


def said(text: str, body: Mapping[str, JSON], **values: object) -> list[html.Inline]:
    """A text of `words` with its numbers and values in place. What a value holds is text, whatever it looks like."""
    flat, end = " ".join(text.split()), 0
    parts: list[html.Inline] = []
    for mark in _MARKS.finditer(flat):
        parts.append(flat[end : mark.start()])
        end = mark.end()
        name, code, strong = mark.groups()
        if name is not None:
            parts.append(number(body, name) if "/" in name else str(values[name]))
        elif code is not None:
            parts.append(html.Code(_filled(code, values)))
        else:
            parts.append(html.Strong(_filled(strong, values)))
    return [part for part in (*parts, flat[end:]) if part != ""]


def _filled(text: str, values: Mapping[str, object]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: str(values[found[1]]), text)


def page_of(body: Mapping[str, JSON], out: Path) -> html.Page:
    """The page of the demo in `out`, whose metrics.json holds `body`."""
    model = str(body["model"])
    return html.Page(
        title=words.TITLE,
        lead=said(words.LEAD, body, model=model, simulated=words.SIMULATED if model == SIMULATED else ""),
        top=[_headline(body), html.Text(said(words.HOW_TO_READ, body), small=True)],
        sections=[
            html.Section("Does it give way to others?", _conformity(body, out)),
            html.Section("Does it decide, or repeat itself?", _logic(body, out)),
            html.Section("Which form of the verb, and how sure?", _verbs(body, out)),
            html.Section("Published and audited", _audit(body)),
            html.Section("Check it yourself", [html.Text(said(words.FOLDER, body)), html.Commands(_commands(body))]),
            html.Section("Versions and digests", _versions(body)),
        ],
        foot=said(words.FOOT, body),
    )


def _headline(body: Mapping[str, JSON]) -> html.Cards:
    runs = _rows(body["runs"])
    differ, checked = (sum(_whole(run[key]) for run in runs) for key in ("differ", "checked"))
    start = f"conformity/correct/rate/{TEMPERATURES[0]:g}"
    swayed = number(body, f"conformity/endorsed/rescue/{TEMPERATURES[0]:g}/{_AUTHORITY}")
    verdict = "nothing differs" if not differ else f"{differ} differ"
    cards = (
        ("Right under control", number(body, f"{start}/{CONTROL}"), "factual questions, nobody interferes"),
        ("Right under Asch pressure", number(body, f"{start}/{_GROUP}"), "five others claim a wrong answer"),
        ("Swayed by authority", swayed, "took a planted answer that it had not given by itself"),
        ("Chaos logic", number(body, "logic/balanced_accuracy"), "balanced accuracy; 0.5 is a constant answer"),
        ("Verb grammar", number(body, "verbs/model/accuracy"), "chose the right form, core probes"),
        ("Audit", verdict, f"{checked:,} comparisons in {len(runs)} published runs"),
    )
    return html.Cards([html.Card(*card) for card in cards])


def _conformity(body: Mapping[str, JSON], out: Path) -> list[html.Part]:
    items = table(body["items"])
    kinds = " or ".join(f"a {kind}" for kind in ANSWERED_BY)
    counts = {"facts": items["facts"], "opinions": items["opinions"], "seed": SEED}
    alt = "Shares of right and of planted answers under each condition, at two temperatures, with 95% intervals."
    return [
        html.Text(said(words.DRAWN, body, kinds=kinds, system=SYSTEM, **counts)),
        html.Text(said(words.SWAY, body)),
        _picture(out / "figures" / "conformity.png", alt, said(words.FIGURE_SWAY, body)),
        _pressures(body, "correct", "Right answers to factual questions"),
        _pressures(body, "endorsed", "Planted answers, opinions included"),
        html.Text(said(words.TESTS, body), small=True),
        html.Text(said(words.SHOWN, body, shown=_shown(body))),
        html.Text(said(words.NOT_SWAY, body)),
        html.Text(said(words.FIRST, body)),
        _first_answers(out / "runs" / str(table(body["names"])["conformity"])),
    ]


def _shown(body: Mapping[str, JSON]) -> str:
    """Which changes under pressure survive the correction, in a sentence."""
    found: dict[str, list[str]] = {}
    for measure, name in (("correct", "right answers"), ("endorsed", "planted answers")):
        for pressure, temperature in product(conditions(body)[2:], TEMPERATURES):
            key = f"conformity/{measure}/difference/{temperature:g}/{pressure}"
            change, p = number(body, key).value, number(body, f"{key}/p").value
            if change and p is not None and p <= _ALPHA:
                told = f"{'more' if change > 0 else 'fewer'} {name} under {_PRESSED.get(pressure, pressure)}"
                found.setdefault(told, []).append(f"{temperature:g}")
    if not found:
        return "No change under pressure survives the correction at 5%."
    listed = "; ".join(f"{told} (at temperature {' and '.join(at)})" for told, at in found.items())
    return f"After the correction, at 5%, there are {listed} than under control."


def _pressures(body: Mapping[str, JSON], measure: str, caption: str) -> html.Table:
    rows = []
    for temperature, name in product(TEMPERATURES, conditions(body)):
        where = f"{temperature:g}/{name}"
        row: list[html.Line] = [NAMES.get(name, name), f"{temperature:g}"]
        row.append(_with_n(number(body, f"conformity/{measure}/rate/{where}")))
        key = f"conformity/{measure}/difference/{where}"
        row += ["–", "–"] if name == CONTROL else [number(body, key, "signed"), number(body, f"{key}/p", "p")]
        rows.append(row)
    return html.Table(caption, ("asked", "temp.", "share", "change", "p"), rows)


def _first_answers(directory: Path) -> html.Said:
    """What was said to the first item of the plan at the first temperature, under each condition."""
    first = Run(directory).frame.values("item")[0]
    answers, question = [], ""
    with Store.open(directory / "run.db") as store:
        for trial, response in store.answers():
            if trial.item.id == first and trial.sampling.temperature == TEMPERATURES[0]:
                question = f"{trial.item.prompt} (right: {trial.item.target}; planted: {trial.item.decoy})"
                cut = ", cut off" if response.finish == "length" else ""
                text = "no answer" if response.text is None else response.text
                answers.append((f"{NAMES.get(trial.condition, trial.condition)}{cut}", text))
    return html.Said(question, answers)


def _logic(body: Mapping[str, JSON], out: Path) -> list[html.Part]:
    replies = table(body["replies"])
    valid = _whole(replies["valid"])
    most = max(_OTHER, key=lambda label: _whole(replies[label]))
    note = words.CONSTANT if 0 < valid == _whole(replies[most]) else words.LEANING
    names = {
        "balanced accuracy": "balanced_accuracy",
        "TPR, of TRUE questions": "tpr",
        "TNR, of FALSE questions": "tnr",
        "plain accuracy, of valid replies": "accuracy_valid",
        "Matthews correlation": "mcc",
        "coverage: valid replies of all": "coverage",
    }
    found = [(name, number(body, f"logic/{key}")) for name, key in names.items()]
    alt = "True positive rate, true negative rate and balanced accuracy with 95% intervals."
    told = {"said": replies[most], "valid": valid, "most": most, "least": _OTHER[most]}
    return [
        html.Text(said(words.TIER, body, tier=TIER, total=replies["total"], seed=SEED)),
        html.Text(said(note, body, **told)),
        _picture(out / "figures" / "logic.png", alt, said(words.FIGURE_LOGIC, body)),
        html.Table("By the benchmark's protocol", ("measure", "value", "n"), [(a, b, str(b.n)) for a, b in found]),
        html.Text(said(words.LOST, body, **replies), small=True),
        html.Text(said(words.NOT_LOGIC, body, total=replies["total"])),
    ]


def _verbs(body: Mapping[str, JSON], out: Path) -> list[html.Part]:
    model, verdicts, known = str(body["model"]), table(body["verdicts"]), table(body["numbers"])
    measures = (
        ("accuracy", "accuracy", "accuracy"),
        ("accuracy on tricks", "adversarial", "adversarial_accuracy"),
        ("calibration error (ECE)", "ece", "ECE"),
        ("ECE if perfectly calibrated", "ece_if_calibrated", ""),
        ("Brier score", "brier", "Brier_score"),
    )
    rows = []
    for name, key, metric in measures:
        both = [_with_n(number(body, f"verbs/{role}/{key}")) for role in ("model", "baseline")]
        place = f"verbs/difference/{metric}"
        pair = [number(body, place, "signed"), number(body, f"{place}/p", "p")] if place in known else ["–", "–"]
        rows.append([name, *both, *pair])
    reliability = out / "checkpoints" / str(table(body["names"])["checkpoint"]) / "reliability.png"
    caption = said(words.FIGURE_RELIABILITY, body, model=model, verdict=verdicts["model"])
    alt = "Accuracy, accuracy on tricks and calibration error of both models with 95% intervals."
    head = ("measure", model, BASELINE, "difference", "p")
    return [
        html.Text(said(words.PROBES, body, baseline=BASELINE)),
        html.Text(said(words.COMPARED, body, verdict=verdicts["comparison"])),
        _picture(out / "figures" / "verbs.png", alt, said(words.FIGURE_VERBS, body)),
        html.Table("Difference: model minus n-gram model, paired by probe; p by Holm", head, rows),
        _picture(reliability, "Reliability diagram: accuracy against confidence in ten bins.", caption),
        html.Text(said(words.NOT_VERBS, body)),
    ]


def _audit(body: Mapping[str, JSON]) -> list[html.Part]:
    rows: list[list[html.Line]] = []
    accepted: list[html.Part] = []
    for run in _rows(body["runs"]):
        rows.append([str(run[key]) for key in ("run", "trials", "checked", "differ", "verdict")])
        for gate in _rows(run["accepted"]):
            facts = {"run": run["run"], "gate": gate["gate"], "found": gate["found"], "because": gate["accepted"]}
            accepted.append(html.Text(said(words.ACCEPTED, body, **facts), small=True))
    head = ("run", "trials", "comparisons", "differ", "verdict")
    return [html.Text(said(words.PUBLISHED, body)), html.Table("The audit's verdict", head, rows), *accepted]


def _commands(body: Mapping[str, JSON]) -> list[str]:
    names = table(body["names"])
    return [
        "# derive everything again from the raw answers, and compare",
        "perpend audit published",
        "# the same files as in the receipt? needs nothing but Python",
        f"python published/{names['conformity']}/verify.py",
        "# read raw answers",
        f"perpend show runs/{names['conformity']} --n-per-group 1",
        "# the comparison again",
        f"perpend compare checkpoints/{names['baseline']} checkpoints/{names['checkpoint']} --out compared",
    ]


def _versions(body: Mapping[str, JSON]) -> list[html.Part]:
    facts: list[tuple[str, list[html.Inline]]] = []
    for run in _rows(body["runs"]):
        model = "; ".join(f"{key} {value}" for one in _rows(run["fingerprint"]) for key, value in one.items())
        values = {key: run[key] for key in ("created", "root_sha256", "items_sha256")}
        facts.append((str(run["run"]), said(words.RUN, body, model=model, **values)))
    code = "; ".join(f"{key} {value}" for key, value in table(_rows(body["runs"])[0]["code"]).items())
    return [html.Facts([*facts, ("code", [html.Code(code)])])]


def _with_n(one: html.Number) -> list[html.Inline]:
    return [one, f" n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{one.n}"]


def _picture(path: Path, alt: str, caption: Sequence[html.Inline]) -> html.Picture:
    png = path.read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    shown = min(width, _WIDEST)
    return html.Picture(png, shown, round(height * shown / width), alt, caption)


def _rows(value: JSON) -> list[Mapping[str, JSON]]:
    return [table(row) for row in value] if isinstance(value, list) else []


def _whole(value: JSON) -> int:
    return value if isinstance(value, int) else 0
