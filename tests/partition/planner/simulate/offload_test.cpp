#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "configs/config.h"
#include "partition/planner/simulate/memory.h"
#include "partition/planner/simulate/simulate.h"
#include "partition/schedule/complete.h"
#include "partition/schedule/edge.h"
#include "partition/schedule/in_flight.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/partition/polled_step.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

using enum ActionKind;
using test::key;
using Key = test::ActionKey;

/// Drawn for every action and message.
struct Drawn {
  explicit Drawn(unsigned seed) : random(seed) {
    const double slowness = seed % 2 == 0 ? 1 : 4;  // of copies
    durations.compute = [this, slowness, seed](const Action& action) {
      if (seed % 3 == 0 && action.kind == backward_weight) return 0.0;  // nothing to train there
      const bool copies = action.kind == offload || action.kind == reload;
      if (!computes(action.kind) && !copies) return 0.0;
      return (copies ? slowness : 1) * of(key(action));
    };
    durations.transfer = [this](const Edge& edge, int m) {
      return 0.3 * of({edge.kind == Edge::Kind::activation ? send_activation : send_gradient,
                       edge.producer, m});
    };
  }
  double of(const Key& what) {
    const auto [at, fresh] = known.try_emplace(what, 0);
    if (fresh) at->second = std::uniform_real_distribution(0.2, 3.0)(random);
    return at->second;
  }
  std::mt19937 random;
  std::map<Key, double> known;
  Durations durations;
};

TEST(SimulatedOffload, AgreesWithLookingAgainAndAgain) {
  unsigned seed = 1;
  for (const std::string_view name : schedule_names())
    for (int stages = 1; stages <= 4; ++stages)
      for (const int batches : {3, 6, 7})
        for (const int resident : {1, 2, 3}) {
          const Schedule lists = with_offload(make_schedule(name, stages, batches), resident);
          Drawn drawn(seed++);
          const test::PolledStep polled = test::poll(lists, drawn.durations);
          SCOPED_TRACE(fmt::format("{} {} {} {}", name, stages, batches, resident));
          ASSERT_TRUE(polled.is_over);
          const Simulation run = simulate(lists, drawn.durations);
          std::size_t found = 0;
          for (const auto* timeline : {&run.ranks, &run.copies})
            for (const auto& list : *timeline)
              for (const TimedAction& timed : list) {
                if (timed.action.kind == reduce || timed.action.kind == step) continue;
                ++found;
                EXPECT_DOUBLE_EQ(timed.start, polled.begun.at(key(timed.action)))
                    << describe(timed.action);
              }
          EXPECT_EQ(found, polled.begun.size());
        }
}

// Stage 0 holds two of three micro-batches: 1 leaves, which takes 4 each way.
TEST(SimulatedOffload, CopiesTakeTheirTime) {
  const Schedule lists = with_offload(make_schedule("gpipe", 1, 3), 2);
  const Durations durations{.compute = [](const Action& action) {
    if (action.kind == offload || action.kind == reload) return 4.0;
    return computes(action.kind) ? 1.0 : 0.0;
  }};
  // F0 0-1, F1 1-2, out 2-6, F2 6-7, B0 7-8, back 8-12, B1 12-13, B2 13-14.
  EXPECT_DOUBLE_EQ(simulate(lists, durations).makespan, 14);
  const Durations free{.compute = [](const Action& a) { return computes(a.kind) ? 1.0 : 0.0; }};
  EXPECT_DOUBLE_EQ(simulate(lists, free).makespan, 6);
  EXPECT_DOUBLE_EQ(step_period(lists, durations, Barrier::before_step), 14);
}

// Lists that with_offload() does not make: backward comes before the reload that it waits for.
TEST(SimulatedOffload, SaysThatAStepWouldHang) {
  Schedule lists{.name = "by hand", .micro_batches = 2, .chunk_rank = {0}};
  lists.ranks = {{{forward, 0, 0},
                  {backward, 0, 0},
                  {forward, 0, 1},
                  {offload, 0, 1},
                  {backward, 0, 1},
                  {reload, 0, 1}}};
  const Durations durations{.compute = [](const Action&) { return 1.0; }};
  EXPECT_NE(test::message_of<ConfigError>([&] {
              simulate(lists, durations);
            }).find("pipeline.resident: a step of schedule \"by hand\" would hang: rank 0"),
            std::string::npos);
}

TEST(SimulatedOffload, MemoryHoldsWhatIsThere) {
  unsigned seed = 100;
  for (const std::string_view name : schedule_names())
    for (const int resident : {1, 2}) {
      const Schedule lists = with_offload(make_schedule(name, 3, 7), resident);
      Drawn drawn(seed++);
      const auto memory = memory_over_time(simulate(lists, drawn.durations), [](int, int) {
        return HeldBytes{.to_input_gradient = 1, .to_weight_gradient = 2};
      });
      for (std::size_t rank = 0; rank < memory.size(); ++rank) {
        int slots = 0;
        for (int chunk = 0; chunk < lists.chunks(); ++chunk)
          if (lists.chunk_rank[chunk] == static_cast<int>(rank))
            slots += count_in_flight(lists, chunk).slots;
        EXPECT_LE(peaks(memory)[rank], 3 * slots) << name << rank;
        EXPECT_NEAR(memory[rank].back().bytes, 0, 1e-9) << name << rank;
      }
    }
}

}  // namespace
}  // namespace penstock::partition
