#include "tests/support/comm/communicator_cases.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

#include "comm/collectives.h"
#include "comm/communicator.h"

namespace penstock::test {
namespace {

constexpr std::size_t kLong = (4 << 20) + 12345;  // beyond every eager limit

int next(const comm::Communicator& world) { return (world.rank() + 1) % world.size(); }
int previous(const comm::Communicator& world) {
  return (world.rank() + world.size() - 1) % world.size();
}

}  // namespace

std::vector<std::byte> noise(std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> data(bytes);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  return data;
}

void messages_keep_their_order_on_each_channel(comm::Communicator& world) {
  constexpr int kMessages = 5;
  std::vector<std::vector<std::byte>> out, in;
  std::vector<std::unique_ptr<comm::Transfer>> transfers;
  for (int i = 0; i < kMessages; ++i)
    for (int channel : {3, 700})
      out.push_back(noise(17 + 1000 * i + channel, 100 * world.rank() + 10 * i + channel));
  in.reserve(out.size());
  // The receiver asks for channel 700 first; the sender begins with channel 3.
  for (int channel : {700, 3})
    for (int i = 0; i < kMessages; ++i) {
      in.emplace_back(17 + 1000 * i + channel);
      transfers.push_back(world.receive({previous(world), channel, "numbered"}, in.back()));
    }
  for (int i = 0; i < kMessages; ++i)
    for (int channel : {3, 700})
      transfers.push_back(
          world.send({next(world), channel, "numbered"}, out[2 * i + (channel == 700 ? 1 : 0)]));
  for (const auto& transfer : transfers) comm::wait(world, *transfer);
  std::size_t place = 0;
  for (int channel : {700, 3})
    for (int i = 0; i < kMessages; ++i, ++place)
      EXPECT_EQ(in[place], noise(17 + 1000 * i + channel, 100 * previous(world) + 10 * i + channel))
          << "channel " << channel << ", message " << i;
}

void long_messages_arrive_while_the_receiver_computes(comm::Communicator& world) {
  const auto out = noise(kLong, world.rank());
  std::vector<std::byte> in(kLong);
  auto receive = world.receive({previous(world), 0, "long"}, in);
  auto send = world.send({next(world), 0, "long"}, out);
  // Computes in slices and never asks whether the message is there, as a stage between layers.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  double sink = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 20000; ++i) sink += 1.0 / (i + 1);
    world.progress();
  }
  EXPECT_GT(sink, 0);
  EXPECT_TRUE(receive->done()) << "progress() did not move the message";
  comm::wait(world, *receive);
  comm::wait(world, *send);
  EXPECT_EQ(in, noise(kLong, previous(world)));
}

void empty_messages_arrive(comm::Communicator& world) {
  auto receive = world.receive({previous(world), 0, "empty"}, {});
  auto send = world.send({next(world), 0, "empty"}, {});
  comm::wait(world, *receive);
  comm::wait(world, *send);
}

void ring_of_long_messages_does_not_deadlock(comm::Communicator& world) {
  const auto out = noise(kLong, world.rank());
  std::vector<std::byte> in(kLong);
  auto send = world.send({next(world), 1, "ring"}, out);  // before any receive is posted
  auto receive = world.receive({previous(world), 1, "ring"}, in);
  comm::wait(world, *send);
  comm::wait(world, *receive);
  EXPECT_EQ(in, noise(kLong, previous(world)));
}

void collectives_agree(comm::Communicator& world) {
  for (int root = 0; root < world.size(); ++root) {
    comm::barrier(world);
    EXPECT_EQ(comm::broadcast(world, "from rank " + std::to_string(world.rank()), root),
              "from rank " + std::to_string(root));
  }
  const auto texts = comm::gather(world, std::string(world.rank() * 3, 'a' + world.rank()));
  ASSERT_EQ(texts.size(), world.rank() == 0 ? world.size() : 0);
  for (int rank = 0; rank < static_cast<int>(texts.size()); ++rank)
    EXPECT_EQ(texts[rank], std::string(rank * 3, 'a' + rank));

  constexpr int kEntries = 11;
  std::vector<double> sums(kEntries, -0.0), expected(kEntries);
  for (int i = 0; i < kEntries; ++i) {
    expected[i] = i == kEntries - 1 ? 0.0 : 0.1 * (i + 1);
    if (i % world.size() == world.rank() && i != kEntries - 1) sums[i] = expected[i];
  }
  comm::sum_disjoint(world, sums);
  for (int i = 0; i < kEntries; ++i) {
    EXPECT_EQ(sums[i], expected[i]);
    EXPECT_FALSE(std::signbit(sums[i])) << "entry " << i;
  }
}

void groups_do_not_mix(comm::Communicator& world) {
  // A group of all in reverse order, and the even and odd ranks apart: all at once on one channel.
  comm::GroupOptions reversed{{}, 1}, parity{{}, 2};
  for (int rank = world.size() - 1; rank >= 0; --rank) {
    reversed.ranks.push_back(rank);
    if (rank % 2 == world.rank() % 2) parity.ranks.push_back(rank);
  }
  const auto all = comm::make_group(world, reversed);
  const auto half = comm::make_group(world, parity);
  EXPECT_EQ(all->rank(), world.size() - 1 - world.rank());
  std::vector<comm::Communicator*> communicators = {&world, all.get(), half.get()};
  std::vector<std::vector<std::byte>> out, in;
  std::vector<std::unique_ptr<comm::Transfer>> transfers;
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    out.push_back(noise(1000, 10 * i + world.rank()));
    in.emplace_back(1000);
  }
  for (std::size_t i = 0; i < communicators.size(); ++i)
    transfers.push_back(
        communicators[i]->receive({previous(*communicators[i]), 5, "group"}, in[i]));
  for (std::size_t i = communicators.size(); i-- > 0;)
    transfers.push_back(communicators[i]->send({next(*communicators[i]), 5, "group"}, out[i]));
  for (const auto& transfer : transfers) comm::wait(world, *transfer);
  EXPECT_EQ(in[0], noise(1000, previous(world)));
  EXPECT_EQ(in[1], noise(1000, 10 + reversed.ranks[previous(*all)]));
  EXPECT_EQ(in[2], noise(1000, 20 + parity.ranks[previous(*half)]));
}

}  // namespace penstock::test
