"""Small files of our own in the formats that other projects publish in; each function returns the path to give."""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

CITIES = (
    ("Peru", "Lima", "Lima"),
    ("Chile", "Santiago", "Santiago."),
    ("Bolivia", "Sucre", "La Paz"),
    ("Cuba", "Havana", ""),
)
"""Country, capital, what the model says."""


def write_json(path: Path, body: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def write_lines(path: Path, bodies: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(body) + "\n" for body in bodies), encoding="utf-8")
    return path


def write_table(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def _stat(name: str, value: float, split: str = "test") -> dict[str, object]:
    return {"name": {"name": name, "split": split}, "count": 1, "sum": value, "sum_squared": value * value,
            "min": value, "max": value, "mean": value, "variance": 0.0, "stddev": 0.0}  # fmt: skip


def helm(folder: Path) -> Path:
    """A run of four instances with two statistics each, and their means."""
    states, verdicts, exact = [], [], []
    for number, (country, capital, answer) in enumerate(CITIES):
        states.append({
            "instance": {
                "input": {"text": f"What is the capital of {country}?"},
                "references": [{"output": {"text": capital}, "tags": ["correct"]}],
                "split": "test", "id": f"id{number}",
            },
            "train_trial_index": 0,
            "request": {"model": "lab/small", "prompt": f"Q: What is the capital of {country}?\nA:",
                        "temperature": 0.0, "max_tokens": 8, "stop_sequences": ["\n"], "top_p": 1},
            "result": {"success": True, "completions": [{"text": f" {answer}", "tokens": [{"text": "x"}]}],
                       "request_time": 0.5, "request_datetime": 1700000000},
        })  # fmt: skip
        exact.append(float(answer.strip() == capital))
        stats = [_stat("exact_match", exact[-1]), _stat("num_output_tokens", 1.0)]
        verdicts.append({"instance_id": f"id{number}", "train_trial_index": 0, "stats": stats})
    write_json(folder / "run_spec.json", {"name": "capitals:model=lab_small", "adapter_spec": {"method": "generation"}})
    write_json(folder / "scenario_state.json", {"adapter_spec": {"method": "generation"}, "request_states": states})
    write_json(folder / "per_instance_stats.json", verdicts)
    mean = statistics.mean(exact)
    write_json(
        folder / "stats.json", [_stat("exact_match", mean), _stat("num_output_tokens", 1.0), _stat("bleu", 0.25)]
    )
    return folder


def alpaca(folder: Path) -> Path:
    """Six preferences: three wins, two losses, one draw; the leaderboard has one more model."""
    preferences = [2, 2, 1, 0, 1, 2]
    rows = [
        {"instruction": f"Say {n}.", "output_1": f"one {n}", "generator_1": "base", "output_2": f"two {n}",
         "generator_2": "tiny", "annotator": "judge_a", "preference": value, "dataset": "ours"}
        for n, value in enumerate(preferences)
    ]  # fmt: skip
    write_json(folder / "annotations.json", rows)
    values = [{0: 0.5, 1: 0.0, 2: 1.0}[value] for value in preferences]
    rate, error = 100 * statistics.mean(values), 100 * statistics.stdev(values) / len(values) ** 0.5
    head = ["", "win_rate", "standard_error", "n_wins", "n_wins_base", "n_draws", "n_total", "avg_length"]
    own = ["tiny", rate, error, 3, 2, 1, 6, 5]
    write_table(folder / "leaderboard.csv", [head, own, ["other", 75.0, 10.0, 3, 1, 0, 4, 9]])
    return folder


def records(folder: Path) -> Path:
    """An aggregate of every_eval_ever with its samples; the path is that of the aggregate."""
    samples = [
        {"schema_version": "0.3.0", "evaluation_id": "capitals/lab/1", "model_id": "lab/small",
         "evaluation_name": "capitals", "evaluation_result_id": "capitals/acc", "sample_id": country,
         "interaction_type": "single_turn", "input": {"raw": f"Capital of {country}?", "reference": [capital]},
         "output": {"raw": [answer]}, "messages": None, "answer_attribution": [],
         "evaluation": {"score": float(answer.startswith(capital)), "is_correct": answer.startswith(capital)},
         "metadata": {"continent": "America"}}
        for country, capital, answer in CITIES
    ]  # fmt: skip
    write_lines(folder / "r1_samples.jsonl", samples)
    spread = {"num_samples": 4, "standard_error": {"value": 0.2886751345948129}}
    entry = {
        "evaluation_result_id": "capitals/acc", "evaluation_name": "capitals",
        "source_data": {"dataset_name": "capitals", "source_type": "other"},
        "metric_config": {"lower_is_better": False, "score_type": "continuous", "min_score": 0.0, "max_score": 1.0},
        "score_details": {"score": 0.5, "uncertainty": spread},
    }  # fmt: skip
    body = {
        "schema_version": "0.3.0", "evaluation_id": "capitals/lab/1", "retrieved_timestamp": "1",
        "source_metadata": {"source_type": "evaluation_run", "source_organization_name": "us",
                            "evaluator_relationship": "first_party"},
        "eval_library": {"name": "ours", "version": "1"},
        "model_info": {"name": "small", "id": "lab/small",
                       "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"}},
        "evaluation_results": [entry],
        "detailed_evaluation_results": {
            "format": "jsonl", "total_rows": 4,
            "file_path": "data/capitals/lab/small/r1_samples.jsonl",
        },
    }  # fmt: skip
    return write_json(folder / "r1.json", body)


