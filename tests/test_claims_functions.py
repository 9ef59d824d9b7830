"""Claims about regressions, turns, preferences, ranks and tiers: against what a plain script gives of the same rows."""

from __future__ import annotations

import csv
import statistics
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from perpend._convert import convert
from perpend.errors import AuditFailure, SpecError
from perpend.measure.run import Run
from perpend.proof.claims import Verdict, as_table, check, raise_for_failures
from tests import source_files
from tests.tables import table

ITEMS, TURNS = 60, 4
MODELS = ("alpha", "beta", "gamma")


def rows() -> list[dict[str, object]]:
    """Dialogues of four turns by three models at two temperatures; beta and gamma are alike, alpha is better."""
    rng = np.random.default_rng(7)
    table = []
    for model, ability in zip(MODELS, (2.0, -0.4, -0.5), strict=True):
        for item in range(ITEMS):
            for temperature in (0.0, 1.0):
                for turn in range(1, TURNS + 1):
                    right = rng.random() < 1 / (1 + np.exp(-(ability - 0.3 * turn - 0.5 * temperature)))
                    table.append(
                        {"id": f"q{item}", "prompt": f"Question {item}?", "text": "yes" if right else "no",
                         "model": model, "turn": turn, "temperature": temperature, "label": int(right),
                         "preference": [0, 0.5, 1][int(rng.integers(3))]}
                    )  # fmt: skip
    return table


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("functions")
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows()[0].keys())
        writer.writeheader()
        writer.writerows(rows())
    fields = {name: name for name in ("id", "prompt", "text", "model", "turn", "temperature")}
    fields |= {"score.label": "label", "score.preference": "preference"}
    return Run(convert(folder / "rows.csv", folder / "run", fields))


def verdicts(folder: Path, body: str, *runs: Run) -> list[Verdict]:
    path = folder / "claims.toml"
    path.write_text(f"[[claim]]\n{body}\n", encoding="utf-8")
    return check(path, runs)


def value(folder: Path, number: str, run: Run, more: str = "") -> float:
    (verdict,) = verdicts(folder, f'number = "{number}"\nexpect = 0\nwithin = 1e9\n{more}', run)
    assert verdict.estimate.value is not None, verdict.why
    return verdict.estimate.value


def test_a_regression_gives_the_odds_ratio_that_a_plain_fit_gives(run: Run, tmp_path: Path) -> None:
    table = rows()
    x = np.array(
        [[1, r["model"] == "beta", r["model"] == "gamma", r["temperature"], r["turn"]] for r in table], dtype=float
    )
    y = np.array([r["label"] for r in table], dtype=float)
    fitted = minimize(lambda b: float(np.logaddexp(0, x @ b).sum() - y @ x @ b), np.zeros(5), method="BFGS").x
    terms = "terms='model[alpha] + temperature + turn'"
    label = "stored_label@import"
    slope = value(tmp_path, f"regression({label}, {terms}, term='temperature')", run)
    assert slope == pytest.approx(np.exp(fitted[3]), rel=1e-4)
    assert value(tmp_path, f"regression({label}, {terms}, term='model[gamma]')", run) == pytest.approx(
        np.exp(fitted[2]), rel=1e-4
    )
    assert value(tmp_path, f"regression({label}, {terms}, term='turn', outcome=0)", run) == pytest.approx(
        np.exp(-fitted[4]), rel=1e-4
    )
    assert value(tmp_path, f"p(regression({label}, {terms}, term='turn'))", run) < 0.01
    (judged,) = verdicts(
        tmp_path, f'number = "regression({label}, {terms}, term=\'turn\')"\nsignificant = true', run
    )  # fmt: skip
    assert judged.status == "pass"
    assert judged.estimate.also["n_clusters"] == ITEMS


def test_turns_are_a_key_and_dialogues_have_a_turn_of_flip_and_a_number_of_flips(run: Run, tmp_path: Path) -> None:
    dialogues: dict[object, list[int]] = {}
    for row in rows():
        dialogues.setdefault((row["id"], row["model"], row["temperature"]), []).append(int(str(row["label"])))
    labels = list(dialogues.values())
    flips = [next((n for n, label in enumerate(one) if label != 1), TURNS) for one in labels]
    changes = [sum(a != b for a, b in pairwise(one)) for one in labels]
    column = "stored_label@import"
    assert value(tmp_path, f"turn_of_flip({column})", run) == pytest.approx(statistics.mean(flips))
    assert value(tmp_path, f"number_of_flips({column})", run) == pytest.approx(statistics.mean(changes))
    assert value(tmp_path, f"rate({column}, turn=3)", run) == pytest.approx(statistics.mean(one[2] for one in labels))
    assert value(tmp_path, f"difference({column}, 1, 4, over='turn')", run) == pytest.approx(
        statistics.mean(one[3] - one[0] for one in labels)
    )
    shares = [statistics.mean(one[turn] for one in labels) for turn in range(TURNS)]
    by_turn = ", ".join(f"{turn} = {share:.4f}" for turn, share in enumerate(shares, 1))
    each = verdicts(tmp_path, f'number = "rate({column})"\nby = "turn"\nexpect = {{ {by_turn} }}', run)
    assert [one.status for one in each] == ["pass"] * TURNS


