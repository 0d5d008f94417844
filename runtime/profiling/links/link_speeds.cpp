#include "runtime/profiling/links/link_speeds.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

#include "base/averages.h"
#include "comm/tags.h"
#include "runtime/profiling/links/clocks.h"
#include "runtime/profiling/links/measure_links.h"

// A way of a link is described by two numbers, so a message of n bytes takes latency + n /
// bandwidth. Half of a round trip of 8 bytes is the latency. The bandwidth follows from large
// messages, several in flight as in a pipeline: bytes / (seconds - latency). How many are sent
// depends on the speed of the first ones, since a link may be 1,000 times slower than another. The
// sender chooses the number and tells the receiver.

namespace penstock::runtime {
namespace {

constexpr int kRounds = 7, kRoundTrips = 20;
constexpr int kMinRounds = 2;
constexpr double kSecondsOfLink = 1;     // target duration of the messages of a way
constexpr double kSecondsOfTrips = 0.5;  // target duration of its round trips

double median_seconds(int rounds, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) seconds.push_back(seconds_of(work));
  return median(std::move(seconds));
}

/// Returns the round trips per round if one takes `seconds`. It keeps a slow link within seconds.
int affordable_trips(double seconds) {
  return std::clamp(static_cast<int>(kSecondsOfTrips / kRounds / seconds), 1, kRoundTrips);
}

/// How many messages a round has and how many rounds there are. The sender chooses.
struct Effort {
  int messages = kLinkMessages, rounds = kRounds;

  /// Returns the effort for messages of which one takes `seconds`.
  static Effort of(double seconds) {
    const int affordable = static_cast<int>(kSecondsOfLink / seconds);
    const int messages = std::clamp(affordable / kRounds, 1, kLinkMessages);
    return {messages, std::clamp(affordable / messages, kMinRounds, kRounds)};
  }
};

/// Measures {latency in s, bytes per s} on the sender; the receiver takes the opposite part. A
/// message is timed up to a short answer from the receiver, so all has arrived, and one latency is
/// subtracted.
std::array<double, 2> measure(comm::Communicator& ranks, const Way& way, LinkEnd& end) {
  const auto go = [&](std::size_t bytes, int times) {
    if (way.sends) {
      end.send(bytes, times);
      end.receive(sizeof(double));
    } else {
      end.receive(bytes, times);
      end.send(sizeof(double));
    }
  };
  const auto go_once = [&](std::size_t bytes, int times) {
    go(bytes, times);
    end.finish();
  };
  go_once(sizeof(double), 1);  // libraries set up the connection at the first message
  int trips = affordable_trips(seconds_of([&] { go_once(sizeof(double), 1); }));
  exchange_effort(ranks, way, std::as_writable_bytes(std::span(&trips, 1)));
  const double there_and_back = median_seconds(kRounds, [&] {
    for (int i = 0; i < trips; ++i) go(sizeof(double), 1);
    end.finish();
  });
  go_once(kLinkMessage, 1);
  Effort effort = Effort::of(seconds_of([&] { go_once(kLinkMessage, 1); }));
  exchange_effort(ranks, way, std::as_writable_bytes(std::span(&effort, 1)));
  const double stream =
      median_seconds(effort.rounds, [&] { go_once(kLinkMessage, effort.messages); });
  const double latency = there_and_back / trips / 2;
  const double bytes = static_cast<double>(effort.messages * kLinkMessage);
  return {latency, bytes / std::max(stream - latency, 1e-9)};
}

constexpr int kOverlapRounds = 9, kMinOverlapRounds = 3;
constexpr double kSecondsOfOverlap = 1.5;  // target duration of all rounds of one way

/// Returns the rounds for a link over which a message takes `seconds`. A round has two messages,
/// and computes for about two more.
int affordable_rounds(double seconds) {
  return std::clamp(static_cast<int>(kSecondsOfOverlap / (4 * seconds)), kMinOverlapRounds,
                    kOverlapRounds);
}

/// Returns the sender's measurement. The sender also sends the receiver the number of rounds that
/// follow its first messages. Computing takes twice as long as a message, so that a message that
/// passes beside it can do so entirely. Rounds alternate between computing alone and both, since
/// the machine's speed may drift.
double overlap_of(comm::Communicator& ranks, const Way& way, LinkEnd& end) {
  const auto send_alone = [&] {
    return seconds_of([&] {
      end.send(kLinkMessage);
      end.finish();
    });
  };
  end.compute(0);
  send_alone();  // libraries set up the connection at the first message
  int rounds = affordable_rounds(send_alone());
  exchange_effort(ranks, way, std::as_writable_bytes(std::span(&rounds, 1)));

  std::vector<double> alone, computing, both;
  for (int round = 0; round < rounds; ++round) alone.push_back(send_alone());
  const double transfer_s = median(alone);
  for (int round = 0; round < rounds; ++round) {
    computing.push_back(seconds_of([&] {
      end.compute(2 * transfer_s);
      end.finish();
    }));
    both.push_back(seconds_of([&] {
      end.send(kLinkMessage);
      end.compute(2 * transfer_s);
      end.finish();
    }));
  }
  return std::clamp((transfer_s + median(computing) - median(both)) / transfer_s, 0.0, 1.0);
}

/// Receives as many messages as overlap_of() sends: two beforehand, then `rounds` alone and
/// `rounds` beside computing.
void play_along(comm::Communicator& ranks, const Way& way, LinkEnd& end) {
  const auto receive = [&] {
    end.receive(kLinkMessage);
    end.finish();
  };
  int rounds = 0;
  for (int first = 0; first < 2; ++first) receive();
  exchange_effort(ranks, way, std::as_writable_bytes(std::span(&rounds, 1)));
  for (int i = 0; i < 2 * rounds; ++i) receive();
}

}  // namespace

std::vector<LinkSpeed> link_speeds(comm::Communicator& ranks, const RankPairs& links,
                                   const OpenLink& open, const std::vector<int>& nodes) {
  const std::vector<double> figures = measure_both_ways(
      ranks, {links, open, nodes}, 2, [&](const Way& way, LinkEnd& end, std::span<double> found) {
        std::ranges::copy(measure(ranks, way, end), found.begin());
      });
  std::vector<LinkSpeed> speeds;
  const auto add = [&](int from, int to) {
    const double* of_way = figures.data() + 2 * speeds.size();
    speeds.push_back({from, to, of_way[0], of_way[1]});
  };
  for (const auto& [one, other] : links) {
    add(one, other);
    add(other, one);
  }
  return speeds;
}

std::vector<double> link_overlaps(comm::Communicator& ranks, const RankPairs& links,
                                  const OpenLink& open, const std::vector<int>& nodes) {
  return measure_both_ways(ranks, {links, open, nodes}, 1,
                           [&](const Way& way, LinkEnd& end, std::span<double> share) {
                             if (way.sends)
                               share[0] = overlap_of(ranks, way, end);
                             else
                               play_along(ranks, way, end);
                           });
}

}  // namespace penstock::runtime
