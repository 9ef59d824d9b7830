"""python -m tests.more.harnesses.logs FOLDER: what two other harnesses write, without a network, small.

tests/recorded holds what it wrote, for the tests of `make test`, which installs neither.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

# Usage is stated, because the mock model would fetch a tokenizer from the network to count.
EVALUATION = """
import json, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ContentReasoning, ContentText, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice, match
from inspect_ai.solver import generate, multiple_choice, system_message

def said(content, stop="stop"):
    output = ModelOutput.from_content("mockllm/model", content, stop_reason=stop)
    output.usage = ModelUsage(input_tokens=11, output_tokens=3, total_tokens=14)
    return output

def run(task, outputs, folder, form):
    log = eval(
        task, model=get_model("mockllm/model", custom_outputs=outputs), log_dir=folder,
        log_format=form, display="none", temperature=0.5, max_tokens=64, seed=7, max_samples=1, max_connections=1,
    )[0]
    return {score.name: score.metrics["accuracy"].value for score in log.results.scores}

tags = {"topic": "sums"}
sums = [Sample(id=f"q{n}", input=f"What is {n} + {n}?", target=str(2 * n), metadata=tags) for n in range(5)]
reported = {}
for form in ("eval", "json"):
    texts = [str(2 * n if (n + epoch) % 3 else 99) for epoch in range(2) for n in range(5)]
    task = Task(dataset=sums, solver=[system_message("Be brief."), generate()], scorer=match(), name="sums", epochs=2)
    reported[form] = run(task, [said(text) for text in texts], form, form)
picks = [Sample(id=n, input="Pick one.", choices=["red", "green", "blue"], target="B") for n in range(3)]
thought = [ContentReasoning(reasoning="Is it A? No."), ContentText(text="ANSWER: B")]
outputs = [said(thought), said("ANSWER: A"), said("ANSWER: B", "max_tokens")]
task = Task(dataset=picks, solver=multiple_choice(), scorer=choice(), name="picks")
reported["picks"] = run(task, outputs, "picks", "eval")
print(json.dumps(reported))
"""
TASK = """
task: {task}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {task}.jsonl}}}}
test_split: test
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
"""
PICK = """
output_type: multiple_choice
doc_to_target: answer
doc_to_choice: "{{choices}}"
metric_list: [{metric: acc}, {metric: acc_norm}]
"""
# The dummy model says 'lol' to everything; the filter 'none' leaves it so, 'short' cuts it.
SAY = """
output_type: generate_until
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"], do_sample: false, max_gen_toks: 16}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
filter_list:
  - {name: none, filter: [{function: take_first}]}
  - {name: short, filter: [{function: regex, regex_pattern: "(lo)"}, {function: take_first}]}
"""


def _say(command: list[str], folder: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
        cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", **environment},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def write_inspect(folder: Path) -> Path:
    """Logs of inspect_ai in eval/, json/ and picks/, and in reported.json the accuracies that it reports."""
    folder.mkdir(parents=True)
    said = _say([sys.executable, "-c", EVALUATION], folder, INSPECT_LOG_LEVEL="error")
    (folder / "reported.json").write_text(said.splitlines()[-1] + "\n", encoding="utf-8")
    return folder


def write_lm_eval(folder: Path) -> Path:
    """The folder that lm_eval writes: results and samples of two tasks."""
    folder.mkdir(parents=True)
    picks = [
        {"question": f"Which is {n}?", "choices": [f"{n}", f"{n + 1}", f"{n + 2}"], "answer": n % 3} for n in range(12)
    ]
    says = [{"question": f"Say word {n}.", "answer": "lol" if n % 3 else "no", "topic": f"t{n % 2}"} for n in range(6)]
    for task, config, rows in (("pick", PICK, picks), ("say", SAY, says)):
        (folder / f"{task}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / f"{task}.yaml").write_text(TASK.format(task=task) + config)
    command = [sys.executable, "-m", "lm_eval", "--model", "dummy", "--tasks", "pick,say", "--include_path", "."]
    _say([*command, "--log_samples", "--output_path", "out"], folder, HF_HOME=str(folder / "hf"))
    [out] = (folder / "out").iterdir()
    return out


if __name__ == "__main__":
    print(write_inspect(Path(sys.argv[1]) / "inspect_ai"), write_lm_eval(Path(sys.argv[1]) / "lm_eval"))
