#include "runtime/profiling/links/link_end.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "comm/tags.h"
#include "runtime/profiling/links/clocks.h"

namespace penstock::runtime {
namespace {

constexpr double kSlice = 1e-4;  // seconds between two calls of progress()

/// A fixed amount of work per slice, whatever the clock says later. The constructor measures how
/// many iterations fill kSlice. Square roots depend on one another, so neither the compiler nor the
/// processor can shorten the work.
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
  volatile double x_ = 1;  // keeps the compiler from dropping the work
  int turns_ = 1;
};

class HostLink final : public LinkEnd {
 public:
  HostLink(comm::Communicator& ranks, int peer)
      : ranks_(ranks), message_{peer, comm::tags::link, "measurement of a link"} {}

  void send(std::size_t bytes, int times) override {
    start(times, [&](std::byte* at) { return ranks_.send(message_, {at, bytes}); });
  }
  // Sends that were started before are finished first, since both use the same memory.
  void receive(std::size_t bytes, int times) override {
    finish();
    start(times, [&](std::byte* at) { return ranks_.receive(message_, {at, bytes}); });
    finish();
  }
  void compute(double seconds) override {
    if (!computation_) computation_.emplace();
    computation_->run(1 + static_cast<int>(seconds / kSlice), [&] { ranks_.progress(); });
  }
  void finish() override {
    for (const auto& transfer : transfers_) comm::wait(ranks_, *transfer);
    transfers_.clear();
  }

 private:
  void start(int times, const std::function<std::unique_ptr<comm::Transfer>(std::byte*)>& one) {
    for (int i = 0; i < times; ++i) transfers_.push_back(one(memory_.data() + i * kLinkMessage));
  }

  comm::Communicator& ranks_;
  comm::Message message_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kLinkMessages * kLinkMessage);
  std::vector<std::unique_ptr<comm::Transfer>> transfers_;
  std::optional<Computation> computation_;
};

}  // namespace

OpenLink host_links(comm::Communicator& ranks) {
  return [&ranks](int peer) { return std::make_unique<HostLink>(ranks, peer); };
}

RankPairs neighbours(int ranks) {
  RankPairs pairs;
  for (int rank = 0; rank + 1 < ranks; ++rank) pairs.emplace_back(rank, rank + 1);
  return pairs;
}

RankPairs every_pair(int ranks) {
  RankPairs pairs;
  for (int one = 0; one < ranks; ++one)
    for (int other = one + 1; other < ranks; ++other) pairs.emplace_back(one, other);
  return pairs;
}

}  // namespace penstock::runtime
