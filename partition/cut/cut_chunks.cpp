#include "partition/cut/cut_chunks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "partition/cut/limits.h"

namespace penstock::partition {
namespace {

constexpr double kBelow = 1 - 1e-12;

class Cutter {
 public:
  explicit Cutter(const ChunkCutProblem& problem) : problem_(problem) {}

  /// The cut of the least sum whose loads are all at most `limit`.
  std::optional<std::vector<int>> least_sum(double limit) {
    const int n = problem_.layers;
    std::vector<double> sums(n + 1, kNever);
    sums[0] = 0;
    std::vector<std::vector<int>> from;
    for (int chunk = 0; chunk < problem_.chunks; ++chunk) {
      std::vector<double> next(n + 1, kNever);
      auto& first_of = from.emplace_back(n + 1, -1);
      for (int first = chunk; first < n; ++first) {
        if (sums[first] == kNever) continue;
        for (int last = first + 1; last <= n; ++last) {
          if (problem_.at_least && problem_.at_least(first, last, chunk) > limit) break;
          const double load = problem_.load(first, last, chunk);
          if (load > limit || sums[first] + load >= next[last]) continue;
          const double whole = load + extra(first, last, chunk);
          if (whole > limit || sums[first] + whole >= next[last]) continue;
          next[last] = sums[first] + whole;
          first_of[last] = first;
        }
      }
      sums = std::move(next);
    }
    if (sums[n] == kNever) return std::nullopt;
    std::vector<int> begin{n};
    for (int chunk = problem_.chunks - 1; chunk >= 0; --chunk)
      begin.insert(begin.begin(), from[chunk][begin.front()]);
    return begin;
  }

 private:
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