def lighteval(folder: Path) -> Path:
    """Details in the layout of newer versions, with the results where lighteval puts them; the path is the details'."""
    stamp = "2026-01-01T12-00-00.000000"
    rows = [
        {"doc": {"query": f"Capital of {country}?", "choices": [capital], "gold_index": [0], "id": str(n)},
         "model_response": {"text": [answer], "input": f"Capital of {country}?", "logprobs": None},
         "metric": {"em": float(answer == capital)}}
        for n, (country, capital, answer) in enumerate(CITIES)
    ]  # fmt: skip
    path = folder / "details" / "lab" / "small" / stamp / f"details_ours|capitals|0_{stamp}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows), path)
    body = {"config_general": {"model_name": "lab/small"},
            "config_tasks": {"ours|capitals": {"effective_num_docs": 4}},
            "results": {"ours|capitals|0": {"em": 0.25, "em_stderr": 0.25}, "all": {"em": 0.25}}}  # fmt: skip
    write_json(folder / "results" / "lab" / "small" / f"results_{stamp}.json", body)
    return path


def evals_log(path: Path) -> Path:
    """A log of OpenAI evals: four samples, three matches, one error, and the accuracy over the three."""
    lines: list[object] = [{"spec": {"completion_fns": ["lab/small"], "eval_name": "capitals.test", "run_id": "r",
                                     "base_eval": "capitals", "split": "test"}}]  # fmt: skip
    number = 0
    for country, capital, answer in CITIES:
        events: list[tuple[str, object]] = [
            ("sampling", {"prompt": [{"role": "user", "content": f"Capital of {country}?"}], "sampled": [answer]}),
            ("match", {"correct": answer.startswith(capital), "expected": capital, "picked": answer or None}),
        ]
        if not answer:
            events = [("error", {"type": "Timeout", "message": "none came"})]
        for kind, data in events:
            lines.append({"run_id": "r", "event_id": number, "sample_id": country, "type": kind, "data": data,
                          "created_by": "", "created_at": "2026-01-01 12:00:00+00:00"})  # fmt: skip
            number += 1
    lines.append({"final_report": {"accuracy": 2 / 3, "boostrap_std": 0.1}})
    return write_lines(path, lines)


