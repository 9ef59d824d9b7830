"""A real vLLM over the embedded weights: it answers what transformers computes, and adds no rule of its own to a draw.

vLLM pins its dependencies, so it is not installed with ours: PERPEND_VLLM is the path of its program (`vllm`) in an
environment of its own. Its build for processors serves, too: everything here is in single precision.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from perpend.cli import cli
from perpend.errors import ModelError
from perpend.ledger.manifest import read_manifest
from perpend.models import openai
from perpend.models.hf.provider import Transformers
from perpend.spec.model import Budget, Model
from perpend.types import Message, Request, Sampling
from tests.more.torch.real.test_serve import started, unpacked
from tests.real.test_servers import ASK, counted, one

PROGRAM = shutil.which(os.environ.get("PERPEND_VLLM", "vllm"))
FLAGS = ("--dtype", "float32", "--max-model-len", "2048", "--enforce-eager")
# What the repository of Qwen2.5 has: vLLM adds it to each request that does not say otherwise.
RULES = {"repetition_penalty": 1.05, "top_p": 0.8, "top_k": 20}
QUESTIONS = (
    "What is the capital of Canada?",
    "How many legs does a spider have?",
    "Who wrote Hamlet?",
    "What is 7 + 5?",
)

pytestmark = pytest.mark.skipif(
    PROGRAM is None,
    reason="no vLLM here: install it in an environment of its own and set PERPEND_VLLM to its program",
)


@pytest.fixture(scope="module")
def home(dense: Transformers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub's cache with the embedded weights, and rules for drawing beside them."""
    folder = tmp_path_factory.mktemp("vllm")
    unpacked(dense, folder / "hub")
    (settings,) = (folder / "hub").rglob("generation_config.json")
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **RULES}))
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    command = [str(PROGRAM), "serve", "perpend/smollm2", *FLAGS]
    with started(home, command, VLLM_CPU_KVCACHE_SPACE="1", VLLM_NO_USAGE_STATS="1") as url:
        yield f"{url}/v1"


def served(address: str, **options: object) -> Model:
    chosen: dict[str, object] = {"base_url": address, "server": "vllm", "retries": 0, **options}
    return openai.model("perpend/smollm2", **chosen)  # type: ignore[arg-type]  # a test passes what it likes


def texts(model: Model) -> list[str | None]:
    requests = [Request((Message("user", question),), Sampling(max_tokens=32)) for question in QUESTIONS]
    answers = dict(pair for batch in model.answer(enumerate(requests), Budget()) for pair in batch)
    return [answers[number].text for number in range(len(requests))]


def test_vllm_answers_as_transformers_does_unless_its_own_rules_are_asked_for(
    address: str, dense: Transformers
) -> None:
    assert counted(one(served(address))) == ("The capital of France is Paris.", "stop", 43, 8)
    assert texts(served(address)) == texts(dense)
    assert texts(served(address, server_rules=True)) != texts(dense)


def test_vllm_reports_the_token_limit_and_the_context(address: str) -> None:
    assert one(served(address), Request(ASK.messages, Sampling(max_tokens=2))).finish == "length"
    too_long = one(served(address), Request((Message("user", "word " * 3000),), Sampling()))
    assert "maximum context length" in str(too_long.error)


def test_a_seed_gives_the_same_draw_again(address: str) -> None:
    drawn = [one(served(address), Request(ASK.messages, Sampling(1.0, 16, seed=seed))).text for seed in (7, 7, 8)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("whole_sentence", [False, True])
@pytest.mark.parametrize("engine", ["vllm", ""])
def test_vllm_scores_choices_as_transformers_does(
    address: str, weights: Path, engine: str, whole_sentence: bool
) -> None:
    """By its prompt_logprobs, and by OpenAI's old `echo`, which it still has."""
    from perpend.models.hf import model

    del weights
    here = model("smollm2", device="cpu", dtype="float32", endpoint="completions", whole_sentence=whole_sentence)
    there = served(address, server=engine, endpoint="completions", whole_sentence=whole_sentence)
    cases = {
        "The capital of France is": (" Paris", " Rome"),
        "She ___ hard.": ("works", "worked"),
        "At the café the naïve ___ a résumé": ("wrote", "writes", "wrïtes"),
    }
    for text, choices in cases.items():
        request = Request((Message("user", text),), Sampling(), choices)
        ours, theirs = one(here, request), one(there, request)
        assert ours.choice_logprobs is not None
        assert theirs.choice_logprobs is not None, theirs.error
        assert theirs.text == ours.text
        assert [score.tokens for score in theirs.choice_logprobs] == [score.tokens for score in ours.choice_logprobs]
        totals = [[score.total for score in scores] for scores in (theirs.choice_logprobs, ours.choice_logprobs)]
        assert totals[0] == pytest.approx(totals[1], abs=0.002)  # nats; sums of up to 12 tokens in single precision


def test_another_server_than_was_said_ends_the_run(address: str) -> None:
    request = Request(ASK.messages, Sampling(), (" Paris", " Rome"))
    with pytest.raises(ModelError, match="404"):
        one(served(address, server="sglang", endpoint="completions"), request)


def test_the_fingerprint_has_vllm_s_version_and_whose_rules_a_draw_follows(address: str) -> None:
    facts = served(address).fingerprint()
    assert facts["server"].startswith("vllm 0.")
    assert (facts["owned_by"], facts["sampling_rules"]) == ("vllm", "none")
    assert served(address, server_rules=True).fingerprint()["sampling_rules"] == "the server's"
    assert not any("/" in fact for name, fact in facts.items() if name != "model"), "the weights' path is not in it"


def test_eval_starts_vllm_and_stops_it(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_CACHE": str(home / "hub"),
        "VLLM_CPU_KVCACHE_SPACE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(
        'task = "conformity"\nmax_items = 2\n[[model]]\nname = "openai/perpend/smollm2"\nserver = "vllm"\n'
        "[sampling]\nmax_tokens = 8\n"
    )
    command = f"{PROGRAM} serve {{model}} --host 127.0.0.1 --port {{port}} {' '.join(FLAGS)}"
    done = CliRunner().invoke(cli, ["eval", "run.toml", "--name", "served", "--serve", command, "--quiet"])
    assert done.exit_code == 0, done.output + str(done.exception)
    (facts,) = read_manifest(Path("runs/served")).models
    assert facts.fingerprint["server"].startswith("vllm 0.")
    assert facts.fingerprint["server_flags"].startswith("vllm serve {model} --host 127.0.0.1 --port {port}")
