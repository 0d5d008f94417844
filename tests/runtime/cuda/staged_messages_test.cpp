#include "runtime/pipeline/staged_messages.h"

#include <gtest/gtest.h>

#include "comm/threads.h"
#include "tests/support/layers/tensors.h"

namespace penstock::runtime {
namespace {

/// A rank with a device of its own, or one that it shares.
struct DeviceRank {
  explicit DeviceRank(comm::Communicator& world)
      : backend(layers::make_cuda_backend()),
        stream(backend->make_stream()),
        messages(world, *backend, *stream) {}

  layers::Buffer upload(std::span<const double> values) {
    layers::Buffer buffer = backend->allocate(values.size_bytes());
    backend->copy_in(*stream, buffer.data(), values.data(), values.size_bytes());
    return buffer;
  }
  std::vector<double> download(const layers::Buffer& buffer) {
    std::vector<double> values(buffer.bytes() / sizeof(double));
    backend->copy_out(*stream, values.data(), buffer.data(), buffer.bytes());
    backend->synchronize(*stream);
    return values;
  }
  static std::span<std::byte> bytes(const layers::Buffer& buffer) {
    return {buffer.data(), buffer.bytes()};
  }

  std::unique_ptr<layers::Backend> backend;
  std::unique_ptr<layers::Stream> stream;
  StagedMessages messages;
};

constexpr int kMessages = 5, kChannels = 2;

std::vector<double> numbers_of(int message, int channel) {
  return test::uniform(1001 + 10 * message,
                       static_cast<std::uint64_t>(kChannels * message + channel));
}

void send_all(DeviceRank& rank) {
  std::vector<std::unique_ptr<comm::Transfer>> transfers;
  std::vector<layers::Buffer> sent;
  for (int m = 0; m < kMessages; ++m)
    for (int channel = 0; channel < kChannels; ++channel) {
      sent.push_back(rank.upload(numbers_of(m, channel)));
      transfers.push_back(
          rank.messages.send({1, channel, "numbers"}, DeviceRank::bytes(sent.back())));
    }
  for (auto& transfer : transfers) comm::wait(rank.messages, *transfer);
}

/// All into the same memory, from which the stream copies each before the next may come.
void receive_all(DeviceRank& rank) {
  const layers::Buffer memory =
      rank.backend->allocate(numbers_of(kMessages, 0).size() * sizeof(double));
  std::vector<layers::Buffer> received;
  for (int m = 0; m < kMessages; ++m)
    for (int channel = 0; channel < kChannels; ++channel) {
      const std::size_t bytes = numbers_of(m, channel).size() * sizeof(double);
      received.push_back(rank.backend->allocate(bytes));
      comm::wait(rank.messages,
                 *rank.messages.receive({0, channel, "numbers"}, {memory.data(), bytes}));
      rank.backend->copy(*rank.stream, received.back().data(), memory.data(), bytes);
    }
  for (int m = 0; m < kMessages; ++m)
    for (int channel = 0; channel < kChannels; ++channel)
      EXPECT_EQ(rank.download(received[kChannels * m + channel]), numbers_of(m, channel))
          << "message " << m << ", channel " << channel;
}

TEST(CudaStagedMessages, ArriveWholeAndInOrder) {
  if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  for (const bool rendezvous : {true, false})
    comm::run_as_threads({.ranks = 2, .rendezvous = rendezvous}, [](comm::Communicator& world) {
      DeviceRank rank(world);
      if (world.rank() == 0)
        send_all(rank);
      else
        receive_all(rank);
    });
}

}  // namespace
}  // namespace penstock::runtime
