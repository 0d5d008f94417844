#include "partition/planner/cut/cut_chunks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "partition/planner/cut/cut_solver.h"
#include "partition/planner/cut/limits.h"
#include "partition/planner/cut/rest_bound.h"

namespace penstock::partition {
namespace {

/// Returns the load of a chunk of a cut, `extra` included.
double whole_load(const ChunkCutProblem& problem, const std::vector<int>& begin, int chunk) {
  const int first = begin[chunk], last = begin[chunk + 1];
  const double load = problem.seconds(first, last, chunk);
  return problem.extra ? load + problem.extra(first, last, chunk).value_or(kInfeasible) : load;
}

/// Sum and maxima of the loads of a cut's chunks.
struct LoadSums {
  double sum = 0, largest = 0;
  double largest_of_rank = 0;

  double closed_form(double runs) const { return sum + (runs - 1) * largest_of_rank; }
};

LoadSums loads_of(const ChunkCutProblem& problem, const std::vector<int>& begin) {
  LoadSums loads;
  std::vector<double> of_rank(problem.chunks, 0);
  for (int chunk = 0; chunk < problem.chunks; ++chunk) {
    const double load = whole_load(problem, begin, chunk);
    loads.sum += load;
    loads.largest = std::max(loads.largest, load);
    of_rank[problem.rank.empty() ? chunk : problem.rank[chunk]] += load;
  }
  loads.largest_of_rank = std::ranges::max(of_rank);
  return loads;
}

// Limits for a first cut, as multiples of a lower bound on any cut's largest load.
constexpr double kFirstLimit = 1.02, kNextLimit = 1.25, kLastLimit = 100;

/// Returns a function that bounds loads from below; empty if the work is not known.
std::function<double(int, int, int)> min_seconds(const ChunkWork& work) {
  if (!work.is_known()) return {};
  return [&work](int first, int last, int chunk) { return work.seconds(first, last, chunk); };
}

/// Finds cuts within limits for one problem, and caches what they share.
class Cutter {
 public:
  explicit Cutter(const ChunkCutProblem& problem)
      : problem_(problem),
        rest_({problem.layers, problem.chunks}, min_seconds(problem.work)),
        memory_({problem.layers, problem.chunks}, problem.fullness),
        work_(problem.work) {}

  /// Returns the cut with the least sum of loads that are all at most `limit`.
  std::optional<std::vector<int>> min_sum(double limit) {
    if (costs_work_alone()) {
      std::vector<int> earliest;
      for (int chunk = 0; chunk < problem_.chunks; ++chunk)
        earliest.push_back(earliest_end(chunk, limit));
      return work_.min_sum(limit, earliest);
    }
    const CutSolver<MinSum> solver({.layers = problem_.layers, .segments = problem_.chunks});
    return solver.begin([&](int chunk) {
      return Segment{{}, *this, limit, chunk, earliest_end(chunk, limit)};
    });
  }

  /// Returns an upper bound on the largest load of a cut. Its closed form is at most `value`, and
  /// its loads add up to at least `sum`.
  double highest(double value, double sum) const {
    return problem_.runs > 1 ? (value - sum) / (problem_.runs - 1) * kRounding : kInfeasible;
  }
  /// The same for the closed form of a first cut, which low limits find; kInfeasible if there is
  /// none.
  double highest() {
    const double min = rest_.largest(0, 0);
    double step = kNextLimit;
    for (double limit = kFirstLimit * min; limit < kLastLimit * min; limit *= step, step *= step)
      if (const auto begin = min_sum(limit))
        return highest(closed_form(problem_, *begin), rest_.sum());
    return kInfeasible;
  }

 private:
  struct Segment : SegmentCost {
    Cutter& cutter;
    double limit;
    int chunk;
    int earliest;

    int earliest_end() const { return earliest; }
    bool ends(int first, int last) const {
      const ChunkWork& work = cutter.problem_.work;
      const auto& fullness = cutter.problem_.fullness;
      return (work.is_known() && work.seconds(first, last, chunk) > limit) ||
             (fullness && fullness(first, last, chunk) > 1);
    }
    double at_least(int first, int last) const {
      const double load = cutter.problem_.seconds(first, last, chunk);
      return load > limit ? kInfeasible : load;
    }
    double cost(int first, int last, double load) const {
      const double whole = load + cutter.extra(first, last, chunk);
      return whole > limit ? kInfeasible : whole;
    }
  };

  bool costs_work_alone() const { return !problem_.load && !problem_.extra && !problem_.fullness; }

  /// True if the layers from `last` on are too much for the chunks after this one.
  bool leaves_too_much(int last, int chunk, double limit) const {
    return rest_.largest(last, chunk + 1) > limit || memory_.largest(last, chunk + 1) > 1;
  }
  /// Returns the earliest end of a chunk that leaves few enough layers, by bisection: the later it
  /// ends, the less it leaves.
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
    if (fresh) at->second = problem_.extra(first, last, chunk).value_or(kInfeasible);
    return at->second;
  }

  const ChunkCutProblem& problem_;
  const RestBound rest_, memory_;
  WorkCutSolver work_;
  std::map<std::tuple<int, int, int>, double> extra_;
};

}  // namespace

double closed_form(const ChunkCutProblem& problem, const std::vector<int>& begin) {
  return loads_of(problem, begin).closed_form(problem.runs);
}

std::optional<std::vector<int>> cut_chunks(const ChunkCutProblem& problem) {
  Cutter cutter(problem);
  std::optional<std::vector<int>> best;
  double min = kInfeasible, limit = cutter.highest();
  // Invariant, if each chunk has a rank of its own: every cut better than `min` has loads of at
  // most `limit`. Others are as slow as a cut found before, and have no smaller sum.
  while (auto begin = cutter.min_sum(limit)) {
    const LoadSums loads = loads_of(problem, *begin);
    if (loads.closed_form(problem.runs) < min) {
      min = loads.closed_form(problem.runs);
      best = std::move(begin);
    }
    if (loads.largest <= 0 || problem.runs <= 1) break;
    limit = std::min(loads.largest * kBetter, cutter.highest(min, loads.sum));
  }
  return best;
}

}  // namespace penstock::partition
