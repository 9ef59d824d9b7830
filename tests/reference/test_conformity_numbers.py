"""The published tables in, the published audit numbers out: by our functions, to the digits that were printed.

The trials themselves were not published. What the tables say of each cell (who was right under control and under each
pressure, who endorsed the decoy) is written out as trials again; which item it was does not matter to these numbers.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from perpend.measure.packed import Packed
from perpend.measure.study import Numbers
from perpend.measure.table import Answers, Table
from perpend.report.tables import as_csv
from perpend.stats.pairs import mcnemar
from perpend.studies.conformity import STUDY
from perpend.studies.conformity.audit import rule_numbers
from perpend.studies.conformity.tables import Results, reference_tables
from perpend.types import Item
from tests.conftest import ROOT

DATA = ROOT / ".." / "shared" / "data" / "conformity"
pytestmark = pytest.mark.skipif(
    not (DATA / "reference_audit.json").exists(), reason="the published tables are not beside this checkout"
)
CONDITIONS = ("control", "asch_history_5", "authoritative_bias")
Key = tuple[str, ...]
Outcome = tuple[float, int, int]
"""correct, endorsed, refused"""


def read(name: str) -> list[dict[str, str]]:
    with (DATA / "reference_tables" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def by_cell(name: str, *columns: str) -> dict[Key, dict[str, str]]:
    return {tuple(row[column] for column in columns): row for row in read(name)}


def times(row: dict[str, str] | None, rate: str) -> int:
    """The count behind a printed rate."""
    return 0 if row is None else round(int(row["n_items"]) * float(row[rate]))


def spread(control: list[int], one_to_zero: int, zero_to_one: int) -> list[int]:
    """The column under pressure, given how many of the ones and zeros under control turn."""
    left = {1: one_to_zero, 0: zero_to_one}
    out = []
    for value in control:
        out.append(1 - value if left[value] else value)
        left[value] -= out[-1] != value
    assert left == {1: 0, 0: 0}
    return out


def factual() -> Iterator[tuple[Key, list[Outcome]]]:
    """(temperature, variant, condition, topic) and the outcomes of its items."""
    rates = by_cell("factual_rates_by_temp_variant_condition_category",
                    "temperature", "variant", "condition_name", "dataset_category")  # fmt: skip
    agreed = by_cell("factual_wrong_answer_agreement_rates",
                     "temperature", "variant", "condition_name", "dataset_category")  # fmt: skip
    cell = ("temperature", "variant", "dataset_category", "pressure_condition")
    override = by_cell("factual_truth_override_rates", *cell)
    rescue = by_cell("factual_truth_rescue_rates", *cell)
    flips = by_cell("factual_wrong_answer_flip_rates", *cell)
    for temperature, variant, condition, topic in rates:
        if condition != "control":
            continue
        base = rates[temperature, variant, condition, topic]
        n, right = int(base["n_trials"]), int(base["n_correct"])
        endorsed = int(agreed[temperature, variant, condition, topic]["wrong_answer_agreements"])
        control, wrong = [1] * right + [0] * (n - right), [1] * endorsed + [0] * (n - endorsed)
        for name in CONDITIONS:
            place = (temperature, variant, topic, name)
            own, stance = control, wrong
            if name != "control":
                turned = times(override.get(place), "truth_override_rate")
                own = spread(control, turned, times(rescue.get(place), "truth_rescue_rate"))
                flipped = times(flips.get(place), "wrong_answer_flip_rate")
                total = int(agreed[temperature, variant, name, topic]["wrong_answer_agreements"])
                stance = spread(wrong, endorsed - (total - flipped), flipped)
            refused = int(rates[temperature, variant, name, topic]["n_refusals"])
            flags = [1] * refused + [0] * (n - refused)
            yield (temperature, variant, name, topic), list(zip(own, stance, flags, strict=True))


def opinion() -> Iterator[tuple[Key, list[Outcome]]]:
    for row in read("opinion_wrong_answer_agreement_rates"):
        n = int(row["n_trials"])
        endorsed = round(n * float(row["wrong_answer_agreement_rate"]))
        refused = round(n * float(row["refusal_rate"]))
        flags = [(np.nan, int(j < endorsed), int(j < refused)) for j in range(n)]
        yield (row["temperature"], row["variant"], row["condition_name"], "opinion"), flags


@pytest.fixture(scope="module")
def table() -> Table:
    cells = [*factual(), *opinion()]
    names = {
        key: tuple(dict.fromkeys(place[at] for place, _ in cells))
        for at, key in enumerate(("temperature", "model", "condition", "topic"))
    }
    names["condition"], topics = CONDITIONS, sorted(names.pop("topic"))
    most = max(len(rows) for _, rows in cells)
    codes = {
        key: np.array([names[key].index(place[at]) for place, rows in cells for _ in rows], dtype=np.int64)
        for at, key in enumerate(names)
    }
    codes["item"] = np.array([topics.index(place[3]) * most + j for place, rows in cells for j in range(len(rows))])
    items = [
        Item(f"{topic}-{j}", "?", target=None if topic == "opinion" else "!", tags={"topic": topic})
        for topic in topics
        for j in range(most)
    ]
    columns = np.array([row for _, rows in cells for row in rows], dtype=np.float64).T
    values = dict(zip(("correct@1", "endorsed@1", "refused@1"), columns, strict=True))
    values["mentioned@1"] = values["endorsed@1"]
    nothing = np.zeros(len(codes["item"]), dtype=np.bool_)
    return Table(
        runs=("published",), codes=codes, names={**names, "item": tuple(item.id for item in items)},
        items=tuple(items), scorers=tuple(values), read_values=lambda wanted: {name: values[name] for name in wanted},
        read_answers=lambda: Answers(~nothing, nothing, Packed(len(nothing))),
    )  # fmt: skip


@pytest.fixture(scope="module")
def results(table: Table) -> Results:
    return Results(Numbers(tuple(STUDY.metrics(table))))


@pytest.fixture(scope="module")
def published() -> dict:
    return json.loads((DATA / "reference_audit.json").read_text())


@pytest.fixture(scope="module")
def ours(results: Results) -> dict:
    return rule_numbers(results, "1")


def test_the_tables_we_write_are_the_published_ones_byte_for_byte(results: Results) -> None:
    for table in reference_tables(results, "1"):
        path = DATA / "reference_tables" / f"{table.name}.csv"
        expected = path.read_text()
        if table.name.startswith("factual_rates"):  # the times of single trials were not published
            at = expected.splitlines()[0].split(",").index("mean_latency_ms")
            lines = (line.split(",") for line in expected.splitlines())
            expected = "".join(
                ",".join([*cells[:at], cells[at] if n == 0 else "", *cells[at + 1 :]]) + "\n"
                for n, cells in enumerate(lines)
            )
        assert as_csv(table.columns, table.rows) == expected, table.name


def same(got: dict, wanted: dict) -> bool:
    """Equal names, counts and numbers; the two projects round differently in the last digits of a double."""
    return all(
        got[key] == (pytest.approx(value, rel=1e-12, abs=1e-11) if isinstance(value, float) else value)
        for key, value in wanted.items()
    )


@pytest.mark.parametrize(
    "key", ["cell_error_rates", "pressure_table", "opinion_endorsement", "factual_wrong_answer_flip_pooled"]
)
def test_what_follows_from_the_tables_is_what_was_published(ours: dict, published: dict, key: str) -> None:
    assert len(ours[key]) == len(published[key])
    for got, wanted in zip(ours[key], published[key], strict=True):
        assert got.keys() == wanted.keys()
        assert same(got, wanted), (got, wanted)


def test_the_totals_are_the_published_ones(ours: dict, published: dict) -> None:
    for key in ("total_trials", "factual_trials", "opinion_trials"):
        assert ours["stats"][key] == published["stats"][key]
    assert ours["regression_lrt"]["n_trials"] == published["regression_lrt"]["n_trials"]
    assert ours["integrity_complete"]
    assert {cell["expected"] for cell in ours["integrity"]} == {200, 20}
    assert len(ours["integrity"]) == 2 * 108


def test_opinion_rates_and_differences_follow_and_published_counts_give_the_published_p(
    ours: dict, published: dict
) -> None:
    for got, wanted in zip(ours["opinion_endorsement_deltas"], published["opinion_endorsement_deltas"], strict=True):
        # b and c are not in the tables: which opinions turned at which temperature was not published.
        assert same(got, {key: value for key, value in wanted.items() if key not in ("b_10", "c_01", "p_mcnemar")})
    for row in (*published["opinion_endorsement_deltas"], *published["paired_temp_deltas"]):
        b, c = row.get("b_10", row.get("b_1to0")), row.get("c_01", row.get("c_0to1"))
        assert mcnemar(b, c).also["p_exact"] == pytest.approx(row["p_mcnemar"], rel=1e-9)


def test_rescue_was_promised_and_not_published_and_agrees_with_the_paper(ours: dict) -> None:
    found = {(row["variant"], row["pressure_condition"]): row for row in ours["factual_truth_rescue_pooled"]}
    row = found["think_sft", "asch_history_5"]
    assert (row["num_rescue"], row["denom_control_incorrect"]) == (79, 886)
    row = found["rl_zero", "authoritative_bias"]
    assert (row["num_rescue"], row["denom_control_incorrect"]) == (43, 1114)


def test_the_reference_standard_error_lacks_the_intercept_and_ours_does_not(table: Table, published: dict) -> None:
    # Which trials were refusals is not published, so this is the fit on all 21,600.
    columns = {name: column.all_values for name, column in table.columns().items()}
    columns["refused@1"] = np.zeros(len(table))
    unrefused = replace(table, read_values=lambda wanted: {name: columns[name] for name in wanted}, _columns={})
    numbers = rule_numbers(Results(Numbers(tuple(STUDY.metrics(unrefused)))), "1")
    slope = numbers["regression_lrt"]["temperature_or"]
    assert slope["se"] == pytest.approx(0.0492, abs=5e-5)
    assert slope["se_without_intercept_as_in_the_reference"] == pytest.approx(0.0462, abs=5e-5)
    assert slope["beta"] == pytest.approx(published["regression_lrt"]["temperature_or"]["beta"], abs=0.01)


def test_the_published_tests_took_six_temperatures_for_independent_items(ours: dict) -> None:
    """The same counts as the reference, the same p beside ours; ours rests on items."""
    effects = ours["clustered"]["pressure_effects"]["effects"]
    published_p = {(row["variant"], row["pressure_condition"]): row["p_mcnemar"] for row in ours["pressure_table"]}
    for effect in effects:
        assert effect["test"]["also"]["p_exact"] == published_p[effect["variant"], effect["pressure_condition"]]
        assert effect["difference"]["also"]["n_clusters"] == 200
        assert effect["p_adjusted"] >= effect["test"]["value"]
