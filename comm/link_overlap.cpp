#include "comm/link_overlap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "base/median.h"
#include "comm/collectives.h"
#include "comm/link_speeds.h"
#include "comm/stopwatch.h"
#include "comm/tags.h"

namespace penstock::comm {
namespace {

constexpr int kOverlapRounds = 9, kFewestOverlapRounds = 3;
constexpr double kSecondsOfOverlap = 1.5;  // about
constexpr double kSlice = 1e-4;            // seconds between two calls of progress()

/// Of a link over which a message takes `seconds`: each round has two messages, and as much
/// computing.
int affordable_rounds(double seconds) {
  return std::clamp(static_cast<int>(kSecondsOfOverlap / (4 * seconds)), kFewestOverlapRounds,
                    kOverlapRounds);
}

/// Work that takes as long whatever the clock says, in slices.
class Computation {
 public:
  Computation() {
    const double seconds = seconds_of([&] { turn(kTrial); });
    turns_ = std::max(1, static_cast<int>(kTrial * kSlice / seconds));
  }
  void run(int slices, const std::function<void()>& between) {
    for (int i = 0; i < slices; ++i) {
      turn(turns_);
      between();
    }
  }

 private:
  static constexpr int kTrial = 1 << 20;
  void turn(int turns) {
    double x = x_;
    for (int i = 0; i < turns; ++i) x = std::sqrt(x + 1.5);
    x_ = x;
  }
  volatile double x_ = 1;  // so that the work is done
  int turns_ = 1;
};

/// On the sender, who tells the receiver how many rounds follow a first message.
double measure(Communicator& ranks, int to) {
  const Message message{to, tags::overlap, "measurement of overlap"};
  std::vector<std::byte> memory(kLinkMessage);
  Computation computation;
  const auto send = [&] { return ranks.send(message, memory); };
  const auto send_alone = [&] { return seconds_of([&] { wait(ranks, *send()); }); };
  send_alone();  // what libraries set up at the first message
  const int rounds = affordable_rounds(send_alone());
  wait(ranks, *ranks.send(message, std::as_bytes(std::span(&rounds, 1))));

  std::vector<double> alone, computing, both;
  for (int round = 0; round < rounds; ++round) alone.push_back(send_alone());
  const double transfer_s = median(alone);
  const int slices = 1 + static_cast<int>(2 * transfer_s / kSlice);
  const auto progress = [&] { ranks.progress(); };
  for (int round = 0; round < rounds; ++round) {
    computing.push_back(seconds_of([&] { computation.run(slices, progress); }));
    both.push_back(seconds_of([&] {
      const auto transfer = send();
      computation.run(slices, progress);
      wait(ranks, *transfer);
    }));
  }
  return std::clamp((transfer_s + median(computing) - median(both)) / transfer_s, 0.0, 1.0);
}

void play_along(Communicator& ranks, int from) {
  const Message message{from, tags::overlap, "measurement of overlap"};
  std::vector<std::byte> memory(kLinkMessage);
  const auto receive = [&](std::span<std::byte> what) {
    wait(ranks, *ranks.receive(message, what));
  };
  int rounds = 0;
  for (int first = 0; first < 2; ++first) receive(memory);
  receive(std::as_writable_bytes(std::span(&rounds, 1)));
  for (int i = 0; i < 2 * rounds; ++i) receive(memory);
}

}  // namespace

double link_overlap(Communicator& ranks, int from, int to) {
  std::array<double, 1> share{};
  barrier(ranks);
  if (ranks.rank() == from) share = {measure(ranks, to)};
  if (ranks.rank() == to) play_along(ranks, from);
  sum_disjoint(ranks, share);
  return share[0];
}

}  // namespace penstock::comm
