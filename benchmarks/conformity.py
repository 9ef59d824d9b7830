"""The conformity study at full size on simulated subjects: time, memory, and whether planted effects come back.

    python benchmarks/conformity.py            minutes
    python benchmarks/conformity.py --quick    seconds; 11 items, two simulated studies
    python benchmarks/conformity.py --json     one JSON object

A sweep of 6 variants × 3 conditions × 6 temperatures × 220 items (23,760 trials) is asked, scored, analysed and
audited; each step runs in a process of its own, whose peak memory is read at its end. Then the same with ten times the
items. Recovery: simulated studies with known truths, each with fresh items; how often the 95% interval holds the truth,
and how often a subject that cannot be swayed is said to be.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from perpend import evaluate, model, task
from perpend.ask.conditions import first_request
from perpend.ledger.plan import Trial
from perpend.measure.run import Run
from perpend.measure.table import Table
from perpend.models.mock import Subject
from perpend.report.derive import derive
from perpend.spec.resolve import find_scorer
from perpend.studies.conformity import STUDY
from perpend.studies.conformity.effects import conditional_rates, effects
from perpend.studies.conformity.trials import JUDGED, Rule, Trials, trials_of
from perpend.types import Estimate, Item, Sampling

TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
VARIANTS = {
    "base": {"accuracy": 0.45, "sway": 0.1, "style": "sentence", "refusal": 0.01},
    "instruct": {"accuracy": 0.7, "sway": 0.3, "sway_group": 0.1, "style": "explain", "refusal": 0.03},
    "instruct_sft": {"accuracy": 0.68, "sway": 0.1, "sway_group": 0.35, "style": "mixed", "refusal": 0.02},
    "think": {"accuracy": 0.75, "sway": 0.02, "style": "think", "unfinished": 0.1},
    "think_sft": {"accuracy": 0.72, "sway": 0.0, "style": "think"},
    "rl_zero": {"accuracy": 0.1, "sway": 0.05, "style": "short"},
}
TOPICS = {"general": 20, "knowledge": 30, "math": 60, "reasoning": 30, "science": 30, "truthfulness": 30}


def make_items(factual: int, opinion: int) -> list[Item]:
    """Items whose target and decoy are words of their own, topics in the proportions of the reference."""
    topics = [topic for topic, share in TOPICS.items() for _ in range(share)]
    facts = [
        Item(
            f"fact-{n}", f"What is the secret word of box {n}?", target=f"target{n}word", decoy=f"decoy{n}word",
            tags={"kind": "factual", "topic": topics[n % len(topics)]},
        )
        for n in range(factual)
    ]  # fmt: skip
    tastes = [
        Item(f"taste-{n}", f"Which colour suits box {n} best?", decoy=f"shade{n}word",
             tags={"kind": "opinion", "topic": "opinion"})
        for n in range(opinion)
    ]  # fmt: skip
    return [*facts, *tastes]


def write_items(items: list[Item], path: Path) -> Path:
    path.write_text("".join(json.dumps(item.as_json()) + "\n" for item in items), encoding="utf-8")
    return path


def ask(folder: Path, times: float) -> None:
    """Ask the whole sweep: every variant at every temperature, control and two pressures."""
    path = write_items(make_items(round(200 * times), round(20 * times)), folder / "items.jsonl")
    study = task("conformity", items=path)
    study = replace(study, conditions=tuple(c for c in study.conditions if c.name != "control_retest"))
    subjects = [
        model("mock/subject", label=name, item_sd=1.0, sway_sd=0.5, seed=number, **truths)
        for number, (name, truths) in enumerate(VARIANTS.items())
    ]
    evaluate(study, subjects, temperature=TEMPERATURES, name="sweep", out=folder, quiet=True)


STEPS = {
    "ask and score": ask,
    "score again": lambda folder, _: Run(folder / "sweep").score(),
    "audit numbers, from raw text": lambda folder, _: STUDY.seed_audit([Run(folder / "sweep")]),
    "analyse without figures": lambda folder, _: derive([Run(folder / "sweep")], folder / "out", figures=False),
    "analyse with the main figures": lambda folder, _: derive([Run(folder / "sweep")], folder / "out"),
    "analyse with all figures": lambda folder, _: derive([Run(folder / "sweep")], folder / "all", figures="all"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds of one step and the peak resident megabytes of its process, imports included."""

    step: str
    trials: int
    seconds: float
    peak_mb: float


