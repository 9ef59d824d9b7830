"""The example claims of the seed supplement: on a sweep with the published counts, and on real rows of an earlier run.

The study's databases are not public, its tables are. From the counts of each cell a sweep of 23,760 trials is built in
which every published rate, override, flip and pair count holds, and the claims are recomputed from its raw texts.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from perpend._convert import convert
from perpend.errors import AuditFailure
from perpend.measure.run import Run
from perpend.proof.claims import check, raise_for_failures, read_claims
from tests.conftest import ROOT

CLAIMS = ROOT / "examples" / "claims" / "supplement.toml"
DATA = ROOT / ".." / "shared" / "data" / "conformity"
RULES = ("correct@1", "mentioned@1", "endorsed@1", "refused@1")
PRESSURES = ("asch_history_5", "authoritative_bias")
# How one trial of an item at T = 0 pairs with the one at T = 1 is in no table.
NOT_PUBLISHED = {"temperature_effect_control", "temperature_effect_asch", "temperature_effect_authority"}

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the study's tables (../shared/data/conformity) are absent")


def rows_of(name: str) -> Iterator[dict[str, str]]:
    with (DATA / "reference_tables" / f"{name}.csv").open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def turned(control: list[bool], lost: int, won: int) -> list[bool]:
    """The control's labels with the first `lost` ones turned to 0 and the first `won` zeros to 1."""
    labels = []
    for before in control:
        labels.append(before)
        if before and lost:
            labels[-1], lost = False, lost - 1
        elif not before and won:
            labels[-1], won = True, won - 1
    assert lost == won == 0
    return labels


def factual() -> Iterator[dict[str, object]]:
    """Rows of the 200 factual items in every cell, with the published number of each kind of change."""
    correct = {cell(r): int(r["n_correct"]) for r in rows_of("factual_rates_by_temp_variant_condition_category")}
    endorsed = {cell(r): int(r["wrong_answer_agreements"]) for r in rows_of("factual_wrong_answer_agreement_rates")}
    sizes = {cell(r): int(r["n_trials"]) for r in rows_of("factual_rates_by_temp_variant_condition_category")}
    lost = {cell(r): share(r, "truth_override_rate") for r in rows_of("factual_truth_override_rates")}
    won = {cell(r): share(r, "truth_rescue_rate") for r in rows_of("factual_truth_rescue_rates")}
    flips = {cell(r): share(r, "wrong_answer_flip_rate") for r in rows_of("factual_wrong_answer_flip_rates")}
    for (temperature, variant, topic, condition), n in sizes.items():
        control = (temperature, variant, topic, "control")
        right = [place < correct[control] for place in range(n)]
        # From the other end, so that right and endorsed meet only where they must.
        wrong = [place >= n - endorsed[control] for place in range(n)]
        if condition != "control":
            own = (temperature, variant, topic, condition)
            right = turned(right, lost.get(own, 0), won.get(own, 0))
            wrong = turned(wrong, endorsed[control] + flips[own] - endorsed[own], flips[own])
            assert sum(right) == correct[own]
            assert sum(wrong) == endorsed[own]
        for place in range(n):
            said = [f"truth{topic}{place}q"] * right[place] + [f"decoy{topic}{place}z"] * wrong[place]
            yield {
                "temperature": float(temperature), "variant": variant, "condition": condition, "topic": topic,
                "item_id": f"{topic}-{place}", "question": f"Question {place} of {topic}?",
                "ground_truth": f"truth{topic}{place}q", "wrong_answer": f"decoy{topic}{place}z",
                "raw_text": " ".join(said) or "Hard to say.", "stored_is_correct": int(right[place]),
            }  # fmt: skip


def cell(row: dict[str, str]) -> tuple[str, str, str, str]:
    condition = row.get("condition_name") or row["pressure_condition"]
    return row["temperature"], row["variant"], row["dataset_category"], condition


def share(row: dict[str, str], key: str) -> int:
    return round(float(row[key]) * int(row["n_items"]))


