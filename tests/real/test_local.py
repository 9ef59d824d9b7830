"""The local provider with the embedded model: what it promises, on a real one."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from perpend.canon import JSON, as_list, as_object
from perpend.judging.scorers import SCORERS
from perpend.ledger.items import read_items
from perpend.ledger.store import Store
from perpend.models.local import model
from perpend.models.local.engine import Engine, Service, Setup
from perpend.models.local.variants import KINDS
from perpend.spec.model import Budget
from perpend.studies.conformity.study import task as conformity
from perpend.studies.questions import task as questions_task
from perpend.types import Item, Message, Request, Sampling
from tests.conftest import ROOT

FACTS = ROOT / "src" / "perpend" / "studies" / "conformity" / "items" / "facts.jsonl"
VOCABULARY = 49152
SHORT = Sampling(max_tokens=8)
BRIEF = Message("system", "Answer in one short sentence.")


def questions(count: int, sampling: Sampling = SHORT) -> list[Request]:
    lines = FACTS.read_text(encoding="utf-8").splitlines()[:count]
    return [Request((BRIEF, Message("user", json.loads(line)["prompt"])), sampling) for line in lines]


def texts(requests: Sequence[Request], workers: int) -> list[str | None]:
    batches = model("smollm2", workers=workers).answer(iter(list(enumerate(requests))), Budget())
    given = dict(pair for batch in batches for pair in batch)
    assert sorted(given) == list(range(len(requests)))
    return [given[key].text for key in range(len(requests))]


def likelihoods(engine: Engine, prompt: Sequence[int], *, count: int, is_cached: bool = False) -> dict[int, float]:
    """Log-probabilities of the `count` likeliest next tokens."""
    body = {"prompt": list(prompt), "max_tokens": 1, "n_probs": count, "temperature": 0.0, "cache_prompt": is_cached}
    reply = engine._service.server.handle_completions(body)
    (step,) = as_list(as_object(as_object(as_list(reply["choices"])[0])["logprobs"])["content"])
    found = [as_object(entry) for entry in as_list(as_object(step)["top_logprobs"])]
    return {int(str(entry["id"])): float(str(entry["logprob"])) for entry in found}


def test_the_same_answers_at_temperature_0_and_with_a_seed_for_any_number_of_workers(engine: Engine) -> None:
    drawn = questions(4, Sampling(temperature=1.0, max_tokens=8, seed=7))
    requests = [*questions(4), *drawn]
    here = [engine.answer(request).text for request in requests]
    assert here == texts(requests, workers=1) == texts(list(reversed(requests)), workers=2)[::-1]
    # A draw is a draw: not every answer is the likeliest one.
    assert here[:4] != here[4:]


def test_another_seed_draws_another_answer(engine: Engine) -> None:
    said = {engine.answer(questions(1, Sampling(1.0, 8, seed))[0]).text for seed in range(3)}
    assert len(said) > 1


def test_a_cached_beginning_changes_no_likelihood(engine: Engine) -> None:
    # Long prompts and short: how llama.cpp computes depends on how many tokens are new, if nothing is done about it.
    items = [item for _, item in itertools.islice(read_items(FACTS), 2)]
    asked = [condition.render(item) for item in items for condition in conformity().conditions[1:]]
    prompts = [engine.tokens(engine.render(messages)) for messages in asked]
    assert max(map(len, prompts)) > 100
    prompts += [prompts[0][:end] for end in (32, 33, 40, 41, 42, 45)]
    alone = [likelihoods(engine, prompt, count=50) for prompt in prompts]
    # Each begins like the one before it, and only its end is read anew; the last ones grow by a single token.
    assert [likelihoods(engine, prompt, count=50, is_cached=True) for prompt in prompts] == alone


def test_the_prompt_that_the_model_is_fed_is_the_one_that_llama_cpp_itself_renders(
    engine: Engine, weights: Path
) -> None:
    own = Service(weights, context=64)
    for messages in ((Message("user", " 2 + 2?\n"),), (BRIEF, Message("user", "2 + 2?"), Message("assistant", "4"))):
        said: list[JSON] = [{"role": message.role, "content": message.content} for message in messages]
        assert own.post("/apply-template", {"messages": said})["prompt"] == engine.render(messages)
        usage = engine.answer(Request(messages, Sampling(max_tokens=1))).usage
        assert usage is not None
        assert usage.prompt_sha256 == hashlib.sha256(engine.render(messages).encode()).hexdigest()


def test_the_file_s_template_brings_a_system_message_of_its_own(engine: Engine) -> None:
    asked = Message("user", "2 + 2?")
    assert engine.render((asked,)) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert engine.render((BRIEF, asked)).startswith("<|im_start|>system\nAnswer in one short sentence.<|im_end|>\n")


def brute_force(engine: Engine, start: tuple[int, ...], choices: Sequence[tuple[int, ...]]) -> list[float]:
    """For each choice's tokens the sum of their log-probabilities, each out of the softmax over the whole vocabulary.

    llama.cpp adds up the softmax in single precision, which is wrong by some 1e-5; here it is added up anew.
    """
    after: dict[tuple[int, ...], dict[int, float]] = {}
    for tokens in choices:
        for at in range(len(tokens)):
            if tokens[:at] not in after:
                found = likelihoods(engine, start + tokens[:at], count=VOCABULARY)
                assert len(found) == VOCABULARY
                whole = math.log(math.fsum(map(math.exp, found.values())))
                after[tokens[:at]] = {token: logprob - whole for token, logprob in found.items()}
    return [math.fsum(after[tokens[:at]][tokens[at]] for at in range(len(tokens))) for tokens in choices]


def test_choices_in_chat_are_scored_as_by_brute_force_over_the_vocabulary(engine: Engine) -> None:
    choices = ("TRUE", "FALSE")
    request = Request((Message("user", "Is Paris in France? TRUE or FALSE."),), Sampling(), choices)
    given = engine.answer(request)
    prompt = engine.tokens(engine.render(request.messages))
    expected = brute_force(engine, prompt, [engine.tokens(choice) for choice in choices])
    assert given.choice_logprobs is not None
    assert [score.tokens for score in given.choice_logprobs] == [2, 3]
    # llama.cpp adds up its softmax over 49,152 tokens in single precision.
    assert [score.total for score in given.choice_logprobs] == pytest.approx(expected, abs=5e-4)
    assert given.text == choices[0 if expected[0] > expected[1] else 1]


def test_choices_in_a_blank_are_scored_with_the_space_before_them_as_one_token(plain: Engine) -> None:
    choices = ("work", "sleep")
    given = plain.answer(Request((Message("user", "I need to ___ late tonight."),), Sampling(), choices))
    spelled = [plain.tokens(f" {choice}") for choice in choices]
    expected = brute_force(plain, plain.tokens("I need to"), spelled)
    assert given.choice_logprobs is not None
    assert [score.tokens for score in given.choice_logprobs] == [1, 1]
    # llama.cpp adds up its softmax over 49,152 tokens in single precision.
    assert [score.total for score in given.choice_logprobs] == pytest.approx(expected, abs=5e-4)


def test_a_choice_s_score_does_not_depend_on_the_other_choices(plain: Engine) -> None:
    def scores(*choices: str) -> Mapping[str, float | None]:
        asked = Request((Message("user", "The capital of France is"),), Sampling(), choices)
        found = plain.answer(asked).choice_logprobs
        assert found is not None
        return {choice: score.total for choice, score in zip(choices, found, strict=True)}

    both = scores(" Paris", " Rome")
    assert both == {**scores(" Rome"), **scores(" Paris")}
    assert (both[" Paris"] or -math.inf) > (both[" Rome"] or -math.inf)


def test_a_choice_at_the_beginning_of_a_text_is_scored_after_the_first_special_token(plain: Engine) -> None:
    given = plain.answer(Request((Message("user", "___ barks."),), Sampling(), ("Dog",)))
    (token,) = plain.tokens("Dog")
    assert given.choice_logprobs is not None
    assert given.choice_logprobs[0].total == plain._logprob(plain.tokens("<|im_start|>"), token)


def test_the_rest_of_the_sentence_counts_when_it_is_asked_for(weights: Path, plain: Engine) -> None:
    asked = Request((Message("user", "The dog ___ every morning."),), Sampling(), ("barks",))
    (whole,) = Engine(Setup(weights, "completions", whole_sentence=True)).answer(asked).choice_logprobs or ()
    (alone,) = plain.answer(asked).choice_logprobs or ()
    assert whole.tokens > alone.tokens


def test_an_answer_that_meets_the_token_limit_is_unfinished(engine: Engine) -> None:
    asked = (BRIEF, Message("user", "What is the capital of France?"))
    cut, whole = (engine.answer(Request(asked, Sampling(max_tokens=n))) for n in (2, 32))
    assert (cut.finish, whole.finish) == ("length", "stop")
    assert cut.usage is not None
    assert cut.usage.output == 2
    judge = SCORERS["unfinished"][-1].judge
    item = Item("france", "What is the capital of France?", "Paris")
    assert (judge(item, cut).value, judge(item, whole).value) == (1.0, 0.0)


def test_a_stop_word_ends_the_answer_before_it(engine: Engine) -> None:
    asked = (BRIEF, Message("user", "What is the capital of France?"))
    given = engine.answer(Request(asked, Sampling(max_tokens=32, stop=(" is",))))
    assert given.text == "The capital of France"
    assert given.finish == "stop"


def test_a_prompt_longer_than_the_context_is_an_error_and_never_cut(engine: Engine) -> None:
    given = engine.answer(Request((Message("user", "word " * 3000),), Sampling(max_tokens=4)))
    assert given.error is not None
    assert "exceeds the available context size" in given.error


def children(pid: int) -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            yield int(entry.parent.name)


def stored(directory: Path) -> list[tuple[str, str | None]]:
    with Store.open(directory / "run.db") as store:
        return [(trial.item.id, response.text) for trial, response in store.answers()]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the workers in /proc")
def test_a_worker_killed_in_the_middle_of_a_run_loses_and_doubles_nothing(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(FACTS.read_text(encoding="utf-8").splitlines()[:16]) + "\n", encoding="utf-8")
    command = [sys.executable, "-c", "from perpend.cli import main; main()", "eval", "--task", "questions"]
    command += ["--items", str(path), "--model", "local/smollm2", "--workers", "2", "--max-tokens", "8"]
    command += ["--quiet", "--no-score", "--out", str(tmp_path / "runs"), "--name", "hurt"]
    killed: list[int] = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
        while run.poll() is None and len(killed) < 2:
            if (tmp_path / "runs" / "hurt" / "manifest.json").exists():
                workers = [pid for pid in children(run.pid) if pid not in killed]
                if workers and len(stored(tmp_path / "runs" / "hurt")) >= 3 * (1 + len(killed)):
                    os.kill(workers[0], signal.SIGKILL)
                    killed.append(workers[0])
            time.sleep(0.02)
    assert (run.returncode, len(killed)) == (0, 2)
    condition = questions_task().conditions[0]
    expected = [
        (item.id, engine.answer(Request(condition.render(item), Sampling(max_tokens=8))).text)
        for _, item in read_items(path)
    ]
    assert stored(tmp_path / "runs" / "hurt") == expected


def test_requantised_variants_load_and_are_other_models(
    variants: Mapping[str, Path], weights: Path, engine: Engine
) -> None:
    asked = Request((BRIEF, Message("user", "Is ice cold?")), Sampling(), ("Yes", "No"))
    scores = {"q4_1": engine.answer(asked).choice_logprobs}
    for kind, path in variants.items():
        made = model(str(path))
        assert made.name == f"local/SmolLM2-135M-Instruct.{kind.upper()}.gguf"
        assert made.fingerprint()["template_sha256"] == model("smollm2").fingerprint()["template_sha256"]
        scores[kind] = Engine(Setup(path)).answer(asked).choice_logprobs
    assert set(scores) == {"q4_1", *KINDS}
    assert None not in scores.values()
    assert len(set(scores.values())) == 4
    # The same weights all the same: no variant is far from its source.
    source, *others = (found[0].total or math.nan for found in scores.values() if found is not None)
    assert all(abs(other - source) < 1.5 for other in others)
