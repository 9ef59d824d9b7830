"""Operations of a transformer, each one kernel on a GPU: norm, rotation, gate, and attention of one token per row.

The small ones round where transformers rounds: after each product, to the precision of the model. All are compiled when
first used, in about a tenth of a second each, where torch can (`_compile_kernel`, since torch 2.9, with CUDA's headers
beside it). Where it cannot, and for shapes that they do not take, torch's own operations compute the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional

_SOURCE = """
struct alignas(16) Pack { T v[8]; };

extern "C" __global__ void perpend_norm(const T* x, const T* weight, T* out, int width, double epsilon) {
    const Pack* row = (const Pack*)(x + (long long)blockIdx.x * width);
    Pack* to = (Pack*)(out + (long long)blockIdx.x * width);
    __shared__ float parts[32];
    float sum = 0;
    for (int i = threadIdx.x; i < width / 8; i += blockDim.x) {
        Pack p = row[i];
        for (int j = 0; j < 8; ++j) sum += up(p.v[j]) * up(p.v[j]);
    }
    for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k < blockDim.x / 32; ++k) sum += parts[k];
    float scale = rsqrtf(sum / width + (float)epsilon);
    for (int i = threadIdx.x; i < width / 8; i += blockDim.x) {
        Pack p = row[i], w = ((const Pack*)weight)[i];
        for (int j = 0; j < 8; ++j) p.v[j] = down(up(down(up(p.v[j]) * scale)) * up(w.v[j]));
        to[i] = p;
    }
}

extern "C" __global__ void perpend_rotate(
    T* states, const T* cosines, const T* sines, int count, int heads, int all, int size
) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, packs = size / 16;
    if (at >= count) return;
    int pack = at % packs, head = at / packs % heads;
    long long token = at / packs / heads;
    Pack* lower = (Pack*)(states + (token * all + head) * size) + pack;
    const Pack* c = (const Pack*)(cosines + token * size) + pack;
    const Pack* s = (const Pack*)(sines + token * size) + pack;
    Pack a = lower[0], b = lower[packs], c0 = c[0], c1 = c[packs], s0 = s[0], s1 = s[packs];
    for (int j = 0; j < 8; ++j) {
        float x = up(a.v[j]), y = up(b.v[j]);
        a.v[j] = down(up(down(x * up(c0.v[j]))) + up(down(-y * up(s0.v[j]))));
        b.v[j] = down(up(down(y * up(c1.v[j]))) + up(down(x * up(s1.v[j]))));
    }
    lower[0] = a;
    lower[packs] = b;
}

extern "C" __global__ void perpend_gate(T* gates, const T* values, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    Pack g = ((Pack*)gates)[at], v = ((const Pack*)values)[at];
    for (int j = 0; j < 8; ++j) {
        float x = up(g.v[j]);
        g.v[j] = down(up(down(x / (1 + expf(-x)))) * up(v.v[j]));
    }
    ((Pack*)gates)[at] = g;
}

extern "C" __global__ void perpend_store(
    const T* key, const T* value, T* keys, T* values, const long long* index,
    int key_row, int value_row, int kept_row, int width
) {
    long long row = blockIdx.x, at = row * kept_row + index[row] * width;
    for (int i = threadIdx.x; i < width / 8; i += blockDim.x) {
        ((Pack*)(keys + at))[i] = ((const Pack*)(key + row * key_row))[i];
        ((Pack*)(values + at))[i] = ((const Pack*)(value + row * value_row))[i];
    }
}
"""
# One block of 128 threads for a row and a head of keys, with the G heads of queries that share it, each of D numbers.
# D / 8 threads, a team, take a token at a time; two are read before either is used.
_ATTEND = """
struct alignas(16) Pack { T v[8]; };

