"""What `chaosbench eval` is asked for: one run's settings, as flags give them and as a run folder keeps them."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from perpend.ask.task import Task, make_task
from perpend.canon import JSON, digest, portable_name
from perpend.errors import SpecError, did_you_mean
from perpend.spec.resolve import names
from perpend.spec.runspec import Limits, ModelSpec, RunSpec, written_name
from perpend.studies.logic.chaosbench.hashes import SHORT
from perpend.types import Sampling

TASK = "logic"
ITEMS = "items.jsonl"
"""The items of a run, in the order in which they are asked, inside its folder."""
PROMPT_VERSION = "perpend-1"
PARSERS = {"careful": "label@4", "strict": "label@1", "lenient": "label_lenient@1"}
FAMILIES = (
    "adversarial", "atomic", "consistency_paraphrase", "cross_indicator", "extended_systems", "fol_inference",
    "indicator_diagnostics", "multi_hop", "perturbation_robustness", "regime_transition",
)  # fmt: skip


class Server(NamedTuple):
    """A provider that speaks OpenAI's protocol: its address, and the environment variables that may hold its key."""

    base_url: str
    key_names: tuple[str, ...]

    def api_key_env(self) -> str:
        """The first of the variables that is set; the first of all where none is."""
        return next((name for name in self.key_names if name in os.environ), self.key_names[0])


