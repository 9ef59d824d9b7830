"""A checkpoint's folder is data: what would run, or reach out of the folder, is refused; and a canary proves it."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from perpend.errors import ModelError
from perpend.models.hf import model
from tests.more.torch.test_models_hf_provider import ask, checkpoint, question


class _Canary:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return checkpoint(tmp_path / "model")


def code(canary: Path) -> str:
    return f"import os\nos.mkdir({str(canary)!r})\nclass Thing: pass\ndef generate(model, **_): return None\n"


def state(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


AUTO_MAP = dict.fromkeys(("AutoConfig", "AutoModelForCausalLM", "AutoTokenizer", "AutoProcessor"), "thing.Thing")


def test_code_beside_a_known_architecture_is_never_run(folder: Path, tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    (folder / "custom_generate").mkdir()
    for file in ("thing.py", "custom_generate/generate.py", "modeling_llama.py", "tokenization_x.py"):
        (folder / file).write_text(code(canary), encoding="utf-8")
    for file in ("config.json", "tokenizer_config.json", "generation_config.json"):
        state(folder / file, auto_map=AUTO_MAP, custom_generate="custom_generate")
    tokens = ["thing.Thing", "thing.Thing"]
    state(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": tokens}, processor_class="Thing")
    assert ask(model(str(folder), device="cpu"), [question("hello")])[0].text is not None
    assert not canary.exists()


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_an_architecture_that_needs_its_own_code_is_refused_and_says_what_to_do(
    folder: Path, tmp_path: Path, file: str
) -> None:
    canary = tmp_path / "ran"
    (folder / "thing.py").write_text(code(canary), encoding="utf-8")
    tokens = {"AutoTokenizer": ["thing.Thing", None]}
    changes: dict[str, object] = {"model_type": "thing", "auto_map": AUTO_MAP}
    state(folder / file, **(changes if file == "config.json" else {"tokenizer_class": "Thing", "auto_map": tokens}))
    with pytest.raises(ModelError, match="needs Python code of its own, which is never run; use an architecture"):
        model(str(folder), device="cpu")
    assert not canary.exists()


def _pickled(folder: Path, canary: Path, name: str) -> None:
    (folder / name).write_bytes(pickle.dumps(_Canary(canary)))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.ckpt", "x.pkl"])
def test_pickled_weights_are_refused(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / "model.safetensors").unlink()
    _pickled(folder, tmp_path / "ran", name)
    with pytest.raises(ModelError, match=rf"no weights in safetensors \(only {name}, which can run code"):
        model(str(folder), device="cpu")
    assert not (tmp_path / "ran").exists()


def test_pickles_beside_safetensors_are_not_opened(folder: Path, tmp_path: Path) -> None:
    for name in ("pytorch_model.bin", "training_args.bin", "tokenizer.pkl", "vocab.npy", "adapter_model.bin"):
        _pickled(folder, tmp_path / "ran", name)
    os.mkfifo(folder / "optimizer.pt")
    model(str(folder), device="cpu")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "shard", ["../outside.safetensors", "{}/outside.safetensors", "shard.bin", "none.safetensors", 7]
)
def test_an_index_names_only_safetensors_of_its_own_folder(folder: Path, tmp_path: Path, shard: object) -> None:
    shutil.move(folder / "model.safetensors", tmp_path / "outside.safetensors")
    shutil.copy(tmp_path / "outside.safetensors", folder / "other.safetensors")
    _pickled(folder, tmp_path / "ran", "shard.bin")
    named = shard.format(tmp_path) if isinstance(shard, str) else shard
    index = {"metadata": {}, "weight_map": {"lm_head.weight": named}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(ModelError, match=r"index\.json: names .*, which is no safetensors file of this folder"):
        model(str(folder), device="cpu")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("weights", ["adapter_model.bin", "../outside.safetensors"])
def test_a_configuration_names_only_safetensors_of_its_own_folder(folder: Path, tmp_path: Path, weights: str) -> None:
    shutil.copy(folder / "model.safetensors", tmp_path / "outside.safetensors")
    _pickled(folder, tmp_path / "ran", "adapter_model.bin")
    state(folder / "config.json", transformers_weights=weights)
    with pytest.raises(ModelError, match=r"config\.json: names .*, which is no safetensors file of this folder"):
        model(str(folder), device="cpu")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"_attn_implementation_internal": "somebody/kernel"},
        {"attn_implementation": {"text_config": "somebody/kernel:attention"}},
        {"text_config": {"_experts_implementation": "somebody/kernel"}},
        {"kernel_config": ["somebody/kernel"]},
    ],
)
def test_a_kernel_that_a_configuration_names_is_neither_fetched_nor_run(
    folder: Path, changes: dict[str, object]
) -> None:
    state(folder / "config.json", **changes)
    with pytest.raises(ModelError, match=r"config\.json: '.*' names code elsewhere \('somebody/kernel"):
        model(str(folder), device="cpu")


def test_an_adapter_is_refused(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "/elsewhere"}', encoding="utf-8")
    with pytest.raises(ModelError, match="is an adapter of another model; merge it"):
        model(str(folder), device="cpu")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("chat_template.jinja", b"{{ '\xff' }}", r"chat_template\.jinja: not UTF-8 at byte 4"),
        ("config.json", b'{"a": ' + b"[" * 100_000, r"config\.json is damaged: "),
        ("config.json", b"[1]", r"config\.json must hold a JSON object"),
        ("tokenizer_config.json", b"\xff", r"tokenizer_config\.json: not UTF-8"),
        ("tokenizer.json", b'{"version": "1.0"}', "cannot be loaded: "),
        ("model.safetensors", b"\x00\x00\x01\x00\x00\x00\x00\x00{}" + b" " * 65534, "21 weights are not in its files"),
        ("model.safetensors", b"\xff" * 65536, "cannot be loaded: "),
    ],
)
def test_a_damaged_folder_is_an_error_that_says_what_is_damaged(
    folder: Path, file: str, content: bytes, message: str
) -> None:
    (folder / file).write_bytes(content)
    with pytest.raises(ModelError, match=message):
        model(str(folder), device="cpu")


@pytest.mark.parametrize(
    "changes",
    [{"num_hidden_layers": 10**9}, {"vocab_size": 10**9}, {"intermediate_size": 10**9}, {"hidden_size": 10**9}],
)
def test_a_configuration_of_a_larger_model_than_the_weights_is_refused(
    folder: Path, changes: dict[str, object]
) -> None:
    state(folder / "config.json", **changes)
    with pytest.raises(ModelError, match="its configuration is of a larger model than its weights"):
        model(str(folder), device="cpu")


def test_weights_that_are_missing_are_never_made_up(folder: Path) -> None:
    state(folder / "config.json", num_hidden_layers=3)
    with pytest.raises(ModelError, match=r"9 weights are not in its files, as model\.layers\.2\."):
        model(str(folder), device="cpu")
