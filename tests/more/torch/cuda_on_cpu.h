// Enough of CUDA to run a kernel on a CPU: a thread for each of a block's, block after block.
#include <algorithm>
#include <barrier>
#include <bit>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>
#define __global__
#define __device__ static
#define __shared__ static
#define __launch_bounds__(threads)
using std::min;
struct Dim { int x = 0, y = 0; };
static thread_local Dim threadIdx, blockIdx;
static Dim blockDim, gridDim;
static std::unique_ptr<std::barrier<>> block;
static std::vector<std::unique_ptr<std::barrier<>>> warps;
static float exchanged[1024];
static void __syncthreads() { block->arrive_and_wait(); }
static float __shfl_xor_sync(unsigned, float value, int step) {
    int at = threadIdx.x;
    exchanged[at] = value;
    warps[at / 32]->arrive_and_wait();
    float other = exchanged[at ^ step];
    warps[at / 32]->arrive_and_wait();
    return other;
}
static float rsqrtf(float value) { return 1 / std::sqrt(value); }
template <class Kernel> static void launch(int across, int down, int threads, Kernel kernel) {
    gridDim = {across, down};
    blockDim = {threads, 1};
    block = std::make_unique<std::barrier<>>(threads);
    warps.clear();
    for (int first = 0; first < threads; first += 32)
        warps.push_back(std::make_unique<std::barrier<>>(std::min(32, threads - first)));
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread)
        all.emplace_back([=] {
            for (int y = 0; y < down; ++y)
                for (int x = 0; x < across; ++x) {
                    threadIdx = {thread, 0};
                    blockIdx = {x, y};
                    kernel();
                    block->arrive_and_wait();
                }
        });
    for (auto& one : all) one.join();
}
// bfloat16, rounded to the nearest, ties to even; float16 is not tried here.
static float up_bfloat16(unsigned short value) { return std::bit_cast<float>((unsigned)value << 16); }
static unsigned short down_bfloat16(float value) {
    unsigned bits = std::bit_cast<unsigned>(value);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
