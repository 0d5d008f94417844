#include "partition/planner/cut/cut_chunks.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace penstock::partition {
namespace {

/// The least closed form of all cuts that fit, by trying them all; infinite where none fits.
double tried(const ChunkCutProblem& problem, std::vector<int> begin = {0}) {
  const int chunk = static_cast<int>(begin.size()) - 1;
  if (chunk == problem.chunks)
    return begin.back() == problem.layers ? closed_form(problem, begin)
                                          : std::numeric_limits<double>::infinity();
  double min = std::numeric_limits<double>::infinity();
  for (int last = begin.back() + 1; last <= problem.layers; ++last) {
    if (!problem.extra(begin.back(), last, chunk)) continue;
    begin.push_back(last);
    min = std::min(min, tried(problem, begin));
    begin.pop_back();
  }
  return min;
}

/// A problem of small whole numbers, in which chunks fit for nothing.
class SampledProblem {
 public:
  SampledProblem(std::mt19937& random, bool bounded) : random_(random) {
    problem = {.layers = number(1, 9), .chunks = number(1, 4)};
    problem.runs = number(1, 12);
    for (int i = 0; i < problem.layers; ++i) {
      work_.push_back(number(0, 9));
      bytes_.push_back(number(1, 9));
      crossing_.push_back(number(0, 7));
    }
    crossing_.back() = 0;
    for (int c = 0; c < problem.chunks; ++c) speed_.push_back(number(1, 3));
    memory_ = number(6, 40);
    problem.load = [this](int first, int last, int chunk) {
      return sum(work_, first, last) / speed_[chunk] + crossing_[first] + crossing_[last];
    };
    if (bounded) {
      problem.work.speeds = speed_;
      for (int i = 0; i <= problem.layers; ++i) problem.work.before.push_back(sum(work_, 0, i));
    }
    problem.extra = [](int, int, int) { return 0.0; };
  }
  SampledProblem(const SampledProblem&) = delete;
  SampledProblem& operator=(const SampledProblem&) = delete;

  /// Limits the memory: a chunk that exceeds it costs extra seconds, or is infeasible.
  void limit_memory() {
    const double price = number(0, 2);
    problem.extra = [this, price](int first, int last, int chunk) -> std::optional<double> {
      const double over = sum(bytes_, first, last) * (problem.chunks - chunk) - memory_;
      if (over <= 0) return 0;
      return price > 0 && over <= memory_ ? std::optional(price * over) : std::nullopt;
    };
    if (problem.work.is_known())
      problem.fullness = [this, price](int first, int last, int) {
        return sum(bytes_, first, last) / (price > 0 ? 2 * memory_ : memory_);
      };
  }

  ChunkCutProblem problem;

 private:
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  static double sum(const std::vector<double>& of, int first, int last) {
    double all = 0;
    for (int i = first; i < last; ++i) all += of[i];
    return all;
  }

  std::mt19937& random_;
  std::vector<double> work_, bytes_, speed_, crossing_{0};
  double memory_ = 0;
};

TEST(CutChunks, EqualsTryingAllCuts) {
  std::mt19937 random(7);
  int infeasible = 0, bound = 0, falling = 0;
  for (int round = 0; round < 600; ++round) {
    SampledProblem sampled(random, round % 2 == 0);
    const ChunkCutProblem& problem = sampled.problem;
    for (int last = 2; last <= problem.layers; ++last)
      falling += problem.load(0, last, 0) < problem.load(0, last - 1, 0);
    const double free = tried(problem);
    sampled.limit_memory();
    const double min = tried(problem);
    const auto cut = cut_chunks(problem);
    ASSERT_EQ(cut.has_value(), min < std::numeric_limits<double>::infinity());
    if (cut) {
      EXPECT_DOUBLE_EQ(closed_form(problem, *cut), min);
    }
    infeasible += !cut;
    bound += cut && min > free;
  }
  EXPECT_GT(infeasible, 20);
  EXPECT_GT(bound, 20);
  EXPECT_GT(falling, 200);
}

// Each of 279 layers after an unlike one takes what the others do, up to 5 %.
TEST(CutChunks, AsksForFewRangesOfManyLayers) {
  std::vector<double> until{0, 40};  // seconds of the first i layers
  std::mt19937 random(3);
  while (until.size() < 281)
    until.push_back(until.back() + std::uniform_real_distribution(1.0, 1.05)(random));
  int asked = 0;
  ChunkCutProblem problem{.layers = 280, .chunks = 8, .runs = 32};
  problem.work = {.before = until, .speeds = std::vector<double>(8, 1)};
  problem.load = [&](int first, int last, int chunk) {
    return until[last] - until[first] + (chunk > 0 ? 0.1 : 0.0);
  };
  problem.extra = [&](int first, int last, int) -> std::optional<double> {
    ++asked;
    return last - first > 60 ? std::nullopt : std::optional(last - first > 38 ? 0.2 : 0.0);
  };
  const auto cut = cut_chunks(problem);
  ASSERT_TRUE(cut);
  EXPECT_LT(asked, 280);
  const auto pruned = closed_form(problem, *cut);
  problem.work = {};
  asked = 0;
  EXPECT_DOUBLE_EQ(pruned, closed_form(problem, *cut_chunks(problem)));
  EXPECT_GT(asked, 280 * 280);
}

TEST(CutChunks, LoadsAreWorkUnlessSaidOtherwise) {
  std::mt19937 random(8);
  for (int round = 0; round < 200; ++round) {
    SampledProblem sampled(random, true);
    ChunkCutProblem& problem = sampled.problem;
    problem.load = {};
    if (problem.chunks > problem.layers) continue;
    const double work = problem.work.before[1] / problem.work.speeds[0];
    EXPECT_EQ(problem.seconds(0, 1, 0), work);
    EXPECT_DOUBLE_EQ(closed_form(problem, *cut_chunks(problem)), tried(problem)) << round;
  }
}

TEST(CutChunks, EndsWhereNothingTakesTime) {
  const ChunkCutProblem problem{.layers = 3,
                                .chunks = 2,
                                .load = [](int, int, int) { return 0.0; },
                                .extra = [](int, int, int) { return 0.0; }};
  EXPECT_EQ(cut_chunks(problem)->size(), 3u);
}

TEST(CutChunks, SlowestRankSetsThePaceOfAStep) {
  ChunkCutProblem problem{.layers = 4, .chunks = 4, .runs = 11};
  problem.load = [](int first, int last, int) { return 1.0 + first + (last - first - 1); };
  problem.extra = [](int, int, int) { return 0.0; };
  const std::vector<int> begin{0, 1, 2, 3, 4};  // loads 1, 2, 3, 4
  EXPECT_DOUBLE_EQ(closed_form(problem, begin), 10 + 10 * 4);
  problem.rank = {0, 1, 0, 1};
  EXPECT_DOUBLE_EQ(closed_form(problem, begin), 10 + 10 * 6);
  problem.rank = {0, 1, 1, 0};
  EXPECT_DOUBLE_EQ(closed_form(problem, begin), 10 + 10 * 5);
  problem.extra = [](int, int, int chunk) { return chunk == 3 ? 2.0 : 0.0; };
  EXPECT_DOUBLE_EQ(closed_form(problem, begin), 12 + 10 * 7);
}

}  // namespace
}  // namespace penstock::partition
