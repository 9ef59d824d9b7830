"""derive: a ledger → metrics.json, report.md, tables and figures; and the plain summary of a run without a study.

The same ledger gives the same bytes, and no model is asked. `eval`, `score`, `analyze` and `publish` write what this
gives; `audit` derives again and compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from multiprocessing import parent_process
from pathlib import Path

from perpend.canon import read_text, write_atomic
from perpend.errors import SpecError, StoreError
from perpend.inert import markdown
from perpend.ledger.database import refuse_linked_folders
from perpend.measure.calibrated import calibration_metrics
from perpend.measure.missing import (
    FAILED,
    NO_ANSWER,
    NO_ANSWER_DIFFERENCE,
    UNSCORED,
    no_answer_metrics,
    unscored_metrics,
)
from perpend.measure.outcomes import OUTCOME, outcome_metrics, simple_metrics
from perpend.measure.processes import AS_COLUMNS_TWICE, one_more, outcome
from perpend.measure.repeated import repeat_metrics
from perpend.measure.run import Run, table_of
from perpend.measure.samplings import PARAMETERS, setting_words, settings_in
from perpend.measure.stopped import cautioned, stop_metrics
from perpend.measure.study import (
    Drawn,
    FigureOf,
    Metric,
    Numbers,
    Report,
    Section,
    Study,
    all_figures_of,
    answer_in,
    names_of,
    numbers_of,
    plain_metrics,
    read_metrics,
    write_metrics,
)
from perpend.measure.table import Table
from perpend.report import answer
from perpend.report.calibrated import believed
from perpend.report.outcomes import SPLIT, split_parts
from perpend.report.own_rules import with_own_rules
from perpend.report.repeated import with_repeats
from perpend.report.stopped import with_looks
from perpend.report.style import save_all
from perpend.report.tables import as_csv, markdown_table
from perpend.stats.families import SIGNIFICANT
from perpend.types import UNFIT, Estimate

PAIRED = ("difference", "override", "rescue")
_BESIDE = 200_000
"""From how many trials on a second process takes part of the numbers."""
HOW_TO_READ = (
    "Each value comes with its 95% interval and its denominator; NA is undefined. Trials of one item count as one\n"
    "cluster where items repeat. Of a scorer with two versions, @1 has the rules of the seed studies and @2 ours."
)


class PlainStudy:
    """A study without numbers of its own: the rates and pairs that every run states are all there is."""

    def metrics(self, table: Table) -> Iterator[Metric]:
        """How many trials were planned and answered; what the answers come to, and what the simplest rules say."""
        yield from coverage(table)
        rule = table.full_name("correct").partition("@")[2] if table.has("correct") else ""
        cells = [*table.cells((*table.cell_keys(), "condition"))]
        yield from outcome_metrics(table, rule, cells)
        yield from simple_metrics(table, rule, cells)

    def report(self, numbers: Numbers, *, figures: bool = True) -> Report:  # noqa: ARG002  it draws none
        """How complete the run is, then for each model and setting its rates and its pairs."""
        return Report(
            title=", ".join(markdown(name) for name in numbers.runs),
            headline=covered(numbers),
            sections=(*sections(numbers), *no_answer_sections(numbers), Section("How to read this", HOW_TO_READ)),
            answer=plain_answer(numbers),
            cautions=(*(() if _is_undefined(numbers) else unanswered(numbers)), *_cautions(numbers)),
        )


PLAIN = PlainStudy()


def coverage(table: Table) -> Iterator[Metric]:
    """`answered`: trials with an answer / trials planned. Undefined for an empty plan."""
    n, k = len(table), int(table.answers.answered.sum())
    estimate = Estimate(k / n if n else None, n, method="trials with an answer / trials planned", also={"k": k})
    yield Metric("answered", "", {}, estimate)


def covered(numbers: Numbers) -> str:
    """How complete the runs are, in a sentence."""
    answered = numbers.cite("answered", "")
    failed = answered.n - int(answered.also.get("k") or 0)
    text = f"{answered.n} trials planned, {answered.also.get('k')} answered, {failed} without an answer."
    return markdown(" ".join((text, *unscored(numbers)))) if numbers.find(UNSCORED) else text


def unanswered(numbers: Numbers) -> tuple[str, ...]:
    """The caution that some trials have no answer, or none that can be scored, and why; none where each has one."""
    if numbers.find(UNSCORED):
        return unscored(numbers)
    answered = numbers.cite("answered", "")
    failed = answered.n - int(answered.also.get("k") or 0)
    have = "has" if failed == 1 else "have"
    return (f"{failed} of {answer.counted(answered.n, 'trial')} {have} no answer and no verdict.",) if failed else ()


def unscored(numbers: Numbers) -> tuple[str, ...]:
    """How many trials have no value of the first scorer, and why, in a sentence: failed calls, then the others.

    Items that it cannot judge, whatever is answered, do not count; where it can judge none, that is the sentence.
    """
    metrics = numbers.find(UNSCORED)
    counts = {metric.where["reason"]: int(metric.estimate.also.get("k") or 0) for metric in metrics}
    lacking = {reason: k for reason, k in counts.items() if not reason.startswith(UNFIT)}
    total, stem = metrics[0].estimate.n if metrics else 0, metrics[0].scorer.partition("@")[0] if metrics else ""
    if not lacking:
        every = [reason for reason, k in counts.items() if k == total]
        return (f"No trial has a score of {answer.name(stem)}: every item has {every[0]}.",) if every else ()
    failed = {reason.removeprefix(FAILED): k for reason, k in lacking.items() if reason.startswith(FAILED)}
    others = {reason: k for reason, k in lacking.items() if not reason.startswith(FAILED)}
    parts = [f"{answer.counted(sum(failed.values()), 'call')} failed ({_times(failed)})"] if failed else []
    parts += [_times(others)] if others else []
    n = sum(lacking.values())
    have = "has" if n == 1 else "have"
    return (f"{n} of {answer.counted(total, 'trial')} {have} no score of {answer.name(stem)}: {', '.join(parts)}.",)


def _times(counts: Mapping[str, int], most: int = 4) -> str:
    """'HTTP 500 ×10, empty ×2', the most frequent first."""
    shown = [f"{answer.name(reason)} ×{k}" for reason, k in list(counts.items())[:most]]
    rest = sum(list(counts.values())[most:])
    return ", ".join([*shown, *([f"other reasons ×{rest}"] if rest else [])])


def _headline_metrics(numbers: Numbers) -> tuple[str, list[Metric]]:
    """The first scorer that a run declares, and the rates or means by its latest version."""
    declared = numbers.manifests[0].scorers if numbers.manifests else ()
    stem = declared[0].partition("@")[0] if declared else ""
    latest = [name for name in declared if name.partition("@")[0] == stem][-1:]
    return stem, [metric for name in latest for kind in ("rate", "mean") for metric in numbers.find(kind, name)]


def _is_undefined(numbers: Numbers) -> bool:
    """Whether the headline is that there is no number, and why."""
    return all(metric.estimate.value is None for metric in _headline_metrics(numbers)[1])


def _cautions(numbers: Numbers) -> tuple[str, ...]:
    """What to mind about the numbers of the headline, and of no others."""
    stem, rates = _headline_metrics(numbers)
    pairs = [pair for rate in rates[:1] for pair in numbers.find("difference", rate.scorer)]
    return answer.caution_sentences((metric.estimate for metric in (*rates, *pairs)), stem)


def plain_answer(numbers: Numbers) -> tuple[str, ...]:
    """One sentence per model, setting and condition, by the latest version of the first scorer that a run declares.

    The rate, or the mean where values are not 0 and 1; where the condition is paired with the first one, also the
    difference, its interval and p (not adjusted). At most five; where nothing was scored, why not.
    """
    stem, rates = _headline_metrics(numbers)
    if _is_undefined(numbers):
        why = unscored(numbers)
        who = ", ".join(dict.fromkeys(answer.name(metric.where["model"]) for metric in rates))
        return (
            (f"{who}: {answer.name(stem)} is undefined. {why[0]}" if rates else why[0],) if why else (covered(numbers),)
        )
    keys = [key for key in (*PARAMETERS, "condition") if len({row.where.get(key) for row in rates}) > 1]
    return answer.most_of([_sentence(numbers, row, stem, keys) for row in rates], "line")


def _sentence(numbers: Numbers, rate: Metric, stem: str, keys: Sequence[str]) -> str:
    where, one = rate.where, rate.estimate
    place = [answer.name(where["model"])]
    place += [answer.name(words) for words in setting_words(where, keys)]
    place += [answer.name(where["condition"])] if "condition" in keys else []
    shown = answer.share(one) if rate.name == "rate" else f"mean {answer.value(one)}"
    text = f"{', '.join(place)}: {answer.name(stem)} {shown}, {answer.rows_of_items(one)}"
    abstained = numbers.get(OUTCOME, rate.scorer, **where, outcome="abstained")
    text += f"; {answer.share(abstained)} abstain" if abstained is not None and abstained.also.get("k") else ""
    cell = {key: value for key, value in where.items() if key in ("model", *PARAMETERS)}
    for pair in numbers.find("difference", rate.scorer, **cell):
        first, _, second = pair.where["condition"].partition(" → ")
        if second == where["condition"]:
            p = answer.p_words(pair.estimate.also.get("p"))
            text += f"; against {answer.name(first)} {answer.change(pair.estimate)}, {p}"
    return f"{text}."


def stated(numbers: Numbers) -> list[Metric]:
    """The rates, means and pairs that every run states."""
    return [metric for metric in numbers.metrics if metric.name in ("rate", "mean", *PAIRED)]


def sections(numbers: Numbers) -> Iterator[Section]:
    """Rates and pairs of every model and setting, then the cautions that their Estimates carry."""
    metrics = stated(numbers)
    cells: dict[tuple[str, ...], list[Metric]] = {}
    for metric in (*metrics, *(one for name in SPLIT for one in numbers.find(name))):
        cells.setdefault((metric.where["model"], *setting_words(metric.where)), []).append(metric)
    for place, cell in cells.items():
        split = [metric for metric in cell if metric.name in SPLIT]
        parts = (_rates(cell), *split_parts(split, estimated), *_pairs(cell))
        yield Section(", ".join(map(markdown, place)), "\n\n".join(parts))
    cautions = {caution.id: caution for metric in metrics for caution in metric.estimate.cautions}
    if cautions:
        lines = [f"- {name}: {markdown(cautions[name].text)}" for name in sorted(cautions)]
        yield Section("Cautions", "\n".join(lines))


def no_answer_sections(numbers: Numbers) -> Iterator[Section]:
    """What trials without a verdict leave open of the rates; nothing where each has one."""
    rows, settings = [], settings_in(metric.where for metric in numbers.find(NO_ANSWER))
    for metric in numbers.find(NO_ANSWER):
        where, one = metric.where, metric.estimate
        least, most = one.also.get("least"), one.also.get("most")
        bounds = f"{least:.3f} to {most:.3f}" if isinstance(least, float) and isinstance(most, float) else "NA"
        place = (metric.scorer, where["model"], *(where.get(key, "") for key in settings), where["condition"])
        rows.append([*map(markdown, place), estimated(one), bounds])
    if not rows:
        return
    lines, pairs = [], numbers.find(NO_ANSWER_DIFFERENCE)
    for metric in pairs:
        p, one = metric.estimate.also.get("p_adjusted"), metric.estimate
        if isinstance(p, float) and p <= SIGNIFICANT:
            pair = markdown(f"{metric.scorer}, {metric.where['model']}, {metric.where['condition']}")
            lines.append(f"- **{pair}: {estimated(one)}** (p = {p:.2g} after Holm): the rates rest on other trials.")
    if pairs and not lines:
        lines.append("No difference in this share between conditions is shown.")
    head = ["scorer", "model", *settings, "condition", "no answer", "the rate lies between"]
    says = (
        "A failed call, an answer that was cut off or never reached, and one that cannot be read have no verdict.\n"
        "Rates are over the others; they lie between the bounds whatever the missing verdicts were."
    )
    yield Section(
        "Without an answer", "\n\n".join([says, markdown_table(head, rows), *(["\n".join(lines)] * bool(lines))])
    )


def _rates(cell: Sequence[Metric]) -> str:
    """One row per scorer, one column per condition."""
    shown = [metric for metric in cell if metric.name in ("rate", "mean")]
    conditions = list(dict.fromkeys(metric.where["condition"] for metric in shown))
    rows = []
    for scorer in dict.fromkeys(metric.scorer for metric in shown):
        values = {metric.where["condition"]: estimated(metric.estimate) for metric in shown if metric.scorer == scorer}
        rows.append([markdown(scorer), *(values[condition] for condition in conditions)])
    return markdown_table(["scorer", *map(markdown, conditions)], rows)


def _pairs(cell: Sequence[Metric]) -> list[str]:
    """One row per scorer and pair of conditions: the difference, its test, and what turned in each direction."""
    grouped: dict[tuple[str, str], dict[str, Estimate]] = {}
    for metric in cell:
        if metric.name in PAIRED:
            grouped.setdefault((metric.scorer, metric.where["condition"]), {})[metric.name] = metric.estimate
    rows = []
    for (scorer, pair), estimates in grouped.items():
        p = estimates["difference"].also.get("p")
        shown = f"{p:.2g}" if isinstance(p, float) else "NA"
        turned = (estimated(estimates["override"]), estimated(estimates["rescue"]))
        rows.append((markdown(scorer), markdown(pair), estimated(estimates["difference"]), shown, *turned))
    return [markdown_table(["scorer", "pair", "difference", "p", "1 → 0", "0 → 1"], rows)] if rows else []


def estimated(estimate: Estimate) -> str:
    """An Estimate as a table shows it: value, interval, denominator."""
    if estimate.value is None:
        return f"NA (n = {estimate.n})"
    interval = "" if estimate.lo is None or estimate.hi is None else f" [{estimate.lo:.2f}, {estimate.hi:.2f}]"
    return f"{estimate.value:.3f}{interval} (n = {estimate.n})"


REPORT, TABLES, FIGURES = "report.md", "tables", "figures"


@dataclass(frozen=True, slots=True)
class Derived:
    """What was derived: the numbers, what is told of them, and the page."""

    numbers: Numbers
    report: Report
    path: Path


def study_of(runs: Sequence[Run]) -> Study:
    """The study of all these runs, or the plain summary; runs of several tasks are an error."""
    tasks = sorted({run.manifest.task for run in runs})
    if len(tasks) != 1:
        raise SpecError(f"these runs are of several tasks ({', '.join(tasks)}); analyse each by itself")
    missing = runs[0].code.missing.get("study")
    if missing is not None:
        raise SpecError(f"the study of {runs[0].name} cannot be derived: {missing}")
    return runs[0].code.study or PLAIN


def stated_metrics(table: Table) -> Iterator[Metric]:
    """The numbers that every run states: rates, pairs, what trials without a verdict leave open, what repeats say."""
    yield from plain_metrics(table)
    yield from no_answer_metrics(table)
    yield from unscored_metrics(table)
    yield from repeat_metrics(table)


def whole_metrics(runs: Sequence[Run], study: Study, labels: int | None = None) -> list[Metric]:
    """Every number of some runs of one study; of a single run also what labels, judges and looks say.

    By one thread of linear algebra: several add up in another order, and the last digits would tell of the machine.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        metrics = _stated_and_own(runs, study)
        if len(runs) > 1:
            return [*cautioned(runs, metrics)]
        return [*stop_metrics(runs[0]), *cautioned(runs, [*metrics, *calibration_metrics(runs[0], labels)])]


