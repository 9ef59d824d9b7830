"""The demo's page: which numbers, tables and pictures it shows, and where. The words are in `words`."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

from perpend.canon import as_object
from perpend.demo import words
from perpend.demo.figures import NAMES
from perpend.demo.numbers import DemoNumbers
from perpend.demo.studies import ANSWERED_BY, BASELINE, SEED, SIMULATED, SYSTEM, TEMPERATURES, TIER
from perpend.measure.run import Run
from perpend.report import page as html
from perpend.studies.conformity.trials import CONTROL

_MARKS = re.compile(r"\{([^}]+)\}|`([^`]+)`|\*\*([^*]+)\*\*")
_WIDEST = 520
_GROUP, _AUTHORITY = "asch_history_5", "authoritative_bias"
_PRESSURES = {_GROUP: "the pressure of a group", _AUTHORITY: "an authority's claim"}
_EFFECTS = {"pressure_effect": "wrong answers to factual questions", "opinion_effect": "planted opinions"}
_SAYS = {"TRUE": ("tp", "fp"), "FALSE": ("tn", "fn")}
"""A label, and the cells of the confusion matrix in which a reply says it."""
_ALPHA = 0.05


def inline(text: str, numbers: DemoNumbers, **values: object) -> list[html.Inline]:
    """A text of `words` with its numbers and values in place. What a value holds is text, whatever it looks like."""
    flat, end = " ".join(text.split()), 0
    parts: list[html.Inline] = []
    for mark in _MARKS.finditer(flat):
        parts.append(flat[end : mark.start()])
        end = mark.end()
        name, code, strong = mark.groups()
        if name is not None:
            parts.append(numbers(name) if "/" in name else str(values[name]))
        elif code is not None:
            parts.append(html.Code(_filled(code, values)))
        else:
            parts.append(html.Strong(_filled(strong, values)))
    return [part for part in (*parts, flat[end:]) if part != ""]


def _filled(text: str, values: Mapping[str, object]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: str(values[match[1]]), text)


def page_of(numbers: DemoNumbers, out: Path) -> html.Page:
    """The page of the demo in `out`."""
    simulated = words.SIMULATED if numbers.model == SIMULATED else ""
    commands: list[html.Part] = [html.Text(inline(words.FOLDER, numbers)), html.Commands(_commands(numbers))]
    return html.Page(
        title=words.TITLE,
        lead=inline(words.LEAD, numbers, model=numbers.model, simulated=simulated),
        top=[_headline(numbers), html.Text(inline(words.HOW_TO_READ, numbers), small=True)],
        sections=[
            html.PageSection("Does it give way to others?", _conformity(numbers, out)),
            html.PageSection("Does it decide, or repeat itself?", _logic(numbers, out)),
            html.PageSection("Which form of the verb, and how sure?", _verbs(numbers, out)),
            html.PageSection("Published and audited", _audit(numbers)),
            html.PageSection("Check it yourself", commands),
            html.PageSection("Versions and digests", _versions(numbers)),
        ],
        foot=inline(words.FOOT, numbers),
    )


def _headline(numbers: DemoNumbers) -> html.Cards:
    runs = numbers.runs.values()
    differ, checked = sum(run.differ for run in runs), sum(run.checked for run in runs)
    start = f"conformity/correct/rate/{TEMPERATURES[0]:g}"
    swayed = numbers(f"conformity/endorsed/rescue/{TEMPERATURES[0]:g}/{_AUTHORITY}")
    verdict = "nothing differs" if not differ else f"{differ} differ"
    cards = (
        ("Right under control", numbers(f"{start}/{CONTROL}"), "factual questions, nobody interferes"),
        ("Right under Asch pressure", numbers(f"{start}/{_GROUP}"), "five others claim a wrong answer"),
        ("Swayed by authority", swayed, "took a planted answer that it had not given by itself"),
        ("Chaos logic", numbers("logic/balanced_accuracy"), "balanced accuracy; 0.5 is a constant answer"),
        ("Verb grammar", numbers("verbs/model/accuracy"), "chose the right form, core probes"),
        ("Audit", verdict, f"{checked:,} comparisons in {len(runs)} published runs"),
    )
    return html.Cards([html.Card(*card) for card in cards])


def _conformity(numbers: DemoNumbers, out: Path) -> list[html.Part]:
    kinds = " or ".join(f"a {kind}" for kind in ANSWERED_BY)
    alt = "Shares of right and of planted answers under each condition, at two temperatures, with 95% intervals."
    return [
        html.Text(inline(words.SAMPLED, numbers, kinds=kinds, system=SYSTEM, seed=SEED, **numbers.items)),
        html.Text(inline(words.SWAY, numbers)),
        _picture(out / "figures" / "conformity.png", alt, inline(words.FIGURE_SWAY, numbers)),
        _pressures(numbers, "correct", "Right answers to factual questions"),
        _pressures(numbers, "endorsed", "Planted answers, opinions included"),
        html.Text(inline(words.TESTS, numbers), small=True),
        _effects(numbers),
        html.Text(inline(words.SHOWN, numbers, shown=_shown(numbers))),
        html.Text(inline(words.NOT_SWAY, numbers)),
        html.Text(inline(words.FIRST, numbers)),
        _first_answers(Run(out / "runs" / numbers.runs["conformity"].name)),
    ]


def _pressures(numbers: DemoNumbers, measure: str, caption: str) -> html.PageTable:
    rows = []
    for temperature, name in product(TEMPERATURES, numbers.conditions):
        where = f"{temperature:g}/{name}"
        row: list[html.Line] = [NAMES.get(name, name), f"{temperature:g}"]
        row.append(_with_n(numbers(f"conformity/{measure}/rate/{where}")))
        key = f"conformity/{measure}/difference/{where}"
        row += ["–", "–"] if name == CONTROL else [numbers(key, "signed"), numbers(f"{key}/p", "p")]
        rows.append(row)
    return html.PageTable(caption, ("asked", "temp.", "share", "change", "p"), rows)


def _effects(numbers: DemoNumbers) -> html.PageTable:
    rows: list[list[html.Line]] = []
    for effect, pressure in product(_EFFECTS, numbers.conditions[2:]):
        key = f"conformity/{effect}/{pressure}"
        change, p = numbers(key, "signed"), numbers(f"{key}/p", "p")
        rows.append([_EFFECTS[effect], NAMES.get(pressure, pressure), change, p])
    return html.PageTable("Change of a share under pressure", ("share of", "pressure", "change", "p, corrected"), rows)


def _shown(numbers: DemoNumbers) -> str:
    """Which changes under pressure survive the correction, in a sentence."""
    claims = []
    for effect, pressure in product(_EFFECTS, numbers.conditions[2:]):
        key = f"conformity/{effect}/{pressure}"
        change, p = numbers(key).value, numbers(f"{key}/p").value
        if change and p is not None and p <= _ALPHA:
            way = "more" if change > 0 else "fewer"
            claims.append(f"{way} {_EFFECTS[effect]} under {_PRESSURES.get(pressure, pressure)}")
    if not claims:
        return "No change under pressure survives the correction at 5%."
    return f"After the correction, at 5%, there are {'; '.join(claims)} than under control."


def _first_answers(run: Run) -> html.Said:
    """The answers to the first item of the plan at the first temperature, under each condition."""
    first = run.table.values("item")[0]
    answers, question = [], ""
    with run.open() as store:
        for trial, response in store.answers():
            if trial.item.id == first and trial.sampling.temperature == TEMPERATURES[0]:
                question = f"{trial.item.prompt} (right: {trial.item.target}; planted: {trial.item.decoy})"
                cut = ", cut off" if response.finish == "length" else ""
                text = "no answer" if response.text is None else response.text
                answers.append((f"{NAMES.get(trial.condition, trial.condition)}{cut}", text))
    return html.Said(question, answers)


def _logic(numbers: DemoNumbers, out: Path) -> list[html.Part]:
    replies = {name: value for name, value in numbers.replies.items() if isinstance(value, int)}
    counts = {label: replies[hit] + replies[miss] for label, (hit, miss) in _SAYS.items()}
    least, most = sorted(counts, key=lambda label: (counts[label], label))
    note = words.CONSTANT if 0 < replies["valid"] == counts[most] else words.LEANING
    names = {
        "balanced accuracy": "balanced_accuracy",
        "TPR, of TRUE questions": "tpr",
        "TNR, of FALSE questions": "tnr",
        "plain accuracy, of valid replies": "accuracy_valid",
        "Matthews correlation": "mcc",
        "coverage: valid replies of all": "coverage",
    }
    measures = [(name, numbers(f"logic/{key}")) for name, key in names.items()]
    alt = "True positive rate, true negative rate and balanced accuracy with 95% intervals."
    facts = {**replies, "tier": TIER, "seed": SEED, "count": counts[most], "most": most, "least": least}
    return [
        html.Text(inline(words.TIER, numbers, **facts)),
        html.Text(inline(note, numbers, **facts)),
        _picture(out / "figures" / "logic.png", alt, inline(words.FIGURE_LOGIC, numbers)),
        html.PageTable(
            "By the benchmark's protocol", ("measure", "value", "n"), [(a, b, str(b.n)) for a, b in measures]
        ),
        html.Text(inline(words.LOST, numbers, **facts), small=True),
        html.Text(inline(words.NOT_LOGIC, numbers, **facts)),
    ]


def _verbs(numbers: DemoNumbers, out: Path) -> list[html.Part]:
    measures = (
        ("accuracy", "accuracy", "accuracy"),
        ("accuracy on tricks", "adversarial", "adversarial accuracy"),
        ("calibration error (ECE)", "ece", "ECE"),
        ("ECE if perfectly calibrated", "ece_if_calibrated", ""),
        ("Brier score", "brier", "Brier score"),
    )
    rows = []
    for name, key, measure in measures:
        both = [_with_n(numbers(f"verbs/{role}/{key}")) for role in ("model", "baseline")]
        place = f"verbs/difference/{measure}"
        pair = [numbers(place, "signed"), numbers(f"{place}/p", "p")] if place in numbers.named else ["–", "–"]
        rows.append([name, *both, *pair])
    label = numbers.runs["verbs"].manifest.models[-1].label
    calibrated = numbers.verdict("calibration", model=label, category="core")
    caption = inline(words.FIGURE_RELIABILITY, numbers, model=numbers.model, verdict=calibrated)
    alt = "Accuracy, accuracy on tricks and calibration error of both models with 95% intervals."
    diagram = "Reliability diagram: accuracy against confidence in ten bins."
    head = ("measure", numbers.model, BASELINE, "difference", "p")
    return [
        html.Text(inline(words.PROBES, numbers, baseline=BASELINE)),
        html.Text(inline(words.COMPARED, numbers, verdict=numbers.verdict("comparison"))),
        _picture(out / "figures" / "verbs.png", alt, inline(words.FIGURE_VERBS, numbers)),
        html.PageTable("Difference: model minus n-gram model, paired by probe; p by Holm", head, rows),
        _picture(out / "figures" / "reliability.png", diagram, caption),
        html.Text(inline(words.NOT_VERBS, numbers)),
    ]


def _audit(numbers: DemoNumbers) -> list[html.Part]:
    rows: list[list[html.Line]] = []
    accepted: list[html.Part] = []
    for run in numbers.runs.values():
        rows.append([run.name, str(run.manifest.trials), str(run.checked), str(run.differ), run.audit.verdict])
        for gate in run.accepted:
            facts = {"run": run.name, "gate": gate["gate"], "detail": gate["found"], "because": gate["accepted"]}
            accepted.append(html.Text(inline(words.ACCEPTED, numbers, **facts), small=True))
    head = ("run", "trials", "comparisons", "differ", "verdict")
    return [html.Text(inline(words.PUBLISHED, numbers)), html.PageTable("The audit's verdict", head, rows), *accepted]


def _commands(numbers: DemoNumbers) -> list[str]:
    conformity, verbs = numbers.runs["conformity"].name, numbers.runs["verbs"]
    first, second = (f"model={model.label}" for model in verbs.manifest.models)
    return [
        "# recompute everything from the raw answers, and compare",
        "perpend audit published",
        "# read raw answers",
        f"perpend show runs/{conformity} --n-per-group 1",
        "# the two models on the verb probes",
        f"perpend compare runs/{verbs.name} runs/{verbs.name} --first {first} --second {second} --out compared",
    ]


def _versions(numbers: DemoNumbers) -> list[html.Part]:
    facts: list[tuple[str, list[html.Inline]]] = []
    for run in numbers.runs.values():
        models = [model.fingerprint for model in run.manifest.models]
        values = {
            "created": run.manifest.created,
            "root_sha256": run.receipt.root_sha256,
            "items_sha256": run.manifest.items.sha256,
            "model": "; ".join(f"{key} {value}" for one in models for key, value in one.items()),
        }
        facts.append((run.name, inline(words.RUN, numbers, **values)))
    code = as_object(numbers.runs["verbs"].receipt.body.get("code"))
    return [html.FactList([*facts, ("code", [html.Code("; ".join(f"{key} {value}" for key, value in code.items()))])])]


def _with_n(one: html.Number) -> list[html.Inline]:
    return [one, f" n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{one.n}"]


def _picture(path: Path, alt: str, caption: Sequence[html.Inline]) -> html.Picture:
    png = path.read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    shown = min(width, _WIDEST)
    return html.Picture(png, shown, round(height * shown / width), alt, caption)
