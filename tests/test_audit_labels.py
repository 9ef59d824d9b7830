"""Human labels beside a run: how good the scorers are, and what their errors do to a rate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perpend.proof.audit import Audit, Options, as_table, audit, audit_run
from perpend.proof.publish import publish
from perpend.stats.proportions import wilson
from tests.runs import asked
from tests.tables import table


@pytest.fixture
def run(tmp_path: Path, items_file: Callable[..., Path]) -> Path:
    """Sixteen trials, answered TRUE throughout: right on items 0, 2, 4, 6 (trials 1, 2, 5, 6, 9, 10, 13, 14)."""
    return asked(items_file(8), tmp_path / "runs").directory


def label(run: Path, *rows: dict[str, object]) -> Audit:
    text = "".join(json.dumps({"scorer": "label@2", **row}) + "\n" for row in rows)
    (run / "labels.jsonl").write_text(text)
    return audit_run(run)


def test_precision_and_recall_are_counted_against_the_readers(run: Path) -> None:
    rows = [{"trial": trial, "value": value} for trial, value in ((1, 1), (2, 1), (5, 0), (3, 0), (4, 0), (7, 1))]
    (one,) = label(run, *rows).labels
    assert (one.scorer, one.n, one.unscored, one.ties) == ("label@2", 6, 0, 0)
    assert (one.precision.value, one.precision.n) == (2 / 3, 3)
    assert (one.recall.value, one.recall.n) == (2 / 3, 3)
    assert (one.specificity.value, one.specificity.n) == (2 / 3, 3)
    assert one.precision.lo is not None
    assert wilson(2, 3).lo is not None
    assert one.precision.lo < wilson(2, 3).lo, "trials 1 and 2 are one item: they count as one"


def test_the_rate_is_corrected_for_the_scorers_errors_and_shown_in_the_table(run: Path) -> None:
    rows = [{"trial": trial, "value": value} for trial, value in ((1, 1), (2, 1), (5, 0), (3, 0), (4, 0), (6, 1))]
    outcome = label(run, *rows)
    stored, now = outcome.labels[0].corrected["all trials"]
    assert stored.value == 0.5
    assert now.value == pytest.approx(0.5 * 0.75)  # half are said to be 1: of these 3 in 4 are, of the others none
    assert now.lo is not None
    assert now.hi is not None
    assert now.lo < 0.375 < now.hi
    assert "condition control" in outcome.labels[0].corrected
    table = as_table([outcome])
    assert "label@2 against 6 human labels" in table
    assert "rate, all trials: 0.500" in table
    assert outcome.ok


def test_a_name_without_a_version_stands_for_all_versions(run: Path) -> None:
    found = label(run, {"trial": 1, "scorer": "label", "value": 1}, {"trial": 3, "scorer": "label", "value": 0}).labels
    assert [one.scorer for one in found] == ["label@1", "label@2"]


def test_readers_are_taken_by_majority_and_a_tie_is_left_out_and_counted(run: Path) -> None:
    rows: list[dict[str, object]] = [
        {"trial": 1, "value": value, "by": by} for by, value in (("a", 1), ("b", 1), ("c", 0))
    ]
    rows += [{"trial": 3, "value": value, "by": by} for by, value in (("a", 1), ("b", 0))]
    (one,) = label(run, *rows).labels
    assert (one.n, one.ties, one.recall.value) == (1, 1, 1.0)


def test_a_trial_can_be_named_by_its_place_in_the_plan(run: Path) -> None:
    (one,) = label(run, {"item": "item-0", "condition": "control", "model": "m", "value": 1}).labels
    assert (one.n, one.recall.value) == (1, 1.0)


@pytest.mark.parametrize(*table("labels_meaningless"))
def test_a_label_that_means_nothing_is_a_difference_with_its_line(run: Path, row: dict[str, object], told: str) -> None:
    outcome = label(run, row)
    assert not outcome.ok
    assert told in next(check.first for check in outcome.checks if check.differ)


def test_labels_travel_with_what_is_published(run: Path, tmp_path: Path) -> None:
    label(run, {"trial": 1, "value": 1}, {"trial": 3, "value": 0})
    publish([run], tmp_path / "published", {})
    (outcome,) = audit([tmp_path / "published"], Options())
    assert outcome.ok
    assert outcome.labels[0].n == 2