def _stated_and_own(runs: Sequence[Run], study: Study) -> list[Metric]:
    """The numbers that every run states, then the study's own; by two processes where the run is large."""
    table = table_of(runs) if len(runs) > 1 else runs[0].table
    is_alone = len(runs) > 1 or bool(runs[0].judges) or parent_process() is not None
    pool = None if is_alone or len(table) > AS_COLUMNS_TWICE else one_more(len(table), _BESIDE)
    with pool or nullcontext():
        there = None if pool is None else pool.submit(_stated_there, runs[0].directory)
        stated = [*stated_metrics(table)] if there is None else []
        own = [*study.metrics(table)]
        return [*(stated if there is None else outcome(there)), *own]


def _stated_there(directory: Path) -> list[Metric]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        return [*stated_metrics(Run(directory).table)]


def whole_report(study: Study, numbers: Numbers, *, figures: bool = True) -> Report:
    """What a study says of the numbers, with what labels, judges, own rules, repeats and looks say of them."""
    report = with_own_rules(believed(study.report(numbers, figures=figures), numbers), numbers)
    return with_looks(with_repeats(report, numbers), numbers)


def derive(  # noqa: PLR0913  what is written, how it is drawn, and what is counted
    runs: Sequence[Run],
    out: Path,
    *,
    figures: Drawn = True,
    draw: bool = True,
    labels: int | None = None,
    workers: int = 1,
    quiet: bool = True,
) -> Derived:
    """Write metrics.json, report.md, tables and figures of some scored runs of one study into `out`.

    Without `draw` the report links to its figures, and none is drawn. `labels` keeps to the run's first labels.
    `workers` processes draw where there are many figures.
    """
    if (out / "run.db").exists():
        refuse_linked_folders(out)
    study = study_of(runs)
    metrics = whole_metrics(runs, study, labels)
    manifests = [run.manifest for run in runs]
    write_metrics(out, [run.name for run in runs], metrics, names_of(study, metrics, manifests))
    del metrics  # what the report sees is what was written, and memory holds it once
    # Through the file and back: a report can cite nothing but what metrics.json holds.
    numbers = numbers_of(read_metrics(out), manifests)
    report = whole_report(study, numbers, figures=bool(figures))
    if figures == "all":
        report = _with_all_figures(report, all_figures_of(study, numbers))
    write_report(report, out)
    if figures and draw:
        save_all(report.figures, out / FIGURES, workers=workers, quiet=quiet)
    return Derived(numbers, report, out / REPORT)


