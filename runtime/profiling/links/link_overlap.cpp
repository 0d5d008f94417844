#include "runtime/profiling/links/link_overlap.h"

#include <algorithm>
#include <span>

#include "base/median.h"
#include "runtime/profiling/links/measure_links.h"
#include "runtime/profiling/links/stopwatch.h"

namespace penstock::runtime {
namespace {

constexpr int kOverlapRounds = 9, kMinOverlapRounds = 3;
constexpr double kSecondsOfOverlap = 1.5;  // target duration of all rounds of one way

/// Returns the rounds for a link over which a message takes `seconds`. A round has two messages,
/// and computes for about two more.
int affordable_rounds(double seconds) {
  return std::clamp(static_cast<int>(kSecondsOfOverlap / (4 * seconds)), kMinOverlapRounds,
                    kOverlapRounds);
}

/// Returns the sender's measurement. The sender also sends the receiver the number of rounds that
/// follow its first messages.
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
