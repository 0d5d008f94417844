#include "partition/planner/cut/work_cut.h"

#include <gtest/gtest.h>

#include <random>

namespace penstock::partition {
namespace {

/// Some layers of the same work, so that many cuts are equal but for rounding.
ChunkWork sampled_work(std::mt19937& random) {
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  ChunkWork work{.before = {0}};
  for (int layer = number(1, 60); layer > 0; --layer)
    work.before.push_back(work.before.back() + 0.1 * number(0, 9) / 7);
  for (int chunk = number(1, 9); chunk > 0; --chunk) work.speeds.push_back(1 + 0.15 * number(0, 1));
  return work;
}

struct WorkSegment : SegmentCost {
  const ChunkWork& work;
  double limit;
  int chunk, earliest;

  int earliest_end() const { return earliest; }
  double at_least(int first, int last) const {
    const double seconds = work.seconds(first, last, chunk);
    return seconds > limit ? kInfeasible : seconds;
  }
};

TEST(WorkCutSolver, FindsWhatCutSolverDoes) {
  std::mt19937 random(20);
  int found = 0;
  for (int round = 0; round < 3000; ++round) {
    const ChunkWork work = sampled_work(random);
    const CutShape shape{.layers = static_cast<int>(work.before.size()) - 1,
                         .segments = static_cast<int>(work.speeds.size())};
    WorkCutSolver solver(work);
    for (const double share : {0.3, 0.6, 1.01, 1.5, 4.0}) {
      const double limit = share * work.before.back() / shape.segments;
      std::vector<int> earliest;
      for (int chunk = 0; chunk < shape.segments; ++chunk)
        earliest.push_back(std::uniform_int_distribution<int>(0, 3 * chunk)(random));
      const auto begin = CutSolver<MinSum>(shape).begin([&](int chunk) {
        return WorkSegment{{}, work, limit, chunk, earliest[chunk]};
      });
      EXPECT_EQ(solver.min_sum(limit, earliest), begin);
      found += begin.has_value();
    }
  }
  EXPECT_GT(found, 3000);
}

TEST(WorkCutSolver, NeedsALayerForEachChunk) {
  const ChunkWork work{.before = {0, 1, 2}, .speeds = {1, 1, 1}};
  EXPECT_EQ(WorkCutSolver(work).min_sum(kInfeasible, {0, 0, 0}), std::nullopt);
}

}  // namespace
}  // namespace penstock::partition