ALL_FIGURES = "All figures"


def _with_all_figures(report: Report, more: Sequence[FigureOf]) -> Report:
    """The report with figures that were asked for beside its own, and a list of them."""
    if not more:
        return report
    paths = (f"{FIGURES}/{figure.name}.png" for figure in more)
    section = Section(ALL_FIGURES, "\n".join(f"- [{markdown(path)}]({path})" for path in paths))
    return replace(report, figures=(*report.figures, *more), sections=(*report.sections, section))


def drawn_in(folder: Path) -> Drawn:
    """Which figures a folder that `derive` wrote has: all where its report lists them."""
    if not (folder / FIGURES).is_dir():
        return False
    page = folder / REPORT
    lists_all = page.is_file() and f"\n## {ALL_FIGURES}\n" in read_text(page, StoreError, within=folder)
    return "all" if lists_all else True


def stated_answer(folder: Path) -> list[str]:
    """The answer that the report in a folder begins with; an audit derives the report again."""
    page = folder / REPORT
    return answer_in(read_text(page, StoreError, within=folder)) if page.is_file() else []


_GIVEN = re.compile(
    r"(?:tables/(?:[^/\s]+/)*)?[^/\s]+\.(?:csv|tsv|md|tex|txt)|figures/(?:[^/\s]+/)*[^/\s]+\.(?:png|pdf)"
)


def is_given(name: str) -> bool:
    """Whether a study may give a file of that name: text at the top or below tables/, pictures below figures/."""
    return _GIVEN.fullmatch(name) is not None


def write_report(report: Report, out: Path) -> None:
    """Write report.md, the tables and the other files; figures are drawn apart."""
    for table in report.tables:
        write_atomic(out / TABLES / f"{table.name}.csv", as_csv(table.columns, table.rows))
    for name, text in report.files.items():
        if not is_given(name) or name.startswith(f"{FIGURES}/"):
            raise SpecError(f"a study gives .csv, .tsv, .md, .tex or .txt, at the top or below {TABLES}/, not {name!r}")
        write_atomic(out / name, text)
    write_atomic(out / REPORT, report.page())
