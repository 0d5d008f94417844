// These tests show which races the watch finds, and which accesses it lets pass.

#include <gtest/gtest.h>

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/launch.h"
#include "tests/emulated_cuda/device_array.h"

namespace emulated_cuda::test {
namespace {

using penstock::layers::cuda::EventHandle;
using penstock::layers::cuda::launch;
using penstock::layers::cuda::make_event_handle;
using penstock::layers::cuda::make_stream_handle;
using penstock::layers::cuda::StreamHandle;
using Failed = ::testing::ExitedWithCode;

constexpr int kFailed = 99, kThreads = 70;

class Race : public ::testing::Test {
 protected:
  void run(void (*kernel)(int*), unsigned blocks = 1) {
    const DeviceArray<int> array(kThreads);
    std::ranges::fill(array.pinned(), 0);
    array.upload(stream_.get());
    launch(stream_.get(), {dim3(blocks), dim3(kThreads)}, kernel, array.data());
    check(cudaStreamSynchronize(stream_.get()), "waiting");
  }

  StreamHandle stream_ = make_stream_handle();
};

__global__ void without_barrier(int* out) {
  BLOCK_SHARED(int, tile, [kThreads]);
  tile[threadIdx.x] = 1;
  __syncthreads();
  const int next = tile[(threadIdx.x + 1) % kThreads];
  tile[threadIdx.x] = next;  // others may not have read yet
  out[threadIdx.x] = next;
}

TEST_F(Race, InABlock) {
  EXPECT_EXIT(
      run(without_barrier), Failed(kFailed),
      "a race: a (read|write) by thread .* race_test.cpp:(.|\n)*after a (read|write) by thread "
      ".* of the same block, with no barrier between");
}

__global__ void with_barriers(int* out) {
  BLOCK_SHARED(int, tile, [kThreads]);
  tile[threadIdx.x] = 1;
  __syncthreads();
  const int next = tile[(threadIdx.x + 1) % kThreads];
  __syncthreads();
  tile[threadIdx.x] = next;
  __syncthreads();
  out[threadIdx.x] = tile[(threadIdx.x + 1) % kThreads];
}

TEST_F(Race, NoneBetweenBarriers) { run(with_barriers); }

__global__ void within_warps(int* out) {
  const unsigned lane = threadIdx.x % 32, first = threadIdx.x - lane;
  if (first + 32 > kThreads) return;
  out[threadIdx.x] = 1;
  __syncwarp();
  const int next = out[first + (lane + 1) % 32];
  __syncwarp();
  out[threadIdx.x] = next;
}

TEST_F(Race, NoneBetweenWarpsBarriers) { run(within_warps); }

__global__ void same_value(int* out) {
  if (threadIdx.x == 0) out[0] = 7;
}

TEST_F(Race, BetweenBlocksThatWriteTheSame) {
  run(same_value);
  EXPECT_EXIT(run(same_value, 2), Failed(kFailed), "a race(.|\n)*of another block");
}

__global__ void add(int* out) { out[0] = out[0] + 1; }
__global__ void add_atomically(int* out) { atomicAdd(&out[0], 1); }

TEST_F(Race, OfSumsThatAreNotAtomic) {
  run(add_atomically, 3);
  EXPECT_EXIT(run(add), Failed(kFailed), "a race");
}

__global__ void read_shared(int* out) {
  BLOCK_SHARED(int, tile, [kThreads]);
  if (threadIdx.x != 5) tile[threadIdx.x] = 0;
  out[threadIdx.x] = tile[threadIdx.x];
}

TEST_F(Race, ReadsOfWhatWasNeverWritten) {
  EXPECT_EXIT(run(read_shared), Failed(kFailed), "never written, by thread 5 in .*read_shared");
  const DeviceArray<int> array(4);
  check(cudaMemsetAsync(array.data(), 0, 3 * sizeof(int), stream_.get()), "zeroing");
  EXPECT_EXIT(array.values(stream_.get()), Failed(kFailed), "never written, by a copy");
  check(cudaMemsetAsync(array.data() + 3, 0, sizeof(int), stream_.get()), "zeroing");
  EXPECT_EQ(array.values(stream_.get())[3], 0);
}

/// More than one access of a processor, so that clang calls memcpy.
struct Block {
  int values[8];
};

__global__ void copy_blocks(int* out) {
  BLOCK_SHARED(Block, blocks, [2]);
  if (threadIdx.x < 8) blocks[0].values[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 40) blocks[1] = blocks[0];
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = blocks[1].values[threadIdx.x];
}

__global__ void copy_blocks_early(int* out) {
  BLOCK_SHARED(Block, blocks, [2]);
  if (threadIdx.x < 8) blocks[0].values[threadIdx.x] = 1;
  if (threadIdx.x == 40) blocks[1] = blocks[0];
  out[threadIdx.x] = 0;
}

TEST_F(Race, OfStructsThatAreCopiedWhole) {
  run(copy_blocks);
  EXPECT_EXIT(run(copy_blocks_early), Failed(kFailed), "a race|never written");
}

void fill_and_fetch(bool with_event) {
  const StreamHandle first = make_stream_handle(), second = make_stream_handle();
  const EventHandle filled = make_event_handle();
  const DeviceArray<int> array(4);
  check(cudaMemsetAsync(array.data(), 0, 4 * sizeof(int), first.get()), "zeroing");
  check(cudaStreamSynchronize(first.get()), "waiting");
  check(cudaMemsetAsync(array.data(), 1, 2 * sizeof(int), first.get()), "filling");
  check(cudaEventRecord(filled.get(), first.get()), "recording");
  if (with_event) check(cudaStreamWaitEvent(second.get(), filled.get()), "waiting");
  array.download(second.get());
  check(cudaStreamSynchronize(second.get()), "waiting");
}

TEST_F(Race, BetweenStreamsWithoutAnEvent) {
  fill_and_fetch(true);
  EXPECT_EXIT({ fill_and_fetch(false); }, Failed(kFailed),
              "a race(.|\n)*of another operation, for which no event waits");
}

__global__ void read_before(int* out) {
  if (threadIdx.x == 0) out[0] = out[-1];
}

TEST_F(Race, OrNoArrayAtAll) {
  EXPECT_EXIT(run(read_before), Failed(kFailed), "a read of 4 bytes at .* memory of device 0");
}

}  // namespace
}  // namespace emulated_cuda::test
