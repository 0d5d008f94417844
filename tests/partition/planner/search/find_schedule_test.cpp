#include "partition/planner/search/find_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"
#include "configs/config.h"
#include "partition/planner/search/lower_bound.h"
#include "partition/planner/simulate/memory.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/validator/validator.h"
#include "tests/support/partition/schedule_interpreter.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::partition {
namespace {

std::vector<double> quickstart_seconds() {
  std::ifstream file(test::source("tests/partition/data/quickstart_seconds.txt"));
  std::vector<double> seconds;
  for (double each = 0; file >> each;) seconds.push_back(each);
  return seconds;
}

std::vector<int> as_given(int micro_batches) {
  std::vector<int> order(micro_batches);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Micro-batches of equal numbers of utterances, cut evenly into the chunks of a named schedule:
/// all passes and all memory go by seconds of audio.
ScheduleProblem cut_for(const char* name, int ranks, const std::vector<double>& audio) {
  const int batches = static_cast<int>(audio.size());
  ScheduleProblem problem{.chunk_rank = make_schedule(name, ranks, batches).chunk_rank};
  const double share = static_cast<double>(ranks) / problem.chunks();
  std::vector<ChunkTimes> times;
  std::vector<double> held;
  for (const double sum : audio) {
    times.push_back({share * sum, share * sum, share * sum});
    held.push_back(share * sum);
  }
  problem.times.assign(problem.chunks(), times);
  problem.held.assign(problem.chunks(), held);
  return problem;
}

std::vector<double> ragged_audio(const std::vector<double>& seconds, std::mt19937& random) {
  constexpr int kMicroBatches = 8, kUtterances = 5;
  std::vector<double> audio(kMicroBatches, 0);
  for (double& sum : audio)
    for (int i = 0; i < kUtterances; ++i) sum += seconds[random() % seconds.size()];
  return audio;
}

/// One chunk a rank, with the memory that ZB-H1 takes.
ScheduleProblem ragged_draw(const std::vector<double>& seconds, std::mt19937& random) {
  ScheduleProblem problem = cut_for("zb-h1", 4, ragged_audio(seconds, random));
  const Schedule h1 = make_schedule("zb-h1", problem.ranks(), problem.micro_batches());
  problem.memory = problem.peak(h1, as_given(problem.micro_batches()));
  return problem;
}

double makespan(const ScheduleProblem& problem, const char* name) {
  const Schedule schedule = make_schedule(name, problem.ranks(), problem.micro_batches());
  return simulate(schedule, problem.durations(as_given(problem.micro_batches()))).makespan;
}

TEST(FindSchedule, ClosesAThirdOfTheGapWhenRagged) {
  const std::vector<double> seconds = quickstart_seconds();
  ASSERT_EQ(seconds.size(), 485u);
  std::mt19937 random(3);
  std::vector<double> closed;
  for (int trial = 0; trial < 20; ++trial) {
    const ScheduleProblem problem = ragged_draw(seconds, random);
    const FoundSchedule found = find_schedule(problem, {.effort = 1'500'000});
    EXPECT_NO_THROW(validate(found.schedule));
    EXPECT_EQ(test::run_schedule(found.schedule, random), "");
    EXPECT_TRUE(problem.fits(problem.peak(found.schedule, found.order)));
    EXPECT_GE(found.makespan, found.lower_bound);
    const double h1 = makespan(problem, "zb-h1");
    EXPECT_LE(found.makespan, std::min(h1, makespan(problem, "1f1b")));
    closed.push_back((h1 - found.makespan) / (h1 - found.lower_bound));
  }
  std::ranges::sort(closed);
  EXPECT_GE((closed[9] + closed[10]) / 2, 1.0 / 3);
}

// Within the memory of a schedule that holds much, or little, of several chunks or one.
TEST(FindSchedule, NeverLosesToAnyNamedScheduleThatFits) {
  const std::vector<double> seconds = quickstart_seconds();
  std::mt19937 random(17);
  for (int trial = 0; trial < 20; ++trial) {
    const char* allowed = std::array{"zb-h1", "v-half",      "v-min",        "1f1b",
                                     "gpipe", "interleaved", "interleaved-4"}[trial % 7];
    const std::vector<double> audio = ragged_audio(seconds, random);
    const ScheduleProblem allows = cut_for(allowed, 4, audio);
    const auto given = as_given(allows.micro_batches());
    const double memory = allows.peak(make_schedule(allowed, 4, allows.micro_batches()), given);
    std::vector<ScheduleProblem> ways;
    for (const char* layout : {"1f1b", "zb-v", "interleaved", "interleaved-3", "interleaved-4"})
      ways.emplace_back(cut_for(layout, 4, audio)).memory = memory;
    const FoundSchedule found = find_schedule(ways, {.effort = 100'000});
    const ScheduleProblem& way = ways[found.way];
    EXPECT_EQ(test::run_schedule(found.schedule, random), "");
    EXPECT_TRUE(way.fits(way.peak(found.schedule, found.order)));
    EXPECT_GE(found.makespan, found.lower_bound);
    int fit = 0;
    for (const std::string_view name : schedule_names()) {
      const ScheduleProblem named = cut_for(name.data(), 4, audio);
      const Schedule schedule = make_schedule(name, 4, named.micro_batches());
      if (!way.fits(named.peak(schedule, given))) continue;
      ++fit;
      EXPECT_LE(found.makespan, simulate(schedule, named.durations(given)).makespan * (1 + 1e-12))
          << name << " " << trial;
    }
    EXPECT_GE(fit, 1) << trial;
  }
}

TEST(FindSchedule, ReachesVHalfAndVMin) {
  const auto makespan = [](int stages, int batches, double memory) {
    return find_schedule(EqualWork{stages, batches, {1, 1, 1}, memory}, {.effort = 20'000})
        .makespan;
  };
  EXPECT_LE(makespan(8, 32, 5), 104.5);
  EXPECT_LE(makespan(8, 32, 4), 109.5);
  EXPECT_LE(makespan(4, 16, 2), 53.5);
}

TEST(FindSchedule, IsTheSameForTheSameSeed) {
  std::mt19937 random(5);
  const ScheduleProblem problem = ragged_draw(quickstart_seconds(), random);
  const auto find = [&](std::uint64_t seed) {
    return find_schedule(problem, {.seed = seed, .effort = 200'000});
  };
  const FoundSchedule once = find(4), again = find(4);
  EXPECT_EQ(once.schedule.ranks, again.schedule.ranks);
  EXPECT_EQ(once.order, again.order);
  EXPECT_EQ(std::set(once.order.begin(), once.order.end()).size(), 8u);
}

TEST(FindSchedule, NeverLosesToNamedSchedulesOnEqualWork) {
  const SearchOptions quick{.effort = 100'000};
  for (const ChunkTimes& times : {ChunkTimes{1, 1, 1}, {1, 1.7, 0.4}, {2, 1, 1.5}, {1, 1.2, 0.8}}) {
    for (const auto& [stages, batches] : {std::pair{1, 3}, {2, 5}, {3, 2}, {4, 8}}) {
      EqualWork work{stages, batches, times};
      const FoundSchedule found = find_schedule(work, quick);
      for (const std::string_view name : schedule_names()) {
        const Schedule schedule = make_schedule(name, stages, batches);
        const int chunks = schedule.chunks() / stages;
        if (std::ranges::max(peak_activations(schedule)) > stages * chunks) continue;  // of 1F1B
        const std::vector<ChunkTimes> each(schedule.chunks(), of_chunk(work, schedule));
        EXPECT_LE(found.makespan, simulate(schedule, equal_micro_batches(each)).makespan + 1e-9)
            << name << " " << stages << " " << batches;
      }
      EXPECT_GE(found.makespan, found.lower_bound);
      EXPECT_GE(found.gap(), 0);
      EXPECT_NO_THROW(validate(found.schedule));
    }
  }
}

TEST(FindSchedule, KeepsToTheMemory) {
  EqualWork work{3, 6, {1, 1, 1}, 1};
  const FoundSchedule tight = find_schedule(work, {.effort = 100'000});
  work.memory = 5;
  EXPECT_LT(find_schedule(work, {.effort = 100'000}).makespan, tight.makespan);

  ScheduleProblem problem{.chunk_rank = {0, 1},
                          .times = {{{1, 1, 1}, {2, 2, 2}}, {{1, 1, 1}, {2, 2, 2}}},
                          .held = {{3, 5}, {3, 5}},
                          .memory = 4};
  EXPECT_EQ(test::message_of<ConfigError>([&] { find_schedule(problem); }),
            "memory binds: micro-batch 1 alone holds 5 on a rank, but only 4 is allowed. Allow "
            "that much, or make micro-batches smaller");
}

TEST(LowerBound, IsReachedByZbH1WithEqualPasses) {
  for (const auto& [stages, batches] : {std::pair{4, 8}, {4, 16}, {8, 32}}) {
    ScheduleProblem problem{.chunk_rank = as_given(stages)};
    problem.times.assign(stages, std::vector<ChunkTimes>(batches, {1, 1, 1}));
    problem.memory = stages;
    EXPECT_DOUBLE_EQ(lower_bound(problem), makespan(problem, "zb-h1"));
    problem.memory = 0;  // only the way to the last rank is left
    EXPECT_DOUBLE_EQ(lower_bound(problem), 3 * batches + stages - 1);
  }
}

TEST(LowerBound, HoldsForRandomSchedulesOfRandomWork) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> seconds(0.1, 3);
  for (int round = 0; round < 300; ++round) {
    const int stages = 1 + static_cast<int>(random() % 4), batches = 1 + round % 7;
    for (const char* name : {"1f1b", "zb-h1", "zb-h2", "zb-v", "interleaved", "interleaved-3",
                             "dualpipe-v", "gpipe"}) {
      const Schedule schedule = make_schedule(name, stages, batches);
      ScheduleProblem problem{.chunk_rank = schedule.chunk_rank};
      for (int chunk = 0; chunk < problem.chunks(); ++chunk) {
        auto& times = problem.times.emplace_back();
        auto& held = problem.held.emplace_back();
        for (int batch = 0; batch < batches; ++batch) {
          times.push_back({seconds(random), seconds(random), seconds(random)});
          held.push_back(seconds(random));
        }
        problem.transfers.push_back(seconds(random) / 5);
      }
      problem.memory = problem.peak(schedule, as_given(batches));
      EXPECT_LE(lower_bound(problem), makespan(problem, name) * (1 + 1e-12)) << name;
    }
  }
}

TEST(FindSchedule, KeepsTheOrderWhereItIsAskedTo) {
  ScheduleProblem problem{.chunk_rank = {0, 1, 2}, .memory = 3};
  for (int stage = 0; stage < 3; ++stage) {
    auto& times = problem.times.emplace_back();
    for (const double size : {1.0, 7.0, 2.0, 5.0, 3.0, 1.0})
      times.push_back({size, size, 2 * size});
  }
  const FoundSchedule free = find_schedule(problem, {.effort = 300'000});
  const FoundSchedule kept = find_schedule(problem, {.effort = 300'000, .keep_order = true});
  EXPECT_EQ(kept.order, (std::vector{0, 1, 2, 3, 4, 5}));
  EXPECT_NE(free.order, kept.order);
  EXPECT_LT(free.makespan, kept.makespan);
  EXPECT_LE(kept.makespan, makespan(problem, "zb-h1"));
  EXPECT_NO_THROW(validate(kept.schedule));
}

}  // namespace
}  // namespace penstock::partition