def opinions() -> Iterator[dict[str, object]]:
    """Rows of the 20 opinion items in every cell; whoever does not endorse mentions as often as published."""
    audit = json.loads((DATA / "reference_audit.json").read_text(encoding="utf-8"))
    endorsed = {
        (row["variant"], row["condition_name"], row["temperature"]): round(20 * row["wrong_answer_endorse_rate"])
        for row in audit["opinion_endorsement"]
    }
    temperatures = sorted({temperature for _, _, temperature in endorsed})
    mentions = {row["variant"]: round(360 * row["mismatch_rate"]) for row in audit["opinion_mention_vs_endorsement"]}
    lost = {(row["variant"], row["pressure_condition"]): row["b_10"] for row in audit["opinion_endorsement_deltas"]}
    labels: dict[tuple[str, str, float], list[bool]] = {}
    for variant in mentions:
        for temperature in temperatures:
            count = endorsed[variant, "control", temperature]
            labels[variant, "control", temperature] = [place < count for place in range(20)]
        for pressure in PRESSURES:
            left = lost[variant, pressure] - sum(
                max(0, endorsed[variant, "control", t] - endorsed[variant, pressure, t]) for t in temperatures
            )
            for temperature in temperatures:
                before, after = endorsed[variant, "control", temperature], endorsed[variant, pressure, temperature]
                least = max(0, before - after)
                more = min(left, min(before, 20 - after) - least)
                left -= more
                labels[variant, pressure, temperature] = turned(
                    labels[variant, "control", temperature], least + more, after - before + least + more
                )
            assert left == 0
    for (variant, condition, temperature), said in labels.items():
        for place, endorses in enumerate(said):
            quoted = not endorses and mentions[variant] > 0
            mentions[variant] -= quoted
            yield {
                "temperature": temperature, "variant": variant, "condition": condition, "topic": "opinion",
                "item_id": f"opinion-{place}", "question": f"Which is the best, {place}?", "ground_truth": None,
                "wrong_answer": f"choice{place}z",
                "raw_text": f"choice{place}z" if endorses else f"It is not choice{place}z" if quoted else "Who knows.",
            }  # fmt: skip
    assert not any(mentions.values())


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("sweep")
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        for row in (*factual(), *opinions()):
            file.write(json.dumps(row) + "\n")
    run = Run(convert(folder / "rows.jsonl", folder / "sweep"))
    run.score(RULES)
    return run


@needs_data
def test_every_published_number_is_recomputed_from_a_sweep_with_the_published_counts(sweep: Run) -> None:
    verdicts = check(CLAIMS, [sweep])
    unchecked = {verdict.name: verdict.why for verdict in verdicts if verdict.status != "pass"}
    assert set(unchecked) == NOT_PUBLISHED
    assert {verdict.status for verdict in verdicts if verdict.name in NOT_PUBLISHED} == {"not checkable"}
    assert all("is in no table that the study published" in why for why in unchecked.values())
    assert len(verdicts) - len(unchecked) >= 79
    raise_for_failures(verdicts)
    with pytest.raises(AuditFailure, match="3 of 82 claims could not be checked"):
        raise_for_failures(verdicts, strict=True)


@needs_data
def test_a_published_number_that_is_off_by_one_digit_fails(sweep: Run, tmp_path: Path) -> None:
    text = CLAIMS.read_text(encoding="utf-8").replace("expect = 0.424", "expect = 0.425")
    (tmp_path / "claims.toml").write_text(text, encoding="utf-8")
    verdict = next(v for v in check(tmp_path / "claims.toml", [sweep]) if v.claim.name == "mention_mismatch")
    assert verdict.status == "fail"
    assert verdict.estimate.value == pytest.approx(0.4236, abs=1e-4)


@needs_data
def test_on_real_rows_the_stored_labels_recompute_and_the_counts_of_the_sweep_do_not(tmp_path: Path) -> None:
    run = Run(convert(DATA / "real_outputs_t0.jsonl", tmp_path / "rows"))
    run.score(RULES)
    assert set(run.table.values("condition")) == {"control", *PRESSURES}
    found = defaultdict(list)
    for verdict in check(CLAIMS, [run]):
        found[verdict.claim.name].append(verdict.status)
        if verdict.name in NOT_PUBLISHED:
            assert "no trial has temperature 1" in verdict.why
    assert {status for name in NOT_PUBLISHED for status in found[name]} == {"not checkable"}
    assert found["correctness_mismatches"] == ["pass"]
    assert found["trials"] == ["fail"]


def test_the_example_reads_without_any_data() -> None:
    assert len(read_claims(CLAIMS)) >= 20
