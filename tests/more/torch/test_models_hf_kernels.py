"""The kernels for a GPU, compiled for this machine's CPU with a thread for each of theirs (see cuda_on_cpu.h)."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from perpend.models.hf import kernels
from perpend.models.hf.attention import REPLACED
from perpend.models.hf.fused import fuse
from tests.more.torch.test_models_hf_generate import answers, greedy, places, prompts

HEADER = Path(__file__).with_name("cuda_on_cpu.h")
PRECISIONS = {
    torch.float32: "typedef float T; static float up(T v) { return v; } static T down(float v) { return v; }",
    torch.bfloat16: "typedef unsigned short T; static float up(T v) { return up_bfloat16(v); }"
    " static T down(float v) { return down_bfloat16(v); }",
}
SIGNATURE = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(([^)]*)\)')
Launch = Callable[[tuple[int, int, int], tuple[int, int, int], list[Tensor | int | float]], None]


@cache
def library(folder: Path, source: str, dtype: torch.dtype, groups: int, size: int) -> ctypes.CDLL:
    """The kernels of a source for the CPU, each with a function that launches it."""
    text = [f'#include "{HEADER}"', f"#define G {groups}", f"#define D {size}", PRECISIONS[dtype], source]
    for name, parameters in SIGNATURE.findall(source):
        passed = ", ".join(parameter.split()[-1].lstrip("*") for parameter in parameters.split(","))
        text.append(
            f'extern "C" void run_{name}(int across, int down, int threads, {parameters})'
            f" {{ launch(across, down, threads, [=] {{ {name}({passed}); }}); }}"
        )
    path = folder / f"{len(list(folder.iterdir()))}.cpp"
    path.write_text("\n".join(text))
    made = path.with_suffix(".so")
    command = ["g++", "-std=c++20", "-O1", "-w", "-pthread", "-shared", "-fPIC", "-o", made, path]
    subprocess.run(command, check=True, timeout=120)
    return ctypes.CDLL(str(made))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def launched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that were run, in order."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    names: list[str] = []

    def kernel(name: str, dtype: torch.dtype, _: torch.device, groups: int = 1, size: int = 8) -> Launch:
        source = kernels._ATTEND if name == "perpend_attend" else kernels._SOURCE
        run = getattr(library(folder, source, dtype, groups, size), f"run_{name}")

        def launch(
            grid: tuple[int, int, int], block: tuple[int, int, int], arguments: list[Tensor | int | float]
        ) -> None:
            names.append(name)
            run(*map(ctypes.c_int, (grid[0], grid[1], block[0])), *map(as_c, arguments))

        return launch

    monkeypatch.setattr(kernels, "_kernel", kernel)
    monkeypatch.setattr(kernels, "_DEVICE", "cpu")
    return names


def as_c(value: Tensor | int | float) -> ctypes.c_void_p | ctypes.c_int | ctypes.c_double:
    """As torch hands it to a kernel."""
    if isinstance(value, Tensor):
        return ctypes.c_void_p(value.data_ptr())
    return ctypes.c_int(value) if isinstance(value, int) else ctypes.c_double(value)


def drawn(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def turned(states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """As transformers writes it."""
    lower, upper = states.chunk(2, -1)
    return states * cos[:, :, None] + torch.cat((-upper, lower), -1) * sin[:, :, None]


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_the_small_kernels_round_as_transformers_does(launched: list[str], dtype: torch.dtype) -> None:
    hidden, weight = drawn(3, 72, dtype=dtype), drawn(72, dtype=dtype, seed=1)
    wide = hidden.float()
    scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    torch.testing.assert_close(kernels.rms_norm(hidden, weight, 1e-6), weight * scaled.to(dtype))
    states, angles = drawn(2, 3, 5, 32, dtype=dtype), drawn(2, 3, 16).repeat(1, 1, 2)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    wanted, rest = turned(states, cos, sin)[:, :, :4], states[:, :, 4:].clone()
    assert torch.equal(kernels.rotated(states, 4, cos, sin), wanted)
    assert torch.equal(states[:, :, 4:], rest)  # values are not turned
    gates, values = drawn(5, 24, dtype=dtype), drawn(5, 24, dtype=dtype, seed=1)
    wanted = functional.silu(gates) * values
    torch.testing.assert_close(kernels.gated(gates, values), wanted)
    assert launched == ["perpend_norm", "perpend_rotate", "perpend_gate"]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize(("heads", "groups", "size"), [(2, 4, 128), (1, 8, 64), (2, 1, 32), (1, 2, 256)])
def test_attention_reads_what_is_filled_and_nothing_else(
    launched: list[str], dtype: torch.dtype, heads: int, groups: int, size: int
) -> None:
    used = torch.tensor([1, 2, 17, 40], dtype=torch.int32)
    states = drawn(4, heads * groups + 3, size, dtype=dtype)
    key, value = drawn(2, 4, 40, heads, size, dtype=dtype, seed=1)
    for row, count in enumerate(used.tolist()):
        key[row, count:] = value[row, count:] = torch.nan
    found = kernels.attended(states[:, : heads * groups], key, value, used, None)
    assert found is not None
    assert launched == ["perpend_attend"]
    for row, count in enumerate(used.tolist()):
        keys, values = (part[row, :count].float().repeat_interleave(groups, 1) for part in (key, value))
        scores = torch.einsum("hd,thd->ht", states[row, : heads * groups].float(), keys) * size**-0.5
        wanted = torch.einsum("ht,thd->hd", scores.softmax(-1), values).to(dtype)
        torch.testing.assert_close(found[row], wanted, rtol=1e-5 if dtype == torch.float32 else 0.01, atol=1e-5)


def before_a_wall(values: Tensor) -> Tensor:
    """A copy that ends where memory does: whoever reads behind it dies."""
    page, size = mmap.PAGESIZE, values.nbytes
    room = -(-size // page) * page
    block = mmap.mmap(-1, room + page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(block))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + room), page, 0) == 0
    made = torch.frombuffer(block, dtype=values.dtype, count=values.numel(), offset=room - size).view(values.shape)
    return made.copy_(values)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking beside threads, of which the child uses none
def test_attention_reads_nothing_behind_the_cache(launched: list[str]) -> None:
    states = drawn(2, 4, 64)
    key, value = (before_a_wall(drawn(2, 37, 2, 64, seed=seed)) for seed in (1, 2))
    used = torch.tensor([37, 37], dtype=torch.int32)
    assert kernels.attended(states, key[:, :1], value[:, :1], used.clamp(max=1), None) is not None  # compiled by now
    child = os.fork()
    if child == 0:
        kernels.attended(states, key, value, used, None)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


SHAPE = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "initializer_range": 0.3,
    "max_position_embeddings": 128,
}


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_answers_by_kernels_are_those_of_the_model_s_own_generate(launched: list[str], kind: str) -> None:
    torch.manual_seed(0)
    model: PreTrainedModel = (
        LlamaForCausalLM(LlamaConfig(**SHAPE)) if kind == "llama" else Qwen3ForCausalLM(Qwen3Config(**SHAPE))
    ).eval()
    asked = prompts(5)
    wanted = greedy(model, asked)
    fuse(model)
    assert len(getattr(model, REPLACED)) == (11 if kind == "llama" else 15)
    continuer = places(model, 3)
    assert answers(continuer, asked) == wanted
    assert set(launched) == {"perpend_norm", "perpend_rotate", "perpend_gate", "perpend_attend", "perpend_store"}
    assert continuer.kept is not None
    assert continuer.kept.by_extent
    assert continuer.kept.by_kernel