SERVERS = {
    "gemini": Server("https://generativelanguage.googleapis.com/v1beta/openai", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "deepseek": Server("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "openrouter": Server("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "groq": Server("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
}
FILES = frozenset(("callable", "replay"))
"""Providers whose model is a file of this machine."""
BATCHED = frozenset(("hf", "mock", "ngram"))
"""Providers that have no workers: one process answers many requests at a time."""
# OpenAI's reasoning models refuse 'max_tokens' and name the limit otherwise.
_REASONING = re.compile(r"(?:o\d|gpt-5)")
_LEAST = {"max_items": 1, "workers": 1, "retries": 0, "max_tokens": 1, "truncate_pred_text": 1}
# What may change when a run is resumed: how fast and for how much, not what is asked.
RESUMABLE = frozenset(("workers", "base_url", "max_usd", "usd_per_million_input", "usd_per_million_output"))


@dataclass(frozen=True, slots=True)
class Settings:
    """One run of the protocol. `max_items` are drawn by `seed`; `shuffle_seed` then reorders them."""

    provider: str
    model: str | None = None
    max_items: int | None = None
    seed: int = 42
    workers: int = 1
    retries: int = 1
    temperature: float = 0.0
    max_tokens: int = 128
    parsing: str = "careful"
    shuffle_seed: int | None = None
    phase: str | None = None
    truncate_pred_text: int | None = None
    max_usd: float | None = None
    usd_per_million_input: float | None = None
    usd_per_million_output: float | None = None
    base_url: str | None = None

    def __post_init__(self) -> None:
        known = {*SERVERS, *names("models")}
        if self.provider not in known:
            raise SpecError(f"unknown provider {self.provider!r}; {did_you_mean(self.provider, known)}")
        if self.model is None and self.provider != "mock":
            raise SpecError(f"--provider {self.provider} needs --model; for example --model qwen2.5:14b")
        if self.parsing not in PARSERS:
            raise SpecError(f"unknown parsing {self.parsing!r}; {did_you_mean(self.parsing, PARSERS)}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise SpecError(f"--{name.replace('_', '-')} must be {least} or more, not {value}")
        if not (math.isfinite(self.temperature) and self.temperature >= 0.0):
            raise SpecError(f"--temperature must be a number of at least 0, not {self.temperature}")
        if self.max_usd is not None and None in (self.usd_per_million_input, self.usd_per_million_output):
            raise SpecError(
                "--max-usd needs prices: give --usd-per-million-input and --usd-per-million-output for this model"
            )

    @property
    def provider_name(self) -> str:
        """'mock', or provider/model: what run ids and tables show."""
        return self.provider if self.model is None else written_name(f"{self.provider}/{self.model}")

    @property
    def parser(self) -> str:
        """The scorer that decides what a reply says."""
        return PARSERS[self.parsing]

    def as_json(self) -> dict[str, JSON]:
        """What the run folder keeps: no address, and of a model that is a file only its name."""
        kept = {key: value for key, value in asdict(self).items() if key != "base_url"}
        return kept | {"model": None if self.model is None else self.provider_name.partition("/")[2]}

    def stated(self) -> dict[str, JSON]:
        """What a run manifest says of the settings by the reference's names, beside `settings` themselves."""
        return {
            "provider": self.provider_name,
            "max_items": self.max_items,
            "seed": self.seed,
            "retries": self.retries,
            # The reference has two rules; the careful one is neither of them.
            "strict_parsing": {"strict": True, "lenient": False}.get(self.parsing),
            "workers": self.workers,
            "order_mode": "canonical" if self.shuffle_seed is None else "shuffled",
            "shuffle_seed": self.shuffle_seed,
            "budget": {
                "max_usd": self.max_usd,
                "truncate_pred_text": self.truncate_pred_text,
                "phase": self.phase,
                "dry_run_cost": None,
            },
            "parser": self.parser,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }

    def spec(self, directory: Path) -> RunSpec:
        """The run as perpend's runner takes it, in a folder that holds its items."""
        return RunSpec(
            task=TASK,
            models=(self._model(),),
            items=(directory / ITEMS,),
            name=directory.name,
            options=make_task(TASK, self.task_options()).options,
            samplings=(Sampling(self.temperature, self.max_tokens, self.seed),),
            seed=self.seed,
            limits=Limits(max_usd=self.max_usd),
        )

    def task_options(self) -> dict[str, JSON]:
        """The options of the task: the parser, and whether an invalid reply is asked for again."""
        return {"parser": self.parser, "reprompt": self.retries > 0}

    def _model(self) -> ModelSpec:
        name = self.model or "true"
        server = SERVERS.get(self.provider)
        options: dict[str, JSON] = {}
        if self.provider not in FILES | BATCHED:
            options["workers"] = self.workers
        if server is not None:
            options |= {"base_url": server.base_url, "api_key_env": server.api_key_env()}
        if self.base_url is not None:
            options["base_url"] = self.base_url
        if self.provider == "openai" and _REASONING.match(name):
            options["max_tokens_field"] = "max_completion_tokens"
        return ModelSpec(
            name=f"{'openai' if server else self.provider}/{name}",
            label=self.provider_name,
            options=options,
            usd_per_million_input=self.usd_per_million_input,
            usd_per_million_output=self.usd_per_million_output,
        )

    def run_id(self, stamp: str) -> str:
        """'YYYYMMDDTHHMMSSZ_provider_model', with what some file system refuses replaced by '-'."""
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", self.provider_name.replace("/", "_")).strip("._-")
        return portable_name(f"{stamp}_{plain}")


def settings_from(body: Mapping[str, object], where: str) -> Settings:
    """The settings that flags or a run folder state; what they do not state keeps its default."""
    picked = {key: value for key, value in body.items() if key in _TYPES}
    for key, value in picked.items():
        if not isinstance(value, _TYPES[key]) or isinstance(value, bool):
            raise SpecError(f"{where}: {key} cannot be {value!r}")
    return Settings(**picked)  # type: ignore[arg-type]  # each was checked just above


_MAYBE = (type(None),)
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("provider", "parsing"), (str,)),
    **dict.fromkeys(("model", "phase", "base_url"), (str, *_MAYBE)),
    **dict.fromkeys(("seed", "workers", "retries", "max_tokens"), (int,)),
    **dict.fromkeys(("max_items", "shuffle_seed", "truncate_pred_text"), (int, *_MAYBE)),
    "temperature": (int, float),
    **dict.fromkeys(("max_usd", "usd_per_million_input", "usd_per_million_output"), (int, float, *_MAYBE)),
}


def resumed(before: Settings, given: Mapping[str, object], where: str) -> Settings:
    """The settings of a run that is resumed: its own, with the speed and the budget that are given now.

    Any other flag that differs from the run is refused.
    """
    stated = {key: value for key, value in given.items() if key in _TYPES}
    # A model that is a file has to be named again: the run folder does not hold its path. Its digest is checked.
    is_same = written_name(f"{before.provider}/{stated.get('model')}") == before.provider_name
    free = RESUMABLE | ({"model"} if before.provider in FILES or is_same else set())
    differ = [
        f"--{key.replace('_', '-')} {getattr(before, key)} → {value}"
        for key, value in stated.items()
        if key not in free and getattr(before, key) != value
    ]
    if differ:
        raise SpecError(f"{where}: the run was begun otherwise: {', '.join(differ)}. Leave these out, or start anew.")
    return settings_from({**before.as_json(), **stated}, where)


def resume_command(directory: Path, settings: Settings, given: Mapping[str, object]) -> str:
    """What a shell takes to resume a run: its folder, and what was given now and the folder does not keep.

    A server's address and a model that is a file are not written into a run's folder; speed and budget may have been
    given anew. No flag holds a secret: keys are in the environment.
    """
    is_file = settings.provider in FILES or settings.as_json()["model"] != settings.model
    named = RESUMABLE | ({"model"} if is_file else set())
    flags = [
        word
        for key, value in given.items()
        if key in named and value is not None
        for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    return shlex.join(["chaosbench", "eval", "--resume", str(directory), *flags])


def prompt_hash(task: Task) -> str:
    """16 hex digits over every word that the model is sent: the whole template, and the second turn."""
    return digest(prompt_texts(task))[:SHORT]


def prompt_texts(task: Task) -> dict[str, JSON]:
    """What `prompt_hash` covers."""
    return {
        "conditions": [dict(condition.params) for condition in task.conditions],
        "reprompt": None if task.reprompt is None else dict(task.reprompt.params),
    }


class Tier(NamedTuple):
    """One row of the run plan: the subset or data set of each run, and its other settings."""

    subsets: tuple[str | None, ...]
    """None is the canonical set."""
    max_items: int | None = None
    provider: str | None = None


_SUITES = tuple(f"data/subsets/subset_family_suites/{family}.jsonl" for family in FAMILIES)
TIERS = {
    "P0": Tier(("data/subsets/subset_1k_armored.jsonl",), max_items=50, provider="mock"),
    "P1": Tier(("data/subsets/subset_5k_armored.jsonl",)),
    "P2": Tier((None,)),
    "P3": Tier((None,)),
    "P4": Tier(_SUITES),
}
