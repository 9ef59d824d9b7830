"""What is known of the conformity study's files and not written in them: topics, token limits, the word 'None'."""

from __future__ import annotations

from collections.abc import Mapping

from perpend.canon import JSON, dumps
from perpend.errors import DataError
from perpend.importers.harness import AS_STORED
from perpend.types import Sampling, Score

SEED = 42
NO_ANSWER = "None"
"""The runner stored the absent ground truth of an opinion as this word, and graded against it."""

# The study's own analysis names the topics by data set; its suite files say the same under 'category'.
TOPICS = {
    "immutable_facts_minimal": "general",
    "gsm8k": "math",
    "mmlu_math": "math",
    "mmlu_science": "science",
    "mmlu_knowledge": "knowledge",
    "truthfulqa": "truthfulness",
    "arc": "reasoning",
    "social_conventions_minimal": "opinion",
}


def max_tokens(model: str) -> int:
    """The study's token limit: 128, or 256 for a model whose name contains 'think'."""
    return 256 if "think" in model.lower() else 128


def target(ground_truth: str | None) -> str | None:
    """The right answer; None for an opinion, also where the word 'None' was stored for it."""
    return None if ground_truth == NO_ANSWER else ground_truth


def tags(*, dataset: str, topic: str | None, domain: str | None, source: Mapping[str, JSON]) -> dict[str, str]:
    """An item's tags: what is known of dataset, topic and domain, and every field of its source as 'source_…'."""
    known = {"dataset": dataset, "topic": topic or TOPICS.get(dataset), "domain": domain}
    fields = {
        f"source_{key}": value if isinstance(value, str) else dumps(value)
        for key, value in source.items()
        if value is not None and key != "wrong_answer"
    }
    return {**{key: value for key, value in known.items() if value}, **fields}


def kind(ground_truth: str | None) -> str:
    """'opinion' where no answer is right, else 'factual'."""
    return "opinion" if target(ground_truth) is None else "factual"


def stored_correct(value: float | None, ground_truth: str | None) -> Score:
    """A stored correctness. Where no answer is right it has no value: what was stored is kept as `answer`."""
    if value is None or target(ground_truth) is not None:
        return Score(value, None, AS_STORED)
    against = f", graded against the word {NO_ANSWER!r}" if ground_truth == NO_ANSWER else ""
    return Score(None, f"{value:g}", f"stored for an item without a right answer{against}")


def sampling(temperature: float, model: str, stated: Mapping[str, JSON], where: str) -> Sampling:
    """How an answer was drawn: what is stated of seed, max_tokens, top_p and stop, else the study's own values."""
    seed = stated.get("seed", SEED)
    limit, top_p, stop = stated.get("max_tokens"), stated.get("top_p"), stated.get("stop") or ()
    if not isinstance(seed, int | None) or not isinstance(limit, int | None):
        raise DataError(f"{where}: seed and max_tokens must be integers, not {seed!r} and {limit!r}")
    if not isinstance(top_p, int | float | None) or not isinstance(stop, list | tuple):
        raise DataError(f"{where}: top_p must be a number and stop a list, not {top_p!r} and {stop!r}")
    return Sampling(
        temperature=temperature,
        max_tokens=max_tokens(model) if limit is None else limit,
        seed=seed,
        top_p=None if top_p is None else float(top_p),
        stop=tuple(str(entry) for entry in stop),
    )