def test_preferences_give_win_rates_their_standard_error_and_counts(run: Run, tmp_path: Path) -> None:
    asked = [row for row in rows() if row["model"] == "beta" and row["turn"] == 1 and row["temperature"] == 0.0]
    values = [float(str(row["preference"])) for row in asked]
    column = "stored_preference@import"
    more = 'where = { model = "beta", turn = 1, temperature = 0 }'
    assert value(tmp_path, f"100 * win_rate({column})", run, more) == pytest.approx(100 * statistics.mean(values))
    assert value(tmp_path, f"discrete_win_rate({column})", run, more) == pytest.approx(statistics.mean(values))
    spread = statistics.stdev(values) / len(values) ** 0.5
    assert value(tmp_path, f"se(win_rate({column}))", run, more) == pytest.approx(spread)
    for name, count in (("wins", values.count(1.0)), ("losses", values.count(0.0)), ("draws", values.count(0.5))):
        assert value(tmp_path, f"{name}({column})", run, more) == count
    with pytest.raises(SpecError, match=r"se\(\) is of a mean"):
        value(tmp_path, "se(trials())", run)


def test_ranks_and_tiers_are_claimed_model_by_model(run: Run, tmp_path: Path) -> None:
    column = "stored_label@import"
    ranks = verdicts(tmp_path, f'number = "rank({column})"\nby = "model"\nexpect = {{ alpha = 1, beta = 3 }}', run)
    means = {
        model: statistics.mean(int(str(r["label"])) for r in rows() if r["model"] == model) for model in MODELS
    }  # fmt: skip
    order = sorted(MODELS, key=lambda model: -means[model])
    expected = {"alpha": 1, "beta": 3}
    assert [one.status == "pass" for one in ranks] == [order.index(name) + 1 == expected[name] for name in expected]
    tiers = verdicts(
        tmp_path, f'number = "tier({column})"\nby = "model"\nexpect = {{ alpha = 1, beta = 2, gamma = 2 }}', run
    )
    assert [one.status for one in tiers] == ["pass"] * 3
    assert value(tmp_path, f"rank({column}, model='alpha', best='lowest')", run) == 3
    assert value(tmp_path, f"hi(rank({column}, model='gamma'))", run) == 3
    (chain,) = verdicts(tmp_path, f"order = \"rank({column}, model='alpha') < rank({column}, model='beta')\"", run)
    assert chain.status == "pass"


@pytest.mark.parametrize(*table("claims_uncomputable"))
def test_what_cannot_be_computed_is_an_error_that_helps(run: Run, tmp_path: Path, number: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        verdicts(tmp_path, f'number = "{number}"\nexpect = 1', run)


def test_pairs_that_the_data_do_not_hold_are_not_checkable_and_fail_nothing(run: Run, tmp_path: Path) -> None:
    pairs = "difference(stored_label@import, 0, 0.5, over='temperature')"
    both = f'number = "{pairs}"\nexpect = 0.1\n[[claim]]\nnumber = "trials()"\nexpect = {len(rows())}'
    unchecked, held = verdicts(tmp_path, both, run)
    assert (unchecked.status, held.status) == ("not checkable", "pass")
    assert "no trial has temperature 0.5" in unchecked.why
    assert "1 of 2 hold; 1 is not checkable on these data" in as_table([unchecked, held])
    raise_for_failures([unchecked, held])
    with pytest.raises(AuditFailure, match="1 of 2 claims could not be checked"):
        raise_for_failures([unchecked, held], strict=True)
    with pytest.raises(AuditFailure, match="1 of 1 claims could not be checked"):
        raise_for_failures([unchecked])  # a check that checks nothing is no success
    (undefined,) = verdicts(tmp_path, f'number = "{pairs}"\nexpect = "undefined"', run)
    assert undefined.status == "pass"
    for body in (f'number = "100 * {pairs}"\nsignificant = true', f'order = "{pairs} > 0"'):
        assert [one.status for one in verdicts(tmp_path, body, run)] == ["not checkable"]


def test_what_a_claim_says_was_not_published_is_the_reason_where_it_does_not_recompute(
    run: Run, tmp_path: Path
) -> None:
    body = 'number = "trials()"\nunpublished = "the pilot trials are in no table"\nexpect = '
    (unchecked,) = verdicts(tmp_path, f"{body}9999", run)
    assert unchecked.status == "not checkable"
    assert unchecked.why.startswith("the pilot trials are in no table (off by")
    (held,) = verdicts(tmp_path, f"{body}{len(rows())}", run)
    assert held.status == "pass"


def test_imported_dialogues_and_preferences_give_what_their_source_states(tmp_path: Path) -> None:
    talks = Run(convert(source_files.dialogues(_folder(tmp_path, "talks")), tmp_path / "talked"))
    assert value(tmp_path, "turn_of_flip(stored_label@import)", talks) == pytest.approx((2 + 3 + 0 + 1) / 4)
    assert value(tmp_path, "rate(stored_label@import, turn=2, dialogue='prompt0')", talks) == 0.75
    wins = Run(convert(source_files.alpaca(_folder(tmp_path, "wins")), tmp_path / "won"))
    column = "stored_preference_judge_a@import"
    assert value(tmp_path, f"100 * win_rate({column})", wins) == pytest.approx(100 * 3.5 / 6)
    assert value(tmp_path, f"wins({column}) - losses({column})", wins) == 1


def _folder(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name
