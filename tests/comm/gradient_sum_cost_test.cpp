// docs/design/gradient-sums.md: what sums over replicas send, counted and simulated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/lane_reduction.h"
#include "comm/threads.h"
#include "tests/support/tree/sources.h"

namespace penstock::comm {
namespace {

struct Sent {
  std::int64_t messages = 0, bytes = 0;
};

/// Counts what this rank sends.
class CountingCommunicator final : public CarriedCommunicator {
 public:
  using CarriedCommunicator::CarriedCommunicator;

  std::unique_ptr<Transfer> send(const Message& message, std::span<const std::byte> data) override {
    ++sent_.messages;
    sent_.bytes += std::ssize(data);
    return carrier().send(message, data);
  }
  std::unique_ptr<Transfer> receive(const Message& message, std::span<std::byte> data) override {
    return carrier().receive(message, data);
  }
  void progress() override { carrier().progress(); }
  const Sent& sent() const { return sent_; }

 private:
  Sent sent_;
};

constexpr std::int64_t kBucketElements =
    33 * 64 * 16;  // even pieces for every number of replicas here

/// Returns the messages and bytes that each rank sends to add a bucket of kBucketElements.
std::vector<Sent> counted_of(int replicas) {
  std::vector<Sent> sent(static_cast<std::size_t>(replicas));
  run_as_threads({replicas}, [&](Communicator& group) {
    CountingCommunicator counting(group);
    std::vector<float> arena(kBucketElements, 1);
    LaneReduction reduction(
        counting,
        {layers::DType::f32, {kBucketElements}, std::vector(static_cast<std::size_t>(replicas), 1)},
        {reinterpret_cast<std::byte*>(arena.data())});
    reduction.start(0);
    reduction.finish();
    sent[static_cast<std::size_t>(group.rank())] = counting.sent();
    EXPECT_EQ(arena.back(), static_cast<float>(replicas));
  });
  return sent;
}

struct SimulatedMessage {
  int from = 0, to = 0;
  double bytes = 0;
};
using SimulatedRounds = std::vector<std::vector<SimulatedMessage>>;

constexpr double kBucket = 16 << 20;  // bytes

SimulatedRounds in_tree(int replicas) {
  SimulatedRounds rounds;
  const auto add = [&](const auto& of_replica) {
    const std::size_t first = rounds.size();
    for (int replica = 0; replica < replicas; ++replica) {
      const TreeRounds own = of_replica(replica);
      rounds.resize(first + own.size());
      for (std::size_t round = 0; round < own.size(); ++round)
        for (const auto& [from, to, places] : own[round])
          if (from.replica == replica)
            rounds[first + round].push_back(
                {from.replica, to.replica,
                 kBucket * static_cast<double>(places.size()) / replicas});
    }
  };
  add([&](int replica) {
    return sum_rounds(std::vector(static_cast<std::size_t>(replicas), 1), replica);
  });
  add([&](int replica) { return gather_rounds(replicas, replica); });
  return rounds;
}

SimulatedRounds in_ring(int replicas) {
  SimulatedRounds rounds(static_cast<std::size_t>(2 * (replicas - 1)));
  for (auto& round : rounds)
    for (int replica = 0; replica < replicas; ++replica)
      round.push_back({replica, (replica + 1) % replicas, kBucket / replicas});
  return rounds;
}

/// Lists the rounds of a direct exchange, to compare with: every replica sends every other its
/// piece, and then, in a second round, the sums of its own piece.
SimulatedRounds to_all(int replicas) {
  SimulatedRounds rounds(2);
  for (auto& round : rounds)
    for (int distance = 1; distance < replicas; ++distance)
      for (int replica = 0; replica < replicas; ++replica)
        round.push_back({replica, (replica + distance) % replicas, kBucket / replicas});
  return rounds;
}

/// Nodes of eight. A message takes its latency and its bytes' time, in which neither rank sends, or
/// receives, another; between nodes, the bytes' time of its nodes' adapters as well. A rank enters
/// a round when its part in the one before is over.
double simulated_seconds(const SimulatedRounds& rounds, int replicas) {
  constexpr int kNode = 8;
  constexpr double kLatency[] = {5e-6, 20e-6}, kBandwidth[] = {300e9, 25e9};  // within, between
  const auto size = static_cast<std::size_t>(replicas);
  std::vector<double> entered(size), left(size), sends(size), receives(size), out(size), in(size);
  for (auto round : rounds) {
    const auto ready = [&](const SimulatedMessage& m) {
      return std::max(entered[static_cast<std::size_t>(m.from)],
                      entered[static_cast<std::size_t>(m.to)]);
    };
    std::ranges::stable_sort(round, {}, ready);
    for (const SimulatedMessage& message : round) {
      const auto from = static_cast<std::size_t>(message.from);
      const auto to = static_cast<std::size_t>(message.to);
      const std::size_t leaving = from / kNode, arriving = to / kNode;
      const bool crosses = leaving != arriving;
      double begin = std::max({ready(message), sends[from], receives[to]});
      const double moving = message.bytes / kBandwidth[crosses];
      if (crosses) {
        begin = std::max({begin, out[leaving], in[arriving]});
        out[leaving] = in[arriving] = begin + moving;
      }
      const double end = begin + kLatency[crosses] + moving;
      sends[from] = receives[to] = end;
      left[from] = std::max(left[from], end);
      left[to] = std::max(left[to], end);
    }
    entered = left;
  }
  return *std::ranges::max_element(left);
}

std::string row(int replicas) {
  const std::vector<Sent> sent = counted_of(replicas);
  const auto by_messages = [](const Sent& one) { return one.messages; };
  const auto by_bytes = [](const Sent& one) { return one.bytes; };
  const std::int64_t messages = std::ranges::max(sent, {}, by_messages).messages;
  const auto bytes = static_cast<double>(std::ranges::max(sent, {}, by_bytes).bytes);
  const auto ms = [&](const SimulatedRounds& rounds) {
    return 1e3 * simulated_seconds(rounds, replicas);
  };
  return fmt::format("| {} | {} | {} | {} | {:.3f} | {:.3f} | {:.2f} | {:.2f} | {:.2f} |", replicas,
                     messages, 2 * (replicas - 1), 2 * (replicas - 1),
                     bytes / (kBucketElements * sizeof(float)), 2.0 * (replicas - 1) / replicas,
                     ms(in_tree(replicas)), ms(in_ring(replicas)), ms(to_all(replicas)));
}

TEST(GradientSumCost, IsThatOfThePage) {
  std::ifstream file(test::source("docs/design/gradient-sums.md"));
  std::stringstream page;
  page << file.rdbuf();
  for (const int replicas : {2, 3, 4, 8, 12, 16, 32, 33, 64})
    EXPECT_NE(page.str().find(row(replicas) + "\n"), std::string::npos) << row(replicas);
}

TEST(GradientSumCost, SendsARingsBytesForPowersOfTwo) {
  for (const int replicas : {2, 3, 4, 6, 8, 12, 16, 24, 32})
    for (const Sent& sent : counted_of(replicas)) {
      const std::int64_t of_ring = 2 * kBucketElements * 4 * (replicas - 1) / replicas;
      EXPECT_TRUE(sent.bytes == of_ring || !std::has_single_bit(static_cast<unsigned>(replicas)));
      EXPECT_LE(sent.messages, 2 * (replicas - 1));
    }
}

}  // namespace
}  // namespace penstock::comm