extern "C" __global__ void __launch_bounds__(128) perpend_attend(
    const T* queries, const T* keys, const T* values, const int* used, T* out,
    int query_row, int key_row, int key_token, double scale
) {
    const int LANES = D / 8, TEAMS = 128 / LANES;
    __shared__ float tops[TEAMS][G], sums[TEAMS][G], parts[TEAMS][G][D];
    int head = blockIdx.x, row = blockIdx.y, heads = gridDim.x * G;
    int lane = threadIdx.x % LANES, team = threadIdx.x / LANES, count = used[row];
    float q[G][8], acc[G][8], top[G], sum[G];
    #pragma unroll
    for (int g = 0; g < G; ++g) {
        Pack p = ((const Pack*)(queries + (long long)row * query_row + (head * G + g) * D))[lane];
        top[g] = -1e30f;
        sum[g] = 0;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            q[g][j] = up(p.v[j]) * (float)(scale * 1.4426950408889634);  // for powers of two
            acc[g][j] = 0;
        }
    }
    const T* key = keys + (long long)row * key_row + head * D;
    const T* value = values + (long long)row * key_row + head * D;
    for (int base = 0; base < count; base += 2 * TEAMS) {
        Pack k[2], v[2];
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            int token = min(base + u * TEAMS + team, count - 1);
            k[u] = ((const Pack*)(key + (long long)token * key_token))[lane];
            v[u] = ((const Pack*)(value + (long long)token * key_token))[lane];
        }
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            bool is_there = base + u * TEAMS + team < count;
            #pragma unroll
            for (int g = 0; g < G; ++g) {
                float score = 0;
                #pragma unroll
                for (int j = 0; j < 8; ++j) score += q[g][j] * up(k[u].v[j]);
                #pragma unroll
                for (int step = LANES / 2; step; step >>= 1) score += __shfl_xor_sync(0xffffffff, score, step);
                if (!is_there) continue;
                if (score > top[g]) {
                    float shrunk = exp2f(top[g] - score);
                    top[g] = score;
                    sum[g] *= shrunk;
                    #pragma unroll
                    for (int j = 0; j < 8; ++j) acc[g][j] *= shrunk;
                }
                float share = exp2f(score - top[g]);
                sum[g] += share;
                #pragma unroll
                for (int j = 0; j < 8; ++j) acc[g][j] += share * up(v[u].v[j]);
            }
        }
    }
    #pragma unroll
    for (int g = 0; g < G; ++g) {
        tops[team][g] = top[g];
        sums[team][g] = sum[g];
        #pragma unroll
        for (int j = 0; j < 8; ++j) parts[team][g][8 * lane + j] = acc[g][j];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < G * D; i += 128) {
        int g = i / D;
        float highest = -1e30f, total = 0, mixed = 0;
        for (int k = 0; k < TEAMS; ++k) highest = fmaxf(highest, tops[k][g]);
        for (int k = 0; k < TEAMS; ++k) {
            float share = exp2f(tops[k][g] - highest);
            total += share * sums[k][g];
            mixed += share * parts[k][g][i % D];
        }
        out[((long long)row * heads + head * G) * D + i] = down(mixed / total);
    }
}
"""
# Written in PTX, because the header of each precision may not be installed.
_PRECISIONS = {
    torch.float32: """
typedef float T;
__device__ float up(T v) { return v; }
__device__ T down(float v) { return v; }
""",
    torch.bfloat16: """
typedef unsigned short T;
__device__ float up(T v) { return __uint_as_float((unsigned)v << 16); }
__device__ T down(float v) { T r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v)); return r; }
""",
    torch.float16: """
