#include "partition/planner/simulate/period_lower_bound.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "partition/schedule/complete.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

constexpr double kRounding = 1e-12;  // of sums of a few hundred times

/// Draws whole numbers.
class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}
  int of(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

 private:
  std::mt19937 random_;
};

/// Ragged passes, copies, reductions and steps of any schedule.
struct Ragged {
  std::vector<std::vector<ChunkTimes>> passes;
  std::vector<double> copies, reductions, steps, bytes;

  Ragged(const Schedule& schedule, Draws& draws) {
    for (int chunk = 0; chunk < schedule.chunks(); ++chunk) {
      auto& times = passes.emplace_back();
      for (int m = 0; m < schedule.micro_batches; ++m)
        times.push_back({0.1 * draws.of(1, 50), 0.1 * draws.of(1, 50), 0.1 * draws.of(0, 50)});
      copies.push_back(0.1 * draws.of(0, 60));
      reductions.push_back(0.1 * draws.of(0, 90));
      bytes.push_back(0.1 * draws.of(0, 40));
    }
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
      steps.push_back(0.1 * draws.of(0, 30));
  }

  double size_of(const Edge& edge, int micro_batch) const {
    return bytes[edge.consumer] * (3 - micro_batch % 3);
  }
  Durations durations() const {
    return {.compute =
                [this](const Action& action) {
                  if (action.kind == ActionKind::reduce) return reductions[action.chunk];
                  if (!computes(action.kind)) return copies[action.chunk];
                  return passes[action.chunk][action.micro_batch].of(action.kind);
                },
            .step = [this](int rank) { return steps[rank]; }};
  }
};

Schedule drawn_schedule(Draws& draws) {
  const auto names = schedule_names();
  const auto name =
      names[static_cast<std::size_t>(draws.of(0, static_cast<int>(std::ssize(names)) - 1))];
  const int stages = draws.of(2, 5);
  return make_schedule(std::string(name), stages, draws.of(stages, 9));
}

TEST(PeriodLowerBound, IsThePeriodWhereNothingIsShared) {
  Draws draws(20);
  for (int instance = 0; instance < 300; ++instance) {
    const Schedule schedule = drawn_schedule(draws);
    const Ragged ragged(schedule, draws);
    Durations durations = ragged.durations();
    durations.transfer = [&](const Edge& edge, int m) { return ragged.size_of(edge, m); };
    const double period = step_period(schedule, durations, Barrier::before_step);
    EXPECT_NEAR(PeriodLowerBound(schedule).seconds(durations), period, kRounding * period)
        << schedule.name << instance;
  }
}

TEST(PeriodLowerBound, NeverExceedsThePeriodOfSharedLinks) {
  Draws draws(21);
  int longer = 0;
  for (int instance = 0; instance < 300; ++instance) {
    const Schedule schedule = drawn_schedule(draws);
    const int ranks = static_cast<int>(schedule.ranks.size()), links = draws.of(1, ranks);
    const Ragged ragged(schedule, draws);
    Network network;
    for (int link = 0; link < links; ++link)
      network.links.push_back({0.1 * draws.of(0, 9), 0.5 * draws.of(1, 9)});
    network.route = [&](int from, int to) { return std::vector{(from + 2 * to) % links}; };
    network.bytes = [&](const Edge& edge, int m) { return ragged.size_of(edge, m); };
    network.overlap = 0.25 * draws.of(0, 4);
    Durations durations = ragged.durations();
    durations.network = &network;
    const double period = step_period(schedule, durations, Barrier::before_step);
    const double min = PeriodLowerBound(schedule).seconds(durations);
    EXPECT_LE(min, period * (1 + kRounding)) << schedule.name << instance;
    longer += min < period * (1 - 1e-3);
    network.links = std::vector<Link>(network.links.size(), {0.5, 1e12});
    EXPECT_NEAR(PeriodLowerBound(schedule).seconds(durations),
                step_period(schedule, durations, Barrier::before_step), 1e-9 * period)
        << schedule.name << instance;
  }
  EXPECT_GT(longer, 30) << "no messages met";
}

TEST(PeriodLowerBound, NeverExceedsThePeriodWithOffload) {
  Draws draws(22);
  int longer = 0;
  for (int instance = 0; instance < 200; ++instance) {
    const Schedule schedule = with_offload(drawn_schedule(draws), draws.of(1, 3));
    const Ragged ragged(schedule, draws);
    const Durations durations = ragged.durations();
    const double period = step_period(schedule, durations, Barrier::before_step);
    const double min = PeriodLowerBound(schedule).seconds(durations);
    EXPECT_LE(min, period * (1 + kRounding)) << schedule.name << instance;
    longer += min < period * (1 - 1e-3);
  }
  EXPECT_GT(longer, 30) << "no slot was waited for";
}

}  // namespace
}  // namespace penstock::partition
