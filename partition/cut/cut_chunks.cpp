#include "partition/cut/cut_chunks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "partition/cut/cut_solver.h"
#include "partition/cut/limits.h"
#include "partition/cut/rest_bound.h"

namespace penstock::partition {
namespace {

double whole_load(const ChunkCutProblem& problem, const std::vector<int>& begin, int chunk) {
  const int first = begin[chunk], last = begin[chunk + 1];
  const double load = problem.load(first, last, chunk);
  return problem.extra ? load + problem.extra(first, last, chunk).value_or(kNever) : load;
}

double largest_load(const ChunkCutProblem& problem, const std::vector<int>& begin) {
  double largest = 0;
  for (int chunk = 0; chunk < problem.chunks; ++chunk)
    largest = std::max(largest, whole_load(problem, begin, chunk));
  return largest;
}

// Limits that are tried for a first cut: of the least that any cut's largest load can be.
constexpr double kFirstLimit = 1.02, kNextLimit = 1.25, kLastLimit = 100;

class Cutter {
 public:
  explicit Cutter(const ChunkCutProblem& problem)
      : problem_(problem),
        rest_({problem.layers, problem.chunks}, problem.at_least),
        memory_({problem.layers, problem.chunks}, problem.fullness) {}

  /// The cut of the least sum whose loads are all at most `limit`.
  std::optional<std::vector<int>> least_sum(double limit) {
    const CutSolver<LeastSum> solver({.layers = problem_.layers, .segments = problem_.chunks});
    return solver.begin([&](int chunk) {
      return Segment{{}, *this, limit, chunk, earliest_end(chunk, limit)};
    });
  }

  /// The largest load of a cut whose closed form is at most `value`.
  double highest(double value) const {
    return problem_.runs > 1 ? (value - rest_.sum()) / (problem_.runs - 1) : kNever;
  }
  /// The same of the closed form of a cut with low loads, a little more for what rounding does.
  double highest() {
    const double least = rest_.largest(0, 0);
    double step = kNextLimit;
    for (double limit = kFirstLimit * least; limit < kLastLimit * least;
         limit *= step, step *= step)
      if (const auto begin = least_sum(limit))
        return highest(closed_form(problem_, *begin)) * kRounding;
    return kNever;
  }

 private:
  struct Segment : SegmentCost {
    Cutter& cutter;
    double limit;
    int chunk;
    int earliest;

    int earliest_end() const { return earliest; }
    bool ends(int first, int last) const {
      const auto& at_least = cutter.problem_.at_least;
      const auto& fullness = cutter.problem_.fullness;
      return (at_least && at_least(first, last, chunk) > limit) ||
             (fullness && fullness(first, last, chunk) > 1);
    }
    double at_least(int first, int last) const {
      const double load = cutter.problem_.load(first, last, chunk);
      return load > limit ? kNever : load;
    }
    double cost(int first, int last, double load) const {
      const double whole = load + cutter.extra(first, last, chunk);
      return whole > limit ? kNever : whole;
    }
  };

  /// Whether what is behind `last` is too much for the chunks behind this one.
  bool leaves_too_much(int last, int chunk, double limit) const {
    return rest_.largest(last, chunk + 1) > limit || memory_.largest(last, chunk + 1) > 1;
  }
  /// The later a chunk ends the less it leaves.
  int earliest_end(int chunk, double limit) const {
    int too_early = -1, end = problem_.layers;
    while (end - too_early > 1) {
      const int middle = (too_early + end) / 2;
      if (leaves_too_much(middle, chunk, limit))
        too_early = middle;
      else
        end = middle;
    }
    return end;
  }

  double extra(int first, int last, int chunk) {
    if (!problem_.extra) return 0;
    const auto [at, fresh] = extra_.try_emplace({first, last, chunk});
    if (fresh) at->second = problem_.extra(first, last, chunk).value_or(kNever);
    return at->second;
  }

  const ChunkCutProblem& problem_;
  const RestBound rest_, memory_;
  std::map<std::tuple<int, int, int>, double> extra_;
};

}  // namespace

double closed_form(const ChunkCutProblem& problem, const std::vector<int>& begin) {
  double sum = 0;
  std::vector<double> of_rank(problem.chunks, 0);
  for (int chunk = 0; chunk < problem.chunks; ++chunk) {
    const double load = whole_load(problem, begin, chunk);
    sum += load;
    of_rank[problem.rank.empty() ? chunk : problem.rank[chunk]] += load;
  }
  return sum + (problem.runs - 1) * std::ranges::max(of_rank);
}

std::optional<std::vector<int>> cut_chunks(const ChunkCutProblem& problem) {
  Cutter cutter(problem);
  std::optional<std::vector<int>> best;
  double least = kNever, limit = cutter.highest();
  // With a rank for each chunk, every cut better than `least` has loads of at most `limit`: another
  // is as slow as a cut that was found before, and its sum is no less.
  while (auto begin = cutter.least_sum(limit)) {
    const double value = closed_form(problem, *begin), largest = largest_load(problem, *begin);
    if (value < least) {
      least = value;
      best = std::move(begin);
    }
    if (largest <= 0) break;
    limit = std::min(largest * kWorthwhile, cutter.highest(least));
  }
  return best;
}

}  // namespace penstock::partition
