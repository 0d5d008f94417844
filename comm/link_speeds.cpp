#include "comm/link_speeds.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

#include "base/median.h"
#include "comm/collectives.h"
#include "comm/stopwatch.h"
#include "comm/tags.h"

namespace penstock::comm {
namespace {

constexpr int kRounds = 7, kRoundTrips = 20, kMessages = 8;
constexpr int kFewestRounds = 2;
constexpr double kSecondsOfLink = 1;  // about, for messages on a link

double median_seconds(int rounds, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) seconds.push_back(seconds_of(work));
  return median(std::move(seconds));
}

/// One side of a link.
class End {
 public:
  End(Communicator& ranks, int peer)
      : ranks_(ranks), message_{peer, tags::link, "measurement of a link"} {}

  void send(std::size_t bytes, int times = 1) {
    move(times, [&](std::byte* at) { return ranks_.send(message_, {at, bytes}); });
  }
  void receive(std::size_t bytes, int times = 1) {
    move(times, [&](std::byte* at) { return ranks_.receive(message_, {at, bytes}); });
  }
  void put(std::span<const std::byte> what) { wait(ranks_, *ranks_.send(message_, what)); }
  void get(std::span<std::byte> what) { wait(ranks_, *ranks_.receive(message_, what)); }

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

/// How often, so that a slow link is measured in seconds too. The sender chooses.
struct Effort {
  int messages = kMessages, rounds = kRounds;

  /// For messages of which one takes `seconds`.
  static Effort of(double seconds) {
    const int affordable = static_cast<int>(kSecondsOfLink / seconds);
    const int messages = std::clamp(affordable / kRounds, 1, kMessages);
    return {messages, std::clamp(affordable / messages, kFewestRounds, kRounds)};
  }
};

/// What the sender measures; the receiver plays along. Both answer when all has arrived.
LinkSpeed measure(Communicator& ranks, int from, int to) {
  const bool sends = ranks.rank() == from;
  End end(ranks, sends ? to : from);
  const auto way = [&](std::size_t bytes, int times) {
    if (sends) {
      end.send(bytes, times);
      end.receive(sizeof(double));
    } else {
      end.receive(bytes, times);
      end.send(sizeof(double));
    }
  };
  way(sizeof(double), 1);  // what libraries set up at the first message
  const double trips = median_seconds(kRounds, [&] {
    for (int i = 0; i < kRoundTrips; ++i) way(sizeof(double), 1);
  });
  way(kLinkMessage, 1);
  Effort effort = Effort::of(seconds_of([&] { way(kLinkMessage, 1); }));
  const auto told = std::as_writable_bytes(std::span(&effort, 1));
  if (sends)
    end.put(told);
  else
    end.get(told);
  const double stream = median_seconds(effort.rounds, [&] { way(kLinkMessage, effort.messages); });
  const double latency = trips / kRoundTrips / 2;
  const double bytes = static_cast<double>(effort.messages * kLinkMessage);
  return {from, to, latency, bytes / std::max(stream - latency, 1e-9)};
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

}  // namespace penstock::comm