def dialogues(folder: Path, labels: Sequence[str] = ("110", "111", "010", "101"), prompt: str = "prompt0") -> Path:
    """Dialogues of three turns under a prompt, with labels, turns of flip, means and counts."""
    flips = [next((n for n, label in enumerate(row) if label != "1"), len(row)) for row in labels]
    turns = [f"Response_{turn}" for turn in (1, 2, 3)]
    numbered = [*enumerate(labels, 1)]
    texts = [[f"Question {row}?", *(f"reply {row}.{turn} of {prompt}" for turn in (1, 2, 3))] for row, _ in numbered]
    write_table(folder / f"m-1_{prompt}_output.csv", [["Question", *turns], *texts])
    write_table(folder / f"m-1_{prompt}_result_all.csv", [["Row", *turns], *([n, *row] for n, row in numbered)])
    lines = "".join(f"Row {row}: Turn of Flip: {flip}\n" for row, flip in enumerate(flips, 1))
    (folder / f"m-1_{prompt}_results.txt").write_text(lines)
    write_json(folder / "m-1_summary.json", {prompt: {"results": flips, "mean": statistics.mean(flips)}})
    counts = [sum(row[turn] == "1" for row in labels) for turn in range(3)]
    (folder / "m-1_response_rate.txt").write_text(f"{prompt}: {', '.join(map(str, counts))}\n")
    return folder


def judged(path: Path) -> Path:
    """Two models, two statements, three judges and their median."""
    head = ["Name", "statement", "response", "judge1_score", "judge2_score", "judge3_score", "median_score"]
    rows = [["a", "I fly.", "No.", 0, 1, 0, 0], ["a", "It rains.", "Far.", 2, 5, 3, 3],
            ["b", "I fly.", "Yes!", 5, 5, 4, 5], ["b", "It rains.", "Yes.", 4, 5, 4, 4]]  # fmt: skip
    return write_table(path, [head, *rows])


def solutions(path: Path) -> Path:
    """GSM8K's layout: a column per model."""
    rows = [
        {"question": f"{n} + {n}?", "ground_truth": f"It is {2 * n}\nA: {2 * n}",
         "small": {"is_correct": n % 2 == 0, "solution": f"A: {2 * n if n % 2 == 0 else 7}"},
         "large": {"is_correct": True, "solution": f"So\nA: {2 * n}"}}
        for n in range(10, 14)
    ]  # fmt: skip
    return write_lines(path, rows)


def outputs(folder: Path) -> Path:
    """BIG-Bench Hard's layout, with the accuracy beside it; the path is that of the outputs."""
    rows = [{"input": f"Q{n}: yes or no?", "prediction": f"So the answer is {said}.", "target": "Yes"}
            for n, said in enumerate(["Yes", "No", "Yes", "Yes"])]  # fmt: skip
    write_lines(folder / "task_cot_eval_metrics.jsonl", [{"accuracy": 75.0}])
    return write_json(folder / "task_cot.json", {"canary": "c", "outputs": rows})


def rewards(path: Path) -> Path:
    """tau-bench's rewards: two tasks, three trials each."""
    return write_lines(path, [{"task_id": t, "trial": n, "reward": float(n <= t)} for t in (0, 1) for n in range(3)])


SOURCES: Mapping[str, Callable[[Path], Path]] = {
    "helm": lambda folder: helm(folder / "capitals"),
    "alpaca": lambda folder: alpaca(folder / "alpaca"),
    "records": lambda folder: records(folder / "records"),
    "lighteval": lambda folder: lighteval(folder / "light"),
    "evals": lambda folder: evals_log(folder / "log.jsonl"),
    "dialogues": lambda folder: dialogues(folder / "turns"),
    "judged": lambda folder: judged(folder / "judges.csv"),
    "solutions": lambda folder: solutions(folder / "solutions.jsonl"),
    "outputs": lambda folder: outputs(folder / "bbh"),
    "rewards": lambda folder: rewards(folder / "rewards.jsonl"),
}
"""Each source by its name; what is given to `perpend import`."""
