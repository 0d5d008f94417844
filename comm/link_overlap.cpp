#include "comm/link_overlap.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "comm/channels.h"
#include "comm/collectives.h"
#include "comm/link_speeds.h"

namespace penstock {
namespace {

constexpr int kRounds = 9;
constexpr double kSlice = 1e-4;  // seconds between two calls of progress()

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::array<double, kRounds> seconds) {
  std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
  return seconds[kRounds / 2];
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

/// On the sender. Each message is one round of the receiver.
double measure(Communicator& ranks, int to) {
  const Message message{to, channels::overlap, "measurement of overlap"};
  std::vector<std::byte> memory(kLinkMessage);
  Computation computation;
  const auto send = [&] { return ranks.send(message, memory); };
  std::array<double, kRounds> alone{}, computing{}, both{};
  for (double& seconds : alone) seconds = seconds_of([&] { wait(ranks, *send()); });
  const int slices = 1 + static_cast<int>(2 * median(alone) / kSlice);
  const auto progress = [&] { ranks.progress(); };
  for (int round = 0; round < kRounds; ++round) {
    computing[round] = seconds_of([&] { computation.run(slices, progress); });
    both[round] = seconds_of([&] {
      const auto transfer = send();
      computation.run(slices, progress);
      wait(ranks, *transfer);
    });
  }
  const double hidden = median(alone) + median(computing) - median(both);
  return std::clamp(hidden / median(alone), 0.0, 1.0);
}

void play_along(Communicator& ranks, int from) {
  const Message message{from, channels::overlap, "measurement of overlap"};
  std::vector<std::byte> memory(kLinkMessage);
  for (int round = 0; round < 2 * kRounds; ++round) wait(ranks, *ranks.receive(message, memory));
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

}  // namespace penstock
