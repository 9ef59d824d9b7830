"""`transformers serve` over the embedded weights: it answers, and it says that it scores no choices."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from perpend.models import openai
from perpend.models.hf.provider import Transformers
from perpend.types import Request, Sampling
from tests.real.test_servers import ASK, one


@pytest.fixture(scope="module")
def transformers_server(dense: Transformers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `transformers serve` over the embedded weights, which it lists by the name of their repository."""
    home = tmp_path_factory.mktemp("serve")
    words = ["serve", unpacked(dense, home / "hub"), "--device", "cpu"]
    program = (
        f"import sys; from transformers.cli.transformers import main; sys.argv[1:] = {words!r} + sys.argv[1:]; main()"
    )
    with started(home, [sys.executable, "-c", program]) as url:
        yield url


@contextmanager
def started(home: Path, command: Sequence[str], **variables: str) -> Iterator[str]:
    """The address of a server over the hub's cache in `home`, which is gone afterwards: it holds 540 MB."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = home / "log"
    offline = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HF_HOME": str(home), "HF_HUB_CACHE": str(home / "hub")}
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--host", "127.0.0.1"],
            stdout=file,
            stderr=file,
            env={**os.environ, **offline, **variables},
            start_new_session=True,
        )
    try:
        while fetched_status(f"http://127.0.0.1:{port}/health") != 200:
            assert process.poll() is None, log.read_text()[-2000:]
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # with the processes that it started
        process.wait()
        shutil.rmtree(home)


def unpacked(dense: Transformers, hub: Path) -> str:
    """The name of a repository that this makes in a hub's cache: `transformers serve` cannot serve a GGUF of Llama.

    Its configuration names no architecture (transformers 5.22), so the weights are saved as they are when unpacked, as
    those of a model that was never packed: transformers saves no other.
    """
    import torch

    loaded = dense.checkpoint.model
    config = loaded.config.to_dict()
    config.pop("quantization_config", None)
    with torch.device("meta"):  # nothing is drawn at random
        plain = type(loaded)(type(loaded.config).from_dict(config))
    plain.load_state_dict(loaded.state_dict(), assign=True)
    plain.tie_weights()
    folder, revision = hub / "models--perpend--smollm2", "0" * 40
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(revision)
    dense.checkpoint.tokenizer.save_pretrained(folder / "snapshots" / revision)
    plain.save_pretrained(folder / "snapshots" / revision)
    return "perpend/smollm2"


def fetched_status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=60) as reply:
            return int(reply.status)
    except OSError:
        return 0


def test_transformers_serve_answers_and_says_that_it_scores_no_choices(transformers_server: str) -> None:
    name = json.loads(urllib.request.urlopen(f"{transformers_server}/v1/models").read())["data"][0]["id"]
    asked = openai.model(name, base_url=f"{transformers_server}/v1", timeout_s=300)
    there = one(asked, Request(ASK.messages, Sampling(max_tokens=12)))
    assert "Paris" in str(there.text), there.error
    assert asked.fingerprint()["provider"] == "openai"
    plainly = openai.model(name, base_url=f"{transformers_server}/v1", endpoint="completions", timeout_s=300)
    refused = one(plainly, Request(ASK.messages, Sampling(), (" Paris", " Rome")))
    assert refused.choice_logprobs is None
    assert "prompt must be a string" in str(refused.error)
    assert "option server" in str(refused.error)
