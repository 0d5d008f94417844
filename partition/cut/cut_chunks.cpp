#include "partition/cut/cut_chunks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "partition/cut/cut_solver.h"
#include "partition/cut/limits.h"

namespace penstock::partition {
namespace {

constexpr double kBelow = 1 - 1e-12;

class Cutter {
 public:
  explicit Cutter(const ChunkCutProblem& problem) : problem_(problem) {}

  /// The cut of the least sum whose loads are all at most `limit`.
  std::optional<std::vector<int>> least_sum(double limit) {
    const CutSolver<LeastSum> solver({.layers = problem_.layers, .segments = problem_.chunks});
    return solver.begin([&](int chunk) { return Segment{{}, *this, limit, chunk}; });
  }

 private:
  struct Segment : SegmentCost {
    Cutter& cutter;
    double limit;
    int chunk;

    bool ends(int first, int last) const {
      const auto& at_least = cutter.problem_.at_least;
      return at_least && at_least(first, last, chunk) > limit;
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

  double extra(int first, int last, int chunk) {
    const auto [at, fresh] = extra_.try_emplace({first, last, chunk});
    if (fresh) at->second = problem_.extra(first, last, chunk).value_or(kNever);
    return at->second;
  }

  const ChunkCutProblem& problem_;
  std::map<std::tuple<int, int, int>, double> extra_;
};

double whole_load(const ChunkCutProblem& problem, const std::vector<int>& begin, int chunk) {
  const int first = begin[chunk], last = begin[chunk + 1];
  return problem.load(first, last, chunk) + problem.extra(first, last, chunk).value_or(kNever);
}

double largest_load(const ChunkCutProblem& problem, const std::vector<int>& begin) {
  double largest = 0;
  for (int chunk = 0; chunk < problem.chunks; ++chunk)
    largest = std::max(largest, whole_load(problem, begin, chunk));
  return largest;
}

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
  double least = kNever, limit = kNever;
  // With a rank for each chunk, every cut better than `least` has loads of at most `limit`: another
  // is as slow as a cut that was found before, and its sum is no less.
  while (auto begin = cutter.least_sum(limit)) {
    const double value = closed_form(problem, *begin), largest = largest_load(problem, *begin);
    if (value < least) {
      least = value;
      best = std::move(begin);
    }
    if (largest <= 0) break;
    limit = largest * kBelow;
  }
  return best;
}

}  // namespace penstock::partition
