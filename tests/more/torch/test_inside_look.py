"""A look inside a whole run of a small random model: answers, lens, probes, projections, steering, export, figures."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perpend.ask.conditions import asch, control
from perpend.ask.runner import evaluate_task
from perpend.ask.task import Task
from perpend.errors import SpecError, StoreError
from perpend.inside import Look, LookSettings, checkpoint_of, layers_of, look_inside, looks, read_look, summary
from perpend.inside.blocks import anatomy, read
from perpend.inside.figures import draw_lens, lens_map, shift_rows, write_inside_figures
from perpend.inside.prompts import other_precision
from perpend.ledger.manifest import read_manifest
from perpend.measure.run import Run
from perpend.models.hf.abilities import weigher
from perpend.models.hf.checkpoint import Checkpoint
from perpend.models.hf.provider import Transformers
from perpend.spec.runspec import ModelSpec, RunSpec
from perpend.studies.conformity.simulation_db import read as read_simulation
from perpend.studies.conformity.simulation_db import write
from perpend.types import Sampling
from tests.more.torch.hf_models import brute
from tests.more.torch.test_inside_blocks import LAYERS, checkpoint

FACTS = 12
SETTINGS = LookSettings(top_k=3, alphas=(2.0, -2.0), steer_trials=5)


def run_of(made: Checkpoint, folder: Path, labels: tuple[str, ...] = ("tiny",)) -> Path:
    """A run of 12 facts, and an opinion under control, control again and a group, at two temperatures."""
    items = folder / "items.jsonl"
    facts = [
        {"id": f"fact-{n}", "prompt": f"What is {n} + {n}?", "target": str(2 * n), "decoy": str(2 * n + 1)}
        for n in range(FACTS)
    ]
    opinion = {"id": "opinion", "prompt": "Which colour is best?", "decoy": "red"}
    items.write_text("".join(json.dumps(item) + "\n" for item in [*facts, opinion]))
    spec = RunSpec(
        "t",
        tuple(ModelSpec(f"hf/{label}", label) for label in labels),
        items=(items,),
        name="inside",
        samplings=(Sampling(0.0, 3), Sampling(1.0, 3)),
    )
    task = Task(name="t", conditions=(control(), control(name="control_retest"), asch(2)), scorers=("correct@1",))
    models = [Transformers(label, made, weigher(made.model, 2048), 4) for label in labels]
    directory = evaluate_task(spec, task, models, folder, quiet=True).directory
    Run(directory).score()
    return directory


@pytest.fixture(scope="module")
def made() -> Checkpoint:
    return checkpoint("llama")


@pytest.fixture(scope="module")
def look(made: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> Look:
    directory = run_of(made, tmp_path_factory.mktemp("run"))
    return look_inside(directory, made, SETTINGS, quiet=True)


def rows(look: Look, name: str) -> list[dict[str, object]]:
    return list(look.rows(name))


def prompt_of(made: Checkpoint, look: Look, trial: int) -> str:
    """The rendered prompt of a trial, from the run alone."""
    with closing(sqlite3.connect(look.folder.parents[1] / "run.db")) as db:
        system, user = db.execute(
            "SELECT system_prompt, user_prompt FROM conformity_prompts WHERE CAST(trial_id AS INTEGER) = ?", (trial,)
        ).fetchone()
    return f"<s>system\n{system}</s><s>user\n{user}</s><s>assistant\n"


def test_answer_log_probabilities_are_those_of_a_plain_pass_token_by_token(made: Checkpoint, look: Look) -> None:
    found = rows(look, "answers")
    assert len(found) == (FACTS + 1) * 3 * 2
    for row in found[:12]:
        before = prompt_of(made, look, row["trial"])
        bare = made.tokens(before)
        assert row["position"] == len(bare) - 1
        for candidate in row["candidates"].values():
            whole = made.tokens(before + candidate["text"])
            assert list(whole[len(bare) :]) == candidate["tokens"]
            assert candidate["logprobs"] == pytest.approx(brute(made.model, whole, len(bare)), abs=1e-4)
            assert candidate["total"] == pytest.approx(sum(candidate["logprobs"]))
            assert candidate["per_token"] == pytest.approx(candidate["total"] / len(candidate["tokens"]))
        sides = row["candidates"]
        assert row["log_odds"] == sides["decoy"]["total"] - sides["target"]["total"]


def test_an_opinion_has_a_decoy_and_no_log_odds_and_says_why(look: Look) -> None:
    found = [row for row in rows(look, "answers") if row["item"] == "opinion"]
    assert len(found) == 6
    for row in found:
        assert list(row["candidates"]) == ["decoy"]
        assert (row["log_odds"], row["log_odds_per_token"]) == (None, None)
        assert row["note"] == "the item has no target"


def test_the_shift_by_condition_is_the_paired_mean_clustered_by_item(look: Look) -> None:
    found = {(row["item"], row["condition"]): row["log_odds"] for row in rows(look, "answers")}
    change = [found[f"fact-{n}", "asch_history_2"] - found[f"fact-{n}", "control"] for n in range(FACTS)]
    shift = look.estimates["log_odds"]["asch_history_2"]
    assert shift["value"] == pytest.approx(np.mean(change))
    assert (shift["n"], shift["also"]["n_clusters"]) == (2 * FACTS, FACTS)
    # Two temperatures ask the same prompt twice: that is no more evidence than asking it once.
    half = 2.2009851600916 * np.std(change, ddof=1) / math.sqrt(FACTS)
    assert (shift["lo"], shift["hi"]) == pytest.approx((np.mean(change) - half, np.mean(change) + half), abs=1e-6)
    retest = look.estimates["log_odds"]["control_retest"]
    assert (retest["value"], retest["lo"]) == (0.0, None)
    assert "all 24 values are equal" in retest["note"]


def test_the_lens_has_every_layer_of_every_trial_and_agrees_with_the_answers(made: Checkpoint, look: Look) -> None:
    answers = {row["trial"]: row for row in rows(look, "answers")}
    found = rows(look, "lens")
    assert len(found) == len(answers) * LAYERS
    for row in found[LAYERS - 1 :: LAYERS][:20]:
        assert row["layer"] == LAYERS - 1
        top = row["top"]
        assert [entry["prob"] for entry in top] == sorted((entry["prob"] for entry in top), reverse=True)
        assert len(top) == 3
        for role, candidate in answers[row["trial"]]["candidates"].items():
            assert row[role]["id"] == candidate["tokens"][0]
            assert row[role]["logprob"] == pytest.approx(candidate["logprobs"][0], abs=1e-4)
            better = [entry for entry in top if entry["prob"] > row[role]["prob"]]
            assert row[role]["rank"] == len(better) + 1 or row[role]["rank"] > 3


def test_projections_are_the_probes_values_at_the_answer_position(made: Checkpoint, look: Look) -> None:
    probes = rows(look, "probes")
    assert [probe["layer"] for probe in probes] == 2 * list(range(LAYERS))
    assert [probe["kind"] for probe in probes] == LAYERS * ["truth"] + LAYERS * ["social"]
    row = rows(look, "projections")[7]
    prompt = made.tokens(prompt_of(made, look, row["trial"]))
    stream = read(weigher(made.model, 2048), [prompt], range(LAYERS), vocabulary=False).residuals[0].double().numpy()
    for place, probe in enumerate(probes):
        layer, field = place % LAYERS, "values" if place < LAYERS else "social"
        value = float(np.array(probe["weight"]) @ stream[layer] + probe["bias"])
        assert row[field][layer] == pytest.approx(value, abs=1e-4)


def test_no_item_stands_on_both_sides_and_each_stands_with_both_labels(look: Look) -> None:
    found = rows(look, "statements")
    assert [row["kind"] for row in found] == 2 * FACTS * ["truth"] + 4 * FACTS * ["social"]
    sides: dict[object, set[object]] = {}
    labels: dict[object, set[object]] = {}
    for row in found:
        sides.setdefault(row["item"], set()).add(row["held_out"])
        labels.setdefault(row["item"], set()).add(row["label"])
    assert all(len(side) == 1 for side in sides.values())
    assert all(label == {True, False} for label in labels.values())
    assert sum(side == {True} for side in sides.values()) == 4
    for probe in rows(look, "probes"):
        assert probe["accuracy"]["n"] == (8 if probe["kind"] == "truth" else 16)
    assert set(look.estimates["accuracy"]) == set(look.estimates["social_accuracy"]) == {"0", "1", "2"}


def test_steering_keeps_its_own_baseline_and_moves_the_log_odds_of_both_signs_differently(look: Look) -> None:
    answers = {row["trial"]: row for row in rows(look, "answers")}
    found = rows(look, "steering")
    assert len(found) == 10
    assert {answers[row["trial"]]["condition"] for row in found} == {"asch_history_2"}
    for row in found:
        assert row["log_odds_before"] == pytest.approx(answers[row["trial"]]["log_odds"], abs=1e-4)
        assert row["log_odds_after"] != row["log_odds_before"]
        assert row["activation_error"] < 1e-4
        assert row["error_before"] is row["error_after"] is None
    assert set(look.estimates["steering"]) == {"2", "-2"}


def test_the_baseline_says_at_temperature_0_what_the_run_said(look: Look) -> None:
    with closing(sqlite3.connect(look.folder.parents[1] / "run.db")) as db:
        said = dict(db.execute("SELECT trial, text FROM response"))
    for row in rows(look, "steering"):
        assert row["text_before"] == said[row["trial"]]


def test_the_same_run_and_checkpoint_give_the_same_bytes(made: Checkpoint, look: Look) -> None:
    before = {path.name: path.read_bytes() for path in look.folder.iterdir()}
    again = look_inside(look.folder.parents[1], made, SETTINGS, quiet=True)
    assert {path.name: path.read_bytes() for path in again.folder.iterdir()} == before
    assert read_look(look.folder).header == again.header
    assert look.header["same_weights"] is True
    assert [found.model for found in looks(look.folder.parents[1])] == ["tiny"]


def test_a_changed_file_is_not_read_as_a_look(made: Checkpoint, tmp_path: Path) -> None:
    directory = run_of(made, tmp_path)
    found = look_inside(directory, made, LookSettings(layers=(1,), alphas=()), quiet=True)
    assert found.header["notes"] == {"steering": "not asked for"}
    held = found.folder / "answers.jsonl"
    held.write_text(held.read_text().replace("control_retest", "control", 1))
    with pytest.raises(StoreError, match="not the file that header.json tells of"):
        looks(directory)
    (found.folder / "header.json").unlink()
    assert looks(directory) == []


def test_other_weights_other_layers_and_other_names_are_refused(made: Checkpoint, look: Look) -> None:
    directory = look.folder.parents[1]
    with pytest.raises(StoreError, match="answered by other weights"):
        look_inside(directory, checkpoint("llama", seed=1), quiet=True)
    with pytest.raises(StoreError, match="was asked through endpoint 'chat'"):
        look_inside(directory, checkpoint("llama", endpoint="completions"), quiet=True)
    with pytest.raises(SpecError, match="no layer 3; the checkpoint's layers are 0 to 2"):
        look_inside(directory, made, LookSettings(layers=(0, 3)), quiet=True)
    with pytest.raises(SpecError, match="steer_layer 2 is not among"):
        look_inside(directory, made, LookSettings(layers=(0, 1), steer_layer=2), quiet=True)
    with pytest.raises(SpecError, match="no model 'tyny'; did you mean 'tiny'"):
        look_inside(directory, made, model="tyny", quiet=True)
    with pytest.raises(SpecError, match="only a checkpoint in transformers"):
        checkpoint_of("local/smollm2")
    read_look(look.folder)


def test_another_precision_than_that_of_the_answers_is_noted(made: Checkpoint, look: Look) -> None:
    manifest = read_manifest(look.folder.parents[1])
    assert other_precision(manifest, "tiny", made) == {}
    (model,) = manifest.models
    rounded = replace(manifest, models=(replace(model, fingerprint={**model.fingerprint, "dtype": "bfloat16"}),))
    assert "--dtype bfloat16" in other_precision(rounded, "tiny", made)["dtype"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"layers": ()},
        {"top_k": 0},
        {"held_out": 1.0},
        {"alphas": (0.0,)},
        {"alphas": (1.0, 1.0)},
        {"steer_at": "end"},
        {"steer_by": "x"},
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SpecError):
        LookSettings(**wrong)


def test_layers_are_named_by_numbers_and_ranges() -> None:
    assert layers_of("0, 10,12-14,12") == (0, 10, 12, 13, 14)
    for wrong in ("", "last", "-1", "3-", "5-3", "1.5"):
        with pytest.raises(SpecError, match="neither a number nor a range"):
            layers_of(wrong)


def test_too_few_items_give_no_probe_and_no_steering_and_the_header_says_so(
    made: Checkpoint, tmp_path: Path, items_file: Callable[..., Path]
) -> None:
    spec = RunSpec(
        "t", (ModelSpec("hf/tiny", "tiny"),), items=(items_file(4),), name="few", samplings=(Sampling(0.0, 2),)
    )
    task = Task(name="t", conditions=(control(), asch(1)), scorers=())
    model = Transformers("tiny", made, weigher(made.model, 2048), 4)
    directory = evaluate_task(spec, task, [model], tmp_path, quiet=True).directory
    found = look_inside(directory, made, quiet=True)
    assert found.header["notes"] == {
        "probes": "4 items have a target and a decoy; probes need 10",
        "steering": "there is no probe to steer by",
    }
    assert rows(found, "projections") == []
    written = write(directory, tmp_path / "simulation.db")
    with closing(sqlite3.connect(written)) as db:
        assert db.execute("SELECT count(*) FROM conformity_logit_lens").fetchone() == (8 * LAYERS,)
        assert db.execute("SELECT count(*) FROM conformity_probes").fetchone() == (0,)


def test_of_two_models_each_has_a_look_of_its_own(made: Checkpoint, tmp_path: Path) -> None:
    directory = run_of(made, tmp_path, ("one", "two"))
    with pytest.raises(SpecError, match="2 models; name the one to look into: one, two"):
        look_inside(directory, made, quiet=True)
    for label in ("one", "two"):
        look_inside(directory, made, LookSettings(layers=(0,), alphas=()), model=label, quiet=True)
    first, second = looks(directory)
    assert (first.model, second.model) == ("one", "two")
    trials = [{row["trial"] for row in rows(found, "lens")} for found in (first, second)]
    assert not trials[0] & trials[1]
    with closing(sqlite3.connect(write(directory, tmp_path / "simulation.db"))) as db:
        assert db.execute("SELECT count(*) FROM conformity_probes").fetchone() == (8,)
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


COLUMNS = {
    "conformity_trial_steps": "trial_id time_step agent_id created_at",
    "conformity_think_tokens": "think_id trial_id token_index token_text token_id created_at",
    "conformity_logit_lens": "logit_id trial_id layer_index token_index topk_json created_at",
    "conformity_probes": "probe_id run_id probe_kind train_dataset_id model_id layers_json component token_position"
    " artifact_path metrics_json created_at",
    "conformity_probe_projections": "projection_id trial_id probe_id layer_index token_index value_float created_at",
    "conformity_interventions": "intervention_id run_id name alpha target_layers_json component vector_probe_id notes"
    " created_at",
    "conformity_intervention_results": "result_id trial_id intervention_id output_id_before output_id_after"
    " flipped_to_truth created_at",
    "conformity_answer_logprobs": "trial_id context_kind candidate_kind candidate_text token_count logprob_sum"
    " logprob_mean first_token_id first_token_logprob metadata_json created_at",
}


def test_a_look_fills_the_eight_tables_under_the_studys_names(look: Look, tmp_path: Path) -> None:
    written = write(look.folder.parents[1], tmp_path / "simulation.db")
    expected = {
        "conformity_logit_lens": len(rows(look, "lens")),
        "conformity_probes": 4,  # two for each temperature, which is a run of the study
        "conformity_probe_projections": len(rows(look, "projections")) * LAYERS * 2,
        "conformity_trial_steps": len(rows(look, "answers")),
        "conformity_think_tokens": 0,  # random weights think nothing
        "conformity_interventions": 2,
        "conformity_intervention_results": 10,
        "conformity_answer_logprobs": FACTS * 6 * 2 + 6,
    }
    with closing(sqlite3.connect(written)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        for table, names in COLUMNS.items():
            assert [row[1] for row in db.execute(f"PRAGMA table_info({table})")] == names.split()
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (expected[table],), table
        for kind, value, mean, first, text in db.execute(
            "SELECT candidate_kind, logprob_sum, logprob_mean, first_token_logprob, metadata_json"
            " FROM conformity_answer_logprobs"
        ):
            assert kind in ("ground_truth", "wrong_answer")
            numbers = json.loads(text)["logprobs"]
            assert (value, mean, first) == (sum(numbers), pytest.approx(value / len(numbers)), numbers[0])
        first_outputs = db.execute(
            "SELECT trial_id, raw_text FROM (SELECT trial_id, raw_text, row_number() OVER"
            " (PARTITION BY trial_id ORDER BY created_at, output_id) AS place FROM conformity_outputs) WHERE place = 1"
        ).fetchall()
        flips = db.execute(
            "SELECT r.flipped_to_truth, b.is_correct, a.is_correct, b.raw_text, a.raw_text"
            " FROM conformity_intervention_results r JOIN conformity_outputs b ON b.output_id = r.output_id_before"
            " JOIN conformity_outputs a ON a.output_id = r.output_id_after"
        ).fetchall()
    with closing(sqlite3.connect(look.folder.parents[1] / "run.db")) as db:
        own = sorted(text for (text,) in db.execute("SELECT text FROM response"))
    # The study takes the first output of a trial for its answer: steering must not take its place.
    assert sorted(text for _, text in first_outputs) == own
    assert all(flip == (not before and after) for flip, before, after, *_ in flips)
    steered = sorted((str(row["text_before"]), str(row["text_after"])) for row in rows(look, "steering"))
    assert sorted((before, after) for *_, before, after in flips) == steered


def test_the_words_between_think_tags_are_the_thoughts_of_a_trial(look: Look, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    shutil.copytree(look.folder.parents[1], directory)
    with closing(sqlite3.connect(directory / "run.db")) as db, db:
        guards = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'response'")
        for name, _ in (triggers := guards.fetchall()):
            db.execute(f"DROP TRIGGER {name}")
        first = "(SELECT min(rowid) FROM response)"
        db.execute(f"UPDATE response SET text = ? WHERE rowid = {first}", ("<think>so it\n must be</think> 4",))
        for _, sql in triggers:
            db.execute(sql)
    with closing(sqlite3.connect(write(directory, tmp_path / "simulation.db"))) as db:
        thoughts = db.execute(
            "SELECT t.token_index, t.token_text, t.token_id, o.raw_text FROM conformity_think_tokens t"
            " JOIN conformity_outputs o USING (trial_id) ORDER BY t.token_index, o.output_id"
        ).fetchall()
        empty = [
            db.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("activation_metadata", "merkle_log")
        ]
    said = [row[:3] for row in thoughts if row[3].startswith("<think>")]
    assert said == [(0, "so", None), (1, "it", None), (2, "must", None), (3, "be", None)]
    assert empty == [(0,), (0,)]  # as the docs say: a look keeps no activations


def test_a_database_with_a_look_is_imported_with_its_own_answers(look: Look, tmp_path: Path) -> None:
    directory = look.folder.parents[1]
    written = write(directory, tmp_path / "simulation.db")
    assert write(directory, tmp_path / "again.db").read_bytes() == written.read_bytes()
    again = Run(read_simulation(written, tmp_path / "again"))
    back = write(again.directory, tmp_path / "back.db")
    with closing(sqlite3.connect(written)) as first, closing(sqlite3.connect(back)) as second:
        for table, names in COLUMNS.items():
            # Ids of runs and of outputs are each file's own; all else is as it was.
            kept = [name for name in names.split() if name not in ("run_id", "output_id_before", "output_id_after")]
            asked = f"SELECT {', '.join(kept)} FROM {table} ORDER BY 1, 2, 3"
            assert second.execute(asked).fetchall() == first.execute(asked).fetchall(), table
        assert second.execute("PRAGMA foreign_key_check").fetchall() == []
        texts = (
            "SELECT r.result_id, b.raw_text, a.raw_text FROM conformity_intervention_results r"
            " JOIN conformity_outputs b ON b.output_id = r.output_id_before"
            " JOIN conformity_outputs a ON a.output_id = r.output_id_after ORDER BY 1"
        )
        assert second.execute(texts).fetchall() == first.execute(texts).fetchall() != []
    kept_file = again.directory / "inside" / "imported" / "conformity_probes.jsonl"
    kept_file.write_text(kept_file.read_text().replace("truth", "TRUTH"))
    with pytest.raises(StoreError, match="not the file that tables.json tells of"):
        write(again.directory, tmp_path / "spoiled.db")
    again.score(["correct@1"])
    before = Run(directory)["correct@1"].where(condition="control").rate()
    assert again["correct@1"].where(condition="control").rate() == before


def test_figures_show_the_numbers_and_the_same_look_gives_the_same_bytes(look: Look, tmp_path: Path) -> None:
    shown = lens_map(look)
    assert shown.layers == tuple(range(LAYERS))
    assert shown.conditions == ("control", "control_retest", "asch_history_2")
    different = {
        row["trial"]: row["target"]["id"] != row["decoy"]["id"]
        for row in rows(look, "lens")
        if "target" in row and "decoy" in row
    }
    assert sum(shown.counts) == sum(different.values())
    told = [row for row in rows(look, "lens") if different.get(row["trial"]) and row["layer"] == 1]
    conditions = {row["trial"]: row["condition"] for row in rows(look, "answers")}
    wanted = [row["decoy"]["logprob"] for row in told if conditions[row["trial"]] == "asch_history_2"]
    assert shown.values[1, 1, 2] == pytest.approx(np.mean(wanted) / math.log(10.0))
    shifts = shift_rows(look)
    assert shifts.conditions == ("control_retest", "asch_history_2")
    assert shifts.total[0].lo is None
    assert shifts.total[1].value == look.estimates["log_odds"]["asch_history_2"]["value"]
    first, second = (write_inside_figures(look, tmp_path / name) for name in "ab")
    assert [path.name for path in first] == ["log_odds_shift.png", "log_odds_shift.pdf", "lens.png", "lens.pdf"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    empty = lens_map(look)
    empty.values[:] = math.nan
    assert draw_lens(empty).axes[0].texts[0].get_text() == "NA"


def test_the_summary_says_each_number_with_its_interval_or_why_there_is_none(look: Look) -> None:
    lines = summary(look)
    shift = look.estimates["log_odds"]["asch_history_2"]
    assert lines["shift in log-odds asch_history_2"] == (
        f"{shift['value']:.3f} [{shift['lo']:.3f}, {shift['hi']:.3f}] n=24"
    )
    assert lines["shift in log-odds control_retest"] == "0.000 (no interval: all 24 values are equal) n=24"
    assert any(name.startswith("held-out accuracy of the best of 3 probes") for name in lines)
    # Random weights know nothing: a reader is told that the direction means nothing.
    assert any("not distinguishable from chance" in str(note) for note in lines.values())


def test_a_plain_text_model_is_asked_with_a_space_before_the_answer(tmp_path: Path) -> None:
    plain = checkpoint("gpt2", endpoint="completions")
    directory = run_of(plain, tmp_path)
    found = look_inside(directory, plain, LookSettings(layers=(2,), alphas=()), quiet=True)
    first = rows(found, "answers")[0]["candidates"]
    space = plain.tokenizer(" ")["input_ids"][0]
    assert all(candidate["tokens"][0] == space for candidate in first.values())


def test_looking_leaves_no_hook_behind(made: Checkpoint, look: Look) -> None:
    parts = anatomy(made.model)
    for part in (*parts.blocks, parts.norm, parts.head):
        assert not part._forward_hooks
        assert not part._forward_pre_hooks
