// Streams, events and memory as CUDA's runtime gives them.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/emulated_cuda/device_array.h"
#include "tests/emulated_cuda/emulation/control.h"
#include "tests/emulated_cuda/three_streams.h"

namespace emulated_cuda::test {
namespace {

using penstock::layers::cuda::EventHandle;
using penstock::layers::cuda::make_event_handle;
using penstock::layers::cuda::make_stream_handle;
using penstock::layers::cuda::make_timing_event_handle;
using penstock::layers::cuda::StreamHandle;
using Failed = ::testing::ExitedWithCode;

constexpr int kFailed = 99;
constexpr std::size_t kSize = 300;

TEST(Streams, GoInTheOrderOfTheirEvents) { EXPECT_EQ(wrong_squares({.with_events = true}), 0); }

TEST(Streams, RunNothingBeforeSomeoneWaits) {
  set_order(Order(Order::Kind::forward));
  const StreamHandle stream = make_stream_handle();
  const DeviceArray<int> array(kSize);
  std::ranges::fill(array.pinned(), 7);
  array.upload(stream.get());
  std::ranges::fill(array.pinned(), 8);  // too early: the copy has not been made
  EXPECT_EQ(array.values(stream.get()).front(), 8);
}

TEST(Streams, AnEventIsWhatWasRecordedLast) {
  const StreamHandle first = make_stream_handle(), second = make_stream_handle();
  const EventHandle event = make_event_handle();
  EXPECT_EQ(cudaEventQuery(event.get()), cudaSuccess);  // never recorded
  const DeviceArray<int> array(1);
  for (int round = 0; round < 3; ++round) {
    array.pinned()[0] = round;
    array.upload(first.get());
    check(cudaEventRecord(event.get(), first.get()), "recording");
    check(cudaEventSynchronize(event.get()), "waiting");
    check(cudaStreamWaitEvent(second.get(), event.get()), "waiting");
    EXPECT_EQ(array.values(second.get()).front(), round);
  }
  check(cudaEventRecord(event.get(), first.get()), "recording");
  int polls = 0;
  while (cudaEventQuery(event.get()) == cudaErrorNotReady) ++polls;
  EXPECT_LE(polls, 2);
}

TEST(Streams, FinishWhatWasQueuedBeforeTheyAreDestroyed) {
  const DeviceArray<int> array(1);
  array.pinned()[0] = 5;
  array.upload(make_stream_handle().get());
  EXPECT_EQ(cudaMemsetAsync(array.data(), 0, 0, make_stream_handle().get()), cudaSuccess);
  penstock::layers::cuda::device_buffer(1);  // freeing waits for the device
  array.pinned()[0] = 6;
  EXPECT_EQ(array.values(make_stream_handle().get()).front(), 5);
}

TEST(Streams, TakeAMicrosecondForEachOperation) {
  const StreamHandle stream = make_stream_handle(), other = make_stream_handle();
  const EventHandle from = make_timing_event_handle(), to = make_timing_event_handle();
  const DeviceArray<int> array(1), more(1);
  array.pinned()[0] = more.pinned()[0] = 0;
  array.upload(stream.get());
  check(cudaEventRecord(from.get(), stream.get()), "recording");
  for (int i = 0; i < 3; ++i) array.upload(stream.get());
  more.upload(other.get());
  check(cudaEventRecord(to.get(), stream.get()), "recording");
  array.upload(stream.get());
  check(cudaStreamSynchronize(stream.get()), "waiting");
  float milliseconds = 0;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), cudaSuccess);
  EXPECT_FLOAT_EQ(milliseconds, 3e-3f);
  const EventHandle without_time = make_event_handle();
  check(cudaEventRecord(without_time.get(), stream.get()), "recording");
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, from.get(), without_time.get()),
            cudaErrorInvalidResourceHandle);
}

TEST(Memory, RunsOut) {
  EXPECT_THROW(penstock::layers::cuda::device_buffer(std::size_t{1} << 40), penstock::DeviceError);
  std::size_t before = 0, after = 0, total = 0;
  check(cudaMemGetInfo(&before, &total), "asking");
  const penstock::layers::Buffer buffer = penstock::layers::cuda::device_buffer(1000);
  check(cudaMemGetInfo(&after, &total), "asking");
  EXPECT_EQ(before - after, 1000u);
}

// Misuse, with the call's name.

class Misuse : public ::testing::Test {
 protected:
  StreamHandle stream_ = make_stream_handle();
  DeviceArray<int> array_{kSize};
};

TEST_F(Misuse, NullStream) {
  EXPECT_EXIT(cudaMemsetAsync(array_.data(), 0, 4, nullptr), Failed(kFailed),
              "NULL stream(.|\n)*in cudaMemsetAsync");
}

TEST_F(Misuse, DestroyedStream) {
  cudaStream_t gone = nullptr;
  {
    const StreamHandle stream = make_stream_handle();
    gone = stream.get();
  }
  EXPECT_EXIT(cudaMemsetAsync(array_.data(), 0, 4, gone), Failed(kFailed), "destroyed");
}

TEST_F(Misuse, PageableMemory) {
  int number = 0;
  EXPECT_EXIT(cudaMemcpyAsync(array_.data(), &number, 4, cudaMemcpyHostToDevice, stream_.get()),
              Failed(kFailed), "the source.*is pageable memory(.|\n)*in cudaMemcpyAsync");
}

TEST_F(Misuse, DeviceMemoryWherePinnedBelongs) {
  EXPECT_EXIT(
      cudaMemcpyAsync(array_.data(), array_.data(), 4, cudaMemcpyDeviceToHost, stream_.get()),
      Failed(kFailed), "the destination.*is memory of device 0");
}

TEST_F(Misuse, MoreThanWasAllocated) {
  EXPECT_EXIT(cudaMemsetAsync(array_.data() + 1, 0, 4 * kSize, stream_.get()), Failed(kFailed),
              "1200 bytes at .* not inside one allocation of device 0");
}

TEST_F(Misuse, HostTouchesDeviceMemory) {
  EXPECT_EXIT(array_.data()[3] = 1, Failed(kFailed), "the host touches .* memory of device 0");
}

TEST_F(Misuse, FreedMemory) {
  int* const gone = DeviceArray<int>(1).data();
  EXPECT_EXIT(cudaMemsetAsync(gone, 0, 4, stream_.get()), Failed(kFailed),
              "freed or never allocated memory of device 0");
}

TEST_F(Misuse, AnotherDevicesMemory) {
  check(cudaSetDevice(1), "choosing");
  const StreamHandle elsewhere = make_stream_handle();
  check(cudaSetDevice(0), "choosing");
  EXPECT_EXIT(cudaMemsetAsync(array_.data(), 0, 4, elsewhere.get()), Failed(kFailed),
              "not inside one allocation of device 1: it is memory of device 0");
}

TEST_F(Misuse, WhatIsNotGivenBackIsCounted) {
  EXPECT_EQ(leftovers(),
            "1 streams, 1 allocations of memory of device 0, 1 allocations of pinned memory");
}

}  // namespace
}  // namespace emulated_cuda::test
