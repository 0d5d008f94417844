// These tests cover what a kernel gets from its block: barriers, shared memory, warps, atomics.

#include "layers/cuda/core/block.h"

#include <gtest/gtest.h>

#include <numeric>

#include "layers/cuda/core/launch.h"
#include "tests/emulated_cuda/device_array.h"

namespace emulated_cuda::test {
namespace {

using penstock::layers::cuda::launch;
using penstock::layers::cuda::make_stream_handle;
using penstock::layers::cuda::StreamHandle;
using Failed = ::testing::ExitedWithCode;

constexpr int kThreads = 70;  // the last warp is not full
constexpr int kFailed = 99;

class Block : public ::testing::Test {
 protected:
  template <class T, class Kernel>
  std::vector<T> run(Kernel kernel, unsigned blocks = 1, unsigned threads = kThreads) {
    const DeviceArray<T> array(blocks * threads);
    std::ranges::fill(array.pinned(), T{});
    array.upload(stream_.get());
    launch(stream_.get(), {dim3(blocks), dim3(threads)}, kernel, array.data());
    return array.values(stream_.get());
  }

  StreamHandle stream_ = make_stream_handle();
};

__global__ void reverse(int* out) {
  BLOCK_SHARED(int, tile, [kThreads]);
  tile[threadIdx.x] = static_cast<int>(blockIdx.x * 1000 + threadIdx.x);
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

TEST_F(Block, BarrierPutsWritesBeforeReads) {
  const std::vector<int> found = run<int>(reverse, 3);
  for (int i = 0; i < 3 * kThreads; ++i)
    EXPECT_EQ(found[static_cast<std::size_t>(i)],
              i / kThreads * 1000 + kThreads - 1 - i % kThreads);
}

__global__ void shuffle(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  out[lane] = __shfl_down_sync(~0u, lane, 5) + 100 * __shfl_up_sync(~0u, lane, 3) +
              10'000 * __shfl_xor_sync(~0u, lane, 6) + 1'000'000 * __shfl_sync(~0u, lane, 9);
}

TEST_F(Block, WarpsExchangeValues) {
  const std::vector<int> found = run<int>(shuffle, 1, 32);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(found[static_cast<std::size_t>(lane)], (lane + 5 < 32 ? lane + 5 : lane) +
                                                         100 * (lane >= 3 ? lane - 3 : lane) +
                                                         10'000 * (lane ^ 6) + 1'000'000 * 9);
}

__global__ void vote(int* out) {
  const unsigned odd = __ballot_sync(~0u, threadIdx.x % 2 == 1);
  __syncwarp();
  out[threadIdx.x] = (odd == 0xaaaaaaaau ? 1 : 0) + (__any_sync(~0u, threadIdx.x == 7) ? 2 : 0) +
                     (__all_sync(~0u, threadIdx.x < 32) ? 4 : 0) +
                     (__all_sync(~0u, threadIdx.x < 31) ? 8 : 0);
}

TEST_F(Block, WarpsVote) {
  for (int value : run<int>(vote, 1, 32)) EXPECT_EQ(value, 7);
}

__global__ void count(int* out) {
  atomicAdd(&out[0], 1);
  atomicMax(&out[1], static_cast<int>(threadIdx.x));
  atomicMin(&out[2], -static_cast<int>(threadIdx.x));
  atomicOr(&out[3], 1 << (threadIdx.x % 5));
  if (atomicExch(&out[4], 1) == 0) atomicAdd(&out[5], 1);
  if (atomicCAS(&out[6], 0, 1) == 0) atomicAdd(&out[7], 1);
}

TEST_F(Block, AtomicsLoseNothing) {
  const std::vector<int> found = run<int>(count, 3);
  EXPECT_EQ(std::vector(found.begin(), found.begin() + 8),
            (std::vector{3 * kThreads, kThreads - 1, 1 - kThreads, 31, 1, 1, 1, 1}));
}

// Faults, each named.

__global__ void meet_apart(int* out) {
  if (threadIdx.x == 3)
    __syncthreads();
  else
    out[threadIdx.x] = 0, __syncthreads();
}

TEST_F(Block, BarriersOfDifferentLinesAreRejected) {
  EXPECT_EXIT(run<int>(meet_apart), Failed(kFailed), "different __syncthreads");
}

__global__ void return_early(int*) {
  if (threadIdx.x < 3) return;
  __syncthreads();
}

TEST_F(Block, BarrierAfterSomeReturnedIsRejected) {
  EXPECT_EXIT(run<int>(return_early), Failed(kFailed),
              "3 others of the block have already returned");
}

__global__ void wait_for_warp(int*) {
  if (threadIdx.x == 3) return __syncthreads();
  __syncwarp();
}

TEST_F(Block, ThreadsThatWaitForEverAreNamed) {
  EXPECT_EXIT(run<int>(wait_for_warp, 1, 32), Failed(kFailed),
              "can't go on(.|\n)*thread 3 waits in __syncthreads(.|\n)*in kernel");
}

__global__ void ask_ended_lane(int* out) {
  if (threadIdx.x == 9) return;
  out[threadIdx.x] = __shfl_sync(~0u, 1, 9);
}

TEST_F(Block, ShuffleFromLaneThatEndedIsRejected) {
  EXPECT_EXIT(run<int>(ask_ended_lane, 1, 32), Failed(kFailed), "reads lane 9");
}

__global__ void overrun_shared(int* out) {
  BLOCK_SHARED(int, tile, [kThreads]);
  int* const beyond_first = &tile[1];
  beyond_first[threadIdx.x] = 0;
  out[threadIdx.x] = 0;
}

TEST_F(Block, IndexBeyondSharedMemoryDies) {
  EXPECT_DEATH(run<int>(overrun_shared), "overrun_shared.*block .0, 0, 0.* thread .69, 0, 0");
}

__global__ void overrun(int* out) { out[threadIdx.x + 1] = 0; }

TEST_F(Block, IndexBeyondDeviceMemoryDies) {
  EXPECT_DEATH(run<int>(overrun), "in kernel .*overrun");
}

__global__ void take_dynamic(int* out) {
  BLOCK_SHARED_DYNAMIC(int, tile);
  out[threadIdx.x] = tile[threadIdx.x];
}

TEST_F(Block, DynamicSharedMemoryMustBeGiven) {
  EXPECT_EXIT(run<int>(take_dynamic), Failed(kFailed), "the launch gives none");
}

struct Pointers {
  int* out;
  const int* in;
};
__global__ void copy(Pointers pointers) { pointers.out[0] = pointers.in[0]; }

TEST_F(Block, PointersOfTheHostAreRejected) {
  EXPECT_EXIT(
      {
        const DeviceArray<int> array(1);
        const int on_stack = 0;
        launch(stream_.get(), {dim3(1), dim3(1)}, copy, Pointers{array.data(), &on_stack});
      },
      Failed(kFailed), "pageable memory of the host");
  EXPECT_EXIT(
      {
        const DeviceArray<int> array(1);
        launch(stream_.get(), {dim3(1), dim3(1)}, overrun, array.pinned().data());
      },
      Failed(kFailed), "is given .* pinned memory");
}

TEST_F(Block, LaunchesBeyondTheDeviceAreRejected) {
  EXPECT_THROW(run<int>(overrun, 1, 1025), penstock::DeviceError);
}

}  // namespace
}  // namespace emulated_cuda::test