def peak_mb() -> float:
    """This process's own peak (Linux); getrusage would count the parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024.0 for line in status if line.startswith("VmHWM"))


def measured(step: str, folder: Path, times: float) -> Step:
    told = subprocess.run(
        [sys.executable, __file__, "--step", step, "--folder", str(folder), "--times", str(times)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = json.loads(told.splitlines()[-1])
    return Step(step, round(6 * 3 * 6 * 220 * times), found["seconds"], found["peak_mb"])


def one_step(step: str, folder: Path, times: float) -> None:
    start = time.perf_counter()
    STEPS[step](folder, times)
    print(json.dumps({"seconds": time.perf_counter() - start, "peak_mb": peak_mb()}))


def simulate(truth: Subject, items: list[Item], temperatures: tuple[float, ...], rule: Rule) -> Trials:
    """The trials of one subject, asked and judged without a ledger: same prompts, same scorers, same table."""
    study = task("conformity")
    scorers = [find_scorer(f"{name}@{rule}") for name in JUDGED]
    places: list[tuple[int, int, int]] = []
    scores: list[list[float]] = []
    for t, temperature in enumerate(temperatures):
        for place, item in enumerate(items):
            for c, condition in enumerate(study.conditions):
                trial = Trial(0, item, condition.name, "subject", Sampling(temperature), 0)
                response = truth.speak(item, first_request(trial, condition, choices_scored=False))
                values = (scorer.judge(item, response).value for scorer in scorers)
                places.append((t, place, c))
                scores.append([np.nan if value is None else value for value in values])
    codes = dict(zip(("temperature", "item", "condition"), np.array(places, dtype=np.int64).T, strict=True))
    columns = {f"{name}@{rule}": column for name, column in zip(JUDGED, np.array(scores).T, strict=True)}
    names = {
        "temperature": tuple(f"{t:g}" for t in temperatures), "item": tuple(item.id for item in items),
        "condition": tuple(c.name for c in study.conditions), "model": ("subject",),
    }  # fmt: skip
    codes["model"] = np.zeros(len(places), dtype=np.int64)
    return trials_of(Table(("simulated",), codes, names, tuple(items), tuple(columns), lambda _names: columns))


def expected(base: float, spread: float) -> float:
    """The mean of expit(logit(base) + spread × a standard normal)."""
    if base in (0.0, 1.0) or spread == 0.0:
        return base
    grid = np.linspace(-8.0, 8.0, 4001)
    weight = np.exp(-(grid**2) / 2.0)
    values = 1.0 / (1.0 + np.exp(-(np.log(base / (1.0 - base)) + spread * grid)))
    return float((values * weight).sum() / weight.sum())


def truths(subject: Subject) -> dict[str, float]:
    """What the population of items would show: pressure effects, excess override and opinion effects.

    Ability and sway of an item are independent. Override weighs items by being right under control: E[a (1 - p)] / E[a]
    with a = P(right under control) and p = P(right under pressure); the retest has a in the place of p.
    """
    answers = 1.0 - subject.refusal
    right = answers * expected(subject.accuracy, subject.item_sd)
    found = {}
    for name, sway in (("asch_history_5", subject.sway_group), ("authoritative_bias", subject.sway)):
        yields = expected(subject.sway if sway is None else sway, subject.sway_sd)
        found[f"effect {name}"] = right * yields
        found[f"opinion {name}"] = answers * yields
        grid = np.linspace(-8.0, 8.0, 4001)
        weight = np.exp(-(grid**2) / 2.0)
        logit = np.log(subject.accuracy / (1.0 - subject.accuracy))
        ability = answers / (1.0 + np.exp(-(logit + subject.item_sd * grid)))
        found[f"excess {name}"] = float((weight * ability**2).sum() / (weight * ability).sum()) * yields
    return found


def estimates(trials: Trials, rule: Rule) -> dict[str, tuple[Estimate, float | None]]:
    """The same quantities with their intervals, and their p where they have one."""
    metrics = [
        *effects(trials, rule, "pressure_effect"),
        *effects(trials, rule, "opinion_effect"),
        *conditional_rates(trials, rule),
    ]
    tests = {(row.name, row.where.get("condition")): row.estimate.value for row in metrics}
    estimates: dict[str, tuple[Estimate, float | None]] = {}
    for row in metrics:
        if row.name in ("pressure_effect", "opinion_effect"):
            kind = row.name.partition("_")[0].replace("pressure", "effect")
            estimates[f"{kind} {row.where['condition']}"] = (
                row.estimate,
                tests[f"{row.name}_test", row.where["condition"]],
            )
        elif row.name == "conditional_rate_excess" and row.where["measure"] == "override":
            estimates[f"excess {row.where['condition']}"] = row.estimate, None
    return estimates


@dataclass(frozen=True, slots=True)
class Recovery:
    """Over some simulated studies: how often each 95% interval holds the truth, and how often p is at most 0.05."""

    subject: str
    rule: str
    studies: int
    covered: dict[str, float]
    rejected: dict[str, float]


def recovery(subject: Subject, *, studies: int, n: tuple[int, int], rule: Rule, seed: int = 0) -> Recovery:
    """Simulate studies of fresh items (another seed of the subject draws other abilities) at four temperatures."""
    items, truth = make_items(*n), truths(subject)
    held: dict[str, list[bool]] = {}
    said: dict[str, list[bool]] = {}
    for study in range(studies):
        trials = simulate(replace(subject, seed=seed + study), items, (0.0, 0.2, 0.6, 1.0), rule)
        for name, (one, p) in estimates(trials, rule).items():
            inside = one.lo is not None and one.hi is not None and one.lo <= truth[name] <= one.hi
            held.setdefault(name, []).append(inside)
            if p is not None:
                said.setdefault(name, []).append(p <= 0.05)
    shown = ", ".join(f"{key}={value}" for key, value in asdict(subject).items() if value != asdict(Subject())[key])
    return Recovery(
        shown or "default", rule, studies,
        {name: float(np.mean(values)) for name, values in held.items()},
        {name: float(np.mean(values)) for name, values in said.items()},
    )  # fmt: skip


QUICK = 0.05
SWAYED = Subject(accuracy=0.7, sway=0.15, sway_group=0.3, refusal=0.05, item_sd=1.5, sway_sd=1.0, style="mixed")
FIRM = Subject(accuracy=0.6, sway=0.0, refusal=0.05, item_sd=2.0, style="mixed")


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed, memory and recovery of the conformity study.")
    parser.add_argument("--quick", action="store_true", help="11 items, no figures, two simulated studies")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--times", type=float, default=1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        one_step(given.step, given.folder, given.times)
        return 0
    steps: list[Step] = []
    for times in (QUICK,) if given.quick else (1, 10):
        with tempfile.TemporaryDirectory() as folder:
            names = [name for name in STEPS if times == 1 or not name.endswith(" figures") or "without" in name]
            steps += [measured(name, Path(folder), times) for name in names]
    studies, n = (2, (20, 10)) if given.quick else (500, (100, 40))
    found = [recovery(SWAYED, studies=studies, n=n, rule="2"), recovery(FIRM, studies=studies, n=n, rule="2")]
    plain = replace(SWAYED, style="sentence")  # rule 1 takes 'decoy, not target' for right
    found.append(recovery(plain, studies=studies, n=n, rule="1", seed=10_000))
    if given.json:
        body = {"steps": [asdict(one) for one in steps], "recovery": [asdict(one) for one in found]}
        print(json.dumps(body, sort_keys=True))
        return 0
    for one in steps:
        print(f"{one.trials:>8,} trials  {one.step:<30} {one.seconds:7.1f} s  {one.peak_mb:6.0f} MB")
    for entry in found:
        print(f"rule {entry.rule}, {entry.studies} studies: {entry.subject}")
        for name, share in entry.covered.items():
            rejected = entry.rejected.get(name)
            print(f"  {name:<28} covered {share:.3f}" + ("" if rejected is None else f"  p <= 0.05 {rejected:.3f}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
