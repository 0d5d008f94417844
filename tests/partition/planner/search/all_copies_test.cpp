#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <tuple>

#include "base/error.h"
#include "partition/planner/simulate/simulate.h"
#include "partition/schedule/complete.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/partition/polled_step.h"
#include "tests/support/partition/tried_copies.h"

namespace penstock::partition {
namespace {

constexpr std::size_t kMaxWays = 3000;

/// A small step of a named schedule, some of whose micro-batches leave for the host.
class OffloadingStep {
 public:
  explicit OffloadingStep(std::mt19937& random) : random_(random) {
    const auto names = schedule_names();
    const auto name = names[random_() % names.size()];
    const int stages = number(1, 3);
    whole_ = make_schedule(name, stages, number(2, 5));
    resident_ = number(1, 3);
    const double slowness = real(0.1, 3);  // of copies, by passes
    durations_.compute = [this, slowness](const Action& action) {
      const bool copies = action.kind == ActionKind::offload || action.kind == ActionKind::reload;
      if (copies) return slowness * drawn(0, action.chunk, action.micro_batch);
      if (!computes(action.kind)) return 0.0;
      return drawn(1 + static_cast<int>(action.kind), action.chunk, action.micro_batch);
    };
    durations_.transfer = [this](const Edge& edge, int m) {
      return 0.3 * drawn(edge.kind == Edge::Kind::activation ? -1 : -2, edge.producer, m);
    };
  }
  OffloadingStep(const OffloadingStep&) = delete;

  const Schedule& whole() const { return whole_; }
  int resident() const { return resident_; }
  const Durations& durations() const { return durations_; }

 private:
  int number(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  double real(double low, double high) {
    return std::uniform_real_distribution(low, high)(random_);
  }
  /// Once for each, a copy's both ways.
  double drawn(int what, int chunk, int micro_batch) {
    const auto [at, fresh] = drawn_.try_emplace({what, chunk, micro_batch}, 0);
    if (fresh) at->second = real(0.2, 3);
    return at->second;
  }

  std::mt19937& random_;
  Schedule whole_;
  int resident_ = 1;
  std::map<std::tuple<int, int, int>, double> drawn_;
  Durations durations_;
};

bool offloads(const Schedule& lists) {
  return std::ranges::any_of(lists.ranks, [](const auto& list) {
    return std::ranges::any_of(
        list, [](const Action& action) { return action.kind == ActionKind::offload; });
  });
}

/// Counts steps whose offloads and reloads were compared with every way.
struct TriedCopies {
  int steps = 0, optimal = 0;
  std::size_t ways = 0, hanging = 0;
  double max = 0, sum = 0;  // of what is chosen over the shortest, less 1
};

/// In test runs 150; PENSTOCK_ALL_LISTS says another number, and has it tell what it saw.
int copying_steps() {
  const char* asked = std::getenv("PENSTOCK_ALL_LISTS");
  return asked == nullptr ? 150 : std::atoi(asked);
}

/// The shortest of all ways. Each tenth, and each that is shorter than those before, is also
/// polled.
double shortest(const OffloadingStep& step, TriedCopies& tried) {
  double min = 1e300;
  std::size_t number = 0;
  const std::size_t ways =
      test::try_copies(step.whole(), step.resident(), kMaxWays, [&](const Schedule& lists) {
        double seconds = 1e300;
        try {
          seconds = simulate(lists, step.durations()).makespan;
        } catch (const ConfigError&) {
          ++tried.hanging;
        }
        if (seconds < min || number++ % 10 == 0) {
          const test::PolledStep polled = test::poll(lists, step.durations());
          EXPECT_EQ(polled.is_over, seconds < 1e300);
          if (polled.is_over) {
            EXPECT_NEAR(seconds, polled.seconds, 1e-9);
          }
        }
        min = std::min(min, seconds);
      });
  if (min < 1e300) tried.ways += ways;
  return min;
}

TEST(AllCopies, NoneMakeStepsMuchShorterThanThoseChosen) {
  std::mt19937 random(43);
  TriedCopies tried;
  while (tried.steps < copying_steps()) {
    OffloadingStep step(random);
    const Schedule chosen = with_offload(step.whole(), step.resident());
    if (!offloads(chosen)) continue;
    const double seconds = test::poll(chosen, step.durations()).seconds;
    const double min = shortest(step, tried);
    if (min == 1e300) continue;  // too many ways
    ++tried.steps;
    ASSERT_NEAR(simulate(chosen, step.durations()).makespan, seconds, 1e-9);
    EXPECT_LE(min, seconds * (1 + 1e-9)) << chosen.name;
    const double gap = seconds / min - 1;
    tried.optimal += gap < 1e-9;
    tried.sum += gap;
    tried.max = std::max(tried.max, gap);
  }
  if (std::getenv("PENSTOCK_ALL_LISTS") != nullptr)
    std::cout << fmt::format(
        "{} steps, {} ways, of which {} hang: {} shortest; gap {:.2f} % at most, {:.4f} % on "
        "average\n",
        tried.steps, tried.ways, tried.hanging, tried.optimal, 100 * tried.max,
        100 * tried.sum / tried.steps);
  EXPECT_GE(tried.optimal, 0.85 * tried.steps);
  EXPECT_LE(tried.sum / tried.steps, 0.03);
}

}  // namespace
}  // namespace penstock::partition
