#include "runtime/pipeline/host_slots.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/layers/tensors.h"

namespace penstock::runtime {
namespace {

constexpr std::size_t kNumbers = 1021, kBytes = kNumbers * sizeof(float);
constexpr int kMicroBatches = 5;

std::vector<float> numbers_of(int micro_batch) {
  std::vector<float> numbers;
  for (const double x : test::uniform(kNumbers, micro_batch))
    numbers.push_back(static_cast<float>(x));
  return numbers;
}

// Two slots, through which five micro-batches pass to the host and back.
TEST(CudaHostSlots, CarryEachMicroBatchThereAndBack) {
  if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  const auto backend = layers::make_cuda_backend();
  const auto computing = backend->make_stream();
  HostSlots host(*backend);
  host.buffers.divide(*backend, kMicroBatches, kBytes);
  BufferRing slots, made, read;
  slots.divide(*backend, 2, kBytes);
  made.divide(*backend, kMicroBatches, kBytes);
  read.divide(*backend, kMicroBatches, kBytes);
  for (int m = 0; m < kMicroBatches; ++m)
    backend->copy_in(*computing, made[m], numbers_of(m).data(), kBytes);

  std::unique_ptr<layers::Event> left[2];
  for (int m = 0; m < kMicroBatches; ++m) {
    while (left[m % 2] != nullptr && !left[m % 2]->query()) std::this_thread::yield();
    backend->copy(*computing, slots[m % 2], made[m], kBytes);
    left[m % 2] = host.copy_out(*computing, m, {slots[m % 2], kBytes});
  }
  for (const auto& event : left)
    while (!event->query()) std::this_thread::yield();
  for (int m = 0; m < kMicroBatches; ++m) {
    const auto back = host.copy_in(m, {slots[m % 2], kBytes}, m % 2);
    backend->wait(*computing, *back);
    backend->copy(*computing, read[m], slots[m % 2], kBytes);
    host.release(*computing, m % 2);
  }
  for (int m = 0; m < kMicroBatches; ++m) {
    std::vector<float> numbers(kNumbers);
    backend->copy_out(*computing, numbers.data(), read[m], kBytes);
    backend->synchronize(*computing);
    EXPECT_EQ(numbers, numbers_of(m)) << m;
  }
}

}  // namespace
}  // namespace penstock::runtime
