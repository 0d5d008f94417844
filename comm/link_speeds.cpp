#include "comm/link_speeds.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>

#include "comm/channels.h"
#include "comm/collectives.h"

namespace penstock {
namespace {

constexpr int kRounds = 7, kRoundTrips = 20, kMessages = 8;

double median_seconds(const std::function<void()>& work) {
  std::array<double, kRounds> seconds;
  work();  // what libraries set up at the first message
  for (double& taken : seconds) {
    const auto start = std::chrono::steady_clock::now();
    work();
    taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
  return seconds[kRounds / 2];
}

/// One side of a link.
class End {
 public:
  End(Communicator& ranks, int peer)
      : ranks_(ranks), message_{peer, channels::link, "measurement of a link"} {}

  void send(std::size_t bytes, int times = 1) {
    move(times, [&](std::byte* at) { return ranks_.send(message_, {at, bytes}); });
  }
  void receive(std::size_t bytes, int times = 1) {
    move(times, [&](std::byte* at) { return ranks_.receive(message_, {at, bytes}); });
  }

 private:
  void move(int times, const std::function<std::unique_ptr<Transfer>(std::byte*)>& start) {
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (int i = 0; i < times; ++i) transfers.push_back(start(memory_.data() + i * kLinkMessage));
    for (const auto& transfer : transfers) wait(ranks_, *transfer);
  }

  Communicator& ranks_;
  Message message_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kMessages * kLinkMessage);
};

/// What the sender measures; the receiver plays along. Both answer when all has arrived.
LinkSpeed measure(Communicator& ranks, int from, int to) {
  const bool sends = ranks.rank() == from;
  End end(ranks, sends ? to : from);
  const auto way = [&](std::size_t bytes, int times) {
    sends ? end.send(bytes, times) : end.receive(bytes, times);
    sends ? end.receive(sizeof(double)) : end.send(sizeof(double));
  };
  const double trips = median_seconds([&] {
    for (int i = 0; i < kRoundTrips; ++i) way(sizeof(double), 1);
  });
  const double stream = median_seconds([&] { way(kLinkMessage, kMessages); });
  const double latency = trips / kRoundTrips / 2;
  return {from, to, latency, kMessages * kLinkMessage / std::max(stream - latency, 1e-9)};
}

}  // namespace

std::vector<LinkSpeed> link_speeds(Communicator& ranks, const RankPairs& pairs) {
  std::vector<LinkSpeed> speeds;
  for (const auto& [from, to] : pairs) {
    barrier(ranks);
    LinkSpeed speed{from, to};
    if (ranks.rank() == from || ranks.rank() == to) speed = measure(ranks, from, to);
    std::array<double, 2> figures{};
    if (ranks.rank() == from) figures = {speed.latency_s, speed.bytes_per_s};
    sum_disjoint(ranks, figures);
    speeds.push_back({from, to, figures[0], figures[1]});
  }
  return speeds;
}

std::vector<LinkSpeed> link_speeds(Communicator& ranks) {
  RankPairs neighbours;
  for (int rank = 0; rank + 1 < ranks.size(); ++rank) {
    neighbours.emplace_back(rank, rank + 1);
    neighbours.emplace_back(rank + 1, rank);
  }
  return link_speeds(ranks, neighbours);
}

RankPairs every_pair(int ranks) {
  RankPairs pairs;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to) pairs.emplace_back(from, to);
  return pairs;
}

}  // namespace penstock