typedef unsigned short T;
__device__ float up(T v) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v)); return r; }
__device__ T down(float v) { T r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v)); return r; }
""",
}
_DEVICE = "cuda"
_PACK = 8  # numbers that a thread takes at once
_THREADS = 256
_Argument = Tensor | int | float
_Kernel = Callable[[tuple[int, int, int], tuple[int, int, int], list[_Argument]], None]


@cache
def _kernel(name: str, dtype: torch.dtype, device: torch.device, groups: int = 1, size: int = 8) -> _Kernel | None:
    """A kernel for a precision and a device; of attention for heads of queries per head of keys and their size, too.

    None where torch cannot compile it, or compiles for another device now.
    """
    if dtype not in _PRECISIONS or torch.version.hip is not None or device.index != torch.cuda.current_device():
        return None
    source = f"#define G {groups}\n#define D {size}\n{_ATTEND}" if name == "perpend_attend" else _SOURCE
    try:
        kernel: _Kernel = torch.cuda._compile_kernel(_PRECISIONS[dtype] + source, name)
    except (AttributeError, RuntimeError, OSError):  # an older torch, an older GPU, no compiler or headers
        return None
    return kernel


def _are_packs(*tensors: Tensor, size: int) -> bool:
    """Whether a kernel can take these: on its device, of one precision, aligned, with `size` in whole packs."""
    first = tensors[0]
    return (
        first.device.type == _DEVICE
        and size % _PACK == 0
        and first.numel() < 1 << 31
        and all(one.dtype == first.dtype and one.data_ptr() % 16 == 0 for one in tensors)
    )


def _fitting(name: str, *tensors: Tensor, size: int) -> _Kernel | None:
    """The kernel, where it can take these tensors and each is in one piece."""
    if _are_packs(*tensors, size=size) and all(one.is_contiguous() for one in tensors):
        return _kernel(name, tensors[0].dtype, tensors[0].device)
    return None


def attended(query: Tensor, key: Tensor, value: Tensor, used: Tensor, scale: float | None) -> Tensor | None:
    """Attention of one token per row, rows × heads × size, to the first `used` tokens of rows × tokens × heads × size.

    None where there is no kernel for it.
    """
    rows, heads, size = query.shape
    groups, lanes = heads // key.shape[2], size // _PACK
    # A team of threads is a part of a warp, and what the groups share has to fit beside it.
    is_split = lanes in (1, 2, 4, 8, 16, 32) and groups * key.shape[2] == heads and groups <= 8
    is_laid = query.stride()[1:] == (size, 1) and key.stride() == value.stride() and key.stride()[2:] == (size, 1)
    if not (is_split and is_laid and _are_packs(query, key, value, size=size)):
        return None
    if (query.stride(0) | key.stride(0) | key.stride(1)) % _PACK:
        return None
    kernel = _kernel("perpend_attend", query.dtype, query.device, groups, size)
    if kernel is None:
        return None
    out = torch.empty(rows, heads, size, dtype=query.dtype, device=query.device)
    strides = [query.stride(0), key.stride(0), key.stride(1)]
    kernel((key.shape[2], rows, 1), (128, 1, 1), [query, key, value, used, out, *strides, scale or size**-0.5])
    return out


def rms_norm(hidden: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Each last dimension divided by the root of its mean square, times `weight`."""
    width = weight.numel()
    kernel = _fitting("perpend_norm", hidden, weight, size=width)
    if kernel is None:
        return functional.rms_norm(hidden, weight.shape, weight, epsilon)
    out = torch.empty_like(hidden)
    threads = min(1024, -(-width // _PACK // 32) * 32)
    kernel((hidden.numel() // width, 1, 1), (threads, 1, 1), [hidden, weight, out, width, epsilon])
    return out


def rotated(states: Tensor, heads: int, cos: Tensor, sin: Tensor) -> Tensor:
    """The first `heads` of rows × tokens × heads × size, each pair of numbers half a head apart turned by its angle.

    It may be done in place.
    """
    half, tokens = states.shape[-1] // 2, states.shape[0] * states.shape[1]
    turning = states[:, :, :heads]
    kernel = _fitting("perpend_rotate", states, cos, sin, size=half) if cos.numel() == tokens * 2 * half else None
    if kernel is not None:
        count = tokens * heads * half // _PACK
        shape = [count, heads, states.shape[2], 2 * half]
        kernel((-(-count // _THREADS), 1, 1), (_THREADS, 1, 1), [states, cos, sin, *shape])
        return turning
    cos, sin = cos[:, :, None], sin[:, :, None]
    turned = turning * cos
    turned[..., :half].addcmul_(turning[..., half:], sin[..., :half], value=-1)
    turned[..., half:].addcmul_(turning[..., :half], sin[..., half:])
    return turned


def gated(gates: Tensor, values: Tensor) -> Tensor:
    """silu(gates) · values, in the place of `gates`."""
    kernel = _fitting("perpend_gate", gates, values, size=gates.numel())
    if kernel is None:
        return functional.silu(gates, inplace=True).mul_(values)
    count = gates.numel() // _PACK
    kernel((-(-count // _THREADS), 1, 1), (_THREADS, 1, 1), [gates, values, count])
    return gates


def stored(new: tuple[Tensor, Tensor], kept: tuple[Tensor, Tensor], index: Tensor) -> bool:
    """Write a key and a value per row, rows × heads × size, at the row's `index` of rows × tokens × heads × size.

    False where there is no kernel for it; then nothing is written.
    """
    (key, value), (keys, values) = new, kept
    rows, heads, size = key.shape
    is_laid = (
        keys.shape == values.shape and keys.is_contiguous() and values.is_contiguous() and key.shape == value.shape
    )
    if not is_laid or not _are_packs(key, value, keys, values, size=size):
        return False
    if any(one.stride()[1:] != (size, 1) or one.stride(0) % _PACK for one in new):
        return False
    kernel = _kernel("perpend_store", key.dtype, key.device)
    if kernel is None:
        return False
    strides = [key.stride(0), value.stride(0), keys.stride(0), heads * size]
    kernel((rows, 1, 1), (128, 1, 1), [key, value, keys, values, index, *strides])
    return True
